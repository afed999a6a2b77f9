"""`EventHistories`: when each of many repairable systems failed, and from when to when it was watched."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError, DataError
from relfit.lifedata import LifeData, key_columns
from relfit.outages import outages_of
from relfit.units import NANOSECONDS_PER_HOUR

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog

__all__ = ["EventHistories", "grouping", "histories_of_log", "label_text", "sums", "unit_of"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_CLOCKS = ("age", "calendar")


@dataclass(frozen=True, eq=False)
class EventHistories:
    """Events of many repairable systems; history ``j`` owns ``times[offsets[j]:offsets[j + 1]]``.

    Parameters
    ----------
    times : ndarray of float, shape (n,)
        Hours from the origin to each event, not falling within a history.
    offsets : ndarray of int, shape (histories + 1,)
        Where each history begins and ends.
    groups : pandas.Index, shape (histories,)
        Labels.
    begin, end : ndarray of float, shape (histories,)
        Hours from the origin at which observation began and ended. `begin` is zero on the clock ``"age"``.
    left_open : ndarray of bool, shape (histories,)
        The system had been running for an unknown time when observation began, so ages count from that instant only.
    end_known : ndarray of bool, shape (histories,)
        Observation ended at a declared instant, not merely at the last one that was seen.
    opening : ndarray of int, shape (histories,)
        Events at the very beginning of a left-open history. They began the observation rather than happened within it,
        and are not among `times`.
    notes : tuple of str
        What was left out, and conventions.

    Raises
    ------
    DataError
        When shapes do not fit, a time is not finite, falls, or lies outside its history.
    """

    times: FloatArray
    offsets: IntArray
    groups: pd.Index
    begin: FloatArray
    end: FloatArray
    left_open: BoolArray
    end_known: BoolArray
    opening: IntArray
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        count = len(self.groups)
        for name in ("begin", "end", "left_open", "end_known", "opening"):
            if getattr(self, name).shape != (count,):
                raise DataError(f"{name} has {getattr(self, name).size} entries for {count} histories")
        offsets = self.offsets
        if offsets.shape != (count + 1,) or offsets[0] != 0 or offsets[-1] != self.times.size:
            raise DataError("offsets must run from 0 to the number of events, with one more entry than histories")
        if np.any(np.diff(offsets) < 0):
            raise DataError("offsets must not fall")
        if not (np.isfinite(self.begin).all() and np.isfinite(self.end).all() and np.isfinite(self.times).all()):
            raise DataError("times of events and ends of observation must be finite numbers of hours")
        if np.any(self.begin < 0.0) or np.any(self.end < self.begin):
            raise DataError("observation must begin at zero or more hours and end no earlier than it began")
        code = self.codes()
        if np.any((self.times < self.begin[code]) | (self.times > self.end[code])):
            raise DataError(
                "an event lies outside the time of observation of its history",
                remedy="give begin and end so that they hold all events",
            )
        if self.times.size > 1 and np.any((np.diff(self.times) < 0.0) & (code[1:] == code[:-1])):
            raise DataError("the events of a history must be in order", remedy="sort them, or use from_groups")

    # ---------------------------------------------------------------- making

    @classmethod
    def from_groups(
        cls,
        times: Sequence[npt.ArrayLike],
        end: npt.ArrayLike | None = None,
        *,
        begin: npt.ArrayLike = 0.0,
        groups: pd.Index | Sequence[Hashable] | None = None,
    ) -> EventHistories:
        """Histories from one sequence of event times each.

        Parameters
        ----------
        times : sequence of array_like of float
            Hours; sorted here.
        end : array_like of float, optional
            When observation ended, one for all or one a history. The last event of each when left out, which makes a
            history failure-truncated.
        begin : array_like of float
            When observation began.
        groups : sequence of labels, optional
            Numbers when left out.

        Raises
        ------
        DataError
            See the class; also when `end` is left out and a history has no event.

        Examples
        --------
        >>> EventHistories.from_groups([[5.0, 8.0], []], end=[12.0, 16.0])
        EventHistories: 2 events of 2 histories, 28 hours in all
        """
        parts = [np.sort(np.asarray(part, dtype=np.float64).ravel()) for part in times]
        count = len(parts)
        offsets = np.concatenate([[0], np.cumsum([part.size for part in parts])]).astype(np.int64)
        if end is None:
            if any(part.size == 0 for part in parts):
                raise DataError("a history without events needs an end of observation", remedy="give end")
            end = np.array([part[-1] for part in parts], dtype=np.float64)
        return cls.from_flat(np.concatenate(parts) if count else np.empty(0), offsets, end, begin=begin, groups=groups)

    @classmethod
    def from_flat(
        cls,
        times: npt.ArrayLike,
        offsets: npt.ArrayLike,
        end: npt.ArrayLike,
        *,
        begin: npt.ArrayLike = 0.0,
        groups: pd.Index | Sequence[Hashable] | None = None,
    ) -> EventHistories:
        """Histories from flat arrays; events in order within each history. See the class.

        Examples
        --------
        >>> EventHistories.from_flat([5.0, 8.0, 1.0], [0, 2, 3], 12.0).sizes.tolist()
        [2, 1]
        """
        where = np.asarray(offsets, dtype=np.int64)
        count = max(where.size - 1, 0)
        if groups is None:
            labels: pd.Index = pd.RangeIndex(count, name="history")
        else:
            labels = groups if isinstance(groups, pd.Index) else pd.Index(list(groups), name="history")
        return cls(
            np.asarray(times, dtype=np.float64).ravel(),
            where,
            labels,
            np.broadcast_to(np.asarray(begin, dtype=np.float64), (count,)).copy(),
            np.broadcast_to(np.asarray(end, dtype=np.float64), (count,)).copy(),
            np.zeros(count, dtype=np.bool_),
            np.ones(count, dtype=np.bool_),
            np.zeros(count, dtype=np.int64),
        )

    @classmethod
    def from_lives(cls, lives: LifeData) -> EventHistories:
        """Histories whose gaps are the lives of each group, one after the other; a censored life ends the history.

        Parameters
        ----------
        lives : LifeData
            Plain lives; in each group only the last may be censored.

        Raises
        ------
        DataError
            For lives in intervals, truncated or weighted ones, or a censored life before the last.

        Examples
        --------
        >>> lives = LifeData.from_groups([[5.0, 3.0, 4.0]], [[True, True, False]])
        >>> EventHistories.from_lives(lives).times.tolist()
        [5.0, 8.0]
        """
        if not lives.plain:
            raise DataError("a history needs lives that are observed or right-censored", remedy="leave out truncation")
        last = np.zeros(lives.durations.size, dtype=np.bool_)
        last[lives.offsets[1:][lives.sizes > 0] - 1] = True
        if np.any(~lives.observed & ~last):
            raise DataError("a censored life stands before the last of its group", remedy="put it last, or pool lives")
        from relfit.nonparametric.kernels import running_sum

        at = running_sum(lives.durations, lives.offsets)
        end = np.zeros(lives.n_groups)
        end[lives.sizes > 0] = at[lives.offsets[1:][lives.sizes > 0] - 1]
        count = np.bincount(lives.group_codes()[lives.observed], minlength=lives.n_groups)
        offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
        return cls.from_flat(at[lives.observed], offsets, end, groups=lives.groups)

    # --------------------------------------------------------------- reading

    @property
    def n_histories(self) -> int:
        """Number of histories."""
        return len(self.groups)

    @property
    def sizes(self) -> IntArray:
        """Events of each history, shape (histories,)."""
        return np.diff(self.offsets)

    @property
    def length(self) -> FloatArray:
        """Hours for which each history was watched, shape (histories,)."""
        return self.end - self.begin

    def codes(self) -> IntArray:
        """Number of the history of each event, shape (n,)."""
        return np.repeat(np.arange(len(self.groups), dtype=np.int64), np.diff(self.offsets))

    def since_begin(self) -> FloatArray:
        """Hours from the beginning of observation to each event, shape (n,)."""
        return self.times - self.begin[self.codes()]

    def gaps(self) -> FloatArray:
        """Hours from the event before, or from the beginning of observation, to each event, shape (n,)."""
        before = np.empty_like(self.times)
        before[1:] = self.times[:-1]
        first = self.offsets[:-1][self.sizes > 0]
        before[first] = self.begin[self.sizes > 0]
        return self.times - before

    def last_event(self) -> FloatArray:
        """Hours from the origin to the last event of each history, or to its beginning if it has none."""
        last = self.begin.copy()
        last[self.sizes > 0] = self.times[self.offsets[1:][self.sizes > 0] - 1]
        return last

    def take(self, positions: Iterable[int]) -> EventHistories:
        """The histories at these positions, in this order.

        Raises
        ------
        ArgumentError
            For a position that is not there.
        """
        chosen = np.asarray(list(positions) if not isinstance(positions, np.ndarray) else positions, dtype=np.int64)
        if chosen.size and (chosen.min() < 0 or chosen.max() >= self.n_histories):
            raise ArgumentError(f"positions of histories must lie in 0..{self.n_histories - 1}")
        sizes = self.sizes[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows = np.repeat(self.offsets[chosen] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return EventHistories(
            self.times[rows],
            offsets,
            self.groups[chosen],
            self.begin[chosen],
            self.end[chosen],
            self.left_open[chosen],
            self.end_known[chosen],
            self.opening[chosen],
            self.notes,
        )

    def to_frame(self) -> pd.DataFrame:
        """A row a history: its keys, events, beginning and end of observation in hours, and the flags."""
        frame = key_columns(self.groups)
        frame["events"] = self.sizes
        frame["begin_hours"], frame["end_hours"] = self.begin, self.end
        frame["left_open"], frame["end_known"], frame["opening"] = self.left_open, self.end_known, self.opening
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Totals, ready for JSON."""
        return {
            "histories": self.n_histories,
            "events": int(self.times.size),
            "hours": float(self.length.sum()),
            "without_events": int((self.sizes == 0).sum()),
            "left_open": int(self.left_open.sum()),
            "opening_events": int(self.opening.sum()),
            "end_unknown": int((~self.end_known).sum()),
            "notes": list(self.notes),
        }

    def __len__(self) -> int:
        return self.n_histories

    def __repr__(self) -> str:
        extra = f", {int(self.left_open.sum())} left-open" if self.left_open.any() else ""
        return (
            f"EventHistories: {self.times.size} events of {self.n_histories} histories, "
            f"{self.length.sum():.6g} hours in all{extra}"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.to_frame().to_html(max_rows=10, index=False)}"


def histories_of_log(
    log: FailureLog, per: str = "node", *, clock: str = "age", overlaps: str = "merge"
) -> EventHistories:
    """The failures of every node, system or value of a column, in hours since its observation began.

    Parameters
    ----------
    log : FailureLog
    per : str
        ``"node"``, ``"system"`` or a column of events or population; anything but a node is one superposed history.
    clock : {"age", "calendar"}
        Hours since each one's own beginning, or since the earliest beginning of all (so that one that came later
        has ``begin`` above zero).
    overlaps : {"merge", "keep"}
        A record that begins while its node is already down is part of that outage, or a failure of its own.

    Returns
    -------
    EventHistories
        Outages that were going on when observation began are no failures. A failure at the very first instant of a
        history with no known beginning is counted in ``opening``. Time is calendar time: outages are not taken out.

    Raises
    ------
    ArgumentError
        For an unknown option or column.
    DataError
        For a log of whole lives without dates.

    Examples
    --------
    >>> import relfit as rf
    >>> histories_of_log(rf.datasets.load("white")).n_histories
    512
    """
    if clock not in _CLOCKS:
        raise ArgumentError(f"clock={clock!r} is not known", remedy=f"use one of {', '.join(_CLOCKS)}")
    if overlaps not in ("merge", "keep"):
        raise ArgumentError(f"overlaps={overlaps!r} is not known", remedy="use one of merge, keep")
    if log.lifetimes is not None:
        raise DataError(
            "this log holds whole lives without dates, so there are no event histories",
            remedy="EventHistories.from_lives takes lives that follow each other",
        )
    found = outages_of(log, per, overlaps)
    count = len(found.groups)
    notes = list(found.notes)
    entered, left = found.entered, np.maximum(found.left, found.entered)
    within = (found.start >= entered[found.code]) & (found.start <= left[found.code])
    real = within & found.failures
    if (~within & found.failures).any():
        notes.append(f"{int((~within & found.failures).sum())} failures outside the time of observation are left out")
    if found.start_cut.any():
        notes.append(f"{int(found.start_cut.sum())} outages already going on at the beginning are no failures")
    if found.without_group.size:
        notes.append(f"{found.without_group.size} events without a value to group by are in no history")
    opens = real & (found.start == entered[found.code]) & ~found.entered_known[found.code]
    opening = np.bincount(found.code[opens], minlength=count).astype(np.int64)
    if opens.any():
        notes.append(f"{int(opens.sum())} failures with which the observation began are not counted")
    real &= ~opens
    code = found.code[real]
    origin = entered if clock == "age" or not count else np.full(count, entered.min())
    offsets = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=count))]).astype(np.int64)
    return EventHistories(
        (found.start[real] - origin[code]) / NANOSECONDS_PER_HOUR,
        offsets,
        found.groups,
        (entered - origin) / NANOSECONDS_PER_HOUR,
        (left - origin) / NANOSECONDS_PER_HOUR,
        ~found.entered_known,
        found.left_known,
        opening,
        tuple(notes),
    )


def label_text(label: Any) -> str:
    """A group's label in a sentence.

    Examples
    --------
    >>> label_text(("18", "0"))
    '18/0'
    """
    return "/".join(map(str, label)) if isinstance(label, tuple) else str(label)


def unit_of(groups: pd.Index) -> str:
    """What one history is, from the names of its label's levels: ``"node"``, ``"system"``, ``"rack"``.

    Examples
    --------
    >>> unit_of(pd.MultiIndex.from_tuples([("18", "0")], names=["system", "node"])), unit_of(pd.RangeIndex(3))
    ('node', 'system')
    """
    name = groups.names[-1]
    return "system" if name is None else str(name)


def sums(codes: IntArray, values: npt.ArrayLike, size: int) -> FloatArray:
    """Sum of the values of each code.

    Examples
    --------
    >>> sums(np.array([0, 0, 2]), [1.0, 2.0, 5.0], 3).tolist()
    [3.0, 0.0, 5.0]
    """
    return np.bincount(codes, np.asarray(values, dtype=np.float64), minlength=size).astype(np.float64)


def grouping(histories: EventHistories, by: Any) -> tuple[IntArray, pd.Index]:
    """Which histories are copies of one another: a number for each, and the groups' labels.

    Parameters
    ----------
    histories : EventHistories
    by : "each", "all", a key of the histories, or array_like of labels, shape (histories,)
        Every history on its own, all in one group, one group a value of that key (such as ``"system"``), or as given.

    Raises
    ------
    ArgumentError
        When there is no such key, or the labels are not one a history or miss a value.

    Examples
    --------
    >>> codes, labels = grouping(EventHistories.from_groups([[1.0], [2.0]], end=3.0), ["a", "a"])
    >>> codes.tolist(), labels.tolist()
    ([0, 0], ['a'])
    """
    count = histories.n_histories
    if isinstance(by, str):
        if by == "each":
            return np.arange(count, dtype=np.int64), histories.groups
        if by == "all":
            return np.zeros(count, dtype=np.int64), pd.Index(["all"], name="group")
        keys = key_columns(histories.groups)
        if by not in keys.columns:
            raise ArgumentError(
                f"histories have no key {by!r} to group by", remedy=f"use each, all or one of {', '.join(keys.columns)}"
            )
        labels = keys[by]
        name = by
    else:
        labels = pd.Series(by)
        name = str(labels.name) if labels.name is not None else "group"
        if len(labels) != count:
            raise ArgumentError(f"there are {len(labels)} labels for {count} histories")
    codes, values = pd.factorize(labels.astype(object).to_numpy(), sort=False)
    if (codes < 0).any():
        raise ArgumentError("a history has no label", remedy="give every history the label of its group")
    return codes.astype(np.int64), pd.Index(values, name=name)
