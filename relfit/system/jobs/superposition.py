"""The time between failures of many equal nodes; a failed node is new, and the others continue to age."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.fitting.families.distribution import Distribution
from relfit.system.jobs._time_to_failure import TimeToFailure, time_to_failure
from relfit.system.jobs.hazard_tables import table_of


def between_failures(family: Distribution, nodes: int = 1) -> TimeToFailure:
    """The time from one failure of equal nodes to the next of any of them, if each failed node is new.

    The others continue to age, so after many failures they are of all ages (renewal processes in equilibrium). With S_e
    the survival of their residual life, the survival is ``S(t) S_e(t)**(n - 1)``. Many nodes fail at the nearly
    constant rate of n over the mean time to failure.

    Parameters
    ----------
    family : Distribution
        The distribution of the times to failure of each node.
    nodes : int
        Number of nodes.

    Raises
    ------
    ArgumentError
        For a batch of distributions.
    DataError
        If the mean time to failure is infinite.

    Examples
    --------
    >>> from relfit.fitting.families import Weibull
    >>> life = between_failures(Weibull(0.6, 1000.0), 500)
    >>> round(life.mean(), 3), round(time_to_failure(Weibull(0.6, 1000.0), nodes=500).mean(), 3)
    (3.009, 0.048)
    """
    if family.batch_shape:
        raise ArgumentError("nodes that differ have no one distribution", remedy="give one family, or ages for each")
    one = time_to_failure(family)
    if nodes == 1 or not np.isnan(one.constant):
        return time_to_failure(family, nodes=nodes)
    mean, others = one.mean(), nodes - 1

    def spent(time: FloatArray) -> FloatArray:
        return -others * one.log_excess(time) - one.log_sf(time)

    def hazard(time: FloatArray) -> FloatArray:
        x = np.asarray(time, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = others * one.sf(x) / one.area_from(x)
        return np.asarray(np.where(np.isfinite(rate), rate, 0.0) + one.hazard(x))

    return replace(table_of(spent, mean / nodes, 300.0 * mean).life(0), hazard=hazard)
