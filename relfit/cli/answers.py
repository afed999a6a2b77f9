"""How commands that ask several questions show their answers: lines, one JSON document, tables, figures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relfit.cli import output
from relfit.cli.figures import Picture, check_place, write_figures
from relfit.errors import DataError, RelfitError

if TYPE_CHECKING:
    import pandas as pd

    from relfit.failurelog import FailureLog

__all__ = ["Output", "Part", "Parts"]

_ROWS = 12
_MOST_CELLS = 14  # columns that a terminal can show


@dataclass(frozen=True)
class Output:
    """How to show what was found."""

    as_json: bool
    out: Path | None
    plot: Path | None

    def check(self) -> None:
        """Reject, before any work, places that cannot be written to."""
        if self.out is None or not self.out.is_dir():
            output.check_destination(self.out)
        check_place(self.plot)


@dataclass
class Part:
    """One question: its answer in words, the table behind it, its figures."""

    key: str
    title: str
    sentence: str = ""
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    shown: dict[str, pd.DataFrame] = field(default_factory=dict)
    document: Any = None
    figures: list[Picture] = field(default_factory=list)
    problem: str = ""


class Parts:
    """The questions of a command; one that has no answer says why, and the others still come out."""

    def __init__(self) -> None:
        self.all: list[Part] = []

    @contextmanager
    def asking(self, key: str, title: str) -> Iterator[Part]:
        """A part to fill in; a complaint about the data becomes its answer."""
        part = Part(key, title)
        self.all.append(part)
        try:
            yield part
        except RelfitError as error:
            part.problem = str(error)

    def show(self, log: FailureLog, how: Output, main: str, summary: str = "") -> None:
        """Print and write everything; `main` is the table that a single file gets."""
        tables = {name: table for part in self.all for name, table in part.tables.items()}
        written = []
        if how.out is not None and how.out.is_dir():
            for name, table in tables.items():
                output.write_table(table, how.out / f"{name}.csv")
            written.append(f"tables written to {how.out}: {', '.join(f'{name}.csv' for name in tables)}")
        elif how.out is not None:
            output.write_table(_known(tables, main, self.all), how.out)
            written.append(f"written to {how.out}")
        if how.plot is not None:
            pictures = [picture for part in self.all if not part.problem for picture in part.figures]
            written += write_figures(pictures, how.plot)
        if how.as_json:
            self._print_json(tables, summary)
            return
        lines = [repr(log)]
        if summary:
            lines += ["", summary]
        for part in self.all:
            if not (part.sentence or part.problem):
                continue
            lines += ["", part.title, "-" * len(part.title)]
            lines += [f"no answer: {part.problem}"] if part.problem else [part.sentence]
            for name, table in part.shown.items():
                lines += ["", *_lines(name, table)]
        output.print_lines([*lines, *([""] if written else []), *written])

    def _print_json(self, tables: dict[str, pd.DataFrame], summary: str) -> None:
        output.print_json(
            {
                "sentences": [*([summary] if summary else []), *(p.sentence for p in self.all if p.sentence)],
                "problems": {part.key: part.problem for part in self.all if part.problem},
                **{part.key: part.document for part in self.all},
                "tables": {name: output.records(table) for name, table in tables.items()},
            }
        )


def _known(tables: dict[str, pd.DataFrame], main: str, parts: list[Part]) -> pd.DataFrame:
    if main in tables:
        return tables[main]
    reason = next((part.problem for part in parts if part.problem), "there is none")
    raise DataError(f"no table {main} to write: {reason}", remedy="leave --out out, or name a folder for the others")


def _lines(name: str, table: pd.DataFrame) -> list[str]:
    shown = table.iloc[:_ROWS, :_MOST_CELLS]
    lines = [f"{name[:1].upper()}{name[1:]}", *output.table(shown)]
    if len(shown) < len(table):
        lines.append(f"... {len(table) - len(shown)} more rows; --out FOLDER writes all of them")
    return lines
