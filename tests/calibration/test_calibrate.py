"""Calibration against logs whose answer can be counted by hand, against the truth of simulated ones, and real ones."""

from __future__ import annotations

import lzma
import re
import warnings
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.fleet.calibration import (
    PARTS,
    Parameters,
    draw_parameters,
    parameters_of_text,
    repair_times,
    text_of_parameters,
)
from relfit.fleet.calibration.exports import airesim_values
from relfit.fleet.calibration.fitted_families import fitted_family
from relfit.fleet.calibration.rates import duration_of_counts, nodeless_outages
from relfit.fleet.calibration.repair_scopes import repair_of_an_outage
from relfit.fleet.calibration.repair_times import _correlation, _hall, mean_of_repairs
from relfit.fleet.scope_rates import excess_scatter
from relfit.log.lifedata import LifeData
from relfit.simulation import simulate_log
from tests.factories import make_log
from tests.site_logs import site_log

QUICK = ("mtbf", "mttr")


def small_log() -> rf.FailureLog:
    """Twelve nodes in three racks for 1000 hours: three failures of nodes, one of a rack, one of the system."""
    nodes = [{"node": f"n{i}", "rack": f"r{i // 4}"} for i in range(12)]
    single = [(10, "n0", 2), (200, "n1", 4), (700, "n6", 6)]
    events = [{"node": node, "start": at, "end": at + hours} for at, node, hours in single]
    events += [{"node": f"n{i}", "start": 300, "end": 310} for i in range(4)]
    events += [{"node": f"n{i}", "start": 500, "end": 520} for i in range(12)]
    return make_log(events, nodes, window=(0, 1000))


def test_counts_and_exposure_by_scope() -> None:
    found = rf.calibrate(small_log(), period="all", parts=QUICK, window=0, at="long run")
    scopes = {name: (q.events, q.exposure) for name, q in found.quantities() if name.startswith("mtbf")}
    down = 2 + 4 + 6 + 4 * 10 + 12 * 20
    assert scopes == {
        "mtbf.node": (3, 12000.0 - down),
        "mtbf.rack": (1, 2990.0),  # ten of them the rack was down
        "mtbf.group": (0, 1000.0),
        "mtbf.system": (1, 980.0),  # and twenty the system
        "mtbf.any": (5, 1000.0),
        "mtbf.outage": (19, 12000.0 - down),
    }
    assert found.mtbf.node is not None
    assert found.mtbf.node.value == (12000.0 - down) / 3
    assert found.fleet.model_dump(exclude_none=True) == {"nodes": 12, "racks": 3, "systems": 1, "rack_share": 1.0}


def test_only_what_is_asked_is_looked_at() -> None:
    trend = rf.calibrate(small_log(), parts=("trend",))
    assert trend.censoring.model_dump(exclude_none=True) == {}
    found = rf.calibrate(small_log(), parts=("mtbf", "mttr", "repair_kinds", "families"))
    assert found.mtbf.any is not None
    assert found.mtbf.any.events == 5
    assert found.censoring.outages == 3 + 4 + 12
    apart = rf.calibrate(small_log(), parts=("mtbf",), window="10min").provenance
    assert apart is not None
    assert apart.window == pytest.approx(1 / 6)


def test_one_repair_for_each_incident() -> None:
    found = rf.calibrate(small_log(), period="all", parts=("mttr",), window=0, at="long run").mttr.mean
    assert found is not None
    assert (found.events, found.exposure, found.value) == (5, 42.0, 42.0 / 5)
    assert found.low == pytest.approx(42.0 / stats.gamma(5).ppf(0.975))
    assert found.high == pytest.approx(42.0 / stats.gamma(5).ppf(0.025))


def test_repairs_of_a_node_in_an_incident_of_its_rack() -> None:
    nodes = [{"node": f"n{i}", "rack": f"r{i // 4}"} for i in range(12)]
    events = [{"node": f"n{i}", "start": 100, "end": 102 + 2 * i} for i in range(4)]
    events += [{"node": f"n{i}", "start": 400, "end": 410} for i in range(4, 8)]
    events += [{"node": "n9", "start": 700, "end": 701}]
    found = rf.calibrate(
        make_log(events, nodes, window=(0, 1000)), period="all", parts=("mttr",), window=0, at="long run"
    ).mttr
    assert found.rack_node is not None
    assert found.rack_node.value == pytest.approx((2 + 4 + 6 + 8 + 4 * 10) / 8)
    assert found.node is not None
    assert found.node.value == pytest.approx(1.0)


def test_a_log_that_names_no_rack_has_the_rates_of_all_else() -> None:
    events = [{"node": "a", "start": 100, "end": 101}, *({"node": n, "start": 500, "end": 502} for n in "abc")]
    found = rf.calibrate(
        make_log(events, [{"node": n} for n in "abc"], window=(0, 1000)), period="all", parts=QUICK, at="long run"
    )
    assert found.mtbf.rack is None
    assert "in which rack" in found.absent["mtbf.rack"]
    for scope in ("node", "system", "any", "outage"):
        assert getattr(found.mtbf, scope) is not None, scope


def test_outages_of_the_whole_that_name_no_node_are_counted_by_themselves() -> None:
    events = [
        {"node": None, "scope": "system", "start": 100, "end": 106},
        {"node": "b", "scope": "system", "start": 700, "end": 709},
        *({"node": n, "start": 500, "end": 502} for n in "abc"),
    ]
    found = nodeless_outages(make_log(events, [{"node": n} for n in "abc"], window=(0, 1000)))
    assert found[["nodes", "hours", "ended", "known"]].to_numpy().tolist() == [[3, 6.0, True, True]]


def test_without_repairs_there_is_no_mean_and_without_batches_no_dispersion() -> None:
    assert mean_of_repairs(rf.LifeData.from_groups([[5.0, 7.0]], [[False, False]]), 0.95) == (None, None)
    minutes = mean_of_repairs(rf.LifeData.from_groups([[0.1, 0.2]]), 0.95)[0]
    assert minutes is not None
    assert minutes.value == pytest.approx(0.15)
    assert duration_of_counts(10, 1000.0, 0.95).dispersion is None
    assert duration_of_counts(10, 1000.0, 0.95, 2.0).dispersion == 2.0


@pytest.mark.parametrize(
    ("dispersion", "method"),
    [
        (1.0, "exact Poisson"),
        (2.5, "Poisson, widened for clustering 2.5 times"),
        (0.5, "Poisson, narrowed for regular times between 0.5 times"),
    ],
)
def test_limits_of_counts_that_scatter_more_or_less_than_poisson_counts(dispersion: float, method: str) -> None:
    found = duration_of_counts(10, 1000.0, 0.9, dispersion)
    assert found.method == method
    # the limits of as many events as tell as much, 10 over the dispersion, in as many hours for each
    low, high = stats.gamma(10 / dispersion + 1).ppf(0.95), stats.gamma(10 / dispersion).ppf(0.05)
    assert (found.low, found.high) == pytest.approx((1000 / dispersion / low, 1000 / dispersion / high))


def test_outages_come_in_batches() -> None:
    found = rf.calibrate(small_log(), period="all", parts=("mtbf",), window=0, at="long run").mtbf.outage
    assert found is not None
    assert found.dispersion == pytest.approx((3 * 1 + 16 + 144) / 19)


def test_what_the_log_does_not_say_is_absent_with_a_reason() -> None:
    found = rf.calibrate(
        make_log([{"node": "a", "start": 5}], window=(0, 100)), period="all", parts=PARTS[1:], at="long run"
    )
    assert found.mtbf.rack is None
    assert found.absent["mtbf.rack"] == "the log does not say in which rack a node stands"
    assert found.absent["mttr.mean"] == "the log has no completed repair"
    assert found.absent["failure"]
    assert found.absent["bad_nodes.fraction"] == "fewer than three nodes or ten failures"
    assert found.mttr.mean is None
    assert found.failure is None
    assert parameters_of_text(text_of_parameters(found)) == found


def test_no_failure_gives_a_one_sided_limit() -> None:
    log = make_log([], [{"node": "a"}, {"node": "b"}], window=(0, 100))
    found = rf.calibrate(log)
    assert found.mtbf.node is not None
    assert (found.mtbf.node.value, found.mtbf.node.high, found.mtbf.node.events) == (None, None, 0)
    assert found.mtbf.node.low == pytest.approx(200.0 / -np.log(0.05))
    assert "mtbf.node above 66.7" in repr(found)


def test_events_without_nodes_have_no_node_rate() -> None:
    log = make_log([{"node": None, "start": 5, "end": 6}, {"node": None, "start": 50, "end": 60}], [], window=(0, 100))
    found = rf.calibrate(log, period="all", parts=QUICK, at="long run")
    assert found.mtbf.node is None
    assert found.absent["mtbf.node"] == "the log does not say how long nodes were under observation"
    assert found.mtbf.any is not None
    assert found.mtbf.any.value == 50.0


def test_whole_lives_with_and_without_events() -> None:
    lives = [{"node": f"n{h}", "duration": float(h), "observed": h < 40} for h in (10, 20, 30, 40)]
    nodes = [{"node": life["node"]} for life in lives]
    undated = rf.calibrate(make_log([], nodes, lifetimes=lives))
    assert undated.mtbf.node is not None
    assert undated.mtbf.node.value == pytest.approx(100.0 / 3.0)
    assert {"mtbf.any", "mttr.mean", "repair"} < set(undated.absent)
    assert undated.absent["checks.dependence"] == undated.absent["checks.trend"]
    assert undated.absent["checks.trend"].startswith("the log gives times to failure without dates")
    events = [{"node": "n10", "start": 10, "end": 12}, {"node": "n20", "start": 20, "end": 26}]
    dated = rf.calibrate(make_log(events, nodes, lifetimes=lives, window=(0, 50)), parts=QUICK, at="long run")
    assert dated.mtbf.any is not None
    assert dated.mtbf.any.value == 25.0
    assert dated.mttr.mean is not None
    assert dated.mttr.mean.value == 4.0
    silent = rf.calibrate(make_log([], nodes, window=(0, 50)), parts=("mtbf", "trend"))
    assert silent.mtbf.any is not None
    assert silent.mtbf.any.events == 0
    assert "without dates" not in silent.absent["checks.trend"]


@pytest.mark.verify
def test_whole_lives_give_a_node_rate_and_a_family_only() -> None:
    rng = np.random.default_rng(2)
    lives = [
        {"node": f"n{i}", "duration": float(h), "observed": bool(h < 900.0)}
        for i, h in enumerate(np.minimum(rng.weibull(2.0, 300) * 800.0, 900.0))
    ]
    found = rf.calibrate(make_log([], [{"node": life["node"]} for life in lives], lifetimes=lives), at="long run")
    assert found.mtbf.node is not None
    assert found.mtbf.node.exposure == pytest.approx(sum(life["duration"] for life in lives))
    assert found.failure is not None
    assert found.failure.family == "weibull"
    assert set(found.absent) >= {"mtbf.rack", "mttr.mean", "repair", "checks.dependence", "checks.trend"}


@pytest.mark.slow
def test_the_period_is_used_and_told() -> None:
    white = rf.datasets.load("white")
    stable = rf.stable_period(white)
    found = rf.calibrate(white, parts=("period", "mtbf"), rng=0, at="long run")
    assert found.period is not None
    assert found.period.name == "steady"
    assert found.period.start is not None
    assert abs((found.period.start - stable.start.to_pydatetime()).total_seconds()) < 1.0
    given = rf.calibrate(white, period=("2003-01-01", "2004-01-01"), parts=("mtbf",), at="long run")
    assert given.period is not None
    assert (given.period.name, given.period.hours) == ("given", 8760.0)
    assert given.mtbf.any is not None
    assert given.mtbf.any.events == len(rf.incidents(white.between("2003-01-01", "2004-01-01"), 0))
    assert "systems" not in [check.name for check in given.checks]
    two = make_log([{"system": s, "node": s, "start": 5} for s in "ab"])
    finding = next(check.finding for check in rf.calibrate(two, parts=("mtbf",)).checks if check.name == "systems")
    assert finding.startswith("2 systems are taken as one")
    assert rf.calibrate(two, parts=("mtbf",)).absent["period"].startswith("the log has several systems")


@pytest.mark.slow
def test_the_period_does_not_depend_on_the_parts() -> None:
    early, late = np.arange(0.0, 4000.0, 4.0), np.arange(4000.0, 12000.0, 40.0)  # ten times fewer from 4000 h on
    nodes = [{"node": f"n{i}"} for i in range(20)]
    events = [{"node": f"n{i % 20}", "start": hour} for i, hour in enumerate([*early, *late])]
    log = make_log(events, nodes, window=(0, 12000))
    for parts in (QUICK, ("mtbf",), ("period", "mtbf")):
        mean = rf.calibrate(log, parts=parts, window=0, at="long run").mtbf.any
        assert mean is not None
        assert mean.value == pytest.approx(40.0, rel=0.02)


@pytest.mark.slow
def test_all_of_white() -> None:
    found = rf.calibrate(rf.datasets.load("white"), at="long run")
    assert found.provenance is not None
    assert found.provenance.files == ["white.csv.xz"]
    assert len(found.provenance.sha256[0]) == 64
    assert found.provenance.relfit == rf.__version__
    assert found.failure is not None
    assert found.failure.spread is not None  # nodes differ, so that the shape is that of each
    assert found.failure.spread > 0.1
    # the mean does not depend on the shape: the scale, mean / gamma(1 + 1/shape), moves with it by its derivative
    assert found.failure.covariance is not None
    shape, scale = found.failure.parameters["shape"], found.failure.parameters["scale"]
    assert found.failure.mean is not None
    assert stats.weibull_min(shape, scale=scale).mean() == pytest.approx(found.failure.mean.value)
    (var, both), _ = found.failure.covariance
    assert both / var == pytest.approx(scale * special.digamma(1.0 + 1.0 / shape) / shape**2)
    assert {check.name for check in found.checks} >= {"failures.exponential", "dependence.cofailure", "trend"}
    assert {check.name: check.concern for check in found.checks}["failures.exponential"]  # the rate falls with age
    assert found.warnings
    for kind in ("toml", "json"):
        assert parameters_of_text(text_of_parameters(found, kind), kind) == found
    assert found.to_frame()["value"].notna().all()


@pytest.mark.slow
def test_the_same_seed_gives_the_same() -> None:
    log = rf.datasets.load("white").where(rack="frame01")
    parts = ("period", "mtbf", "bad_nodes")
    one, two = (rf.calibrate(log, parts=parts, rng=4).to_dict() for _ in range(2))
    assert {k: v for k, v in one.items() if k != "provenance"} == {k: v for k, v in two.items() if k != "provenance"}


def test_what_cannot_be_asked_for() -> None:
    log = small_log()
    for options, message in [
        ({"parts": ("mtbf", "x")}, "part 'x' is not known"),
        ({"period": "best"}, "period 'best' is not known"),
        ({"level": 95}, "level is 95"),
        ({"families": ()}, "no family was given"),
        ({"families": ("weibul",)}, "unknown family 'weibul'"),
        ({"window": "-1h"}, "-1"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            rf.calibrate(log, **options)


# ------------------------------------------------------------------ statistics


def test_covariance_is_widened_for_dependence() -> None:
    """Each node has a rate of its own: the robust variance by hand, and limits as wide as it says."""
    rng = np.random.default_rng(6)
    means = 100.0 * np.exp(rng.normal(0.0, 1.0, 60))
    times = [rng.exponential(mean, 25) for mean in means]
    data = rf.LifeData.from_groups(times)
    found, _ = fitted_family(data, ["exponential"], 0.95)
    assert found is not None
    assert found.covariance is not None
    total = np.array([t.sum() for t in times])
    rate = 1500 / total.sum()
    # the robust variance of the log of the rate, by hand: between nodes, over the squared number of failures
    scores = 25 - rate * total
    robust = (scores**2).sum() * 60 / 59 / 1500**2
    factor = robust / (1 / 1500)
    assert factor > 10
    assert found.dispersion == pytest.approx(factor, rel=1e-3)
    assert found.covariance[0][0] == pytest.approx(rate**2 * robust, rel=1e-3)
    assert found.low is not None
    assert found.low["rate"] == pytest.approx(rate * np.exp(-1.959964 * np.sqrt(robust)), rel=1e-3)
    alike, _ = fitted_family(rf.LifeData.from_groups([[1.0, 2.0, 3.0]] * 60), ["exponential"], 0.95)
    assert alike is not None
    assert alike.dispersion is None  # nodes more alike than independent ones leave the likelihood's covariance
    assert alike.covariance == [[pytest.approx(0.5**2 / 180)]]
    few, _ = fitted_family(rf.LifeData.from_groups(times[:10]), ["exponential"], 0.95)
    assert few is not None
    assert few.dispersion is None  # too few nodes to see it
    assert few.method == "maximum likelihood"
    chosen, _ = fitted_family(data, ["exponential", "weibull"], 0.95)
    assert chosen is not None
    assert chosen.method == "maximum likelihood; best by AICc of exponential, weibull"


def test_limits_of_a_mean_are_those_of_any_unit() -> None:
    times = np.array([[1.0, 4.0, 2.0, 9.0, 3.0]])
    long, short = (fitted_family(rf.LifeData.from_array(times * unit), ["exponential"], 0.9)[0] for unit in (1.0, 1e-3))
    assert long is not None
    assert short is not None
    assert long.mean is not None
    assert short.mean is not None
    assert long.mean.low is not None
    assert (short.mean.low, short.mean.high) == pytest.approx((1e-3 * long.mean.low, 1e-3 * long.mean.high))


def test_incidents_of_unknown_nodes_scatter_too() -> None:
    events = [{"node": None, "start": 100.0 + 0.1 * i, "end": 100.05 + 0.1 * i} for i in range(60)]
    found = rf.calibrate(
        make_log(events, [], window=(0, 10_000)), period="all", parts=("mtbf",), window=0, at="long run"
    ).mtbf.any
    assert found is not None
    assert found.events == 60
    assert found.dispersion is not None
    assert found.dispersion > 10.0  # all within six hours of ten thousand


def test_scatter_is_that_of_a_compound_process() -> None:
    rng = np.random.default_rng(3)
    whole = np.zeros(1), np.full(1, 10_000.0)
    even = [excess_scatter(rng.uniform(0, 10_000, 500), 10_000.0, *whole)[0] for _ in range(200)]
    assert np.mean(np.array(even) > 1.0) < 0.04
    bursts = [excess_scatter(np.repeat(rng.uniform(0, 10_000, 100), 5), 10_000.0, *whole)[0] for _ in range(20)]
    assert 4.0 < np.median(bursts) < 10.0  # variance over mean is 5, and the largest of four is taken
    late = np.array([0.0]), np.array([5_000.0])  # watched for the first half only: no scatter from that
    assert excess_scatter(rng.uniform(0, 5_000, 400), 10_000.0, *late)[0] == 1.0


def test_the_distribution_of_repairs_follows_the_repairs() -> None:
    rng = np.random.default_rng(4)
    exponential, check = mean_of_repairs(rf.LifeData.from_array(rng.exponential(5.0, 200), measure="ttr"), 0.95)
    assert exponential is not None
    assert (exponential.distribution, check) == ("exponential", None)
    lognormal, check = mean_of_repairs(rf.LifeData.from_array(rng.lognormal(1.0, 1.4, 200), measure="ttr"), 0.95)
    assert lognormal is not None
    assert lognormal.method == "mean of repairs, profile likelihood of lognormal"
    assert check is not None
    assert check.concern
    mixed = np.where(rng.random(2000) < 0.5, rng.exponential(0.1, 2000), rng.exponential(50.0, 2000))
    neither, _ = mean_of_repairs(rf.LifeData.from_array(mixed, measure="ttr"), 0.95)
    assert neither is not None
    assert neither.value == pytest.approx(mixed.mean())
    assert neither.method is not None
    assert "Hall" in neither.method


def test_hall_is_student_without_skewness() -> None:
    values = np.array([-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]) + 20.0
    expected = stats.t.interval(0.9, 6, loc=20.0, scale=values.std(ddof=1) / np.sqrt(7))
    assert _hall(values, 0.9) == pytest.approx(expected, rel=1e-4)


@pytest.mark.verify
def test_intervals_contain_the_truth_of_simulated_logs() -> None:
    truth = Parameters(mtbf={"node": 4000, "rack": 3000}, mttr=12)
    hits = dict.fromkeys(("mtbf.node", "mtbf.rack", "mttr.mean"), 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(60):
            log = simulate_log(truth, 6000.0, nodes=128, racks=8, rng=seed)
            drawn = draw_parameters(rf.calibrate(log, parts=QUICK, at="long run"), 500, seed)
            for name in hits:
                low, high = drawn.interval(name, 0.9)
                hits[name] += low <= truth.values()[name] <= high
    # binomial(60, 0.9) lies in 47..59 with probability 99.6 %; benchmarks/verify_calibration.py takes 1 000 logs
    assert all(47 <= hit <= 60 for hit in hits.values()), hits


def test_families_of_simulated_logs() -> None:
    weibull = {"family": "weibull", "parameters": {"shape": 0.7, "scale": 500.0}}
    log = simulate_log(Parameters(failure=weibull, mttr=6), 8766.0, nodes=150, rng=8)
    found = rf.calibrate(log, parts=("families",), at="long run").failure
    assert found is not None
    assert found.family == "weibull"
    drawn = draw_parameters(Parameters(failure=found), 2000, 1)
    for name, value in (("shape", 0.7), ("scale", 500.0)):
        low, high = drawn.interval(f"failure.{name}", 0.99)
        assert low < value < high
    assert found.mean is not None


def test_bad_nodes_of_simulated_logs() -> None:
    truth = Parameters(mtbf=1000, bad_nodes={"fraction": 0.1, "factor": 8})
    log = simulate_log(truth, 8766.0, nodes=500, rng=3)
    bad = rf.calibrate(log, parts=("bad_nodes",)).bad_nodes
    assert bad.fraction is not None
    assert bad.factor is not None
    assert bad.fraction.value == pytest.approx(0.1, abs=0.01)
    assert bad.factor.value == pytest.approx(8.0, rel=0.1)
    assert bad.good_mtbf is not None
    assert bad.good_mtbf.value == pytest.approx(1000.0 * 1.7, rel=0.1)


@pytest.mark.verify
def test_windows_are_borne_out_by_gaps_above_zero() -> None:
    """Racks fail at one instant; nodes that have nothing to do with each other must not be joined for it."""
    truth = Parameters(mtbf={"node": 5000, "rack": 8000}, mttr=12)
    windows = []
    for seed in range(40):
        log = simulate_log(truth, 4000.0, nodes=72, racks=4, rng=seed)
        found = rf.calibrate(log, parts=("mtbf",)).provenance
        assert found is not None
        windows.append(found.window)
    assert np.mean(np.array(windows) > 0.0) < 0.1


def test_quick_and_slow_repairs() -> None:
    truth = Parameters(mtbf=800, mttr={"quick": 1, "slow": 60, "share_quick": 0.75})
    found = rf.calibrate(
        simulate_log(truth, 8766.0, nodes=100, rng=5), parts=("mttr", "repair_kinds"), at="long run"
    ).mttr
    assert found.share_quick is not None
    assert found.share_quick.value == pytest.approx(0.75, abs=0.05)
    assert found.quick is not None
    assert found.quick.value == pytest.approx(1.0, rel=0.2)
    assert found.slow is not None
    assert found.slow.value == pytest.approx(60.0, rel=0.2)
    assert found.overall == pytest.approx(15.75, rel=0.2)


@pytest.mark.parametrize("at", ["now", "long run"])
def test_the_kinds_of_repairs_add_to_the_mean_of_a_node(at: str) -> None:
    """Repairs that two lognormals fit and do not describe; before 2024-07 they take twice as long."""
    rng = np.random.default_rng(8)
    hours = np.where(rng.random(400) < 0.7, rng.gamma(2.0, 1.0, 400), 20.0 * rng.weibull(0.8, 400))
    begun = np.cumsum(rng.exponential(40.0, 400) + 10.0)
    hours[begun < 0.5 * begun[-1]] *= 2.0
    rows = zip(begun, begun + hours, rng.integers(40, size=400), strict=True)
    events = [{"start": start, "end": end, "node": f"n{node}"} for start, end, node in rows]
    log = make_log(events, window=(0, float(begun[-1]) + 500.0))
    found = rf.calibrate(log, parts=("mtbf", "mttr", "repair_kinds"), period="all", at=at)
    values = found.values()
    share, quick, slow = (values[f"mttr.{name}"] for name in ("share_quick", "quick", "slow"))
    assert share * quick + (1.0 - share) * slow == pytest.approx(values["mttr.node"], rel=0.02)
    assert share * quick + (1.0 - share) * slow == pytest.approx(values["mttr.mean"], rel=1e-9)
    assert found.mttr.quick.low < quick < found.mttr.quick.high
    exported = airesim_values(found)
    mean = exported["auto_repair_time"] + exported["prob_auto_to_manual"] * exported["manual_repair_time"]
    assert mean / 60.0 == pytest.approx(values["mttr.node"], rel=1e-9)


def test_limits_of_the_repair_of_an_outage_by_hand() -> None:
    """Incidents of 1, 1 and 3 nodes and 1, 1 and 30 hours: the mean is 6.4, what they differ from it 5.4, 5.4, 10.8."""
    lives = rf.LifeData.from_array([1.0, 1.0, 10.0, 10.0, 10.0])
    found = repair_of_an_outage(lives, np.array([0, 1, 2, 2, 2]), 0.9)
    assert found is not None
    factor = np.exp(1.6448536 * np.sqrt(5.4**2 + 5.4**2 + 10.8**2) / 5 / 6.4)
    assert (found.low, found.value, found.high) == pytest.approx((6.4 / factor, 6.4, 6.4 * factor))


@pytest.mark.parametrize(
    ("low", "high", "kept"), [(0.5, 2.0, True), (0.0, 2.0, False), (0.5, np.inf, False), (np.nan, np.nan, False)]
)
def test_limits_of_kinds_of_repairs_that_are_no_limits_are_left_out(
    low: float, high: float, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("mean_quick", "mean_slow", "share_quick", "split")
    row = {f"{name}{end}": value for name in names for end, value in (("_low", low), ("", 1.0), ("_high", high))}
    row |= {
        "share_quick": 0.6,
        "share_quick_low": 0.5,
        "share_quick_high": 0.7,
        "mean_slow": 2.0,
        "mean_slow_high": 3.0,
    }
    table = pd.DataFrame([row | {"status": "ok", "repairs": 12, "model": "exponential"}])
    monkeypatch.setattr(repair_times, "repair_kinds", lambda *_, **__: SimpleNamespace(best=lambda: table))
    times = rf.LifeData.from_groups([[0.5, 1.0, 3.0]], [[True, True, True]])
    quick = repair_times.kinds_of_repairs(times, 0.95)[0]["quick"]
    assert (quick.low, quick.high) == ((low, high) if kept else (None, None))


# ------------------------------------------------------------------- real logs


@pytest.mark.slow
def test_lanl_systems() -> None:
    log = site_log("lanl")
    for system in (2, 13, 17, 21):
        found = rf.calibrate(log.where(system=system), parts=("period", *QUICK), at="long run")
        assert parameters_of_text(text_of_parameters(found)) == found
        assert found.name == str(system)
    whole = rf.calibrate(log.where(system=2), period="all", parts=("mtbf",), window="10min", at="long run")
    rates = rf.incidents(log.where(system=2), "10min").rates().set_index("scope")
    assert whole.mtbf.node is not None
    # those that began while the system was down interrupt nobody; hours down do not count
    assert 0.95 * rates.loc["node", "incidents"] < whole.mtbf.node.events <= rates.loc["node", "incidents"]
    assert 0.95 * rates.loc["node", "mtbf"] < whole.mtbf.node.value < 1.05 * rates.loc["node", "mtbf"]


@pytest.mark.slow
def test_titan_lives_have_no_repairs(shared: Path, tmp_path: Path) -> None:
    with lzma.open(shared / "data" / "titan-gpu-lifetimes.csv.xz", "rt") as whole:
        (tmp_path / "titan.csv").write_text("".join(islice(whole, 4000)))
    log = rf.read(tmp_path / "titan.csv")
    found = rf.calibrate(log, parts=("period", "mtbf", "mttr", "families"), families=("weibull",), at="long run")
    assert found.failure is not None
    assert found.failure.parameters["shape"] > 1.0  # of the first cards in the file; of all above 2
    assert {"period", "mttr.mean", "repair"} <= set(found.absent)
    assert found.mtbf.node is not None


@pytest.mark.slow
@pytest.mark.long
def test_grid5000() -> None:
    log = site_log("grid5000")
    found = rf.calibrate(log, period="all", parts=QUICK, at="long run")
    assert found.mtbf.outage is not None
    down = log.ttr().total_time.sum()
    hours = (log.population["left"] - log.population["entered"]).dt.total_seconds().sum() / 3600.0
    assert found.mtbf.outage.exposure == pytest.approx(hours - down)
    assert found.mttr.mean is not None


@pytest.mark.verify
def test_the_mean_of_skewed_repairs_is_covered_though_the_family_is_not_known() -> None:
    rng = np.random.default_rng(6)
    held = 0
    for _ in range(80):
        found, _ = mean_of_repairs(rf.LifeData.from_array(rng.lognormal(0.0, 1.5, 30)), 0.95)
        assert found is not None
        held += found.low <= np.exp(1.125) <= found.high
    assert held >= 0.9 * 80  # of 80 %, where the family was chosen on the same repairs; benchmarks/verify_screening.py


def test_repairs_within_an_hour_count_where_the_clock_has_whole_hours() -> None:
    rng = np.random.default_rng(5)
    start = np.sort(rng.choice(np.arange(10, 200_000, 20), 600, replace=False)) + rng.random(600)
    repair = rng.lognormal(np.log(2.0), 1.0, 600)
    log = make_log(
        [
            {"node": f"n{i % 7}", "start": float(np.floor(at)), "end": float(np.floor(at + hours))}
            for i, (at, hours) in enumerate(zip(start, repair, strict=True))
        ],
        window=(0, 200_100),
    )
    assert (log.events["start"] == log.events["end"]).sum() > 50
    found = rf.calibrate(log, period="all", parts=("mttr",), window=0, at="long run").mttr
    for one in (found.mean, found.node, found.outage):  # 3.3 hours; 16 % more without the repairs of no length
        assert one is not None
        assert one.low is not None
        assert one.high is not None
        assert one.value == pytest.approx(repair.mean(), rel=0.04)
        assert one.low < repair.mean() < one.high
    repairs = rf.fleet_model(log, "all", window=0, at="long run").scopes.loc["node", "mttr"]
    assert repairs == pytest.approx(repair.mean(), rel=0.04)


def test_limits_of_the_mean_of_very_many_repairs_are_those_of_each_repair_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = rf.LifeData.from_array(np.random.default_rng(4).lognormal(0.5, 1.2, 101_000))
    found, _ = mean_of_repairs(times, 0.95)
    monkeypatch.setattr("relfit.fleet.calibration.repair_times.condensed", None)
    with pytest.raises(TypeError):
        mean_of_repairs(times, 0.95)
    monkeypatch.setattr("relfit.fleet.calibration.repair_times._MANY", 200_000)
    exact, _ = mean_of_repairs(times, 0.95)
    assert found is not None
    assert exact is not None
    assert found.method == exact.method
    for name in ("low", "value", "high"):
        assert abs(getattr(found, name) - getattr(exact, name)) < 1e-3 * (exact.high - exact.low)


def test_kinds_of_repair_that_do_not_overlap_are_estimated_apart() -> None:
    rng = np.random.default_rng(5)
    times = np.concatenate([rng.exponential(0.1, 300), 500.0 + rng.exponential(500.0, 200)])
    found = _correlation(LifeData.from_array(times), 0.6, 0.1, 1000.0)
    assert found is not None
    # each repair is of one kind, so the scores of a kind say nothing of the other; its share and its mean go together
    assert abs(found[1][2]) < 0.05
    overlapping = _correlation(LifeData.from_array(rng.exponential(1.0, 500)), 0.5, 0.8, 1.2)
    assert overlapping is not None
    assert overlapping[0][1] > 0.5


def test_limits_of_a_mean_are_above_a_twentieth_of_it() -> None:
    values = np.append(np.full(3, 1e-3), 1000.0)
    low, _ = _hall(values, 0.999)
    assert low == pytest.approx(0.05 * values.mean())


def test_the_method_of_a_repair_time_says_what_the_time_of_late_adds() -> None:
    """A factor, and its uncertainty each way, which is what is wider than in the long run."""
    now, long = (
        rf.calibrate(small_log(), period="all", parts=("mttr",), at=at).mttr.mean for at in ("now", "long run")
    )
    assert now.value is not None
    assert long.value is not None
    said = re.search(r"; times (\S+) for the next 90 days, uncertain by a factor of (\S+)$", now.method or "")
    assert said is not None
    assert float(said[1]) == pytest.approx(now.value / long.value, rel=0.01)
    wider = np.log(now.high / now.value) ** 2 - np.log(long.high / long.value) ** 2
    assert float(said[2]) == pytest.approx(np.exp(np.sqrt(wider)), rel=0.06)
