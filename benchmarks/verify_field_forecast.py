"""How often prediction intervals of failures among running units hold, beside a Poisson interval at the estimates.

Units of ages between 1,000 and 9,000 hours have lives drawn by numpy; those that still run fail, or not, in the next
3,000 hours. Nominal 90 %. Then Weibull units of scale 1,000 hours that came under observation at ages between two ends.

Run: python benchmarks/verify_field_forecast.py [--groups 1000]
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import stats

import relfit as rf

FLEETS = (
    ("weibull", 2.0, 15000.0, 40),
    ("weibull", 2.0, 15000.0, 200),
    ("weibull", 0.8, 40000.0, 60),
    ("weibull", 3.0, 15000.0, 40),
    ("lognormal", 1.0, 12000.0, 40),
)
AHEAD = 3000.0
LATE = (  # shape, units, first and last age at entry, hours watched, hours ahead
    (1.5, 60, 0.0, 1000.0, 100.0, 300.0),
    (1.5, 200, 500.0, 1500.0, 100.0, 300.0),
    (1.0, 200, 500.0, 1500.0, 100.0, 300.0),
    (2.0, 300, 300.0, 1000.0, 100.0, 100.0),
    (0.7, 150, 1000.0, 2000.0, 700.0, 300.0),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=1000)
    groups = parser.parse_args().groups
    print("family     shape  units  failures  failures ahead  with a fit  90 % held  Poisson at the estimates held")
    for seed, (family, shape, scale, units) in enumerate(FLEETS):
        rng = np.random.default_rng(seed)
        ages = rng.uniform(1000.0, 9000.0, (groups, units))
        unit = (
            rng.weibull(shape, ages.shape) if family == "weibull" else np.exp(shape * rng.standard_normal(ages.shape))
        )
        lives = scale * unit
        failed = lives <= ages
        truth = ((lives > ages) & (lives <= ages + AHEAD)).sum(axis=1)
        data = rf.LifeData.from_groups(dict(enumerate(np.minimum(ages, lives))), dict(enumerate(failed)))
        ahead = rf.fit(data, family)[family].failures_ahead(AHEAD, level=0.9)
        ok = ahead.status == "ok"
        low, high = ahead.low[ok, 0], ahead.high[ok, 0]
        sure = stats.poisson.interval(0.9, ahead.expected[ok, 0])
        held = [((a <= truth[ok]) & (truth[ok] <= b)).mean() for a, b in ((low, high), sure)]
        counts = f"{failed.sum(axis=1).mean():8.1f}  {truth.mean():14.1f}  {ok.mean():10.2f}"
        print(f"{family:9}  {shape:5}  {units:5}  {counts}  {held[0]:9.3f}  {held[1]:.3f}")
    print("shape  units  ages at entry  failures  failures ahead  with a fit  answered  90 % held  stock held")
    for seed, (shape, units, first, last, watched, hours) in enumerate(LATE):
        rng = np.random.default_rng(seed)
        entry = rng.uniform(first, last, (groups, units))
        lives = 1000.0 * ((entry / 1000.0) ** shape + rng.standard_exponential(entry.shape)) ** (1.0 / shape)
        end = entry + watched
        truth = ((lives > end) & (lives <= end + hours)).sum(axis=1)
        data = rf.LifeData.from_array(np.minimum(lives, end), lives <= end, entry=entry)
        fit = rf.fit(data, "weibull")["weibull"]
        ahead = fit.failures_ahead(hours, level=0.9)
        ok = ahead.status == "ok"
        held = (ahead.low[ok, 0] <= truth[ok]) & (truth[ok] <= ahead.high[ok, 0])
        counts = f"{(lives <= end).sum(axis=1).mean():8.1f}  {truth.mean():14.1f}  {fit.ok.mean():10.2f}"
        stock = (truth[ok] <= ahead.stock[ok, 0]).mean()
        answered = f"{ok.sum() / fit.ok.sum():8.3f}  {held.mean():9.3f}  {stock:10.3f}"
        print(f"{shape:5}  {units:5}  {first:5.0f} - {last:5.0f}  {counts}  {answered}")


if __name__ == "__main__":
    main()
