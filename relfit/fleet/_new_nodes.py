"""Whether nodes were new at the start of a log, and whether their ages explain the changes of the rate."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special

from relfit.analyses.screening import ChangePoints, Incidents
from relfit.analyses.screening.by_calendar import told_from_calendar
from relfit.analyses.screening.frailty import renewal_models
from relfit.analyses.screening.frailty_results import RenewalModels
from relfit.base.arrays import BoolArray, FloatArray
from relfit.fleet.incident_scopes import ScopeIncidents
from relfit.fleet.operating_time import Clocks, clocks_of
from relfit.fleet.scope_rates import rates_of, relative_rates, residual_hours
from relfit.log.failurelog import FailureLog

_SIZE = 0.01  # of the test of periods, as in the search for them
_DENIED = 0.05  # p-value of failures along time below which ages are rejected
_AGAINST = 3.0  # log-likelihood ratio against new nodes, log 20: new nodes exceed it in at most 5 % of logs
_LEVEL = 0.95  # of the confidence interval of the shape
_PARTS = 8  # of a log, in which failures are counted


def renewals_of(
    scope: ScopeIncidents, n_systems: int, log: FailureLog, joined: Incidents, level: float, n_resamples: int = 99
) -> tuple[ScopeIncidents, RenewalModels]:
    """Renewal models of a scope by system, and the scope with those ages at its start that its failures support.

    New nodes are taken to be in steady state, at the counted rate, where that makes their times to the first failure
    more than 20 times as likely, or where failures in eight equal parts of the log contradict their ages.
    """
    fits = _fitted(scope, n_systems, level, n_resamples)
    denied = _denied(scope, fits, log, joined, level)
    if not denied.any():
        return scope, fits
    scope = scope.of_unknown_age(denied)
    return scope, _fitted(scope, n_systems, level, n_resamples)


def _fitted(scope: ScopeIncidents, n_systems: int, level: float, n_resamples: int) -> RenewalModels:
    models = renewal_models(scope.lives, scope.system, n_groups=n_systems, level=level, n_resamples=n_resamples)
    return told_from_calendar(models, scope.lives, scope.clock) if scope.name == "node" else models


def _denied(scope: ScopeIncidents, fits: RenewalModels, log: FailureLog, joined: Incidents, level: float) -> BoolArray:
    """The systems whose failures contradict the ages at the start, shape (systems,)."""
    size = fits.shape.shape[0]
    seen_new = np.bincount(scope.system, ~np.isnan(scope.start_age), size) > 0.0
    ageing = seen_new & (fits.status == "ok") & (fits.ageing != 0)
    if not ageing.any():
        return ageing
    steady = scope.of_unknown_age(ageing)
    other = renewal_models(steady.lives, steady.system, n_groups=size, level=level, n_resamples=0)
    with np.errstate(invalid="ignore"):
        against = other.loglik.max(axis=1).to_numpy() - fits.loglik.max(axis=1).to_numpy()
    denied = ageing & (against > _AGAINST)
    if (ageing & ~denied).any():
        parts = np.append(np.arange(_PARTS) * (log.window.hours / _PARTS), log.window.hours + 1.0)
        denied |= ageing & (_along_time(scope, clocks_of(log, joined, parts)[1], fits) < _DENIED)
    return denied


def _along_time(scope: ScopeIncidents, clocks: Clocks, fits: RenewalModels) -> FloatArray:
    """p-value of the counts of failures along time in each system, shape (systems,): NaN without failures.

    The expected count of a part is proportional to its hours in operation plus the increase of the expected residual
    hours (`relfit.fleet.scope_rates`). The chi-square statistic allows for the scatter of renewals.
    """
    size = fits.shape.shape[0]
    rates = rates_of(scope, fits, size)
    own = relative_rates(scope, fits, rates.hours)
    p = np.full(size, np.nan)
    for system in np.flatnonzero(rates.count > 0.0):  # systems, not nodes
        mine = scope.system == system
        count, hours, age = clocks.count[:, mine], clocks.hours[:, mine], clocks.age[:, mine]
        shape, mean = float(fits.shape[system, 1]), 1.0 / float(rates.rate[system])
        seen, steady = np.diff(count, axis=0).sum(axis=1), np.diff(hours, axis=0).sum(axis=1)
        for i in range(steady.size):  # parts, not nodes
            new = clocks.known[i, mine]
            steady[i] += residual_hours(age[[i + 1, i]][:, new], own[mine][new], shape, mean).sum()
        used = (steady > 0.0) | (seen > 0)
        if np.any(steady[used] <= 0.0):
            p[system] = 0.0
            continue
        expected = seen.sum() * steady[used] / steady[used].sum()
        first, second = special.gamma(1.0 + 1.0 / shape), special.gamma(1.0 + 2.0 / shape)
        scatter = max(second / first**2 - 1.0, 1.0)
        p[system] = special.chdtrc(int(used.sum()) - 1, ((seen[used] - expected) ** 2 / expected).sum() / scatter)
    return p


def explained_by_ages(log: FailureLog, points: ChangePoints, joined: Incidents) -> bool:
    """Whether one renewal model of nodes, some of them new, agrees with the failures of all periods of one system."""
    new = log.population["entered_known"] & (log.population["entered"] < points.periods[-1].start)
    if not new.any():
        return False
    starts = [(period.start - log.window.start) / pd.Timedelta(hours=1) for period in points.periods]
    # a period includes its first instant; the last period also its last
    scope, clocks = clocks_of(log, joined, np.append(starts, log.window.hours + 1.0))
    fits = _fitted(scope, 1, _LEVEL, 0)
    if not fits.ageing[0] or np.isnan(scope.start_age).all() or _denied(scope, fits, log, joined, _LEVEL).any():
        return False
    return float(_along_time(scope, clocks, fits)[0]) > _SIZE
