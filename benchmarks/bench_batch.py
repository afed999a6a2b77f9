"""A year of a batch cluster under EASY with failures, against sorting its events with NumPy.

Run: python benchmarks/bench_batch.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from benchmarks.timing import spent
from relfit.batch import SystemFailures


def main() -> None:
    jobs = rf.workloads.scale_load(rf.workloads.TwoStage(1490, load=0.9).sample(130_000, rng=1), 0.95, 1490)
    failures = SystemFailures(mtbf=24 * 20_000 / 1490 / 8, repair="24h")
    run = rf.simulate_batch(jobs, failures=failures)
    ours = spent(lambda: rf.simulate_batch(jobs, failures=failures), 5)[2]
    times = np.concatenate([run.jobs["submission_time"], run.jobs["finish_time"]])
    bound = spent(lambda: np.sort(times), 5)[2]
    print(f"{run.headline}\n{len(jobs):,} jobs, {run.counts['events']:,} events, median of 5 rounds")
    print(f"  rf.simulate_batch  {ours:7.3f} s, {1e6 * ours / run.counts['events']:.2f} microseconds an event")
    print(f"  sort of the events {bound:7.3f} s   relfit takes {ours / bound:.0f} times that (limit 100)")


if __name__ == "__main__":
    main()
