"""What a regression returns: `Regression`, its coefficients with their limits, and survival for given covariates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from relfit.errors import ArgumentError
from relfit.numeric.false_discovery import adjusted_p
from relfit.results import Result
from relfit.text import count, p_value
from relfit.units import hours

__all__ = ["Regression", "Test", "coefficient_table"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Test:
    """A test statistic and its p-value; `degrees` of freedom of its chi-square."""

    __test__ = False  # not for pytest

    statistic: float
    degrees: int
    p: float


def coefficient_table(
    model: str,
    names: Sequence[str],
    references: Sequence[str | None],
    coefficients: FloatArray,
    errors: FloatArray,
    level: float,
    freedom: float,
) -> pd.DataFrame:
    """One row per coefficient, limits by Student's distribution with `freedom`; `Regression` documents the columns."""
    z = stats.t.ppf(0.5 + level / 2.0, freedom)
    ratio = "hazard_ratio" if model == "cox" else "time_ratio"
    with np.errstate(all="ignore"):
        low, high = coefficients - z * errors, coefficients + z * errors
        p = 2.0 * stats.t.sf(np.abs(coefficients / errors), freedom)
        columns = {
            "coefficient": coefficients,
            "standard_error": errors,
            "low": low,
            "high": high,
            ratio: np.exp(coefficients),
            f"{ratio}_low": np.exp(low),
            f"{ratio}_high": np.exp(high),
            "p": p,
            "p_adjusted": adjusted_p(p),
        }
    table = pd.DataFrame(columns, index=pd.Index(list(names), name="covariate", dtype=object))
    table["reference"] = pd.Series(list(references), index=table.index, dtype=object)
    return table


@dataclass(frozen=True, eq=False, repr=False)
class Regression(Result):
    """A regression of durations on covariates.

    Attributes
    ----------
    formula, model : str
    level : float
        Level of the intervals.
    table : pandas.DataFrame
        One row per coefficient: ``coefficient``, ``standard_error``, ``low``, ``high``; ``hazard_ratio`` (Cox: above
        one is worse) or ``time_ratio`` (AFT: above one is longer) with its limits; ``p`` (Wald), ``p_adjusted`` for the
        number of coefficients (Benjamini and Hochberg); ``reference``, what a category's level is compared to.
    n_durations, n_failures : int
    n_clusters : int or None
        Clusters to which the standard errors are robust; None where they take durations as independent. Limits and
        p-values are then by Student's distribution with one degree of freedom fewer than clusters, else by the normal.
    dropped : dict of str to int
        Rows that were left out, by reason.
    loglik, aic : float
        Of the partial likelihood for Cox; time in hours.
    likelihood_ratio : Test
        Against the model without covariates; takes durations as independent.
    wald : Test
        Of all coefficients together, with the covariance that the standard errors have; its p-value is that of F where
        these are robust.
    assumption : pandas.DataFrame or None
        Cox: test of proportional hazards by lifelines (scaled Schoenfeld residuals against the rank of time), for each
        coefficient: ``statistic``, ``p``, ``p_adjusted``. AFT models have none.
    converged : bool
        Whether the search ended where the gradient vanishes. If not, all numbers that would follow are NaN.
    notes : tuple of str
        What to be careful about.
    longest : float
        Longest duration, hours.
    covariates : pandas.DataFrame
        The columns that the formula names, without rows.
    fitter : object
        The lifelines fitter. Its own standard errors take durations as independent.
    """

    _not_in_json: ClassVar[tuple[str, ...]] = ("covariates", "fitter")

    formula: str
    model: str
    level: float
    table: pd.DataFrame
    n_durations: int
    n_failures: int
    n_clusters: int | None
    dropped: dict[str, int]
    loglik: float
    aic: float
    likelihood_ratio: Test
    wald: Test
    assumption: pd.DataFrame | None
    converged: bool
    notes: tuple[str, ...]
    longest: float
    covariates: pd.DataFrame
    fitter: Any

    @property
    def headline(self) -> str:
        """What was fitted to how many durations, and whether the covariates matter."""
        test = self.likelihood_ratio if self.n_clusters is None else self.wald
        told = f"{p_value(test.p)} for all covariates together" if np.isfinite(test.p) else "no test of all covariates"
        return (
            f"{self.formula} ({self.model}): {count(self.n_failures, 'failure')} in "
            f"{count(self.n_durations, 'duration')}, {told}."
        )

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, the model's assumption, what was left out, and the notes."""
        dropped = (f"{rows:,} left out: {reason}" for reason, rows in self.dropped.items())
        return (self.headline, self._assumption_sentence(), *dropped, *self.notes)

    def _assumption_sentence(self) -> str:
        if self.assumption is None:
            return (
                f"Covariates stretch {self.model} durations by a constant factor; no test of this is made: compare the "
                "AIC with that of the other AFT model, and look at probability plots by level."
            )
        p = float(self.assumption["p_adjusted"].min())
        if np.isnan(p):
            return "Constant hazard ratios could not be tested."
        verdict = "contradict" if p < 1.0 - self.level else "do not contradict"
        return (
            f"The residuals {verdict} constant hazard ratios (scaled Schoenfeld residuals, {p_value(p)} at the least)."
        )

    def to_frame(self) -> pd.DataFrame:
        """The coefficients."""
        return self.table

    def predict(self, frame: pd.DataFrame, times: Any) -> pd.DataFrame:
        """Survival at `times` for given covariates.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row per case, with every column that the formula names.
        times : array_like
            Hours, or what `relfit.units.hours` reads.

        Returns
        -------
        pandas.DataFrame
            One row per time (``hours``), one column per row of `frame`.

        Raises
        ------
        ArgumentError
            For a column or a value that is missing, a level that no duration had, a negative time, and for Cox a time
            past the longest duration, of which that model says nothing.
        """
        if not self.converged:
            raise ArgumentError("this regression has not converged, so it predicts nothing", remedy="see its notes")
        at = np.array([hours(time) for time in ([times] if np.ndim(times) == 0 else list(times))], dtype=np.float64)
        if not (at >= 0.0).all():
            raise ArgumentError("a time to predict for is below zero or missing")
        cases = self._cases(frame)
        if self.model != "cox":
            survival = self.fitter.predict_survival_function(cases, times=at).to_numpy()
        elif at.size and at.max() > self.longest:
            raise ArgumentError(
                f"a Cox model says nothing past its longest duration, {self.longest:g} h",
                remedy="ask for earlier times, or use the weibull or lognormal model",
            )
        else:
            baseline = self.fitter.baseline_cumulative_hazard_.iloc[:, 0]
            passed = np.append(0.0, baseline.to_numpy())[np.searchsorted(baseline.index, at, side="right")]
            survival = np.exp(-np.outer(passed, self.fitter.predict_partial_hazard(cases)))
        return pd.DataFrame(survival, index=pd.Index(at, name="hours"), columns=frame.index)

    def _cases(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The columns of the formula, with the categories that the model knows."""
        columns: dict[Any, pd.Series] = {}
        for name, dtype in self.covariates.dtypes.items():
            if name not in frame.columns:
                remedy = f"the model uses {', '.join(map(str, self.covariates.columns))}"
                raise ArgumentError(f"no column {name!r} to predict from", remedy=remedy)
            values = frame[name]
            if isinstance(dtype, pd.CategoricalDtype):
                levels = {str(level): level for level in dtype.categories}
                codes = values.astype(object).map(str).map(levels)
                unknown = values.notna() & codes.isna()
                if unknown.any():
                    remedy = f"there is {', '.join(list(levels)[:20])}"
                    raise ArgumentError(f"no duration had {name} {values[unknown].iloc[0]!r}", remedy=remedy)
                columns[name] = codes.where(values.notna()).astype(dtype)
            else:
                columns[name] = pd.to_numeric(values, errors="coerce").astype(float)
            if columns[name].isna().any():
                row = columns[name].index[columns[name].isna()][0]
                raise ArgumentError(f"{name!r} is missing or not a number in row {row} of the frame to predict for")
        return pd.DataFrame(columns, index=frame.index)
