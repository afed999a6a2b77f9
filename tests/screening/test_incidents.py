"""Incidents: the window, the joining, scopes and rates."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.analyses.screening import incidents
from relfit.base.errors import ArgumentError
from tests.factories import make_log
from tests.site_logs import site_log

_SPEC = spec_from_file_location("verify_incidents", Path(__file__).parents[2] / "benchmarks" / "verify_incidents.py")
assert _SPEC is not None
assert _SPEC.loader is not None
verify = sys.modules.setdefault("verify_incidents", module_from_spec(_SPEC))
_SPEC.loader.exec_module(verify)


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


@pytest.mark.parametrize(
    "case",
    [
        "10 nodes, Weibull 0.5",
        "one node, Weibull 0.7",
        "500 nodes, Weibull 0.7, minutes",
        "200 nodes, whole hours",
        "200 nodes, dates",
    ],
)
def test_independent_records_stay_apart(case: str) -> None:
    """Less than 1 % is joined, whatever the clock, and however a node's own failures cluster."""
    rng = np.random.default_rng(1)
    for _ in range(3):
        score = verify.scored(*verify.CASES[case](rng))
        assert score["wrong joins"] < 0.01 * score["planted"]
        assert abs(score["wrong joins"] - score["expected"]) < 4.0 + 3.0 * score["expected"] ** 0.5


@pytest.mark.parametrize(
    "case", ["racks over 5 minutes", "racks over 12 minutes", "racks at once, no column", "whole system over 5 minutes"]
)
def test_planted_incidents_come_out(case: str) -> None:
    rng = np.random.default_rng(2)
    score = verify.scored(*verify.CASES[case](rng))
    assert score["records"] > 1.4 * score["planted"]
    assert score["made"] == pytest.approx(score["planted"], rel=0.011)
    assert score["apart"] < 0.005 * score["planted"]
    assert score["expected"] < 0.011 * score["made"]


@pytest.mark.parametrize("case", ["RAS, bursts of one node", "RAS, bursts over eight nodes", "RAS, one node"])
def test_messages_are_the_incidents_that_wrote_them(case: str) -> None:
    log, truth = verify.CASES[case](np.random.default_rng(3))
    score = verify.scored(log, truth)
    assert score["records"] > 50_000
    assert score["made"] == pytest.approx(454, rel=0.015)
    # so are the failures of nodes: one for each node that a burst hit
    true = len({*zip(truth.tolist(), log.events["node"].astype(str), strict=True)})
    lives = log.ttf(zeros="keep")
    failures = lives.n_failures.sum() + lives.counts["first_gap_unknown"].sum() if lives.counts is not None else 0
    assert failures == pytest.approx(true, rel=0.02)
    assert any("are bursts: part of one failure" in note for note in lives.notes)
    kept = log.ttf(overlaps="keep", zeros="keep")
    assert kept.n_failures.sum() > 50_000


def test_a_whole_system_on_one_date() -> None:
    """Dates tell no incident from chance, but 512 nodes on one day are one."""
    score = verify.scored(*verify.CASES["whole system, dates"](np.random.default_rng(4)))
    assert score["records"] > 4 * score["planted"]
    assert score["apart"] == 0
    assert score["wrong joins"] == pytest.approx(score["expected"], rel=0.2)


def test_a_clock_of_dates_is_said() -> None:
    log, _ = verify.CASES["200 nodes, dates"](np.random.default_rng(1))
    found = incidents(log)
    assert {window.status for window in found.windows.values()} == {"coarse"}
    assert "24 hours, too coarse to distinguish incidents from chance" in found.window.headline
    assert np.isnan(found.window.hours)
    given = incidents(log, "24h")
    assert len(given) < 0.02 * len(log)  # as asked for


def test_windows_of_levels() -> None:
    log, _ = verify.CASES["racks over 12 minutes"](np.random.default_rng(2))
    found = incidents(log)
    assert list(found.windows) == ["node", "rack", "system"]
    assert 5.0 < 60.0 * found.windows["rack"].hours < 20.0
    assert found.windows["rack"].p_above < 1e-6
    assert found.windows["system"].hours == 0.0
    assert found.by_chance == sum(window.by_chance for window in found.windows.values())
    assert len(found.findings) == 4
    assert len(incidents(log, place="rack").windows) == 2


def test_a_given_window_holds_at_all_levels() -> None:
    nodes = [{"node": f"n{i}", "rack": f"r{i // 2}"} for i in range(4)]
    log = make_log([{"node": n, "start": s} for n, s in (("n0", 1), ("n0", 2), ("n1", 3), ("n3", 4), ("n3", 9))], nodes)
    assert incidents(log, "1h").table["records"].tolist() == [4, 1]
    assert incidents(log, "59min").table["records"].tolist() == [1, 1, 1, 1, 1]
    assert incidents(log, "1h", place="node").table["records"].tolist() == [2, 1, 1, 1]


def test_a_drifting_rate_is_no_burst() -> None:
    rng = np.random.default_rng(5)
    at = np.cumsum(rng.exponential(1.0 / np.geomspace(1.0, 20.0, 3000)))
    log, _ = verify.log_of(verify.alone(at, rng.integers(0, 50, 3000)), 50, float(at[-1]) + 1.0, step=1 / 3600)
    assert incidents(log).window.hours == 0.0


def test_records_that_name_neither_node_nor_scope() -> None:
    log = make_log(
        [{"node": None, "start": 3, "scope": None}, {"start": 30}, {"node": "m", "start": 50}],
    )
    found = incidents(log, 0)
    assert found.table["scope"].tolist() == ["system", "node", "node"]
    assert "1 record names no node and not its scope" in found.findings[-1]


@pytest.mark.slow
def test_lanl_system_2_in_its_first_years() -> None:
    log = site_log("lanl").where(system=2).between(until="2000-01-01")
    found = incidents(log)
    assert found.window.n_zeros / found.window.n_times == pytest.approx(0.42, abs=0.005)
    assert 1 / 60 <= found.window.hours < 0.2  # hours: minutes
    assert found.by_chance < 0.01 * len(found)
    assert found.records == len(log)
    scopes = found.table["scope"].value_counts()
    assert 13 <= scopes["system"] <= 30  # 13 instants at which all 48 nodes went down, and some at which most did
    start = found.table["start"]
    assert (start.diff().dropna().dt.total_seconds() > 0).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"window": -1}, "is not possible"),
        ({"window": "soon"}, "not a duration"),
        ({"window": float("inf")}, "is not possible"),
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
    assert once.window.n_zeros == once.window.n_times == 29
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


def log_of_minutes(minutes: np.ndarray, nodes: np.ndarray) -> rf.FailureLog:
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(minutes, unit="min")
    return rf.read(pd.DataFrame({"node": [f"n{node:03d}" for node in nodes], "start": start}).sort_values("start"))


def test_an_outage_of_many_nodes_that_lasts_minutes_is_one_incident() -> None:
    """Three outages of 40 of 600 nodes within four minutes, on a clock of minutes; by hand: three incidents."""
    rng = np.random.default_rng(2)
    minutes, nodes = [rng.choice(1_000_000, 3000, replace=False)], [rng.integers(0, 600, 3000)]
    for begin in (200_000, 500_000, 800_000):
        minutes.append(begin + rng.integers(0, 5, 40))
        nodes.append(rng.choice(600, 40, replace=False))
    result = incidents(log_of_minutes(np.concatenate(minutes), np.concatenate(nodes)))
    large = result.table[result.table["nodes"] > 5]
    assert result.windows["system"].hours == 0.0
    assert result.windows["system"].group_hours == pytest.approx(1 / 60)
    assert len(large) == 3
    assert large["nodes"].tolist() == pytest.approx([40, 40, 40], abs=2)
    assert large["spread"].max() <= 5 / 60
    assert "those beside an incident of several records up to 1 minute apart" in result.windows["system"].headline


def test_pairs_at_one_instant_widen_no_window() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        at = rng.integers(0, 1_000_000, 40)
        minutes = np.concatenate([rng.integers(0, 1_000_000, 2000), at, at])
        nodes = np.concatenate([rng.integers(0, 600, 2000), rng.integers(0, 300, 40), rng.integers(300, 600, 40)])
        window = incidents(log_of_minutes(minutes, nodes)).windows["system"]
        assert window.group_hours == window.hours
