"""`Incidents`: the incidents of a log, how they were joined, and their rates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from relfit.analyses.screening.incident_window import IncidentWindow
from relfit.base.arrays import IntArray
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.numeric.poisson import poisson_interval
from relfit.base.results import Result, json_ready
from relfit.base.text import count, percent

_LEAST_JOINED = 1.1  # records per incident from which the headline warns of counting records


class Incidents(Result):
    """The incidents of a log.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per incident, in the order of time: ``system``, the place if it is another column of events, ``start``,
        ``end`` (NaT unless all its ends are known), ``records``, ``nodes`` (different ones), ``groups`` (different
        ones, if the log has them), ``duration`` (hours from the first start to the last end; NaN as ``end``),
        ``spread`` (hours from the first start to the last), ``node_hours`` (of outage, over the records with known
        ends; NaN if there is none), ``ends_unknown``, ``cause`` (the most frequent; None where not stated), ``causes``
        (different ones), ``scope``.
    windows : dict of str to IncidentWindow
        The window of each level and the evidence for it, from ``"node"`` to `place`; a specified one at `place` only.
    incident : ndarray of int, shape (events,)
        For each record of the log the row of its incident in `table`; -1 for outages that had begun before the log.
    place, group : str
        What the records of an incident have in common, and the attribute behind the scope between node and system.
    exposure : pandas.DataFrame
        Hours of observation by system (rows), of its nodes, groups and itself (columns).
    level : float
        Level of the intervals.
    without_place : int
        Records without a value of `place`; each is an incident of its own.
    begun_before : int
        Outages that had begun before observation did; they are in no incident.
    notes : tuple of str
        How records that name neither a node nor their scope were taken.
    """

    table: pd.DataFrame
    windows: dict[str, IncidentWindow]
    incident: IntArray
    place: str
    group: str | None
    exposure: pd.DataFrame
    level: float
    without_place: int
    begun_before: int
    notes: tuple[str, ...] = ()

    _not_in_json = ("table", "incident")
    _frame = "table"

    @property
    def window(self) -> IncidentWindow:
        """The window of the widest level."""
        return self.windows[self.place]

    @property
    def first_records(self) -> IntArray:
        """Position in the log of the first record of each incident, shape (incidents,)."""
        rows = np.flatnonzero(self.incident >= 0)
        return rows[np.unique(self.incident[rows], return_index=True)[1]]

    @property
    def by_chance(self) -> float:
        """Joins that chance alone makes, over all levels."""
        return float(np.nansum([window.by_chance for window in self.windows.values()]))

    @property
    def records(self) -> int:
        """Records in all incidents."""
        return int(self.table["records"].sum())

    def __len__(self) -> int:
        return len(self.table)

    def rates(self, by: str | None = None) -> pd.DataFrame:
        """Rate of the incidents of each scope, with exact (Garwood) intervals.

        A node's incidents are counted per node-hour, a rack's per rack-hour, wider ones per system-hour; ``mtbf`` is
        thus the mean time between incidents of that scope for one node, one rack, one system. Hours are those watched,
        outages included; a `FleetModel` counts hours up. Rates take incidents as a Poisson process.

        Parameters
        ----------
        by : {"system"}, optional
            One row per system and scope instead of all systems together.

        Returns
        -------
        pandas.DataFrame
            ``scope``, ``incidents``, ``records``, ``unit``, ``hours`` of exposure, ``rate`` (per hour), ``rate_low``,
            ``rate_high``, ``mtbf`` (hours), ``mtbf_low``, ``mtbf_high``. Without exposure rates are NaN; without an
            incident the upper end of the mean time is infinite.

        Raises
        ------
        ArgumentError
            For another value of `by`.
        """
        if by not in (None, "system"):
            remedy = Remedy("use by='system', or select with log.where", "use --by system, or select with --where")
            raise ArgumentError(f"rates by {by!r} are not known", remedy=remedy)
        scopes = ["node", *([self.group] if self.group is not None else []), "group", "system"]
        units = {scope: scope if scope in self.exposure.columns else "system" for scope in scopes}
        index = pd.MultiIndex.from_product([self.exposure.index, scopes], names=["system", "scope"])
        counted = self.table.groupby([self.table["system"].astype(str), "scope"])["records"].agg(["size", "sum"])
        table = counted.reindex(index, fill_value=0).set_axis(["incidents", "records"], axis=1)
        table["hours"] = np.array([self.exposure.loc[s, units[scope]] for s, scope in index], dtype=np.float64)
        if by is None:
            table = table.groupby("scope", sort=False).sum(min_count=1).reindex(scopes)
            table[["incidents", "records"]] = table[["incidents", "records"]].fillna(0).astype(np.int64)
        table = table.reset_index()
        table.insert(table.columns.size - 1, "unit", table["scope"].map(units))
        low, high = poisson_interval(table["incidents"], self.level)
        watched = table["hours"].where(table["hours"] > 0)
        rates = {"": table["incidents"] / watched, "_low": low / watched, "_high": high / watched}
        with np.errstate(divide="ignore"):
            times = {end: 1.0 / rates[of].to_numpy() for end, of in (("", ""), ("_low", "_high"), ("_high", "_low"))}
        for name, columns in (("rate", rates), ("mtbf", times)):
            table = table.assign(**{name + end: values for end, values in columns.items()})
        return table

    def causes(self) -> pd.DataFrame:
        """Incidents by cause (rows) and scope (columns), most frequent cause first."""
        cause = self.table["cause"].where(self.table["cause"].notna(), "not stated").astype(str)
        table = pd.crosstab(cause, self.table["scope"].astype(str))
        return table.loc[table.sum(axis=1).sort_values(ascending=False, kind="stable").index]

    @property
    def headline(self) -> str:
        """What the joining changes for a fit."""
        if not len(self):
            return "The log has no events to join."
        several = self.table["nodes"] > 1
        records = "1 record is" if self.records == 1 else f"{self.records:,} records form"
        text = f"{records} {count(len(self), 'incident')}"
        if several.any():
            share = self.table.loc[several, "records"].sum() / self.records
            hold = "contains" if several.sum() == 1 else "contain"
            text += f"; {int(several.sum()):,} of them hit several nodes and {hold} {percent(share)} of the records"
        if self.records > _LEAST_JOINED * len(self):
            times = f"{self.records / len(self):.1f} times as many failures of the system"
            text += f": a fit that takes every record as independent counts {times}"
        return text + "."

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, the evidence for the window of each level, and the notes."""
        return self.headline, *(window.headline for window in self.windows.values()), *self.notes

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: totals and rates, without the single incidents."""
        numbers = {"incidents": len(self), "by_chance": self.by_chance, "records": self.records}
        return super().to_dict() | json_ready({**numbers, "rates": self.rates()})
