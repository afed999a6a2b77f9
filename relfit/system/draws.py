"""Random parameters for the nodes of a system: normal around the fits in free coordinates, or refitted.

Nodes that share a fit share its draw. Draws come in chunks, so that fleets of any size fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError
from relfit.families import Family
from relfit.system.gradients import further_hazard, rate
from relfit.system.sources import Source

__all__ = ["Layer", "chunks_of_draws", "summed"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_PARAMETERS_AT_ONCE = 4_000_000
_CELLS_AT_ONCE = 2_000_000
_FEWEST_REFITS = 0.5


@dataclass(frozen=True, eq=False)
class Layer:
    """Nodes of one family under the drawn parameters.

    Attributes
    ----------
    family : type
    free : ndarray, shape (draws, sources, k)
    taken : ndarray of bool, shape (draws, sources), or None
        In which draws the source has this family; None for all.
    of_node, ages, counts : ndarray, shape (n,)
        Source, age, and how many equal nodes each stands for.
    positions : ndarray of int, shape (n,)
        Of the nodes in the system; where equal nodes are put together, of one of them.
    """

    family: type[Family]
    free: FloatArray
    taken: BoolArray | None
    of_node: IntArray
    ages: FloatArray
    counts: FloatArray
    positions: IntArray


def joined(source: Source, together: bool = True) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
    """Source, age, count and position of the nodes; those of one source and age as one, sorted by source."""
    if not together:
        return source.of_node, source.ages, np.ones(source.ages.size), source.positions
    order = np.lexsort((source.ages, source.of_node))
    of_node, ages = source.of_node[order], source.ages[order]
    new = np.ones(of_node.size, dtype=np.bool_)
    new[1:] = (of_node[1:] != of_node[:-1]) | (ages[1:] != ages[:-1])
    first = np.flatnonzero(new)
    counts = np.diff(np.append(first, of_node.size)).astype(np.float64)
    return of_node[first], ages[first], counts, source.positions[order][first]


def chunks_of_draws(
    sources: list[Source],
    count: int,
    kind: str,
    rng: int | np.random.Generator | None,
    *,
    ages: Any = None,
    model_average: bool = False,
    together: bool = True,
) -> Iterator[list[Layer]]:
    """Layers of a few draws at a time, `count` in all.

    Parameters
    ----------
    sources : list of Source
    count : int
    kind : {"draws", "bootstrap"}
        Normal in free coordinates with the fits' covariance, or refits of replicates drawn from the fits and censored
        as the lives were (`relfit.fitting.bootstrap`).
    rng : int or numpy.random.Generator, optional
    model_average : bool
        Draw the family of each source too, by its AICc weight.
    together : bool
        Whether nodes of one source and age are put together.
    """
    generator = np.random.default_rng(rng)
    plans = [plan for source in sources for plan in _plans(source, count, kind, generator, model_average, together)]
    width = sum(plan.sources * plan.k for plan in plans)
    step = max(1, min(count, _PARAMETERS_AT_ONCE // max(width, 1)))
    begins = range(0, count, step)
    for begin, stream in zip(begins, generator.spawn(len(begins)), strict=True):
        size = min(step, count - begin)
        # one choice of family and one shock for the fleet serve every plan of a source
        choices = {id(plan.source): stream.random((size, plan.source.n_sources)) for plan in plans}
        yield [plan.layer(begin, size, choices[id(plan.source)], stream) for plan in plans]


@dataclass(frozen=True, eq=False)
class _Plan:
    """How draws of one family are made for the nodes of one source."""

    source: Source
    family: type[Family]
    free: FloatArray
    root: FloatArray | None
    shared: FloatArray | None
    weight: FloatArray | None
    refits: FloatArray | None
    below: FloatArray | None
    above: FloatArray | None
    nodes: tuple[IntArray, FloatArray, FloatArray, IntArray]

    @property
    def sources(self) -> int:
        return int(self.free.shape[0])

    @property
    def k(self) -> int:
        return int(self.free.shape[1])

    def layer(self, begin: int, size: int, choice: FloatArray, rng: np.random.Generator) -> Layer:
        if self.refits is not None:
            free = self.refits[:, begin : begin + size].swapaxes(0, 1)
        else:
            assert self.root is not None
            noise = rng.standard_normal((size, *self.free.shape))
            free = self.free + np.einsum("gij,dgj->dgi", self.root, noise)
            if self.shared is not None and self.weight is not None:
                common = rng.standard_normal((size, self.shared.shape[1])) @ self.shared.T
                free = free + common[:, None, :] * self.weight
        taken = None if self.below is None or self.above is None else (choice >= self.below) & (choice < self.above)
        of_node, ages, counts, positions = self.nodes
        return Layer(self.family, free, taken, of_node, ages, counts, positions)


def _plans(
    source: Source, count: int, kind: str, rng: np.random.Generator, model_average: bool, together: bool
) -> Iterator[_Plan]:
    from relfit.fitting.pooling import PooledFit

    nodes = joined(source, together)
    if not model_average:
        yield _plan(source, source, count, kind, rng, None, None, nodes)
        return
    from relfit.fitting import Fits

    origin = source.origin
    if isinstance(source.fit, PooledFit) or not isinstance(origin, Fits):
        raise ArgumentError(
            "there is one family only to average over", remedy="make the system from fits of several: rf.fit(lives)"
        )
    table = origin.weights().iloc[source.groups]
    weights = np.nan_to_num(table.to_numpy(dtype=np.float64))
    for i, name in enumerate(table.columns):  # a family whose fit has no covariance cannot be drawn
        fit = origin[str(name)]
        known = np.isfinite(fit.covariance[source.groups]).all(axis=(1, 2)) & fit.ok[source.groups]
        weights[:, i] = np.where(known, weights[:, i], 0.0)
    lost = weights.sum(axis=1) <= 0.0
    own = list(table.columns).index(source.family.name)
    weights[lost, own] = 1.0
    upper = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    upper[:, -1] = np.inf
    lower = np.concatenate([np.full((upper.shape[0], 1), -np.inf), upper[:, :-1]], axis=1)
    for i, name in enumerate(table.columns):
        if (weights[:, i] > 0.0).any():
            other = source.of_family(origin[str(name)])
            yield _plan(source, other, count, kind, rng, lower[:, i], upper[:, i], nodes)


def _plan(
    source: Source, drawn: Source, count: int, kind: str, rng: np.random.Generator, below: FloatArray | None,
    above: FloatArray | None, nodes: tuple[IntArray, FloatArray, FloatArray, IntArray],
) -> _Plan:  # fmt: skip
    """A plan for the family of `drawn`; where it is never taken, its parameters may be missing."""
    used = np.ones(drawn.n_sources, dtype=np.bool_)
    if below is not None and above is not None:
        used = (above > below) & np.isfinite(drawn.free).all(axis=1)
    free = np.where(used[:, None], drawn.free, 0.0)
    if kind == "bootstrap":
        refits = _refits(drawn, used, count, rng)
        return _Plan(source, drawn.family, free, None, None, None, refits, below, above, nodes)
    root = np.zeros((*free.shape, free.shape[1]))
    own, shared = drawn.at(used).covariance()
    values, vectors = np.linalg.eigh(own)
    root[used] = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    weight = None if shared is None else shared.weight
    return _Plan(
        source, drawn.family, free, root, None if shared is None else shared.root, weight, None, below, above, nodes
    )


def _refits(source: Source, used: BoolArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Free coordinates of refits, shape (sources, count, k); where one failed, another takes its place."""
    from relfit.fitting.bootstrap import replicate
    from relfit.fitting.pooling import PooledFit

    if isinstance(source.fit, PooledFit):
        raise ArgumentError("pooled fits cannot be refitted node by node", remedy="use kind='draws' or 'delta'")
    groups = source.groups[used]
    lives = source.fit.lives.take(groups.tolist())
    parameters = source.fit.parameter_array[groups]
    found = replicate(
        source.family, parameters, np.ones(groups.size, np.bool_), lives, count, rng, estimator=source.fit.estimator
    )
    good = found.codes == 0
    share = good.mean(axis=1)
    if (share < _FEWEST_REFITS).any():
        label = source.fit.groups[int(groups[int(np.argmin(share))])]
        raise ArgumentError(
            f"only {100 * share.min():.0f} % of the replicates of group {label!r} could be fitted",
            remedy="pool the groups: fits.pool(...), or use kind='delta'",
        )
    # where a refit failed, another of the same group takes its place
    pick = np.argsort(~good, axis=1, kind="stable")
    place = np.arange(count) % np.maximum(good.sum(axis=1), 1)[:, None]
    instead = np.take_along_axis(pick, place, axis=1)
    chosen = np.where(good, np.arange(count), instead)
    free = np.zeros((source.n_sources, count, source.free.shape[1]))
    free[used] = source.family.to_free(np.take_along_axis(found.parameters, chosen[..., None], axis=1))
    return free


def summed(layers: list[Layer], quantity: str, time: FloatArray) -> FloatArray:
    """Further cumulative hazard, or failure rate, of the whole system in every draw.

    Parameters
    ----------
    layers : list of Layer
    quantity : {"cumulative_hazard", "hazard"}
    time : ndarray, shape (m,) or (draws, m)

    Returns
    -------
    ndarray, shape (draws, m)
    """
    function = further_hazard if quantity == "cumulative_hazard" else rate
    draws = layers[0].free.shape[0]
    times = np.broadcast_to(time, (draws, time.shape[-1]))
    total = np.zeros(times.shape)
    for layer in layers:
        n, m = layer.of_node.size, times.shape[1]
        for begin in range(0, n, max(1, _CELLS_AT_ONCE // (m * 8))):
            nodes = slice(begin, begin + max(1, _CELLS_AT_ONCE // (m * 8)))
            width = layer.of_node[nodes].size
            step = max(1, _CELLS_AT_ONCE // (width * m))
            for first in range(0, draws, step):
                part = slice(first, first + step)
                total[part] += _of_part(layer, function, part, nodes, times[part])
    return total


def _of_part(layer: Layer, function: Any, draws: slice, nodes: slice, times: FloatArray) -> FloatArray:
    source = layer.of_node[nodes]
    size, width, m = times.shape[0], source.size, times.shape[1]
    if layer.taken is None:
        draw = np.repeat(np.arange(size), width)
        node = np.tile(np.arange(width), size)
    else:
        draw, node = np.nonzero(layer.taken[draws][:, source])
    free = layer.free[draws][draw, source[node]]
    value, _ = function(layer.family, free, layer.ages[nodes][node], times[draw], gradient=False)
    value = value * layer.counts[nodes][node][:, None]
    if layer.taken is None:
        return np.asarray(value.reshape(size, width, m).sum(axis=1))
    out = np.zeros((size, m))
    np.add.at(out, draw, value)
    return out
