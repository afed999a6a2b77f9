"""How results leave: text tables, one JSON document, or a file that is complete or absent."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relfit.errors import ArgumentError
from relfit.writing import check_writable, complete

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "check_destination",
    "is_terminal",
    "plain",
    "print_json",
    "print_lines",
    "records",
    "table",
    "write_document",
    "write_table",
]

TABLE_ENDINGS = (".csv", ".parquet", ".json")


def is_terminal() -> bool:
    """Whether a person reads the output directly."""
    return sys.stdout.isatty()


# ------------------------------------------------------------------------ text


def print_lines(lines: Iterable[str]) -> None:
    """Print lines to stdout; what could steer a terminal is escaped."""
    for line in lines:
        clean = line if line.isprintable() else "".join(map(_visible, line))
        sys.stdout.write(clean.rstrip() + "\n")


def _visible(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")


def table(frame: pd.DataFrame) -> list[str]:
    r"""Lines of a table with a heading, numbers to the right.

    Examples
    --------
    >>> import pandas as pd
    >>> print("\n".join(table(pd.DataFrame({"node": ["a", "b"], "hours": [1234.5678, float("nan")]}))))
    node  hours
    ----  -----
    a      1235
    b         -
    """
    columns = []
    for position, name in enumerate(frame.columns):
        values = frame.iloc[:, position]
        number = values.dtype.kind in "iuf"
        cells = [str(name), *(_cell(value) for value in values.tolist())]
        width = max(len(cell) for cell in cells)
        cells.insert(1, "-" * width)
        columns.append([cell.rjust(width) if number else cell.ljust(width) for cell in cells])
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]


def _cell(value: Any) -> str:
    simple = plain(value)
    if simple is None:
        return "inf" if isinstance(value, float) and math.isinf(value) and value > 0 else "-"
    if isinstance(simple, float):
        return f"{simple:.0f}" if 1000.0 <= abs(simple) < 1e7 else f"{simple:.4g}"
    return " ".join(str(simple).split())


# ------------------------------------------------------------------------ JSON


def plain(value: Any) -> Any:
    """`value` in the types that JSON has; None for what it cannot say (NaN, infinity, a missing time).

    Examples
    --------
    >>> plain({"hours": [1.5, float("inf")], 3: (True,)})
    {'hours': [1.5, None], '3': [True]}
    """
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    if hasattr(value, "isoformat"):
        return value.isoformat() if value == value else None
    return None if type(value).__name__ == "NAType" else str(value)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table, ready for JSON."""
    columns = {str(name): plain(frame.iloc[:, i].tolist()) for i, name in enumerate(frame.columns)}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document to stdout."""
    sys.stdout.write(_text(document))


def _text(document: dict[str, Any]) -> str:
    """A document with one line for each of its entries: readable, and quick to write where an entry is long."""
    return "{\n" + ",\n".join(f"{json.dumps(str(k))}: {_dumped(v)}" for k, v in document.items()) + "\n}\n"


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):  # something that JSON cannot say is in it
        return json.dumps(plain(value), allow_nan=False)


# ----------------------------------------------------------------------- files


def check_destination(path: Path | None, endings: Sequence[str] = TABLE_ENDINGS) -> None:
    """Reject, before any work, a file that could not be written.

    Raises
    ------
    ArgumentError
        For another ending, a missing folder, or a place where nothing can be written.
    """
    if path is None:
        return
    if path.suffix.lower() not in endings:
        raise ArgumentError(
            f"--out {path} does not end in {' or '.join(endings)}", remedy="the ending names the format"
        )
    if not path.parent.is_dir():
        raise ArgumentError(f"--out {path}: there is no folder {path.parent}", remedy="make it first")
    if path.is_dir():
        raise ArgumentError(f"--out {path} is a folder", remedy="name a file")
    check_writable(path)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, Parquet or JSON records, by the ending of `path`."""
    with complete(path) as part:
        ending = path.suffix.lower()
        if ending == ".csv":
            frame.to_csv(part, index=False)
        elif ending == ".parquet":
            _one_type_a_column(frame).to_parquet(part, index=False)
        else:
            rows = ",\n".join(json.dumps(row, allow_nan=False) for row in records(frame))
            part.write_text(f"[\n{rows}\n]\n", encoding="utf-8")


def _one_type_a_column(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with text where a column mixes types (the column of a rejected row is a name or a number)."""
    typed = frame.infer_objects()
    mixed = [name for name in typed.columns if typed[name].dtype == object]
    return typed.assign(**{str(name): typed[name].map(str, na_action="ignore") for name in mixed})


def write_document(document: dict[str, Any], path: Path) -> None:
    """Write one JSON document."""
    with complete(path) as part:
        part.write_text(_text(document), encoding="utf-8")
