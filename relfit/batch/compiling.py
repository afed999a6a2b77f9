"""How the parts of the batch simulator are compiled: into one function, kept on disk until a source here changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

from numba import njit

from relfit.numeric.compiled import njit as kept_njit

__all__ = ["inner", "inner_of", "making_arrays", "sources"]

_jit: Any = njit  # whose type does not name all that it takes
Function = TypeVar("Function", bound=Callable[..., object])


def inner(function: Function) -> Function:
    """Compile a part that is called from compiled code alone: it needs no way in from Python and no file of its own.

    It makes no arrays, so those that it works on are not counted as used, which would take a third of the time. It is
    copied to where it is called: handing on the tables of an engine, a hundred words, took half of an event.
    """
    return _compiled(function, counted=False, copied=True)


def seldom(function: Function) -> Function:
    """`inner` for a part that few events need, or that is called from several places: it is not copied into each."""
    return _compiled(function, counted=False, copied=False)


def inner_of(way: str) -> Callable[[Function], Function]:
    """`inner` for a part that is made anew for each way of starting jobs, which its name says then.

    Compiled code is put together by names. Two parts of one name, kept on disk by two processes, would be taken for
    each other by a third that loads both.
    """

    def named(function: Function) -> Function:
        function.__name__ = function.__qualname__ = f"{function.__name__}_{way}"
        return inner(function)

    return named


def merged(function: Function) -> Function:
    """A part written into the one that calls it before either is compiled: as a part it would be compiled twice."""
    part: Function = _jit(inline="always")(function)
    return part


def outermost(function: Function) -> Function:
    """Compile what is called from Python, with all of its parts, and keep it on disk."""
    return kept_njit(nogil=True, error_model="numpy", _nrt=False)(function)


def making_arrays(function: Function) -> Function:
    """Compile such a part that makes arrays."""
    return _compiled(function, counted=True, copied=False)


def _compiled(function: Function, *, counted: bool, copied: bool) -> Function:
    part: Function = _jit(
        nogil=True,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        error_model="numpy",
        _nrt=counted,
        forceinline=copied,
    )(function)
    return part


def sources() -> int:
    """A check sum of what is compiled here; numba itself looks at the file of the outermost function only."""
    total = 0
    for path in sorted(Path(__file__).parent.glob("*.py")):
        text = path.read_bytes()
        if b"numba" in text or b"batch.compiling" in text or path.name == "engine_state.py":
            total = crc32(text, total)
    return total
