"""The options of the commands, each declared once: groups that commands share, and what they amount to."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

import relfit as rf
from relfit.base.errors import ArgumentError, ReadError
from relfit.cli import option_values as checked

FAMILIES = "exponential,weibull,gamma,lognormal"
_SETTINGS = ("path", "format", "strict", "timezone", "mapping", "nodeless")


def option(metavar: str, help: str, **more: Any) -> Any:
    """An option named after its parameter, whose value shows as `metavar` in the help."""
    return typer.Option(metavar=metavar, help=help, **more)


def flag(name: str, help: str) -> Any:
    """A switch of this name, without one that turns it off."""
    return typer.Option(name, help=help)


def out(metavar: str, help: str, *, parser: Callable[[str], Path] | None = None) -> Any:
    """The option ``--out``, or ``-o``."""
    return typer.Option("--out", "-o", metavar=metavar, help=help, parser=parser)


Families = Annotated[
    str, typer.Option("--families", metavar="A,B", help="Distributions to fit; core for four, all for every one.")
]
Level = Annotated[float, typer.Option("--level", metavar="P", help="Level of the intervals, between 0 and 1.")]
Alpha = Annotated[float, typer.Option("--alpha", metavar="P", help="Significance level of the tests, between 0 and 1.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Random seed.")]
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
        typer.Argument(
            metavar="LOG",
            help="A failure log, a folder or pattern of logs, or a name: white, or a log from relfit fetch.",
        ),
    ]
    format: Annotated[str | None, option("NAME", "lanl, syslog, sacct, backblaze, ...; detected by default.")] = None
    column: Annotated[
        list[str] | None, option("FIELD=NAME", "Column of a table, such as node=hostname. Repeatable.")
    ] = None
    mapping: Annotated[Path | None, option("FILE.toml", "Columns, formats and units of a table.")] = None
    timezone: Annotated[str | None, option("ZONE", "Time zone of times without one, such as America/Denver.")] = None
    nodeless: Annotated[
        str | None, option("WHAT", "Records without node and scope: count as system or node, or ignore.")
    ] = None
    observed: Annotated[str | None, option("FROM/TO", "Observation window; TO is excluded.")] = None
    population: Annotated[Path | None, option("FILE", "All nodes, failed or not, and when each entered and left.")] = (
        None
    )
    n_nodes: Annotated[int | None, option("N", "Number of all nodes, where no table lists them.", min=1)] = None
    failures: Annotated[str | None, option("COLUMN=A,B", "Rows of a table that are failures: Level=ERROR,FATAL.")] = (
        None
    )
    unit: Annotated[str | None, option("UNIT", "Unit of durations that are plain numbers: minutes, days.")] = None
    rules: Annotated[Path | None, option("FILE.toml", "What counts as a failure in a raw log.")] = None
    year: Annotated[int | None, option("YEAR", "Year of the first line, where times have none.")] = None
    ends: Annotated[str | None, option("node|job", "What a failure in a system log stops; node by default.")] = None
    max_size: Annotated[str | None, option("SIZE", "Largest size of the input, such as 32GB.")] = None
    strict: Annotated[bool, flag("--strict", "Stop at the first row that cannot be used.")] = False
    where: Annotated[
        list[str] | None,
        option(
            "COLUMN=VALUE",
            "Take only this part, such as system=20, or all but this: cause!=network. Repeatable: one column twice "
            "means either value, or neither; an empty value means missing.",
        ),
    ] = None
    since: Annotated[str | None, option("DATE", "Observe from here on.")] = None
    until: Annotated[str | None, option("DATE", "Observe up to here.")] = None

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
        if tell and (missing := omissions(log)):
            print(f"relfit: {missing}; see relfit info", file=sys.stderr)
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
    were = [f"{rejected:,} of {rows:,} rows were rejected"] if rejected else []
    return "; ".join([*were, *log.source.not_read])


def at_of(at: str) -> str:
    """What ``--at`` says, as `relfit.fleet_model` takes it."""
    return checked.choice("--at", at, ("now", "long-run")).replace("-", " ")


At = Annotated[str, option("now|long-run", "The fleet as it is now, or in the long run.")]


@dataclass(frozen=True, kw_only=True)
class PartReading(Reading):
    """A log of which one period is used."""

    period: Annotated[
        str | None,
        option("stable|all|FROM/TO", "Part of the log used; stable by default, all for backtest and forecast."),
    ] = None

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
        return checked.choice("--period", self.period, ("stable", "all", "FROM/TO"))

    def study(self, log: rf.FailureLog, otherwise: str = "stable", **options: Any) -> rf.Study:
        """The study of a log: of the period that ``--period`` asks for, else the stable one, or what a command says."""
        return rf.Study(log, self.span(otherwise), **options)


@dataclass(frozen=True, kw_only=True)
class PastReading(PartReading):
    """A log of which all is used by default: predictions of now weigh its past themselves."""

    period: Annotated[
        str | None,
        option("stable|all|FROM/TO", "Part of the log used: all by default, the stable one for long-run rates."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class PeriodReading(PartReading):
    """A log of which times to failure in one period are used."""

    first: Annotated[
        str,
        option(
            "known|always|never", "Time before a first failure: from the node's age if known, from age 0, or omitted."
        ),
    ] = "known"

    def __post_init__(self) -> None:
        checked.choice("--first", self.first, ("known", "always", "never"))

    def study(self, log: rf.FailureLog, otherwise: str = "stable", **options: Any) -> rf.Study:
        """As of `PartReading`, with the times before first failures that are asked for."""
        return super().study(log, otherwise, first=self.first, **options)


Details = Annotated[bool, flag("--details", "Print details and tables, too.")]


@dataclass(frozen=True, kw_only=True)
class Output:
    """How to show what was computed."""

    json: Json = False
    out: Annotated[
        Path | None, out("PLACE", "Write a table (.csv, .parquet, .json), or all to a folder.", parser=checked.place)
    ] = None
    plot: Annotated[
        Path | None,
        option(
            "PLACE", "Draw the figures: on one sheet (.png, .svg, .pdf) or each into a folder.", parser=checked.place
        ),
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
            one = inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, annotation=own[field.name])
            parameters.append(one if field.default is MISSING else one.replace(default=field.default))

    times = [parameter.name for parameter in parameters if _metavar(parameter.annotation) == "TIME"]

    @functools.wraps(command)
    def run(**values: Any) -> None:
        for name in times:
            checked.check_time(f"--{name.replace('_', '-')}", values[name])
        for name, kind in groups.items():
            values[name] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        command(**values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _metavar(annotation: object) -> str | None:
    """Of the option that a parameter is."""
    return next((m.metavar for m in getattr(annotation, "__metadata__", ()) if hasattr(m, "metavar")), None)
