"""What the commands do: read, select, compute with the library, show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from relfit.cli import output
from relfit.cli.options import Fitting, Reading, check_level, check_measure, family_names
from relfit.cli.progress import Steps
from relfit.errors import ArgumentError
from relfit.failurelog import FailureLog

__all__ = ["data", "fit", "info", "report"]

_ROWS_ON_A_TERMINAL = 24
_MOST_LISTED = 12
_MOST_PARAMETERS = 6  # columns of them; more are put into words
_SHOWN = ("status", "failures", "censored", "zeros")
_NOTHING_FITTED = "no group could be fitted; --per system pools the lives of all its nodes"
_FIGURES = ("mean", "mean_low", "mean_high", "aicc", "ks", "ks_p", "p_source")


def info(reading: Reading, *, as_json: bool, out: Path | None) -> None:
    """Show what a log holds."""
    output.check_destination(out)
    with Steps("reading", "counting") as steps:
        log = reading.select(reading.read())
        steps.next()
        document = {**log.info(), "rejected": output.records(log.rejected)}
    if out is not None and out.suffix.lower() == ".json":
        output.write_document(document, out)
    elif out is not None:
        output.write_table(log.rejected, out)
    if as_json:
        output.print_json(document)
        return
    output.print_lines(_about(log, document))
    if out is not None:
        output.print_lines([f"written to {out}"])


def _about(log: FailureLog, about: dict[str, Any]) -> list[str]:
    window = about["window"]
    ends = ", ".join(f"{end} {'declared' if window[f'{end}_known'] else 'as seen'}" for end in ("start", "end"))
    lines = [
        f"log       {', '.join(about['paths']) or 'in memory'} ({about['format']}, times in {about['timezone']})",
        f"rows      {about['rows_read']} read = {about['rows_kept']} kept + {about['rows_rejected']} rejected",
    ]
    rejections = log.rejections()
    for reason, count, first in rejections.head(_MOST_LISTED).itertuples():
        lines.append(f"          {count} rejected: {reason} (first in line {first})")
    if len(rejections) > _MOST_LISTED:
        lines.append(f"          and {len(rejections) - _MOST_LISTED} further reasons; see --json")
    lines += [f"          {note}" for note in about["notes"]]
    if about["selection"]:
        lines.append(f"selected  {'; '.join(about['selection'])} ({about['events_deselected']} events left out)")
    if about["nodes"] or about["events"]:
        hours = "unknown" if window["hours"] != window["hours"] else f"{window['hours']:.0f} hours"
        lines.append(f"window    {_moment(window['start'])} to {_moment(window['end'])} UTC, {hours} ({ends})")
    lines += [
        f"systems   {len(about['systems'])}: {_listed(about['systems'])}",
        f"nodes     {about['nodes']} ({about['nodes_declared']} declared, "
        f"{about['nodes_without_failure']} without a failure)",
        f"events    {about['events']} ({about['events_without_node']} without a node)",
    ]
    if about["lifetimes"] is not None:
        lines.append(f"lives     {about['lifetimes']} given whole")
    if about["causes"]:
        lines.append(f"causes    {_listed([f'{cause} {count}' for cause, count in about['causes'].items()])}")
    if about["attributes"]:
        lines.append(f"columns   {', '.join(about['attributes'])}")
    return lines


def _moment(stamp: str | None) -> str:
    return "unknown" if stamp is None else stamp[:16].replace("T", " ")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more


def fit(reading: Reading, fitting: Fitting, *, as_json: bool, out: Path | None) -> None:
    """Fit distributions and show them."""
    output.check_destination(out)
    families = family_names(fitting.families)
    level = check_level(fitting.level)
    check_measure(fitting.measure)
    replications, asked = fitting.replications, fitting.asked
    with Steps("reading", "deriving lives", "fitting", "testing", "writing") as steps:
        log = reading.select(reading.read())
        steps.next()
        lives = fitting.lives(log)
        steps.next()
        from relfit.fitting import fit as fit_lives

        fits = fit_lives(
            lives,
            families=families,
            level=level,
            method=fitting.method,
            bias_correction=fitting.bias_correction,
            bootstrap=replications,
            rng=fitting.seed,
        )
        intervals = {
            text: fits.interval(name, at=at, kind=fitting.kind, rng=fitting.seed)
            for text, (name, at) in zip(fitting.intervals, asked, strict=True)
        }
        steps.next()
        rejected = fits.rejected("ks")
        steps.next()
        chosen = "weibull" if "weibull" in families else families[0]
        describe = fits.describe(chosen)
        if out is not None:
            output.write_table(fits.to_frame(), out)
    if as_json:
        about = {key: value for key, value in log.info().items() if key not in ("systems", "causes")}
        described = {"family": chosen, "rows": output.records(describe.reset_index(names="over"))}
        output.print_json(
            {
                "log": about,
                **fits.to_dict(),
                "describe": described,
                "rejected": output.records(rejected.reset_index()),
                "intervals": {text: output.records(table) for text, table in intervals.items()},
            }
        )
        return
    left_out = ", ".join(f"{name} {count}" for name, count in lives.to_dict()["left_out"].items() if count)
    statuses = [
        f"{family}: {', '.join(f'{status} {n}' for status, n in _counted(fits[family].status))}" for family in families
    ]
    output.print_lines(
        [
            repr(log),
            repr(lives),
            *([f"left out: {left_out}"] if left_out else []),
            *lives.notes,
            *statuses,
            *([] if any(fits[family].ok.any() for family in families) else [_NOTHING_FITTED]),
            "",
            "Which family fits best (groups)",
            *output.table(fits.compare().reset_index()),
            "",
            "Groups in which K-S rejects the family at 5 %, one by one and with the false-discovery rate controlled",
            *output.table(rejected.reset_index()),
            "",
            f"Spread of the {chosen} over the groups (times in hours)",
            *output.table(describe.reset_index(names="")),
            "",
            f"Fits by group (hours, {100 * level:g} % intervals)",
        ]
    )
    table = fits.summary().reset_index()
    shown = table.head(_ROWS_ON_A_TERMINAL) if output.is_terminal() else table
    keys = list(table.columns[: table.columns.get_loc("status")])
    own = dict.fromkeys(name for result in fits.results.values() for name in result.parameters)
    if len(own) > _MOST_PARAMETERS:
        shown = shown.assign(parameters=[_in_words(row) for row in shown[list(own)].to_dict("records")])
        own = {"parameters": None}
    columns = [*keys, *_SHOWN, *own, *_FIGURES]
    output.print_lines(output.table(shown[columns]))
    if len(shown) < len(table):
        output.print_lines([f"... {len(table) - len(shown)} more rows; --out fits.csv writes all of them"])
    for text, found in intervals.items():
        part = found.head(_ROWS_ON_A_TERMINAL) if output.is_terminal() else found
        output.print_lines(["", f"{text}: {100 * level:g} % {fitting.kind} intervals", *output.table(part)])
    if out is not None:
        output.print_lines([f"written to {out}"])


def _in_words(parameters: dict[Any, Any]) -> str:
    """Those parameters that a family has, as text."""
    return ", ".join(f"{name} {value:.4g}" for name, value in parameters.items() if value == value)


def _counted(statuses: Any) -> list[tuple[str, int]]:
    import pandas as pd

    return [(str(status), int(n)) for status, n in pd.Series(statuses, dtype=object).value_counts().items()]


def report(
    reading: Reading,
    out: Path,
    *,
    families: str,
    per: str,
    censor: bool,
    level: float,
    nodes: list[str] | None,
    title: str | None,
    as_json: bool,
) -> None:
    """Write the HTML report."""
    output.check_destination(out, endings=(".html", ".htm"))
    names = family_names(families)
    check_level(level)
    with Steps("reading", "writing the report") as steps:
        log = reading.select(reading.read())
        steps.next()
        from relfit.reporting import report as write_report

        path = write_report(log, out, families=names, per=per, level=level, nodes=nodes, title=title, censor=censor)
    if as_json:
        output.print_json({"report": str(path), "log": log.info()})
    else:
        output.print_lines([str(path)])


def data(name: str | None, *, as_json: bool, out: Path | None) -> None:
    """List the bundled samples or export one."""
    from relfit import datasets

    output.check_destination(out)
    listing = datasets.listing()
    names = [str(known) for known in listing["name"]]
    if name is not None and name not in names:
        raise ArgumentError(f"no bundled sample {name!r}", remedy=f"there is {', '.join(names)}")
    if name is None and out is not None and len(names) > 1:
        raise ArgumentError("--out needs the name of a sample", remedy=f"there is {', '.join(names)}")
    if out is not None:
        _export(datasets.load(name or names[0]), out)
    shown = listing if name is None else listing[listing["name"].astype(str) == name]
    if as_json:
        output.print_json({"samples": output.records(shown)})
        return
    output.print_lines(output.table(shown))
    if out is not None:
        output.print_lines([f"written to {out}"])


def _export(log: FailureLog, out: Path) -> None:
    """The whole log as Parquet; as CSV or JSON the events, as a table that `relfit.read` reads."""
    if out.suffix.lower() == ".parquet":
        from relfit.io import write

        write(log, out)
    else:
        output.write_table(log.events.drop(columns=["start_cut", "end_cut", "line"]), out)
