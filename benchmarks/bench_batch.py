"""A year of a batch cluster under EASY with failures, against sorting its events with NumPy; processor time.

Run: python benchmarks/bench_batch.py [--compile] [--million]
With --compile also what the first run of an installation takes; with --million also a million jobs on 10,000 nodes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from benchmarks.timing import spent
from relfit.batch import SystemFailures

ROOT = Path(__file__).resolve().parents[1]
PREPARE = """
import time, relfit.batch
start = time.process_time()
relfit.batch.prepare()
print(f"  rf.batch.prepare() {time.process_time() - start:7.3f} s")
"""


def compilation() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for what in ("nothing kept on disk", "kept on disk"):
            print(what, flush=True)
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder, "PYTHONPATH": str(ROOT)}
            subprocess.run([sys.executable, "-c", PREPARE], env=environment, check=True)


def year(n_jobs: int, n_nodes: int, rounds: int) -> None:
    source = rf.workloads.TwoStage(
        n_nodes, load=0.95, serial=0.47, power_of_two=0.36, widest=1024, first_stage=0.998, stages_apart=3.5,
        short="15min", long="10h", walltime=(1.0, 3.0),
    )  # fmt: skip
    jobs = rf.workloads.scale_load(source.sample(n_jobs, rng=1), 0.95, n_nodes)
    failures = SystemFailures(mtbf=24 * 20_000 / n_nodes / 8, repair="24h")
    run = rf.simulate_batch(jobs, failures=failures)
    ours = spent(lambda: rf.simulate_batch(jobs, failures=failures), rounds, time.process_time)[rounds // 2]
    times = np.concatenate([run.jobs["submission_time"], run.jobs["finish_time"]])
    bound = spent(lambda: np.sort(times), rounds, time.process_time)[rounds // 2]
    print(f"{run.headline}\n{len(jobs):,} jobs, {run.counts['events']:,} events, median of {rounds} rounds")
    print(f"  rf.simulate_batch  {ours:7.3f} s, {1e6 * ours / run.counts['events']:.2f} microseconds an event")
    print(f"  sort of the events {bound:7.3f} s   relfit takes {ours / bound:.0f} times that (limit 100)")


def main(arguments: list[str]) -> None:
    if "--compile" in arguments:
        compilation()
    year(130_000, 1490, 5)
    if "--million" in arguments:
        year(1_000_000, 10_000, 3)


if __name__ == "__main__":
    main(sys.argv[1:])
