"""The sections about a fleet: periods, interruptions, systems, nodes, forecast, independence."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from relfit import plotting
from relfit.analyses.screening.periods import FEWEST
from relfit.base.text import count, duration, first_names, number, p_value, percent
from relfit.base.units import HOURS_PER_YEAR
from relfit.fleet import FleetModel
from relfit.fleet.nodes_to_check import standing_out_lately
from relfit.reporting.components import MOST_ROWS, NOTHING, Figure, Section, Table, heads, interval_head, span, spans
from relfit.reporting.report_data import ReportData

_NODES_NAMED = 1
_SECOND = 1.0 / 3600.0  # hours
_CRITERIA = {
    "bad class": "the class of bad nodes",
    "three times or more": "three times the mean rate or more",
    "bad class or three times": "the class of bad nodes or, in systems without, of three times the mean rate or more",
}
"""What the probability of a node over the period is of: head of the column, and note."""
_JOINED = 1.02  # records per incident from which the page says that it counts records


def steady(m: ReportData) -> Section | str:
    """The periods of the rate."""
    points = m.change_points.result
    if points is None or points.status != "ok":
        return f"periods of the rate ({'too few failures' if points is not None else m.change_points.problem})"
    frame = points.to_frame()
    for name in ("rate", "low", "high"):
        frame[name] *= HOURS_PER_YEAR
    frame["use"] = m.used_periods(points)
    for name in ("start", "end", "start_low", "start_high"):
        frame[name] = frame[name].dt.strftime("%Y-%m-%d")
    note = ""
    since = sum(period.failures for period in points.periods[points.stable :])
    if m.chosen.name not in ("all", "given") and since != m.failures:
        joined, day = len(m.model.needed.found.table), points.stable_period.start  # by the pauses of this period alone
        note = f"Other sections count {m.failures:,} incidents since {day:%Y-%m-%d}, not {since:,}: "
        nested = f"; {joined - m.failures:,} began while their node was down" if joined > m.failures else ""
        note += f"records of this period alone join to {joined:,}{nested}."
    rate = f"rate: per {points.stable_period.per}; limits: {interval_head(m.level)}"
    table = Table(
        "periods",
        "Periods of the rate",
        frame,
        heads(f"start: from; end: to; began: began between; failures: incidents; {rate}; use: used"),
        page=frame.assign(began=["start of observation", *(frame["start_low"] + " and " + frame["start_high"])[1:]]),
        note=note,
        shown=12,
    )
    if len(points) == 1:
        finding = f"{points.finding[:1].upper()}{points.finding[1:]}"
        verdict = f"{finding} ({points.stable_period.rates('incidents')}).{points.evidence}"
    elif m.firm("steady"):
        stable, number = points.stable_period, points.stable
        last = number == len(points.periods) - 1
        change = points.periods[number - 1] if last else points.periods[-1]
        when = "before that the rate was" if last else f"since {change.start:%Y-%m-%d} the rate is"
        verdict = (
            f"No: from {stable.start:%Y-%m-%d} to {stable.end:%Y-%m-%d} it was {stable.rates('incidents')}; {when} "
            f"{change.times(stable)}{' that' if stable.rate > 0.0 else ''}."
        )
        if m.chosen.problem is not None:
            verdict += f" All of the log is used: {m.chosen.problem}."
    else:
        verdict = f"A change is seen, but no clearer than chance shows in {m.asked} tests. {m.chosen.headline}"
    return Section("steady", "Is the rate steady?", verdict, m.study.rates_of_late, tables=(table,))


def interruptions(m: ReportData) -> Section | str:
    """Incidents by scope, with what they cost."""
    model = m.model.result
    if model is None or not m.failures:
        return "incidents by scope (no failure)"
    found = _with_losses(m)
    keys = ["system", "scope"] if m.several_systems else ["scope"]
    scopes = model.scopes.reset_index().set_index(keys)
    scopes["lost"] = found.groupby([found[key].astype(str) for key in keys])["lost"].sum()
    scopes = scopes[scopes["incidents"] > 0].fillna({"lost": 0.0}).reset_index()
    known = bool(scopes["lost"].sum() > 0.0)
    scopes["lost_share"] = scopes["lost"] / scopes["lost"].sum() if known else np.nan
    scopes = scopes.sort_values("incidents", ascending=False, kind="stable", ignore_index=True)
    names = f"scope; incidents; mtbf: hours between; limits: {interval_head(m.level)}"
    names += "; hours_now: now" if "mtbf_now" in scopes else ""
    names += "" if m.several_systems else "; nodes_hit: nodes hit"
    names += "; mttr: hours down over period; lost_share: node-hours lost" if known else ""
    table = Table(
        "interruptions-by-scope",
        "Incidents by scope",
        scopes,
        _own(m) | heads(names),
        percent=frozenset({"lost_share"}),
        page=_with_limits(scopes),
        note=f"Operating hours per node or rack.{_while_down(model)}{_gone(model)}",
    )
    order = np.argsort(-found["lost" if known else "nodes"].to_numpy(dtype=np.float64), kind="stable")
    largest = found.iloc[order[:MOST_ROWS]].reset_index(drop=True)
    zone, dates = m.log.source.timezone, ("start", "end")
    stamps = {name: largest[name].dt.tz_convert(zone).dt.strftime("%Y-%m-%d %H:%M") for name in dates}
    list_of = Table(
        "incidents",
        "Costliest incidents",
        largest.assign(**stamps),
        _own(m) | heads("start; scope; nodes; duration: hours; cause"),
        note="Records of one incident are joined.",
        shown=5,
        total=len(found),
    )
    joined, nested = model.found.headline, len(found) - m.failures
    if nested:
        joined += f" {nested:,} began while their node was already down: no other section counts them."
    terms = [("Records joined into incidents", joined)]
    if model.found.windows:
        within = {name: max(window.hours, window.resolution) for name, window in model.found.windows.items()}
        texts = [
            f"{name} {duration(hours) if hours >= _SECOND else 'the same instant'}"
            for name, hours in within.items()
            if hours == hours
        ]
        terms.append(("Longest time between joined records", f"{', '.join(texts)}."))
    causes = _causes(m, found)
    verdict = model.headline
    if causes is not None and m.failures >= FEWEST:
        name, share = causes.frame["cause"].iloc[0], float(causes.frame["share"].iloc[0])
        most = "Most are attributed to" if share > 0.5 else "The cause named most often is"
        verdict += f" {most} {name} ({percent(share)})."
    tables, fold = (table,) if causes is None else (table, causes), "The longest, and how records were joined"
    title = "What interrupts it"
    return Section("interruptions", title, verdict, (), (), tables, tuple(terms), (list_of,), fold)


def _with_limits(scopes: pd.DataFrame) -> pd.DataFrame:
    """The table with intervals as text, and the hours between interruptions now with theirs."""
    limits = spans(scopes, "mtbf_")
    if "mtbf_now" not in scopes:
        return scopes.assign(limits=limits)
    of_now = zip(scopes["mtbf_now"], scopes["mtbf_now_low"], scopes["mtbf_now_high"], strict=True)
    now = [f"{number(mean)} ({span(low, high)})" if mean == mean else NOTHING for mean, low, high in of_now]
    return scopes.assign(limits=limits, hours_now=now)


def _own(m: ReportData) -> dict[str, str]:
    """The column of systems, where there are several."""
    return {"system": "system"} if m.several_systems else {}


def _while_down(model: FleetModel) -> str:
    """A sentence on the incidents without hours of operation before them, if there are any."""
    without = sum(float((model.incidents_of(name) - rates.count).sum()) for name, rates in model.rates.items())
    return f" {without:,.0f} incidents began during downtime, with no hours before them." if without > 0.0 else ""


def _gone(model: FleetModel) -> str:
    """The systems whose now is the end of their observation."""
    if model.lately is None or model.lately.there.size == len(model.places.systems):
        return ""
    names = [str(name) for i, name in enumerate(model.places.systems) if i not in model.lately.there]
    noun, verb, whose = ("Systems", "are", "their") if len(names) > 1 else ("System", "is", "its")
    return f" {noun} {', '.join(names)} {verb} no longer observed: the rate now is that at {whose} end."


def _with_losses(m: ReportData) -> pd.DataFrame:
    """The incidents with the node-hours lost to each; one that names no node takes down all nodes of its system."""
    places, found = m.model.needed.places, m.incidents.needed.table
    size = pd.Series(np.bincount(places.system, minlength=len(places.systems)), [str(name) for name in places.systems])
    whole = (found["nodes"] == 0).to_numpy()
    nodes = np.where(whole, size.reindex(found["system"].astype(str)).fillna(0).to_numpy(), found["nodes"])
    lost = np.where(whole, nodes * found["duration"].fillna(0.0), found["node_hours"])
    return found.assign(nodes=nodes.astype(np.int64), lost=lost)


def _causes(m: ReportData, found: pd.DataFrame) -> Table | None:
    if not found["cause"].notna().any():
        return None
    cause = found["cause"].astype(object).where(found["cause"].notna(), "not stated").astype(str)
    grouped = found.groupby(cause)
    frame = pd.DataFrame({"incidents": grouped.size(), "hours": grouped["lost"].sum()}).rename_axis("cause")
    frame = frame.sort_values("incidents", ascending=False, kind="stable").reset_index()
    frame.insert(2, "share", frame["incidents"] / frame["incidents"].sum())
    frame["hours_share"] = frame["hours"] / frame["hours"].sum() if frame["hours"].sum() else np.nan
    names = "cause; incidents; share" + ("; hours_share: node-hours lost" if frame["hours"].sum() else "")
    return Table("causes", "Causes", frame, heads(names), percent=frozenset({"share", "hours_share"}))


def systems(m: ReportData) -> Section | str:
    """One row per system, with the model of each."""
    model = m.model.result
    if model is None or not m.several_systems:
        return ""
    total, hours = m.by_system, model.hours
    own = model.scopes.xs("node", level="scope")
    with np.errstate(divide="ignore"):
        frame = pd.DataFrame(
            {
                "system": [str(name) for name in model.places.systems],
                "nodes": np.bincount(model.places.system, minlength=len(model.places.systems)),
                "incidents": total,
                "between": hours / total,
                "mtbf": own["mtbf"].to_numpy(),
                "low": own["mtbf_low"].to_numpy(),
                "high": own["mtbf_high"].to_numpy(),
                "mttr": own["mttr"].to_numpy(),
            }
        ).sort_values("incidents", ascending=False, kind="stable", ignore_index=True)
    own_time = "mtbf: a node: hours between failures"
    table = Table(
        "systems",
        "Systems",
        frame,
        heads(f"system; nodes; incidents; {own_time}; limits: {interval_head(m.level)}; mttr: hours to repair"),
        shown=30,
        note=f"Hours of operation while observed, in {duration(hours)} at most.",
    )
    verdict = "Systems differ, so one average describes none of them: read each system's own report."
    return Section("systems", "System by system", verdict, tables=(table,))


def nodes(m: ReportData) -> Section | str:
    """Nodes that stand out: now, by failing again after repairs, and by their numbers over the period."""
    found, now, again = m.outlier_nodes.result, m.nodes_now.result, m.repeat_failures.result
    if found is None and (again is None or not len(again.nodes)):
        return f"outlier nodes ({m.outlier_nodes.problem})"
    own = _own(m)
    tables, findings, figures, details, terms = [], [], [], [], []
    if now is not None and not m.few:
        now = now.sort_values(["check", "factor"], ascending=False, kind="stable", ignore_index=True)
        often = f"factor: times the mean; limits: {interval_head(m.level)}; probability: twice or more"
        lately = m.model.needed.lately is not None
        table = Table(
            "nodes-now",
            "Nodes by their rate, next 90 days" if lately else "Nodes by how often they fail",
            now,
            own | heads(f"node; {often}; check"),
            percent=frozenset({"probability"}),
            shown=4,
            page=now.assign(limits=spans(now, "factor_")),
            note="Twice or more: probability. False positives: 5 % at most.",
        )
        tables.append(table)
        findings.append(_standing_out(now, m))
    if again is not None and again.tested:
        text = again.findings[0]
        findings.append(f"Over the log {text}" if len(again.nodes) else text)
        if len(again.nodes):
            dates = {name: again.nodes[name].dt.strftime("%Y-%m-%d") for name in ("first", "last")}
            numbers = "lately: last 90 days; repeats: all; hours_between: hours after the repair"
            table = Table(
                "repeat-failures",
                "Repeat failures: the same node and cause, soon after a repair",
                again.nodes.assign(**dates),
                own | heads(f"node; cause; {numbers}; last"),
                shown=4,
                note=f"Hours: median. Repeats by chance: {100 * again.alpha:g} % at most.",
            )
            tables.append(table)
    if found is not None:
        bad = np.isfinite(found.classes["ratio"].to_numpy(np.float64))
        standing = list(_CRITERIA)[0 if bad.all() else 2 if bad.any() else 1]
        false = f"False outliers: {100 * found.alpha:g}"
        figures.append(Figure("nodes", "Nodes by their number of failures", partial(plotting.outlier_nodes, found)))
        table = Table(
            "failures-by-node",
            "Nodes by excess of failures over the period",
            found.nodes,
            own | heads(f"node; events: failures; excess; posterior: {standing}; outlier"),
            percent=frozenset({"posterior"}),
            shown=6,
            note=f"Probability over the period: of {_CRITERIA[standing]}. {false} % at most.",
        )
        details.append(table)
        told, p = found.headline, p_value(float(found.classes["p"].min()))
        if not m.firm("alike") and (found.classes["description"] != "equal").any():
            told = f"Failure rates of nodes may differ, or by chance: {p}, as one of {m.asked} tests of the report."
        terms.append(("Over the period", told))
        if not m.several_systems:
            findings.append(_ageing(m))
    if not findings:
        findings, terms = [text for _, text in terms], []
    title, shown = "Nodes that stand out", (tuple(figures), tuple(tables), tuple(terms), tuple(details))
    return Section("nodes", title, findings[0], tuple(findings[1:]), *shown, fold="Over the period")


def _standing_out(now: pd.DataFrame, m: ReportData) -> str:
    """The nodes that stand out now, in a sentence."""
    named, when, lately = now[now["outlier"]], f"{m.log.window.end:%Y-%m-%d}", standing_out_lately(now)
    if not len(named):
        none = f"{lately}; none is known yet" if lately else "no node is known"
        return f"As of {when}, {none} to fail at least twice as often as the mean."
    names = []
    for row in named.head(_NODES_NAMED).to_dict("records"):
        of = f" of system {row['system']}" if m.several_systems else ""
        limits = span(row["factor_low"], row["factor_high"])
        names.append(f"{row['node']}{of} ({number(row['factor'], 2)} times, {limits})")
    does = f"{count(len(named), 'node')} {'fails' if len(named) == 1 else 'fail'}"
    also = lately and f"; {lately}"
    which = first_names(names, _NODES_NAMED, len(named))
    return f"As of {when}, {does} at least twice as often as the mean: {which}{also}."


def _ageing(m: ReportData) -> str:
    fits = m.model.needed.renewals["node"]
    moving = fits.moving is not None and bool(fits.moving[0])
    if m.several_systems or not fits.shape_known or moving or m.firm("ageing"):
        return fits.headline
    low, value, high = fits.shape[0]
    return (
        "There is no evidence that the failure rate of a node changes with the time since its last failure "
        f"(Weibull shape {value:.2f}, {low:.2f} to {high:.2f}, unequal nodes allowed for)."
    )


def ahead(m: ReportData) -> Section | str:
    """The forecast for the next month and quarter."""
    found = m.forecast.result
    if found is None:
        return f"a forecast ({m.forecast.problem})"
    figure = Figure("forecast", "Failures counted, and expected", partial(plotting.forecast, found))
    table = Table(
        "forecast",
        "Expected, with prediction intervals",
        found.compact().reset_index(),
        note=f"Stock: parts that suffice for the longer time in {percent(found.service)} of cases, one per failure.",
    )
    tested, notes = m.backtest.result, _unit_of_failures(m)
    if tested is None:
        return Section("forecast", "What to expect", found.headline, (*notes, *found.notes), (figure,), (table,))
    draw = partial(plotting.backtest, tested, part="forecasts")
    past = Figure("backtest", "Forecasts from earlier records, and the outcome", draw)
    notes = (*notes, *(note for note in found.notes if not note.startswith("As of")))
    if tested.headline.partition(" were ")[2] not in tested.trust_reason:  # which the first screen has
        notes = (*notes, tested.headline)
    return Section("forecast", "What to expect", found.headline, notes, (figure, past), (table,))


def _unit_of_failures(m: ReportData) -> tuple[str, ...]:
    """A sentence on failures per incident, where an incident is of several."""
    total = m.forecast.needed.total.iloc[-1]
    each = float(total["failures"] / max(total["incidents"], 1e-12))
    if each < _JOINED:
        return ()
    return (f"Records: {number(each)} per incident in {total['horizon'] / 24.0:.0f} days.",)


def independence(m: ReportData) -> Section | str:
    """Whether failures depend on each other."""
    found = m.dependence.result
    if found is None or all(found.depends(part) is None for part in found.answers):
        why = m.dependence.problem or ("too few failures" if m.few else "no question has an answer")
        return f"dependence between failures ({why})"
    figures: list[Figure] = []
    together = [part for part in (found.cofailure, found.place) if part is not None and part.expected > 0.0]
    if any(part.depends for part in together):
        title = "Failures of two nodes within an hour, against chance"
        figures.append(Figure("together", title, partial(plotting.failing_together, together)))
    frame = found.to_frame()
    words: dict[Any, str] = {True: "no", False: "yes"}
    frame = frame.assign(independent=[words.get(value, "no answer") for value in frame["depends"]])
    table = Table(
        "independence",
        "Question by question",
        frame[["question", "independent", "finding"]],
        heads("question; independent: independent?"),
        note="The CSV has all results.",
    )
    terms = tuple(
        (f"{q[:1].upper()}{q[1:]}", str(f))
        for q, f, depends in zip(frame["question"], frame["finding"], frame["depends"], strict=True)
        if depends
    )
    bursts = m.bursts.result
    sentences = () if bursts is None or bursts.depends is None else (bursts.headline,)
    title = "Do failures depend?"
    return Section("independence", title, found.headline, sentences, tuple(figures), (), terms, (table,))
