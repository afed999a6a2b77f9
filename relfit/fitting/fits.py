"""`Fits`: several distributions fitted to the same groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.arrays import BoolArray, FloatArray, Seed
from relfit.base.errors import ArgumentError
from relfit.base.numeric.false_discovery import adjusted_p
from relfit.base.results import Result, json_ready, key_columns
from relfit.base.text import count
from relfit.fitting.competing import CompetingFit, causes_in_series
from relfit.fitting.estimates import FamilyEstimates
from relfit.fitting.families import family_named
from relfit.fitting.family_fit import FamilyFit
from relfit.fitting.intervals import QUANTITIES, no_quantity
from relfit.fitting.pooling import PooledFit, pool
from relfit.log.lifedata import LifeData

_FEWEST = 5  # failures for a Wald interval in a summary
_AS_GOOD_AICC = 2.0  # difference of AICc (Burnham and Anderson 2002)


class Fits(Result):
    """Several distributions fitted to the same groups.

    Attributes
    ----------
    lives : LifeData
        The durations.
    results : dict of str to FamilyFit
        The fits by name of the distribution; ``fits["weibull"]`` is one of them.
    level : float
        Level of the intervals.

    Examples
    --------
    >>> import relfit as rf
    >>> fits = rf.fit(rf.families.Weibull(0.8, 1000.0).sample((3, 40), rng=1), families=["weibull", "gamma"])
    >>> fits
    Fits: 2 distributions (weibull, gamma) of 3 groups, 120 durations; best by AICc: weibull 3, gamma 0
    """

    lives: LifeData
    results: dict[str, FamilyFit]
    level: float

    @property
    def families(self) -> tuple[str, ...]:
        """Names of the distributions."""
        return tuple(self.results)

    @property
    def _names(self) -> pd.Index:
        return pd.Index(self.families, name="family")

    @property
    def groups(self) -> pd.Index:
        """Labels of the groups."""
        return self.lives.groups

    def __getitem__(self, family: str) -> FamilyFit:
        """The fits of one distribution."""
        try:
            return self.results[family]
        except KeyError:
            raise ArgumentError(
                f"family {family!r} was not fitted", remedy=f"these were: {', '.join(self.families)}"
            ) from None

    def __len__(self) -> int:
        return len(self.groups)

    def take(self, positions: Sequence[int]) -> Fits:
        """The fits of the groups at these positions; p-values are then drawn for those alone."""
        results = {name: fit.take(positions) for name, fit in self.results.items()}
        return Fits(self.lives.take(positions), results, self.level)

    @property
    def headline(self) -> str:
        """Distributions, groups, durations, and how often each distribution is the best."""
        best = self.best().value_counts()
        counts = ", ".join(f"{name} {int(best.get(name, 0))}" for name in self.families)
        few = int((~comparable(self.results)).sum())
        return (
            f"{count(len(self.families), 'distribution')} ({', '.join(self.families)}) of {count(len(self), 'group')}, "
            f"{count(int(self.lives.n_lives.sum()), 'duration')}; best by AICc: {counts}"
            + (f", {few} with too few failures or fits to compare" if few else "")
            + ("; durations in intervals have no test of fit" if self.lives.upper is not None else "")
        )

    def to_frame(self) -> pd.DataFrame:
        """All results, one row per group and distribution, with the group's keys as columns.

        ``mean_interval`` is the kind of ``mean_low`` and ``mean_high``: ``Wald``, or ``exact`` for the exponential.
        """
        parts = [result.columns() for result in self.results.values()]
        keys = key_columns(self.groups).iloc[np.repeat(np.arange(len(self)), len(parts))].reset_index(drop=True)
        first = ("family", "status", "lives", "failures", "censored", "zeros")
        ends = ("", "_se", "_low", "_high")
        own = {f"{p}{end}" for result in self.results.values() for p in result.parameters for end in ends}
        names = sorted(
            dict.fromkeys(c for part in parts for c in part), key=lambda c: 2 - (c in own) - 2 * (c in first)
        )
        none = np.full(len(self), np.nan)
        return pd.DataFrame(
            {**keys, **{c: np.stack([part.get(c, none) for part in parts], axis=1).ravel() for c in names}}
        )

    def summary(self) -> pd.DataFrame:
        """The main figures, one row per group and distribution; `to_frame` has the rest.

        ``ks_p`` is the p-value of ``ks`` and accounts for the fitted parameters, ``p_source`` names its source.
        ``ks_p_textbook`` treats them as known: too large for complete lives, NaN for lives that entered late. The mean
        has a Wald interval, NaN with fewer than five failures; `interval` has better ones. That of the exponential is
        exact.
        """
        frame = self.to_frame()
        few = (frame["failures"] < _FEWEST) & (frame["family"] != "exponential")
        frame.loc[few, ["mean_low", "mean_high"]] = np.nan
        keys = list(frame.columns[: frame.columns.get_loc("status")])
        own = {name for result in self.results.values() for name in result.parameters}
        parameters = [c for c in frame.columns if c in own]
        columns = ["status", "failures", "censored", "zeros", *parameters, "mean", "mean_low", "mean_high"]
        return frame.set_index(keys)[[*columns, "loglik", "aicc", "ks", "ks_p", "p_source", "ks_p_textbook"]]

    def compare(self, alpha: float = 0.05) -> pd.DataFrame:
        """Number of groups that each distribution fits best, or as well as the best.

        Parameters
        ----------
        alpha : float
            A distribution is as good as the best in a group if its textbook K-S p-value is above `alpha`.

        Returns
        -------
        pandas.DataFrame
            Indexed by family: ``fitted`` groups; ``compared`` groups, the same for all distributions: those where at
            least two were fitted to two failures more than they have parameters; these are compared, and of the groups
            ``best_by_p`` (highest textbook K-S p-value), ``as_good_by_p`` and its share in percent of those that have
            this p-value (groups with lives that entered late have none); ``best_by_aicc``, ``as_good_by_aicc`` (within
            2 of the lowest) and its share; ``alone``: groups with no other fit.
        """
        distance = np.stack([result.largest_distance for result in self.results.values()])
        p = np.stack([result.ks_p_textbook for result in self.results.values()])
        if not 0.0 <= alpha < 1.0:
            raise ArgumentError(f"alpha {alpha} is not between 0 and 1")
        aicc = _criteria(self.results, "aicc").T
        compared = _compared(self.results)
        has_p, has_aicc = np.isfinite(p) & compared, np.isfinite(aicc)
        # the highest p-value is that of the smallest distance, which neither vanishes nor ties as p-values do
        nearest = np.min(np.where(has_p, distance, np.inf), axis=0, initial=np.inf)
        lowest = np.min(np.where(has_aicc, aicc, np.inf), axis=0, initial=np.inf)
        best_p = has_p & (distance == nearest)
        with np.errstate(invalid="ignore"):
            good_p = has_p & (best_p | (p > alpha))
            good_aicc = has_aicc & (aicc - lowest <= _AS_GOOD_AICC)
        groups, tested = int(compared.any(axis=0).sum()), int(has_p.any(axis=0).sum())
        fitted = np.stack([result.ok for result in self.results.values()])
        counts = {
            "fitted": fitted.sum(axis=1),
            "compared": np.full(len(self.results), groups),
            "best_by_p": best_p.sum(axis=1),
            "as_good_by_p": good_p.sum(axis=1),
            "as_good_by_p_percent": 100.0 * good_p.sum(axis=1) / (tested or np.nan),
            "best_by_aicc": (has_aicc & (aicc == lowest)).sum(axis=1),
            "as_good_by_aicc": good_aicc.sum(axis=1),
            "as_good_by_aicc_percent": 100.0 * good_aicc.sum(axis=1) / max(groups, 1),
            "alone": (fitted & (fitted.sum(axis=0) == 1)).sum(axis=1),
        }
        return pd.DataFrame(counts, index=self._names)

    def describe(self, family: str = "weibull") -> pd.DataFrame:
        """Variation of the parameters and the mean over the groups.

        Parameters
        ----------
        family : str
            One of the fitted distributions.
        """
        frame = pd.DataFrame({**self[family].parameters, "mean_hours": self[family].mean})[self[family].ok]
        table = frame.agg(["min", "max", "mean", "median", "std", "count"]).astype(float)
        return table.set_axis(["minimum", "maximum", "mean", "median", "standard_deviation", "groups"])

    def best(self, by: str = "aicc") -> pd.Series:
        """Name of the best distribution of each group; missing with too few failures to compare (`compare`).

        Parameters
        ----------
        by : {"aicc", "aic", "bic", "ks_p_textbook", "loglik"}
            Lowest criterion, or highest p-value or likelihood.

        Raises
        ------
        ArgumentError
            For another `by`.
        """
        if by not in ("aicc", "aic", "bic", "ks_p_textbook", "loglik"):
            raise ArgumentError(f"cannot choose by {by!r}", remedy="use aicc, aic, bic, ks_p_textbook or loglik")
        sign = 1.0 if by in ("ks_p_textbook", "loglik") else -1.0
        values = np.stack([sign * getattr(result, by) for result in self.results.values()])
        values = np.where(np.isfinite(values) & _compared(self.results), values, -np.inf)
        names = np.array(self.families, dtype=object)[values.argmax(axis=0)]
        names[~np.isfinite(values).any(axis=0)] = None
        return pd.Series(names, index=self.groups, name=f"best_by_{by}", dtype=object)

    def weights(self, by: str = "aicc") -> pd.DataFrame:
        """Weight of each distribution in each group: its share of ``exp(-criterion / 2)`` (Burnham and Anderson 2002).

        Parameters
        ----------
        by : {"aicc", "bic", "aic"}

        Returns
        -------
        pandas.DataFrame
            One row per group, one column per distribution; rows add to one, and are NaN where nothing is compared.
        """
        values = _criteria(self.results, by)
        usable = np.isfinite(values)
        lowest = np.min(np.where(usable, values, np.inf), axis=1, initial=np.inf, keepdims=True)
        with np.errstate(invalid="ignore"):
            raw = np.where(usable, np.exp(-0.5 * (values - lowest)), 0.0)
        total = raw.sum(axis=1, keepdims=True)
        share = np.divide(raw, total, out=np.full(raw.shape, np.nan), where=total > 0)
        return pd.DataFrame(share, index=self.groups, columns=self._names)

    def ranking(self, by: str = "aicc") -> pd.DataFrame:
        """Distributions of each group from best to worst, by the criterion `by` as for `weights`.

        Returns
        -------
        pandas.DataFrame
            The group's keys, ``rank`` (missing where the distribution has no criterion), ``family``, the criterion, its
            ``difference`` from the best, the ``weight`` and the ``status`` of the fit.

        Examples
        --------
        >>> import relfit as rf
        >>> fits = rf.fit(rf.families.Weibull(2.0, 1000.0).sample((1, 400), rng=1))
        >>> fits.ranking()["family"].tolist()[0]
        'weibull'
        """
        size, families = len(self), len(self.results)
        share = self.weights(by).to_numpy()
        values = _criteria(self.results, by)
        order = np.argsort(np.where(np.isfinite(values), values, np.inf), axis=1, kind="stable")
        rows = np.arange(size)[:, None]
        ranked = values[rows, order]
        ranks = np.isfinite(ranked)
        with np.errstate(invalid="ignore"):
            away = np.where(ranks, ranked - np.where(ranks, ranked, np.inf).min(axis=1, keepdims=True), np.nan)
        status = np.stack([result.status for result in self.results.values()], axis=1)[rows, order]
        table = key_columns(self.groups).iloc[np.repeat(np.arange(size), families)].reset_index(drop=True)
        rank = pd.Series(np.tile(np.arange(1, families + 1), size))
        return table.assign(
            rank=rank.where(ranks.ravel()).astype("Int64"),
            family=np.array(self.families, dtype=object)[order].ravel(),
            **{by: ranked.ravel()},
            difference=away.ravel(),
            weight=share[rows, order].ravel(),
            status=status.ravel(),
        )

    def rejected(self, test: str = "ad", alpha: float = 0.05) -> pd.DataFrame:
        """Number of groups in which a calibrated test rejects each distribution, and after adjustment for many groups.

        Parameters
        ----------
        test : {"ad", "cvm", "ks"}
        alpha : float
            Level of each test, and false-discovery rate over the groups (Benjamini and Hochberg 1995).

        Returns
        -------
        pandas.DataFrame
            Indexed by family: groups ``tested``, ``rejected`` at `alpha`, the number ``expected`` by chance if the
            distribution is true everywhere, ``rejected_adjusted``, and groups ``not_computed``.

        Raises
        ------
        ArgumentError
            For another test, or an `alpha` outside 0..1.
        """
        if not 0.0 < alpha < 1.0:
            raise ArgumentError(f"alpha {alpha} is not between 0 and 1")
        rows = []
        for result in self.results.values():
            if test not in result.tests.tests:
                raise ArgumentError(f"no test {test!r}", remedy=f"use one of {', '.join(result.tests.tests)}")
            place = result.tests.tests.index(test)
            p, source = result.tests.p[:, place], result.tests.source[:, place]
            tested = int(np.isfinite(p).sum())
            with np.errstate(invalid="ignore"):
                alone, together = (int((values < alpha).sum()) for values in (p, adjusted_p(p)))
            rows.append((tested, alone, alpha * tested, together, int((source == "not computed").sum())))
        names = ["tested", "rejected", "expected", "rejected_adjusted", "not_computed"]
        return pd.DataFrame(rows, index=self._names, columns=names)

    def interval(
        self,
        quantity: str,
        *,
        families: str | Sequence[str] | None = None,
        at: float | str | None = None,
        age: float | str | None = None,
        kind: str = "profile",
        level: float | None = None,
        n_resamples: int = 999,
        rng: Seed = 0,
    ) -> pd.DataFrame:
        """Interval of a quantity for every group and distribution; `FamilyFit.interval` documents the arguments.

        Parameters
        ----------
        quantity : str
            ``mean``, ``median``, ``quantile``, ``reliability``, ``hazard``, or a parameter (of the distributions that
            have it).
        at, age, kind, level, n_resamples, rng : optional
            See `FamilyFit.interval`.
        families : str or sequence of str, optional
            Some of the fitted distributions; all when left out.

        Returns
        -------
        pandas.DataFrame
            The group's keys, ``family``, ``estimate``, ``low``, ``high`` and ``status``.

        Raises
        ------
        ArgumentError
            For a distribution that was not fitted, a quantity that none has, or as `FamilyFit.interval`.

        Examples
        --------
        >>> import relfit as rf
        >>> fits = rf.fit(rf.LifeData.from_array([100.0, 900.0, 4000.0, 8760.0], [True, True, True, False]))
        >>> table = fits.interval("mean", level=0.9, families="exponential")
        >>> table[["estimate", "low", "high"]].iloc[0].round(0).tolist()
        [4587.0, 2019.0, 14155.0]
        """
        chosen = self.families if families is None else [families] if isinstance(families, str) else list(families)
        if quantity not in QUANTITIES:
            having = [name for name in chosen if quantity in self[name].family.parameter_names()]
            if not having:
                names = dict.fromkeys(p for name in chosen for p in self[name].family.parameter_names())
                raise no_quantity(quantity, names)
            chosen = having
        frames = []
        for name in chosen:
            limits = self[name].interval(
                quantity, at=at, age=age, kind=kind, level=level, n_resamples=n_resamples, rng=rng
            )
            frame = pd.concat([key_columns(self.groups), limits.to_frame().reset_index(drop=True)], axis=1)
            frame.insert(self.groups.nlevels, "family", name)
            frames.append(frame)
        table = pd.concat(frames)
        order = np.tile(np.arange(len(self.groups)), len(chosen)).argsort(kind="stable")
        return table.iloc[order].reset_index(drop=True)

    def competing(self, family: str | Mapping[str, str] = "weibull") -> CompetingFit:
        """Competing causes of failure, for fits of ``log.ttf(competing=...)`` or of a table with ``cause=``.

        Parameters
        ----------
        family : str or mapping of str to str
            One of the fitted distributions for every cause; the distribution of each cause; or ``best``: of each cause
            the one with the lowest sum of AICc, over groups where every distribution has one.

        Returns
        -------
        CompetingFit
            The distribution of the time to a failure of any cause, cumulative incidence by cause, and the share of each
            cause. Causes are assumed independent, which such data cannot test.

        Examples
        --------
        >>> import relfit as rf
        >>> lives = rf.datasets.load("white").ttf(per="system", competing="cause")
        >>> within = rf.fit(lives, "weibull").competing().incidence("24h")
        >>> {name: round(float(value), 3) for name, value in within.iloc[0, :3].items()}
        {'facilities': 0.033, 'hardware': 0.735, 'human error': 0.039}
        """
        return causes_in_series(self.results, family)

    def pool(self, family: str = "weibull", level: float | None = None) -> PooledFit:
        """Estimates of every group, shrunk towards the fleet (empirical Bayes).

        Parameters
        ----------
        family : str
            Any distribution, fitted already or not.
        level : float, optional
            Level of the intervals; that of the fits by default.

        Returns
        -------
        PooledFit
            Estimates for every group with durations, with or without failures, and the shrinkage of each.
        """
        return pool(family_named(family), self.lives, self.level if level is None else level)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        about = {"level": self.level, "families": self.families, "lives": self.lives.to_dict()}
        return json_ready({**about, "compare": self.compare(), "fits": self.to_frame()})

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.summary().to_html(max_rows=12, float_format='{:.4g}'.format)}"


def comparable(results: Mapping[str, FamilyEstimates]) -> BoolArray:
    """Groups that can distinguish distributions, shape (groups,)."""
    return np.asarray(_compared(results).any(axis=0))


def _compared(results: Mapping[str, FamilyEstimates]) -> BoolArray:
    """Which distributions are compared, (families, groups): two failures more than parameters, if at least two are."""
    usable = np.stack([np.isfinite(result.aicc) for result in results.values()])
    return np.asarray(usable & (usable.sum(axis=0) >= min(2, len(usable))))


def _criteria(results: Mapping[str, FamilyEstimates], by: str) -> FloatArray:
    """Values of a criterion that is better the lower it is, shape (groups, families); NaN where nothing is compared."""
    if by not in ("aicc", "aic", "bic"):
        raise ArgumentError(f"no criterion {by!r}", remedy="use aicc, aic or bic")
    values = np.stack([np.asarray(getattr(result, by)) for result in results.values()], axis=1)
    return np.where(_compared(results).T, values, np.nan)
