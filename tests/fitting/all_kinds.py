"""Random lives of every kind, and their likelihood computed apart from relfit, with NumPy and SciPy alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special

import relfit as rf

FAMILIES = ("exponential", "weibull", "gamma", "lognormal")


def random_lives(groups: int, seed: int) -> rf.LifeData:
    """Groups of 2-8 lives: ties, zeros, all kinds of censoring and truncation, weights, twelve orders of magnitude."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, groups)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    own = np.repeat(np.arange(groups), sizes)
    n = own.size

    def by_group(values: list[float], p: list[float] | None = None) -> np.ndarray:
        return rng.choice(values, groups, p=p)[own]

    orders = by_group([0.2, 1.0, 2.0, 6.0, 12.0])
    life = 10.0 ** ((rng.random(n) - 0.5) * orders)
    life = np.where((rng.random(groups) < 0.3)[own], np.ceil(life * 2.0) / 2.0, life)
    life *= by_group([1.0, 1e-6, 1e-3, 1e3, 1e6])
    life[rng.random(n) < by_group([0.0, 0.02], [0.7, 0.3])] = 0.0
    observed = rng.random(n) < by_group([0.1, 0.5, 0.9, 1.0])
    upper = np.full(n, np.inf)
    # intervals, whose lower end is the life; left-censored lives, known only to have ended by then
    between = ~observed & (rng.random(n) < by_group([0.0, 0.5, 1.0]))
    upper = np.where(between, life * 10.0 ** (rng.random(n) * by_group([0.1, 1.0, 4.0])), upper)
    left = between & (rng.random(n) < by_group([0.0, 0.5])) & (life > 0.0)
    upper, life = np.where(left, life, upper), np.where(left, 0.0, life)
    ends = np.where(observed, life, upper)
    share = np.where(rng.random(n) < by_group([0.0, 0.5, 1.0], [0.6, 0.2, 0.2]), rng.random(n), 0.0)
    entry = life * np.where(rng.random(n) < 0.02, 1.0, share) * (share > 0.0)
    cut = np.isfinite(ends) & (ends > 0.0) & (rng.random(n) < by_group([0.0, 0.5, 1.0], [0.8, 0.1, 0.1]))
    leave = np.where(cut, ends * 10.0 ** (3.0 * rng.random(n)), np.inf)
    weights = np.where((rng.random(groups) < 0.2)[own], rng.integers(0, 6, n), 1)
    return rf.LifeData(
        life,
        observed,
        offsets,
        pd.RangeIndex(groups, name="group"),
        upper=upper,
        entry=entry,
        exit=leave,
        weights=weights,
    )


def _log_weibull_sf(t: np.ndarray, shape: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return -np.exp(shape * (np.log(t) - np.log(scale)))


def log_sf(family: str, t: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Log of the survival function, parameters along the last axis."""
    if family == "exponential":
        return -p[..., 0] * t
    if family == "weibull":
        return np.where(t > 0.0, _log_weibull_sf(t, p[..., 0], p[..., 1]), 0.0)
    if family == "gamma":
        upper = special.gammaincc(p[..., 0], t / p[..., 1])
        lower = special.gammainc(p[..., 0], t / p[..., 1])
        return np.where(upper > 0.5, np.log1p(-lower), np.log(upper))
    return special.log_ndtr((p[..., 0] - np.log(t)) / p[..., 1])


def log_cdf(family: str, t: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Log of the distribution function."""
    if family == "gamma":
        upper = special.gammaincc(p[..., 0], t / p[..., 1])
        lower = special.gammainc(p[..., 0], t / p[..., 1])
        return np.where(lower > 0.5, np.log1p(-upper), np.log(lower))
    if family == "lognormal":
        return special.log_ndtr((np.log(t) - p[..., 0]) / p[..., 1])
    above = log_sf(family, t, p)
    return np.where(above > -1e-300, np.where(t > 0.0, np.log(-above), -np.inf), np.log(-np.expm1(above)))


def log_pdf(family: str, t: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Log of the density."""
    if family == "exponential":
        return np.log(p[..., 0]) - p[..., 0] * t
    if family == "weibull":
        z = np.log(t) - np.log(p[..., 1])
        return np.log(p[..., 0]) - np.log(t) + p[..., 0] * z - np.exp(p[..., 0] * z)
    if family == "gamma":
        z = t / p[..., 1]
        return p[..., 0] * np.log(z) - np.log(t) - z - special.gammaln(p[..., 0])
    z = (np.log(t) - p[..., 0]) / p[..., 1]
    return -0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - np.log(p[..., 1]) - np.log(t)


def log_between(family: str, low: np.ndarray, high: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Log of the probability to fail in ``(low, high]``, from the tail in which it loses fewer digits."""
    with np.errstate(all="ignore"):
        s0, s1 = log_sf(family, low, p), log_sf(family, high, p)
        f0, f1 = log_cdf(family, low, p), log_cdf(family, high, p)
        s1, f0 = np.where(np.isinf(high), -np.inf, s1), np.where(low == 0.0, -np.inf, f0)
        f1, s0 = np.where(np.isinf(high), 0.0, f1), np.where(low == 0.0, 0.0, s0)
        by_sf = s0 + np.log(-np.expm1(s1 - s0))
        by_cdf = f1 + np.log(-np.expm1(f0 - f1))
        return np.where(s0 < f1, by_sf, by_cdf)


def log_likelihood(family: str, parameters: np.ndarray, lives: rf.LifeData) -> np.ndarray:
    """Of every group; `parameters` has shape (..., groups, k), the result (..., groups)."""
    codes = lives.group_codes()
    p = parameters[..., codes, :]
    with np.errstate(all="ignore"):
        value = np.where(
            lives.observed,
            log_pdf(family, lives.durations, p),
            log_between(family, lives.durations, lives.ends, p),
        )
        if lives.entry is not None or lives.exit is not None:
            entry = np.zeros(codes.size) if lives.entry is None else lives.entry
            leave = np.full(codes.size, np.inf) if lives.exit is None else lives.exit
            cut = (entry > 0.0) | np.isfinite(leave)
            rows = np.flatnonzero(cut)
            value[..., rows] -= log_between(family, entry[rows], leave[rows], p[..., rows, :])
        if lives.weights is not None:
            value = np.where(lives.weights > 0, value * lives.weights, 0.0)
    sums = np.zeros((*value.shape[:-1], lives.n_groups))
    filled = lives.sizes > 0
    sums[..., filled] = np.add.reduceat(value, lives.offsets[:-1][filled], axis=-1)
    return sums


def to_logs(family: str, p: np.ndarray) -> np.ndarray:
    """Parameters on unbounded scales; for the gamma, logs of shape and mean."""
    if family == "lognormal":
        return np.stack([p[..., 0], np.log(p[..., 1])], axis=-1)
    logs = np.log(p)
    if family == "gamma":
        logs[..., 1] += logs[..., 0]
    return logs


def from_logs(family: str, u: np.ndarray) -> np.ndarray:
    """The way back from `to_logs`."""
    with np.errstate(over="ignore"):
        if family == "lognormal":
            return np.stack([u[..., 0], np.exp(u[..., 1])], axis=-1)
        if family == "gamma":
            return np.exp(np.stack([u[..., 0], u[..., 1] - u[..., 0]], axis=-1))
        return np.exp(u)


def _axes(family: str, p: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Principal axes of the covariance on the scales of `to_logs`, each a standard error long, shape (groups, k, k)."""
    k = p.shape[1]
    slope = np.zeros((*p.shape, k))
    for i in range(k):
        slope[:, i, i] = 1.0 if (family, i) == ("lognormal", 0) else 1.0 / p[:, i]
    if family == "gamma":
        slope[:, 1, 0] = 1.0 / p[:, 0]
    values, vectors = np.linalg.eigh(slope @ covariance @ np.swapaxes(slope, 1, 2))
    return vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]


def check_maximum(
    family: str, parameters: np.ndarray, covariance: np.ndarray, loglik: np.ndarray, lives: rf.LifeData
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether estimates are maxima, each of shape (groups,).

    Returns the largest component of the gradient in units of standard errors; by how much the likelihood is higher at
    the highest of the points around; and whether NumPy's likelihood has the digits to say so.
    """
    at = to_logs(family, parameters)
    axes = _axes(family, parameters, covariance)
    k = at.shape[1]
    base = log_likelihood(family, parameters, lives)
    exact = np.isfinite(base) & (np.abs(base - loglik) < 1e-9 * (1.0 + np.abs(base)))
    step = np.minimum(1e-2, 3e-3 / np.maximum(np.abs(axes).max(axis=1), 1e-300))  # short in logs too
    gradient = np.zeros(base.size)
    rise = np.full(base.size, -np.inf)
    with np.errstate(all="ignore"):
        for i in range(k):
            moves = np.array([1.0, -1.0, 2.0, -2.0])[:, None, None] * (step[:, i : i + 1] * axes[:, :, i])
            up, down, far_up, far_down = log_likelihood(family, from_logs(family, at + moves), lives)
            gradient = np.maximum(gradient, np.abs((8.0 * (up - down) - (far_up - far_down)) / (12.0 * step[:, i])))
        directions = np.array([[1.0]]) if k == 1 else np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [0.7, -0.7]])
        for direction in directions:
            along = np.einsum("gij,j->gi", axes, direction)
            for size in (-1.0, -0.3, -0.05, 0.05, 0.3, 1.0):
                rise = np.fmax(rise, log_likelihood(family, from_logs(family, at + size * along), lives) - base)
    return gradient, rise, exact
