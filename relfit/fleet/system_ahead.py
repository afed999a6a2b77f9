"""Forecast of one system: failures, repairs, and the shares of racks and causes in them; rows of a forecast."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import special

from relfit.analyses.screening import Incidents
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import DataError, Remedy
from relfit.base.units import NANOSECONDS_PER_HOUR, nanoseconds
from relfit.fleet.prediction import (
    Prediction,
    RelativeRates,
    TimeSteps,
    cumulative,
    levels_of,
    mean_time_ahead,
    mix,
    relative_rates,
)
from relfit.log.failurelog import FailureLog
from relfit.log.outages import node_codes, node_values, outages_of, records_counted, watched_of
from relfit.log.tables import group_codes

_QUANTITIES = ("incidents", "failures", "repair_hours")
_PARTS = 120  # steps behind the shares of racks and causes, at most
_STEP = 240.0  # hours, at least
_ROUNDING = 1e-9
_RARE, _CLASSES = 1e-5, 400  # tail of the records, and classes of their number, behind quantiles of hours
_SEVERAL = 2.0  # nodes that an incident of a cause hits on average, from which its incidents are predicted
_UNEQUAL = 0.5  # standard deviation of these numbers over their mean, up to which this is so
_LEAST_FACTOR = 0.5  # of a cause's expected value, to which it falls at most for the causes to add up


@dataclass(frozen=True, eq=False)
class Coming:
    """One quantity over a horizon: its expected value, simulated futures, shape (draws,), and its exact quantiles."""

    expected: float
    drawn: FloatArray
    exact: Callable[[float], float] | None = None

    def quantile(self, p: float) -> float:
        """The value that is not exceeded with probability `p`: exact, or that of the simulated futures."""
        if self.exact is not None:
            return self.exact(p)
        return float(np.quantile(self.drawn, p, method="inverted_cdf"))


Future = tuple[Coming, Coming, Coming]
"""Incidents, records and hours of repair."""


def coarse(values: FloatArray, width: float) -> tuple[FloatArray, float]:
    """Sums over longer steps that end with the last one, shape (..., longer steps), and the length of these in days."""
    size = values.shape[-1]
    each = int(max(np.ceil(_STEP / width), np.ceil(size / _PARTS)))
    each = min(each, max(size, 1))
    number = max(size // each, 1)
    used = values[..., size - number * each :]
    return used.reshape(*values.shape[:-1], number, each).sum(axis=-1), each * width / 24.0


class SystemAhead:
    """A system after the end of its log by steps of `width` hours; ``by`` is the column of events with a failure's
    kind, ``until`` the log up to where the forecast starts; in the ``long_run`` rates are constant.
    """

    def __init__(
        self,
        log: FailureLog,
        joined: Incidents,
        by: str,
        width: float,
        long_run: bool = False,
        until: FailureLog | None = None,
    ) -> None:
        self.log, self.joined, self.by, self.long_run = log, joined, by, long_run
        self.until = log if until is None else until
        self.counted = records_counted(log)
        self.at = nanoseconds(log.events["start"])[self.counted]
        if not self.at.size:
            raise DataError("no failure in this part of the log", remedy="give another period")
        first = min(log.window.start, pd.Timestamp(int(self.at.min()), tz="UTC"))
        self.steps = TimeSteps.of(first, log.window.end, width)
        watched = watched_of(self.until)
        self.present = watched.left >= self.until.window.end.as_unit("ns").value
        if self.until.window.gone:
            date = f"{self.until.window.end:%Y-%m-%d}"
            remedy = Remedy(
                f"log.between(until={date!r}) forecasts from then on", f"--until {date} forecasts from then on"
            )
            raise DataError(self.until.window.gone, remedy=remedy)
        if watched.n_groups and not self.present.any():
            what = "no node was under observation at the end of the log"
            raise DataError(what, remedy="give a log that ends with nodes in use")
        if watched.n_groups and log.question is None:
            self.units, self.ahead = self.steps.watched(watched.entered, watched.left)[0], float(self.present.sum())
        else:  # the number of nodes is not known
            self.units, self.ahead = np.ones(self.steps.size), 1.0

    def mixture(self, value: FloatArray, hours: float) -> Prediction:
        """Prediction of a series of counts over `hours`, nowhere below those over shorter horizons."""
        levels = levels_of(value, self.units, self.steps.days)
        levels = levels.steady if self.long_run else levels
        return cumulative(lambda over: mix(levels, value, self.units, over / self.steps.width, self.ahead), hours)

    @cached_property
    def records(self) -> FloatArray:
        """Number of records in each step."""
        return self.steps.counts(self.at)[0]

    @cached_property
    def incidents(self) -> FloatArray:
        """Number of incidents in each step."""
        return self.steps.counts(nanoseconds(self.joined.table["start"]))[0]

    @cached_property
    def repairs(self) -> tuple[IntArray, FloatArray, BoolArray]:
        """Start (nanoseconds) and hours of the repairs, and whether each ended; without those of unknown end."""
        hours, timed = self._hours
        return self.at[timed], hours[timed], ~self.log.events["end_cut"].to_numpy(bool)[self.counted][timed]

    @cached_property
    def _outages(self) -> tuple[IntArray, FloatArray, BoolArray]:
        """The same of outages of nodes."""
        outages = outages_of(self.log)
        hours = (outages.end - outages.start) / NANOSECONDS_PER_HOUR
        timed = outages.failures & outages.end_known
        return outages.start[timed], hours[timed], ~outages.end_cut[timed]

    @cached_property
    def _hours(self) -> tuple[FloatArray, BoolArray]:
        """Hours of the repair of each record, and whether it is known."""
        events = self.log.events[self.counted]
        hours = (nanoseconds(events["end"]) - self.at) / NANOSECONDS_PER_HOUR
        return hours, events["end"].notna().to_numpy()

    def mean_repair(self, hours: float) -> tuple[float, float, float]:
        """Mean hours of repairs that begin in the next `hours`, its relative variance, that of one; 0 if none ends."""
        both = self._outages, self.repairs  # what nodes' repairs now are taken from, if they took time
        followed = next((each for each in both if each[1].sum() > 0.0 and each[2].any()), None)
        if followed is None or not self.repairs[2].any():
            return 0.0, 0.0, 0.0
        mean, *spread = mean_time_ahead(self.steps, *followed, hours, long_run=self.long_run)
        of_records, of_followed = (float(each.sum() / ended.sum()) for _, each, ended in (self.repairs, followed))
        return mean * of_records / of_followed, spread[0], spread[1]

    @cached_property
    def causes(self) -> tuple[list[str], IntArray]:
        """Names of the causes, and the code of each record's cause."""
        kinds = self.log.events[self.by].astype("category").cat
        code, present = pd.factorize(kinds.codes.to_numpy()[self.counted])
        labels = np.array([*map(str, kinds.categories), "unknown"], dtype=object)[present]  # -1 is the last
        names, number = np.unique(labels, return_inverse=True)
        return list(names), number.astype(np.int64)[code]

    @cached_property
    def racks(self) -> tuple[list[str], IntArray, FloatArray]:
        """Racks of nodes present, rack of each record (-1: whole system), and nodes watched, (racks, steps)."""
        group = self.joined.group
        if group is None or group not in self.log.population.columns:
            return [], np.full(self.at.size, -1), np.zeros((0, self.steps.size))
        watched = watched_of(self.until)
        names = node_values(self.until, group, watched.groups)
        (code,), racks = group_codes([pd.DataFrame({group: names})], [group])
        there = np.unique(code[self.present & (code >= 0)])
        column = np.full(len(racks) + 1, -1, np.int64)
        column[there] = np.arange(there.size)
        of_node = column[code]
        number, _, labels = node_codes(self.log)
        node = np.append(watched.groups.get_indexer(labels), -1)[number[self.counted]]
        scope = self.joined.table["scope"].to_numpy(object)
        of_system = scope[self.joined.incident[self.counted]] == "system"
        inside = of_node >= 0
        nodes = self.steps.watched(watched.entered[inside], watched.left[inside], of_node[inside], there.size)
        return [str(racks[k]) for k in there], np.where(of_system | (node < 0), -1, np.append(of_node, -1)[node]), nodes

    def longer(self, code: IntArray, size: int) -> FloatArray:
        """Mean repair of each part's records relative to the mean of all, shape (parts,)."""
        hours, timed = self._hours
        timed = timed & (code >= 0)
        if not timed.any():
            return np.ones(size)
        mean = hours[timed].mean()
        sums, number = (np.bincount(code[timed], weights, size) for weights in (hours[timed], None))
        return np.asarray((sums + mean) / (number + 1.0) / mean)

    def of_causes(self, hours: float, size: int, expected: float, rng: np.random.Generator) -> list[Coming]:
        """Forecast records by cause that add up to `expected`; one that falls to half keeps its distribution."""
        names, code = self.causes
        series = self.steps.counts(self.at, code, len(names))
        mixtures = [self._of_cause(code == i, value, hours) for i, value in enumerate(series)]
        each = np.array([[mixture.expected, mixture.variance_of_outcome] for mixture in mixtures])
        values = reconciled(each[:, 0], each[:, 1], expected)
        factors = values / np.maximum(each[:, 0], 1e-300)
        out = []
        for mixture, value, factor in zip(mixtures, values.tolist(), factors.tolist(), strict=True):
            own = mixture.times(factor) if factor > _LEAST_FACTOR + _ROUNDING else mixture
            out.append(Coming(value, own.draw(size, rng), own.quantile))
        return out

    def _of_cause(self, mine: BoolArray, value: FloatArray, hours: float) -> Prediction:
        """Records of a cause over `hours`, from its past. Of incidents that hit several nodes, about the same number,
        these are predicted: counts of 0, 16, 32 ... over some days would be taken for wider scatter.
        """
        incident, at = self.joined.incident[self.counted][mine], self.at[mine]
        _, first, size = np.unique(incident, return_index=True, return_counts=True)
        if (incident < 0).any() or size.mean() < _SEVERAL or size.std() > _UNEQUAL * size.mean():
            return self.mixture(value, hours)
        return self.mixture(self.steps.counts(at[first])[0], hours).of_sizes(size.mean(), np.mean(size**2.0))

    def incidents_per_record(self, code: IntArray, size: int) -> FloatArray:
        """Incidents in which each part has records, over its records, shape (parts,); 1 without a record."""
        incident = self.joined.incident[self.counted]
        inside = (code >= 0) & (incident >= 0)
        pairs = np.unique(np.stack([code[inside], incident[inside]]), axis=1)
        joint, records = np.bincount(pairs[0], minlength=size), np.bincount(code[inside], minlength=size)
        return np.where(records > 0, joint / np.maximum(records, 1), 1.0)

    def shares_of_racks(self) -> tuple[FloatArray, RelativeRates]:
        """Expected shares of the racks (last: failures outside of racks), and their relative rates."""
        names, code, nodes = self.racks
        size = len(names)
        counts, days = coarse(self.steps.counts(self.at, np.where(code < 0, size, code), size + 1), self.steps.width)
        each, _ = coarse(np.vstack([nodes, nodes.sum(axis=0)]), self.steps.width)
        rates = relative_rates(counts, each, days)
        now = rates.rate * (each[:, -1] if self.until is self.log else self._nodes_ahead)
        return now / now.sum(), rates

    @property
    def _nodes_ahead(self) -> FloatArray:
        """Nodes at the start of the forecast, of each rack and (last) of all racks."""
        watched = watched_of(self.until)
        names = pd.Index(node_values(self.until, str(self.joined.group), watched.groups)[self.present].astype(str))
        nodes = pd.Index(self.racks[0]).get_indexer(names)
        each = np.bincount(nodes[nodes >= 0], minlength=len(self.racks[0])).astype(np.float64)
        return np.append(each, each.sum())

    def futures(self, hours: float, size: int, rng: np.random.Generator) -> Future:
        """Incidents, records, hours of repair (records times their mean, log-normal); draws sorted together."""
        mixtures = [self.mixture(value, hours) for value in (self.incidents, self.records)]
        order = rng.permutation(size)
        drawn = [np.sort(mixture.draw(size, rng))[order] for mixture in mixtures]
        drawn[0] = np.minimum(drawn[0], drawn[1])
        incidents, records = mixtures
        mean, *spread = self.mean_repair(hours)
        variance = _log_variance(drawn[1], *spread)
        each = mean * np.exp(np.sqrt(variance) * rng.standard_normal(size) - 0.5 * variance)
        quantile = _quantile_of_hours(records, mean, *spread)
        repairs = Coming(records.expected * mean, drawn[1] * each, quantile)
        expected = min(incidents.expected, records.expected)
        fewer = Coming(expected, drawn[0], lambda p: min(incidents.quantile(p), records.quantile(p)))
        return fewer, Coming(records.expected, drawn[1], records.quantile), repairs


def _log_variance(number: FloatArray, spread: float, of_one: float) -> FloatArray:
    """Variance of the logarithm of the mean of so many repairs, from that of the mean ahead and of one repair."""
    return np.asarray(np.log1p(spread + of_one / np.maximum(number, 1.0)))


def _quantile_of_hours(records: Prediction, mean: float, spread: float, of_one: float) -> Callable[[float], float]:
    """Quantiles of hours of repair: of a log-normal mean times records, these in some hundred classes."""
    edges = np.unique(np.round(np.linspace(-1.0, records.quantile(1.0 - _RARE), _CLASSES)))
    weight = np.diff(records.cdf(edges))
    number = 0.5 * (edges[1:] + edges[:-1] + 1.0)
    variance = _log_variance(number, spread, of_one)
    logs = np.log(np.maximum(number, 1e-9)) + np.log(max(mean, 1e-300)) - 0.5 * variance

    def quantile(p: float) -> float:
        if not mean > 0.0 or p <= weight[number <= 0.0].sum() / weight.sum():
            return 0.0
        low, high = logs[number > 0.0].min() - 40.0, logs.max() + 40.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = special.ndtr((middle - logs) / np.sqrt(np.maximum(variance, 1e-12))) @ weight / weight.sum()
            low, high = (middle, high) if below < p else (low, middle)
        return float(np.exp(high))

    return quantile


def reconciled(mean: FloatArray, variance: FloatArray, total: float) -> FloatArray:
    """Expected values adjusted to add up to `total` by weighted least squares; none falls below half of itself."""
    value = mean.astype(np.float64)
    free = np.ones(mean.size, bool)
    for _ in range(mean.size):
        weight = np.where(free, variance, 0.0)
        if not weight.sum() > 0.0:
            break
        change = (total - value.sum()) * weight / weight.sum()
        low = free & (value + change < _LEAST_FACTOR * mean)
        value = np.where(low, _LEAST_FACTOR * mean, value + np.where(low.any(), 0.0, change))
        free &= ~low
        if not low.any():
            return value
    return np.asarray(value * total / max(float(value.sum()), 1e-300))


def split(records: Coming, share: FloatArray, rates: RelativeRates, rng: np.random.Generator) -> list[Coming]:
    """Forecast records of each part, from its expected share of all `records` and the uncertainty of the share."""
    size = records.drawn.size
    factor = rng.gamma(rates.shape, size=(size, share.size)) / rates.shape * share
    scatter = max(rates.scatter - 1.0, 1e-9)
    mean = np.maximum(records.drawn[:, None] * factor, 1e-12)
    drawn = rng.poisson(rng.gamma(mean / scatter) * scatter).astype(np.float64)
    return [Coming(records.expected * one, column) for one, column in zip(share, drawn.T, strict=True)]


def with_repairs(total: Future, parts: list[Coming], joint: FloatArray, longer: FloatArray) -> list[Future]:
    """Incidents (`joint` per record), records and hours of repair (`longer` times the mean each) of each part."""
    if len(parts) == 1:
        return [total]
    _, records, repairs = total
    share = np.array([part.expected for part in parts]) / max(records.expected, 1e-300)
    longer = longer / max(float(share @ longer), 1e-300)
    with np.errstate(invalid="ignore", divide="ignore"):
        per_record = np.where(records.drawn > 0.0, repairs.drawn / records.drawn, 0.0)
    return [
        (_incidents_of(part, float(some)), part, Coming(repairs.expected * of * slow, per_record * part.drawn * slow))
        for part, of, some, slow in zip(parts, share, joint, longer, strict=True)
    ]


def _incidents_of(records: Coming, joint: float) -> Coming:
    """Incidents of a part, from its records and its incidents per record: with one record each, its records."""
    if joint == 1.0:
        return records
    return Coming(
        records.expected * joint,
        np.ceil(joint * records.drawn - _ROUNDING) + 0.0,  # never -0
        lambda p: float(np.ceil(joint * records.quantile(p) - _ROUNDING)) + 0.0,
    )


def summed(futures: Sequence[Future]) -> Future:
    """Several futures together: their expected values and their simulated futures are added."""
    if len(futures) == 1:
        return futures[0]
    first, second, third = (
        Coming(sum(each.expected for each in kind), np.sum([each.drawn for each in kind], axis=0))
        for kind in zip(*futures, strict=True)
    )
    return first, second, third


def quantities(future: Future, tail: tuple[float, float]) -> dict[str, float]:
    """Incidents, failures and hours of repair, each expected and with its two ends."""
    row: dict[str, float] = {}
    records = [future[1].quantile(p) for p in tail]
    for quantity, coming in zip(_QUANTITIES, future, strict=True):
        ends = records if coming is future[1] else [coming.quantile(p) for p in tail]
        if quantity == "incidents":
            ends = [min(pair) for pair in zip(ends, records, strict=True)]
        row |= {quantity: coming.expected, f"{quantity}_low": ends[0], f"{quantity}_high": ends[1]}
    return row


def other_causes(futures: Mapping[float, Mapping[str, Sequence[Future]]], tail: tuple[float, float]) -> pd.DataFrame:
    """By horizon, all causes together but the most frequent, whose number is ``beside``; no row for a single one."""
    last = futures[max(futures)]
    ranked = sorted(sorted(last), key=lambda name: -sum(future[1].expected for future in last[name]))
    rows = []
    for hours, of_causes in futures.items():
        rest = summed(of_causes[ranked[-1]])
        for beside in range(len(ranked) - 2, 0, -1):
            rest = summed([rest, *of_causes[ranked[beside]]])
            rows.append({"horizon": hours, "beside": beside, **quantities(rest, tail)})
    numbers = [f"{quantity}{end}" for quantity in _QUANTITIES for end in ("", "_low", "_high")]
    return pd.DataFrame(rows, columns=["horizon", "beside", *numbers])
