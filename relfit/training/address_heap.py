"""The next events of a cluster: a binary heap of times, compiled."""

from __future__ import annotations

from relfit.training import layout as at
from relfit.training.addresses import compiled
from relfit.training.layout import Memory, Reals

__all__ = ["pop_event", "push_event"]

AUTO_END, MANUAL_END, RACK_FAILS, RACK_BACK, CLUSTER_FAILS, REGENERATE = range(6)
SUBJECTS = 1 << 40


@compiled
def push_event(m: Memory, x: Reals, time: float, kind: int, subject: int) -> None:
    """Add an event of a server, a rack or the cluster."""
    times, what = m[at.HEAP_TIME], m[at.HEAP_WHAT]
    place = m[at.N_HEAP]
    m[at.N_HEAP] = place + 1
    while place > 0:
        parent = (place - 1) >> 1
        if x[times + parent] <= time:
            break
        x[times + place], m[what + place] = x[times + parent], m[what + parent]
        place = parent
    x[times + place], m[what + place] = time, kind * SUBJECTS + subject


@compiled
def pop_event(m: Memory, x: Reals) -> int:
    """Take the first event off; its kind times `SUBJECTS` plus its subject."""
    times, what = m[at.HEAP_TIME], m[at.HEAP_WHAT]
    first = m[what]
    size = m[at.N_HEAP] - 1
    m[at.N_HEAP] = size
    time, item = x[times + size], m[what + size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and x[times + child + 1] < x[times + child]:
            child += 1
        if x[times + child] >= time:
            break
        x[times + place], m[what + place] = x[times + child], m[what + child]
        place = child
    x[times + place], m[what + place] = time, item
    return int(first)
