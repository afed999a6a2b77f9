"""Many small random samples of every kind of life, four families: statuses, and whether every estimate is a maximum.

Run: python benchmarks/verify_all_kinds.py [--samples 200000]; some five minutes.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from tests.fitting.all_kinds import FAMILIES, check_maximum, random_lives


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=100)
    options = parser.parse_args()
    batch = min(20_000, options.samples)
    warnings.simplefilter("error")
    status: dict[str, Counter[str]] = {family: Counter() for family in FAMILIES}
    checked = dict.fromkeys(FAMILIES, 0)
    slopes = dict.fromkeys(FAMILIES, 0)
    higher = dict.fromkeys(FAMILIES, 0)
    largest = dict.fromkeys(FAMILIES, 0.0)
    seconds = dict.fromkeys(FAMILIES, 0.0)
    for number in range(options.samples // batch):
        lives = random_lives(batch, options.seed + number)
        for family in FAMILIES:
            begin = time.perf_counter()
            fit = rf.fit(lives, family)[family]
            seconds[family] += time.perf_counter() - begin
            status[family].update(fit.status.tolist())
            given = np.isfinite(fit.parameter_array).all(axis=1) & np.isfinite(fit.loglik)
            if not np.array_equal(given, fit.ok):
                print(f"  {family}: parameters and status disagree in {int((given != fit.ok).sum())} samples")
            ok = np.flatnonzero(fit.ok)
            gradient, rise, exact = check_maximum(
                family, fit.parameter_array[ok], fit.covariance[ok], fit.loglik[ok], lives.take(ok.tolist())
            )
            checked[family] += int(exact.sum())
            slopes[family] += int((gradient[exact] > 1e-3).sum())
            higher[family] += int((rise[exact] > 1e-6).sum())
            largest[family] = max(largest[family], float(gradient[exact].max()))
        print(f"{(number + 1) * batch} samples", file=sys.stderr, flush=True)
    print(
        "| family | ok | checked | largest slope | slope above 1e-3 | higher point nearby | not converged | seconds |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for family in FAMILIES:
        print(
            f"| {family} | {status[family]['ok']} | {checked[family]} | {largest[family]:.1e} | {slopes[family]} | "
            f"{higher[family]} | {status[family]['not_converged']} | {seconds[family]:.0f} |"
        )


if __name__ == "__main__":
    main()
