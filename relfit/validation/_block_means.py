"""Means of dependent observations: blocks of time are resampled, since what lies in one block is not independent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.arrays import FloatArray

__all__ = ["Differences", "effective_sizes", "mean_differences", "wilson"]


@dataclass(frozen=True, eq=False)
class Differences:
    """Means that should be zero, arrays of shape (cells,), judged together.

    Attributes
    ----------
    mean, error : ndarray of float
        The standard error has what is between blocks, and what was known beforehand.
    critical : float
        How many standard errors the largest of all means may be from zero.
    p : float
        How often the largest is as far from zero, or farther, if all are zero.
    """

    mean: FloatArray
    error: FloatArray
    critical: float
    p: float


def mean_differences(
    sums: FloatArray,
    counts: FloatArray,
    known_error: FloatArray,
    least_error: FloatArray,
    level: float = 0.95,
    n_resamples: int = 999,
    rng: int | np.random.Generator | None = 0,
) -> Differences:
    """Means over blocks, with a test that all are zero.

    The largest of the studentised means is compared with what it is when the deviations of whole blocks are multiplied
    by normal variables (Wu 1986), divided by the root of a chi-square for the error's own uncertainty. So however many
    cells there are, and however they depend on each other, one of them is called off by chance in one minus `level` of
    the cases (Romano and Wolf 2005).

    Parameters
    ----------
    sums, counts : ndarray, shape (blocks, cells)
        Sum of the differences in each block, and how many there are.
    known_error : ndarray, shape (cells,)
        Standard error of what the differences are taken from; the same error in all cells.
    least_error : ndarray, shape (cells,)
        What the blocks cannot go below, however alike they are.

    Examples
    --------
    >>> noise = np.random.default_rng(1).standard_normal((20, 3))
    >>> found = mean_differences(noise + [0.0, 0.0, 2.0], np.ones((20, 3)), np.zeros(3), np.zeros(3))
    >>> (np.abs(found.mean) > found.critical * found.error).tolist(), found.p
    ([False, False, True], 0.001)
    """
    generator = np.random.default_rng(rng)
    blocks = sums.shape[0]
    used = np.maximum((counts > 0).sum(axis=0), 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(counts.sum(axis=0) > 0, sums.sum(axis=0) / counts.sum(axis=0), 0.0)
        deviation = (sums - mean * counts) / np.maximum(counts.sum(axis=0) / blocks, 1e-300)
    grow = used / (used - 1.0)

    spread = (deviation**2).mean(axis=0) * grow / blocks
    error = np.sqrt(np.maximum(spread, least_error**2) + known_error**2)
    shift = generator.standard_normal((n_resamples, blocks)) @ (deviation * np.sqrt(grow)) / blocks
    noise = known_error * generator.standard_normal((n_resamples, 1))
    noise = noise + np.sqrt(np.maximum(least_error**2 - spread, 0.0)) * generator.standard_normal(shift.shape)
    doubt = np.sqrt(generator.chisquare(blocks - 1.0, (n_resamples, 1)) / (blocks - 1.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        largest = np.nan_to_num(np.abs(shift + noise) / error / doubt).max(axis=1)
        seen = float(np.nan_to_num(np.abs(mean) / error).max())
    p = (1.0 + float((largest >= seen).sum())) / (n_resamples + 1.0)
    return Differences(mean, error, float(np.quantile(largest, level, method="higher")), p)


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
