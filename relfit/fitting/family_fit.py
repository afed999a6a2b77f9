"""`FamilyFit`: one distribution fitted to every group of a batch, with its intervals, tests and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import FloatArray, Seed
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.numeric.levels import level_checked
from relfit.base.results import Interval, Result, json_ready
from relfit.base.text import count
from relfit.base.units import hours
from relfit.fitting.estimates import MAXIMUM_LIKELIHOOD, FamilyEstimates
from relfit.fitting.field_forecast import FailuresAhead, failures_ahead
from relfit.fitting.goodness import DISTANCES, STATISTICS, kolmogorov_p
from relfit.fitting.goodness_of_fit import Goodness, distances_of, goodness_of
from relfit.fitting.intervals import (
    KINDS,
    exact_limits,
    likelihood_limits,
    percentile_limits,
    quantity_named,
    wald_limits,
)
from relfit.fitting.likelihood import LogLikelihood
from relfit.fitting.profiles import border
from relfit.log.lifedata import LifeData

_FEW = 20  # failures below which Wald intervals are too short
UNSEEN = 0.05
"""Share of lives below all ages seen from which a mean rests on the form of the distribution."""
_MOST_LIVES = 100_000  # in a group, for a profile that is not asked for


class FamilyFit(FamilyEstimates, Result):
    """One distribution fitted to every group; arrays have one entry per group.

    Parameters exist only where ``status`` is ``"ok"``; elsewhere they, and all that follows from them, are NaN
    (`relfit.fitting.status.MEANING` says what each status means). They are attributes too: ``fits["weibull"].shape``.
    ``sf``, ``hazard``, ``quantile``, ... are curves of the fitted distributions.

    Attributes
    ----------
    family : type
        Class of the distribution.
    lives : LifeData
        The durations.
    level : float
        Level of the intervals.
    method : str
        How the parameters were estimated.
    """

    def __getattr__(self, name: str) -> FloatArray:
        family = self.__dict__.get("family")  # absent while a copy is being made
        if family is None or name not in family.parameter_names():
            names = "" if family is None else f"; its parameters are {', '.join(family.parameter_names())}"
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{names}")
        return np.asarray(self.parameters[name])

    @property
    def headline(self) -> str:
        """How many groups have which status."""
        counts = zip(*np.unique(self.status.astype(str), return_counts=True), strict=True)
        how = "" if self.method == "maximum likelihood" else f" by {self.method}"
        groups = count(len(self.groups), "group")
        return f"{self.name}{how}, {groups} ({', '.join(f'{int(n)} {word}' for word, n in counts)})"

    def interval(
        self,
        quantity: str,
        *,
        at: float | str | None = None,
        age: float | str | None = None,
        kind: str = "profile",
        level: float | None = None,
        n_resamples: int = 999,
        rng: Seed = 0,
        terminated: str | None = None,
        workers: int | None = None,
    ) -> Interval:
        """Interval of a quantity in every group.

        Parameters
        ----------
        quantity : str
            A parameter of the distribution, ``mean``, ``median``, ``quantile``, ``reliability`` or ``hazard``.
        at : float or duration, optional
            The probability of a quantile; the time of a reliability or a hazard, in hours or as text such as "24h".
        age : float or duration, optional
            Of a reliability: the probability of surviving `at` hours more from this age.
        kind : {"profile", "wald", "bootstrap", "resample", "exact"}
            `relfit.fitting.intervals.KINDS` explains them. Below some twenty failures prefer ``profile`` to ``wald``.
            It is asymptotic too: nominal 95 % intervals of two-parameter distributions cover 92 to 94 % with ten
            durations, 89 to 91 % with five.
        level : float, optional
            Between 0 and 1; that of the fit when left out.
        n_resamples : int
            Replicates of ``bootstrap`` and ``resample``, 19 or more.
        rng : int or numpy.random.Generator, optional
            For these replicates.
        terminated : {"time", "failure"}, optional
            For exact intervals: whether observation ended at a fixed time or with the last failure. By default a fixed
            time, if a group has censored durations.
        workers : int, optional
            Threads; does not change the numbers.

        Returns
        -------
        Interval
            Hours, per hour, or without unit, one value per group. The status is ``ok``; ``open_low``, ``open_high`` or
            ``open`` (the data set no bound on that side; the interval ends at the limit of the quantity's range);
            ``few_replicates``, ``not_converged``, ``not_defined``; or why there is no fit. Groups without a failure
            (``all_censored``) have limits of kind ``exact``, with the estimate at rate zero.

        Raises
        ------
        ArgumentError
            For an unknown quantity or kind, a quantile or level outside 0..1, several values of `at` or `age`, or a
            kind undefined for these fits.

        Examples
        --------
        >>> import relfit as rf
        >>> ttf = rf.LifeData.from_array([100.0, 900.0, 4000.0, 8760.0], [True, True, True, False])
        >>> rf.fit(ttf, "weibull")["weibull"].interval("reliability", at="24h")
        Interval: reliability at 24 h of weibull: 0.948145 (0.590116-0.999044), 95 % interval by profile
        """
        level = level_checked(self.level if level is None else level)
        if kind not in KINDS:
            raise ArgumentError(f"no interval of kind {kind!r}", remedy=f"use one of {', '.join(KINDS)}")
        if terminated not in (None, "time", "failure"):
            raise ArgumentError(f"terminated={terminated!r} is not known", remedy="use 'time' or 'failure'")
        if terminated is not None and kind != "exact":
            what = "only exact intervals depend on how observation was terminated"
            raise ArgumentError(what, remedy=Remedy("use kind='exact'", "use --kind exact"))
        wanted = quantity_named(quantity, self.family, at, age)
        codes = self.status.copy()
        if kind == "exact":
            low, high = exact_limits(self, wanted, level, terminated)
        elif kind in ("bootstrap", "resample"):
            low, high, few = percentile_limits(self, wanted, level, n_resamples, rng, kind == "resample", workers)
            codes[few & self.ok] = "few_replicates"
        elif self.method != MAXIMUM_LIKELIHOOD:
            raise ArgumentError(
                f"{kind} intervals need maximum likelihood, these fits come from {self.method}",
                remedy=Remedy("use kind='bootstrap'", "use --kind bootstrap"),
            )
        else:
            low, high = (wald_limits if kind == "wald" else likelihood_limits)(self, wanted, level)
        least, most = wanted.ends(self.lives)
        open_low, open_high = low == least, high == most
        failed = self.ok & (np.isnan(low) | np.isnan(high)) & (codes == "ok")
        codes[self.ok & open_low & (codes == "ok")] = "open_low"
        codes[self.ok & open_high & (codes == "ok")] = "open_high"
        codes[self.ok & open_low & open_high] = "open"
        codes[failed] = "not_defined" if kind == "wald" else "not_converged"
        where = None if wanted.at is None else np.array([wanted.at])
        estimate = wanted.value(self.distribution)
        if kind == "exact":  # without a failure the likelihood is largest at rate zero
            estimate = np.where(codes == "all_censored", wanted.value(self.family.unchecked(0.0)), estimate)
        shown = quantity if age is None else f"{quantity} from age {hours(age):g}"
        return Interval(shown, kind, level, where, estimate, low, high, codes, self.groups, self.name)

    def failures_ahead(
        self,
        time: npt.ArrayLike,
        units: LifeData | None = None,
        *,
        level: float = 0.9,
        n_draws: int = 1000,
        rng: Seed = 0,
    ) -> FailuresAhead:
        """Failures among units that still run, without replacement, within a time from now.

        Parameters
        ----------
        time : duration, or sequence of them
            Hours, or text such as "365d".
        units : LifeData, optional
            The running units with their ages: right-censored durations, in groups named as those of the fit. By
            default the right-censored durations of the fit itself: give `units` where some of these no longer run.
        level : float
            Of the intervals.
        n_draws : int
            Draws of the parameters and of the failures, 100 or more.
        rng : int or numpy.random.Generator, optional

        Returns
        -------
        FailuresAhead
            The expected number with a credible interval, and a prediction interval that includes the chance of the
            failures themselves; NaN, with the status, where there is no fit. Assumes that units fail independently
            and that what made them age goes on as before.

        Raises
        ------
        ArgumentError
            For a time that is not above zero, a level outside 0..1, fewer draws, or units in other groups.

        Notes
        -----
        Escobar and Meeker (1999), with parameters from their posterior distribution under a flat prior in free
        coordinates (logs of shape and scale). Where lives entered late, it is flat in the log of the cumulative hazard
        at the median age of failure instead of the scale, about which such lives say little.

        Examples
        --------
        Forty fans, 12 of which have failed, the others between 4,000 and 12,000 hours old:

        >>> import numpy as np, relfit as rf
        >>> rng = np.random.default_rng(2)
        >>> ages, lives = rng.uniform(4000.0, 12000.0, 40), 15000.0 * rng.weibull(2.0, 40)
        >>> fans = rf.LifeData.from_array(np.minimum(ages, lives), lives <= ages)
        >>> print(rf.fit(fans, "weibull")["weibull"].failures_ahead("180d").headline)
        Of 34 running units, 5.6 are expected to fail within 180 days (90 % prediction interval 0 to 11).
        """
        return failures_ahead(self, time, units, level, n_draws, rng)

    def contour(self, label: object = None, level: float = 0.95) -> dict[str, FloatArray]:
        """Border of the joint likelihood region of the two parameters of one group.

        Parameters
        ----------
        label : optional
            The group; not needed if there is only one.
        level : float
            Between 0 and 1: the region is where the log-likelihood is within half the chi-square quantile with two
            degrees of freedom of its maximum.

        Returns
        -------
        dict of ndarray
            Each parameter along the closed border: the last point is the first. NaN where the region is unbounded.

        Raises
        ------
        ArgumentError
            For a distribution without exactly two parameters, a group that is not there or was not fitted, or a level
            outside 0..1.
        """
        if self.parameter_array.shape[1] != 2:
            raise ArgumentError(f"a contour needs two parameters, {self.name} has {self.parameter_array.shape[1]}")
        if label is None and len(self.groups) > 1:
            raise ArgumentError("there are several groups", remedy="give the label of one")
        position = 0 if label is None else self.lives.position(label)
        if not self.ok[position]:
            raise ArgumentError(
                f"group {self.groups[position]!r} has no {self.name} fit",
                remedy=f"its status is {self.status[position]}",
            )
        drop = float(-np.log1p(-level_checked(level)))  # half of chi-square's quantile, two degrees of freedom
        one = self.take([position])
        _, free, covariance = one.free
        objective = LogLikelihood(self.family, one.lives)
        top = float(objective(free[None])[0, 0])
        edge = border(objective, free[0], np.linalg.inv(covariance[0]), top, drop)
        return dict(zip(self.parameters, self.family.from_free(np.concatenate([edge, edge[:1]])).T, strict=True))

    @cached_property
    def parameter_intervals(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Lower and upper bounds by parameter name at ``level``.

        Wald intervals: on the log scale for positive parameters, on the logit scale for fractions, on the natural scale
        for others; exact (chi-square) for the rate of the exponential. `interval` gives better ones.
        """
        return {name: self._quick(name) for name in self.parameters}

    @cached_property
    def _mean_interval(self) -> tuple[FloatArray, FloatArray]:
        return self._quick("mean")

    @property
    def _exact(self) -> bool:
        return self.name == "exponential" and self.lives.upper is None and self.lives.exit is None

    def mean_limits(self) -> tuple[FloatArray, FloatArray, npt.NDArray[np.object_]]:
        """Bounds of the mean that hold for few failures too, and their kind: for the groups of a short table.

        With fewer than 20 failures, or where lives entered late (`unseen`), and up to 100,000 durations, those of the
        profile likelihood, which take longer; else `mean_low` and `mean_high`. The kind is None where there is no fit.
        """
        low, high, kind = self.mean_low.copy(), self.mean_high.copy(), self._quick_kind
        few = (self.lives.n_failures < _FEW) | (self.unseen >= UNSEEN)
        few &= self.ok & (self.lives.sizes <= _MOST_LIVES)
        if few.any() and not self._exact and self.method == MAXIMUM_LIKELIHOOD:
            limits = self.take(np.flatnonzero(few).tolist()).interval("mean")
            low[few], high[few], kind[few] = limits.low, limits.high, "profile"
        return low, high, kind

    @property
    def unseen(self) -> FloatArray:
        """Share of lives that end, under the fit, below the smallest age at which any of the group entered."""
        first = self.lives.first_entry
        return np.where(first > 0.0, self.distribution.cdf(first), 0.0)

    def _quick(self, name: str) -> tuple[FloatArray, FloatArray]:
        quantity = quantity_named(name, self.family, None)
        if self._exact:
            low, high = exact_limits(self, quantity, self.level)
            return np.where(self.ok, low, np.nan), np.where(self.ok, high, np.nan)
        return wald_limits(self, quantity, self.level)

    @property
    def _quick_kind(self) -> npt.NDArray[np.object_]:
        """The kind of `mean_low` and `mean_high`, None where there is no fit."""
        kind = np.full(len(self.groups), None, dtype=object)
        kind[self.ok] = "exact" if self._exact else "Wald"
        return kind

    @property
    def mean_low(self) -> FloatArray:
        """Lower bound of the mean: delta method on the log scale; exact for the exponential."""
        return self._mean_interval[0]

    @property
    def mean_high(self) -> FloatArray:
        """Upper bound of the mean, as `mean_low`."""
        return self._mean_interval[1]

    @cached_property
    def _distances(self) -> FloatArray:
        return distances_of(self.family, self.parameter_array, self.ok, self.lives)

    @property
    def ks(self) -> FloatArray:
        """Kolmogorov-Smirnov statistic, the one that `ks_p` and `goodness` test; NaN for durations in intervals.

        The largest distance to the Kaplan-Meier estimate, weighted with the root of the share not yet censored; of
        lives that entered late, on the scale of the cumulative hazard that each has spent. Complete lives have no
        weights.
        """
        return self._distances[:, STATISTICS.index("ks")]

    @property
    def largest_distance(self) -> FloatArray:
        """Largest distance without weights, that of `ks_p_textbook`; it equals `ks` where no life was censored."""
        return self._distances[:, STATISTICS.index("largest")]

    @cached_property
    def ks_p_textbook(self) -> FloatArray:
        """K-S p-value of `largest_distance` that treats the fitted parameters as known, for published tables.

        Far too large for complete lives, and no more than a figure for censored ones. NaN for groups in which lives
        entered late, for which its null distribution does not hold.
        """
        p = kolmogorov_p(self.largest_distance, self.lives.n_failures)
        return np.where(self.lives.n_late > 0, np.nan, p)

    @cached_property
    def tests(self) -> Goodness:
        """K-S, Cramer-von Mises and Anderson-Darling tests; see `goodness`."""
        return self.goodness(rng=self.rng)

    @property
    def ks_p(self) -> FloatArray:
        """K-S p-value that accounts for the fitted parameters; NaN where `tests` says it was not computed."""
        return self.tests.p[:, self.tests.tests.index("ks")]

    def goodness(
        self,
        tests: tuple[str, ...] | str = DISTANCES,
        *,
        n_resamples: int | str | None = None,
        rng: Seed = 0,
        workers: int | None = None,
    ) -> Goodness:
        """Tests of fit whose p-values account for the fitted parameters.

        Complete groups fitted with core distributions by maximum likelihood take their p-values from tables, all others
        from a parametric bootstrap with the censoring and the entry ages of the group. Durations in intervals have none
        of these tests, right-truncated ones no p-value.

        Parameters
        ----------
        tests : tuple of str, or str
            Of ``ks``, ``cvm``, ``ad``, ``chi2``. The p-value of ``chi2`` always needs a bootstrap.
        n_resamples : int or "auto", optional
            Replicates, 0 for none; as `relfit.fit` was told when left out. "auto" is 199, and 1800 more for groups with
            a p-value of 0.1 or less, as long as either means no more than ten million durations to fit (a million for
            core distributions on durations that are truncated, weighted or in progress at an unknown age, 20,000 for
            other distributions), else none. The smallest p-value that R replicates can give is ``1 / (R + 1)``.
        rng : int or numpy.random.Generator, optional
            For the bootstrap.
        workers : int, optional
            Threads; does not change the numbers.

        Returns
        -------
        Goodness
            Statistic, p-value and its source of each test, shape (groups, tests).

        Raises
        ------
        ArgumentError
            For another test, or fewer than 19 replicates where they are drawn.

        Examples
        --------
        >>> import relfit as rf
        >>> fits = rf.fit(rf.families.Lognormal(5.0, 1.0).sample((1, 60), rng=3), "weibull")
        >>> fits["weibull"].goodness(("ks", "ad")).p.round(3).tolist()
        [[0.206, 0.113]]
        """
        wanted = self.n_resamples if n_resamples is None else n_resamples
        return goodness_of(self, self._distances, tests, wanted, rng, workers)

    def take(self, positions: Sequence[int]) -> FamilyFit:
        """The fits of the groups at these positions."""
        chosen = np.asarray(positions, dtype=np.int64)
        return replace(self, lives=self.lives.take(chosen.tolist()), estimates=self.estimates.take(chosen))

    def columns(self) -> dict[str, Any]:
        """All results of this distribution, one array per column."""
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
        values |= {name: getattr(self, name) for name in ("mean", "mean_low", "mean_high")}
        values |= {"mean_interval": self._quick_kind}
        values |= {name: getattr(self, name) for name in ("median", "loglik", "aic", "aicc", "bic")}
        tests = self.tests
        for i, test in enumerate(tests.tests):
            values |= {test: tests.statistic[:, i], f"{test}_p": tests.p[:, i]}
        return {**values, "p_source": tests.source[:, 0], "ks_p_textbook": self.ks_p_textbook}

    def to_frame(self) -> pd.DataFrame:
        """One row per group, indexed by the group's keys; times in hours, rates per hour."""
        return pd.DataFrame(self.columns(), index=self.groups)

    def to_dict(self) -> dict[str, Any]:
        """The rows of `to_frame`, ready for JSON."""
        about = {"family": self.name, "method": self.method, "level": self.level}
        return json_ready({**about, "groups": self.to_frame()})
