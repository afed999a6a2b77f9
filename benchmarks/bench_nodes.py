"""RA-Opt over many nodes, and the search for the best set against brute force.

Run: python benchmarks/bench_nodes.py [--nodes 100000] [--cases 1000]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from relfit.families import Weibull
from relfit.jobs import Amdahl, Checkpoint, best_nodes, best_size, ra_opt
from relfit.system import System


def fleet(nodes: int) -> System:
    rng = np.random.default_rng(0)
    return System(
        Weibull(rng.uniform(0.5, 1.5, nodes), rng.uniform(300.0, 3000.0, nodes) * nodes),
        rng.uniform(0.0, 2000.0, nodes),
        longest_age=None,
    )


def brute_force(b, a, t, law, work, restart, sets) -> float:
    x0, w0 = np.polynomial.legendre.leggauss(12)
    ends = np.concatenate([[0.0], 0.5 ** np.arange(14, -1, -1)])
    u = (ends[:-1, None] + np.diff(ends)[:, None] * 0.5 * (1 + x0)).ravel()
    w = (np.diff(ends)[:, None] * 0.5 * w0).ravel()
    best = np.inf
    for k, z in sets.items():
        length = float(law.time(work, [k])[0])
        grown = [((t[:, None] + x) / a[:, None]) ** b[:, None] for x in (length * u, np.array([length]))]
        with np.errstate(all="ignore"):
            value = np.exp(z @ (grown[1] - grown[0])) @ (w * length)
            value += restart * np.expm1(z @ (grown[1][:, 0] - (t / a) ** b))
        best = min(best, float(np.nanmin(value)))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--cases", type=int, default=1000)
    options = parser.parse_args()
    system = fleet(options.nodes)
    ra_opt(system.take(np.arange(300)), 3000.0, Amdahl(0.9999))  # compiles
    law = Amdahl(0.9999)
    for name, call in (
        ("RA-Opt, order over the work", lambda: ra_opt(system, 3000.0, law, horizon=3000.0)),
        ("RA-Opt, order over the job", lambda: ra_opt(system, 3000.0, law)),
        ("with checkpoints", lambda: best_size(system, 3000.0, law, checkpoint=Checkpoint(0.1, 0.01, 0.01))),
    ):
        start = time.perf_counter()
        found = call()
        print(f"{name}, {options.nodes} nodes: {time.perf_counter() - start:.2f} s; {found.sentence}", flush=True)

    rng = np.random.default_rng(3)
    n = 12
    bits = ((np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    sets = {k: bits[bits.sum(axis=1) == k] for k in range(1, n + 1)}
    equal, greedy, ordered, gains, spent = 0, 0, 0, [], 0.0
    for case in range(options.cases):
        b = (rng.uniform(0.4, 3.0, n), np.full(n, rng.uniform(0.5, 2.0)), rng.choice([0.5, 1.0, 4.0], n))[case % 3]
        a = rng.uniform(100.0, 1000.0, n)
        t = rng.uniform(0.0, 500.0, n) * (rng.random(n) < 0.7) * (case % 3 != 1)
        law, work, restart = Amdahl(rng.uniform(0.6, 1.0)), 10 ** rng.uniform(1, 3), float(rng.choice([0.0, 1.0, 20.0]))
        wanted = brute_force(b, a, t, law, work, restart, sets)
        start = time.perf_counter()
        found = best_nodes(System(Weibull(b, a), t), work, law, restart=restart)
        spent += time.perf_counter() - start
        equal += abs(found.best_expected / wanted - 1.0) < 1e-9 and found.optimal
        greedy += found.gain < 1e-9
        ordered += found.ordered
        gains.append(found.gain)
    print(
        f"{options.cases} cases of {n} nodes: search equals brute force in {equal}, the sorted nodes are best in "
        f"{greedy} (hazards ordered alike in {ordered}); largest gain {100 * max(gains):.2f} %; "
        f"{1e3 * spent / options.cases:.1f} ms each"
    )


if __name__ == "__main__":
    main()
