"""Parameters of a fleet for now: current rates, current repair times, and failures of jobs as counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from relfit.base.text import duration, number
from relfit.fleet import FleetModel
from relfit.fleet.calibration.failures_by_scope import FailuresByScope
from relfit.fleet.calibration.parameter_values import Duration, Quantity
from relfit.fleet.calibration.schema import Mtbf, Mttr, Parameters
from relfit.fleet.current_repairs import RepairsNow, repairs_now
from relfit.fleet.incident_scopes import SCOPES
from relfit.fleet.rates_now import LEAST_RATE, LevelRates, limits_of_multiples

_STEP = 2  # ratio of successive job sizes
_DRAWS = 19  # for limits that are not used


def brought_to_now(parameters: Parameters, model: FleetModel, level: float) -> Parameters:
    """Parameters of the period of a model for now, scaled to now."""
    assert model.lately is not None
    update: dict[str, Any] = {"mtbf": mtbf_now(parameters.mtbf, model, level)}
    if any(isinstance(value, Duration) for _, value in parameters.mttr):
        update["mttr"] = mttr_now(parameters.mttr, model)
    fleet, nodes, systems = parameters.fleet, int(model.standing.present.sum()), model.lately.there.size
    fewer = {"nodes_now": nodes if 0 < nodes < (fleet.nodes or 0) else None}
    fewer["systems_now"] = systems if systems < (fleet.systems or 0) else None
    parameters = parameters.model_copy(update={"fleet": fleet.model_copy(update=fewer)})
    now = parameters.model_copy(update=update)
    if model.question is not None or len(model.places.systems) != 1 or "mtbf.node" not in now.values():
        return now
    return now.model_copy(update={"fleet": parameters.fleet.model_copy(update=_jobs_now(parameters, now, model))})


def _jobs_now(before: Parameters, now: Parameters, model: FleetModel) -> dict[str, Any]:
    """Counted failures of jobs by size relative to those from the rates, and the share of time that jobs are up."""
    most = int(model.in_service.sum())
    sizes = np.unique([*_STEP ** np.arange(int(np.ceil(np.log2(max(most, 1))))), most])
    then, lately = (FailuresByScope.of_parameters(parameters).totals(sizes) for parameters in (before, now))
    packed = [model.interval("mtbf", size=int(size), placement="packed", n_draws=_DRAWS) for size in sizes]
    ratio = 1.0 / np.array([float(each.estimate) for each in packed]) / lately[0]
    usable = np.isfinite(ratio) & (ratio > 0.0)
    update: dict[str, Any] = {"job_failures": list(zip(sizes[usable].tolist(), ratio[usable].tolist(), strict=True))}
    if before.fleet.group_hits is not None:
        worse = dict(zip(sizes.tolist(), lately[1] * ratio / then[1], strict=True))
        update["group_hits"] = [
            (size, hit, float(1.0 / (1.0 + (1.0 - up) / up * worse.get(size, 1.0))))
            for size, hit, up in before.fleet.group_hits
        ]
    return update


def mtbf_now(mtbf: Mtbf, model: FleetModel, level: float) -> Mtbf:
    """Mean times between failures of the period, scaled to the current rates; intervals of the rate over a horizon."""
    assert model.lately is not None
    lately = model.lately
    method = f"{Quantity.of_now}, for the next {duration(lately.horizon)}"
    values: dict[str, Any] = {}
    ratios, weights, there = [], [], np.isin(np.arange(len(model.places.systems)), lately.there)
    for name in SCOPES:
        rates, before = model.rates[name], getattr(mtbf, name)
        if not isinstance(rates, LevelRates) or before is None or before.value is None:
            continue
        of_systems = np.where(there, np.nan_to_num(rates.now) * rates.running, 0.0)
        if not of_systems.any():
            continue
        rate = float(of_systems.sum() / rates.running[there].sum())
        variance = float((of_systems**2 * rates.variance).sum() / of_systems.sum() ** 2)
        values[name] = _of_rate(rate, variance, level, before.events, method)
        ratios.append(rate * before.value)
        weights.append(float(model.nodes_hit(model.by_scope[name]).sum()) if name != "node" else before.events)
    every, variance = lately.level()
    if mtbf.any is None or mtbf.any.value is None or not every > 0.0:
        return mtbf.model_copy(update=values)
    values["any"] = _of_rate(every / lately.there.size, variance, level, mtbf.any.events, method)
    if mtbf.outage is not None and mtbf.outage.value is not None and sum(weights) > 0.0:
        rate = float(np.average(ratios, weights=weights)) / mtbf.outage.value
        values["outage"] = _of_rate(rate, variance, level, mtbf.outage.events, method)
    return mtbf.model_copy(update=values)


def _of_rate(rate: float, variance: float, level: float, events: int | None, method: str) -> Duration:
    """Mean time between events, from a log-normal rate with this relative variance."""
    low, high = (float(end) for end in limits_of_multiples(np.asarray(variance), level))
    method += "; the log does not bound it from above" if low <= LEAST_RATE else ""
    about = {"level": level, "events": events, "distribution": "lognormal", "method": method}
    return Duration(value=1.0 / rate, low=1.0 / (rate * high), high=1.0 / (rate * low), **about)


def mttr_now(mttr: Mttr, model: FleetModel) -> Mttr:
    """Mean times to repair of the period, scaled to the current ones; intervals of the mean over the horizon."""
    assert model.lately is not None
    lately, since = model.lately, model.period.log.window.start
    times = {name: value for name, value in mttr if isinstance(value, Duration) and name != "split"}
    of = {name: next((scope for scope in SCOPES if name in (scope, f"{scope}_node")), None) for name in times}
    current = {scope: repairs_now(lately, since, scope and model.label(scope)) for scope in set(of.values())}
    update = {}
    for name, value in times.items():
        now = current[of[name]]
        update[name] = value if now is None else _scaled(value, now, lately.horizon)
    return mttr.model_copy(update=update)


def _scaled(value: Duration, now: RepairsNow, horizon: float) -> Quantity:
    """A mean time multiplied by the factor of now with its relative variance, for repairs of some time ahead."""
    factor, variance = now.factor, now.variance
    if value.value is None:
        return value
    low, high, wider, distribution = value.low, value.high, "", None
    if low is not None and high is not None:
        distribution = "lognormal"
        z = float(special.ndtri(0.5 + 0.5 * (value.level or 0.95)))
        ends = [np.log(value.value / low), np.log(high / value.value)]
        wide = [float(np.exp(np.sqrt(end**2 + z**2 * np.log1p(max(variance, 0.0))))) for end in ends]
        low, high = value.value * factor / wide[0], value.value * factor * wide[1]
        wider = f", uncertain by a factor of {number(float(np.exp(z * np.sqrt(np.log1p(max(variance, 0.0))))), 2)}"
    method = f"{value.method or 'mean of repairs'}; times {number(factor)} for the next {duration(horizon)}{wider}"
    method += "" if now.own else "; as all repairs, its own are few"
    about = {"level": value.level, "events": value.events, "distribution": distribution, "method": method}
    return Duration(value=value.value * factor, low=low, high=high, **about)
