"""The errors that relfit raises on a user's mistake: what is wrong, where, and what to do about it."""

from __future__ import annotations

from pathlib import Path


class Remedy(str):
    """What to do, in Python's words; `options` has it in those of the command line."""

    options: str

    def __new__(cls, text: str, options: str = "") -> Remedy:
        """A text that carries another."""
        remedy = super().__new__(cls, text)
        remedy.options = options
        return remedy


class RelfitError(Exception):
    """Base of all errors that a user of relfit can cause.

    Parameters
    ----------
    what : str
        What is wrong, in one sentence without a full stop.
    path : str or Path, optional
        The file in which it is wrong.
    line, column : int or str, optional
        The line (counted from 1) and the column (a number or a name) in that file.
    remedy : str, optional
        What the user can do about it; a `Remedy` if the command line words it differently.

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
        places = {"line": line, "column": column}
        named = [f"{name} {place}" for name, place in places.items() if place is not None]
        where = ", ".join([self.path, *named] if self.path else named)
        self._text = f"{where}: {what}" if where else what
        super().__init__(self._with(remedy))

    def in_options(self) -> str:
        """The message with what to do in the words of the command line."""
        return self._with(self.remedy.options if isinstance(self.remedy, Remedy) else self.remedy)

    def _with(self, remedy: str | None) -> str:
        between = " " if self._text.endswith("?") else "; "  # a question is followed by a sentence of its own
        return f"{self._text}{between}{remedy}" if remedy else self._text


class ReadError(RelfitError):
    """A file cannot be read, or a row of it is rejected in strict mode."""


class DataError(RelfitError, ValueError):
    """The data have an invalid value (a negative duration, a weight below zero)."""


class ArgumentError(RelfitError, ValueError):
    """An argument or an option has an invalid value."""


class AbsentValueError(ArgumentError):
    """A value that is selected or excluded is not in the log."""
