"""How many units that still run will fail within a time, from their ages and a fitted distribution.

Escobar and Meeker (1999) call it within-sample prediction. The parameters are drawn from their posterior distribution;
then failures are drawn, unit by unit. Without a failure the rate of an exponential distribution is drawn from its exact
upper bounds, so that the forecast has an upper end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arguments import durations, random_stream
from relfit.base.arrays import BoolArray, FloatArray, IntArray, Seed
from relfit.base.errors import ArgumentError
from relfit.base.numeric.levels import level_checked
from relfit.base.numeric.ragged import offsets_of
from relfit.base.results import Result, key_columns
from relfit.base.text import count, duration, percent
from relfit.fitting.estimates import FamilyEstimates, drawn_parameters
from relfit.fitting.families import Family
from relfit.log.lifedata import LifeData

_VALUES = 2_000_000  # draws times lives at a time
_NUMBERS = ("expected", "expected_low", "expected_high", "stock", "low", "high")


class FailuresAhead(Result):
    """Failures among running units within one or more times from now; arrays of shape (groups, times).

    Attributes
    ----------
    groups : pandas.Index
    family : str
    times : ndarray of float, shape (times,)
        Hours from now.
    running : ndarray of int, shape (groups,)
        Units that run now.
    expected, expected_low, expected_high : ndarray of float
        Mean number of failures at the estimates, and its credible interval.
    stock : ndarray of float
        Parts that last with probability `level`, one per failure: the one-sided upper end of their number.
    low, high : ndarray of float
        Prediction interval of the number of failures: whole numbers.
    together : pandas.DataFrame
        All groups as one, one row per time, with the columns of `to_frame`; empty for a single group, where a group
        with running units has no fit or no failure, and where groups share their hours.
    level : float
        Of both intervals.
    status : ndarray of object, shape (groups,)
        ``ok``; ``few_replicates`` (an estimate, but the likelihood is too unlike a normal one for these draws); or why
        there is no fit: no failure (``all_censored``) still has the upper ends of an exponential distribution.
    """

    groups: pd.Index
    family: str
    times: FloatArray
    running: IntArray
    expected: FloatArray
    expected_low: FloatArray
    expected_high: FloatArray
    stock: FloatArray
    low: FloatArray
    high: FloatArray
    together: pd.DataFrame
    level: float
    status: npt.NDArray[np.object_]

    @property
    def headline(self) -> str:
        """The group with most running units, for the longest time."""
        answered = np.isfinite(self.high).all(axis=1)
        if not answered.any():
            return f"No prediction ({self.status[0] if self.status.size else 'no group'})."
        place = int(np.argmax(np.where(answered, self.running + 0.5 * (self.status == "ok"), -1)))
        column = int(np.argmax(self.times))
        name = "" if len(self.groups) == 1 else f" of {self.groups[place]}"
        value, low, high = (float(v[place, column]) for v in (self.expected, self.low, self.high))
        units, within = count(int(self.running[place]), "running unit"), duration(float(self.times[column]))
        which = f"({percent(self.level)} prediction interval"
        if not np.isfinite(value):
            return f"No unit{name} failed so far: of {units}, at most {high:.0f} fail within {within} {which})."
        return f"Of {units}{name}, {value:.3g} are expected to fail within {within} {which} {low:.0f} to {high:.0f})."

    def to_frame(self) -> pd.DataFrame:
        """One row per group and time."""
        size = self.times.size
        frame = key_columns(self.groups.repeat(size))
        frame["running"], frame["hours"] = np.repeat(self.running, size), np.tile(self.times, len(self.groups))
        for name in _NUMBERS:
            frame[name] = np.ravel(getattr(self, name))
        return frame.assign(status=np.repeat(self.status, size))


@dataclass(frozen=True)
class _Running:
    """Units that run: their ages, whether these count from the beginning of observation, and how many are alike."""

    family: type[Family]
    code: IntArray
    age: FloatArray
    stationary: BoolArray
    weight: IntArray
    offsets: IntArray

    @classmethod
    def of(cls, family: type[Family], lives: LifeData) -> _Running:
        """The right-censored lives."""
        runs = ~lives.observed & np.isinf(lives.ends)
        code = lives.group_codes()[runs]
        stationary = np.zeros(code.size, np.bool_) if lives.stationary is None else lives.stationary[runs]
        weight = np.ones(code.size, np.int64) if lives.weights is None else lives.weights[runs]
        offsets = offsets_of(np.bincount(code, minlength=lives.n_groups))
        return cls(family, code, lives.durations[runs], stationary, weight, offsets)

    def by_group(self, values: npt.NDArray[np.number]) -> FloatArray:
        """Sums over the units of each group, shape (draws, units) to (draws, groups)."""
        sums = np.concatenate([np.zeros((values.shape[0], 1)), np.cumsum(values, axis=1)], axis=1)
        return np.asarray(sums[:, self.offsets[1:]] - sums[:, self.offsets[:-1]])

    def chances(self, parameters: FloatArray, ahead: float) -> FloatArray:
        """Probability that each unit fails within `ahead` hours; shape (draws, groups, k) to (draws, units)."""
        with np.errstate(all="ignore"):
            distribution = self.family.unchecked(*np.moveaxis(parameters[:, self.code], -1, 0))
            gone = distribution.log_sf(self.age + ahead) - distribution.log_sf(self.age)
            if self.stationary.any():
                tail = distribution.log_integrated_tail(self.age + ahead) - distribution.log_integrated_tail(self.age)
                gone = np.where(self.stationary, tail, gone)
            return np.asarray(np.nan_to_num(-np.expm1(np.minimum(gone, 0.0)), nan=1.0))


def failures_ahead(
    fit: FamilyEstimates, time: npt.ArrayLike, units: LifeData | None, level: float, n_draws: int, rng: Seed
) -> FailuresAhead:
    """See `relfit.fitting.FamilyFit.failures_ahead`."""
    level_checked(level)
    if n_draws < 100:
        raise ArgumentError(f"n_draws is {n_draws}", remedy="draw 100 times or more")
    times = np.atleast_1d(durations("time", time, zero=False))
    units = fit.lives if units is None else units
    places = fit.groups.get_indexer(units.groups)
    if (places < 0).any():
        remedy = f"name the groups of the units as those of the fit, such as {fit.groups[0]!r}"
        raise ArgumentError(f"the fit has no group {units.groups[int(np.argmin(places))]!r}", remedy=remedy)
    everyone = _Running.of(fit.family, units)
    status = fit.status[places]
    bounded = (status == "all_censored") & (fit.name == "exponential") & (fit.lives.total_time[places] > 0.0)
    rows = np.flatnonzero((status == "ok") | bounded)
    shape = (places.size, times.size)
    expected, ends = np.full(shape, np.nan), np.full((5, *shape), np.nan)
    together = np.full((5, times.size), np.nan)
    if rows.size:
        generator = random_stream(rng)
        running = _Running.of(fit.family, units.take(rows))
        parameters, usable = _drawn(fit, places[rows], n_draws, generator)
        status[rows[~usable]] = "few_replicates"
        at_once = max(_VALUES // max(running.age.size, 1), 1)
        for j, ahead in enumerate(times):
            expected[rows, j] = running.by_group(
                running.weight * running.chances(fit.parameter_array[places[rows]][None], ahead)
            )[0]
            means, failures = [], []
            for first in range(0, n_draws, at_once):
                chance = running.chances(parameters[first : first + at_once], ahead)
                means.append(running.by_group(running.weight * chance))
                failures.append(running.by_group(generator.binomial(running.weight, chance)))
            mean, failed = np.concatenate(means), np.concatenate(failures)
            ends[:, rows[usable], j] = _limits(mean, failed, level)[:, usable]
            together[:, j] = _limits(mean.sum(axis=1), failed.sum(axis=1), level)
    expected[bounded], ends[np.ix_([0, 3], bounded)] = np.nan, 0.0
    number = everyone.by_group(everyone.weight[None])[0].astype(np.int64)
    answered = (status[number > 0] == "ok").all() and not units.shared
    every = dict(zip(_NUMBERS, (expected[number > 0].sum(axis=0), *together), strict=True))
    table = pd.DataFrame({"running": number.sum(), "hours": times, **every, "status": "ok"})
    table = table if answered and (number > 0).sum() > 1 else table.iloc[:0]
    mean_low, mean_high, stock, low, high = ends
    numbers = (expected, mean_low, mean_high, stock, low, high)
    return FailuresAhead(units.groups, fit.name, times, number, *numbers, table, level, status)


def _limits(means: FloatArray, failures: FloatArray, level: float) -> FloatArray:
    """Limits of the mean, and the upper end on one side and limits of the number of failures, over all draws."""
    tail = np.array([0.5 - 0.5 * level, 0.5 + 0.5 * level])
    of_number = np.quantile(failures, [level, *tail], axis=0, method="inverted_cdf")
    return np.array([*np.quantile(means, tail, axis=0), *of_number])


def _drawn(
    fit: FamilyEstimates, places: IntArray, n_draws: int, generator: np.random.Generator
) -> tuple[FloatArray, BoolArray]:
    """Draws of the parameters, and which groups have enough of them; of groups without a failure draws of the rate."""
    ok = fit.ok[places]
    parameters = np.empty((n_draws, places.size, fit.parameter_array.shape[1]))
    usable = np.ones(places.size, np.bool_)
    if ok.any():
        parameters[:, ok], usable[ok] = drawn_parameters(fit, places[ok], n_draws, generator)
    hours = fit.lives.total_time[places[~ok]]
    parameters[:, ~ok, 0] = generator.standard_exponential((n_draws, hours.size)) / hours
    return parameters, usable
