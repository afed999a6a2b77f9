"""The order of many rows by group and instant is that of a full sort."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from relfit.base.numeric.counting import rising, sort_within
from relfit.base.numeric.ordering import order_in_groups


@pytest.mark.parametrize("size", [0, 1, 50, 150_000])
@pytest.mark.parametrize("in_order", [True, False])
def test_order_in_groups_is_lexsort(size: int, in_order: bool) -> None:
    rng = np.random.default_rng(size)
    code = rng.integers(-1, 300, size)
    at = rng.integers(0, 1000, size)
    if in_order:
        at = np.sort(at)
    flag, last = rng.random(size) < 0.5, rng.integers(0, 3, size)
    assert np.array_equal(order_in_groups(code, at), np.lexsort((at, code)))
    assert np.array_equal(order_in_groups(code, at, flag, last), np.lexsort((last, flag, at, code)))


@pytest.mark.parametrize("draw", ["spread", "bursts", "equal"])
def test_whole_numbers_are_sorted_within_their_groups(draw: str) -> None:
    rng = np.random.default_rng(3)
    sizes = np.array([0, 1, 2, 5_000, 0, 300])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    values = rng.integers(-(2**40), 2**62, offsets[-1])
    if draw == "bursts":
        values = np.where(rng.random(values.size) < 0.9, values % 1000, values)
    if draw == "equal":
        values[:] = 7
    out = np.empty_like(values)
    sort_within(values, offsets, out)
    for begin, end in pairwise(offsets.tolist()):
        assert out[begin:end].tolist() == sorted(values[begin:end].tolist())


@pytest.mark.parametrize("size", [0, 1, 2, 20, 2000])
def test_positions_that_sort_values_however_they_lie(size: int) -> None:
    """Spread evenly, tied, in order, over a hundred decades, or all but one close together."""
    rng = np.random.default_rng(size)
    even = rng.random(size)
    for values in (even, np.floor(5.0 * even), np.sort(even), np.exp(rng.normal(0.0, 80.0, size)), even + 1e300 * even):
        order = rising(values)
        np.testing.assert_array_equal(values[order], np.sort(values))
        np.testing.assert_array_equal(np.sort(order), np.arange(size))
