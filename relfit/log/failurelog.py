"""`FailureLog`: the validated events of a fleet, who was under observation when, and the rows that were rejected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any, cast

import numpy as np
import pandas as pd

from relfit.base.arrays import BoolArray
from relfit.base.errors import AbsentValueError, ArgumentError
from relfit.base.numeric.ordering import natural_key
from relfit.base.text import count
from relfit.base.units import instant
from relfit.log.durations import Durations, Rules, times_by_cause, times_to_failure, times_to_repair, uncut_lifetimes
from relfit.log.hints_of_rows import hints
from relfit.log.lifedata import LifeData
from relfit.log.outages import of_whole_system
from relfit.log.tables import Source, Tables, Window, first_of_pairs, pair_codes, pairs

__all__ = ["FailureLog", "Source", "Window"]
_MOST_NAMED = 8  # values in an error


@dataclass(frozen=True, eq=False)
class FailureLog(Tables):
    """The failures of a fleet: tables to select from, and their times to failure and to repair.

    `relfit.read` makes one. Nothing in it changes: a table is handed out as a copy, and a part of a log is a new log.

    Parameters
    ----------
    events : pandas.DataFrame
        One row per outage or failure. Columns ``system``, ``node`` (text; missing where the record names no node),
        ``start``, ``end`` (UTC; ``end`` is NaT where unknown), ``cause``, ``detail``, ``scope`` (``"node"``,
        ``"group"``, ``"system"``), ``start_cut`` and ``end_cut`` (the outage was already, or still, going on when
        observation began or ended), ``line`` (in the source), then any attributes.
    population : pandas.DataFrame
        One row per node: ``system``, ``node``, ``entered``, ``left`` (UTC), ``entered_known``, ``left_known``,
        ``declared`` (the source lists the node; otherwise it is known from its events only), then attributes. A node is
        watched from ``entered`` to ``left``; ``entered_known`` says that it was installed then, new.
    window : Window
        The time of observation.
    rejected : pandas.DataFrame
        Rows that could not be used: ``file``, ``line``, ``column``, ``reason``, ``text``.
    source : Source
        Files, format, counts, notes.
    lifetimes : pandas.DataFrame, optional
        For sources that give durations rather than events: ``system``, ``node``, ``duration`` (hours), ``observed``,
        ``line``, then attributes; ``entry``, the age from which each was observed, and ``running``, whether the unit
        runs, are none. Where present, times to failure come from here.

    Raises
    ------
    DataError
        When a required column is missing.
    """

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems, sorted (numbers by value)."""
        names = {str(name) for frame in self.tables.values() for name in frame["system"].dropna().unique()}
        return tuple(sorted(names, key=natural_key))

    @property
    def n_nodes(self) -> int:
        """Nodes in the population."""
        return len(self.population)

    def __len__(self) -> int:
        return len(self.events)

    def where(self, conditions: Mapping[str, object] | None = None, /, **columns: object) -> FailureLog:
        """The part of the log with these values.

        A condition on a column of the population selects nodes with all their events and the outages of their whole
        system, and narrows the window to the time when they existed. A condition on a column that only events have
        (``cause``) selects events. A lifetime that ended by another cause is censored.

        Parameters
        ----------
        conditions : mapping from column to value, optional
            For columns whose names are no Python identifiers.
        **columns : value or collection of values
            Compared as text, so ``system=20`` and ``system="20"`` are the same. ``None`` selects missing values.

        Raises
        ------
        ArgumentError
            For an unknown column, or a value that selects nothing.

        Examples
        --------
        >>> import relfit as rf
        >>> log = rf.datasets.load("white")
        >>> log.where(system="white", cause="hardware").systems
        ('white',)
        """
        log = self
        for column, wanted in {**(conditions or {}), **columns}.items():
            log = log._where_one(column, wanted)
        return log

    def without(self, conditions: Mapping[str, object] | None = None, /, **columns: object) -> FailureLog:
        """The part of the log with other values than these.

        Arguments and errors are those of `where`. Missing values stay, unless ``None`` is among the values.

        Examples
        --------
        >>> import relfit as rf
        >>> log = rf.datasets.load("white")
        >>> sorted(log.without(cause=["hardware", "software"]).events["cause"].dropna().unique())
        ['facilities', 'human error', 'network']
        """
        log = self
        for column, unwanted in {**(conditions or {}), **columns}.items():
            log = log._where_one(column, unwanted, without=True)
        return log

    def _where_one(self, column: str, wanted: object, without: bool = False) -> FailureLog:
        several = isinstance(wanted, Iterable) and not isinstance(wanted, (str, bytes))
        values: list[object] = list(cast("Iterable[object]", wanted)) if several else [wanted]
        text = {str(v) for v in values if v is not None}
        alike = {spelling for v in values if v is not None for spelling in _spellings(v)}
        missing = any(v is None for v in values)

        def hit(series: pd.Series) -> BoolArray:
            kinds = series.astype("category").cat
            named = [any(each in alike for each in _spellings(category)) for category in kinds.categories]
            return np.append(named, missing).astype(np.bool_)[kinds.codes.to_numpy()]

        tables = self.tables
        places = [name for name, frame in tables.items() if column in frame.columns]
        if column == "line" or not places:
            names = dict.fromkeys(str(c) for frame in tables.values() for c in frame.columns if c != "line")
            read_as = re.search(rf"(\w+) from {re.escape(repr(column))}", " ".join(self.source.notes))
            remedy = f"it was read as {read_as[1]}: write {read_as[1]}" if read_as else f"it has {', '.join(names)}"
            raise ArgumentError(f"no column {column!r} in this log", remedy=remedy)
        chosen = {name: hit(tables[name][column]) for name in places}
        what = f"{'without ' if without else ''}{column}{' ' if without else '='}{','.join(sorted(text)) or 'missing'}"
        shown = f"{column}={' or '.join('missing' if value is None else repr(value) for value in values)}"
        if without and any(mask.any() for mask in chosen.values()):
            chosen = {name: ~mask for name, mask in chosen.items()}
            if not any(mask.any() for mask in chosen.values()):
                raise ArgumentError(f"everything in this log has {shown}", remedy="leave some of it")
        if column == "cause" and "lifetimes" in chosen:  # a life that ended otherwise did not end so: it is censored
            lives = tables["lifetimes"]
            ended = lives["observed"].to_numpy(dtype=bool) & chosen.pop("lifetimes")
            if ended.any() or chosen.get("events", ended).any():
                log = replace(self, lifetimes=lives.assign(observed=ended))
                return log._cut(chosen.get("events"), self.population, None, what)
        if not any(mask.any() for mask in chosen.values()):
            present = pd.concat([tables[n][column].dropna().astype(str) for n in places]).unique()
            further = f", ... ({len(present):,} in all)" if len(present) > _MOST_NAMED else ""
            remedy = f"its values are {', '.join(map(str, present[:_MOST_NAMED]))}{further}"
            raise AbsentValueError(f"nothing in this log has {shown}", remedy=remedy)
        population = self.population
        if "lifetimes" in chosen and "population" not in chosen and not len(self.events):
            chosen["population"] = pairs(population).isin(pairs(tables["lifetimes"][chosen["lifetimes"]]))
        if "population" in chosen:
            population = population[chosen["population"]]
            for name, frame in tables.items():
                if name not in chosen:
                    chosen[name] = np.asarray(pairs(frame).isin(pairs(population)))
            # outages of a whole system are what happened to the selected nodes too
            of_system = self.events["system"].astype(object).isin(population["system"].astype(object).unique())
            chosen["events"] = chosen["events"] | (of_whole_system(self.events) & of_system.to_numpy())
        part = self._cut(chosen.get("events"), population, chosen.get("lifetimes"), what)
        return replace(part, window=part._span()) if "population" in chosen and len(population) else part

    def _span(self) -> Window:
        """The window, narrowed to the time when any node of the population was there."""
        window, people = self.window, self.population
        first, last = people["entered"].min(), people["left"].max()
        starts, ends = people["entered"] == first, people["left"] == last
        return Window(
            max(first, window.start),
            min(last, window.end),
            bool(people.loc[starts, "entered_known"].all()) if first > window.start else window.start_known,
            bool(people.loc[ends, "left_known"].all()) if last < window.end else window.end_known,
            window.log_end or window.end if last < window.end else window.log_end,
        )

    def between(self, since: object = None, until: object = None) -> FailureLog:
        """The log as observed from `since` to `until`.

        Failures that began outside, and nodes that did not exist then, are omitted. A period includes its first instant
        and not its last, unless that is the log's own, so that adjoining periods add up. An outage in progress at
        `since` is kept and marked ``start_cut``; one in progress at `until` is shortened and marked ``end_cut``. The
        first time of a node installed before `since` is in progress at an unknown age (`ttf`).

        Parameters
        ----------
        since, until : str, datetime or pandas.Timestamp, optional
            In the log's time zone if they have none; the ends of the log when left out. A log whose end is only that of
            its last record was observed to a later `until`.

        Raises
        ------
        ArgumentError
            When nothing remains, the log has durations without dates, or `until` is still to come.
        """
        if since is None and until is None:
            return self
        if self.lifetimes is not None:
            raise uncut_lifetimes(self)
        if (
            not (until is None or self.window.end_known)
            and (to := instant(until, self.source.timezone)) > self.window.end
        ):
            return self._observed_to(to).between(since, until)
        first, last = self.period(since, until)
        events, whole_end = self.events, last == self.window.end
        start, end = events["start"], events["end"].fillna(events["start"])
        keep = (start < last) | (start == last if whole_end else False)
        keep &= (start >= first) | (end > first)
        population = self.population
        # a node that failed at the instant at which it left is one of the period that begins then
        there = (population["entered"] < last) & (population["left"] > first)
        at_once = (population["left"] == first) & pairs(population).isin(pairs(events[start == first]))
        population = population[there | at_once].copy()
        earlier, later = population["entered"] < first, population["left"] > last
        population.loc[earlier, ["entered", "entered_known"]] = first, False
        population.loc[later, ["left", "left_known"]] = last, True
        begun = f"from {first.isoformat()} " if first > self.window.start else ""
        part = self._cut(keep.to_numpy(), population, None, f"{begun}to {last.isoformat()}")
        cut = part.events.copy()
        before, after = cut["start"] < first, cut["end"] > last
        cut.loc[before, ["start", "start_cut"]] = first, True
        cut.loc[after, ["end", "end_cut"]] = last, True
        known = (self.window.start_known or first > self.window.start, self.window.end_known or not whole_end)
        window = Window(first, last, *known, self.window.log_end if until is None else None)
        source = replace(part.source, notes=part.source.notes_of(cut))
        return replace(part, events=cut, window=window, source=source)

    def _cut(
        self, events: BoolArray | None, population: pd.DataFrame, lifetimes: BoolArray | None, what: str
    ) -> FailureLog:
        kept_events = self.events if events is None else self.events[events].reset_index(drop=True)
        kept_lives = self.lifetimes
        if kept_lives is not None and lifetimes is not None:
            kept_lives = kept_lives[lifetimes].reset_index(drop=True)
        source = replace(
            self.source,
            selection=(*self.source.selection, what),
            notes=self.source.notes_of(kept_events),
            rows_deselected=self.source.rows_deselected + len(self.events) - len(kept_events),
        )
        return replace(
            self, events=kept_events, population=population.reset_index(drop=True), lifetimes=kept_lives, source=source
        )

    def ttf(
        self,
        per: str = "node",
        *,
        censor: bool = True,
        origin: str = "failure",
        first: str = "known",
        overlaps: str = "merge",
        zeros: str = "apart",
        since: object = None,
        until: object = None,
        competing: str | None = None,
    ) -> LifeData:
        """Times to failure, with censoring, for every node, every system or every value of a column.

        Parameters
        ----------
        per : str
            ``"node"``, ``"system"``, any column of events or population, or ``"all"`` for the times of all nodes as one
            sample. Any other column takes the times between the pooled failures of its nodes (reliability-aware
            allocation, Figure 4.1); lifetimes without dates are pooled as a sample.
        censor : bool
            Count the time after the last failure as right-censored at the end of observation. ``False`` omits it, as
            the papers do, which biases the mean downwards.
        origin : {"failure", "repair"}
            Whether a time to failure runs from failure to failure, or from the end of an outage to the next failure.
        first : {"known", "always", "never"}
            The time before a group's first failure. ``"known"``: from age 0 if the group was installed when its
            observation began; otherwise in progress at an unknown age (``LifeData.stationary``). ``"always"``: from age
            0. ``"never"``: omitted. A node that never failed has one such time, censored.
        overlaps : {"merge", "ends", "keep"}
            Whether a record that begins while the same node is down belongs to that outage (``"merge"``, ``"ends"``) or
            is a failure of its own (``"keep"``). Where most records have no end, ``"merge"`` also joins those of one
            burst, ``"ends"`` does not.
        zeros : {"apart", "keep", "resolution"}
            Whether times of zero are only counted in ``counts``, or kept; ``"resolution"`` keeps them in groups where
            more than 5 % are zero and the clock's step is 5 % of the mean or more, as with dates only.
        since, until : str, datetime or pandas.Timestamp, optional
            Part of the observation. A time in progress at `since` is left-truncated at its age then, or of unknown age;
            one that lasted beyond `until` is censored there. In contrast to `between`, ages from before the period are
            known.
        competing : str, optional
            Column of events, such as ``cause``: one group per group and cause, in which other causes censor a time
            (competing risks).

        Returns
        -------
        LifeData
            Hours; ``counts`` has one column for each kind of row left out.

        Raises
        ------
        ArgumentError
            For an unknown option or column.

        Examples
        --------
        >>> import relfit as rf
        >>> rf.datasets.load("white").ttf(per="system").n_groups
        1
        """
        rules = Rules(censor, origin, first, overlaps, zeros, since, until)
        if competing is not None:
            return times_by_cause(self, competing, per, rules)
        return self._lives(times_to_failure, per, rules)

    def ttr(
        self,
        per: str = "node",
        *,
        censor: bool = True,
        overlaps: str = "merge",
        zeros: str = "apart",
        since: object = None,
        until: object = None,
    ) -> LifeData:
        """Times to repair: how long outages lasted, for every node, every system or every value of a column.

        Parameters
        ----------
        per : str
            ``"node"``, ``"system"``, any column of events or population, or ``"all"`` for one sample.
        censor : bool
            Count outages cut off by the start or the end of observation as right-censored, or omit them.
        overlaps, zeros, since, until
            As for `ttf`. So are the result, in hours, and the errors.

        Examples
        --------
        >>> import relfit as rf
        >>> rf.datasets.load("white").ttr(per="cause").n_groups
        5
        """
        rules = Rules(censor, overlaps=overlaps, zeros=zeros, since=since, until=until)
        return self._lives(times_to_repair, per, rules)

    def _lives(self, times: Callable[[Tables, str, Rules], Durations], per: str, rules: Rules) -> LifeData:
        if per == "all" and "all" not in self.attributes:
            return times(self, "node", rules).lives.pooled()
        return times(self, per, rules).lives

    def info(self) -> dict[str, Any]:
        """Counts of rows read, kept and rejected, and a summary of the log; ready for JSON."""
        rejected = self.rejections()["rows"]
        events, population = self.events, self.population
        return {
            "paths": list(self.source.paths),
            "format": self.source.format,
            "sha256": list(self.source.sha256),
            "rows_read": self.source.rows_read,
            "rows_kept": self.source.rows_kept,
            "rows_rejected": len(self.rejected),
            "rejected_by_reason": {str(k): int(v) for k, v in rejected.items()},
            "events": len(events),
            "events_without_node": int(events["node"].isna().sum()),
            "lifetimes": None if self.lifetimes is None else len(self.lifetimes),
            "systems": list(self.systems),
            "nodes": len(population),
            "nodes_declared": int(population["declared"].sum()),
            "nodes_entered_later": int((population["entered"] > self.window.start).sum()),
            "nodes_left_early": int((population["left"] < self.window.end).sum()),
            "nodes_without_failure": int((~pairs(population).isin(pairs(self._failed()))).sum()),
            "window": {
                "start": None if self.undated else _iso(self.window.start),
                "end": None if self.undated else _iso(self.window.end),
                "start_known": self.window.start_known,
                "end_known": self.window.end_known,
                "hours": None if self.undated else self.window.hours,
            },
            "timezone": self.source.timezone,
            "causes": {str(k): int(v) for k, v in events["cause"].value_counts().items() if v},
            "attributes": list(self.attributes),
            "selection": list(self.source.selection),
            "events_deselected": self.source.rows_deselected,
            "left_out": dict(self.source.left_out),
            "notes": [*hints(self), *self.source.notes],
            "funnel": dict(self.source.funnel),
            "rules": list(self.source.rules),
        }

    def rejections(self) -> pd.DataFrame:
        """Rejected rows by kind of reason, most frequent first: how many ``rows``, and the ``first_line``.

        Quotes from a row are replaced by ``...``, so that rows rejected for one reason are counted together.
        """
        kinds = self.rejected["reason"].astype(str).str.replace(r"'[^']*'|\"(?!,\")[^\"]*\"|\d+", "...", regex=True)
        lines = self.rejected["line"].groupby(kinds.rename("reason"), sort=False)
        table = pd.DataFrame({"rows": lines.size(), "first_line": lines.first()})
        return table.sort_values("rows", ascending=False, kind="stable")

    def _failed(self) -> pd.DataFrame:
        """One record of each node that failed."""
        lives = self.lifetimes
        records = self.events if lives is None else lives[lives["observed"].to_numpy(bool)]
        return records.iloc[first_of_pairs(pair_codes(records))]

    to_dict = info

    def to_frame(self) -> pd.DataFrame:
        """The events."""
        return self.events

    def __repr__(self) -> str:
        records = count(len(self.events), "event") if self.lifetimes is None else count(len(self.lifetimes), "lifetime")
        of = f"{records} of {count(len(self.population), 'node')}"
        dates = f"{self.window.start:%Y-%m-%d} to {self.window.end:%Y-%m-%d} {self.source.timezone}"
        omissions = self.source.omissions
        return (
            f"FailureLog ({self.source.format}): {of} in {count(len(self.systems), 'system')}, "
            f"{'without dates' if self.undated else dates}; "
            f"{count(self.source.rows_read, 'row')} read, "
            f"{', '.join([f'{self.source.rows_kept:,} kept', f'{len(self.rejected):,} rejected', *omissions])}"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.events.head(5).to_html(escape=True, index=False)}"


def _spellings(value: object) -> tuple[str, ...]:
    """The text of a value, and that of its whole number: 7.0 is 7, too."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(value), str(int(value))
    return (str(value),)


def _iso(stamp: pd.Timestamp) -> str | None:
    return None if pd.isna(stamp) else stamp.isoformat()
