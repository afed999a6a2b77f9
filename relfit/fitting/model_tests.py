"""Families compared in every group: weights of criteria, likelihood-ratio tests where nested, Vuong's where not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special, stats

from relfit.errors import ArgumentError
from relfit.families import Family
from relfit.fitting.bootstrap import replicate
from relfit.fitting.likelihood import log_interval
from relfit.fitting.plain import Estimates
from relfit.lifedata import LifeData
from relfit.lifedata import key_columns as _key_columns
from relfit.numeric.false_discovery import adjusted_p

if TYPE_CHECKING:
    from relfit.fitting.family_fit import FamilyFit
    from relfit.fitting.results import Fits

__all__ = ["NESTED", "life_loglik", "likelihood_ratio", "ranking", "vuong", "weights"]

FloatArray = npt.NDArray[np.float64]

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


def weights(fits: Fits, by: str = "aicc") -> pd.DataFrame:
    """Weight of each family in each group; `Fits.weights` documents it."""
    if by not in ("aicc", "aic", "bic"):
        raise ArgumentError(f"no weights by {by!r}", remedy="use aicc, aic or bic")
    values = np.stack([np.asarray(getattr(result, by)) for result in fits.results.values()], axis=1)
    usable = np.isfinite(values)
    lowest = np.min(np.where(usable, values, np.inf), axis=1, initial=np.inf, keepdims=True)
    with np.errstate(invalid="ignore"):
        raw = np.where(usable, np.exp(-0.5 * (values - lowest)), 0.0)
    total = raw.sum(axis=1, keepdims=True)
    share = np.divide(raw, total, out=np.full(raw.shape, np.nan), where=total > 0)
    return pd.DataFrame(share, index=fits.groups, columns=pd.Index(fits.families, name="family"))


def ranking(fits: Fits, by: str = "aicc") -> pd.DataFrame:
    """Families of each group from best to worst; `Fits.ranking` documents it."""
    share = weights(fits, by).to_numpy()
    values = np.stack([np.asarray(getattr(result, by)) for result in fits.results.values()], axis=1)
    order = np.argsort(np.where(np.isfinite(values), values, np.inf), axis=1, kind="stable")
    rows = np.arange(len(fits.groups))[:, None]
    ranked = values[rows, order]
    status = np.stack([result.status for result in fits.results.values()], axis=1)[rows, order]
    known = np.isfinite(ranked)
    count = len(fits.families)
    frame = _key_columns(fits.groups).iloc[np.repeat(np.arange(len(fits.groups)), count)].reset_index(drop=True)
    frame["rank"] = np.tile(np.arange(1, count + 1), len(fits.groups))
    frame["rank"] = frame["rank"].where(known.ravel()).astype("Int64")
    frame["family"] = np.array(fits.families, dtype=object)[order].ravel()
    frame[by] = ranked.ravel()
    with np.errstate(invalid="ignore"):
        away = ranked - np.where(known, ranked, np.inf).min(axis=1, keepdims=True)
    frame["difference"] = np.where(known, away, np.nan).ravel()
    frame["weight"] = share[rows, order].ravel()
    frame["status"] = status.ravel()
    return frame


def likelihood_ratio(
    special_fit: FamilyFit,
    general_fit: FamilyFit,
    bootstrap: int = 0,
    rng: int | np.random.Generator | None = 0,
) -> pd.DataFrame:
    """Likelihood-ratio test of a family against one that contains it; `Fits.likelihood_ratio` documents it."""
    pair = (special_fit.name, general_fit.name)
    if pair not in NESTED and not bootstrap:
        known = ", ".join(f"{a} in {b}" for a, b in NESTED)
        raise ArgumentError(
            f"{pair[0]} is not a regular special case of {pair[1]}",
            remedy=f"use vuong, or bootstrap=999; the chi-square law holds for {known}",
        )
    both = special_fit.ok & general_fit.ok
    degrees = general_fit.parameter_array.shape[1] - special_fit.parameter_array.shape[1]
    statistic = np.where(both, np.maximum(2.0 * (general_fit.loglik - special_fit.loglik), 0.0), np.nan)
    replications = np.zeros(statistic.size, dtype=np.int64)
    if bootstrap:
        exceeded = np.zeros(statistic.size)

        def look(part: npt.NDArray[np.int64], drawn: LifeData, found: Estimates) -> None:
            other = general_fit.estimator(general_fit.family, drawn, None)
            value = np.maximum(2.0 * (other.loglik - found.loglik), 0.0).reshape(part.size, bootstrap)
            usable = np.isfinite(value)
            replications[part] = usable.sum(axis=1)
            exceeded[part] = (usable & (value >= statistic[part][:, None] - 1e-9)).sum(axis=1)

        replicate(
            special_fit.family, special_fit.parameter_array, both, special_fit.lives, bootstrap, rng,
            look=look, estimator=special_fit.estimator,
        )  # fmt: skip
        p = np.where(both & (replications > 0), (exceeded + 1.0) / (replications + 1.0), np.nan)
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
            "replications": replications,
        },
        index=special_fit.groups,
    )


def life_loglik(family: type[Family], parameters: FloatArray, lives: LifeData) -> FloatArray:
    """What each life adds to the log-likelihood, without its weight, shape (n,)."""
    rows = parameters[lives.group_codes()]
    distribution = family.unchecked(*(rows[:, i] for i in range(rows.shape[1])))
    ends = lives.ends
    with np.errstate(all="ignore"):
        value = np.where(lives.observed, distribution.log_pdf(lives.durations), distribution.log_sf(lives.durations))
        between = ~lives.observed & np.isfinite(ends)
        if between.any():
            inside = log_interval(distribution, lives.durations, np.where(between, ends, 1.0))
            value = np.where(between, np.where(lives.durations > 0.0, inside, distribution.log_cdf(ends)), value)
        if lives.entry is not None or lives.exit is not None:
            entry = np.zeros(value.size) if lives.entry is None else lives.entry
            leave = np.full(value.size, np.inf) if lives.exit is None else lives.exit
            late, cut = entry > 0.0, np.isfinite(leave)
            value = value - np.where(late & ~cut, distribution.log_sf(entry), 0.0)
            value = value - np.where(~late & cut, distribution.log_cdf(np.where(cut, leave, 1.0)), 0.0)
            value = value - np.where(late & cut, log_interval(distribution, entry, np.where(cut, leave, 1.0)), 0.0)
    return np.asarray(value)


def vuong(first: FamilyFit, second: FamilyFit, correction: str = "bic") -> pd.DataFrame:
    """Vuong's test between families that are not nested; `Fits.vuong` documents it."""
    if correction not in ("none", "aic", "bic"):
        raise ArgumentError(f"no correction {correction!r}", remedy="use none, aic or bic")
    lives = first.lives
    both = first.ok & second.ok
    weight = np.ones(lives.durations.size) if lives.weights is None else lives.weights.astype(np.float64)
    codes = lives.group_codes()
    with np.errstate(all="ignore"):
        gap = life_loglik(first.family, first.parameter_array, lives) - life_loglik(
            second.family, second.parameter_array, lives
        )
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
