"""How much more the number of nodes down at one time scatters than that of independent nodes."""

from __future__ import annotations

import numpy as np
from scipy import special

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.fleet import FleetModel
from relfit.fleet.calibration.parameter_values import Ratio

_BLOCK = 14 * 24.0  # hours: outages of different blocks count as independent
_FEWEST_BLOCKS, _FEWEST_NODES = 6, 8
_SURE = 0.95  # one-sided level at which the scatter must be above that of independent nodes


def down_scatter(model: FleetModel, level: float) -> Ratio | None:
    """Relative variance of the level that the nodes' shares of time down have in common, without racks and systems.

    For now, relative to its mean over stretches as long as the horizon. None for several systems, few nodes or a short
    log, and where the nodes are not surely down together more often than independent ones.
    """
    watched, incidents, window = model.places.watched, model.found, model.period.log.window
    if len(model.places.systems) != 1 or model.question is not None or watched.n_groups < _FEWEST_NODES:
        return None
    scope = np.append(incidents.table["scope"].to_numpy(dtype=object), "node")[incidents.incident[watched.row]]
    used = np.flatnonzero((scope == "node") | (scope == "group"))
    start, end, entered, left = (
        (instants - window.start.as_unit("ns").value) / NANOSECONDS_PER_HOUR
        for instants in (watched.start[used], watched.end[used], watched.entered, watched.left)
    )
    rack = model.places.rack
    place = np.where(rack >= 0, rack, len(model.places.racks) + np.arange(rack.size))
    stretch = window.hours if model.lately is None else model.lately.horizon
    value, error, blocks = scatter_of_outages(watched.code[used], start, end, entered, left, place, stretch)
    if blocks < _FEWEST_BLOCKS or not value > special.stdtrit(blocks - 1, _SURE) * error:
        return None
    factor = float(np.exp(special.ndtri(0.5 + 0.5 * level) * error / value))
    method = "covariance of nodes of different places down at one time, relative to the mean"
    return Ratio(value=value, low=value / factor, high=value * factor, level=level, events=used.size, method=method)


def scatter_of_outages(
    node: IntArray,
    start: FloatArray,
    end: FloatArray,
    entered: FloatArray,
    left: FloatArray,
    place: IntArray,
    stretch: float,
) -> tuple[float, float, int]:
    """Mean covariance of two nodes' states (1 while down) relative to the product of their means, with its standard
    error from blocks of two weeks, and their number; zero without outages.

    Pairs of nodes of one `place` do not count. Means are those of stretches about `stretch` hours long; a node counts
    in those through which it is watched.
    """
    first, last = float(entered.min()), float(left.max())
    stretches = max(round((last - first) / stretch), 1)
    each = max(round((last - first) / stretches / _BLOCK), 1)  # blocks of a stretch
    edges = np.linspace(first, last, stretches * each + 1)
    outer, width = edges[::each], float(edges[1] - edges[0])
    slack = 1e-6 * width
    piece, block, begin, finish = _cut(start, end, edges)
    of = node[piece]
    there = (entered[of] <= outer[block // each] + slack) & (left[of] >= outer[block // each + 1] - slack)
    of, block, begin, finish = of[there], block[there], begin[there], finish[there]
    excess, expected = np.zeros(edges.size - 1), np.zeros(edges.size - 1)
    for sign, unit in ((1.0, np.zeros_like(place)), (-1.0, place)):
        spent, squares = _moments(unit[of], block, begin, finish, int(unit.max()) + 1, edges.size - 1)
        mean = np.repeat(spent.reshape(len(spent), stretches, each).sum(axis=2) / (each * width), each, axis=1)
        excess += sign * (squares - (2.0 * mean * spent - mean**2 * width).sum(axis=0))
        expected += sign * (mean**2).sum(axis=0) * width
    if not expected.sum() > 0.0:
        return 0.0, 0.0, excess.size
    value = float(excess.sum() / expected.sum())
    error = float(np.sqrt(((excess - value * expected) ** 2).sum()) / expected.sum())
    return value, error, excess.size


def _cut(begin: FloatArray, finish: FloatArray, edges: FloatArray) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Outages cut at the edges of blocks: which outage, which block, start and end of each piece."""
    first = np.clip(np.searchsorted(edges, begin, "right") - 1, 0, edges.size - 2)
    last = np.clip(np.searchsorted(edges, finish, "left") - 1, first, edges.size - 2)
    number = last - first + 1
    piece = np.repeat(np.arange(begin.size), number)
    block = first[piece] + np.arange(piece.size) - np.repeat(np.cumsum(number) - number, number)
    return piece, block, np.maximum(begin[piece], edges[block]), np.minimum(finish[piece], edges[block + 1])


def _moments(
    unit: IntArray, block: IntArray, begin: FloatArray, finish: FloatArray, units: int, blocks: int
) -> tuple[FloatArray, FloatArray]:
    """Node-hours down, shape (units, blocks), and the sum over units of the squared number of nodes down, by block."""
    key = unit * blocks + block
    spent = np.bincount(key, finish - begin, units * blocks).reshape(units, blocks).astype(np.float64)
    change = np.repeat([1, -1], key.size)
    keys, at = np.tile(key, 2), np.concatenate([begin, finish])
    order = np.lexsort((at, keys))
    down = np.cumsum(change[order])[:-1]  # zero from one key to the next
    lasting = np.where(down > 0, np.diff(at[order]), 0.0)
    return spent, np.bincount(keys[order][:-1] % blocks, down**2 * lasting, blocks).astype(np.float64)
