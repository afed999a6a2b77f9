"""What other tools read: AIReSim's YAML, BatSim's options, traces of the Failure Trace Archive, scipy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import relfit as rf
from relfit.calibration import FittedFamily, Parameters, scipy_distribution, to_airesim, to_batsim, to_fta
from relfit.calibration.exports import AIRESIM_KEYS, SCIPY_FAMILIES, airesim_values, batsim_values
from relfit.errors import ArgumentError, DataError
from relfit.families import FAMILIES, family_named
from relfit.simulation import simulate_log
from tests.factories import make_log

yaml = pytest.importorskip("yaml")

# AIReSim's defaults (Table 1 of the paper): a good server fails 0.01 times a day, a bad one 6 times as often
TABLE_1 = {
    "mtbf": {"value": 100 / (1 + 0.15 * 5), "unit": "days"},
    "bad_nodes": {"fraction": 0.15, "factor": 6},
    "mttr": {"quick": "120min", "slow": "3000min", "share_quick": 0.2},
}


def test_airesim_reads_its_own_defaults(tmp_path: Path) -> None:
    path = to_airesim(Parameters(**TABLE_1), tmp_path / "a.yaml")
    text = path.read_text(encoding="utf-8")
    assert f"# {Parameters(**TABLE_1).headline}" in text
    read = yaml.safe_load(text)
    assert set(read) <= set(AIRESIM_KEYS)
    assert read == pytest.approx(
        {
            "random_failure_rate": 0.01 / 1440,
            "systematic_failure_rate_multiplier": 5.0,
            "systematic_failure_fraction": 0.15,
            "auto_repair_time": 120.0,
            "manual_repair_time": 2880.0,
            "prob_auto_to_manual": 0.8,
        }
    )
    assert all(isinstance(value, float) for value in read.values())  # YAML takes 7e-06 without a point for text


def test_airesim_takes_a_fitted_shape_where_no_class_is_bad() -> None:
    fitted = {"family": "weibull", "parameters": {"shape": 0.7, "scale": 900.0}}
    values = airesim_values(Parameters(mtbf=1000, mttr=5, failure=fitted))
    assert values == {
        "random_failure_rate": pytest.approx(1 / 60000),
        "systematic_failure_fraction": 0.0,
        "failure_distribution": "weibull",
        "weibull_shape": 0.7,
        "auto_repair_time": 300.0,
        "prob_auto_to_manual": 0.0,
    }
    log = {"family": "lognormal", "parameters": {"meanlog": 5.0, "sdlog": 1.2}}
    assert airesim_values(Parameters(mtbf=1000, failure=log))["lognormal_sigma"] == 1.2


def test_airesim_takes_further_parameters_of_its_own(tmp_path: Path) -> None:
    path = to_airesim(Parameters(mtbf=1e7), tmp_path / "a.yaml", job_size=64, bad_server_regeneration=True, seed=3)
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert (read["job_size"], read["bad_server_regeneration"], read["seed"]) == (64, True, 3)
    assert read["random_failure_rate"] == 1.0 / (1e7 * 60.0)
    with pytest.raises(ArgumentError, match="AIReSim has no parameter 'jobsize'"):
        to_airesim(Parameters(mtbf=1), tmp_path / "b.yaml", jobsize=64)
    with pytest.raises(ArgumentError, match=r"no mtbf\.node"):
        to_airesim(Parameters(mttr=1), tmp_path / "b.yaml")
    assert [file.name for file in tmp_path.iterdir()] == ["a.yaml"]


def test_batsim_counts_every_node_of_an_incident(tmp_path: Path) -> None:
    known = Parameters(mtbf={"node": 20000, "rack": 10000}, mttr=24, fleet={"nodes": 100})
    rate = 100 * (1 / 20000 + 1 / 10000)
    assert batsim_values(known) == {"SMTBF": pytest.approx(3600 / rate), "MTTR": 86400.0, "nodes": 100}
    assert batsim_values(Parameters(mtbf={"outage": 500}, fleet={"nodes": 10}))["SMTBF"] == 180_000.0
    read = json.loads(to_batsim(known, tmp_path / "b.json", nodes=50).read_text(encoding="utf-8"))
    assert read["nodes"] == 50
    words = to_batsim(known, tmp_path / "b.txt").read_text(encoding="utf-8").split()
    assert words[0::2] == ["--SMTBF", "--MTTR"]
    assert [float(word) for word in words[1::2]] == pytest.approx([3600 / rate, 86400.0])
    with pytest.raises(ArgumentError, match="the number of nodes is not known"):
        batsim_values(Parameters(mtbf=3))


def outages(log: rf.FailureLog) -> pd.DataFrame:
    """Outages that name a node, in order, in whole seconds."""
    named = log.events[log.events["node"].notna()]
    table = pd.DataFrame({"node": named["node"].astype(str), "start": named["start"], "end": named["end"]})
    for name in ("start", "end"):
        table[name] = table[name].dt.floor("s")
    return table.sort_values(["node", "start"], ignore_index=True)


def test_a_log_comes_back_from_a_trace(tmp_path: Path) -> None:
    log = rf.datasets.load("white")
    log = log.where(rack=["frame01", "frame02"])
    again = rf.read(to_fta(log, tmp_path / "trace"))
    before, after = outages(log), outages(again)
    before["end"] = before["end"].fillna(before["start"])
    pd.testing.assert_frame_equal(before, after, check_dtype=False)
    assert again.window == log.window
    assert again.n_nodes == log.n_nodes == int(again.population["declared"].sum())
    assert again.population["location"].astype(str).tolist() == log.population["rack"].astype(str).tolist()
    assert again.systems == ("white",)
    assert again.ttr().total_time == pytest.approx(log.ttr().total_time)


def test_a_simulated_log_comes_back_from_a_trace(tmp_path: Path) -> None:
    known = Parameters(name="zone 1", mtbf={"node": 300, "rack": 2000}, mttr=20)
    log = simulate_log(known, 2000.0, nodes=40, racks=4, rng=1)
    again = rf.read(to_fta(log, tmp_path / "trace"))
    assert len(again) == len(log)
    assert again.systems == ("zone 1",)
    one, two = outages(log), outages(again)
    assert (one["start"] == two["start"]).all()
    assert int(again.events["end_cut"].sum()) == int(log.events["end_cut"].sum())
    mean = rf.calibrate(again, period="all", parts=("mttr",)).mttr.mean
    assert mean is not None
    assert mean.value == pytest.approx(20.0, rel=0.2)


def test_overlapping_outages_of_a_trace_are_one(tmp_path: Path) -> None:
    log = make_log(
        [{"node": "a", "start": 10, "end": 20}, {"node": "a", "start": 15, "end": 17},
         {"node": "a", "start": 18, "end": 30}, {"node": "b", "start": 40, "end": None},
         {"node": None, "start": 50, "end": 60}],
        [{"node": "a"}, {"node": "b", "entered": 5}, {"node": "c"}],
    )  # fmt: skip
    again = rf.read(to_fta(log, tmp_path / "trace"))
    found = [
        (node, (end - start) / pd.Timedelta(hours=1)) for node, start, end in outages(again).itertuples(index=False)
    ]
    assert found == [("a", 20.0), ("b", 0.0)]
    assert again.n_nodes == 3
    assert (again.population.set_index("node").loc["b", "entered"] - again.window.start) == pd.Timedelta(hours=5)


def test_what_cannot_be_a_trace(tmp_path: Path) -> None:
    log = make_log([{"node": "a", "start": 1, "end": 2}])
    to_fta(log, tmp_path / "t")
    with pytest.raises(ArgumentError, match="is there already"):
        to_fta(log, tmp_path / "t")
    with pytest.raises(ArgumentError, match="cannot write"):
        to_fta(log, tmp_path / "no" / "t")
    with pytest.raises(DataError, match="knows no node"):
        to_fta(make_log([], []), tmp_path / "u")
    lives = make_log([], [{"node": "a"}], lifetimes=[{"node": "a", "duration": 3.0, "observed": True}])
    with pytest.raises(DataError, match="without dates"):
        to_fta(lives, tmp_path / "u")
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


TIMES = np.geomspace(0.5, 400.0, 25)


@pytest.mark.parametrize("name", sorted(SCIPY_FAMILIES))
def test_scipy_has_the_same_distribution(name: str) -> None:
    kind = family_named(name)
    names = kind.parameter_names()
    values = kind.from_free(kind.to_free(kind.start(3.0, 0.8)))
    fitted = FittedFamily(family=name, parameters=dict(zip(names, values.tolist(), strict=True)))
    frozen = scipy_distribution(fitted.family, fitted.parameters)
    assert frozen.sf(TIMES) == pytest.approx(fitted.distribution().sf(TIMES), rel=1e-9, abs=1e-300)
    assert frozen.pdf(TIMES) == pytest.approx(fitted.distribution().pdf(TIMES), rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("q", [-0.7, 0.0, 0.5, 1.0, 2.0])
def test_scipy_has_the_generalised_gamma_of_either_sign(q: float) -> None:
    fitted = FittedFamily(family="generalised_gamma", parameters={"mu": 3.0, "sigma": 0.9, "q": q})
    frozen = scipy_distribution(fitted.family, fitted.parameters)
    assert frozen.sf(TIMES) == pytest.approx(fitted.distribution().sf(TIMES), rel=1e-9)


def test_families_that_scipy_does_not_have() -> None:
    for name in set(FAMILIES) - set(SCIPY_FAMILIES):
        kind = family_named(name)
        values = kind.from_free(kind.to_free(kind.start(3.0, 1.6)))
        fitted = FittedFamily(family=name, parameters=dict(zip(kind.parameter_names(), values.tolist(), strict=True)))
        with pytest.raises(ArgumentError, match=f"scipy has no {name}"):
            scipy_distribution(fitted.family, fitted.parameters)
    assert isinstance(scipy.stats.expon(), type(scipy_distribution("exponential", {"rate": 1.0})))


# ------------------------------------------------------------------ simulation


def test_simulated_rates_are_those_asked_for() -> None:
    known = Parameters(mtbf={"node": 1000, "rack": 1500, "system": 700}, mttr=3, fleet={"nodes": 256, "racks": 16})
    log = simulate_log(known, 8766.0, rng=2)
    scopes = rf.incidents(log, 0).table["scope"].value_counts()
    for scope, expected in (("node", 256 * 8766 / 1003), ("rack", 16 * 8766 / 1500), ("system", 8766 / 700)):
        assert abs(scopes[scope] - expected) < 4 * np.sqrt(expected)
    table = log.events.sort_values(["node", "start"])
    same = (table["node"].astype(str) == table["node"].astype(str).shift(-1)).to_numpy()
    assert (table["start"].shift(-1)[same] >= table["end"][same]).all()  # a node that is down does not fail


def test_what_cannot_be_simulated() -> None:
    for known, options, message in [
        (Parameters(mtbf=3), {}, "the number of nodes is not known"),
        (Parameters(mttr=3), {"nodes": 3}, "no mean time between failures is known"),
        (Parameters(mtbf=3), {"nodes": 3, "span": "-1h"}, "span is -1 hours"),
        (Parameters(mtbf="1s"), {"nodes": 10**6}, "outages are too many"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            simulate_log(known, **options)  # type: ignore[arg-type]
