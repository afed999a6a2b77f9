"""Intervals for any quantity of a fit: Wald, profile likelihood, bootstrap, and exact ones for the exponential."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray, Seed
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.numeric.levels import normal_quantile
from relfit.base.numeric.poisson import exponential_mean_interval
from relfit.fitting.bootstrap import replicate
from relfit.fitting.estimates import FamilyEstimates
from relfit.fitting.interval_quantities import FitQuantity
from relfit.fitting.likelihood import LogLikelihood
from relfit.fitting.profiles import profile_limits

_LIVES_AT_ONCE = 50_000  # so that profile limits keep their working arrays small

_PROFILE = Remedy("use kind='profile'", "use --kind profile")
KINDS = {
    "wald": "normal limits from the observed information, on the scale where the estimate is closest to normal",
    "profile": "values whose profile log-likelihood is within half a chi-square quantile of the maximum",
    "bootstrap": "percentiles over replicates drawn from the fitted distribution and censored alike",
    "resample": "percentiles over replicates that draw each group's durations with replacement",
    "exact": "chi-square limits of the exponential, exact or, for observation that ended by the clock, conservative",
}


def exact_limits(
    fit: FamilyEstimates, quantity: FitQuantity, level: float, terminated: str | None = None
) -> tuple[FloatArray, FloatArray]:
    """Chi-square intervals; every quantity of the exponential is monotone in the mean.

    A group without a failure has no estimate, but hours: its mean has a lower limit.
    """
    lives = fit.lives
    if fit.name != "exponential":
        raise ArgumentError(f"there is no exact interval for the {fit.name} family", remedy=_PROFILE)
    if lives.upper is not None or lives.exit is not None:
        raise ArgumentError("exact intervals need observed or right-censored lives", remedy=_PROFILE)
    by_clock = lives.n_censored > 0 if terminated is None else np.full(lives.n_groups, terminated == "time")
    total = np.where(fit.ok | (fit.status == "all_censored"), lives.total_time, np.nan)
    with np.errstate(all="ignore"):
        means = exponential_mean_interval(total, lives.n_failures, by_clock, level)
        ends = [quantity.value(fit.family.unchecked(1.0 / mean)) for mean in means]
    return np.minimum(*ends), np.maximum(*ends)


def percentile_limits(
    fit: FamilyEstimates,
    quantity: FitQuantity,
    level: float,
    n_resamples: int,
    rng: Seed,
    resample: bool,
    workers: int | None,
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Percentiles over the estimates of replicates, and where too few of them could be fitted."""
    drawn = replicate(fit, fit.ok, n_resamples, rng, resample=resample, workers=workers)
    values = quantity.value(fit.family.unchecked(*np.moveaxis(drawn, -1, 0)))
    count = (~np.isnan(values)).sum(axis=1)
    out = np.full((2, fit.lives.n_groups), np.nan)
    rows = np.flatnonzero(count > 0)
    ordered = np.sort(values[rows], axis=1)  # NaN last
    for i, share in enumerate((0.5 - level / 2, 0.5 + level / 2)):
        # the (n + 1) share-th smallest, the convention under which n = 999 gives whole ranks
        rank = np.clip(np.rint((count[rows] + 1) * share).astype(np.int64) - 1, 0, count[rows] - 1)
        out[i, rows] = ordered[np.arange(rows.size), rank]
    return out[0], out[1], count < max(19, 0.5 * n_resamples)


def wald_limits(fit: FamilyEstimates, quantity: FitQuantity, level: float) -> tuple[FloatArray, FloatArray]:
    """Intervals by the delta method, normal on the unbounded scale of the quantity."""
    out = np.full((2, fit.lives.n_groups), np.nan)
    rows, free, covariance = fit.free
    if rows.size:
        with np.errstate(all="ignore"):
            errors = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
            step = np.clip(1e-3 * errors, 1e-8, 1e-3)
            moves = np.eye(free.shape[1])[:, None, :] * step[None]
            near, far = (
                quantity.of_free(fit.family, free + m) - quantity.of_free(fit.family, free - m)
                for m in (moves, 2.0 * moves)
            )
            slope = ((8.0 * near - far) / (12.0 * step.T)).T
            away = normal_quantile(level) * np.sqrt(np.einsum("gi,gij,gj->g", slope, covariance, slope))
            out[:, rows] = quantity.limits(*(quantity.of_free(fit.family, free) + sign * away for sign in (-1.0, 1.0)))
    return out[0], out[1]


def likelihood_limits(fit: FamilyEstimates, quantity: FitQuantity, level: float) -> tuple[FloatArray, FloatArray]:
    """Ends of the profile likelihood, for parts of the groups in turn."""
    out = np.full((2, fit.lives.n_groups), np.nan)
    rows, free, covariance = fit.free
    drop = 0.5 * normal_quantile(level) ** 2
    ends = np.cumsum(fit.lives.sizes[rows]) // _LIVES_AT_ONCE
    for part in np.split(np.arange(rows.size), np.flatnonzero(np.diff(ends)) + 1) if rows.size else []:
        objective = LogLikelihood(fit.family, fit.lives.take(rows[part].tolist()))
        top = objective(free[part][None])[0]
        low, high = profile_limits(
            objective, free[part], covariance[part], top, drop, lambda at: quantity.of_free(fit.family, at)
        )
        with np.errstate(all="ignore"):
            out[:, rows[part]] = quantity.limits(low, high)
    return out[0], out[1]
