"""How often incidents of a scope happen, and how well that is known: counts over operating hours, by system."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from relfit.arrays import FloatArray
from relfit.fleet.incident_scopes import Scope
from relfit.numeric.solving import time_at_level
from relfit.screening.frailty import RenewalModels

__all__ = ["ScopeRates", "mean_residual_life", "rates_of", "relative_rates", "residual_hours"]

_FEWEST_PLACES = 20  # with failures, from which the scatter between places speaks for itself
_LEAST = 0.1  # of the variance of a Poisson count: no count is more regular than that
_WITHIN = 1e4  # of hours over incidents, the mean is looked for
_FAR = 500.0  # cumulative hazard beyond which what is left of a life is one over its hazard


@dataclass(frozen=True, eq=False)
class ScopeRates:
    """Incidents of a scope in each system, arrays of shape (systems,).

    Attributes
    ----------
    count, hours : ndarray
        Incidents, and hours on the clocks of all places.
    exposure : ndarray
        Hours in which places in steady state would be expected to have as many incidents: what lies ahead of a place of
        known age is more, or less, at the end than it was at the start (see Notes).
    dispersion : ndarray
        Variance of the count relative to a Poisson count: from the squared deviations of the places where there are
        20 that had an incident, else the squared coefficient of variation of the fitted times between incidents (below
        one only where their shape is known to be above one). What is not known of the exposure adds to it.

    Notes
    -----
    A place of age a has m(a) hours ahead of it, the mean residual life. Times between incidents are n means long for n
    incidents: the hours that it ran, and m at the end less m at the start (Wald's identity). New places whose failure
    rate falls with age have more incidents in their first time than in later ones, by that much.
    """

    count: FloatArray
    hours: FloatArray
    exposure: FloatArray
    dispersion: FloatArray

    @property
    def rate(self) -> FloatArray:
        """Incidents per hour of a place; NaN where no hours are known."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.hours > 0.0, self.count / self.exposure, np.nan)

    @property
    def _gamma(self) -> tuple[FloatArray, FloatArray]:
        """Shape and rate of the gamma distribution of the rate (Jeffreys' for a Poisson count)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.count / self.dispersion + 0.5, self.exposure / self.dispersion

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
    shape = fits.shape[:, 1]
    each, exposure = _exposure(scope, fits, shape, count, hours)
    error = np.where(np.isnan(fits.shape[:, 0]), 0.0, np.sqrt(fits.covariance[:, 0, 0]))
    ends = [_exposure(scope, fits, shape * np.exp(sign * error), count, hours)[1] for sign in (-1.0, 1.0)]
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.where(hours > 0.0, count / exposure, 0.0)
        places = np.bincount(scope.system, scope.count > 0, n_systems)
        squares = np.bincount(scope.system, (scope.count - rate[scope.system] * each) ** 2, n_systems)
        between = squares / count * places / (places - 1.0)
        first, second = special.gamma(1.0 + 1.0 / shape), special.gamma(1.0 + 2.0 / shape)
        renewal = np.where(fits.status == "ok", second / first**2 - 1.0, 1.0)
        # counts are more regular than Poisson ones only where the shape is known to be above one
        renewal = np.where(fits.ageing > 0, renewal, np.maximum(renewal, 1.0))
        unknown = count * (np.log(ends[1] / ends[0]) / 2.0) ** 2
    # what is ahead of places of known age is expected, not seen: counts scatter less about that than about a rate
    between = np.where(ends[1] == ends[0], between, np.maximum(between, renewal))
    dispersion = np.maximum(np.where(places >= _FEWEST_PLACES, between, renewal), _LEAST) + np.nan_to_num(unknown)
    return ScopeRates(count, hours, exposure, np.where(count > 0.0, dispersion, 1.0))


def _exposure(
    scope: Scope, fits: RenewalModels, shape: FloatArray, count: FloatArray, hours: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Hours in steady state of each place, shape (places,), and of each system."""
    known = np.flatnonzero(~np.isnan(scope.start_age))
    each, exposure = scope.hours.astype(np.float64), hours.copy()
    if not known.size:
        return each, exposure
    code, own = scope.system, relative_rates(scope, fits, hours)
    for system in np.flatnonzero((count > 0.0) & (shape != 1.0)):  # systems, not nodes
        mine = known[code[known] == system]
        ages = np.stack([scope.age[mine], scope.start_age[mine]])
        more = _ahead(ages, own[mine], float(shape[system]), float(count[system]), float(hours[system]))
        each[mine] += more
        exposure[system] += more.sum()
    return each, exposure


def relative_rates(scope: Scope, fits: RenewalModels, hours: FloatArray) -> FloatArray:
    """Long-run rate of each place relative to the mean of its system, shape (places,)."""
    own = fits.rates()
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(scope.system, own * scope.hours, hours.size) / hours
        return np.asarray(np.nan_to_num(own / mean[scope.system], nan=1.0, posinf=1.0))


def residual_hours(ages: FloatArray, own: FloatArray, shape: float, mean: float) -> FloatArray:
    """Hours that places of relative rates `own` have ahead of them at the end more than at the start.

    `ages` has shape (2, places): at the end, and at the start.
    """
    end, start = mean_residual_life(ages, mean / own, shape)
    return np.asarray((end - start) * own)


def _ahead(ages: FloatArray, own: FloatArray, shape: float, count: float, hours: float) -> FloatArray:
    """`residual_hours` at the mean that makes hours in steady state the mean times the count."""

    def log_share(_: object, mean: FloatArray) -> FloatArray:
        more = np.array([residual_hours(ages, own, shape, each).sum() for each in mean.tolist()])
        return np.asarray(np.log(mean / np.maximum(hours + more, 1e-300)))

    usual, level, row = np.array([hours / count]), -np.log([count]), np.zeros(1, np.intp)
    if not (ages.size and log_share(row, usual / _WITHIN)[0] < level[0] < log_share(row, usual * _WITHIN)[0]):
        return np.zeros(ages.shape[1])
    return residual_hours(ages, own, shape, float(time_at_level(log_share, level, usual)[0]))


def mean_residual_life(age: FloatArray, mean: FloatArray, shape: float) -> FloatArray:
    """Hours that a Weibull life of this mean and shape has left on average at an age.

    Examples
    --------
    >>> mean_residual_life(np.array([0.0, 50.0]), np.array([100.0]), 1.0).round(6).tolist()
    [100.0, 100.0]
    """
    with np.errstate(all="ignore"):
        scale = mean / special.gamma(1.0 + 1.0 / shape)
        spent = (age / scale) ** shape
        tail = special.gammaincc(1.0 / shape, spent) * np.exp(spent) * mean
        return np.where(spent < _FAR, tail, scale / shape * spent ** (1.0 / shape - 1.0))
