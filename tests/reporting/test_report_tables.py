"""Tables and texts of a report: one precision in a column, where the first period begins, what a plan supposes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.reporting.components import Table
from relfit.reporting.report_data import ReportData
from tests.reporting.logs import log_of
from tests.reporting.test_report import Page


@pytest.fixture(scope="module")
def white(white_report: Path) -> Page:
    return Page(white_report.read_text(encoding="utf-8"))


def rows_after(page: Page, title: str) -> list[list[str]]:
    """Cells of the first table on the page after a title."""
    start = page.source.index(title)
    body = page.source[page.source.index("<tbody", start) : page.source.index("</tbody>", start)]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in body.split("</tr>") if "<td" in row]


def test_availabilities_have_the_same_decimals(white: Page) -> None:
    rows = rows_after(white, "Availability in calendar bins")
    shown = [cell for row in rows for cell in row[2:] if cell.endswith("%")]
    assert len(shown) >= 20
    assert len({len(cell.partition(".")[2]) for cell in shown}) == 1


def test_what_is_so_is_yes_and_what_is_not_is_no() -> None:
    frame = pd.DataFrame({"node": ["n1", "n2"], "outlier": [True, False]})
    assert Table("nodes", "Nodes", frame).rows == [["n1", "yes"], ["n2", "no"]]


def test_the_first_period_begins_with_the_observation(white: Page) -> None:
    rows = rows_after(white, "Periods of the rate")
    assert rows[0][2] == "start of observation"
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d and \d{4}-\d\d-\d\d", row[2]) for row in rows[1:])


def test_the_plan_on_the_first_screen_says_how_long_a_restore_takes(white: Page) -> None:
    assert "(5 minutes to save or restore): checkpoints and failures cost" in white.text


@pytest.mark.slow
def test_a_rack_that_fails_is_repaired_once_as_calibrate_has_it() -> None:
    """37 % were quick on the page, 41 % in the parameter file: the page took a rack of 20 nodes for 20 repairs."""
    rng, begun, rows = np.random.default_rng(5), pd.Timestamp("2020-01-02"), []
    for node in range(60):
        for day in rng.uniform(0.0, 350.0, rng.poisson(4.0)):
            hours = rng.lognormal(*((np.log(12.0), 0.6) if rng.random() < 0.6 else (np.log(0.5), 0.5)))
            rows.append((f"n{node:02d}", day, hours, "own"))
    for rack, day in enumerate((30.0, 100.0, 170.0, 240.0, 310.0)):
        rows += [(f"n{20 * (rack % 3) + i:02d}", day, 3.0, "power") for i in range(20)]
    stamped = []
    for node, day, hours, cause in sorted(rows, key=lambda row: row[1]):
        start = begun + pd.Timedelta(days=day)
        stamped.append((node, start, start + pd.Timedelta(hours=hours), cause))
    log = log_of(stamped, nodes=[f"n{i:02d}" for i in range(60)])
    log = replace(log, population=log.population.assign(rack=[f"r{i // 20}" for i in range(60)]))
    study = rf.Study(log, "all")
    of_page = ReportData(study, ("weibull",)).repair_kinds.needed.best().iloc[0]
    single = sum(row[3] == "own" for row in rows)
    assert abs(of_page["repairs"] - (single + 5)) <= 3  # a few fall together
    share = study.calibrate(parts=("mttr", "repair_kinds")).mttr.share_quick
    assert share is not None
    assert of_page["share_quick"] == pytest.approx(share.value)
