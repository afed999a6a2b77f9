"""Fifty thousand groups of twenty lives that enter late or at an unknown age, four families.

Run: python benchmarks/bench_entry.py [--groups 50000]

The processor's time is set against that of the same lives taken from age 0, measured beside it.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from benchmarks.timing import spent

_SECONDS, _RATIO = 12.0, 50.0  # of processor time


def lives(groups: int) -> rf.LifeData:
    """Twenty lives a group: the first in progress at an unknown age, half of the others left-truncated."""
    rng = np.random.default_rng(1)
    life = 1000.0 * rng.weibull(0.8, (groups, 20))
    entry = np.where(rng.random(life.shape) < 0.5, rng.random(life.shape) * life, 0.0)
    entry[:, 0] = 0.0
    return rf.LifeData.from_array(life, rng.random(life.shape) < 0.7, entry=entry, stationary=np.arange(20) == 0)


def main() -> int:
    """Print times; 1 if they are too long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=50_000)
    groups = parser.parse_args().groups
    data = lives(groups)
    plain = rf.LifeData(data.durations, data.observed, data.offsets, data.groups)
    for part in (data, plain):
        rf.fit(part.take(range(100)))  # compiles
    times = [spent(lambda part=part: rf.fit(part), clock=time.process_time) for part in (data, plain)]
    own, bound = (each[0] for each in times)
    print(f"{groups} groups, processor time: {own:.1f} s; from age 0 {bound:.1f} s; ratio {own / bound:.1f}")
    return int(own > _SECONDS * max(groups / 50_000, 0.1) or own > _RATIO * bound)


if __name__ == "__main__":
    raise SystemExit(main())
