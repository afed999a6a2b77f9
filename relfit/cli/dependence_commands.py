"""The commands that ask whether failures are independent, steady and counted once: dependence, trend, incidents."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relfit.cli import output
from relfit.cli.options import Reading
from relfit.cli.progress import Steps

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["dependence", "incidents", "trend"]

_ROWS = 24


def dependence(reading: Reading, *, as_json: bool, out: Path | None) -> None:
    """Show whether nodes depend on each other, and failures on those before."""
    output.check_destination(out)
    with Steps("reading", "asking") as steps:
        log = reading.select(reading.read())
        steps.next()
        from relfit.dependence import dependence as ask

        found = ask(log)
    _show(log, found.to_frame(), {"dependence": found.to_dict()}, [found.sentence], as_json=as_json, out=out)


def trend(reading: Reading, per: str, *, as_json: bool, out: Path | None) -> None:
    """Show eras, tests of trend and point processes."""
    output.check_destination(out)
    with Steps("reading", "finding eras", "testing") as steps:
        log = reading.select(reading.read())
        steps.next()
        from relfit.eras import eras
        from relfit.recurrence import compare_processes, histories_of_log, mean_cumulative, trend_tests

        periods = eras(log)
        steps.next()
        histories = histories_of_log(log, per)
        tests, processes = trend_tests(histories), compare_processes(histories)
        cumulative = mean_cumulative(histories)
    document = {
        "eras": periods.to_dict(),
        "trend": tests.to_dict(),
        "processes": processes.to_dict(),
        "mean_cumulative": cumulative.to_dict(),
    }
    sentences = [periods.sentence, tests.sentence, processes.sentence, cumulative.sentence]
    extra = ["", "Eras", *output.table(_flat(periods.to_frame()))]
    _show(log, _flat(tests.to_frame()), document, sentences, extra, as_json=as_json, out=out)


def incidents(reading: Reading, window: str | None, place: str, *, as_json: bool, out: Path | None) -> None:
    """Show the incidents that records belong to."""
    output.check_destination(out)
    with Steps("reading", "joining") as steps:
        log = reading.select(reading.read())
        steps.next()
        from relfit.incidents import incidents as join

        found = join(log, window, place)
    rates = ["", "Rates by scope", *output.table(_flat(found.rates()))]
    causes = ["", "Causes", *output.table(_flat(found.causes()))]
    _show(
        log, found.to_frame(), {"incidents": found.to_dict()}, [found.sentence], [*rates, *causes],
        as_json=as_json, out=out,
    )  # fmt: skip


def _flat(table: pd.DataFrame) -> pd.DataFrame:
    """A table with its keys as columns."""
    return table.reset_index(drop=table.index.names == [None])


def _show(
    log: Any,
    table: Any,
    document: dict[str, Any],
    sentences: Iterable[str],
    extra: Iterable[str] = (),
    *,
    as_json: bool,
    out: Path | None,
) -> None:
    if out is not None:
        output.write_table(table, out)
    if as_json:
        output.print_json({"sentences": list(sentences), **document})
        return
    shown = table.head(_ROWS)
    output.print_lines([repr(log), "", *sentences, *extra, "", *output.table(shown)])
    if len(shown) < len(table):
        output.print_lines([f"... {len(table) - len(shown)} more rows; --out table.csv writes all of them"])
    if out is not None:
        output.print_lines([f"written to {out}"])
