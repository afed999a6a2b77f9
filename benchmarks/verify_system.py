"""Verify what `relfit.system` says about its own uncertainty: coverage of intervals, size of tests.

Run: python benchmarks/verify_system.py [quick] [sizes] [coverage]: the tables of docs/system.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np

import relfit as rf
from relfit.fitting import pool
from relfit.fitting.families import Weibull
from relfit.system import System, chi_square, system_from_fits

ASKED = [("reliability", 24.0), ("hazard", 24.0), ("quantile", 0.1), ("mttf", None)]


def lives_of(truth: Weibull, replications: int, size: int, censored: float, rng: np.random.Generator) -> rf.LifeData:
    """Groups of `size` lives, each cut at a random limit so that a share of about `censored` is."""
    drawn = truth.sample((replications, size), rng)
    limit = rng.uniform(0.0, float(truth.mean()) / max(censored, 1e-9), drawn.shape)
    return rf.LifeData.from_array(np.minimum(drawn, limit), drawn <= limit)


def inside(system: System, truth: System, seed: int) -> list[bool]:
    """Whether each quantity of the true system lies within the interval of the fitted one."""
    found = []
    for quantity, argument in ASKED:
        limits = system.interval(quantity, argument, n_draws=399, rng=seed)
        value = getattr(truth, quantity)(*(() if argument is None else (argument,)))
        found.append(bool(limits.low <= value <= limits.high))
    return found


def shared(shape: float, size: int, censored: float, replications: int) -> np.ndarray:
    """Eight nodes that share one fit."""
    rng = np.random.default_rng(1)
    truth = Weibull(shape, 1000.0)
    fit = rf.fit(lives_of(truth, replications, size, censored, rng), "weibull")["weibull"]
    ages = np.linspace(0.0, 2000.0, 8)
    right = System(Weibull(np.full(8, shape), np.full(8, 1000.0)), ages)
    rows = [inside(system_from_fits(fit, nodes=[int(r)] * 8, ages=ages), right, int(r)) for r in np.flatnonzero(fit.ok)]
    return np.array(rows)


def separate(shape: float, size: int, censored: float, replications: int) -> np.ndarray:
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
            rows.append(inside(system_from_fits(fit, nodes=groups.tolist(), ages=ages), right, r))
    return np.array(rows)


def pooled(replications: int) -> np.ndarray:
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
        system = system_from_fits(fit, ages=ages)
        rows.append(inside(system, System(fleet, ages), r))
    return np.array(rows)


def coverage(replications: int) -> Iterator[str]:
    """Share of 95 % intervals that hold the truth."""
    yield "Coverage of 95 % intervals (percent; standard error in brackets)"
    yield f"{'case':46s} " + " ".join(f"{name:>13s}" for name, _ in ASKED)
    for name, case in (("eight nodes, one fit", shared), ("eight nodes, eight fits", separate)):
        for shape, size, censored in ((0.8, 30, 0.3), (0.8, 100, 0.3), (2.0, 50, 0.3)):
            found = case(shape, size, censored, max(replications // 5, 40))
            yield row(f"{name}, shape {shape}, {size} lives, 30 % cut", found)
    yield row("40 nodes pooled, 5 lives each", pooled(max(replications // 10, 20)))


def sizes(replications: int) -> Iterator[str]:
    """Share of right models that the tests reject at 5 %."""
    yield ""
    yield "Right models rejected at 5 % (percent)"
    system = System(Weibull([0.8, 0.6, 1.5, 0.9], [1000.0, 3000.0, 1500.0, 700.0]), [600.0, 10.0, 300.0, 2000.0])
    for n in (50, 100, 1000):
        rejected = np.mean([chi_square(system.sample(n, r), system).rejected for r in range(replications)])
        yield f"chi-square, {n:5d} sampled times                 {100 * rejected:5.1f}"


def row(name: str, found: np.ndarray) -> str:
    """One line of the table."""
    share = 100.0 * found.mean(axis=0)
    error = np.sqrt(share * (100.0 - share) / len(found))
    return f"{name:46s} " + " ".join(f"{s:6.1f} ({e:3.1f})" for s, e in zip(share, error, strict=True))


if __name__ == "__main__":
    quick = "quick" in sys.argv[1:]
    begun = time.perf_counter()
    parts = {
        "sizes": sizes(100 if quick else 1000),
        "coverage": coverage(100 if quick else 1000),
    }
    chosen = [part for part in sys.argv[1:] if part in parts] or list(parts)
    for part in chosen:
        for line in parts[part]:
            print(line, flush=True)
    print(f"{time.perf_counter() - begun:.0f} s")
