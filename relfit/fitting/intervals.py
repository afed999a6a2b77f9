"""Quantities of fits that have intervals, and their limits: Wald, profile likelihood, bootstrap, and exact ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arguments import durations
from relfit.base.arrays import FloatArray, Seed
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.numeric.levels import normal_quantile
from relfit.base.numeric.poisson import exponential_mean_interval
from relfit.base.units import hours
from relfit.fitting.bootstrap import replicate
from relfit.fitting.estimates import FamilyEstimates
from relfit.fitting.families import Family
from relfit.fitting.families.distribution import HEAVIEST
from relfit.fitting.likelihood import LogLikelihood
from relfit.fitting.profiles import limit_apart, profile_limits
from relfit.log.lifedata import LifeData

QUANTITIES = ("mean", "median", "quantile", "reliability", "hazard")
_Scale = tuple[Callable[[FloatArray], FloatArray], Callable[[FloatArray], FloatArray], tuple[float, float]]
_SCALES: dict[str, _Scale] = {
    "positive": (np.log, np.exp, (0.0, np.inf)),
    "fraction": (special.logit, special.expit, (0.0, 1.0)),
    "real": (np.asarray, np.asarray, (-np.inf, np.inf)),
}
"""By the domain of a parameter its unbounded scale, the way back, and its range."""
_LIVES_AT_ONCE = 50_000  # so that profile limits keep their working arrays small
_PROFILE = Remedy("use kind='profile'", "use --kind profile")
_EXPONENTIAL = Remedy(
    "without a failure only the exponential has one: families='exponential'",
    "without a failure only the exponential has one: --families exponential --kind exact",
)
KINDS = {
    "wald": "normal limits from the observed information, on the scale where the estimate is closest to normal",
    "profile": "values whose profile log-likelihood is within half a chi-square quantile of the maximum",
    "bootstrap": "percentiles over replicates drawn from the fitted distribution and censored alike",
    "resample": "percentiles over replicates that draw each group's durations with replacement",
    "exact": "chi-square limits of the exponential, exact or, for observation that ended by the clock, conservative",
}


@dataclass(frozen=True)
class FitQuantity:
    """A function of the fitted distribution, and the scale on which its estimate is close to normal.

    ``transformed`` gives the value on that scale (unbounded), ``back`` returns from it, ``rising`` says whether the two
    rise together, and ``range`` has the smallest and largest possible value; ``at`` as for `quantity_named`, in hours.
    ``until`` is the age to which a reliability runs; ``earliest`` says that no failure comes before the value,
    ``of_tail`` that it is infinite where the tail is too heavy.
    """

    transformed: Callable[[Family], FloatArray]
    back: Callable[[FloatArray], FloatArray]
    range: tuple[float, float]
    at: float | None = None
    rising: bool = True
    until: float = np.inf
    earliest: bool = False
    of_tail: bool = False

    def value(self, distribution: Family) -> FloatArray:
        """The quantity itself."""
        with np.errstate(all="ignore"):
            return np.asarray(self.back(self.transformed(distribution)), dtype=np.float64)

    def of_free(self, family: type[Family], free: FloatArray) -> FloatArray:
        """The transformed quantity at free coordinates, shape (..., k) to (...)."""
        with np.errstate(all="ignore"):
            return self.transformed(family.unchecked(*np.moveaxis(family.from_free(free), -1, 0)))

    def limits(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ends of the quantity's interval from those of the transformed one."""
        first, second = self.back(low), self.back(high)
        return (first, second) if self.rising else (second, first)

    def ends(self, lives: LifeData) -> tuple[float, float | FloatArray]:
        """The smallest and largest value that the lives allow; of a threshold each group has its first failure."""
        if not self.earliest:
            return self.range
        first, failed = np.full(lives.n_groups, np.inf), np.isfinite(lives.ends)
        np.minimum.at(first, lives.group_codes()[failed], lives.ends[failed])
        return self.range[0], first


def quantity_named(
    name: str, family: type[Family], at: float | str | None, age: float | str | None = None
) -> FitQuantity:
    """The quantity `name` of `family`: one of `QUANTITIES` or a parameter; an `ArgumentError` for what does not fit.
    `at` is the probability of a quantile (0..1), or the one time, above zero, of a reliability or a hazard; `age` that
    from which the time of a reliability runs.
    """
    names = family.parameter_names()
    if np.ndim(at) or np.ndim(age):  # type: ignore[arg-type]
        several = "at" if np.ndim(at) else "age"  # type: ignore[arg-type]
        raise ArgumentError(f"interval takes one {several}=", remedy="call it once for each value")
    if age is not None and name != "reliability":
        raise ArgumentError(f"{name} takes no age=", remedy="reliability does")
    if at is not None and name in (*names, "mean", "median"):
        raise ArgumentError(f"{name} takes no at=", remedy="quantile takes a probability; reliability, hazard a time")
    if name in names:
        unbounded, back, ends = _SCALES[family.domains[names.index(name)]]
        return FitQuantity(lambda d: unbounded(getattr(d, name)), back, ends, earliest=name == "threshold")
    if name == "mean":
        return FitQuantity(lambda d: np.log(d.mean()), np.exp, (0.0, np.inf), of_tail=True)
    if name in ("median", "quantile"):
        if name == "quantile" and (at is None or isinstance(at, str)):
            raise ArgumentError("quantile needs a probability", remedy=Remedy("give at=0.1", "write quantile@0.1"))
        p = 0.5 if at is None else float(at)
        if not 0.0 < p < 1.0:
            raise ArgumentError(f"quantile {p:g} is not between 0 and 1", remedy="10 % is 0.1")
        spent, place = -np.log1p(-p), None if name == "median" else p
        return FitQuantity(lambda d: np.log(d.inverse_cumulative_hazard(spent)), np.exp, (0.0, np.inf), place)
    if name in ("reliability", "hazard"):
        if at is None:
            raise ArgumentError(
                f"{name} needs a time", remedy=Remedy("give at=, in hours or as '24h'", f"write {name}@24h")
            )
        time = hours(at)
        if not (time > 0.0 and np.isfinite(time)):
            raise ArgumentError(f"{name} at {time:g} hours has no value", remedy="give a time above zero")
        if name == "hazard":
            return FitQuantity(lambda d: d.log_hazard(time), np.exp, (0.0, np.inf), time)
        start = 0.0 if age is None else float(durations("age", age))
        return FitQuantity(
            lambda d: np.log(d.conditional_cumulative_hazard(time, start) if start else -d.log_sf(time)),
            lambda x: np.exp(-np.exp(x)),
            (0.0, 1.0),
            time,
            rising=False,
            until=time + start,
        )
    raise no_quantity(name, names, f" of the {family.name} family")


def no_quantity(name: str, parameters: Iterable[str], of: str = "") -> ArgumentError:
    """The error of a quantity that there is not, with the nearest one."""
    names = list(parameters)
    if name in ("conditional_sf", "conditional_reliability", "sf"):
        return ArgumentError(f"no quantity {name!r}", remedy="use reliability with at= and age=")
    percent = re.fullmatch(r"[bB]_?(\d{1,2}(?:\.\d+)?)", name)
    if percent:
        p = float(percent[1]) / 100.0
        remedy = Remedy(f"it is the quantile: use quantile with at={p:g}", f"it is the quantile: write quantile@{p:g}")
        return ArgumentError(f"no quantity {name!r}", remedy=remedy)
    near = get_close_matches(name, [*QUANTITIES, *names], n=1)
    return ArgumentError(
        f"no quantity {name!r}{of}",
        remedy=(f"did you mean {near[0]}? " if near else "")
        + f"use {', '.join(QUANTITIES)} or a parameter ({', '.join(names)})",
    )


def exact_limits(
    fit: FamilyEstimates, quantity: FitQuantity, level: float, terminated: str | None = None
) -> tuple[FloatArray, FloatArray]:
    """Chi-square intervals, of any monotone quantity of the exponential; without a failure only a lower limit."""
    lives = fit.lives
    if fit.name != "exponential":
        remedy = _PROFILE if lives.n_failures.any() else _EXPONENTIAL
        raise ArgumentError(f"there is no exact interval for the {fit.name} family", remedy=remedy)
    if lives.upper is not None or lives.exit is not None:
        raise ArgumentError("exact intervals need observed or right-censored durations", remedy=_PROFILE)
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


def normal_limits(
    family: type[Family], quantity: FitQuantity, free: FloatArray, covariance: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Limits by the delta method, normal on the quantity's unbounded scale, from free coordinates (groups, k)."""
    with np.errstate(all="ignore"):
        errors = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        step = np.clip(1e-3 * errors, 1e-8, 1e-3)
        moves = np.eye(free.shape[1])[:, None, :] * step[None]
        near, far = (
            quantity.of_free(family, free + m) - quantity.of_free(family, free - m) for m in (moves, 2.0 * moves)
        )
        slope = ((8.0 * near - far) / (12.0 * step.T)).T
        away = normal_quantile(level) * np.sqrt(np.einsum("gi,gij,gj->g", slope, covariance, slope))
        middle = quantity.of_free(family, free)
        return quantity.limits(middle - away, middle + away)


def wald_limits(fit: FamilyEstimates, quantity: FitQuantity, level: float) -> tuple[FloatArray, FloatArray]:
    """Intervals by the delta method from the observed information."""
    out = np.full((2, fit.lives.n_groups), np.nan)
    rows, free, covariance = fit.free
    if rows.size:
        out[:, rows] = normal_limits(fit.family, quantity, free, covariance, level)
    out = np.minimum(out, quantity.ends(fit.lives)[1])
    if "threshold" in fit.parameters and np.isfinite(quantity.until):
        out[:, wald_limits(fit, _threshold(fit), level)[0] >= quantity.until] = 1.0
    return out[0], out[1]


def _threshold(fit: FamilyEstimates) -> FitQuantity:
    return quantity_named("threshold", fit.family, None)


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
    if quantity.of_tail and (lost := fit.ok & np.isnan(out[1])).any():  # it rises without bound within the range
        index = FitQuantity(lambda d: np.log(d.tail_index()), np.exp, (0.0, np.inf))
        out[1, lost & (likelihood_limits(fit, index, level)[0] <= HEAVIEST)] = np.inf
    if quantity.earliest:  # the profile may rise again, or fall no further, before the range ends
        for end, last in zip(out, quantity.ends(fit.lives), strict=True):
            end[:] = np.where(np.isnan(end) & fit.ok, last, end)
    elif "threshold" in fit.parameters and np.isfinite(quantity.until):
        earliest, latest = likelihood_limits(fit, _threshold(fit), level)
        out[0, earliest >= quantity.until], out[1, latest >= quantity.until] = 1.0, 1.0  # no unit fails so early
        part = np.flatnonzero((fit.parameters["threshold"] >= quantity.until) & ~(earliest >= quantity.until))
        if part.size:
            objective = LogLikelihood(fit.family, fit.lives.take(part.tolist()))
            start = free[np.searchsorted(rows, part)]
            top, held = objective(start[None])[0], list(fit.parameters).index("threshold")
            start[:, held] = np.log(0.5 * (earliest[part] + quantity.until))
            most = limit_apart(objective, start, top, drop, lambda at: quantity.of_free(fit.family, at), held)
            out[0, part] = quantity.back(most)
    return out[0], out[1]
