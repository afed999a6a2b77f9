"""Tables 3.2 and 3.3 of the dissertation on a log of its kind: ``python papers/by_size.py LOG [SYSTEM]``.

The data behind the printed tables are not published (89 nodes, dates unknown), so the numbers are not the same; what
they say can be compared. Ours have two p-values: the textbook one of the tables, which takes fitted parameters as
known, and Anderson-Darling's with parameters fitted.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from papers.printed import printed_table


def main(arguments: list[str]) -> int:
    """Print both tables beside the printed ones."""
    if not arguments:
        print("which log? python papers/by_size.py LOG [SYSTEM]", file=sys.stderr)
        return 2
    log = rf.datasets.load(arguments[0]) if arguments[0] == "white" else rf.read(arguments[0])
    log = log if len(arguments) < 2 else log.where(system=arguments[1])
    fits = rf.fit(log.ttf(censor=False))
    print("Table 3.2: nodes that a family fits as well as the best (p > 0.05), one denominator for all")
    print(fits.compare()[["compared", "as_good_by_p", "as_good_by_p_percent", "alone"]].round(1).to_string())
    by_size = rf.fleet.fit_by_size(log, censor=False)
    print(f"\nTable 3.3: times to failure of the first k nodes\n{by_size.headline}")
    table = by_size.p_values().join(by_size.p_values("ad_p"), rsuffix=" (AD)").round(4)
    print(table.to_string())
    print("\nPrinted\n" + printed_table("allocation-table-3.3").to_string(index=False))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
