"""Exports of Prometheus: gaps of samples, ports of hosts, several exporters on one; outages counted by hand."""

from __future__ import annotations

import pandas as pd
import pytest

import relfit as rf
from relfit.cli.app import main

START = 1_704_067_200  # 2024-01-01
LISTED = "node,rack\nn1,r1\nn2,r1\n"


def export(path, series: dict[str, list[tuple[int, int]]]):
    """A CSV of samples: seconds after the start and value, by instance."""
    rows = [f"{START + time},{name},{value}" for name, samples in series.items() for time, value in samples]
    path.write_text("\n".join(["timestamp,instance,value", *rows]) + "\n")
    return path


def every(minutes: int, down: tuple[int, ...], hours: range, shift: int = 0) -> list[tuple[int, int]]:
    """Samples in these hours, down in some of them."""
    times = range(hours.start * 3600, hours.stop * 3600, minutes * 60)
    return [(time + shift, int(time // 3600 not in down)) for time in times]


def outages(log: rf.FailureLog) -> list[tuple[str, float, float]]:
    """Node, start and end in hours after the start."""
    since = pd.Timestamp(START, unit="s", tz="UTC")
    hours = [(log.events[name] - since).dt.total_seconds() / 3600.0 for name in ("start", "end")]
    return list(zip(log.events["node"].astype(str), *hours, strict=True))


def test_hours_without_samples_are_counted_and_every_command_says_so(tmp_path, capsys):
    # two nodes of 100 hours, the second without samples for 40 of them
    halves = every(30, (10,), range(30)) + every(30, (80,), range(70, 100))
    path = export(tmp_path / "up.csv", {"n1": every(30, (20,), range(100)), "n2": halves})
    log = rf.read(path)
    (note,) = log.source.unobserved
    assert note.endswith("40 of 199 node-hours (20 %) were not observed and count as up")
    assert main(["fit", str(path)]) == 0
    assert "40 of 199 node-hours (20 %) were not observed and count as up" in capsys.readouterr().err
    assert main(["fit", str(path), "--since", "2024-01-03 23:00"]) == 0
    assert "not observed" not in capsys.readouterr().err
    assert log.between("2024-01-03 23:00").source.unobserved == []


@pytest.mark.parametrize("listed", [LISTED, LISTED.replace("n1", "N1:9100"), LISTED.replace(",r1", ":9400,r1")])
def test_a_port_is_no_part_of_the_name_of_a_node(tmp_path, listed):
    path = export(tmp_path / "up.csv", {"n1:9100": every(30, (20,), range(50)), "n2:9100": every(30, (), range(50))})
    assert rf.read(path).population["node"].tolist() == ["n1", "n2"]
    (tmp_path / "pop.csv").write_text(listed)
    log = rf.read(path, population=tmp_path / "pop.csv")
    assert (log.n_nodes, len(log), log.population["rack"].astype(str).tolist()) == (2, 1, ["r1", "r1"])


def test_a_log_of_addresses_takes_the_names_of_the_list(tmp_path):
    (tmp_path / "log.csv").write_text("node,start,end\nn1:22,2024-01-01,2024-01-02\nn2:22,2024-01-03,2024-01-04\n")
    (tmp_path / "pop.csv").write_text(LISTED)
    log = rf.read(tmp_path / "log.csv", population=tmp_path / "pop.csv")
    assert log.events["node"].astype(str).tolist() == ["n1", "n2"]
    assert any("by port or case only ('n1:22' is 'n1')" in note for note in log.source.notes)


@pytest.mark.parametrize("minutes", [1, 5])
def test_a_node_is_down_while_all_of_its_exporters_are(tmp_path, minutes):
    # the second exporter is scraped at other times; it is down in hours 10 to 13, both are in hours 12 and 30
    series = {
        "n1:9100": every(1, (12, 30), range(50)),
        "n1:9400": every(minutes, (10, 11, 12, 13, 30), range(50), shift=7),
        "n2:9100": every(1, (5,), range(50)),
    }
    log = rf.read(export(tmp_path / "up.csv", series))
    assert log.n_nodes == 2
    expected = [("n2", 5.0, 6.0), ("n1", 12.0, 13.0), ("n1", 30.0, 31.0)]
    for (node, start, end), (name, begun, ended) in zip(outages(log), expected, strict=True):
        assert node == name
        assert (start, end) == pytest.approx((begun, ended), abs=0.1)
    assert "1 node has several exporters: such a node is down while all of them are" in log.source.notes


def test_two_jobs_of_one_instance_are_one_node(tmp_path):
    rows = [f"{START + 60 * i},n1,job{job},{int(job != 1 or i < 5)}" for job in (1, 2) for i in range(20)]
    path = tmp_path / "up.csv"
    path.write_text("\n".join(["timestamp,instance,job,value", *rows]) + "\n")
    assert len(rf.read(path)) == 0
