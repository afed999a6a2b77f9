"""Counts of bits in a word, for compiled code: one instruction of the processor each."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

__all__ = ["lowest_bit", "set_bits"]


def _lowest_bit(typing_context: Any, word: Any) -> Any:
    """The place of the lowest bit that is set in a word that is not 0."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.int64(types.uint64), build


def _set_bits(typing_context: Any, word: Any) -> Any:
    """How many bits are set in a word."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), build


lowest_bit: Any = intrinsic(_lowest_bit)
set_bits: Any = intrinsic(_set_bits)
