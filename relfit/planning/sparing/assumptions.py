"""Which assumptions of the sparing planner a log contradicts: exponential times, independence, one kind of repair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from relfit.errors import RelfitError

if TYPE_CHECKING:
    from relfit.calibration.schema import Parameters
    from relfit.failurelog import FailureLog

__all__ = ["Assumption", "Assumptions", "check_assumptions"]

_BETTER = 10.0  # AIC by which another family must be better than the exponential
_UNEQUAL = 2.0  # ratio of mean repair times of causes that matters
_LEAST = 20  # repairs of a cause to be compared


@dataclass(frozen=True)
class Assumption:
    """One assumption and what the data say.

    Attributes
    ----------
    name : str
    holds : bool or None
        None where the data cannot say.
    finding : str
        What was found.
    consequence : str
        What it means for the plan, where the assumption fails.
    """

    name: str
    holds: bool | None
    finding: str
    consequence: str


@dataclass(frozen=True, eq=False)
class Assumptions:
    """All of them.

    Attributes
    ----------
    items : tuple of Assumption
    """

    items: tuple[Assumption, ...]

    @property
    def failing(self) -> tuple[Assumption, ...]:
        """Those that the data contradict."""
        return tuple(item for item in self.items if item.holds is False)

    @property
    def sentence(self) -> str:
        """How many fail, and which."""
        if not self.failing:
            open_ = sum(item.holds is None for item in self.items)
            return "Nothing contradicts the planner's assumptions" + (f"; {open_} cannot be checked." if open_ else ".")
        names = ", ".join(item.name for item in self.failing)
        return f"{len(self.failing)} of {len(self.items)} assumptions of the planner fail: {names}."

    def to_frame(self) -> pd.DataFrame:
        """A row an assumption: ``assumption``, ``holds`` (yes, no, unknown), ``finding``, ``consequence``."""
        words = {True: "yes", False: "no", None: "unknown"}
        rows = [(item.name, words[item.holds], item.finding, item.consequence) for item in self.items]
        return pd.DataFrame(rows, columns=["assumption", "holds", "finding", "consequence"])

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"assumptions": self.to_frame().to_dict("records"), "sentence": self.sentence}

    def __repr__(self) -> str:
        return f"Assumptions: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(self.sentence)}</p>{self.to_frame().to_html(escape=True, index=False)}"


_CONSEQUENCES = {
    "exponential times to failure": "the number of blocks down is hardly affected, the time between interruptions is: "
    "simulate with the fitted family",
    "exponential repairs": "hardly any for long-run means, which depend on the mean repair time; simulate with the "
    "fitted family for blocks with spare trays",
    "one kind of repair": "hardly any: the mean over all kinds gives CETT within 0.2 % in simulations; how long the "
    "job stays blocked at a time does differ",
    "independent nodes": "failures in bursts need more spares than the binomial says: count them as failures of racks, "
    "or plan with a lower blocking probability",
    "independent along time": "intervals of the parameters are too narrow, and spares run out in bad weeks",
    "steady rate": "calibrate on the steady part of the log: rf.calibrate does",
}


def check_assumptions(log: FailureLog | Parameters) -> Assumptions:
    """Ask a log, or parameters that were calibrated from one, whether the sparing planner's assumptions hold.

    Parameters
    ----------
    log : FailureLog or Parameters
        Of parameters, the checks that calibration wrote down, the fitted families and the kinds of repair.

    Returns
    -------
    Assumptions

    Notes
    -----
    Times are compared with the exponential by AIC among exponential, Weibull, gamma and lognormal; another family
    counts as better from 10 on. Repairs are of several kinds when two classes are better than one by BIC, or when
    causes with at least 20 repairs differ by a factor of 2 in their mean.

    Examples
    --------
    >>> import relfit as rf
    >>> found = check_assumptions(rf.datasets.load("white").between("2002-01-01", "2002-03-01"))
    >>> [item.name for item in found.items][:3]
    ['exponential times to failure', 'exponential repairs', 'one kind of repair']
    """
    if hasattr(log, "checks"):
        return _of_parameters(log)
    asked: dict[str, Callable[[Any], tuple[bool | None, str]]] = {
        "exponential times to failure": lambda one: _exponential(one, "ttf"),
        "exponential repairs": lambda one: _exponential(one, "ttr"),
        "one kind of repair": _one_kind,
    }
    items = []
    for name, ask in asked.items():
        try:
            holds, finding = ask(log)
        except RelfitError as error:
            holds, finding = None, str(error)
        items.append(Assumption(name, holds, finding, _CONSEQUENCES[name] if holds is False else ""))
    return Assumptions((*items, *_independence(log)))


def _exponential(log: FailureLog, measure: str) -> tuple[bool | None, str]:
    """Whether the times of the whole fleet, pooled, are exponential."""
    from relfit.fitting import fit
    from relfit.lifedata import LifeData

    lives = getattr(log, measure)()
    pooled = LifeData.from_array(lives.durations[lives.durations > 0.0], observed=lives.observed[lives.durations > 0.0])
    fits = fit(pooled)
    table = pd.Series({name: float(fits[name].aic[0]) for name in fits.families}).dropna()
    if "exponential" not in table.index:
        return None, "too few times"
    best = str(table.idxmin())
    gap = float(table["exponential"] - table.min())
    what = "times to failure" if measure == "ttf" else "repair times"
    if best == "exponential" or gap < _BETTER:
        return True, f"no family fits the {what} of all nodes clearly better than the exponential (AIC {gap:.0f})"
    return False, f"a {best} fits the {what} of all nodes better than an exponential (AIC {gap:,.0f} lower)"


def _one_kind(log: FailureLog) -> tuple[bool | None, str]:
    from relfit.screening import repair_kinds

    found = repair_kinds(log)
    table = found.best()
    enough = table[table["repairs"] >= _LEAST]
    if not len(enough):
        return None, "too few repairs with a known end"
    if (enough["status"] == "ok").any():
        return False, found.headline
    means = enough["mean"].astype(float).dropna()
    if len(means) > 1 and means.max() > _UNEQUAL * means.min():
        names = enough.loc[means.index].iloc[:, 0].astype(str).tolist()
        long, short = names[int(means.argmax())], names[int(means.argmin())]
        return False, (
            f"mean repair times differ by cause: {means.max():.3g} h for {long}, {means.min():.3g} h for {short}"
        )
    return True, found.headline


def _independence(log: FailureLog) -> list[Assumption]:
    from relfit.independence import dependence

    found = dependence(log)
    groups = {
        "independent nodes": ("correlation", "cofailure", "place"),
        "independent along time": ("serial",),
        "steady rate": ("pooled", "dispersion", "cycles"),
    }
    items = []
    for name, parts in groups.items():
        known = {part: getattr(found, part) for part in parts if getattr(found, part) is not None}
        verdicts = {part: value.depends for part, value in known.items()}
        bad = [part for part, verdict in verdicts.items() if verdict]
        if bad:
            items.append(Assumption(name, False, known[bad[0]].headline, _CONSEQUENCES[name]))
        elif any(verdict is False for verdict in verdicts.values()):
            calm = next(part for part, verdict in verdicts.items() if verdict is False)
            items.append(Assumption(name, True, known[calm].headline, ""))
        else:
            why = "; ".join(found.problems.get(part, "") for part in parts if part in found.problems)
            items.append(Assumption(name, None, why or "the log cannot say", ""))
    return items


def _of_parameters(parameters: Any) -> Assumptions:
    """What calibration wrote down about the log."""
    items = []
    for name, family, what in (
        ("exponential times to failure", parameters.failure, "times to failure"),
        ("exponential repairs", parameters.repair, "repair times"),
    ):
        if family is None:
            items.append(Assumption(name, None, f"no family of {what} is given", ""))
        else:
            same = family.family == "exponential"
            items.append(
                Assumption(name, same, f"{what} were fitted by a {family.family}", "" if same else _CONSEQUENCES[name])
            )
    quick, slow = parameters.mttr.quick, parameters.mttr.slow
    name = "one kind of repair"
    if quick is None or slow is None or quick.value is None or slow.value is None:
        items.append(Assumption(name, None, "quick and slow repairs are not told apart", ""))
    else:
        text = f"quick repairs take {quick.value:.3g} h, slow ones {slow.value:.3g} h"
        apart = slow.value > _UNEQUAL * quick.value
        items.append(Assumption(name, not apart, text, _CONSEQUENCES[name] if apart else ""))
    which = {
        "independent nodes": ("dependence.correlation", "dependence.cofailure", "dependence.place"),
        "independent along time": ("dependence.serial",),
        "steady rate": ("dependence.pooled", "dependence.dispersion", "dependence.cycles", "trend", "dispersion"),
    }
    for name, keys in which.items():
        known = [check for check in parameters.checks if check.name in keys]
        bad = [check for check in known if check.concern]
        if not known:
            items.append(Assumption(name, None, "not checked", ""))
        elif bad:
            items.append(Assumption(name, False, bad[0].finding, _CONSEQUENCES[name]))
        else:
            items.append(Assumption(name, True, known[0].finding, ""))
    return Assumptions(tuple(items))
