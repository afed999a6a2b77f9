"""The bundled sample is read once; examples run in a folder of their own, so that they leave nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pandas as pd
import pytest

from relfit import FailureLog, datasets


@pytest.fixture(scope="session", autouse=True)
def _the_sample_is_read_once() -> Iterator[None]:
    """Each call of `relfit.datasets.load` gives a copy of what the first one read."""
    read = cache(datasets.load)

    def copied(name: str) -> FailureLog:
        log = read(name)
        return replace(log, events=log.events.copy(), population=log.population.copy())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "load", copied)
        yield


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
