"""``relfit fit --ahead``: failures among the units of a table of lives that still run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.cli.app import main


@pytest.fixture
def lives(tmp_path: Path) -> tuple[str, float]:
    """A table of exponential lives, and how many of those that run fail within 500 hours on average, by hand."""
    ages = np.array([100.0, 400.0, 900.0, 1000.0, 1000.0, 1000.0, 700.0, 300.0])
    failed = np.array([True, True, True, False, False, False, False, True])
    path = tmp_path / "fans.csv"
    rows = [f"fan{i},{age:g},{'yes' if end else 'no'}" for i, (age, end) in enumerate(zip(ages, failed, strict=True))]
    path.write_text("\n".join(["unit,hours,failed", *rows]) + "\n", encoding="utf-8")
    return str(path), float(4 * -np.expm1(-500.0 * failed.sum() / ages.sum()))


def test_the_command_predicts_and_gives_no_dates(lives: tuple[str, float], capsys: pytest.CaptureFixture[str]) -> None:
    path, expected = lives
    asked = ["fit", path, "--unit", "hours", "--families", "exponential", "--ahead", "500h", "--ahead", "1000h"]
    assert main([*asked, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["ahead"]
    assert [row["hours"] for row in rows] == [500.0, 1000.0]
    assert rows[0]["running"] == 4
    assert rows[0]["expected"] == pytest.approx(expected)
    assert rows[0]["low"] <= expected <= rows[0]["high"] <= 4.0
    assert main(asked) == 0
    said = capsys.readouterr().out
    assert said.startswith("Period used: all of the log (lifetimes are not cut in time).\n")
    assert "Failures ahead among units that run" in said
    assert "1970" not in said


def test_where_no_unit_runs_a_line_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "all.csv"
    path.write_text("unit,hours,failed\na,5,yes\nb,9,yes\nc,12,yes\n", encoding="utf-8")
    assert main(["fit", str(path), "--unit", "hours", "--families", "weibull", "--ahead", "5d"]) == 0
    assert capsys.readouterr().out.endswith("95 %\nno unit runs\n")
    assert main(["fit", str(path), "--unit", "hours", "--measure", "ttr", "--ahead", "5d"]) == 2
    assert "--ahead has no effect here" in capsys.readouterr().err


def test_a_time_that_is_none_names_the_option(lives: tuple[str, float], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", lives[0], "--unit", "hours", "--ahead", "0d"]) == 2
    assert "--ahead '0d' is zero" in capsys.readouterr().err


def test_one_thing_is_told_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts of one had plural verbs and nouns: "1 of 40 rows were rejected", "1 nodes ... have no name"."""
    path = tmp_path / "log.csv"
    days = [(node, 3 + 11 * i + 5 * j) for i, node in enumerate("abcd") for j in range(6 + 3 * i)]
    rows = [f"{node},{pd.Timestamp('2024-01-01') + pd.Timedelta(days=day):%Y-%m-%d %H:%M}" for node, day in days]
    path.write_text("\n".join(["node,start", *rows, "a,soon"]) + "\n", encoding="utf-8")
    assert main(["system", str(path), "--n-nodes", "5", "--k", "4", "--best"]) == 0
    caught = capsys.readouterr()
    assert f"1 of {len(rows) + 1} rows was rejected" in caught.err
    assert "1 node without a failure has no name: --population names them." in " ".join(caught.out.split())
    people = tmp_path / "nodes.csv"
    left = {"b": "2024-02-09"}
    people.write_text("\n".join(["node,left", *(f"{node},{left.get(node, '')}" for node in "abcd")]) + "\n")
    assert main(["fit", str(path), "--per", "all", "--population", str(people), "--ahead", "5d"]) == 0
    assert "1 of 4 nodes left before the end and does not run." in " ".join(capsys.readouterr().out.split())
    alone = rf.recurrence.EventHistories.from_groups([[1.0]], end=3.0)
    assert "1 failure within the observation is too few" in rf.recurrence.trend_tests(alone).headline


def ahead(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, float]]:
    assert main(["fit", *words, "--families", "exponential", "--ahead", "500h", "--json"]) == 0
    rows: list[dict[str, float]] = json.loads(capsys.readouterr().out)["ahead"]
    return rows


def test_units_that_were_removed_do_not_run(lives: tuple[str, float], capsys: pytest.CaptureFixture[str]) -> None:
    """Every unit without a failure counted as running, unsaid, also those taken out of service."""
    path, expected = lives
    asked = ["fit", path, "--unit", "hours", "--families", "exponential", "--ahead", "500h"]
    assert main(asked) == 0
    assert "Every unit without a failure counts as running; --column running=NAME" in capsys.readouterr().out
    text = Path(path).read_text(encoding="utf-8").splitlines()
    runs = ["in_use", "", "no", "no", "yes", "yes", "no", "yes", "yes"]  # of fan3 to fan6, which did not fail, three
    Path(path).write_text("\n".join(f"{a},{b}" for a, b in zip(text, runs, strict=True)) + "\n", encoding="utf-8")
    flagged = [path, "--unit", "hours", "--column", "running=in_use"]
    one = ahead(capsys, *flagged)[0]
    assert one["running"] == 3
    assert one["expected"] == pytest.approx(0.75 * expected)
    assert main([*asked, "--column", "running=in_use"]) == 0
    assert "counts as running" not in capsys.readouterr().out
    Path(path).write_text("unit,hours,failed,in_use\na,5,yes,\nb,9,no,\nc,4,no,yes\n", encoding="utf-8")
    assert ahead(capsys, *flagged)[0]["running"] == 1  # b says neither: its row is rejected
    assert main(["info", path, "--column", "running=in_use", "--details"]) == 0
    assert "says neither that the unit still runs" in " ".join(capsys.readouterr().out.split())


def test_by_group_as_in_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"hours": rng.uniform(500.0, 3000.0, 300), "failed": rng.random(300) < 0.3})
    table = table.assign(runs=rng.random(300) < 0.6, make=np.where(np.arange(300) % 3, "a", "b"))
    table.to_csv(tmp_path / "lives.csv", index=False)
    words = [str(tmp_path / "lives.csv"), "--column", "running=runs", "--per", "make"]
    *rows, total = ahead(capsys, *words, "--level", "0.9")
    fits = rf.fit(table, "exponential", duration="hours", observed="failed", by=["make"])["exponential"]
    still = rf.LifeData.from_frame(table[table["runs"] & ~table["failed"]], "hours", "failed", "make")
    by_hand = fits.failures_ahead("500h", still).to_frame()
    assert [row["running"] for row in rows] == by_hand["running"].tolist()
    assert [row["expected"] for row in rows] == pytest.approx(by_hand["expected"].tolist())
    assert [row["high"] for row in rows] == by_hand["high"].tolist()
    assert total["running"] == by_hand["running"].sum()


def test_nodes_that_left_do_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left = ["2024-03-01" if i % 4 == 0 else "" for i in range(20)]
    nodes = pd.DataFrame({"node": [f"n{i}" for i in range(20)], "entered": "2024-01-01", "left": left})
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    events = pd.DataFrame(
        {"node": ["n0", "n1", "n2", "n1"], "start": ["2024-02-01", "2024-02-07", "2024-05-01", "2024-06-01"]}
    )
    events.to_csv(tmp_path / "log.csv", index=False)
    words = [
        str(tmp_path / "log.csv"),
        "--population",
        str(tmp_path / "nodes.csv"),
        "--observed",
        "2024-01-01/2025-01-01",
    ]
    assert ahead(capsys, *words, "--per", "all")[0]["running"] == 15
    assert sum(row["running"] for row in ahead(capsys, *words, "--per", "node")) == 15
    assert main(["fit", *words, "--per", "all", "--families", "exponential", "--ahead", "500h"]) == 0
    assert "5 of 20 nodes left before the end and do not run." in capsys.readouterr().out
    assert main(["fit", *words, "--column", "running=node", "--per", "all"]) == 2
    assert "cannot say which units still run where failures have dates" in capsys.readouterr().err


def test_a_group_of_nodes_is_no_unit_that_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two models of ten drives had "running 1, expected 1" each."""
    rows = [f"n{i % 20},2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(60)]
    (tmp_path / "log.csv").write_text("\n".join(["node,start", *rows]) + "\n", encoding="utf-8")
    people = "\n".join(["node,model", *(f"n{i},{'ab'[i % 2]}" for i in range(20))])
    (tmp_path / "nodes.csv").write_text(people + "\n", encoding="utf-8")
    words = ["fit", str(tmp_path / "log.csv"), "--population", str(tmp_path / "nodes.csv"), "--ahead", "90d"]
    assert main([*words, "--per", "model"]) == 2
    said = capsys.readouterr().err
    assert "use --per all with --where for one model, or relfit forecast --by model" in said
    assert main([*words, "--per", "system"]) == 2
    assert "or relfit forecast, which counts failures ahead" in capsys.readouterr().err


def test_trend_of_lives_says_what_to_use(lives: tuple[str, float], capsys: pytest.CaptureFixture[str]) -> None:
    """It printed the period used and nothing else."""
    assert main(["trend", lives[0], "--unit", "hours"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "No answer: lives of units have ages, and no rate over time. Use relfit fit LOG --per COLUMN" in said


def units_of(path: Path, hours: dict[str, float]) -> str:
    """Exponential lives of 100 units of each model, of two colours in turn, watched for 1,000 hours."""
    generator = np.random.default_rng(5)
    rows = []
    for model, mean in hours.items():
        for i, life in enumerate(generator.exponential(mean, 100)):
            rows.append(f"{model}{i},{model},{'red' if i % 2 else 'blue'},{min(life, 1000.0):.3f},{int(life < 1000.0)}")
    path.write_text("\n".join(["unit,model,colour,hours,failed", *rows]) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("per", ["node", "all"])
def test_an_attribute_that_separates_lives_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], per: str
) -> None:
    """One fit of models that last differently expects too many failures, and nothing said so."""
    path = units_of(tmp_path / "fans.csv", {"A": 500.0, "B": 3000.0})
    asked = ["fit", path, "--unit", "hours", "--families", "exponential", "--ahead", "500h"]
    assert main([*asked, "--per", per]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Lifetimes differ by model (log-rank test, p < 0.001): one fit of all units misleads; --per model" in said
    assert main([*asked, "--per", "model"]) == 0
    assert "differ" not in capsys.readouterr().out


def test_alike_units_have_no_such_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = units_of(tmp_path / "fans.csv", {"A": 1500.0, "B": 1500.0})
    assert main(["fit", path, "--unit", "hours", "--families", "exponential"]) == 0
    assert "differ" not in capsys.readouterr().out


def test_models_have_a_total_and_a_stock(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = units_of(tmp_path / "fans.csv", {"A": 500.0, "B": 3000.0})
    asked = ["fit", path, "--unit", "hours", "--families", "exponential", "--ahead", "500h", "--per", "model"]
    assert main([*asked, "--json"]) == 0
    a, b, total = json.loads(capsys.readouterr().out)["ahead"]
    assert (a["model"], b["model"], total["model"]) == ("A", "B", "total")
    assert total["expected"] == pytest.approx(a["expected"] + b["expected"])
    assert total["running"] == a["running"] + b["running"]
    assert max(a["stock"], b["stock"]) < total["stock"] <= total["high"]
    assert main(asked) == 0
    assert "stock lasts with probability 95 %" in " ".join(capsys.readouterr().out.split())


def test_failures_per_unit_year_of_units_with_dates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ten units for four years, two of which failed after two: 36 unit-years; 0.242 and 7.22 by chi-square."""
    path = tmp_path / "units.csv"
    rows = [f"u{i},2020-01-01,{'2022-01-01' if i < 2 else ''},{int(i < 2)}" for i in range(10)]
    path.write_text("\n".join(["unit,installed,removed,failed", *rows]) + "\n", encoding="utf-8")
    observed = [str(path), "--observed", "2020-01-01/2024-01-01"]
    expected = "0.0556 failures per unit-year (95 % exact interval 0.00673-0.201), 2 in 36 unit-years"
    for command in ("info", "fit"):
        assert main([command, *observed]) == 0
        assert expected in " ".join(capsys.readouterr().out.split())
    assert main(["forecast", *observed]) == 2
    assert "relfit fit LOG --ahead 90d" in capsys.readouterr().err
