"""Incidents after one another: seen where failures bring others, of the right scope and size, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.analyses.screening import Bursts, _bursts
from relfit.analyses.screening.burst_likelihoods import after, log_ratios, spells
from relfit.analyses.screening.incident_line import IncidentLine
from relfit.base.errors import ArgumentError
from tests.factories import make_log

NODES, PER_RACK, DAYS, BRANCHING = 48, 8, 730.0, 0.3


def hawkes(scope: str, rng: np.random.Generator, number: float = 700.0) -> tuple[np.ndarray, np.ndarray]:
    """Each failure brings 0.3 others a day later on average: of the same node, another of its rack, another rack."""
    at = rng.random(rng.poisson((1.0 - BRANCHING) * number)) * DAYS
    node = rng.integers(0, NODES, at.size)
    parts = [(at, node)]
    while at.size:
        parent = np.repeat(np.arange(at.size), rng.poisson(BRANCHING, at.size))
        at, node = at[parent] + rng.exponential(1.0, parent.size), node[parent]
        if scope == "rack":
            node = node // PER_RACK * PER_RACK + (node + rng.integers(1, PER_RACK, node.size)) % PER_RACK
        elif scope == "whole":
            node = (node // PER_RACK * PER_RACK + rng.integers(PER_RACK, NODES, node.size)) % NODES
        parts.append((at, node))
    at, node = (np.concatenate(column) for column in zip(*parts, strict=True))
    return at[at < DAYS], node[at < DAYS]


def calm(kind: str, rng: np.random.Generator, number: float = 700.0) -> tuple[np.ndarray, np.ndarray]:
    """Failures that bring no others."""
    hour, weight = np.arange(24.0 * DAYS), np.ones(NODES)
    day, rate = hour / 24.0, np.ones(hour.size)
    if kind == "unequal nodes":
        weight = rng.gamma(1.0, 1.0, NODES)
    elif kind == "drift":
        rate = 4.0 ** (day / DAYS)
    elif kind == "season":
        rate = 1.0 + 0.7 * np.sin(2.0 * np.pi * (day / 365.25 + rng.random()))
    elif kind == "weeks":
        rate = np.where(rng.random(120) < 0.25, 3.0, 1.0)[((day + rng.integers(0, 7)) // 7).astype(int)]
    elif kind == "working hours":
        rate = np.where((hour % 24 > 8) & (hour % 24 < 18), 3.0, 1.0) * np.where(day % 7 < 5, 1.0, 0.4)
    at = rng.choice(hour, rng.poisson(number), p=rate / rate.sum()) + rng.random(1)
    return (at + rng.random(at.size)) / 24.0, rng.choice(NODES, at.size, p=weight / weight.sum())


def log_of(at: np.ndarray, node: np.ndarray) -> rf.FailureLog:
    order = np.argsort(at)
    people = [{"node": f"n{j:02d}", "rack": f"r{j // PER_RACK}"} for j in range(NODES)]
    rows = [{"node": f"n{node[i]:02d}", "start": 24.0 * at[i]} for i in order]
    return make_log(rows, people, window=(0.0, 24.0 * (DAYS + 1.0)))


def asked(log: rf.FailureLog, **options: Any) -> Bursts:
    return rf.screening.bursts(log, rf.incidents(log, "0h"), **options)


def row_of(result: Bursts, scope: str) -> pd.Series:
    return result.table.set_index("scope").loc[scope]


@pytest.mark.parametrize("scope", ["node", "rack", "whole"])
def test_bursts_are_seen_in_their_scope(scope: str) -> None:
    result = asked(log_of(*hawkes(scope, np.random.default_rng(1))))
    row = row_of(result, scope)
    assert row["kind"] == "after one another"
    assert row["low"] < BRANCHING < row["high"]
    assert row["high"] - row["low"] < 0.25
    assert row["mean_delay"] == 24.0
    assert abs(row["following"] - BRANCHING) < 0.08
    assert result.depends is True
    others = result.table[result.table["scope"] != scope]
    assert (others["kind"] != "after one another").all()
    assert (others["low"] == 0.0).all()


@pytest.mark.parametrize("kind", ["steady", "unequal nodes", "drift", "season", "weeks", "working hours"])
def test_what_the_calendar_and_unequal_nodes_explain_is_no_burst(kind: str) -> None:
    result = asked(log_of(*calm(kind, np.random.default_rng(3))))
    assert result.depends is False
    assert "bring no further ones" in result.headline
    assert "An incident brings" not in result.headline
    if kind == "weeks":
        assert row_of(result, "whole")["kind"] == "good and bad weeks"
        assert "good and bad weeks" in result.headline


@pytest.mark.verify
def test_false_bursts_are_rare_and_limits_cover() -> None:
    false = dict.fromkeys(("node", "rack", "whole"), 0)
    kinds = ("steady", "unequal nodes", "drift", "season", "weeks", "working hours")
    for seed in range(60):
        at, node = calm(kinds[seed % len(kinds)], np.random.default_rng(seed))
        for scope, kind in asked(log_of(at, node)).table.set_index("scope")["kind"].items():
            false[str(scope)] += kind == "after one another"
    assert max(false.values()) <= 6  # of 60; 3 expected at most
    covered = 0
    for seed in range(20):
        row = row_of(asked(log_of(*hawkes("node", np.random.default_rng(seed)))), "node")
        covered += int(row["low"] <= BRANCHING <= row["high"])
    assert covered >= 15


def test_good_and_bad_weeks_beside_bursts_of_nodes() -> None:
    rng = np.random.default_rng(5)
    at, node = calm("weeks", rng)
    child = rng.random(at.size) < 0.4
    at = np.concatenate([at, at[child] + rng.exponential(0.3, child.sum())])
    result = asked(log_of(np.minimum(at, DAYS), np.concatenate([node, node[child]])))
    assert result.table["kind"].tolist() == ["after one another", "steady", "good and bad weeks"]


def test_counts_by_delay_are_those_by_hand() -> None:
    at, node = hawkes("node", np.random.default_rng(2), 150.0)
    result = asked(log_of(at, node))
    lag = at[None, :] - at[:, None]
    same_node, same_rack = (np.equal.outer(code, code) for code in (node, node // PER_RACK))
    pairs = {"node": same_node, "rack": same_rack & ~same_node, "whole": ~same_rack}
    for scope, part in result.by_delay.groupby("scope"):
        for low, high, counted in zip(part["from_hours"], part["to_hours"], part["counted"], strict=True):
            inside = (24.0 * lag > low) & (24.0 * lag <= high)
            assert counted == int((inside & pairs[str(scope)]).sum())
    far = result.by_delay[result.by_delay["to_hours"] > 700.0]
    assert far["counted"].tolist() == pytest.approx(far["expected"].tolist(), rel=0.3)


def test_unequal_systems_are_no_bursts_of_each_other() -> None:
    rng = np.random.default_rng(4)
    rows = []
    for system, number in (("a", 400), ("b", 60)):  # b is watched by its last third only
        at = np.sort(rng.random(number)) * 8000.0 + (0.0 if system == "a" else 16_000.0)
        rows += [{"system": system, "node": f"n{rng.integers(0, 20)}", "start": t} for t in at]
    people = [{"system": s, "node": f"n{j}"} for s in "ab" for j in range(20)]
    result = asked(make_log(sorted(rows, key=lambda row: row["start"]), people, window=(0.0, 24_000.0)))
    assert row_of(result, "node")["kind"] == "steady"


@pytest.mark.parametrize(
    ("starts", "nodes"),
    [
        ([], []),
        ([5.0], ["a"]),
        ([5.0] * 30, [f"n{j}" for j in range(30)]),
        (np.arange(40.0) * 24, ["a"] * 40),
        (np.arange(40.0) ** 1.5 * 20, [None] * 40),
        ([1.0, 2.0] * 10, ["a", "b"] * 10),
    ],
)
def test_hard_logs_have_an_answer(starts: Sequence[float], nodes: list[Any]) -> None:
    rows = sorted(
        ({"node": j, "start": float(t)} for t, j in zip(starts, nodes, strict=True)), key=lambda row: row["start"]
    )
    result = asked(make_log(rows, window=(0.0, 8000.0)))
    assert result.table["scope"].tolist() == ["node", "whole"]
    assert set(result.table["kind"]) <= {"steady", "good and bad weeks", "after one another", "no answer"}
    assert result.headline.endswith(".")
    assert result.to_dict()["table"][0]["scope"] == "node"
    answered = result.table[result.table["kind"] != "no answer"]
    assert np.isfinite(answered[["branching", "low", "high", "following", "p"]].to_numpy(float)).all()
    if len(starts) < 10:
        assert result.depends is None
        assert result.headline.startswith("Too few incidents")


def test_a_log_of_dates_has_no_delays_below_a_day() -> None:
    at, node = hawkes("node", np.random.default_rng(1))
    result = asked(log_of(np.floor(at), node))
    assert row_of(result, "node")["mean_delay"] >= 24.0


def test_what_cannot_be_asked_is_an_error() -> None:
    log = log_of(np.array([1.0, 2.0]), np.array([0, 1]))
    with pytest.raises(ArgumentError, match="19 or more"):
        rf.screening.bursts(log, n_resamples=5)
    with pytest.raises(ArgumentError, match="level"):
        rf.screening.bursts(log, level=2.0)
    lives = make_log((), [{"node": "a"}], lifetimes=[{"node": "a", "duration": 5.0, "observed": True}])
    with pytest.raises(ArgumentError, match="lifetimes"):
        rf.screening.bursts(lives)


def test_a_study_asks_once() -> None:
    at, node = hawkes("node", np.random.default_rng(1))
    study = rf.Study(log_of(at, node))
    assert study.bursts is study.bursts
    assert row_of(study.bursts, "node")["kind"] == "after one another"


def test_sums_of_delays_are_those_by_hand() -> None:
    time, label = np.array([0.0, 1.0, 1.0, 3.0, 3.5]), np.array([0, 0, 0, 1, 0])
    got = after(time, label, np.ones(5), np.array([2.0]))[:, 0]
    by_hand = [
        sum(np.exp(-(t - s) / 2.0) / 2.0 for s, b in zip(time, label, strict=True) if b == a and s < t)
        for t, a in zip(time, label, strict=True)
    ]
    assert got.tolist() == pytest.approx(by_hand)


def test_likelihood_ratios_of_three_points_by_hand() -> None:
    time, rate = np.array([0.0, 1.0, 3.0]), np.array([0.5, 0.4, 0.2])
    nearer, farther = np.exp(-0.5) / 2.0, (np.exp(-1.0) + np.exp(-1.5)) / 2.0  # delays of two days
    for inner, brought in (([-1, -1, -1], [0.0, nearer, farther]), ([0, 0, -1], [0.0, 0.0, farther])):
        got = log_ratios(time, np.zeros(3, int), np.array(inner), rate, np.array([2.0]), 0.25)
        assert got.tolist() == pytest.approx([np.log1p(np.array(brought) / rate / 3.0).sum()])


def test_the_delay_that_stands_out_counts_whatever_its_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first score seen is two deviations off; those of 900 are less, as scores of their delay are that large."""
    scores = iter(np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 900.0], [0.0, -900.0], [0.0, 0.0]]))
    monkeypatch.setattr(_bursts, "log_ratios", lambda *_: next(scores))
    points = _bursts._Labelled(SimpleNamespace(time=np.zeros(3)), np.zeros(3, int), np.zeros(3, int))
    block, rng = np.zeros(3, int), np.random.default_rng(1)
    assert _bursts._p_shuffled(points, np.ones(3), np.ones(2), block, 4, rng) == 1.0 / 5.0


def test_an_incident_is_left_out_of_its_own_rate() -> None:
    none = np.zeros(1, int)
    alone = IncidentLine(np.array([200.0]), none, none, none, np.ones(1), np.ones((1, 400)), np.array([[0.0, 400.0]]))
    rate, daily = alone.background()  # half an incident in 400 days, and half of that time again
    assert rate.tolist() == pytest.approx([0.5 / 600.0])
    assert daily[:400].tolist() == pytest.approx([1.0 / 400.0] * 400)


def test_the_background_is_that_of_a_slow_program() -> None:
    """A rate that rises and falls five times: of half-lives the one by which days foretell those 11 and more away."""
    days = np.arange(750)
    counts = np.random.default_rng(3).poisson(1.0 - 0.9 * np.cos(2.0 * np.pi * days / 150.0))
    time, none, watched = np.repeat(days, counts) + 0.5, np.zeros(counts.sum(), int), np.where(days < 400, 4.0, 5.0)
    line = IncidentLine(time, none, none, none, np.ones(time.size), watched[None], np.array([[0.0, 750.0]]))
    rate, daily = line.background()
    apart, half = np.abs(np.subtract.outer(days, days)), 0.5 * watched.sum() / counts.sum()
    best = -np.inf
    for half_life in (7.0, 14.0, 30.0, 60.0, 120.0, 240.0, 1e6):
        weight = 0.5 ** (apart / half_life)
        far = np.where(apart > 10, weight, 0.0)
        foretold = (far @ counts + 0.5) / (far @ watched + half)
        if (score := (counts * np.log(foretold) - watched * foretold).sum()) > best:
            best, number, hours = score, weight @ counts, weight @ watched
    expected = watched * (number + 0.5) / (hours + half)
    assert daily[:750].tolist() == pytest.approx((expected * counts.sum() / expected.sum()).tolist())
    of_each = watched * (number - 0.5) / (hours + half)
    assert rate.tolist() == pytest.approx(np.repeat(of_each, counts).tolist())


def test_the_likelihood_of_weeks_is_that_of_negative_binomial_counts() -> None:
    from scipy.stats import nbinom

    counts, expected, alike = np.array([0, 3, 9]), np.array([2.0, 4.0, 5.0]), 3.0
    rate = np.repeat(expected, counts)  # of one week each, so that densities are those of counts but for orders
    got = spells(rate, np.zeros(12), np.append(0, np.cumsum(counts)), expected, alike)
    orders = np.array([0.0, np.log(6.0), np.log(362_880.0)])
    exact = (nbinom.logpmf(counts, alike, alike / (alike + expected)) + orders).sum()
    assert got == pytest.approx(exact, abs=0.1)  # Laplace's method


@pytest.mark.slow
def test_the_report_says_what_comes_after_an_incident() -> None:
    from relfit.reporting.components import Section
    from relfit.reporting.fleet_sections import independence
    from relfit.reporting.report_data import ReportData

    data = ReportData(rf.Study(log_of(*hawkes("node", np.random.default_rng(1))), "all"), ("exponential",))
    section = independence(data)
    assert isinstance(section, Section)
    assert section.sentences == (data.study.bursts.headline,)
