"""Tables and texts of a report: one precision in a column, where the first period begins, what a plan supposes."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from relfit.reporting.components import Table
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
