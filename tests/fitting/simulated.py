"""Simulated lives of the core families, and how p-values are held against the uniform law; for tests and benchmarks."""

from __future__ import annotations

import numpy as np
from scipy import stats

import relfit as rf
from relfit.fitting import Goodness

TRUTH: dict[str, rf.families.Family] = {
    "exponential": rf.families.Exponential(1e-3),
    "weibull": rf.families.Weibull(0.7, 1000.0),
    "gamma": rf.families.Gamma(0.8, 1000.0),
    "lognormal": rf.families.Lognormal(6.0, 1.5),
}


def complete(family: str, groups: int, size: int, seed: int) -> rf.LifeData:
    """Lives that all ended."""
    return rf.LifeData.from_array(TRUTH[family].sample((groups, size), rng=seed))


def up_to_median(family: str, groups: int, size: int, seed: int) -> rf.LifeData:
    """Lives watched until the true median."""
    life = TRUTH[family].sample((groups, size), rng=seed)
    limit = float(TRUTH[family].median())
    return rf.LifeData.from_array(np.minimum(life, limit), life <= limit, limit=limit)


def randomly_censored(family: str, groups: int, size: int, seed: int, known: bool) -> rf.LifeData:
    """Each life with a limit of its own, 38 % censored; the limits of lives that failed are given or not."""
    rng = np.random.default_rng(seed)
    life = TRUTH[family].sample((groups, size), rng=rng)
    limit = TRUTH[family].quantile(rng.uniform(0.25, 1.0, (groups, size)))
    return rf.LifeData.from_array(np.minimum(life, limit), life <= limit, limit=limit if known else None)


def renewals(family: str, groups: int, expected: float, seed: int) -> rf.LifeData:
    """Nodes renewed at each failure and watched for the same time, as logs give them; the last life is censored."""
    rng = np.random.default_rng(seed)
    window = expected * float(TRUTH[family].mean())
    life = TRUTH[family].sample((groups, int(5 * expected + 60)), rng=rng)
    end = life.cumsum(axis=1)
    if (end[:, -1] <= window).any():
        raise ValueError("too few lives were drawn for this window")
    before = np.concatenate([np.zeros((groups, 1)), end[:, :-1]], axis=1)
    kept = before < window
    offsets = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    seen = end <= window
    return rf.LifeData(
        np.where(seen, life, window - before)[kept], seen[kept], offsets, rf.LifeData.from_array(life[:, :1]).groups
    )


def uniform_p(found: Goodness, test: str, rng: np.random.Generator | None = None) -> float:
    """P-value of K-S that the p-values of `test` are uniform.

    P-values from replicates are multiples of one over their number; `rng` spreads each over its step.
    """
    p = found.p[:, found.tests.index(test)]
    known = np.isfinite(p)
    values = p[known]
    if rng is not None:
        step = 1.0 / (np.where(found.n_resamples[known] > 0, found.n_resamples[known], np.inf) + 1.0)
        values = values - step * rng.random(values.size)
    return float(stats.kstest(values, "uniform").pvalue)


def rejected(found: Goodness, test: str, level: float = 0.05) -> float:
    """Share of groups with a p-value up to `level`, in percent."""
    p = found.p[:, found.tests.index(test)]
    return float(100.0 * np.mean(p[np.isfinite(p)] <= level))
