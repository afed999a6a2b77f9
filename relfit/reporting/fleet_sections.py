"""The sections about a fleet: periods, interruptions, systems, nodes, forecast, independence."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from relfit import plotting
from relfit.analyses.screening.periods import FEWEST
from relfit.base.text import count, duration, number, p_value, percent
from relfit.base.units import HOURS_PER_YEAR
from relfit.fleet import FleetModel
from relfit.fleet.nodes_to_check import standing_out_lately
from relfit.reporting.components import MOST_ROWS, NOTHING, Figure, Section, Table, interval_head, span
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
        return "periods of the rate (" + ("too few failures" if points is not None else m.change_points.problem) + ")"
    frame = points.to_frame()
    for name in ("rate", "low", "high"):
        frame[name] *= HOURS_PER_YEAR
    frame["use"] = m.used_periods(points)
    for name in ("start", "end", "start_low", "start_high"):
        frame[name] = frame[name].dt.strftime("%Y-%m-%d")
    note = ""
    since = sum(period.failures for period in points.periods[points.stable :])
    if m.model.result is not None and m.chosen.name not in ("all", "given") and since != m.failures:
        joined, day = len(m.model.result.found.table), points.stable_period.start  # by the pauses of this period alone
        note = f"Other sections count {m.failures:,} incidents since {day:%Y-%m-%d}, not {since:,}: "
        nested = f"; {joined - m.failures:,} began while their node was down" if joined > m.failures else ""
        note += f"records of this period alone join to {joined:,}{nested}."
    table = Table(
        "periods",
        "Periods of the rate",
        frame,
        {
            "start": "from",
            "end": "to",
            "began": "began between",
            "failures": "incidents",
            "rate": f"per {points.stable_period.per}",
            "limits": interval_head(m.level),
            "use": "used",
        },
        page=frame.assign(
            began=["start of observation", *(frame["start_low"] + " and " + frame["start_high"])[1:]],
            limits=[span(*pair) for pair in zip(frame["low"], frame["high"], strict=True)],
        ),
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
    names = {"scope": "scope", "incidents": "incidents", "mtbf": "hours between", "limits": interval_head(m.level)}
    names |= {"hours_now": "now"} if "mtbf_now" in scopes else {}
    names |= {} if m.several_systems else {"nodes_hit": "nodes hit"}
    names |= {"mttr": "hours down over period", "lost_share": "node-hours lost"} if known else {}
    names = ({"system": "system"} if m.several_systems else {}) | names
    table = Table(
        "interruptions-by-scope",
        "Incidents by scope",
        scopes,
        names,
        percent=frozenset({"lost_share"}),
        page=_with_limits(scopes),
        note=f"Hours of operation.{_while_down(model)}{_gone(model)}",
    )
    order = np.argsort(-found["lost" if known else "nodes"].to_numpy(dtype=np.float64), kind="stable")
    largest = found.iloc[order[:MOST_ROWS]].reset_index(drop=True)
    zone, dates = m.log.source.timezone, ("start", "end")
    stamps = {name: largest[name].dt.tz_convert(zone).dt.strftime("%Y-%m-%d %H:%M") for name in dates}
    shown = {"start": "start", "scope": "scope", "nodes": "nodes", "duration": "hours", "cause": "cause"}
    if m.several_systems:
        shown = {"system": "system", **shown}
    list_of = Table(
        "incidents",
        "Incidents that cost most",
        largest.assign(**stamps),
        shown,
        note="Records of one incident are joined.",
        shown=5,
        total=len(found),
    )
    joined, nested = model.found.headline, len(found) - m.failures
    if nested:
        joined += f" {nested:,} began while their node was already down: no other section counts them."
    terms = [("Records joined to incidents", joined)]
    if model.found.windows:
        within = {name: max(window.hours, window.resolution) for name, window in model.found.windows.items()}
        texts = [
            f"{name} {duration(hours) if hours >= _SECOND else 'the same instant'}"
            for name, hours in within.items()
            if hours == hours
        ]
        terms.append(("Within which time", f"{', '.join(texts)}."))
    causes = _causes(m, found)
    verdict = model.headline
    if causes is not None and m.failures >= FEWEST:
        name, share = causes.frame["cause"].iloc[0], float(causes.frame["share"].iloc[0])
        most = "Most are attributed to" if share > 0.5 else "The cause named most often is"
        verdict += f" {most} {name} ({percent(share)})."
    return Section(
        "interruptions",
        "What interrupts it",
        verdict,
        tables=(table,) if causes is None else (table, causes),
        details=(list_of,),
        terms=tuple(terms),
        fold="The longest, and how records were joined",
    )


def _with_limits(scopes: pd.DataFrame) -> pd.DataFrame:
    """The table with intervals as text, and the hours between interruptions now with theirs."""
    limits = [span(*pair) for pair in zip(scopes["mtbf_low"], scopes["mtbf_high"], strict=True)]
    if "mtbf_now" not in scopes:
        return scopes.assign(limits=limits)
    of_now = zip(scopes["mtbf_now"], scopes["mtbf_now_low"], scopes["mtbf_now_high"], strict=True)
    now = [f"{number(mean)} ({span(low, high)})" if mean == mean else NOTHING for mean, low, high in of_now]
    return scopes.assign(limits=limits, hours_now=now)


def _while_down(model: FleetModel) -> str:
    """A sentence on the incidents without hours of operation before them, if there are any."""
    without = sum(float((model.incidents_of(name) - rates.count).sum()) for name, rates in model.rates.items())
    return f" {without:,.0f} began while it was down and have no hours before them." if without > 0.0 else ""


def _gone(model: FleetModel) -> str:
    """The systems whose now is the end of their observation."""
    if model.lately is None or model.lately.there.size == len(model.places.systems):
        return ""
    names = [str(name) for i, name in enumerate(model.places.systems) if i not in model.lately.there]
    noun, verb, whose = ("Systems", "are", "their") if len(names) > 1 else ("System", "is", "its")
    return f" {noun} {', '.join(names)} {verb} no longer observed: the rate now is that at {whose} end."


def _with_losses(m: ReportData) -> pd.DataFrame:
    """The incidents with the node-hours lost to each; one that names no node takes down all nodes of its system."""
    assert m.model.result is not None
    places, found = m.model.result.places, m.model.result.found.table
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
    names = {"cause": "cause", "incidents": "incidents", "share": "share"}
    names |= {"hours_share": "node-hours lost"} if frame["hours"].sum() else {}
    return Table("causes", "Causes", frame, names, percent=frozenset({"share", "hours_share"}))


def systems(m: ReportData) -> Section | str:
    """One row per system, with the model of each."""
    model = m.model.result
    if model is None or not m.several_systems:
        return ""
    total = np.sum([model.incidents_of(name) for name in model.by_scope], axis=0)
    hours = model.hours
    own = model.scopes.xs("node", level="scope")
    with np.errstate(divide="ignore"):
        frame = pd.DataFrame(
            {
                "system": [str(name) for name in model.places.systems],
                "nodes": np.bincount(model.places.system, minlength=len(model.places.systems)),
                "incidents": total.astype(int),
                "between": hours / total,
                "mtbf": own["mtbf"].to_numpy(),
                "low": own["mtbf_low"].to_numpy(),
                "high": own["mtbf_high"].to_numpy(),
                "mttr": own["mttr"].to_numpy(),
            }
        ).sort_values("incidents", ascending=False, kind="stable", ignore_index=True)
    table = Table(
        "systems",
        "Systems",
        frame,
        {
            "system": "system",
            "nodes": "nodes",
            "incidents": "incidents",
            "mtbf": "a node: hours between failures",
            "limits": interval_head(m.level),
            "mttr": "hours to repair",
        },
        shown=30,
        page=frame.assign(limits=[span(*pair) for pair in zip(frame["low"], frame["high"], strict=True)]),
        note=f"Hours of operation in {duration(hours)}.",
    )
    verdict = "Systems differ, so one average describes none of them: read each system's own report."
    return Section("systems", "System by system", verdict, tables=(table,))


def nodes(m: ReportData) -> Section | str:
    """Nodes that stand out: now, by failing again after repairs, and by their numbers over the period."""
    found, now, again = m.outlier_nodes.result, m.nodes_now.result, m.repeat_failures.result
    if found is None and (again is None or not len(again.nodes)):
        return f"outlier nodes ({m.outlier_nodes.problem})"
    own = {"system": "system"} if m.several_systems else {}
    tables, findings, figures, details, terms = [], [], [], [], []
    if now is not None and not m.few:
        now = now.sort_values(["check", "factor"], ascending=False, kind="stable", ignore_index=True)
        limits = [span(*pair) for pair in zip(now["factor_low"], now["factor_high"], strict=True)]
        tables.append(
            Table(
                "nodes-now",
                "Nodes now, by how often they fail",
                now,
                {
                    **own,
                    "node": "node",
                    "factor": "times the mean",
                    "limits": interval_head(m.level),
                    "probability": "twice or more",
                    "check": "check",
                },
                percent=frozenset({"probability"}),
                shown=4,
                page=now.assign(limits=limits),
                note="Twice or more: probability. False: 5 % at most.",
            )
        )
        findings.append(_standing_out(now, m))
    if again is not None and again.tested:
        text = again.findings[0]
        findings.append(f"Over the log {text}" if len(again.nodes) else text)
        if len(again.nodes):
            listed = again.nodes.assign(
                **{name: again.nodes[name].dt.strftime("%Y-%m-%d") for name in ("first", "last")}
            )
            tables.append(
                Table(
                    "repeat-failures",
                    "Repeat failures: the same node and cause, soon after a repair",
                    listed,
                    {
                        **own,
                        "node": "node",
                        "cause": "cause",
                        "lately": "last 90 days",
                        "repeats": "all",
                        "hours_between": "hours after the repair",
                        "last": "last",
                    },
                    shown=4,
                    note=f"Hours: median. By chance, singly or by four: {100 * again.alpha:g} % at most.",
                )
            )
    if found is not None:
        bad = np.isfinite(found.classes["ratio"].to_numpy(np.float64))
        standing = list(_CRITERIA)[0 if bad.all() else 2 if bad.any() else 1]
        figures.append(Figure.of("nodes", "Nodes by their number of failures", plotting.outlier_nodes, found))
        details.append(
            Table(
                "failures-by-node",
                "Nodes by excess of failures over the period",
                found.nodes,
                {
                    **own,
                    "node": "node",
                    "events": "failures",
                    "excess": "excess",
                    "posterior": standing,
                    "outlier": "outlier",
                },
                percent=frozenset({"posterior"}),
                shown=6,
                note=f"Probability over the period: of {_CRITERIA[standing]}. "
                f"False outliers: {100 * found.alpha:g} % at most.",
            )
        )
        told, p = found.headline, p_value(float(found.classes["p"].min()))
        if not m.firm("alike") and (found.classes["description"] != "equal").any():
            told = f"Failure rates of nodes may differ, or by chance: {p}, as one of {m.asked} tests of the report."
        terms.append(("Over the period", told))
        if not m.several_systems:
            findings.append(_ageing(m))
    if not findings:
        findings, terms = [text for _, text in terms], []
    return Section(
        "nodes",
        "Nodes that stand out",
        findings[0],
        tuple(findings[1:]),
        figures=tuple(figures),
        tables=tuple(tables),
        terms=tuple(terms),
        details=tuple(details),
        fold="Over the period",
    )


def _standing_out(now: pd.DataFrame, m: ReportData) -> str:
    """The nodes that stand out now, in a sentence."""
    named, when, lately = now[now["outlier"]], f"{m.log.window.end:%Y-%m-%d}", standing_out_lately(now)
    if not len(named):
        none = f"{lately}; none is known yet" if lately else "no node is known"
        return f"As of {when} {none} to fail at least twice as often as the mean."

    def of(row: Mapping[Hashable, object]) -> str:
        return f" of system {row['system']}" if m.several_systems else ""

    names = [
        f"{row['node']}{of(row)} ({number(row['factor'], 2)} times, {span(row['factor_low'], row['factor_high'])})"
        for row in named.head(_NODES_NAMED).to_dict("records")
    ]
    more = f" and {len(named) - _NODES_NAMED:,} more" if len(named) > _NODES_NAMED else ""
    does = f"{count(len(named), 'node')} {'fails' if len(named) == 1 else 'fail'}"
    also = lately and f"; {lately}"
    return f"As of {when} {does} at least twice as often as the mean: {', '.join(names)}{more}{also}."


def _ageing(m: ReportData) -> str:
    model = m.model.result
    assert model is not None
    fits = model.renewals["node"]
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
    figure = Figure.of("forecast", "Failures counted, and expected", plotting.forecast, found)
    table = Table(
        "forecast",
        "Expected, with prediction intervals",
        found.compact().reset_index(),
        note=f"Stock: parts that suffice for the longer time in {percent(found.service)} of cases, one per failure.",
    )
    tested, notes = m.backtest.result, _unit_of_failures(m)
    if tested is None:
        return Section("forecast", "What to expect", found.headline, (*notes, *found.notes), (figure,), (table,))
    past = Figure.of(
        "backtest", "Forecasts from the log before them, and what came", plotting.backtest, tested, part="forecasts"
    )
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
        figures.append(
            Figure.of(
                "together", "Failures of two nodes within an hour, against chance", plotting.failing_together, together
            )
        )
    frame = found.to_frame()
    words: dict[Any, str] = {True: "no", False: "yes"}
    frame = frame.assign(independent=[words.get(value, "no answer") for value in frame["depends"]])
    table = Table(
        "independence",
        "Question by question",
        frame[["question", "independent", "finding"]],
        {"question": "question", "independent": "independent?"},
        note="The CSV has all results.",
    )
    terms = tuple(
        (f"{q[:1].upper()}{q[1:]}", str(f))
        for q, f, depends in zip(frame["question"], frame["finding"], frame["depends"], strict=True)
        if depends
    )
    bursts = m.bursts.result
    sentences = () if bursts is None or bursts.depends is None else (bursts.headline,)
    return Section(
        "independence", "Do failures depend?", found.headline, sentences, tuple(figures), details=(table,), terms=terms
    )
