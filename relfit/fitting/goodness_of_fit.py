"""Tests of fit whose p-values account for the fitted parameters: from tables where there are any, or by bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.families import CORE, Family
from relfit.fitting import status
from relfit.fitting.bootstrap import replicate, spread_out
from relfit.fitting.plain import Estimates
from relfit.goodness import (
    DISTANCES,
    chi_square,
    chi_square_of_hazards,
    distances,
    distances_of_hazards,
    tabulated_p,
)
from relfit.lifedata import LifeData
from relfit.numeric.batches import SortedLives, sort_lives
from relfit.numeric.false_discovery import adjusted_p

if TYPE_CHECKING:
    from relfit.fitting.family_fit import FamilyFit

__all__ = ["TESTS", "Goodness", "goodness_of", "statistics_of"]

FloatArray = npt.NDArray[np.float64]

TESTS = (*DISTANCES, "chi2")
SOURCES = {
    "table": "simulated null distribution for this number of lives",
    "bootstrap": "replicates drawn from the fit, censored alike and fitted again",
    "not computed": "needs a bootstrap; ask for one with goodness(bootstrap=999)",
    "not defined": "no fit, too few failures for the test, or lives in intervals",
}
_AUTO_REPLICATIONS = (199, 1800)
# most lives of all replicates: of core families with compiled kernels, of core families without, of further families
_AUTO_LIVES = (10_000_000, 200_000, 20_000)


@dataclass(frozen=True, eq=False)
class Goodness:
    """Tests of one family in every group; arrays of shape (groups, tests).

    Attributes
    ----------
    family : str
    groups : pandas.Index
    tests : tuple of str
        ``ks`` (Kolmogorov-Smirnov), ``cvm`` (Cramer-von Mises), ``ad`` (Anderson-Darling), ``chi2``.
    statistic, p : ndarray of float
    source : ndarray of object
        Where the p-value comes from; `relfit.fitting.goodness_of_fit.SOURCES` says what each word means.
    replications : ndarray of int, shape (groups,)
        Replicates of the bootstrap that could be fitted; zero where none was needed.
    """

    family: str
    groups: pd.Index
    tests: tuple[str, ...]
    statistic: FloatArray
    p: FloatArray
    source: npt.NDArray[np.object_]
    replications: npt.NDArray[np.int64]

    def adjusted(self, test: str, method: str = "bh") -> FloatArray:
        """P-values of one test adjusted for the number of groups; see `relfit.fitting.adjusted_p`."""
        return adjusted_p(self.p[:, self.tests.index(test)], method)

    def to_frame(self) -> pd.DataFrame:
        """One row a group: statistic, p-value and source of each test, and the replications."""
        columns: dict[str, Any] = {}
        for i, test in enumerate(self.tests):
            columns |= {
                test: self.statistic[:, i], f"{test}_p": self.p[:, i], f"{test}_p_source": self.source[:, i]
            }  # fmt: skip
        return pd.DataFrame({**columns, "replications": self.replications}, index=self.groups)

    def to_dict(self) -> dict[str, Any]:
        """Columns of `to_frame` as lists, with the family."""
        columns = self.to_frame().reset_index().to_dict("list")
        return {"family": self.family, **{str(name): values for name, values in columns.items()}}

    def __repr__(self) -> str:
        parts = []
        for i, test in enumerate(self.tests):
            known = np.isfinite(self.p[:, i])
            parts.append(f"{test} below 0.05 in {int((self.p[known, i] < 0.05).sum())} of {int(known.sum())}")
        return f"Goodness of {self.family}: {len(self.groups)} groups ({'; '.join(parts)})"

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>{self.to_frame().to_html(max_rows=10, float_format='{:.4g}'.format)}"


def statistics_of(
    family: type[Family],
    parameters: FloatArray,
    fitted: npt.NDArray[np.bool_],
    lives: LifeData,
    tests: tuple[str, ...],
    ordered: SortedLives | None = None,
    workers: int | None = None,
) -> FloatArray:
    """Statistics of all tests asked for, shape (groups, tests); NaN where a test is not defined."""
    out = np.full((lives.n_groups, len(tests)), np.nan)
    if lives.upper is not None:
        return out
    core = lives.plain and family.name in CORE
    by_distance = [i for i, test in enumerate(tests) if test in DISTANCES]
    places = [DISTANCES.index(tests[i]) for i in by_distance]
    if core:
        ordered = sort_lives(lives.durations, lives.observed, lives.offsets, workers) if ordered is None else ordered
        if by_distance:
            out[:, by_distance] = distances(family.name, parameters, fitted, ordered, workers)[:, places]
        if "chi2" in tests:
            out[:, tests.index("chi2")] = chi_square(family.name, parameters, fitted, ordered, workers).statistic
        return out
    hazards = spent_hazards(family, parameters, lives)
    if by_distance:
        found = distances_of_hazards(hazards, lives.observed, lives.weights, lives.offsets, fitted, workers)
        out[:, by_distance] = found[:, places]
    if "chi2" in tests:
        rows = lives
        if lives.weights is not None:
            rows = spread_out(lives)
            hazards = spent_hazards(family, parameters, rows)
        out[:, tests.index("chi2")] = chi_square_of_hazards(
            hazards, rows.observed, rows.offsets, fitted, len(family.parameter_names()), workers
        )
    return out


def spent_hazards(family: type[Family], parameters: FloatArray, lives: LifeData) -> FloatArray:
    """Cumulative hazard that each life spent under observation: a unit exponential if the family is right.

    Truncation is taken into account: the hazard since the entry, or that of the distribution conditional on an end
    before the exit.
    """
    rows = parameters[lives.group_codes()]
    distribution = family.unchecked(*(rows[:, i] for i in range(rows.shape[1])))
    with np.errstate(all="ignore"):
        spent = distribution.cumulative_hazard(lives.durations)
        if lives.entry is not None:
            spent = spent - np.where(lives.entry > 0.0, distribution.cumulative_hazard(lives.entry), 0.0)
        if lives.exit is not None:
            whole = distribution.cumulative_hazard(lives.exit)
            if lives.entry is not None:
                whole = whole - np.where(lives.entry > 0.0, distribution.cumulative_hazard(lives.entry), 0.0)
            spent = -np.log1p(np.expm1(-spent) / -np.expm1(-whole))
    return np.nan_to_num(np.maximum(spent, 0.0), nan=0.0, posinf=1e300)


def goodness_of(
    fit: FamilyFit,
    tests: tuple[str, ...] = DISTANCES,
    bootstrap: int | str = "auto",
    rng: int | np.random.Generator | None = 0,
    workers: int | None = None,
) -> Goodness:
    """Statistics and p-values of one family; `FamilyFit.goodness` documents the arguments."""
    unknown = [test for test in tests if test not in TESTS]
    if unknown or not tests:
        raise ArgumentError(f"no test {unknown[0] if unknown else ''!r}", remedy=f"use some of {', '.join(TESTS)}")
    lives, groups = fit.lives, fit.lives.n_groups
    statistic = statistics_of(fit.family, fit.parameter_array, fit.ok, lives, tests, fit.sorted_lives, workers)
    p = np.full(statistic.shape, np.nan)
    source = np.full(statistic.shape, "not defined", dtype=object)
    defined = np.isfinite(statistic)
    # the tables hold only where every life ended and the estimates are those of maximum likelihood
    complete = (
        np.full(groups, lives.plain and fit.name in CORE and fit.method == "maximum likelihood")
        & (lives.n_censored == 0)
    )  # fmt: skip
    if lives.limit is not None:  # lives that could have been censored, but happen not to be, are no complete sample
        complete &= np.bincount(lives.group_codes(), lives.limit < np.inf, groups) == 0
    for i, test in enumerate(tests):
        if test in DISTANCES and complete.any():
            rows = np.flatnonzero(defined[:, i] & complete)
            shape = fit.parameter_array[rows, 0]
            p[rows, i] = tabulated_p(fit.name, test, statistic[rows, i], lives.sizes[rows], shape)
            source[rows, i] = "table"
    open_ = defined & np.isnan(p)
    source[open_] = "not computed"
    replications = np.zeros(groups, dtype=np.int64)
    wanted = open_.any(axis=1)
    stages = _stages(bootstrap, fit, wanted)
    if stages and wanted.any() and lives.exit is None and lives.upper is None:
        above = np.zeros(statistic.shape)
        level = np.zeros(statistic.shape)
        generator = np.random.default_rng(rng)
        for stage, (count, most) in enumerate(stages):
            if stage:
                # more replicates where the p-value is small, so that it can be told from zero among many groups
                with np.errstate(invalid="ignore"):
                    small = np.any((above + level + 1.0) / (replications[:, None] + 1.0) <= 0.05, axis=1)
                wanted = wanted & small & (replications > 0)
                if int(lives.n_lives[wanted].sum()) * count > most:
                    break

            def look(part: npt.NDArray[np.int64], drawn: LifeData, found: Estimates, count: int = count) -> None:
                values = statistics_of(
                    fit.family, found.parameters, found.codes == status.OK, drawn, tests, workers=workers
                ).reshape(part.size, count, len(tests))
                here = statistic[part][:, None, :]
                slack = 1e-10 * (1.0 + np.abs(here))
                known = np.isfinite(values)
                above[part] += (known & (values > here + slack)).sum(axis=1)
                level[part] += (known & (np.abs(values - here) <= slack)).sum(axis=1)
                replications[part] += known.any(axis=2).sum(axis=1)

            replicate(
                fit.family, fit.parameter_array, wanted & fit.ok, lives, count, generator, workers=workers, look=look,
                estimator=fit.estimator,
            )  # fmt: skip
        for i, test in enumerate(tests):
            rows = np.flatnonzero(open_[:, i] & (replications > 0))
            n = replications[rows]
            # the chi-square statistic is a lattice: half of what ties with it counts (mid-p)
            ties = 0.5 * level[rows, i] + 0.5 if test == "chi2" else level[rows, i] + 1.0
            p[rows, i] = (above[rows, i] + ties) / (n + 1.0)
            source[rows, i] = "bootstrap"
    return Goodness(fit.name, lives.groups, tests, statistic, p, source, replications)


def _stages(bootstrap: int | str, fit: FamilyFit, wanted: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Replications of each stage, and the most lives that its replicates may have."""
    if isinstance(bootstrap, str):
        if bootstrap != "auto":
            raise ArgumentError(f"bootstrap={bootstrap!r} is not known", remedy="give a number, or 'auto'")
        most = _AUTO_LIVES[0 if fit.lives.plain and fit.name in CORE else 1 if fit.name in CORE else 2]
        size = int(fit.lives.n_lives[wanted].sum()) * _AUTO_REPLICATIONS[0]
        return [(count, most) for count in _AUTO_REPLICATIONS] if size <= most else []
    return [(int(bootstrap), 0)] if bootstrap else []
