"""Intervals for any quantity of a fit: Wald, profile likelihood, bootstrap, and exact ones for the exponential."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special, stats

from relfit.errors import ArgumentError
from relfit.fitting.bootstrap import replicate
from relfit.fitting.likelihood import LogLikelihood
from relfit.fitting.profiles import bent, ridge_limits
from relfit.fitting.quantities import Quantity, quantity_named
from relfit.fitting.regions import Region, profile_limits, region

if TYPE_CHECKING:
    from relfit.fitting.family_fit import FamilyFit

__all__ = ["KINDS", "Block", "Interval", "blocks_of", "exact_mean_limits", "interval_of"]

FloatArray = npt.NDArray[np.float64]
_LIVES_AT_ONCE = 50_000

KINDS = {
    "wald": "normal limits from the observed information, on the scale where the estimate is closest to normal",
    "profile": "values whose profile log-likelihood is within half a chi-square quantile of the maximum",
    "bootstrap": "percentiles over replicates drawn from the fitted distribution and censored alike",
    "resample": "percentiles over replicates that draw each group's lives with replacement",
    "exact": "chi-square limits of the exponential, exact or, for observation that ended by the clock, conservative",
}


@dataclass(frozen=True, eq=False)
class Interval:
    """One quantity of one family in every group; arrays of shape (groups,).

    Attributes
    ----------
    family, quantity, kind : str
    at : float or None
        The probability of a quantile; the time in hours of a reliability or a hazard.
    level : float
    groups : pandas.Index
    estimate, low, high : ndarray of float
        Hours, per hour, or without unit. A limit is the end of what the quantity can be where the data set none.
    status : ndarray of object
        ``ok``, ``open_low``, ``open_high``, ``open`` (the data set no limit on that side), ``few_replicates``,
        ``not_converged``, or why there is no fit.
    """

    family: str
    quantity: str
    kind: str
    at: float | None
    level: float
    groups: pd.Index
    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    status: npt.NDArray[np.object_]

    def to_frame(self) -> pd.DataFrame:
        """One row a group: ``estimate``, ``low``, ``high``, ``status``."""
        return pd.DataFrame(
            {"estimate": self.estimate, "low": self.low, "high": self.high, "status": self.status}, index=self.groups
        )

    def to_dict(self) -> dict[str, Any]:
        """What was asked, and the columns of `to_frame` as lists."""
        asked = {n: getattr(self, n) for n in ("family", "quantity", "kind", "at", "level")}
        columns = self.to_frame().reset_index().to_dict("list")
        return {**asked, **{str(name): values for name, values in columns.items()}}

    def __repr__(self) -> str:
        where = "" if self.at is None else f" at {self.at:g}"
        if len(self.groups) == 1:
            what = f"{self.estimate[0]:.6g} ({self.low[0]:.6g} to {self.high[0]:.6g}), {self.status[0]}"
        else:
            what = f"{len(self.groups)} groups ({int((self.status == 'ok').sum())} ok)"
        return f"Interval: {self.quantity}{where} of {self.family}, {100 * self.level:g} % {self.kind}: {what}"

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>{self.to_frame().to_html(max_rows=10, float_format='{:.5g}'.format)}"


def exact_mean_limits(
    total: FloatArray, failures: npt.NDArray[np.int64], by_clock: npt.NDArray[np.bool_], level: float
) -> tuple[FloatArray, FloatArray]:
    """Limits of an exponential mean: chi-square with ``2 n``, or ``2 n + 2`` below if the clock ended observation."""
    tail = 0.5 - level / 2
    more = np.where(by_clock, failures + 1, failures)
    with np.errstate(divide="ignore", invalid="ignore"):
        low = total / special.gammainccinv(more.astype(float), tail)
        high = total / special.gammaincinv(failures.astype(float), tail)
    return low, high


def interval_of(
    fit: FamilyFit,
    quantity: str,
    *,
    at: float | str | None = None,
    kind: str = "profile",
    level: float | None = None,
    replications: int = 999,
    rng: int | np.random.Generator | None = 0,
    terminated: str | None = None,
    workers: int | None = None,
) -> Interval:
    """Interval of one quantity; `FamilyFit.interval` documents the arguments."""
    level = fit.level if level is None else level
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level {level} is not between 0 and 1", remedy="95 % is 0.95")
    if kind not in KINDS:
        raise ArgumentError(f"no interval of kind {kind!r}", remedy=f"use one of {', '.join(KINDS)}")
    if terminated not in (None, "time", "failure"):
        raise ArgumentError(f"terminated={terminated!r} is not known", remedy="use 'time' or 'failure'")
    if terminated is not None and kind != "exact":
        raise ArgumentError("only exact intervals depend on how observation was terminated", remedy="use kind='exact'")
    asked = quantity_named(quantity, fit.family, at)
    estimate = np.asarray(asked.value(fit.distribution), dtype=np.float64)
    codes = fit.status.copy()
    if kind == "exact":
        low, high = _exact(fit, asked, level, terminated)
    elif kind in ("bootstrap", "resample"):
        low, high, few = _percentiles(fit, asked, level, replications, rng, kind == "resample", workers)
        codes[few & fit.ok] = "few_replicates"
    elif fit.method != "maximum likelihood":
        raise ArgumentError(
            f"{kind} intervals need maximum likelihood, these fits come from {fit.method}",
            remedy="use kind='bootstrap'",
        )
    else:
        low, high = (_wald if kind == "wald" else _profile)(fit, asked, level)
    if not asked.rising:
        low, high = high, low
    open_low, open_high = low == asked.range[0], high == asked.range[1]
    failed = fit.ok & (np.isnan(low) | np.isnan(high)) & (codes == "ok")
    codes[fit.ok & open_low & (codes == "ok")] = "open_low"
    codes[fit.ok & open_high & (codes == "ok")] = "open_high"
    codes[fit.ok & open_low & open_high] = "open"
    codes[failed] = "not_defined" if kind == "wald" else "not_converged"
    return Interval(fit.name, quantity, kind, asked.at, level, fit.groups, estimate, low, high, codes)


def _exact(fit: FamilyFit, asked: Quantity, level: float, terminated: str | None) -> tuple[FloatArray, FloatArray]:
    lives = fit.lives
    if fit.name != "exponential":
        raise ArgumentError(f"there is no exact interval for the {fit.name} family", remedy="use kind='profile'")
    if lives.upper is not None or lives.exit is not None:
        raise ArgumentError("exact intervals need observed or right-censored lives", remedy="use kind='profile'")
    by_clock = lives.n_censored > 0 if terminated is None else np.full(lives.n_groups, terminated == "time")
    total = np.where(fit.ok, lives.total_time, np.nan)
    low, high = exact_mean_limits(total, lives.n_failures, by_clock, level)
    # every quantity of the exponential moves one way with the mean
    with np.errstate(all="ignore"):
        ends = [asked.value(fit.family.unchecked(1.0 / mean)) for mean in (low, high)]
    first, second = np.minimum(*ends), np.maximum(*ends)
    return (first, second) if asked.rising else (second, first)


def _percentiles(
    fit: FamilyFit,
    asked: Quantity,
    level: float,
    replications: int,
    rng: int | np.random.Generator | None,
    resample: bool,
    workers: int | None,
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    drawn = replicate(
        fit.family, fit.parameter_array, fit.ok, fit.lives, replications, rng,
        resample=resample, workers=workers, estimator=fit.estimator,
    )  # fmt: skip
    values = asked.value(fit.family.unchecked(*np.moveaxis(drawn.parameters, -1, 0)))
    usable = np.isfinite(values) | np.isinf(values)
    count = usable.sum(axis=1)
    few = count < max(19, 0.5 * replications)
    out = np.full((2, fit.lives.n_groups), np.nan)
    rows = np.flatnonzero(count > 0)
    ordered = np.sort(np.where(usable[rows], values[rows], np.inf), axis=1)
    for i, share in enumerate((0.5 - level / 2, 0.5 + level / 2)):
        # the (n + 1) share-th smallest, the convention under which n = 999 gives whole ranks
        rank = np.clip(np.rint((count[rows] + 1) * share).astype(np.int64) - 1, 0, count[rows] - 1)
        out[i, rows] = ordered[np.arange(rows.size), rank]
    return (out[0], out[1], few) if asked.rising else (out[1], out[0], few)


class Block:
    """Some fitted groups, few enough for the memory, with their likelihood and the regions that were asked for.

    Groups are cut into blocks so that profile limits keep their working arrays small, and the border of a region, the
    costly part, is traced once for all quantities of a level.
    """

    def __init__(self, fit: FamilyFit, rows: npt.NDArray[np.int64], free: FloatArray, covariance: FloatArray) -> None:
        self.rows, self.free = rows, free
        self.objective = LogLikelihood(fit.family, fit.lives.take(rows.tolist()))
        self.information = np.linalg.inv(covariance)
        self.top = self.objective(free[None])[0]
        self._regions: dict[float, Region] = {}

    def region(self, level: float, joint: int = 1) -> Region:
        """Border of the likelihood region at `level` for one quantity, or for `joint` parameters together."""
        drop = 0.5 * float(stats.chi2.ppf(level, joint))
        if drop not in self._regions:
            self._regions[drop] = region(self.objective, self.free, self.information, self.top, drop)
        return self._regions[drop]

    def limits(self, level: float, quantity: Callable[[FloatArray], FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Least and largest value of `quantity` in the region."""
        drop = 0.5 * float(stats.chi2.ppf(level, 1))
        border = self.region(level) if self.free.shape[1] <= 2 else None
        low, high = profile_limits(self.objective, self.free, self.information, self.top, drop, quantity, border)
        if border is not None and self.free.shape[1] == 2:
            low, high = self._behind(border, drop, quantity, low, high)
        return low, high

    def _behind(
        self, border: Region, drop: float, quantity: Callable[[FloatArray], FloatArray], low: FloatArray,
        high: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:  # fmt: skip
        """The limits, further out where a bent region goes on behind what the rays from its centre see."""
        rows = np.flatnonzero(bent(border.radius))
        if not rows.size:
            return low, high
        objective, columns = self.objective.take(rows), np.arange(rows.size)
        free, seen = border.free[:, rows], np.isfinite(border.radius[:, rows])
        with np.errstate(all="ignore"):
            values = quantity(free)
        out = []
        for sign, limit in ((-1.0, low), (1.0, high)):
            best = np.where(seen & np.isfinite(values), sign * values, -np.inf).argmax(axis=0)
            start = free[best, columns]
            further = ridge_limits(objective, quantity, self.free[rows], self.top[rows], drop, sign, start)
            moved = limit.copy()
            with np.errstate(invalid="ignore"):
                beyond = sign * further > sign * limit[rows]
            moved[rows[beyond]] = further[beyond]
            out.append(moved)
        return out[0], out[1]


def blocks_of(fit: FamilyFit) -> list[Block]:
    """The fitted groups in blocks of some 50 000 lives."""
    rows, free, covariance = _free(fit)
    ends = np.cumsum(fit.lives.sizes[rows]) // _LIVES_AT_ONCE
    cuts = np.flatnonzero(np.diff(ends, prepend=-1) > 0)[1:]
    parts = np.split(np.arange(rows.size), cuts) if rows.size else []
    return [Block(fit, rows[part], free[part], covariance[part]) for part in parts]


def _free(fit: FamilyFit) -> tuple[npt.NDArray[np.int64], FloatArray, FloatArray]:
    """Fitted groups, their free coordinates and the covariance of these."""
    from relfit.fitting.general import jacobian

    rows = np.flatnonzero(fit.ok)
    free = fit.family.to_free(fit.parameter_array[rows])
    inverse = np.linalg.inv(jacobian(fit.family, free))
    covariance = np.einsum("gij,gjk,glk->gil", inverse, fit.covariance[rows], inverse)
    return rows, free, covariance


def _transformed(fit: FamilyFit, asked: Quantity, free: FloatArray) -> FloatArray:
    with np.errstate(all="ignore"):
        parameters = fit.family.from_free(free)
        return asked.transformed(fit.family.unchecked(*np.moveaxis(parameters, -1, 0)))


def _wald(fit: FamilyFit, asked: Quantity, level: float) -> tuple[FloatArray, FloatArray]:
    out = np.full((2, fit.lives.n_groups), np.nan)
    rows, free, covariance = _free(fit)
    if rows.size:
        k = free.shape[1]
        with np.errstate(all="ignore"):
            errors = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
            step = np.clip(1e-3 * errors, 1e-8, 1e-3)
            moves = np.eye(k)[:, None, :] * step[None]
            rise = _transformed(fit, asked, free[None] + moves) - _transformed(fit, asked, free[None] - moves)
            slope = (rise / (2.0 * step.T)).T
            error = np.sqrt(np.einsum("gi,gij,gj->g", slope, covariance, slope))
            centre = _transformed(fit, asked, free[None])[0]
            away = stats.norm.ppf(0.5 + level / 2) * error
            out[0, rows], out[1, rows] = asked.back(centre - away), asked.back(centre + away)
    return out[0], out[1]


def _profile(fit: FamilyFit, asked: Quantity, level: float) -> tuple[FloatArray, FloatArray]:
    out = np.full((2, fit.lives.n_groups), np.nan)
    for block in fit.blocks:
        low, high = block.limits(level, lambda at: _transformed(fit, asked, at))
        with np.errstate(all="ignore"):
            out[0, block.rows], out[1, block.rows] = asked.back(low), asked.back(high)
    return out[0], out[1]
