"""Checkpointed jobs on nodes that grow older one by one: after a failure only the node that failed is new.

The failures of a job are then no renewal process, and the best interval moves with the ages of all nodes. Jobs are
followed event by event, at a fixed interval or at one that follows the hazard of all nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.arguments import FloatArray, durations, share, whole
from relfit.errors import ArgumentError
from relfit.families.distribution import Distribution
from relfit.numeric.batches import over_groups
from relfit.planning.checkpointing.checkpoint_kernels import ageing_runs
from relfit.planning.checkpointing.checkpoint_simulation import SimulatedJobs, share_of_time
from relfit.planning.checkpointing.exponential_failures import Costs

__all__ = ["BY_HAZARD", "simulate_ageing_nodes"]

BY_HAZARD = "by hazard"
_TABLE = 2000
_MOST_KINDS = 2000

Lives = tuple[Any, npt.NDArray[np.int64]]  # a batch of families, and the nodes that it is of


def simulate_ageing_nodes(
    source: Any,
    interval: Any,
    save: Any,
    restore: Any = 0.0,
    downtime: Any = 0.0,
    *,
    ages: Any = 0.0,
    nodes: int = 1,
    exposed: tuple[str, ...] = ("save", "restore"),
    runs: int = 100,
    failures: int = 500,
    level: float = 0.95,
    rng: int | np.random.Generator | None = None,
    workers: int | None = None,
) -> SimulatedJobs:
    """Follow jobs on nodes of which only the one that failed is new after a restart.

    Parameters
    ----------
    source : Distribution or System
        A family for all nodes, a batch with one for each, or a system.
    interval : duration or "by hazard"
        Work between two saves; or, at every save anew, ``w = sqrt(2 C / h)`` with h the mean hazard of all over w.
    save, restore, downtime : duration
    ages : array_like of durations
        Of the nodes at the begin; a system has its own.
    nodes : int
        How many, where neither family nor ages say so.
    exposed
        As in `renewal_waste`.
    runs, failures : int
        Independent runs, and the failures of each.
    level, rng, workers
        As in `simulate_checkpoints`.

    Returns
    -------
    SimulatedJobs

    Raises
    ------
    ArgumentError
        For values that cannot be.

    Examples
    --------
    New nodes that fail early, 100 of them, over their first 200 failures:

    >>> from relfit.families import Weibull
    >>> fixed = simulate_ageing_nodes(Weibull(0.5, 3000.0), 3, "5min", nodes=100, failures=200, rng=1)
    >>> moving = simulate_ageing_nodes(Weibull(0.5, 3000.0), "by hazard", "5min", nodes=100, failures=200, rng=1)
    >>> moving.waste < fixed.waste
    True
    """
    cost = Costs.of(save, restore, downtime, exposed)
    if cost.save.ndim or cost.restore.ndim or cost.downtime.ndim:
        raise ArgumentError("one case at a time: save, restore and downtime must be single durations")
    by_hazard = isinstance(interval, str) and interval == BY_HAZARD
    gap = 0.0 if by_hazard else float(durations("interval", interval, zero=False))
    if by_hazard and float(cost.save) == 0.0:
        raise ArgumentError("save is 0 hours", remedy="the rule by hazard needs a save that takes time")
    share("level", level, zero=False, one=False)
    parts, past = _lives(source, durations("ages", ages), int(whole("nodes", nodes)))
    count, most = int(whole("runs", runs, 2)), int(whole("failures", failures))
    generator = np.random.default_rng(rng)
    instants, who = _failures(parts, past, count, most, generator)
    kind, log_age, log_hazard = _tables(parts, past, float(instants[:, -1].max()))
    costs = np.array([float(cost.save), float(cost.restore), float(cost.downtime)])
    kept, time = np.empty(count), np.empty(count)

    def follow(first: int, last: int) -> None:
        ageing_runs(
            instants, who, past, kind, log_age, log_hazard, gap, costs, "save" in exposed, "restore" in exposed, kept,
            time, first, last,
        )  # fmt: skip

    over_groups(np.arange(count + 1) * most * past.size, follow, workers)
    waste, low, high = share_of_time(kept, time, level)
    failed = np.full(count, most, dtype=np.int64)
    return SimulatedJobs(kept, time, failed, waste, low, high, level, np.zeros(count, dtype=np.bool_))


# ---------------------------------------------------------------------- details


def _lives(source: Any, ages: FloatArray, nodes: int) -> tuple[list[Lives], FloatArray]:
    """Batches of families with the nodes that they are of, and the ages of all nodes."""
    if hasattr(source, "components"):
        return [(part.family, np.asarray(part.positions)) for part in source.components], np.asarray(source.ages)
    if not isinstance(source, Distribution):
        raise ArgumentError(
            f"cannot follow nodes of {type(source).__name__}", remedy="give a family with the ages, or a system"
        )
    shape = np.broadcast_shapes(source.batch_shape, ages.shape)
    size = int(np.prod(shape)) if shape else 1
    size = nodes if size == 1 else size
    past = np.broadcast_to(ages, shape).ravel() if shape else ages.ravel()
    past = np.broadcast_to(past, (size,)).astype(np.float64)
    return [(source, np.arange(size))], past


def _failures(
    parts: list[Lives], past: FloatArray, runs: int, most: int, rng: np.random.Generator
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Instants of the first failures of all nodes together, and the node of each; shapes (runs, most)."""
    size = past.size
    instants, who = np.empty((runs, most)), np.empty((runs, most), dtype=np.int64)
    few = int(np.ceil(most / size + 3.0 * np.sqrt(most / size) + 3.0))
    for run in range(runs):
        lives = few
        ends = np.empty((0, size))
        while True:
            new = np.empty((lives, size))
            for family, positions in parts:
                wide = family.batch_shape != ()
                drawn = family.sample(lives if wide else (lives, positions.size), rng)
                new[:, positions] = np.reshape(drawn, (lives, positions.size))
            if ends.size == 0:
                for family, positions in parts:
                    new[0, positions] = np.reshape(family.excess_sample(past[positions], rng=rng), positions.size)
            ends = np.concatenate([ends, (ends[-1] if ends.size else 0.0) + np.cumsum(new, axis=0)])
            # all failures up to the earliest last end are known
            flat = ends.ravel()
            known = flat <= ends[-1].min()
            if known.sum() >= most:
                break
            lives *= 2
        first = np.argpartition(flat, most - 1)[:most]
        first = first[np.argsort(flat[first], kind="stable")]
        instants[run], who[run] = flat[first], first % size
    return instants, who


def _tables(parts: list[Lives], past: FloatArray, until: float) -> tuple[npt.NDArray[np.int64], FloatArray, FloatArray]:
    """For each node its row, and logs of cumulative hazards by the log of the age."""
    log_age = np.linspace(np.log(1e-9 * until), np.log(4.0 * (until + float(past.max(initial=0.0)))), _TABLE)
    age = np.exp(log_age)
    kind = np.zeros(past.size, dtype=np.int64)
    rows: list[FloatArray] = []
    count = 0
    for family, positions in parts:
        hazard = np.atleast_2d(np.asarray(-family.log_sf(age if family.batch_shape == () else age[:, None])).T)
        kind[positions] = count + (np.arange(positions.size) if hazard.shape[0] > 1 else 0)
        count += hazard.shape[0]
        rows.append(hazard)
        if count > _MOST_KINDS:
            raise ArgumentError(f"more than {_MOST_KINDS} different nodes", remedy="give nodes that share a family")
    with np.errstate(divide="ignore"):
        return kind, log_age, np.maximum(np.log(np.concatenate(rows)), -700.0)
