"""relfit regress: every attribute by itself, one model by its formula, the rates of nodes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter

import relfit as rf
from relfit.cli.app import main
from tests.cli.test_bad_input import complaint
from tests.cli.test_commands import document
from tests.regression.test_of_log import simulated


@pytest.fixture(scope="module")
def log_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("regress") / "log.parquet"
    rf.write(simulated(), path)
    return str(path)


@pytest.mark.slow
@pytest.mark.long
def test_every_attribute_by_itself(log_file: str, tmp_path, capsys) -> None:
    out = tmp_path / "effects.csv"
    assert main(["regress", log_file, "--period", "all", "--out", str(out)]) == 0
    assert "Failures of nodes are associated with rack" in capsys.readouterr().out
    table = pd.read_csv(out)
    assert len(table) == 8
    assert set(table["attribute"]) == {"rack", "position"}


def test_one_model_and_the_rates_of_nodes(log_file: str, tmp_path, capsys) -> None:
    out = tmp_path / "rates.csv"
    words = ["--period", "all", "--formula", "failures ~ rack", "--rates", "--out", str(out)]
    assert main(["regress", log_file, *words]) == 0
    assert "negative binomial" in capsys.readouterr().out
    rates = pd.read_csv(out)
    assert len(rates) == 60
    direct = rf.regress(simulated(), "failures ~ rack").node_rates()
    assert rates["rate"].tolist() == pytest.approx(direct["rate"].tolist(), rel=1e-6)
    for command in ("system", "fit"):  # its hours were taken as lives
        assert "these are rates of nodes, which relfit regress --rates wrote" in complaint(capsys, command, str(out))


def test_json(log_file: str, capsys) -> None:
    words = ["--period", "all", "--formula", "ttf ~ rack", "--reference", "rack=b"]
    said = document(capsys, "regress", log_file, *words)
    assert said["table"][0]["reference"] == "b"
    assert said["proportional"][0]["covariate"] == "rack[T.a]"


def test_options_that_need_a_formula(log_file: str, capsys) -> None:
    assert "--formula" in complaint(capsys, "regress", log_file, "--model", "weibull")


def test_ratios_have_no_unit_and_the_test_its_name(log_file: str, capsys) -> None:
    words = ["--period", "all", "--formula", "ttf ~ rack", "--details"]
    assert main(["regress", log_file, *words]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "(Wald) for all covariates together" in said
    assert "hazard ratio p" in said
    assert main(["regress", log_file, *words, "--cluster", "none"]) == 0
    assert "(likelihood ratio) for all covariates together" in " ".join(capsys.readouterr().out.split())


def test_strata(log_file: str, capsys) -> None:
    words = ["--period", "all", "--formula", "ttf ~ rack", "--strata", "cause"]
    said = document(capsys, "regress", log_file, *words)
    expected = rf.regress(simulated(), "ttf ~ rack", strata="cause")
    assert said["strata"] == "cause"
    assert said["table"][0]["hazard_ratio"] == pytest.approx(expected.table["hazard_ratio"].iloc[0], rel=1e-4)
    assert "--formula" in complaint(capsys, "regress", log_file, "--strata", "cause")


def test_the_coefficients_of_a_formula_are_in_the_short_answer(log_file: str, capsys) -> None:
    assert main(["regress", log_file, "--period", "all", "--formula", "failures ~ rack"]) == 0
    said = capsys.readouterr().out
    row = rf.regress(simulated(), "failures ~ rack").table.loc["rack[T.b]"]
    line = next(line for line in said.splitlines() if line.startswith("rack[T.b]"))
    ratio, low, high = (row[f"rate_ratio{end}"] for end in ("", "_low", "_high"))
    assert f"{ratio:.4g} ({low:.4g}-{high:.4g})" in line
    assert line.split()[-1] == "a"


def test_lives_that_entered_late_count_from_their_entry_and_ages_of_entry_are_no_attribute(tmp_path, capsys) -> None:
    """Hazard ratios ignored `entry`, and it was compared as an attribute of the units."""
    rng = np.random.default_rng(1)
    old = np.arange(400) % 2 == 0
    entry = np.where(old, 3000.0, 0.0)
    life = entry + 4000.0 * rng.weibull(1.0, 400) * np.where(old, 1.0, 2.0)  # exponential: as if new at entry
    table = pd.DataFrame({"hours": life, "entry": entry, "model": np.where(old, "a", "b"), "maker": "none"})
    table.to_csv(tmp_path / "lives.csv", index=False)
    said = document(capsys, "regress", str(tmp_path / "lives.csv"), "--formula", "ttf ~ model")
    late = CoxPHFitter().fit(table[["hours", "entry", "model"]], "hours", entry_col="entry", formula="model")
    assert said["table"][0]["hazard_ratio"] == pytest.approx(late.hazard_ratios_.iloc[0], rel=1e-6)
    assert main(["regress", str(tmp_path / "lives.csv")]) == 0
    assert "associated with model (1 tested" in " ".join(capsys.readouterr().out.split())
    no_column = complaint(capsys, "regress", str(tmp_path / "lives.csv"), "--formula", "ttf ~ entry")
    assert "no column 'entry'" in no_column
