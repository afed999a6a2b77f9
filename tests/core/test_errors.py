"""What a user is told, and the classes a caller can catch."""

from __future__ import annotations

from pathlib import Path

import pytest

import relfit as rf


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (rf.RelfitError("it is empty"), "it is empty"),
        (rf.RelfitError("it is empty", remedy="fill it"), "it is empty; fill it"),
        (rf.ReadError("no such file", path=Path("a/b.csv")), "a/b.csv: no such file"),
        (rf.ReadError("bad date", path="b.csv", line=3, column="start"), "b.csv, line 3, column start: bad date"),
        (rf.ReadError("bad byte", path="b.csv", line=1, column=0), "b.csv, line 1, column 0: bad byte"),
    ],
)
def test_text(error: rf.RelfitError, text: str) -> None:
    assert str(error) == text


def test_parts_stay_available() -> None:
    error = rf.ReadError("bad", path=Path("x.csv"), line=7, column="end", remedy="mend it")
    assert (error.what, error.path, error.line, error.column, error.remedy) == ("bad", "x.csv", 7, "end", "mend it")


def test_wrong_values_are_value_errors_too() -> None:
    assert issubclass(rf.ArgumentError, ValueError)
    assert issubclass(rf.DataError, ValueError)
    assert not issubclass(rf.ReadError, ValueError)
    assert all(issubclass(kind, rf.RelfitError) for kind in (rf.ArgumentError, rf.DataError, rf.ReadError))
