"""Kaplan-Meier and Nelson-Aalen against lifelines and by hand, with delayed entry, weights and the edges."""

from __future__ import annotations

import numpy as np
import pytest
from lifelines import KaplanMeierFitter, NelsonAalenFitter
from lifelines.utils import median_survival_times
from scipy import stats

from relfit import ArgumentError, DataError, LifeData
from relfit.fitting.nonparametric import kaplan_meier, nelson_aalen

SIZES = (1, 5, 40, 300)


def _sample(seed: int = 3):
    rng = np.random.default_rng(seed)
    durations, observed, entry, weights = [], [], [], []
    for n in SIZES:
        late = np.round(rng.exponential(3.0, n), 1) * (rng.random(n) < 0.6)
        late[: max(1, n // 4)] = 0.0
        entry.append(late)
        durations.append(late + np.round(rng.weibull(0.9, n) * 20.0) + 0.5)
        observed.append(rng.random(n) < 0.7)
        weights.append(rng.integers(1, 5, n))
    return durations, observed, entry, weights


@pytest.mark.parametrize("names", [(), ("entry",), ("weights",), ("entry", "weights")])
def test_curves_are_those_of_lifelines(names):
    durations, observed, entry, weights = _sample()
    further = {"entry": entry, "weights": weights}
    lives = LifeData.from_groups(durations, observed, **{name: further[name] for name in names})
    survival, hazard = kaplan_meier(lives), nelson_aalen(lives)
    for j in range(len(SIZES)):
        more = {name: further[name][j] for name in names}
        times, values = survival.group(j)
        part = slice(*survival.offsets[j : j + 2])
        peer = KaplanMeierFitter().fit(durations[j], observed[j], **more)
        np.testing.assert_allclose(values, peer.survival_function_.loc[times].iloc[:, 0], atol=1e-12, rtol=0)
        limits = peer.confidence_interval_.loc[times].to_numpy()
        above = values > 0
        failed = above & (values < 1.0)  # before the first failure lifelines has 1 to 1
        np.testing.assert_allclose(survival.low[part][failed], limits[failed, 0], atol=1e-10, rtol=0)
        np.testing.assert_allclose(survival.high[part][above], limits[above, 1], atol=1e-10, rtol=0)
        peer = NelsonAalenFitter().fit(durations[j], observed[j], **more)
        total = peer.cumulative_hazard_.loc[times].iloc[:, 0]
        np.testing.assert_allclose(hazard.estimate[part], total, atol=1e-12, rtol=0)
        np.testing.assert_allclose(hazard.standard_error[part] ** 2, peer._cumulative_sq.loc[times], atol=1e-12)
        limits = peer.confidence_interval_.loc[times].to_numpy()
        np.testing.assert_allclose(hazard.low[part], limits[:, 0], atol=1e-10, rtol=1e-10)
        np.testing.assert_allclose(hazard.high[part], limits[:, 1], atol=1e-10, rtol=1e-10)


def test_median_is_that_of_lifelines():
    durations, observed, _, _ = _sample(5)
    curves = kaplan_meier(LifeData.from_groups(durations, observed))
    median = curves.median()
    for j in (2, 3):
        peer = KaplanMeierFitter().fit(durations[j], observed[j])
        limits = median_survival_times(peer.confidence_interval_).to_numpy().ravel()
        assert median.iloc[j].tolist() == [peer.median_survival_time_, *limits]


def test_limits_of_quantiles_are_those_of_statsmodels():
    from statsmodels.duration.survfunc import SurvfuncRight

    rng = np.random.default_rng(8)
    time, seen = rng.exponential(10.0, 60), rng.random(60) < 0.8
    curves = kaplan_meier(LifeData.from_array(time, seen))
    peer = SurvfuncRight(time, seen)
    for p in (0.25, 0.5, 0.6):
        found = curves.quantile(p).iloc[0]
        assert found["time"] == peer.quantile(p)
        assert found[["low", "high"]].tolist() == pytest.approx(peer.quantile_ci(p, method="cloglog"))


def test_a_group_does_not_depend_on_its_neighbours():
    rng = np.random.default_rng(1)
    lives = LifeData.from_array(rng.exponential(5.0, (2000, 30)), rng.random((2000, 30)) < 0.7)
    curves, hazards = kaplan_meier(lives), nelson_aalen(lives)
    alone = lives.take([1999])
    np.testing.assert_array_equal(curves.group(1999)[1], kaplan_meier(alone).estimate)
    np.testing.assert_array_equal(hazards.group(1999)[1], nelson_aalen(alone).estimate)


def test_weights_count_as_that_many_durations():
    lives = LifeData.from_array([1.0, 2.0, 2.0, 5.0], [True, True, False, True], weights=[2, 3, 0, 4])
    spread = LifeData.from_array(np.repeat([1.0, 2.0, 5.0], [2, 3, 4]))
    for estimate in (kaplan_meier, nelson_aalen):
        pd_a, pd_b = estimate(lives).to_frame(), estimate(spread).to_frame()
        np.testing.assert_allclose(pd_a.to_numpy(), pd_b.to_numpy(), rtol=1e-14)
    many = nelson_aalen(LifeData.from_array([1.0, 2.0], weights=[10**9, 10**9]))
    assert many.estimate[0] == pytest.approx(np.log(2.0), rel=1e-9)
    # sum of 1/k**2 for k = 1 .. 10**9
    assert many.standard_error[1] ** 2 == pytest.approx(np.pi**2 / 6.0 - 0.5e-9, rel=1e-12)


def test_harmonic_increments_of_many_failures_at_one_time():
    many = nelson_aalen(LifeData.from_array([1.0, 2.0], weights=[20_000, 500]))
    k = np.arange(501, 20_501, dtype=float)
    assert many.estimate[0] == pytest.approx(np.sum(1.0 / k), rel=1e-13)
    assert many.standard_error[0] ** 2 == pytest.approx(np.sum(1.0 / k**2), rel=1e-13)


def test_before_the_first_failure_the_limit_is_that_of_as_many_without_failure():
    """ "1 (1-1)" after 24 hours of 14 lives; of 14 without a failure the survival is above 0.768 (binomial test)."""
    lives = LifeData.from_array([3.0, 6.0, *[9.0] * 12], [False, True, *[True] * 12])
    found = kaplan_meier(lives).interval([0.0, 1.0, 3.0, 5.0])
    exact = [stats.binomtest(n, n).proportion_ci(method="exact").low for n in (14, 14)]
    # at 3 one of 14 is censored, who is at risk then
    assert found.low[0].tolist() == pytest.approx([1.0, exact[0], exact[1], exact[1]])
    assert found.high.tolist() == [[1.0] * 4]
    wide = kaplan_meier(lives, level=0.8).interval(1.0)
    assert float(wide.low[0]) == pytest.approx(0.1 ** (1 / 14))
    late = kaplan_meier(
        LifeData.from_array([2.0, 5.0, 6.0, 7.0], [False, False, True, True], entry=[0.0, 3.0, 3.0, 3.0])
    )
    assert late.low[:2].tolist() == pytest.approx([0.025, 0.025])  # one was watched when the others had not entered


def test_coverage_before_and_after_the_first_failure():
    """Of 14 lives with a survival of 0.962, 61 % of the intervals were from 1 to 1, and 30 % held.

    Those that miss now are of two failures or more so early, with limits that are normal on a log scale.
    """
    rng, held = np.random.default_rng(4), []
    for _ in range(400):
        failed, censored = rng.exponential(12_500.0, 14), rng.uniform(500.0, 6000.0, 14)
        found = kaplan_meier(np.minimum(failed, censored), failed <= censored).interval(480.0)
        held.append(found.low[0] <= np.exp(-480.0 / 12_500.0) <= found.high[0])
    assert np.mean(held) > 0.85


def test_edges():
    lives = LifeData.from_groups(
        {"none": [], "censored": [3.0, 5.0], "tie": [2.0, 2.0, 2.0], "zero": [0.0, 1.0], "one": [4.0]},
        {"none": [], "censored": [0, 0], "tie": [1, 1, 1], "zero": [1, 0], "one": [1]},
    )
    curves = kaplan_meier(lives)
    assert curves.at(10.0).tolist() == [1.0, 1.0, 0.0, 0.5, 0.0]
    assert curves.at(0.0).tolist() == [1.0, 1.0, 1.0, 0.5, 1.0]
    limits = curves.interval(10.0)
    assert limits.low[[0, 1, 2, 4]].tolist() == pytest.approx([1.0, 0.025, 0.0, 0.0])
    assert limits.to_frame().loc["censored"].tolist() == [1.0, pytest.approx(0.025), 1.0, "beyond_data"]
    assert limits.high[[0, 1, 2, 4]].tolist() == [1.0, 1.0, 1.0, 1.0]
    assert curves.median()["time"].tolist() == [np.inf, np.inf, 2.0, 0.0, 4.0]
    assert not curves.to_frame().isna().any().any()
    hazards = nelson_aalen(lives)
    assert hazards.at(10.0).round(6).tolist() == [0.0, 0.0, 1.833333, 0.5, 1.0]
    assert not hazards.to_frame().isna().any().any()
    assert "5 groups" in repr(curves)
    assert "5 groups" in repr(hazards)
    assert "5 failures; the median of the group with most failures is 2 h (2-infinite)" in curves.headline
    assert curves.to_dict()["sizes"] == [0, 2, 3, 2, 1]


def test_a_curve_that_falls_to_zero_early_says_so():
    # the first life fails before any other has entered
    lives = LifeData.from_array([[1.0, 5.0, 6.0]], [[True, True, True]], entry=[[0.0, 2.0, 3.0]])
    curves = kaplan_meier(lives)
    assert curves.estimate.tolist() == [0.0, 0.0, 0.0]
    assert curves.status.tolist() == ["collapsed"]
    assert kaplan_meier(LifeData.from_array([1.0, 5.0])).status.tolist() == ["ok"]


def test_nothing_is_said_beyond_the_data():
    """The oldest of the first group was censored at 5; all of the second have failed by 4; the third has no life."""
    lives = LifeData.from_groups({"a": [2.0, 5.0], "b": [1.0, 4.0], "c": []}, {"a": [1, 0], "b": [1, 1], "c": []})
    curves = kaplan_meier(lives)
    later = curves.conditional_sf([1.0, 2.0, 3.0], age=3.0)
    np.testing.assert_array_equal(later, [[1.0, 1.0, np.nan], [0.0, 0.0, 0.0], [np.nan] * 3])
    np.testing.assert_array_equal(curves.conditional_sf("1h", age="20h"), [np.nan] * 3)
    assert curves.interval([4.0, 5.0, 6.0]).status.tolist() == [
        ["ok", "ok", "beyond_data"],
        ["ok", "beyond_data", "beyond_data"],
        ["beyond_data"] * 3,
    ]
    np.testing.assert_allclose(nelson_aalen(lives).conditional_sf(1.0, age=4.5), [np.nan] * 3)
    assert curves.sf("2h").tolist() == curves.sf(2.0).tolist() == [0.5, 0.5, 1.0]
    with pytest.raises(ArgumentError, match="soon"):
        curves.sf("soon")


def test_a_median_that_is_not_reached_is_called_so():
    assert kaplan_meier([5.0, 9.0, 9.0], [True, False, False]).headline.endswith(
        "the median is not reached, above 5 h."
    )


def test_the_hazard_is_level_where_nobody_is_at_risk():
    # lifelines 0.30 adds 1.5 at 3, where nobody fails
    lives = LifeData.from_array([2.0, 5.0, 6.0], entry=[0.0, 3.0, 3.0])
    hazard = nelson_aalen(lives)
    assert hazard.estimate.tolist() == [1.0, 1.5, 2.5]
    assert (hazard.standard_error**2).tolist() == pytest.approx([1.0, 1.25, 2.25])


def test_who_is_at_risk_at_an_entry():
    # the second life enters at the failure of the first, the third enters and fails at 4
    lives = LifeData.from_array([2.0, 5.0, 4.0, 5.0], entry=[0.0, 2.0, 4.0, 1.0])
    assert kaplan_meier(lives).at_risk.tolist() == [2, 3, 2]


def test_quantile_where_the_curve_is_level_at_it():
    curves = kaplan_meier(LifeData.from_array(np.arange(1.0, 11.0)))
    for place, p in enumerate(np.arange(1, 11) / 10.0):
        assert curves.quantile(p)["time"].iloc[0] == place + 1.0


def test_what_is_rejected():
    lives = LifeData.from_intervals([1.0], [2.0])
    with pytest.raises(DataError, match="turnbull"):
        kaplan_meier(lives)
    with pytest.raises(DataError, match="right truncation"):
        nelson_aalen(LifeData.from_array([1.0], exit=[3.0]))
    good = LifeData.from_array([1.0, 2.0])
    with pytest.raises(ArgumentError, match="level"):
        kaplan_meier(good, level=95)
    with pytest.raises(ArgumentError, match="no quantiles"):
        nelson_aalen(good).median()
    curves = kaplan_meier(good)
    with pytest.raises(ArgumentError, match="probability"):
        curves.quantile(1.5)
    with pytest.raises(ArgumentError, match="below zero"):
        curves.at([-1.0])
    with pytest.raises(ArgumentError, match="one row"):
        curves.at([[1.0], [2.0]])


@pytest.mark.parametrize("flags", [["1", "0", "1"], np.array([True, False, True], dtype=object), [1.0, 0.0, 1.0]])
def test_flags_as_text_and_objects_are_those_of_numbers(flags):
    curve = kaplan_meier([2.0, 3.0, 5.0], observed=flags)
    assert curve.at([1.0, 2.0, 4.0, 5.0]).ravel().tolist() == pytest.approx([1.0, 2 / 3, 2 / 3, 0.0])
    with pytest.raises(DataError, match="more than true and false"):
        kaplan_meier([2.0, 3.0, 5.0], observed=["1", "no", "1"])
