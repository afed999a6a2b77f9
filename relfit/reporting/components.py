"""Parts of a report: the first screen, sections, figures and tables."""

from __future__ import annotations

import base64
import gzip
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relfit.base.arrays import FloatArray
from relfit.base.text import number, percent
from relfit.base.writing import guarded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN_ROWS = 8
NOTHING = "\N{EN DASH}"
PACKED_FROM = 60_000  # characters; longer CSV texts are kept compressed
MOST_ROWS = 30_000  # rows of a table in the page, which has to stay small
_ALMOST = 0.99999  # larger shares in a table are shown as this


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure to draw into ``ax`` under the page's own title; a `wide` one is drawn again for a phone."""

    key: str
    title: str
    draw: Callable[..., Axes]
    wide: bool = False


@dataclass(frozen=True)
class Picture:
    """A figure as SVG text that is safe in a page; `narrow` is its form for a phone."""

    svg: str
    narrow: str = ""


@dataclass(frozen=True)
class Card:
    """One of the four numbers on top, with its interval; `refuted` says why the log's own past contradicts it."""

    name: str
    value: str
    detail: str = ""
    refuted: str = ""


@dataclass(frozen=True)
class Point:
    """A line of what to do, and by whom, or of what the numbers do not say, with a link to the section about it."""

    text: str
    section: str = ""
    link: str = ""
    who: str = ""


@dataclass(frozen=True)
class Small:
    """A small picture of one system: a line over time, `points` as SVG has them in a box of 100 by 24."""

    name: str
    detail: str
    points: str

    @classmethod
    def of(cls, name: str, detail: str, values: FloatArray) -> Small:
        """From values at equal steps; the largest reaches the top."""
        x = np.linspace(0.0, 100.0, len(values))
        y = 23.0 - 22.0 * values / max(float(values.max(initial=0.0)), 1e-300)
        return cls(name, detail, " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True)))


@dataclass(frozen=True, eq=False)
class Panel:
    """Sliders over a grid of answers, `data` as JSON, with the text of their first position."""

    data: str
    text: str
    worst: int


@dataclass(frozen=True, eq=False)
class Table:
    """A table: the page shows the first rows of `columns` (all when empty) of `page`, the CSV up to 30,000 of `frame`.

    `page` is `frame` by default; a column ``limits`` that neither has shows ``low`` and ``high``. Columns of `percent`
    are shares, with `decimals` comparable. `total` counts the rows of which `frame` has the first.
    """

    name: str
    title: str
    frame: pd.DataFrame
    columns: dict[str, str] = field(default_factory=dict)
    note: str = ""
    shown: int = SHOWN_ROWS
    percent: frozenset[str] = frozenset()
    decimals: int | None = None
    page: pd.DataFrame | None = None
    total: int | None = None

    @cached_property
    def _page(self) -> pd.DataFrame:
        page = self.frame if self.page is None else self.page
        if "limits" not in self.columns or "limits" in page:
            return page
        return page.assign(limits=spans(page, share="limits" in self.percent))

    @property
    def head(self) -> list[tuple[str, bool]]:
        """Heads and whether the column holds numbers."""
        return [(head, pd.api.types.is_numeric_dtype(self._page[name])) for name, head in self._shown_columns().items()]

    @property
    def rows(self) -> list[list[str]]:
        """The shown rows as text."""
        part, shares = self._page.head(self.shown), self.percent - {"limits"}

        def cell(name: str, value: float | str) -> str:
            return shown_share(float(value), _ALMOST, self.decimals) if name in shares else _cell(value)

        columns = [[cell(name, value) for value in part[name]] for name in self._shown_columns()]
        return [list(row) for row in zip(*columns, strict=True)]

    @property
    def cut(self) -> bool:
        """Whether rows are left out on the page."""
        return len(self.frame) > self.shown

    @property
    def extent(self) -> str:
        """Numbers of rows of the page and its CSV, where the page does not show all."""
        total, stored = len(self.frame) if self.total is None else self.total, min(len(self.frame), MOST_ROWS)
        kept = "all" if stored == total else f"the first {stored:,}"
        return f"First {min(self.shown, stored)} of {total:,} rows; the CSV has {kept}. " if self.cut else ""

    @cached_property
    def stored(self) -> tuple[str, str]:
        """The encoding in the page, ``"json"`` or ``"gzip"`` (in base 64), and a text that cannot end its element."""
        text = csv_text(self.frame.head(MOST_ROWS))
        if len(text) >= PACKED_FROM:
            return "gzip", base64.b64encode(gzip.compress(("\ufeff" + text).encode(), 6, mtime=0)).decode()
        safe = json.dumps("\ufeff" + text)
        return "json", safe.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

    def _shown_columns(self) -> dict[str, str]:
        return self.columns or {str(name): str(name).replace("_", " ") for name in self._page.columns}


@dataclass(frozen=True)
class Section:
    """A part of the report: verdict, evidence, and folded under `fold` the `terms` (name, sentence) and `details`."""

    key: str
    title: str
    verdict: str
    sentences: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    terms: tuple[tuple[str, str], ...] = ()
    details: tuple[Table, ...] = ()
    fold: str = "For the statistician"
    panel: Panel | None = None


@dataclass(frozen=True)
class FirstScreen:
    """The first screen: a sentence, how far to trust it, four numbers, a picture, advice, and limits of the answers."""

    sentence: str
    cards: tuple[Card, ...]
    figures: tuple[Figure, ...]
    advice: tuple[Point, ...]
    limits: tuple[Point, ...]
    trust: str = ""
    systems: tuple[Small, ...] = ()


def csv_text(frame: pd.DataFrame) -> str:
    """CSV of a table, its texts guarded by `relfit.base.writing.guarded`."""
    # convert numbers to text by column: pandas would call a function for each
    cells = {guarded(str(name)): _cells(frame[name]) for name in frame.columns}
    out = io.StringIO()
    pd.DataFrame(cells, dtype=object).to_csv(out, index=False, lineterminator="\n")
    return out.getvalue()


def _cells(column: pd.Series) -> list[Any]:
    if pd.api.types.is_float_dtype(column):
        return ["" if value != value else f"{value:.6g}" for value in column.to_numpy(np.float64).tolist()]
    if column.dtype == object or isinstance(column.dtype, pd.CategoricalDtype):
        codes, kinds = pd.factorize(column)
        if all(isinstance(kind, str) for kind in kinds):  # guard each distinct text once
            texts = [*map(guarded, kinds), ""]
            return [texts[code] for code in codes.tolist()]
    return column.astype(object).where(column.notna(), "").map(guarded).tolist()


def heads(text: str) -> dict[str, str]:
    """Columns of a table with their heads, or with one of the same name."""
    parts = (part.partition(": ") for part in text.split("; "))
    return {name: head or name for name, _, head in parts}


def interval_head(level: float) -> str:
    """Head of a column of intervals."""
    return f"{100 * level:g} % interval"


def spans(frame: pd.DataFrame, of: str = "", share: bool = False) -> list[str]:
    """The intervals in the columns ``low`` and ``high``, or in those of a name before it, as text for a table."""
    return [span(low, high, share) for low, high in zip(frame[f"{of}low"], frame[f"{of}high"], strict=True)]


def span(low: float, high: float, share: bool = False) -> str:
    """An interval as text for a table."""
    if np.isposinf(high) and low > 0.0:
        return f"> {number(low)}"
    if not (np.isfinite(low) and np.isfinite(high)):
        return NOTHING
    first, second = (shown_share(low), shown_share(high)) if share else (number(low), number(high))
    return second if share and first == second else f"{first.removesuffix(' %')} to {second}"


def shown_share(value: float, most: float = 1.0, decimals: int | None = None) -> str:
    """A share in percent; one that is nearly zero as ``< 0.01 %``, one above `most` as ``>`` that."""
    if np.isnan(value):
        return NOTHING
    if decimals is not None:
        most = min(most, 1.0 - 0.01 * 10.0**-decimals)
    if most < value < 1.0:
        return f"> {percent(most, 3 if decimals is None else decimals)}"
    return "< 0.01 %" if 0.0 < value < 5e-5 else percent(value, decimals)


def _cell(value: object) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return f"{value:,}"
    if isinstance(value, (float, np.floating)):
        return number(float(value)) if value == value else NOTHING
    if value is None or value is pd.NaT or value is pd.NA:
        return NOTHING
    if isinstance(value, pd.Timestamp):
        return f"{value:%Y-%m-%d %H:%M}"
    text = str(value)
    return text if len(text) <= 90 else text[:89] + "…"
