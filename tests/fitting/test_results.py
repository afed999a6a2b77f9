"""Tables, intervals and criteria of fits."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.fitting.competing import causes_in_series
from relfit.log.lifedata import LifeData


@pytest.fixture(scope="module")
def fits() -> rf.fitting.Fits:
    rng = np.random.default_rng(1)
    life = rng.weibull(0.8, (40, 25)) * 500
    seen = rng.random((40, 25)) < 0.9
    seen[3] = False
    life[4] = 7.0
    seen[4] = True
    return rf.fit(LifeData.from_array(life, seen))


def test_summary_and_frame_have_a_row_a_group_and_family(fits):
    assert len(fits.summary()) == len(fits.to_frame()) == 160
    assert fits.summary().loc[(3, "weibull"), "status"] == "all_censored"
    assert fits.summary().loc[(4, "gamma"), "status"] == "no_variance"
    frame = fits.to_frame()
    fitted = frame[frame.status == "ok"]
    assert (fitted["mean_low"] < fitted["mean"]).all()
    assert (fitted["mean"] < fitted["mean_high"]).all()
    for name in ("rate", "shape", "scale", "sdlog"):
        rows = fitted[fitted[name].notna()]
        assert (
            (rows[f"{name}_low"] < rows[name]) & (rows[name] < rows[f"{name}_high"]) & (rows[f"{name}_low"] > 0)
        ).all()


def test_the_distance_of_a_table_is_the_one_that_is_tested(fits):
    one = fits["weibull"]
    tested = one.goodness(n_resamples=0).to_frame()
    for shown in (one.ks, one.to_frame()["ks"], fits.summary().xs("weibull", level="family")["ks"]):
        np.testing.assert_array_equal(shown, tested["ks"])
    assert (one.largest_distance - one.ks > 1e-6).any()  # which with censoring is weighted


def test_lives_that_entered_late_have_no_textbook_p_value():
    """Nor does one rank distributions: of exponential and Weibull, the shape 2 is the truth."""
    rng = np.random.default_rng(7)
    entry = np.concatenate([np.zeros(150), rng.uniform(500.0, 1500.0, 150)])
    life = 1000.0 * ((entry / 1000.0) ** 2 + rng.exponential(size=300)) ** 0.5
    ended = np.minimum(life, entry + rng.uniform(100.0, 1000.0, 300))
    both = ("exponential", "weibull")
    late = rf.fit(ended, both, observed=life <= ended, entry=entry)
    assert np.isnan([late[name].ks_p_textbook[0] for name in both]).all()
    table = late.compare()
    assert table[["best_by_p", "as_good_by_p"]].to_numpy().sum() == 0
    assert table["as_good_by_p_percent"].isna().all()
    assert table["best_by_aicc"].tolist() == [0, 1]
    together = rf.LifeData.from_array(np.concatenate([ended, ended]), entry=np.concatenate([entry, np.zeros(300)]))
    assert together.n_late.tolist() == [150]


def test_a_cause_stands_once_in_a_group():
    keys = pd.MultiIndex.from_tuples([(1, "disk"), (1, "disk")], names=["node", "cause"])
    lives = LifeData(np.array([1.0, 2.0, 3.0, 5.0]), np.ones(4, bool), np.array([0, 2, 4]), keys)
    with pytest.raises(rf.ArgumentError, match="a cause twice"):
        causes_in_series(rf.fit(lives, "exponential").results, "exponential")


def test_criteria(fits):
    result = fits["weibull"]
    n = fits.lives.n_failures[0]
    assert result.aic[0] == pytest.approx(4 - 2 * result.loglik[0])
    assert result.aicc[0] == pytest.approx(result.aic[0] + 12 / (n - 3))
    assert result.bic[0] == pytest.approx(2 * np.log(n) - 2 * result.loglik[0])
    assert rf.fit([1.0, 2.0, 4.0], "weibull")["weibull"].aicc[0] == np.inf


def test_compare_counts_by_hand(fits):
    table = fits.compare()
    p = np.array([fits[f].ks_p_textbook for f in fits.families])
    aicc = np.array([fits[f].aicc for f in fits.families])
    compared = 0
    best = [0, 0, 0, 0]
    good = [0, 0, 0, 0]
    lowest = [0, 0, 0, 0]
    near = [0, 0, 0, 0]
    for group in range(40):
        # two failures more than the two parameters of the larger families, and something to compare
        if fits.lives.n_failures[group] < 4 or (~np.isnan(p[:, group])).sum() < 2:
            assert fits.best().iloc[group] is None
            continue
        compared += 1
        for family in range(4):
            if p[family, group] == np.nanmax(p[:, group]):
                best[family] += 1
            if p[family, group] == np.nanmax(p[:, group]) or p[family, group] > 0.05:
                good[family] += 1
            lowest[family] += aicc[family, group] == np.nanmin(aicc[:, group])
            near[family] += aicc[family, group] <= np.nanmin(aicc[:, group]) + 2.0
    assert table["best_by_p"].tolist() == best
    assert table["as_good_by_p"].tolist() == good
    assert table["best_by_aicc"].tolist() == lowest
    assert table["as_good_by_aicc"].tolist() == near
    assert table["fitted"].tolist() == [39, 38, 38, 38]
    assert table["as_good_by_p_percent"].tolist() == pytest.approx([100 * g / compared for g in good])
    assert table["compared"].tolist() == [compared] * 4
    ok = np.array([fits[f].ok for f in fits.families])
    assert table["alone"].tolist() == [sum(ok[f, g] and ok[:, g].sum() == 1 for g in range(40)) for f in range(4)]
    assert table["alone"].sum() > 0


def test_too_few_failures_are_no_evidence_for_the_exponential() -> None:
    """Three failures leave AICc finite for one parameter alone; one failure among longer lives fits no shape."""
    rng = np.random.default_rng(4)
    shape_2 = {f"n{i}": rng.weibull(2.0, 3) for i in range(50)}
    found = rf.fit(rf.LifeData.from_groups(shape_2))
    assert found["weibull"].ok.all()
    assert np.isfinite(found["exponential"].aicc).all()
    assert found.compare()[["compared", "best_by_aicc", "best_by_p"]].to_numpy().sum() == 0
    assert found.best().isna().all()
    assert found.weights().isna().all(axis=None)
    assert "50 with too few failures or fits to compare" in repr(found)
    one = rf.fit(rf.LifeData.from_groups({"a": [5.0, 9.0], "b": [1.0, 2.0, 5.0, 8.0]}, {"a": [1, 0], "b": [1] * 4}))
    assert one["weibull"].status.tolist() == ["few", "ok"]
    assert one.describe()["shape"].loc["groups"] == 1
    assert one.compare()["compared"].tolist() == [1] * 4


def test_a_duration_of_zero_has_no_anderson_darling() -> None:
    found = rf.fit([0.0, *np.random.default_rng(1).exponential(100.0, 30)], "exponential")["exponential"].tests
    place = found.tests.index("ad")
    assert np.isnan(found.p[0, place])
    assert found.source[0, place] == "not defined"
    assert found.p[0, found.tests.index("ks")] > 0.01


def test_describe_is_table_3_5(fits):
    table = fits.describe()
    shape = fits["weibull"].parameters["shape"]
    shape = shape[np.isfinite(shape)]
    assert list(table.columns) == ["shape", "scale", "mean_hours"]
    assert table["shape"].tolist() == pytest.approx(
        [shape.min(), shape.max(), shape.mean(), np.median(shape), shape.std(ddof=1), 38]
    )


def test_best(fits):
    best = fits.best()
    assert best.iloc[3] is None
    assert set(best.dropna()) <= set(fits.families)
    with pytest.raises(rf.ArgumentError, match="choose"):
        fits.best("luck")


def test_json_has_no_bare_nan(fits):
    text = json.dumps(fits.to_dict(), allow_nan=False)
    assert len(json.loads(text)["fits"]) == 160


def test_unknown_family_of_a_result(fits):
    with pytest.raises(rf.ArgumentError, match="was not fitted"):
        fits["gompertz"]


def test_groups_keep_their_keys():
    index = pd.MultiIndex.from_tuples([("a", "n1"), ("a", "n2")], names=["system", "node"])
    lives = LifeData(np.array([1.0, 2.0, 3.0, 5.0]), np.ones(4, bool), np.array([0, 2, 4]), index)
    frame = rf.fit(lives).to_frame()
    assert list(frame.columns[:3]) == ["system", "node", "family"]
    assert rf.fit({("a", 1): [1.0, 2.0], ("b", 2): [3.0, 4.0]}).to_frame().columns[:2].tolist() == ["key_0", "key_1"]


# ------------------------------------------------------------------- intervals


@pytest.mark.parametrize("family", ["exponential", "weibull", "gamma", "lognormal"])
@pytest.mark.parametrize("censored", [False, True])
def test_intervals_cover_in_large_samples(family, censored):
    """Nominal 95 %, 200 lives a group, 3 000 groups: within 93 and 97 % for every parameter and the mean."""
    truth = {"exponential": [0.01], "weibull": [0.8, 100.0], "gamma": [0.8, 100.0], "lognormal": [4.0, 1.0]}[family]
    rng = np.random.default_rng(31)
    life = rf.families.FAMILIES[family](*truth).sample((3000, 200), rng=rng)
    limit = rng.exponential(200.0, life.shape) if censored else np.full(life.shape, np.inf)
    result = rf.fit(LifeData.from_array(np.minimum(life, limit), life <= limit), family)[family]
    for value, (low, high) in zip(truth, result.parameter_intervals.values(), strict=True):
        assert 0.93 < np.mean((low < value) & (value < high)) < 0.97
    mean = float(rf.families.FAMILIES[family](*truth).mean())
    assert 0.93 < np.mean((result.mean_low < mean) & (mean < result.mean_high)) < 0.97


def test_exact_interval_of_the_exponential_covers_at_n_5():
    sample = rf.families.Exponential(0.01).sample((20_000, 5), rng=3)
    result = rf.fit(sample, "exponential")["exponential"]
    assert np.mean((result.mean_low < 100) & (result.mean_high > 100)) == pytest.approx(0.95, abs=0.006)


def test_rejected_groups_are_those_with_p_below_the_level():
    sample = np.concatenate([rf.families.Weibull(shape, 100.0).sample((20, 60), rng=1) for shape in (0.5, 1.0)])
    fits = rf.fit(sample, "exponential")
    p = fits["exponential"].tests.p[:, fits["exponential"].tests.tests.index("ad")]
    for found, level in ((fits.rejected(), 0.05), (fits.rejected(alpha=0.3), 0.3)):
        row = found.loc["exponential"]
        assert 20 <= row["rejected"] == (p < level).sum() < 40
        assert row["tested"] == 40
        assert row["expected"] == pytest.approx(40 * level)
        assert 20 <= row["rejected_adjusted"] <= row["rejected"]
        assert row["not_computed"] == 0
    censored = rf.LifeData.from_array(sample, np.arange(60) % 3 > 0)
    none = rf.fit(censored, "weibull", n_resamples=0).rejected().loc["weibull"]
    assert none[["tested", "not_computed"]].tolist() == [0, 40]


@pytest.mark.parametrize(
    ("lives", "families", "said"),
    [
        (
            [100.0] * 50,
            "core",
            "Only the exponential could be fitted: mean 100 h (95 % exact interval 77.2-135). Weibull, gamma, ",
        ),
        ([100.0] * 50, "core", "one failure time agrees with all lives"),
        ([0.0, *range(10, 70)], "core", "lognormal: a failure time of zero has no density under this family."),
        (
            [0.0] * 3,
            "core",
            "No distribution could be fitted. Exponential, weibull, gamma, lognormal: a failure time of",
        ),
        ([[0.0] * 3] * 2, "core", "No distribution could be fitted. Exponential, weibull, gamma, lognormal: a failure"),
        ([5.0], ["weibull", "gamma"], "No distribution could be fitted: there are too few failures."),
    ],
)
def test_why_there_is_nothing_to_compare(lives, families, said):
    assert said in rf.fitting.finding(rf.fit(lives, families))


def test_three_failures_are_too_few_to_compare():
    said = rf.fitting.finding(rf.fit(np.array([[10.0, 20.0, 30.0]]), ["exponential", "weibull"]))
    assert said.startswith("3 failures are too few to compare distributions; the exponential has the mean 20 h")
    alone = rf.fit([10.0, 20.0], ["exponential", "weibull"], observed=[True, False])
    assert rf.fitting.finding(alone).startswith("1 failure is too few to compare distributions")


@pytest.mark.parametrize(
    ("quantity", "at", "said"),
    [
        ("mean", None, "mean of weibull: {} h ("),
        ("scale", None, "scale of weibull: {} h ("),
        ("shape", None, "shape of weibull: {} ("),
        ("quantile", 0.1, "quantile at 0.1 of weibull: {} h ("),
        ("reliability", "2d", "reliability at 48 h of weibull: {} ("),
        ("hazard", "2d", "hazard at 48 h of weibull: {} per hour ("),
    ],
)
def test_an_interval_has_its_unit(quantity, at, said) -> None:
    found = rf.fit([10.0, 20.0, 30.0, 70.0], "weibull")["weibull"].interval(quantity, at=at)
    assert found.headline.startswith(said.format(f"{found.estimate[0]:.6g}"))


def test_the_interval_of_few_failures_is_that_of_the_profile():
    lives = rf.LifeData.from_groups(
        {"few": [700.0, *[1000.0] * 31], "many": range(1, 41)}, {"few": [1] + [0] * 31, "many": [1] * 40}
    )
    fit = rf.fit(lives, "weibull")["weibull"]
    low, high, kinds = fit.mean_limits()
    assert kinds.tolist() == ["profile", "Wald"]
    both = rf.fit(lives, ["exponential", "weibull"])
    assert both.to_frame()["mean_interval"].tolist() == ["exact", "Wald"] * 2
    assert rf.fit([5.0, 5.0], "weibull").to_frame()["mean_interval"].tolist() == [None]
    profile = fit.interval("mean")
    assert (low[0], high[0]) == (profile.low[0], profile.high[0])
    assert (low[1], high[1]) == (fit.mean_low[1], fit.mean_high[1])
    summary = rf.fit(lives, ["exponential", "weibull"]).summary()
    assert np.isnan(summary["mean_low"].to_numpy()).tolist() == [False, True, False, False]
    assert "95 % profile interval 1,218-" in rf.fitting.finding(rf.fit(lives.group("few"), "weibull"))
    exact = rf.fit(lives, "exponential")["exponential"].mean_limits()
    assert exact[2].tolist() == ["exact", "exact"]
    moments = rf.fit(lives.group("many"), "weibull", method="moments")["weibull"].mean_limits()
    assert moments[2].tolist() == ["Wald"]


def test_a_mean_that_rests_on_ages_never_seen_says_so():
    rng, entry = np.random.default_rng(4), np.linspace(1000.0, 2000.0, 80)
    left = rng.exponential(1500.0, 80)
    failed, spent = left <= 700.0, np.minimum(left, 700.0)
    late = rf.LifeData.from_array(entry + spent, failed, entry=entry)
    share = -np.expm1(-1000.0 * failed.sum() / spent.sum())
    text = rf.fitting.finding(rf.fit(late, "exponential"))
    assert text.endswith(f"; no age below 1,000 h was seen, where it places {100.0 * share:.0f} % of lives.")
    fit = rf.fit(late, "weibull")["weibull"]
    assert fit.lives.n_failures[0] >= 20
    assert fit.mean_limits()[2].tolist() == ["profile"]
    early = rf.LifeData.from_array(entry + spent - 990.0, failed, entry=entry - 990.0)
    assert "no age" not in rf.fitting.finding(rf.fit(early, "exponential"))
    assert rf.fit(early, "weibull")["weibull"].mean_limits()[2].tolist() == ["Wald"]
    assert rf.LifeData.from_groups({"a": [5.0], "b": []}).first_entry.tolist() == [0.0, 0.0]
