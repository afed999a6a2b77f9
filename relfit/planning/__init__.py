"""Planners: spares, checkpoints, migration and replication for known failure rates.

A package for each. `Parameters`, a `System` or a rate go in; a plan with the uncertainty of its inputs comes out.
``plan`` is the base of all plans, ``job_rate`` the rate of interruptions of a job. ``simulation`` and the tests check
the planners event by event. A newcomer may add a planner: its module, its line here, its command.
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
        "migration.prediction": "Predictor Scenario",
        "replication.replication_plan": "ReplicationPlan plan_replication",
    },
)
