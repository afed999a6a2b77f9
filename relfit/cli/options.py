"""The options that commands share, each declared once, and what they amount to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from relfit.errors import ArgumentError, ReadError

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog
    from relfit.lifedata import LifeData

__all__ = ["FAMILIES", "Fitting", "Reading", "check_alpha", "check_level", "check_measure", "family_names"]

FAMILIES = "exponential,weibull,gamma,lognormal"


Log = Annotated[str, typer.Argument(metavar="LOG", help="A failure log, or the name of a bundled sample (white).")]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="lanl, fta, titan, table or relfit; found out when left out."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="FIELD=NAME", help="Column of a table, as in node=hostname. Repeatable."),
]
Mapping = Annotated[
    Path | None, typer.Option("--mapping", metavar="FILE.toml", help="Columns, formats and units of a table.")
]
Timezone = Annotated[
    str | None, typer.Option("--timezone", metavar="ZONE", help="Zone of times that name none, as America/Denver.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at a row that cannot be used.")]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="COLUMN=VALUE",
        help="Take only this part, as system=20. Repeatable: one column twice means either value; "
        "an empty value means missing.",
    ),
]
Since = Annotated[str | None, typer.Option("--since", metavar="DATE", help="Observe from here on.")]
Until = Annotated[str | None, typer.Option("--until", metavar="DATE", help="Observe up to here.")]
Per = Annotated[str, typer.Option("--per", metavar="COLUMN", help="Group by node, system or any column.")]
Measure = Annotated[str, typer.Option("--measure", metavar="ttf|ttr", help="Times to failure or times to repair.")]
NoCensor = Annotated[
    bool, typer.Option("--no-censor", help="Leave censored lives out, as the papers do; the mean comes out too low.")
]
Families = Annotated[
    str, typer.Option("--families", metavar="A,B", help="Distributions to fit; core for four, all for every one.")
]
Method = Annotated[
    str, typer.Option("--method", metavar="NAME", help="ml, moments, rank_y, rank_x or spacings; ml is the default.")
]
Correct = Annotated[
    bool, typer.Option("--bias-correction", help="Correct the Weibull shape for its bias in small samples.")
]
Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap",
        metavar="N|auto",
        help="Replications behind p-values that no table gives; 0 for none, auto for 199 where that is quick.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the bootstrap.")]
Interval = Annotated[
    list[str] | None,
    typer.Option(
        "--interval",
        metavar="QUANTITY[@AT]",
        help="Show intervals: mean, median, quantile@0.1, reliability@24h, hazard@24h or a parameter. Repeatable.",
    ),
]
Kind = Annotated[
    str, typer.Option("--kind", metavar="NAME", help="Of the intervals: profile, wald, bootstrap, resample or exact.")
]
Level = Annotated[float, typer.Option("--level", metavar="P", help="Level of the intervals, between 0 and 1.")]
JoinWindow = Annotated[
    str | None,
    typer.Option("--window", metavar="TIME", help="Join records closer than this, as 30min; chosen from the data."),
]
Place = Annotated[
    str, typer.Option("--place", metavar="COLUMN", help="Join records of one system, node, rack or any other column.")
]
Together = Annotated[
    str, typer.Option("--window", metavar="TIME", help="Two failures no further apart than this come together, as 1h.")
]
At = Annotated[
    str | None,
    typer.Option("--place", metavar="COLUMN", help="Column that says where nodes are; rack and the like by default."),
]
Correlation = Annotated[
    str,
    typer.Option("--correlation", metavar="NAME", help="Between nodes: spearman, pearson or kendall."),
]
By = Annotated[
    str | None, typer.Option("--by", metavar="COLUMN", help="Compare the failures by age of nodes that differ in this.")
]
Alpha = Annotated[float, typer.Option("--alpha", metavar="P", help="Level of the tests, between 0 and 1.")]
RandomSeed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of everything that is drawn at random.")]
Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot", metavar="PLACE", help="Draw the figures too: on one sheet (.png, .svg, .pdf) or each into a folder."
    ),
]
Tables = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="PLACE", help="Write a table too (.csv, .parquet, .json), or all to a folder."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Write a table too: .csv, .parquet or .json by its ending."),
]


_SETTINGS = ("path", "format", "strict", "timezone", "mapping")


@dataclass(frozen=True)
class Reading:
    """Which log to read, how, and which part of it to take."""

    log: str
    format: str | None
    columns: list[str] | None
    mapping: Path | None
    timezone: str | None
    strict: bool
    where: list[str] | None
    since: str | None
    until: str | None

    def read(self) -> FailureLog:
        """The log, whole.

        Raises
        ------
        ReadError
            When there is neither such a file nor such a sample.
        """
        columns = self._checked()
        if not Path(self.log).exists():
            return self._sample()
        from relfit.io import read

        return read(self.log, self.format, strict=self.strict, timezone=self.timezone, mapping=self.mapping, **columns)

    def _checked(self) -> dict[str, Any]:
        """Settings from ``--column``; whatever can be wrong without the log is found here, before it is read."""
        from relfit.units import instant

        pairs("--where", self.where)
        for date in (self.since or "2000", self.until or "2000"):
            instant(date, self.timezone or "UTC")
        columns = pairs("--column", self.columns)
        for name, values in columns.items():
            if len(values) > 1:
                raise ArgumentError(f"--column names {name} twice")
            if name in _SETTINGS:
                raise ArgumentError(f"--column {name}=... is no column", remedy=f"write --{name}")
        return {name: values[0] for name, values in columns.items()}

    def select(self, log: FailureLog) -> FailureLog:
        """The part of `log` that is asked for."""
        conditions = {
            column: [value or None for value in values] for column, values in pairs("--where", self.where).items()
        }
        return log.where(conditions).between(self.since, self.until)

    def _sample(self) -> FailureLog:
        from relfit import datasets

        names = [str(name) for name in datasets.listing()["name"]]
        if self.log not in names:
            raise ReadError(
                "no such file", path=self.log, remedy=f"give a file or a bundled sample ({', '.join(names)})"
            )
        given = {
            "--format": self.format,
            "--column": self.columns,
            "--mapping": self.mapping,
            "--timezone": self.timezone,
        }
        for option, value in given.items():
            if value:
                raise ArgumentError(f"{option} does not go with the bundled sample {self.log}")
        return datasets.load(self.log)


@dataclass(frozen=True)
class Fitting:
    """What to fit to."""

    per: str
    measure: str
    censor: bool
    families: str
    level: float
    method: str = "ml"
    bias_correction: bool = False
    bootstrap: str = "auto"
    seed: int = 0
    intervals: tuple[str, ...] = ()
    kind: str = "profile"

    @property
    def replications(self) -> int | str:
        """What ``--bootstrap`` asks for, checked."""
        text = self.bootstrap.strip().lower()
        if text == "auto":
            return text
        if not text.isdigit() or 0 < int(text) < 19:
            raise ArgumentError(f"--bootstrap {self.bootstrap!r} is not known", remedy="give auto, 0, or 19 and more")
        return int(text)

    @property
    def asked(self) -> list[tuple[str, float | str | None]]:
        """Quantities of ``--interval`` and where they are wanted."""
        wanted: list[tuple[str, float | str | None]] = []
        for text in self.intervals:
            name, sign, place = text.partition("@")
            at: float | str | None = place.strip() if sign else None
            if name.strip() == "quantile" and at is not None:
                try:
                    at = float(at)
                except ValueError:
                    raise ArgumentError(
                        f"--interval {text!r}: {place!r} is no probability", remedy="write quantile@0.1"
                    ) from None
            wanted.append((name.strip(), at))
        return wanted

    def lives(self, log: FailureLog) -> LifeData:
        """The lives in `log`."""
        return (log.ttr if self.measure == "ttr" else log.ttf)(self.per, censor=self.censor)


def pairs(option: str, given: list[str] | None) -> dict[str, list[str]]:
    """Values by name from texts such as ``name=value``.

    Examples
    --------
    >>> pairs("--where", ["system=2", "system=20", "cause=a=b"])
    {'system': ['2', '20'], 'cause': ['a=b']}
    """
    values: dict[str, list[str]] = {}
    for text in given or ():
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
    from relfit.families import CORE, family_named
    from relfit.families import FAMILIES as KNOWN

    sets = {"core": list(CORE), "all": list(KNOWN)}
    parts = [part.strip() for part in text.split(",") if part.strip()]
    names = [name for part in parts for name in sets.get(part.lower()) or [family_named(part).name]]
    if not names:
        raise ArgumentError("--families is empty", remedy=f"write --families {FAMILIES}")
    return list(dict.fromkeys(names))


def check_measure(measure: str) -> str:
    """`measure` if there is one of this name."""
    if measure not in ("ttf", "ttr"):
        raise ArgumentError(f"--measure {measure!r} is not known", remedy="use ttf or ttr")
    return measure


def check_alpha(alpha: float) -> float:
    """`alpha` if it can be the level of a test.

    Examples
    --------
    >>> check_alpha(0.01)
    0.01
    """
    if not 0.0 < alpha < 1.0:
        hint = f"did you mean {alpha / 100:g}?" if 1.0 <= alpha < 100.0 else "use 0.05 or the like"
        raise ArgumentError(f"--alpha {alpha:g} is not between 0 and 1", remedy=hint)
    return alpha


def check_level(level: float) -> float:
    """`level` if it can be the level of an interval."""
    if not 0.0 < level < 1.0:
        hint = f"did you mean {level / 100:g}?" if 1.0 < level < 100.0 else "use 0.95 or the like"
        raise ArgumentError(f"--level {level:g} is not between 0 and 1", remedy=hint)
    return level
