"""What all plans have in common: the failure rate they rest on, how certain it is, and the table of alternatives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.results import Result

__all__ = ["NOISE", "Plan", "contradictions", "limits"]

NOISE = "Intervals cover the uncertainty of the parameters alone, not a future that differs from the log."
_STEADY = "The plan assumes a constant rate: look at the last period alone."
_MATTERS = {
    "checkpoint": {
        "failures.exponential": "Planned with a constant rate; by family, the plan follows the ageing of nodes.",
        "dependence.dispersion": "More is lost in bad weeks than the plan says, and less in good ones.",
        "trend": _STEADY,
        "systems": "Plan for one of them.",
    },
    "migration": {
        "dependence.cofailure": "Failures that come together leave no time to migrate.",
        "trend": _STEADY,
        "systems": "Plan for one of them.",
    },
    "replication": {
        "dependence.cofailure": "Both copies of a process fail together more often than the plan says.",
        "trend": _STEADY,
        "systems": "Plan for one of them.",
    },
}


class Plan(Result, kw_only=True):
    """Base of plans.

    A plan is a dataclass with fields of its own, a `headline`, where there is more to say `remarks`, and a `_frame`.

    Attributes
    ----------
    mtbf : float
        Mean hours between failures of what is planned for.
    source : str
        Where the failure rate comes from.
    level : float
        Of all intervals.
    n_draws : int
        Draws of the parameters behind the limits; 0 where nothing is known of their uncertainty.
    assumptions : tuple of str
        What the plan takes for granted, or what speaks against it.
    premise : str
        The job, its failures and its spares that the headline holds for, to be said before it.
    """

    mtbf: float
    source: str
    level: float = 0.95
    n_draws: int = 0
    assumptions: tuple[str, ...] = ()
    premise: str = ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Findings after the headline."""
        return ()

    @property
    def advice(self) -> tuple[str, ...]:
        """The remarks that change what to do; the others say what the plan rests on."""
        return self.remarks

    @property
    def findings(self) -> tuple[str, ...]:
        """All sentences, the headline first."""
        return (self.headline, *self.remarks)

    @property
    def shown(self) -> pd.DataFrame:
        """The table as a screen shows it."""
        return self.to_frame()


def contradictions(source: object, kind: str) -> tuple[str, ...]:
    """What a log says against a plan, and what follows: only what matters for a plan of this kind."""
    matters = _MATTERS[kind]
    checks = getattr(source, "checks", ())
    return tuple(f"{c.finding} {matters[c.name]}" for c in checks if c.concern and c.name in matters)


def limits(drawn: npt.ArrayLike | None, level: float, *, integer: bool = False) -> tuple[float, float]:
    """Central limits of a quantity over draws of the parameters; NaN without draws; `integer`: values that were drawn.

    Examples
    --------
    >>> limits(range(101), 0.5), limits(None, 0.5)
    ((25.0, 75.0), (nan, nan))
    """
    if drawn is None or np.size(drawn) == 0:
        return float("nan"), float("nan")
    ends = (0.5 - 0.5 * level, 0.5 + 0.5 * level)
    low, high = np.quantile(np.asarray(drawn), ends, method="inverted_cdf" if integer else "linear")
    return float(low), float(high)
