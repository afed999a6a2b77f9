"""The page of the day, and the forecasts that are held to what came."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.fleet.surveillance import forecasts_so_far, scored
from relfit.live._day_page import day_page, forecast_record
from relfit.live.live_records import Alarm
from tests.factories import at, make_log

EVIL = "n1</title><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}&amp;"


def alarm(kind: str, subject: str, text: str = "It changed.") -> Alarm:
    return Alarm(kind, subject, at(0), at(24), text, "Look at it.")


@pytest.fixture(scope="module")
def study() -> rf.Study:
    return rf.Study(rf.datasets.load("white").between("2003-06-01", "2004-06-01"))


def text_of(page: Path) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8").partition("</style>")[2]))


def test_what_is_new_goes_on_and_is_over(study: rf.Study, tmp_path: Path) -> None:
    old, new, over = alarm("rate", "rack r7"), alarm("node", "node n3"), alarm("stock", "cause disk")
    page = day_page(study, [old, new], [old, over], pd.DataFrame(), tmp_path / "day.html")
    text = text_of(page)
    assert "1 alarm new, 1 alarm still going on, 1 alarm over." in text
    assert text.index("node n3") < text.index("rack r7")  # what is new comes first
    changed = text[text.index("What changed since") : text.index("Still going on")]
    assert "node n3" in changed
    assert "Over: cause disk" in changed
    assert "rack r7" not in changed
    assert "No forecast has come to its end yet." in text
    assert "System white on Tuesday, 2004-06-01" in text
    made = pd.Timestamp("2004-06-09", tz="UTC")  # a week in which nothing was recorded
    place = day_page(study, [], [], pd.DataFrame(), tmp_path / "quiet.html", fleet="white", made=made)
    assert "No alarm." in text_of(place)
    assert "white on Wednesday, 2004-06-09" in text_of(place)
    assert "until 2004-06-01" in text_of(place)


def test_nothing_in_a_record_becomes_markup_and_nothing_is_fetched(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [{"system": EVIL, "node": EVIL, "start": t, "end": t + 1.0, "cause": EVIL} for t in rng.uniform(0, 9000, 90)]
    log = make_log(sorted(rows, key=lambda row: row["start"]), window=(0.0, 9000.0))
    record = forecast_record(rf.Study(log))
    known = record.assign(happened=4.0, score=9.0)
    bad = [alarm("node", f"node {EVIL}", EVIL)]
    page = day_page(rf.Study(log), bad, [alarm("repeat", EVIL)], known, tmp_path / "day.html").read_text()
    assert "<script" not in page
    assert "<img" not in page
    assert "{{" in page  # as it was written
    assert " 49" not in page
    assert page.count("<title>") == page.count("</title>") == 1
    assert not re.search(r"(?:src|href)=\"(?!data:|#)|url\((?!#)|@import", page)
    assert "default-src 'none'" in page


def test_forecasts_are_held_to_a_count_by_hand() -> None:
    log = make_log([{"start": t, "end": t + 1.0} for t in (100.0, 200.0, 250.0, 300.0, 400.0)], window=(0.0, 500.0))
    rows = [
        {"made": at(150), "system": "s", "horizon_hours": 100.0, "mean": 2.0, "lower": 1.0, "upper": 3.0},  # 200
        {
            "made": at(150),
            "system": "s",
            "horizon_hours": 168.0,
            "mean": 2.0,
            "lower": 0.0,
            "upper": 2.0,
        },  # and 250, 300
        {"made": at(450), "system": "s", "horizon_hours": 168.0, "mean": 2.0, "lower": 0.0, "upper": 3.0},  # not over
    ]
    result = scored(pd.DataFrame(rows).assign(level=0.9), log)
    assert result["happened"].tolist()[:2] == [1.0, 3.0]
    assert result["score"].tolist()[:2] == pytest.approx([2.0, 2.0 + 20.0 * 1.0])
    assert result.iloc[2][["happened", "score"]].isna().all()
    assert not len(scored(pd.DataFrame(columns=list(result.columns)), log))


def test_past_forecasts_are_listed_with_their_days() -> None:
    """Forecasts of a day and of a week: 3 came where 1 to 4 were expected, and 9 where 2 to 8 were."""
    rows = [
        {"made": at(0), "system": "s", "horizon_hours": 24.0, "mean": 2.0, "lower": 1.0, "upper": 4.0, "happened": 3.0},
        {"made": at(24), "system": "s", "horizon_hours": 168.0, "mean": 5.0, "lower": 2.0, "upper": 8.0, "happened": 9},
    ]
    tables = forecasts_so_far(pd.DataFrame(rows).assign(level=0.9), 5)[1]
    assert tables["All of them"][["Days", "Inside", "Mean error"]].to_numpy().tolist() == [
        ["1", "100 %", "33 %"],  # of the count: 1 of 3
        ["7", "0 %", "44 %"],  # 4 of 9
    ]
    assert list(tables["The last"])[3:5] == ["Incidents forecast", "Incidents seen"]
    assert tables["The last"].to_numpy().tolist() == [
        ["2001-01-02", "s", "7", "5 (2-8)", 9, "no"],
        ["2001-01-01", "s", "1", "2 (1-4)", 3, "yes"],
    ]


@pytest.mark.slow
def test_limits_hold_what_comes(study: rf.Study) -> None:
    log, held = study.log, []
    for month in range(1, 6):
        made = forecast_record(rf.Study(log.between(None, f"2004-{month:02d}-01")))
        result = scored(made, log)
        held += result["happened"].between(result["lower"], result["upper"])[result["happened"].notna()].tolist()
    assert len(held) == 10
    assert sum(held) >= 8
