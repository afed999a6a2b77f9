"""The engine of all quantities: the probability that a job on the first k nodes still runs, for every k or for all.

The nodes' conditional cumulative hazards are summed along the order. With a tolerance, a recursion over the nodes gives
the distribution of the number of failed nodes. Events of racks and common causes are added.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray
from relfit.base.numeric.batches import over_groups
from relfit.base.numeric.compiled import njit
from relfit.fitting.families.distribution import HEAVIEST
from relfit.system.checked_nodes import CommonCause, Component, Racks

CELLS = 2_000_000
"""Largest number of entries of a matrix of times by nodes."""

Factors = tuple[FloatArray, FloatArray] | None
"""Of the hazards of common causes (rows, causes), and of racks (rows,), where they are drawn."""
_STEEP = 1e6  # stands for an infinite tail index in sums


def node_hazards(
    components: Sequence[Component], ages: FloatArray, x: FloatArray, *, rates: bool = False, count: int | None = None
) -> FloatArray:
    """Conditional cumulative hazards (or failure rates per hour) of nodes given their ages, shape ``(*x, n)``."""
    size = ages.size if count is None else count
    out, time = np.empty((*x.shape, size)), x[..., None]
    for component in components:
        family, where = component.family, component.positions
        if size < ages.size:
            family, where = family[where < size], where[where < size]
        with np.errstate(over="ignore", under="ignore"):
            if rates:
                out[..., where] = family.hazard(ages[where] + time)
            else:
                out[..., where] = family.conditional_cumulative_hazard(time, ages[where])
    return out


def node_tails(components: Sequence[Component], size: int) -> FloatArray:
    """Tail index of every node (`Distribution.tail_index`), cut at a million so that sums stay finite."""
    out = np.empty((*components[0].family.batch_shape[:-1], size))
    for component in components:
        out[..., component.positions] = component.family.tail_index()
    return np.minimum(out, _STEEP)


@dataclass(frozen=True, eq=False)
class FailureRule:
    """The rule by which failures of nodes, events of racks and common causes end a job; fields as in `System`."""

    tolerance: int
    common: CommonCause | None
    racks: Racks | None
    rack_events: str

    @property
    def racks_count(self) -> bool:
        """Whether events of racks count as failures of their nodes."""
        return self.tolerance > 0 and self.racks is not None and self.rack_events == "nodes"

    def combine(
        self,
        x: FloatArray,
        spent: FloatArray,
        rates: FloatArray | None = None,
        *,
        every: bool = False,
        factors: Factors = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Log reliability of the job, and its failure rate per hour given that it runs, shape (r, n) or (r, 1).

        At times x (r,), in hours, from the nodes' conditional cumulative hazards `spent` (r, n), which may be
        overwritten, and failure rates `rates`; without these no rate is computed. With `every` for the first k nodes,
        for every k. `factors` multiply the hazards of common causes, (r, causes), and of racks, (r,).
        """
        n_nodes = spent.shape[1]
        if self.tolerance:
            log_alive, rate = self._counted(x, spent, rates, every, factors)
            more: tuple[FloatArray, FloatArray] = (np.zeros_like(log_alive), np.zeros_like(rate))
            self._add_others(x, *more, every, n_nodes, factors)
            return log_alive - more[0].cumsum(axis=1), rate + more[1].cumsum(axis=1)
        rate = np.empty((x.size, 0)) if rates is None else rates
        if not every:
            spent, rate = spent.sum(axis=1, keepdims=True), rate.sum(axis=1, keepdims=True)[:, : rate.shape[1]]
        self._add_others(x, spent, rate, every, n_nodes, factors)
        np.cumsum(spent, axis=1, out=spent)
        return np.negative(spent, out=spent), np.cumsum(rate, axis=1) if rate.size else rate

    def _add_others(
        self, x: FloatArray, spent: FloatArray, rate: FloatArray, every: bool, n_nodes: int, factors: Factors
    ) -> None:
        """Add hazards of racks and common causes at the nodes that expose the job to them, in place."""
        for cause, out in ((False, spent), *(((True, rate),) if rate.size else ())):
            if self.common is not None:
                hazards = node_hazards(self.common.components, self.common.ages, x, rates=cause)
                hazards = hazards if factors is None else hazards * factors[0]
                shares = self.common.node_shares(n_nodes)
                if every:
                    at = np.flatnonzero(shares.any(axis=0))
                    out[:, at] += hazards @ shares[:, at]
                else:
                    out += hazards @ shares.sum(axis=1, keepdims=True)
            if self.racks is not None and not self.racks_count:
                shares = self.racks.node_shares(n_nodes)
                at = np.flatnonzero(shares)
                hazards = node_hazards(self.racks.components, self.racks.ages, x, rates=cause)
                hazards = hazards[:, self.racks.of_node[at]] * shares[at]
                hazards = hazards if factors is None else hazards * factors[1][:, None]
                if every:
                    out[:, at] += hazards
                else:
                    out += hazards.sum(axis=1, keepdims=True)

    def _counted(
        self, x: FloatArray, spent: FloatArray, rates: FloatArray | None, every: bool, factors: Factors
    ) -> tuple[FloatArray, FloatArray]:
        size = spent.shape[1]
        rate = np.empty((0, size)) if rates is None else rates
        order, blocks = np.arange(size), np.array([0, size])
        rack_spent = rack_rate = np.zeros((x.size, 1))
        if self.racks_count and self.racks is not None:
            order = np.argsort(self.racks.of_node, kind="stable")
            used, first = np.unique(self.racks.of_node[order], return_index=True)
            blocks = np.append(first, size)
            by = 1.0 if factors is None else factors[1][:, None]
            rack_spent, rack_rate = (
                np.ascontiguousarray(
                    node_hazards(self.racks.components, self.racks.ages, x, rates=wanted)[:, used] * by
                )
                for wanted in (False, True)
            )
        out = np.empty((x.size, size if every else 1)), np.empty((x.size, size if every else 1))
        work = np.arange(x.size + 1, dtype=np.int64) * (size * (self.tolerance + 2))
        given = spent, rate, order, blocks, rack_spent, rack_rate, self.tolerance, every, *out
        over_groups(work, lambda a, b: _count_failures(*given, a, b))
        return out[0], out[1] if rates is not None else np.empty((x.size, 0))

    def means_are_finite(self, tails: FloatArray, *, every: bool = False) -> npt.NDArray[np.bool_]:
        """Whether the mean time to failure is finite, by the tails of the nodes; for `every`, of the first k."""
        more = np.zeros(tails.shape[-1])
        if self.common is not None:
            more[0] = node_tails(self.common.components, self.common.ages.size).sum()
        if self.racks is not None:
            rack = node_tails(self.racks.components, self.racks.ages.size)
            used, at = np.unique(self.racks.of_node, return_index=True)
            if not self.racks_count:
                np.add.at(more, at, rack[used])
            elif (rack[used] >= _STEEP).all():
                more[self.tolerance] = _STEEP
        if not every:
            own = np.sort(tails, axis=-1)[..., : tails.shape[-1] - self.tolerance].sum(axis=-1)
            return np.asarray(own + more.sum() > HEAVIEST)
        total = np.cumsum(tails + more) - (_largest(tails, self.tolerance) if self.tolerance else 0.0)
        return np.asarray(total > HEAVIEST)


def _largest(values: FloatArray, count: int) -> FloatArray:
    """Sum of the `count` largest of the first k values, for every k."""
    largest: list[float] = []
    total, out = 0.0, np.empty(values.size)
    for k, value in enumerate(values.tolist()):
        if len(largest) < count:
            heapq.heappush(largest, value)
            total += value
        else:
            total += value - heapq.heappushpop(largest, value)
        out[k] = total
    return out


@njit(cache=True, nogil=True)
def _count_failures(
    spent: np.ndarray,
    rate: np.ndarray,
    order: np.ndarray,
    blocks: np.ndarray,
    rack_spent: np.ndarray,
    rack_rate: np.ndarray,
    allowed: int,
    every: bool,
    log_alive: np.ndarray,
    density: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Recursion over the number of failed nodes, rack by rack, for the rows `first` to `last` of times.

    `order` lists the nodes rack by rack; rack i is ``order[blocks[i]:blocks[i + 1]]``. f[k] is the probability that k
    of the nodes so far have failed, g its derivative in time, `over` the probability that more than `allowed` have.
    """
    slopes = rate.shape[0] > 0
    racks = blocks.size > 2
    for j in range(first, last):
        f, g = np.zeros(allowed + 1), np.zeros(allowed + 1)
        f[0] = 1.0
        over, over_slope, shift = 0.0, 0.0, 0.0
        seen, low, high = 0, 0, 0  # nodes so far; f is zero outside of low to high
        for block in range(blocks.size - 1):
            down = rack_spent[j, block]
            if down > 0.0:
                old_f, old_g, old_over, old_over_slope = f.copy(), g.copy(), over, over_slope
            for place in range(blocks[block], blocks[block + 1]):
                node = order[place]
                alive, failed = math.exp(-spent[j, node]), -math.expm1(-spent[j, node])
                top = min(high + 1, allowed)
                if slopes:
                    lost = rate[j, node] * alive
                    over_slope += lost * f[allowed] + failed * g[allowed]
                    for k in range(top, low, -1):
                        g[k] = g[k] * alive + g[k - 1] * failed + lost * (f[k - 1] - f[k])
                    g[low] = g[low] * alive - lost * f[low]
                over += failed * f[allowed]
                for k in range(top, low, -1):
                    f[k] = f[k] * alive + f[k - 1] * failed
                f[low] *= alive
                high = top if f[top] > 1e-300 or g[top] != 0.0 else high
                seen += 1
                if seen % 8 == 0 and not racks:
                    shift -= math.log(_rescaled(f, g, low, high))
                    while low < high and f[low] < 1e-290:
                        f[low], g[low] = 0.0, 0.0
                        low += 1
                if every:
                    log_alive[j, node], density[j, node] = _result(f, g, low, high, over, over_slope, shift)
            if down > 0.0:
                size = blocks[block + 1] - blocks[block]
                alive, failed, lost = math.exp(-down), -math.expm1(-down), rack_rate[j, block] * math.exp(-down)
                beyond, beyond_slope = old_over, old_over_slope
                for k in range(max(allowed - size + 1, 0), allowed + 1):
                    beyond += old_f[k]
                    beyond_slope += old_g[k]
                over_slope = alive * over_slope - lost * over + failed * beyond_slope + lost * beyond
                over = alive * over + failed * beyond
                for k in range(allowed + 1):
                    before, before_slope = (old_f[k - size], old_g[k - size]) if k >= size else (0.0, 0.0)
                    g[k] = alive * g[k] - lost * f[k] + failed * before_slope + lost * before
                    f[k] = alive * f[k] + failed * before
                high = min(seen, allowed)
                shift -= math.log(_rescaled(f, g, 0, high))
        if not every:
            log_alive[j, 0], density[j, 0] = _result(f, g, low, high, over, over_slope, shift)


@njit(cache=True, nogil=True)
def _rescaled(f: np.ndarray, g: np.ndarray, low: int, high: int) -> float:
    """Rescale probabilities close to underflow so that the largest is one; returns the factor."""
    peak = 0.0
    for k in range(low, high + 1):
        peak = max(peak, f[k])
    if not 0.0 < peak < 1e-100:
        return 1.0
    for k in range(low, high + 1):
        f[k] /= peak
        g[k] /= peak
    return 1.0 / peak


@njit(cache=True, nogil=True)
def _result(
    f: np.ndarray, g: np.ndarray, low: int, high: int, over: float, over_slope: float, shift: float
) -> tuple[float, float]:
    total, slope = 0.0, 0.0
    for k in range(low, high + 1):
        total += f[k]
        slope += g[k]
    if shift == 0.0 and total > 0.5:  # nothing was rescaled
        return math.log1p(-over), over_slope / total
    if total > 0.0:
        return math.log(total) + shift, -slope / total
    return -np.inf, np.nan
