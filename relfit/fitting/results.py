"""What a fit returns: `FamilyFit`, one family for every group, and `Fits`, all families side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special, stats

from relfit.errors import ArgumentError
from relfit.families import Family
from relfit.fitting import status
from relfit.fitting.comparison import comparison, describe
from relfit.goodness import ChiSquare, KolmogorovSmirnov, chi_square
from relfit.lifedata import LifeData, key_columns
from relfit.numeric.batches import SortedLives

__all__ = ["FamilyFit", "Fits"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FamilyFit:
    """One family fitted to every group of a batch; arrays have one entry a group.

    Parameters exist only where ``status`` is ``"ok"``; elsewhere they, and all that follows from them, are NaN.
    `relfit.fitting.STATUS_MEANING` says what each status means.

    Attributes
    ----------
    family : type
        Class of the family.
    groups : pandas.Index
        Labels of the groups.
    parameter_array : ndarray, shape (groups, k)
    covariance : ndarray, shape (groups, k, k)
        Inverse of the observed information, of the parameters in the order of ``family.parameter_names()``.
    loglik : ndarray, shape (groups,)
        Maximum of the log-likelihood, time in hours.
    kolmogorov_smirnov : relfit.goodness.KolmogorovSmirnov
    lives : LifeData
    sorted_lives : SortedLives
        The same lives in rising order.
    level : float
        Level of the intervals.
    """

    family: type[Family]
    groups: pd.Index
    codes: npt.NDArray[np.int8]
    parameter_array: FloatArray
    covariance: FloatArray
    loglik: FloatArray
    kolmogorov_smirnov: KolmogorovSmirnov
    lives: LifeData
    sorted_lives: SortedLives
    level: float

    @property
    def name(self) -> str:
        """Name of the family."""
        return self.family.name

    @cached_property
    def status(self) -> npt.NDArray[np.object_]:
        """One word a group: ok, too_few, all_censored, no_variance, zeros or not_converged."""
        return status.words(self.codes)

    @cached_property
    def ok(self) -> npt.NDArray[np.bool_]:
        """Where the family could be fitted."""
        fitted: npt.NDArray[np.bool_] = self.codes == status.OK
        return fitted

    @property
    def parameters(self) -> dict[str, FloatArray]:
        """Estimates by name."""
        return {name: self.parameter_array[:, i] for i, name in enumerate(self.family.parameter_names())}

    @property
    def standard_errors(self) -> dict[str, FloatArray]:
        """Standard errors by parameter name, from the observed information."""
        return {name: np.sqrt(self.covariance[:, i, i]) for i, name in enumerate(self.family.parameter_names())}

    @cached_property
    def distribution(self) -> Family:
        """The fitted distributions, as a batch with NaN where there is none."""
        return self.family(*(self.parameter_array[:, i] for i in range(self.parameter_array.shape[1])))

    # --------------------------------------------------------------- intervals

    @cached_property
    def parameter_intervals(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Lower and upper limits by parameter name at ``level``.

        Wald limits on the log scale for parameters above zero, on the natural scale for ``meanlog``; exact limits
        (chi-square) for the rate of the exponential.
        """
        if self.name == "exponential":
            low, high = self.exact_mean_interval
            with np.errstate(divide="ignore"):
                return {"rate": (1.0 / high, 1.0 / low)}
        z = stats.norm.ppf(0.5 + self.level / 2)
        intervals = {}
        for (name, value), error, positive in zip(
            self.parameters.items(), self.standard_errors.values(), self.family.positive, strict=True
        ):
            with np.errstate(over="ignore"):
                factor = np.exp(z * error / value) if positive else np.nan
                intervals[name] = (
                    (value / factor, value * factor) if positive else (value - z * error, value + z * error)
                )
        return intervals

    @cached_property
    def exact_mean_interval(self) -> tuple[FloatArray, FloatArray]:
        """Exact limits of the mean life where lives are exponential.

        Observation that ended with the last failure (no censored life) has ``2 n`` degrees of freedom on both sides;
        observation that ended by the clock has ``2 n + 2`` on the lower side, which is conservative.
        """
        n = self.lives.n_failures
        total = np.where(self.ok, self.lives.total_time, np.nan)
        tail = 0.5 - self.level / 2
        more = np.where(self.lives.n_censored > 0, n + 1, n)
        with np.errstate(divide="ignore", invalid="ignore"):
            low = total / special.gammainccinv(more.astype(float), tail)
            high = total / special.gammaincinv(n.astype(float), tail)
        return low, high

    @cached_property
    def mean(self) -> FloatArray:
        """Mean life in hours under the fitted distribution."""
        return self.distribution.mean()

    @cached_property
    def _mean_factor(self) -> FloatArray:
        gradient = self.distribution.log_mean_gradient()
        variance = np.einsum("gi,gij,gj->g", gradient, self.covariance, gradient)
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(stats.norm.ppf(0.5 + self.level / 2) * np.sqrt(variance)))

    @property
    def mean_low(self) -> FloatArray:
        """Lower limit of the mean: delta method on the log scale; exact for the exponential."""
        return self.exact_mean_interval[0] if self.name == "exponential" else self.mean / self._mean_factor

    @property
    def mean_high(self) -> FloatArray:
        """Upper limit of the mean, as `mean_low`."""
        return self.exact_mean_interval[1] if self.name == "exponential" else self.mean * self._mean_factor

    # --------------------------------------------------------------- criteria

    @property
    def aic(self) -> FloatArray:
        """Akaike's criterion."""
        return np.asarray(2.0 * self.parameter_array.shape[1] - 2.0 * self.loglik)

    @property
    def aicc(self) -> FloatArray:
        """Akaike's criterion with the small-sample term, n the number of failures; infinite for n <= k + 1."""
        k, n = self.parameter_array.shape[1], self.lives.n_failures
        room = n - k - 1
        term = np.where(room > 0, 2.0 * k * (k + 1) / np.maximum(room, 1), np.inf)
        return self.aic + np.where(self.ok, term, np.nan)

    @property
    def bic(self) -> FloatArray:
        """Schwarz's criterion, n the number of failures (Volinsky and Raftery 2000)."""
        n = np.maximum(self.lives.n_failures, 1)
        return np.asarray(self.parameter_array.shape[1] * np.log(n) - 2.0 * self.loglik)

    @property
    def ks(self) -> FloatArray:
        """Kolmogorov-Smirnov distance to the Kaplan-Meier estimate."""
        return self.kolmogorov_smirnov.statistic

    @property
    def ks_p_textbook(self) -> FloatArray:
        """K-S p-value that takes the parameters as known: far too large when, as here, they were fitted."""
        return self.kolmogorov_smirnov.p_textbook

    @cached_property
    def chi_square(self) -> ChiSquare:
        """Chi-square test with pooled cells, computed when first asked for; see `relfit.goodness.chi_square`."""
        return chi_square(self.name, self.parameter_array, self.ok, self.sorted_lives)

    # ---------------------------------------------------------------- showing

    def columns(self) -> dict[str, Any]:
        """Everything about this family, one array a column."""
        values: dict[str, Any] = {
            "family": np.full(len(self.groups), self.name, dtype=object),
            "status": self.status,
            "lives": self.lives.sizes,
            "failures": self.lives.n_failures,
            "censored": self.lives.n_censored,
            "zeros": self.lives.n_zeros,
        }
        for name, value in self.parameters.items():
            low, high = self.parameter_intervals[name]
            values |= {name: value, f"{name}_se": self.standard_errors[name], f"{name}_low": low, f"{name}_high": high}
        values |= {
            "mean": self.mean,
            "mean_low": self.mean_low,
            "mean_high": self.mean_high,
            "median": self.distribution.median(),
            "loglik": self.loglik,
            "aic": self.aic,
            "aicc": self.aicc,
            "bic": self.bic,
            "ks": self.ks,
            "ks_p_textbook": self.ks_p_textbook,
            "chi2": self.chi_square.statistic,
            "chi2_df": self.chi_square.degrees,
            "chi2_p": self.chi_square.p,
            "chi2_p_upper": self.chi_square.p_upper,
        }
        return values

    def to_frame(self) -> pd.DataFrame:
        """One row a group, indexed by the group's keys."""
        return pd.DataFrame(self.columns(), index=self.groups)

    def to_dict(self) -> dict[str, Any]:
        """Records ready for JSON."""
        return {"family": self.name, "level": self.level, "groups": records(self.to_frame().reset_index())}

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{int(n)} {w}" for w, n in zip(*np.unique(self.status.astype(str), return_counts=True), strict=True)
        )
        return f"FamilyFit {self.name}: {len(self.groups)} groups ({counts})"


@dataclass(frozen=True, eq=False)
class Fits:
    """Several families fitted to the same groups.

    Examples
    --------
    >>> import relfit as rf
    >>> fits = rf.fit(rf.families.Weibull(0.8, 1000.0).sample((3, 40), rng=1), families=["weibull", "gamma"])
    >>> fits
    Fits: 2 families (weibull, gamma) of 3 groups, 120 lives; best by AICc: weibull 3, gamma 0
    """

    lives: LifeData
    results: dict[str, FamilyFit]
    level: float

    @property
    def families(self) -> tuple[str, ...]:
        """Names of the families."""
        return tuple(self.results)

    @property
    def groups(self) -> pd.Index:
        """Labels of the groups."""
        return self.lives.groups

    def __getitem__(self, family: str) -> FamilyFit:
        """The fits of one family."""
        try:
            return self.results[family]
        except KeyError:
            raise ArgumentError(
                f"family {family!r} was not fitted", remedy=f"there is {', '.join(self.families)}"
            ) from None

    def __len__(self) -> int:
        return len(self.groups)

    def to_frame(self) -> pd.DataFrame:
        """Everything, one row a group and family, the group's keys as columns."""
        keys = key_columns(self.groups)
        frames = [pd.concat([keys, pd.DataFrame(result.columns())], axis=1) for result in self.results.values()]
        table = pd.concat(frames, ignore_index=True)
        order = np.tile(np.arange(len(self.groups)), len(self.results)).argsort(kind="stable")
        first = [*keys.columns, "family", "status", "lives", "failures", "censored", "zeros"]
        named = [c for c in table.columns if c not in first]
        parameters = [c for c in named if c.split("_")[0] in ("rate", "shape", "scale", "meanlog", "sdlog")]
        return table.iloc[order][[*first, *parameters, *(c for c in named if c not in parameters)]].reset_index(
            drop=True
        )

    def summary(self) -> pd.DataFrame:
        """The main figures, one row a group and family; `to_frame` has the rest.

        The mean has its interval beside it; ``ks_p_textbook`` takes the parameters as known and is too large.
        """
        frame = self.to_frame()
        keys = list(frame.columns[: frame.columns.get_loc("status")])
        drop = ("_se", "_low", "_high")
        parameters = [
            c
            for c in frame.columns
            if c.split("_")[0] in ("rate", "shape", "scale", "meanlog", "sdlog") and not c.endswith(drop)
        ]
        columns = ["status", "failures", "censored", "zeros", *parameters, "mean", "mean_low", "mean_high"]
        return frame.set_index(keys)[[*columns, "loglik", "aicc", "ks", "ks_p_textbook"]]

    def compare(self, alpha: float = 0.05) -> pd.DataFrame:
        """How many groups each family fits best, and as well as any (reliability-aware allocation, Table 3.2).

        Parameters
        ----------
        alpha : float
            A family is as good as the best in a group if its textbook K-S p-value is above `alpha`.

        Returns
        -------
        pandas.DataFrame
            Indexed by family: ``fitted`` groups; ``best_by_p`` (highest textbook K-S p-value), ``as_good_by_p`` and its
            share in percent of the groups that any family could be fitted to; ``best_by_aicc`` and ``as_good_by_aicc``
            (within 2 of the lowest) with its share of the groups where AICc exists.
        """
        return comparison(self.results, alpha)

    def describe(self, family: str = "weibull") -> pd.DataFrame:
        """Spread of parameters and mean life over the groups (reliability-aware allocation, Table 3.5).

        Parameters
        ----------
        family : str
            One of the fitted families.
        """
        return describe(self[family].parameters, self[family].mean, self[family].ok)

    def best(self, by: str = "aicc") -> pd.Series:
        """Name of the best family of each group; missing where none could be compared.

        Parameters
        ----------
        by : {"aicc", "aic", "bic", "ks_p_textbook", "loglik"}
            Lowest criterion, or highest p-value or likelihood.
        """
        if by not in ("aicc", "aic", "bic", "ks_p_textbook", "loglik"):
            raise ArgumentError(f"cannot choose by {by!r}", remedy="use aicc, aic, bic, ks_p_textbook or loglik")
        sign = 1.0 if by in ("ks_p_textbook", "loglik") else -1.0
        values = np.stack([sign * getattr(result, by) for result in self.results.values()])
        values = np.where(np.isfinite(values), values, -np.inf)
        names = np.array(self.families, dtype=object)[values.argmax(axis=0)]
        names[~np.isfinite(values).any(axis=0)] = None
        return pd.Series(names, index=self.groups, name=f"best_by_{by}", dtype=object)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON (NaN and infinity become None)."""
        return {
            "level": self.level,
            "families": list(self.families),
            "lives": self.lives.to_dict(),
            "compare": records(self.compare().reset_index()),
            "fits": records(self.to_frame()),
        }

    def __repr__(self) -> str:
        best = self.best().value_counts()
        counts = ", ".join(f"{name} {int(best.get(name, 0))}" for name in self.families)
        return (
            f"Fits: {len(self.families)} families ({', '.join(self.families)}) of {len(self)} groups, "
            f"{self.lives.durations.size} lives; best by AICc: {counts}"
        )

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self))}</p>{self.summary().to_html(max_rows=12, float_format='{:.4g}'.format)}"


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dictionaries of plain Python values, with None for what JSON cannot say."""
    columns = {}
    for name in frame.columns:
        values = frame[name].to_numpy()
        if values.dtype.kind == "f":
            columns[str(name)] = [v if np.isfinite(v) else None for v in values.tolist()]
        else:
            columns[str(name)] = [None if v is None or v is pd.NaT or v != v else v for v in values.tolist()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
