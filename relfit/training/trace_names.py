"""The rows of a compiled trace as a table, with states and phases by their names."""

from __future__ import annotations

import numpy as np
import pandas as pd

from relfit.arrays import FloatArray
from relfit.training.layout import PHASES, STATES

__all__ = ["trace_table"]

_NAMES = ["new", *STATES, *PHASES]


def trace_table(rows: FloatArray, replication: int) -> pd.DataFrame:
    """The rows of a replication's trace with states and phases by their names."""
    first = np.where(rows[:, 1] < 0, len(STATES) + 1, 1)  # code of the first phase, or of the first state
    columns = {}
    for name, values in (("before", rows[:, 3]), ("after", rows[:, 4])):
        codes = np.where(values < 0, 0, first + values).astype(np.int8)
        columns[name] = pd.Categorical.from_codes(codes, categories=pd.Index(_NAMES))
    return pd.DataFrame(
        {
            "replication": replication,
            "minute": rows[:, 0],
            "server": rows[:, 1].astype(np.int32),
            "job": rows[:, 2].astype(np.int32),
            **columns,
        }
    )
