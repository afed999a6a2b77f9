"""Maximum likelihood with right censoring for ranges of groups, a compiled kernel per family (gamma: `gamma_kernel`).

Each kernel reads sorted durations and the status of its groups, and writes the parameters, their covariance and the
log-likelihood where an estimate exists, or that the search failed. Densities are those of `relfit.fitting.families`;
the searches run in log time, so the unit of time does not matter.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from relfit.base.arrays import FloatArray
from relfit.base.numeric import special
from relfit.base.numeric.batches import SortedLives
from relfit.base.numeric.compiled import njit
from relfit.fitting.status import NOT_CONVERGED, OK

_STEPS = 200


class Written(NamedTuple):
    """The arrays of `relfit.fitting.estimates.Estimates`."""

    status: np.ndarray
    parameters: FloatArray
    covariance: FloatArray
    loglik: FloatArray


@njit(cache=True, nogil=True)
def failure_sums(
    values: np.ndarray, log: np.ndarray, observed: np.ndarray, begin: int, end: int
) -> tuple[int, float, int]:
    """Failures of one group, the mean of their values, and censored durations above zero."""
    failures = censored = 0
    total = 0.0
    for i in range(begin, end):
        if observed[i]:
            failures += 1
            total += values[i]
        elif log[i] > -np.inf:
            censored += 1
    return failures, total / failures, censored


@njit(cache=True, nogil=True)
def weibull_shape(
    log: np.ndarray, observed: np.ndarray, begin: int, end: int, tolerance: float
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
        if abs(step) <= tolerance * b:
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
    """Profile likelihood in the shape (statistics.md); the scale follows in closed form."""
    _, log, observed, offsets = lives
    status, parameters, covariance, loglik = out
    for group in range(first, last):
        begin, end = offsets[group], offsets[group + 1]
        if status[group] != OK:
            continue
        converged, b, top, failures, mean_failure, a0, a1, a2 = weibull_shape(log, observed, begin, end, 1e-4)
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


@njit(cache=True, nogil=True)
def fit_lognormal(lives: SortedLives, first: int, last: int, out: Written) -> None:
    """Newton's method in (mean/sd, 1/sd), in which the censored likelihood is concave (Burridge 1981)."""
    durations, log, observed, offsets = lives
    status, parameters, covariance, loglik = out
    for group in range(first, last):
        begin, end = offsets[group], offsets[group + 1]
        if status[group] != OK:
            continue
        failures, mean, censored = failure_sums(log, log, observed, begin, end)
        square = 0.0
        reach = 0.0
        for i in range(begin, end):
            if observed[i]:
                square += (log[i] - mean) ** 2
            else:
                reach += max(log[i] - mean, 0.0)
        if censored == 0:
            sd = math.sqrt(square / failures)
            parameters[group, 0] = mean
            parameters[group, 1] = sd
            covariance[group, 0, 0] = sd * sd / failures
            covariance[group, 1, 1] = sd * sd / (2.0 * failures)
            covariance[group, 0, 1] = covariance[group, 1, 0] = 0.0
            loglik[group] = -failures * (special.HALF_LOG_TWO_PI + math.log(sd) + 0.5 + mean)
            continue
        # unit of the search: the spread of failures and of the censored lives beyond their mean
        unit = math.sqrt(square / failures) + reach / (failures + censored)
        theta = censored / (failures + censored)
        eta = 1.0
        s2 = square / (unit * unit)
        converged = False
        value = -np.inf
        step_theta = step_eta = 0.0
        h_tt = h_te = h_ee = 0.0
        for _ in range(_STEPS):
            trial = failures * math.log(eta) - 0.5 * (eta * eta * s2 + failures * theta * theta)
            g_t = -failures * theta
            g_e = failures / eta - eta * s2
            h_tt = -float(failures)
            h_te = 0.0
            h_ee = -failures / (eta * eta) - s2
            for i in range(begin, end):
                if not observed[i] and durations[i] > 0.0:
                    y = (log[i] - mean) / unit
                    z = eta * y - theta
                    log_above, hazard = special.log_normal_sf(z)
                    bend = hazard * (hazard - z)
                    trial += log_above
                    g_t += hazard
                    g_e -= hazard * y
                    h_tt -= bend
                    h_te += bend * y
                    h_ee -= bend * y * y
            if trial < value - 1e-12 * abs(value):
                step_theta *= 0.5
                step_eta *= 0.5
                theta -= step_theta
                eta -= step_eta
                if abs(step_eta) < 1e-15 * eta and abs(step_theta) < 1e-15 * (1.0 + abs(theta)):
                    converged = True
                    break
                continue
            value = trial
            determinant = h_tt * h_ee - h_te * h_te
            if not determinant > 0.0:
                converged = False
                break
            step_theta = -(h_ee * g_t - h_te * g_e) / determinant
            step_eta = -(h_tt * g_e - h_te * g_t) / determinant
            if converged:
                # convergence is quadratic: one more step from here needs no further look at the data
                value += 0.5 * (step_theta * g_t + step_eta * g_e)
                theta += step_theta
                eta += step_eta
                break
            if eta + step_eta <= 0.2 * eta:
                shrink = 0.8 * eta / -step_eta
                step_theta *= shrink
                step_eta *= shrink
            converged = abs(step_eta) < 1e-3 * eta and abs(step_theta) < 1e-3 * (1.0 + abs(theta))
            theta += step_theta
            eta += step_eta
        determinant = h_tt * h_ee - h_te * h_te
        if not (converged and determinant > 0.0):
            status[group] = NOT_CONVERGED
            continue
        sd = unit / eta
        parameters[group, 0] = mean + sd * theta
        parameters[group, 1] = sd
        # (theta, eta) -> (mean, sd): mean = unit theta / eta, sd = unit / eta
        v_tt = -h_ee / determinant
        v_te = h_te / determinant
        v_ee = -h_tt / determinant
        m_t = unit / eta
        m_e = -unit * theta / (eta * eta)
        s_e = -unit / (eta * eta)
        covariance[group, 0, 0] = m_t * m_t * v_tt + 2.0 * m_t * m_e * v_te + m_e * m_e * v_ee
        covariance[group, 0, 1] = covariance[group, 1, 0] = s_e * (m_t * v_te + m_e * v_ee)
        covariance[group, 1, 1] = s_e * s_e * v_ee
        loglik[group] = value - failures * (special.HALF_LOG_TWO_PI + math.log(unit) + mean)
