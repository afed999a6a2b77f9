"""Jobs that migrate on alarms, one event after the other: compiled, with limits of the share of time lost."""

from __future__ import annotations

import numba
import numpy as np
from scipy import special

from relfit.arguments import FloatArray

__all__ = ["predicted_runs", "share_of_time"]


@numba.njit(cache=True, nogil=True)
def predicted_runs(
    failures: np.ndarray,  # (runs, n): hours between the failures of a job, by its own clock
    draws: np.ndarray,  # (runs, n, 2): uniform draws: whether a failure is predicted, whether in time
    alarms: np.ndarray,  # (runs, m): hours between false alarms
    recall: float,
    in_time: float,
    interval: float,
    costs: np.ndarray,  # save, restore, downtime, migration
    kept: np.ndarray,
    time: np.ndarray,
    counts: np.ndarray,  # (runs, 3): failures that struck, failures avoided, false alarms
    first: int,
    last: int,
) -> None:
    """Jobs that save at a fixed interval and migrate on every alarm, until the failures or alarms are used up.

    A predicted failure strikes after the job has gone. Failures that were not predicted strike in work, saves,
    migrations and restores; during a migration no further alarm is heeded, and its failure strikes an empty node.
    """
    for run in range(first, last):
        clock, saved, done = 0.0, 0.0, 0.0
        phase, left = 0, interval  # 0 work, 1 save, 2 restore; hours left of it
        moving = 0.0  # hours left of a migration
        i, j = 0, 0
        to_failure, to_alarm = failures[run, 0], alarms[run, 0]
        while True:
            now = moving if moving > 0.0 else left
            step = min(now, to_failure, to_alarm)
            clock += step
            to_failure -= step
            to_alarm -= step
            if moving > 0.0:
                moving -= step
            else:
                left -= step
                if phase == 0:
                    done += step
            if to_failure <= 0.0:
                known = draws[run, i, 0] < recall and draws[run, i, 1] < in_time
                i += 1
                if i >= failures.shape[1]:
                    if known:  # the job goes on: what it has done is not lost
                        saved = done
                    break
                to_failure = failures[run, i]
                if known:
                    counts[run, 1] += 1
                    if moving <= 0.0:
                        moving = costs[3]
                    continue
                counts[run, 0] += 1
                clock += costs[2]
                done = saved
                phase, left, moving = 2, costs[1], 0.0
            elif to_alarm <= 0.0:
                counts[run, 2] += 1
                j += 1
                if j >= alarms.shape[1]:
                    saved = done
                    break
                to_alarm = alarms[run, j]
                if moving <= 0.0:
                    moving = costs[3]
            elif moving <= 0.0 and left <= 0.0:
                if phase == 0:
                    phase, left = 1, costs[0]
                elif phase == 1:
                    saved = done
                    phase, left = 0, interval
                else:
                    phase, left = 0, interval
        kept[run] = saved
        time[run] = clock


def share_of_time(kept: FloatArray, time: FloatArray, level: float) -> tuple[float, float, float]:
    """Waste over all runs, with normal limits by the spread between runs (a ratio's linearised variance)."""
    ratio = kept.sum() / time.sum()
    error = float(np.std(kept - ratio * time, ddof=1) / (np.sqrt(kept.size) * time.mean()))
    far = float(special.ndtri(0.5 + 0.5 * level)) * error
    return float(1.0 - ratio), float(1.0 - ratio - far), float(1.0 - ratio + far)
