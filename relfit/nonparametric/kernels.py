"""Compiled loops over the steps of every group: running sums and products, and look-ups in step functions.

A group's result depends on its own steps alone, to the last digit, however many groups there are beside it.
"""

from __future__ import annotations

import math

import numba
import numpy as np
import numpy.typing as npt

from relfit.numeric.batches import over_groups

__all__ = ["first_below", "harmonic_increments", "locate", "running_product", "running_sum"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_DIRECT = 4000  # terms of a harmonic sum that are added one by one


def running_sum(values: FloatArray, offsets: IntArray) -> FloatArray:
    """Cumulative sum within each group.

    Examples
    --------
    >>> running_sum(np.array([1.0, 2.0, 5.0]), np.array([0, 2, 3])).tolist()
    [1.0, 3.0, 5.0]
    """
    out = np.empty(values.size)
    over_groups(offsets, lambda a, b: _sum(values, offsets, out, a, b))
    return out


def running_product(factors: FloatArray, offsets: IntArray) -> FloatArray:
    """Cumulative product within each group."""
    out = np.empty(factors.size)
    over_groups(offsets, lambda a, b: _product(factors, offsets, out, a, b))
    return out


def locate(times: FloatArray, offsets: IntArray, wanted: FloatArray, right: bool = True) -> IntArray:
    """Number of entries of each group that are at or below (below, without `right`) each wanted value.

    Parameters
    ----------
    times : ndarray of float, shape (steps,)
        Rising within each group.
    offsets : ndarray of int, shape (groups + 1,)
        Where each group begins.
    wanted : ndarray of float, shape (groups, m)
        Values to look up.
    right : bool
        Whether an entry equal to the value counts.

    Returns
    -------
    ndarray of int, shape (groups, m)

    Examples
    --------
    >>> locate(np.array([1.0, 2.0]), np.array([0, 2]), np.array([[0.5, 1.0, 9.0]])).tolist()
    [[0, 1, 2]]
    """
    out = np.empty(wanted.shape, dtype=np.int64)
    _locate(times, offsets, wanted, right, out)
    return out


def first_below(curve: FloatArray, offsets: IntArray, height: float) -> IntArray:
    """Place of the first entry of each group that is at or below `height`; the group's end where there is none."""
    out = np.empty(offsets.size - 1, dtype=np.int64)
    over_groups(offsets, lambda a, b: _first_below(curve, offsets, height, out, a, b))
    return out


def harmonic_increments(at_risk: FloatArray, failures: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``sum 1/(n - i)`` and ``sum 1/(n - i)**2`` over ``i = 0 .. d - 1``, for each pair of n at risk and d failures.

    Examples
    --------
    >>> [x.round(6).tolist() for x in harmonic_increments(np.array([3.0]), np.array([2.0]))]
    [[0.833333], [0.361111]]
    """
    first, second = np.empty(at_risk.size), np.empty(at_risk.size)
    _harmonic(at_risk, failures, first, second)
    return first, second


@numba.njit(cache=True, nogil=True)
def _sum(values: np.ndarray, offsets: np.ndarray, out: np.ndarray, first: int, last: int) -> None:
    for group in range(first, last):
        total = 0.0
        for i in range(offsets[group], offsets[group + 1]):
            total += values[i]
            out[i] = total


@numba.njit(cache=True, nogil=True)
def _product(factors: np.ndarray, offsets: np.ndarray, out: np.ndarray, first: int, last: int) -> None:
    for group in range(first, last):
        total = 1.0
        for i in range(offsets[group], offsets[group + 1]):
            total *= factors[i]
            out[i] = total


@numba.njit(cache=True, nogil=True)
def _locate(times: np.ndarray, offsets: np.ndarray, wanted: np.ndarray, right: bool, out: np.ndarray) -> None:
    for group in range(offsets.size - 1):
        for k in range(wanted.shape[1]):
            value = wanted[group, k]
            low, high = offsets[group], offsets[group + 1]
            while low < high:
                middle = (low + high) // 2
                if times[middle] < value or (right and times[middle] == value):
                    low = middle + 1
                else:
                    high = middle
            out[group, k] = low - offsets[group]


@numba.njit(cache=True, nogil=True)
def _first_below(curve: np.ndarray, offsets: np.ndarray, height: float, out: np.ndarray, first: int, last: int) -> None:
    for group in range(first, last):
        place = offsets[group]
        while place < offsets[group + 1] and not curve[place] <= height:
            place += 1
        out[group] = place


@numba.njit(cache=True, nogil=True)
def _harmonic(at_risk: np.ndarray, failures: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
    for i in range(at_risk.size):
        n, d = at_risk[i], failures[i]
        low = n - d  # the sum runs over k = low + 1 .. n
        one = 0.0
        two = 0.0
        direct = min(d, float(_DIRECT))
        for j in range(int(direct)):
            k = low + 1.0 + j
            one += 1.0 / k
            two += 1.0 / (k * k)
        if d > direct:
            # the rest by Euler and Maclaurin, where k is at least 4000
            a, b = low + direct, n
            one += math.log(b / a) + (0.5 / b - 0.5 / a) - (1.0 / (b * b) - 1.0 / (a * a)) / 12.0
            two += (1.0 / a - 1.0 / b) + 0.5 * (1.0 / (b * b) - 1.0 / (a * a)) - (1.0 / b**3 - 1.0 / a**3) / 6.0
        first[i] = one
        second[i] = two
