"""The simulator of training clusters: jobs on servers that fail, are repaired, replaced and retired."""

from __future__ import annotations

from relfit.base.lazy import front

__getattr__, __dir__, __all__ = front(
    __name__,
    {
        "designs": "TrainingDesigns cheapest_design smallest_pool",
        "parameters": "RepeatedRepairs Retirement TrainingJob TrainingParameters read_training training_parameters",
        "policies": "HostSelection RetirementRule Server Servers",
        "traces": "failure_log states_over_time transitions",
        "training_events": "ENGINE_VERSION",
        "training_simulation": "TrainingSimulation simulate_training",
    },
)
