"""Do predictions of fleets whose rate moves beat a count by hand? The fleets of `moving_fleets.py`, 90 days ahead.

    python benchmarks/verify_moving.py [--logs 20] [--kinds "season,week"] [--seed 1] [--processes 1] [--json FILE]

Forecasts of 30 and 90 days: the mean interval score of 90 % intervals (width, and 20 times the distance by which the
count lies outside) by that of a negative binomial with mean and variance of the last 6 or 3 windows as long as the
horizon. Jobs of 1, 16, 64 nodes for 24 hours: the share of jobs in the next 90 days that ran through, its estimate and
limits, and the share counted in the last 180 days. Truth is counted in the future of the same simulation.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
import pandas as pd
from hand_counts import DAY, SIZES, Outages, counted_limits, geometric_mean, score, within
from moving_fleets import KINDS, MOVING, make, write_csv

HORIZONS, WINDOWS = (30, 90), (6, 3)
PAST = 180 * DAY


def forecast_rows(
    answers: dict[int, tuple[float, float, float]] | str, starts: pd.Series, begin: pd.Timestamp, origin: pd.Timestamp,
    horizons: Iterable[int],
) -> list[dict[str, Any]]:  # fmt: skip
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
    answers: dict[int, tuple[float, float, float]] | str, outages: Outages, origin: pd.Timestamp, ahead: int,
    rng: np.random.Generator, sizes: Iterable[int] = SIZES,
) -> list[dict[str, Any]]:  # fmt: skip
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


def one_log(job: tuple[str, int, int]) -> dict[str, list[dict[str, Any]]]:
    """All rows of one simulated history."""
    import predictor as asked

    kind, seed, number = job
    rng = np.random.default_rng([seed, list(KINDS).index(kind), number])
    history = make(kind, rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.csv")
        log = asked.rf.read(path, **write_csv(history, path))
    starts = history.records.drop_duplicates()["start"]
    forecasts = tried(asked.ask_forecast, log, HORIZONS)
    jobs = tried(asked.ask_jobs, log, SIZES)
    outages = Outages(history.events, history.population, history.begin)
    return {
        part: [{"kind": kind, "number": number, **row} for row in rows]
        for part, rows in (
            ("forecast", forecast_rows(forecasts, starts, history.begin, history.split, HORIZONS)),
            ("jobs", job_rows(jobs, outages, history.split, HORIZONS[-1], rng)),
        )
    }


# ------------------------------------------------------------------------ summaries


def forecast_table(rows: list[dict[str, Any]], by: str) -> pd.DataFrame:
    """By kind or system and horizon: mean scores by those of the counts, shares held, and how many have no answer."""
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
        n=("truth", "size"), truth=("truth", "mean"), error=("error", "mean"), count_error=("count_error", "mean"),
        held=("held", "mean"), wide=("high", "mean"), low=("low", "mean"),
    )  # fmt: skip
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


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--logs", type=int, default=20, help="of each kind")
    options.add_argument("--kinds", help="beginnings of names, separated by commas; all by default")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--processes", type=int, default=1, choices=(1, 2))
    options.add_argument("--json", help="write rows and averages here, too")
    given = options.parse_args()
    kinds = list(KINDS)
    if given.kinds:
        parts = tuple(filter(None, (part.strip() for part in given.kinds.split(","))))
        kinds = [kind for kind in KINDS if kind.startswith(parts)]
    if not kinds:
        sys.exit(f"no kind {given.kinds!r}; there is {'; '.join(KINDS)}")
    began = time.perf_counter()
    jobs = [(kind, given.seed, i) for kind in kinds for i in range(given.logs)]
    if given.processes == 1:
        done = [one_log(job) for job in jobs]
    else:
        with ProcessPoolExecutor(given.processes) as pool:
            done = list(pool.map(one_log, jobs, chunksize=5))
    rows = {part: [row for one in done for row in one[part]] for part in ("forecast", "jobs")}
    forecasts, shares = forecast_table(rows["forecast"], "kind"), job_table(rows["jobs"], "kind")
    print(shown(forecasts), shown(shares), sep="\n\n", end="\n\n")
    averages = {}
    for name, some in (
        ("moving", [k for k in kinds if k in MOVING]),
        ("steady", [k for k in kinds if k not in MOVING]),
    ):
        if some:
            averages[name] = overall(*(t[t["kind"].isin(some)] if len(t) else t for t in (forecasts, shares)))
            print(said(name, averages[name]), end="\n\n")
    if "moving" in averages:
        print(targets(averages["moving"]))
    for why in sorted({str(row["why"]) for part in rows.values() for row in part if "why" in row}):
        print(f"no answer: {why}")
    print(f"{time.perf_counter() - began:.0f} s for {len(jobs)} logs", file=sys.stderr)
    if given.json:
        Path(given.json).write_text(json.dumps({"averages": averages, **rows}, default=str))


if __name__ == "__main__":
    main()
