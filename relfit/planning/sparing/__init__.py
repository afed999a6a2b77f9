"""Spares of a training cluster: how many, of which kind, and the goodput with them."""

from __future__ import annotations

from relfit.base.lazy import front

__getattr__, __dir__, __all__ = front(
    __name__,
    {
        "assumptions": "Assumptions check_assumptions",
        "blocks": "SparesNeeded block_mtbf blocking_probability spare_blocks_needed",
        "cluster": "Cluster DeviceFailures Performance PowerHeadroom Strategies TensorParallel",
        "evaluation": "SparingEvaluation evaluate_sparing optimise_sparing",
        "job_spares": "SparesPlan plan_spares",
        "maps": "SparingMap sparing_map",
        "recovery": "Recovery",
        "sparing_plan": "SparingPlan device_failures plan_sparing",
    },
)
