"""A notice on stderr while a simulator is compiled, once per installation."""

from __future__ import annotations

import multiprocessing
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE = 3.0  # seconds between two looks


@contextmanager
def compile_notice(function: object, how_long: str) -> Iterator[None]:
    """Say that a simulator is being compiled where its function is not on disk and takes more than three seconds.

    Of several processes that compile it, only the first says so.

    Parameters
    ----------
    how_long : str
        What it takes, as "some twenty seconds".
    """
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_PATIENCE) and not _compiled(function):
            if _missed(function):
                print(f"relfit: compiling the simulator, once per installation: {how_long}", file=sys.stderr)
                return

    if not _compiled(function) and multiprocessing.current_process().name in ("MainProcess", "SpawnProcess-1"):
        threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _compiled(function: object) -> bool:
    return bool(getattr(function, "signatures", ()))


def _missed(function: object) -> bool:
    """Whether numba looked for the function on disk in vain; it does so before it compiles."""
    stats = getattr(function, "stats", None)
    return stats is not None and sum(stats.cache_misses.values()) > 0
