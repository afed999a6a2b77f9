"""How often incidents of a scope happen, and how well that is known: counts over operating hours, by system."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from relfit.arrays import FloatArray
from relfit.fleet.operating_time import Scope
from relfit.screening.frailty import RenewalModels

__all__ = ["ScopeRates", "rates_of"]

_FEWEST_PLACES = 20  # with failures, from which the scatter between places speaks for itself
_LEAST = 0.1  # of the variance of a Poisson count: no count is more regular than that


@dataclass(frozen=True, eq=False)
class ScopeRates:
    """Incidents of a scope in each system, arrays of shape (systems,).

    Attributes
    ----------
    count, hours : ndarray
        Incidents, and hours on the clocks of all places.
    dispersion : ndarray
        Variance of the count relative to a Poisson count: from the squared deviations of the places where there are
        20 that had an incident, else the squared coefficient of variation of the fitted times between incidents (below
        one only where their shape is known to be above one).
    """

    count: FloatArray
    hours: FloatArray
    dispersion: FloatArray

    @property
    def rate(self) -> FloatArray:
        """Incidents per hour of a place; NaN where no hours are known."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.hours > 0.0, self.count / self.hours, np.nan)

    @property
    def _gamma(self) -> tuple[FloatArray, FloatArray]:
        """Shape and rate of the gamma distribution of the rate (Jeffreys' for a Poisson count)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.count / self.dispersion + 0.5, self.hours / self.dispersion

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Limits of the rate; the lower one is zero without an incident."""
        shape, hours = self._gamma
        with np.errstate(invalid="ignore", divide="ignore"):
            low, high = (special.gammaincinv(shape, p) / hours for p in (0.5 - level / 2.0, 0.5 + level / 2.0))
        none = self.count == 0
        with np.errstate(invalid="ignore", divide="ignore"):
            high = np.where(none, special.gammaincinv(shape, level) / hours, high)
        return np.where(none, 0.0, low), high

    def draw(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Random rates, shape (size, systems); zero where no hours are known."""
        shape, hours = self._gamma
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(hours > 0.0, rng.gamma(shape, size=(size, shape.size)) / hours, 0.0)


def rates_of(scope: Scope, fits: RenewalModels, n_systems: int) -> ScopeRates:
    """Counts of a scope in each system with their scatter."""
    count = np.bincount(scope.system, scope.count, n_systems).astype(np.float64)
    hours = np.bincount(scope.system, scope.hours, n_systems).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.where(hours > 0.0, count / hours, 0.0)
        places = np.bincount(scope.system, scope.count > 0, n_systems)
        squares = np.bincount(scope.system, (scope.count - rate[scope.system] * scope.hours) ** 2, n_systems)
        between = squares / count * places / (places - 1.0)
        shape = fits.shape[:, 1]
        first, second = special.gamma(1.0 + 1.0 / shape), special.gamma(1.0 + 2.0 / shape)
        renewal = np.where(fits.status == "ok", second / first**2 - 1.0, 1.0)
        # counts are more regular than Poisson ones only where the shape is known to be above one
        renewal = np.where(fits.ageing > 0, renewal, np.maximum(renewal, 1.0))
    dispersion = np.where(places >= _FEWEST_PLACES, between, renewal)
    return ScopeRates(count, hours, np.where(count > 0.0, np.maximum(dispersion, _LEAST), 1.0))
