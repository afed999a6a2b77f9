"""How many jobs will go through: as many as did lately, and as the model of the fleet lets expect, weighed by the past.

Day by day of the log it is counted which share of all jobs of a size and length, started on nodes that were up, met an
outage. That counts what fails together or one after the other as jobs meet it. The model knows what single days do not
show: how often incidents of each scope come now. Both are predictors of the share over the horizon; how well each would
have predicted it so far is their weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.numeric.compiled import njit
from relfit.base.units import HOURS_PER_WEEK, NANOSECONDS_PER_HOUR
from relfit.fleet.job_placement import NodeOutages, place
from relfit.fleet.prediction import HALF_LIVES, DiscountedLevels, Prediction, levels_of, mix
from relfit.fleet.rates_now import ScopeSeries, limits_of_multiples
from relfit.log.failurelog import FailureLog

__all__ = ["ANY", "TRIALS", "Lately", "interrupted_shares", "side_by_side"]

ANY = "any"  # incidents of all scopes
_DAYS = 1100  # of the log that are counted, at most
_CELLS = 3_000_000  # starts times nodes, about
_A_DAY = 24  # starts, at most
_FEWEST = 30  # days with jobs, from which shares are counted at all
_STEADY = len(HALF_LIVES) - 1  # the half-life without end
_SPREAD = 4  # placements of a spread job at a start
_LONGEST = 0.9999  # share that a hazard is taken of
TRIALS = 10.0  # a day, at most, of the jobs in one place: those that start one after another share most of their hours
_SHORT = 0.25  # of the time between interruptions: jobs by which that is counted


def interrupted_shares(
    nodes: NodeOutages,
    starts: FloatArray,
    sizes: tuple[int, ...],
    lengths: tuple[float, ...],
    placement: str,
    rng: np.random.Generator,
) -> FloatArray:
    """Share of the jobs that an outage meets, shape (sizes, lengths, starts); NaN where too few nodes are up.

    All jobs that there can be count: every run of consecutive nodes that are up, or any of them at random; of
    ``spread`` ones a few.
    """
    if placement == "spread":
        ends = np.stack(
            [
                place(nodes, starts, placement, max(sizes), max(lengths), rng).ends[:, np.asarray(sizes) - 1].T
                for _ in range(_SPREAD)
            ]
        )
        return np.stack([(ends <= length).mean(axis=0) for length in lengths], axis=1)
    hits, spared, number = _counted(
        nodes.start,
        nodes.end,
        nodes.offsets,
        nodes.entered,
        nodes.left,
        nodes.whole_start,
        nodes.whole_end,
        starts,
        np.argsort(starts, kind="stable"),
        np.asarray(sizes),
        np.asarray(lengths, np.float64),
    )
    size = np.asarray(sizes)[:, None, None]
    if placement == "packed":
        runs = np.maximum(number - size + 1, 1)
        met = (runs - spared) / runs
    else:
        missed = np.maximum(number - hits, 0)
        ways = special.gammaln(missed + 1.0) - special.gammaln(np.maximum(missed - size, 0) + 1.0)
        ways -= special.gammaln(number + 1.0) - special.gammaln(np.maximum(number - size, 0) + 1.0)
        met = np.where(missed >= size, -np.expm1(ways), 1.0)
    return np.where(number >= size, met, np.nan)


@njit(cache=True, nogil=True)
def _counted(
    start: np.ndarray,
    end: np.ndarray,
    offsets: np.ndarray,
    entered: np.ndarray,
    left: np.ndarray,
    whole_start: np.ndarray,
    whole_end: np.ndarray,
    instants: np.ndarray,
    order: np.ndarray,
    sizes: np.ndarray,
    lengths: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes that are up at each instant and meet an outage within each length, runs of each size that don't, nodes up.

    Shapes (lengths, instants), (sizes, lengths, instants), (instants,); `order` sorts the instants. Between two nodes
    that meet an outage, n others are up: ``n - size + 1`` runs of a size that none of them interrupts.
    """
    hits = np.zeros((lengths.size, instants.size), dtype=np.int64)
    spared = np.zeros((sizes.size, lengths.size, instants.size), dtype=np.int64)
    number = np.zeros(instants.size, dtype=np.int64)
    following, last, outage, horizon = offsets[:-1].copy(), np.empty(lengths.size, dtype=np.int64), 0, lengths.max()
    for i in order:
        t = instants[i]
        while outage < whole_start.size and whole_start[outage] <= t:
            outage += 1
        if outage > 0 and whole_end[outage - 1] > t:
            continue
        until = whole_start[outage] - t if outage < whole_start.size else np.inf
        reach = -1.0  # the longest length before the next outage of the whole
        for j in range(lengths.size):
            last[j] = -1
            if lengths[j] < until:
                reach = max(reach, lengths[j])
        up = 0
        for node in range(following.size):
            while following[node] < offsets[node + 1] and start[following[node]] <= t:
                following[node] += 1
            at = following[node]
            if entered[node] > t or left[node] < t + horizon or (at > offsets[node] and end[at - 1] > t):
                continue
            if at < offsets[node + 1] and start[at] - t <= reach:
                for j in range(lengths.size):
                    if start[at] - t <= lengths[j] < until:
                        hits[j, i] += 1
                        _add_runs(up - last[j], sizes, spared[:, j, i])
                        last[j] = up
            up += 1
        number[i] = up
        for j in range(lengths.size):
            if lengths[j] >= until:
                hits[j, i] = up
            else:
                _add_runs(up - last[j], sizes, spared[:, j, i])
    return hits, spared, number


@njit(cache=True, nogil=True)
def _add_runs(apart: int, sizes: np.ndarray, runs: np.ndarray) -> None:
    """Add the runs of each size between two nodes that are this far apart."""
    for k in range(sizes.size):
        runs[k] += max(apart - sizes[k], 0)


def side_by_side(nodes: NodeOutages, size: int) -> int:
    """Jobs that there is room for at once."""
    return max(nodes.labels.size // size, 1)


@dataclass(frozen=True, eq=False)
class Lately:
    """What a log says of its jobs and incidents day by day, until now.

    Attributes
    ----------
    log : FailureLog
    series : dict
        Incidents by scope, and of all, and by system.
    horizon : float
        Hours ahead that are predicted.
    """

    log: FailureLog
    series: dict[str, dict[int, ScopeSeries]]
    horizon: float

    @cached_property
    def there(self) -> IntArray:
        """The systems that are watched until now, by number; all of them where none is."""
        last = {code: int(one.steps.edges[-1]) for code, one in self.series[ANY].items()}
        return np.array([code for code, at in last.items() if at == max(last.values())], np.int64)

    def level(self) -> tuple[float, float]:
        """Incidents an hour in all systems that are there, expected over the horizon, and its relative variance."""
        mixtures = [self.series[ANY][code].ahead(self.horizon) for code in self.there.tolist()]
        expected = sum(mixture.expected for mixture in mixtures)
        variance = sum(mixture.variance_of_rate() for mixture in mixtures)
        return expected / self.horizon, variance / expected**2 if expected > 0.0 else 0.0

    def a_week(self, level: float) -> tuple[float, float, float]:
        """Incidents a week in all systems that are there over the horizon, and limits of the rate."""
        rate, variance = self.level()
        low, high = (float(end) for end in limits_of_multiples(np.asarray(variance), level))
        week = rate * HOURS_PER_WEEK
        return week, low * week, high * week

    @cached_property
    def nodes(self) -> dict[str, NodeOutages]:
        """The nodes of each system with their outages."""
        return {nodes.system: nodes for nodes in NodeOutages.of(self.log)}

    @cached_property
    def _shares(self) -> dict[tuple[str, int, float, str], tuple[FloatArray, FloatArray]]:
        return {}

    def counted(
        self, code: int, system: str, size: int, lengths: tuple[float, ...], placement: str
    ) -> list[tuple[FloatArray, FloatArray]]:
        """Jobs that were interrupted, and all jobs, in each day of the log, by length.

        At each start as many count as there is room for side by side.
        """
        missing = tuple(length for length in lengths if (system, size, length, placement) not in self._shares)
        if missing:
            steps, nodes = self.series[ANY][code].steps, self.nodes[system]
            days = min(steps.size, _DAYS)
            a_day = float(np.clip(_CELLS / max(nodes.labels.size * days, 1), 0.1, _A_DAY))
            end = float(steps.edges[-1] - self.log.window.start.as_unit("ns").value) / NANOSECONDS_PER_HOUR
            first = end - days * steps.width
            starts = np.arange(first, end - max(missing), steps.width / a_day)
            rng = np.random.default_rng(0)
            starts = starts + rng.uniform(0.0, steps.width / a_day, starts.size)
            starts = starts[starts <= end - max(missing)]
            shares = interrupted_shares(nodes, starts, (size,), missing, placement, rng)[0]
            day = steps.size - 1 - np.minimum(((end - starts) / steps.width).astype(np.int64), steps.size - 1)
            beside = side_by_side(nodes, size)
            for length, of_starts in zip(missing, shares, strict=True):
                used = np.isfinite(of_starts)
                value = np.asarray(beside * np.bincount(day[used], of_starts[used], steps.size), np.float64)
                number = np.asarray(beside * np.bincount(day[used], minlength=steps.size), np.float64)
                self._shares[system, size, length, placement] = value, number
        return [self._shares[system, size, length, placement] for length in lengths]

    def interrupted(
        self, code: int, value: FloatArray, number: FloatArray, hazards: dict[str, float], beside: int
    ) -> Prediction | None:
        """The share of jobs that an outage will meet; None where too few days had such jobs.

        Parameters
        ----------
        code : int
            The system.
        value, number : ndarray, shape (days,)
            Jobs interrupted, and all.
        hazards : dict of str to float
            Cumulative hazard of the job by scope, as incidents come now.
        beside : int
            Such jobs that there is room for at once.
        """
        if (number > 0.0).sum() < _FEWEST:
            return None
        counted = levels_of(value, number)
        modelled, ends = np.zeros_like(counted.level), np.zeros_like(counted.level)
        for scope, hazard in hazards.items():
            one = self.series[scope][code]
            now = max(level_now(one, self.horizon), 1e-300)
            modelled += hazard * one.levels.level / now
            ends += hazard * one.levels.toward / now
        spent = -np.log1p(-np.minimum(counted.level[_STEADY], _LONGEST))
        ratio = spent / np.maximum(modelled[_STEADY], 1e-12)  # what fails together meets fewer jobs
        every = DiscountedLevels(
            np.concatenate([counted.level, -np.expm1(-modelled * ratio)]),
            np.tile(counted.uncertain, (2, 1)),
            np.tile(counted.wander, 2),
            np.concatenate([counted.toward, -np.expm1(-ends * ratio)]),
            np.tile(counted.within, 2),
        )
        return mix(every, value, number, self.horizon / 24.0, 1.0, shares=True, trials=TRIALS * beside)

    def held(
        self,
        name: str,
        at: FloatArray,
        code: int,
        system: str,
        size: int,
        placement: str,
        spent: Callable[[float], dict[str, float]],
        modelled: tuple[FloatArray, FloatArray, FloatArray],
        tail: float,
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Reliability, or time between interruptions, held to jobs of the log; as modelled where there are few.

        Parameters
        ----------
        name : str
            Of the quantity; other ones stay as modelled.
        at : ndarray
            Hours.
        code, system
            The system, by number and by name.
        size, placement
            Of the job.
        spent : callable
            Cumulative hazard of the job by scope, of the hours.
        modelled : tuple of ndarray
            Estimate and limits, of the shape of `at`.
        tail : float
            Probability beyond each limit.
        """
        if name not in ("reliability.job", "mtbf.job") or system not in self.nodes:
            return modelled
        if name == "reliability.job":
            lengths = tuple(np.ravel(at).astype(np.float64).tolist())
        else:  # so short that a job seldom meets two incidents
            lengths = (float(np.clip(_SHORT * modelled[0], 0.1, 24.0)),)
        if not 0.0 < max(lengths) < 0.1 * self.log.window.hours:
            return modelled
        rows = []
        counted = self.counted(code, system, size, lengths, placement)
        for i, (length, jobs) in enumerate(zip(lengths, counted, strict=True)):
            mixture = self.interrupted(code, *jobs, spent(length), side_by_side(self.nodes[system], size))
            if mixture is None:
                each = np.array([np.ravel(one)[i] for one in modelled])
            else:
                met = np.array([mixture.expected, mixture.quantile(1.0 - tail), mixture.quantile(tail)])
                each = 1.0 - np.clip(met, 0.0, 1.0)
                if name == "mtbf.job":
                    each = length / -np.log(np.clip(each, 1e-12, 1.0 - 1e-12))
            rows.append(each)
        value, low, high = np.array(rows).T
        shape = np.shape(modelled[0])
        return value.reshape(shape), low.reshape(shape), high.reshape(shape)


def level_now(series: ScopeSeries, horizon: float) -> float:
    """Incidents a day of each place that are expected now."""
    ahead = float(series.units[-1]) if series.units[-1] > 0.0 else 1.0
    return series.ahead(horizon).expected / (horizon / series.steps.width * ahead)
