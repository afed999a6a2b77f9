"""Incidents, periods, outlier nodes and repair times of a large simulated log: seconds.

Run: python benchmarks/bench_incidents.py [--events 5000000] [--nodes 100000]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

import relfit as rf
from relfit.screening import change_points, incidents, outlier_nodes, repair_kinds


def simulated(events: int, nodes: int) -> rf.FailureLog:
    """Four years of independent failures, 5 % of the nodes at 5 times the rate, quick and slow repairs."""
    rng = np.random.default_rng(0)
    first = pd.Timestamp("2020-01-01", tz="UTC")
    last = first + pd.Timedelta(days=1460)
    rate = np.where(rng.random(nodes) < 0.05, 5.0, 1.0)
    names = pd.Index([f"n{i}" for i in range(nodes)])
    node = rng.choice(nodes, events, p=rate / rate.sum())
    start = pd.Series(first + pd.to_timedelta(np.sort(rng.integers(0, 1460 * 86400, events)), unit="s"))
    hours = np.where(rng.random(events) < 0.7, rng.lognormal(-1.0, 0.6, events), rng.lognormal(2.5, 0.8, events))
    table = pd.DataFrame({"node": pd.Categorical.from_codes(node, names), "start": start.astype("datetime64[ns, UTC]")})
    table["end"] = (start + pd.to_timedelta((hours * 3600).round(), unit="s")).astype("datetime64[ns, UTC]")
    table["end"] = table["end"].clip(upper=last)
    table["system"] = pd.Categorical.from_codes(np.zeros(events, int), ["s"])
    table["cause"] = pd.Categorical.from_codes(rng.integers(0, 4, events), ["a", "b", "c", "d"])
    table["scope"] = pd.Categorical.from_codes(np.zeros(events, int), ["node"])
    table = table.assign(detail=None, start_cut=False, end_cut=False, line=np.arange(events))
    people = pd.DataFrame({"system": "s", "node": pd.Categorical(names), "entered": first, "left": last})
    people = people.assign(entered_known=True, left_known=True, declared=True)
    people["rack"] = pd.Categorical([f"r{i // 64}" for i in range(nodes)])
    return rf.FailureLog(table, people, rf.Window(first, last, True, True))


def timed(name: str, call: Callable[[], object]) -> None:
    start = time.perf_counter()
    found = call()
    print(f"{name}: {time.perf_counter() - start:.1f} s; {getattr(found, 'sentence', '')}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--nodes", type=int, default=100_000)
    options = parser.parse_args()
    log = simulated(options.events, options.nodes)
    print(log)
    for place in ("system", "rack", "node"):
        timed(f"incidents by {place}", lambda place=place: incidents(log, place=place))
    timed("periods of records", lambda: change_points(log, of="records"))
    timed("outlier_nodes", lambda: outlier_nodes(log))
    timed("repairs by cause", lambda: repair_kinds(log))


if __name__ == "__main__":
    main()
