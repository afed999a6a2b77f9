"""Does a model say what the log does: jobs replayed over what was not fitted, calibration curves, a chi-square test."""

from relfit.validation._calibration_curve import CalibrationCurve, calibration_curve
from relfit.validation._replay import replay
from relfit.validation.replay_results import Replay
from relfit.validation.system_chi_square import SystemChiSquare, chi_square

__all__ = [
    "CalibrationCurve",
    "Replay",
    "SystemChiSquare",
    "calibration_curve",
    "chi_square",
    "replay",
]
