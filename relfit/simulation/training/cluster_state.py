"""The state of a simulated training cluster: records of the cluster, its jobs and its servers, and the lists of them.

Times are minutes, as in the published program's files, so that whole minutes stay whole.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray, IntArray
from relfit.simulation.engine.event_heap import EventHeap
from relfit.simulation.engine.random_streams import KNOTS
from relfit.simulation.engine.records import Records
from relfit.simulation.engine.repair_stages import HISTORIES

STATES = (
    "idle",
    "active",
    "standby",
    "auto_repair",
    "manual_repair",
    "auto_queue",
    "manual_queue",
    "spare",
    "retired",
    "rack_down",
    "on_order",
)
"""States of a server, which is in exactly one of them."""
IDLE, ACTIVE, STANDBY, AUTO_REPAIR, MANUAL_REPAIR = range(5)
AUTO_QUEUE, MANUAL_QUEUE, SPARE, RETIRED, RACK_DOWN, ON_ORDER = range(5, len(STATES))

PHASES = ("running", "recovery", "selection", "waiting", "stalled", "down", "done", "depleted")  # phases of a job
RUNNING, RECOVERING, SELECTING, WAITING, STALLED, DOWN, DONE, DEPLETED = range(len(PHASES))

TIMES = ("compute", "lost", "save", "recovery", "selection", "waiting", "stalled", "down")
"""Accounts of a job's time; they sum to its total time."""

# values of fields
NEVER, AT_SELECTION, AT_ONCE = range(3)  # Options.return_borrowed
KEEP, THRESHOLD, SCORE, OWN_RULE = range(4)  # Options.retirement
# ServerRecord.lent: of the working pool, borrowed by it, of spares and out with its rack
OWN, BORROWED, OF_SPARES = range(3)
END_OF_WORK, FAILURE, CORRUPTION = range(3)  # JobRecord.ends_by
NOTHING, HOSTS, RETIREMENT, RARE_EVENT = range(4)  # ClusterRecord.asks
N_KINDS = 7
AUTO_END, MANUAL_END, RACK_FAILS, RACK_BACK, CLUSTER_FAILS, REGENERATE, DELIVERED = range(N_KINDS)  # kinds of events
CORRUPTION_FOUND = N_KINDS  # belongs to a job, and is planned with it
SPARES, AUTO_WAITING, MANUAL_WAITING, STANDBYS = range(4)  # queues; from STANDBYS on, one per job
NOBODY = -1

N_STREAMS = 15
SETUP, LIFE, PICK, KIND, DIAGNOSIS, AUTO_TIME, MANUAL_TIME, ESCALATION = range(8)
OUTCOME, SELECTION, REGENERATION, RACKS, CLUSTER, CORRUPTIONS, RETIREMENTS = range(8, N_STREAMS)


class Options:
    """Settings of a run; fields with names of `TrainingParameters` or `Retirement` have their meaning."""

    random_failure_rate: float
    bad_factor: float
    systematic_failure_fraction: float
    exponential_lives: bool
    renew_lives: bool
    steady_ages: bool
    regeneration_interval: float
    recovery_time: float
    host_selection_time: float
    preemption_wait_time: float
    checkpoint_every: float
    checkpoint_save: float
    auto_repair_times: Annotated[FloatArray, HISTORIES]
    """By the number of earlier repairs of a server, as are the next five."""
    manual_repair_times: Annotated[FloatArray, HISTORIES]
    probs_auto_to_manual: Annotated[FloatArray, HISTORIES]
    auto_repair_fail_probs: Annotated[FloatArray, HISTORIES]
    manual_repair_fail_probs: Annotated[FloatArray, HISTORIES]
    beyond_repair_probs: Annotated[FloatArray, HISTORIES]
    replacement_time: float  # minutes; below zero: retired servers are not replaced
    auto_crews: int
    manual_crews: int
    shift_from: float
    shift_to: float
    shift_days: int
    diagnosis_probability: float
    diagnosis_uncertainty: float
    undiagnosed_stay: bool
    retirement: int
    max_failures: int
    window_minutes: float
    initial_score: float
    failure_penalty: float
    success_increment: float
    time_period: float
    retirement_threshold: float
    return_borrowed: int
    refill_any: bool
    needs_standbys: bool
    drain_repairs: bool
    random_hosts: bool
    n_racks: int
    rack_failure_rate: float
    rack_share: float
    rack_repair_time: float
    cluster_failure_rate: float
    cluster_repair_time: float
    corruption_rate: float
    corruption_delay: float
    max_events: int
    tracing: bool
    checking: bool
    auto_table_used: bool
    manual_table_used: bool
    life_table: Annotated[FloatArray, KNOTS]
    age_table: Annotated[FloatArray, KNOTS]
    auto_table: Annotated[FloatArray, KNOTS]
    manual_table: Annotated[FloatArray, KNOTS]


class ClusterRecord:
    """The state of the cluster as such: its clock, counters and requests."""

    now: float
    down_until: float
    begun: bool
    events: int
    jobs_begun: int
    jobs_over: int
    repaired_since: bool  # whether a server came back since a job last stalled
    auto_busy: int
    manual_busy: int
    changes: int
    quiet: bool  # whether changes of state are traced later, together
    asks: int  # the request to Python; the next two are its job, server or event
    asks_number: int
    asks_kind: int
    retires: bool  # the reply to a request for retirement
    held: Annotated[IntArray, len(STATES)]  # servers in each state
    streams: Annotated[npt.NDArray[np.uint64], N_STREAMS]


class JobCounts:
    """Counts per job."""

    total_failures: int
    random_failures: int
    systematic_failures: int
    auto_repairs: int
    manual_repairs: int
    successful_repairs: int
    failed_repairs: int
    misattributed_repairs: int
    nonfaulty_repairs: int
    bad_servers_cured: int
    bad_server_repair_failures: int
    servers_retired: int
    good_servers_retired: int
    preemption_count: int
    returned_servers: int
    host_selection_count: int
    job_stall_count: int
    standby_swaps: int
    undiagnosed_failures: int
    rack_failures: int
    cluster_failures: int
    corruptions_found: int
    undetected_corruptions: int
    interruptions: int


class Replacements:
    """Counts per job where servers are beyond repair or replaced."""

    servers_beyond_repair: int
    servers_replaced: int


COUNTS, REPLACEMENTS = tuple(JobCounts.__annotations__), tuple(Replacements.__annotations__)


class JobRecord(JobCounts, Replacements):
    """A job; a lower number is a higher priority."""

    number: int
    n_hosts: int
    minimum: int
    standbys: int
    roster_begin: int
    length: float
    phase: int
    began: float
    until: float
    remaining: float
    speed: float
    clock: float  # minutes that it ran
    credits: float  # periods without a failure, for the scores of its servers
    ends_by: int
    next_failed: int
    n_bad: int
    corrupt_in: float
    found_in: float
    found_at: float
    clean: float  # work at the last checkpoint before a corruption that is not detected yet; below zero without one
    ended: float
    run_time: float  # minutes of running in runs that a failure ended
    compute: float
    lost: float
    save: float
    spent: Annotated[FloatArray, DOWN + 1]  # minutes in each phase but running


class ServerRecord:
    """A server of either pool."""

    number: int
    state: int
    traced: int
    bad: bool
    lent: int
    job: int
    home: int  # the job that its repair is counted for
    rack: int
    struck: bool  # whether the last failure of a rack hit it
    failures: int
    repairs: int
    life: float  # minutes of running until it fails; below zero: still to be drawn
    age: float
    joined: float
    score: float
    credited: float


class Queue:
    """A ring of servers in `ClusterState.lists`, from `begin` on."""

    begin: int
    room: int
    head: int
    length: int


class Change:
    """A line of the trace: of a server, or (number -1) of the phase of a job."""

    minute: float
    server: int
    job: int
    before: int
    after: int


class ClusterState(NamedTuple):
    """The complete state on which the event loop works."""

    options: Options
    cluster: ClusterRecord
    jobs: Records[JobRecord]
    servers: Records[ServerRecord]
    heaps: EventHeap
    """First the planned events, then the rosters of the jobs: see `relfit.simulation.training.server_moves`."""
    queues: Records[Queue]
    lists: IntArray  # first the servers that a job may take, then those of the queues
    latest: FloatArray  # minutes of the latest failures of each server, shape (servers, max_failures)
    trace: Records[Change]
