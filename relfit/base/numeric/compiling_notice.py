"""A notice on stderr while a simulator is compiled, once per installation."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["compile_notice"]

_PATIENCE = 3.0  # seconds; what is kept on disk is read in less


@contextmanager
def compile_notice(function: object, how_long: str) -> Iterator[None]:
    """Say that a simulator is being compiled where its compiled function is not there after three seconds.

    Parameters
    ----------
    how_long : str
        What it takes, as "some twenty seconds".
    """

    def compiled() -> bool:
        return bool(getattr(function, "signatures", ()))

    def say() -> None:
        if not compiled():
            print(f"relfit: compiling the simulator, once per installation: {how_long}", file=sys.stderr)

    timer = threading.Timer(_PATIENCE, say)
    timer.daemon = True
    if not compiled():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
