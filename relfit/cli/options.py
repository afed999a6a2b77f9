"""The options of the commands, each declared once: groups that commands share, and what they amount to."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

import relfit as rf
from relfit.base.errors import ArgumentError, ReadError

__all__ = [
    "FAMILIES",
    "Alpha",
    "At",
    "Families",
    "Level",
    "Out",
    "Output",
    "PartReading",
    "PeriodReading",
    "Reading",
    "Seed",
    "at_of",
    "check_unit",
    "choice",
    "duration",
    "family_names",
    "flag",
    "grouped",
    "mean_time",
    "option",
    "pairs",
    "probability",
    "without_effect",
]

FAMILIES = "exponential,weibull,gamma,lognormal"
_OF_A_FILE = (
    "format", "column", "mapping", "timezone", "nodeless", "observed", "population", "failures", "unit", "rules",
    "year", "ends", "max_size",
)  # fmt: skip
_SETTINGS = ("path", "format", "strict", "timezone", "mapping", "nodeless")


def option(metavar: str, help: str, **more: Any) -> Any:
    """An option named after its parameter, whose value shows as `metavar` in the help."""
    return typer.Option(metavar=metavar, help=help, **more)


def flag(name: str, help: str) -> Any:
    """A switch of this name, without one that turns it off."""
    return typer.Option(name, help=help)


Families = Annotated[
    str, typer.Option("--families", metavar="A,B", help="Distributions to fit; core for four, all for every one.")
]
Level = Annotated[float, typer.Option("--level", metavar="P", help="Level of the intervals, between 0 and 1.")]
Alpha = Annotated[float, typer.Option("--alpha", metavar="P", help="Size of the tests, between 0 and 1.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Random seed.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write a table too: .csv, .parquet or .json by its ending."),
]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Which log to read, how, and which part of it to take."""

    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG",
            help="A failure log, a folder or pattern of them, or a name: white, or a log that relfit fetch got.",
        ),
    ]
    format: Annotated[str | None, option("NAME", "lanl, syslog, sacct, backblaze, ...; detected by default.")] = None
    column: Annotated[list[str] | None, option("FIELD=NAME", "Column of a table, as node=hostname. Repeatable.")] = None
    mapping: Annotated[Path | None, option("FILE.toml", "Columns, formats and units of a table.")] = None
    timezone: Annotated[str | None, option("ZONE", "Zone of times that name none, as America/Denver.")] = None
    nodeless: Annotated[
        str | None, option("WHAT", "Records without a node and a scope: count as system, node, or ignore.")
    ] = None
    observed: Annotated[str | None, option("FROM/TO", "Observation window of a table.")] = None
    population: Annotated[Path | None, option("FILE", "All nodes, failed or not, and when each entered and left.")] = (
        None
    )
    failures: Annotated[str | None, option("COLUMN=A,B", "Rows of a table that are failures: Level=ERROR,FATAL.")] = (
        None
    )
    unit: Annotated[str | None, option("UNIT", "Unit of durations that are plain numbers: minutes, days.")] = None
    rules: Annotated[Path | None, option("FILE.toml", "What counts as a failure in a raw log.")] = None
    year: Annotated[int | None, option("YEAR", "Year of the first line, where times have none.")] = None
    ends: Annotated[str | None, option("node|job", "What a failure in a system log ends; node by default.")] = None
    max_size: Annotated[str | None, option("SIZE", "Largest size of the input, as 32GB.")] = None
    strict: Annotated[bool, flag("--strict", "Stop at a row that cannot be used.")] = False
    where: Annotated[
        list[str] | None,
        option(
            "COLUMN=VALUE",
            "Take only this part, as system=20. Repeatable: one column twice means either value; "
            "an empty value means missing.",
        ),
    ] = None
    since: Annotated[str | None, option("DATE", "Observe from here on.")] = None
    until: Annotated[str | None, option("DATE", "Observe up to here.")] = None

    @property
    def cut(self) -> bool:
        """Whether the user has cut the log in time."""
        return self.since is not None or self.until is not None

    def read(self) -> rf.FailureLog:
        """The selected part of the log.

        Raises
        ------
        ReadError
            When there is neither such a file nor such a sample.
        """
        conditions = pairs("--where", self.where)
        columns = self._columns()
        if Path(self.log).exists() or any(sign in self.log for sign in "*?["):
            log = rf.read(
                self.log, self.format, strict=self.strict, timezone=self.timezone, nodeless=self.nodeless,
                mapping=self.mapping, max_size=self.max_size, **columns,
            )  # fmt: skip
        else:
            log = self._sample()
        selected = {column: [value or None for value in values] for column, values in conditions.items()}
        return log.where(selected).between(self.since, self.until)

    @property
    def is_named(self) -> bool:
        """Whether the log is a bundled sample, or a public data set that was fetched."""
        return self.log in list(rf.datasets.listing()["name"]) or rf.datasets.is_fetched(self.log)

    def _columns(self) -> dict[str, Any]:
        """Settings from ``--column``; whatever can be wrong without the log is noticed here, before it is read."""
        from relfit.base.units import instant
        from relfit.io.frames import NODELESS

        for date in (self.since or "2000", self.until or "2000"):
            instant(date, self.timezone or "UTC")
        if self.nodeless is not None:
            choice("--nodeless", self.nodeless, NODELESS)
        columns = pairs("--column", self.column)
        for name, values in columns.items():
            if len(values) > 1:
                raise ArgumentError(f"--column names {name} twice")
            if name in _SETTINGS:
                raise ArgumentError(f"--column {name}=... is no column", remedy=f"write --{name}")
        settings: dict[str, Any] = {name: values[0] for name, values in columns.items()}
        if self.observed is not None:
            since, sign, until = (text.strip() for text in self.observed.partition("/"))
            if not sign or not (since or until):
                raise ArgumentError(f"--observed {self.observed!r} is no time", remedy="write 2003-04-01/2004-10-01")
            settings |= {f"window_{end}": text for end, text in (("start", since), ("end", until)) if text}
        said = {"population": self.population, "failures": self.failures, "duration_unit": self.unit,
                "rules": self.rules, "year": self.year, "ends": self.ends}  # fmt: skip
        return settings | {name: value for name, value in said.items() if value is not None}

    def _sample(self) -> rf.FailureLog:
        fetched = rf.datasets.is_fetched(self.log)
        if self.log in rf.datasets.public() and not fetched:
            raise ReadError("no such file", path=self.log, remedy=f"get it first with: relfit fetch {self.log}")
        if rf.datasets.lists_jobs(self.log):
            raise ArgumentError(f"{self.log} is a list of jobs, no failure log", remedy="see relfit simulate batch")
        if not self.is_named:
            names = rf.datasets.listing()["name"]
            raise ReadError(
                "no such file", path=self.log, remedy=f"give a file or a bundled sample ({', '.join(names)})"
            )
        for option in _OF_A_FILE:
            if getattr(self, option):
                raise ArgumentError(
                    f"--{option.replace('_', '-')} does not go with a data set that is named, {self.log}"
                )
        if fetched:
            return rf.datasets.fetch(self.log)
        return rf.datasets.load(self.log)


def at_of(at: str) -> str:
    """What ``--at`` says, as `relfit.fleet_model` takes it."""
    return choice("--at", at, ("now", "long-run")).replace("-", " ")


At = Annotated[str, option("now|long-run", "The fleet as it is now, or in the long run.")]


@dataclass(frozen=True, kw_only=True)
class PartReading(Reading):
    """A log of which one period is used."""

    period: Annotated[str | None, option("stable|all|FROM/TO", "Part of the log used; stable by default.")] = None

    def span(self, otherwise: str = "stable") -> str | tuple[str, str]:
        """What ``--period`` asks for, as `relfit.fleet_model` takes it.

        Examples
        --------
        >>> PeriodReading(log="white").span(), PeriodReading(log="white", since="2003").span()
        ('stable', 'all')
        >>> PeriodReading(log="white", period="2003-04-01/2004-10-01").span()
        ('2003-04-01', '2004-10-01')
        """
        if self.period is None:
            return "all" if self.cut else otherwise
        since, sign, until = (text.strip() for text in self.period.partition("/"))
        if sign and since and until:
            return since, until
        return choice("--period", self.period, ("stable", "all", "FROM/TO") if sign else ("stable", "all"))

    def study(self, log: rf.FailureLog, otherwise: str = "stable", **options: Any) -> rf.Study:
        """The study of a log: of the period that ``--period`` asks for, else the stable one, or what a command says."""
        return rf.Study(log, self.span(otherwise), **options)


@dataclass(frozen=True, kw_only=True)
class PeriodReading(PartReading):
    """A log of which times to failure in one period are used."""

    first: Annotated[
        str, option("known|always|never", "Time before a first failure: by its age, from age 0, or omitted.")
    ] = "known"

    def __post_init__(self) -> None:
        choice("--first", self.first, ("known", "always", "never"))

    def study(self, log: rf.FailureLog, otherwise: str = "stable", **options: Any) -> rf.Study:
        """As of `PartReading`, with the times before first failures that are asked for."""
        return super().study(log, otherwise, first=self.first, **options)


Details = Annotated[bool, flag("--details", "Print details and tables, too.")]


@dataclass(frozen=True, kw_only=True)
class Output:
    """How to show what was computed."""

    json: Annotated[bool, flag("--json", "Print one JSON document and nothing else.")] = False
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="PLACE", help="Write a table (.csv, .parquet, .json), or all to a folder."),
    ] = None
    plot: Annotated[
        Path | None,
        option("PLACE", "Draw the figures: on one sheet (.png, .svg, .pdf) or each into a folder."),
    ] = None


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of the dataclasses among its parameters.

    A parameter of a dataclass type stands for the fields of that class, each an option of its own on the command line;
    the command gets the filled-in instance.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if not is_dataclass(hints[name]):
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name]))
            continue
        groups[name] = hints[name]
        own = get_type_hints(hints[name], include_extras=True)
        for field in fields(hints[name]):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            parameters.append(
                inspect.Parameter(
                    field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=own[field.name]
                )
            )

    times = [parameter.name for parameter in parameters if _metavar(parameter.annotation) == "TIME"]

    @functools.wraps(command)
    def run(**values: Any) -> None:
        for name in times:
            check_unit(f"--{name.replace('_', '-')}", values[name])
        for name, kind in groups.items():
            values[name] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        command(**values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _metavar(annotation: object) -> str | None:
    """Of the option that a parameter is."""
    return next((m.metavar for m in getattr(annotation, "__metadata__", ()) if hasattr(m, "metavar")), None)


def check_unit(option: str, value: str | list[str] | None) -> None:
    """Reject a time above zero that does not say its unit.

    Examples
    --------
    >>> check_unit("--save", "5min")
    >>> check_unit("--save", "5")
    Traceback (most recent call last):
    relfit.base.errors.ArgumentError: --save 5 does not say its unit; write 5min, 5h or 5days
    """
    for text in [value] if isinstance(value, str) else value or ():
        number = text.strip()
        try:
            bare = 0.0 < abs(float(number)) < float("inf")
        except ValueError:
            bare = False
        if bare:
            raise ArgumentError(
                f"{option} {number} does not say its unit", remedy=f"write {number}min, {number}h or {number}days"
            )


def without_effect(options: Mapping[str, object], needs: str, there: bool) -> None:
    """Reject options that do nothing without another one.

    Parameters
    ----------
    options : dict
        Their values by name; None and False are not given.
    needs : str
        What they go with, for the message.
    there : bool
        Whether that is there.

    Examples
    --------
    >>> without_effect({"--kind": "wald"}, "--interval", False)
    Traceback (most recent call last):
    relfit.base.errors.ArgumentError: --kind has no effect here: it goes with --interval; add that, or leave it out
    """
    for name, value in options.items():
        if value not in (None, False) and not there:
            remedy = "add that, or leave it out" if not needs.startswith("no ") else "leave one of them out"
            raise ArgumentError(f"{name} has no effect here: it goes with {needs}", remedy=remedy)


def pairs(option: str, texts: list[str] | None) -> dict[str, list[str]]:
    """Values by name from texts such as ``name=value``.

    Examples
    --------
    >>> pairs("--where", ["system=2", "system=20", "cause=a=b"])
    {'system': ['2', '20'], 'cause': ['a=b']}
    """
    values: dict[str, list[str]] = {}
    for text in texts or ():
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise ArgumentError(f"{option} {text!r} has no '='", remedy=f"write {option} NAME=VALUE")
        values.setdefault(name.strip(), []).append(value.strip())
    return values


def family_names(text: str) -> list[str]:
    """Names of families from a list with commas, checked.

    Examples
    --------
    >>> family_names("weibull, gamma")
    ['weibull', 'gamma']
    """
    from relfit.fitting import families

    sets = {"core": list(families.CORE), "all": list(families.FAMILIES)}
    parts = [part.strip() for part in text.split(",") if part.strip()]
    names = [name for part in parts for name in sets.get(part.lower()) or [families.family_named(part).name]]
    if not names:
        raise ArgumentError("--families is empty", remedy=f"write --families {FAMILIES}")
    return list(dict.fromkeys(names))


def probability(option: str, value: float) -> float:
    """`value` if it lies strictly between 0 and 1.

    Examples
    --------
    >>> probability("--alpha", 0.01)
    0.01
    """
    if not 0.0 < value < 1.0:
        usual = "0.05" if option == "--alpha" else "0.95"
        hint = f"did you mean {value / 100:g}?" if 2.0 <= value < 100.0 else f"use {usual} or the like"
        raise ArgumentError(f"{option} {value:g} is not between 0 and 1", remedy=hint)
    return value


def duration(option: str, text: str, *, positive: bool = False) -> float:
    """Hours from a duration, at or above zero.

    Examples
    --------
    >>> duration("--restart", "90min")
    1.5
    """
    from relfit.base.units import hours

    try:
        value = hours(text)
    except ArgumentError:
        value = float("nan")
    if not 0.0 <= value < float("inf"):
        raise ArgumentError(f"{option} {text!r} is no duration", remedy="write 30min, 24h or 5days")
    if positive and value == 0.0:
        raise ArgumentError(f"{option} {text!r} is nothing", remedy="give a time above zero, as 20h")
    return value


def mean_time(option: str, text: str) -> str:
    """A mean time as `relfit.base.units.hours` takes it, from one or from a failure rate.

    Examples
    --------
    >>> mean_time("--mtbf", "2%AFR"), mean_time("--mtbf", "20000h")
    ('438300.0h', '20000h')
    """
    from relfit.base import units

    try:
        value = units.mean_time(text)
    except ArgumentError:
        remedy = "write 20000h, 2%AFR or 500FIT"
        raise ArgumentError(f"{option} {text!r} is neither a mean time nor a failure rate", remedy=remedy) from None
    return f"{value!r}h" if text.strip()[-1:] in "RrTt" else text


def choice(option: str, value: str, known: tuple[str, ...]) -> str:
    """`value` if it is one of those known."""
    if value not in known:
        raise ArgumentError(f"{option} {value!r} is not known", remedy=f"use {', '.join(known[:-1])} or {known[-1]}")
    return value
