"""Parameter files: TOML or JSON by their ending, checked on reading, complete or absent after writing."""

from __future__ import annotations

import datetime as dt
import json as json_module
import re
import tomllib
from pathlib import Path
from typing import Any

from relfit.calibration.complaints import ParameterError, dotted
from relfit.calibration.positions import lines_of_json, lines_of_toml, nearest_line
from relfit.calibration.quantities import Model
from relfit.calibration.schema import Parameters
from relfit.errors import ArgumentError, ReadError
from relfit.writing import complete

__all__ = ["KINDS", "parameters_of_text", "plain", "read_parameters", "text_of_parameters", "write_parameters"]

Place = tuple[str | int, ...]

KINDS = ("toml", "json")
_LARGEST = 10_000_000  # bytes
_AT_LINE = re.compile(r" \(at line (\d+), column (\d+)\)$|( \(at end of document\))$")
_HEADER = "# Parameters of a cluster, for relfit's planners. Times are hours.\n\n"


# ----------------------------------------------------------------------- reading


def read_parameters(path: Path) -> Parameters:
    """Read and check a file.

    Raises
    ------
    ReadError
        When it cannot be read, is no TOML or JSON, or says something that cannot be.
    """
    kind = _kind(path, ReadError)
    try:
        if path.is_file() and path.stat().st_size > _LARGEST:
            raise ReadError("this file is far too large for parameters", path=path)
        data = path.read_bytes()
    except OSError as error:
        raise ReadError(
            f"cannot read parameters: {error.strerror or error}",
            path=path,
            remedy="name a .toml or .json file, as relfit calibrate LOG -o params.toml writes it",
        ) from error
    except ValueError as error:  # a name with a null character
        raise ReadError(
            f"cannot read parameters: {error}",
            remedy="name a .toml or .json file, as relfit calibrate LOG -o params.toml writes it",
        ) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ReadError("this is not text in UTF-8", path=path, line=line) from None
    return parameters_of_text(text, kind, path)


def parameters_of_text(text: str, kind: str, path: Path | None) -> Parameters:
    """Read and check a text; `path` is for messages.

    Raises
    ------
    ReadError
        As `read_parameters`.
    """
    if kind not in KINDS:
        raise ArgumentError(f"parameters are not written as {kind!r}", remedy=f"use {' or '.join(KINDS)}")
    document = _toml(text, path) if kind == "toml" else _json(text, path)
    if not isinstance(document, dict):
        raise ReadError("parameters are a table of names and values", path=path, line=1)
    if not document:
        raise ReadError("there are no parameters here", path=path, remedy='write at least mtbf = "20000h"')
    try:
        return Parameters(**document)
    except ParameterError as error:
        try:
            lines = lines_of_toml(text) if kind == "toml" else lines_of_json(text)
        except RecursionError:
            lines = {}
        placed = []
        for place, what, remedy in error.complaints:
            written = _written(place, lines)
            placed.append((nearest_line(lines, written), dotted(written), what, remedy))
        line, key, what, remedy = min(placed, key=lambda item: item[0] or 0)
        raise ReadError(f"{key}: {what}" if key else what, path=path, line=line, remedy=remedy) from None


def _written(place: Place, lines: dict[Place, int]) -> Place:
    """The place as the file has it.

    ``mtbf = "20h"`` stands for ``mtbf.node.value``, ``tray`` for ``node``, ``[mtbf] value = 20`` for a table of a node.
    """
    short = {"mtbf": "node", "mttr": "mean"}.get(str(place[0])) if place else None
    if len(place) > 1 and place[1] == short and place[:2] not in lines:
        other = next((name for name in ("tray", "server") if (place[0], name) in lines), None)
        place = (place[0], *place[2:]) if other is None else (place[0], other, *place[2:])
    if place and place[-1] == "value" and place not in lines:
        place = place[:-1]
    return place


def _toml(text: str, path: Path | None) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _AT_LINE.search(str(error))
        line = int(found[1]) if found and found[1] else text.count("\n") + 1 if found else None
        what = _AT_LINE.sub("", str(error))
        raise ReadError(f"this is not TOML: {what}", path=path, line=line) from None
    except (ValueError, OverflowError, RecursionError) as error:
        raise ReadError(f"this is not TOML: {_reason(error)}", path=path) from None


def _json(text: str, path: Path | None) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) < len(pairs):
            names = [name for name, _ in pairs]
            raise _TwiceError(next(name for i, name in enumerate(names) if name in names[:i]))
        return table

    def constant(name: str) -> Any:
        raise ValueError(f"{name} is no number")

    try:
        return json_module.loads(text, object_pairs_hook=unique, parse_constant=constant)
    except json_module.JSONDecodeError as error:
        raise ReadError(f"this is not JSON: {error.msg}", path=path, line=error.lineno) from None
    except _TwiceError as error:
        places = [m.start() for m in re.finditer(re.escape(json_module.dumps(str(error))) + r"\s*:", text)]
        line = text.count("\n", 0, places[1]) + 1 if len(places) > 1 else None
        raise ReadError(f"the key {str(error)!r} is there twice", path=path, line=line) from None
    except (ValueError, OverflowError, RecursionError) as error:
        raise ReadError(f"this is not JSON: {_reason(error)}", path=path) from None


class _TwiceError(Exception):
    """A key that a table of JSON has twice."""


def _reason(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error).split(";")[0]


# ----------------------------------------------------------------------- writing


def write_parameters(parameters: Parameters, path: Path) -> Path:
    """Write to a file whose ending says the kind.

    Raises
    ------
    ArgumentError
        For another ending, or a place where nothing can be written.
    """
    text = text_of_parameters(parameters, _kind(path, ArgumentError))
    with complete(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
    return path


def text_of_parameters(parameters: Parameters, kind: str) -> str:
    """TOML or JSON."""
    if kind == "json":
        return json_module.dumps(plain(parameters, json=True), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if kind != "toml":
        raise ArgumentError(f"parameters are not written as {kind!r}", remedy=f"use {' or '.join(KINDS)}")
    import tomli_w

    return _HEADER + tomli_w.dumps(plain(parameters, json=False))


def plain(model: Model, *, json: bool) -> dict[str, Any]:
    """The model as tables, lists and values; what is not there is left out, what is empty too.

    Examples
    --------
    >>> plain(Parameters(mtbf="1 day"), json=True)
    {'version': 1, 'mtbf': {'node': {'value': 24.0, 'unit': 'hours'}}}
    """
    table: dict[str, Any] = {}
    for name in type(model).model_fields:
        value = _plain(getattr(model, name), json)
        if value is not None and (value or not isinstance(value, (dict, list))):
            table[name] = value
    return table


def _plain(value: Any, json: bool) -> Any:
    if isinstance(value, Model):
        return plain(value, json=json)
    if isinstance(value, dict):
        return {key: _plain(inner, json) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner, json) for inner in value]
    if isinstance(value, dt.datetime) and json:
        return value.isoformat()
    return value


def _kind(path: Path, error: type[ReadError | ArgumentError]) -> str:
    kind = path.suffix.lower().lstrip(".")
    if kind not in KINDS:
        raise error(f"{path} does not end in .toml or .json", remedy="the ending names the format")
    return kind
