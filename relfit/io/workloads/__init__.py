"""Workloads of batch systems: their jobs, readers and writers, scaling, and generators."""

from __future__ import annotations

from relfit.base.lazy import front

__getattr__, __dir__, __all__ = front(
    __name__,
    {
        "_read_workload": "WORKLOAD_FORMATS read_workload write_workload",
        "fitted_workload": "FittedWorkload fit_workload",
        "job_classes": "LENGTHS length_classes shares width_classes",
        "generator": "JobSizes",
        "lublin_feitelson": "LublinFeitelson",
        "scaling": "compress copies scale_load scale_size with_walltimes",
        "two_stage": "TwoStage",
        "workload": "Workload",
    },
)
