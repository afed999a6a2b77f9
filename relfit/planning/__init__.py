"""Planners: what to do about failures whose rates are known (spares, checkpoints, migration, replication).

A package for each. `Parameters`, a `System` or a rate go in, a plan comes out with the uncertainty of its inputs;
``plan`` is what all plans have, ``job_rate`` how often something interrupts a job. ``simulation`` and the tests check
them event by event. A newcomer may add a planner: its module, its line here, its command.
"""

from __future__ import annotations

from relfit.base.lazy import front
from relfit.planning import sparing

__getattr__, __dir__, __all__ = front(
    __name__,
    {
        "sparing": " ".join(sparing.__all__),
        "checkpointing.checkpoint_plan": "AgeingNodes CheckpointPlan plan_checkpoints",
        "checkpointing.size_table": "CheckpointTable checkpoint_table",
        "checkpointing.two_level": "GlobalSaves",
        "migration.migration_plan": "MigrationPlan plan_migration",
        "migration.prediction": "Predictor",
        "migration.throughput": "Scenario",
        "replication.replication_plan": "ReplicationPlan plan_replication",
    },
)
