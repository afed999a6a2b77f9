"""Values of options: checked, and in one unit."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from relfit.base.errors import ArgumentError
from relfit.cli import option_values as checked
from relfit.cli.calibrating import Exporting
from relfit.cli.examples import _broken
from relfit.cli.options import PeriodReading
from relfit.cli.output import node_names


def test_a_time_says_its_unit() -> None:
    checked.check_time("--save", "5min")
    with pytest.raises(ArgumentError, match=r"^--save 5 does not say its unit; write 5min, 5h or 5days$"):
        checked.check_time("--save", "5")


def test_an_option_without_effect_is_rejected() -> None:
    message = "^--kind has no effect here: it goes with --interval; add that, or leave it out$"
    with pytest.raises(ArgumentError, match=message):
        checked.without_effect({"--kind": "wald"}, "--interval", False)


def test_pairs_and_conditions_are_parted_at_the_first_sign() -> None:
    assert checked.pairs("--where", ["system=2", "system=20", "cause=a=b"]) == {"system": ["2", "20"], "cause": ["a=b"]}
    taken, excluded = checked.conditions("--where", ["system=2", "cause!=disk", "cause!=", "detail=a!=b"])
    assert taken == {"system": ["2"], "detail": ["a!=b"]}
    assert excluded == {"cause": ["disk", None]}


def test_families_probabilities_and_times_are_read() -> None:
    assert checked.family_names("weibull, gamma") == ["weibull", "gamma"]
    assert checked.probability("--alpha", 0.01) == 0.01
    assert checked.duration("--restart", "90min") == 1.5
    assert [checked.mean_time("--mtbf", text) for text in ("2%AFR", "20000h")] == ["438300.0h", "20000h"]


def test_the_period_of_a_log_that_is_cut_is_all_of_it() -> None:
    assert PeriodReading(log="white").span() == "stable"
    assert PeriodReading(log="white", since="2003").span() == "all"
    dates = PeriodReading(log="white", period="2003-04-01/2004-10-01")
    assert dates.span() == ("2003-04-01", "2004-10-01")


def test_exports_have_a_kind_and_a_place() -> None:
    exporting = Exporting(export=["airesim.yaml"], airesim=["job_size=1024", "recovery_time=12.5"])
    assert exporting.airesim_values == {"job_size": 1024, "recovery_time": 12.5}
    assert isinstance(exporting.airesim_values["job_size"], int)
    files = [("airesim", Path("airesim.yaml")), ("batsim", Path("failures.txt")), ("fta", Path("fta"))]
    assert Exporting(export=["airesim.yaml", "batsim=failures.txt", "fta"]).files == files


def test_nodes_of_several_systems_are_named_with_them() -> None:
    nodes = pd.DataFrame({"system": ["a", "b"], "node": ["0", "0"]})
    assert node_names(nodes, ["a", "b"]) == ["0 of system a", "0 of system b"]


def test_a_long_example_is_broken_before_an_option() -> None:
    command = "relfit plan sparing params.toml --racks 128 --trays 16 --gpus 8 --save 2s --restart 5min"
    assert _broken(command).split(" \\\n      ") == [command[: command.index(" --save")], "--save 2s --restart 5min"]
