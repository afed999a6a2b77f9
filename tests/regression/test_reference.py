"""Coefficients, standard errors and tests against lifelines called directly, and against numerical derivatives."""

from __future__ import annotations

import warnings
from typing import Any

import lifelines
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import relfit as rf
from relfit.analyses.regression.models import regression
from relfit.analyses.regression.scores import aft_scores, cox_scores, schoenfeld_residuals

FITTERS = {
    "cox": lifelines.CoxPHFitter,
    "weibull": lifelines.WeibullAFTFitter,
    "lognormal": lifelines.LogNormalAFTFitter,
}


def table(n: int = 300, *, ties: bool = False, seed: int = 0) -> pd.DataFrame:
    """Lives of nodes, four each, longer in rack b and shorter with load, a third of them censored."""
    rng = np.random.default_rng(seed)
    node = np.arange(n) // 4
    rack = np.array(["a", "b", "c"])[node % 3]
    load = rng.normal(size=n)
    frailty = np.exp(0.3 * rng.normal(size=n))[node]
    life = 1000.0 * rng.weibull(1.4, n) * np.exp(0.5 * (rack == "b") - 0.3 * load) * frailty
    limit = rng.exponential(2500.0, n)
    hours = np.minimum(life, limit)
    if ties:
        hours = np.ceil(hours / 200.0) * 200.0
    return pd.DataFrame({"hours": hours, "observed": life <= limit, "rack": rack, "load": load, "node": node})


def directly(model: str, frame: pd.DataFrame, formula: str, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FITTERS[model]().fit(frame, "hours", "observed", formula=formula, **options)


def coefficients(model: str, fitter: Any, names: list[str], what: str = "params_") -> np.ndarray:
    values = getattr(fitter, what)
    if model != "cox":
        values = values["lambda_" if model == "weibull" else "mu_"]
    return values[names].to_numpy()


@pytest.mark.parametrize("model", FITTERS)
@pytest.mark.parametrize("formula", ["rack + load", "C(rack) * load", "load + np.square(load)"])
@pytest.mark.slow
def test_coefficients_are_those_of_lifelines(model: str, formula: str) -> None:
    frame = table()
    found = regression(frame, f"hours ~ {formula}", model)
    theirs = directly(model, frame, formula)
    names = list(found.table.index)
    assert np.allclose(found.table["coefficient"], coefficients(model, theirs, names), rtol=1e-8, atol=1e-10)
    assert np.allclose(found.table["standard_error"], coefficients(model, theirs, names, "standard_errors_"), rtol=1e-6)
    assert found.loglik == pytest.approx(theirs.log_likelihood_, rel=1e-10)
    test = theirs.log_likelihood_ratio_test()
    assert found.likelihood_ratio.statistic == pytest.approx(test.test_statistic, rel=1e-6)
    assert found.likelihood_ratio.p == pytest.approx(test.p_value, rel=1e-4)
    assert found.converged
    aic = theirs.AIC_partial_ if model == "cox" else theirs.AIC_
    assert found.aic == pytest.approx(aic, rel=1e-10)


def test_cox_robust_standard_errors_are_those_of_lifelines_without_ties() -> None:
    frame = table()
    found = regression(frame, "hours ~ rack + load", cluster=["node"])
    theirs = directly("cox", frame, "rack + load", cluster_col="node")
    few = np.sqrt(75 / 74)  # which lifelines leaves out
    assert np.allclose(found.table["standard_error"], few * theirs.standard_errors_[found.table.index], rtol=1e-8)
    assert found.n_clusters == 75


@pytest.mark.slow
@pytest.mark.parametrize("model", ["weibull", pytest.param("lognormal", marks=pytest.mark.verify)])
def test_aft_robust_standard_errors_are_those_of_lifelines_with_a_cluster_a_row(model: str) -> None:
    frame = table().assign(row=range(300))
    found = regression(frame, "hours ~ rack + load", model, cluster=["row"])
    theirs = directly(model, frame, "rack + load", robust=True)
    names = list(found.table.index)
    few = np.sqrt(300 / 299)
    errors = coefficients(model, theirs, names, "standard_errors_")
    assert np.allclose(found.table["standard_error"], few * errors, rtol=1e-4)


@pytest.mark.parametrize("model", FITTERS)
@pytest.mark.slow
def test_doubling_the_lives_of_each_node_leaves_robust_errors_alone(model: str) -> None:
    frame = table()
    once = regression(frame, "hours ~ rack + load", model, cluster=["node"]).table["standard_error"]
    twice = regression(pd.concat([frame, frame]), "hours ~ rack + load", model, cluster=["node"]).table[
        "standard_error"
    ]
    independent = regression(pd.concat([frame, frame]), "hours ~ rack + load", model).table["standard_error"]
    assert np.allclose(once, twice, rtol=0.01)
    assert (twice > 1.2 * independent).all()


@pytest.mark.parametrize("ties", [False, True])
def test_cox_scores_are_the_gradient_with_efrons_ties(ties: bool) -> None:
    frame = table(80, ties=ties)
    x = np.column_stack([frame["load"], frame["rack"] == "b"]).astype(float)
    beta = np.array([0.4, -0.7])
    t, seen = frame["hours"].to_numpy(), frame["observed"].to_numpy()

    def loglik(b: np.ndarray) -> float:
        total = 0.0
        risk = np.exp(x @ b)
        for time in np.unique(t[seen]):
            tied = seen & (t == time)
            total += (x[tied] @ b).sum()
            for i in range(tied.sum()):
                total -= np.log(risk[t >= time].sum() - i / tied.sum() * risk[tied].sum())
        return total

    step = 1e-5
    numeric = [(loglik(beta + step * e) - loglik(beta - step * e)) / (2 * step) for e in np.eye(2)]
    assert np.allclose(cox_scores(t, seen, x, beta).sum(axis=0), numeric, rtol=1e-6)


@pytest.mark.parametrize("family", ["weibull", "lognormal"])
def test_aft_scores_are_the_gradient(family: str) -> None:
    frame = table(60)
    x = np.column_stack([frame["load"], np.ones(60)])
    t, seen = frame["hours"].to_numpy(), frame["observed"].to_numpy()

    def each(theta: np.ndarray) -> np.ndarray:
        scale, extra = np.exp(x @ theta[:-1]), np.exp(theta[-1])
        distribution = (
            stats.weibull_min(extra, scale=scale) if family == "weibull" else stats.lognorm(extra, scale=scale)
        )
        return np.where(seen, distribution.logpdf(t), distribution.logsf(t))

    theta = np.array([0.2, 6.5, 0.3])
    step = 1e-6
    numeric = np.column_stack([(each(theta + step * e) - each(theta - step * e)) / (2 * step) for e in np.eye(3)])
    ours = aft_scores(family, t, seen, x, theta[:-1], theta[-1])
    assert np.allclose(ours, numeric, rtol=1e-5, atol=1e-7)


def late(frame: pd.DataFrame, seed: int = 3) -> pd.DataFrame:
    """The rows of a table that reached the age at which observation of them began, a third of them from age 0."""
    ages = np.random.default_rng(seed).uniform(-400.0, 800.0, len(frame)).clip(min=0.0).round()
    return frame.assign(entry=ages)[ages < frame["hours"]].reset_index(drop=True)


@pytest.mark.parametrize("model", FITTERS)
@pytest.mark.parametrize("ties", [False, True])
def test_lives_that_entered_late_are_those_of_lifelines_with_an_entry(model: str, ties: bool) -> None:
    frame = late(table(ties=ties))
    got = regression(frame, "hours ~ rack + load", model, entry="entry", cluster=["node"])
    theirs = directly(model, frame, "rack + load", entry_col="entry")
    names = list(got.table.index)
    assert np.allclose(got.table["coefficient"], coefficients(model, theirs, names), rtol=1e-6)
    assert got.converged
    assert got.loglik == pytest.approx(theirs.log_likelihood_, rel=1e-9)
    assert got.likelihood_ratio.statistic == pytest.approx(theirs.log_likelihood_ratio_test().test_statistic, rel=1e-6)
    from_birth = regression(frame, "hours ~ rack + load", model, cluster=["node"])
    assert not np.allclose(got.table["coefficient"], from_birth.table["coefficient"], rtol=1e-3)
    assert not got.table["standard_error"].isna().any()


@pytest.mark.parametrize("ties", [False, True])
def test_scores_of_lives_that_entered_late_are_the_gradient(ties: bool) -> None:
    frame = late(table(80, ties=ties))
    x = np.column_stack([frame["load"], frame["rack"] == "b"]).astype(float)
    beta = np.array([0.4, -0.7])
    t, seen, entry = (frame[name].to_numpy() for name in ("hours", "observed", "entry"))
    risk = np.exp(x @ beta)
    expected, residuals = np.zeros(2), np.zeros((len(frame), 2))
    for time in np.unique(t[seen]):
        tied, there = seen & (t == time), (t >= time) & (entry < time)
        shares = np.arange(tied.sum()) / tied.sum()
        means = [
            (risk[there] @ x[there] - share * (risk[tied] @ x[tied])) / (risk[there].sum() - share * risk[tied].sum())
            for share in shares
        ]
        expected += x[tied].sum(axis=0) - np.sum(means, axis=0)
        residuals[tied] = x[tied] - np.mean(means, axis=0)
    assert np.allclose(cox_scores(t, seen, x, beta, entry).sum(axis=0), expected)
    assert np.allclose(schoenfeld_residuals(t, seen, x, beta, entry), residuals)


def test_the_test_of_proportional_hazards_is_that_of_lifelines_where_it_has_one() -> None:
    """With entries of almost zero: lifelines has no residuals of lives that entered late."""
    frame = table()
    theirs = regression(frame, "hours ~ rack + load").proportional
    ours = regression(frame.assign(entry=1e-9), "hours ~ rack + load", entry="entry").proportional
    assert theirs is not None
    assert ours is not None
    assert np.allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("entry", [None, "entry"])
def test_strata_are_those_of_lifelines(ties: bool, entry: str | None) -> None:
    """Sites whose hazards differ by a factor that confounds the load."""
    frame = table(ties=ties).assign(site=np.array(["x", "y", "z"])[np.arange(300) // 4 % 5 % 3])
    frame["load"] += 2.0 * (frame["site"] == "y")
    frame = late(frame) if entry else frame
    got = regression(frame, "hours ~ rack + load", entry=entry, strata="site", cluster=["node"])
    theirs = directly("cox", frame, "rack + load", strata="site", entry_col=entry)
    names = list(got.table.index)
    assert got.converged
    assert np.allclose(got.table["coefficient"], theirs.params_[names], rtol=1e-6)
    assert got.loglik == pytest.approx(theirs.log_likelihood_, rel=1e-9)
    assert got.likelihood_ratio.statistic == pytest.approx(theirs.log_likelihood_ratio_test().test_statistic, rel=1e-6)
    independent = regression(frame, "hours ~ rack + load", entry=entry, strata="site")
    assert np.allclose(independent.table["standard_error"], theirs.standard_errors_[names], rtol=1e-6)
    assert not np.allclose(got.table["coefficient"], regression(frame, "hours ~ rack + load").table["coefficient"])
    assert got.headline.startswith("hours ~ rack + load (cox, stratified by site): ")
    assert got.to_dict()["strata"] == "site"
    if not (ties or entry):  # else lifelines ignores ties, or has no residuals
        robust = directly("cox", frame, "rack + load", strata="site", cluster_col="node").standard_errors_[names]
        assert np.allclose(got.table["standard_error"], np.sqrt(75 / 74) * robust, rtol=1e-6)
        residuals = theirs.compute_residuals(frame, "scaled_schoenfeld")
        ranks = frame.loc[residuals.index, "hours"].rank()
        ranks -= ranks.mean()
        squares = (residuals[names].mul(ranks, axis=0).sum()) ** 2
        statistic = squares / (len(ranks) * theirs.standard_errors_[names] ** 2 * (ranks**2).sum())
        assert got.proportional is not None
        assert np.allclose(got.proportional["statistic"], statistic, rtol=1e-5)


def test_strata_that_are_no_strata() -> None:
    frame = table().assign(site="x")
    frame.loc[::2, "site"] = "y"
    frame.loc[:3, "site"] = None
    frame["of_site"] = frame["site"].map({"x": 1.0, "y": 2.0}).fillna(0.0)
    assert regression(frame, "hours ~ load", strata="site").dropped == {"no value of 'site' to stratify by": 4}
    for formula, model, strata, text in (
        ("hours ~ load", "weibull", "site", "strata are not for the weibull model"),
        ("hours ~ load", "cox", "sight", "no column 'sight' for strata.*did you mean 'site'"),
        ("hours ~ site", "cox", "site", "'site' is in the formula and in the strata"),
        ("hours ~ load + of_site", "cox", "site", "'of_site' is the same everywhere within each site"),
    ):
        with pytest.raises(rf.ArgumentError, match=text):
            regression(frame, formula, model, strata=strata)
