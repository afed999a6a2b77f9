"""Tests of fit whose p-values account for the fitted parameters: from tables where there are any, or by bootstrap."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arguments import one_whole, random_stream
from relfit.base.arrays import BoolArray, FloatArray, Seed
from relfit.base.errors import ArgumentError
from relfit.base.numeric.batches import over_groups
from relfit.base.results import Result
from relfit.base.text import count
from relfit.fitting import status
from relfit.fitting.bootstrap import replicate, spread_out
from relfit.fitting.estimates import MAXIMUM_LIKELIHOOD, Estimates, FamilyEstimates
from relfit.fitting.families import CORE, Family
from relfit.fitting.goodness import DISTANCES, STATISTICS, chi_square_of_hazards, distances_of_hazards, tabulated_p
from relfit.log.lifedata import LifeData

TESTS = (*DISTANCES, "chi2")
SOURCES = {
    "table": "simulated null distribution for this number of durations",
    "bootstrap": "replicates drawn from the fit, censored alike and fitted again",
    "not computed": "no table holds for censored, late or weighted durations, and the bootstrap would fit more of them "
    "than auto takes on; ask for it with goodness(n_resamples=199)",
    "right-truncated": "known to end before an age of their own: no table holds and no bootstrap draws such durations; "
    "compare families by aicc and look at a probability plot",
    "interval-censored": "durations in intervals, of this group or of another: no test; compare families by aicc and "
    "with the curve of relfit.nonparametric.turnbull",
    "not defined": "no fit, too few failures for the test, or (ad) a duration of zero",
}
_AUTO_REPLICATES = (199, 1800)
_LIVES_AT_ONCE = 1 << 16
_GO_ON = 0.1  # p-value after the first replicates up to which more are drawn
# most durations of all replicates: core families with compiled kernels, core families without, further families
_AUTO_SIZE = (10_000_000, 1_000_000, 20_000)


class Goodness(Result):
    """Tests of one distribution in every group; arrays of shape (groups, tests).

    Attributes
    ----------
    family : str
    groups : pandas.Index
    tests : tuple of str
        ``ks`` (Kolmogorov-Smirnov), ``cvm`` (Cramer-von Mises), ``ad`` (Anderson-Darling), ``chi2``.
    statistic, p : ndarray of float
    source : ndarray of object
        Where the p-value comes from; `relfit.fitting.goodness_of_fit.SOURCES` says what each word means.
    n_resamples : ndarray of int, shape (groups,)
        Replicates of the bootstrap that could be fitted; zero where none was drawn.
    """

    family: str
    groups: pd.Index
    tests: tuple[str, ...]
    statistic: FloatArray
    p: FloatArray
    source: npt.NDArray[np.object_]
    n_resamples: npt.NDArray[np.int64]

    @property
    def headline(self) -> str:
        """In how many groups each test is below 0.05."""
        if self.source.size and (self.source == "interval-censored").all():
            return f"{self.family}, {count(len(self.groups), 'group')}: durations in intervals have no test of fit"
        parts = []
        for i, test in enumerate(self.tests):
            tested = np.isfinite(self.p[:, i])
            parts.append(f"{test} below 0.05 in {int((self.p[tested, i] < 0.05).sum())} of {int(tested.sum())}")
        return f"{self.family}, {count(len(self.groups), 'group')}: {'; '.join(parts)}"

    def to_frame(self) -> pd.DataFrame:
        """One row per group: statistic, p-value and source of each test, and the replicates."""
        columns: dict[str, Any] = {}
        for i, test in enumerate(self.tests):
            columns |= {test: self.statistic[:, i], f"{test}_p": self.p[:, i], f"{test}_p_source": self.source[:, i]}
        return pd.DataFrame({**columns, "n_resamples": self.n_resamples}, index=self.groups)


def distances_of(
    family: type[Family], parameters: FloatArray, fitted: BoolArray, lives: LifeData, workers: int | None = None
) -> FloatArray:
    """Distances of fitted distributions, by `STATISTICS`; NaN where undefined (Anderson-Darling's: zero durations)."""
    if lives.upper is not None:
        return np.full((lives.n_groups, len(STATISTICS)), np.nan)
    hazards = spent_hazards(family, parameters, lives, workers)
    values = distances_of_hazards(hazards, lives.observed, lives.weights, lives.offsets, fitted, workers)
    values[lives.n_zeros > 0, STATISTICS.index("ad")] = np.nan
    return values


def spent_hazards(
    family: type[Family], parameters: FloatArray, lives: LifeData, workers: int | None = None
) -> FloatArray:
    """Cumulative hazard each life spent under observation, given truncation: unit exponential if the fit is right."""
    spent = np.empty(lives.durations.size)

    def work(first: int, last: int) -> None:
        rows, sizes = slice(int(lives.offsets[first]), int(lives.offsets[last])), lives.sizes[first:last]
        distribution = family.unchecked(*(np.repeat(column, sizes) for column in parameters[first:last].T))
        with np.errstate(all="ignore"):
            entry = None if lives.entry is None else lives.entry[rows]
            before = 0.0 if entry is None else np.where(entry > 0.0, distribution.cumulative_hazard(entry), 0.0)
            since = distribution.cumulative_hazard(lives.durations[rows]) - before
            if lives.exit is not None:
                total = distribution.cumulative_hazard(lives.exit[rows]) - before
                since = -np.log1p(np.expm1(-since) / -np.expm1(-total))
            if lives.stationary is not None:
                left = np.log(distribution.mean()) - distribution.log_integrated_tail(lives.durations[rows])
                since = np.where(lives.stationary[rows], left, since)
        spent[rows] = np.fmin(np.fmax(since, 0.0), 1e300)  # zero where it is not a number

    over_groups(lives.offsets, work, workers, _LIVES_AT_ONCE)
    return spent


def _chi_square(
    family: type[Family], parameters: FloatArray, fitted: BoolArray, lives: LifeData, workers: int | None
) -> FloatArray:
    if lives.upper is not None:
        return np.full(lives.n_groups, np.nan)
    rows = spread_out(lives)
    hazards = spent_hazards(family, parameters, rows, workers)
    return chi_square_of_hazards(hazards, rows.observed, rows.offsets, fitted, parameters.shape[1], workers)


def goodness_of(
    fit: FamilyEstimates,
    own: FloatArray,
    tests: tuple[str, ...] | str,
    n_resamples: int | str = "auto",
    rng: Seed = 0,
    workers: int | None = None,
) -> Goodness:
    """Statistics and p-values of one family, as `FamilyFit.goodness`; `own` are the distances of the fit itself."""
    tests = (tests,) if isinstance(tests, str) else tuple(tests)
    unknown = [test for test in tests if test not in TESTS]
    if unknown or not tests:
        raise ArgumentError(
            f"no test {unknown[0] if unknown else ''!r}", remedy=f"use one or more of {', '.join(TESTS)}"
        )
    lives, groups = fit.lives, fit.lives.n_groups

    def statistics(own: FloatArray | None, data: LifeData, parameters: FloatArray, ok: BoolArray) -> FloatArray:
        out = np.empty((data.n_groups, len(tests)))
        if own is None and tests != ("chi2",):
            own = distances_of(fit.family, parameters, ok, data, workers=workers)
        for i, test in enumerate(tests):
            if test == "chi2":
                out[:, i] = _chi_square(fit.family, parameters, ok, data, workers)
            elif own is not None:
                out[:, i] = own[:, STATISTICS.index(test)]
        return out

    statistic = statistics(own, lives, fit.parameter_array, fit.ok)
    p = np.full(statistic.shape, np.nan)
    source = np.full(statistic.shape, "not defined" if lives.upper is None else "interval-censored", dtype=object)
    defined = np.isfinite(statistic)
    # the tables hold only where every life ended and the estimates are those of maximum likelihood
    complete = lives.n_censored == 0
    complete &= lives.plain and fit.name in CORE and fit.method == MAXIMUM_LIKELIHOOD
    if lives.limit is not None:  # lives that could have been censored, but happen not to be, are no complete sample
        complete &= np.bincount(lives.group_codes(), lives.limit < np.inf, groups) == 0
    for i, test in enumerate(tests):
        if test in DISTANCES and complete.any():
            rows = np.flatnonzero(defined[:, i] & complete)
            p[rows, i] = tabulated_p(
                fit.name, test, statistic[rows, i], lives.sizes[rows], fit.parameter_array[rows, 0]
            )
            source[rows, i] = "table"
    open_ = defined & np.isnan(p)
    source[open_] = "not computed" if lives.exit is None else "right-truncated"
    count = np.zeros(groups, dtype=np.int64)
    wanted = open_.any(axis=1) & (lives.exit is None)
    above, level = np.zeros(statistic.shape), np.zeros(statistic.shape)
    generator = random_stream(rng)
    for stage, (times, most) in enumerate(_stages(n_resamples, fit, wanted)):
        if stage:
            # more replicates where the p-value is small, so that it can be resolved among many groups, and up to twice
            # the usual 5 %, so that the first ones decide nothing
            small = np.any((above + level + 1.0) / (count[:, None] + 1.0) <= _GO_ON, axis=1)
            wanted = wanted & small & (count > 0)
            if int(lives.n_lives[wanted].sum()) * times > most:
                break

        def look(part: npt.NDArray[np.int64], drawn: LifeData, estimates: Estimates, times: int = times) -> None:
            values = statistics(None, drawn, estimates.parameters, estimates.codes == status.OK)
            values = values.reshape(part.size, times, len(tests))
            here = statistic[part][:, None, :]
            slack = 1e-10 * (1.0 + np.abs(here))
            finite = np.isfinite(values)
            above[part] += (finite & (values > here + slack)).sum(axis=1)
            level[part] += (finite & (np.abs(values - here) <= slack)).sum(axis=1)
            count[part] += finite.any(axis=2).sum(axis=1)

        replicate(fit, wanted & fit.ok, times, generator, workers=workers, look=look)
    for i, test in enumerate(tests):
        rows = np.flatnonzero(open_[:, i] & (count > 0))
        # the chi-square statistic is a lattice: half of the replicates that tie with it count
        ties = level[rows, i] * (0.5 if test == "chi2" else 1.0)
        p[rows, i] = (above[rows, i] + ties + 1.0) / (count[rows] + 1.0)
        source[rows, i] = "bootstrap"
    return Goodness(fit.name, lives.groups, tests, statistic, p, source, count)


def resamples_checked(n_resamples: int | str) -> int | str:
    """A number of replicates, or ``"auto"``; an `ArgumentError` for anything else."""
    if isinstance(n_resamples, str):
        if n_resamples != "auto":
            raise ArgumentError(f"n_resamples={n_resamples!r} is not known", remedy="give a number, or 'auto'")
        return n_resamples
    return one_whole("n_resamples", n_resamples, 0)


def _stages(n_resamples: int | str, fit: FamilyEstimates, wanted: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Replicates of each stage, and the most durations that they may have."""
    n_resamples = resamples_checked(n_resamples)
    if not wanted.any():
        return []
    if isinstance(n_resamples, str):
        most = _AUTO_SIZE[0 if fit.lives.plain and fit.name in CORE else 1 if fit.name in CORE else 2]
        size = int(fit.lives.n_lives[wanted].sum()) * _AUTO_REPLICATES[0]
        return [(times, most) for times in _AUTO_REPLICATES] if size <= most else []
    return [(n_resamples, 0)] if n_resamples else []
