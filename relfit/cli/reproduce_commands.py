"""What ``relfit reproduce`` does: a paper's tables beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from relfit.cli import output

if TYPE_CHECKING:
    import pandas as pd

    from papers import Reproduction

__all__ = ["reproduce"]

_ROWS = 12


def reproduce(papers: Sequence[str], *, table: str | None, as_json: bool, out: Path | None) -> None:
    """Compute the tables of one paper or of all, show and write them."""
    from papers import PAPERS
    from papers import reproduce as of_paper
    from relfit.errors import ArgumentError

    if out is None or not out.is_dir():
        output.check_destination(out)
    asked = list(dict.fromkeys(papers)) or list(PAPERS)
    unknown = next((name for name in asked if name not in PAPERS), None)
    if unknown is not None:
        raise ArgumentError(f"there is no paper {unknown!r}", remedy=f"it is one of {', '.join(PAPERS)}")
    if table is not None and len(asked) != 1:
        raise ArgumentError("--table needs one paper", remedy=f"write relfit reproduce {asked[0]} --table {table}")
    found = [of_paper(name) for name in asked]
    if table is not None and f"table {table}" not in found[0].tables:
        there = ", ".join(name.removeprefix("table ") for name in found[0].tables)
        raise ArgumentError(f"there is no table {table} of {asked[0]}", remedy=f"it has {there}")
    written = [] if out is None else _write(found, table, out)
    if as_json:
        output.print_json({one.paper: one.to_dict() for one in found})
        return
    for number, one in enumerate(found):
        output.print_lines([*([""] if number else []), *_about(one, table, cells=len(found) == 1)])
    output.print_lines([*([""] if written else []), *written])


def _about(one: Reproduction, table: str | None, *, cells: bool) -> list[str]:
    lines = [one.title, one.sentence]
    if table is not None:
        return [*lines, "", *output.table(_exact(one.tables[f"table {table}"]))]
    lines += ["", *output.table(one.agreement)]
    for name, found in one.tables.items() if cells else ():
        lines += ["", name.capitalize(), *output.table(_exact(found.head(_ROWS)))]
        if len(found) > _ROWS:
            lines.append(f"... {len(found) - _ROWS} more rows; --table {name.removeprefix('table ')} shows all of them")
    return [*lines, "", "Slips and gaps", *(f"- {text}" for text in one.slips)]


def _exact(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers with as many figures as the papers print."""
    wide = {name: table[name].map("{:.7g}".format) for name in table.select_dtypes("float").columns}
    return table.assign(**wide)


def _write(found: list[Reproduction], table: str | None, out: Path) -> list[str]:
    """A folder gets all tables and the data of figures; a file the table, or the agreement."""
    import pandas as pd

    if not out.is_dir():
        one: pd.DataFrame
        if table is not None:
            one = found[0].tables[f"table {table}"]
        else:
            one = pd.concat([one.agreement.assign(paper=one.paper) for one in found], ignore_index=True)
        output.write_table(one, out)
        return [f"written to {out}"]
    names = []
    for one_paper in found:
        for name, cells in {**one_paper.tables, **one_paper.figures}.items():
            names.append(f"{one_paper.paper} {name}.csv".replace(" ", "-"))
            output.write_table(cells, out / names[-1])
    return [f"written to {out}: {', '.join(names)}"]
