"""RA-Opt over many nodes.

Run: python benchmarks/bench_nodes.py [--nodes 100000]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from relfit.fitting.families import Weibull
from relfit.system import System
from relfit.system.jobs import Amdahl, Checkpoint, Job, best_size, ra_opt


def fleet(nodes: int) -> System:
    rng = np.random.default_rng(0)
    return System(
        Weibull(rng.uniform(0.5, 1.5, nodes), rng.uniform(300.0, 3000.0, nodes) * nodes),
        rng.uniform(0.0, 2000.0, nodes),
        longest_age=None,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100_000)
    options = parser.parse_args()
    system = fleet(options.nodes)
    ra_opt(system.take(np.arange(300)), Job(3000.0, Amdahl(0.9999)))  # compiles
    law = Amdahl(0.9999)
    for name, call in (
        ("RA-Opt, order over the work", lambda: ra_opt(system, Job(3000.0, law), horizon=3000.0)),
        ("RA-Opt, order over the job", lambda: ra_opt(system, Job(3000.0, law))),
        ("with checkpoints", lambda: best_size(system, Job(3000.0, law, checkpoint=Checkpoint(0.1, 0.01, 0.01)))),
    ):
        start = time.perf_counter()
        best = call()
        print(f"{name}, {options.nodes} nodes: {time.perf_counter() - start:.2f} s; {best.headline}", flush=True)


if __name__ == "__main__":
    main()
