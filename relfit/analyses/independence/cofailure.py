"""Whether nodes fail together: failures of different nodes within a window, against independent processes.

Pairs of failures on two nodes of one group (a system, a rack) at most a window apart are counted.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from relfit.analyses.independence.resampling import CALENDAR, moved, resampled_p
from relfit.analyses.independence.series import NodeSeries, failures_of, table_of_pairs
from relfit.analyses.independence.thresholds import ALPHA, LEAST_FAILURES, LEAST_TOGETHER, verdict
from relfit.base.arguments import one_whole, random_stream
from relfit.base.arrays import Duration, FloatArray, IntArray, Seed
from relfit.base.errors import ArgumentError
from relfit.base.numeric.compiled import njit
from relfit.base.numeric.false_discovery import adjusted_p
from relfit.base.numeric.ordering import order_in_groups, sorted_within
from relfit.base.numeric.poisson import poisson_pmf, poisson_sf
from relfit.base.numeric.ragged import offsets_of
from relfit.base.results import Result
from relfit.base.text import count, duration, number, p_value
from relfit.base.units import NANOSECONDS_PER_HOUR, hours
from relfit.log.failurelog import FailureLog
from relfit.log.tables import check_log
from relfit.log.tables import pairs as system_and_node

_MOST_LISTED = 20_000_000
_CLASSES = 400  # different times of observation
_NEAR = 24.0  # windows, by which failures move at most where the rate from day to day is to stay as well
_ENOUGH = 39  # of such random logs to see whether they have as many together in 5 %
_FEWEST_EXPECTED = 3.0  # pairs together, below which finding none is no evidence


class Cofailures(Result):
    """Pairs of failures of different nodes within a window.

    Attributes
    ----------
    window : float
        Hours.
    per : str
        What nodes of one group have in common.
    table : pandas.DataFrame
        One row per group: ``nodes``, ``failures``, ``together`` (pairs of failures), ``expected`` of independent
        Poisson processes, ``ratio``, ``p`` (of at least this many together by chance; Poisson, mid-p), ``p_adjusted``,
        ``status`` (``ok``, or ``too_few``: no pair is expected) and, with random logs, ``expected_shuffled`` and
        ``p_shuffled``.
    pairs : pandas.DataFrame or None
        One row per pair of nodes that failed together at least once, most significant first, with ``together``,
        ``expected``, ``p`` and ``p_adjusted`` for all ``n_pairs`` pairs of nodes; None where there are too many.
    n_pairs : int
        Pairs of nodes in the groups.
    together : int
        Over all groups, as are the next four.
    expected, p, expected_shuffled, p_shuffled : float
    n_resamples : int
        Random logs.
    notes : tuple of str
    system_wide : int
        Failures of the whole system, which are left out.
    alpha : float
        Size of the test behind `depends`; `dependence` divides its own among its tests.
    """

    window: float
    per: str
    table: pd.DataFrame
    pairs: pd.DataFrame | None
    n_pairs: int
    together: int
    expected: float
    p: float
    expected_shuffled: float
    p_shuffled: float
    n_resamples: int
    notes: tuple[str, ...] = ()
    system_wide: int = 0
    alpha: float = ALPHA

    _not_in_json = ("pairs",)
    _frame = "table"

    @property
    def p_overall(self) -> float:
        """The p-value behind `depends`: of random logs where there are some."""
        return self.p if np.isnan(self.p_shuffled) else self.p_shuffled

    @property
    def depends(self) -> bool | None:
        """Whether nodes fail together at `alpha`, and 5 % more often than by chance; None with too few failures.

        See `relfit.analyses.independence.thresholds` for why 5 %.
        """
        if np.isnan(self.p_overall):
            return None
        expected = self.expected if np.isnan(self.expected_shuffled) else self.expected_shuffled
        together = self.p_overall <= self.alpha and self.together >= LEAST_TOGETHER * expected
        # fewer than three together expected: even twice as many could not be distinguished from chance
        few = self.expected < _FEWEST_EXPECTED
        return verdict(together, 0 if few else int(self.table["failures"].sum()) if len(self.table) else LEAST_FAILURES)

    @property
    def headline(self) -> str:
        """Whether nodes fail together more often than by chance."""
        if self.expected == 0.0:
            return f"No {self.per} has two nodes with failures: failing together cannot be judged."
        if self.depends is None:
            return (
                f"Too few failures to judge whether nodes of one {self.per} fail together: {self.together:,} pairs "
                f"came within {duration(self.window)} of each other where chance gives {_expected(self.expected)}."
            )
        text = f"Apart from {count(self.system_wide, 'failure')} of the whole system, f" if self.system_wide else "F"
        text += (
            f"ailures of two nodes of one {self.per} come within {duration(self.window)} of each other "
            f"{number(self.together / self.expected)} times as often as in independent Poisson processes "
            f"({self.together:,} against {_expected(self.expected)}"
        )
        if np.isnan(self.p_shuffled):
            text += f", {p_value(self.p)}): "
        else:
            p = p_value(self.p_shuffled, 1.0 / (1.0 + self.n_resamples))
            random = f"{self.n_resamples} random logs of the same rate"
            text += f"; {_expected(self.expected_shuffled)} on average in {random}, {p}): "
        if not self.depends:
            return text + "nodes do not fail together at this scale."
        return text + "nodes fail together."


def _expected(value: float) -> str:
    """An expected count: whole, or with two digits where it is small."""
    return f"{value:,.0f}" if value >= 10.0 else f"{value:.2g}"


def cofailures(
    log: FailureLog,
    window: Duration = "1h",
    per: str = "system",
    *,
    n_resamples: int = 0,
    rng: Seed = 0,
    failures: NodeSeries | None = None,
) -> Cofailures:
    """Failures of different nodes within a window, per group, per pair of nodes and in all.

    Nodes without a value of `per` are left out.

    Parameters
    ----------
    log : FailureLog
    window : float, str or Timedelta
        How far apart two failures may be; a number is hours. Give at least what the log's clock resolves.
    per : str
        ``"system"`` or any column of the population or of events, such as ``"rack"``: only nodes that share its value
        are compared.
    n_resamples : int
        Random logs for a p-value that keeps each node's own clustering and the rate over the calendar: each moves all
        failures of a node by one random amount, up to 30 days or a tenth of the time it was watched. Where these logs
        have significantly fewer pairs, but logs moved by up to 24 windows do not, the rate varies from day to day or
        week to week, and the latter are the reference.
    rng : int or numpy.random.Generator
        For the random logs.
    failures : NodeSeries, optional
        Failures of `log`, to reuse.

    Returns
    -------
    Cofailures
        Expected numbers are exact for Poisson processes, given how often each node failed and when it was watched.

    Raises
    ------
    ArgumentError
        For a window that is not positive, an unknown column, or a negative number of random logs.
    DataError
        For a log of lifetimes without dates, or one observed for no time.

    Examples
    --------
    >>> import relfit as rf
    >>> result = cofailures(rf.datasets.load("white"), "10min")
    >>> result.table[["nodes", "failures"]].values.tolist()[0][0]
    512
    """
    check_log(log)
    width = hours(window)
    if not width > 0.0:
        what = f"a window of {window} expects no failures together"
        raise ArgumentError(what, remedy="give a positive one, such as '1h'")
    n_resamples = one_whole("n_resamples", n_resamples, 0)
    every = failures_of(log) if failures is None else failures
    group, labels = _groups(log, every, per)
    inside = np.flatnonzero(group >= 0)
    nodes = every.take(inside[np.argsort(group[inside], kind="stable")])
    group = np.sort(group[inside])
    width = min(width, every.span / NANOSECONDS_PER_HOUR)  # no two failures are further apart
    reached = round(width * NANOSECONDS_PER_HOUR)
    together, close = _count(nodes, nodes.times, group, len(labels), reached)
    expected = _expected_within(nodes, group, len(labels), width)
    table = _table(nodes, group, labels, together, expected)
    size = table["nodes"].to_numpy(np.int64)
    n_pairs = int((size * (size - 1) // 2).sum())
    mean_shuffled, p_shuffled = np.nan, np.nan
    if n_resamples:
        generator = random_stream(rng)
        means, as_many, drawn = _shuffled(nodes, group, together, reached, n_resamples, generator)
        if resampled_p(float(together.sum()), drawn) <= ALPHA:  # or does the rate move from day to day, week to week?
            few = min(n_resamples, _ENOUGH)
            near = _shuffled(nodes, group, together, reached, few, generator, _NEAR * width)
            if resampled_p(float(together.sum()), near[2]) > ALPHA:
                near = _shuffled(nodes, group, together, reached, n_resamples, generator, _NEAR * width)
                means, as_many, drawn = near
        table["expected_shuffled"], mean_shuffled = means, float(means.sum())
        table["p_shuffled"] = np.where(expected > 0.0, (1.0 + as_many) / (1.0 + n_resamples), np.nan)
        p_shuffled = resampled_p(float(together.sum()), drawn) if expected.sum() > 0.0 else np.nan
    pairs, notes = None, []
    if close.sum() <= _MOST_LISTED:
        pairs = _pairs(nodes, group, int(close.sum()), reached, width, n_pairs)
    else:
        notes.append(f"{int(close.sum())} pairs of failures lie within the window: pairs of nodes are not listed")
    if inside.size < every.sizes.size:
        notes.append(f"nodes without a {per} are left out")
    total, mean = int(together.sum()), float(expected.sum())
    p = float(_mid_p(total, mean)) if mean > 0.0 else np.nan
    every_group = total, mean, p, mean_shuffled, p_shuffled, n_resamples
    return Cofailures(width, per, table, pairs, n_pairs, *every_group, tuple(notes))


def _groups(log: FailureLog, failures: NodeSeries, per: str) -> tuple[IntArray, pd.Index]:
    """Number of the group of every node, -1 for none, and the groups."""
    if per == "system":
        codes, labels = pd.factorize(failures.groups.get_level_values(0), sort=False)
        return codes.astype(np.int64), pd.Index(labels, name=per)
    for frame in (log.population, log.events):
        if per in frame.columns and per in log.attributes:
            values = pd.Series(frame[per].astype(object).to_numpy(), index=system_and_node(frame)).dropna()
            value = values[~values.index.duplicated()].reindex(failures.groups)
            codes, names = pd.factorize(value.to_numpy(dtype=object))
            return codes.astype(np.int64), pd.Index(names, name=per)
    what = f"no column {per!r} that tells where nodes are"
    raise ArgumentError(what, remedy=f"use {', '.join(('system', *log.attributes))}")


def _count(
    failures: NodeSeries, times: IntArray, group: IntArray, n_groups: int, window: int
) -> tuple[IntArray, IntArray]:
    """Pairs of failures on two nodes of each group, and on any two or one, at most `window` apart."""
    sizes = np.bincount(group, weights=failures.sizes, minlength=n_groups).astype(np.int64)
    close, own = np.zeros(n_groups, dtype=np.int64), np.zeros(failures.sizes.size, dtype=np.int64)
    for offsets, out in ((offsets_of(sizes), close), (failures.offsets, own)):
        _count_within(sorted_within(times, offsets), offsets, window, out)
    alone = np.zeros(n_groups, dtype=np.int64)
    np.add.at(alone, group, own)
    return close - alone, close


@njit(cache=True, nogil=True)
def _count_within(times: np.ndarray, offsets: np.ndarray, window: int, out: np.ndarray) -> None:
    """How many pairs of times of each group are at most `window` apart; times rise within a group."""
    for group in range(offsets.size - 1):
        begin, end = offsets[group], offsets[group + 1]
        reach = begin
        total = 0
        for i in range(begin, end):
            reach = max(reach, i)
            while reach + 1 < end and times[reach + 1] - times[i] <= window:
                reach += 1
            total += reach - i
        out[group] = total


def chance_within(
    entered: FloatArray, left: FloatArray, entered_2: FloatArray, left_2: FloatArray, window: float
) -> FloatArray:
    """Probability that two instants, uniform over two intervals (hours), are at most `window` apart; arrays."""
    a, c = np.asarray(entered, np.float64), np.asarray(entered_2, np.float64)
    tiny = 1.0 / NANOSECONDS_PER_HOUR
    b, d = np.maximum(left, a + tiny), np.maximum(left_2, c + tiny)

    def area(x: float) -> FloatArray:
        """Twice the area where the second instant is less than `x` after the first."""
        corners = ((c - b, 1.0), (c - a, -1.0), (d - b, -1.0), (d - a, 1.0))
        total = sum(sign * np.maximum(x - corner, 0.0) ** 2 for corner, sign in corners)
        return np.asarray(total, dtype=np.float64)

    return np.clip((area(window) - area(-window)) / (2.0 * (b - a) * (d - c)), 0.0, 1.0)


def _expected_within(failures: NodeSeries, group: IntArray, n_groups: int, window: float) -> FloatArray:
    """Expected pairs of failures on two nodes of each group `window` hours apart or less; similar times joined."""
    sizes = failures.sizes.astype(np.float64)
    entered, left = failures.entered / NANOSECONDS_PER_HOUR, failures.left / NANOSECONDS_PER_HOUR
    own = np.bincount(group, weights=sizes**2 * chance_within(entered, left, entered, left, window), minlength=n_groups)
    times, kind = np.unique(np.stack([entered, left], axis=1), axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    if len(times) > _CLASSES:
        joined = np.arange(len(times)) * _CLASSES // len(times)
        weight = np.bincount(joined, minlength=_CLASSES)
        times = np.stack([np.bincount(joined, weights=times[:, i]) / weight for i in range(2)], axis=1)
        kind = joined[kind]
    chance = chance_within(times[:, None, 0], times[:, None, 1], times[None, :, 0], times[None, :, 1], window)
    counts = np.zeros((n_groups, len(times)))
    np.add.at(counts, (group, kind), sizes)
    both = np.einsum("gi,gi->g", counts @ chance, counts)
    # only nodes without a partner leave rounding behind
    partners = np.bincount(group, weights=sizes > 0, minlength=n_groups) > 1
    return np.where(partners, np.maximum(0.5 * (both - own), 0.0), 0.0)


def _table(
    failures: NodeSeries, group: IntArray, labels: pd.Index, together: IntArray, expected: FloatArray
) -> pd.DataFrame:
    able = expected > 0.0
    p = np.where(able, _mid_p(together, np.where(able, expected, 1.0)), np.nan)
    number = np.bincount(group, weights=failures.sizes, minlength=len(labels)).astype(np.int64)
    ratio = np.divide(together, expected, out=np.full(len(labels), np.nan), where=able)
    counts = {"nodes": np.bincount(group, minlength=len(labels)), "failures": number, "together": together}
    tested = {"expected": expected, "ratio": ratio, "p": p, "p_adjusted": adjusted_p(p)}
    return pd.DataFrame({**counts, **tested, "status": np.where(able, "ok", "too_few")}, index=labels)


def _mid_p(count: IntArray | int, mean: FloatArray | float) -> FloatArray:
    """Probability that a Poisson number of this mean exceeds `count`, and half that of equalling it."""
    return np.asarray(poisson_sf(count, mean) + 0.5 * poisson_pmf(count, mean), dtype=np.float64)


def _pairs(failures: NodeSeries, group: IntArray, most: int, window: int, width: float, n_pairs: int) -> pd.DataFrame:
    """Pairs of nodes that failed together, most significant first."""
    of_failure = np.repeat(group, failures.sizes)
    order = order_in_groups(of_failure, failures.times)
    offsets = offsets_of(np.bincount(of_failure))
    listed = np.empty(most, dtype=np.int64)
    code, together = np.unique(
        listed[: _list_within(failures.times[order], failures.nodes[order], offsets, window, listed)],
        return_counts=True,
    )
    first, second = code >> 31, code & (2**31 - 1)
    entered, left = failures.entered / NANOSECONDS_PER_HOUR, failures.left / NANOSECONDS_PER_HOUR
    chance = chance_within(entered[first], left[first], entered[second], left[second], width)
    expected = failures.sizes[first] * failures.sizes[second] * chance
    p = poisson_sf(together - 1, expected)
    order = np.argsort(p, kind="stable")
    # Benjamini and Hochberg's steps over all pairs of nodes: those that never failed together have p = 1
    scaled = np.minimum(p[order] * n_pairs / np.arange(1, p.size + 1), 1.0)
    adjusted = np.minimum.accumulate(scaled[::-1])[::-1]
    numbers = {"together": together[order], "expected": expected[order], "p": p[order], "p_adjusted": adjusted}
    return table_of_pairs(failures.groups, first[order], second[order], numbers)


@njit(cache=True, nogil=True)
def _list_within(times: np.ndarray, nodes: np.ndarray, offsets: np.ndarray, window: int, out: np.ndarray) -> int:
    """Write ``smaller * 2**31 + larger`` number of the nodes of each such pair on two nodes; how many there are."""
    size = 0
    for group in range(offsets.size - 1):
        begin, end = offsets[group], offsets[group + 1]
        for i in range(begin, end):
            j = i + 1
            while j < end and times[j] - times[i] <= window:
                a, b = nodes[i], nodes[j]
                if a != b:
                    out[size] = (min(a, b) << 31) + max(a, b)
                    size += 1
                j += 1
    return size


def _shuffled(
    failures: NodeSeries,
    group: IntArray,
    together: IntArray,
    window: int,
    n_resamples: int,
    rng: np.random.Generator,
    reach: float = CALENDAR,
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Failures together in the mean random log, random logs with as many per group, and those of all groups in each."""
    total, as_many = np.zeros(together.size), np.zeros(together.size, dtype=np.int64)
    in_all = np.zeros(n_resamples)
    for i in range(n_resamples):
        drawn = _count(failures, moved(failures, rng, reach), group, together.size, window)[0]
        total += drawn
        as_many += drawn >= together
        in_all[i] = drawn.sum()
    return total / n_resamples, as_many, in_all
