"""Planners: what to do about failures whose rates are known (spares, checkpoints, migration, replication)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME: dict[str, str] = {
    "Assumptions": "relfit.planning.sparing_assumptions",
    "Benefit": "relfit.planning.prediction",
    "CheapestSparing": "relfit.planning.sparing_prices",
    "CheckpointPlan": "relfit.planning.checkpoint_plan",
    "Cluster": "relfit.planning.sparing_cluster",
    "DeviceFailures": "relfit.planning.sparing_cluster",
    "MigrationPlan": "relfit.planning.migration_plan",
    "Performance": "relfit.planning.sparing_performance",
    "PowerHeadroom": "relfit.planning.sparing_performance",
    "Predictor": "relfit.planning.prediction",
    "Prices": "relfit.planning.sparing_prices",
    "Recovery": "relfit.planning.sparing_recovery",
    "RepairService": "relfit.planning.sparing_prices",
    "ReplicationPlan": "relfit.planning.replication_plan",
    "RobustSparing": "relfit.planning.sparing_uncertainty",
    "Scenario": "relfit.planning.migration",
    "SemiSynchronous": "relfit.planning.sparing_recovery",
    "Situation": "relfit.planning.sparing_recovery",
    "SparesNeeded": "relfit.planning.sparing_blocking",
    "SparingEvaluation": "relfit.planning.sparing_evaluation",
    "SparingMap": "relfit.planning.sparing_maps",
    "SparingPlan": "relfit.planning.sparing",
    "SparingSensitivity": "relfit.planning.sparing_maps",
    "Strategies": "relfit.planning.sparing_cluster",
    "TensorParallel": "relfit.planning.sparing_performance",
    "block_mtbf": "relfit.planning.sparing_block",
    "blocking_probability": "relfit.planning.sparing_blocking",
    "cheapest_sparing": "relfit.planning.sparing_prices",
    "check_assumptions": "relfit.planning.sparing_assumptions",
    "device_failures": "relfit.planning.sparing_uncertainty",
    "evaluate_sparing": "relfit.planning.sparing",
    "optimise_sparing": "relfit.planning.sparing",
    "plan_checkpoints": "relfit.planning.checkpoint_plan",
    "plan_migration": "relfit.planning.migration_plan",
    "plan_replication": "relfit.planning.replication_plan",
    "plan_sparing": "relfit.planning.sparing_uncertainty",
    "spare_blocks_needed": "relfit.planning.sparing_blocking",
    "sparing_costs": "relfit.planning.sparing_prices",
    "sparing_map": "relfit.planning.sparing_maps",
    "sparing_sensitivity": "relfit.planning.sparing_maps",
    "synchronous": "relfit.planning.sparing_recovery",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'relfit.planning' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
