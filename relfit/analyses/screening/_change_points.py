"""Change points in the failure rate of a log, and its stable period.

Failures in bins of time are a Poisson process with a rate that is constant within a period. Of all ways to cut the
observation, that is taken which maximises the likelihood less a penalty for each change (Jackson et al. 2005). With it
a log with a constant rate stays one period with probability 99 %, by random logs in which every node has its own times
between failures in random order. Where counts scatter more from bin to bin, or a rate wanders from month to month, the
likelihood is divided by that excess. Weeks or months whose counts vary more than those of the random logs are reported
beside the periods. Periods whose rates differ too little to matter are joined.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.analyses.screening import segmentation
from relfit.analyses.screening._incidents import incidents
from relfit.analyses.screening.incident_results import Incidents
from relfit.analyses.screening.periods import FEWEST, LEAST_SHARE, ChangePoints, Period
from relfit.analyses.screening.tallies import need_dates
from relfit.base.arguments import durations, one_whole, share
from relfit.base.arrays import Duration, FloatArray, IntArray, NumberArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.levels import level_checked
from relfit.base.numeric.poisson import poisson_interval
from relfit.base.units import HOURS_PER_YEAR, NANOSECONDS_PER_HOUR, nanoseconds
from relfit.log.failurelog import FailureLog
from relfit.log.outages import Watched, watched_of
from relfit.log.tables import made_once, places_of_pairs

_Binned = tuple[IntArray, FloatArray]  # failures and hours of exposure in each bin
_SHORTEST = 720.0  # hours of a period
_SPANS = (168.0, 720.0)  # hours: whether weeks or months are good and bad ones
_LEAST_VARIATION = 0.1  # of the rate from one to the next, as in `relfit.analyses.independence.thresholds`
_YEAR = round(HOURS_PER_YEAR * NANOSECONDS_PER_HOUR)  # the first one of a node
_YOUNG = 1.25  # times the rate of older nodes, from which those in their first year are named
_MOST_DRAWN = 100_000  # failures of a random log; of more, those of some of the nodes


@made_once
def change_points(
    log: FailureLog,
    *,
    of: str | Incidents = "incidents",
    bin_width: Duration = "1D",
    alpha: float = 0.01,
    least_change: float = 1.25,
    level: float = 0.95,
    n_resamples: int = 499,
    rng: int | np.random.Generator | None = 0,
) -> ChangePoints:
    """Cut the observation of a log into periods of constant failure rate.

    The period to use is the most recent one with at least a sixth of the exposure and ten failures; else, of those with
    ten failures, the one with the most exposure; else the one with the most failures. It is named ``steady``, or
    ``higher later rate`` if it ends the log and the one before it was long enough and had a lower rate. Earlier periods
    are ``higher early rate`` if all of them from the start on have a higher rate, else ``earlier``; later ones ``higher
    later rate`` if their rate is higher by `least_change`, else ``later``.

    Parameters
    ----------
    log : FailureLog
        Select a system first (``log.where(system=...)``); otherwise the rate is that of all systems together.
    of : {"incidents", "records"} or Incidents
        Count incidents (these, or those of `relfit.analyses.screening.incidents`), or every record.
    bin_width : duration
        Width of a bin, hours or text such as "12h". A period has at least 30 days, or a tenth of a log shorter than 300
        days.
    alpha : float
        Probability of reporting a change where the rate is constant; sets the penalty.
    least_change : float
        Neighbouring periods whose rates differ by a smaller factor are joined; 1 keeps all. The default of 1.25 is the
        precision of a rate from sixty failures; in a large log any change is significant.
    level : float
        Level of the confidence intervals of rates and starts.
    n_resamples : int
        Random logs behind the penalty, 99 or more; fewer are drawn if there is clearly no change.
    rng : int or numpy.random.Generator
        For the random logs.

    Raises
    ------
    ArgumentError
        For a log without a span of time or of lifetimes, or an option outside its range.

    Examples
    --------
    >>> import relfit as rf
    >>> result = change_points(rf.datasets.load("white"))
    >>> [period.name for period in result.periods][-1], result.stable_period.start.year
    ('steady', 2002)
    """
    share("alpha", alpha, zero=False, one=False)
    level_checked(level)
    joined, of = (of, "incidents") if isinstance(of, Incidents) else (None, of)
    if of not in ("incidents", "records"):
        raise ArgumentError(f"of={of!r} is not known", remedy="use incidents or records")
    if not least_change >= 1.0:
        raise ArgumentError(f"least_change={least_change} is not possible", remedy="give a factor of 1 or more")
    if one_whole("n_resamples", n_resamples, 0) < 99:
        raise ArgumentError(f"n_resamples={n_resamples} are too few", remedy="use 99 or more")
    need_dates(log, "it has no periods")
    first, last = log.window.start, log.window.end
    width = float(durations("bin_width", bin_width, zero=False))
    count = int(np.clip(round(log.window.hours / width), 1, 20_000))
    edges = np.linspace(first.as_unit("ns").value, last.as_unit("ns").value, count + 1).astype(np.int64)
    nodes = watched_of(log)
    countable = nodes.n_groups > 0 and log.question is None  # else the rate is that of the fleet
    exposure = np.diff(nodes.hours_until(edges) if countable else edges / NANOSECONDS_PER_HOUR)
    if of == "incidents":
        joined = incidents(log) if joined is None and len(log.events) else joined
        when = row = np.zeros(0, np.int64)
        if joined is not None:
            when, row = nanoseconds(joined.table["start"]), joined.first_records
    else:
        row = np.flatnonzero(~log.events["start_cut"].to_numpy(dtype=bool))
        when = nanoseconds(log.events["start"].iloc[row])
    counts, unwatched = _counts(when, edges, exposure)
    smallest = max(1, min(round(_SHORTEST / (log.window.hours / count)), count // 10))
    total = int(counts.sum())
    dispersion = segmentation.excess(counts, exposure, smallest)
    strongest, uneven, first_year = np.nan, (np.nan, np.nan), np.nan
    if total < FEWEST or exposure.sum() <= 0.0:
        cuts = np.array([0, count], dtype=np.int64)
        used = np.nan
    else:
        # an incident belongs to the node of its first record, or to the system
        owner = np.full(row.size, -1)
        if nodes.n_groups:
            owner = places_of_pairs(log.events[["system", "node"]].iloc[row], nodes.groups)
        owner = np.where(owner < 0, nodes.n_groups, owner)
        entered, left = np.append(nodes.entered, edges[0]), np.append(nodes.left, edges[-1])
        renewals = segmentation.Renewals.of(when, owner, entered, left, _MOST_DRAWN)
        spans = np.maximum(np.round(np.array(_SPANS) / (log.window.hours / count)), 1.0).astype(np.int64)
        by_chance: list[FloatArray] = []

        def drawn(generator: np.random.Generator) -> IntArray:
            place = (renewals.drawn(generator) - edges[0]) * (count / (edges[-1] - edges[0]))
            number = np.bincount(np.clip(place.astype(np.int64), 0, count - 1), minlength=count)
            number = np.where(exposure > 0.0, number, 0)
            by_chance.append(segmentation.dispersions(number, exposure, np.array([0, count]), spans))
            return number

        best = segmentation.gain_of(*segmentation.thinned(counts, exposure, smallest)) / dispersion
        gains, strongest = segmentation.null_gains(drawn, exposure, smallest, best, n_resamples, rng)
        used = float(np.quantile(gains, 1.0 - alpha, method="higher"))

        def cut_for(scatter: float) -> IntArray:
            if strongest > alpha:
                return np.array([0, count], dtype=np.int64)
            every = segmentation.segments(counts, exposure, used * scatter, smallest)
            return segmentation.merged(every, counts, exposure, least_change)

        cuts = cut_for(dispersion)
        # bursts and spells longer than neighbouring bins: what the periods leave from month to month scatters more
        chance = np.maximum(np.mean(by_chance, axis=0), 1e-9)
        month = float((segmentation.dispersions(counts, exposure, cuts, spans) / chance).max())
        if cuts.size > 2 and month > dispersion:
            best, dispersion = best * dispersion / month, month
            strongest = (1 + int((gains >= best).sum())) / (1 + gains.size)
            cuts = cut_for(dispersion)
        width = float(edges[-1] - edges[0]) / count / NANOSECONDS_PER_HOUR
        uneven = _uneven((counts, exposure), cuts, by_chance, spans, width, alpha)
        if uneven[1] > 1.0 and countable:
            older = _of_older(nodes, when, owner, edges)
            even = np.isnan(_uneven(older, cuts, by_chance, spans, width, alpha)[0])
            first_year = _times_older(older, counts, exposure) if even else np.nan
    number, time = np.add.reduceat(counts, cuts[:-1]), np.add.reduceat(exposure, cuts[:-1])
    low, high = poisson_interval(number / dispersion, level)
    with np.errstate(divide="ignore", invalid="ignore"):
        watched = np.where(time > 0.0, time, np.nan)
        rate, low, high = number / watched, dispersion * low / watched, dispersion * high / watched
    long = time >= LEAST_SHARE * time.sum()
    stable = _to_use(long, time, number)
    names = _names(rate, stable, bool(stable > 0 and long[stable - 1]), least_change)
    dates = pd.to_datetime(edges, utc=True).as_unit("ns").tz_convert(first.tz)
    inner = dates[cuts[1:-1]]
    starts, ends = [first, *inner], [*inner, last]
    limits = _limits_of_cuts(cuts, counts, exposure, dispersion, level)
    lowest, highest = ([first, *dates[limits[:, i]]] for i in range(2))
    per = ["node-year" if countable else "year"] * number.size
    numbers = (values.tolist() for values in (number, time, rate, low, high))
    each = zip(starts, ends, lowest, highest, names, *numbers, per, strict=True)
    periods = tuple(Period(*values) for values in each)
    bins, status = (edges, counts, exposure), "ok" if total >= FEWEST else "too_few"
    tested = of, used, dispersion, strongest, level
    return ChangePoints(periods, stable, *tested, *bins, status, least_change, unwatched, *uneven, first_year)


def stable_period(log: FailureLog, **options: Any) -> Period:
    """`ChangePoints.stable_period`: the most recent period that is long enough for a fit; options as `change_points`.

    `relfit.fleet.chosen_period` takes the complete log instead if the start of this period is too uncertain.

    Examples
    --------
    >>> import relfit as rf
    >>> log = rf.datasets.load("white")
    >>> period = stable_period(log)
    >>> log.between(period.start, period.end).ttf().n_groups
    512
    """
    return change_points(log, **options).stable_period


def _counts(when: IntArray, edges: IntArray, exposure: FloatArray) -> tuple[IntArray, int]:
    """Failures in each bin, and those at times when no node was under observation."""
    place = np.searchsorted(edges, when, side="right") - 1
    place[when == edges[-1]] = edges.size - 2
    inside = (place >= 0) & (place < edges.size - 1)
    inside[inside] &= exposure[place[inside]] > 0.0
    return np.bincount(place[inside], minlength=edges.size - 1).astype(np.int64), int((~inside).sum())


def _of_older(nodes: Watched, when: IntArray, owner: IntArray, edges: IntArray) -> _Binned:
    """Failures and node-hours in each bin, without the first year of nodes that are known to have joined."""
    joined = nodes.entered_known & (nodes.entered > edges[0])
    begun = np.where(joined, np.minimum(nodes.entered + _YEAR, nodes.left), nodes.entered)
    exposure = np.diff(replace(nodes, entered=begun).hours_until(edges))
    old = when >= np.append(begun, edges[0])[owner]
    return _counts(when[old], edges, exposure)[0], exposure


def _times_older(older: _Binned, counts: IntArray, exposure: FloatArray) -> float:
    """Failure rate in the first year over that of `older`; NaN if not clearly higher, or if the older had too few."""
    number, time = int(older[0].sum()), float(older[1].sum())
    others, rest = int(counts.sum()) - number, float(exposure.sum()) - time
    if 2 * number < counts.sum() or not rest > 0.0:
        return float("nan")
    ratio = (others / rest) / (number / time)
    return ratio if ratio >= _YOUNG else float("nan")


def _uneven(
    binned: _Binned, cuts: IntArray, by_chance: list[FloatArray], spans: IntArray, width: float, alpha: float
) -> tuple[float, float]:
    """Span in hours over which counts vary most beyond random logs, and by how many times; NaN where over none."""
    counts, drawn = binned[0], np.array(by_chance)
    seen = segmentation.dispersions(*binned, cuts, spans)
    mean, spread = np.maximum(drawn.mean(axis=0), 1e-9), np.maximum(drawn.std(axis=0, ddof=1), 1e-9)
    p = special.gammaincc((mean / spread) ** 2, seen * mean / spread**2)
    each = counts.sum() / counts.size * spans
    variation = np.sqrt(np.maximum(seen - mean, 0.0) / each)
    off = np.flatnonzero((p <= alpha / spans.size) & (variation >= _LEAST_VARIATION))
    if not off.size:
        return np.nan, np.nan
    worst = off[np.argmax(variation[off])]
    return width * float(spans[worst]), float(seen[worst] / mean[worst])


def _to_use(long: npt.NDArray[np.bool_], time: FloatArray, number: NumberArray) -> int:
    """The stable period: recent, long enough, and with failures to fit to."""
    many = number >= FEWEST
    both = np.flatnonzero(long & many)
    if both.size:
        return int(both[-1])
    if many.any():
        return int(np.argmax(np.where(many, time, -1.0)))
    return int(np.lexsort((time, number))[-1])


def _names(rate: FloatArray, stable: int, before_long: bool, least_change: float) -> list[str]:
    worse = rate > rate[stable]
    names = ["higher early rate" if worse[: i + 1].all() else "earlier" for i in range(stable)]
    risen = stable == rate.size - 1 and before_long and rate[stable - 1] < rate[stable]
    names.append("higher later rate" if risen else "steady")
    worn = worse & (rate >= least_change * rate[stable])
    return names + ["higher later rate" if worn[i] else "later" for i in range(stable + 1, rate.size)]


def _limits_of_cuts(
    cuts: IntArray, counts: IntArray, exposure: FloatArray, dispersion: float, level: float
) -> IntArray:
    """First and last bin at which each period but the first can have begun, given the other cuts.
    By the quantile of (1 - exp(-x/2))**2, the distribution of twice the fall of the log-likelihood (Hansen 2000).
    """
    allowed = -np.log1p(-np.sqrt(level)) * dispersion  # half of the quantile
    running = np.concatenate([[0.0], np.cumsum(counts)])
    time = np.concatenate([[0.0], np.cumsum(exposure)])
    limits = []
    for left, right in zip(cuts[:-2], cuts[2:], strict=True):
        inner = np.arange(left + 1, right)
        n, t = running[inner] - running[left], time[inner] - time[left]
        m, u = running[right] - running[inner], time[right] - time[inner]
        with np.errstate(divide="ignore", invalid="ignore"):
            first = np.where((n > 0) & (t > 0), n * np.log(n / t), 0.0)
            second = np.where((m > 0) & (u > 0), m * np.log(m / u), 0.0)
        near = inner[first + second >= (first + second).max() - allowed]
        limits.append((near[0], near[-1]))
    return np.array(limits, dtype=np.int64).reshape(-1, 2)
