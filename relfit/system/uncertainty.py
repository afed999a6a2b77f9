"""Draws of the parameters of fitted nodes, and confidence intervals of a system's quantities from them.

Nodes that share a fit share its draws, because their errors are the same. Pooled nodes also share the uncertainty of
the fleet's mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.base.arguments import one_whole, random_stream
from relfit.base.arrays import BoolArray, FloatArray, IntArray, Seed
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.numeric.levels import level_checked
from relfit.base.text import count
from relfit.fitting import FamilyFit, Fits, PooledFit
from relfit.fitting.estimates import free_covariance
from relfit.fitting.families import Family
from relfit.system._quantities import Quantities
from relfit.system.checked_nodes import Component, duration_array
from relfit.system.first_k import CELLS, Factors, FailureRule, node_hazards, node_tails

QUANTITIES: dict[str, str | None] = {
    **dict.fromkeys(("reliability", "cdf", "cumulative_hazard", "hazard", "pdf"), "horizon"),
    **{"quantile": "probability", "mttf": None, "mean_residual_life": "after"},
    **dict.fromkeys(("truncated_mean", "mean_given_failure"), "horizon"),
}
"""Quantities with intervals, and the argument of each."""

BY_SIZE = ("reliability", "cdf", "cumulative_hazard", "hazard", "mttf")
_FEWEST = 19
_GIVE_A_LOG = "give the log itself, or a file that relfit fit --out wrote"
_FROM_FITS = Remedy("make it from fits: rf.system_from_fits(rf.fit(times), ages=...)", _GIVE_A_LOG)
_MOST_WORK = 10_000_000  # nodes times tolerance times draws: ten minutes


@dataclass(frozen=True, eq=False)
class ParameterSource:
    """The nodes of one distribution, the fitted groups of their parameters, and the uncertainty of these."""

    family: type[Family]
    positions: IntArray  # of the nodes in the system
    of_node: IntArray  # group of each
    free: FloatArray  # estimates in free coordinates, (groups, k)
    root: FloatArray  # matrix root of each group's own covariance, (groups, k, k)
    shared: FloatArray | None  # the same for the error that pooled groups have in common
    pooled: bool  # whether these are pooled nodes, whose parameters vary from node to node

    def draw(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Random parameters of the nodes, shape (size, nodes, k), normal in free coordinates."""
        free = self.free + np.einsum("gij,dgj->dgi", self.root, rng.standard_normal((size, *self.free.shape)))
        if self.shared is not None:
            free = free + np.einsum("gij,dj->dgi", self.shared, rng.standard_normal((size, self.free.shape[1])))
        return self.family.from_free(free)[:, self.of_node]


def sources_of(
    components: Sequence[Component], names: pd.Index, groups: IntArray | None, origin: object
) -> list[ParameterSource]:
    """The sources of the parameters of a system's nodes, one entry per distribution; `groups` are positions of fits.
    `origin` has the fits, or draws nodes itself (``node_sources``, ``wide_factors``); an `ArgumentError` for a system
    not made from fits, or fits without a covariance.
    """
    if origin is None or groups is None:
        raise ArgumentError("this system was made from given parameters, which have no uncertainty", remedy=_FROM_FITS)
    if hasattr(origin, "node_sources"):
        return list(origin.node_sources(components, groups))
    sources = []
    for component in components:
        kind = type(component.family)
        fit = origin.results.get(getattr(kind, "name", "")) if isinstance(origin, Fits) else origin
        if not issubclass(kind, Family) or not isinstance(fit, (FamilyFit, PooledFit)) or fit.family is not kind:
            raise ArgumentError(
                f"there is no {kind.__name__} fit among those that the system was made from", remedy=_FROM_FITS
            )
        own = groups[component.positions]
        if (own < 0).any():
            node = names[int(component.positions[np.flatnonzero(own < 0)[0]])]
            raise ArgumentError(
                f"node {node!r} has no fit of its own but what is expected of the fleet, without an uncertainty",
                remedy=Remedy("make it from pooled fits: fits.pool(...), or rf.system_from_log(log)", _GIVE_A_LOG),
            )
        used, of_node = np.unique(own, return_inverse=True)
        own_root, shared = _roots(fit, kind, used)
        free = kind.to_free(fit.parameter_array[used])
        pooled = isinstance(fit, PooledFit)
        sources.append(ParameterSource(kind, component.positions, of_node.ravel(), free, own_root, shared, pooled))
    return sources


def _roots(fit: FamilyFit | PooledFit, kind: type[Family], groups: IntArray) -> tuple[FloatArray, FloatArray | None]:
    """Roots of the covariances of each group in free coordinates: its own, and the one shared with the fleet."""
    if isinstance(fit, PooledFit):
        return _pooled_roots(fit, groups)
    covariance = free_covariance(kind, kind.to_free(fit.parameter_array[groups]), fit.covariance[groups])
    usable = np.isfinite(covariance).all(axis=(1, 2)) & (np.diagonal(covariance, axis1=1, axis2=2) >= 0.0).all(axis=1)
    if not usable.all():
        label = fit.groups[int(groups[np.flatnonzero(~usable)[0]])]
        raise ArgumentError(
            f"the {kind.name} fit of group {label!r} has no covariance ({fit.method})",
            remedy=Remedy(
                "fit by maximum likelihood, or pool the groups: fits.pool(...)",
                "fit by maximum likelihood, or give relfit system LOG --missing pool",
            ),
        )
    return _root(covariance), None


def _pooled_roots(fit: PooledFit, groups: IntArray) -> tuple[FloatArray, FloatArray]:
    """Own and shared uncertainty of pooled nodes. A posterior mean moves with the fleet's by its shrinkage B; the
    information about that is the sum of ``inv(covariance) (1 - B)``.
    """
    seen: BoolArray = np.isfinite(np.concatenate([fit.shrinkage, fit.free], axis=1)).all(axis=1)
    if not seen[groups].all():
        label = fit.groups[int(groups[np.flatnonzero(~seen[groups])[0]])]
        raise ArgumentError(f"group {label!r} has no pooled estimate", remedy="it has no durations; leave its node out")
    information = np.linalg.inv(fit.fleet_covariance) * (1.0 - fit.shrinkage[seen]).sum(axis=0)
    root = _root(np.linalg.pinv(0.5 * (information + information.T), hermitian=True))
    shared = fit.shrinkage[groups][:, :, None] * root
    return _root(fit.covariance[groups] - np.einsum("gij,gkj->gik", shared, shared)), shared


def _root(covariance: FloatArray) -> FloatArray:
    """Roots of symmetric matrices, shape (..., k, k), with negative eigenvalues set to zero."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])


@dataclass(frozen=True, eq=False)
class DrawnParameters:
    """Draws of the parameters of all nodes, in chunks that fit into memory."""

    sources: list[ParameterSource]
    n_nodes: int
    wide: Callable[[int, np.random.Generator], tuple[FloatArray, FloatArray]] | None = None

    def chunks(self, n_draws: int, rng: Seed) -> Iterator[tuple[tuple[Component, ...], Factors]]:
        """Nodes with distributions of shape (draws, nodes), and factors of causes and racks, by chunk."""
        generator = random_stream(rng)
        step = max(1, CELLS // self.n_nodes)
        for first in range(0, n_draws, step):
            size = min(step, n_draws - first)
            drawn = [
                Component(one.family.unchecked(*np.moveaxis(one.draw(size, generator), -1, 0)), one.positions)
                for one in self.sources
            ]
            yield tuple(drawn), None if self.wide is None else self.wide(size, generator)

    def each(self, n_draws: int, rng: Seed) -> Iterator[tuple[tuple[Component, ...], tuple[FloatArray, float] | None]]:
        """The nodes of each draw in turn, and the factors of the hazards of common causes and of racks."""
        for chunk, wide in self.chunks(n_draws, rng):
            for i in range(chunk[0].family.batch_shape[0]):
                nodes = tuple(Component(drawn.family[i], drawn.positions) for drawn in chunk)
                yield nodes, None if wide is None else (wide[0][i], float(wide[1][i]))

    def values(
        self, quantity: str, at: FloatArray | None, ages: FloatArray, rule: FailureRule, n_draws: int, rng: Seed
    ) -> FloatArray:
        """A quantity of the system in every draw, shape ``(n_draws, *at)``."""
        arguments = () if at is None else (at,)
        parts = [getattr(DrawnSystems(*c, ages, rule), quantity)(*arguments) for c in self.chunks(n_draws, rng)]
        return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class DrawnSystems(Quantities):
    """A system with several draws of its nodes' parameters at once."""

    nodes: tuple[Component, ...]  # distributions of shape (draws, nodes)
    factors: Factors  # of hazards of common causes (draws, causes), and of racks (draws,)
    ages: FloatArray
    rule: FailureRule

    @property
    def _shape(self) -> tuple[int, ...]:
        return self.nodes[0].family.batch_shape[:1]

    def _combined(self, x: FloatArray, rates: bool) -> FloatArray:
        m, rows = x.shape
        out, size = np.empty((m, rows)), self.ages.size
        nodes = [Component(drawn.family[:rows], drawn.positions) for drawn in self.nodes]
        step = max(1, CELLS // (rows * self.ages.size))
        for first in range(0, m, step):
            times, factors = x[first : first + step], None
            spent = node_hazards(nodes, self.ages, times).reshape(-1, size)
            rate = node_hazards(nodes, self.ages, times, rates=True).reshape(-1, size) if rates else None
            if self.factors is not None:
                causes, racks = (f[:rows] for f in self.factors)
                factors = np.tile(causes, (len(times), 1)), np.tile(racks, len(times))
            values = self.rule.combine(times.reshape(-1), spent, rate, factors=factors)
            out[first : first + step] = values[int(rates)].reshape(-1, rows)
        return out

    def _log_reliability(self, x: FloatArray) -> FloatArray:
        return self._combined(x, False)

    def _rate(self, x: FloatArray) -> FloatArray:
        return self._combined(np.maximum(x, 1e-100) if self.rule.tolerance else x, True)

    def _finite(self) -> BoolArray:
        return self.rule.means_are_finite(node_tails(self.nodes, self.ages.size))


def check_work(nodes: int, tolerance: int, n_draws: int = 1) -> None:
    """Reject a count of failures of this many nodes in this many draws that takes more than ten minutes."""
    work = float(nodes) * (tolerance + 2.0) * n_draws
    if tolerance and work > _MOST_WORK:
        raise ArgumentError(
            f"{tolerance:,} of {nodes:,} nodes that may fail, in {count(n_draws, 'draw')}, are too many to work out",
            remedy=Remedy(
                "give a smaller tolerance, n_draws or fewer nodes", "give a smaller --tolerate, --draws or fewer nodes"
            ),
        )


def checked(quantity: str, argument: object, level: float, n_draws: int, by_size: bool) -> FloatArray | None:
    """The argument in hours, or as a probability; raises an ArgumentError for an impossible request."""
    if quantity not in QUANTITIES:
        raise ArgumentError(f"no quantity {quantity!r} of a system", remedy=f"use one of {', '.join(QUANTITIES)}")
    if by_size and quantity not in BY_SIZE:
        raise ArgumentError(f"{quantity} is not to be had by size", remedy=f"use one of {', '.join(BY_SIZE)}")
    level_checked(level)
    if one_whole("n_draws", n_draws, 0) < _FEWEST:
        raise ArgumentError(f"{n_draws} draws are too few", remedy="use 199 or 999")
    wanted = QUANTITIES[quantity]
    if (argument is None) != (wanted is None):
        what = f"{quantity} needs a {wanted}" if wanted else f"{quantity} takes no argument"
        raise ArgumentError(what, remedy="give a time as '24h', or a probability for a quantile")
    if wanted is None:
        return None
    if wanted == "probability":
        p = np.asarray(argument, dtype=np.float64)
        if not ((p > 0.0) & (p < 1.0)).all():
            raise ArgumentError("a probability must lie between 0 and 1")
        return p
    at = duration_array(argument, wanted)
    if not (at >= 0.0).all():
        raise ArgumentError(f"a {wanted} of {at[~(at >= 0.0)].ravel()[0]:g} h", remedy="give hours at or above zero")
    return at


def limits(
    estimate: FloatArray, drawn: FloatArray, level: float, *, reflect: bool, most: npt.ArrayLike = np.inf
) -> tuple[FloatArray, FloatArray]:
    """Limits of a positive quantity from draws: percentiles of its log, or of its log odds below the bound `most`.
    `reflect` reflects them at the estimate (basic bootstrap: Davison and Hinkley 1997, section 5.2): with many fits the
    curvature of the scale shifts the draws, and plain percentiles count that twice. Widened to contain the estimate.
    """
    end = np.asarray(most, dtype=np.float64)
    ended = np.isfinite(end)

    def scaled(value: FloatArray) -> FloatArray:
        return np.asarray(np.log(value) - np.where(ended, np.log(np.maximum(end - value, 0.0)), 0.0))

    with np.errstate(all="ignore"):
        centre = scaled(estimate)
        low, high = np.quantile(scaled(drawn), [0.5 - level / 2, 0.5 + level / 2], axis=0)
        if reflect:
            low, high = 2.0 * centre - high, 2.0 * centre - low
        same = (drawn == estimate).all(axis=0)  # at a horizon of zero, say
        low, high = (np.where(same, estimate, np.where(ended, end * special.expit(v), np.exp(v))) for v in (low, high))
    return np.minimum(low, estimate), np.maximum(high, estimate)
