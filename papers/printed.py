"""Printed tables as they stand in `data/`, and what it is for a number to agree with a printed one."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

__all__ = ["half_unit", "printed_table"]

_DATA = Path(__file__).parent / "data"


def printed_table(name: str) -> pd.DataFrame:
    """A table of `data/`, every cell as the text that is printed."""
    return pd.read_csv(_DATA / f"{name}.csv", dtype=str)


def half_unit(text: str) -> float:
    """Half a unit of the last printed digit.

    Examples
    --------
    >>> half_unit("2014.406"), half_unit("59821")
    (0.0005, 0.5)
    """
    return 0.5 * 10.0 ** -len(text.partition(".")[2])
