"""The parts of parsing, each on its own: numbers, times and durations in texts, files as texts, reasons."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from relfit.base.errors import ArgumentError, ReadError
from relfit.io.parsing.opening import Content, encoding_of, open_content, size_in_bytes
from relfit.io.parsing.rows import as_numbers, cell_text, in_categories
from relfit.io.parsing.settings import settings_of_text
from relfit.io.parsing.stamps import day_and_month, parse_stamps, same_clock
from relfit.io.parsing.text_content import as_text
from relfit.io.parsing.times import are_dates, are_times, durations, instants, no_length, no_time, unsaid

COMMA = '--column decimal="," reads it as a number'


def test_numbers_are_plain_ones():
    texts = ["1.5", "", "3e2500000000", "0x10", None, " 7"]
    np.testing.assert_array_equal(as_numbers(texts), [1.5, *[np.nan] * 5])


def test_encodings_are_told_by_the_first_bytes():
    assert encoding_of("node,start,end".encode("utf-16-le")) == "utf-16-le"
    assert encoding_of(b"node,start,end") is None


def test_compression_is_told_by_the_content(tmp_path):
    path = Path(tmp_path, "log")
    path.write_bytes(gzip.compress(b"node,start"))
    content = open_content(path)
    assert (content.data, content.compression) == (b"node,start", "gz")


def test_sizes():
    assert (size_in_bytes("1.5 GB"), size_in_bytes(1000)) == (1_500_000_000, 1000)
    with pytest.raises(ArgumentError, match="is not a size"):
        size_in_bytes("much")


def test_bytes_that_are_not_utf8_are_latin1():
    text = as_text(Content(Path("log.csv"), b"node\r\nz\xfcrich"))
    assert text.data.decode() == "node\nz\xfcrich"
    assert text.notes == ("1 byte is not UTF-8 and was taken as Latin-1, the first on line 2",)


def test_cells_as_texts():
    cells = (pa.scalar(2**62, pa.timestamp("us")), pa.scalar(1.5), pa.scalar(None))
    assert [cell_text(cell) for cell in cells] == ["4611686018427387904", "1.5", ""]


def test_codes_become_categories():
    column = in_categories(np.array([1, 0, -1]), np.array([0, 1, -1, 1]), pd.Index(["a", "b"]))
    assert column.astype(object).fillna("none").tolist() == ["b", "a", "none", "a"]
    kinds = pd.Index([f"k{number:03d}" for number in range(200)])
    column = in_categories(np.append(np.arange(200), -1), np.array([199, -1, 0]), kinds)
    assert column.astype(object).fillna("none").tolist() == ["k199", "none", "k000"]


def test_settings_name_the_line_of_a_fault():
    assert settings_of_text("nodes = 4", "toml", "a machine") == {"nodes": 4}
    with pytest.raises(ReadError, match="line 1: this is not TOML: Invalid value"):
        settings_of_text("nodes =", "toml", "a machine")


def test_stamps_with_a_leap_second_and_a_zone():
    stamps = parse_stamps(pa.array(["2016-12-31 23:59:60", "2 Jan 2017 01:00 +01:00", "05/02/24", "now"]))
    shown = stamps.clock[:2].view("datetime64[ns]").astype("datetime64[s]").astype(str).tolist()
    assert shown == ["2017-01-01T00:00:00", "2017-01-02T00:00:00"]
    assert stamps.good.tolist() == [True, True, False, False]


def test_stamps_of_an_hour_and_those_in_several_parts():
    midnight = pd.Timestamp("2024-01-01").value
    of_an_hour = parse_stamps(pa.array(["2024-01-01T05Z"]))
    assert (of_an_hour.good[0], of_an_hour.absolute[0], of_an_hour.clock[0]) == (
        True,
        True,
        midnight + 5 * 3600 * 10**9,
    )
    parts = [pa.array(texts).dictionary_encode() for texts in (["2024-01-01", None], ["2024-01-02"])]
    stamps = parse_stamps(pa.chunked_array(parts))
    assert stamps.good.tolist() == [True, False, True]
    assert stamps.clock[[0, 2]].tolist() == [midnight, midnight + 24 * 3600 * 10**9]


def test_order_of_days_and_months():
    assert day_and_month([pa.array(["02/03/2024", "13/03/2024"])]) == (True, "13/03/2024")
    assert day_and_month([pa.array(["02/03/2024"])]) == (None, "02/03/2024")


def test_words_for_no_time():
    assert unsaid(np.array(["", "Unknown", "n/a", "2024-01-01"], dtype=object)).tolist() == [True, True, True, False]


def test_unix_times():
    times, bad = instants(["1700000000", "x"], "UTC", "unix")
    assert times[0].isoformat() == "2023-11-14T22:13:20+00:00"
    assert bad.tolist() == [False, True]


def test_what_are_times_and_dates():
    assert are_times(pa.array(["2024-03-01", "", "1 Mar 2024"]))
    assert not are_times(pa.array(["r1", "2024"]))
    assert are_dates(pa.array(["2024-03-01", "2024-04-01"]))
    assert not are_dates(pa.array(["20240301", "20240401"]))


def test_durations_in_words_and_with_commas():
    texts = ["90", "2h 30min", "1 day 01:00:00", "soon", "1,5"]
    np.testing.assert_array_equal(durations(texts, 1 / 60), [1.5, 2.5, 25.0, np.nan, np.nan])
    np.testing.assert_array_equal(
        durations(["1,5", "1.234,5", "1.234", "1.5"], 1.0, ","), [1.5, 1234.5, 1234.0, np.nan]
    )


def test_one_clock_for_times_with_and_without_a_zone():
    columns = {"start": pa.array(["2024-07-01T10:00:00Z"]), "end": pa.array(["2024-07-01 12:00"])}
    notes = same_clock(columns, {"start": {True}, "end": {False}}, None, Path("log.csv"))
    assert notes == ["times of 'end' without a zone are taken as UTC, as the others are"]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (no_time("soon"), "'soon' is not a date or time"),
        (no_length("12,5"), f"'12,5' is not a finite duration; {COMMA}"),
        (
            no_length("1,500"),
            "'1,500' is not a finite duration; if the comma separates thousands, write it without; if it is the "
            f"decimal sign, {COMMA}",
        ),
        (
            no_length("1.5", ","),
            "'1.5' is not a finite duration; with a decimal comma, points separate groups of three digits before it",
        ),
    ],
)
def test_reasons(said, reason):
    assert said == reason
