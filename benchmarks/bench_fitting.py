"""Fitting 100 000 groups of 50 lives: four families with K-S, against peers in a loop and against log and exp.

Run: python benchmarks/bench_fitting.py [--groups 100000] [--peer-fits 12]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from benchmarks.timing import spent
from tests.fitting.reference import DISTRIBUTIONS, _lifelines, _reliability, _scipy, _surpyval, quiet

FAMILIES = ("exponential", "weibull", "gamma", "lognormal")


def loop_per_fit(
    call: Callable[..., object], durations: np.ndarray, observed: np.ndarray, kinds: tuple[str, ...]
) -> float:
    """Mean seconds for one family on one sample, the K-S statistic by scipy included."""
    from scipy import stats

    done = 0
    start = time.perf_counter()
    with quiet():
        for row, flags in zip(durations, observed, strict=True):
            for family in kinds:
                parameters = call(family, row, flags)
                if parameters is not None:
                    stats.kstest(row, DISTRIBUTIONS[family](parameters).cdf)
                    done += 1
    return (time.perf_counter() - start) / done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=100_000)
    parser.add_argument("--peer-fits", type=int, default=12, help="samples on which the peers are timed")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    life = rng.weibull(0.8, (options.groups, 50)) * 1000.0
    limit = rng.exponential(2500.0, life.shape)
    samples = {
        "right-censored": rf.LifeData.from_array(np.minimum(life, limit), life <= limit),
        "complete": rf.LifeData.from_array(life),
    }
    start = time.perf_counter()
    for lives in samples.values():
        rf.fit(lives.take(range(3)))
    print(f"first call, compiling or loading the kernels: {time.perf_counter() - start:.2f} s")

    def bound() -> None:
        for _ in range(10):
            np.exp(np.log(life))

    print(f"{options.groups} groups of 50 lives, {len(FAMILIES)} families with standard errors and K-S")
    for name, lives in samples.items():
        # the bound and the fit in turn, so that both meet the same machine
        pairs = [
            (spent(bound)[0], spent(lambda lives=lives: [f.ks for f in rf.fit(lives).results.values()])[0])
            for _ in range(3)
        ]
        base, ours = (sorted(p[i] for p in pairs)[1] for i in (0, 1))
        ratio = sorted(b / a for a, b in pairs)[1]
        per_fit = ours / options.groups / len(FAMILIES)
        share = 1.0 - lives.observed.mean()
        print(f"{name} ({share:.0%} censored): {ours:.2f} s, {per_fit * 1e6:.2f} us a fit")
        print(f"  10 x log and exp of the same array: {base:.2f} s; ratio {ratio:.1f} (limit 6)")
        rows = slice(0, options.peer_fits)
        durations = lives.durations.reshape(-1, 50)[rows]
        observed = lives.observed.reshape(-1, 50)[rows]
        calls = {"scipy": _scipy, "lifelines": _lifelines, "surpyval": _surpyval, "reliability": _reliability}
        for peer, call in calls.items():
            kinds = ("exponential", "weibull", "lognormal") if peer == "lifelines" else FAMILIES
            with quiet():
                call("weibull", durations[0], observed[0])
            each = loop_per_fit(call, durations, observed, kinds)
            print(f"  {peer:<12}{each * 1e3:8.2f} ms a fit, {each / per_fit:8.0f} times ours")


if __name__ == "__main__":
    main()
