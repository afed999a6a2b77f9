"""The tables of a failure log, and the rules that they keep."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from inspect import signature
from pathlib import PurePath
from typing import Any, ParamSpec, Self, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import union_categoricals

from relfit.base.arrays import IntArray
from relfit.base.errors import ArgumentError, DataError, Remedy
from relfit.base.numeric.ordering import natural_order, renumbered
from relfit.base.sealed import seal_tables
from relfit.base.text import count
from relfit.base.units import instant

NOT_SEEN = "not seen"  # what nodes are called of which only the number is known, with a number of their own
EVENT_COLUMNS = ("system", "node", "start", "end", "cause", "detail", "scope", "start_cut", "end_cut", "line")
POPULATION_COLUMNS = ("system", "node", "entered", "left", "entered_known", "left_known", "declared")
LIFETIME_COLUMNS = ("system", "node", "duration", "observed", "line")
OF_LIVES = ("entry", "running")  # of lifetimes: the age from which each was observed, whether its unit runs
REJECTED_COLUMNS = ("file", "line", "column", "reason", "text")
P = ParamSpec("P")
T = TypeVar("T")
STILL_GOING_ON = "still going on when observation ended"
FAILED_AGAIN = "without an end, after which the node failed again: their ends are not known"
LOST = "without an end, after which the node failed again or which would be the longest: their ends are not known"
_OF_OPEN = (STILL_GOING_ON, FAILED_AGAIN, LOST)
COUNT_AS_UP = "were not observed and count as up"
_MOST_UNSEEN = 0.05  # of the nodes: more, and rates of one node are not known
_BEFORE = " (before the selection)"
_NOT_AN_ATTRIBUTE = {*EVENT_COLUMNS, *POPULATION_COLUMNS, *LIFETIME_COLUMNS}


@dataclass(frozen=True)
class Window:
    """The time during which failures would have been recorded.

    That of a log is in the log's time zone, and so is every date that is printed; columns of tables are UTC.
    ``start_known`` and ``end_known`` say whether that end was declared (by the log or the user) or is only the first
    or last instant seen in the log. ``log_end`` is the end of the log of which this is a part whose nodes all left.
    """

    start: pd.Timestamp
    end: pd.Timestamp
    start_known: bool = False
    end_known: bool = False
    log_end: pd.Timestamp | None = None

    @property
    def hours(self) -> float:
        """Length in hours."""
        return float((self.end - self.start) / pd.Timedelta(hours=1))

    @property
    def gone(self) -> str:
        """Since when no node has been in service, in words; empty if the log ends here."""
        if self.log_end is None:
            return ""
        return f"no node has been in service since {self.end:%Y-%m-%d}, the log goes on to {self.log_end:%Y-%m-%d}"

    def in_zone(self, zone: str) -> Window:
        """The same time with its ends in a time zone."""
        start, end = (moment if pd.isna(moment) else moment.tz_convert(zone) for moment in (self.start, self.end))
        return replace(self, start=start, end=end)


@dataclass(frozen=True)
class Source:
    """Where a log came from and what became of its rows: ``rows_read = rows_kept + rows rejected``.

    Attributes
    ----------
    paths, sha256 : tuple of str
        Files, and their checksums.
    format : str
        Name of the reader; ``"memory"`` without files.
    rows_read, rows_kept : int
    timezone : str
        Of times without a zone.
    notes : tuple of str
        What reading assumed.
    selection : tuple of str
        What `FailureLog.where` and `FailureLog.between` selected.
    rows_deselected : int
        Events that they, or the reader, left out.
    left_out : tuple of (str, int)
        Why the reader left out events, and how many for each reason.
    funnel : tuple of (str, int)
        Counts of the steps from the records of a raw log to its failures.
    rules : tuple of str
        Which records of a raw log count as failures.
    """

    paths: tuple[str, ...] = ()
    format: str = "memory"
    rows_read: int = 0
    rows_kept: int = 0
    sha256: tuple[str, ...] = ()
    timezone: str = "UTC"
    notes: tuple[str, ...] = ()
    selection: tuple[str, ...] = ()
    rows_deselected: int = 0
    funnel: tuple[tuple[str, int], ...] = ()
    rules: tuple[str, ...] = ()
    left_out: tuple[tuple[str, int], ...] = ()

    @property
    def not_read(self) -> list[str]:
        """How many events the reader left out, with the reasons."""
        return [f"{count(number, 'event')} left out ({reason})" for reason, number in self.left_out]

    @property
    def unobserved(self) -> list[str]:
        """Notes on time within the window that nobody observed; none of a part of the log."""
        return [note for note in self.notes if note.endswith(COUNT_AS_UP)]

    @property
    def omissions(self) -> list[str]:
        """How many events the reader left out and a selection does not have, with the reasons.

        Examples
        --------
        >>> Source(rows_deselected=3, left_out=(("without a node", 1),), selection=("cause=disk",)).omissions
        ['1 event left out (without a node)', '2 events not selected (cause=disk)']
        """
        omissions = self.not_read
        others = self.rows_deselected - sum(number for _, number in self.left_out)
        reasons = f" ({'; '.join(self.selection)})" if self.selection else ""
        return omissions + ([f"{count(others, 'event')} not selected{reasons}"] if others else [])

    def notes_of(self, events: pd.DataFrame) -> tuple[str, ...]:
        """The notes for a part of the log with these events: open outages counted in it, other counts as of all."""
        notes = []
        for note in self.notes:
            counts_others = note[:1].isdigit() and not note.endswith((*_OF_OPEN, _BEFORE))
            notes.append(note + _BEFORE if counts_others else recounted(note, events))
        return tuple(filter(None, notes))


def recounted(note: str, events: pd.DataFrame) -> str:
    """A note on open outages with their number among these events, empty for none; any other note as it is."""
    what = next(filter(note.endswith, _OF_OPEN), None)
    if what is None:
        return note
    number = int(events["end_cut"].sum() if what == STILL_GOING_ON else events["end"].isna().sum())
    return f"{count(number, 'outage')} {what}" if number else ""


@seal_tables
@dataclass(frozen=True, eq=False)
class Tables:
    """The events of a fleet, the nodes that were watched, and when.

    Nothing in it changes: a table is handed out as a copy, and a part of a log is a new log. `relfit.FailureLog`
    documents the fields.
    """

    events: pd.DataFrame
    population: pd.DataFrame
    window: Window
    rejected: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(REJECTED_COLUMNS)))
    source: Source = field(default_factory=Source)
    lifetimes: pd.DataFrame | None = None

    def __post_init__(self) -> None:
        required = {
            "events": EVENT_COLUMNS,
            "population": POPULATION_COLUMNS,
            "rejected": REJECTED_COLUMNS,
            "lifetimes": LIFETIME_COLUMNS,
        }
        for name, columns in required.items():
            frame = getattr(self, name)
            missing = [] if frame is None else [c for c in columns if c not in frame.columns]
            if missing:
                raise DataError(f"{name} of a {type(self).__name__} has no column {missing[0]!r}")
        object.__setattr__(self, "window", self.window.in_zone(self.source.timezone))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_answers"}

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables of what was observed, by name: events, population, and lifetimes where there are any."""
        frames = {"events": self.events, "population": self.population, "lifetimes": self.lifetimes}
        return {name: frame for name, frame in frames.items() if frame is not None}

    @property
    def attributes(self) -> tuple[str, ...]:
        """Columns beyond the standard ones, in events, population and lifetimes."""
        names = dict.fromkeys(str(column) for frame in self.tables.values() for column in frame.columns)
        of_lives = OF_LIVES if self.lifetimes is not None else ()
        return tuple(name for name in names if name not in (*_NOT_AN_ATTRIBUTE, *of_lives))

    @property
    def undated(self) -> bool:
        """Whether it holds durations without dates: they run from 1970, and its window is a placeholder."""
        return self.lifetimes is not None and self.window.start.value == 0

    @cached_property
    def unseen_nodes(self) -> int:
        """Least number of nodes missing from the log, where the source lists none; 0 below 5 % of all.

        Chao's lower estimate of nodes without a record (1984, Scandinavian Journal of Statistics 11, 265-270) from the
        numbers of nodes with one record and with two, less those without one that are known.
        """
        if self.lifetimes is not None or self.population["declared"].any() or not len(self.population):
            return 0
        return unseen(*self.nodes_with_one_or_two, self.nodes_with_records, len(self.population))

    @cached_property
    def nodes_with_one_or_two(self) -> tuple[int, int]:
        """Numbers of nodes with one record, and with two."""
        records = np.bincount(pair_codes(self.events[self.events["node"].notna()]))
        return int((records == 1).sum()), int((records == 2).sum())

    @cached_property
    def nodes_with_records(self) -> int:
        """Number of nodes that a record names."""
        named = self.events[self.events["node"].notna()]
        return int(pair_codes(named).max(initial=-1)) + 1

    @property
    def at_one_instant(self) -> bool:
        """Whether all is known of one instant only, as from one snapshot of the states of nodes."""
        return self.lifetimes is None and len(self.events) > 0 and bool(self.window.start == self.window.end)

    @property
    def question(self) -> str | None:
        """What the user must answer before rates, or results for one node, can be given; None if nothing."""
        if self.at_one_instant:
            return (
                f"all is known of one instant only, {self.window.start:%Y-%m-%d %H:%M}, and a snapshot has no failure "
                "rate: over what time was observed? Give window_start=... and window_end=..., or snapshots of several "
                "times"
            )
        return question_of(self.unseen_nodes, self.nodes_with_records, self.nodes_with_one_or_two[1])

    def ask(self) -> None:
        """Raise a `DataError` with the `question`, if there is one."""
        if self.question is not None:
            what, _, remedy = self.question.partition("? ")
            raise DataError(f"{what}?", remedy=remedy)

    def period(self, since: object = None, until: object = None) -> tuple[pd.Timestamp, pd.Timestamp]:
        """The part of the window from `since` to `until`, in the log's time zone.

        Parameters
        ----------
        since, until : str, datetime or pandas.Timestamp, optional
            In the log's time zone if they have none; the ends of the window when left out.

        Raises
        ------
        ArgumentError
            When nothing was observed in that time.
        """
        zone = self.source.timezone
        first = self.window.start if since is None else max(instant(since, zone), self.window.start)
        last = self.window.end if until is None else min(instant(until, zone), self.window.end)
        if not first < last:
            span = [f" {word} {end}" for word, end in (("from", since), ("to", until)) if end is not None]
            raise ArgumentError(
                f"nothing was observed{''.join(span)}",
                remedy=f"the log covers {self.window.start:%Y-%m-%d} to {self.window.end:%Y-%m-%d}",
            )
        return first.tz_convert(zone), last.tz_convert(zone)

    def _observed_to(self, last: pd.Timestamp) -> Self:
        """The log with what went on at its last record going on to `last`."""
        end, events, people = self.window.end, self.events, self.population
        if end <= pd.Timestamp.now("UTC") + pd.Timedelta("1D") < last:  # a simulated log may have its records there
            raise ArgumentError(
                f"the observation ends on {last:%Y-%m-%d}, which is still to come",
                remedy=Remedy("give until the last time that the log covers", "end --until with the log"),
            )
        going_on, there = events["end_cut"] & (events["end"] == end), (people["left"] == end) & ~people["left_known"]
        events = events.assign(end=events["end"].mask(going_on, last))
        people = people.assign(left=people["left"].mask(there, last), left_known=people["left_known"] | there)
        return replace(self, events=events, population=people, window=replace(self.window, end=last, end_known=True))


def check_log(log: object) -> None:
    """Raise an `ArgumentError` that says what to give instead, for anything but a log."""
    if isinstance(log, Tables):
        return
    what, remedy = f"a {type(log).__name__} is no log", "give a log as read by rf.read('log.csv')"
    if isinstance(log, pd.DataFrame):
        remedy = "read the table: rf.read(table)"
    elif isinstance(log, (str, PurePath)):
        what, remedy = f"{str(log)!r} is no log", f"read the file: rf.read({str(log)!r})"
    elif hasattr(log, "durations"):
        remedy = "fit durations with rf.fit(lives), or give the log that they are of"
    elif hasattr(log, "log"):
        remedy = "give its log, as study.log"
    elif log is None:
        what = "None is no log"
    raise ArgumentError(what, remedy=remedy)


def made_once(function: Callable[P, T]) -> Callable[P, T]:
    """A function of a log and options that answers once; not kept if drawn from a generator or unhashable.
    Anything but a log is refused by `check_log`, unless the function takes durations as well.
    """
    names = signature(function)
    of_lives = "log" in names.parameters and "LifeData" in str(names.parameters["log"].annotation)

    @wraps(function)
    def answer(*arguments: P.args, **options: P.kwargs) -> T:
        bound = names.bind(*arguments, **options)
        bound.apply_defaults()
        if "log" in bound.arguments and not (of_lives and hasattr(bound.arguments["log"], "durations")):
            check_log(bound.arguments["log"])
        log, *values = (value for name, value in bound.arguments.items() if name != "progress")
        key = (function, *(tuple(value) if isinstance(value, list) else value for value in values))
        if not isinstance(log, Tables) or not all(map(_can_be_looked_up, key)):
            return function(*arguments, **options)
        answers: dict[Any, T] = vars(log).setdefault("_answers", {})
        if key not in answers:
            answers[key] = function(*arguments, **options)
        return answers[key]

    return answer


def _can_be_looked_up(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return not isinstance(value, np.random.Generator)


def pair_codes(frame: pd.DataFrame) -> IntArray:
    """A number for each row, the same for rows of one system and node."""
    (system, _), (node, kinds) = (_coded(frame[name]) for name in ("system", "node"))
    both = system.astype(np.int64)
    both += 1
    both *= kinds + 1
    both += node
    return np.asarray(pd.factorize(both, size_hint=kinds)[0], dtype=np.int64)


def _coded(names: pd.Series) -> tuple[npt.NDArray[Any], int]:
    """A number for each name, -1 where it is missing, and how many numbers there may be."""
    if isinstance(names.dtype, pd.CategoricalDtype):
        return names.cat.codes.to_numpy(), len(names.cat.categories)
    codes, kinds = pd.factorize(names, use_na_sentinel=True)
    return codes, len(kinds)


def first_of_pairs(codes: IntArray) -> IntArray:
    """The row in which each number of `pair_codes` comes first."""
    new = np.ones(codes.size, dtype=bool)
    new[1:] = codes[1:] > np.maximum.accumulate(codes)[:-1]
    return np.flatnonzero(new)


def places_of_pairs(frame: pd.DataFrame, listed: pd.Index) -> IntArray:
    """Position of the system and node of each row among those `listed`, -1 where it is not there."""
    codes = pair_codes(frame)
    return np.asarray(listed.get_indexer(pairs(frame.iloc[first_of_pairs(codes)])), dtype=np.int64)[codes]


def group_codes(frames: list[pd.DataFrame], keys: list[str]) -> tuple[list[IntArray], pd.Index]:
    """Number of the group of every row of each table, -1 where a key is missing, and the labels in natural order."""
    ranked = [_ranks([frame[key] for frame in frames]) for key in keys]
    code = np.zeros(sum(map(len, frames)), dtype=np.int64)
    for ranks, values in ranked:
        code = code * max(len(values), 1) + ranks
    there = np.logical_and.reduce([ranks >= 0 for ranks, _ in ranked])
    sizes = [max(len(values), 1) for _, values in ranked]
    if np.prod(sizes, dtype=np.float64) <= 4.0 * code.size:  # a table of all combinations is about as long as the rows
        code[there], present = renumbered(code[there])
    else:
        code[there], present = pd.factorize(code[there], sort=True)
    code[~there] = -1
    places = np.unravel_index(present, sizes) if len(present) else [present] * len(keys)
    labels = [values[place] for (_, values), place in zip(ranked, places, strict=True)]
    groups: pd.Index = (
        pd.Index(labels[0], name=keys[0]) if len(keys) == 1 else pd.MultiIndex.from_arrays(labels, names=keys)
    )
    return np.split(code, np.cumsum([len(frame) for frame in frames])[:-1]), groups


def _ranks(columns: list[pd.Series]) -> tuple[IntArray, npt.NDArray[Any]]:
    """Rank of each value of columns set end to end, -1 where missing, and the values in natural order."""
    parts: list[Any] = [column.astype("category").cat for column in columns]
    both = union_categoricals([part.rename_categories(part.categories.astype(object)) for part in parts])
    values = np.asarray(both.categories, dtype=object)
    order = natural_order(values)
    rank = np.append(np.argsort(order), -1)
    return rank[both.codes].astype(np.int64), values[order]


def pairs(frame: pd.DataFrame) -> pd.MultiIndex:
    """System and node of every row."""
    return pd.MultiIndex.from_arrays([frame["system"].astype(object), frame["node"].astype(object)])


def unseen(once: int, twice: int, named: int, listed: int) -> int:
    """Least number of nodes not listed, by those with one record and two; 0 below 5 %; `named` have any record."""
    least = once * (once - 1) / (2.0 * (twice + 1.0)) - (listed - named)
    return math.ceil(least) if least > _MOST_UNSEEN * (least + listed) else 0


def question_of(unseen_nodes: int, seen: int, twice: int) -> str | None:
    """What the user must answer before results for one node can be given; None if nothing.

    Without nodes that failed `twice`, the estimate of those unseen is no number to give.
    """
    if not unseen_nodes:
        return None
    known = f"only nodes that failed are known ({seen:,})"
    if twice:
        more = f", and at least {count(unseen_nodes, 'more is', 'more are')} likely, so nothing is said of one node"
    else:
        more = ", none of them exactly twice, so how many more there are is not known and nothing is said of one node"
    return (
        f"{known}{more}: how many are there? Give --n-nodes NUMBER or --population FILE (n_nodes or population in "
        "Python)"
    )
