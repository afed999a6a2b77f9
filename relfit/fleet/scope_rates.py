"""Rates of incidents by scope and system, from counts and operating hours, with their uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.analyses.screening.frailty_results import RenewalModels
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.numeric.poisson import poisson_interval
from relfit.base.numeric.solving import time_at_level
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.fleet.incident_scopes import Places, ScopeIncidents
from relfit.log.tables import Window

_FEWEST_PLACES = 20  # with failures, from which the dispersion is estimated from the scatter between places
_LEAST = 0.1  # least dispersion
_CERTAIN = 0.95  # of a dispersion below one: the one-sided upper limit of this level is taken
_WITHIN = 1e4  # range of the search for the mean, relative to hours over incidents
_BINS = (8, 16, 32, 64)
_EACH = 3.0  # events in a bin, on average
_SIZE = 0.01  # of the test for clustering
_FAR = 500.0  # cumulative hazard beyond which the mean residual life is one over the hazard


@dataclass(frozen=True, eq=False)
class ScopeRates:
    """Incidents of a scope in each system, arrays of shape (systems,).

    By Wald's identity, n incidents of a place take n mean times: the hours that it ran, plus its mean residual life at
    the end, minus that at the start. New places whose failure rate falls with age thus have more incidents in the same
    hours than places in steady state.

    The dispersion, with 20 or more places that had an incident, is that between places; else the squared coefficient of
    variation of the fitted times (below one only if the shape is significantly above one). Below one, it is its
    one-sided upper 95 % limit, at most one. The larger of this and the variance along time counts, plus the uncertainty
    of `exposure`.
    """

    count: FloatArray
    hours: FloatArray  # in operation, of all places
    exposure: FloatArray  # hours in which places in steady state would have as many incidents
    dispersion: FloatArray  # variance of the count relative to Poisson
    along: FloatArray  # that of counts in bins of time if significant, else 1; 1 if ages at the start are known
    p: FloatArray  # and its p-value

    @property
    def rate(self) -> FloatArray:
        """Incidents per hour of a place; NaN where no hours are known."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.hours > 0.0, self.count / self.exposure, np.nan)

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Exact (Garwood) limits of the rate; without an incident zero and a one-sided upper limit."""
        few, many = poisson_interval(self.count / self.dispersion, level)
        none = self.count == 0
        with np.errstate(invalid="ignore", divide="ignore"):
            each = self.dispersion / self.exposure
            return np.where(none, 0.0, few * each), np.where(none, -np.log1p(-level) / self.exposure, many * each)

    def draw(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Gamma draws of the rates (Jeffreys prior), shape (size, systems); zero where no hours are known."""
        with np.errstate(invalid="ignore", divide="ignore"):
            shape, hours = self.count / self.dispersion + 0.5, self.exposure / self.dispersion
            return np.where(hours > 0.0, rng.gamma(shape, size=(size, shape.size)) / hours, 0.0)


def rates_of(
    scope: ScopeIncidents,
    fits: RenewalModels,
    n_systems: int,
    places: Places | None = None,
    window: Window | None = None,
) -> ScopeRates:
    """Counts of a scope in each system with their dispersion; along time too if `places` and `window` are given."""
    count = np.bincount(scope.system, scope.count, n_systems).astype(np.float64)
    hours = np.bincount(scope.system, scope.hours, n_systems).astype(np.float64)
    shape = fits.shape[:, 1]
    each, exposure = _exposure(scope, fits, shape, count, hours)
    error = np.where(np.isnan(fits.shape[:, 0]), 0.0, np.sqrt(fits.covariance[:, 0, 0]))
    ends = [_exposure(scope, fits, shape * np.exp(sign * error), count, hours)[1] for sign in (-1.0, 1.0)]
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.where(hours > 0.0, count / exposure, 0.0)
        failed = np.bincount(scope.system, scope.count > 0, n_systems).astype(np.float64)
        squares = np.bincount(scope.system, (scope.count - rate[scope.system] * each) ** 2, n_systems)
        between = _limited(squares / count * failed / (failed - 1.0), failed)
        renewal = np.where(fits.status == "ok", _scatter_of_times(shape), 1.0)
        # counts are more regular than Poisson only if the shape is significantly above one, and by its lower limit
        certain = np.minimum(_scatter_of_times(shape * np.exp(-special.ndtri(_CERTAIN) * error)), 1.0)
        renewal = np.where(fits.ageing > 0, certain, np.maximum(renewal, 1.0))
        unknown = count * (np.log(ends[1] / ends[0]) / 2.0) ** 2
    # the residual life of places of known age is an expectation: counts scatter less about it than about a rate
    between = np.where(ends[1] == ends[0], between, np.maximum(between, renewal))
    along, p = _along(scope, n_systems, places, window)
    along = np.where(exposure == hours, along, 1.0)  # with known ages the rate may change along time
    dispersion = np.maximum(np.where(failed >= _FEWEST_PLACES, between, renewal), _LEAST) + np.nan_to_num(unknown)
    dispersion = np.where(along > 1.0, np.maximum(dispersion, along), dispersion)
    return ScopeRates(count, hours, exposure, np.where(count > 0.0, dispersion, 1.0), along, p)


def _limited(scatter: FloatArray, places: FloatArray) -> FloatArray:
    """Variance between places relative to Poisson; below one its upper limit, at most one."""
    free = np.maximum(places - 1.0, 1.0)
    limit = scatter * free / special.chdtri(free, _CERTAIN)
    return np.asarray(np.where(scatter < 1.0, np.minimum(limit, 1.0), scatter))


def _scatter_of_times(shape: FloatArray) -> FloatArray:
    """Squared coefficient of variation of Weibull times."""
    return np.asarray(special.gamma(1.0 + 2.0 / shape) / special.gamma(1.0 + 1.0 / shape) ** 2 - 1.0)


def _along(
    scope: ScopeIncidents, n_systems: int, places: Places | None, window: Window | None
) -> tuple[FloatArray, FloatArray]:
    """`excess_scatter` of each system's incidents."""
    along, p = np.ones(n_systems), np.ones(n_systems)
    if places is None or window is None or not window.hours > 0.0:
        return along, p
    origin = window.start.as_unit("ns").value
    entered, left = ((at - origin) / NANOSECONDS_PER_HOUR for at in (places.watched.entered, places.watched.left))
    left = np.maximum(left, entered)
    for system in np.unique(scope.system_of_incident):  # systems, not nodes
        mine, when = places.system == system, scope.instants[scope.system_of_incident == system]
        # a system without nodes is watched for as long as the log
        watched = (entered[mine], left[mine]) if mine.any() else (np.zeros(1), np.full(1, window.hours))
        along[system], p[system] = excess_scatter(when, window.hours, *watched)
    return along, p


def excess_scatter(
    times: npt.ArrayLike,
    span: float,
    entered: FloatArray,
    left: FloatArray,
    systems: tuple[IntArray, IntArray] | None = None,
) -> tuple[float, float]:
    """Variance of counts along time relative to Poisson if significant, else 1, and its p-value.

    The largest significant ratio in 8, 16, 32 and 64 equal bins of `span`, given each bin's exposure. All in hours
    since the start of observation; `entered` and `left` are those of each unit. With the `systems` of the times and of
    the units, each system is expected to keep its own rate; one without units is watched for all of the span.
    """
    when = np.asarray(times, dtype=np.float64)
    of_time, of_unit = systems or (np.zeros(when.size, np.int64), np.zeros(entered.size, np.int64))
    scatter, smallest = 1.0, 1.0
    used = [bins for bins in _BINS if when.size >= _EACH * bins]
    for bins in used:
        edges = np.linspace(0.0, span, bins + 1)
        counts, expected, known = np.zeros((3, bins))
        for system in np.unique(of_time):
            mine = of_unit == system
            first, last = (entered[mine], left[mine]) if mine.any() else (np.zeros(1), np.full(1, span))
            share = np.diff(np.clip(edges[:, None] - first, 0.0, last - first).sum(axis=1))
            seen = np.where(share > 0.0, np.histogram(when[of_time == system], edges)[0], 0)
            counts += seen
            expected += seen.sum() * share / max(share.sum(), 1e-300)
            known += seen.sum() * (share / max(share.sum(), 1e-300)) ** 2
        watched = expected > 0.0
        if watched.sum() < 4:
            continue
        # each system's total is given: what its counts share is not scatter
        degrees = float(watched.sum() - (known[watched] / expected[watched]).sum())
        statistic = float(((counts - expected)[watched] ** 2 / expected[watched]).sum())
        p = float(special.chdtrc(degrees, statistic))
        smallest = min(smallest, p * len(used))
        if p < _SIZE / len(used):
            scatter = max(scatter, statistic / degrees)
    return scatter, smallest


def _exposure(
    scope: ScopeIncidents, fits: RenewalModels, shape: FloatArray, count: FloatArray, hours: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Steady-state hours of each place, shape (places,), and of each system, shape (systems,)."""
    of_known_age = np.flatnonzero(~np.isnan(scope.start_age))
    each, exposure = scope.hours.astype(np.float64), hours.copy()
    if not of_known_age.size:
        return each, exposure
    code, own = scope.system, relative_rates(scope, fits, hours)
    for system in np.flatnonzero((count > 0.0) & (shape != 1.0)):  # systems, not nodes
        mine = of_known_age[code[of_known_age] == system]
        ages = np.stack([scope.age[mine], scope.start_age[mine]])
        more = _ahead(ages, own[mine], float(shape[system]), float(count[system]), float(hours[system]))
        each[mine] += more
        exposure[system] += more.sum()
    return each, exposure


def relative_rates(scope: ScopeIncidents, fits: RenewalModels, hours: FloatArray) -> FloatArray:
    """Long-run rate of each place relative to the mean of its system, shape (places,)."""
    own = fits.rates()
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(scope.system, own * scope.hours, hours.size) / hours
        return np.asarray(np.nan_to_num(own / mean[scope.system], nan=1.0, posinf=1.0))


def residual_hours(ages: FloatArray, own: FloatArray, shape: float, mean: float) -> FloatArray:
    """Increase of mean residual lives, times the rates `own`; `ages` has shape (2: at the end and start, places)."""
    end, start = mean_residual_life(ages, mean / own, shape)
    return np.asarray((end - start) * own)


def _ahead(ages: FloatArray, own: FloatArray, shape: float, count: float, hours: float) -> FloatArray:
    """`residual_hours` at the mean time for which the steady-state hours are this mean times the count."""

    def log_share(_: object, mean: FloatArray) -> FloatArray:
        more = np.array([residual_hours(ages, own, shape, each).sum() for each in mean.tolist()])
        return np.asarray(np.log(mean / np.maximum(hours + more, 1e-300)))

    usual, level, row = np.array([hours / count]), -np.log([count]), np.zeros(1, np.intp)
    if not (ages.size and log_share(row, usual / _WITHIN)[0] < level[0] < log_share(row, usual * _WITHIN)[0]):
        return np.zeros(ages.shape[1])
    return residual_hours(ages, own, shape, float(time_at_level(log_share, level, usual)[0]))


def mean_residual_life(age: FloatArray, mean: FloatArray, shape: float) -> FloatArray:
    """Mean residual life, hours, at an age (hours) of a Weibull distribution with this mean and shape."""
    with np.errstate(all="ignore"):
        scale = mean / special.gamma(1.0 + 1.0 / shape)
        spent = (age / scale) ** shape
        tail = special.gammaincc(1.0 / shape, spent) * np.exp(spent) * mean
        return np.where(spent < _FAR, tail, scale / shape * spent ** (1.0 / shape - 1.0))
