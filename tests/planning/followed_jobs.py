"""Checkpointed jobs followed event by event: a slow check on every formula."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from relfit.system.jobs import Checkpoint, time_to_failure

__all__ = ["Followed", "follow"]


class Followed:
    """Kept work and hours of each run; the waste over all of them with its standard error."""

    def __init__(self, kept: np.ndarray, time: np.ndarray) -> None:
        self.kept, self.time = kept, time
        share = kept.sum() / time.sum()
        self.waste = float(1.0 - share)
        self.error = float(np.std(kept - share * time, ddof=1) / (np.sqrt(kept.size) * time.mean()))

    def agrees(self, waste: Any) -> bool:
        """Whether the waste is within 4.5 standard errors."""
        return abs(self.waste - float(waste)) < 4.5 * self.error


def follow(
    source: Any,
    every: Any,
    checkpoint: Checkpoint,
    restart: float = 0.0,
    *,
    ages: Any = 0.0,
    saves_per_global: int = 1,
    global_save: float | None = None,
    global_restore: float | None = None,
    share_global: float = 0.0,
    work: float = np.inf,
    runs: int = 150,
    failures: int = 800,
    seed: int = 0,
) -> Followed:
    """Follow runs until their work is done or their failures are used up.

    `every` is hours of work between saves, or a sequence of them since each restart, of which the last goes on.
    """
    rng = np.random.default_rng(seed)
    lives = time_to_failure(source, ages).draw(runs * failures, rng).reshape(runs, failures)
    kinds = rng.random((runs, failures)) if share_global > 0.0 else np.ones((runs, failures))
    save, restore = checkpoint.save, checkpoint.restore
    costs = np.array(
        [
            save,
            save if global_save is None else global_save,
            restore,
            restore if global_restore is None else global_restore,
            restart,
        ]
    )
    kept, time = np.empty(runs), np.empty(runs)
    _runs(
        lives,
        kinds,
        np.atleast_1d(np.asarray(every, dtype=np.float64)),
        costs,
        saves_per_global,
        share_global,
        checkpoint.slowed,
        "save" in checkpoint.exposed,
        "restore" in checkpoint.exposed,
        work,
        kept,
        time,
    )
    return Followed(kept, time)


@numba.njit(cache=True, nogil=True)
def _runs(
    stretches: np.ndarray,  # (runs, n): hours from each restart to the next failure
    kind: np.ndarray,  # (runs, n): uniform draws that say which failures need the global save
    gaps: np.ndarray,  # hours from the end of a save to the begin of the next, since the restart; the last goes on
    costs: np.ndarray,  # save, global save, restore, global restore, downtime
    every: int,  # every so many saves, one is global
    share_global: float,
    slowed: float,  # share of speed lost while a save goes on
    in_save: bool,  # whether failures strike in saves
    in_restore: bool,
    work: float,  # hours of work of the job, infinite for the long run
    kept: np.ndarray,  # (runs,): hours of saved work
    time: np.ndarray,  # (runs,): hours
) -> None:
    for run in range(kept.size):
        saved, saved_globally, since_global = 0.0, 0.0, 0
        clock, level = 0.0, 0  # level of the restore that is due: 0 none, 1 local, 2 global
        finished = False
        for i in range(stretches.shape[1]):
            length = stretches[run, i]
            at = 0.0
            failed = False
            if level > 0:
                restore = costs[2] if level == 1 else costs[3]
                if in_restore:
                    failed = length < restore
                    at = restore
                else:
                    clock += restore
            done = saved
            step = 0
            while not failed:
                gap = gaps[min(step, gaps.size - 1)]
                final = done + gap >= work
                if final:
                    gap = work - done
                save = costs[1] if since_global == every - 1 else costs[0]
                begin = at + gap
                if length < begin:
                    failed = True
                    break
                captured = done + gap
                if in_save:
                    if length < begin + save:
                        failed = True
                        break
                    at = begin + save
                else:
                    at = begin
                    clock += save
                done = captured + (0.0 if final else (1.0 - slowed) * save)
                saved = captured
                since_global += 1
                if since_global == every:
                    since_global = 0
                    saved_globally = saved
                step += 1
                if final:
                    finished = True
                    break
            if finished:
                clock += at
                break
            clock += length + costs[4]
            if level == 2 and at > length:  # the global restore was not done
                continue
            if kind[run, i] < share_global:
                level = 2
                saved = saved_globally
                since_global = 0
            else:
                level = 1
        kept[run] = saved
        time[run] = clock
