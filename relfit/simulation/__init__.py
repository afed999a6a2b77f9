"""Simulators: what the closed forms cannot say, event by event."""

from __future__ import annotations

from relfit.lazy import front

__getattr__, __dir__, __all__ = front(
    __name__,
    {
        "simulated_logs": "simulate_log",
        "sparing_simulation": "SparingAssumptions DeviceTimes SparingSimulation simulate_sparing",
    },
)
