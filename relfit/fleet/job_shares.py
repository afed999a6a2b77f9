"""The share of jobs that outages will interrupt, predicted from past shares and from the model of the fleet.

The share of all possible jobs that met an outage is counted for each day, with failures that come together or in turn.
The model adds the current rate of each scope. Both are weighted by how well they would have predicted the past; a
part stays with the plain share of the last 180 days, since combined predictions err less than the one that was best
(Bates and Granger 1969).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import special

from relfit.analyses.screening import Incidents
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.numeric.compiled import njit
from relfit.base.units import HOURS_PER_WEEK, NANOSECONDS_PER_HOUR
from relfit.fleet.job_placement import NodeOutages, place
from relfit.fleet.prediction import HALF_LIVES, WINDOWS, DiscountedLevels, Prediction, levels_of, mix
from relfit.fleet.rates_now import ANY, LEAST_RATE, ScopeSeries, limits_of_multiples
from relfit.log.failurelog import FailureLog

_DAYS = 1100  # of the log that are counted, at most
_CELLS = 3_000_000  # starts times nodes, about
_A_DAY = 24  # starts a day, at most
_FEWEST = 30  # days with jobs that are needed
_LATELY, _MOST = 90, 0.75  # days, and share of them, on which a job that is counted could start
_STEADY = len(HALF_LIVES) - 1  # index of the infinite half-life
_COUNT, _STAYS = len(HALF_LIVES) + len(WINDOWS) - 1, 0.2  # index of the mean of the last 180 days, and its least weight
_SPREAD = 4  # placements of a spread job per start
_LONGEST = 0.9999  # largest share that is converted to a hazard
TRIALS = 10.0  # independent jobs a day on the same nodes, at most: jobs that start in turn share most of their hours
_FEW = 0.02  # share of jobs that run through, below which shorter jobs are counted
_ENOUGH = 0.1  # share of the shorter jobs that run through, at least
PARTS = (48.0, 24.0, 12.0, 6.0, 2.0, 1.0, 0.5, 0.25)
"""Lengths of the shorter jobs, hours."""
_IN_TURN = 1.5  # incidents per interruption of a job by which they come in turn, on nodes that are down together
_SHORT = 0.25  # length of the jobs counted for the time between interruptions, relative to it


def interrupted_shares(
    nodes: NodeOutages,
    starts: FloatArray,
    sizes: tuple[int, ...],
    lengths: tuple[float, ...],
    placement: str,
    rng: np.random.Generator,
) -> FloatArray:
    """Share of jobs interrupted by an outage, shape (sizes, lengths, starts); NaN where too few nodes are up.

    Of every run of consecutive nodes that are up (``packed``), every set of them (``random``), or four per start
    (``spread``). Nodes that leave within a length before they fail do not count for it. Starts and lengths are hours.
    """
    if placement == "spread":
        seed = rng.integers(2**63)
        each = [_spread_shares(nodes, starts, sizes, length, np.random.default_rng(seed)) for length in lengths]
        return np.stack(each, axis=1)
    outages = nodes.start, nodes.end, nodes.offsets, nodes.entered, nodes.left, nodes.whole_start, nodes.whole_end
    order = np.argsort(starts, kind="stable")
    hits, spared, number = _counted(*outages, starts, order, np.asarray(sizes), np.asarray(lengths, np.float64))
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


def _spread_shares(
    nodes: NodeOutages, starts: FloatArray, sizes: tuple[int, ...], length: float, rng: np.random.Generator
) -> FloatArray:
    """Share of some spread jobs of one length that are interrupted, shape (sizes, starts); NaN where too few are up."""
    columns = np.asarray(sizes) - 1
    jobs = [place(nodes, starts, "spread", max(sizes), length, rng) for _ in range(_SPREAD)]
    met = np.mean([job.ends[:, columns] <= length for job in jobs], axis=0)
    return np.asarray(np.where(jobs[0].nodes[:, columns] >= 0, met, np.nan).T)


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
    """Counts at each instant: nodes up that fail within each length, runs of each size without a failure, nodes up.

    Shapes (lengths, instants), (sizes, lengths, instants), (lengths, instants); `order` sorts the instants. n nodes
    between two that fail make ``n - size + 1`` runs without a failure.
    """
    hits = np.zeros((lengths.size, instants.size), dtype=np.int64)
    spared = np.zeros((sizes.size, lengths.size, instants.size), dtype=np.int64)
    number = np.zeros((lengths.size, instants.size), dtype=np.int64)
    last, leave = np.empty(lengths.size, dtype=np.int64), np.empty(lengths.size, dtype=np.int64)
    following, outage, horizon = offsets[:-1].copy(), 0, lengths.max()
    for i in order:
        t = instants[i]
        while outage < whole_start.size and whole_start[outage] <= t:
            outage += 1
        if outage > 0 and whole_end[outage - 1] > t:
            continue
        until = whole_start[outage] - t if outage < whole_start.size else np.inf
        reach = -1.0  # the longest length that ends before the next outage of the whole system
        for j in range(lengths.size):
            last[j], leave[j] = -1, 0
            if lengths[j] < until:
                reach = max(reach, lengths[j])
        up = 0
        for node in range(following.size):
            while following[node] < offsets[node + 1] and start[following[node]] <= t:
                following[node] += 1
            at = following[node]
            if entered[node] > t or (at > offsets[node] and end[at - 1] > t):
                continue
            stays = left[node] - t
            fails = start[at] - t if at < offsets[node + 1] and start[at] <= left[node] else np.inf
            if fails <= reach:
                for j in range(lengths.size):
                    if fails <= lengths[j] < until:
                        hits[j, i] += 1
                        _add_runs(up - leave[j] - last[j], sizes, spared[:, j, i])
                        last[j] = up - leave[j]
            if stays < horizon:
                _add_leaving(stays, fails, lengths, leave)
            up += 1
        for j in range(lengths.size):
            number[j, i] = up - leave[j]
            if lengths[j] >= until:
                hits[j, i] = number[j, i]
            else:
                _add_runs(number[j, i] - last[j], sizes, spared[:, j, i])
    return hits, spared, number


@njit(cache=True, nogil=True)
def _add_leaving(stays: float, fails: float, lengths: np.ndarray, leave: np.ndarray) -> None:
    """Add a node to those that leave within each length before they fail."""
    for j in range(lengths.size):
        leave[j] += stays < lengths[j] < fails


@njit(cache=True, nogil=True)
def _add_runs(apart: int, sizes: np.ndarray, runs: np.ndarray) -> None:
    """Add the number of runs of each size between two nodes this far apart."""
    for k in range(sizes.size):
        runs[k] += max(apart - sizes[k], 0)


def side_by_side(nodes: NodeOutages, size: int) -> int:
    """Number of jobs of `size` nodes that fit on the system at once, at least 1."""
    return max(nodes.labels.size // size, 1)


@dataclass(frozen=True, eq=False)
class Lately:
    """Daily counts of incidents and interrupted jobs of a log until now."""

    log: FailureLog
    series: dict[str, dict[int, ScopeSeries]]  # incidents by scope (``any`` for all of them) and system
    horizon: float  # hours ahead that are predicted
    found: Incidents  # of the log
    _numbers: dict[str, tuple[IntArray, IntArray]] = field(default_factory=dict, init=False)
    _shares: dict[tuple[str, int, float, str], tuple[FloatArray, FloatArray]] = field(default_factory=dict, init=False)

    @cached_property
    def there(self) -> IntArray:
        """Codes of the systems that are watched the longest, that is until now."""
        last = {code: int(one.steps.edges[-1]) for code, one in self.series[ANY].items()}
        return np.array([code for code, at in last.items() if at == max(last.values())], np.int64)

    def level(self) -> tuple[float, float]:
        """Expected incidents per hour over the horizon in all systems still watched, and the relative variance."""
        mixtures = [self.series[ANY][code].ahead(self.horizon) for code in self.there.tolist()]
        expected = sum(mixture.expected for mixture in mixtures)
        variance = sum(mixture.variance_of_rate() for mixture in mixtures)
        return expected / self.horizon, variance / expected**2 if expected > 0.0 else 0.0

    def a_week(self, level: float) -> tuple[float, float, float]:
        """Expected incidents per week over the horizon in all systems still watched, with the limits of the rate."""
        rate, variance = self.level()
        low, high = (float(end) for end in limits_of_multiples(np.asarray(variance), level))
        week = rate * HOURS_PER_WEEK
        return week, low * week, high * week

    @cached_property
    def nodes(self) -> dict[str, NodeOutages]:
        """The nodes of each system with their outages."""
        return {nodes.system: nodes for nodes in NodeOutages.of(self.log)}

    def countable(self, code: int, system: str, size: int) -> int:
        """Nodes of the largest job, of at most `size`, that could start on most days lately."""
        if system not in self._numbers:
            edges = self.series[ANY][code].steps.edges[-_DAYS - 1 :]
            middle = 0.5 * (edges[1:] + edges[:-1]) - self.log.window.start.as_unit("ns").value
            self._numbers[system] = self.nodes[system].numbers_at(middle / NANOSECONDS_PER_HOUR)
        watched, up = self._numbers[system]
        lately = up[watched >= size][-_LATELY:]
        return int(np.clip(np.quantile(lately, 1.0 - _MOST), 1, size)) if lately.size else size

    def counted(
        self, code: int, system: str, size: int, lengths: tuple[float, ...], placement: str
    ) -> list[tuple[FloatArray, FloatArray]]:
        """Interrupted and all jobs, as many per start as fit at once, on each day of the log: two arrays per length."""
        self.count(code, system, (size,), lengths, placement)
        return [self._shares[system, size, length, placement] for length in lengths]

    def count(self, code: int, system: str, sizes: tuple[int, ...], lengths: tuple[float, ...], placement: str) -> None:
        """Count the jobs of several sizes and lengths in one pass over the log, for `counted` and `held`."""
        every = [(size, length) for size in sizes for length in lengths]
        missing = [(size, length) for size, length in every if (system, size, length, placement) not in self._shares]
        if not missing:
            return
        sizes, lengths = (tuple(dict.fromkeys(each)) for each in zip(*missing, strict=True))
        for size, rows in zip(sizes, self._by_day(code, system, sizes, lengths, placement), strict=True):
            for length, jobs in zip(lengths, rows, strict=True):
                self._shares[system, size, length, placement] = jobs

    def _by_day(
        self, code: int, system: str, sizes: tuple[int, ...], lengths: tuple[float, ...], placement: str
    ) -> list[list[tuple[FloatArray, FloatArray]]]:
        """Interrupted jobs and all jobs on each day, for each size and length: the same whatever the others."""
        steps, nodes = self.series[ANY][code].steps, self.nodes[system]
        days = min(steps.size, _DAYS)
        a_day = float(np.clip(_CELLS / max(nodes.labels.size * days, 1), 0.1, _A_DAY))
        end = float(steps.edges[-1] - self.log.window.start.as_unit("ns").value) / NANOSECONDS_PER_HOUR
        starts = np.arange(end - days * steps.width, end, steps.width / a_day)
        starts = starts + np.random.default_rng(0).uniform(0.0, steps.width / a_day, starts.size)
        shares = interrupted_shares(nodes, starts, sizes, lengths, placement, np.random.default_rng(1))
        day = steps.size - 1 - np.minimum(((end - starts) / steps.width).astype(np.int64), steps.size - 1)

        def jobs_of(share: FloatArray, length: float, beside: int) -> tuple[FloatArray, FloatArray]:
            used = np.isfinite(share) & (starts <= end - length)
            value = np.asarray(beside * np.bincount(day[used], share[used], steps.size), np.float64)
            return value, np.asarray(beside * np.bincount(day[used], minlength=steps.size), np.float64)

        return [
            [jobs_of(share, length, side_by_side(nodes, size)) for length, share in zip(lengths, rows, strict=True)]
            for size, rows in zip(sizes, shares, strict=True)
        ]

    def interrupted(
        self, code: int, value: FloatArray, number: FloatArray, hazards: dict[str, float], beside: int
    ) -> Prediction | None:
        """The predicted share of interrupted jobs from those of each day and their hazards by scope at current rates;
        None if fewer than 30 days had such jobs. `beside` of them fit on the system at once.
        """
        if (number > 0.0).sum() < _FEWEST:
            return None
        counted = levels_of(value, number)
        modelled, ends = np.zeros_like(counted.level), np.zeros_like(counted.level)
        for scope, hazard in hazards.items():
            one = self.series[scope][code]
            ahead = float(one.units[-1]) if one.units[-1] > 0.0 else 1.0
            now = max(one.ahead(self.horizon).expected / (self.horizon / one.steps.width * ahead), 1e-300)
            modelled += hazard * one.levels.level / now
            ends += hazard * one.levels.toward / now
        spent = -np.log1p(-np.minimum(counted.level[_STEADY], _LONGEST))
        ratio = spent / np.maximum(modelled[_STEADY], 1e-12)  # nodes that fail together interrupt fewer jobs
        every = DiscountedLevels(
            np.concatenate([counted.level, -np.expm1(-modelled * ratio)]),
            np.tile(counted.uncertain, (2, 1)),
            np.tile(counted.wander, 2),
            np.concatenate([counted.toward, -np.expm1(-ends * ratio)]),
            np.tile(counted.within, 2),
        )
        trials = TRIALS * beside
        return mix(every, value, number, self.horizon / 24.0, 1.0, shares=True, trials=trials, stay=(_COUNT, _STAYS))

    def held(
        self,
        name: str,
        at: FloatArray,
        code: int,
        system: str,
        size: int,
        placement: str,
        spent: Callable[[float, int], dict[str, float]],
        modelled: tuple[FloatArray, FloatArray, FloatArray],
        tail: float,
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Reliability, or time between interruptions, adjusted to the jobs of the log; as modelled if there are few.

        Where all the nodes of the job are seldom up, the largest job that could start on half of the days is counted;
        `spent` (the cumulative hazard by scope, from hours and nodes) tells how much larger that of the job is.
        """
        if name not in ("reliability.job", "mtbf.job") or system not in self.nodes:
            return modelled
        if name == "reliability.job":
            lengths = tuple(np.ravel(at).astype(np.float64).tolist())
        else:  # so short that two incidents in one job are rare
            lengths = (float(np.clip(_SHORT * modelled[0], 0.1, 24.0)),)
        if not 0.0 < max(lengths) < 0.1 * self.log.window.hours:
            return modelled
        rows = []
        often = self.countable(code, system, size)
        counted = self.counted(code, system, often, lengths, placement)
        beside = side_by_side(self.nodes[system], often)

        def survived(length: float, jobs: tuple[FloatArray, FloatArray]) -> FloatArray | None:
            of_counted = spent(length, often)
            mixture = self.interrupted(code, *jobs, of_counted, beside)
            if mixture is None:
                return None
            met = np.array([mixture.expected, mixture.quantile(1.0 - tail), mixture.quantile(tail)])
            through = 1.0 - np.clip(met, 0.0, 1.0)
            if often < size and (hazard := sum(of_counted.values())) > 0.0:
                through = through ** (sum(spent(length, size).values()) / hazard)
            return np.asarray(through)

        for i, (length, jobs) in enumerate(zip(lengths, counted, strict=True)):
            each, model = survived(length, jobs), np.array([np.ravel(one)[i] for one in modelled])
            if each is None:
                each = model
            elif name == "mtbf.job":
                each = length / -np.log(np.clip(each, 1e-12, 1.0 - 1e-12))
            elif each.min() < _FEW:  # too few such jobs ran through to be counted: hazards as modelled beyond a part
                parts = tuple(part for part in PARTS if part < length)
                for part, of_part in zip(parts, self.counted(code, system, often, parts, placement), strict=True):
                    first, hazard = survived(part, of_part), sum(spent(part, size).values())
                    if first is not None and first[0] >= _ENOUGH and first[2] < 1.0 and hazard > 0.0:
                        model = first ** (sum(spent(length, size).values()) / hazard)
                        break
                each = np.where(each < _FEW, model, each)
            rows.append(each)
        value, low, high = np.array(rows).T
        if name == "mtbf.job":
            value, low, high = self._as_incidents(code, size, (often, lengths[0]), counted[0], (value, low, high), tail)
        shape = np.shape(modelled[0])
        return value.reshape(shape), low.reshape(shape), high.reshape(shape)

    def _as_incidents(
        self,
        code: int,
        size: int,
        of_counted: tuple[int, float],
        counted: tuple[FloatArray, FloatArray],
        limits: tuple[FloatArray, FloatArray, FloatArray],
        tail: float,
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The mean time between interruptions of a job, no longer than incidents allow.

        Each incident hits one of the jobs that share out all nodes: a job of n of N nodes is interrupted at least n/N
        times as often as incidents come. This does not hold where most come in turn, on nodes that are down together.
        """
        one, (often, length), (value, low, high) = self.series[ANY][code], of_counted, limits
        ahead, days = one.ahead(self.horizon), counted[1] > 0.0
        least = float(
            limits_of_multiples(np.asarray(ahead.variance_of_rate() / ahead.expected**2), 1.0 - 2.0 * tail)[0]
        )
        if least <= LEAST_RATE:  # the log does not bound how seldom incidents may come
            high = np.full_like(high, np.inf)
        if not days.any():
            return value, low, high
        met = -np.log1p(-min(float(counted[0].sum() / counted[1].sum()), _LONGEST)) / length
        came = float(one.value[days].mean()) / one.steps.width * often / max(float(one.units[days].mean()), 1.0)
        if came > _IN_TURN * met:
            return value, low, high
        most = self.horizon / ahead.expected * max(float(one.units[-1]), size) / size
        high = np.minimum(high, most / least) if least > LEAST_RATE else high
        return np.minimum(value, most), low * np.minimum(1.0, most / value), high
