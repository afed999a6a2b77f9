"""Failure logs of fleets whose truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd

from relfit.fitting.families import Family
from relfit.log.failurelog import FailureLog, Window

EPOCH = pd.Timestamp("2001-01-01", tz="UTC")


def simulated_log(
    fleet: Family, hours: float, repair: float = 8.0, rng: int = 1, system: str = "s", lives: int = 400
) -> FailureLog:
    """Nodes that renew at each failure and are down for a while, watched from their first day."""
    generator = np.random.default_rng(rng)
    start = np.cumsum(fleet.sample(lives, generator), axis=0).T
    assert (start[:, -1] > hours).all(), "more lives are needed"
    node, place = np.nonzero(start < hours)
    begun = start[node, place]
    gap = (
        np.append(start[:, 1:], np.full((start.shape[0], 1), np.inf), axis=1)[:, : start.shape[1]][node, place] - begun
    )
    down = np.minimum(generator.exponential(repair, begun.size), 0.9 * gap)  # up again before the next failure
    names = np.array([f"n{i:04d}" for i in range(start.shape[0])], dtype=object)
    events = pd.DataFrame(
        {
            "system": system,
            "node": names[node],
            "start": EPOCH + pd.to_timedelta(begun, unit="h"),
            "end": EPOCH + pd.to_timedelta(begun + down, unit="h"),
            "cause": "hardware",
            "detail": None,
            "scope": "node",
            "start_cut": False,
            "end_cut": False,
            "line": np.arange(begun.size) + 2,
        }
    )
    end = EPOCH + pd.Timedelta(hours=hours)
    population = pd.DataFrame(
        {
            "system": system,
            "node": names,
            "entered": EPOCH,
            "left": end,
            "entered_known": True,
            "left_known": True,
            "declared": True,
        }
    )
    return FailureLog(events, population, Window(EPOCH, end, True, True))
