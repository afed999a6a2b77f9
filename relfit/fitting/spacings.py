"""Maximum product of spacings: parameters that spread the failures most evenly over the distribution function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from relfit.families import Family
from relfit.fitting import status
from relfit.fitting.estimators import (
    Codes,
    FloatArray,
    IntArray,
    beyond_ranks,
    core_family,
    existence,
    plain_part,
    settled,
)
from relfit.fitting.general import log_moments
from relfit.lifedata import LifeData
from relfit.numeric.newton import maximise

__all__ = ["Spacings", "log_spacing", "maximum_product_of_spacings"]

_CLOSE = 1e-7  # relative distance of two times below which their spacing is density times distance


def _log_one_minus_exp(value: FloatArray) -> FloatArray:
    """Log of ``1 - exp(value)`` for `value` at or below zero."""
    return np.where(value > -0.69, np.log(-np.expm1(value)), np.log1p(-np.exp(value)))


def log_spacing(distribution: Family, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Log of the probability to fail in ``(lower, upper]``, accurate in both tails and for close times."""
    above, beyond = distribution.log_sf(lower), distribution.log_sf(upper)
    with np.errstate(all="ignore"):
        late = np.where(beyond == -np.inf, above, above + _log_one_minus_exp(np.minimum(beyond - above, 0.0)))
        below, within = distribution.log_cdf(lower), distribution.log_cdf(upper)
        early = within + _log_one_minus_exp(np.minimum(below - within, 0.0))
        middle = np.where(upper < np.inf, 0.5 * (lower + upper), 1.0)
        close = distribution.log_pdf(middle) + np.log(np.where(upper < np.inf, upper - lower, 1.0))
    value = np.where((above > -0.7) & (upper < np.inf), early, late)
    return np.where((upper - lower < _CLOSE * upper) & (upper < np.inf), close, value)


@dataclass(frozen=True, eq=False)
class Spacings:
    """Sum of log spacings of `family` in its free coordinates, for every group of plain lives.

    Between zero, the distinct failure times and infinity there is a spacing each. Of failures that tie, all but one add
    the log of the density instead (Cheng and Amin 1983), as do failures at zero; right-censored lives add the log of
    the survival.
    """

    family: type[Family]
    lives: LifeData
    lower: FloatArray
    upper: FloatArray
    owner: IntArray
    ties: FloatArray
    tie_owner: IntArray
    tie_count: FloatArray
    limits: FloatArray
    limit_owner: IntArray
    limit_count: FloatArray

    @classmethod
    def of(cls, family: type[Family], lives: LifeData) -> Spacings:
        """Spacings of lives that are observed or right-censored, with weights."""
        code = lives.group_codes()
        weights = np.ones(code.size, dtype=np.int64) if lives.weights is None else lives.weights
        kept = lives.observed & (weights > 0)
        owner, times, count = code[kept], lives.durations[kept], weights[kept]
        order = np.lexsort((times, owner))
        owner, times, count = owner[order], times[order], count[order]
        new = np.ones(owner.size, dtype=bool)
        new[1:] = (owner[1:] != owner[:-1]) | (times[1:] != times[:-1])
        starts = np.flatnonzero(new)
        owner, times = owner[starts], times[starts]
        count = np.add.reduceat(count, starts) if starts.size else count
        extra = count - (times > 0.0)
        tied = extra > 0
        positive = times > 0.0
        group, upper = owner[positive], times[positive]
        first = np.ones(group.size, dtype=bool)
        first[1:] = group[1:] != group[:-1]
        lower = np.where(first, 0.0, np.append(0.0, upper[:-1])[: upper.size])
        last = np.append(first[1:], True)[: group.size]
        rows = np.concatenate([group, group[last]])
        low, high = np.concatenate([lower, upper[last]]), np.concatenate([upper, np.full(int(last.sum()), np.inf)])
        order = np.lexsort((low, rows))
        cut = ~lives.observed & (weights > 0) & (lives.durations > 0.0)
        return cls(
            family,
            lives,
            low[order],
            high[order],
            rows[order],
            times[tied],
            owner[tied],
            extra[tied].astype(np.float64),
            lives.durations[cut],
            code[cut],
            weights[cut].astype(np.float64),
        )

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self.lives.n_groups

    def take(self, positions: IntArray) -> Spacings:
        """The groups at these positions, in this order."""
        return Spacings.of(self.family, self.lives.take(positions))

    def __call__(self, free: FloatArray) -> FloatArray:
        """Sum of log spacings at free coordinates of shape (trials, groups, k), shape (trials, groups)."""
        parameters = self.family.from_free(free)
        total = np.zeros(free.shape[:2])
        lower, upper, ties, limits = self.lower, self.upper, self.ties, self.limits
        with np.errstate(all="ignore"):
            self._add(total, parameters, self.owner, None, lambda d: log_spacing(d, lower, upper))
            self._add(total, parameters, self.tie_owner, self.tie_count, lambda d: d.log_pdf(ties))
            self._add(total, parameters, self.limit_owner, self.limit_count, lambda d: d.log_sf(limits))
        total[~np.isfinite(total) | ~np.isfinite(free).all(axis=-1)] = -np.inf
        return total

    def _add(
        self,
        total: FloatArray,
        parameters: FloatArray,
        owner: IntArray,
        count: FloatArray | None,
        value: Callable[[Family], npt.NDArray[np.float64]],
    ) -> None:
        if not owner.size:
            return
        rows = parameters[:, owner, :]
        found = value(self.family.unchecked(*(rows[..., i] for i in range(rows.shape[-1]))))
        starts = np.flatnonzero(np.concatenate([[True], owner[1:] != owner[:-1]]))
        total[:, owner[starts]] += np.add.reduceat(found if count is None else found * count, starts, axis=1)


def maximum_product_of_spacings(lives: LifeData, family: str | type[Family]) -> tuple[FloatArray, Codes]:
    """Estimate by the largest product of spacings (Cheng and Amin 1983, Ranneby 1984).

    Where the likelihood may be unbounded this still has a maximum. In small samples the Weibull's shape comes out too
    low (on average 0.98, 0.93 and 0.94 of the truth for 5, 10 and 20 complete lives) where that of maximum likelihood
    is too high. For ties, zeros and censoring see `Spacings`.

    Parameters
    ----------
    lives : LifeData
        Hours. Groups with intervals or truncation are ``not_applicable``.
    family : str or type
        A core family.

    Returns
    -------
    parameters : ndarray of float, shape (groups, k)
    codes : ndarray of int8, shape (groups,)
        Two parameters need two distinct failure times: ``too_few`` for one failure, ``no_variance`` for a tie.

    Raises
    ------
    ArgumentError
        For a family that is not a core family.

    Examples
    --------
    >>> parameters, codes = maximum_product_of_spacings(LifeData.from_array([30.0, 49.0, 82.0, 90.0, 96.0]), "weibull")
    >>> parameters.round(3).tolist(), codes.tolist()
    ([[2.1, 79.732]], [0])
    """
    chosen = core_family(family)
    apart = beyond_ranks(lives)
    part = plain_part(lives, apart)
    codes = existence(chosen, part)
    codes[apart] = status.NOT_APPLICABLE
    parameters = np.full((lives.n_groups, len(chosen.parameter_names())), np.nan)
    good = np.flatnonzero(codes == status.OK)
    if good.size:
        wanted = part.take(good)
        with np.errstate(over="ignore", invalid="ignore"):
            if parameters.shape[1] == 1:
                first = (wanted.n_failures / wanted.total_time)[:, None]
            else:
                first = chosen.start(*log_moments(wanted))
            maximum = maximise(Spacings.of(chosen, wanted), chosen.to_free(first), tolerance=1e-11)
        parameters[good] = chosen.from_free(maximum.free)
        codes[good[~maximum.found]] = status.NOT_CONVERGED
    return settled(parameters, codes)
