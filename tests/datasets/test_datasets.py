"""The bundled sample: it is what its script makes, and looks like what it says it is."""

from __future__ import annotations

import lzma
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf


@pytest.fixture(scope="module")
def white() -> rf.FailureLog:
    return rf.datasets.load("white")


@pytest.mark.verify
def test_script_makes_the_stored_files(root: Path, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, root / "data" / "make_white.py", "--out", tmp_path], check=True, capture_output=True
    )
    stored = rf.datasets.path("white").parent
    made = lzma.decompress((tmp_path / "white.csv.xz").read_bytes())
    assert made == lzma.decompress((stored / "white.csv.xz").read_bytes())
    assert (tmp_path / "white-nodes.csv").read_bytes() == (stored / "white-nodes.csv").read_bytes()


def test_sample_is_small() -> None:
    sizes = [file.stat().st_size for file in rf.datasets.path("white").parent.iterdir()]
    assert sum(sizes) < 400_000


def test_listing_agrees_with_the_files(white: rf.FailureLog) -> None:
    row = rf.datasets.listing().set_index("name").loc["white"]
    assert row["nodes"] == white.n_nodes == 512
    assert row["events"] == len(white) == white.source.rows_read


def test_nothing_is_refused_and_the_window_is_declared(white: rf.FailureLog) -> None:
    assert white.rejected.empty
    assert (white.window.start, white.window.end) == (
        pd.Timestamp("2000-07-01", tz="UTC"),
        pd.Timestamp("2004-10-01", tz="UTC"),
    )
    assert white.window.start_known
    assert white.window.end_known
    assert "rack" in white.attributes


def test_incidents_are_shared_as_the_paper_says(white: rf.FailureLog) -> None:
    events = white.events
    place = np.where(events["scope"].astype(str) == "node", np.arange(len(events)).astype(str), "")
    incidents = events.assign(place=place, rack=events["rack"].astype(object).fillna("")).drop_duplicates(
        ["place", "start", "rack", "scope"]
    )
    share = incidents["scope"].astype(str).value_counts(normalize=True)
    assert share["node"] == pytest.approx(0.75, abs=0.01)
    assert share["group"] == pytest.approx(0.15, abs=0.01)
    assert share["system"] == pytest.approx(0.10, abs=0.01)
    groups = events[events["scope"].astype(str) == "group"]
    assert groups.groupby(["start", "rack"], observed=True)["node"].nunique().min() >= 2


def test_causes_are_shared_as_the_paper_says(white: rf.FailureLog) -> None:
    share = white.events["cause"].astype(str).value_counts(normalize=True)
    assert share["hardware"] == pytest.approx(0.723, abs=0.005)
    assert share["software"] == pytest.approx(0.138, abs=0.005)
    assert len(share) == 5


def test_nodes_spread_as_in_table_3_5(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(root / "data"))
    import make_white

    nodes = make_white.node_parameters(np.random.default_rng(make_white.SEED))
    assert nodes["shape"].agg(["min", "max"]).tolist() == [0.4659, 1.582]
    assert nodes["scale"].agg(["min", "max"]).tolist() == [323.4, 5107.0]
    assert nodes["shape"].mean() == pytest.approx(0.8396, abs=0.02)
    assert nodes["shape"].median() == pytest.approx(0.7923, abs=0.02)
    assert nodes["shape"].std() == pytest.approx(0.2374, abs=0.02)
    assert nodes["scale"].mean() == pytest.approx(2132, rel=0.03)
    assert nodes["scale"].median() == pytest.approx(1884, rel=0.10)
    assert nodes["scale"].std() == pytest.approx(1459, rel=0.05)


def test_early_life_has_more_failures_than_late_life(white: rf.FailureLog) -> None:
    month = pd.Timedelta(days=30.4)
    change = pd.Timestamp("2002-10-01", tz="UTC")
    early = len(white.between(until=change)) / ((change - white.window.start) / month)
    late = len(white.between(since=change)) / ((white.window.end - change) / month)
    assert early > 1.5 * late


def test_repairs_are_lognormal_with_a_median_by_cause(white: rf.FailureLog) -> None:
    repairs = white.ttr(per="cause")
    logs = {g: np.log(repairs.group(g).durations) for g in repairs.groups}
    assert np.exp(np.median(logs["hardware"])) == pytest.approx(1.9, rel=0.05)
    assert np.exp(np.median(logs["software"])) == pytest.approx(0.7, rel=0.10)
    hardware = logs["hardware"]
    skew = float(np.mean(((hardware - hardware.mean()) / hardware.std()) ** 3))
    assert abs(skew) < 0.2


@pytest.mark.parametrize(("name", "hint"), [("withe", "'white'"), ("quartz-and-jade", "use white")])
def test_unknown_name_is_answered(name: str, hint: str) -> None:
    with pytest.raises(rf.ArgumentError, match=hint):
        rf.datasets.load(name)


@pytest.mark.slow
def test_the_sample_in_the_columns_of_lanl_is_the_same_log(tmp_path: Path) -> None:
    there = tmp_path / "white-lanl.csv"
    rf.datasets.as_lanl("white").to_csv(there, index=False)
    log, own = rf.read(there, timezone="UTC"), rf.datasets.load("white")
    assert log.source.format == "lanl"
    assert log.n_nodes == own.n_nodes
    kept = own.events
    assert len(log.rejected) == 0
    assert log.events["end_cut"].sum() == kept["end_cut"].sum() == 1
    assert sorted(log.events["start"]) == sorted(kept["start"])
    ended = [frame.loc[~frame["end_cut"], "end"] for frame in (log.events, kept)]
    assert sorted(ended[0]) == sorted(ended[1])
    assert log.events["cause"].value_counts().to_dict() == kept["cause"].value_counts().to_dict()
    nodes = kept["node"].dropna().str[1:].astype(int).value_counts()
    assert log.events["node"].dropna().astype(int).value_counts().sort_index().tolist() == nodes.sort_index().tolist()
