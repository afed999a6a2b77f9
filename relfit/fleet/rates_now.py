"""Current rates of a fleet: incidents of each scope, and the relative rates of its nodes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from scipy import special

from relfit.analyses.screening import Incidents
from relfit.base.arrays import BoolArray, FloatArray
from relfit.base.units import NANOSECONDS_PER_HOUR, nanoseconds
from relfit.fleet.incident_scopes import Places, ScopeIncidents
from relfit.fleet.prediction import DiscountedLevels, Multiples, Prediction, TimeSteps, levels_of, mix, multiples_now
from relfit.fleet.rates_by_attribute import attributes_of, multiples_by_attribute
from relfit.fleet.scope_rates import ScopeRates
from relfit.log.failurelog import FailureLog
from relfit.log.outages import node_codes, watched_of
from relfit.log.tables import NOT_SEEN

ANY = "any"  # incidents of all scopes
LEAST_RATE = 0.01  # least lower limit of a rate, relative to its estimate; below it a mean time is unbounded
_STEPS, _LEAST_STEP = 120, 240.0  # most steps for the relative rates of nodes; least hours per step


@dataclass(frozen=True, eq=False)
class ScopeSeries:
    """Daily incidents of a scope in one system."""

    steps: TimeSteps
    value: FloatArray  # incidents in each step
    units: FloatArray  # number of places watched
    levels: DiscountedLevels  # of the series, by predictor
    _ahead: dict[float, Prediction] = field(default_factory=dict, init=False)  # by horizon

    def ahead(self, horizon: float) -> Prediction:
        """Predicted incidents over the next `horizon` hours, for the current number of places."""
        if horizon not in self._ahead:
            ahead = float(self.units[-1]) if self.units[-1] > 0.0 else 1.0
            self._ahead[horizon] = mix(self.levels, self.value, self.units, horizon / self.steps.width, ahead)
        return self._ahead[horizon]


def series_of(log: FailureLog, places: Places, scope: ScopeIncidents, system: int) -> ScopeSeries:
    """Daily incidents of a scope in a system and the number of places watched, while any of them was watched."""
    start, end = log.window.start, log.window.end
    origin = start.as_unit("ns").value
    nodes = np.flatnonzero(places.system == system)
    entered, left = places.watched.entered[nodes], places.watched.left[nodes]
    if (left > entered).any():  # for a system no longer watched, now is its end
        start, end = max(start, pd.Timestamp(entered.min(), tz="UTC")), min(end, pd.Timestamp(left.max(), tz="UTC"))
    steps = TimeSteps.of(start, end)
    mine = scope.system_of_incident == system
    value = steps.counts(origin + (scope.instants[mine] * NANOSECONDS_PER_HOUR).astype(np.int64))[0]
    units = np.ones(steps.size)
    if scope.name in ("node", "rack"):
        watched = steps.watched(entered, left)[0]
        if watched.any():
            units = watched
    return ScopeSeries(steps, value, units, levels_of(value, units, steps.days))


def of_all(joined: Incidents, system: str, one: ScopeSeries) -> ScopeSeries:
    """All incidents of a system as one series, including those that name no node; steps and units as in `one`."""
    table = joined.table
    value = one.steps.counts(nanoseconds(table["start"])[(table["system"].astype(str) == system).to_numpy()])[0]
    return replace(one, value=value, levels=levels_of(value, one.units, one.steps.days))


def limits_of_multiples(variance: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Limits of a rate relative to its mean, log-normally distributed with this relative variance."""
    spread, z = np.sqrt(np.log1p(np.maximum(variance, 0.0))), special.ndtri(0.5 + level / 2.0)
    low, high = (np.exp(sign * z * spread - spread**2 / 2.0) for sign in (-1.0, 1.0))
    return np.clip(low, LEAST_RATE, 1.0), np.maximum(high, 1.0)


def unbounded(mean: FloatArray, high: FloatArray) -> BoolArray:
    """Whether the upper limits of mean times are 100 times the mean or more: then the data do not bound them."""
    return np.asarray(np.isfinite(mean) & (high * LEAST_RATE >= mean * (1.0 - 1e-9)))


@dataclass(frozen=True, eq=False)
class LevelRates(ScopeRates):
    """Current rates, (systems,), with those of the period; the relative `variance` of `now` has the uncertainty of the
    level, its changes over the horizon, and scatter beyond Poisson.
    """

    now: FloatArray  # expected incidents per hour of a place over the horizon; NaN without any incident
    variance: FloatArray
    running: FloatArray  # places in operation now, on average

    @property
    def of_period(self) -> ScopeRates:
        """The rates of the period."""
        return ScopeRates(self.count, self.hours, self.exposure, self.dispersion, self.along, self.p)

    @property
    def rate(self) -> FloatArray:
        """Incidents per hour of a place, now; that of the period where `now` is NaN."""
        return np.where(np.isfinite(self.now), self.now, self.of_period.rate)

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Limits of the rate over the horizon; those of the period where `now` is NaN."""
        low, high = self.of_period.interval(level)
        finite, ends = np.isfinite(self.now), limits_of_multiples(self.variance, level)
        return np.where(finite, ends[0] * self.now, low), np.where(finite, ends[1] * self.now, high)

    def draw(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draws of the rates, shape (size, systems); zero where no hours are known."""
        drawn, spread = self.of_period.draw(size, rng), np.sqrt(np.log1p(self.variance))
        multiple = np.exp(spread * rng.standard_normal((size, spread.size)) - spread**2 / 2.0)
        finite, multiple = np.isfinite(self.now), np.maximum(multiple, LEAST_RATE)
        return np.where(finite, multiple * np.where(finite, self.now, 0.0), drawn)


def level_rates(
    rates: dict[str, ScopeRates],
    every: dict[str, FloatArray],
    joined: FloatArray,
    series: dict[str, dict[int, ScopeSeries]],
    since: int,
    horizon: float,
) -> dict[str, LevelRates]:
    """Rates of a period that began at `since` (nanoseconds), brought to the current level of the series.

    `every` are the incidents of each scope by system, with those that began while the system was down; `joined` are
    those of all scopes. Together, the scopes have the rate of all incidents, which is predicted from their own series.
    """
    now, running = ({name: np.full(joined.size, empty) for name in rates} for empty in (np.nan, 0.0))
    variance = {name: np.zeros(joined.size) for name in rates}
    for system, together in series[ANY].items():  # systems, not nodes
        ahead = {name: series[name][system].ahead(horizon) for name in rates if every[name][system]}
        share = sum(every[name][system] for name in ahead) / max(joined[system], 1.0)
        total = share * together.ahead(horizon).expected
        factor = total / sum(each.expected for each in ahead.values()) if ahead and total > 0.0 else 1.0
        for name, of_scope in rates.items():
            one = series[name][system]
            inside = one.steps.edges[:-1] >= since - int(one.steps.width * NANOSECONDS_PER_HOUR)
            watched = float(one.units[inside].sum() if inside.any() else one.units.sum()) * one.steps.width
            each = of_scope.hours[system] / max(watched, 1e-300)
            running[name][system] = each * (max(float(one.units[-1]), 1.0) if one.units[-1] > 0.0 else 1.0)
            if name in ahead and each > 0.0:
                while_up = of_scope.count[system] / every[name][system]
                now[name][system] = while_up * factor * ahead[name].expected / (horizon * running[name][system])
                variance[name][system] = ahead[name].variance_of_rate() / ahead[name].expected ** 2
    return {
        name: LevelRates(**vars(of_scope), now=now[name], variance=variance[name], running=running[name])
        for name, of_scope in rates.items()
    }


def node_multiples(log: FailureLog, joined: Incidents, places: Places, ahead: float) -> Multiples:
    """Failure rate of each node over the mean, for the next `ahead` hours, 1 if unknown; an incident of n nodes counts
    1/n for each.
    """
    watched, steps = watched_of(log), TimeSteps.of(log.window.start, log.window.end)
    node = node_codes(log)[0]
    rows = np.flatnonzero((joined.incident >= 0) & (node >= 0))
    pair = joined.incident[rows] * watched.n_groups + node[rows]
    rows = rows[np.unique(pair, return_index=True)[1]]
    node, at = node[rows], nanoseconds(log.events["start"])[rows]
    part = 1.0 / np.maximum(np.bincount(joined.incident[rows])[joined.incident[rows]], 1)
    system = pd.factorize(watched.groups.get_level_values(0))[0]
    width = steps.width * max(int(np.ceil(steps.size / _STEPS)), int(np.ceil(_LEAST_STEP / steps.width)))
    longer = TimeSteps.of(log.window.start, log.window.end, width)
    members = [np.flatnonzero(system == code) for code in range(system.max(initial=-1) + 1)]
    most, multiples = max(map(len, members), default=1), []
    attributes = attributes_of(log, watched.groups)
    placed = ~watched.groups.get_level_values(1).astype(str).str.startswith(NOT_SEEN)
    for mine in members:  # systems, not nodes
        place = np.full(watched.n_groups, -1, np.int64)
        place[mine] = np.arange(mine.size)
        counts = longer.counts(at, place[node], mine.size, part)
        hours = longer.watched(watched.entered[mine], watched.left[mine], np.arange(mine.size), mine.size)
        codes = [code[mine] for code in attributes]
        usual = multiples_by_attribute(codes, counts, hours, longer.days)
        there, days = np.asarray(placed)[mine], ahead / 24.0
        own = multiples_now(counts, hours * usual[:, None], longer.days, most, there, codes, days)
        multiples.append(own.times(usual))
    if not multiples:
        return Multiples.same(len(places.nodes))
    where = np.append(np.argsort(np.concatenate(members)), -1)
    parts = zip(*((one.weight, one.shared, one.spread, one.latest) for one in multiples), strict=True)
    every = Multiples(multiples[0].value, *(np.concatenate(each) for each in parts))
    return every.take(where[watched.groups.get_indexer(places.nodes)])
