"""From a failure log to times to failure and to repair (reliability-aware allocation, Figure 4.1).

All rules that decide what counts as a life stand here, and each of them counts what it leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.lifedata import LifeData
from relfit.numeric.ordering import order_in_groups, unique_sorted
from relfit.units import NANOSECONDS_PER_HOUR, instant, nanoseconds

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog

__all__ = ["competing_lives", "lives_of_log", "lives_with_rows", "outages_of_log"]

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_CHOICES = {
    "measure": ("ttf", "ttr"),
    "origin": ("failure", "repair"),
    "first": ("known", "always", "never"),
    "overlaps": ("merge", "keep"),
    "zeros": ("apart", "keep"),
}


def lives_of_log(
    log: FailureLog, measure: str, per: str, *, censor: bool, origin: str, first: str, overlaps: str, zeros: str,
    since: Any = None, until: Any = None,
) -> LifeData:  # fmt: skip
    """Derive lives; `FailureLog.lives` documents the arguments."""
    return lives_with_rows(
        log, measure, per, censor=censor, origin=origin, first=first, overlaps=overlaps, zeros=zeros, since=since,
        until=until,
    )[0]  # fmt: skip


def lives_with_rows(
    log: FailureLog, measure: str, per: str, *, censor: bool, origin: str, first: str, overlaps: str, zeros: str,
    since: Any = None, until: Any = None,
) -> tuple[LifeData, IntArray]:  # fmt: skip
    """Derive lives, and the row of the log that says more about each of them.

    Returns
    -------
    LifeData
        What `lives_of_log` gives.
    ndarray of int, shape (n,)
        For each life, in the same order, a position in ``log.events``: of the outage for a time to repair, of the
        failure (or outage) with which a time to failure began, -1 where it began with the observation. Where the source
        gives lives whole, a position in ``log.lifetimes``.
    """
    lives, begun, _ = _derive(
        log, measure, per, censor=censor, origin=origin, first=first, overlaps=overlaps, zeros=zeros, since=since,
        until=until,
    )  # fmt: skip
    return lives, begun


def competing_lives(log: FailureLog, column: str, per: str, **options: Any) -> LifeData:
    """Times to failure from each cause, a group for every group and cause.

    In the group of a cause only failures of that cause end a life; the others censor it there. Fitted one by one, these
    give the cause-specific hazards, and in series the distribution of all failures.

    Parameters
    ----------
    log : FailureLog
    column : str
        Column of events that tells causes apart, such as ``cause``. A missing value is a cause of its own, ``unknown``.
    per : str
        See `FailureLog.lives`.
    **options
        See `FailureLog.lives`.

    Raises
    ------
    ArgumentError
        For a column that events do not have, or a log of whole lives.
    """
    if log.lifetimes is not None or column not in log.events.columns or column in ("start", "end", "line"):
        raise ArgumentError(f"the events of this log have no column {column!r} to tell causes apart by")
    chosen: dict[str, Any] = {
        "censor": True,
        "origin": "failure",
        "first": "known",
        "overlaps": "merge",
        "zeros": "apart",
    } | options
    lives, _, ending = _derive(log, "ttf", per, **chosen)
    values = log.events[column].astype(object)
    kinds, names = pd.factorize(values.where(values.notna(), "unknown").astype(str), sort=True)
    kind = np.where(ending >= 0, kinds[np.maximum(ending, 0)], -1) if len(kinds) else np.full(ending.size, -1)
    present = np.unique(kind[kind >= 0])
    count = max(present.size, 1)
    # every life stands once in the group of each cause
    sizes = np.repeat(lives.sizes, count)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    rows = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - np.repeat(lives.offsets[:-1], count), sizes)
    causes = np.tile(present if present.size else np.array([0]), lives.n_groups)
    labels = names[present] if present.size else np.array(["unknown"])
    keys = lives.groups.to_frame(index=False).iloc[np.repeat(np.arange(lives.n_groups), count)].reset_index(drop=True)
    keys[column] = np.tile(labels, lives.n_groups)
    return LifeData(
        lives.durations[rows],
        lives.observed[rows] & (kind[rows] == np.repeat(causes, sizes)),
        offsets,
        pd.MultiIndex.from_frame(keys),
        "ttf",
        None,
        (*lives.notes, f"failures from another {column} censor a life"),
        **{name: values[rows] for name, values in lives.further().items()},
    )


def _derive(
    log: FailureLog, measure: str, per: str, *, censor: bool, origin: str, first: str, overlaps: str, zeros: str,
    since: Any = None, until: Any = None,
) -> tuple[LifeData, IntArray, IntArray]:  # fmt: skip
    """Lives, and for each the rows of the log with which it began and ended (-1 for none)."""
    given = {"measure": measure, "origin": origin, "first": first, "overlaps": overlaps, "zeros": zeros}
    for name, value in given.items():
        if value not in _CHOICES[name]:
            raise ArgumentError(f"{name}={value!r} is not known", remedy=f"use one of {', '.join(_CHOICES[name])}")
    period = _period(log, since, until)
    if log.lifetimes is not None and measure == "ttf":
        if period is not None:
            raise ArgumentError(
                "this log holds whole lives and cannot be cut in time", remedy="leave out since and until"
            )
        lives, rows = _declared(log, per, censor=censor, zeros=zeros)
        return lives, rows, rows
    outages = outages_of_log(log, per, overlaps)
    if measure == "ttr":
        return _repairs(outages, period, censor=censor, zeros=zeros)
    return _failures(outages, period, censor=censor, origin=origin, first=first, zeros=zeros)


@dataclass(frozen=True)
class _Era:
    """The part of the observation that lives are looked at in, nanoseconds."""

    first: int
    last: int
    words: str


def _period(log: FailureLog, since: Any, until: Any) -> _Era | None:
    if since is None and until is None:
        return None
    zone = log.source.timezone
    first = log.window.start if since is None else max(instant(since, zone), log.window.start)
    last = log.window.end if until is None else min(instant(until, zone), log.window.end)
    if not first < last:
        raise ArgumentError(
            f"nothing was observed from {since} to {until}",
            remedy=f"the log covers {log.window.start:%Y-%m-%d} to {log.window.end:%Y-%m-%d}",
        )
    return _Era(
        first.as_unit("ns").value,
        last.as_unit("ns").value,
        f"seen from {first:%Y-%m-%d} to {last:%Y-%m-%d}: lives under way at the beginning enter at their age "
        "(left truncation), lives that went on are censored at the end",
    )


# --------------------------------------------------------------------- grouping


@dataclass(frozen=True)
class _Outages:
    """Outages of a log sorted by group and start, with the groups and how long each was watched (nanoseconds)."""

    code: IntArray
    row: IntArray  # position among the events
    start: IntArray
    end: IntArray  # the start where the end is unknown
    end_seen: BoolArray
    start_cut: BoolArray
    end_cut: BoolArray
    groups: pd.Index
    entered: IntArray
    left: IntArray
    entered_known: BoolArray
    overlapping: IntArray
    without_group: int
    notes: tuple[str, ...]


def _keys(log: FailureLog, per: str) -> tuple[list[str], bool]:
    """Grouping columns, and whether the population has all of them."""
    if per == "node":
        return ["system", "node"], True
    if per in log.population.columns and per not in ("entered", "left", "entered_known", "left_known", "declared"):
        return [per], True
    if per in log.events.columns and per not in ("start", "end", "line", "start_cut", "end_cut"):
        return [per], False
    known = [*log.attributes, "cause", "detail", "scope"]
    raise ArgumentError(f"no column {per!r} to group by", remedy=f"use node, system or one of {', '.join(known)}")


def outages_of_log(log: FailureLog, per: str, overlaps: str) -> _Outages:
    """The outages that gaps and repairs are measured from; `FailureLog.lives` documents the arguments."""
    keys, of_population = _keys(log, per)
    events = log.events
    notes: list[str] = []
    node_code, people_code, nodes = _codes_of_both(events, log.population, ["system", "node"])
    start = nanoseconds(events["start"])
    end_seen = events["end"].notna().to_numpy(copy=True)
    end = np.where(end_seen, nanoseconds(events["end"].fillna(events["start"])), start)
    start_cut = events["start_cut"].to_numpy(dtype=bool)
    end_cut = events["end_cut"].to_numpy(dtype=bool, copy=True)

    # a record that begins while its node is down belongs to the outage that is going on
    order = order_in_groups(node_code, start, ~start_cut, end)
    joined = np.zeros(len(events), dtype=bool)
    if overlaps == "merge" and order.size:
        code, begun, ended = node_code[order], start[order], end[order]
        reach = _running_maximum(ended, code)
        follows = np.zeros(order.size, dtype=bool)
        same = (code[1:] == code[:-1]) & (code[1:] >= 0)
        follows[1:] = same & ((begun[1:] < reach[:-1]) | (begun[1:] == begun[:-1]))
        joined[order] = follows
        # the outage ends when its last record does
        first = np.flatnonzero(~follows)
        last = np.maximum.reduceat(ended, first)
        seen = np.logical_or.reduceat(end_seen[order], first)
        at_end = ended == np.repeat(last, np.diff(first, append=order.size))
        still = np.logical_or.reduceat(end_cut[order] & at_end, first)
        heads = order[first]
        end = end.copy()
        end[heads], end_seen[heads], end_cut[heads] = last, seen, still

    if per == "node":
        group_code, groups = node_code, nodes
    elif of_population:
        attribute_code, groups = _codes_of_column(log.population[keys[0]], events, keys[0], node_code, nodes, log)
        group_code = attribute_code
    else:
        group_code, groups = _codes(events, None, keys)
        notes.append(f"lives by {per} are watched for as long as the whole log")
    entered, left, known = _watched(log, keys, groups, of_population, people_code if per == "node" else None)

    overlapping = np.zeros(len(groups), dtype=np.int64)
    np.add.at(overlapping, group_code[joined & (group_code >= 0)], 1)
    keep = ~joined & (group_code >= 0)
    final = order_in_groups(group_code[keep], start[keep])
    rows = np.flatnonzero(keep)[final]
    return _Outages(
        group_code[rows],
        rows,
        start[rows],
        end[rows],
        end_seen[rows],
        start_cut[rows],
        end_cut[rows],
        groups,
        entered,
        left,
        known,
        overlapping,
        int((group_code < 0).sum()),
        tuple(notes),
    )


def _running_maximum(values: IntArray, code: IntArray) -> IntArray:
    return pd.Series(values).groupby(code, sort=False).cummax().to_numpy(dtype=np.int64)


def _codes(events: pd.DataFrame, population: pd.DataFrame | None, keys: list[str]) -> tuple[IntArray, pd.Index]:
    """Group number of every event (-1 where a key is missing) and the groups, sorted, population included."""
    code, _, groups = _codes_of_both(events, population, keys)
    return code, groups


def _codes_of_both(
    events: pd.DataFrame, population: pd.DataFrame | None, keys: list[str]
) -> tuple[IntArray, IntArray, pd.Index]:
    """As `_codes`, with the group number of every row of the population."""
    frames = [events[keys]] if population is None else [events[keys], population[keys]]
    arrays = [_ranks([frame[key] for frame in frames]) for key in keys]
    missing = np.logical_or.reduce([codes < 0 for codes, _ in arrays])
    combined = np.zeros(len(missing), dtype=np.int64)
    span = 1
    for codes, ranked in arrays:
        combined = combined * max(len(ranked), 1) + codes
        span *= max(len(ranked), 1)
    if span <= 4 * len(missing) + 1_000_000:  # a table of all pairs of keys is faster than a sort
        there = np.zeros(span, dtype=np.bool_)
        there[combined[~missing]] = True
        present = np.flatnonzero(there)
        place = np.cumsum(there) - 1
        code = np.where(missing, -1, place[np.where(missing, 0, combined)])
    else:
        present = unique_sorted(combined[~missing])
        code = np.where(missing, -1, np.searchsorted(present, combined))
    labels = []
    rest = present.copy()
    for _, ranked in reversed(arrays):
        size = max(len(ranked), 1)
        labels.append(ranked[rest % size] if len(ranked) else np.empty(0, object))
        rest //= size
    labels.reverse()
    groups: pd.Index = (
        pd.Index(labels[0], name=keys[0]) if len(keys) == 1 else pd.MultiIndex.from_arrays(labels, names=keys)
    )
    code = code.astype(np.int64)
    return code[: len(events)], code[len(events) :], groups


def _ranks(columns: list[pd.Series]) -> tuple[IntArray, Any]:
    """Number of each value of columns one after the other, -1 where missing, and the values in their natural order."""
    parts, found = [], []
    for column in columns:
        if isinstance(column.dtype, pd.CategoricalDtype):
            parts.append(column.cat.codes.to_numpy().astype(np.int64))
            found.append(np.asarray(column.cat.categories, dtype=object))
        else:
            codes, seen = pd.factorize(column.astype(object), use_na_sentinel=True)
            parts.append(codes.astype(np.int64))
            found.append(np.asarray(seen, dtype=object))
    same, values = pd.factorize(np.concatenate(found))
    order = _natural_order(values)
    rank = np.argsort(order)
    out, first = [], 0
    for codes, known in zip(parts, found, strict=True):
        turn = rank[same[first : first + len(known)]]
        out.append(np.where(codes >= 0, turn[codes], -1) if len(known) else codes)
        first += len(known)
    return np.concatenate(out).astype(np.int64), np.asarray(values, dtype=object)[order]


def _natural_order(values: Any) -> IntArray:
    text = pd.Series([str(v) for v in values], dtype=object)
    number = pd.to_numeric(text, errors="coerce").fillna(np.inf).to_numpy(dtype=float)
    return np.lexsort((text.to_numpy(dtype=str), number)).astype(np.int64)


def _codes_of_column(
    column: pd.Series, events: pd.DataFrame, key: str, node_code: IntArray, nodes: pd.Index, log: FailureLog
) -> tuple[IntArray, pd.Index]:
    """Group by a column of the population: an event takes its own value if it has the column, else its node's."""
    if key in events.columns:
        return _codes(events, log.population, [key])
    pairs = pd.MultiIndex.from_arrays([log.population["system"].astype(object), log.population["node"].astype(object)])
    of_node = pd.Series(column.astype(object).to_numpy(), index=pairs)
    value = of_node[~of_node.index.duplicated()].reindex(nodes).to_numpy(dtype=object)
    event_value = np.full(len(events), None, dtype=object)
    known = node_code >= 0
    event_value[known] = value[node_code[known]]
    return _codes(pd.DataFrame({key: event_value}), log.population, [key])


def _watched(
    log: FailureLog, keys: list[str], groups: pd.Index, of_population: bool, code: IntArray | None
) -> tuple[IntArray, IntArray, BoolArray]:
    """From when to when each group was under observation, and whether its beginning is known.

    `code` is the group of every row of the population, where it is at hand.
    """
    count = len(groups)
    entered = np.full(count, log.window.start.as_unit("ns").value, dtype=np.int64)
    left = np.full(count, log.window.end.as_unit("ns").value, dtype=np.int64)
    known = np.full(count, log.window.start_known, dtype=bool)
    if of_population and len(log.population) and count:
        population = log.population
        if code is None:
            code, _ = _codes(population, log.events if all(k in log.events.columns for k in keys) else None, keys)
        times = pd.DataFrame(
            {
                "code": code,
                "entered": nanoseconds(population["entered"]),
                "left": nanoseconds(population["left"]),
                "known": population["entered_known"].to_numpy(dtype=bool),
            }
        )
        table = times[times["code"] >= 0].groupby("code").agg({"entered": "min", "left": "max", "known": "all"})
        at = table.index.to_numpy()
        entered[at], left[at], known[at] = table["entered"], table["left"], table["known"]
    return entered, left, known


# --------------------------------------------------------------------- measures


@dataclass(frozen=True)
class _Lives:
    """Lives in any order: group, first and last row of the log, sorting instant, beginning, length, end seen."""

    code: IntArray
    row: IntArray
    ending: IntArray
    at: IntArray
    begun: IntArray
    nanoseconds: IntArray
    observed: BoolArray

    def take(self, chosen: BoolArray | IntArray) -> _Lives:
        return _Lives(*(getattr(self, field.name)[chosen] for field in fields(self)))


def _seen_in(lives: _Lives, period: _Era, left: IntArray) -> tuple[_Lives, IntArray, IntArray]:
    """The lives under way in a period, cut at its end; how old each was at its beginning; the groups of the rest."""
    ended = lives.begun + lives.nanoseconds
    # a life belongs to the period in which it ended, or was under way; failures at its last instant are the next period's
    seen = (
        (ended >= period.first) & (lives.begun < period.last) & ((ended > period.first) | (lives.begun >= period.first))
    )
    part, ended = lives.take(seen), ended[seen]
    cut = (ended > period.last) | (part.observed & (ended == period.last) & (period.last < left[part.code]))
    part = replace(
        part,
        observed=part.observed & ~cut,
        nanoseconds=np.where(cut, period.last - part.begun, part.nanoseconds),
    )
    age = np.maximum(period.first - part.begun, 0)
    known = part.observed | (part.nanoseconds > age)
    return part.take(known), age[known], np.concatenate([lives.code[~seen], part.code[~known]])


def _pack(
    lives: _Lives,
    outages: _Outages,
    measure: str,
    zeros: str,
    counts: dict[str, IntArray],
    notes: tuple[str, ...],
    period: _Era | None,
) -> tuple[LifeData, IntArray, IntArray]:
    size = len(outages.groups)
    age = None
    if period is not None:
        lives, age, outside = _seen_in(lives, period, outages.left)
        counts = {**counts, "outside_period": np.bincount(outside, minlength=size)}
        notes = (*notes, period.words)
    code, nanoseconds, observed = lives.code, lives.nanoseconds, lives.observed
    zero = nanoseconds == 0
    drop = zero & (observed if zeros == "apart" else False)
    drop |= zero & ~observed  # a censored life of no length says nothing
    counts = {
        f"zero_{'gaps' if measure == 'ttf' else 'repairs'}": np.bincount(code[zero & observed], minlength=size),
        "overlapping": outages.overlapping,
        **counts,
    }
    lives = lives.take(~drop)
    age = None if age is None else age[~drop]
    code, nanoseconds, observed = lives.code, lives.nanoseconds, lives.observed
    order = order_in_groups(code, lives.at)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=size))]).astype(np.int64)
    if outages.without_group:
        notes = (*notes, f"{outages.without_group} events without a value to group by are not in any group")
    packed = LifeData(
        nanoseconds[order] / NANOSECONDS_PER_HOUR,
        observed[order],
        offsets,
        outages.groups,
        measure,
        pd.DataFrame(counts, index=outages.groups),
        (*outages.notes, *notes),
        entry=None if age is None else age[order] / NANOSECONDS_PER_HOUR,
    )
    return packed, lives.row[order], np.where(observed, lives.ending, -1)[order]


def _failures(
    outages: _Outages, period: _Era | None, *, censor: bool, origin: str, first: str, zeros: str
) -> tuple[LifeData, IntArray, IntArray]:
    size = len(outages.groups)
    # an outage that was going on when observation began is no failure; only its end can begin a gap
    rows = np.flatnonzero(~outages.start_cut | (origin == "repair"))
    code, start, cut = outages.code[rows], outages.start[rows], outages.start_cut[rows]
    opens = np.ones(code.size, dtype=bool)
    opens[1:] = code[1:] != code[:-1]
    closes = np.ones(code.size, dtype=bool)
    closes[:-1] = opens[1:]
    renewal, renewal_known = start, np.ones(code.size, dtype=bool)
    if origin == "repair":
        renewal, renewal_known = outages.end, outages.end_seen & ~outages.end_cut

    # gaps that end in a failure and begin with one
    later = np.flatnonzero(~opens & ~cut)
    vague = np.bincount(code[later[~renewal_known[later - 1]]], minlength=size)
    later = later[renewal_known[later - 1]]
    gap = start[later] - renewal[later - 1]
    negative = gap < 0  # only where the clock starts at repair, and outages of pooled nodes or kept records overlap
    negative_count = np.bincount(code[later[negative]], minlength=size)
    later, gap = later[~negative], gap[~negative]

    # the time before the first failure
    count_first = {"known": outages.entered_known, "always": np.ones(size, bool), "never": np.zeros(size, bool)}[first]
    head = np.flatnonzero(opens & ~cut)
    before = start[head] - outages.entered[code[head]]
    usable = count_first[code[head]] & (before >= 0)
    unknown = np.bincount(code[head[~usable]], minlength=size)
    head, before = head[usable], before[usable]

    # the time after the last failure, and groups that never failed
    tail = np.flatnonzero(closes & renewal_known)
    after = outages.left[code[tail]] - renewal[tail]
    tail, after = tail[after > 0], after[after > 0]
    never = np.setdiff1d(np.arange(size), code)
    never = never[(outages.left - outages.entered)[never] > 0]
    silent = never[count_first[never]]
    unknown[never[~count_first[never]]] += 1
    if not censor:
        tail, after, silent = tail[:0], after[:0], silent[:0]
    row = outages.row[rows]
    nowhere = np.full(head.size, -1, dtype=np.int64)
    lives = _Lives(
        np.concatenate([code[later], code[head], code[tail], silent]),
        np.concatenate([row[later - 1], nowhere, row[tail], np.full(silent.size, -1, dtype=np.int64)]),
        np.concatenate([row[later], row[head], np.full(tail.size + silent.size, -1, dtype=np.int64)]),
        np.concatenate(
            [start[later], start[head], np.full(tail.size, np.iinfo(np.int64).max), outages.entered[silent]]
        ),
        np.concatenate([renewal[later - 1], outages.entered[code[head]], renewal[tail], outages.entered[silent]]),
        np.concatenate([gap, before, after, (outages.left - outages.entered)[silent]]),
        np.concatenate([np.ones(later.size + head.size, bool), np.zeros(tail.size + silent.size, bool)]),
    )
    return _pack(
        lives,
        outages,
        "ttf",
        zeros,
        {"first_gap_unknown": unknown, "repair_unknown": vague, "negative_gaps": negative_count},
        (
            f"gaps run from {origin} to failure",
            "the gap after the last failure is " + ("right-censored" if censor else "left out"),
        ),
        period,
    )


def _repairs(
    outages: _Outages, period: _Era | None, *, censor: bool, zeros: str
) -> tuple[LifeData, IntArray, IntArray]:
    size = len(outages.groups)
    seen = outages.end_seen
    complete = seen & ~outages.start_cut & ~outages.end_cut
    rows = np.flatnonzero(seen if censor else complete)
    start = outages.start[rows]
    return _pack(
        _Lives(
            outages.code[rows],
            outages.row[rows],
            outages.row[rows],
            start,
            start,
            outages.end[rows] - start,
            complete[rows],
        ),
        outages,
        "ttr",
        zeros,
        {"end_unknown": np.bincount(outages.code[~seen], minlength=size)},
        ("outages cut off by the window are " + ("right-censored" if censor else "left out"),),
        period,
    )


def _declared(log: FailureLog, per: str, *, censor: bool, zeros: str) -> tuple[LifeData, IntArray]:
    """Lives that the source gives whole."""
    table = log.lifetimes
    assert table is not None
    known = [str(c) for c in table.columns if c not in ("duration", "observed", "line")]
    if per not in ("node", *known):
        raise ArgumentError(f"no column {per!r} to group lives by", remedy=f"use one of {', '.join(known)}")
    keys = ["system", "node"] if per == "node" else [per]
    code, groups = _codes(table, None, keys)
    duration = table["duration"].to_numpy(dtype=float)
    observed = table["observed"].to_numpy(dtype=bool)
    size = len(groups)
    zero = (duration == 0) & observed & (code >= 0)
    drop = (code < 0) | (zero & (zeros == "apart")) | ((duration == 0) & ~observed)
    if not censor:
        drop |= ~observed
    counts = pd.DataFrame({"zero_gaps": np.bincount(code[zero], minlength=size)}, index=groups)
    order = np.flatnonzero(~drop)[np.argsort(code[~drop], kind="stable")]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(code[order], minlength=size))]).astype(np.int64)
    lives = LifeData(
        duration[order], observed[order], offsets, groups, "ttf", counts, ("lives as the source gives them",)
    )
    return lives, order
