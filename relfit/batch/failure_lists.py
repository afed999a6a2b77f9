"""Lists of failures to replay, from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from relfit.batch.failure_source import ReplayedFailures
from relfit.errors import ReadError

__all__ = ["read_failures"]


def read_failures(path: str | Path) -> ReplayedFailures:
    """A list of failures from a CSV file with the columns ``time``, ``node`` and ``repair_seconds``.

    Raises
    ------
    ReadError
        When a column is missing, or a value cannot be what it should.
    """
    try:
        table = pd.read_csv(path, skipinitialspace=True)
    except (OSError, ValueError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is no CSV table"
        raise ReadError(f"cannot be read: {why}", path=path, remedy="give time,node,repair_seconds") from error
    for name in ("time", "node", "repair_seconds"):
        if name not in table.columns:
            raise ReadError(f"no column {name}", path=path, line=1, remedy="give time,node,repair_seconds")
        values = pd.to_numeric(table[name], errors="coerce")
        bad = np.flatnonzero(values.isna() | (values < 0) if name == "repair_seconds" else values.isna())
        if name == "node":
            bad = np.flatnonzero(values.isna() | (values != values.round()))
        if bad.size:
            text = table[name].iloc[bad[0]]
            raise ReadError(f"{text!r} is no {name}", path=path, line=int(bad[0]) + 2, column=name)
        table[name] = values
    return ReplayedFailures(
        table["time"].to_numpy(), table["node"].to_numpy().astype(np.int64), table["repair_seconds"].to_numpy()
    )
