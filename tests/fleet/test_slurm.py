"""Files for Slurm, read back by a reader of its own: nothing of a log's names runs or widens a list."""

from __future__ import annotations

import itertools
import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError, DataError
from relfit.fleet._slurm import hostlist
from tests.factories import make_log


def expanded(text: str) -> list[str]:
    """The hosts of a list such as ``n[001-003,010],login``, by the rules of Slurm's manual."""
    hosts = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", text):
        found = re.fullmatch(r"([^\[]+)\[([^\]]*)\]", part)
        if found is None:
            hosts.append(part)
            continue
        for run in found.group(2).split(","):
            first, _, last = run.partition("-")
            hosts += [f"{found.group(1)}{i:0{len(first)}d}" for i in range(int(first), int(last or first) + 1)]
    return hosts


def fleet(names: list[str], often: dict[str, int], hours: float = 8760.0, system: str = "s") -> rf.FailureLog:
    rows = []
    for i, name in enumerate(names):
        number = often.get(name, 4)
        rows += [
            {"system": system, "node": name, "start": (j + 0.3 + 0.01 * (i % 50)) * hours / number, "end": None}
            for j in range(number)
        ]
    for row in rows:
        row["end"] = min(row["start"] + 2.0, hours)
    people = [{"system": system, "node": name, "entered_known": False} for name in names]
    return make_log(rows, people, window=(0.0, hours))


NAMES = [f"n{i:03d}" for i in range(60)]


@pytest.fixture(scope="module")
def found() -> rf.fleet.SlurmNodes:
    return rf.fleet.slurm_nodes(fleet(NAMES, {"n007": 60, "n042": 50}), period="all")


def test_nodes_that_never_failed_have_the_weight_of_the_mean() -> None:
    table = rf.fleet.slurm_nodes(fleet(NAMES, dict.fromkeys(NAMES, 0))).table
    assert set(table["weight"]) == {100}
    assert set(table["mtbf_hours"]) == {np.inf}


def test_every_node_comes_back_with_its_weight_and_feature(found, tmp_path: Path) -> None:
    found.write(tmp_path / "new" / "slurm")
    table = pd.read_csv(tmp_path / "new" / "slurm" / "nodes.csv").set_index("node")
    assert sorted(table.index) == NAMES
    lines = [line for line in (tmp_path / "new/slurm/nodes.conf").read_text().splitlines() if line[0] != "#"]
    read = {}
    for line in lines:
        values = dict(item.split("=", 1) for item in line.split())
        read |= {host: (int(values["Weight"]), values["Feature"]) for host in expanded(values["NodeName"])}
    assert read == {node: (row["weight"], row["feature"]) for node, row in table.iterrows()}
    for name, key in (("weights.sh", "Weight"), ("features.sh", "ActiveFeatures")):
        lines = (tmp_path / "new/slurm" / name).read_text().splitlines()
        calls = [shlex.split(line) for line in lines if line[0] != "#"]
        assert all(call[:2] == ["scontrol", "update"] for call in calls)
        hosts = [dict(item.split("=", 1) for item in call[2:]) for call in calls]
        column = "weight" if key == "Weight" else "feature"
        back = {host: one[key] for one in hosts for host in expanded(one["NodeName"])}
        assert back == table[column].astype(str).to_dict()


def test_nodes_that_fail_often_come_last_and_are_drained(found, tmp_path: Path) -> None:
    table = found.table.set_index("node")
    assert table["weight"].nlargest(2).index.tolist() == ["n007", "n042"]
    assert found.drain["node"].tolist() == ["n007", "n042"]
    found.write(tmp_path)
    lines = [line for line in (tmp_path / "drain.sh").read_text().splitlines() if line[0] != "#"]
    first = dict(item.split("=", 1) for item in shlex.split(lines[0])[2:])
    assert first["NodeName"] == "n007"
    assert first["State"] == "DRAIN"
    said = re.fullmatch(
        r"relfit: fails (\S+) times the mean, (\S+)-(\S+), \d+ failures by hardware in \S+ days, others \S+, "
        r"as of 2002-01-01",
        first["Reason"],
    )
    factor, low, high = map(float, said.groups())
    true = 60.0 / ((58 * 4 + 60 + 50) / 60)  # of the mean
    assert low < true < high
    assert 0.75 * true < factor < 1.25 * true


@pytest.mark.slow
def test_scripts_run_what_they_show_and_nothing_else(tmp_path: Path) -> None:
    hostile = ["n001", "n002", "$(touch x)", "a;touch y", "b c", "-n", "n[1-9]", "a,b", "`id`", "node\n2", '"', "../z"]
    found = rf.fleet.slurm_nodes(fleet(hostile, {}), period="all")
    assert found.table["node"].tolist() == ["n001", "n002"]
    assert len(found.skipped) == 10
    found.write(tmp_path)
    (tmp_path / "scontrol").write_text('#!/bin/sh\necho "$@" >> calls\n')
    (tmp_path / "scontrol").chmod(0o755)
    for name in ("weights.sh", "features.sh", "drain.sh"):
        subprocess.run(["sh", name], cwd=tmp_path, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True)
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"scontrol", "calls", "nodes.conf", "weights.sh", "features.sh", "drain.sh", "nodes.csv"}
    assert all(line.startswith("update NodeName=n") for line in (tmp_path / "calls").read_text().splitlines())


def test_words_of_slurm_are_no_nodes(tmp_path: Path) -> None:
    """`scontrol update NodeName=ALL State=DRAIN` drains a whole cluster."""
    words = ["ALL", "Default", "localhost", "all"]
    found = rf.fleet.slurm_nodes(fleet([*NAMES, *words], dict.fromkeys([*words, "n007"], 60)), period="all")
    assert sorted(found.skipped) == sorted(words)
    assert found.findings[1] == "Left out: 4 nodes whose names are not host names or a word of Slurm's own."
    found.write(tmp_path)
    for name in ("nodes.conf", "weights.sh", "features.sh", "drain.sh"):
        text = (tmp_path / name).read_text()
        assert text.count("# Left out: 4 nodes") == 1
        lists = re.findall(r"NodeName=(\S+)", text)
        assert lists
        assert {host for each in lists for host in expanded(each)} <= set(NAMES)
    assert set(pd.read_csv(tmp_path / "nodes.csv")["node"]) == set(NAMES)
    with pytest.raises(ArgumentError, match="not a host name"):
        hostlist(["n001", "ALL"])


def test_a_reason_holds_no_sign_that_a_shell_reads(found) -> None:
    assert found.drain["reason"].str.fullmatch(r"[A-Za-z0-9 .,:%/-]*").all()


def test_lists_of_hosts_come_back() -> None:
    pieces = ["n1", "n2", "n3", "n01", "n02", "rack1-n9", "rack1-n10", "login", "7", "8", "a.b-3", "x_5"]
    for size in (1, 3, 12):
        for names in itertools.islice(itertools.combinations(pieces, size), 40):
            assert sorted(expanded(hostlist(names))) == sorted(names)
    with pytest.raises(ArgumentError, match="not a host name"):
        hostlist(["n[1-3]"])


def test_what_cannot_be_exported() -> None:
    with pytest.raises(DataError, match="no node has a host name"):
        rf.fleet.slurm_nodes(fleet(["a b", "c d"], {}), period="all")
    one, two = fleet(["n1"], {"n1": 12}), fleet(["n1"], {"n1": 12}, system="t")
    both = replace(
        one,
        events=pd.concat([one.events, two.events], ignore_index=True),
        population=pd.concat([one.population, two.population], ignore_index=True),
    )
    with pytest.raises(ArgumentError, match="nodes of one name"):
        rf.fleet.slurm_nodes(both, period="all")


def test_a_file_in_place_of_the_folder_is_an_error(found, tmp_path: Path) -> None:
    taken = tmp_path / "slurm"
    taken.write_text("a file")
    with pytest.raises(ArgumentError, match="cannot make the folder"):
        found.write(taken)
    assert taken.read_text() == "a file"


def test_nodes_that_no_record_names_are_said_to_be_that(tmp_path: Path) -> None:
    """Their names were said to be no names of hosts."""
    at = pd.Timestamp("2024-01-01") + pd.to_timedelta(25.0 * np.arange(80), unit="h")
    pd.DataFrame({"node": [f"n{i % 9}" for i in range(80)], "start": at}).to_csv(tmp_path / "log.csv", index=False)
    found = rf.fleet.slurm_nodes(rf.read(tmp_path / "log.csv", n_nodes=12), period="all")
    assert found.findings[1] == "Left out: 3 nodes that no record names."
