"""`System`: the nodes of a job, with the time until more of them have failed than the job tolerates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import BoolArray, Durations, FloatArray, IntArray, Seed
from relfit.base.errors import ArgumentError
from relfit.base.numeric.quadrature import integrate_reliability
from relfit.base.results import Interval, Result, json_ready
from relfit.base.text import number
from relfit.system import sampling, uncertainty
from relfit.system._nodes import SystemNodes
from relfit.system._quantities import Quantities, finite_hours
from relfit.system.checked_nodes import duration_array
from relfit.system.first_k import CELLS, FailureRule, node_hazards, node_tails


@dataclass(frozen=True, eq=False, init=False, repr=False)
class System(SystemNodes, Quantities):
    """Nodes with any distributions and ages, with common causes that end a job on them.

    Parameters
    ----------
    nodes : Distribution, or sequence of Distribution
        Distributions of the nodes: a batch with one entry per node, one distribution for all nodes, or a list.
    ages : float, duration, or array of these
        Time since each node's last failure: one for all nodes or one per node, in hours (see `unit`) or text such as
        "30 days"; 0 by default.
    names : sequence, optional
        Names of the nodes in errors and tables; their positions from 0 by default.
    sources : array_like of int, optional
        The fitted group of each node's parameters; nodes of one group share its uncertainty.
    tolerance : int
        Number of nodes that may fail before the job ends (hot spares or replicas). Failed nodes are not replaced.
    common : Distribution, pair (Distribution, age), list or dict of these, optional
        Times to events that end the job on any nodes (power, cooling, file system). The age is the time since the last
        such event.
    racks, rack_lives, rack_ages : optional
        Label of each node's rack; time to an event that takes all its nodes down (one distribution, or one per label);
        time since the last one (0 by default). Only racks with nodes in the system count.
    rack_events : {"nodes", "job"}
        With a tolerance: whether an event of a rack counts as the failure of all its nodes in the system, or ends the
        job. Without one it always ends the job.
    unit : str
        Unit of numbers in `ages`.
    longest_age : float or duration, optional
        A longer age (a hundred years by default) is rejected as a wrong unit; None allows any.

    Raises
    ------
    DataError
        For an impossible age or parameter; the error names the node.
    ArgumentError
        For a system of no nodes, or inconsistent arguments.

    Notes
    -----
    ``R(x) = prod S_i(t_i + x) / S_i(t_i)`` (reliability-aware allocation, chapter 4). Cumulative hazards are summed, so
    100,000 nodes do not underflow. Horizons are hours from now, or text such as "24h", of any shape; results have the
    shape of the horizon.

    Examples
    --------
    Three nodes of one distribution, 200 hours after their last failures (reliability-aware allocation, chapter 4):

    >>> import relfit as rf
    >>> system = rf.System(rf.families.Weibull(0.8606, [1542.0] * 3), ages=200.0)
    >>> system.reliability(350.0).round(4).tolist(), system.mttf().round(4).tolist()
    (0.4877, 522.4005)

    With one of them to spare:

    >>> rf.System(rf.families.Weibull(0.8606, [1542.0] * 3), ages=200.0, tolerance=1).mttf().round(1).tolist()
    1399.4
    """

    @cached_property
    def _rule(self) -> FailureRule:
        return FailureRule(self.tolerance, self.common, self.racks, self.rack_events)

    @property
    def _shape(self) -> tuple[int, ...]:
        return ()

    def _combined(self, x: FloatArray, *, rates: bool, every: bool = False, count: int | None = None) -> FloatArray:
        """Log reliabilities, or failure rates, of all nodes, (m, 1), or of the first 1, 2, ... `count`, (m, count)."""
        if self.tolerance and rates:
            x = np.maximum(x, 1e-100)  # the limit at zero
        size = self.n_nodes if count is None else count
        out = np.empty((x.size, size if every else 1))
        step = max(1, CELLS // size) if not every else x.size
        for first in range(0, x.size, step):
            part = x[first : first + step]
            spent = node_hazards(self.components, self.ages, part, count=count)
            rate = node_hazards(self.components, self.ages, part, rates=True, count=count) if rates else None
            out[first : first + step] = self._rule.combine(part, spent, rate, every=every)[int(rates)]
        return out

    def _log_reliability(self, x: FloatArray) -> FloatArray:
        return self._combined(x[:, 0], rates=False)

    def _rate(self, x: FloatArray) -> FloatArray:
        return self._combined(x[:, 0], rates=True)

    def _finite(self) -> BoolArray:
        return self._rule.means_are_finite(node_tails(self.components, self.n_nodes)).reshape(1)

    def node_cumulative_hazards(self, horizon: Durations) -> FloatArray:
        """Conditional cumulative hazard of each node until `horizon` (hours or text), shape ``(n_nodes, *horizon)``."""
        x = duration_array(horizon, "horizon")
        return np.ascontiguousarray(node_hazards(self.components, self.ages, x.reshape(-1)).T).reshape(-1, *x.shape)

    def sample(self, size: int = 1, rng: Seed = 0) -> FloatArray:
        """`size` random times to failure of the job in hours, shape (size,); infinite if it never fails."""
        return sampling.sample(self.components, self.ages, self._rule, size, rng)

    def sequences(
        self, until: Durations | None = None, failures: int | None = None, size: int = 1, rng: Seed = 0
    ) -> sampling.Sequences:
        """Random sequences of node failures: a failed node is new, the others continue to age.

        Parameters
        ----------
        until : float or duration, optional
            End of each sequence, hours or text.
        failures : int, optional
            Number of failures in each sequence; give either this or `until`.
        size : int
            Number of sequences.
        rng : int or numpy.random.Generator

        Returns
        -------
        Sequences
            Failures in order of time, with their nodes.

        Raises
        ------
        ArgumentError
            Without an end, with both, or with a number that is not positive.

        Notes
        -----
        The sequences ignore the tolerance, events of racks and common causes.

        Examples
        --------
        >>> import relfit as rf
        >>> rf.System(rf.families.Weibull(0.8, [1000.0] * 20), ages=600.0).sequences(until="30 days", rng=1)
        Sequences: 12 failures of 20 nodes in 1 sequence until 720 h
        """
        return sampling.sequences(self, until, failures, size, rng)

    def by_size(self, horizon: Durations = "24h", order: npt.ArrayLike | None = None) -> SystemsBySize:
        """Reliability, hazard and mean time to failure of the first k nodes, for every k.

        Parameters
        ----------
        horizon : float or duration, or array of these
            Horizons of the reliability and the hazard, hours or text.
        order : array_like of int, optional
            Positions of the nodes in the order in which they are added; the order of the system by default.

        Raises
        ------
        ArgumentError
            For an unknown or repeated position.

        Examples
        --------
        >>> import relfit as rf
        >>> sizes = rf.System(rf.families.Weibull(0.8606, [1542.0] * 3), ages=200.0).by_size(350.0)
        >>> sizes.reliability.round(4).tolist(), sizes.mttf.round(1).tolist()
        ([0.7871, 0.6196, 0.4877], [1761.3, 814.7, 522.4])
        """
        positions = np.arange(self.n_nodes) if order is None else self.checked_positions(order)
        nodes, x = self if order is None else self.take(positions), finite_hours(horizon)
        mttf, hazard = nodes.quantity_by_size("mttf"), nodes.quantity_by_size("hazard", x)
        return SystemsBySize(self, positions, x, nodes.quantity_by_size("reliability", x), hazard, mttf)

    def quantity_by_size(self, quantity: str, at: FloatArray | None = None) -> FloatArray:
        """One quantity of the first k nodes for every k, shape ``(n_nodes, *at)``.

        ``mttf``, without a horizon, or at hours ``reliability``, ``cdf``, ``cumulative_hazard``, ``hazard``.
        """
        if self._rule.racks_count:  # each size counts its own racks
            spare = self.tolerance
            parts = [self.take(np.arange(k)) for k in range(spare + 1, self.n_nodes + 1)]
            values = [getattr(part, quantity)(*(() if at is None else (at,))) for part in parts]
            # no rack ends a job of up to `spare` nodes, only common causes do
            unracked = parts[0]._replaced(racks=None).quantity_by_size(quantity, at)
            return np.stack([*unracked[:spare], *values])
        if at is None:
            return self._means_by_size()
        combined = self._combined(at.reshape(-1), rates=quantity == "hazard", every=True).T.reshape(-1, *at.shape)
        with np.errstate(under="ignore"):
            if quantity == "reliability":
                return np.exp(combined)
            return -np.expm1(combined) if quantity == "cdf" else combined if quantity == "hazard" else -combined

    def _means_by_size(self) -> FloatArray:
        finite = self._rule.means_are_finite(node_tails(self.components, self.n_nodes), every=True)
        if not finite.any():
            return np.full(self.n_nodes, np.inf)

        def log_reliability(time: FloatArray, count: int) -> FloatArray:
            log_alive = self._combined(time[:, 0], rates=False, every=True, count=count)
            log_alive[:, ~finite[:count]] = -np.inf
            return log_alive

        log_alive = integrate_reliability(log_reliability, self.quantile(0.5), self.n_nodes)
        return np.where(finite, log_alive, np.inf)

    def _parameters(self) -> uncertainty.DrawnParameters:
        sources = uncertainty.sources_of(self.components, self.names, self.sources, self.origin)
        wide = getattr(self.origin, "wide_factors", None)
        return uncertainty.DrawnParameters(sources, self.n_nodes, wide)

    @cached_property
    def no_limits(self) -> str:
        """Why `interval` is not available for this system; empty if it is."""
        try:
            self._parameters()
        except ArgumentError as error:
            return error.what
        return ""

    def drawn(self, n_draws: int = 199, rng: Seed = 0) -> Iterator[System]:
        """The system with parameters drawn from the distribution of the fits, one draw at a time.

        Parameters
        ----------
        n_draws : int
            Number of draws.
        rng : int or numpy.random.Generator

        Raises
        ------
        ArgumentError
            For a system of fixed parameters, or fits without a covariance.
        """
        for components, factors in self._parameters().each(n_draws, rng):
            common, racks = self.common, self.racks
            if factors is not None:
                common = None if common is None else common.times(factors[0])
                racks = None if racks is None else racks.times(factors[1])
            yield self._replaced(components=components, common=common, racks=racks)

    def drawn_values(self, quantity: str, at: Any = None, n_draws: int = 999, rng: Seed = 0) -> FloatArray:
        """A quantity in every draw of the parameters, shape ``(n_draws, *at)``; arguments as for `interval`."""
        return self._parameters().values(quantity, at, self.ages, self._rule, n_draws, rng)

    def interval(
        self, quantity: str, at: object = None, level: float = 0.95, *, n_draws: int = 999, rng: Seed = 0
    ) -> Interval:
        """Confidence interval of a quantity from the uncertainty of the fitted parameters, for systems made from fits.

        Parameters
        ----------
        quantity : str
            ``reliability``, ``cdf``, ``cumulative_hazard``, ``hazard``, ``pdf``, ``quantile``, ``mttf``,
            ``mean_residual_life``, ``truncated_mean`` or ``mean_given_failure``.
        at : optional
            The horizon or age, hours or text such as "24h", or the probability of a quantile; any shape. Not for
            ``mttf``.
        level : float
            Between 0 and 1.
        n_draws : int
            Draws of the parameters, normal around the fits in their free coordinates; 19 or more.
        rng : int or numpy.random.Generator

        Returns
        -------
        Interval
            With the shape of `at`. Status ``infinite`` if the estimate is infinite, ``not_defined`` if a limit is
            undefined.

        Raises
        ------
        ArgumentError
            For a system of fixed parameters, an unknown quantity, a level outside 0..1, too few draws, or fits without
            a covariance.

        Notes
        -----
        Nodes that share a fit share its draws. Percentiles are reflected at the estimate (basic bootstrap), except for
        pooled nodes. Ages count as exact, and so do the distributions of racks and common causes unless the system
        comes from a model of a fleet.

        Examples
        --------
        >>> import relfit as rf
        >>> times = rf.LifeData.from_array(rf.families.Weibull(0.8, 1000.0).sample(60, rng=1))
        >>> system = rf.system_from_fits(rf.fit(times, "weibull")["weibull"], nodes=[0] * 4, ages=100.0)
        >>> system.interval("reliability", "24h").to_frame().round(2).to_numpy().tolist()
        [[0.89, 0.84, 0.91, 'ok']]
        """
        point = uncertainty.checked(quantity, at, level, n_draws, by_size=False)
        uncertainty.check_work(self.n_nodes, self.tolerance, n_draws)
        parameters = self._parameters()
        name = "cumulative_hazard" if quantity in ("reliability", "cdf") else quantity
        drawn = parameters.values(name, point, self.ages, self._rule, n_draws, rng)
        estimate = getattr(self, name)(*(() if point is None else (point,)))
        most = point if quantity in ("truncated_mean", "mean_given_failure") and point is not None else np.inf
        labels: pd.Index[Any] = pd.Index([quantity])
        if point is not None:
            labels = pd.Index(point.ravel(), name="probability" if quantity == "quantile" else "at_hours")
        return _interval(quantity, level, point, estimate, drawn, parameters, labels, most)


class SystemsBySize(Result):
    """Reliability, hazard and mean time to failure of the first k nodes, k = 1 ... K; made by `System.by_size`.

    Attributes
    ----------
    system : System
    order : ndarray of int, shape (K,)
        Positions of the nodes in the order in which they are added.
    horizon : ndarray, shape (...)
        Hours.
    reliability, hazard : ndarray, shape (K, ...)
        At the horizons; hazards per hour.
    mttf : ndarray, shape (K,)
        Mean times to failure in hours, to a relative error of 1e-9.
    """

    system: System
    order: IntArray
    horizon: FloatArray
    reliability: FloatArray
    hazard: FloatArray
    mttf: FloatArray

    @property
    def sizes(self) -> IntArray:
        """Number of nodes, shape (K,)."""
        return np.arange(1, self.order.size + 1, dtype=np.int64)

    def __len__(self) -> int:
        return int(self.order.size)

    @property
    def headline(self) -> str:
        """The mean times to failure of the smallest and of the largest system."""
        first, last = number(float(self.mttf[0])), number(float(self.mttf[-1]))
        return f"Mean time to failure goes from {first} h on 1 node to {last} h on {len(self):,}."

    def interval(
        self, quantity: str = "reliability", level: float = 0.95, *, n_draws: int = 199, rng: Seed = 0
    ) -> Interval:
        """Confidence intervals for every k (first axis) at the horizons; see `System.interval`.

        Parameters
        ----------
        quantity : {"reliability", "cdf", "cumulative_hazard", "hazard", "mttf"}
        level, n_draws, rng
            As for `System.interval`.

        Examples
        --------
        >>> import relfit as rf
        >>> fits = rf.fit(rf.LifeData.from_array(rf.families.Weibull(0.8, 1000.0).sample(60, rng=1)), "weibull")
        >>> mttf = rf.system_from_fits(fits, nodes=10).by_size("24h").interval("mttf", 0.9)
        >>> mttf.low.shape, bool((mttf.low < mttf.estimate).all())
        ((10,), True)
        """
        at = None if quantity == "mttf" else self.horizon
        uncertainty.checked(quantity, at, level, n_draws, by_size=True)
        uncertainty.check_work(self.system.n_nodes, self.system.tolerance, n_draws)
        name = "cumulative_hazard" if quantity in ("reliability", "cdf") else quantity
        nodes = self.system.take(self.order)
        drawn = np.stack([one.quantity_by_size(name, at) for one in nodes.drawn(n_draws, rng)])
        labels = pd.Index(self.sizes, name="nodes")
        if at is not None and at.size != 1:
            labels = pd.MultiIndex.from_product([self.sizes, at.ravel()], names=["nodes", "at_hours"])
        return _interval(quantity, level, at, nodes.quantity_by_size(name, at), drawn, nodes._parameters(), labels)

    def to_frame(self) -> pd.DataFrame:
        """One row per k: the node added, mean time to failure, and reliability and hazard at each horizon."""
        frame = pd.DataFrame({"nodes": self.sizes, "added": self.system.names[self.order], "mttf": self.mttf})
        for name, values in (("reliability", self.reliability), ("hazard", self.hazard)):
            for i, x in enumerate(self.horizon.reshape(-1)):
                frame[f"{name}_{x:g}h"] = values.reshape(len(self), -1)[:, i]
        return frame

    def to_dict(self) -> dict[str, Any]:
        """The horizons and the rows of `to_frame`, ready for JSON."""
        return {"horizon": json_ready(self.horizon), "sizes": json_ready(self.to_frame())}


def _interval(
    quantity: str,
    level: float,
    at: FloatArray | None,
    estimate: FloatArray,
    drawn: FloatArray,
    parameters: uncertainty.DrawnParameters,
    labels: pd.Index,
    most: npt.ArrayLike = np.inf,
) -> Interval:
    """An interval from draws; for probabilities these are cumulative hazards."""
    reflect = not any(source.pooled for source in parameters.sources)
    low, high = uncertainty.limits(estimate, drawn, level, reflect=reflect, most=most)
    if quantity == "reliability":
        estimate, low, high = np.exp(-estimate), np.exp(-high), np.exp(-low)
    elif quantity == "cdf":
        estimate, low, high = (-np.expm1(-value) for value in (estimate, low, high))
    status = np.full(estimate.shape, "ok", dtype=object)
    status[np.isnan(low) | np.isnan(high)] = "not_defined"
    status[np.isinf(estimate)] = "infinite"
    return Interval(quantity, "draws", level, at, estimate, low, high, status, labels)
