"""The commands that look at a log: info and report."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import relfit as rf
from relfit.base.errors import RelfitError
from relfit.base.text import count, duration, first_names
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.progress import ProgressSteps

if TYPE_CHECKING:
    from pandas import DataFrame

_ALL = "--details shows rules, notes, systems and columns; --out FILE writes the rejected rows."
_MOST_LISTED = 12
_MOST_JOINED = 200_000  # failures that are joined to incidents
_LONGEST = 60
_FEW = 3  # reasons of rejected rows, and notes, in a short answer


def info(reading: opt.Reading, json: opt.Json = False, out: opt.Out = None, details: opt.Details = False) -> None:
    """What a log contains: rows, window, nodes.

    --out writes the rejected rows, each with its file, line and reason; to a .json file, the summary of the log.
    """
    output.check_destination(out)
    with ProgressSteps("reading", "counting") as steps:
        log = reading.read(tell=False)
        steps.next()
        document = {**log.info(), "rejected": log.rejected}
    if out is not None and out.suffix.lower() == ".json":
        output.write_document(document, out)
    elif out is not None:
        output.write_table(log.rejected, out)
    if json:
        output.print_json(document)
        return
    lines = complete(log, document) if details else [*brief(log, document), _ALL]
    output.print_lines([*lines, *output.told(out)])


def report(
    reading: opt.PeriodReading,
    out: Path = opt.out("FILE.html", "The report: one self-contained HTML file.", Path("report.html")),
    families: opt.Families = opt.FAMILIES,
    level: opt.Level = 0.95,
    title: str | None = opt.option("TEXT", "Title of the report."),
    json: opt.Json = False,
) -> None:
    """Write a report as one HTML file.

    Its first sentence is printed, then the name of the file on the last line.
    """
    output.check_destination(out, endings=(".html", ".htm"))
    with ProgressSteps("reading", "writing the report") as steps:
        names = checked.family_names(families)
        log = reading.read()
        from relfit.base.numeric.compiled import kept
        from relfit.fitting.conditional_terms import value_of_group
        from relfit.reporting import report_with_answer

        if sys.stderr.isatty() and not kept(value_of_group):
            print("relfit: compiling functions, once per installation: about ten seconds", file=sys.stderr)
        steps.next()
        study = reading.study(log, level=level)
        answer, path = report_with_answer(study, out, families=names, title=title, progress=steps.say)
    if json:
        output.print_json({"answer": answer, "report": str(path), "log": log.info()})
    else:
        output.print_lines([answer, str(path)])


def brief(log: rf.FailureLog, about: dict[str, Any]) -> list[str]:
    """What a log contains, in about ten lines."""
    notes = [note for note in about["notes"] if not note.startswith("columns: ")]
    more = [f"{count(len(notes) - _FEW, 'more note')}"] if len(notes) > _FEW else []
    listing = _listing(log, about["nodes_without_failure"])
    nodes = f"nodes     {about['nodes']:,} of {count(len(about['systems']), 'system')} ({listing})"
    lines = [_summary(log, about), *_rows_read(log, about, _FEW)]
    lines += [f"          {note}" for note in (*notes[:_FEW], *more)]
    lines += [*_funnel(log), *_window(log, about), nodes, *_in_service(log)]
    return [*lines, *_columns_read(about), *_taken_for(log, about)]


def _columns_read(about: dict[str, Any]) -> list[str]:
    """Which column of a table each field comes from, without the examples of the note on it, and the other columns."""
    note = next((note for note in about["notes"] if note.startswith("columns: ")), None)
    if note is None:
        return []
    note = note.removeprefix("columns: ").partition("; change one")[0]
    fields = re.sub(r""" \(as (['"]).*?\1(?: \w+)?\)(?=[,;]|$)""", "", note)
    others = [name for name in about["attributes"] if f"{name} from " not in fields]
    return [f"columns   {fields}{f'; attributes {first_names(others, _MOST_LISTED)}' if others else ''}"]


def _rows_read(log: rf.FailureLog, about: dict[str, Any], most: int) -> list[str]:
    """How many rows were kept, and why the others were not."""
    read, used, rejected = (f"{about[f'rows_{name}']:,} {name}" for name in ("read", "kept", "rejected"))
    lines = [f"rows      {read} = {used} + {rejected}"]
    rejections = log.rejections()
    for reason, number, first in rejections.head(most).itertuples():
        what = reason.replace("... ", "a text ", 1) if reason.startswith("... ") else reason
        lines.append(f"          {number:,} rejected: {what} (first in line {first})")
    if len(rejections) > most:
        lines.append(f"          and {count(len(rejections) - most, 'further reason')}; see --json")
    return lines


def _funnel(log: rf.FailureLog) -> list[str]:
    """From the lines of a raw log to incidents."""
    if not log.source.funnel:
        return []
    (*steps, (last, records)), joined = log.source.funnel, _joined(log)
    last = "records" if joined and joined[0][1] < records else last
    steps += [(last, records), *(step for step in joined if step != (last, records))]
    return [f"funnel    {' > '.join(f'{number:,} {step}' for step, number in steps)}"]


def _window(log: rf.FailureLog, about: dict[str, Any]) -> list[str]:
    """When failures would have been recorded."""
    if log.undated and log.lifetimes is not None:
        total = log.lifetimes["duration"].sum()
        return [f"observed  {total:,.0f} hours in all; the durations carry no dates"]
    if not about["nodes"] and not about["events"]:
        return []
    window = about["window"]
    ends = ", ".join(f"{end} {'declared' if window[f'{end}_known'] else 'as seen'}" for end in ("start", "end"))
    hours = "unknown" if window["hours"] != window["hours"] else f"{window['hours']:,.0f} hours"
    return [f"window    {_moment(window['start'])} to {_moment(window['end'])} {about['timezone']}, {hours} ({ends})"]


def _taken_for(log: rf.FailureLog, about: dict[str, Any]) -> list[str]:
    """The open question, what the first record was taken for, and the causes."""
    from relfit.log.units_in_service import yearly_failures

    question = [] if log.question is None else [f"question  {log.question[:1].upper() + log.question[1:]}"]
    lives = [] if log.lifetimes is None else [f"lifetimes {_ended(log.lifetimes)}"]
    if lives and not log.undated:
        lives.append(f"rate      {yearly_failures(log.ttf('all'))}")
    causes = [f"{cause} {number:,}" for cause, number in about["causes"].items()]
    return [
        *question,
        *_first_record(log),
        *lives,
        *([f"causes    {first_names(causes, _MOST_LISTED)}"] if causes else []),
    ]


def _ended(lives: DataFrame) -> str:
    """How many lifetimes there are, and how many of them are complete and censored."""
    size, complete = len(lives), int(lives["observed"].sum())
    if complete == size:
        return f"{size:,}, all complete"
    running = f"{int(lives['running'].sum()):,} still running" if "running" in lives else "taken as still running"
    return f"{size:,}: {complete:,} complete, {size - complete:,} censored ({running})"


def complete(log: rf.FailureLog, about: dict[str, Any]) -> list[str]:
    """What a log contains, with rules, notes, systems and columns."""
    lines = [
        _summary(log, about),
        f"log       {', '.join(about['paths']) or 'in memory'} ({about['format']}, times in {about['timezone']})",
        *_rows_read(log, about, _MOST_LISTED),
    ]
    lines += [f"          {note}" for note in about["notes"]]
    lines += _funnel(log)
    if log.source.funnel:
        lines += [f"          {rule}" for rule in log.source.rules[:_MOST_LISTED]]
    if about["selection"]:
        left_out = count(about["events_deselected"], "event")
        lines.append(f"selected  {'; '.join(about['selection'])} ({left_out} left out)")
    lines += [
        *_window(log, about),
        f"systems   {len(about['systems'])}: {first_names(about['systems'], _MOST_LISTED)}",
        f"nodes     {about['nodes']:,} ({_listing(log, about['nodes_without_failure'])})",
        *_in_service(log),
        f"events    {about['events']:,} ({about['events_without_node']:,} without a node)",
    ]
    lines += _taken_for(log, about)
    if about["attributes"]:
        lines.append(f"columns   {', '.join(about['attributes'])}")
    return lines


def _listing(log: rf.FailureLog, quiet: int) -> str:
    """Who says which nodes there are."""
    nodes, listed = log.n_nodes, int(log.population["declared"].sum())
    if not listed:
        others = f", {quiet:,} of them without a failure" if quiet else ""
        return f"those that the log names{others}; nothing lists all nodes"
    from relfit.log.tables import NOT_SEEN  # slow to import

    unnamed = log.population["node"].astype(str).str.startswith(f"{NOT_SEEN} ").sum()
    if unnamed:
        return f"their number as given; {nodes - unnamed:,} are in the log, {quiet:,} without a failure"
    return f"{'all' if listed == nodes else f'{listed:,}'} listed by the source, {quiet:,} without a failure"


def _in_service(log: rf.FailureLog) -> list[str]:
    """How many nodes were not there for all of the window."""
    people, window, zone = log.population, log.window, log.source.timezone
    if log.lifetimes is not None:
        return []
    lines = []
    for name, some, words in (
        ("entered", people["entered"] > window.start, "entered later"),
        ("left", people["left"] < window.end, "left early"),
    ):
        if some.any():
            first, of = people.loc[some, name].min().tz_convert(zone), count(len(people), "node")
            lines.append(f"          {some.sum():,} of {of} {words}, first on {first:%Y-%m-%d}")
    return lines


def _summary(log: rf.FailureLog, about: dict[str, Any]) -> str:
    """What the log holds, in one sentence."""
    what = count(about["events"], "record")
    if about["lifetimes"] is not None:
        what = count(about["lifetimes"], "lifetime")
    hours = about["window"]["hours"]
    span = f" in {duration(hours)}" if hours == hours and about["lifetimes"] is None else ""
    span = " at one instant" if hours == 0.0 else span
    omissions = "; ".join(filter(None, [opt.omissions(log), *log.source.omissions[len(log.source.not_read) :]]))
    omissions = omissions or ("no row was rejected" if log.source.funnel else "every row was used")
    return f"{what} of {count(about['nodes'], 'node')}{span}; {omissions}."


def _joined(log: rf.FailureLog) -> list[tuple[str, int]]:
    """The last steps of the funnel: records of one failure, and failures that belong together, joined."""
    from relfit.log.outages import records_counted  # slow to import

    if not 0 < len(log) <= _MOST_JOINED or log.at_one_instant:
        return []
    with suppress(RelfitError):
        return [("failures", int(records_counted(log).sum())), ("incidents", len(rf.incidents(log).table))]
    return []


def _first_record(log: rf.FailureLog) -> list[str]:
    """What the first record was taken for."""
    if not len(log.events):
        return []
    first, missing, zone = log.events.iloc[0], log.events.iloc[0].isna(), log.source.timezone
    start, end = (None if missing[name] else first[name].tz_convert(zone).isoformat() for name in ("start", "end"))
    end = "not known" if end is None else _moment(end)
    node, cause = ("none" if missing[name] else repr(str(first[name])[:_LONGEST]) for name in ("node", "cause"))
    end = "cut off" if first["end_cut"] else end
    return [f"example   node {node}, start {_moment(start)}, end {end}, cause {cause} (line {first['line']})"]


def _moment(stamp: str | None) -> str:
    return "unknown" if stamp is None else stamp[:16].replace("T", " ")
