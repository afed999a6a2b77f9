"""Levels with few failures, or none, against closed forms: good models and batches were left out without a word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import relfit as rf
from relfit.analyses.regression import AttributeEffects, attribute_effects
from tests.factories import make_log

HOURS = 1000.0
LIVES = ("ttf", "ttf (AFT)")


def lives(failures: dict[str, int], units: int = 200) -> rf.FailureLog:
    """Units watched for 1000 h; those that fail do so at evenly spaced hours."""
    rows = [
        {"node": f"{batch}{i}", "duration": HOURS * (i + 1) / (failed + 1) if i < failed else HOURS, "batch": batch}
        | {"observed": i < failed}
        for batch, failed in failures.items()
        for i in range(units)
    ]
    return make_log([], [{"node": row["node"]} for row in rows], lifetimes=rows)


def nodes(failures: dict[str, int], number: int | dict[str, int] = 40) -> rf.FailureLog:
    """Nodes watched for 1000 h; the failures of a model go round its nodes, each at an hour of its own."""
    listed, events = [], []
    for model, failed in failures.items():
        of_model = number if isinstance(number, int) else number[model]
        listed += [{"node": f"{model}{i}", "model": model} for i in range(of_model)]
        events += [f"{model}{i % of_model}" for i in range(failed)]
    rows = [{"node": node, "start": HOURS * (i + 1) / (len(events) + 1)} for i, node in enumerate(events)]
    return make_log([row | {"end": row["start"]} for row in rows], listed, window=(0, HOURS))


def row_of(effects: AttributeEffects, measure: str) -> pd.Series:
    return effects.table.set_index("measure").loc[measure]


def test_a_batch_with_few_failures_is_compared() -> None:
    effects = attribute_effects(lives({"p1": 40, "p2": 38, "p3": 3}), measures=LIVES)
    for measure in LIVES:
        row = row_of(effects, measure)
        assert (row["term"], row["reference"], row["levels"]) == ("p3", "all other values", 3)
        assert row["p"] < 1e-3
    hazard = row_of(effects, "ttf")
    assert hazard["ratio"] == pytest.approx(np.log(1 - 3 / 200) / np.log(1 - 78 / 400), rel=0.05)
    assert effects.headline.startswith("Failures of nodes are associated with batch")


def test_of_a_batch_without_failure_the_chance_is_that_of_those_at_risk() -> None:
    """By hand: at the i-th failure 200 - i units of p1 and 200 of p3 are at risk."""
    effects = attribute_effects(lives({"p1": 40, "p3": 0}), measures=LIVES)
    left = 200.0 - np.arange(40)
    row = row_of(effects, "ttf")
    assert (row["term"], row["reference"], row["ratio"], row["low"]) == ("p3", "p1", 0.0, 0.0)
    assert row["p"] == pytest.approx(2.0 * np.prod(left / (left + 200.0)), rel=1e-9)
    assert np.prod(left / (left + 200.0 * row["high"])) == pytest.approx(0.025, rel=1e-6)
    (sentence,) = (text for text in effects.findings if "hazard" in text)
    assert sentence == f"batch (p < 0.001): no failure, hazard at most x {row['high']:.3g} for p3 against p1."
    assert effects.to_dict()["table"][0]["ratio"] == 0.0


def test_of_a_batch_without_failure_the_least_ratio_of_times_is_that_of_the_likelihood() -> None:
    log = lives({"p1": 40, "p3": 0})
    row = row_of(attribute_effects(log, measures=LIVES), "ttf (AFT)")
    table, inside = log.lifetimes, (log.lifetimes["batch"] == "p3").to_numpy()

    def maximum(use: np.ndarray, ratio: float) -> float:
        hours = (table["duration"] / np.where(inside, ratio, 1.0)).to_numpy()[use] / HOURS
        failed = table["observed"].to_numpy()[use]

        def negative(theta: np.ndarray) -> float:
            life = stats.weibull_min(np.exp(theta[0]), scale=np.exp(theta[1]))
            return -float(life.logpdf(hours[failed]).sum() + life.logsf(hours[~failed]).sum())

        return -float(optimize.minimize(negative, [0.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-6}).fun)

    every = np.ones(len(table), dtype=bool)
    assert maximum(every, row["low"]) - maximum(~inside, 1.0) == pytest.approx(np.log(0.025), abs=1e-3)
    assert 2.0 * np.exp(maximum(every, 1.0) - maximum(~inside, 1.0)) == pytest.approx(row["p"], rel=0.01)
    assert np.isinf(row["ratio"])
    assert np.isinf(row["high"])


def test_of_a_model_without_failure_the_limit_is_that_of_the_binomial() -> None:
    effects = attribute_effects(nodes({"a": 30, "b": 0}), measures=("failures",))
    row = row_of(effects, "failures")
    exact = stats.binomtest(0, 30, 0.5)
    high = exact.proportion_ci(0.95, "exact").high
    assert row["p"] == pytest.approx(exact.pvalue, rel=1e-6)
    assert row["high"] == pytest.approx(high / (1.0 - high), rel=1e-6)
    assert effects.regressions == {}


def test_one_failure_among_many_is_told_as_such_and_so_is_none() -> None:
    effects = attribute_effects(nodes({"a": 66, "b": 59, "c": 1, "d": 0}), measures=("failures",))
    row = row_of(effects, "failures")
    assert row["levels"] == 4
    assert row["term"] in ("c", "d")
    assert row["p"] < 1e-6
    assert effects.notes == ()


def test_where_failures_of_nodes_vary_by_more_than_chance_none_says_less() -> None:
    """12 of 40 nodes fail three times: the variance of 0.9 failures a node is 75.6 / 36 times that of chance."""
    log = nodes({"a": 36, "b": 0})
    log = replace(log, events=log.events.assign(node=[f"a{i % 12}" for i in range(36)]))
    row = row_of(attribute_effects(log, measures=("failures",)), "failures")
    assert row["p"] == pytest.approx(2.0 * 0.5 ** (36.0 / 2.1), rel=1e-6)


def test_a_small_bad_batch_is_compared_though_few_failures_were_expected() -> None:
    effects = attribute_effects(_bad_batch(), measures=("failures",))
    row = row_of(effects, "failures")
    assert row["term"] == "bad"
    assert row["p"] < 1e-6


def _bad_batch() -> rf.FailureLog:
    """5 of 405 nodes have 15 of 115 failures, where 1.4 are expected."""
    return nodes({"a": 50, "b": 50, "bad": 15}, {"a": 200, "b": 200, "bad": 5})


def test_rare_levels_are_named_with_their_nodes_and_failures() -> None:
    log = nodes({"a": 60, "b": 50, "c": 1, "d": 0}, {"a": 100, "b": 100, "c": 6, "d": 2})
    effects = attribute_effects(log, measures=("failures",))
    note = "Levels of model left out: c (6 nodes, 1 failure), d (2 nodes, 0 failures)"
    assert effects.notes == (f"{note} (too few nodes, or failures at the mean rate).",)
    assert row_of(effects, "failures")["rare"] == "left out: c (6 nodes, 1 failure), d (2 nodes, 0 failures)"
    alone = attribute_effects(nodes({"a": 60, "d": 0}, {"a": 100, "d": 2}), measures=("failures",))
    assert alone.headline == (
        "No attribute of the nodes can be compared: model (only a has 3 nodes and 5 failures at the mean rate of all; "
        "left out: d (2 nodes, 0 failures))."
    )


def test_racks_are_not_told_apart_by_those_that_chance_gave_five_failures() -> None:
    """100 equal racks with 2 failures expected in each: those with five or more were compared with all others."""
    failed = stats.poisson.ppf((np.arange(100) + 0.5) / 100.0, 2.0).astype(int).tolist()
    racks = {f"r{i}": number for i, number in enumerate(failed)}
    assert sum(number >= 5 for number in failed) == 5
    effects = attribute_effects(nodes(racks, 10), measures=("failures",))
    assert "No attribute" in effects.headline
