"""Tests of planners' assumptions with a log: equal nodes, a constant rate, independent failures, no trend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from relfit.analyses.independence import dependence
from relfit.analyses.recurrence import histories_of_incidents, trend_tests
from relfit.analyses.screening import Incidents, incidents, outlier_nodes
from relfit.analyses.screening.frailty import renewal_models
from relfit.base.arrays import Seed
from relfit.base.errors import RelfitError
from relfit.fleet import FleetModel
from relfit.fleet.calibration.parameter_values import Duration, Ratio, Share
from relfit.fleet.calibration.schema import BadNodes, Check, Estimated
from relfit.log.failurelog import FailureLog
from relfit.log.lifedata import LifeData

_NO_DATES = "the log gives times to failure without dates"
_NO_CLASS = {
    "equal": "nodes of one rate explain the failures",
    "spread": "rates that vary continuously explain the failures better than two classes of nodes",
    "either": "rates that vary continuously explain the failures as well as two classes of nodes",
}


def systems_check(part: FailureLog) -> list[Check]:
    """A warning if several systems are taken as one."""
    if len(part.systems) < 2:
        return []
    text = f"{len(part.systems)} systems are taken as one: if they differ, the parameters describe none."
    return [Check(name="systems", concern=True, finding=text)]


def shape_check(times: LifeData, model: FleetModel | None, level: float) -> list[Check]:
    """Whether nodes fail at a constant rate; separates differences between nodes from ageing."""
    if model is not None and model.level == level:
        fits = model.renewals["node"]
    else:
        code, _ = pd.factorize(times.groups.get_level_values(0)) if times.groups.nlevels > 1 else (None, None)
        fits = renewal_models(times, code, level=level)
    if not (fits.status == "ok").any():
        return []
    return [Check(name="failures.exponential", concern=bool((fits.ageing != 0).any()), finding=fits.headline)]


def bad_nodes(part: FailureLog, joined: Incidents | None, level: float, rng: Seed) -> Estimated:
    """A class of nodes that fail more often, or why there is none."""
    why = part.question
    if len(part.systems) != 1:
        why = "the log has several systems; select one" if part.systems else "the log has no system"
    elif why is None:
        row = outlier_nodes(part, of=joined, level=level, rng=rng).classes.iloc[0]
        if row["status"] == "too_few":
            why = "fewer than three nodes or ten failures"
        elif not np.isfinite(row["ratio"]):
            why = _NO_CLASS.get(row["description"], "the class with the higher rate is not a small one of bad nodes")
    if why is not None:
        return Estimated(absent={f"bad_nodes.{name}": why for name in ("fraction", "factor", "good_mtbf")})

    def about(name: str, events: str) -> dict[str, Any]:
        low, value, high = (float(row[f"{name}{end}"]) for end in ("_low", "", "_high"))
        if name == "rate":
            low, value, high = (1.0 / rate if rate > 0.0 else np.inf for rate in (high, value, low))
        limits = {key: end for key, end in (("low", low), ("value", value), ("high", high)) if np.isfinite(end)}
        method = "Weibull renewals of two classes of nodes"
        return {**limits, "level": level, "method": method, "events": int(row[events])}

    p = float(row["p"])
    nodes = BadNodes(
        fraction=Share(**about("fraction", "nodes")),
        factor=Ratio(**about("ratio", "events")),
        good_mtbf=Duration(**about("rate", "events")),
        p=p if np.isfinite(p) else None,
    )
    return Estimated({"bad_nodes": nodes})


def dependence_checks(part: FailureLog, dated: bool, joined: Incidents | None, rng: Seed) -> Estimated:
    """Whether failures depend on each other."""
    if not dated:
        return Estimated(absent={"checks.dependence": _NO_DATES})
    estimate = Estimated()
    try:
        answers = dependence(part, incidents=joined, rng=rng).to_frame()
    except RelfitError as error:
        return Estimated(absent={"checks.dependence": str(error)})
    for row in answers.itertuples():
        name, finding = f"dependence.{row.part}", str(row.finding)
        if row.depends is None:
            estimate.absent[f"checks.{name}"] = finding
        else:
            estimate.checks.append(Check(name=name, concern=bool(row.depends), finding=finding))
    return estimate


def said_once(checks: list[Check]) -> list[Check]:
    """The checks, without that of counts at all time scales where the counts of some scope already scatter: tested
    among all questions about dependence, it may find nothing in the same counts.
    """
    scatter = any(check.concern and check.name.startswith("dispersion.") for check in checks)
    return [check for check in checks if check.concern or check.name != "dependence.dispersion" or not scatter]


def trend_check(part: FailureLog, dated: bool, joined: Incidents | None) -> Estimated:
    """Whether the rate of incidents changes."""
    if not dated:
        return Estimated(absent={"checks.trend": _NO_DATES})
    try:
        histories = histories_of_incidents(part, incidents(part) if joined is None else joined)
        tests = trend_tests(histories, "all", tests=("lewis_robinson", "mann"))
    except RelfitError as error:
        return Estimated(absent={"checks.trend": str(error)})
    if not np.isfinite(tests.p).any():
        return Estimated(absent={"checks.trend": tests.headline})
    return Estimated(checks=[Check(name="trend", concern=not tests.steady, finding=tests.headline)])
