"""Text as a screen holds it: prose wrapped, tables fitted to the width, column names as words."""

from __future__ import annotations

import io
import math
import re
import shutil
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_NARROWEST, _WIDEST_PROSE = 40, 100
_SHORTEST_TEXT = 16  # letters of a column that is cut
_SPELLED = ("AIC", "AICc", "BIC", "CETT", "K-S", "MTBF", "MTTF", "MTTR")
_WORDS = {word.replace("-", "").lower(): word for word in _SPELLED}
_HOURS = re.compile("mtbf|mttf|mttr|(checkpoint|migration)_every|duration|mean_(delay|quick|slow)|split")
_OF_LIMITS = ("estimate", "value", "expected", "mean", "rate", "operational")


def width() -> int:
    """Columns of the terminal, or of the variable COLUMNS; 80 where neither says."""
    return max(shutil.get_terminal_size((80, 24)).columns, _NARROWEST)


def wrapped(line: str) -> list[str]:
    """A line of prose in lines that fit; words are never cut, and what follows a label or a dash is indented."""
    room = width()
    if len(line) <= room:
        return [line]
    lead = re.match(r"(\s*- |\s*\S+\s{2,}|\s*)", line)
    indent = " " * len(lead.group()) if lead is not None and len(lead.group()) < room // 3 else ""
    return textwrap.wrap(
        line, min(room, _WIDEST_PROSE), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def heading(name: object) -> str:
    """A column's name as words, with its unit."""
    of_time = str(name).startswith("hazard_") and "ratio" not in str(name)
    unit = " (1/h)" if of_time else " (h)" if _HOURS.fullmatch(str(name)) else ""
    words = str(name).replace("_", " ").split(" ")
    return " ".join(_WORDS.get(word, word) for word in words) + unit


def table(frame: pd.DataFrame, room: int | None = None) -> list[str]:
    """Lines of a table with a heading, numbers to the right, limits in brackets behind their value.

    What is too wide for `room`, which is the screen's width by default, gets headings of several lines, then shorter
    texts, then loses columns from the right, and says so.
    """
    room = width() if room is None else room
    columns = _columns(frame)
    if _total(columns) > room:
        _shorten(columns, room)
    left_out: list[str] = []
    while len(columns) > 1 and _total(columns) > room:
        left_out.insert(0, columns.pop().title)
        _widen(columns, room)
    return _drawn(columns) + ([f"not shown: {', '.join(left_out)}; --out or --json has them"] if left_out else [])


def _drawn(columns: list[_Column]) -> list[str]:
    """Lines of a table whose columns fit."""
    from rich.console import Console, Group
    from rich.rule import Rule
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    titles = [textwrap.wrap(column.title, column.width) for column in columns]
    for column, lines in zip(columns, titles, strict=True):
        above = [""] * (max(map(len, titles)) - len(lines))
        head = Group(Text("\n".join([*above, *lines])), Rule(characters="-", style=""))
        drawn.add_column(head, justify="right" if column.number else "left", width=column.width)
    for row in zip(*(column.cells for column in columns), strict=True):
        cells = zip(row, columns, strict=True)
        drawn.add_row(*(Text(v, no_wrap=not column.wraps(v), overflow="ellipsis") for v, column in cells))
    console = Console(width=max(_total(columns), 1), color_system=None, file=io.StringIO(), legacy_windows=False)
    with console.capture() as captured:
        console.print(drawn)
    return [line.rstrip() for line in captured.get().splitlines()]


class _Column:
    """One column: its title, its cells, and the width of its heading and of its values."""

    def __init__(self, title: str, cells: list[str], number: bool, text: bool) -> None:
        from rich.cells import cell_len

        self.title, self.cells, self.number, self.text = title, cells, number, text
        self.heading = cell_len(title)
        self.longest = max(map(cell_len, cells), default=0)
        self.limit = self.longest

    @property
    def width(self) -> int:
        return max(self.limit, self.heading)

    def wraps(self, value: str) -> bool:
        """Whether a value goes on in a second line rather than being cut: numbers with their names."""
        return ", " in value and any(map(str.isdigit, value)) and len(value) <= 1.5 * self.width

    def narrow(self) -> None:
        """Put the heading on several lines, no wider than the values or the longest word."""
        self.heading = max(len(word) for word in self.title.split(" "))


def _total(columns: list[_Column]) -> int:
    return sum(column.width for column in columns) + 2 * (len(columns) - 1)


def _shorten(columns: list[_Column], room: int) -> None:
    for column in columns:
        column.narrow()
    while _total(columns) > room:
        texts = [c for c in columns if c.text and c.limit > _SHORTEST_TEXT and c.limit >= c.width]
        if not texts:
            return
        longest = max(texts, key=lambda column: column.limit)
        longest.limit -= 1
        longest.narrow()


def _widen(columns: list[_Column], room: int) -> None:
    """Give cut texts the room that a column left behind."""
    for column in columns:
        while column.limit < column.longest and _total(columns) < room:
            column.limit += 1


def _columns(frame: pd.DataFrame) -> list[_Column]:
    names = [str(name) for name in frame.columns]
    merged: dict[int, tuple[int, int]] = {}
    for i, name in enumerate(names):
        if f"{name}_low" in names and f"{name}_high" in names:
            merged[i] = names.index(f"{name}_low"), names.index(f"{name}_high")
    if "low" in names and "high" in names:
        before = names.index("low") - 1
        i = next((names.index(name) for name in _OF_LIMITS if name in names), before)
        if i >= 0 and i not in merged:
            merged[i] = names.index("low"), names.index("high")
    gone = {j for pair in merged.values() for j in pair}
    columns = []
    for i, name in enumerate(names):
        if i in gone:
            continue
        values = frame.iloc[:, i]
        cells = [_cell(value, of_test=name == "p" or name.startswith("p_")) for value in values.tolist()]
        number = values.dtype.kind in "iuf" and i not in merged
        if i in merged:
            ends = [[_cell(value) for value in frame.iloc[:, j].tolist()] for j in merged[i]]
            rows = zip(cells, *ends, strict=True)
            cells = [_with_limits(name, *row) for row in rows]
        columns.append(_Column(heading(name), cells, number, not number and i not in merged))
    return columns


def _with_limits(name: str, value: str, low: str, high: str) -> str:
    """A value and its limits, also where one is only a bound: half have not failed where a median is infinite."""
    if name == "median" and value == "inf":
        return "not reached" + (f" (above {low})" if low not in ("inf", "-") else "")
    if low == "-" or high == "-":
        least, most = (f"above {low}", f"below {high}")
        only = "" if low == high else least if high == "-" else most
        return f"{value} ({only})" if value != "-" and only else only or value
    return f"{value} ({low}-{high})"


def _cell(value: object, of_test: bool = False) -> str:
    """A value as text; a p-value, which is `of_test`, below 0.0001 is no more than that."""
    from relfit.base.results import json_ready

    if of_test and isinstance(value, float) and 0.0 <= value < 1e-4:
        return "<0.0001"
    simple = json_ready(value)
    if simple is None:
        return "inf" if isinstance(value, float) and math.isinf(value) and value > 0 else "-"
    if isinstance(simple, float):
        simple += 0.0  # no -0
        return f"{simple:,.0f}" if 1000.0 <= abs(simple) < 1e9 else f"{simple:.4g}"
    if isinstance(simple, int) and not isinstance(simple, bool):
        return f"{simple:,}"
    return " ".join(str(simple).split())
