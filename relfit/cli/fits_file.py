"""Fits read back from the file that ``relfit fit --out`` or ``--json`` wrote, every cell checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.arrays import Durations, FloatArray, IntArray
from relfit.base.errors import ArgumentError, ReadError
from relfit.base.writing import unguarded
from relfit.fitting.families import FAMILIES, family_named
from relfit.system import System
from relfit.system.builders import family_code, positions_of, system_of_estimates

_ENDINGS = (".csv", ".json", ".parquet")
_MOST_NAMED = 3  # nodes without an estimate
_FIRST = ("family", "status")
_NUMBERS = {n for family in FAMILIES.values() for n in family.parameter_names()} | {"aic", "aicc", "bic", "loglik"}


@dataclass(frozen=True)
class FileOfFits:
    """The origin of a system out of a file of fits: no draws, and the nodes that were left out, without an estimate."""

    lost: tuple[str, ...]

    @property
    def notes(self) -> list[str]:
        """Which nodes were left out, if any."""
        if not self.lost:
            return []
        shown = ", ".join(self.lost[:_MOST_NAMED]) + (", ..." if len(self.lost) > _MOST_NAMED else ".")
        what = "node has no estimate and is" if len(self.lost) == 1 else "nodes have no estimate and are"
        return [f"{len(self.lost)} {what} left out, as are nodes that never failed: {shown}"]

    def node_sources(self, components: object, groups: object) -> list[Any]:
        """Always an error: only the fits themselves, out of a log, give intervals."""
        raise ArgumentError(
            "of a file of fits only the estimates are used, not their uncertainty", remedy="give the log itself"
        )


def is_fits_file(path: str | Path) -> bool:
    """Whether a file looks like fits rather than a log: by its columns, read no further than needed."""
    place = Path(path)
    if place.suffix.lower() not in _ENDINGS or not place.is_file():
        return False
    try:
        if place.suffix.lower() == ".csv":
            with place.open(encoding="utf-8", errors="replace") as lines:
                names = [name.strip().strip('"') for name in lines.readline().split(",")]
        elif place.suffix.lower() == ".parquet":
            import pyarrow.parquet as pq

            names = pq.read_schema(place).names
        else:
            with place.open(encoding="utf-8", errors="replace") as lines:
                return '"family"' in lines.read(200_000)
    except (OSError, ValueError):
        return False
    return all(name in names for name in _FIRST)


def read_fits_table(path: str | Path) -> pd.DataFrame:
    """The rows of a file of fits: the group's keys, family, status, parameters, criteria."""
    place = Path(path)
    ending = place.suffix.lower()
    if ending not in _ENDINGS:
        raise ReadError("not a file of fits", path=place, remedy=f"its name should end in {', '.join(_ENDINGS)}")
    try:
        if ending == ".csv":
            table = pd.read_csv(place, dtype=str, keep_default_na=False).map(unguarded)
        elif ending == ".parquet":
            table = pd.read_parquet(place)
        else:
            document = json.loads(place.read_text(encoding="utf-8"))
            rows = document.get("fits", document.get("rows")) if isinstance(document, dict) else document
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise ReadError("no rows of fits", path=place, remedy="write it with relfit fit --out or --json")
            table = pd.DataFrame(rows)
    except FileNotFoundError:
        raise ReadError("no such file", path=place) from None
    except json.JSONDecodeError as error:
        raise ReadError(f"not JSON: {error.msg}", path=place, line=error.lineno, column=error.colno) from None
    except (OSError, ValueError, UnicodeDecodeError) as error:
        raise ReadError(f"cannot be read: {error}", path=place) from None
    for name in _FIRST:
        if name not in table.columns:
            raise ReadError(f"no column {name!r}", path=place, line=1, remedy="write it with relfit fit --out")
    if not len(table):
        raise ReadError("no fits", path=place, remedy="fit at least one node")
    table["family"] = [_family(str(name), place, row, ending) for row, name in enumerate(table["family"])]
    for name in [n for n in table.columns if n in _NUMBERS]:
        table[name] = _numbers(table[name], name, place, ending)
    return table


def _line(row: int, ending: str) -> int | None:
    return row + 2 if ending == ".csv" else None


def _family(name: str, path: Path, row: int, ending: str) -> str:
    try:
        return family_named(name).name
    except ArgumentError as error:
        raise ReadError(error.what, path=path, line=_line(row, ending), column="family") from None


def _numbers(column: pd.Series, name: str, path: Path, ending: str) -> FloatArray:
    found = np.empty(len(column))
    for row, value in enumerate(column.tolist()):
        if value is None or value == "" or value != value:
            found[row] = np.nan
            continue
        try:
            found[row] = float(value)
        except (TypeError, ValueError):
            raise ReadError(f"{value!r} is not a number", path=path, line=_line(row, ending), column=name) from None
    return found


def system_from_file(
    path: str | Path, nodes: object = None, ages: Durations = 0.0, *, family: str = "best", missing: str = "error"
) -> System:
    """As `relfit.system_from_fits`, without uncertainty, which needs times to failure that a file of fits has not."""
    place = Path(path)
    table = read_fits_table(place)
    if missing not in ("error", "drop"):
        remedy = "use error or drop, or give the log itself"
        raise ArgumentError(f"missing={missing!r} is not possible with a file", remedy=remedy)
    keys = list(table.columns[: table.columns.get_loc("family")])
    keys = [key for key in keys if key in ("system", "node")] or keys
    if not keys:
        raise ReadError("no column says which node a row is about", path=place, line=1)
    values = [table[key].astype(str) for key in keys]
    labels = pd.MultiIndex.from_arrays(values, names=keys) if len(keys) > 1 else pd.Index(values[0], name=keys[0])
    codes, groups = pd.factorize(labels)
    usable = (table["status"] == "ok").to_numpy()
    if family != "best":
        name = family_named(family).name
        if not (table["family"] == name).any():
            raise ReadError(f"no {name} fit", path=place, column="family")
        usable &= (table["family"] == name).to_numpy()
    criterion = table["aicc"].to_numpy(dtype=float) if "aicc" in table else np.full(len(table), np.nan)
    counts = np.array([len(FAMILIES[name].parameter_names()) for name in table["family"]])
    order = np.lexsort((counts, np.where(np.isfinite(criterion), criterion, np.inf), codes))
    order = order[usable[order]]
    of_group, first = np.unique(codes[order], return_index=True)
    rows = order[first]
    chosen = table["family"].astype(str).to_numpy()[rows]
    estimates, kind = dict[str, FloatArray](), np.full(len(groups), -1, dtype=np.int64)
    for name in map(str, np.unique(chosen)):
        mine = chosen == name
        kind[of_group[mine]] = family_code(name)
        estimates[name] = np.full((len(groups), len(FAMILIES[name].parameter_names())), np.nan)
        estimates[name][of_group[mine]] = _parameters(table, name, rows[mine], place)
    remedy = "use --missing drop to leave them out, or give the log itself"
    sources, names = positions_of(groups, nodes)
    origin = FileOfFits(tuple(str(name) for name in names[kind[sources] < 0]))
    return system_of_estimates(groups, nodes, ages, estimates, kind, missing, remedy, origin=origin)


def _parameters(table: pd.DataFrame, name: str, rows: IntArray, place: Path) -> FloatArray:
    """Parameters of the rows of one family, shape (rows, k), each checked."""
    columns = []
    for parameter, domain in zip(FAMILIES[name].parameter_names(), FAMILIES[name].domains, strict=True):
        column = np.full(rows.size, np.nan)
        if parameter in table:
            column = table[parameter].to_numpy(dtype=float)[rows]
        bad = np.flatnonzero(~np.isfinite(column) | ((column <= 0.0) & (domain != "real")))
        if bad.size:
            value = f"{column[bad[0]]:g}" if parameter in table else "missing"
            line, what = _line(int(rows[bad[0]]), place.suffix.lower()), f"{parameter} of the {name} fit is {value}"
            remedy = "a fit that is ok has all its parameters"
            raise ReadError(what, path=place, line=line, column=parameter, remedy=remedy)
        columns.append(column)
    return np.stack(columns, axis=1)
