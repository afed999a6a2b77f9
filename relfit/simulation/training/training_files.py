"""Files of a training cluster: TOML with the keys of `TrainingParameters`, or the published program's YAML and JSON."""

from __future__ import annotations

from pathlib import Path

from relfit.base.errors import ArgumentError, ReadError
from relfit.fleet.calibration import read_parameters
from relfit.fleet.calibration.files import is_parameter_file
from relfit.io.parsing.settings import read_settings
from relfit.simulation.training.parameters import TrainingParameters, training_parameters

_KINDS = {".toml": "toml", ".yaml": "yaml", ".yml": "yaml", ".json": "json"}


def read_training(path: str | Path, **others: object) -> TrainingParameters:
    """Read the parameters of a training cluster, TOML, YAML or JSON by the ending.

    A key ``calibrated`` names a parameter file that `relfit calibrate` wrote, relative to the folder of this file; keys
    of this file take precedence over it.

    Parameters
    ----------
    path : str or Path
    **others
        Keys that take precedence over those of the file.

    Returns
    -------
    TrainingParameters

    Raises
    ------
    ReadError
        When it cannot be read, or has an unknown key or an invalid value: one line with the key.
    """
    place = Path(path)
    kind = _KINDS.get(place.suffix.lower())
    if kind is None:
        raise ReadError(f"{place} does not end in {', '.join(_KINDS)}", remedy="the ending names the format")
    values = read_settings(place, kind, "settings of a training cluster", "write lines such as recovery_time = 20")
    if "calibrated" not in values and not {"mtbf", "mttr"}.isdisjoint(values) and is_parameter_file(place):
        remedy = f'write a file of the cluster and its job, with the line calibrated = "{place.name}"'
        raise ReadError("this is a file of calibrated parameters, not of a training cluster", path=place, remedy=remedy)
    calibrated = values.pop("calibrated", None)
    if calibrated is not None and not isinstance(calibrated, str):
        raise ReadError(f"{place}: calibrated is not text", remedy="name a parameter file, as 'params.toml'")
    params = None if calibrated is None else read_parameters(place.parent / calibrated)
    try:
        return training_parameters(values, calibrated=params, **others)
    except ArgumentError as error:
        raise ReadError(f"{place}: {error.what}", remedy=error.remedy) from None
