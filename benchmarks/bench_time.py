"""All of dependence, recurrence and screening in one process: LANL system 18, a simulated fleet.

The goal is under 10 s on LANL system 18 (1024 nodes) and under 2 minutes on 100 000 nodes with 5 million events.

Run: python benchmarks/bench_time.py [--events 5000000] [--nodes 100000] [--only lanl|simulated] [--profile STEP]
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from relfit.analyses import recurrence as rec
from relfit.analyses.independence import dependence
from relfit.analyses.screening import change_points, incidents, outlier_nodes, repair_kinds

SHARED = Path(os.environ.get("RELFIT_SHARED", Path(__file__).resolve().parents[1].parent / "shared"))


def fleet(nodes: int, events: int) -> rf.FailureLog:
    """Four years of independent failures in racks of 64: 5 % bad nodes, quick and slow repairs, four causes."""
    rng = np.random.default_rng(0)
    first = pd.Timestamp("2020-01-01", tz="UTC")
    last = first + pd.Timedelta(days=1460)
    rate = np.where(rng.random(nodes) < 0.05, 5.0, 1.0)
    names = pd.Index([f"n{i}" for i in range(nodes)])
    node = rng.choice(nodes, events, p=rate / rate.sum())
    start = pd.Series(first + pd.to_timedelta(np.sort(rng.integers(0, 1460 * 86400, events)), unit="s"))
    hours = np.where(rng.random(events) < 0.7, rng.lognormal(-1.0, 0.6, events), rng.lognormal(2.5, 0.8, events))
    table = pd.DataFrame({"node": pd.Categorical.from_codes(node, names), "start": start.astype("datetime64[ns, UTC]")})
    table["end"] = (start + pd.to_timedelta((hours * 3600).round(), unit="s")).astype("datetime64[ns, UTC]")
    table["end"] = table["end"].clip(upper=last)
    table["system"] = pd.Categorical.from_codes(np.zeros(events, int), ["s"])
    table["cause"] = pd.Categorical.from_codes(rng.integers(0, 4, events), ["a", "b", "c", "d"])
    table["scope"] = pd.Categorical.from_codes(np.zeros(events, int), ["node"])
    table = table.assign(detail=None, start_cut=False, end_cut=False, line=np.arange(events))
    people = pd.DataFrame({"system": "s", "node": pd.Categorical(names), "entered": first, "left": last})
    people = people.assign(entered_known=True, left_known=True, declared=True)
    people["rack"] = pd.Categorical([f"r{i // 64}" for i in range(nodes)])
    return rf.FailureLog(table, people, rf.log.failurelog.Window(first, last, True, True))


def steps(log: rf.FailureLog) -> dict[str, Callable[[], Any]]:
    """The questions in the order in which a report asks them."""
    held: dict[str, Any] = {}

    def histories() -> Any:
        held["histories"] = rec.histories_of_log(log)

    return {
        "dependence": lambda: dependence(log),
        "incidents": lambda: incidents(log),
        "change points of records": lambda: change_points(log, of="records"),
        "stable_period": lambda: rf.stable_period(log),
        "outlier_nodes": lambda: outlier_nodes(log),
        "repair_kinds": lambda: repair_kinds(log),
        "histories_of_log": histories,
        "mean_cumulative, every node": lambda: rec.mean_cumulative(held["histories"]),
        "trend_tests, every node": lambda: rec.trend_tests(held["histories"]),
        "trend_tests, pooled": lambda: rec.trend_tests(held["histories"], "all"),
        "compare_processes, every node": lambda: rec.compare_processes(held["histories"]),
        "compare_processes, pooled": lambda: rec.compare_processes(held["histories"], "all"),
        "availability by node": lambda: rec.availability(log, "node"),
        "availability_over_time": lambda: rec.availability_over_time(log),
    }


def run(name: str, log: rf.FailureLog, profile: str | None) -> None:
    print(f"{name}: {log.n_nodes} nodes, {len(log)} events")
    wall, cpu = 0.0, 0.0
    for step, work in steps(log).items():
        watch = cProfile.Profile() if profile is not None and profile in step else None
        start, start_cpu = time.perf_counter(), time.process_time()
        if watch is not None:
            watch.enable()
        work()
        if watch is not None:
            watch.disable()
            pstats.Stats(watch).sort_stats("tottime").print_stats(18)
            pstats.Stats(watch).sort_stats("cumtime").print_stats("relfit", 30)
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
        wall, cpu = wall + seconds, cpu + cpu_seconds
        print(f"  {step:<34}{seconds:8.2f} s wall {cpu_seconds:8.2f} s processor", flush=True)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"  {'together':<34}{wall:8.2f} s wall {cpu:8.2f} s processor; peak memory {memory:.1f} GB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--only", choices=("lanl", "simulated"))
    parser.add_argument("--profile", metavar="STEP", help="profile the steps whose name contains this")
    given = parser.parse_args()
    for work in steps(rf.datasets.load("white")).values():  # loads and compiles
        work()
    path = SHARED / "data" / "lanl-failures-1996-2005.csv.xz"
    if given.only != "simulated":
        if path.exists():
            run("LANL system 18", rf.read(path).where(system=18), given.profile)
        else:
            print(f"no LANL log in {SHARED}: left out")
    if given.only != "lanl":
        run("simulated", fleet(given.nodes, given.events), given.profile)


if __name__ == "__main__":
    main()
