"""Likelihoods on real logs against scipy, lifelines, SurPyval and `reliability`: where does a peer find a higher one?

Run: python benchmarks/verify_likelihood.py [--shared ../shared] [--groups 100]; about a second a group.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from tests.fitting.reference import log_likelihood, peers

LOGS = {
    "LANL": ("lanl-failures-1996-2005.csv.xz", ["node", "system"]),
    "Grid'5000": ("grid5000-fta", ["node", "location"]),
    "Titan": ("titan-gpu-lifetimes.csv.xz", ["cage", "slot"]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path(__file__).resolve().parents[2] / "shared")
    parser.add_argument("--groups", type=int, default=100, help="groups drawn from each log and grouping")
    parser.add_argument("--tolerance", type=float, default=1e-6)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    for name, (file, groupings) in LOGS.items():
        log = rf.read(options.shared / "data" / file)
        for per in groupings:
            lives = log.ttf(per=per, first="never")  # the others take no time that was in progress
            fits = rf.fit(lives)
            chosen = np.flatnonzero((lives.sizes > 0) & (lives.sizes < 5000))
            chosen = rng.choice(chosen, min(options.groups, chosen.size), replace=False)
            compared = worse = failed = 0
            margin = -np.inf
            for position in chosen:
                sample = lives.take([int(position)])
                for family in fits.families:
                    if not fits[family].ok[position]:
                        continue
                    ours = log_likelihood(
                        family, fits[family].parameter_array[position], sample.durations, sample.observed
                    )
                    found = peers(family, sample.durations, sample.observed)
                    failed += (3 if family == "gamma" else 4) - len(found)
                    for parameters in found.values():
                        theirs = log_likelihood(family, parameters, sample.durations, sample.observed)
                        if np.isfinite(theirs):
                            compared += 1
                            margin = max(margin, theirs - ours)
                            worse += theirs - ours > options.tolerance
            print(
                f"{name}, per {per}: {chosen.size} groups, {compared} fits compared, {failed} rejected by a peer; "
                f"higher by more than {options.tolerance:g} in {worse}; largest difference {margin:.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
