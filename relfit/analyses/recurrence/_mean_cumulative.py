"""The mean cumulative function of groups of repairable systems, with robust confidence intervals.

Nelson 1988 and 2003, Lawless and Nadeau 1995; Meeker and Escobar 1998, chapter 16.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.analyses.recurrence.histories import EventHistories, grouping, label_text, unit_of
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.numeric.batches import over_groups
from relfit.base.numeric.compiled import njit
from relfit.base.numeric.levels import level_checked
from relfit.base.numeric.ordering import changes, order_in_groups
from relfit.base.numeric.ragged import offsets_of
from relfit.base.text import duration, number, percent
from relfit.fitting.nonparametric.curves import StepCurves
from relfit.fitting.nonparametric.survival_estimates import hazard_limits


class MeanCumulative(StepCurves):
    """Mean number of failures per system by age, as `relfit.fitting.nonparametric.StepCurves` of these groups.

    Attributes
    ----------
    sizes : ndarray of int, shape (groups,)
        Systems of each group.
    status : ndarray of object, shape (groups,)
        ``ok``, ``no_events``, or ``one_copy``: robust intervals need several systems, so `low` and `high` are NaN.
    until : ndarray of float, shape (groups,)
        When the last system of each group left observation, hours.
    unit : str
        What one history is, for sentences: ``"node"``, ``"system"``, ...
    """

    until: FloatArray
    unit: str

    def seen_until(self) -> FloatArray:
        """As `until`."""
        return self.until

    @property
    def headline(self) -> str:
        """Failures per system in the group with the most steps, and whether they become fewer or more."""
        if not self.times.size:
            return "Nothing failed, so there is no mean cumulative function."
        place = int(np.argmax(np.diff(self.offsets)))
        half = 0.5 * self.until[place]
        early, late = self.at([half, self.until[place]])[place]
        share = round((late - early) / late, 2)
        turn = "about as many" if 0.45 < share < 0.55 else "fewer" if share < 0.5 else "more"
        last = int(self.offsets[place + 1]) - 1
        limits = ""
        if np.isfinite(self.low[last]):
            limits = f" ({number(self.low[last])}-{number(self.high[last])})"
        one = self.n_groups > 1 and self.sizes[place] == 1
        label = "" if self.n_groups == 1 else label_text(self.groups[place])
        group = f"{self.unit.capitalize()} {label}" if one else f"A {self.unit}{f' of {label}' if label else ''}"
        some = f"{number(late)}{limits}"
        failed = f"had {some} failures" if self.unit in ("cause", "scope") else f"failed {some} times"
        return (
            f"{group} {failed}{'' if one else ' on average'} in {duration(self.until[place])}, "
            f"{turn} in the second half of that time {'as' if turn == 'about as many' else 'than'} in the first "
            f"({percent(share)} of all)."
        )


def mean_cumulative(
    histories: EventHistories, by: str | npt.ArrayLike = "all", *, level: float = 0.95
) -> MeanCumulative:
    """Mean number of events per system up to each age, for every group of systems.

    Parameters
    ----------
    histories : EventHistories
    by : "all", "each", a key of the histories, or array_like of labels
        Which systems make a group; see `relfit.analyses.recurrence.grouping`.
    level : float
        Level of the pointwise confidence intervals, on the log scale by Student's t with the robust variance (Nelson;
        Lawless and Nadeau) times n/(n - 1) of n systems: it takes the systems as independent and nothing else.
        Incidents that systems share (``histories.incident``) add the covariance of Poisson incidents. Where all systems
        had as many events the variance is that of Poisson events.

    Returns
    -------
    MeanCumulative
        A system is at risk from its `begin` to its `end`, both included.

    Raises
    ------
    ArgumentError
        For an unknown grouping, or a level outside 0..1.

    Examples
    --------
    The three systems of Meeker and Escobar, table 16.1:

    >>> from relfit.analyses.recurrence import EventHistories
    >>> curve = mean_cumulative(EventHistories.from_groups([[5, 8], [], [1, 8, 16]], end=[12, 16, 20]))
    >>> curve.estimate.round(4).tolist(), (curve.standard_error**2 * 1296).round(9).tolist()
    ([0.3333, 0.6667, 1.3333, 1.8333], [96.0, 96.0, 384.0, 978.0])
    """
    level_checked(level)
    codes, groups = grouping(histories, by)
    size = len(groups)
    history = histories.group_codes()
    owner = codes[history]
    rows = np.lexsort((histories.times, owner))
    times, owner, history = histories.times[rows], owner[rows], history[rows]
    starts = np.flatnonzero(changes(times, owner))
    offsets = np.searchsorted(owner[starts], np.arange(size + 1)).astype(np.int64)
    events = np.append(starts, times.size).astype(np.int64)
    sizes = np.bincount(codes, minlength=size).astype(np.int64)
    systems = offsets_of(sizes)
    watched = np.stack([histories.begin, histories.end])
    order = np.stack([np.lexsort((ends, codes)) for ends in watched])
    out = np.zeros((3, starts.size))
    over_groups(
        offsets, lambda a, b: _steps(offsets, times[starts], events, history, systems, order, watched, out, a, b)
    )
    at_risk, mean, variance = out[0].astype(np.int64), out[1], out[2]
    steps = np.diff(offsets)
    copies = np.repeat(sizes, steps).astype(np.float64)
    if histories.incident is not None:
        variance += _shared(offsets, owner, histories.incident[rows], at_risk, starts) * (copies - 1.0) / copies
    alone = copies < 2
    with np.errstate(divide="ignore", invalid="ignore"):
        # residuals about a mean of n copies are too small by (n - 1)/n; where all copies are alike they are zero
        poisson = _summed(offsets, np.diff(events) / at_risk**2.0)  # the variance of Poisson events
        spread = np.where(variance > 1e-9 * mean**2, variance, poisson)
        error = np.sqrt(spread * copies / (copies - 1.0))
        quantile = np.repeat(special.stdtrit(sizes - 1.0, 0.5 + 0.5 * level), steps)
        low, high = hazard_limits(mean, np.asarray(quantile * error, np.float64))
    low[alone] = high[alone] = np.nan
    status = np.where(np.diff(offsets) == 0, "no_events", np.where(sizes < 2, "one_copy", "ok")).astype(object)
    until = np.zeros(size)
    np.maximum.at(until, codes, histories.end)
    of, name = "mean number of failures", "mean cumulative function"
    curve = times[starts], mean, np.sqrt(variance), low, high, at_risk, np.diff(events)
    return MeanCumulative(groups, offsets, of, name, *curve, sizes, status, level, until, unit_of(histories.groups))


def _shared(offsets: IntArray, owner: IntArray, incident: IntArray, at_risk: IntArray, starts: IntArray) -> FloatArray:
    """Covariance of the mean of two systems at every step: pairs that shared an incident, over pairs at risk."""
    place = order_in_groups(incident, owner)
    number = np.arange(owner.size)
    first = changes(owner[place], incident[place])
    before = np.empty(owner.size)
    before[place] = number - np.maximum.accumulate(np.where(first, number, 0))  # events of the incident so far
    pairs = np.add.reduceat(before, starts) if starts.size else np.zeros(0)
    return _summed(offsets, 2.0 * pairs / np.maximum(at_risk * (at_risk - 1.0), 1.0))


def _summed(offsets: IntArray, steps: FloatArray) -> FloatArray:
    """Running sums of the steps of each group."""
    total = np.cumsum(steps)
    before = np.concatenate([[0.0], total])[offsets[:-1]]
    return np.asarray(total - np.repeat(before, np.diff(offsets)), dtype=np.float64)


@njit(cache=True, nogil=True)
def _steps(
    offsets: np.ndarray,  # where the steps of each group begin
    times: np.ndarray,  # of the steps
    events: np.ndarray,  # where the events of each step begin
    event_history: np.ndarray,  # history of each event, sorted by group and time
    systems: np.ndarray,  # where the histories of each group begin in `order`
    order: np.ndarray,  # (2, histories): by group and beginning, by group and end
    watched: np.ndarray,  # (2, histories): beginning and end
    out: np.ndarray,  # (3, steps): systems at risk, mean, variance
    first: int,
    last: int,
) -> None:
    """Mean cumulative function at every step and its robust variance, for the groups first..last, by running sums."""
    by_begin, by_end, begin, end = order[0], order[1], watched[0], watched[1]
    earned, base = np.zeros(begin.size), np.zeros(begin.size)  # weighted events of each history, the drift as it came
    for group in range(first, last):
        coming, leaving = systems[group], systems[group]
        stop = systems[group + 1]
        total, risk, drift, linear, square, frozen = 0.0, 0, 0.0, 0.0, 0.0, 0.0
        for step in range(offsets[group], offsets[group + 1]):
            now = times[step]
            while coming < stop and begin[by_begin[coming]] <= now:
                base[by_begin[coming]] = drift
                risk += 1
                coming += 1
            while leaving < stop and end[by_end[leaving]] < now:
                history = by_end[leaving]
                residual = earned[history] - (drift - base[history])
                linear -= residual
                square -= residual * residual
                frozen += residual * residual
                risk -= 1
                leaving += 1
            count = events[step + 1] - events[step]
            share = 1.0 / risk
            loss = share * count / risk
            square += risk * loss * loss - 2.0 * loss * linear
            linear -= risk * loss
            drift += loss
            for event in range(events[step], events[step + 1]):
                history = event_history[event]
                residual = earned[history] - (drift - base[history])
                linear += share
                square += share * (2.0 * residual + share)
                earned[history] += share
            total += share * count
            out[0, step], out[1, step], out[2, step] = risk, total, max(frozen + square, 0.0)
