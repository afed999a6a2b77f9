"""The lists of mutants name lines that stand in their files, once where they are replaced."""

from __future__ import annotations

import tomllib
from pathlib import Path


def test_lists_of_mutants_name_lines_that_are_there(root: Path) -> None:
    rows = {
        name: tomllib.loads((root / "tools" / f"mutants_{name}.toml").read_text(encoding="utf-8"))["mutant"]
        for name in ("by_hand", "equivalent")
    }
    for row in rows["by_hand"]:
        assert (root / row["file"]).read_text(encoding="utf-8").count(row["old"]) == 1, row["name"]
    for row in rows["equivalent"]:
        lines = (root / row["file"]).read_text(encoding="utf-8").splitlines()
        assert row["old"] in [line.strip() for line in lines], row
        assert row["why"]
