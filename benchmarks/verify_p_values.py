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


def row(what: str, family: str, size: int, lives: rf.LifeData, tests: tuple[str, ...], replications: int) -> None:
    """One line: rejections at 5 % and the K-S p-value of uniformity, by test."""
    fit = rf.fit(lives, family)[family]
    found = fit.goodness(tests, n_resamples=replications, rng=1)
    cells = []
    for i in range(len(tests)):
        p = found.p[np.isfinite(found.p[:, i]), i]
        cells.append(f"{100 * (p <= 0.05).mean():.1f} ({stats.kstest(p, 'uniform').pvalue:.2g})" if p.size else "-")
    cells += ["-"] * (len(TESTS) - len(cells))
    print(f"| {family} | {size} | {what} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=2000)
    parser.add_argument("--replications", type=int, default=199)
    arguments = parser.parse_args()
    groups, replications = arguments.groups, arguments.replications
    print("rejections in % at 5 %, and in brackets the p-value of K-S against uniform")
    print("| family | lives | kind | " + " | ".join(TESTS) + " |")
    print("|---|---|---|" + "---|" * len(TESTS))
    for family, truth in TRUTH.items():
        rng = np.random.default_rng(7)
        for size in (10, 50, 500):
            row(
                "complete, tables",
                family,
                size,
                rf.LifeData.from_array(truth.sample((groups, size), rng)),
                TESTS[:3],
                0,
            )
        lives = rf.LifeData.from_array(truth.sample((groups, 50), rng))
        row("complete, bootstrap of chi2", family, 50, lives, TESTS, replications)
        row("censored, limits known", family, 10, censored(truth, groups, 10, rng, True), TESTS[:3], replications)
        row("censored, limits unknown", family, 10, censored(truth, groups, 10, rng, False), TESTS[:3], replications)
        row("censored, limits unknown", family, 50, censored(truth, groups, 50, rng, False), TESTS, replications)
        few = max(groups // 10, 100)
        row("censored, limits unknown", family, 500, censored(truth, few, 500, rng, False), TESTS[:3], 99)
        row("renewals in a window", family, 10, windows(truth, groups, 10, rng), TESTS[:3], replications)
    print()
    print("power in % at 5 %, complete lives, tables (chi2: 99 replications)")
    print("| lives of | fitted | lives | " + " | ".join(TESTS) + " |")
    print("|---|---|---|" + "---|" * len(TESTS))
    others = {**TRUTH, "loglogistic": rf.families.Loglogistic(1.5, 100.0)}
    for source, truth in others.items():
        for size in (20, 50, 200):
            lives = rf.LifeData.from_array(truth.sample((groups, size), np.random.default_rng(size)))
            few = lives.take(range(300))
            for family in TRUTH:
                if family == source or (source == "exponential"):
                    continue
                p = rf.fit(lives, family)[family].goodness(TESTS[:3], n_resamples=0).p
                chi = rf.fit(few, family)[family].goodness(("chi2",), n_resamples=99, rng=2).p[:, 0]
                cells = [f"{100 * (p[:, i] <= 0.05).mean():.0f}" for i in range(3)]
                known = np.isfinite(chi)
                cells.append(f"{100 * (chi[known] <= 0.05).mean():.0f}" if known.any() else "-")
                print(f"| {source} | {family} | {size} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
