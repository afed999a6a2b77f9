"""Running jobs, compiled: a heap by the time they end, and blocks in order of the time by which their walltime ends."""

from __future__ import annotations

import numpy as np

from relfit.batch.compiling import inner, making_arrays
from relfit.batch.engine_state import BLOCK_SIZE, Engine

__all__ = ["add_estimate", "drop_end", "drop_estimate", "pop_repair", "push_end", "push_repair", "shadow_of"]

# columns of Engine.blocks: jobs in a block, their nodes; apart from both, which block stands at a position; the jobs
_COUNT, _SUM, _AT, _JOBS = range(4)
_ENDS, _REPAIRS = range(2)  # rows of Engine.heaps: running jobs, nodes under repair


@inner
def _place(e: Engine, heap: int, at: int, time: float, item: int) -> None:
    e.heaps[heap, at].time = time
    e.heaps[heap, at].item = item
    if heap == _ENDS:
        e.jobs[item].heap = at


@inner
def _sift(e: Engine, heap: int, at: int, size: int, time: float, item: int) -> None:
    """Find the place of what belongs at `at`, above it, or below it among the first `size`."""
    while at > 0 and e.heaps[heap, (at - 1) >> 1].time > time:
        _place(e, heap, at, e.heaps[heap, (at - 1) >> 1].time, e.heaps[heap, (at - 1) >> 1].item)
        at = (at - 1) >> 1
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and e.heaps[heap, child + 1].time < e.heaps[heap, child].time:
            child += 1
        if e.heaps[heap, child].time >= time:
            break
        _place(e, heap, at, e.heaps[heap, child].time, e.heaps[heap, child].item)
        at = child
    _place(e, heap, at, time, item)


@inner
def push_end(e: Engine, job: int) -> None:
    """A job runs until its FINISH."""
    size = e.state[0].n_running
    e.state[0].n_running += 1
    _sift(e, _ENDS, size, size, e.jobs[job].finish, job)


@inner
def drop_end(e: Engine, job: int) -> None:
    """A job runs no more."""
    at = e.jobs[job].heap
    e.state[0].n_running -= 1
    last = e.state[0].n_running
    if at != last:
        _sift(e, _ENDS, at, last, e.heaps[_ENDS, last].time, e.heaps[_ENDS, last].item)


@inner
def push_repair(e: Engine, node: int, time: float) -> None:
    """A node comes back at `time`."""
    size = e.state[0].n_repairing
    e.state[0].n_repairing += 1
    _sift(e, _REPAIRS, size, size, time, node)


@inner
def pop_repair(e: Engine) -> int:
    """The node that comes back first."""
    node = e.heaps[_REPAIRS, 0].item
    e.state[0].n_repairing -= 1
    last = e.state[0].n_repairing
    _sift(e, _REPAIRS, 0, last, e.heaps[_REPAIRS, last].time, e.heaps[_REPAIRS, last].item)
    return int(node)


@making_arrays
def _repack(e: Engine) -> None:
    """Move the jobs into as few blocks as leave room in each."""
    b, jobs, order = e.blocks, e.blocks[:, _JOBS:], e.blocks[:, _AT]
    total = 0
    for i in range(e.state[0].n_blocks):
        total += b[order[i], _COUNT]
    all_jobs = np.empty(total, dtype=np.int64)
    n = 0
    for i in range(e.state[0].n_blocks):
        for k in range(b[order[i], _COUNT]):
            all_jobs[n] = jobs[order[i], k]
            n += 1
    most = BLOCK_SIZE - 8
    e.state[0].n_blocks = (total + most - 1) // most
    for i in range(e.state[0].n_blocks):
        b[order[i], _COUNT] = b[order[i], _SUM] = 0
    for n in range(total):
        block = order[n // most]
        jobs[block, n % most] = all_jobs[n]
        b[block, _COUNT] += 1
        b[block, _SUM] += e.jobs[all_jobs[n]].nodes
        e.jobs[all_jobs[n]].block = block


@inner
def add_estimate(e: Engine, job: int) -> None:
    """Put a job among those that hold nodes until their ESTIMATE."""
    b, jobs, order = e.blocks, e.blocks[:, _JOBS:], e.blocks[:, _AT]
    time = e.jobs[job].estimate
    if e.state[0].n_blocks == b.shape[0]:
        _repack(e)
    n = e.state[0].n_blocks
    if n == 0:
        n = e.state[0].n_blocks = 1
        b[order[0], _COUNT] = b[order[0], _SUM] = 0
    low, high = 0, n - 1  # the first block whose last job ends later, or the last block
    while low < high:
        middle = (low + high) >> 1
        block = order[middle]
        if e.jobs[jobs[block, b[block, _COUNT] - 1]].estimate > time:
            high = middle
        else:
            low = middle + 1
    block = order[low]
    if b[block, _COUNT] == BLOCK_SIZE:
        new = order[n]
        for i in range(n, low + 1, -1):
            order[i] = order[i - 1]
        order[low + 1] = new
        e.state[0].n_blocks = n + 1
        half = BLOCK_SIZE // 2
        b[new, _COUNT], b[new, _SUM], b[block, _COUNT] = half, 0, half
        for i in range(half):
            moved = jobs[block, half + i]
            jobs[new, i] = moved
            e.jobs[moved].block = new
            b[new, _SUM] += e.jobs[moved].nodes
        b[block, _SUM] -= b[new, _SUM]
        if e.jobs[jobs[block, half - 1]].estimate <= time:
            block = new
    at = b[block, _COUNT]
    while at > 0 and e.jobs[jobs[block, at - 1]].estimate > time:
        jobs[block, at] = jobs[block, at - 1]
        at -= 1
    jobs[block, at] = job
    b[block, _COUNT] += 1
    b[block, _SUM] += e.jobs[job].nodes
    e.jobs[job].block = block


@inner
def drop_estimate(e: Engine, job: int) -> None:
    """Take a job out of those that hold nodes."""
    b, jobs, order = e.blocks, e.blocks[:, _JOBS:], e.blocks[:, _AT]
    block = e.jobs[job].block
    at = 0
    while jobs[block, at] != job:
        at += 1
    b[block, _COUNT] -= 1
    b[block, _SUM] -= e.jobs[job].nodes
    for i in range(at, b[block, _COUNT]):
        jobs[block, i] = jobs[block, i + 1]
    if b[block, _COUNT] == 0:
        n = e.state[0].n_blocks
        at = 0
        while order[at] != block:
            at += 1
        for i in range(at, n - 1):
            order[i] = order[i + 1]
        order[n - 1] = block
        e.state[0].n_blocks = n - 1


@inner
def shadow_of(e: Engine, free: int, nodes: int) -> tuple[float, int]:
    """When `nodes` nodes are free by the walltimes of running jobs, and how many are then left over.

    All jobs that end by that very time are counted.
    """
    b, jobs, order = e.blocks, e.blocks[:, _JOBS:], e.blocks[:, _AT]
    shadow, found = np.inf, False
    for i in range(e.state[0].n_blocks):
        block = order[i]
        if not found and free + b[block, _SUM] < nodes:
            free += b[block, _SUM]
            continue
        for k in range(b[block, _COUNT]):
            time = e.jobs[jobs[block, k]].estimate
            if found and time > shadow:
                return shadow, free - nodes
            free += e.jobs[jobs[block, k]].nodes
            if not found and free >= nodes:
                shadow, found = time, True
    return shadow, free - nodes
