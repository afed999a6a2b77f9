"""What ``rf.`` shows, and the words that people type first, against scipy and lifelines."""

from __future__ import annotations

import lifelines
import numpy as np
import pandas as pd
import pytest
from lifelines.statistics import multivariate_logrank_test
from scipy import stats

import relfit as rf

RNG = np.random.default_rng(5)
TIMES = 100.0 * RNG.weibull(1.4, 60) + 1.0
OBSERVED = RNG.random(60) < 0.7
ENTRY = np.where(RNG.random(60) < 0.4, 0.3 * TIMES, 0.0)
GROUPS = np.array(list("abc"))[np.arange(60) % 3]


def test_the_front_shows_its_names_and_no_other() -> None:
    assert dir(rf) == sorted(rf.__all__)
    assert len(rf.__all__) <= 45
    assert all(getattr(rf, name) is not None for name in rf.__all__)


def test_what_left_the_front_is_at_the_front_of_its_package() -> None:
    for name, home in [
        ("sweep_repairs", "simulation.batch"),
        ("Fits", "fitting"),
        ("Window", "log.failurelog"),
        ("Interval", "base.results"),
    ]:
        with pytest.raises(AttributeError, match=f"relfit.{name} is relfit.{home}.{name}"):
            getattr(rf, name)
    assert "what_if" not in dir(rf)
    study = rf.Study(rf.read("white").between("2004-01-01", None))
    answers = [one.at(16)["waste"] for one in (rf.what_if(study), study.what_if(), rf.what_if(study.log))]  # type: ignore[attr-defined]
    assert answers == [answers[1]] * 3
    assert rf.batch.sweep_repairs is not None
    assert rf.nonparametric.turnbull is not None  # a package that is not listed
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = rf.nothing  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", [list, np.asarray, pd.Series])
def test_kaplan_meier_and_nelson_aalen_are_those_of_lifelines(kind) -> None:
    ours = rf.kaplan_meier(kind(TIMES), kind(OBSERVED), entry=kind(ENTRY))
    theirs = lifelines.KaplanMeierFitter().fit(TIMES, OBSERVED, entry=ENTRY)
    at = np.quantile(TIMES, [0.2, 0.5, 0.8])
    assert np.allclose(ours.sf(at)[0], theirs.survival_function_at_times(at))
    assert np.allclose(ours.cdf(at)[0], 1.0 - theirs.survival_function_at_times(at))
    assert ours.median().iloc[0, 0] == theirs.median_survival_time_ == ours.ppf(0.5).iloc[0, 0]
    hazard = lifelines.NelsonAalenFitter(nelson_aalen_smoothing=False).fit(TIMES, OBSERVED, entry=ENTRY)
    mine = rf.nelson_aalen(kind(TIMES), kind(OBSERVED), entry=kind(ENTRY))
    assert np.allclose(mine.cumulative_hazard(at)[0], hazard.cumulative_hazard_at_times(at), rtol=1e-9)


@pytest.mark.parametrize("ties", [False, True])
def test_log_rank_is_that_of_lifelines(ties: bool) -> None:
    times = np.ceil(TIMES / 20.0) if ties else TIMES
    ours = rf.log_rank(times, by=GROUPS, observed=OBSERVED)
    theirs = multivariate_logrank_test(times, GROUPS, OBSERVED)
    assert ours.statistic == pytest.approx(theirs.test_statistic)
    assert ours.p == pytest.approx(theirs.p_value)
    assert ours.degrees == 2
    assert ours.table["failures"].sum() == OBSERVED.sum() == pytest.approx(ours.table["expected"].sum())


def test_log_rank_of_many_samples_is_that_of_lifelines() -> None:
    """One test of two groups in five had two degrees of freedom: rounding counted as rank."""
    rng = np.random.default_rng(9)
    for groups in (2, 3, 6) * 30:
        times, label = rng.exponential(1.0 + rng.random(40 * groups)), np.repeat(np.arange(groups), 40)
        seen = rng.random(times.size) < 0.8
        ours = rf.log_rank(times, by=[f"g{one}" for one in label], observed=seen)
        theirs = multivariate_logrank_test(times, label, seen)
        assert ours.degrees == groups - 1
        np.testing.assert_allclose([ours.statistic, ours.p], [theirs.test_statistic, theirs.p_value], rtol=1e-6)


def test_log_rank_counts_who_entered_late_by_hand() -> None:
    # at 2: one of a, one of b at risk (the other b enters at 3); at 4: two of b; at 5: one of b
    result = rf.log_rank([2.0, 4.0, 5.0], by=["a", "b", "b"], entry=[0.0, 0.0, 3.0])
    assert result.table["expected"].tolist() == [0.5, 2.5]
    assert result.statistic == pytest.approx((1.0 - 0.5) ** 2 / 0.25)


def test_log_rank_compares_nothing_where_groups_never_meet() -> None:
    apart = rf.log_rank([1.0, 2.0, 10.0, 11.0], by=["a", "a", "b", "b"], entry=[0.0, 0.0, 5.0, 5.0])
    assert (apart.status, apart.degrees) == ("never_compared", 0)
    assert np.isnan([apart.p, apart.statistic]).all()
    assert "nothing is compared" in apart.headline
    # a and b as without c, which comes later
    both = rf.log_rank([1.0, 2.0, 3.0, 4.0], by=["a", "b", "a", "b"])
    later = rf.log_rank([1.0, 2.0, 3.0, 4.0, 9.0, 10.0], by=list("ababcc"), entry=[0.0, 0.0, 0.0, 0.0, 8.0, 8.0])
    assert (later.status, later.degrees, both.status) == ("partly_compared", 1, "ok")
    assert later.p == pytest.approx(both.p)
    seen = [True, True, True, True, False, False]  # c has left before the first failure: nothing to compare it with
    left = rf.log_rank([1.0, 2.0, 3.0, 4.0, 0.5, 0.5], list("ababcc"), observed=seen)
    assert (left.status, left.degrees, left.p) == ("ok", 1, pytest.approx(both.p))


def test_log_rank_takes_labels_of_groups() -> None:
    with pytest.raises(rf.ArgumentError, match="by holds true and false; is it observed="):
        rf.log_rank(TIMES, by=OBSERVED)
    with pytest.raises(rf.ArgumentError, match="by has 4 groups of 4 durations; give group labels"):
        rf.log_rank([5.0, 6.0, 7.0, 8.0], by=[6.0, 9.0, 10.0, 12.0])


def test_groups_in_the_second_place_of_log_rank() -> None:
    """There `kaplan_meier` has flags: 0 and 1 may be either."""
    hours, flags = [5.0, 6.0, 7.0, 1.0, 2.0, 3.0], np.array([1, 1, 0, 1, 0, 0])
    for values in (flags, flags.astype(float), flags.tolist()):
        with pytest.raises(rf.ArgumentError, match=r"groups or flags of 0 and 1; give by= for groups, observed= for"):
            rf.log_rank(hours, values)
    assert len(rf.log_rank(hours, by=flags).table) == 2
    with pytest.warns(FutureWarning, match=r"second argument of log_rank\(\) .* 0\.6; write by=") as caught:
        old = rf.log_rank(hours, list("aaabbb"))
    assert (old.p, caught[0].filename) == (rf.log_rank(hours, by=list("aaabbb")).p, __file__)
    with pytest.raises(rf.ArgumentError, match="as by= is"):
        rf.log_rank(hours, list("aaabbb"), by=list("aaabbb"))


def test_who_ends_at_once_is_at_risk_then_alone() -> None:
    # at 1 the one that enters and fails then and the other: half expected of each; at 2 the other alone
    once = rf.log_rank([1.0, 2.0], by=["a", "b"], entry=[1.0, 0.0])
    assert once.table["expected"].tolist() == [0.5, 1.5]
    assert rf.kaplan_meier([1.0, 2.0], entry=[1.0, 0.0]).at_risk.tolist() == [2, 1]


def test_a_table_goes_where_an_array_goes() -> None:
    table = pd.DataFrame({"life": TIMES, "seen": OBSERVED, "begun": ENTRY, "design": GROUPS})
    named = {"duration": "life", "observed": "seen", "entry": "begun", "by": "design"}
    for estimate in (rf.kaplan_meier, rf.nelson_aalen):
        ours, theirs = estimate(table, **named), estimate(TIMES, OBSERVED, entry=ENTRY, by=GROUPS)
        assert ours.estimate.tolist() == theirs.estimate.tolist()
        assert ours.groups.tolist() == theirs.groups.tolist()
    assert rf.log_rank(table, **named).p == rf.log_rank(TIMES, by=GROUPS, observed=OBSERVED, entry=ENTRY).p
    with pytest.raises(rf.ArgumentError, match="no column 'obs' in the table; it has life, seen"):
        rf.kaplan_meier(table, "obs", duration="life")
    for function in (rf.fit, rf.kaplan_meier):
        with pytest.raises(rf.ArgumentError, match=r"no argument 'event_observed'; did you mean observed=\?"):
            function([1.0, 2.0], event_observed=[1, 1])


def test_a_fit_has_the_names_of_scipy() -> None:
    fit = rf.fit(TIMES, "weibull", observed=OBSERVED)["weibull"]
    theirs = stats.weibull_min(float(fit.shape[0]), scale=float(fit.scale[0]))
    lifeline = lifelines.WeibullFitter().fit(TIMES, OBSERVED)
    assert fit.scale[0] == pytest.approx(lifeline.lambda_, rel=1e-4)
    at = [10.0, 50.0, 200.0]
    for name in ("sf", "cdf", "pdf"):
        assert np.allclose(getattr(fit, name)(at)[0], getattr(theirs, name)(at)), name
    assert np.allclose(fit.hazard(at)[0], theirs.pdf(at) / theirs.sf(at))
    assert np.allclose(fit.cumulative_hazard(at)[0], -theirs.logsf(at))
    for name in ("quantile", "ppf"):
        assert np.allclose(getattr(fit, name)([0.1, 0.5, 0.9])[0], theirs.ppf([0.1, 0.5, 0.9]))
    assert fit.mean[0] == pytest.approx(theirs.mean())
    assert fit.median[0] == pytest.approx(theirs.median())
    assert fit.conditional_sf("1h", "50h")[0] == pytest.approx(theirs.sf(51.0) / theirs.sf(50.0))
    distribution = rf.families.Weibull(1.5, 100.0)
    assert distribution.ppf(0.3) == pytest.approx(stats.weibull_min(1.5, scale=100.0).ppf(0.3))
    assert distribution.conditional_sf(10.0, 20.0) == pytest.approx(distribution.sf(30.0) / distribution.sf(20.0))


def test_times_and_groups() -> None:
    fits = rf.fit(TIMES, ["weibull", "gamma"], observed=OBSERVED, entry=ENTRY, by=GROUPS)
    fit = fits["weibull"]
    assert fits.groups.tolist() == ["a", "b", "c"]
    own = rf.fit(TIMES[GROUPS == "b"], "weibull", observed=OBSERVED[GROUPS == "b"], entry=ENTRY[GROUPS == "b"])[
        "weibull"
    ]
    assert fit.scale[1] == pytest.approx(own.scale[0], rel=1e-6)
    assert fit.sf(10.0).shape == (3,)
    assert fit.sf([10.0, 20.0]).shape == (3, 2)
    assert fit.sf([10.0, 20.0])[1, 1] == pytest.approx(fit.sf(20.0)[1])
    each = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert fit.sf(each)[2, 0] == pytest.approx(fit.sf(5.0)[2])
    pooled = fits.pool()
    assert pooled.ppf(0.5) == pytest.approx(pooled.median)
    with pytest.raises(rf.ArgumentError, match=r"time has shape \(2, 2\), and there are 3 groups"):
        fit.sf(np.ones((2, 2)))


@pytest.mark.parametrize(
    ("durations", "options", "text"),
    [
        ([1.0, 2.0, 3.0], {"observed": [1, 0]}, r"observed has shape \(2,\), durations have \(3,\)"),
        ([1.0, 2.0], {"entry": [[0.0], [0.0]]}, r"entry has shape \(2, 1\)"),
        ([1.0, 2.0], {"by": ["a"]}, r"by has shape \(1,\)"),
        (np.ones((2, 2, 2)), {}, r"durations have shape \(2, 2, 2\)"),
        (3.0, {}, r"durations have shape \(\)"),
        ([1.0, 2.0], {"observed": [1, 2]}, "more than true and false"),
        ([], {}, "no durations"),
    ],
)
def test_shapes_that_do_not_fit(durations, options, text: str) -> None:
    for function in (rf.fit, rf.kaplan_meier, rf.nelson_aalen):
        with pytest.raises(rf.DataError, match=text):
            function(durations, **options)


def test_flags_in_the_wrong_place() -> None:
    with pytest.raises(rf.ArgumentError, match="observed="):
        rf.fit([1.0, 2.0, 3.0], [True, True, False])
    with pytest.raises(rf.ArgumentError, match="data have their own"):
        rf.kaplan_meier(rf.LifeData.from_array([1.0, 2.0]), [True, True])
    with pytest.raises(rf.DataError, match="there is one"):
        rf.log_rank([1.0, 2.0])


def test_the_sample_by_its_name() -> None:
    log = rf.read("white")
    assert log.n_nodes == 512
    with pytest.raises(rf.ArgumentError, match="timezone= does not go with a data set that is named"):
        rf.read("white", timezone="UTC")
    with pytest.raises(rf.ReadError, match="no such file"):
        rf.read("whyte")


def test_all_nodes_as_one_sample() -> None:
    log = rf.read("white").between("2004-08-01", None)
    for measure in ("ttf", "ttr"):
        pooled, each = getattr(log, measure)(per="all"), getattr(log, measure)()
        assert pooled.n_groups == 1
        assert np.array_equal(pooled.durations, each.durations)
