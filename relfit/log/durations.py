"""From outages to times to failure and to repair (reliability-aware allocation, Figure 4.1): which durations count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import IntArray, Value
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.numeric.ragged import offsets_of
from relfit.base.sealed import seal_arrays
from relfit.base.text import count
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.log.lifedata import LifeData
from relfit.log.outages import Outages, clock_step, outages_of
from relfit.log.tables import OF_LIVES, Tables, group_codes, made_once

_CHOICES = {
    "origin": ("failure", "repair"),
    "first": ("known", "always", "never"),
    "overlaps": ("merge", "ends", "keep"),
    "zeros": ("apart", "keep", "resolution"),
}
_MANY_ZEROS = 0.05  # of the times of a group that are zero
_COARSE = 0.05  # step of the clock relative to the mean time of a group
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Rules:
    """Which durations count; `FailureLog.ttf` describes each. An `ArgumentError` for a value that is no choice."""

    censor: bool = True
    origin: str = "failure"
    first: str = "known"
    overlaps: str = "merge"
    zeros: str = "apart"
    since: Any = None
    until: Any = None

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                raise ArgumentError(f"{name}={value!r} is not known", remedy=f"use one of {', '.join(choices)}")


@dataclass(frozen=True)
class Durations:
    """Durations, and the records of the log that they came from.

    For each duration ``begun`` is the position in ``log.events`` of its outage (times to repair), or of the failure or
    outage with which it began (times to failure), -1 where it began with the observation; ``ended`` is that of the
    failure with which a time to failure ended, -1 where it is censored. Where the source gives durations itself, both
    are positions in ``log.lifetimes``.
    """

    lives: LifeData
    begun: IntArray
    ended: IntArray

    def __post_init__(self) -> None:
        seal_arrays(self)


@made_once
def times_to_failure(log: Tables, per: str = "node", rules: Rules | None = None) -> Durations:
    """Times to failure by node, system or a column; `FailureLog.ttf` describes them."""
    rules = rules or Rules()
    if log.lifetimes is None:
        times = _failures(log, outages_of(log, per, rules.overlaps), rules, log.question if per == "node" else None)
        # groups by a column of events, which nodes do not have, are all watched for as long as the whole log
        shared = per != "node" and per not in log.population.columns
        return replace(times, lives=replace(times.lives, shared=True)) if shared else times
    if rules.since is not None or rules.until is not None:
        raise uncut_lifetimes(log)
    return _given(log.lifetimes, per, rules)


def uncut_lifetimes(log: Tables) -> ArgumentError:
    """The error where lifetimes are to be cut in time: only a table with dates can be, when it is read."""
    what = "this log holds complete lifetimes and cannot be cut in time"
    if log.undated:
        return ArgumentError(what, remedy="leave out since and until")
    options = (
        "leave out --since, --until and --period; --observed FROM/TO takes the part of a table of units with dates"
    )
    return ArgumentError(what, remedy=Remedy("read the table with window_start and window_end instead", options))


@made_once
def times_to_repair(log: Tables, per: str = "node", rules: Rules | None = None) -> Durations:
    """Times to repair by node, system or a column; `FailureLog.ttr` describes them."""
    rules = rules or Rules()
    outages = outages_of(log, per, rules.overlaps)
    complete = outages.end_known & outages.failures & ~outages.end_cut
    counted = outages.end_known if rules.censor else complete
    parts = pd.DataFrame(
        {
            "code": outages.code,
            "row": outages.row,
            "ending": outages.row,
            "begun": outages.start,
            "ended": outages.end,
            "observed": complete,
            "stationary": False,
        }
    )
    parts = parts if counted.all() else parts[counted]
    counts = {"end_unknown": outages.count(~outages.end_known)}
    note = "outages cut off by the window are " + ("right-censored" if rules.censor else "left out")
    return _packed(log, outages, "ttr", parts, counts, (note,), rules)


def times_by_cause(log: Tables, column: str, per: str = "node", rules: Rules | None = None) -> LifeData:
    """Times to failure from each cause, one group for every group and cause; a missing cause is one, ``unknown``.
    Failures of other causes censor a time: fitted one by one, these give the cause-specific hazards, in series the
    distribution of all failures. An `ArgumentError` for a `column` that events do not have, or a log without dates.
    """
    if log.lifetimes is not None or column not in log.events.columns or column in ("start", "end", "line"):
        raise ArgumentError(f"the events of this log have no column {column!r} to distinguish causes by")
    times = times_to_failure(log, per, rules)
    # the age of a life in progress depends on all causes, so it is no evidence on one alone
    lives = times.lives.from_age_known()
    last = times.ended if times.lives.stationary is None else times.ended[~times.lives.stationary]
    left_out = times.lives.durations.size - last.size
    values = log.events[column].astype(object)
    causes, names = pd.factorize(values.where(values.notna(), "unknown").astype(str), sort=True)
    cause = np.append(causes, -1)[last]
    present = np.unique(causes[times.ended[times.ended >= 0]])
    labels = names[present] if present.size else np.array(["unknown"])
    # every duration is once in the group of each cause
    positions = np.repeat(np.arange(lives.n_groups), labels.size)
    repeated = lives.take(positions)
    rows = lives.rows_of(positions)
    wanted = np.tile(present if present.size else np.array([0]), lives.n_groups)
    of_unknown = count(left_out, "time in progress at an unknown age is", "times in progress at an unknown age are")
    keys = repeated.groups.to_frame(index=False)
    keys[column] = np.tile(labels, lives.n_groups)
    return replace(
        repeated,
        observed=repeated.observed & (cause[rows] == np.repeat(wanted, repeated.sizes)),
        groups=pd.MultiIndex.from_frame(keys),
        counts=None,
        notes=(
            *lives.notes,
            f"failures from another {column} censor a time",
            *([f"{of_unknown} left out"] if left_out else []),
        ),
    )


def _failures(log: Tables, outages: Outages, rules: Rules, question: str | None) -> Durations:
    """The intervals between the failures of each group, and before and after them."""
    size = outages.n_groups
    # an outage that was going on when observation began is no failure; only its end can begin an interval
    rows = np.flatnonzero(outages.failures | (rules.origin == "repair"))
    code, start, row = outages.code[rows], outages.start[rows], outages.row[rows]
    renewal, renewal_known = start, np.ones(rows.size, dtype=np.bool_)
    if rules.origin == "repair":
        renewal, renewal_known = outages.end[rows], (outages.end_known & ~outages.end_cut)[rows]
    offsets = offsets_of(np.bincount(code, minlength=size))

    # a group of k outages has k + 1 intervals: the first begins with the observation, the last ends with it
    group = np.repeat(np.arange(size), np.diff(offsets) + 1)
    ending = np.arange(group.size) - group  # position of the outage that ends the interval
    first, last = ending == offsets[group], ending == offsets[group + 1]
    ending = np.where(last, -1, ending)
    begins = np.where(first, -1, np.arange(group.size) - group - 1)

    def of(positions: IntArray, values: npt.NDArray[Value], otherwise: npt.NDArray[Value] | int) -> npt.NDArray[Value]:
        padded = np.append(values, values[:1] if values.size else np.zeros(1, values.dtype))
        return np.where(positions >= 0, padded[positions], otherwise)

    from_first = {"known": outages.entered_known, "always": np.ones(size, bool), "never": np.zeros(size, bool)}
    begun, ended = of(begins, renewal, outages.entered[group]), of(ending, start, outages.left[group])
    renewed = of(begins, renewal_known, from_first[rules.first][group])
    # in progress at an unknown age; a failure with which an observation begins ends no such time
    stationary = first & ~renewed & (ended > begun) & (rules.first == "known")
    renewed |= stationary
    possible = ~of(ending, outages.start_cut[rows], False)
    positive = np.where(last, ended > begun, ended >= begun)
    counts = {
        "first_gap_unknown": possible & first & np.where(last, positive & ~renewed, ~positive | ~renewed),
        "repair_unknown": possible & ~first & ~last & ~renewed,
        # only where the clock starts at repair, and outages of pooled nodes or kept records overlap
        "negative_gaps": possible & ~first & ~last & renewed & ~positive,
    }
    keep = possible & renewed & positive & (rules.censor | ~last)
    parts = pd.DataFrame(
        {
            "code": group,
            "row": of(begins, row, -1),
            "ending": of(ending, row, -1),
            "begun": begun,
            "ended": ended,
            "observed": ~last,
            "stationary": stationary,
        }
    )[keep]
    notes: tuple[str, ...] = (
        f"times run from {rules.origin} to failure",
        "the time after the last failure is " + ("right-censored" if rules.censor else "left out"),
    )
    if question is not None:
        notes = (question, *notes)
    if parts["stationary"].any():
        notes += ("times in progress at an unknown age when observation began are taken as in a fleet in steady state",)
    return _packed(
        log, outages, "ttf", parts, {n: np.bincount(group[c], minlength=size) for n, c in counts.items()}, notes, rules
    )


def _packed(
    log: Tables,
    outages: Outages,
    measure: str,
    parts: pd.DataFrame,
    counts: Mapping[str, object],
    notes: tuple[str, ...],
    rules: Rules,
) -> Durations:
    """Durations as `LifeData`; `parts` has one row per duration, sorted by group and time (nanoseconds)."""
    size = outages.n_groups
    period = rules.since is not None or rules.until is not None
    if period:
        parts, outside, note = _in_period(log, parts, rules)
        counts, notes = {**counts, "outside_period": np.bincount(outside, minlength=size)}, (*notes, note)
    code, observed = parts["code"].to_numpy(), parts["observed"].to_numpy()
    length = (parts["ended"] - parts["begun"]).to_numpy()
    zero = length == 0
    coarse = np.zeros(size, np.bool_)
    if rules.zeros == "resolution":
        ended, zeros = (np.bincount(code[chosen], minlength=size) for chosen in (observed, zero & observed))
        hidden = clock_step(log) * ended >= _COARSE * np.bincount(code, length, minlength=size)
        coarse = (zeros > _MANY_ZEROS * ended) & hidden
        if coarse.any():
            notes = (*notes, "times of zero are kept where the step of the clock is long beside the mean time")
    counts = {
        f"zero_{'gaps' if measure == 'ttf' else 'repairs'}": np.bincount(
            code[zero & observed & ~coarse[code]], minlength=size
        ),
        "overlapping": outages.joined,
        **counts,
    }
    keep = ~zero | (observed & ((rules.zeros == "keep") | coarse[code]))  # a censored time of no length says nothing
    code, observed, duration = code[keep], observed[keep], length[keep] / NANOSECONDS_PER_HOUR
    entry = None
    if period:
        entry = parts["entry"].to_numpy()[keep] / NANOSECONDS_PER_HOUR
        at_once = observed & (entry >= duration)  # a failure at the first instant was watched for less than a tick
        entry = np.where(at_once, np.nextafter(duration, 0.0), entry)
    if outages.without_group.size:
        notes = (*notes, f"events without a value to group by, which are in no group: {outages.without_group.size}")
    lives = LifeData(
        duration,
        observed,
        offsets_of(np.bincount(code, minlength=size)),
        outages.groups,
        measure,
        pd.DataFrame(counts, index=outages.groups),
        (*outages.notes, *notes),
        entry=entry,
        stationary=parts["stationary"].to_numpy()[keep],
    )
    begun, ended = parts["row"].to_numpy()[keep], parts["ending"].to_numpy()[keep]
    return Durations(lives, begun, np.where(observed, ended, -1))


def _in_period(log: Tables, parts: pd.DataFrame, rules: Rules) -> tuple[pd.DataFrame, IntArray, str]:
    """Durations in progress in a period, cut at its end, with ``entry``; groups of the others; a note. A period holds
    its first instant, not its last (unless the log's own), so that failures of adjoining ones add up.
    """
    since, until = log.period(rules.since, rules.until)
    first, last = (stamp.as_unit("ns").value for stamp in (since, until))
    begun, ended, observed = (parts[name].to_numpy() for name in ("begun", "ended", "observed"))
    cut = (ended > last) | (observed & (ended == last) & (until != log.window.end))
    ends_now, ended = observed & ~cut, np.where(cut, last, ended)
    entered = np.maximum(begun, first)
    # a failure at the first instant ends a time of this period; a censored time of no length says nothing
    seen = (ended > entered) | (ends_now & (ended == entered))
    # of a time that began at an unknown age, what is seen of it in the period is a time of that kind again
    begun = np.where(parts["stationary"], entered, begun)
    chosen = parts.assign(begun=begun, ended=ended, observed=ends_now, entry=entered - begun)[seen]
    note = (
        f"seen from {since:%Y-%m-%d} to {until:%Y-%m-%d}: times in progress at the beginning enter at their age "
        "(left truncation) where it is known, times that went on are censored at the end"
    )
    return chosen, parts["code"].to_numpy()[~seen], note


def _given(table: pd.DataFrame, per: str, rules: Rules) -> Durations:
    """Durations that the source gives itself."""
    names = [str(c) for c in table.columns if c not in ("duration", "observed", "line", *OF_LIVES)]
    shared = per == "cause" and "cause" in names
    if shared:  # every life is one of each cause, which other causes censor
        causes = sorted(table.loc[table["observed"].astype(bool), "cause"].dropna().astype(str).unique())
        of = [table.assign(observed=table["observed"] & (table["cause"] == cause), cause=cause) for cause in causes]
        table = pd.concat(of, ignore_index=True) if of else table
    if per not in ("node", *names):
        raise ArgumentError(f"no column {per!r} to group durations by", remedy=f"use one of {', '.join(names)}")
    (code,), groups = group_codes([table], ["system", "node"] if per == "node" else [per])
    duration = table["duration"].to_numpy(dtype=float)
    observed = table["observed"].to_numpy(dtype=bool)
    zero = (duration == 0) & (code >= 0)
    keep = (code >= 0) & np.where(zero, observed & (rules.zeros == "keep"), observed | rules.censor)
    counts = pd.DataFrame({"zero_gaps": np.bincount(code[zero & observed], minlength=len(groups))}, index=groups)
    rows = np.flatnonzero(keep)[np.argsort(code[keep], kind="stable")]
    offsets = offsets_of(np.bincount(code[rows], minlength=len(groups)))
    entry = table["entry"].to_numpy(dtype=float)[rows] if "entry" in table else None
    note = ("times as the source gives them",)
    lives = LifeData(duration[rows], observed[rows], offsets, groups, "ttf", counts, note, entry=entry, shared=shared)
    return Durations(lives, rows, rows)
