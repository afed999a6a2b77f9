"""Replications of a simulation: spread over threads, and what they gave with intervals and percentiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.base.arrays import FloatArray
from relfit.base.numeric.batches import in_threads, processors

__all__ = ["PERCENTILES", "half_interval", "replicate", "summary"]

Run = TypeVar("Run")

PERCENTILES = (5, 25, 50, 75, 95)


def replicate(
    run: Callable[[int], Run],
    numbers: Sequence[int],
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Run]:
    """Call `run` with each number, on several threads; the results in the order of the numbers.

    Parameters
    ----------
    run : callable
        Must release the interpreter lock to gain from threads, and draw from a random stream of its own number.
    numbers : sequence of int
    workers : int, optional
        Threads; one per processor by default.
    progress : callable, optional
        Called after each run with how many are over.

    Examples
    --------
    >>> replicate(lambda number: number**2, range(4), workers=2)
    [0, 1, 4, 9]
    """
    results: dict[int, Run] = {}

    def one(number: int) -> None:
        results[number] = run(number)
        if progress is not None:
            progress(len(results))

    in_threads(one, numbers, workers or processors())
    return [results[number] for number in numbers]


def half_interval(values: npt.ArrayLike, level: float) -> FloatArray:
    """Half of Student's interval of the mean over the first axis; NaN where fewer than two values are numbers.

    Examples
    --------
    >>> round(float(half_interval([1.0, 2.0, 3.0], 0.95)), 3)
    2.484
    """
    values = np.asarray(values, dtype=np.float64)
    n = np.sum(~np.isnan(values), axis=0)
    mean = np.nansum(values, axis=0) / np.maximum(n, 1)
    sd = np.sqrt(np.nansum((values - mean) ** 2, axis=0) / np.maximum(n - 1, 1))
    return np.asarray(
        special.stdtrit(np.where(n > 1, n - 1.0, np.nan), 0.5 + 0.5 * level) * sd / np.sqrt(np.maximum(n, 1))
    )


def summary(rows: pd.DataFrame, level: float, *, least: float = -np.inf, shares: Sequence[str] = ()) -> pd.DataFrame:
    """One row per column of `rows` (one row per replication): mean with its interval, deviation, percentiles.

    Parameters
    ----------
    rows : pandas.DataFrame
        NaN in a replication that has no such quantity; it is left out of that column.
    level : float
        Of the intervals of the means.
    least : float
        Intervals end there, as at zero where nothing can be negative.
    shares : sequence of str
        Columns whose intervals end at one.

    Returns
    -------
    pandas.DataFrame
        ``mean``, ``sd``, ``low``, ``high``, ``p5``, ``p25``, ``p50``, ``p75``, ``p95``, ``min``, ``max``.
    """
    values = rows.astype(np.float64)
    mean, half = values.mean().to_numpy(), half_interval(values.to_numpy(), level)
    sd = values.std(ddof=1).to_numpy(copy=True)
    sd[values.count().to_numpy() == 1] = 0.0
    most = np.where(rows.columns.isin(shares), 1.0, np.inf)
    table = {"mean": mean, "sd": sd, "low": np.maximum(mean - half, least), "high": np.minimum(mean + half, most)}
    percentiles = values.quantile(np.array(PERCENTILES) / 100.0).to_numpy()
    table |= {f"p{percentile}": row for percentile, row in zip(PERCENTILES, percentiles, strict=True)}
    table |= {"min": values.min().to_numpy(), "max": values.max().to_numpy()}
    return pd.DataFrame(table, index=pd.Index(rows.columns, name="output"))
