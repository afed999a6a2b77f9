"""The driver of the compiled engine: failures and larger tables for it, estimates of reliability, stops, files."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from relfit.base.arrays import IntArray
from relfit.base.errors import DataError
from relfit.base.text import count
from relfit.simulation.batch import engine_state as es
from relfit.simulation.batch.batch_settings import Part, Saving
from relfit.simulation.batch.engine_state import Engine
from relfit.simulation.batch.event_loop import advance, prepare
from relfit.simulation.batch.failure_processes import FailureStream

Progress = Callable[[str, float], None]  # takes a text that says how far a run is, and the share that is done
REMEDY = "let jobs save (checkpoint), take such jobs out, or end the simulation somewhere (until)"
_BUDGET = 20_000  # instants between two looks at the clock
_SAVING_SHARE = 0.015
"""Largest share of real time for files at intervals of it: where they take more, the next comes later."""
_MOST_IDLE = 2_000_000  # failures in a row without a start after which the run is given up
_MOST_KILLS = 10_000_000  # jobs killed in a row, none ended and no checkpoint written, after which the run is given up
_PATIENCE = 0.2  # seconds between two calls of `progress`


@dataclass
class Drive:
    """A simulation in progress."""

    engine: Engine
    stream: FailureStream
    part: Part
    start: float = 0.0
    next_estimate: float = np.inf
    next_save: float = np.inf
    seconds: float = 0.0  # real time so far
    starts_seen: int = 0
    idle_failures: int = 0
    achieved: tuple[int, float] = (0, np.nan)  # jobs left to end and work in checkpoints, at the last check
    kills_before: int = 0  # jobs killed by then
    job_id: Any = None
    requested: Any = None

    @property
    def settings(self) -> dict[str, Any]:
        """What is simulated, for its result."""
        part = self.part
        return {
            **part.scheduler.model_dump(exclude={"name"}),
            "scheduler": part.scheduler.name,
            "reservations": len(part.reservations),
            "allocation": part.allocation.policy,
            "keep": part.keep,
            "failures": [type(getattr(source, "machine", source)).__name__ for source in part.failures],
            "checkpoints": part.checkpoint is not None,
        }


@dataclass
class Simulation:
    """The content of one file: the machine in progress, or each of its classes of nodes, simulated in turn."""

    parts: list[Drive]
    classes: dict[str, int] | None = None  # nodes of each class
    rows: list[IntArray] = field(default_factory=list)  # which jobs of the workload each class has
    saved: list[Path] = field(default_factory=list)
    of: Mapping[str, Any] | None = None  # the description of `Saving.of`


def drive(simulation: Simulation, write: Write, saving: Saving | None = None, progress: Progress | None = None) -> bool:
    """Run a simulation to the end, or until it is stopped; whether it came to the end. `write` writes a file to go on
    from.

    A `DataError` when jobs wait for more nodes than are ever up at once, or are killed without end.
    """
    prepare()
    every = np.inf if saving is None else saving.seconds("every")
    clock = time.perf_counter()
    times = _Times(clock + every, np.inf if saving is None else clock + saving.seconds("time_limit"))
    with _stopping(saving is not None) as times.stopped:
        return all(_drive_part(simulation, run, saving, write, times, progress) for run in simulation.parts)


Write: TypeAlias = Callable[[Simulation, Path], None]  # writes a file to go on from


@dataclass
class _Times:
    """When the next file is written at intervals of real time, and when the run stops."""

    next_file: float
    limit: float
    next_word: float = 0.0
    stopped: threading.Event = field(default_factory=threading.Event)


def _drive_part(
    simulation: Simulation, run: Drive, saving: Saving | None, write: Write, times: _Times, progress: Progress | None
) -> bool:
    begun, first = time.perf_counter(), int(run.engine.state["n_events"][0])
    while True:
        pause = min(run.next_estimate, run.next_save)
        code = _go(run, pause)
        if code == es.FINISHED:
            run.seconds += time.perf_counter() - begun
            return True
        if code == es.MORE_FAILURES:
            _more_failures(run)
        elif code == es.LARGER_QUEUE:
            run.engine = es.grown_queue(run.engine)
        elif code == es.LARGER_LOG:
            run.engine = es.grown_log(run.engine)
        elif code == es.PAUSED:
            _estimate(run, pause)
            if pause >= run.next_save:  # that of the run that was stopped, which may have saved at intervals
                run.next_save += np.inf if saving is None else saving.seconds("every_simulated")
                if saving is not None:
                    _numbered(simulation, saving, write)
        now = time.perf_counter()
        if progress is not None and now >= times.next_word:
            times.next_word = now + _PATIENCE
            _tell(simulation, progress)
        if saving is not None and now >= times.next_file:
            run.seconds, begun = run.seconds + now - begun, now
            _numbered(simulation, saving, write)
            written = time.perf_counter()
            times.next_file = written + max(saving.seconds("every"), (written - now) / _SAVING_SHARE)
        stop = times.stopped.is_set() or now >= times.limit
        # every call advances, or a chain of stopped calls would never end
        advanced = code == es.MORE_FAILURES or int(run.engine.state["n_events"][0]) > first
        if saving is not None and stop and advanced:
            run.seconds += now - begun
            write(simulation, saving.path)
            return False


def _go(run: Drive, pause: float) -> int:
    """As `advance`, with the decisions that Python makes."""
    engine, part, until = run.engine, run.part, time.perf_counter() + _PATIENCE
    while True:
        code = advance(engine, pause, _BUDGET)
        if code != es.DECIDE:
            return code
        part.scheduler.decide(engine, float(engine.state["now"][0]), part.allocation, part.planned)
        engine.state["n_passes"] += 1
        engine.state["changed"] = engine.state["drop_plans"] = 0
        if time.perf_counter() >= until:
            return es.SPENT


def _more_failures(run: Drive) -> None:
    rows = run.stream.take()
    state = run.engine.state[0]
    run.engine = run.engine._replace(failures=rows.view(np.recarray))
    state.next_failure, state.drawn_until = 0, run.stream.until
    run.idle_failures = (
        0 if state.n_starts != run.starts_seen or state.n_running else run.idle_failures + max(len(rows), 1)
    )
    run.starts_seen = int(state.n_starts)
    if run.idle_failures > _MOST_IDLE:
        waiting = count(int(state.n_waiting), "job waits", "jobs wait")
        what = f"{waiting} for more nodes than are ever up at once"
        raise DataError(what, remedy="give reject_after_repairs, or until")
    left, kills = int(state.n_left), int(state.n_kills)
    if left == run.achieved[0] and kills - run.kills_before <= _MOST_KILLS:
        return
    saved = float(run.engine.jobs["saved"].sum())
    if (left, saved) == run.achieved and state.until == np.inf:  # jobs neither end nor write a checkpoint
        running = int(state.n_running) + int(state.n_waiting)
        what = f"failures killed jobs {_MOST_KILLS:,} times in a row, and none of {running:,} ended or saved meanwhile"
        raise DataError(what, remedy=REMEDY)
    run.achieved, run.kills_before = (left, saved), kills


def _tell(simulation: Simulation, progress: Progress) -> None:
    """Report the progress."""
    jobs = sum(len(run.engine.jobs) for run in simulation.parts)
    left = sum(int(run.engine.state["n_left"][0]) for run in simulation.parts)
    kills = sum(int(run.engine.state["n_kills"][0]) for run in simulation.parts)
    text = f"simulating: {jobs - left:,} of {jobs:,} jobs ended, kills by failures: {kills:,}"
    progress(text, (jobs - left) / jobs if jobs else 1.0)


def _estimate(run: Drive, now: float) -> None:
    if now < run.next_estimate:
        return
    engine, reliability = run.engine, run.part.allocation.judgement
    run.next_estimate += reliability.period
    log = engine.log[: int(engine.state["n_log"][0])]
    lives = reliability.parameters(len(engine.nodes), log, run.start, now)
    engine.nodes["weibull_shape"], engine.nodes["scale"] = lives


def _numbered(simulation: Simulation, saving: Saving, write: Write) -> None:
    """Write another numbered file; remove the oldest beyond `Saving.keep`."""
    path = saving.path
    number = int(simulation.saved[-1].stem.rpartition("-")[2]) + 1 if simulation.saved else 1
    place = path.with_name(f"{path.stem}-{number}{path.suffix}")
    simulation.saved.append(place)
    gone = simulation.saved[: -saving.keep]
    simulation.saved = simulation.saved[-saving.keep :]
    write(simulation, place)
    for old in gone:
        old.unlink(missing_ok=True)


@contextmanager
def _stopping(wanted: bool) -> Iterator[threading.Event]:
    """An event that SIGTERM, SIGINT or SIGUSR1 sets, in the main thread."""
    event = threading.Event()
    names = [name for name in ("SIGTERM", "SIGINT", "SIGUSR1") if hasattr(signal, name)]
    before = {}
    if wanted and threading.current_thread() is threading.main_thread():
        for name in names:
            before[name] = signal.signal(getattr(signal, name), lambda *_: event.set())
    try:
        yield event
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)
