"""Where the nodes of a system have their parameters from, and how certain those are, in free coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError
from relfit.families import Family

if TYPE_CHECKING:
    from relfit.fitting import FamilyFit, PooledFit
    from relfit.system.system import System

__all__ = ["Shared", "Source", "sources_of"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Shared:
    """Doubt that all pooled nodes share: that about the fleet's mean.

    Attributes
    ----------
    root : ndarray, shape (k, k)
        Root of the covariance of the fleet's mean: that is ``root @ root.T``.
    weight : ndarray, shape (sources, k)
        How far each source follows the fleet's mean: its shrinkage.
    """

    root: FloatArray
    weight: FloatArray


@dataclass(frozen=True, eq=False)
class Source:
    """The nodes of one family, and the fitted groups that their parameters come from.

    Attributes
    ----------
    family : type
    fit : FamilyFit or PooledFit
    groups : ndarray of int, shape (sources,)
        Positions of the fitted groups.
    positions, of_node : ndarray of int, shape (nodes,)
        Nodes in the system, and the source of each.
    ages : ndarray, shape (nodes,)
        Hours.
    free : ndarray, shape (sources, k)
        Estimates in free coordinates.
    origin : Fits, FamilyFit or PooledFit
        What the system was made from.
    """

    family: type[Family]
    fit: FamilyFit | PooledFit
    groups: IntArray
    positions: IntArray
    of_node: IntArray
    ages: FloatArray
    free: FloatArray
    origin: Any

    @property
    def n_sources(self) -> int:
        """Fitted groups."""
        return int(self.groups.size)

    @property
    def pooled(self) -> bool:
        """Whether the parameters are those of pooled nodes."""
        from relfit.fitting.pooling import PooledFit

        return isinstance(self.fit, PooledFit)

    def at(self, chosen: npt.NDArray[np.bool_]) -> Source:
        """Some of the fitted groups, without nodes."""
        none = np.empty(0, dtype=np.int64)
        return replace(self, groups=self.groups[chosen], free=self.free[chosen], positions=none, of_node=none)

    def of_family(self, fit: FamilyFit) -> Source:
        """The same groups fitted with another family."""
        return replace(self, family=fit.family, fit=fit, free=fit.family.to_free(fit.parameter_array[self.groups]))

    def covariance(self) -> tuple[FloatArray, Shared | None]:
        """Covariance of each source's own doubt, shape (sources, k, k), and the doubt that they share, if any.

        Raises
        ------
        ArgumentError
            When a fit has no covariance, and where to go then.
        """
        from relfit.fitting.estimates import jacobian
        from relfit.fitting.pooling import PooledFit

        if isinstance(self.fit, PooledFit):
            return _of_pooled(self.fit, self.groups)
        slope = jacobian(self.family, self.free)
        natural = self.fit.covariance[self.groups]
        with np.errstate(all="ignore"):
            usable = np.isfinite(natural).all(axis=(1, 2)) & np.isfinite(slope).all(axis=(1, 2))
            usable &= (np.diagonal(natural, axis1=1, axis2=2) >= 0.0).all(axis=1)
        if not usable.all():
            label = self.fit.groups[int(self.groups[np.flatnonzero(~usable)[0]])]
            raise ArgumentError(
                f"the {self.family.name} fit of group {label!r} has no covariance ({self.fit.method})",
                remedy="use kind='bootstrap', or pool the groups: fits.pool(...)",
            )
        inverse = np.linalg.inv(slope)
        return np.asarray(np.einsum("gij,gjk,glk->gil", inverse, natural, inverse)), None


def sources_of(system: System) -> list[Source]:
    """The sources of a system's nodes, an entry for each family.

    Raises
    ------
    ArgumentError
        For a system that was not made from fits.
    """
    origin: Any = system.origin
    if origin is None or system.sources is None:
        raise ArgumentError(
            "this system was made from given parameters, which have no uncertainty",
            remedy="make it from fits: rf.System.from_fits(rf.fit(lives), ages=...)",
        )
    return list(_each(system, origin))


def _each(system: System, origin: Any) -> Iterator[Source]:
    given = np.asarray(system.sources, dtype=np.int64)
    ages = np.broadcast_to(np.asarray(system.ages, dtype=np.float64), (system.n_nodes,))
    for component in system.components:
        family = component.family
        if not isinstance(family, Family):
            raise ArgumentError(
                f"{type(family).__name__} has no parameters that an interval could be made for",
                remedy="make the system from fits of single families",
            )
        kind = type(family)
        fit = _fit_of(origin, kind)
        positions = np.asarray(component.positions, dtype=np.int64)
        own = given[positions]
        if (own < 0).any():
            node = system.names[int(positions[np.flatnonzero(own < 0)[0]])]
            raise ArgumentError(
                f"node {node!r} has no fit of its own but what is expected of the fleet, without an uncertainty",
                remedy="make the system from pooled fits: fits.pool(...), or System.from_log(log, pooled=True)",
            )
        groups, of_node = np.unique(own, return_inverse=True)
        free = kind.to_free(fit.parameter_array[groups])
        yield Source(kind, fit, groups, positions, of_node.ravel(), ages[positions], free, origin)


def _fit_of(origin: Any, kind: type[Family]) -> FamilyFit | PooledFit:
    """The fit of one family among what a system was made from."""
    results = getattr(origin, "results", None)
    fit = results.get(kind.name) if isinstance(results, dict) else origin
    if fit is None or getattr(fit, "family", None) is not kind:
        raise ArgumentError(
            f"there is no {kind.name} fit among those that the system was made from",
            remedy="make the system from fits: rf.System.from_fits(rf.fit(lives), ages=...)",
        )
    found: FamilyFit | PooledFit = fit
    return found


def _of_pooled(fit: PooledFit, groups: IntArray) -> tuple[FloatArray, Shared | None]:
    """Own and shared doubt of pooled nodes.

    A node's posterior mean moves with the fleet's mean by its shrinkage B. The information about that mean is the sum
    of the precisions ``inv(covariance) (1 - B)`` over the fleet, and what is left of a node's covariance is its own.
    """
    seen: npt.NDArray[np.bool_] = np.isfinite(np.concatenate([fit.shrinkage, fit.free], axis=1)).all(axis=1)
    if not seen[groups].all():
        label = fit.groups[int(groups[np.flatnonzero(~seen[groups])[0]])]
        raise ArgumentError(f"group {label!r} has no pooled estimate", remedy="it has no lives; leave its node out")
    precision = np.linalg.inv(fit.fleet_covariance)
    information = precision * (1.0 - fit.shrinkage[seen]).sum(axis=0)
    information = 0.5 * (information + information.T)
    values, vectors = np.linalg.eigh(np.linalg.pinv(information, hermitian=True))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    weight = fit.shrinkage[groups]
    common = np.einsum("gi,ij,kj,gk->gik", weight, root, root, weight)
    own_values, own_vectors = np.linalg.eigh(fit.covariance[groups] - common)
    own = np.einsum("gij,gj,gkj->gik", own_vectors, np.maximum(own_values, 0.0), own_vectors)
    return own, Shared(root, weight)
