"""What the commands print and write when all is well."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.cli.app import main
from tests.cli.conftest import relfit


def document(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict:
    """The one JSON document that a command prints; NaN and the like are rejected."""
    assert main([*map(str, arguments), "--json"]) == 0
    caught = capsys.readouterr()
    assert not caught.err or caught.err.endswith("see relfit info\n")  # rows that were rejected

    def reject(constant: str) -> None:
        raise AssertionError(f"bare {constant} in JSON")

    return json.loads(caught.out, parse_constant=reject)


def test_info_counts_rows(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    about = document(capsys, "info", log_file)
    assert about["rows_read"] == 48 == about["rows_kept"] + about["rows_rejected"]
    assert (about["events"], about["nodes"], about["systems"]) == (48, 4, ["9", "20"])
    assert about["causes"] == {"hardware": 24, "software": 12, "network": 12}


def test_info_in_words(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(log_file)]) == 0
    text = capsys.readouterr().out
    assert "48 read = 48 kept + 0 rejected" in text
    assert "nodes     4 of 2 systems" in text
    assert len(text.splitlines()) <= 12
    assert main(["info", str(log_file), "--details"]) == 0
    assert "systems   2: 9, 20" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["info"], ["convert", "--out", "log.parquet"], ["trend"], ["fit"]])
@pytest.mark.slow
def test_what_is_not_in_the_log_is_told(command: list[str], log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with log_file.open("a") as file:
        file.write("20,1,2003-13-45 00:00,2003-12-30 02:00,hardware,r1\n")
    assert main([command[0], str(log_file), "--observed", "2003-01-01/2003-12-01", *command[1:]]) == 0
    caught = capsys.readouterr()
    told = " ".join((caught.out + caught.err).split())
    assert "4 events left out (after the declared end)" in told
    assert "1 rejected" in told or "1 of 49 rows was rejected" in told
    assert "every row was used" not in told
    assert (caught.err == "") == (command[0] in ("info", "convert"))


def test_the_number_of_nodes_is_an_option(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tickets.csv").write_text(
        "host,opened,closed,component,rack,severity\na,2024-01-01,2024-01-02,GPU (as 'x'),R1,1\n"
    )
    assert document(capsys, "info", "tickets.csv", "--n-nodes", 7)["nodes"] == 7
    assert main(["info", "tickets.csv", "--n-nodes", "7"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    columns = "columns node from 'host', start from 'opened', end from 'closed', cause from 'component'; attributes"
    assert f"{columns} rack, severity" in text
    Path("nodes.csv").write_text("node\na\n")
    assert main(["info", "tickets.csv", "--n-nodes", "7", "--population", "nodes.csv"]) == 2
    assert "give --n-nodes or --population" in capsys.readouterr().err
    assert main(["info", "white", "--n-nodes", "7"]) == 2
    assert "--n-nodes does not go with a data set" in capsys.readouterr().err


def test_info_writes_the_refused_rows(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with log_file.open("a") as file:
        file.write("20,1,2003-13-45 00:00,2003-12-30 02:00,hardware,r1\n")
    assert main(["info", str(log_file), "--out", "rejected.csv"]) == 0
    text = capsys.readouterr().out
    assert "49 read = 48 kept + 1 rejected" in text
    assert "(first in line 50)" in text
    rejected = pd.read_csv("rejected.csv")
    assert rejected["line"].tolist() == [50]
    assert main(["info", str(log_file), "--out", "rejected.parquet"]) == 0
    assert pd.read_parquet("rejected.parquet")["reason"].tolist() == rejected["reason"].tolist()
    assert main(["info", str(log_file), "--out", "about.json"]) == 0
    about = json.loads(Path("about.json").read_text())
    assert [row["line"] for row in about["rejected"]] == [50]
    assert about["rows_read"] == 49


def test_strict_makes_a_refused_row_an_error(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with log_file.open("a") as file:
        file.write("20,1,2003-13-45 00:00,2003-12-30 02:00,hardware,r1\n")
    assert main(["info", str(log_file), "--strict"]) == 2
    assert "line 50" in capsys.readouterr().err


ONE = ("--families", "exponential")  # for what has nothing to do with families: p-values of four take most of a command


@pytest.mark.slow
def test_fit_prints_the_three_tables(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(log_file)]) == 0
    assert len(capsys.readouterr().out.splitlines()) <= 10
    assert main(["fit", str(log_file), "--details"]) == 0
    caught = capsys.readouterr()
    assert caught.err == ""
    for heading in (
        "Which distribution fits best",
        "Spread over the groups",
        "Fits by group (hours, 95 % profile intervals, exact of the exponential)",
    ):
        assert heading in caught.out
    assert caught.out.count("lognormal") >= 5  # a status, a comparison and four groups


@pytest.mark.slow
def test_fit_is_the_library_s_fit(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import relfit as rf

    fits = document(capsys, "fit", log_file, "--families", "gamma,weibull", "--level", "0.9")
    expected = rf.fit(rf.read(log_file).ttf(), families=["gamma", "weibull"], level=0.9)
    assert fits["families"] == ["gamma", "weibull"]
    assert fits["level"] == 0.9
    shapes = [row["shape"] for row in fits["fits"] if row["family"] == "weibull"]
    assert shapes == pytest.approx(expected["weibull"].parameters["shape"].tolist())
    assert {"log", "lives", "compare", "describe"} <= set(fits)


@pytest.mark.parametrize(
    ("arguments", "groups"),
    [
        (["--per", "system"], 2),
        (["--per", "rack"], 2),
        (["--per", "cause", "--measure", "ttr"], 3),
        (["--where", "system=20"], 3),
        (["--where", "system=20", "--where", "system=9"], 4),
        (["--where", "system=20", "--where", "cause=software", "--per", "cause"], 1),
        (["--since", "2003-06-01", "--until", "2003-10-01"], 4),
    ],
)
def test_choosing_a_part(log_file: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], groups: int) -> None:
    assert document(capsys, "fit", log_file, *arguments, *ONE)["lives"]["groups"] == groups


def test_censoring_can_be_left_out(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_censoring = document(capsys, "fit", log_file, *ONE)["lives"]
    without = document(capsys, "fit", log_file, "--no-censor", *ONE)["lives"]
    assert with_censoring["censored"] > 0 == without["censored"]
    assert with_censoring["observed"] == without["observed"]


@pytest.mark.slow
def test_fits_to_a_file_in_every_format(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("fits.csv", "fits.parquet", "fits.json"):
        assert main(["fit", str(log_file), "--families", "exponential,weibull", "--out", name]) == 0
    assert f"written to {name}" in capsys.readouterr().out
    records = json.loads(Path("fits.json").read_text())
    tables = [pd.read_csv("fits.csv"), pd.read_parquet("fits.parquet"), pd.DataFrame(records)]
    for table in tables:
        assert len(table) == 8
        assert table.columns.tolist() == tables[0].columns.tolist()
        assert table["mean"].tolist() == pytest.approx(tables[0]["mean"].tolist())
    assert sorted(p.name for p in Path().iterdir()) == ["fits.csv", "fits.json", "fits.parquet", "log.csv"]


def test_columns_of_a_table_are_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("odd.csv").write_text("hostname,began,over\na,2003-01-01,2003-01-02\na,2003-02-01,2003-02-02\n")
    about = document(
        capsys, "info", "odd.csv", "--column", "node=hostname", "--column", "start=began", "--column", "end=over"
    )
    assert (about["nodes"], about["events"]) == (1, 2)


def test_timezone_moves_the_window(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = document(capsys, "info", log_file)["window"]["start"]
    moved = document(capsys, "info", log_file, "--timezone", "America/Denver")["window"]["start"]
    assert pd.Timestamp(moved) - pd.Timestamp(start) == pd.Timedelta(hours=7)


def test_a_sample_by_name_and_a_file_of_that_name(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert document(capsys, "info", "white")["nodes"] == 512
    log_file.rename("white")
    assert document(capsys, "info", "white")["nodes"] == 4


def test_data_lists_and_exports(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "white" in [sample["name"] for sample in document(capsys, "data")["samples"]]
    assert main(["data", "white", "--out", "white.parquet"]) == 0
    assert main(["data", "white", "--out", "white.csv"]) == 0
    capsys.readouterr()
    sample = document(capsys, "info", "white")
    kept = document(capsys, "info", "white.parquet")
    assert {k: kept[k] for k in ("events", "nodes", "window", "causes")} == (
        {k: sample[k] for k in ("events", "nodes", "window", "causes")}
    )
    table = document(capsys, "info", "white.csv")
    assert (table["events"], table["rows_rejected"]) == (sample["events"], 0)


@pytest.mark.slow
def test_report_prints_its_answer_and_path(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(log_file), "-o", "out.html", *ONE]) == 0
    caught = capsys.readouterr()
    answer, _, path = caught.out.strip().rpartition("\n")
    assert path == "out.html"
    page = Path("out.html").read_text()
    assert "incidents" in answer
    assert " ".join(answer.split()) in " ".join(re.sub("<[^>]+>", "", html.unescape(page)).split())
    assert page.rstrip().endswith("</html>")
    assert sorted(p.name for p in Path().iterdir()) == ["log.csv", "out.html"]


@pytest.mark.slow
def test_report_of_a_period(log_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relfit.reporting.drawing._svg", lambda canvas, key, title: "<svg></svg>")  # words only
    assert main(["report", str(log_file), "-o", "out.html", "--period", "all", "--title", "Frost", *ONE]) == 0
    page = Path("out.html").read_text()
    assert "<h1>Frost</h1>" in page
    assert "Period used: all of the log" in page
    assert main(["report", str(log_file), "-o", "no.html", "--period", "latest"]) == 2
    assert not Path("no.html").exists()


def test_version_help_and_nothing() -> None:
    assert relfit("--version").out == f"relfit {rf.__version__}\n"
    helped = relfit("--help")
    assert helped.code == 0
    assert all(command in helped.out for command in ("info", "fit", "report", "data"))
    bare = relfit()
    assert (bare.code, bare.out) == (2, "")
    assert "Usage: relfit" in bare.err


@pytest.mark.slow
def test_help_loads_nothing_heavy() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from relfit.cli.app import main; main(['--help']); main(['fit', '--help']);"
        "print([m for m in ('numpy', 'pandas', 'pyarrow', 'scipy', 'rich', 'numba', 'matplotlib') if m in sys.modules],"
        " file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.slow
@pytest.mark.long
def test_a_reader_that_leaves_early_is_no_error(log_file: Path) -> None:
    import subprocess
    import sys

    with subprocess.Popen(
        [sys.executable, "-m", "relfit", "fit", str(log_file), *ONE], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_ctrl_c_ends_quietly(
    log_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("relfit.fit", interrupted)
    assert main(["fit", str(log_file), "--out", "fits.csv"]) == 130
    caught = capsys.readouterr()
    assert (caught.out, caught.err) == ("", "")
    assert sorted(p.name for p in Path().iterdir()) == ["log.csv"]


@pytest.mark.parametrize("column", ["line", "start_cut", "end_cut", "entered", "duration_hours", "reason"])
def test_columns_with_names_that_we_use_ourselves(
    log_file: Path, capsys: pytest.CaptureFixture[str], column: str
) -> None:
    lines = log_file.read_text().splitlines()
    log_file.write_text("\n".join([f"{lines[0]},{column}", *(f"{line},1" for line in lines[1:])]) + "\n")
    assert document(capsys, "fit", log_file, *ONE)["lives"]["groups"] == 4


def test_control_characters_do_not_reach_the_terminal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.csv").write_text("node,start,end,cause\na,2003-01-01,2003-01-02,\x1b[2Jhidden\n")
    assert main(["info", "log.csv"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert main(["info", "no\x1b[2Jsuch"]) == 2
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.slow
def test_names_that_the_terminal_cannot_show(here: Path) -> None:
    Path("log.csv").write_text("node,start,end,cause\na,2003-01-01,2003-01-02,kühlung\n", encoding="utf-8")
    done = relfit("info", "log.csv", cwd=here, PYTHONIOENCODING="ascii")
    assert (done.code, done.err) == (0, "")
    assert "k\\xfchlung" in done.out


def test_records_without_a_node_are_what_the_option_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text("host,start,end\na,2024-01-01,2024-01-02\n,2024-01-05,2024-01-06\nb,2024-01-07,2024-01-08\n")
    assert main(["info", str(path), "--details"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "columns: node from 'host' (as 'a'), start from 'start' (as '2024-01-01')" in out
    assert "1 record without a node and a scope: taken as outages of the whole system" in out
    assert main(["info", str(path), "--nodeless", "ignore"]) == 0
    assert "1 record without a node and a scope left out" in capsys.readouterr().out
    assert main(["info", str(path), "--nodeless", "rack"]) == 2
    assert "use system, node or ignore" in capsys.readouterr().err
    assert main(["info", "white", "--nodeless", "node"]) == 2


def test_info_shows_what_a_record_was_taken_for_and_the_whole_funnel(tmp_path, capsys):
    path = tmp_path / "messages"
    xid = "kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus."
    path.write_text("".join(f"2024-01-{day:02d}T10:00:00Z n{day} {xid}\n" for day in (3, 9, 17, 28)))
    assert main(["info", str(path)]) == 0
    out = capsys.readouterr().out
    assert "funnel    4 lines > 4 alerts > 4 that end a job > 4 failures > 4 incidents" in out
    assert "example   node 'n3', start 2024-01-03 10:00, end not known, cause 'gpu" in out


def test_lines_of_one_failure_are_records_of_the_funnel(tmp_path, capsys):
    path, rng = tmp_path / "messages", np.random.default_rng(4)
    start, node = np.sort(rng.uniform(0.0, 7.0e6, 300)).astype(int), rng.integers(0, 60, 300)
    lines = [
        f"{pd.Timestamp(1_704_067_200 + at + 2 * line, unit='s').isoformat()}Z n{which} kernel: NVRM: Xid (PCI:0): 79\n"
        for at, which in zip(start.tolist(), node.tolist(), strict=True)
        for line in range(4)
    ]
    path.write_text("".join(lines))
    assert main(["info", str(path)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "> 1,200 that end a job > 1,200 records > 300 failures > " in out


def test_nodes_that_fail_outside_the_window_are_in_the_log_and_without_a_failure(tmp_path, capsys):
    path = tmp_path / "log.csv"
    path.write_text("node,start\na,2024-10-03\na,2024-10-13\nb,2024-10-05\nb,2024-10-25\nc,2024-11-05\n")
    assert main(["info", str(path), "--n-nodes", "5", "--observed", "2024-10-01/2024-11-01"]) == 0
    assert "3 are in the log, 3 without a failure" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("measure", ["ttf", "ttr"])
@pytest.mark.slow
def test_all_times_are_fitted_as_one_sample(capsys: pytest.CaptureFixture[str], measure: str) -> None:
    options = ["white", "--where", "rack=frame01", "--period", "all", "--families", "weibull", "--measure", measure]
    found = document(capsys, "fit", *options, "--per", "all")
    times = getattr(rf.datasets.load("white").where(rack="frame01"), measure)().pooled()
    expected = rf.fit(times, "weibull").to_frame()
    assert [row["lives"] for row in found["fits"]] == [times.durations.size]
    assert found["fits"][0]["shape"] == pytest.approx(float(expected["shape"][0]))


def test_what_was_observed_comes_before_any_distribution(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Repairs that are quick or slow: no family has them, and a rejected lognormal's mean is far from the sample's."""
    monkeypatch.setenv("COLUMNS", "200")
    rng = np.random.default_rng(3)
    quick = rng.random(1500) < 0.9
    hours = np.where(quick, rng.uniform(0.2, 0.3, 1500), rng.uniform(40.0, 80.0, 1500))
    start = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(1500) * 100.0, unit="h")
    end = start + pd.to_timedelta(hours * 3600.0, unit="s").round("s")
    cause = np.where(np.arange(1500) % 3, "fan", "disk")
    table = pd.DataFrame({"node": "a", "start": start, "end": end, "cause": cause})
    table.to_csv("log.csv", index=False)
    mean, fan = (
        float(((part["end"] - part["start"]) / pd.Timedelta("1h")).mean())
        for part in (table, table[table["cause"] == "fan"])
    )
    options = ["fit", "log.csv", "--measure", "ttr", "--period", "all", "--families", "weibull,lognormal", "--details"]
    assert main([*options, "--per", "all", "--out", "fits.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(f"Observed: mean {mean:.3g} h (")
    assert "median 0.2" in lines[1]
    assert "1,500 times to repair." in lines[1]
    assert lines[2].startswith("No distribution fits: the ")
    assert " mean " not in lines[2]
    assert pd.read_csv("fits.csv")["observed_mean"].tolist() == pytest.approx([mean, mean])
    assert main([*options, "--per", "cause"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("Observed, all 2 groups together: mean")
    place = next(
        i
        for i, line in enumerate(lines)
        if line.startswith("Observed by group (hours, 95 % intervals without a distribution)")
    )
    row = next(line for line in lines[place:] if line.startswith("fan"))
    assert row.split()[1:4] == ["1,000", "1,000", f"{fan:.4g}"]


def test_the_spread_over_groups_is_one_of_quantiles(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "log.csv", "--resamples", "0", "--details"]) == 0
    text = capsys.readouterr().out
    part = text[text.index("Spread over the groups: quantiles") :].split("\n\n")[0]
    assert "maximum" not in part
    assert [line.split("  ")[0] for line in part.splitlines()[3:]] == [
        "weibull shape",
        "weibull scale",
        "weibull mean",
        "observed mean",
    ]


@pytest.mark.parametrize(("rate", "hours"), [("2%AFR", "438300h"), ("1000 FIT", "1e6h"), ("0.5 % afr", "1753200h")])
def test_failure_rates_by_the_year_and_in_billions_of_hours(
    capsys: pytest.CaptureFixture[str], rate: str, hours: str
) -> None:
    plans = [
        document(capsys, "plan", "checkpoint", "--mtbf", mtbf, "--nodes", 1000, "--save", "5min")
        for mtbf in (rate, hours)
    ]
    assert plans[0]["findings"] == plans[1]["findings"]


def test_a_rate_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    for rate in ("2AFR", "0 FIT", "-1%AFR", "1e400FIT"):
        assert main(["plan", "checkpoint", "--mtbf", rate, "--save", "5min"]) == 2
        assert "--mtbf" in capsys.readouterr().err
    assert main(["plan", "checkpoint", "--mtbf", "20h", "--save", "2%AFR"]) == 2


def test_a_warning_is_a_line_without_our_code():
    code = "import sys, warnings; from relfit.cli import app; app.main(); warnings.warn('slow')"
    done = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=True)
    assert done.stderr == "relfit: warning: slow\n"


def test_words_of_the_command_line_and_of_python_lead_to_one_another(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("tickets.csv").write_text(
        "host,opened,closed,component\na,2024-01-01,2024-01-02,disk\nb,2024-02-01,2024-02-03,fan\n"
    )
    assert main(["fit", "tickets.csv", "--where", "component=disk"]) == 2
    assert "it was read as cause: write cause" in " ".join(capsys.readouterr().err.split())
    for observed in ("2024-01-01/2024-03-01", ("2024-01-01", "2024-03-01")):
        with pytest.raises(rf.RelfitError, match="window_start and window_end"):
            rf.read("tickets.csv", observed=observed)
    assert main(["forecast", "tickets.csv", "--period", "stable"]) == 2
    assert "add --at long-run" in " ".join(capsys.readouterr().err.split())
