"""Maximum likelihood of the gamma distribution with right censoring for ranges of groups, compiled; see `kernels`."""

from __future__ import annotations

import math

import numpy as np

from relfit.base.numeric import special
from relfit.base.numeric.batches import SortedLives
from relfit.base.numeric.compiled import njit
from relfit.fitting.kernels import Written, failure_sums, weibull_shape
from relfit.fitting.status import NOT_CONVERGED, OK

_STEPS = 200


@njit(cache=True, nogil=True)
def _shape_from_gap(gap: float) -> float:
    """Gamma shape at which ``log(a) - digamma(a)`` equals `gap` > 0 (log of the mean less the mean of the logs)."""
    # Minka's start, then Newton in log a on log of the score, which is close to linear
    a = (3.0 - gap + math.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
    for _ in range(60):
        value, slope = special.shape_score(a)
        step = -math.log(value / gap) * value / (slope * a)
        step = min(max(step, -3.0), 3.0)
        a *= math.exp(step)
        if abs(step) < 1e-9:
            break
    return a


@njit(cache=True, nogil=True)
def _gamma_derivatives(
    log: np.ndarray,
    observed: np.ndarray,
    begin: int,
    end: int,
    failures: int,
    log_mean: float,
    gap_sum: float,
    alpha: float,
    m: float,
    table: np.ndarray,
    work: np.ndarray,
    tails: np.ndarray,
) -> tuple[float, tuple[float, float, float, float, float]]:
    """Log-likelihood (less the constant ``-sum log t``) in (log shape, log mean), and its gradient and Hessian."""
    a = math.exp(alpha)
    score, slope = special.shape_score(a)
    ratio = log_mean - m
    rho = math.exp(ratio)
    # rho - 1 - log(rho); a mean far beyond the failures makes rho tiny, so its logarithm is not taken again
    excess = special.mean_log_minus_one(math.expm1(ratio)) if abs(ratio) < 1e-3 else rho - 1.0 - ratio
    deviation = gap_sum + failures * excess
    value = failures * special.normalised_log_gamma(a) - a * deviation
    g_a = a * (failures * score - deviation)
    g_m = -a * failures * (1.0 - rho)
    h_aa = g_a + a * a * failures * slope
    h_am = g_m
    h_mm = -a * failures * rho
    if failures < end - begin:
        special.series_table(a, table)
        log_gamma = math.lgamma(a)
        digamma = alpha - score
        shift = alpha - m
        logs, arguments = work[5], work[4]
        i = begin
        while i < end:
            count = 0
            while i < end and count < special.BLOCK:
                if not observed[i] and log[i] > -np.inf:
                    logs[count] = log[i] + shift
                    arguments[count] = math.exp(logs[count])
                    count += 1
                i += 1
            special.log_gamma_sf(a, logs, arguments, count, log_gamma, score, slope, table, work, tails)
            for j in range(count):
                d1 = tails[1, j]
                hazard = tails[3, j]
                l_ss = -hazard * (a - arguments[j] + hazard)
                l_as = -hazard * (logs[j] - digamma - d1)
                value += tails[0, j]
                g_a += a * d1 - hazard
                g_m += hazard
                h_aa += a * d1 + a * a * tails[2, j] + 2.0 * a * l_as + l_ss
                h_am -= a * l_as + l_ss
                h_mm += l_ss
    return value, (g_a, g_m, h_aa, h_am, h_mm)


@njit(cache=True, nogil=True)
def fit_gamma(  # noqa: C901 - one loop of Newton's method
    lives: SortedLives, first: int, last: int, out: Written, start: np.ndarray
) -> None:
    """Newton's method in (log shape, log mean), damped; starts from the Weibull fit of the same lives.

    `start` holds Weibull shapes and scales, NaN where they are not yet estimated.
    """
    durations, log, observed, offsets = lives
    status, parameters, covariance, loglik = out
    table = np.empty((48, 3))
    work = np.empty((6, special.BLOCK))
    tails = np.empty((4, special.BLOCK))
    for group in range(first, last):
        begin, end = offsets[group], offsets[group + 1]
        if status[group] != OK:
            continue
        failures, mean, censored = failure_sums(durations, log, observed, begin, end)
        log_sum = failures * failure_sums(log, log, observed, begin, end)[1]
        log_mean = math.log(mean)
        gap_sum = 0.0
        for i in range(begin, end):
            if observed[i]:
                delta = (durations[i] - mean) / mean
                # far from the mean the logarithm at hand keeps the digits that 1 + delta loses
                gap_sum += special.mean_log_minus_one(delta) if abs(delta) < 0.5 else delta - (log[i] - log_mean)
        if censored == 0:
            a = _shape_from_gap(gap_sum / failures)
            m = log_mean
            _, slope = special.shape_score(a)
            value = failures * special.normalised_log_gamma(a) - a * gap_sum
            h_aa = a * a * failures * slope
            h_am = 0.0
            h_mm = -a * failures
            converged = a < 1e300
        else:
            # the Weibull fit gives log E[T] and E[log T], and so a shape; its mean is capped where it has no meaning
            b = start[group, 0]
            if b > 0.0:
                log_scale = math.log(start[group, 1])
            else:
                _, b, top, _, _, a0, _, _ = weibull_shape(log, observed, begin, end, 1e-2)
                log_scale = math.log(a0 / failures) / b + top
            log_first = math.lgamma(1.0 + 1.0 / max(b, 0.05))
            alpha = math.log(_shape_from_gap(max(log_first + 0.5772156649015329 / b, 1e-12)))
            m = log_scale + min(log_first, 30.0)
            value, slopes = _gamma_derivatives(
                log, observed, begin, end, failures, log_mean, gap_sum, alpha, m, table, work, tails
            )
            converged = False
            damping = 0.0
            for _ in range(_STEPS):
                g_a, g_m, h_aa, h_am, h_mm = slopes
                accepted = False
                trace = 1e-8 * (abs(h_aa) + abs(h_mm)) + 1e-300
                for _ in range(60):
                    d_aa, d_mm = -h_aa + damping, -h_mm + damping
                    determinant = d_aa * d_mm - h_am * h_am
                    if not (determinant > 0.0 and d_aa > 0.0):
                        damping = max(4.0 * damping, trace, 0.1 * (abs(h_aa) + abs(h_mm)) * 0.01)
                        continue
                    step_a = (d_mm * g_a + h_am * g_m) / determinant
                    step_m = (d_aa * g_m + h_am * g_a) / determinant
                    size = max(abs(step_a), abs(step_m))
                    if size > 4.0:
                        step_a *= 4.0 / size
                        step_m *= 4.0 / size
                        size = 4.0
                    at = alpha + step_a, m + step_m
                    trial, slopes = _gamma_derivatives(
                        log, observed, begin, end, failures, log_mean, gap_sum, *at, table, work, tails
                    )
                    if trial >= value - 1e-11 * (1.0 + abs(value)) or (size < 1e-6 and damping == 0.0):
                        accepted = True
                        alpha, m = at
                        if damping == 0.0 and size < 1e-3:
                            converged = True
                        value = trial
                        damping = 0.0 if damping <= trace else 0.1 * damping
                        break
                    damping = max(10.0 * damping, trace, 1e-3 * (abs(h_aa) + abs(h_mm)))
                if converged or not accepted:
                    break
            g_a, g_m, h_aa, h_am, h_mm = slopes
            determinant = h_aa * h_mm - h_am * h_am
            if converged and determinant > 0.0:
                # convergence is quadratic: one more step from here needs no further look at the data
                step_a = -(h_mm * g_a - h_am * g_m) / determinant
                step_m = -(h_aa * g_m - h_am * g_a) / determinant
                value += 0.5 * (step_a * g_a + step_m * g_m)
                alpha += step_a
                m += step_m
            a = math.exp(alpha)
        determinant = h_aa * h_mm - h_am * h_am
        if not (converged and determinant > 0.0 and h_mm < 0.0):
            status[group] = NOT_CONVERGED
            continue
        scale = math.exp(m) / a
        # log scale = log mean - log shape
        v_aa = -h_mm / determinant
        v_am = h_am / determinant
        v_mm = -h_aa / determinant
        v_as = v_am - v_aa
        v_ss = v_mm - 2.0 * v_am + v_aa
        parameters[group, 0] = a
        parameters[group, 1] = scale
        covariance[group, 0, 0] = a * a * v_aa
        covariance[group, 0, 1] = covariance[group, 1, 0] = a * scale * v_as
        covariance[group, 1, 1] = scale * scale * v_ss
        loglik[group] = value - log_sum
