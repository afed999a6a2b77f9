"""The command that calibrates: from a log, or a parameter file, to parameters and what other tools read."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.base.text import count, duration, interval_ends
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.progress import ProgressSteps

if TYPE_CHECKING:
    import pandas as pd

    from relfit.fleet.calibration.parameter_values import Duration

_ENDINGS = (".toml", ".json")
_HARDLY = 10.0  # ratio of the limits of a mean from which it is hardly known
_OF_AIRESIM = ", without what only --airesim says, as job_size=1024: there AIReSim has defaults of its own"
_EXPORTS = {"airesim": "airesim.yaml", "batsim": "batsim.json", "fta": "fta", "scipy": "distributions.py"}


@dataclass(frozen=True, kw_only=True)
class Exporting:
    """What to write for other tools."""

    export: list[str] | None = opt.option(
        "KIND=PATH", "Write a file for airesim, batsim, fta or scipy, too. Repeatable."
    )
    airesim: list[str] | None = opt.option("NAME=VALUE", "For airesim: job_size, working_pool_size ... Repeatable.")
    nodes: int | None = opt.option("N", "Nodes of the cluster, for batsim and simulated fta.", min=1)
    racks: int | None = opt.option("N", "Racks of the cluster, for simulated fta.", min=1)
    span: str = opt.option("TIME", "Length of the simulated trace for fta from a parameter file.", "8766h")

    @property
    def airesim_values(self) -> dict[str, float | str | bool]:
        """Parameters of AIReSim that a log does not know, as numbers where they are numbers."""
        from relfit.fleet.calibration.exports import AIRESIM_KEYS

        if self.airesim and not any(kind == "airesim" for kind, _ in self.files):
            raise ArgumentError("--airesim goes with --export airesim", remedy="add --export airesim.yaml")
        values: dict[str, float | str | bool] = {}
        for name, texts in checked.pairs("--airesim", self.airesim).items():
            if name not in AIRESIM_KEYS:
                near = get_close_matches(name, AIRESIM_KEYS, n=1)
                remedy = f"did you mean {near[0]}?" if near else f"it has {', '.join(AIRESIM_KEYS)}"
                raise ArgumentError(f"AIReSim has no parameter {name!r}", remedy=remedy)
            values[name] = _value(name, texts[-1])
        return values

    @property
    def files(self) -> list[tuple[str, Path]]:
        """Kind and place of every export."""
        files = []
        for text in self.export or ():
            kind, sign, place = text.partition("=")
            name = (kind if sign else Path(text).stem).strip().lower()
            if name not in _EXPORTS:
                endings = {".yaml": "airesim", ".yml": "airesim", ".json": "batsim", ".py": "scipy"}
                own = f"{endings.get(Path(text).suffix, 'fta')}={text}" if not sign else "airesim=air.yaml"
                remedy = f"write airesim.yaml, batsim.json, fta, scipy, or the kind and a name of your own: {own}"
                raise ArgumentError(f"--export {text!r} is not known", remedy=remedy)
            if not sign:
                place = text if Path(text).suffix else _EXPORTS[name]
            if not place.strip():
                raise ArgumentError(f"--export {text!r} names no file", remedy=f"write {name}={_EXPORTS[name]}")
            path = Path(place.strip())
            if not path.parent.is_dir():
                raise ArgumentError(f"--export {path}: there is no folder {path.parent}", remedy="create it first")
            if name == "fta" and path.exists():
                raise ArgumentError(f"--export {path} is there already", remedy="name a new folder")
            if name != "fta":
                output.check_destination(path, (path.suffix.lower(),))
            files.append((name, path))
        return files


def calibrate(
    reading: opt.PeriodReading,
    exporting: Exporting,
    at: opt.At = "now",
    parts: str | None = opt.option(
        "A,B", "Only these of period, mtbf, mttr, repair_kinds, families, bad_nodes, dependence, trend."
    ),
    families: opt.Families = opt.FAMILIES,
    window: opt.Window = None,
    rack: str | None = opt.option("COLUMN", "Column with the rack of a node."),
    level: opt.Level = 0.95,
    details: opt.Details = False,
    seed: opt.Seed = 0,
    json: opt.Json = False,
    out: Path | None = opt.out("FILE", "Write the parameters: .toml or .json."),
) -> None:
    """Estimate what planners need from a log.

    Times between failures and to repair, with intervals and provenance. LOG may also be parameters (.toml or .json).
    """
    from relfit.fleet.calibration.files import is_parameter_file

    output.check_destination(out, _ENDINGS)
    files, names = exporting.files, checked.family_names(families)
    values = exporting.airesim_values
    kinds = {kind for kind, _ in files}
    from_file = is_parameter_file(reading.log)
    of_a_log = checked.named(reading, ["where", "since", "until", "period"])
    of_a_log |= {"--first": reading.first != "known", "--at": at != "now", "--parts": parts, "--window": window}
    of_a_log |= {"--rack": rack, "--families": families != opt.FAMILIES}
    checked.without_effect(of_a_log, "a log, not with parameters", not from_file)
    checked.without_effect({"--nodes": exporting.nodes}, "--export batsim or fta", bool(kinds & {"batsim", "fta"}))
    of_fta = {"--racks": exporting.racks, "--span": exporting.span != "8766h"}
    checked.without_effect(of_fta, "--export fta of parameters", "fta" in kinds and from_file)
    log: rf.FailureLog | None = None
    with ProgressSteps("reading", "calibrating", "writing") as steps:
        if from_file:
            parameters = rf.read_parameters(reading.log)
            steps.next()
        else:
            log = reading.read()
            steps.next()
            wanted = None if parts is None else [part.strip() for part in parts.split(",") if part.strip()]
            study = reading.study(log, at=opt.at_of(at), window=window, group=rack, level=level, rng=seed)
            parameters = study.calibrate(families=names, **({} if wanted is None else {"parts": wanted}))
        steps.next()
        if out is not None:
            rf.calibration.write_parameters(parameters, out)
        for kind, path in files:
            if kind == "airesim":
                rf.calibration.to_airesim(parameters, path, **values)
            elif kind == "batsim":
                rf.calibration.to_batsim(parameters, path, exporting.nodes)
            elif kind == "scipy":
                rf.calibration.to_scipy(parameters, path)
            else:
                rf.calibration.to_fta(_log_to_export(parameters, log, exporting, seed), path)
    if json:
        output.print_json(parameters.to_dict(), unit=None)
        return
    about = [] if parameters.period is None or parameters.period.finding is None else [parameters.period.finding]
    lines = _about(parameters, log) if details else _in_short(parameters, log, out is not None)
    about_file = {"fta": "" if log is None else _left_out(log.events), "airesim": _OF_AIRESIM}
    exports = [f"written to {path}{about_file.get(kind, '')}" for kind, path in files]
    lines = [*(opt.end_as_seen(log) if log is not None and at == "now" else []), *lines]
    output.print_lines([*about, _summary(parameters), *lines, *output.told(out), *exports])


def _log_to_export(
    parameters: rf.Parameters, log: rf.FailureLog | None, exporting: Exporting, seed: int
) -> rf.FailureLog:
    """The part of the log that was calibrated, or a log simulated from the parameters."""
    if log is None:
        size = {"nodes": exporting.nodes, "racks": exporting.racks}
        return rf.simulation.simulate_log(parameters, exporting.span, **size, rng=seed)
    period = parameters.period
    if period is not None and period.start is not None and period.name != "all":
        return log.between(period.start, period.end)
    return log


def _left_out(events: pd.DataFrame) -> str:
    """What a trace of these events has no place for; empty for nothing."""
    from relfit.log.outages import of_whole_system

    nowhere = int((events["node"].isna() & ~of_whole_system(events)).sum())
    lost = [] if events["cause"].isna().all() else ["causes"]
    lost += [f"{count(nowhere, 'record')} of groups without a node"] if nowhere else []
    return f", without {' and '.join(lost)}, for which the format has no place" if lost else ""


def _value(name: str, text: str) -> float | str | bool:
    """A value of AIReSim's YAML; only the name of a distribution may be text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if name == "failure_distribution":
        return text
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not number >= 0.0 or number == float("inf"):
        raise ArgumentError(f"--airesim {name}={text}: {text!r} is not a number of zero or more")
    return int(number) if number == int(number) and "." not in text else number


def _summary(parameters: rf.Parameters) -> str:
    """How often something fails and how long it is down, in one sentence."""
    params, systems = parameters.values(), parameters.fleet.systems or 1
    of_one = "an incident anywhere" if systems == 1 else "an incident in one system"
    of_system = "of the whole system" if systems == 1 else "of one whole system"
    scopes = {"any": of_one, "node": "a failure of one node", "rack": "of one rack", "system": of_system}
    known = {name: _how_often(getattr(parameters.mtbf, name)) for name in scopes if f"mtbf.{name}" in params}
    if systems > 1 and "any" in known:
        now = parameters.fleet.systems_now
        known["any"] += f" (mean of {systems})" if now is None else f" (mean of the {now} of {systems} in service)"
    often = ", ".join(f"{scopes[name]} {every}" for name, every in known.items())
    repair = f"a repair takes {_how_long(parameters.mttr.mean)}" if "mttr.mean" in params else ""
    text = "; ".join(filter(None, (often, repair))) or "no time between failures or to repair is known"
    return f"{text[:1].upper()}{text[1:]}."


def _how_often(mean: Duration) -> str:
    """A mean time between incidents; of a single incident its interval, as one says little about a mean."""
    import numpy as np

    from relfit.fleet.rates_now import unbounded

    assert mean.value is not None
    if mean.events != 1 or mean.low is None:
        return f"every {duration(mean.value)}"
    if mean.high is None or unbounded(np.asarray(mean.value), np.asarray(mean.high)):
        return f"once in the log (the mean is above {duration(mean.low)})"
    ends = interval_ends(duration(mean.low, mean.value), duration(mean.high, mean.value))
    return f"once in the log (every {ends})"


def _how_long(mean: Duration) -> str:
    """A mean time to repair; with its interval where the log hardly says how long it is."""
    assert mean.value is not None
    if mean.low is None or mean.high is None or mean.high < _HARDLY * mean.low:
        return duration(mean.value)
    ends = interval_ends(duration(mean.low, mean.value), duration(mean.high, mean.value))
    return f"{duration(mean.value)} on average ({ends}: hardly known)"


def _in_short(parameters: rf.Parameters, log: rf.FailureLog | None, written: bool) -> list[str]:
    """What is open, and what planners assume and the log contradicts."""
    lines = [] if log is None or log.question is None else [log.question[:1].upper() + log.question[1:]]
    if parameters.warnings:
        lines.append("What contradicts the assumptions of planners:")
        lines += [f"- {text.partition(' (')[0].partition(';')[0].rstrip('.')}." for text in parameters.warnings]
    values = count(len(parameters.to_frame()), "value")
    return [*lines, f"--details shows {values} with intervals{'' if written else '; --out FILE.toml writes them'}."]


def _about(parameters: rf.Parameters, log: rf.FailureLog | None) -> list[str]:
    lines = [*([] if log is None else [repr(log)]), ""]
    frame = parameters.to_frame()
    lines += output.table(frame.astype({"events": float})) if len(frame) else ["no parameter is known"]
    if parameters.absent:
        names: dict[str, list[str]] = {}
        for name, why in parameters.absent.items():
            names.setdefault(why, []).append(name)
        lines += ["", "Not estimated", *(f"  {', '.join(several)}: {why}" for why, several in names.items())]
    if parameters.warnings:
        lines += ["", "What contradicts the assumptions of planners", *(f"  {text}" for text in parameters.warnings)]
    return lines
