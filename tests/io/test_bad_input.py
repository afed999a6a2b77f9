"""Bad input gives rejected rows or one clear error, never anything else."""

from __future__ import annotations

import contextlib
import json
import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import relfit as rf
from tests.examples import examples
from tests.io.made import good_files


def write(tmp_path, data: bytes | str):
    path = tmp_path / "log.csv"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"   \n\n", "blanks"),
        (b"node,start\n", "no row"),
        (bytes(range(256)) * 50, "binary"),
        (b"PK\x03\x04" + b"x" * 100, "zip"),
        (b"hello world\nthis is prose\n", "not the header"),
        (b"a,b\n1,2\n", "no column is recognized as the time"),
        (b"node,node,start\na,a,2024-01-01\n", "two columns are called"),
        (b"node,start\n" + b"x" * 10_000_000, "longer than a million"),
        (b"node,start\na,never\n", "every row was rejected"),
        (b"node,start,end\na,2024-01-02,2024-01-01\n", "'end': ends before it starts: are start and end exchanged"),
    ],
)
def test_files_that_are_no_log(tmp_path, data, message):
    with pytest.raises(rf.ReadError, match=message):
        rf.read(write(tmp_path, data))


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(rf.ReadError, match="no such file"):
        rf.read(tmp_path / "nothing.csv")


def test_refused_rows_of_a_table(tmp_path):
    rows = [
        "node,start,end,duration",
        "a,2024-01-01 00:00,2024-01-01 01:00,",
        "a,2024-02-30 00:00,,",
        "a,2024-01-02 00:00,2024-01-01 00:00,",
        ",2024-01-02 00:00,,",
        "a,,2024-01-02,",
        "a,2024-01-03 00:00,2024-01-03 01:00,,,extra",
        "a,2024-01-01 00:00,2024-01-01 01:00,",
    ]
    log = rf.read(write(tmp_path, "\n".join(rows)))
    assert log.rejected[["line", "reason"]].to_numpy().tolist() == [
        [3, "'2024-02-30 00:00' is not a date or time"],
        [4, "ends before it starts"],
        [6, "no time"],
        [7, "6 fields where the header has 4"],
        [8, "duplicate of an earlier row"],
    ]
    assert log.source.rows_read == 7
    assert log.events["node"].notna().tolist() == [True, False]


def test_a_start_said_to_be_unknown_is_shown_and_an_end_is_none(tmp_path):
    rows = "node,start,end\na,2024-01-01 00:00,unknown\nb,unknown,2024-01-02 00:00\nc,2024-01-03 00:00,-\n"
    log = rf.read(write(tmp_path, rows))
    assert log.rejected[["line", "reason"]].to_numpy().tolist() == [[3, "'unknown' is not a date or time"]]
    assert log.events["end"].isna().tolist() == [True, True]


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "-inf", "soon", "1e300"])
def test_impossible_durations(tmp_path, value):
    log = rf.read(write(tmp_path, f"node,duration\na,5\nb,{value}\n"))
    assert log.rejected["line"].tolist() == [3]
    log = rf.read(write(tmp_path, f"node,start,duration\na,2024-01-01,5\nb,2024-01-01,{value}\n"))
    assert log.rejected["line"].tolist() == [3]


def test_a_single_huge_field_among_good_rows_is_named(tmp_path):
    with pytest.raises(rf.ReadError, match="line 3"):
        rf.read(write(tmp_path, b"node,start\na,2024-01-01\n" + b"x" * 2_000_000 + b",2024-01-02\n"))


def test_mixed_encodings_are_read_and_noted(tmp_path):
    log = rf.read(write(tmp_path, "node,start\nzürich,2024-01-01\n".encode() + b"z\xfcrich-2,2024-01-02\n"))
    assert sorted(log.population["node"].astype(str)) == ["zürich", "zürich-2"]
    assert any("not UTF-8" in note for note in log.source.notes)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(tmp_path, encoding):
    log = rf.read(write(tmp_path, "node,start\na,2024-01-01\n".encode(encoding)))
    assert len(log) == 1


def test_quoted_newlines_keep_line_numbers(tmp_path):
    log = rf.read(write(tmp_path, 'node,start,note\na,2024-01-01,"one\ntwo"\nb,never,x\n'))
    assert log.rejected["line"].tolist() == [4]


def test_one_node_no_failure(tmp_path):
    log = rf.read(write(tmp_path, "node,start\na,2024-01-01\n"))
    assert log.ttf().n_groups == 1
    assert set(rf.fit(log.ttf()).to_frame()["status"]) <= {"all_censored", "too_few"}


@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=400))
def test_random_bytes_raise_relfit_errors_only(tmp_path, data):
    _read_quietly(write(tmp_path, data))


@pytest.mark.slow
@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(["lanl", "fta", "titan", "table"]), seed=st.integers(0, 10_000))
def test_damaged_files_raise_relfit_errors_only(tmp_path, name, seed):
    path = good_files(tmp_path)[name]
    chance = random.Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(chance.randrange(1, 30)):
        where = chance.randrange(len(data))
        action = chance.randrange(3)
        if action == 0:
            data[where] = chance.randrange(256)
        elif action == 1:
            del data[where : where + chance.randrange(1, 20)]
        else:
            data[where:where] = bytes(chance.choice([b",", b"\t", b"\n", b'"', b"-", b"99999999", b"nan", b"\x00"]))
        if not data:
            break
    path.write_bytes(bytes(data))
    _read_quietly(path)


def _read_quietly(path) -> None:
    with contextlib.suppress(rf.RelfitError):
        log = rf.read(path)
        assert log.source.rows_read == log.source.rows_kept + len(log.rejected)
        json.dumps(log.info(), allow_nan=False, default=str)
        lives = log.ttf()
        assert np.isfinite(lives.durations).all()
        rf.fit(lives)
