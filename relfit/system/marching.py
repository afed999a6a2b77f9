"""Cumulative hazards of many nodes along a march over the log of time, each panel from the end of the last.

Where a family has no closed form, its further cumulative hazard is the integral of its failure rate. A march that goes
from panel to panel need not begin that integral anew at every time: what was spent up to the panel is known, and what
is spent within it follows from the rate at the panel's own points. So a node costs one rate a point, and nothing is a
difference of large numbers.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.families import BirnbaumSaunders, Gamma, GeneralisedGamma, Lognormal
from relfit.system import kernels, rate_kernels
from relfit.system.components import Component
from relfit.system.excess import excess_log_rate
from relfit.system.hazards import NodeHazards, in_threads
from relfit.system.reliability_integrals import ENDS, LEGENDRE_POINTS, WEIGHTS

__all__ = ["MARCH_TOLERANCE", "HazardMarch"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MARCH_TOLERANCE = 2e-13  # of a cumulative hazard, relative
_MOST_PARTS = 64
_SMALLEST_SHAPE, _LARGEST_SHAPE = 0.05, 100.0  # of a gamma life, between which the compiled rate keeps its digits
_CHUNK = 4_000_000
_COUNT = LEGENDRE_POINTS.size
_TARGETS = np.append(LEGENDRE_POINTS, 1.0)


class HazardMarch:
    """Further cumulative hazards of nodes on panels of log time that follow each other.

    Parameters
    ----------
    hazards : NodeHazards
    order : ndarray of int
        Nodes, in the order of the rows of the results.
    """

    def __init__(self, hazards: NodeHazards, order: IntArray) -> None:
        self.hazards, self.order = hazards, order
        self.slow = np.flatnonzero(hazards.codes[order] < 0)
        nodes = order[self.slow]
        self.ages = hazards.ages[nodes]
        self.codes = np.full(nodes.size, -1, dtype=np.int64)
        self.table = np.zeros((nodes.size, 4))
        of = hazards.component_of[nodes]
        for number, component in enumerate(hazards.components):
            rows = np.flatnonzero(of == number)
            if rows.size:
                self._tabulate(component, rows, hazards.place_in[nodes[rows]])
        self._edge, self._spent = np.nan, np.empty(0)
        self._next: tuple[float, FloatArray] = (np.nan, np.empty(0))
        self._parts = 1

    def _tabulate(self, component: Component, rows: IntArray, places: IntArray) -> None:
        family = component.family[places]
        fits = np.ones(rows.size, dtype=np.bool_)
        if isinstance(family, Lognormal):
            code, columns = rate_kernels.LOGNORMAL, [family.meanlog, family.sdlog]
        elif isinstance(family, BirnbaumSaunders):
            code, columns = rate_kernels.BIRNBAUM_SAUNDERS, [family.shape, np.log(family.scale)]
        elif isinstance(family, Gamma):
            code, columns = rate_kernels.GAMMA, [family.shape, family.scale, special.gammaln(family.shape)]
            fits = _within(family.shape)
        elif isinstance(family, GeneralisedGamma):
            with np.errstate(all="ignore"):
                shape = family.q**-2.0
                power = family.q / family.sigma
                columns = [shape, power, special.gammaln(shape), family.mu]
                fits = (family.q > 0.0) & _within(shape)
            code = rate_kernels.GENERALISED_GAMMA
        else:
            return
        self.codes[rows[fits]] = code
        for i, column in enumerate(columns):
            self.table[rows[fits], i] = np.broadcast_to(column, rows.shape)[fits]

    def begin(self, edge: float) -> FloatArray:
        """What all nodes spend up to this log of hours, where the march begins: shape (nodes, 1)."""
        spent = self.hazards.spent(np.array([np.exp(edge)]), self.order)
        self._edge, self._spent = edge, spent[self.slow, 0]
        return spent

    def roughly(self, x: FloatArray) -> FloatArray:
        """About what all nodes spend up to a time of shape (1,), by the rate half way: shape (nodes, 1)."""
        out = np.empty((self.order.size, 1))
        self._fast(x, out)
        if self.slow.size:
            out[self.slow] = 2.0 * self._heights(np.arange(self.slow.size), 0.5 * x)
        return np.where(np.isnan(out), 0.0, out)

    def _fast(self, x: FloatArray, out: FloatArray) -> None:
        """Rows of the nodes with a closed form."""
        if self.slow.size < self.order.size:
            hazards, times = self.hazards, x[None, :]
            in_threads(
                len(out), x.size, lambda a, b: kernels.fill(hazards.codes, hazards.table, self.order, times, out, a, b)
            )

    def panel(self, edge: float, width: float, count: int) -> FloatArray:
        """What the first `count` nodes spend up to the Gauss-Legendre points of a panel and to its right end.

        Parameters
        ----------
        edge, width : float
            Of the panel, in the log of hours.
        count : int

        Returns
        -------
        ndarray, shape (count, points + 1)
        """
        x = np.exp(edge + 0.5 * width * (1.0 + _TARGETS))
        out = np.empty((count, x.size))
        self._fast(x, out)
        rows = self.slow[: np.searchsorted(self.slow, count)]
        if rows.size:
            before = self._before(edge, rows.size)
            found = self._advance(before, edge, width)
            out[rows] = found
            self._next = (edge + width, found[:, -1].copy())
        return out

    def _before(self, edge: float, size: int) -> FloatArray:
        if self._next[0] == edge:
            self._edge, self._spent = self._next
        elif not (self._edge == edge and self._spent.size >= size):
            self._edge = edge
            self._spent = self.hazards.spent(np.array([np.exp(edge)]), self.order[self.slow[:size]])[:, 0]
        return self._spent[:size]

    def _advance(self, before: FloatArray, edge: float, width: float) -> FloatArray:
        size = before.size
        found = np.empty((size, _TARGETS.size))
        todo = np.arange(size)
        parts = self._parts
        while todo.size:
            u = (np.arange(parts)[:, None] + 0.5 * (1.0 + LEGENDRE_POINTS)) / parts
            x = np.exp(edge + width * u.reshape(-1))
            left = []
            step = max(1, _CHUNK // (parts * _COUNT))
            for first in range(0, todo.size, step):
                rows = todo[first : first + step]
                values = self._heights(rows, x)
                spent = before[rows, None] + 0.5 * width * (values @ _integrals(parts))
                ends = np.abs(values.reshape(-1, _COUNT) @ ENDS).max(axis=1).reshape(rows.size, parts).max(axis=1)
                # the coefficients beyond the last seen are smaller, and integrate to a share of 2 / (2 n)
                missed = 0.5 * width / parts * ends / _COUNT
                found[rows] = spent
                # what is far below one for all nodes together changes no reliability
                allowed = MARCH_TOLERANCE * (spent[:, -1] + 1.0 / self.slow.size)
                left.append(rows[~(missed <= allowed)])
            again = np.concatenate(left)
            if parts == self._parts and 2 * again.size > todo.size:
                self._parts = min(2 * parts, _MOST_PARTS)
            todo = again
            if parts >= _MOST_PARTS:
                break
            parts *= 2
        if todo.size:  # a rate with a jump or a pole, or one that is not finite
            x = np.exp(edge + 0.5 * width * (1.0 + _TARGETS))
            found[todo] = self.hazards.spent(x, self.order[self.slow[todo]])
        return found

    def _heights(self, rows: IntArray, x: FloatArray) -> FloatArray:
        """``x h(age + x)`` at every time of `x`."""
        out = np.empty((rows.size, x.size))
        codes, table, ages = self.codes[rows], self.table[rows], self.ages[rows]
        if (codes >= 0).any():
            in_threads(
                rows.size, 8 * x.size, lambda a, b: rate_kernels.rates_times_time(codes, table, ages, x, out, a, b)
            )
        other = np.flatnonzero(codes < 0)
        if other.size:
            nodes = self.order[self.slow[rows[other]]]
            of, places = self.hazards.component_of[nodes], self.hazards.place_in[nodes]
            for number in np.unique(of):
                mine = np.flatnonzero(of == number)
                family = self.hazards.components[number].family

                def fill(a: int, b: int, mine: IntArray = mine, family: object = family) -> None:
                    part = mine[a:b]
                    with np.errstate(all="ignore"):
                        log_rate = excess_log_rate(family[places[part]], ages[other[part]], x[:, None])  # type: ignore[index]
                        out[other[part]] = (np.exp(log_rate) * x[:, None]).T

                in_threads(mine.size, 8 * x.size, fill)
        return out


def _within(shape: FloatArray) -> npt.NDArray[np.bool_]:
    return np.asarray((shape >= _SMALLEST_SHAPE) & (shape <= _LARGEST_SHAPE), dtype=np.bool_)


@lru_cache(maxsize=16)
def _integrals(parts: int) -> FloatArray:
    """Integrals from the left end of [-1, 1] to each target, from values at the points of every part."""
    degree = np.arange(_COUNT)
    coefficients = np.polynomial.legendre.legvander(LEGENDRE_POINTS, _COUNT - 1) * WEIGHTS[:, None] * (degree + 0.5)
    out = np.empty((parts * _COUNT, _TARGETS.size))
    for part in range(parts):
        local = np.clip((_TARGETS + 1.0) * parts - 2.0 * part - 1.0, -1.0, 1.0)
        p = np.polynomial.legendre.legvander(local, _COUNT)
        integral = np.empty((_TARGETS.size, _COUNT))
        integral[:, 0] = local + 1.0
        integral[:, 1:] = (p[:, 2:] - p[:, : _COUNT - 1]) / (2.0 * degree[1:] + 1.0)
        out[part * _COUNT : (part + 1) * _COUNT] = coefficients @ integral.T / parts
    return out
