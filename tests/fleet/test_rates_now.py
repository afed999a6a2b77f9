"""The model of now on fleets that changed: what comes next is drawn with plain NumPy and counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import relfit as rf
from relfit.base.errors import ArgumentError, RelfitError
from relfit.fleet.prediction import levels_of, mix
from relfit.fleet.rates_now import limits_of_multiples
from relfit.fleet.scope_rates import excess_scatter
from tests.factories import make_log
from tests.fleet.test_forecast import failing

NODES, DAYS, SINCE = 64, 600, 510
REPAIR = 2.0  # hours


def doubled() -> np.ndarray:
    """Failures a day of each node, twice as many in the last ninety days."""
    rates = np.full((NODES, DAYS), 0.02)
    rates[:, SINCE:] = 0.04
    return rates


@pytest.fixture(scope="module")
def log() -> rf.FailureLog:
    return failing(doubled(), 1)


@pytest.fixture(scope="module")
def now(log) -> rf.fleet.FleetModel:
    return rf.fleet_model(log, "all")


@pytest.fixture(scope="module")
def long_run(log) -> rf.fleet.FleetModel:
    return rf.fleet_model(log, "all", at="long run")


def survived(rate: float, size: int, hours: float, seed: int = 9) -> float:
    """Share of jobs on consecutive nodes that meet no failure, counted in what comes after."""
    rng = np.random.default_rng(seed)
    days = 400
    first = np.full((NODES, 40 * days), np.inf)
    for node in range(NODES):
        at = np.sort(rng.uniform(0.0, 24.0 * days, rng.poisson(rate * days)))
        starts = np.arange(40 * days) * 0.6
        place = np.searchsorted(at, starts)
        first[node] = np.append(at, np.inf)[place] - starts
    jobs = [first[i : i + size].min(axis=0) > hours for i in range(0, NODES - size + 1, 4)]
    return float(np.mean(jobs))


# ---------------------------------------------------------------- a rate that doubled


@pytest.mark.parametrize("placement", ["packed", "random"])
def test_jobs_run_as_long_as_failures_come_now(now, long_run, placement):
    truth = survived(0.04, 16, 24.0)
    assert truth == pytest.approx(np.exp(-0.04 * 16), abs=0.02)
    answer = now.interval("reliability", "24h", size=16, placement=placement)
    assert answer.low < truth < answer.high
    assert answer.estimate == pytest.approx(truth, abs=0.1)
    assert answer.high - answer.low < 0.6
    before = long_run.interval("reliability", "24h", size=16, placement=placement)
    assert before.low > truth + 0.05  # it has the mean of all the log


def test_times_between_failures_are_those_of_now(now, long_run):
    limits = now.interval("mtbf", scope="node")
    assert limits.low < 24.0 / 0.04 < limits.high
    assert limits.estimate == pytest.approx(24.0 / 0.04, rel=0.2)
    assert long_run.interval("mtbf", scope="node").low > 24.0 / 0.04
    job = now.interval("mtbf", size=16)
    assert job.low < 24.0 / (0.04 * 16) < job.high
    assert long_run.interval("mtbf", size=16).low > 24.0 / (0.04 * 16)


def test_incidents_to_come_are_those_of_now(now):
    coming = now.interval("incidents", "30d")
    assert coming.low < 0.04 * NODES * 30 < coming.high
    week, low, high = now.lately.a_week(0.95)
    assert low < 0.04 * NODES * 7 < high
    assert week == pytest.approx(0.04 * NODES * 7, rel=0.2)


@pytest.mark.slow
def test_rates_of_systems_add_up_and_so_do_their_variances():
    systems = [failing(np.full((NODES, 400), rate), seed) for rate, seed in ((0.02, 1), (0.05, 2))]
    events = pd.concat([one.events.assign(system=f"s{i}") for i, one in enumerate(systems)])
    both = rf.read(events[["system", "node", "start", "end"]])
    model = rf.fleet_model(both, "all")
    level, variance = model.lately.level()
    alone = [rf.fleet_model(both.where(system=f"s{i}"), "all").lately.level() for i in range(2)]
    assert level == pytest.approx(sum(rate for rate, _ in alone), rel=0.05)
    assert variance == pytest.approx(sum(square * rate**2 for rate, square in alone) / level**2, rel=0.2)
    low, high = (168.0 / rf.calibrate(both, model=model).mtbf.any.high, model.lately.a_week(0.95)[1] / 2.0)
    assert low == pytest.approx(high, rel=1e-6)  # a system of the two has half of their incidents


def test_the_headline_has_both_rates(now, log, long_run):
    text = now.now_headline
    until = log.window.end
    assert text.startswith(f"As of {until:%Y-%m-%d}: ")
    assert f"{len(now.found.table) / (DAYS / 7.0):.3g} a week since 2001-01-01" in text
    assert now.findings[0] == text
    assert now.at == "now"
    assert (long_run.at, long_run.now_headline, long_run.lately) == ("long run", "", None)


def test_the_system_of_nodes_fails_as_now(now):
    alone = now.system([f"n{i:02d}" for i in range(16)]).reliability("24h")
    assert float(alone) == pytest.approx(np.exp(-0.04 * 16), abs=0.08)


def test_a_steady_fleet_has_limits_that_hold_and_are_not_far_wider():
    log = failing(np.full((NODES, DAYS), 0.04), 2)
    now, before = (rf.fleet_model(log, "all", at=at).interval("mtbf", scope="node") for at in ("now", "long run"))
    assert now.low < 600.0 < now.high
    assert now.high / now.low < 1.5
    assert before.high / before.low < now.high / now.low


def test_a_longer_horizon_is_less_certain(log):
    near, far = (
        rf.fleet_model(log, "all", horizon=horizon).interval("mtbf", scope="node") for horizon in ("10d", "365d")
    )
    assert far.high / far.low > 1.05 * near.high / near.low


# ---------------------------------------------------------------------- periods


def test_rates_follow_the_log_beyond_its_stable_period(log):
    period = rf.fleet.chosen_period(log, ("2001-01-01", "2002-03-01"))
    stable = replace(period, name="stable")
    model = rf.fleet_model(log, stable)
    answer = model.interval("mtbf", scope="node")
    assert answer.low < 600.0 < answer.high
    assert model.period.log.window.end == log.window.end
    given = rf.fleet_model(log, ("2001-01-01", "2002-03-01"))  # asked for: nothing after it is looked at
    assert given.interval("mtbf", scope="node").estimate == pytest.approx(1200.0, rel=0.15)


# ------------------------------------------------------------------------ nodes


def test_a_node_that_ails_lately_is_named_and_no_longer_after_its_repair():
    rates = np.full((20, DAYS), 0.05)
    rates[3, DAYS - 50 :] = 0.5
    rates[5, 100:300] = 0.5  # well for most of a year
    model = rf.fleet_model(failing(rates, 3), "all")
    multiple = pd.Series(model.node_multipliers, index=model.places.nodes.get_level_values(-1))
    assert multiple.idxmax() == "n03"
    assert multiple["n03"] > 3.0
    assert multiple["n05"] < 0.5 * multiple["n03"]
    mean = rf.fleet_model(failing(rates, 3), "all", at="long run")
    multiple = pd.Series(mean.node_multipliers, index=mean.places.nodes.get_level_values(-1))
    assert multiple.idxmax() == "n05"


def test_equal_nodes_have_equal_rates(now):
    assert np.abs(now.node_multipliers - 1.0).max() < 0.35


# ----------------------------------------------------------------- scopes, few data


def test_a_scope_that_was_quiet_lately_is_seldom_now():
    rng = np.random.default_rng(4)
    log = failing(np.full((NODES, DAYS), 0.01), 4)
    whole = [
        {"node": None, "scope": "system", "start": float(at), "end": float(at) + 1.0, "cause": "power"}
        for at in np.sort(rng.uniform(0.0, 24.0 * 300, 60))  # none in the last three hundred days
    ]
    more = make_log(whole, log.population[["node"]].to_dict("records"), window=(0.0, 24.0 * DAYS)).events
    events = pd.concat([log.events, more], ignore_index=True).sort_values("start", ignore_index=True)
    log = replace(log, events=events)
    now, before = (rf.fleet_model(log, "all", at=at) for at in ("now", "long run"))
    mean = before.interval("mtbf", scope="system").estimate
    assert mean == pytest.approx(24.0 * DAYS / 60.0, rel=0.1)
    assert now.interval("mtbf", scope="system").estimate > 3.0 * mean
    limits = now.interval("mtbf", scope="system")
    assert limits.low < 0.8 * limits.estimate  # they may come again
    quiet = now.scopes.loc["group"]  # never seen at all
    assert quiet["mtbf_now"] == np.inf
    assert quiet["mtbf_now_low"] == pytest.approx(before.scopes.loc["group", "mtbf_low"])
    assert quiet["mtbf_now_low"] == pytest.approx(-24.0 * DAYS / np.log(0.05), rel=0.02)


def test_where_nodes_are_not_known_rates_of_the_system_follow():
    rng = np.random.default_rng(5)
    at = np.concatenate([rng.uniform(0, 24.0 * SINCE, 510), rng.uniform(24.0 * SINCE, 24.0 * DAYS, 180)])
    log = make_log([{"node": None, "start": h, "end": h + 0.5} for h in np.sort(at)], [], window=(0.0, 24.0 * DAYS))
    model = rf.fleet_model(log, "all")
    week, low, high = model.lately.a_week(0.95)
    assert week == pytest.approx(14.0, rel=0.2)
    assert low < 14.0 < high
    with pytest.raises(RelfitError):
        model.interval("reliability", "24h", size=4)


def test_few_days_give_wide_limits_and_no_error():
    log = make_log([{"node": "a", "start": 5, "end": 6}, {"node": "b", "start": 50, "end": 51}], window=(0, 100))
    model = rf.fleet_model(log, "all")
    answer = model.interval("mtbf", scope="node")
    assert answer.low < 100.0 < answer.high
    job = model.interval("reliability", "5h", size=2)  # too few days to count jobs by
    assert 0.0 <= job.low <= job.estimate <= job.high <= 1.0


def test_other_words_are_errors(log):
    with pytest.raises(ArgumentError, match="at='soon'"):
        rf.fleet_model(log, at="soon")
    assert rf.fleet_model(log, "all", at="long-run").at == "long run"


@pytest.mark.slow
def test_limits_hold_the_rate_of_steady_fleets():
    held = 0
    for seed in range(12):
        model = rf.fleet_model(failing(np.full((20, 300), 0.05), seed), "all", level=0.9)
        _, low, high = model.lately.a_week(0.9)
        held += low <= 7.0 <= high
    assert held >= stats.binom.ppf(0.02, 12, 0.9)


def test_limits_of_multiples_are_those_of_the_lognormal_distribution():
    for variance in (0.01, 0.2, 3.0):
        low, high = limits_of_multiples(np.array([variance]), 0.9)
        spread = np.sqrt(np.log1p(variance))
        truth = stats.lognorm(spread, scale=np.exp(-(spread**2) / 2.0))  # of mean one
        assert truth.var() == pytest.approx(variance)
        assert (low[0], high[0]) == pytest.approx((truth.ppf(0.05), truth.ppf(0.95)))
    low, high = limits_of_multiples(np.array([0.0, 1e6]), 0.9)
    assert low == pytest.approx([1.0, 0.01])
    assert high == pytest.approx([1.0, 1.0])


# ---------------------------------------------------------------- good and bad weeks


@pytest.mark.slow
def test_limits_hold_for_the_rate_of_the_months_ahead_where_weeks_are_good_and_bad():
    """A fleet whose weeks differ has a rate of the next quarter that nobody knows, though its mean never moves."""
    rng, days, ahead = np.random.default_rng(5), 728, 91
    inside, level_alone = [], []
    for _ in range(150):
        rate = np.repeat(2.0 * rng.gamma(0.4, 1.0 / 0.4, (days + ahead) // 7), 7)
        came = rng.poisson(rate[:days]).astype(float)
        mixture = mix(levels_of(came, np.ones(days)), came, np.ones(days), float(ahead), 1.0)
        for held, variance in ((inside, mixture.variance_of_rate()), (level_alone, mixture.variance_of_level)):
            low, high = limits_of_multiples(np.asarray(variance / mixture.expected**2), 0.9)
            held.append(low < rate[days:].sum() / mixture.expected < high)
    assert np.mean(inside) > 0.75
    assert np.mean(level_alone) < np.mean(inside) - 0.1


# ---------------------------------------------------------------- systems that are gone


def two_systems() -> rf.FailureLog:
    """System a fails every other day, but four times a day in its last 100 days; b daily, and for 1000 days longer."""
    instants = {
        "a": [*np.arange(24.0, 7200.0, 48.0), *np.arange(7201.0, 9600.0, 6.0)],
        "b": np.arange(9.0, 33600, 24.0),
    }
    rows = [
        {"system": name, "node": f"{name}{i % 10}", "start": at, "end": at + 1.0}
        for name, times in instants.items()
        for i, at in enumerate(times)
    ]
    people = [
        {"system": name, "node": f"{name}{i}", "left": left}
        for name, left in (("a", 9600.0), ("b", 33600.0))
        for i in range(10)
    ]
    return make_log(sorted(rows, key=lambda row: row["start"]), people, window=(0.0, 33600.0))


@pytest.mark.slow
def test_the_now_of_a_system_that_is_gone_is_its_end():
    log = two_systems()
    model = rf.fleet_model(log)
    row = model.scopes.loc[("a", "node")]
    last = 10 * 2400.0 / 400  # hours of ten nodes in 100 days, and their failures: 60
    assert row["mtbf_now"] == pytest.approx(last, rel=0.1)  # 150 of its 400 days
    assert row["mtbf_now_high"] < 5.0 * last
    alone = rf.fleet_model(log.where(system="a")).scopes.loc["node"]
    assert alone["mtbf_now"] == pytest.approx(row["mtbf_now"], rel=0.05)
    assert model.interval("reliability", "6h", size=10, system="a", placement="packed").estimate < 0.5


@pytest.mark.slow
def test_what_comes_is_of_the_systems_that_are_there():
    model = rf.fleet_model(two_systems())
    assert model.lately.there.tolist() == [1]
    assert model.lately.a_week(0.95)[0] == pytest.approx(7.0, rel=0.05)
    mtbf = rf.calibrate(two_systems()).mtbf
    assert mtbf.any.value == pytest.approx(24.0, rel=0.05)
    assert mtbf.node.value == pytest.approx(240.0, rel=0.05)


# ---------------------------------------------------------------- numbers of one page


@pytest.mark.parametrize("seed", [1, 3])
def test_rates_of_one_page_can_be_divided_by_one_another(seed):
    """Rates of scopes and of jobs were predicted apart: a job on all nodes outran the incidents of the fleet."""
    falls = failing(np.linspace(0.06, 0.01, DAYS) * np.ones((NODES, 1)), seed)
    model = rf.fleet_model(falls, "all")
    mtbf = rf.calibrate(falls, model=model, parts=("mtbf",)).mtbf
    assert mtbf.node.value > 0.998 * NODES * mtbf.any.value  # groups of nodes fail besides; 0.996 when predicted apart
    assert mtbf.node.value == pytest.approx(NODES * mtbf.any.value, rel=0.02)
    assert model.interval("mttf").estimate == pytest.approx(mtbf.any.value, rel=0.005)
    job = model.interval("mtbf", size=NODES)
    assert job.low < job.estimate <= mtbf.any.value * (1.0 + 1e-9)
    assert job.high <= mtbf.any.high * (1.0 + 1e-9)
    for size in (4, 16):  # incidents hit one of NODES / size jobs
        assert model.interval("mtbf", size=size).estimate <= mtbf.any.value * NODES / size * (1.0 + 1e-9)


def test_jobs_that_are_known_to_fail_have_an_upper_limit():
    """Some eight hundred failures: all nodes together were said to run for ever, at a limit of 24 hours a week."""
    model = rf.fleet_model(failing(doubled(), 3), "all")
    truth = 24.0 / (0.04 * NODES)
    job = model.interval("mtbf", size=NODES)
    assert job.low < truth < job.high < 4.0 * truth
    assert job.status.tolist() == "ok"
    four = model.interval("reliability", "24h", size=4)
    assert four.low < np.exp(-0.04 * 4) < four.high < 0.97


# ---------------------------------------------------------------- what a log does not bound


@pytest.mark.slow
def test_an_upper_limit_that_the_log_does_not_bound_is_infinite():
    """A burst of twelve failures, and nothing in the three hundred days after it."""
    rows = [{"node": f"n{i}", "start": 240.0 + 12.0 * i, "end": 241.0 + 12.0 * i} for i in range(12)]
    log = make_log(rows, [{"node": f"n{i}"} for i in range(12)], window=(0.0, 24.0 * 330))
    model = rf.fleet_model(log, "all")
    for options in ({"size": 1}, {"scope": "node"}):
        limits = model.interval("mtbf", **options)
        assert limits.low < limits.estimate < np.inf
        assert np.isposinf(limits.high)
        assert limits.status.tolist() == "unbounded"
    row = model.scopes.loc["node"]
    assert np.isfinite(row["mtbf_now"])
    assert np.isposinf(row["mtbf_now_high"])
    node = rf.calibrate(log, period="all").mtbf.node
    assert node.method.endswith("the log does not bound it from above")
    steady = rf.fleet_model(two_systems()).interval("mtbf", size=1, system="b")
    assert steady.high < 4.0 * steady.estimate
    assert steady.status.tolist() == "ok"


def test_incidents_while_nothing_was_watched_are_no_excess_over_chance() -> None:
    """All of them before the one node came: no count is expected, and there is none."""
    before = np.linspace(1.0, 499.0, 60)
    assert excess_scatter(before, 1000.0, np.array([500.0]), np.array([1000.0])) == (1.0, 1.0)


def test_fewer_than_four_watched_bins_are_too_few_for_the_scatter_of_counts() -> None:
    """Of eight bins, for which there are events enough, two or three are watched; or four: 30, 0, 0 and 0 for 7.5."""
    at = np.linspace(1.0, 124.0, 30)
    for bins, scatter in ((2, 1.0), (3, 1.0), (4, (22.5**2 + 3 * 7.5**2) / 7.5 / 3)):
        left = np.array([125.0 * bins])
        assert excess_scatter(at, 1000.0, np.zeros(1), left)[0] == pytest.approx(scatter), bins
