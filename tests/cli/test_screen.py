"""Prose and tables as a screen of 80 columns holds them, help with its groups and examples, advice in options."""

from __future__ import annotations

import ast
import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq

import relfit
import relfit as rf
from relfit.cli import screen
from relfit.cli.app import built, main
from relfit.cli.examples import EXAMPLES, SECTIONS

PLAN = ["--mtbf", "9h", "--save", "1min"]
PACKAGE = Path(relfit.__file__).parent
PARAMS = '[mtbf]\nnode = "3000h"\n[mttr]\nmean = "3h"\n[fleet]\nnodes = 512\n'


def commands() -> dict[str, object]:
    """Every command by its name, those of groups with the group's name before."""
    group = built()
    found = {}
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            found |= {f"{name} {part}": one for part, one in command.commands.items()}
        else:
            found[name] = command
    return found


def text_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    main(arguments)
    return capsys.readouterr().out


# --------------------------------------------------------------------- prose


@pytest.mark.parametrize("failures", [1, 40])
@pytest.mark.parametrize("command", ["info", "fit", "system", "trend", "dependence", "calibrate", "incidents"])
@pytest.mark.slow
@pytest.mark.long
def test_one_of_a_thing_is_said_as_one(command, failures, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    begun = pd.Timestamp("2024-01-03 10:00") + pd.to_timedelta(np.arange(failures) * 97.0, unit="h")
    path = tmp_path / "one.csv"
    pd.DataFrame({"node": "a", "start": begun, "end": begun + pd.Timedelta("2h")}).to_csv(path, index=False)
    main([command, str(path)])
    said = capsys.readouterr().out
    things = "nodes|groups|events|lives|failures|systems|records|rows|racks|jobs|incidents|periods|hours|times|causes"
    assert said or command == "system"
    assert not re.findall(rf"(?<![\d.,])1 (?:{things})\b", said)


def test_a_log_without_a_failure_under_observation_has_no_system(tmp_path: Path, capsys) -> None:
    path = tmp_path / "one.csv"
    path.write_text("node,start,end\na,2024-01-03 10:00,2024-01-03 12:00\n")
    assert main(["system", str(path)]) != 0  # a node that runs for 1e300 hours before
    assert "nothing failed under observation" in capsys.readouterr().err


def test_limits_of_chance_stand_behind_what_chance_gives(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    rng = np.random.default_rng(5)
    begun = pd.Timestamp("2023-01-01") + pd.to_timedelta(np.sort(rng.uniform(0.0, 8000.0, 400)), unit="h")
    path = tmp_path / "steady.csv"
    pd.DataFrame({"node": rng.choice(list("abcd"), 400), "start": begun}).to_csv(path, index=False)
    main(["dependence", str(path), "--details"])
    lines = capsys.readouterr().out.splitlines()
    heading = next(i for i, line in enumerate(lines) if line.startswith("scale hours"))
    cells = re.split(r"  +", lines[heading + 2 + 3].strip())  # bins of a day
    assert float(cells[2]) == pytest.approx(24 * 400 / 8000, rel=0.1)
    expected, low, high = map(float, re.findall(r"[\d.]+", cells[4]))
    assert low < expected < high
    assert 0.7 < low < high < 1.4


def test_prose_is_wrapped_to_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    text = "- " + " ".join(f"word{i}" for i in range(60))
    lines = screen.wrapped(text)
    assert max(map(len, lines)) <= 60
    assert " ".join(line.strip() for line in lines) == text
    assert all(line.startswith("  ") for line in lines[1:])
    assert screen.wrapped("short") == ["short"]
    assert screen.wrapped("/a/path/without/blanks/" + "x" * 90) == ["/a/path/without/blanks/" + "x" * 90]


def test_a_wide_table_is_fitted_and_says_what_it_leaves_out() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"quantity_number_{i}": rng.normal(size=3) * 1e3 for i in range(20)})
    frame.insert(0, "name", ["a text of more than forty letters, which is long", "b", "c"])
    lines = screen.table(frame, 80)
    assert max(map(len, lines[:-1])) <= 80
    shown = sum(word == "number" for line in lines[:-1] for word in line.split())
    named = ", ".join(f"quantity number {i}" for i in range(shown, 20))
    assert lines[-1] == f"not shown: {named}; --out or --json has them"
    narrow = screen.table(frame.iloc[:, :4], 200)
    assert "not shown" not in narrow[-1]
    assert narrow[0].split("  ")[-1].strip() == "quantity number 2"


def test_numbers_within_a_text_go_on_in_a_second_line_and_are_never_cut() -> None:
    parameters = ["rate 0.000469", "shape 0.68, scale 1.62e+03"]
    frame = pd.DataFrame(
        {"group": ["all"] * 2, "parameters": parameters, "mean of the group": ["2,134 (2,070-2,200)"] * 2}
    )
    lines = screen.table(frame, 50)
    assert not any("…" in line for line in lines)
    assert [line.split()[-1] for line in lines[-2:]] == ["(2,070-2,200)", "1.62e+03"]
    assert "mean of the group" in lines[0]
    assert "2,134" in lines[-2]  # values are level with the first line


def test_limits_stand_behind_their_value_and_are_never_cut() -> None:
    frame = pd.DataFrame(
        {
            "rule": ["x" * 60],
            "mean": [1.5],
            "mean_low": [1.0],
            "mean_high": [2.0],
            "low": [0.1],
            "estimate": [0.5],
            "high": [0.9],
        }
    )
    lines = screen.table(frame, 60)
    assert "1.5 (1-2)" in lines[-1]
    assert "0.5 (0.1-0.9)" in lines[-1]
    assert "…" in lines[-1]


# ---------------------------------------------------------------------- help


def test_summaries_are_short_and_in_groups(capsys: pytest.CaptureFixture[str], monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = text_of(["--help"], capsys)
    assert "..." not in shown.replace("[ARGS]...", "")
    for title in ("Look", "Check", "Predict", "Plan"):
        assert f"\n{title}:\n" in shown
    placed = [name for names in SECTIONS.values() for name in names]
    for name, command in commands().items():
        assert len(command.get_short_help_str(limit=200)) < 45, name
        assert name.split()[0] in placed, name


def test_every_help_has_an_example_that_is_a_command() -> None:
    own = commands()
    assert {name for name in own if not name.startswith("simulate")} <= set(EXAMPLES) <= set(own)
    for name, lines in EXAMPLES.items():
        for line in lines:
            words = shlex.split(line)
            # `relfit sweep FILE` is `relfit sweep run FILE`
            called = name.replace("sweep run", "sweep").split()
            assert words[: len(called) + 1] == ["relfit", *called]
            own[name].make_context(name, words[len(called) + 1 :])
            assert line in own[name].epilog.replace(" \\\n      ", " ")
        assert all(len(line) <= 76 for line in own[name].epilog.splitlines())  # beside the indentation of the help


# ------------------------------------------------------------ options, advice


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["plan", "checkpoint", "--mtbf", "2000h", "--save", "5"], "--save 5 does not say its unit"),
        (["plan", "checkpoint", "--mtbf", "2000", "--save", "5min"], "--mtbf 2000 does not say its unit"),
        (["nodes", "white", "--work", "1000"], "--work 1000 does not say its unit"),
        (["forecast", "white", "--horizon", "30"], "write 30min, 30h or 30days"),
        (["incidents", "white", "--window", "10"], "--window 10 does not say its unit"),
        (["fit", "white", "--kind", "wald"], "--kind has no effect here: it goes with --interval"),
        (["fit", "white", "--first", "never", "--measure", "ttr"], "--first has no effect"),
        (["plan", "migration", *PLAN, "--migration", "1min", "--lead", "1h"], "--lead has no"),
        (["plan", "migration", *PLAN, "--migration", "1min", "--risk", "0.01", "--spares", "3"], "--risk has no"),
        (["plan", "checkpoint", *PLAN, "--sizes", "1,2", "--nodes", "3"], "--nodes does not go"),
        (["plan", "checkpoint", *PLAN, "--sizes", "a"], "--sizes 'a' is not a list"),
        (["nodes", "white", "--export", "slurm", "--work", "5h", "--out", "x"], "--work does not go with --export"),
        (["nodes", "white", "--export", "slurm", "--level", "0.9", "--out", "x"], "--level does not go with --export"),
        (["nodes", "white", "--at", "2004-01-01"], "--at does not go without a job; add --work"),
        (["nodes", "white", "--export", "slurm"], "write --out slurm"),
        (["calibrate", "p.toml", "--where", "system=2"], "--where has no effect here: it goes with a log"),
        (["calibrate", "white", "--span", "90h"], "--span has no effect"),
        (["calibrate", "white", "--nodes", "9"], "--nodes has no effect"),
        (["plan", "sparing", "--mtbf", "9h", "--mttr", "1h", "--working", "8"], "--working has no effect"),
    ],
)
def test_what_has_no_unit_or_no_effect_is_refused(arguments, text, capsys, here) -> None:
    assert main(arguments) == 2
    caught = capsys.readouterr()
    assert text in caught.err
    assert caught.out == ""


def known_options() -> set[str]:
    """The options of all commands."""
    options: set[str] = set()
    commands: list[Any] = [built()]
    while commands:
        command = commands.pop()
        options.update(name for parameter in command.params for name in parameter.opts)
        commands += getattr(command, "commands", {}).values()
    return options


def remedies() -> list[tuple[str, str]]:
    """What every remedy of the package says to a program and to a command line, as far as that is constant."""
    calls = [
        call.args
        for path in PACKAGE.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Remedy"
    ]
    return [
        tuple(
            "".join(
                ast.literal_eval(part)
                for part in ast.walk(text)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )
            for text in texts
        )
        for texts in calls
    ]


@pytest.mark.slow
def test_remedies_name_options_that_there_are_and_no_calls() -> None:
    texts = remedies()
    assert len(texts) > 40
    python = re.compile(r"\brf\.|\blog\.|\w\(\.\.\.|\w\(\)|(?<!-)(?<!--column )(?<!--where )\b[a-z_]+=(?=[\w'\".])")
    assert [options for _, options in texts if python.search(options)] == []
    named = {option for _, options in texts for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", options)}
    assert named - known_options() == set()
    assert [text for text, _ in texts if " --" in text] == []


def test_the_commands_are_read_once_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    built()
    monkeypatch.delattr("typer.main.get_command")
    assert main(["info", "white"]) == 0
    assert main(["fit", "white", "--families", "weibul"]) == 2  # advice looks at all options


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("a;1,500\nb;2,250\n", '--column decimal="," reads it as a number'),
        ("a;05/02/24\n", "as --column time_format="),
        ("a;05/02/2024\n", "say it with --column day_first=true or --column day_first=false"),
        ("a;2024-01-05 10:00 EST\n", "give --timezone"),
        ("a;5\n", "with --column time_format=unix, or with time_origin=DATE"),
    ],
)
def test_settings_of_a_table_are_advised_as_options(here, capsys, rows, says) -> None:
    column = "duration" if "," in rows else "start"
    (here / "log.csv").write_text(f"node;{column}\n{rows}")
    assert main(["info", "log.csv"]) == 2
    assert says in capsys.readouterr().err
    good = "a;1\n" if column == "duration" else "b;2024-01-01 00:00\nb;2024-01-02 00:00\nb;2024-01-03 00:00\n"
    (here / "log.csv").write_text(f"node;{column}\n{rows}{good}")
    if "first" not in says:  # which is of the file, not of a row
        assert main(["info", "log.csv"]) == 0
        assert " ".join(says.split()) in " ".join(capsys.readouterr().out.split())


def test_an_error_from_the_library_advises_in_options(capsys, log_file) -> None:
    assert main(["nodes", str(log_file), "--export", "slurm", "--out", "folder"]) == 2
    assert "select one: --where system" in capsys.readouterr().err
    two_levels = [
        "plan",
        "checkpoint",
        "--mtbf",
        "20000h",
        "--nodes",
        "8",
        "--save",
        "5min",
        "--global-restore",
        "5min",
    ]
    assert main(two_levels) == 2
    assert "give --global-save" in capsys.readouterr().err


# ------------------------------------------------------------------ headlines


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (["info"], "48 records of 4 nodes in "),
        (["fit", "--per", "cause", "--where", "cause=network", "--resamples", "0"], "\nThe "),
        (["incidents"], "\n48 "),
        (["calibrate", "--parts", "mtbf,mttr", "--period", "all"], "\nAn incident in one system every "),
    ],
)
def test_the_first_line_is_what_was_found(arguments, first, capsys, log_file) -> None:
    assert main([arguments[0], str(log_file), *arguments[1:]]) == 0
    shown = capsys.readouterr().out
    if first[0] == "\n":
        assert shown.startswith(("Period used", "As of"))
        assert first in shown[:400]
    else:
        assert shown.startswith(first)


def test_lines_fit_eighty_columns(capsys, monkeypatch, log_file) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (log_file.parent / "p.toml").write_text(PARAMS)
    for arguments in (
        ["info", log_file.name],
        ["fit", log_file.name, "--resamples", "0"],
        ["incidents", log_file.name],
        ["plan", "checkpoint", "p.toml", "--save", "5min", "--draws", "100"],
        ["plan", "migration", "p.toml", "--save", "5min", "--migration", "1min", "--draws", "100"],
        ["plan", "replication", "p.toml", "--save", "5min", "--draws", "100"],
    ):
        assert main(arguments) == 0
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 80, (arguments, max(lines, key=len))


def test_the_finding_of_one_group_comes_first() -> None:
    rng = np.random.default_rng(2)
    good = rf.fitting.finding(rf.fit(rf.LifeData.from_array(rng.weibull(0.6, size=(1, 400)) * 100.0)))
    assert re.match(r"The weibull is the closest of 4 distributions.*fits \(Anderson-Darling p = ", good)
    two = np.concatenate([rng.exponential(1.0, 300), 1e4 + rng.exponential(1.0, 300)])
    assert rf.fitting.finding(rf.fit(rf.LifeData.from_array(two[None]))).startswith("No distribution fits: the ")


# ----------------------------------------------------------------------- plans


def test_a_plan_says_what_it_holds_for(capsys, here) -> None:
    Path("p.toml").write_text(PARAMS)
    plan = ["plan", "checkpoint", "p.toml", "--nodes", "1000", "--save", "5min", "--draws", "50"]
    shown = " ".join(text_of(plan, capsys).split())
    assert shown.startswith("Checkpoint every ")
    assert "This is for 1,000 nodes that fail like the 512 of the calibrated fleet, no spares, " in shown


def test_a_shape_keeps_the_nodes_and_the_wait_for_the_system(capsys, here) -> None:
    """It said "for 1 node" of a job on 1,000."""
    costs = ["--save", "5min", "--restore", "5min"]
    assert main(["plan", "checkpoint", "--mtbf", "20000h", "--nodes", "1000", *costs, "--shape", "0.7"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "This is for 1,000 nodes that fail every 2.28 years each, with Weibull times between failures of " in shown
    Path("system.toml").write_text(
        'mtbf.node = "2000h"\nmtbf.system = "60h"\nmttr.node = "3h"\nmttr.system = "5h"\n[fleet]\nnodes = 64\n'
    )
    of_shape = []
    for more in ([], ["--shape", "1"]):  # of which 1 is exponential
        assert main(["plan", "checkpoint", "system.toml", *costs, "--checkpoint-every", "1h", *more, "--json"]) == 0
        plan = json.loads(capsys.readouterr().out)
        of_shape.append([plan[name] for name in ("waste", "spared_waste", "own_spared_waste", "system_wait")])
    assert of_shape[1] == pytest.approx(of_shape[0], rel=1e-3)


def test_intervals_by_size_are_read_back_by_a_script(capsys, here) -> None:
    Path("p.toml").write_text(PARAMS)
    plan = ["plan", "checkpoint", "p.toml", "--save", "5min", "--restore", "10min", "--repair", "0h"]
    assert main([*plan, "--sizes", "1,16,64,256", "--out", "table.csv"]) == 0
    assert main([*plan, "--sizes", "1,16,64,256", "--out", "table.json"]) == 0
    table = pd.read_csv("table.csv")
    assert table["nodes"].tolist() == [1, 16, 64, 256]
    assert [row["nodes"] for row in json.loads(Path("table.json").read_text())] == [1, 16, 64, 256]
    assert capsys.readouterr().out.startswith("Checkpoint on 1 node every 22.3 hours")
    assert main([*plan, "--sizes", "1,16,64,256", "--json"]) == 0
    assert [row["nodes"] for row in json.loads(capsys.readouterr().out)["table"]] == [1, 16, 64, 256]
    # the optimum of exponential failures by its own equation: exp(-T/M - C/M) = 1 - T/M
    for _, row in table.iterrows():
        mean, save = 3000.0 / row["nodes"], 1.0 / 12.0
        best = brentq(lambda t, m=mean, c=save: np.exp(-(t + c) / m) - 1.0 + t / m, 1e-6 * mean, mean)
        assert row["checkpoint_every_seconds"] == pytest.approx(3600.0 * best, rel=1e-5)
        assert row["mtbf_seconds"] == pytest.approx(3600.0 * mean)
    for size in (16, 256):
        assert main([*plan, "--nodes", str(size), "--json"]) == 0
        one = json.loads(capsys.readouterr().out)
        row = table.set_index("nodes").loc[size]
        assert row["checkpoint_every_seconds"] == pytest.approx(3600.0 * one["checkpoint_every"])
        assert row["lost"] == pytest.approx(one["waste"])


def test_limits_of_one_side_and_small_p_values_are_said() -> None:
    frame = pd.DataFrame(
        {
            "value": [np.nan, 3.0, np.nan, 5.0],
            "low": [4028.0, 2.0, np.nan, np.nan],
            "high": [np.nan, np.nan, np.nan, 6.0],
            "p": [3e-120, 0.0, 0.04, np.nan],
        }
    )
    rows = [" ".join(line.split()) for line in screen.table(frame)[2:]]
    assert rows == ["above 4,028 <0.0001", "3 (above 2) <0.0001", "- 0.04", "5 (below 6) -"]


# ------------------------------------------------------- sentences and tables agree


def test_large_numbers_in_tables_have_commas_and_no_exponent() -> None:
    frame = pd.DataFrame({"hours": [30_680.0, 1.908e7], "incidents": [12_125, 7], "ok": [True, False]})
    rows = [line.split() for line in screen.table(frame)[2:]]
    assert rows == [["30,680", "12,125", "True"], ["19,080,000", "7", "False"]]


def without_ends(path: Path) -> Path:
    rng = np.random.default_rng(6)
    start = pd.Timestamp("2023-01-01") + pd.to_timedelta(np.sort(rng.uniform(0.0, 8000.0, 400)), unit="h")
    rows = pd.DataFrame({"node": rng.choice([f"n{i}" for i in range(20)], 400), "start": start})
    rows.to_csv(path, index=False)
    return path


def test_a_forecast_says_no_repair_hours_where_no_repair_was_seen_to_end(tmp_path: Path, capsys) -> None:
    assert main(["forecast", str(without_ends(tmp_path / "log.csv")), "--draws", "200"]) == 0
    said = capsys.readouterr().out
    assert "failures" in said
    assert "repair" not in said
    assert "0 (0-0)" not in said


@pytest.mark.slow
def test_ages_that_come_from_the_log_are_not_asked_about() -> None:
    system = rf.system_from_log(rf.datasets.load("white"))  # of nodes without a failure the age is an expected one
    assert system.notes == ()
    assert system.take([*range(500)]).later("1h").tolerating(1).notes == ()
    assert not re.search(r"e\+0", repr(system))


@pytest.mark.slow
def test_repairs_are_shown_as_observed_and_no_classes_where_there_are_none(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    rng = np.random.default_rng(8)
    start = pd.Timestamp("2023-01-01") + pd.to_timedelta(np.arange(300) * 40.0, unit="h")
    hours = rng.lognormal(0.0, 0.8, 300)
    end = start + pd.to_timedelta(np.maximum(np.round(hours * 60.0), 1.0), unit="min")
    path = tmp_path / "log.csv"
    pd.DataFrame({"node": rng.choice(list("abcd"), 300), "start": start, "end": end, "cause": "disk"}).to_csv(
        path, index=False
    )
    taken = np.asarray((end - start) / pd.Timedelta("1h"))
    assert main(["trend", str(path), "--period", "all", "--details"]) == 0
    text = capsys.readouterr().out
    part = text[text.index("Are repairs of two kinds") :].split("How much of the time")[0]
    assert "one mean repair time describes them" in part
    row = next(line for line in part.splitlines() if line.startswith("disk")).split()
    assert row[1:3] == ["300", f"{taken.mean():.4g}"]
    assert float(row[4]) == pytest.approx(np.sort(taken)[149], rel=1e-3)  # the median
    assert row[-4:] == ["-", "-", "-", "-"]


def test_six_rows_get_few_sentences(tmp_path: Path, capsys) -> None:
    path = tmp_path / "six.csv"
    at = pd.to_datetime(["2024-03-01", "2024-03-05", "2024-03-09", "2024-03-15", "2024-03-22", "2024-03-29"])
    pd.DataFrame({"node": list("abcabc"), "start": at, "end": at + pd.Timedelta("4h")}).to_csv(path, index=False)
    assert main(["trend", str(path)]) == 0
    said = capsys.readouterr().out
    assert "Nodes were up" in said
    assert "lowest" not in said


def test_a_median_that_is_not_reached_is_no_number() -> None:
    table = pd.DataFrame(
        {"median": [np.inf, np.inf, 5.0], "median_low": [np.inf, 400.0, 3.0], "median_high": [np.inf] * 3}
    )
    lines = screen.table(table)
    assert [line.strip() for line in lines[2:]] == ["not reached", "not reached (above 400)", "5 (3-inf)"]


def test_columns_are_headed_by_words_with_a_unit() -> None:
    said = {name: screen.heading(name) for name in ("mtbf_hours", "mtbf", "best_by_aicc", "hazard_24h", "hazard_ratio")}
    assert list(said.values()) == ["MTBF hours", "MTBF (h)", "best by AICc", "hazard 24h (1/h)", "hazard ratio"]


def test_a_table_is_drawn_with_limits_in_brackets_and_heads_of_two_lines() -> None:
    none = float("nan")
    wide = pd.DataFrame(
        {"node": ["a", "b"], "mean": [1234.5678, none], "mean_low": [1.0, none], "mean_high": [1500.0, none]}
    )
    assert screen.table(wide) == ["node  mean", "----  ---------------", "a     1,235 (1-1,500)", "b     -"]
    narrow = screen.table(pd.DataFrame({"failures_of_nodes": [1], "n": [2]}), room=12)
    assert narrow == ["failures", "of nodes  n", "--------  -", "       1  2"]
