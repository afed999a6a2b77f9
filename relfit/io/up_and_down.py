"""States of nodes as they were recorded, one after the other, as the outages between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from relfit.arrays import BoolArray, IntArray

__all__ = ["DOWN", "UP", "StateOutages", "outages_between", "states"]

DOWN = ("down", "offline", "fail", "failed", "failure", "unavailable", "dead", "unreachable", "outage", "lost", "start",
        "begin", "opened", "firing", "remove", "removed", "not_ready", "notready")  # fmt: skip
UP = ("up", "online", "ok", "available", "alive", "repaired", "recovered", "recovery", "restored", "healthy", "resumed",
      "returned", "end", "finish", "resolved", "closed", "cleared", "add", "added", "ready")  # fmt: skip


@dataclass(frozen=True)
class StateOutages:
    """Outages by node: which, from when to when, and the record that each begins with.

    ``open`` marks those that no later record ends; ``repeated`` counts records that say again what was known.
    """

    node: IntArray
    start: IntArray
    end: IntArray
    row: IntArray
    open: BoolArray
    repeated: int


def states(words: npt.NDArray[np.object_]) -> tuple[BoolArray, BoolArray]:
    """Which words say that a node is down, and which say that or the opposite.

    Examples
    --------
    >>> down, known = states(np.array(["DOWN", "up", "maybe"], dtype=object))
    >>> down.tolist(), known.tolist()
    ([True, False, False], [True, True, False])
    """
    down = np.array([str(word).strip().lower() in DOWN for word in words], dtype=bool)
    up = np.array([str(word).strip().lower() in UP for word in words], dtype=bool)
    return down, down | up


def outages_between(node: IntArray, time: IntArray, down: BoolArray) -> StateOutages:
    """Outages from the first record that says down to the next that says up.

    Parameters
    ----------
    node : ndarray of int
        Number of the node of each record.
    time : ndarray of int
        When it was made; records of one instant count in their order.
    down : ndarray of bool
        What it says.

    Examples
    --------
    >>> found = outages_between(np.zeros(4, int), np.array([5, 1, 3, 9]), np.array([False, True, True, True]))
    >>> found.start.tolist(), found.end.tolist(), found.open.tolist(), found.repeated
    ([1, 9], [5, 9], [False, True], 1)
    """
    order = np.lexsort((np.arange(node.size), time, node))
    who, when, state = node[order], time[order], down[order]
    first = np.ones(who.size, dtype=bool)
    first[1:] = who[1:] != who[:-1]
    changed = first.copy()
    changed[1:] |= state[1:] != state[:-1]
    at = np.flatnonzero(changed)
    begins = np.flatnonzero(state[at])
    after = at[np.minimum(begins + 1, at.size - 1)] if at.size else at
    closed = (begins + 1 < at.size) & (who[after] == who[at[begins]])
    begin = at[begins]
    end = np.where(closed, when[after], when[begin])
    return StateOutages(who[begin], when[begin], end, order[begin], ~closed, int((~changed).sum()))
