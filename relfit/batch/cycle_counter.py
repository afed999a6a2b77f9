"""The processor's cycle counter, for compiled code: how much of a run went into decisions."""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

__all__ = ["COUNTS", "cycles"]

COUNTS = platform.machine().lower() in ("x86_64", "amd64")
"""Whether this kind of processor lets programs read its counter."""


def _cycles(typing_context: Any) -> Any:
    """Cycles since some instant; 0 where the counter cannot be read."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = ir.IntType(64)
        if not COUNTS:
            return ir.Constant(whole, 0)
        counter = builder.module.declare_intrinsic("llvm.readcyclecounter", fnty=ir.FunctionType(whole, []))
        return builder.call(counter, [])

    return types.int64(), build


cycles: Any = intrinsic(_cycles)
