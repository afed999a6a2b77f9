"""Rows of a table that repeat an earlier record: exported twice, or once for each person who handled a ticket."""

from __future__ import annotations

import numpy as np
import pandas as pd

from relfit.base.arrays import BoolArray
from relfit.base.units import nanoseconds
from relfit.io.parsing.rows import category
from relfit.io.table_columns import Columns


def reject_repeated(
    columns: Columns, node: pd.Series, start: pd.Series, others: dict[str, pd.Series], failing: BoolArray | None = None
) -> None:
    """Reject rows that repeat an earlier one in every column, and failures of the same node, times and `others`.

    Only rows of the same node and start are compared; failures of different units within a node are not the same.
    """
    both = nanoseconds(start) * np.int64(1_000_003)
    both += node.cat.codes.to_numpy()
    in_order = np.sort(both)
    if not (in_order[1:] == in_order[:-1]).any():
        return
    columns.table.reject_duplicates(pd.Series(both).duplicated(keep=False).to_numpy() & start.notna().to_numpy())
    if failing is None:
        return
    rejections = columns.rejections
    rows = np.flatnonzero(rejections.kept & failing & start.notna().to_numpy() & node.notna().to_numpy())
    rows = rows[pd.Series(both[rows]).duplicated(keep=False).to_numpy()]
    if not rows.size:
        return
    parts = {name: category(columns.table.columns[name]) for name in columns.parts()}
    compared = {"node": node, "start": start, **others, **parts}
    codes = pd.DataFrame({name: pd.factorize(values.iloc[rows])[0] for name, values in compared.items()})
    group = codes.groupby(list(codes.columns), sort=False).ngroup().to_numpy()
    first = rows[np.unique(group, return_index=True)[1]][group]
    of_row = np.arange(rejections.lines.size)
    of_row[rows] = first
    lines = rejections.lines
    rejections.reject(
        of_row != np.arange(lines.size), lambda row: f"the same node, times and cause as line {lines[of_row[row]]}"
    )
