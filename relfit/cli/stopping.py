"""Signals that ask a simulation to stop, and the exit status that says: run the same command again."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

STOPPED = 75
"""Exit status of a simulation that stopped before its end: that of ``sysexits.h`` for "try again later"."""
_TEXT = b"relfit: stopped before the simulation went on; nothing is lost: run the same command again\n"


def stop_before_start(arguments: Sequence[str]) -> None:
    """From here on SIGTERM and SIGUSR1, of a sweep and with ``--resume`` SIGINT too, end a simulation with `STOPPED`.

    Saved states stay as they are. While the simulator runs it handles these signals itself.
    """
    sweeps = list(arguments[:1]) == ["sweep"] and arguments[1:2] not in (["status"], ["report"])
    if list(arguments[:2]) != ["simulate", "batch"] and not sweeps:
        return
    chained = sweeps or any(text.partition("=")[0] == "--resume" for text in arguments)
    for name in ("SIGTERM", "SIGUSR1", *(["SIGINT"] if chained else [])):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _end)


def default_signals() -> None:
    """Let go of what `stop_before_start` took: for a simulation that does not save itself."""
    for name in ("SIGTERM", "SIGUSR1"):
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is _end:
            signal.signal(getattr(signal, name), signal.SIG_DFL)


def _end(*_: object) -> None:
    # an exception can be lost in what is being imported or compiled just now
    os.write(2, _TEXT)
    os._exit(STOPPED)
