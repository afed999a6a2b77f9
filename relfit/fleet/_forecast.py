"""`forecast`: failures, repairs and spare parts of the time to come, with prediction intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relfit.arguments import share, whole
from relfit.arrays import FloatArray
from relfit.errors import ArgumentError, DataError, RelfitError
from relfit.failurelog import FailureLog
from relfit.fleet._chosen_period import ChosenPeriod
from relfit.fleet._fleet_model import FleetModel, fleet_model
from relfit.fleet.forecast_draws import Future, SystemAhead
from relfit.results import Result
from relfit.screening import ChangePoints, change_points
from relfit.text import count, duration, number, percent
from relfit.units import HOURS_PER_YEAR
from relfit.units import hours as hours_of

__all__ = ["Forecast", "forecast"]

_QUANTITIES = ("incidents", "failures", "repair_hours")
_LONGEST = 10.0  # times the period that the forecast rests on
_WHOLE = "whole system"
_MANY_CAUSES = 200
_BINS = 24  # of the history
_CAUSES = 5  # on a page


def forecast(
    log: FailureLog,
    horizons: Any = ("30d", "90d"),
    *,
    period: str | tuple[Any, Any] | ChosenPeriod | FleetModel = "stable",
    by: str = "cause",
    group: str | None = None,
    first: str = "known",
    service: float = 0.95,
    level: float = 0.95,
    n_draws: int = 4000,
    rng: int | np.random.Generator | None = 0,
) -> Forecast:
    """How many failures, how much repair and how many spare parts to expect after the end of a log.

    Parameters
    ----------
    log : FailureLog
        With dated events. Of several systems each is forecast from a period of its own.
    horizons : duration, or sequence of these
        How far ahead, from the end of the log: hours, or text such as "30d".
    period : {"stable", "all"}, tuple, ChosenPeriod or FleetModel
        The part of the log whose rates are used, as for `relfit.fleet_model`, or that model of a log of one system.
        With "stable", rates of a period that is not the last one (it ended before the log did, or all of the log is
        used since the start of the stable period is not known well) are scaled to the rate after the last change point.
    by : str
        Column of events that tells kinds of failures apart.
    group : str, optional
        Attribute that says in which rack a node stands; rack, frame, cabinet or chassis when left out.
    first : {"known", "always", "never"}
        As for `relfit.fleet_model`.
    service : float
        Probability that the stock of parts lasts for the horizon, one part for each failure.
    level : float
        Of the prediction intervals.
    n_draws : int
        Random futures behind them.
    rng : int or numpy.random.Generator

    Returns
    -------
    Forecast

    Raises
    ------
    ArgumentError
        For a log of lifetimes without dates, an unknown column or period, a horizon that is not above zero or over ten
        times as long as the period that it rests on.
    DataError
        When no node was under observation at the end of the log, or the period has no failure.

    Notes
    -----
    Rates are those of `relfit.fleet_model`, so that the expected number of incidents is ``model.interval("incidents",
    horizon)``. Prediction intervals hold the number that will be counted. They are wider than Poisson ones by: the
    uncertainty of the rates; records and repairs per incident; the scatter beyond Poisson of counts in windows of the
    past that are as long as the horizon, which few windows leave uncertain; and further changes of the rate, as
    frequent and as large as those of the log.

    Examples
    --------
    >>> import relfit as rf
    >>> ahead = rf.forecast(rf.datasets.load("white"), "30d", period=("2003-04-01", "2004-10-01"), n_draws=500)
    >>> row = ahead.total.iloc[0]
    >>> bool(row["failures_low"] < row["failures"] < row["failures_high"])
    True
    >>> round(row["incidents"]) == round(30 * 24 / 4.37)
    True
    """
    if log.lifetimes is not None and not len(log.events):
        raise ArgumentError("this log holds lifetimes without dates: when failures came is not known")
    share("level", level, zero=False, one=False)
    share("service", service, zero=False, one=False)
    if by not in log.events.columns or by in ("start", "end", "line", "start_cut", "end_cut"):
        raise ArgumentError(
            f"the events of this log have no column {by!r}", remedy="use cause, or another of its columns"
        )
    every = _horizons(horizons)
    generator = np.random.default_rng(rng)
    parts, left_out = [], []
    size = int(whole("n_draws", n_draws, least=100))
    several = len(log.systems) > 1
    for name in log.systems or ("",):
        one = log.where(system=name) if several else log
        if one.window.end < log.window.end and one.n_nodes and one.window.end_known:
            left_out.append(f"{name} (not observed since {one.window.end:%Y-%m-%d})")
            continue
        try:
            parts.append(_System.of(one, name, every, period, by, group, first, size, generator.spawn(1)[0]))
        except DataError as error:
            if not several:
                raise
            left_out.append(f"{name} ({error})")
    if not parts:
        raise DataError(f"nothing to forecast: {'; '.join(left_out)}", remedy="give a log that ends with nodes in use")
    tail = np.array([0.5 - level / 2.0, 0.5 + level / 2.0])
    table = pd.concat([_rows(parts, i, hours, tail, service, by) for i, hours in enumerate(every)], ignore_index=True)
    end = max(part.ahead.end for part in parts)
    return Forecast(
        table, tuple(every), parts[0].ahead.model.found.group, by, service, level, end,
        {part.name: part.ahead.model for part in parts}, pd.DataFrame([part.basis for part in parts]), tuple(left_out),
        _history(log, {part.name for part in parts}, end, every[0]),
    )  # fmt: skip


def _horizons(horizons: Any) -> list[float]:
    items = (
        list(horizons) if isinstance(horizons, (Sequence, np.ndarray)) and not isinstance(horizons, str) else [horizons]
    )
    found = [hours_of(item) for item in items]
    if not found:
        raise ArgumentError("no horizon is given", remedy="give 30d or the like")
    for item, value in zip(items, found, strict=True):
        if not (np.isfinite(value) and value > 0.0):
            raise ArgumentError(f"a horizon of {item!r} cannot be", remedy="give a time above zero, as 30d")
    return list(dict.fromkeys(found))


class Forecast(Result):
    """Expected failures, repairs and parts, with prediction intervals.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per horizon and ``of`` (``all``, ``system``, the group such as ``rack``, the column of causes) and
        ``name``: ``incidents``, ``failures`` (records of the log), ``repair_hours`` (one repair per record), each
        expected and with ``_low`` and ``_high``; ``stock``: parts that last for the horizon with probability `service`.
    horizons : tuple of float
        Hours from `start`.
    group : str or None
        Attribute of racks.
    by : str
    service, level : float
    start : pandas.Timestamp
        End of the observation, where the forecast begins.
    models : dict of str to FleetModel
        By system.
    basis : pandas.DataFrame
        One row per system: ``system``, ``since`` and ``until`` (the period whose rates are used), ``factor`` (the rate
        after the last change point over that of the period), ``changed`` (since when), ``changes`` (of the rate in the
        log), ``years`` (of the log), ``gone`` (nodes not under observation at its end).
    left_out : tuple of str
        Systems without a forecast, and why.
    history : pandas.DataFrame
        ``start`` and ``failures`` of the last bins before `start`, at most 24, as long as the first horizon.
    """

    table: pd.DataFrame
    horizons: tuple[float, ...]
    group: str | None
    by: str
    service: float
    level: float
    start: pd.Timestamp
    models: dict[str, FleetModel]
    basis: pd.DataFrame
    left_out: tuple[str, ...]
    history: pd.DataFrame

    _not_in_json = ("models",)

    @property
    def headline(self) -> str:
        """Failures over each horizon."""
        parts = []
        for hours, row in zip(self.horizons, self.total.to_dict("records"), strict=True):
            parts.append(
                f"{number(row['failures'])} failures ({number(row['failures_low'])}-{number(row['failures_high'])}) "
                f"in {_days(hours)}"
            )
        return f"Expect {', '.join(parts)} from {self.start:%Y-%m-%d} on; {percent(self.level)} prediction intervals."

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, the stock of parts, and what the forecast rests on."""
        out = tuple(f"Left out: {text}." for text in self.left_out)
        return (self.headline, self.stock_headline, *self.notes, *out)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the forecast rests on, and what it allows for."""
        basis = self.basis
        first, single = basis.iloc[0], len(basis) == 1
        if single:
            rests = f"Rates are those of {first['since']:%Y-%m-%d} to {first['until']:%Y-%m-%d}"
        else:
            rests = f"Each of {len(basis)} systems has the rates of a period of its own"
        scaled = basis[basis["factor"] != 1.0]
        if single and len(scaled):
            since = f"{first['changed']:%Y-%m-%d}"
            rests += f", times {number(float(first['factor']))}: the failure rate has been different since {since}"
        elif len(scaled):
            factors = zip(scaled["system"].tolist(), scaled["factor"].tolist(), strict=True)
            named = ", ".join(f"{system} ({number(factor)})" for system, factor in factors)
            rests += f"; scaled to the rate after the last change point: {named}"
        out = [rests + "."]
        gone, changes = int(basis["gone"].sum()), int(basis["changes"].sum())
        if gone:
            out.append(f"{count(gone, 'node')} not under observation at the end left out.")
        if changes:
            years = number(float(basis["years"].sum()))
            where = "" if single else " of their systems"
            out.append(
                f"The failure rate changed {count(changes, 'time')} in {years} years{where}; "
                "intervals allow for changes to come."
            )
        return tuple(out)

    @property
    def stock_headline(self) -> str:
        """Parts for the cause with the most failures over the first horizon."""
        causes = self.by_cause[self.by_cause["horizon"] == self.horizons[0]]
        first = causes.sort_values("failures", ascending=False, kind="stable").iloc[0]
        return (
            f"Of these {_shown(first, 'failures')} in {_days(self.horizons[0])} are {first['name']}: "
            f"{count(int(first['stock']), 'part')} in stock "
            f"{'lasts' if first['stock'] == 1 else 'last'} with probability {percent(self.service)}, one per failure."
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
        """One row per horizon and rack; what hits a whole system is apart. Empty without racks."""
        return self._of(self.group)

    @property
    def by_cause(self) -> pd.DataFrame:
        """One row per horizon and cause."""
        return self._of(self.by)

    def to_frame(self) -> pd.DataFrame:
        """The same as `table`."""
        return self.table

    def compact(self) -> pd.DataFrame:
        """All failures and those of the five most frequent causes, one row each, for a page.

        Returns
        -------
        pandas.DataFrame
            Indexed by ``all failures``, the causes, and ``hours of repair``; for each horizon in words a column of
            text such as ``158 (121-204)``, and for the causes ``stock`` for the longest horizon.
        """
        longest = self.by_cause[self.by_cause["horizon"] == self.horizons[-1]]
        names = longest.sort_values("failures", ascending=False, kind="stable")["name"].head(_CAUSES).tolist()
        columns: dict[str, dict[str, str]] = {}
        for hours in self.horizons:
            all_ = self.total[self.total["horizon"] == hours].iloc[0]
            cause = self.by_cause[self.by_cause["horizon"] == hours].set_index("name")
            rows = {"all failures": _shown(all_, "failures")}
            rows |= {str(name): _shown(cause.loc[name], "failures") for name in names}
            columns[f"next {_days(hours)}"] = {**rows, "hours of repair": _shown(all_, "repair_hours")}
        table = pd.DataFrame(columns)
        stock = longest.set_index("name")["stock"]
        table["stock"] = [f"{int(stock[name]):,}" if name in stock.index else "" for name in table.index]
        return table.rename_axis("of")


def _shown(row: Any, name: str) -> str:
    return f"{number(row[name])} ({number(row[f'{name}_low'])}-{number(row[f'{name}_high'])})"


def _days(hours: float) -> str:
    return count(round(hours / 24.0), "day") if hours >= 72.0 and hours % 24.0 == 0.0 else duration(hours)


# ----------------------------------------------------------------------- systems


@dataclass(frozen=True, eq=False)
class _System:
    """One system of the log with its futures, one per horizon."""

    name: str
    ahead: SystemAhead
    futures: tuple[Future, ...]
    basis: dict[str, Any]

    @classmethod
    def of(
        cls, log: FailureLog, name: str, horizons: list[float], period: Any, by: str, group: str | None,
        first: str, size: int, rng: np.random.Generator,
    ) -> _System:  # fmt: skip
        made = isinstance(period, FleetModel)
        model = period if made else fleet_model(log, period, group=group, first=first)
        if not len(model.found.table):
            raise DataError(f"no failure in {duration(model.hours)} of the log", remedy="give another period")
        longest = max(horizons)
        if longest > _LONGEST * model.hours:
            raise ArgumentError(
                f"{_days(longest)} ahead is too far for a period of {duration(model.hours)}",
                remedy=f"give at most {duration(_LONGEST * model.hours)}",
            )
        points = model.period.points or _points(log)
        ahead = SystemAhead(log, model, points, model.period.points is not None, by, size, rng)
        if not ahead.present.any() and model.places.nodes.size:
            raise DataError("no node was under observation at the end of the log")
        if len(ahead.causes) > _MANY_CAUSES:
            raise ArgumentError(f"column {by!r} has {len(ahead.causes)} values", remedy="give one with fewer, as cause")
        futures = tuple(ahead.over(hours) for hours in horizons)
        return cls(name, ahead, futures, _basis(ahead, name))


def _history(log: FailureLog, systems: set[str], end: pd.Timestamp, width: float) -> pd.DataFrame:
    """Records of the systems in bins of `width` hours that end with `end`."""
    number = int(np.clip((end - log.window.start) / pd.Timedelta(hours=width), 1, _BINS))
    edges = [end - pd.Timedelta(hours=width * (number - i)) for i in range(number + 1)]
    mine = log.events[log.events["system"].astype(str).isin(systems) & ~log.events["start_cut"].astype(bool)]
    at = pd.DatetimeIndex(edges).searchsorted(pd.DatetimeIndex(mine["start"]), side="right") - 1
    counts = np.bincount(at[(at >= 0) & (at < number)], minlength=number)
    return pd.DataFrame({"start": edges[:-1], "failures": counts})


def _points(log: FailureLog) -> ChangePoints | None:
    try:
        return change_points(log, n_resamples=199)
    except RelfitError:
        return None


def _basis(ahead: SystemAhead, name: str) -> dict[str, Any]:
    """What the forecast of a system rests on."""
    window, points = ahead.model.period.log.window, ahead.points
    return {
        "system": name, "since": window.start, "until": window.end, "factor": ahead.level,
        "changed": pd.NaT if points is None else points.periods[-1].start,
        "changes": 0 if points is None else len(points) - 1,
        "years": float("nan") if points is None else sum(one.hours for one in points.periods) / HOURS_PER_YEAR,
        "gone": int((~ahead.present).sum()),
    }  # fmt: skip


# ------------------------------------------------------------------------ tables


def _rows(parts: list[_System], i: int, hours: float, tail: FloatArray, service: float, by: str) -> pd.DataFrame:
    """All rows of one horizon."""
    blocks: list[tuple[str, str, FloatArray, FloatArray]] = []  # of, name, (3,) expected, (3, draws)
    futures = [part.futures[i] for part in parts]
    whole_ = [(f.expected_by_cause.sum(axis=1), f.by_cause.sum(axis=2)) for f in futures]
    blocks.append(("all", "all", sum(m for m, _ in whole_), sum(d for _, d in whole_)))
    blocks += [("system", part.name, mean, drawn) for part, (mean, drawn) in zip(parts, whole_, strict=True)]
    for part, future in zip(parts, futures, strict=True):
        names = part.ahead.places
        kind = part.ahead.model.found.group
        if kind is None or len(names) == 1:
            continue
        for j, name in enumerate(names):
            label = name or _WHOLE
            label = f"{part.name} {label}" if len(parts) > 1 else label
            blocks.append((kind, label, future.expected_by_place[:, j], future.by_place[:, :, j]))
    causes = sorted({name for part in parts for name in part.ahead.causes})
    for name in causes:
        mine = [
            (f.expected_by_cause[:, k], f.by_cause[:, :, k])
            for part, f in zip(parts, futures, strict=True)
            for k, other in enumerate(part.ahead.causes)
            if other == name
        ]
        blocks.append((by, name, sum(m for m, _ in mine), sum(d for _, d in mine)))  # type: ignore[arg-type]
    rows = []
    for of, name, mean, drawn in blocks:
        row: dict[str, Any] = {"horizon": hours, "of": of, "name": name}
        for q, quantity in enumerate(_QUANTITIES):
            method: Any = "linear" if quantity == "repair_hours" else "inverted_cdf"
            low, high = np.quantile(drawn[q], tail, method=method)
            row |= {quantity: float(mean[q]), f"{quantity}_low": float(low), f"{quantity}_high": float(high)}
        row["stock"] = int(np.quantile(drawn[1], service, method="inverted_cdf"))
        rows.append(row)
    return pd.DataFrame(rows)
