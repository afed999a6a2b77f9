"""Families compared: counts, weights of criteria, likelihood-ratio tests where nested, Vuong's where not.

`relfit.fitting.Fits` documents each of these functions under its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special, stats

from relfit.errors import ArgumentError
from relfit.fitting.bootstrap import replicate
from relfit.fitting.estimates import Estimates, FamilyEstimates
from relfit.fitting.likelihood import LogLikelihood
from relfit.lifedata import LifeData
from relfit.numeric.false_discovery import adjusted_p
from relfit.results import key_columns

__all__ = ["NESTED", "comparison", "describe", "likelihood_ratio", "ranking", "vuong", "weights"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_AS_GOOD_AICC = 2.0

# (special case, general family): whether the special case lies on the border of the general one
NESTED: dict[tuple[str, str], bool] = {
    ("exponential", "weibull"): False,
    ("exponential", "gamma"): False,
    ("exponential", "generalised_gamma"): False,
    ("weibull", "generalised_gamma"): False,
    ("gamma", "generalised_gamma"): False,
    ("lognormal", "generalised_gamma"): False,
    ("weibull", "limited_failure"): True,
    ("exponential", "gompertz"): True,
}


def _criteria(results: Sequence[FamilyEstimates], by: str) -> FloatArray:
    """Values of a criterion that is better the lower it is, shape (groups, families)."""
    if by not in ("aicc", "aic", "bic"):
        raise ArgumentError(f"no criterion {by!r}", remedy="use aicc, aic or bic")
    return np.stack([np.asarray(getattr(result, by)) for result in results], axis=1)


def comparison(
    results: Mapping[str, FamilyEstimates], distance: FloatArray, p: FloatArray, alpha: float
) -> pd.DataFrame:
    """Counts by family, from K-S distances and their textbook p-values, shape (families, groups)."""
    if not 0.0 <= alpha < 1.0:
        raise ArgumentError(f"alpha {alpha} is not between 0 and 1")
    aicc = _criteria(list(results.values()), "aicc").T
    has_p, has_aicc = np.isfinite(p), np.isfinite(aicc)
    # the highest p-value is that of the smallest distance, which neither vanishes nor ties as p-values do
    nearest = np.min(np.where(has_p, distance, np.inf), axis=0, initial=np.inf)
    lowest = np.min(np.where(has_aicc, aicc, np.inf), axis=0, initial=np.inf)
    best_p = has_p & (distance == nearest)
    with np.errstate(invalid="ignore"):
        good_p = has_p & (best_p | (p > alpha))
        good_aicc = has_aicc & (aicc - lowest <= _AS_GOOD_AICC)
    by_p, by_aicc = int(has_p.any(axis=0).sum()), int(has_aicc.any(axis=0).sum())
    counts = {
        "fitted": np.stack([result.ok for result in results.values()]).sum(axis=1),
        "best_by_p": best_p.sum(axis=1),
        "as_good_by_p": good_p.sum(axis=1),
        "as_good_by_p_percent": 100.0 * good_p.sum(axis=1) / max(by_p, 1),
        "best_by_aicc": (has_aicc & (aicc == lowest)).sum(axis=1),
        "as_good_by_aicc": good_aicc.sum(axis=1),
        "as_good_by_aicc_percent": 100.0 * good_aicc.sum(axis=1) / max(by_aicc, 1),
    }
    return pd.DataFrame(counts, index=pd.Index(list(results), name="family"))


def describe(fit: FamilyEstimates) -> pd.DataFrame:
    """Minimum, maximum, mean, median and standard deviation over the fitted groups, and their number."""
    frame = pd.DataFrame({**fit.parameters, "mean_hours": fit.mean})[fit.ok]
    table = frame.agg(["min", "max", "mean", "median", "std", "count"]).astype(float)
    return table.set_axis(["minimum", "maximum", "mean", "median", "standard_deviation", "groups"])


def weights(results: Mapping[str, FamilyEstimates], groups: pd.Index, by: str = "aicc") -> pd.DataFrame:
    """Weight of each family in each group."""
    values = _criteria(list(results.values()), by)
    usable = np.isfinite(values)
    lowest = np.min(np.where(usable, values, np.inf), axis=1, initial=np.inf, keepdims=True)
    with np.errstate(invalid="ignore"):
        raw = np.where(usable, np.exp(-0.5 * (values - lowest)), 0.0)
    total = raw.sum(axis=1, keepdims=True)
    share = np.divide(raw, total, out=np.full(raw.shape, np.nan), where=total > 0)
    return pd.DataFrame(share, index=groups, columns=pd.Index(list(results), name="family"))


def ranking(results: Mapping[str, FamilyEstimates], groups: pd.Index, by: str = "aicc") -> pd.DataFrame:
    """Families of each group from best to worst."""
    count = len(results)
    share = weights(results, groups, by).to_numpy()
    values = _criteria(list(results.values()), by)
    order = np.argsort(np.where(np.isfinite(values), values, np.inf), axis=1, kind="stable")
    rows = np.arange(len(groups))[:, None]
    ranked = values[rows, order]
    known = np.isfinite(ranked)
    with np.errstate(invalid="ignore"):
        away = np.where(known, ranked - np.where(known, ranked, np.inf).min(axis=1, keepdims=True), np.nan)
    status = np.stack([result.status for result in results.values()], axis=1)[rows, order]
    table = key_columns(groups).iloc[np.repeat(np.arange(len(groups)), count)].reset_index(drop=True)
    rank = pd.Series(np.tile(np.arange(1, count + 1), len(groups)))
    return table.assign(
        rank=rank.where(known.ravel()).astype("Int64"),
        family=np.array(list(results), dtype=object)[order].ravel(),
        **{by: ranked.ravel()},
        difference=away.ravel(),
        weight=share[rows, order].ravel(),
        status=status.ravel(),
    )


def likelihood_ratio(
    special_fit: FamilyEstimates,
    general_fit: FamilyEstimates,
    n_resamples: int = 0,
    rng: int | np.random.Generator | None = 0,
) -> pd.DataFrame:
    """Likelihood-ratio test of a family against one that contains it."""
    pair = (special_fit.name, general_fit.name)
    if pair not in NESTED and not n_resamples:
        known = ", ".join(f"{a} in {b}" for a, b in NESTED)
        raise ArgumentError(
            f"{pair[0]} is not a regular special case of {pair[1]}",
            remedy=f"use vuong, or n_resamples=999; the chi-square law holds for {known}",
        )
    both = special_fit.ok & general_fit.ok
    degrees = general_fit.parameter_array.shape[1] - special_fit.parameter_array.shape[1]
    statistic = np.where(both, np.maximum(2.0 * (general_fit.loglik - special_fit.loglik), 0.0), np.nan)
    count = np.zeros(statistic.size, dtype=np.int64)
    if n_resamples:
        exceeded = np.zeros(statistic.size)

        def look(part: npt.NDArray[np.int64], drawn: LifeData, found: Estimates) -> None:
            other = general_fit.estimator(general_fit.family, drawn, None)
            value = np.maximum(2.0 * (other.loglik - found.loglik), 0.0).reshape(part.size, n_resamples)
            usable = np.isfinite(value)
            count[part] = usable.sum(axis=1)
            exceeded[part] = (usable & (value >= statistic[part][:, None] - 1e-9)).sum(axis=1)

        replicate(
            special_fit.family, special_fit.parameter_array, both, special_fit.lives, n_resamples, rng,
            look=look, estimator=special_fit.estimator,
        )  # fmt: skip
        p = np.where(both & (count > 0), (exceeded + 1.0) / (count + 1.0), np.nan)
        source = "bootstrap"
    elif NESTED[pair]:
        # half of the null distribution sits at zero (Self and Liang 1987)
        p = np.where(statistic > 0.0, 0.5 * special.chdtrc(degrees, np.maximum(statistic, 0.0)), 1.0)
        p, source = np.where(both, p, np.nan), "half chi-square"
    else:
        p = np.where(both, special.chdtrc(degrees, np.where(both, statistic, 0.0)), np.nan)
        source = "chi-square"
    return pd.DataFrame(
        {
            "statistic": statistic,
            "degrees": degrees,
            "p": p,
            "p_adjusted": adjusted_p(p),
            "source": np.where(both, source, "not fitted"),
            "n_resamples": count,
        },
        index=special_fit.groups,
    )


def vuong(first: FamilyEstimates, second: FamilyEstimates, correction: str = "bic") -> pd.DataFrame:
    """Vuong's test between families that are not nested."""
    if correction not in ("none", "aic", "bic"):
        raise ArgumentError(f"no correction {correction!r}", remedy="use none, aic or bic")
    lives = first.lives
    both = first.ok & second.ok
    weight = np.ones(lives.durations.size) if lives.weights is None else lives.weights.astype(np.float64)
    codes = lives.group_codes()
    with np.errstate(all="ignore"):
        each = replace(lives, weights=None)
        values = [LogLikelihood(fit.family, each).by_row(fit.parameter_array) for fit in (first, second)]
        gap = values[0] - values[1]
        gap = np.where(both[codes] & (weight > 0), gap, 0.0)
        n = np.bincount(codes, weight, lives.n_groups)
        total = np.bincount(codes, weight * gap, lives.n_groups)
        spread = np.sqrt(np.bincount(codes, weight * (gap - (total / n)[codes]) ** 2, lives.n_groups) / n)
        more = first.parameter_array.shape[1] - second.parameter_array.shape[1]
        price = {"none": 0.0, "aic": 1.0, "bic": 0.5 * np.log(np.maximum(lives.n_failures, 1))}[correction]
        z = (total - more * price) / (np.sqrt(n) * spread)
    z = np.where(both & np.isfinite(z), z, np.nan)
    p = 2.0 * stats.norm.sf(np.abs(z))
    better = np.where(z > 0, first.name, second.name).astype(object)
    better[np.isnan(z)] = None
    return pd.DataFrame(
        {"z": z, "p": p, "p_adjusted": adjusted_p(p), "favours": better, "lives": n.astype(np.int64)},
        index=first.groups,
    )
