"""Reference results: what every room of relfit answers on the real logs, the sample and the papers' cells.

Each topic of `logs`, `fits`, `systems` and `plans` returns a flat mapping of ``subject.quantity`` to a number, a short
list of numbers or a short text; ``results.json`` holds the values that an earlier, independent state of the code gave.

    python -m tests.reference.collect --check [TOPIC ...]   compare, list all differences, exit 1 where there are any
    python -m tests.reference.collect --print TOPIC ...     show what the topics give
    python -m tests.reference.collect --record TOPIC.KEY    take over new values of these keys (patterns as of fnmatch)
    python -m tests.reference.collect --list                topics, number of values, which are slow

A key that ends in ``~`` rests on random draws with a fixed seed. The real logs are read from ``$RELFIT_SHARED/data``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import relfit as rf

Values = dict[str, Any]

HERE = Path(__file__).parent
DATA = Path(os.environ.get("RELFIT_SHARED", HERE.parents[2] / "shared")) / "data"
RESULTS = HERE / "results.json"
MODULES = ("logs", "fits", "systems", "plans")
SEED = 20240607  # of every random draw
DIGITS = 9
TOLERANCE = 1e-6  # relative; what two sound methods must share
NUMERIC = 1e-3  # relative; of what rests on numerical second derivatives, by the end of the key:
NUMERIC_ENDS = ("standard_errors", "share_quick", "failure.covariance")


class NoDataError(Exception):
    """A real log is not on this machine."""


TOPICS: dict[str, Callable[[], Values]] = {}
SLOW: set[str] = set()
NOISE: dict[str, float] = {}  # topic -> what a value of a key ending in ~ may be off, relative to the largest beside it


def topic(*, slow: bool = False, noise: float = 0.05) -> Callable[[Callable[[], Values]], Callable[[], Values]]:
    """Register a topic under the name of its function."""

    def registered(function: Callable[[], Values]) -> Callable[[], Values]:
        TOPICS[function.__name__] = function
        NOISE[function.__name__] = noise
        if slow:
            SLOW.add(function.__name__)
        return function

    return registered


def load_topics() -> None:
    """Import the modules that register topics."""
    for module in MODULES:
        import_module(f"tests.reference.{module}")


# ---------------------------------------------------------------------- keys and values


def under(subject: str, values: Mapping[str, Any]) -> Values:
    """The same values with ``subject.`` before each key."""
    return {f"{subject}.{key}": value for key, value in values.items()}


def random(values: Mapping[str, Any]) -> Values:
    """The same values, marked as resting on random draws."""
    return {f"{key}~": value for key, value in values.items()}


def spread(values: Any) -> list[float]:
    """A batch in five numbers: count, mean, 10 %, 50 % and 90 % quantile of the finite values."""
    array = np.asarray(values, dtype=float).ravel()
    array = array[np.isfinite(array)]
    if array.size == 0:
        return [0.0]
    return [float(array.size), float(array.mean()), *np.quantile(array, [0.1, 0.5, 0.9]).tolist()]


def counts(labels: Iterable[Any]) -> Values:
    """How often each label occurs."""
    tally = pd.Series(list(labels)).astype(str).value_counts().sort_index()
    return {str(label): int(number) for label, number in tally.items()}


def cells(table: pd.DataFrame, columns: Mapping[str, str] | Sequence[str]) -> Values:
    """``row.name`` of a table; `columns` says which, or which and how they are called here."""
    names = dict(columns) if isinstance(columns, Mapping) else {name: name for name in columns}
    return {
        f"{label_of(row)}.{name}": table[column].iloc[place]
        for place, row in enumerate(table.index)
        for column, name in names.items()
    }


def label_of(label: Any) -> str:
    """A label of a row as text."""
    return "_".join(map(str, label)) if isinstance(label, tuple) else str(label)


def limits(interval: Any) -> list[float]:
    """Lower and upper limits one after the other."""
    return np.r_[np.ravel(interval.low), np.ravel(interval.high)].tolist()


def attributes(item: Any, *names: str, **renamed: str) -> Values:
    """Attributes of an object under their names, or under other ones: ``here="there"``."""
    return {here: getattr(item, there) for here, there in {**{n: n for n in names}, **renamed}.items()}


def hours_since_2000(moment: Any) -> float:
    """A moment as hours since the start of 2000, UTC."""
    return float((pd.Timestamp(moment) - pd.Timestamp("2000-01-01", tz="UTC")) / pd.Timedelta(hours=1))


# ---------------------------------------------------------------------- the logs, and what topics share


@cache
def log(name: str) -> rf.FailureLog:
    """A log by name; ``lanl_20`` is system 20 alone, ``white_steady`` the sample's eighteen steady months."""
    if name == "white":
        return rf.datasets.load("white")
    if name == "white_steady":
        return log("white").between("2003-04-01", "2004-10-01")
    if name == "white_half_year":
        return log("white").between("2002-01-01", "2002-07-01")
    if name.startswith("lanl_"):
        return log("lanl").where(system=name.removeprefix("lanl_"))
    file = {"lanl": "lanl-failures-1996-2005.csv.xz", "grid5000": "grid5000-fta", "titan": "titan-gpu-lifetimes.csv.xz"}
    path = DATA / file[name]
    if not path.exists():
        raise NoDataError(f"{path} is not there (set RELFIT_SHARED)")
    return rf.read(path, **({"outcome": "out_or_event"} if name == "titan" else {}))


@cache
def fleet() -> rf.System:
    """The sample's nodes on 2004-10-01, each drawn towards the fleet."""
    return rf.fleet_model(log("white_steady"), at="long run").system()


@cache
def parameters(name: str) -> rf.Parameters:
    """The calibrated parameters of a log, of its stable period."""
    return rf.calibrate(log(name), at="long run")


# ---------------------------------------------------------------------- comparing


def plain(value: Any) -> Any:
    """A value as it stands in the file: nine significant digits; infinities and missing numbers as text."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | str) or value is None:
        return value
    number = float(value)
    return float(f"{number:.{DIGITS}g}") if math.isfinite(number) else str(number)


def collect(name: str) -> Values:
    """The values of a topic by key."""
    return {key: plain(value) for key, value in sorted(TOPICS[name]().items())}


def differences(name: str, expected: Mapping[str, Any], values: Mapping[str, Any]) -> list[str]:
    """One line for every key of a topic that is missing, new or off by more than its tolerance."""
    lines = [f"{name}.{key}: missing" for key in expected if key not in values]
    lines += [f"{name}.{key}: new" for key in values if key not in expected]
    for key in sorted(set(expected) & set(values)):
        before, after = expected[key], values[key]
        tolerance = NOISE[name] if key.endswith("~") else NUMERIC if key.endswith(NUMERIC_ENDS) else TOLERANCE
        largest = max((abs(x) for x in np.ravel(before) if not isinstance(x, str)), default=0.0)
        if not _same(before, after, tolerance, tolerance * largest if key.endswith("~") else 1e-6 * tolerance):
            lines.append(f"{name}.{key}: {before} became {after}")
    return lines


def _same(before: Any, after: Any, relative: float, absolute: float) -> bool:
    if isinstance(before, list) or isinstance(after, list):
        return (
            isinstance(before, list)
            and isinstance(after, list)
            and len(before) == len(after)
            and all(_same(a, b, relative, absolute) for a, b in zip(before, after, strict=True))
        )
    if any(isinstance(x, str) or x is None for x in (before, after)):
        return bool(before == after)
    return math.isclose(before, after, rel_tol=relative, abs_tol=absolute)


def expected_values(path: Path = RESULTS) -> dict[str, Values]:
    """The file's values by topic."""
    return json.loads(path.read_text(encoding="utf-8"))


def write(results: Mapping[str, Mapping[str, Any]], path: Path = RESULTS) -> None:
    """Values by topic as JSON, one line per value, keys sorted."""
    parts = []
    for name in sorted(results):
        lines = (f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}" for k, v in sorted(results[name].items()))
        parts.append(json.dumps(name) + ":{\n" + ",\n".join(lines) + "\n}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Check, print, record or list."""
    parser = argparse.ArgumentParser(description="Reference results of relfit.")
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help="all when none is named")
    for option in ("check", "print", "record", "list"):
        parser.add_argument(f"--{option}", action="store_true")
    parser.add_argument("--file", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    load_topics()
    results = expected_values(options.file) if options.file.exists() else {}
    if options.list:
        for name in TOPICS:
            print(f"{name:22} {len(results.get(name, {})):>5} values{'  slow' * (name in SLOW)}")
        return 0
    names = list(dict.fromkeys(key.split(".")[0] for key in options.topics)) or list(TOPICS)
    unknown = [name for name in names if name not in TOPICS]
    if unknown:
        parser.error(f"no topic {', '.join(unknown)}; there are {', '.join(TOPICS)}")
    lines: list[str] = []
    for name in names:
        begun = time.process_time()
        values = collect(name)
        print(f"{name}: {len(values)} values, {time.process_time() - begun:.2f} s", file=sys.stderr, flush=True)
        if options.print:
            print(json.dumps({name: values}, indent=1))
        if options.record:
            patterns = [key for key in options.topics if key.split(".")[0] == name]
            chosen = {k: v for k, v in values.items() if any(fnmatchcase(f"{name}.{k}", p) for p in patterns)}
            kept = results.get(name, {})
            kept = {k: v for k, v in kept.items() if not any(fnmatchcase(f"{name}.{k}", p) for p in patterns)}
            results[name] = {**kept, **chosen}
        lines += differences(name, results.get(name, {}), values)
    if options.record:
        write(results, options.file)
    print("\n".join(lines) if lines else f"{sum(len(results[name]) for name in names)} values agree")
    return bool(lines)


if __name__ == "__main__":
    from tests.reference.collect import main as _main  # one registry, under the module's own name

    sys.exit(_main())
