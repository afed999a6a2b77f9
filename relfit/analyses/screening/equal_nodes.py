"""Random logs of equal nodes: whether numbers of failures differ more than those of nodes with one distribution.

A node's failures are compared with the cumulative hazard of its own lives: the counts of equal nodes with a heavy tail
scatter as much. Of all nodes together (the score test of a frailty; Commenges and Andersen 1995), and of one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from relfit.base.arrays import FloatArray
from relfit.fitting import fit
from relfit.fitting.families.base import Family
from relfit.fitting.goodness_of_fit import spent_hazards
from relfit.log.lifedata import LifeData

_FAMILIES = ("weibull", "gamma", "lognormal")
_ALIKE = 1.25  # failures in random logs relative to those seen
_AT_ONCE = 40  # random logs
_PLAIN = 25  # of them that differ as much
_MOST_LIVES = 20_000  # of the nodes that are looked at
_MOST_DRAWN = 4_000_000  # times between failures in all random logs


def equal_nodes_p(lives: LifeData, n_resamples: int, rng: np.random.Generator) -> float:
    """P-value: share of random logs of equal nodes whose failures differ at least as much from their expectation.

    By their scatter or the largest excess of one node, whichever is rarer among the random logs; the smaller share is
    itself compared with that of every random log (Westfall and Young 1993). Times between failures have the
    distribution that describes those of all nodes best by AIC; one whose random logs have 25 % more or fewer failures
    than these nodes gives way to the next. Each node runs from a random moment on, for as long as it was watched.
    """
    if lives.durations.size > _MOST_LIVES:
        share = _MOST_LIVES / lives.durations.size
        lives = lives.take(np.flatnonzero(rng.random(lives.n_groups) < share).tolist())
    if not lives.observed.any() or lives.sizes.max() < 2:
        return 1.0
    pooled, node = lives.pooled(), lives.group_codes()
    fits = fit(pooled, _FAMILIES, n_resamples=0)
    ok: list[Any] = sorted((one for one in fits.results.values() if one.ok[0]), key=lambda one: -float(one.loglik[0]))
    time, failures = lives.total_time, lives.n_failures.astype(np.float64)
    times = int(np.clip(_MOST_DRAWN // max(int(failures.sum()), 1), 19, n_resamples))
    several = max(1, min(_AT_ONCE, times, 1_000_000 // time.size))
    nearest, p = np.inf, 1.0
    for one in ok:
        family: Any = one.distribution[0]
        hazards = spent_hazards(type(family), one.parameter_array, pooled)
        seen = _scores(failures[None], np.bincount(node, hazards, lives.n_groups).astype(np.float64)[None])
        scores, drawn, chance = np.zeros((0, 2)), 0, None
        while len(scores) < times and chance is None:
            size = min(several, times - len(scores))
            counts, spent = _random_logs(family, np.tile(time, size), rng)
            drawn += int(counts.sum())
            scores = np.concatenate([scores, _scores(counts.reshape(size, -1), spent.reshape(size, -1))])
            chance = _plain(seen[0], scores, times)
        off = abs(np.log(max(drawn, 1) / len(scores) / failures.sum()))
        if off < nearest:
            nearest, p = off, _rarer(seen, scores) if chance is None else chance
        if off < np.log(_ALIKE):
            break
    return p


def _plain(seen: FloatArray, drawn: FloatArray, times: int) -> float | None:
    """The p-value where it is plain: large (Besag and Clifford 1991), or ten deviations out, as small as can be."""
    reached = (drawn >= seen).sum(axis=0)
    if reached.min() >= _PLAIN:
        return min(1.0, reached.size * float(reached.min()) / len(drawn))
    far = (seen > drawn.mean(axis=0) + 10.0 * drawn.std(axis=0)) & (reached == 0)
    return 1.0 / (1.0 + times) if len(drawn) >= _AT_ONCE and far.any() else None


def _rarer(seen: FloatArray, drawn: FloatArray) -> float:
    """Share of the logs, with the one seen, whose rarer score is as rare as its own; if equal, the other score."""
    every = np.concatenate([seen, drawn])
    reached = [len(every) - np.searchsorted(np.sort(score), score) for score in every.T]
    rarer, other = np.sort(reached, axis=0)
    return float(np.mean((rarer < rarer[0]) | ((rarer == rarer[0]) & (other <= other[0]))))


def _scores(counts: FloatArray, spent: FloatArray) -> FloatArray:
    """Scores of logs, (logs, 2): squares of failures less those expected, beyond chance; largest Poisson deviance."""
    total = np.maximum(counts.sum(axis=-1, keepdims=True), 1.0)
    expected = np.maximum(spent * total / np.maximum(spent.sum(axis=-1, keepdims=True), 1e-300), 1e-300)
    excess = counts - expected
    scatter = ((excess**2 - counts) / total).sum(axis=-1)
    deviance = np.where(excess > 0.0, special.xlogy(counts, counts / expected) - excess, 0.0)
    return np.stack([scatter, deviance.max(axis=-1)], axis=-1)


def _random_logs(family: Family, time: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Failures of renewal processes in steady state within `time`, and the cumulative hazard of their lives."""
    count = np.zeros(time.size)
    at = family.residual_sample(time.size, rng)
    spent = np.log(family.mean()) - family.log_integrated_tail(np.minimum(at, time))
    running = np.arange(time.size)
    while True:
        on = at < time[running]
        at, running = at[on], running[on]
        if not running.size:
            return count, spent
        count[running] += 1.0
        life = family.sample(at.size, rng)
        spent[running] += family.cumulative_hazard(np.minimum(life, time[running] - at))
        at += life
