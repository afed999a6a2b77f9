"""Planners: what to do about failures whose rates are known (spares, checkpoints, migration, replication)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME: dict[str, str] = {
    "Assumptions": "relfit.planning.sparing.assumptions",
    "CheapestSparing": "relfit.planning.sparing.prices",
    "CheckpointPlan": "relfit.planning.checkpointing.checkpoint_plan",
    "Cluster": "relfit.planning.sparing.cluster",
    "DeviceFailures": "relfit.planning.sparing.cluster",
    "MigrationPlan": "relfit.planning.migration.migration_plan",
    "Performance": "relfit.planning.sparing.cluster",
    "PowerHeadroom": "relfit.planning.sparing.cluster",
    "Predictor": "relfit.planning.migration.prediction",
    "Prices": "relfit.planning.sparing.prices",
    "Recovery": "relfit.planning.sparing.recovery",
    "ReplicationPlan": "relfit.planning.replication.replication_plan",
    "Scenario": "relfit.planning.migration.throughput",
    "SparesNeeded": "relfit.planning.sparing.blocks",
    "SparingEvaluation": "relfit.planning.sparing.evaluation",
    "SparingMap": "relfit.planning.sparing.maps",
    "SparingPlan": "relfit.planning.sparing.sparing_plan",
    "SparingSensitivity": "relfit.planning.sparing.maps",
    "Strategies": "relfit.planning.sparing.cluster",
    "StrategyMap": "relfit.planning.migration.strategies",
    "TensorParallel": "relfit.planning.sparing.cluster",
    "block_mtbf": "relfit.planning.sparing.blocks",
    "blocking_probability": "relfit.planning.sparing.blocks",
    "cheapest_sparing": "relfit.planning.sparing.prices",
    "check_assumptions": "relfit.planning.sparing.assumptions",
    "compare_strategies": "relfit.planning.migration.strategies",
    "device_failures": "relfit.planning.sparing.sparing_plan",
    "evaluate_sparing": "relfit.planning.sparing.evaluation",
    "optimise_sparing": "relfit.planning.sparing.evaluation",
    "plan_checkpoints": "relfit.planning.checkpointing.checkpoint_plan",
    "plan_migration": "relfit.planning.migration.migration_plan",
    "plan_replication": "relfit.planning.replication.replication_plan",
    "plan_sparing": "relfit.planning.sparing.sparing_plan",
    "spare_blocks_needed": "relfit.planning.sparing.blocks",
    "sparing_costs": "relfit.planning.sparing.prices",
    "sparing_map": "relfit.planning.sparing.maps",
    "sparing_sensitivity": "relfit.planning.sparing.maps",
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
