"""A progress bar on stderr, for work that takes over a second while somebody watches."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

_PATIENCE = 1.0  # seconds


class ProgressSteps:
    """Named steps of a command, shown as a bar once the whole takes longer than a second."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self._done = 0
        self._bar: Progress | None = None
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def __enter__(self) -> ProgressSteps:
        if sys.stderr.isatty():
            self._timer = threading.Timer(_PATIENCE, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def next(self) -> None:
        """Go on to the next step."""
        with self._lock:
            self._done = min(self._done + 1, len(self._names) - 1)
            if self._bar is not None:
                self._bar.update(self._bar.task_ids[0], completed=self._done, description=self._names[self._done])

    def say(self, what: str, share: float) -> None:
        """Say what is done just now, and how far the present step is (a share)."""
        with self._lock:
            if self._bar is not None:
                self._bar.update(self._bar.task_ids[0], completed=self._done + share, description=what)

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._names = ()
            if self._bar is not None:
                self._bar.stop()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock:
            if not self._names:  # the work ended while the timer fired
                return
            parts = TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
            self._bar = Progress(*parts, console=Console(stderr=True), transient=True)
            self._bar.add_task(self._names[self._done], total=len(self._names), completed=self._done)
            self._bar.start()
