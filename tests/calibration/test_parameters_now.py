"""Parameters of now on logs whose rates and repairs doubled ninety days before their end."""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf
from relfit.fleet.calibration.parameter_values import Duration
from relfit.fleet.calibration.parameters_now import _scaled
from relfit.fleet.current_repairs import RepairsNow
from relfit.planning import plan_checkpoints, plan_spares
from relfit.simulation.batch._simulate_batch import replayed_dates
from relfit.system.jobs import Checkpoint
from tests.factories import make_log
from tests.fleet.test_forecast import failing

NODES, DAYS, SINCE = 50, 600, 510
PARTS = ("mtbf", "mttr")


def log_of(rate: float, rate_now: float, repair: float, repair_now: float, seed: int = 1) -> rf.FailureLog:
    """Failures a day of a node, and hours of repair, before the last ninety days and in them."""
    rates = np.full((NODES, DAYS), rate)
    rates[:, SINCE:] = rate_now
    return failing(rates, seed, np.where(np.arange(DAYS) >= SINCE, repair_now, repair))


@pytest.fixture(scope="module")
def log() -> rf.FailureLog:
    return log_of(0.04, 0.08, 3.0, 6.0)


@pytest.fixture(scope="module")
def now(log) -> rf.Parameters:
    return rf.calibrate(log, period="all", parts=PARTS)


@pytest.fixture(scope="module")
def long_run(log) -> rf.Parameters:
    return rf.calibrate(log, period="all", parts=PARTS, at="long run")


def test_times_between_failures_follow_a_rate_that_doubled(now, long_run):
    # hours of operation of a node between its failures; any and outage by the calendar
    for name, truth in (("node", 24.0 / 0.08), ("any", 24.0 / (0.08 * NODES)), ("outage", 24.0 / 0.08)):
        value = getattr(now.mtbf, name)
        assert value.value == pytest.approx(truth, rel=0.2), name
        assert value.low < truth < value.high, name
        assert getattr(long_run.mtbf, name).low > truth, name
    assert "current rate, for the next 90 days" in now.mtbf.node.method


def test_plans_and_simulations_say_of_when_their_parameters_are(now, long_run):
    """They named the fleet and not whether the rates were its current or its long-run ones."""
    save, by_hand = Checkpoint(save="5min"), rf.Parameters(mtbf="20000h", mttr="2h", fleet={"nodes": NODES}, name="it")
    for parameters, kind, when in (
        (now, "current ", " now,"),
        (long_run, "long-run ", " in the long run,"),
        (by_hand, "", ","),
    ):
        assert parameters.title == f"{kind}parameters of {parameters.name}"
        checkpoints = plan_checkpoints(parameters, save, nodes=8, n_draws=2)
        assert checkpoints.source.startswith(f"{kind}parameters (mtbf.node")
        assert f"fail like the 50 of {parameters.name}{when}" in checkpoints.premise
        spares = plan_spares(parameters, 8, n_draws=2)
        assert spares.source == parameters.title
        assert spares.premise == (f"By the {parameters.title}:" if kind else "")
        training = rf.training.training_parameters(calibrated=parameters, job_size=8, job_length="1 day")
        assert (f"by the {parameters.title}." in " ".join(training.calibrated_by)) is bool(kind)
        batch = replayed_dates(rf.batch.CalibratedFailures(parameters=parameters), 0.0, 1.0)
        assert batch == (f"Failures by the {parameters.title}." if kind else "")


def test_repairs_follow(now, long_run, log):
    assert now.mttr.mean.low < 6.0 < now.mttr.mean.high
    assert now.mttr.mean.value == pytest.approx(6.0, rel=0.15)
    hours = (log.events["end"] - log.events["start"]).dt.total_seconds() / 3600.0
    assert long_run.mttr.mean.value == pytest.approx(hours.mean(), rel=0.02)
    assert long_run.mttr.mean.high < 6.0
    for name in ("node", "outage"):
        assert getattr(now.mttr, name).value / getattr(long_run.mttr, name).value == pytest.approx(
            now.mttr.mean.value / long_run.mttr.mean.value, rel=0.1
        )


def test_a_model_of_now_gives_the_repairs_of_now(now, long_run, log):
    for at, found in (("now", now), ("long run", long_run)):
        interval = rf.fleet_model(log, "all", at=at).interval("mttr", scope="node")
        assert float(interval.estimate) == pytest.approx(found.mttr.node.value, rel=0.01)
        assert float(interval.low) == pytest.approx(found.mttr.node.low, rel=0.15)
        assert float(interval.high) == pytest.approx(found.mttr.node.high, rel=0.15)


def test_nodes_down_are_by_the_repairs_of_now():
    """Half a failure a day of each node; repairs took 3 and take 9 hours: 3.4 of 50 nodes were down, 8 are now."""
    log = log_of(0.5, 0.5, 3.0, 9.0)
    down = [
        float(rf.fleet_model(log, "all", at=at).interval("nodes_down", at=0.5, n_draws=19).estimate)
        for at in ("now", "long run")
    ]
    assert 7 <= down[0] <= 9  # it was 4 here, too
    assert 3 <= down[1] <= 5


@pytest.mark.parametrize("outages", [40, 3])
def test_each_scope_has_its_own_change(outages):
    """Repairs of nodes took three times as long lately, those of the whole system as long as ever: two hours."""
    rng = np.random.default_rng(outages)
    hours = 24.0 * DAYS
    at = np.sort(rng.uniform(0.0, hours - 50.0, 1200))
    length = 3.0 * np.exp(0.5 * rng.standard_normal(at.size)) * np.where(at > 24.0 * SINCE, 3.0, 1.0)
    rows = [
        {"node": f"n{i % NODES}", "start": t, "end": t + d} for i, (t, d) in enumerate(zip(at, length, strict=True))
    ]
    rows += [
        {"node": None, "scope": "system", "start": t, "end": t + 2.0} for t in np.linspace(20.0, hours - 20.0, outages)
    ]
    found = rf.calibrate(make_log(rows, window=(0, hours)), period="all", parts=("mttr",)).mttr
    assert found.node.value == pytest.approx(9.0 * np.exp(0.125), rel=0.2)
    few = "; as all repairs, its own are few"
    assert found.system.method.endswith(few) is (outages == 3)
    assert not found.node.method.endswith(few)
    if outages > 3:
        assert found.system.value == pytest.approx(2.0, rel=0.1)


def test_repairs_became_longer_while_failures_stayed():
    found = rf.calibrate(log_of(0.06, 0.06, 3.0, 6.0, 2), period="all", parts=PARTS)
    assert found.mttr.mean.value == pytest.approx(6.0, rel=0.15)
    assert found.mtbf.node.value == pytest.approx(24.0 / 0.06, rel=0.1)


def test_a_steady_log_has_the_same_parameters_and_wider_limits():
    log = log_of(0.06, 0.06, 3.0, 3.0, 3)
    now, before = (rf.calibrate(log, period="all", parts=PARTS, at=at) for at in ("now", "long run"))
    for value, mean in ((now.mtbf.node, before.mtbf.node), (now.mtbf.any, before.mtbf.any)):
        assert value.value == pytest.approx(mean.value, rel=0.06)
        assert mean.high / mean.low < value.high / value.low < 1.6
    assert now.mttr.mean.value == pytest.approx(3.0, rel=0.06)


def test_checkpoints_are_planned_for_failures_as_they_come_now(now, long_run):
    plans = [plan_checkpoints(params, Checkpoint(save="5min", restore="5min"), nodes=16) for params in (now, long_run)]
    daly = [np.sqrt(2.0 * (5.0 / 60.0) * 24.0 / (rate * 16)) for rate in (0.08, 0.04 + 0.04 * 90 / 600)]
    for plan, first in zip(plans, daly, strict=True):  # of the first order (Young): saves every sqrt(2 C M)
        assert plan.checkpoint_every == pytest.approx(first, rel=0.1)
    assert plans[0].checkpoint_every < 0.85 * plans[1].checkpoint_every
    assert plans[0].waste > 1.2 * plans[1].waste


def test_longer_horizons_are_less_certain(log):
    near, far = (rf.calibrate(log, period="all", parts=("mtbf",), horizon=time).mtbf.node for time in ("10d", "365d"))
    assert far.high / far.low > 1.05 * near.high / near.low


def test_incidents_that_name_no_node_are_among_all():
    rows = [{"node": None, "start": 24.0 * day + 3.0, "end": 24.0 * day + 4.0} for day in range(0, 200, 2)]
    found = rf.calibrate(make_log(rows, [], window=(0, 4800)), period="all", parts=PARTS)
    assert found.mtbf.any.value == pytest.approx(48.0, rel=0.05)


@pytest.mark.parametrize("failures", [2, 3, 6])
def test_limits_of_a_few_failures_are_numbers(failures):
    rng = np.random.default_rng(failures)
    rows = [
        {"node": f"n{i}", "start": float(at), "end": float(at) + 2.0}
        for i, at in enumerate(rng.uniform(0, 90, failures))
    ]
    found = rf.calibrate(make_log(rows, window=(0, 100)), period="all", parts=PARTS)
    for value in (found.mtbf.node, found.mtbf.any, found.mttr.mean):
        assert 0.0 < value.low < value.value < value.high < 1e5
    assert plan_checkpoints(found, Checkpoint(save="5min", restore="5min"), nodes=2).waste < 1.0


def test_limits_of_a_scaled_time_add_the_variances_of_both_logs():
    """Between 5 and 40 hours around 10 the logs are log 2 and log 4 wide, at 1.96 standard deviations."""
    part = Duration(value=10.0, low=5.0, high=40.0, level=0.95)
    alone, wider = (_scaled(part, RepairsNow(2.0, each), 2160.0) for each in (0.0, np.expm1(0.3**2)))
    assert (alone.low, alone.value, alone.high) == pytest.approx((10.0, 20.0, 80.0))
    low, high = (np.exp(np.hypot(np.log(side), 1.959964 * 0.3)) for side in (2.0, 4.0))
    assert (wider.low, wider.value, wider.high) == pytest.approx((20.0 / low, 20.0, 20.0 * high))


def test_systems_of_several_ages_count_by_the_nodes_in_service_now() -> None:
    """64 nodes for two years, one failure in 100 days each, and 128 for two months, one in 30: each Poisson."""
    rng, rows, people = np.random.default_rng(11), [], []
    for system, nodes, entered, days in (("old", 64, 0.0, 100.0), ("new", 128, 670.0, 30.0)):
        for node in range(nodes):
            name = {"system": system, "node": f"{system}{node}"}
            people.append({**name, "entered": 24.0 * entered})
            times = np.sort(rng.uniform(entered, 729.0, rng.poisson((730.0 - entered) / days)))
            rows += [{**name, "start": 24.0 * at, "end": 24.0 * at + 1.0} for at in times]
    log = make_log(sorted(rows, key=lambda row: row["start"]), people, window=(0.0, 24.0 * 730))
    model = rf.fleet_model(log, "all")
    found = rf.calibrate(log, model=model, parts=PARTS)
    truth = 24.0 * 192 / (64 / 100.0 + 128 / 30.0)  # by operating hours of the past it would be 60 days, not 39
    assert found.mtbf.node.low < truth < found.mtbf.node.high
    assert found.mtbf.node.value == pytest.approx(truth, rel=0.15)
    week = model.lately.a_week(0.95)[0]
    assert 168.0 * 192 / found.mtbf.node.value == pytest.approx(week, rel=0.02)
    assert not [check for check in found.checks if check.name.startswith("dispersion")]
    assert "192 of 192 nodes in service" in model.now_headline
