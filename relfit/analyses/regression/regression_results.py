"""Results of regressions: those of the fitters of other packages in one form, checked, and `Regression` from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.base.results import Result
from relfit.base.text import count, first_names, p_value
from relfit.base.units import HOURS_PER_YEAR

_ALPHA = 0.05
_NAMED = 5
_NEAR = 1e-4  # half the squared distance to the maximum, in standard errors, below which a search has ended well


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Coefficients of the covariates, then other parameters; ``rise`` is twice their gain in log-likelihood.

    ``covariance`` takes rows as independent, ``robust`` is that of the standard errors. ``expected`` are the counts
    that a model of counts expects, ``dispersion`` the variance of the rates beyond the covariates.
    """

    fitter: object
    coefficients: FloatArray
    covariance: FloatArray
    robust: FloatArray
    loglik: float
    rise: float
    converged: bool
    remedy: str
    notes: tuple[str, ...] = ()
    proportional: pd.DataFrame | None = None
    dispersion: float = np.nan
    expected: FloatArray | None = None

    def checked(self) -> Estimate:
        """Without numbers where the search did not end at a maximum."""
        if self.converged and self.rise > -2.0 * _NEAR:
            return replace(self, rise=max(self.rise, 0.0))
        none = np.full_like(self.covariance, np.nan)
        note = "not converged: the search did not end at a maximum of the likelihood, so no numbers are given"
        numbers: dict[str, Any] = dict.fromkeys(("loglik", "rise", "dispersion"), np.nan)
        numbers |= {"coefficients": none[0], "covariance": none, "robust": none, "expected": None}
        return replace(self, **numbers, converged=False, notes=(f"{note}; {self.remedy}", *self.notes))


def at_maximum(coefficients: FloatArray, covariance: FloatArray, gradient: FloatArray) -> bool:
    """Whether the gradient vanishes there (in standard errors) and the information is proper."""
    if not all(np.isfinite(values).all() for values in (coefficients, covariance, gradient)):
        return False
    scale = np.sqrt(np.diag(covariance).clip(min=0.0))
    if not (scale > 0.0).all() or np.linalg.eigvalsh(covariance / np.outer(scale, scale))[0] <= 0.0:
        return False
    return bool(gradient @ covariance @ gradient < 2.0 * _NEAR)


@dataclass(frozen=True)
class Test:
    """A test statistic and its p-value; `degrees` of freedom of its chi-square."""

    __test__ = False  # not for pytest

    statistic: float
    degrees: int
    p: float


class Regression(Result):
    """A regression of times or counts on covariates.

    Attributes
    ----------
    formula, model : str
    level : float
        Level of the intervals.
    table : pandas.DataFrame
        One row per coefficient: ``coefficient``, ``standard_error``, ``low``, ``high``; ``hazard_ratio`` (Cox: above
        one fails sooner), ``time_ratio`` (AFT: above one lasts longer) or ``rate_ratio`` (counts: above one fails more
        often) with its interval; ``p`` (Wald), ``p_adjusted`` for the number of coefficients (Benjamini and Hochberg);
        ``reference``, what a category's level is compared to.
    n_rows, n_failures : int
        Rows are durations, or the nodes whose failures are counted.
    n_clusters : int or None
        Clusters to which the standard errors are robust; None where they take rows as independent. Intervals and
        p-values are by Student's distribution with one degree of freedom fewer than clusters; of counts at most as many
        as nodes less coefficients, the constant among them; of times without clusters by the normal.
    dropped : dict of str to int
        Rows that were left out, by reason.
    loglik, aic : float
        Of the partial likelihood for Cox; time in hours.
    likelihood_ratio : Test
        Against the model without covariates; takes rows as independent. Its p-value is asymptotic: of true models
        with one covariate and eight failures a nominal 5 % rejects 7 % (Cox) and 10 % (Weibull).
    wald : Test
        Of all coefficients together, with the covariance that the standard errors have; its p-value, asymptotic too, is
        that of F where these are by Student's distribution.
    converged : bool
        Whether the search ended where the gradient vanishes. If not, all numbers that would follow are NaN.
    notes : tuple of str
        What to be careful about.
    proportional : pandas.DataFrame or None
        Cox: whether each hazard ratio stays the same over time (Grambsch and Therneau 1994, by the rank of time):
        ``statistic``, ``p``, ``p_adjusted``. It takes durations as independent.
    dispersion : float
        Counts: variance of the nodes' rates, relative to their mean, that the covariates leave; else NaN.
    nodes : pandas.DataFrame or None
        Counts: ``failures``, ``hours`` and ``expected`` failures of each node.
    fitter : object
        The lifelines fitter or the statsmodels results, for predictions, checks and plots. The standard errors of
        lifelines take durations as independent.
    strata : str or None
        Cox: the column by which durations were stratified.
    """

    formula: str
    model: str
    level: float
    table: pd.DataFrame
    n_rows: int
    n_failures: int
    n_clusters: int | None
    dropped: dict[str, int]
    loglik: float
    aic: float
    likelihood_ratio: Test
    wald: Test
    converged: bool
    notes: tuple[str, ...]
    proportional: pd.DataFrame | None
    dispersion: float
    nodes: pd.DataFrame | None
    fitter: object
    strata: str | None = None

    _not_in_json = ("fitter", "nodes")
    _frame = "table"

    @property
    def headline(self) -> str:
        """What was fitted to how many rows, and whether the covariates matter."""
        test, by = (self.likelihood_ratio, "likelihood ratio") if self.n_clusters is None else (self.wald, "Wald")
        tested = f"{p_value(test.p)} ({by}) for all covariates together"
        p = tested if np.isfinite(test.p) else "no test of all covariates"
        rows = f"in {count(self.n_rows, 'duration')}" if self.nodes is None else f"of {count(self.n_rows, 'node')}"
        model = self.model if self.strata is None else f"{self.model}, stratified by {self.strata}"
        return f"{self.formula} ({model}): {count(self.n_failures, 'failure')} {rows}, {p}."

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, whether hazards are proportional, what was left out, and the notes."""
        findings = [self.headline]
        if self.proportional is not None:
            p = self.proportional["p_adjusted"]
            names = [str(name) for name in p.index[p <= _ALPHA]]
            if names:
                ratios = "the hazard ratio changes" if len(names) == 1 else "hazard ratios change"
                those = f"{ratios} with time for {first_names(names, _NAMED)}"
                findings.append(f"Hazards are not proportional: {those}; the ratio is a mean.")
        dropped = (f"{rows:,} left out: {reason}" for reason, rows in self.dropped.items())
        return (*findings, *dropped, *self.notes)

    def node_rates(self) -> pd.DataFrame:
        """Failures per year of each node: by its covariates, and combined with its own count (models of counts only).

        The rates of nodes with equal covariates follow a gamma distribution with variance `dispersion`; given the
        node's own failures, its mean is ``rate`` (empirical Bayes). For a `relfit.System` whose nodes differ:
        ``rf.System(rf.families.Exponential(rates["rate"] / 8766))``.

        Returns
        -------
        pandas.DataFrame
            ``system``, ``node``, ``failures``, ``hours``, ``expected`` failures, ``rate_by_covariates``, ``rate``
            (per year of observed time).

        Raises
        ------
        ArgumentError
            For a model of times, or one that did not converge.

        Examples
        --------
        >>> import relfit as rf
        >>> rates = rf.regress(rf.datasets.load("white"), "failures ~ rack").node_rates()
        >>> rates.loc[0, ["failures", "expected", "rate_by_covariates", "rate"]].astype(float).round(1).tolist()
        [10.0, 21.4, 5.0, 2.5]
        """
        if self.nodes is None:
            problem = "is one of times" if self.converged else "did not converge"
            what = f"{self.formula} {problem}, so there are no rates of nodes"
            raise ArgumentError(what, remedy="regress 'failures ~ ...'")
        years, expected = self.nodes["hours"] / HOURS_PER_YEAR, self.nodes["expected"]
        weight = expected * self.dispersion / (1.0 + expected * self.dispersion)
        rate = ((1.0 - weight) * expected + weight * self.nodes["failures"]) / years
        return self.nodes.assign(rate_by_covariates=expected / years, rate=rate)
