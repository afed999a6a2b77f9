"""Classes of jobs by width and by length, and which share of a workload is in each."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from relfit.base.errors import ArgumentError
from relfit.base.text import duration
from relfit.base.units import hours
from relfit.io.workloads.workload import Workload

LENGTHS = ("1min", "1h", "6h", "12h", "1D")
"""Run times at which one class of lengths ends and the next begins."""


def width_classes(nodes: object) -> pd.Categorical[str]:
    """Jobs by powers of two of their nodes: ``[1,2)``, ``[2,4)``, ``[4,8)``, ...

    Parameters
    ----------
    nodes : array_like of int, shape (jobs,)

    Examples
    --------
    >>> width_classes([1, 3, 4]).tolist()
    ['[1,2)', '[2,4)', '[4,8)']
    """
    octave = np.floor(np.log2(np.asarray(nodes, dtype=np.float64))).astype(np.int64)
    names = [f"[{2**k},{2 ** (k + 1)})" for k in range(int(octave.max(initial=0)) + 1)]
    return pd.Categorical.from_codes(octave, pd.Index(names), ordered=True)


def length_classes(seconds: object) -> pd.Categorical[str]:
    """Jobs by run time, in six classes with the bounds `LENGTHS`.

    Parameters
    ----------
    seconds : array_like of float, shape (jobs,)
        Run times. A job whose run time is a bound belongs to the class above it.

    References
    ----------
    The dissertation on reliability-aware allocation, chapter 5, classes A to F.

    Examples
    --------
    >>> length_classes([30.0, 3600.0, 90_000.0]).tolist()
    ['under 1 minute', '1 hour to 6 hours', 'from 24 hours']
    """
    ends = [hours(limit) for limit in LENGTHS]
    shown = [duration(end) for end in ends]
    middle = [f"{low} to {high}" for low, high in pairwise(shown)]
    names = [f"under {shown[0]}", *middle, f"from {shown[-1]}"]
    codes = np.searchsorted(3600.0 * np.array(ends), np.asarray(seconds, dtype=np.float64), side="right")
    return pd.Categorical.from_codes(codes, pd.Index(names), ordered=True)


def shares(workload: Workload, weight: str = "jobs") -> pd.DataFrame:
    """Shares of a workload by run time and number of nodes.

    Parameters
    ----------
    workload : Workload
        A job that reaches its walltime is as long as its walltime.
    weight : {"jobs", "work"}
        Share of the jobs, or of their node-hours.

    Returns
    -------
    pandas.DataFrame
        One row per class of lengths, one column per class of widths; all add up to 1.

    References
    ----------
    Exploring the trade-off between repair time and reliability, Figures 5 and 6.

    Examples
    --------
    >>> jobs = Workload([1, 2], [0.0, 60.0], [1, 4], [7200.0, 30.0])
    >>> shares(jobs).loc["1 hour to 6 hours", "[1,2)"]
    np.float64(0.5)
    """
    if weight not in ("jobs", "work"):
        raise ArgumentError(f"weight is {weight!r}", remedy="use jobs or work")
    length = length_classes(np.minimum(workload.run_time, workload.requested))
    part = np.ones(len(workload)) if weight == "jobs" else workload.node_seconds
    frame = pd.DataFrame({"length": length, "nodes": width_classes(workload.nodes), "share": part / part.sum()})
    return frame.pivot_table("share", "length", "nodes", aggfunc="sum", observed=False, fill_value=0.0)
