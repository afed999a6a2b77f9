"""Planners: what to do about failures whose rates are known (spares, checkpoints, migration, replication)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME: dict[str, str] = {
    "Benefit": "relfit.planning.prediction",
    "CheckpointPlan": "relfit.planning.checkpoint_plan",
    "MigrationPlan": "relfit.planning.migration_plan",
    "Predictor": "relfit.planning.prediction",
    "ReplicatedLife": "relfit.planning.replication",
    "ReplicationPlan": "relfit.planning.replication_plan",
    "Scenario": "relfit.planning.migration",
    "plan_checkpoints": "relfit.planning.checkpoint_plan",
    "plan_migration": "relfit.planning.migration_plan",
    "plan_replication": "relfit.planning.replication_plan",
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
