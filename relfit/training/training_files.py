"""Files of a training cluster: TOML with the keys of `TrainingParameters`, or the published program's YAML and JSON."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import yaml

from relfit.calibration import read_parameters
from relfit.calibration.validation_errors import ParameterError
from relfit.errors import ArgumentError, ReadError
from relfit.training.parameters import TrainingParameters, training_parameters

__all__ = ["read_training"]

_LARGEST = 1_000_000  # bytes
_ENDINGS = (".toml", ".yaml", ".yml", ".json")


def read_training(path: str | Path, **others: Any) -> TrainingParameters:
    """Read the parameters of a training cluster, TOML, YAML or JSON by the ending.

    A key ``calibrated`` names a parameter file that `relfit calibrate` wrote, from the folder of this file; what a log
    told is taken from there, and keys of this file go before.

    Parameters
    ----------
    path : str or Path
    **others
        Keys that go before those of the file.

    Raises
    ------
    ReadError
        When it cannot be read, or says something that cannot be: one line with the key.
    """
    place = Path(path)
    values = _document(place)
    calibrated = values.pop("calibrated", None)
    if calibrated is not None and not isinstance(calibrated, str):
        raise ReadError(f"{place}: calibrated is no text", remedy="name a parameter file, as 'params.toml'")
    known = None if calibrated is None else read_parameters(place.parent / calibrated)
    try:
        return training_parameters(values, calibrated=known, **others)
    except ParameterError as error:
        raise ReadError(f"{place}: {error.what}", remedy=error.remedy) from None
    except ArgumentError as error:
        raise ReadError(f"{place}: {error.what}", remedy=error.remedy) from None


def _document(place: Path) -> dict[str, Any]:
    if place.suffix.lower() not in _ENDINGS:
        raise ReadError(f"{place} does not end in {', '.join(_ENDINGS)}", remedy="the ending names the format")
    try:
        size = place.stat().st_size
        if size > _LARGEST:
            raise ReadError(f"{place} has {size:,} bytes", remedy="a parameter file is small")
        text = place.read_text(encoding="utf-8")
        if place.suffix.lower() == ".toml":
            values: Any = tomllib.loads(text)
        else:
            values = json.loads(text) if place.suffix.lower() == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise ReadError(f"{place}: {error.strerror or error}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ReadError(
            f"{place}: {' '.join(str(error).split())}", remedy="write key = value (TOML) or key: value"
        ) from None
    values = {} if values is None else values
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise ReadError(f"{place} has no keys with values", remedy="write lines such as recovery_time = 20")
    return values
