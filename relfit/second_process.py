"""A second process that takes over parts of a long task while the first goes on."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from types import TracebackType
from typing import Any, TypeVar

__all__ = ["SecondProcess", "serve"]

T = TypeVar("T")


class SecondProcess:
    """Another interpreter that calls functions in turn; what it cannot do is done in this one.

    It is started anew, not forked, so that threads and main modules without a guard do no harm.

    Parameters
    ----------
    *modules : str
        To be imported at once, while nothing else is asked for.

    Examples
    --------
    >>> with SecondProcess("math") as second:
    ...     answer = second.submit(divmod, 7, 2)
    ...     answer.result()
    (3, 1)
    """

    def __init__(self, *modules: str) -> None:
        text = f"import sys; sys.path[:] = {sys.path!r}; from relfit.second_process import serve; serve({modules!r})"
        command = [sys.executable, "-W", "ignore", "-c", text]  # this process warns
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._turn = ThreadPoolExecutor(1)
        self._closed = False

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Have a function of a module called with these arguments."""
        return self._turn.submit(self._call, function, arguments)

    def _call(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        done = False
        answer: Any = None
        try:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(pickle.dumps((function, arguments), pickle.HIGHEST_PROTOCOL))
            self._process.stdin.flush()
            done, answer = pickle.load(self._process.stdout)
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
        self._process.wait()


def serve(modules: tuple[str, ...]) -> None:
    """Call what the other process asks for, until it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not come between the answers
    with suppress(Exception):
        for module in modules:
            import_module(module)
        while True:
            function, arguments = pickle.load(source)
            try:
                answer = pickle.dumps((True, function(*arguments)), pickle.HIGHEST_PROTOCOL)
            except Exception:  # the other process does it again, and says what is wrong
                answer = pickle.dumps((False, None))
            sink.write(answer)
            sink.flush()
