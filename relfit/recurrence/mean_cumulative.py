"""The mean cumulative function of groups of repairable systems, with robust or Poisson limits.

Nelson 1988 and 2003, Lawless and Nadeau 1995; Meeker and Escobar 1998, chapter 16.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.nonparametric.nelson_aalen import hazard_limits
from relfit.nonparametric.steps import Steps, normal_quantile
from relfit.numeric.batches import over_groups
from relfit.recurrence.histories import EventHistories, FloatArray, IntArray, grouping, label_text, unit_of
from relfit.recurrence.kernels import mean_cumulative_steps
from relfit.text import number, percent

__all__ = ["CumulativeDifference", "MeanCumulative", "mean_cumulative"]

_VARIANCES = ("robust", "poisson")
_INTERVALS = ("log", "plain")


@dataclass(frozen=True, eq=False)
class MeanCumulative(Steps):
    """Mean number of events a system by age; group ``j`` owns ``offsets[j]:offsets[j + 1]``.

    Attributes
    ----------
    groups : pandas.Index, shape (groups,)
    times : ndarray of float, shape (steps,)
        Distinct ages at which something failed, hours, rising within a group.
    mean : ndarray of float, shape (steps,)
        Mean number of events of a system up to each time.
    variance : ndarray of float, shape (steps,)
        Its estimated variance.
    at_risk, events : ndarray of int, shape (steps,)
        Systems under observation at each time, and events at it.
    low, high : ndarray of float, shape (steps,)
        Pointwise limits at `level`; NaN where the status of the group is ``one_copy``.
    copies : ndarray of int, shape (groups,)
        Systems of each group.
    until : ndarray of float, shape (groups,)
        When the last of them left observation.
    level, kind, interval : float, str, str
        As asked for.
    unit : str
        What one history is, for sentences: ``"node"``, ``"system"``, ...
    """

    mean: FloatArray
    variance: FloatArray
    at_risk: IntArray
    events: IntArray
    low: FloatArray
    high: FloatArray
    copies: IntArray
    until: FloatArray
    level: float
    kind: str
    interval: str
    unit: str = "system"

    @property
    def status(self) -> npt.NDArray[np.object_]:
        """``ok``, ``no_events``, or ``one_copy``: a robust variance needs several systems. Shape (groups,)."""
        out = np.full(self.n_groups, "ok", dtype=object)
        if self.kind == "robust":
            out[self.copies < 2] = "one_copy"
        out[np.diff(self.offsets) == 0] = "no_events"
        return out

    def at(self, times: npt.ArrayLike, beyond: float | None = None) -> FloatArray:
        """Mean number of events up to `times`.

        Parameters
        ----------
        times : array_like of float
            Hours: one, or m for all groups, or one row a group.
        beyond : float, optional
            What to give past the last event of a group; the last value is kept when left out.

        Returns
        -------
        ndarray of float, shape (groups,) or (groups, m)
        """
        return self._look_up(self.mean, 0.0, times, beyond)

    def limits_at(self, times: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limits at `times`, as `at`."""
        return self._look_up(self.low, 0.0, times, None), self._look_up(self.high, 0.0, times, None)

    def difference(self, first: Any, second: Any) -> CumulativeDifference:
        """The mean of group `first` less that of `second`, with limits, at all times at which either steps.

        Groups are taken as independent; the curve ends where one of them has no system left under observation.

        Raises
        ------
        ArgumentError
            When there is no such group.
        """
        places = [self._position(label) for label in (first, second)]
        until = min(self.until[place] for place in places)
        parts = [self._slice(place) for place in places]
        times = np.unique(np.concatenate([self.times[part] for part in parts]))
        times = times[times <= until]
        if times.size:
            mean = self._look_up(self.mean, 0.0, times, None)[places]
            variance = self._look_up(self.variance, 0.0, times, None)[places]
        else:
            mean = variance = np.zeros((2, 0))
        gap, error = mean[0] - mean[1], normal_quantile(self.level) * np.sqrt(variance.sum(axis=0))
        if self.kind == "robust" and min(self.copies[place] for place in places) < 2:
            error = np.full(times.size, np.nan)
        return CumulativeDifference(
            (first, second), times, gap, gap - error, gap + error, self.level, self.kind, self.unit
        )

    def _position(self, label: Any) -> int:
        try:
            found = self.groups.get_loc(label)
        except (KeyError, TypeError, pd.errors.InvalidIndexError):
            found = None
        if not isinstance(found, (int, np.integer)):
            raise ArgumentError(f"no group {label!r}", remedy=f"there is {', '.join(map(str, self.groups[:8]))}")
        return int(found)

    @property
    def sentence(self) -> str:
        """What the curve of the largest group says, in one sentence."""
        if not self.times.size:
            return "Nothing failed, so there is no mean cumulative function."
        place = int(np.argmax(np.diff(self.offsets)))
        part = self._slice(place)
        half = 0.5 * self.until[place]
        early, late = self._look_up(self.mean, 0.0, [half, self.until[place]], None)[place]
        share = (late - early) / late
        turn = "as many" if abs(share - 0.5) < 0.05 else "fewer" if share < 0.5 else "more"
        last = part.stop - 1
        limits = ""
        if np.isfinite(self.low[last]):
            limits = f" ({percent(self.level)} limits {number(self.low[last])} to {number(self.high[last])})"
        one = self.n_groups > 1 and self.copies[place] == 1
        label = "" if self.n_groups == 1 else label_text(self.groups[place])
        group = f"{self.unit.capitalize()} {label}" if one else f"A {self.unit}{f' of {label}' if label else ''}"
        failed = f"had {number(late)} failures" if self.unit in ("cause", "scope") else f"failed {number(late)} times"
        return (
            f"{group} {failed}{'' if one else ' on average'} in {self.until[place]:.6g} h"
            f"{limits}, {turn} in the second half of that time {'as' if turn == 'as many' else 'than'} in the first "
            f"({percent(share)} of all)."
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the curves with their limits; see `relfit.plotting.mean_cumulative`."""
        from relfit import plotting

        return plotting.mean_cumulative(self, ax)

    def to_frame(self) -> pd.DataFrame:
        """One row a step."""
        return self._frame(
            mean=self.mean,
            variance=self.variance,
            at_risk=self.at_risk,
            events=self.events,
            low=self.low,
            high=self.high,
        )

    def to_dict(self) -> dict[str, Any]:
        """Totals, ready for JSON."""
        return {
            "estimate": "mean_cumulative",
            "groups": self.n_groups,
            "copies": int(self.copies.sum()),
            "events": int(self.events.sum()),
            "steps": int(self.times.size),
            "variance": self.kind,
            "interval": self.interval,
            "level": self.level,
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return (
            f"MeanCumulative: {self.events.sum()} events of {self.copies.sum()} systems in {self.n_groups} groups, "
            f"{self.level:.4g} {self.interval} limits, {self.kind} variance"
        )


@dataclass(frozen=True, eq=False)
class CumulativeDifference:
    """The mean cumulative function of one group less that of another.

    Attributes
    ----------
    pair : tuple
        Labels of the groups.
    times, difference, low, high : ndarray of float, shape (steps,)
        Hours, difference in events a system, and its pointwise limits.
    level, kind : float, str
        Of the limits, and the variance behind them.
    unit : str
        What one history is.
    """

    pair: tuple[Any, Any]
    times: FloatArray
    difference: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    kind: str
    unit: str = "system"

    def plot(self, ax: Any = None) -> Any:
        """Draw the difference with its limits; see `relfit.plotting.cumulative_difference`."""
        from relfit import plotting

        return plotting.cumulative_difference(self, ax)

    def to_frame(self) -> pd.DataFrame:
        """One row a step."""
        return pd.DataFrame({"time": self.times, "difference": self.difference, "low": self.low, "high": self.high})

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        curves = {name: getattr(self, name).tolist() for name in ("times", "difference", "low", "high")}
        return {"pair": [str(label) for label in self.pair], "level": self.level, "variance": self.kind, **curves}

    @property
    def sentence(self) -> str:
        """The difference at its end, in one sentence."""
        if not self.times.size:
            return "No event of either group falls where both were under observation."
        inside = not (self.low[-1] > 0.0 or self.high[-1] < 0.0)
        one, other = (label_text(label) for label in self.pair)
        if not np.isfinite(self.low[-1]):
            return (
                f"By {self.times[-1]:.6g} h {self.unit} {one} has failed {self.difference[-1]:+.0f} times relative to "
                f"{other}; with one {self.unit} of a group there are no limits."
            )
        limits = f"{percent(self.level)} limits {number(self.low[-1])} to {number(self.high[-1])}"
        return (
            f"By {self.times[-1]:.6g} h a {self.unit} of {one} has failed {self.difference[-1]:+.3g} times "
            f"relative to one of {other} ({limits}), which "
            f"{'chance alone may give' if inside else 'is more than chance'}."
        )

    def __repr__(self) -> str:
        return f"CumulativeDifference of {self.pair[0]} and {self.pair[1]}: {self.times.size} steps"


@dataclass(frozen=True)
class _Ordered:
    """Histories laid out for the kernel."""

    groups: pd.Index
    step_offsets: IntArray
    times: FloatArray
    event_offsets: IntArray
    event_history: IntArray
    copy_offsets: IntArray
    by_begin: IntArray
    by_end: IntArray
    copies: IntArray
    until: FloatArray


def _ordered(histories: EventHistories, codes: IntArray, groups: pd.Index) -> _Ordered:
    count = len(groups)
    history = histories.codes()
    owner = codes[history]
    order = np.lexsort((histories.times, owner))
    times, owner, history = histories.times[order], owner[order], history[order]
    new = np.ones(times.size, dtype=np.bool_)
    new[1:] = (times[1:] != times[:-1]) | (owner[1:] != owner[:-1])
    starts = np.flatnonzero(new)
    until = np.zeros(count)
    np.maximum.at(until, codes, histories.end)
    copies = np.bincount(codes, minlength=count)
    return _Ordered(
        groups,
        np.searchsorted(owner[starts], np.arange(count + 1)).astype(np.int64),
        times[starts],
        np.append(starts, times.size).astype(np.int64),
        history,
        np.concatenate([[0], np.cumsum(copies)]).astype(np.int64),
        np.lexsort((histories.begin, codes)).astype(np.int64),
        np.lexsort((histories.end, codes)).astype(np.int64),
        copies.astype(np.int64),
        until,
    )


def _run(
    histories: EventHistories, laid: _Ordered, weight: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    steps = laid.times.size
    at_risk = np.zeros(steps, dtype=np.int64)
    value, robust, poisson = np.zeros(steps), np.zeros(steps), np.zeros(steps)
    scratch = np.zeros((2, histories.n_histories))

    def work(first: int, last: int) -> None:
        mean_cumulative_steps(
            laid.step_offsets, laid.times, laid.event_offsets, laid.event_history, laid.copy_offsets, laid.by_begin,
            laid.by_end, histories.begin, histories.end, weight, at_risk, value, robust, poisson, scratch[0],
            scratch[1], first, last,
        )  # fmt: skip

    over_groups(laid.step_offsets, work)
    return at_risk, value, robust, poisson


def mean_cumulative(
    histories: EventHistories,
    by: Any = "all",
    *,
    level: float = 0.95,
    variance: str = "robust",
    interval: str = "log",
) -> MeanCumulative:
    """Mean number of events a system up to each age, for every group of systems.

    Parameters
    ----------
    histories : EventHistories
    by : "all", "each", a key of the histories, or array_like of labels
        Which systems make a group; see `relfit.recurrence.grouping`.
    level : float
        Level of the pointwise limits.
    variance : {"robust", "poisson"}
        ``robust`` (Nelson; Lawless and Nadeau) takes the systems as independent and nothing else; it asks for several
        systems. ``poisson`` takes the events as those of one Poisson process.
    interval : {"log", "plain"}
        Scale on which the limits are normal; ``plain`` is cut at 0.

    Returns
    -------
    MeanCumulative
        A system is at risk from its `begin` to its `end`, both included.

    Raises
    ------
    ArgumentError
        For an unknown option, or a level outside 0..1.

    Examples
    --------
    The three systems of Meeker and Escobar, table 16.1:

    >>> from relfit.recurrence import EventHistories
    >>> curve = mean_cumulative(EventHistories.from_groups([[5, 8], [], [1, 8, 16]], end=[12, 16, 20]))
    >>> curve.mean.round(4).tolist(), (curve.variance * 1296).round(9).tolist()
    ([0.3333, 0.6667, 1.3333, 1.8333], [96.0, 96.0, 384.0, 978.0])
    """
    z = normal_quantile(level)
    if variance not in _VARIANCES:
        raise ArgumentError(f"unknown variance {variance!r}", remedy=f"use one of {', '.join(_VARIANCES)}")
    if interval not in _INTERVALS:
        raise ArgumentError(f"unknown interval {interval!r}", remedy=f"use one of {', '.join(_INTERVALS)}")
    codes, groups = grouping(histories, by)
    laid = _ordered(histories, codes, groups)
    at_risk, mean, robust, poisson = _run(histories, laid, np.ones(laid.times.size))
    spread = robust if variance == "robust" else poisson
    low, high = hazard_limits(mean, spread, z, interval)
    if variance == "robust":
        alone = np.repeat(laid.copies < 2, np.diff(laid.step_offsets))
        low[alone] = high[alone] = np.nan
    return MeanCumulative(
        groups=groups,
        offsets=laid.step_offsets,
        times=laid.times,
        mean=mean,
        variance=spread,
        at_risk=at_risk,
        events=np.diff(laid.event_offsets),
        low=low,
        high=high,
        copies=laid.copies,
        until=laid.until,
        level=level,
        kind=variance,
        interval=interval,
        unit=unit_of(histories.groups),
    )
