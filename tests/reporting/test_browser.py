"""The report opened in a headless Chromium: no error, no request, no overflow, downloads that work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import relfit as rf

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def reports(white_report: Path, hostile_report: Path) -> dict[str, Path]:
    return {"white": white_report, "hostile": hostile_report}


def opened(browser: Browser, path: Path, width: int) -> tuple[Page, list[str], list[str]]:
    """The page, its complaints, and the addresses it asked for."""
    page = browser.new_page(viewport={"width": width, "height": 900}, accept_downloads=True)
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_load_state("load")
    return page, complaints, requests


@pytest.mark.parametrize("name", ["white", "hostile"])
@pytest.mark.parametrize("width", [390, 1280])
def test_opens_without_complaint_request_or_overflow(
    browser: Browser, reports: dict[str, Path], name: str, width: int
) -> None:
    page, complaints, requests = opened(browser, reports[name], width)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate("window.innerWidth") == width
    assert 5 <= page.locator("figure").count() <= 10
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    page.close()


OUTSIDE = """() => [...document.querySelectorAll("figure svg")].filter((svg) => svg.getBoundingClientRect().width)
    .flatMap((svg) => {
        const frame = svg.getBoundingClientRect();
        return [...svg.querySelectorAll("text")].filter((text) => {
            const box = text.getBoundingClientRect();
            return box.left < frame.left - 2 || box.right > frame.right + 2 || box.bottom > frame.bottom + 2;
        }).map((text) => text.textContent);
    })"""
SMALLEST = """() => Math.min(...[...document.querySelectorAll("figure svg")]
    .filter((svg) => svg.getBoundingClientRect().width).flatMap((svg) => {
        const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        return [...svg.querySelectorAll("text")].map((text) => scale * parseFloat(getComputedStyle(text).fontSize));
    }))"""


@pytest.mark.parametrize("width", [390, 1280])
def test_text_fits_its_picture_and_can_be_read(browser: Browser, reports: dict[str, Path], width: int) -> None:
    page, _, _ = opened(browser, reports["white"], width)
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate(SMALLEST) >= 10.8  # pixels
    page.close()


def test_the_first_screen_is_one_screen_and_the_report_is_short(browser: Browser, reports: dict[str, Path]) -> None:
    page, _, _ = opened(browser, reports["white"], 1280)
    assert page.evaluate("document.querySelector('.boxes').getBoundingClientRect().bottom") <= 800
    words = page.evaluate(
        """() => { for (const drawing of document.querySelectorAll("figure svg")) drawing.remove();
            return document.body.innerText.split(/\\s+/).length; }"""
    )
    assert words <= 1500
    page.close()


@pytest.mark.slow
def test_the_panel_answers_to_the_keyboard_as_python_does(browser: Browser, reports: dict[str, Path]) -> None:
    page, complaints, requests = opened(browser, reports["white"], 1280)
    grid = rf.Study(rf.datasets.load("white")).what_if()
    answer = page.locator(".panel [aria-live]")
    assert answer.inner_text() == grid.sentence(64).replace(" %", "\N{NO-BREAK SPACE}%") or answer.inner_text() == (
        grid.sentence(64)
    )
    assert all(page.locator(f"label[for={name}]").count() == 1 for name in ("w-nodes", "w-hours", "w-save", "w-spares"))
    page.locator("#w-nodes").focus()
    page.keyboard.press("End")
    page.keyboard.press("Tab")
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    asked = {"spares": 2, "half_repair": True, "without_worst": True}
    assert page.locator("#w-nodes").get_attribute("aria-valuetext") == "512"
    assert answer.inner_text() == grid.sentence(512, "1h", "10min", **asked)
    page.locator("#w-nodes").focus()
    for _ in range(17):
        page.keyboard.press("ArrowLeft")
    size = int(page.locator("#w-nodes").get_attribute("aria-valuetext") or 0)
    assert size not in grid.nodes
    assert answer.inner_text() == grid.sentence(size, "1h", "10min", **asked)
    assert complaints == []
    assert requests == [reports["white"].as_uri()]
    page.close()


def test_tables_that_scroll_say_so(browser: Browser, reports: dict[str, Path]) -> None:
    for width in (390, 1280):
        page, _, _ = opened(browser, reports["white"], width)
        wide, said = page.evaluate(
            """() => [...document.querySelectorAll(".scroll")].filter((box) => box.offsetParent).map((box) =>
                [box.scrollWidth > box.clientWidth + 1, box.parentElement.textContent.includes("Scroll sideways")])
                .reduce((sums, pair) => [sums[0] + pair[0], sums[1] + (pair[0] === pair[1] && pair[0])], [0, 0])"""
        )
        assert wide == said
        assert wide > 0 or width == 1280
        page.close()


def test_a_meeting_gets_one_page(browser: Browser, reports: dict[str, Path]) -> None:
    page, _, _ = opened(browser, reports["white"], 703)  # A4 less its margins, in CSS pixels
    page.emulate_media(media="print")
    summary, following = page.evaluate(
        """() => ["summary", "steady"].map((name) => document.getElementById(name).getBoundingClientRect())
            .map((box) => [box.top, box.bottom])"""
    )
    assert summary[1] < 1016
    assert page.evaluate("getComputedStyle(document.getElementById('summary')).breakAfter") == "page"
    assert following[0] >= summary[1]
    # a summary that is longer than the rest of the page stays below the title
    assert page.evaluate("getComputedStyle(document.getElementById('summary')).breakInside") == "auto"
    page.close()


def test_ink_follows_the_theme(browser: Browser, reports: dict[str, Path]) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="dark")
    page.goto(reports["white"].as_uri())
    colours = page.evaluate(
        """() => [...document.querySelectorAll("figure svg text")].map((text) => getComputedStyle(text).fill)"""
    )
    assert {"rgb(0, 0, 0)", "rgb(34, 34, 34)"} & set(colours) == set()
    white = page.evaluate(
        """() => [...document.querySelectorAll("figure, figure svg path, figure svg rect")].filter((part) =>
            ["rgb(255, 255, 255)"].includes(getComputedStyle(part).fill)).length"""
    )
    assert white == 0
    page.close()


def test_on_paper_nothing_is_cut_and_text_can_be_read(browser: Browser, reports: dict[str, Path]) -> None:
    page, _, _ = opened(browser, reports["white"], 703)  # A4 less its margins, in CSS pixels
    page.emulate_media(media="print")
    assert page.evaluate(SMALLEST) * 0.75 >= 6.9  # points
    clipped = page.evaluate(
        """() => [...document.querySelectorAll(".scroll")].filter((box) => box.offsetParent
            && box.querySelector("table").getBoundingClientRect().right > window.innerWidth + 1)
            .map((box) => box.getAttribute("aria-label"))"""
    )
    assert clipped == []
    assert page.evaluate("getComputedStyle(document.querySelector('footer')).display") == "none"  # no sheet of its own
    pages = re.findall(rb"/Type\s*/Page\b", page.pdf(format="Letter", prefer_css_page_size=True))
    assert len(pages) <= 8
    page.close()


def test_downloads_hold_the_whole_table(browser: Browser, reports: dict[str, Path], tmp_path: Path) -> None:
    page, complaints, _ = opened(browser, reports["white"], 1280)
    for name, rows in (("causes", 5), ("failures-by-node", 512)):
        with page.expect_download() as waiting:
            page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
            page.locator(f'button[data-table="{name}"]').click()
        assert waiting.value.suggested_filename == f"{name}.csv"
        waiting.value.save_as(tmp_path / name)
        text = (tmp_path / name).read_text(encoding="utf-8-sig")
        assert len(text.splitlines()) == rows + 1
    assert complaints == []
    page.close()


def test_tables_shown_whole_can_be_sorted(browser: Browser, reports: dict[str, Path]) -> None:
    page, _, _ = opened(browser, reports["white"], 1280)
    table = page.locator("#interruptions .table", has_text="Causes").locator("table")
    head = table.locator("th button", has_text="incidents")
    head.click()
    counts = [int(cell.replace(",", "")) for cell in table.locator("tbody td:nth-child(2)").all_inner_texts()]
    assert counts == sorted(counts)
    head.click()
    counts = [int(cell.replace(",", "")) for cell in table.locator("tbody td:nth-child(2)").all_inner_texts()]
    assert counts == sorted(counts, reverse=True)
    page.close()


def test_hostile_text_is_shown_as_text(browser: Browser, reports: dict[str, Path]) -> None:
    page, complaints, _ = opened(browser, reports["hostile"], 390)
    assert page.locator("script:not([type])").count() == 1
    assert page.title() == "</title><b><script>alert(1)</script>"
    assert "<script>alert(1)</script>" in page.locator("#interruptions").inner_text()
    assert page.locator("img").count() == 0
    assert complaints == []
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scheme", "width"),
    [
        ("white", "light", 1280),
        ("white", "dark", 1280),
        pytest.param("white", "light", 390, marks=pytest.mark.verify),
        pytest.param("white", "dark", 390, marks=pytest.mark.verify),
        pytest.param("hostile", "light", 1280, marks=pytest.mark.verify),
        pytest.param("hostile", "dark", 390, marks=pytest.mark.verify),
    ],
)
def test_a_screen_reader_meets_no_obstacle(
    browser: Browser, reports: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
    for path in [reports[name]]:
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page.goto(path.as_uri())
        said = axe.Axe().run(page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in said] == []
        page.close()
