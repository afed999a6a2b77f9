"""Any table: CSV, TSV, semicolons, JSON or Parquet, with columns named by the user or guessed from common names.

A table holds outages (a start, and an end or a duration), failures (only a start), states (a time and whether a node is
up or down from then on), or complete durations (a duration and a flag, without a start).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from relfit.base.arrays import BoolArray
from relfit.base.errors import Remedy
from relfit.base.text import count, out_of
from relfit.base.units import NANOSECONDS_PER_HOUR, instant, nanoseconds
from relfit.io.clock_lines import in_order_of_units
from relfit.io.declared_fleet import declared_window, observed, of_all_files
from relfit.io.frames import events_frame, lifetimes_frame, population_frame, seen_population, source_of
from relfit.io.life_flags import NO_FLAG, UNFLAGGED, ended, flags
from relfit.io.node_list import NodeList, differing_in_case
from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import category
from relfit.io.parsing.table_rows import rows_of
from relfit.io.parsing.times import check_zone
from relfit.io.raw_lines import rows_of_lines
from relfit.io.reader import Reader
from relfit.io.table_columns import Columns, mapping_words
from relfit.io.table_mapping import OF_INTERVALS, SINGLE_NAMES, TableMapping, mapping_of
from relfit.io.unit_lives import columns_of_units, has_dates_of_service, lives_of_units
from relfit.io.up_and_down import outages_between, states
from relfit.log.failurelog import FailureLog, Window
from relfit.log.tables import pair_codes

_NAME = "table"
_SCOPES = ("node", "group", "system")
_LATEST_HOUR = 2_454_000.0  # hours from 1970 to the year 2250, well within the range of nanoseconds
_LONGEST_WORD = 40
_TO_COME = 0.05  # share of outages that end in the future, above which the unit of their durations is wrong
_RUNS_OR_NOT = "says neither that the unit still runs (running, true, 1) nor that it does not (false, no, 0)"
_OF_RATES = {"hours", "expected", "rate_by_covariates"}  # columns of `relfit.regression.CountFit.node_rates`
_MOST_UNLISTED = 0.05  # share of the rows that are of nodes the list lacks, from which it does not fit the log
_MOST_CALM = 0.5  # share of rows that are not failures; with more, a table is no list of failures


def _recognises(content: Content) -> bool:
    """Always true: a file that no other format recognises is read as a table."""
    return True


def _read(
    content: Content,
    *,
    strict: bool,
    timezone: str | None,
    nodeless: str | None = None,
    mapping: str | Path | Mapping[str, object] | None = None,
    **options: object,
) -> FailureLog:
    """Read a table; `options` go before `mapping`, a TOML file or its content; `nodeless` allows no column of nodes."""
    folder = Path(mapping).parent if isinstance(mapping, (str, Path)) else Path()
    meaning = mapping_of(mapping, {**options, **({"timezone": timezone} if timezone else {})})
    table = rows_of(content, SINGLE_NAMES) if meaning.pattern is None else rows_of_lines(content, meaning.pattern)
    columns = Columns.of(table, meaning, check_zone(meaning.timezone))
    if meaning.duration_unit != "hours" and "duration" not in columns:
        raise content.error(
            f"no column holds durations that could be in {meaning.duration_unit}",
            Remedy(
                "name it with duration=..., or leave out duration_unit",
                "name it with --column duration=NAME, or leave out --unit",
            ),
        )
    names = ", ".join(table.header)[:300]
    units = columns_of_units(columns)
    if units is not None:
        return lives_of_units(units, content, strict)
    if "start" in columns:
        if "running" in columns:
            raise content.error(
                f"column {columns.names['running']!r} cannot say which units still run where failures have dates",
                "leave out running; a list of nodes says it with left (--population, --column left=NAME)",
                line=1,
            )
        if not ("node" in columns or "scope" in columns or meaning.node_name is not None or nodeless is not None):
            raise content.error(
                "no column names the node, and a fleet taken for one node would be wrong",
                Remedy(
                    f"name it with node=... (node=rack+slot for two), or give node_name if the log is of one node; "
                    f"the columns are {names}",
                    "name it with --column node=NAME (--column node=rack+slot for two), or give --column "
                    f"node_name=NAME if the log is of one node; the columns are {names}",
                ),
                line=1,
            )
        if "state" in columns:
            return _transitions(columns, content, strict, folder)
        return _events(columns, content, strict, folder)
    if _OF_RATES.issubset(table.header):
        raise content.error(
            "these are rates of nodes, which relfit regress --rates wrote, and their hours are no lives",
            "give the log itself; in Python, rf.System(rf.families.Exponential(table['rate'] / 8766)) has them",
            line=1,
        )
    if "duration" in columns:
        return _durations(columns, content, strict)
    if {"lower", "upper"}.issubset(table.header):
        raise content.error("a unit failed between lower and upper", OF_INTERVALS, line=1)
    if has_dates_of_service(columns):
        raise content.error(
            "units have dates of service, and no column says which of them failed",
            Remedy(
                f'name the flag with observed=..., or a word, failures="status=RMA"; the columns are {names}',
                f"name the flag with --column observed=NAME or --failures COLUMN=WORD; the columns are {names}",
            ),
            line=1,
        )
    raise content.error(
        "no column is recognized as the time of a failure or as a duration",
        Remedy(
            f"name one with start=... or duration=...; the columns are {names}",
            f"name one with --column start=NAME or --column duration=NAME; the columns are {names}",
        ),
        line=1,
    )


def _not_to_come(columns: Columns, content: Content, start: pd.Series, end: pd.Series) -> None:
    """A `ReadError` where outages of a log until now would end in the future by their durations."""
    now = pd.Timestamp.now("UTC")
    if start.max() <= now and (end > now).mean() > _TO_COME:
        raise content.error(
            f"by the durations in {columns.mapping.duration_unit} the log ends on {end.max():%Y-%m-%d}, which is still "
            "to come",
            Remedy("give their unit, as duration_unit='seconds'", "give their unit, as --unit seconds"),
            line=1,
            column=columns.named("duration"),
        )


def _not_of_calm_days(columns: Columns) -> None:
    """Reject a table with dates of which most rows say that nothing failed: every such day would be a failure."""
    if "observed" not in columns:
        return
    true, is_flag = flags(columns.values("observed"))
    if is_flag.any() and (is_flag & ~true).sum() > _MOST_CALM * columns.size:
        name = columns.names["observed"]
        others = "take the rows that are; read daily snapshots of drives with"
        units = "a table with one row per unit has lives"
        raise columns.rejections.error(
            f"column {name!r} says that {out_of(int((is_flag & ~true).sum()), columns.size, 'row')} not failures",
            Remedy(
                f"{others} format=backblaze; {units}: entered=..., left=..., without start; or switch the column off "
                "with observed=''",
                f"{others} --format backblaze; {units}: --column entered=NAME --column left=NAME, without start; or "
                "switch the column off with --column observed=",
            ),
            line=1,
        )


def _events(columns: Columns, content: Content, strict: bool, folder: Path) -> FailureLog:
    """Outages and failures with their dates."""
    _not_of_calm_days(columns)
    rejections, mapping = columns.rejections, columns.mapping
    nodes = NodeList.of(columns, folder)
    node, system, told = _nodes_and_systems(columns, nodes)
    scope, failing = _scopes(columns), columns.failing()
    start = columns.instants("start", required=True)
    end = columns.ends(start)
    clocks = columns.one_clock()
    if "duration" in columns:
        length = columns.hours("duration")
        with np.errstate(invalid="ignore"):
            far = start.notna().to_numpy() & (nanoseconds(start) / NANOSECONDS_PER_HOUR + length > _LATEST_HOUR)
        rejections.reject(far, "ends beyond the year 2250", columns.named("duration"))
        from_length = start + pd.to_timedelta(np.where(far, np.nan, length), unit="h").round("us")
        _not_to_come(columns, content, start, from_length)
        end = end.fillna(from_length.astype(end.dtype))
    rejections.reject(columns.to_come(start, start), "starts in the future", columns.named("start"))
    rejections.reject(columns.to_come(end, start), "ends in the future", columns.named("end", "duration"))
    turned = (end < start).to_numpy()
    exchanged = ": are start and end exchanged?" if 2 * turned.sum() > turned.size and "duration" not in columns else ""
    rejections.reject(turned, f"ends before it starts{exchanged}", columns.named("end", "duration"))
    cause, detail = columns.category("cause"), columns.category("detail")
    same = {"system": system, "end": end, "scope": scope, "cause": cause if "cause" in columns else detail}
    _reject_repeated(columns, node, start, same, failing)
    good = rejections.settle(strict)
    attributes = columns.attributes(good, besides=("observed", "censored", "state"))
    values = {
        **{"system": system, "node": node, "start": start, "end": end},
        **{"cause": cause, "detail": detail, "scope": scope},
    }
    said = [columns.taken, *clocks, *_without_start(columns, start), *columns.questions(), *told]
    columns.table.forget()
    content.forget()
    if not good.all():
        values = {name: column[good] for name, column in values.items()}
    every = events_frame(**values, line=rejections.lines[good], attributes=attributes)
    events = every
    if not failing.all():
        events = every[failing[good]].reset_index(drop=True)
        calm = count(len(every) - len(events), "row only says", "rows only say")
        said.append(f"failures are rows with {mapping.failures}; {calm} that a node was there")
    latest = max(every[name].max() for name in ("start", "end") if every[name].notna().any())
    return _log(columns, content, events, attributes, nodes, latest, said, every)


def _without_start(columns: Columns, start: pd.Series) -> list[str]:
    """A note on rows without a failure, where a table of failures may hold units that did not fail."""
    empty = columns.empty("start") & start.isna().to_numpy()
    if not empty.any() or "end" in columns or "duration" in columns:  # a log of outages: rejected rows, no more
        return []
    name = columns.names["start"]
    rows = count(int(empty.sum()), "row has", "rows have")
    return [f"{rows} no {name!r}; if such a unit still runs, say when it entered: --column entered=NAME"]


def _scopes(columns: Columns) -> pd.Series:
    scope = columns.category("scope")
    lower = [str(name).lower() for name in scope.cat.categories]
    odd = np.append([name not in _SCOPES for name in lower], False).astype(bool)
    rows = odd[scope.cat.codes.to_numpy()]
    columns.rejections.reject(rows, "scope is none of node, group, system", columns.named("scope"))
    return scope.astype(object).str.lower().astype("category") if len(lower) else scope


def _nodes_and_systems(columns: Columns, nodes: NodeList | None) -> tuple[pd.Series, pd.Series, list[str]]:
    """The node and system of each row, as a list of nodes has them, and notes on names."""
    mapping = columns.mapping
    node, system = columns.category("node", mapping.node_name), columns.category("system", mapping.system_name)
    if nodes is None:
        return node, system, differing_in_case(node)
    node, system, told = nodes.names_of(node, system, columns)
    unlisted = (node.notna() & ~node.isin(nodes.columns.category("node"))).to_numpy()
    if unlisted.sum() < _MOST_UNLISTED * unlisted.size:  # of more, the list is not that of this log: an error later
        columns.rejections.reject(unlisted, "node not in the list of nodes", columns.named("node"))
    return node, system, told


def _reject_repeated(
    columns: Columns, node: pd.Series, start: pd.Series, others: dict[str, pd.Series], failing: BoolArray | None = None
) -> None:
    """Reject repeated rows, and failures of the same node, times and `others`; different units are not the same."""
    both = nanoseconds(start) * np.int64(1_000_003)
    both += node.cat.codes.to_numpy()
    in_order = np.sort(both)
    if not (in_order[1:] == in_order[:-1]).any():
        return
    columns.table.reject_duplicates(pd.Series(both).duplicated(keep=False).to_numpy() & start.notna().to_numpy())
    if failing is None:
        return
    rejections = columns.rejections
    rows = np.flatnonzero(rejections.kept & failing & start.notna().to_numpy() & node.notna().to_numpy())
    rows = rows[pd.Series(both[rows]).duplicated(keep=False).to_numpy()]
    if not rows.size:
        return
    parts = {name: category(columns.table.columns[name]) for name in columns.parts()}
    compared = {"node": node, "start": start, **others, **parts}
    codes = pd.DataFrame({name: pd.factorize(values.iloc[rows])[0] for name, values in compared.items()})
    group = codes.groupby(list(codes.columns), sort=False).ngroup().to_numpy()
    first = rows[np.unique(group, return_index=True)[1]][group]
    of_row = np.arange(rejections.lines.size)
    of_row[rows] = first
    lines = rejections.lines
    rejections.reject(
        of_row != np.arange(lines.size), lambda row: f"the same node, times and cause as line {lines[of_row[row]]}"
    )
    # an outage that was going on when one row was written, and had ended when another was
    outage = codes.groupby([name for name in codes if name != "end"], sort=False).ngroup()
    ended = pd.Series(rows, dtype="Int64").where(codes["end"] >= 0).groupby(outage).transform("first")
    of_row[rows] = ended.where(codes["end"] < 0).fillna(pd.Series(rows)).to_numpy(np.int64)
    rejections.reject(
        of_row != np.arange(lines.size),
        lambda row: f"the same outage as line {lines[of_row[row]]}, which has its end",
    )


def _transitions(columns: Columns, content: Content, strict: bool, folder: Path) -> FailureLog:
    """Outages between rows that say down and rows that say up."""
    rejections, mapping = columns.rejections, columns.mapping
    nodes = NodeList.of(columns, folder)
    node, system, told = _nodes_and_systems(columns, nodes)
    time = columns.instants("start", required=True)
    if columns.zone != "UTC" and columns.clocks[columns.named("start")] == {False}:
        time = in_order_of_units(time, np.asarray(node.cat.codes, dtype=np.int64), columns.zone)
    clocks = columns.one_clock()
    rejections.reject(columns.to_come(time, time), "a time in the future", columns.named("start"))
    words = columns.category("state")
    kinds = words.cat.categories.to_numpy(dtype=object)
    down, is_state = states(kinds, mapping_words(mapping.down), mapping_words(mapping.up))
    codes = words.cat.codes.to_numpy()
    shown = [*(repr(str(kind)[:_LONGEST_WORD]) for kind in kinds), "an empty cell"]
    rejections.reject(
        ~np.append(is_state, False)[codes],
        lambda row: f"{shown[codes[row]]} says neither up nor down; say it with --column down=WORD or up=WORD",
        columns.named("state"),
    )
    rejections.reject(node.isna().to_numpy(), "no node", columns.named("node"))
    _reject_repeated(columns, node, time, {})
    good = rejections.settle(strict)
    frame = pd.DataFrame({"system": system[good].to_numpy(), "node": node[good].to_numpy()})
    when = nanoseconds(time[good])
    outages = outages_between(pair_codes(frame), when, np.append(down, False)[codes][good])
    rows = np.flatnonzero(good)[outages.row]
    last = time[good].max()
    attributes = {name: values.iloc[outages.row] for name, values in columns.attributes(good).items()}
    cause, detail = columns.category("cause"), columns.category("detail")
    stamps = pd.Series(outages.end.view("datetime64[ns]")).dt.tz_localize("UTC")
    events = events_frame(
        system=system.iloc[rows],
        node=node.iloc[rows],
        start=time.iloc[rows],
        end=stamps.where(~outages.open, last),
        end_cut=outages.open,
        cause=cause.iloc[rows],
        detail=detail.iloc[rows],
        line=rejections.lines[rows],
        attributes=attributes,
    )
    everyone = events_frame(
        system=system[good],
        node=node[good],
        start=time[good],
        line=rejections.lines[good],
        attributes=columns.attributes(good),
    )
    said = [
        columns.taken,
        *clocks,
        f"{count(int(good.sum()), 'row of states is', 'rows of states are')} {count(len(events), 'outage')}; "
        f"{int(outages.open.sum())} not over at the end, "
        f"{count(outages.repeated, 'row repeats', 'rows repeat')} what was known",
        *told,
    ]
    return _log(columns, content, events, attributes, nodes, last, said, everyone)


def _log(
    columns: Columns,
    content: Content,
    events: pd.DataFrame,
    attributes: dict[str, pd.Series],
    nodes: NodeList | None,
    latest: pd.Timestamp,
    said: list[str],
    seen: pd.DataFrame,
) -> FailureLog:
    """The log of events among the records `seen`; the first note in `said` is that on the columns."""
    rejections, mapping = columns.rejections, columns.mapping
    window = declared_window(columns, Window(seen["start"].min(), latest))
    there = seen_population(seen, window, list(attributes))
    fleet = observed(columns, nodes, events, there, window)
    said = [said[0], *columns.table.notes, *filter(None, [fleet.order_note]), *said[1:]]
    if len(fleet.population) == 1 and len(events) > 1 and mapping.node_name is None:
        said.append("all records are of one node; if they are not, name the column of the node (--column node=NAME)")
    said += fleet.notes
    ahead = int((seen["start"] > pd.Timestamp.now("UTC") + pd.Timedelta("1D")).sum())
    if ahead:
        said.append(
            f"{out_of(ahead, len(seen), 'row')} of a time still to come, up to {seen['start'].max():%Y-%m-%d}: kept, "
            "as of a simulated log; if they are wrong: --observed FROM/TO"
        )
    rows_kept = int(rejections.kept.sum())
    source = source_of(content, _NAME, columns.table.rows_read, rows_kept, columns.zone, said, fleet.left_out)
    return FailureLog(fleet.events, fleet.population, fleet.window, rejections.frame(), source)


def _durations(columns: Columns, content: Content, strict: bool) -> FailureLog:
    """Durations without dates."""
    rejections, size = columns.rejections, columns.size
    length = columns.hours("duration", required=True)
    numbered = pd.Series(np.arange(1, size + 1).astype(str).astype(object))
    node = columns.category("node") if "node" in columns else numbered
    rejections.reject(node.isna().to_numpy(), "no node", columns.named("node"))
    entry = columns.hours("entry") if "entry" in columns else None
    if entry is not None:
        rejections.reject(entry >= length, "watched from an age that it did not reach", columns.named("entry"))
    observed = np.ones(size, dtype=bool)
    flag = "observed" if "observed" in columns else "censored"
    if columns.mapping.failures is not None:
        observed = columns.failing()
    elif flag in columns:
        observed, is_flag = ended(columns.table, columns.names[flag], flag)
        rejections.reject(~is_flag, NO_FLAG, columns.names[flag])
    running = None
    if "running" in columns:
        stopped, is_flag = ended(columns.table, columns.names["running"], "censored")
        rejections.reject(~is_flag & ~observed, _RUNS_OR_NOT, columns.names["running"])
        running = ~stopped & is_flag & ~observed
    good = rejections.settle(strict)
    lifetimes = lifetimes_frame(
        system=columns.category("system", columns.mapping.system_name)[good],
        node=node[good],
        duration=length[good],
        observed=observed[good],
        line=rejections.lines[good],
        entry=None if entry is None else np.nan_to_num(entry[good]),
        running=None if running is None else running[good],
        attributes=columns.attributes(good, besides=("cause",)),
    )
    # durations without dates all start at one instant, only so that they have a window
    start = instant("1970-01-01")
    longest = lifetimes.groupby(["system", "node"], observed=True, sort=False)["duration"].sum()
    end = start + pd.to_timedelta(np.minimum(longest.to_numpy(), _LATEST_HOUR), unit="h")
    population = population_frame(
        system=longest.index.get_level_values(0).astype(object),
        node=longest.index.get_level_values(1).astype(object),
        entered=pd.Series([start] * len(longest)),
        left=pd.Series(end),
    )
    nothing = pd.Series(pd.NaT, index=range(0), dtype="datetime64[ns, UTC]")
    events = events_frame(system=[], node=[], start=nothing, line=[])
    said = (
        columns.taken,
        *([] if flag in columns or columns.mapping.observed == "" or columns.mapping.failures else [UNFLAGGED]),
        *columns.questions(),
        *columns.table.notes,
    )
    source = source_of(content, _NAME, columns.table.rows_read, int(good.sum()), columns.zone, said)
    window = Window(start, population["left"].max())
    return FailureLog(events, population, window, rejections.frame(), source, lifetimes)


READER = Reader(_NAME, _recognises, of_all_files(_read), ("mapping", "nodeless", *TableMapping.model_fields))
