"""Steps against counts by hand, and time watched against a sum over every hour."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from relfit.fleet.prediction import TimeSteps

BEGIN = pd.Timestamp("2024-01-01", tz="UTC")
HOUR = 3_600_000_000_000


def instants(*hours: float) -> np.ndarray:
    """Nanoseconds of these hours after the begin."""
    return BEGIN.as_unit("ns").value + (np.array(hours) * HOUR).astype(np.int64)


def days(number: float) -> TimeSteps:
    return TimeSteps.of(BEGIN, BEGIN + pd.Timedelta(days=number))


def test_steps_end_with_the_observation_and_are_whole_days():
    steps = days(3.25)
    assert (steps.size, steps.width, steps.days) == (3, 24.0, 1.0)
    assert steps.edges.tolist() == instants(6, 30, 54, 78).tolist()


def test_a_span_of_whole_days_has_all_of_them():
    for number in (1, 7, 30, 365, 3650):
        assert days(number).size == number
        assert days(number).edges[0] == BEGIN.as_unit("ns").value


def test_less_than_a_day_is_one_step_of_that_length():
    steps = days(0.25)
    assert (steps.size, steps.width) == (1, 6.0)
    assert steps.edges.tolist() == instants(0, 6).tolist()


def test_longer_steps():
    steps = TimeSteps.of(BEGIN, BEGIN + pd.Timedelta(days=25), 240.0)
    assert (steps.size, steps.days) == (2, 10.0)
    assert steps.edges[0] == instants(5 * 24)[0]


def test_counts_by_hand():
    steps = days(3.25)  # edges at 6, 30, 54 and 78 hours
    # before the first step, at its edge, inside, at the edge of the next, at the very end, after it
    at = instants(5.9, 6.0, 29.9, 30.0, 78.0, 78.1)
    assert steps.counts(at).tolist() == [[2.0, 1.0, 1.0]]
    group = np.array([0, 0, 1, 1, -1, 0])
    assert steps.counts(at, group, 3).tolist() == [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    assert steps.counts(at[:0]).tolist() == [[0.0, 0.0, 0.0]]


def test_watched_by_hand():
    steps = days(3)
    # all three days; from noon of the first to 6 h into the second; only before; only after; left before it came
    entered, left = instants(-50, 12, -10, 80, 40), instants(100, 30, -5, 90, 30)
    assert steps.watched(entered, left)[0] == pytest.approx([1.5, 1.25, 1.0])
    each = steps.watched(entered, left, np.arange(5), 5)
    assert each[0] == pytest.approx([1, 1, 1])
    assert each[1] == pytest.approx([0.5, 0.25, 0])
    assert each[2:] == pytest.approx(np.zeros((3, 3)))


def test_watched_against_every_hour():
    rng = np.random.default_rng(1)
    steps = days(40)
    first, last = rng.integers(-200, 1200, 60), rng.integers(-200, 1200, 60)
    group = rng.integers(0, 4, 60)
    truth = np.zeros((4, 40))
    for begin, end, of in zip(first, last, group, strict=True):
        for hour in range(max(begin, 0), min(end, 960)):
            truth[of, hour // 24] += 1.0 / 24.0
    np.testing.assert_allclose(steps.watched(instants(*first), instants(*last), group, 4), truth, atol=1e-9)
