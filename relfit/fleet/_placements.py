"""Where a job's nodes stand, and how likely an incident of several nodes hits one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse, special

from relfit.arrays import FloatArray, IntArray
from relfit.errors import ArgumentError
from relfit.fleet.operating_time import Places, Scope

__all__ = ["PLACEMENTS", "Placements", "hit_probability", "placements"]

PLACEMENTS = ("packed", "spread", "random")
_MOST, _CELLS = 200, 4_000_000


@dataclass(frozen=True, eq=False)
class Placements:
    """Ways to place a job of one size, one row each.

    Attributes
    ----------
    members : scipy.sparse.csr_array, shape (placements, nodes)
        1 where a node belongs to the job.
    nodes : int
        Size of the job.
    """

    members: Any
    nodes: int

    def sums(self, by_node: FloatArray) -> FloatArray:
        """Sum over the nodes of each placement, shape (placements, draws), from (draws, nodes)."""
        return np.asarray(self.members @ by_node.T, np.float64)

    def racks_hit(self, places: Places, table: FloatArray) -> FloatArray:
        """Expected number of racks whose incident hits the job, of one incident in each rack; shape (placements,)."""
        inside = np.flatnonzero(places.rack >= 0)
        shape = (places.rack.size, len(places.racks))
        in_rack = sparse.csr_array((np.ones(inside.size), (inside, places.rack[inside])), shape=shape)
        counts = sparse.csr_array(self.members @ in_rack)
        counts.data = table[counts.data.astype(np.int64)]
        return np.asarray(counts.sum(axis=1), np.float64).ravel()

    def share_hit(self, incidents: Any) -> FloatArray:
        """Share of incidents, of shape (incidents, nodes), that hit a node of each placement; shape (placements,)."""
        both = sparse.csr_array(self.members @ incidents.T)
        return np.asarray(np.diff(both.indptr) / max(incidents.shape[0], 1), np.float64)


def placements(places: Places, candidates: IntArray, size: int, kind: str, rng: np.random.Generator) -> Placements:
    """Placements of a job on `size` of the candidates.

    Parameters
    ----------
    places : Places
    candidates : ndarray of int
        Nodes of one system, in their natural order.
    size : int
    kind : {"packed", "spread", "random"}
        A run of consecutive nodes; one node in each rack as far as that goes, in a random order of racks; or any.
    rng : numpy.random.Generator

    Raises
    ------
    ArgumentError
        For an unknown kind, or a job larger than the system.
    """
    if kind not in PLACEMENTS:
        raise ArgumentError(f"no placement {kind!r}", remedy=f"use one of {', '.join(PLACEMENTS)}, or give nodes")
    total = candidates.size
    if not 1 <= size <= total:
        raise ArgumentError(f"a job of {size} nodes on a system of {total}", remedy=f"give 1 to {total}")
    if size == total:
        return _of_rows(candidates[None, :], places.system.size)
    if kind == "packed" or size == 1:
        first = np.arange(total - size + 1)
        if first.size > _MOST and size > 1:
            first = np.sort(rng.choice(first, _MOST, replace=False))
        return _of_rows(candidates[first[:, None] + np.arange(size)], places.system.size)
    number = int(np.clip(_CELLS // total, 20, _MOST))
    key = rng.random((number, total))
    if kind == "spread" and (places.rack[candidates] >= 0).any():
        rack = places.rack[candidates]
        by_rack = np.lexsort((key, np.broadcast_to(rack, key.shape)), axis=1)
        sizes = np.unique(rack, return_counts=True)[1]
        turn = np.arange(total) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # first, second, ... node of its rack
        rounds = np.empty(key.shape)
        np.put_along_axis(rounds, by_rack, np.broadcast_to(turn, key.shape).astype(np.float64), axis=1)
        key = key + rounds
    chosen = np.argpartition(key, size - 1, axis=1)[:, :size]
    return _of_rows(candidates[chosen], places.system.size)


def _of_rows(nodes: IntArray, n_nodes: int) -> Placements:
    rows = np.repeat(np.arange(nodes.shape[0]), nodes.shape[1])
    members = sparse.csr_array((np.ones(rows.size), (rows, nodes.ravel())), shape=(nodes.shape[0], n_nodes))
    return Placements(members, nodes.shape[1])


def hit_probability(hit: npt.ArrayLike, of: npt.ArrayLike, most: int) -> FloatArray:
    """Probability that an incident hits a job with n nodes at its place, n = 0 ... `most`, averaged over incidents.

    Parameters
    ----------
    hit, of : array_like of int, shape (incidents,)
        Nodes that each incident hit, of how many at its place; which of them is taken as chance.
    most : int

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

    def ways(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> FloatArray:
        return np.asarray(special.gammaln(a + 1.0) - special.gammaln(b + 1.0) - special.gammaln(a - b + 1.0))

    possible = use <= m - h
    missed = np.where(possible, np.exp(ways(np.where(possible, m - h, use), use) - ways(m, use)), 0.0)
    return np.asarray(often @ (1.0 - missed) / often.sum())


def incident_members(scope: Scope, n_nodes: int) -> Any:
    """Nodes that each incident of a scope hit, a sparse array of shape (incidents, nodes)."""
    shape = (scope.system_of_incident.size, n_nodes)
    return sparse.csr_array((np.ones(scope.node_of.size), (scope.incident_of, scope.node_of)), shape=shape)
