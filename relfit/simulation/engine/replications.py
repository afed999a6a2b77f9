"""Replications of a simulation: spread over threads, and their results with intervals and percentiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.base.arguments import share
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.batches import in_threads, worker_number

Run = TypeVar("Run")

PERCENTILES = (5, 25, 50, 75, 95)


def replicate(
    run: Callable[[int], Run],
    numbers: Sequence[int],
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Run]:
    """Call `run` with each number, on several threads; the results in the order of the numbers.

    To gain from threads `run` must release the interpreter lock; each number must have its own random stream.
    `progress` is called after each run with the number of finished runs.
    """
    results: dict[int, Run] = {}

    def one(number: int) -> None:
        results[number] = run(number)
        if progress is not None:
            progress(len(results))

    in_threads(one, numbers, worker_number(workers))
    return [results[number] for number in numbers]


def half_interval(values: npt.ArrayLike, level: float) -> FloatArray:
    """Half of Student's interval of the mean over the first axis; NaN where fewer than two values are numbers."""
    return np.asarray(row_means(np.moveaxis(np.asarray(values, dtype=np.float64), 0, -1), level)[3])


def row_means(values: FloatArray, level: float) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Per row the number of values (NaN is none), their mean and standard deviation, half of the mean's interval."""
    n = np.sum(~np.isnan(values), axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(values, axis=-1) / n
        freedom = np.where(n > 1, n - 1.0, np.nan)
        sd = np.sqrt(np.nansum((values - mean[..., None]) ** 2, axis=-1) / freedom)
        return n, mean, sd, special.stdtrit(freedom, 0.5 + 0.5 * level) * sd / np.sqrt(n)


def row_statistics(samples: pd.DataFrame, level: float) -> pd.DataFrame:
    """Per row ``runs`` (NaN is none), ``mean``, ``sd``, ``low``, ``high``, percentiles, ``min`` and ``max``."""
    values = np.sort(samples.to_numpy(dtype=np.float64), axis=1)  # NaN last
    n, mean, sd, half = row_means(values, level)
    table = {"runs": n, "mean": mean, "sd": sd, "low": mean - half, "high": mean + half}
    padded = values if values.shape[1] else np.full((len(values), 1), np.nan)
    rows, last = np.arange(len(n)), np.maximum(n - 1, 0)
    for percent in PERCENTILES:
        at = last * (percent / 100.0)
        below = np.floor(at).astype(np.int64)
        low, high = padded[rows, below], padded[rows, np.minimum(below + 1, last)]
        table[f"p{percent}"] = low + (at - below) * (high - low)
    table |= {"min": padded[:, 0], "max": padded[rows, last]}
    return pd.DataFrame(table, index=samples.index)


def summary(rows: pd.DataFrame, level: float, *, least: float = -np.inf, shares: Sequence[str] = ()) -> pd.DataFrame:
    """The columns of `row_statistics` but ``runs``, one row per column of `rows`, which has one row per replication.

    Intervals of the means end at `least`, as zero for what cannot be negative, and those of the columns `shares` at
    one.
    """
    table = row_statistics(rows.T, level).rename_axis("output")
    table.loc[table.pop("runs") == 1, "sd"] = 0.0
    most = np.where(table.index.isin(shares), 1.0, np.inf)
    return table.assign(low=table["low"].clip(lower=least), high=np.minimum(table["high"], most))


def alike(samples: pd.DataFrame, level: float, side: float, within: float | None = None) -> pd.DataFrame:
    """The row with the least mean times `side` and those like it: ``mean``, ``difference``, ``low`` and ``high``."""
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
