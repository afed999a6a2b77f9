"""Distributions of times to failure and to repair, with a covariance for draws."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arrays import FloatArray
from relfit.base.errors import RelfitError
from relfit.fitting import FamilyFit, fit
from relfit.fitting.likelihood import LogLikelihood
from relfit.fleet import FleetModel
from relfit.fleet.calibration.draws import free_slope
from relfit.fleet.calibration.parameter_values import Duration
from relfit.fleet.calibration.schema import FittedFamily
from relfit.log.lifedata import LifeData

_LEAST_NODES = 20  # needed to estimate how much the times of one node depend on each other


def fitted_family(times: LifeData, families: Sequence[str], level: float) -> tuple[FittedFamily | None, str]:
    """The best distribution by AICc of the times of all groups, covariance widened by nodes, or None and why not."""
    above = times.durations > 0.0
    pooled = _kept(times.pooled(), above)
    if int(pooled.n_failures.sum()) < 2:
        return None, "fewer than two times are known"
    try:
        fits = fit(pooled, list(families), level=level, n_resamples=0)
    except RelfitError as error:
        return None, str(error)
    aicc = {name: float(fits[name].aicc[0]) for name in fits.families if fits[name].ok[0]}
    if not aicc:
        return None, f"no family could be fitted ({fits[fits.families[0]].status[0]})"
    best = min(aicc, key=lambda name: aicc[name] if np.isfinite(aicc[name]) else np.inf)
    chosen = fits[best]
    covariance = chosen.covariance[0]
    usable = bool(np.isfinite(covariance).all())
    factor = widening(chosen, times.group_codes()[above], times.n_groups) if usable else 1.0
    limits = _limits(chosen, factor, level) if usable else None
    return FittedFamily(
        family=best,
        parameters={name: float(chosen.parameters[name][0]) for name in chosen.family.parameter_names()},
        low=limits[0] if limits else None,
        high=limits[1] if limits else None,
        level=level if limits else None,
        covariance=(covariance * factor).tolist() if usable else None,
        events=int(pooled.n_failures.sum()),
        censored=int(pooled.n_censored.sum()),
        dispersion=factor if factor > 1.0 else None,
        mean=_mean(chosen, factor, level),
        method="maximum likelihood" + (f"; best by AICc of {', '.join(aicc)}" if len(aicc) > 1 else ""),
    ), ""


def family_of_unequal_nodes(model: FleetModel, families: Sequence[str]) -> FittedFamily | None:
    """The Weibull life of a node, of the fleet's mean and the nodes' shape; None if nodes are equal or too few."""
    fits, rates = model.renewals["node"], model.rates["node"]
    if len(model.places.systems) != 1 or "weibull" not in families:
        return None
    if fits.status[0] != "ok" or fits.description[0] == "equal":
        return None
    low, shape, high = (float(value) for value in fits.shape[0])
    mean = 1.0 / float(rates.rate[0])
    ends = 1.0 / np.concatenate(rates.interval(model.level))[::-1]
    first = special.gamma(1.0 + 1.0 / shape)
    # scale = mean / gamma(1 + 1/shape), mean and shape as independent
    variance = float(fits.covariance[0, 0, 0])
    count = float(rates.count[0] / rates.dispersion[0])
    slope = special.digamma(1.0 + 1.0 / shape) / shape
    scale, error = mean / first, np.sqrt(variance)
    root = np.array([[shape * error, 0.0], [scale * slope * error, scale / np.sqrt(count)]])
    lives = model.by_scope["node"].lives
    return FittedFamily(
        family="weibull",
        parameters={"shape": shape, "scale": scale},
        low={"shape": low, "scale": float(ends[0]) / first},
        high={"shape": high, "scale": float(ends[1]) / first},
        level=model.level,
        covariance=(root @ root.T).tolist(),
        events=int(lives.n_failures.sum()),
        censored=int(lives.n_censored.sum()),
        spread=float(fits.variance[0, 1]),
        mean=Duration(value=mean, low=float(ends[0]), high=float(ends[1]), level=model.level),
        method="Weibull renewals of unequal nodes (frailty); the mean is that of the fleet",
    )


def widening(one: FamilyFit, codes: npt.NDArray[np.int64], nodes: int) -> float:
    """Mean ratio of the robust (sandwich) covariance, with nodes as independent, to the likelihood's: 1 or more, and 1
    with fewer than 20 nodes. `codes` are the nodes of the times.
    """
    present = np.unique(codes)
    if present.size < _LEAST_NODES:
        return 1.0
    times, kind, centre = one.lives, one.family, one.parameter_array[0]
    free, each_life = kind.to_free(centre), LogLikelihood(kind, times.each())

    def each(at: FloatArray) -> FloatArray:
        return each_life(np.broadcast_to(at, (1, times.durations.size, at.size)))[0]

    step = 1e-5
    scores = np.stack([(each(free + step * e) - each(free - step * e)) / (2.0 * step) for e in np.eye(free.size)])
    if not np.isfinite(scores).all():
        return 1.0
    by_node = np.stack([np.bincount(codes, score, nodes) for score in scores])[:, present]
    by_node = by_node - by_node.mean(axis=1, keepdims=True)
    meat = by_node @ by_node.T * present.size / (present.size - 1)
    slope = free_slope(kind, centre)
    factor = float(np.trace(slope @ one.covariance[0] @ slope.T @ meat)) / free.size
    return max(1.0, factor) if np.isfinite(factor) else 1.0


def _kept(times: LifeData, which: npt.NDArray[np.bool_]) -> LifeData:
    if which.all():
        return times
    size = np.array([0, int(which.sum())], dtype=np.int64)
    further = {name: values[which] for name, values in times.further().items()}
    return LifeData(
        times.durations[which], times.observed[which], size, times.groups, times.measure, None, times.notes, **further
    )


def _limits(one: FamilyFit, factor: float, level: float) -> list[dict[str, float]] | None:
    """Wald limits of each parameter, from its free scale; None if they are not finite."""
    kind, centre = one.family, one.parameter_array[0]
    slope = free_slope(kind, centre)
    error = np.sqrt(np.maximum(np.diag(slope @ one.covariance[0] @ slope.T) * factor, 0.0))
    far = np.diag(special.ndtri(0.5 + 0.5 * level) * error)
    with np.errstate(all="ignore"):
        ends = np.sort([np.diag(kind.from_free(kind.to_free(centre) + sign * far)) for sign in (-1.0, 1.0)], axis=0)
    if not np.isfinite(ends).all():
        return None
    return [dict(zip(kind.parameter_names(), end.tolist(), strict=True)) for end in ends]


def _mean(one: FamilyFit, factor: float, level: float) -> Duration | None:
    """Mean of the distribution, with its interval widened on the log scale."""
    low, mean, high = (float(values[0]) for values in (one.mean_low, one.mean, one.mean_high))
    if not (np.isfinite(mean) and mean > 0.0):
        return None
    if np.isfinite(low) and np.isfinite(high) and 0.0 < low <= mean <= high:
        with np.errstate(over="ignore"):
            low, high = mean * (low / mean) ** np.sqrt(factor), mean * (high / mean) ** np.sqrt(factor)
        if low > 0.0 and np.isfinite(high):
            return Duration(value=mean, low=low, high=high, level=level)
    return Duration(value=mean)
