"""Simulators: what the closed forms cannot say, event by event.

``engine`` has records with named fields, one heap, random streams, replications; ``sparing``, ``training`` and
``batch`` are models on it; ``campaigns`` runs any of them over values of parameters, on any machines. `Parameters` or
settings go in, results with intervals over replications come out. A newcomer adds a policy of scheduling or of host
selection (docs/extending.md), and leaves ``engine`` alone.
"""

from __future__ import annotations

from relfit.base.lazy import front

__getattr__, __dir__, __all__ = front(
    __name__,
    {
        "engine.repair_stages": "RepairStage StagedRepairs",
        "simulated_logs": "simulate_log",
        "sparing.device_times": "DeviceTimes",
        "sparing.job_queue": "SparingJob SparingQueue simulate_sparing_queue",
        "sparing.sparing_simulation": "SparingAssumptions SparingSimulation simulate_sparing",
    },
)
