"""P-values under the own null, and power against other families, by simulation: the tables of docs/verification.md.

Run: python benchmarks/verify_p_values.py [--groups 2000] [--replications 199]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from benchmarks.verify_coverage import TRUTH
from relfit.fitting.families import Family

TESTS = ("ks", "cvm", "ad", "chi2")


def censored(truth: Family, groups: int, size: int, rng: np.random.Generator, known: bool) -> rf.LifeData:
    """Lives censored at random, some 40 %."""
    life = truth.sample((groups, size), rng)
    limit = rng.exponential(2.0 * float(truth.median()), life.shape)
    return rf.LifeData.from_array(np.minimum(life, limit), life <= limit, limit=limit if known else None)


def windows(truth: Family, groups: int, size: int, rng: np.random.Generator) -> rf.LifeData:
    """Nodes renewed at each failure and watched for a fixed time in which `size` failures are expected."""
    time = float(truth.mean()) * size
    life = truth.sample((groups, 6 * size + 20), rng)
    end = np.cumsum(life, axis=1)
    count = (end < time).sum(axis=1)
    rest = time - np.where(count > 0, end[np.arange(groups), np.maximum(count - 1, 0)], 0.0)
    durations = {g: np.append(life[g, : count[g]], rest[g]) for g in range(groups)}
    observed = {g: np.append(np.ones(count[g], bool), False) for g in range(groups)}
    return rf.LifeData.from_groups(durations, observed)


def cell(family: str, lives: rf.LifeData, tests: tuple[str, ...], replications: int) -> str:
    """Rejections at 5 % by test; the K-S p-values of uniformity go to stderr."""
    p = rf.fit(lives, family)[family].goodness(tests, n_resamples=replications, rng=1).p
    columns = [p[np.isfinite(p[:, i]), i] for i in range(len(tests))]
    print(family, *(f"{stats.kstest(column, 'uniform').pvalue:.2g}" for column in columns), file=sys.stderr, flush=True)
    return ", ".join(f"{100 * (column <= 0.05).mean():.1f}" for column in columns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=2000)
    parser.add_argument("--replications", type=int, default=199)
    arguments = parser.parse_args()
    groups, replications = arguments.groups, arguments.replications
    print("rejections in % at 5 %: " + ", ".join(TESTS))
    print("| sample | n | " + " | ".join(TRUTH) + " |")
    print("|---|---|" + "---|" * len(TRUTH))
    few = max(groups // 10, 100)
    streams = {family: np.random.default_rng(7) for family in TRUTH}  # one for all samples of a distribution
    for what, size, tests, n_resamples in (
        ("complete, tables", 10, TESTS[:3], 0),
        ("complete, tables", 50, TESTS[:3], 0),
        ("complete, tables", 500, TESTS[:3], 0),
        ("complete, resampling", 50, TESTS, replications),
        ("censored, times known", 10, TESTS[:3], replications),
        ("censored, times unknown", 10, TESTS[:3], replications),
        ("censored, times unknown", 50, TESTS, replications),
        ("censored, times unknown", 500, TESTS[:3], 99),
        ("renewals in a window", 10, TESTS[:3], replications),
    ):
        print(f"{what}, {size} lives", file=sys.stderr)
        cells = []
        for family, truth in TRUTH.items():
            if what.startswith("complete"):
                lives = rf.LifeData.from_array(truth.sample((groups, size), streams[family]))
            elif what.startswith("censored"):
                known = what.endswith("times known")
                lives = censored(truth, few if size == 500 else groups, size, streams[family], known)
            else:
                lives = windows(truth, groups, size, streams[family])
            cells.append(cell(family, lives, tests, n_resamples))
        print(f"| {what} | {size} | " + " | ".join(cells) + " |", flush=True)
    print()
    sizes = (20, 50, 200)
    print(f"power in % at 5 % for {', '.join(map(str, sizes))} complete lives (chi2: 99 replications)")
    print("| sample from | fitted | " + " | ".join(TESTS) + " |")
    print("|---|---|" + "---|" * len(TESTS))
    others = {**TRUTH, "loglogistic": rf.families.Loglogistic(1.5, 100.0)}
    for source, truth in list(others.items())[1:]:
        for family in TRUTH:
            if family == source:
                continue
            rows = []
            for size in sizes:
                lives = rf.LifeData.from_array(truth.sample((groups, size), np.random.default_rng(size)))
                p = rf.fit(lives, family)[family].goodness(TESTS[:3], n_resamples=0).p
                first = lives.take(range(min(groups, 300)))
                chi = rf.fit(first, family)[family].goodness(("chi2",), n_resamples=99, rng=2).p[:, 0]
                columns = [p[:, 0], p[:, 1], p[:, 2], chi[np.isfinite(chi)]]
                rows.append([f"{100 * (column <= 0.05).mean():.0f}" if column.size else "-" for column in columns])
            print(f"| {source} | {family} | " + " | ".join(", ".join(c) for c in zip(*rows, strict=True)) + " |")


if __name__ == "__main__":
    main()
