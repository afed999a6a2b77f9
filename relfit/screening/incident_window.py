"""The time window that joins records to incidents, chosen from the gaps between them.

Where failures are independent, the gaps between them are exponential, at least over stretches in which the rate holds.
Records of one incident add short gaps on top. Long gaps tell how many short ones independent failures would give;
where more than twice as many are seen, a gap of that length is more likely to lie within an incident than between two.
The window ends where that stops being so. Records of one instant are joined anyway and are no reason to go further:
gaps above zero have to be too many by themselves, beyond chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import optimize, stats

from relfit.errors import ArgumentError
from relfit.units import NANOSECONDS_PER_HOUR

__all__ = ["EXCESS", "WindowChoice", "choose_window"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

EXCESS = 2.0  # times as many gaps as independent failures give: half of them lie within incidents
_STRETCH = 100  # gaps over which the rate is taken as constant
_PER_DECADE = 8
_SIZE = 0.05  # of the test whether there is any excess of short gaps


@dataclass(frozen=True, eq=False)
class WindowChoice:
    """A window and what it rests on; what a picture of the choice shows.

    Attributes
    ----------
    window : float
        Hours. 0 joins only what was recorded at one instant.
    given : bool
        Whether the window was given rather than chosen.
    resolution : float
        Hours between instants that the log can tell apart (a minute where all times are whole minutes).
    table : pandas.DataFrame
        A row a class of gaps: ``from_hours``, ``to_hours``, gaps ``observed`` and ``expected`` of independent failures,
        their ``ratio``, and ``smooth_ratio``, the ratio made to fall with the length (isotonic regression over the
        classes above zero).
    gaps, zero_gaps : int
        Gaps within places, and how many of them are zero.
    by_chance : float
        Gaps within the window that independent failures would give: joins that are likely to be wrong. NaN where gaps
        are too few to tell.
    p : float
        Largest probability of so many short gaps if no more than twice those of independent failures were due (Poisson,
        over the classes that begin at zero, adjusted for their number). NaN where gaps are too few to tell.
    status : str
        ``"ok"``, ``"no_excess"`` (short gaps are not more than twice as frequent as in
        independent failures, beyond chance), ``"too_few"`` (fewer than 20
        gaps above zero) or ``"capped"`` (the excess of short gaps goes on where the search ends, at `longest` or at the
        median gap: the window is a lower bound, and failures may come in bursts rather than in incidents).
    longest : float
        Hours up to which a window was looked for.
    p_above : float
        As `p`, of gaps above zero alone: what a window above zero rests on. NaN where gaps are too few to tell.
    """

    window: float
    given: bool
    resolution: float
    table: pd.DataFrame
    gaps: int
    zero_gaps: int
    by_chance: float
    p: float
    status: str
    longest: float = 24.0
    p_above: float = np.nan

    @property
    def sentence(self) -> str:
        """What was chosen and why, in a sentence."""
        share = f"{100.0 * self.zero_gaps / max(self.gaps, 1):.0f} % of {self.gaps} gaps are zero"
        doubt = (
            "" if np.isnan(self.by_chance) else f"; some {self.by_chance:.0f} joins would come about by chance alone"
        )
        if self.given:
            return f"Records up to {words(self.window)} apart are joined, as asked ({share}){doubt}."
        if self.status == "too_few":
            return f"Only records of one instant are joined: too few gaps to choose a window from ({share})."
        if self.status == "no_excess":
            return (
                f"Only records of one instant are joined: short gaps are about as frequent as chance gives ({share})."
            )
        if self.window == 0.0:
            return f"Only records of one instant are joined: other short gaps are as chance gives ({share}){doubt}."
        capped = (
            f"; the excess goes on beyond {words(self.window)}, where the search ended, so this is a lower bound: give "
            "a window if you know one"
            if self.status == "capped"
            else ""
        )
        return (
            f"Records up to {words(self.window)} apart are joined: such gaps are more than twice as frequent as "
            f"independent failures give ({share}){doubt}{capped}."
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw why the window ends where it does; see `relfit.plotting.incident_window`."""
        from relfit import plotting

        return plotting.incident_window(self, ax)

    def to_frame(self) -> pd.DataFrame:
        """A row a class of gaps."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        number = {name: (None if np.isnan(value) else value) for name, value in
                  (("by_chance", self.by_chance), ("p", self.p), ("p_above", self.p_above))}  # fmt: skip
        return {
            "window_hours": self.window,
            "given": self.given,
            "resolution_hours": self.resolution,
            "gaps": self.gaps,
            "zero_gaps": self.zero_gaps,
            **number,
            "status": self.status,
            "longest_hours": self.longest,
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return f"WindowChoice: {self.sentence}"


def words(hours: float) -> str:
    """A duration in the unit in which it reads best.

    Examples
    --------
    >>> words(0.25), words(30.0), words(96.0)
    ('15 minutes', '30 hours', '4 days')
    """
    if hours * 60.0 < 1.0:
        return f"{hours * 3600.0:.3g} seconds"
    if hours < 2.0:
        return f"{hours * 60.0:.3g} minutes"
    return f"{hours:.3g} hours" if hours < 72.0 else f"{hours / 24.0:.3g} days"


def choose_window(gaps: npt.ArrayLike, window: float | None = None, longest: float = 24.0) -> WindowChoice:
    """Choose the window from gaps, or say what a given one does.

    Gaps are taken in their order, in stretches of 100 with a rate each, so that a rate that drifts, or differs from
    place to place, is not taken for incidents. In each stretch, gaps above a threshold (the median of the gaps above
    zero, then of those above the window found) give the rate and number of the independent ones.

    Parameters
    ----------
    gaps : array_like of int, shape (n,)
        Nanoseconds between consecutive records of one place, place after place, in the order of time.
    window : float, optional
        Hours; chosen when left out.
    longest : float
        Hours; longer windows are not considered. A day, by which most logs have seen the failures of the next cause; a
        window that reaches it is marked ``capped``.

    Returns
    -------
    WindowChoice

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
    >>> 0.02 < choose_window(mixed.astype(np.int64)).window < 0.5
    True
    >>> choose_window((apart * 3.6e12).astype(np.int64)).window
    0.0
    """
    if not longest > 0.0:
        raise ArgumentError(f"a longest window of {longest} h cannot be", remedy="give hours above zero")
    given = np.asarray(gaps, dtype=np.int64)
    positive = given[given > 0]
    resolution = int(np.gcd.reduce(positive)) if positive.size else NANOSECONDS_PER_HOUR
    zeros = given.size - positive.size
    empty = pd.DataFrame(
        columns=["from_hours", "to_hours", "observed", "expected", "ratio", "smooth_ratio"], dtype=np.float64
    )
    if positive.size < 20:
        chosen = 0.0 if window is None else window
        return WindowChoice(
            chosen, window is not None, resolution / NANOSECONDS_PER_HOUR, empty, given.size, zeros, np.nan, np.nan,
            "too_few", longest,
        )  # fmt: skip
    stretches = _Stretches(given)
    steps = _classes(positive, resolution, longest)
    # a class holds gaps of more than `edges[i]` and up to `edges[i + 1]`; the first also those of zero
    edges = np.concatenate([[0.0], (steps + 0.5) * float(resolution)])
    observed = np.bincount(np.searchsorted(edges[1:], given), minlength=steps.size)[: steps.size]
    found, p, p_above, status = 0.0, 1.0, 1.0, "no_excess"
    for _ in range(4):
        expected = np.diff(stretches.expected(edges, found))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(expected > 0.0, observed / expected, np.where(observed > 0, np.inf, 1.0))
        smooth = np.concatenate([ratio[:1], _falling(observed[1:], expected[1:])])
        p, p_above = _of_chance(observed, expected), _of_chance(observed[1:], expected[1:])
        status = "ok" if min(p, p_above) < _SIZE else "no_excess"
        holds = smooth[1:] > EXCESS
        last = holds.size if holds.all() else int(np.argmin(holds))
        before = found
        found = float(steps[last] * resolution) if p_above < _SIZE else 0.0
        if found <= before:
            break
    table = pd.DataFrame(
        {
            "from_hours": np.concatenate([[0.0], (steps[:-1] + 1) * resolution / NANOSECONDS_PER_HOUR]),
            "to_hours": steps * resolution / NANOSECONDS_PER_HOUR,
            "observed": observed,
            "expected": expected,
            "ratio": ratio,
            "smooth_ratio": smooth,
        }
    )
    chosen = found / NANOSECONDS_PER_HOUR if window is None else window
    ends = np.array([0.0, chosen * NANOSECONDS_PER_HOUR + 0.5 * resolution])
    return WindowChoice(
        chosen,
        window is not None,
        resolution / NANOSECONDS_PER_HOUR,
        table,
        given.size,
        zeros,
        float(stretches.expected(ends, found)[1]),
        p,
        "capped" if window is None and 0.0 < float(steps[-1] * resolution) <= found else status,
        longest,
        p_above,
    )


def _falling(observed: IntArray, expected: FloatArray) -> FloatArray:
    """Observed relative to expected, made to fall with the length of the gaps."""
    if not observed.size:
        return np.zeros(0)
    weight = np.maximum(expected, 1e-9)
    return np.asarray(optimize.isotonic_regression(observed / weight, weights=weight, increasing=False).x)


def _of_chance(observed: IntArray, expected: FloatArray) -> float:
    """Least Poisson probability of so many gaps up to the end of a class, adjusted for the number of ends."""
    tails = np.asarray(stats.poisson.sf(np.cumsum(observed) - 1, EXCESS * np.cumsum(expected)))
    return float(min(1.0, tails.min() * tails.size)) if tails.size else 1.0


def _classes(positive: IntArray, resolution: int, longest: float) -> IntArray:
    """Upper ends of classes of gaps, as multiples of the resolution, from 0 to the median gap or `longest`."""
    top = min(float(np.median(positive)), longest * NANOSECONDS_PER_HOUR) / resolution
    low = max(1.0, float(np.quantile(positive, min(2.0 / positive.size + 1e-3, 1.0))) / resolution)
    count = max(int(np.ceil(np.log10(max(top / low, 1.0)) * _PER_DECADE)), 1)
    ends = np.unique(np.round(np.geomspace(low, max(top, low), count + 1)).astype(np.int64))
    return np.concatenate([[0], ends]).astype(np.int64)


class _Stretches:
    """Gaps in stretches of about a hundred, each with a rate of its own."""

    def __init__(self, gaps: IntArray) -> None:
        count = max(gaps.size // _STRETCH, 1)
        self.code = np.minimum(np.arange(gaps.size) // _STRETCH, count - 1)
        self.count = count
        self.gaps = gaps.astype(np.float64)
        self.offsets = np.concatenate([[0], np.cumsum(np.bincount(self.code, minlength=count))])
        even = (count - 1) * _STRETCH
        self.sorted = self.gaps.copy()  # in rising order within each stretch
        self.sorted[:even].reshape(-1, _STRETCH).sort(axis=1)
        self.sorted[even:].sort()

    def expected(self, edges: FloatArray, window: float) -> FloatArray:
        """Independent gaps up to each of `edges` (nanoseconds), all stretches together.

        Gaps above a threshold, the median of those above `window`, are taken as exponential beyond it.
        """
        above = np.bincount(self.code, self.gaps > window, self.count)
        first = self.offsets[1:] - above.astype(np.int64)
        middle = np.minimum(first + (above // 2).astype(np.int64), self.offsets[1:] - 1)
        threshold = self.sorted[middle]
        excess = self.gaps - threshold[self.code]
        beyond = excess > 0.0
        number = np.bincount(self.code, beyond, self.count)
        total = np.bincount(self.code, np.where(beyond, excess, 0.0), self.count)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # the mean excess of n exponentials estimates the mean; (n - 1) / n makes its inverse unbiased
            rate = np.where(number > 1, (number - 1) / total, np.nan)
            size = np.minimum(number * np.exp(np.minimum(rate * threshold, 50.0)), np.diff(self.offsets))
        usable = np.isfinite(rate) & np.isfinite(size)
        rate, size = rate[usable], size[usable]
        scale = self.gaps.size / max(float(np.diff(self.offsets)[usable].sum()), 1.0)
        if size.size > 500:  # so many stretches are alike: take them in two hundred classes of rates
            place = np.digitize(rate, np.quantile(rate, np.linspace(0.0, 1.0, 201)[1:-1]))
            total_size = np.bincount(place, size, 200)
            full = total_size > 0.0
            rate = np.bincount(place, size * rate, 200)[full] / total_size[full]
            size = total_size[full]
        return np.asarray(scale * (size @ -np.expm1(-rate[:, None] * edges[None, :])))
