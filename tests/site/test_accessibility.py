"""Pages of the site that `make site` built, opened in a headless Chromium: axe-core finds no violation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.verify]

PAGES = ("docs/index", "docs/how-to/odds-of-a-job", "docs/reference/names/relfit.fitting.Fits")
"""The front page, a how-to and a page of the reference."""


@pytest.fixture(scope="module")
def site(root: Path) -> Path:
    """The folder of the built site."""
    folder = root / "build" / "site"
    if not (folder / "index.html").exists():
        pytest.skip(f"no site in {folder}: make site builds it")
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", PAGES)
def test_a_screen_reader_meets_no_obstacle(browser: Browser, site: Path, name: str, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto((site / f"{name}.html").as_uri())
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    result = axe.Axe().run(page).response
    assert len(result["passes"]) > 10
    assert [(each["id"], each["nodes"][0]["html"]) for each in result["violations"]] == []
    page.close()
