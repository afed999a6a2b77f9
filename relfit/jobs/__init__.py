"""Jobs on a system: speed-up, completion time with restarts and checkpoints, the best number of nodes, allocation."""

from relfit.jobs._best_nodes import BestNodes, best_nodes, hazards_ordered_alike
from relfit.jobs._best_size import BestSize, best_size, ra_opt, reliability_order
from relfit.jobs.allocation import Allocation, allocate
from relfit.jobs.completion import CompletionTime, Job, completion_time
from relfit.jobs.completion_simulation import SimulatedCompletion, simulate_completion
from relfit.jobs.job_checkpoints import Checkpoint
from relfit.jobs.speedup import Amdahl, FunctionSpeedup, Gustafson, MeasuredSpeedup, Speedup, as_speedup, read_speedup

__all__ = [
    "Allocation",
    "Amdahl",
    "BestNodes",
    "BestSize",
    "Checkpoint",
    "CompletionTime",
    "FunctionSpeedup",
    "Gustafson",
    "Job",
    "MeasuredSpeedup",
    "SimulatedCompletion",
    "Speedup",
    "allocate",
    "as_speedup",
    "best_nodes",
    "best_size",
    "completion_time",
    "hazards_ordered_alike",
    "ra_opt",
    "read_speedup",
    "reliability_order",
    "simulate_completion",
]
