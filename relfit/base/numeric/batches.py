"""Groups shared out among threads, and durations sorted within their groups.

The compiled kernels take a range of groups and write into their own rows, so the result does not depend on how many
threads share the work.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from itertools import pairwise
from threading import Thread
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from relfit.base.arguments import one_whole
from relfit.base.numeric.compiled import njit

T = TypeVar("T")

_CHUNKS_PER_WORKER = 4
_LARGE = 20_000  # lives of a group from which numpy's sort, of the processor's widest registers, is faster
_SMALL_BATCH = 20_000  # lives below which threads cost more than they save


def over_groups(offsets: npt.NDArray[np.int64], work: Callable[[int, int], None], workers: int | None = None) -> None:
    """Call ``work(first, last)`` on ranges of groups with about the same number of durations.

    Parameters
    ----------
    offsets : ndarray of int, shape (groups + 1,)
        Where each group begins.
    work : callable
        Must release the interpreter lock to gain from threads, and touch only its own groups.
    workers : int, optional
        Threads; one per processor by default.
    """
    groups = offsets.size - 1
    if groups < 2 or offsets[-1] < _SMALL_BATCH:
        if groups:
            work(0, groups)
        return
    threads = worker_number(workers)
    cuts = np.searchsorted(offsets, np.linspace(0, offsets[-1], threads * _CHUNKS_PER_WORKER + 1))
    cuts[0], cuts[-1] = 0, groups
    in_threads(lambda piece: work(*piece), pairwise(np.unique(cuts).tolist()), threads)


def in_threads(work: Callable[[T], None], pieces: Iterable[T], threads: int) -> None:
    """Call `work` on every piece; Ctrl-C is heard at once, whatever compiled code is at.

    After Ctrl-C or an error no further piece is begun. Ctrl-C does not wait for the pieces in progress: their threads
    end with the process.

    Examples
    --------
    >>> done = []
    >>> in_threads(done.append, range(3), 2)
    >>> sorted(done)
    [0, 1, 2]
    """
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


class SortedLives(NamedTuple):
    """Lives in rising order within each group, failures before censored lives of the same length.

    ``log`` holds natural logarithms of the durations in hours (minus infinity for zero). Compiled functions take it.
    """

    durations: npt.NDArray[np.float64]
    log: npt.NDArray[np.float64]
    observed: npt.NDArray[np.bool_]
    offsets: npt.NDArray[np.int64]

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self.offsets.size - 1


def sort_lives(
    durations: npt.NDArray[np.float64],
    observed: npt.NDArray[np.bool_],
    offsets: npt.NDArray[np.int64],
    workers: int | None = None,
) -> SortedLives:
    """Sort durations within every group; the input stays as it is."""
    durations, observed = durations.copy(), observed.copy()
    log = np.empty_like(durations)
    if durations.size >= _LARGE * (offsets.size - 1):
        for begin, end in pairwise(offsets.tolist()):  # a few large groups
            _sort_one(durations[begin:end], observed[begin:end])
        with np.errstate(divide="ignore"):
            np.log(durations, out=log)
    else:
        over_groups(offsets, lambda a, b: _sort(durations, observed, log, offsets, a, b), workers)
    return SortedLives(durations, log, observed, offsets)


def _sort_one(durations: npt.NDArray[np.float64], observed: npt.NDArray[np.bool_]) -> None:
    """Sort a large group in place: failures and censored lives each by numpy's sort, then the two runs together."""
    failures = np.sort(durations[observed])
    both = np.concatenate([failures, np.sort(durations[~observed])])
    order = np.argsort(both, kind="stable") if failures.size < both.size else slice(None)
    durations[:], observed[:] = both[order], (np.arange(both.size) < failures.size)[order]


@njit(cache=True, nogil=True)
def _sort(
    durations: np.ndarray, observed: np.ndarray, log: np.ndarray, offsets: np.ndarray, first: int, last: int
) -> None:
    """Shell's sort: as quick as others on some ten thousand lives, and compiled in a tenth of their time."""
    for group in range(first, last):
        begin, end = offsets[group], offsets[group + 1]
        gap = end - begin
        while gap > 1:
            gap = (5 * gap - 1) // 11 if gap > 4 else 1
            for i in range(begin + gap, end):
                value, flag = durations[i], observed[i]
                j = i - gap
                while j >= begin and (durations[j] > value or (durations[j] == value and flag and not observed[j])):
                    durations[j + gap] = durations[j]
                    observed[j + gap] = observed[j]
                    j -= gap
                durations[j + gap] = value
                observed[j + gap] = flag
        for i in range(begin, end):
            log[i] = np.log(durations[i]) if durations[i] > 0.0 else -np.inf
