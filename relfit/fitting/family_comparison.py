"""Distributions compared over all groups: counts, spread of parameters, weights of criteria, rankings.

`relfit.fitting.Fits` documents each of these functions under its name.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from relfit.base.arrays import BoolArray, FloatArray
from relfit.base.errors import ArgumentError
from relfit.base.results import key_columns
from relfit.fitting.estimates import FamilyEstimates

_AS_GOOD_AICC = 2.0


def comparable(results: Mapping[str, FamilyEstimates]) -> BoolArray:
    """Groups that can distinguish distributions, shape (groups,).

    At least two distributions could be fitted, and there are two failures more than any has parameters: below that the
    small-sample term of AICc leaves only the one with the fewest, which is no evidence for it.
    """
    every = list(results.values())
    most = max(result.parameter_array.shape[1] for result in every)
    fitted = np.stack([result.ok for result in every]).sum(axis=0)
    return np.asarray((every[0].lives.n_failures > most + 1) & (fitted >= min(2, len(every))))


def _criteria(results: Mapping[str, FamilyEstimates], by: str) -> FloatArray:
    """Values of a criterion that is better the lower it is, shape (groups, families); NaN where nothing is compared."""
    if by not in ("aicc", "aic", "bic"):
        raise ArgumentError(f"no criterion {by!r}", remedy="use aicc, aic or bic")
    values = np.stack([np.asarray(getattr(result, by)) for result in results.values()], axis=1)
    return np.where(comparable(results)[:, None], values, np.nan)


def compare(results: Mapping[str, FamilyEstimates], distance: FloatArray, p: FloatArray, alpha: float) -> pd.DataFrame:
    """Counts by family, from K-S distances and their textbook p-values, shape (families, groups)."""
    if not 0.0 <= alpha < 1.0:
        raise ArgumentError(f"alpha {alpha} is not between 0 and 1")
    aicc = _criteria(results, "aicc").T
    compared = comparable(results)
    has_p, has_aicc = np.isfinite(p) & compared, np.isfinite(aicc)
    # the highest p-value is that of the smallest distance, which neither vanishes nor ties as p-values do
    nearest = np.min(np.where(has_p, distance, np.inf), axis=0, initial=np.inf)
    lowest = np.min(np.where(has_aicc, aicc, np.inf), axis=0, initial=np.inf)
    best_p = has_p & (distance == nearest)
    with np.errstate(invalid="ignore"):
        good_p = has_p & (best_p | (p > alpha))
        good_aicc = has_aicc & (aicc - lowest <= _AS_GOOD_AICC)
    count, tested = int(compared.sum()), int(has_p.any(axis=0).sum())
    fitted = np.stack([result.ok for result in results.values()])
    counts = {
        "fitted": fitted.sum(axis=1),
        "compared": np.full(len(results), count),
        "best_by_p": best_p.sum(axis=1),
        "as_good_by_p": good_p.sum(axis=1),
        "as_good_by_p_percent": 100.0 * good_p.sum(axis=1) / (tested or np.nan),
        "best_by_aicc": (has_aicc & (aicc == lowest)).sum(axis=1),
        "as_good_by_aicc": good_aicc.sum(axis=1),
        "as_good_by_aicc_percent": 100.0 * good_aicc.sum(axis=1) / max(count, 1),
        "alone": (fitted & (fitted.sum(axis=0) == 1)).sum(axis=1),
    }
    return pd.DataFrame(counts, index=pd.Index(list(results), name="family"))


def describe(fit: FamilyEstimates) -> pd.DataFrame:
    """Minimum, maximum, mean, median and standard deviation over the fitted groups, and their number."""
    frame = pd.DataFrame({**fit.parameters, "mean_hours": fit.mean})[fit.ok]
    table = frame.agg(["min", "max", "mean", "median", "std", "count"]).astype(float)
    return table.set_axis(["minimum", "maximum", "mean", "median", "standard_deviation", "groups"])


def weights(results: Mapping[str, FamilyEstimates], groups: pd.Index, by: str = "aicc") -> pd.DataFrame:
    """Weight of each family in each group."""
    values = _criteria(results, by)
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
    values = _criteria(results, by)
    order = np.argsort(np.where(np.isfinite(values), values, np.inf), axis=1, kind="stable")
    rows = np.arange(len(groups))[:, None]
    ranked = values[rows, order]
    ranks = np.isfinite(ranked)
    with np.errstate(invalid="ignore"):
        away = np.where(ranks, ranked - np.where(ranks, ranked, np.inf).min(axis=1, keepdims=True), np.nan)
    status = np.stack([result.status for result in results.values()], axis=1)[rows, order]
    table = key_columns(groups).iloc[np.repeat(np.arange(len(groups)), count)].reset_index(drop=True)
    rank = pd.Series(np.tile(np.arange(1, count + 1), len(groups)))
    return table.assign(
        rank=rank.where(ranks.ravel()).astype("Int64"),
        family=np.array(list(results), dtype=object)[order].ravel(),
        **{by: ranked.ravel()},
        difference=away.ravel(),
        weight=share[rows, order].ravel(),
        status=status.ravel(),
    )
