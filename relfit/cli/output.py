"""How results leave: text tables, one JSON document, figures, files that are complete or absent."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relfit.base.errors import ArgumentError, DataError, RelfitError
from relfit.base.text import count
from relfit.base.writing import check_writable, complete, guarded_table
from relfit.cli import option_values
from relfit.cli import options as opt
from relfit.cli.screen import table as table
from relfit.cli.screen import wrapped

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from relfit.fleet import ChosenPeriod

Picture = tuple[str, Callable[..., Any]]  # a name, and what draws into ``ax``
ENDINGS = (".png", ".svg", ".pdf")
_SIZE = (5.6, 3.9)
_DPI = 150
TABLE_ENDINGS = (".csv", ".parquet", ".json")
MORE = "--details shows how this was found; --out FOLDER/ writes the tables."
TABLES = "--details shows all tables; --out FILE writes every row."
_ROWS = 12
_COLUMNS = 14  # that a terminal can show


def print_lines(lines: Iterable[str], *, wrap: bool = True) -> None:
    """Print lines to stdout, wrapped to the screen or to be copied; what could steer a terminal is escaped."""
    for line in lines:
        clean = visible(line)
        for part in wrapped(clean.rstrip()) if wrap else [clean]:
            sys.stdout.write(part + "\n")


def visible(line: str) -> str:
    """A line with what could steer a terminal written out."""
    escaped = (c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line)
    return line if line.isprintable() else "".join(escaped)


def print_json(document: Mapping[str, object], *, unit: str | None = "hours") -> None:
    """Print one JSON document to stdout, with the unit of its times at the top."""
    sys.stdout.write(_text(document if unit is None else {"unit": unit, **document}))


def _text(document: Mapping[str, object]) -> str:
    """A document with one line for each of its entries: readable, and quick to write where an entry is long."""
    from relfit.base.results import json_ready

    ready = json_ready(document)
    return "{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in ready.items()) + "\n}\n"


def check_destination(path: Path | None, endings: Sequence[str] = TABLE_ENDINGS, folder: bool = False) -> None:
    """Reject, before any work, a file of another ending, or one that could not be written."""
    if path is None:
        return
    if not path.name:
        raise ArgumentError("--out names no file", remedy="the ending of a name is the format")
    if path.suffix.lower() not in endings:
        remedy = f"the ending names the format{', or name a folder that exists or ends in /' if folder else ''}"
        raise ArgumentError(f"--out {path} does not end in {' or '.join(endings)}", remedy=remedy)
    _check_file("--out", path)


def _check_file(option: str, path: Path) -> None:
    if not path.parent.is_dir():
        raise ArgumentError(f"{option} {path}: there is no folder {path.parent}", remedy="create it first")
    if path.is_dir():
        raise ArgumentError(f"{option} {path} is a folder", remedy="name a file")
    check_writable(path)


@dataclass(frozen=True, kw_only=True)
class Output:
    """How to show what was computed; places that cannot be written to are rejected before any work."""

    json: opt.Json = False
    out: Path | None = opt.out(
        "PLACE", "Write a table (.csv, .parquet, .json), or all to a folder.", parser=option_values.place
    )
    plot: Path | None = opt.option(
        "PLACE", "Draw the figures: on one sheet (.png, .svg, .pdf) or each into a folder.", parser=option_values.place
    )

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Reject places that cannot be written to."""
        if self.out is None or not self.out.is_dir():
            check_destination(self.out, folder=True)
        if self.plot is not None and self.plot.is_dir():
            check_writable(self.plot / "figure.png")
        elif self.plot is not None:
            if self.plot.suffix.lower() not in ENDINGS:
                what = f"--plot {self.plot} is neither a folder nor a file that ends in {' or '.join(ENDINGS)}"
                raise ArgumentError(what, remedy="name a folder that exists or ends in /, or a file")
            _check_file("--plot", self.plot)


class UncheckedOutput(Output):
    """An output whose places the command checks, once it knows what it writes."""

    def __post_init__(self) -> None:
        pass


def write_results(to: Output, tables: dict[str, pd.DataFrame], main: str, pictures: Sequence[Picture]) -> list[str]:
    """Write one table to a file, or all to a folder, and the figures; an empty line and where they are, if anywhere."""
    written = told(to.out)
    if to.out is not None and to.out.is_dir():
        for name, frame in tables.items():
            write_table(frame, to.out / f"{name}.csv")
        written = [f"tables written to {to.out}: {', '.join(f'{name}.csv' for name in tables)}"]
    elif to.out is not None:
        write_table(tables[main], to.out)
    if to.plot is not None:
        written += write_figures(pictures, to.plot)
    return ["", *written] if written else []


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, Parquet or JSON records, by the ending of `path`."""
    from relfit.base.results import records

    with complete(path) as part:
        ending = path.suffix.lower()
        if ending == ".csv":
            guarded_table(frame).to_csv(part, index=False)
        elif ending == ".parquet":
            _one_type_per_column(frame).to_parquet(part, index=False)
        else:
            rows = ",\n".join(json.dumps(row, allow_nan=False) for row in records(frame))
            part.write_text(f"[\n{rows}\n]\n", encoding="utf-8")


def _one_type_per_column(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with text where a column mixes types (the column of a rejected row is a name or a number)."""
    typed = frame.infer_objects()
    mixed = [name for name in typed.columns if typed[name].dtype == object]
    return typed.assign(**{str(name): typed[name].map(str, na_action="ignore") for name in mixed})


def told(path: Path | None) -> list[str]:
    """Where a file was written, if one was."""
    return [] if path is None else [f"written to {path}"]


def write_document(document: dict[str, object], path: Path) -> None:
    """Write one JSON document."""
    with complete(path) as part:
        part.write_text(_text(document), encoding="utf-8")


def write_figures(pictures: Sequence[Picture], path: Path) -> list[str]:
    """Write the figures; lines that say where they are."""
    if not pictures:
        return ["there is nothing to draw, so no figure was written"]
    if not path.is_dir():
        _write_sheet([draw for _, draw in pictures], path)
        return [f"{len(pictures)} figure{'s' if len(pictures) != 1 else ''} written to {path}"]
    for name, draw in pictures:
        _write_sheet([draw], path / f"{name}.png")
    return [f"figures written to {path}: {', '.join(f'{name}.png' for name, _ in pictures)}"]


def _write_sheet(draws: Sequence[Callable[..., object]], path: Path) -> None:
    """Write figures side by side, at most two in a row."""
    from matplotlib.figure import Figure

    from relfit.plotting import look

    columns = min(len(draws), 2)
    rows = -(-len(draws) // columns)
    kind = path.suffix.lower()[1:]
    # the same figures are the same file
    metadata = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    with look(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        sheet = Figure(figsize=(_SIZE[0] * columns, _SIZE[1] * rows), layout="constrained")
        for number, draw in enumerate(draws, start=1):
            draw(ax=sheet.add_subplot(rows, columns, number))
        _wrap_titles(sheet)
        with complete(path) as part:
            sheet.savefig(part, format=kind, dpi=_DPI, metadata=metadata)


def _wrap_titles(sheet: Figure) -> None:
    """Break titles anew to the widths that the axes have once legends and labels have taken their room."""
    from relfit.plotting import style

    layout = sheet.get_layout_engine()
    if layout is None:
        return
    layout.execute(sheet)  # places the axes, as drawing all of the sheet would, in half its time
    for ax in sheet.axes:
        said = ax.get_title(loc="left")
        if said:
            style.title(ax, " ".join(said.split("\n")))


@dataclass
class Answered:
    """One question of a command: its answer in words, the tables behind it, its figures; `document` makes its JSON."""

    key: str
    title: str
    text: str = ""
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    shown: dict[str, pd.DataFrame] = field(default_factory=dict)
    document: Callable[[], Any] = lambda: None
    figures: list[Picture] = field(default_factory=list)
    problem: str = ""


class Answers:
    """The questions of a command; one that has no answer says why, and the others still come out."""

    def __init__(self) -> None:
        self.all: list[Answered] = []

    @contextmanager
    def asking(self, key: str, title: str) -> Iterator[Answered]:
        """An answer to fill in; a complaint about the data becomes the answer."""
        answer = Answered(key, title)
        self.all.append(answer)
        try:
            yield answer
        except RelfitError as error:
            answer.problem = str(error)

    def show(self, period: ChosenPeriod, to: Output, main: str, headline: str = "", *, details: bool = True) -> None:
        """Print and write all, the period first; `main` is a single file's table; without `details` the headline."""
        tables = {name: frame for answer in self.all for name, frame in answer.tables.items()}
        written = self._write(tables, to, main)
        if to.json:
            texts = [headline, *(answer.text for answer in self.all)]
            document: dict[str, Any] = {"findings": [text for text in texts if text]}
            document["problems"] = {answer.key: answer.problem for answer in self.all if answer.problem}
            document |= {"period": period.to_dict(), "question": period.log.question}
            document |= {answer.key: answer.document() for answer in self.all}
            print_json({**document, "tables": tables})
            return
        question = period.log.question
        asked = [] if question is None else [question[:1].upper() + question[1:]]
        first = [period.headline, *asked, *filter(None, [headline])]
        if not details:
            short = [first_sentence(answer.text) for answer in self.all if answer.text and not answer.problem]
            print_lines([*first, *([] if headline else short), MORE, *written])
            return
        lines = [*first, repr(period.log)]
        for answer in self.all:
            if answer.text or answer.problem:
                lines += ["", answer.title, "-" * len(answer.title)]
                lines += [f"no answer: {answer.problem}"] if answer.problem else answer.text.split("\n")
                for name, frame in answer.shown.items():
                    lines += ["", *few_rows(name, frame)]
        print_lines([*lines, *written])

    def _write(self, tables: dict[str, pd.DataFrame], to: Output, main: str) -> list[str]:
        if main not in tables and to.out is not None and not to.out.is_dir():
            reason = next((answer.problem for answer in self.all if answer.problem), "there is none")
            remedy = "omit --out, or name a folder for the other tables"
            raise DataError(f"no table {main} to write: {reason}", remedy=remedy)
        pictures = [picture for answer in self.all if not answer.problem for picture in answer.figures]
        return write_results(to, tables, main, pictures)


def node_names(nodes: pd.DataFrame, systems: Sequence[str]) -> list[str]:
    """Names of nodes; where there are several systems, each with its own."""
    if len(systems) == 1:
        return [str(name) for name in nodes["node"]]
    return [f"{name} of system {system}" for system, name in zip(nodes["system"], nodes["node"], strict=True)]


def first_sentence(text: str) -> str:
    """The first sentence of a text."""
    head, stop, _ = text.replace("\n", " ").partition(". ")
    return head + stop.strip()


def few_rows(name: str, frame: pd.DataFrame, most: int = _ROWS) -> list[str]:
    """A table under its name, cut to what a terminal shows."""
    shown = frame.iloc[:most, :_COLUMNS]
    lines = [f"{name[:1].upper()}{name[1:]}", *table(shown)]
    if len(shown) < len(frame):
        lines.append(f"... {count(len(frame) - len(shown), 'more row')}; --out FOLDER/ writes all of them")
    return lines


def of_systems(rates: pd.DataFrame) -> pd.DataFrame:
    """Rates of whole systems alone; incidents of nodes and racks are counted."""
    hours = rates.columns[rates.columns.get_loc("hours") :]
    return rates.assign(**{str(name): rates[name].where(rates["unit"] == "system") for name in hours})
