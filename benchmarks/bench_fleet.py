"""A fleet of a million groups: fits, standard errors, K-S and p-values that account for the fit; bootstrap; intervals.

Run: python benchmarks/bench_fleet.py [--groups 1000000]

Each time is set against ten times the logarithm and exponential of the same lives, measured beside it, on one core.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from benchmarks.timing import spent

SHARED = Path(os.environ.get("RELFIT_SHARED", Path(__file__).resolve().parents[1].parent / "shared"))


def bound_of(life: np.ndarray) -> float:
    """Ten times the logarithm and exponential of the lives."""
    start = time.perf_counter()
    for _ in range(10):
        np.exp(np.log(life))
    return time.perf_counter() - start


def everything(lives: rf.LifeData) -> None:
    """Four families, standard errors, K-S and its p-value from the tables."""
    for result in rf.fit(lives).results.values():
        assert result.standard_errors
        assert np.isfinite(result.ks).any()
        assert np.isfinite(result.goodness(("ks",), n_resamples=0).p).any()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=1_000_000)
    groups = parser.parse_args().groups
    rng = np.random.default_rng(0)
    everything(rf.LifeData.from_array(rng.weibull(0.8, (50, 20))))
    print("complete lives, 20 a group: four families, standard errors, K-S and its p-value (tables)")
    for part in (groups // 4, groups):
        life = rng.weibull(0.8, (part, 20)) * 1000.0
        bound = bound_of(life)
        lives = rf.LifeData.from_array(life)
        ours = spent(lambda lives=lives: everything(lives))[0]
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"  {part:>9} groups: {ours:6.2f} s, {ours / part / 20 * 1e9:5.0f} ns a life; bound {bound:5.2f} s, "
            f"ratio {ours / bound:4.1f}; peak memory so far {memory:.1f} GB"
        )

    part = groups // 20
    age = rng.uniform(0.0, 500.0, (part, 20))
    weibull = rf.families.Weibull(0.8, 1000.0)
    life = age + weibull.excess_sample(age, rng=rng)
    step = np.floor(life / 100.0) * 100.0
    kinds = {
        "left-truncated": rf.LifeData.from_array(life, entry=age),
        "in intervals": rf.LifeData.from_intervals(step, step + 100.0),
        "weighted": rf.LifeData.from_array(life, weights=rng.integers(1, 5, life.shape)),
    }
    print(f"{part} groups of 20 lives of other kinds, four families with standard errors")
    for name, lives in kinds.items():
        bound = bound_of(life)
        ours = spent(lambda lives=lives: rf.fit(lives))[0]
        print(f"  {name:<15}{ours:6.2f} s; bound {bound:5.2f} s, ratio {ours / bound:5.1f}")

    path = SHARED / "data" / "lanl-failures-1996-2005.csv.xz"
    if not path.exists():
        print(f"no LANL log in {SHARED}: bootstrap and intervals left out")
        return
    log = rf.read(path)
    reading = spent(lambda: rf.read(path))[0]
    ours = spent(lambda: rf.fleet_model(log))[0]
    print(f"LANL whole, {log.n_nodes} nodes: the model of the fleet {ours:.1f} s; reading {reading:.1f} s")
    lives = log.where(system=18).ttf()
    fits = rf.fit(lives)
    start = time.perf_counter()
    for result in fits.results.values():
        result.goodness(n_resamples=999)
    print(f"LANL system 18: K-S, C-M, A-D of four families by 999 replications: {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    fits.interval("mean", kind="bootstrap", n_resamples=999)
    print(f"  bootstrap interval of the mean, 999 replications: {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    fits.interval("mean", kind="profile")
    first = time.perf_counter() - start
    start = time.perf_counter()
    fits.interval("reliability", at="24h")
    print(
        f"  profile interval of the mean: {first:.1f} s; then of the reliability: {time.perf_counter() - start:.1f} s"
    )


if __name__ == "__main__":
    main()
