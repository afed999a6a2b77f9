"""Whether the rate of a log changed because its nodes were new, and no more than their ages let expect."""

from __future__ import annotations

import numpy as np
from scipy import special

from relfit.failurelog import FailureLog
from relfit.fleet.operating_time import scopes_of, standing_of
from relfit.fleet.scope_rates import rates_of, relative_rates, residual_hours
from relfit.screening import ChangePoints, Incidents, incidents
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
    """
    new = log.population["entered_known"] & (log.population["entered"] < points.periods[-1].start)
    if not new.any():
        return False
    places, scopes = scopes_of(log, joined)
    fits = renewal_models(scopes["node"].lives, scopes["node"].system, n_groups=1, n_resamples=0)
    if not fits.ageing[0]:
        return False
    rates = rates_of(scopes["node"], fits, 1)
    own = relative_rates(scopes["node"], fits, rates.hours)
    seen, steady, before = np.zeros(len(points)), np.zeros(len(points)), None
    for i, period in enumerate(points.periods):
        part = log.between(period.start, period.end)
        there, of = scopes_of(part, incidents(part), before)
        scope = of["node"]
        before = standing_of(part, scope, there.watched, there.nodes)
        known = np.flatnonzero(~np.isnan(scope.start_age))
        weights = own[places.nodes.get_indexer(there.nodes[known])]
        ages = np.stack([scope.age[known], scope.start_age[known]])
        more = residual_hours(ages, weights, float(fits.shape[0, 1]), 1.0 / float(rates.rate[0]))
        seen[i], steady[i] = scope.count.sum(), scope.hours.sum() + more.sum()
    expected = np.maximum(seen.sum() * steady / steady.sum(), 1e-300)
    if np.any(steady <= 0.0):
        return False
    statistic = float(((seen - expected) ** 2 / expected).sum() / max(float(rates.dispersion[0]), 1.0))
    return float(special.chdtrc(len(points) - 1, statistic)) > _SIZE
