"""Classes of nodes: a queue of each, or one machine with one queue where jobs take nodes of several at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relfit.base.arrays import IntArray
from relfit.base.errors import ArgumentError
from relfit.io.workloads import Workload
from relfit.simulation.batch import engine_state as es
from relfit.simulation.batch.batch_driver import Simulation
from relfit.simulation.batch.batch_settings import BatchCluster, NodeClass, Part
from relfit.simulation.batch.failure_processes import Failures
from relfit.simulation.batch.failure_source import ClassFailures, PartOfFailures, sources_of
from relfit.simulation.batch.initial_state import first_state

OWN = ("scheduler", "allocation", "checkpoint", "reservations")
"""Settings of the machine that a class of nodes may have of its own."""


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


def _check(classes: Sequence[NodeClass], machine: Part) -> None:
    """Reject settings that do not go with jobs over several classes."""
    for part in classes:
        if own := [name for name in OWN if getattr(part, name) is not None]:
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
    _check(classes, machine)
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
        own = {name: getattr(part, name) for name in OWN if getattr(part, name) is not None}
        cluster = BatchCluster(**{name: getattr(part, name) for name in BatchCluster.model_fields})
        setup = machine._replace(cluster=cluster, failures=(*shared, *sources_of(part.failures, workload)), **own)
        parts.append(first_state(workload.where(rows[-1]), setup, stream))
        first += part.nodes
    return Simulation(parts, sizes, rows)
