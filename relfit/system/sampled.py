"""Quantities of a system under drawn parameters, all draws of a chunk at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from relfit.system.components import Component
from relfit.system.draws import Layer, chunks_of_draws, summed
from relfit.system.gradients import further_hazard, rate
from relfit.system.solving import time_of_log_hazard
from relfit.system.sources import Source

if TYPE_CHECKING:
    from relfit.system.system import System

__all__ = ["sampled", "systems_of"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_S, _W = np.polynomial.legendre.leggauss(48)
_LEAST, _MOST = 1e-5, 45.0  # cumulative hazards between which the mean is integrated


def sampled(
    system: System,
    sources: list[Source],
    quantity: str,
    points: FloatArray,
    order: IntArray | None,
    kind: str,
    count: int,
    rng: int | np.random.Generator | None,
    *,
    model_average: bool = False,
) -> FloatArray:
    """Values of `quantity` in every draw, shape (count, m), or (count, K, m) for the first k nodes of `order`."""
    found = []
    whole = system.tolerance > 0 or system.racks is not None or system.common is not None
    together = order is None and not whole
    for layers in chunks_of_draws(sources, count, kind, rng, model_average=model_average, together=together):
        if whole:
            found.append(_rebuilt(system, layers, quantity, points, order))
        elif order is not None:
            found.append(_by_size(layers, quantity, points, order, system.n_nodes))
        elif quantity in ("reliability", "cdf", "cumulative_hazard"):
            found.append(_of_hazard(quantity, summed(layers, "cumulative_hazard", points)))
        elif quantity == "hazard":
            found.append(summed(layers, "hazard", points))
        elif quantity == "pdf":
            found.append(summed(layers, "hazard", points) * np.exp(-summed(layers, "cumulative_hazard", points)))
        elif quantity == "quantile":
            found.append(np.stack([_time_of(layers, float(h)) for h in -np.log1p(-points)], axis=1))
        elif quantity == "mttf":
            found.append(_mean(layers)[:, None])
        elif quantity == "mean_residual_life":
            older = [[replace(layer, ages=layer.ages + age) for layer in layers] for age in points]
            found.append(np.stack([_mean(one) for one in older], axis=1))
        else:
            found.append(np.stack([_mean(layers, float(end)) for end in points], axis=1))
    return np.concatenate(found)


def _of_hazard(quantity: str, spent: FloatArray) -> FloatArray:
    if quantity == "reliability":
        return np.exp(-spent)
    return -np.expm1(-spent) if quantity == "cdf" else spent


def _rebuilt(
    system: System, layers: list[Layer], quantity: str, points: FloatArray, order: IntArray | None
) -> FloatArray:
    """Values from a system made anew for each draw, with all that it has besides nodes."""
    out = []
    for one in systems_of(system, layers):
        if order is not None:
            by_size = one.by_size(points if quantity != "mttf" else 24.0, order)
            with np.errstate(divide="ignore"):
                value = -np.log(by_size.reliability) if "cumulative" in quantity else getattr(by_size, quantity)
            out.append(np.reshape(value, (order.size, -1)))
        elif quantity == "mttf":
            out.append(np.reshape(one.mttf(), 1))
        else:
            out.append(getattr(one, quantity)(points))
    return np.stack(out)


def systems_of(system: System, layers: list[Layer]) -> Iterator[System]:
    """The system under the parameters of each draw; the layers must hold every node by itself."""
    for draw in range(layers[0].free.shape[0]):
        parts = []
        for layer in layers:
            some = np.ones(layer.of_node.size, np.bool_)
            if layer.taken is not None:
                some = layer.taken[draw][layer.of_node]
            if some.any():
                values = layer.family.from_free(layer.free[draw, layer.of_node[some]])
                parts.append(Component(layer.family.unchecked(*np.moveaxis(values, -1, 0)), layer.positions[some]))
        yield type(system)._of(tuple(parts), system.ages, **system._options())


def _rows(layers: list[Layer], rows: npt.NDArray[np.intp]) -> list[Layer]:
    return [
        replace(layer, free=layer.free[rows], taken=None if layer.taken is None else layer.taken[rows])
        for layer in layers
    ]


def _time_of(layers: list[Layer], spent: float) -> FloatArray:
    """When the cumulative hazard of each draw reaches `spent`, shape (draws,)."""
    draws = layers[0].free.shape[0]

    def log_hazard(rows: npt.NDArray[np.intp], time: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(summed(_rows(layers, rows), "cumulative_hazard", time[:, None])[:, 0])

    return time_of_log_hazard(log_hazard, np.full(draws, np.log(spent)))


def _mean(layers: list[Layer], until: float = np.inf) -> FloatArray:
    """Mean time to failure in each draw, or mean of the shorter of that time and `until`, shape (draws,)."""
    low, middle, high = (_time_of(layers, spent) for spent in (_LEAST, 1.0, _MOST))
    never = np.isinf(high) & np.isinf(until)
    high = np.minimum(np.where(np.isinf(high), 1e300, high), until)
    middle = np.minimum(np.where(np.isinf(middle), 1e300, middle), 0.5 * high)
    low = np.minimum(np.maximum(low, 1e-12 * middle), 0.5 * middle)
    edges = np.log(np.stack([low, middle, high], axis=1))
    half = 0.5 * np.diff(edges, axis=1)
    u = (edges[:, :2] + half)[:, :, None] + half[:, :, None] * _S
    time = np.exp(u).reshape(low.size, -1)
    weight = (half[:, :, None] * _W).reshape(low.size, -1) * time
    lived = np.exp(-summed(layers, "cumulative_hazard", time))
    return np.where(never, np.inf, low + (weight * lived).sum(axis=1))


def _by_size(layers: list[Layer], quantity: str, points: FloatArray, order: IntArray, nodes: int) -> FloatArray:
    """Of the first k nodes of `order`, for every k, shape (draws, K, m)."""
    draws = layers[0].free.shape[0]
    time = points
    weight = None
    if quantity == "mttf":
        low = _time_of(layers, 1e-6).min()
        high = _of_first(layers, order[0])
        u = np.linspace(np.log(low), np.log(high), 240)
        time, weight = np.exp(u), np.exp(u) * (u[1] - u[0])
        weight[0] += np.exp(u[0])
    out = np.empty((draws, order.size, 1 if weight is not None else time.size))
    function = rate if quantity == "hazard" else further_hazard
    for draw in range(draws):
        each = np.zeros((nodes, time.size))
        for layer in layers:
            some = slice(None) if layer.taken is None else layer.taken[draw][layer.of_node]
            of_node = layer.of_node[some]
            value, _ = function(layer.family, layer.free[draw, of_node], layer.ages[some], time, gradient=False)
            each[layer.positions[some]] += value
        total = np.cumsum(each[order], axis=0)
        out[draw] = total if weight is None else (np.exp(-total) @ weight)[:, None]
    return out if quantity in ("mttf", "hazard") else _of_hazard(quantity, out)


def _of_first(layers: list[Layer], node: int) -> float:
    """A time by which the first node has failed in every draw; 1e15 hours where it need not."""
    high = 1.0
    mine = []
    for layer in layers:
        where = np.flatnonzero(layer.positions == node)
        if where.size:
            mine.append((layer, where))
    while high < 1e15:
        spent = np.zeros(layers[0].free.shape[0])
        for layer, where in mine:
            free = layer.free[:, layer.of_node[where[0]]]
            ages = np.full(free.shape[0], layer.ages[where[0]])
            value, _ = further_hazard(layer.family, free, ages, np.array([high]), gradient=False)
            spent += np.where(True if layer.taken is None else layer.taken[:, layer.of_node[where[0]]], value[:, 0], 0)
        if (spent > 36.0).all():
            return high
        high *= 2.0
    return high
