"""Distribution of the completion time with restarts: a renewal equation on a grid, and Lundberg's exponential tail.

The job takes T plus what failures cost: each loses X, the life of the attempt given that it is below T, and R to start
again. The tail Z of the sum solves ``Z(t) = F - G(t) + integral_0^t Z(t - y) dG(y)``, with G the defective
distribution of X + R (Feller 1971, XI.6); far out ``Z(t) ~ C exp(-kappa t)`` with ``integral exp(kappa y) dG(y) = 1``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from relfit.jobs.restarts import attempts, unit_grid

__all__ = ["RestartDistribution"]

FloatArray = npt.NDArray[np.float64]
Hazard = Callable[[FloatArray], FloatArray]

_WORK = 1e8  # multiplications that the renewal equation may take
_REACH = 40.0  # attempts that the grid covers
_SURE = 700.0  # cumulative hazard beyond which an attempt as good as never succeeds
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True, eq=False)
class RestartDistribution:
    """Distribution of the completion time of a job of `length` hours that begins anew after every failure.

    Attributes
    ----------
    hazard : callable
        Horizons to cumulative hazards of the system, from the first start on.
    length, restart : float
        Hours.
    again : callable or None
        The same from a restart on, where it is another.
    """

    hazard: Hazard
    length: float
    restart: float
    again: Hazard | None = None

    @property
    def _later(self) -> Hazard:
        return self.hazard if self.again is None else self.again

    def cdf(self, time: npt.ArrayLike) -> FloatArray:
        """Probability to be finished within `time` hours."""
        return np.asarray(1.0 - self.sf(time))

    def sf(self, time: npt.ArrayLike) -> FloatArray:
        """Probability to take longer than `time` hours."""
        t = np.asarray(time, dtype=np.float64)
        late = np.maximum(t - self.length, 0.0)
        value = self._tail(late, self._first_grid, self.hazard)
        return np.asarray(np.where(t < self.length, 1.0, np.clip(value, 0.0, 1.0)))

    def quantile(self, probability: npt.ArrayLike) -> FloatArray:
        """Hours within which the job is finished with this probability; infinite for 1 where a failure can happen."""
        p = np.asarray(probability, dtype=np.float64)
        flat = np.atleast_1d(p).ravel()
        low = np.full(flat.shape, self.length)
        at_once = flat <= float(self.cdf(self.length))
        with np.errstate(over="ignore"):
            high = self.length + self._scale * np.maximum(1.0, -np.log(np.maximum(1.0 - flat, 1e-300)))
            for _ in range(60):
                short = (self.cdf(high) < flat) & np.isfinite(high)
                if not short.any():
                    break
                high = np.where(short, 2.0 * high, high)
            for _ in range(80):
                middle = 0.5 * (low + high)
                enough = self.cdf(middle) >= flat
                low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        value = np.where(at_once, self.length, high)
        unreachable = (flat >= 1.0) & (float(self.sf(self.length)) > 0.0)
        return np.asarray(np.where(unreachable, np.inf, value).reshape(p.shape))

    # -------------------------------------------------------------- the far end

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Cumulative hazard of the attempt after a restart, and log of its mean duration."""
        once = attempts(_rows(self._later), [self.length])
        return float(once.hazard[0]), float(once.log_mean[0])

    @cached_property
    def log_decay(self) -> float:
        """Log of kappa, the rate at which the tail falls in the end, per hour; infinite where nothing ever fails."""
        from scipy import optimize

        hazard, log_mean = self._ends
        if hazard < 1e-200:
            return math.inf
        log_small = -hazard - float(np.logaddexp(log_mean, np.log(self.restart) if self.restart else -np.inf))
        if hazard > _SURE:
            return log_small
        x, weight, alive = self._curve

        def surplus(log_rate: float) -> float:
            rate = math.exp(log_rate)
            if rate * (self.length + self.restart) > 650.0:
                return math.inf
            inner = rate * float(np.sum(weight * np.exp(rate * x) * alive))
            return inner - math.exp(rate * self.length - hazard) - math.expm1(-rate * self.restart)

        low, high = log_small - 1.0, log_small + 1.0
        while surplus(low) > 0.0:
            low -= 1.0
        while surplus(high) <= 0.0:
            high += 1.0
        if not math.isfinite(surplus(high)):
            high = math.log(650.0 / (self.length + self.restart)) - 1e-9
            if surplus(high) <= 0.0:
                return high
        return float(optimize.brentq(surplus, low, high, xtol=1e-13))

    @cached_property
    def _curve(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        place, weight = unit_grid(0.02)
        x = self.length * place
        return x, self.length * weight, np.exp(-self._later(x))

    @cached_property
    def _constant(self) -> float:
        """C of the tail."""
        hazard, _ = self._ends
        if hazard > _SURE:
            return 1.0
        rate, (x, weight, alive) = math.exp(self.log_decay), self._curve
        swing = float(np.sum(weight * (1.0 + rate * x) * np.exp(rate * x) * alive))
        swing -= self.length * math.exp(rate * self.length - hazard)
        mean = self.restart + math.exp(rate * self.restart) * swing
        return math.exp(-hazard - self.log_decay) / mean

    @property
    def _scale(self) -> float:
        decay = self.log_decay
        return self.length + self.restart if decay > 700.0 else max(math.exp(min(-decay, 700.0)), self.length)

    # ---------------------------------------------------------------- the grid

    @cached_property
    def _cells(self) -> int:
        width = self.length / (self.length + self.restart)
        return int(np.clip(math.sqrt(_WORK * width / _REACH), 32, 2048))

    @cached_property
    def _grid(self) -> FloatArray:
        """Z and its convolution with an attempt, shape (2, N + 1), `_cells` to the length."""
        from relfit.jobs.completion_kernels import renewal_tail

        hazard, _ = self._ends
        direct, inner, outer = self._masses(self._later)
        delay = self.restart * self._cells / self.length
        delay = round(delay) if abs(delay - round(delay)) < 1e-9 else delay
        count = int(_REACH * (self._cells + delay)) + 2
        tail = np.zeros((2, count + 1))
        renewal_tail(direct, inner, outer, float(delay), -math.expm1(-hazard), tail)
        return tail

    @cached_property
    def _first_grid(self) -> FloatArray:
        """As `_grid`, with the first attempt's distribution in the convolution."""
        if self.again is None:
            return self._grid
        _, inner, outer = self._masses(self.hazard)
        weight = np.zeros(inner.size + 1)
        weight[:-1] += inner
        weight[1:] += outer
        z = self._grid[0]
        total = np.convolve(z, weight)[: z.size]
        # up to s only the cells below s count: at their far end nothing begins
        early = np.arange(inner.size)
        total[early] -= z[0] * inner
        return np.stack([z, total])

    def _masses(self, hazard: Hazard) -> tuple[FloatArray, FloatArray, FloatArray]:
        """S(s) - S(T) on the grid, and the mass of F in each cell for its near and for its far end."""
        n = self._cells
        step = self.length / n
        edges = np.asarray(step * np.arange(n + 1), dtype=np.float64)
        spent = hazard(edges)
        alive = np.exp(-spent)
        mass = alive[:-1] * -np.expm1(-np.diff(spent))
        x = edges[:-1, None] + 0.5 * step * (1.0 + _NODES)
        mean = np.exp(-hazard(x)) @ (0.5 * _WEIGHTS)
        place, weight = unit_grid(0.1)
        mean[0] = float(np.exp(-hazard(step * place)) @ weight)
        outer = np.clip(mean - alive[1:], 0.0, mass)  # integral of (x - left) dF / step
        return alive - alive[-1], mass - outer, outer

    def _tail(self, late: FloatArray, grid: FloatArray, hazard: Hazard) -> FloatArray:
        """Probability that failures cost more than `late` hours, the first attempt by `hazard`."""
        end = float(hazard(np.array([self.length]))[0])
        failure = -math.expm1(-end)
        if failure == 0.0:
            return np.zeros(late.shape)
        sure = self._ends[0] > _SURE
        first = late - self.restart
        inside = np.clip(first, 0.0, self.length)
        # the first failure alone, exactly; what follows on the grid, without its part that moves fast near zero
        alive = np.exp(-hazard(inside.ravel())).reshape(late.shape)
        alone = np.where(first < 0.0, failure, np.maximum(alive - math.exp(-end), 0.0))
        if sure:
            more = np.exp(-np.exp(np.minimum(np.log(np.maximum(late, 1e-300)) + self.log_decay, 700.0)))
            return np.asarray(np.where(late < self.restart, failure, np.maximum(alone, failure * more)))
        cells = np.clip(first, 0.0, None) * self._cells / self.length
        last = grid.shape[1] - 1
        z0 = grid[0, 0]
        places = np.arange(last + 1) * (self.length / self._cells)
        smooth = grid[1] - z0 * -np.expm1(-hazard(np.minimum(places, self.length)))
        near = np.interp(np.minimum(cells, last), np.arange(last + 1), smooth) + z0 * (1.0 - alive)
        near = np.where(first < 0.0, 0.0, near)
        with np.errstate(under="ignore", over="ignore"):
            decay = math.exp(self.log_decay)
            if self.again is None:
                far = self._constant * np.exp(-decay * late)
            else:  # as long as the grid, then by the same rate
                far = (grid[1, last] + 0.0) * np.exp(-decay * (first - places[last]))
            return np.asarray(np.where(cells > last, far, alone + near))


def _rows(hazard: Hazard) -> Callable[[npt.NDArray[np.int64], FloatArray], FloatArray]:
    return lambda rows, x: hazard(x.ravel()).reshape(x.shape)
