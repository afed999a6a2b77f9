"""How many spares a training cluster should keep, of which kind, and what is then left of it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME: dict[str, str] = {
    "Assumptions": "relfit.planning.sparing.assumptions",
    "CheapestSparing": "relfit.planning.sparing.prices",
    "Cluster": "relfit.planning.sparing.cluster",
    "DeviceFailures": "relfit.planning.sparing.cluster",
    "Performance": "relfit.planning.sparing.cluster",
    "PowerHeadroom": "relfit.planning.sparing.cluster",
    "Prices": "relfit.planning.sparing.prices",
    "Recovery": "relfit.planning.sparing.recovery",
    "SparesNeeded": "relfit.planning.sparing.blocks",
    "SparingEvaluation": "relfit.planning.sparing.evaluation",
    "SparingMap": "relfit.planning.sparing.maps",
    "SparingPlan": "relfit.planning.sparing.sparing_plan",
    "SparingSensitivity": "relfit.planning.sparing.maps",
    "Strategies": "relfit.planning.sparing.cluster",
    "TensorParallel": "relfit.planning.sparing.cluster",
    "block_mtbf": "relfit.planning.sparing.blocks",
    "blocking_probability": "relfit.planning.sparing.blocks",
    "cheapest_sparing": "relfit.planning.sparing.prices",
    "check_assumptions": "relfit.planning.sparing.assumptions",
    "device_failures": "relfit.planning.sparing.sparing_plan",
    "evaluate_sparing": "relfit.planning.sparing.evaluation",
    "optimise_sparing": "relfit.planning.sparing.evaluation",
    "plan_sparing": "relfit.planning.sparing.sparing_plan",
    "spare_blocks_needed": "relfit.planning.sparing.blocks",
    "sparing_costs": "relfit.planning.sparing.prices",
    "sparing_map": "relfit.planning.sparing.maps",
    "sparing_sensitivity": "relfit.planning.sparing.maps",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'relfit.planning.sparing' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
