"""How the loop is compiled: its functions take addresses, not arrays.

An address costs nothing to hand on, where an array is counted at every call and its indices are looked at for their
sign: a run takes half as long so, and so does compiling.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba import types
from numba.extending import intrinsic

from relfit.numeric.compiled import njit

__all__ = ["address", "compiled"]

compiled = njit(nogil=True, error_model="numpy")


def _address(typing: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    pointer: Any = types.CPointer
    return pointer(array.dtype)(array), generate


address = cast(Callable[[np.ndarray], np.ndarray], intrinsic(_address))
"""The address of the first entry of an array, in compiled code only; it is indexed like the array."""
