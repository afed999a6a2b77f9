"""The command that replays jobs over the part of a log that was not fitted: validate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from relfit.cli import output
from relfit.cli.figures import check_place, write_figures
from relfit.cli.options import Reading, check_level, family_names
from relfit.cli.progress import Steps
from relfit.errors import ArgumentError

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog

__all__ = ["validate"]

_SIZES = (1, 4, 16)
_LENGTHS = ("6h", "24h", "72h")


def validate(
    reading: Reading,
    *,
    split: str,
    sizes: list[int] | None,
    lengths: list[str] | None,
    jobs: int,
    families: str,
    parameters: str,
    origin: str,
    level: float,
    seed: int,
    as_json: bool,
    out: Path | None,
    plot: Path | None,
) -> None:
    """Show predicted against observed reliability of jobs in the held-out part of a log."""
    output.check_destination(out)
    check_place(plot)
    check_level(level)
    names = family_names(families)
    with Steps("reading", "fitting and replaying") as steps:
        log = reading.select(reading.read())
        steps.next()
        from relfit.validation import _replay as replay

        found = replay(
            log, _split(split), sizes or _fitting_sizes(log), lengths or list(_LENGTHS), jobs, names,
            parameters=parameters, origin=origin, level=level, rng=seed,
        )  # fmt: skip
        document = found.to_dict()
        scores = found.scores.reset_index()
        cells = found.by_size()
    if out is not None:
        output.write_table(cells, out)
    written = [] if out is None else [f"written to {out}"]
    if plot is not None:
        written += write_figures([("calibration", found.plot)], plot)
    if as_json:
        output.print_json(document)
        return
    shown = scores[
        ["family", "predicted", "observed", "excess", "excess_low", "excess_high", "brier", "skill", "log_score"]
    ]
    curves = []
    for name in found.families:
        curves += ["", f"Calibration of {name}", *output.table(found.calibration(name).to_frame())]
    output.print_lines(
        [
            repr(log), "", found.sentence, "", "Scores", *output.table(shown), "", "By size and length",
            *output.table(cells), *curves, *([""] if written else []), *written,
        ]
    )  # fmt: skip


def _split(text: str) -> float | str:
    """A share of the log, or a date."""
    try:
        share = float(text)
    except ValueError:
        return text
    if 0.0 < share < 1.0:
        return share
    if text.strip().isdigit() and len(text.strip()) == 4:
        return f"{text.strip()}-01-01"
    raise ArgumentError(f"--split {text!r} is no share of the log", remedy="write a date, or a share such as 0.5")


def _fitting_sizes(log: FailureLog) -> list[int]:
    """The usual sizes of jobs that the largest system has nodes for."""
    most = int(log.population["system"].astype(str).value_counts().max()) if len(log.population) else 1
    return [size for size in _SIZES if size <= most] or [1]
