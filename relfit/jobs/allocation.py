"""Which idle nodes a job gets: RA, RAS, LJRAS, round robin and ALL; `relfit.jobs.ra_opt` is RA-Opt.

A policy is a function of the nodes' cumulative hazards over the length of the job and of who is idle, so that a
simulator of a cluster can ask it at any moment. The policies are those of reliability-aware allocation, chapters 5 and
6.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.arguments import durations
from relfit.arrays import BoolArray, FloatArray, IntArray
from relfit.errors import ArgumentError

__all__ = ["most_reliable", "pick_all", "pick_by_length", "pick_round_robin", "pick_window"]


LONG_JOB = 24.0
"""Hours above which LJRAS takes a job for a long one."""


def most_reliable(hazards: npt.ArrayLike, idle: npt.ArrayLike, size: int) -> IntArray | None:
    """RA: the `size` most reliable idle nodes, ties by position; None where fewer are idle.

    Parameters
    ----------
    hazards : array_like, shape (n,)
        Cumulative hazard of each node over the length of the job; the reliability is ``exp(-hazard)``.
    idle : array_like of bool, shape (n,)
    size : int

    Examples
    --------
    >>> most_reliable([0.3, 0.1, 0.2, 0.1], [True, True, True, False], 2).tolist()
    [1, 2]
    """
    hazard, free = _checked(hazards, idle, size)
    places = np.flatnonzero(free)
    return None if places.size < size else np.sort(places[np.argsort(hazard[places], kind="stable")[:size]])


def pick_window(hazards: npt.ArrayLike, idle: npt.ArrayLike, size: int, *, reliable: bool = True) -> IntArray | None:
    """RAS: the `size` adjacent idle nodes with the highest reliability together; None where no so many are adjacent.

    Adjacent are nodes of consecutive positions. Ties go to the lower positions. With ``reliable=False`` the window of
    the lowest reliability, which LJRAS gives to short jobs.

    Examples
    --------
    >>> pick_window([0.3, 0.1, 0.2, 0.1, 0.1], [True, True, True, False, True], 2).tolist()
    [1, 2]
    """
    hazard, free = _checked(hazards, idle, size)
    if size > hazard.size:
        return None
    busy = np.concatenate([[0], np.cumsum(~free)])
    starts = np.flatnonzero(busy[size:] == busy[:-size])
    if not starts.size:
        return None
    before = np.concatenate([[0.0], np.cumsum(np.where(free, np.minimum(hazard, 1e300), 0.0))])
    total = (before[starts + size] - before[starts]) * (1.0 if reliable else -1.0)
    close = total <= total.min() + 1e-13 * before[-1]  # equal but for the rounding of the running sum
    place = int(np.argmax(close))
    return np.arange(starts[place], starts[place] + size)


def pick_by_length(hazards: npt.ArrayLike, idle: npt.ArrayLike, size: int, length: Any) -> IntArray | None:
    """LJRAS: the most reliable adjacent idle nodes for jobs longer than a day, the least reliable ones for others.

    Examples
    --------
    >>> pick_by_length([0.3, 0.1, 0.2], [True] * 3, 1, "30h"), pick_by_length([0.3, 0.1, 0.2], [True] * 3, 1, "2h")
    (array([1]), array([0]))
    """
    return pick_window(hazards, idle, size, reliable=bool(durations("length", length) > LONG_JOB))


def pick_round_robin(idle: npt.ArrayLike, size: int, after: int = -1) -> IntArray | None:
    """RR: the next `size` idle nodes by position, from the one after `after` on and around; None where fewer are idle.

    Nodes are in the order in which they are taken; the last is the next call's `after`.

    Examples
    --------
    >>> pick_round_robin([True, False, True, True], 2, after=2).tolist()
    [3, 0]
    """
    free = np.asarray(idle, dtype=bool)
    _checked(np.zeros(free.size), free, size)
    places = np.flatnonzero(free)
    if places.size < size:
        return None
    return np.asarray(np.roll(places, -int(np.searchsorted(places, after, side="right")))[:size])


def pick_all(idle: npt.ArrayLike) -> IntArray | None:
    """ALL: every node, once all are idle; None until then.

    Examples
    --------
    >>> pick_all([True, True]), pick_all([True, False])
    (array([0, 1]), None)
    """
    free = np.asarray(idle, dtype=bool)
    return np.arange(free.size) if free.size and free.all() else None


def _checked(hazards: npt.ArrayLike, idle: npt.ArrayLike, size: int) -> tuple[FloatArray, BoolArray]:
    hazard, free = np.asarray(hazards, dtype=np.float64), np.asarray(idle, dtype=bool)
    if hazard.ndim != 1 or hazard.shape != free.shape:
        raise ArgumentError(f"hazards of shape {hazard.shape}, idle of shape {free.shape}", remedy="one for each node")
    bad = np.flatnonzero(np.isnan(hazard))
    if bad.size:
        raise ArgumentError(f"the hazard of node {bad[0]} is missing", remedy="leave the node out, as not idle")
    if size < 1 or int(size) != size:
        raise ArgumentError(f"a job of {size} nodes", remedy="give one node or more")
    return hazard, free
