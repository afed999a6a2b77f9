"""Tests of trend: size, power, agreement with SurPyval and textbook formulas, edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from surpyval.recurrent.tests import laplace, mil_hdbk_189c

import relfit as rf
from relfit import ArgumentError
from relfit.analyses.recurrence import (
    TESTS,
    EventHistories,
    fit_process,
    histories_of_incidents,
    histories_of_log,
    mean_cumulative,
    trend_tests,
)
from tests.factories import make_log
from tests.recurrence.made import CROW_SYSTEMS, HANDBOOK_SYSTEMS, doubling, power_law, renewals, scattered
from tests.site_logs import site_log


def test_every_test_keeps_its_size_under_a_constant_rate():
    share = trend_tests(power_law(2000, 30.0, 1.0, np.random.default_rng(1))).share()
    assert share.between(0.04, 0.06).all(), share


@pytest.mark.parametrize("shape", [0.7, 2.0])
def test_renewals_are_no_trend_to_lewis_robinson_and_mann_but_are_to_the_others(shape):
    share = trend_tests(renewals(2000, 30, shape, np.random.default_rng(2))).share()
    assert share[["lewis_robinson", "mann"]].between(0.04, 0.06).all(), share
    assert not share[["laplace", "mil_hdbk_189"]].between(0.02, 0.12).any(), share


def test_good_and_bad_months_are_a_trend_to_all_four_tests_but_not_to_the_line_of_the_headline():
    rng = np.random.default_rng(31)
    rates = np.exp(0.5 * rng.standard_normal((2000, 12)))
    counts = np.array([rng.multinomial(200, p) for p in rates / rates.sum(axis=1, keepdims=True)])
    at = np.repeat(np.tile(np.arange(12), 2000), counts.ravel()) + rng.random(2000 * 200)
    found = trend_tests(scattered(np.full(2000, 200), at / 12.0))
    assert found.share().between(0.3, 0.4).all(), found.share()
    assert np.mean(found.slope_p < 0.03) < 0.05


def test_time_truncated_renewals_keep_the_size_too():
    rng = np.random.default_rng(3)
    at = rng.weibull(0.6, (2000, 90)).cumsum(axis=1)
    inside = at < 30.0
    offsets = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
    histories = EventHistories.from_flat(at[inside], offsets, 30.0)
    share = trend_tests(histories).share()
    assert share[["lewis_robinson", "mann"]].between(0.04, 0.06).all(), share


@pytest.mark.parametrize("each", [2.0, 8.0])
def test_pooled_tests_keep_their_size_with_unequal_rates(each):
    rng = np.random.default_rng(4)
    rates = rng.gamma(2.0, 0.5, 2000 * 25) * each
    count = rng.poisson(rates)
    owner = np.repeat(np.arange(count.size), count)
    at = rng.random(owner.size)
    end = rng.uniform(1.0, 2.0, count.size)
    at = at[np.lexsort((at, owner))] * end[owner]
    histories = EventHistories.from_flat(at, np.concatenate([[0], np.cumsum(count)]), end)
    share = trend_tests(histories, np.repeat(np.arange(2000), 25)).share()
    assert share[["laplace", "mil_hdbk_189", "lewis_robinson"]].between(0.04, 0.06).all(), share
    assert 0.025 < share["mann"] < 0.06, share  # few gaps a system: discrete


def test_a_rate_that_doubles_is_found():
    rng = np.random.default_rng(5)
    share = trend_tests(doubling(500, 200.0, rng)).share()
    assert (share[["laplace", "mil_hdbk_189", "lewis_robinson"]] > 0.9).all(), share
    assert share["mann"] > 0.8
    pooled = trend_tests(doubling(200, 4.0, rng), "all")
    assert (pooled.p < 0.01).all()
    assert (pooled.direction == 1).all()
    assert "rises" in pooled.headline


@pytest.mark.parametrize("truncated", [True, False])
def test_laplace_and_handbook_are_those_of_surpyval_for_one_system_and_many(truncated):
    histories = EventHistories.from_groups(
        CROW_SYSTEMS[1:] + HANDBOOK_SYSTEMS, None if not truncated else [200, 210, 300]
    )
    x, i = histories.times, histories.group_codes()
    end = histories.end
    pooled = trend_tests(histories, "all")
    single = trend_tests(histories, "each")
    for k, chosen in enumerate([*(i == j for j in range(3)), i >= 0]):
        given = {"T": dict(enumerate(end)) if k == 3 else end[k]} if truncated else {}
        for name, test in (("laplace", laplace), ("mil_hdbk_189", mil_hdbk_189c)):
            expected = test(x[chosen], i=i[chosen] if k == 3 else None, **given)
            ours = (pooled if k == 3 else single).of(name).iloc[0 if k == 3 else k]
            assert ours["statistic"] == pytest.approx(expected.statistic)
            if name == "mil_hdbk_189" or k == 2 or k == 3:
                assert ours["p"] == pytest.approx(expected.p_value)


def test_exact_laplace_is_the_distribution_of_a_sum_of_uniforms():
    rng = np.random.default_rng(6)
    for n in (2, 5, 12):
        at = np.sort(rng.random(n) ** 0.5)
        found = trend_tests(EventHistories.from_groups([at], end=1.0), tests=("laplace",))
        sums = rng.random((200_000, n)).sum(axis=1)
        simulated = np.mean(np.abs(sums - n / 2) >= abs(at.sum() - n / 2))
        assert found.p[0, 0] == pytest.approx(simulated, abs=0.004)


def test_lewis_robinson_is_laplace_by_the_coefficient_of_variation():
    at = renewals(1, 25, 0.8, np.random.default_rng(7)).times
    found = trend_tests(EventHistories.from_groups([at]))
    gaps = np.diff(at, prepend=0.0)
    textbook = found.of("laplace")["statistic"].iloc[0] / (gaps.std(ddof=1) / gaps.mean())
    assert found.of("lewis_robinson")["statistic"].iloc[0] == pytest.approx(textbook * np.sqrt(25 / 26))
    rng = np.random.default_rng(7)
    mixed = rng.permuted(np.tile(gaps, (100_000, 1)), axis=1) @ np.arange(25)
    away = abs(gaps @ np.arange(25) - mixed.mean())
    assert found.of("lewis_robinson")["p"].iloc[0] == pytest.approx(
        np.mean(np.abs(mixed - mixed.mean()) >= away), abs=0.01
    )


@pytest.mark.parametrize("size", [4, 11, 29, 80])
def test_mann_is_kendalls_test(size):
    at = renewals(1, size, 0.8, np.random.default_rng(size)).times
    gaps = np.diff(at, prepend=0.0)
    found = trend_tests(EventHistories.from_groups([at]), tests=("mann",))
    expected = stats.kendalltau(np.arange(size), gaps, method="exact" if size <= 30 else "asymptotic")
    tolerance = 1e-9 if size <= 30 else 0.02  # scipy has no continuity correction
    assert found.p[0, 0] == pytest.approx(expected.pvalue, rel=tolerance)
    assert np.sign(found.statistic[0, 0]) == -np.sign(expected.statistic)


def test_mann_with_ties_counts_every_pair():
    gaps = np.random.default_rng(8).integers(1, 6, 60).astype(float)
    found = trend_tests(EventHistories.from_groups([gaps.cumsum()]), tests=("mann",))
    sign = np.sign(gaps[None, :] - gaps[:, None])[np.triu_indices(60, 1)].sum()
    ties = np.unique(gaps, return_counts=True)[1]
    variance = (60 * 59 * 125 - np.sum(ties * (ties - 1) * (2 * ties + 5))) / 18
    assert found.statistic[0, 0] == pytest.approx(-sign / np.sqrt(variance))


def test_a_left_open_history_gives_no_first_gap():
    histories = EventHistories.from_groups([[5.0, 6.0, 9.0, 11.0]], end=20.0)
    vague = type(histories)(
        *(getattr(histories, n) for n in ("times", "offsets", "groups", "begin", "end")),
        np.array([True]),
        histories.opening,
    )
    assert trend_tests(histories).gaps.tolist() == [4]
    assert trend_tests(vague).gaps.tolist() == [3]


def test_statuses():
    parts = [[], [4.0], [3.0, 3.0, 3.0], [2.0, 4.0, 6.0, 8.0], [0.0, 5.0], [1.0, 4.0, 9.0]]
    found = trend_tests(EventHistories.from_groups(parts, end=10.0))
    assert found.of("laplace")["status"].tolist() == ["no_events", "too_few", "one_instant", "ok", "ok", "ok"]
    assert found.of("mil_hdbk_189")["status"].tolist() == ["no_events", "ok", "one_instant", "ok", "at_beginning", "ok"]
    renewal = ["no_events", "too_few", "ok", "constant", "too_few", "ok"]
    assert found.of("lewis_robinson")["status"].tolist() == renewal
    assert found.of("mann")["status"].tolist() == renewal
    made = found.status == "ok"
    assert np.isfinite(found.p[made]).all()
    assert np.isnan(found.p[~made]).all()
    assert np.isfinite(found.statistic[made]).all()
    assert len(found.to_frame()) == 6
    assert "after adjustment" in found.headline
    assert found.to_dict()["status"][4] == ["ok", "at_beginning", "too_few", "too_few"]
    zeros = trend_tests(EventHistories.from_groups([[0.0, 0.0, 0.0]], end=10.0))
    assert set(zeros.status[0]) == {"one_instant"}
    assert "No trend test" in zeros.headline
    assert trend_tests(EventHistories.from_groups([])).p.shape == (0, 4)
    ended = trend_tests(EventHistories.from_groups([[10.0, 10.0]], end=10.0))
    assert set(ended.status[0]) <= {"one_instant", "too_few"}


def test_adjusted_p_values_and_batches():
    histories = power_law(50, 12.0, 1.0, np.random.default_rng(9))
    found = trend_tests(histories)
    expected = stats.false_discovery_control(found.p[:, 0])
    np.testing.assert_allclose(found.p_adjusted[:, 0], expected)
    alone = trend_tests(histories.take([7]))
    assert np.array_equal(alone.p[0], found.p[7])
    assert (np.nan_to_num(found.p_adjusted, nan=1.0) >= np.nan_to_num(found.p, nan=1.0)).all()


def test_bad_options():
    histories = EventHistories.from_groups([[1.0]], end=2.0)
    for options in ({"tests": ("x",)}, {"tests": ()}, {"by": "rack"}):
        with pytest.raises(ArgumentError):
            trend_tests(histories, **options)
    with pytest.raises(ArgumentError, match="no test"):
        trend_tests(histories, tests=("mann",)).of("laplace")
    assert TESTS == ("laplace", "mil_hdbk_189", "lewis_robinson", "mann")


def test_labels_do_not_become_markup():
    histories = EventHistories.from_groups(CROW_SYSTEMS, end=200.0, groups=["<b>x", "y", "z"])
    for result in (trend_tests(histories), fit_process(histories), mean_cumulative(histories, "each"), histories):
        shown = result._repr_html_() if hasattr(result, "_repr_html_") else ""
        assert "<b>x" not in shown


@pytest.mark.parametrize("tests", [TESTS, ("lewis_robinson", "mann")])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_direction_is_that_of_the_counts_in_a_falling_fleet_of_many_nodes(tests, seed):
    # nodes that were running before observation began: their first gap is longer than those that follow
    rng = np.random.default_rng(seed)
    gaps = rng.weibull(0.5, (800, 200)) / 2.0
    at = gaps.cumsum(axis=1) - rng.uniform(30.0, 35.0, (800, 1))
    until = (1.0 - np.exp(-0.75)) / 0.15
    inside = (at > 0.0) & (at < until)
    times = -np.log(1.0 - 0.15 * at[inside]) / 0.15  # a rate that falls by half over 5 units of time
    offsets = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
    found = trend_tests(EventHistories.from_flat(times, offsets, 5.0), "all", tests=tests)
    z = (times / 5.0 - 0.5).sum() / np.sqrt(times.size / 12.0)
    assert z < -4.0
    assert (found.direction[0, -2:] == 1).all()  # what the sentence went by
    assert found.counts[0] == pytest.approx(z)
    assert "falls" in found.headline
    assert "rises" not in found.headline


def test_a_trend_of_few_failures_that_gaps_and_counts_see_one_way_is_told():
    found = trend_tests(EventHistories.from_groups([[10, 19, 27, 34, 40, 45, 49, 52, 54, 55, 56]], end=60.0))
    assert "rises" in found.headline


@pytest.mark.parametrize("seed", [0, 67, 206, 243])
def test_a_log_is_steady_where_the_sentence_says_so(seed):
    """With the last three seeds one of two p-values is below 0.025, which is no trend to the sentence."""
    at = np.sort(np.random.default_rng(seed).uniform(0.0, 1000.0, 60))
    found = trend_tests(EventHistories.from_groups([at], end=1000.0), "all", tests=("lewis_robinson", "mann"))
    assert found.steady
    assert found.headline.startswith("No trend")
    assert (np.nanmin(found.p) < 0.025) == (seed > 0)
    grows = EventHistories.from_groups([1000.0 * np.sqrt(at / 1000.0)], end=1000.0)
    assert not trend_tests(grows, "all").steady


@pytest.mark.slow
def test_sentences_agree_with_the_counts_in_every_system_of_lanl():
    log = site_log("lanl")
    pooled = []
    for system in log.systems:
        part = log.where(system=system)
        joined = histories_of_incidents(part, rf.incidents(part))
        records = [(histories_of_log(part, "system"), "each"), (histories_of_log(part, "node"), "all")]
        for histories, by in [*records, (joined, "all")]:
            for tests in (TESTS, ("lewis_robinson", "mann")):
                found = trend_tests(histories, by, tests=tests)
                z = float(found.counts[0])
                if abs(z) > 4.0:
                    assert ("falls" if z > 0.0 else "rises") not in found.headline, (system, by, found.headline)
                    assert "No trend" not in found.headline, (system, by, found.headline)
                    pooled += [system] * (("rises" if z > 0.0 else "falls") in found.headline)
    assert len(set(pooled)) > 5


def racked(rng, hours=8760.0, racks=10, entered=None):
    """A steady fleet of 20 nodes a rack: failures of a node every 1500 hours, of a whole rack every 1000."""
    entered = np.zeros(racks) if entered is None else entered
    rows, nodes = [], []
    for rack, since in enumerate(entered):
        together = rng.uniform(since, hours, rng.poisson((hours - since) / 1000.0))
        for node in range(20):
            own = rng.uniform(since, hours, rng.poisson((hours - since) / 1500.0))
            rows += [{"node": f"{rack}-{node}", "start": float(t)} for t in (*own, *together)]
            nodes.append({"node": f"{rack}-{node}", "rack": f"{rack}", "entered": float(since)})
    return make_log(rows, nodes, window=(0.0, hours))


@pytest.mark.slow
def test_racks_that_fail_as_one_are_no_trend():
    """Of 40 such logs the failures of the system had a trend in 19, those of all nodes in 26, by count of records."""
    p, several = [], []
    for seed in range(12):
        log = racked(np.random.default_rng(seed))
        found = rf.incidents(log)
        by_incident = (histories_of_incidents(log, found), histories_of_log(log, "system", found))
        p += [trend_tests(one, "all", tests=("lewis_robinson", "mann")).p.min() for one in by_incident]
        several.append(histories_of_log(log).times.size / found.table.shape[0])
    assert np.mean(several) > 2.0
    assert np.mean(np.array(p) < 0.025) <= 0.1


def test_nodes_that_are_installed_later_are_no_rate_that_rises():
    log = racked(np.random.default_rng(1), entered=np.linspace(0.0, 8000.0, 10))
    found = rf.incidents(log)
    assert trend_tests(histories_of_log(log, "system", found)).counts[0] > 4.0
    clock = histories_of_incidents(log, found)
    assert clock.end.tolist() == [8760.0]
    assert abs(trend_tests(clock, "all").counts[0]) < 2.5


def test_an_incident_counts_once_in_the_history_of_its_system_and_once_in_that_of_each_node():
    rows = [{"node": f"{i}", "start": t} for t in (100.0, 5000.0, 7000.0) for i in range(20)]
    log = make_log(rows, [{"node": f"{i}", "rack": "a"} for i in range(40)], window=(0.0, 8760.0))
    found = rf.incidents(log, "1h")
    assert histories_of_log(log, "system", found).times.tolist() == [100.0, 5000.0, 7000.0]
    nodes = histories_of_log(log, "node", found)
    assert nodes.times.size == 60
    assert np.unique(nodes.incident, return_counts=True)[1].tolist() == [20, 20, 20]
    np.testing.assert_allclose(histories_of_incidents(log, found).times, [100.0, 5000.0, 7000.0])


def test_alpha_is_the_size_in_every_sentence():
    histories = EventHistories.from_groups([[10, 19, 27, 34, 40, 45, 49, 52, 54], [7, 20, 31, 44, 55]], end=60.0)
    for alpha in (0.05, 0.3, 0.9):
        found = trend_tests(histories, alpha=alpha)
        count = int((found.p_adjusted[:, 0] <= alpha).sum())
        assert found.headline.startswith(f"Groups with a trend at {alpha:.0%}"[:-1] + " % after"), found.headline
        assert f": laplace {count} of 2" in found.headline
    one = EventHistories.from_groups([np.sort(np.random.default_rng(11).uniform(0.0, 1000.0, 60))], end=1000.0)
    p = float(trend_tests(one, "all").slope_p[0])  # the test of size 3 % rejects in 5 %
    steady = [trend_tests(one, "all", alpha=factor * p / 0.6).steady for factor in (0.98, 1.02)]
    assert steady == [True, False]
    with pytest.raises(ArgumentError, match="alpha is 5"):
        trend_tests(one, alpha=5.0)


def test_the_rise_that_a_steady_log_would_show_is_found_in_nine_of_ten_logs():
    """Its factor is read from the sentence, and logs are drawn whose rate rises straight by it."""
    rng = np.random.default_rng(21)
    said = trend_tests(EventHistories.from_groups([np.sort(rng.uniform(0.0, 1000.0, 300))], end=1000.0), "all")
    factor = float(said.headline.partition("A steady rise to ")[2].split(" times")[0])
    change = (factor - 1.0) / (factor + 1.0)  # of the mean, from below it at first to above it at last
    count = rng.poisson(300, 1000)
    below = 1.0 - change
    rising = (np.sqrt(below**2 + 4.0 * change * rng.random(count.sum())) - below) / (2.0 * change)
    logs = trend_tests(scattered(count, rising))
    assert ((logs.slope_p < 0.03) & (logs.slope > 0.0)).mean() == pytest.approx(0.9, abs=0.04)


@pytest.mark.parametrize(
    ("seed", "said"), [(38, "(p = 0.046, above 0.03, bursts allowed for)"), (0, ", bursts allowed for)")]
)
def test_a_p_value_that_looks_small_says_what_it_is_compared_with(seed, said):
    at = np.sort(np.random.default_rng(seed).uniform(0.0, 1000.0, 60))
    found = trend_tests(EventHistories.from_groups([at], end=1000.0), "all", tests=("lewis_robinson", "mann"))
    assert said in found.headline
    assert ("above" in found.headline) == (0.03 < found.slope_p[0] <= 0.05)
