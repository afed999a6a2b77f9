"""Does a model say what the log does: jobs replayed over the part of it that was not fitted, calibration curves, tests."""

from relfit.validation._calibration_curve import CalibrationCurve, calibration_curve
from relfit.validation._replay import replay
from relfit.validation._validate import Validation, validate
from relfit.validation.replay_results import Replay
from relfit.validation.system_chi_square import SystemChiSquare, chi_square

__all__ = [
    "CalibrationCurve",
    "Replay",
    "SystemChiSquare",
    "Validation",
    "calibration_curve",
    "chi_square",
    "replay",
    "validate",
]
