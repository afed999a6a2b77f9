"""The commands ``relfit sweep``: compute a campaign, say how far it is, write its page."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.base.text import count
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.progress import ProgressSteps
from relfit.cli.stopping import STOPPED

if TYPE_CHECKING:
    from relfit.simulation.campaigns import CampaignResults

Store = Annotated[Path, opt.argument("DIR", "Folder of the results.")]
Within = Annotated[
    float | None, opt.option("SHARE", "List cells worse than the best by at most this share, such as 0.02.")
]

_ROWS = 12
_EVERY = 30.0  # seconds between two lines of progress where nobody watches
_FAILED = 1
_INTERRUPTED = 130
_AT_ONCE = b"relfit: ended at once; what is stored stays: run the same command again\n"
_SHOWN = ("mean", "low", "high", "p5", "p95", "runs", "failed")


class CampaignCommands(TyperGroup):
    """``relfit sweep CAMPAIGN`` is ``relfit sweep run CAMPAIGN``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the command where it is left out."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


def run(
    campaign: Annotated[Path, opt.argument("CAMPAIGN", "What to run over which values: a .toml.")],
    to: output.Output,
    store: Path | None = opt.option("DIR", "Folder of the results (required); continues what is there."),
    executor: str = opt.option(
        "NAME", "What computes: processes, threads, serial, dask, or tcp://HOST:PORT of Dask.", "processes"
    ),
    workers: int | None = opt.option("N", "Processes; one per processor by default.", min=1, max=4096),
    workload: Path | None = opt.option("JOBS", "List of jobs of a batch system, or the name of one."),
    retry_failed: bool = opt.flag("--retry-failed", "Run failed runs again."),
) -> None:
    """Simulate over values of parameters.

    --out writes one row per cell, or to a folder a table per experiment. A sweep that is stopped by Ctrl-C
    or a signal keeps what is done and ends with status 75 (130 after a second Ctrl-C): the same command goes on.
    Status 1: some runs failed.
    """
    if store is None:
        raise ArgumentError("no folder for the results is given", remedy="write --store DIR")
    beside = [] if workers is None else ["--workers", str(workers)]
    beside += [] if workload is None else ["--workload", str(workload)]
    beside += ["--retry-failed"] if retry_failed else []
    words = ["relfit", "sweep", str(campaign), "--store", str(store), "--executor", executor, *beside]
    with _stopping(serial=executor == "serial") as signals, ProgressSteps("computing") as steps:
        try:
            plan = rf.campaigns.read_campaign(campaign, workload)
            with redirect_stdout(sys.stderr):  # what a function prints is no answer of the sweep
                how: dict[str, Any] = {"executor": executor, "workers": workers, "retry_failed": retry_failed}
                how |= {"progress": _progress(steps), "stopped": lambda: bool(signals)}
                result = rf.campaigns.sweep(plan, store, **how)
        except KeyboardInterrupt:
            result = rf.campaigns.load(store)
        if result.missing:
            early = executor == "processes" and result.runs.empty
            hint = " (with --executor serial the first begin at once)" if early else ""
            runs = count(result.missing, "run is", "runs are")
            told = f"relfit: stopped: {runs} to be done{hint}; go on with: {shlex.join(words)}"
            typer.echo(told, err=True)
            sys.stdout.flush()
            raise typer.Exit(_INTERRUPTED if signals.count(signal.SIGINT) > 1 else STOPPED)
    _show(result, to, _statistics(result, store / "statistics"))
    if len(result.failed):
        sys.stdout.flush()
        raise typer.Exit(_FAILED)


def _statistics(result: CampaignResults, folder: Path) -> list[str]:
    """Write the files of statistics; how many are new or changed, and which are of an earlier form of the campaign."""
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.csv")}
    files = result.write(folder)
    if not files:
        return []
    written = sum(before.get(path) != path.stat().st_mtime_ns for path in files)
    notes = [f"{count(len(files), 'file')} of statistics in {folder}, {written or 'none'} written by this call"]
    if old := sorted(path.name for path in set(before) - set(files)):
        notes.append(f"{count(len(old), 'further file')} there, not of this campaign: {', '.join(old[:3])}")
    return notes


def status(store: Store, to: output.Output, within: Within = None) -> None:
    """Progress and results of a campaign."""
    _show(rf.campaigns.load(store), to, [], within)


def report(
    store: Store, out: Path | None = opt.out("FILE", "The page (required): .html."), within: Within = None
) -> None:
    """Write the results of a campaign as HTML."""
    from relfit.reporting.campaign_page import write_campaign_page

    if out is None:
        raise ArgumentError("no file is given", remedy="write --out page.html")
    output.check_destination(out, (".html",))
    with ProgressSteps("drawing"):
        write_campaign_page(rf.campaigns.load(store), out, within)
    output.print_lines(output.told(out))


def _show(result: CampaignResults, to: output.Output, notes: list[str], within: float | None = None) -> None:
    from relfit.reporting.campaign_page import in_hours, so_far

    shown_result = in_hours(result)
    figures: list[Any] = [("campaign", partial(rf.plot, shown_result))] if result.outputs else []
    tables = {"cells": result.to_frame()}
    if result.outputs:
        tables |= {name or "grid": result.of(experiment=name) for name in result.experiments if name}
        costs = rf.campaigns.cost_of_ownership(result) if result.campaign.get("prices") else None
        if costs is not None:
            tables["costs"], notes = costs.to_frame(), [*costs.findings, *notes]
        if within is not None:
            tables["best"] = rf.campaigns.best_cells(result, within=within)
    written = output.write_results(to, tables, "cells", figures)
    if to.json:
        also = {name: table for name, table in tables.items() if name == "best"}
        output.print_json({**result.to_dict(), "table": result.to_frame(), **also}, unit=None)
        return
    lines, result = [*shown_result.findings, *notes], shown_result
    if result.outputs:
        table = result.of()
        table = table[[name for name in table if name not in result.cells.columns or name in result.parameters]]
        cut = len(table) > _ROWS
        if cut:
            most = result.campaign.get("best") == "most"
            table = table.sort_values("mean", ascending=not most, kind="stable", na_position="last")
        shown = table[[*[name for name in table if name in result.parameters], *_SHOWN]].head(_ROWS)
        empty = [name for name in result.parameters if shown[name].isna().all()]
        shown = shown.drop(columns=[*empty, *([] if shown["failed"].any() else ["failed"])])
        shown = shown.rename(columns={name: _heading(result, name) for name in result.parameters})
        name, unit = result.output.replace("_", " "), result.unit(result.output)
        lines += ["", f"{name[:1].upper()}{name[1:]}{unit and f' ({unit})'}"]
        lines += output.table(shown)
        if cut:
            lines.append(f"the best {_ROWS} of {len(table):,} rows; --out FILE writes all of them")
        if within is not None:
            best = rf.campaigns.best_cells(shown_result, within=within)
            best = best.rename(columns={"low": "difference_low", "high": "difference_high"})
            title = f"at most {100 * within:g} % worse than the best {so_far(result)}".rstrip()
            lines += ["", *output.few_rows(title, best)]
    output.print_lines([*lines, *written])


def _heading(result: CampaignResults, name: str) -> str:
    """A parameter as words, with the unit of its numbers; texts have their own."""
    unit = result.unit(name) if result.cells[name].dtype.kind in "iuf" else ""
    return name.replace("_", " ") + (unit and f" ({unit})")


def _progress(steps: ProgressSteps) -> Callable[[str, float], None]:
    """A bar where somebody watches, else a line now and then; that workers start is said at once."""
    last = time.monotonic()

    def say(text: str, share: float) -> None:
        nonlocal last
        steps.say(text, share)
        if text.startswith("starting") or (not sys.stderr.isatty() and time.monotonic() - last > _EVERY):
            last = time.monotonic()
            typer.echo(f"relfit: {text}", err=True)

    return say


@contextmanager
def _stopping(serial: bool) -> Iterator[list[int]]:
    """Signals so far: the first asks to stop, the second interrupts a run of this process, the third ends it."""
    signals: list[int] = []
    names = [name for name in ("SIGTERM", "SIGINT", "SIGUSR1") if hasattr(signal, name)]
    before: dict[int, Any] = {}

    def receive(number: int, _: object) -> None:
        signals.append(number)
        if len(signals) > 2:
            os.write(2, _AT_ONCE)
            os._exit(_INTERRUPTED)
        if len(signals) == 2 and serial:
            raise KeyboardInterrupt

    for name in names:
        number = getattr(signal, name)
        before[number] = signal.getsignal(number)
        signal.signal(number, receive)
    try:
        yield signals
    finally:
        for number, handler in before.items():  # a process that was asked to stop is about to end by itself
            signal.signal(number, signal.SIG_IGN if signals else handler)
