"""docs/walk.md names the files that a question goes through, in their order, and they call each other seldom."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import relfit as rf


@pytest.fixture(scope="module")
def tool(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("calls", root / "tools" / "calls.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_walk_is_the_way_from_a_file_to_a_plan(root: Path, tmp_path: Path, tool: ModuleType) -> None:
    log = rf.datasets.load("white").between("2003-01-01", None)
    path = rf.write(log, tmp_path / "log.parquet")
    tool.to_a_plan(path)  # what is imported on the way is no part of it
    calls = tool.Calls(lambda: tool.to_a_plan(path))
    files = re.findall(r"^\| [a-z]* ?\| `(\S+\.py)` \|", (root / "docs" / "walk.md").read_text(encoding="utf-8"), re.M)
    assert 20 <= len(files) <= 25
    assert [file for file in files if file not in calls.files] == ["io/table.py"]  # of a table of another format
    assert 100 < calls.steps <= 400


def test_calls_of_a_known_piece_of_work_are_counted(tool: ModuleType) -> None:
    calls = tool.Calls(lambda: rf.base.units.hours("90min"))
    assert calls.files["base/units.py"] >= 1
    assert calls.steps == 0
