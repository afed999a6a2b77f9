"""The command that calibrates: from a log, or a parameter file, to parameters and what other tools read."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
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
_EXPORTS = {"airesim": "airesim.yaml", "batsim": "batsim.json", "fta": "fta", "scipy": "scipy_laws.py"}


@dataclass(frozen=True)
class Calibrating:
    """How to calibrate, and what to write for other tools."""

    period: str | None = None
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
    airesim: tuple[str, ...] = ()

    @property
    def airesim_values(self) -> dict[str, float | str | bool]:
        """Parameters of AIReSim that a log does not know, as numbers where they are numbers.

        Examples
        --------
        >>> Calibrating(exports=("airesim.yaml",), airesim=("job_size=1024", "recovery_time=12.5")).airesim_values
        {'job_size': 1024, 'recovery_time': 12.5}
        """
        from relfit.calibration.exports import AIRESIM_KEYS

        if self.airesim and not any(kind == "airesim" for kind, _ in self.files):
            raise ArgumentError("--airesim goes with --export airesim", remedy="add --export airesim.yaml")
        found: dict[str, float | str | bool] = {}
        for text in self.airesim:
            name, sign, value = (part.strip() for part in text.partition("="))
            if not sign or not value:
                raise ArgumentError(f"--airesim {text!r} is not NAME=VALUE", remedy="write --airesim job_size=1024")
            if name not in AIRESIM_KEYS:
                near = get_close_matches(name, AIRESIM_KEYS, n=1)
                remedy = f"did you mean {near[0]}?" if near else f"it has {', '.join(AIRESIM_KEYS)}"
                raise ArgumentError(f"AIReSim has no parameter {name!r}", remedy=remedy)
            found[name] = _number(name, value)
        return found

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
                    f"--export {text!r} is not known",
                    remedy="write airesim.yaml, batsim.json, fta, scipy, or KIND=PATH",
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
    _ = how.airesim_values  # rejected before any work
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
                period=how.period or ("all" if cut else None),
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
    from relfit.simulation.simulated_logs import simulate_log

    if kind == "airesim":
        exports.airesim(parameters, path, **how.airesim_values)
    elif kind == "batsim":
        exports.batsim(parameters, path, how.nodes)
    elif kind == "scipy":
        from relfit.calibration.scipy_laws import write_scipy

        write_scipy(parameters, path)
    else:
        if log is None:
            log = simulate_log(parameters, how.span, nodes=how.nodes, racks=how.racks, rng=how.seed)
        elif parameters.period is not None and parameters.period.start is not None and parameters.period.name != "all":
            log = log.between(parameters.period.start, parameters.period.end)
        write_fta(log, path)


def _number(name: str, value: str) -> float | str | bool:
    """A value of AIReSim's YAML; only the name of a distribution may be text."""
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    if name == "failure_distribution":
        return value
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not number >= 0.0 or number == float("inf"):
        raise ArgumentError(f"--airesim {name}={value}: {value!r} is not a number from 0 on")
    return int(number) if number == int(number) and "." not in value else number


def _about(parameters: Parameters, log: FailureLog | None) -> list[str]:
    lines = [] if log is None else [repr(log), ""]
    period = parameters.period
    if period is not None and period.start is not None and period.end is not None:
        lines.append(f"period       {period.name}, {period.start:%Y-%m-%d} to {period.end:%Y-%m-%d} UTC")
    frame = parameters.to_frame()
    lines += output.table(frame.astype({"events": float})) if len(frame) else ["nothing is known"]
    if parameters.absent:
        lines += ["", "Not estimated"]
        lines += [f"  {name}: {why}" for name, why in parameters.absent.items()]
    if parameters.warnings:
        lines += ["", "What speaks against the assumptions of planners"]
        lines += [f"  {text}" for text in parameters.warnings]
    return lines
