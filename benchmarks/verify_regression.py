"""How often the likelihood-ratio test of a covariate that does nothing rejects at a nominal 5 %, by number of failures.

Also how often 95 % intervals of a rate ratio cover it, by number of nodes (rates of variance 0.3, 20 failures each).

Run: python benchmarks/verify_regression.py [--samples 1000]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from relfit.analyses.regression.models import regression


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1000)
    samples = parser.parse_args().samples
    rng = np.random.default_rng(1)
    for size in (8, 20):
        for model in ("cox", "weibull"):
            p = []
            for _ in range(samples):
                life, covariate = rng.standard_exponential(size) * 1000.0, rng.standard_normal(size)
                table = pd.DataFrame({"ttf": life, "observed": True, "x": covariate})
                p.append(regression(table, "ttf ~ x", model).likelihood_ratio.p)
            known = np.array(p)[np.isfinite(p)]
            share = np.mean(known < 0.05)
            error = np.sqrt(share * (1.0 - share) / known.size)
            print(f"{size} failures, {model}: {share:.1%} +- {error:.1%} rejected, of {known.size} samples")
    for nodes in (6, 10, 20):
        covered = []
        for _ in range(samples):
            failures = rng.poisson(20.0 * rng.gamma(1.0 / 0.3, 0.3, nodes))
            table = pd.DataFrame({"failures": failures, "hours": 8766.0, "rack": ["a", "b"] * (nodes // 2)})
            row = regression(table, "failures ~ rack").table.iloc[0]
            covered.append(row["low"] <= 0.0 <= row["high"])
        share = np.mean(covered)
        print(f"{nodes} nodes: {share:.1%} +- {np.sqrt(share * (1.0 - share) / samples):.1%} covered")


if __name__ == "__main__":
    main()
