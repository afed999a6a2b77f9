"""Systems of many nodes: reliability, failure rate and mean time to failure of a job on k nodes of given ages."""

from relfit.system.building import ages_of_log
from relfit.system.by_size import SystemsBySize
from relfit.system.calibration_curve import CalibrationCurve, calibration_curve
from relfit.system.chi_square import SystemChiSquare, chi_square
from relfit.system.common_cause import CommonCause, Racks
from relfit.system.components import Component
from relfit.system.replay import replay
from relfit.system.replay_results import Replay
from relfit.system.sequences import Sequences
from relfit.system.sets import SystemSets
from relfit.system.system import System
from relfit.system.uncertainty import SystemInterval, interval_of
from relfit.system.validation import Validation, validate

__all__ = [
    "CalibrationCurve",
    "CommonCause",
    "Component",
    "Racks",
    "Replay",
    "Sequences",
    "System",
    "SystemChiSquare",
    "SystemInterval",
    "SystemSets",
    "SystemsBySize",
    "Validation",
    "ages_of_log",
    "calibration_curve",
    "chi_square",
    "interval_of",
    "replay",
    "validate",
]
