"""Reading a log in the Standard Workload Format, against pandas' own parse of the same numbers.

Run: python benchmarks/bench_workloads.py
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from benchmarks.timing import spent


def main() -> None:
    jobs = rf.workloads.LublinFeitelson(128).sample(250_000, rng=1)
    with tempfile.TemporaryDirectory() as folder:
        path = rf.workloads.write_workload(jobs, Path(folder, "jobs.swf"))
        text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith(";"))
        rf.read_workload(path)
        ours = spent(lambda: rf.read_workload(path), 5)[2]
    peer = spent(lambda: pd.read_csv(io.StringIO(text), sep=r"\s+", header=None), 5)[2]
    print(f"250,000 jobs, {len(text) / 1e6:.1f} MB, median of 5 rounds")
    print(f"  rf.read_workload  {ours:7.3f} s")
    print(f"  pandas, C engine  {peer:7.3f} s   relfit takes {ours / peer:.2f} times that (limit 6)")


if __name__ == "__main__":
    main()
