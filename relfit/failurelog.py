"""`FailureLog`: the validated events of a fleet, who was under observation when, and the rows that were rejected."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from relfit.errors import ArgumentError, DataError
from relfit.lifedata import LifeData
from relfit.outages import competing_lives, lives_of_log
from relfit.units import instant

__all__ = [
    "EVENT_COLUMNS",
    "LIFETIME_COLUMNS",
    "POPULATION_COLUMNS",
    "REJECTED_COLUMNS",
    "FailureLog",
    "Source",
    "Window",
]

EVENT_COLUMNS = ("system", "node", "start", "end", "cause", "detail", "scope", "start_cut", "end_cut", "line")
POPULATION_COLUMNS = ("system", "node", "entered", "left", "entered_known", "left_known", "declared")
LIFETIME_COLUMNS = ("system", "node", "duration", "observed", "line")
REJECTED_COLUMNS = ("file", "line", "column", "reason", "text")
_NOT_AN_ATTRIBUTE = {*EVENT_COLUMNS, *POPULATION_COLUMNS, *LIFETIME_COLUMNS}


@dataclass(frozen=True)
class Window:
    """The time during which failures would have been recorded, in UTC.

    ``start_known`` and ``end_known`` say whether that end was declared (by the log or the user) or is only the first
    or last instant seen in the log.
    """

    start: pd.Timestamp
    end: pd.Timestamp
    start_known: bool = False
    end_known: bool = False

    @property
    def hours(self) -> float:
        """Length in hours."""
        return float((self.end - self.start) / pd.Timedelta(hours=1))


@dataclass(frozen=True)
class Source:
    """Where a log came from and what became of its rows: ``rows_read = rows_kept + rows rejected``."""

    paths: tuple[str, ...] = ()
    format: str = "memory"
    rows_read: int = 0
    rows_kept: int = 0
    sha256: tuple[str, ...] = ()
    timezone: str = "UTC"
    notes: tuple[str, ...] = ()
    selection: tuple[str, ...] = ()
    rows_deselected: int = 0


@dataclass(frozen=True, eq=False)
class FailureLog:
    """The events of a fleet.

    Parameters
    ----------
    events : pandas.DataFrame
        One row an outage or failure. Columns ``system``, ``node`` (text; missing where the record names no node),
        ``start``, ``end`` (UTC; ``end`` is NaT where unknown), ``cause``, ``detail``, ``scope`` (``"node"``,
        ``"group"``, ``"system"``), ``start_cut`` and ``end_cut`` (the outage was already, or still, going on when
        observation began or ended), ``line`` (in the source), then any attributes.
    population : pandas.DataFrame
        One row a node: ``system``, ``node``, ``entered``, ``left`` (UTC), ``entered_known``, ``left_known``,
        ``declared`` (the source lists the node; otherwise it is known from its events only), then attributes.
    window : Window
        The time of observation.
    rejected : pandas.DataFrame
        Rows that could not be used: ``file``, ``line``, ``column``, ``reason``, ``text``.
    source : Source
        Files, format, counts, notes.
    lifetimes : pandas.DataFrame, optional
        For sources that give lives rather than events: ``system``, ``node``, ``duration`` (hours), ``observed``,
        ``line``, then attributes. Where present, times to failure come from here.

    Raises
    ------
    DataError
        When a required column is missing.
    """

    events: pd.DataFrame
    population: pd.DataFrame
    window: Window
    rejected: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(REJECTED_COLUMNS)))
    source: Source = field(default_factory=Source)
    lifetimes: pd.DataFrame | None = None

    def __post_init__(self) -> None:
        needed: list[tuple[str, pd.DataFrame | None, tuple[str, ...]]] = [
            ("events", self.events, EVENT_COLUMNS),
            ("population", self.population, POPULATION_COLUMNS),
            ("rejected", self.rejected, REJECTED_COLUMNS),
            ("lifetimes", self.lifetimes, LIFETIME_COLUMNS),
        ]
        for name, frame, columns in needed:
            missing = [] if frame is None else [c for c in columns if c not in frame.columns]
            if missing:
                raise DataError(f"{name} of a FailureLog has no column {missing[0]!r}")

    # ----------------------------------------------------------------- reading

    @property
    def attributes(self) -> tuple[str, ...]:
        """Columns beyond the standard ones, in events, population and lifetimes."""
        frames = [self.events, self.population] + ([] if self.lifetimes is None else [self.lifetimes])
        names = dict.fromkeys(str(c) for f in frames for c in f.columns if c not in _NOT_AN_ATTRIBUTE)
        return tuple(names)

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems, sorted (numbers by value)."""
        names = pd.concat([frame["system"].dropna().astype(str) for _, frame in self._tables()])
        return tuple(sorted(names.unique(), key=natural_key))

    @property
    def n_nodes(self) -> int:
        """Nodes in the population."""
        return len(self.population)

    def __len__(self) -> int:
        return len(self.events)

    # --------------------------------------------------------------- selecting

    def where(self, conditions: Mapping[str, Any] | None = None, /, **columns: Any) -> FailureLog:
        """The part of the log with these values.

        A condition on a column of the population selects nodes with all they did, and narrows the window to the time
        when they were there; one on a column that only events have (``cause``) selects events and leaves the rest.

        Parameters
        ----------
        conditions, **columns : value or collection of values
            Compared as text, so ``system=20`` and ``system="20"`` are one. ``None`` selects missing values.

        Raises
        ------
        ArgumentError
            For a column that is not there, or a value that selects nothing.

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

    def _where_one(self, column: str, wanted: Any) -> FailureLog:
        single = wanted is None or isinstance(wanted, (str, bytes)) or not isinstance(wanted, Iterable)
        values = [wanted] if single else list(wanted)
        text = {str(v) for v in values if v is not None}
        missing = any(v is None for v in values)

        def hit(series: pd.Series) -> np.ndarray[Any, np.dtype[np.bool_]]:
            if isinstance(series.dtype, pd.CategoricalDtype):
                categories = np.array([str(c) in text for c in series.cat.categories], dtype=bool)
                codes = series.cat.codes.to_numpy()
                found = np.where(codes >= 0, categories[codes] if categories.size else False, False)
            else:
                found = series.astype(str).isin(text).to_numpy() & series.notna().to_numpy()
            return np.asarray(found | (series.isna().to_numpy() if missing else False), dtype=np.bool_)

        places = [n for n, f in self._tables() if column in f.columns]
        if column == "line" or not places:
            known = dict.fromkeys(str(c) for _, f in self._tables() for c in f.columns if c != "line")
            raise ArgumentError(f"no column {column!r} in this log", remedy=f"it has {', '.join(known)}")
        tables = dict(self._tables())
        chosen = {name: hit(tables[name][column]) for name in places}
        if not any(mask.any() for mask in chosen.values()):
            present = pd.concat([tables[n][column].astype(str) for n in places]).unique()[:8]
            raise ArgumentError(
                f"nothing in this log has {column}={wanted!r}", remedy=f"there is {', '.join(map(str, present))}"
            )
        population = self.population
        if "population" in chosen:
            population = population[chosen["population"]]
            kept = _pairs(population)
            for name, frame in self._tables():
                if name in ("events", "lifetimes") and name not in chosen:
                    chosen[name] = np.asarray(_pairs(frame).isin(kept))
        part = self._cut(
            chosen.get("events"), population, chosen.get("lifetimes"), f"{column}={','.join(sorted(text)) or 'missing'}"
        )
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
        )

    def between(self, since: Any = None, until: Any = None) -> FailureLog:
        """The log as observed from `since` to `until`.

        Failures that began outside are left out (one that began at `until` is outside, so that adjoining periods add up),
        nodes that were not there are too, and the window is narrowed. An
        outage that was going on at `since` is kept and marked ``start_cut``; one still going on at `until` is
        shortened and marked ``end_cut``. Sources that give lives without dates cannot be cut.

        Parameters
        ----------
        since, until : str, datetime or pandas.Timestamp, optional
            Without a time zone they are local to the log's own.

        Raises
        ------
        ArgumentError
            When nothing is left, or the log has lives without dates.
        """
        if since is None and until is None:
            return self
        if self.lifetimes is not None:
            raise ArgumentError(
                "this log holds whole lives and cannot be cut in time", remedy="leave out since and until"
            )
        zone = self.source.timezone
        first = self.window.start if since is None else max(instant(since, zone), self.window.start)
        last = self.window.end if until is None else min(instant(until, zone), self.window.end)
        if not first < last:
            raise ArgumentError(
                f"nothing was observed from {since} to {until}",
                remedy=f"the log covers {self.window.start:%Y-%m-%d} to {self.window.end:%Y-%m-%d}",
            )
        events = self.events
        end = events["end"].fillna(events["start"])
        running = (events["start"] < first) & (end > first)
        # what begins at `until` belongs to the next period; what begins at the log's own end has no next one
        before_last = events["start"] < last if last < self.window.end else events["start"] <= last
        keep = ((events["start"] >= first) | running) & before_last
        population = self.population
        there = (population["entered"] < last) & (population["left"] > first)
        population = population[there].copy()
        earlier = population["entered"] < first
        later = population["left"] > last
        population.loc[earlier, "entered"] = first
        population.loc[earlier, "entered_known"] = True
        population.loc[later, "left"] = last
        population.loc[later, "left_known"] = True
        part = self._cut(keep.to_numpy(), population, None, f"from {first.isoformat()} to {last.isoformat()}")
        cut = part.events.copy()
        before, after = cut["start"] < first, cut["end"] > last
        cut.loc[before, "start_cut"] = True
        cut.loc[before, "start"] = first
        cut.loc[after, "end_cut"] = True
        cut.loc[after, "end"] = last
        window = Window(
            first,
            last,
            self.window.start_known or first > self.window.start,
            self.window.end_known or last < self.window.end,
        )
        return replace(part, events=cut, window=window)

    def _tables(self) -> list[tuple[str, pd.DataFrame]]:
        tables = [("events", self.events), ("population", self.population)]
        return tables if self.lifetimes is None else [*tables, ("lifetimes", self.lifetimes)]

    def _cut(self, events: Any, population: pd.DataFrame, lifetimes: Any, what: str) -> FailureLog:
        kept_events = self.events if events is None else self.events[events].reset_index(drop=True)
        kept_lives = self.lifetimes
        if kept_lives is not None and lifetimes is not None:
            kept_lives = kept_lives[lifetimes].reset_index(drop=True)
        source = replace(
            self.source,
            selection=(*self.source.selection, what),
            rows_deselected=self.source.rows_deselected + len(self.events) - len(kept_events),
        )
        return replace(
            self, events=kept_events, population=population.reset_index(drop=True), lifetimes=kept_lives, source=source
        )

    # ------------------------------------------------------------------- lives

    def ttf(
        self,
        per: str = "node",
        *,
        censor: bool = True,
        origin: str = "failure",
        first: str = "known",
        overlaps: str = "merge",
        zeros: str = "apart",
        since: Any = None,
        until: Any = None,
        competing: str | None = None,
    ) -> LifeData:
        """Times to failure, with censoring, for every node, every system or every value of a column.

        Parameters
        ----------
        per : str
            ``"node"``, ``"system"`` or any column of events or population. Anything but a node pools the failure
            instants of its nodes, sorts and differences them (reliability-aware allocation, Figure 4.1); lifetimes that
            the source gives whole are pooled as a sample.
        censor : bool
            Count the time after the last failure as right-censored at the end of observation. ``False`` leaves it out,
            as the papers do, which biases the mean low.
        origin : {"failure", "repair"}
            Whether a time to failure runs from failure to failure, or from the end of an outage to the next failure.
        first : {"known", "always", "never"}
            Whether the time before a group's first failure counts: where its beginning is known, always, or never.
            A node that never failed is one such censored time.
        overlaps : {"merge", "keep"}
            A record that begins while the same node is already down is part of that outage, or a failure of its own.
        zeros : {"apart", "keep"}
            Times of length zero are counted apart in ``counts``, or kept.
        since, until : str, datetime or pandas.Timestamp, optional
            Times as they were seen in this part of the observation. One under way at `since` enters at the age it
            had then (left truncation), one that lasted beyond `until` is censored there; so a period uses what is known
            from before it, where `between` starts afresh.
        competing : str, optional
            Column of events, such as ``cause``: a group for every group and cause, in which only failures of that
            cause end a time and the others censor it (competing risks).

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
        rules: dict[str, Any] = {
            "censor": censor, "origin": origin, "first": first, "overlaps": overlaps, "zeros": zeros, "since": since,
            "until": until,
        }  # fmt: skip
        if competing is not None:
            return competing_lives(self, competing, per, **rules)
        return lives_of_log(self, "ttf", per, **rules)

    def ttr(
        self,
        per: str = "node",
        *,
        censor: bool = True,
        overlaps: str = "merge",
        zeros: str = "apart",
        since: Any = None,
        until: Any = None,
    ) -> LifeData:
        """Times to repair: how long outages lasted, for every node, every system or every value of a column.

        Parameters
        ----------
        per : str
            ``"node"``, ``"system"`` or any column of events or population.
        censor : bool
            Count outages that were cut off by the end of observation as right-censored, or leave them out.
        overlaps, zeros, since, until
            As for `ttf`.

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
        >>> rf.datasets.load("white").ttr(per="cause").n_groups
        5
        """
        return lives_of_log(
            self, "ttr", per, censor=censor, origin="failure", first="known", overlaps=overlaps, zeros=zeros,
            since=since, until=until,
        )  # fmt: skip

    # ----------------------------------------------------------------- showing

    def info(self) -> dict[str, Any]:
        """What was read, kept and rejected, and what the log holds; ready for JSON."""
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
            "nodes_without_failure": int((~_pairs(population).isin(self._failed_pairs())).sum()),
            "window": {
                "start": _iso(self.window.start),
                "end": _iso(self.window.end),
                "start_known": self.window.start_known,
                "end_known": self.window.end_known,
                "hours": self.window.hours,
            },
            "timezone": self.source.timezone,
            "causes": {str(k): int(v) for k, v in events["cause"].value_counts().items() if v},
            "attributes": list(self.attributes),
            "selection": list(self.source.selection),
            "events_deselected": self.source.rows_deselected,
            "notes": list(self.source.notes),
        }

    def rejections(self) -> pd.DataFrame:
        """Rejected rows by kind of reason, most frequent first: how many ``rows``, and the ``first_line``.

        What a reason quotes from its row gives way to ``...``, so that rows rejected alike are one kind.
        """
        kinds = self.rejected["reason"].astype(str).str.replace(r"'[^']*'|\"[^\"]*\"|\d+", "...", regex=True)
        lines = self.rejected["line"].groupby(kinds.rename("reason"), sort=False)
        table = pd.DataFrame({"rows": lines.size(), "first_line": lines.first()})
        return table.sort_values("rows", ascending=False, kind="stable")

    def _failed_pairs(self) -> pd.Index:
        if self.lifetimes is not None:
            return _pairs(self.lifetimes[self.lifetimes["observed"].to_numpy(bool)])
        return _pairs(self.events)

    to_dict = info

    def to_frame(self) -> pd.DataFrame:
        """The events."""
        return self.events

    def __repr__(self) -> str:
        systems = "1 system" if len(self.systems) == 1 else f"{len(self.systems)} systems"
        return (
            f"FailureLog ({self.source.format}): {len(self.events)} events of {len(self.population)} nodes in "
            f"{systems}, {self.window.start:%Y-%m-%d} to {self.window.end:%Y-%m-%d} UTC; "
            f"{self.source.rows_read} rows read, {self.source.rows_kept} kept, {len(self.rejected)} rejected"
        )

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self))}</p>{self.events.head(5).to_html(escape=True, index=False)}"


def _pairs(frame: pd.DataFrame) -> pd.Index:
    return pd.MultiIndex.from_arrays([frame["system"].astype(object), frame["node"].astype(object)])


def _iso(stamp: pd.Timestamp) -> str | None:
    return None if pd.isna(stamp) else stamp.isoformat()


def natural_key(text: str) -> tuple[int, float, str]:
    """Sorting key that puts numbers first and by value.

    Examples
    --------
    >>> sorted(["10", "9", "a"], key=natural_key)
    ['9', '10', 'a']
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    return (1, 0.0, text) if math.isnan(number) else (0, number, text)
