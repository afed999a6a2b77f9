"""Executors of a sweep: this process, its threads, other processes, or Dask; each runs a function as a future."""

from __future__ import annotations

import logging
import math
import multiprocessing
import os
import secrets
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import suppress
from importlib import import_module
from typing import Any, Self, TypeVar, TypeVarTuple

from relfit.base.errors import ArgumentError, DataError, Remedy
from relfit.base.numeric.batches import worker_number
from relfit.base.numeric.worker_processes import (
    end_copy_of_script,
    end_with_parent,
    names_script,
    script_hidden,
    signals_kept,
)
from relfit.simulation.campaigns.runners import Runner

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_RUNNERS: dict[str, Runner] = {}
_RECOUNT = 2.0  # seconds after which the cores of a cluster are counted again
_PATIENCE = 30.0  # seconds to find a cluster
_WHY = Remedy(
    "put the call under if __name__ == '__main__': or the function into a module; executor='serial' shows other causes",
    "try --executor serial, which shows why",
)


class WorkersLostError(Exception):
    """The processes behind some futures are gone; the runs that they did not return have to be done again."""


class Computing:
    """Runs tasks in this process, in turn, in a ``with`` block; the base of others. Tasks find runners by `token`."""

    here, starts = True, False
    """Whether tasks run in this process, where they can be told to stop; whether workers are started for them."""
    each = 0  # tasks submitted at a time, per worker; one in all where it is 0

    def __init__(self, runner: Runner, workers: int) -> None:
        self.runner, self.workers, self.token = runner, workers, secrets.token_hex(8)

    @property
    def slots(self) -> int:
        """Tasks submitted at a time."""
        return max(self.each * self.workers, 1)

    def submit(self, function: Callable[[*Ts], T], *arguments: *Ts) -> Future[T]:
        """Begin a task."""
        future: Future[T] = Future()
        _fulfil(future, function, arguments)
        return future

    def result(self, future: Future[T]) -> T:
        """The result of a finished task; `WorkersLostError` where its process is gone."""
        return future.result()

    def __enter__(self) -> Self:
        _RUNNERS[self.token] = self.runner
        return self

    def __exit__(self, *_: object) -> None:
        _RUNNERS.pop(self.token, None)


def runner_here(token: str) -> Runner:
    """The runner of the sweep with this token, in this process."""
    return _RUNNERS[token]


def computing(executor: str, workers: int | None, runner: Runner) -> Computing:
    """The executor of this name; an `ArgumentError` for another name, or where Dask is not installed."""
    kinds = {"serial": Computing, "threads": _Threads, "processes": _Processes, "dask": _Dask}
    if executor in kinds:
        return kinds[executor](runner, worker_number(workers))
    if "://" in executor:
        return _Dask(runner, worker_number(workers), executor)
    remedy = f"use {', '.join(kinds)} or the address of a Dask scheduler, as tcp://HOST:8786"
    raise ArgumentError(f"executor {executor!r} is not known", remedy=remedy)


class _Threads(Computing):
    """Threads of this process, for runs that release the interpreter lock; they end with it."""

    each = 1

    def submit(self, function: Callable[[*Ts], T], *arguments: *Ts) -> Future[T]:
        future: Future[T] = Future()
        threading.Thread(target=_fulfil, args=(future, function, arguments), daemon=True).start()
        return future


def _fulfil(future: Future[T], function: Callable[[*Ts], T], arguments: tuple[*Ts]) -> None:
    try:
        future.set_result(function(*arguments))
    except BaseException as error:
        future.set_exception(error)


class _Processes(Computing):
    """Processes of this machine."""

    here, starts, each = False, True, 2
    _pool: Executor | None = None

    def __init__(self, runner: Runner, workers: int) -> None:
        end_copy_of_script()
        super().__init__(runner, workers)
        self._context, self._hidden = multiprocessing.get_context("spawn"), not names_script(runner)
        self._begun = self._context.Event()

    def submit(self, function: Callable[[*Ts], T], *arguments: *Ts) -> Future[T]:
        for _ in range(2):
            if self._pool is None:
                start = (self.token, self.runner, self._begun)
                self._pool = ProcessPoolExecutor(self.workers, self._context, _begin_worker, start)
            try:
                with signals_kept(), script_hidden(self._hidden):
                    return self._pool.submit(function, *arguments)
            except BrokenExecutor:
                self._check_begun()
                self.__exit__()
        raise DataError("processes end as soon as they begin", remedy=_WHY)

    def _check_begun(self) -> None:
        """Raise a `DataError` where no process has ever begun."""
        if not self._begun.is_set():
            self.__exit__()
            raise DataError("processes end as soon as they begin", remedy=_WHY) from None

    def result(self, future: Future[T]) -> T:
        try:
            return future.result()
        except BrokenExecutor as error:
            self._check_begun()
            raise WorkersLostError from error

    def __exit__(self, *_: object) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            running = list(getattr(pool, "_processes", None) or {})  # tasks may take hours: do not wait for them
            pool.shutdown(wait=False, cancel_futures=True)
            for number in running:
                with suppress(OSError):
                    os.kill(number, signal.SIGTERM)


def _begin_worker(token: str, runner: Runner, begun: Any) -> None:
    """Prepare a process: it keeps the runner, says that it has begun, and ends when its parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = sys.stderr  # what a function prints must not mix with the sweep's output
    _RUNNERS[token] = runner
    begun.set()
    end_with_parent()


class _Dask(Computing):
    """A Dask cluster: a local one, or that of an address."""

    here = False

    def __init__(self, runner: Runner, workers: int, address: str | None = None) -> None:
        super().__init__(runner, workers)
        try:
            self._dask: Any = import_module("distributed")
        except ImportError:
            raise ArgumentError("Dask is not installed", remedy="pip install 'relfit[dask]'") from None
        self._address, self.starts = address, address is None
        self._cluster: Any = None
        self._client: Any

    def __enter__(self) -> Self:
        if self._address is None:
            quiet = {"dashboard_address": None, "silence_logs": logging.ERROR}  # do not log a normal stop
            # its usual port may be taken
            with signals_kept(), script_hidden(), warnings.catch_warnings(action="ignore"):
                self._cluster = self._dask.LocalCluster(n_workers=self.workers, threads_per_worker=1, **quiet)
        try:
            self._client = self._dask.Client(self._cluster or self._address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            what = f"no Dask scheduler answers at {self._address}"
            raise ArgumentError(what, remedy="start one there, or check the address") from error
        plugin = _plugin(self.token, self.runner, own=self._cluster is not None)
        self._client.register_plugin(plugin, name=f"relfit-{self.token}")
        self._executor = self._client.get_executor(pure=False)
        self._slots, self._counted = 1, -math.inf
        return self

    @property
    def slots(self) -> int:
        if time.monotonic() > self._counted + _RECOUNT:
            self._slots, self._counted = max(3 * sum(self._client.ncores().values()), 1), time.monotonic()
        return self._slots

    def submit(self, function: Callable[[*Ts], T], *arguments: *Ts) -> Future[T]:
        if self._client.status not in ("running", "newly-created"):
            raise DataError("the Dask scheduler is gone", remedy="start it, and run the same command again")
        future: Future[T] = self._executor.submit(function, *arguments)
        return future

    def result(self, future: Future[T]) -> T:
        try:
            return future.result()
        except (self._dask.KilledWorker, self._dask.CancelledError, CancelledError) as error:
            raise WorkersLostError from error

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(wait=False)
        with suppress(OSError, TimeoutError):
            self._client.unregister_worker_plugin(f"relfit-{self.token}")
        self._client.close(timeout=2)
        if self._cluster is not None:
            self._cluster.close(timeout=5)


def _plugin(token: str, runner: Runner, own: bool) -> object:
    from distributed import WorkerPlugin

    class Carrier(WorkerPlugin):
        """Gives the runner to every worker, also to those that come later."""

        def setup(self, worker: object) -> None:
            _take_up(token, runner)
            if own:
                sys.stdout = sys.stderr  # what a function prints must not mix with the sweep's output

        def teardown(self, worker: object) -> None:
            _take_up(token, None)

    return Carrier()


def _take_up(token: str, runner: Runner | None) -> None:
    """Store a runner in this process, or remove it."""
    if runner is None:
        _RUNNERS.pop(token, None)
    else:
        _RUNNERS[token] = runner
