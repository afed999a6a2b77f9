"""The report of lifetimes of which many came under observation late: every number counts time at risk alone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lifelines import KaplanMeierFitter

import relfit as rf
from relfit.cli.app import main
from relfit.log.units_in_service import hint_of_lives
from relfit.reporting.detail_sections import jobs
from relfit.reporting.first_screen import _limits
from relfit.reporting.lifetime_report import _places, lifetime_summary
from relfit.reporting.report_data import ReportData
from tests.reporting.logs import FAST
from tests.reporting.test_questions import table
from tests.reporting.test_report import Page, page_of

YEAR = 8766.0


def disks(youngest: float = 0.0) -> pd.DataFrame:
    """1,500 disks of two makes, followed for five years from an age of 0 to 4 years, if they reached it."""
    rng = np.random.default_rng(7)
    entry = (rng.uniform(-2.0, 4.0, 1500).clip(min=youngest) * YEAR).round()
    make = np.arange(1500) % 2
    life = (np.where(make, 25.0, 9.0) * rng.weibull(1.5, 1500) * YEAR).round() + 1.0
    end = entry + 5.0 * YEAR
    lives = pd.DataFrame({"hours": np.minimum(life, end), "entry": entry, "failed": life <= end, "make": make})
    lives["make"] = lives["make"].map({0: "short", 1: "long"})
    return lives[lives["hours"] > entry].reset_index(drop=True)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return page_of(rf.read(disks()), tmp_path_factory.mktemp("late"), **FAST)


def test_service_counts_from_the_entry(page: Page) -> None:
    """The ages before it counted as service: too many unit-years, too low rates."""
    lives = disks()
    ended, years = lives["failed"].sum(), (lives["hours"] - lives["entry"]).sum() / YEAR
    assert f"{ended} of {len(lives):,} units ended in {years:,.0f} unit-years of service" in page.text
    assert f"Ended per year of service {100 * ended / years:.2f} %" in page.text
    places = table(page, "places").set_index("make")
    for make, part in lives.groupby("make"):
        assert places.loc[make, "ended"] == part["failed"].sum()
        at_risk = (part["hours"] - part["entry"]).sum() / YEAR
        assert places.loc[make, "rate"] == pytest.approx(part["failed"].sum() / at_risk, rel=1e-4)


def test_years_of_age_have_those_at_risk_alone_and_agree_with_the_cards(page: Page) -> None:
    lives = disks()
    curve = KaplanMeierFitter().fit(lives["hours"], lives["failed"], entry=lives["entry"])
    for age in (1, 3, 5):
        assert (
            f"In service after {age} year{'s' if age > 1 else ''} {100 * curve.predict(age * YEAR):.1f} %" in page.text
        )
    ages = table(page, "risk-by-age")
    assert len(ages) > 5
    for row in ages.itertuples():
        start, end = (row.year - 1) * YEAR, row.year * YEAR
        assert row.began == ((lives["entry"] <= start) & (lives["hours"] > start)).sum()
        assert row.ended == (lives["failed"] & lives["hours"].between(start, end, inclusive="right")).sum()
        share = 1.0 - curve.predict(end) / curve.predict(start)
        assert row.share == pytest.approx(share, rel=1e-4)
    first = re.search(r"([\d.]+) % end in their first year", page.text)
    assert first is not None
    assert float(first[1]) == pytest.approx(100 * (1 - curve.predict(YEAR)), abs=0.2)


def test_a_risk_that_rises_with_age_is_advice_on_spares() -> None:
    """5 of 100 end in their first year, 40 of the other 95 in their second: 8.4 times as often."""
    years = np.repeat([0.5, 1.5, 2.0], [5, 40, 55])
    table = pd.DataFrame({"hours": years * YEAR, "failed": years < 2.0})
    data = ReportData(rf.Study(rf.read(table), "all"), ("exponential",))
    advice = [point.text for point in lifetime_summary(data).advice]
    assert advice == ["Plan spares by age: a unit in its second year ends 8.4 times as often as in its first."]


def test_units_seen_from_an_age_on_say_nothing_of_those_before(tmp_path: Path) -> None:
    page = page_of(rf.read(disks(youngest=1.0)), tmp_path, **FAST)
    assert "No unit was observed before the age of 1 year: shares are of those that reach it." in page.text
    assert "% end in their second year" in page.text
    assert table(page, "risk-by-age")["year"].iloc[0] == 2


def test_the_dates_that_stand_in_for_none_are_not_on_the_page(page: Page) -> None:
    """The head said "data to 3 June 1978", the source "observed from 1970-01-01"."""
    assert re.search(r"Reliability report · relfit \S+ Period used: all of the log", page.text)
    assert "data to" not in page.text
    assert "1970" not in page.text
    assert "observed until" not in page.text


def disks_that_leave(spares: bool = False) -> rf.FailureLog:
    """A log of 90 failures of 300 disks of two makes, that leave service then, half of them in it before the window."""
    rng = np.random.default_rng(3)
    days = rng.choice(700, 300, replace=False) + 1
    failed, day = np.arange(300) < 90, pd.Timedelta("1D")
    at = pd.Series(pd.Timestamp("2022-01-01") + days * day)
    names = [f"d{i}" for i in range(300)]
    entered = np.where(np.arange(300) % 2, "2021-03-01", "2022-01-01")
    people = pd.DataFrame({"node": names, "installed": entered, "make": np.where(np.arange(300) % 3, "a", "b")})
    people["removed"] = None if spares else at.dt.strftime("%Y-%m-%d").where(failed)
    events = pd.DataFrame({"node": names, "start": at})[failed]
    return rf.read(events, population=people, window_start="2022-01-01", window_end="2024-01-01")


def test_units_that_leave_when_they_fail_run_no_jobs() -> None:
    """The page of disks said "checkpoint a 64-node job" and "outages have no known end"."""
    data = ReportData(rf.Study(disks_that_leave(), "all"), ("exponential",))
    assert data.units_leave
    assert data.checkpoints.problem == data.what_if.problem == "units leave when they fail"
    assert jobs(data) == "jobs and their test on the past (units leave when they fail)"
    said = [point.text for point in _limits(data)]
    assert any(text.startswith("Units leave when they fail, and ages before the window do not count.") for text in said)
    assert not any("no known end" in text for text in said)
    stay = ReportData(rf.Study(disks_that_leave(spares=True), "all"), ("exponential",))
    assert not stay.units_leave
    assert any("no known end" in point.text for point in _limits(stay))


def test_a_fit_by_a_column_of_units_that_leave_says_what_it_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Failures of all disks of a model were those of one machine, without a word."""
    rf.write(disks_that_leave(), tmp_path / "log.parquet")
    words = ["fit", str(tmp_path / "log.parquet"), "--period", "all", "--families", "weibull"]
    for per, text in (
        ("make", "--per make takes all of one make as one machine"),
        ("all", "ages before the window do"),
    ):
        assert main([*words, "--per", per]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert f"Units leave when they fail, and {text}" in said
        assert "A table with one row per unit (entered, left, failed) has their lives." in said
    rf.write(disks_that_leave(spares=True), tmp_path / "log.parquet")
    assert main([*words, "--per", "make"]) == 0
    assert "Units leave" not in capsys.readouterr().out


def test_daily_drive_tables_are_told_how_to_make_lives() -> None:
    """The sentence named a table with one row per unit and no way to one."""
    log = disks_that_leave()
    drives = replace(log, source=replace(log.source, format="backblaze"))
    assert '"Ages of drives"' in hint_of_lives(drives, "make")
    assert "Ages of drives" not in hint_of_lives(log, "make")


@pytest.mark.parametrize("places", [12, 13])
def test_up_to_twelve_places_are_compared(places: int) -> None:
    """Of twenty units in each, one more ends than in the place before; all live for a year."""
    where, number = np.divmod(np.arange(20 * places), 20)
    table = pd.DataFrame({"hours": YEAR, "failed": number <= where, "hall": [f"h{i:02d}" for i in where]})
    found = _places(ReportData(rf.Study(rf.read(table), "all"), ("exponential",)))
    assert (found is None) == (places > 12)
    if found is not None:
        assert found["hall"].tolist() == [f"h{i:02d}" for i in range(12)][::-1]
        assert found["rate"].to_numpy() == pytest.approx(np.arange(12, 0, -1) / 20.0)
