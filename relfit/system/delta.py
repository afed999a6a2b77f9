"""Variances of a system's quantities by the delta method: derivatives summed within each fit before they are squared.

Nodes that share a fit are wrong together. With ``g_s`` the sum of a source's derivatives and ``C_s`` its covariance,
the variance of the system's cumulative hazard is the sum of ``g_s' C_s g_s`` over the sources; nodes of a pooled fleet
share the doubt about the fleet's mean besides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relfit.system.draws import joined
from relfit.system.gradients import further_hazard, rate
from relfit.system.hazards import total_cumulative_hazard
from relfit.system.solving import time_of_log_hazard
from relfit.system.sources import Source
from relfit.system.variance_kernels import prefix_integral_variances, prefix_variances

if TYPE_CHECKING:
    from relfit.system.system import System

__all__ = ["deviation", "deviation_of_mean", "deviation_of_quantile", "prefix_deviation", "prefix_mean_deviation"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Slopes = Callable[..., tuple[FloatArray, FloatArray]]

_CELLS_AT_ONCE = 1_000_000
_TOTALS_AT_ONCE = 8_000_000
_LEAST, _MOST = 1e-7, 200.0  # cumulative hazards between which the mean is integrated
_POINTS = 160


@dataclass(frozen=True, eq=False)
class _Roots:
    """Roots of the covariances of one source: ``own @ own.T`` for each fit, ``shared`` for what they have in common."""

    source: Source
    own: FloatArray
    shared: FloatArray | None

    @classmethod
    def of(cls, source: Source) -> _Roots:
        covariance, shared = source.covariance()
        values, vectors = np.linalg.eigh(covariance)
        own = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        return cls(source, own, None if shared is None else shared.weight[:, :, None] * shared.root)


def deviation(sources: list[Source], quantity: str, time: FloatArray, hazard: FloatArray | None = None) -> FloatArray:
    """Standard deviation of a quantity of the whole system at times of shape (m,).

    Parameters
    ----------
    sources : list of Source
    quantity : {"cumulative_hazard", "hazard", "log_pdf"}
    time : ndarray, shape (m,)
    hazard : ndarray, shape (m,), optional
        Failure rate of the system, for the log of the density.
    """
    function: Slopes = further_hazard if quantity == "cumulative_hazard" else rate
    if quantity == "log_pdf":
        assert hazard is not None
        known = dict(zip(time.tolist(), hazard.tolist(), strict=True))

        def function(kind: Any, free: Any, age: Any, at: Any) -> tuple[FloatArray, FloatArray]:
            spent, by_spent = further_hazard(kind, free, age, at)
            _, by_rate = rate(kind, free, age, at)
            return spent, by_rate / np.array([known[t] for t in at.tolist()])[:, None] - by_spent

    total = np.zeros(time.size)
    for source in sources:
        roots = _Roots.of(source)
        width = max(1, _TOTALS_AT_ONCE // (source.n_sources * source.free.shape[1]))
        for begin in range(0, time.size, width):
            part = slice(begin, begin + width)
            total[part] += _variance(roots, function, time[part], None)[0]
    return np.sqrt(total)


def _variance(
    roots: _Roots, function: Slopes, time: FloatArray, weight: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Variance at each time, or of sums over times with weights of shape (m, q)."""
    source = roots.source
    of_node, ages, counts, _ = joined(source)
    m = time.size if weight is None else weight.shape[1]
    k = source.free.shape[1]
    total = np.zeros((source.n_sources, m, k))
    step = max(1, _CELLS_AT_ONCE // (time.size * k))
    for begin in range(0, of_node.size, step):
        part = slice(begin, begin + step)
        _, slope = function(source.family, source.free[of_node[part]], ages[part], time)
        slope = slope * counts[part, None, None]
        if weight is not None:
            slope = np.einsum("nxk,xq->nqk", slope, weight)
        first = np.flatnonzero(np.diff(of_node[part], prepend=-1))
        total[of_node[part][first]] += np.add.reduceat(slope, first, axis=0)
    with np.errstate(invalid="ignore"):
        own = (np.einsum("smk,skj->smj", total, roots.own) ** 2).sum(axis=(0, 2))
        if roots.shared is not None:
            own = own + (np.einsum("smk,skj->mj", total, roots.shared) ** 2).sum(axis=1)
    return own, total


def deviation_of_quantile(system: System, sources: list[Source], time: FloatArray) -> FloatArray:
    """Standard deviation of the time at which the cumulative hazard reaches what it is at `time`, shape (m,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return deviation(sources, "cumulative_hazard", time) / system.hazard(time)


def deviation_of_mean(system: System, sources: list[Source], until: float = np.inf) -> float:
    """Standard deviation of the mean time to failure, or of the shorter of that time and `until`.

    The integral of the reliability moves with the hazard at x by minus the reliability there; it is taken on the log
    scale of time, where Weibull reliabilities of any shape are smooth.
    """
    time, weight = _quadrature(system, until)
    pull = -weight * np.exp(-system.cumulative_hazard(time))
    total = sum(float(_variance(_Roots.of(s), further_hazard, time, pull[:, None])[0][0]) for s in sources)
    return float(np.sqrt(total))


def times_of_hazard(system: System, spent: FloatArray) -> FloatArray:
    """When the system's cumulative hazard reaches `spent`; infinite where it never does."""

    def log_hazard(_: npt.NDArray[np.intp], time: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(system.cumulative_hazard(time))

    return time_of_log_hazard(log_hazard, np.log(spent))


def _quadrature(system: System, until: float) -> tuple[FloatArray, FloatArray]:
    """Times and weights for integrals of the reliability times what vanishes at both ends."""
    ends = times_of_hazard(system, np.array([_LEAST, 1.0, 45.0, _MOST]))
    high = min(float(ends[3] if np.isfinite(ends[3]) else ends[2]), until)
    low = min(max(float(ends[0]), float(ends[1]) * 1e-12), 1e-6 * high)
    s, w = np.polynomial.legendre.leggauss(_POINTS)
    # half of the points up to the time at which the hazard is one, half beyond
    middle = min(float(ends[1]), 0.5 * high)
    edges = np.log([low, middle, high])
    half = 0.5 * np.diff(edges)
    u = np.concatenate([edges[i] + half[i] * (1.0 + s) for i in range(2)])
    time = np.exp(u)
    return time, np.concatenate([half[i] * w for i in range(2)]) * time


# ------------------------------------------------------------------- first k nodes


def prefix_deviation(sources: list[Source], order: IntArray, quantity: str, time: FloatArray) -> FloatArray:
    """Standard deviation of the cumulative hazard, or the rate, of the first k nodes of `order`, shape (K, m)."""
    function: Slopes = further_hazard if quantity == "cumulative_hazard" else rate
    more = np.zeros((order.size, time.size))
    for source in sources:
        roots = _Roots.of(source)
        rank, node = _in_order(source, order)
        k = source.free.shape[1]
        total = np.zeros((source.n_sources, time.size, k))
        common = np.zeros((1, time.size, k))
        step = max(1, _CELLS_AT_ONCE // (time.size * k))
        for begin in range(0, node.size, step):
            nodes = node[begin : begin + step]
            of_node = source.of_node[nodes]
            _, slope = function(source.family, source.free[of_node], source.ages[nodes], time)
            part = np.zeros((nodes.size, time.size))
            prefix_variances(np.einsum("nmk,nkj->nmj", slope, roots.own[of_node]), of_node, total, part)
            if roots.shared is not None:
                along = np.einsum("nmk,nkj->nmj", slope, roots.shared[of_node])
                prefix_variances(along, np.zeros_like(of_node), common, part)
            more[rank[begin : begin + step]] += part
    return np.sqrt(np.maximum(np.cumsum(more, axis=0), 0.0))


def prefix_mean_deviation(system: System, sources: list[Source], order: IntArray) -> FloatArray:
    """Standard deviation of the mean time to failure of the first k nodes of `order`, for every k, shape (K,)."""
    one, whole = system.take(order[:1]), system.take(order)
    first = times_of_hazard(one, np.array([1.0, 36.0]))
    last = times_of_hazard(whole, np.array([1e-3, 1.0]))
    low, high = np.log(last[0] * 1e-2 if last[0] > 0.0 else last[1] * 1e-6), np.log(first[1])
    # the step must resolve the steepest reliability on the log scale
    probe = np.exp(np.linspace(low, high, 40))
    with np.errstate(divide="ignore", invalid="ignore"):
        steep = [float(np.nanmax(probe * s.hazard(probe) / s.cumulative_hazard(probe))) for s in (one, whole)]
    m = int(np.clip((high - low) / min(0.35, 0.7 / max(*steep, 1.0)), 40, 400))
    u = np.linspace(low, high, m)
    time = np.exp(u)
    weight = time * (u[1] - u[0])
    k = max(source.free.shape[1] for source in sources)
    slot, base = np.zeros(system.n_nodes, dtype=np.int64), 0
    kinds = []
    for number, source in enumerate(sources):
        slot[source.positions] = base + source.of_node
        base += source.n_sources
        kinds.append((number, _Roots.of(source)))
    total, hazard, covariance = np.zeros((base + 1, m, k)), _common(system, time), np.zeros((m, m))
    shared_total, shared = np.zeros((m, k, len(sources))), np.zeros(order.size)
    variance = np.empty(order.size)
    step = max(1, _CELLS_AT_ONCE // (m * k))
    place = np.full(system.n_nodes, -1, dtype=np.int64)
    for begin in range(0, order.size, step):
        chunk = order[begin : begin + step]
        value, slope = np.zeros((chunk.size, m)), np.zeros((chunk.size, m, k))
        along = np.zeros((chunk.size, m, k, len(sources))) if any(r.shared is not None for _, r in kinds) else None
        for number, roots in kinds:
            source = roots.source
            place[:] = -1
            place[source.positions] = np.arange(source.positions.size)
            rows = np.flatnonzero(place[chunk] >= 0)
            nodes = place[chunk][rows]
            of_node = source.of_node[nodes]
            own = source.free.shape[1]
            found, by = further_hazard(source.family, source.free[of_node], source.ages[nodes], time)
            value[rows] = found
            slope[rows, :, :own] = np.einsum("nmk,nkj->nmj", by, roots.own[of_node])
            if along is not None and roots.shared is not None:
                along[rows, :, :own, number] = np.einsum("nmk,nkj->nmj", by, roots.shared[of_node])
        before = hazard.copy()
        prefix_integral_variances(
            value, slope, slot[chunk], weight, hazard, total, covariance, variance[begin : begin + step]
        )
        if along is not None:
            pull = weight * np.exp(-(before + np.cumsum(value, axis=0)))
            sums = shared_total + np.cumsum(along, axis=0)
            shared_total = sums[-1]
            shared[begin : begin + step] = (np.einsum("nm,nmkq->nkq", pull, sums) ** 2).sum(axis=(1, 2))
    return np.sqrt(np.maximum(variance + shared, 0.0))


def _common(system: System, time: FloatArray) -> FloatArray:
    """Cumulative hazard of the causes that end the job whatever its nodes."""
    common = system.common
    return np.zeros(time.size) if common is None else total_cumulative_hazard(common.components, common.ages, time)


def _in_order(source: Source, order: IntArray) -> tuple[IntArray, IntArray]:
    """Ranks within `order` of the nodes of a source, and which of its nodes these are."""
    size = int(max(order.max(), source.positions.max())) + 1
    place = np.full(size, -1, dtype=np.int64)
    place[source.positions] = np.arange(source.positions.size)
    rank = np.flatnonzero(place[order] >= 0)
    return rank, place[order][rank]
