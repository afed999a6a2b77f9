"""A simulation under way as one file: tables of numbers and a description, no code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np

from relfit.batch import engine_state as es
from relfit.batch.batch_driver import Drive, Simulation
from relfit.batch.calibrated_failures import CalibratedFailures
from relfit.batch.failure_parts import PartOfFailures
from relfit.batch.failure_source import FailureStream, GroupFailures, NodeFailures, ReplayedFailures, SystemFailures
from relfit.batch.reliability import EstimatedReliability
from relfit.calibration import Parameters
from relfit.errors import ArgumentError, ReadError
from relfit.families import family_named
from relfit.families.base import Family
from relfit.writing import complete

__all__ = ["described", "read_simulation", "write_simulation"]

VERSION = 2
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (SystemFailures, NodeFailures, GroupFailures)}
_CLASSES: dict[str, Any] = {
    **_KINDS,
    "ReplayedFailures": ReplayedFailures,
    "PartOfFailures": PartOfFailures,
    "CalibratedFailures": CalibratedFailures,
    "EstimatedReliability": EstimatedReliability,
}
_SCALARS = ("start", "next_estimate", "next_save", "seconds", "starts_seen", "idle_failures")


def _plain(value: Any) -> Any:
    """A setting as JSON has it."""
    if isinstance(value, Family):
        return value.to_dict()
    if isinstance(value, Parameters):
        return {"calibrated": value.model_dump(mode="json")}
    if type(value).__name__ in _CLASSES:
        fields = [name for name in value.__dataclass_fields__ if name != "labels"]
        return {"class": type(value).__name__, "fields": {name: _plain(getattr(value, name)) for name in fields}}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if hasattr(value, "total_seconds"):
        return f"{value.total_seconds()}s"
    raise ArgumentError(f"{value!r} cannot be written to a file", remedy="use a family of relfit.families")


def _restored(value: Any) -> Any:
    if isinstance(value, dict) and "family" in value:
        parameters = {k: np.asarray(v) for k, v in value.items() if k != "family"}
        return family_named(value["family"])(**parameters)
    if isinstance(value, dict) and "calibrated" in value:
        return Parameters.model_validate(value["calibrated"])
    if isinstance(value, dict) and "class" in value:
        return _CLASSES[value["class"]](**{name: _restored(item) for name, item in value["fields"].items()})
    return value


def _part(run: Drive) -> dict[str, Any]:
    about = run.about
    return {
        "settings": about["settings"],
        "sources": [_plain(source) for source in about["sources"]],
        "reliability": None if run.reliability is None else _plain(run.reliability),
        "stream": run.stream.state(),
        **{name: getattr(run, name) for name in _SCALARS},
    }


def _tables(run: Drive) -> dict[str, Any]:
    engine, ids = run.engine, np.asarray(run.about["job_id"])
    return {
        **engine._asdict(),
        "log": engine.log[: int(engine.state["n_log"][0])],
        "job_id": ids if ids.dtype.kind in "iu" else ids.astype(str),
        "requested": np.asarray(run.about["requested"]),
    }


def described(simulation: Simulation) -> dict[str, Any]:
    """All but the tables, ready for JSON.

    Raises
    ------
    ArgumentError
        When a setting cannot be written.
    """
    return {
        "relfit": "batch simulation",
        "version": VERSION,
        "parts": [_part(run) for run in simulation.parts],
        "classes": simulation.classes,
        "saved": [str(saved) for saved in simulation.saved],
        "of": None if simulation.of is None else dict(simulation.of),
    }


def write_simulation(simulation: Simulation, path: str | Path) -> None:
    """Write a simulation under way to one file.

    Raises
    ------
    ArgumentError
        When it cannot be written there.
    """
    description = described(simulation)
    tables = {f"{k}_{name}": table for k, run in enumerate(simulation.parts) for name, table in _tables(run).items()}
    tables |= {f"{k}_rows": rows for k, rows in enumerate(simulation.rows)}
    with complete(Path(path)) as part, part.open("wb") as file:
        np.savez(file, description=np.frombuffer(json.dumps(description).encode(), dtype=np.uint8), **tables)


def read_simulation(path: str | Path) -> Simulation:
    """A simulation under way from its file.

    Raises
    ------
    ReadError
        For a file that is no such simulation, is damaged, or was written in another version of the format.
    """
    try:
        return _read(path)
    except ReadError:
        raise
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error
    except Exception as error:  # whatever a damaged description makes of the tables
        what = "is no simulation under way, or is damaged"
        raise ReadError(what, path=path, remedy="give a file that simulate_batch wrote") from error


def _read(path: str | Path) -> Simulation:
    with ZipFile(path) as archive:
        if any(member.compress_type != ZIP_STORED for member in archive.infolist()):
            raise ValueError("a file of ours is not compressed, and none that is takes more memory than it has bytes")
    with np.load(path, allow_pickle=False) as file:
        description = json.loads(file["description"].tobytes())
        if description.get("relfit") != "batch simulation":
            raise KeyError("relfit")
        if description["version"] != VERSION:
            what = f"was written in version {description['version']} of the format, and this is version {VERSION}"
            raise ReadError(what, path=path, remedy="go on with the relfit that wrote it")
        parts, classes = description["parts"], description["classes"]
        names = (*es.Engine._fields, "job_id", "requested", *(("rows",) if classes else ()))
        tables = [{name: file[f"{k}_{name}"] for name in names} for k in range(len(parts))]
    expected = es.new_engine(es.new_jobs(1), 1)
    for own in tables:
        for name, table in expected._asdict().items():
            if own[name].dtype != table.dtype:
                raise ReadError(f"its table {name} is of another version", path=path, remedy="simulate anew")
    return Simulation(
        [_drive(*part) for part in zip(parts, tables, strict=True)],
        classes,
        [own["rows"] for own in tables if classes],
        [Path(saved) for saved in description["saved"]],
        description.get("of"),
    )


def _drive(part: dict[str, Any], tables: dict[str, Any]) -> Drive:
    engine = es.Engine(**{name: tables[name] for name in es.Engine._fields})
    sources = [_restored(source) for source in part["sources"]]
    stream = FailureStream(sources, len(engine.nodes), 0, part["start"], part["stream"]["begun"])
    stream.restore(part["stream"])
    run = Drive(engine, stream, _restored(part["reliability"]))
    for name in _SCALARS:
        setattr(run, name, part[name])
    ids = tables["job_id"]
    job_id = ids if ids.dtype.kind in "iu" else ids.astype(object)
    run.about = {
        "job_id": job_id, "requested": tables["requested"], "settings": part["settings"], "sources": sources,
    }  # fmt: skip
    return run
