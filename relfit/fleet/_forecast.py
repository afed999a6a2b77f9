"""`forecast`: future failures, repairs and spare parts, with prediction intervals."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd

from relfit.analyses.screening import incidents
from relfit.base.arguments import random_stream, share, whole
from relfit.base.arrays import Durations, FloatArray, IntArray
from relfit.base.errors import ArgumentError, DataError, Remedy
from relfit.base.numeric.levels import level_checked
from relfit.base.results import Result
from relfit.base.text import count, duration, number, percent
from relfit.fleet._chosen_period import ChosenPeriod, chosen_period
from relfit.fleet.node_years import by_node_year, nodes_in_service
from relfit.fleet.now import LONG_RUN, NOW, checked_at, checked_horizons
from relfit.fleet.spare_parts import needs_part
from relfit.fleet.system_ahead import Future, SystemAhead, other_causes, quantities, split, summed, with_repairs
from relfit.log.failurelog import FailureLog, Window
from relfit.log.outages import records_counted
from relfit.log.tables import made_once

_LONGEST = 10.0  # longest horizon, relative to the part of the log used
_WHOLE = "whole system"
_MANY_CAUSES = 200
_BINS = 24  # of the history, at most
_CAUSES = 5  # in the compact table
_DAY, _WEEK = 24.0, 168.0  # hours


@made_once
def forecast(
    log: FailureLog,
    horizons: Durations = ("30d", "90d"),
    *,
    at: str = NOW,
    period: str | tuple[object, object] | ChosenPeriod | None = None,
    by: str = "cause",
    group: str | None = None,
    service: float = 0.95,
    level: float = 0.95,
    n_draws: int = 4000,
    rng: int | np.random.Generator | None = 0,
) -> Forecast:
    """Forecast failures, hours of repair and spare parts after the end of a log.

    Parameters
    ----------
    log : FailureLog
        With dated events. Several systems are forecast separately.
    horizons : duration, or sequence of these
        Time ahead from the end of the log: hours, or text such as "30d".
    at : {"now", "long run"}
        Whether rates are current, or means of a period; for the nodes at the end of the log in both cases.
    period : {"stable", "all"}, tuple or ChosenPeriod, optional
        The part of the log to use, as for `relfit.fleet_model`; by default all of it for ``now``, the stable period for
        ``long run``.
    by : str
        Column of events with the kind of a failure.
    group : str, optional
        Attribute with the rack of a node; rack, frame, cabinet or chassis by default.
    service : float
        Probability that the stock of parts lasts for the horizon, with one part per failure.
    level : float
        Level of the prediction intervals.
    n_draws : int
        Number of simulated futures, 100 or more: for racks, repairs of causes, and sums of several systems. The other
        intervals and the stocks are exact quantiles of the predicted distribution.
    rng : int or numpy.random.Generator

    Raises
    ------
    ArgumentError
        For a log of lifetimes without dates, an unknown column, period or `at`, a level or service outside 0..1, or a
        horizon that is below an hour or over ten times as long as the part of the log used.
    DataError
        If no node was under observation at the end of the log, or there is no failure.

    Notes
    -----
    Daily counts are predicted by means of the past: discounted with half-lives from 5 days to infinity, and of the last
    90 and 180 days, each with several sizes of scatter. Every ten days of the past they are scored against the outcome,
    over ten days and over the horizon, and mixed accordingly. At a constant rate the mean of all the past dominates, at
    a changing rate the recent means. Past errors set the width of the intervals. The shares of racks and causes follow
    their own records.

    Examples
    --------
    >>> import relfit as rf
    >>> ahead = rf.forecast(rf.datasets.load("white"), "30d", n_draws=500)
    >>> row = ahead.total.iloc[0]
    >>> bool(row["failures_low"] < row["failures"] < row["failures_high"])
    True
    """
    if log.lifetimes is not None and not len(log.events):
        remedy = Remedy(
            "predict from the ages of those that run: rf.fit(log.ttf('all'))['weibull'].failures_ahead('90d')",
            "relfit fit LOG --ahead 90d predicts from the ages of those that run",
        )
        raise ArgumentError("this log holds lifetimes of units, no failures one after another", remedy=remedy)
    level_checked(level)
    share("service", service, zero=False, one=False)
    if by not in log.events.columns or by in ("start", "end", "line", "start_cut", "end_cut"):
        raise _no_column(log, by)
    long_run = checked_at(at) == LONG_RUN
    every = checked_horizons(horizons)
    generator = random_stream(rng)
    parts, left_out = [], []
    size = int(whole("n_draws", n_draws, least=100))
    several = len(log.systems) > 1
    for name in log.systems or ("",):
        one = log.where(system=name) if several else log
        if one.window.end < log.window.end and one.n_nodes and one.window.end_known:
            left_out.append(f"{name} (not observed since {one.window.end:%Y-%m-%d})")
            continue
        try:
            span = period if period is not None else "stable" if long_run else "all"
            used = span if isinstance(span, ChosenPeriod) else chosen_period(one, span)
            until = one if long_run else None
            parts.append(_System.of(used.log, name, every, by, group, until, size, generator.spawn(1)[0]))
        except DataError as error:
            if not several:
                raise
            left_out.append(f"{name} ({error})")
    if not parts:
        raise DataError(f"nothing to forecast: {'; '.join(left_out)}", remedy="give a log that ends with nodes in use")
    tail = (0.5 - level / 2.0, 0.5 + level / 2.0)
    table = pd.concat([_rows(parts, i, hours, tail, service, by) for i, hours in enumerate(every)], ignore_index=True)
    end = max(part.ahead.until.window.end for part in parts)
    about = parts[0].ahead.joined.group, by, service, level, end, pd.DataFrame([_basis(part) for part in parts])
    history = _history(log, {part.name for part in parts}, end, every[0])
    others = other_causes({hours: _of_causes(parts, i) for i, hours in enumerate(every)}, tail)
    return Forecast(table, tuple(every), *about, tuple(left_out), history, others)


def _no_column(log: FailureLog, by: str) -> ArgumentError:
    what = f"the events of this log have no column {by!r}"
    if by not in log.attributes or by not in log.population.columns:
        return ArgumentError(what, remedy="use cause, or another of its columns")
    return ArgumentError(f"{what}, nodes have it", remedy=Remedy(f"give group={by!r}", f"give --group {quote(by)}"))


class Forecast(Result):
    """Expected failures, repairs and parts, with prediction intervals; made by `relfit.forecast`.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per horizon, ``of`` (``all``, ``system``, the group such as ``rack``, the column of causes) and
        ``name``: ``incidents``, ``failures`` (records of the log; a burst of one node is one) and ``repair_hours``
        (failures times the mean repair over the horizon), each expected and with ``_low`` and ``_high``; ``stock``, in
        rows of causes: parts that last for the horizon with probability `service`, one per failure; none for causes
        that need no part (software, people, unknown).
    horizons : tuple of float
        Hours from `start`.
    group : str or None
        Attribute of racks.
    by : str
        Column of causes.
    service, level : float
        Probability that the stock lasts; level of the intervals.
    start : pandas.Timestamp
        End of observation, where the forecast starts.
    basis : pandas.DataFrame
        One row per system: ``system``, ``since`` and ``until`` (the part of the log used), ``a_week`` (incidents per
        week expected over the last horizon), ``a_week_before`` (mean incidents per week in that part), ``gone`` (nodes
        not under observation at `start`), ``nodes`` (in service then) and ``nodes_before`` (on average in that part).
    left_out : tuple of str
        Systems without a forecast, and why.
    history : pandas.DataFrame
        ``start`` and ``failures`` of at most 24 bins before `start`, each as long as the first horizon.
    others : pandas.DataFrame
        The causes beside the most frequent ones together, by ``horizon`` and the number of these, ``beside``: their
        expected values added, with intervals of their simulated futures added.
    """

    table: pd.DataFrame
    horizons: tuple[float, ...]
    group: str | None
    by: str
    service: float
    level: float
    start: pd.Timestamp
    basis: pd.DataFrame
    left_out: tuple[str, ...]
    history: pd.DataFrame
    others: pd.DataFrame

    _not_in_json = ("others",)
    _frame = "table"

    @property
    def headline(self) -> str:
        """Expected failures over each horizon."""
        parts = []
        for hours, row in zip(self.horizons, self.total.to_dict("records"), strict=True):
            parts.append(
                f"{number(row['failures'])} failures ({number(row['failures_low'])}-{number(row['failures_high'])}) "
                f"in {_days(hours)}"
            )
        return f"Expect {', '.join(parts)} from {self.start:%Y-%m-%d} on; {percent(self.level)} prediction intervals."

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, the stock of parts, the incidents per week, and what was left out."""
        out = tuple(f"Left out: {text}." for text in self.left_out)
        return (self.headline, self.stock_headline, *self.notes, *out)

    @property
    def notes(self) -> tuple[str, ...]:
        """Incidents per week, and nodes left out."""
        basis = self.basis
        first, single = basis.iloc[0], len(basis) == 1
        if single:
            nodes = (float(first["nodes"]), float(first["nodes_before"]))
            listed = int(first["gone"] + first["nodes"]) if np.isfinite(nodes[0]) else 0
            per_node = by_node_year(float(first["a_week"]), float(first["a_week_before"]), nodes, listed)
            earlier = f" to {first['until']:%Y-%m-%d}" if first["until"] < self.start else ""
            out = [
                f"As of {self.start:%Y-%m-%d}: {number(float(first['a_week']))} incidents a week; "
                f"{number(float(first['a_week_before']))} a week {'' if earlier else 'since '}"
                f"{first['since']:%Y-%m-%d}{earlier}{per_node}."
            ]
        else:
            out = [f"Each of {len(basis)} systems has a forecast of its own."]
        gone = int(basis["gone"].sum())
        if gone:
            out.append(f"{count(gone, 'node')} not under observation at the end left out.")
        return tuple(out)

    @property
    def stock_headline(self) -> str:
        """Parts for the cause with the most failures over the first horizon."""
        causes = self.by_cause[(self.by_cause["horizon"] == self.horizons[0]) & self.by_cause["stock"].notna()]
        if not len(causes):
            return "No cause takes a part from stock."
        first = causes.sort_values("failures", ascending=False, kind="stable").iloc[0]
        return (
            f"Of these, {_shown(first, 'failures')} in {_days(self.horizons[0])} are {first['name']}: "
            f"a stock of {count(int(first['stock']), 'part')} lasts with probability {percent(self.service)}, at one "
            "per failure."
        )

    def _of(self, kind: str | None) -> pd.DataFrame:
        return self.table[self.table["of"] == kind].drop(columns="of").reset_index(drop=True)

    @property
    def total(self) -> pd.DataFrame:
        """One row per horizon: all systems together."""
        return self._of("all").drop(columns="name")

    @property
    def by_system(self) -> pd.DataFrame:
        """One row per horizon and system."""
        return self._of("system")

    @property
    def by_group(self) -> pd.DataFrame:
        """One row per horizon and rack, and one for failures of the whole system; empty without racks."""
        return self._of(self.group)

    @property
    def by_cause(self) -> pd.DataFrame:
        """One row per horizon and cause."""
        return self._of(self.by)

    def others_beside(self, most: int) -> pd.DataFrame:
        """One row per horizon: all causes but the `most` frequent together; empty where fewer than two are left."""
        rows = self.others[self.others["beside"] == most].drop(columns="beside")
        return rows.assign(name=f"other {self.by if self.by == 'cause' else 'value'}s").reset_index(drop=True)

    def compact(self) -> pd.DataFrame:
        """All failures, those of the five most frequent causes and of the others, as text for a page.

        Returns
        -------
        pandas.DataFrame
            Rows ``all failures``, the causes, ``other causes``, and ``hours of repair``; one column per horizon with
            text such as ``158 (121-204)``, and ``stock`` of the causes for the last horizon.
        """
        longest = self.by_cause[self.by_cause["horizon"] == self.horizons[-1]]
        others = self.others_beside(_CAUSES)
        names = longest.sort_values("failures", ascending=False, kind="stable")["name"].tolist()
        names = names[:_CAUSES] if len(others) else names
        columns: dict[str, dict[str, str]] = {}
        for hours in self.horizons:
            all_ = self.total[self.total["horizon"] == hours].iloc[0]
            cause = self.by_cause[self.by_cause["horizon"] == hours].set_index("name")
            rows = {"all failures": _shown(all_, "failures")}
            rows |= {str(name): _shown(cause.loc[name], "failures") for name in names}
            rest = others[others["horizon"] == hours]
            rows |= {str(row["name"]): _shown(row, "failures") for _, row in rest.iterrows()}
            columns[f"next {_days(hours)}"] = {**rows, "hours of repair": _shown(all_, "repair_hours")}
        table = pd.DataFrame(columns)
        stock = longest.set_index("name")["stock"]
        table["stock"] = [f"{int(stock[name]):,}" if pd.notna(stock.get(name)) else "" for name in table.index]
        return table.rename_axis("of")


def _shown(row: pd.Series, name: str) -> str:
    return f"{number(row[name])} ({number(row[f'{name}_low'])}-{number(row[f'{name}_high'])})"


def _days(hours: float) -> str:
    return count(round(hours / 24.0), "day") if hours >= 72.0 and hours % 24.0 == 0.0 else duration(hours)


@dataclass(frozen=True, eq=False)
class _System:
    """One system of the log, and its forecast for each horizon: in total, by rack and by cause."""

    name: str
    ahead: SystemAhead
    whole: list[Future]
    racks: list[list[Future]]
    causes: list[list[Future]]
    longest: float

    @classmethod
    def of(
        cls,
        log: FailureLog,
        name: str,
        horizons: list[float],
        by: str,
        group: str | None,
        until: FailureLog | None,
        size: int,
        rng: np.random.Generator,
    ) -> _System:
        longest = max(horizons)
        if longest > _LONGEST * log.window.hours:
            what = f"{_days(longest)} ahead is too far for a log of {duration(log.window.hours)}"
            raise ArgumentError(what, remedy=f"give at most {duration(_LONGEST * log.window.hours)}")
        joined, width = incidents(log, group=group), min(_DAY, *horizons)
        later = until if until is not None and until.window.end > log.window.end else None
        ahead = SystemAhead(log, joined, by, width, until is not None, later)
        if len(ahead.causes[0]) > _MANY_CAUSES:
            what = f"column {by!r} has {len(ahead.causes[0])} values"
            raise ArgumentError(what, remedy="give one with fewer, as cause")

        def parted(code: IntArray, number: int) -> tuple[FloatArray, FloatArray]:
            return ahead.incidents_per_record(code, number), ahead.longer(code, number)

        seed = int(rng.integers(2**62))
        of_causes = parted(ahead.causes[1], len(ahead.causes[0]))
        racked = bool(ahead.racks[0]) and ahead.joined.group != by
        if racked:
            share, rates = ahead.shares_of_racks()
            of_racks = parted(np.where(ahead.racks[1] < 0, len(ahead.racks[0]), ahead.racks[1]), share.size)
        one = cls(name, ahead, [], [], [], horizons[-1])
        for hours in horizons:  # random numbers of a horizon are the same with and without others
            stream = np.random.default_rng([seed, round(hours * 3600.0)])
            future = ahead.futures(hours, size, stream)
            causes = ahead.of_causes(hours, size, future[1].expected, stream)
            one.whole.append(future)
            one.causes.append(with_repairs(future, causes, *of_causes))
            racks = with_repairs(future, split(future[1], share, rates, stream), *of_racks) if racked else []
            one.racks.append(racks)
        return one


def _history(log: FailureLog, systems: set[str], end: pd.Timestamp, width: float) -> pd.DataFrame:
    """Records of the systems in bins of `width` hours that end with `end`."""
    number = int(np.clip((end - log.window.start) / pd.Timedelta(hours=width), 1, _BINS))
    edges = [end - pd.Timedelta(hours=width * (number - i)) for i in range(number + 1)]
    mine = log.events[log.events["system"].isin(systems) & records_counted(log)]
    at = pd.DatetimeIndex(edges).searchsorted(pd.DatetimeIndex(mine["start"]), side="right") - 1
    counts = np.bincount(at[(at >= 0) & (at < number)], minlength=number)
    return pd.DataFrame({"start": edges[:-1], "failures": counts})


def _basis(part: _System) -> dict[str, Any]:
    """The row of `Forecast.basis` of a system."""
    ahead, window = part.ahead, part.ahead.log.window
    since, first = window.start, pd.Timestamp(int(ahead.steps.edges[0]), tz=window.start.tz)
    if (first - since) / pd.Timedelta(hours=ahead.steps.width) >= 1.0:  # short steps do not reach back to the start
        since = first
    nodes = nodes_in_service(ahead.until, Window(since, window.end))
    inside = int(ahead.joined.table["start"].between(since, window.end).sum())
    return {
        "system": part.name,
        "since": since,
        "until": window.end,
        "a_week": part.whole[-1][0].expected / (part.longest / _WEEK),
        "a_week_before": inside / max((window.end - since) / pd.Timedelta(hours=_WEEK), 1e-9),
        "gone": int((~ahead.present).sum()),
        **dict(zip(("nodes", "nodes_before"), nodes, strict=True)),
    }


def _of_causes(parts: list[_System], i: int) -> dict[str, list[Future]]:
    """The futures of each cause in the systems, for one horizon."""
    of_causes: dict[str, list[Future]] = {}
    for part in parts:
        for name, future in zip(part.ahead.causes[0], part.causes[i], strict=True):
            of_causes.setdefault(name, []).append(future)
    return of_causes


def _rows(
    parts: list[_System], i: int, hours: float, tail: tuple[float, float], service: float, by: str
) -> pd.DataFrame:
    """All rows of one horizon."""
    blocks: list[tuple[str, str, Future]] = [("all", "all", summed([part.whole[i] for part in parts]))]
    blocks += [("system", part.name, part.whole[i]) for part in parts]
    for part in parts:
        names, kind = part.ahead.racks[0], part.ahead.joined.group
        for name, future in zip([*names, _WHOLE], part.racks[i], strict=bool(part.racks[i])):
            blocks.append((str(kind), f"{part.name} {name}" if len(parts) > 1 else name, future))
    of_causes = _of_causes(parts, i)
    blocks += [(by, name, summed(of_causes[name])) for name in sorted(of_causes)]
    rows = []
    for of, name, future in blocks:
        row: dict[str, Any] = {"horizon": hours, "of": of, "name": name, **quantities(future, tail)}
        parted = of == by and (by != "cause" or needs_part(name))
        row["stock"] = int(future[1].quantile(service)) if parted else pd.NA
        rows.append(row)
    return pd.DataFrame(rows).astype({"stock": "Int64"})
