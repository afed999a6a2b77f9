"""No default of a public function, and no default or bound of a setting, changes unseen (`tests.house.defaults`)."""

from __future__ import annotations

import pytest

from tests.house.defaults import RECORDED, lines


@pytest.mark.slow
def test_defaults_and_bounds_are_those_recorded() -> None:
    assert lines() == RECORDED.read_text(encoding="utf-8").splitlines()
