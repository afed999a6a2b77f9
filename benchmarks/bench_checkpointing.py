"""Checkpoint, migration and replication planners: seconds, and ratios to a plain search or a plain Python loop.

Run: python benchmarks/bench_checkpointing.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import spent
from relfit.fitting.families import Weibull
from relfit.planning import Predictor, Scenario, plan_checkpoints, plan_migration, plan_replication
from relfit.planning.checkpointing.renewal_failures import best_fixed_interval
from relfit.planning.checkpointing.two_level import LevelCosts
from relfit.system.jobs import Checkpoint, expected_time
from relfit.system.jobs import checkpoint as exact


def timed(call: Callable[[], Any], repeat: int = 3) -> float:
    """Least seconds of a few calls, the first of which compiles and is not counted."""
    call()
    return spent(call, repeat)[0]


def searched(mu: np.ndarray, save: np.ndarray) -> np.ndarray:
    """Best intervals by scipy, one case after another."""
    found = []
    for m, c in zip(mu, save, strict=True):
        result = optimize.minimize_scalar(
            lambda w, m=m, c=c: m * np.expm1((w + c) / m) / w, bounds=(1e-6 * m, 3 * m), method="bounded"
        )
        found.append(result.x)
    return np.array(found)


def main() -> None:
    rng = np.random.default_rng(0)
    mu, save = np.exp(rng.uniform(0, 8, 1_000_000)), np.exp(rng.uniform(-6, 0, 1_000_000))
    whole = timed(lambda: exact.best_waste(mu, save))
    one = timed(lambda: exact.best_interval(mu[:2000], save[:2000]))
    by_search = timed(lambda: searched(mu[:2000], save[:2000]), 1)
    print(f"best interval and waste of a million cases: {whole:.2f} s")
    print(
        f"best interval, 2000 cases: {one * 1e3:.1f} ms; "
        f"scipy one by one {by_search * 1e3:.0f} ms ({by_search / one:.0f} x)"
    )
    family, saves = Weibull(0.6, 24.0), Checkpoint(2.0, 0.1, 0.2)
    print(f"best fixed interval, Weibull: {timed(lambda: best_fixed_interval(family, saves)) * 1e3:.0f} ms")
    print(f"time of a job of 4000 intervals: {timed(lambda: expected_time(family, 8000, saves)) * 1e3:.0f} ms")
    grid = np.geomspace(1, 1000, 100)[:, None], np.geomspace(0.01, 0.1, 100)
    two = timed(lambda: LevelCosts(grid[0], grid[1], 5 * grid[1], grid[1], 5 * grid[1], 0.1).best(), 1)
    print(f"two levels, 100 x 100 cases: {two:.2f} s")
    print(f"plan with 2000 draws: {timed(lambda: plan_checkpoints(24, saves, events=20)) * 1e3:.0f} ms")
    both = Checkpoint(None, 0.1, 0.1)
    moved = timed(
        lambda: plan_migration(8760, Scenario(0.1, 0.1, 0.02, 0.04), Predictor(0.7, 0.8), nodes=2**17, events=50)
    )
    print(f"migration plan with 1000 draws: {moved * 1e3:.0f} ms")
    copies = timed(lambda: plan_replication(43_800, both, nodes=10**5, events=50), 1)
    print(f"replication plan with 500 draws: {copies:.1f} s")


if __name__ == "__main__":
    main()
