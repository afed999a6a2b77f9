"""Maximum likelihood of the Weibull distribution with right censoring for ranges of groups, compiled."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from relfit.base.arrays import FloatArray
from relfit.base.numeric.batches import SortedLives
from relfit.base.numeric.compiled import njit
from relfit.fitting.status import NOT_CONVERGED, OK

_STEPS = 200
_NEARLY = 1e-4  # relative step of the shape from which one more is the last


class Written(NamedTuple):
    """The arrays of `relfit.fitting.estimates.Estimates`."""

    status: np.ndarray
    parameters: FloatArray
    covariance: FloatArray
    loglik: FloatArray


@njit(cache=True, nogil=True)
def _shape(
    log: np.ndarray, observed: np.ndarray, begin: int, end: int
) -> tuple[bool, float, float, int, float, float, float, float]:
    """Root of the profile score in the shape; returns it with the moments of the logs weighted by ``t**shape``.

    The score ``1/b + mean(log failures) - A1(b)/A0(b)`` falls from plus infinity to a negative limit, and is positive
    below ``1/(log largest - mean(log failures))``: Newton's method inside that bracket.
    """
    top = log[end - 1]
    failures = 0
    mean_failure = 0.0
    s1 = 0.0
    s2 = 0.0
    count = 0
    for i in range(begin, end):
        z = log[i] - top
        if observed[i]:
            failures += 1
            mean_failure += z
        if z > -np.inf:
            count += 1
            s1 += z
            s2 += z * z
    mean_failure /= failures
    low = -1.0 / mean_failure
    high = np.inf
    variance = s2 / count - (s1 / count) ** 2
    b = low
    if variance > 0.0 and failures > 0.3 * count:
        b = max(low, 1.2825 / math.sqrt(variance))
    a0 = 0.0
    a1 = 0.0
    a2 = 0.0
    converged = False
    for _ in range(_STEPS):
        a0 = 0.0
        a1 = 0.0
        a2 = 0.0
        a3 = 0.0
        for i in range(begin, end):
            z = log[i] - top
            if b * z > -700.0:
                w = math.exp(b * z)
                a0 += w
                w *= z
                a1 += w
                w *= z
                a2 += w
                a3 += w * z
        m1 = a1 / a0
        m2 = a2 / a0
        score = 1.0 / b + mean_failure - m1
        if score > 0.0:
            low = max(low, b)
        else:
            high = min(high, b)
        slope = -1.0 / (b * b) - (m2 - m1 * m1)
        bend = 2.0 / (b * b * b) - (a3 / a0 - 3.0 * m1 * m2 + 2.0 * m1 * m1 * m1)
        step = -score / slope
        # Halley's correction, where it does not turn the step round
        correction = 1.0 + 0.5 * step * bend / slope
        if correction > 0.3:
            step /= correction
        if converged:
            break
        if abs(step) <= _NEARLY * b:
            # one more pass brings the sums in line with the final shape
            b += step
            converged = True
            continue
        trial = b + step
        if not low < trial < high:
            trial = 0.5 * (low + high) if high < np.inf else 2.0 * b
        if trial == b:
            converged = True
            continue
        b = trial
    return converged, b, top, failures, mean_failure, a0, a1, a2


@njit(cache=True, nogil=True)
def fit_weibull(lives: SortedLives, first: int, last: int, out: Written) -> None:
    """Profile likelihood in the shape (statistics.md); the scale follows in closed form.

    Reads sorted durations and the status of the groups, and writes the parameters, their covariance and the
    log-likelihood where an estimate exists, or that the search failed. The search runs in log time, so the unit of time
    does not matter.
    """
    _, log, observed, offsets = lives
    status, parameters, covariance, loglik = out
    for group in range(first, last):
        begin, end = offsets[group], offsets[group + 1]
        if status[group] != OK:
            continue
        converged, b, top, failures, mean_failure, a0, a1, a2 = _shape(log, observed, begin, end)
        if not converged:
            status[group] = NOT_CONVERGED
            continue
        log_scale = math.log(a0 / failures) / b  # relative to the largest life
        # information in (log shape, log scale), from q = b (z - log_scale) and w = exp(q)
        w_sum = failures
        qw = failures * b * (a1 / a0 - log_scale)
        qqw = failures * b * b * (a2 / a0 - 2.0 * log_scale * a1 / a0 + log_scale * log_scale)
        i_bb = failures + qqw
        i_bs = -b * qw
        i_ss = b * b * w_sum
        determinant = i_bb * i_ss - i_bs * i_bs
        if not (determinant > 0.0 and b < 1e300):
            status[group] = NOT_CONVERGED
            continue
        scale = math.exp(top + log_scale)
        parameters[group, 0] = b
        parameters[group, 1] = scale
        covariance[group, 0, 0] = b * b * i_ss / determinant
        covariance[group, 0, 1] = covariance[group, 1, 0] = -b * scale * i_bs / determinant
        covariance[group, 1, 1] = scale * scale * i_bb / determinant
        loglik[group] = failures * (math.log(b) + b * (mean_failure - log_scale) - (mean_failure + top) - 1.0)
