"""Intervals for what a system of fitted nodes is said to do, from the uncertainty of the fitted parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.errors import ArgumentError
from relfit.system import delta
from relfit.system.components import duration_array
from relfit.system.draws import chunks_of_draws
from relfit.system.sampled import sampled, systems_of
from relfit.system.sources import sources_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from relfit.system.system import System

__all__ = ["KINDS", "QUANTITIES", "SystemInterval", "drawn_systems", "interval_of"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

KINDS = {
    "delta": "normal limits by the delta method, on the scale where the estimate is closest to normal",
    "draws": "reflected percentiles over parameters drawn from the normal law of the fits in free coordinates",
    "bootstrap": "reflected percentiles over refits of replicates drawn from the fits, censored as the lives were",
}
QUANTITIES = {
    "reliability": "horizon",
    "cdf": "horizon",
    "cumulative_hazard": "horizon",
    "hazard": "horizon",
    "pdf": "horizon",
    "quantile": "probability",
    "mttf": None,
    "mean_residual_life": "after",
    "truncated_mean": "horizon",
}
_BY_SIZE = ("reliability", "cdf", "cumulative_hazard", "hazard", "mttf")
_UNITS = {"hazard": "per hour", "pdf": "per hour", "quantile": "hours", "mttf": "hours", "mean_residual_life": "hours",
          "truncated_mean": "hours"}  # fmt: skip


@dataclass(frozen=True, eq=False)
class SystemInterval:
    """A quantity of a system with its limits; arrays of one shape.

    Attributes
    ----------
    quantity, kind : str
    at : ndarray or None
        Horizons or ages in hours, or probabilities; None for the mean time to failure.
    level : float
    sizes : ndarray of int, shape (K,), or None
        Where the quantity is that of the first k nodes: k along the first axis.
    estimate, low, high : ndarray of float
        Hours, per hour, or without unit.
    status : ndarray of object
        ``ok``; ``infinite`` where the estimate is, or ``not_defined`` where the limits cannot be had.
    """

    quantity: str
    kind: str
    at: FloatArray | None
    level: float
    sizes: IntArray | None
    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    status: npt.NDArray[np.object_]

    def to_frame(self) -> pd.DataFrame:
        """One row a value: ``size`` and ``at`` where they apply, ``estimate``, ``low``, ``high``, ``status``."""
        columns: dict[str, Any] = {}
        inner = 1 if self.at is None else self.at.size
        if self.sizes is not None:
            columns["size"] = np.repeat(self.sizes, inner)
        if self.at is not None:
            name = "probability" if self.quantity == "quantile" else "at_hours"
            columns[name] = np.tile(self.at.ravel(), 1 if self.sizes is None else self.sizes.size)
        for name in ("estimate", "low", "high", "status"):
            columns[name] = np.ravel(getattr(self, name))
        return pd.DataFrame(columns)

    def to_dict(self) -> dict[str, Any]:
        """What was asked, and the rows of `to_frame`, ready for JSON."""
        from relfit.results import records

        asked = {"quantity": self.quantity, "kind": self.kind, "level": self.level, "unit": _UNITS.get(self.quantity)}
        return {**asked, "values": records(self.to_frame())}

    def plot(self, ax: Axes | None = None) -> Axes:
        """The estimate with its band, over time or over the number of nodes."""
        from relfit.plotting.system import interval_band

        return interval_band(self, ax=ax)

    def __repr__(self) -> str:
        text = f"SystemInterval: {self.quantity}, {100 * self.level:g} % {self.kind}: "
        if self.estimate.size != 1:
            return text + f"{self.estimate.size} values ({int((self.status == 'ok').sum())} ok)"
        values = (float(np.ravel(v)[0]) for v in (self.estimate, self.low, self.high))
        where = "" if self.at is None else f" at {float(self.at.ravel()[0]):g}"
        estimate, low, high = values
        return text.replace(",", where + ",", 1) + f"{estimate:.6g} ({low:.6g} to {high:.6g}), {self.status.ravel()[0]}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self))}</p>{self.to_frame().to_html(max_rows=10, float_format='{:.5g}'.format)}"


def interval_of(
    system: System,
    quantity: str,
    argument: Any = None,
    level: float = 0.95,
    *,
    kind: str | None = None,
    draws: int = 999,
    rng: int | np.random.Generator | None = 0,
    model_average: bool = False,
    by_size: bool = False,
    order: npt.ArrayLike | None = None,
) -> SystemInterval:
    """Interval of a quantity of a system made from fits.

    Parameters
    ----------
    system : System
        Made by `System.from_fits` or `System.from_log`.
    quantity : str
        ``reliability``, ``cdf``, ``cumulative_hazard``, ``hazard``, ``pdf``, ``quantile``, ``mttf``,
        ``mean_residual_life`` or ``truncated_mean``.
    argument : optional
        The horizon or age in hours or as text such as "24h", or the probability of a quantile; any shape.
    level : float
        Between 0 and 1.
    kind : {"delta", "draws", "bootstrap"}, optional
        `KINDS` explains them. ``delta`` when left out; ``draws`` for a system that tolerates failures, which the delta
        method does not know. With few failures a fit, and many fits, prefer ``bootstrap``.
    draws : int
        Of the parameters, or replicates.
    rng : int or numpy.random.Generator, optional
        Of the draws.
    model_average : bool
        Let each draw also draw the family of every fit, by its AICc weight; needs ``kind="draws"``. The limits, plain
        percentiles here, then allow for the choice of the family too.
    by_size : bool
        The quantity of the first k nodes for every k, along a first axis.
    order : array_like of int, optional
        Positions of the nodes, for `by_size`; as they come when left out.

    Returns
    -------
    SystemInterval

    Raises
    ------
    ArgumentError
        For a system of given parameters, an unknown quantity or kind, a level outside 0..1, too few draws, or fits
        without what the kind needs.

    Notes
    -----
    Derivatives are summed within each fit before they are squared, since nodes that share a fit are wrong together.
    The scale is that of the log of the cumulative hazard for reliabilities, so that limits stay between 0 and 1, the
    log for rates and times, and the log odds for a truncated mean. The ages are taken as known, and so are the lives of
    racks and common causes.

    Percentiles of draws are reflected at the estimate on that scale (the basic bootstrap: Davison and Hinkley 1997,
    section 5.2). With many fits their curvature adds up to a shift of the draws that plain percentiles take twice.
    Pooled nodes keep plain percentiles: there the draws are what the nodes may be, and the curvature is real.

    Examples
    --------
    >>> import relfit as rf
    >>> lives = rf.LifeData.from_array(rf.families.Weibull(0.8, 1000.0).sample(60, rng=1))
    >>> system = rf.System.from_fits(rf.fit(lives, "weibull")["weibull"], nodes=[0] * 4, ages=100.0)
    >>> interval_of(system, "reliability", "24h")
    SystemInterval: reliability at 24, 95 % delta: 0.887688 (0.847315 to 0.917903), ok
    """
    tolerant = bool(system.tolerance)
    kind = kind or ("draws" if tolerant or model_average else "delta")
    at = _checked(system, quantity, argument, level, kind, draws, model_average, by_size)
    sources = sources_of(system)
    if not by_size and order is not None:
        raise ArgumentError("an order matters by size only", remedy="add by_size=True")
    positions = None
    if by_size:
        positions = np.arange(system.n_nodes, dtype=np.int64) if order is None else system.checked_positions(order)
    estimate = _estimate(system, quantity, at, positions)
    points = np.zeros(1) if at is None else at.reshape(-1)
    with np.errstate(all="ignore"):
        if kind == "delta":
            low, high = _by_delta(system, sources, quantity, points, estimate, positions, level)
        else:
            asked = "cumulative_hazard" if quantity in ("reliability", "cdf") else quantity
            values = sampled(system, sources, asked, points, positions, kind, draws, rng, model_average=model_average)
            reflect = not model_average and not any(source.pooled for source in sources)
            low, high = _by_percentiles(quantity, values, points, estimate, level, reflect=reflect)
    status = np.full(estimate.shape, "ok", dtype=object)
    status[np.isnan(low) | np.isnan(high)] = "not_defined"
    status[np.isinf(estimate)] = "infinite"
    sizes = None if positions is None else np.arange(1, positions.size + 1)
    return SystemInterval(quantity, kind, at, level, sizes, estimate, low, high, status)


def drawn_systems(
    system: System,
    draws: int = 199,
    rng: int | np.random.Generator | None = 0,
    *,
    kind: str = "draws",
    model_average: bool = False,
) -> Iterator[System]:
    """The system with parameters as likely as the fits leave them, one after the other, for quantities of one's own.

    Parameters
    ----------
    system : System
        Made from fits.
    draws : int
    rng : int or numpy.random.Generator, optional
    kind, model_average : optional
        See `interval_of`.

    Raises
    ------
    ArgumentError
        As `interval_of`.

    Examples
    --------
    >>> import relfit as rf
    >>> fits = rf.fit(rf.LifeData.from_array(rf.families.Weibull(0.8, 1000.0).sample(60, rng=1)), "weibull")
    >>> system = rf.System.from_fits(fits, nodes=4, ages=100.0)
    >>> values = [float(one.mean_given_failure("24h")) for one in drawn_systems(system, 99, rng=1)]
    >>> bool(min(values) < system.mean_given_failure("24h") < max(values))
    True
    """
    if kind not in ("draws", "bootstrap"):
        raise ArgumentError(f"no systems are drawn by kind {kind!r}", remedy="use draws or bootstrap")
    if draws < 1:
        raise ArgumentError(f"{draws} draws are too few", remedy="use 199 or 999")
    sources = sources_of(system)
    for layers in chunks_of_draws(sources, draws, kind, rng, model_average=model_average, together=False):
        yield from systems_of(system, layers)


def _checked(
    system: System, quantity: str, argument: Any, level: float, kind: str, draws: int, model_average: bool,
    by_size: bool,
) -> FloatArray | None:  # fmt: skip
    """The argument in hours, or a probability, when all that is asked for is possible."""
    if quantity not in QUANTITIES:
        raise ArgumentError(f"no quantity {quantity!r} of a system", remedy=f"use one of {', '.join(QUANTITIES)}")
    if kind not in KINDS:
        raise ArgumentError(f"no interval of kind {kind!r}", remedy=f"use one of {', '.join(KINDS)}")
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level {level} is not between 0 and 1", remedy="95 % is 0.95")
    if kind != "delta" and draws < 19:
        raise ArgumentError(f"{draws} draws are too few", remedy="use 199 or 999")
    if model_average and kind != "draws":
        raise ArgumentError("averaging over families needs draws", remedy="add kind='draws'")
    if by_size and quantity not in _BY_SIZE:
        raise ArgumentError(f"{quantity} is not to be had by size", remedy=f"use one of {', '.join(_BY_SIZE)}")
    if system.tolerance and kind == "delta":
        raise ArgumentError("the delta method does not know systems that tolerate failures", remedy="use kind='draws'")
    wanted = QUANTITIES[quantity]
    if (argument is None) != (wanted is None):
        raise ArgumentError(
            f"{quantity} needs a {wanted}" if wanted else f"{quantity} takes no argument",
            remedy="give a time as '24h', or a probability for a quantile",
        )
    if wanted is None:
        return None
    if wanted == "probability":
        p = np.asarray(argument, dtype=np.float64)
        if not ((p > 0.0) & (p < 1.0)).all():
            raise ArgumentError("a probability must lie between 0 and 1")
        return p
    at = duration_array(argument, wanted)
    if not (at >= 0.0).all():
        raise ArgumentError(f"a {wanted} of {at[~(at >= 0.0)].ravel()[0]:g} h", remedy="give hours at or above zero")
    return at


def _estimate(system: System, quantity: str, at: FloatArray | None, positions: IntArray | None) -> FloatArray:
    if positions is None:
        return np.asarray(getattr(system, quantity)(*(() if at is None else (at,))), dtype=np.float64)
    found = system.by_size("24h" if at is None else at, positions)
    if quantity == "cdf":
        return np.asarray(1.0 - found.reliability, dtype=np.float64)
    if quantity == "cumulative_hazard":
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(found.reliability), dtype=np.float64)
    return np.asarray(getattr(found, quantity), dtype=np.float64)


def _by_percentiles(
    quantity: str, values: FloatArray, points: FloatArray, estimate: FloatArray, level: float, *, reflect: bool
) -> tuple[FloatArray, FloatArray]:
    """Limits from draws, whose values of a reliability are cumulative hazards."""
    if quantity == "reliability":
        there, back = _minus_log, _exp_minus
    elif quantity == "cdf":
        there, back = _minus_log_complement, _complement_exp_minus
    else:
        there, back = _same, _same
    middle = there(estimate).reshape(values.shape[1:])
    ends = points if quantity == "truncated_mean" else np.full(points.shape, np.inf)

    def scale(v: FloatArray) -> FloatArray:
        return np.asarray(np.log(v) - np.where(np.isinf(ends), 0.0, np.log(np.maximum(ends - v, 0.0))))

    low, high = np.nanquantile(scale(values), [0.5 - level / 2, 0.5 + level / 2], axis=0)
    if reflect:
        low, high = 2.0 * scale(middle) - high, 2.0 * scale(middle) - low
    low, high = (np.where(np.isinf(ends), np.exp(limit), ends * special.expit(limit)) for limit in (low, high))
    flat = (middle == 0.0) & (values == 0.0).all(axis=0)
    low, high = np.where(flat, 0.0, low), np.where(flat, 0.0, high)
    low, high = back(low).reshape(estimate.shape), back(high).reshape(estimate.shape)
    return np.minimum(low, high), np.maximum(low, high)


def _same(value: FloatArray) -> FloatArray:
    return value


def _minus_log(value: FloatArray) -> FloatArray:
    return np.asarray(-np.log(value))


def _exp_minus(value: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-value))


def _minus_log_complement(value: FloatArray) -> FloatArray:
    return np.asarray(-np.log1p(-value))


def _complement_exp_minus(value: FloatArray) -> FloatArray:
    return np.asarray(-np.expm1(-value))


def _by_delta(
    system: System, sources: list[Any], quantity: str, points: FloatArray, estimate: FloatArray,
    positions: IntArray | None, level: float,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    z = float(special.ndtri(0.5 + level / 2))
    if quantity in ("reliability", "cdf", "cumulative_hazard"):
        if positions is None:
            spent = system.cumulative_hazard(points)
            error = delta.deviation(sources, "cumulative_hazard", points)
        else:
            spent = -np.log(system.by_size(points, positions).reliability)
            error = delta.prefix_deviation(sources, positions, "cumulative_hazard", points)
        factor = np.where(spent > 0.0, np.exp(z * error / np.where(spent > 0.0, spent, 1.0)), 1.0)
        less, more = (spent / factor).reshape(estimate.shape), (spent * factor).reshape(estimate.shape)
        if quantity == "cumulative_hazard":
            return less, more
        if quantity == "cdf":
            return -np.expm1(-less), -np.expm1(-more)
        return np.exp(-more), np.exp(-less)
    if quantity == "hazard" and positions is not None:
        error = delta.prefix_deviation(sources, positions, "hazard", points)
    elif quantity == "hazard":
        error = delta.deviation(sources, "hazard", points)
    elif quantity == "pdf":
        error = estimate.reshape(-1) * delta.deviation(sources, "log_pdf", points, system.hazard(points))
    elif quantity == "quantile":
        error = delta.deviation_of_quantile(system, sources, estimate.reshape(-1))
    elif quantity == "mttf" and positions is not None:
        error = delta.prefix_mean_deviation(system, sources, positions)
    elif quantity == "mttf":
        error = np.array([delta.deviation_of_mean(system, sources)])
    elif quantity == "mean_residual_life":
        aged = [system.later(float(age)) for age in points]
        error = np.array([delta.deviation_of_mean(one, sources_of(one)) for one in aged])
    else:
        error = np.array([delta.deviation_of_mean(system, sources, float(end)) for end in points])
    flat, error = estimate.reshape(-1), error.reshape(-1)
    if quantity == "truncated_mean":  # between 0 and the horizon, so by the odds
        left = points - flat
        factor = np.where(left > 0.0, np.exp(z * error * (1.0 / flat + 1.0 / np.where(left > 0.0, left, 1.0))), 1.0)
        low, high = points * flat / (flat + left * factor), points * flat / (flat + left / factor)
        low, high = np.where(np.isinf(points), flat / np.exp(z * error / flat), low), high
        high = np.where(np.isinf(points), flat * np.exp(z * error / flat), high)
        none = points == 0.0
        return np.where(none, 0.0, low).reshape(estimate.shape), np.where(none, 0.0, high).reshape(estimate.shape)
    factor = np.where((flat == 0.0) & (error == 0.0), 1.0, np.exp(z * error / flat))
    return (flat / factor).reshape(estimate.shape), (flat * factor).reshape(estimate.shape)
