"""Means of dependent observations: blocks of time are resampled, since what lies in one block is not independent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.arrays import FloatArray, IntArray

__all__ = ["BlockMeans", "block_means", "effective_sizes", "wilson"]


@dataclass(frozen=True, eq=False)
class BlockMeans:
    """Means with limits, arrays of one shape.

    Attributes
    ----------
    mean, low, high, error : ndarray of float
        ``error`` is the standard error over the resampled blocks.
    blocks : ndarray of int
        Blocks that hold any observation.
    """

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    error: FloatArray
    blocks: IntArray


def block_means(
    values: FloatArray,
    counts: FloatArray,
    level: float = 0.95,
    n_resamples: int = 999,
    rng: int | np.random.Generator | None = 0,
) -> BlockMeans:
    """Ratios of sums over blocks, with limits by resampling blocks with replacement.

    The limits are the mean plus and minus a quantile of Student's t (blocks minus one degrees of freedom) times the
    standard error over the replicates, corrected by ``blocks / (blocks - 1)``, since percentiles are too narrow when
    blocks are few (Davison and Hinkley 1997, sections 2.3 and 8.2).

    Parameters
    ----------
    values, counts : ndarray, shape (blocks, ...)
        Sum of the observations in each block, and how many there are.
    level : float
    n_resamples : int
    rng : int or numpy.random.Generator, optional

    Examples
    --------
    >>> means = block_means(np.array([3.0, 5.0, 4.0, 4.0]), np.full(4, 10.0), rng=1)
    >>> round(float(means.mean), 2), bool(0.2 < means.low < 0.4 < means.high < 0.6)
    (0.4, True)
    """
    blocks = values.shape[0]
    flat_values, flat_counts = values.reshape(blocks, -1), counts.reshape(blocks, -1)
    weights = np.random.default_rng(rng).multinomial(blocks, np.full(blocks, 1.0 / blocks), size=n_resamples)
    used = (flat_counts > 0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = flat_values.sum(axis=0) / flat_counts.sum(axis=0)
        # the deviation of each replicate, linear in the blocks, so that empty replicates need no rule
        deviation = (flat_values - mean * flat_counts) / (flat_counts.sum(axis=0) / blocks)
        replicates = weights @ deviation / blocks
        error = np.sqrt((replicates**2).mean(axis=0) * used / (used - 1.0))
        reach = special.stdtrit(np.maximum(used - 1.0, 1.0), 0.5 + level / 2) * error
    shape = values.shape[1:]
    usable = used > 1
    low, high = np.where(usable, mean - reach, np.nan), np.where(usable, mean + reach, np.nan)
    return BlockMeans(
        mean.reshape(shape), low.reshape(shape), high.reshape(shape), error.reshape(shape), used.reshape(shape)
    )


def wilson(
    share: npt.ArrayLike, size: npt.ArrayLike, level: float = 0.95, degrees: npt.ArrayLike = np.inf
) -> tuple[FloatArray, FloatArray]:
    """Limits of a proportion among `size` independent observations (Wilson 1927).

    `size` need not be whole: for dependent observations give the number of independent ones that they are worth, and as
    `degrees` the degrees of freedom that this worth was estimated with.

    Examples
    --------
    >>> low, high = wilson(0.9, 50)
    >>> round(float(low), 3), round(float(high), 3)
    (0.786, 0.957)
    """
    p, n = np.asarray(share, dtype=np.float64), np.asarray(size, dtype=np.float64)
    z = special.stdtrit(np.minimum(np.maximum(np.asarray(degrees, dtype=np.float64), 1.0), 1e9), 0.5 + level / 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n)
        half = z / (1.0 + z * z / n) * np.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n))
    return np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)


def effective_sizes(successes: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How many independent outcomes the dependent ones are worth, by the variance of their share between blocks.

    Where all outcomes are alike there is no variance to go by; they are taken to be as dependent as the most dependent
    of the others, and worth one per block if there are no others.

    Parameters
    ----------
    successes, counts : ndarray, shape (blocks, cells)

    Returns
    -------
    size, degrees : ndarray, shape (cells,)
        Between one and the count; and the degrees of freedom of the variance, blocks with any outcome minus one.

    Examples
    --------
    Outcomes that are all alike within a block are worth one per block:

    >>> size, degrees = effective_sizes(np.array([[10.0], [0.0], [10.0], [0.0]]), np.full((4, 1), 10.0))
    >>> size.round(1).tolist(), degrees.tolist()
    ([3.0], [3.0])
    """
    used = (counts > 0).sum(axis=0).astype(np.float64)
    total = counts.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = successes.sum(axis=0) / total
        spread = ((successes - mean * counts) ** 2).sum(axis=0) * used / (used - 1.0) / total**2
        each = np.maximum(spread / (mean * (1.0 - mean) / total), 1.0)  # how many outcomes are worth one
    known = (mean > 0.0) & (mean < 1.0) & (used > 1)
    most = float(each[known].max()) if known.any() else np.inf
    with np.errstate(invalid="ignore"):
        size = np.where(known, total / np.where(known, each, 1.0), np.maximum(total / most, np.minimum(used, total)))
    return np.maximum(size, np.minimum(total, 1.0)), np.maximum(used - 1.0, 1.0)
