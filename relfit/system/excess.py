"""The life left of a node that works at a given age: further cumulative hazard, failure rate, and the inverse.

``D(x | t) = H(t + x) - H(t)`` is what decides, H being the cumulative hazard: the excess life exceeds x with
probability ``exp(-D)`` (reliability-aware allocation, equation 4.3). As a difference it would
lose every digit where x is short beside the age t, or H large; here it comes from closed forms, and from the integral
of the failure rate for families that have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.families import (
    CompetingRisks,
    Distribution,
    Exponential,
    Family,
    Gompertz,
    LimitedFailure,
    Loglogistic,
    Weibull,
    Weibull3,
    ZeroInflated,
)
from relfit.families.distribution import log_sum
from relfit.families.mixtures import Mixture
from relfit.system.rates import log_rate

__all__ = ["Life", "excess_hazard", "excess_inverse", "excess_log_rate"]

Life: TypeAlias = Family | CompetingRisks
"""What a node's life can be: a batch of it can be indexed."""

FloatArray = npt.NDArray[np.float64]

_COUNT = 10
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(_COUNT)
_ENDS = np.polynomial.legendre.legvander(_NODES, _COUNT - 1)[:, -2:] * _WEIGHTS[:, None]
_ENDS = _ENDS * (np.arange(_COUNT - 2, _COUNT) + 0.5)  # give the last two Legendre coefficients
_EPS = 2.2e-16
_GOOD = 2e-13  # relative error that is not worth a further panel
_HALVINGS = 6
_LOWEST, _HIGHEST = -745.0, 709.0


# ------------------------------------------------------------ further hazard


@singledispatch
def excess_hazard(family: Life, age: npt.ArrayLike, time: npt.ArrayLike) -> FloatArray:
    """Further cumulative hazard ``H(age + time) - H(age)``; all arguments broadcast.

    Parameters
    ----------
    family : Distribution
        One distribution or a batch.
    age, time : array_like of float
        Hours, at or above zero.

    Examples
    --------
    >>> from relfit.families import Weibull
    >>> float(excess_hazard(Weibull(0.8, 1000.0), 1e9, 1e-6))
    5.0476587558415476e-11
    """
    return _excess_by_quadrature(family, age, time)


@excess_hazard.register
def _(family: Exponential, age: npt.ArrayLike, time: npt.ArrayLike) -> FloatArray:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(family.rate * np.asarray(time, dtype=np.float64) + 0.0 * np.asarray(age))


@excess_hazard.register
def _(family: Weibull, age: npt.ArrayLike, time: npt.ArrayLike) -> FloatArray:
    return _weibull(family.shape, family.scale, age, time)


@excess_hazard.register
def _(family: ZeroInflated, age: npt.ArrayLike, time: npt.ArrayLike) -> FloatArray:
    return _weibull(family.shape, family.scale, age, time)  # a node that works is none of the zeros


@excess_hazard.register
def _(family: Weibull3, age: npt.ArrayLike, time: npt.ArrayLike) -> FloatArray:
    t, x = _pair(age, time)
    wait = np.maximum(family.threshold - t, 0.0)
    return _weibull(family.shape, family.scale, np.maximum(t - family.threshold, 0.0), np.maximum(x - wait, 0.0))


@excess_hazard.register
def _(family: Gompertz, age: npt.ArrayLike, time: npt.ArrayLike) -> FloatArray:
    t, x = _pair(age, time)
    with np.errstate(all="ignore"):
        y = family.growth * x
        grown = np.where(y < 1e-8, 1.0 + 0.5 * y, np.expm1(y) / y)
        value = family.rate * np.exp(family.growth * t) * x * grown
    return np.where(x > 0.0, np.where(np.isnan(value), np.inf, value), 0.0)


@excess_hazard.register
def _(family: Loglogistic, age: npt.ArrayLike, time: npt.ArrayLike) -> FloatArray:
    t, x = _pair(age, time)
    with np.errstate(all="ignore"):
        grown = family.shape * np.log1p(x / t)
        before = family.shape * (np.log(t) - np.log(family.scale))
        after = family.shape * (np.log(t + x) - np.log(family.scale))
        far = np.logaddexp(0.0, after) - np.logaddexp(0.0, before)
        near = np.log1p(np.expm1(np.minimum(grown, 1.0)) * special.expit(before))
        return np.where(x > 0.0, np.where(grown > 0.5, far, near), 0.0)


@excess_hazard.register
def _(family: Mixture, age: npt.ArrayLike, time: npt.ArrayLike) -> FloatArray:
    return _mixed(*_phases(family, age, time))


@excess_hazard.register
def _(family: LimitedFailure, age: npt.ArrayLike, time: npt.ArrayLike) -> FloatArray:
    return _mixed(*_limited(family, age, time))


@excess_hazard.register
def _(family: CompetingRisks, age: npt.ArrayLike, time: npt.ArrayLike) -> FloatArray:
    parts = [excess_hazard(_life(cause), age, time) for cause in family.causes.values()]
    return np.asarray(sum(parts[1:], start=parts[0]))


# -------------------------------------------------------------- failure rate


@singledispatch
def excess_log_rate(family: Distribution, age: npt.ArrayLike, time: npt.ArrayLike) -> FloatArray:
    """Log of the failure rate of a node of this age in `time` hours, given that it works until then."""
    t, x = _pair(age, time)
    return log_rate(family, t + x)


@excess_log_rate.register
def _(family: ZeroInflated, age: npt.ArrayLike, time: npt.ArrayLike) -> FloatArray:
    t, x = _pair(age, time)
    return Weibull.unchecked(family.shape, family.scale).log_hazard(t + x)


@excess_log_rate.register
def _(family: Mixture, age: npt.ArrayLike, time: npt.ArrayLike) -> FloatArray:
    return _mixed_rate(family.phases(), *_phases(family, age, time), age, time)


@excess_log_rate.register
def _(family: LimitedFailure, age: npt.ArrayLike, time: npt.ArrayLike) -> FloatArray:
    failing = Weibull.unchecked(family.shape, family.scale)
    return _mixed_rate([(family.fraction, failing)], *_limited(family, age, time), age, time)


@excess_log_rate.register
def _(family: CompetingRisks, age: npt.ArrayLike, time: npt.ArrayLike) -> FloatArray:
    return log_sum([excess_log_rate(cause, age, time) for cause in family.causes.values()])


# ------------------------------------------------------------------- inverse


@singledispatch
def excess_inverse(family: Life, age: npt.ArrayLike, hazard: npt.ArrayLike) -> FloatArray:
    """Hours after which a node of this age has spent the further cumulative hazard `hazard`; infinite where never.

    Of a standard exponential number it makes a random excess life.

    Examples
    --------
    >>> from relfit.families import Weibull
    >>> excess_inverse(Weibull(0.8, 1000.0), 600.0, 0.5).round(6).tolist()
    609.742456
    """
    t = np.asarray(age, dtype=np.float64)
    h = np.asarray(hazard, dtype=np.float64)
    with np.errstate(all="ignore"):
        first = family.inverse_cumulative_hazard(-family.log_sf(t) + h) - t
    return _solve(family, t, h, first)


@excess_inverse.register
def _(family: Exponential, age: npt.ArrayLike, hazard: npt.ArrayLike) -> FloatArray:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.asarray(hazard, dtype=np.float64) / family.rate + 0.0 * np.asarray(age))


@excess_inverse.register
def _(family: Weibull, age: npt.ArrayLike, hazard: npt.ArrayLike) -> FloatArray:
    return _weibull_inverse(family.shape, family.scale, age, hazard)


@excess_inverse.register
def _(family: ZeroInflated, age: npt.ArrayLike, hazard: npt.ArrayLike) -> FloatArray:
    return _weibull_inverse(family.shape, family.scale, age, hazard)


@excess_inverse.register
def _(family: Weibull3, age: npt.ArrayLike, hazard: npt.ArrayLike) -> FloatArray:
    t = np.asarray(age, dtype=np.float64)
    wait = np.maximum(family.threshold - t, 0.0)
    inner = _weibull_inverse(family.shape, family.scale, np.maximum(t - family.threshold, 0.0), hazard)
    return np.asarray(wait + inner)


@excess_inverse.register
def _(family: Gompertz, age: npt.ArrayLike, hazard: npt.ArrayLike) -> FloatArray:
    t, h = _pair(age, hazard)
    with np.errstate(all="ignore"):
        plain = np.exp(np.log(h) - np.log(family.rate) - family.growth * t)
        y = plain * family.growth
        steep = (np.log(h) - np.log(family.rate) + np.log(family.growth)) / family.growth - t
        value = np.where(y < 1e-8, plain * (1.0 - 0.5 * y), np.log1p(y) / family.growth)
        return np.where(np.isposinf(y) & np.isfinite(h), steep, value)


@excess_inverse.register
def _(family: Loglogistic, age: npt.ArrayLike, hazard: npt.ArrayLike) -> FloatArray:
    t, h = _pair(age, hazard)
    with np.errstate(all="ignore"):
        log_odds = h + np.log(-np.expm1(-h))  # log of expm1(h)
        before = family.shape * (np.log(t) - np.log(family.scale))
        grown = np.logaddexp(0.0, log_odds + np.logaddexp(0.0, -before)) / family.shape
        new = np.exp(np.log(family.scale) + log_odds / family.shape)
        return np.where(t > 0.0, _grown(t, grown), new)


@excess_inverse.register
def _(family: LimitedFailure, age: npt.ArrayLike, hazard: npt.ArrayLike) -> FloatArray:
    t, h = _pair(age, hazard)
    logs, _ = _limited(family, t, np.zeros(()))
    with np.errstate(all="ignore"):
        inner = -np.log1p(np.maximum(np.expm1(-h) / np.exp(logs[0]), -1.0))
    return _weibull_inverse(family.shape, family.scale, t, inner)


@excess_inverse.register
def _(family: Mixture, age: npt.ArrayLike, hazard: npt.ArrayLike) -> FloatArray:
    t, h = _pair(age, hazard)
    # the time lies between those of the phases; the phase most likely at this age is a good first guess
    logs, _ = _phases(family, t, np.zeros(()))
    ends = np.stack(np.broadcast_arrays(*[excess_inverse(phase, t, h) for _, phase in family.phases()]))
    lead = np.argmax(np.stack(np.broadcast_arrays(*logs)), axis=0)
    lead = np.broadcast_to(lead, ends.shape[1:])
    first = np.take_along_axis(ends, lead[None], axis=0)[0]
    return _solve(family, t, h, first, ends.min(axis=0), ends.max(axis=0))


# -------------------------------------------------------------------- pieces


def _life(cause: Distribution) -> Life:
    if isinstance(cause, (Family, CompetingRisks)):
        return cause
    raise TypeError(f"{type(cause).__name__} cannot be the life of a node")


def _pair(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    return np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)


def _weibull(shape: FloatArray, scale: FloatArray, age: npt.ArrayLike, time: npt.ArrayLike) -> FloatArray:
    t, x = _pair(age, time)
    with np.errstate(all="ignore"):
        share = -np.expm1(-shape * np.log1p(x / t))
        value = ((t + x) / scale) ** shape * share
        if np.isposinf(value).any():  # the power may be too large where the share is small
            logs = shape * (np.log(t + x) - np.log(scale)) + np.log(share)
            value = np.where(np.isposinf(value), np.exp(logs), value)
        return np.where(x > 0.0, value, 0.0 * shape * scale)


def _weibull_inverse(shape: FloatArray, scale: FloatArray, age: npt.ArrayLike, hazard: npt.ArrayLike) -> FloatArray:
    t, h = _pair(age, hazard)
    with np.errstate(all="ignore"):
        new = scale * h ** (1.0 / shape)
        if not np.any(t > 0.0):
            return np.asarray(new + 0.0 * t)
        spent = np.log(h) + shape * (np.log(scale) - np.log(t))
        return np.where(t > 0.0, _grown(t, np.logaddexp(0.0, spent) / shape), new)


def _grown(age: FloatArray, log_growth: FloatArray) -> FloatArray:
    """``age (exp(g) - 1)`` without overflow before the value itself overflows."""
    return np.where(log_growth < 1.0, age * np.expm1(log_growth), np.exp(np.log(age) + log_growth) - age)


def _phases(family: Mixture, age: npt.ArrayLike, time: npt.ArrayLike) -> tuple[list[FloatArray], list[FloatArray]]:
    """Log weight of each phase among nodes that work at `age`, and its further hazard."""
    phases = family.phases()
    logs = [weight + phase.log_sf(age) for weight, phase in phases]
    whole = log_sum(logs)
    with np.errstate(invalid="ignore"):
        return [log - whole for log in logs], [excess_hazard(phase, age, time) for _, phase in phases]


def _limited(
    family: LimitedFailure, age: npt.ArrayLike, time: npt.ArrayLike
) -> tuple[list[FloatArray], list[FloatArray]]:
    failing = Weibull.unchecked(family.shape, family.scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.log(family.fraction) + failing.log_sf(age), np.log1p(-family.fraction)]
    whole = log_sum(logs)
    spent = excess_hazard(failing, age, time)
    return [log - whole for log in logs], [spent, 0.0 * np.where(np.isfinite(spent), spent, 0.0)]


def _mixed(logs: list[FloatArray], spent: list[FloatArray]) -> FloatArray:
    with np.errstate(all="ignore"):
        failed = sum(np.exp(log) * -np.expm1(-own) for log, own in zip(logs, spent, strict=True))
        late = -log_sum([log - own for log, own in zip(logs, spent, strict=True)])
        return np.where(np.asarray(failed) < 0.5, -np.log1p(-np.asarray(failed)), late)


def _mixed_rate(
    phases: Sequence[tuple[FloatArray, Distribution]],
    logs: list[FloatArray],
    spent: list[FloatArray],
    age: npt.ArrayLike,
    time: npt.ArrayLike,
) -> FloatArray:
    alive = [log - own for log, own in zip(logs, spent, strict=True)]
    with np.errstate(invalid="ignore"):
        rates = [own + excess_log_rate(phase, age, time) for own, (_, phase) in zip(alive, phases, strict=False)]
        return np.asarray(log_sum(rates) - log_sum(alive))


def _excess_by_quadrature(family: Life, age: npt.ArrayLike, time: npt.ArrayLike) -> FloatArray:
    """The difference of cumulative hazards, or the integral of the rate where that is more accurate."""
    t, x = _pair(age, time)
    with np.errstate(all="ignore"):
        before, after = -family.log_sf(t), -family.log_sf(t + x)
        value = np.where(x > 0.0, np.maximum(after - before, 0.0), 0.0 * (before + after))
        rate = np.exp(log_rate(family, t + x))
        loss = _EPS * (np.where(t > 0.0, after, 0.0) + np.where(t > 0.0, t * rate, 0.0)) / value
        doubtful = (t > 0.0) & (x > 0.0) & ~(loss < _GOOD) & np.isfinite(before)
    if not doubtful.any():
        return np.asarray(value)
    shape = np.broadcast_shapes(family.batch_shape, value.shape)
    t, x, doubtful = np.broadcast_to(t, shape), np.broadcast_to(x, shape), np.broadcast_to(doubtful, shape)
    value, loss = np.array(np.broadcast_to(value, shape)), np.broadcast_to(loss, shape)[doubtful]
    part = _at(family, shape, doubtful)
    value[doubtful] = _integral(lambda where, moment: log_rate(part[where], moment), t[doubtful], x[doubtful],
                                value[doubtful], loss)  # fmt: skip
    return value


def _integral(
    rate: Callable[[npt.NDArray[np.intp], FloatArray], FloatArray],
    age: FloatArray,
    time: FloatArray,
    difference: FloatArray,
    loss: FloatArray,
) -> FloatArray:
    """Gauss-Legendre over ever more panels, until the last Legendre coefficients of the rate on each are small.

    They fall geometrically, and what the rule misses is about the square of the last.
    """
    best, error = difference.copy(), np.where(np.isnan(loss), np.inf, loss)
    todo = np.arange(age.size)
    for halving in range(_HALVINGS + 1):
        panels = 2**halving
        u = (np.arange(panels)[:, None] + 0.5 * (1.0 + _NODES)) / panels
        with np.errstate(all="ignore"):
            moments = age[todo] + u.reshape(-1, 1) * time[todo]
            heights = np.exp(rate(todo, moments)).reshape(panels, _COUNT, todo.size)
            parts = np.einsum("j,pji->pi", _WEIGHTS, heights)
            last = np.abs(np.einsum("jk,pji->pki", _ENDS, heights)).max(axis=1)
            missed = (last * (last / heights.max(axis=1))).sum(axis=0)
            whole = parts.sum(axis=0)
            doubt = np.where(whole > 0.0, missed / whole, np.inf) + 2e-15
            better = doubt < error[todo]
            found = 0.5 * time[todo] / panels * whole
        best[todo[better]], error[todo[better]] = found[better], doubt[better]
        todo = todo[~(error[todo] < _GOOD)]
        if not todo.size:
            break
    return best


def _at(family: Life, shape: tuple[int, ...], chosen: npt.NDArray[np.bool_]) -> Life:
    """The distributions at the chosen places of the broadcast batch, as a flat batch."""
    if isinstance(family, Family):
        return family.unchecked(*(np.broadcast_to(value, shape)[chosen] for value in family.parameters().values()))
    return CompetingRisks({name: _at(_life(cause), shape, chosen) for name, cause in family.causes.items()})


def _solve(
    family: Life,
    age: FloatArray,
    hazard: FloatArray,
    first: FloatArray,
    low: npt.ArrayLike = 0.0,
    high: npt.ArrayLike = np.inf,
) -> FloatArray:
    """Newton's method for the log of the further hazard by the log of time, within brackets."""
    shape = np.broadcast_shapes(family.batch_shape, age.shape, hazard.shape, np.shape(first))
    t, h = np.broadcast_to(age, shape).ravel(), np.broadcast_to(hazard, shape).ravel()
    whole = _at(family, shape, np.ones(shape, dtype=np.bool_))
    with np.errstate(all="ignore"):
        below = np.maximum(np.log(np.broadcast_to(low, shape).ravel() * (1.0 - 1e-9)), _LOWEST)
        above = np.minimum(np.log(np.broadcast_to(high, shape).ravel() * (1.0 + 1e-9)), _HIGHEST)
        wanted = np.log(h)
        plain = wanted - excess_log_rate(whole, t, np.zeros(t.shape))
        start = np.log(np.broadcast_to(first, shape).ravel())
        rough = np.broadcast_to(first, shape).ravel() < 1e-6 * t
        y = np.where((rough | ~np.isfinite(start)) & np.isfinite(plain), plain, start)
        y = np.where((y > below) & (y < above), y, np.clip(start, below, above))
        y = np.where(np.isfinite(y), y, 0.0)
        todo = np.flatnonzero((h > 0.0) & np.isfinite(h) & ~np.isnan(t))
        last = np.full(t.shape, np.inf)
        for _ in range(200):
            if not todo.size:
                break
            part, at, x = whole[todo], t[todo], np.exp(y[todo])
            log_spent = np.log(excess_hazard(part, at, x))
            gap = log_spent - wanted[todo]
            slope = np.exp(excess_log_rate(part, at, x) + y[todo] - log_spent)
            below[todo] = np.where(gap < 0.0, y[todo], below[todo])
            above[todo] = np.where(gap >= 0.0, y[todo], above[todo])
            step = gap / slope
            new = y[todo] - step
            good = (new > below[todo]) & (new < above[todo]) & (np.abs(gap) < 0.5 * last[todo])
            moved = np.where(good, new, 0.5 * (below[todo] + above[todo]))
            least = 4e-16 * np.maximum(1.0, np.abs(y[todo]))
            done = (good & (np.abs(step) < 1e-9)) | (np.abs(gap) < 1e-15) | (above[todo] - below[todo] < least)
            y[todo] = np.where(np.abs(gap) < 1e-15, y[todo], moved)
            last[todo] = np.abs(gap)
            todo = todo[~done]
        value = np.exp(y)
        value = np.where(above >= _HIGHEST, np.where(y > _HIGHEST - 1e-6, np.inf, value), value)
        value = np.where(h > 0.0, np.where(np.isposinf(h), np.inf, value), np.where(h == 0.0, 0.0, np.nan))
    return np.asarray(value.reshape(shape))
