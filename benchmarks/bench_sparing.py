"""Speed of the sparing planner: a full sweep, the search for spares against a direct one, the simulation.

Run: python benchmarks/bench_sparing.py
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import special, stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import spent
from papers.sparing import CLUSTER, FAILURES, PERFORMANCE, RECOVERY, STRATEGIES
from relfit.planning import DeviceFailures, Strategies, optimise_sparing, sparing_map
from relfit.simulation import simulate_sparing


def direct(blocks: int, q: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Best spares by trying every number with scipy: the simple way, one strategy, many cases."""
    spare = np.arange(blocks)[:, None]
    open_ = stats.binom.cdf(spare, blocks, q[None]) ** 4
    load = (blocks - spare) * 4 * rate[None] * 250 / 3600
    kept = 1.0 / special.exprel(np.minimum(load, 600))
    running = kept / (1 + load * 420 / 250 + 0.0002 * kept)
    return np.argmax((blocks - spare) * open_ * running, axis=0)


def main() -> None:
    mtbf, mttr = np.geomspace(1000, 1e5, 100), np.geomspace(1, 168, 100)
    grid = DeviceFailures(mtbf, 0.5 * mtbf, mttr[:, None])
    free, recovery, gains = replace(CLUSTER, group=None), RECOVERY, PERFORMANCE
    few = grid.take((slice(0, 3), slice(0, 3)))
    optimise_sparing(free, few, recovery, gains)
    print("full sweep: 91 block sizes and spare trays, every number of spare blocks, 100 x 100 MTBF and MTTR")
    print(f"  checkpoints given: {spent(lambda: optimise_sparing(free, grid, recovery, gains))[0]:.2f} s")
    best = replace(recovery, checkpoint_every=None)
    print(f"  best checkpoints: {spent(lambda: optimise_sparing(free, grid, best, gains))[0]:.2f} s")
    print(f"  one thread:   {spent(lambda: optimise_sparing(free, grid, recovery, gains, workers=1))[0]:.2f} s")
    print("decision map of Table 1's strategies with its boundaries: ", end="")
    print(f"{spent(lambda: sparing_map(free, STRATEGIES, mtbf, mttr, recovery, gains))[0]:.2f} s")
    strategy = Strategies(9, 0)
    ours = spent(lambda: optimise_sparing(free, grid, recovery, strategies=strategy))[0]
    rate = (1 / grid.mtbf_rack + 9 / grid.mtbf_tray).ravel()
    q = grid.mttr.ravel() / (grid.mttr.ravel() + 1 / rate)
    part = slice(0, 1000)
    theirs = spent(lambda: direct(1024, q[part], rate[part]))[0] * 10
    found = optimise_sparing(free, grid, recovery, strategies=strategy).spare_blocks[0].ravel()
    same = np.mean(found[part] == direct(1024, q[part], rate[part]))
    print(f"one strategy of 1024 blocks, 10 000 cases: {ours:.3f} s; trying every number with scipy {theirs:.1f} s,")
    print(f"  {theirs / ours:.0f} times as long; same spares in {100 * same:.1f} %")
    one = STRATEGIES.take(slice(1, 2))
    simulate_sparing(replace(free, racks=4), one, FAILURES, recovery, years=0.1, n_resamples=2, rng=0)
    seconds = spent(lambda: simulate_sparing(CLUSTER, one, FAILURES, recovery, n_resamples=8, rng=0))[0]
    print(f"simulation: 8 times ten years of 36 864 trays in {seconds:.2f} s")


if __name__ == "__main__":
    main()
