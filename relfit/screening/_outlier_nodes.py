"""OutlierNodes: nodes whose failure rate is above what chance explains, one by one and as a class of their own.

One by one: given the failures of a system, a node that is equal to all others has a binomial number of them with its
share of the exposure, so that the tests are exact; false-discovery control over all nodes follows. As a class: a share
of the nodes is bad and fails at a multiple of the rate of the good ones; counts are then a mixture of two Poisson laws
(fitted by EM, then by Newton's method), and every node has a probability to be bad.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special, stats

from relfit.errors import ArgumentError
from relfit.numeric.false_discovery import adjusted_p
from relfit.numeric.newton import maximise
from relfit.screening.rate_spread import describe, fit_spread
from relfit.screening.rate_table import RateTable, coarse_hours

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog

__all__ = ["OutlierNodes", "outlier_nodes", "rate_classes"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_STARTS = ((0.02, 8.0), (0.1, 4.0), (0.4, 2.0))  # share of bad nodes, ratio of the rates
_QUANTITIES = ("fraction", "ratio", "rate")


@dataclass(frozen=True, eq=False)
class OutlierNodes:
    """Nodes against equal nodes, and the mixture of good and bad ones.

    Attributes
    ----------
    nodes : pandas.DataFrame
        A row a node, most suspect first: ``system``, ``node``, ``events``, ``hours``, ``expected`` (of equal nodes),
        ``ratio``, ``p`` (exact, one-sided), ``p_adjusted``, ``outlier node``, ``posterior`` (probability to be of the bad
        class; NaN where the mixture was not fitted).
    classes : pandas.DataFrame
        A row a system: ``system``, ``nodes``, ``events``, ``fraction`` of bad nodes, ``ratio`` of the rates, ``rate``
        of good nodes (an hour), each with ``_low`` and ``_high`` (profile likelihood); ``loglik_one``, ``loglik_two``,
        ``p`` (one class against two, bootstrap), ``spread`` (coefficient of variation of the rates if they differ by
        degrees, by a gamma law) with ``_low`` and ``_high``, ``loglik_spread``, ``advantage`` (BIC of the spread less
        that of two classes), ``description`` (what describes the counts best by BIC, a word of
        `relfit.screening.rate_spread.DESCRIPTIONS`; only with ``"two_classes"`` is there a class of bad nodes, else the mixture
        sums up how rates differ), ``status``: ``"ok"``; ``"one_class"`` (two are no more likely); ``"no_limits"`` (a
        maximum without usable curvature); ``"too_few"`` (fewer than three nodes watched, or than ten events). Numbers
        that do not exist are NaN.
    alpha : float
        False-discovery rate of the tests of single nodes.
    method : str
        How p-values were adjusted.
    least_ratio : float
        A outlier node has at least this many times the failures expected.
    level : float
        Level of the intervals.
    without_node : int
        Records that name no node and are not counted.
    """

    nodes: pd.DataFrame
    classes: pd.DataFrame
    alpha: float
    method: str
    least_ratio: float
    level: float
    without_node: int

    @property
    def found(self) -> pd.DataFrame:
        """The outlier nodes."""
        return self.nodes[self.nodes["outlier node"]]

    @property
    def sentence(self) -> str:
        """What it means for a fit."""
        count = len(self.found)
        if not self.nodes["events"].sum():
            return "No failure of a node was recorded, so no node stands out."
        text = f"{count} of {len(self.nodes)} nodes fail more often than chance explains"
        if count:
            share = self.found["events"].sum() / self.nodes["events"].sum()
            text += f" and have {100.0 * share:.0f} % of the failures"
        if len(self.classes) == 1:
            text += _about_classes(self.classes.iloc[0])
        elif len(self.classes) > 1:
            words = self.classes["description"].where(self.classes["p"] <= 0.05)
            two, spread = (int((words == name).sum()) for name in ("two_classes", "spread"))
            text += (
                f". In {two} of {len(self.classes)} systems two classes of nodes describe the counts best, in {spread} "
                "a continuous spread of rates"
            )
        return text + "."

    def plot(self, ax: Any = None) -> Any:
        """Draw the nodes against equal nodes; see `relfit.plotting.outlier_nodes`."""
        from relfit import plotting

        return plotting.outlier_nodes(self, ax)

    def to_frame(self) -> pd.DataFrame:
        """A row a node."""
        return self.nodes

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; nodes other than outlier nodes are left out."""

        def rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
            plain = frame.astype(object).where(frame.notna() & ~frame.isin([np.inf, -np.inf]), None)
            return [{str(k): v for k, v in row.items()} for row in plain.to_dict("records")]

        return {
            "alpha": self.alpha,
            "method": self.method,
            "least_ratio": self.least_ratio,
            "level": self.level,
            "without_node": self.without_node,
            "outlier_nodes": rows(self.found),
            "classes": rows(self.classes),
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return f"OutlierNodes: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        tables = (
            frame.to_html(escape=True, index=False, float_format="{:.4g}".format)
            for frame in (self.classes, self.found)
        )
        return f"<p>{escape(self.sentence)}</p>{''.join(tables)}"


def _about_classes(row: pd.Series) -> str:
    """What the mixture of one system adds to the sentence."""
    if row["status"] != "ok" or not (np.isnan(row["p"]) or row["p"] <= 0.05) or row["description"] == "equal":
        return ""
    mixture = (
        f"{100.0 * row['fraction']:.2g} % of the nodes ({100.0 * row['fraction_low']:.2g} to "
        f"{100.0 * row['fraction_high']:.2g} %) fail {row['ratio']:.2g} times as often as the others "
        f"({row['ratio_low']:.2g} to {row['ratio_high']:.2g})"
    )
    spread = (
        f"rates that differ by degrees (coefficient of variation {row['spread']:.2g}, {row['spread_low']:.2g} to "
        f"{row['spread_high']:.2g})"
    )
    if row["description"] == "spread":
        share, ratio = f"{100.0 * row['fraction']:.2g} %", f"{row['ratio']:.2g}"
        return (
            f". No class of bad nodes stands apart: {spread} describe the counts better than two classes (BIC lower by "
            f"{-row['advantage']:.0f}), which would sum them up as {share} at {ratio} times the rate of the others"
        )
    if row["description"] == "either":
        return f". As a class, {mixture}; but {spread} describe the counts as well"
    return f". As a class, {mixture}"


def outlier_nodes(
    log: FailureLog,
    *,
    alpha: float = 0.05,
    method: str = "bh",
    least_ratio: float = 1.0,
    level: float = 0.95,
    bootstrap: int = 199,
    rng: int | np.random.Generator | None = 0,
) -> OutlierNodes:
    """Find the nodes of every system that fail more often than equal nodes would.

    Failures of a node are its records; those of an incident that hit many nodes count for each of them.

    Parameters
    ----------
    log : FailureLog
    alpha : float
        Rate of false discoveries among the outlier nodes.
    method : {"bh", "by", "holm"}
        See `relfit.fitting.adjusted_p`.
    least_ratio : float
        Least multiple of the failures expected that makes a outlier node.
    level : float
        Level of the intervals.
    bootstrap : int
        Replications of the test of one class against two; 0 for no test.
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    OutlierNodes

    Raises
    ------
    ArgumentError
        For a level or alpha outside 0..1, or a negative number of replications.

    Examples
    --------
    >>> import relfit as rf
    >>> found = outlier_nodes(rf.datasets.load("white"), bootstrap=0)
    >>> found.classes.loc[0, "status"], 0 < len(found.found) < 200
    ('ok', True)
    """
    from relfit.screening.tallies import by_node

    if not 0.0 < alpha < 1.0:
        raise ArgumentError(f"alpha {alpha} is not between 0 and 1", remedy="5 % is 0.05")
    tally = by_node(log)
    nodes = tally.table.drop(columns=["p", "p_adjusted"])
    codes, systems = pd.factorize(nodes["system"], sort=False)
    events, hours = nodes["events"].to_numpy(np.int64), nodes["hours"].to_numpy(np.float64)
    total_events = np.bincount(codes, events, len(systems))[codes] if len(nodes) else np.zeros(0)
    total_hours = np.bincount(codes, hours, len(systems))[codes] if len(nodes) else np.zeros(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total_hours > 0.0, hours / total_hours, np.nan)
    p = stats.binom.sf(events - 1, total_events, np.minimum(share, 1.0))
    nodes["p"] = np.where(hours > 0.0, p, np.nan)  # nobody watched: no test
    nodes["p_adjusted"] = adjusted_p(nodes["p"], method)
    nodes["outlier node"] = (nodes["p_adjusted"] <= alpha) & (nodes["ratio"] >= least_ratio) & (nodes["ratio"] > 1.0)
    classes, posterior = rate_classes(events, hours, codes, level=level, bootstrap=bootstrap, rng=rng)
    nodes["posterior"] = posterior
    classes.insert(0, "system", np.asarray(systems, dtype=object)[classes.pop("group").to_numpy()])
    nodes = nodes.sort_values(["p", "ratio"], ascending=[True, False], kind="stable", ignore_index=True)
    return OutlierNodes(nodes, classes, alpha, method, least_ratio, level, tally.without_node)


def rate_classes(
    events: npt.ArrayLike,
    hours: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
    bootstrap: int = 199,
    rng: int | np.random.Generator | None = 0,
) -> tuple[pd.DataFrame, FloatArray]:
    """Mixture of two Poisson rates in each of many groups of nodes.

    Parameters
    ----------
    events, hours : array_like, shape (nodes,)
        Failures and hours of observation; a node without hours is left out.
    groups : array_like of int, optional
        Number of each node's group, from 0; all in one when left out.
    level, bootstrap, rng
        As for `outlier nodes`.

    Returns
    -------
    classes : pandas.DataFrame
        As `OutlierNodes.classes`, with ``group`` instead of ``system``.
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
    >>> table, posterior = rate_classes(rng.poisson(np.where(bad, 20.0, 4.0)), np.full(1000, 1000.0), bootstrap=0)
    >>> table.loc[0, ["fraction", "ratio"]].astype(float).round(2).tolist()
    [0.05, 5.16]
    """
    count, time = np.asarray(events, dtype=np.int64), np.asarray(hours, dtype=np.float64)
    code = np.zeros(count.size, np.int64) if groups is None else np.asarray(groups, dtype=np.int64)
    if not count.shape == time.shape == code.shape or count.ndim != 1:
        raise ArgumentError("events, hours and groups need one length")
    if np.any(count < 0) or not np.all(time >= 0.0) or np.any(np.isinf(time)) or np.any(code < 0):
        raise ArgumentError("events, hours and groups cannot be negative or infinite")
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level {level} is not between 0 and 1", remedy="95 % is 0.95")
    if bootstrap < 0:
        raise ArgumentError(f"{bootstrap} replications cannot be", remedy="use 0 for no test")
    generator = np.random.default_rng(rng)
    size = int(code.max(initial=-1)) + 1
    watched = time > 0.0
    coarse = coarse_hours(time)
    table = RateTable(code[watched], count[watched], coarse[watched], size)
    many, total = table.total(np.ones(table.count.size)), table.total(table.count)
    status = np.where((many < 3) | (total < 10), "too_few", "ok").astype(object)
    parameters, two = _em(table)
    one = _loglik_one(table)
    gain = np.maximum(two - one, 0.0)  # as the bootstrap has it, before Newton's method adds its share
    two = one + gain
    status[(status == "ok") & (gain < 1e-6)] = "one_class"
    values = {name: np.full((3, size), np.nan) for name in _QUANTITIES}
    rows = np.flatnonzero(status == "ok")
    if rows.size:
        found, two[rows], good = _polished(table.take(rows), parameters[rows], level, two[rows])
        for name, three in zip(_QUANTITIES, found, strict=True):
            values[name][:, rows] = three
        status[rows[~good]] = "no_limits"
    p = np.full(size, np.nan)
    if bootstrap:
        for group in np.flatnonzero(status != "too_few"):
            p[group] = _bootstrap_p(table.take(np.array([group])), float(gain[group]), bootstrap, generator)
    fitted = np.isin(status, ["ok", "no_limits"])
    posterior = np.full(count.size, np.nan)
    mine = fitted[code] & watched if size else watched
    w, r, b = (values[name][0][code[mine]] for name in _QUANTITIES)
    mean = b * time[mine]
    odds = special.logit(w) + count[mine] * np.log(r) - mean * (r - 1.0)
    posterior[mine] = special.expit(odds)
    classes = pd.DataFrame({"group": np.arange(size), "nodes": many.astype(np.int64), "events": total.astype(np.int64)})
    for name in _QUANTITIES:
        classes[name], classes[f"{name}_low"], classes[f"{name}_high"] = values[name]
    classes["loglik_one"], classes["loglik_two"], classes["p"] = one, two, p
    spread, gamma = np.full((3, size), np.nan), np.full(size, np.nan)
    words, advantage = np.full(size, None, dtype=object), np.full(size, np.nan)
    rows = np.flatnonzero(status != "too_few")
    if rows.size:
        spread[:, rows], gamma[rows] = fit_spread(table.take(rows), one[rows], level)
        words[rows], advantage[rows] = describe(one[rows], gamma[rows], two[rows], many[rows])
    classes["spread"], classes["spread_low"], classes["spread_high"] = spread
    classes["loglik_spread"], classes["advantage"], classes["description"] = gamma, advantage, words
    classes["status"] = status
    return classes, posterior


# ------------------------------------------------------------------- likelihood


def _loglik_one(table: RateTable) -> FloatArray:
    number, time = table.total(table.count), table.total(table.time)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(number > 0, number / time, 1.0)
    return table.total(table.constant) + number * np.log(rate) - np.where(number > 0, rate * time, 0.0)


def _em(table: RateTable) -> tuple[FloatArray, FloatArray]:
    """Fraction, ratio and rate of every group, shape (groups, 3), and the log-likelihood."""
    parameters, loglik = np.full((table.groups, 3), np.nan), np.full(table.groups, -np.inf)
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
) -> tuple[list[FloatArray], FloatArray, npt.NDArray[np.bool_]]:
    """Estimate and profile limits, each (3, groups) for every quantity; log-likelihood; where limits exist."""
    with np.errstate(divide="ignore", invalid="ignore"):
        start = np.stack(
            [special.logit(parameters[:, 0]), np.log(parameters[:, 1] - 1.0), np.log(parameters[:, 2])], axis=1
        )
    best = maximise(table, start)
    good = best.found & (best.value >= before - 1e-6)
    free = np.where(good[:, None], best.free, start)
    out = [np.full((3, table.groups), np.nan) for _ in _QUANTITIES]
    rows = np.flatnonzero(good)
    drop = 0.5 * float(stats.chi2.ppf(level, 1))
    part = table.take(rows) if rows.size else table
    for i, values in enumerate(out):
        values[0] = free[:, i]
        if rows.size:
            for row, sign in ((1, -1.0), (2, 1.0)):
                values[row, rows] = _limit(part, free[rows], best.information[rows], best.value[rows], drop, i, sign)
    with np.errstate(over="ignore"):
        turned = [special.expit(out[0]), 1.0 + np.exp(out[1]), np.exp(out[2])]
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


def _bootstrap_p(table: RateTable, gain: float, replications: int, rng: np.random.Generator) -> float:
    """Share of logs of equal nodes, with as many failures, in which two classes gain as much over one."""
    per_row = table.weight.astype(np.int64)
    time = np.repeat(table.time, per_row)
    total = int(table.total(table.count)[0])
    drawn = rng.multinomial(total, time / time.sum(), size=replications)
    at_once = max(1, 2_000_000 // time.size)
    reached = 0
    for first in range(0, replications, at_once):
        block = drawn[first : first + at_once]
        copies = len(block)
        code = np.repeat(np.arange(copies), time.size)
        copy = RateTable(code, block.ravel(), np.tile(time, copies), copies)
        gains = np.maximum(_em(copy)[1] - _loglik_one(copy), 0.0)
        reached += int(np.sum(gains >= gain - 1e-6))
    return (1 + reached) / (1 + replications)
