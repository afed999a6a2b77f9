"""Screening under renewals: how often steady, equal, independent fleets are told something false.

``python benchmarks/verify_screening.py --logs 200`` prints the table of docs/verification.md. Logs are plain NumPy.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import chain
from math import gamma
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

import relfit as rf
from relfit.analyses.independence import dependence
from relfit.analyses.recurrence import EventHistories, mean_cumulative
from relfit.analyses.screening import change_points, outlier_nodes
from relfit.fleet.calibration.repair_times import mean_of_repairs
from tests.factories import make_log

HOURS = 8760.0


def fleet(rng: np.random.Generator, shape: float, mean: np.ndarray, sigma: float = 0.0) -> rf.FailureLog:
    """Weibull renewals (lognormal ones with a sigma) of nodes that were running before the log begins."""
    size = (mean.size, int(2.0 * HOURS / mean.min()) + 150)
    gaps = rng.weibull(shape, size) / gamma(1.0 + 1.0 / shape)
    if sigma:
        gaps = rng.lognormal(-0.5 * sigma**2, sigma, size)
    at = (gaps.cumsum(axis=1) - rng.uniform(20.0, 22.0, (mean.size, 1))) * mean[:, None]
    rows = [{"node": f"n{i}", "start": t} for i, one in enumerate(at) for t in one[(one > 0.0) & (one < HOURS)]]
    nodes = [{"node": f"n{i}", "entered_known": False} for i in range(mean.size)]
    return make_log(rows, nodes, window=(0.0, HOURS), start_known=False)


def rows(logs: int) -> Iterator[tuple[str, float]]:
    """Name of each line and its share of the logs."""
    for sigma in (1.0, 1.5):
        many = [outlier_nodes(fleet(np.random.default_rng(s), 1.0, np.full(120, 800.0), sigma)) for s in range(logs)]
        claimed = [len(one.outliers) > 0 or one.classes.loc[0, "description"] != "equal" for one in many]
        yield f"lognormal of sigma {sigma:g}: unequal nodes", float(np.mean(claimed))
    for shape in (0.5, 0.7):
        many = [outlier_nodes(fleet(np.random.default_rng(s), shape, np.full(120, 800.0))) for s in range(logs)]
        claimed = [len(one.outliers) > 0 or one.classes.loc[0, "description"] != "equal" for one in many]
        yield f"Weibull of shape {shape:g}: unequal nodes", float(np.mean(claimed))
    for shape in (0.5, 1.0):
        many = [outlier_nodes(fleet(np.random.default_rng(s), shape, np.full(300, 12000.0))) for s in range(logs)]
        claimed = [len(one.outliers) > 0 or one.classes.loc[0, "description"] != "equal" for one in many]
        yield f"shape {shape:g}, 0.7 failures a node: unequal nodes", float(np.mean(claimed))
    mean = np.where(np.arange(600) < 1, HOURS / 24.0, HOURS / 3.0)
    named = [outlier_nodes(fleet(np.random.default_rng(s), 1.0, mean)).outliers["node"].tolist() for s in range(logs)]
    yield "one of 600 nodes at 8 times: it alone named", float(np.mean([one == ["n0"] for one in named]))
    for shape in (0.7, 1.0):
        mean = np.where(np.arange(200) < 10, 160.0, 800.0)
        classes = [outlier_nodes(fleet(np.random.default_rng(s), shape, mean)).classes.loc[0] for s in range(logs)]
        yield f"shape {shape:g}, 5 % at 5 times: found", float(np.mean([np.isfinite(c["ratio"]) for c in classes]))
        for name, true in (("fraction", 0.05), ("ratio", 5.0)):
            held = [c[f"{name}_low"] <= true <= c[f"{name}_high"] for c in classes]
            yield f"shape {shape:g}, 5 % at 5 times: {name} covered", float(np.mean(held))
    for shape in (0.5, 0.7, 1.0, 2.0):
        several, named = np.zeros((2, logs))
        for seed in range(logs):
            log = fleet(np.random.default_rng(seed), shape, np.full(40, 500.0))
            several[seed] = len(change_points(log, of="records", n_resamples=99)) > 1
            found = outlier_nodes(log)
            named[seed] = len(found.outliers) > 0 or np.isfinite(found.classes["ratio"]).any()
        yield f"shape {shape:g}: more than one period", several.mean()
        yield f"shape {shape:g}: outlier nodes or a class of bad ones", named.mean()
    rng = np.random.default_rng(1)
    for copies in (2, 3, 5, 10):
        times = [np.sort(rng.random(rng.poisson(8.0))).tolist() for _ in range(10 * logs * copies)]
        histories = EventHistories.from_groups(times, end=[1.0] * len(times))
        limits = mean_cumulative(histories, np.repeat(np.arange(10 * logs), copies)).interval(1.0)
        yield (
            f"mean cumulative function of {copies}: covered",
            float(((limits.low <= 8.0) & (limits.high >= 8.0)).mean()),
        )
    held = 0
    for _ in range(logs):
        mean_repair, _ = mean_of_repairs(rf.LifeData.from_array(rng.lognormal(0.0, 1.5, 30)), 0.95)
        held += mean_repair is not None and mean_repair.low <= np.exp(1.125) <= mean_repair.high
    yield "mean of 30 lognormal repairs of sigma 1.5: covered", held / logs


def clauses(logs: int) -> Iterator[tuple[str, float]]:
    """Some clause of dependence that is false, by shape; and of racks of 20 that fail as one within 12 minutes."""
    for shape in (0.5, 0.7, 1.0, 2.0):
        found = [dependence(fleet(np.random.default_rng(s), shape, np.full(40, 500.0)), rng=s) for s in range(logs)]
        claimed = [one.to_frame()["depends"].eq(True).any() for one in found]
        yield f"shape {shape:g}: some clause of dependence", float(np.mean(claimed))
    found = [dependence(racked(np.random.default_rng(s)), rng=s) for s in range(logs)]
    along = [any(one.depends(name) for name in ("serial", "pooled", "dispersion", "cycles")) for one in found]
    yield "racks that fail as one: some clause along time", float(np.mean(along))
    yield "racks that fail as one: nodes fail together", float(np.mean([one.depends("place") for one in found]))


def racked(rng: np.random.Generator) -> rf.FailureLog:
    """Ten racks of 20 nodes: a node fails every 1500 hours, a rack as a whole every 1000, within 12 minutes."""
    rows, nodes = [], []
    for rack in range(10):
        shared = rng.uniform(0.0, HOURS - 1.0, rng.poisson(HOURS / 1000.0))
        for i in range(20):
            own = rng.uniform(0.0, HOURS, rng.poisson(HOURS / 1500.0))
            times = np.sort([*own, *(shared + rng.uniform(0.0, 0.2, shared.size))])
            rows += [{"node": f"{rack}-{i:02d}", "start": float(t)} for t in times]
            nodes.append({"node": f"{rack}-{i:02d}", "rack": f"{rack}"})
    return make_log(rows, nodes, window=(0.0, HOURS))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--part", choices=("all", "dependence"), default="all")
    asked = parser.parse_args()
    for line, part in chain(rows(asked.logs) if asked.part == "all" else (), clauses(asked.logs)):
        print(f"{line:<62}{100.0 * part:6.1f} %", flush=True)
