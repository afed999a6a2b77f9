"""The simulator of a batch cluster: scheduling, failures, repairs and allocation of nodes; times in seconds."""

from __future__ import annotations

from relfit.lazy import front

__getattr__, __dir__, __all__ = front(
    __name__,
    {
        "_simulate_batch": "ALLOCATIONS REQUEUES SCHEDULERS resume_batch simulate_batch",
        "batch_config": "BatchConfig read_batch_config",
        "batch_driver": "Saving",
        "batch_results": "JOB_COLUMNS BatchRun",
        "calibrated_failures": "CalibratedFailures",
        "event_loop": "prepare",
        "failure_lists": "read_failures",
        "failure_source": "GroupFailures NodeFailures ReplayedFailures SystemFailures",
        "node_classes": "simulate_classes",
        "reliability": "EstimatedReliability",
        "repair_sweep": "RATES REPAIRS RepairSweep sweep_repairs",
        "repeated_runs": "BatchRuns simulate_batches",
        "reservations": "Reservation",
    },
)
