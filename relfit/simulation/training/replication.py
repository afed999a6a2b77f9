"""One replication: the first state of a cluster, the compiled loop, policies in Python, and a check of it."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import get_type_hints

import numpy as np

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError, DataError
from relfit.fitting.families.distribution import Distribution
from relfit.fitting.families.lognormal import Lognormal
from relfit.fitting.families.rescaled import Rescaled
from relfit.fitting.families.weibull import Weibull
from relfit.simulation.engine.event_heap import EventHeap, empty_heap
from relfit.simulation.engine.random_streams import new_streams, remaining_table, time_table
from relfit.simulation.engine.records import Records, new_records
from relfit.simulation.engine.repair_stages import HISTORIES, by_repairs
from relfit.simulation.training import cluster_state as at
from relfit.simulation.training import training_events as loop
from relfit.simulation.training.cluster_state import Change, ClusterState, JobRecord
from relfit.simulation.training.host_events import candidates, take_in_order
from relfit.simulation.training.parameters import RepeatedRepairs, TrainingParameters
from relfit.simulation.training.policies import HostSelection, RetirementRule, Server, Servers, built_in_selection
from relfit.simulation.training.rare_events import rare_event

_TRACE_ROWS = 65_536
_CHANGING = ("cluster", "jobs", "servers", "queues", "lists", "latest", "trace")
_RARE_RATES = ("regeneration_interval", "rack_failure_rate", "cluster_failure_rate")
_RETURNS = ("never", "at_selection", "at_once")
_RULES = ("never", "threshold", "score")


@dataclass(frozen=True)
class Setting:
    """The first state and the policies of all replications; `host_selection` None is a random choice."""

    begin: ClusterState
    host_selection: HostSelection | None
    retirement: RetirementRule | None


@dataclass(frozen=True)
class TrainingRun:
    """A finished replication; the parts of its trace are empty where none was stored."""

    jobs: Records[JobRecord]
    trace: list[Records[Change]]

    @property
    def times(self) -> FloatArray:
        """Minutes by `relfit.simulation.training.cluster_state.TIMES`, shape (jobs, times)."""
        running = [self.jobs[name] for name in ("compute", "lost", "save")]
        return np.column_stack([*running, self.jobs["spent"][:, at.RECOVERING :]])


def setting_of(
    params: TrainingParameters,
    *,
    host_selection: HostSelection | None = None,
    retirement: RetirementRule | None = None,
    trace: bool = False,
    check: bool = False,
) -> Setting:
    """The first state and the policies that all replications share."""
    life = _life_table(params)
    repairs = [_repair_table(params, name) for name in ("auto_repair", "manual_repair")]
    aged = params.ages == "steady" and life is not None and not params.renew_on_restart
    values = {
        "bad_factor": 1.0 + params.systematic_failure_rate_multiplier,
        "exponential_lives": life is None,
        "renew_lives": params.renew_on_restart or life is None,  # exponential lives have no age
        "steady_ages": aged,
        "regeneration_interval": params.bad_server_regen_interval if params.bad_server_regeneration else 0.0,
        "auto_crews": params.auto_crews or 0,
        "manual_crews": params.manual_crews or 0,
        "shift_from": 60.0 * params.manual_hours[0],
        "shift_to": 60.0 * params.manual_hours[1],
        "shift_days": sum(1 << day for day in set(params.manual_days)),
        "undiagnosed_stay": params.missed_diagnosis == "stays",
        "retirement": at.OWN_RULE if retirement else _RULES.index(params.retirement.policy),
        "return_borrowed": _RETURNS.index(params.return_borrowed),
        "refill_any": params.refill_standbys == "any",
        "replacement_time": -1.0 if params.replacement_time is None else params.replacement_time,
        "beyond_repair_probs": by_repairs(params.beyond_repair_prob, np.arange(HISTORIES)),
        **{f"{name}s": _of_history(params, name) for name in RepeatedRepairs.model_fields if "prob_" not in name},
        "probs_auto_to_manual": _of_history(params, "prob_auto_to_manual"),
        "needs_standbys": params.stall_until == "standbys",
        "drain_repairs": params.count_repairs == "all",
        "random_hosts": host_selection is None and params.host_selection == "random",
        "n_racks": -(-(params.working_pool_size + params.spare_pool_size) // params.rack_size),
        "tracing": trace,
        "checking": check,
        "auto_table_used": repairs[0] is not None,
        "manual_table_used": repairs[1] is not None,
        "life_table": life,
        "age_table": remaining_table(life) if aged and life is not None else None,
        "auto_table": repairs[0],
        "manual_table": repairs[1],
    }
    table = new_records(at.Options, 1)
    for name in get_type_hints(at.Options):
        value = values.get(name, getattr(params.retirement, name, getattr(params, name, None)))
        if value is not None:
            table[name][0] = value
    policy = host_selection or built_in_selection(params.host_selection, life)
    return Setting(_first_state(params, table[0]), policy, retirement)


def _first_state(params: TrainingParameters, options: at.Options) -> ClusterState:
    """The state before any job begins, the servers in their pools."""
    jobs = params.all_jobs
    working, n = params.working_pool_size, params.working_pool_size + params.spare_pool_size
    places = n + options.n_racks + at.N_KINDS
    servers = new_records(at.ServerRecord, n)
    servers["number"] = np.arange(n)
    servers["rack"] = servers["number"] // params.rack_size
    servers["state"] = servers["traced"] = np.where(servers["number"] < working, at.IDLE, at.SPARE)
    servers["life"], servers["score"] = -1.0, params.retirement.initial_score
    servers["home"] = servers["job"] = at.NOBODY

    cluster = new_records(at.ClusterRecord, 1)
    cluster["held"][0, [at.IDLE, at.SPARE]] = working, n - working

    crews = n if params.auto_crews or params.manual_crews else 0
    queues = new_records(at.Queue, at.STANDBYS + len(jobs))
    queues["room"] = [n, crews, crews, *(job.warm_standbys for job in jobs)]
    queues["begin"] = n + np.cumsum(queues["room"]) - queues["room"]
    queues["length"][at.SPARES] = n - working
    lists = np.zeros(n + int(queues["room"].sum()), np.int64)
    lists[n : 2 * n - working] = np.arange(working, n)

    rows = _TRACE_ROWS + 8 * n if options.tracing else 0
    trace = new_records(Change, rows)
    if rows:
        trace["server"][:n], trace["after"][:n] = servers["number"], servers["state"]
        trace["job"][:n] = trace["before"][:n] = at.NOBODY
        cluster["changes"] = n
    ring = params.retirement.max_failures if options.retirement in (at.THRESHOLD, at.OWN_RULE) else 0
    return ClusterState(
        options=options,
        cluster=cluster[0],
        jobs=_new_jobs(params, places),
        servers=servers,
        heaps=empty_heap(places + n, places + sum(job.job_size for job in jobs), 1 + len(jobs)),
        queues=queues,
        lists=lists,
        latest=np.zeros((n, ring)),
        trace=trace,
    )


def _new_jobs(params: TrainingParameters, begin: int) -> Records[JobRecord]:
    jobs = params.all_jobs
    table = new_records(JobRecord, len(jobs))
    table["number"] = np.arange(len(jobs))
    table["n_hosts"] = [job.job_size for job in jobs]
    table["minimum"] = [job.minimum_size or job.job_size for job in jobs]
    table["standbys"] = [job.warm_standbys for job in jobs]
    table["length"] = table["remaining"] = [job.job_length for job in jobs]
    table["roster_begin"] = begin + np.cumsum(table["n_hosts"]) - table["n_hosts"]
    table["phase"], table["until"], table["clean"] = at.DONE, np.inf, -1.0
    return table


def _of_history(params: TrainingParameters, name: str) -> FloatArray:
    """The value of a key of the repairs by the number of earlier repairs."""
    values = getattr(params.repeated_repairs, name)
    return by_repairs((getattr(params, name),) if values is None else values, np.arange(HISTORIES))


def _life_table(params: TrainingParameters) -> FloatArray | None:
    """Logs of times to failure in minutes by cumulative hazard; None where they are exponential."""
    life = _life(params)
    if life is None:
        return None
    table = time_table("failure", life) + np.log(60.0)
    if params.failure is not None and "random_failure_rate" in params.model_fields_set:
        table -= np.log(60.0 * float(life.mean()) * params.random_failure_rate)
    return table


def _repair_table(params: TrainingParameters, name: str) -> FloatArray | None:
    """Logs of repair times in minutes, with the mean that is set beside the family; None without a family."""
    fitted, mean = getattr(params, name), f"{name}_time"
    if fitted is None:
        return None
    times = fitted.distribution()
    if mean in params.model_fields_set:
        times = Rescaled(name, times, getattr(params, mean) / 60.0)
    return time_table(name, times) + np.log(60.0)


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


def run_replication(setting: Setting, rng: int, replication: int) -> TrainingRun:
    """Run one replication to its end; a `DataError` when a job does not end, or waits for servers that never come."""
    begin, (events, place, size) = setting.begin, setting.begin.heaps
    copies = {name: copy(getattr(begin, name)) for name in _CHANGING}
    state = begin._replace(heaps=EventHeap(copy(events), copy(place), copy(size)), **copies)
    state.cluster.streams[:] = new_streams(at.N_STREAMS, [rng, replication])
    trace: list[Records[Change]] = []
    if any(getattr(state.options, name) > 0.0 for name in _RARE_RATES):
        rare_event(state)
    while (code := loop.advance(state)) != loop.OVER:
        if code == at.HOSTS and setting.host_selection is not None:
            _select(state, setting.host_selection)
        elif code == at.RETIREMENT and setting.retirement is not None:
            number = state.cluster.asks_number
            server, latest = state.servers[number], state.latest[number]
            failed = tuple(np.sort(latest[latest > 0.0]).tolist())
            view = Server(number, server.rack, server.failures, server.age, server.score, failed, server.repairs)
            state.cluster.retires = bool(setting.retirement(view, float(state.cluster.now)))
        elif code == at.RARE_EVENT:
            rare_event(state)
        elif code == loop.TRACE_FULL:
            trace.append(_trace_so_far(state))
        elif code == loop.TO_CHECK:
            if fault := fault_of(state):
                day = state.cluster.now / 1440.0
                raise AssertionError(f"{fault} on day {day:g}, after {state.cluster.events:,} events")
        else:
            raise _problem(state, code)
    return TrainingRun(state.jobs, [*trace, _trace_so_far(state)])


def _select(state: ClusterState, policy: HostSelection) -> None:
    """Let a policy choose the servers of the job that requests them."""
    job, servers = state.jobs[state.cluster.asks_number], state.servers
    able = state.lists[: candidates(state, job)]
    columns = {name: servers[name].copy() for name in ("rack", "failures", "age", "score")}
    view = Servers(**columns, borrowed=servers["lent"] == at.BORROWED, idle=servers["state"] == at.IDLE)
    keys = np.asarray(policy(view, float(state.cluster.now)), dtype=np.float64)
    if keys.shape != view.idle.shape:
        what = f"the host selection gives keys of shape {keys.shape}"
        raise ArgumentError(what, remedy=f"give {len(servers)}, one per server")
    able[:] = able[np.argsort(keys[able], kind="stable")]
    take_in_order(state, job)


def _trace_so_far(state: ClusterState) -> Records[Change]:
    """The trace since the last call."""
    changes = state.trace[: state.cluster.changes].copy()
    state.cluster.changes = 0
    return changes


def _problem(state: ClusterState, code: int) -> DataError:
    day = state.cluster.now / 1440.0
    if code == loop.STUCK:
        return DataError(f"the job waits for servers that never come, from day {day:g}", remedy="enlarge the pools")
    left = float((state.jobs["remaining"] / state.jobs["length"]).max())
    most = state.options.max_events
    what = f"no end after {most:,} events, on day {day:,.0f}, with {100 * left:.3g} % of the work left"
    remedy = "the job hardly gets on; lower the failure rates, recovery_time or checkpoint_every, or raise max_events"
    return DataError(what, remedy=remedy)


def fault_of(state: ClusterState) -> str:
    """The first inconsistency in words; empty without one."""
    states, held = state.servers["state"], state.cluster.held
    if not np.array_equal(np.bincount(states, minlength=len(at.STATES)), held):
        return "servers were lost or doubled"
    jobs = [state.jobs[j] for j in range(len(state.jobs))]
    for job in jobs:
        if fault := _fault_of_job(state, job):
            return fault
    if held[at.ACTIVE] != state.heaps.size[1:].sum():
        return "active servers are not those of the jobs"
    if held[at.STANDBY] != state.queues["length"][at.STANDBYS :].sum():
        return "standbys are not those of the jobs"
    for queue, where in ((at.SPARES, at.SPARE), (at.AUTO_WAITING, at.AUTO_QUEUE), (at.MANUAL_WAITING, at.MANUAL_QUEUE)):
        if state.queues[queue].length != held[where] or (states[_queued(state, queue)] != where).any():
            return f"servers of the state {at.STATES[where]} are not those of its queue"
    kinds = state.heaps.events["kind"][: state.heaps.size[0]]
    if np.isin(kinds, (at.AUTO_END, at.MANUAL_END)).sum() != held[at.AUTO_REPAIR] + held[at.MANUAL_REPAIR]:
        return "there are more repairs than servers in repair"
    return ""


def _queued(state: ClusterState, number: int) -> np.ndarray:
    queue = state.queues[number]
    turns = queue.head + np.arange(queue.length)
    return state.lists[queue.begin + turns % max(queue.room, 1)]


def _fault_of_job(state: ClusterState, job: JobRecord) -> str:
    n, servers = int(state.heaps.size[1 + job.number]), state.servers
    roster = state.heaps.events[job.roster_begin : job.roster_begin + n]
    active = roster["number"]
    if n > job.n_hosts or (servers["state"][active] != at.ACTIVE).any() or (servers["job"][active] != job.number).any():
        return "active servers are not those of the jobs"
    if not np.array_equal(state.heaps.place[-len(servers) :][active], np.arange(n)):
        return "active servers are not where they belong"
    if state.options.renew_lives and not np.array_equal(servers["bad"][active], np.arange(n) < job.n_bad):
        return "bad servers are not where they belong"
    times = roster["time"]
    if not state.options.renew_lives and (times[1:] < times[(np.arange(1, n) - 1) // 2]).any():
        return "lives of active servers are out of order"
    standbys = _queued(state, at.STANDBYS + job.number)
    if standbys.size > job.standbys or (servers["state"][standbys] != at.STANDBY).any():
        return "standbys are not those of the jobs"
    spent = job.compute + job.lost + job.save + job.spent.sum()
    since = job.began if job.phase < at.DONE else job.ended
    return "the time of a job does not add up" if abs(spent - since) > 1e-7 * max(state.cluster.now, 1.0) else ""
