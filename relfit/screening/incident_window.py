"""The time window that joins records to incidents, estimated from the times between them.

Where failures are independent, times between them are exponential, at least as long as the rate holds. Records of one
incident add short times on top. Long times tell how many short ones independent failures would give; where more than
twice as many are seen, a time of that length is more likely to lie within an incident than between two. The window ends
where that stops being so. Records of one instant are joined anyway and are no reason to go further: times above zero
have to be too many by themselves, beyond chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import optimize, stats

from relfit.arrays import FloatArray, IntArray
from relfit.errors import ArgumentError
from relfit.results import Result
from relfit.text import duration, percent
from relfit.units import NANOSECONDS_PER_HOUR

__all__ = ["EXCESS", "IncidentWindow", "choose_window"]


EXCESS = 2.0  # times as many as independent failures give: half of these times lie within incidents
_RUN = 100  # times between records over which the rate is taken as constant
_PER_DECADE = 8
_FEWEST = 20  # times above zero that a window can be chosen from
_SIZE = 0.05  # of the test whether there is any excess of short times


@dataclass(frozen=True, eq=False, repr=False)
class IncidentWindow(Result):
    """A window and what it rests on.

    Attributes
    ----------
    hours : float
        0 joins only what was recorded at one instant.
    specified : bool
        Whether the window was specified rather than estimated.
    resolution : float
        Hours between instants that the log can tell apart (a minute where all times are whole minutes).
    table : pandas.DataFrame
        One row per class of times between records: ``from_hours``, ``to_hours``, how many are ``observed`` and
        ``expected`` of independent failures, their ``ratio``, and ``smooth_ratio``, the ratio made to fall with the
        length (isotonic regression over the classes above zero).
    n_times, n_zeros : int
        Times between consecutive records of one place, and how many of them are zero.
    by_chance : float
        Times within the window that independent failures would give: joins that are likely to be wrong. NaN where
        there are too few to tell.
    p : float
        Largest probability of at least so many short times if no more than twice those of independent failures were due
        (Poisson, over the classes that begin at zero, adjusted for their number). NaN where there are too few to tell.
    p_above : float
        The same of times above zero alone: what a window above zero rests on.
    status : str
        ``"ok"``, ``"no_excess"`` (short times are not more than twice as frequent as in independent failures, beyond
        chance), ``"too_few"`` (fewer than 20 times above zero) or ``"capped"`` (the excess of short times goes on where
        the search ends, at `longest` or at the median: the window is a lower bound, and failures may come in bursts
        rather than in incidents).
    longest : float
        Hours up to which a window was looked for.
    """

    hours: float
    specified: bool
    resolution: float
    table: pd.DataFrame
    n_times: int
    n_zeros: int
    by_chance: float
    p: float
    p_above: float
    status: str
    longest: float

    @property
    def headline(self) -> str:
        """What the window is and why."""
        basis = f"({percent(self.n_zeros / max(self.n_times, 1))} of {self.n_times:,} times between records are zero)"
        if not np.isnan(self.by_chance):
            basis += f"; some {self.by_chance:.0f} joins would come about by chance alone"
        if self.specified:
            return f"Records up to {duration(self.hours)} apart are joined, as specified {basis}."
        instant = "Only records of one instant are joined: "
        if self.status == "too_few":
            return f"{instant}too few times between records to choose a window from {basis}."
        if self.status == "no_excess":
            return f"{instant}short times between records are about as frequent as by chance {basis}."
        if self.hours == 0.0:
            return f"{instant}other short times between records are as frequent as by chance {basis}."
        if self.status == "capped":
            basis += (
                f"; the excess goes on beyond {duration(self.hours)}, where the search ended, so this is a lower bound "
                "(give a window if you know one)"
            )
        return (
            f"Records up to {duration(self.hours)} apart are joined: such times are more than {EXCESS:g} times as "
            f"frequent as independent failures give {basis}."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per class of times between records."""
        return self.table


def choose_window(between: npt.ArrayLike, window: float | None = None, longest: float = 24.0) -> IncidentWindow:
    """Choose the window from the times between records, or say what a specified one does.

    They are taken in their order, a hundred at a time with a rate each, so that a rate that drifts, or differs from
    place to place, is not taken for incidents. In each hundred, times above a threshold (the median of those above
    zero, then of those above the window) give the rate and number of the independent ones.

    Parameters
    ----------
    between : array_like of int, shape (n,)
        Nanoseconds between consecutive records of one place, place after place, in the order of time.
    window : float, optional
        Hours; estimated when left out.
    longest : float
        Hours; longer windows are not considered. A day, by which most logs have seen the failures of the next cause; a
        window that reaches it is marked ``capped``.

    Returns
    -------
    IncidentWindow

    Raises
    ------
    ArgumentError
        For a `longest` that is not positive.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> apart = rng.exponential(50.0, 2000)
    >>> within = rng.exponential(0.01, 1000)
    >>> mixed = rng.permutation(np.concatenate([apart, within])) * 3.6e12
    >>> 0.02 < choose_window(mixed.astype(np.int64)).hours < 0.5
    True
    >>> choose_window((apart * 3.6e12).astype(np.int64)).hours
    0.0
    """
    if not longest > 0.0:
        raise ArgumentError(f"a longest window of {longest} h cannot be", remedy="give hours above zero")
    times = np.asarray(between, dtype=np.int64)
    positive = times[times > 0]
    resolution = int(np.gcd.reduce(positive)) if positive.size else NANOSECONDS_PER_HOUR
    about: dict[str, Any] = {"resolution": resolution / NANOSECONDS_PER_HOUR, "n_times": times.size, "longest": longest}
    about |= {"n_zeros": times.size - positive.size, "specified": window is not None}
    names = ("from_hours", "to_hours", "observed", "expected", "ratio", "smooth_ratio")
    if positive.size < _FEWEST:
        table = pd.DataFrame(columns=names, dtype=np.float64)
        unknown: dict[str, Any] = {"by_chance": np.nan, "p": np.nan, "p_above": np.nan}
        return IncidentWindow(window or 0.0, table=table, status="too_few", **unknown, **about)
    runs = _Runs(times)
    steps = _classes(positive, resolution, longest)
    # a class holds times of more than `edges[i]` and up to `edges[i + 1]`; the first also those of zero
    edges = np.concatenate([[0.0], (steps + 0.5) * float(resolution)])
    observed = np.bincount(np.searchsorted(edges[1:], times), minlength=steps.size)[: steps.size]
    end, status = 0.0, "no_excess"
    for _ in range(4):
        expected = np.diff(runs.expected(edges, end))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(expected > 0.0, observed / expected, np.where(observed > 0, np.inf, 1.0))
        smooth = np.concatenate([ratio[:1], _falling(observed[1:], expected[1:])])
        p, p_above = _of_chance(observed, expected), _of_chance(observed[1:], expected[1:])
        status = "ok" if min(p, p_above) < _SIZE else "no_excess"
        holds = smooth[1:] > EXCESS
        last = holds.size if holds.all() else int(np.argmin(holds))
        before, end = end, float(steps[last] * resolution) if p_above < _SIZE else 0.0
        if end <= before:
            break
    begin = np.concatenate([[0], steps[:-1] + 1]) * resolution / NANOSECONDS_PER_HOUR
    columns = (begin, steps * resolution / NANOSECONDS_PER_HOUR, observed, expected, ratio, smooth)
    hours = end / NANOSECONDS_PER_HOUR if window is None else window
    if window is None and 0.0 < float(steps[-1] * resolution) <= end:
        status = "capped"
    by_chance = float(runs.expected(np.array([0.0, hours * NANOSECONDS_PER_HOUR + 0.5 * resolution]), end)[1])
    table = pd.DataFrame(dict(zip(names, columns, strict=True)))
    return IncidentWindow(hours, table=table, status=status, by_chance=by_chance, p=p, p_above=p_above, **about)


def _falling(observed: IntArray, expected: FloatArray) -> FloatArray:
    """Observed relative to expected, made to fall with the length of the times."""
    if not observed.size:
        return np.zeros(0)
    weight = np.maximum(expected, 1e-9)
    return np.asarray(optimize.isotonic_regression(observed / weight, weights=weight, increasing=False).x)


def _of_chance(observed: IntArray, expected: FloatArray) -> float:
    """Least Poisson probability of at least so many times up to the end of a class, adjusted for the number of ends."""
    tails = np.asarray(stats.poisson.sf(np.cumsum(observed) - 1, EXCESS * np.cumsum(expected)))
    return float(min(1.0, tails.min() * tails.size)) if tails.size else 1.0


def _classes(positive: IntArray, resolution: int, longest: float) -> IntArray:
    """Upper ends of classes of times, as multiples of the resolution, from 0 to the median or `longest`."""
    top = min(float(np.median(positive)), longest * NANOSECONDS_PER_HOUR) / resolution
    low = max(1.0, float(np.quantile(positive, min(2.0 / positive.size + 1e-3, 1.0))) / resolution)
    count = max(int(np.ceil(np.log10(max(top / low, 1.0)) * _PER_DECADE)), 1)
    ends = np.unique(np.round(np.geomspace(low, max(top, low), count + 1)).astype(np.int64))
    return np.concatenate([[0], ends]).astype(np.int64)


class _Runs:
    """Times between records in runs of about a hundred, each with a rate of its own."""

    def __init__(self, times: IntArray) -> None:
        count = max(times.size // _RUN, 1)
        self.code = np.minimum(np.arange(times.size) // _RUN, count - 1)
        self.count = count
        self.times = times.astype(np.float64)
        self.offsets = np.concatenate([[0], np.cumsum(np.bincount(self.code, minlength=count))])
        even = (count - 1) * _RUN
        self.sorted = self.times.copy()  # in rising order within each run
        self.sorted[:even].reshape(-1, _RUN).sort(axis=1)
        self.sorted[even:].sort()

    def expected(self, edges: FloatArray, window: float) -> FloatArray:
        """Independent times up to each of `edges` (nanoseconds), all runs together.

        Times above a threshold, the median of those above `window`, are taken as exponential beyond it.
        """
        above = np.bincount(self.code, self.times > window, self.count)
        first = self.offsets[1:] - above.astype(np.int64)
        middle = np.minimum(first + (above // 2).astype(np.int64), self.offsets[1:] - 1)
        threshold = self.sorted[middle]
        excess = self.times - threshold[self.code]
        beyond = excess > 0.0
        number = np.bincount(self.code, beyond, self.count)
        total = np.bincount(self.code, np.where(beyond, excess, 0.0), self.count)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # the mean excess of n exponentials estimates the mean; (n - 1) / n makes its inverse unbiased
            rate = np.where(number > 1, (number - 1) / total, np.nan)
            size = np.minimum(number * np.exp(np.minimum(rate * threshold, 50.0)), np.diff(self.offsets))
        usable = np.isfinite(rate) & np.isfinite(size)
        rate, size = rate[usable], size[usable]
        scale = self.times.size / max(float(np.diff(self.offsets)[usable].sum()), 1.0)
        if size.size > 500:  # so many runs are alike: take them in two hundred classes of rates
            place = np.digitize(rate, np.quantile(rate, np.linspace(0.0, 1.0, 201)[1:-1]))
            total_size = np.bincount(place, size, 200)
            full = total_size > 0.0
            rate = np.bincount(place, size * rate, 200)[full] / total_size[full]
            size = total_size[full]
        return np.asarray(scale * (size @ -np.expm1(-rate[:, None] * edges[None, :])))
