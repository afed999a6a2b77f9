"""Numbers from text, by Arrow: no spelling of a number can crash or hang it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relfit.base.arrays import FloatArray

_LONGEST = 400  # digits before or after the point
_NUMBER = r"^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?$"
_LONG_NUMBER = _NUMBER.replace(r"\d+", rf"\d{{1,{_LONGEST}}}").replace(r"\d*", rf"\d{{0,{_LONGEST}}}")


def as_numbers(values: object) -> FloatArray:
    """Each text as a number; NaN for all others, including ``inf``, ``nan`` and exponents of four digits."""
    text = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values, pa.large_string())
    if isinstance(text, pa.ChunkedArray):
        text = text.combine_chunks()
    if pa.types.is_dictionary(text.type):
        each = as_numbers(text.dictionary)
        return np.append(each, np.nan)[pc.fill_null(text.indices, len(each)).to_numpy(zero_copy_only=False)]
    # compiling the pattern with that count takes longer than matching most columns
    short = (pc.max(pc.binary_length(text)).as_py() or 0) <= _LONGEST
    good = pc.fill_null(pc.match_substring_regex(text, pattern=_NUMBER if short else _LONG_NUMBER), False)
    plain = pc.if_else(good, text, pa.scalar(None, text.type))
    numbers: FloatArray = pc.cast(plain, pa.float64()).to_numpy(zero_copy_only=False).astype(np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)
