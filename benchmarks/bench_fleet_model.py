"""The model of a fleet of many nodes: LANL whole, and a made log of nodes of unequal rates in racks of 32.

Run: python benchmarks/bench_fleet_model.py [--nodes 100000] [--events 5000000]

Processor time and peak memory; reading the log apart. Lives are Weibull renewals of shape 0.8, rates of nodes gamma
variables of variance 1/4; four years.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import gamma

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf

SHARED = Path(os.environ.get("RELFIT_SHARED", Path(__file__).resolve().parents[1].parent / "shared"))
HOURS, SHAPE = 4 * 8766.0, 0.8


def write_log(path: Path, nodes: int, events: int, rng: np.random.Generator) -> None:
    """A log of about so many events as CSV."""
    scale = HOURS * nodes / events / gamma(1.0 + 1.0 / SHAPE)
    at, node = [], []
    for first in range(0, nodes, 5_000):
        rate = rng.gamma(4.0, 0.25, min(5_000, nodes - first))
        time = np.cumsum(scale * rng.weibull(SHAPE, (rate.size, 4 * events // nodes + 20)) / rate[:, None], axis=1)
        row, column = np.nonzero(time < HOURS)
        at.append(time[row, column])
        node.append(row + first)
    hours, number = np.concatenate(at), np.concatenate(node)
    order = np.argsort(hours)
    start = pd.Timestamp("2020-01-01") + pd.to_timedelta((hours[order] * 3600).astype(np.int64), unit="s")
    repair = pd.to_timedelta((rng.lognormal(0.0, 1.0, hours.size) * 3600).astype(np.int64) + 60, unit="s")
    nodes_, racks = ([f"{letter}{i:06d}" for i in range(nodes)] for letter in "nr")
    table = {
        "node": np.array(nodes_)[number[order]],
        "rack": np.array(racks)[number[order] // 32],
        "start": start.strftime("%Y-%m-%d %H:%M:%S"),
        "end": (start + repair).strftime("%Y-%m-%d %H:%M:%S"),
    }
    pd.DataFrame(table).to_csv(path, index=False)


def measured(path: Path, name: str) -> None:
    """Read a log and make its model, and say what that took."""
    begun = time.process_time()
    log = rf.read(path)
    read = time.process_time()
    model = rf.fleet_model(log, at="long run")
    made = time.process_time()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{name}, {log.n_nodes:,} nodes, {len(log.events):,} events: reading {read - begun:.1f} s, the model of the "
        f"fleet {made - read:.1f} s of processor time; peak memory so far {memory:.1f} GB\n  {model.headline}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=5_000_000)
    given = parser.parse_args()
    lanl = SHARED / "data" / "lanl-failures-1996-2005.csv.xz"
    if lanl.exists():
        rf.fleet_model(rf.read(lanl), at="long run")  # what is compiled on first use
        measured(lanl, "LANL whole")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.csv")
        write_log(path, given.nodes, given.events, np.random.default_rng(1))
        measured(path, "a made log")


if __name__ == "__main__":
    main()
