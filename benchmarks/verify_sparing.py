"""Evidence for the sparing planner: coverage of its intervals, its Monte-Carlo against the closed form.

Run: python benchmarks/verify_sparing.py [coverage|simulation|figure6] [--logs 1000]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from papers.sparing import CLUSTER, FAILURES, RECOVERY, STRATEGIES
from relfit.fitting.families import Exponential
from relfit.fleet.calibration import calibrate
from relfit.log.failurelog import Source, Window
from relfit.planning import Cluster, DeviceFailures, Recovery, Strategies, evaluate_sparing, plan_sparing
from relfit.simulation import DeviceTimes, SparingAssumptions, simulate_sparing

ZERO = pd.Timestamp("2020-01-01", tz="UTC")


def simulated_log(
    racks: int, trays: int, truth: DeviceFailures, hours: float, rng: np.random.Generator
) -> rf.FailureLog:
    """Trays and racks that fail and are repaired by exponential times; a rack's failure is a record for each tray."""

    def renewals(units: int, mtbf: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        size = int(hours / mtbf * 2 + 40)
        life, repair = rng.exponential(mtbf, (units, size)), rng.exponential(float(truth.mttr), (units, size))
        start = np.cumsum(life, axis=1) + np.cumsum(repair, axis=1) - repair
        unit, column = np.nonzero(start < hours)
        begin = start[unit, column]
        return unit, begin, begin + repair[unit, column]

    tray, begin, end = renewals(racks * trays, float(truth.mtbf_tray))
    rack, rack_begin, rack_end = renewals(racks, float(truth.mtbf_rack))
    node = np.concatenate([tray, (rack[:, None] * trays + np.arange(trays)).ravel()])
    begin = np.concatenate([begin, np.repeat(rack_begin, trays)])
    end = np.concatenate([end, np.repeat(rack_end, trays)])
    order = np.argsort(begin, kind="stable")
    node, begin, end = node[order], begin[order], end[order]
    names = np.array([f"{i:05d}" for i in range(racks * trays)], dtype=object)
    last = ZERO + pd.Timedelta(hours=hours)
    cut = end > hours
    table = pd.DataFrame(
        {
            "system": pd.Categorical.from_codes(np.zeros(node.size, np.int8), ["s"]),
            "node": pd.Categorical.from_codes(node, names),
            "start": ZERO + pd.to_timedelta(begin * 3600.0, unit="s"),
            "end": ZERO + pd.to_timedelta(np.minimum(end, hours) * 3600.0, unit="s"),
            "cause": None,
            "detail": None,
            "scope": "node",
            "start_cut": False,
            "end_cut": cut,
            "line": np.arange(node.size),
        }
    )
    people = pd.DataFrame(
        {
            "system": "s",
            "node": names,
            "entered": ZERO,
            "left": last,
            "entered_known": True,
            "left_known": True,
            "declared": True,
            "rack": [f"r{i // trays}" for i in range(racks * trays)],
        }
    )
    source = Source(rows_read=node.size, rows_kept=node.size)
    return rf.FailureLog(table, people, Window(ZERO, last, True, True), source=source)


def coverage(logs: int) -> None:
    """90 % intervals from calibrated logs of known truth."""
    truth = DeviceFailures(8000, 30_000, 24)
    cluster = Cluster(zones=2, racks=512, trays=8, gpus=8)
    recovery = Recovery(None, "30s", "60s", "6min")
    for strategies in (Strategies(8, 0), Strategies(8, 1)):
        right = evaluate_sparing(cluster, strategies, truth, recovery)
        values = {
            "spare_blocks": float(right.spare_blocks[0]),
            "cett": float(right.cett[0]),
            "checkpoint_every_seconds": 3600 * float(right.checkpoint_every[0]),
        }
        held = dict.fromkeys(values, 0)
        widths = []
        start = time.perf_counter()
        for i in range(logs):
            rng = np.random.default_rng([7, i])
            log = simulated_log(32, 8, truth, 8766.0, rng)
            known = calibrate(log, parts=("mtbf", "mttr"), window=0, group="rack", at="long run")
            plan = plan_sparing(cluster, known, recovery, strategies=strategies, rng=i, level=0.9)
            found = plan.intervals.set_index("quantity")
            for name, value in values.items():
                held[name] += bool(found.loc[name, "low"] - 1e-12 <= value <= found.loc[name, "high"] + 1e-12)
            widths.append(found.loc["spare_blocks", "high"] - found.loc["spare_blocks", "low"])
        spent = (time.perf_counter() - start) / logs
        shown = ", ".join(f"{name} {100 * count / logs:.1f} %" for name, count in held.items())
        print(f"{strategies.labels(8)[0]}: 90 % intervals hold the truth in {shown} of {logs} logs ", end="")
        print(f"(true spares {values['spare_blocks']:.0f}, mean width {np.mean(widths):.1f}; {spent:.2f} s per log)")


def simulation() -> None:
    """Table 1's strategies: under the assumptions of the closed form, and with them dropped in turn."""
    steps = {
        "kept": SparingAssumptions(),
        "trays one by one": SparingAssumptions(whole_block_repairs=False),
        "racks shared": SparingAssumptions(whole_block_repairs=False, separate_racks=False),
        "recovery disturbed": SparingAssumptions(
            whole_block_repairs=False, separate_racks=False, undisturbed_recovery=False
        ),
    }
    rows = []
    for i, label in enumerate(STRATEGIES.labels(2)):
        for name, dropped in steps.items():
            found = simulate_sparing(
                CLUSTER,
                STRATEGIES.take(slice(i, i + 1)),
                FAILURES,
                RECOVERY,
                dropped,
                n_resamples=16,
                rng=1,
            )
            low, high = found.cett_interval
            rows.append((label, name, found.cett, (high - low) / 2 / found.cett, found.error))
    table = pd.DataFrame(rows, columns=["strategy", "assumptions", "cett", "half_width", "closed_form_off"])
    print(table.round(5).to_string(index=False))


def figure6() -> None:
    """One zone of 1024 blocks: one composite repair, and quick and slow repairs with the same mean."""
    cluster = Cluster(zones=1, racks=1024, trays=36, gpus=2)
    rows = []
    for label, idle in (("72/72", 0), ("72/64", 4)):
        for share in (0.0, 0.25, 0.5, 0.75, 0.9):
            quick = 1.0
            slow = (24.0 - share * quick) / (1.0 - share)
            kinds = [(share, Exponential(1.0 / quick)), (1.0 - share, Exponential(1.0 / slow))]
            times = DeviceTimes(
                Exponential(1 / 20_000), kinds if share else Exponential(1 / 24), Exponential(1 / 10_000)
            )
            for name, whole in (("block", True), ("tray", False)):
                found = simulate_sparing(
                    cluster,
                    Strategies(36, idle),
                    times,
                    RECOVERY,
                    SparingAssumptions(whole_block_repairs=whole),
                    years=10,
                    n_resamples=12,
                    rng=2,
                )
                low, high = found.cett_interval
                rows.append((label, name, share, slow, found.cett, (high - low) / 2 / found.cett, found.error))
    columns = ["strategy", "repair_of", "share_quick", "mean_slow", "cett", "half_width", "closed_form_off"]
    print(pd.DataFrame(rows, columns=columns).round(5).to_string(index=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["coverage", "simulation", "figure6"])
    parser.add_argument("--logs", type=int, default=1000)
    chosen = parser.parse_args()
    for name in chosen.what:
        print(f"\n{name}")
        work = {"coverage": lambda: coverage(chosen.logs), "simulation": simulation, "figure6": figure6}
        work[name]()


if __name__ == "__main__":
    main()
