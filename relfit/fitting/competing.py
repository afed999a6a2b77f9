"""Competing causes: from fits cause by cause to the distribution of all failures of each group."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.errors import ArgumentError, Remedy
from relfit.base.results import Result
from relfit.base.text import count
from relfit.base.units import hours
from relfit.fitting.estimates import FamilyEstimates
from relfit.fitting.families import CompetingRisks
from relfit.fitting.group_curves import GroupCurves

_NEVER = 690.0  # log hours of a cause that never struck: longer than any life


class CompetingFit(GroupCurves, Result):
    """Causes of failure that compete in every group.

    Attributes
    ----------
    groups : pandas.Index
        The groups, without the cause.
    causes : tuple of str
    family : str
        Of every cause.
    distribution : CompetingRisks
        The time to a failure of any cause, a batch over the groups.
    failures : ndarray of int, shape (groups, causes)
    status : ndarray of object, shape (groups, causes)
        Status of the fit of each cause. A cause that never struck (``all_censored``) does not compete; with any other
        status than ``ok`` the group's numbers are NaN.
    """

    groups: pd.Index
    causes: tuple[str, ...]
    family: str
    distribution: CompetingRisks
    failures: npt.NDArray[np.int64]
    status: npt.NDArray[np.object_]

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
        at = float(time) if isinstance(time, (int, float)) else hours(time)
        if not at > 0.0:
            raise ArgumentError(f"{time} is not a time ahead", remedy="give a time above zero")
        columns = {cause: self.distribution.cumulative_incidence(cause, at) for cause in self.causes}
        columns = {cause: np.where(value < 1e-200, 0.0, value) for cause, value in columns.items()}
        columns["any"] = self.distribution.cdf(at)
        return pd.DataFrame(columns, index=self.groups)

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


def causes_in_series(fit: FamilyEstimates) -> CompetingFit:
    """Put the causes of each group in series; `Fits.competing` documents it.

    An `ArgumentError` when the groups are not groups and causes, as ``log.ttf(competing=...)`` gives them.
    """
    index = fit.groups
    if index.nlevels < 2:
        raise ArgumentError(
            "these fits are not by group and cause",
            remedy=Remedy("fit log.ttf(competing='cause'), or name groups so", "fit with --per cause"),
        )
    outer: pd.Index = index.droplevel([index.nlevels - 1])  # type: ignore[list-item]
    groups = outer.unique()
    codes = groups.get_indexer(outer)
    kinds, causes = pd.factorize(index.get_level_values(-1).astype(str), sort=True)
    place = np.full((len(groups), len(causes)), -1)
    if np.unique(codes * len(causes) + kinds).size != len(index):
        raise ArgumentError("a group has a cause twice")
    place[codes, kinds] = np.arange(len(index))
    status = np.where(place >= 0, fit.status[place], "all_censored")
    failures = np.where(place >= 0, fit.lives.n_failures[place], 0)
    never = fit.family.start(_NEVER, 1.2825)
    parts = {}
    for i, cause in enumerate(causes):
        own = fit.parameter_array[place[:, i]]
        absent = (status[:, i] == "all_censored")[:, None]
        values = np.where(absent, never, own)
        parts[str(cause)] = fit.family.unchecked(*np.moveaxis(values, -1, 0))
    return CompetingFit(groups, tuple(map(str, causes)), fit.name, CompetingRisks(parts), failures, status)
