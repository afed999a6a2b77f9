"""Tables over all groups: which family fits best (Table 3.2) and how the parameters spread (Table 3.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError

if TYPE_CHECKING:
    from relfit.fitting.results import FamilyFit

__all__ = ["comparison", "describe"]

_AS_GOOD_AICC = 2.0


def comparison(results: Mapping[str, FamilyFit], alpha: float) -> pd.DataFrame:
    """Counts by family; `relfit.fitting.Fits.compare` documents the columns."""
    if not 0.0 <= alpha < 1.0:
        raise ArgumentError(f"alpha {alpha} is not between 0 and 1")
    p = np.stack([result.ks_p_textbook for result in results.values()])
    aicc = np.stack([result.aicc for result in results.values()])
    has_p = np.isfinite(p)
    has_aicc = np.isfinite(aicc)
    # the highest p-value is that of the smallest distance, which neither vanishes nor ties as p-values do
    distance = np.stack([result.ks for result in results.values()])
    nearest = np.min(np.where(has_p, distance, np.inf), axis=0, initial=np.inf)
    lowest = np.min(np.where(has_aicc, aicc, np.inf), axis=0, initial=np.inf)
    best_p = has_p & (distance == nearest)
    good_p = has_p & (best_p | (p > alpha))
    best_aicc = has_aicc & (aicc == lowest)
    with np.errstate(invalid="ignore"):
        good_aicc = has_aicc & (aicc - lowest <= _AS_GOOD_AICC)
    by_p, by_aicc = int(has_p.any(axis=0).sum()), int(has_aicc.any(axis=0).sum())
    return pd.DataFrame(
        {
            "fitted": np.stack([result.ok for result in results.values()]).sum(axis=1),
            "best_by_p": best_p.sum(axis=1),
            "as_good_by_p": good_p.sum(axis=1),
            "as_good_by_p_percent": 100.0 * good_p.sum(axis=1) / max(by_p, 1),
            "best_by_aicc": best_aicc.sum(axis=1),
            "as_good_by_aicc": good_aicc.sum(axis=1),
            "as_good_by_aicc_percent": 100.0 * good_aicc.sum(axis=1) / max(by_aicc, 1),
        },
        index=pd.Index(list(results), name="family"),
    )


def describe(
    parameters: Mapping[str, npt.NDArray[np.float64]],
    mean: npt.NDArray[np.float64],
    fitted: npt.NDArray[np.bool_],
) -> pd.DataFrame:
    """Minimum, maximum, mean, median and standard deviation over the fitted groups, and their number."""
    frame = pd.DataFrame({**parameters, "mean": mean})[fitted]
    rows = {
        "minimum": frame.min(),
        "maximum": frame.max(),
        "mean": frame.mean(),
        "median": frame.median(),
        "standard_deviation": frame.std(),
        "groups": frame.count().astype(float),
    }
    return pd.DataFrame(rows).T.rename(columns={"mean": "mean_hours"})
