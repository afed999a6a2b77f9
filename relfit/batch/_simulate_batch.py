"""`simulate_batch`: a workload, a machine, a scheduler and failures, to a `BatchRun`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relfit.arguments import durations, whole
from relfit.batch import engine_state as es
from relfit.batch.batch_driver import Drive, Progress, Saving, Simulation
from relfit.batch.batch_results import BatchRun
from relfit.batch.calibrated_failures import CalibratedFailures
from relfit.batch.endless_jobs import check_ends
from relfit.batch.failure_parts import whole_of
from relfit.batch.failure_source import Failures, FailureStream, NodeFailures, group_numbers
from relfit.batch.reliability import EstimatedReliability, known_parameters
from relfit.batch.reservations import Reservation, reservation_tables
from relfit.batch.run_results import go_on
from relfit.batch.seconds import HOUR, in_seconds
from relfit.batch.simulation_files import read_simulation
from relfit.errors import ArgumentError, ReadError
from relfit.families.distribution import Distribution
from relfit.jobs import Amdahl, Checkpoint, Gustafson
from relfit.workloads import Workload

__all__ = ["ALLOCATIONS", "REQUEUES", "SCHEDULERS", "resume_batch", "simulate_batch"]

SCHEDULERS = {"fcfs": es.FCFS, "easy": es.EASY, "conservative": es.CONSERVATIVE}
REQUEUES = {"submit": es.BY_SUBMIT, "head": es.BY_HEAD, "tail": es.BY_TAIL}
ALLOCATIONS = {
    "first_fit": es.FIRST_FIT, "round_robin": es.ROUND_ROBIN, "ras": es.RAS, "ljras": es.LJRAS, "ra": es.RA,
    "all": es.ALL, "ra_opt": es.RA_OPT, "rack": es.BY_RACK,
}  # fmt: skip
KEEPS = ("jobs", "attempts", "nodes")
WALLTIMES = ("requested", "true")
_RELIABLE = ("ras", "ljras", "ra", "ra_opt")


def simulate_batch(
    workload: Workload,
    n_nodes: int | None = None,
    *,
    scheduler: str = "easy",
    fixed_nodes: bool = False,
    reservations: Sequence[Reservation] = (),
    failures: Failures | Sequence[Failures] = (),
    requeue: str = "submit",
    offer_freed_first: bool = True,
    reject_after_repairs: int | None = None,
    walltimes: str = "requested",
    allocation: str = "first_fit",
    reliability: Any = None,
    racks: Any = None,
    speedup: Amdahl | Gustafson | None = None,
    checkpoint: Checkpoint | None = None,
    system_mtbf: Any = None,
    until: Any = None,
    keep: str = "jobs",
    saving: Saving | None = None,
    progress: Progress | None = None,
    rng: int | np.random.Generator | None = 0,
) -> BatchRun:
    """Simulate a batch system.

    At one instant jobs end, nodes come back, failures strike, jobs join the queue; then the scheduler decides.

    Parameters
    ----------
    workload : Workload
        Jobs wider than the machine are refused, and counted.
    n_nodes : int, optional
        That of the workload when left out.
    scheduler : {"easy", "fcfs", "conservative"}
        EASY backfilling keeps nodes for the first job that waits, conservative backfilling for every job; or strictly
        in order.
    fixed_nodes : bool
        What is kept for a job are particular nodes, chosen when it is planned, as in the original EASY (Algorithm 1)
        and in BatSim's conservative backfilling; else only their number.
    reservations : sequence of Reservation
        Planned maintenance: no job is started that would be on the nodes then, by its walltime.
    failures : Failures or sequence of them
        `SystemFailures`, `NodeFailures`, `GroupFailures`, `ReplayedFailures`, `CalibratedFailures`. A failure of a node
        that is down is ignored.
    requeue : {"submit", "head", "tail"}
        Place of a killed job: by its first submission, at the head, or by the time it was killed.
    offer_freed_first : bool
        The nodes of a killed job are offered to the queue before it is in there again, as BatSim does.
    reject_after_repairs : int, optional
        A job that needs more nodes than are up is passed over; it is rejected after so many repairs.
    walltimes : {"requested", "true"}
        What the scheduler knows, and kills at: the requested walltime, or how long the job really takes.
    allocation : {"first_fit", "round_robin", "ras", "ljras", "ra", "all", "ra_opt", "rack"}
        Which idle nodes a job gets. `ras`: the adjacent ones most likely to survive it; `ljras`: those for jobs above
        a day, the least reliable for others; `ra`: the most reliable, adjacent or not; `rack`: one rack if it can.
        `all` and `ra_opt` set the size of jobs too, need `speedup` and ``scheduler="fcfs"``; the workload's run
        times are then those on one node.
    reliability : Distribution, EstimatedReliability or None
        What the policies think of the nodes; their true exponential or Weibull lives when left out.
    racks : int or array_like, optional
        Nodes per rack, or the rack of each node.
    speedup : Amdahl or Gustafson, optional
        Run times become those on the nodes that a job gets.
    checkpoint : Checkpoint, optional
        A job saves after every so much work and goes on from there after a failure. Without ``every``, at ``sqrt(2 save
        M) - save`` with M the MTBF of the nodes of the job (needs `system_mtbf`, or failures that know it).
    system_mtbf : duration, optional
        Mean time between failures of the whole machine, for `checkpoint`.
    until : duration, optional
        Where the simulation ends, on the clock of the workload.
    keep : {"jobs", "attempts", "nodes"}
        What is kept: jobs alone, all attempts and outages too, or also which nodes each attempt had.
    saving : Saving, optional
        When and where the simulation saves itself.
    progress : callable, optional
        Called now and then with a text that says how far the run is, and the share of the jobs that have ended.
    rng : int or numpy.random.Generator

    Returns
    -------
    BatchRun

    Raises
    ------
    ArgumentError
        For names that are not known and settings that do not go together.
    DataError
        When jobs wait for more nodes than are ever up at once, or failures let a job hardly ever end.

    Notes
    -----
    The first call of an installation compiles the simulator, which takes some twenty seconds and is said on stderr.
    Allocation by a policy and starts that are planned ahead are compiled when they are first used.

    References
    ----------
    Mu'alem and Feitelson (2001); "Exploring the Trade-off Between Repair Time and Reliability in Large Scale Cluster
    Computers", Algorithms 1, 2 and 3.

    Examples
    --------
    >>> from relfit.workloads import Workload
    >>> jobs = Workload([1, 2, 3, 4], [0, 1, 2, 3], [3, 4, 1, 1], [10, 10, 8, 20], [10, 10, 8, 20], 4)
    >>> run = simulate_batch(jobs)
    >>> run.jobs["starting_time"].tolist(), run.jobs["backfilled"].tolist()
    ([0.0, 10.0, 2.0, 20.0], [False, False, True, False])
    >>> run.jobs["starting_time"].equals(simulate_batch(jobs, scheduler="fcfs").jobs["starting_time"])
    False
    """
    given = {name: value for name, value in locals().items() if name not in ("saving", "progress")}
    return go_on(Simulation([begin(**given)]), saving, progress)


def resume_batch(path: Any, saving: Saving | None = None, progress: Progress | None = None) -> BatchRun:
    """Go on with a simulation that wrote itself to a file; the result is that of a run without a stop.

    Parameters
    ----------
    path : str or Path
    saving : Saving, optional
        When and where it saves itself again.
    progress : callable, optional
        As of `simulate_batch`.

    Raises
    ------
    ReadError
        For a file of another version of the format, one that is damaged, or one of another simulation than `saving`
        says.
    """
    simulation = read_simulation(path)
    if saving is not None and saving.of is not None and simulation.of is not None:
        names = dict.fromkeys([*saving.of, *simulation.of])
        if differ := [name for name in names if saving.of.get(name) != simulation.of.get(name)]:
            what = f"is of another simulation: {', '.join(differ)} differ{'s' if len(differ) == 1 else ''}"
            raise ReadError(what, path=path, remedy="save to another file, or remove this one to begin anew")
    return go_on(simulation, saving, progress)


def begin(
    workload: Workload,
    n_nodes: int | None,
    *,
    scheduler: str,
    fixed_nodes: bool,
    reservations: Sequence[Reservation],
    failures: Failures | Sequence[Failures],
    requeue: str,
    offer_freed_first: bool,
    reject_after_repairs: int | None,
    walltimes: str,
    allocation: str,
    reliability: Any,
    racks: Any,
    speedup: Amdahl | Gustafson | None,
    checkpoint: Checkpoint | None,
    system_mtbf: Any,
    until: Any,
    keep: str,
    rng: int | np.random.Generator | None,
) -> Drive:
    """A run before its first event; settings as of `simulate_batch`."""
    size = _nodes(workload, n_nodes)
    sources = [failures] if not isinstance(failures, Sequence) else list(failures)
    for name, value, known in (
        ("scheduler", scheduler, SCHEDULERS), ("requeue", requeue, REQUEUES), ("allocation", allocation, ALLOCATIONS),
        ("keep", keep, KEEPS), ("walltimes", walltimes, WALLTIMES),
    ):  # fmt: skip
        if value not in known:
            raise ArgumentError(f"{name} {value!r} is not known", remedy=f"use {', '.join(known)}")
    moldable = allocation in ("all", "ra_opt")
    if moldable and (scheduler != "fcfs" or speedup is None or checkpoint is not None):
        what = f"allocation {allocation!r} sets the size of jobs"
        raise ArgumentError(what, remedy="give a speedup and scheduler='fcfs', and no checkpoint")
    jobs = _job_table(workload, size, walltimes, speedup, moldable)
    if checkpoint is not None:
        _checkpoints(jobs, checkpoint, _system_mtbf(system_mtbf, sources, size), size)
    planned = scheduler == "conservative" or (fixed_nodes and scheduler == "easy") or len(reservations) > 0
    if planned and allocation != "first_fit":
        what = f"allocation {allocation!r} does not go with starts that are planned ahead"
        raise ArgumentError(what, remedy="take first_fit, or EASY without fixed_nodes and reservations")
    engine = es.new_engine(jobs, size, planned=planned)
    table, masks = reservation_tables(reservations, size)
    engine = engine._replace(reservations=table, reserved=masks)
    state = engine.state[0]
    state["scheduler"], state["requeue"] = SCHEDULERS[scheduler], REQUEUES[requeue]
    state["fixed_nodes"] = fixed_nodes
    state["allocation"], state["offer_first"] = ALLOCATIONS[allocation], offer_freed_first
    state["keep"] = max(KEEPS.index(keep), isinstance(reliability, EstimatedReliability))
    state["reject_after"] = 0 if reject_after_repairs is None else whole("reject_after_repairs", reject_after_repairs)
    state["until"] = np.inf if until is None else in_seconds("until", until)
    if until is None and not moldable:
        check_ends(jobs, sources, size, workload.job_id)
    state["long_job"] = 24.0 * HOUR
    state["repair_mean"] = float(np.mean([s.mean_repair for s in sources])) if sources else 0.0
    if speedup is not None:
        state["speedup"], state["parallel"] = 1 if isinstance(speedup, Amdahl) else 2, speedup.parallel_fraction
    if racks is not None:
        engine.nodes["rack"] = group_numbers(racks, size)
    elif allocation == "rack":
        raise ArgumentError("allocation 'rack' needs racks", remedy="give the nodes per rack, or the rack of each node")
    begun = float(workload.submit[0]) if len(workload) else 0.0
    stream = FailureStream(sources, size, rng, begun)
    state["known_until"] = -np.inf if sources else np.inf
    engine.nodes["up_since"] = begun if stream.up_since is None else stream.up_since
    run = Drive(engine, stream, start=begun)
    if allocation in _RELIABLE:
        _judge(run, reliability, sources, size)
    settings = {
        "scheduler": scheduler, "fixed_nodes": fixed_nodes, "reservations": len(reservations), "requeue": requeue,
        "offer_freed_first": offer_freed_first,
        "reject_after_repairs": reject_after_repairs, "walltimes": walltimes, "allocation": allocation, "keep": keep,
        "failures": [type(whole_of(source, size)[0]).__name__ for source in sources],
        "checkpoints": checkpoint is not None,
    }  # fmt: skip
    run.about = {
        "job_id": workload.job_id, "requested": workload.requested, "settings": settings, "sources": sources,
    }  # fmt: skip
    return run


def _nodes(workload: Workload, n_nodes: int | None) -> int:
    size = workload.n_nodes if n_nodes is None else int(whole("n_nodes", n_nodes))
    if size is None:
        raise ArgumentError("how many nodes the machine has is not known", remedy="give n_nodes")
    return size


def _job_table(
    workload: Workload, size: int, walltimes: str, speedup: Amdahl | Gustafson | None, moldable: bool
) -> es.Table:
    jobs = es.new_jobs(len(workload))
    jobs["submit"], jobs["nodes"], jobs["work"] = workload.submit, workload.nodes, workload.run_time
    if speedup is not None and not moldable:
        jobs["work"] /= speedup.speedup(workload.nodes)
    jobs["walltime"] = jobs["work"] if walltimes == "true" or moldable else workload.requested
    if moldable:
        jobs["nodes"], jobs["walltime"] = 1, np.inf
    jobs["wall_left"] = jobs["walltime"]
    jobs["time_key"] = jobs["submit"]
    if workload.priority is not None:
        jobs["class_key"] = -workload.priority
    jobs["status"][jobs["nodes"] > size] = es.TOO_WIDE
    return jobs


def _system_mtbf(given: Any, sources: Sequence[Failures], size: int) -> float | None:
    """Seconds between failures of nodes of the whole machine."""
    if given is not None:
        return in_seconds("system_mtbf", given, zero=False)
    rate = 0.0
    for source in sources:
        whole, n_whole, own = whole_of(source, size)
        mtbf = getattr(whole, "mtbf", None)
        if mtbf is not None:
            rate += size / n_whole / in_seconds("mtbf", mtbf)
        elif isinstance(whole, CalibratedFailures):
            rate += size / (HOUR * whole.node_mtbf)
        elif isinstance(whole, NodeFailures):
            mean = whole.life.mean() if isinstance(whole.life, Distribution) else durations("life", whole.life)
            rate += float(np.sum(np.broadcast_to(1.0 / (HOUR * np.asarray(mean)), (n_whole,))[own]))
    return 1.0 / rate if rate else None


def _checkpoints(jobs: es.Table, checkpoint: Checkpoint, mtbf: float | None, size: int) -> None:
    save, restore = (in_seconds(name, getattr(checkpoint, name)) for name in ("save", "restore"))
    jobs["save"], jobs["restore"] = save, restore
    if checkpoint.every is not None:
        jobs["every"] = in_seconds("every", checkpoint.every)
        return
    if mtbf is None:
        what = "how often jobs save is not known, nor how often nodes fail"
        raise ArgumentError(what, remedy="give every in the checkpoint, or system_mtbf")
    jobs["every"] = np.sqrt(2.0 * save * size * mtbf / jobs["nodes"]) - save
    if not np.all(jobs["every"] > 0.0):
        raise ArgumentError("a save takes longer than the nodes live", remedy="give every in the checkpoint")


def _judge(run: Drive, reliability: Any, sources: Sequence[Failures], size: int) -> None:
    nodes = run.engine.nodes
    if isinstance(reliability, EstimatedReliability):
        run.reliability = reliability
        run.next_estimate = run.start + reliability.period
        nodes["shape"], nodes["scale"] = reliability.parameters(size, run.engine.log, run.start, run.start)
        return
    known, n_whole, own = reliability, size, slice(0, size)
    if known is None:
        known, n_whole, own = next(
            (found for found in (whole_of(source, size) for source in sources) if isinstance(found[0], NodeFailures)),
            (None, size, own),
        )
    if known is None:
        what = "how reliable the nodes are thought to be is not known"
        raise ArgumentError(what, remedy="give reliability, as EstimatedReliability()")
    shape, scale = known_parameters(known, n_whole)
    nodes["shape"], nodes["scale"] = shape[own], scale[own]
