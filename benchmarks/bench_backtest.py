"""How long a back-test takes: the sample, LANL 20, LANL whole; beside the forecasts and models that it is made of.

Run: python benchmarks/bench_backtest.py [--whole] [--log FILE]

A back-test of n origins can take no less than n times what it asks at each: a model of the fleet, its parameters and a
forecast. The last column is its time over that of as many of these, asked of the whole log; the log until an
origin is shorter, so that it may lie below 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from timing import spent

import relfit as rf

SHARED = Path(os.environ.get("RELFIT_SHARED", Path(__file__).resolve().parents[1].parent / "shared"))
LANL = SHARED / "data" / "lanl-failures-1996-2005.csv.xz"


def measured(name: str, log: rf.FailureLog) -> None:
    """One log: the fast part, all of it, and the bound."""
    rf.backtest(log, parts="forecasts", by=None)  # compiles
    (fast,) = spent(lambda: rf.backtest(log, parts="forecasts", by=None), clock=time.process_time)
    begun = time.process_time()
    tested = rf.backtest(log, parts="all")
    took = time.process_time() - begun
    one, bound = log.systems, 0.0
    models = tested.table[tested.table["of"] == "ranking"].groupby("system")["origin"].nunique()
    for system in one:
        part = log.where(system=system) if len(one) > 1 else log
        number = int(models.get(system, 0))
        if number:
            (each,) = spent(
                lambda part=part: rf.calibrate(part, period="stable", parts=("mtbf", "mttr")), clock=time.process_time
            )  # type: ignore[misc]
            (ahead,) = spent(lambda part=part: rf.forecast(part, n_draws=1000), clock=time.process_time)  # type: ignore[misc]
            bound += number * (each + ahead)
    print(f"| {name} | {len(tested.table):,} | {fast:.2f} | {took:.1f} | {took / max(bound, 1e-9):.2f} |", flush=True)


def main() -> None:
    """The table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--log", default=str(LANL))
    options.add_argument("--whole", action="store_true", help="LANL whole, too: some minutes")
    given = options.parse_args()
    print("| log | predictions | forecasts alone (s) | all (s) | of the bound |\n|---|---|---|---|---|")
    measured("sample", rf.datasets.load("white"))
    if Path(given.log).exists():
        log = rf.read(given.log)
        measured("LANL 20", log.where(system=20))
        if given.whole:
            measured("LANL", log)


if __name__ == "__main__":
    main()
