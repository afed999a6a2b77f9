"""The simulator of a batch cluster: scheduling, failures, repairs and allocation of nodes; times in seconds."""

from __future__ import annotations

from relfit.base.lazy import front

__getattr__, __dir__, __all__ = front(
    __name__,
    {
        "_simulate_batch": "resume_batch simulate_batch",
        "batch_config": "BatchConfig read_batch_config",
        "batch_results": "JOB_COLUMNS BatchRun",
        "calibrated_failures": "CalibratedFailures",
        "engine_state": "ENGINE_VERSION",
        "event_loop": "prepare",
        "failure_processes": "Failures",
        "failure_source": "GroupFailures NodeFailures ReplayedFailures SystemFailures read_failures",
        "reliability": "EstimatedReliability",
        "repair_sweep": "RATES REPAIRS RepairSweep sweep_repairs",
        "repeated_runs": "BatchRuns simulate_batches",
        "batch_settings": "Allocation CheckpointShares BatchCluster NodeClass Reservation Saving Scheduler",
        "waiting_queue": "waiting_jobs",
    },
)
