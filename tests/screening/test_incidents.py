"""Incidents: the window, the joining, scopes and rates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relfit as rf
from relfit.errors import ArgumentError
from relfit.screening import choose_window, incidents
from tests.factories import make_log

HOUR = 3.6e12


def test_scopes_sizes_and_causes_of_known_incidents() -> None:
    nodes = [{"node": f"n{i}", "rack": f"r{i // 2}"} for i in range(8)]
    log = make_log(
        [
            {"node": "n0", "start": 1, "end": 2},
            {"node": "n0", "start": 10, "end": 12, "cause": "software"},
            {"node": "n1", "start": 10, "end": 11, "cause": "software"},
            {"node": "n1", "start": 20, "end": 21},
            {"node": "n3", "start": 20.05, "end": 22, "cause": "network"},
            {"node": "n4", "start": 20.1, "end": 23, "cause": "network"},
            *({"node": f"n{i}", "start": 50, "end": None if i else 51} for i in range(8)),
        ],
        nodes,
    )
    found = incidents(log, "6min")
    table = found.table
    assert table["scope"].tolist() == ["node", "rack", "group", "system"]
    assert table["records"].tolist() == [1, 2, 3, 8]
    assert table["nodes"].tolist() == [1, 2, 3, 8]
    assert table["groups"].tolist() == [1, 1, 3, 4]
    assert table["cause"].tolist() == ["hardware", "software", "network", "hardware"]
    assert table["duration"].tolist()[:3] == pytest.approx([1.0, 2.0, 3.0])
    assert np.isnan(table["duration"].iloc[3])
    assert table["ends_unknown"].tolist() == [0, 0, 0, 7]
    assert found.incident.tolist() == [0, 1, 1, 2, 2, 2, *[3] * 8]
    rates = found.rates().set_index("scope")
    assert rates["hours"].to_dict() == {"node": 800.0, "rack": 400.0, "group": 100.0, "system": 100.0}
    assert rates.loc["rack", "mtbf"] == 400.0
    # Garwood's limits for one event
    assert rates.loc["rack", ["rate_low", "rate_high"]].tolist() == pytest.approx(
        [0.025318 / 400, 5.571643 / 400], 1e-4
    )
    assert incidents(log, 0).table["records"].tolist() == [1, 2, 1, 1, 1, 8]


def test_places_keep_racks_apart() -> None:
    nodes = [{"node": f"n{i}", "rack": f"r{i // 2}"} for i in range(4)]
    log = make_log([{"node": f"n{i}", "start": 5} for i in range(4)], nodes)
    assert incidents(log, 0).table["nodes"].tolist() == [4]
    assert incidents(log, 0, place="rack").table["nodes"].tolist() == [2, 2]
    assert incidents(log, 0, place="node").table["nodes"].tolist() == [1, 1, 1, 1]


def test_every_record_is_in_one_incident() -> None:
    log = rf.datasets.load("white")
    found = incidents(log)
    counted = np.bincount(found.incident[found.incident >= 0], minlength=len(found))
    assert counted.tolist() == found.table["records"].tolist()
    assert found.records + found.begun_before == len(log)


@pytest.mark.parametrize("size", [60, 400, 3000])
def test_independent_failures_have_no_window(size: int) -> None:
    rng = np.random.default_rng(size)
    chosen = [choose_window((rng.exponential(9.0, size) * HOUR).astype(np.int64)).hours for _ in range(200)]
    assert np.mean(np.array(chosen) > 0.0) <= 0.05


def test_planted_bursts_are_found() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        gaps = np.where(rng.random(2000) < 0.3, rng.exponential(0.05, 2000), rng.exponential(20.0, 2000))
        chosen = choose_window((gaps * HOUR).astype(np.int64))
        assert 0.1 < chosen.hours < 1.0
        assert chosen.p < 1e-6


def logs_of_incidents(seed: int, minutes: float) -> np.ndarray:
    """Gaps of a log where some of the incidents have several records, spread over `minutes`."""
    rng = np.random.default_rng(seed)
    number = int(rng.integers(150, 1500))
    start = np.sort(rng.uniform(0.0, number * rng.uniform(10.0, 80.0), number))
    size = np.where(rng.random(number) < rng.uniform(0.05, 0.4), 1 + rng.geometric(rng.uniform(0.3, 0.6), number), 1)
    at = np.repeat(start, size)
    follows = np.diff(np.repeat(np.arange(number), size), prepend=-1) == 0
    at += np.where(follows, rng.uniform(0.0, minutes / 60.0, at.size), 0.0)
    second = 1 if seed % 2 else 60
    return np.diff(np.sort(np.round(at * 3600 / second).astype(np.int64) * second)) * 10**9


def test_records_of_one_instant_are_no_reason_for_a_window() -> None:
    chosen = [choose_window(logs_of_incidents(seed, 0.0)) for seed in range(300)]
    assert np.mean([one.n_zeros / one.n_times for one in chosen]) > 0.2
    assert np.mean([one.hours > 0.0 for one in chosen]) <= 0.05
    assert np.mean([one.p < 0.05 for one in chosen]) > 0.95  # the excess at zero is seen all the same


def test_records_spread_over_ten_minutes_are_joined() -> None:
    chosen = [choose_window(logs_of_incidents(seed, 10.0)) for seed in range(300)]
    minutes = 60.0 * np.array([one.hours for one in chosen])
    assert np.mean(minutes > 0.0) > 0.97
    assert 9.0 <= np.median(minutes) <= 13.0
    assert np.mean((minutes > 5.0) & (minutes < 20.0)) > 0.9
    assert all(one.p_above < 0.05 for one in chosen if one.hours > 0.0)


def test_a_window_that_ends_with_the_search_is_flagged() -> None:
    rng = np.random.default_rng(6)
    gaps = (np.where(rng.random(3000) < 0.4, rng.exponential(30.0, 3000), rng.exponential(3000.0, 3000)) * HOUR).astype(
        np.int64
    )
    short = choose_window(gaps)
    assert short.status == "capped"
    assert short.hours == pytest.approx(24.0, rel=1e-6)
    assert "lower bound" in short.headline
    assert short.to_dict()["longest"] == 24.0
    enough = choose_window(gaps, longest=2000.0)
    assert enough.status == "ok"
    assert 60.0 < enough.hours < 300.0
    assert "lower bound" not in enough.headline
    assert choose_window(gaps, 24.0).status == "ok"  # as asked for
    with pytest.raises(ArgumentError, match="longest"):
        choose_window(gaps, longest=0.0)


def test_a_drifting_rate_is_no_burst() -> None:
    rng = np.random.default_rng(5)
    rate = np.geomspace(1.0, 20.0, 3000)
    assert choose_window((rng.exponential(1.0 / rate) * HOUR).astype(np.int64)).hours == 0.0


def test_lanl_system_2_in_its_first_years(shared: Path) -> None:
    log = rf.read(shared / "data" / "lanl-failures-1996-2005.csv.xz").where(system=2).between(until="2000-01-01")
    found = incidents(log)
    assert found.window.n_zeros / found.window.n_times == pytest.approx(0.42, abs=0.005)
    assert 1 / 60 <= found.window.hours < 1.0  # hours: minutes, not days
    assert found.window.by_chance < 0.05 * found.records
    assert found.records == len(log)
    scopes = found.table["scope"].value_counts()
    assert 13 <= scopes["system"] <= 30  # 13 instants at which all 48 nodes went down, and some at which most did
    start = found.table["start"]
    assert (start.diff().dropna().dt.total_seconds() > 0).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"window": -1}, "cannot be"),
        ({"window": "soon"}, "not a duration"),
        ({"window": float("inf")}, "cannot be"),
        ({"place": "shelf"}, "shelf"),
        ({"group": "shelf"}, "shelf"),
        ({"level": 95}, "level"),
    ],
)
def test_wrong_arguments(options: dict[str, object], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        incidents(make_log([{"start": 1}]), **options)  # type: ignore[arg-type]


def test_edges() -> None:
    empty = incidents(make_log([], [{"node": "n"}]))
    assert len(empty) == 0
    assert empty.rates()["incidents"].sum() == 0
    assert "no events" in empty.headline
    once = incidents(make_log([{"node": f"n{i}", "start": 7} for i in range(30)]))
    assert once.table["scope"].tolist() == ["system"]
    assert once.window.status == "too_few"
    nowhere = incidents(make_log([{"node": None, "start": 3, "scope": "system"}, {"start": 3}]), 0)
    assert nowhere.table["scope"].tolist() == ["system"]
    assert incidents(make_log([{"node": None, "start": 3}, {"start": 3}]), 0, place="node").without_place == 1
    with pytest.raises(ArgumentError, match="lifetimes"):
        incidents(make_log([], [{"node": "a"}], lifetimes=[{"node": "a", "duration": 3.0, "observed": True}]))


def test_text_and_categories_give_the_same() -> None:
    rows = [{"node": f"n{i % 5}", "start": i // 3, "cause": "ab"[i % 2]} for i in range(60)]
    plain, coded = incidents(make_log(rows)), incidents(make_log(rows, categories=True))
    assert (
        plain.table[["records", "nodes", "cause", "scope"]]
        .astype(str)
        .equals(coded.table[["records", "nodes", "cause", "scope"]].astype(str))
    )
