"""Backblaze's drive statistics: one row per drive and day, one file per day.

A drive is observed from its first row to the end of the day of its last. ``failure`` is 1 on the last day on which a
drive worked, so it failed at the end of that day. Days without a failure are not events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relfit.base.arrays import BoolArray
from relfit.io.parsing.delimited import read_delimited
from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import TextTable, as_text_array
from relfit.io.parsing.stamps import parse_stamps
from relfit.io.parsing.text_content import as_text
from relfit.io.parsing.times import check_zone
from relfit.io.raw_logs import RawFailures, RecordTally
from relfit.io.reader import Reader
from relfit.log.failurelog import FailureLog

_NAME = "backblaze"
_NEEDED = ("date", "serial_number", "failure")
_PLACE = ("datacenter", "cluster_id", "vault_id", "pod_id", "pod_slot_num")  # only in the files of later years
_ABOUT = ("model", "capacity_bytes", *_PLACE)
_WANTED = (*_NEEDED, *_ABOUT)
_DAY = 86_400_000_000_000
_GATHERED = 2_000_000  # rows counted at a time


def _recognises(content: Content) -> bool:
    """Whether the first line has columns for the day, the drive and its failure."""
    names = content.first_line().replace('"', "").split(",")
    return {"date", "serial_number", "model", "failure"} <= {name.strip() for name in names}


def _read(contents: Sequence[Content], *, strict: bool, timezone: str | None) -> FailureLog:
    """Read daily rows of drives, one file at a time; days are those of UTC. A repeated row counts once."""
    records = RecordTally(contents, _NAME, check_zone(timezone))
    drives: pa.Table | None = None
    failures: dict[tuple[str, int], int] = {}
    gathered: list[pa.Table] = []
    for content in contents:
        table = read_delimited(as_text(content), ",", only=_WANTED)
        table.require(_NEEDED, "the drive statistics of Backblaze")
        good, days, failed = _checked(table)
        serials = as_text_array(table.columns["serial_number"])
        for row in np.flatnonzero(failed & good).tolist():
            failures.setdefault((serials[row].as_py(), int(days[row])), int(table.rejections.lines[row]))
        about = [name for name in _ABOUT if name in table.columns]
        columns = dict.fromkeys(_ABOUT, pa.nulls(days.size, pa.string()))
        columns |= {name: pc.cast(as_text_array(table.columns[name]), pa.string()) for name in about}
        day = pa.array(days)
        part = pa.table({"serial": pc.cast(serials, pa.string()), "first": day, "last": day, **columns})
        gathered.append(part if good.all() else part.filter(pa.array(good)))
        records.add(table)
        if sum(each.num_rows for each in gathered) > _GATHERED:
            drives = _together([drives, *gathered])
            gathered = []
    drives = _together([drives, *gathered])
    records.funnel += [("drive-days", records.read), ("drives", drives.num_rows)]
    serial, first, last = (drives[name].to_numpy() for name in ("serial", "first", "last"))
    model_of = dict(zip(serial.tolist(), drives["model"].to_pylist(), strict=True))
    names = [name for name, _ in failures]
    outcome = RawFailures(
        names,
        (np.array([day for _, day in failures], dtype=np.int64) + 1) * _DAY,
        np.full(len(names), "drive failure", dtype=object),
        np.array(list(failures.values()), dtype=np.int64),
        attributes={"model": [model_of[name] for name in names]},
        system="drives",
    )
    people = {
        name: drives[name].to_numpy(zero_copy_only=False)
        for name in _ABOUT
        if drives[name].null_count < drives.num_rows
    }
    watched = (first.astype(np.int64) * _DAY, (last.astype(np.int64) + 1) * _DAY)
    records.notes.append("a drive fails at the end of the day that says so; its age when the rows begin is not known")
    days = np.concatenate(watched)
    return outcome.log(records, None, days, serial.tolist(), strict, watched=watched, people=people, listed=True)


def _checked(table: TextTable) -> tuple[BoolArray, Any, BoolArray]:
    """Valid rows, their day since 1970, and which failed."""
    dates = table.columns["date"]
    dates = dates.unify_dictionaries().combine_chunks() if pa.types.is_dictionary(dates.type) else as_text_array(dates)
    stamps = parse_stamps(dates)
    flag = table.columns["failure"]
    flag = flag if pa.types.is_dictionary(flag.type) else pa.chunked_array([pc.dictionary_encode(as_text_array(flag))])
    flag = flag.unify_dictionaries().combine_chunks()
    words = [str(word) for word in flag.dictionary.to_pylist()]
    codes = pc.fill_null(flag.indices, len(words)).to_numpy(zero_copy_only=False)
    is_flag, failed = (np.isin([*words, ""], kinds)[codes] for kinds in (("0", "1", "0.0", "1.0"), ("1", "1.0")))
    serial = pc.fill_null(pc.not_equal(as_text_array(table.columns["serial_number"]), ""), False)
    rejections = table.rejections
    rejections.reject(~stamps.good, "not a date", "date")
    rejections.reject(~serial.to_numpy(zero_copy_only=False), "no serial number", "serial_number")
    rejections.reject(~is_flag, "neither 0 nor 1", "failure")
    return rejections.kept, stamps.clock // _DAY, failed


def _together(parts: Sequence[pa.Table | None]) -> pa.Table:
    """One row per drive: its first and last day, its model, size and place."""
    table = pa.concat_tables([part for part in parts if part is not None])
    grouped = table.group_by("serial", use_threads=False).aggregate(
        [("first", "min"), ("last", "max"), *((name, "last") for name in _ABOUT)]
    )
    renamed = {"first_min": "first", "last_max": "last", **{f"{name}_last": name for name in _ABOUT}}
    names = [renamed.get(name, name) for name in grouped.column_names]
    return grouped.rename_columns(names).select(["serial", "first", "last", *_ABOUT])


READER = Reader(_NAME, _recognises, _read)
