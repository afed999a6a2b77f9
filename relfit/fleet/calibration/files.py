"""Parameter files: TOML or JSON by their ending, checked on reading, written completely or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from relfit.base.errors import ArgumentError, ReadError
from relfit.base.writing import complete
from relfit.fleet.calibration.schema import Parameters, plain
from relfit.fleet.calibration.validation_errors import ParameterError, Place, dotted
from relfit.io.parsing.settings import read_settings, settings_of_text

_KINDS = ("toml", "json")
_KEYS = {"mtbf", "mttr"}  # of which a useful file has one
_LARGEST = 10_000_000  # bytes of a JSON file that may be parameters
_HEADER = "# Parameters of a cluster, for relfit's planners. Times are hours.\n\n"
_REMEDY = "name a .toml or .json file, as relfit calibrate LOG -o params.toml writes it"
_VERSION_1 = {  # keys of version 1
    "era": "period",
    "law": "distribution",
    "lives": "times_to_failure",
    "lives_censored": "times_to_failure_censored",
    "zero_lives": "zero_times_to_failure",
    "rows_refused": "rows_rejected",
}


def read_parameters(path: str | Path) -> Parameters:
    """Read and check a parameter file.

    Parameters
    ----------
    path : str or Path
        A ``.toml`` or ``.json`` file.

    Raises
    ------
    ReadError
        If the file cannot be read, is neither TOML nor JSON, or has an invalid value; the error names the dotted key.
    """
    return parameters_of_document(read_document(Path(path)), Path(path))


def is_parameter_file(path: str | Path) -> bool:
    """Whether a path is a parameter file and not a log: any TOML file, and JSON that has the keys of parameters."""
    place = Path(path)
    if place.suffix.lower() != ".json" or not place.is_file() or place.stat().st_size > _LARGEST:
        return place.suffix.lower() == ".toml"
    try:
        document = json.loads(place.read_bytes())
    except ValueError:
        return False
    return isinstance(document, dict) and not _KEYS.isdisjoint(document)


def parameters_of_text(text: str, kind: str = "toml") -> Parameters:
    """Read and check parameters in a text.

    Parameters
    ----------
    text : str
    kind : {"toml", "json"}

    Raises
    ------
    ReadError
        As for `read_parameters`.
    ArgumentError
        For another kind.

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
    """The tables and values of a file, unchecked; raises as `relfit.io.parsing.settings.read_settings` does."""
    return read_settings(path, _kind(path, ReadError), "parameters", _REMEDY)


def parameters_of_document(document: dict[str, object], path: Path | None) -> Parameters:
    """Parameters from tables and values; a `ReadError` names `path` and the invalid key as written in the document."""
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
    """Write parameters to a file, completely or not at all.

    Parameters
    ----------
    parameters : Parameters
    path : str or Path
        A ``.toml`` or ``.json`` file.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ArgumentError
        For another ending, or a path that cannot be written.
    """
    target = Path(path)
    text = text_of_parameters(parameters, _kind(target, ArgumentError))
    with complete(target) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
    return target


def text_of_parameters(parameters: Parameters, kind: str = "toml") -> str:
    """The text that `write_parameters` writes.

    Parameters
    ----------
    parameters : Parameters
    kind : {"toml", "json"}

    Raises
    ------
    ArgumentError
        For another kind.
    """
    if kind == "json":
        return json.dumps(plain(parameters, json=True), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if kind != "toml":
        raise ArgumentError(f"parameters are not written as {kind!r}", remedy=f"use {' or '.join(_KINDS)}")
    import tomli_w

    return _HEADER + tomli_w.dumps(plain(parameters, json=False))


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
    """The place as written: ``mtbf`` for ``mtbf.node.value``, ``tray`` for ``node``, ``[mtbf]`` for ``[mtbf.node]``."""
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
