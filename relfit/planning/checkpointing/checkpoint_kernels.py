"""Compiled event loops: jobs that work, save, fail and restore, one after another event, given when failures come."""

from __future__ import annotations

import math

import numba
import numpy as np

__all__ = ["ageing_runs", "checkpointed_runs", "predicted_runs"]


@numba.njit(cache=True, nogil=True)
def checkpointed_runs(
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
    failures: np.ndarray,  # (runs,)
    first: int,
    last: int,
) -> None:
    """Follow the runs first..last until their work is done or their failures are used up."""
    for run in range(first, last):
        saved, saved_globally, since_global = 0.0, 0.0, 0
        clock, level = 0.0, 0  # level of the restore that is due: 0 none, 1 local, 2 global
        finished = False
        count = 0
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
            count += 1
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
        failures[run] = count


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


@numba.njit(cache=True, nogil=True)
def _hazard_until(
    born: np.ndarray, kind: np.ndarray, log_age: np.ndarray, log_hazard: np.ndarray, now: float, ahead: float
) -> float:
    """Cumulative hazard of all nodes over the hours ahead, from tables that are linear between logs."""
    step = log_age[1] - log_age[0]
    last = log_age.size - 2
    total = 0.0
    for node in range(born.size):
        age = now - born[node]
        for end in range(2):
            value = age + ahead if end == 1 else age
            if value > 0.0:
                place = (math.log(value) - log_age[0]) / step
                i = min(max(int(place), 0), last)
                row = log_hazard[kind[node]]
                part = math.exp(row[i] + (row[i + 1] - row[i]) * (place - i))
                total += part if end == 1 else -part
    return total


@numba.njit(cache=True, nogil=True)
def ageing_runs(
    instants: np.ndarray,  # (runs, n): when nodes fail, on the clock that stops in downtimes
    who: np.ndarray,  # (runs, n): which node
    ages: np.ndarray,  # of the nodes at the begin
    kind: np.ndarray,  # row of each node in the tables
    log_age: np.ndarray,
    log_hazard: np.ndarray,  # (kinds, m): logs of cumulative hazards
    interval: float,  # hours of work between saves; zero for the rule by hazard
    costs: np.ndarray,  # save, restore, downtime
    in_save: bool,
    in_restore: bool,
    kept: np.ndarray,
    time: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Follow jobs on nodes of which only the one that failed is new after a restart."""
    born = np.empty(ages.size)
    for run in range(first, last):
        for node in range(ages.size):
            born[node] = -ages[node]
        now, aside, saved = 0.0, 0.0, 0.0
        w = interval
        guess = 1.0
        for i in range(instants.shape[1]):
            stop = instants[run, i]
            at = now
            if i > 0:
                if in_restore:
                    at += costs[1]
                else:
                    aside += costs[1]
            while at < stop:
                if interval == 0.0:
                    w = guess
                    for _ in range(12):  # w (H(t + w) - H(t)) = 2 C
                        hazard = _hazard_until(born, kind, log_age, log_hazard, at, w)
                        new = math.sqrt(2.0 * costs[0] * w / max(hazard, 1e-300))
                        close = abs(new - w) < 1e-3 * w
                        w = new
                        if close:
                            break
                    guess = w
                if at + w + (costs[0] if in_save else 0.0) > stop:
                    break
                at += w
                if in_save:
                    at += costs[0]
                else:
                    aside += costs[0]
                saved += w
            now = stop
            aside += costs[2]
            born[who[run, i]] = now
        kept[run] = saved
        time[run] = now + aside
