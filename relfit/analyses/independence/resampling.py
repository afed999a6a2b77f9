"""Random logs that keep what is not tested: each node's own order, and where needed the rate over the calendar."""

from __future__ import annotations

import numpy as np
from scipy import special

from relfit.analyses.independence.series import NodeSeries
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.numeric.compiled import njit
from relfit.base.numeric.ragged import offsets_of
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.log.lifedata import LifeData

CALENDAR = 720.0  # hours: what changes more slowly is the rate over the calendar, what is faster is nodes together
PLAIN = 25  # random logs that reach what was seen, from which a p-value is plainly large (Besag and Clifford 1991)
_SHARE = 0.1  # of its time of observation, by which a node's failures move at most where the calendar is to stay
_DAY = int(24.0 * NANOSECONDS_PER_HOUR)
_LEAST_IN_BIN = 50  # failures from which a rate is estimated


def moved(failures: NodeSeries, rng: np.random.Generator, reach: float | None = None) -> IntArray:
    """Failure times of every node, all rotated over its observation by one random amount: the rate becomes constant.
    With `reach` (hours) they move by at most that, reflected at the ends: the rate over the calendar stays.
    """
    length = np.maximum(failures.left - failures.entered, 1)
    most = 0.5 * length if reach is None else np.minimum(reach * NANOSECONDS_PER_HOUR, _SHARE * length)
    by = rng.uniform(-most, most).astype(np.int64)
    out = np.empty_like(failures.times)
    _move(failures.times, failures.offsets, failures.entered, length, by, reach is None, out)
    if reach is None:
        only = failures.offsets[:-1][failures.sizes == 1]
        left = failures.left[failures.nodes[only]]
        ended = only[(left < failures.span) & (left - failures.times[only] <= _DAY)]
        if ended.size:
            observed = np.cumsum(length, dtype=np.float64)
            node = np.searchsorted(observed, rng.random(ended.size) * observed[-1], side="right")
            out[ended] = failures.entered[node] + (rng.random(ended.size) * length[node]).astype(np.int64)
    return out


@njit(cache=True, nogil=True)
def _move(
    times: np.ndarray,
    offsets: np.ndarray,
    entered: np.ndarray,
    length: np.ndarray,
    by: np.ndarray,
    around: bool,
    out: np.ndarray,
) -> None:
    """Write the times of each node moved `by` so much, `around` its time of observation or turned back at its ends."""
    for node in range(length.size):
        begin, size = entered[node], length[node]
        for i in range(offsets[node], offsets[node + 1]):
            at = times[i] - begin + by[node]
            if not around:
                at = min(abs(at), abs(2 * size - at))
            elif at < 0 or at >= size:
                at %= size
            out[i] = begin + at


def resampled_p(observed: float, drawn: FloatArray) -> float:
    """Probability of a value as high as `observed` among random logs; beyond all, by their first three moments."""
    reached = int(np.sum(drawn >= observed))
    share = (1.0 + reached) / (1.0 + drawn.size)
    away = drawn - drawn.mean()
    spread = float(np.sqrt(np.mean(away**2)))
    if reached or not spread > 1e-9 * abs(observed):
        return share
    skew = float(np.clip(np.mean((away / spread) ** 3), 0.0, 2.0))
    far = (observed - float(drawn.mean())) / spread
    size = 4.0 / max(skew, 1e-4) ** 2  # of the gamma distribution with this skewness (Pearson's third kind)
    return min(share, max(float(special.gammaincc(size, size + far * np.sqrt(size))), 1e-12))


def shared_alpha(p: FloatArray, alpha: float) -> FloatArray:
    """Size of each test such that all together have family-wise error `alpha` (Holm 1979); NaN is no test."""
    out = np.full(p.size, alpha)
    questions = int(np.isfinite(p).sum())
    for rank, i in enumerate(np.argsort(p)[:questions]):
        out[i] = alpha / (questions - rank)
        if p[i] > out[i]:
            out[np.argsort(p)[rank:questions]] = out[i]
            break
    return out


def steady_series(failures: NodeSeries) -> LifeData:
    """Times between the failures of each node, but the first, on a clock on which the fleet's rate is constant."""
    span, events = failures.span / NANOSECONDS_PER_HOUR, failures.once().times
    bins = int(max(min(span // CALENDAR, events.size // _LEAST_IN_BIN), 1))
    edges = np.linspace(0.0, failures.span, bins + 1)
    watched = np.array([np.clip(edge, failures.entered, failures.left).sum() for edge in edges])
    exposure = np.diff(watched - failures.entered.sum(dtype=np.float64))
    count = np.histogram(events, edges)[0] + 0.5
    rate = np.where(exposure > 0.0, count / np.where(exposure > 0.0, exposure, 1.0), 0.0)
    clock = np.concatenate([[0.0], np.cumsum(rate * np.diff(edges))])
    gap = np.diff(np.interp(failures.times, edges, clock / max(clock[-1], 1e-300) * span), prepend=0.0)
    later = np.ones(gap.size, dtype=np.bool_)
    later[failures.offsets[:-1][failures.sizes > 0]] = False
    offsets = offsets_of(np.maximum(failures.sizes - 1, 0))
    return LifeData(np.maximum(gap[later], 0.0), later[later], offsets, failures.groups)
