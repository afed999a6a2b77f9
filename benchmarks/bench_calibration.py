"""Calibration of logs of several sizes, and draws, beside the plain counts that a script would make.

Run: python benchmarks/bench_calibration.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from benchmarks.timing import spent
from relfit.fleet.calibration import draw_parameters
from relfit.simulation import simulate_log


def best(call: Callable[[], object], times: int = 5) -> float:
    """Milliseconds of processor time of the quickest of some calls."""
    return 1000.0 * spent(call, times, time.process_time)[0]


def by_hand(log: rf.FailureLog) -> tuple[float, float]:
    """Node-hours over failures and the mean repair, as a few lines of pandas have them."""
    people, events = log.population, log.events
    hours = (people["left"] - people["entered"]).dt.total_seconds().sum() / 3600.0
    return hours / len(events), (events["end"] - events["start"]).dt.total_seconds().mean() / 3600.0


def main() -> None:
    known = rf.Parameters(mtbf={"node": 5000, "rack": 10000}, mttr={"quick": 2, "slow": 48, "share_quick": 0.8})
    print("nodes   outages  by hand  mtbf,mttr  +kinds,families  all parts  1000 draws   (ms of processor time)")
    for nodes in (72, 1152, 9216):
        log = simulate_log(known, 8766.0, nodes=nodes, racks=nodes // 18, rng=1)
        fast = best(lambda log=log: rf.calibrate(log, parts=("mtbf", "mttr")))
        more = best(lambda log=log: rf.calibrate(log, parts=("mtbf", "mttr", "repair_kinds", "families")), 3)
        whole = best(lambda log=log: rf.calibrate(log), 1)
        found = rf.calibrate(log, parts=("mtbf", "mttr", "repair_kinds", "families"))
        draws = best(lambda found=found: draw_parameters(found, 1000, 1))
        hand = best(lambda log=log: by_hand(log))
        print(f"{nodes:5d}  {len(log):8d}  {hand:7.2f}  {fast:9.1f}  {more:15.1f}  {whole:9.0f}  {draws:10.2f}")


if __name__ == "__main__":
    main()
