"""Size of every test of dependence, time and repairable systems that has a p-value, and what it finds when planted.

Each test meets 2 000 simulated samples in which nothing depends on anything; printed is how many it rejects at 5 %,
with the range in which 95 % of such simulations fall if the size is exact. Then planted effects: how many are found.
Tests marked "bound" keep their size from above only; the number of runs is a whole number, so that its size swings with
the length of the series ("lattice").

Run: python benchmarks/verify_time.py [--replications 2000] [--only PART]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from relfit.analyses.independence import (
    NodeSeries,
    cofailures,
    correlations,
    cycles,
    dispersion,
    pooled_tests,
    serial_tests,
)
from relfit.analyses.recurrence import EventHistories, trend_tests
from relfit.analyses.screening import change_points
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.log.failurelog import Source, Window

FloatArray = npt.NDArray[np.float64]
Rows = Iterator[tuple[str, FloatArray]]


def failures(times: list[FloatArray], hours: float, system: FloatArray | None = None) -> NodeSeries:
    """Nodes that failed at these hours."""
    count = len(times)
    labels = np.zeros(count, dtype=np.int64) if system is None else system
    groups = pd.MultiIndex.from_arrays([labels.astype(object), np.arange(count)], names=["system", "node"])
    flat = np.rint(np.concatenate([np.sort(t) for t in times]) * NANOSECONDS_PER_HOUR).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum([t.size for t in times])]).astype(np.int64)
    span = int(hours * NANOSECONDS_PER_HOUR)
    return NodeSeries(flat, offsets, groups, np.zeros(count, np.int64), np.full(count, span, np.int64), span)


def log_of(at: FloatArray, node: npt.NDArray[np.int64], nodes: int, hours: float) -> rf.FailureLog:
    """A log of one system with failures at these hours."""
    zero = pd.Timestamp("2001-01-01", tz="UTC")
    order = np.argsort(at, kind="stable")
    start = (zero + pd.to_timedelta(at[order] * 3600.0, unit="s")).as_unit("ns")
    names = [f"{i:05d}" for i in range(nodes)]
    table = pd.DataFrame({"system": "s", "node": pd.Categorical.from_codes(node[order], names), "start": start})
    table = table.assign(
        end=start, cause=None, detail=None, scope="node", start_cut=False, end_cut=False, line=np.arange(at.size)
    )
    end = zero + pd.Timedelta(hours=hours)
    people = pd.DataFrame({"system": "s", "node": pd.Categorical(names), "entered": zero, "left": end})
    people = people.assign(entered_known=True, left_known=True, declared=True)
    return rf.FailureLog(table, people, Window(zero, end, True, True), source=Source())


def poisson_histories(copies: int, mean: float, rng: np.random.Generator, shape: float = 1.0) -> EventHistories:
    count = rng.poisson(mean, copies)
    owner = np.repeat(np.arange(copies), count)
    at = rng.random(count.sum()) ** (1.0 / shape)
    offsets = np.concatenate([[0], np.cumsum(count)])
    return EventHistories.from_flat(at[np.lexsort((at, owner))], offsets, 1.0)


# ------------------------------------------------------------------------- sizes


def between_nodes(n: int, rng: np.random.Generator) -> Rows:
    nodes = int(np.ceil((1 + np.sqrt(1 + 8 * 10 * n)) / 2))  # ten times as many pairs, which share nodes
    for method in ("spearman", "pearson", "kendall"):
        for size in (10, 30):
            lives = rf.LifeData.from_array(rng.exponential(100.0, (nodes, size)))
            yield f"correlations, {method}, {size} TTFs, exponential", correlations(lives, method).p
    whole = np.empty((n, 2))
    for i in range(n):
        found = correlations(rf.LifeData.from_array(rng.weibull(0.8, (8, 12))), n_resamples=39, rng=rng)
        whole[i] = found.mean_r_p, found.p_overall
    yield "correlations as a whole, mean r", whole[:, 0]
    yield "correlations, as a whole or a pair", whole[:, 1]
    times = [rng.uniform(0, 1000, rng.poisson(15)) for _ in range(5 * n)]
    known = failures(times, 1000.0, np.repeat(np.arange(n), 5))
    log = log_of(np.array([1.0]), np.zeros(1, np.int64), 1, 10.0)
    table = cofailures(log, 12, failures=known, n_resamples=39, rng=rng).table
    yield "cofailures, Poisson mid-p", table["p"].to_numpy()
    yield "cofailures, random logs", table["p_shuffled"].to_numpy()


def along_time(n: int, rng: np.random.Generator) -> Rows:
    for shape in (1.0, 0.6):
        for size in (10, 50, 220):
            found = serial_tests(rf.LifeData.from_array(rng.weibull(shape, (n, size))), n_resamples=999, rng=rng)
            of = f"{size} TTFs of Weibull shape {shape}"
            yield f"Durbin-Watson, {of}", found.durbin_watson_p
            yield f"Ljung-Box, {of}", found.ljung_box_p
    sizes = rng.integers(30, 90, n)
    lives = rf.LifeData.from_groups([rng.exponential(1.0, k) for k in sizes])
    yield "runs, 30 to 89 TTFs", serial_tests(lives, n_resamples=0).runs_p
    for size in (20, 50, 100):
        lives = rf.LifeData.from_array(rng.exponential(1.0, (n, size)))
        yield f"(lattice) runs, {size} TTFs", serial_tests(lives, n_resamples=0).runs_p
    yield (
        "Durbin-Watson, pooled series of nodes",
        np.array([pooled_tests(failures([np.cumsum(rng.weibull(0.8, 100))], 1e4), [1]).p[0] for _ in range(n)]),
    )
    for width, events in ((24.0, 30), (24.0, 400), (2.0, 200)):
        p = [dispersion(failures([rng.uniform(0, 2400, events)], 2400.0), [width]).p[0] for _ in range(n)]
        yield f"index of dispersion, {events} failures in bins of {width:g} h", np.array(p)
    empty = log_of(np.array([1.0]), np.zeros(1, np.int64), 1, 168.0 * 60)
    for burst in (1, 6):
        p = np.empty((n, 2))
        for i in range(n):
            at = (rng.uniform(0, 168 * 60, 150)[:, None] + rng.exponential(0.3, (150, burst))).ravel() % (168 * 60)
            p[i] = cycles(empty, failures([at], 168.0 * 60)).p
        yield f"daily cycle, bursts of {burst}", p[:, 0]
        yield f"weekly cycle, bursts of {burst}", p[:, 1]


def repairable(n: int, rng: np.random.Generator) -> Rows:
    histories = poisson_histories(n, 30.0, rng)
    found = trend_tests(histories)
    for i, test in enumerate(found.tests):
        yield f"{test}, one system, 30 events", found.p[:, i]
    at = rng.weibull(0.7, (n, 30)).cumsum(axis=1)
    found = trend_tests(EventHistories.from_flat(at.ravel(), np.arange(n + 1) * 30, at[:, -1]))
    for i, test in enumerate(found.tests[2:], 2):
        yield f"{test}, renewals of Weibull shape 0.7", found.p[:, i]
    many = poisson_histories(25 * n, 8.0, rng)
    found = trend_tests(many, np.repeat(np.arange(n), 25))
    for i, test in enumerate(found.tests):
        yield f"{test}, pooled over 25 systems of 8 events", found.p[:, i]


def incidents_and_periods(n: int, rng: np.random.Generator) -> Rows:
    p = np.empty(n)
    for i in range(n):
        at = rng.uniform(0.0, 17280.0, rng.poisson(288))
        log = log_of(at, np.zeros(at.size, np.int64), 1, 17280.0)
        p[i] = change_points(log, of="records", bin_width="12D", n_resamples=99, rng=i).p
    yield "clearest change of periods", p


# ----------------------------------------------------------------------- effects


def planted(n: int, rng: np.random.Generator) -> Rows:
    p = np.empty(n)
    for i in range(n):
        shock = rng.lognormal(0.0, 0.5, 20)
        lives = rf.LifeData.from_array(rng.lognormal(0.0, 1.0, (20, 20)) * shock)
        p[i] = correlations(lives, n_resamples=39, rng=rng).mean_r_p
    yield "shared shock (a fifth of the variance), mean r of 20 nodes", p
    log = log_of(np.array([1.0]), np.zeros(1, np.int64), 1, 10.0)
    times = []
    for _ in range(n):
        shocks = rng.uniform(0, 8760, 5)
        times += [np.concatenate([rng.uniform(0, 8760, 15), shocks]) for _ in range(5)]
    known = failures(times, 8760.0, np.repeat(np.arange(n), 5))
    yield "five shared shocks a year in 5 nodes, cofailures", cofailures(log, 1, failures=known).table["p"].to_numpy()
    noise = rng.normal(size=(n, 110))
    for t in range(1, 110):
        noise[:, t] += 0.6 * noise[:, t - 1]
    found = serial_tests(rf.LifeData.from_array(np.exp(0.7 * noise[:, 50:])), n_resamples=999, rng=rng)
    yield "autoregressive series (0.6), 60 TTFs: Durbin-Watson", found.durbin_watson_p
    yield "autoregressive series (0.6), 60 TTFs: Ljung-Box", found.ljung_box_p
    yield "autoregressive series (0.6), 60 TTFs: runs", found.runs_p
    count = rng.poisson(120.0, n)
    late = rng.random(count.sum()) < 2.0 / 3.0
    at = 0.5 * rng.random(late.size) + 0.5 * late
    offsets = np.concatenate([[0], np.cumsum(count)])
    trends = trend_tests(EventHistories.from_flat(at[np.lexsort((at, np.repeat(np.arange(n), count)))], offsets, 1.0))
    for i, test in enumerate(trends.tests):
        yield f"a rate that doubles, 120 events: {test}", trends.p[:, i]
    logs = min(n, 200)
    p = np.empty(logs)
    for i in range(logs):
        when = np.concatenate([rng.uniform(0, 9600, rng.poisson(200)), rng.uniform(9600, 19200, rng.poisson(400))])
        p[i] = change_points(
            log_of(when, np.zeros(when.size, np.int64), 1, 19200.0), of="records", bin_width="12D", n_resamples=99
        ).p
    yield f"a rate that doubles, 600 events: periods ({logs} logs)", p


PARTS: dict[str, Callable[[int, np.random.Generator], Rows]] = {
    "between nodes": between_nodes,
    "along time": along_time,
    "repairable systems": repairable,
    "incidents, periods": incidents_and_periods,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--only", help="parts whose name contains this")
    given = parser.parse_args()
    n = given.replications
    for name, part in PARTS.items():
        if given.only and given.only not in name:
            continue
        start = time.perf_counter()
        print(f"{name}: rejected at 5 % where nothing is planted")
        for test, p in part(n, np.random.default_rng(1)):
            known = p[np.isfinite(p)]
            share = float((known <= 0.05).mean())
            slack = 1.96 * np.sqrt(0.05 * 0.95 / known.size)
            marks = {True: "", False: "  <-- off"}
            fine = share <= 0.05 + slack if test.startswith("(bound)") else abs(share - 0.05) <= max(slack, 0.01) + 1e-9
            uniform = stats.kstest(known, "uniform").pvalue
            print(
                f"  {test:<62}{100 * share:6.2f} %  +- {100 * slack:.2f}  n {known.size:<7} K-S {uniform:.2g}"
                f"{marks[bool(fine) or test.startswith('(lattice)')]}",
                flush=True,
            )
        print(f"  ({time.perf_counter() - start:.0f} s)")
    if not given.only or given.only in "planted":
        print("planted effects: found at 5 %")
        for test, p in planted(n, np.random.default_rng(2)):
            print(f"  {test:<62}{100 * (p[np.isfinite(p)] <= 0.05).mean():6.1f} %", flush=True)


if __name__ == "__main__":
    main()
