"""When each node failed, when it was down and when it was watched: the one extraction of outages from a log.

All that depends on failures in time, down time, ages and exposure starts from `outages_of`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from relfit.base.arrays import BoolArray, FloatArray, IntArray, ObjectArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.bursts import FEWEST, in_nodes, step_of
from relfit.base.numeric.ordering import order_in_groups
from relfit.base.sealed import read_only, seal_arrays
from relfit.base.text import count, duration
from relfit.base.units import NANOSECONDS_PER_HOUR, nanoseconds
from relfit.log.tables import POPULATION_COLUMNS, Tables, Window, group_codes, made_once, pairs

_NONE = np.array([None], dtype=object)
_COARSE = 0.1  # step of a clock relative to the mean repair, from which many repairs begin and end in one step
_NOT_A_GROUP = {"start", "end", "line", "start_cut", "end_cut", *POPULATION_COLUMNS} - {"system", "node"}


@dataclass(frozen=True, eq=False)
class Watched:
    """From when to when each group was watched; nanoseconds since 1970, UTC; labels in natural order.
    ``entered_known``: all nodes installed when observation began; ``left_known``: the end is declared.
    """

    groups: pd.Index
    entered: IntArray
    left: IntArray
    entered_known: BoolArray
    left_known: BoolArray

    def __post_init__(self) -> None:
        seal_arrays(self)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups)

    @property
    def hours(self) -> FloatArray:
        """Hours from `entered` to `left`, shape (groups,)."""
        return np.maximum(self.left - self.entered, 0) / NANOSECONDS_PER_HOUR

    def hours_until(self, instants: IntArray) -> FloatArray:
        """Hours watched until each instant (nanoseconds), summed over the groups, shape of `instants`."""

        def since(begun: IntArray) -> FloatArray:
            order = np.sort(begun - origin) / NANOSECONDS_PER_HOUR
            number = np.searchsorted(order, at)
            return np.asarray(number * at - np.append(0.0, np.cumsum(order))[number], dtype=np.float64)

        origin = int(self.entered.min(initial=np.iinfo(np.int64).max))
        at = (instants - origin) / NANOSECONDS_PER_HOUR
        return since(self.entered) - since(np.maximum(self.left, self.entered))


@dataclass(frozen=True, eq=False)
class Outages(Watched):
    """The outages of every group in the order of time, and when the group was watched; those that never failed, too.

    Group ``j`` owns ``start[offsets[j]:offsets[j + 1]]``; ``code`` is the group of each outage, ``row`` the position of
    its first record in ``log.events``. One without a known end (``end_known``: any of its records says it) ends at its
    start; ``start_cut``, already going on when observation began, is no failure of this log; ``end_cut`` went on when
    it ended. By group, ``joined`` counts records that belong to an outage that was going on already; ``without_group``
    are the positions of records that name no node or have no value to group by.
    """

    code: IntArray
    row: IntArray
    start: IntArray
    end: IntArray
    end_known: BoolArray
    start_cut: BoolArray
    end_cut: BoolArray
    joined: IntArray
    without_group: IntArray
    notes: tuple[str, ...] = ()

    @property
    def failures(self) -> BoolArray:
        """Which outages are failures: those that began under observation, shape (n,)."""
        return ~self.start_cut

    def count(self, selected: BoolArray) -> IntArray:
        """Selected outages of each group, shape (groups,)."""
        return np.bincount(self.code[selected], minlength=self.n_groups).astype(np.int64)

    @property
    def offsets(self) -> IntArray:
        """Where each group begins, shape (groups + 1,)."""
        return np.searchsorted(self.code, np.arange(self.n_groups + 1)).astype(np.int64)


@made_once
def watched_of(log: Tables, *keys: str) -> Watched:
    """When each node, or each value of `keys`, columns of the population, was watched, as far as that is known."""
    people = log.population
    people = people[people["entered"].notna() & people["left"].notna()]
    (members,), groups = group_codes([people], list(keys or ("system", "node")))
    return Watched(groups, *_watched(log, people, members, len(groups)))


@made_once
def node_codes(log: Tables) -> tuple[IntArray, IntArray, pd.Index]:
    """Number of the node of every event, -1 for none, and of every row of the population; (system, node) labels."""
    (node, listed), nodes = group_codes([log.events, log.population], ["system", "node"])
    return read_only(node), read_only(listed), nodes


@made_once
def outages_of(log: Tables, per: str = "node", overlaps: str = "merge") -> Outages:
    """The outages of every node, system or value of a column, `per` (an `ArgumentError` where it is none).

    By a column, an outage takes its own value if events have the column, else its node's. Groups by a column that the
    population does not have are watched for as long as the whole log. Unless `overlaps` is ``"keep"``, a record that
    begins while the same node is already down, or at the instant at which that outage began, is part of it, and the
    outage ends with its last record. ``"merge"`` (not ``"ends"``) also joins the records of one burst
    (`relfit.analyses.screening.incidents`) in a log of messages, where at least half of the records have no end.
    """
    node, listed, nodes = node_codes(log)
    code, members, groups, notes = _grouped(log, per, node, listed, nodes)
    return _assembled(log, node, code, members, groups, (*notes, *unknown_scope(log)), overlaps)


@made_once
def records_counted(log: Tables) -> BoolArray:
    """Which records count as failures: those that began under observation; in a log of messages, where at least half of
    the records have no end, only the first of each outage of a node.
    """
    counted = ~log.events["start_cut"].to_numpy(dtype=bool)
    if not _of_messages(log.events["end"].notna().to_numpy()):
        return read_only(counted)
    outages = outages_of(log)
    first = np.zeros_like(counted)
    first[outages.row] = first[outages.without_group] = True
    return read_only(counted & first)


def _of_messages(end_known: BoolArray) -> bool:
    return 2 * int(end_known.sum()) <= end_known.size


def of_whole_system(events: pd.DataFrame) -> BoolArray:
    """Which records are of a whole system: those that say so, and those that name neither a node nor their scope."""
    scope = events["scope"]
    return np.asarray((scope == "system") | (scope.isna() & events["node"].isna()), dtype=np.bool_)


@made_once
def clock_step(log: Tables) -> int:
    """Step in nanoseconds of the clock that wrote the log's starts: a day where they are dates."""
    start = log.events.loc[~log.events["start_cut"].to_numpy(dtype=bool), "start"]
    if log.source.timezone != "UTC":
        start = start.dt.tz_convert(log.source.timezone).dt.tz_localize(None).dt.tz_localize("UTC")
    return step_of(nanoseconds(start))


def timed_repairs(hours: FloatArray, step: int) -> BoolArray:
    """Which outages with an end say how long repairs take: those that took time.
    Where `step` (`clock_step`) is a tenth of their mean or more, those of no length too, or the mean is too long.
    """
    took = hours > 0.0
    coarse = took.any() and step / NANOSECONDS_PER_HOUR >= _COARSE * hours[took].mean()
    return np.ones_like(took) if coarse else took


def unknown_scope(log: Tables) -> tuple[str, ...]:
    """A note on records that name neither a node nor their scope, if there are any."""
    number = int((log.events["scope"].isna() & log.events["node"].isna()).sum())
    if not number:
        return ()
    each = "1 record names no node and not" if number == 1 else f"{number:,} records name no node and not"
    other = "read with --nodeless node or ignore if not"
    return (f"{each} its scope: taken as of the whole system; {other}",)


@made_once
def system_outages_of(log: Tables) -> Outages:
    """The outages of whole systems, overlapping ones as one, by system: when all its nodes were down together.

    Groups are all systems of the log, watched from their first node's beginning to their last node's end (without a
    node in the population: for the whole window). ``without_group`` are the records of narrower scope.
    """
    (code, members), groups = group_codes([log.events, log.population], ["system"])
    code = np.where(of_whole_system(log.events), code, -1)
    return _assembled(log, code, code, members, groups, unknown_scope(log), "merge")


def _assembled(
    log: Tables,
    unit: IntArray,
    code: IntArray,
    members: IntArray,
    groups: pd.Index,
    notes: tuple[str, ...],
    overlaps: str,
) -> Outages:
    """The outages of groups: `code` of every event, within which records of one `unit` may be one outage."""
    events = log.events
    start = nanoseconds(events["start"])
    end_known = events["end"].notna().to_numpy(copy=True)
    end = np.where(end_known, nanoseconds(events["end"]), start)
    start_cut = events["start_cut"].to_numpy(dtype=bool)
    end_cut = events["end_cut"].to_numpy(dtype=bool, copy=True)
    joined = np.zeros(start.size, dtype=np.bool_)
    if overlaps != "keep" and start.size:
        joined = _merge(unit, start, start_cut, end, end_known, end_cut)
        follows, reach = _bursts(unit, start, end_known, clock_step(log), log.window)
        if reach and overlaps == "merge":
            joined |= follows
            after = f"within {duration(reach / NANOSECONDS_PER_HOUR)} after one of the same node"
            bursts = "is a burst" if follows.sum() == 1 else "are bursts"
            notes = (
                *notes,
                f"{count(int(follows.sum()), 'record')} {after} {bursts}: part of one failure (one for each node, "
                "where a burst hit several)",
            )
    keep = np.flatnonzero(~joined & (code >= 0))
    rows = keep[order_in_groups(code[keep], start[keep])]
    return Outages(
        groups,
        *_watched(log, log.population, members, len(groups)),
        code[rows],
        rows,
        start[rows],
        end[rows],
        end_known[rows],
        start_cut[rows],
        end_cut[rows],
        joined=np.bincount(code[joined & (code >= 0)], minlength=len(groups)).astype(np.int64),
        without_group=np.flatnonzero(code < 0),
        notes=notes,
    )


def _grouped(
    log: Tables, per: str, node: IntArray, listed: IntArray, nodes: pd.Index
) -> tuple[IntArray, IntArray, pd.Index, tuple[str, ...]]:
    """Group of every event and of every row of the population (none where it lacks the column); labels; notes."""
    events, population = log.events, log.population
    if per == "node":
        return node, listed, nodes, ()
    if per in population.columns and per not in _NOT_A_GROUP:
        own = events
        if per not in events.columns:
            values = np.append(node_values(log, per, nodes), _NONE)  # the last one for events without a node
            own = pd.DataFrame({per: values[node]})
        (code, members), groups = group_codes([own, population], [per])
        return code, members, groups, ()
    if per in events.columns and per not in _NOT_A_GROUP:
        (code,), groups = group_codes([events], [per])
        return code, np.empty(0, np.int64), groups, (f"groups by {per} are watched for as long as the whole log",)
    names = [*log.attributes, "cause", "detail", "scope"]
    raise ArgumentError(f"no column {per!r} to group by", remedy=f"use node, system or one of {', '.join(names)}")


def _merge(
    node: IntArray, start: IntArray, start_cut: BoolArray, end: IntArray, end_known: BoolArray, end_cut: BoolArray
) -> BoolArray:
    """Which records belong to the outage before them; the ends of the others are extended in place."""
    order = order_in_groups(node, start, ~start_cut, end)
    code, begun, ended = node[order], start[order], end[order]
    near = (code[1:] == code[:-1]) & (code[1:] >= 0) & ((begun[1:] < ended[:-1]) | (begun[1:] == begun[:-1]))
    busy = np.bincount(code[1:][near], minlength=int(code.max(initial=-1)) + 2) > 0  # in the others, nothing to join
    joined = np.zeros(order.size, dtype=np.bool_)
    part = busy[code]
    order, code, begun, ended = order[part], code[part], begun[part], ended[part]
    if not order.size:
        return joined
    reach = pd.Series(ended).groupby(code, sort=False).cummax().to_numpy(dtype=np.int64)
    follows = np.zeros(order.size, dtype=np.bool_)
    same = (code[1:] == code[:-1]) & (code[1:] >= 0)
    follows[1:] = same & ((begun[1:] < reach[:-1]) | (begun[1:] == begun[:-1]))
    # the outage ends when its last record does, and is cut off if any of those that end then is
    first = np.flatnonzero(~follows)
    last = np.maximum.reduceat(ended, first)
    at_end = ended == np.repeat(last, np.diff(first, append=order.size))
    heads = order[first]
    end_is_known = np.logical_or.reduceat(end_known[order], first)
    still = np.logical_or.reduceat(end_cut[order] & at_end, first)
    end[heads], end_known[heads], end_cut[heads] = last, end_is_known, still
    joined[order] = follows
    return joined


def _bursts(node: IntArray, start: IntArray, end_known: BoolArray, step: int, window: Window) -> tuple[BoolArray, int]:
    """Which records continue a burst, and within how many nanoseconds (0: none); where half or more have no end."""
    follows = np.zeros(start.size, dtype=np.bool_)
    if not _of_messages(end_known):
        return follows, 0
    rows = np.lexsort((start, node))
    rows = rows[node[rows] >= 0]
    same = np.diff(node[rows], prepend=-1) == 0
    apart = np.diff(start[rows], prepend=0)
    if same.sum() < FEWEST:
        return follows, 0
    ends, _, _, selection = in_nodes(apart[same], node[rows], (window.end - window.start).value, step)
    reach = int(ends[max(selection.last, 0)]) * step
    follows[rows] = same & (apart <= reach + step // 2) & (reach > 0)
    return follows, reach


def _watched(
    log: Tables, people: pd.DataFrame, members: IntArray, size: int
) -> tuple[IntArray, IntArray, BoolArray, BoolArray]:
    """From when to when each group was watched, and whether that is known; `members` are the groups of `people`."""
    window = log.window
    entered = np.full(size, window.start.as_unit("ns").value, dtype=np.int64)
    left = np.full(size, window.end.as_unit("ns").value, dtype=np.int64)
    entered_known = np.full(size, len(log.population) > 0 and bool(log.population["entered_known"].all()))
    left_known = np.full(size, window.end_known)
    if (members >= 0).any():
        rows = np.flatnonzero(members >= 0)
        rows = rows[np.argsort(members[rows], kind="stable")]
        first = np.flatnonzero(np.diff(members[rows], prepend=-1))
        at = members[rows[first]]
        entered[at] = np.minimum.reduceat(nanoseconds(people["entered"])[rows], first)
        left[at] = np.maximum.reduceat(nanoseconds(people["left"])[rows], first)
        entered_known[at] = np.logical_and.reduceat(people["entered_known"].to_numpy(dtype=bool)[rows], first)
        left_known[at] = np.logical_and.reduceat(people["left_known"].to_numpy(dtype=bool)[rows], first)
    return entered, left, entered_known, left_known


def node_values(log: Tables, column: str, nodes: pd.Index) -> ObjectArray:
    """The population's value of a column for each of these (system, node) labels, None for nodes it does not list."""
    listed = pairs(log.population)
    first = ~listed.duplicated()
    at = listed[first].get_indexer(nodes)
    values = log.population[column].astype(object).to_numpy()[first]
    return np.append(values, _NONE)[at]
