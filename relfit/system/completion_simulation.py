"""Completion times by simulation: the failed node starts anew while the others go on ageing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from relfit.system.checkpoints import Checkpoint
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
        Hours from a failure to the next start; other nodes age over them and do not fail.
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
    ages = np.broadcast_to(system.ages, (runs, system.n_nodes)) if after_failure == "ageing" else None
    start, read = system.ages, 0.0
    for attempt in range(most_failures + 1):
        now = start if ages is None else ages
        life, which = _first_failure(system, now, open_runs.size, random)
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
        life, open_runs = life[failed], open_runs[failed]
        saved[open_runs] = np.minimum(pieces - 1, saved[open_runs] + np.floor(np.maximum(life - read, 0.0) / step))
        failures[open_runs] += 1
        if attempt == most_failures:
            break
        clock[open_runs] += restart
        read = 0.0 if plan is None else plan.restore
        if after_failure == "as_new":
            start = np.zeros(system.n_nodes)
    finished = np.ones(runs, dtype=np.bool_)
    finished[open_runs] = False
    return clock, failures, finished


def _first_failure(
    system: System, ages: FloatArray, runs: int, random: np.random.Generator
) -> tuple[FloatArray, IntArray]:
    """Time to the first failure of each run, and which node it is; ages of shape (n,) or (runs, n)."""
    first = np.full(runs, np.inf)
    which = np.zeros(runs, dtype=np.int64)
    for component in system.components:
        spent = random.standard_exponential((runs, len(component)))
        life = excess_inverse(component.family, ages[..., component.positions], spent)
        place = np.argmin(life, axis=1)
        least = life[np.arange(runs), place]
        sooner = least < first
        first = np.where(sooner, least, first)
        which = np.where(sooner, component.positions[place], which)
    return first, which
