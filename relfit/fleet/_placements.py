"""Placements of a job on nodes, and the probability that an incident of several nodes hits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

from relfit.base.arrays import BoolArray, FloatArray, IntArray, NumberArray
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.fleet.incident_scopes import Places, ScopeIncidents
from relfit.log.outages import Outages

PLACEMENTS = ("packed", "spread", "random")
_MOST, _CELLS, _INSTANTS = 200, 4_000_000, 2000
_BEFORE = 1_000_000  # nanoseconds
_TOGETHER = 0.25  # least share of the time in which all nodes of a job are watched
_UP: WeakKeyDictionary[Outages, dict[bytes, Any]] = WeakKeyDictionary()  # shared by jobs of many sizes


@dataclass(frozen=True, eq=False)
class Placements:
    """Possible placements of a job of one size, one row each."""

    members: Any  # a sparse array, shape (placements, nodes): 1 where a node belongs to the job
    nodes: int  # of the job

    def sums(self, by_node: FloatArray) -> FloatArray:
        """Sum over the nodes of each placement, shape (placements, draws), from (draws, nodes)."""
        return np.asarray(self.members @ by_node.T, np.float64)

    def racks_hit(self, places: Places, table: FloatArray) -> FloatArray:
        """Expected number of incidents that hit the job if each rack has one; shape (placements,)."""
        inside = np.flatnonzero(places.rack >= 0)
        shape = (places.rack.size, len(places.racks))
        in_rack = sparse.csr_array((np.ones(inside.size), (inside, places.rack[inside])), shape=shape)
        counts = sparse.csr_array(self.members @ in_rack)
        counts.data = table[counts.data.astype(np.int64)]
        return np.asarray(counts.sum(axis=1), np.float64).ravel()

    def up_at(self, watched: Outages, at: IntArray) -> BoolArray:
        """Whether all nodes of each placement were watched and up just before each instant, (placements, instants)."""
        return np.asarray(self.members @ _up_at(watched, at) >= self.nodes - 0.5)

    def watched_at(self, watched: Outages, at: IntArray) -> float:
        """Share of instants at which all nodes of a placement are watched, mean over placements."""
        first, of = self.members.indptr[:-1], self.members.indices
        entered = np.maximum.reduceat(watched.entered[of], first)
        left = np.minimum.reduceat(np.maximum(watched.left, watched.entered)[of], first)
        number = np.searchsorted(at, left, "right") - np.searchsorted(at, entered, "right")
        return float(np.maximum(number, 0).sum() / (number.size * at.size))

    def hit_while_up(
        self, watched: Outages, scope: ScopeIncidents, system: int, origin: int
    ) -> tuple[FloatArray, FloatArray]:
        """Share of a scope's incidents that hit a job at each placement, and the share of time that it is all up.

        Sampled, shape (placements,). An incident at a placement with nodes already down interrupts no job; it counts
        only where all nodes were never up together. `origin` is the window's start, nanoseconds.
        """
        nodes = self.members.shape[1]
        most = int(np.clip(_CELLS // max(nodes, self.members.nnz // 16, 1), 20, _INSTANTS))
        often = self.up_at(watched, _evenly(watched, most)).mean(axis=1)
        mine = np.flatnonzero(scope.system_of_incident == system)
        order = mine[np.argsort(scope.instants[mine], kind="stable")]
        chosen = order[np.linspace(0, order.size - 1, min(most, order.size)).astype(np.int64)]
        pairs = (np.ones(scope.node_of.size), (scope.incident_of, scope.node_of))
        nodes_hit = sparse.csr_array(pairs, shape=(scope.system_of_incident.size, nodes))
        hits = (self.members @ nodes_hit[chosen].T).toarray() > 0.0
        begun = origin + (scope.instants[chosen] * NANOSECONDS_PER_HOUR).astype(np.int64)
        both = hits & self.up_at(watched, begun - _BEFORE)
        number = max(chosen.size, 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(often > 0.0, both.sum(axis=1) / number / often, hits.sum(axis=1) / number), often


def placements(places: Places, candidates: IntArray, size: int, kind: str, rng: np.random.Generator) -> Placements:
    """Placements of a job on `size` of the candidates.

    Parameters
    ----------
    places : Places
    candidates : ndarray of int
        Positions of nodes of one system, in natural order.
    size : int
        Number of nodes of the job.
    kind : {"packed", "spread", "random"}
        Consecutive nodes, rack by rack where racks are known; nodes spread evenly over the racks, in random order; or
        any nodes.
    rng : numpy.random.Generator

    Returns
    -------
    Placements
        At most 200, chosen at random if there are more; for one node all.

    Raises
    ------
    ArgumentError
        For an unknown kind, a job larger than the system, or ``spread`` where no rack is known.
    """
    if kind not in PLACEMENTS:
        raise ArgumentError(f"no placement {kind!r}", remedy=f"use one of {', '.join(PLACEMENTS)}, or give nodes")
    total = candidates.size
    if not 1 <= size <= total:
        raise ArgumentError(f"a job of {size} nodes on a system of {total}", remedy=f"give 1 to {total}")
    if size == total:
        return _of_rows(candidates[None, :], places.system.size)
    if kind == "packed" or size == 1:
        candidates = candidates[np.argsort(places.rack[candidates], kind="stable")]
        first = np.arange(total - size + 1)
        if first.size > _MOST and size > 1:
            first = np.sort(rng.choice(first, _MOST, replace=False))
        return _of_rows(candidates[first[:, None] + np.arange(size)], places.system.size)
    number = int(np.clip(_CELLS // total, 20, _MOST))
    key = rng.random((number, total))
    if kind == "spread":
        rack = places.rack[candidates]
        if not (rack >= 0).any():
            remedy = Remedy("read the log with rack=, or use random", "use --column rack=NAME, or --placement random")
            raise ArgumentError("the log names no racks to spread a job over", remedy=remedy)
        by_rack = np.lexsort((key, np.broadcast_to(rack, key.shape)), axis=1)
        sizes = np.unique(rack, return_counts=True)[1]
        turn = np.arange(total) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # 0, 1, ...: the place within its rack
        rounds = np.empty(key.shape)
        np.put_along_axis(rounds, by_rack, np.broadcast_to(turn, key.shape).astype(np.float64), axis=1)
        key = key + rounds
    chosen = np.argpartition(key, size - 1, axis=1)[:, :size]
    return _of_rows(candidates[chosen], places.system.size)


def _of_rows(nodes: IntArray, n_nodes: int) -> Placements:
    rows = np.repeat(np.arange(nodes.shape[0]), nodes.shape[1])
    members = sparse.csr_array((np.ones(rows.size), (rows, nodes.ravel())), shape=(nodes.shape[0], n_nodes))
    return Placements(members, nodes.shape[1])


def _evenly(watched: Outages, number: int) -> IntArray:
    """Evenly spaced instants while nodes are watched, in nanoseconds."""
    first, last = watched.entered.min(), watched.left.max()
    return np.asarray(first + ((np.arange(number) + 0.5) * ((last - first) / number)).astype(np.int64))


def _up_at(watched: Outages, at: IntArray) -> FloatArray:
    """1 where a node was watched and up just before an instant, shape (nodes, instants); the last two are cached."""
    cache, key = _UP.setdefault(watched, {}), at.tobytes()
    if key not in cache:
        size, width = watched.n_groups, at.size + 1
        began, ended = (np.searchsorted(at, instants, "right") for instants in (watched.start, watched.end))
        here = np.flatnonzero(began != ended)  # most outages are between two instants
        node = np.concatenate([np.arange(size), watched.code[here]])

        def number(of_nodes: IntArray, places: IntArray) -> IntArray:
            cell = node * width + np.concatenate([np.searchsorted(at, of_nodes, "right"), places[here]])
            return np.bincount(cell, minlength=width * size).reshape(-1, width)

        there = number(watched.entered, ended) - number(np.maximum(watched.left, watched.entered), began)
        while len(cache) > 1:
            del cache[next(iter(cache))]
        cache[key] = (np.cumsum(there[:, :-1], axis=1) > 0).astype(np.float32)
    return cache[key]


def hit_probability(hit: npt.ArrayLike, of: npt.ArrayLike, most: int) -> FloatArray:
    """Probability that an incident hits a job with n nodes in its rack (or system), averaged over incidents.

    Parameters
    ----------
    hit, of : array_like of int, shape (incidents,)
        Number of nodes that each incident hit, and number of nodes there; which nodes it hits is taken as random.
    most : int
        Largest n.

    Returns
    -------
    ndarray, shape (most + 1,)
        For n = 0 ... `most`; without incidents 1 for n above 0.

    Examples
    --------
    Two incidents of racks of four nodes: one hit all of them, one a single node.

    >>> hit_probability([4, 1], [4, 4], 4).round(3).tolist()
    [0.0, 0.625, 0.75, 0.875, 1.0]
    """
    pairs, often = np.unique(np.stack([np.asarray(hit), np.asarray(of)], axis=1), axis=0, return_counts=True)
    n = np.arange(most + 1)
    if not pairs.size:
        return np.where(n > 0, 1.0, 0.0)
    h, m = np.minimum(pairs[:, :1], pairs[:, 1:]), pairs[:, 1:]
    use = np.minimum(n, m)

    def ways(a: NumberArray, b: NumberArray) -> FloatArray:
        return np.asarray(special.gammaln(a + 1.0) - special.gammaln(b + 1.0) - special.gammaln(a - b + 1.0))

    possible = use <= m - h
    missed = np.where(possible, np.exp(ways(np.where(possible, m - h, use), use) - ways(m, use)), 0.0)
    return np.asarray(often @ (1.0 - missed) / often.sum())


def hits_by_size(places: Places, scope: ScopeIncidents, origin: int) -> list[tuple[int, float, float]]:
    """Jobs on 1, 2, 4, ... consecutive nodes of a system: size, share of a scope's incidents that hit one, share up.

    Parameters
    ----------
    places : Places
        Of one system.
    scope : ScopeIncidents
    origin : int
        Start of the window, nanoseconds.

    Returns
    -------
    list of (int, float, float)
        Means over placements, weighted by how often all nodes of each are up. The third number is the share of the
        time under observation in which all nodes of the job are up; if they never are, that of half a sampled instant.
        Sizes whose nodes are all watched for less than a quarter of the time are left out.
    """
    watched, rng = places.watched, np.random.default_rng(0)
    most = watched.n_groups
    hits: list[tuple[int, float, float]] = []
    for size in (*(2 ** np.arange(int(np.ceil(np.log2(most))))).tolist(), most):
        where = placements(places, np.arange(most), size, "packed", rng)
        hit, often = where.hit_while_up(watched, scope, 0, origin)
        there = where.watched_at(watched, _evenly(watched, _INSTANTS))
        if there > (_TOGETHER if hits else 0.0):
            weights = often if often.any() else np.ones(often.size)
            up = float(np.clip(often.mean() / there, 0.5 / _INSTANTS, 1.0))
            hits.append((int(size), float(min(weights @ hit / weights.sum(), 1.0)), up))
    return hits
