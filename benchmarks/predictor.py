"""The calls by which the checks ask relfit for predictions, so that a change of its functions touches one place."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import relfit as rf

__all__ = ["LEVEL", "ask_forecast", "ask_jobs", "ask_nodes", "cut", "log_of_table"]

LEVEL = 0.9


def ask_forecast(log: rf.FailureLog, days: tuple[int, ...]) -> dict[int, tuple[float, float, float]]:
    """Expected failures over each horizon, and the limits of the prediction interval."""
    total = rf.forecast(log, tuple(f"{d}d" for d in days), level=LEVEL).total.set_index("horizon")
    columns = ["failures", "failures_low", "failures_high"]
    return {d: tuple(float(v) for v in total.loc[24.0 * d, columns]) for d in days}  # type: ignore[misc]


def ask_jobs(log: rf.FailureLog, sizes: tuple[int, ...]) -> dict[int, tuple[float, float, float]]:
    """Probability that a job on so many consecutive nodes runs through 24 hours, and its limits."""
    model = rf.fleet_model(log, level=LEVEL)
    answers = {}
    for size in sizes:
        one = model.interval("reliability", "24h", size=size, placement="packed")
        answers[size] = (float(one.estimate), float(one.low), float(one.high))
    return answers


def ask_nodes(log: rf.FailureLog) -> pd.Series:
    """Failure rates of the nodes that are still there, by label."""
    model = rf.fleet_model(log)
    names = [str(name[-1]) for name in model.places.nodes]
    return pd.Series(np.asarray(model.node_rates), index=names)[np.asarray(model.standing.present)]


def cut(log: rf.FailureLog, origin: pd.Timestamp) -> rf.FailureLog:
    """The log as its owner has it at this instant, and nothing of what follows."""
    part = log.between(None, origin)
    if len(part.events) and part.events[["start", "end"]].max().max() > origin:
        raise AssertionError("the cut log holds an instant after its end")
    if (part.population["left"] > origin).any() or (part.population["entered"] >= origin).any():
        raise AssertionError("the cut log knows of nodes that come or go after its end")
    return part


def log_of_table(table: pd.DataFrame, **keywords: Any) -> rf.FailureLog:
    """A table of events, read from a file as its owner would have it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.csv")
        table.to_csv(path, index=False)
        return rf.read(path, **keywords)
