"""The sections about jobs: what-if questions, and how long jobs run without interruption."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd

from relfit import plotting
from relfit.base.results import json_ready
from relfit.base.text import count, duration, percent
from relfit.reporting.components import Figure, Panel, Section, Table, heads, interval_head, shown_share, span
from relfit.reporting.report_data import JOB_LENGTHS, ReportData

_SIZES = (1, 4, 16, 64, 256, 1024, 4096)
_CLUSTERED = 0.02  # difference of two probabilities
_TESTED_BY = (
    "At each of these dates the future was predicted from daily shares of the past. relfit backtest uses this page's "
    "model, at twelve dates at most: its numbers differ."
)


def questions(m: ReportData) -> Section | str:
    """A panel that answers for other jobs, checkpoints, spares and repairs."""
    grid = m.what_if.result
    if grid is None:
        return ""
    names = ("nodes", "hours", "hazard", "own", "mtbf", "wait", "down", "worst", "excess")
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
    figure = Figure("backtest-jobs", "Jobs of the past: predicted and counted", draw)
    refuted = tested.refuted("jobs")
    past_said = tested.sentences("jobs")[0]
    if refuted:
        verdict, past_said = f"The log's own past refutes these numbers: {refuted}.", verdict
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
