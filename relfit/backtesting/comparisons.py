"""Predictions compared with counts over all origins of a backtest: ratios, shares and biases, with limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from relfit.backtesting.origins import DAY
from relfit.backtesting.prediction_scores import resampled, share_limits
from relfit.base.arrays import FloatArray
from relfit.base.units import nanoseconds

RATIOS = ("all", "system", "cause", "rack", "job", "checkpoints")
"""Kinds of predictions whose scores are compared by their ratio; others by their difference."""
_RESAMPLES = 999
_KEYS = ["part", "of", "horizon", "size", "length"]
_TINY = 1e-9


def summary_of(table: pd.DataFrame, every: float, level: float, seed: int, by: tuple[str, ...] = ()) -> pd.DataFrame:
    """One row per part, kind of prediction, horizon, size, length, and the columns `by` of the table of a backtest.

    `every` is the days between two origins, used where there is only one.
    """
    keys = [*_KEYS, *by]
    sized = table.assign(size=table["size"].where(table["of"] != "drain"))
    parts = sized.groupby(keys, sort=False, dropna=False)
    compared = [dict(zip(keys, values, strict=True)) | _compared(part, every, level, seed) for values, part in parts]
    return pd.DataFrame(compared)


def _compared(rows: pd.DataFrame, every: float, level: float, seed: int) -> dict[str, Any]:
    instants = nanoseconds(rows["origin"])
    origins = np.unique(instants)
    # windows that overlap, and months alike, form one block
    apart = every if origins.size < 2 else float(np.median(np.diff(origins))) / DAY
    horizon = float(rows["horizon"].iloc[0]) / 24.0
    overlapping = max(np.ceil(horizon / apart), 1.0)
    block = int(max(overlapping, np.ceil(origins.size ** (1.0 / 3.0))))
    # intervals that are right miss later windows no more often after a miss: only overlaps count as one
    disjoint = max(origins.size / overlapping, 1.0)
    drawn = resampled(origins.size, block, _RESAMPLES, np.random.default_rng(seed))
    weights = np.vstack([np.ones(origins.size), drawn])
    at = np.searchsorted(origins, instants)
    system = pd.factorize(rows["system"])[0]
    kind = rows["of"].iloc[0]

    def sums(values: FloatArray, apart: bool) -> FloatArray:
        """Sums over the origins of each resample, by system or over all, shape (resamples, systems)."""
        code = system if apart else np.zeros_like(system)
        table = np.zeros((origins.size, int(code.max()) + 1))
        np.add.at(table, (at, code), values)
        return weights @ table

    tail = 0.5 - level / 2.0
    independent = max(origins.size / block, 2.0)
    student, normal = special.stdtrit(independent - 1.0, 1.0 - tail), special.ndtri(1.0 - tail)
    # so few blocks vary less when resampled than new ones would
    wider = student / normal * np.sqrt(independent / (independent - 1.0))

    def limits(name: str, values: FloatArray, error: float = 0.0) -> dict[str, float]:
        """A value with its limits, as far apart as its standard error requires at least."""
        usable = np.isfinite(values[1:]).any()
        ends = np.nanquantile(values[1:], [tail, 1.0 - tail]) if usable else np.full(2, np.nan)
        below, above = values[0] + wider * (ends - values[0])
        low, high = min(below, values[0] - student * error), max(above, values[0] + student * error)
        return {name: float(values[0]), f"{name}_low": float(low), f"{name}_high": float(high)}

    def exponential(found: dict[str, float], less: float = 0.0) -> dict[str, float]:
        return {name: float(np.exp(value)) - less for name, value in found.items()}

    out: dict[str, Any] = {"windows": origins.size, "blocks": origins.size / block}
    out["score"] = float(rows["score"].mean())
    for i in (1, 2):
        rival = rows[f"score_{i}"].to_numpy(np.float64)
        out[f"score_{i}"] = float(rows[f"score_{i}"].mean())
        if np.isnan(rival).all():
            out |= dict.fromkeys((f"against_{i}", f"against_{i}_low", f"against_{i}_high"), np.nan)
            continue
        each_score = rows["score"].to_numpy(np.float64), rival, np.ones(len(rows))
        ours, theirs, number = (sums(values, True) for values in each_score)
        with np.errstate(invalid="ignore", divide="ignore"):
            if kind in RATIOS:
                each = np.where(number > 0, np.log((ours + _TINY) / (theirs + _TINY)), np.nan)
            else:
                each = np.where(number > 0, (ours - theirs) / number, np.nan)
        finite = np.isfinite(each)
        mean = np.where(finite, each, 0.0).sum(axis=1) / np.maximum(finite.sum(axis=1), 1)
        if kind in RATIOS:
            widths = (rows["high"] - rows["low"]).to_numpy(np.float64), rows[f"width_{i}"].to_numpy(np.float64)
            error = _unseen(sums(widths[0], True)[0], sums(widths[1], True)[0], disjoint, level)
            out |= exponential(limits(f"against_{i}", mean, error))
        else:
            out |= limits(f"against_{i}", mean)
        crps = rows[["crps", f"crps_{i}"]].to_numpy(np.float64)
        out[f"crps_{i}"] = float(crps[:, 0].sum() / crps[:, 1].sum()) if np.isfinite(crps).all() else np.nan
    low, high, seen = (rows[name].to_numpy(np.float64) for name in ("low", "high", "seen"))
    if np.isfinite(low).all() and low.size:
        out["held"] = float(((seen >= low) & (seen <= high)).mean())
        out["held_low"], out["held_high"] = share_limits(out["held"], disjoint, level)
    predicted = rows["predicted"].to_numpy(np.float64)
    if np.isfinite(predicted).all() and kind not in ("stock", "ranking"):
        said, came, number = (sums(values, False)[:, 0] for values in (predicted, seen, np.ones(len(rows))))
        counts = rows["part"].iloc[0] == "forecasts"
        if counts:
            out |= exponential(limits("bias", np.log((said + _TINY) / (came + _TINY))), 1.0)
        else:
            out |= limits("bias", (said - came) / number)
        out["predicted"], out["seen"] = float(predicted.mean()), float(seen.mean())
    return out


def _unseen(ours: FloatArray, theirs: FloatArray, windows: float, level: float) -> float:
    """Standard error of the logarithm of a ratio of scores by misses that few windows do not show, from the widths of
    each system's intervals: what a narrower one saves in all windows, it pays in the share ``1 - level`` of them.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        narrower = np.log(ours / theirs)
    narrower = narrower[np.isfinite(narrower)]
    if not narrower.size:
        return 0.0
    return float(abs(narrower.mean()) * np.sqrt(level / (1.0 - level) / (windows * narrower.size)))
