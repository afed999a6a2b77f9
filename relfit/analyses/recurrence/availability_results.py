"""The results of `availability` and `availability_over_time`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.results import Result, key_columns
from relfit.base.text import count, duration, interval_ends, percent

_WATCHED = 0.5  # of the length of the longest bin, below which a bin is not compared
_LEAST_WATCHED = 0.1  # of the most node-hours of a bin


class Availability(Result):
    """Operational availability of every group; arrays of shape (groups,).

    Attributes
    ----------
    groups : pandas.Index
    operational, low, high : ndarray of float
        Share of time up, 0 to 1, with its interval at `level`; NaN where the status says so.
    node_hours, down_hours, system_down_hours : ndarray of float
        Observation, outages, and the part of those during which the whole system was down; hours summed over nodes.
    failures, system_failures, unknown_ends : ndarray of int
        Outages of nodes and of whole systems that began under observation, and those of either kind without a known
        end. An outage of a whole system counts for every node that was watched then.
    nodes : ndarray of int
    status : ndarray of object
        ``ok``; ``some_ends_unknown``: these outages count as no time down, the estimate is too high; ``no_ends``: no
        outage has a known one; ``never_down``: availability 1, without a lower limit; ``one_outage`` of a single node:
        no spread and no limits; ``not_watched``.
    level : float
    notes : tuple of str
    """

    groups: pd.Index
    operational: FloatArray
    low: FloatArray
    high: FloatArray
    node_hours: FloatArray
    down_hours: FloatArray
    system_down_hours: FloatArray
    failures: IntArray
    system_failures: IntArray
    unknown_ends: IntArray
    nodes: IntArray
    status: npt.NDArray[np.object_]
    level: float
    notes: tuple[str, ...]

    @property
    def _interruptions(self) -> FloatArray:
        """Interruptions of nodes, summed over nodes; NaN where there was none."""
        number = self.failures + self.system_failures
        return np.where(number > 0, number, np.nan)

    @property
    def mtbf(self) -> FloatArray:
        """Mean time between outages of one node: hours up per failure of it or its whole system; NaN without one."""
        return np.asarray((self.node_hours - self.down_hours) / self._interruptions)

    @property
    def mttr(self) -> FloatArray:
        """Mean time to repair: hours down per such failure with a known end; NaN without one."""
        ended = self.failures + self.system_failures - self.unknown_ends
        return self.down_hours / np.where(ended > 0, ended, np.nan)

    @property
    def headline(self) -> str:
        """Availability over all groups."""
        hours = self.node_hours.sum()
        if hours <= 0.0 or bool(np.isin(self.status, ("no_ends", "not_watched")).all()):
            return "Availability is not known: no outage has a known end, or nothing was observed."
        if self.down_hours.sum() >= hours * (1.0 - 1e-12):
            return f"Nodes were down for all of the {duration(hours / self.nodes.sum())} observed."
        unknown = int(self.unknown_ends.sum())
        more = f"; {count(unknown, 'outage')} without a known end would lower it" if unknown else ""
        each = ""
        if len(self.groups) > 1:
            low, high = np.nanmin(self.operational), np.nanmax(self.operational)
            each = f", {interval_ends(percent(low, 3), percent(high, 3))} over {len(self.groups)} groups"
        common = self.system_down_hours.sum() / hours
        of_system = f"; the whole system was down {percent(common, 3)} of the time" if common > 0.0 else ""
        return f"Nodes were up {percent(1.0 - self.down_hours.sum() / hours, 3)} of the time{each}{of_system}{more}."

    def to_frame(self) -> pd.DataFrame:
        """One row per group: counts, hours, availability as shares of 1.

        ``mtbf_outage`` and ``mttr_outage`` are `mtbf` and `mttr`, by node over all outages, those of whole systems too
        (as ``mtbf.outage`` of `relfit.calibrate`, not ``mtbf.node``).
        """
        counts = ("nodes", "node_hours", "failures", "system_failures", "unknown_ends", "down_hours")
        names = (*counts, "system_down_hours", "mtbf", "mttr", "operational", "low", "high", "status")
        frame = key_columns(self.groups).assign(**{name: getattr(self, name) for name in names})
        return frame.rename(columns={"mtbf": "mtbf_outage", "mttr": "mttr_outage"})


class AvailabilityOverTime(Result):
    """Operational availability of every group in calendar bins; arrays of shape (groups, bins).

    Attributes
    ----------
    groups : pandas.Index
    edges : pandas.DatetimeIndex, shape (bins + 1,)
    operational, low, high : ndarray of float
        NaN where nothing was watched; intervals are NaN too for groups of one node, and where nothing was down.
    node_hours, down_hours : ndarray of float
    unknown_ends : int
        Outages without a known end, which count as no time down.
    level : float
    """

    groups: pd.Index
    edges: pd.DatetimeIndex
    operational: FloatArray
    low: FloatArray
    high: FloatArray
    node_hours: FloatArray
    down_hours: FloatArray
    unknown_ends: int
    level: float

    @property
    def status(self) -> npt.NDArray[np.object_]:
        """``ok``, ``not_watched``, ``never_down`` or ``no_limits`` (one node), shape (groups, bins)."""
        out = np.full(self.operational.shape, "ok", dtype=object)
        out[np.isnan(self.low)] = "no_limits"
        out[self.down_hours == 0.0] = "never_down"
        out[self.node_hours == 0.0] = "not_watched"
        return out

    @property
    def comparable(self) -> BoolArray:
        """Whether a bin has half the length of the longest and a tenth of the most node-hours, shape (bins,)."""
        hours, length = self.node_hours.sum(axis=0), np.diff(self.edges.as_unit("ns").asi8)
        return (hours >= _LEAST_WATCHED * hours.max(initial=0.0)) & (length >= _WATCHED * length.max(initial=0))

    @property
    def headline(self) -> str:
        """When availability was lowest and highest, all groups together; of the `comparable` bins."""
        hours = self.node_hours.sum(axis=0)
        if not (self.comparable & (hours > 0.0)).any():
            return "Nothing was observed."
        each = np.where(hours > 0.0, 1.0 - self.down_hours.sum(axis=0) / np.where(hours > 0.0, hours, 1.0), np.nan)
        up = np.where(self.comparable & (hours > 0.0), each, np.nan)
        worst, best = int(np.nanargmin(up)), int(np.nanargmax(up))
        if up[best] - up[worst] < 5e-6:
            return f"Availability was the same throughout ({percent(up[best], 3)})."
        highest = percent(up[best], 3 if up[best] < 0.99999 else None)  # "100 %", if it is
        return (
            f"Availability was lowest from {self.edges[worst]:%Y-%m-%d} to {self.edges[worst + 1]:%Y-%m-%d} "
            f"({percent(up[worst], 3)}) and highest from {self.edges[best]:%Y-%m-%d} ({highest})."
            f"{self._beyond(each, up[worst], up[best])}"
        )

    def _beyond(self, up: FloatArray, lowest: float, highest: float) -> str:
        """The bins that are not compared, where they are lower or higher."""
        bins = np.flatnonzero(~self.comparable & ((up < lowest) | (up > highest)))
        if not bins.size:
            return ""
        if bins.size > 1:
            return f" {bins.size} bins that were watched for much less time are not compared."
        at = int(bins[0])
        shown = percent(up[at], 3 if up[at] < 0.99999 else None)
        return f" The bin from {self.edges[at]:%Y-%m-%d} ({shown}) was watched for much less time and is not compared."

    def to_frame(self) -> pd.DataFrame:
        """One row per group and bin."""
        groups, bins = self.operational.shape
        frame = key_columns(self.groups).iloc[np.repeat(np.arange(groups), bins)].reset_index(drop=True)
        frame["from"] = np.tile(np.asarray(self.edges[:-1], dtype=object), groups)
        frame["to"] = np.tile(np.asarray(self.edges[1:], dtype=object), groups)
        names = ("operational", "low", "high", "node_hours", "down_hours", "status")
        return frame.assign(**{name: getattr(self, name).ravel() for name in names})
