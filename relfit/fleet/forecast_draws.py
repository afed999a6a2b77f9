"""What may happen to one system over a horizon: random futures of its incidents, records, causes and repairs.

A future differs from the mean for five reasons, each drawn: the rates are not known exactly; counts scatter (Poisson,
given the rates of nodes, racks and the system); in windows of the log as long as the horizon they scattered by more;
the rate may change again, as it did at the change points of the log; incidents differ in records, cause and repair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from relfit.arrays import BoolArray, FloatArray, IntArray
from relfit.failurelog import FailureLog
from relfit.fleet._fleet_model import FleetModel
from relfit.fleet.drawn_fleet import DrawnFleet
from relfit.fleet.incident_scopes import SCOPES
from relfit.outages import watched_of
from relfit.screening import ChangePoints
from relfit.screening.periods import FEWEST
from relfit.units import NANOSECONDS_PER_HOUR, nanoseconds

__all__ = ["Future", "SystemAhead"]

_PARAMETERS = 999  # draws of rates; futures share them
_WINDOWS = 12  # of the period behind the scatter of counts
_SHORTEST = 168.0  # hours of such a window, where the horizon is longer
_USUAL_CHANGE = 0.5  # of the logarithm of the rate, where a log has none to learn from
_MOST = 5_000_000  # incidents drawn one by one; of more, sums are normal


@dataclass(frozen=True, eq=False)
class Future:
    """One horizon of a system: expected numbers, and drawn ones along the first axis.

    ``incidents``, ``records`` and ``hours`` (of repair, one row per record) have shape (draws, places) by place and
    (draws, causes) by cause; ``expected_*`` have shape (3, places) and (3, causes), rows in this order. The last place
    is the whole system.
    """

    by_place: FloatArray
    by_cause: FloatArray
    expected_by_place: FloatArray
    expected_by_cause: FloatArray


class SystemAhead:
    """A system after the end of its log.

    Parameters
    ----------
    log : FailureLog
        Of one system.
    model : FleetModel
        Of a period of it.
    points : ChangePoints or None
        Of the log.
    recent : bool
        Take the rate after the last change point where the period of the model ends before it.
    by : str
        Column of events that tells causes apart.
    n_draws : int
    rng : numpy.random.Generator
    """

    def __init__(
        self, log: FailureLog, model: FleetModel, points: ChangePoints | None, recent: bool, by: str, n_draws: int,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.model, self.points, self.size = model, points, n_draws
        used = model.period.log.window
        self.end = log.window.end if recent else used.end
        self.window = (used.start, used.end)  # of steady counts
        if recent and points is not None:
            self.window = (max(points.stable_period.start, used.start), min(points.stable_period.end, used.end))
        self.present = self._present(log if recent else model.period.log)
        self.rates = _Rates.of(model, self.present, n_draws, rng)
        self.table = model.found.table
        self.scope = self.table["scope"].astype(object).replace({model.found.group: "rack"}).to_numpy()
        self.causes, self.cause = self._causes(by)
        self.rng = rng
        self.level, self.level_draws = self._recent_level() if recent else (1.0, np.ones(n_draws))

    @property
    def places(self) -> list[str]:
        """Racks of the nodes that are still there, and the whole system last."""
        racks = self.model.places.racks[self.rates.racks]
        return [str(name[-1] if isinstance(name, tuple) else name) for name in racks] + [""]

    def _present(self, log: FailureLog) -> BoolArray:
        watched = watched_of(log)
        at = watched.groups.get_indexer(self.model.places.nodes)
        left = np.append(watched.left, np.iinfo(np.int64).min)[at]
        return np.asarray(left >= log.window.end.as_unit("ns").value)

    def _causes(self, by: str) -> tuple[list[str], IntArray]:
        """Names of causes, and that of the first record of each incident."""
        values = self.model.period.log.events[by].astype(object)
        text = values.where(values.notna(), "unknown").astype(str).to_numpy(dtype=object)
        number = self.model.found.incident
        rows = np.flatnonzero(number >= 0)
        start = nanoseconds(self.model.period.log.events["start"])[rows]
        order = rows[np.lexsort((rows, start, number[rows]))]
        first = order[np.unique(number[order], return_index=True)[1]]
        code, names = pd.factorize(text[first], sort=True)
        return [str(name) for name in names], code.astype(np.int64)

    def _recent_level(self) -> tuple[float, FloatArray]:
        """The rate after the last change point over that of the model's period."""
        points = self.points
        if points is None:
            return 1.0, np.ones(self.size)
        used, last = self.model.period.log.window, points.periods[-1]
        inside = [one for one in points.periods if one.start < used.end and one.end > used.start]
        exposure = sum(one.exposure for one in inside)
        if inside == [last] or not (last.exposure > 0.0 and exposure > 0.0):
            return 1.0, np.ones(self.size)
        rate = sum(one.failures for one in inside) / exposure
        if not rate > 0.0:
            return 1.0, np.ones(self.size)
        drawn = self.rng.gamma(last.failures / points.dispersion + 0.5, size=self.size) * points.dispersion
        return max(last.failures, 0.5) / last.exposure / rate, drawn / last.exposure / rate

    # -------------------------------------------------------------- factors

    def _windows(self, hours: float) -> tuple[IntArray, FloatArray]:
        """Window of each incident (-1 outside) and node-hours of each window, as long as the horizon if possible."""
        start, end = self.window
        length = float((end - start) / pd.Timedelta(hours=1))
        width = hours
        while width / 2.0 >= _SHORTEST and length / width < _WINDOWS:
            width /= 2.0
        number = max(int(length / width), 1)
        last = end.as_unit("ns").value
        edges = last - (np.arange(number, -1, -1) * width * NANOSECONDS_PER_HOUR).astype(np.int64)
        watched = self.model.places.watched
        exposure = np.diff(watched.hours_until(edges) if watched.n_groups else edges / NANOSECONDS_PER_HOUR)
        at = np.searchsorted(edges, nanoseconds(self.table["start"]), side="right") - 1
        return np.where((at >= 0) & (at < number), at, -1), exposure

    def excess(self, hours: float) -> FloatArray:
        """Relative variance of counts over such a horizon beyond Poisson, in each draw."""
        at, exposure = self._windows(hours)
        counts = np.bincount(at[at >= 0], minlength=exposure.size)
        return _excess(counts, exposure * counts.sum() / max(exposure.sum(), 1e-300), self.size, self.rng)

    def changed(self, hours: float) -> FloatArray:
        """Factor of the mean rate over the horizon by further changes, in each draw."""
        points = self.points
        if points is None:
            return np.ones(self.size)
        known = [one.failures / one.exposure for one in points.periods if one.failures >= FEWEST]
        steps = np.abs(np.diff(np.log(known))) if len(known) > 1 else np.array([_USUAL_CHANGE])
        length = sum(one.hours for one in points.periods)
        # a change half way through is felt by half of the horizon
        number = self.rng.poisson((len(points) - 0.5) / length * hours / 2.0, self.size)
        size = self.rng.choice(steps, self.size) * self.rng.choice([-1.0, 1.0], self.size)
        return np.exp(np.sqrt(number) * size)

    # -------------------------------------------------------------- futures

    def over(self, hours: float) -> Future:
        """Expected and drawn numbers over a horizon."""
        rng = self.rng
        excess = self.excess(hours)
        common = np.where(excess > 0.0, rng.gamma(1.0 / np.maximum(excess, 1e-9)) * excess, 1.0)
        common = common * self.changed(hours) * self.level_draws
        n_places, n_causes = self.rates.racks.size + 1, len(self.causes)
        by_place, by_cause = np.zeros((3, self.size, n_places)), np.zeros((3, self.size, max(n_causes, 1)))
        mean_place, mean_cause = np.zeros((3, n_places)), np.zeros((3, max(n_causes, 1)))
        shares = self._shares(hours)
        for name in SCOPES:
            mine = self.scope == name
            if not mine.any():
                continue
            marks = _Marks.of(self.table[mine])
            mean = self.rates.mean[name] * hours * self.level
            drawn = rng.poisson(np.minimum(self.rates.drawn[name] * hours * common[:, None], 1e9))
            by_place += marks.sums(drawn, rng)
            mean_place += marks.means(mean)
            share = np.bincount(self.cause[mine], minlength=n_causes) / mine.sum()
            weight = share * shares
            split = rng.multinomial(drawn.sum(axis=1), weight / weight.sum(axis=1, keepdims=True))
            for k in np.flatnonzero(share):
                of_cause = _Marks.of(self.table[mine & (self.cause == k)])
                by_cause[:, :, [k]] += of_cause.sums(split[:, [k]], rng)
                mean_cause[:, [k]] += of_cause.means(mean.sum(keepdims=True) * share[k])
        repair = self._repairs(hours)[:, None]
        by_place[2] *= repair
        by_cause[2] *= repair
        return Future(by_place, by_cause, mean_place, mean_cause)

    def _repairs(self, hours: float) -> FloatArray:
        """Factor of the mean repair over the horizon, in each draw: it wanders from window to window."""
        at, exposure = self._windows(hours)
        length = self.table["node_hours"].to_numpy(dtype=np.float64)
        used = (at >= 0) & np.isfinite(length)
        if used.sum() < 2 or not length[used].mean() > 0.0:
            return np.ones(self.size)
        mean, variance = length[used].mean(), length[used].var()
        expected = np.bincount(at[used], minlength=exposure.size) * mean
        excess = _excess(
            np.bincount(at[used], length[used], exposure.size), expected, self.size, self.rng, variance / mean
        )
        return np.where(excess > 0.0, self.rng.gamma(1.0 / np.maximum(excess, 1e-9)) * excess, 1.0)

    def _shares(self, hours: float) -> FloatArray:
        """Factors of the shares of causes, shape (draws, causes): their estimates are uncertain, and shares wander."""
        at, _ = self._windows(hours)
        inside = at >= 0
        size = len(self.causes)
        number = int(at.max(initial=0)) + 1
        counts = np.zeros((number, size))
        np.add.at(counts, (at[inside], self.cause[inside]), 1.0)
        total, whole = counts.sum(axis=0), counts.sum(axis=1)
        out = np.ones((self.size, size))
        for k in range(size):
            share = total[k] / max(total.sum(), 1.0)
            excess = np.zeros(self.size)
            if 0.0 < share < 1.0:
                excess = _excess(counts[:, k], whole * share, self.size, self.rng, 1.0 - share)
            uncertain = 1.0 / max(float((self.cause == k).sum()), 1.0)
            variance = excess + uncertain * (1.0 + excess * max(total[k] / number, 0.0))
            out[:, k] = self.rng.gamma(1.0 / variance) * variance
        return np.maximum(out, 1e-12)


def _excess(counts: Any, means: FloatArray, size: int, rng: np.random.Generator, per_mean: float = 1.0) -> FloatArray:
    """Relative variance of counts beyond `per_mean` times their mean, drawn: few windows leave it uncertain."""
    known = means * per_mean > 0.0
    number = int(known.sum())
    if number < 3:
        return np.zeros(size)
    squares = float(np.sum((counts[known] - means[known]) ** 2 / (means[known] * per_mean)))
    ratio = squares / rng.chisquare(number - 1, size)
    return np.asarray(np.maximum(ratio - 1.0, 0.0) * per_mean / max(float(means[known].mean()), 0.5))


@dataclass(frozen=True, eq=False)
class _Rates:
    """Incidents per hour of the calendar: ``mean`` (places,) and ``drawn`` (draws, places) by scope."""

    racks: IntArray
    mean: dict[str, FloatArray]
    drawn: dict[str, FloatArray]

    @classmethod
    def of(cls, model: FleetModel, present: BoolArray, size: int, rng: np.random.Generator) -> _Rates:
        places = model.places
        centre = DrawnFleet.centre(model, 0)
        drawn = DrawnFleet.of(model, 0, _PARAMETERS, rng)
        row = rng.integers(drawn.node.shape[0], size=size)
        racks = np.unique(places.rack[present & (places.rack >= 0)])
        column = np.full(len(places.racks) + 1, racks.size)  # nodes without a rack: the last place
        column[racks] = np.arange(racks.size)
        entered, left = places.watched.entered, places.watched.left
        mean, many = {}, {}
        scopes = model.found.table["scope"].astype(object).replace({model.found.group: "rack"}).to_numpy()
        for name in SCOPES:
            i, scope = SCOPES.index(name), model.by_scope[name]
            counted = float(model.rates[name].count[0])
            every = float(model.incidents_of(name)[0]) / counted if counted else 1.0
            if name == "node":
                to, used = column[places.rack], present
                share = _share(scope.hours, (left - entered) / NANOSECONDS_PER_HOUR)
                own, draws = centre.node, drawn.node
            else:
                size_of = max(len(places.racks) if name == "rack" else 1, 1)
                of = places.rack if name == "rack" else np.zeros(present.size, np.int64)
                first, last = np.full(size_of, np.iinfo(np.int64).max), np.zeros(size_of, np.int64)
                inside = of >= 0
                np.minimum.at(first, of[inside], entered[inside])
                np.maximum.at(last, of[inside], left[inside])
                used = np.bincount(of[present & inside], minlength=size_of) > 0
                to = column[np.arange(size_of)] if name == "rack" else np.array([racks.size])
                hours = scope.hours if scope.hours.size == size_of else np.zeros(size_of)
                share = _share(hours, np.maximum(last - first, 0) / NANOSECONDS_PER_HOUR)
                if not present.size:  # a system whose nodes are not known
                    used, share = np.ones(1, np.bool_), _share(hours, np.array([model.hours]))
                own, draws = (np.repeat(one.rate[i][:, None], size_of, axis=1) for one in (centre, drawn))
            entries = (every * share * used, (np.arange(to.size), to))
            table = sparse.csr_array(entries, shape=(to.size, racks.size + 1))
            mean[name], many[name] = np.asarray(own @ table)[0], np.asarray(draws @ table)[row]
            number = float((scopes == name).sum())
            if number and not scope.hours.sum():  # incidents at no place that is known
                mean[name][-1] = number / model.hours
                many[name][:, -1] = rng.gamma(number + 0.5, size=size) / model.hours
        return cls(racks, mean, many)


def _share(hours: FloatArray, watched: FloatArray) -> FloatArray:
    """Share of the calendar on which clocks ran."""
    return np.divide(hours, watched, out=np.zeros(watched.size), where=watched > 0.0)


@dataclass(frozen=True, eq=False)
class _Marks:
    """Records and hours of repair of past incidents; hours only of those whose repairs are known."""

    records: FloatArray
    hours: FloatArray

    @classmethod
    def of(cls, table: pd.DataFrame) -> _Marks:
        hours = table["node_hours"].to_numpy(dtype=np.float64)
        return cls(table["records"].to_numpy(dtype=np.float64), hours[np.isfinite(hours)])

    def means(self, incidents: FloatArray) -> FloatArray:
        """Expected incidents, records and hours, shape (3, places)."""
        return np.stack(
            [incidents, incidents * self.records.mean(), incidents * (self.hours.mean() if self.hours.size else 0.0)]
        )

    def sums(self, incidents: IntArray, rng: np.random.Generator) -> FloatArray:
        """Incidents, records and hours of random incidents like those of the past, shape (3, *incidents.shape)."""
        hours = _sums(self.hours, incidents, rng)
        if self.hours.size > 1:  # the mean repair is uncertain
            relative = float(self.hours.var() / max(self.hours.mean(), 1e-300) ** 2) / self.hours.size
            if relative > 0.0:
                hours *= rng.gamma(1.0 / relative, size=(incidents.shape[0], 1)) * relative
        return np.stack([incidents.astype(np.float64), _sums(self.records, incidents, rng), hours])


def _sums(values: FloatArray, number: IntArray, rng: np.random.Generator) -> FloatArray:
    """Sums of so many values taken at random with replacement."""
    if not values.size:
        return np.zeros(number.shape)
    if np.ptp(values) == 0.0:
        return number * values[0]
    total = int(number.sum())
    if total > _MOST:
        noise = rng.standard_normal(number.shape) * np.sqrt(number) * values.std()
        return np.maximum(number * values.mean() + noise, 0.0)
    ends = np.cumsum(number.ravel())
    running = np.append(0.0, np.cumsum(values[rng.integers(values.size, size=total)]))
    return np.asarray((running[ends] - running[ends - number.ravel()]).reshape(number.shape))
