"""Alarms of a watch: how many are false in ten years of steady fleets, and how soon what changed is noticed.

    python benchmarks/verify_alarms.py [--fleets 20] [--histories 20] [--nodes 200,1000,60] [--looks 1]

Prints the tables of docs/alarms.md and ends with status 1 where a steady fleet has more than the stated 4 false alarms
a year. Fleets are those of `watched_fleets.py`, plain NumPy. Delays are medians in days from the change to the first
alarm that names it, among histories where none was open before; beside them a chart by month with three-sigma limits of
the 24 months before (of the system, of each node, of each model, of mean repair times), as read by eye at the end of
each month, and the ideal CUSUM by day that knows the usual rate and the factor beforehand, with a limit set by
simulation for 0.5 false alarms a year. ``--looks 50`` shows what a threshold that is too low does: the status is 1.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
import pandas as pd
from watched_fleets import KINDS, START, WatchedLog, make

import relfit as rf
from relfit.fleet.surveillance import rate_scans
from relfit.live._fleet_alarms import alarm_history

SIZES = ((200, 2.0), (1000, 0.7), (60, 8.0))  # nodes, failures of each a year
CHANGES = {
    "all rates doubled": ("doubling", 2.0, "rate", ("system steady",)),
    "one node at ten times": ("node", 10.0, "node", ("node n0007",)),
    "a batch at four times": ("batch", 4.0, "rate", ("model C", "batch 2016-12", "batch 2017-01")),
    "a repair that failed four times": ("repair", 4.0, "repeat", ("node n0007, memory",)),
    "repairs twice as long": ("slower", 2.0, "repair time", ("system steady",)),
}
AT, DAYS, PER_YEAR = 730, 1130, 4.0


def log_of(one: WatchedLog) -> rf.FailureLog:
    """What a reader makes of the tables."""
    end = one.records["end"].where(one.records["end"] <= one.end)
    return rf.read(one.records.assign(end=end), population=one.nodes, window_start=str(START), window_end=str(one.end))


# ------------------------------------------------------------------------- the charts beside it


def series(one: WatchedLog) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Days of the failures, and hours of repair, of the system, each node and each model."""
    day = (one.records["start"] - START) / pd.Timedelta(days=1)
    hours = (one.records["end"] - one.records["start"]) / pd.Timedelta(hours=1)
    model = one.records["node"].map(one.nodes.set_index("node")["model"])
    yield "system", day.to_numpy(), hours.to_numpy()
    for kind, key in (("node", one.records["node"]), ("model", model)):
        for name, rows in day.groupby(key).groups.items():
            yield f"{kind} {name}", day[rows].to_numpy(), hours[rows].to_numpy()


def monthly(days: np.ndarray, hours: np.ndarray, last: int) -> tuple[list[int], list[int]]:
    """Ends of the months whose count, and whose mean repair, are above three sigma of the 24 months before."""
    edges = np.arange(0, last + 1, 30)
    counts = np.histogram(days, edges)[0].astype(float)
    means = np.histogram(days, edges, weights=hours)[0] / np.maximum(counts, 1.0)
    out: tuple[list[int], list[int]] = ([], [])
    for i in range(24, counts.size):
        for values, found in ((counts, out[0]), (means, out[1])):
            before = values[i - 24 : i]
            spread = before.std(ddof=1) if found is out[1] else np.sqrt(max(before.mean(), 0.04))
            if values[i] > before.mean() + 3.0 * spread and counts[i] >= 2.0:
                found.append(int(edges[i + 1]))
    return out


def climbing(counts: np.ndarray, mean: float, factor: float) -> np.ndarray:
    """A Poisson CUSUM by day for a rate that becomes `factor` times its mean."""
    total = np.cumsum(counts * np.log(factor) - (factor - 1.0) * mean)
    return total - np.minimum.accumulate(np.minimum(total, 0.0))


def cusum_limit(rng: np.random.Generator, mean: float, factor: float, a_year: float) -> float:
    """The limit over which such a CUSUM of a steady stream climbs so often a year."""
    days = int(min(max(200.0 * 365.25 / a_year, 1e5), 2e7))
    chart = climbing(rng.poisson(mean, days), mean, factor)
    begins = np.flatnonzero((chart > 0.0) & (np.append(0.0, chart[:-1]) == 0.0))
    highest = np.sort(np.maximum.reduceat(chart, begins))[::-1]
    return float(highest[min(int(a_year * days / 365.25), highest.size - 1)])


# ------------------------------------------------------------------------- tables


def false_alarms(fleets: int, sizes: list[tuple[int, float]]) -> bool:
    """Print false alarms a year, and say whether they are as few as stated."""
    print(f"\nFalse alarms a year ({PER_YEAR:g} stated), with 95 % intervals, {fleets} fleets of ten years each\n")
    print("| fleet | nodes | all | interval | rates | nodes | repeats | repair time | chart by month |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    good = True
    for nodes, rate in sizes:
        for kind in KINDS:
            number, charts = Counter(), 0
            for seed in range(fleets):
                one = make(kind, np.random.default_rng([seed, nodes, 1]), nodes=nodes, per_year=rate)
                number.update(each.alarm.kind for each in alarm_history(log_of(one), per_year=PER_YEAR))
                if seed < 3:
                    charts += sum(len(monthly(d, h, 3652)[i]) for _, d, h in series(one) for i in (0, 1))
            years, total = 10.0 * fleets, sum(number.values())
            low, high = (max(total + z * np.sqrt(total), 0.0) / years for z in (-1.96, 1.96))
            good &= low <= PER_YEAR
            each = " | ".join(f"{number[name] / years:.2f}" for name in ("rate", "node", "repeat", "repair time"))
            print(
                f"| {kind} | {nodes:,} | {total / years:.2f} | {low:.2f}-{high:.2f} | {each} | "
                f"{charts / (8.0 * min(fleets, 3)):,.0f} |",
                flush=True,
            )
    return good


def delays(histories: int, sizes: list[tuple[int, float]]) -> None:
    """Print how soon each change was noticed."""
    print(f"\nDays until it was noticed, median (share of {histories} histories that noticed it within 400 days)\n")
    print("| change | nodes | alarm | chart by month | CUSUM by day |")
    print("|---|--:|--:|--:|--:|")
    for nodes, rate in sizes:
        each = rate / 365.25
        usual = {"doubling": (nodes * each, 1), "node": (each, nodes), "batch": (max(nodes // 10, 4) * each, 1)}
        for title, (change, factor, kind, subjects) in CHANGES.items():
            mine, chart, sums = [], [], []
            mean, streams = usual.get(change, (0.0, 1))
            limit = cusum_limit(np.random.default_rng([nodes, 3]), mean, factor, 0.5 / streams) if mean else np.inf
            name = {"node": "node n0007", "repair": "node n0007", "batch": "model C"}.get(change, "system")
            for seed in range(histories):
                rng = np.random.default_rng([seed, nodes, 2])
                one = make(
                    "equal nodes", rng, nodes=nodes, per_year=rate, days=DAYS, change=change, factor=factor, at=AT
                )
                begin = START + pd.Timedelta(days=AT)
                named = [e for e in alarm_history(log_of(one)) if e.alarm.kind == kind and e.alarm.subject in subjects]
                if any(e.alarm.raised <= begin and (e.ended is None or e.ended > begin) for e in named):
                    continue
                mine.append(_first([(e.alarm.raised - begin) / pd.Timedelta(days=1) for e in named]))
                days, hours = next((d, h) for n, d, h in series(one) if n == name)
                chart.append(_first([end - AT for end in monthly(days, hours, DAYS)[kind == "repair time"]]))
                if mean:
                    counts = np.histogram(days, np.arange(AT, DAYS + 1))[0]
                    sums.append(_first((np.flatnonzero(climbing(counts, mean, factor) > limit) + 1.0).tolist()))
            print(f"| {title} | {nodes:,} | {_shown(mine)} | {_shown(chart)} | {_shown(sums)} |", flush=True)


def _first(after: list[float]) -> float:
    return min((day for day in after if 0.0 < day <= 400.0), default=np.inf)


def _shown(days: list[float]) -> str:
    if not days:
        return ""
    median, share = float(np.median(days)), np.mean(np.isfinite(days))
    return f"{median:.0f} ({share:.0%})" if np.isfinite(median) else f"never ({share:.0%})"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--fleets", type=int, default=20, help="of each kind and size, ten years each")
    options.add_argument("--histories", type=int, default=20, help="of each change and size")
    options.add_argument("--looks", type=float, default=1.0, help="divide the tests that thresholds allow for by this")
    options.add_argument("--nodes", default="200,1000,60", help="sizes of the fleets")
    given = options.parse_args()
    rate_scans.LOOKS /= given.looks
    sizes = [size for size in SIZES if str(size[0]) in given.nodes.split(",")]
    good = false_alarms(given.fleets, sizes) if given.fleets else True
    if given.histories:
        delays(given.histories, sizes)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
