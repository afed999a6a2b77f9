"""Maximum likelihood with right censoring for ranges of groups, one compiled kernel per family.

Each kernel reads sorted durations and the status of its groups, and writes the parameters, their covariance and the
log-likelihood where an estimate exists, or that the search failed. Densities are those of `relfit.fitting.families`;
the searches run in log time, so the unit of time does not matter.
"""

from __future__ import annotations

import math

import numpy as np

from relfit.base.numeric import special
from relfit.base.numeric.compiled import njit
from relfit.fitting.status import NOT_CONVERGED, OK

__all__ = ["fit_gamma", "fit_lognormal", "fit_weibull"]

_STEPS = 200


@njit(cache=True, nogil=True)
def _failures(
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
def _weibull_shape(
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
def fit_weibull(
    durations: np.ndarray, log: np.ndarray, observed: np.ndarray, offsets: np.ndarray, first: int, last: int,
    status: np.ndarray, parameters: np.ndarray, covariance: np.ndarray, loglik: np.ndarray,
) -> None:  # fmt: skip
    """Profile likelihood in the shape (statistics.md); the scale follows in closed form."""
    for group in range(first, last):
        begin, end = offsets[group], offsets[group + 1]
        if status[group] != OK:
            continue
        converged, b, top, failures, mean_failure, a0, a1, a2 = _weibull_shape(log, observed, begin, end, 1e-4)
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
def fit_lognormal(
    durations: np.ndarray, log: np.ndarray, observed: np.ndarray, offsets: np.ndarray, first: int, last: int,
    status: np.ndarray, parameters: np.ndarray, covariance: np.ndarray, loglik: np.ndarray,
) -> None:  # fmt: skip
    """Newton's method in (mean/sd, 1/sd), in which the censored likelihood is concave (Burridge 1981)."""
    for group in range(first, last):
        begin, end = offsets[group], offsets[group + 1]
        if status[group] != OK:
            continue
        failures, mean, censored = _failures(log, log, observed, begin, end)
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
def _gamma_derivatives(  # noqa: PLR0913 - compiled: flat arrays
    log: np.ndarray, observed: np.ndarray, begin: int, end: int, failures: int, log_mean: float, gap_sum: float,
    alpha: float, m: float, table: np.ndarray, work: np.ndarray, tails: np.ndarray, out: np.ndarray,
) -> float:  # fmt: skip
    """Log-likelihood (less the constant ``-sum log t``) in (log shape, log mean), its gradient and Hessian in `out`."""
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
    out[0] = g_a
    out[1] = g_m
    out[2] = h_aa
    out[3] = h_am
    out[4] = h_mm
    return value


@njit(cache=True, nogil=True)
def fit_gamma(  # noqa: C901 - one loop of Newton's method
    durations: np.ndarray, log: np.ndarray, observed: np.ndarray, offsets: np.ndarray, first: int, last: int,
    status: np.ndarray, parameters: np.ndarray, covariance: np.ndarray, loglik: np.ndarray,
    start: np.ndarray,
) -> None:  # fmt: skip
    """Newton's method in (log shape, log mean), damped; starts from the Weibull fit of the same lives.

    `start` holds Weibull shapes and scales, NaN where they are still to be found.
    """
    table = np.empty((48, 3))
    work = np.empty((6, special.BLOCK))
    tails = np.empty((4, special.BLOCK))
    out = np.empty(5)
    for group in range(first, last):
        begin, end = offsets[group], offsets[group + 1]
        if status[group] != OK:
            continue
        failures, mean, censored = _failures(durations, log, observed, begin, end)
        log_sum = failures * _failures(log, log, observed, begin, end)[1]
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
                _, b, top, _, _, a0, _, _ = _weibull_shape(log, observed, begin, end, 1e-2)
                log_scale = math.log(a0 / failures) / b + top
            log_first = math.lgamma(1.0 + 1.0 / max(b, 0.05))
            alpha = math.log(_shape_from_gap(max(log_first + 0.5772156649015329 / b, 1e-12)))
            m = log_scale + min(log_first, 30.0)
            value = _gamma_derivatives(
                log, observed, begin, end, failures, log_mean, gap_sum, alpha, m, table, work, tails, out
            )
            converged = False
            damping = 0.0
            for _ in range(_STEPS):
                g_a, g_m, h_aa, h_am, h_mm = out[0], out[1], out[2], out[3], out[4]
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
                    trial = _gamma_derivatives(
                        log, observed, begin, end, failures, log_mean, gap_sum, alpha + step_a, m + step_m, table,
                        work, tails, out,
                    )  # fmt: skip
                    if trial >= value - 1e-11 * (1.0 + abs(value)) or (size < 1e-6 and damping == 0.0):
                        accepted = True
                        alpha += step_a
                        m += step_m
                        if damping == 0.0 and size < 1e-3:
                            converged = True
                        value = trial
                        damping = 0.0 if damping <= trace else 0.1 * damping
                        break
                    damping = max(10.0 * damping, trace, 1e-3 * (abs(h_aa) + abs(h_mm)))
                if converged or not accepted:
                    break
            g_a, g_m, h_aa, h_am, h_mm = out[0], out[1], out[2], out[3], out[4]
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
