"""Every public function of a log says what to give where it gets something else."""

from __future__ import annotations

import inspect
from pathlib import Path

import pandas as pd
import pytest

import relfit as rf
from relfit.analyses import independence, recurrence, screening

PACKAGES = (rf, rf.backtesting, rf.fleet, rf.calibration, rf.io, rf.planning, rf.regression)
OTHERS = {
    "table": (pd.DataFrame({"node": ["a"], "start": ["2024-01-01"]}), "rf.read(table)"),
    "path": ("failures.csv", "rf.read('failures.csv')"),
    "Path": (Path("failures.csv"), "rf.read('failures.csv')"),
    "None": (None, "give a log as read by rf.read"),
    "lives": (rf.LifeData.from_array([1.0, 2.0]), "rf.fit(lives)"),
    "study": (rf.Study(rf.datasets.load("white")), "give its log"),
}
TAKEN = {("relfit.report", "study"), ("relfit.analyses.screening.repair_kinds", "lives")}


def of_a_log() -> dict[str, object]:
    """The public functions whose first argument is a log, by name."""
    functions = {}
    for package in (*PACKAGES, independence, recurrence, screening):
        for name in package.__all__:
            value = getattr(package, name)
            plain = inspect.isfunction(value) or value is rf.Study  # not the classes of results
            if plain and next(iter(inspect.signature(value).parameters), "") == "log":
                functions[f"{package.__name__}.{name}"] = value
    return functions


FUNCTIONS = of_a_log()


def test_those_that_must_be_there_are() -> None:
    named = "forecast fleet_model Study calibrate backtest regress report system_from_log dependence incidents write"
    assert {f"relfit.{name}" for name in named.split()} <= set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_no_log_is_refused_with_what_to_give(name: str, tmp_path: Path) -> None:
    function = FUNCTIONS[name]
    needed = [
        p for p in inspect.signature(function).parameters.values() if p.default is p.empty and "VAR" not in p.kind.name
    ]
    for kind, (value, remedy) in OTHERS.items():
        if (name, kind) in TAKEN:
            continue
        rest = [str(tmp_path / "out.html") for _ in needed[1:]]
        with pytest.raises(rf.ArgumentError, match="is no log") as error:
            function(value, *rest)
        assert remedy in str(error.value.remedy)
