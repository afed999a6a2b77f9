"""Configurations of the simulator of the repair-time study (github.com/hpc/simulator), as campaigns.

Such a file is JSON: experiments by name, each with sweeps over failure rates, repairs and checkpoints under ``input``.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from relfit.base.errors import ArgumentError, ReadError
from relfit.io.parsing.settings import read_settings

_POLICIES: dict[str, dict[str, object]] = {
    "easy_bf": {"name": "easy", "fixed_nodes": True},
    "easy_bf2": {"name": "easy"},
    "easy_bf3": {"name": "easy"},
    "conservative_bf": {"name": "conservative", "fixed_nodes": True},
    "fcfs_fast2": {"name": "fcfs"},
}
_QUEUES = {"ORIGINAL-FCFS": "submit", "FCFS": "tail"}
_WITHOUT_EFFECT = ("checkpoint-batsim-", "forward-profiles-on-submission", "seed-", "start-from-checkpoint-keep")
_WORKLOAD = {"jobs": "number-of-jobs", "walltime": "wallclock-limit"}
_COSTS = {"save": "dump-time", "restore": "read-time"}
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def read_walkthrough(path: Path, experiment: str = "") -> dict[str, Any]:
    """One experiment of a configuration, as the keys of a campaign; a `ReadError` for what relfit cannot simulate."""
    document = read_settings(path, "json", "a configuration of the simulator", 'name it as "paper.config:2a"')
    names = ", ".join(document)
    if not experiment and len(document) > 1:
        raise ReadError(
            f"has the experiments {names}", path=path, remedy=f"name one, as {path.name}:{next(iter(document))}"
        )
    experiment = experiment or names
    if not isinstance(document.get(experiment), dict) or not isinstance(document[experiment].get("input"), dict):
        raise ReadError(f"has no experiment {experiment!r} with an input", path=path, remedy=f"it has {names}")
    try:
        return _campaign(dict(document[experiment]["input"]))
    except ArgumentError as error:
        raise ReadError(f"experiment {experiment}: {error.what}", path=path, remedy=error.remedy) from None


def _campaign(table: dict[str, Any]) -> dict[str, Any]:
    """Remove the keys that are read from the table; remaining ones are an error."""
    jobs = dict(table.pop("grizzly-workload", {}))
    nodes = _values(table, "node", None)
    system = table.get("SMTBF-sweep")
    per_node = isinstance(system, dict) and bool(dict(system).get("compute-SMTBF-from-NMTBF"))
    rates = _values(table, "SMTBF", None)
    fixed = "repairTime-sweep" in table or "repair-time" in table
    repairs = _values(table, "repairTime" if fixed else "MTTR", 0.0, "repair-time" if fixed else "MTTR")
    intervals = _values(table, "checkpoint", "optimal")
    policy = _named(_POLICIES, "batsched-policy", table.pop("batsched-policy", "easy_bf3"))
    requeue = _named(_QUEUES, "queue-policy", table.pop("queue-policy", "FCFS"))
    saves = table.pop("checkpointing-on", False)
    seed = table.get("seed-failures", 0)
    if len(nodes) != 1:
        raise ArgumentError("the machine has several sizes", remedy="read them one by one")
    costs = {ours: _time(jobs.pop(theirs)) for ours, theirs in _COSTS.items() if theirs in jobs}
    workload = {ours: jobs.pop(theirs) for ours, theirs in _WORKLOAD.items() if theirs in jobs}
    file = jobs.pop("input", None)
    if not file:
        raise ArgumentError("there is no grizzly-workload with its input", remedy="write one")
    _check_left(table, jobs)
    config = {
        "workload": {name: _time(value) if name == "walltime" else value for name, value in workload.items()},
        "cluster": {"nodes": int(nodes[0])},
        "scheduler": {**policy, "requeue": requeue},
        "failures": [{"kind": "system", "mtbf": "1h", "fixed": fixed}],
    }
    parameters = {
        "failures.0.mtbf": [_time(rate / nodes[0] if per_node else rate) for rate in rates],
        "failures.0.repair": [_time(repair) for repair in repairs],
    }
    if saves:
        config["checkpoint"] = costs
        parameters["checkpoint.every"] = [_time(interval) for interval in intervals]
    campaign = {"run": "batch", "workload": file, "config": config, "parameters": parameters}
    return {**campaign, "seed": int(seed), "output": "mean_wait"}


def _check_left(table: Mapping[str, object], jobs: dict[str, object]) -> None:
    """Reject keys that are not read; ``time`` with an open end means all jobs of the file, and is ignored."""
    left = [name for name in table if not name.startswith(_WITHOUT_EFFECT)]
    if jobs.pop("machine-speed", 1) == 1 and jobs.pop("type", "delay") in ("delay", "parallel_homogeneous"):
        left += [name for name in jobs if name != "time" or not str(jobs[name]).endswith(":")]
    if left:
        raise ArgumentError(f"{', '.join(left)}: this is not read", remedy="leave it out")


def _time(seconds: str | float) -> str:
    return seconds if isinstance(seconds, str) else f"{float(seconds)!r}s"


def _named(names: Mapping[str, object], key: str, name: str) -> Any:
    if name not in names:
        raise ArgumentError(f"{key} is {name!r}", remedy=f"relfit has {', '.join(names)}")
    return names[name]


def _values(table: dict[str, Any], name: str, default: object, alone: str | None = None) -> list[Any]:
    """Values of a sweep: a range, or from min to max in steps, through a formula of i; or a single value."""
    sweep = table.pop(f"{name}-sweep", None)
    if sweep is None:
        value = table.pop(alone or name, default)
        if value is None:
            raise ArgumentError(f"there is no {name}-sweep", remedy="write one")
        return [value]
    try:
        values = sweep.get("range")
        if values is None:
            low, high, step = (float(sweep[key]) for key in ("min", "max", "step"))
            values = np.arange(low, high + 0.5 * step, step).tolist()
        return [_computed(sweep["formula"], value) for value in values] if "formula" in sweep else list(values)
    except (KeyError, TypeError, ValueError, AttributeError, SyntaxError, ZeroDivisionError):
        raise ArgumentError(
            f"{name}-sweep: no values can be made of it", remedy="give range, or min, max, step"
        ) from None


def _computed(formula: str, i: float) -> float:
    """The value of a formula of `i`: numbers, ``+ - * /`` and brackets."""

    def value(node: object) -> float:
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return float(_OPERATORS[type(node.op)](value(node.left), value(node.right)))
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return float(node.value)
        if isinstance(node, ast.Name) and node.id == "i":
            return float(i)
        raise ValueError(formula)

    return value(ast.parse(formula, mode="eval").body)
