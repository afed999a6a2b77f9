"""The order of many rows by group and instant is that of a full sort."""

from __future__ import annotations

import numpy as np
import pytest

from relfit.numeric.ordering import order_in_groups


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
