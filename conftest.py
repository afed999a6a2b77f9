"""Examples in docstrings and pages run in a folder of their own, so that they leave nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _examples_in_a_folder_of_their_own(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path | None:
    if not isinstance(request.node, pytest.DoctestItem):
        return None
    folder = tmp_path_factory.mktemp("example")
    monkeypatch.chdir(folder)
    return folder
