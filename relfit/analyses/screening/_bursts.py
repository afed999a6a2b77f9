"""Incidents that come after one another: of a node, of a rack, of the whole system, beyond what rates explain.

Each incident brings on average `branching` further ones with an exponential delay (Hawkes 1971), on top of a background
that follows the calendar. Bursts of a node or a rack are tested on the labels alone: given when incidents come, which
node do they hit? Whatever the rate of the fleet does then cancels. They are reported where labels shuffled within
twenty days show none, and the node's share in the incidents of the surrounding months does not explain them. For the
whole system the background is smoothed over weeks or more, and the level of each week is random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from relfit.analyses.screening._incidents import incidents as join_records
from relfit.analyses.screening.burst_likelihoods import BurstFit, after, fitted, log_ratios, spells
from relfit.analyses.screening.incident_line import IncidentLine
from relfit.analyses.screening.incident_results import Incidents
from relfit.analyses.screening.tallies import need_dates
from relfit.base.arguments import one_whole, random_stream, share
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.levels import level_checked
from relfit.base.results import Result
from relfit.base.text import duration, interval
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.log.failurelog import FailureLog
from relfit.log.outages import clock_step
from relfit.log.tables import made_once

_DELAYS = np.array([0.1, 0.3, 1.0, 3.0, 10.0])  # days
_LAGS = np.array([0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0])  # days, that are counted
_FEWEST = 10  # incidents of a scope that is tested
_ALIKE = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, np.inf)  # one over the variance of the levels of weeks
_EVEN, _SPELLS = len(_ALIKE) - 1, (7, 3)  # days of a spell that has a level of its own
_LATELY, _OWN = np.array([30.0, 90.0]), (10.0, 30.0, 100.0, 300.0)  # days; incidents that long-run shares weigh as
_BLOCK, _IN_BLOCK = 20.0, 20.0  # days and incidents within which labels are shuffled, at least
_ROUNDS = 3  # of fits, each with the background of the one before
_TRIED = 0.1  # branching of the ratio that is compared with that of shuffled labels
_BURST, _WEEKS = "after one another", "good and bad weeks"


class Bursts(Result):
    """Whether incidents come after one another.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per scope: ``scope`` ("node": the same node again; the rack: another node of the same rack; "whole":
        incidents elsewhere in the system), ``incidents``, ``branching`` (further incidents that one brings on average)
        with its interval ``low``, ``high``, ``mean_delay`` (hours), ``following`` (share of incidents that others
        brought), ``p``, ``p_weeks`` (of good and bad weeks; for "whole" only), ``kind``: ``"steady"``,
        ``"after one another"``, ``"good and bad weeks"``, or ``"no answer"`` of fewer than ten incidents, one place, or
        a clock too coarse for all delays.
    by_delay : pandas.DataFrame
        Incidents that came after another, by scope and delay: ``counted``, and ``expected`` without bursts.
    level, alpha : float
        Of the confidence intervals; size of each test.
    """

    table: pd.DataFrame
    by_delay: pd.DataFrame
    level: float
    alpha: float

    _frame = "table"

    @property
    def depends(self) -> bool | None:
        """Whether incidents of any scope come after one another; None where no scope has an answer."""
        kinds = self.table.loc[self.table["kind"] != "no answer", "kind"]
        return bool((kinds == _BURST).any()) if len(kinds) else None

    @property
    def headline(self) -> str:
        """Which scopes have bursts, how large, and which have none."""
        rows = self.table[self.table["kind"] != "no answer"]
        if not len(rows):
            return "Too few incidents to tell whether they come after one another."
        names = {"node": "of the same node", "whole": "elsewhere in the system"}
        parts = []
        for scope, branching, low, high, delay in zip(
            *(rows.loc[rows["kind"] == _BURST, name] for name in ("scope", "branching", "low", "high", "mean_delay")),
            strict=True,
        ):
            value = interval(*(f"{x:.2f}" for x in (branching, low, high)))
            who = names.get(scope, f"of other nodes of the {scope}")
            parts.append(f"{value} {who}, {duration(delay)} later on average")
        text = [f"An incident brings further ones: {'; '.join(parts)}"] if parts else []
        if (rows["kind"] == _WEEKS).any():
            text.append("The whole system has good and bad weeks, beyond which its incidents bring no further ones")
        plain = {"node": "single nodes", "whole": "the whole system"}
        calm = [plain.get(scope, f"{scope}s") for scope in rows.loc[rows["kind"] == "steady", "scope"]]
        if calm:
            listed = " and ".join([", ".join(calm[:-1]), calm[-1]] if calm[:-1] else calm)
            text.append(f"Those of {listed} bring none" if parts else f"Incidents of {listed} bring no further ones")
        return ". ".join(text) + "."


@made_once
def bursts(
    log: FailureLog,
    incidents: Incidents | None = None,
    *,
    level: float = 0.95,
    alpha: float = 0.05,
    n_resamples: int = 99,
    rng: int | np.random.Generator | None = 0,
) -> Bursts:
    """Test whether incidents come after one another: on one node, on other nodes of its rack, elsewhere in the system.

    Parameters
    ----------
    log : FailureLog
    incidents : Incidents, optional
        Of this log; `relfit.incidents` joins them when left out. What comes within its windows is one incident.
    level : float
        Level of the confidence intervals.
    alpha : float
        Size of each test.
    n_resamples : int
        Shuffled logs, 19 or more; drawn where the likelihood indicates bursts of nodes or racks.
    rng : int or numpy.random.Generator
        For the shuffled logs.

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
    level_checked(level)
    share("alpha", alpha, zero=False, one=False)
    if one_whole("n_resamples", n_resamples, 0) < 19:
        raise ArgumentError(f"n_resamples={n_resamples} are too few", remedy="use 19 or more")
    need_dates(log, "nothing comes after another")
    joined = join_records(log) if incidents is None else incidents
    line = IncidentLine.of(log, joined)
    generator = random_stream(rng)
    delays = _DELAYS[clock_step(log) <= 24.0 * NANOSECONDS_PER_HOUR * _DELAYS] if len(log.events) else _DELAYS
    rows, counted, brought = [], [], np.zeros(line.time.size)
    for scope, label, inner in line.scopes(joined.group):
        row = {"scope": scope, "incidents": int((label >= 0).sum())}
        used = np.flatnonzero(label >= 0)
        part = _Labelled(line.take(used), label[used], inner[used])
        if used.size < _FEWEST or not delays.size or (np.unique(part.label).size == 1 and scope != "whole"):
            rows.append(row | {"p": np.nan, "kind": "no answer"})
            continue
        if scope == "whole":
            answer, pairs = _of_whole(part, delays, level, alpha, brought)
        else:
            answer, pairs, own = _of_labels(part, delays, level, alpha, n_resamples, generator)
            if answer["kind"] == _BURST:
                brought[used] += own
        rows.append(row | answer)
        counted.append(pairs.assign(scope=scope, incidents=used.size))
    columns = ["scope", "incidents", "branching", "low", "high", "mean_delay", "following", "p", "p_weeks", "kind"]
    table = pd.DataFrame(rows, columns=columns)
    lags = ["scope", "from_hours", "to_hours", "incidents", "counted", "expected"]
    by_delay = pd.concat(counted, ignore_index=True)[lags] if counted else pd.DataFrame(columns=lags)
    return Bursts(table, by_delay, level, alpha)


class _Labelled(NamedTuple):
    """Incidents of one scope: the label that must be shared to follow, and the inner one that must not."""

    line: IncidentLine
    label: IntArray
    inner: IntArray


def _of_labels(
    part: _Labelled, delays: FloatArray, level: float, alpha: float, n_resamples: int, rng: np.random.Generator
) -> tuple[dict[str, Any], pd.DataFrame, FloatArray]:
    """Whether the same label comes again sooner than by its share of the incidents; the rate that this explains."""
    part = part._replace(label=np.unique(part.label, return_inverse=True)[1])
    line, label, inner = part
    one = np.ones(label.size)
    rate, system = line.background()[0], line.system
    # blocks of some days and some incidents at least, in each system
    number = np.bincount(system, minlength=len(line.ends))
    size = np.maximum(_BLOCK, _IN_BLOCK * np.diff(line.ends)[:, 0] / np.maximum(number, 1))
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
        p = max(p, _p_shuffled(part, long_run * rate, delays, block, n_resamples, rng))
    kind = _BURST if p <= alpha else "steady"
    pairs = _by_lag(part, portion * counts)
    counted = float(counts.mean())
    fit = replace(fit, branching=counted * fit.branching, low=counted * fit.low, high=counted * fit.high)
    return _answer(fit, delays, float(np.mean(1.0 - calm)), p, np.nan, kind), pairs, (1.0 - fit.branching) * brought


def _p_shuffled(
    part: _Labelled, rate: FloatArray, delays: FloatArray, block: IntArray, n_resamples: int, rng: np.random.Generator
) -> float:
    """P-value of how soon labels come again, against labels (each with its own rate) shuffled within blocks."""
    scores, order = np.empty((n_resamples + 1, delays.size)), np.arange(block.size)
    for k in range(n_resamples + 1):
        scores[k] = log_ratios(part.line.time, part.label[order], part.inner[order], rate[order], delays, _TRIED)
        order = np.argsort(block + rng.random(block.size))
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
            fit = fitted(partial(lambda k, x, d: value(x, d, k), used), delays, level)
            tops = [value(fit.branching, fit.delay, k) for k in range(options)]
            best = int(np.argmax(tops))
            if tops[best] <= tops[used] + 1e-9:
                break
            used = best
        reached.append((tops[used], fit, used))
    return max(reached, key=lambda each: each[0])


def _p_of(gain: float, trials: int) -> float:
    """P-value of a gain in log-likelihood by a parameter at the border of its range, the best of some trials."""
    return min(1.0, 0.5 * trials * float(special.chdtrc(1, max(2.0 * gain, 0.0))))


def _of_whole(
    part: _Labelled, delays: FloatArray, level: float, alpha: float, brought: FloatArray
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Whether incidents follow those elsewhere sooner than calendar, weeks and what was `brought` explain."""
    line, label, inner = part
    rate, daily = line.background()
    total = float(label.size)
    own = float(np.mean(brought / (brought + rate)))
    elsewhere = 1.0 - np.where(inner >= 0, np.bincount(inner + 1)[inner + 1], 0) / total
    weight = 1.0 / np.maximum(elsewhere, 1e-9)
    excess = after(line.time, label, weight, delays) - after(line.time, inner, weight, delays)
    left = np.maximum(line.ends[line.system, 1] - line.time, 0.0)
    due = (1.0 - np.exp(-left[:, None] / delays)).sum(axis=0)

    def weeks(length: int, phase: int) -> tuple[IntArray, FloatArray]:
        expected = np.bincount((np.arange(daily.size) + phase) // length, daily)
        there = np.bincount((line.time.astype(np.int64) + phase) // length, minlength=expected.size)
        used = (expected > 0.0) | (there > 0)
        return np.append(0, np.cumsum(there[used])).astype(np.int64), np.asarray(expected[used], np.float64)

    def value(x: float, d: int, k: int, week: tuple[IntArray, FloatArray]) -> float:
        calm = max(1.0 - own - x * due[d] / total, 0.01)
        return spells(calm * rate, brought + x * excess[:, d], week[0], calm * week[1], _ALIKE[k]) - x * due[d]

    cuts = [(length, phase) for length in _SPELLS for phase in range(length)]
    levels = [(value(0.0, 0, k, weeks(*cut)), k, cut) for cut in cuts for k in range(len(_ALIKE))]
    none, start, cut = max(levels, key=lambda each: each[0])
    week = weeks(*cut)
    steady = value(0.0, 0, _EVEN, week)
    fit = fitted(lambda x, d: value(x, d, _EVEN, week), delays.size, level)  # all clusters are bursts
    top, other, _ = _highest(lambda x, d, k: value(x, d, k, week), delays.size, len(_ALIKE), {start}, level)
    p = _p_of(max(top, steady + fit.gain) - none, delays.size)
    if _p_of(top - steady - fit.gain, len(cuts)) <= alpha:  # bursts beside good and bad weeks
        fit = other
    p_weeks = _p_of(none - steady, len(cuts))
    kind = _BURST if p <= alpha else _WEEKS if p_weeks <= alpha else "steady"
    of_others = fit.branching * excess[:, fit.delay]
    following = float(np.mean(of_others / (of_others + brought + max(1.0 - fit.branching - own, 0.01) * rate)))
    pairs = _by_lag(part, None)
    until = np.append(0.0, np.cumsum(daily))
    instants = np.minimum(line.time[:, None] + _LAGS, line.ends[line.system, 1][:, None])
    expected = np.diff(np.interp(instants, np.arange(until.size), until), axis=1)
    pairs["expected"] = (expected * elsewhere[:, None]).sum(axis=0)
    return _answer(fit, delays, following, p, p_weeks, kind), pairs


def _answer(fit: BurstFit, delays: FloatArray, follow: float, p: float, p_weeks: float, kind: str) -> dict[str, Any]:
    """One row of the table."""
    low = fit.low if kind == _BURST else 0.0
    about = {"branching": fit.branching, "low": low, "high": fit.high, "mean_delay": 24.0 * delays[fit.delay]}
    return {**about, "following": follow, "p": p, "p_weeks": p_weeks, "kind": kind}


def _by_lag(part: _Labelled, portion: FloatArray | None) -> pd.DataFrame:
    """Incidents of the same label, and not the same inner one, that come after each, by how long after."""

    def later(code: IntArray) -> FloatArray:
        """Numbers after each point by lag, shape (points, lags)."""
        key = code * width + time
        key = np.where(code >= 0, key, -1.0)
        order = np.sort(key)
        return np.where((code >= 0)[:, None], np.diff(np.searchsorted(order, key[:, None] + _LAGS, "right")), 0.0)

    time = part.line.time - part.line.time.min()
    width = float(time.max()) + 2.0 * _LAGS[-1]
    frame = pd.DataFrame({"from_hours": 24.0 * _LAGS[:-1], "to_hours": 24.0 * _LAGS[1:]})
    frame["counted"] = (later(part.label) - later(part.inner)).sum(axis=0)
    frame["expected"] = np.nan if portion is None else (later(part.line.system) * portion[:, None]).sum(axis=0)
    return frame
