"""Distribution of the completion time: the renewal equation for restarts from zero, simulated runs for checkpoints.

A job takes T plus the cost of failures: each loses X, the time to failure given that it is below T, and R to restart.
The tail Z of their sum solves ``Z(t) = F - G(t) + integral_0^t Z(t - y) dG(y)``, with G the defective distribution of
X + R (Feller 1971, XI.6); the far tail falls exponentially.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy

from relfit.base.arguments import random_stream
from relfit.base.arrays import FloatArray, Seed
from relfit.base.numeric.quadrature import gauss_legendre
from relfit.system.jobs._expected_time import Attempts, attempts, hazards_of
from relfit.system.jobs._time_to_failure import TimeToFailure, table_of
from relfit.system.jobs.checkpoint import Checkpoint

Hazard = Callable[[npt.ArrayLike], FloatArray]

_WORK = 1e8  # multiplications of the renewal equation, about
_REACH = 40.0  # attempts that the grid covers
_MOST_ATTEMPTS = 2_000
_RARE = 15.0  # cumulative hazard of an attempt beyond which successes come like a Poisson process (Renyi)


@dataclass(frozen=True, eq=False)
class RestartDistribution:
    """Distribution of the completion time, hours, of a job that restarts after every failure, from zero."""

    first: TimeToFailure  # of the first attempt
    later: TimeToFailure  # of all others
    length: float
    restart: float

    def sf(self, time: npt.ArrayLike) -> FloatArray:
        """Probability that the job takes longer than `time` hours."""
        t = np.asarray(time, dtype=np.float64)
        late = np.maximum(t - self.length, 0.0)  # time left for failures
        spent = late - self.restart
        alive = np.exp(-self._hazards[0](np.clip(spent, 0.0, self.length)))
        failure = -math.expm1(-float(self._hazards[0](self.length)))
        # probability that the first failure alone costs more, exact
        alone = np.where(spent < 0.0, failure, np.maximum(alive - (1.0 - failure), 0.0))
        if self._hazard > _RARE:
            mean = float(np.exp(self._once.log_mean[0])) + self.restart
            tail = failure * np.exp(-np.exp(-self._hazard) * late / mean)
            value = np.maximum(alone, np.where(spent < 0.0, failure, tail))
        else:
            smooth, first, decay = self._later_failures
            place, last = spent / self._step, smooth.size - 1
            more = np.interp(place, np.arange(last + 1), smooth) + first * (1.0 - alive)
            with np.errstate(under="ignore"):
                far = more * np.exp(-decay * np.maximum(place - last, 0.0))
            value = alone + np.where(spent < 0.0, 0.0, far)
        return np.asarray(np.where(t < self.length, 1.0, np.clip(value, 0.0, 1.0)))

    def cdf(self, time: npt.ArrayLike) -> FloatArray:
        """Probability that the job is done within `time` hours."""
        return np.asarray(1.0 - self.sf(time))

    def quantile(self, probability: npt.ArrayLike) -> FloatArray:
        """Hours within which the job is done with this probability; infinite for 1 if a failure can occur."""
        p = np.asarray(probability, dtype=np.float64)
        flat = p.ravel()
        low = np.full(flat.shape, self.length)
        high = low + self.restart + self.length
        with np.errstate(over="ignore"):
            while (short := (self.cdf(high) < flat) & (high < 1e300)).any():
                high = np.where(short, 2.0 * high, high)
            for _ in range(80):
                middle = 0.5 * (low + high)
                enough = self.cdf(middle) >= flat
                low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        value = np.where(flat <= float(self.cdf(self.length)), self.length, high)
        value = np.where((flat >= 1.0) & (float(self.sf(self.length)) > 0.0), np.inf, value)
        return np.asarray(value.reshape(p.shape))

    def simulated(self, plan: Checkpoint, runs: int, rng: Seed = 0) -> FloatArray:
        """Times of simulated runs that continue from checkpoints; infinite if their first 2000 attempts all fail."""
        random = random_stream(rng)
        segments, held = plan.segments(self.length), plan.exposed_save
        pace, rest = plan.every + held, self.length - (segments - 1) * plan.every
        aside, fall = plan.save - held, self.restart + plan.restore - plan.exposed_restore
        times, saved, running = np.zeros(runs), np.zeros(runs), np.arange(runs)
        for attempt in range(_MOST_ATTEMPTS):
            read = plan.exposed_restore if attempt else 0.0
            drawn = (self.later if attempt else self.first).draw(running.size, random)
            left = segments - 1 - saved[running]
            done = drawn >= read + left * pace + rest
            more = np.where(done, left, np.clip(np.floor((drawn - read) / pace), 0.0, left))
            times[running] += np.where(done, read + left * pace + rest, drawn + fall) + aside * more
            saved[running] += more
            running = running[~done]
            if running.size == 0:
                break
        times[running] = np.inf
        return times

    @cached_property
    def _hazards(self) -> tuple[Hazard, Hazard]:
        """Cumulative hazards of first and later attempts, as fast functions."""
        later = _along_time(self.later, self.length)
        return (later if self.first is self.later else _along_time(self.first, self.length)), later

    @cached_property
    def _once(self) -> Attempts:
        return attempts(hazards_of(self.later), [self.length])

    @property
    def _hazard(self) -> float:
        return float(self._once.hazard[0])

    @cached_property
    def _cells(self) -> int:
        """Number of grid cells over the length of the job."""
        return int(np.clip(math.sqrt(_WORK * self.length / (self.length + self.restart) / _REACH), 32, 2048))

    @property
    def _step(self) -> float:
        return self.length / self._cells

    @cached_property
    def _later_failures(self) -> tuple[FloatArray, float, float]:
        """P(failures after the first cost more than ``s + R``) on a grid of s, less the fast part near zero (the second
        value times the distribution of the first attempt); third, the rate per cell at which the tail falls.
        """
        near, outer, alive = self._masses(self._hazards[1])
        size = int(_REACH * (self._cells + self.restart / self._step)) + 2
        delay = self.restart / self._step
        cells, part = math.floor(delay), delay - math.floor(delay)
        blend = np.array([1.0 - part, part])
        kernel = np.convolve(near + outer, blend)
        failure = 1.0 - alive[-1]
        source = np.interp(np.arange(size) - delay, np.arange(alive.size), alive - alive[-1], left=failure)
        # in the cell that begins at s nothing has happened by s
        early = np.convolve(near, blend)[: size - cells]
        source[cells : cells + early.size] -= failure * early
        tail = _renewal(source, kernel, cells)
        near, outer, alive = self._masses(self._hazards[0])
        more = scipy.signal.fftconvolve(tail, near + outer)[:size]
        more[: near.size] -= failure * near
        places = np.minimum(np.arange(size), self._cells)
        span = self._cells + cells
        last, before = tail[-1], tail[-1 - span]
        decay = math.log(before / last) / span if last > 1e-290 and before > last else 1.0
        return more - failure * (1.0 - alive[places]), failure, decay

    def _masses(self, hazard: Hazard) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Probabilities of a failure in each cell, split between its near and far ends, and the reliability."""
        n = self._cells
        edges = self._step * np.arange(n + 1)
        alive = np.exp(-hazard(edges))
        points, weights = gauss_legendre(8)
        mean = np.exp(-hazard(edges[:-1, None] + 0.5 * self._step * (1.0 + points))) @ (0.5 * weights)
        mean[0] = float(np.exp(attempts(lambda rows, x: hazard(x), [self._step]).log_mean[0])) / self._step
        mass = -np.diff(alive)
        outer = np.clip(mean - alive[1:], 0.0, mass)  # so that means are kept
        return np.append(mass - outer, 0.0), np.append(0.0, outer), alive


def _renewal(source: FloatArray, kernel: FloatArray, delay: int) -> FloatArray:
    """Solution of ``z[i] = source[i] + sum over j of kernel[j] z[i - delay - j]``."""
    if delay < kernel.size:
        feedback = np.concatenate([np.zeros(delay), kernel])
        return np.asarray(scipy.signal.lfilter([1.0], np.append(1.0 - feedback[0], -feedback[1:]), source))
    value = source.copy()
    for a in range(delay, source.size, delay):  # each block depends only on earlier ones
        b, low = min(a + delay, source.size), max(a - delay - kernel.size + 1, 0)
        value[a:b] += scipy.signal.fftconvolve(value[low : b - delay], kernel)[a - delay - low : b - delay - low]
    return value


def _along_time(life: TimeToFailure, length: float) -> Hazard:
    """Cumulative hazard up to `length`, as a fast function."""
    quick = table_of(lambda time: -life.log_sf(time), length, length).life(0)
    return lambda time: -quick.log_sf(np.asarray(time, dtype=np.float64))
