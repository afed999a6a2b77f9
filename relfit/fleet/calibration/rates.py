"""Mean times between failures by scope: exposure over incidents, with intervals that allow for clustering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from relfit.analyses.screening import Incidents
from relfit.base.arrays import FloatArray
from relfit.base.numeric.poisson import poisson_interval
from relfit.base.text import number, p_value
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.fleet import FleetModel, hits_by_size
from relfit.fleet.calibration.nodes_down import down_scatter
from relfit.fleet.calibration.parameter_values import Duration
from relfit.fleet.calibration.schema import Check, Estimated, Mtbf
from relfit.fleet.incident_scopes import SCOPES
from relfit.fleet.scope_rates import excess_scatter
from relfit.log.failurelog import FailureLog
from relfit.log.lifedata import LifeData
from relfit.log.outages import outages_of, system_outages_of, watched_of

_FEWEST_OF_GROUPS = 30  # incidents of groups that are needed to count their hits of jobs by size


@dataclass
class Rates(Estimated):
    """Mean times between failures, the incidents behind them, and the shares of racks and fleet that they hit."""

    incidents: Incidents | None = None
    racks: int | None = None
    shares: dict[str, Any] = field(default_factory=dict)


def duration_of_counts(events: int, exposure: float, level: float, dispersion: float = 1.0) -> Duration:
    """Mean time between events counted over `exposure` hours, with exact (Garwood) limits; one-sided without an event.

    `dispersion` is the variance of the count relative to Poisson.
    """
    about: dict[str, Any] = {"level": level, "events": events, "exposure": exposure, "distribution": "poisson"}
    if events == 0:
        low = exposure / -float(np.log1p(-level))
        return Duration(low=low, **about, method="no event: one-sided limit")
    fewest, most = poisson_interval(events / dispersion, level)
    change = "widened for clustering" if dispersion > 1.0 else "narrowed for regular times between"
    method = "exact Poisson" if dispersion == 1.0 else f"Poisson, {change} {dispersion:.3g} times"
    return Duration(
        value=exposure / events,
        low=exposure / (float(most) * dispersion),
        high=exposure / (float(fewest) * dispersion),
        dispersion=None if dispersion == 1.0 else dispersion,
        method=method,
        **about,
    )


def rates_of_log(model: FleetModel, level: float) -> Rates:
    """Mean times between failures of every scope: operating hours over incidents, without those that began while the
    system was down, which interrupt no job and count in ``any`` only.
    """
    log, span = model.period.log, model.hours
    rates, absent, checks = {}, {}, []
    unseen = {"node", "rack", "outage"} if model.question is not None else set()
    for name in SCOPES:
        of_scope = model.rates[name]
        if name in unseen:
            absent[f"mtbf.{name}"] = str(model.question)
            continue
        if not of_scope.hours.sum() > 0.0:
            why = "the log does not say how long nodes were under observation"
            if name == "rack":
                why = "the log does not say in which rack a node stands"
            absent[f"mtbf.{name}"] = why if name in ("node", "rack") else "the log covers no span of time"
            continue
        count, between = float(of_scope.count.sum()), _mean_dispersion(model, [name])
        rates[name] = duration_of_counts(int(count), float(of_scope.exposure.sum()), level, between)
        if (of_scope.along > 1.0).any():
            text = f"incidents of scope {name}"
            checks.append(_clustered(text, f"dispersion.{name}", float(of_scope.along.max()), float(of_scope.p.min())))
    hours = float(np.maximum(model.by_scope["system"].hours, 0.0).sum())
    hours = hours if hours > 0.0 else span
    if hours > 0.0:
        incidents, system = (
            np.concatenate([getattr(model.by_scope[name], values) for name in SCOPES])
            for values in ("instants", "system_of_incident")
        )
        begun = model.found.table["start"]
        if not incidents.size and len(begun):  # the places are unknown
            incidents = ((begun - log.window.start) / pd.Timedelta(hours=1)).to_numpy()
            system = np.zeros(incidents.size, np.int64)
        along, p = excess_scatter(incidents, span, *_spans(log), (system, model.places.system))
        scatter = _of_any_scope(along, _mean_dispersion(model, SCOPES[:1]), _mean_dispersion(model, SCOPES))
        rates["any"] = duration_of_counts(incidents.size, span * max(len(model.places.systems), 1), level, scatter)
        if along > 1.0:
            checks.append(_clustered("incidents of any scope", "dispersion.any", along, p))
    else:
        absent["mtbf.any"] = "the log covers no span of time"
    if unseen:
        absent["mtbf.outage"] = str(model.question)
        return Rates({"mtbf": Mtbf(**rates)}, absent, checks, model.found)
    outage = _outage(model, level, rates)
    if outage is None:
        absent["mtbf.outage"] = "the log does not say how long nodes were under observation"
    else:
        rates["outage"] = outage
    racks = len(model.places.racks) or None
    shares = _shares(model) | {"down_scatter": down_scatter(model, level)}
    return Rates({"mtbf": Mtbf(**rates)}, absent, checks, model.found, racks, shares)


def _of_any_scope(along: float, of_nodes: float, of_all: float) -> float:
    """Dispersion of all incidents, from those along time, of single nodes (most incidents) and of all scopes."""
    return max(along if along > 1.0 else 0.0, of_nodes if of_nodes >= 1.0 else of_all)


def _mean_dispersion(model: FleetModel, scopes: Sequence[str]) -> float:
    """Dispersion of the incidents of some scopes together."""
    rates = [model.rates[name] for name in scopes]
    total = float(sum(each.count.sum() for each in rates))
    return float(sum((each.count * each.dispersion).sum() for each in rates)) / total if total else 1.0


def _shares(model: FleetModel) -> dict[str, Any]:
    """Mean share of its rack, or of the fleet, that an incident of several nodes hits, by field of `Fleet`."""
    shares: dict[str, Any] = {}
    for name in ("rack", "group"):
        scope, hit = model.by_scope[name], model.nodes_hit(model.by_scope[name])
        if hit.size:
            shares[f"{name}_share"] = float(hit.sum() / np.maximum(scope.at_risk, hit).sum())
    if shares.get("group_share") and hit.size >= _FEWEST_OF_GROUPS and len(model.places.systems) == 1:
        origin = model.period.log.window.start.as_unit("ns").value
        shares["group_hits"] = hits_by_size(model.places, model.by_scope["group"], origin)
    return shares


def _outage(model: FleetModel, level: float, rates: dict[str, Duration]) -> Duration | None:
    """Outages of nodes of any scope: each node named by an incident, and all nodes of an outage of a whole system."""
    log, incidents, span = model.period.log, model.found, model.hours
    node_hours = float(model.by_scope["node"].hours.sum())
    if not node_hours > 0.0:
        return None
    records, system = outages_of(log, overlaps="keep"), nodeless_outages(log)
    failed = np.flatnonzero(records.failures)
    named = incidents.incident[records.row[failed]] * records.n_groups + records.code[failed]
    mine = failed[np.unique(named, return_index=True)[1]]  # a burst of records of one node is one outage
    times = (records.start[mine] - log.window.start.value) / NANOSECONDS_PER_HOUR
    systems = model.places.system[records.code[mine]], model.places.system
    scatter, _ = excess_scatter(times, span, *_spans(log), systems) if span > 0.0 else (1.0, 1.0)
    # outages come in batches, one per incident: the variance of a compound Poisson count is the sum of squared batches
    batches = np.append(np.bincount(incidents.incident[records.row[mine]]), system["nodes"]).astype(np.float64)
    node = rates.get("node")
    wider = [rates[name] for name in ("rack", "group", "system") if name in rates]
    if node is not None and node.events == batches.sum() and not any(of.events for of in wider):
        return node  # the same incidents
    scatter = max(scatter, float((batches**2).sum() / max(batches.sum(), 1.0)))
    return duration_of_counts(int(batches.sum()), node_hours, level, scatter)


def nodeless_outages(log: FailureLog) -> pd.DataFrame:
    """Outages of systems without a node, begun under observation: ``nodes``, ``hours``, ``ended`` (seen), ``known``."""
    outages, watched = system_outages_of(log), watched_of(log)
    unnamed = log.events["node"].isna().to_numpy()
    mine = np.flatnonzero(outages.failures & unnamed[outages.row])
    member = outages.groups.get_indexer(watched.groups.get_level_values(0))
    number = np.bincount(member[member >= 0], minlength=outages.n_groups)
    hours = (outages.end[mine] - outages.start[mine]) / NANOSECONDS_PER_HOUR
    known = outages.end_known[mine]
    table = pd.DataFrame({"nodes": number[outages.code[mine]], "hours": hours})
    return table.assign(ended=known & ~outages.end_cut[mine], known=known)


def rates_of_durations(ttf: LifeData, level: float) -> Rates:
    """Mean time between failures of a node, from times to failure without dates or places."""
    absent = {
        f"mtbf.{name}": "the log gives times to failure without dates: what failed together is not known"
        for name in ("rack", "group", "system", "any", "outage")
    }
    hours = float(ttf.total_time.sum())
    if not hours > 0.0:
        return Rates(absent={"mtbf.node": "no hours are known", **absent})
    mtbf = Mtbf(node=duration_of_counts(int(ttf.n_failures.sum()), hours, level))
    return Rates({"mtbf": mtbf}, absent)


def _clustered(what: str, name: str, scatter: float, p: float) -> Check:
    text = (
        f"The number of {what} scatters along time {number(scatter)} times as much as Poisson ({p_value(p)}); "
        f"intervals are wider for it, and a plan made for a constant rate meets times with more failures."
    )
    return Check(name=name, concern=True, finding=text)


def _spans(log: FailureLog) -> tuple[FloatArray, FloatArray]:
    """Hours from the start of the window at which each node came and left."""
    nodes, zero = watched_of(log), log.window.start.value
    entered, left = (nodes.entered - zero) / NANOSECONDS_PER_HOUR, (nodes.left - zero) / NANOSECONDS_PER_HOUR
    return entered, np.maximum(left, entered)
