"""Simulators: what the closed forms cannot say, event by event."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME: dict[str, str] = {
    "DeviceTimes": "relfit.simulation.sparing_simulation",
    "SparingSimulation": "relfit.simulation.sparing_simulation",
    "simulate_log": "relfit.simulation.simulated_logs",
    "simulate_sparing": "relfit.simulation.sparing_simulation",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'relfit.simulation' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
