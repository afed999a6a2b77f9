"""Assumptions of the sparing planner, checked with a log: exponential times, independence, one kind of repair."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pandas as pd

from relfit.base.results import Result
from relfit.fleet.calibration import Parameters
from relfit.planning.plan import of_stable_period

_UNEQUAL = 2.0  # ratio of slow to quick mean repair times that matters
_HOLDS = {True: "yes", False: "no", None: "unknown"}

_CONSEQUENCES = {
    "exponential times to failure": "the number of blocks down is hardly affected, the time between interruptions is: "
    "simulate with the fitted family",
    "exponential repairs": "little for long-run means, which depend on the mean repair time; simulate with the "
    "fitted family for blocks with spare trays",
    "one kind of repair": "little: the mean over all kinds gives CETT within 0.2 % in simulations; how long the "
    "job stays blocked at a time does differ",
    "independent nodes": "failures in bursts need more spares than the binomial distribution gives: count them as "
    "failures of racks, or plan with a lower blocking probability",
    "independent along time": "intervals of the parameters are too narrow, and spares run out in bad weeks",
    "steady rate": "calibrate on a period of constant rate, as rf.calibrate does by default",
}
_BAD_WEEKS = (
    "failures come in good and bad weeks, so that spares run out more often than the plan says: plan with a lower "
    "blocking probability"
)
_CHECKS = {
    "independent nodes": ("dependence.correlation", "dependence.cofailure", "dependence.place"),
    "independent along time": ("dependence.serial",),
    "steady rate": ("dependence.dispersion", "dispersion", "dependence.pooled", "dependence.cycles", "trend"),
}
"""Names of checks, or what they begin with; the first of concern is said."""


@dataclass(frozen=True)
class Assumption:
    """One assumption, whether it holds (None: the data do not tell), and what follows for the plan where it fails."""

    name: str
    holds: bool | None
    finding: str
    consequence: str = ""


class Assumptions(Result):
    """All assumptions of the sparing planner; made by `check_assumptions`.

    Attributes
    ----------
    items : tuple of Assumption
    """

    items: tuple[Assumption, ...]

    @property
    def failing(self) -> tuple[Assumption, ...]:
        """The assumptions that the data contradict."""
        return tuple(item for item in self.items if item.holds is False)

    @property
    def headline(self) -> str:
        """How many assumptions fail, and which."""
        if not self.failing:
            open_ = sum(item.holds is None for item in self.items)
            return "Nothing contradicts the planner's assumptions" + (f"; {open_} cannot be checked." if open_ else ".")
        names = ", ".join(item.name for item in self.failing)
        fail = "fails" if len(self.failing) == 1 else "fail"
        return f"{len(self.failing)} of {len(self.items)} assumptions of the planner {fail}: {names}."

    def to_frame(self) -> pd.DataFrame:
        """One row per assumption: ``assumption``, ``holds`` (yes, no, unknown), ``finding``, ``consequence``."""
        rows = [(item.name, _HOLDS[item.holds], item.finding, item.consequence) for item in self.items]
        return pd.DataFrame(rows, columns=["assumption", "holds", "finding", "consequence"])


def check_assumptions(parameters: Parameters) -> Assumptions:
    """Check the assumptions of the sparing planner with calibrated parameters.

    Parameters
    ----------
    parameters : Parameters
        From `relfit.calibrate`, with its checks, fitted distributions and kinds of repair.

    Examples
    --------
    >>> parameters = Parameters(mtbf="2000h", mttr={"quick": "1h", "slow": "48h", "share_quick": 0.7})
    >>> check_assumptions(parameters).headline
    '1 of 6 assumptions of the planner fails: one kind of repair.'
    """
    items = [
        _exponential(parameters, "exponential times to failure", "failure", "times to failure"),
        _exponential(parameters, "exponential repairs", "repair", "repair times"),
    ]
    quick, slow = parameters.mttr.quick, parameters.mttr.slow
    if quick is None or slow is None or quick.value is None or slow.value is None:
        items.append(Assumption("one kind of repair", None, "quick and slow repairs are not distinguished"))
    else:
        text = f"quick repairs take {quick.value:.3g} h, slow ones {slow.value:.3g} h"
        items.append(Assumption("one kind of repair", slow.value <= _UNEQUAL * quick.value, text))
    for name, keys in _CHECKS.items():
        checks = [
            check
            for key in keys
            for check in parameters.checks
            if check.name == key or check.name.startswith(f"{key}.")
        ]
        bad = [check for check in checks if check.concern]
        finding = (bad or checks)[0].finding if checks else "not checked"
        items.append(Assumption(name, not bad if checks else None, finding))
    texts = _CONSEQUENCES | ({"steady rate": _BAD_WEEKS} if of_stable_period(parameters) else {})
    return Assumptions(
        tuple(replace(item, consequence=texts[item.name]) if item.holds is False else item for item in items)
    )


def _exponential(parameters: Parameters, name: str, part: str, what: str) -> Assumption:
    """Whether times are exponential: by the check of the calibration, or as the file states it."""
    fitted = getattr(parameters, part)
    check = next((check for check in parameters.checks if check.name == f"{part}s.exponential"), None)
    if check is not None:
        return Assumption(name, not check.concern, check.finding)
    if fitted is None:
        return Assumption(name, None, f"no family of {what} is known")
    exponential = fitted.family == "exponential"
    if parameters.provenance is not None and not exponential:  # the log does not contradict it
        return Assumption(name, None, f"{what}: {fitted.family} fits best, not clearly better than exponential")
    return Assumption(name, exponential, f"{what}: {fitted.family} fits best")
