"""All questions at once: a real log, planted independence and dependence, logs that leave parts without an answer."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

import relfit as rf
from relfit.analyses.independence import dependence, failures_of, pooled_tests
from relfit.analyses.independence.resampling import shared_alpha
from tests.factories import make_log
from tests.site_logs import site_log


def simulated(times, **options):
    events = [{"node": f"{i:03d}", "start": float(t)} for i, part in enumerate(times) for t in np.sort(part)]
    nodes = [{"node": f"{i:03d}"} for i in range(len(times))]
    return make_log(events, nodes, window=(0, 8760), **options)


def test_independent_nodes_are_called_independent():
    rng = np.random.default_rng(1)
    found = dependence(simulated([rng.uniform(0, 8760, 20) for _ in range(40)]))
    assert not found.problems
    assert found.to_frame()["depends"].tolist() == [False] * 6
    assert found.headline == (
        "Nodes may be taken as independent of each other; times to failure of a node may be fitted as "
        "independent; the failures of the system show no dependence along time (6 tests, family-wise error 5 %)."
    )


def test_shocks_are_called_dependence():
    rng = np.random.default_rng(2)
    shocks = rng.uniform(0, 8760, 15)
    found = dependence(simulated([np.concatenate([rng.uniform(0, 8760, 10), shocks]) for _ in range(40)]))
    assert "fail together more often than chance" in found.headline
    assert found.cofailure.depends
    assert found.dispersion.depends is False  # shocks of 40 nodes come at a steady rate
    assert "the incidents of the system show no dependence along time" in found.headline


@pytest.mark.slow
def test_the_results_go_into_json_tables_and_text():
    log = rf.datasets.load("white").where(system="white").between("2002-01-01", "2002-07-01")
    found = dependence(log)
    assert set(json.loads(json.dumps(found.to_dict()))) >= {"correlation", "serial", "cycles", "findings"}
    assert len(found.to_frame()) == len(found.answers) == 7
    assert found.place.per == "rack"
    assert found.headline in repr(found)
    for part in (found, found.correlation, found.serial, found.pooled, found.cofailure, found.dispersion, found.cycles):
        assert "<table" in part._repr_html_()
        assert len(part.to_frame())
        assert part.headline.endswith(".")
        assert part.headline in repr(part)


def test_a_window_of_zero_leaves_the_rest():
    rng = np.random.default_rng(3)
    found = dependence(simulated([rng.uniform(0, 8760, 10) for _ in range(5)]), window=0)
    assert list(found.problems) == ["cofailure"]
    assert "expects no failures together" in found.problems["cofailure"]
    assert found.correlation.n_pairs == 10
    assert found.cycles is not None


@pytest.mark.parametrize(
    "log",
    [
        make_log([{"node": "a", "start": h} for h in (1, 5, 9)]),
        make_log([{"node": f"{i}", "start": 7} for i in range(50)]),
        make_log([{"node": "a", "start": float(h)} for h in range(10, 90, 10)], nodes=[{"node": "a"}, {"node": "b"}]),
        make_log([], nodes=[{"node": "a"}]),
        make_log([], nodes=[]),
        make_log([{"node": "a", "start": 3}], window=(3, 3)),
        make_log(lifetimes=[{"node": "a", "duration": d, "observed": True} for d in (1.0, 5.0, 2.0, 8.0)]),
    ],
    ids=["one node", "one instant", "constant", "no failures", "no nodes", "no time", "lives"],
)
def test_poor_logs_give_sentences_and_no_error(log):
    found = dependence(log)
    assert all(found.answers.values())
    assert found.headline.endswith(".")
    json.dumps(found.to_dict(), allow_nan=False)
    assert "nan" not in repr(found)
    assert found._repr_html_()


@pytest.mark.verify
def test_lanl_system_18_in_time():
    log = site_log("lanl").where(system=18)
    start = time.perf_counter()
    found = dependence(log)
    assert time.perf_counter() - start < 10
    # the dissertation's "30 % strong" is what chance gives with four TTFs a pair
    table = found.correlation.classes
    np.testing.assert_allclose(table["observed_share"], table["expected_share"], atol=0.01)
    assert found.correlation.n_pairs == 93_961  # of times between failures; the first of a node is not whole
    assert found.cofailure.p_shuffled <= 0.005
    assert found.cycles.peak[0] == pytest.approx(12.8, abs=0.2)
    assert dependence(log).to_dict() == found.to_dict()


@pytest.mark.slow
def test_lanl_system_2_fails_in_bursts():
    log = site_log("lanl").where(system=2).between(until="2000-01-01")
    found = dependence(log)
    pooled = pooled_tests(failures_of(log))
    last = pooled.to_frame().iloc[-1]
    assert last["zeros"] / last["sizes"] > 0.4
    assert "times between failures are zero" in pooled.headline
    assert found.cofailure.together / found.cofailure.expected > 20
    assert found.pooled.zeros[-1] == 0
    assert found.pooled.sizes[-1] < 0.6 * last["sizes"]


@pytest.mark.parametrize("starts", [[1, 700, 340], [5, 5, 5]], ids=["apart", "one instant"])
def test_a_handful_of_failures_is_never_called_independent(starts: list[int]) -> None:
    found = dependence(make_log([{"node": f"n{i}", "start": start} for i, start in enumerate(starts)]))
    assert "may be" not in found.headline
    assert "show no dependence along time" not in found.headline
    assert not any(depends is False for depends in found.to_frame()["depends"])


def test_forty_failures_are_enough_to_call_nodes_independent() -> None:
    rng = np.random.default_rng(5)
    times = [rng.uniform(0, 8760, 3) for _ in range(13)]
    few = dependence(simulated(times))
    assert few.failures == 39
    assert few.cofailure is not None
    assert few.cofailure.depends is None
    assert few.depends("cofailure") is None
    assert "may be" not in few.headline
    enough = dependence(simulated([*times, np.array([5000.0])]), window="3d")
    assert enough.failures == 40
    assert enough.depends("cofailure") is False


def test_holm_shares_alpha_among_questions() -> None:
    shares = shared_alpha(np.array([0.3, 0.001, np.nan, 0.02]), 0.05)  # 0.05 / 3, then 0.05 / 2, then 0.05 / 1
    assert shares == pytest.approx([0.05, 0.05 / 3.0, 0.05, 0.025])
    shares = shared_alpha(np.array([0.03, 0.04]), 0.05)  # the first fails at 0.05 / 2, which holds for the next
    assert shares == pytest.approx([0.025, 0.025])


def racks_and_system(rack_events: int, system_events: int) -> rf.FailureLog:
    """Six racks of ten nodes: independent failures, and events that hit one rack or all racks within a minute."""
    rng = np.random.default_rng(7)
    events = [{"node": f"{i:02d}", "start": float(t)} for i in range(60) for t in rng.uniform(0, 8760, 20)]
    for size, number in ((10, rack_events), (60, system_events)):
        for t in rng.uniform(0, 8000, number):
            first = 10 * int(rng.integers(6)) if size == 10 else 0
            events += [{"node": f"{i:02d}", "start": t + rng.uniform(0, 0.02)} for i in range(first, first + size)]
    nodes = [{"node": f"{i:02d}", "rack": f"r{i // 10}"} for i in range(60)]
    return make_log(sorted(events, key=lambda event: event["start"]), nodes, window=(0, 8760))


def test_failures_of_the_whole_system_are_no_failures_of_a_rack():
    found = dependence(racks_and_system(0, 6))
    assert found.system_wide == found.place.system_wide == 6
    assert found.cofailure.depends  # where the question is about the system, they count
    assert found.cofailure.together > 6 * 60 * 59 // 2
    assert found.place.depends is False
    assert int(found.place.table["failures"].sum()) == 60 * 20
    assert found.headline.startswith(
        "The whole system failed 6 times (otherwise nodes of one rack do not fail together): don't multiply"
    )
    assert found.place.headline.startswith("Apart from 6 failures of the whole system, failures of two nodes")


@pytest.mark.slow
def test_racks_that_fail_are_found_beside_failures_of_the_system():
    found = dependence(racks_and_system(12, 6))
    assert found.place.depends
    assert 12 * 45 <= found.place.together < 12 * 45 + 100  # pairs of ten nodes, and those by chance
    assert found.headline.startswith("Nodes fail together more often than chance, 6 times as the whole system: don't")
    assert dependence(racks_and_system(12, 0)).headline.startswith("Nodes fail together more often than chance: don't")


def test_alpha_is_the_family_wise_error_of_all_tests():
    rng = np.random.default_rng(1)
    log = simulated([rng.uniform(0, 8760, 20) for _ in range(40)])
    usual, other = dependence(log), dependence(log, alpha=0.2)
    parts = ("correlation", "cofailure", "serial", "pooled", "dispersion", "cycles")
    p = np.array([getattr(usual, name).p_overall for name in parts])
    for result, alpha in ((usual, 0.05), (other, 0.2)):
        sizes = [getattr(result, name).alpha for name in parts]
        assert min(sizes) == pytest.approx(alpha / 6)
        np.testing.assert_allclose(sizes, shared_alpha(p, alpha))
    assert "6 tests, family-wise error 20 %" in other.headline
    with pytest.raises(rf.ArgumentError, match="alpha is 5"):
        dependence(log, alpha=5.0)
