"""State as records: a class declares the fields, arrays of records hold them, compiled code reads them by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeVar, cast, get_type_hints, overload

import numpy as np

from relfit.numeric.compiled import njit

__all__ = ["Records", "compiled", "inlined", "making_arrays", "new_records", "part", "record_dtype"]

Record = TypeVar("Record")
Function = TypeVar("Function")

compiled = njit(nogil=True, error_model="numpy")
"""Compile a function of a model."""

part = njit(cache=False, nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)
"""Compile a function that only compiled code calls and that makes no arrays: half the time to compile and to run."""

making_arrays = njit(cache=False, nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""The same for one that makes arrays."""

inlined = njit(nogil=True, error_model="numpy", forceinline=True)
"""Compile a function that is copied to where it is called: a short one that nearly every event needs."""


class Records(Protocol[Record]):
    """An array of records: by number a record, by name the array of one field."""

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> Records[Record]: ...
    @overload
    def __getitem__(self, place: str) -> np.ndarray: ...
    def __setitem__(self, place: str | slice, values: Any) -> None:
        """Set a field of all records, or some records."""

    def __iter__(self) -> Iterator[Record]: ...
    def __len__(self) -> int: ...


def record_dtype(fields: type) -> np.dtype[np.void]:
    """The dtype of a class of annotated fields: ``int`` and ``float`` of eight bytes, ``bool`` of one.

    A field annotated ``Annotated[IntArray, n]`` holds n numbers.

    Examples
    --------
    >>> class Event:
    ...     time: float
    ...     number: int
    >>> record_dtype(Event).names
    ('time', 'number')
    """
    parts: list[tuple[Any, ...]] = []
    for name, hint in get_type_hints(fields, include_extras=True).items():
        if hasattr(hint, "__metadata__"):
            parts.append((name, hint.__origin__.__args__[1].__args__[0], hint.__metadata__))
        else:
            parts.append((name, {int: np.int64, float: np.float64, bool: np.bool_}[hint]))
    return np.dtype(parts, align=True)


def new_records(fields: type[Record], n: int) -> Records[Record]:
    """Records of zeros.

    Examples
    --------
    >>> class Event:
    ...     time: float
    ...     number: int
    >>> events = new_records(Event, 3)
    >>> events[1].time = 2.5
    >>> events["time"].tolist()
    [0.0, 2.5, 0.0]
    """
    return cast("Records[Record]", np.zeros(n, record_dtype(fields)).view(np.recarray))
