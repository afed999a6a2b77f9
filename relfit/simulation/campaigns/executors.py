"""Who computes: this process, its threads, other processes, or Dask; each takes a function and gives a future."""

from __future__ import annotations

import math
import multiprocessing
import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing.connection import wait as wait_for
from typing import Any, Protocol

from relfit.base.errors import ArgumentError, DataError
from relfit.base.numeric.batches import processors
from relfit.simulation.campaigns.runners import Runner

__all__ = ["Computing", "WorkersLostError", "computing", "first_done", "runner_here"]

_RUNNERS: dict[str, Runner] = {}
_RECOUNT = 2.0  # seconds after which the cores of a cluster are counted anew
_PATIENCE = 30.0  # seconds to find a cluster


class WorkersLostError(Exception):
    """The processes behind some futures are gone; what they did not hand back is to be done again."""


class Computing(Protocol):
    """Where tasks go; used in a ``with`` block. Tasks find their runner by the `token`."""

    token: str
    here: bool
    """Whether tasks run in this process, where they can be told to stop."""

    @property
    def slots(self) -> int:
        """Tasks to hand out at a time."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Begin a task."""

    def result(self, future: Future[Any]) -> Any:
        """What a task that is done gave; `WorkersLostError` where its process is gone."""

    def __enter__(self) -> Computing: ...
    def __exit__(self, *_: object) -> None: ...


def runner_here(token: str) -> Runner:
    """The runner of this process for the sweep of a token."""
    return _RUNNERS[token]


def computing(executor: str, workers: int | None, runner: Runner) -> Computing:
    """What `executor` names; an ArgumentError for another name, or where Dask is not installed or not reached."""
    token, many = secrets.token_hex(8), workers or processors()
    if executor == "serial":
        return _Here(runner, token)
    if executor == "threads":
        return _Threads(runner, token, many)
    if executor == "processes":
        return _Processes(runner, token, many)
    if executor == "dask" or "://" in executor:
        return _Dask(runner, token, None if executor == "dask" else executor, many)
    remedy = "use processes, threads, serial, dask or the address of a Dask scheduler, as tcp://HOST:8786"
    raise ArgumentError(f"executor {executor!r} is not known", remedy=remedy)


class _Here:
    """The process itself, one task after another."""

    here = True
    slots = 1

    def __init__(self, runner: Runner, token: str) -> None:
        self._runner, self.token = runner, token

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future

    def result(self, future: Future[Any]) -> Any:
        return future.result()

    def __enter__(self) -> Computing:
        _RUNNERS[self.token] = self._runner
        return self

    def __exit__(self, *_: object) -> None:
        del _RUNNERS[self.token]


class _Threads(_Here):
    """Threads of this process, for runs that release the interpreter lock; they end with it."""

    def __init__(self, runner: Runner, token: str, workers: int) -> None:
        super().__init__(runner, token)
        self.slots = workers

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(function(*arguments))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return future


class _Processes:
    """Processes of this machine."""

    here = False

    def __init__(self, runner: Runner, token: str, workers: int) -> None:
        self._runner, self.token, self._workers = runner, token, workers
        self._pool: Executor | None = None

    @property
    def slots(self) -> int:
        return 2 * self._workers

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        for _ in range(2):
            if self._pool is None:
                context = multiprocessing.get_context("spawn")
                self._pool = ProcessPoolExecutor(self._workers, context, _begin_worker, (self.token, self._runner))
            try:
                with _signals_kept():
                    return self._pool.submit(function, *arguments)
            except BrokenExecutor:
                self._close()
        raise DataError("processes end as soon as they begin", remedy="try --executor serial, which shows why")

    def result(self, future: Future[Any]) -> Any:
        try:
            return future.result()
        except BrokenExecutor as error:
            raise WorkersLostError from error

    def _close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            running = list(getattr(pool, "_processes", None) or {})  # a task may take hours: do not wait for it
            pool.shutdown(wait=False, cancel_futures=True)
            for number in running:
                try:
                    os.kill(number, signal.SIGTERM)
                except OSError:
                    continue

    def __enter__(self) -> Computing:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Processes that begin within never hear of Ctrl-C: it is for the parent, which gets it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGUSR1})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_worker(token: str, runner: Runner) -> None:
    """A process whose parent was killed ends too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _RUNNERS[token] = runner
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait_for([sentinel])
    os._exit(1)


class _Dask:
    """A Dask cluster: a local one, or that of an address."""

    here = False

    def __init__(self, runner: Runner, token: str, address: str | None, workers: int) -> None:
        try:
            distributed: Any = import_module("distributed")
        except ImportError:
            raise ArgumentError("Dask is not installed", remedy="pip install 'relfit[dask]'") from None
        self._lost = (distributed.KilledWorker, distributed.CancelledError)
        self._cluster: Any = None
        self._client: Any
        if address is None:
            with _signals_kept():
                self._cluster = distributed.LocalCluster(
                    n_workers=workers, threads_per_worker=1, dashboard_address=None, processes=True
                )
        try:
            self._client = distributed.Client(self._cluster or address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise ArgumentError(f"no Dask scheduler answers at {address}", remedy="check the address") from error
        self.token = token
        self._client.register_plugin(_plugin(token, runner), name=f"relfit-{token}")
        self._executor = self._client.get_executor(pure=False)
        self._slots, self._counted = 1, -math.inf

    @property
    def slots(self) -> int:
        if time.monotonic() > self._counted + _RECOUNT:
            self._slots, self._counted = max(3 * sum(self._client.ncores().values()), 1), time.monotonic()
        return self._slots

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        if self._client.status not in ("running", "newly-created"):
            raise DataError("the Dask scheduler is gone", remedy="start it, and run the same command again")
        future: Future[Any] = self._executor.submit(function, *arguments)
        return future

    def result(self, future: Future[Any]) -> Any:
        from concurrent.futures import CancelledError

        try:
            return future.result()
        except (*self._lost, CancelledError) as error:
            raise WorkersLostError from error

    def __enter__(self) -> Computing:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(wait=False)
        with suppress(OSError, TimeoutError):
            self._client.unregister_worker_plugin(f"relfit-{self.token}")
        self._client.close(timeout=2)
        if self._cluster is not None:
            self._cluster.close(timeout=5)


def _plugin(token: str, runner: Runner) -> Any:
    from distributed import WorkerPlugin

    class Carrier(WorkerPlugin):
        """Gives every worker, those that come later too, what it runs."""

        def setup(self, worker: object) -> None:
            _take_up(token, runner)

        def teardown(self, worker: object) -> None:
            _take_up(token, None)

    return Carrier()


def _take_up(token: str, runner: Runner | None) -> None:
    """Keep a runner in this process, or let go of it."""
    if runner is None:
        _RUNNERS.pop(token, None)
    else:
        _RUNNERS[token] = runner


def first_done(futures: set[Future[Any]], seconds: float) -> set[Future[Any]]:
    """Those that are done, after waiting for one."""
    return set(wait(futures, timeout=seconds, return_when=FIRST_COMPLETED).done)
