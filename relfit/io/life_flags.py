"""Flags in tables: what their words say, true or false, or of a life whether it ended or its unit still runs."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from relfit.base.arrays import BoolArray
from relfit.io.parsing.rows import TextTable, as_text_array
from relfit.io.table_mapping import COMMON_NAMES, guessed

_TRUE = frozenset(("true", "t", "yes", "y", "1", "1.0"))
_FALSE = frozenset(("false", "f", "no", "n", "0", "0.0"))
_ENDED = frozenset(("failed", "failure", "fail", "died", "dead"))
_RUNNING = frozenset(("running", "still running", "alive", "censored", "c", "suspended", "suspension", "s"))
_EITHER = "f"  # false, or failed
_ONLY_OF_LIVES = ("obs", "event_observed", "died", "dead", "delta", "status")
"""Names of flags beside durations; in other tables they may be anything."""
NO_FLAG = (
    "says neither that the unit failed (failed, true, 1) nor that it still runs (running, censored, false, 0); for "
    "other words say which is a failure: --failures COLUMN=WORD"
)
UNFLAGGED = (
    "no column says which units still run: every duration counts as a failure; --column observed=NAME names the flag"
)


def flags(column: object) -> tuple[BoolArray, BoolArray]:
    """Truth of each word, and whether it is a word for true or false."""
    words, codes = _words(column)
    return _where(words, _TRUE)[codes], _where(words, _TRUE | _FALSE)[codes]


def ended_flags(column: object, *, censored: bool = False) -> tuple[BoolArray, BoolArray] | None:
    """Whether each life ended in a failure, and whether its word says so or not; None where ``F`` may mean either.

    The words of the column together decide what ``F`` is: false beside words for true or false, a failure beside ``S``
    or ``C`` (suspended, censored) or another word for failed or running, and neither alone or beside both kinds. With
    `censored`, words for true say that a life is censored; words such as ``failed`` say the same in either column.
    """
    words, codes = _words(column)
    others = frozenset(words) - {_EITHER}
    truth, endings = bool(others & (_TRUE | _FALSE)), bool(others & (_ENDED | _RUNNING))
    if _EITHER in words and truth == endings and not censored:
        return None
    ended = _ENDED | (_FALSE if censored else _TRUE) | (frozenset() if truth else {_EITHER})
    return _where(words, ended)[codes], _where(words, _TRUE | _FALSE | _ENDED | _RUNNING)[codes]


def _words(column: object) -> tuple[list[str], npt.NDArray[np.integer]]:
    """The different words of a column in small letters, and which each row has."""
    array = column if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column, pa.large_string())
    text = pc.utf8_trim_whitespace(pc.utf8_lower(as_text_array(array)))
    coded = pc.dictionary_encode(pc.fill_null(text, ""))
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    return coded.dictionary.to_pylist(), coded.indices.to_numpy(zero_copy_only=False)


def _where(words: list[str], wanted: frozenset[str]) -> BoolArray:
    return np.array([word in wanted for word in words], dtype=bool)


def flag_of_lives(table: TextTable, taken: Collection[str]) -> dict[str, str]:
    """The field and column of the flag: the first with a usual name, all of whose values (empty ones aside) are one."""
    for name in (*COMMON_NAMES["observed"], *_ONLY_OF_LIVES):
        column = guessed(table.header, {"observed": (name,)}, taken)
        text = as_text_array(table.columns[column["observed"]]) if column else pa.array([], pa.string())
        values = text.filter(pc.fill_null(pc.not_equal(text, ""), False))
        answer = ended_flags(values)
        if len(values) and answer is not None and answer[1].all():
            return column
    return {}


def ended(table: TextTable, name: str, field: str) -> tuple[BoolArray, BoolArray]:
    """As `ended_flags`, of a column for `field`, observed or censored; a `ReadError` where a flag may mean both."""
    answer = ended_flags(table.columns[name], censored=field == "censored")
    if answer is None:
        raise table.rejections.error(
            f"the flags in column {name!r} may mean two things: F is failed beside S or C, and false beside T",
            "write failed and running, or true and false, in its place",
        )
    return answer
