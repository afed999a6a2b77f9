"""Files of a package's tests stay together, and examples run in a folder of their own."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadfile`` the files of a room stay together; see `tests.scheduling`."""
    from tests.scheduling import RoomByRoom

    return RoomByRoom(config, log) if config.option.dist == "loadfile" else None


def pytest_collection_finish() -> None:
    """What is imported by now stays: searching it again and again for what can be freed took 4 % of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _examples_in_a_folder_of_their_own(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    monkeypatch.chdir(tmp_path_factory.mktemp("example"))
    with pd.option_context("display.float_format", None):  # a package that tests compare with sets it when imported
        yield
