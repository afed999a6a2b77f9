"""How often blocks fail, how often a zone runs out of them, and how many spares it needs.

Source: sparing paper, appendix A (with the summation bounds of its first derivation; those of its last line are a
misprint) and appendix B (where 1 - P^B is a misprint).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from relfit.arguments import durations, share, whole
from relfit.arrays import FloatArray, IntArray
from relfit.results import Result
from relfit.text import percent

__all__ = [
    "SparesNeeded",
    "block_mtbf",
    "blocking_probability",
    "job_blocked",
    "spare_blocks_needed",
    "time_to_exhaust",
    "unavailability",
]


def time_to_exhaust(trays: Any, spare_trays: Any, mtbf_tray: Any, mttr: Any) -> FloatArray:
    r"""Mean time from no failed tray to one more than there are spares.

    With n trays failed, the next fails at the rate :math:`\lambda_n = (K - n)/MTBF_T`, and one repair of rate
    :math:`\mu = 1/MTTR` restores the block. The paper's sum over elementary symmetric polynomials is a product:

    .. math:: \xi = \sum_{k=0}^J \mu^k e_{k+1}(1/\lambda_0, \ldots, 1/\lambda_J)
              = \frac{1}{\mu} \left[\prod_{n=0}^J (1 + \mu/\lambda_n) - 1\right]

    Parameters
    ----------
    trays, spare_trays : array_like of int
        K and J; J below K.
    mtbf_tray, mttr : array_like
        Hours. All four broadcast.

    Returns
    -------
    ndarray
        Hours; infinite beyond what a float can hold.

    Examples
    --------
    >>> time_to_exhaust(36, [0, 1, 2], 20_000, 24).round(1).tolist()
    [555.6, 14354.5, 366768.6]
    """
    k, j, life, repair = np.broadcast_arrays(
        *(np.asarray(value, dtype=np.float64) for value in (trays, spare_trays, mtbf_tray, mttr))
    )
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        log_product = np.zeros(k.shape)
        for n in range(int(j.max(initial=0.0)) + 1):
            log_product += np.where(n <= j, np.log1p(life / (np.maximum(k - n, 1.0) * repair)), 0.0)
        time = np.expm1(log_product) * repair
        # immediate repairs: only a block without spare trays can fail
        return np.asarray(np.where(repair == 0.0, np.where(j == 0.0, life / k, np.inf), time))


def block_mtbf(trays: Any, spare_trays: Any, mtbf_tray: Any, mtbf_rack: Any, mttr: Any) -> FloatArray:
    """MTBF of a block: its spare trays run out, or its rack fails.

    Parameters
    ----------
    trays, spare_trays : array_like of int
    mtbf_tray, mtbf_rack, mttr : array_like
        Hours. All broadcast.

    Returns
    -------
    ndarray
        Hours; infinite when nothing fails.

    Notes
    -----
    Source: sparing paper, equation 3 as corrected: ``1/MTBF = 1/MTBF_R + 1/xi``. The time until spares run out is not
    exponential, so adding its rate to that of the rack is an approximation (exact without spare trays).

    Examples
    --------
    >>> block_mtbf(36, [0, 4], 20_000, 10_000, 24).round(1).tolist()
    [526.3, 9999.6]
    """
    with np.errstate(divide="ignore"):
        rate = 1.0 / np.asarray(mtbf_rack, dtype=np.float64)
        return np.asarray(1.0 / (rate + 1.0 / time_to_exhaust(trays, spare_trays, mtbf_tray, mttr)))


def unavailability(mtbf: Any, mttr: Any) -> FloatArray:
    """Share of time that a block is in repair, MTTR / (MTTR + MTBF); hours in, any shapes that broadcast.

    Examples
    --------
    >>> unavailability(976.0, 24.0).round(3).tolist()
    0.024
    """
    up, down = np.broadcast_arrays(np.asarray(mtbf, dtype=np.float64), np.asarray(mttr, dtype=np.float64))
    ratio = np.divide(up, down, out=np.full(up.shape, np.inf), where=down > 0.0)
    return np.asarray(1.0 / (1.0 + ratio))


def blocking_probability(blocks: Any, spare_blocks: Any, share_down: Any) -> FloatArray:
    """Probability that more blocks of a zone are down than it has spares: P(N > R), N binomial(L, q).

    Parameters
    ----------
    blocks, spare_blocks : array_like of int
        L and R.
    share_down : array_like
        q, the share of time that a block is down. All three broadcast.

    Returns
    -------
    ndarray
        From the survival function itself, not as one minus a sum: small probabilities keep all their digits.

    Notes
    -----
    Source: sparing paper, equation 4 and appendix B.

    Examples
    --------
    >>> blocking_probability(256, [4, 22, 200], 24 / 550.3).tolist()  # doctest: +ELLIPSIS
    [0.98789..., 0.00094854..., 1.3547...e-218]
    """
    count, spare = np.asarray(blocks, dtype=np.float64), np.asarray(spare_blocks, dtype=np.float64)
    q = np.asarray(share_down, dtype=np.float64)
    inside = spare < count
    tail = special.betainc(np.where(inside, spare + 1.0, 1.0), np.where(inside, count - spare, 1.0), q)
    return np.asarray(np.where(inside, tail, 0.0))


def job_blocked(blocking: Any, zones: Any) -> FloatArray:
    """Probability that at least one of the zones is out of spares: 1 - (1 - P)^B (equation 7 as corrected).

    Examples
    --------
    >>> job_blocked(1e-18, 4).tolist()
    4e-18
    """
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(np.asarray(zones) * np.log1p(-np.asarray(blocking, dtype=np.float64))))


@dataclass(frozen=True, eq=False, repr=False)
class SparesNeeded(Result):
    """Spare blocks per zone that keep the probability of blocking at or below a limit; arrays of one shape.

    Attributes
    ----------
    spare_blocks : ndarray of int
        By the binomial distribution; -1 where no number of spares is enough.
    poisson : ndarray of int
        By the paper's Poisson approximation; -1 as above.
    probability : ndarray
        Blocking with these spares.
    blocks : ndarray of int
        Blocks per zone, spares included.
    limit : ndarray
        Highest probability of blocking allowed, for the whole job of all zones.
    zones : int
    """

    spare_blocks: IntArray
    poisson: IntArray
    probability: FloatArray
    blocks: IntArray
    limit: FloatArray
    zones: int

    @property
    def headline(self) -> str:
        """The answer; of the first case where there are several."""
        first = int(self.spare_blocks.ravel()[0])
        if first < 0:
            return "No number of spare blocks keeps blocking that low."
        return (
            f"{first} spare blocks of {int(self.blocks.ravel()[0])} per zone: the job is blocked "
            f"{percent(float(self.probability.ravel()[0]))} of the time; the Poisson approximation asks for "
            f"{int(self.poisson.ravel()[0])}."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per case."""
        names = ("blocks", "limit", "spare_blocks", "poisson", "probability")
        return pd.DataFrame({name: np.broadcast_to(getattr(self, name), self.limit.shape).ravel() for name in names})


def spare_blocks_needed(mtbf: Any, mttr: Any, limit: Any, *, blocks: Any, zones: int = 1) -> SparesNeeded:
    """Spare blocks per zone that keep the job's probability of blocking at or below a limit.

    Parameters
    ----------
    mtbf, mttr : array_like or duration
        Of a block (`block_mtbf`), hours.
    limit : array_like
        Highest probability that any of the zones is out of spares.
    blocks : array_like of int
        Blocks per zone, spares included.
    zones : int
        Zones of the job.

    Returns
    -------
    SparesNeeded

    Raises
    ------
    ArgumentError
        For a value that cannot be.

    Notes
    -----
    By bisection on the survival function, which falls as spares are added; all cases at once. The Poisson approximation
    has the mean L MTTR / MTBF (end of appendix B).

    Examples
    --------
    >>> needed = spare_blocks_needed(526.3, 24, 0.01, blocks=256, zones=4)
    >>> needed.spare_blocks.tolist(), needed.poisson.tolist()
    (21, 22)
    """
    up, down = durations("mtbf", mtbf, zero=False, infinite=True), durations("mttr", mttr)
    highest, zones = share("limit", limit, zero=False), int(whole("zones", zones))
    up, down, highest, total = np.broadcast_arrays(up, down, highest, whole("blocks", blocks))
    q = unavailability(up, down)

    def exact(spare: FloatArray) -> FloatArray:
        return job_blocked(blocking_probability(total, spare, q), zones)

    def poisson(spare: FloatArray) -> FloatArray:
        return job_blocked(special.gammainc(spare + 1.0, total * down / up), zones)

    most = (total - 1).astype(np.float64)
    spares = _first_below(exact, most, highest)
    return SparesNeeded(
        spare_blocks=spares,
        poisson=_first_below(poisson, most, highest),
        probability=np.where(spares < 0, np.nan, exact(np.maximum(spares, 0).astype(np.float64))),
        blocks=np.array(total),
        limit=np.array(highest),
        zones=zones,
    )


def _first_below(probability: Callable[[FloatArray], FloatArray], most: FloatArray, limit: FloatArray) -> IntArray:
    """Smallest whole number up to `most` at which `probability` is at most `limit`; -1 where there is none."""
    low, high = np.full(most.shape, -1.0), most.copy()  # above the limit at low, at or below it at high
    none = probability(most) > limit
    while np.any(high - low > 1.0):
        middle = np.floor(0.5 * (low + high))
        inside = middle > low
        enough = inside & (probability(np.maximum(middle, 0.0)) <= limit)
        high, low = np.where(enough, middle, high), np.where(inside & ~enough, middle, low)
    return np.asarray(np.where(none, -1, high), dtype=np.int64)
