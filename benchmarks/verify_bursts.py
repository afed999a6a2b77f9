"""Are bursts seen where there are some, and only there? Logs of known kind, in plain NumPy.

    python benchmarks/verify_bursts.py [--logs 60] [--failures 1000] [--kind season]

96 nodes in racks of 12 over two years. Of steady, unequal, drifting and seasonal fleets and of good and bad weeks: the
share of logs in which incidents of a scope are said to come after one another. Of fleets with bursts, in which each
failure brings 0.3 others on average a day later: how often that is seen, the mean of `branching`, and how often its
limits cover 0.3. Failures are incidents here: nothing is joined.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pandas as pd

NODES, PER_RACK, DAYS = 96, 12, 730.0
EPOCH = pd.Timestamp("2021-01-04", tz="UTC")  # a Monday
BRANCHING = 0.3
STEADY = (
    "steady",
    "unequal nodes",
    "slow rise",
    "doubling",
    "season",
    "good and bad weeks",
    "good and bad months",
    "working hours",
    "wandering",
    "nodes join",
    "ailing nodes",
)
"""Fleets without bursts. Ailing nodes have 15 times the rate for two to four months."""
BURSTS = {
    "bursts of nodes": ("node", 1.0),
    "bursts of racks": ("rack", 1.0),
    "bursts of the whole": ("whole", 1.0),
    "bursts of nodes, 3 days": ("node", 3.0),
    "bursts of the whole, 3 hours": ("whole", 0.125),
}


def rate_of(kind: str, rng: np.random.Generator) -> np.ndarray:
    """Rates by hour (rows) and node, up to a factor."""
    hour = np.arange(24.0 * DAYS)
    day = hour / 24.0
    rate, weight = np.ones(hour.size), np.ones((1, NODES))
    if kind == "unequal nodes":
        weight = rng.gamma(1.0, 1.0, (1, NODES))
    elif kind == "slow rise":
        rate = 4.0 ** (day / DAYS)
    elif kind == "doubling":
        rate = np.where(day < 0.6 * DAYS, 1.0, 2.0)
    elif kind == "season":
        rate = 1.0 + 0.7 * np.sin(2.0 * np.pi * (day / 365.25 + rng.random()))
    elif kind in ("good and bad weeks", "good and bad months"):
        days, phase = (7, rng.integers(0, 7)) if kind.endswith("weeks") else (30, rng.integers(0, 30))
        bad = rng.random(200) < 0.25
        rate = np.where(bad, 3.0, 1.0)[((day + phase) // days).astype(int)]
    elif kind == "working hours":
        rate = np.where((hour % 24 > 8) & (hour % 24 < 18), 3.0, 1.0) * np.where(day % 7 < 5, 1.0, 0.4)
    elif kind == "wandering":
        rate = np.exp(np.cumsum(rng.normal(0.0, 0.04, int(DAYS))))[day.astype(int)]
    elif kind == "nodes join":
        weight = np.where(
            day[:, None] > np.where(np.arange(NODES) < 40, 0.0, rng.uniform(0.0, 0.8 * DAYS, NODES)), 1, 0
        )
    elif kind == "ailing nodes":
        weight = np.ones((hour.size, NODES))
        for node in range(NODES):
            at = -rng.exponential(90.0 / 0.05)
            while at < DAYS:
                until = at + rng.uniform(60.0, 120.0)
                weight[(day >= at) & (day < until), node] = 15.0
                at = until + rng.exponential(90.0 * 0.95 / 0.05)
    return rate[:, None] * weight


def failures(kind: str, number: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Instants (days) and nodes of some `number` of failures."""
    if kind not in BURSTS:
        rate = rate_of(kind, rng)
        hour, node = np.nonzero(
            rng.random(rate.shape) < number * rate / (rate.sum() * (NODES if rate.shape[1] == 1 else 1))
        )
        return (hour + rng.random(hour.size)) / 24.0, node
    scope, delay = BURSTS[kind]
    first = rng.poisson((1.0 - BRANCHING) * number)
    at, node = rng.random(first) * DAYS, rng.integers(0, NODES, first)
    parts = [(at, node)]
    while at.size:
        parent = np.repeat(np.arange(at.size), rng.poisson(BRANCHING, at.size))
        at, node = at[parent] + rng.exponential(delay, parent.size), node[parent]
        if scope == "rack":
            node = node // PER_RACK * PER_RACK + (node + rng.integers(1, PER_RACK, node.size)) % PER_RACK
        elif scope == "whole":
            node = (node // PER_RACK * PER_RACK + rng.integers(PER_RACK, NODES, node.size)) % NODES
        parts.append((at, node))
    at, node = (np.concatenate(column) for column in zip(*parts, strict=True))
    return at[at < DAYS], node[at < DAYS]


def table_of(kind: str, number: float, rng: np.random.Generator) -> pd.DataFrame:
    """One row per failure."""
    at, node = failures(kind, number, rng)
    order = np.argsort(at)
    start = EPOCH + pd.to_timedelta(np.round(86_400.0 * at[order]), unit="s")
    return pd.DataFrame({"node": [f"n{i:02d}" for i in node[order]], "start": start})


def log_of(kind: str, number: float, rng: np.random.Generator) -> Any:
    """A log as relfit reads it."""
    import relfit as rf

    people = pd.DataFrame({"node": [f"n{i:02d}" for i in range(NODES)]})
    people["rack"] = [f"r{i // PER_RACK}" for i in range(NODES)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.csv")
        table_of(kind, number, rng).to_csv(path, index=False)
        until = EPOCH + pd.Timedelta(days=DAYS)
        return rf.read(path, population=people, window_start=str(EPOCH), window_end=str(until))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--logs", type=int, default=60)
    options.add_argument("--failures", type=float, default=1000.0)
    options.add_argument("--kind", choices=[*STEADY, *BURSTS])
    given = options.parse_args()
    warnings.simplefilter("ignore")
    import relfit as rf

    for kind in [given.kind] if given.kind else [*STEADY, *BURSTS]:
        tables = []
        for seed in range(given.logs):
            rng = np.random.default_rng([seed, *kind.encode()])
            log = log_of(kind, given.failures, rng)
            tables.append(rf.screening.bursts(log, rf.incidents(log, "0h"), rng=seed).table.assign(seed=seed))
        rows = pd.concat(tables)
        said = []
        for scope, part in rows.groupby("scope", sort=False):
            said.append(f"{scope} {(part['kind'] == 'after one another').mean():.2f}")
            if BURSTS.get(kind, ("",))[0] == scope:
                cover = ((part["low"] <= BRANCHING) & (part["high"] >= BRANCHING)).mean()
                mean, delay = part["branching"].mean(), part["mean_delay"].median()
                said[-1] += f" (branching {mean:.3f}, covered {cover:.2f}, delay {delay:g} h)"
        weeks = (rows.loc[rows["scope"] == "whole", "kind"] == "good and bad weeks").mean()
        print(f"{kind}: after one another: {', '.join(said)}; good and bad weeks {weeks:.2f}", flush=True)


if __name__ == "__main__":
    main()
