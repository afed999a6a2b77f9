"""Several systems made of the same nodes, asked at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.system.engines import Engine, Sets
from relfit.system.quantities import Quantities, engine_of, tails_of

if TYPE_CHECKING:
    from relfit.system.system import System

__all__ = ["SystemSets"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class SystemSets(Quantities):
    """Sets of nodes of one system; results have the sets as their first dimension.

    Attributes
    ----------
    system : System
        All nodes, with the tolerance, racks and common causes that hold for every set.
    members : Sets
        Positions of the nodes of each set.

    Examples
    --------
    >>> import relfit as rf
    >>> pairs = rf.System(rf.families.Weibull(0.8, [1000.0, 2000.0, 500.0])).sets([[0, 1], [0, 2], [1, 2]])
    >>> pairs.mttf().round(1).tolist()
    [642.5, 321.2, 396.7]
    """

    system: System
    members: Sets

    @classmethod
    def of(cls, system: System, sets: Any) -> SystemSets:
        """Sets from lists of positions, or the rows of a boolean matrix.

        Raises
        ------
        ArgumentError
            For no set, an empty one, a node that is not there or stands twice in a set.
        """
        if isinstance(sets, Sets):
            return cls(system, sets)
        matrix = sets.to_numpy() if isinstance(sets, pd.DataFrame) else sets
        if isinstance(matrix, np.ndarray) and matrix.dtype == np.bool_:
            if matrix.ndim != 2 or matrix.shape[1] != system.n_nodes:
                raise ArgumentError(f"a matrix of shape {matrix.shape} for {system.n_nodes} nodes")
            sizes, members = matrix.sum(axis=1), np.nonzero(matrix)[1].astype(np.int64)
        elif isinstance(matrix, np.ndarray) and matrix.ndim == 2 and matrix.dtype.kind in "iu":
            sizes, members = np.full(matrix.shape[0], matrix.shape[1]), matrix.astype(np.int64).ravel()
        else:
            parts = [np.asarray(one) for one in matrix]
            for i, part in enumerate(parts):
                if part.ndim != 1 or (part.size and part.dtype.kind not in "iu"):
                    raise ArgumentError(f"set {i} is no list of positions", remedy="give lists of integers")
            sizes = np.array([part.size for part in parts], dtype=np.int64)
            members = np.concatenate(parts).astype(np.int64) if parts else np.empty(0, dtype=np.int64)
        if not sizes.size:
            raise ArgumentError("no set of nodes", remedy="give at least one")
        if (sizes == 0).any():
            raise ArgumentError(f"set {int(np.flatnonzero(sizes == 0)[0])} has no nodes")
        row = np.repeat(np.arange(sizes.size), sizes)
        bad = (members < 0) | (members >= system.n_nodes)
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            raise ArgumentError(f"set {row[at]}: there is no node {members[at]}, the system has {system.n_nodes}")
        keys = np.sort(row * system.n_nodes + members)
        twice = np.flatnonzero(keys[1:] == keys[:-1])
        if twice.size:
            key = int(keys[twice[0]])
            raise ArgumentError(f"set {key // system.n_nodes} has node {key % system.n_nodes} twice")
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        if (sizes <= system.tolerance).any():
            at = int(np.flatnonzero(sizes <= system.tolerance)[0])
            raise ArgumentError(f"set {at} has {sizes[at]} nodes and cannot lose {system.tolerance}")
        return cls(system, Sets(members, offsets))

    @property
    def n_sets(self) -> int:
        """Number of sets."""
        return self.members.n_sets

    @property
    def sizes(self) -> IntArray:
        """Nodes in each set."""
        return self.members.sizes

    def __len__(self) -> int:
        return self.n_sets

    @cached_property
    def _engine(self) -> Engine:
        return engine_of(self.system, self.members)

    @property
    def _shape(self) -> tuple[int, ...]:
        return (self.n_sets,)

    def _tails(self) -> FloatArray:
        return tails_of(self.system, self.members)

    def _interval(self, quantity: str, argument: Any, level: float) -> Any:
        raise ArgumentError("intervals are of one system", remedy="take the set: system.take(positions)")

    def to_frame(self, horizon: Any = "24h") -> pd.DataFrame:
        """One row a set: its size, mean time to failure, and reliability and hazard at one horizon."""
        return pd.DataFrame(
            {
                "nodes": self.sizes,
                "reliability": self.reliability(horizon),
                "hazard": self.hazard(horizon),
                "mttf": self.mttf(),
            }
        )

    def __repr__(self) -> str:
        return f"SystemSets: {self.n_sets} sets of {self.sizes.min()} to {self.sizes.max()} of {self.system!r}"
