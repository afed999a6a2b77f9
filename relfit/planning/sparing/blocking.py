"""Probability that a zone runs out of spare blocks, and how many it needs (appendix B of the sparing paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.arguments import durations, share, whole
from relfit.errors import ArgumentError

__all__ = [
    "SparesNeeded",
    "blocking_probability",
    "job_blocked",
    "log_blocking_probability",
    "poisson_blocking",
    "spare_blocks_needed",
    "unavailability",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_SMALL = 1e-280  # below it the logarithm comes from a series
_TERMS = 100_000


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
    found = special.betainc(np.where(inside, spare + 1.0, 1.0), np.where(inside, count - spare, 1.0), q)
    return np.asarray(np.where(inside, found, 0.0))


def log_blocking_probability(blocks: Any, spare_blocks: Any, share_down: Any) -> FloatArray:
    """Natural logarithm of `blocking_probability`, also where that is below the smallest float.

    Examples
    --------
    >>> log_blocking_probability(9216, 4000, 1e-3).round(1).tolist()
    -21340.1
    """
    count, spare, q = np.broadcast_arrays(
        np.asarray(blocks, dtype=np.float64), np.asarray(spare_blocks, dtype=np.float64), np.asarray(share_down, float)
    )
    shape = count.shape
    plain = np.atleast_1d(blocking_probability(count, spare, q))
    count, spare, q = (np.reshape(a, plain.shape) for a in (count, spare, q))
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        found = np.log(plain)
        rare = (plain < _SMALL) & (spare < count) & (q > 0.0)
        if not rare.any():
            return found.reshape(shape)
        n, k, p = count[rare], spare[rare] + 1.0, q[rare]
        first = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
        first = first + special.xlogy(k, p) + special.xlog1py(n - k, -p)
        total, term, j = np.ones_like(n), np.ones_like(n), k
        for _ in range(_TERMS):  # ratios of successive terms fall, and are below one out here
            term = term * np.maximum(n - j, 0.0) / (j + 1.0) * (p / (1.0 - p))
            total, j = total + term, j + 1.0
            if (term <= 1e-17 * total).all():
                break
        found[rare] = first + np.log(total)
    return found.reshape(shape)


def poisson_blocking(blocks: Any, spare_blocks: Any, mtbf: Any, mttr: Any) -> FloatArray:
    """The paper's Poisson approximation: P(N > R), N Poisson with mean L MTTR / MTBF (end of appendix B)."""
    mean = (
        np.asarray(blocks, dtype=np.float64) * np.asarray(mttr, dtype=np.float64) / np.asarray(mtbf, dtype=np.float64)
    )
    return np.asarray(special.gammainc(np.asarray(spare_blocks, dtype=np.float64) + 1.0, mean))


def job_blocked(blocking: Any, zones: Any) -> FloatArray:
    """Probability that at least one of the zones is out of spares: 1 - (1 - P)^B.

    Source: sparing paper, equation 7, where 1 - P^B is a misprint.

    Examples
    --------
    >>> job_blocked(1e-18, 4).tolist()
    4e-18
    """
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(np.asarray(zones) * np.log1p(-np.asarray(blocking, dtype=np.float64))))


@dataclass(frozen=True, eq=False)
class SparesNeeded:
    """Spare blocks a zone that keep the probability of blocking at or below a limit; arrays of one shape.

    Attributes
    ----------
    spare_blocks : ndarray of int
        By the binomial distribution; -1 where no number of spares is enough.
    poisson : ndarray of int
        By the paper's Poisson approximation; -1 as above.
    probability, one_less : ndarray
        Blocking with these spares, and with one less (1 where there is none).
    blocks : ndarray of int
        Blocks a zone, spares included.
    limit : ndarray
        The limit asked for, for the whole job of all zones.
    zones : int
    """

    spare_blocks: IntArray
    poisson: IntArray
    probability: FloatArray
    one_less: FloatArray
    blocks: IntArray
    limit: FloatArray
    zones: int

    @property
    def sentence(self) -> str:
        """The answer in words; of the first case where there are several."""
        first = int(self.spare_blocks.ravel()[0])
        if first < 0:
            return "No number of spare blocks keeps blocking that low."
        near = int(self.poisson.ravel()[0])
        return (
            f"{first} spare blocks of {int(self.blocks.ravel()[0])} a zone: the job is blocked "
            f"{100 * float(self.probability.ravel()[0]):.3g} % of the time; the Poisson approximation asks for {near}."
        )

    def to_frame(self) -> pd.DataFrame:
        """A row a case."""
        names = ("blocks", "limit", "spare_blocks", "poisson", "probability", "one_less")
        return pd.DataFrame({name: np.broadcast_to(getattr(self, name), self.limit.shape).ravel() for name in names})

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"zones": self.zones, "rows": self.to_frame().to_dict("records"), "sentence": self.sentence}

    def __repr__(self) -> str:
        return f"SparesNeeded: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(self.sentence)}</p>{self.to_frame().to_html(index=False, float_format='{:.4g}'.format)}"


def spare_blocks_needed(
    mtbf: Any, mttr: Any, limit: Any, *, blocks: Any = None, working: Any = None, zones: int = 1
) -> SparesNeeded:
    """Spare blocks a zone that keep the job's probability of blocking at or below a limit.

    Parameters
    ----------
    mtbf, mttr : array_like or duration
        Of a block (`block_mtbf`), hours.
    limit : array_like
        Highest probability that any of the zones is out of spares.
    blocks : array_like of int, optional
        Blocks a zone, spares included: more spares then mean fewer working blocks.
    working : array_like of int, optional
        Working blocks a zone, instead: spares then come on top.
    zones : int
        Zones of the job.

    Returns
    -------
    SparesNeeded

    Raises
    ------
    ArgumentError
        When both or neither of `blocks` and `working` are given, or a value cannot be.

    Notes
    -----
    By bisection on the survival function, which falls as spares are added; all cases at once.

    Examples
    --------
    >>> needed = spare_blocks_needed(526.3, 24, 0.01, blocks=256, zones=4)
    >>> needed.spare_blocks.tolist(), needed.poisson.tolist()
    (21, 22)
    """
    if (blocks is None) == (working is None):
        raise ArgumentError("give either blocks or working", remedy="blocks counts the spares, working does not")
    up, down = durations("mtbf", mtbf, zero=False, infinite=True), durations("mttr", mttr)
    highest = share("limit", limit, zero=False)
    total = whole("blocks" if working is None else "working", blocks if working is None else working)
    zones = int(whole("zones", zones))
    up, down, highest, base = np.broadcast_arrays(up, down, highest, total)
    on_top = working is not None
    q = unavailability(up, down)

    def exact(spare: FloatArray) -> FloatArray:
        return job_blocked(blocking_probability(base + spare if on_top else base, spare, q), zones)

    def poisson(spare: FloatArray) -> FloatArray:
        return job_blocked(poisson_blocking(base + spare if on_top else base, spare, up, down), zones)

    most = np.where(on_top, 64 * base + 1000, base - 1).astype(np.float64)
    found = _first_below(exact, most, highest)
    near = _first_below(poisson, most, highest)
    kept = np.maximum(found, 0).astype(np.float64)
    return SparesNeeded(
        found,
        near,
        np.where(found < 0, np.nan, exact(kept)),
        np.where(found > 0, exact(np.maximum(kept - 1.0, 0.0)), 1.0),
        np.asarray(np.where(on_top, base + kept, base), dtype=np.int64),
        np.array(highest),
        zones,
    )


def _first_below(probability: Any, most: FloatArray, limit: FloatArray) -> IntArray:
    """Smallest whole number up to `most` at which `probability` is at most `limit`; -1 where there is none."""
    low, high = np.full(most.shape, -1.0), most.copy()  # above the limit at low, at or below it at high
    none = probability(most) > limit
    while np.any(high - low > 1.0):
        middle = np.floor(0.5 * (low + high))
        inside = middle > low
        enough = inside & (probability(np.maximum(middle, 0.0)) <= limit)
        high, low = np.where(enough, middle, high), np.where(inside & ~enough, middle, low)
    return np.asarray(np.where(none, -1, high), dtype=np.int64)
