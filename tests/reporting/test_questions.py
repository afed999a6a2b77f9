"""The report's sections on independence, change, incidents, bad nodes and repairs, and what they cannot say."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import relfit as rf
from relfit.independence import dependence
from relfit.recurrence import availability, availability_over_time
from relfit.screening import change_points, incidents, outlier_nodes, repair_kinds
from relfit.text import percent
from tests.reporting.logs import FAST, log_of
from tests.reporting.test_report import Page, page_of


@pytest.fixture(scope="module")
def log() -> rf.FailureLog:
    return rf.datasets.load("white").where(rack=["frame01", "frame02", "frame03", "frame04"])


@pytest.fixture(scope="module")
def page(log: rf.FailureLog, tmp_path_factory: pytest.TempPathFactory) -> Page:
    return page_of(log, tmp_path_factory.mktemp("report"), **FAST)


def section(page: Page, key: str) -> str:
    start = page.source.index(f'<section id="{key}">')
    return Page(page.source[start : page.source.index("</section>", start)]).text


def verdicts(page: Page) -> int:
    return sum(attrs.get("class") == "verdict" for _, attrs in page.elements)


def figures(page: Page, key: str) -> int:
    start = page.source.index(f'<section id="{key}">')
    return page.source[start : page.source.index("</section>", start)].count("<svg")


def test_every_question_ends_in_its_sentence(log: rf.FailureLog, page: Page) -> None:
    over = availability_over_time(log)
    for key, sentence in (
        ("steady", change_points(log).headline),
        ("independence", dependence(log).headline),
        ("incidents", incidents(log).headline),
        ("nodes", outlier_nodes(log).headline),
        ("kinds-of-repair", repair_kinds(log).headline),
        ("availability", over.headline),
    ):
        assert section(page, key).strip().endswith(" ".join(sentence.split())), key
    assert verdicts(page) == 8  # and the clock, and validation


def test_findings_stand_in_their_section(log: rf.FailureLog, page: Page) -> None:
    for sentence in dependence(log).answers.values():
        assert " ".join(sentence.split()) in section(page, "independence")
    assert incidents(log).window.headline in section(page, "incidents")
    assert availability(log).headline in section(page, "availability")
    assert [figures(page, key) for key in ("steady", "independence", "incidents", "nodes", "kinds-of-repair")] == [
        3, 6, 2, 1, 2,
    ]  # fmt: skip


def test_the_summary_takes_up_the_warnings(log: rf.FailureLog, page: Page) -> None:
    start = page.source.index('<aside class="warnings"')
    warnings = Page(page.source[start : page.source.index("</aside>", start)]).text
    assert change_points(log).headline in warnings
    assert dependence(log).headline in warnings
    bad = outlier_nodes(log)
    assert bad.headline.split(". ")[0].rstrip(".") in warnings


def test_the_first_screen_has_the_availability_of_its_section(log: rf.FailureLog, page: Page) -> None:
    up = availability(log)
    share = 1.0 - up.down_hours.sum() / up.node_hours.sum()
    assert 0.90 < share < 0.92  # outages of the whole system count for every node
    assert f"Availability of a node {percent(share)}" in " ".join(page.text.split())


def test_tables_hold_what_was_found(log: rf.FailureLog, page: Page) -> None:
    def table(name: str) -> pd.DataFrame:
        return pd.read_csv(io.StringIO(page.table(name).lstrip("\ufeff")))

    found = change_points(log)
    assert table("periods")["rate"].tolist() == pytest.approx(
        [period.rate * 8766.0 for period in found.periods], rel=1e-5
    )
    assert table("periods")["use"].tolist() == [i == found.stable for i in range(len(found.periods))]
    assert len(table("incidents")) == len(incidents(log))
    assert table("failures-by-node")["outlier"].sum() == len(outlier_nodes(log).outliers)
    assert len(table("kinds-of-repair")) == len(repair_kinds(log).best())
    assert table("availability-over-time")["operational"].tolist() == pytest.approx(
        availability_over_time(log).operational[0].tolist(), rel=1e-5
    )


@pytest.mark.usefixtures("words_only")
def test_an_early_period_is_warned_of(tmp_path: Path) -> None:
    """A hundred failures in the first month, one a week since: fits should not use the first month."""
    early = [(f"n{i % 10}", pd.Timestamp("2020-01-01") + pd.Timedelta(hours=7.3 * i + i % 3)) for i in range(100)]
    late = [
        (f"n{i % 10}", pd.Timestamp("2020-02-03") + pd.Timedelta(hours=168.0 * i + 13 * (i % 5))) for i in range(47)
    ]
    rows: list[Any] = [
        (node, at, at + pd.Timedelta(hours=1 + i % 4), "disk") for i, (node, at) in enumerate(early + late)
    ]
    page = page_of(log_of(rows), tmp_path, **FAST)
    assert "fits from before 2020-0" in section(page, "steady")
    assert "should not be used" in page.text[: page.text.index("Failures over time")]
    assert "higher early rate" in section(page, "steady")


@pytest.mark.usefixtures("words_only")
def test_several_systems_get_an_period_each(tmp_path: Path) -> None:
    one = log_of([("a", f"2020-{m:02d}-{d:02d} 0{d % 9}:00", None, None) for m in range(1, 13) for d in (3, 11, 24)])
    other = log_of(
        [("a", f"2020-{m:02d}-{d:02d} 0{d % 9}:00", None, None) for m in range(1, 13) for d in (5, 19)], system="t"
    )
    both = rf.FailureLog(
        pd.concat([one.events, other.events], ignore_index=True),
        pd.concat([one.population, other.population], ignore_index=True),
        one.window,
        source=one.source,
    )
    page = page_of(both, tmp_path, **FAST)
    text = section(page, "steady")
    assert "no system shown here changes beyond chance: fits can use the whole log" in text  # both are steady
    assert "System s:" in text
    assert "System t:" in text


@pytest.mark.parametrize("nodes", [0, 1])
def test_parts_that_cannot_be_computed_say_so(nodes: int, tmp_path: Path) -> None:
    page = page_of(log_of([("a", "2020-03-01 10:00", None, None)] * nodes), tmp_path, **FAST)
    assert "no repair was observed to its end" in section(page, "kinds-of-repair").lower()
    assert "no outage of a node with a known end" in section(page, "availability").lower()
    assert "nothing can be said about dependence" in section(page, "independence").lower()
    if not nodes:
        assert "no events to join" in section(page, "incidents")
        assert "No failure" in section(page, "steady")
