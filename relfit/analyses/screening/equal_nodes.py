"""Random logs of equal nodes: whether numbers of failures scatter more than those of nodes with one distribution.

A node's failures are compared with the cumulative hazard of its own lives (the score test of a frailty; Commenges and
Andersen 1995), since counts alone scatter as much in a fleet of equal nodes with a heavy tail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from relfit.base.arrays import FloatArray
from relfit.fitting import fit
from relfit.fitting.goodness_of_fit import spent_hazards
from relfit.log.lifedata import LifeData

if TYPE_CHECKING:
    from relfit.fitting.families.base import Family


__all__ = ["equal_nodes_p"]

_FAMILIES = ("weibull", "gamma", "lognormal")
_ALIKE = 1.25  # failures in random logs relative to those seen
_AT_ONCE = 40  # random logs
_PLAIN = 25  # of them that scatter as much
_MOST_LIVES = 20_000  # of the nodes that are looked at
_MOST_DRAWN = 4_000_000  # times between failures in all random logs


def equal_nodes_p(lives: LifeData, n_resamples: int, rng: np.random.Generator) -> float:
    """P-value: share of random logs of equal nodes whose failures scatter at least as much around their expectation.

    Times between failures have the distribution, among Weibull, gamma and lognormal, that describes those of all nodes
    best by AIC; each node runs from a random moment on and for as long as it was watched. A distribution whose random
    logs have 25 % more or fewer failures than these nodes gives way to the next; if all do, the nearest is used.
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
        seen = _scatter(failures[None], np.bincount(node, hazards, lives.n_groups).astype(np.float64)[None])[0]
        scatter, drawn, chance = np.zeros(0), 0, None
        while scatter.size < times and chance is None:
            size = min(several, times - scatter.size)
            counts, spent = _random_logs(family, np.tile(time, size), rng)
            drawn += int(counts.sum())
            scatter = np.append(scatter, _scatter(counts.reshape(size, -1), spent.reshape(size, -1)))
            chance = _plain(seen, scatter, times)
        off = abs(np.log(max(drawn, 1) / scatter.size / failures.sum()))
        if off < nearest:
            nearest = off
            p = (1.0 + int(np.sum(scatter >= seen))) / (1.0 + times) if chance is None else chance
        if off < np.log(_ALIKE):
            break
    return p


def _plain(seen: float, drawn: FloatArray, times: int) -> float | None:
    """The p-value where it is plain: large (Besag and Clifford 1991), or ten deviations out, as small as can be."""
    reached = int(np.sum(drawn >= seen))
    if reached >= _PLAIN:
        return reached / drawn.size
    far = drawn.size >= _AT_ONCE and seen > drawn.mean() + 10.0 * drawn.std()
    return 1.0 / (1.0 + times) if far and not reached else None


def _scatter(counts: FloatArray, spent: FloatArray) -> FloatArray:
    """The score for a spread of rates in each log: squares of failures less those expected, beyond what chance adds."""
    total = np.maximum(counts.sum(axis=-1, keepdims=True), 1.0)
    expected = spent * total / np.maximum(spent.sum(axis=-1, keepdims=True), 1e-300)
    return np.asarray((((counts - expected) ** 2 - counts) / total).sum(axis=-1))


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
