"""Planners: what to do about failures whose rates are known (spares, checkpoints, migration, replication)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME: dict[str, str] = {
    "Assumptions": "relfit.planning.sparing.assumptions",
    "Benefit": "relfit.planning.migration.prediction",
    "CheapestSparing": "relfit.planning.sparing.prices",
    "CheckpointPlan": "relfit.planning.checkpointing.checkpoint_plan",
    "Cluster": "relfit.planning.sparing.cluster",
    "DeviceFailures": "relfit.planning.sparing.cluster",
    "MigrationPlan": "relfit.planning.migration.migration_plan",
    "Performance": "relfit.planning.sparing.performance",
    "PowerHeadroom": "relfit.planning.sparing.performance",
    "Predictor": "relfit.planning.migration.prediction",
    "Prices": "relfit.planning.sparing.prices",
    "Recovery": "relfit.planning.sparing.recovery",
    "RepairService": "relfit.planning.sparing.prices",
    "ReplicationPlan": "relfit.planning.replication.replication_plan",
    "RobustSparing": "relfit.planning.sparing.robust",
    "Scenario": "relfit.planning.migration.throughput",
    "SemiSynchronous": "relfit.planning.sparing.recovery",
    "Situation": "relfit.planning.sparing.recovery",
    "SparesNeeded": "relfit.planning.sparing.blocking",
    "SparingEvaluation": "relfit.planning.sparing.evaluation",
    "SparingMap": "relfit.planning.sparing.maps",
    "SparingPlan": "relfit.planning.sparing.planner",
    "SparingSensitivity": "relfit.planning.sparing.maps",
    "Strategies": "relfit.planning.sparing.cluster",
    "TensorParallel": "relfit.planning.sparing.performance",
    "block_mtbf": "relfit.planning.sparing.block",
    "blocking_probability": "relfit.planning.sparing.blocking",
    "cheapest_sparing": "relfit.planning.sparing.prices",
    "check_assumptions": "relfit.planning.sparing.assumptions",
    "device_failures": "relfit.planning.sparing.robust",
    "evaluate_sparing": "relfit.planning.sparing.planner",
    "optimise_sparing": "relfit.planning.sparing.planner",
    "plan_checkpoints": "relfit.planning.checkpointing.checkpoint_plan",
    "plan_migration": "relfit.planning.migration.migration_plan",
    "plan_replication": "relfit.planning.replication.replication_plan",
    "plan_sparing": "relfit.planning.sparing.robust",
    "spare_blocks_needed": "relfit.planning.sparing.blocking",
    "sparing_costs": "relfit.planning.sparing.prices",
    "sparing_map": "relfit.planning.sparing.maps",
    "sparing_sensitivity": "relfit.planning.sparing.maps",
    "synchronous": "relfit.planning.sparing.recovery",
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
