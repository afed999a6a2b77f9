"""`calibrate`: from a failure log to the parameters that planners need."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from relfit.arguments import share
from relfit.arrays import IntArray
from relfit.calibration.fitted_families import family_of_unequal_nodes, fitted_family
from relfit.calibration.log_provenance import provenance
from relfit.calibration.parameter_values import Duration, Ratio, Share
from relfit.calibration.parameters_now import mtbf_now, mttr_now
from relfit.calibration.rates import Rates, nodeless_outages, rates_of_durations, rates_of_log
from relfit.calibration.repair_scopes import repair_of_an_outage, repairs_by_scope
from relfit.calibration.repair_times import kinds_of_repairs, mean_of_repairs, repairs_of_incidents
from relfit.calibration.schema import (
    BadNodes,
    Censoring,
    Check,
    FittedFamily,
    Fleet,
    Mtbf,
    Mttr,
    Parameters,
    Period,
)
from relfit.durations import Rules, times_to_repair
from relfit.errors import ArgumentError, RelfitError
from relfit.failurelog import FailureLog
from relfit.families import family_named
from relfit.fleet import ChosenPeriod, FleetModel, chosen_period, fleet_model
from relfit.fleet.now import NOW, checked_at
from relfit.independence import dependence
from relfit.lifedata import LifeData
from relfit.outages import clock_step
from relfit.recurrence import histories_of_incidents, trend_tests
from relfit.screening import Incidents, incidents, outlier_nodes
from relfit.screening.frailty import renewal_models
from relfit.second_process import SecondProcess, later

__all__ = ["PARTS", "calibrate"]

PARTS = ("period", "mtbf", "mttr", "repair_kinds", "families", "bad_nodes", "dependence", "trend")
_NO_REPAIRS = "the log gives times to failure only, and no repairs"
_NO_DATES = "the log gives times to failure without dates"
_FAMILIES = ("exponential", "weibull", "gamma", "lognormal")


def calibrate(
    log: FailureLog,
    *,
    at: str = NOW,
    horizon: Any = "90d",
    period: str | tuple[Any, Any] | None = None,
    parts: Sequence[str] = PARTS,
    families: Sequence[str] = _FAMILIES,
    window: Any = None,
    group: str | None = None,
    first: str = "known",
    level: float = 0.95,
    name: str | None = None,
    model: FleetModel | None = None,
    rng: int | np.random.Generator | None = 0,
    second: SecondProcess | None = None,
) -> Parameters:
    """Estimate everything that planners need from a failure log, each with an interval and what it rests on.

    What the log cannot give is not there, and ``absent`` says why. A scope in which nothing failed has a lower limit of
    its mean time between failures and no value.

    Parameters
    ----------
    log : FailureLog
        Select one system first (``log.where(system=...)``) unless all are alike.
    at : {"now", "long run"}
        As for `relfit.fleet_model`: rates and repairs of now, or those of the period.
    horizon : duration
        Ahead of the end of the log, that those of now are for.
    period : {"stable", "all"} or (since, until), optional
        The part of the log to use. ``"stable"`` is `relfit.stable_period`, the default where ``"period"`` is among
        `parts`; else the whole log.
    parts : sequence of str
        Of ``"period"``, ``"mtbf"``, ``"mttr"``, ``"repair_kinds"`` (quick and slow ones), ``"families"``,
        ``"bad_nodes"``, ``"dependence"`` and ``"trend"``. ``("mtbf", "mttr")`` alone takes milliseconds.
    families : sequence of str
        Among which `failure` and `repair` are chosen by AICc.
    window : float or duration, optional
        Within which records are joined to incidents; chosen from the log when left out.
    group : str, optional
        Attribute that says in which rack a node stands; rack, frame, cabinet or chassis when left out.
    first : {"known", "always", "never"}
        The time before a node's first failure: by its age, a whole time, or left out; as for `FailureLog.ttf`.
    level : float
        Level of the intervals.
    name : str, optional
        What the cluster is called; the name of the log's only system when left out.
    model : FleetModel, optional
        Of this log, where there is one already: its period is used, and `period`, `window` and `group` are not.
    rng : int or numpy.random.Generator, optional
        For the periods, the test of bad nodes and dependence.
    second : relfit.second_process.SecondProcess, optional
        Looks for dependence meanwhile; the parameters are the same.

    Returns
    -------
    relfit.Parameters

    Raises
    ------
    ArgumentError
        For an unknown part, period or family, or a level outside 0..1.

    Notes
    -----
    Rates are those of the model of the fleet (`relfit.fleet_model`): incidents over hours in operation, with Poisson
    intervals that are wider by the scatter of counts between places and along time; the mean time to repair has an
    exact, a profile or a skewness-corrected interval, by how the repairs are distributed
    (`relfit.calibration.repair_times`).

    Examples
    --------
    >>> import relfit as rf
    >>> params = rf.calibrate(rf.datasets.load("white"), parts=("mtbf", "mttr"))
    >>> round(params.mtbf.node.value), round(params.mtbf.rack.value), round(params.mttr.mean.value, 1)
    (2797, 1131, 2.9)
    >>> params.mtbf.node.events
    8206
    """
    wanted = _checked(parts, level, period, families)
    streams = np.random.default_rng(rng).spawn(3)
    work, undated = _Work(log, level), log.lifetimes is not None and not len(log.events)
    if model is None:
        span = period if period is not None else "stable" if "period" in wanted else "all"
        chosen = chosen_period(log, span, rng)
        if {"mtbf", "mttr", "repair_kinds", "families"} & wanted and not undated:
            model = fleet_model(
                log, chosen, at=at, horizon=horizon, window=window, group=group, first=first, level=level
            )
        else:
            checked_at(at)
    work.take_period(chosen if model is None else model.period)
    part = work.part
    if model is not None and not undated:
        work.take_incidents(model, window is None and group is None)
    related = None
    if "dependence" in wanted and not undated:
        related = later(second, _dependence, part, work.incidents or work.joined, streams[2])
    rates = Rates(Mtbf())
    if "mtbf" in wanted:
        rates = work.mtbf()
    if {"mttr", "repair_kinds"} & wanted:
        work.repair_times("mttr" in wanted, "repair_kinds" in wanted)
    if "families" in wanted:
        work.families(families)
    if "bad_nodes" in wanted:
        work.bad_nodes(streams[1])
    if "dependence" in wanted:
        work.dependence(related)
    if "trend" in wanted:
        work.trend(undated)
    systems = part.systems
    return Parameters(
        name=name if name is not None else systems[0] if len(systems) == 1 else None,
        mtbf=rates.mtbf,
        mttr=work.mttr,
        failure=work.failure,
        repair=work.repair,
        bad_nodes=work.bad,
        fleet=Fleet(
            nodes=None if part.unseen_nodes else part.n_nodes, racks=rates.racks, systems=len(systems), **rates.shares
        ),
        period=work.period,
        censoring=work.censoring(),
        checks=[*work.checks],
        absent=work.absent,
        provenance=provenance(part, rates),
    )


def _checked(
    parts: Sequence[str], level: float, period: str | tuple[Any, Any] | None, families: Sequence[str]
) -> set[str]:
    for part in [parts] if isinstance(parts, str) else parts:
        if part not in PARTS:
            raise ArgumentError(f"part {part!r} is not known", remedy=f"use some of {', '.join(PARTS)}")
    share("level", level, zero=False, one=False)
    if not (period in (None, "stable", "all") or (isinstance(period, tuple) and len(period) == 2)):
        raise ArgumentError(f"period {period!r} is not known", remedy='use "stable", "all" or (since, until)')
    if not families:
        raise ArgumentError("no family was given", remedy=f"use {', '.join(_FAMILIES)}")
    for family in families:
        family_named(family)
    return {parts} if isinstance(parts, str) else set(parts)


def _dependence(log: FailureLog, joined: Incidents | None, rng: np.random.Generator) -> pd.DataFrame:
    """The questions whether failures depend on each other, with their answers."""
    return dependence(log, incidents=joined, rng=rng).to_frame()


@dataclass
class _Work:
    """What is known so far, part by part."""

    log: FailureLog
    level: float
    part: FailureLog = field(init=False)
    joined: Incidents | None = None
    period: Period | None = None
    mttr: Mttr = field(default_factory=Mttr)
    failure: FittedFamily | None = None
    repair: FittedFamily | None = None
    bad: BadNodes = field(default_factory=BadNodes)
    checks: list[Check] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    ttf: LifeData | None = None
    outages: LifeData | None = None
    repairs: LifeData | None = None
    incidents: Incidents | None = None
    model: FleetModel | None = None
    outage_incident: IntArray | None = None
    step: int = field(init=False)

    def take_period(self, chosen: ChosenPeriod) -> None:
        """Take a part of the log."""
        log, name = chosen.log, chosen.name
        if log is self.log:
            self.joined = chosen.joined
        if chosen.problem is not None:
            self.absent["period"] = chosen.problem
        window = log.window
        known = bool(pd.notna(window.start) and pd.notna(window.end))
        self.part = log
        self.period = Period(
            name=name,
            start=_moment(window.start) if known else None,
            end=_moment(window.end) if known else None,
            hours=window.hours if known and window.hours >= 0.0 else None,
            finding=chosen.headline,
        )

    def take_incidents(self, model: FleetModel, usual: bool) -> None:
        """Incidents, outages by node, and one repair for each incident."""
        if usual:
            self.joined = model.found
        self.model = model
        self.incidents = self.model.found
        if self.period is not None and model.lately is not None:
            self.period = self.period.model_copy(update={"finding": f"{model.now_headline} {self.period.finding}"})
        repairs = times_to_repair(self.part, rules=Rules(zeros="keep"))
        self.outages, self.outage_incident = repairs.lives, self.incidents.incident[repairs.begun]
        self.step = clock_step(self.part)
        self.repairs = repairs_of_incidents(self.outages, self.outage_incident)

    def mtbf(self) -> Rates:
        """Mean times between failures by scope."""
        if self.model is None:  # of lifetimes without dates
            found = rates_of_durations(self.part.ttf("node"), self.level)
        else:
            found = rates_of_log(self.model, level=self.level)
            if self.model.lately is not None:
                found.mtbf = mtbf_now(found.mtbf, self.model, self.level)
        self.absent |= found.absent
        self.checks += found.checks
        if len(self.part.systems) > 1:
            text = f"{len(self.part.systems)} systems are taken as one: if they differ, the parameters describe none."
            self.checks.append(Check(name="systems", concern=True, finding=text))
        return found

    def repair_times(self, mean: bool, kinds: bool) -> None:
        """Mean time to repair, and those of quick and slow repairs."""
        names = [*(["mean"] if mean else []), *(["quick", "slow", "share_quick"] if kinds else [])]
        if self.repairs is None or not self.repairs.n_failures.sum():
            why = _NO_REPAIRS if self.repairs is None else "the log has no completed repair"
            self.absent |= {f"mttr.{name}": why for name in names}
            return
        found: dict[str, Any] = {}
        if mean:
            every = self.repairs
            if self.outages is not None and self.outage_incident is not None:
                every = repairs_of_incidents(self.outages, self.outage_incident, self.step)
            found["mean"], check = mean_of_repairs(every, self.level)
            self.checks += [] if check is None else [check]
            if self.incidents is not None and self.outages is not None and self.outage_incident is not None:
                found |= repairs_by_scope(self.part, self.incidents, self.level)
                for name, value in (("rack_node", self.incidents.group), ("group_node", "group")):
                    of_scope = np.append(self.incidents.table["scope"].to_numpy() == value, False)[self.outage_incident]
                    mine = np.where(of_scope, self.outage_incident, -1)
                    found[name] = repair_of_an_outage(self.outages, mine, self.level, step=self.step)
                found["outage"] = repair_of_an_outage(
                    self.outages, self.outage_incident, self.level, nodeless_outages(self.part), self.step
                )
        if kinds:
            parts, absent = kinds_of_repairs(self.repairs, self.level)
            found |= parts
            self.absent |= absent
        self.mttr = Mttr(**found)
        if self.model is not None and self.model.lately is not None:
            self.mttr = mttr_now(self.mttr, self.model.lately.log, self.part, self.model.lately.horizon)

    def families(self, families: Sequence[str]) -> None:
        """Distributions of times to failure, of nodes by themselves, and to repair."""
        # lives that the source gives whole say more than what its events do
        model = self.model if self.part.lifetimes is None else None
        question = None if model is None else model.question
        ttf = self.ttf = self.part.ttf("node") if model is None else model.by_scope["node"].lives
        unequal = None if model is None else family_of_unequal_nodes(model, families)
        self.failure, why = (unequal, "") if unequal is not None else fitted_family(ttf, families, self.level)
        if question is not None:
            self.failure, why = None, question
        if self.failure is None:
            self.absent["failure"] = why
        else:
            self._shape(ttf)
        if self.repairs is None:
            self.absent["repair"] = _NO_REPAIRS
            return
        self.repair, why = fitted_family(self.repairs, families, self.level)
        if self.repair is None:
            self.absent["repair"] = why

    def _shape(self, ttf: LifeData) -> None:
        """Whether nodes fail at a constant rate, as most planners assume; unequal nodes are told apart from ageing."""
        if self.model is not None and ttf is self.model.by_scope["node"].lives and self.model.level == self.level:
            found = self.model.renewals["node"]
        else:
            code, _ = pd.factorize(ttf.groups.get_level_values(0)) if ttf.groups.nlevels > 1 else (None, None)
            found = renewal_models(ttf, code, level=self.level)
        if (found.status == "ok").any():
            concern = bool((found.ageing != 0).any())
            self.checks.append(Check(name="failures.exponential", concern=concern, finding=found.headline))

    def bad_nodes(self, rng: np.random.Generator) -> None:
        """Nodes that fail more often, as a class."""
        names = ("fraction", "factor", "good_mtbf")
        why = self.part.question
        if len(self.part.systems) != 1:
            why = "the log has several systems; select one" if self.part.systems else "the log has no system"
        elif why is None:
            row = outlier_nodes(self.part, of=self.joined, level=self.level, rng=rng).classes.iloc[0]
            p = float(row["p"])
            if row["status"] == "too_few":
                why = "fewer than three nodes or ten failures"
            elif not np.isfinite(row["ratio"]):
                why = {
                    "equal": "nodes of one rate explain the failures",
                    "spread": "rates that differ by degrees explain the failures better than two classes of nodes",
                    "either": "rates that differ by degrees explain the failures as well as two classes of nodes",
                }.get(row["description"], "the class with the higher rate is no small one of bad nodes")
        if why is not None:
            self.absent |= {f"bad_nodes.{name}": why for name in names}
            return
        about = {"level": self.level, "method": "Weibull renewals of two classes of nodes"}
        rate = {end: float(row[f"rate{end}"]) for end in ("_low", "", "_high")}
        self.bad = BadNodes(
            fraction=Share(
                **_limits(*(float(row[f"fraction{end}"]) for end in rate)), **about, events=int(row["nodes"])
            ),
            factor=Ratio(**_limits(*(float(row[f"ratio{end}"]) for end in rate)), **about, events=int(row["events"])),
            good_mtbf=Duration(
                **_limits(*(1.0 / rate[end] if rate[end] > 0.0 else np.inf for end in ("_high", "", "_low"))),
                **about,
                events=int(row["events"]),
            ),
            p=p if np.isfinite(p) else None,
        )

    def dependence(self, ask: Callable[[], pd.DataFrame] | None) -> None:
        """Whether failures depend on each other."""
        if ask is None:
            self.absent["checks.dependence"] = _NO_DATES
            return
        try:
            found = ask()
        except RelfitError as error:
            self.absent["checks.dependence"] = str(error)
            return
        for row in found.itertuples():
            name, finding = f"dependence.{row.part}", str(row.finding)
            if row.depends is None:
                self.absent[f"checks.{name}"] = finding
            else:
                self.checks.append(Check(name=name, concern=bool(row.depends), finding=finding))

    def trend(self, undated: bool) -> None:
        """Whether the rate of incidents changes."""
        if undated:
            self.absent["checks.trend"] = _NO_DATES
            return
        try:
            joined = self.incidents or self.joined or incidents(self.part)
            found = trend_tests(histories_of_incidents(self.part, joined), "all", tests=("lewis_robinson", "mann"))
        except RelfitError as error:
            self.absent["checks.trend"] = str(error)
            return
        made = np.isfinite(found.p)
        if not made.any():
            self.absent["checks.trend"] = found.headline
            return
        concern = bool(found.p[made].min() * made.sum() < 0.05)
        self.checks.append(Check(name="trend", concern=concern, finding=found.headline))

    def censoring(self) -> Censoring:
        """What was cut off, as far as it was looked at."""
        ttf, repairs, events = self.ttf, self.outages, self.part.events
        counts: dict[str, int] = {}
        if ttf is not None:
            counts |= {
                "times_to_failure": int(ttf.n_lives.sum()),
                "times_to_failure_censored": int(ttf.n_censored.sum()),
                "zero_times_to_failure": int(ttf.n_zeros.sum()) + _counted(ttf, "zero_gaps"),
            }
        if repairs is not None:
            counts |= {
                "outages": int((repairs.n_lives - repairs.n_zeros).sum()),
                "outages_censored": int(repairs.n_censored.sum()),
                "zero_repairs": _counted(repairs, "zero_repairs"),
                "begun_before": int(events["start_cut"].to_numpy(dtype=bool).sum()),
                "ends_unknown": _counted(repairs, "end_unknown"),
            }
        return Censoring(**counts)


def _counted(data: LifeData, column: str) -> int:
    return int(data.counts[column].sum()) if data.counts is not None and column in data.counts else 0


def _limits(low: float, value: float, high: float) -> dict[str, float]:
    """Value and those of its limits that are finite."""
    ends = {"low": low, "value": value, "high": high}
    return {key: number for key, number in ends.items() if np.isfinite(number)}


def _moment(stamp: pd.Timestamp) -> dt.datetime:
    moment: dt.datetime = stamp.tz_convert("UTC").floor("us").to_pydatetime(warn=False)
    return moment.replace(tzinfo=dt.UTC)
