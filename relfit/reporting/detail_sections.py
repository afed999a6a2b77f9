"""The sections about jobs, times between incidents, repairs, availability, attributes, the data and methods."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit import plotting
from relfit.analyses.regression import attribute_effects
from relfit.analyses.screening import repair_clock, repair_kinds
from relfit.analyses.screening.periods import FEWEST
from relfit.base.results import json_ready, key_columns
from relfit.base.text import count, duration, interval_ends, out_of, p_value, percent
from relfit.fitting.nonparametric import kaplan_meier, observed_times
from relfit.log.hints_of_rows import hints
from relfit.reporting.checked_fits import CheckedFits
from relfit.reporting.components import Figure, Panel, Section, Table, heads, interval_head, shown_share, span, spans
from relfit.reporting.first_screen import limits, shown_availability
from relfit.reporting.report_data import JOB_LENGTHS, ReportData

_SAME = 0.03  # relative difference within which two means look equal
_SIZES = (1, 4, 16, 64, 256, 1024, 4096)
_CLUSTERED = 0.02  # difference of two probabilities
_TESTED_BY = (
    "At each of these dates the future was predicted from daily shares of the past. relfit backtest uses this page's "
    "model, at twelve dates at most: its numbers differ."
)
_TERMS = {  # and the sections that each explains
    ("Period", "steady"): (
        "Daily counts are Poisson with a rate that is constant within a period. The segmentation is exact (Jackson "
        "et al. 2005); it finds a change in 1 % of logs without one."
    ),
    ("Incidents", "interruptions"): (
        "Records that belong together are one incident. Hours between incidents are hours of operation over incidents; "
        "confidence intervals are wider where counts vary more than Poisson counts do, and narrower where they "
        "clearly vary less."
    ),
    ("Availability", "availability"): (
        "One minus node-hours down over node-hours observed, outages of the whole system included."
    ),
    ("Jobs", "jobs"): (
        "A job starts at a random instant on nodes that are up. Nodes differ in rate (gamma frailty) and may age "
        "(Weibull); racks and the whole system add incidents. Recent shares of uninterrupted jobs correct the result."
    ),
    ("Test on the past", "forecast jobs"): (
        "Each month of the past is predicted from what was known before it (rolling origin), by relfit and by counts "
        "of earlier windows."
    ),
    ("Outlier nodes", "nodes"): (
        "Weibull renewals of equal nodes, of a continuum of rates and of two classes are compared by BIC, and against "
        "random logs of equal nodes. An outlier need not be bad hardware: loads and racks differ, too."
    ),
    ("Independence", "independence"): (
        "Correlations are Spearman's. Failures together are counted within an hour, against random logs that keep "
        "each node's order."
    ),
    ("Distributions", "repairs times"): (
        "Steps: Kaplan-Meier (1958). Curves: maximum likelihood with censoring. p-values of Anderson-Darling allow for "
        "fitted parameters. AICc: Hurvich and Tsai (1989); differences below 2 mean nothing."
    ),
}
_TESTED = frozenset({"steady", "nodes", "independence"})  # sections whose verdicts rest on p-values
_LIVES = {
    "Share in service": (
        "The Kaplan-Meier estimate (1958) with pointwise confidence intervals: units count at the ages at which they "
        "were observed, up to when last seen."
    ),
    "Ended per year": "Counts over years of service, with exact Poisson confidence intervals (Garwood 1936).",
    "Distributions": _TERMS["Distributions", "repairs times"],
}


def questions(m: ReportData) -> Section | str:
    """A panel that answers for other jobs, checkpoints, spares and repairs."""
    grid = m.what_if.result
    if grid is None:
        return ""
    names = ("nodes", "hours", "hazard", "own", "mtbf", "spares", "wait", "worst", "excess")
    data = json_ready({name: getattr(grid, name) for name in names}) | {"size": m.job_size}
    text = grid.sentence(m.job_size)
    return Section(
        "what-if",
        "What if",
        "Move a slider: the answer follows.",
        panel=Panel(json.dumps(data), text, grid.worst),
        sentences=("A failure of several nodes counts once.", "Interpolated, within one point or 1 %."),
    )


def jobs(m: ReportData) -> Section | str:
    """How long jobs run without interruption, and how good such predictions were in the past."""
    model = m.model.result
    if model is None or m.several_systems or m.few:
        return f"jobs and their test on the past ({'several systems' if m.several_systems else 'too few failures'})"
    if model.question is not None:
        return "jobs and their test on the past (only nodes that failed are known)"
    if m.units_leave:
        return "jobs and their test on the past (units leave when they fail)"
    most = int(model.in_service.sum())
    sizes = [*(size for size in _SIZES if size < most), most]
    rows = []
    for size in sizes:
        share = m.job
        if size != m.job_size:  # this size is on the first screen already
            share = model.interval("reliability", list(JOB_LENGTHS), size=size, placement="packed", n_draws=99)
        rows.append([size, *map(float, share.estimate), float(share.low[1]), float(share.high[1])])
    frame = pd.DataFrame(rows, columns=["nodes", "r6", "r24", "r72", "low", "high"])
    table = Table(
        "jobs",
        "Jobs without interruption",
        frame,
        heads(f"nodes; r6: 6 h; r24: 24 h; limits: {interval_head(m.level)}; r72: 72 h"),
        percent=frozenset({"r6", "r24", "r72", "limits"}),
        note=f"{'On consecutive nodes, from' if most > 1 else 'From'} a random start.",
    )
    low, value, high = (float(x[1]) for x in (m.job.low, m.job.estimate, m.job.high))
    verdict = (
        f"{shown_share(value)} ({span(low, high, True)}) of jobs on {count(m.job_size, 'node')} run for 24 hours "
        "without interruption."
    )
    uneven = _uneven(m, most, float(frame["r24"].iloc[-1]))
    tested = m.backtest.result
    if tested is None or "jobs" not in tested.parts:
        why = m.backtest.problem if tested is None else "too few could be placed"
        return Section("jobs", "Jobs", verdict, (*uneven, f"Predictions could not be tested: {why}."), tables=(table,))
    past = tested.table[tested.table["part"] == "jobs"]
    date, error = past["origin"].dt.strftime("%Y-%m-%d"), 100.0 * (past["predicted"] - past["seen"])
    past = past.assign(date=date, error=error)
    cells = Table(
        "backtest-jobs",
        f"Jobs of {count(int(past['size'].iloc[0]), 'node')} for 24 h, over 90 days",
        past,
        heads(f"date: from; predicted; limits: {interval_head(tested.level)}; seen: counted; error: error (points)"),
        percent=frozenset({"predicted", "seen", "limits"}),
        page=past.assign(error=[f"{round(error, 1) + 0.0:+.1f}" for error in past["error"]]),
        note="From what was known at each date.",
    )
    draw = partial(plotting.backtest, tested, part="jobs")
    figure = Figure("backtest-jobs", "Past jobs: predicted and counted", draw)
    refuted = tested.refuted("jobs")
    past_said = tested.sentences("jobs")[0]
    if refuted:
        verdict, past_said = f"The log's own past refutes such numbers from daily shares: {refuted}.", verdict
    terms = (("How it was tested", _TESTED_BY),)
    return Section("jobs", "Jobs", verdict, (*uneven, past_said), (figure,), (table,), terms, (cells,))


def _uneven(m: ReportData, most: int, share: float) -> tuple[str, ...]:
    """Why the share of jobs on all nodes is more than the time between interruptions would give, if it is."""
    now = m.parameters.result
    hours = None if now is None or now.mtbf.any is None else now.mtbf.any.value
    if hours is None or not share - np.exp(-24.0 / hours) > _CLUSTERED:
        return ()
    nodes = f"all {count(most, 'node')}" if most > 1 else "the node"
    found = m.dependence.result
    counts = None if found is None else found.dispersion
    waves = counts is not None and counts.clustered and not counts.trend
    lead = "Incidents cluster: if they" if waves else "If incidents"
    none = percent(float(np.exp(-24.0 / hours)))
    return (f"{lead} came evenly, every {duration(hours)}, {none} of 24-hour jobs on {nodes} would meet none.",)


def times(m: ReportData) -> Section | str:
    """Times between incidents of the system with most of them."""
    tested = m.interruptions.result
    if tested is None:
        return f"distribution of times between incidents ({m.interruptions.problem})"
    if m.failures < FEWEST:
        return "distribution of times between incidents (too few failures)"
    label = tested.fits.groups[0]
    name = f" of system {label}" if m.several_systems else ""
    best = str(tested.fits.best().iloc[0])
    draw = partial(plotting.distributions, tested.fits)
    if best in tested.fits.families:
        draw = partial(plotting.probability_plot, tested.fits, family=best)
    figure = Figure("times", "Times between incidents" + name, draw)
    table = fit_table("fits-by-system", "Distributions fitted to the times between incidents" + name, tested)
    instants, note = int(tested.fits.lives.n_failures.sum()), tuple[str, ...]()
    if not m.several_systems and instants != m.failures:
        joined = f"other sections join them to {m.failures:,} incidents"
        note = (f"Here {instants:,} times of failure are counted; {joined}.",)
    return Section("times", "Times between", tested.headline, note, figures=(figure,), details=(table,))


def repairs(m: ReportData) -> Section | str:
    """Times to repair."""
    tested = m.repairs.result
    if tested is None:
        return f"repairs ({m.repairs.problem})"
    lives = tested.fits.lives
    observed = observed_times(lives, m.level).to_frame().iloc[0]
    curve = kaplan_meier(lives, level=m.level)
    half, most = (float(curve.quantile(p)["time"].iloc[0]) for p in (0.5, 0.9))
    verdict = f"An outage of a node lasts {duration(float(observed['mean']))} on average"
    if np.isfinite(observed["mean_low"]):
        verdict += f" ({limits(*(float(observed[f'mean{end}']) for end in ('_low', '_high', '')))})"
    if np.isfinite(half):
        verdict += f"; half are over in {duration(half)}"
        if m.failures >= FEWEST and np.isfinite(most):
            verdict += f", one in ten takes longer than {duration(most)}"
    verdict += "."
    found = m.parameters.result
    mean = None
    if found is not None and not m.several_systems:  # over records: one of the system is not one per node
        mean = found.mttr.mean if found.mttr.system is not None else found.mttr.outage or found.mttr.mean
    sentences = [] if m.failures < FEWEST else [tested.headline]
    if sentences and mean is not None and mean.value is not None and mean.low is not None and mean.high is not None:
        now = f"{duration(mean.value)} ({limits(mean.low, mean.high, mean.value)})"
        if abs(mean.value - observed["mean"]) > _SAME * observed["mean"]:
            left_out = " and those begun before it was observed left out" if m.part.events["start_cut"].any() else ""
            alone = found.mttr.node if found is not None and mean is not found.mttr.node else None
            if alone is not None and alone.value is not None and abs(alone.value - mean.value) > _SAME * mean.value:
                now += f", {duration(alone.value)} where a node fails on its own"
            sentences.insert(0, f"Now, with recent outages counting most{left_out}, one is expected to last {now}.")
    kinds = m.repair_kinds.result
    figures: tuple[Figure, ...] = ()
    if kinds is not None:
        best = kinds.best()
        if (best["status"] == "ok").any():
            by_cause = kinds.explained_by(repair_kinds(m.part, "cause", level=m.level))
            sentences.append(f"{kinds.headline} {by_cause}".strip())
        clock = repair_clock(m.part)
        if clock.depends:
            sentences.append(clock.headline)
        if m.failures >= FEWEST:
            figures = (Figure("repairs", "Times to repair of outages", partial(plotting.repair_times, kinds)),)
    table = fit_table("repair-fits", "Distributions fitted to the times to repair", tested)
    details = () if m.failures < FEWEST else (table,)
    return Section("repairs", "Repairs", verdict, tuple(sentences), figures, (_as_observed(m),), details=details)


def _as_observed(m: ReportData) -> Table:
    """Mean and median of the repairs of each cause, or system, without a distribution."""
    times = m.part.ttr("cause" if m.part.events["cause"].notna().any() else "system")
    frame, keys = observed_times(times, m.level).to_frame(), [str(name) for name in times.groups.names]
    frame = frame[frame["ended"] > 0].sort_values("ended", ascending=False, kind="stable", ignore_index=True)
    return Table(
        "repairs-as-observed",
        f"Times to repair by {', '.join(keys)}, as observed (hours)",
        frame,
        dict(zip(keys, keys, strict=True)) | heads(f"ended: repairs; mean; limits: {interval_head(m.level)}; median"),
        page=frame.assign(limits=spans(frame, "mean_")),
        shown=5,
    )


def _decimals(shares: npt.ArrayLike) -> int:
    """Decimals in percent that tell the shares apart: those that the largest below one needs, three at most."""
    values = np.ravel(shares)
    below = values[values < 1.0]
    text = shown_availability(float(below.max())) if below.size else "."
    return min(max(len(text.partition(".")[2].partition(" ")[0]), 1), 3)


def availability(m: ReportData) -> Section | str:
    """Availability over calendar time."""
    found, whole = m.availability_over_time.result, m.availability.result
    if found is None or whole is None:
        return f"availability ({m.availability_over_time.problem})"
    few = m.failures < FEWEST
    figure = Figure("availability", "Availability over time", partial(plotting.availability_over_time, found))
    frame = found.to_frame()
    days = {name: [f"{stamp:%Y-%m-%d}" for stamp in frame[name]] for name in ("from", "to")}
    keys = {str(name): str(name) for name in key_columns(found.groups).columns} if m.several_systems else {}
    table = Table(
        "availability-over-time",
        "Availability in calendar bins",
        frame.assign(**days),
        keys | heads("from; to; operational: availability; low; high"),
        percent=frozenset({"operational", "low", "high"}),
        decimals=_decimals(found.operational),
    )
    hours, when = float(whole.node_hours.sum()), "" if m.lately is m.part else "In the last 90 days "
    verdict = f"{when}nodes were up {shown_availability(1.0 - float(whole.down_hours.sum()) / hours)} of the time"
    if m.several_systems:
        low, high = (shown_availability(float(end(whole.operational))) for end in (np.nanmin, np.nanmax))
        verdict += f", {interval_ends(low, high)} over {count(len(whole.groups), 'system')}"
    of_system = float(whole.system_down_hours.sum()) / hours
    verdict = f"{verdict[:1].upper()}{verdict[1:]}"
    verdict += f"; the whole system was down {percent(of_system)} of the time." if of_system > 0.0 else "."
    mean = 1.0 - float(found.down_hours.sum() / found.node_hours.sum())
    over_time = () if few else (f"{shown_availability(mean)} over the period. {found.headline}",)
    figures = () if few else (figure,)
    return Section("availability", "Availability", verdict, over_time, figures, details=(table,), fold="Bin by bin")


def attributes(m: ReportData) -> Section | str:
    """Attributes of nodes and failure counts; `relfit regress` also models times, which takes longer."""
    if not any(name in m.part.population for name in m.log.attributes) or m.failures < FEWEST:
        return ""
    effects = attribute_effects(m.part, measures=("failures",), level=m.level, outliers=m.outlier_nodes.result)
    frame = effects.answered
    if not len(frame):
        return f"attributes of nodes: {effects.not_compared}" if effects.not_compared else ""
    left_out = (f"Not compared: {effects.not_compared}.",) if effects.not_compared else ()
    page = frame.assign(
        term=frame["term"].astype(str).str.replace(r"^np\.log2\(.*\)$", "per doubling", regex=True),
        p_adjusted=[p_value(float(p)).removeprefix("p ").removeprefix("= ") for p in frame["p_adjusted"]],
    )
    system = "system; " if frame["system"].any() else ""
    columns = f"attribute; {system}term: level; reference: against; ratio; limits: {interval_head(m.level)}; "
    table = Table(
        "attributes",
        "Largest effect of each attribute",
        frame,
        heads(f"{columns}p_adjusted: p, adjusted"),
        page=page,
        note="Ratio of failure rates by negative binomial regression, one attribute at a time"
        + (", in each system by itself." if frame["system"].all() else "."),
    )
    shown, folded = ((table,), ()) if len(effects.findings) > 1 else ((), (table,))
    sentences = (*effects.findings[1:], *effects.notes, *left_out)
    title = "Attributes of nodes"
    return Section("attributes", title, effects.headline, sentences, tables=shown, details=folded)


def fit_table(name: str, title: str, tested: CheckedFits) -> Table:
    """Fits as a table, one row per distribution."""
    frame = tested.to_frame()
    return Table(
        name,
        title,
        frame,
        heads("family: distribution; times; mean: mean (h); low; high; aicc: AICc; p: Anderson-Darling p"),
        page=frame.assign(p=tested.shown_p()),
        note="A small p-value speaks against the distribution.",
    )


def data(m: ReportData) -> Section:
    """The source of the data and the rejected rows."""
    log, source = m.log, m.log.source
    window = log.window
    facts: list[tuple[str, str]] = [("files", ", ".join(Path(p).name for p in source.paths) or "none: made in memory")]
    facts += [("format", source.format), *(("SHA-256", digest) for digest in source.sha256)]
    counts = {"rows read": source.rows_read, "rows kept": source.rows_kept, "rows rejected": len(log.rejected)}
    facts += [(name, f"{number:,}") for name, number in (counts | {"events": len(log)}).items()]
    if source.selection:
        facts.append(("selected", "; ".join(source.selection)))
    if len(log.population) and not pd.isna(window.start) and not log.undated:
        for name, stamp, known in (("from", window.start, window.start_known), ("until", window.end, window.end_known)):
            facts.append((f"observed {name}", f"{stamp:%Y-%m-%d %H:%M} ({'declared' if known else 'as seen'})"))
    facts.append(("period", m.chosen.headline.removeprefix("Period used: ").rstrip(".")))
    facts.append(("time zone of the log", source.timezone))
    declared = int(log.population["declared"].sum())
    listed = f"{declared:,} declared" if declared else "as the events name them"
    facts.append(("population", f"{log.n_nodes:,}, {listed}"))
    facts += [("note", note) for note in (*hints(log), *source.notes)]
    tables = [Table("source", "Source", pd.DataFrame(facts, columns=["what", "value"]), shown=60)]
    if len(log.rejected):
        reasons = log.rejected["reason"].astype(str).str.replace(r"'[^']*'", "'…'", regex=True)
        counted = reasons.value_counts().rename_axis("reason").reset_index(name="rows")
        examples = log.rejected.assign(text=log.rejected["text"].astype(str).str.slice(0, 200))
        examples["file"] = [Path(str(f)).name for f in examples["file"]]
        tables.append(Table("rejected-by-reason", "Rejected rows by reason", counted))
        tables.append(Table("rejected-rows", "Rejected rows", examples))
    if not source.rows_read:
        verdict = "The log was made in memory, not read from a file."
    elif not len(log.rejected):
        verdict = f"All {count(source.rows_read, 'row was', 'rows were')} read."
    else:
        were = out_of(len(log.rejected), source.rows_read, "row", "was", "were")
        verdict = f"{were} rejected ({percent(len(log.rejected) / source.rows_read)}), each with its reason."
    if source.omissions:
        verdict = f"{verdict} {'; '.join(source.omissions)}."
    return Section("data", "Data", verdict, details=tuple(tables), fold="Files, counts, rejected rows")


def _used(m: ReportData) -> str:
    """Which part of the log the report is about, by which rule."""
    if m.chosen.name == "given":
        return "The part used was chosen by hand."
    if m.chosen.problem is not None or m.chosen.name == "all":
        return "Here all of the log is used."
    return "The last period with a sixth of the node-hours or more is used."


def methods(m: ReportData, keys: Collection[str]) -> Section:
    """The section on methods, with the terms of the page's sections (`keys`)."""
    if m.log.lifetimes is not None:
        verdict = "Units are assumed independent, and those observed longer to be like the others."
        return Section("methods", "Methods", verdict, terms=tuple(_LIVES.items()), fold="Each method")
    why = "Several systems: no" if m.several_systems else "Too few failures for"
    verdict = (
        f"{count(m.asked, 'test')} with p-values; family-wise error 5 % (Holm 1979)."
        if m.asked and not _TESTED.isdisjoint(keys)
        else f"{why} tests of change, of nodes and of dependence."
    )
    explained = {key: f"{text} {_used(m)}" if key[0] == "Period" else text for key, text in _TERMS.items()}
    terms = tuple((term, text) for (term, of), text in explained.items() if not set(of.split()).isdisjoint(keys))
    return Section("methods", "Methods", verdict, terms=terms, fold="Each method")
