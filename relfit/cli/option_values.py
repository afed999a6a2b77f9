"""What the values of options must be: checked, and in one unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from relfit.base.errors import ArgumentError


def check_time(option: str, value: str | list[str] | None) -> None:
    """Reject what is no duration (of ``--mtbf``: no mean time), and a time above zero that does not say its unit."""
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
        if (option, number) != ("--checkpoint-every", "best"):
            (mean_time if option.startswith("--mtbf") else duration)(option, text)


def without_effect(options: Mapping[str, object], needs: str, there: bool) -> None:
    """Reject options (None and False are not given) that do nothing without what they need, where it is not there."""
    for name, value in options.items():
        if value not in (None, False) and not there:
            remedy = "add that, or leave it out" if not needs.startswith("no ") else "leave one of them out"
            raise ArgumentError(f"{name} has no effect here: it goes with {needs}", remedy=remedy)


def none_of(options: Mapping[str, object], goes: str, remedy: str | None = None) -> None:
    """Reject options that do not go with what the command is asked for; None, False and empty are not given."""
    for name in filter(options.get, options):
        raise ArgumentError(f"{name} does not go with {goes}", remedy=remedy)


def named(group: object, names: Iterable[str]) -> dict[str, object]:
    """Some values of a group of options, by their names on the command line."""
    return {f"--{name.replace('_', '-')}": getattr(group, name) for name in names}


def column(option: str, name: str | None, columns: Sequence[str]) -> None:
    """Reject a name that is none of the columns."""
    if name is not None and name not in columns:
        raise ArgumentError(f"{option} {name!r} is not a column", remedy=f"use {', '.join(columns)}")


def pairs(option: str, texts: list[str] | None) -> dict[str, list[str]]:
    """Values by name from texts such as ``name=value``."""
    values: dict[str, list[str]] = {}
    for text in texts or ():
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise ArgumentError(f"{option} {text!r} has no '='", remedy=f"write {option} NAME=VALUE")
        values.setdefault(name.strip(), []).append(value.strip())
    return values


def conditions(option: str, texts: list[str] | None) -> tuple[dict[str, object], dict[str, object]]:
    """Values to select and to exclude by column, None for missing ones, from ``column=value`` and ``column!=value``."""
    taken: dict[str, object] = {}
    excluded: dict[str, object] = {}
    for name, values in pairs(option, texts).items():
        column, to = (name[:-1].rstrip(), excluded) if name.endswith("!") else (name, taken)
        if not column:
            raise ArgumentError(f"{option} names no column", remedy=f"write {option} NAME=VALUE")
        to[column] = [value or None for value in values]
    return taken, excluded


def family_names(text: str) -> list[str]:
    """Names of families from a list with commas, checked."""
    from relfit.fitting import families

    sets = {"core": list(families.CORE), "all": list(families.FAMILIES)}
    parts = [part.strip() for part in text.split(",") if part.strip()]
    names = [name for part in parts for name in sets.get(part.lower()) or [families.family_named(part).name]]
    if not names:
        raise ArgumentError("--families is empty", remedy=f"write --families {','.join(families.CORE)}")
    return list(dict.fromkeys(names))


def probability(option: str, value: float) -> float:
    """`value` if it lies strictly between 0 and 1."""
    if not 0.0 < value < 1.0:
        usual = {"--alpha": "0.05", "--blocking": "0.01"}.get(option, "0.95")
        hint = f"did you mean {value / 100:g}?" if 2.0 <= value < 100.0 else f"use {usual} or the like"
        raise ArgumentError(f"{option} {value:g} is not strictly between 0 and 1", remedy=hint)
    return value


def duration(option: str, text: str, *, positive: bool = False) -> float:
    """Hours from a duration, at or above zero."""
    from relfit.base.units import hours

    remedy = "write it in min, h, d or weeks, as 30min, 24h or 180d"
    try:
        value = hours(text)
    except ArgumentError as error:
        value = float("nan")
        remedy = str(error.remedy) if "," in text else remedy
    if value < 0.0:
        raise ArgumentError(f"{option} {text!r} is negative", remedy="give a time above zero, as 20h")
    if not value < float("inf"):
        raise ArgumentError(f"{option} {text!r} is not a duration", remedy=remedy)
    if positive and value == 0.0:
        raise ArgumentError(f"{option} {text!r} is zero", remedy="give a time above zero, as 20h")
    return value


def mean_time(option: str, text: str) -> str:
    """A mean time as `relfit.base.units.hours` takes it, from one or from a failure rate."""
    from relfit.base import units

    value = -1.0
    with suppress(ArgumentError):
        value = units.mean_time(text)
    if value < 0.0:
        remedy = "write 20000h, 2%AFR or 500FIT"
        raise ArgumentError(f"{option} {text!r} is neither a mean time nor a failure rate", remedy=remedy)
    return f"{value!r}h" if text.strip()[-1:] in "RrTt" else text


def choice(option: str, value: str, known: tuple[str, ...]) -> str:
    """`value` if it is one of those known."""
    if value not in known:
        raise ArgumentError(f"{option} {value!r} is not known", remedy=f"use {', '.join(known[:-1])} or {known[-1]}")
    return value


def place(text: str) -> Path:
    """A file or a folder; a name that ends in a slash is a folder, which is made where its parent is there."""
    if not text.strip():
        raise ArgumentError("an empty text names no file or folder")
    path = Path(text)
    if text.endswith(("/", "\\")) and not path.exists():
        with suppress(OSError, ValueError):  # the checks of a command say what is wrong with the place
            path.mkdir()
    return path


def window(observed: str | None) -> dict[str, str]:
    """The settings ``window_start`` and ``window_end`` of ``--observed FROM/TO``, of which one may be empty."""
    if observed is None:
        return {}
    since, sign, until = (text.strip() for text in observed.partition("/"))
    if not sign or not (since or until):
        raise ArgumentError(f"--observed {observed!r} is not FROM/TO", remedy="write 2003-04-01/2004-10-01")
    return {f"window_{end}": text for end, text in (("start", since), ("end", until)) if text}
