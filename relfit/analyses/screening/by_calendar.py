"""Intervals of the Weibull shape where rates may vary over the calendar: a failed node's age against that of others.

Such a rate makes times between failures as unequal as a hazard that falls with age does. At one instant all nodes have
the same calendar, so it cancels (Cox 1972). Unequal and changing rates of nodes are allowed for by how often each had
failed until then and recently (Aalen, Borgan and Gjessing 2008, chapter 8).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relfit.analyses.screening.frailty_results import RenewalModels
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.numeric.levels import normal_quantile
from relfit.log.lifedata import LifeData

_MOST_FAILURES = 1000  # that are looked at
_BESIDE = 10  # nodes that each is compared with (sampled at random; Borgan, Goldstein and Langholz 1995)
_SPREADS = (0.25, 4.0)  # variances of gamma frailties, between and about which nodes differ
_LATELY = (360.0, 1440.0)  # hours: a bad spell of a node is weeks or months long
_STEPS = 40
_GAIN = 1e-4  # of the log-likelihood, below which no step is worth while
_YOUNGEST = 1e-6  # of the mean time between failures
_BEYOND = 1.05  # how far a widened interval reaches, relative to the distance of the shape from 1


def calendar_shape(
    lives: LifeData, clock: FloatArray, group: IntArray, n_groups: int, level: float, rng: np.random.Generator
) -> FloatArray:
    """Interval of the shape of each group's hazard by age, whatever its rate does over the calendar, shape (groups, 2).

    `clock` has the hours, on one clock of all nodes, at which each life came under observation and left it. The partial
    likelihood is that of the nodes that failed, each among up to 10 others that were up then, with the hazard ``r(t)
    age**(shape - 1)`` times powers of ``(1 + v n) / (1 + v c)``, where n are the failures of the node so far and c
    those of a mean node: what a gamma frailty of variance v comes to given the past. The ends are the lowest and
    highest of this interval and one with powers of one plus the failures of the last 15 and 60 days besides. NaN where
    no two nodes can be compared.
    """
    out = np.full((n_groups, 2), np.nan)
    far = normal_quantile(level)
    for system in range(n_groups):  # systems, not nodes
        nodes = np.flatnonzero(group == system)
        x = _compared(lives.take(nodes.tolist()), clock[lives.rows_of(nodes)], rng)
        ends = []
        for columns in (1 + len(_SPREADS), x.shape[2]):  # rates of nodes that stay; that come and go
            power, information = _maximum(x[..., :columns])
            if information > 0.0:
                ends += [1.0 + power + sign * far / np.sqrt(information) for sign in (-1.0, 1.0)]
        if ends:
            out[system] = min(ends), max(ends)
    return out


def told_from_calendar(models: RenewalModels, lives: LifeData, clock: FloatArray) -> RenewalModels:
    """The models; where `calendar_shape` does not confirm a shape, ``moving``, with 1 in interval and covariance."""
    group, shape = models.group_of_node, models.shape
    claimed = (models.ageing != 0) & (models.status == "ok")
    moving = np.zeros(claimed.size, np.bool_)
    if not claimed.any():
        return replace(models, moving=moving)
    place = np.where(claimed, np.cumsum(claimed) - 1, -1)
    few = calendar_shape(lives, clock, place[group], int(claimed.sum()), models.level, np.random.default_rng(0))
    ends = np.ones((claimed.size, 2))
    ends[claimed] = np.where(np.isnan(few), 1.0, few)
    moving = claimed & np.where(models.ageing < 0, ends[:, 1] >= 1.0, ends[:, 0] <= 1.0)
    far = np.abs(np.log(np.where(moving, shape[:, 1], 1.0)))
    wider = np.where(moving, _BEYOND * far / np.log(np.where(moving, shape[:, 2] / shape[:, 1], 2.0)), 1.0)
    limits = shape[:, 1:2] * np.exp(_BEYOND * far[:, None] * np.array([-1.0, 0.0, 1.0]))
    covariance = models.covariance.copy()
    covariance[:, 0, :] *= wider[:, None]
    covariance[:, :, 0] *= wider[:, None]
    return replace(models, shape=np.where(moving[:, None], limits, shape), covariance=covariance, moving=moving)


def _compared(lives: LifeData, clock: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Log age and the covariates of a node's own rate, (failures, 1 + others, columns); NaN where one was not up."""
    begin, end = clock.T
    node, seen, sizes = lives.group_codes(), lives.observed, lives.sizes
    aged = np.ones(node.size, np.bool_) if lives.stationary is None else ~lives.stationary
    columns = 1 + len(_SPREADS) + len(_LATELY)
    pool = np.unique(node[aged])
    failed = np.flatnonzero(aged & seen)
    if pool.size < 2 or not failed.size:
        return np.zeros((0, 1, columns))
    if failed.size > _MOST_FAILURES:
        failed = np.sort(rng.choice(failed, _MOST_FAILURES, replace=False))
    # failures of a mean node until each instant
    watched, every = np.flatnonzero(sizes > 0), np.sort(end[seen])
    entered = np.zeros(sizes.size)
    entered[watched] = begin[lives.offsets[watched]]
    there = np.searchsorted(np.sort(entered[watched]), every, "right")
    there -= np.searchsorted(np.sort(end[lives.offsets[watched + 1] - 1]), every)
    of_mean = np.append(0.0, np.cumsum(1.0 / np.maximum(there, 1)))
    # others at random, each once, in the last of their lives that had begun; lives and failures lie node after node
    now = end[failed][:, None]
    other = np.sort(pool[rng.integers(0, pool.size, (failed.size, _BESIDE))], axis=1)
    low = float(begin.min())
    width = float(end.max()) - low + 1.0
    last = np.maximum(np.searchsorted(node * width + (begin - low), other * width + (now - low)) - 1, 0)
    usable = np.diff(other, axis=1, prepend=-1) > 0
    usable &= (node[last] == other) & (end[last] >= now) & aged[last] & (other != node[failed][:, None])
    row = np.hstack([failed[:, None], last])
    usable = np.hstack([np.ones_like(now, np.bool_), usable])
    entry = np.zeros(node.size) if lives.entry is None else lives.entry
    part = np.clip((now - begin[row]) / np.maximum(end[row] - begin[row], 1e-300), 0.0, 1.0)
    age = entry[row] + part * (lives.durations[row] - entry[row])
    youngest = _YOUNGEST * float((end - begin).sum()) / every.size
    own = node[row]
    line = node[seen] * width + (end[seen] - low)
    until = np.searchsorted(line, own * width + (now - low))
    number = until - np.searchsorted(node[seen], own)
    due = of_mean[np.searchsorted(every, now)] - of_mean[np.searchsorted(every, np.minimum(entered[own], now))]
    x = np.empty((*row.shape, columns))
    x[..., 0] = np.where(usable, np.log(np.maximum(age, youngest)), np.nan)
    for k, variance in enumerate(_SPREADS, 1):
        x[..., k] = np.log1p(variance * number) - np.log1p(variance * due)
    for k, hours in enumerate(_LATELY, 1 + len(_SPREADS)):
        x[..., k] = np.log1p(until - np.searchsorted(line, own * width + np.maximum(now - low - hours, 0.0)))
    return x


def _maximum(x: FloatArray) -> tuple[float, float]:
    """The power of age at the maximum, and its information with the other powers unknown; 0 where there is none."""
    usable = np.isfinite(x[..., 0])
    several = usable.sum(axis=1) > 1
    if not several.any():
        return 0.0, 0.0
    usable = usable[several]
    x = np.where(usable[..., None], x[several] - x[several][:, :1], 0.0)
    size = x.shape[2]
    power, step, best, information = np.zeros(size), np.zeros(size), -np.inf, np.zeros((size, size))
    for _ in range(_STEPS):  # a concave function: Newton's steps, halved where they overshoot
        eta = np.where(usable, x @ power, -np.inf)
        top = eta.max(axis=1, keepdims=True)
        p = np.exp(eta - top)
        total = p.sum(axis=1, keepdims=True)
        value = -float((np.log(total) + top).sum())
        if not value >= best:
            step = 0.5 * step
            power = power - step
            continue
        p /= total
        mean = np.einsum("ij,ijk->ik", p, x)
        information = np.einsum("ijk,ijl->kl", p[..., None] * x, x) - mean.T @ mean
        gained, best = value - best, value
        if gained < _GAIN:
            break
        step = np.linalg.lstsq(information, -mean.sum(axis=0), rcond=1e-10)[0]
        power = power + step
    shared = information[0, 1:] @ np.linalg.lstsq(information[1:, 1:], information[1:, 0], rcond=1e-10)[0]
    return float(power[0]), float(information[0, 0] - shared)
