"""Further processes that take over parts of a long task while the first goes on."""

from __future__ import annotations

import io
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from relfit.numeric.compiled import awake

__all__ = ["SecondProcess", "beside", "later", "spread"]

T = TypeVar("T")
_START = "fork" if sys.platform == "linux" else "spawn"
"""A copy of this process has its modules already; elsewhere than on Linux system libraries do not survive that."""
_KNOWN: dict[int, tuple[object, ...]] = {}
_NAMES = count()


class SecondProcess:
    """Another process that calls functions in turn; what it cannot do is done in this one.

    On Linux it is a copy of this one, and has what is imported here: import before.

    Parameters
    ----------
    *known : object
        Of classes other than those of Python itself, what both have from the start, such as a log: it is not sent with
        calls, nor back with their answers.

    Examples
    --------
    >>> with SecondProcess() as second:
    ...     answer = second.submit(divmod, 7, 2)
    ...     answer.result()
    (3, 1)
    """

    def __init__(self, *known: object) -> None:
        context: Any = get_context(_START)
        self._link, other = context.Pipe()
        self._name = next(_NAMES)
        _KNOWN[self._name] = known
        self._process = context.Process(target=_serve, args=(other, self._link, self._name, known), daemon=True)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*multi-threaded", category=DeprecationWarning)
            self._process.start()
        other.close()
        self._turn = ThreadPoolExecutor(1)
        self._closed = False

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Have a function of a module called with these arguments."""
        return self._turn.submit(self._call, function, arguments)

    def _call(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        done = False
        answer: Any = None
        try:
            self._link.send_bytes(_packed((function, arguments), self._name))
            done, answer = pickle.loads(self._link.recv_bytes())
        except Exception:  # it is gone, or this does not go from one process to another
            if self._closed:
                raise
        result: T = answer if done else function(*arguments)
        return result

    def __enter__(self) -> SecondProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        self._turn.shutdown(wait=False, cancel_futures=True)
        self._process.kill()
        self._process.join()
        _KNOWN.pop(self._name, None)


def spread(function: Callable[..., T], tasks: Iterable[tuple[Any, ...]], workers: int) -> Iterator[T]:
    """What a function of a module gives for the arguments of each task, as it comes; in this process for one worker.

    Examples
    --------
    >>> sorted(spread(divmod, [(7, 2), (9, 4)], 2))
    [(2, 1), (3, 1)]
    """
    if workers == 1:
        yield from (function(*task) for task in tasks)
        return
    with ExitStack() as stack:
        free = [stack.enter_context(SecondProcess()) for _ in range(workers)]
        busy: dict[Future[T], SecondProcess] = {}
        for task in tasks:
            if not free:
                done = wait(busy, return_when=FIRST_COMPLETED).done.pop()
                free.append(busy.pop(done))
                yield done.result()
            process = free.pop()
            busy[process.submit(function, *task)] = process
        while busy:
            done = wait(busy, return_when=FIRST_COMPLETED).done.pop()
            del busy[done]
            yield done.result()


@contextmanager
def beside(*known: object) -> Iterator[SecondProcess | None]:
    """A second process where there is a core for it; what compiled code needs is there before, in both."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cores == 1:
        yield None
        return
    awake()
    with SecondProcess(*known) as second:
        yield second


def later(second: SecondProcess | None, function: Callable[..., T], *arguments: Any, **options: Any) -> Callable[[], T]:
    """What gives the answer of a call: that of the second process, or made here if it has not begun by then.

    Examples
    --------
    >>> later(None, divmod, 7, 2)()
    (3, 1)
    """
    call = partial(function, *arguments, **options)
    if second is None:
        return call
    under_way = second.submit(call)
    return lambda: call() if under_way.cancel() else under_way.result()


class _Pickler(pickle.Pickler):
    """Names what both processes have instead of sending it."""

    def __init__(self, file: io.BytesIO, name: int) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.name = name

    def reducer_override(self, value: Any) -> Any:
        for place, one in enumerate(_KNOWN[self.name]):
            if one is value:
                return _known, (self.name, place)
        return NotImplemented


def _packed(value: Any, name: int) -> bytes:
    file = io.BytesIO()
    _Pickler(file, name).dump(value)
    return file.getvalue()


def _known(name: int, place: int) -> Any:
    return _KNOWN[name][place]


def _serve(link: Connection, other: Connection, name: int, known: tuple[object, ...]) -> None:
    """Call what the other process asks for, until it is gone."""
    _KNOWN[name] = known
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    other.close()  # its end of the pipe: a copy of it would outlive that process
    sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - that process prints, and warns
    with suppress(Exception):
        while True:
            function, arguments = pickle.loads(link.recv_bytes())
            try:
                link.send_bytes(_packed((True, function(*arguments)), name))
            except Exception:  # the other process does it again, and says what is wrong
                link.send_bytes(_packed((False, None), name))
