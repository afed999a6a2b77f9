"""OutlierNodes: exact tests, and the class of bad nodes with its intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.discrete.discrete_model import NegativeBinomial

import relfit as rf
from relfit.errors import ArgumentError
from relfit.screening import outlier_nodes
from relfit.screening.rate_mixtures import rate_classes
from tests.factories import make_log


@pytest.mark.verify
def test_intervals_cover_five_percent_of_nodes_at_five_times_the_rate() -> None:
    rng = np.random.default_rng(1)
    logs, nodes = 200, 1000
    bad = rng.random((logs, nodes)) < 0.05
    events = rng.poisson(np.where(bad, 15.0, 3.0))
    table, posterior = rate_classes(
        events.ravel(), np.full(logs * nodes, 1000.0), np.repeat(np.arange(logs), nodes), n_resamples=0
    )
    assert (table["status"] == "ok").all()
    for name, true in (("fraction", 0.05), ("ratio", 5.0), ("rate", 0.003)):
        covers = (table[f"{name}_low"] <= true) & (true <= table[f"{name}_high"])
        assert 0.90 <= covers.mean() <= 0.99
        assert table[name].mean() == pytest.approx(true, rel=0.02)
    assert ((posterior > 0.5) == bad.ravel()).mean() > 0.99
    doubtful = (posterior > 0.2) & (posterior < 0.8)
    assert bad.ravel()[doubtful].mean() == pytest.approx(posterior[doubtful].mean(), abs=0.05)


@pytest.mark.verify
def test_one_class_keeps_its_size() -> None:
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(200), 60)
    table, _ = rate_classes(rng.poisson(2.0, group.size), np.ones(group.size), group, n_resamples=19, rng=1)
    assert (table["p"] <= 0.05).mean() <= 0.05 + 1.96 * 0.0155  # many have no second class at all: p of 1


def test_two_classes_are_told_from_one() -> None:
    rng = np.random.default_rng(3)
    hours = rng.uniform(500.0, 1500.0, 400)
    table, _ = rate_classes(rng.poisson(np.where(np.arange(400) < 20, 0.02, 0.004) * hours), hours, n_resamples=99)
    assert table.loc[0, "p"] <= 0.01


@pytest.mark.parametrize(
    ("truth", "least"), [("equal", 0.9), ("spread", 0.9), ("two_classes", 0.98), ("lognormal", 0.9)]
)
def test_two_classes_are_told_from_a_spread_of_rates(truth: str, least: float) -> None:
    rng = np.random.default_rng(31)
    shape = (20 if truth == "equal" else 60, 1000)
    rate = {
        "equal": np.ones(shape),
        "spread": rng.gamma(4.0, 0.25, shape),
        "lognormal": rng.lognormal(-0.125, 0.5, shape),
        "two_classes": np.where(rng.random(shape) < 0.05, 5.0, 1.0),
    }[truth]
    group = np.repeat(np.arange(shape[0]), shape[1])
    table, _ = rate_classes(rng.poisson(3.0 * rate).ravel(), np.full(group.size, 1000.0), group, n_resamples=0)
    assert (table["description"] == ("spread" if truth == "lognormal" else truth)).mean() >= least
    if truth == "spread":
        covers = (table["spread_low"] <= 0.5) & (table["spread_high"] >= 0.5)
        assert covers.mean() >= 0.87
        assert table["spread"].mean() == pytest.approx(0.5, rel=0.02)


def test_the_spread_is_the_negative_binomial_of_statsmodels() -> None:
    rng = np.random.default_rng(32)
    hours = rng.choice([500.0, 1000.0, 1500.0], 300)
    events = rng.poisson(0.004 * hours * rng.gamma(2.0, 0.5, 300))
    theirs = NegativeBinomial(events, np.ones(300), exposure=hours).fit(disp=0)
    table, _ = rate_classes(events, hours, n_resamples=0)
    assert table.loc[0, "loglik_spread"] == pytest.approx(theirs.llf, abs=1e-6)
    assert table.loc[0, "spread"] == pytest.approx(np.sqrt(theirs.params[-1]), rel=1e-3)


def test_a_continuous_spread_is_no_finding_of_bad_nodes() -> None:
    found = outlier_nodes(rf.datasets.load("white"))
    assert found.classes.loc[0, "description"] == "spread"
    assert "No class of bad nodes stands apart" in found.headline


def test_single_nodes_are_tested_exactly() -> None:
    nodes = [{"node": f"n{i}", "left": 50 if i == 9 else 100} for i in range(10)]
    log = make_log([{"node": "n9", "start": 1 + i} for i in range(8)] + [{"node": "n0", "start": 3}] * 4, nodes)
    found = outlier_nodes(log, n_resamples=0)
    row = found.nodes.set_index("node").loc["n9"]
    assert row["p"] == pytest.approx(stats.binom.sf(7, 12, 50 / 950))
    assert found.outliers["node"].tolist() == ["n9"]
    assert found.nodes["p_adjusted"].tolist() == pytest.approx(stats.false_discovery_control(found.nodes["p"]).tolist())


@pytest.mark.verify
def test_equal_nodes_are_no_outlier_nodes() -> None:
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(30):
        counts = rng.poisson(3.0, 80)
        rows = [{"node": f"n{i}", "start": 1 + k} for i, c in enumerate(counts) for k in range(c)]
        wrong += len(outlier_nodes(make_log(rows, [{"node": f"n{i}"} for i in range(80)]), n_resamples=0).outliers) > 0
    assert wrong <= 5  # 1.5 expected at most


def test_edges() -> None:
    one = outlier_nodes(make_log([{"start": i} for i in range(20)]))
    assert one.classes["status"].tolist() == ["too_few"]
    assert not len(one.outliers)
    none = outlier_nodes(make_log([], [{"node": "a"}, {"node": "b"}]))
    assert "No failure" in none.headline
    assert none.to_dict()["nodes"] == []
    same = outlier_nodes(make_log([{"node": f"n{i}", "start": 5} for i in range(30)]), n_resamples=19)
    assert same.classes["status"].tolist() == ["one_class"]
    unwatched, posterior = rate_classes([3, 4, 9, 0], [0.0, 0.0, 0.0, 0.0])
    assert unwatched["status"].tolist() == ["too_few"]
    assert np.isnan(posterior).all()
    with pytest.raises(ArgumentError):
        rate_classes([1, -1], [1.0, 1.0])
    with pytest.raises(ArgumentError):
        rate_classes([1, 2, 3], [1.0, 1.0])
    with pytest.raises(ArgumentError):
        outlier_nodes(rf.datasets.load("white"), alpha=5)
