"""The data of the tests of dependence: the instants of failure of every node, and series of times to failure."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from relfit.analyses.screening import Incidents
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import DataError
from relfit.base.numeric.ordering import renumbered
from relfit.base.numeric.ragged import Ragged, offsets_of
from relfit.base.results import key_columns
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.log.failurelog import FailureLog
from relfit.log.lifedata import LifeData
from relfit.log.outages import clock_step, outages_of
from relfit.log.tables import check_log

_COARSE = 300_000_000_000  # nanoseconds: a clock that steps by so much hides what lies within an hour


@dataclass(frozen=True, eq=False)
class NodeSeries(Ragged):
    """When each node failed; node ``j`` owns ``times[offsets[j]:offsets[j + 1]]``.

    Attributes
    ----------
    times : ndarray of int, shape (n,)
        Nanoseconds since the log's observation began, rising within a node.
    offsets : ndarray of int, shape (nodes + 1,)
    groups : pandas.MultiIndex
        System and node.
    entered, left : ndarray of int, shape (nodes,)
        From when to when each node was watched, nanoseconds on the same clock.
    span : int
        Length of the log's observation, nanoseconds.
    step : int
        Step of the log's clock, nanoseconds: a day where it has dates.
    incident : ndarray of int, shape (n,), optional
        Number of the incident of each failure; each is one of its own when left out.
    what : str
        What the times are of, for sentences: ``"failures"``, or ``"incidents"`` where some were joined.
    """

    times: IntArray
    offsets: IntArray
    groups: pd.Index
    entered: IntArray
    left: IntArray
    span: int
    step: int = 1
    incident: IntArray | None = None
    what: str = "failures"

    @property
    def nodes(self) -> IntArray:
        """Number of the node of each failure, shape (n,)."""
        return self.group_codes()

    @property
    def hours(self) -> FloatArray:
        """Instants in hours since the observation began, shape (n,)."""
        return self.times / NANOSECONDS_PER_HOUR

    def take(self, positions: IntArray) -> NodeSeries:
        """The nodes at these positions, in this order."""
        rows, offsets = self.rows_of(positions), offsets_of(self.sizes[positions])
        watched = self.groups[positions], self.entered[positions], self.left[positions]
        incident = None if self.incident is None else self.incident[rows]
        return NodeSeries(self.times[rows], offsets, *watched, self.span, self.step, incident)

    @property
    def at_once(self) -> float:
        """Failures of the incident that a failure is part of, on average."""
        if self.incident is None or not self.times.size:
            return 1.0
        size = np.bincount(renumbered(self.incident + 1)[0]).astype(np.float64)
        return float((size**2).sum() / size.sum())

    def once(self) -> NodeSeries:
        """Each incident once, as a failure of the first of its nodes."""
        if self.incident is None:
            return self
        first = np.zeros(int(self.incident.max(initial=-1)) + 2, np.int64)
        backwards = np.arange(self.incident.size)[::-1]
        first[self.incident[backwards] + 1] = backwards
        firsts = np.flatnonzero(first[self.incident + 1] == np.arange(self.incident.size))
        if firsts.size == self.times.size:
            return self
        return replace(self._at(firsts), incident=None, what="incidents")

    def at_once_of(self, incidents: BoolArray) -> IntArray:
        """Failures of each of these incidents, marked by their numbers."""
        if self.incident is None:
            return np.zeros(0, dtype=np.int64)
        return np.bincount(self.incident + 1, minlength=incidents.size + 1)[1:][incidents]

    def without(self, incidents: BoolArray) -> NodeSeries:
        """The same nodes without the failures of these incidents, marked by their numbers."""
        if self.incident is None:
            return self
        return self._at(np.flatnonzero(~np.append(incidents, False)[self.incident]))

    def _at(self, rows: IntArray) -> NodeSeries:
        offsets = offsets_of(np.bincount(self.nodes[rows], minlength=self.sizes.size))
        incident = None if self.incident is None else self.incident[rows]
        return replace(self, times=self.times[rows], offsets=offsets, incident=incident)


def failures_of(log: FailureLog, incidents: Incidents | None = None) -> NodeSeries:
    """When each node failed, by the rules of `FailureLog.ttf`.

    A record that begins while its node is already down belongs to the outage in progress; an outage in progress when
    observation began is no failure of this log; records without a node are left out. Where the clock steps by five
    minutes or more (whole hours, dates), instants are spread over their step uniformly at random, so that no test finds
    a pattern below a step.

    Parameters
    ----------
    log : FailureLog
    incidents : Incidents, optional
        Of `log`: which failures are one incident.

    Raises
    ------
    DataError
        For a log of lifetimes without dates, or one that was observed for no time at all.

    Examples
    --------
    >>> import relfit as rf
    >>> failures_of(rf.datasets.load("white")).sizes.size
    512
    """
    check_log(log)
    if log.lifetimes is not None:
        raise DataError("this log holds lifetimes without dates", remedy="instants of failure need a log of events")
    start, end = log.window.start, log.window.end
    if pd.isna(start) or pd.isna(end) or not start < end:
        raise DataError("this log was observed for no time at all", remedy="declare when observation began and ended")
    outages = outages_of(log)
    zero, span = start.as_unit("ns").value, (end - start).as_unit("ns").value
    code = outages.code[outages.failures]
    offsets = offsets_of(np.bincount(code, minlength=outages.n_groups))
    entered, left = (np.clip(instants - zero, 0, span) for instants in (outages.entered, outages.left))
    times, step = outages.start[outages.failures] - zero, clock_step(log)
    incident = None if incidents is None else incidents.incident[outages.row[outages.failures]]
    if step >= _COARSE and times.size:
        late = (np.random.default_rng(0).random(times.size) * step).astype(np.int64)
        times = np.maximum(np.minimum(times + late, span - 1), times)
        np.maximum.at(left, code, np.minimum(times + 1, span))  # a node may leave on the date of its failure
        order = np.lexsort((times, code))
        times, incident = times[order], None if incident is None else incident[order]
    return NodeSeries(times, offsets, outages.groups, entered, left, span, step, incident)


def table_of_pairs(groups: pd.Index, first: IntArray, second: IntArray, numbers: dict[str, FloatArray]) -> pd.DataFrame:
    """The keys of both groups of each pair, and some numbers."""
    keys = key_columns(groups)
    names = [keys.iloc[each].add_suffix(end).reset_index(drop=True) for each, end in ((first, "_1"), (second, "_2"))]
    return pd.concat([*names, pd.DataFrame(numbers)], axis=1)


def complete_series(series: LifeData) -> LifeData:
    """`series` without times that are cut off; a DataError where times are in intervals, truncated or weighted."""
    series = series.from_age_known()
    if not series.plain:
        what = "a series needs exactly known times to failure"
        raise DataError(what, remedy="leave out intervals, entries and weights")
    if series.observed.all():
        return series
    complete = series.observed
    sizes = np.bincount(series.group_codes()[complete], minlength=series.n_groups)
    offsets = offsets_of(sizes)
    return LifeData(series.durations[complete], complete[complete], offsets, series.groups, series.measure)
