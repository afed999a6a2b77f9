"""Families compared: likelihood-ratio and Vuong tests, weights of criteria, p-values adjusted for many groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import relfit as rf
from relfit.fitting import NESTED
from relfit.numeric.false_discovery import adjusted_p
from tests.fitting.all_kinds import log_pdf
from tests.fitting.simulated import complete, randomly_censored


@pytest.mark.parametrize(("general", "size"), [("weibull", 100), ("gamma", 100)])
@pytest.mark.parametrize("censored", [False, True])
def test_the_likelihood_ratio_follows_chi_square_under_its_null(general, size, censored):
    make = (lambda: randomly_censored("exponential", 3000, size, 1, False)) if censored else (
        lambda: complete("exponential", 3000, size, 1)
    )  # fmt: skip
    found = rf.fit(make(), ["exponential", general]).likelihood_ratio("exponential", general)
    assert set(found["source"]) == {"chi-square"}
    assert set(found["degrees"]) == {1}
    assert (found["statistic"] >= 0.0).all()
    assert stats.kstest(found["p"], "uniform").pvalue > 0.001
    assert 4.0 < 100 * (found["p"] < 0.05).mean() < 6.3
    np.testing.assert_allclose(found["p"], stats.chi2.sf(found["statistic"], 1))


def test_the_likelihood_ratio_sees_a_shape_that_is_not_one():
    found = rf.fit(complete("weibull", 500, 100, 2), ["exponential", "weibull"]).likelihood_ratio(
        "exponential", "weibull"
    )
    assert (found["p"] < 0.05).mean() > 0.95
    assert (found["p_adjusted"] >= found["p"]).all()


def test_the_bootstrap_serves_where_samples_are_small():
    """With six lives the chi-square law rejects too often, replicates do not."""
    fits = rf.fit(complete("exponential", 2000, 6, 3), ["exponential", "weibull"])
    law = fits.likelihood_ratio("exponential", "weibull")
    drawn = fits.likelihood_ratio("exponential", "weibull", n_resamples=99, rng=1)
    assert set(drawn["source"]) == {"bootstrap"}
    assert 100 * (law["p"] < 0.05).mean() > 6.0
    assert 3.9 < 100 * (drawn["p"] <= 0.05).mean() < 6.1
    assert stats.kstest(drawn["p"] - np.random.default_rng(0).random(2000) / 100, "uniform").pvalue > 0.001


@pytest.mark.parametrize(("special", "general"), [pair for pair, border in NESTED.items() if border])
def test_half_a_chi_square_where_the_special_case_is_on_the_border(special, general):
    if general not in rf.families.FAMILIES:
        pytest.skip(f"there is no family {general} yet")
    truth = {"exponential": rf.families.Exponential(1e-3), "weibull": rf.families.Weibull(1.5, 1000.0)}[special]
    lives = rf.LifeData.from_array(truth.sample((600, 80), rng=5))
    limit = 1500.0
    lives = rf.LifeData(np.minimum(lives.durations, limit), lives.durations <= limit, lives.offsets, lives.groups)
    found = rf.fit(lives, [special, general]).likelihood_ratio(special, general)
    known = found[found["p"].notna()]
    assert set(known["source"]) == {"half chi-square"}
    above = known[known["statistic"] > 1e-6]
    np.testing.assert_allclose(above["p"], 0.5 * stats.chi2.sf(above["statistic"], above["degrees"]))
    assert 100 * (found["p"] < 0.05).mean() < 7.5


def test_families_that_are_not_nested_need_a_bootstrap():
    fits = rf.fit(complete("weibull", 3, 40, 4), ["weibull", "lognormal"])
    with pytest.raises(rf.ArgumentError, match="not a regular special case"):
        fits.likelihood_ratio("weibull", "lognormal")
    found = fits.likelihood_ratio("weibull", "lognormal", n_resamples=99)
    assert found["p"].between(0.0, 1.0).all()


def test_vuong_by_hand():
    lives = complete("lognormal", 4, 60, 6)
    fits = rf.fit(lives, ["weibull", "lognormal", "exponential"])
    found = fits.vuong("lognormal", "weibull", correction="none")
    for group in range(4):
        t = lives.take([group]).durations
        gap = log_pdf("lognormal", t, fits["lognormal"].parameter_array[group]) - log_pdf(
            "weibull", t, fits["weibull"].parameter_array[group]
        )
        z = gap.sum() / (np.sqrt(60) * gap.std())
        assert found["z"].iloc[group] == pytest.approx(z, rel=1e-9)
        assert found["p"].iloc[group] == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-9)
        assert found["favours"].iloc[group] == ("lognormal" if z > 0 else "weibull")
    plain = fits.vuong("weibull", "exponential", correction="none")
    priced = fits.vuong("weibull", "exponential", correction="bic")
    assert (priced["z"] < plain["z"]).all()  # the Weibull pays for its second parameter


def test_vuong_favours_the_family_that_made_the_lives():
    right = rf.fit(complete("lognormal", 300, 200, 7), ["weibull", "lognormal"]).vuong("lognormal", "weibull")
    assert (right["z"] > 0).mean() > 0.97
    assert ((right["p"] < 0.05) & (right["favours"] == "weibull")).mean() < 0.01
    wrong = rf.fit(complete("weibull", 300, 200, 7), ["weibull", "lognormal"]).vuong("lognormal", "weibull")
    assert (wrong["z"] < 0).mean() > 0.97


def test_vuong_of_weights_is_vuong_of_repeated_rows():
    rng = np.random.default_rng(5)
    life = rng.weibull(0.8, 30) * 100.0
    weights = rng.integers(0, 4, 30)
    fits = rf.fit(rf.LifeData.from_array(life, weights=weights), ["weibull", "lognormal"])
    repeated = rf.fit(np.repeat(life, weights), ["weibull", "lognormal"])
    one, other = fits.vuong("weibull", "lognormal"), repeated.vuong("weibull", "lognormal")
    assert one["z"].iloc[0] == pytest.approx(other["z"].iloc[0], rel=1e-5)
    assert one["lives"].iloc[0] == other["lives"].iloc[0]


@pytest.mark.parametrize("by", ["aicc", "aic", "bic"])
def test_weights_are_shares(by):
    lives = rf.LifeData.from_groups(
        [[5.0, 9.0, 14.0, 80.0, 3.0, 22.0], [7.0, 7.0], [4.0]], [[True] * 6, [False] * 2, [True]]
    )
    fits = rf.fit(lives)
    share = fits.weights(by)
    assert share.iloc[0].sum() == pytest.approx(1.0, rel=1e-12)
    assert share.iloc[1].isna().all()  # nothing failed, so no family has a criterion
    values = np.array([getattr(fits[name], by)[0] for name in fits.families])
    expected = np.exp(-0.5 * (values - values.min()))
    np.testing.assert_allclose(share.iloc[0], expected / expected.sum())
    ranked = fits.ranking(by)
    first = ranked[ranked["group"] == 0]
    assert first["family"].tolist() == [fits.families[i] for i in np.argsort(values, kind="stable")]
    assert first["difference"].iloc[0] == 0.0
    assert first["weight"].tolist() == pytest.approx(sorted(share.iloc[0], reverse=True))


def test_weights_find_the_family():
    share = rf.fit(complete("lognormal", 300, 200, 9)).weights("bic")
    assert (share.idxmax(axis=1) == "lognormal").mean() > 0.97
    assert share["lognormal"].mean() > 0.9


def test_unknown_criteria():
    fits = rf.fit([1.0, 2.0, 5.0])
    with pytest.raises(rf.ArgumentError, match="no criterion"):
        fits.weights("hqic")
    with pytest.raises(rf.ArgumentError, match="no correction"):
        fits.vuong("weibull", "gamma", correction="hqic")


@pytest.mark.parametrize(("method", "name"), [("bh", "fdr_bh"), ("by", "fdr_by"), ("holm", "holm")])
def test_adjusted_p_values_are_those_of_statsmodels(method, name):
    rng = np.random.default_rng(1)
    for size in (1, 2, 50, 1000):
        p = np.where(rng.random(size) < 0.3, rng.random(size) ** 6, rng.random(size))
        p[: size // 10] = 0.02  # ties
        given = np.insert(p, size // 2, np.nan)
        found = adjusted_p(given, method)
        assert np.isnan(found[size // 2])
        np.testing.assert_allclose(np.delete(found, size // 2), multipletests(p, method=name)[1], rtol=1e-12)


def test_p_values_that_are_none():
    with pytest.raises(rf.ArgumentError, match="between 0 and 1"):
        adjusted_p([0.5, 1.5])
    with pytest.raises(rf.ArgumentError, match="is not known"):
        adjusted_p([0.5], "fdr")


def test_the_false_discovery_rate_is_kept():
    """Half of 400 nodes are Weibull of shape 1.6, tested as exponential: of those rejected few are wrong."""
    rng = np.random.default_rng(3)
    false = []
    for _ in range(20):
        life = np.concatenate([rng.exponential(1.0, (200, 40)), rng.weibull(1.6, (200, 40))])
        adjusted = rf.fit(life, "exponential")["exponential"].goodness(("ad",), n_resamples=0).adjusted("ad")
        hit = adjusted < 0.1
        assert hit.sum() > 50
        false.append(hit[:200].sum() / hit.sum())
    assert np.mean(false) < 0.08
