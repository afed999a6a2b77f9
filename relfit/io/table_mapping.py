"""`TableMapping`: the columns of a table by field, set by the user or known by name, and how values are written."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, ValidationError

from relfit.base.errors import ArgumentError, Remedy
from relfit.io.parsing.rows import cell_text
from relfit.io.parsing.settings import read_settings
from relfit.io.parsing.times import are_times

WINDOW = "the window observed is window_start and window_end"
COMMON_NAMES: dict[str, tuple[str, ...]] = {
    "node": (
        *("node", "node_id", "nodename", "node_name", "host", "hostname", "server", "machine", "device", "gpu"),
        *("serial", "serial_number", "sn", "uuid", "unit", "unit_id", "configuration_item", "cmdb_ci", "affected_ci"),
        *("asset", "asset_id", "asset_tag"),
    ),
    "start": (
        *("start", "started", "start_time", "begin", "failed_at", "failure_time", "down_at", "down_since"),
        *("outage_start", "time", "timestamp", "date", "down", "opened", "opened_at", "open", "created", "created_at"),
        *("reported", "reported_at", "detected", "detected_at", "failed_on", "failure_date", "fail_date"),
        *("date_failed", "date_of_failure", "died_at", "died_on", "death_date", "went_down", "went_down_at"),
    ),
    "end": (
        *("end", "ended", "end_time", "fixed", "repaired", "repaired_at", "up_at", "up_again", "outage_end"),
        *("recovered", "up", "restored", "restored_at", "resolved", "resolved_at", "closed", "closed_at"),
        *("back_in_service", "back_in_service_at", "back_up", "back_up_at"),
    ),
    "duration": ("duration", "downtime", "down_time", "ttr", "ttf", "life", "lifetime", "hours"),
    "system": ("system", "cluster", "machine_name", "site"),
    "cause": ("cause", "reason", "root_cause", "category", "component"),
    "detail": ("detail", "details", "description", "message"),
    "scope": ("scope",),
    "observed": ("observed", "failed", "event", "failure"),
    "censored": ("censored", "suspended"),
    "entry": ("entry", "entry_time", "left_truncation", "age_at_entry"),
    "state": ("state", "status", "event_type", "transition", "event"),
}
SINGLE_NAMES = tuple(name for names in COMMON_NAMES.values() for name in names)

_AMBIGUOUS = {
    *("down", "opened", "opened_at", "open", "created", "created_at", "reported", "reported_at"),
    *("detected", "detected_at", "back_in_service", "back_in_service_at", "back_up", "went_down"),
    *("up", "restored", "restored_at", "resolved", "resolved_at", "closed", "closed_at"),
}
"""Names of times that may also be those of states, flags or numbers: the values decide."""
_LIVES = re.compile("(ttf|life|lifetime|time_to_failure|hours)(_.*)?")
_DECIMAL = re.compile(r"-?\d+(,\d+)?|-?[1-9]\d{0,2}(\.\d{3})+,\d+")
_LOOKED_AT = 1000  # rows
OF_INTERVALS = "only Python reads intervals: rf.LifeData.from_intervals(table['lower'], table['upper'])"
_REMEDIES = {"int": "give a whole number, as 128", "bool": "give true or false", "literal": "give one of these"}


class TableMapping(BaseModel):
    r"""The columns of a table by field, and how its times and durations are written.

    The same keys are options of `relfit.read` and entries of a TOML file.

    Attributes
    ----------
    node, start, end, duration, system, cause, detail, scope, observed, censored, entry, running, state, rack : str
        Names of columns; `node` may be several, as in ``"rack+slot"``, whose values make one name, and so may `start`
        and `end`, as in ``"Date+Time"``. `observed` is true where a lifetime ended, `censored` where it did not;
        `entry` is the age from which a lifetime was observed (left truncation), in the unit of the durations; `running`
        is true where the unit still runs (by default where it did not fail). `state`
        says that a node is up or down from `start` on, and pairs of rows make outages. An empty name leaves out a
        column that would be recognised by its name. Every other column becomes an attribute.
    down, up : str
        Further words of `state` for down and up, separated by commas.
    pattern : str
        For lines of text that are no table: a regular expression (RE2) whose named groups are the columns, as
        ``(?P<start>\S+ \S+) (?P<node>\S+) (?P<cause>.*)``.
    failures : str
        Which rows are failures, as ``"Level=ERROR,FATAL"``; the others only show that their nodes were there.
    system_name, node_name : str
        Name of the system, by default ``"system"``, and of the only node, where no column has it.
    time_format : str
        ``"unix"``, ``"unix_ms"``, or codes such as ``"%d.%m.%Y %H:%M"``; detected by default.
    timezone : str
        Zone of times without one; UTC by default.
    day_first : bool
        Whether 02/03/2024 is the second of March; detected by default, an error where the dates do not tell.
    decimal : {".", ","}
        The decimal separator of durations. With a comma, points before it separate thousands, as in 1.234,5.
    time_origin, time_unit : str
        Times are numbers since this instant, in this unit.
    duration_unit : str
        Unit of durations without one; by default that in the name of their column, as ``"Outage (min)"``, else hours.
    window_start, window_end : str
        Start and end of observation; by default the first and the last time in the table.
    n_nodes : int
        Number of nodes of all files together, where no table lists them; nodes that no record names are added.
    population : str
        A table (a file or a DataFrame) with one row per node: node, system, entered, left, and attributes.
    entered, left : str
        Its columns of the time from which, and up to which, a node was in service; usual names are recognised. Without
        a list, those of a table with one row per unit, whose flag `observed` says which failed: it is read as lives.
    """

    model_config = ConfigDict(extra="forbid")

    node: str | None = None
    start: str | None = None
    end: str | None = None
    duration: str | None = None
    system: str | None = None
    cause: str | None = None
    detail: str | None = None
    scope: str | None = None
    observed: str | None = None
    censored: str | None = None
    entry: str | None = None
    running: str | None = None
    state: str | None = None
    down: str | None = None
    up: str | None = None
    pattern: str | None = None
    failures: str | None = None
    rack: str | None = None
    system_name: str = "system"
    node_name: str | None = None
    time_format: str | None = None
    timezone: str | None = None
    day_first: bool | None = None
    decimal: Literal[".", ","] = "."
    time_origin: Any = None
    time_unit: str | None = None
    duration_unit: str = "hours"
    window_start: Any = None
    window_end: Any = None
    n_nodes: int | None = None
    population: Any = None
    entered: str | None = None
    left: str | None = None


def mapping_of(source: str | Path | Mapping[str, object] | None, options: dict[str, object]) -> TableMapping:
    """The mapping from a TOML file or its content; `options` take precedence."""
    settings: Mapping[str, Any] = {}
    place: Path | None = None
    if not isinstance(source, (str, Path, Mapping, type(None))):
        raise ArgumentError(f"mapping {source!r} is neither a file nor a dictionary", remedy="name a TOML file")
    if isinstance(source, Mapping):
        settings = source
    elif source is not None:
        place = Path(source)
        settings = read_settings(place, "toml", "the columns of a table", 'write lines such as node = "hostname"')
    try:
        mapping = TableMapping(**{**settings, **options})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        if first["type"] == "extra_forbidden":
            near = get_close_matches(name, TableMapping.model_fields, n=1)
            remedy = f"did you mean {near[0]}?" if near else f"use {', '.join(TableMapping.model_fields)}"
            remedy = OF_INTERVALS if name in ("lower", "upper") else remedy
            raise ArgumentError(f"unknown option {name!r} for a table", path=place, remedy=remedy) from None
        columns = (*COMMON_NAMES, "rack", "running", "entered", "left")
        of_column = "give the name of a column" if name in columns else "give text"
        remedy = _REMEDIES.get(first["type"].partition("_")[0], of_column)
        remedy += f"; {WINDOW}" if name == "observed" else ""
        raise ArgumentError(f"option {name!r}: {first['msg']}", path=place, remedy=remedy) from None
    of_units = mapping.entered and (mapping.observed or mapping.censored or mapping.start or mapping.failures)
    if mapping.population is None and (mapping.entered or mapping.left) and not of_units:
        raise ArgumentError(
            "entered and left are columns of a list of nodes, and there is none",
            path=place,
            remedy=Remedy(
                "give population, a table of the nodes; in a table of units name start, the time of a failure, or "
                "observed, a flag of failures, too, or failures",
                "give --population, a table of the nodes; in a table of units name --column start=NAME, the time of a "
                "failure, or --column observed=NAME, a flag of failures, too, or --failures COLUMN=WORD",
            ),
        )
    if mapping.time_origin is not None and mapping.time_unit is None:
        raise ArgumentError(
            "times are numbers since an instant, and nothing says whether they are seconds, hours or days",
            path=place,
            remedy=Remedy('add time_unit="days", or whatever they are in', "add --column time_unit=days, or its unit"),
        )
    if mapping.failures is not None and "=" not in mapping.failures.strip("="):
        raise ArgumentError(
            f"failures {mapping.failures!r} names no column and value",
            path=place,
            remedy=Remedy('write failures="Level=ERROR,FATAL"', "write --failures Level=ERROR,FATAL"),
        )
    return mapping


def without_false_times(columns: Mapping[str, pa.ChunkedArray], mapping: TableMapping) -> list[str]:
    """The names of columns without those as ``up`` or ``created`` that hold no times, or stand beside lifetimes."""
    lives = any(_LIVES.fullmatch(plain(name)) for name in columns) or (mapping.duration and not mapping.start)
    return [
        name
        for name, values in columns.items()
        if plain(name) not in _AMBIGUOUS or (not lives and _are_times(values, mapping))
    ]


def dates_as_starts(
    fields: Mapping[str, Sequence[str]], columns: Mapping[str, pa.ChunkedArray], mapping: TableMapping
) -> dict[str, Sequence[str]]:
    """The names of each field, where columns such as ``Failed`` that hold dates are starts and no flags."""
    flags = COMMON_NAMES["observed"]
    dates = [plain(name) for name, values in columns.items() if plain(name) in flags and _are_times(values, mapping)]
    return {
        field: (*names, *dates) if field == "start" else tuple(name for name in names if name not in dates)
        for field, names in fields.items()
    }


def with_decimal_of(column: pa.ChunkedArray | None, mapping: TableMapping) -> TableMapping:
    """The mapping with a decimal comma where the first durations show it and it names none: 58,1 has no thousands."""
    if column is None:
        return mapping
    texts = [text for text in map(cell_text, column.slice(0, _LOOKED_AT).drop_null()) if text]
    comma = all(map(_DECIMAL.fullmatch, texts)) and any(len(text.partition(",")[2]) not in (0, 3) for text in texts)
    shown = comma and "decimal" not in mapping.model_fields_set
    return mapping.model_copy(update={"decimal": ","}) if shown else mapping


def _are_times(values: pa.ChunkedArray, mapping: TableMapping) -> bool:
    """Whether most of the first values are times; numbers are not where numbers could be times."""
    form = mapping.time_format
    if mapping.time_origin is not None or (form or "").startswith("unix"):
        return False
    return are_times(values, form, mapping.day_first)


def plain(name: str) -> str:
    """The name of a column in small letters, with underscores."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def guessed(
    header: Sequence[str], candidates: Mapping[str, Sequence[str]], taken: Collection[str] = ()
) -> dict[str, str]:
    """For each field the first column with one of its names that no other field uses."""
    by_lower = {plain(name): name for name in reversed(header)}
    names: dict[str, str] = {}
    for field, wanted in candidates.items():
        free = [by_lower[name] for name in wanted if name in by_lower]
        hit = next((name for name in free if name not in (*taken, *names.values())), None)
        if hit is not None:
            names[field] = hit
    return names
