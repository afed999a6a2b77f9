"""Print the tables of the papers beside ours: ``python papers/run.py [sparing|migration|allocation]``.

Every cell with what is printed, ours and the right value, then the count by verdict. Exits with 1 when a cell that must
agree does not, or differs for no reason that is said, with 2 for a paper that is not known.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

PAPERS = ("sparing", "migration", "allocation")


def verdicts(table: pd.DataFrame) -> dict[str, int]:
    """How many cells agree, and how many differ for which reason."""
    verdict = table["why"].replace("", "unexplained").where(~table["agrees"], "agree to the last digit")
    return {"agree to the last digit": 0, "unexplained": 0, **verdict.value_counts().to_dict()}


def main(names: list[str]) -> int:
    """Print the papers named, or all."""
    unknown = [name for name in names if name not in PAPERS]
    if unknown:
        print(f"there is no paper {unknown[0]!r}; it is one of {', '.join(PAPERS)}", file=sys.stderr)
        return 2
    tables = []
    for name in names or PAPERS:
        module = import_module(f"papers.{name}")
        print(f"{name}: {module.__doc__.splitlines()[0]}\n")
        table = module.cells()
        width = max(map(len, table["cell"]))
        print(f"{'table':<6}{'cell':<{width + 2}}{'printed':>12}{'ours':>14}{'right':>14}")
        for row in table.itertuples():
            mark = "" if row.agrees else f"  differs ({row.why or 'unexplained'})"
            print(f"{row.table:<6}{row.cell:<{width + 2}}{row.printed:>12}{row.ours:>14.7g}{row.right:>14.7g}{mark}")
        print(f"\n{len(table)} cells")
        for verdict, number in verdicts(table).items():
            print(f"{number:>5}  {verdict}")
        print()
        tables.append(table)
    cells = pd.concat(tables)
    differ = ~cells["agrees"]
    unexplained = differ & (cells["why"] == "")
    print(f"{len(cells)} cells in all: {(~differ).sum()} agree to the last digit, ", end="")
    print(f"{(differ & ~unexplained).sum()} differ for a stated reason, {unexplained.sum()} unexplained")
    return int((unexplained | (differ & cells["required"])).any())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
