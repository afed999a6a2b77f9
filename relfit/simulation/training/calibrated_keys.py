"""`calibrated_values`: calibrated parameters by the keys of a training cluster, where its own keys leave them room."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from relfit.base.errors import ArgumentError
from relfit.fleet.calibration import FailuresByScope, Parameters
from relfit.fleet.calibration.exports import airesim_values

SCOPES = {"rack": "rack", "system": "cluster"}
_MANUAL = ("manual_repair_time", "manual_repair", "manual_crews", "manual_hours", "manual_days")
_AUTO = ("auto_repair_time", "auto_repair")
_FAILED = ("auto_repair_fail_prob", "manual_repair_fail_prob")
_CLASSES = ("systematic_failure_rate_multiplier", *_FAILED)
_SHAPES = ("weibull_shape", "lognormal_sigma")


def calibrated_values(parameters: Parameters, own: Mapping[str, Any]) -> dict[str, Any]:
    """Calibrated parameters by the keys of `TrainingParameters`, without those that keys of one's own replace.

    A fitted family has the calibrated mean beside it, which rescales it, as a mean of one's own does; a family of one's
    own has none. A mean or family of one's own for automatic repairs is that of all repairs, unless there are keys of
    one's own for manual ones too. An `ArgumentError` for a key of one's own that has no effect because of the
    calibrated ones.
    """
    failures, values = FailuresByScope.of_parameters(parameters), dict[str, Any](airesim_values(parameters))
    del values["failure_distribution"]
    alike = values["systematic_failure_fraction"] == 0.0
    if parameters.failure is not None and parameters.failure.family != "exponential" and alike:
        values["failure"], values["ages"] = parameters.failure, "steady"  # a log shows servers in service
    if alike and not own.get("systematic_failure_fraction"):
        values |= dict.fromkeys(_FAILED, 0.0)  # what a repair can fail to do is make a bad server good
    chosen = {**_set(own.get("repeated_repairs")), **own}
    names = {name for name, value in chosen.items() if value is not None}
    if "manual_repair_time" in values and names & {*_AUTO} and not names & {*_MANUAL, "prob_auto_to_manual"}:
        del values["manual_repair_time"]
        values["prob_auto_to_manual"] = 0.0
    if "auto_repair_time" in values and "manual_repair_time" not in values:
        values["auto_repair_time"] = 60.0 * failures.node.mttr  # racks and the cluster have their own
        if parameters.repair is not None:
            values["auto_repair"] = parameters.repair
    if parameters.fleet.nodes and parameters.fleet.racks:
        values["rack_size"] = max(round(parameters.fleet.nodes / parameters.fleet.racks), 1)
    for scope, name in ((scope, SCOPES[scope.name]) for scope in failures.wider if scope.name in SCOPES):
        values[f"{name}_failure_rate"] = 1.0 / (60.0 * scope.mtbf)
        mttr = scope.mttr if scope.mttr_node is None else scope.mttr_node
        if mttr is not None:
            values[f"{name}_repair_time"] = 60.0 * mttr
        if scope.name == "rack" and scope.share is not None:
            values["rack_share"] = scope.share
    _check_effects(values, chosen)
    replaced = {
        "failure": "failure_distribution" in own,
        "random_failure_rate": "failure" in own,
        "auto_repair": "auto_repair_time" in _set(own.get("repeated_repairs")),
        "auto_repair_time": "auto_repair" in own,
        "manual_repair_time": "manual_repair" in own,
    }
    return {name: value for name, value in values.items() if not replaced.get(name)}


def _set(table: Any) -> dict[str, Any]:
    """The keys of a table that are set."""
    if isinstance(table, BaseModel):
        return {name: getattr(table, name) for name in table.model_fields_set}
    return dict(table or {})


def _check_effects(values: Mapping[str, Any], chosen: Mapping[str, Any]) -> None:
    """Reject keys without an effect: of manual repairs or bad servers that the log does not show, of shapes."""
    reasons = [
        (_MANUAL, "prob_auto_to_manual", "no repair is a manual one"),
        (_CLASSES, "systematic_failure_fraction", "no server is a bad one"),
    ]
    for names, missing, why in reasons:
        if values.get(missing) != 0.0 or missing in chosen:
            continue
        if useless := next((name for name in names if chosen.get(name)), None):
            what = f"{useless} has no effect on the training: by the calibrated parameters {why}"
            raise ArgumentError(what, remedy=f"give {missing} too, or leave {useless} out")
    shape = next((name for name in _SHAPES if name in chosen and "failure_distribution" not in chosen), None)
    if shape is not None:
        what = f"{shape} has no effect: the times to failure are the calibrated ones"
        raise ArgumentError(what, remedy=f"give failure_distribution too, or leave {shape} out")
