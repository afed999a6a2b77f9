"""Expected completion time of a job that begins anew after every failure: closed forms over arrays, in log space.

With L(x) the cumulative hazard of the system over the next x hours, T the time without failures and R the time to
restart, attempts that all meet the same system give (reliability-aware allocation, equation 6.1, made exact)::

    E = T + (E[X | X < T] + R) F / (1 - F) = integral_0^T exp(L(T) - L(x)) dx + R (exp(L(T)) - 1)

and the paper, which counts the mean life M for the time lost, ``E = T + (M + R) (exp(L(T)) - 1)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from relfit.families.distribution import log_one_minus_exp

__all__ = [
    "Attempts",
    "attempts",
    "log_expected_exact",
    "log_expected_paper",
    "log_expm1",
    "unit_grid",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Hazards = Callable[[IntArray, FloatArray], FloatArray]
"""Rows (r,) of systems and horizons (r, m) in, cumulative hazards (r, m) out."""

_BEND = 2.0  # of the grid: even in log(x / (T - x)) within this of the middle, thinner beyond
_RIGHT = float(np.arcsinh(38.0 / _BEND))
_REACHES = (38.0, 150.0, 660.0)  # how far to the left the grid goes, in log(x / T)
_FIRST_STEP = 0.16
_LEVELS = 7


def log_expm1(value: npt.ArrayLike) -> FloatArray:
    """Log of ``exp(value) - 1`` for `value` at or above zero, without overflow."""
    v = np.asarray(value, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return np.where(np.isposinf(v), np.inf, v + log_one_minus_exp(-v))


def unit_grid(step: float, reach: float = _REACHES[0]) -> tuple[FloatArray, FloatArray]:
    """Places in (0, 1) and weights of a quadrature that bears powers and steps near zero.

    The trapezoidal rule over t with ``x = 1 / (1 + exp(-s))``, ``s = 2 sinh(t)``; `reach` is minus the least log of x.
    """
    left = float(np.arcsinh(reach / _BEND))
    t = step * np.arange(-int(left / step), int(_RIGHT / step) + 1)
    s = _BEND * np.sinh(t)
    place = 1.0 / (1.0 + np.exp(-s))
    other = 1.0 / (1.0 + np.exp(np.minimum(s, 700.0)))
    return place, step * _BEND * np.cosh(t) * place * other


@dataclass(frozen=True, eq=False)
class Attempts:
    """One attempt of a job on each of several systems.

    Attributes
    ----------
    lengths : ndarray, shape (r,)
        Hours without failures.
    hazard : ndarray, shape (r,)
        Cumulative hazard over them: an attempt succeeds with probability ``exp(-hazard)``.
    log_mean : ndarray, shape (r,)
        Log of the mean time an attempt takes until it succeeds or fails, the integral of the reliability.
    """

    lengths: FloatArray
    hazard: FloatArray
    log_mean: FloatArray

    @property
    def log_failure(self) -> FloatArray:
        """Log of the probability that an attempt fails."""
        return log_one_minus_exp(-self.hazard)

    @property
    def lost(self) -> FloatArray:
        """Mean hours lost in an attempt that fails, ``E[X | X < T]``; where none can fail, half the length."""
        with np.errstate(invalid="ignore", divide="ignore", under="ignore"):
            # (A - T S) / F; for small hazards the difference cancels, and its limits are known
            value = (np.exp(self.log_mean) - self.lengths * np.exp(-self.hazard)) / -np.expm1(-self.hazard)
        return np.clip(np.where(self.hazard > 1e-9, value, 0.5 * self.lengths), 0.0, self.lengths)


def attempts(hazards: Hazards, lengths: npt.ArrayLike, tolerance: float = 1e-11, levels: int = _LEVELS) -> Attempts:
    """One attempt of `lengths` hours on each system.

    Parameters
    ----------
    hazards : callable
        Rows of systems (r,) and horizons (r, m) in, cumulative hazards (r, m) out.
    lengths : array_like, shape (r,)
        Hours, finite and above zero.
    tolerance : float
        Relative, of the mean; steps are halved up to `levels` times until two of them agree.
    """
    length = np.asarray(lengths, dtype=np.float64)
    rows = np.arange(length.size)
    hazard = hazards(rows, length[:, None])[:, 0]
    log_mean = _log_means(hazards, length, tolerance, levels)
    return Attempts(length, hazard, log_mean)


def _log_means(hazards: Hazards, length: FloatArray, tolerance: float, levels: int) -> FloatArray:
    """Log of the integral of exp(-L) from 0 to each length."""
    share = np.full(length.size, np.nan)
    rows = np.arange(length.size)
    step = _FIRST_STEP
    for _ in range(levels):
        value = _shares(hazards, rows, length[rows], step)
        agree = np.abs(value - share[rows]) <= tolerance * value
        share[rows] = value
        rows = rows[~agree]
        if rows.size == 0:
            break
        step *= 0.5
    with np.errstate(divide="ignore"):
        return np.minimum(np.log(share), 0.0) + np.log(length)


def _shares(hazards: Hazards, rows: IntArray, length: FloatArray, step: float) -> FloatArray:
    """Mean of exp(-L) over each length, on a grid that reaches as far to the left as the mass does."""
    share = np.zeros(rows.size)
    left = np.arange(rows.size)
    for reach in _REACHES:
        place, weight = unit_grid(step, reach)
        with np.errstate(under="ignore"):
            share[left] = np.exp(-hazards(rows[left], length[left, None] * place)) @ weight
        left = left[place[0] > 1e-13 * share[left]]
        if left.size == 0:
            break
    return share


def log_expected_exact(tried: Attempts, restart: float) -> FloatArray:
    """Log of the expected completion time if all attempts meet the same system, shape (r,); may exceed 709."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = tried.log_mean + tried.hazard
        if restart > 0.0:
            value = np.logaddexp(value, np.log(restart) + log_expm1(tried.hazard))
    return np.maximum(np.where(np.isnan(value), np.inf, value), np.log(tried.lengths))


def log_expected_paper(tried: Attempts, restart: float, log_mean_lost: npt.ArrayLike) -> FloatArray:
    """Log of ``T + (M + R) F / (1 - F)`` with M the mean life, as equation (6.1) is printed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.logaddexp(np.asarray(log_mean_lost, dtype=np.float64), np.log(np.float64(restart)))
        value = np.logaddexp(np.log(tried.lengths), each + log_expm1(tried.hazard))
    return np.asarray(np.where(np.isnan(value), np.log(tried.lengths), value))
