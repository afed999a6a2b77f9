"""Quantities that have intervals: parameters, mean, median, quantiles, reliability and hazard."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
from scipy import special

from relfit.base.arguments import durations
from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.units import hours
from relfit.fitting.families import Family

QUANTITIES = ("mean", "median", "quantile", "reliability", "hazard")
_Scale = tuple[Callable[[FloatArray], FloatArray], Callable[[FloatArray], FloatArray], tuple[float, float]]
_SCALES: dict[str, _Scale] = {
    "positive": (np.log, np.exp, (0.0, np.inf)),
    "fraction": (special.logit, special.expit, (0.0, 1.0)),
    "real": (np.asarray, np.asarray, (-np.inf, np.inf)),
}
"""By the domain of a parameter its unbounded scale, the way back, and its range."""


@dataclass(frozen=True)
class FitQuantity:
    """A function of the fitted distribution, and the scale on which its estimate is close to normal.

    ``transformed`` gives the value on that scale (unbounded), ``back`` returns from it, ``rising`` says whether the two
    rise together, and ``range`` has the smallest and largest possible value; ``at`` as for `quantity_named`, in hours.
    """

    transformed: Callable[[Family], FloatArray]
    back: Callable[[FloatArray], FloatArray]
    range: tuple[float, float]
    at: float | None = None
    rising: bool = True

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


def quantity_named(
    name: str, family: type[Family], at: float | str | None, age: float | str | None = None
) -> FitQuantity:
    """The quantity `name` of `family`.

    An `ArgumentError` for an unknown name, a probability outside 0..1, a missing or superfluous `at` or `age`, a time
    that is not above zero, and several of them.

    Parameters
    ----------
    name : str
        One of `QUANTITIES` or a parameter of the family.
    at : float or duration, optional
        The probability of a quantile; the time of a reliability or a hazard.
    age : float or duration, optional
        Of a reliability: the age from which the time runs.
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
        return FitQuantity(lambda d: unbounded(getattr(d, name)), back, ends)
    if name == "mean":
        return FitQuantity(lambda d: np.log(d.mean()), np.exp, (0.0, np.inf))
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
