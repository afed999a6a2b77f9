"""What ``relfit watch init`` is told is in the settings and read in every round; what is missing is told at once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from relfit.cli.app import main
from relfit.live.watch_settings import read_watch_settings


def test_init_writes_the_list_of_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    days = [f"{'ab'[day % 2]},2024-01-{day:02d}" for day in range(1, 31)]
    Path("log.csv").write_text("\n".join(["node,start", *days]) + "\n")
    Path("servers.csv").write_text("node,rack\na,r1\nb,r1\nc,r2\n")
    assert main(["watch", "init", "log.csv", "--population", "servers.csv"]) == 0
    assert "of 3 nodes" in " ".join(capsys.readouterr().out.split())
    (source,) = read_watch_settings("watch.toml").sources
    assert Path(source.population) == tmp_path / "servers.csv"
    assert 'population = "servers.csv"' in Path("watch.toml").read_text()


def test_a_list_that_is_missing_is_told_before_the_log_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["watch", "init", "log.csv", "--population", "servers.csv"]) == 2
    assert "servers.csv: no such file" in capsys.readouterr().err
    assert not Path("watch.toml").exists()


def test_a_missing_database_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    Path("log.csv").write_text("node,start\na,2024-01-01\nb,2024-01-02\n")
    assert main(["watch", "init", "log.csv"]) == 2
    assert 'pip install "relfit[live]"' in capsys.readouterr().err
    assert not Path("watch.toml").exists()


def test_a_time_of_the_round_is_in_the_zone_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text("node,start\na,2024-01-01\nb,2024-01-02\n")
    assert main(["watch", "init", "log.csv", "--n-nodes", "9", "--timezone", "America/Chicago"]) == 0
    main(["watch", "run", "watch.toml", "--now", "2024-06-01 18:00"])
    capsys.readouterr()
    assert main(["watch", "status", "watch.toml"]) in (0, 3)
    assert "2024-06-01 18:00" in capsys.readouterr().out


def test_what_is_not_watched_is_left_out_of_every_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{'ab'[day % 2]},2024-01-{day:02d},{'maintenance' if day % 5 == 0 else 'disk'}" for day in range(1, 31)]
    Path("log.csv").write_text("\n".join(["node,start,cause", *rows]) + "\n")
    assert main(["watch", "init", "log.csv"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "6 of 30 rows say cause 'maintenance'" in said
    assert 'if they were planned: where = { "cause!" = "maintenance" }' in said
    Path("watch.toml").unlink()
    where = ["--where", "cause!=maintenance", "--where", "cause!=upgrade"]  # no upgrade yet
    assert main(["watch", "init", "log.csv", "--n-nodes", "2", *where]) == 0
    assert "24 events" in capsys.readouterr().out
    (source,) = read_watch_settings("watch.toml").sources
    assert source.where == {"cause!": ["maintenance", "upgrade"]}
    main(["watch", "run", "watch.toml", "--now", "2024-03-01"])
    assert "24 records" in capsys.readouterr().out
    Path("log.csv").write_text("\n".join(["node,start,cause", *(row for row in rows if "disk" in row)]) + "\n")
    main(["watch", "run", "watch.toml", "--now", "2024-03-02"])  # and none of the excluded values any more
    assert "24 records, 0 new" in capsys.readouterr().out
    assert main(["watch", "init", "log.csv", "--out", "other.toml", "--where", "moon!=full"]) == 2
    assert "no column 'moon'" in capsys.readouterr().err


@pytest.mark.parametrize("observed", [[], ["--observed", "2024-01-01/2024-02-01"]])
def test_quiet_nights_count_in_logs_that_are_still_to_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], observed: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("logs").mkdir()
    assert main(["watch", "init", "logs", *observed]) == 0
    assert ("until the time of each round" in " ".join(capsys.readouterr().out.split())) is (not observed)
    assert (read_watch_settings("watch.toml").observed_until == "now") is (not observed)
