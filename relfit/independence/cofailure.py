"""Do nodes fail together: failures of different nodes within a window, against independent processes.

Counted are pairs of failures on two nodes of one group (a system, a rack) at most a window apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from relfit.errors import ArgumentError
from relfit.independence.chance import chance_within, expected_within
from relfit.independence.cofailure_kernels import count_within, list_within
from relfit.independence.series import Failures, failures_of
from relfit.independence.verdicts import ALPHA, LEAST_TOGETHER
from relfit.lifedata import key_columns
from relfit.numeric.false_discovery import adjusted_p
from relfit.numeric.ordering import order_in_groups
from relfit.text import p_value
from relfit.units import NANOSECONDS_PER_HOUR, hours

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog

__all__ = ["Cofailures", "cofailures"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_METHODS = ("shift", "gaps")
_MOST_LISTED = 20_000_000


@dataclass(frozen=True, eq=False)
class Cofailures:
    """Pairs of failures of different nodes within a window.

    Attributes
    ----------
    window : float
        Hours.
    per : str
        What nodes of one group have in common.
    table : pandas.DataFrame
        A row a group: ``nodes``, ``failures``, ``together`` (pairs of failures), ``expected`` of independent Poisson
        processes, ``ratio``, ``p`` (that so many come together by chance; Poisson, mid-p), ``p_adjusted`` and, where
        shuffles were asked for, ``expected_shuffled`` and ``p_shuffled``.
    pairs : pandas.DataFrame or None
        A row a pair of nodes that failed together at least once, most significant first, with ``together``,
        ``expected``, ``p`` and ``p_adjusted`` for all ``n_pairs`` pairs of nodes; None where there are too many.
    n_pairs : int
        Pairs of nodes in the groups.
    together, expected, p, expected_shuffled, p_shuffled : float
        Over all groups.
    shuffles : int
    method : str
    notes : tuple of str
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
    shuffles: int
    method: str
    notes: tuple[str, ...] = field(default=())

    @property
    def depends(self) -> bool | None:
        """Whether nodes fail together significantly at 5 % and 5 % more often; None without two nodes with failures.

        See `relfit.independence.verdicts` for why 5 %.
        """
        p = self.p if np.isnan(self.p_shuffled) else self.p_shuffled
        return None if np.isnan(p) else bool(p <= ALPHA and self.together >= LEAST_TOGETHER * self.expected)

    @property
    def sentence(self) -> str:
        """Whether nodes fail together more often than chance has it."""
        if self.expected == 0.0:
            return f"No {self.per} has two nodes with failures: failing together cannot be judged."
        ratio = self.together / self.expected
        p = self.p if np.isnan(self.p_shuffled) else self.p_shuffled
        text = (
            f"Failures of two nodes of one {self.per} come within {self.window:g} h of each other {ratio:.3g} times as "
            f"often as in independent Poisson processes ({self.together} against {_count_words(self.expected)}"
        )
        if np.isnan(self.p_shuffled):
            text += f", {p_value(p)}): "
        else:
            text += f"; {_count_words(self.expected_shuffled)} in {self.shuffles} random logs, {p_value(p)}): "
        if not self.depends:
            return text + "independence holds at this scale."
        return text + "a system of these nodes fails in bursts, and multiplying their reliabilities misleads."

    def plot(self, ax: Any = None) -> Any:
        """Draw observed against expected failures together; see `relfit.plotting.failing_together`."""
        from relfit import plotting

        return plotting.failing_together(self, ax)

    def to_frame(self) -> pd.DataFrame:
        """`table`."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: totals, groups, the twenty most significant pairs."""
        return {
            "window_hours": self.window,
            "per": self.per,
            "n_pairs": self.n_pairs,
            "together": self.together,
            "expected": self.expected,
            "p": self.p if np.isfinite(self.p) else None,
            "expected_shuffled": self.expected_shuffled if np.isfinite(self.expected_shuffled) else None,
            "p_shuffled": self.p_shuffled if np.isfinite(self.p_shuffled) else None,
            "shuffles": self.shuffles,
            "method": self.method,
            "groups": _records(self.table.reset_index()),
            "pairs": None if self.pairs is None else _records(self.pairs.head(20)),
            "sentence": self.sentence,
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return f"Cofailures: {len(self.table)} groups, {self.n_pairs} pairs of nodes. {self.sentence}"

    def _repr_html_(self) -> str:
        return f"<p>{self.sentence}</p>{self.table.to_html(max_rows=10)}"


def _count_words(value: float) -> str:
    """An expected number: whole, or with two digits where it is small."""
    return f"{value:.0f}" if value >= 10.0 else f"{value:.2g}"


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    table = frame.astype(object)
    return [{str(k): v for k, v in row.items()} for row in table.where(table.notna(), None).to_dict("records")]


def cofailures(
    log: FailureLog,
    window: Any = "1h",
    per: str = "system",
    *,
    shuffles: int = 0,
    method: str = "shift",
    reach: Any = None,
    rng: int | np.random.Generator | None = None,
    failures: Failures | None = None,
) -> Cofailures:
    """Failures of different nodes within a window, per group, per pair of nodes and in all.

    Parameters
    ----------
    log : FailureLog
    window : float, str or Timedelta
        How far apart two failures may be; a number is hours. Give at least what the log's clock resolves.
    per : str
        ``"system"`` or any column of the population or of events, such as ``"rack"``: only nodes that share its value
        are set against each other; nodes without a value are left out.
    shuffles : int
        Random logs for a p-value that takes each node's own clustering as it is (cautious where few come together).
    method : {"shift", "gaps"}
        A random log moves each node's failures round its time of observation by a random amount, or puts the node's
        gaps in random order.
    reach : float, str or Timedelta, optional
        With ``shift``, move by at most so much: what nodes share more slowly than this (a trend, an early period) stays
        in the random logs. By any amount when left out, and then a shared trend counts as failing together.
    rng : int or numpy.random.Generator, optional
        For the shuffles.
    failures : Failures, optional
        Those of `log`, where they are at hand.

    Returns
    -------
    Cofailures
        Expected numbers are exact for Poisson processes, given how often each node failed and when it was watched.

    Raises
    ------
    ArgumentError
        For a window or reach that is not positive, an unknown column or method.
    DataError
        For a log of lives without dates, or one observed for no time.

    Examples
    --------
    >>> import relfit as rf
    >>> found = cofailures(rf.datasets.load("white"), "10min")
    >>> found.table[["nodes", "failures"]].values.tolist()[0][0]
    512
    """
    width = hours(window)
    if not width > 0.0:
        raise ArgumentError(
            f"a window of {window} expects no failures together", remedy="give a positive one, such as '1h'"
        )
    if method not in _METHODS:
        raise ArgumentError(f"method {method!r} is not known", remedy=f"use {' or '.join(_METHODS)}")
    if shuffles < 0:
        raise ArgumentError(f"shuffles={shuffles} must be zero or more")
    far = None if reach is None else hours(reach)
    if far is not None and not far > 0.0:
        raise ArgumentError(f"reach={reach} must be positive")
    known = failures_of(log) if failures is None else failures
    group, labels = _groups(log, known, per)
    inside = np.flatnonzero(group >= 0)
    known = known.take(inside[np.argsort(group[inside], kind="stable")])
    group = np.sort(group[inside])
    reached = round(width * NANOSECONDS_PER_HOUR)
    together, close = _count(known, known.times, group, len(labels), reached)
    expected = expected_within(known, group, len(labels), width)
    table = _table(known, group, labels, together, expected, per)
    nodes = table["nodes"].to_numpy(np.int64)
    n_pairs = int((nodes * (nodes - 1) // 2).sum())
    mean_shuffled, p_shuffled = np.nan, np.nan
    if shuffles:
        means, as_many, in_all = _shuffled(
            known, group, together, reached, shuffles, method, far, np.random.default_rng(rng)
        )
        table["expected_shuffled"], mean_shuffled = means, float(means.sum())
        table["p_shuffled"] = np.where(expected > 0.0, (1.0 + as_many) / (1.0 + shuffles), np.nan)
        p_shuffled = (1.0 + in_all) / (1.0 + shuffles) if expected.sum() > 0.0 else np.nan
    pairs, notes = None, []
    if close.sum() <= _MOST_LISTED:
        pairs = _pairs(known, group, int(close.sum()), reached, width, n_pairs)
    else:
        notes.append(f"{int(close.sum())} pairs of failures lie within the window: pairs of nodes are not listed")
    if inside.size < group.size or (group < 0).any():
        notes.append(f"nodes without a {per} are left out")
    total, mean = int(together.sum()), float(expected.sum())
    p = float(_mid_p(np.array([total]), np.array([mean]))[0]) if mean > 0.0 else np.nan
    return Cofailures(
        width, per, table, pairs, n_pairs, total, mean, p, mean_shuffled, p_shuffled, shuffles, method, tuple(notes)
    )


def _groups(log: FailureLog, failures: Failures, per: str) -> tuple[IntArray, pd.Index]:
    """Number of the group of every node, -1 for none, and the groups."""
    if per == "system":
        codes, labels = pd.factorize(failures.groups.get_level_values(0), sort=False)
        return codes.astype(np.int64), pd.Index(labels, name=per)
    for frame in (log.population, log.events):
        if per in frame.columns and per in log.attributes:
            pairs = pd.MultiIndex.from_arrays([frame["system"].astype(object), frame["node"].astype(object)])
            values = pd.Series(frame[per].astype(object).to_numpy(), index=pairs).dropna()
            value = values[~values.index.duplicated()].reindex(failures.groups)
            codes, found = pd.factorize(value.to_numpy(dtype=object))
            return codes.astype(np.int64), pd.Index(found, name=per)
    raise ArgumentError(
        f"no column {per!r} that tells where nodes are", remedy=f"use {', '.join(('system', *log.attributes))}"
    )


def _count(
    failures: Failures, times: IntArray, group: IntArray, n_groups: int, window: int
) -> tuple[IntArray, IntArray]:
    """Pairs of failures on two nodes of each group, and on whatever nodes, at most `window` apart.

    `times` are those of one node after another, in any order.
    """
    by_time = np.argsort(times, kind="stable")
    sizes = np.bincount(group, weights=failures.sizes, minlength=n_groups).astype(np.int64)
    cuts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    close = np.zeros(n_groups, dtype=np.int64)
    count_within(times[_in_order(group[failures.nodes], by_time, n_groups)], cuts, window, close)
    own = np.zeros(failures.sizes.size, dtype=np.int64)
    count_within(times[_in_order(failures.nodes, by_time, own.size)], failures.offsets, window, own)
    alone = np.zeros(n_groups, dtype=np.int64)
    np.add.at(alone, group, own)
    return close - alone, close


def _in_order(code: IntArray, before: IntArray, groups: int) -> IntArray:
    """Rows group after group, within a group as in `before`."""
    if groups == 1:
        return before
    from relfit.numeric.counting import counting_order

    order = np.empty(code.size, dtype=np.int64)
    counting_order(code, before, groups + 1, order)
    return order


def _table(
    failures: Failures, group: IntArray, labels: pd.Index, together: IntArray, expected: FloatArray, per: str
) -> pd.DataFrame:
    able = expected > 0.0
    p = np.where(able, _mid_p(together, np.where(able, expected, 1.0)), np.nan)
    return pd.DataFrame(
        {
            "nodes": np.bincount(group, minlength=len(labels)),
            "failures": np.bincount(group, weights=failures.sizes, minlength=len(labels)).astype(np.int64),
            "together": together,
            "expected": expected,
            "ratio": np.divide(together, expected, out=np.full(len(labels), np.nan), where=able),
            "p": p,
            "p_adjusted": adjusted_p(p),
            "status": np.where(able, "ok", "too_few"),
        },
        index=labels.rename(per),
    )


def _mid_p(count: IntArray, mean: FloatArray) -> FloatArray:
    """Probability of more than `count` and half that of just so many."""
    return np.asarray(stats.poisson.sf(count, mean) + 0.5 * stats.poisson.pmf(count, mean), dtype=np.float64)


def _pairs(failures: Failures, group: IntArray, most: int, window: int, width: float, n_pairs: int) -> pd.DataFrame:
    """Pairs of nodes that failed together, most significant first."""
    of_failure = np.repeat(group, failures.sizes)
    order = order_in_groups(of_failure, failures.times)
    cuts = np.concatenate([[0], np.cumsum(np.bincount(of_failure))]).astype(np.int64)
    found = np.empty(most, dtype=np.int64)
    listed = list_within(failures.times[order], failures.nodes[order], cuts, window, found)
    listed_pairs = np.sort(found[:listed])
    heads = np.flatnonzero(np.diff(listed_pairs, prepend=-1))
    code, together = listed_pairs[heads], np.diff(heads, append=listed)
    first, second = code >> 31, code & (2**31 - 1)
    entered, left = failures.entered / NANOSECONDS_PER_HOUR, failures.left / NANOSECONDS_PER_HOUR
    chance = chance_within(entered[first], left[first], entered[second], left[second], width)
    expected = failures.sizes[first] * failures.sizes[second] * chance
    p = stats.poisson.sf(together - 1, expected)
    order = np.argsort(p, kind="stable")
    # Benjamini and Hochberg's steps over all pairs of nodes: those that never failed together have p = 1
    scaled = np.minimum(p[order] * n_pairs / np.arange(1, p.size + 1), 1.0)
    adjusted = np.minimum.accumulate(scaled[::-1])[::-1]
    keys = key_columns(failures.groups)
    return pd.concat(
        [
            keys.iloc[first[order]].add_suffix("_1").reset_index(drop=True),
            keys.iloc[second[order]].add_suffix("_2").reset_index(drop=True),
            pd.DataFrame(
                {"together": together[order], "expected": expected[order], "p": p[order], "p_adjusted": adjusted}
            ),
        ],
        axis=1,
    )


def _shuffled(
    failures: Failures, group: IntArray, together: IntArray, window: int, shuffles: int, method: str,
    reach: float | None, rng: np.random.Generator,
) -> tuple[FloatArray, IntArray, int]:  # fmt: skip
    """Failures together in the mean random log; how many random logs have as many, per group and in all."""
    node = failures.nodes
    length = np.maximum(failures.left - failures.entered, 1)
    far = np.inf if reach is None else reach * NANOSECONDS_PER_HOUR
    total, as_many, in_all = np.zeros(together.size), np.zeros(together.size, dtype=np.int64), 0
    for _ in range(shuffles):
        if method == "shift":
            most = np.minimum(length * 0.5, far)
            step = rng.uniform(-most, most).astype(np.int64)
            times = failures.entered[node] + (failures.times - failures.entered[node] + step[node]) % length[node]
        else:
            times = _gaps_in_random_order(failures, node, rng)
        now = _count(failures, times, group, together.size, window)[0]
        total += now
        as_many += now >= together
        in_all += int(now.sum() >= together.sum())
    return total / shuffles, as_many, in_all


def _gaps_in_random_order(failures: Failures, node: IntArray, rng: np.random.Generator) -> IntArray:
    """Each node's gaps, those before its first and after its last failure included, in random order."""
    busy = np.flatnonzero(failures.sizes)
    if not busy.size:
        return failures.times
    ends = np.concatenate([node, busy])
    instants = np.concatenate([failures.times, failures.left[busy]])
    order = np.lexsort((np.concatenate([np.zeros(node.size), np.ones(busy.size)]), ends))
    ends, instants = ends[order], instants[order]
    opens = np.ones(ends.size, dtype=np.bool_)
    opens[1:] = ends[1:] != ends[:-1]
    gaps = np.diff(instants, prepend=0)
    gaps[opens] = instants[opens] - failures.entered[busy]
    shuffled = gaps[np.lexsort((rng.random(ends.size), ends))]
    total = np.cumsum(shuffled)
    before = total[opens] - shuffled[opens]
    times = total - np.repeat(before - failures.entered[busy], failures.sizes[busy] + 1)
    closes = np.append(opens[1:], True)
    return np.asarray(times[~closes], dtype=np.int64)
