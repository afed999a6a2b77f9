"""Which nodes a job gets, compiled: bits of idle nodes, and the policies that choose among them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relfit.batch.bit_counts import lowest_bit
from relfit.batch.compiling import inner, making_arrays
from relfit.batch.engine_state import BY_RACK, LJRAS, LOG_SPAN, NONE, RA, ROUND_ROBIN, YES, Engine

__all__ = [
    "give_back", "idle_nodes", "is_free", "owner_of", "release_node", "take_by_policy", "take_listed", "take_lowest",
    "take_node",
]  # fmt: skip

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@inner
def _bits(size: int) -> np.uint64:
    """The lowest `size` bits, 1 to 64 of them."""
    return ~_ZERO >> np.uint64(64 - size)


@inner
def is_free(e: Engine, node: int) -> bool:
    """Whether a node is up and idle."""
    return bool((e.free[node >> 6] >> np.uint64(node & 63)) & _ONE != _ZERO)


@inner
def release_node(e: Engine, node: int) -> None:
    """Make a node that is up idle."""
    word = node >> 6
    e.free[word] |= _ONE << np.uint64(node & 63)
    e.state[0].n_free += 1
    e.state[0].hint = min(e.state[0].hint, word)


@inner
def take_node(e: Engine, node: int) -> None:
    """An idle node is idle no more."""
    e.free[node >> 6] &= ~(_ONE << np.uint64(node & 63))
    e.state[0].n_free -= 1


@inner
def write_line(e: Engine, kind: Any, time: float, until: float, job: Any, node: Any, value: Any) -> None:
    """Add a line to the log."""
    n = e.state[0].n_log
    e.state[0].n_log = n + 1
    e.log[n].time = time
    e.log[n].until = until
    e.log[n].kind = kind
    e.log[n].job = job
    e.log[n].node = node
    e.log[n].value = value


@inner
def _add_span(e: Engine, job: int, first: int, size: int, last: int) -> int:
    """A job has the idle nodes from `first` on, after its span `last`; returns the span that is last then."""
    if last >= 0 and e.spans[last, 0] + e.spans[last, 1] == first:
        e.spans[last, 1] += size
        if e.state[0].keep > 1:
            e.log[e.state[0].n_log - 1].value += size
        return last
    span = e.state[0].free_span
    e.state[0].free_span = e.spans[span, 2]
    e.spans[span, 0] = first
    e.spans[span, 1] = size
    e.spans[span, 2] = -1
    if last < 0:
        e.jobs[job].span = span
    else:
        e.spans[last, 2] = span
    if e.state[0].keep > 1:
        write_line(e, LOG_SPAN, e.state[0].now, 0.0, job, first, size)
    return int(span)


@inner
def give_back(e: Engine, job: int) -> None:
    """The nodes of a job, all up, are idle again."""
    span = e.jobs[job].span
    e.jobs[job].span = -1
    while span >= 0:
        first, size = e.spans[span, 0], e.spans[span, 1]
        e.state[0].n_free += size
        e.state[0].hint = min(e.state[0].hint, first >> 6)
        while size > 0:
            part = min(size, 64 - (first & 63))
            e.free[first >> 6] |= _bits(part) << np.uint64(first & 63)
            first += part
            size -= part
        following = e.spans[span, 2]
        e.spans[span, 2] = e.state[0].free_span
        e.state[0].free_span = span
        span = following


@inner
def owner_of(e: Engine, node: int) -> int:
    """The running job that has a node; -1 if none."""
    if is_free(e, node):
        return -1
    for i in range(e.state[0].n_running):
        job = e.heaps[0, i].item
        span = e.jobs[job].span
        while span >= 0:
            if e.spans[span, 0] <= node < e.spans[span, 0] + e.spans[span, 1]:
                return int(job)
            span = e.spans[span, 2]
    return -1


@inner
def take_listed(e: Engine, job: int, nodes: np.ndarray) -> None:
    """Give a job the nodes listed, which are idle."""
    last, one = NONE, YES
    for i in range(nodes.size):
        take_node(e, nodes[i])
        last = _add_span(e, job, nodes[i], one, last)


@inner
def take_lowest(e: Engine, job: int, size: int) -> None:
    """First fit: the idle nodes of the lowest numbers."""
    word, last, left = e.state[0].hint, NONE, size
    while e.free[word] == _ZERO:
        word += 1
    e.state[0].hint = word
    while left > 0:
        bits = e.free[word]
        while bits != _ZERO and left > 0:
            first = lowest_bit(bits)
            rest = ~(bits >> np.uint64(first))
            run = min(64 - first if rest == _ZERO else lowest_bit(rest), left)
            bits &= ~(_bits(run) << np.uint64(first))
            last = _add_span(e, job, 64 * word + first, run, last)
            left -= run
        e.free[word] = bits
        word += 1
    e.state[0].n_free -= size


@making_arrays
def nodes_in(mask: np.ndarray, size: int) -> np.ndarray:
    """Numbers of the nodes whose bits are set in a mask, in order."""
    found = np.empty(size, dtype=np.int64)
    n = 0
    for word in range(mask.size):
        bits = mask[word]
        while bits != _ZERO:
            found[n] = 64 * word + lowest_bit(bits)
            bits &= bits - _ONE
            n += 1
    return found


@making_arrays
def idle_nodes(e: Engine) -> np.ndarray:
    """Numbers of all idle nodes, in order."""
    return nodes_in(e.free, e.state[0].n_free)


@making_arrays
def in_order(e: Engine, nodes: np.ndarray) -> np.ndarray:
    """Idle nodes by number."""
    wanted = np.zeros(e.nodes.size, dtype=np.bool_)
    for i in range(nodes.size):
        wanted[nodes[i]] = True
    n = 0
    for node in range(wanted.size):
        if wanted[node]:
            nodes[n] = node
            n += 1
    return nodes


@inner
def _before(hazards: np.ndarray, a: int, b: int) -> bool:
    return bool(hazards[a] < hazards[b] or (hazards[a] == hazards[b] and a < b))


@making_arrays
def most_reliable(idle: np.ndarray, hazards: np.ndarray, size: int) -> np.ndarray:
    """The `size` idle nodes of the least hazard, the least first; ties by number."""
    n = idle.size
    heap = np.empty(n, dtype=np.int64)
    for i in range(n):
        heap[i] = i
    chosen = np.empty(size, dtype=np.int64)
    for first in range(n // 2 - 1, -size - 1, -1):  # make the heap, then take its top `size` times
        at = first
        if first < 0:
            chosen[-1 - first] = idle[heap[0]]
            n -= 1
            heap[0] = heap[n]
            at = 0
        while 2 * at + 1 < n:
            child = 2 * at + 1
            if child + 1 < n and _before(hazards, heap[child + 1], heap[child]):
                child += 1
            if not _before(hazards, heap[child], heap[at]):
                break
            heap[at], heap[child] = heap[child], heap[at]
            at = child
    return chosen


@inner
def hazard(e: Engine, node: int, now: float, length: float) -> float:
    """Cumulative hazard of a node over the next `length` seconds, as its parameters are estimated now."""
    scale, shape = e.nodes[node].scale, e.nodes[node].shape
    if not scale < math.inf:
        return 0.0
    age = max(now - e.nodes[node].up_since, 0.0)
    if shape == 1.0:
        return float(length / scale)
    return float(((age + length) / scale) ** shape - (age / scale) ** shape)


@making_arrays
def _window(e: Engine, idle: np.ndarray, hazards: np.ndarray, size: int, sign: float) -> np.ndarray:
    """The adjacent idle nodes of the least (sign 1) or greatest (-1) hazard together.

    Where no so many are adjacent, nodes that follow each other among the idle ones.
    """
    best, apart, chosen = math.inf, True, 0
    total = 0.0
    for i in range(idle.size):
        total += hazards[i]
        if i >= size:
            total -= hazards[i - size]
        if i >= size - 1:
            broken = idle[i] - idle[i - size + 1] != size - 1
            value = sign * total
            if (apart and not broken) or (apart == broken and value < best - 1e-12 * abs(best)) or best == math.inf:
                best, apart, chosen = value, broken, i - size + 1
    if apart:
        e.state[0].n_apart += 1
    return idle[chosen : chosen + size]


@making_arrays
def _racks(e: Engine, idle: np.ndarray, size: int) -> np.ndarray:
    """One rack if it can: the one with the fewest idle nodes that suffice; else the fullest racks first."""
    n = 0
    for node in range(e.nodes.size):
        n = max(n, e.nodes[node].rack + 1)
    counts = np.zeros(n, dtype=np.int64)
    for i in range(idle.size):
        node = idle[i]
        counts[e.nodes[node].rack] += 1
    chosen = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        best = -1
        for rack in range(n):
            if counts[rack] == 0:
                continue
            if best < 0:
                best = rack
            elif counts[best] >= size - done:
                if size - done <= counts[rack] < counts[best]:
                    best = rack
            elif counts[rack] > counts[best]:
                best = rack
        for i in range(idle.size):
            node = idle[i]
            if e.nodes[node].rack == best and done < size:
                chosen[done] = node
                done += 1
        counts[best] = 0
    return in_order(e, chosen)


@making_arrays
def take_by_policy(e: Engine, job: int, size: int, now: float, length: float) -> None:
    """Give a job `size` idle nodes, of which there are enough, by the policy of the engine.

    `length` is how long the job will run, which the reliability of nodes is judged over.
    """
    policy = e.state[0].allocation
    idle = idle_nodes(e)
    if policy == ROUND_ROBIN:
        first = 0
        while first < idle.size and idle[first] <= e.state[0].last_node:
            first += 1
        chosen = np.empty(size, dtype=np.int64)
        for i in range(size):
            chosen[i] = idle[(first + i) % idle.size]
        e.state[0].last_node = chosen[size - 1]
    elif policy == BY_RACK:
        chosen = _racks(e, idle, size)
    else:
        hazards = np.empty(idle.size)
        for i in range(idle.size):
            hazards[i] = hazard(e, idle[i], now, length)
        if policy == RA:
            chosen = in_order(e, most_reliable(idle, hazards, size))
        else:
            short = policy == LJRAS and length <= e.state[0].long_job
            chosen = _window(e, idle, hazards, size, -1.0 if short else 1.0)
    take_listed(e, job, chosen)
