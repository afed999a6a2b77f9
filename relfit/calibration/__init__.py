"""From a failure log, or a spec sheet, to the parameters that planners need, each with its uncertainty.

`relfit.calibrate` estimates them, `Parameters` holds and checks them, `read_parameters` and `write_parameters` keep
them in files, and `draw_parameters` gives what planners need to say how uncertain their answers are.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME: dict[str, str] = {
    "BadNodes": "relfit.calibration.schema",
    "Censoring": "relfit.calibration.schema",
    "Check": "relfit.calibration.schema",
    "Draws": "relfit.calibration.draws",
    "Duration": "relfit.calibration.quantities",
    "FittedFamily": "relfit.calibration.schema",
    "Fleet": "relfit.calibration.schema",
    "Mtbf": "relfit.calibration.schema",
    "Mttr": "relfit.calibration.schema",
    "PARTS": "relfit.calibration._calibrate",
    "ParameterError": "relfit.calibration.validation_errors",
    "Parameters": "relfit.calibration.schema",
    "Period": "relfit.calibration.schema",
    "Provenance": "relfit.calibration.schema",
    "Quantity": "relfit.calibration.quantities",
    "Ratio": "relfit.calibration.quantities",
    "Share": "relfit.calibration.quantities",
    "calibrate": "relfit.calibration._calibrate",
    "draw_parameters": "relfit.calibration.draws",
    "parameters_of_text": "relfit.calibration.files",
    "read_parameters": "relfit.calibration.files",
    "scipy_distribution": "relfit.calibration.exports",
    "text_of_parameters": "relfit.calibration.files",
    "to_airesim": "relfit.calibration.exports",
    "to_batsim": "relfit.calibration.exports",
    "to_fta": "relfit.calibration.fta_trace",
    "to_scipy": "relfit.calibration.exports",
    "write_parameters": "relfit.calibration.files",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'relfit.calibration' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
