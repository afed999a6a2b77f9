"""Settings in TOML, JSON or YAML, from files or texts; errors name file and line."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from relfit.base.errors import ReadError

_LARGEST = 10_000_000  # bytes
_AT_LINE = re.compile(r" \(at line (\d+), column (\d+)\)$|( \(at end of document\))$")


def read_settings(path: str | Path, kind: str, what: str, remedy: str) -> dict[str, Any]:
    """The tables and values of a toml, json or yaml file, unchecked; `what` and `remedy` are for messages."""
    place = Path(path)
    try:
        if place.is_file() and place.stat().st_size > _LARGEST:
            raise ReadError(f"this file is far too large for {what}", path=place)
        data = place.read_bytes()
    except OSError as error:
        raise ReadError(f"cannot read {what}: {error.strerror or error}", path=place, remedy=remedy) from error
    except ValueError as error:  # a name with a null character
        raise ReadError(f"cannot read {what}: {error}", remedy=remedy) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ReadError("this is not text in UTF-8", path=place, line=line) from None
    return settings_of_text(text, kind, what, place)


def settings_of_text(text: str, kind: str, what: str, path: Path | None = None) -> dict[str, Any]:
    """The tables and values of a text, as `read_settings`."""
    try:
        if kind == "toml":
            document: Any = tomllib.loads(text)
        elif kind == "json":
            document = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
        else:
            document = _yaml(text)
    except tomllib.TOMLDecodeError as error:
        at = _AT_LINE.search(str(error))
        line = int(at[1]) if at and at[1] else text.count("\n") + 1 if at else None
        raise ReadError(f"this is not TOML: {_AT_LINE.sub('', str(error))}", path=path, line=line) from None
    except json.JSONDecodeError as error:
        raise ReadError(f"this is not JSON: {error.msg}", path=path, line=error.lineno) from None
    except RecursionError:
        raise ReadError(f"this is not {kind.upper()}: it is nested too deeply", path=path) from None
    except (ValueError, OverflowError) as error:
        told = " ".join(str(error).split(";")[0].split())
        raise ReadError(f"this is not {kind.upper()}: {told}", path=path) from None
    if not isinstance(document, dict) or not all(isinstance(key, str) for key in document):
        raise ReadError(f"{what} are a table of names and values", path=path, line=1)
    return document


def _yaml(text: str) -> Any:
    import yaml

    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    return {} if document is None else document


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table: dict[str, object] = {}
    for name, value in pairs:
        if name in table:
            raise ValueError(f"the key {name!r} is there twice")
        table[name] = value
    return table


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a number")
