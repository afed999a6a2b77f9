"""Print the tables of the papers beside ours: ``python papers/run.py [sparing|migration|allocation]``.

Every cell with what is printed, ours and the right value, then the count. Exits with 1 when a cell that must agree does
not, with 2 for a paper that is not known.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

PAPERS = ("sparing", "migration", "allocation")


def main(names: list[str]) -> int:
    """Print the papers named, or all."""
    unknown = [name for name in names if name not in PAPERS]
    if unknown:
        print(f"there is no paper {unknown[0]!r}; it is one of {', '.join(PAPERS)}", file=sys.stderr)
        return 2
    wrong = 0
    for name in names or PAPERS:
        module = import_module(f"papers.{name}")
        print(f"{name}: {module.__doc__.splitlines()[0]}\n")
        table = module.cells()
        width = max(map(len, table["cell"]))
        print(f"{'table':<6}{'cell':<{width + 2}}{'printed':>12}{'ours':>14}{'right':>14}")
        for row in table.itertuples():
            mark = "" if row.agrees else "  differs" if row.required else "  differs (not required)"
            print(f"{row.table:<6}{row.cell:<{width + 2}}{row.printed:>12}{row.ours:>14.7g}{row.right:>14.7g}{mark}")
        failed = int((table["required"] & ~table["agrees"]).sum())
        wrong += failed
        agree = int(table["agrees"].sum())
        print(f"\n{agree} of {len(table)} cells agree to the last digit; {failed} that must agree do not\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
