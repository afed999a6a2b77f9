"""relfit: from the failure logs of computing fleets to fitted lifetimes, reports, plans and what they rest on.

Importing this package is cheap: what it offers is loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relfit import (
        calibration,
        datasets,
        dependence,
        eras,
        families,
        incidents,
        lemons,
        nonparametric,
        planning,
        plotting,
        recurrence,
        regression,
        repairs,
        reproduction,
        simulation,
        system,
    )
    from relfit.calibration import Parameters, calibrate
    from relfit.errors import ArgumentError, DataError, ReadError, RelfitError
    from relfit.failurelog import FailureLog, Source, Window
    from relfit.fitting import FamilyFit, Fits, fit
    from relfit.lifedata import LifeData
    from relfit.readers import read
    from relfit.reporting import report
    from relfit.system.replay import replay
    from relfit.system.system import System

__version__ = "0.1.0"

_HOME = {
    "ArgumentError": "relfit.errors",
    "DataError": "relfit.errors",
    "FailureLog": "relfit.failurelog",
    "FamilyFit": "relfit.fitting",
    "Fits": "relfit.fitting",
    "LifeData": "relfit.lifedata",
    "Parameters": "relfit.calibration",
    "ReadError": "relfit.errors",
    "RelfitError": "relfit.errors",
    "Source": "relfit.failurelog",
    "System": "relfit.system",
    "Window": "relfit.failurelog",
    "calibrate": "relfit.calibration",
    "fit": "relfit.fitting",
    "read": "relfit.readers",
    "replay": "relfit.system",
    "report": "relfit.reporting",
}
_ROOMS = (
    "calibration",
    "datasets",
    "dependence",
    "eras",
    "families",
    "incidents",
    "lemons",
    "nonparametric",
    "planning",
    "plotting",
    "recurrence",
    "regression",
    "repairs",
    "reproduction",
    "simulation",
    "system",
)

__all__ = [
    "ArgumentError",
    "DataError",
    "FailureLog",
    "FamilyFit",
    "Fits",
    "LifeData",
    "Parameters",
    "ReadError",
    "RelfitError",
    "Source",
    "System",
    "Window",
    "calibrate",
    "calibration",
    "datasets",
    "dependence",
    "eras",
    "families",
    "fit",
    "incidents",
    "lemons",
    "nonparametric",
    "planning",
    "plotting",
    "read",
    "recurrence",
    "regression",
    "repairs",
    "replay",
    "report",
    "reproduction",
    "simulation",
    "system",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _ROOMS:
        value = import_module(f"relfit.{name}")
    else:
        raise AttributeError(f"module 'relfit' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
