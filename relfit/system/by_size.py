"""Reliability, hazard and mean time to failure of the first k nodes, for every k up to 100 000 and beyond.

All k share one grid in the log of time. Panels of Gauss-Legendre points march from where the largest system has hardly
begun to fail to where the smallest has failed for certain; at each point the hazards of the nodes are summed once, and
each partial sum is the cumulative hazard of one k. A panel is halved while the last Legendre coefficients of any
integrand on it are not small, and drops the sizes for which nothing is left, largest first. So a node is evaluated at
some two hundred points whatever the number of sizes; where its family has no closed form, a point costs one failure
rate (`relfit.system.marching`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.families import CompetingRisks, LimitedFailure
from relfit.families.mixtures import Mixture
from relfit.system import prefix_kernels
from relfit.system.components import Component
from relfit.system.engines import Sets
from relfit.system.hazards import NodeHazards, in_threads
from relfit.system.marching import MARCH_TOLERANCE, HazardMarch
from relfit.system.quantities import finite_hours
from relfit.system.reliability_integrals import COARSE, ENDS, LEGENDRE_POINTS, TOLERANCE, WEIGHTS
from relfit.system.tails import tail_index

if TYPE_CHECKING:
    from relfit.system.system import System
    from relfit.system.uncertainty import SystemInterval

__all__ = ["SystemsBySize", "systems_by_size"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_WIDEST, _NARROWEST, _MOST_PANELS = 8.0, 1e-9, 5000
_FURTHEST = 38.0  # below the time at which half of the largest system have failed, in its log
_FEW = 3000  # sizes up to which racks that take their nodes are counted set by set


@dataclass(frozen=True, eq=False, repr=False)
class SystemsBySize:
    """Systems of the first k nodes, k = 1 ... K.

    Attributes
    ----------
    system : System
    order : ndarray of int, shape (K,)
        Nodes in the order in which they are added.
    horizon : ndarray, shape (...)
        Hours.
    reliability, hazard : ndarray, shape (K, ...)
        At the horizons; hazards per hour.
    mttf : ndarray, shape (K,)
        Mean times to failure in hours.
    mttf_error : ndarray, shape (K,)
        Bound of the relative error of these: rounding aside, what the quadrature may miss.
    """

    system: System
    order: IntArray
    horizon: FloatArray
    reliability: FloatArray
    hazard: FloatArray
    mttf: FloatArray
    mttf_error: FloatArray

    @property
    def sizes(self) -> IntArray:
        """Number of nodes, shape (K,)."""
        return np.arange(1, self.order.size + 1, dtype=np.int64)

    def __len__(self) -> int:
        return int(self.order.size)

    def interval(self, quantity: str = "reliability", level: float = 0.95, **options: Any) -> SystemInterval:
        """Limits for every k that the uncertainty of the fitted parameters leaves, for systems made from fits.

        Parameters
        ----------
        quantity : {"reliability", "cdf", "cumulative_hazard", "hazard", "mttf"}
        level : float
        **options
            ``kind``, ``draws``, ``rng`` and ``model_average`` of `relfit.system.interval_of`.

        Examples
        --------
        >>> import relfit as rf
        >>> fits = rf.fit(rf.LifeData.from_array(rf.families.Weibull(0.8, 1000.0).sample(60, rng=1)), "weibull")
        >>> found = rf.System.from_fits(fits, nodes=10).by_size("24h").interval("mttf", 0.9)
        >>> found.low.shape, bool((found.low < found.estimate).all())
        ((10,), True)
        """
        from relfit.system.uncertainty import interval_of

        at = None if quantity == "mttf" else self.horizon
        return interval_of(self.system, quantity, at, level, by_size=True, order=self.order, **options)

    def to_frame(self) -> pd.DataFrame:
        """One row for each k: the node added, mean time to failure, and reliability and hazard at each horizon."""
        frame = pd.DataFrame({"nodes": self.sizes, "added": self.system.names[self.order], "mttf": self.mttf})
        flat = self.horizon.reshape(-1)
        for name, values in (("reliability", self.reliability), ("hazard", self.hazard)):
            for i, x in enumerate(flat):
                frame[f"{name}_{x:g}h"] = values.reshape(len(self), -1)[:, i]
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Rows of `to_frame`, ready for JSON."""
        from relfit.results import records

        return {"horizon": self.horizon.tolist(), "sizes": records(self.to_frame())}

    def plot(self, quantity: str = "reliability", ax: Any = None, **style: Any) -> Any:
        """Reliability, hazard or mean time to failure by number of nodes (reliability-aware allocation, Figures 4.8-9).

        Parameters
        ----------
        quantity : {"reliability", "hazard", "mttf"}
        ax : matplotlib.axes.Axes, optional
        **style
            For the lines.
        """
        from relfit.plotting.system_sizes import by_size

        return by_size(self, quantity, ax=ax, **style)

    def __repr__(self) -> str:
        first, last = self.mttf[0], self.mttf[-1]
        return f"SystemsBySize: 1 to {len(self)} nodes, mean time to failure {first:.4g} to {last:.4g} h"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self))}</p>{self.to_frame().to_html(max_rows=12, float_format='{:.5g}'.format)}"


def systems_by_size(system: System, horizon: Any, order: npt.ArrayLike | None) -> SystemsBySize:
    """The first k nodes for every k; `System.by_size` documents the arguments.

    Raises
    ------
    ArgumentError
        For a position that is not there or stands twice; for racks whose events count as failures of their nodes with
        a tolerance, above 3000 nodes.
    """
    chosen = np.arange(system.n_nodes, dtype=np.int64) if order is None else system.checked_positions(order)
    x = finite_hours(horizon)
    points = x.reshape(-1)
    if system.tolerance and system.racks is not None and system.rack_events == "nodes":
        log_alive, rate, mean, error = _by_sets(system, chosen, points)
    else:
        nodes = _Prefixes(system, chosen)
        log_alive, rate = nodes.at(points)
        mean, error = _means(nodes)
    with np.errstate(under="ignore"):
        alive = np.exp(log_alive)
    shape = (chosen.size, *x.shape)
    return SystemsBySize(system, chosen, x, alive.reshape(shape), rate.reshape(shape), mean, error)


def _by_sets(
    system: System, order: IntArray, points: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    if order.size > _FEW:
        raise ArgumentError(
            f"{order.size} sizes with rack events that count as failures of their nodes",
            remedy=f"give an order of at most {_FEW} nodes, or rack_events='job'",
        )
    s = system.tolerance
    counts = np.arange(s + 1, order.size + 1)
    members = np.concatenate([order[:k] for k in counts])
    found = system.sets(Sets(members, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)))
    log_alive, rate = np.zeros((order.size, points.size)), np.zeros((order.size, points.size))
    log_alive[s:], rate[s:] = found.log_reliability(points), found.hazard(points)
    mean, error = np.full(order.size, np.inf), np.zeros(order.size)
    mean[s:], error[s:] = found._means()
    return log_alive, rate, mean, error


class _Prefixes:
    """Hazards of nodes in their order, with the racks that come into use and what all systems share."""

    def __init__(self, system: System, order: IntArray) -> None:
        parts: list[Component] = list(system.components)
        ages = [system.ages]
        first = system.n_nodes
        index = _indices(system.components, system.n_nodes)
        if system.racks is not None:
            # a rack comes in with the first of its nodes
            rack = system.racks.of_node[order]
            used, at = np.unique(rack, return_index=True)
            parts += [Component(c.family, c.positions + first) for c in system.racks.components]
            ages.append(system.racks.ages)
            index = np.concatenate([index, _indices(system.racks.components, system.racks.ages.size)])
            extra, extra_step = used + first, at
            first += system.racks.ages.size
        else:
            extra = extra_step = np.empty(0, dtype=np.int64)
        if system.common is not None:
            parts += [Component(c.family, c.positions + first) for c in system.common.components]
            ages.append(system.common.ages)
            index = np.concatenate([index, _indices(system.common.components, system.common.ages.size)])
            extra = np.concatenate([extra, np.arange(system.common.ages.size) + first])
            extra_step = np.concatenate([extra_step, np.zeros(system.common.ages.size, dtype=np.int64)])
        self.hazards = NodeHazards(parts, np.concatenate(ages))
        self.order, self.tolerance = order, system.tolerance
        self.march = HazardMarch(self.hazards, order)
        by_step = np.argsort(extra_step, kind="stable")
        self.extra, self.extra_step = extra[by_step].astype(np.int64), extra_step[by_step].astype(np.int64)
        # powers with which the reliabilities fall in the end
        own = index[order]
        fall = np.cumsum(np.where(np.isinf(own), 1e300, own))
        if self.tolerance:
            fall = fall - _largest(np.where(np.isinf(own), 1e300, own), self.tolerance)
        shared = np.zeros(order.size)
        np.add.at(shared, self.extra_step, np.where(np.isinf(index[self.extra]), 1e300, index[self.extra]))
        self.fall = fall + np.cumsum(shared)
        # x R(x) of a mixture may fall and rise again
        self.plain = not any(isinstance(c.family, (Mixture, LimitedFailure, CompetingRisks)) for c in parts)

    def _further(self, values: Callable[[FloatArray, IntArray], FloatArray], x: FloatArray, count: int) -> FloatArray:
        """What racks and common causes add at each step, summed up: shape (count, m)."""
        out = np.zeros((count, x.size))
        used = self.extra_step < count
        if used.any():
            np.add.at(out, self.extra_step[used], values(x, self.extra[used]))
            np.cumsum(out, axis=0, out=out)
        return out

    def log_alive(self, x: FloatArray, count: int) -> FloatArray:
        """Log reliabilities of the first `count` sizes, shape (count, m)."""
        return self._alive(x, self.hazards.spent(x, self.order[:count]), False)[0]

    def at(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log reliabilities and failure rates of all sizes, shape (K, m)."""
        return self._alive(x, self.hazards.spent(x, self.order), True)

    def _alive(self, x: FloatArray, spent: FloatArray, rates: bool) -> tuple[FloatArray, FloatArray]:
        count = spent.shape[0]
        rate = np.empty((0, x.size))
        if rates:
            rate = self.hazards.rate(np.maximum(x, 1e-100) if self.tolerance else x, self.order[:count])
        if self.tolerance:
            log_alive, density = np.empty(spent.shape), np.empty(spent.shape)
            in_threads(
                x.size,
                count * (self.tolerance + 2),
                lambda a, b: prefix_kernels.tolerant_prefixes(spent, rate, self.tolerance, log_alive, density, a, b),
            )
        else:
            log_alive, density = -np.cumsum(spent, axis=0), np.cumsum(rate, axis=0)
        if self.extra.size:
            log_alive -= self._further(self.hazards.spent, x, count)
            if rates:
                density += self._further(self.hazards.rate, x, count)
        return log_alive, density

    def roughly_alive(self, log_x: float) -> float:
        """About the log reliability of the largest size, for a search."""
        x = np.array([np.exp(max(log_x, -744.0))])
        return float(self._alive(x, self.march.roughly(x), False)[0][-1, 0])

    def begin(self, edge: float) -> FloatArray:
        """Begin to march at this log of hours: the log reliabilities there."""
        return self._alive(np.array([np.exp(edge)]), self.march.begin(edge), False)[0][:, 0]

    def panel(
        self, edge: float, width: float, log_x: FloatArray, count: int
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Measures of one panel for the first `count` sizes: see `prefix_kernels.panel_of_prefixes`."""
        out = np.empty(count), np.empty(count), np.empty(count), np.empty(count)
        spent = self.march.panel(edge, width, count)
        if self.tolerance or self.extra.size:
            alive = self._alive(np.exp(log_x), spent, False)[0]
            prefix_kernels.panel_of_values(alive, log_x, WEIGHTS, ENDS, *out)
        else:
            prefix_kernels.panel_of_prefixes(spent, log_x, WEIGHTS, ENDS, *out)
        return out


def _indices(components: tuple[Component, ...], size: int) -> FloatArray:
    out = np.empty(size)
    for component in components:
        out[component.positions] = tail_index(component.family)
    return out


def _largest(values: FloatArray, count: int) -> FloatArray:
    """Sum of the `count` largest of the first k values, for every k."""
    import heapq

    if np.all(values == values[0]):
        return values[0] * np.minimum(np.arange(1, values.size + 1), count)
    kept: list[float] = []
    total, out = 0.0, np.empty(values.size)
    for k, value in enumerate(values.tolist()):
        if len(kept) < count:
            heapq.heappush(kept, value)
            total += value
        else:
            total += value - heapq.heappushpop(kept, value)
        out[k] = total
    return out


def _means(nodes: _Prefixes) -> tuple[FloatArray, FloatArray]:
    """Mean times to failure of all sizes, and bounds of their relative errors."""
    size = nodes.order.size
    finite = nodes.fall > 1.0
    if nodes.tolerance:
        finite &= np.arange(size) >= nodes.tolerance
    mean, error = np.full(size, np.inf), np.zeros(size)
    if not finite.any():
        return mean, error
    begin = int(np.flatnonzero(finite)[0])
    edge, left, short = _left(nodes)
    total, doubt = left.copy(), short
    count, width = size, 0.5
    steady = False
    for _ in range(_MOST_PANELS):
        half = 0.5 * width
        log_x = np.append(edge + half * (1.0 + LEGENDRE_POINTS), edge + width)
        if log_x[-1] > 708.0:
            total[begin:count] = np.inf
            break
        part, most, missed, last = nodes.panel(edge, width, log_x, count)
        scale = np.maximum(total[:count], most)
        worst = (width * missed / scale)[begin:].max()
        if worst > TOLERANCE and width > _NARROWEST:
            width *= 0.5
            steady = True
            continue
        total[:count] += half * part
        doubt[:count] += width * missed
        edge += width
        ahead = last > 1e-2 * TOLERANCE * total[:count]
        if not nodes.plain and not ahead[begin:].all():
            further = edge + COARSE[1:]
            further = further[further < 708.0]
            heights = np.exp(nodes.log_alive(np.exp(further), count) + further)
            ahead |= (heights > 1e-2 * TOLERANCE * total[:count, None]).any(axis=1)
        going = np.flatnonzero(ahead)
        going = going[going >= begin]
        if not going.size:
            break
        count = int(going[-1]) + 1
        if worst < 1e-4 * TOLERANCE and width < _WIDEST:
            width *= 1.5 if steady else 2.0
    else:
        doubt[begin:] = np.inf
    least = TOLERANCE + (MARCH_TOLERANCE if nodes.march.slow.size else 0.0)
    with np.errstate(invalid="ignore"):
        mean[finite] = total[finite]
        error[finite] = np.where(np.isfinite(total[finite]), doubt[finite] / total[finite] + least, 0.0)
    return mean, error


def _left(nodes: _Prefixes) -> tuple[float, FloatArray, FloatArray]:
    """Log of a time below which hardly any system fails; the integrals up to it, and what these may be wrong by."""
    # the largest system fails first: what is little to it is less to the others
    y = 0.0
    step = 4.0
    up = nodes.roughly_alive(0.0) > -0.7
    for _ in range(400):
        y = y + step if up else y - step
        if (nodes.roughly_alive(y) > -0.7) != up or abs(y) > 740.0:
            break
    y = float(np.clip(y - step if up else y, -700.0, 700.0))
    back = 16.0
    while back < _FURTHEST and np.exp(-back) * -np.expm1(nodes.roughly_alive(y - back)) > TOLERANCE:
        back += 4.0
    while True:
        edge = max(y - back, -744.0)
        failed = -np.expm1(nodes.begin(edge))
        # the mean is at least half of exp(y)
        if back >= _FURTHEST or np.exp(-back) * failed[-1] <= TOLERANCE:
            break
        back += 4.0
    there = np.exp(edge)
    return edge, there * (1.0 - 0.5 * failed), 0.5 * there * failed
