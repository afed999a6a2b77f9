"""The page on parameter files says what the model says."""

from __future__ import annotations

from pathlib import Path

from relfit.calibration.reference import schema_table


def test_every_key_is_in_the_page_as_the_model_has_it(root: Path) -> None:
    page = (root / "docs" / "calibration.md").read_text(encoding="utf-8")
    assert schema_table() in page
