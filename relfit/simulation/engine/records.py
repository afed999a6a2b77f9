"""State as records: a class declares the fields, arrays of records hold them, compiled code reads them by name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Protocol, TypeVar, cast, get_args, get_type_hints, overload

import numpy as np

from relfit.base.numeric.compiled import njit

Record = TypeVar("Record")

compiled = njit(nogil=True, error_model="numpy")  # compile a function that Python may call, and cache it on disk

entry = njit(nogil=True, error_model="numpy", _nrt=False)
"""`compiled`, for a function that makes no arrays: it skips reference counting, which takes time."""

_inner: Any = {"cache": False, "nogil": True, "error_model": "numpy"}
_inner |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

part = njit(**_inner, _nrt=False)
"""`entry`, for a function that only compiled code may call; one that returns arrays, only entries and parts."""

inlined = njit(**_inner, _nrt=False, forceinline=True)
"""`part`, inlined by LLVM where it is called: for short ones that nearly every event needs."""

merged = njit(**_inner, _nrt=False, inline="always")
"""`part`, inlined by numba: for the part of a single function, compiled with it."""

making_arrays = njit(**_inner)  # `part`, for a function that makes arrays


class Records(Protocol[Record]):
    """An array of records: an integer gives a record, a name the array of one field."""

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> Records[Record]: ...
    @overload
    def __getitem__(self, place: str) -> np.ndarray: ...
    def __setitem__(self, place: str | slice, values: object) -> None:
        """Set a field of all records, or some records."""

    def __iter__(self) -> Iterator[Record]: ...
    def __len__(self) -> int: ...
    def copy(self) -> Records[Record]:
        """The same records in an array of their own."""


@cache
def record_dtype(fields: type) -> np.dtype[np.void]:
    """The dtype of a class of annotated fields: ``int`` and ``float`` of eight bytes, ``bool`` of one.

    A field annotated ``Annotated[IntArray, n]`` holds n numbers.
    """
    parts: list[tuple[Any, ...]] = []
    if taken := [name for name in get_type_hints(fields) if hasattr(np.record, name)]:
        raise TypeError(f"{fields.__name__}: {', '.join(taken)} would hide an attribute of numpy's records")
    for name, hint in get_type_hints(fields, include_extras=True).items():
        if hasattr(hint, "__metadata__"):
            parts.append((name, _numbers_of(hint.__origin__), hint.__metadata__))
        else:
            parts.append((name, {int: np.int64, float: np.float64, bool: np.bool_}[hint]))
    return np.dtype(parts, align=True)


def _numbers_of(alias: object) -> type[np.generic]:
    """The numpy type of the numbers in an alias of an array, which numpy's releases nest differently."""
    inner = [*get_args(alias)]
    for each in inner:
        if isinstance(each, type) and issubclass(each, np.generic):
            return each
        inner += get_args(each)
    raise TypeError(f"{alias} names no type of numpy's numbers")


def new_records(fields: type[Record], n: int) -> Records[Record]:
    """`n` records of zeros, with the fields of a class."""
    return cast("Records[Record]", np.zeros(n, record_dtype(cast("type", fields))).view(np.recarray))
