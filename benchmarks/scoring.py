"""Predictions against what came and against counts by hand: rows, tables, averages, targets."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from hand_counts import DAY, SIZES, Outages, counted_limits, geometric_mean, score, within

__all__ = [
    "HORIZONS",
    "WINDOWS",
    "forecast_rows",
    "forecast_table",
    "job_rows",
    "job_table",
    "overall",
    "said",
    "shown",
    "targets",
    "tried",
]

HORIZONS, WINDOWS = (30, 90), (6, 3)  # days; windows of that length that are counted
PAST = 180 * DAY  # in which jobs are counted


def forecast_rows(
    answers: dict[int, tuple[float, float, float]] | str,
    starts: pd.Series,
    begin: pd.Timestamp,
    origin: pd.Timestamp,
    horizons: Iterable[int],
) -> list[dict[str, Any]]:
    """Each horizon's forecast against the records that came, and against the counts by hand."""
    rows = []
    for days in horizons:
        seen = within(starts, origin, origin + days * DAY)
        row: dict[str, Any] = {"days": days, "seen": seen}
        for windows in WINDOWS:
            mean, low, high = counted_limits(starts, begin, origin, days, windows)
            row |= {f"count{windows}": mean, f"score{windows}": score(low, high, seen)}
            row[f"held{windows}"] = float(low <= seen <= high)
        if isinstance(answers, str):
            row["why"] = answers
        else:
            mean, low, high = answers[days]
            row |= {"mean": mean, "low": low, "high": high, "score": score(low, high, seen)}
            row["held"] = float(low <= seen <= high)
        rows.append(row)
    return rows


def job_rows(
    answers: dict[int, tuple[float, float, float]] | str,
    outages: Outages,
    origin: pd.Timestamp,
    ahead: int,
    rng: np.random.Generator,
    sizes: Iterable[int] = SIZES,
) -> list[dict[str, Any]]:
    """Shares of jobs that ran through after `origin`: what was said, what was counted before, what is true."""
    rows = []
    for size in sizes:
        truth = outages.ran_through(origin, origin + ahead * DAY, size, rng)
        past = outages.ran_through(origin - PAST, origin, size, rng)
        row = {"size": size, "truth": truth, "past": past, "count_error": 100.0 * abs(past - truth)}
        if isinstance(answers, str):
            row["why"] = answers
        elif not math.isnan(truth):
            estimate, low, high = answers[size]
            row |= {"estimate": estimate, "low": low, "high": high, "error": 100.0 * abs(estimate - truth)}
            row["held"] = float(low <= truth <= high)
        rows.append(row)
    return rows


def tried(call: Any, *arguments: Any) -> Any:
    """The answer of a predictor, or why there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(*arguments)
        except Exception as error:
            return f"{type(error).__name__}: {error}"


# ------------------------------------------------------------------------ summaries


def forecast_table(rows: list[dict[str, Any]], by: str) -> pd.DataFrame:
    """By kind or system and horizon: mean scores by those of the counts, shares held, and how many have no answer."""
    if not rows:
        return pd.DataFrame()
    frame = pd.DataFrame(rows)
    frame = frame.assign(**{name: math.nan for name in ("score", "held", "mean") if name not in frame})
    out = []
    for (name, days), part in frame.groupby([by, "days"], sort=False):
        good = part[part["score"].notna()]
        line = {by: name, "days": days, "n": len(part), "none": len(part) - len(good)}
        if len(good):
            means = {w: max(float(good[f"score{w}"].mean()), 1e-9) for w in WINDOWS}
            line |= {f"ratio{w}": float(good["score"].mean()) / means[w] for w in WINDOWS}
            line |= {"held": 100 * good["held"].mean()} | {f"held{w}": 100 * good[f"held{w}"].mean() for w in WINDOWS}
            line["bias"] = float(good["mean"].sum() / max(good["seen"].sum(), 1)) - 1.0
        out.append(line)
    return pd.DataFrame(out)


def job_table(rows: list[dict[str, Any]], by: str) -> pd.DataFrame:
    """By kind or system and size: mean absolute errors in points, and the share of truths inside of the limits."""
    frame = pd.DataFrame(rows)
    if "error" not in frame:
        return pd.DataFrame()
    good = frame[frame["error"].notna() & frame["count_error"].notna()]
    out = good.groupby([by, "size"], sort=False).agg(
        n=("truth", "size"),
        truth=("truth", "mean"),
        error=("error", "mean"),
        count_error=("count_error", "mean"),
        held=("held", "mean"),
        wide=("high", "mean"),
        low=("low", "mean"),
    )
    out["held"], out["wide"] = 100 * out["held"], 100 * (out["wide"] - out["low"])
    return out.drop(columns="low").reset_index()


def overall(forecasts: pd.DataFrame, jobs: pd.DataFrame) -> dict[str, Any]:
    """Averages over kinds or systems: geometric means of ratios, means of everything else."""
    out: dict[str, Any] = {"forecast": {}, "jobs": {}}
    for days, part in forecasts.groupby("days") if len(forecasts) else []:
        line = {f"ratio{w}": geometric_mean(part[f"ratio{w}"]) for w in WINDOWS}
        weight = part["n"] - part["none"]
        for name in ("held", *(f"held{w}" for w in WINDOWS)):
            line[name] = float((part[name] * weight).sum() / max(weight.sum(), 1))
        out["forecast"][int(days)] = line | {"n": int(part["n"].sum()), "none": int(part["none"].sum())}
    for size, part in jobs.groupby("size") if len(jobs) else []:
        line = {c: float((part[c] * part["n"]).sum() / part["n"].sum()) for c in ("error", "count_error", "held")}
        out["jobs"][int(size)] = line | {"n": int(part["n"].sum())}
    return out


def said(name: str, averages: dict[str, Any]) -> str:
    """The averages in lines."""
    lines = []
    for days, one in averages["forecast"].items():
        lines.append(
            f"{name}, {days} days ({one['n']} forecasts, {one['none']} without an answer): "
            f"{one['ratio6']:.2f} times the score of the count of 6 windows, {one['ratio3']:.2f} of 3; "
            f"holds {one['held']:.0f} %, "
            f"counts {one['held6']:.0f} and {one['held3']:.0f} %"
        )
    for size, one in averages["jobs"].items():
        lines.append(
            f"{name}, jobs of {size} ({one['n']}): error {one['error']:.2f} points, "
            f"the count's {one['count_error']:.2f}; limits hold {one['held']:.0f} %"
        )
    return "\n".join(lines)


def targets(averages: dict[str, Any]) -> str:
    """A line for each target: met or missed."""
    lines = []

    def add(what: str, value: float, bound: float, below: bool = True) -> None:
        met = value <= bound if below else value >= bound
        lines.append(f"{'met   ' if met else 'missed'} {what}: {value:.2f} ({'<=' if below else '>='} {bound:g})")

    for days, bound in ((30, 0.85), (90, 0.75)):
        for windows in WINDOWS:
            if days in averages["forecast"]:
                value = averages["forecast"][days][f"ratio{windows}"]
                add(f"{days} days, score by that of the count of {windows} windows", value, bound)
    for size, one in averages["jobs"].items():
        if size > 1:
            add(f"jobs of {size}, share of truths inside of the limits, %", one["held"], 80.0, below=False)
        add(f"jobs of {size}, error by the count's", one["error"] / max(one["count_error"], 1e-9), 0.8)
    return "\n".join(lines)


def shown(table: pd.DataFrame) -> str:
    return "(none)" if table.empty else table.to_string(index=False, float_format=lambda x: f"{x:.2f}")
