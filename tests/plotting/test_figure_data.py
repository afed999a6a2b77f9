"""Every figure draws the numbers and words that are recorded of it (`tests.plotting.figure_data`)."""

from __future__ import annotations

import json
from typing import Any

import matplotlib as mpl
import pytest

mpl.use("Agg")

from tests.plotting.figure_data import RECORDED, figure_data, figures

pytestmark = pytest.mark.slow
EXPECTED: dict[str, list[list[Any]]] = json.loads(RECORDED.read_text(encoding="utf-8"))


def test_all_figures_are_recorded() -> None:
    assert figures().keys() == EXPECTED.keys()


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_figure_draws_what_is_recorded(name: str) -> None:
    drawn = figure_data(name)
    assert [_words(entry) for entry in drawn] == [_words(entry) for entry in EXPECTED[name]]
    for now, stored in zip(drawn, EXPECTED[name], strict=True):
        assert _numbers(now) == pytest.approx(_numbers(stored), rel=1e-4, abs=1e-6), stored


def _words(entry: list[Any]) -> list[str]:
    return [part for part in entry if isinstance(part, str)]


def _numbers(entry: list[Any]) -> list[float]:
    return [float(part) for part in entry if not isinstance(part, str)]
