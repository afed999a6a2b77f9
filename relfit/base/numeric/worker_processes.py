"""Pure-Python work shared by processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

__all__ = ["in_processes"]

T = TypeVar("T")


def in_processes(function: Callable[..., T], tasks: Iterable[tuple[object, ...]], workers: int) -> Iterator[T]:
    """What a module's function gives for the arguments of each task, in their order; in this process for one worker.

    Examples
    --------
    >>> list(in_processes(divmod, [(7, 2), (9, 4)], 1))
    [(3, 1), (2, 1)]
    """
    if workers == 1:
        return (function(*task) for task in tasks)
    from joblib import Parallel, delayed

    answers: Iterator[T] = Parallel(workers, return_as="generator")(delayed(function)(*task) for task in tasks)
    return answers
