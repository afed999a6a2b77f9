"""Repairable systems: LANL system 18, and a simulated fleet of 100 000 nodes with 5 million events.

Run: python benchmarks/bench_recurrence.py [--nodes 100000] [--events 5000000]
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from relfit.analyses import recurrence as rec

SHARED = Path(os.environ.get("RELFIT_SHARED", Path(__file__).resolve().parents[1].parent / "shared"))


def timed(name: str, work: Callable[[], Any]) -> Any:
    start = time.perf_counter()
    result = work()
    print(f"  {name:<52}{time.perf_counter() - start:7.2f} s")
    return result


def everything(histories: rec.EventHistories, racks: np.ndarray) -> None:
    timed("mean cumulative function, all nodes", lambda: rec.mean_cumulative(histories))
    timed("  by rack", lambda: rec.mean_cumulative(histories, racks))
    timed("four trend tests, every node", lambda: rec.trend_tests(histories))
    timed("  pooled", lambda: rec.trend_tests(histories, "all"))
    timed("power law, every node", lambda: rec.fit_process(histories))
    timed("  pooled", lambda: rec.fit_process(histories, "power_law", "all"))
    timed("four processes compared, every node", lambda: rec.compare_processes(histories))
    timed("  pooled", lambda: rec.compare_processes(histories, "all"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=5_000_000)
    given = parser.parse_args()
    warm = rec.EventHistories.from_groups([[1.0, 3.0, 4.0], [2.0, 5.0, 7.0]], end=9.0)
    for work in (rec.mean_cumulative, rec.trend_tests, rec.compare_processes):
        work(warm)
    path = SHARED / "data" / "lanl-failures-1996-2005.csv.xz"
    if path.exists():
        log = rf.read(path).where(system=18)
        print(f"LANL system 18: {log.n_nodes} nodes, {len(log)} events")
        whole = time.perf_counter()
        histories = timed("histories", lambda: rec.histories_of_log(log))
        everything(histories, np.arange(histories.n_histories) // 32)
        timed("availability by node", lambda: rec.availability(log, "node"))
        timed("availability over time", lambda: rec.availability_over_time(log))
        print(f"  together {time.perf_counter() - whole:.1f} s")
    else:
        print(f"no LANL log in {SHARED}")
    rng = np.random.default_rng(0)
    nodes, events = given.nodes, given.events
    owner = np.sort(rng.integers(0, nodes, events))
    at = rng.random(events) * 30_000.0
    at = at[np.lexsort((at, owner))]
    offsets = np.searchsorted(owner, np.arange(nodes + 1))
    histories = rec.EventHistories.from_flat(at, offsets, 30_000.0)
    print(f"simulated: {nodes} nodes, {events} events")
    whole = time.perf_counter()
    everything(histories, np.arange(nodes) // 32)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"  together {time.perf_counter() - whole:.1f} s; peak memory {memory:.1f} GB")


if __name__ == "__main__":
    main()
