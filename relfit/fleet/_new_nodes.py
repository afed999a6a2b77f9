"""Whether the rate of a log changed because its nodes were new, and no more than their ages let expect."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special

from relfit.failurelog import FailureLog
from relfit.fleet.operating_time import clocks_of
from relfit.fleet.scope_rates import rates_of, relative_rates, residual_hours
from relfit.screening import ChangePoints, Incidents
from relfit.screening.frailty import renewal_models

__all__ = ["explained_by_ages"]

_SIZE = 0.01  # of the test, as of the search for periods


def explained_by_ages(log: FailureLog, points: ChangePoints, joined: Incidents) -> bool:
    """Whether one renewal model of nodes, some known to be new, expects the failures of all periods.

    Parameters
    ----------
    log : FailureLog
        Of one system.
    points : ChangePoints
        Several periods of it.
    joined : Incidents
        Of the log.

    Notes
    -----
    Nodes that fail more often when they are young make a log whose rate falls. Each period has the failures that
    nodes in steady state have in the hours that they run and those that are ahead of them at its end more than at its
    start (`relfit.fleet.scope_rates`); the chi-square statistic of all periods allows for the scatter between nodes.
    Incidents are those of the whole log, each of the period in which it began.
    """
    new = log.population["entered_known"] & (log.population["entered"] < points.periods[-1].start)
    if not new.any():
        return False
    starts = [(period.start - log.window.start) / pd.Timedelta(hours=1) for period in points.periods]
    # a period holds what fails at its first instant; the last one what fails at its last, too
    scope, clocks = clocks_of(log, joined, np.append(starts, log.window.hours + 1.0))
    fits = renewal_models(scope.lives, scope.system, n_groups=1, n_resamples=0)
    if not fits.ageing[0]:
        return False
    rates = rates_of(scope, fits, 1)
    own, shape, mean = relative_rates(scope, fits, rates.hours), float(fits.shape[0, 1]), 1.0 / float(rates.rate[0])
    seen, steady = np.diff(clocks.count, axis=0).sum(axis=1), np.diff(clocks.hours, axis=0).sum(axis=1)
    for i in range(len(points)):  # periods, not nodes
        known = clocks.known[i]
        steady[i] += residual_hours(clocks.age[[i + 1, i]][:, known], own[known], shape, mean).sum()
    expected = np.maximum(seen.sum() * steady / steady.sum(), 1e-300)
    if np.any(steady <= 0.0):
        return False
    statistic = float(((seen - expected) ** 2 / expected).sum() / max(float(rates.dispersion[0]), 1.0))
    return float(special.chdtrc(len(points) - 1, statistic)) > _SIZE
