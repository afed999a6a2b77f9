"""`alike`: cells whose mean is like the best; `killed_jobs`: whether runs of batch jobs are over the same jobs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from relfit.base.arguments import share
from relfit.base.errors import ArgumentError
from relfit.base.text import number
from relfit.simulation.engine.replications import row_means


def alike(samples: pd.DataFrame, level: float, side: float, within: float | None = None) -> pd.DataFrame:
    """The row with the least mean times `side` and those like it: ``mean``, ``difference`` with ``low`` and ``high``.

    Examples
    --------
    >>> samples = pd.DataFrame([[1.0, 2.0, 3.0], [3.0, 4.0, 5.1], [1.1, 1.9, 3.0]])
    >>> alike(samples, 0.95, 1.0).index.tolist()
    [0, 2]
    """
    values = samples.to_numpy()
    mean = row_means(values, level)[1]
    if not np.isfinite(mean).any():
        raise ArgumentError("no run gave a finite number of it", remedy="look at the runs, or name another output")
    first = int(np.nanargmin(side * mean))
    each = 1.0 - (1.0 - level) / max(len(values) - 1, 1)
    _, difference, _, half = row_means(values - values[first], each)
    most = half if within is None else share("within", within) * abs(mean[first])
    close = ~(side * difference > most) & np.isfinite(difference)
    close[first] = True
    limits = {"low": difference - half, "high": difference + half}
    table = pd.DataFrame({"mean": mean, "difference": difference, **limits}, index=samples.index)[close]
    return table.iloc[np.argsort(side * table["mean"].to_numpy(), kind="stable")]


def killed_jobs(runs: pd.DataFrame) -> str:
    """How many jobs were killed at their walltime on average, if that differs between cells; their ends differ then.

    Examples
    --------
    >>> killed_jobs(pd.DataFrame({"cell": ["a", "b"], "killed_at_walltime": [190, 365]}))
    '; by cell, 190 to 365 jobs are killed at their walltime'
    """
    if "killed_at_walltime" not in runs:
        return ""
    means = runs.groupby("cell")["killed_at_walltime"].mean()
    low, high = means.min(), means.max()
    return f"; by cell, {number(low)} to {number(high)} jobs are killed at their walltime" if high > low else ""
