"""Coverage of what a fleet in steady state says, whatever the age of its nodes when the window opens.

Nodes are renewed for fifty mean lives before a window of a year opens; plain numpy, nothing of the package. The pooled
Weibull fit of 200 nodes must cover shape and scale in 93 to 97 % of fleets, and the trend and dependence of steady
fleets must be claimed no more often than by chance.

    python benchmarks/verify_entry.py [--fleets 400] [--first known]
"""

from __future__ import annotations

import argparse
import math

import numpy as np
import pandas as pd

import relfit as rf
from relfit.io.frames import events_frame, population_frame

SCALE, YEAR = 3000.0, 8766.0
START = pd.Timestamp("2001-01-01", tz="UTC")


def fleet(shape: float, nodes: int, window: float, seed: int) -> rf.FailureLog:
    """A log with a declared window of nodes that have been running for long."""
    rng = np.random.default_rng(seed)
    mean = SCALE * math.gamma(1.0 + 1.0 / shape)
    who, when = [], []
    for node in range(nodes):
        clock = -50.0 * mean * (1.0 + rng.random())
        while clock < window:
            gaps = SCALE * rng.weibull(shape, 200)
            times = clock + np.cumsum(gaps)
            inside = times[(times > 0.0) & (times < window)]
            who += [f"n{node:03d}"] * inside.size
            when += inside.tolist()
            clock = times[-1]
    starts = pd.Series(START + pd.to_timedelta(np.asarray(when), unit="h"))
    events = events_frame(system=["s"] * len(who), node=who, start=starts, line=np.arange(len(who)) + 1)
    end = START + pd.Timedelta(hours=window)
    population = population_frame(
        system=["s"] * nodes,
        node=[f"n{i:03d}" for i in range(nodes)],
        entered=pd.Series([START] * nodes),
        left=pd.Series([end] * nodes),
        entered_known=False,
        left_known=True,
        declared=True,
    )
    return rf.FailureLog(events, population, rf.log.failurelog.Window(START, end, True, True))


def coverage(shape: float, fleets: int, first: str, nodes: int = 200, seed: int = 0) -> dict[str, float]:
    """Share of fleets whose 95 % profile intervals hold the truth, and the mean estimates."""
    lives = [fleet(shape, nodes, YEAR, seed + i).ttf(first=first) for i in range(fleets)]
    one = rf.LifeData.from_groups(
        [part.durations for part in lives],
        [part.observed for part in lives],
        stationary=[np.zeros(part.durations.size) if part.stationary is None else part.stationary for part in lives],
    )
    fit = rf.fit(one, "weibull")["weibull"]
    row: dict[str, float] = {"true shape": shape}
    for name, truth in (("shape", shape), ("scale", SCALE)):
        limits = fit.interval(name)
        row[f"{name}, mean over truth"] = float(np.mean(fit.parameters[name]) / truth)
        row[f"{name}, covered %"] = 100.0 * float(np.mean((limits.low <= truth) & (truth <= limits.high)))
    return row


def main() -> int:
    """Print the table; 1 if a share lies outside of 93 to 97 %."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fleets", type=int, default=400)
    parser.add_argument("--first", default="known")
    given = parser.parse_args()
    table = pd.DataFrame([coverage(shape, given.fleets, given.first) for shape in (0.5, 0.6, 0.7, 2.0)])
    print(table.round(3).to_string(index=False))
    shares = table.filter(like="covered").to_numpy()
    return int(not ((shares >= 93.0) & (shares <= 97.0)).all())


if __name__ == "__main__":
    raise SystemExit(main())
