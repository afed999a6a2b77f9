"""`EventHistories`: when each of many repairable systems failed, and from when to when it was watched."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.analyses.screening import Incidents
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import ArgumentError, DataError
from relfit.base.hours_of_arrays import hours_of_array
from relfit.base.numeric.ragged import Ragged, offsets_of
from relfit.base.results import Result, key_columns
from relfit.base.text import count as counted
from relfit.base.units import NANOSECONDS_PER_HOUR, nanoseconds
from relfit.log.failurelog import FailureLog
from relfit.log.outages import outages_of, watched_of
from relfit.log.tables import check_log


class EventHistories(Result, Ragged):
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
        Hours from the origin at which observation began and ended.
    left_open : ndarray of bool, shape (histories,)
        The system had been running for an unknown time when observation began, so ages count from that instant only.
    opening : ndarray of int, shape (histories,)
        Events at the very beginning of a left-open history. They began the observation rather than happened within it,
        and are not among `times`.
    notes : tuple of str
        What was left out, and conventions.
    incident : ndarray of int, shape (n,), optional
        Number of the incident of each event, where one may be an event of several histories: such events are not
        independent. Each is one of its own when left out.

    Raises
    ------
    DataError
        When shapes do not fit, a time is not finite, falls, or lies outside its history.
    """

    _not_in_json = ("times", "offsets", "incident")

    times: FloatArray
    offsets: IntArray
    groups: pd.Index
    begin: FloatArray
    end: FloatArray
    left_open: BoolArray
    opening: IntArray
    notes: tuple[str, ...] = ()
    incident: IntArray | None = None

    def __post_init__(self) -> None:
        count = len(self.groups)
        for name in ("begin", "end", "left_open", "opening"):
            if getattr(self, name).shape != (count,):
                raise DataError(f"{name} has {getattr(self, name).size} entries for {count} histories")
        offsets = self.offsets
        if self.incident is not None and self.incident.shape != self.times.shape:
            raise DataError(f"incident has {self.incident.size} entries for {self.times.size} events")
        if offsets.shape != (count + 1,) or offsets[0] != 0 or offsets[-1] != self.times.size:
            raise DataError("offsets must run from 0 to the number of events, with one more entry than histories")
        if np.any(np.diff(offsets) < 0):
            raise DataError("offsets must not fall")
        if not (np.isfinite(self.begin).all() and np.isfinite(self.end).all() and np.isfinite(self.times).all()):
            raise DataError("times of events and ends of observation must be finite numbers of hours")
        if np.any(self.begin < 0.0) or np.any(self.end < self.begin):
            raise DataError("observation must begin at zero or more hours and end no earlier than it began")
        code = self.group_codes()
        if np.any((self.times < self.begin[code]) | (self.times > self.end[code])):
            what = "an event lies outside the time of observation of its history"
            raise DataError(what, remedy="give begin and end so that they hold all events")
        if self.times.size > 1 and np.any((np.diff(self.times) < 0.0) & (code[1:] == code[:-1])):
            raise DataError("the events of a history must be in order", remedy="sort them, or use from_groups")

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
            Hours at which observation ended, one for all or one per history; the last event of each when left out, so
            that the history is failure-truncated.
        begin : array_like of float
            Hours at which observation began, one for all or one per history.
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
        parts = [np.sort(hours_of_array("times", part).ravel()) for part in times]
        count = len(parts)
        offsets = offsets_of([part.size for part in parts])
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
        """Histories from flat arrays.

        Parameters
        ----------
        times, offsets
            As for the class; events in order within each history.
        end, begin, groups
            As for `from_groups`.

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
        hours = hours_of_array("times", times).ravel()
        limits = hours_of_array("begin", begin), hours_of_array("end", end)
        for name, each in zip(("begin", "end"), limits, strict=True):
            if each.shape not in ((), (1,), (count,)):
                what = f"{name} has {each.size} entries for {counted(count, 'history', 'histories')}"
                raise DataError(what, remedy=f"give one {name}, or one for each history")
        first, last = (np.broadcast_to(each, (count,)).copy() for each in limits)
        return cls(hours, where, labels, first, last, np.zeros(count, np.bool_), np.zeros(count, np.int64))

    @property
    def headline(self) -> str:
        """How many events and histories there are, and for how long they were watched."""
        extra = f", {int(self.left_open.sum())} left-open" if self.left_open.any() else ""
        return (
            f"{counted(self.times.size, 'event')} of {counted(self.n_histories, 'history', 'histories')}, "
            f"{self.length.sum():.6g} hours in all{extra}"
        )

    @property
    def n_histories(self) -> int:
        """Number of histories."""
        return len(self.groups)

    @property
    def length(self) -> FloatArray:
        """Hours for which each history was watched, shape (histories,)."""
        return self.end - self.begin

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
        at = np.asarray(list(positions), dtype=np.int64)
        if at.size and (at.min() < 0 or at.max() >= self.n_histories):
            raise ArgumentError(f"positions of histories must lie in 0..{self.n_histories - 1}")
        rows = self.rows_of(at)
        watched = self.begin[at], self.end[at], self.left_open[at], self.opening[at]
        incident = None if self.incident is None else self.incident[rows]
        times, offsets = self.times[rows], offsets_of(self.sizes[at])
        return EventHistories(times, offsets, self.groups[at], *watched, self.notes, incident)

    def at_once(self, codes: IntArray, groups: int) -> FloatArray:
        """Events of the incident that an event of a group is part of, on average, shape (groups,).

        `codes` has the group of each history. That many events weigh as one: by this factor a likelihood that takes
        histories as independent is too sharp.
        """
        out = np.ones(groups)
        if self.incident is None or not self.times.size:
            return out
        records, group = np.bincount(self.incident), codes[self.group_codes()]
        several = (records > 1)[self.incident]  # each of the others is an incident of its own
        pair, size = np.unique(group[several] * records.size + self.incident[several], return_counts=True)
        events = np.bincount(group, minlength=groups).astype(np.float64)
        squares = events + np.bincount(pair // records.size, size * (size - 1.0), minlength=groups)
        out[events > 0.0] = (squares / np.maximum(events, 1.0))[events > 0.0]
        return out

    def to_frame(self) -> pd.DataFrame:
        """One row per history: its keys, events, beginning and end of observation in hours, and the flags."""
        flags = {"left_open": self.left_open, "opening": self.opening}
        watched = {"begin_hours": self.begin, "end_hours": self.end, **flags}
        return key_columns(self.groups).assign(events=self.sizes, **watched)

    def __len__(self) -> int:
        return self.n_histories


def histories_of_log(log: FailureLog, per: str = "node", incidents: Incidents | None = None) -> EventHistories:
    """The failures of every node, system or value of a column, in hours since its observation began.

    Parameters
    ----------
    log : FailureLog
    per : str
        ``"node"``, ``"system"`` or a column of events or population; anything but a node is one superposed history.
    incidents : Incidents, optional
        Of `log`: each then counts once in every history, by its first record there, and histories know which of their
        events are one incident.

    Returns
    -------
    EventHistories
        Outages that were going on when observation began are no failures. A failure at the very first instant of a
        history with no known beginning is counted in ``opening``. Time is calendar time: outages are not taken out.

    Raises
    ------
    ArgumentError
        For an unknown column.
    DataError
        For a log of durations without dates.

    Examples
    --------
    >>> import relfit as rf
    >>> histories_of_log(rf.datasets.load("white")).n_histories
    512
    """
    check_log(log)
    if log.lifetimes is not None:
        what = "this log holds durations without dates, so there are no event histories"
        raise DataError(what, remedy="EventHistories.from_groups takes the times of events")
    outages = outages_of(log, per)
    code = outages.code
    entered, left = outages.entered, np.maximum(outages.left, outages.entered)
    within = (outages.start >= entered[code]) & (outages.start <= left[code])
    declared = outages.entered_known | (log.window.start_known & (entered == log.window.start.as_unit("ns").value))
    opens = within & outages.failures & (outages.start == entered[code]) & ~declared[code]
    reasons = {
        "failures outside the time of observation are left out": int((~within & outages.failures).sum()),
        "outages already going on at the beginning are not failures": int(outages.start_cut.sum()),
        "events without a value to group by are in no history": outages.without_group.size,
        "failures with which the observation began are not counted": int(opens.sum()),
    }
    real, number = within & outages.failures & ~opens, None
    if incidents is not None:
        number = incidents.incident[outages.row]
        order = np.lexsort((outages.start, number, code))
        again = (np.diff(number[order], prepend=-1) == 0) & (np.diff(code[order], prepend=-1) == 0)
        real[order[again]] = False
        reasons["failures of an incident that is counted already"] = int(again.sum())
    times, offsets = (outages.start - entered[code])[real] / NANOSECONDS_PER_HOUR, offsets_of(outages.count(real))
    end = (left - entered) / NANOSECONDS_PER_HOUR
    watched = np.zeros(outages.n_groups), end, ~outages.entered_known, outages.count(opens)
    notes = (*outages.notes, *(f"{left_out} {reason}" for reason, left_out in reasons.items() if left_out))
    return EventHistories(times, offsets, outages.groups, *watched, notes, None if number is None else number[real])


def histories_of_incidents(log: FailureLog, incidents: Incidents) -> EventHistories:
    """The incidents of every system, on a clock that runs by its node-hours.

    What hits a rack is one event, not one of each of its nodes: nodes that fail together are not independent copies. On
    this clock, nodes that are installed later do not look like a rate that rises.

    Parameters
    ----------
    log : FailureLog
    incidents : Incidents
        Of `log`, see `relfit.analyses.screening.incidents`.

    Returns
    -------
    EventHistories
        One history for each system, in hours that run in proportion to its node-hours.

    Examples
    --------
    >>> import relfit as rf
    >>> log = rf.datasets.load("white")
    >>> histories_of_incidents(log, rf.incidents(log)).times.size < histories_of_log(log).times.size
    True
    """
    watched, of_incident = watched_of(log), incidents.table["system"].astype(str).to_numpy()
    of_node, starts = watched.groups.get_level_values(0).astype(str), nanoseconds(incidents.table["start"])
    window = [np.array([at.as_unit("ns").value], dtype=np.int64) for at in (log.window.start, log.window.end)]
    times, since_start, opening = [], [], []
    end = np.zeros(len(log.systems))
    for i, name in enumerate(log.systems):
        mine = np.asarray(of_node == name)
        entered, left = (watched.entered[mine], watched.left[mine]) if mine.any() else window
        nodes = replace(watched, entered=entered, left=left)
        end[i] = (left.max() - entered.min()) / NANOSECONDS_PER_HOUR
        hours = nodes.hours_until(starts[of_incident == name]) / max(float(nodes.hours.sum()), 1e-300)
        since_start.append(bool(mine.any() and watched.entered_known[mine].all()))
        inside = (hours > 0.0) | since_start[-1]
        times.append(np.clip(hours[inside], 0.0, 1.0) * end[i])
        opening.append(int((~inside).sum()))
    observed = np.zeros_like(end), end, ~np.array(since_start, dtype=np.bool_), np.array(opening, dtype=np.int64)
    systems = pd.Index(log.systems, name="system")
    return EventHistories(np.concatenate([*times, np.zeros(0)]), offsets_of(list(map(len, times))), systems, *observed)


def differs(times: FloatArray, codes: IntArray, groups: int) -> BoolArray:
    """Which groups have events at more than one age; `codes` has the group of each event."""
    first, last = np.full(groups, np.inf), np.full(groups, -np.inf)
    np.minimum.at(first, codes, times)
    np.maximum.at(last, codes, times)
    return np.asarray(last > first, dtype=np.bool_)


def label_text(label: object) -> str:
    """A group's label in a sentence: 18/0 for ``("18", "0")``."""
    return "/".join(map(str, label)) if isinstance(label, tuple) else str(label)


def unit_of(groups: pd.Index) -> str:
    """What one history is, from the names of its label's levels: ``"node"``, ``"system"``, ``"rack"``."""
    name = groups.names[-1]
    return "system" if name is None else str(name)


def grouping(histories: EventHistories, by: str | npt.ArrayLike) -> tuple[IntArray, pd.Index]:
    """Which histories are copies of one another: a number for each, and the groups' labels.

    Parameters
    ----------
    histories : EventHistories
    by : "each", "all", a key of the histories, or array_like of labels, shape (histories,)
        Every history on its own, all in one group, one group per value of that key (such as ``"system"``), or as given.

    Raises
    ------
    ArgumentError
        When there is no such key, or the labels are not one per history or miss a value.

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
            what = f"histories have no key {by!r} to group by"
            raise ArgumentError(what, remedy=f"use each, all or one of {', '.join(keys.columns)}")
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
