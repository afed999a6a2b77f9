"""`FamilyFit`: one family fitted to every group of a batch, with everything that follows from the fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from relfit.errors import ArgumentError
from relfit.families import CORE, Family
from relfit.fitting import status
from relfit.fitting.goodness_of_fit import Goodness, goodness_of, statistics_of
from relfit.fitting.intervals import Block, Interval, blocks_of, exact_mean_limits, interval_of
from relfit.fitting.plain import Estimates, Estimator
from relfit.goodness import DISTANCES, ChiSquare, chi_square, kolmogorov_p, kolmogorov_smirnov
from relfit.lifedata import LifeData
from relfit.numeric.batches import SortedLives

__all__ = ["FamilyFit", "records"]

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
    lives : LifeData
    estimates : Estimates
        Codes of the status, parameters, their covariance (inverse of the observed information; NaN for other methods
        than maximum likelihood) and the log-likelihood, time in hours.
    level : float
        Level of the intervals.
    method : str
        How the parameters were estimated.
    estimator : callable
        What estimated them, for use on replicates.
    sorted_lives : SortedLives, optional
        The same lives in rising order, where they are observed or right-censored.
    bootstrap, rng : optional
        How `tests` gets the p-values that no table gives; see `goodness`.
    """

    family: type[Family]
    lives: LifeData
    estimates: Estimates
    level: float
    method: str
    estimator: Estimator
    sorted_lives: SortedLives | None = None
    bootstrap: int | str = "auto"
    rng: int | np.random.Generator | None = 0

    @property
    def name(self) -> str:
        """Name of the family."""
        return self.family.name

    @property
    def groups(self) -> pd.Index:
        """Labels of the groups."""
        return self.lives.groups

    @property
    def codes(self) -> npt.NDArray[np.int8]:
        """Status of every group as a number; see `relfit.fitting.status`."""
        return self.estimates.codes

    @property
    def parameter_array(self) -> FloatArray:
        """Estimates, shape (groups, k), in the order of ``family.parameter_names()``."""
        return self.estimates.parameters

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the estimates, shape (groups, k, k)."""
        return self.estimates.covariance

    @property
    def loglik(self) -> FloatArray:
        """Log-likelihood at the estimates, shape (groups,)."""
        return self.estimates.loglik

    @cached_property
    def status(self) -> npt.NDArray[np.object_]:
        """One word a group; ``relfit.fitting.STATUS_MEANING`` explains each."""
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
        with np.errstate(invalid="ignore"):
            return {name: np.sqrt(self.covariance[:, i, i]) for i, name in enumerate(self.family.parameter_names())}

    @cached_property
    def distribution(self) -> Family:
        """The fitted distributions, as a batch with NaN where there is none."""
        return self.family.unchecked(*(self.parameter_array[:, i] for i in range(self.parameter_array.shape[1])))

    # --------------------------------------------------------------- intervals

    def interval(
        self,
        quantity: str,
        *,
        at: float | str | None = None,
        kind: str = "profile",
        level: float | None = None,
        replications: int = 999,
        rng: int | np.random.Generator | None = 0,
        terminated: str | None = None,
        workers: int | None = None,
    ) -> Interval:
        """Interval of a quantity in every group.

        Parameters
        ----------
        quantity : str
            A parameter of the family, ``mean``, ``median``, ``quantile``, ``reliability`` or ``hazard``.
        at : float or duration, optional
            The probability of a quantile; the time of a reliability or a hazard, in hours or as text such as "24h".
        kind : {"profile", "wald", "bootstrap", "resample", "exact"}
            `relfit.fitting.intervals.KINDS` explains them. Below some twenty failures prefer ``profile``.
        level : float, optional
            Between 0 and 1; that of the fit when left out.
        replications : int
            Of the two bootstraps.
        rng : int or numpy.random.Generator, optional
            Of the two bootstraps.
        terminated : {"time", "failure"}, optional
            Of the exact intervals: whether observation ended by the clock or with the last failure. By the clock, where
            a group has censored lives, when left out.
        workers : int, optional
            Threads; does not change the numbers.

        Raises
        ------
        ArgumentError
            For an unknown quantity or kind, a quantile or level outside 0..1, or a kind that does not exist for such
            fits.

        Examples
        --------
        >>> import relfit as rf
        >>> lives = rf.LifeData.from_array([100.0, 900.0, 4000.0, 8760.0], [True, True, True, False])
        >>> rf.fit(lives, "weibull")["weibull"].interval("reliability", at="24h")
        Interval: reliability at 24 of weibull, 95 % profile: 0.948145 (0.590116 to 0.999044), ok
        """
        return interval_of(
            self, quantity, at=at, kind=kind, level=level, replications=replications, rng=rng, terminated=terminated,
            workers=workers,
        )  # fmt: skip

    @cached_property
    def blocks(self) -> list[Block]:
        """The fitted groups with their likelihoods, for profile limits and likelihood regions."""
        return blocks_of(self)

    def contour(self, label: Any = None, level: float = 0.95) -> dict[str, FloatArray]:
        """Border of the joint likelihood region of the two parameters of one group.

        Parameters
        ----------
        label : optional
            The group; may be left out where there is one.
        level : float
            Between 0 and 1: the region is where the log-likelihood is within half the chi-square quantile with two
            degrees of freedom of its maximum.

        Returns
        -------
        dict of ndarray
            Each parameter along the border, closed: the last point is the first. NaN where the region has no end.

        Raises
        ------
        ArgumentError
            For a family without exactly two parameters, a group that is not there or was not fitted.
        """
        if self.parameter_array.shape[1] != 2:
            raise ArgumentError(f"a contour needs two parameters, {self.name} has {self.parameter_array.shape[1]}")
        if not 0.0 < level < 1.0:
            raise ArgumentError(f"level {level} is not between 0 and 1", remedy="95 % is 0.95")
        if label is None and len(self.groups) > 1:
            raise ArgumentError("there are several groups", remedy="give the label of one")
        position = 0 if label is None else self.lives.position(label)
        if not self.ok[position]:
            raise ArgumentError(
                f"group {self.groups[position]!r} has no {self.name} fit",
                remedy=f"its status is {self.status[position]}",
            )
        border = self.take([position]).blocks[0].region(level, joint=2)
        free = np.where(np.isfinite(border.radius)[..., None], border.free, np.nan)[:, 0]
        points = self.family.from_free(np.concatenate([free, free[:1]]))
        return {name: points[:, i] for i, name in enumerate(self.family.parameter_names())}

    @cached_property
    def parameter_intervals(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Lower and upper limits by parameter name at ``level``.

        Wald limits on the log scale for parameters above zero, on the logit scale for fractions, on the natural scale
        for others; exact limits (chi-square) for the rate of the exponential. `interval` gives better ones.
        """
        if self._exact:
            low, high = self.exact_mean_interval
            with np.errstate(divide="ignore"):
                return {"rate": (1.0 / high, 1.0 / low)}
        z = stats.norm.ppf(0.5 + self.level / 2)
        intervals = {}
        for (name, value), error, domain in zip(
            self.parameters.items(), self.standard_errors.values(), self.family.domains, strict=True
        ):
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                if domain == "positive":
                    factor = np.exp(z * error / value)
                    intervals[name] = (value / factor, value * factor)
                elif domain == "fraction":
                    factor = np.exp(z * error / (value * (1.0 - value)))
                    odds = value / (1.0 - value)
                    intervals[name] = (1.0 / (1.0 + factor / odds), 1.0 / (1.0 + 1.0 / (factor * odds)))
                else:
                    intervals[name] = (value - z * error, value + z * error)
        return intervals

    @property
    def _exact(self) -> bool:
        """Whether the exact limits of the exponential apply."""
        lives = self.lives
        return self.name == "exponential" and lives.upper is None and lives.exit is None

    @cached_property
    def exact_mean_interval(self) -> tuple[FloatArray, FloatArray]:
        """Exact limits of the mean life where lives are exponential.

        Observation that ended with the last failure (no censored life) has ``2 n`` degrees of freedom on both sides;
        observation that ended by the clock has ``2 n + 2`` on the lower side, which is conservative.
        """
        total = np.where(self.ok, self.lives.total_time, np.nan)
        return exact_mean_limits(total, self.lives.n_failures, self.lives.n_censored > 0, self.level)

    @cached_property
    def mean(self) -> FloatArray:
        """Mean life in hours under the fitted distribution."""
        with np.errstate(all="ignore"):
            return self.distribution.mean()

    @cached_property
    def _mean_factor(self) -> FloatArray:
        with np.errstate(all="ignore"):
            gradient = self.distribution.log_mean_gradient()
            variance = np.einsum("gi,gij,gj->g", gradient, self.covariance, gradient)
            return np.asarray(np.exp(stats.norm.ppf(0.5 + self.level / 2) * np.sqrt(variance)))

    @property
    def mean_low(self) -> FloatArray:
        """Lower limit of the mean: delta method on the log scale; exact for the exponential."""
        return self.exact_mean_interval[0] if self._exact else self.mean / self._mean_factor

    @property
    def mean_high(self) -> FloatArray:
        """Upper limit of the mean, as `mean_low`."""
        return self.exact_mean_interval[1] if self._exact else self.mean * self._mean_factor

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

    # --------------------------------------------------------- goodness of fit

    @cached_property
    def ks(self) -> FloatArray:
        """Kolmogorov-Smirnov distance to the Kaplan-Meier estimate; NaN for lives in intervals."""
        if self.sorted_lives is not None and self.name in CORE:
            return kolmogorov_smirnov(
                self.name, self.parameter_array, self.ok, self.sorted_lives, self.lives.n_failures
            ).statistic
        return statistics_of(self.family, self.parameter_array, self.ok, self.lives, ("ks",))[:, 0]

    @cached_property
    def ks_p_textbook(self) -> FloatArray:
        """K-S p-value that takes the parameters as known: far too large when, as here, they were fitted."""
        return kolmogorov_p(self.ks, self.lives.n_failures)

    @cached_property
    def tests(self) -> Goodness:
        """K-S, Cramer-von Mises and Anderson-Darling with p-values that account for the fit; see `goodness`."""
        return self.goodness(bootstrap=self.bootstrap, rng=self.rng)

    @property
    def ks_p(self) -> FloatArray:
        """K-S p-value that accounts for the fitted parameters; NaN where `tests` says it was not computed."""
        return self.tests.p[:, self.tests.tests.index("ks")]

    def goodness(
        self,
        tests: tuple[str, ...] = DISTANCES,
        *,
        bootstrap: int | str = "auto",
        rng: int | np.random.Generator | None = 0,
        workers: int | None = None,
    ) -> Goodness:
        """Tests of fit whose p-values account for the fitted parameters.

        Complete groups of the core families take their p-values from tables, all others from a parametric bootstrap
        that censors as the group was censored. Lives in intervals have none of these tests.

        Parameters
        ----------
        tests : tuple of str
            Of ``ks``, ``cvm``, ``ad``, ``chi2``. The p-value of ``chi2`` always needs a bootstrap.
        bootstrap : int or "auto"
            Replications, 0 for none. "auto" is 199, and 1800 more for groups with a p-value of 0.05 or less, as long as
            either means no more than ten million lives to fit (200 000 for core families on lives that are truncated or
            weighted, 20 000 for further families), else none. The smallest p-value that R replications can give is
            ``1 / (R + 1)``.
        rng : int or numpy.random.Generator, optional
            Of the bootstrap.
        workers : int, optional
            Threads; does not change the numbers.

        Examples
        --------
        >>> import relfit as rf
        >>> fits = rf.fit(rf.families.Lognormal(5.0, 1.0).sample((1, 60), rng=3), "weibull")
        >>> fits["weibull"].goodness(("ks", "ad")).p.round(3).tolist()
        [[0.206, 0.113]]
        """
        return goodness_of(self, tests, bootstrap, rng, workers)

    @cached_property
    def chi_square(self) -> ChiSquare | None:
        """Chi-square test with pooled cells and two bounding p-values, for core families on plain lives."""
        if self.sorted_lives is None or self.name not in CORE:
            return None
        return chi_square(self.name, self.parameter_array, self.ok, self.sorted_lives)

    # ---------------------------------------------------------------- showing

    def take(self, positions: list[int]) -> FamilyFit:
        """The fits of the groups at these positions."""
        chosen = np.asarray(positions, dtype=np.int64)
        own = self.estimates
        return replace(
            self,
            lives=self.lives.take(positions),
            estimates=Estimates(own.codes[chosen], own.parameters[chosen], own.covariance[chosen], own.loglik[chosen]),
            sorted_lives=None,
        )

    def columns(self) -> dict[str, Any]:
        """Everything about this family, one array a column."""
        values: dict[str, Any] = {
            "family": np.full(len(self.groups), self.name, dtype=object),
            "status": self.status,
            "lives": self.lives.n_lives,
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
        }
        tests = self.tests
        for i, test in enumerate(tests.tests):
            # the plain distance to the Kaplan-Meier estimate, which with censoring is not what the test uses
            value = self.ks if test == "ks" else tests.statistic[:, i]
            values |= {test: value, f"{test}_p": tests.p[:, i]}
        values |= {
            "p_source": tests.source[:, 0],
            "ks_p_textbook": self.ks_p_textbook,
        }
        if self.chi_square is not None:
            values |= {
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
        how = "" if self.method == "maximum likelihood" else f" by {self.method}"
        return f"FamilyFit {self.name}{how}: {len(self.groups)} groups ({counts})"


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
