"""A simulation before its first event: settings checked against each other and written into the engine.

Classes of nodes have a queue each, or are one machine with one queue where jobs take nodes of several at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import ArgumentError, DataError
from relfit.base.text import count
from relfit.io.workloads import Workload
from relfit.simulation.batch import engine_state as es
from relfit.simulation.batch.batch_driver import REMEDY, Drive, Simulation
from relfit.simulation.batch.batch_settings import BatchCluster, CheckpointShares, NodeClass, Part, Reservation
from relfit.simulation.batch.engine_state import Reserved
from relfit.simulation.batch.failure_processes import Failures, FailureStream
from relfit.simulation.batch.failure_source import (
    ClassFailures,
    PartOfFailures,
    group_numbers,
    sources_of,
    weibull_parameters,
)
from relfit.simulation.batch.queue_order import EASY, FCFS
from relfit.simulation.batch.reliability import EstimatedReliability
from relfit.simulation.engine.checked_settings import HOUR, in_seconds
from relfit.simulation.engine.records import Records, new_records
from relfit.system.jobs import Amdahl, Checkpoint

KEEPS = ("jobs", "attempts", "nodes")
MOST_ATTEMPTS = 1e6
"""Expected attempts of one job, or of its work up to its first checkpoint, above which a run is refused."""
_OWN = ("scheduler", "allocation", "checkpoint", "reservations")  # settings that a class of nodes may have of its own
_RELIABLE = ("ras", "ljras", "ra", "ra_opt")
_REQUEUES = {"submit": es.BY_SUBMIT, "head": es.BY_HEAD, "tail": es.BY_TAIL}


def first_state(workload: Workload, part: Part, rng: int | np.random.Generator | None) -> Drive:
    """A run before its first event."""
    size = workload.n_nodes if part.cluster.nodes is None else part.cluster.nodes
    if size is None:
        raise ArgumentError("how many nodes the machine has is not known", remedy="give cluster, as in cluster=1490")
    _check(part)
    jobs = _job_table(workload, size, part)
    if part.checkpoint is not None:
        _checkpoints(jobs, part, part.checkpoint, size)
    fixed = part.planned and part.scheduler.fixed_nodes
    engine = es.new_engine(jobs, size, fixed_plans=fixed)
    rows, masks = reservation_tables(part.reservations, size)
    engine = engine._replace(reservations=rows, reserved=masks)
    _set(engine.state, part)
    if part.until is None and not part.allocation.moldable:
        _check_ends(jobs, sum((source.rates(size, steady=True) for source in part.failures), np.zeros(size)), workload)
    racks = part.cluster.racks if part.cluster.racks is not None else part.cluster.nodes_per_rack
    if racks is not None:
        engine.nodes["rack"] = group_numbers(racks, size)
    elif part.allocation.policy == "rack":
        raise ArgumentError("allocation 'rack' needs racks", remedy="give the nodes per rack, or the rack of each node")
    begun = float(workload.submit[0]) if len(workload) else 0.0
    stream = FailureStream(part.failures, size, rng, begun)
    engine.nodes["up_since"] = begun if stream.up_since is None else stream.up_since
    run = Drive(engine, stream, start=begun, part=part)
    if part.allocation.policy in _RELIABLE or part.allocation.is_own:
        _judge(run, part, size)
    run.job_id, run.requested = workload.job_id, workload.requested
    return run


def _check(part: Part) -> None:
    """Reject settings that do not go together."""
    if part.keep not in KEEPS:
        raise ArgumentError(f"keep {part.keep!r} is not known", remedy=f"use {', '.join(KEEPS)}")
    own = part.allocation
    if own.moldable and (part.scheduler.name != "fcfs" or own.law is None or part.checkpoint is not None):
        what = f"allocation {own.policy!r} sets the size of jobs"
        raise ArgumentError(what, remedy="give a speedup and scheduler='fcfs', and no checkpoint")
    if part.planned and (own.policy != "first_fit" or own.is_own):
        what = f"allocation {own.policy!r} does not go with starts that are planned ahead"
        raise ArgumentError(what, remedy="take first_fit, or EASY without fixed_nodes and reservations")
    if part.scheduler.is_own and part.reservations:
        raise ArgumentError("a scheduler of your own does not keep reservations", remedy="leave them out")


def _set(states: Records[es.State], part: Part) -> None:
    """Write the settings into the state of the engine."""
    state, own, allocation = states[0], part.scheduler, part.allocation
    state.scheduler = FCFS if own.name == "fcfs" else EASY
    state.fixed_nodes, state.offer_first = own.fixed_nodes, own.offer_freed_first
    state.requeue, state.allocation = _REQUEUES[own.requeue], allocation.code
    state.outside = part.planned or own.is_own or allocation.is_own or allocation.policy != "first_fit"
    state.reject_after = own.reject_after_repairs or 0
    state.keep = max(KEEPS.index(part.keep), int(isinstance(allocation.judgement, EstimatedReliability)))
    state.until = np.inf if part.until is None else in_seconds("until", part.until)
    state.long_job = 24.0 * HOUR
    state.repair_mean = float(np.mean([source.mean_repair for source in part.failures])) if part.failures else 0.0
    state.drawn_until = -np.inf if part.failures else np.inf
    if allocation.moldable and allocation.law is not None:
        state.speedup, state.parallel = 1 if isinstance(allocation.law, Amdahl) else 2, allocation.law.parallel_fraction


def _job_table(workload: Workload, size: int, part: Part) -> Records[es.BatchJob]:
    jobs, law, moldable = es.new_jobs(len(workload)), part.allocation.law, part.allocation.moldable
    jobs["submit"], jobs["nodes"], jobs["work"] = workload.submit, workload.nodes, workload.run_time
    if law is not None and not moldable:
        jobs["work"] = jobs["work"] / law.speedup(workload.nodes)
    jobs["walltime"] = jobs["work"] if part.scheduler.walltimes == "true" else workload.requested
    if moldable:
        jobs["nodes"], jobs["walltime"] = 1, np.inf
    jobs["wall_left"], jobs["time_key"] = jobs["walltime"], jobs["submit"]
    if workload.priority is not None:
        jobs["class_key"] = -workload.priority
    jobs["status"][jobs["nodes"] > size] = es.TOO_WIDE
    return jobs


def _checkpoints(jobs: Records[es.BatchJob], part: Part, checkpoint: Checkpoint | CheckpointShares, size: int) -> None:
    mtbf = None if part.cluster.mtbf is None else in_seconds("mtbf", part.cluster.mtbf, zero=False)
    if mtbf is None and (rate := float(sum(source.rates(size).sum() for source in part.failures))):
        mtbf = 1.0 / rate
    for name in ("save", "restore"):
        cost = getattr(checkpoint, name)
        of_shares = isinstance(checkpoint, CheckpointShares)
        jobs[name] = np.ceil(cost * jobs["work"]) if of_shares else in_seconds(name, cost)
    if checkpoint.every is not None:
        jobs["every"] = in_seconds("every", checkpoint.every)
        return
    if mtbf is None:
        what = "how often jobs save is not known, nor how often nodes fail"
        raise ArgumentError(what, remedy="give every in the checkpoint, or BatchCluster(mtbf=...)")
    save = jobs["save"]
    jobs["every"] = np.where(jobs["work"] > 0.0, np.sqrt(2.0 * save * size * mtbf / jobs["nodes"]) - save, np.inf)
    if not np.all(jobs["every"] > 0.0):
        raise ArgumentError("a checkpoint takes longer than the nodes live", remedy="give every in the checkpoint")


def _judge(run: Drive, part: Part, size: int) -> None:
    """Set the reliability of each node as the allocation assumes it."""
    nodes, reliability = run.engine.nodes, part.allocation.judgement
    if isinstance(reliability, EstimatedReliability):
        run.next_estimate = run.start + reliability.period
        lives: Any = reliability.parameters(size, run.engine.log, run.start, run.start)
    elif reliability is not None:
        lives = weibull_parameters(getattr(reliability, "life", reliability), size)
    else:
        own = [source.lives(size) for source in part.failures]
        lives = next((each for each in own if each is not None), None)
    if lives is not None:
        nodes["weibull_shape"], nodes["scale"] = lives
    elif not part.allocation.is_own:
        what = "how reliable the nodes are thought to be is not known"
        raise ArgumentError(what, remedy="give reliability, as EstimatedReliability()")


def _check_ends(jobs: Records[es.BatchJob], rates: FloatArray, workload: Workload) -> None:
    """Reject jobs that would hardly ever end: ``exp(rate time)`` attempts are expected until a time passes without
    failure.

    The rate is that of the nodes that fail least, of failures whose rate depends on no age: others add attempts.
    """
    tried = np.flatnonzero(jobs["status"] == es.SUBMITTED_LATER)
    if not tried.size or not rates.any():
        return
    own = {name: jobs[name][tried] for name in ("work", "every", "save", "walltime", "nodes")}
    stretch = np.minimum(np.minimum(own["work"], own["every"] + own["save"]), own["walltime"])
    exponent = np.cumsum(np.sort(rates))[own["nodes"] - 1] * stretch
    endless = int(np.count_nonzero(exponent > np.log(MOST_ATTEMPTS)))
    if not endless:
        return
    worst = int(np.argmax(exponent))
    length, gap = stretch[worst] / HOUR, stretch[worst] / exponent[worst] / HOUR
    what = (
        f"{count(endless, 'job')} would hardly ever end: job {workload.job_id[int(tried[worst])]} has "
        f"{count(int(own['nodes'][worst]), 'node')} for {length:,.3g} h without a checkpoint, a failure every "
        f"{gap:,.3g} h, and so about 10^{exponent[worst] / np.log(10.0):,.0f} attempts"
    )
    raise DataError(what, remedy=REMEDY)


def reservation_tables(
    reservations: Sequence[Reservation], n_nodes: int
) -> tuple[Records[Reserved], npt.NDArray[np.bool_]]:
    """Reservations in order of their start, in seconds, and their nodes, shape (reservations, nodes).

    An `ArgumentError` for impossible times, and for two of one node at one time.
    """
    rows = new_records(Reserved, len(reservations))
    masks = np.zeros((len(reservations), n_nodes), dtype=np.bool_)
    ordered = sorted(reservations, key=lambda each: in_seconds("start", each.start))
    for i, each in enumerate(ordered):
        start, end = (in_seconds(name, getattr(each, name)) for name in ("start", "end"))
        announced = -np.inf if each.announced is None else in_seconds("announced", each.announced)
        if not start < end or announced > start:
            told = "" if each.announced is None else f", announced at {announced:g} s"
            what = f"a reservation from {start:g} to {end:g} s{told}"
            raise ArgumentError(what, remedy="it must be announced before it starts, and end later")
        masks[i, each.numbers(n_nodes)] = True
        for earlier in range(i):
            if start < rows["end"][earlier] and (masks[i] & masks[earlier]).any():
                what = f"reservations from {rows['start'][earlier]:g} and {start:g} s overlap in time and nodes"
                raise ArgumentError(what, remedy="give them other times or nodes")
        rows["announced"][i], rows["start"][i], rows["end"][i] = announced, start, end
    return rows, masks


def _needs(workload: Workload, sizes: dict[str, int]) -> IntArray:
    """Nodes of each class that each job takes."""
    names, needs = list(sizes), np.zeros((len(workload), len(sizes)), np.int64)
    columns = () if workload.node_class is None else workload.node_class.tolist()
    for job, (text, nodes) in enumerate(zip(columns, workload.nodes.tolist(), strict=True)):
        parts = [part.partition(":") for part in text.split("+")]
        what = f"job {workload.job_id[job]} has {nodes} nodes of {text!r}"
        for name, colon, number in ((name.strip(), colon, number.strip()) for name, colon, number in parts):
            if name not in sizes:
                raise ArgumentError(f"{what}, and {name!r} has no nodes", remedy=f"use {', '.join(names)}")
            if not (number.isdigit() if colon else len(parts) == 1):
                raise ArgumentError(what, remedy="write how many of each class, as cpu:2+gpu:4")
            needs[job, names.index(name)] += int(number) if colon else nodes
        if needs[job].sum() != nodes:
            raise ArgumentError(what, remedy=f"nodes are those of all classes together: {needs[job].sum()}")
    return needs


def _check_shared(classes: Sequence[NodeClass], machine: Part) -> None:
    """Reject settings that do not go with jobs over several classes."""
    for part in classes:
        if own := [name for name in _OWN if getattr(part, name) is not None]:
            what = f"class {part.name} has {own[0]} of its own, and jobs take nodes of several classes at once"
            raise ArgumentError(what, remedy="give it for the machine")
    scheduler, what = machine.scheduler, "jobs over several classes of nodes"
    if scheduler.is_own or machine.planned or scheduler.reject_after_repairs is not None:
        remedy = "take easy or fcfs, without fixed_nodes, reservations and reject_after_repairs"
        raise ArgumentError(f"{what} go with no such scheduler", remedy=remedy)
    if machine.allocation.is_own or machine.allocation.policy != "first_fit":
        raise ArgumentError(f"{what} go with no allocation {machine.allocation.policy!r}", remedy="take first_fit")


def _one_machine(
    workload: Workload, classes: Sequence[NodeClass], machine: Part, sizes: dict[str, int], rng: np.random.Generator
) -> Simulation:
    """All classes as one machine before its first event; nodes of the first class come first."""
    _check_shared(classes, machine)
    needs, total, first = _needs(workload, sizes), sum(sizes.values()), 0
    failures: list[Failures] = list(machine.failures)
    for part in classes:
        failures += [
            ClassFailures(source=source, first=first, size=part.nodes) for source in sources_of(part.failures, workload)
        ]
        first += part.nodes
    run = first_state(workload, machine._replace(cluster=BatchCluster(nodes=total), failures=tuple(failures)), rng)
    jobs = run.engine.jobs
    jobs["status"][(needs > np.array(list(sizes.values()))).any(axis=1)] = es.TOO_WIDE
    run.engine.state["n_left"] = int(np.count_nonzero(jobs["status"] == es.SUBMITTED_LATER))
    run.engine.state["outside"] = 1
    class_of = np.repeat(np.arange(len(sizes)), list(sizes.values()))
    run.engine = run.engine._replace(needs=needs, class_of=class_of)
    return Simulation([run], sizes, [np.arange(len(workload))])


def in_classes(workload: Workload, classes: Sequence[NodeClass], machine: Part, rng: np.random.Generator) -> Simulation:
    """A simulation of each class of nodes before its first event."""
    sizes = {part.name: part.nodes for part in classes}
    several = workload.node_class is not None and any("+" in name for name in workload.node_class.tolist())
    if several and len(sizes) == len(classes):
        return _one_machine(workload, classes, machine, sizes, rng)
    if workload.node_class is None:
        raise ArgumentError("the jobs have no node_class", remedy="give the workload a node_class for every job")
    if len(sizes) < len(classes):
        raise ArgumentError("two classes have one name", remedy="give each class once, with its nodes")
    if strange := [name for name in workload.node_class.tolist() if name not in sizes]:
        what = f"a job is of class {strange[0]!r}, which has no nodes"
        raise ArgumentError(what, remedy=f"use {', '.join(sizes)}")
    begun = float(workload.submit[0]) if len(workload) else 0.0
    seeds = rng.integers(2**63, size=len(machine.failures)).tolist()
    parts, rows, first = [], [], 0
    for part, stream in zip(classes, rng.spawn(len(classes)), strict=True):
        rows.append(np.flatnonzero(workload.node_class == part.name))
        shared = [
            PartOfFailures(machine=source, n_machine=sum(sizes.values()), first=first, seed=seed, since=begun)
            for source, seed in zip(machine.failures, seeds, strict=True)
        ]
        own = {name: getattr(part, name) for name in _OWN if getattr(part, name) is not None}
        cluster = BatchCluster(**{name: getattr(part, name) for name in BatchCluster.model_fields})
        setup = machine._replace(cluster=cluster, failures=(*shared, *sources_of(part.failures, workload)), **own)
        parts.append(first_state(workload.where(rows[-1]), setup, stream))
        first += part.nodes
    return Simulation(parts, sizes, rows)
