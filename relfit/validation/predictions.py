"""What a model predicts for jobs: by their size and placement, or by their nodes and the ages that these have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from relfit.arrays import FloatArray, IntArray
from relfit.errors import ArgumentError
from relfit.fleet.job_placement import Jobs, Nodes
from relfit.system import System

__all__ = ["predict"]


def predict(
    model: Any, nodes: Nodes, jobs: Mapping[str, Jobs], sizes: IntArray, lengths: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Reliabilities of jobs, and their standard errors as far as the model knows them.

    Parameters
    ----------
    model : System, or what has ``interval("reliability", lengths, size=, placement=, system=)``
    nodes : Nodes
    jobs : mapping of str to Jobs
        By placement.

    Returns
    -------
    reliability : ndarray, shape (jobs, placements, sizes, lengths)
        NaN for jobs that are not placed, or on a node that the model does not know.
    error : ndarray, shape (placements, sizes, lengths)

    Raises
    ------
    ArgumentError
        For anything else.
    """
    if isinstance(model, System):
        pairs = [_by_nodes(model, nodes, one, sizes, lengths, level) for one in jobs.values()]
    elif hasattr(model, "interval"):
        pairs = [_by_placement(model, nodes, name, one, sizes, lengths) for name, one in jobs.items()]
    else:
        raise ArgumentError(
            f"a {type(model).__name__} predicts no jobs", remedy="give a FleetModel, a System, or a function of a log"
        )
    return np.stack([p for p, _ in pairs], axis=1), np.stack([e for _, e in pairs])


def _by_placement(
    model: Any, nodes: Nodes, placement: str, jobs: Jobs, sizes: IntArray, lengths: FloatArray
) -> tuple[FloatArray, FloatArray]:
    found = [
        model.interval("reliability", lengths, size=int(size), placement=placement, system=nodes.system)
        for size in sizes
    ]
    value, low, high = (np.stack([getattr(f, end) for f in found]) for end in ("estimate", "low", "high"))
    there = (jobs.nodes[:, sizes - 1] >= 0)[:, :, None]
    return np.where(there, value, np.nan), _error(low, high, found[0].level)


def _by_nodes(
    system: System, nodes: Nodes, jobs: Jobs, sizes: IntArray, lengths: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    labels = nodes.labels
    short = labels.get_level_values(-1)
    known = pd.Index(system.names)
    place = known.get_indexer(labels if isinstance(known[0], tuple) else short)
    out = np.full((jobs.nodes.shape[0], sizes.size, lengths.size), np.nan)
    error: FloatArray | None = None
    for j, (mine, age) in enumerate(zip(jobs.nodes, jobs.age, strict=True)):
        positions = np.where(mine >= 0, place[mine], -1)
        count = int(np.argmax(positions < 0)) if (positions < 0).any() else positions.size
        if not count:
            continue
        job = system.take(positions[:count]).at_age(age[:count])
        fits = sizes <= count
        if error is None and fits.all():  # of one typical job
            error = _system_error(job, sizes, lengths, level)
        out[j, fits] = job.quantity_by_size("reliability", lengths)[sizes[fits] - 1]
    return out, np.zeros(out.shape[1:]) if error is None else error


def _system_error(job: System, sizes: IntArray, lengths: FloatArray, level: float) -> FloatArray:
    """Standard errors for one job; zero for a system that knows no uncertainty."""
    try:
        ends = [job.take(np.arange(k)).interval("reliability", lengths, level, n_draws=199) for k in sizes]
    except ArgumentError:
        return np.zeros((sizes.size, lengths.size))
    return _error(np.stack([e.low for e in ends]), np.stack([e.high for e in ends]), level)


def _error(low: FloatArray, high: FloatArray, level: float) -> FloatArray:
    return np.nan_to_num((high - low) / (2.0 * special.ndtri(0.5 + level / 2.0)))
