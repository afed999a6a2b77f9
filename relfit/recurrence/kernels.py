"""Compiled loops of the room: the mean cumulative function with its robust variance, inversions, virtual ages."""

from __future__ import annotations

import math

import numba
import numpy as np

__all__ = ["inversions", "kijima_log_likelihood", "mean_cumulative_steps", "weibull_hazards"]


@numba.njit(cache=True, nogil=True)
def mean_cumulative_steps(
    step_offsets: np.ndarray,  # where the steps of each group begin
    step_times: np.ndarray,
    event_offsets: np.ndarray,  # where the events of each step begin
    event_history: np.ndarray,  # history of each event, sorted by group and time
    copy_offsets: np.ndarray,  # where the histories of each group begin in the two orders below
    by_begin: np.ndarray,
    by_end: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    weight: np.ndarray,  # of each step
    at_risk: np.ndarray,
    value: np.ndarray,
    robust: np.ndarray,
    poisson: np.ndarray,
    earned: np.ndarray,  # scratch, one entry a history
    base: np.ndarray,  # scratch, one entry a history
    first: int,
    last: int,
) -> None:
    """Mean cumulative function at every step and its two variances, for the groups first..last.

    The residual of a history is its weighted events less what the mean would have given it while it was watched. Sums
    of the residuals and of their squares over those under observation are carried along, so that the work grows with
    the events and not with events times histories.
    """
    for group in range(first, last):
        coming, leaving = copy_offsets[group], copy_offsets[group]
        stop = copy_offsets[group + 1]
        total, risk, drift, linear, square, frozen, spread = 0.0, 0, 0.0, 0.0, 0.0, 0.0, 0.0
        for step in range(step_offsets[group], step_offsets[group + 1]):
            now = step_times[step]
            while coming < stop and begin[by_begin[coming]] <= now:
                history = by_begin[coming]
                base[history] = drift
                earned[history] = 0.0
                risk += 1
                coming += 1
            while leaving < stop and end[by_end[leaving]] < now:
                history = by_end[leaving]
                residual = earned[history] - (drift - base[history])
                linear -= residual
                square -= residual * residual
                frozen += residual * residual
                risk -= 1
                leaving += 1
            events = event_offsets[step + 1] - event_offsets[step]
            share = weight[step] / risk
            loss = share * events / risk
            square += risk * loss * loss - 2.0 * loss * linear
            linear -= risk * loss
            drift += loss
            for event in range(event_offsets[step], event_offsets[step + 1]):
                history = event_history[event]
                residual = earned[history] - (drift - base[history])
                linear += share
                square += share * (2.0 * residual + share)
                earned[history] += share
            total += share * events
            spread += share * share * events
            at_risk[step] = risk
            value[step] = total
            robust[step] = max(frozen + square, 0.0)
            poisson[step] = spread


@numba.njit(cache=True, nogil=True)
def inversions(values: np.ndarray, offsets: np.ndarray, rising: np.ndarray, tied: np.ndarray, first: int, last: int):  # type: ignore[no-untyped-def]
    """Pairs of each group that rise, and what ties take from the variance: ``rising - falling`` and two tie sums.

    `rising` takes the number of rising less that of falling pairs, `tied` (shape (groups, 3)) the sums of ``t (t-1)
    (2t+5)``, ``t (t-1) (t-2)`` and ``t (t-1)`` over runs of equal values. Merge sort, so n log n.
    """
    for group in range(first, last):
        begin, end = offsets[group], offsets[group + 1]
        size = end - begin
        work = values[begin:end].copy()
        spare = np.empty(size)
        falling = 0
        width = 1
        while width < size:
            for low in range(0, size, 2 * width):
                middle = min(low + width, size)
                high = min(low + 2 * width, size)
                i, j = low, middle
                for k in range(low, high):
                    if i < middle and (j >= high or work[i] <= work[j]):
                        spare[k] = work[i]
                        i += 1
                    else:
                        spare[k] = work[j]
                        j += 1
                        falling += middle - i
            work, spare = spare, work
            width *= 2
        ties = 0.0
        i = 0
        tied[group, 0] = 0.0
        tied[group, 1] = 0.0
        while i < size:
            j = i
            while j < size and work[j] == work[i]:
                j += 1
            t = float(j - i)
            tied[group, 0] += t * (t - 1.0) * (2.0 * t + 5.0)
            tied[group, 1] += t * (t - 1.0) * (t - 2.0)
            ties += t * (t - 1.0)
            i = j
        tied[group, 2] = ties
        rising[group] = 0.5 * size * (size - 1.0) - 0.5 * ties - 2.0 * falling


@numba.njit(cache=True, nogil=True)
def kijima_log_likelihood(
    gaps: np.ndarray,  # of the events
    tails: np.ndarray,  # hours after the last event, a history
    offsets: np.ndarray,  # of the events, by history
    group: np.ndarray,  # of each history
    second: bool,  # Kijima II
    shape: np.ndarray,  # (trials, groups)
    log_scale: np.ndarray,
    kept: np.ndarray,  # share of the age that a repair leaves
    out: np.ndarray,  # (trials, histories)
    first: int,
    last: int,
) -> None:
    """Log-likelihood of a Weibull life with virtual ages, for the histories first..last and every trial."""
    for history in range(first, last):
        owner = group[history]
        for trial in range(shape.shape[0]):
            b, mu, q = shape[trial, owner], log_scale[trial, owner], kept[trial, owner]
            constant = math.log(b) - mu
            total = 0.0
            age = 0.0
            before = 0.0  # cumulative hazard at the age
            for event in range(offsets[history], offsets[history + 1]):
                reached = age + gaps[event]
                log_reached = math.log(reached) - mu if reached > 0.0 else -math.inf
                total += constant + (b - 1.0) * log_reached - math.exp(b * log_reached) + before
                age = q * reached if second else age + q * gaps[event]
                before = math.exp(b * (math.log(age) - mu)) if age > 0.0 else 0.0
            if tails[history] > 0.0:
                total += before - math.exp(b * (math.log(age + tails[history]) - mu))
            out[trial, history] = total


@numba.njit(cache=True, nogil=True)
def weibull_hazards(
    log_gaps: np.ndarray,  # of the events
    log_tails: np.ndarray,  # of the hours after the last event, a history; minus infinity where they do not count
    offsets: np.ndarray,  # of the events, by history
    group: np.ndarray,  # of each history
    shape: np.ndarray,  # (trials, groups)
    log_scale: np.ndarray,
    out: np.ndarray,  # (trials, histories)
    first: int,
    last: int,
) -> None:
    """Sum of the cumulative Weibull hazards of the gaps and the tail, for the histories first..last and every trial."""
    for trial in range(shape.shape[0]):
        for history in range(first, last):
            owner = group[history]
            b, mu = shape[trial, owner], log_scale[trial, owner]
            total = math.exp(b * (log_tails[history] - mu))
            for event in range(offsets[history], offsets[history + 1]):
                total += math.exp(b * (log_gaps[event] - mu))
            out[trial, history] = total
