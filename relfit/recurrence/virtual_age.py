"""Kijima's virtual age models with Weibull lives: the share of its age that a repair takes away, with its interval.

A repair leaves the share q of the age gained since the last one (Kijima I) or of the whole age (Kijima II); the
restoration factor is 1 - q. At q = 0 the process is a renewal process, at q = 1 a power-law Poisson process.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from relfit.nonparametric.steps import normal_quantile
from relfit.numeric.newton import maximise
from relfit.recurrence.histories import BoolArray, FloatArray, sums
from relfit.recurrence.likelihoods import Copies, Kijima

__all__ = ["fit_virtual_age"]

_STARTS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95)
_TRIALS = 20  # of a limit, at most
_NEAR = 1e-3  # to the root of the fall of the likelihood that ends the search for a limit
_SHARP = 0.05  # standard error of the logit of the share below which its limits are symmetric on that scale


def fit_virtual_age(copies: Copies, model: str, level: float) -> dict[str, Any]:
    """Fit every group; the arrays that `relfit.recurrence.processes.ProcessFit` is made from.

    The likelihood is searched from several shares, and on both edges, whose maxima are maxima in their own right: a
    restoration of exactly 0 or 1 is an estimate.
    """
    size = copies.n_groups
    objective = Kijima(copies, model == "kijima_2")
    hours = sums(copies.codes, copies.histories.length, size)
    with np.errstate(all="ignore"):
        log_scale = np.log(hours / copies.events)
    plain = np.stack([np.zeros(size), log_scale], axis=1)
    edges = [maximise(objective.at(np.full(size, q)), plain) for q in (0.0, 1.0)]

    free = np.full((size, 3), np.nan)
    covariance = np.full((size, 3, 3), np.nan)
    value = np.full(size, -np.inf)
    kept = np.full(size, np.nan)
    found = np.zeros(size, dtype=np.bool_)
    # from the best of several shares, with scale and shape between those of the edges as the share is
    share = np.array(_STARTS)[:, None, None]
    middle = (1.0 - share) * edges[0].free + share * edges[1].free
    middle = np.where(np.isfinite(middle), middle, plain)
    starts = np.concatenate([middle, np.broadcast_to(special.logit(share), (len(_STARTS), size, 1))], axis=2)
    highest = objective(starts).argmax(axis=0)
    best = maximise(objective, starts[highest, np.arange(size)])
    better = best.found
    free[better], value[better], found[better] = best.free[better], best.value[better], True
    kept[better] = special.expit(best.free[better, 2])
    covariance[better] = np.linalg.inv(best.information[better])
    inside = found.copy()
    for q, best in zip((0.0, 1.0), edges, strict=True):
        better = best.found & (best.value >= value - 1e-9)
        free[better, :2], free[better, 2] = best.free[better], np.nan
        value[better], found[better], kept[better], inside[better] = best.value[better], True, q, False
        inverse = np.full((int(better.sum()), 3, 3), np.nan)
        inverse[:, :2, :2] = np.linalg.inv(best.information[better])
        covariance[better] = inverse
    edge = ~found & (edges[0].edge | edges[1].edge)

    z = normal_quantile(level)
    with np.errstate(all="ignore"):
        error = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        estimates = np.concatenate([np.exp(free[:, :2]), (1.0 - kept)[:, None]], axis=1)
        errors = estimates * error
        errors[:, 2] = np.where(inside, kept * (1.0 - kept) * error[:, 2], np.nan)
        low, high = estimates * np.exp(-z * error), estimates * np.exp(z * error)
    with np.errstate(all="ignore"):
        sharp = inside & (error[:, 2] < _SHARP)
        below, above = special.expit(free[:, 2] - z * error[:, 2]), special.expit(free[:, 2] + z * error[:, 2])
    lowest, highest_kept = _profile(objective, free, value, kept, found & ~sharp, level)
    low[:, 2] = 1.0 - np.where(sharp, above, highest_kept)
    high[:, 2] = 1.0 - np.where(sharp, below, lowest)
    return {
        "estimates": estimates, "errors": errors, "low": low, "high": high, "loglik": value, "free": free,
        "covariance": covariance, "found": found, "edge": edge,
    }  # fmt: skip


def _profile(
    objective: Kijima, free: FloatArray, value: FloatArray, kept: FloatArray, found: BoolArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Limits of the share that a repair leaves, by profile likelihood; 0 or 1 where the data do not exclude these."""
    rows = np.flatnonzero(found)
    limits = [np.full(found.size, np.nan), np.full(found.size, np.nan)]
    if not rows.size:
        return limits[0], limits[1]
    part = objective if rows.size == found.size else objective.take(rows)
    allowed = 0.5 * special.chdtri(1.0, 1.0 - level)
    for side, end in enumerate((0.0, 1.0)):
        start = free[rows, :2]

        def beyond(q: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
            """Root of the fall of the likelihood less that of the fall allowed; infinite where there is no maximum."""
            best = maximise(part.at(q), start, tolerance=1e-6)
            known = best.found & np.isfinite(best.value)
            fall = np.sqrt(np.maximum(value[rows] - best.value, 0.0)) - np.sqrt(allowed)
            return np.where(known, fall, np.inf), np.where(known[:, None], best.free, start)

        inner, outer = kept[rows].copy(), np.full(rows.size, end)
        below = np.full(rows.size, -np.sqrt(allowed))
        above, _ = beyond(outer, start)
        outside = above > 0.0
        limit = np.where(outside, 0.5 * (inner + outer), end)
        open_ = outside.copy()
        last = np.zeros(rows.size)
        # the root of the fall is nearly straight: false position (Illinois), halving where it has no number
        for _ in range(_TRIALS):
            if not open_.any():
                break
            with np.errstate(all="ignore"):
                straight = (outer * below - inner * above) / (below - above)
            middle = np.where(np.isfinite(above) & np.isfinite(straight), straight, 0.5 * (inner + outer))
            middle = np.where(open_, middle, limit)
            now, start = beyond(middle, start)
            limit = middle
            out = now > 0.0
            outer, above = np.where(out, middle, outer), np.where(out, now, above)
            inner, below = np.where(out, inner, middle), np.where(out, below, now)
            # an end that stays twice loses half its weight
            above = np.where(~out & (last < 0.0), 0.5 * above, above)
            below = np.where(out & (last > 0.0), 0.5 * below, below)
            last = np.where(out, 1.0, -1.0)
            open_ &= (np.abs(now) > _NEAR) & (np.abs(outer - inner) > 1e-6)
        limits[side][rows] = limit
    return limits[0], limits[1]
