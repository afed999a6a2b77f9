"""Incidents that come after one another: of a node, of a rack, of the whole system, beyond what rates explain.

Each incident brings on average `branching` further ones with an exponential delay (Hawkes 1971), on top of a background
that follows the calendar. Whether a node or a rack has bursts is asked of the labels alone: given when incidents come,
which node do they hit? Whatever the rate of the fleet does then cancels. Bursts are said where labels shuffled within
twenty days show none, and where the share that a node has in the incidents of the months around does not explain them.
Of the whole, the background is the rate smoothed over weeks or more, by nodes watched, hour and day of the week; the
level of each week is random, so that what good and bad weeks bring together is no burst.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import special
from scipy.signal import lfilter

from relfit.arguments import share
from relfit.arrays import FloatArray, IntArray
from relfit.errors import ArgumentError
from relfit.outages import Watched, clock_step, node_codes, node_values, watched_of
from relfit.screening._incidents import incidents as join_records
from relfit.screening.burst_likelihoods import BurstFit, after, fitted, log_ratios, spells
from relfit.screening.bursts_results import BURST, WEEKS, Bursts
from relfit.screening.incident_results import Incidents
from relfit.units import NANOSECONDS_PER_HOUR, nanoseconds

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog

__all__ = ["bursts"]

_DAY = 24.0 * NANOSECONDS_PER_HOUR
_DELAYS = np.array([0.1, 0.3, 1.0, 3.0, 10.0])  # days
_LAGS = np.array([0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])  # days, that are counted
_FEWEST = 10  # incidents, of which anything is said
_APART = 1000.0  # days between two systems on the line of all
_HALF_LIVES = (7.0, 14.0, 30.0, 60.0, 120.0, 240.0, 1e6)  # days, of the background
_OUT = 10  # days next to an incident that do not tell how fast the background moves
_ALIKE = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, np.inf)  # one over the variance of the levels of weeks
_EVEN = len(_ALIKE) - 1
_LATELY, _OWN = np.array([30.0, 90.0]), (10.0, 30.0, 100.0, 300.0)  # days; incidents that long-run shares weigh as
_BLOCK, _IN_BLOCK = 20.0, 20.0  # days and incidents within which labels are shuffled, at least
_ROUNDS = 3  # of fits, each with what the one before says of the background
_TRIED = 0.1  # branching of the ratio that is compared with that of shuffled labels


def bursts(
    log: FailureLog,
    incidents: Incidents | None = None,
    *,
    level: float = 0.95,
    alpha: float = 0.05,
    n_resamples: int = 99,
    rng: int | np.random.Generator | None = 0,
) -> Bursts:
    """Do incidents come after one another: the same node again, another node of the rack, any other node.

    Parameters
    ----------
    log : FailureLog
    incidents : Incidents, optional
        Of this log; `relfit.incidents` joins them when left out. What comes within its windows is one incident.
    level : float
        Of the limits.
    alpha : float
        Size of each test.
    n_resamples : int
        Shuffled logs, 19 or more, where the likelihood speaks for bursts of nodes or racks.
    rng : int or numpy.random.Generator

    Raises
    ------
    ArgumentError
        For a log of lifetimes or without a span of time, or an option outside its range.

    Examples
    --------
    >>> import relfit as rf
    >>> result = bursts(rf.datasets.load("white"))
    >>> result.table["scope"].tolist()
    ['node', 'rack', 'whole']
    """
    share("level", level, zero=False, one=False)
    share("alpha", alpha, zero=False, one=False)
    if n_resamples < 19:
        raise ArgumentError(f"n_resamples={n_resamples} are too few", remedy="use 19 or more")
    if log.lifetimes is not None and not len(log.events):
        raise ArgumentError("this log holds lifetimes without dates; nothing comes after another")
    if pd.isna(log.window.start) or pd.isna(log.window.end) or not log.window.start < log.window.end:
        raise ArgumentError("this log covers no span of time")
    joined = join_records(log) if incidents is None else incidents
    line = _Line.of(log, joined)
    generator = np.random.default_rng(rng)
    delays = _DELAYS[clock_step(log) <= _DELAYS * _DAY] if len(log.events) else _DELAYS
    rows, counted, brought = [], [], np.zeros(line.time.size)
    for scope, label, inner in line.scopes(joined.group):
        row = {"scope": scope, "incidents": int((label >= 0).sum())}
        used = np.flatnonzero(label >= 0)
        part, label, inner = line.take(used), label[used], inner[used]
        if part.time.size < _FEWEST or not delays.size or (np.unique(label).size == 1 and scope != "whole"):
            rows.append(row | {"p": np.nan, "kind": "no answer"})
            continue
        if scope == "whole":
            answer, pairs = _of_whole(part, label, inner, delays, level, alpha, brought)
        else:
            answer, pairs, own = _of_labels(part, label, inner, delays, level, alpha, n_resamples, generator)
            if answer["kind"] == BURST:
                brought[used] += own
        rows.append(row | answer)
        counted.append(pairs.assign(scope=scope, incidents=part.time.size))
    columns = ["scope", "incidents", "branching", "low", "high", "mean_delay", "following", "p", "p_weeks", "kind"]
    table = pd.DataFrame(rows, columns=columns)
    lags = ["scope", "from_hours", "to_hours", "incidents", "counted", "expected"]
    by_delay = pd.concat(counted, ignore_index=True)[lags] if counted else pd.DataFrame(columns=lags)
    return Bursts(table, by_delay, level, alpha)


@dataclass(frozen=True, eq=False)
class _Line:
    """Incidents in the order of time, in days on one line where a system comes long after the one before it.

    Attributes
    ----------
    time : ndarray, shape (incidents,)
    node, rack : ndarray of int
        -1 where there are several or none.
    cycle : ndarray
        The rate at this hour and on this day of the week, relative to the mean.
    exposure, part_of_day : ndarray, shape (days,)
        Nodes watched each day times the rate on this day of the week.
    ends : ndarray, shape (systems, 2)
        From when to when each system was watched.
    """

    time: FloatArray
    node: IntArray
    rack: IntArray
    cycle: FloatArray
    exposure: FloatArray
    ends: FloatArray

    @classmethod
    def of(cls, log: FailureLog, joined: Incidents) -> _Line:
        table = joined.table
        names = list(dict.fromkeys([*log.systems, *map(str, table["system"])]))
        system = pd.Index(names).get_indexer(table["system"].astype(str))
        zone = log.source.timezone
        origin = log.window.start.tz_convert(zone).normalize().tz_convert("UTC").as_unit("ns").value
        begin, end = ((at.as_unit("ns").value - origin) / (_DAY) for at in
                      (log.window.start, log.window.end))  # fmt: skip
        span = np.ceil(end) + _APART
        start = (nanoseconds(table["start"]) - origin) / (_DAY)
        record = np.zeros(len(table), np.int64)
        rows = np.flatnonzero(joined.incident >= 0)[::-1]
        record[joined.incident[rows]] = rows
        node, _, labels = node_codes(log)
        single = (table["nodes"] == 1).to_numpy() & (table["scope"] == "node").to_numpy()
        rack = np.full(len(table), -1)
        if joined.group is not None:
            of_node = (
                pd.factorize(
                    pd.MultiIndex.from_arrays([labels.get_level_values(0), node_values(log, joined.group, labels)])
                )[0]
                if len(labels)
                else node[:0]
            )
            missing = pd.isna(node_values(log, joined.group, labels)) if len(labels) else np.zeros(0, bool)
            of_node = np.append(np.where(missing, -1, of_node), -1)
            one = (table["groups"] == 1).to_numpy() & table["scope"].isin(["node", joined.group]).to_numpy()
            rack = np.where(one, of_node[node[record]], -1)
        local = table["start"].dt.tz_convert(zone)
        cycle = np.ones(len(table))
        weekday = (log.window.start.tz_convert(zone).dayofweek + np.arange(int(span))) % 7
        of_day = np.ones(7)
        if len(table):
            of_hour = _shrunk(np.bincount(local.dt.hour, minlength=24))
            of_day = _shrunk(np.bincount(local.dt.dayofweek, minlength=7))
            cycle = of_hour[local.dt.hour]
        watched = watched_of(log)
        edges = origin + (np.arange(np.ceil(end) + 1) * _DAY).astype(np.int64)
        exposure = np.zeros((len(names), int(span)))
        for k, name in enumerate(names):  # systems, not nodes
            mine = np.flatnonzero(watched.groups.get_level_values(0).astype(str) == name)
            if mine.size and log.question is None:
                nodes = Watched(watched.groups[mine], watched.entered[mine], watched.left[mine],
                                watched.entered_known[mine], watched.left_known[mine])  # fmt: skip
                seen = np.diff(nodes.hours_until(edges)) / 24.0
            else:
                days = np.arange(edges.size - 1)
                seen = np.clip(end - days, 0.0, 1.0) - np.clip(begin - days, 0.0, 1.0)
            exposure[k, : seen.size] = seen
        exposure *= of_day[weekday]
        order = np.argsort(start + span * system, kind="stable")
        offset = span * np.arange(len(names))[:, None]
        return cls((start + span * system)[order], np.where(single, node[record], -1)[order], rack[order],
                   cycle[order], exposure.ravel(), np.array([[begin, end]]) + offset)  # fmt: skip

    def scopes(self, group: str | None) -> list[tuple[str, IntArray, IntArray]]:
        """Each scope, the label that two incidents must share, -1 of no part in it, and the one they must not."""
        out = [("node", self.node, np.full(self.node.size, -1))]
        if group is not None:
            out.append((group, self.rack, self.node))
        inner = self.node if group is None else np.where(self.rack >= 0, self.rack, -1)
        return [*out, ("whole", np.zeros(self.node.size, np.int64), inner)]

    def take(self, which: IntArray) -> _Line:
        """Only some of the incidents."""
        return _Line(self.time[which], self.node[which], self.rack[which], self.cycle[which], self.exposure, self.ends)

    def background(self) -> tuple[FloatArray, FloatArray]:
        """The smoothed rate at each incident, that one left out, and the number expected in each day."""
        day = np.clip(self.time.astype(np.int64), 0, self.exposure.size - 1)
        counts = np.bincount(day, minlength=self.exposure.size).astype(np.float64)
        exposure = np.where((counts > 0.0) & (self.exposure <= 0.0), 1.0, self.exposure)
        mean = counts.sum() / exposure.sum()
        best = (-np.inf, counts, exposure)
        for half_life in _HALF_LIVES:
            keep = 0.5 ** (1.0 / half_life)
            near = keep ** np.abs(np.arange(-_OUT, _OUT + 1))
            sums = [_two_sided(values, keep) for values in (counts, exposure)]
            far = [
                each - np.convolve(values, near, "same") for each, values in zip(sums, (counts, exposure), strict=True)
            ]
            rate = (np.maximum(far[0], 0.0) + 0.5) / (np.maximum(far[1], 0.0) + 0.5 / mean)
            score = float(counts @ np.log(rate) - exposure @ rate)
            if score > best[0]:
                best = score, *sums
        _, number, time = best
        daily = exposure * (number + 0.5) / (time + 0.5 / mean)
        left_out = (np.maximum(number[day] - 1.0, 0.0) + 0.5) / (time[day] + 0.5 / mean)
        return left_out * exposure[day] * self.cycle, daily * (day.size / daily.sum())


def _shrunk(counts: IntArray) -> FloatArray:
    """Counts relative to their mean, drawn to one by as much as chance makes them differ."""
    mean = counts.mean()
    seen = float(np.mean((counts - mean) ** 2)) * counts.size / (counts.size - 1)
    return np.asarray(1.0 + max(1.0 - mean / max(seen, 1e-9), 0.0) * (counts / mean - 1.0))


def _two_sided(values: FloatArray, keep: float) -> FloatArray:
    """Sums discounted by the days from each day, before and after it."""
    before, behind = (lfilter([1.0], [1.0, -keep], each) for each in (values, values[::-1]))
    return np.asarray(before + behind[::-1] - values)


def _of_labels(
    line: _Line, label: IntArray, inner: IntArray, delays: FloatArray, level: float, alpha: float, n_resamples: int,
    rng: np.random.Generator,
) -> tuple[dict[str, Any], pd.DataFrame, FloatArray]:  # fmt: skip
    """Whether the same label comes again sooner than its share of the incidents lets expect.

    Beside the row and the counts, the rate of the whole that what was brought to its own label stands for.
    """
    one = np.ones(label.size)
    rate = line.background()[0]
    label = np.unique(label, return_inverse=True)[1]
    # blocks of incidents, of a month and of some incidents at least, in each system
    first = np.searchsorted(line.time, line.ends[:, 0])
    size = np.maximum(_BLOCK, _IN_BLOCK * np.diff(line.ends)[:, 0] / np.maximum(np.diff([*first, label.size]), 1))
    system = np.searchsorted(first, np.arange(label.size), side="right") - 1
    block = np.unique(system * 1e6 + (line.time - line.ends[system, 0]) // size[system], return_inverse=True)[1]
    # of what a place brings to itself, the part that would come to what does not count
    both = np.unique(label * (int(inner.max(initial=0)) + 2) + inner + 1, return_inverse=True, return_counts=True)
    counts = np.where(inner >= 0, 1.0 - both[2][both[1]] / np.bincount(label)[label], 1.0)
    excess = after(line.time, label, one, delays) - after(line.time, inner, one, delays)
    due = after(line.time, system, counts, delays)

    def shares(weight: FloatArray) -> list[FloatArray]:
        """Of each label, from the other incidents: in the long run, drawn to each other, and lately."""
        number = np.bincount(label, weight)
        mean = number.mean()
        prior = 1.0 / np.clip((number.var() - mean) / mean**2, 1e-3 / mean, 20.0)
        long_run = (number[label] - weight + prior) / (weight.sum() - weight + prior * number.size)
        own, of_all = (_about(line.time, code, weight) for code in (label, system))
        lately = [(own[:, k] + c * long_run) / (of_all[:, k] + c) for k in range(_LATELY.size) for c in _OWN]
        return [long_run, *lately]

    def loglik(x: float, d: int, portion: FloatArray) -> float:
        calm = (1.0 - x) * rate
        return float(np.log((portion * calm + x * excess[:, d]) / (calm + x * due[:, d])).sum())

    portions = shares(one)
    alone = [loglik(0.0, 0, portion) for portion in portions]
    long_run, starts, gain = portions[0], {0, int(np.argmax(alone))}, 0.0
    for first_round in (True, False, False):  # then shares of what was not brought by others
        value = partial(lambda now, x, d, k: loglik(x, d, now[k]), portions)
        top, fit, used = _highest(value, delays.size, len(portions), starts, level)
        gain = top - max(alone) if first_round else gain
        brought = fit.branching * excess[:, fit.delay] / ((1.0 - fit.branching) * portions[used])
        calm = rate / (rate + brought)
        portion, portions, starts = portions[used], shares(calm), {used}
    p = _p_of(gain, delays.size)
    if p <= alpha:
        p = max(p, _p_shuffled(line.time, label, inner, long_run * rate, delays, block, n_resamples, rng))
    kind = BURST if p <= alpha else "steady"
    pairs = _by_lag(line.time, label, inner, system, portion * counts)
    part = float(counts.mean())
    fit = replace(fit, branching=part * fit.branching, low=part * fit.low, high=part * fit.high)
    return _answer(fit, delays, float(np.mean(1.0 - calm)), p, np.nan, kind), pairs, (1.0 - fit.branching) * brought


def _p_shuffled(
    time: FloatArray, label: IntArray, inner: IntArray, rate: FloatArray, delays: FloatArray, block: IntArray,
    n_resamples: int, rng: np.random.Generator,
) -> float:  # fmt: skip
    """Of how soon labels come again, against labels (each with its own rate) that are shuffled within blocks."""
    scores, order = np.empty((n_resamples + 1, delays.size)), np.arange(label.size)
    for k in range(n_resamples + 1):
        scores[k] = log_ratios(time, label[order], inner[order], rate[order], delays, _TRIED)
        order = np.argsort(block + rng.random(label.size))
    spread = scores.std(axis=0)
    most = ((scores - scores.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)).max(axis=1)
    return float(np.mean(most >= most[0] - 1e-9))


def _about(time: FloatArray, label: IntArray, weight: FloatArray) -> FloatArray:
    """Points of the same label before and after each, by how near they are, shape (points, scales)."""
    behind = after(-time[::-1], label[::-1].copy(), weight[::-1].copy(), _LATELY)[::-1]
    return np.asarray(_LATELY * (after(time, label, weight, _LATELY) + behind))


def _highest(
    value: Callable[[float, int, int], float], delays: int, options: int, starts: set[int], level: float
) -> tuple[float, BurstFit, int]:
    """The highest log-likelihood over branching, delay and some options for the background, the fit and the option."""
    reached = []
    for used in starts:
        for _ in range(_ROUNDS):
            fit = fitted(lambda x, d, k=used: value(x, d, k), delays, level)
            tops = [value(fit.branching, fit.delay, k) for k in range(options)]
            best = int(np.argmax(tops))
            if tops[best] <= tops[used] + 1e-9:
                break
            used = best
        reached.append((tops[used], fit, used))
    return max(reached, key=lambda each: each[0])


def _p_of(gain: float, trials: int) -> float:
    """Of a gain in log-likelihood by a parameter at the border of its values, the best of some trials."""
    return min(1.0, 0.5 * trials * float(special.chdtrc(1, max(2.0 * gain, 0.0))))


def _of_whole(
    line: _Line, label: IntArray, inner: IntArray, delays: FloatArray, level: float, alpha: float, brought: FloatArray
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Whether incidents follow those elsewhere sooner than the calendar and the level of their week let expect.

    `brought` is the rate that bursts of nodes and racks stand for.
    """
    rate, daily = line.background()
    total = float(label.size)
    own = float(np.mean(brought / (brought + rate)))
    elsewhere = 1.0 - np.where(inner >= 0, np.bincount(inner + 1)[inner + 1], 0) / total
    weight = 1.0 / np.maximum(elsewhere, 1e-9)
    excess = after(line.time, label, weight, delays) - after(line.time, inner, weight, delays)
    system = np.maximum(np.searchsorted(line.ends[:, 0], line.time, side="right") - 1, 0)
    left = np.maximum(line.ends[system, 1] - line.time, 0.0)
    due = (1.0 - np.exp(-left[:, None] / delays)).sum(axis=0)

    def weeks(phase: int) -> tuple[IntArray, FloatArray]:
        expected = np.bincount((np.arange(daily.size) + phase) // 7, daily)
        there = np.bincount((line.time.astype(np.int64) + phase) // 7, minlength=expected.size)
        used = (expected > 0.0) | (there > 0)
        return np.append(0, np.cumsum(there[used])), expected[used]

    def value(x: float, d: int, k: int, week: tuple[IntArray, FloatArray]) -> float:
        calm = max(1.0 - own - x * due[d] / total, 0.01)
        return spells(calm * rate, brought + x * excess[:, d], week[0], calm * week[1], _ALIKE[k]) - x * due[d]

    levels = [
        (value(0.0, 0, k, week), k, phase)
        for phase, week in enumerate(map(weeks, range(7)))
        for k in range(len(_ALIKE))
    ]
    none, start, phase = max(levels, key=lambda each: each[0])
    week = weeks(phase)
    steady = value(0.0, 0, _EVEN, week)
    fit = fitted(lambda x, d: value(x, d, _EVEN, week), delays.size, level)  # all clusters are bursts
    top, other, _ = _highest(lambda x, d, k: value(x, d, k, week), delays.size, len(_ALIKE), {start}, level)
    p = _p_of(max(top, steady + fit.gain) - none, delays.size)
    if _p_of(top - steady - fit.gain, 7) <= alpha:  # bursts beside good and bad weeks
        fit = other
    p_weeks = _p_of(none - steady, 7)
    kind = BURST if p <= alpha else WEEKS if p_weeks <= alpha else "steady"
    of_others = fit.branching * excess[:, fit.delay]
    following = float(np.mean(of_others / (of_others + brought + max(1.0 - fit.branching - own, 0.01) * rate)))
    pairs = _by_lag(line.time, label, inner, system, None)
    until = np.append(0.0, np.cumsum(daily))
    instants = np.minimum(line.time[:, None] + _LAGS, line.ends[system, 1][:, None])
    expected = np.diff(np.interp(instants, np.arange(until.size), until), axis=1)
    pairs["expected"] = (expected * elsewhere[:, None]).sum(axis=0)
    return _answer(fit, delays, following, p, p_weeks, kind), pairs


def _answer(fit: BurstFit, delays: FloatArray, follow: float, p: float, p_weeks: float, kind: str) -> dict[str, Any]:
    """One row of the table."""
    low = fit.low if kind == BURST else 0.0
    return {
        "branching": fit.branching, "low": low, "high": fit.high, "mean_delay": 24.0 * delays[fit.delay],
        "following": follow, "p": p, "p_weeks": p_weeks, "kind": kind,
    }  # fmt: skip


def _by_lag(
    time: FloatArray, label: IntArray, inner: IntArray, system: IntArray, portion: FloatArray | None
) -> pd.DataFrame:
    """Incidents of the same label, and not the same inner one, that come after each, by how long after."""

    def later(code: IntArray) -> FloatArray:
        """Numbers after each point by lag, shape (points, lags)."""
        key = code * width + time
        key = np.where(code >= 0, key, -1.0)
        order = np.sort(key)
        return np.where((code >= 0)[:, None], np.diff(np.searchsorted(order, key[:, None] + _LAGS, "right")), 0.0)

    width = float(time.max() - time.min()) + 2.0 * _LAGS[-1]
    time = time - time.min()
    frame = pd.DataFrame({"from_hours": 24.0 * _LAGS[:-1], "to_hours": 24.0 * _LAGS[1:]})
    frame["counted"] = (later(label) - later(inner)).sum(axis=0)
    frame["expected"] = np.nan if portion is None else (later(system) * portion[:, None]).sum(axis=0)
    return frame
