"""How near the best checkpoint interval in hindsight is to be had: by an interval from the quarter's own count.

    python benchmarks/verify_hindsight.py LOG

Nobody has the count of a quarter before it ends. With it Young's interval follows from the true mean time between the
interruptions of that quarter, so that what it loses beyond the best in hindsight is luck that no prediction can have.
Time lost over all quarters, relative to the best in hindsight, by the size of the job.
"""

from __future__ import annotations

import argparse
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

import relfit as rf
from relfit.backtesting.interval_scores import IntervalScores, _runs
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.fleet.job_placement import NodeOutages
from relfit.system.jobs import Checkpoint

_SAVE = 0.1  # hours, of the back-test


def own_count(scores: IntervalScores, size: int, origin: int) -> float:
    """Share of time lost with Young's interval by the interruptions of the quarter itself."""
    begin = (origin - scores.past.log.window.start.as_unit("ns").value) / NANOSECONDS_PER_HOUR
    end = begin + 24.0 * 90.0
    members = np.flatnonzero((scores.nodes.entered <= begin) & (scores.nodes.left >= end))
    runs = _runs(scores.nodes, size, begin, end, members)
    between = sum(float(run.hours.sum()) for run in runs) / max(sum(int(run.failed.sum()) for run in runs), 1)
    every = np.clip([np.sqrt(2.0 * _SAVE * between)], 1e-3, 8766.0)
    return float(np.mean([run.lost(every, _SAVE, _SAVE) for run in runs]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log")
    log = rf.read(parser.parse_args().log)
    rows = rf.backtest(log, parts="decisions").table
    rows = rows[rows["of"] == "checkpoints"].copy()
    checkpoint, own = Checkpoint(save=_SAVE, restore=_SAVE), np.zeros(len(rows))
    places = pd.Series(range(len(rows)), index=rows.index)
    for system, of_system in rows.groupby("system"):
        one = log.where(system=system) if len(log.systems) > 1 else log
        past: Any = SimpleNamespace(log=one)
        scores = IntervalScores(past, NodeOutages.of(one)[0], (1,), checkpoint, 0.95, 0)
        for place, row in zip(places[of_system.index], of_system.to_dict("records"), strict=True):
            own[place] = own_count(scores, int(row["size"]), row["origin"].as_unit("ns").value)
    rows["own"] = own
    print(f"{'nodes':>6} {'quarters':>8} {'advised':>8} {'Young 180 d':>12} {'own count':>10}")
    for size, part in [*rows.groupby("size"), ("all", rows)]:
        lost = part[["score", "score_1", "own"]].sum() / part["score_2"].sum()
        print(f"{size!s:>6} {len(part):>8} {lost['score']:>8.3f} {lost['score_1']:>12.3f} {lost['own']:>10.3f}")


if __name__ == "__main__":
    main()
