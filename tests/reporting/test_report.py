"""The report as a file: what it holds, what it rejects to do, and that hard logs still give one."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.reporting.components import Table, csv_text
from tests.reporting.logs import FAST, HOSTILE, log_of


class Page(HTMLParser):
    """Elements, visible text and stored tables of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.inside: list[str] = []
        self.feed(text)
        self.text = re.sub(r"\s+", " ", " ".join(self.words))
        self.source = text

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.inside):
            self.words.append(data)

    def table(self, name: str) -> str:
        """The CSV behind a download button."""
        found = re.search(rf'id="csv-{name}" data-stored="(\w+)">(.*?)</script>', self.source, re.DOTALL)
        assert found, name
        if found[1] == "gzip":
            return gzip.decompress(base64.b64decode(found[2])).decode()
        return str(json.loads(found[2]))


def page_of(log: rf.FailureLog, folder: Path, **options: Any) -> Page:
    path = rf.report(log, folder / "report.html", **options)
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def white_page(white_report: Path) -> Page:
    return Page(white_report.read_text(encoding="utf-8"))


def test_what_trust_and_lists_of_nodes_are_about_is_said(white_report: Path) -> None:
    """ "how" was a link to guess at; a node stood out in one sentence and none in the next."""
    text = white_report.read_text(encoding="utf-8")
    trust = re.search(r'<p class="trust">(.*?)</p>', text, re.DOTALL)
    assert trust is not None
    assert re.search(r"Past (forecasts|predictions) of .* than counting the last months", trust[1])
    assert ">How this was measured</a>" in trust[1]
    assert re.search(r"As of 2004-10-01, \d+ nodes fail at least twice as often as the mean: ", text)


def test_each_probability_says_of_what_it_is(white_report: Path) -> None:
    """Two tables had a column "probability": of twice the mean now, and of three times the mean over the period."""
    text = white_report.read_text(encoding="utf-8")
    classes = rf.outlier_nodes(rf.datasets.load("white").between("2002-10-06", None)).classes
    bad = bool(np.isfinite(classes["ratio"]).all())
    heads = re.findall(r"<th[^>]*>(?:<[^>]+>)*([^<]+)", text)
    assert "probability" not in heads
    assert {"twice or more", "bad class" if bad else "three times or more"} <= set(heads)
    assert "Twice or more: probability." in text
    assert f"Probability over the period: of {'the class of bad' if bad else 'three times the mean rate'}" in text
    assert "hours down over period" in heads  # beside a mean repair of now on the first screen


def test_sections_are_all_there(white_page: Page) -> None:
    ids = [attrs["id"] for tag, attrs in white_page.elements if tag == "section"]
    assert ids == [
        "summary",
        "what-if",
        "steady",
        "interruptions",
        "nodes",
        "attributes",
        "forecast",
        "jobs",
        "independence",
        "availability",
        "repairs",
        "times",
        "data",
        "methods",
    ]
    assert sum(tag == "figure" for tag, _ in white_page.elements) <= 10
    assert [tag for tag, attrs in white_page.elements if attrs.get("class") == "verdict"] == ["p"] * 13


def test_needs_nothing_but_itself(white_page: Page) -> None:
    for tag, attrs in white_page.elements:
        for name in ("src", "href", "xlink:href", "action", "srcset", "data"):
            value = attrs.get(name)
            assert value is None or value.startswith(("#", "data:")), (tag, name, value)
    assert "url(http" not in white_page.source
    assert "@import" not in white_page.source


def test_ids_are_unique_and_references_resolve(white_page: Page) -> None:
    ids = [attrs["id"] for _, attrs in white_page.elements if attrs.get("id")]
    assert len(ids) == len(set(ids))
    links = re.findall(r'(?:href="#|url\(#)([^")]+)', white_page.source)
    assert links
    assert set(links) <= set(ids)


def test_downloads_are_whole(white_page: Page) -> None:
    log = rf.datasets.load("white").between("2002-10-06", None)  # the stable period
    table = pd.read_csv(io.StringIO(white_page.table("failures-by-node")))
    assert len(table) == 512
    assert table["events"].sum() == rf.outlier_nodes(log, n_resamples=0).nodes["events"].sum() > 3000
    incidents = rf.incidents(log)
    assert len(pd.read_csv(io.StringIO(white_page.table("incidents")))) == len(incidents)
    causes = pd.read_csv(io.StringIO(white_page.table("causes"))).set_index("cause")["incidents"]
    assert causes.to_dict() == incidents.table["cause"].value_counts().to_dict()


@pytest.mark.slow
def test_same_log_gives_the_same_file(tmp_path: Path) -> None:
    log = rf.datasets.load("white").where(rack=["frame01", "frame02"]).between("2004-06-01", "2004-07-01")
    first = rf.report(log, tmp_path / "a.html", **FAST).read_bytes()
    assert rf.report(log, tmp_path / "b.html", **FAST).read_bytes() == first


def test_text_from_the_log_is_never_markup(hostile_report: Path) -> None:
    page = Page(hostile_report.read_text(encoding="utf-8"))
    scripts = [attrs for tag, attrs in page.elements if tag == "script"]
    running = [attrs for attrs in scripts if attrs.get("type") is None]
    assert len(running) == 1
    assert HOSTILE not in page.source
    assert not [tag for tag, _ in page.elements if tag in ("img", "b")]
    assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on")]
    assert page.text.count("<script>alert(1)</script>") > 5
    assert "alert(1)" in page.table("failures-by-node")
    assert "'=cmd|" in page.table("failures-by-node")


@pytest.mark.slow
@pytest.mark.usefixtures("words_only")
def test_names_from_right_to_left_turn_nothing_round_but_themselves(tmp_path: Path) -> None:
    turned, marked, quiet = "\u202egnp.exe", "n\u200f7<b>", "bell\x07"
    rows = [
        (turned, f"2020-02-{1 + i % 28:02d} {i % 24:02d}:00", f"2020-02-{1 + i % 28:02d} {i % 24:02d}:30", marked)
        for i in range(60)
    ]
    rows += [(f"n{i:02d}", f"2020-03-{1 + i % 28:02d}", f"2020-03-{1 + i % 28:02d} 05:00", quiet) for i in range(30)]
    page = page_of(log_of(rows, system=turned), tmp_path, **FAST)
    shown = re.sub(r"<(script|style|svg|title)\b.*?</\1>", "", page.source, flags=re.DOTALL)
    shown = re.sub(r'aria-label="[^"]*"', "", shown)
    assert shown.count(f"<bdi>{turned}</bdi>") >= 2
    assert shown.count("<bdi>n\u200f7&lt;b&gt;</bdi>") >= 1
    assert not re.search("[\u200f\u202e]", re.sub(r"<bdi>.*?</bdi>", "", shown))
    assert f"System <bdi>{turned}</bdi>: 31 nodes" in shown
    assert "\x07" not in shown
    assert r"bell\x07" in shown


@pytest.mark.slow
def test_an_incident_of_a_node_that_is_down_is_counted_nowhere(words_only: None, tmp_path: Path) -> None:
    rows = [
        (
            f"n{i % 20:02d}",
            f"2020-{1 + i % 12:02d}-{1 + i % 28:02d} {i % 24:02d}:00",
            f"2020-{1 + i % 12:02d}-{1 + i % 28:02d} {i % 24:02d}:50",
            "x",
        )
        for i in range(300)
    ]
    rows += [
        ("n00", "2020-05-05", "2020-05-15", "x"),
        *(("n00", f"2020-05-{d:02d} 03:30", None, "x") for d in range(7, 13)),
    ]
    log = log_of(rows)
    model = rf.fleet_model(log, at="long run")
    number = int(sum(model.incidents_of(name).sum() for name in model.by_scope))
    assert number < len(model.found.table)
    found = rf.calibrate(log, model=model, parts=("mtbf",)).mtbf.any
    assert found is not None
    assert (found.events, found.value) == (number, model.hours / number)
    page = page_of(log, tmp_path, **FAST)
    assert f"{168.0 * len(model.found.table) / model.hours:.3g} since January 2020" in page.text


def test_of_nodes_that_failed_only_nothing_is_said_of_one_node(words_only: None, tmp_path: Path) -> None:
    starts = pd.date_range("2020-01-10", periods=6, freq="50D")
    rows = pd.DataFrame(
        {"node": ["a1", "a2", "a1", "a3", "a4", "a2"], "start": starts, "end": starts + pd.Timedelta("2h")}
    )
    rows.to_csv(tmp_path / "six.csv", index=False)
    page = page_of(rf.read(tmp_path / "six.csv"), tmp_path, **FAST)
    assert "nothing is said of one node" in page.text
    assert "Availability of the nodes that failed" in page.text
    assert "Availability of a node" not in page.text


def test_formulas_are_defused_and_numbers_left_alone() -> None:
    frame = pd.DataFrame({"a": ["=1", "+1", "-1", "@x", "\tx", "ok"], "b": np.arange(6) - 3.5})
    lines = csv_text(frame).splitlines()
    assert [line.split(",")[0][:1] for line in lines[1:6]] == ["'"] * 5
    assert lines[1].endswith("-3.5")
    assert lines[6] == "ok,1.5"


def test_a_page_keeps_the_first_rows_of_a_very_long_table_and_says_so() -> None:
    table = Table("t", "T", pd.DataFrame({"row": np.arange(30_001)}))
    kind, text = table.stored
    assert kind == "gzip"
    stored = pd.read_csv(io.BytesIO(gzip.decompress(base64.b64decode(text))))
    assert stored["row"].tolist() == list(range(30_000))
    assert table.extent == "First 8 of 30,001 rows; the CSV has the first 30,000. "
    assert replace(table, frame=table.frame.head(9)).extent == "First 8 of 9 rows; the CSV has all. "
    assert replace(table, frame=table.frame.head(9), total=10).extent.endswith("the CSV has the first 9. ")
    assert replace(table, frame=table.frame.head(8)).extent == ""


# ------------------------------------------------------------------- hard logs


def test_log_without_a_failure(tmp_path: Path) -> None:
    page = page_of(log_of([], nodes=["a", "b"]), tmp_path, **FAST)
    assert "No failure is on record for 2 nodes in 17,568 node-hours." in page.text
    # with no event in T hours, 95 % confidence is that the mean is above T / -log(0.05)
    assert f"less often than once in {17568 / -np.log(0.05) / 24:.3g} days" in page.text


@pytest.mark.slow
def test_log_with_one_failure(tmp_path: Path) -> None:
    page = page_of(log_of([("a", "2020-05-05", "2020-05-06", "disk")]), tmp_path)
    assert "1 incident of the node in 366 days: too few for most questions." in page.text
    assert "Left out, since this log has no answer: periods of the rate (too few failures)" in page.text
    assert "1 incidents" not in page.text
    assert "1 outages" not in page.text


@pytest.mark.usefixtures("words_only")
@pytest.mark.slow
def test_log_without_ends_or_causes(tmp_path: Path) -> None:
    log = log_of([(f"n{i % 5}", f"2020-{1 + i % 12:02d}-03 0{i % 9}:00", None, None) for i in range(60)])
    page = page_of(log, tmp_path, **FAST)
    assert "Causes" not in page.text
    assert "availability (no outage of a node has a known end)" in page.text
    assert "repairs (fewer than 3 outages have a known end)" in page.text
    assert "node-hours lost" not in page.text


@pytest.mark.usefixtures("words_only")
@pytest.mark.slow
def test_several_systems(tmp_path: Path) -> None:
    logs = [
        log_of(
            [(f"n{i % 4}", f"2020-{1 + i % 12:02d}-0{1 + k} 0{i % 9}:00", None, "disk") for i in range(30 - k)],
            system=s,
        )
        for k, s in enumerate(("7", "18", "20", "21"))
    ]
    events = pd.concat([log.events for log in logs], ignore_index=True)
    population = pd.concat([log.population for log in logs], ignore_index=True)
    page = page_of(rf.FailureLog(events, population, logs[0].window), tmp_path, **FAST)
    assert "4 systems: 16 nodes" in page.text
    assert "4 systems with 16 nodes had" in page.text
    assert "the log has several systems, whose periods differ; select one" in page.text
    assert "--where system=NAME" in page.text
    assert len(page.table("systems").splitlines()) == 5
    assert "nodes hit" not in page.text  # the tables fit side by side


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"families": ["webull"]}, "webull"),
        ({"level": 95}, "level is 95"),
        ({"period": "latest"}, "latest"),
    ],
)
def test_wrong_arguments_leave_no_file(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    log = rf.datasets.load("white").between("2004-08-01", "2004-09-01")
    with pytest.raises(rf.ArgumentError, match=message):
        rf.report(log, tmp_path / "report.html", **options)
    assert list(tmp_path.iterdir()) == []


def test_missing_folder_is_answered(tmp_path: Path) -> None:
    with pytest.raises(rf.ArgumentError, match="cannot write"):
        rf.report(log_of([], nodes=["a"]), tmp_path / "absent" / "report.html", **FAST)


def test_failed_writing_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("relfit.reporting.rendering.Path.replace", full)
    with pytest.raises(rf.ArgumentError, match="No space left"):
        rf.report(log_of([], nodes=["a"]), path, **FAST)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "old"


@pytest.mark.slow
@pytest.mark.parametrize(
    "which", ["20", *(pytest.param(name, marks=pytest.mark.verify) for name in ("grid5000 since 2006-09-15", "titan"))]
)
@pytest.mark.long
def test_real_logs_give_reports(site_report: Callable[[str], tuple[rf.FailureLog, Path]], which: str) -> None:
    log, path = site_report(which)
    page = Page(path.read_text(encoding="utf-8"))
    if which == "20":
        assert "420 records form 411 incidents" in page.text
        assert "Period used: 2004-04-24 to 2005-09-09 (its start lies between 2004-03-24 and 2004-11-2" in page.text
    assert f"{log.source.rows_read:,} rows were" in page.text
    assert len(page.source) < 3_000_000


@pytest.mark.slow
@pytest.mark.usefixtures("words_only")
def test_progress_is_told_section_by_section(tmp_path) -> None:
    log = rf.datasets.load("white").where(rack=["frame01", "frame02"]).between("2004-06-01", "2004-09-01")
    told: list[tuple[str, float]] = []
    rf.report(
        log, tmp_path / "r.html", families=["exponential"], progress=lambda what, share: told.append((what, share))
    )
    assert [what for what, _ in told][:3] == ["first screen", "what if", "periods"]
    shares = [share for _, share in told]
    assert len(told) > 8
    assert shares == sorted(shares)
    assert max(shares) < 1.0


@pytest.mark.slow
@pytest.mark.long
def test_a_report_imports_no_large_part_of_scipy(tmp_path: Path) -> None:
    code = (
        "import sys, relfit as rf; from pathlib import Path;"
        "log = rf.datasets.load('white').where(rack=['frame01', 'frame02']).between('2004-06-01', '2004-09-01');"
        "log = rf.read(log.events[['node', 'start', 'end', 'cause']]);"  # no attributes that statsmodels regresses on
        "rf.report(log, Path(sys.argv[1], 'report.html'), families=['exponential', 'weibull']);"
        "print([m for m in ('stats', 'signal', 'interpolate', 'integrate') if f'scipy.{m}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
