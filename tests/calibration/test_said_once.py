"""Sentences of one output that rest on different tests do not contradict each other."""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf
from relfit.analyses.independence import dispersion, failures_of
from relfit.analyses.recurrence import histories_of_incidents, trend_tests
from relfit.analyses.screening import incidents
from relfit.fleet.calibration.schema import Check
from relfit.fleet.calibration.tested_assumptions import said_once
from tests.factories import make_log

YEAR = 8766.0


def busier(factor: float, since: float) -> rf.FailureLog:
    """64 nodes over two years, at a rate that is `factor` times as high from a share of the time on."""
    rng = np.random.default_rng(5)
    parts = [(0.0, since * 2 * YEAR, 1.0), (since * 2 * YEAR, 2 * YEAR, factor)]
    events = [
        {"node": f"n{rng.integers(64):02d}", "start": float(t), "end": float(t) + 1.0}
        for start, end, rate in parts
        for t in rng.uniform(start, end, rng.poisson(1400 * rate * (end - start) / (2 * YEAR)))
    ]
    nodes = [{"node": f"n{i:02d}"} for i in range(64)]
    return make_log(sorted(events, key=lambda event: event["start"]), nodes, window=(0, 2 * YEAR))


def test_the_weaker_of_two_tests_of_the_same_counts_is_left_out() -> None:
    weak = Check(name="dependence.dispersion", concern=False, finding="weak")
    strong = Check(name="dispersion.node", concern=True, finding="strong")
    other = Check(name="dependence.serial", concern=False, finding="other")
    assert said_once([strong, weak, other]) == [strong, other]
    assert said_once([weak, other]) == [weak, other]
    concern = Check(name="dependence.dispersion", concern=True, finding="both")
    assert said_once([strong, concern]) == [strong, concern]


@pytest.mark.slow
def test_a_calibration_does_not_say_that_counts_scatter_and_that_they_do_not() -> None:
    told = {check.name: check.concern for check in rf.calibrate(busier(1.35, 0.85), period="all").checks}
    assert told["dispersion.any"]
    assert told.get("dependence.dispersion") is not False


def test_what_is_not_found_is_not_said_to_be_absent() -> None:
    assert "are not found to vary more" in dispersion(failures_of(busier(1.0, 0.5)), n_resamples=99).headline


def test_no_sudden_change_and_a_rise_go_together() -> None:
    rng = np.random.default_rng(3)
    low, high = 1.0, 1.25  # the rate rises slowly, from the one to the other
    place = (np.sqrt(low**2 + rng.uniform(0.0, 1.0, 1500) * (high**2 - low**2)) - low) / (high - low)
    starts = place * 2 * YEAR
    nodes = [{"node": f"n{i:02d}"} for i in range(64)]
    log = make_log(
        [{"node": f"n{rng.integers(64):02d}", "start": float(t)} for t in np.sort(starts)], nodes, window=(0, 2 * YEAR)
    )
    points = rf.screening.change_points(log)
    assert len(points) == 1
    assert points.headline.startswith("No sudden change of the failure rate is found")
    rises = trend_tests(histories_of_incidents(log, incidents(log)), "all").headline
    assert rises.startswith("The failure rate rises over the observation")
