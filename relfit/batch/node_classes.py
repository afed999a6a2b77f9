"""Classes of nodes, such as CPU and GPU: a queue and a run each, joined to one result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from relfit.arguments import whole
from relfit.batch._simulate_batch import begin, simulate_batch
from relfit.batch.batch_driver import Progress, Saving, Simulation
from relfit.batch.batch_results import BatchRun
from relfit.batch.failure_parts import PartOfFailures
from relfit.batch.failure_source import Failures
from relfit.batch.run_results import go_on
from relfit.errors import ArgumentError
from relfit.workloads import Workload

__all__ = ["simulate_classes"]

_OF_THE_WHOLE = ("saving", "progress")
_DEFAULTS = {name: value for name, value in (simulate_batch.__kwdefaults__ or {}).items() if name not in _OF_THE_WHOLE}


def simulate_classes(
    workload: Workload,
    nodes: Mapping[str, int],
    *,
    failures: Failures | Sequence[Failures] = (),
    each: Mapping[str, Mapping[str, Any]] | None = None,
    saving: Saving | None = None,
    progress: Progress | None = None,
    rng: int | np.random.Generator | None = 0,
    **settings: Any,
) -> BatchRun:
    """Simulate a machine with classes of nodes; a job runs on nodes of its class alone.

    Each class has a queue of its own. A failure of the whole machine strikes the nodes of all classes at one instant.
    The clock of a class runs from its first job to the end of its last.

    Parameters
    ----------
    workload : Workload
        With `node_class`.
    nodes : mapping of str to int
        How many nodes each class has. In the result those of the first class come first.
    failures : Failures or sequence of them
        Of the whole machine: numbers of nodes count over all classes in their order.
    each : mapping of str to mapping, optional
        Settings of single classes, such as ``{"gpu": {"failures": ...}}``; they go before `settings`, and their
        failures come on top of the machine's. Numbers of nodes in them (failures, reservations, racks) count within
        the class.
    saving : Saving, optional
        When and where the whole saves itself; `resume_batch` goes on. Classes are simulated one after another, each
        from its first job on: intervals of simulated time are those of the class under way.
    progress : callable, optional
        As of `simulate_batch`.
    rng : int or numpy.random.Generator
        Failures of the machine, and those of each class, have streams of their own.
    **settings
        As of `simulate_batch`, for every class.

    Returns
    -------
    BatchRun
        Jobs in the order of the workload, with a column ``node_class``; `BatchRun.by_class` knows ``"node_class"``.

    Raises
    ------
    ArgumentError
        For jobs without a class or of one that has no nodes, settings of such a class, and different `keep`.

    Examples
    --------
    >>> jobs = Workload([1, 2, 3], [0, 0, 5], [2, 2, 2], [60, 30, 10], n_nodes=4, node_class=["cpu", "gpu", "gpu"])
    >>> run = simulate_classes(jobs, {"cpu": 2, "gpu": 2}, scheduler="fcfs")
    >>> run.jobs["starting_time"].tolist()
    [0.0, 0.0, 30.0]
    >>> run.by_class("node_class")["mean_wait"].tolist()
    [0.0, 12.5, 8.333333333333334]
    """
    sizes = {str(name): int(whole("nodes", size)) for name, size in nodes.items()}
    own = {} if each is None else each
    keeps = {own.get(name, {}).get("keep", settings.get("keep", "jobs")) for name in sizes}
    if workload.node_class is None:
        raise ArgumentError("the jobs have no node_class", remedy="give the workload a node_class for every job")
    for what, names in (("a job is", workload.node_class.tolist()), ("settings are", list(own))):
        if strange := [name for name in names if name not in sizes]:
            raise ArgumentError(f"{what} of class {strange[0]!r}, which has no nodes", remedy=f"use {', '.join(sizes)}")
    if any("saving" in some for some in own.values()):
        raise ArgumentError("a class saves itself", remedy="give one saving for all of them")
    if len(keeps) > 1:
        raise ArgumentError("the classes keep different things", remedy="give one keep for all of them")
    generator = np.random.default_rng(rng)
    machine = _whole(failures, sum(sizes.values()), workload, generator)
    parts, rows, first = [], [], 0
    for (name, size), stream in zip(sizes.items(), generator.spawn(len(sizes)), strict=True):
        rows.append(np.flatnonzero(workload.node_class == name))
        given = {**_DEFAULTS, **settings, **own.get(name, {})}
        more = given.pop("failures")
        sources = [*(replace(part, first=first) for part in machine), *(more if isinstance(more, Sequence) else [more])]
        parts.append(begin(workload.where(rows[-1]), size, **{**given, "failures": sources, "rng": stream}))
        first += size
    return go_on(Simulation(parts, sizes, rows), saving, progress)


def _whole(
    failures: Failures | Sequence[Failures], n_nodes: int, workload: Workload, rng: np.random.Generator
) -> list[PartOfFailures]:
    """Failures of the machine, as each class takes its part of them."""
    sources = failures if isinstance(failures, Sequence) else [failures]
    begun = float(workload.submit[0]) if len(workload) else 0.0
    seeds = rng.integers(2**63, size=len(sources)).tolist()
    return [
        PartOfFailures(whole=source, n_whole=n_nodes, first=0, seed=seed, since=begun)
        for source, seed in zip(sources, seeds, strict=True)
    ]
