"""What jobs met in a log, counted record by record, beside what the model of the log and a plan say of them.

    python benchmarks/verify_counts.py [LOG] [--where COLUMN=VALUE] [--sizes 1,4,16,64,256,1024] [--jobs 150]

Jobs stand on consecutive nodes and begin at every hour at which all of their nodes are up. Counted are hours with all
nodes up for each interruption, the share of the jobs that ran for 24 hours, and hours until all nodes were up again;
nothing of the package but its reader is used for that. LOG is a file, a folder or a name; the bundled sample if left
out.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import numpy.typing as npt
import pandas as pd

import relfit as rf
from relfit.planning.job_rate import rate_of_job

DAY = 24.0
Hours = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Records:
    """Outages in hours since the window opened, by number of the node or, below zero, of all; when nodes were there."""

    start: Hours
    end: Hours
    node: npt.NDArray[np.int64]
    entered: Hours
    left: Hours


def _in_order(name: object) -> tuple[object, ...]:
    """Words and numbers of a name, so that node 2 comes before node 10."""
    parts = re.split(r"(\d+)", str(name))
    return tuple(int(part) if part.isdigit() else part for part in parts)


def records(log: rf.FailureLog) -> Records:
    """The rows of a log."""
    events, people = log.events, log.population
    people = people.iloc[sorted(range(len(people)), key=[_in_order(name) for name in people["node"]].__getitem__)]
    opened, hours = log.window.start, log.window.hours

    def since(column: pd.Series) -> Hours:
        return np.asarray((column - opened) / pd.Timedelta(hours=1), np.float64)

    start, end = since(events["start"]), since(events["end"])
    end = np.minimum(np.where(np.isnan(end), start, end), hours)
    number = {name: i for i, name in enumerate(people["node"])}
    node = np.array([number.get(name, -1) for name in events["node"]], np.int64)
    left = since(people["left"])
    seen = (end > 0.0) & (start < hours)
    return Records(
        start[seen],
        end[seen],
        node[seen],
        np.clip(since(people["entered"]), 0.0, hours),
        np.clip(np.where(np.isnan(left), hours, left), 0.0, hours),
    )


def met(rows: Records, first: int, size: int) -> Hours | None:
    """Hours up and down, interruptions, starts and those that ran a day, of a job on nodes from `first` on."""
    nodes = slice(first, first + size)
    begin, stop = rows.entered[nodes].max(), rows.left[nodes].min()
    if stop - begin < 20 * DAY:
        return None
    mine = ((rows.node >= first) & (rows.node < first + size)) | (rows.node < 0)
    mine &= (rows.start < stop) & (rows.end > begin)
    start, end = np.maximum(rows.start[mine], begin), np.minimum(rows.end[mine], stop)
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order]) if order.size else end
    heads = np.flatnonzero(np.append(True, start[1:] > reach[:-1])) if order.size else np.zeros(0, np.int64)
    down = start[heads]
    back = np.append(reach[heads[1:] - 1], reach[-1:])
    lost = float((back - down).sum())
    at = np.arange(begin, stop - DAY)
    after = np.searchsorted(down, at, side="right")
    up = np.append(-1.0, back)[after] <= at
    ran = up & (np.append(down, np.inf)[after] > at + DAY)
    return np.array([stop - begin - lost, lost, float((down > begin).sum()), float(up.sum()), float(ran.sum())])


def main() -> None:
    """Read the options, count and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("log", nargs="?", default="white")
    parser.add_argument("--where", action="append", default=[], metavar="COLUMN=VALUE")
    parser.add_argument("--sizes", default="1,4,16,64,256,1024")
    parser.add_argument("--jobs", type=int, default=150)
    given = parser.parse_args()
    log = rf.datasets.load("white") if given.log == "white" else rf.read(given.log)
    if given.where:
        log = log.where(**dict(each.split("=", 1) for each in given.where))
    model = rf.fleet_model(log, at="long run")
    rows = records(model.period.log)
    known = rf.calibrate(log, model=model, parts=("mtbf", "mttr"))
    total = rows.entered.size
    print(model.period.headline)
    print(f"{'nodes':>6}  {'hours between: counted, model, plan':>38}  {'24 h: counted, model':>34}  {'until up':>16}")
    for size in [int(each) for each in given.sizes.split(",") if int(each) <= total]:
        step = max(1, (total - size) // given.jobs)
        found = [one for one in (met(rows, at, size) for at in range(0, total - size + 1, step)) if one is not None]
        if not found:
            continue
        up, lost, stops, starts, ran = np.sum(found, axis=0)
        between = model.interval("mtbf", size=size, placement="packed")
        day = model.interval("reliability", "24h", size=size, placement="packed")
        plan = rate_of_job(known, size)
        limits = f"({float(day.low):.3f}-{float(day.high):.3f})"
        print(
            f"{size:6}  {up / max(stops, 1.0):12.1f}{float(between.estimate):13.1f}{float(plan.mtbf):13.1f}  "
            f"{ran / max(starts, 1.0):12.3f}{float(day.estimate):8.3f} {limits}  {lost / max(stops, 1.0):7.2f}"
            f"{float(plan.wait):9.2f}"
        )


if __name__ == "__main__":
    main()
