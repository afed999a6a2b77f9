"""Completion times by simulation: the failed node starts anew while the others go on ageing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError
from relfit.jobs.job_checkpoints import Checkpoint
from relfit.system.components import Component
from relfit.system.excess import excess_inverse

if TYPE_CHECKING:
    from relfit.system.system import System

__all__ = ["AFTER_FAILURE", "SimulatedCompletion", "simulate_completion"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

AFTER_FAILURE = ("same", "as_new", "ageing")
_ENTRIES = 2_000_000  # lives drawn at a time


@dataclass(frozen=True, eq=False)
class SimulatedCompletion:
    """Completion times of many runs of one job.

    Attributes
    ----------
    times : ndarray, shape (runs,)
        Hours; of an unfinished run the hours so far.
    failures : ndarray of int, shape (runs,)
    finished : ndarray of bool, shape (runs,)
    """

    times: FloatArray
    failures: IntArray
    finished: npt.NDArray[np.bool_]


def simulate_completion(
    system: System,
    length: float,
    *,
    restart: float = 0.0,
    checkpoint: Checkpoint | None = None,
    after_failure: str = "ageing",
    runs: int = 10_000,
    most_failures: int = 2_000,
    rng: int | np.random.Generator | None = None,
) -> SimulatedCompletion:
    """Run one job many times.

    Parameters
    ----------
    system : System
        Every run begins at its ages.
    length : float
        Hours without failures and saves.
    restart : float
        Hours from a failure to the next start. Nodes age over them and do not fail; the failed one is new at the end.
    checkpoint : Checkpoint, optional
    after_failure : {"ageing", "same", "as_new"}
        The failed node starts anew and the others go on ageing; or every attempt meets the first ages; or the first
        attempt does and all further ones a system as new.
    runs : int
    most_failures : int
        A run with more of them is given up.
    rng : int or Generator, optional
    """
    random = np.random.default_rng(rng)
    width = max(1, _ENTRIES // max(1, system.n_nodes))
    parts = [
        _run(system, length, restart, checkpoint, after_failure, min(width, runs - first), most_failures, random)
        for first in range(0, runs, width)
    ]
    times, failures, finished = (np.concatenate(values) for values in zip(*parts, strict=True))
    return SimulatedCompletion(times, failures, finished)


def _run(
    system: System,
    length: float,
    restart: float,
    plan: Checkpoint | None,
    after_failure: str,
    runs: int,
    most_failures: int,
    random: np.random.Generator,
) -> tuple[FloatArray, IntArray, npt.NDArray[np.bool_]]:
    pieces = 1 if plan is None else plan.segments(length)
    step = length if plan is None else plan.interval + plan.save
    rest = length if plan is None else length - (pieces - 1) * plan.interval
    clock, failures = np.zeros(runs), np.zeros(runs, dtype=np.int64)
    saved = np.zeros(runs)  # whole segments behind a checkpoint
    open_runs = np.arange(runs)
    ages: FloatArray | None = None
    parts, first_ages = _parts(system)
    if after_failure == "ageing":
        if system.tolerance:
            raise ArgumentError(
                "nodes that go on ageing are simulated for jobs that need all their nodes",
                remedy="use after_failure='same' or 'as_new', or a system without tolerance",
            )
        ages = np.broadcast_to(first_ages, (runs, first_ages.size))
    meets, read = system, 0.0
    for attempt in range(most_failures + 1):
        if ages is None:
            life, which = meets.sample(open_runs.size, random), np.zeros(open_runs.size, dtype=np.int64)
        else:
            life, which = _first_failure(parts, ages, random)
        needed = read + (pieces - 1 - saved[open_runs]) * step + rest
        done = life >= needed
        clock[open_runs] += np.where(done, needed, life)
        failed = ~done
        if not failed.any():
            open_runs = open_runs[:0]
            break
        if ages is not None:
            ages = ages[failed] + (life[failed, None] + restart)
            ages[np.arange(ages.shape[0]), which[failed]] = 0.0
            _renew_racks(system, ages, which[failed])
        life, open_runs = life[failed], open_runs[failed]
        saved[open_runs] = np.minimum(pieces - 1, saved[open_runs] + np.floor(np.maximum(life - read, 0.0) / step))
        failures[open_runs] += 1
        if attempt == most_failures:
            break
        clock[open_runs] += restart
        read = 0.0 if plan is None else plan.restore
        if after_failure == "as_new":
            meets = system.at_age(0.0)
    finished = np.ones(runs, dtype=np.bool_)
    finished[open_runs] = False
    return clock, failures, finished


def _parts(system: System) -> tuple[list[Component], FloatArray]:
    """Nodes, racks and common causes, whose positions go on in this order, and their ages."""
    parts, ages = list(system.components), [system.ages]
    for more in (system.racks, system.common):
        if more is not None:
            before = sum(part.size for part in ages)
            parts += [Component(c.family, c.positions + before) for c in more.components]
            ages.append(more.ages)
    return parts, np.concatenate(ages)


def _renew_racks(system: System, ages: FloatArray, which: IntArray) -> None:
    """An event of a rack lets all its nodes start anew."""
    if system.racks is None:
        return
    rack = which - system.n_nodes
    hit = np.flatnonzero((rack >= 0) & (rack < system.racks.ages.size))
    inside = system.racks.of_node[None, :] == rack[hit, None]
    ages[hit, : system.n_nodes] = np.where(inside, 0.0, ages[hit, : system.n_nodes])


def _first_failure(
    parts: list[Component], ages: FloatArray, random: np.random.Generator
) -> tuple[FloatArray, IntArray]:
    """Time to the first failure of each run, and what failed; ages of shape (runs, parts)."""
    runs = ages.shape[0]
    first = np.full(runs, np.inf)
    which = np.zeros(runs, dtype=np.int64)
    for component in parts:
        spent = random.standard_exponential((runs, len(component)))
        life = excess_inverse(component.family, ages[:, component.positions], spent)
        place = np.argmin(life, axis=1)
        least = life[np.arange(runs), place]
        sooner = least < first
        first = np.where(sooner, least, first)
        which = np.where(sooner, component.positions[place], which)
    return first, which
