"""Stored arrays that are read only, and stored tables that a change to a copy does not reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import Value

T = TypeVar("T")
_COPY_ON_WRITE = int(pd.__version__.partition(".")[0]) >= 3
_TABLES = ("pd.DataFrame", "pd.DataFrame | None")


def read_only(values: npt.NDArray[Value]) -> npt.NDArray[Value]:
    """The same values, as an array that cannot be written to."""
    view = values.view()
    view.flags.writeable = False
    return view


def seal_arrays(instance: object) -> None:
    """Make the arrays that an instance holds read only, and those of plain classes in it."""
    for name, value in vars(instance).items():
        if isinstance(value, np.ndarray):
            vars(instance)[name] = read_only(value)
        elif is_dataclass(value) and hasattr(value, "__dict__"):
            seal_arrays(value)


def seal_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """The same table, its values read only: for one without other references, which need not be copied."""
    for values in () if _COPY_ON_WRITE else _values(frame):
        values.flags.writeable = False
    return frame


def seal_tables(cls: type[T]) -> type[T]:
    """Protect the tables among the fields of a class, and its ``cached_property`` ones, from changes: with copy on
    write (pandas 3) they are handed out as copies that cost nothing; before, values are read only and columns that are
    no numpy arrays are copied.
    """
    for name, kind in vars(cls).get("__annotations__", {}).items():
        if kind in _TABLES:
            setattr(cls, name, _Table(name))
    for name, value in list(vars(cls).items()):
        if isinstance(value, cached_property) and value.func.__annotations__.get("return") in _TABLES:
            setattr(cls, name, _Table(name, value.func))
    return cls


class _Table:
    """A field that holds a table, or what makes one when it is first asked for."""

    def __init__(self, name: str, make: Callable[[object], pd.DataFrame | None] | None = None) -> None:
        self.name, self.make, self.__doc__ = name, make, make and make.__doc__

    def __set__(self, instance: object, frame: pd.DataFrame | None) -> None:
        if frame is not None:
            mine = _COPY_ON_WRITE or not any(values.flags.writeable for values in _values(frame))
            frame = frame.copy(deep=False) if mine else seal_frame(frame.copy())
        vars(instance)[self.name] = frame

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            if self.make is None:
                raise AttributeError(self.name)
            return self
        if self.make is not None and self.name not in vars(instance):
            self.__set__(instance, self.make(instance))
        frame = vars(instance)[self.name]
        if frame is None:
            return None
        copy = frame.copy(deep=False)
        for block in () if _COPY_ON_WRITE else copy._mgr.blocks:
            if not isinstance(_stored(block), np.ndarray):
                block.values = block.values.copy()  # noqa: PD011
        return copy


def _stored(block: Any) -> object:
    """What pandas 2 keeps the values of some columns in."""
    return getattr(block.values, "_ndarray", block.values)


def _values(frame: pd.DataFrame) -> list[npt.NDArray[Any]]:
    """The arrays that hold the values of a table; columns of other kinds are left out."""
    return [values for values in map(_stored, frame._mgr.blocks) if isinstance(values, np.ndarray)]
