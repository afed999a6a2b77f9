"""What a log of a million failures takes: trend, calibrate and report, beside pandas reading the same file.

Each command is a process of its own; processor time is that of all of its processes. The bound is
``pandas.read_csv`` of the file with its two columns of times parsed, also a process, in the same run. Nodes are Weibull
renewals of shape 0.8, repairs lognormal, times to the second, causes three.

Run: python benchmarks/bench_large_log.py [--nodes 10000] [--failures 100] [--commands trend,calibrate,report]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import gamma

HOURS, SHAPE = 2 * 8766.0, 0.8
_BOUND = "import sys, pandas; pandas.read_csv(sys.argv[1], parse_dates=['start', 'end'])"


def write_log(path: Path, nodes: int, failures: int, rng: np.random.Generator) -> int:
    """A log of about so many failures of each node as CSV; how many there are."""
    scale = HOURS / failures / gamma(1.0 + 1.0 / SHAPE)
    parts = []
    for first in range(0, nodes, 5_000):
        size = (min(5_000, nodes - first), 4 * failures + 20)
        repair = rng.lognormal(0.0, 1.2, size)
        start = np.cumsum(scale * rng.weibull(SHAPE, size) + repair, axis=1) - repair
        row, column = np.nonzero(start < HOURS)
        parts.append(np.stack([row + first, start[row, column], repair[row, column]]))
    node, start, repair = np.concatenate(parts, axis=1)[:, np.argsort(np.concatenate([p[1] for p in parts]))]
    begun = pd.Timestamp("2020-01-01") + pd.to_timedelta((start * 3600).astype(np.int64), unit="s")
    ended = begun + pd.to_timedelta((repair * 3600).astype(np.int64) + 1, unit="s")
    names, racks = (np.array([f"{letter}{i:06d}" for i in range(nodes)]) for letter in "nr")
    number = node.astype(np.int64)
    table = {
        "node": names[number],
        "rack": racks[number // 32],
        "start": begun.strftime("%Y-%m-%d %H:%M:%S"),
        "end": ended.strftime("%Y-%m-%d %H:%M:%S"),
        "cause": rng.choice(["hardware", "software", "network"], number.size, p=[0.5, 0.35, 0.15]),
    }
    pd.DataFrame(table).to_csv(path, index=False)
    return number.size


def spent(command: list[str]) -> tuple[float, float]:
    """Processor and wall seconds of a command with all of its processes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--failures", type=int, default=100)
    parser.add_argument("--commands", default="trend,calibrate,report")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, page = Path(folder, "log.csv"), Path(folder, "report.html")
        events = write_log(path, given.nodes, given.failures, np.random.default_rng(1))
        bound = min(spent([sys.executable, "-c", _BOUND, str(path)])[0] for _ in range(3))
        print(f"{given.nodes:,} nodes, {events:,} failures; pandas reads them in {bound:.1f} s of processor time")
        for name in given.commands.split(","):
            more = ["--out", str(page)] if name == "report" else []
            used, wall = spent([sys.executable, "-m", "relfit", name, str(path), *more])
            most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
            size = f", page of {page.stat().st_size / 1e6:.1f} MB" if page.exists() else ""
            print(
                f"{name}: {used:.1f} s of processor time, {used / bound:.1f} times that; {wall:.1f} s on the clock; "
                f"largest process so far {most:.1f} GB{size}",
                flush=True,
            )


if __name__ == "__main__":
    main()
