"""Whatever comes: an error of relfit's, or a log whose counts add up; and hostile names do no harm anywhere."""

from __future__ import annotations

import contextlib
import csv
import json
from html.parser import HTMLParser

import pandas as pd
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import relfit as rf
from relfit.cli.app import main
from relfit.io import FORMATS
from tests.examples import examples
from tests.io.made import RAW

TEXTS = st.sampled_from(
    [
        "\x00",
        '"',
        "\n",
        "\r",
        ",",
        "|",
        "[",
        "]",
        "{",
        "}",
        "\\",
        "9" * 30,
        "3e2500000000",
        "-1",
        "nan",
        "\ud7ff",
        "İ",
        " ",
        "\t",
        "2024-02-30",
        "n[0-999999999]",
        "1e400",
        "\x1b[31m",
        "=1+1",
        "=",
        "NULL",
        "\ufeff",
        "\u202e",
        "'",
    ]
)


@st.composite
def damaged(draw, names=tuple(RAW)):
    name = draw(st.sampled_from(names))
    data = bytearray(RAW[name].encode())
    for _ in range(draw(st.integers(1, 8))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        what = draw(st.integers(0, 3))
        if what == 0 and data:
            data[at] = draw(st.integers(0, 255))
        elif what == 1:
            del data[at : at + draw(st.integers(1, 12))]
        elif what == 2:
            data[at:at] = draw(TEXTS).encode()
        else:
            data += data[at:]
    return name, bytes(data)


def checked(log: rf.FailureLog) -> None:
    """What holds of every log that is read."""
    assert log.source.rows_read == log.source.rows_kept + len(log.rejected)
    assert log.events["start"].notna().all()
    assert not (log.events["end"] < log.events["start"]).any()
    assert not (log.population["left"] < log.population["entered"]).any()
    json.dumps(log.info(), allow_nan=False)
    log.rejections()


def read_quietly(path, **options) -> None:
    with contextlib.suppress(rf.RelfitError):
        log = rf.read(path, **options)
        checked(log)


@examples(80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=damaged(), forced=st.booleans())
def test_damaged_raw_logs(tmp_path, case, forced):
    name, data = case
    path = tmp_path / "raw.log"
    path.write_bytes(data)
    read_quietly(path, format=name if forced else None)


@examples(50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(FORMATS), text=st.text(max_size=300))
def test_any_text_as_any_format(tmp_path, name, text):
    path = tmp_path / "raw.log"
    path.write_text(text, encoding="utf-8", errors="replace", newline="")
    read_quietly(path, format=name)


@examples(50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(st.text(max_size=12) | TEXTS, st.text(max_size=20) | TEXTS, TEXTS), min_size=1, max_size=12
    ),
    options=st.dictionaries(
        st.sampled_from(
            ["node", "start", "end", "time_format", "time_origin", "decimal", "day_first", "state", "cause"]
        ),
        st.sampled_from(["a", "b", "c", "", "unix", "%Y", "true", ",", "a+b", "2024-01-01"]),
        max_size=3,
    ),
)
def test_any_table_under_any_mapping(tmp_path, rows, options):
    path = tmp_path / "table.csv"
    with path.open("w", newline="", encoding="utf-8", errors="replace") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "start", "c"])
        writer.writerows(rows)
    read_quietly(path, **options)
    read_quietly(pd.DataFrame(rows, columns=["a", "start", "c"]), **options)


# --------------------------------------------------------------------- hostile names

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "../../../etc/passwd",
    "\x1b[2J\x1b[31mred",
    "=HYPERLINK(1)",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\u202egnp.exe",
    "{0.__class__}",
    "%s%n",
    "x" * 50_000,
    "a\x00b",
    "{{7*7}}",
    "';--",
)


@pytest.fixture
def hostile(tmp_path):
    path = tmp_path / "log.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["node", "start", "end", "cause"])
        for i, name in enumerate(HOSTILE):
            for k in range(6):
                writer.writerow([name, f"2024-{k + 1:02d}-{i + 1:02d}", f"2024-{k + 1:02d}-{i + 1:02d} 05:00", name])
        writer.writerow([HOSTILE[0], "never", "", "=1+1"])
    return path


class Tags(HTMLParser):
    """What a browser would take for elements with names of attackers."""

    def __init__(self) -> None:
        super().__init__()
        self.bad: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if any(name == "onerror" for name, _ in attrs):
            self.bad.append(tag)


def test_hostile_names_come_through_every_output(hostile, tmp_path, capsys):
    log = rf.read(hostile)
    names = {str(name) for name in log.population["node"]}
    assert names == {name.strip() for name in HOSTILE}
    copy = rf.read(rf.write(log, tmp_path / "log.parquet"))
    assert {str(name) for name in copy.population["node"]} == names
    parts = rf.write(log, tmp_path / "parts", by="system")
    assert [file.name for file in parts.iterdir()] == ["system-system.parquet"]
    assert main(["info", str(hostile), "-o", str(tmp_path / "refused.csv")]) == 0
    assert main(["fit", str(hostile), "-o", str(tmp_path / "fits.csv"), "--resamples", "0"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    for file in ("refused.csv", "fits.csv"):
        with (tmp_path / file).open(newline="", encoding="utf-8") as opened:
            cells = [cell for row in csv.reader(opened) for cell in row]
        formulas = [cell for cell in cells if cell[:1] in "=+@\t" and cell]
        assert formulas == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "fits.csv",
        "log.csv",
        "log.parquet",
        "parts",
        "refused.csv",
    ]


@pytest.mark.slow
def test_hostile_names_in_a_report(hostile, tmp_path):
    page = rf.report(rf.read(hostile), tmp_path / "report.html", families=["exponential"])
    text = page.read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(text)
    assert tags.bad == []
    assert "<script>alert(1)</script>" not in text


def test_every_small_file_of_the_tests_is_recognised(tmp_path):
    for name, text in RAW.items():
        path = tmp_path / "x"
        path.write_text(text)
        assert rf.read(path).source.format == name
