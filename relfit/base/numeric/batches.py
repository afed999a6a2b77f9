"""Groups, or independent functions, shared out among threads.

The compiled kernels take a range of groups and write into their own rows, so the result does not depend on how many
threads share the work.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Thread
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from relfit.base.arguments import one_whole

T = TypeVar("T")

_CHUNKS_PER_WORKER = 4
_THREADS = 2  # numpy, scipy and compiled code release the lock while they compute
_SMALL_BATCH = 20_000  # lives below which threads cost more than they save


def over_groups(
    offsets: npt.NDArray[np.int64],
    work: Callable[[int, int], None],
    workers: int | None = None,
    at_once: int | None = None,
) -> None:
    """Call ``work(first, last)`` on ranges of groups with about as many durations, in a thread for each processor by
    default. `work` must release the interpreter lock to gain from threads, and touch only its own groups. It is given
    about `at_once` durations at a time where it makes arrays as long.
    """
    groups = offsets.size - 1
    if groups < 2 or offsets[-1] < _SMALL_BATCH:
        if groups:
            work(0, groups)
        return
    threads = worker_number(workers)
    pieces = max(threads * _CHUNKS_PER_WORKER, int(offsets[-1]) // (at_once or int(offsets[-1])))
    cuts = np.searchsorted(offsets, np.linspace(0, offsets[-1], pieces + 1))
    cuts[0], cuts[-1] = 0, groups
    in_threads(lambda piece: work(*piece), pairwise(np.unique(cuts).tolist()), threads)


def in_threads(work: Callable[[T], None], pieces: Iterable[T], threads: int) -> None:
    """Call `work` on every piece; Ctrl-C is heard at once, and pieces in progress end with the process."""
    left, failed = deque(pieces), list[BaseException]()

    def go_on() -> None:
        while True:
            try:
                piece = left.popleft()
            except IndexError:
                return
            try:
                work(piece)
            except BaseException as error:
                left.clear()
                failed.append(error)

    crew = [Thread(target=go_on, daemon=True) for _ in range(min(threads, len(left)))]
    for thread in crew:
        thread.start()
    try:
        for thread in crew:
            thread.join()
    finally:
        left.clear()
    if failed:
        raise failed[0]


def worker_number(workers: int | None) -> int:
    """How many workers: as many as processors when left out or 0; an `ArgumentError` for no whole number."""
    return one_whole("workers", workers) if workers else processors()


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def at_once(functions: Sequence[Callable[[], T]]) -> list[T]:
    """What each function gives, in their order; the first error of any of them is raised."""
    with ThreadPoolExecutor(_THREADS) as pool:
        return [answer.result() for answer in [pool.submit(function) for function in functions]]
