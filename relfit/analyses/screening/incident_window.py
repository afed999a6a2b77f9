"""The windows that join records to incidents, one per level: records of a node, nodes of a rack, racks of a system.

Within a node, a burst is distinguished from a renewal process. Between nodes, only times from a record to the one
before it of *another* node count: its own failures may cluster. `relfit.base.numeric.bursts` has the rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.numeric import bursts
from relfit.base.numeric.ordering import changes
from relfit.base.results import Result
from relfit.base.text import count, duration, percent
from relfit.base.units import NANOSECONDS_PER_HOUR

_COLUMNS = ("from_hours", "to_hours", "observed", "expected", "ratio", "smooth_ratio")
_Choice = tuple[IntArray, IntArray, bursts.ChanceJoins, bursts.Selection]
_RUN = 100  # points over which the rate is taken as constant
_FEWEST_BESIDE = 10  # times beside points of several units that a window can be chosen from
_ENOUGH = 50  # times above a window from which a rate is estimated
_BUSY = 0.1  # share of the time that incidents may fill: beyond it, no rate can be estimated from them


class IncidentWindow(Result):
    """The window of one level and the evidence for it.

    Attributes
    ----------
    level : str
        What is joined: records of one ``"node"``, nodes of one rack (or another attribute), or of one ``"system"``.
    hours : float
        0 joins records within one step of the clock; NaN joins nothing.
    specified : bool
        Whether the window was specified rather than estimated.
    resolution : float
        The clock's step in hours: a minute where all instants are whole minutes, a day where they are dates.
    table : pandas.DataFrame
        One row per class of times: ``from_hours``, ``to_hours``, how many are ``observed`` and ``expected`` by chance,
        their ``ratio``, and ``smooth_ratio``, the ratio made to fall with the length (isotonic regression).
    n_times, n_zeros : int
        Times between records of one node, or from a record to the one before of another node; how many are zero.
    by_chance : float
        Joins within the window that chance alone makes.
    incidents : int
        Incidents left at this level.
    p, p_above : float
        P-value of so many short times if no more than twice (within a node ten times) those by chance were expected
        (Poisson, adjusted for the number of classes); zeros included, and above zero alone.
    group_hours : float
        Window beside an incident of several units, where more of them follow it sooner; else as `hours`.
    status : str
        ``"ok"``; ``"no_excess"`` (short times are about as frequent as by chance); ``"limited"`` (the excess goes on,
        but beyond the window chance would join more than 1 % of the incidents); ``"capped"`` (it goes on at a day,
        where the search ends); ``"coarse"`` (within one step of the clock chance joins more than that, so that nothing
        is joined); ``"too_few"`` times.
    """

    level: str
    hours: float
    specified: bool
    resolution: float
    table: pd.DataFrame
    n_times: int
    n_zeros: int
    by_chance: float
    incidents: int
    p: float
    p_above: float
    status: str
    group_hours: float = np.nan

    _frame = "table"

    @property
    def headline(self) -> str:
        """What the window is and why."""
        what = {"node": "Records of one node"}.get(self.level, f"Records of different nodes of one {self.level}")
        joins = count(round(self.by_chance), "join") if np.isfinite(self.by_chance) else ""
        chance = f"; chance alone would make {joins} among {self.incidents:,} incidents" if joins else ""
        tick = duration(self.resolution)
        if self.specified:
            return f"{what} up to {duration(self.hours)} apart are joined, as specified{chance}."
        if self.status == "coarse" and self.level == "node":
            return f"{what} are not joined: the clock's resolution of {tick} is too coarse for that."
        if self.status == "coarse":
            return (
                f"{what} are joined only where more of them share one tick of the clock than chance explains: a tick "
                f"is {tick}, too coarse to distinguish incidents from chance."
            )
        step = f"within {tick} (the clock's resolution)" if self.resolution > 1e-6 else "at one instant"
        if self.group_hours > self.hours:
            chance += f"; those beside an incident of several records up to {duration(self.group_hours)} apart"
        if self.hours == 0.0:
            few = self.status == "too_few"
            usual = "other short times are about as frequent as by chance"
            reason = "there are too few to choose a window from" if few else usual
            return f"{what} are joined {step} only: {reason}{chance}."
        more = {
            "limited": f"; beyond, chance would join more than {percent(bursts.FALSE_JOINS)} of the incidents",
            "capped": "; the excess continues beyond, where the search ended",
        }.get(self.status, "")
        times = bursts.EXCESS if self.level != "node" else bursts.NODE_EXCESS
        return (
            f"{what} up to {duration(self.hours)} apart are joined: such times are more than {times:g} times as "
            f"frequent as by chance{chance}{more}."
        )


@dataclass(frozen=True, eq=False)
class Points:
    """Records, or incidents of a lower level, sorted by place and start; instants are nanoseconds.
    `place` is where they may be joined, `unit` what must differ for that (a node, a rack), `begun` and `ended` say
    when each place was watched.
    """

    place: IntArray
    unit: IntArray
    start: IntArray
    last: IntArray
    begun: IntArray
    ended: IntArray

    def crowded(self, step: int, share: float) -> tuple[BoolArray, float]:
        """Points that follow another in a step of the clock with more units than chance explains; such joins by chance.

        The number by chance is Poisson with twice the rate of a hundred steps with a record around it; how many it
        takes is such that chance joins less than a `share` of the points.
        """
        tick = self.start // step
        fresh = changes(self.place, tick)
        head = np.flatnonzero(fresh)
        of_tick = np.cumsum(fresh) - 1
        units = pd.Series(self.unit).groupby(of_tick).nunique().to_numpy()
        place, at = self.place[head], tick[head]
        begins = changes(place)
        within = np.arange(head.size) - np.maximum.accumulate(np.where(begins, np.arange(head.size), 0))
        run = np.cumsum(begins | (within % _RUN == 0)) - 1
        size = np.bincount(run)
        first = np.concatenate([[0], np.cumsum(size)[:-1]])
        span = np.maximum(np.maximum.reduceat(at, first) - np.minimum.reduceat(at, first) + 1, size)
        alone = (self.ended - self.begun)[place[first]] // step  # a place with few records: all of its time
        single = np.bincount(np.cumsum(begins) - 1)[(np.cumsum(begins) - 1)[first]] == size
        span = np.where(single, np.maximum(span, alone), span)
        middle = pd.Series(units).groupby(run).median().to_numpy()
        mean = bursts.EXCESS * np.where(size < 0.8 * span, -np.log1p(-size / (span + 1.0)), middle)
        least = np.full(size.size, np.iinfo(np.int64).max)
        unset = np.arange(size.size)
        for number in range(2, 401):
            of = mean[unset]
            false = span[unset] * (of * special.pdtrc(number - 2, of) - special.pdtrc(number - 1, of))
            few = false <= share * size[unset]
            least[unset[few]] = number
            unset = unset[~few]
            if not unset.size:
                break
        many = units >= least[run]
        return np.asarray(~fresh & many[of_tick], dtype=np.bool_), float(mean[run[many]].sum() / bursts.EXCESS)

    @property
    def same(self) -> BoolArray:
        """Which points have one of the same place before them."""
        return ~changes(self.place)

    @property
    def reach(self) -> IntArray:
        """Up to when points so far have lasted, in each place."""
        return pd.Series(self.last).groupby(self.place, sort=False).cummax().to_numpy(dtype=np.int64)

    def beside(self, several: BoolArray) -> BoolArray:
        """Which points, or the one before them in their place, are of `several` units."""
        return np.asarray(self.same & (several | np.roll(several, 1)), dtype=np.bool_)

    def since_other(self) -> IntArray:
        """Nanoseconds since the last point of another unit of the place; -1 where there was none."""
        own = ~changes(self.place, self.unit)
        before = np.maximum.accumulate(np.where(own, 0, np.arange(own.size))) - 1
        there = (before >= 0) & (self.place[before] == self.place)
        return np.where(there, np.maximum(self.start - self.reach[before], 0), -1)


def window_of_nodes(gaps: IntArray, node: IntArray, span: int, step: int, share: float) -> IncidentWindow:
    """The window for records of one node, against a renewal process; arguments as in `base.numeric.bursts`."""
    if gaps.size < bursts.FEWEST:
        return _few("node", gaps, node.size, step)
    return _chosen("node", step, bursts.in_nodes(gaps, node, span, step, share), gaps, node.size)


def window_between(
    points: Points, level: str, step: int, share: float, spent: float = 0.0, specified: float | None = None
) -> tuple[IncidentWindow, IntArray]:
    """The window for points of different units of one place; and the time since another unit of each point."""
    apart = points.since_other()
    times = apart[apart >= 0]
    ends = bursts.ends_of_classes(step, max(bursts.LONGEST, round((specified or 0.0) * NANOSECONDS_PER_HOUR)))
    edges = np.asarray((ends + 0.5) * step, dtype=np.float64)
    observed = np.bincount(np.searchsorted(edges, times), minlength=ends.size)[: ends.size]
    if times.size < bursts.FEWEST:
        return _few(level, times, points.place.size, step, specified), apart
    null = _null_between(points, observed, edges, step)
    choice = ends, observed, null, bursts.select(observed, null, share, spent)
    return _chosen(level, step, choice, times, points.place.size, specified), apart


def window_of_groups(points: Points, several: BoolArray, window: IncidentWindow, step: int, share: float) -> int:
    """Last of the steps of the clock up to which points join that are neighbours of one of `several` units.

    Where units fail together, more of them may follow than the first window reaches. So times beside points of several
    units are judged by themselves from the window on, against as large a share of the times that chance gives. As
    within a node, ten times as many are an incident that goes on; twice as many may be bad hours.
    """
    ends = bursts.ends_of_classes(step, bursts.LONGEST)
    edges = np.asarray((ends + 0.5) * step, dtype=np.float64)
    apart = points.since_other()
    times = np.searchsorted(edges, apart[apart >= 0])
    beside = apart[(apart >= 0) & points.beside(several)]
    first = int(np.searchsorted(ends, round(window.hours * NANOSECONDS_PER_HOUR / step)))
    if beside.size < _FEWEST_BESIDE or first >= ends.size - 1:
        return int(ends[first])
    null = _null_between(points, np.bincount(times, minlength=ends.size)[: ends.size], edges, step)
    part = beside.size / times.size
    observed = np.bincount(np.searchsorted(edges, beside), minlength=ends.size)[first : ends.size]
    observed[0] = 0  # joined already
    longer = bursts.ChanceJoins(
        null.incidents[first:],
        part * (null.false - null.false[first])[first:],
        part * (null.added - null.added[first])[first:],
        null.usable[first:],
        lambda place: part * (null.up_to(first + place) - null.up_to(first + place)[first])[first:],
    )
    return int(ends[first + max(bursts.select(observed, longer, share, excess=bursts.NODE_EXCESS).last, 0)])


def _few(level: str, times: IntArray, n_points: int, step: int, specified: float | None = None) -> IncidentWindow:
    table, zeros = pd.DataFrame(columns=_COLUMNS, dtype=np.float64), int((times < 0.5 * step).sum())
    about = level, specified or 0.0, specified is not None, step / NANOSECONDS_PER_HOUR, table
    return IncidentWindow(*about, times.size, zeros, np.nan, n_points - zeros, np.nan, np.nan, "too_few")


def _chosen(
    level: str, step: int, choice: _Choice, times: IntArray, n_points: int, specified: float | None = None
) -> IncidentWindow:
    ends, observed, null, selection = choice
    unit = step / NANOSECONDS_PER_HOUR
    begin = np.concatenate([[0], ends[:-1] + 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(selection.expected > 0.0, observed / selection.expected, np.nan)
    columns = (begin * unit, ends * unit, observed, selection.expected, ratio, selection.smooth)
    last = selection.last
    if specified is not None:
        last = int(np.searchsorted(ends * unit, specified * (1.0 + 1e-9), side="right")) - 1
    hours = (ends[last] * unit if last >= 0 else np.nan) if specified is None else specified
    left = int(observed[: last + 1].sum())
    false = min(float(null.false[last]), float(left)) if last >= 0 else 0.0
    about = level, float(hours), specified is not None, unit, pd.DataFrame(dict(zip(_COLUMNS, columns, strict=True)))
    evidence = selection.p, selection.p_above, "ok" if specified is not None else selection.status
    return IncidentWindow(*about, times.size, int(observed[0]), false, n_points - left, *evidence)


def _null_between(points: Points, observed: IntArray, edges: FloatArray, step: int) -> bursts.ChanceJoins:
    """Joins that independent units make: the rate of the others, run by run, from the times above each class."""
    size, n_points = edges.size, points.place.size
    same, reach = points.same, points.reach
    head = np.flatnonzero(~same)
    gap = np.where(same, np.maximum(points.start - np.roll(reach, 1), 0), points.start - points.begun[points.place])
    gap = np.maximum(gap, 0)
    after = np.maximum(points.ended[points.place[head]] - reach[np.append(head[1:], n_points) - 1], 0)
    within = np.arange(n_points) - np.repeat(head, np.diff(head, append=n_points))
    fresh = ~same | (within % _RUN == 0)
    run = np.cumsum(fresh) - 1
    runs = int(run[-1]) + 1
    of_place = points.place[fresh]
    ending = np.append(of_place[1:] != of_place[:-1], True)  # the last run of a place holds the time after its points
    place = np.searchsorted(edges, gap)
    cell = run * (size + 1) + place
    count = np.bincount(cell, minlength=runs * (size + 1)).reshape(runs, size + 1)
    length = np.bincount(cell, gap, runs * (size + 1)).reshape(runs, size + 1)
    pair = pd.factorize(points.place * (int(points.unit.max()) + 1) + points.unit)[0]
    of_unit = np.bincount(pair)[pair]
    in_place = np.bincount(points.place)[points.place]
    share = np.bincount(run, 1.0 - of_unit / in_place, runs)
    trailing = np.zeros(runs)
    trailing[ending] = after
    number = count.sum(axis=1, keepdims=True) - np.cumsum(count, axis=1)[:, :size]
    total = length.sum(axis=1, keepdims=True) - np.cumsum(length, axis=1)[:, :size]
    lasts = points.last - np.maximum(points.start, np.where(same, np.roll(reach, 1), points.start))
    joined = np.cumsum(length, axis=1)[:, :size].sum(axis=0) + np.maximum(lasts, 0).sum()
    incidents = n_points - np.cumsum(observed).astype(np.float64)
    lasting = joined / np.maximum(number.sum(axis=0), 1.0)  # of an incident, on average
    false, added, usable = np.zeros(size), np.zeros(size), np.zeros(size, dtype=np.bool_)
    rates: list[tuple[FloatArray, FloatArray]] = []
    begins = np.append(True, ending[:-1])
    of_run, first, of_all = np.cumsum(begins) - 1, np.flatnonzero(begins), count.sum(axis=1)
    for k in range(size):
        above = number[:, k].astype(np.float64)
        free = total[:, k] - edges[k] * above + np.maximum(trailing - edges[k], 0.0)
        so_far = np.cumsum(above)
        key = (so_far - (so_far - above)[first][of_run]) // _ENOUGH
        group = np.cumsum(np.append(True, (key[1:] != key[:-1]) | ending[:-1])) - 1
        many = np.bincount(group, above).astype(np.float64)
        others = np.bincount(group, share) / np.bincount(group, of_all)
        rate = many / np.maximum(np.bincount(group, free), 1.0) * others
        rates.append((rate, many))
        ends = np.array([[edges[k] + lasting[k]], [edges[k]]])
        false[k], added[k] = (many @ within for within in _within(rate, ends, step))
        usable[k] = many.sum() > 0 and rate @ many * lasting[k] <= _BUSY * many.sum()

    def up_to(k: int) -> FloatArray:
        rate, many = rates[k]
        if rate.size > 500:  # so many are alike: take them in two hundred classes
            place = np.digitize(rate, np.quantile(rate, np.linspace(0.0, 1.0, 201)[1:-1]))
            weight = np.bincount(place, many, 200).astype(np.float64)
            full = weight > 0.0
            rate, many = np.bincount(place, rate * many, 200)[full] / weight[full], weight[full]
        return np.asarray(_within(rate[:, None], edges[None, :] + lasting[k], step).T @ many)

    return bursts.ChanceJoins(incidents, false, added, usable, up_to)


def _within(rate: FloatArray, length: FloatArray | float, step: int) -> FloatArray:
    """Probability that another point lies within a length before this one, or the same step of the clock."""
    mu = rate * step
    same = np.where(mu > 1e-9, -np.expm1(-mu) / np.maximum(mu, 1e-300), 1.0)
    return np.asarray(1.0 - np.exp(-rate * np.maximum(length - 0.5 * step, 0.0)) * same)
