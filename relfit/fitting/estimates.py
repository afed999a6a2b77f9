"""Estimates of one distribution for every group of a batch: their curves, criteria, and draws from their posterior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arguments import durations
from relfit.base.arrays import BoolArray, Durations, FloatArray, IntArray, Seed
from relfit.base.errors import ArgumentError
from relfit.fitting import status
from relfit.fitting.families import Distribution, Family
from relfit.fitting.likelihood import LogLikelihood
from relfit.log.lifedata import LifeData

MAXIMUM_LIKELIHOOD = "maximum likelihood"
_FREEDOM, _WIDER = 4.0, 1.2  # degrees of freedom of the proposals, and how much wider they are than the likelihood
_ROUNDS = 3  # of proposals
_VALUES = 2_000_000  # draws times lives at a time
_FEWEST = 0.05  # effective share of the draws below which a group is not usable


class _HasDistribution(Protocol):
    @property
    def distribution(self) -> Distribution: ...


class GroupCurves:
    """Curves of the fitted distributions, one per group.

    A single time gives an array of shape (groups,); m times give (groups, m); an array of shape (groups, m) gives each
    group times of its own. Times are hours, or text such as "24h".
    """

    def sf(self: _HasDistribution, time: Durations, age: object = None) -> FloatArray:
        """Reliability of every group, for new nodes or nodes of an age.

        Parameters
        ----------
        time, age : duration
            Hours, or text such as "24h"; new nodes without `age`.

        Examples
        --------
        >>> import relfit as rf
        >>> fit = rf.fit([100.0, 900.0, 4000.0, 8760.0], "weibull")["weibull"]
        >>> fit.shape.round(2).tolist(), fit.sf("24h").round(2).tolist(), fit.sf("24h", age="1000h").round(3).tolist()
        ([0.76], [0.97], [0.992])
        >>> fit.sf(["1h", "24h"]).shape, fit.median.round(0).tolist(), fit.ppf(0.5).round(0).tolist()
        ((1, 2), [1831.0], [1831.0])
        """
        times = _turned("time", durations("time", time), self.distribution)
        ages = None if age is None else _turned("age", durations("age", age), self.distribution)
        return self.distribution.sf(times, ages).T

    def conditional_sf(self: _HasDistribution, time: Durations, age: object) -> FloatArray:
        """Probability that a node of this age survives `time` hours more: ``sf(time, age)``."""
        return GroupCurves.sf(self, time, age)

    def cdf(self: _HasDistribution, time: Durations) -> FloatArray:
        """Probability of failing within `time`."""
        return self.distribution.cdf(_turned("time", durations("time", time), self.distribution)).T

    def pdf(self: _HasDistribution, time: Durations) -> FloatArray:
        """Density at `time`, per hour."""
        return self.distribution.pdf(_turned("time", durations("time", time), self.distribution)).T

    def hazard(self: _HasDistribution, time: Durations) -> FloatArray:
        """Failure rate at `time`, per hour, given life so far."""
        return self.distribution.hazard(_turned("time", durations("time", time), self.distribution)).T

    def cumulative_hazard(self: _HasDistribution, time: Durations) -> FloatArray:
        """Integral of the hazard up to `time`."""
        return self.distribution.cumulative_hazard(_turned("time", durations("time", time), self.distribution)).T

    def quantile(self: _HasDistribution, probability: npt.ArrayLike) -> FloatArray:
        """Hours by which a share `probability` has failed."""
        return self.distribution.quantile(_turned("probability", np.asarray(probability, float), self.distribution)).T

    def ppf(self: _HasDistribution, probability: npt.ArrayLike) -> FloatArray:
        """`quantile`, by the name that scipy has."""
        return GroupCurves.quantile(self, probability)

    @property
    def median(self: _HasDistribution) -> FloatArray:
        """Hours by which half have failed under the fitted distribution, shape (groups,)."""
        return self.distribution.median()

    @property
    def mean(self: _HasDistribution) -> FloatArray:
        """Mean in hours under the fitted distribution, shape (groups,)."""
        with np.errstate(all="ignore"):
            return self.distribution.mean()


def _turned(name: str, values: FloatArray, distribution: Distribution) -> FloatArray:
    """Values with the groups along the last axis, as a batch of distributions takes them."""
    groups = distribution.batch_shape[-1]
    if values.ndim > 2 or (values.ndim == 2 and values.shape[0] not in (1, groups)):
        raise ArgumentError(
            f"{name} has shape {values.shape}, and there are {groups} groups",
            remedy=f"give one {name}, several for all groups, or a row for each group: ({groups}, m)",
        )
    return values[:, None] if values.ndim == 1 else values.T


@dataclass(frozen=True)
class Estimates:
    """Estimates of a family, NaN where ``codes`` is not `status.OK`; shapes (groups,), (groups, k), (groups, k, k)."""

    codes: npt.NDArray[np.int8]
    parameters: FloatArray
    covariance: FloatArray
    loglik: FloatArray

    @classmethod
    def empty(cls, groups: int, count: int) -> Estimates:
        """Nothing fitted yet."""
        return cls(
            np.full(groups, status.NOT_CONVERGED, dtype=np.int8),
            np.full((groups, count), np.nan),
            np.full((groups, count, count), np.nan),
            np.full(groups, np.nan),
        )

    def set_apart_overflow(self) -> Estimates:
        """Mark groups with an estimate beyond the range of floats as not converged."""
        fitted = self.codes == status.OK
        finite = np.isfinite(self.parameters).all(axis=1) & np.isfinite(self.covariance).all(axis=(1, 2))
        self.codes[fitted & ~(finite & np.isfinite(self.loglik))] = status.NOT_CONVERGED
        for values in (self.parameters, self.covariance, self.loglik):
            values[self.codes != status.OK] = np.nan
        return self

    def take(self, positions: IntArray) -> Estimates:
        """The estimates of the groups at these positions."""
        return Estimates(
            self.codes[positions], self.parameters[positions], self.covariance[positions], self.loglik[positions]
        )


Estimator = Callable[[type[Family], LifeData, int | None], Estimates]  # a family, durations, workers


@dataclass(frozen=True, eq=False, repr=False)
class FamilyEstimates(GroupCurves):
    """Estimates of one distribution in every group: `relfit.fitting.FamilyFit` without intervals and tests; hours.
    `n_resamples` and `rng` are for p-values that no table gives (see `FamilyFit.goodness`).
    """

    family: type[Family]
    lives: LifeData
    estimates: Estimates
    level: float
    method: str
    estimator: Estimator
    n_resamples: int | str = "auto"
    rng: Seed = 0

    @property
    def name(self) -> str:
        """Name of the family."""
        return self.family.name

    @property
    def groups(self) -> pd.Index:
        """Labels of the groups."""
        return self.lives.groups

    @property
    def parameter_array(self) -> FloatArray:
        """Estimates, shape (groups, k), in the order of ``family.parameter_names()``."""
        return self.estimates.parameters

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the estimates, shape (groups, k, k)."""
        return self.estimates.covariance

    @property
    def loglik(self) -> FloatArray:
        """Log-likelihood at the estimates, shape (groups,)."""
        return self.estimates.loglik

    @cached_property
    def status(self) -> npt.NDArray[np.object_]:
        """One word per group; `relfit.fitting.status.MEANING` explains each."""
        return status.words(self.estimates.codes)

    @cached_property
    def ok(self) -> npt.NDArray[np.bool_]:
        """Where the distribution could be fitted, shape (groups,)."""
        return np.asarray(self.estimates.codes == status.OK)

    @property
    def parameters(self) -> dict[str, FloatArray]:
        """Estimates by name."""
        return {name: self.parameter_array[:, i] for i, name in enumerate(self.family.parameter_names())}

    @property
    def standard_errors(self) -> dict[str, FloatArray]:
        """Standard errors by parameter name, from the observed information."""
        with np.errstate(invalid="ignore"):
            return {name: np.sqrt(self.covariance[:, i, i]) for i, name in enumerate(self.family.parameter_names())}

    @cached_property
    def distribution(self) -> Family:
        """The fitted distributions, as a batch with NaN where there is none."""
        return self.family.unchecked(*self.parameter_array.T)

    @property
    def aic(self) -> FloatArray:
        """Akaike's criterion."""
        return np.asarray(2.0 * self.parameter_array.shape[1] - 2.0 * self.loglik)

    @property
    def aicc(self) -> FloatArray:
        """Akaike's criterion with the small-sample term, n the number of failures; infinite for n <= k + 1."""
        k, n = self.parameter_array.shape[1], self.lives.n_failures
        room = n - k - 1
        term = np.where(room > 0, 2.0 * k * (k + 1) / np.maximum(room, 1), np.inf)
        return self.aic + np.where(self.ok, term, np.nan)

    @property
    def bic(self) -> FloatArray:
        """Schwarz's criterion, n the number of failures (Volinsky and Raftery 2000)."""
        n = np.maximum(self.lives.n_failures, 1)
        return np.asarray(self.parameter_array.shape[1] * np.log(n) - 2.0 * self.loglik)

    @cached_property
    def free(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Fitted groups, their free coordinates and the covariance of these."""
        rows = np.flatnonzero(self.ok)
        free = self.family.to_free(self.parameter_array[rows])
        return rows, free, free_covariance(self.family, free, self.covariance[rows])


def jacobian(family: type[Family], free: FloatArray) -> FloatArray:
    """Derivatives of the parameters (rows) by the free coordinates (columns), shape (groups, k, k)."""
    step = 1e-5
    moves = step * np.eye(free.shape[1])[:, None]
    with np.errstate(all="ignore"):
        near = family.from_free(free[None] + moves) - family.from_free(free[None] - moves)
        far = family.from_free(free[None] + 2.0 * moves) - family.from_free(free[None] - 2.0 * moves)
        return np.moveaxis((8.0 * near - far) / (12.0 * step), 0, 2)


def free_covariance(family: type[Family], free: FloatArray, covariance: FloatArray) -> FloatArray:
    """Covariance in free coordinates, from that of the parameters; shapes (groups, k, k). NaN where it has none."""
    slope = jacobian(family, free)
    inverse = np.full(slope.shape, np.nan)
    with np.errstate(all="ignore"):
        usable = np.isfinite(slope).all(axis=(1, 2)) & (np.linalg.det(slope) != 0.0)
        inverse[usable] = np.linalg.inv(slope[usable])
        return np.asarray(inverse @ covariance @ inverse.transpose(0, 2, 1))


def drawn_parameters(
    fit: FamilyEstimates, rows: IntArray, n_draws: int, rng: np.random.Generator
) -> tuple[FloatArray, BoolArray]:
    """Draws of the parameters of some groups, (draws, groups, k), by importance sampling, and which groups have enough.

    The prior is flat in free coordinates, and for groups with lives that entered late in those of `_Spent`.
    """
    fitted, free, covariance = fit.free
    place = np.searchsorted(fitted, rows)
    centre, covariance = free[place], covariance[place]
    group, k = np.arange(rows.size), centre.shape[1]
    likelihood = LogLikelihood(fit.family, fit.lives.take(rows))
    spent = _Spent.of(fit.family, likelihood.lives)
    centre, covariance = spent.coordinates(centre, covariance)
    at_once = max(_VALUES // max(likelihood.lives.durations.size, 1), 1)
    usable = np.asarray(np.isfinite(covariance).all(axis=(1, 2)))
    for _ in range(_ROUNDS):  # each proposes from the mean and covariance of the round before
        values = np.linalg.eigvalsh(covariance[usable])
        usable[usable] = values[:, 0] > 1e-12 * values[:, -1]
        root = np.zeros_like(covariance)
        root[usable] = _WIDER * np.linalg.cholesky(covariance[usable])
        moves = rng.standard_normal((n_draws, rows.size, k))
        moves /= np.sqrt(rng.chisquare(_FREEDOM, (n_draws, rows.size, 1)) / _FREEDOM)
        proposed = centre + np.einsum("gij,mgj->mgi", root, moves)
        free = spent.free(proposed)
        log = np.concatenate([likelihood(free[i : i + at_once]) for i in range(0, n_draws, at_once)])
        log += 0.5 * (_FREEDOM + k) * np.log1p((moves**2).sum(axis=-1) / _FREEDOM)
        log[:, ~usable | ~np.isfinite(log.max(axis=0))] = 0.0
        weight = np.exp(log - log.max(axis=0))
        weight /= weight.sum(axis=0)
        centre = np.einsum("mg,mgi->gi", weight, proposed)
        away = proposed - centre
        covariance = np.einsum("mg,mgi,mgj->gij", weight, away, away)
    usable &= 1.0 / (weight**2).sum(axis=0) >= _FEWEST * n_draws
    steps = (np.arange(n_draws)[:, None] + rng.random(rows.size)) / n_draws  # systematic resampling
    above = np.cumsum(weight, axis=0)
    order = np.stack([np.searchsorted(above[:, g], steps[:, g]) for g in group], axis=1)
    return fit.family.from_free(free[np.minimum(order, n_draws - 1), group]), usable


_SCALES = {"weibull": 1, "gamma": 1, "loglogistic": 1, "lognormal": 0}  # which free coordinate is the log of the scale


@dataclass(frozen=True)
class _Spent:
    """Free coordinates with the log of the cumulative hazard at the median age of failure in place of the log scale.

    Lives that entered late say how often units of their ages fail, and little of earlier ages. Their scale runs away
    with a shape towards zero, and a prior flat in its log would favour such shapes.
    """

    family: type[Family]
    age: FloatArray  # NaN for groups that keep their coordinates

    @classmethod
    def of(cls, family: type[Family], lives: LifeData) -> _Spent:
        failed = lives.observed
        median = pd.Series(lives.durations[failed]).groupby(lives.group_codes()[failed]).median()
        age = median.reindex(range(lives.n_groups)).to_numpy(dtype=np.float64)
        return cls(family, np.where((lives.n_late > 0) & (family.name in _SCALES), age, np.nan))

    def _log_hazard(self, free: FloatArray) -> FloatArray:
        """Log of the cumulative hazard at the age, shape (..., groups, k) to (..., groups)."""
        distribution = self.family.unchecked(*np.moveaxis(self.family.from_free(free), -1, 0))
        return np.asarray(np.log(distribution.cumulative_hazard(self.age)))

    def coordinates(self, free: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """These coordinates, and their covariance, from free ones."""
        late = np.isfinite(self.age)
        if not late.any():
            return free, covariance
        scale, moves = _SCALES[self.family.name], 1e-5 * np.eye(free.shape[1])[:, None]
        at, slope = free.copy(), np.tile(np.eye(free.shape[1]), (late.size, 1, 1))
        at[late, scale] = self._log_hazard(free)[late]
        slope[late, scale] = ((self._log_hazard(free + moves) - self._log_hazard(free - moves)) / 2e-5).T[late]
        return at, slope @ covariance @ slope.transpose(0, 2, 1)

    def free(self, at: FloatArray) -> FloatArray:
        """Free coordinates of draws, shape (draws, groups, k)."""
        late = np.isfinite(self.age)
        if not late.any():
            return at
        scale, free = _SCALES[self.family.name], at.copy()
        free[:, late, scale] = 0.0
        with np.errstate(all="ignore"):
            one = self.family.unchecked(*np.moveaxis(self.family.from_free(free), -1, 0))
            free[..., late, scale] = np.log(self.age / one.inverse_cumulative_hazard(np.exp(at[..., scale])))[:, late]
        return free
