"""What a regression returns: `Regression`, its coefficients with their doubts, and survival for given covariates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from relfit.errors import ArgumentError
from relfit.families import Lognormal, Weibull
from relfit.numeric.false_discovery import adjusted_p
from relfit.regression.formula import INTERCEPT
from relfit.results import records
from relfit.text import p_value
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
    """One row a coefficient, limits by Student's law with `freedom`; `Regression` documents the columns."""
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


@dataclass(frozen=True, eq=False)
class Regression:
    """A regression of lives on covariates.

    Attributes
    ----------
    formula, model : str
    level : float
        Level of the intervals.
    table : pandas.DataFrame
        One row a coefficient: ``coefficient``, ``standard_error``, ``low``, ``high``; ``hazard_ratio`` (Cox: above one
        is worse) or ``time_ratio`` (AFT: above one is longer) with its limits; ``p`` (Wald), ``p_adjusted`` for the
        number of coefficients (Benjamini and Hochberg); ``reference``, what a category's level is compared to.
    levels : pandas.DataFrame
        Lives and failures at every level of every categorical covariate.
    n_lives, n_failures : int
    n_clusters : int or None
        Clusters to which the standard errors are robust; None where they take lives as independent. Limits and
        p-values are then by Student's law with one degree of freedom fewer than clusters, else by the normal.
    dropped : pandas.DataFrame
        Rows that were left out, by reason.
    loglik, aic : float
        Of the partial likelihood for Cox; time in hours.
    likelihood_ratio : Test
        Against the model without covariates; takes lives as independent.
    wald : Test
        Of all coefficients together, with the covariance that the standard errors have; its p-value is that of F where
        these are robust.
    assumption : pandas.DataFrame or None
        Cox: test of proportional hazards by scaled Schoenfeld residuals against the rank of time, for each coefficient
        and all together. AFT models have none; see `assumption_note`.
    covariance : pandas.DataFrame
    converged : bool
        Whether the search ended where the gradient vanishes. If not, all numbers that would follow are NaN.
    notes : tuple of str
        Doubts and rules, in words.
    fitter : object
        The lifelines fitter. Its own standard errors take lives as independent.
    """

    formula: str
    model: str
    level: float
    table: pd.DataFrame
    levels: pd.DataFrame
    n_lives: int
    n_failures: int
    n_clusters: int | None
    dropped: pd.DataFrame
    loglik: float
    aic: float
    likelihood_ratio: Test
    wald: Test
    assumption: pd.DataFrame | None
    covariance: pd.DataFrame
    converged: bool
    notes: tuple[str, ...]
    fitter: Any
    estimates: FloatArray
    errors: FloatArray
    centre: FloatArray
    curve: pd.DataFrame | None
    longest: float
    frame: pd.DataFrame

    @property
    def assumption_note(self) -> str:
        """What the model assumes and how that was checked, in a sentence."""
        if self.assumption is None:
            return (
                f"Covariates stretch {self.model} lives by a constant factor; no test of this is made: compare the "
                "AIC with that of the other AFT model, and look at probability plots by level."
            )
        p = float(self.assumption["p"].iloc[-1])
        if not self.converged:
            return "Not converged."
        if np.isnan(p):
            return (
                "Constant hazard ratios could not be tested: too few distinct failure times, or no proper covariance."
            )
        verdict = "contradict" if p < 1.0 - self.level else "do not contradict"
        return (
            f"The residuals {verdict} constant hazard ratios (scaled Schoenfeld residuals, all together {p_value(p)})."
        )

    @property
    def baseline(self) -> pd.DataFrame | None:
        """AFT models: the intercept (log hours) and ``shape`` (Weibull) or ``sdlog`` (lognormal), with limits."""
        if self.model == "cox":
            return None
        z = stats.t.ppf(0.5 + self.level / 2.0, np.inf if self.n_clusters is None else self.n_clusters - 1)
        value, error = self.estimates[-2:], self.errors[-2:]
        table = pd.DataFrame(
            {"estimate": value, "standard_error": error, "low": value - z * error, "high": value + z * error},
            index=pd.Index(["intercept", "shape" if self.model == "weibull" else "sdlog"], name="parameter"),
        )
        last = table.index[-1]
        table.loc[last, ["estimate", "low", "high"]] = np.exp(
            table.loc[last, ["estimate", "low", "high"]].to_numpy(float)
        )
        table.loc[last, "standard_error"] *= table.loc[last, "estimate"]
        return table

    def predict(self, frame: pd.DataFrame, times: Any) -> pd.DataFrame:
        """Survival at `times` for given covariates.

        Parameters
        ----------
        frame : pandas.DataFrame
            A row a case, with every column that the formula names.
        times : array_like
            Hours, or what `relfit.units.hours` reads.

        Returns
        -------
        pandas.DataFrame
            A row a time (``hours``), a column a row of `frame`.

        Raises
        ------
        ArgumentError
            For a column or a value that is missing, a level that no life had, a negative time, and for Cox a time past
            the longest life, of which that model says nothing.
        """
        if not self.converged:
            raise ArgumentError("this regression has not converged, so it predicts nothing", remedy="see its notes")
        given = [times] if np.ndim(times) == 0 else list(times)
        at = np.array([hours(time) for time in given], dtype=np.float64)
        if not (at >= 0.0).all():
            raise ArgumentError("a time to predict for is below zero or missing")
        matrix = self._matrix(frame)
        k = matrix.shape[1]
        if self.curve is None:
            location = (matrix @ self.estimates[:k] + self.estimates[k])[None, :]
            extra = np.exp(self.estimates[-1:])
            with np.errstate(over="ignore"):
                family = Weibull(extra, np.exp(location)) if self.model == "weibull" else Lognormal(location, extra)
            survival = np.asarray(family.sf(at[:, None]))
        else:
            if at.size and at.max() > self.longest:
                raise ArgumentError(
                    f"a Cox model says nothing past its longest life, {self.longest:g} h",
                    remedy="ask for earlier times, or use the weibull or lognormal model",
                )
            sofar = np.concatenate([[0.0], self.curve["cumulative_hazard"].to_numpy()])
            base = sofar[np.searchsorted(self.curve["time"].to_numpy(), at, side="right")]
            with np.errstate(over="ignore", invalid="ignore"):
                relative = np.exp((matrix - self.centre) @ self.estimates)
                survival = np.exp(-np.where(base[:, None] > 0.0, base[:, None] * relative[None, :], 0.0))
        return pd.DataFrame(survival, index=pd.Index(at, name="hours"), columns=frame.index)

    def _matrix(self, frame: pd.DataFrame) -> FloatArray:
        columns = {}
        for name in self.frame.columns:
            if name not in frame.columns:
                raise ArgumentError(
                    f"no column {name!r} to predict from",
                    remedy=f"the model uses {', '.join(map(str, self.frame.columns))}",
                )
            dtype = self.frame[name].dtype
            values = frame[name]
            if isinstance(dtype, pd.CategoricalDtype):
                codes = {str(level): level for level in dtype.categories}
                text = values.astype(object).map(str)
                strange = values.notna() & ~text.isin(list(codes))
                if strange.any():
                    raise ArgumentError(
                        f"no life had {name} {values[strange].iloc[0]!r}",
                        remedy=f"there is {', '.join(list(codes)[:20])}",
                    )
                columns[name] = pd.Series(pd.Categorical(text.map(codes), dtype=dtype), index=frame.index)
            else:
                columns[name] = pd.to_numeric(values, errors="coerce").astype(float)
            if columns[name].isna().any():
                row = columns[name].index[columns[name].isna()][0]
                raise ArgumentError(f"{name!r} is missing or not a number in row {row} of the frame to predict for")
        regressors = self.fitter.regressors.transform_df(pd.DataFrame(columns, index=frame.index))
        part = regressors[next(iter(regressors.columns.get_level_values(0)))]
        return (
            part.drop(columns=INTERCEPT, errors="ignore").reindex(columns=list(self.table.index)).to_numpy(np.float64)
        )

    # ---------------------------------------------------------------- showing

    def to_frame(self) -> pd.DataFrame:
        """The coefficients."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """Everything but the fitter, ready for JSON (NaN and infinity become None)."""
        assumption, baseline = self.assumption, self.baseline
        return {
            "formula": self.formula,
            "model": self.model,
            "level": self.level,
            "lives": self.n_lives,
            "failures": self.n_failures,
            "clusters": self.n_clusters,
            "dropped": {str(reason): int(rows) for reason, rows in self.dropped["rows"].items()},
            "coefficients": records(self.table.reset_index()),
            "baseline": None if baseline is None else records(baseline.reset_index()),
            "levels": records(self.levels),
            "loglik": self.loglik,
            "aic": self.aic,
            "likelihood_ratio": _test_dict(self.likelihood_ratio),
            "wald": _test_dict(self.wald),
            "assumption": None if assumption is None else records(assumption.reset_index()),
            "assumption_note": self.assumption_note,
            "converged": self.converged,
            "notes": list(self.notes),
        }

    def _head(self) -> str:
        test = self.likelihood_ratio
        return (
            f"Regression ({self.model}) {self.formula}: {self.n_failures} failures of {self.n_lives} lives, "
            f"AIC {self.aic:.1f}, likelihood ratio {test.statistic:.1f} with {test.degrees} df, p {test.p:.3g}"
        )

    def _tail(self) -> list[str]:
        dropped = [f"{rows} left out: {reason}" for reason, rows in self.dropped["rows"].items()]
        return [self.assumption_note, *dropped, *self.notes]

    def _shown(self) -> pd.DataFrame:
        ratio = "hazard_ratio" if self.model == "cox" else "time_ratio"
        columns = [
            "coefficient",
            "standard_error",
            ratio,
            f"{ratio}_low",
            f"{ratio}_high",
            "p",
            "p_adjusted",
            "reference",
        ]
        return self.table[columns].assign(reference=self.table["reference"].fillna(""))

    def __repr__(self) -> str:
        table = self._shown().to_string(float_format="{:.4g}".format)
        return "\n".join([self._head(), table, *(f"- {line}" for line in self._tail())])

    def _repr_html_(self) -> str:
        from html import escape

        notes = "".join(f"<li>{escape(line)}</li>" for line in self._tail())
        table = self._shown().to_html(float_format="{:.4g}".format)
        return f"<p>{escape(self._head())}</p>{table}<ul>{notes}</ul>"


def _test_dict(test: Test) -> dict[str, float | int | None]:
    value = test.statistic if np.isfinite(test.statistic) else None
    return {"statistic": value, "degrees": test.degrees, "p": test.p if np.isfinite(test.p) else None}
