"""`fleet_model`: a fleet from its log: incidents by scope, unequal nodes, repairs; now or in the long run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from relfit.analyses.screening import Incidents, incidents
from relfit.analyses.screening.frailty import renewal_models
from relfit.base.arguments import durations
from relfit.base.arrays import Duration
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.numeric.levels import level_checked
from relfit.fleet._chosen_period import ChosenPeriod, chosen_period
from relfit.fleet._new_nodes import renewals_of
from relfit.fleet.fleet_answers import FleetModel
from relfit.fleet.incident_scopes import SCOPES
from relfit.fleet.job_shares import Lately
from relfit.fleet.now import NOW, checked_at, until_now
from relfit.fleet.operating_time import scopes_of, standing_of
from relfit.fleet.rates_by_attribute import attributes_of, shrunk_to_values
from relfit.fleet.rates_now import ANY, level_rates, node_multiples, of_all, series_of
from relfit.fleet.scope_rates import rates_of
from relfit.log.durations import Rules
from relfit.log.failurelog import FailureLog
from relfit.log.tables import check_log, made_once


def fleet_model(
    log: FailureLog,
    period: str | tuple[object, object] | ChosenPeriod = "stable",
    *,
    at: str = NOW,
    horizon: object = "90d",
    window: Duration | None = None,
    group: str | None = None,
    first: str = "known",
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> FleetModel:
    """Model a fleet from its log: rates by scope, differences between nodes, repairs; now or in the long run.

    Records are joined to incidents. Each incident has a scope: one node, several nodes of one rack, several nodes not
    of one rack, the whole system. Each scope has its own times between incidents, in operating hours, and its own
    repairs. Nodes may differ in rate (frailty), and their rate may change with age.

    Parameters
    ----------
    log : FailureLog
        With dated events.
    period : {"stable", "all"}, tuple or ChosenPeriod
        The part of the log to use: the stable period (all of the log if it has several systems), all,
        ``(since, until)``, or a result of `relfit.fleet.chosen_period`.
    at : {"now", "long run"}
        ``now``: the rates of scopes and nodes follow the complete log (between the dates of `period`, if set), weighted
        towards recent weeks, and jobs are adjusted to the share that recently ran without interruption; impact, ageing
        and repair of incidents are those of the period, extended to the end of the log; only ``mttr`` of `interval`
        follows the repairs. Intervals include changes over
        `horizon`. ``long run``: the mean rates of the period.
    horizon : duration
        Time after the end of the log that results for ``now`` cover.
    window, group
        As for `relfit.incidents`.
    first : {"known", "always", "never"}
        The time before a node's or rack's first incident, as for `FailureLog.ttf`.
    level : float
        Default level of the intervals.
    rng : int or numpy.random.Generator
        For the search for the stable period.

    Raises
    ------
    ArgumentError
        For a log of lifetimes without dates, an unknown `period`, `at` or `first`, a level outside
        0..1, or a horizon that is not above zero.

    Examples
    --------
    >>> import relfit as rf
    >>> model = rf.fleet_model(rf.datasets.load("white"), ("2003-04-01", "2004-10-01"))
    >>> model.scopes["incidents"].to_dict()
    {'node': 2359, 'rack': 367, 'group': 2, 'system': 286}

    A job on 64 consecutive nodes runs 24 hours without interruption with probability 0.31:

    >>> model.interval("reliability", "24h", size=64, placement="packed").estimate.round(2).tolist()
    0.31
    """
    check_log(log)
    level_checked(level)
    Rules(first=first)
    at = checked_at(at)
    if log.lifetimes is not None and not len(log.events):
        what = "this log holds lifetimes without dates: what failed together, and when, is not known"
        raise ArgumentError(what, remedy=Remedy("fit them: rf.fit(log.ttf())", "fit them: relfit fit LOG"))
    chosen = period if isinstance(period, ChosenPeriod) else chosen_period(log, period, rng)
    chosen = until_now(log, chosen) if at == NOW else chosen
    return _model(log, chosen, at == NOW, float(durations("horizon", horizon, zero=False)), window, group, first, level)


@made_once
def _model(
    log: FailureLog,
    chosen: ChosenPeriod,
    now: bool,
    hours: float,
    window: Duration | None,
    group: str | None,
    first: str,
    level: float,
) -> FleetModel:
    """The model of a period: rates for now need all of the log, those of the long run the log until its end."""

    def joined(part: FailureLog) -> Incidents:
        return incidents(part, window, group=group, level=level)

    until = log if now or not chosen.log.window.end < log.window.end else log.between(None, chosen.log.window.end)
    until = chosen.log if chosen.name == "given" else until
    part, of_part = chosen.log, joined(chosen.log)
    places, scopes = scopes_of(part, of_part)
    size = len(places.systems)
    fits, rates = {}, {}
    for name, scope in scopes.items():
        if first == "known":
            scopes[name], fits[name] = renewals_of(scope, size, part, of_part, level)
        else:
            lives = scope.lives.from_age_known() if first == "never" else replace(scope.lives, stationary=None)
            scopes[name] = replace(scope, lives=lives)
            fits[name] = renewal_models(lives, scope.system, level=level, n_groups=size)
        rates[name] = rates_of(scopes[name], fits[name], size, places, part.window)
    earlier, scopes_until = places, scopes
    if part.window.start > until.window.start:  # ages and earlier incidents are known from before the period
        earlier, scopes_until = scopes_of(until, joined(until))
    standing = standing_of(until, scopes_until["node"], earlier.watched, places.nodes)
    if not (now and part.window.hours > 0.0):
        if part.question is None:
            attributes = attributes_of(part, places.nodes)
            fits["node"] = shrunk_to_values(fits["node"], scopes["node"], attributes, rates["node"].rate)
        return FleetModel(chosen, of_part, places, scopes, fits, rates, standing, level)
    series = {
        name: {
            code: series_of(until, earlier, scopes_until[name], int(there))
            for code, there in enumerate(earlier.systems.get_indexer(places.systems))
        }
        for name in SCOPES
    }
    series[ANY] = {code: of_all(joined(until), str(places.systems[code]), one) for code, one in series["node"].items()}
    every = {
        name: np.bincount(scope.system_of_incident, minlength=size).astype(float) for name, scope in scopes.items()
    }
    systems = pd.Index(places.systems.astype(str)).get_indexer(of_part.table["system"].astype(str))
    together = np.bincount(systems[systems >= 0], minlength=size).astype(np.float64)
    since = part.window.start.as_unit("ns").value
    rates = dict(level_rates(rates, every, together, series, since, hours))
    lately = Lately(until, series, hours, joined(until))
    multiples = None if until.question is not None else node_multiples(until, joined(until), places, hours)
    return FleetModel(chosen, of_part, places, scopes, fits, rates, standing, level, multiples, lately)
