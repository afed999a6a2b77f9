"""Results of studies in ``papers/results``, part by part, and the tables of ``docs`` that are made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from relfit.base.writing import complete
from relfit.simulation.batch import ENGINE_VERSION

__all__ = ["DOCS", "RESULTS", "Parts", "compute", "markdown", "tables_in", "write_tables"]

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "papers" / "results"
DOCS = ROOT / "docs"
Parts = Mapping[str, Callable[[], list[dict[str, Any]]]]
"""By name what computes the rows of a part of a study."""
_TABLE = re.compile(
    r"(?P<begin>^ *<!-- table (?P<name>[\w-]+)[^\n]*-->\n)(?P<text>.*?)(?P<end>^ *<!-- end -->)", re.M | re.S
)


def compute(study: str, scale: str, parts: Parts, folder: Path = RESULTS) -> dict[str, list[dict[str, Any]]]:
    """The rows of each part: as stored where they are of this engine and scale, else computed and stored at once.

    Parameters
    ----------
    study : str
    scale : str
        How many jobs and runs; stored results of another scale are computed again.
    parts : Parts
    folder : Path

    Returns
    -------
    dict of str to list of dict
        The rows by part.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{study}.json"
    heading = {"engine": ENGINE_VERSION, "scale": scale}
    stored = json.loads(place.read_text()) if place.exists() else {}
    done = stored["parts"] if {name: stored.get(name) for name in heading} == heading else {}
    for name, rows in parts.items():
        if name not in done:
            print(f"{study}: {name}", flush=True)
            done[name] = [{key: _plain(value) for key, value in row.items()} for row in rows()]
            with complete(place) as part:
                part.write_text(json.dumps({**heading, "parts": done}, indent=1) + "\n")
    return {name: done[name] for name in parts}


def _plain(value: Any) -> Any:
    """A value as JSON has it, with six digits."""
    return value if isinstance(value, str) else float(f"{float(value):.6g}")


def markdown(table: pd.DataFrame, note: str) -> str:
    """A table of texts in Markdown, the index as its first column, and a note on where it comes from."""
    names = [table.index.name or "", *table.columns]
    rows = [[str(index), *map(str, values)] for index, *values in table.itertuples()]
    lines = [f"| {' | '.join(row)} |" for row in [list(map(str, names)), *rows]]
    return "\n".join([lines[0], f"|{'---|' * len(names)}", *lines[1:], "", f"({note}.)"]) + "\n"


def tables_in(text: str) -> dict[str, str]:
    """The tables between markers of a page, by name."""
    return {match["name"]: match["text"] for match in _TABLE.finditer(text)}


def write_tables(tables: Mapping[str, str], folder: Path = DOCS) -> list[Path]:
    """Put tables between the markers of their names, ``<!-- table NAME -->`` and ``<!-- end -->``, in all pages.

    Returns
    -------
    list of Path
        Pages that changed.
    """
    changed = []
    for page in sorted(folder.glob("*.md")):
        text = page.read_text()
        new = _TABLE.sub(lambda m: m["begin"] + tables.get(m["name"], m["text"]) + m["end"], text)
        if new != text:
            page.write_text(new)
            changed.append(page)
    return changed
