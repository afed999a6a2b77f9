"""One replication: the arrays of a cluster from its parameters, the compiled loop, and a user's own policies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relfit.arrays import FloatArray
from relfit.calibration import FittedFamily
from relfit.errors import DataError
from relfit.families.distribution import Distribution
from relfit.families.lognormal import Lognormal
from relfit.families.weibull import Weibull
from relfit.numeric.compiling_notice import compile_notice
from relfit.simulation.engine.time_tables import remaining_table, time_table
from relfit.training import layout as at
from relfit.training import rare_events as rare
from relfit.training import training_events as loop
from relfit.training.address_streams import KNOTS, N_STREAMS, seeds
from relfit.training.conservation import FAULTS, broken
from relfit.training.host_order import select_in_order
from relfit.training.layout import Memory, Reals
from relfit.training.parameters import TrainingParameters

__all__ = ["HostSelection", "RetirementRule", "Run", "Server", "Servers", "Setting", "run_replication", "setting_of"]

_TRACE_ROWS = 65_536
_EVENTS_BESIDE = 16
_SELECTIONS = ("random", "fewest_failures", "highest_score", "most_reliable", "packed")
_RETURNS = ("never", "at_selection", "at_once")
_RULES = ("never", "threshold", "score")
_LOOKAHEAD = 1440.0


@dataclass(frozen=True)
class Servers:
    """All servers, as a host selection sees them: arrays with one value per server.

    Attributes
    ----------
    rack, failures : ndarray of int
    age, score : ndarray of float
        Minutes of running since the last repair; the score.
    borrowed, idle : ndarray of bool
        Whether it is of the spare pool; whether it can be chosen.
    """

    rack: np.ndarray
    failures: np.ndarray
    age: FloatArray
    score: FloatArray
    borrowed: np.ndarray
    idle: np.ndarray


HostSelection = Callable[[Servers, float], Any]
"""All servers and the minute in; one key per server out, the lowest are taken, equals at random."""


@dataclass(frozen=True)
class Server:
    """A repaired server, as a retirement rule sees it.

    Attributes
    ----------
    number, rack, failures : int
    age, score : float
        Minutes of running since its last repair; its score.
    failure_times : tuple of float
        Minutes of its latest failures, the latest last; as many as `Retirement.max_failures`.
    """

    number: int
    rack: int
    failures: int
    age: float
    score: float
    failure_times: tuple[float, ...]


RetirementRule = Callable[[Server, float], bool]
"""A repaired server and the minute in, whether it is retired out."""


@dataclass(frozen=True)
class Setting:
    """What all replications share: the memory that they begin with, and policies of the user's own."""

    memory: Memory
    has_rare_events: bool
    host_selection: HostSelection | None
    retirement: RetirementRule | None


def setting_of(
    params: TrainingParameters,
    *,
    host_selection: HostSelection | None = None,
    retirement: RetirementRule | None = None,
    trace: bool = False,
    check: bool = False,
) -> Setting:
    """The memory that all replications begin with."""
    servers = params.working_pool_size + params.spare_pool_size
    jobs, rule = params.all_jobs, params.retirement
    whole = {
        at.N_SERVERS: servers, at.N_WORKING: params.working_pool_size, at.N_JOBS: len(jobs),
        at.STAYS: params.missed_diagnosis == "stays", at.RETURNS: _RETURNS.index(params.return_borrowed),
        at.REFILL_ANY: params.refill_standbys == "any", at.INSIST: params.stall_until == "standbys",
        at.DRAIN: params.count_repairs == "all",
        at.SELECTION: at.OWN_HOSTS if host_selection else _SELECTIONS.index(params.host_selection),
        at.RETIREMENT: at.OWN_RETIREMENT if retirement else _RULES.index(rule.policy),
        at.MAX_FAILURES: rule.max_failures, at.RACK_SIZE: params.rack_size,
        at.N_RACKS: -(-servers // params.rack_size), at.AUTO_CREWS: params.auto_crews or 0,
        at.MANUAL_CREWS: params.manual_crews or 0, at.DAYS: sum(1 << day for day in set(params.manual_days)),
        at.MAX_EVENTS: params.max_events, at.TRACING: trace, at.CHECKING: check,
    }  # fmt: skip
    real = {
        at.RATE: params.random_failure_rate, at.BAD_FACTOR: 1.0 + params.systematic_failure_rate_multiplier,
        at.FRACTION: params.systematic_failure_fraction, at.RECOVERY_TIME: params.recovery_time,
        at.SELECTION_TIME: params.host_selection_time, at.WAIT_TIME: params.preemption_wait_time,
        at.AUTO_TIME: params.auto_repair_time, at.MANUAL_TIME: params.manual_repair_time,
        at.TO_MANUAL: params.prob_auto_to_manual, at.AUTO_FAILS: params.auto_repair_fail_prob,
        at.MANUAL_FAILS: params.manual_repair_fail_prob, at.DIAGNOSIS: params.diagnosis_probability,
        at.UNCERTAINTY: params.diagnosis_uncertainty,
        at.REGENERATION: params.bad_server_regen_interval if params.bad_server_regeneration else 0.0,
        at.WINDOW: rule.window_minutes, at.INITIAL_SCORE: rule.initial_score, at.PENALTY: rule.failure_penalty,
        at.INCREMENT: rule.success_increment, at.PERIOD: rule.time_period, at.LEAST_SCORE: rule.retirement_threshold,
        at.EVERY: params.checkpoint_every, at.SAVE_TIME: params.checkpoint_save,
        at.RACK_RATE: params.rack_failure_rate, at.RACK_TIME: params.rack_repair_time,
        at.CLUSTER_RATE: params.cluster_failure_rate, at.CLUSTER_TIME: params.cluster_repair_time,
        at.CORRUPTION_RATE: params.corruption_rate, at.CORRUPTION_DELAY: params.corruption_delay,
        at.SHIFT_FROM: 60.0 * params.manual_hours[0], at.SHIFT_TO: 60.0 * params.manual_hours[1],
        at.LOOKAHEAD: _LOOKAHEAD,
    }  # fmt: skip
    lists = _Lists(at.JOBS + at.JOB * len(jobs))
    whole[at.JOBS_END], whole[at.TO_START] = lists.end, at.JOBS
    ring = rule.max_failures if whole[at.RETIREMENT] in (at.THRESHOLD, at.OWN_RETIREMENT) else 0
    crews = servers if params.auto_crews or params.manual_crews else 0
    whole[at.SERVERS] = lists.add(at.SERVER * servers)
    whole[at.SERVERS_END] = lists.end
    whole[at.SPARES], whole[at.CHOICE], whole[at.KEYS] = (lists.add(servers) for _ in range(3))
    whole[at.AUTO_WAITING], whole[at.MANUAL_WAITING] = lists.add(crews), lists.add(crews)
    events = servers + whole[at.N_RACKS] + _EVENTS_BESIDE
    whole[at.HEAP_TIME], whole[at.HEAP_WHAT] = lists.add(events), lists.add(events)
    whole[at.RACKS] = lists.add(whole[at.N_RACKS])
    life = _life_table(params)
    aged = params.ages == "steady" and life is not None and not params.renew_on_restart
    whole[at.LIFE_TABLE], whole[at.AUTO_TABLE], whole[at.MANUAL_TABLE] = (lists.add(KNOTS) for _ in range(3))
    whole[at.AGE_TABLE] = lists.add(KNOTS) if aged else 0
    places = [(lists.add(job.job_size), lists.add(job.warm_standbys)) for job in jobs]
    latest = lists.add(ring * servers)
    rows = _TRACE_ROWS + 8 * servers if trace else 0
    whole[at.TRACE], whole[at.TRACE_ROOM] = lists.add(at.TRACE_WIDTH * rows), rows - 4 * servers - 16

    memory = np.zeros(lists.end, np.int64)
    reals = at.reals(memory)
    for place, table, tabled in (
        (whole[at.LIFE_TABLE], life, at.LIVES),
        (whole[at.AUTO_TABLE], _repair_table("auto_repair", params.auto_repair), at.AUTO_TABLED),
        (whole[at.MANUAL_TABLE], _repair_table("manual_repair", params.manual_repair), at.MANUAL_TABLED),
    ):
        whole[tabled] = table is not None
        if table is not None:
            reals[place : place + KNOTS] = table
    if aged and life is not None:
        reals[whole[at.AGE_TABLE] : whole[at.AGE_TABLE] + KNOTS] = remaining_table(life)
    whole[at.RENEW] = params.renew_on_restart or not whole[at.LIVES]  # exponential lives have no age
    memory[list(whole)] = list(whole.values())
    reals[list(real)] = list(real.values())
    for i, (job, (roster, reserve)) in enumerate(zip(jobs, places, strict=True)):
        j = at.JOBS + i * at.JOB
        memory[[j + at.SIZE, j + at.STANDBYS, j + at.ROSTER]] = job.job_size, job.warm_standbys, roster
        memory[[j + at.MINIMUM, j + at.RESERVE]] = job.minimum_size or job.job_size, reserve
        reals[j + at.LENGTH] = job.job_length
    if ring:
        addresses = np.arange(whole[at.SERVERS], whole[at.SERVERS_END], at.SERVER)
        memory[addresses + at.LATEST] = latest + ring * np.arange(servers)
    _deal_out(memory, reals)
    rare_rates = (at.REGENERATION, at.RACK_RATE, at.CLUSTER_RATE)
    return Setting(memory, any(real[rate] > 0.0 for rate in rare_rates), host_selection, retirement)


def _deal_out(m: Memory, x: Reals) -> None:
    """Place the servers in the pools, before any job begins."""
    n, working = int(m[at.N_SERVERS]), int(m[at.N_WORKING])
    addresses = np.arange(m[at.SERVERS], m[at.SERVERS_END], at.SERVER)
    states = np.where(np.arange(n) < working, at.IDLE, at.SPARE)
    x[addresses + at.LIFE], x[addresses + at.SCORE] = -1.0, x[at.INITIAL_SCORE]
    m[addresses + at.HOME] = m[addresses + at.OF_JOB] = -1
    m[addresses + at.RACK] = np.arange(n) // m[at.RACK_SIZE]
    m[addresses + at.STATE] = m[addresses + at.TRACED] = states
    m[at.HELD + at.IDLE], m[at.HELD + at.SPARE] = working, n - working
    m[m[at.SPARES] : m[at.SPARES] + n - working] = addresses[working:]
    if m[at.TRACING]:
        rows = m[m[at.TRACE] : m[at.TRACE] + n * at.TRACE_WIDTH].reshape(n, at.TRACE_WIDTH)
        rows[:, 1], rows[:, 2], rows[:, 3], rows[:, 4] = addresses, -1, -1, states
        m[at.N_TRACE] = n
    jobs = np.arange(at.JOBS, m[at.JOBS_END], at.JOB)
    m[jobs + at.PHASE], x[jobs + at.UNTIL], x[jobs + at.CLEAN] = at.DONE, np.inf, -1.0
    x[jobs + at.REMAINING] = x[jobs + at.LENGTH]


class _Lists:
    """Places of lists in the memory, one after another."""

    def __init__(self, begin: int) -> None:
        self.end = begin

    def add(self, size: int) -> int:
        self.end += size
        return self.end - size


def _life_table(params: TrainingParameters) -> FloatArray | None:
    """Logs of times to failure in minutes by cumulative hazard; None where they are exponential."""
    life = _life(params)
    if life is None:
        return None
    table = time_table("failure", life) + np.log(60.0)
    if params.failure is not None and "random_failure_rate" in params.model_fields_set:
        table -= np.log(60.0 * float(life.mean()) * params.random_failure_rate)
    return table


def _repair_table(name: str, fitted: FittedFamily | None) -> FloatArray | None:
    return None if fitted is None else time_table(name, fitted.distribution()) + np.log(60.0)


def _life(params: TrainingParameters) -> Distribution | None:
    """Times to failure of a good server in hours; None where they are exponential."""
    if params.failure is not None:
        return params.failure.distribution()
    if params.failure_distribution == "exponential" or params.random_failure_rate == 0.0:
        return None
    mean = 1.0 / (60.0 * params.random_failure_rate)
    if params.failure_distribution == "weibull":
        shape = np.asarray(params.weibull_shape)
        return Weibull(shape, mean / Weibull(shape, np.asarray(1.0)).mean())
    sigma = np.asarray(params.lognormal_sigma)
    return Lognormal(np.log(mean) - 0.5 * sigma**2, sigma)


@dataclass(frozen=True)
class Run:
    """A replication that is over.

    Attributes
    ----------
    times, counts : ndarray, shape (jobs, ...)
        In the order of `relfit.training.layout.TIMES` and `COUNTS`.
    ended, run_time : ndarray, shape (jobs,)
    depleted : ndarray of bool, shape (jobs,)
    trace : ndarray, shape (changes, 5)
        Minute, number of the server (-1: the job's own phase), number of the job, state before and after.
    """

    times: FloatArray
    counts: FloatArray
    ended: FloatArray
    run_time: FloatArray
    depleted: np.ndarray
    trace: FloatArray


def run_replication(setting: Setting, rng: int, replication: int) -> Run:
    """Run one replication to its end.

    Raises
    ------
    DataError
        When a job does not end within the events allowed, or waits for servers that never come.
    """
    m = setting.memory.copy()
    x = at.reals(m)
    m[at.STREAMS : at.STREAMS + N_STREAMS] = seeds(rng, replication).view(np.int64)
    traced: list[FloatArray] = []
    with compile_notice(loop.advance, "some ten seconds"):
        loop.start(m, x)
        if setting.has_rare_events:
            rare.begin(m, x)
        while (code := loop.advance(m, x)) != loop.OVER:
            if code == loop.ASKS_HOSTS:
                if setting.host_selection is not None:
                    keys = np.asarray(setting.host_selection(_table(m, x), float(x[at.NOW])), dtype=np.float64)
                    x[np.arange(m[at.SERVERS], m[at.SERVERS_END], at.SERVER) + at.RANK] = keys
                select_in_order(m, x)
            elif code == loop.ASKS_RARE:
                rare.happen(m, x)
            elif code == loop.TO_CHECK and (fault := broken(m, x)):
                day, events = float(x[at.NOW]) / 1440.0, int(m[at.EVENTS])
                raise AssertionError(f"{FAULTS[fault]} on day {day:g}, after {events:,} events")
            elif code == loop.TO_CHECK:
                continue
            elif code == loop.ASKS_RETIREMENT and setting.retirement is not None:
                server = _server(m, x, int(m[at.ASKED_SERVER]))
                m[at.ANSWER] = bool(setting.retirement(server, float(x[at.NOW])))
            elif code == loop.TRACE_FULL:
                traced.append(_rows(m, x))
            else:
                raise _problem(m, x, code)
    if m[at.TRACING]:
        traced.append(_rows(m, x))
    jobs = np.arange(at.JOBS, m[at.JOBS_END], at.JOB)[:, None]
    times = x[jobs + at.COMPUTE + np.arange(len(at.TIMES))]
    counts = m[jobs + at.FAILED + np.arange(len(at.COUNTS))].astype(np.float64)
    ended, run_time, depleted = (of[jobs[:, 0] + k] for of, k in ((x, at.ENDED), (x, at.RUN_TIME), (m, at.PHASE)))
    trace = np.concatenate(traced) if traced else np.zeros((0, at.TRACE_WIDTH))
    return Run(times, counts, ended, run_time, depleted == at.DEPLETED, trace)


def _rows(m: Memory, x: Reals) -> FloatArray:
    """The trace so far, which begins anew."""
    begin, size = int(m[at.TRACE]), int(m[at.N_TRACE]) * at.TRACE_WIDTH
    m[at.N_TRACE] = 0
    rows = m[begin : begin + size].reshape(-1, at.TRACE_WIDTH).astype(np.float64)
    rows[:, 0] = x[begin : begin + size : at.TRACE_WIDTH]
    rows[:, 1] = np.where(rows[:, 1] < 0, -1, (rows[:, 1] - m[at.SERVERS]) // at.SERVER)
    rows[:, 2] = np.where(rows[:, 2] < 0, -1, (rows[:, 2] - at.JOBS) // at.JOB)
    return rows


def _table(m: Memory, x: Reals) -> Servers:
    addresses = np.arange(m[at.SERVERS], m[at.SERVERS_END], at.SERVER)
    whole = {name: m[addresses + place] for name, place in (("rack", at.RACK), ("failures", at.FAILURES))}
    return Servers(
        **whole,
        age=x[addresses + at.AGE],
        score=x[addresses + at.SCORE],
        borrowed=m[addresses + at.LENT] == at.BORROWED,
        idle=m[addresses + at.STATE] == at.IDLE,
    )


def _server(m: Memory, x: Reals, s: int) -> Server:
    begin, ring = m[s + at.LATEST], m[at.MAX_FAILURES]
    latest = sorted(float(time) for time in x[begin : begin + ring] if time > 0.0)
    number = (s - int(m[at.SERVERS])) // at.SERVER
    age, score = float(x[s + at.AGE]), float(x[s + at.SCORE])
    return Server(number, int(m[s + at.RACK]), int(m[s + at.FAILURES]), age, score, tuple(latest))


def _problem(m: Memory, x: Reals, code: int) -> Exception:
    day = float(x[at.NOW]) / 1440.0
    if code == loop.STUCK:
        return DataError(f"the job waits for servers that never come, from day {day:g}", remedy="enlarge the pools")
    jobs = np.arange(at.JOBS, m[at.JOBS_END], at.JOB)
    left = float((x[jobs + at.REMAINING] / x[jobs + at.LENGTH]).max())
    what = f"no end after {int(m[at.MAX_EVENTS]):,} events, on day {day:,.0f}, with {100 * left:.3g} % of the work left"
    remedy = "the job hardly gets on; lower the failure rates, recovery_time or checkpoint_every, or raise max_events"
    return DataError(what, remedy=remedy)
