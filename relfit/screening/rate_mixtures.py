"""Mixtures of two Poisson rates among the nodes of many systems at once.

A share of the nodes is bad and fails at a multiple of the rate of the good ones; counts are then a mixture of two
Poisson distributions (fitted by EM, then by Newton's method), with profile-likelihood limits and a bootstrap test.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special, stats

from relfit.arguments import share, whole
from relfit.arrays import FloatArray, IntArray
from relfit.errors import ArgumentError
from relfit.numeric.newton import maximise
from relfit.screening.rate_spread import describe, fit_spread
from relfit.screening.rate_table import RateTable, coarse_hours

__all__ = ["rate_classes"]


_STARTS = ((0.02, 8.0), (0.1, 4.0), (0.4, 2.0))  # share of bad nodes, ratio of the rates
_QUANTITIES = ("fraction", "ratio", "rate")
_FEWEST_NODES, _FEWEST_EVENTS = 3, 10


def rate_classes(
    events: npt.ArrayLike,
    hours: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
    n_resamples: int = 199,
    rng: int | np.random.Generator | None = 0,
) -> tuple[pd.DataFrame, FloatArray]:
    """Mixture of two Poisson rates in each of many groups of nodes.

    Parameters
    ----------
    events, hours : array_like, shape (nodes,)
        Failures and hours of observation; a node without hours is left out.
    groups : array_like of int, optional
        Number of each node's group, from 0; all in one when left out.
    level, n_resamples, rng
        As for `relfit.screening.outlier_nodes`.

    Returns
    -------
    classes : pandas.DataFrame
        One row per group: ``group``, ``nodes``, ``events``, ``fraction`` of bad nodes, ``ratio`` of the rates, ``rate``
        of good nodes (per hour), each with ``_low`` and ``_high`` (profile likelihood); ``loglik_one``, ``loglik_two``,
        ``p`` (one class against two, by resampling), ``spread`` (coefficient of variation of the rates if they differ
        by degrees, as gamma variables) with ``_low`` and ``_high``, ``loglik_spread``, ``advantage`` (BIC of the spread
        less that of two classes), ``description`` (what describes the counts best by BIC, of
        `relfit.screening.rate_spread.DESCRIPTIONS`; only with ``"two_classes"`` is there a class of bad nodes, else the
        mixture sums up how rates differ), ``status``: ``"ok"``; ``"one_class"`` (two are no more likely);
        ``"no_limits"`` (a maximum without usable curvature); ``"too_few"`` (fewer than three nodes watched, or than ten
        events). Numbers that do not exist are NaN.
    posterior : ndarray, shape (nodes,)
        Probability of each node to be of the class with the higher rate.

    Raises
    ------
    ArgumentError
        For arrays of different length, negative numbers, or an option outside its range.

    Examples
    --------
    >>> rng = np.random.default_rng(3)
    >>> bad = np.arange(1000) < 50
    >>> table, posterior = rate_classes(rng.poisson(np.where(bad, 20.0, 4.0)), np.full(1000, 1000.0), n_resamples=0)
    >>> table.loc[0, ["fraction", "ratio"]].astype(float).round(2).tolist()
    [0.05, 5.16]
    """
    count, time = np.asarray(events, dtype=np.int64), np.asarray(hours, dtype=np.float64)
    code = np.zeros(count.size, np.int64) if groups is None else np.asarray(groups, dtype=np.int64)
    if not count.shape == time.shape == code.shape or count.ndim != 1:
        raise ArgumentError("events, hours and groups need one length")
    if np.any(count < 0) or not np.all(time >= 0.0) or np.any(np.isinf(time)) or np.any(code < 0):
        raise ArgumentError("events, hours and groups cannot be negative or infinite")
    share("level", level, zero=False, one=False)
    whole("n_resamples", n_resamples, least=0)
    generator = np.random.default_rng(rng)
    size = int(code.max(initial=-1)) + 1
    watched = time > 0.0
    table = RateTable(code[watched], count[watched], coarse_hours(time)[watched], size)
    many, total = table.total(np.ones(table.count.size)), table.total(table.count)
    status = np.where((many < _FEWEST_NODES) | (total < _FEWEST_EVENTS), "too_few", "ok").astype(object)
    parameters, two = _em(table)
    one = table.loglik_one()
    gain = np.maximum(two - one, 0.0)  # as the resamples have it, before Newton's method adds its share
    two = one + gain
    status[(status == "ok") & (gain < 1e-6)] = "one_class"
    values = np.full((len(_QUANTITIES), 3, size), np.nan)
    rows = np.flatnonzero(status == "ok")
    if rows.size:
        values[:, :, rows], two[rows], good = _polished(table.take(rows), parameters[rows], level, two[rows])
        status[rows[~good]] = "no_limits"
    p = np.full(size, np.nan)
    if n_resamples:
        for group in np.flatnonzero(status != "too_few"):
            p[group] = _bootstrap_p(table.take(np.array([group])), float(gain[group]), n_resamples, generator)
    classes = pd.DataFrame({"group": np.arange(size), "nodes": many.astype(np.int64), "events": total.astype(np.int64)})
    for name, (value, low, high) in zip(_QUANTITIES, values, strict=True):
        classes[name], classes[f"{name}_low"], classes[f"{name}_high"] = value, low, high
    classes["loglik_one"], classes["loglik_two"], classes["p"] = one, two, p
    spread, gamma = np.full((3, size), np.nan), np.full(size, np.nan)
    description, advantage = np.full(size, None, dtype=object), np.full(size, np.nan)
    rows = np.flatnonzero(status != "too_few")
    if rows.size:
        spread[:, rows], gamma[rows] = fit_spread(table.take(rows), one[rows], level)
        description[rows], advantage[rows] = describe(one[rows], gamma[rows], two[rows], many[rows])
    classes["spread"], classes["spread_low"], classes["spread_high"] = spread
    classes["loglik_spread"], classes["advantage"], classes["description"] = gamma, advantage, description
    classes["status"] = status
    fraction, ratio, rate = (values[i, 0][code] for i in range(3)) if size else np.full((3, 0), np.nan)
    odds = special.logit(fraction) + count * np.log(ratio) - rate * time * (ratio - 1.0)
    return classes, np.where(watched, special.expit(odds), np.nan)


def _em(table: RateTable) -> tuple[FloatArray, FloatArray]:
    """Fraction, ratio and rate of every group, shape (groups, 3), and the log-likelihood."""
    parameters, loglik = np.full((table.n_groups, 3), np.nan), np.full(table.n_groups, -np.inf)
    ends = np.append(table.starts[1:], table.code.size)
    _em_groups(table.starts, ends, table.count, table.time, table.weight, np.array(_STARTS), parameters, loglik)
    return parameters, loglik + table.total(table.constant)


@numba.njit(cache=True, nogil=True)
def _em_groups(
    starts: np.ndarray, ends: np.ndarray, count: np.ndarray, time: np.ndarray, weight: np.ndarray, splits: np.ndarray,
    parameters: np.ndarray, loglik: np.ndarray,
) -> None:  # fmt: skip
    for g in range(starts.size):
        first, last = starts[g], ends[g]
        nodes = np.sum(weight[first:last])
        number = np.sum(weight[first:last] * count[first:last])
        hours = np.sum(weight[first:last] * time[first:last])
        if number <= 0.0 or hours <= 0.0:
            continue
        for s in range(splits.shape[0]):
            w, ratio = splits[s, 0], splits[s, 1]
            low = number / hours / (1.0 + w * (ratio - 1.0))
            high = low * ratio
            before = -np.inf
            value = -np.inf
            for step in range(400):
                value = 0.0
                n_bad = 0.0
                c_bad = 0.0
                t_bad = 0.0
                log_odds = np.log(w / (1.0 - w))
                step_log = np.log(high / low)
                for i in range(first, last):
                    odds = log_odds + count[i] * step_log - time[i] * (high - low)
                    if odds > 0.0:
                        share = 1.0 / (1.0 + np.exp(-odds))
                        joint = odds + np.log1p(np.exp(-odds))
                    else:
                        share = np.exp(odds) / (1.0 + np.exp(odds))
                        joint = np.log1p(np.exp(odds))
                    value += weight[i] * (np.log(1.0 - w) + joint + count[i] * np.log(low) - time[i] * low)
                    n_bad += weight[i] * share
                    c_bad += weight[i] * share * count[i]
                    t_bad += weight[i] * share * time[i]
                if step > 5 and value - before < 1e-5:
                    break
                before = value
                if n_bad < 1e-9 or n_bad > nodes - 1e-9 or c_bad <= 0.0 or number - c_bad <= 1e-9:
                    break
                w = n_bad / nodes
                high = c_bad / t_bad
                low = (number - c_bad) / (hours - t_bad)
            if value > loglik[g] and high > low:
                loglik[g] = value
                parameters[g, 0], parameters[g, 1], parameters[g, 2] = w, high / low, low


def _polished(
    table: RateTable, parameters: FloatArray, level: float, before: FloatArray
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Estimates and profile limits, shape (3 quantities, 3, groups); log-likelihood; where limits exist."""
    with np.errstate(divide="ignore", invalid="ignore"):
        w, ratio, rate = parameters.T
        start = np.stack([special.logit(w), np.log(ratio - 1.0), np.log(rate)], axis=1)
    best = maximise(table, start)
    good = best.found & (best.value >= before - 1e-6)
    out = np.full((len(_QUANTITIES), 3, table.n_groups), np.nan)
    out[:, 0] = np.where(good, best.free.T, start.T)
    rows = np.flatnonzero(good)
    if rows.size:
        drop, part = 0.5 * float(stats.chi2.ppf(level, 1)), table.take(rows)
        for i in range(len(_QUANTITIES)):
            for end, sign in ((1, -1.0), (2, 1.0)):
                out[i, end, rows] = _limit(
                    part, best.free[rows], best.information[rows], best.value[rows], drop, i, sign
                )
    with np.errstate(over="ignore"):
        turned = np.stack([special.expit(out[0]), 1.0 + np.exp(out[1]), np.exp(out[2])])
    return turned, np.where(good, best.value, before), good


class _Fixed:
    """The likelihood with one coordinate held."""

    def __init__(self, table: RateTable, which: int, held: FloatArray) -> None:
        self.table, self.which, self.held = table, which, held
        self.lives = table

    @property
    def n_groups(self) -> int:
        return self.table.n_groups

    def take(self, positions: IntArray) -> _Fixed:
        return _Fixed(self.table.take(positions), self.which, self.held[positions])

    def __call__(self, free: FloatArray) -> FloatArray:
        held = np.broadcast_to(self.held, free.shape[:2])[..., None]
        return self.table(np.concatenate([free[..., : self.which], held, free[..., self.which :]], axis=-1))


def _limit(
    table: RateTable, centre: FloatArray, information: FloatArray, top: FloatArray, drop: float, which: int, sign: float
) -> FloatArray:
    """A profile limit by steps outward and bisection; infinite where the likelihood never falls so far.

    Shape (groups,). All groups are searched together, the other two coordinates at their best for each trial.
    """
    error = np.sqrt(np.maximum(np.linalg.inv(information)[:, which, which], 1e-12))
    inside = centre[:, which].copy()
    outside = np.full(inside.size, np.nan)
    at = np.delete(centre, which, axis=1)
    reach = 1.5 * error
    rows = np.arange(inside.size)
    for _ in range(40):
        if not rows.size:
            break
        ends = inside[rows], outside[rows]
        trial = np.where(np.isnan(ends[1]), ends[0] + sign * reach[rows], 0.5 * (ends[0] + ends[1]))
        part = table if rows.size == inside.size else table.take(rows)
        found = maximise(_Fixed(part, which, trial), at[rows], tolerance=1e-6)
        fallen = top[rows] - found.value > drop
        outside[rows] = np.where(fallen, trial, ends[1])
        inside[rows] = np.where(fallen, ends[0], trial)
        usable = np.isfinite(found.free).all(axis=1) & ~fallen
        at[rows[usable]] = found.free[usable]
        reach = np.minimum(1.5 * reach, 4.0)
        near = np.abs(outside[rows] - inside[rows]) < 1e-3 * error[rows]
        rows = rows[~(near | (np.isnan(outside[rows]) & (np.abs(inside[rows]) > 30.0)))]
    return np.where(np.isnan(outside), sign * np.inf, 0.5 * (inside + outside))


def _bootstrap_p(table: RateTable, gain: float, n_resamples: int, rng: np.random.Generator) -> float:
    """Share of logs of equal nodes, with as many failures, in which two classes gain as much over one."""
    per_row = table.weight.astype(np.int64)
    time = np.repeat(table.time, per_row)
    total = int(table.total(table.count)[0])
    drawn = rng.multinomial(total, time / time.sum(), size=n_resamples)
    at_once = max(1, 2_000_000 // time.size)
    reached = 0
    for first in range(0, n_resamples, at_once):
        block = drawn[first : first + at_once]
        copies = len(block)
        code = np.repeat(np.arange(copies), time.size)
        copy = RateTable(code, block.ravel(), np.tile(time, copies), copies)
        gains = np.maximum(_em(copy)[1] - copy.loglik_one(), 0.0)
        reached += int(np.sum(gains >= gain - 1e-6))
    return (1 + reached) / (1 + n_resamples)
