"""`calibrate`: parameters for planners from a failure log."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.arrays import Duration, Durations
from relfit.base.errors import ArgumentError
from relfit.base.numeric.levels import level_checked
from relfit.base.text import duration
from relfit.fitting.families import family_named
from relfit.fleet import ChosenPeriod, FleetModel, chosen_period, fleet_model
from relfit.fleet.calibration import tested_assumptions
from relfit.fleet.calibration.fitted_families import family_of_unequal_nodes, fitted_family
from relfit.fleet.calibration.parameters_now import brought_to_now
from relfit.fleet.calibration.rates import Rates, rates_of_durations, rates_of_log
from relfit.fleet.calibration.repair_scopes import Repairs
from relfit.fleet.calibration.repair_times import kinds_of_repairs
from relfit.fleet.calibration.schema import Censoring, Check, Estimated, Fleet, Mttr, Parameters, PeriodUsed, Provenance
from relfit.fleet.now import NOW, checked_at
from relfit.log.failurelog import FailureLog
from relfit.log.lifedata import LifeData
from relfit.log.tables import made_once

PARTS = ("period", "mtbf", "mttr", "repair_kinds", "families", "bad_nodes", "dependence", "trend")
_OF_THE_MODEL = {"mtbf", "mttr", "repair_kinds", "families"}
_FAMILIES = ("exponential", "weibull", "gamma", "lognormal")


@made_once
def calibrate(  # noqa: PLR0913 - what is estimated, named one by one
    log: FailureLog,
    *,
    at: str = NOW,
    horizon: Durations = "90d",
    period: str | tuple[object, object] = "stable",
    parts: Sequence[str] = PARTS,
    families: Sequence[str] = _FAMILIES,
    window: Duration | None = None,
    group: str | None = None,
    first: str = "known",
    level: float = 0.95,
    name: str | None = None,
    model: FleetModel | None = None,
    rng: int | np.random.Generator | None = 0,
) -> Parameters:
    """Estimate the parameters that planners need from a failure log, each with its interval and provenance.

    ``absent`` says why a parameter is missing. A scope without failures has a lower limit of its mean time between
    failures and no value.

    Parameters
    ----------
    log : FailureLog
        Select one system first (``log.where(system=...)``) unless all are alike.
    at : {"now", "long run"}
        As for `relfit.fleet_model`: current rates and repairs, or those of the period.
    horizon : duration
        Time after the end of the log that results for now cover.
    period : {"stable", "all"} or (since, until)
        The part of the log to use, as for `relfit.fleet_model`.
    parts : sequence of str
        Some of ``"mtbf"``, ``"mttr"``, ``"repair_kinds"`` (quick and slow), ``"families"``, ``"bad_nodes"``,
        ``"dependence"`` and ``"trend"``; all by default. ``"period"`` is always included.
    families : sequence of str
        Candidate distributions of `failure` and `repair`, compared by AICc; by default exponential, Weibull, gamma and
        lognormal.
    window : float or duration, optional
        Join records within this time to incidents; chosen from the log by default.
    group : str, optional
        Attribute with the rack of a node; rack, frame, cabinet or chassis by default.
    first : {"known", "always", "never"}
        The time before a node's first failure, as for `FailureLog.ttf`.
    level : float
        Level of the intervals.
    name : str, optional
        Name of the cluster; by default that of the log's only system.
    model : FleetModel, optional
        A model of this log, to reuse; it replaces `at`, `horizon`, `period`, `window`, `group` and `first`.
    rng : int or numpy.random.Generator, optional
        For the tests of bad nodes and dependence.

    Raises
    ------
    ArgumentError
        For an unknown part, period, `at` or distribution, or a level outside 0..1.

    Notes
    -----
    Rates are those of the model of the fleet (`relfit.fleet_model`). For the long run: incidents over operating hours,
    with Poisson intervals widened by the scatter of counts between places and along time; the mean time to repair has
    an exact, a profile or a skewness-corrected interval, depending on the distribution of the repairs. For now these
    are scaled to the current level, and the intervals, log-normal, include changes over `horizon`.

    Examples
    --------
    >>> import relfit as rf
    >>> params = rf.calibrate(rf.datasets.load("white"), parts=("mtbf", "mttr"))
    >>> round(params.mtbf.node.value), round(params.mtbf.rack.value), round(params.mttr.mean.value, 1)
    (2797, 1124, 2.8)
    >>> params.mtbf.node.events
    2938
    """
    wanted = _checked(parts, level, period, families)
    checked_at(at)
    dated = log.lifetimes is None or len(log.events) > 0
    chosen = chosen_period(log, period) if model is None else model.period
    if model is None and dated and _OF_THE_MODEL & wanted:
        model = fleet_model(log, chosen, at=at, horizon=horizon, window=window, group=group, first=first, level=level)
        chosen = model.period
    part, systems = chosen.log, chosen.log.systems
    repairs = None if model is None else Repairs.of(model)
    usual = model.found if model is not None and window is None and group is None else None
    rates = Rates()
    if "mtbf" in wanted:
        rates = rates_of_durations(part.ttf("node"), level) if model is None else rates_of_log(model, level)
        rates.checks += tested_assumptions.systems_check(part)
    times = None
    if "families" in wanted:  # lifetimes of the source are preferred to times from its events
        times = part.ttf("node") if model is None or part.lifetimes is not None else model.by_scope["node"].lives
    estimates: list[Estimated] = [rates]
    if {"mttr", "repair_kinds"} & wanted:
        estimates.append(_mttr(repairs, level, wanted))
    if times is not None:
        estimates += [_failure(part, model, times, families, level), _repair(repairs, families, level)]
    if "bad_nodes" in wanted:
        estimates.append(tested_assumptions.bad_nodes(part, usual, level, rng))
    if "dependence" in wanted:
        estimates.append(tested_assumptions.dependence_checks(part, dated, None if model is None else model.found, rng))
    if "trend" in wanted:
        estimates.append(tested_assumptions.trend_check(part, dated, None if model is None else model.found))
    absent = {} if chosen.problem is None else {"period": chosen.problem}
    fields: dict[str, Any] = {}
    for estimate in estimates:
        absent, fields = absent | estimate.absent, fields | estimate.fields
    checks = tested_assumptions.said_once([check for estimate in estimates for check in estimate.checks])
    parameters = Parameters(
        name=name if name is not None else systems[0] if len(systems) == 1 else None,
        **fields,
        fleet=Fleet(
            nodes=None if part.unseen_nodes else part.n_nodes, racks=rates.racks, systems=len(systems), **rates.shares
        ),
        period=_period(chosen, model),
        censoring=_censoring(part, times, repairs),
        checks=checks,
        absent=absent,
        provenance=_provenance(part, rates),
    )
    return parameters if model is None or model.lately is None else brought_to_now(parameters, model, level)


def _checked(
    parts: Sequence[str], level: float, period: str | tuple[object, object], families: Sequence[str]
) -> set[str]:
    wanted = [parts] if isinstance(parts, str) else parts
    for part in wanted:
        if part not in PARTS:
            raise ArgumentError(f"part {part!r} is not known", remedy=f"use one or more of {', '.join(PARTS)}")
    level_checked(level)
    if not (period in ("stable", "all") or (isinstance(period, tuple) and len(period) == 2)):
        raise ArgumentError(f"period {period!r} is not known", remedy='use "stable", "all" or (since, until)')
    if not families:
        raise ArgumentError("no family was given", remedy=f"use {', '.join(_FAMILIES)}")
    for family in families:
        family_named(family)
    return set(wanted)


def _period(chosen: ChosenPeriod, model: FleetModel | None) -> PeriodUsed:
    window, finding = chosen.log.window, chosen.headline
    if model is not None and model.lately is not None:
        finding = f"{model.now_headline} {finding}"
    dated = bool(pd.notna(window.start) and pd.notna(window.end))
    return PeriodUsed(
        name=chosen.name,
        start=_moment(window.start) if dated else None,
        end=_moment(window.end) if dated else None,
        hours=window.hours if dated and window.hours >= 0.0 else None,
        finding=finding,
    )


def _moment(stamp: pd.Timestamp) -> dt.datetime:
    moment: dt.datetime = stamp.tz_convert("UTC").floor("us").to_pydatetime(warn=False)
    return moment.replace(tzinfo=dt.UTC)


def _mttr(repairs: Repairs | None, level: float, wanted: set[str]) -> Estimated:
    """Mean time to repair, of all repairs and of quick and slow ones."""
    names = [
        *(["mean"] if "mttr" in wanted else []),
        *(["quick", "slow", "share_quick"] if "repair_kinds" in wanted else []),
    ]
    if repairs is None or not repairs.of_incidents.n_failures.sum():
        why = Repairs.NONE if repairs is None else "the log has no completed repair"
        return Estimated(absent={f"mttr.{name}": why for name in names})
    means, checks = repairs.means(level) if "mttr" in wanted else ({}, [])
    kinds: dict[str, Any] = {}
    absent: dict[str, str] = {}
    if "repair_kinds" in wanted:
        kinds, absent = kinds_of_repairs(repairs.of_incidents, level, means.get("mean"))
    return Estimated({"mttr": Mttr(**means, **kinds)}, absent, checks)


def _failure(
    part: FailureLog, model: FleetModel | None, times: LifeData, families: Sequence[str], level: float
) -> Estimated:
    """The distribution of times to failure."""
    model = model if part.lifetimes is None else None
    if model is not None and model.question is not None:
        return Estimated(absent={"failure": model.question})
    fitted, why = None if model is None else family_of_unequal_nodes(model, families), ""
    if fitted is None:
        fitted, why = fitted_family(times, families, level)
    if fitted is None:
        return Estimated(absent={"failure": why})
    return Estimated({"failure": fitted}, {}, tested_assumptions.shape_check(times, model, level))


def _repair(repairs: Repairs | None, families: Sequence[str], level: float) -> Estimated:
    """The distribution of times to repair, and whether its mean is theirs."""
    if repairs is None:
        return Estimated(absent={"repair": Repairs.NONE})
    times = repairs.of_incidents
    fitted, why = fitted_family(times, families, level)
    if fitted is None:
        return Estimated(absent={"repair": why})
    mean, seen = fitted.mean, float(times.total_time.sum() / times.n_failures.sum())
    if mean is None or mean.value is None or mean.low is None or mean.high is None or mean.low <= seen <= mean.high:
        return Estimated({"repair": fitted})
    finding = (
        f"The {fitted.family} distribution of repairs has a mean of {duration(mean.value)}, the repairs themselves one "
        f"of {duration(seen)}; exports and simulations take its shape with the mean of mttr."
    )
    return Estimated({"repair": fitted}, checks=[Check(name="repairs.mean", concern=True, finding=finding)])


def _censoring(part: FailureLog, times: LifeData | None, repairs: Repairs | None) -> Censoring:
    """Counts of censored and zero durations, as far as they were used."""
    counts: dict[str, int] = {}
    if times is not None:
        counts |= {
            "times_to_failure": int(times.n_lives.sum()),
            "times_to_failure_censored": int(times.n_censored.sum()),
            "zero_times_to_failure": int(times.n_zeros.sum()) + _counted(times, "zero_gaps"),
        }
    if repairs is not None:
        outages = repairs.outages
        counts |= {
            "outages": int((outages.n_lives - outages.n_zeros).sum()),
            "outages_censored": int(outages.n_censored.sum()),
            "zero_repairs": _counted(outages, "zero_repairs"),
            "begun_before": int(part.events["start_cut"].to_numpy(dtype=bool).sum()),
            "ends_unknown": _counted(outages, "end_unknown"),
        }
    return Censoring(**counts)


def _counted(data: LifeData, column: str) -> int:
    return int(data.counts[column].sum()) if data.counts is not None and column in data.counts else 0


def _provenance(log: FailureLog, rates: Rates) -> Provenance:
    from relfit import __version__

    source = log.source
    return Provenance(
        files=[Path(path).name for path in source.paths],
        sha256=list(source.sha256),
        format=source.format,
        rows_read=source.rows_read,
        rows_rejected=len(log.rejected),
        selection=list(source.selection),
        window=None if rates.incidents is None else _finite(rates.incidents.window.hours),
        relfit=__version__,
        created=dt.datetime.now(dt.UTC).replace(microsecond=0),
    )


def _finite(hours: float) -> float | None:
    return float(hours) if hours >= 0.0 else None
