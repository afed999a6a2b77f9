"""Short times between records: how many a process without bursts gives, and up to which length they are bursts.

A window of some length joins every record that comes within it after the one before. It is the longest for which times
of that length are still more than `EXCESS` (within a node `NODE_EXCESS`) times as frequent as by chance, and for which
chance alone would join less than a small share of the incidents. What chance gives is estimated from the longer times
only, since bursts would otherwise be taken for the rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.numeric.poisson import poisson_sf

EXCESS = 2.0  # times as many as by chance: half of these times lie within incidents
FALSE_JOINS = 0.01  # of the incidents, that chance may join
NODE_EXCESS = 10.0  # within a node: records of a burst follow each other far more often than failures do
LONGEST = 86_400_000_000_000  # nanoseconds: by a day most logs have seen the failures of the next cause
FEWEST = 20  # times between records that a window can be chosen from
_SIZE = 0.05  # of the test whether there is any excess of short times
_PER_DECADE = 8
_STEPS = (86_400_000_000_000, 3_600_000_000_000, 60_000_000_000, 1_000_000_000, 1_000_000, 1_000)  # nanoseconds
_MANY = 20_000  # instants from which a clock's step is found
_ROUND = 0.95  # share of instants that are whole steps of a clock
_SHAPES = np.linspace(0.25, 1.0, 31)  # of the renewal process: a hazard that decreases, or at most is constant


def step_of(instants: IntArray) -> int:
    """Step of the clock that wrote these instants (nanoseconds of local time): a day where they are dates.

    The largest of day, hour, minute, second, milli- and microsecond, or a multiple, of which 95 % of them are whole; a
    nanosecond for fewer than 21 different instants, which are too few to judge.
    """
    for step in _STEPS:
        multiples = instants % step == 0
        if instants.size and multiples.mean() >= _ROUND:
            few = instants[multiples][:: max(int(multiples.sum()) // _MANY, 1)]
            apart = np.diff(np.unique(few // step))
            return step * int(np.gcd.reduce(apart)) if apart.size >= FEWEST else 1
    return 1


def ends_of_classes(step: int, longest: int) -> IntArray:
    """Upper ends of classes of times as multiples of a step, from 0 to `longest` (nanoseconds), eight per decade."""
    most = max(longest // step, 1)
    count = max(int(np.ceil(np.log10(most) * _PER_DECADE)), 1)
    ends = np.unique(np.round(np.geomspace(1.0, most, count + 1)).astype(np.int64))
    return np.concatenate([[0], ends]).astype(np.int64)


@dataclass(frozen=True)
class ChanceJoins:
    """What chance gives, by class, estimated from the times longer than those of the class.

    Of a window up to its end: ``incidents`` that are left, ``false`` joins by chance, and those ``added`` by its
    length, not by incidents that last; ``usable`` where the longer times suffice for that. ``up_to`` gives the times up
    to the end of every class that chance gives, by the times above those of one class.
    """

    incidents: FloatArray
    false: FloatArray
    added: FloatArray
    usable: BoolArray
    up_to: Callable[[int], FloatArray]


@dataclass(frozen=True)
class Selection:
    """A window as a class of times: the last class that is joined, -1 where nothing is.

    `expected` times in each class, their `smooth` ratio, and the p-values of an excess over `EXCESS` times as many.
    """

    last: int
    status: str
    expected: FloatArray
    smooth: FloatArray
    p: float
    p_above: float


def select(
    observed: IntArray, null: ChanceJoins, share: float, spent: float = 0.0, excess: float = EXCESS
) -> Selection:
    """The last class of times to join.

    The first of the classes `observed` has the times within one step of the clock. Chance may join the `share` of the
    incidents, `spent` of which are joined so far; joined times must be `excess` times as frequent as by chance.
    """
    allowed = null.usable & (null.added + spent <= share * null.incidents)
    last = int(np.flatnonzero(allowed)[-1]) if allowed.any() else -1
    end, status = last, "limited" if last < observed.size - 1 else "capped"
    while True:
        expected = np.diff(null.up_to(max(end, 0)), prepend=0.0)
        smooth = np.concatenate([_ratio(observed[:1], expected[:1]), _falling(observed[1:], expected[1:])])
        p, p_above = _by_chance(observed, expected, excess), _by_chance(observed[1:], expected[1:], excess)
        if end <= 0:
            break
        holds = smooth[1 : end + 1] > excess
        reach = end if holds.all() else int(np.argmin(holds))
        if p_above >= _SIZE:
            reach, status = 0, "ok" if p < _SIZE else "no_excess"
        elif reach < end:
            status = "ok"
        below = np.flatnonzero(allowed[: reach + 1])
        reach = int(below[-1]) if below.size else -1
        if reach == end:
            break
        end = reach
    if end <= 0 and last >= 0 and status == "limited":
        status = "ok" if p < _SIZE else "no_excess"
    if end < 0:
        status = "coarse"
    return Selection(end, status, expected, smooth, p, p_above)


def renewal_null(
    observed: IntArray, sums: FloatArray, ends: FloatArray, longer: FloatArray, in_a_step: float
) -> ChanceJoins:
    """Times between records of one node that a Weibull renewal process of decreasing hazard gives.

    It is fitted by maximum likelihood to the times above the end of each class (left truncation), and continued below.
    By class there are the number `observed`, the sums of the logs of the times, and the ends, above zero, in any unit;
    `longer` are the times above the last end, `in_a_step` those within the first class that records at a constant rate
    give.
    """
    size = ends.size
    beyond = np.log(longer)
    place = ((beyond - np.log(ends[-1])) * 32.0).astype(np.int64)  # in classes too: thirty-two per factor of e
    count = np.append(observed, np.bincount(place)).astype(np.float64)
    logs = np.append(sums, np.bincount(place, beyond))

    def above(values: npt.NDArray[np.number]) -> FloatArray:
        """Sums over the classes after each of the first ones."""
        return np.cumsum(values[..., ::-1], axis=-1, dtype=np.float64)[..., ::-1][..., 1 : size + 1]

    if count.size == size:
        count, logs = np.append(count, 0.0), np.append(logs, 0.0)
    number, log_sum = above(count), above(logs)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        middle = np.where(count > 0, logs / np.maximum(count, 1.0), 0.0)
        powers = count * np.exp(_SHAPES[:, None] * middle)
        at = ends ** _SHAPES[:, None]
        mean = above(powers) / number - at
        fit = number * (np.log(_SHAPES)[:, None] - np.log(mean)) + (_SHAPES[:, None] - 1.0) * log_sum
    best = np.argmax(np.where(np.isfinite(fit), fit, -np.inf), axis=0)
    columns = np.arange(size)
    usable = (number >= FEWEST) & (mean[best, columns] > 0.0)

    def up_to(place: int) -> FloatArray:
        shape, scale = best[place], mean[best[place], place]
        if not usable[place]:
            return np.full(size, np.inf)
        total = number[place] * np.exp(min(at[shape, place] / scale, 700.0))  # of all lengths
        return np.asarray(total * -np.expm1(-at[shape] / scale))

    false = np.array([up_to(place)[place] for place in range(size)])
    usable[0] = True
    false[0] = in_a_step  # longer times do not show a renewal process below a step of the clock
    return ChanceJoins(number, false, false, usable, up_to)


def in_nodes(
    gaps: IntArray, node: IntArray, span: int, step: int, share: float = FALSE_JOINS / 3.0
) -> tuple[IntArray, IntArray, ChanceJoins, Selection]:
    """Classes of the times between records of one node, how many are in each, and up to which they are bursts.

    Of `gaps`, nanoseconds between consecutive records of one node, there are `FEWEST` or more; `node` has the node of
    every record, `span` and `step` the nanoseconds of observation and of a step of the clock. The ends of the classes
    are multiples of the step.
    """
    ends = ends_of_classes(step, LONGEST)
    edges = np.asarray((ends + 0.5) * step, dtype=np.float64)
    place = np.searchsorted(edges, gaps)
    observed = np.bincount(place, minlength=ends.size)[: ends.size]
    inside = place < ends.size
    # the length within a step is unknown: a quarter of one stands for zero
    shorter = np.log(np.maximum(gaps[inside], 0.25 * step))
    logs = np.bincount(place[inside], shorter, ends.size).astype(np.float64)
    each = np.bincount(node).astype(np.float64)
    in_a_step = float(each @ each) * 0.5 * step / max(span, 1)
    null = renewal_null(observed, logs, edges, gaps[~inside].astype(np.float64), in_a_step)
    return ends, observed, null, select(observed, null, share, excess=NODE_EXCESS)


def _ratio(observed: IntArray, expected: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 0.0, observed / expected, np.where(observed > 0, np.inf, 1.0))


def _falling(observed: IntArray, expected: FloatArray) -> FloatArray:
    """Observed relative to expected, made to fall with the length of the times."""
    if not observed.size:
        return np.zeros(0)
    weight = np.maximum(np.nan_to_num(expected, posinf=1e300), 1e-9)
    number, total = (np.concatenate([[0.0], np.cumsum(values)]) for values in (observed, weight))
    first, last = np.arange(weight.size)[:, None], np.arange(weight.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (number[1:] - number[:-1, None]) / (total[1:] - total[:-1, None])
    # isotonic regression: of the means from `first` to `last` the largest of those that end later, then the least of
    # those that begin earlier
    largest = np.maximum.accumulate(np.where(first <= last, mean, -np.inf)[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(np.where(first <= last, largest, np.inf).min(axis=0), np.float64)


def _by_chance(observed: IntArray, expected: FloatArray, excess: float) -> float:
    """Least Poisson probability of at least so many times up to the end of a class, adjusted for the number of ends."""
    tails = np.asarray(poisson_sf(np.cumsum(observed) - 1, excess * np.cumsum(expected)))
    tails = tails[np.isfinite(tails)]
    return float(min(1.0, tails.min() * tails.size)) if tails.size else 1.0
