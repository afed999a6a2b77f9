"""The command that says on how many nodes, and on which, a job is done first: nodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relfit.cli import output
from relfit.cli.figures import check_place, write_figures
from relfit.cli.options import Reading, check_level
from relfit.cli.progress import Steps
from relfit.cli.system_commands import Chosen, load_system
from relfit.errors import ArgumentError
from relfit.units import hours

if TYPE_CHECKING:
    from relfit.jobs import BestSize, Checkpoint, Job, Speedup
    from relfit.system import System

__all__ = ["Asked", "nodes"]

_NAMED = 40


@dataclass(frozen=True)
class Asked:
    """The job that is asked about, as its options say it."""

    work: str | None
    law: str
    parallel_fraction: float | None
    table: Path | None
    restart: str
    checkpoint: str | None
    save: str
    restore: str

    def job(self) -> Job:
        """The job.

        Raises
        ------
        ArgumentError
            For options that do not go together, or values that cannot be; the error names the option.
        ReadError
            For a table that cannot be used, with file, line and column.
        """
        from relfit.jobs import Job

        law = self._speedup()
        work = None if self.work is None else _above_zero("--work", self.work)
        if work is None and law.work is None:
            raise ArgumentError("--work is missing", remedy="say how long the job takes on one node, as --work 1000h")
        return Job(work, law, _not_negative("--restart", self.restart), self._checkpoint())

    def _speedup(self) -> Speedup:
        from relfit.jobs import Amdahl, Gustafson, read_speedup

        law = self.law.strip().lower()
        if law not in ("amdahl", "gustafson", "table"):
            raise ArgumentError(f"--law {self.law!r} is not known", remedy="use amdahl, gustafson or table")
        if law == "table" or self.table is not None:
            if self.table is None:
                raise ArgumentError("--law table needs --table FILE", remedy="name a table of nodes and times")
            if self.parallel_fraction is not None:
                raise ArgumentError("--parallel-fraction does not go with --table", remedy="leave one of them out")
            return read_speedup(self.table)
        fraction = self.parallel_fraction
        if fraction is None:
            raise ArgumentError(
                f"--law {law} needs --parallel-fraction",
                remedy="give the share of the work that runs in parallel, as 0.9",
            )
        if not 0.0 <= fraction <= 1.0:
            hint = f"did you mean {fraction / 100:g}?" if 1.0 < fraction <= 100.0 else "it lies between 0 and 1"
            raise ArgumentError(f"--parallel-fraction {fraction:g} is no share", remedy=hint)
        return Amdahl(fraction) if law == "amdahl" else Gustafson(fraction)

    def _checkpoint(self) -> Checkpoint | None:
        from relfit.jobs import Checkpoint

        save, restore = _not_negative("--save", self.save), _not_negative("--restore", self.restore)
        if self.checkpoint is None:
            if save or restore:
                raise ArgumentError(
                    "--save and --restore need --checkpoint", remedy="say how often a checkpoint is written, as 4h"
                )
            return None
        return Checkpoint(_above_zero("--checkpoint", self.checkpoint), save, restore)


def nodes(
    reading: Reading,
    asked: Asked,
    *,
    k_max: int | None,
    rule: str,
    convention: str,
    after_failure: str,
    deadline: str | None,
    search: bool,
    chosen: Chosen,
    level: float | None,
    draws: int,
    seed: int,
    as_json: bool,
    out: Path | None,
    plot: Path | None,
) -> None:
    """Show on how many nodes, and on which, a job is done first."""
    output.check_destination(out)
    check_place(plot)
    _one_of("--rule", rule, ("least", "first"))
    _one_of("--convention", convention, ("exact", "paper"))
    _one_of("--after-failure", after_failure, ("same", "as_new"))
    if convention == "paper" and after_failure != "same":
        raise ArgumentError(
            "--convention paper does not go with --after-failure as_new", remedy="leave one of them out"
        )
    if level is not None:
        check_level(level)
    limit = None if deadline is None else _above_zero("--deadline", deadline)
    job = asked.job()
    if search and job.checkpoint is not None:
        raise ArgumentError("--search does not go with --checkpoint", remedy="leave one of them out")
    if k_max is not None and k_max < 1:
        raise ArgumentError(f"--k-max {k_max} is no number of nodes", remedy="give one or more")
    with Steps("reading", "fitting", "choosing") as steps:
        system = load_system(reading, chosen, steps)
        from relfit.jobs import best_nodes, best_size

        if k_max is not None and k_max > system.n_nodes:
            raise ArgumentError(
                f"--k-max {k_max}: there are only {system.n_nodes} nodes then", remedy="give a smaller number, or none"
            )
        steps.next()
        found = best_size(
            system, job, k_max=k_max, rule=rule, convention=convention, after_failure=after_failure,
            interval=level, draws=draws, rng=seed,
        )  # fmt: skip
        best = best_nodes(system, job, k_max=k_max, convention=convention) if search else None
        done = found.completion()
        share = None if limit is None else float(done.finish_probability(limit))
    table = found.to_frame()
    if out is not None:
        output.write_table(table, out)
    written = [] if out is None else [f"written to {out}"]
    if plot is not None:
        written += write_figures([("completion_by_size", found.plot), ("completion", done.plot)], plot)
    if as_json:
        document: dict[str, Any] = {**found.to_dict(), "completion": done.to_dict()}
        if limit is not None:
            document["deadline"] = {"hours": limit, "probability": share}
        if best is not None:
            document["search"] = best.to_dict()
        output.print_json(document)
        return
    lines = [repr(system), "", found.sentence, done.sentence, *system.notes]
    if limit is not None and share is not None:
        lines.append(f"It is done within {limit:g} h with probability {share:.3g}.")
    if best is not None:
        lines.append(f"Search over sets: {best.sentence}")
    lines += ["", "Around the best", *output.table(_near(found, table))]
    lines += ["", "Nodes, the most reliable first", *_named(system, found)]
    output.print_lines([*lines, *([""] if written else []), *written])


def _near(found: BestSize, table: Any) -> Any:
    """Rows that show the curve: powers of two, and those around the best."""
    import numpy as np

    sizes = found.sizes
    powers = 2 ** np.arange(int(np.log2(sizes[-1])) + 1)
    chosen = np.isin(sizes, np.concatenate([powers, [sizes[-1]]]))
    chosen[max(found.place - 2, 0) : found.place + 3] = True
    shown = ["nodes", "length", "success", "lost", "expected", *(c for c in ("low", "high") if c in table), "best"]
    return table.loc[chosen, shown].assign(best=np.where(table.loc[chosen, "best"], "*", ""))


def _named(system: System, found: BestSize) -> list[str]:
    names = [str(name) for name in found.nodes[:_NAMED]]
    more = found.best - len(names)
    return [", ".join(names) + (f" and {more} more (--json has all)" if more > 0 else "")]


def _above_zero(option: str, text: str) -> float:
    value = _not_negative(option, text)
    if value == 0.0:
        raise ArgumentError(f"{option} {text!r} is nothing", remedy="give a time above zero, as 20h")
    return value


def _not_negative(option: str, text: str) -> float:
    try:
        value = hours(text)
    except ArgumentError:
        value = float("nan")
    if not 0.0 <= value < float("inf"):
        raise ArgumentError(f"{option} {text!r} is no duration", remedy="write hours, or 20h, 30min, 2 days")
    return value


def _one_of(option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ArgumentError(f"{option} {value!r} is not known", remedy=f"use {' or '.join(known)}")
