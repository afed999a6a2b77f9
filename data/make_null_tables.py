"""Simulate the null distributions of K-S, Cramer-von Mises and Anderson-Darling with fitted parameters.

On complete lives they depend on the number of lives alone for the exponential, Weibull and lognormal families, and on
the number and the shape for the gamma. For each size this draws samples, fits them as `relfit.fit` does, and keeps
upper quantiles of the statistics, which `relfit.fitting.goodness.null_tables` interpolates.

    python data/make_null_tables.py            # some twenty minutes on two cores
    python data/make_null_tables.py --small    # a rough one, to try the script
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import relfit as rf
from relfit.fitting.goodness import DISTANCES, STATISTICS
from relfit.fitting.goodness_of_fit import distances_of

OUT = Path(__file__).parents[1] / "relfit" / "fitting" / "goodness" / "files" / "null_distributions.npz"
SIZES = [*range(2, 21), 22, 25, 28, 32, 36, 40, 45, 50, 56, 64, 72, 80, 90, 100, 128, 160, 200, 256, 320, 400, 512]
SIZES += [640, 800, 1000]
GAMMA_SHAPES = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 500.0]
TAILS = np.concatenate(
    [
        [0.9999, 0.9995, 0.999, 0.998, 0.995, 0.99, 0.985, 0.98, 0.97, 0.96],
        np.arange(0.95, 0.049, -0.025),
        [0.04, 0.03, 0.025, 0.02, 0.015, 0.01, 0.0075, 0.005, 0.003, 0.002, 0.001, 0.0005, 0.0002],
    ]
)
LIVES_AT_ONCE = 2_000_000


def quantiles(family: str, n: int, replications: int, shape: float, rng: np.random.Generator) -> np.ndarray:
    """Upper quantiles of the three statistics, shape (3, tails)."""
    truth = {
        "exponential": rf.families.Exponential(1.0),
        "weibull": rf.families.Weibull(1.0, 1.0),
        "lognormal": rf.families.Lognormal(0.0, 1.0),
        "gamma": rf.families.Gamma(shape, 1.0),
    }[family]
    collected = []
    left = replications
    while left > 0:
        count = min(left, max(LIVES_AT_ONCE // n, 1))
        if family == "gamma":
            # by generator and not by inversion, which is slow; small shapes in log space, below the smallest float
            sample = rng.standard_gamma(shape + 1.0, (count, n)) * rng.random((count, n)) ** (1.0 / shape)
            sample = np.maximum(sample, 1e-300)
        else:
            sample = truth.sample((count, n), rng)
        lives = rf.LifeData.from_array(sample)
        fits = rf.fit(lives, family, n_resamples=0)[family]
        values = distances_of(fits.family, fits.parameter_array, fits.ok, lives)
        collected.append(values[:, [STATISTICS.index(name) for name in DISTANCES]])
        left -= count
    values = np.concatenate(collected)
    lost = np.isnan(values).any(axis=1).mean()
    if lost > 1e-3:
        raise SystemExit(f"{family} n={n} shape={shape}: {lost:.2%} of the samples could not be fitted")
    return np.nanquantile(values, 1.0 - TAILS, axis=0).T


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    sizes = SIZES[::6] if arguments.small else SIZES
    rng = np.random.default_rng(20261121)
    tables: dict[str, np.ndarray] = {}
    for family, shapes in {
        "exponential": [1.0],
        "weibull": [1.0],
        "lognormal": [1.0],
        "gamma": GAMMA_SHAPES,
    }.items():
        began = time.perf_counter()
        table = np.empty((len(shapes), len(sizes), 3, TAILS.size), dtype=np.float32)
        for row, shape in enumerate(shapes):
            for column, n in enumerate(sizes):
                most = 2_000 if arguments.small else 400_000 if family != "gamma" else 200_000
                replications = min(most, max(most // 10, int(100 * most / n)))
                table[row, column] = quantiles(family, n, replications, shape, rng)
        tables[family] = table
        print(f"{family}: {time.perf_counter() - began:.0f} s", flush=True)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        arguments.out, sizes=np.array(sizes), tails=TAILS, gamma_shapes=np.array(GAMMA_SHAPES), **tables
    )
    print(f"{arguments.out}: {arguments.out.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
