"""Counts of what a log holds: events along time, by cause, by node and on the clock; what the event figures show.

Every record of the log counts as one event here, whatever its scope. Lives (`FailureLog.lives`) are derived by other
rules: there a record that begins while its node is already down belongs to the outage that is going on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.numeric.false_discovery import adjusted_p
from relfit.numeric.poisson import poisson_interval
from relfit.outages import watched_of

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog

__all__ = [
    "HOURS_PER_YEAR",
    "CauseTally",
    "ClockTally",
    "NodeTally",
    "TimeTally",
    "by_cause",
    "by_node",
    "on_the_clock",
    "over_time",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

HOURS_PER_YEAR = 8766.0
NOT_STATED = "not stated"
_UNITS = (  # longest span in days that is still shown in this unit, and pandas' name for its first day
    (4, "hour", "h"),
    (120, "day", "D"),
    (400, "week", "W-MON"),
    (1000, "month", "MS"),
    (8000, "quarter", "QS"),
    (float("inf"), "year", "YS"),
)


# ------------------------------------------------------------------- along time


@dataclass(frozen=True, eq=False)
class TimeTally:
    """Events in bins of time.

    Attributes
    ----------
    edges : pandas.DatetimeIndex, shape (bins + 1,)
        In the log's own time zone; the first and last are the ends of the window.
    counts : ndarray of int, shape (bins, causes)
    causes : tuple of str
        Most frequent first; rare ones are joined as "other causes".
    node_hours : ndarray of float, shape (bins,)
        Hours of observation, summed over the nodes.
    unit : str
        ``"hour"``, ``"day"``, ``"week"``, ``"month"``, ``"quarter"`` or ``"year"``.
    """

    edges: pd.DatetimeIndex
    counts: IntArray
    causes: tuple[str, ...]
    node_hours: FloatArray
    unit: str

    @property
    def total(self) -> IntArray:
        """Events in each bin."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.int64)

    def rate(self, level: float = 0.95) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Events per node-year in each bin with the exact Poisson interval; NaN where no node was watched."""
        years = np.where(self.node_hours > 0, self.node_hours / HOURS_PER_YEAR, np.nan)
        low, high = poisson_interval(self.total, level)
        return self.total / years, low / years, high / years

    def to_frame(self) -> pd.DataFrame:
        """A row a bin: its ends, events by cause, all events, node-hours, rate per node-year with interval."""
        rate, low, high = self.rate()
        table = pd.DataFrame({"from": self.edges[:-1], "to": self.edges[1:], "events": self.total})
        for number, cause in enumerate(self.causes):
            table[f"events: {cause}"] = self.counts[:, number]
        table["node_hours"] = self.node_hours
        table["events_per_node_year"], table["rate_low"], table["rate_high"] = rate, low, high
        return table

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "unit": self.unit,
            "edges": [edge.isoformat() for edge in self.edges],
            "causes": list(self.causes),
            "counts": self.counts.tolist(),
            "node_hours": self.node_hours.tolist(),
        }

    def plot(self, ax: Any = None) -> Any:
        """See `relfit.plotting.events_over_time`."""
        from relfit.plotting import events_over_time

        return events_over_time(self, ax)


def over_time(log: FailureLog, unit: str | None = None, most_causes: int = 6) -> TimeTally:
    """Count a log's events in calendar bins.

    Parameters
    ----------
    log : FailureLog
    unit : str, optional
        ``"hour"`` to ``"year"``; chosen by the length of the window when left out.
    most_causes : int
        Causes told apart; the others are joined.

    Examples
    --------
    >>> import relfit as rf
    >>> tally = over_time(rf.datasets.load("white"))
    >>> tally.unit, tally.total.size
    ('quarter', 17)
    """
    from relfit.errors import ArgumentError

    zone = log.source.timezone
    start, end = log.window.start, log.window.end
    if not _is_span(log):
        empty = pd.DatetimeIndex([], tz=zone)
        return TimeTally(empty, np.zeros((0, 0), np.int64), (), np.zeros(0), "day")
    days = (end - start) / pd.Timedelta(days=1)
    if unit is None:
        unit, frequency = next((name, code) for longest, name, code in _UNITS if days <= longest)
    else:
        codes = {name: code for _, name, code in _UNITS}
        if unit not in codes:
            raise ArgumentError(f"unknown unit {unit!r} of a bin", remedy=f"use one of {', '.join(codes)}")
        frequency = codes[unit]
    first, last = start.tz_convert(zone), end.tz_convert(zone)
    inner = pd.date_range(first.floor("D") if unit != "hour" else first.floor("h"), last, freq=frequency)
    inner = inner[(inner > first) & (inner < last)]
    edges = pd.DatetimeIndex([first, *inner, last]).as_unit("ns")
    bins = len(edges) - 1

    at = edges.tz_convert("UTC").astype("int64").to_numpy()
    when = log.events["start"].dt.tz_convert("UTC").astype("datetime64[ns, UTC]").astype("int64").to_numpy()
    row = np.searchsorted(at, when, side="right") - 1
    row[when == at[-1]] = bins - 1
    inside = (row >= 0) & (row < bins)
    code, causes = _causes(log.events["cause"], most_causes)
    counts = np.zeros((bins, max(len(causes), 1)), dtype=np.int64)
    np.add.at(counts, (row[inside], code[inside]), 1)

    hours = np.diff(watched_of(log).hours_until(at))
    return TimeTally(edges, counts, causes or (NOT_STATED,), hours, unit)


def _is_span(log: FailureLog) -> bool:
    return bool(pd.notna(log.window.start) and pd.notna(log.window.end) and log.window.start < log.window.end)


def hours_between(start: pd.Series, end: pd.Series) -> pd.Series:
    """Hours from `start` to `end`, NaN where one of them is unknown."""
    return (end - start).dt.total_seconds().astype(float) / 3600.0


def _causes(column: pd.Series, most: int) -> tuple[IntArray, tuple[str, ...]]:
    """Number of each event's cause, most frequent first, rare ones joined, missing ones last."""
    text = column.astype(object).where(column.notna(), NOT_STATED).astype(str)
    order = text.value_counts(sort=True)
    names = [name for name in order.index if name != NOT_STATED]
    joined = len(names) > most
    kept = names[: most - 1] if joined else names
    causes = [*kept, *(["other causes"] if joined else []), *([NOT_STATED] if NOT_STATED in order.index else [])]
    place = {name: number for number, name in enumerate(kept)} | {NOT_STATED: len(causes) - 1}
    codes = text.map(place).fillna(len(kept)).to_numpy(dtype=np.int64)
    return codes, tuple(causes)


# --------------------------------------------------------------------- by cause


@dataclass(frozen=True, eq=False)
class CauseTally:
    """Events and hours of outage by cause; `table` is indexed by cause, most frequent first."""

    table: pd.DataFrame
    stated: bool
    ends_known: bool

    def to_frame(self) -> pd.DataFrame:
        """A row a cause."""
        return self.table.reset_index()

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"stated": self.stated, "ends_known": self.ends_known, "causes": self.table.to_dict("index")}

    def plot(self, ax: Any = None) -> Any:
        """See `relfit.plotting.causes`."""
        from relfit.plotting import causes

        return causes(self, ax)


def by_cause(log: FailureLog) -> CauseTally:
    """Share of each cause in the events and in the hours of outage.

    A record's outage counts once, whether it stopped one node or the whole system; records without an end have none.

    Examples
    --------
    >>> import relfit as rf
    >>> by_cause(rf.datasets.load("white")).table.index[0]
    'hardware'
    """
    events = log.events
    cause = events["cause"].astype(object).where(events["cause"].notna(), NOT_STATED).astype(str)
    outage = hours_between(events["start"], events["end"])
    grouped = pd.DataFrame({"cause": cause, "outage": outage}).groupby("cause")["outage"]
    table = pd.DataFrame(
        {
            "events": grouped.size(),
            "events_share": grouped.size() / max(len(events), 1),
            "outage_hours": grouped.sum(),
            "outage_share": grouped.sum() / outage.sum() if outage.sum() > 0 else np.nan,
            "mean_outage_hours": grouped.mean(),
            "median_outage_hours": grouped.median(),
        }
    )
    table = table.sort_values(["events", "outage_hours"], ascending=False)
    table.index.name = "cause"
    return CauseTally(table, bool(events["cause"].notna().any()), bool(outage.notna().any()))


# ---------------------------------------------------------------------- by node


@dataclass(frozen=True, eq=False)
class NodeTally:
    """Events of every node against what equal nodes of the same system would have.

    `table` has a row a node, most events first: ``system``, ``node``, ``events``, ``hours`` under observation,
    ``expected`` (the system's events shared out by those hours), ``ratio``, ``p`` (exact Poisson probability of so
    many events or more) and ``p_adjusted`` (Benjamini-Hochberg over all nodes).
    """

    table: pd.DataFrame
    without_node: int

    def outlier_nodes(self, alpha: float = 0.01, ratio: float = 2.0) -> pd.DataFrame:
        """Nodes with far more events than equal nodes: adjusted p at most `alpha`, at least `ratio` times expected."""
        hit = (self.table["p_adjusted"] <= alpha) & (self.table["ratio"] >= ratio)
        return self.table[hit]

    def share_of_top(self, share: float = 0.1) -> tuple[int, float]:
        """How many nodes are the busiest `share` of them, and their share of the events."""
        count = max(round(share * len(self.table)), 1)
        total = int(self.table["events"].sum())
        return count, float(self.table["events"].iloc[:count].sum() / total) if total else 0.0

    def expected_histogram(self, most: int) -> FloatArray:
        """Nodes that would have 0, 1, ... `most` events if all nodes of a system were equal."""
        from scipy.stats import poisson

        means, nodes = np.unique(np.round(self.table["expected"].to_numpy(float), 3), return_counts=True)
        if means.size > 400:  # many different times under observation: 400 classes are finer than the eye
            edges = np.quantile(means, np.linspace(0, 1, 401))
            place = np.clip(np.searchsorted(edges, means, side="right") - 1, 0, 399)
            weight = np.bincount(place, nodes, minlength=400)
            total = np.bincount(place, nodes * means, minlength=400)
            means, nodes = total[weight > 0] / weight[weight > 0], weight[weight > 0]
        return np.asarray(nodes @ poisson.pmf(np.arange(most + 1)[None, :], means[:, None]), dtype=np.float64)

    def to_frame(self) -> pd.DataFrame:
        """A row a node."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"without_node": self.without_node, "nodes": self.table.to_dict("records")}

    def plot(self, ax: Any = None) -> Any:
        """See `relfit.plotting.failures_by_node`."""
        from relfit.plotting import failures_by_node

        return failures_by_node(self, ax)


def by_node(log: FailureLog) -> NodeTally:
    """Count the events of every node of the population.

    Where a log gives lives rather than events, a node's events are its lives that ended in a failure.

    Examples
    --------
    >>> import relfit as rf
    >>> tally = by_node(rf.datasets.load("white"))
    >>> len(tally.table), 0 < len(tally.outlier_nodes()) < 512
    (512, True)
    """
    from scipy.stats import poisson

    population = log.population
    nodes = _pairs(population)
    if log.lifetimes is None:
        records = log.events[log.events["node"].notna()]
        hours = hours_between(population["entered"], population["left"]).to_numpy(float)
    else:
        records = log.lifetimes[log.lifetimes["observed"].to_numpy(bool)]
        lived = pd.Series(log.lifetimes["duration"].to_numpy(float)).groupby(nodes.get_indexer(_pairs(log.lifetimes)))
        hours = lived.sum().reindex(range(len(nodes)), fill_value=0.0).to_numpy(float)
    place = nodes.get_indexer(_pairs(records))
    count = np.bincount(place[place >= 0], minlength=len(nodes))
    table = pd.DataFrame(
        {
            "system": population["system"].astype(str).to_numpy(),
            "node": population["node"].astype(str).to_numpy(),
            "events": count,
            "hours": np.maximum(hours, 0.0),
        }
    )
    total = table.groupby("system")[["events", "hours"]].transform("sum")
    rate = (total["events"] / total["hours"].where(total["hours"] > 0)).fillna(0.0)
    table["expected"] = rate * table["hours"]
    table["ratio"] = table["events"] / table["expected"].where(table["expected"] > 0)
    table["p"] = poisson.sf(table["events"] - 1, table["expected"])
    table["p_adjusted"] = adjusted_p(table["p"])
    table = table.sort_values("events", ascending=False, kind="stable", ignore_index=True)
    return NodeTally(table, int(log.events["node"].isna().sum()))


def _pairs(frame: pd.DataFrame) -> pd.MultiIndex:
    return pd.MultiIndex.from_arrays([frame["system"].astype(str), frame["node"].astype(str)])


# ----------------------------------------------------------------- on the clock


@dataclass(frozen=True, eq=False)
class ClockTally:
    """Events by hour of the day (24) and by day of the week (7, Monday first), and what an even spread would give."""

    hours: IntArray
    weekdays: IntArray
    expected_hours: FloatArray
    expected_weekdays: FloatArray
    timezone: str

    def to_frame(self) -> pd.DataFrame:
        """A row an hour, then a row a weekday."""
        names = [f"{hour:02d}:00-{hour + 1:02d}:00" for hour in range(24)]
        return pd.DataFrame(
            {
                "when": [*names, *WEEKDAYS],
                "events": [*self.hours, *self.weekdays],
                "evenly_spread": [*self.expected_hours, *self.expected_weekdays],
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"timezone": self.timezone, "hours": self.hours.tolist(), "weekdays": self.weekdays.tolist()}

    def plot(self, ax: Any = None) -> Any:
        """See `relfit.plotting.hour_of_day`."""
        from relfit.plotting import hour_of_day

        return hour_of_day(self, ax)


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def on_the_clock(log: FailureLog) -> ClockTally:
    """Count events by hour of the day and day of the week, on the clocks of the log's time zone.

    Examples
    --------
    >>> import relfit as rf
    >>> tally = on_the_clock(rf.datasets.load("white"))
    >>> tally.hours.size, int(tally.hours.sum()) == int(tally.weekdays.sum())
    (24, True)
    """
    zone = log.source.timezone
    local = log.events["start"].dt.tz_convert(zone)
    hours = np.bincount(local.dt.hour.to_numpy(dtype=np.int64), minlength=24)
    weekdays = np.bincount(local.dt.day_of_week.to_numpy(dtype=np.int64), minlength=7)
    observed = np.ones(7)
    if _is_span(log):
        days = pd.date_range(log.window.start.tz_convert(zone).normalize(), log.window.end.tz_convert(zone), freq="D")
        observed = np.bincount(days.day_of_week.to_numpy(), minlength=7).astype(float)
    total = len(local)
    return ClockTally(hours, weekdays, np.full(24, total / 24.0), total * observed / observed.sum(), zone)
