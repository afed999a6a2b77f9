"""Correlation of all pairs of 4,000 nodes. `bench_time.py` times everything about dependence.

Run: python benchmarks/bench_dependence.py
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from benchmarks.timing import spent
from relfit.analyses.independence import correlations


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    rng = np.random.default_rng(0)
    equal = rf.LifeData.from_array(rng.weibull(0.8, (4000, 20)))
    ragged = rf.LifeData.from_groups([rng.weibull(0.8, n) for n in rng.integers(3, 100, 4000)])
    for name, data in (("20 TTFs each", equal), ("3 to 99 TTFs", ragged)):
        for method in ("spearman", "pearson", "kendall"):
            seconds = spent(lambda data=data, method=method: correlations(data, method))[0]
            print(f"all 7,998,000 pairs of 4,000 nodes, {name}, {method:<9}{seconds:6.2f} s")


if __name__ == "__main__":
    main()
