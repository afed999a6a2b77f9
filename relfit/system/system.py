"""`System`: the nodes that a job runs on, with the time to the first failure among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.families import Distribution
from relfit.system.components import (
    LONGEST_AGE,
    Component,
    ages_in_hours,
    components_of,
    duration_array,
    node_label,
)
from relfit.system.excess import excess_inverse
from relfit.system.hazards import total_cumulative_hazard, total_rate
from relfit.system.quadrature import integrate_reliability
from relfit.system.solving import time_of_log_hazard

__all__ = ["System"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_LOG_HALF = 0.6931471805599453


@dataclass(frozen=True, eq=False, init=False, repr=False)
class System:
    """Nodes of any families, parameters and ages, all needed: the first failure ends the job.

    Parameters
    ----------
    nodes : Distribution, or sequence of Distribution
        A batch of a family (one entry a node), one distribution for all nodes, or a list with one for each node.
    ages : float, duration, or array of these
        Time since each node's last failure, hours unless it says otherwise ("30 days", Timedelta).
    names : sequence, optional
        What the nodes are called in errors and tables; their positions from 0 when left out.
    sources : array_like of int, optional
        From which fitted group each node has its parameters, so that shared ones are known to be shared.
    unit : str
        Unit of ages that are plain numbers.
    longest_age : float or duration, optional
        An age above it is refused as one in other units; None allows any.

    Examples
    --------
    Three nodes of one family, 200 hours after their last failures (models.md, section 2):

    >>> import relfit as rf
    >>> system = rf.System(rf.families.Weibull(0.8606, [1542.0] * 3), ages=200.0)
    >>> system.reliability(350.0).round(4).tolist(), system.mttf().round(4).tolist()
    (0.4877, 522.4005)
    """

    components: tuple[Component, ...]
    ages: FloatArray
    names: pd.Index
    sources: IntArray | None
    origin: Any

    def __init__(
        self,
        nodes: Distribution | Sequence[Distribution],
        ages: Any = 0.0,
        *,
        names: Any = None,
        sources: npt.ArrayLike | None = None,
        unit: str = "hours",
        longest_age: Any = LONGEST_AGE,
        origin: Any = None,
    ) -> None:
        labels = None if names is None else pd.Index(names)
        given = duration_array(ages, "age", unit)
        count = labels.size if labels is not None else given.size if given.ndim else None
        if given.ndim and labels is not None and given.size not in (1, labels.size):
            raise ArgumentError(f"{labels.size} names but {given.size} ages")
        components = components_of(nodes, count, labels)
        size = sum(len(component) for component in components)
        longest = None if longest_age is None else float(duration_array(longest_age))
        checked = ages_in_hours(given, size, labels, longest=longest)
        own = None if sources is None else np.asarray(sources, dtype=np.int64)
        if own is not None and own.shape != (size,):
            raise ArgumentError(f"{size} nodes but sources of shape {own.shape}")
        self._set(components, checked, pd.RangeIndex(size) if labels is None else labels, own, origin)

    def _set(
        self,
        components: tuple[Component, ...],
        ages: FloatArray,
        names: pd.Index,
        sources: IntArray | None,
        origin: Any,
    ) -> None:
        for name, value in (
            ("components", components),
            ("ages", ages),
            ("names", names),
            ("sources", sources),
            ("origin", origin),
        ):
            object.__setattr__(self, name, value)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.ages.size)

    def __len__(self) -> int:
        return self.n_nodes

    def take(self, positions: npt.ArrayLike) -> System:
        """The system of the nodes at these positions, in this order.

        Raises
        ------
        ArgumentError
            For no position, one that is not there, or one given twice.
        """
        chosen = self._checked_positions(positions)
        place = np.full(self.n_nodes, -1, dtype=np.int64)
        place[chosen] = np.arange(chosen.size)
        parts = []
        for component in self.components:
            new = place[component.positions]
            if (new >= 0).any():
                parts.append(Component(component.family[new >= 0], new[new >= 0]))
        part = object.__new__(System)
        sources = None if self.sources is None else self.sources[chosen]
        part._set(tuple(parts), self.ages[chosen], self.names[chosen], sources, self.origin)
        return part

    def _checked_positions(self, positions: npt.ArrayLike) -> IntArray:
        given = np.asarray(positions)
        if given.dtype == np.bool_:
            given = np.flatnonzero(given)
        chosen = given.astype(np.int64).reshape(-1)
        if not chosen.size:
            raise ArgumentError("a system of no nodes", remedy="give at least one node")
        if chosen.min() < 0 or chosen.max() >= self.n_nodes:
            bad = int(chosen[(chosen < 0) | (chosen >= self.n_nodes)][0])
            raise ArgumentError(f"there is no node {bad}: the system has {self.n_nodes}")
        if np.unique(chosen).size < chosen.size:
            values, counts = np.unique(chosen, return_counts=True)
            raise ArgumentError(f"{node_label(self.names, int(values[counts > 1][0]))} is given twice")
        return chosen

    # ------------------------------------------------------------ of a horizon

    def cumulative_hazard(self, horizon: Any) -> FloatArray:
        """Minus the log of the reliability, in the shape of `horizon`."""
        return total_cumulative_hazard(self.components, self.ages, self._horizon(horizon))

    def log_reliability(self, horizon: Any) -> FloatArray:
        """Log of the probability that no node fails within `horizon`."""
        return -self.cumulative_hazard(horizon)

    def reliability(self, horizon: Any, interval: float | None = None) -> Any:
        """Probability that no node fails within `horizon` (hours or durations), in its shape."""
        if interval is not None:
            return self._interval("reliability", horizon, interval)
        with np.errstate(under="ignore"):
            return np.exp(-self.cumulative_hazard(horizon))

    def cdf(self, horizon: Any) -> FloatArray:
        """Probability that a node fails within `horizon`."""
        with np.errstate(under="ignore"):
            return -np.expm1(-self.cumulative_hazard(horizon))

    def hazard(self, horizon: Any) -> FloatArray:
        """Failure rate in `horizon` hours, per hour, given no failure until then."""
        return total_rate(self.components, self.ages, self._horizon(horizon))

    def pdf(self, horizon: Any) -> FloatArray:
        """Density of the time to the first failure, per hour."""
        x = self._horizon(horizon)
        with np.errstate(under="ignore"):
            return np.exp(-self.cumulative_hazard(x)) * self.hazard(x)

    def _horizon(self, horizon: Any) -> FloatArray:
        x = duration_array(horizon, "horizon")
        if np.any(~(x >= 0.0)):
            raise ArgumentError(
                f"a horizon of {x[~(x >= 0.0)].ravel()[0]:g} h", remedy="give hours from now, at or above zero"
            )
        return x

    def _interval(self, quantity: str, argument: Any, level: float) -> Any:
        from relfit.system.uncertainty import interval_of  # type: ignore[import-not-found,unused-ignore]

        return interval_of(self, quantity, argument, level)

    # --------------------------------------------------------- of a probability

    def quantile(self, probability: npt.ArrayLike) -> FloatArray:
        """Time by which the job has been ended by a failure with this probability; infinite where never."""
        p = np.asarray(probability, dtype=np.float64)
        if np.any(~((p >= 0.0) & (p <= 1.0))):
            raise ArgumentError("a probability must lie between 0 and 1")
        with np.errstate(divide="ignore"):
            return self._time_of_hazard(-np.log1p(-p))

    def _time_of_hazard(self, hazard: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            wanted = np.log(hazard.reshape(-1))

        def log_hazard(_: npt.NDArray[np.intp], time: FloatArray) -> FloatArray:
            return np.log(total_cumulative_hazard(self.components, self.ages, time))

        return time_of_log_hazard(log_hazard, wanted).reshape(hazard.shape)

    # ----------------------------------------------------------------- moments

    def mttf(self) -> FloatArray:
        """Mean time to the first failure, in hours; infinite where the integral of the reliability is."""
        median = np.maximum(self._time_of_hazard(np.array([_LOG_HALF])), 1e-300)
        return np.asarray(integrate_reliability(self._rows, median, beyond=True).value[0])

    def mean_residual_life(self, after: Any) -> FloatArray:
        """Mean time to the first failure of a job that has run for `after` without one."""
        x = self._horizon(after)
        return np.array([float(self._aged(float(one)).mttf()) for one in x.ravel()]).reshape(x.shape)

    def _aged(self, by: float) -> System:
        older = object.__new__(System)
        older._set(self.components, self.ages + by, self.names, self.sources, self.origin)
        return older

    def truncated_mean(self, horizon: Any) -> FloatArray:
        """Mean of the shorter of the time to failure and `horizon`: the integral of the reliability up to it."""
        x = self._horizon(horizon)
        flat = x.reshape(-1)
        found = np.zeros(flat.size)
        some = flat > 0.0
        finite = some & np.isfinite(flat)
        if finite.any():
            found[finite] = integrate_reliability(self._rows, flat[finite], beyond=False).value
        if (some & ~finite).any():
            found[some & ~finite] = self.mttf()
        return found.reshape(x.shape)

    def _rows(self, times: FloatArray) -> FloatArray:
        return np.exp(-total_cumulative_hazard(self.components, self.ages, times))

    # ------------------------------------------------------------------ chance

    def sample(self, size: int = 1, rng: int | np.random.Generator | None = None) -> FloatArray:
        """Random times to the first failure, shape (size,)."""
        generator = np.random.default_rng(rng)
        best = np.full(size, np.inf)
        for component in self.components:
            width = max(1, 2_000_000 // max(1, size))
            for first in range(0, len(component), width):
                part = slice(first, first + width)
                spent = generator.standard_exponential((size, component.positions[part].size))
                left = excess_inverse(component.family[part], self.ages[component.positions[part]], spent)
                best = np.minimum(best, left.min(axis=1))
        return best

    def __repr__(self) -> str:
        kinds = ", ".join(f"{len(c)} {getattr(c.family, 'name', 'other')}" for c in self.components)
        return f"System of {self.n_nodes} nodes ({kinds}), ages {self.ages.min():.4g} to {self.ages.max():.4g} h"
