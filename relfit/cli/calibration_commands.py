"""The command that calibrates: from a log, or a parameter file, to parameters and what other tools read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from relfit.cli import output
from relfit.cli.options import Reading, check_level, family_names
from relfit.cli.progress import Steps
from relfit.errors import ArgumentError

if TYPE_CHECKING:
    from relfit.calibration import Parameters
    from relfit.failurelog import FailureLog

__all__ = ["Calibrating", "calibrate"]

_ENDINGS = (".toml", ".json")
_EXPORTS = {"airesim": "airesim.yaml", "batsim": "batsim.json", "fta": "fta"}


@dataclass(frozen=True)
class Calibrating:
    """How to calibrate, and what to write for other tools."""

    era: str | None = None
    parts: str | None = None
    families: str = "core"
    window: str | None = None
    rack: str | None = None
    exposure: str = "up"
    level: float = 0.95
    seed: int = 0
    exports: tuple[str, ...] = ()
    nodes: int | None = None
    racks: int | None = None
    span: str = "8766h"

    @property
    def files(self) -> list[tuple[str, Path]]:
        """Kind and place of every export.

        Examples
        --------
        >>> Calibrating(exports=("airesim.yaml", "batsim=failures.txt", "fta")).files
        [('airesim', PosixPath('airesim.yaml')), ('batsim', PosixPath('failures.txt')), ('fta', PosixPath('fta'))]
        """
        found = []
        for text in self.exports:
            kind, sign, place = text.partition("=")
            name = (kind if sign else Path(text).stem).strip().lower()
            if name not in _EXPORTS:
                raise ArgumentError(
                    f"--export {text!r} is not known", remedy="write airesim.yaml, batsim.json, fta, or KIND=PATH"
                )
            if not sign:
                place = text if Path(text).suffix else _EXPORTS[name]
            if not place.strip():
                raise ArgumentError(f"--export {text!r} names no file", remedy=f"write {name}={_EXPORTS[name]}")
            path = Path(place.strip())
            if not path.parent.is_dir():
                raise ArgumentError(f"--export {path}: there is no folder {path.parent}", remedy="make it first")
            if name == "fta" and path.exists():
                raise ArgumentError(f"--export {path} is there already", remedy="name a new folder")
            if name != "fta":
                output.check_destination(path, (path.suffix.lower(),))
            found.append((name, path))
        return found


def calibrate(reading: Reading, how: Calibrating, *, as_json: bool, out: Path | None) -> None:
    """Calibrate a log, or read a parameter file; show, write, export."""
    output.check_destination(out, _ENDINGS)
    files, level, families = how.files, check_level(how.level), family_names(how.families)
    known = reading.log.lower().endswith(".toml")
    log: FailureLog | None = None
    with Steps("reading", "calibrating", "writing") as steps:
        from relfit.calibration import PARTS, Parameters
        from relfit.calibration import calibrate as calibrate_log

        if known:
            parameters = Parameters.read(reading.log)
            steps.next()
        else:
            log = reading.select(reading.read())
            steps.next()
            chosen = PARTS if how.parts is None else [part.strip() for part in how.parts.split(",") if part.strip()]
            cut = reading.since is not None or reading.until is not None
            parameters = calibrate_log(
                log,
                era=how.era or ("all" if cut else None),
                parts=chosen,
                families=families,
                window=how.window,
                group=how.rack,
                exposure=how.exposure,
                level=level,
                rng=how.seed,
            )
        steps.next()
        if out is not None:
            parameters.write(out)
        for kind, path in files:
            _export(kind, path, parameters, log, how)
    written = [*([out] if out is not None else []), *(path for _, path in files)]
    if as_json:
        output.print_json(parameters.to_dict())
        return
    output.print_lines(_about(parameters, log))
    output.print_lines([f"written to {path}" for path in written])


def _export(kind: str, path: Path, parameters: Parameters, log: FailureLog | None, how: Calibrating) -> None:
    from relfit.calibration import exports
    from relfit.calibration.fta_folder import write_fta
    from relfit.calibration.simulating import simulate_log

    if kind == "airesim":
        exports.airesim(parameters, path)
    elif kind == "batsim":
        exports.batsim(parameters, path, how.nodes)
    else:
        if log is None:
            log = simulate_log(parameters, how.span, nodes=how.nodes, racks=how.racks, rng=how.seed)
        elif parameters.era is not None and parameters.era.start is not None and parameters.era.name != "all":
            log = log.between(parameters.era.start, parameters.era.end)
        write_fta(log, path)


def _about(parameters: Parameters, log: FailureLog | None) -> list[str]:
    lines = [] if log is None else [repr(log), ""]
    era = parameters.era
    if era is not None and era.start is not None and era.end is not None:
        lines.append(f"era       {era.name}, {era.start:%Y-%m-%d} to {era.end:%Y-%m-%d} UTC")
    frame = parameters.to_frame()
    lines += output.table(frame.astype({"events": float})) if len(frame) else ["nothing is known"]
    if parameters.absent:
        lines += ["", "Not estimated"]
        lines += [f"  {name}: {why}" for name, why in parameters.absent.items()]
    if parameters.warnings:
        lines += ["", "What speaks against the assumptions of planners"]
        lines += [f"  {text}" for text in parameters.warnings]
    return lines
