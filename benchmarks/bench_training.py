"""Speed of the training-cluster simulator against a slow, obvious one of the same behaviour, and how its cost grows.

Run: python benchmarks/bench_training.py
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from relfit.simulation.training import training_parameters
from tests.training.slow_reference import slow_runs


def seconds(params: Any, n: int, **options: Any) -> float:
    """Processor seconds of one run, on one thread."""
    rf.simulate_training(params, n_replications=1, workers=1, **options)
    start = time.process_time()
    rf.simulate_training(params, n_replications=n, workers=1, **options)
    return (time.process_time() - start) / n


def main() -> None:
    start = time.process_time()
    rf.simulate_training({"job_size": 10, "working_pool_size": 12, "warm_standbys": 0}, n_replications=1)
    print(f"first run of this process: {time.process_time() - start:.1f} s (compiled, or read from the cache)")
    ours = seconds(None, 50, program_semantics=True)
    begin = time.process_time()
    next(slow_runs(training_parameters(job_length="16 days").as_program(), 1))
    slow = 16 * (time.process_time() - begin)  # a sixteenth of the job
    print(f"4 096 servers, 256 days, 11 000 failures: {1e3 * ours:.2f} ms a run;")
    print(f"  the slow, obvious one {slow:.1f} s, {slow / ours:.0f} times as long")
    weibull = {"failure_distribution": "weibull", "weibull_shape": 0.7}
    print(f"weibull lives with ages: {1e3 * seconds(weibull, 20):.2f} ms a run")
    for servers in (1_000, 10_000, 100_000):
        case = {
            "job_size": servers,
            "working_pool_size": int(1.1 * servers),
            "spare_pool_size": servers // 10,
            "warm_standbys": servers // 100,
            "job_length": "20 days",
            **weibull,
        }
        run = rf.simulate_training(case, n_replications=2, workers=1)
        failures = run.outputs.loc["total_failures", "mean"]
        each = seconds(case, 3)
        print(f"{servers:>7,} servers, {failures:,.0f} failures: {1e3 * each:.2f} ms,", end=" ")
        print(f"{1e6 * each / failures:.2f} us a failure")


if __name__ == "__main__":
    main()
