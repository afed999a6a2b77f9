"""What makes failures depend on each other is told by its name: a node's own gaps, the calendar, nodes together."""

from __future__ import annotations

from dataclasses import replace
from math import gamma

import numpy as np
import pytest
from scipy import stats

from relfit.analyses.independence import Dependence, dependence, failures_of, serial_tests
from relfit.analyses.screening import incidents
from relfit.log.failurelog import FailureLog
from relfit.log.lifedata import LifeData
from tests.factories import make_log

HOURS, MEAN, NODES = 8760.0, 400.0, 40
PARTS = ("correlation", "cofailure", "serial", "pooled", "dispersion", "cycles")


def log_of(times: list[np.ndarray]) -> FailureLog:
    events = [{"node": f"{i:03d}", "start": float(t)} for i, part in enumerate(times) for t in np.sort(part)]
    return make_log(events, [{"node": f"{i:03d}"} for i in range(len(times))], window=(0, HOURS))


def renewals(rng: np.random.Generator, shape: float, later: float = 1.0) -> list[np.ndarray]:
    """Weibull renewals of nodes that were running, at `later` times the rate in the second half."""
    gaps = rng.weibull(shape, (NODES, 250)) * MEAN / gamma(1.0 + 1.0 / shape)
    clock = gaps.cumsum(axis=1) - rng.uniform(20.0, 22.0, (NODES, 1)) * MEAN
    half = 0.5 * HOURS
    at = np.where(clock < half, clock, half + (clock - half) / later)
    return [one[(one > 0.0) & (one < HOURS)] for one in at]


def correlated(rng: np.random.Generator, rho: float) -> list[np.ndarray]:
    """Lognormal gaps, each autoregressive on the one before; nodes are independent."""
    x = rng.normal(size=(NODES, 150))
    for i in range(1, x.shape[1]):
        x[:, i] = rho * x[:, i - 1] + np.sqrt(1.0 - rho**2) * x[:, i]
    at = (np.exp(x) * MEAN / np.exp(0.5)).cumsum(axis=1) - rng.uniform(20.0, 22.0, (NODES, 1)) * MEAN
    return [one[(one > 0.0) & (one < HOURS)] for one in at]


def said(found: Dependence) -> set[str]:
    return {name for name in PARTS if found.depends(name)}


@pytest.mark.parametrize("shape", [0.5, 1.0, 2.0])
@pytest.mark.verify
def test_equal_independent_steady_nodes_make_no_clause(shape: float) -> None:
    false = [said(dependence(log_of(renewals(np.random.default_rng(seed), shape)), rng=seed)) for seed in range(8)]
    assert sum(map(bool, false)) <= 1  # some clause was false in 15 to 26 % of them; at shape 0.5 in nearly all


@pytest.mark.slow
@pytest.mark.parametrize(("rho", "word"), [(0.6, "narrow"), (-0.6, "wide")])
def test_a_nodes_own_order_is_not_nodes_together(rho: float, word: str) -> None:
    for seed in range(2):
        found = dependence(log_of(correlated(np.random.default_rng(seed), rho)), rng=seed)
        assert "serial" in said(found)
        assert not said(found) & {"correlation", "cofailure", "dispersion"}
        assert f"too {word}" in found.headline
        assert found.serial is not None
        assert ("too large" if rho < 0.0 else "too small") in found.serial.headline


@pytest.mark.slow
def test_a_rate_that_doubles_is_the_calendar_and_not_nodes_together() -> None:
    for seed in range(2):
        found = dependence(log_of(renewals(np.random.default_rng(seed), 1.0, 2.0)), rng=seed)
        assert "dispersion" in said(found)
        assert not said(found) & {"correlation", "cofailure", "serial"}
        assert "do not come at a constant rate" in found.headline


def test_shared_shocks_are_nodes_together() -> None:
    rng = np.random.default_rng(5)
    shocks = rng.uniform(0.0, HOURS, 8)
    found = dependence(log_of([np.concatenate([one, shocks]) for one in renewals(rng, 0.7)]))
    assert "cofailure" in said(found)
    assert "fail together" in found.headline
    assert "6 tests, family-wise error 5 %" in found.headline


def racked(rng: np.random.Generator, minutes: float) -> FailureLog:
    """Steady nodes that fail every 1500 hours, in racks of 20 that fail as one every 1000, within some minutes."""
    rows, nodes = [], []
    for rack in range(10):
        shared = rng.uniform(0.0, HOURS - 1.0, rng.poisson(HOURS / 1000.0))
        for i in range(20):
            own = rng.uniform(0.0, HOURS, rng.poisson(HOURS / 1500.0))
            late = rng.uniform(0.0, minutes / 60.0, shared.size)
            rows += [{"node": f"{rack}-{i:02d}", "start": float(t)} for t in np.sort([*own, *(shared + late)])]
            nodes.append({"node": f"{rack}-{i:02d}", "rack": f"{rack}"})
    return make_log(rows, nodes, window=(0.0, HOURS))


@pytest.mark.parametrize("minutes", [pytest.param(0.0, marks=pytest.mark.verify), 12.0])
@pytest.mark.slow
def test_racks_that_fail_as_one_are_nodes_together_and_no_change_of_rate(minutes: float) -> None:
    """By records, all of 24 such logs had a rate that was not steady, and 3 nodes whose failures depend on the last."""
    said_of = [dependence(racked(np.random.default_rng(seed), minutes), rng=seed) for seed in (1, 2)]
    for found in said_of:
        assert {"cofailure", "place"} <= {name for name in (*PARTS, "place") if found.depends(name)}
        assert not said(found) & {"pooled", "dispersion"}
        assert "the incidents of the system show no dependence along time" in found.headline
    assert not any("serial" in said(found) for found in said_of)


def test_incidents_that_follow_each_other_are_still_a_rate_that_is_not_steady() -> None:
    rng = np.random.default_rng(1)
    times = np.sort(np.concatenate([t + rng.uniform(0.0, 48.0, 8) for t in rng.uniform(0.0, HOURS - 48.0, 40)]))
    rows = [{"node": f"{node}", "start": float(t)} for t in times for node in rng.permutation(30)[:3]]
    found = dependence(make_log(rows, [{"node": f"{i}"} for i in range(30)], window=(0.0, HOURS)))
    assert found.dispersion is not None
    assert found.dispersion.what == "incidents"
    assert "dispersion" in said(found)
    assert "the incidents of the system do not come at a constant rate: they come in clusters" in found.headline


def test_failures_that_are_spread_evenly_do_not_come_at_random() -> None:
    """Two in each 120 days, whatever the gaps: 41 and 79, 23 and 105, 18 and 112."""
    days = np.cumsum([0.0, 41.0, 79.0, 23.0, 105.0, 18.0, 112.0])
    rows = [{"node": "a", "start": 24.0 * float(day)} for day in days]
    found = dependence(make_log(rows, [{"node": "a"}], window=(0.0, 24.0 * 378.0)))
    assert "failures of the system do not come at random: they are spread evenly" in found.headline


def test_tests_of_nodes_that_fail_together_count_as_fewer() -> None:
    times = [np.arange(1.0, 9.0), np.arange(1.0, 9.0), np.arange(1.5, 9.5, 2.0)]
    log = log_of(times)
    joined = incidents(log, 0)
    failures = failures_of(log, joined)
    assert failures.at_once == pytest.approx((8 * 2 * 2 + 4) / 20)
    once = failures.once()
    assert once.times.size == 12
    assert once.sizes.tolist() == [8, 0, 4]
    assert once.what == "incidents"
    alone = serial_tests(LifeData.from_array(np.sort(np.random.default_rng(1).exponential(9.0, (40, 20)))))
    p = [replace(alone, at_once=share, durbin_watson_p=np.r_[[0.04] * 6, [0.5] * 34]).p_overall for share in (1, 4, 40)]
    assert p == sorted(p)
    assert p[0] == pytest.approx(2.0 * stats.binom.sf(5, 40, 0.05))
    assert p[2] > 0.1


def test_six_failures_answer_nothing() -> None:
    found = dependence(log_of([np.array([100.0 + 900.0 * i, 4000.0 + 700.0 * i]) for i in range(3)]))
    for text in found.answers.values():
        assert "too few" in text.lower() or "cannot be judged" in text or "No node has" in text, text
    assert not said(found)
