"""The papers' batch studies: their workloads, and what a failure costs by throwing darts."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from papers import batch_allocation, batch_pairs, batch_waits, stored, studies
from relfit.io.workloads import Workload, write_workload
from relfit.simulation.batch import ENGINE_VERSION


def test_what_a_failure_costs_by_throwing_darts() -> None:
    rng = np.random.default_rng(1)
    nodes, hours = rng.integers(1, 5, 40), rng.exponential(3.0, 40)
    submit = np.linspace(0.0, 200.0 * 3600.0, 40)  # far enough apart for each to run at once, on nodes 0 to n-1
    jobs = Workload(np.arange(40), submit, nodes, 3600.0 * np.minimum(hours, 5.0), n_nodes=8)
    when, where = rng.uniform(0.0, 200.0, 400_000), rng.integers(0, 8, 400_000)
    row = np.searchsorted(submit / 3600.0, when, side="right") - 1
    ran = when - submit[row] / 3600.0
    hit = (ran < jobs.run_time[row] / 3600.0) & (where < nodes[row])
    lost = np.where(hit, nodes[row] * ran, 0.0)
    assert batch_waits.lost_per_failure(jobs) == pytest.approx(lost.mean(), rel=0.03)
    since_saved = np.where(hit, nodes[row] * (ran % 0.7), 0.0)
    assert batch_waits.lost_per_failure(jobs, every=0.7) == pytest.approx(since_saved.mean(), rel=0.03)


def test_workloads_of_the_sizes_of_print() -> None:
    jobs = batch_waits.grizzly(2018, 6000)
    assert jobs.load() == pytest.approx(0.95)
    assert 0.45 < (jobs.nodes == 1).mean() < 0.5
    assert jobs.requested.max() <= 16 * 3600.0
    assert pytest.approx(1490 / 20_000) == 24.0 / batch_waits.MTBF
    log = batch_allocation.all_at_once(batch_allocation.drawn("LANL", 500))
    assert (log.submit == 250_000 * 60.0).all()
    assert set(log.nodes.tolist()) >= {2, 4, 8}
    assert log.nodes.min() == 2
    half = batch_allocation.all_at_once(batch_allocation.drawn("SDSC", 500), load=0.5)
    assert half.load() == pytest.approx(0.5, rel=0.02)


def test_unequal_failures_come_as_often() -> None:
    sample, drawn = batch_allocation.white_failures(), batch_allocation.unequal_failures()
    assert drawn.time.size == pytest.approx(sample.time.size, rel=0.5)
    per_node = np.bincount(drawn.node, minlength=512)
    assert per_node.max() > 10 * max(np.median(per_node), 1)
    assert (np.diff(drawn.time) >= 0).all()


def test_pairs_where_one_thing_is_changed() -> None:
    table = batch_pairs.variant("checkpoints every hour", 400, 2)
    assert table["pair"].tolist() == ["1X = 2X", "4X = 8X"]
    assert (table["by_node_hours"] < 10.0).all()
    jobs = batch_waits.grizzly(2018, 400)
    sweeps = batch_pairs.pairs(jobs, 2, ["1min", "5D", "13D"])
    whole = batch_waits.waits(jobs, 2, ["1min", "5D", "13D"], rates=[1, 2])
    assert np.array_equal(sweeps[0].waits[:, 0], whole.waits[:, 0])
    assert np.array_equal(sweeps[0].waits[:, 1, 0], whole.waits[:, 1, 0])


@pytest.mark.verify
def test_differences_by_width_over_workloads() -> None:
    table = batch_waits.scatter_by_width(2018, 500, 3)
    single = [
        batch_waits.waits_by_width(batch_waits.grizzly(2018, 500, rng=seed)).loc["all", ("difference", "wait")]
        for seed in (1, 2, 3)
    ]
    row = table.loc["all"]
    assert row[["least", "mean", "most"]].tolist() == pytest.approx([min(single), np.mean(single), max(single)])
    half = 4.302653 * np.std(single, ddof=1) / np.sqrt(3)  # Student's quantile with 2 degrees of freedom
    assert row[["low", "high"]].tolist() == pytest.approx([np.mean(single) - half, np.mean(single) + half])


def test_intervals_count_the_workloads_that_have_a_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class seen in two of four workloads had the interval of four."""
    columns = pd.MultiIndex.from_tuples([("difference", "wait")])
    seen = iter([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0], [7.0, np.nan]])
    tables = (pd.DataFrame(values, index=["all", "wide"], columns=columns) for values in map(np.array, seen))
    monkeypatch.setattr(batch_waits, "grizzly", lambda *_, **__: None)
    monkeypatch.setattr(batch_waits, "waits_by_width", lambda _: next(tables))
    row = batch_waits.scatter_by_width(2018, 500, 4).loc["wide"]
    half = 12.706205 * np.std([2.0, 6.0], ddof=1) / np.sqrt(2)  # Student's quantile with 1 degree of freedom
    assert row[["mean", "low", "high"]].tolist() == pytest.approx([4.0, 4.0 - half, 4.0 + half])


def test_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert studies.main(["wait"]) == 2
    said = capsys.readouterr().err
    assert "there is no study 'wait'; it is one of waits, pairs, variants, width, twice, waste, moldable" in said


STATED = {
    "width": ["| -37 (-61 to -13) |", "| -5 (-19 to 9) |", "| -3 (-16 to 10) |"],
    "waste": ["| 13.4 |", "| 16.5 |", "| 29.1 |", "| 21.4 |", "| -16.1 |", "| -39.5 |", "| 30, 53 |", "| 10, 33.8 |"],
    "moldable": ["| 364 | 762 | 755 |", "| 11,625 | 688 | 645 |", "| 364 | 1,100 | 33 |"],
}
"""Cells of tables that the page only sums up in sentences."""


def test_tables_in_the_documentation_are_of_this_simulator() -> None:
    """Every table between markers is what its stored results say, and those are of the simulator as it is."""
    shown = {}
    for page in stored.DOCS.glob("*.md"):
        shown |= stored.tables_in(page.read_text())
    expected = {}
    for name, study in studies.STUDIES.items():
        if not (stored.RESULTS / f"{name}.json").exists():
            continue  # its tables have no place in the documentation
        results = json.loads((stored.RESULTS / f"{name}.json").read_text())
        assert results["engine"] == ENGINE_VERSION, f"{name} is of another version: make studies"
        assert results["scale"] == str(study.scale), f"{name} is of another size: make studies"
        assert set(results["parts"]) == set(study.parts(study.scale)), f"{name} is not complete: make studies"
        expected |= studies.tables_of(name, study.scale, results["parts"])
    assert set(shown) == {"waits", "pairs", "twice"}
    assert shown == {name: expected[name] for name in shown}
    for name, cells in STATED.items():
        assert [cell for cell in cells if cell not in expected[name]] == [], name


def test_a_study_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    calls: list[str] = []

    def part(name: str) -> list[dict[str, Any]]:
        calls.append(name)
        if name == "second" and calls.count("second") == 1:
            raise KeyboardInterrupt
        return [{"name": name, "value": np.float64(1.0 / 3.0)}]

    parts = {name: partial(part, name) for name in ("first", "second")}
    with pytest.raises(KeyboardInterrupt):
        stored.compute("study", "2 jobs", parts, tmp_path)
    rows = stored.compute("study", "2 jobs", parts, tmp_path)
    assert calls == ["first", "second", "second"]
    assert rows["second"] == [{"name": "second", "value": 0.333333}]
    stored.compute("study", "3 jobs", parts, tmp_path)  # another size: all of it
    assert calls[3:] == ["first", "second"]
    place = tmp_path / "study.json"
    place.write_text(place.read_text().replace(f'"engine": {ENGINE_VERSION}', '"engine": 0'))
    stored.compute("study", "3 jobs", parts, tmp_path)  # of another version: all of it
    assert calls[5:] == ["first", "second"]


def test_tables_go_between_their_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n\n<!-- table one -->\nold\n<!-- end -->\n\n<!-- table two -->\n<!-- end -->\nb\n")
    table = stored.markdown(pd.DataFrame({"x": ["1", "2"]}, index=["r", "s"]).rename_axis("of"), "a note")
    assert stored.write_tables({"one": table, "three": "x"}, tmp_path) == [page]
    assert page.read_text() == (
        "a\n\n<!-- table one -->\n| of | x |\n|---|---|\n| r | 1 |\n| s | 2 |\n\n(a note.)\n<!-- end -->\n\n"
        "<!-- table two -->\n<!-- end -->\nb\n"
    )
    assert stored.write_tables({"one": table}, tmp_path) == []


def test_a_study_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, place = tmp_path / "sacct.csv", tmp_path / "store"
    lines = [f"{k},2022-01-03T10:00:{k:02d},00:10:00,01:00:00,{1 + k},COMPLETED" for k in range(40)]
    path.write_text("\n".join(["JobID,Submit,Elapsed,Timelimit,NNodes,State", *lines]))
    command = ["twice", "--workload", str(path), "--runs", "2", "--jobs", "30", "--store", str(place)]
    assert studies.main(command) == 0
    first = capsys.readouterr().out
    assert "30 jobs of sacct.csv (" in first
    assert "python papers/studies.py twice --workload sacct.csv --runs 2" in first
    assert "twice: 32X" in first  # is computed
    (results,) = place.glob("*/twice.json")
    assert studies.main(command) == 0
    second = capsys.readouterr().out
    assert "twice: 32X" not in second  # is stored
    assert second.splitlines() == first.splitlines()[3:]
    path.write_text(path.read_text().replace("00:10:00", "00:20:00"))  # other jobs under the same name
    before = results.read_text()
    assert studies.main(command) == 0
    assert "twice: 32X" in capsys.readouterr().out
    assert results.read_text() == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["variants", "--workload", "jobs.csv"], "variants are about drawn jobs; name other studies"),
        (["pairs", "--workload", "grizzly2022"], "get it first with: relfit fetch grizzly2022"),
        (["pairs", "--workload", "jobs.csv"], "jobs.csv: there is no such file"),
        (["pairs", "--runs", "0"], "--runs is 0; give a whole number from 1 on"),
        (["pairs", "--store", "folder"], "--store is for another list of jobs or size"),
    ],
)
def test_a_wrong_study(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert studies.main(arguments) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_parts_of_a_list_of_jobs_are_named_by_it() -> None:
    """One list has one year and one machine: nothing is computed twice under two names."""
    scale = studies.Scale(10, 2, "sdsc-blue", batch_waits.grizzly(2018, 10))
    assert list(studies.STUDIES["width"].parts(scale)) == ["sdsc-blue"]
    parts = list(studies.STUDIES["waste"].parts(scale))
    assert len(parts) == 4
    assert all(part.startswith("SDSC, ") for part in parts)


def test_the_campaign_of_the_pairs_has_the_authors_settings(tmp_path: Path) -> None:
    """Replication by replication the waits of `batch_pairs.pairs`, which has the settings in Python."""
    jobs = batch_waits.grizzly(2018, 60)
    path = write_workload(jobs, tmp_path / "jobs.csv")
    campaign = rf.campaigns.read_campaign(stored.ROOT / "data" / "campaigns" / "pairs.toml", path)
    small = campaign.model_copy(update={"replications": 2})
    result = rf.campaigns.sweep(small, tmp_path / "store", executor="serial")
    settings = rf.batch.read_batch_config(campaign.config).settings()
    assert settings["checkpoint"] == batch_pairs.VARIANTS["the authors' settings"][1]["checkpoint"]
    assert settings["failures"][0].fixed
    assert settings["scheduler"] == rf.batch.Scheduler(requeue="submit")
    assert len(result.runs) == 4 * 4 * 2
