"""Figures are drawn without windows, and closed after each test."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def _no_windows() -> Iterator[None]:
    mpl.use("Agg")
    yield
    plt.close("all")
