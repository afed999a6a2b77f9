"""Incidents against the truth: logs with planted bursts, made by plain numpy, and how many joins are wrong.

`python benchmarks/verify_incidents.py [logs] [case]` prints a table for docs/verification.md: incidents planted and
made, joins of records of two incidents (counted, and as the result expects them), and incidents that came apart.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import gamma

import numpy as np
import pandas as pd

from relfit.analyses.screening import incidents
from relfit.io.frames import events_frame, population_frame
from relfit.log.failurelog import FailureLog, Window

HOUR, DAY, YEAR = 1.0, 24.0, 8766.0
Planted = tuple[np.ndarray, np.ndarray, np.ndarray]  # hours, node (-1 for none) and true incident of every record


def renewal(
    rng: np.random.Generator, nodes: int, shape: float, mean: float, hours: float
) -> tuple[np.ndarray, np.ndarray]:
    """Instants and nodes of Weibull renewal processes that have run for some time when observation begins."""
    scale = mean / gamma(1.0 + 1.0 / shape)
    most = int(hours / mean * 3 + 12 * np.sqrt(hours / mean) / shape + 30)
    gaps = scale * rng.weibull(shape, (nodes, 2 * most))
    at = np.cumsum(gaps, axis=1) - hours * 0.5  # watched in the midst of it
    inside = (at >= 0.0) & (at < hours)
    assert (at[:, -1] >= hours).all()
    return at[inside], np.repeat(np.arange(nodes), inside.sum(axis=1))


def log_of(
    planted: Planted, nodes: int, hours: float, *, racks: int = 0, step: float = 0.0
) -> tuple[FailureLog, np.ndarray]:
    """A log of these records, its clock cut to a step (hours), and the true incident of each."""
    at, node, truth = planted
    order = np.argsort(at, kind="stable")
    at, node, truth = at[order], node[order], truth[order]
    at = at if step == 0.0 else np.floor(at / step + 1e-9) * step
    begin = pd.Timestamp("2020-01-01", tz="UTC")
    start = begin + pd.to_timedelta(np.round(at * 3.6e9).astype(np.int64), unit="us")
    of = np.array([f"n{i}" for i in range(nodes)] + [""], dtype=object)
    rack = {"rack": np.array([f"r{i * racks // nodes}" for i in range(nodes)], dtype=object)} if racks else {}
    scope = np.where(node < 0, "system", "node")
    events = events_frame(
        system=np.full(at.size, "s"), node=of[node], start=pd.Series(start), scope=scope, line=np.arange(at.size)
    )
    ends = (begin, begin + pd.Timedelta(hours=hours))
    entered, left = (pd.Series([end] * nodes) for end in ends)
    people = population_frame(
        system=np.full(nodes, "s"),
        node=of[:-1],
        entered=entered,
        left=left,
        entered_known=False,
        left_known=True,
        declared=True,
        attributes=rack,
    )
    return FailureLog(events, people, Window(*ends, True, True)), truth


def scored(log: FailureLog, truth: np.ndarray, **options: object) -> dict[str, float]:
    """Incidents planted and made; joins of two incidents, counted and expected; incidents that came apart."""
    found = incidents(log, **options)  # type: ignore[arg-type]
    pairs = pd.DataFrame({"made": found.incident, "true": truth}).drop_duplicates()
    return {
        "records": len(log),
        "planted": pairs["true"].nunique(),
        "made": len(found),
        "wrong joins": len(pairs) - pairs["made"].nunique(),
        "expected": found.by_chance,
        "apart": len(pairs) - pairs["true"].nunique(),
    }


def alone(at: np.ndarray, node: np.ndarray) -> Planted:
    return at, node, np.arange(at.size)


def with_racks(rng: np.random.Generator, per_rack: float, minutes: float, hours: float) -> Planted:
    """200 nodes of 1 500 h (Weibull, shape 0.7) in 20 racks of ten, whose failures hit most nodes over some minutes."""
    at, node = renewal(rng, 200, 0.7, 1500.0, hours)
    times, racks = renewal(rng, 20, 1.0, per_rack, hours)
    hit = rng.random((times.size, 10)) < 0.8
    hit[np.arange(times.size), rng.integers(0, 10, times.size)] = True
    which, member = np.nonzero(hit)
    late = rng.uniform(0.0, minutes / 60.0, which.size)
    truth = np.concatenate([np.arange(at.size), at.size + which])
    return np.concatenate([at, times[which] + late]), np.concatenate([node, racks[which] * 10 + member]), truth


def with_system(rng: np.random.Generator, hours: float) -> Planted:
    """512 nodes of 2 000 h, and outages of all nodes every 500 h, written within five minutes."""
    at, node = renewal(rng, 512, 0.8, 2000.0, hours)
    times, _ = renewal(rng, 1, 1.0, 500.0, hours)
    which, member = (x.ravel() for x in np.meshgrid(np.arange(times.size), np.arange(512), indexing="ij"))
    late = rng.uniform(0.0, 1.0 / 12.0, which.size)
    truth = np.concatenate([np.arange(at.size), at.size + which])
    return np.concatenate([at, times[which] + late]), np.concatenate([node, member]), truth


def ras(rng: np.random.Generator, nodes: int, bursts: int, hours: float, spread: int = 1) -> Planted:
    """Messages: bursts of some hundred records, seconds or less apart, each on `spread` neighbouring nodes."""
    begun = rng.uniform(0.0, hours, bursts)
    size = np.maximum(rng.lognormal(4.3, 1.1, bursts).astype(int), 1)
    truth = np.repeat(np.arange(bursts), size)
    gaps = np.where(rng.random(truth.size) < 0.98, rng.exponential(0.2, truth.size), rng.exponential(20.0, truth.size))
    gaps[np.concatenate([[0], np.cumsum(size)[:-1]])] = 0.0
    since = np.cumsum(gaps)
    since -= since[np.concatenate([[0], np.cumsum(size)[:-1]])][truth]
    node = (rng.integers(0, nodes, bursts)[truth] + rng.integers(0, spread, truth.size)) % nodes
    return begun[truth] + since / 3600.0, node, truth


CASES: dict[str, Callable[[np.random.Generator], tuple[FailureLog, np.ndarray]]] = {
    "10 nodes, Weibull 0.5": lambda rng: log_of(alone(*renewal(rng, 10, 0.5, 438.0, 4 * YEAR)), 10, 4 * YEAR),
    "one node, Weibull 0.7": lambda rng: log_of(alone(*renewal(rng, 1, 0.7, 50.0, 3 * YEAR)), 1, 3 * YEAR),
    "500 nodes, Weibull 0.7, minutes": lambda rng: log_of(
        alone(*renewal(rng, 500, 0.7, 3000.0, 2 * YEAR)), 500, 2 * YEAR, racks=25, step=1 / 60
    ),
    "200 nodes, whole hours": lambda rng: log_of(
        alone(*renewal(rng, 200, 1.0, 1200.0, 2 * YEAR)), 200, 2 * YEAR, racks=10, step=HOUR
    ),
    "200 nodes, dates": lambda rng: log_of(alone(*renewal(rng, 200, 1.0, 1200.0, 2 * YEAR)), 200, 2 * YEAR, step=DAY),
    "whole system, dates": lambda rng: log_of(with_system(rng, 2 * YEAR), 512, 2 * YEAR, step=DAY),
    "racks over 5 minutes, whole hours": lambda rng: log_of(
        with_racks(rng, 2000.0, 5.0, 2 * YEAR), 200, 2 * YEAR, racks=20, step=HOUR
    ),
    "racks over 5 minutes": lambda rng: log_of(
        with_racks(rng, 2000.0, 5.0, 2 * YEAR), 200, 2 * YEAR, racks=20, step=1 / 60
    ),
    "racks over 12 minutes": lambda rng: log_of(
        with_racks(rng, 1000.0, 12.0, 2 * YEAR), 200, 2 * YEAR, racks=20, step=1 / 60
    ),
    "racks at once, no column": lambda rng: log_of(with_racks(rng, 2000.0, 0.0, 2 * YEAR), 200, 2 * YEAR, step=1 / 60),
    "whole system over 5 minutes": lambda rng: log_of(with_system(rng, 2 * YEAR), 512, 2 * YEAR, racks=32, step=1 / 60),
    "RAS, bursts of one node": lambda rng: log_of(ras(rng, 64, 454, YEAR), 64, YEAR),
    "RAS, bursts over eight nodes": lambda rng: log_of(ras(rng, 64, 454, YEAR, 8), 64, YEAR),
    "RAS, one node": lambda rng: log_of(ras(rng, 1, 454, YEAR), 1, YEAR),
}


def main() -> None:
    logs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print("| log | records | planted | made | wrong joins | expected | came apart |\n|---|---|---|---|---|---|---|")
    for name, make in CASES.items():
        if len(sys.argv) > 2 and sys.argv[2] not in name:
            continue
        rng = np.random.default_rng(1)
        mean = pd.DataFrame([scored(*make(rng)) for _ in range(logs)]).mean()
        cells = " | ".join(f"{value:,.1f}" if value < 100 else f"{value:,.0f}" for value in mean)
        print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
