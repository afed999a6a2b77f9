"""Verify what `relfit.system` says about its own uncertainty: coverage of intervals, size of tests, calibrated replays.

Run it with ``python benchmarks/verify_system.py [quick]``; it prints tables. The figures in docs/validation.md come from it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np

import relfit as rf
from relfit.families import Weibull
from relfit.fitting import pool
from relfit.system import System
from relfit.system.uncertainty import interval_of

ASKED = [("reliability", 24.0), ("hazard", 24.0), ("quantile", 0.1), ("mttf", None)]


def lives_of(truth: Weibull, replications: int, size: int, censored: float, rng: np.random.Generator) -> rf.LifeData:
    """Groups of `size` lives, each cut at a random limit so that a share of about `censored` is."""
    drawn = truth.sample((replications, size), rng)
    limit = rng.uniform(0.0, float(truth.mean()) / max(censored, 1e-9), drawn.shape)
    return rf.LifeData.from_array(np.minimum(drawn, limit), drawn <= limit)


def inside(system: System, truth: System, kind: str, seed: int) -> list[bool]:
    """Whether each quantity of the true system lies within the interval of the fitted one."""
    found = []
    for quantity, argument in ASKED:
        limits = interval_of(system, quantity, argument, kind=kind, draws=399, rng=seed)
        value = getattr(truth, quantity)(*(() if argument is None else (argument,)))
        found.append(bool(limits.low <= value <= limits.high))
    return found


def shared(shape: float, size: int, censored: float, replications: int, kind: str) -> np.ndarray:
    """Eight nodes that share one fit."""
    rng = np.random.default_rng(1)
    truth = Weibull(shape, 1000.0)
    fit = rf.fit(lives_of(truth, replications, size, censored, rng), "weibull")["weibull"]
    ages = np.linspace(0.0, 2000.0, 8)
    right = System(Weibull(np.full(8, shape), np.full(8, 1000.0)), ages)
    rows = []
    for r in np.flatnonzero(fit.ok):
        rows.append(inside(System.from_fits(fit, nodes=[int(r)] * 8, ages=ages), right, kind, int(r)))
    return np.array(rows)


def separate(shape: float, size: int, censored: float, replications: int, kind: str) -> np.ndarray:
    """Eight nodes, each with a fit of its own."""
    rng = np.random.default_rng(2)
    truth = Weibull(shape, 1000.0)
    fit = rf.fit(lives_of(truth, 8 * replications, size, censored, rng), "weibull")["weibull"]
    ages = np.linspace(0.0, 2000.0, 8)
    right = System(Weibull(np.full(8, shape), np.full(8, 1000.0)), ages)
    rows = []
    for r in range(replications):
        groups = np.arange(8 * r, 8 * r + 8)
        if fit.ok[groups].all():
            rows.append(inside(System.from_fits(fit, nodes=groups.tolist(), ages=ages), right, kind, r))
    return np.array(rows)


def pooled(replications: int, kind: str) -> np.ndarray:
    """Forty nodes of a fleet, five lives each, pooled; the truth differs from node to node."""
    rows = []
    for r in range(replications):
        rng = np.random.default_rng(100 + r)
        shape, scale = 0.8 * np.exp(0.15 * rng.standard_normal(40)), 1000.0 * np.exp(0.5 * rng.standard_normal(40))
        fleet = Weibull(shape, scale)
        drawn = fleet.sample(5, rng).T
        limit = rng.uniform(500.0, 4000.0, drawn.shape)
        fit = pool(Weibull, rf.LifeData.from_array(np.minimum(drawn, limit), drawn <= limit))
        ages = rng.uniform(0.0, 1000.0, 40)
        system = System.from_fits(fit, ages=ages)
        rows.append(inside(system, System(fleet, ages), kind, r))
    return np.array(rows)


def coverage(replications: int) -> Iterator[str]:
    """Share of 95 % intervals that hold the truth."""
    yield "Coverage of 95 % intervals (percent; standard error in brackets)"
    yield f"{'case':46s} {'kind':10s} " + " ".join(f"{name:>13s}" for name, _ in ASKED)
    for name, case in (("eight nodes, one fit", shared), ("eight nodes, eight fits", separate)):
        for shape, size, censored in ((0.8, 30, 0.3), (0.8, 100, 0.3), (2.0, 50, 0.3)):
            for kind in ("delta", "draws", "bootstrap"):
                some = replications if kind == "delta" else max(replications // 4, 40)
                found = case(shape, size, censored, some, kind)
                yield row(f"{name}, shape {shape}, {size} lives, 30 % cut", kind, found)
    for kind in ("delta", "draws"):
        yield row("40 nodes pooled, 5 lives each", kind, pooled(max(replications // 10, 20), kind))


def row(name: str, kind: str, found: np.ndarray) -> str:
    """One line of the table."""
    share = 100.0 * found.mean(axis=0)
    error = np.sqrt(share * (100.0 - share) / len(found))
    return f"{name:46s} {kind:10s} " + " ".join(f"{s:6.1f} ({e:3.1f})" for s, e in zip(share, error, strict=True))


if __name__ == "__main__":
    quick = "quick" in sys.argv[1:]
    begun = time.perf_counter()
    for line in coverage(200 if quick else 2000):
        print(line, flush=True)
    print(f"{time.perf_counter() - begun:.0f} s")
