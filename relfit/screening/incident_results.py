"""`Incidents`: the incidents of a log, how they were joined, and their rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.numeric.poisson import poisson_interval
from relfit.results import json_ready
from relfit.screening.incident_window import WindowChoice, words

__all__ = ["Incidents"]

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Incidents:
    """The incidents of a log.

    Attributes
    ----------
    table : pandas.DataFrame
        A row an incident, in the order of time: ``system``, the place if it is another column of events, ``start``,
        ``end`` (NaT unless all its ends are known), ``records``, ``nodes`` (different ones), ``groups`` (different
        ones, if the log has them), ``duration`` (hours from the first start to the last end; NaN as ``end``),
        ``spread`` (hours from the first start to the last), ``node_hours`` (of outage, over the records with known
        ends; NaN if there is none), ``ends_unknown``, ``cause`` (the most frequent; None where not stated), ``causes``
        (different ones), ``scope``.
    choice : WindowChoice
        The window and what it rests on.
    incident : ndarray of int, shape (events,)
        For each record of the log the row of its incident in `table`; -1 for outages that had begun before the window.
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
    """

    table: pd.DataFrame
    choice: WindowChoice
    incident: IntArray
    place: str
    group: str | None
    exposure: pd.DataFrame
    level: float
    without_place: int
    begun_before: int

    @property
    def window(self) -> float:
        """The window in hours."""
        return self.choice.window

    @property
    def records(self) -> int:
        """Records in all incidents."""
        return int(self.table["records"].sum())

    def __len__(self) -> int:
        return len(self.table)

    def rates(self, by: str | None = None) -> pd.DataFrame:
        """How often incidents of each scope come, with exact (Garwood) intervals.

        A node's incidents are counted by node-hours, a rack's by rack-hours, wider ones by system-hours; ``mtbf`` is
        thus the mean time between incidents of that scope for one node, one rack, one system. Rates take incidents as a
        Poisson process.

        Parameters
        ----------
        by : {"system"}, optional
            A row for every system and scope instead of all systems together.

        Returns
        -------
        pandas.DataFrame
            ``scope``, ``incidents``, ``records``, ``unit``, ``hours`` of exposure, ``rate`` (an hour), ``rate_low``,
            ``rate_high``, ``mtbf`` (hours), ``mtbf_low``, ``mtbf_high``. Without exposure rates are NaN; without an
            incident the upper end of the mean time is infinite.

        Raises
        ------
        ArgumentError
            For another value of `by`.
        """
        if by not in (None, "system"):
            raise ArgumentError(f"rates by {by!r} are not known", remedy="use by='system', or select with log.where")
        scopes = ["node", *([self.group] if self.group is not None else []), "group", "system"]
        system = self.table["system"].astype(str)
        systems = list(self.exposure.index)
        index = pd.MultiIndex.from_product([systems, scopes], names=["system", "scope"])
        counted = self.table.groupby([system, "scope"])["records"].agg(["size", "sum"]).reindex(index, fill_value=0)
        units = {scope: scope if scope in self.exposure.columns else "system" for scope in scopes}
        hours = np.array([self.exposure.loc[s, units[scope]] for s, scope in index], dtype=np.float64)
        table = pd.DataFrame({"incidents": counted["size"], "records": counted["sum"], "hours": hours}, index=index)
        if by is None:
            table = table.groupby("scope", sort=False).sum(min_count=1).reindex(scopes)
            table[["incidents", "records"]] = table[["incidents", "records"]].fillna(0).astype(np.int64)
        table = table.reset_index()
        table["unit"] = [units[scope] for scope in table["scope"]]
        low, high = poisson_interval(table["incidents"], self.level)
        watched = table["hours"].where(table["hours"] > 0)
        table["rate"], table["rate_low"], table["rate_high"] = (
            table["incidents"] / watched,
            low / watched,
            high / watched,
        )
        with np.errstate(divide="ignore"):
            for name, rate in (("mtbf", "rate"), ("mtbf_low", "rate_high"), ("mtbf_high", "rate_low")):
                table[name] = 1.0 / table[rate].to_numpy(dtype=np.float64)
        order = ["scope", "incidents", "records", "unit", "hours", "rate", "rate_low", "rate_high"]
        order += ["mtbf", "mtbf_low", "mtbf_high"]
        return table[[*(["system"] if by else []), *order]]

    def causes(self) -> pd.DataFrame:
        """Incidents by cause (rows) and scope (columns), most frequent cause first."""
        cause = self.table["cause"].where(self.table["cause"].notna(), "not stated").astype(str)
        table = pd.crosstab(cause, self.table["scope"].astype(str))
        return table.loc[table.sum(axis=1).sort_values(ascending=False, kind="stable").index]

    @property
    def sentence(self) -> str:
        """What the joining changes for a fit, in a sentence."""
        if not len(self.table):
            return "The log has no events to join."
        wide = int((self.table["nodes"] > 1).sum())
        share = int(self.table.loc[self.table["nodes"] > 1, "records"].sum()) / self.records
        window = f"window {words(self.window)}" if self.window > 0.0 else "those of one instant joined"
        bound = ", the longest that was considered" if self.choice.status == "capped" else ""
        text = f"{self.records} records are {len(self)} incident{'s' if len(self) != 1 else ''} ({window}{bound})"
        if wide:
            text += f"; {wide} of them hit several nodes and hold {100 * share:.0f} % of the records"
        if self.records > 1.1 * len(self):
            text += (
                f": a fit that takes every record as independent counts {self.records / len(self):.1f} times too much "
                "for the system"
            )
        return text + "."

    def plot(self, ax: Any = None) -> Any:
        """Draw the sizes of incidents by scope; see `relfit.plotting.incident_sizes`."""
        from relfit import plotting

        return plotting.incident_sizes(self, ax)

    def to_frame(self) -> pd.DataFrame:
        """A row an incident."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, without the single incidents."""
        return {
            "incidents": len(self),
            "records": self.records,
            "place": self.place,
            "group": self.group,
            "window": self.choice.to_dict(),
            "without_place": self.without_place,
            "begun_before": self.begun_before,
            "level": self.level,
            "rates": json_ready(self.rates().to_dict("records")),
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return f"Incidents: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        return (
            f"<p>{escape(repr(self))}</p>{self.rates().to_html(escape=True, index=False, float_format='{:.4g}'.format)}"
        )
