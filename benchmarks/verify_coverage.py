"""Coverage of nominal 95 % intervals of fits, by simulation: the tables of docs/verification.md.

Run: python benchmarks/verify_coverage.py [--groups 4000] [--sizes 5 10 50]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from relfit.fitting.family_fit import FamilyFit

TRUTH = {
    "exponential": rf.families.Exponential(0.01),
    "weibull": rf.families.Weibull(0.8, 100.0),
    "gamma": rf.families.Gamma(0.7, 100.0),
    "lognormal": rf.families.Lognormal(4.0, 1.2),
}


def quantities(family: str) -> list[tuple[str, float | None, float]]:
    """Quantity, where, and its true value."""
    truth = TRUTH[family]
    own = [(name, None, float(value)) for name, value in truth.parameters().items()]
    return [
        *own,
        ("mean", None, float(truth.mean())),
        ("quantile", 0.1, float(truth.quantile(0.1))),
        ("reliability", 50.0, float(truth.sf(50.0))),
        ("hazard", 50.0, float(truth.hazard(50.0))),
    ]


def lives_of(family: str, groups: int, size: int, censored: bool, rng: np.random.Generator) -> rf.LifeData:
    """Samples of the true family, complete or censored at the median."""
    life = TRUTH[family].sample((groups, size), rng)
    if not censored:
        return rf.LifeData.from_array(life)
    limit = float(TRUTH[family].median())
    return rf.LifeData.from_array(np.minimum(life, limit), life <= limit)


def coverage(fit: FamilyFit, family: str, kind: str) -> tuple[float, float]:
    """Least and largest coverage over the quantities, in percent of the samples with an interval."""
    shares = []
    for name, at, value in quantities(family):
        interval = fit.interval(name, at=at, kind=kind, n_resamples=199)
        usable = fit.ok & ~np.isnan(interval.low) & ~np.isnan(interval.high)
        slack = 1e-9 * abs(value)
        inside = (interval.low <= value + slack) & (value - slack <= interval.high)
        shares.append(100.0 * inside[usable].mean())
    return min(shares), max(shares)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=4000)
    parser.add_argument("--sizes", type=int, nargs="*", default=[5, 10, 50])
    parser.add_argument("--kinds", nargs="*", default=["profile", "wald", "bootstrap", "exact"])
    arguments = parser.parse_args()
    print("| distribution | n | censored | " + " | ".join(arguments.kinds) + " | fitted % |")
    print("|---|---|---|" + "---|" * len(arguments.kinds) + "---|")
    for size in arguments.sizes:
        for censored in (False, True):
            for family in TRUTH:
                rng = np.random.default_rng(size + 1000 * censored)
                lives = lives_of(family, arguments.groups, size, censored, rng)
                fit = rf.fit(lives, family)[family]
                cells = []
                for kind in arguments.kinds:
                    if (kind == "exact" and family != "exponential") or (kind == "bootstrap" and size > 10):
                        cells.append("")
                        continue
                    began = time.perf_counter()
                    low, high = coverage(fit, family, kind)
                    cells.append(f"{low:.1f}" if round(high - low, 1) == 0 else f"{low:.1f}-{high:.1f}")
                    print(f"{kind}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
                share = "50 %" if censored else "none"
                shown = " | ".join(cells)
                print(f"| {family} | {size} | {share} | {shown} | {100 * fit.ok.mean():.0f} |", flush=True)


if __name__ == "__main__":
    main()
