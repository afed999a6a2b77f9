"""The options of the commands, each declared once: groups that commands share, and what they amount to."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

import relfit as rf
from relfit.base.errors import ArgumentError, ReadError
from relfit.base.text import out_of
from relfit.cli import option_values as checked

FAMILIES = "exponential,weibull,gamma,lognormal"
_SHARES = ("alpha", "level", "service")
_SETTINGS = ("path", "format", "strict", "timezone", "mapping", "nodeless")


def option(metavar: str, help: str, default: object = None, **more: Any) -> Any:
    """An option named after its parameter or field, whose value shows as `metavar` in the help."""
    return field(default=default, metadata={"option": typer.Option(metavar=metavar, help=help, **more)})


def flag(name: str, help: str, default: bool | None = False) -> Any:
    """A switch of this name, without one that turns it off."""
    return field(default=default, metadata={"option": typer.Option(name, help=help)})


def out(metavar: str, help: str, default: object = None, *, parser: Callable[[str], Path] | None = None) -> Any:
    """The option ``--out``, or ``-o``."""
    place = typer.Option("--out", "-o", metavar=metavar, help=help, parser=parser)
    return field(default=default, metadata={"option": place})


def argument(metavar: str, help: str) -> Any:
    """A word of the command by its place."""
    return field(default=None, metadata={"option": typer.Argument(metavar=metavar, help=help)})


Families = Annotated[str, option("A,B", "Distributions to fit; core for four, all for every one.")]
Level = Annotated[float, option("P", "Level of the intervals, between 0 and 1.")]
Alpha = Annotated[float, option("P", "Significance level of the tests, between 0 and 1.")]
Seed = Annotated[int, option("N", "Random seed.", min=0)]
Out = Annotated[Path | None, out("FILE", "Write a table too: .csv, .parquet or .json by its ending.")]
Json = Annotated[bool, flag("--json", "Print one JSON document and nothing else.")]
Group = Annotated[str | None, option("COLUMN", "Column with the location of nodes; rack and the like by default.")]
Service = Annotated[float, option("P", "Probability that the stock of parts lasts.")]
Window = Annotated[str | None, option("TIME", "Join records closer than this, such as 30min; estimated by default.")]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Which log to read, how, and which part of it to take."""

    log: Annotated[
        str,
        argument("LOG", "A failure log, a folder or pattern of logs, or a name: white, or a log from relfit fetch."),
    ]
    format: str | None = option("NAME", "lanl, syslog, sacct, backblaze, ...; detected by default.")
    column: list[str] | None = option("FIELD=NAME", "Column of a table, such as node=hostname. Repeatable.")
    mapping: Path | None = option("FILE.toml", "Columns, formats and units of a table.")
    timezone: str | None = option("ZONE", "Time zone of times without one, such as America/Denver.")
    nodeless: str | None = option("WHAT", "Records without node and scope: count as system or node, or ignore.")
    observed: str | None = option("FROM/TO", "Observation window; TO is excluded.")
    population: Path | None = option("FILE", "All nodes, failed or not, and when each entered and left.")
    n_nodes: int | None = option("N", "Number of all nodes, where no table lists them.", min=1)
    failures: str | None = option("COLUMN=A,B", "Rows of a table that are failures: Level=ERROR,FATAL.")
    unit: str | None = option("UNIT", "Unit of durations that are plain numbers: minutes, days.")
    rules: Path | None = option("FILE.toml", "What counts as a failure in a raw log.")
    year: int | None = option("YEAR", "Year of the first line, where times have none.")
    ends: str | None = option("node|job", "What a failure in a system log stops; node by default.")
    max_size: str | None = option("SIZE", "Largest size of the input, such as 32GB.")
    strict: bool = flag("--strict", "Stop at the first row that cannot be used.")
    where: list[str] | None = option(
        "COLUMN=VALUE",
        "Take only this part, such as system=20, or all but this: cause!=network. Repeatable: one column twice "
        "means either value, or neither; an empty value means missing.",
    )
    since: str | None = option("DATE", "Observe from here on.")
    until: str | None = option("DATE", "Observe up to here.")

    @property
    def cut(self) -> bool:
        """Whether the user has cut the log in time."""
        return self.since is not None or self.until is not None

    def read(self, *, tell: bool = True) -> rf.FailureLog:
        """The selected part of the log; stderr says which rows and events of the files are not in it, if `tell`."""
        selected, excluded = checked.conditions("--where", self.where)
        columns = self._columns()
        if Path(self.log).exists() or any(sign in self.log for sign in "*?["):
            how = ("strict", "timezone", "nodeless", "mapping", "max_size")
            log = rf.read(self.log, self.format, **{name: getattr(self, name) for name in how}, **columns)
        else:
            log = self._sample()
        missing = [omissions(log), *([] if self.cut else log.source.unobserved)]
        if tell and any(missing):
            print(f"relfit: {'; '.join(filter(None, missing))}; see relfit info", file=sys.stderr)
        return log.where(selected).without(excluded).between(self.since, self.until)

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
            checked.choice("--nodeless", self.nodeless, NODELESS)
        columns = checked.pairs("--column", self.column)
        for name, values in columns.items():
            if len(values) > 1:
                raise ArgumentError(f"--column names {name} twice")
            if name in _SETTINGS:
                raise ArgumentError(f"--column {name}=...: {name} is an option, not a column", remedy=f"write --{name}")
        settings: dict[str, Any] = {name: values[0] for name, values in columns.items()}
        settings |= checked.window(self.observed)
        names = ("population", "n_nodes", "failures", "rules", "year", "ends")
        said = {name: getattr(self, name) for name in names} | {"duration_unit": self.unit}
        return settings | {name: value for name, value in said.items() if value is not None}

    def _sample(self) -> rf.FailureLog:
        fetched = rf.datasets.is_fetched(self.log)
        if self.log in rf.datasets.public() and not fetched:
            raise ReadError("no such file", path=self.log, remedy=f"get it first with: relfit fetch {self.log}")
        if rf.datasets.lists_jobs(self.log):
            raise ArgumentError(f"{self.log} is a list of jobs, not a failure log", remedy="see relfit simulate batch")
        if not self.is_named:
            remedy = f"give a file or a bundled sample ({', '.join(rf.datasets.listing()['name'])})"
            raise ReadError("no such file", path=self.log, remedy=remedy)
        checked.none_of(checked.named(self, OF_A_FILE), f"a data set that is named, {self.log}")
        return rf.datasets.fetch(self.log) if fetched else rf.datasets.load(self.log)


OF_A_FILE = [one.name for one in fields(Reading) if one.name not in ("log", "strict", "where", "since", "until")]


def omissions(log: rf.FailureLog) -> str:
    """Which rows and events of its files are not in a log, and why, but for those not selected; empty if all are."""
    rejected, rows = len(log.rejected), log.source.rows_read
    were = [f"{out_of(rejected, rows, 'row', 'was', 'were')} rejected"] if rejected else []
    return "; ".join([*were, *log.source.not_read])


def end_as_seen(log: rf.FailureLog) -> list[str]:
    """What the end of observation was taken for, where nobody said it."""
    if log.window.end_known or log.lifetimes is not None or not len(log):
        return []
    last = f"Observation is taken to end with the last record, {log.window.end:%Y-%m-%d %H:%M}"
    return [f"{last}: if it went on without one, --until DATE says to when, and rates now are lower."]


def at_of(at: str) -> str:
    """What ``--at`` says, as `relfit.fleet_model` takes it."""
    return checked.choice("--at", at, ("now", "long-run")).replace("-", " ")


At = Annotated[str, option("now|long-run", "The fleet as it is now, or in the long run.")]


@dataclass(frozen=True, kw_only=True)
class PartReading(Reading):
    """A log of which one period is used."""

    period: str | None = option(
        "stable|all|FROM/TO", "Part of the log used; stable by default, all for backtest and forecast."
    )

    def span(self, otherwise: str = "stable") -> str | tuple[str, str]:
        """What ``--period`` asks for, as `relfit.fleet_model` takes it."""
        if self.period is None:
            return "all" if self.cut else otherwise
        since, sign, until = (text.strip() for text in self.period.partition("/"))
        if sign and since and until:
            return since, until
        return checked.choice("--period", self.period, ("stable", "all", "FROM/TO"))

    def study(self, log: rf.FailureLog, otherwise: str = "stable", **options: Any) -> rf.Study:
        """The study of a log: of the period that ``--period`` asks for, else the stable one, or what a command says."""
        return rf.Study(log, self.span(otherwise), **options)


@dataclass(frozen=True, kw_only=True)
class PastReading(PartReading):
    """A log of which all is used by default: predictions of now weigh its past themselves."""

    period: str | None = option(
        "stable|all|FROM/TO", "Part of the log used: all by default, the stable one for long-run rates."
    )


@dataclass(frozen=True, kw_only=True)
class PeriodReading(PartReading):
    """A log of which times to failure in one period are used."""

    first: str = option(
        "known|always|never",
        "Time before a first failure: from the node's age if known, from age 0, or omitted.",
        "known",
    )

    def __post_init__(self) -> None:
        checked.choice("--first", self.first, ("known", "always", "never"))

    def study(self, log: rf.FailureLog, otherwise: str = "stable", **options: Any) -> rf.Study:
        """As of `PartReading`, with the times before first failures that are asked for."""
        return super().study(log, otherwise, first=self.first, **options)


Details = Annotated[bool, flag("--details", "Print details and tables, too.")]


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command with its options: a parameter of a dataclass type stands for its fields, each an option of its own."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        kind, default = hints[name], parameter.default
        if is_dataclass(kind):
            groups[name], own = hints[name], get_type_hints(kind, include_extras=True)
            parameters += [_parameter(one.name, own[one.name], one) for one in fields(kind)]
        else:
            parameters.append(_parameter(name, kind, default if isinstance(default, Field) else field(default=default)))
    times = [one.name for one in parameters if one.annotation.__metadata__[-1].metavar == "TIME"]
    # a level that may be None is checked with the settings that have it otherwise
    shares = [one.name for one in parameters if one.name in _SHARES and one.annotation.__origin__ is float]

    @functools.wraps(command)
    def run(**values: Any) -> None:
        for name in times:
            checked.check_time(f"--{name.replace('_', '-')}", values[name])
        for name in shares:
            checked.probability(f"--{name}", values[name])
        for name, kind in groups.items():
            values[name] = kind(**{one.name: values.pop(one.name) for one in fields(kind)})
        command(**values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameter(name: str, kind: Any, declared: Field[object]) -> inspect.Parameter:
    """A parameter as typer takes it, with the option that its default or its annotation declares."""
    options = (one.metadata.get("option") for one in (declared, *getattr(kind, "__metadata__", ())))
    annotation = Annotated[kind, next(filter(None, options))]
    default = inspect.Parameter.empty if declared.default is MISSING else declared.default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
