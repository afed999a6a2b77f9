"""Families compared: weights of criteria, and p-values adjusted for many groups."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

import relfit as rf
from relfit.base.numeric.false_discovery import adjusted_p
from relfit.fitting.fits import comparable
from tests.fitting.simulated import complete


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


@pytest.mark.slow
@pytest.mark.parametrize(("method", "name"), [("bh", "fdr_bh"), ("holm", "holm")])
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
        adjusted = adjusted_p(rf.fit(life, "exponential")["exponential"].goodness(("ad",), n_resamples=0).p[:, 0])
        hit = adjusted < 0.1
        assert hit.sum() > 50
        false.append(hit[:200].sum() / hit.sum())
    assert np.mean(false) < 0.08


def test_two_families_that_could_be_fitted_can_be_compared():
    life = np.random.default_rng(1).weibull(0.5, (5, 30)) * 100.0
    life[0, 0] = 0.0  # a density that is infinite at zero, or zero there, has no estimate
    fits = rf.fit(rf.LifeData.from_array(life), ["exponential", "weibull", "lognormal"])
    assert [fits[name].ok[0] for name in fits.families] == [True, False, False]
    assert comparable(fits.results).tolist() == [False, True, True, True, True]
    three = {name: fits[name] for name in ("exponential", "weibull")}
    failed = rf.fit(rf.LifeData.from_array(life), ["weibull3"])["weibull3"]
    assert not failed.ok.all()
    assert comparable({**three, "weibull3": failed}).tolist() == [False, True, True, True, True]


def test_few_failures_compare_the_distributions_that_have_a_criterion():
    """Six failures are enough for one, two and three parameters; the mixtures of more are not among the compared."""
    fits = rf.fit([12.0, 30.0, 47.0, 80.0, 110.0, 190.0], "all")
    enough = [name for name, fit in fits.results.items() if fit.ok[0] and fit.parameter_array.shape[1] <= 4]
    weights = fits.weights().iloc[0]
    assert weights.sum() == pytest.approx(1.0)
    assert set(weights.index[weights > 0.0]) == set(enough) > {"exponential", "weibull", "gamma", "lognormal"}
    for by in ("aicc", "aic", "bic", "loglik", "ks_p_textbook"):
        assert fits.best(by).iloc[0] in enough
    assert fits.best().iloc[0] == min(enough, key=lambda name: fits[name].aicc[0])
    table = fits.compare()
    assert table["compared"].tolist() == [1] * len(fits.families)
    assert (table["best_by_p"].sum(), table["best_by_aicc"].sum()) == (1, 1)
    assert "too few" not in fits.headline


def test_three_failures_compare_nothing():
    fits = rf.fit([12.0, 30.0, 47.0], "all")
    assert fits.best().isna().all()
    assert fits.weights().isna().all(axis=None)
    assert rf.fit([12.0, 30.0, 47.0], "exponential").headline.startswith("1 distribution (exponential) of 1 group")


def test_one_test_may_be_a_text():
    fit = rf.fit([12.0, 30.0, 47.0, 80.0], "exponential")["exponential"]
    assert fit.goodness("ks").p.tolist() == fit.goodness(("ks",)).p.tolist()
    with pytest.raises(rf.ArgumentError, match="no test 'kss'; use one or more of"):
        fit.goodness("kss")
