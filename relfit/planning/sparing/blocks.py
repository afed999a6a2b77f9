"""Mean time between failures of blocks, the probability that a zone runs out of them, and the spares it needs.

Source: sparing paper, appendix A (with the summation bounds of its first derivation; those of its last line are a
misprint) and appendix B (where 1 - P^B is a misprint).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arguments import durations, share, whole
from relfit.base.arrays import Durations, FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.results import Result
from relfit.base.text import count, percent


def time_to_exhaust(
    trays: npt.ArrayLike, spare_trays: npt.ArrayLike, mtbf_tray: Durations, mttr: Durations
) -> FloatArray:
    r"""Mean hours from no failed tray to one more than the spare trays; infinite beyond what a float can hold.

    With n of K trays failed, the next fails at the rate :math:`\lambda_n = (K - n)/MTBF_T`, and one repair of rate
    :math:`\mu = 1/MTTR` restores the block. The paper's sum over elementary symmetric polynomials is the product
    :math:`\frac{1}{\mu} \left[\prod_{n=0}^J (1 + \mu/\lambda_n) - 1\right]`.
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


def block_mtbf(
    trays: npt.ArrayLike, spare_trays: npt.ArrayLike, mtbf_tray: Durations, mtbf_rack: Durations, mttr: Durations
) -> FloatArray:
    """MTBF of a block, which fails when its spare trays run out or its rack fails.

    Parameters
    ----------
    trays, spare_trays : array_like of int
        Trays per block (K), and spare ones among them (J); J below K.
    mtbf_tray, mtbf_rack, mttr : array_like of float
        Hours. All broadcast.

    Returns
    -------
    ndarray
        Hours; infinite if nothing fails.

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


def unavailability(mtbf: Durations, mttr: Durations) -> FloatArray:
    """Share of time that a block is in repair, MTTR / (MTTR + MTBF), both in hours, of shapes that broadcast."""
    up, down = np.broadcast_arrays(np.asarray(mtbf, dtype=np.float64), np.asarray(mttr, dtype=np.float64))
    ratio = np.divide(up, down, out=np.full(up.shape, np.inf), where=down > 0.0)
    return np.asarray(1.0 / (1.0 + ratio))


@dataclass(frozen=True, eq=False)
class SharedRacks:
    """Racks that take all `blocks` (a divisor of a zone's) down for `share_down` of the time, and fail `rate` times per
    hour (only used at reduced size); arrays broadcast.
    """

    blocks: FloatArray
    share_down: FloatArray
    rate: FloatArray | float = 0.0

    def own(self, share_down: npt.ArrayLike) -> FloatArray:
        """Probability that a block is down while its rack is up, if it is down for `share_down` of all time."""
        q, rack = np.asarray(share_down, dtype=np.float64), self.share_down
        return np.asarray(np.clip((q - rack) / np.maximum(1.0 - rack, 1e-300), 0.0, 1.0))


def blocking_probability(
    blocks: npt.ArrayLike, spare_blocks: npt.ArrayLike, share_down: npt.ArrayLike, racks: SharedRacks | None = None
) -> FloatArray:
    """Probability that more blocks of a zone are down than it has spares.

    Independent blocks: P(N > R), N binomial(L, q). Blocks in shared racks: the sum over the number of racks down, which
    take all their blocks down, of the binomial of the other blocks.

    Parameters
    ----------
    blocks, spare_blocks : array_like of int
        Blocks per zone (L), and spare ones (R).
    share_down : array_like of float
        Share of time that a block is down (q). All three broadcast.
    racks : SharedRacks, optional
        By default each block has its own rack, as in the paper.

    Returns
    -------
    ndarray
        From survival functions, so that small probabilities keep all their digits.

    Notes
    -----
    Source: sparing paper, equation 4 and appendix B.

    Examples
    --------
    >>> blocking_probability(256, [4, 22, 200], 24 / 550.3).tolist()  # doctest: +ELLIPSIS
    [0.98789..., 0.00094854..., 1.3547...e-218]

    Ten racks of twenty blocks: seven spares do not cover the failure of one rack.

    >>> blocking_probability(200, 7, 0.0082, SharedRacks(20, 0.00498)).round(3).tolist()
    0.049
    """
    if racks is None:
        return _above(spare_blocks, blocks, share_down)
    # more racks are down than the spares replace
    above = _above(np.floor_divide(spare_blocks, racks.blocks), np.divide(blocks, racks.blocks), racks.share_down)
    return np.minimum(above + _over_racks(_above, spare_blocks, blocks, share_down, racks), 1.0)


def blocks_down(
    number: npt.ArrayLike, blocks: npt.ArrayLike, share_down: npt.ArrayLike, racks: SharedRacks | None = None
) -> FloatArray:
    """Probability that exactly `number` blocks of a zone are down; other arguments as for `blocking_probability`."""
    if racks is None:
        return _binomial(number, blocks, share_down)
    return _over_racks(_binomial, number, blocks, share_down, racks)


def _over_racks(
    law: Callable[[FloatArray, FloatArray, FloatArray], FloatArray],
    number: npt.ArrayLike,
    count: npt.ArrayLike,
    share_down: npt.ArrayLike,
    racks: SharedRacks,
) -> FloatArray:
    """Sum over the racks down, with up to `number` blocks, of their probability times the law of all other blocks; a
    case ends beyond its mean number of racks, once further terms are lost in rounding.
    """
    values = (number, count, racks.own(share_down), racks.blocks, racks.share_down)
    arrays = np.broadcast_arrays(*(np.asarray(value, np.float64) for value in values))
    shape, (k, n, own, size, rack) = arrays[0].shape, (value.ravel() for value in arrays)
    total, cases, down = np.zeros(k.shape), np.arange(k.size), 0
    while cases.size:
        weight = _binomial(down, n[cases] / size[cases], rack[cases])
        at = cases[weight > 0.0]
        gone = down * size[at]
        total[at] += weight[weight > 0.0] * law(k[at] - gone, n[at] - gone, own[at])
        down += 1
        more = (weight > 1e-18 * total[cases]) | (down <= n[cases] * rack[cases] / size[cases] + 1.0)
        cases = cases[more & (down * size[cases] <= k[cases])]
    return total.reshape(shape)


def _above(most: object, count: object, q: object) -> FloatArray:
    """P(N > most) of a binomial."""
    n, r, p = (np.asarray(value, dtype=np.float64) for value in (count, most, q))
    inside = (r < n) & (r >= 0.0)
    tail = special.betainc(np.where(inside, r + 1.0, 1.0), np.where(inside, n - r, 1.0), p)
    return np.asarray(np.where(inside, tail, np.where(r < 0.0, 1.0, 0.0)))


def _binomial(k: object, count: object, q: object) -> FloatArray:
    """P(N = k) of a binomial; 0 for an impossible k."""
    x, n, p = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in (k, count, q)))
    there = (x >= 0.0) & (x <= n)
    x, n = np.where(there, x, 0.0), np.where(there, n, 0.0)
    log = special.gammaln(n + 1.0) - special.gammaln(x + 1.0) - special.gammaln(n - x + 1.0)
    return np.where(there, np.exp(log + special.xlogy(x, p) + special.xlog1py(n - x, -p)), 0.0)


def job_blocked(blocking: object, zones: object) -> FloatArray:
    """Probability that at least one of the zones is out of spares: 1 - (1 - P)^B (equation 7 as corrected)."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(np.asarray(zones) * np.log1p(-np.asarray(blocking, dtype=np.float64))))


class SparesNeeded(Result):
    """Spare blocks per zone that keep the probability of blocking at or below a limit; arrays of one shape.

    Attributes
    ----------
    spare_blocks : ndarray of int
        From the exact distribution; -1 if no number of spares is enough.
    poisson : ndarray of int
        From the paper's Poisson approximation; -1 as above.
    probability : ndarray
        Probability that the job is blocked with `spare_blocks`.
    blocks : ndarray of int
        Blocks per zone, spares included.
    limit : ndarray
        Highest allowed probability of blocking, for the job over all zones.
    zones : int
        Zones of the job.
    """

    spare_blocks: IntArray
    poisson: IntArray
    probability: FloatArray
    blocks: IntArray
    limit: FloatArray
    zones: int

    _frame = ("blocks", "limit", "spare_blocks", "poisson", "probability")

    @property
    def headline(self) -> str:
        """The spare blocks needed, for the first case."""
        first = int(self.spare_blocks.ravel()[0])
        if first < 0:
            return "No number of spare blocks keeps blocking that low."
        return (
            f"{count(first, 'spare block')} of {int(self.blocks.ravel()[0])} per zone: the job is blocked "
            f"{percent(float(self.probability.ravel()[0]))} of the time; the Poisson approximation asks for "
            f"{int(self.poisson.ravel()[0])}."
        )


def spare_blocks_needed(
    mtbf: Durations,
    mttr: Durations,
    limit: object,
    *,
    blocks: npt.ArrayLike,
    zones: int = 1,
    racks: npt.ArrayLike | None = None,
    mtbf_rack: Durations = np.inf,
) -> SparesNeeded:
    """Spare blocks per zone that keep the job's probability of blocking at or below a limit.

    Parameters
    ----------
    mtbf, mttr : duration, or array of these
        Of a block (see `block_mtbf`), hours or text.
    limit : array_like of float
        Highest allowed probability that any of the zones is out of spares.
    blocks : array_like of int
        Blocks per zone, spares included.
    zones : int
        Zones of the job.
    racks : array_like of int, optional
        Racks per zone, if racks have several blocks and take them down together. By default each block has its own
        rack.
    mtbf_rack : duration, or array of these
        Of a rack, with `racks`; by default racks never fail.

    Raises
    ------
    ArgumentError
        For an invalid value, blocks that do not divide into the racks, or a block that fails less often than its rack.

    Notes
    -----
    Bisection on the survival function. The Poisson approximation has the mean L MTTR / MTBF (end of appendix B) and
    ignores racks.

    Examples
    --------
    >>> needed = spare_blocks_needed(526.3, 24, 0.01, blocks=256, zones=4)
    >>> needed.spare_blocks.tolist(), needed.poisson.tolist()
    (21, 22)

    Blocks of one tray, twenty of them in each of ten racks:

    >>> found = spare_blocks_needed(
    ...     block_mtbf(1, 0, 1500, 1000, 5), 5, 0.001, blocks=200, racks=10, mtbf_rack=1000
    ... )
    >>> int(found.spare_blocks), int(found.poisson)
    (40, 7)
    """
    up, down = durations("mtbf", mtbf, zero=False, infinite=True), durations("mttr", mttr)
    highest, zones = share("limit", limit, zero=False), int(whole("zones", zones))
    count = whole("blocks", blocks)
    up, down, highest, total = np.broadcast_arrays(up, down, highest, count)
    q, shared = unavailability(up, down), None
    if racks is not None:
        number, rack = whole("racks", racks), durations("mtbf_rack", mtbf_rack, zero=False, infinite=True)
        if np.any(count % number):
            raise ArgumentError("the blocks of a zone do not divide into its racks", remedy="look at blocks and racks")
        if np.any(up > rack):
            what = "a block fails less often than its rack"
            raise ArgumentError(what, remedy="give the mtbf that block_mtbf returns")
        shared = SharedRacks(total / number, unavailability(rack, down))

    def exact(spare: FloatArray) -> FloatArray:
        return job_blocked(blocking_probability(total, spare, q, shared), zones)

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
    """Smallest integer up to `most` at which `probability` is at most `limit`; -1 if there is none."""
    low, high = np.full(most.shape, -1.0), most.copy()  # above the limit at low, at or below it at high
    none = probability(most) > limit
    while np.any(high - low > 1.0):
        middle = np.floor(0.5 * (low + high))
        inside = middle > low
        enough = inside & (probability(np.maximum(middle, 0.0)) <= limit)
        high, low = np.where(enough, middle, high), np.where(inside & ~enough, middle, low)
    return np.asarray(np.where(none, -1, high), dtype=np.int64)
