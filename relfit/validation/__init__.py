"""Does a model say what the log does: jobs replayed over what was not fitted, calibration curves, tests.

Data runs from a log or times to failure, with a system or fits of an earlier part of it, to scores and p-values;
nothing of it goes back into the fits.
"""

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
