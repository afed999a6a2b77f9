"""Names of nodes in a log and in its list: columns of the mapping, systems of the list, upper and lower case."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import relfit as rf
from relfit.cli.app import main

FAILURES = "CI Name,Opened\nsto1,2024-01-03\nSTO2,2024-01-08\nsto1,2024-01-21\n"
NODES = "CI Name,Site\nsto1,FRA\nsto2,HAM\nsto3,HAM\n"
WINDOW = {"window_start": "2024-01-01", "window_end": "2024-01-31"}


def _log(tmp_path: Path, nodes: str = NODES, failures: str = FAILURES, **options: object) -> rf.FailureLog:
    (tmp_path / "log.csv").write_text(failures)
    (tmp_path / "nodes.csv").write_text(nodes)
    options = {"node": "CI Name", **options}
    return rf.read(tmp_path / "log.csv", population=tmp_path / "nodes.csv", **WINDOW, **options)


def _notes(log: rf.FailureLog, word: str) -> list[str]:
    return [note for note in log.source.notes if word in note]


def test_the_column_of_nodes_is_that_of_the_list_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = _log(tmp_path)
    assert log.population["node"].tolist() == ["sto1", "sto2", "sto3"]
    frame = pd.read_csv(tmp_path / "nodes.csv")
    in_python = rf.read(tmp_path / "log.csv", population=frame, node="CI Name", **WINDOW)
    assert in_python.population["node"].tolist() == ["sto1", "sto2", "sto3"]
    files = [str(tmp_path / "log.csv"), "--population", str(tmp_path / "nodes.csv")]
    assert not main(["info", *files, "--column", "node=CI Name"])
    assert "3 of 1 system (all listed by the source" in capsys.readouterr().out
    with pytest.raises(rf.ReadError, match="no column names the node; call it node or, as in the log, CI Name"):
        _log(tmp_path, "name,Site\nsto1,FRA\n")


def test_a_node_of_two_columns_is_so_in_the_list(tmp_path: Path) -> None:
    failures = "rack,slot,Opened\nr1,1,2024-01-03\nr1,2,2024-01-08\n"
    log = _log(tmp_path, "rack,slot\nr1,1\nr1,2\nr2,1\n", failures, node="rack+slot")
    assert log.population["node"].tolist() == ["r1/1", "r1/2", "r2/1"]


def test_a_column_called_like_a_system_is_an_attribute_where_the_log_names_none(tmp_path: Path) -> None:
    log = _log(tmp_path)
    assert log.population["system"].unique().tolist() == ["system"]
    assert log.population["Site"].tolist() == ["FRA", "HAM", "HAM"]
    assert _notes(log, "Site") == [
        "column 'Site' of the list of nodes is only an attribute, as the log names no system; if it is the system: "
        "--column system=Site"
    ]


def test_nodes_have_the_system_of_the_list(tmp_path: Path) -> None:
    log = _log(tmp_path, system="Site")
    assert log.systems == ("FRA", "HAM")
    assert log.events["system"].tolist() == ["FRA", "HAM", "FRA"]
    with pytest.raises(rf.ReadError, match="'sto1' is listed twice, and the log does not say of which system"):
        _log(tmp_path, f"{NODES}sto1,HAM\n", system="Site")
    with pytest.raises(rf.ReadError, match="no column 'Sight' for system; did you mean Site"):
        _log(tmp_path, system="Sight")


def test_states_have_the_names_of_the_list(tmp_path: Path) -> None:
    states = "CI Name,time,state\nSTO1,2024-01-03,down\nsto1,2024-01-04,up\nSTO2,2024-01-05,down\nsto2,2024-01-07,up\n"
    log = _log(tmp_path, failures=states, system="Site")
    assert log.events["node"].tolist() == ["sto1", "sto2"]
    assert log.events["system"].tolist() == ["FRA", "HAM"]
    assert ((log.events["end"] - log.events["start"]).dt.days).tolist() == [1, 2]


def test_a_name_in_another_case_is_the_one_listed(tmp_path: Path) -> None:
    log = _log(tmp_path)
    assert log.events["node"].tolist() == ["sto1", "sto2", "sto1"]
    assert _notes(log, "case") == ["1 name of nodes in the log differs from the list by case only ('STO2' is 'sto2')"]
    both = "CI Name,Site\nsto1,FRA\nsto2,HAM\nSto2,HAM\n"
    with pytest.raises(rf.ReadError, match="node 'STO2' is not listed"):
        _log(tmp_path, both)  # which of the two it is, nothing says
    log = _log(tmp_path, both, FAILURES.replace("STO2", "Sto2"))
    assert log.events["node"].tolist() == ["sto1", "Sto2", "sto1"]
    assert not _notes(log, "case")


def test_without_a_list_names_in_another_case_are_a_question(tmp_path: Path) -> None:
    log = rf.read(pd.DataFrame({"node": ["a1", "A1", "b1", "B1", "c1"], "start": ["2024-01-03"] * 5}))
    assert log.n_nodes == 5
    assert _notes(log, "case") == [
        "2 pairs of names differ by case only ('A1' and 'a1') and count as two nodes; if they are one: "
        "--population FILE, whose names they then take"
    ]
    assert not _notes(rf.read(pd.DataFrame({"node": ["a1", "b1"], "start": ["2024-01-03"] * 2})), "case")


def test_rows_of_few_unlisted_nodes_are_rejected(tmp_path: Path) -> None:
    rows = [f"sto{day % 2 + 1},2024-01-{day:02}\n" for day in range(1, 29)]
    failures = "".join(["CI Name,start\n", *rows, "ghost,2024-01-29\n"])
    log = _log(tmp_path, failures=failures)
    assert len(log) == 28
    assert log.rejected[["line", "column", "reason"]].to_numpy().tolist() == [
        [30, "CI Name", "node not in the list of nodes"],
    ]
    with pytest.raises(rf.ReadError, match="node not in the list of nodes"):
        _log(tmp_path, failures=failures, strict=True)
    with pytest.raises(rf.ReadError, match=r"node 'ghost' is not listed \(1 such\)"):
        _log(tmp_path, failures="".join(["CI Name,start\n", *rows[:19], "ghost,2024-01-29\n"]))  # 5 % of the rows
