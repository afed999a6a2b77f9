"""Compiled: how the variances of sums over the first k nodes grow, node by node, where nodes share fits."""

from __future__ import annotations

import numba
import numpy as np

__all__ = ["prefix_integral_variances", "prefix_variances"]


@numba.njit(cache=True, nogil=True)
def prefix_variances(slope: np.ndarray, source: np.ndarray, total: np.ndarray, out: np.ndarray) -> None:
    """What each node adds to the variance of the sum over the nodes before it and itself.

    Parameters
    ----------
    slope : float (nodes, m, q)
        Derivative at m times by q uncorrelated standard coordinates of the node's source.
    source : int (nodes,)
    total : float (sources, m, q)
        Sums of the slopes by source, so far; brought up to date.
    out : float (nodes, m), added to
    """
    for i in range(slope.shape[0]):
        s = source[i]
        for x in range(slope.shape[1]):
            more = 0.0
            for j in range(slope.shape[2]):
                d = slope[i, x, j]
                more += d * (2.0 * total[s, x, j] + d)
                total[s, x, j] += d
            out[i, x] += more


@numba.njit(cache=True, nogil=True)
def prefix_integral_variances(
    value: np.ndarray,
    slope: np.ndarray,
    source: np.ndarray,
    weight: np.ndarray,
    hazard: np.ndarray,
    total: np.ndarray,
    covariance: np.ndarray,
    out: np.ndarray,
) -> None:
    """Variance of the integral of the reliability of the first k nodes, for every k.

    The integral's derivative by the hazard at a time is minus the reliability there, so its variance is a quadratic
    form in the covariance of the hazards at any two times, which grows node by node.

    Parameters
    ----------
    value : float (nodes, m)
        Further cumulative hazard of each node at rising times.
    slope : float (nodes, m, q)
        As in `prefix_variances`.
    source : int (nodes,)
    weight : float (m,)
        Of the quadrature.
    hazard : float (m,)
        Sum of the hazards so far; brought up to date.
    total : float (sources, m, q)
    covariance : float (m, m)
        Upper triangle of the covariance so far; brought up to date for times at which reliability is left.
    out : float (nodes,), written
    """
    m, q = slope.shape[1], slope.shape[2]
    pull = np.empty(m)
    for i in range(slope.shape[0]):
        s = source[i]
        last = 0
        for x in range(m):
            hazard[x] += value[i, x]
            pull[x] = weight[x] * np.exp(-hazard[x]) if hazard[x] < 40.0 else 0.0
            if pull[x] > 0.0:
                last = x + 1  # later nodes only lower what is left beyond
        for j in range(q):
            for x in range(last):
                d, g = slope[i, x, j], total[s, x, j]
                if d == 0.0 and g == 0.0:
                    continue
                for y in range(x, last):
                    e = slope[i, y, j]
                    covariance[x, y] += d * (total[s, y, j] + e) + g * e
            for x in range(last):
                total[s, x, j] += slope[i, x, j]
        sum_ = 0.0
        for x in range(last):
            row = 0.5 * pull[x] * covariance[x, x]
            for y in range(x + 1, last):
                row += pull[y] * covariance[x, y]
            sum_ += 2.0 * pull[x] * row
        out[i] = sum_
