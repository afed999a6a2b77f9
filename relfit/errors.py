"""The errors that relfit raises on a user's mistake: what is wrong, where, and what to do about it."""

from __future__ import annotations

from pathlib import Path

__all__ = ["ArgumentError", "DataError", "ReadError", "RelfitError"]


class RelfitError(Exception):
    """Base of every error that a user of relfit can cause.

    Parameters
    ----------
    what : str
        What is wrong, in one sentence without a full stop.
    path : str or Path, optional
        The file in which it is wrong.
    line, column : int or str, optional
        The line (counted from 1) and the column (a number or a name) in that file.
    remedy : str, optional
        What the user can do about it.

    Examples
    --------
    >>> str(RelfitError("no column 'start'", path="log.csv", line=1, remedy="name it with start=..."))
    "log.csv, line 1: no column 'start'; name it with start=..."
    """

    def __init__(
        self,
        what: str,
        *,
        path: str | Path | None = None,
        line: int | None = None,
        column: int | str | None = None,
        remedy: str | None = None,
    ) -> None:
        self.what = what
        self.path = None if path is None else str(path)
        self.line = line
        self.column = column
        self.remedy = remedy
        where = ", ".join(
            part
            for part in (
                self.path,
                None if line is None else f"line {line}",
                None if column is None else f"column {column}",
            )
            if part
        )
        text = f"{where}: {what}" if where else what
        between = " " if text.endswith("?") else "; "  # a question is followed by a sentence of its own
        super().__init__(f"{text}{between}{remedy}" if remedy else text)


class ReadError(RelfitError):
    """A file cannot be read, or a row of it is rejected in strict mode."""


class DataError(RelfitError, ValueError):
    """The data handed in cannot be what it is said to be (a negative duration, a weight below zero)."""


class ArgumentError(RelfitError, ValueError):
    """An argument or an option has a value that it cannot have."""
