"""From a failure log, or a spec sheet, to the parameters that planners need, each with its uncertainty.

`relfit.calibrate` estimates them, `Parameters` holds, checks, reads and writes them, and `Parameters.draws` gives what
planners need to say how sure their answers are.
"""

from __future__ import annotations

from relfit.calibration.complaints import ParameterError
from relfit.calibration.draws import Draws
from relfit.calibration.estimating import PARTS, calibrate
from relfit.calibration.exports import airesim, batsim
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
from relfit.calibration.scipy_laws import write_scipy
from relfit.simulation.simulated_logs import simulate_log

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
    "airesim",
    "batsim",
    "calibrate",
    "simulate_log",
    "write_fta",
    "write_scipy",
]
