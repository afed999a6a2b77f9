"""The families that describe times to failure and to repair, with a covariance that planners can draw from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from relfit.calibration.draws import free_slope
from relfit.calibration.quantities import Duration
from relfit.calibration.schema import FittedFamily
from relfit.errors import RelfitError

if TYPE_CHECKING:
    from relfit.fitting import FamilyFit
    from relfit.lifedata import LifeData

__all__ = ["fitted_family", "widening"]

FloatArray = npt.NDArray[np.float64]

_LEAST_GROUPS = 20  # nodes from which on dependence of the lives of one node can be seen


def fitted_family(lives: LifeData, families: Sequence[str], level: float) -> tuple[FittedFamily | None, str]:
    """The best of several families by AICc, fitted to the lives of all groups together, or None and why there is none.

    Lives of one node resemble each other. Where there are nodes enough to see how much, the covariance is widened by
    the ratio of the robust (sandwich) one, in which nodes and not lives are independent, to that of the likelihood.

    Parameters
    ----------
    lives : LifeData
        One group a node.
    families : sequence of str
    level : float
    """
    from relfit.fitting import fit

    pooled = lives.pooled()
    above = pooled.durations > 0.0
    if not above.all():
        pooled = _kept(pooled, above)
    if int(pooled.n_failures.sum()) < 2:
        return None, "fewer than two times are known"
    try:
        fits = fit(pooled, list(families), level=level, n_resamples=0)
    except RelfitError as error:
        return None, str(error)
    criterion = {name: float(fits[name].aicc[0]) for name in fits.families if fits[name].ok[0]}
    if not criterion:
        return None, f"no family could be fitted ({fits[fits.families[0]].status[0]})"
    best = min(criterion, key=lambda name: criterion[name] if np.isfinite(criterion[name]) else np.inf)
    chosen = fits[best]
    covariance = chosen.covariance[0]
    factor = 1.0
    usable = bool(np.isfinite(covariance).all())
    if usable:
        factor = widening(chosen, lives.group_codes()[lives.durations > 0.0], lives.n_groups)
    errors = np.sqrt(np.diag(covariance)) if usable else None
    tried = ", ".join(criterion)
    how = f"maximum likelihood; best by AICc of {tried}" if len(criterion) > 1 else "maximum likelihood"
    names = chosen.family.parameter_names()
    values = {name: float(chosen.parameters[name][0]) for name in names}
    low: dict[str, float] | None = None
    high: dict[str, float] | None = None
    if errors is not None:
        low, high = _limits(chosen, errors * np.sqrt(factor), level)
    return FittedFamily(
        family=best,
        parameters=values,
        low=low,
        high=high,
        level=level if low else None,
        covariance=(covariance * factor).tolist() if usable else None,
        events=int(pooled.n_failures.sum()),
        censored=int(pooled.n_censored.sum()),
        dispersion=factor if factor > 1.0 else None,
        mean=_mean(chosen, factor, level),
        method=how,
    ), ""


def widening(fit: FamilyFit, codes: npt.NDArray[np.int64], groups: int) -> float:
    """How many times wider the robust covariance is than that of the likelihood, on average; at least 1.

    Parameters
    ----------
    fit : FamilyFit
        Of one group.
    codes : ndarray of int, shape (lives,)
        The node of each life.
    groups : int
        How many nodes there are.
    """
    present = np.unique(codes)
    if present.size < _LEAST_GROUPS:
        return 1.0
    lives, kind = fit.lives, fit.family
    centre = fit.parameter_array[0]
    free = kind.to_free(centre)

    def each(at: FloatArray) -> FloatArray:
        law = kind.unchecked(*kind.from_free(at))
        with np.errstate(all="ignore"):
            value = np.where(lives.observed, law.log_pdf(lives.durations), law.log_sf(lives.durations))
            if lives.entry is not None:
                value = value - law.log_sf(lives.entry)
        return np.asarray(value, dtype=np.float64)

    step = 1e-5
    scores = np.stack([(each(free + step * e) - each(free - step * e)) / (2.0 * step) for e in np.eye(free.size)])
    if not np.isfinite(scores).all():
        return 1.0
    by_node = np.stack([np.bincount(codes, score, groups) for score in scores])
    by_node = by_node - by_node[:, present].mean(axis=1, keepdims=True)
    meat = by_node[:, present] @ by_node[:, present].T * present.size / (present.size - 1)
    slope = free_slope(kind, centre)
    covariance = slope @ fit.covariance[0] @ slope.T
    factor = float(np.trace(covariance @ meat)) / free.size
    return max(1.0, factor) if np.isfinite(factor) else 1.0


def _kept(lives: LifeData, which: npt.NDArray[np.bool_]) -> LifeData:
    from relfit.lifedata import LifeData as Lives

    size = np.array([0, int(which.sum())], dtype=np.int64)
    further = {name: values[which] for name, values in lives.further().items()}
    return Lives(
        lives.durations[which], lives.observed[which], size, lives.groups, lives.measure, None, lives.notes, **further
    )


def _limits(
    fit: FamilyFit, errors: FloatArray, level: float
) -> tuple[dict[str, float] | None, dict[str, float] | None]:
    """Wald limits on the log, logit or natural scale."""
    from scipy import special

    z = float(special.ndtri(0.5 + level / 2.0))
    low, high = {}, {}
    for name, value, error, domain in zip(
        fit.family.parameter_names(), fit.parameter_array[0], errors, fit.family.domains, strict=True
    ):
        with np.errstate(over="ignore"):
            if domain == "positive":
                ends = value * np.exp(-z * error / value), value * np.exp(z * error / value)
            elif domain == "fraction":
                far = z * error / (value * (1.0 - value))
                ends = special.expit(special.logit(value) - far), special.expit(special.logit(value) + far)
            else:
                ends = value - z * error, value + z * error
        if not np.isfinite(ends).all():
            return None, None
        low[name], high[name] = float(ends[0]), float(ends[1])
    return low, high


def _mean(fit: FamilyFit, factor: float, level: float) -> Duration | None:
    """Mean under the family; its interval by the delta method on the log scale."""
    mean = float(fit.mean[0])
    if not (np.isfinite(mean) and mean > 0.0):
        return None
    low, high = float(fit.mean_low[0]), float(fit.mean_high[0])
    if not (np.isfinite(low) and np.isfinite(high) and 0.0 < low <= mean <= high):
        return Duration(value=mean)
    wide = np.sqrt(factor)
    with np.errstate(over="ignore"):
        low, high = mean * (low / mean) ** wide, mean * (high / mean) ** wide
    if not (low > 0.0 and np.isfinite(high)):
        return Duration(value=mean)
    return Duration(value=mean, low=low, high=high, level=level)
