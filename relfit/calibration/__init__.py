"""From a failure log, or a spec sheet, to the parameters that planners need, each with its uncertainty.

`relfit.calibrate` estimates them, `Parameters` holds and checks them, `read_parameters` and `write_parameters` keep
them in files, and `draw_parameters` gives what planners need to say how uncertain their answers are.
"""

from __future__ import annotations

from relfit.calibration._calibrate import PARTS, calibrate
from relfit.calibration.draws import Draws, draw_parameters
from relfit.calibration.exports import scipy_distribution, to_airesim, to_batsim, to_scipy
from relfit.calibration.files import (
    parameters_of_text,
    read_parameters,
    text_of_parameters,
    write_parameters,
)
from relfit.calibration.fta_folder import write_fta
from relfit.calibration.quantities import Duration, Quantity, Ratio, Share
from relfit.calibration.schema import (
    BadNodes,
    Censoring,
    Check,
    FittedFamily,
    Fleet,
    Mtbf,
    Mttr,
    Parameters,
    Period,
    Provenance,
)
from relfit.calibration.validation_errors import ParameterError

__all__ = [
    "PARTS",
    "BadNodes",
    "Censoring",
    "Check",
    "Draws",
    "Duration",
    "FittedFamily",
    "Fleet",
    "Mtbf",
    "Mttr",
    "ParameterError",
    "Parameters",
    "Period",
    "Provenance",
    "Quantity",
    "Ratio",
    "Share",
    "calibrate",
    "draw_parameters",
    "parameters_of_text",
    "read_parameters",
    "scipy_distribution",
    "text_of_parameters",
    "to_airesim",
    "to_batsim",
    "to_scipy",
    "write_fta",
    "write_parameters",
]
