"""Every notebook runs from top to bottom, and what is stored in it is small and free of errors.

The cells run in this process, which has the libraries at hand; `notebooks/execute.py` gives them kernels of their own.
Those that take longest run in ``make verify``; that the outputs are of the cells and the version of now is seen here.
"""

from __future__ import annotations

import ast
import io
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import nbformat
import pandas as pd
import pytest
from execute import executed
from matplotlib import pyplot as plt

NOTEBOOKS = sorted(Path(__file__).resolve().parent.glob("*.ipynb"))
LONG = (
    "a_fleet_that_changes",
    "from_log_to_plan",
    "from_log_to_report",
    "how_large_a_training_cluster",
    "numbers_that_can_be_believed",
    "what_repairs_cost_in_waiting",
    "will_this_job_finish",
)
"""Notebooks that take more than ten seconds; docs/tour.md, docs/report.md and docs/backtest.md make the same calls."""


def _marked(path: Path) -> Any:
    return pytest.param(path, id=path.stem, marks=[pytest.mark.slow, *[pytest.mark.verify] * (path.stem in LONG)])


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


def run_cell(source: str, names: dict[str, Any]) -> None:
    """Run a cell, display its last expression, and draw its figures, as a notebook does."""
    tree = ast.parse("\n".join("" if line.startswith("%") else line for line in source.split("\n")))
    shown = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    if shown is not None:
        value = eval(compile(ast.Expression(shown.value), "<cell>", "eval"), names)
        if value is not None and not source.rstrip().endswith(";"):
            assert repr(value)
            assert value._repr_html_() if hasattr(value, "_repr_html_") else True
    for number in plt.get_fignums():
        plt.figure(number).savefig(io.BytesIO(), dpi=30)
    plt.close("all")


@pytest.mark.parametrize("path", [_marked(path) for path in NOTEBOOKS])
def test_notebook_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = pd.get_option("display.float_format")
    with mpl.rc_context(), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", ResourceWarning)  # of what tests before left to the garbage collector
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                run_cell(cell.source, names)
    pd.set_option("display.float_format", shown)
    assert [str(warning.message) for warning in warned] == []
    said = capsys.readouterr().err.splitlines()
    assert [line for line in said if not line.startswith("relfit: compiling")] == []  # once per installation
    if path.stem == "from_log_to_report":
        assert (tmp_path / "report.html").is_file()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_executed_and_small(path: Path) -> None:
    assert path.stat().st_size < 1_200_000
    notebook = nbformat.read(path, as_version=4)
    assert notebook.metadata["relfit"] == executed(notebook), "execute it again: python notebooks/execute.py"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not [o for cell in code for o in cell.outputs if o.output_type == "error" or o.get("name") == "stderr"]
