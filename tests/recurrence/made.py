"""Simulated event histories."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relfit.analyses.recurrence import EventHistories

CROW_SYSTEMS = (
    [4.3, 4.4, 10.2, 23.5, 23.8, 26.4, 74.0, 77.1, 92.1, 197.2],
    [0.1, 5.6, 18.6, 19.5, 24.2, 26.7, 45.1, 45.8, 75.7, 79.7, 98.6, 120.1, 161.8, 180.6, 190.8],
    [8.4, 32.5, 44.7, 48.4, 50.6, 73.6, 98.7, 112.2, 129.8, 136.0, 195.8],
)
HANDBOOK_SYSTEMS = (
    [
        2.6,
        16.5,
        16.5,
        17.0,
        21.4,
        29.1,
        33.3,
        56.5,
        63.1,
        70.6,
        73.0,
        77.7,
        93.9,
        95.5,
        98.1,
        101.1,
        132.0,
        142.2,
        147.7,
        149.0,
        167.2,
        190.7,
        193.0,
        198.7,
        251.9,
        282.5,
        286.1,
    ],
)


def scattered(count: np.ndarray, uniform: np.ndarray, end: float = 1.0) -> EventHistories:
    """Histories with so many events each, at these shares of the window."""
    owner = np.repeat(np.arange(count.size), count)
    offsets = np.concatenate([[0], np.cumsum(count)])
    return EventHistories.from_flat(uniform[np.lexsort((uniform, owner))] * end, offsets, end)


def power_law(copies: int, mean: float, shape: float, rng: np.random.Generator, end: float = 1.0) -> EventHistories:
    """Poisson processes with `mean` events each and cumulative intensity in proportion to ``t**shape``."""
    count = rng.poisson(mean, copies)
    return scattered(count, rng.random(count.sum()) ** (1.0 / shape), end)


def doubling(copies: int, mean: float, rng: np.random.Generator) -> EventHistories:
    """Poisson processes whose rate doubles half-way."""
    count = rng.poisson(mean, copies)
    late = rng.random(count.sum()) < 2.0 / 3.0
    return scattered(count, 0.5 * rng.random(late.size) + 0.5 * late)


def renewals(copies: int, events: int, shape: float, rng: np.random.Generator) -> EventHistories:
    """Weibull renewal processes watched until their last event."""
    at = rng.weibull(shape, (copies, events)).cumsum(axis=1)
    return EventHistories.from_flat(at.ravel(), np.arange(copies + 1) * events, at[:, -1])


def racked(rng, hours=8760.0):
    """Steady nodes that fail every 1500 hours, in ten racks of 20 that fail as one every 1000; incidents are known."""
    times, number, taken = [], [], 0
    for _ in range(10):
        shared = rng.uniform(0.0, hours, rng.poisson(hours / 1000.0))
        of_rack = taken + np.arange(shared.size)
        taken += shared.size
        for _ in range(20):
            own = rng.uniform(0.0, hours, rng.poisson(hours / 1500.0))
            order = np.argsort(np.concatenate([own, shared]))
            times.append(np.concatenate([own, shared])[order])
            number.append(np.concatenate([taken + np.arange(own.size), of_rack])[order])
            taken += own.size
    return replace(EventHistories.from_groups(times, hours), incident=np.concatenate(number))
