"""Columns of jobs, each on its own: numbers, walltimes, states, requeued runs, formulas."""

from __future__ import annotations

import numpy as np
import pytest

from relfit.io.workloads.generator import on_the_clock
from relfit.io.workloads.job_rows import first_words, numbers, requeued_runs, seconds
from relfit.io.workloads.walkthrough import _computed


def words(*texts: str) -> np.ndarray:
    return np.array(texts, dtype=object)


def test_numbers():
    np.testing.assert_array_equal(numbers(words("3", "", "x", "1e3")), [3.0, np.nan, np.nan, 1000.0])


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("1-02:03:04", 93784.0),
        ("02:03:04", 7384.0),
        ("03:04", 184.0),
        ("2-12", 216000.0),
        ("90", 90.0),
        ("UNLIMITED", np.inf),
        ("soon", np.nan),
    ],
)
def test_walltimes(text, length):
    np.testing.assert_array_equal(seconds(words(text)), [length])


def test_first_words_of_states():
    assert first_words(words("CANCELLED by 1001", "cancelled+"), 2).tolist() == ["CANCELLED", "CANCELLED"]


def test_requeued_runs():
    states = words("NODE_FAIL", "COMPLETED", "NODE_FAIL")
    requeued, submitted = requeued_runs(np.array([7, 7, 8]), states, np.array([0.0, 60.0, 90.0]))
    assert (requeued.tolist(), submitted.tolist()) == ([True, False, False], [0.0, 0.0, 90.0])


def test_formulas():
    assert _computed("1728000000*(1/i)", 16) == 108_000_000.0


def test_points_on_a_clock():
    assert on_the_clock(np.array([1.0, 5.0]), np.array([1.0, 3.0]), 60.0).tolist() == [60.0, 180.0]
