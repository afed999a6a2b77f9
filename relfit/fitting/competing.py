"""Competing causes: from fits cause by cause to the distribution of all failures of each group."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arguments import random_stream
from relfit.base.arrays import BoolArray, FloatArray, IntArray, Seed
from relfit.base.errors import ArgumentError
from relfit.base.numeric.levels import level_checked
from relfit.base.results import Interval, Result
from relfit.base.text import count
from relfit.base.units import hours
from relfit.fitting.estimates import FamilyEstimates, GroupCurves, drawn_parameters
from relfit.fitting.families import CompetingRisks
from relfit.fitting.nonparametric.samples import group_and_cause

_NEVER = 690.0  # log hours of a cause that never struck: longer than any life
_STEPS = 200  # of age
_AT_ONCE = 20_000  # distributions times draws at a time


class CompetingFit(GroupCurves, Result):
    """Causes of failure that compete in every group.

    Attributes
    ----------
    groups : pandas.Index
        The groups, without the cause.
    causes : tuple of str
    fits : tuple of FamilyEstimates
        Of the distribution of each cause.
    rows : ndarray of int, shape (groups, causes)
        Number of the group and cause in the fit; -1 where it has none.
    distribution : CompetingRisks
        The time to a failure of any cause, a batch over the groups.
    failures : ndarray of int, shape (groups, causes)
    status : ndarray of object, shape (groups, causes)
        Status of the fit of each cause. A cause that never struck (``all_censored``) does not compete; with any other
        status than ``ok`` the group's numbers are NaN.
    """

    _not_in_json = ("fits", "rows")

    groups: pd.Index
    causes: tuple[str, ...]
    fits: tuple[FamilyEstimates, ...]
    rows: IntArray
    distribution: CompetingRisks
    failures: npt.NDArray[np.int64]
    status: npt.NDArray[np.object_]

    @property
    def family(self) -> str:
        """The distribution of every cause, or of each by its name."""
        names = [fit.name for fit in self.fits]
        each = (f"{cause} {name}" for cause, name in zip(self.causes, names, strict=True))
        return names[0] if len(set(names)) == 1 else ", ".join(each)

    def incidence(self, time: float | str) -> pd.DataFrame:
        """Probability of failing from each cause within `time` of the last failure, with all causes present.

        Parameters
        ----------
        time : float or duration
            Hours, or text such as "24h"; infinite for each cause's share of all failures, which the distributions
            extrapolate beyond the oldest life.

        Returns
        -------
        pandas.DataFrame
            One row per group, one column per cause, and ``any``.

        Raises
        ------
        ArgumentError
            For a time that is not above zero.
        """
        at = _ahead(time)
        return pd.DataFrame(_incidences(self.distribution, at), index=self.groups, columns=[*self.causes, "any"])

    def interval(self, time: float | str, *, level: float = 0.95, n_draws: int = 1000, rng: Seed = 0) -> Interval:
        """`incidence` with credible intervals, for every group and cause, and for ``any``.

        The parameters of each cause are drawn from their posterior distribution (see `FamilyFit.failures_ahead`).

        Parameters
        ----------
        time : float or duration
            Hours, or text such as "24h"; finite.
        level : float
        n_draws : int
            100 or more.
        rng : int or numpy.random.Generator

        Returns
        -------
        Interval
            Arrays of shape (groups, causes + 1). The status of a cause that never struck is ``all_censored``: it does
            not compete. A cause without an ``ok`` fit, or with ``few_replicates`` (the likelihood is too unlike a
            normal one for these draws), leaves its group without intervals.

        Raises
        ------
        ArgumentError
            For a time that is infinite or not above zero, a level outside 0..1, or fewer than 100 draws.

        Examples
        --------
        >>> import relfit as rf
        >>> lives = rf.datasets.load("white").ttf(per="system", competing="cause")
        >>> within = rf.fit(lives, "weibull").competing().interval("24h", n_draws=200).to_frame()
        >>> within.loc[("white", "hardware"), ["estimate", "low", "high"]].astype(float).round(2).tolist()
        [0.74, 0.73, 0.74]
        """
        at, tail = _ahead(time), 0.5 - 0.5 * level_checked(level)
        if np.isinf(at):
            raise ArgumentError(
                "an infinite time has no interval", remedy="give a time within which durations were observed"
            )
        if n_draws < 100:
            raise ArgumentError(f"n_draws is {n_draws}", remedy="draw 100 times or more")
        estimate, status = _incidences(self.distribution, at), self.status.copy()
        parameters = [fit.parameter_array[rows] for fit, rows in zip(self.fits, self.rows.T, strict=True)]
        drawn = [np.broadcast_to(own, (n_draws, *own.shape)).copy() for own in parameters]
        for i, (fit, generator) in enumerate(zip(self.fits, random_stream(rng).spawn(len(self.fits)), strict=True)):
            places = np.flatnonzero(self.status[:, i] == "ok")
            drawn[i][:, places], usable = drawn_parameters(fit, self.rows[places, i], n_draws, generator)
            status[places[~usable], i] = "few_replicates"
        low, high = np.full((2, *estimate.shape), np.nan)
        has = np.isin(status, ("ok", "all_censored")).all(axis=1) & (status == "ok").any(axis=1)
        absent = self.status == "all_censored"
        for part in np.array_split(np.flatnonzero(has), max(has.sum() * n_draws // _AT_ONCE, 1)):
            own = [values[:, part] for values in drawn]
            values = _summed_incidences(_in_series(self.causes, self.fits, own, absent[part]), at)
            low[part], high[part] = np.quantile(values, [tail, 1.0 - tail], axis=0)
        low[:, :-1][absent] = high[:, :-1][absent] = np.nan
        of_any = np.where(has, "ok", "no_limits").astype(object)[:, None]
        keys = pd.MultiIndex.from_tuples(
            [
                (*(group if isinstance(group, tuple) else (group,)), c)
                for group in self.groups
                for c in (*self.causes, "any")
            ],
            names=[*self.groups.names, "cause"],
        )
        each = np.concatenate([status, of_any], axis=1)
        return Interval(
            "cumulative incidence", "posterior draws", level, np.array(at), estimate, low, high, each, keys, self.family
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per group and cause: failures, status, parameters, and the share of the cause in all failures.

        ``share`` is extrapolated to infinite age by the fitted distributions: it is no share of the observed failures,
        and depends on the family. `incidence` has the shares within a time that was observed.
        """
        shares = self.incidence(np.inf)
        parts = {}
        for i, cause in enumerate(self.causes):
            ok = self.status[:, i] == "ok"
            own = self.distribution.causes[cause].parameters()  # type: ignore[attr-defined]
            parts[cause] = pd.DataFrame(
                {
                    "failures": self.failures[:, i],
                    "status": self.status[:, i],
                    **{name: np.where(ok, value, np.nan) for name, value in own.items()},
                    "share": shares[cause],
                },
                index=self.groups,
            ).assign(cause=cause)
        table = pd.concat(parts.values()).sort_index(kind="stable")
        return table[["cause", *table.columns.drop("cause")]]

    @property
    def headline(self) -> str:
        """Failures by cause."""
        counts = ", ".join(f"{c} {int(n)}" for c, n in zip(self.causes, self.failures.sum(axis=0), strict=True))
        return f"{self.family}, {count(len(self.groups), 'group')}, failures by cause: {counts}"


def causes_in_series(results: Mapping[str, FamilyEstimates], family: str | Mapping[str, str]) -> CompetingFit:
    """Put the causes of each group in series; `Fits.competing` documents it. An `ArgumentError` for groups that are not
    groups and causes, as ``log.ttf(competing=...)`` gives them, or a distribution that was not fitted.
    """
    some = next(iter(results.values()))
    outer, labels = group_and_cause(some.groups)
    groups = outer.unique()
    codes = groups.get_indexer(outer)
    kinds, causes = pd.factorize(labels, sort=True)
    place = np.full((len(groups), len(causes)), -1)
    if np.unique(codes * len(causes) + kinds).size != len(labels):
        raise ArgumentError("a group has a cause twice")
    place[codes, kinds] = np.arange(len(labels))
    names = tuple(map(str, causes))
    fits = tuple(results[name] for name in _chosen(results, family, names, kinds))
    status = np.stack([fit.status[rows] for fit, rows in zip(fits, place.T, strict=True)], axis=1)
    status = np.where(place >= 0, status, "all_censored")
    failures = np.where(place >= 0, some.lives.n_failures[place], 0)
    parameters = [fit.parameter_array[rows] for fit, rows in zip(fits, place.T, strict=True)]
    series = _in_series(names, fits, parameters, status == "all_censored")
    return CompetingFit(groups, names, fits, place, series, failures, status)


def _chosen(
    results: Mapping[str, FamilyEstimates], family: str | Mapping[str, str], causes: tuple[str, ...], kinds: IntArray
) -> list[str]:
    """Name of the distribution of each cause."""
    if family == "best":
        aicc = np.array([np.nan_to_num(fit.aicc, nan=np.inf, posinf=np.inf) for fit in results.values()])
        comparable = np.isfinite(aicc).all(axis=0)  # groups where every distribution has one
        sums = [np.where(comparable & (kinds == i), aicc, 0.0).sum(axis=1) for i in range(len(causes))]
        return [list(results)[int(np.argmin(each))] for each in sums]
    named = dict.fromkeys(causes, family) if isinstance(family, str) else family
    for cause in causes:
        if cause not in named:
            raise ArgumentError(
                f"no distribution is named for the cause {cause!r}", remedy=f"name one of {', '.join(results)}"
            )
        if named[cause] not in results:
            remedy = f"fitted are {', '.join(results)}; or give best"
            raise ArgumentError(f"the distribution {named[cause]!r} was not fitted", remedy=remedy)
    return [named[cause] for cause in causes]


def _in_series(
    causes: tuple[str, ...], fits: tuple[FamilyEstimates, ...], parameters: list[FloatArray], absent: BoolArray
) -> CompetingRisks:
    """The causes of every group in series; parameters by cause of shape (..., groups, k), `absent` (groups, causes)."""
    parts = {}
    for i, (cause, fit) in enumerate(zip(causes, fits, strict=True)):
        values = np.where(absent[:, i, None], fit.family.start(_NEVER, 1.2825), parameters[i])
        parts[cause] = fit.family.unchecked(*np.moveaxis(values, -1, 0))
    return CompetingRisks(parts)


def _incidences(series: CompetingRisks, at: float) -> FloatArray:
    """Probability of failing from each cause, and from any, by a time; shape (..., groups, causes + 1)."""
    values = np.stack([series.cumulative_incidence(cause, at) for cause in series.causes], axis=-1)
    every = np.asarray(series.cdf(at))[..., None]
    return np.concatenate([np.where(values < 1e-200, 0.0, values), every], axis=-1)


def _summed_incidences(series: CompetingRisks, at: float) -> FloatArray:
    """As `_incidences`, by sums over steps of age, within which the causes' shares of the hazard are constant."""
    ages = (at * np.linspace(0.0, 1.0, _STEPS + 1) ** 3).reshape((-1,) + (1,) * len(series.batch_shape))
    each = np.stack([-np.diff(cause.log_sf(ages), axis=0) for cause in series.causes.values()], axis=-1)
    alive = np.exp(series.log_sf(ages))
    ended, every = alive[:-1] - alive[1:], each.sum(axis=-1)
    share = np.divide(each, every[..., None], out=np.zeros_like(each), where=every[..., None] > 0.0)
    return np.concatenate([(share * ended[..., None]).sum(axis=0), (1.0 - alive[-1])[..., None]], axis=-1)


def _ahead(time: float | str) -> float:
    at = float(time) if isinstance(time, (int, float)) else hours(time)
    if not at > 0.0:
        raise ArgumentError(f"{time} is not a time ahead", remedy="give a time above zero")
    return at
