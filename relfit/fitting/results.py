"""`Fits`: several families fitted to the same groups, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relfit.errors import ArgumentError
from relfit.fitting.comparison import comparison, describe
from relfit.fitting.family_fit import FamilyFit, records
from relfit.lifedata import LifeData, key_columns

__all__ = ["FamilyFit", "Fits", "records"]


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
        ends = ("", "_se", "_low", "_high")
        own = {f"{p}{end}" for result in self.results.values() for p in result.parameters for end in ends}
        parameters = [c for c in named if c in own]
        return table.iloc[order][[*first, *parameters, *(c for c in named if c not in parameters)]].reset_index(
            drop=True
        )

    def summary(self) -> pd.DataFrame:
        """The main figures, one row a group and family; `to_frame` has the rest.

        The mean has its interval beside it. ``ks_p`` accounts for the fitted parameters, and ``p_source`` says where it
        comes from; ``ks_p_textbook`` takes the parameters as known and is too large.
        """
        frame = self.to_frame()
        keys = list(frame.columns[: frame.columns.get_loc("status")])
        own = {name for result in self.results.values() for name in result.parameters}
        parameters = [c for c in frame.columns if c in own]
        columns = ["status", "failures", "censored", "zeros", *parameters, "mean", "mean_low", "mean_high"]
        return frame.set_index(keys)[[*columns, "loglik", "aicc", "ks", "ks_p", "p_source", "ks_p_textbook"]]

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
            f"{int(self.lives.n_lives.sum())} lives; best by AICc: {counts}"
        )

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self))}</p>{self.summary().to_html(max_rows=12, float_format='{:.4g}'.format)}"
