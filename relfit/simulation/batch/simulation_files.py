"""The stored state of a batch simulation: one file of tables of numbers and a description, without code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile
from zlib import crc32

import numpy as np

from relfit.base.errors import ArgumentError, ReadError
from relfit.base.writing import complete
from relfit.fitting.families import family_named
from relfit.fitting.families.base import Family
from relfit.fleet.calibration import Parameters
from relfit.simulation.batch import batch_settings, calibrated_failures, failure_source, reliability
from relfit.simulation.batch import engine_state as es
from relfit.simulation.batch.batch_driver import Drive, Simulation
from relfit.simulation.batch.failure_processes import FailureStream
from relfit.simulation.engine import repair_stages
from relfit.simulation.engine.checked_settings import Settings
from relfit.simulation.engine.event_heap import EventHeap
from relfit.system import jobs

VERSION = 5
_STORED = {
    failure_source: "SystemFailures NodeFailures GroupFailures ReplayedFailures PartOfFailures ClassFailures",
    calibrated_failures: "CalibratedFailures",
    reliability: "EstimatedReliability",
    jobs: "Amdahl Gustafson Checkpoint",
    batch_settings: "CheckpointShares BatchCluster Scheduler Allocation Reservation",
    repair_stages: "RepairStage StagedRepairs",
}
_CLASSES: dict[str, Any] = {name: getattr(place, name) for place, names in _STORED.items() for name in names.split()}
_SCALARS = ("start", "next_estimate", "next_save", "seconds", "starts_seen", "idle_failures", "kills_before")
_EXPECTED = es.new_engine(es.new_jobs(1), 1)
_NAMES = (*(name for name in es.Engine._fields if name != "events"), *EventHeap._fields, "job_id", "requested")


def _plain(value: Any) -> Any:
    """A setting as values that JSON can hold."""
    if isinstance(value, Family):
        return value.to_dict()
    if isinstance(value, Parameters):
        return {"calibrated": value.model_dump(mode="json")}
    if type(value).__name__ in _CLASSES:
        names = type(value).model_fields if isinstance(value, Settings) else value.__dataclass_fields__
        fields = {name: _plain(getattr(value, name)) for name in names if name != "labels"}
        return {"class": type(value).__name__, "fields": fields}
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
    raise ArgumentError(f"{value!r} cannot be written to a file", remedy="use a family of rf.families")


def _restored(value: object) -> Any:
    if isinstance(value, list):
        return [_restored(item) for item in value]
    if isinstance(value, dict) and "family" in value:
        parameters = {k: np.asarray(v) for k, v in value.items() if k != "family"}
        return family_named(value["family"])(**parameters)
    if isinstance(value, dict) and "calibrated" in value:
        return Parameters.model_validate(value["calibrated"])
    if isinstance(value, dict) and "class" in value:
        return _CLASSES[value["class"]](**{name: _restored(item) for name, item in value["fields"].items()})
    return value


def _tables(run: Drive) -> dict[str, Any]:
    """The tables of a run by name, those of its heap of events among them."""
    engine, ids = run.engine, np.asarray(run.job_id)
    return {
        **{name: table for name, table in engine._asdict().items() if name != "events"},
        **engine.events._asdict(),
        "plans": np.packbits(engine.plans, axis=1),
        "log": engine.log[: int(engine.state["n_log"][0])],
        "job_id": ids if ids.dtype.kind in "iu" else ids.astype(str),
        "requested": np.asarray(run.requested),
    }


def described(simulation: Simulation) -> dict[str, Any]:
    """All but the tables, ready for JSON; an `ArgumentError` when a setting cannot be written."""
    return {
        "relfit": "batch simulation",
        "version": VERSION,
        "parts": [
            {
                "setup": {name: _plain(value) for name, value in run.part._asdict().items()},
                "stream": run.stream.state(),
                "achieved": run.achieved,
                **{name: getattr(run, name) for name in _SCALARS},
            }
            for run in simulation.parts
        ],
        "classes": simulation.classes,
        "saved": [str(saved) for saved in simulation.saved],
        "of": None if simulation.of is None else dict(simulation.of),
    }


def _check_sum(tables: dict[str, object]) -> int:
    total = 0
    for name in sorted(tables):
        total = crc32(np.ascontiguousarray(tables[name]).tobytes(), total)
    return total


def write_simulation(simulation: Simulation, path: str | Path) -> None:
    """Write a simulation in progress to one file; an `ArgumentError` when it cannot be written there."""
    tables = {f"{k}_{name}": table for k, run in enumerate(simulation.parts) for name, table in _tables(run).items()}
    tables |= {f"{k}_rows": rows for k, rows in enumerate(simulation.rows)}
    tables["description"] = np.frombuffer(json.dumps(described(simulation)).encode(), dtype=np.uint8)
    with complete(Path(path)) as part, part.open("wb") as file:
        np.savez(file, check_sum=_check_sum(tables), **tables)


def read_simulation(path: str | Path) -> Simulation:
    """Read a simulation in progress; a `ReadError` for another or a damaged file, or another version of the format."""
    try:
        return _read(path)
    except ReadError:
        raise
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error
    except Exception as error:  # a damaged description may raise anything
        what = "is not a simulation in progress, or is damaged"
        raise ReadError(what, path=path, remedy="give a file that simulate_batch wrote") from error


def _read(path: str | Path) -> Simulation:
    with ZipFile(path) as archive:
        if any(member.compress_type != ZIP_STORED for member in archive.infolist()):
            raise ValueError("a file of ours is not compressed, and none that is takes more memory than it has bytes")
    with np.load(path, allow_pickle=False) as file:
        description = json.loads(file["description"].tobytes())
        if description.get("relfit") != "batch simulation":
            raise ValueError("another kind of file")
        if description["version"] != VERSION:
            what = f"was written in version {description['version']} of the format, and this is version {VERSION}"
            raise ReadError(what, path=path, remedy="continue with the version of relfit that wrote it")
        tables = {name: file[name] for name in file.files}
    if tables.pop("check_sum") != _check_sum(tables):
        raise ValueError("not what was written")
    parts, classes = description["parts"], description["classes"]
    return Simulation(
        [_drive(part, {name: tables[f"{k}_{name}"] for name in _NAMES}) for k, part in enumerate(parts)],
        classes,
        [tables[f"{k}_rows"] for k in range(len(parts)) if classes],
        [Path(saved) for saved in description["saved"]],
        description.get("of"),
    )


def _drive(part: dict[str, Any], tables: dict[str, Any]) -> Drive:
    for name, table in {**_EXPECTED._asdict(), **_EXPECTED.events._asdict()}.items():
        if name != "plans" and tables[name].dtype.descr != table.dtype.descr:
            raise ValueError(f"another table {name}")
    n_nodes = len(tables["nodes"])
    tables["plans"] = np.unpackbits(tables["plans"], axis=1, count=n_nodes).view(np.bool_)
    own = {name: t.view(np.recarray) if t.dtype.names else t for name, t in tables.items()}
    heap = EventHeap(*(own.pop(name) for name in EventHeap._fields))
    job_id, requested = own.pop("job_id"), own.pop("requested")
    engine = es.Engine(**own, events=heap)
    setup = batch_settings.Part(**{name: _restored(value) for name, value in part["setup"].items()})
    setup = setup._replace(failures=tuple(setup.failures), reservations=tuple(setup.reservations))
    stream = FailureStream(setup.failures, n_nodes, 0, part["start"], part["stream"]["begun"])
    stream.restore(part["stream"])
    run = Drive(engine, stream, setup)
    for name in _SCALARS:
        setattr(run, name, part[name])
    run.achieved = tuple(part["achieved"])
    run.job_id = job_id if job_id.dtype.kind in "iu" else job_id.astype(object)
    run.requested = requested
    return run
