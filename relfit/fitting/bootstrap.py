"""Replicates of every group: parametric, censored as the group was, or resampled; fitted again, all at once.

In a parametric replicate every life is drawn from the group's fitted distribution, beyond the age at which it came
under observation; one in progress at an unknown age from the distribution of the remaining life in steady state. A
censored life keeps its limit, and so does one whose `LifeData.limit` is given. For other lives that failed the limit is
unknown; it is drawn from the Kaplan-Meier estimate of the group's limits beyond that life (Davison and Hinkley 1997,
algorithm 3.1), and is infinite where no longer life was censored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arguments import one_whole, random_stream
from relfit.base.arrays import FloatArray, IntArray, Seed
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.numeric.compiled import njit
from relfit.base.numeric.ragged import offsets_of
from relfit.fitting.estimates import Estimates, FamilyEstimates
from relfit.fitting.families import Family
from relfit.log.lifedata import LifeData

_LIVES_AT_ONCE = 1_500_000
_MOST_WEIGHT = 10_000_000


def spread_out(lives: LifeData) -> LifeData:
    """The same lives with a row for each, without weights."""
    if lives.weights is None:
        return lives
    if lives.weights.sum() > _MOST_WEIGHT:
        raise ArgumentError(
            f"a bootstrap of {lives.weights.sum()} weighted durations is too large",
            remedy=f"use profile or Wald intervals, or weights that add up to less than {_MOST_WEIGHT}",
        )
    rows = np.repeat(np.arange(lives.durations.size), lives.weights)
    sizes = np.bincount(lives.group_codes(), lives.weights, lives.n_groups).astype(np.int64)
    further = {name: values[rows] for name, values in lives.further().items() if name != "weights"}
    durations, observed = lives.durations[rows], lives.observed[rows]
    return LifeData(durations, observed, offsets_of(sizes), lives.groups, lives.measure, **further)


def _parametric(
    family: type[Family], parameters: FloatArray, lives: LifeData, n_resamples: int, rng: np.random.Generator
) -> LifeData:
    """Replicates drawn from fitted distributions: ``n_resamples`` groups for each group of `lives`, in its order."""
    shape = (n_resamples, lives.durations.size)
    distribution = family.unchecked(*parameters[lives.group_codes()].T)
    age = lives.entry
    with np.errstate(all="ignore"):
        drawn = distribution.sample(shape[0], rng) if age is None else distribution.excess_sample(age, shape[0], rng)
        drawn = drawn if age is None else drawn + age
        if lives.stationary is not None:
            drawn = np.where(lives.stationary, distribution.residual_sample(shape[0], rng), drawn)
    drawn = np.clip(drawn, 1e-300, 1e300)
    observed = np.ones(shape, dtype=np.bool_)
    if lives.limit is not None or (~lives.observed).any():
        limit = _limits(lives, rng.random(shape)) if lives.limit is None else np.broadcast_to(lives.limit, shape)
        observed = drawn <= limit
        drawn = np.where(observed, drawn, limit)
    conditions = {"entry": age, "stationary": lives.stationary}
    fixed = {name: np.broadcast_to(row, shape) for name, row in conditions.items() if row is not None}
    return _stacked(lives, n_resamples, drawn, observed, **fixed)


def _resampled(lives: LifeData, n_resamples: int, rng: np.random.Generator) -> LifeData:
    """Replicates that draw each group's lives, of whatever kind, with replacement."""
    codes = lives.group_codes()
    size = lives.sizes[codes]
    pick = (rng.random((n_resamples, codes.size)) * size).astype(np.int64) + lives.offsets[:-1][codes]
    further = {name: values[pick] for name, values in lives.further().items()}
    return _stacked(lives, n_resamples, lives.durations[pick], lives.observed[pick], **further)


def _stacked(
    lives: LifeData, n_resamples: int, durations: FloatArray, observed: npt.NDArray[np.bool_], **further: Any
) -> LifeData:
    """``n_resamples`` groups for each group of `lives`, from arrays of shape (n_resamples, lives)."""
    n = lives.durations.size
    sizes = np.repeat(lives.sizes, n_resamples)
    offsets = offsets_of(sizes)
    begin = np.repeat(lives.offsets[:-1], n_resamples) + np.tile(np.arange(n_resamples), lives.n_groups) * n
    order = np.repeat(begin - offsets[:-1], sizes) + np.arange(n * n_resamples)
    groups = pd.RangeIndex(offsets.size - 1)
    rows = {name: values.ravel()[order] for name, values in further.items()}
    return LifeData(durations.ravel()[order], observed.ravel()[order], offsets, groups, lives.measure, **rows)


def _limits(lives: LifeData, uniform: FloatArray) -> FloatArray:
    """Limits of observation for every life and replicate, shape of `uniform`."""
    order = np.lexsort((~lives.observed, lives.durations, lives.group_codes()))
    out = np.empty_like(uniform)
    _draw_limits(lives.durations, lives.observed, order, lives.offsets, uniform, out)
    return out


@njit(cache=True, nogil=True)
def _draw_limits(
    durations: np.ndarray,
    observed: np.ndarray,
    order: np.ndarray,
    offsets: np.ndarray,
    uniform: np.ndarray,
    out: np.ndarray,
) -> None:
    for group in range(offsets.size - 1):
        begin, end = offsets[group], offsets[group + 1]
        n = end - begin
        limits = np.empty(n)
        surviving = np.empty(n)
        count = 0
        current = 1.0
        before = np.ones(n)  # survival of the limits just after each life's own end
        for i in range(n):
            row = order[begin + i]
            if not observed[row]:
                current *= 1.0 - 1.0 / (n - i)
                limits[count] = durations[row]
                surviving[count] = current
                count += 1
            before[i] = current
        for i in range(n):
            row = order[begin + i]
            if not observed[row]:
                for r in range(uniform.shape[0]):
                    out[r, row] = durations[row]
                continue
            for r in range(uniform.shape[0]):
                target = uniform[r, row] * before[i]
                # the first limit at which the survival falls to the target or below
                low, high = 0, count
                while low < high:
                    middle = (low + high) // 2
                    if surviving[middle] <= target + 1e-15:
                        high = middle
                    else:
                        low = middle + 1
                out[r, row] = limits[low] if low < count else np.inf


def replicate(
    fit: FamilyEstimates,
    chosen: npt.NDArray[np.bool_],
    n_resamples: int,
    rng: Seed,
    *,
    resample: bool = False,
    workers: int | None = None,
    look: Callable[[IntArray, LifeData, Estimates], None] | None = None,
) -> FloatArray:
    """Estimates of the family of a fit, by its estimator, on replicates of the chosen ones of its groups.
    With `resample` lives are drawn with replacement, not from the fitted distribution; an `ArgumentError` for lives in
    intervals or truncated on the right without it, or fewer than 19 replicates. `look` gets the positions of the
    groups, their replicates and the estimates of each block. The number of threads does not change the numbers.
    """
    if one_whole("n_resamples", n_resamples, 0) < 19:
        raise ArgumentError(f"{n_resamples} replicates are too few", remedy="use 199 or 999")
    if not resample and (fit.lives.upper is not None or fit.lives.exit is not None):
        raise ArgumentError(
            "a parametric bootstrap needs to know how durations were censored, which intervals and right truncation "
            "do not tell",
            remedy=Remedy("use kind='resample' or kind='profile'", "use --kind resample or --kind profile"),
        )
    lives, k = fit.lives, fit.parameter_array.shape[1]
    out = np.full((lives.n_groups, n_resamples, k), np.nan)
    groups = np.flatnonzero(chosen & (lives.sizes > 0))
    # blocks of groups, few enough for the memory when repeated, each with its own stream of random numbers
    block = np.cumsum(lives.sizes[groups] * n_resamples) // _LIVES_AT_ONCE
    parts = np.split(groups, np.flatnonzero(np.diff(block)) + 1) if groups.size else []
    for part, stream in zip(parts, random_stream(rng).spawn(len(parts)), strict=True):
        own = spread_out(lives.take(part.tolist()))
        if resample:
            drawn = _resampled(own, n_resamples, stream)
        else:
            drawn = _parametric(fit.family, fit.parameter_array[part], own, n_resamples, stream)
        estimates = fit.estimator(fit.family, drawn, workers)
        out[part] = estimates.parameters.reshape(part.size, n_resamples, k)
        if look is not None:
            look(part, drawn, estimates)
    return out
