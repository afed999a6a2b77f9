"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.site_logs import shared_folder

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[1]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# the same examples in every run, so that a run tells of its change; make verify looks for new ones
settings.register_profile("repeated", derandomize=True, database=None)
settings.register_profile("searching", derandomize=False)
settings.load_profile("repeated")


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's folder."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real failure logs; tests that need it are skipped where it is absent."""
    return shared_folder()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium; tests that need it are skipped where it, or playwright, is absent."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    place = os.environ.get("RELFIT_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not place:
        pytest.skip("no Chromium on this machine (set RELFIT_CHROMIUM)")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=place, args=FLAGS)  # with a fresh profile of its own
        yield opened
        opened.close()
