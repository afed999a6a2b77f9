"""The base of all plans: the failure rate they rest on, its uncertainty, and the table of alternatives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.results import Result

NOISE = "Intervals cover the uncertainty of the parameters alone, not a future that differs from the log."
_BAD_WEEKS = "More is lost in bad weeks than the plan says, and less in good ones."
_STEADY = (
    "The plan assumes a constant rate: where relfit trend LOG dates a change, relfit calibrate LOG --since DATE takes "
    "the last period alone."
)
_EACH = {"trend": _STEADY, "systems": "Plan for one of them."}
_MATTERS = {
    "spares": _EACH,
    "checkpoint": {
        **_EACH,
        "failures.exponential": "Planned with a constant rate; by family, the plan follows the ageing of nodes.",
        "dependence.dispersion": _BAD_WEEKS,
    },
    "migration": {**_EACH, "dependence.cofailure": "Failures that come together leave no time to migrate."},
    "replication": {
        **_EACH,
        "dependence.cofailure": "Both copies of a process fail together more often than the plan says.",
    },
}


class Plan(Result, kw_only=True):
    """Base of plans.

    A plan is a dataclass with its own fields, a `headline`, optional `remarks`, and a `_frame`.

    Attributes
    ----------
    mtbf : float
        Mean hours between failures; of a job, a node or a tray, as each plan says.
    source : str
        Where the failure rate comes from.
    level : float
        Level of all intervals.
    n_draws : int
        Number of draws of the parameters behind the intervals; 0 if their uncertainty is unknown.
    assumptions : tuple of str
        Assumptions of the plan.
    premise : str
        The job, its failures and its spares, as the opening of the headline.
    extrapolated : str
        A sentence if it is for more nodes than the fleet of its parameters has; else empty.
    """

    mtbf: float
    source: str
    level: float = 0.95
    n_draws: int = 0
    assumptions: tuple[str, ...] = ()
    premise: str = ""
    extrapolated: str = ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Findings after the headline."""
        return ()

    @property
    def advice(self) -> tuple[str, ...]:
        """The remarks that affect what to do; the others say what the plan rests on."""
        return self.remarks

    @property
    def findings(self) -> tuple[str, ...]:
        """All sentences, the headline first."""
        return (self.headline, *filter(None, [self.extrapolated]), *self.remarks)

    @property
    def shown(self) -> pd.DataFrame:
        """The table for a screen."""
        return self.to_frame()


def beyond_fleet(source: object, nodes: int | None) -> str:
    """A sentence if `nodes` are more than the fleet has of which `source`, if parameters, tells; else empty."""
    fleet = getattr(getattr(source, "fleet", None), "nodes", None)
    if nodes is None or fleet is None or nodes <= fleet:
        return ""
    return (
        f"{nodes:,} nodes are more than the {fleet:,} of the parameters' fleet: the plan extrapolates, most of all "
        "failures of several nodes at once."
    )


def of_stable_period(source: object) -> bool:
    """Whether parameters come from the stable period of a log: no change of its rate can be dated within it."""
    period = getattr(source, "period", None)
    return period is not None and period.name not in ("all", "given")


def contradictions(source: object, kind: str) -> tuple[str, ...]:
    """Findings of a log that contradict a plan of this kind, each with its consequence, which is said once."""
    matters, texts, said = _MATTERS[kind], [], set()
    for check in getattr(source, "checks", ()):
        if not check.concern or check.name not in matters:
            continue
        follows = matters[check.name]
        if follows == _STEADY and of_stable_period(source):
            follows = _BAD_WEEKS
        texts.append(check.finding if follows in said else f"{check.finding} {follows}")
        said.add(follows)
    return tuple(texts)


def limits(drawn: npt.ArrayLike | None, level: float, *, integer: bool = False) -> tuple[float, float]:
    """Central interval of a quantity over draws of the parameters; NaN without draws; `integer`: limits are draws."""
    if drawn is None or np.size(drawn) == 0:
        return float("nan"), float("nan")
    ends = (0.5 - 0.5 * level, 0.5 + 0.5 * level)
    low, high = np.quantile(np.asarray(drawn), ends, method="inverted_cdf" if integer else "linear")
    return float(low), float(high)
