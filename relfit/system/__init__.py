"""Systems of many nodes: reliability, failure rate and mean time to failure of a job on k nodes of given ages."""

from relfit.system.allocation import Allocation, allocate
from relfit.system.best_nodes import BestNodes, best_nodes, hazards_ordered_alike
from relfit.system.best_size import BestSize, best_size, ra_opt, reliability_order
from relfit.system.building import ages_of_log
from relfit.system.by_size import SystemsBySize
from relfit.system.calibration_curve import CalibrationCurve, calibration_curve
from relfit.system.checkpoints import Checkpoint
from relfit.system.chi_square import SystemChiSquare, chi_square
from relfit.system.common_cause import CommonCause, Racks
from relfit.system.completion import CompletionTime, Job, completion_time
from relfit.system.completion_simulation import SimulatedCompletion, simulate_completion
from relfit.system.components import Component
from relfit.system.replay import replay
from relfit.system.replay_results import Replay
from relfit.system.sequences import Sequences
from relfit.system.sets import SystemSets
from relfit.system.speedup import Amdahl, FunctionSpeedup, Gustafson, MeasuredSpeedup, Speedup, as_speedup, read_speedup
from relfit.system.system import System
from relfit.system.uncertainty import SystemInterval, interval_of
from relfit.system.validation import Validation, validate

__all__ = [
    "Allocation",
    "Amdahl",
    "BestNodes",
    "BestSize",
    "CalibrationCurve",
    "Checkpoint",
    "CommonCause",
    "CompletionTime",
    "Component",
    "FunctionSpeedup",
    "Gustafson",
    "Job",
    "MeasuredSpeedup",
    "Racks",
    "Replay",
    "Sequences",
    "SimulatedCompletion",
    "Speedup",
    "System",
    "SystemChiSquare",
    "SystemInterval",
    "SystemSets",
    "SystemsBySize",
    "Validation",
    "ages_of_log",
    "allocate",
    "as_speedup",
    "best_nodes",
    "best_size",
    "calibration_curve",
    "chi_square",
    "completion_time",
    "hazards_ordered_alike",
    "interval_of",
    "ra_opt",
    "read_speedup",
    "reliability_order",
    "replay",
    "simulate_completion",
    "validate",
]
