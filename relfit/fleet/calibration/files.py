"""Parameter files: TOML or JSON by their ending, checked on reading, complete or absent after writing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from relfit.base.errors import ArgumentError, ReadError
from relfit.base.writing import complete
from relfit.fleet.calibration.schema import Parameters, plain
from relfit.fleet.calibration.validation_errors import ParameterError, Place, dotted
from relfit.io.parsing.settings import read_settings, settings_of_text

__all__ = [
    "parameters_of_document",
    "parameters_of_text",
    "read_document",
    "read_parameters",
    "text_of_parameters",
    "write_parameters",
]

_KINDS = ("toml", "json")
_HEADER = "# Parameters of a cluster, for relfit's planners. Times are hours.\n\n"
_REMEDY = "name a .toml or .json file, as relfit calibrate LOG -o params.toml writes it"
_VERSION_1 = {  # keys that files of version 1 have
    "era": "period",
    "law": "distribution",
    "lives": "times_to_failure",
    "lives_censored": "times_to_failure_censored",
    "zero_lives": "zero_times_to_failure",
    "rows_refused": "rows_rejected",
}


def read_parameters(path: str | Path) -> Parameters:
    """Read and check a parameter file, TOML or JSON by its ending.

    Raises
    ------
    ReadError
        When it cannot be read, is neither TOML nor JSON, or has an invalid value; the error names the dotted key.
    """
    return parameters_of_document(read_document(Path(path)), Path(path))


def parameters_of_text(text: str, kind: str = "toml") -> Parameters:
    """Read and check a text.

    Parameters
    ----------
    text : str
    kind : {"toml", "json"}

    Raises
    ------
    ReadError
        As `read_parameters`.

    Examples
    --------
    >>> parameters_of_text('mtbf = "0h"')
    Traceback (most recent call last):
    relfit.base.errors.ReadError: mtbf: this cannot be 0; it must be above 0
    """
    if kind not in _KINDS:
        raise ArgumentError(f"parameters are not written as {kind!r}", remedy=f"use {' or '.join(_KINDS)}")
    return parameters_of_document(settings_of_text(text, kind, "parameters"), None)


def read_document(path: Path) -> dict[str, Any]:
    """The tables and values of a file, unchecked; errors as of `relfit.io.parsing.settings.read_settings`."""
    return read_settings(path, _kind(path, ReadError), "parameters", _REMEDY)


def parameters_of_document(document: dict[str, object], path: Path | None) -> Parameters:
    """The parameters that tables and values say; `path` is for messages.

    Raises
    ------
    ReadError
        For what cannot be, by the key as the document has it.
    """
    if not document:
        raise ReadError("there are no parameters here", path=path, remedy='write at least mtbf = "20000h"')
    if document.get("version") == 1:
        document = {**_renamed(document), "version": 2}
    try:
        return Parameters(**document)
    except ParameterError as error:
        key = dotted(_written(error.place, document))
        what = error.what_is_wrong
        raise ReadError(f"{key}: {what}" if key else what, path=path, remedy=error.remedy) from None


def write_parameters(parameters: Parameters, path: str | Path) -> Path:
    """Write to a file, TOML or JSON by its ending; the file is complete or absent.

    Raises
    ------
    ArgumentError
        For another ending, or a place where nothing can be written.
    """
    target = Path(path)
    text = text_of_parameters(parameters, _kind(target, ArgumentError))
    with complete(target) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
    return target


def text_of_parameters(parameters: Parameters, kind: str = "toml") -> str:
    """As `write_parameters` writes it; `kind` is ``"toml"`` or ``"json"``."""
    if kind == "json":
        return json.dumps(plain(parameters, json=True), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if kind != "toml":
        raise ArgumentError(f"parameters are not written as {kind!r}", remedy=f"use {' or '.join(_KINDS)}")
    import tomli_w

    return _HEADER + tomli_w.dumps(plain(parameters, json=False))


# ---------------------------------------------------------------------- details


def _renamed(value: object) -> Any:
    if isinstance(value, dict):
        return {_VERSION_1.get(key, key): _renamed(inner) for key, inner in value.items()}
    return [_renamed(inner) for inner in value] if isinstance(value, list) else value


def _has(document: Any, place: Place) -> bool:
    for part in place:
        try:
            document = document[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _written(place: Place, document: dict[str, object]) -> Place:
    """The place as the document has it.

    ``mtbf = "20h"`` stands for ``mtbf.node.value``, ``tray`` for ``node``, ``[mtbf] value = 20`` for a table of a node.
    """
    short = {"mtbf": "node", "mttr": "mean"}.get(str(place[0])) if place else None
    if len(place) > 1 and place[1] == short and not _has(document, place[:2]):
        other = [name for name in ("tray", "server") if _has(document, (place[0], name))]
        place = (place[0], *other[:1], *place[2:])
    return place[:-1] if place and place[-1] == "value" and not _has(document, place) else place


def _kind(path: Path, error: type[ReadError | ArgumentError]) -> str:
    kind = path.suffix.lower().lstrip(".")
    if kind not in _KINDS:
        raise error(f"{path} does not end in .toml or .json", remedy="the ending names the format")
    return kind
