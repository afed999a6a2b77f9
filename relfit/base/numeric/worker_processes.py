"""Pure-Python work shared by processes, and how processes start and end."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait as wait_for
from multiprocessing.resource_tracker import ensure_running
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


def in_processes(function: Callable[..., T], tasks: Iterable[tuple[object, ...]], workers: int) -> Iterator[T]:
    """What a module's function gives for the arguments of each task, in their order; in this process for one worker."""
    if workers == 1:
        return (function(*task) for task in tasks)
    from joblib import Parallel, delayed

    answers: Iterator[T] = Parallel(workers, return_as="generator")(delayed(function)(*task) for task in tasks)
    return answers


def names_script(sent: object) -> bool:
    """Whether an object that is sent to other processes is, or holds, something that the running script defines."""
    try:
        return b"__main__" in pickle.dumps(sent)
    except (pickle.PicklingError, AttributeError, TypeError):
        return True


@contextmanager
def script_hidden(hidden: bool = True) -> Iterator[None]:
    """Processes begun within do not run the script of this one again (with `hidden` False they do): without a guard,
    ``if __name__ == "__main__":``, it would begin processes there as well.
    """
    script = sys.modules["__main__"]
    if hidden:
        sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def end_copy_of_script() -> None:
    """End this process where it is only to define what its parent's script defines: the parent says why."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(1)


@contextmanager
def signals_kept() -> Iterator[None]:
    """Processes begun within never receive Ctrl-C: the parent gets it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    ensure_running()  # starting it later would unblock the signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGUSR1})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_with_parent() -> None:
    """Let this process end when its parent is killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait_for([sentinel])
    os._exit(1)
