"""Whether failures came as those of new nodes, and whether a rate changed no more than their ages let expect."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special

from relfit.failurelog import FailureLog
from relfit.fleet.incident_scopes import Scope
from relfit.fleet.operating_time import clocks_of
from relfit.fleet.scope_rates import rates_of, relative_rates, residual_hours
from relfit.screening import ChangePoints, Incidents
from relfit.screening.frailty import RenewalModels, renewal_models

__all__ = ["explained_by_ages", "renewals_of"]

_SIZE = 0.01  # of the test, as of the search for periods
_AGAINST = 3.0  # log-likelihood ratio against new nodes that new nodes reach in at most 5 % of logs: log 20


def renewals_of(
    scope: Scope, n_systems: int, *, level: float = 0.95, n_resamples: int = 99
) -> tuple[Scope, RenewalModels]:
    """Renewals of a scope by system, and the scope with the ages at its start that the times to failure bear out.

    Notes
    -----
    That nodes were new is what an inventory says. Where nodes age, their times to the first failure tell whether they
    began so: by the likelihood of the best of the three renewal models, of new nodes and of nodes in steady state. A
    system whose nodes are 20 times more likely to have been in steady state (they were in use before the inventory
    says, or their first time was not logged in full) is taken so.
    """
    fits = renewal_models(scope.lives, scope.system, n_groups=n_systems, level=level, n_resamples=n_resamples)
    known = np.bincount(scope.system, ~np.isnan(scope.start_age), n_systems) > 0.0
    asked = known & (fits.status == "ok") & (fits.ageing != 0)
    if not asked.any():
        return scope, fits
    steady = scope.of_unknown_age(asked)
    other = renewal_models(steady.lives, steady.system, n_groups=n_systems, level=level, n_resamples=0)
    with np.errstate(invalid="ignore"):
        against = other.loglik.max(axis=1).to_numpy() - fits.loglik.max(axis=1).to_numpy()
    denied = asked & (against > _AGAINST)
    if not denied.any():
        return scope, fits
    scope = scope.of_unknown_age(denied)
    return scope, renewal_models(scope.lives, scope.system, n_groups=n_systems, level=level, n_resamples=n_resamples)


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
    scope, fits = renewals_of(scope, 1, n_resamples=0)
    if not fits.ageing[0] or np.isnan(scope.start_age).all():
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
