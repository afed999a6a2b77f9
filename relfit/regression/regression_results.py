"""What a regression returns: `Regression`, its coefficients with their limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from relfit.results import Result
from relfit.text import count, p_value

__all__ = ["Regression", "Test"]


@dataclass(frozen=True)
class Test:
    """A test statistic and its p-value; `degrees` of freedom of its chi-square."""

    __test__ = False  # not for pytest

    statistic: float
    degrees: int
    p: float


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
        Against the model without covariates; takes durations as independent. Its p-value is asymptotic: of true models
        with one covariate and eight failures a nominal 5 % rejects 7 % (Cox) and 10 % (Weibull).
    wald : Test
        Of all coefficients together, with the covariance that the standard errors have; its p-value, asymptotic too, is
        that of F where these are robust.
    converged : bool
        Whether the search ended where the gradient vanishes. If not, all numbers that would follow are NaN.
    notes : tuple of str
        What to be careful about.
    fitter : object
        The lifelines fitter, for predictions, checks and plots. Its own standard errors take durations as independent.
    """

    _not_in_json: ClassVar[tuple[str, ...]] = ("fitter",)

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
    converged: bool
    notes: tuple[str, ...]
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
        """The headline, what was left out, and the notes."""
        dropped = (f"{rows:,} left out: {reason}" for reason, rows in self.dropped.items())
        return (self.headline, *dropped, *self.notes)

    def to_frame(self) -> pd.DataFrame:
        """The coefficients."""
        return self.table
