"""Where everything of a simulated cluster stands in its memory: one array, as whole numbers `m` and as reals `x`.

A server, a job or a list is known by its address, so that ``m[s + STATE]`` is the state of server `s`,
``x[j + UNTIL]`` the end of the present phase of job `j`, and ``x[NOW]`` the clock. One array keeps the compiled loop
quick to compile and to run; each entry is read by one of its two names only.
"""

from __future__ import annotations

import numpy as np

__all__ = ["COUNTS", "PHASES", "STATES", "TIMES", "Memory", "Reals", "reals"]

Memory = np.ndarray
Reals = np.ndarray

STATES = (
    "idle", "active", "standby", "auto_repair", "manual_repair", "auto_queue", "manual_queue", "spare", "retired",
    "rack_down",
)  # fmt: skip
"""Where a server can be; each is in exactly one state."""
(
    IDLE, ACTIVE, STANDBY, AUTO, MANUAL, AUTO_QUEUE, MANUAL_QUEUE, SPARE, RETIRED, RACK_DOWN,
) = range(len(STATES))  # fmt: skip

PHASES = (
    "running", "recovery", "selection", "waiting", "stalled", "down", "done", "depleted",
)  # fmt: skip
"""What a job does; waiting is for servers of the spare pool, stalled for repairs."""
RUNNING, RECOVERING, SELECTING, WAITING, STALLED, DOWN, DONE, DEPLETED = range(len(PHASES))

# values of the options
EXPONENTIAL, TABLED = range(2)  # lives
NEVER, AT_SELECTION, AT_ONCE = range(3)  # return of borrowed servers
RANDOM_HOSTS, FEWEST_FAILURES, HIGHEST_SCORE, MOST_RELIABLE, PACKED, OWN_HOSTS = range(6)  # host selection
KEEP, THRESHOLD, SCORES, OWN_RETIREMENT = range(4)  # retirement
OWN, BORROWED, OF_SPARES = range(3)  # servers: of the working pool, borrowed by it, of spares and out with their rack

GOOD, BAD_SERVER = range(2)
END_OF_WORK, FAILURE, CORRUPTION_FOUND = range(3)  # by which a stretch of running ends
NOTHING, HOSTS, RETIREMENT_RULE, RARE = range(4)  # what Python is asked for
NOBODY = -1

# ------------------------------------------------- the cluster: entries at fixed addresses

(
    NOW, RATE, BAD_FACTOR, FRACTION, RECOVERY_TIME, SELECTION_TIME, WAIT_TIME, AUTO_TIME, MANUAL_TIME, TO_MANUAL,
    AUTO_FAILS, MANUAL_FAILS, DIAGNOSIS, UNCERTAINTY, REGENERATION, WINDOW, INITIAL_SCORE, PENALTY, INCREMENT, PERIOD,
    LEAST_SCORE, EVERY, SAVE_TIME, RACK_RATE, RACK_TIME, CLUSTER_RATE, CLUSTER_TIME, CORRUPTION_RATE, CORRUPTION_DELAY,
    SHIFT_FROM, SHIFT_TO, LOOKAHEAD, DOWN_UNTIL,
) = range(33)  # reals  # fmt: skip
(
    N_SERVERS, N_WORKING, N_JOBS, LIVES, RENEW, AUTO_TABLED, MANUAL_TABLED, STAYS, RETURNS, REFILL_ANY, INSIST, DRAIN,
    SELECTION, RETIREMENT, MAX_FAILURES, RACK_SIZE, N_RACKS, AUTO_CREWS, MANUAL_CREWS, DAYS, MAX_EVENTS, TRACING,
    CHECKING, EVENTS, N_HEAP, N_JOBS_OVER, SIGNAL, SPARE_HEAD, N_TRACE, QUIET, ASKED, ASKED_JOB, ASKED_SERVER, ANSWER,
    AUTO_BUSY, MANUAL_BUSY, AUTO_HEAD, MANUAL_HEAD,
) = range(33, 71)  # fmt: skip
(
    JOBS_END, SERVERS, SERVERS_END, SPARES, AUTO_WAITING, MANUAL_WAITING, HEAP_TIME, HEAP_WHAT, LIFE_TABLE, AUTO_TABLE,
    MANUAL_TABLE, RACKS, CHOICE, KEYS, TRACE, TRACE_ROOM,
) = range(71, 87)  # addresses of lists  # fmt: skip
TO_START = 87  # address of the next job that begins
AGE_TABLE = 98  # of the ages of servers that have long been running; 0 where all are new
ASKED_EVENT = 99  # below zero: a corruption was found
HELD = 88  # servers in each state
STREAMS = 100  # of random numbers
JOBS = 128  # address of the first job

# --------------------------------------------------------------- a job: from its address

(
    SIZE, MINIMUM, STANDBYS, PHASE, N_ACTIVE, N_BAD, N_STANDBY, HEAD, NEXT_FAILED, ENDS_BY, ROSTER, RESERVE,
) = range(12)  # fmt: skip
(
    LENGTH, REMAINING, BEGAN, UNTIL, CLOCK, SPEED, CREDITS, CORRUPT_IN, FOUND_IN, FOUND_AT, CLEAN, ENDED, RUN_TIME,
) = range(12, 25)  # reals; RUN_TIME: minutes of running that a failure ended  # fmt: skip

TIMES = ("compute", "lost", "save", "recovery", "selection", "waiting", "stalled", "down")
"""Where the time of a job goes; they sum to its total time."""
COMPUTE, LOST, SAVE, RECOVERY, SELECTION_SPENT, WAIT, STALL, DOWN_TIME = range(25, 33)

COUNTS = (
    "total_failures", "random_failures", "systematic_failures", "auto_repairs", "manual_repairs", "successful_repairs",
    "failed_repairs", "misattributed_repairs", "nonfaulty_repairs", "bad_servers_cured", "bad_server_repair_failures",
    "servers_retired", "good_servers_retired", "preemption_count", "returned_servers", "host_selection_count",
    "job_stall_count", "standby_swaps", "undiagnosed_failures", "rack_failures", "cluster_failures",
    "corruptions_found", "undetected_corruptions", "interruptions",
)  # fmt: skip
"""What is counted per job."""
(
    FAILED, RANDOM, SYSTEMATIC, AUTO_REPAIRS, MANUAL_REPAIRS, REPAIRED, NOT_REPAIRED, MISATTRIBUTED, NONFAULTY,
    CURED, NOT_CURED, RETIREMENTS, GOOD_RETIRED, PREEMPTIONS, RETURNED, SELECTIONS, STALLS, SWAPS, UNDIAGNOSED,
    RACK_FAILURES, CLUSTER_FAILURES, CORRUPTIONS, UNDETECTED, INTERRUPTED,
) = range(33, 33 + len(COUNTS))  # fmt: skip
JOB = 64  # entries

# ------------------------------------------------------------ a server: from its address

STATE, BAD, LENT, OF_JOB, HOME, SLOT, TRACED, FAILURES, RACK, LATEST = range(
    10
)  # LATEST: address of its latest failures
LIFE, KEY, AGE, JOINED, SCORE, CREDITED, RANK = range(10, 17)  # reals
SERVER = 18
"""LIFE: minutes of running left (below zero: to be drawn); KEY: the clock of its job at which it fails."""

TRACE_WIDTH = 5  # minute, server, job, state before, state after; server -1: the phase of the job


def reals(memory: Memory) -> Reals:
    """The same memory as real numbers."""
    return memory.view(np.float64)
