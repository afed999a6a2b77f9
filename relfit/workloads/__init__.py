"""Workloads of batch systems: their jobs, readers and writers, scaling, and generators."""

from __future__ import annotations

from relfit.lazy import front

__getattr__, __dir__, __all__ = front(
    __name__, {"_read_workload": "WORKLOAD_FORMATS read_workload write_workload", "workload": "Workload"}
)
