"""The column of a table of durations that says which of them ended in a failure."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow.compute as pc

from relfit.base.arrays import BoolArray
from relfit.base.errors import ReadError
from relfit.io.parsing.flag_words import ended_flags
from relfit.io.parsing.rows import TextTable, as_text_array
from relfit.io.table_mapping import COMMON_NAMES, guessed

_ONLY_OF_LIVES = ("obs", "event_observed", "died", "dead", "delta", "status")
"""Names of flags beside durations; in other tables they may be anything."""
NO_FLAG = "says neither that the unit failed (failed, true, 1) nor that it still runs (running, censored, false, 0)"
UNFLAGGED = (
    "no column says which units still run: every duration counts as a failure; --column observed=NAME names the flag"
)


def flag_of_lives(table: TextTable, taken: Collection[str]) -> dict[str, str]:
    """The field and column of the flag: the first with a usual name, all of whose values are flags."""
    for name in (*COMMON_NAMES["observed"], *_ONLY_OF_LIVES):
        column = guessed(table.header, {"observed": (name,)}, taken)
        if column and _all_flags(table, column["observed"]):
            return column
    return {}


def _all_flags(table: TextTable, name: str) -> bool:
    """Whether every value of a column that is not empty says that a life ended, or that it did not."""
    text = as_text_array(table.columns[name])
    values = text.filter(pc.fill_null(pc.not_equal(text, ""), False))
    answer = ended_flags(values)
    return len(values) > 0 and answer is not None and bool(answer[1].all())


def ended(table: TextTable, name: str, field: str) -> tuple[BoolArray, BoolArray]:
    """Whether each life ended, by its flag (`field` observed or censored), and whether that is a flag.

    Raises
    ------
    ReadError
        Where a flag may mean both.
    """
    answer = ended_flags(table.columns[name], censored=field == "censored")
    if answer is None:
        raise ReadError(
            f"the flags in column {name!r} may mean two things: F is failed beside S or C, and false beside T",
            path=table.rejections.path,
            remedy="write failed and running, or true and false, in its place",
        )
    return answer
