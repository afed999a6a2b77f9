"""Types of arrays, of durations as arguments, and of seeds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
ObjectArray = npt.NDArray[np.object_]
NumberArray = npt.NDArray[np.int64 | np.float64]
Value = TypeVar("Value", bound=np.generic)
ValueArray = npt.NDArray[np.generic]
"""Values of any type, of which only their order or whether they are equal matters."""
CodeArray = npt.NDArray[np.int32 | np.int64]
"""Which of several things: in half the memory where records are many."""
Seed = int | np.random.Generator | None
Duration: TypeAlias = float | str | dt.timedelta | np.timedelta64
"""Hours, or text or a time that says its unit (`relfit.base.units.hours`)."""
Durations: TypeAlias = Duration | npt.ArrayLike
"""One duration or an array of them."""
NamedDurations: TypeAlias = Durations | Mapping[str, Duration] | Mapping[int, Duration]
"""The same, or durations by name."""
