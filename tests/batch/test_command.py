"""`relfit simulate batch` and its configuration."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from relfit.cli.app import main

JOBS = "job_id,submission_time,nodes,walltime,run_time\na,0,3,10,10\nb,1,4,10,10\nc,2,1,8,8\nd,3,1,20,20\ne,4,9,5,5\n"


@pytest.fixture
def config(tmp_path):
    (tmp_path / "jobs.csv").write_text(JOBS)
    place = tmp_path / "cluster.toml"
    place.write_text('[workload]\nfile = "jobs.csv"\n[cluster]\nnodes = 4\n')
    return place


def test_jobs_and_json(config, tmp_path, capsys):
    out = tmp_path / "out.csv"
    assert main(["simulate", "batch", str(config), "--json", "--jobs-out", str(out)]) == 0
    document = json.loads(capsys.readouterr().out)
    table = pd.read_csv(out)
    assert table.columns.tolist() == [
        "job_id",
        "submission_time",
        "starting_time",
        "finish_time",
        "success",
        "nodes",
    ]
    assert table["starting_time"][:4].tolist() == [0.0, 10.0, 2.0, 20.0]
    assert document["summary"]["done"] == 4
    assert document["summary"]["too_wide"] == 1


@pytest.mark.slow
def test_replayed_failures_figure_runs_and_saving(config, tmp_path, capsys):
    failures = tmp_path / "failures.csv"
    failures.write_text("time,node,repair_seconds\n5,0,100\n")
    assert main(["simulate", "batch", str(config), "--failures", str(failures), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["counts"]["kills"] == 1
    assert document["summary"]["makespan"] == 115.0
    figure = tmp_path / "states.png"
    assert main(["simulate", "batch", str(config), "--failures", str(failures), "--plot", str(figure)]) == 0
    assert figure.stat().st_size > 10_000
    capsys.readouterr()
    with config.open("a") as file:
        file.write('[[failures]]\nkind = "nodes"\nmtbf = "1min"\nshape = 0.7\nrepair = "5s"\n')
    assert main(["simulate", "batch", str(config), "--runs", "3", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 3


def test_failures_of_a_log_name_their_dates_and_columns(config, tmp_path, capsys):
    """Ten days of log from 3 March on, and five jobs in a row of 4 days each: from day 10 on nothing fails."""
    (tmp_path / "jobs.csv").write_text(
        "job_id,submission_time,nodes,run_time\n" + "".join(f"{i},0,4,345600\n" for i in range(5))
    )
    (tmp_path / "log.csv").write_text(
        "Host,Out from,Out to\nn1,2024-03-03 00:00,2024-03-03 06:00\nn2,2024-03-08 00:00,2024-03-08 12:00\n"
        "n3,2024-03-12 12:00,2024-03-13 00:00\n"
    )
    plain = config.read_text() + '[[failures]]\nkind = "log"\nfile = "log.csv"\n'
    config.write_text(plain)
    assert main(["simulate", "batch", str(config)]) == 2
    assert 'name one with columns = { start = "NAME" }' in capsys.readouterr().err
    config.write_text(plain + 'columns = { node = "Host", start = "Out from", end = "Out to" }\n')
    for options in ([], ["--runs", "2"]):
        assert main(["simulate", "batch", str(config), *options]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "from 2024-03-03 to 2024-03-13, whose start is second 0 of the jobs. The run goes on for" in said
    config.write_text(plain.replace('"log"', '"replay"') + 'columns = { node = "Host" }\n')
    assert main(["simulate", "batch", str(config)]) == 2
    assert "have no columns to name" in capsys.readouterr().err
    config.write_text(plain + 'columns = { start = "Out from", end = "Out to" }\n[simulation]\nuntil = "5 days"\n')
    assert main(["simulate", "batch", str(config), "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert (
        "Failures are those of the log from 2024-03-03 to 2024-03-08, whose start is second 0 of the jobs." in findings
    )


def test_tables_on_the_terminal_are_in_hours(config, capsys):
    """Jobs a, b, c and d wait 0, 9, 0 and 17 seconds, 6.5 on average: 0.001806 hours."""
    for options in ([], ["--runs", "2"]):
        assert main(["simulate", "batch", str(config), *options]) == 0
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        row = next(line for line in lines if line[:3] == ["mean", "wait", "(h)"])
        assert row[3].startswith("0.001806")
        assert not any(line[:2] == ["mean", "wait"] and line[2] != "(h)" for line in lines)


def test_json_names_the_unit_of_each_of_its_times(config, capsys):
    for options in ([], ["--runs", "1"]):
        assert main(["simulate", "batch", str(config), "--json", *options]) == 0
        document = json.loads(capsys.readouterr().out)
        assert "unit" not in document
        assert {document["units"][name] for name in ("makespan", "mean_wait", "now", "AWT")} == {"s"}


def test_runs_that_differ_in_nothing_are_rejected_or_told(config, tmp_path, capsys):
    failures = tmp_path / "failures.csv"
    failures.write_text("time,node,repair_seconds\n5,0,1\n")
    again = ["simulate", "batch", str(config), "--runs", "2"]
    assert main([*again, "--failures", str(failures)]) == 2
    assert "every run replays --failures" in capsys.readouterr().err
    with config.open("a") as file:
        file.write('[[failures]]\nkind = "replay"\nfile = "failures.csv"\n')
    assert main(again) == 0
    shown = capsys.readouterr().out
    assert "All runs are equal: none has a random failure." in shown
    assert "elapsed" not in shown
    with config.open("a") as file:
        file.write('[[failures]]\nkind = "system"\nmtbf = "10s"\nrepair = "1s"\n')
    assert main(again) == 0
    assert "equal" not in capsys.readouterr().out
    assert main([*again[:-1], "1"]) == 0
    assert capsys.readouterr().out.startswith("1 run: mean wait")


def test_a_list_of_failures_that_ends_early_is_told(config, tmp_path, capsys):
    """Jobs end at 38 s without failures; node 3 is idle when it fails."""
    failures = tmp_path / "failures.csv"
    for times, told in (((3, 6), True), ((20, 37), False)):
        rows = "".join(f"{time},3,0\n" for time in times)
        failures.write_text(f"time,node,repair_seconds\n{rows}")
        assert main(["simulate", "batch", str(config), "--failures", str(failures)]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert ("The list of failures ends after 6 seconds" in said) == told, said


CLASSES = """
[workload]
file = "classes.csv"
columns = { node_class = "queue" }
[[classes]]
name = "cpu"
nodes = 2
[[classes]]
name = "gpu"
nodes = 3
nodes_per_rack = 2
scheduler = { name = "fcfs" }
allocation = { policy = "rack" }
[[classes.failures]]
kind = "replay"
file = "gpu.csv"
[[failures]]
kind = "replay"
file = "machine.csv"
"""


def test_classes_of_nodes(tmp_path, capsys):
    """The machine is away from 4 to 7 s; then a, b and, on the whole rack of two, c; node 3 of the machine at 12 s."""
    (tmp_path / "classes.csv").write_text(
        "job_id,submission_time,nodes,walltime,run_time,queue\na,0,2,10,10,cpu\nb,0,1,30,30,gpu\nc,1,2,10,10,gpu\n"
    )
    (tmp_path / "gpu.csv").write_text("time,node,repair_seconds\n12,1,3\n")
    (tmp_path / "machine.csv").write_text("time,node,repair_seconds\n4,-1,3\n")
    place, out = tmp_path / "cluster.toml", tmp_path / "out.csv"
    place.write_text(CLASSES)
    assert main(["simulate", "batch", str(place), "--json", "--jobs-out", str(out)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["counts"]["failures"] == 6
    assert [row["node_class"] for row in document["by_node_class"]] == ["cpu", "gpu", "all"]
    assert pd.read_csv(out)["starting_time"].tolist() == [7.0, 7.0, 15.0]
    assert main(["simulate", "batch", str(place), "--runs", "2", "--json"]) == 0
    capsys.readouterr()
    for more, message in (
        ("[cluster]\nnodes = 4\n", "beside classes"),
        ('[[classes]]\nname = "gpu"\nnodes = 1\n', "one name"),
    ):
        place.write_text(CLASSES + more)
        assert main(["simulate", "batch", str(place)]) == 2
        assert message in capsys.readouterr().err


def test_classes_that_are_stopped_go_on(tmp_path, capsys):
    n = 3000
    rows = (f"{i},{20 * i},{1 + i % 2},90,{7 * i % 61 + 1},{'cpu' if i % 3 else 'gpu'}\n" for i in range(n))
    (tmp_path / "classes.csv").write_text("job_id,submission_time,nodes,walltime,run_time,queue\n" + "".join(rows))
    (tmp_path / "gpu.csv").write_text("time,node,repair_seconds\n12,1,300\n")
    (tmp_path / "machine.csv").write_text("time,node,repair_seconds\n4,-1,300\n30000,-1,300\n")
    place, whole, out = tmp_path / "cluster.toml", tmp_path / "whole.csv", tmp_path / "out.csv"
    place.write_text(CLASSES)
    assert main(["simulate", "batch", str(place), "--json", "--jobs-out", str(whole)]) == 0
    expected = json.loads(capsys.readouterr().out)
    place.write_text(CLASSES + '[saving]\nfile = "state.npz"\nevery_simulated = "1h"\ntime_limit = "1us"\n')
    assert main(["simulate", "batch", str(place), "--json"]) == 75
    part = json.loads(capsys.readouterr().out)
    assert (part["complete"], part["now"]) == (False, 20.0)  # the first job of the class that is simulated first
    place.write_text(CLASSES)
    again = ["simulate", "batch", str(place), "--resume", str(tmp_path / "state.npz"), "--json", "--jobs-out", str(out)]
    assert main(again) == 0
    document = json.loads(capsys.readouterr().out)
    assert out.read_text() == whole.read_text()
    assert document["summary"].pop("elapsed_seconds") != expected["summary"].pop("elapsed_seconds")
    assert document == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[cluster]\nnodes = 0\n", "cluster.nodes"),
        ("[scheduler]\nname = 'sjf'\n", "scheduler.name"),
        ("[scheduler]\ncolour = 1\n", "scheduler.colour"),
        ("[workload\n", "line 1: this is not TOML"),
        ("[[failures]]\nkind = 'nodes'\n", "need an mtbf"),
        ("[cluster]\nnodes = 4\n", "no list of jobs"),
    ],
)
def test_a_wrong_configuration_is_one_line(tmp_path, capsys, text, message):
    place = tmp_path / "cluster.toml"
    place.write_text(text)
    assert main(["simulate", "batch", str(place)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_wrong_list_of_failures_is_one_line(config, tmp_path, capsys):
    failures = tmp_path / "failures.csv"
    for text, message in (
        ("time,node\n1,2\n", "no column repair_seconds"),
        ("time,node,repair_seconds\n1,0.5,3\n", "is no node"),
        ("time,node,repair_seconds\n1,0,-3\n", "is no repair_seconds"),
        ("time,node,repair_seconds\n1,7,3\n", "nodes 0 to 3"),
    ):
        failures.write_text(text)
        assert main(["simulate", "batch", str(config), "--failures", str(failures)]) == 2
        assert message in capsys.readouterr().err


def test_a_table_that_is_text_is_told_with_its_keys(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.toml").write_text('workload = "jobs.csv"\n', encoding="utf-8")
    assert main(["simulate", "batch", "c.toml"]) == 2
    told = capsys.readouterr().err
    assert "c.toml: workload: this cannot be 'jobs.csv'; it must be a table with file, format" in told


@pytest.mark.parametrize(
    ("table", "least", "refused"),
    [
        ("workload", "processors_per_node = 1", "processors_per_node = 0"),
        ("workload", "jobs = 1", "jobs = 0"),
        ("workload", "copies = 1", "copies = 0"),
        ("workload", "load = 0.001", "load = 0"),
        ("workload", "compress = 0.001", "compress = 0"),
        ("simulation", "seed = 0", "seed = -1"),
    ],
)
def test_the_least_value_of_a_key_is_taken_and_less_is_refused(config, capsys, table, least, refused):
    plain = config.read_text().replace("[cluster]", "[simulation]\n[cluster]")
    for text, status in ((least, 0), (refused, 2)):
        config.write_text(plain.replace(f"[{table}]", f"[{table}]\n{text}"))
        assert main(["simulate", "batch", str(config)]) == status, text
    assert refused.split()[0] in capsys.readouterr().err
