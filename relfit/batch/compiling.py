"""How the parts of the batch simulator are compiled: into one function, kept on disk until a source here changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from zlib import crc32

from numba import njit

__all__ = ["inner", "sources"]

Function = TypeVar("Function", bound=Callable[..., object])


def inner(function: Function) -> Function:
    """Compile a part that is called from compiled code alone: it needs no way in from Python and no file of its own."""
    part: Function = njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy")(function)
    return part


def sources() -> int:
    """A check sum of the sources that are compiled; numba itself looks at the file of the outermost function only."""
    texts = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    marks = (b"import inner", b"from numba", b"class Engine(")  # what is compiled, and the tables that it works on
    total = 0
    for text in texts:
        if any(mark in text for mark in marks):
            total = crc32(text, total)
    return total
