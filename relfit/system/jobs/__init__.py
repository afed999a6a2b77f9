"""Jobs on a system: speed-up, completion time with restarts and checkpoints, the best number of nodes.

A `System` (or a distribution, or a mean time) gives the time to the next failure, this the expected time of a job, and
that the best number of nodes. Planners use the same functions.
"""

from relfit.system.jobs._best_size import BestSize, best_size, most_reliable_first, ra_opt
from relfit.system.jobs._expected_time import expected_time
from relfit.system.jobs._time_to_failure import TimeToFailure, between_failures, time_to_failure
from relfit.system.jobs.checkpoint import Checkpoint
from relfit.system.jobs.completion import CompletionTime, Job, completion_time
from relfit.system.jobs.speedup import Amdahl, Gustafson, MeasuredSpeedup, Speedup, as_speedup, read_speedup

__all__ = [
    "Amdahl",
    "BestSize",
    "Checkpoint",
    "CompletionTime",
    "Gustafson",
    "Job",
    "MeasuredSpeedup",
    "Speedup",
    "TimeToFailure",
    "as_speedup",
    "best_size",
    "between_failures",
    "completion_time",
    "expected_time",
    "most_reliable_first",
    "ra_opt",
    "read_speedup",
    "time_to_failure",
]
