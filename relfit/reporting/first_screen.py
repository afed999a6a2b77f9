"""The first screen of a report about a fleet: one sentence, four numbers, a picture, what to do, what is not said."""

from __future__ import annotations

import numpy as np
import pandas as pd

from relfit import plotting
from relfit.calibration.parameter_values import Duration
from relfit.jobs import Checkpoint
from relfit.planning import plan_checkpoints
from relfit.reporting.components import Card, Figure, FirstScreen, Point
from relfit.reporting.report_data import ReportData
from relfit.text import count, duration, number, percent

__all__ = ["fleet_summary", "limits", "picture"]

_SAVE = "5min"
_NAMED = 5


def fleet_summary(m: ReportData) -> FirstScreen:
    """Of a fleet whose nodes are repaired."""
    cards = _systems_cards(m) if m.several_systems else _cards(m)
    return FirstScreen(_sentence(m), tuple(cards), picture(m), tuple(_advice(m)), tuple(_limits(m)))


def _rate_before(m: ReportData) -> tuple[float, pd.Timestamp] | None:
    """Hours between incidents before the period, and when it ended; None where no change is beyond chance.

    None too where the limits of the time between incidents in the period hold what it was before.
    """
    points = m.change_points.result
    if points is None or m.chosen.points is None or m.chosen.start_limits is None or not m.firm("steady"):
        return None
    earlier = points.periods[: points.stable]
    failures = sum(period.failures for period in earlier)
    hours = sum(period.hours for period in earlier)
    found = m.parameters.result
    now = None if found is None else found.mtbf.any
    if not failures or (now is not None and now.low is not None and now.low <= hours / failures <= (now.high or 0.0)):
        return None
    return hours / failures, earlier[-1].end


def _rate_since(m: ReportData) -> tuple[float, pd.Timestamp] | None:
    """Hours between incidents in the last period of the log, and its start; None where that is the period used."""
    points = m.change_points.result
    if points is None or m.chosen.points is None or not points.periods[points.stable + 1 :]:
        return None
    last = points.periods[-1]
    return (last.hours / last.failures if last.failures else np.inf, last.start)


def _lost_hours(m: ReportData) -> dict[str, float]:
    """Node-hours lost in the period to whole-system outages, and to everything else; empty where ends are unknown."""
    up = m.availability.result
    if up is None:
        return {}
    system = float(up.system_down_hours.sum())
    return {"system": system, "other": float(up.down_hours.sum()) - system}


def limits(low: float, high: float, value: float) -> str:
    """Limits of a duration, in the unit in which that is said.

    Examples
    --------
    >>> limits(4.09, 4.71, 4.38), limits(12720.0, 18670.0, 15336.0)
    ('4.09 to 4.71 hours', '530 to 778 days')
    """
    return f"{duration(low, value).partition(' ')[0]} to {duration(high, value)}"


def _limited(value: Duration, level: float) -> str:
    if value.low is None or value.high is None or value.value is None:
        return ""
    return f"{100 * level:g} % interval {limits(value.low, value.high, value.value)}"


def _sentence(m: ReportData) -> str:
    total = m.failures
    if not total:
        hours = float(sum(m.model.result.by_scope["node"].hours)) if m.model.result is not None else 0.0
        least = f" With {100 * m.level:g} % confidence a node fails less often than once in "
        low = -hours / np.log1p(-m.level)
        tail = f"{least}{duration(low)}." if low > 0.0 else ""
        return f"No failure is on record for {count(m.part.n_nodes, 'node')} in {number(hours)} node-hours.{tail}"
    if m.several_systems:
        return _systems_sentence(m)
    hours = m.part.window.hours / total
    what = "machine" if m.part.n_nodes > 1 else "node"
    before, since = _rate_before(m), _rate_since(m)
    text = f"Something interrupts the {what} every {duration(hours)}"
    if since is not None:
        window = m.part.window
        text = (
            f"From {window.start:%B %Y} to {window.end:%B %Y} something interrupted the {what} every {duration(hours)}"
        )
    if before is not None:
        ratio = hours / before[0]
        change = f"{number(ratio, 2)} times less often" if ratio >= 1.0 else f"{number(1.0 / ratio, 2)} times as often"
        text += f", {change} {'than ' if ratio >= 1.0 else 'as '}before {before[1]:%B %Y}"
    if since is not None:
        text += f"; since {since[1]:%B %Y} {'every ' + duration(since[0]) if np.isfinite(since[0]) else 'nothing did'}"
    text += "."
    lost = _lost_hours(m)
    share = lost["system"] / sum(lost.values()) if lost else 0.0
    if share > 0.5:
        text += (
            f" Whole-system outages, not single nodes, cost the time: they are {percent(share)} of the node-hours lost."
        )
    elif lost and share > 0.0:
        text += (
            f" Failures of {_others(m)} cost {percent(1.0 - share)} of the node-hours lost, whole-system outages the "
            "rest."
        )
    if m.few:
        text += f" {count(total, 'incident is', 'incidents are')} few: most questions have no answer."
    return text


def _others(m: ReportData) -> str:
    """What failed beside the whole system."""
    model = m.model.result
    assert model is not None
    names = [f"{name}s" for name in ("node", "rack", "group") if model.incidents_of(name).sum()]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _cards(m: ReportData) -> list[Card]:
    found = m.parameters.result
    if not m.failures or found is None:
        return []
    mtbf, mttr = found.mtbf, found.mttr
    cards = []
    before = _rate_before(m)
    if mtbf.any is not None and mtbf.any.value is not None:
        was = "" if before is None else f" · was {duration(before[0])} before"
        cards.append(Card("Time between interruptions", duration(mtbf.any.value), _limited(mtbf.any, m.level) + was))
    up, lost = m.availability.result, _lost_hours(m)
    if up is not None:
        hours = float(up.node_hours.sum())
        low, high = (float(x[0]) for x in (up.low, up.high)) if len(up.low) == 1 else (np.nan, np.nan)
        parts = [
            f"{name} \N{MINUS SIGN}{number(100.0 * value / hours, 2)} points"
            for name, value in (("whole-system outages", lost["system"]), ("failures of " + _others(m), lost["other"]))
            if value > 0.0
        ]
        share = 1.0 - sum(lost.values()) / hours
        text = percent(share, 1 if share < 0.99 else None)
        digits = len(text.partition(".")[2].partition(" ")[0])
        between = f"{percent(low, digits)} to {percent(high, digits)} · " if np.isfinite(low) else ""
        unseen = m.model.result is not None and m.model.result.question is not None
        of = "of the nodes that failed" if unseen else "of a node"
        cards.append(Card(f"Availability {of}", text, between + ", ".join(parts)))
    own, back = mtbf.node, mttr.node
    if own is not None and own.value is not None and m.part.n_nodes > 1:
        repaired = "" if back is None or back.value is None else f" · back in {duration(back.value)}"
        cards.append(Card("A node fails by itself", f"every {duration(own.value)}", _limited(own, m.level) + repaired))
    elif back is not None and back.value is not None:
        cards.append(Card("Repaired in", duration(back.value), _limited(back, m.level)))
    model = m.model.result
    if model is not None and not m.few and model.question is None:
        low, value, high = (float(x[1]) for x in (m.job.low, m.job.estimate, m.job.high))
        cards.append(
            Card(f"{count(m.job_size, 'node')} for 24 h, uninterrupted", percent(value),
                 f"{percent(low)} to {percent(high)} of start times, "
                 + ("on consecutive nodes that are up" if m.job_size > 1 else "while it is up"))
        )  # fmt: skip
    return cards


def picture(m: ReportData) -> tuple[Figure, ...]:
    """The rate over the whole log; of several systems, the time between the failures of a node of each."""
    points = m.change_points.result
    if not m.failures:
        return ()
    if points is not None and points.status == "ok":
        title = "Interruptions over time"
        title += "" if m.chosen.start_limits is None else "; every number above is from the shaded period"
        used = points.stable_period if m.chosen.name not in ("all", "given") else None
        return (Figure.of("rate", title, plotting.change_points, points, wide=True, used=used),)
    if m.several_systems:
        model = m.model.result
        if model is None:
            return ()
        names = {"incidents": "failures", "hours": "hours", "mtbf": "mean", "mtbf_low": "low", "mtbf_high": "high"}
        table = pd.DataFrame(model.scopes.xs("node", level="scope"))[list(names)].rename(columns=names)
        title = "Hours between the failures of one node, by system"
        return (Figure.of("systems", title, plotting.means_by_group, table, wide=True, what="MTBF"),)
    return (Figure.of("rate", "Records over time", plotting.events_over_time, m.part, wide=True),)


def _advice(m: ReportData) -> list[Point]:
    points: list[Point] = []
    if m.several_systems:
        text = "Ask of one system at a time: relfit report LOG --where system=NAME. Each has its own periods and plans."
        return [Point(text, "systems", "systems")] if m.failures else []
    found = m.parameters.result
    lost = _lost_hours(m)
    share = lost["system"] / sum(lost.values()) if lost else 0.0
    model = m.model.result
    if found is not None and model is not None:
        whole = int(model.incidents_of("system").sum())
        value = found.mtbf.system.value if found.mtbf.system is not None else None
        if whole and value is not None and share > 0.5:
            points.append(
                Point(f"Look at the whole-system outages first: {whole:,} in {duration(m.part.window.hours)}, one "
                      f"every {duration(value)} of operation.", "interruptions", "list")
            )  # fmt: skip
    nodes = m.outlier_nodes.result
    if nodes is not None and m.firm("alike") and len(nodes.outliers):
        named = nodes.outliers
        names = ", ".join(str(name) for name in named["node"].head(_NAMED))
        names += f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        gone = float(named["excess"].clip(lower=0.0).sum() / max(nodes.nodes["events"].sum(), 1))
        wrong = number(float((1.0 - named["posterior"]).sum()), 1)
        what = "its" if len(named) == 1 else "their"
        points.append(
            Point(f"Check {count(len(named), 'node')}: {names}. Without {what} excess {percent(gone)} of the failures "
                  f"of nodes would go ({wrong} expected to be named falsely).", "nodes", "all")
        )  # fmt: skip
    if found is not None and not m.few and m.part.question is None:
        plan = plan_checkpoints(found, Checkpoint(save=_SAVE, restore=_SAVE), nodes=m.job_size)
        spared = getattr(plan, "spared_waste", None)
        spare = f", {percent(spared)} with spares that take over at once" if spared is not None and plan.waits else ""
        size = "a job on one node" if m.job_size == 1 else f"a {m.job_size}-node job"
        points.append(
            Point(f"Save {size} every {duration(plan.checkpoint_every)} if a save takes 5 minutes: "
                  f"{percent(plan.waste)} of its time is lost{spare}.", "jobs", "jobs")
        )  # fmt: skip
    return points


def _limits(m: ReportData) -> list[Point]:
    points: list[Point] = []
    if m.part.question is not None:
        points.append(Point(f"{m.part.question[:1].upper()}{m.part.question[1:]}.", "data", "why"))
    found = m.dependence.result
    if found is not None:
        for name in ("place", "cofailure"):
            part = getattr(found, name)
            if part is not None and part.depends and part.expected > 0.0:
                times = number(part.together / part.expected, 2)
                points.append(
                    Point(f"Nodes of one {part.per} fail together {times} times as often as chance. Do not multiply "
                          "single-node reliabilities.", "independence", "why")
                )  # fmt: skip
                break
    replayed = m.replay.result
    if replayed is not None and replayed.fails:
        before = f"{replayed.split:%Y-%m-%d}"
        points.append(Point(f"A model of the time before {before} fails on the jobs after it.", "jobs", "where"))
    if m.chosen.problem is not None and m.change_points.result is not None:
        points.append(Point(f"No one period is used: {m.chosen.problem}.", "steady", "periods"))
    source, events = m.log.source, m.part.events
    unknown = int(events["end"].isna().sum())
    ends = f"; {count(unknown, 'outage has', 'outages have')} no end" if unknown else ""
    if source.rows_read and len(m.log.rejected):
        points.append(
            Point(f"{len(m.log.rejected):,} of {source.rows_read:,} rows were rejected{ends}.", "data", "which")
        )
    elif unknown:
        points.append(Point(f"{ends.removeprefix('; ')}.", "data", "data"))
    return points


# ------------------------------------------------------------- several systems


def _systems_sentence(m: ReportData) -> str:
    model = m.model.result
    assert model is not None
    hours = model.hours
    total = np.sum([model.incidents_of(name) for name in model.by_scope], axis=0)
    names, order = model.places.systems, np.argsort(-total, kind="stable")
    most, share = order[0], total[order[0]] / total.sum()
    return (
        f"{count(len(names), 'system')} with {count(m.part.n_nodes, 'node')} had {int(total.sum()):,} interruptions in "
        f"{duration(hours)}; system {names[most]} had {percent(share)} of them."
    )


def _systems_cards(m: ReportData) -> list[Card]:
    model = m.model.result
    if model is None or not m.failures:
        return []
    table = pd.DataFrame(model.scopes.xs("node", level="scope"))
    known = table[table["incidents"] >= 10].sort_values("mtbf").reset_index()
    cards = [Card("Interruptions", f"{m.failures:,}", f"of {count(len(table), 'system')}")]
    if len(known):
        for name, row in (("A node fails most often", 0), ("A node fails least often", -1)):
            mean, low, high = (float(known[column].iloc[row]) for column in ("mtbf", "mtbf_low", "mtbf_high"))
            of = f"system {known['system'].iloc[row]}"
            cards.append(Card(name, f"every {duration(mean)}", f"{of}; {limits(low, high, mean)}"))
    up = m.availability.result
    if up is not None:
        share = 1.0 - float(up.down_hours.sum() / up.node_hours.sum())
        low, high = float(np.nanmin(up.operational)), float(np.nanmax(up.operational))
        over = f"{percent(low)} to {percent(high)} over systems" if len(up.groups) > 1 else ""
        cards.append(Card("Availability of a node", percent(share), over))
    return cards
