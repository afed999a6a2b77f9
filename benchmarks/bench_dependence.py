"""Dependence between nodes and along time: LANL system 18, all pairs of 4 000 nodes, a large simulated fleet.

Run: python benchmarks/bench_dependence.py [--nodes 100000] [--events 5000000]
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from relfit.failurelog import Source, Window
from relfit.independence import correlations, dependence, serial_tests

SHARED = Path(os.environ.get("RELFIT_SHARED", Path(__file__).resolve().parents[1].parent / "shared"))


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def fleet(nodes: int, events: int) -> rf.FailureLog:
    """A log of independent nodes in racks of 40, five years, gaps of Weibull shape 0.8."""
    rng = np.random.default_rng(0)
    hours = 5 * 8766.0
    zero, end = pd.Timestamp("2015-01-01", tz="UTC"), pd.Timestamp("2015-01-01", tz="UTC") + pd.Timedelta(hours=hours)
    mean = events / nodes
    gaps = rf.families.Weibull(0.8, hours / mean / 1.133).sample((nodes, int(mean * 1.6)), rng=rng)
    at = np.cumsum(gaps.reshape(nodes, -1), axis=1)
    node, column = np.nonzero(at < hours)
    start = zero + pd.to_timedelta(at[node, column] * 3600.0, unit="s")
    names = np.array([f"{i:06d}" for i in range(nodes)], dtype=object)
    count = node.size
    table = pd.DataFrame(
        {
            "system": pd.Categorical.from_codes(np.zeros(count, np.int8), ["s"]),
            "node": pd.Categorical.from_codes(node, names),
            "start": start,
            "end": start + pd.Timedelta(minutes=5),
            "cause": None,
            "detail": None,
            "scope": "node",
            "start_cut": False,
            "end_cut": False,
            "line": np.arange(count),
        }
    )
    people = pd.DataFrame(
        {
            "system": "s",
            "node": names,
            "entered": zero,
            "left": end,
            "entered_known": True,
            "left_known": True,
            "declared": True,
            "rack": [f"r{i // 40}" for i in range(nodes)],
        }
    )
    return rf.FailureLog(table, people, Window(zero, end, True, True), source=Source(rows_read=count, rows_kept=count))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=5_000_000)
    chosen = parser.parse_args()
    rng = np.random.default_rng(0)
    serial_tests(rf.LifeData.from_array(rng.weibull(0.8, (3, 20))))  # compiles

    path = SHARED / "data" / "lanl-failures-1996-2005.csv.xz"
    if path.exists():
        log = rf.read(path).where(system=18)
        dependence(log)
        print(f"LANL system 18, {log.n_nodes} nodes, {len(log)} records: {timed(lambda: dependence(log)):.2f} s")
    else:
        print(f"no LANL log in {SHARED}: left out")

    lives = rf.LifeData.from_array(rng.weibull(0.8, (4000, 20)))
    ragged = rf.LifeData.from_groups([rng.weibull(0.8, n) for n in rng.integers(3, 100, 4000)])
    for name, data in (("20 TTFs each", lives), ("3 to 99 TTFs", ragged)):
        for method in ("spearman", "pearson", "kendall"):
            seconds = timed(lambda data=data, method=method: correlations(data, method))
            print(f"all 7 998 000 pairs of 4 000 nodes, {name}, {method:<9}{seconds:6.2f} s")

    log = fleet(chosen.nodes, chosen.events)
    start = time.perf_counter()
    found = dependence(log)
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{log.n_nodes} nodes, {len(log)} events (simulated): {seconds:.1f} s; peak memory {memory:.1f} GB")
    print(found)


if __name__ == "__main__":
    main()
