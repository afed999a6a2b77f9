"""Outages from a series of recorded states of nodes."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from relfit.base.arrays import BoolArray, IntArray, ObjectArray
from relfit.base.numeric.ordering import changes

DOWN = (
    *("down", "offline", "fail", "failed", "failure", "unavailable", "dead", "unreachable", "outage", "lost"),
    *("start", "begin", "opened", "firing", "remove", "removed", "not_ready", "notready"),
)
UP = (
    *("up", "online", "ok", "available", "alive", "repaired", "recovered", "recovery", "restored", "healthy"),
    *("resumed", "returned", "end", "finish", "resolved", "closed", "cleared", "add", "added", "ready"),
)
_TURNS = ("start", "begin", "opened", "end", "finish", "resolved", "closed", "cleared", "restored", "recovered")


@dataclass(frozen=True)
class StateOutages:
    """Outages by node: number of the node, start, end, and the record with which each begins.

    ``open`` marks those that no later record ends; ``repeated`` counts records that repeat the state before.
    """

    node: IntArray
    start: IntArray
    end: IntArray
    row: IntArray
    open: BoolArray
    repeated: int


def states(words: ObjectArray, down: Collection[str] = (), up: Collection[str] = ()) -> tuple[BoolArray, BoolArray]:
    """Which texts say that a node is down, and which that it is down or up; `down` and `up` are more, in small letters.
    Of several words those of `DOWN` and `UP` decide; where these differ, the last one if something begins or ends.
    """
    says = [_says(str(word).strip().lower(), down, up) for word in words]
    return np.array([each is True for each in says], dtype=bool), np.array(
        [each is not None for each in says], dtype=bool
    )


def _says(text: str, down: Collection[str], up: Collection[str]) -> bool | None:
    """True for down, False for up, None for neither."""
    if text in down or text in up:
        return text in down
    if text in DOWN or text in UP:
        return text in DOWN
    parts = re.findall(r"[a-z]+", text)
    said = {part in DOWN for part in parts if part in DOWN or part in UP}
    if len(said) == 2 and parts[-1] in _TURNS:
        return parts[-1] in DOWN
    return said.pop() if len(said) == 1 else None


def outages_between(node: IntArray, time: IntArray, down: BoolArray) -> StateOutages:
    """Outages from the first record of `down` to the next of up; records of a `node` at one instant are in order."""
    order = np.lexsort((np.arange(node.size), time, node))
    who, when, state = node[order], time[order], down[order]
    changed = changes(who, state)
    at = np.flatnonzero(changed)
    begins = np.flatnonzero(state[at])
    after = at[np.minimum(begins + 1, at.size - 1)] if at.size else at
    closed = (begins + 1 < at.size) & (who[after] == who[at[begins]])
    begin = at[begins]
    end = np.where(closed, when[after], when[begin])
    return StateOutages(who[begin], when[begin], end, order[begin], ~closed, int((~changed).sum()))
