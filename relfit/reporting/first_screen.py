"""The first screen of a report about a fleet: a sentence, four numbers, a picture, advice, limits of the answers."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from relfit import plotting
from relfit.analyses.screening.tallies import NOT_STATED
from relfit.base.text import count, duration, interval_ends, number, out_of, percent
from relfit.fleet.calibration.parameter_values import Duration
from relfit.fleet.node_years import by_node_year, nodes_in_service, number_changed
from relfit.fleet.rates_now import unbounded
from relfit.log.failurelog import Window
from relfit.log.hints_of_rows import planned_hint
from relfit.log.tables import POPULATION_COLUMNS
from relfit.log.units_in_service import hint_of_lives
from relfit.reporting.components import Card, Figure, FirstScreen, Point, Small
from relfit.reporting.report_data import LATELY, ReportData

_WEEK = 168.0  # hours
_NAMED = 3
_MANY_REJECTED = 0.01  # share of rejected rows from which there is a caution
_SMALL, _BARS = 12, 40  # most systems with a sparkline; steps in it


def fleet_summary(m: ReportData) -> FirstScreen:
    """The first screen of a fleet whose nodes are repaired."""
    cards, tested = tuple(_systems_cards(m) if m.several_systems else _cards(m)), m.backtest.result
    trust = "" if tested is None else f"Trust: {tested.trust}. {tested.trust_reason}"
    advice, limits = tuple(_advice(m)), tuple(_limits(m))
    return FirstScreen(_sentence(m), cards, picture(m), advice, limits, trust, _small_pictures(m))


def _refuted(m: ReportData, part: str) -> str:
    """Why the backtest refutes answers of a kind, if it does."""
    tested = m.backtest.result
    return "" if tested is None else tested.refuted(part)


def _window_before(m: ReportData) -> Window:
    """The period used, with which now is compared."""
    period = m.model.needed.period
    return period.log.window if period.before_now is None else period.before_now


def _before(m: ReportData) -> tuple[float, str]:
    """Hours between interruptions in the period used, and when that was."""
    begun, window = m.incidents.needed.table["start"], _window_before(m)
    inside = int(((begun >= window.start) & (begun <= window.end)).sum())
    ended = window.end < m.log.window.end
    when = f"from {window.start:%B %Y} to {window.end:%B %Y}" if ended else f"since {window.start:%B %Y}"
    return (window.hours / inside if inside else float("inf")), when


def _lost_hours(m: ReportData) -> dict[str, float]:
    """Node-hours lost lately to whole-system outages, and to everything else; empty where ends are unknown."""
    up = m.availability.result
    if up is None:
        return {}
    system = float(up.system_down_hours.sum())
    return {"system": system, "other": float(up.down_hours.sum()) - system}


def limits(low: float, high: float, value: float) -> str:
    """The interval of a duration, in the unit of the duration's own text."""
    return interval_ends(duration(low, value), duration(high, value))


def shown_availability(share: float) -> str:
    """An availability in percent, with one decimal below 99 %, else as many digits as its nines need."""
    return percent(share, 1 if share < 0.99 else None)


def _alike(low: float, high: float) -> int:
    """Decimals in percent for a share and its limits: the fewest that tell these apart, three at most."""
    return next((digits for digits in range(3) if percent(low, digits) != percent(high, digits)), 3)


def _limited(value: Duration, level: float) -> str:
    if value.low is None or value.high is None or value.value is None:
        return ""
    within = limits(value.low, value.high, value.value)
    if unbounded(np.asarray(value.value), np.asarray(value.high)):
        within = f"above {duration(value.low, value.value)}"
    return f"{100 * level:g} % interval {within}"


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
    what, model = "machine" if m.part.n_nodes > 1 else "node", m.model.needed
    if model.lately is None:
        return f"Something interrupted the {what} every {duration(m.part.window.hours / total)}."
    if m.few:
        each = f", one every {duration(m.part.window.hours / total)}" if total > 1 else ""
        seen = f"{count(total, 'incident')} of the {what} in {duration(m.part.window.hours)}{each}"
        return f"{seen}: too few for most questions."
    week, low, high = model.lately.a_week(m.level)
    hours, when = _before(m)
    before = f"; {number(_WEEK / hours)} {when}" if np.isfinite(hours) else f"; never {when}"
    each, earlier = ", each of one node or more" if what == "machine" else "", _earlier(m)
    before += earlier if np.isfinite(hours) else ""
    if np.isfinite(hours):
        before += by_node_year(week, _WEEK / hours, nodes_in_service(m.log, _window_before(m)), m.log.n_nodes)
    has = f"has {number(week)} incidents a week (next 90 days' mean: {number(low)}-{number(high)})"
    if _refuted(m, "forecasts"):  # then what was counted
        has = f"had {_counted_lately(m)}"
    gone = f" ({m.log.window.gone})" if m.log.window.gone else ""
    return f"As of {m.log.window.end:%Y-%m-%d}{gone}, the {what} {has}{each}{before}."


def _counted_lately(m: ReportData) -> str:
    """Incidents a week of the last 90 days, or of a shorter period."""
    window = m.lately.window
    number_of = int((m.incidents.needed.table["start"] >= window.start).sum())
    return f"{number(_WEEK * number_of / window.hours)} incidents a week in the last {duration(window.hours)}"


def _earlier(m: ReportData) -> str:
    """Incidents per week in the period before the one used, where the rate changed between them, with its length."""
    points = m.change_points.result
    if points is None or points.status != "ok" or not points.stable or m.chosen.name in ("all", "given"):
        return ""
    before, first = points.periods[points.stable - 1], points.stable == 1
    when = "before" if first else f"in the {duration(before.hours)} before"
    return f", {number(_WEEK * before.failures / before.hours)} {when}" if m.firm("steady") else ""


def _others(m: ReportData) -> str:
    """The scopes that failed, other than the system."""
    names = [f"{name}s" for name in ("node", "rack", "group") if m.model.needed.incidents_of(name).sum()]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _cards(m: ReportData) -> list[Card]:
    found = m.parameters.result
    if not m.failures or found is None:
        return []
    mtbf, mttr = found.mtbf, found.mttr
    cards = []
    if mtbf.any is not None and mtbf.any.value is not None:
        hours, when = _before(m)
        was = f" · {duration(hours)} {when}" if np.isfinite(hours) else ""
        there, earlier = nodes_in_service(m.log, _window_before(m))
        was += f", by {earlier:,.0f} nodes, now {there:,.0f}" if was and number_changed(there, earlier) else ""
        between, detail = duration(mtbf.any.value), _limited(mtbf.any, m.level) + was
        cards.append(Card("Time between incidents, now", between, detail, _refuted(m, "forecasts")))
    up, lost = m.availability.result, _lost_hours(m)
    if up is not None:
        hours = float(up.node_hours.sum())
        low, high = (float(x[0]) for x in (up.low, up.high)) if len(up.low) == 1 else (np.nan, np.nan)
        parts = [
            f"{name} {number(100.0 * value / hours, 2)} %"
            for name, value in (("whole system", lost["system"]), (_others(m), lost["other"]))
            if value > 0.0
        ]
        share = 1.0 - sum(lost.values()) / hours
        text = shown_availability(share)
        digits = len(text.partition(".")[2].partition(" ")[0])
        between = f"{interval_ends(percent(low, digits), percent(high, digits))} · " if np.isfinite(low) else ""
        unseen = m.model.result is not None and m.model.result.question is not None
        of = "of the nodes that failed" if unseen else "of a node"
        days = "" if m.lately is m.part else ", last 90 days"
        cards.append(Card(f"Availability {of}{days}", text, between + ("down: " if parts else "") + ", ".join(parts)))
    own, back = mtbf.node, mttr.node
    if own is not None and own.value is not None and m.part.n_nodes > 1:
        repaired = "" if back is None or back.value is None else f" · back in {duration(back.value)}"
        often = f"every {duration(own.value)}"
        detail = _limited(own, m.level) + repaired
        cards.append(Card("A node fails on its own, now", often, detail, _refuted(m, "forecasts")))
    elif back is not None and back.value is not None:
        cards.append(Card("Repaired in, now", duration(back.value), _limited(back, m.level)))
    model = m.model.result
    if model is not None and not m.few and model.question is None and not m.units_leave:
        low, value, high = (float(x[1]) for x in (m.job.low, m.job.estimate, m.job.high))
        where = "on consecutive nodes" if m.job_size > 1 else "while it is up"
        ends = _alike(low, high)
        detail = f"{interval_ends(percent(low, ends), percent(high, ends))} of starts in the next 90 days, {where}"
        title = f"{count(m.job_size, 'node')} for 24 h, uninterrupted"
        cards.append(Card(title, percent(value, ends), detail, _refuted(m, "jobs")))
    return cards


def _in_service(m: ReportData) -> pd.Series:
    """Nodes under observation at the end, by system; those of all systems if there is none."""
    model = m.model.needed
    here = model.standing.present if model.standing.present.any() else np.ones_like(model.standing.present)
    return pd.Series(np.asarray(model.places.systems, object)[model.places.system[here]]).astype(str).value_counts()


def _lost_by_system(m: ReportData) -> pd.Series:
    """Node-hours lost lately by system, most first."""
    up = m.availability.result
    if up is None or not m.several_systems:
        return pd.Series(dtype=float)
    names = up.groups.get_level_values("system").astype(str)
    return pd.Series(np.asarray(up.down_hours, np.float64), names).sort_values(ascending=False, kind="stable")


def _small_pictures(m: ReportData) -> tuple[Small, ...]:
    """The interruptions of each system over time, in order of node-hours lost lately; none for a single system."""
    model = m.model.result
    if model is None or not m.several_systems or not m.failures:
        return ()
    lost, table = _lost_by_system(m), model.found.table
    numbers = dict(zip(map(str, model.places.systems), m.by_system.tolist(), strict=True))
    there = _in_service(m)
    begin, end = (moment.tz_convert("UTC") for moment in (m.log.window.start, m.log.window.end))
    edges = pd.date_range(begin, end, _BARS + 1)
    names = [*lost.index, *sorted(set(table["system"].astype(str)) - set(lost.index))][:_SMALL]
    pictures = []
    for name in names:
        begun = table.loc[table["system"].astype(str) == name, "start"]
        counts = np.bincount(np.clip(edges.searchsorted(begun) - 1, 0, _BARS - 1), minlength=_BARS).astype(np.float64)
        known = f"{percent(float(lost[name] / lost.sum()))} lost" if name in lost and lost.sum() > 0.0 else ""
        share = known or ("ends unknown" if name in there else "no longer observed")
        pictures.append(Small.of(f"System {name}", f"{share} · {numbers.get(name, 0):,}", counts))
    return tuple(pictures)


def picture(m: ReportData) -> tuple[Figure, ...]:
    """The rate over the whole log; of several systems, the time between the failures of a node of each."""
    points = m.change_points.result
    if not m.failures:
        return ()
    if points is not None and points.status == "ok":
        title = f"Incidents over time ({m.log.source.timezone})"
        shaded = "the period used" if m.chosen.before_now is None else "the steady part"
        title += "" if m.chosen.start_limits is None else f"; shaded: {shaded}"
        used = points.stable_period if m.chosen.name not in ("all", "given") else None
        return (Figure("rate", title, partial(plotting.change_points, points, used=used), wide=True),)
    if m.several_systems:
        model = m.model.result
        if model is None:
            return ()
        names = {"incidents": "failures", "hours": "hours", "mtbf": "mean", "mtbf_low": "low", "mtbf_high": "high"}
        table = pd.DataFrame(model.scopes.xs("node", level="scope"))[list(names)].rename(columns=names)
        title = "Hours between the failures of one node, by system"
        return (Figure("systems", title, partial(plotting.means_by_group, table, what="MTBF"), wide=True),)
    return (Figure("rate", "Records over time", partial(plotting.events_over_time, m.part), wide=True),)


def _advice(m: ReportData) -> list[Point]:
    points: list[Point] = []
    if m.several_systems:
        text = "Report one system at a time: relfit report LOG --where system=NAME."
        by_system = _lost_by_system(m)
        if by_system.sum() > 0.0:
            most, first = percent(float(by_system.iloc[0] / by_system.sum())), by_system.index[0]
            nodes = _in_service(m)
            of_nodes = f", with {percent(nodes[first] / nodes.sum())} of the nodes" if first in nodes else ""
            begin = f"Begin with system {first}: {most} of the node-hours lost{m.when_lately}{of_nodes}."
            points.append(Point(begin, "systems", "systems", "Site"))
        return [*points, Point(text, "systems", "systems", "Each system")] if m.failures else []
    lost = _lost_hours(m)
    share = lost["system"] / sum(lost.values()) if lost else 0.0
    model = m.model.result
    if model is not None and share > 0.5:
        table, since = model.found.table, m.lately.window.start
        recent = int(((table["scope"] == "system") & (table["start"] >= since)).sum())
        if recent:
            outages = f"{recent:,}{m.when_lately}, {percent(share)} of the node-hours lost"
            text = f"Look at the whole-system outages first: {outages}."
            points.append(Point(text, "interruptions", "list", "Administrators"))
    points += _risen(m)
    named = m.nodes_now.result
    if named is not None and not m.few and named["check"].any():
        worst = named[named["check"]]
        factors = [number(factor, 2) for factor in worst["factor"].head(_NAMED)]
        factors[0] += " times the mean"
        each = [f"{node} ({factor})" for node, factor in zip(worst["node"].head(_NAMED), factors, strict=True)]
        more = f" and {len(worst) - _NAMED} more" if len(worst) > _NAMED else ""
        whose = "its" if len(worst) == 1 else "their"
        gone = float((worst["factor"] - 1.0).clip(lower=0.0).sum() / named["factor"].sum())
        ahead = ", next 90 days" if model is not None and model.lately is not None else ""
        excess = f"{whose} excess is {percent(gone)} of node failures{ahead}"
        text = f"Check {count(len(worst), 'node')}{_place_of(m, worst['node'])}: {', '.join(each)}{more}; {excess}."
        points.append(Point(text, "nodes", "all", "Hardware"))
    again = m.repeat_failures.result
    often = pd.DataFrame() if again is None else again.going_on[again.going_on["lately"] > 1]
    if not m.few and len(often):
        first, others = often.iloc[0], often["node"].drop_duplicates().iloc[1:_NAMED]
        of = "" if first["cause"] == NOT_STATED else f" ({first['cause']})"
        text = f"Look at repairs of {first['node']}: {first['lately']:,} early repeats in 90 days{of}."
        if len(others):
            text += f" Also {', '.join(others)}."
        points.append(Point(text, "nodes", "repeats", "Repairs"))
    if m.checkpoints.result is not None:
        points.append(Point(m.checkpoints.result.advice, "jobs", "jobs", "Users"))
    return points


def _place_of(m: ReportData, nodes: pd.Series) -> str:
    """The value of an attribute that these nodes share, such as their rack; empty for a few nodes, or without one."""
    population = m.part.population
    these = population[population["node"].isin(nodes)]
    for name in population.columns.difference(list(POPULATION_COLUMNS), sort=False):
        values = these[name].astype(str).unique()
        if len(nodes) > _NAMED and len(values) == 1 and len(population[name].unique()) > 1:
            return f" of {name} {values[0]}"
    return ""


def _risen(m: ReportData) -> list[Point]:
    """Where the rate rises, or that of the last months is clearly higher than that of the steady period before."""
    changes = m.change_points.result
    if changes is None or changes.status != "ok" or m.few or not m.firm("steady"):
        return []
    first, before, last = changes.periods[0], changes.stable_period, changes.periods[-1]
    if changes.gradual and last.low > first.high:
        since = f"since {last.start:%Y-%m-%d} {last.times(first)} as often as until {first.end:%Y-%m-%d}"
        text = f"Find out why incidents come more and more often: {since}."
    elif last.low > before.high:
        day = f"{last.start:%Y-%m-%d}"
        text = f"Find out what changed about {day}: incidents come {last.times(before)} as often since then."
    else:
        return []
    return [Point(text, "steady", "when", "Administrators")]


def _limits(m: ReportData) -> list[Point]:
    points: list[Point] = []
    if m.part.question is not None:
        points.append(Point(f"{m.part.question[:1].upper()}{m.part.question[1:]}.", "data", "why"))
    together = _together(m)
    if together:
        points.append(Point(f"{together} Do not multiply single-node reliabilities.", "independence", "why"))
    for part, name in (("forecasts", "forecast"), ("jobs", "jobs")):
        if why := _refuted(m, part):
            text = f"The log's own past refutes the numbers on {name}: {why}."
            points.append(Point(text, name, "how this was measured"))
    lost = "" if m.checkpoints.result is None else m.checkpoints.result.refuted
    if lost:
        text = f"The log's own past refutes the predicted loss of {m.job_size}-node jobs: {lost}."
        points.append(Point(text, "jobs", "jobs"))
    if m.chosen.problem is not None and m.change_points.result is not None:
        points.append(Point(f"The whole log is used: {m.chosen.problem}.", "steady", "periods"))
    asked = m.chosen.name == "given" and m.part.window.start > m.log.window.start
    if asked or any(text.startswith("from ") for text in m.log.source.selection):
        text = (
            f"Failures before {m.part.window.start:%Y-%m-%d} are left out: nodes that often failed then may be missing."
        )
        points.append(Point(text, "data", "data"))
    planned = planned_hint(m.part)
    if planned:
        points.append(Point(f"{planned}.", "data", "data"))
    if m.failures and not m.log.window.end_known:
        text = "Observation is taken to end with the last record: if it went on without one, rates now are lower."
        points.append(Point(text, "data", "data"))
    points += [Point(f"{note}.", "data", "data") for note in m.log.source.unobserved]
    unknown = int(m.part.events["end"].isna().sum())
    hint = hint_of_lives(m.log, "all")
    if hint:
        points.append(Point(hint, "data", "data"))
    if unknown and not m.units_leave:
        points.append(Point(f"{count(unknown, 'outage has', 'outages have')} no known end.", "data", "data"))
    return [*points, *many_rejected(m)]


def _together(m: ReportData) -> str:
    """That nodes of one place fail together, or the whole system; empty where they do not."""
    found, joined = m.dependence.result, m.incidents.result
    if found is None or joined is None:
        return ""
    of_system = _failures_of_system(m, joined.table) if found.system_wide and found.depends("cofailure") else ""
    for part in (found.place, None if of_system else found.cofailure):
        if part is not None and part.depends and part.expected > 0.0:
            times = number(part.together / part.expected, 2)
            often = f"Nodes of one {part.per} fail together {times} times as often as chance."
            return f"{of_system} Apart from that, n{often[1:]}" if of_system else often
    return of_system


def _failures_of_system(m: ReportData, table: pd.DataFrame) -> str:
    """How often the whole system failed, of what, and how many of its nodes at once."""
    table = table[(table["scope"] == "system") & (table["nodes"] > 1)]
    causes = table["cause"].dropna().value_counts()
    most = "" if len(causes) == 1 and causes.iloc[0] == len(table) else "most often "
    cause = f" ({most}{causes.index[0]})" if len(causes) else ""
    least, largest = int(table["nodes"].min()), int(table["nodes"].max())
    nodes = f"{largest:,}" if least == largest else f"{least:,} to {largest:,}"
    each = " each time" if len(table) > 1 else ""
    return f"The whole system failed {count(len(table), 'time')}{cause}, {nodes} of its {m.part.n_nodes:,} nodes{each}."


def many_rejected(m: ReportData) -> list[Point]:
    """A caution where 1 % of the rows or more were rejected; fewer are left to the section on data."""
    rejected, rows = len(m.log.rejected), m.log.source.rows_read
    if not rejected or rejected < _MANY_REJECTED * rows:
        return []
    were = out_of(rejected, rows, "row", "was", "were")
    return [Point(f"{were} rejected ({percent(rejected / rows)}).", "data", "which")]


def _systems_sentence(m: ReportData) -> str:
    total, names, table = m.by_system, m.model.needed.places.systems, m.incidents.needed.table
    lately = table.loc[table["start"] >= m.log.window.end - pd.Timedelta(hours=LATELY), "system"].astype(str)
    own = "none in the last 90 days"
    if len(lately):  # over a longer time the oldest system has most
        most = lately.value_counts(normalize=True)
        own = f"of those of the last 90 days, system {most.index[0]} had {percent(float(most.iloc[0]))}"
    return (
        f"{count(len(names), 'system')} with {count(m.part.n_nodes, 'node')} had {int(total.sum()):,} incidents in "
        f"{duration(m.model.needed.hours)}; {own}."
    )


def _systems_cards(m: ReportData) -> list[Card]:
    model = m.model.result
    if model is None or not m.failures:
        return []
    table = pd.DataFrame(model.scopes.xs("node", level="scope"))
    cards = [Card("Incidents", f"{m.failures:,}", f"of {count(len(table), 'system')}")]
    mtbf, now = ("mtbf_now", ", now") if "mtbf_now" in table else ("mtbf", "")
    there = table.index.astype(str).isin(_in_service(m).index)
    known = table[there & (table["incidents"] >= 10)].sort_values(mtbf).reset_index()
    for often, row in (("most", 0), ("least", -1)) if len(known) else ():
        mean, low, high = (float(known[f"{mtbf}{end}"].iloc[row]) for end in ("", "_low", "_high"))
        within = limits(low, high, mean) if np.isfinite(high) else f"above {duration(low, mean)}"
        of = f"system {known['system'].iloc[row]}; {within}"
        cards.append(Card(f"A node fails {often} often{now}", f"every {duration(mean)}", of))
    up = m.availability.result
    if up is not None:
        share = 1.0 - float(up.down_hours.sum() / up.node_hours.sum())
        low, high = float(np.nanmin(up.operational)), float(np.nanmax(up.operational))
        over = f"{interval_ends(percent(low, 1), percent(high))} over systems" if len(up.groups) > 1 else ""
        days = "" if m.lately is m.part else ", last 90 days"
        cards.append(Card(f"Availability of a node{days}", shown_availability(share), over))
    return cards
