"""What every reader keeps: counts that add up, UTC, columns, a Parquet copy without loss, and strictness."""

from __future__ import annotations

import bz2
import contextlib
import dataclasses
import gzip
import inspect
import lzma
import random
import re

import pandas as pd
import pyarrow as pa
import pytest

import relfit as rf
from relfit.io import FORMATS, READERS
from relfit.io.parsing.opening import open_content
from relfit.log.tables import EVENT_COLUMNS, POPULATION_COLUMNS, REJECTED_COLUMNS
from tests.factories import make_log
from tests.io.made import BAD_ROWS, good_files

TEXT_FORMATS = tuple(name for name in FORMATS if name != "relfit")
REAL = {
    "lanl": ("lanl-failures-1996-2005.csv.xz", 23_739, 23_714),
    "fta": ("grid5000-fta", 588_463, 588_463),
    "titan": ("titan-gpu-lifetimes.csv.xz", 37_343, 37_340),
}


def keeps_the_contract(log: rf.FailureLog) -> None:
    assert log.source.rows_read == log.source.rows_kept + len(log.rejected)
    assert tuple(log.events.columns[: len(EVENT_COLUMNS)]) == EVENT_COLUMNS
    assert tuple(log.population.columns[: len(POPULATION_COLUMNS)]) == POPULATION_COLUMNS
    assert tuple(log.rejected.columns) == REJECTED_COLUMNS
    for column in (log.events["start"], log.events["end"], log.population["entered"], log.population["left"]):
        assert str(column.dtype) == "datetime64[ns, UTC]"
    assert log.events["start"].notna().all()
    assert (log.events["end"].isna() | (log.events["end"] >= log.events["start"])).all()
    assert (log.population["left"] >= log.population["entered"]).all()
    assert not log.population.duplicated(["system", "node"]).any()
    assert len(log.source.sha256[0]) == 64


def same(one: rf.FailureLog, two: rf.FailureLog) -> None:
    for name in ("events", "population", "rejected", "lifetimes"):
        a, b = getattr(one, name), getattr(two, name)
        assert (a is None) == (b is None)
        if a is not None:
            pd.testing.assert_frame_equal(a, b)
    assert one.window == two.window
    assert one.source == two.source


@pytest.mark.parametrize("name", FORMATS)
def test_every_reader_keeps_the_contract_and_survives_parquet(name, tmp_path):
    log = rf.read(good_files(tmp_path)[name])
    assert log.source.format == name.replace("relfit", "lanl")
    assert len(log) > 0
    keeps_the_contract(log)
    copy = rf.write(log, tmp_path / "log.parquet")
    same(log, rf.read(copy))
    same(log, rf.read(copy, format="relfit"))
    assert list(tmp_path.glob(".relfit*")) == []
    assert log.ttf().n_groups == len(log.population)


@pytest.mark.parametrize("reader", READERS, ids=FORMATS)
def test_a_reader_knows_its_files_and_names_its_options(reader, tmp_path):
    files = good_files(tmp_path)
    assert set(files) == set(FORMATS)
    kinds = [name for name, path in files.items() if reader.recognises(open_content(path))]
    assert kinds == [reader.name] or reader.name == "table"
    for content in (b"\x00", b"\xff\xfe{", b"PAR1", b"{", b"#", b"[", b'"', b",", b"\n\n", b"<9>"):
        (tmp_path / "odd").write_bytes(content)
        assert reader.recognises(open_content(tmp_path / "odd")) in (True, False)
    parameters = inspect.signature(reader.read).parameters.values()
    keywords = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    assert keywords[:2] == ["strict", "timezone"]
    assert set(keywords[2:]) <= set(reader.options)
    with pytest.raises(rf.ArgumentError, match="height"):
        rf.read(files[reader.name], height=3)
    if "node" not in reader.options:
        with pytest.raises(rf.ReadError, match=f"for tables only, and this is {reader.name}"):
            rf.read(files[reader.name], format=reader.name, node="host")


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_twice_is_one_log(name, tmp_path):
    path = good_files(tmp_path)[name]
    once, twice = rf.read(path), rf.read([path, path])
    assert twice.source.rows_read == 2 * once.source.rows_read
    assert twice.source.rows_read == twice.source.rows_kept + len(twice.rejected)
    assert (twice.n_nodes, twice.window) == (once.n_nodes, once.window)
    assert len(twice.source.sha256) == 2


@pytest.mark.parametrize("name", list(REAL))
@pytest.mark.slow
def test_real_logs_keep_the_contract(name, shared, tmp_path):
    file, read, kept = REAL[name]
    log = rf.read(shared / "data" / file)
    keeps_the_contract(log)
    assert (log.source.format, log.source.rows_read, log.source.rows_kept) == (name, read, kept)
    same(log, rf.read(rf.write(log, tmp_path / "log.parquet")))


@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_format_can_be_given(name, tmp_path):
    path = good_files(tmp_path)[name]
    same(rf.read(path), rf.read(path, format=name))


@pytest.mark.parametrize("name", TEXT_FORMATS)
@pytest.mark.parametrize("compression", ["gz", "bz2", "xz", "zst"])
def test_compressed_files_give_the_same(name, compression, tmp_path):
    plain = good_files(tmp_path)[name]
    data = plain.read_bytes()
    pack = {
        "gz": gzip.compress,
        "bz2": bz2.compress,
        "xz": lzma.compress,
        "zst": lambda d: pa.compress(d, codec="zstd", asbytes=True),
    }[compression]
    if compression == "zst":
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(data)
        packed = sink.getvalue().to_pybytes()
    else:
        packed = pack(data)
    path = tmp_path / "without_an_ending"
    path.write_bytes(packed)
    pd.testing.assert_frame_equal(rf.read(plain).events, rf.read(path).events)
    cut = tmp_path / "cut"
    cut.write_bytes(packed[: len(packed) * 2 // 3])
    with pytest.raises(rf.ReadError, match="cut short or damaged"):
        rf.read(cut)


@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_strict_names_file_and_line(name, tmp_path):
    path = good_files(tmp_path)[name]
    assert len(rf.read(path, strict=True).rejected) == 0
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, BAD_ROWS[name]]) + "\n")
    log = rf.read(path)
    assert len(log.rejected) == 1
    assert int(log.rejected["line"].iloc[0]) == len(lines) + 1
    assert log.source.rows_read == log.source.rows_kept + 1
    with pytest.raises(rf.ReadError, match=rf"{path.name}, line {len(lines) + 1}"):
        rf.read(path, strict=True)


def test_a_misspelt_format_suggests_the_nearest(tmp_path):
    with pytest.raises(rf.ArgumentError, match="did you mean titan"):
        rf.read(tmp_path / "x", format="titn")
    assert set(TEXT_FORMATS) < set(FORMATS)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "table"])
def test_the_wrong_format_is_said(name, tmp_path):
    with pytest.raises(rf.ReadError):
        rf.read(good_files(tmp_path)["table"], format=name)


def test_a_path_may_be_text(tmp_path):
    log = rf.datasets.load("white")
    place = rf.write(log, str(tmp_path / "log.parquet"))
    assert place == tmp_path / "log.parquet"
    assert rf.read(str(place)).info() == log.info()


def test_a_damaged_copy_is_refused(tmp_path):
    copy = rf.write(rf.datasets.load("white").where(system="white"), tmp_path / "log.parquet")
    whole = copy.read_bytes()
    chance = random.Random(1)
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        copy.write_bytes(bytes(data))
        with contextlib.suppress(rf.RelfitError):
            keeps_the_contract(rf.read(copy))


def test_a_column_whose_name_is_no_text_is_damage(tmp_path):
    copy = rf.write(rf.datasets.load("white").where(system="white"), tmp_path / "log.parquet")
    data = copy.read_bytes()
    at = data.rindex(b"\x18\x05cause%")  # in the schema of the footer
    copy.write_bytes(data[: at + 4] + b"\xa0" + data[at + 5 :])
    with pytest.raises(rf.ReadError, match="damaged"):
        rf.read(copy)


def test_a_copy_in_which_something_ends_before_it_starts_is_refused(tmp_path):
    log = rf.datasets.load("white")
    events = log.events.copy()
    events.loc[3, "end"] = events.loc[3, "start"] - pd.Timedelta(hours=1)
    with pytest.raises(rf.ReadError, match="damaged"):
        rf.read(rf.write(dataclasses.replace(log, events=events), tmp_path / "log.parquet"))


@pytest.mark.parametrize("by", ["year", "month", "system"])
@pytest.mark.slow
def test_a_log_in_parts_comes_back(tmp_path, by):
    log = rf.datasets.load("white")
    folder = rf.write(log, tmp_path / "parts", by=by)
    back = rf.read(folder)
    columns = ["system", "node", "start", "end", "cause", "detail", "scope", "line"]
    key = ["start", "line"]
    pd.testing.assert_frame_equal(
        back.events[columns].sort_values(key).astype(str).reset_index(drop=True),
        log.events[columns].sort_values(key).astype(str).reset_index(drop=True),
    )
    assert (back.n_nodes, back.window) == (log.n_nodes, log.window)
    assert (back.source.rows_read, back.source.rows_kept) == (log.source.rows_read, log.source.rows_kept)
    with pytest.raises(rf.ArgumentError, match="not empty"):
        rf.write(log, folder, by=by)


def test_parts_by_system_have_its_name_and_its_nodes_alone(tmp_path):
    names = ["alpha", "../a", "..\\a", "Alpha", "x" * 300, "\u202eb", "never failed"]
    rows = [{"system": name, "node": f"n{i}", "start": 10 * i + 1, "end": 10 * i + 2} for i, name in enumerate(names)]
    log = make_log(rows[:-1], [{"system": name, "node": f"n{i}"} for i, name in enumerate(names)])
    folder = rf.write(log, tmp_path / "parts", by="system")
    files = {file.name: rf.read(file) for file in folder.iterdir()}
    assert len({name.lower() for name in files}) == len(names)
    assert all(re.fullmatch(r"system-[\w.-]{1,60}\.parquet", name) for name in files)
    assert {part.systems for part in files.values()} == {(name,) for name in names}
    assert files["system-alpha.parquet"].n_nodes == 1
    back = rf.read(folder)
    assert (back.n_nodes, len(back), back.window) == (log.n_nodes, len(log), log.window)
    lives = [{"system": name, "node": "n", "duration": 5.0, "observed": True} for name in names[:2]]
    people = [{"system": name, "node": "n"} for name in names[:2]]
    back = rf.read(rf.write(make_log(nodes=people, lifetimes=lives), tmp_path / "lives", by="system"))
    assert sorted(back.lifetimes["system"]) == sorted(names[:2])
