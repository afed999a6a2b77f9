"""Failing together, counts over time scales, the clock, the pooled series: brute force, size, planted effects."""

from __future__ import annotations

import itertools
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.stattools import durbin_watson

from relfit.analyses.independence import NodeSeries, cofailures, cycles, dispersion, failures_of, pooled_tests
from relfit.analyses.independence._cycles import cycles_of_instants
from relfit.analyses.independence.cofailure import _count, chance_within
from relfit.analyses.independence.resampling import moved, resampled_p, steady_series
from relfit.base.errors import ArgumentError, DataError
from relfit.base.units import NANOSECONDS_PER_HOUR
from tests.factories import make_log

EMPTY = make_log([{"node": "a", "start": 1}])


def make_failures(times, system=None, hours=1000.0, entered=None, left=None):
    """Failures of nodes from one list of hours a node."""
    sizes = [len(t) for t in times]
    flat = np.concatenate([np.sort(t) for t in times]) if sizes else np.empty(0)
    count = len(times)
    whole = np.full(count, hours)
    groups = pd.MultiIndex.from_arrays(
        [np.asarray(system if system is not None else ["s"] * count, dtype=object), np.arange(count)],
        names=["system", "node"],
    )
    to_ns = lambda x: np.rint(np.asarray(x, float) * NANOSECONDS_PER_HOUR).astype(np.int64)  # noqa: E731
    return NodeSeries(
        to_ns(flat),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        groups,
        to_ns(np.zeros(count) if entered is None else entered),
        to_ns(whole if left is None else left),
        int(hours * NANOSECONDS_PER_HOUR),
    )


def poisson_nodes(rng, nodes, mean, hours=1000.0):
    return [rng.uniform(0, hours, rng.poisson(mean)) for _ in range(nodes)]


# ------------------------------------------------------------ instants of failure


def test_instants_follow_the_rules_of_lives():
    log = make_log(
        [
            {"node": "a", "start": 0, "end": 3, "start_cut": True},  # was going on
            {"node": "a", "start": 10, "end": 20},
            {"node": "a", "start": 15, "end": 30},  # part of the same outage
            {"node": "a", "start": 100},  # at the very end
            {"node": "b", "start": 10},
            {"node": None, "start": 50},
        ],
        nodes=[{"node": "a"}, {"node": "b", "entered": 5}, {"node": "c"}],
    )
    found = failures_of(log)
    assert found.hours.tolist() == [10, 100, 10]
    assert found.sizes.tolist() == [2, 1, 0]
    assert (found.entered / NANOSECONDS_PER_HOUR).tolist() == [0, 5, 0]
    assert found.take(np.array([1, 0])).hours.tolist() == [10, 10, 100]


def test_logs_without_dates_or_time_are_rejected():
    with pytest.raises(DataError, match="lifetimes without dates"):
        failures_of(make_log(lifetimes=[{"node": "a", "duration": 5.0, "observed": True}]))
    with pytest.raises(DataError, match="no time at all"):
        failures_of(make_log([{"start": 0}], window=(0, 0)))


# --------------------------------------------------------------- failing together


def test_counts_are_those_of_brute_force():
    rng = np.random.default_rng(0)
    times = [np.round(rng.uniform(0, 1000, n)) for n in rng.integers(0, 25, 12)]
    system = ["x"] * 7 + ["y"] * 5
    known = make_failures(times, system)
    found = cofailures(EMPTY, 6, failures=known)
    expected = {"x": 0, "y": 0}
    for i, j in itertools.combinations(range(12), 2):
        if system[i] == system[j]:
            together = int((np.abs(times[i][:, None] - times[j]) <= 6).sum())
            expected[system[i]] += together
            row = found.pairs.query("node_1 == @i and node_2 == @j")
            assert (row["together"].iloc[0] if len(row) else 0) == together
    assert found.table["together"].to_dict() == expected
    assert found.n_pairs == 7 * 6 / 2 + 5 * 4 / 2
    assert found.together == found.pairs["together"].sum()
    # what random logs are counted by counts the same
    group = np.array([0] * 7 + [1] * 5)
    other, anyone = _count(known, known.times, group, 2, 6 * NANOSECONDS_PER_HOUR)
    assert other.tolist() == list(expected.values())
    alone = [
        sum(int((np.abs(t[:, None] - t) <= 6).sum() - t.size) // 2 for t in part) for part in (times[:7], times[7:])
    ]
    assert (anyone - other).tolist() == alone
    # mid-p of a Poisson number
    poisson = stats.poisson(found.table["expected"])
    mid = poisson.sf(found.table["together"]) + 0.5 * poisson.pmf(found.table["together"])
    assert found.table["p"].tolist() == pytest.approx(mid.tolist())


def test_chance_is_that_of_simulation():
    rng = np.random.default_rng(1)
    for a, b, c, d, w in ((0, 10, 0, 10, 1), (0, 10, 8, 20, 3), (0, 5, 6, 9, 2), (0, 5, 20, 30, 2), (2, 3, 0, 100, 50)):
        near = np.abs(rng.uniform(a, b, 200_000) - rng.uniform(c, d, 200_000)) <= w
        one = [np.array([float(v)]) for v in (a, b, c, d)]
        assert chance_within(*one, w)[0] == pytest.approx(near.mean(), abs=0.004)


def test_expected_numbers_add_up_over_pairs():
    rng = np.random.default_rng(2)
    entered = rng.uniform(0, 300, 9)
    times = [rng.uniform(e, 1000, 8) for e in entered]
    found = cofailures(EMPTY, 20, failures=make_failures(times, entered=entered))
    at, left = entered, np.full(9, 1000.0)
    total = sum(
        64 * chance_within(at[[i]], left[[i]], at[[j]], left[[j]], 20)[0]
        for i, j in itertools.combinations(range(9), 2)
    )
    assert found.expected == pytest.approx(total, rel=1e-9)
    # as many nodes as there are different times of observation: classes of similar ones
    entered = rng.uniform(0, 300, 900)
    many = make_failures([rng.uniform(e, 1000, 2) for e in entered], entered=entered)
    total = 4 * chance_within(entered[:, None], np.full((900, 1), 1000.0), entered, np.full(900, 1000.0), 20)
    exact = (total.sum() - np.trace(total)) / 2
    assert cofailures(EMPTY, 20, failures=many).expected == pytest.approx(exact, rel=1e-3)


@pytest.mark.slow
def test_size_on_independent_poisson_processes():
    rng = np.random.default_rng(3)
    logs, nodes = 2000, 5
    known = make_failures(poisson_nodes(rng, logs * nodes, 15), np.repeat(np.arange(logs), nodes))
    table = cofailures(EMPTY, 12, failures=known, n_resamples=39, rng=4).table
    assert table["expected"].mean() > 40
    assert 0.04 <= (table["p"] <= 0.05).mean() <= 0.06
    assert 0.02 <= (table["p_shuffled"] <= 0.05).mean() <= 0.06
    np.testing.assert_allclose(table["expected_shuffled"].mean(), table["expected"].mean(), rtol=0.01)


def test_a_shared_shock_is_found_where_it_is():
    rng = np.random.default_rng(5)
    racks = ["r1", "r2"]
    times = poisson_nodes(rng, 20, 10)
    shocks = rng.uniform(0, 1000, 6)
    times[:10] = [np.concatenate([t, shocks + rng.uniform(0, 0.5, 6)]) for t in times[:10]]
    nodes = [{"node": f"{i:02d}", "rack": racks[i // 10]} for i in range(20)]
    events = [{"node": f"{i:02d}", "start": float(t)} for i, part in enumerate(times) for t in part]
    log = make_log(events, nodes, window=(0, 1000))
    found = cofailures(log, "1h", "rack", n_resamples=99, rng=0)
    assert found.table.loc["r1", "p_shuffled"] == 0.01
    assert found.table.loc["r1", "ratio"] > 3
    assert found.table.loc["r2", "p_adjusted"] > 0.01
    assert found.depends
    assert found.headline.endswith("nodes fail together.")
    # pairs of rack 1 share six shocks
    assert set(found.pairs.head(20)["node_1"]) <= {f"{i:02d}" for i in range(10)}
    assert (found.pairs["p_adjusted"].head(40) < 0.01).all()


def test_a_shared_trend_is_no_failing_together():
    rng = np.random.default_rng(6)
    times = [1000 * rng.beta(1, 3, 60) for _ in range(8)]  # all nodes fail early
    free = cofailures(EMPTY, 2, failures=make_failures(times), n_resamples=99, rng=0)
    assert free.together > 1.5 * free.expected
    assert free.expected_shuffled == pytest.approx(free.together, rel=0.05)
    assert free.depends is False


def test_windows_columns_and_logs_that_cannot_be():
    with pytest.raises(ArgumentError, match="expects no failures together"):
        cofailures(EMPTY, 0)
    with pytest.raises(ArgumentError, match="use system"):
        cofailures(EMPTY, 1, "rack")
    with pytest.raises(ArgumentError, match="whole number of 0"):
        cofailures(EMPTY, 1, n_resamples=-1)
    one = cofailures(EMPTY, 1, n_resamples=9)
    assert one.depends is None
    assert "cannot be judged" in one.headline
    assert one.table["status"].tolist() == ["too_few"]
    assert one.to_dict()["p"] is None


def test_all_failures_at_one_instant():
    found = cofailures(EMPTY, 1, failures=make_failures([[500.0]] * 300), n_resamples=19, rng=0)
    assert found.together == 300 * 299 / 2
    assert found.p_shuffled < 0.05


def test_too_many_pairs_are_counted_but_not_listed():
    found = cofailures(EMPTY, 1, failures=make_failures([[500.0]] * 6400))
    assert found.together == 6400 * 6399 / 2
    assert found.pairs is None
    assert "not listed" in found.notes[0]


# -------------------------------------------------------------- counts over time


@pytest.mark.parametrize(("width", "failures"), [(24.0, 30), (24.0, 400), (2.0, 200), (100.0, 50)])
@pytest.mark.slow
def test_size_of_the_index_of_dispersion(width, failures):
    rng = np.random.default_rng(7)
    p = np.array(
        [dispersion(make_failures([rng.uniform(0, 2400, failures)], hours=2400), [width]).p[0] for _ in range(600)]
    )
    assert 0.03 <= (p <= 0.05).mean() <= 0.07


@pytest.mark.slow
def test_size_of_the_index_against_few_random_logs():
    """At 5 %, 12.4 % of 1000 logs had been rejected against 19 random logs whose own spread all were scaled by."""
    rng = np.random.default_rng(11)
    logs = [make_failures(poisson_nodes(rng, 8, 12.0)) for _ in range(300)]
    p = [dispersion(log, [1.0, 3.0, 8.0, 24.0, 72.0], n_resamples=19, rng=i).p_overall for i, log in enumerate(logs)]
    assert np.mean(np.array(p) <= 0.05) < 0.085


def test_the_index_is_variance_over_mean():
    at = np.random.default_rng(8).uniform(0, 2400, 300)
    found = dispersion(make_failures([at], hours=2400), [24.0, 240.0, 300.0])
    counts = np.bincount((at // 24).astype(int), minlength=100)
    assert found.index[0] == pytest.approx(counts.var(ddof=1) / counts.mean())
    assert found.bins.tolist() == [100, 10, 8]
    assert found.too_few.tolist() == [False, False, True]
    assert found.depends is False
    assert "not found to vary more than independent ones at a constant rate" in found.headline


def test_the_index_is_tested_by_chi_square_or_by_pairs():
    at = np.random.default_rng(8).uniform(0, 2400, 300)
    found = dispersion(make_failures([at], hours=2400), [24.0, 1.0])
    often = stats.chi2(99)  # three failures in each of 100 bins
    assert found.low[0] == pytest.approx(often.ppf(0.025) / 99)
    assert found.high[0] == pytest.approx(often.ppf(0.975) / 99)
    statistic = 99 * found.index[0]
    assert found.p[0] == pytest.approx(2 * min(often.cdf(statistic), often.sf(statistic)))
    counts = np.bincount(at.astype(int))  # an eighth of a failure in each of 2400: pairs in one bin, mid-p
    pairs, rare = (counts * (counts - 1)).sum() / 2, stats.poisson(300 * 299 / 2 / 2400)
    below, above = (tail - 0.5 * rare.pmf(pairs) for tail in (rare.cdf(pairs), rare.sf(pairs - 1)))
    assert found.p[1] == pytest.approx(2 * min(below, above))
    for limit, many in ((found.low[1], rare.ppf(0.025)), (found.high[1], rare.ppf(0.975))):
        counts = np.repeat([2, 1, 0], [many, 300 - 2 * many, 2100 + many])  # as many bins with two failures
        assert limit == pytest.approx(counts.var(ddof=1) / counts.mean())


def test_bursts_and_regular_failures_are_found():
    rng = np.random.default_rng(9)
    bursts = (rng.uniform(0, 2000, 60)[:, None] + rng.exponential(1, (60, 5))).ravel()
    found = dispersion(make_failures([bursts], hours=2400))
    assert found.depends
    assert found.index[2] > 2
    assert "cluster" in found.headline
    even = dispersion(make_failures([np.arange(2400) + 0.5], hours=2400), [24.0])
    assert even.index[0] == pytest.approx(0)
    assert "less than" in even.headline


def test_nodes_that_join_late_are_no_change_of_rate():
    rng = np.random.default_rng(10)
    entered = np.repeat([0.0, 1800.0], [10, 90])
    times = [rng.uniform(e, 2400, rng.poisson((2400 - e) / 40)) for e in entered]
    late = dispersion(make_failures(times, hours=2400, entered=entered), [24.0])
    assert late.p[0] > 0.05
    assert dispersion(make_failures(times, hours=2400), [24.0]).p[0] < 1e-6


def test_scales_that_cannot_be():
    with pytest.raises(ArgumentError, match="positive"):
        dispersion(make_failures([[1.0]]), [0.0])
    with pytest.raises(ArgumentError, match="level"):
        dispersion(make_failures([[1.0]]), level=1.0)
    with pytest.raises(DataError, match="no node was watched"):
        dispersion(make_failures([]))
    few = dispersion(make_failures([[1.0]]))
    assert few.depends is None
    assert "too few" in few.headline
    assert few.to_dict()["p"][0] is None


# --------------------------------------------------------------------- the clock


@pytest.mark.parametrize("burst", [1, 6])
@pytest.mark.slow
def test_size_of_the_cycles_with_and_without_bursts(burst):
    rng = np.random.default_rng(11)
    p, plain = [], []
    for _ in range(2000):
        at = (rng.uniform(0, 168 * 60, 150)[:, None] + rng.exponential(0.3, (150, burst))).ravel()
        found = cycles_of_instants(np.sort(at % (168 * 60)), 0.0, 168.0 * 60, "UTC")
        p.append(found.p)
        angle = 2 * np.pi * np.sort(at % (168 * 60))[:, None] / np.array([24.0, 168.0])
        plain.append(np.exp(-(np.abs(np.exp(1j * angle).sum(axis=0)) ** 2) / at.size))  # Rayleigh's test
    rejected = (np.array(p) <= 0.05).mean(axis=0)
    assert ((rejected >= 0.04) & (rejected <= 0.06)).all()
    if burst > 1:  # Rayleigh's own test is fooled by them
        assert (np.array(plain) <= 0.05).mean() > 0.3


def test_one_failure_a_period_is_rayleighscycles_of_instants():
    rng = np.random.default_rng(12)
    at = np.arange(200) * 24.0 + 24 * rng.beta(2, 3, 200)
    found = cycles_of_instants(at, 0.0, 4800.0, "UTC")
    angle = 2 * np.pi * at / 24
    length = np.hypot(np.cos(angle).mean(), np.sin(angle).mean())
    assert found.strength[0] == pytest.approx(length)
    assert found.p[0] == pytest.approx(np.exp(-200 * length**2))
    assert found.counts[0].sum() == 200


def test_the_cycle_is_found_on_the_logs_own_clock():
    rng = np.random.default_rng(13)
    days = pd.date_range("2001-01-01", periods=400, freq="D", tz="America/Denver")
    hour = np.clip(rng.normal(14.5, 2, 400), 0, 23.9)
    kept = days.day_of_week < 5
    starts = (days + pd.to_timedelta(hour, unit="h"))[kept].tz_convert("UTC")
    zero = pd.Timestamp("2001-01-01", tz="UTC")
    events = [{"node": "a", "start": (s - zero) / pd.Timedelta(hours=1)} for s in starts]
    log = make_log(events, window=(0, 401 * 24))
    from dataclasses import replace

    log = replace(log, source=replace(log.source, timezone="America/Denver"))
    found = cycles(log)
    assert found.peak[0] == pytest.approx(14.5, abs=0.5)
    assert (found.p < 1e-6).all()
    assert found.counts[1][5:].sum() == 0
    assert 24 < found.peak[1] < 96
    assert found.depends
    assert "America/Denver" in found.headline


def test_a_log_too_short_for_a_cycle():
    found = cycles(make_log([{"node": "a", "start": h} for h in (1, 30, 31)], window=(0, 100)))
    assert found.depends is None
    assert found.status.tolist() == ["too_few", "too_few"]
    assert "too few" in found.headline.lower()
    assert found.to_dict()["p"] == [None, None]


# --------------------------------------------------------------- nodes in one series


def test_pooled_statistics_are_those_of_statsmodels():
    rng = np.random.default_rng(14)
    times = poisson_nodes(rng, 10, 20)
    found = pooled_tests(make_failures(times))
    assert found.nodes.tolist() == list(range(1, 11))
    for k in (1, 4, 10):
        gaps = np.diff(np.sort(np.concatenate(times[:k])))
        assert found.durbin_watson[k - 1] == pytest.approx(durbin_watson(gaps - gaps.mean()), rel=1e-9)
        assert found.sizes[k - 1] == gaps.size


@pytest.mark.slow
def test_size_of_the_pooled_series():
    rng = np.random.default_rng(15)
    p = [pooled_tests(make_failures([np.cumsum(rng.weibull(0.8, 100))]), [1]).p[0] for _ in range(2000)]
    assert 0.04 <= (np.array(p) <= 0.05).mean() <= 0.06


def test_forty_failures_are_enough_for_the_pooled_series():
    times = np.sort(np.random.default_rng(2).uniform(0.0, 2400.0, 40))
    assert pooled_tests(make_failures([times]), [1]).depends is False
    few = pooled_tests(make_failures([times[:39]]), [1])
    assert few.depends is None
    assert few.headline.startswith("39 failures are too few")


def test_pooled_series_that_cannot_be_tested():
    flat = pooled_tests(make_failures([[], [1.0, 2.0], np.arange(1.0, 9.0)]))
    assert flat.to_frame()["status"].tolist() == ["too_few", "too_few", "ok"]
    assert pooled_tests(make_failures([np.cumsum([1.0, 9, 9, 3, 9])]), [1]).status.tolist() == ["ok"]
    one = pooled_tests(make_failures([[5.0]] * 9))
    assert one.status.tolist() == ["too_few"] * 4 + ["constant"] * 5
    assert one.depends is None
    assert "too few" in one.headline
    assert one.to_dict()["p"][0] is None
    assert pooled_tests(make_failures([])).nodes.size == 0
    assert np.isnan(flat.p_resampled)  # no random logs unless they are asked for
    assert pooled_tests(make_failures([[1.0]]), []).nodes.size == 0
    for nodes in ([2], [0], [1, 0]):
        with pytest.raises(ArgumentError, match="between 1 and"):
            pooled_tests(make_failures([[1.0]]), nodes)


def test_a_rate_that_changes_shows_in_the_pooled_series():
    rng = np.random.default_rng(16)
    times = [np.concatenate([rng.uniform(0, 100, 30), rng.uniform(100, 1000, 30)]) for _ in range(5)]
    found = pooled_tests(make_failures(times), [5])
    assert found.p[0] < 0.01
    assert found.depends


@pytest.mark.parametrize(("hours", "cycle"), [(24.0, "coarse"), (1.0, "ok")])
def test_nothing_is_seen_below_a_step_of_the_clock(hours: float, cycle: str) -> None:
    """2 900 independent failures, written as dates or whole hours."""
    rng = np.random.default_rng(1)
    at, node = np.floor(rng.uniform(0.0, 17520.0, 2900) / hours) * hours, rng.integers(0, 200, 2900)
    names = [f"n{i}" for i in range(200)]
    rows = [{"node": names[n], "start": start} for n, start in zip(node, at, strict=True)]
    log = make_log(rows, [{"node": name} for name in names], window=(0, 17520))
    together = cofailures(log, "1h")
    assert together.together == pytest.approx(together.expected, rel=0.15)
    assert not together.depends
    clock = cycles(log)
    assert clock.status[0] == cycle
    assert not clock.depends
    assert not dispersion(failures_of(log)).depends


def test_failures_are_moved_round_the_time_of_observation_and_stay_in_it():
    failures = make_failures([[1.0, 400.0, 999.0], [10.0, 20.0]], hours=1000.0, entered=[0.0, 5.0], left=[1000.0, 25.0])

    class By:
        def __init__(self, hours):
            self.hours = np.array(hours)

        def uniform(self, low, high):
            assert (low <= high).all()
            return np.clip(self.hours * NANOSECONDS_PER_HOUR, low, high)

    def hours(by, **options):
        return (moved(failures, By(by), **options) / NANOSECONDS_PER_HOUR).round(6).tolist()

    # the very end is the beginning again
    assert hours([1.0, 5.0]) == [2.0, 401.0, 0.0, 15.0, 5.0]
    assert hours([-2.0, -6.0]) == [999.0, 398.0, 997.0, 24.0, 14.0]
    # turned back at the ends, by a tenth of the time at most
    assert hours([3.0, 9.0], reach=100.0) == [4.0, 403.0, 998.0, 12.0, 22.0]
    assert hours([-3.0, -9.0], reach=1.0) == [0.0, 399.0, 998.0, 9.0, 19.0]


def test_the_scales_are_hours_a_day_a_week_and_longer():
    found = dispersion(make_failures([np.arange(1.0, 40_000.0, 7.0)], hours=40_000.0))
    assert found.scales.tolist() == [1.0, 3.0, 8.0, 24.0, 72.0, 168.0, 504.0, 1461.0, 4383.0]
    assert not found.clustered  # one every seven hours


def test_a_steady_fleet_keeps_its_times_between_failures():
    rng = np.random.default_rng(6)
    failures = make_failures(poisson_nodes(rng, 60, 40), hours=1000.0)
    gaps = np.concatenate([np.diff(failures.times[a:b]) for a, b in pairwise(failures.offsets)]) / NANOSECONDS_PER_HOUR
    steady = steady_series(failures)
    assert steady.durations.size == gaps.size
    assert steady.durations.mean() == pytest.approx(gaps.mean(), rel=0.02)
    np.testing.assert_allclose(steady.durations, gaps, rtol=0.25, atol=1e-6)


def test_a_p_value_beyond_all_random_logs_has_no_unit():
    drawn = np.random.default_rng(2).gamma(4.0, 1.0, 199)
    far = drawn.max() * 1.4
    p = resampled_p(far, drawn)
    # Pearson's third kind has the tail of the gamma distribution that these are of
    assert 0.2 < p / stats.gamma.sf(far, 4.0) < 5.0
    for unit in (1e-4, 1e4):
        assert resampled_p(far * unit, drawn * unit) == pytest.approx(p)


def test_the_band_of_random_logs_holds_steady_ones():
    rng = np.random.default_rng(9)
    logs = [make_failures(poisson_nodes(rng, 20, 15)) for _ in range(25)]
    inside = []
    for i, log in enumerate(logs):
        found = dispersion(log, [3.0, 24.0, 72.0], n_resamples=99, rng=i)
        assert (found.low < found.expected).all()
        assert (found.expected < found.high).all()
        inside += [(found.low <= found.index) & (found.index <= found.high)]
    assert 0.85 < np.mean(inside) <= 1.0


def test_expected_pairs_of_two_nodes_watched_for_parts_of_an_hour():
    failures = make_failures([[0.2, 0.6], [0.4]], hours=2.0, entered=[0.0, 0.3], left=[0.7, 1.9])
    found = cofailures(EMPTY, 0.25, failures=failures)
    chance = chance_within(*(np.array([x]) for x in (0.0, 0.7, 0.3, 1.9)), 0.25)
    assert found.table["expected"].iloc[0] == pytest.approx(2.0 * chance[0], rel=1e-9)


def test_an_interval_without_length_is_an_instant():
    """A node that left when it entered: within an hour of an end of ten hours, or of their middle."""
    zero, ten = np.array([0.0]), np.array([10.0])
    for at, share in ((0.0, 0.1), (5.0, 0.2)):
        assert chance_within(zero, ten, np.array([at]), np.array([at]), 1.0)[0] == pytest.approx(share, rel=0.05)


def test_a_node_that_leaves_on_the_date_of_its_failure_is_seen_to_fail():
    """Failures on dates are spread over the day; each is before the end of its node's observation."""
    events = [{"node": f"n{i:02d}", "start": 24.0 * i} for i in range(40)]
    nodes = [{"node": f"n{i:02d}", "left": 24.0 * i} for i in range(40)]
    found = failures_of(make_log(events, nodes, window=(0, 50 * 24)))
    assert (found.times < found.left).all()
    assert (found.times >= np.arange(40) * 24 * NANOSECONDS_PER_HOUR).all()
