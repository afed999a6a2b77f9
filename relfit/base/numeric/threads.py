"""Independent work in threads: numpy, scipy and compiled code release the lock while they compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
_THREADS = 2


def at_once(functions: Sequence[Callable[[], T]]) -> list[T]:
    """What each function gives, in their order; the first error of any of them is raised.

    Examples
    --------
    >>> at_once([lambda: 1, lambda: 2])
    [1, 2]
    """
    with ThreadPoolExecutor(_THREADS) as pool:
        return [answer.result() for answer in [pool.submit(function) for function in functions]]
