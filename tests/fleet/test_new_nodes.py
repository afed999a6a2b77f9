"""Nodes that were new when their log began: rates ahead are those of their renewals, not the mean of the past."""

from __future__ import annotations

from math import gamma
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import integrate, stats

import relfit as rf
from relfit.fleet import chosen_period
from relfit.fleet._fleet_system import ages_now
from relfit.fleet.operating_time import clocks_of, scopes_of
from relfit.fleet.scope_rates import mean_residual_life
from relfit.log.outages import outages_of
from tests.factories import make_log

NODES, MEAN, HOURS = 80, 1000.0, 4000.0


def fleet(seed: int, shape: float, *, worse: float = 1.0) -> rf.FailureLog:
    """Weibull renewals of new nodes, whose clocks run `worse` times as fast in the second half."""
    rng = np.random.default_rng(seed)
    at = np.cumsum(rng.weibull(shape, (NODES, 80)) * MEAN / gamma(1.0 + 1.0 / shape), axis=1)
    at = np.minimum(at, HOURS / 2.0) + np.maximum(at - HOURS / 2.0, 0.0) / worse
    rows = [{"node": f"n{i}", "start": t} for i, one in enumerate(at) for t in one[one < HOURS]]
    return make_log(rows, [{"node": f"n{i}"} for i in range(NODES)], window=(0.0, HOURS))


@pytest.mark.parametrize("shape", [0.6, 2.5])
@pytest.mark.verify
def test_the_mean_time_between_failures_is_that_of_the_long_run(shape: float) -> None:
    plain, found, held = [], [], 0
    for seed in range(16):
        model = rf.fleet_model(fleet(seed, shape), "all", window="0h", level=0.9, at="long run")
        one = model.interval("mtbf", scope="node")
        rates = model.rates["node"]
        plain.append(float(rates.hours[0] / rates.count[0]))
        found.append(float(one.estimate))
        held += one.low <= MEAN <= one.high
    assert abs(np.mean(plain) / MEAN - 1.0) > 0.08  # hours over failures, as versions before had it
    assert np.mean(found) == pytest.approx(MEAN, rel=0.03)
    assert held >= 12
    params = rf.calibrate(
        fleet(0, shape), model=rf.fleet_model(fleet(0, shape), "all", window="0h", at="long run"), parts=("mtbf",)
    )
    assert params.mtbf.node.value == pytest.approx(found[0])


@pytest.mark.parametrize("shape", [0.6, 2.5])
@pytest.mark.verify
def test_nodes_of_an_inventory_that_were_in_use_before_are_taken_in_steady_state(shape: float) -> None:
    found, told, held = [], [], 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        at = np.cumsum(rng.weibull(shape, (NODES, 160)) * MEAN / gamma(1.0 + 1.0 / shape), axis=1) - 20.0 * MEAN
        rows = [{"node": f"n{i}", "start": t} for i, one in enumerate(at) for t in one[(one > 0.0) & (one < HOURS)]]
        log = make_log(rows, [{"node": f"n{i}"} for i in range(NODES)], window=(0.0, HOURS))  # "new", it says
        model = rf.fleet_model(log, "all", window="0h", level=0.9, at="long run")
        one = model.interval("mtbf", scope="node")
        found.append(float(one.estimate))
        told.append(float(model.scopes["shape"].iloc[0]))
        held += one.low <= MEAN <= one.high
    assert np.mean(found) == pytest.approx(MEAN, rel=0.03)
    assert np.mean(told) == pytest.approx(shape, rel=0.04)
    assert held >= 9


@pytest.mark.slow
def test_a_fleet_that_became_better_has_the_rate_that_is_counted() -> None:
    """First failures of new nodes come soon, and so do those of a fleet whose rate fell a month later."""
    counted, found = [], []
    for seed in range(6):
        log = fleet(seed, 0.6, worse=0.25)
        rates = rf.fleet_model(log, "all", window="0h", at="long run").rates["node"]
        counted.append(float(rates.hours[0] / rates.count[0]))
        found.append(float(1.0 / rates.rate[0]))
    assert found == pytest.approx(counted)


@pytest.mark.verify
def test_a_change_that_ages_explain_is_no_period_of_its_own() -> None:
    chosen = [chosen_period(fleet(seed, 0.5)) for seed in range(12)]
    several = [one for one in chosen if one.points is not None and len(one.points) > 1]
    assert len(several) >= 4  # the rate did change
    alone = [one for one in several if one.name == "all" and "its nodes were new" in one.headline]
    assert len(alone) >= len(several) - 1


@pytest.mark.slow
def test_a_change_that_ages_do_not_explain_is_one() -> None:
    for seed in range(4):
        one = chosen_period(fleet(seed, 0.7, worse=3.0))
        assert one.points is not None
        assert len(one.points) > 1
        assert one.name != "all"


@pytest.mark.parametrize("share", [0.2, 0.55, 0.8, 1.0])
def test_clocks_stand_as_in_a_log_that_ends_then(share: float) -> None:
    log = rf.datasets.load("white")
    at = share * log.window.hours
    until = log.window.start + share * (log.window.end - log.window.start)
    part = log if share == 1.0 else log.between(None, until)
    _, clocks = clocks_of(log, rf.incidents(log, "1h"), np.array([0.0, at + (share == 1.0)]))
    places, scopes = scopes_of(part, rf.incidents(part, "1h"))
    expected, order = scopes["node"], outages_of(log).groups.get_indexer(places.nodes)
    assert not clocks.hours[0].any()
    assert not clocks.count[0].any()
    assert clocks.hours[1][order] == pytest.approx(expected.hours)
    assert clocks.age[1][order] == pytest.approx(expected.age, abs=1e-6)
    assert (clocks.known[1][order] == ~expected.since_start).all()
    assert (clocks.count[1][order] == expected.count).all()


def test_what_is_left_of_a_life() -> None:
    for shape, age in ((0.5, 3.0), (2.0, 1.5), (2.0, 40.0)):
        scale = 1.0 / gamma(1.0 + 1.0 / shape)
        spent = (age / scale) ** shape
        exact = integrate.quad(lambda t, s, b, c: np.exp(c - (t / s) ** b), age, np.inf, (scale, shape, spent))[0]
        found = mean_residual_life(np.array([age]), np.array([1.0]), shape)[0]
        assert found == pytest.approx(exact, rel=2e-3 if age > 10 else 1e-8)


@pytest.mark.parametrize("shape", [0.6, 1.7])
def test_a_node_that_never_failed_has_the_age_of_its_expected_hazard(shape: float) -> None:
    """After T hours of stationary renewals: the rate of its failure is S(T) over the integral of S from there on."""
    scale, watched = 1000.0, np.array([300.0, 900.0])
    life = stats.weibull_min(shape, scale=scale)
    model = SimpleNamespace(
        standing=SimpleNamespace(age=watched, unseen=np.array([True, True])),
        renewals={"node": SimpleNamespace(shape=np.array([[0.0, shape, 9.0]]))},
        places=SimpleNamespace(system=np.zeros(2, np.int64)),
        node_rates=np.full(2, 1.0 / life.mean()),
    )
    expected = [life.sf(t) / integrate.quad(life.sf, t, np.inf)[0] for t in watched]
    ages = ages_now(model)
    np.testing.assert_allclose(life.pdf(ages) / life.sf(ages), expected, rtol=1e-6)
