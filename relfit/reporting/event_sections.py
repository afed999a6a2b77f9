"""The sections about events: summary, source, time, causes, clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relfit import plotting
from relfit.reporting.components import NOTHING, KeyFigure, Section, Table
from relfit.reporting.drawing import draw
from relfit.reporting.report_data import ReportData
from relfit.reporting.time_sections import period_verdict
from relfit.text import count, duration, number, percent

__all__ = ["by_time", "causes", "clock", "data", "heading", "key_figures", "summary"]


def heading(m: ReportData, title: str | None) -> tuple[str, str]:
    """Title and subtitle."""
    systems = m.log.systems
    name = f"system {systems[0]}" if len(systems) == 1 else count(len(systems), "system")
    window = m.log.window
    span = f"{_day(window.start, m)} to {_day(window.end, m)}" if _dated(m) else "no dated events"
    return title or f"Reliability of {name}", f"{span} · {count(m.log.n_nodes, 'node')} · {_what(m, m.failures)}"


def key_figures(m: ReportData) -> list[KeyFigure]:
    """The numbers on top."""
    level = f"{100 * m.level:g} %"
    cards = [
        KeyFigure("Nodes", f"{m.log.n_nodes:,}", f"in {count(len(m.log.systems), 'system')}"),
        KeyFigure("Failures" if m.whole_lives else "Outage records", f"{m.failures:,}", _per_year(m)),
    ]
    if not m.whole_lives and not m.several_systems and len(m.system_means):
        cards.append(_mean_card("System MTBF", m.system_means.iloc[0], level))
    cards.append(_mean_card("MTTF of a node" if m.per == "node" else f"MTTF by {m.per}", m.overall_mean, level))
    if not m.whole_lives:
        cards.append(_mean_card("MTTR", m.overall_repair_mean, level))
        up = m.analyses.availability.result
        if up is not None and m.per == "node":
            share = 1.0 - float(up.down_hours.sum() / up.node_hours.sum())
            text = "hours up, of hours observed; outages of whole systems count for every node"
            cards.append(KeyFigure("Availability of a node", percent(share), text))
    if m.whole_lives and m.log.lifetimes is not None and len(m.log.lifetimes):
        failed = m.failures / len(m.log.lifetimes)
        cards.append(
            KeyFigure("Lives ended in a failure", percent(failed), "the others were still going on when last seen")
        )
    best = m.fits.compare()["best_by_aicc"]
    if int(best.sum()):
        cards.append(
            KeyFigure(
                f"Best family by {m.per}",
                str(best.idxmax()),
                f"in {percent(best.max() / best.sum())} of {count(int(best.sum()), 'group')} that can be compared",
            )
        )
    return cards


def summary(m: ReportData) -> tuple[list[str], list[str]]:
    """What the log says in plain sentences, and what to read with care."""
    return _findings(m), _cautions(m)


def _findings(m: ReportData) -> list[str]:
    log, level = m.log, f"{100 * m.level:g} %"
    if not m.failures:
        hours = float(m.nodes.table["hours"].sum())
        text = f"No failure is on record for {count(log.n_nodes, 'node')} in {number(hours)} node-hours of observation."
        low = m.overall_mean["low"] if len(m.group_means) else float("nan")
        if np.isfinite(low):
            text += f" With {level} confidence the mean time to failure is above {number(low)} hours."
        return [text]
    sentences = [f"{count(log.n_nodes, 'node')} had {_what(m, m.failures)} {_observed(m)}."]
    if not m.whole_lives:
        if m.several_systems:
            shown = m.system_means[m.system_means["failures"] > 0].sort_values("mean")
            if len(shown) > 1:
                sentences.append(
                    f"System {shown.index[0]} failed most often, every {duration(shown['mean'].iloc[0])} on average; "
                    f"system {shown.index[-1]} least often, every {duration(shown['mean'].iloc[-1])}."
                )
        else:
            sentences.append(
                f"Something in the system failed every {_interval(m.system_means.iloc[0], level)}; "
                "failures at one instant count once."
            )
    mean = m.overall_mean
    if mean["failures"] > 0:
        what = "node" if m.per == "node" else m.per
        sentences.append(
            f"There was one failure of a {what} for every {_interval(mean, level)} of service."
            if m.whole_lives
            else f"One {what} failed every {_interval(mean, level)}."
        )
    repair = m.overall_repair_mean
    if not m.whole_lives and np.isfinite(repair["mean"]):
        median = float(np.median(m.system_repairs.durations[m.system_repairs.observed]))
        sentences.append(f"A repair took {_interval(repair, level)}; half of them were over in {duration(median)}.")
    sentences.append(_outlier_sentence(m))
    if m.causes.stated:
        first = m.causes.table.iloc[0]
        text = f"Most records are put down to {m.causes.table.index[0]}: {percent(first['events_share'])}"
        sentences.append(
            f"{text}, with {percent(first['outage_share'])} of the outage hours." if m.causes.ends_known else f"{text}."
        )
    sentences += _family_sentence(m)
    return sentences


def _outlier_sentence(m: ReportData) -> str:
    if m.nodes.table["events"].max() < 2:
        return "No node failed more than once."
    found = m.analyses.outlier_nodes.result
    if found is None or not len(found.outliers):
        return "No node stands out from the others by its failures."
    part = found.outliers["events"].sum() / max(found.nodes["events"].sum(), 1)
    names = ", ".join(_node_name(m, row) for _, row in found.outliers.head(3).iterrows())
    return f"{count(len(found.outliers), 'outlier node')} had {percent(part)} of all failures; the busiest: {names}."


def _family_sentence(m: ReportData) -> list[str]:
    table = m.fits.compare()
    best = table["best_by_aicc"]
    sentences = []
    if int(best.sum()):
        name = str(best.idxmax())
        sentences.append(
            f"By AICc the {name} family is the best for {percent(best[name] / best.sum())} of the "
            f"{count(int(best.sum()), 'group')} (by {m.per}) with enough failures to compare."
        )
    nodes = m.analyses.outlier_nodes.result
    if nodes is not None and (nodes.models.status == "ok").any():
        sentences.append(nodes.models.headline)
    return sentences


def _cautions(m: ReportData) -> list[str]:
    log = m.log
    cautions = _of_analyses(m)
    if len(log.rejected):
        cautions.append(
            f"{count(len(log.rejected), 'row')} of {log.source.rows_read:,} could not be used and were rejected."
        )
    counts = {} if m.system_lives.counts is None else {str(k): int(v) for k, v in m.system_lives.counts.sum().items()}
    zeros = counts.get("zero_gaps", 0)
    if zeros:
        part = zeros / max(zeros + int(m.system_lives.n_failures.sum()), 1)
        cautions.append(
            f"{count(zeros, 'gap')} between failures in a system ({percent(part)}) are of length zero: nodes that "
            "failed at the same recorded instant. They are counted apart and are in no fit."
        )
    if counts.get("overlapping"):
        cautions.append(
            f"{count(counts['overlapping'], 'record')} began while the node was already down and were joined."
        )
    own = {} if m.lives.counts is None else {str(k): int(v) for k, v in m.lives.counts.sum().items()}
    if own.get("first_gap_unknown"):
        cautions.append(
            f"For {count(own['first_gap_unknown'], 'group')} (by {m.per}) the start of observation is unknown, so "
            "the time before the first failure does not count."
        )
    nameless = int(log.events["node"].isna().sum())
    if nameless:
        cautions.append(
            f"{count(nameless, 'record names', 'records name')} no node: they count for the system and in "
            "availability, and are in no node's fit."
        )
    unknown = int(log.events["end"].isna().sum())
    if unknown and not m.whole_lives:
        cautions.append(
            f"{count(unknown, 'record has', 'records have')} no end: they count as failures, but not in repair times."
        )
    wear = _wear(m)
    if wear:
        cautions.append(wear)
    if not m.censor:
        cautions.append("Lives still going on at the end were left out, as asked: mean times to failure are too low.")
    if m.failures:
        compared = int(m.fits.compare()["best_by_aicc"].sum())
        if compared < len(m.fits.groups):
            cautions.append(
                f"{len(m.fits.groups) - compared:,} of {count(len(m.fits.groups), 'group')} (by {m.per}) have too few "
                "failures to compare families."
            )
    return cautions


def _of_analyses(m: ReportData) -> list[str]:
    """The answers that forbid to take failures as independent, steady and alike."""
    if not m.failures:
        return []
    cautions = []
    periods = [answer.result for answer in m.analyses.change_points.values() if answer.result is not None]
    if any(len(found.periods) > 1 for found in periods):
        cautions.append(period_verdict(m))
    replayed = m.analyses.replay.result
    if replayed is not None and replayed.fails:
        cautions.append(replayed.headline)
    found = m.analyses.dependence.result
    if found is not None:
        parts = ("correlation", "cofailure", "place", "serial")
        if any(getattr(found, name) is not None and getattr(found, name).depends for name in parts):
            cautions.append(found.headline)
    joined = m.analyses.incidents.result
    if joined is not None and joined.records > 1.1 * len(joined):
        cautions.append(joined.headline)
    outliers = m.analyses.outlier_nodes.result
    if outliers is not None and m.nodes.table["events"].max() > 1 and len(outliers.outliers):
        cautions.append(f"{outliers.headline.split('. ')[0].rstrip('.')}.")
    return cautions


def _wear(m: ReportData) -> str:
    """A warning where lives wear out, so that hours in service per failure are not the mean life."""
    if not m.whole_lives or "weibull" not in m.system_fits.families or not m.system_fits["weibull"].ok.any():
        return ""
    fitted = m.system_fits["weibull"]
    largest = int(np.where(fitted.ok, fitted.lives.n_failures, -1).argmax())
    shape, mean = float(fitted.parameters["shape"][largest]), float(fitted.mean[largest])
    if shape < 1.5:
        return ""
    return (
        f"Failures become more frequent with age (Weibull shape {number(shape)}): hours of service per failure are not "
        f"the mean life, which the Weibull fit puts at {number(mean)} hours."
    )


# --------------------------------------------------------------------- sections


def by_time(m: ReportData) -> Section:
    """Events over time and their rate."""
    tally = m.time
    if not len(tally.edges) or not tally.total.sum():
        return Section("time", "Failures over time", empty="The log has no dated events.")
    figures = (
        draw("time", plotting.events_over_time, tally, note="The first and last bin end where the observation does."),
        draw("rate", plotting.event_rate, tally, level=m.level, note=(
            "Shaded: bins whose whole interval lies on one side of the average. An early time above it is a higher "
            "early rate; one on the later side may be ageing, new hardware or a change in what is recorded."
        )),
    )  # fmt: skip
    frame = tally.to_frame()
    columns = {"from": "from", "to": "to", "events": "events"}
    columns |= {
        c: c.removeprefix("events: ") for c in frame.columns if c.startswith("events: ") and len(tally.causes) > 1
    }
    columns |= {"events_per_node_year": "per node-year", "rate_low": "low", "rate_high": "high"}
    frame = frame.assign(**{c: frame[c].dt.strftime("%Y-%m-%d %H:%M") for c in ("from", "to")})
    frame[["from", "to"]] = frame[["from", "to"]].apply(lambda c: c.str.removesuffix(" 00:00"))
    table = Table("failures-over-time", f"Failures by {tally.unit}", frame, columns, shown=8)
    return Section("time", "Failures over time", figures=figures, tables=(table,))


def causes(m: ReportData) -> Section:
    """Causes and their share of the outage hours."""
    tally = m.causes
    if not tally.stated:
        return Section("causes", "Causes", empty="The log states no causes.")
    table = Table(
        "causes",
        "Causes",
        tally.to_frame(),
        {
            "cause": "cause",
            "events": "records",
            "events_share": "share",
            "outage_hours": "outage hours",
            "outage_share": "share of hours",
            "median_outage_hours": "median outage (h)",
        },
        percent=frozenset({"events_share", "outage_share"}),
        note="The outage of a record counts once, whether it stopped one node or the whole system.",
    )
    empty = "" if tally.ends_known else "The log does not say when outages ended, so there are no outage hours."
    height = min(2.0 + 0.32 * len(tally.table), 4.6)
    figures = (draw("causes", plotting.causes, tally, size=(5.4, height)),)
    return Section("causes", "Causes and their share of the downtime", figures=figures, tables=(table,), empty=empty)


def clock(m: ReportData) -> Section:
    """Failures by hour and weekday."""
    tally = m.clock
    if not tally.hours.sum():
        return Section("clock", "Hour and weekday", empty="The log has no dated events.")
    figures = (
        draw("hour", plotting.hour_of_day, tally, size=(5.4, 3.0)),
        draw("weekday", plotting.weekday, tally, size=(5.4, 3.0)),
    )
    table = Table("hour-and-weekday", "Failures by hour and weekday", tally.to_frame(), shown=4)
    words = (
        f"Times are on the clocks of {tally.timezone}. A peak in working hours usually means load, maintenance, "
        "or failures that are noticed when people are there."
    )
    asked = m.analyses.dependence.result
    verdict = asked.cycles.headline if asked is not None and asked.cycles is not None else ""
    return Section("clock", "Hour of the day and weekday", (words,), figures, (table,), verdict=verdict)


def data(m: ReportData) -> Section:
    """Where the data came from and what was rejected."""
    log, source = m.log, m.log.source
    facts: list[tuple[str, str]] = [("files", ", ".join(Path(p).name for p in source.paths) or "none: made in memory")]
    facts.append(("format", source.format))
    facts += [("SHA-256", digest) for digest in source.sha256]
    facts += [
        ("rows read", f"{source.rows_read:,}"),
        ("rows kept", f"{source.rows_kept:,}"),
        ("rows rejected", f"{len(log.rejected):,}"),
        ("events in this report", f"{len(log):,}"),
    ]
    if log.lifetimes is not None:
        facts.append(("lives in this report", f"{len(log.lifetimes):,}"))
    if source.selection:
        facts.append(("selected", "; ".join(source.selection)))
        facts.append(("events not selected", f"{source.rows_deselected:,}"))
    if _dated(m):
        window = log.window
        known = {True: "declared", False: "first event seen"}[window.start_known]
        facts.append(("observed from", f"{_minute(window.start, m)} ({known})"))
        known = {True: "declared", False: "last event seen"}[window.end_known]
        facts.append(("observed until", f"{_minute(window.end, m)} ({known})"))
    facts.append(("time zone", source.timezone))
    declared = int(log.population["declared"].sum())
    facts.append(("nodes", _known_nodes(log.n_nodes, declared)))
    facts += [("note", note) for note in source.notes]
    tables = [Table("source", "Source", pd.DataFrame(facts, columns=["what", "value"]), shown=60)]
    if len(log.rejected):
        reasons = log.rejected["reason"].astype(str).str.replace(r"'[^']*'", "'…'", regex=True)
        counted = reasons.value_counts().rename_axis("reason").reset_index(name="rows")
        examples = log.rejected.assign(text=log.rejected["text"].astype(str).str.slice(0, 200))
        examples["file"] = [Path(str(f)).name for f in examples["file"]]
        tables.append(Table("rejected-by-reason", "Rejected rows by reason", counted))
        tables.append(Table("rejected-rows", "Rejected rows", examples, shown=8))
    words = (
        f"{source.rows_read:,} rows were read: {source.rows_kept:,} kept and {len(log.rejected):,} rejected."
        if source.rows_read
        else "The log was made in memory, not read from a file."
    )
    empty = "" if len(log.rejected) else "No row was rejected."
    return Section("data", "Where the data came from", (words,), tables=tuple(tables), empty=empty)


# ---------------------------------------------------------------------- wording


def _what(m: ReportData, events: int) -> str:
    return count(events, "failure") if m.whole_lives else count(events, "record of an outage", "records of outages")


def _known_nodes(nodes: int, declared: int) -> str:
    if declared == nodes:
        return f"{nodes:,}, all listed by the source"
    return f"{nodes:,}, of which {declared:,} are listed by the source; the others are known by their events"


def _dated(m: ReportData) -> bool:
    return bool(pd.notna(m.log.window.start) and pd.notna(m.log.window.end))


def _day(stamp: pd.Timestamp, m: ReportData) -> str:
    return f"{stamp.tz_convert(m.log.source.timezone):%Y-%m-%d}"


def _minute(stamp: pd.Timestamp, m: ReportData) -> str:
    return f"{stamp.tz_convert(m.log.source.timezone):%Y-%m-%d %H:%M}"


def _observed(m: ReportData) -> str:
    if not _dated(m):
        return "while observed"
    return f"between {_day(m.log.window.start, m)} and {_day(m.log.window.end, m)}"


def _per_year(m: ReportData) -> str:
    hours = float(m.nodes.table["hours"].sum())
    return f"{number(m.failures / hours * 8766.0)} per node and year" if hours > 0 else ""


def _mean_card(name: str, row: Any, level: str) -> KeyFigure:
    mean, low, high = float(row["mean"]), float(row["low"]), float(row["high"])
    if not np.isfinite(mean):
        detail = f"above {number(low)} h ({level})" if np.isfinite(low) and low > 0 else "not to be estimated"
        return KeyFigure(name, NOTHING, detail)
    interval = f"{number(low)} to {number(high)} h ({level})" if np.isfinite(low) else "no interval"
    exact = duration(mean)
    return KeyFigure(name, exact, interval if "hours" in exact else f"{number(mean)} h; {interval}")


def _interval(row: Any, level: str) -> str:
    mean, low, high = float(row["mean"]), float(row["low"]), float(row["high"])
    if not (np.isfinite(low) and np.isfinite(high)):
        return duration(mean)
    return f"{duration(mean)} ({level} interval {number(low)} to {number(high)} hours)"


def _node_name(m: ReportData, row: Any) -> str:
    name = f"{row['system']}/{row['node']}" if m.several_systems else str(row["node"])
    return f"{name} ({row['events']:,})"
