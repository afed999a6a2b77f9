"""The lifetimes of Titan's GPUs, 2013-2019 (Ostrouchov et al., SC20).

One row per stay of a GPU in a slot; ``duration`` in seconds is exact, the times are local and ambiguous in one hour of
each year. A further event of a stay has a row of its own, without ``insert``, ``duration`` and ``out``. A GPU's
lifetime is the sum of its stays; the option ``outcome`` says which ended in a failure, the others are censored: those
still run that were in a slot at the last instant of the file and are not marked as taken out.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from relfit.base.errors import ArgumentError
from relfit.base.text import count
from relfit.io.frames import events_frame, lifetimes_frame, population_frame, source_of
from relfit.io.parsing.delimited import read_csv
from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import TextTable, as_numbers
from relfit.io.parsing.text_content import as_text
from relfit.io.parsing.times import check_zone, spans
from relfit.io.reader import Reader, one_by_one
from relfit.log.failurelog import FailureLog, Window

_NAME = "titan"
_TIMEZONE = "America/New_York"
_NEEDED = ("SN", "location", "insert", "remove", "duration", "out", "event")
_PLACE = r"^c(?P<column>\d+)-(?P<row>\d+)c(?P<cage>\d+)s(?P<slot>\d+)n(?P<position>\d+)$"
_OUTCOMES = {"out_with_event": "taken out after an event", "out_or_event": "taken out, or an event"}
_SECONDS_PER_HOUR = 3600.0


def _recognises(content: Content) -> bool:
    """Whether the first line is this format's header."""
    return [name.strip() for name in content.first_line().split(",")] == list(_NEEDED)


def _read(content: Content, *, strict: bool, timezone: str | None, outcome: str = "out_with_event") -> FailureLog:
    """Read the Titan GPU lifetimes CSV; times are in `timezone`, by default ``America/New_York``.

    The log holds one lifetime per GPU and its events (``dbe`` double-bit error, ``otb`` off the bus, ``removed`` taken
    out without either), at the end of the stay. The place (cabinet column and row, cage, slot, position) of a lifetime
    is that of the GPU's longest stay. A lifetime ended in a failure by `outcome`: ``out_with_event`` (the GPU was taken
    out for good and had an event, as in the study) or ``out_or_event``.
    """
    if outcome not in _OUTCOMES:
        raise ArgumentError(f"outcome={outcome!r} is not known", remedy=f"use {' or '.join(_OUTCOMES)}")
    text = as_text(content)
    table = read_csv(text, _NEEDED, "the Titan GPU CSV")
    zone, rejections = check_zone(timezone, _TIMEZONE), table.rejections
    further, out, events = table["insert"] == "", table["out"], table["event"]
    seconds = as_numbers(table["duration"])
    insert, remove, _, _ = spans(table["insert"], table["remove"], "%Y-%m-%d %H:%M:%S", zone, seconds)
    rejections.reject(table["SN"] == "", "no serial number", "SN")
    rejections.reject(remove.isna().to_numpy(), "not a date and time", "remove")
    rejections.reject(~further & insert.isna().to_numpy(), "not a date and time", "insert")
    rejections.reject(~further & ~np.isfinite(seconds), "no duration", "duration")
    rejections.reject(~further & (seconds < 0), "a negative duration", "duration")
    rejections.reject(~further & (remove < insert).to_numpy(), "removed before it was inserted", "remove")
    rejections.reject(~further & ~np.isin(out, ("TRUE", "FALSE")), "neither TRUE nor FALSE", "out")
    rejections.reject(~np.isin(events, ("", "DBE", "OTB")), "neither DBE nor OTB", "event")
    rejections.reject(further & (events == ""), "neither a stay nor an event", "event")
    serial, owner = np.unique(np.where(rejections.kept, table["SN"], ""), return_inverse=True)
    stays = np.bincount(owner[rejections.kept & ~further], minlength=serial.size)
    rejections.reject(rejections.kept & (stays[owner] == 0), "an event of a GPU without a stay", "SN")
    good = rejections.settle(strict)
    rows = pd.DataFrame(
        {
            "node": table["SN"],
            "location": table["location"],
            "insert": insert,
            "remove": remove,
            "hours": np.where(further, 0.0, seconds / _SECONDS_PER_HOUR),
            "out": out == "TRUE",
            "event": events != "",
            "cause": np.select([events == "DBE", events == "OTB", out == "TRUE"], ["dbe", "otb", "removed"], ""),
            "line": rejections.lines,
            "further": further,
        }
    )[good].reset_index(drop=True)
    return _assemble(rows, table, content, zone, text.notes, outcome)


def _assemble(
    rows: pd.DataFrame, table: TextTable, content: Content, zone: str, text_notes: tuple[str, ...], outcome: str
) -> FailureLog:
    place = rows["location"].str.extract(_PLACE).astype(float)
    integers = {name: int for name in place.columns if place[name].notna().all()}
    rows = pd.concat([rows, place.astype(integers)], axis=1)
    places = list(place.columns)
    failures = rows[rows["cause"] != ""].sort_values(["remove", "line"], kind="stable")
    events = events_frame(
        system=["titan"] * len(failures),
        node=failures["node"].to_numpy(),
        start=failures["remove"],
        cause=failures["cause"].to_numpy(),
        line=failures["line"].to_numpy(),
        attributes={name: failures[name].reset_index(drop=True) for name in places},
    )
    stays = rows[~rows["further"]]
    summaries = {"hours": "sum", "out": "any", "event": "any", "line": "min", "remove": "max"}
    lives = rows.groupby("node", sort=True).agg(summaries)
    observed = lives["out"] & lives["event"] if outcome == "out_with_event" else lives["out"] | lives["event"]
    # an event is preferred to a removal; the last one ended the life
    last = failures[(failures["cause"] != "removed") | (outcome == "out_or_event")]
    last = last.sort_values(["event", "remove", "line"], kind="stable").drop_duplicates("node", keep="last")
    cause = last.set_index("node")["cause"].reindex(lives.index).where(observed)
    longest = stays.sort_values("hours", kind="stable").drop_duplicates("node", keep="last").set_index("node")
    entered = stays.groupby("node")["insert"].min()
    where = {name: longest[name].reindex(lives.index).to_numpy() for name in places}
    lifetimes = lifetimes_frame(
        system=["titan"] * len(lives),
        node=lives.index.to_numpy(),
        duration=lives["hours"].to_numpy(),
        observed=observed.to_numpy(),
        line=lives["line"].to_numpy(),
        running=(~observed & ~lives["out"] & (lives["remove"] == lives["remove"].max())).to_numpy(),
        attributes={**where, "cause": cause.to_numpy()},
    )
    population = population_frame(
        system=["titan"] * len(lives),
        node=lives.index.to_numpy(),
        entered=entered.reindex(lives.index).reset_index(drop=True),
        left=lives["remove"].reset_index(drop=True),
        entered_known=True,
        left_known=True,
        declared=True,
        attributes=where,
    )
    ordered = stays.sort_values(["node", "insert"], kind="stable")
    same = (ordered["node"] == ordered["node"].shift()).to_numpy()
    overlapping = int((same & (ordered["insert"] < ordered["remove"].shift()).to_numpy()).sum())
    notes = [*text_notes, "a life is the sum of its GPU's stays; its place is that of the longest stay"]
    notes.append(
        f"{count(int(observed.sum()), 'lifetime')} ended in a failure by outcome={outcome} ({_OUTCOMES[outcome]}), "
        "the others are censored"
    )
    if overlapping:
        begin = count(overlapping, "stay begins", "stays begin")
        notes.append(f"{begin} before an earlier stay of the same GPU ends; durations stand")
    unplaced = int(place["column"].isna().sum())
    if unplaced:
        notes.append(f"{count(unplaced, 'row has', 'rows have')} a location that could not be parsed")
    source = source_of(content, _NAME, table.rows_read, len(rows), zone, notes)
    window = Window(population["entered"].min(), population["left"].max(), True, True)
    return FailureLog(events, population, window, table.rejections.frame(), source, lifetimes)


READER = Reader(_NAME, _recognises, one_by_one(_read), ("outcome",))
