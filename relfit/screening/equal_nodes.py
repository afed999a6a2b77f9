"""Random logs of equal nodes: whether numbers of failures scatter more than those of nodes with one distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from relfit.arrays import FloatArray, IntArray
from relfit.fitting import fit
from relfit.lifedata import LifeData

__all__ = ["equal_nodes_p"]

_FAMILIES = ("weibull", "gamma", "lognormal")
_ALIKE = 1.25  # failures in random logs relative to those seen
_MOST_LIVES = 100_000  # of the nodes that are looked at
_MOST_DRAWN = 10_000_000  # times between failures in all random logs


def equal_nodes_p(lives: LifeData, n_resamples: int, rng: np.random.Generator) -> float:
    """Share of random logs of equal nodes whose numbers of failures scatter as much as these.

    Times between failures are of the family, among Weibull, gamma and lognormal, that describes those of all nodes best
    by AIC; each node runs from a random moment on and for as long as it was watched. A family whose random logs have
    many more or fewer failures than these nodes does not describe them, whatever its likelihood: the nearest does.

    Parameters
    ----------
    lives : LifeData
        One group per node, renewed by its failures; of more than 100 000 lives, those of some nodes, at random.
    n_resamples : int
        Random logs; fewer of large fleets.
    rng : numpy.random.Generator

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> equal_nodes_p(LifeData.from_array(rng.standard_exponential((50, 20))), 99, rng) > 0.05
    True
    >>> rates = np.where(np.arange(50) < 5, 5.0, 1.0)[:, None]
    >>> gaps = np.cumsum(rng.standard_exponential((50, 200)) / rates, axis=1)
    >>> gaps = [np.diff(row[row < 20.0], prepend=0.0) for row in gaps]
    >>> equal_nodes_p(LifeData.from_groups(gaps), 99, rng)
    0.01
    """
    if lives.durations.size > _MOST_LIVES:
        share = _MOST_LIVES / lives.durations.size
        lives = lives.take(np.flatnonzero(rng.random(lives.n_groups) < share).tolist())
    if not lives.observed.any() or lives.sizes.max() < 2:
        return 1.0
    fits = fit(lives.pooled(), _FAMILIES, n_resamples=0)
    ok: list[Any] = sorted((one for one in fits.results.values() if one.ok[0]), key=lambda one: -float(one.loglik[0]))
    time, failures = lives.total_time, lives.n_failures.astype(np.float64)

    def scatter(counts: FloatArray) -> FloatArray:
        """Variance of the counts relative to Poisson in each random log."""
        total = counts.sum(axis=-1, keepdims=True)
        expected = time * total / time.sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            each = np.where(expected > 0.0, (counts - expected) ** 2 / expected, 0.0)
            return np.asarray(np.nan_to_num(each.sum(axis=-1) / total[..., 0], nan=np.inf))

    times = int(np.clip(_MOST_DRAWN // max(int(failures.sum()), 1), 19, n_resamples))
    seen = scatter(failures[None])[0]
    several = max(1, min(times, 1_000_000 // time.size))
    nearest, p = np.inf, 1.0
    for one in ok:
        reached, drawn = 0, 0
        for begin in range(0, times, several):
            size = min(several, times - begin)
            counts = _counts(one.name, one.parameter_array[0], np.tile(time, size), rng).reshape(size, -1)
            drawn += int(counts.sum())
            reached += int((scatter(counts.astype(np.float64)) >= seen).sum())
        off = abs(np.log(max(drawn, 1) / times / failures.sum()))
        if off < nearest:
            nearest, p = off, (1.0 + reached) / (1.0 + times)
        if off < np.log(_ALIKE):
            break
    return p


def _counts(family: str, parameters: FloatArray, time: FloatArray, rng: np.random.Generator) -> IntArray:
    """Failures of renewal processes in steady state within `time`."""
    first, second = (float(value) for value in parameters)
    # the time between failures that a random moment falls into is drawn in proportion to its length
    if family == "weibull":
        whole = second * rng.gamma(1.0 + 1.0 / first, size=time.size) ** (1.0 / first)
    elif family == "gamma":
        whole = second * rng.gamma(first + 1.0, size=time.size)
    else:
        whole = rng.lognormal(first + second**2, second, time.size)
    count = np.zeros(time.size, np.int64)
    at, running = rng.random(time.size) * whole, np.arange(time.size)
    while True:
        on = at < time[running]
        at, running = at[on], running[on]
        if not running.size:
            return count
        count[running] += 1
        if family == "weibull":
            at += second * rng.standard_exponential(at.size) ** (1.0 / first)
        elif family == "gamma":
            at += second * rng.gamma(first, size=at.size)
        else:
            at += rng.lognormal(first, second, at.size)
