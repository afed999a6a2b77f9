"""The sections about change and repair: is the rate steady, quick and slow repairs, availability over time."""

from __future__ import annotations

from typing import Any

import pandas as pd

from relfit import plotting
from relfit.plotting.node_figures import group_name
from relfit.plotting.recurrence_figures import TEST_NAMES
from relfit.reporting.components import Figure, Section, Table
from relfit.reporting.drawing import draw
from relfit.reporting.report_data import ReportData
from relfit.results import key_columns
from relfit.units import HOURS_PER_YEAR

__all__ = ["availability_section", "period_verdict", "repairs_section", "steady", "validation_section"]

_SMALL = (5.4, 3.2)


def steady(m: ReportData) -> Section:
    """ChangePoints, tests of trend, point processes and mean cumulative failures."""
    key, title = "steady", "Is the failure rate steady?"
    asked = m.analyses.change_points
    periods = {system: answer.result for system, answer in asked.items() if answer.result is not None}
    figures: list[Figure] = []
    tables: list[Table] = []
    problems = list(dict.fromkeys(answer.problem for answer in asked.values() if answer.problem))
    for number, (system, found) in enumerate(periods.items()):
        figure = draw(f"periods{number}", plotting.change_points, found, size=_SMALL)
        if m.several_systems:
            shown = figure.title[:1].lower() + figure.title[1:]
            figure = Figure(f"System {group_name(system)}: {shown}", figure.svg, figure.note)
        figures.append(figure)
    if periods:
        tables.append(_period_table(m, periods))
    analyses = m.analyses
    sentences = []
    trend, each, processes = analyses.trend.result, analyses.trend_by_node.result, analyses.processes.result
    curve = analyses.mean_cumulative.result
    if trend is not None:
        sentences.append(trend.headline)
        several = each is not None and len(each.groups) > 1
        figures.append(draw("trends", plotting.trends, each if several else trend, size=(5.4, 2.8), note=(
            "Laplace and MIL-HDBK-189 take failures as those of a Poisson process and mistake bursts for a trend; go "
            "by Lewis-Robinson and Mann."
        )))  # fmt: skip
    elif analyses.trend.problem:
        problems.append(analyses.trend.problem)
    if processes is not None and not m.several_systems:
        sentences.append(processes.headline)
        figures.append(draw("processes", plotting.processes, processes, observed=curve, size=_SMALL))
    elif curve is not None:
        figures.append(draw("cumulative", plotting.step_curves, curve, size=_SMALL))
    if each is not None and (each.status == "ok").any():
        shares, adjusted = each.share(0.05), each.share(0.05, adjusted=True)
        table = pd.DataFrame(
            {
                "test": [TEST_NAMES.get(test, test) for test in each.tests],
                "tested": (each.status == "ok").sum(axis=0),
                "share": shares.to_numpy(),
                "adjusted": adjusted.to_numpy(),
            }
        )
        tables.append(
            Table(
                "trend-tests",
                "Nodes with a trend of the failure rate",
                table,
                {"test": "test", "tested": "nodes", "share": "p < 0.05", "adjusted": "p < 0.05, adjusted"},
                percent=frozenset({"share", "adjusted"}),
                note="Chance alone gives 5 %, and none after adjustment for the number of nodes.",
            )
        )
    return Section(
        key, title, tuple(sentences), tuple(figures), tuple(tables),
        empty=" ".join(dict.fromkeys(problems)), verdict=period_verdict(m),
    )  # fmt: skip


def period_verdict(m: ReportData) -> str:
    """Which period a fit should use, in one sentence; of several systems, of each."""
    found = {s: answer.result for s, answer in m.analyses.change_points.items() if answer.result is not None}
    if not found:
        return ""
    if len(found) == 1 and not m.several_systems:
        return next(iter(found.values())).headline
    if all(len(periods.periods) == 1 for periods in found.values()):
        return "The failure rate of no system shown here changes beyond chance: fits can use the whole log."
    parts = []
    for system, periods in found.items():
        period = periods.stable_period
        whole = len(periods.periods) == 1
        when = "the whole log" if whole else f"{period.start:%Y-%m-%d} to {period.end:%Y-%m-%d}"
        parts.append(f"{when} of system {group_name(system)}")
    return f"Fits should use {', '.join(parts)}; the failure rate was another at other times."


def _period_table(m: ReportData, periods: dict[Any, Any]) -> Table:
    parts = []
    for system, found in periods.items():
        frame = found.to_frame()
        frame.insert(0, "system", group_name(system))
        for name in ("rate", "low", "high"):
            frame[name] *= HOURS_PER_YEAR
        frame["use"] = [number == found.stable for number in range(len(frame))]
        for name in ("start", "end", "start_low", "start_high"):
            frame[name] = frame[name].dt.strftime("%Y-%m-%d")
        parts.append(frame)
    level = f"{100 * m.level:g} %"
    names = {
        "start": "from", "end": "to", "start_low": "began: low", "start_high": "high", "name": "name",
        "failures": "incidents", "rate": "per node-year", "low": "low ", "high": "high ", "use": "use for a fit",
    }  # fmt: skip
    if m.several_systems:
        names = {"system": "system", **names}
    return Table(
        "periods", "Periods of the failure rate", pd.concat(parts, ignore_index=True), names,
        note=f"Low and high: {level} limits of the rate, and of the day on which the period began.", shown=20,
    )  # fmt: skip


def repairs_section(m: ReportData) -> Section:
    """Quick and slow repairs by cause."""
    key, title = "kinds-of-repair", "Repairs: quick and slow"
    found = m.analyses.repair_kinds.result
    if found is None:
        return Section(key, title, empty=m.analyses.repair_kinds.problem)
    best = found.best()
    figures = [
        draw("repairkinds", plotting.repair_classes, found, size=(5.4, min(1.8 + 0.32 * len(best), 5.0))),
        draw("repairtimes", plotting.repair_times, found, size=_SMALL),
    ]
    said = {
        "ok": "two kinds", "one_class": "one kind", "no_split": "two kinds, no split", "too_few": "too few",
        "hollow": "not to be told", "not_found": "not to be told",
    }  # fmt: skip
    best = best.assign(kinds=best["status"].map(lambda x: said.get(x, str(x))))
    keys = {str(name): str(name) for name in best.columns[: best.columns.tolist().index("model")]}
    table = Table(
        "kinds-of-repair", "Quick and slow repairs", best,
        {**keys, "repairs": "repairs", "kinds": "kinds", "share_quick": "quick", "mean_quick": "mean of quick (h)",
         "mean_slow": "mean of slow (h)", "split": "split (h)"},
        percent=frozenset({"share_quick"}),
        note="Split: from here on a repair is more likely a slow one. Limits are in the CSV.",
    )  # fmt: skip
    return Section(key, title, (), tuple(figures), (table,), verdict=found.headline)


def availability_section(m: ReportData) -> Section:
    """Availability over calendar time."""
    key, title = "availability", "Availability over time"
    found, whole = m.analyses.availability_over_time.result, m.analyses.availability.result
    if found is None or whole is None:
        return Section(key, title, empty=m.analyses.availability_over_time.problem)
    figure = draw("availability", plotting.availability_over_time, found, size=_SMALL, note=(
        f"{100 * m.level:g} % limits come from the spread over the nodes."
    ))  # fmt: skip
    frame = found.to_frame()
    days = {name: [f"{stamp:%Y-%m-%d}" for stamp in frame[name]] for name in ("from", "to")}
    keys = {str(name): str(name) for name in key_columns(found.groups).columns} if m.several_systems else {}
    table = Table(
        "availability-over-time", "Availability in calendar bins", frame.assign(**days),
        {**keys, "from": "from", "to": "to", "operational": "availability", "low": "low", "high": "high",
         "node_hours": "node-hours", "down_hours": "hours down"},
        percent=frozenset({"operational", "low", "high"}), shown=8,
    )  # fmt: skip
    return Section(key, title, (whole.headline,), (figure,), (table,), verdict=found.headline)


def validation_section(m: ReportData) -> Section:
    """Whether a model of the log fails where it has not seen it."""
    key, title = "validation", "Can a model of this log be trusted?"
    found = m.analyses.replay.result
    if found is None:
        return Section(key, title, empty=m.analyses.replay.problem)
    table = Table(
        "validation", f"Jobs after {found.split:%Y-%m-%d}: share that nothing interrupted", found.cells,
        {"size": "nodes", "length_hours": "hours", "placement": "placement", "predicted": "predicted",
         "observed": "observed", "error_low": "error: low", "error_high": "error: high", "fails": "model fails"},
        percent=frozenset({"predicted", "observed", "error_low", "error_high"}),
        note="The model knows the log until then only. Limits of the error, predicted minus observed, hold for all "
        "rows together.",
    )  # fmt: skip
    only = f"System {found.system[0]}. " if m.several_systems else ""
    return Section(key, title, found.findings[1:], (), (table,), verdict=only + found.headline)
