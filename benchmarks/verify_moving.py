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
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from hand_counts import SIZES, Outages
from moving_fleets import KINDS, MOVING, make, write_csv
from scoring import (
    HORIZONS,
    forecast_rows,
    forecast_table,
    job_rows,
    job_table,
    overall,
    said,
    shown,
    targets,
    tried,
)


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
