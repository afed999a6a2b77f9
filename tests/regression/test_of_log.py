"""Regressions of failure logs: known effects, where attributes come from, the real logs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.analyses.regression import attribute_effects
from relfit.analyses.regression.covariates import regression_table
from tests.factories import make_log
from tests.site_logs import site_log

HOURS = 5000.0


def simulated(effect: float = 0.8, seed: int = 0, shape: float = 1.0) -> rf.FailureLog:
    """60 nodes watched for 5000 h; gaps in rack b are longer by ``exp(effect)``, repairs take some 2 h or 8 h."""
    rng = np.random.default_rng(seed)
    events, nodes = [], []
    for number in range(60):
        rack = "ab"[number % 2]
        nodes.append({"node": f"n{number}", "rack": rack, "position": number // 2 % 10})
        scale = 400.0 * np.exp(effect * (rack == "b"))
        clock = scale * rng.weibull(shape)
        while clock < HOURS:
            cause = "disk" if rng.random() < 0.5 else "fan"
            length = rng.lognormal(np.log(2.0 if cause == "fan" else 8.0), 0.5)
            events.append({"node": f"n{number}", "start": clock, "end": min(clock + length, HOURS), "cause": cause})
            clock += max(scale * rng.weibull(shape), length + 0.01)
    return make_log(events, nodes, window=(0, HOURS))


@pytest.mark.parametrize(("model", "sign"), [("cox", -1.0), ("weibull", 1.0)])
def test_a_known_effect_lies_in_its_interval(model: str, sign: float) -> None:
    found = rf.regress(simulated(), "ttf ~ rack + position", model)
    row = found.table.loc["rack[T.b]"]
    assert row["low"] < sign * 0.8 < row["high"]
    assert row["p_adjusted"] < 1e-6
    assert row["reference"] == "a"
    assert found.table.loc["position", "low"] < 0.0 < found.table.loc["position", "high"]
    assert found.n_clusters == 60
    assert any("robust" in note for note in found.notes)


@pytest.mark.verify
def test_the_interval_covers_the_effect_as_often_as_it_says() -> None:
    inside = 0
    for seed in range(30):
        row = rf.regress(simulated(seed=seed + 100), "ttf ~ rack", "weibull").table.iloc[0]
        inside += row["low"] < 0.8 < row["high"]
    assert inside >= 25  # 28.5 of 30 expected; fewer than 25 has a chance below 1 %


def test_a_cause_is_that_of_the_repair_itself() -> None:
    found = rf.regress(simulated(), "ttr ~ cause", "lognormal")
    row = found.table.loc["cause[T.fan]"]
    assert abs(row["coefficient"] - np.log(0.25)) < 3.0 * row["standard_error"]
    assert found.formula == "ttr ~ cause"


def test_a_cause_is_that_of_the_failure_before_the_life() -> None:
    events = [
        {"node": "x", "start": 10, "end": 11, "cause": "one"},
        {"node": "x", "start": 30, "end": 31, "cause": "two"},
        {"node": "y", "start": 50, "end": 51, "cause": "three"},
    ]
    log = make_log(events, [{"node": n, "rack": r} for n, r in (("x", "a"), ("y", "b"), ("z", "c"))])
    table, left_out = regression_table(log)
    got = {
        (node, hours): (cause if isinstance(cause, str) else None, rack)
        for node, hours, cause, rack in table[["node", "duration", "cause", "rack"]].itertuples(index=False)
    }
    assert got == {
        ("x", 10.0): (None, "a"),
        ("x", 20.0): ("one", "a"),
        ("x", 70.0): ("two", "a"),
        ("y", 50.0): (None, "b") if got[("y", 50.0)][0] is None else ("three", "b"),
        ("z", 100.0): (None, "c"),
    }
    assert sorted(table.loc[table["node"] == "y", "cause"].dropna()) == ["three"]
    assert left_out == {}


def test_lives_come_in_the_order_of_log_lives() -> None:
    log = simulated()
    for measure in ("ttf", "ttr"):
        table, _ = regression_table(log, measure)
        lives = getattr(log, measure)()
        assert np.array_equal(table["duration"], lives.durations)
        assert np.array_equal(table["observed"], lives.observed)
        if measure == "ttr":
            own = log.events.set_index(["node", "start"])["cause"]
            ordered = log.events.assign(number=log.events["node"].str[1:].astype(int)).sort_values(["number", "start"])
            by_node = {node: part["cause"].tolist() for node, part in ordered.groupby("node")}
            assert {n: p["cause"].tolist() for n, p in table.groupby("node")} == by_node
            assert len(own) == len(table)


def test_rows_without_a_value_are_told() -> None:
    log = simulated()
    population = log.population.copy()
    population.loc[population["node"] == "n0", "rack"] = None
    from dataclasses import replace

    found = rf.regress(replace(log, population=population), "ttf ~ rack", "weibull")
    gone = len(log.ttf().group(("s", "n0")).durations)
    assert found.dropped["no value of 'rack'"] == gone
    assert f"{gone} left out: no value of 'rack'" in found.findings
    assert found.n_rows == log.ttf().durations.size - gone


def test_whole_lives_bring_their_own_attributes() -> None:
    rng = np.random.default_rng(4)
    lifetimes = [
        {"node": f"g{i}", "duration": float(1000 * rng.weibull(2) * (1 + i % 2)), "observed": True, "cage": i % 2}
        for i in range(200)
    ]
    log = make_log([], [{"node": f"g{i}"} for i in range(200)], lifetimes=lifetimes)
    row = rf.regress(log, "ttf ~ cage", "weibull").table.loc["cage"]
    assert row["time_ratio_low"] < 2.0 < row["time_ratio_high"]


def test_a_reference_changes_what_is_compared() -> None:
    log = simulated()
    first = rf.regress(log, "ttf ~ rack")
    second = rf.regress(log, "ttf ~ rack", reference={"rack": "b"})
    assert second.table.index.tolist() == ["rack[T.a]"]
    assert second.table["coefficient"].iloc[0] == pytest.approx(-first.table["coefficient"].iloc[0], rel=1e-6)
    assert second.table["reference"].tolist() == ["b"]


def test_results_are_ready_for_json_and_readable() -> None:
    for model in ("cox", "weibull"):
        found = rf.regress(simulated(), "ttf ~ rack", model)
        record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert record["model"] == model
        assert record["table"][0]["covariate"] == "rack[T.b]"
        assert "failures in" in repr(found)
        assert "<table" in found._repr_html_()
        assert found.to_frame().equals(found.table)


@pytest.mark.slow
@pytest.mark.long
def test_importing_relfit_does_not_import_lifelines() -> None:
    heavy = "{'lifelines', 'formulaic', 'statsmodels'}"
    code = f"import sys, relfit.analyses.regression; sys.exit(bool({heavy} & {{*sys.modules}}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
def test_the_cage_of_titan_matters(shared: Path) -> None:
    log = rf.read(shared / "data" / "titan-gpu-lifetimes.csv.xz", outcome="out_or_event")
    cox = rf.regress(log, "ttf ~ cage + column")
    assert 3.7 < cox.table.loc["cage", "hazard_ratio"] < 4.1  # each cage higher nearly quadruples the hazard
    assert cox.table.loc["cage", "low"] > 1.3
    levels = rf.regress(log, "ttf ~ C(cage) + column", "weibull")
    ratios = levels.table.loc[["C(cage)[T.1]", "C(cage)[T.2]"], "time_ratio"]
    assert ratios.is_monotonic_decreasing
    assert ratios.iloc[-1] < 0.5
    assert levels.converged
    assert cox.converged


@pytest.mark.slow
def test_lanl_repairs_by_cause() -> None:
    log = site_log("lanl")
    found = rf.regress(log, "ttr ~ cause + purpose", "lognormal")
    assert found.converged
    assert found.table.loc["cause[T.software]", "time_ratio_high"] < 0.3
    assert found.dropped["time to repair of zero"] == 122


@pytest.mark.long
def test_attributes_that_cannot_be_compared_are_named_with_the_reason(tmp_path: Path) -> None:
    """One value, none, one for each node, dates, a rare one: the report named those that it compared alone."""
    rng = np.random.default_rng(3)
    rows = [
        {
            "node": f"n{i:02d}",
            "start": pd.Timestamp("2024-01-01") + pd.Timedelta(hours=round(hour)),
            "rack": f"r{i // 10}",
            "vendor": "acme",
            "colour": "blue",
            "serial": f"s{i}",
            "bios": None,
            "bought": f"2021-03-0{1 + i % 9}",
        }
        for i in range(60)
        for hour in rng.uniform(0.0, 8000.0, 8)
    ]
    table = pd.DataFrame(rows).sort_values("start")
    log = rf.read(table, window_start="2024-01-01", window_end="2024-12-01")
    effects = rf.regression.attribute_effects(log)
    said = effects.not_compared
    assert "rack" not in said
    assert "vendor, colour (all nodes have one value)" in said
    assert "serial (60 levels of 60 nodes are too many to compare)" in said
    assert "bought (its values are dates, which are no categories)" in said
    assert effects.unanswered.count("failures by vendor: all nodes have one value.") == 1
    assert effects.headline.startswith("No attribute of the nodes is associated with more failures (1 tested")
    page = rf.report(log, tmp_path / "report.html", families=["exponential"]).read_text(encoding="utf-8")
    assert f"Not compared: {said}." in page
    alone = rf.report(log.where(rack="r1"), tmp_path / "alone.html", families=["exponential"])
    assert "attributes of nodes: rack, vendor, colour (all nodes have one value); " in alone.read_text(encoding="utf-8")


def test_a_covariate_that_was_read_as_text_says_which_value_made_it_so(tmp_path):
    """One odd cell among 300 numbers: 300 levels were compared, and the effect of p < 1e-10 was lost without a word."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    table = pd.DataFrame({"node": np.arange(300), "duration": rng.exponential(100.0 * np.exp(-x)), "x": x}).astype(str)
    assert "associated with x" in attribute_effects(rf.read(table)).headline
    table = table.assign(failed=np.where(np.arange(300) % 9, "1", "0"))
    table.loc[5, "x"] = "abc"
    log = rf.read(table)
    why = "'x' is text, since 'abc' is not a number"
    assert attribute_effects(log).table["status"].str.contains(why).all()
    with pytest.raises(rf.ArgumentError, match=why):
        rf.regress(log, "ttf ~ x")


def test_what_nodes_and_outages_both_have_is_the_nodes_in_lives_and_the_outages_in_repairs() -> None:
    """The node's firmware is b; the outage came under a."""
    log = make_log([{"node": "x", "start": 10, "end": 14, "firmware": "a"}], [{"node": "x", "firmware": "b"}])
    assert regression_table(log)[0]["firmware"].tolist() == ["b", "b"]
    assert regression_table(log, "ttr")[0]["firmware"].tolist() == ["a"]
