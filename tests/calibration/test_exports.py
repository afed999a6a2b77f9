"""What other tools read: AIReSim's YAML, BatSim's options, traces of the Failure Trace Archive, scipy."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import relfit as rf
from relfit.base.errors import ArgumentError, DataError
from relfit.cli.calibrating import _left_out
from relfit.fitting.families import FAMILIES, family_named
from relfit.fleet.calibration import FittedFamily, Parameters, scipy_distribution, to_airesim, to_batsim, to_fta
from relfit.fleet.calibration.exports import AIRESIM_KEYS, SCIPY_FAMILIES, batsim_values
from relfit.simulation import simulate_log
from relfit.simulation.training import read_training, simulate_training
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
            "auto_repair_fail_prob": 1.0,
            "manual_repair_fail_prob": 1.0,
            "failure_distribution": "exponential",
            "auto_repair_time": 120.0,
            "manual_repair_time": 2880.0,
            "prob_auto_to_manual": 0.8,
        }
    )
    # YAML takes 7e-06 without a point for text
    assert all(isinstance(value, float) for name, value in read.items() if name != "failure_distribution")


def airesim_failures(text: str, servers: int, minutes: float, rng: np.random.Generator) -> int:
    """Failures of a job on all servers, as AIReSim reads its file: every restart draws the lives of all servers anew.

    A repair makes a bad server good unless it fails; the job goes on after its recovery time, and the repaired server
    is back by then, so that the number of servers stays.
    """
    read = yaml.safe_load(text)
    rate, factor = read["random_failure_rate"], 1.0 + read.get("systematic_failure_rate_multiplier", 5.0)
    bad = np.arange(servers) < round(read["systematic_failure_fraction"] * servers)
    fails = (read.get("auto_repair_fail_prob", 0.4), read.get("manual_repair_fail_prob", 0.2))
    shape = read["weibull_shape"] if read["failure_distribution"] == "weibull" else 1.0
    mean = np.where(bad, 1.0 / (rate * factor), 1.0 / rate)
    clock, failures = 0.0, 0
    while True:
        lives = mean / math.gamma(1.0 + 1.0 / shape) * rng.standard_exponential(servers) ** (1.0 / shape)
        hit = int(lives.argmin())
        clock += float(lives[hit])
        if clock > minutes:
            return failures
        failures += 1
        manual = rng.random() < read["prob_auto_to_manual"]
        if bad[hit] and rng.random() >= fails[int(manual)]:
            bad[hit], mean[hit] = False, 1.0 / rate


def test_airesim_gives_the_rate_of_bad_nodes_back(tmp_path: Path) -> None:
    servers, hours = 400, 8766.0
    known = Parameters(
        mtbf=4000.0, mttr={"quick": 2, "slow": 50, "share_quick": 0.2}, bad_nodes={"fraction": 0.05, "factor": 5}
    )
    text = to_airesim(known, tmp_path / "a.yaml").read_text(encoding="utf-8")
    expected = servers * hours / 4000.0
    runs = [airesim_failures(text, servers, 60.0 * hours, np.random.default_rng(i)) for i in range(3)]
    assert np.mean(runs) == pytest.approx(expected, abs=3.0 * np.sqrt(expected / 3))
    assert "# Repairs are set to fail" in text


def test_airesim_repairs_of_one_kind_take_their_mean(tmp_path: Path) -> None:
    known = Parameters(mtbf={"node": 4000.0}, mttr={"mean": 3.0})
    read = yaml.safe_load(to_airesim(known, tmp_path / "a.yaml").read_text(encoding="utf-8"))
    assert read["auto_repair_time"] == pytest.approx(180.0)
    assert read["prob_auto_to_manual"] == 0.0


def test_airesim_repairs_of_two_kinds_take_the_mean_of_a_node(tmp_path: Path) -> None:
    """The kinds add to 0.75 x 3 + 0.25 x 24 = 8.25 h, the mean of a node is 6 h."""
    kinds = {"mean": 7.0, "node": 6.0, "quick": 3.0, "slow": 24.0, "share_quick": 0.75}
    text = to_airesim(Parameters(mtbf=4000.0, mttr=kinds), tmp_path / "a.yaml").read_text(encoding="utf-8")
    read = yaml.safe_load(text)
    mean = read["auto_repair_time"] + read["prob_auto_to_manual"] * read["manual_repair_time"]
    assert mean == pytest.approx(6.0 * 60.0, rel=1e-12)
    assert read["manual_repair_time"] / read["auto_repair_time"] == pytest.approx(21.0 / 3.0)


def test_airesim_gives_the_rate_of_a_fitted_family_back(tmp_path: Path) -> None:
    servers, hours = 200, 8766.0
    fitted = {"family": "weibull", "parameters": {"shape": 0.6, "scale": 900.0}}
    known = Parameters(mtbf={"node": 900 * math.gamma(1 + 1 / 0.6), "system": 300}, mttr=5, failure=fitted)
    text = to_airesim(known, tmp_path / "a.yaml").read_text(encoding="utf-8")
    expected = servers * hours / known.mtbf.node.value
    found = airesim_failures(text, servers, 60.0 * hours, np.random.default_rng(1))
    assert found == pytest.approx(expected, abs=3.0 * np.sqrt(expected))
    assert "weibull_shape" not in text
    assert "draws all times to failure again at each restart" in text
    assert "Failures of scope system are left out" in text


@pytest.mark.parametrize("bad", [{}, {"bad_nodes": {"fraction": 0.05, "factor": 5}}])
def test_the_training_simulator_reads_the_file_and_gives_the_rate_back(tmp_path: Path, bad: dict[str, Any]) -> None:
    known = Parameters(mtbf=4000.0, mttr={"quick": 2, "slow": 50, "share_quick": 0.2}, **bad)
    sizes = {"job_size": 400, "working_pool_size": 480, "spare_pool_size": 20, "warm_standbys": 40}
    path = to_airesim(known, tmp_path / "a.yaml", **sizes, job_length=100 * 1440, num_replications=20, seed=1)
    runs = simulate_training(read_training(path), program_semantics=True).outputs.loc["total_failures", "mean"]
    expected = 400 * 2400.0 / 4000.0
    # bad servers are in repair more often than others: what replaces them fails less
    assert runs == pytest.approx(expected, abs=3.0 * np.sqrt(expected / 20) + (0.03 * expected if bad else 0.0))


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


def batsim_run(values: dict[str, float], hours: float, rng: np.random.Generator) -> tuple[int, float]:
    """Failures, and the share of node-hours down, of nodes that fail as BatSim has it.

    Exponential gaps of mean SMTBF, each on a node drawn from all; one on a node that is down is ignored; exponential
    repairs of mean MTTR.
    """
    nodes, now, end, failures, down = int(values["nodes"]), 0.0, 3600.0 * hours, 0, 0.0
    back = np.zeros(nodes)
    while True:
        now += rng.exponential(values["SMTBF"])
        if now > end:
            return failures, down / (nodes * end)
        node = int(rng.integers(nodes))
        if back[node] <= now:
            back[node] = now + rng.exponential(values["MTTR"])
            failures, down = failures + 1, down + min(back[node], end) - now


def fleet_log(hours: float, rng: np.random.Generator) -> tuple[rf.FailureLog, int, float]:
    """Nodes, racks and the whole system fail, the wider the longer; the node outages and their hours are counted."""
    rows, count, total = [], 0, 0.0
    for scope, units, mtbf, mttr in (("node", 80, 1500.0, 2.0), ("rack", 4, 900.0, 40.0), ("system", 1, 1200.0, 30.0)):
        for unit in range(units):
            now = float(rng.exponential(mtbf))
            while now < hours:
                time = float(rng.exponential(mttr))
                hit = 1 if scope == "node" else 20 if scope == "rack" else 80
                count, total = count + hit, total + hit * min(time, hours - now)
                if scope == "system":
                    rows.append({"node": None, "start": now, "end": now + time, "scope": "system"})
                else:
                    names = [unit] if scope == "node" else range(20 * unit, 20 * unit + 20)
                    rows += [{"node": f"n{i}", "start": now, "end": now + time, "scope": "node"} for i in names]
                now += time + float(rng.exponential(mtbf))
    people = [{"node": f"n{i}", "rack": f"r{i // 20}"} for i in range(80)]
    rows = [{**row, "end": min(row["end"], hours), "end_cut": row["end"] >= hours} for row in rows]
    return make_log(rows, people, window=(0, hours)), count, total


def test_batsim_gives_outages_and_hours_down_back() -> None:
    log, count, total = fleet_log(17_532.0, np.random.default_rng(3))
    known = rf.calibrate(log, period="all", parts=("mtbf", "mttr"), window=0, group="rack", at="long run")
    for scope, mean, off in (("node", 2.0, 0.3), ("rack", 40.0, 0.4), ("system", 30.0, 0.6)):
        assert known.values()[f"mttr.{scope}"] == pytest.approx(mean, rel=off)
    values = batsim_values(known)
    share = total / (80 * 17_532.0)
    rng = np.random.default_rng(4)
    runs = np.array([batsim_run(values, 17_532.0, rng) for _ in range(4)])
    assert runs[:, 0].mean() == pytest.approx(count, abs=3.0 * np.sqrt(count / 4) + 0.01 * count)
    assert runs[:, 1].mean() == pytest.approx(share, rel=0.1)
    per_incident = known.mttr.mean.value / (known.mttr.mean.value + known.mtbf.outage.value)
    assert per_incident < 0.5 * share  # what a mean over incidents would have given


def outages(log: rf.FailureLog) -> pd.DataFrame:
    """Outages that name a node, in order, in whole seconds."""
    named = log.events[log.events["node"].notna()]
    table = pd.DataFrame({"node": named["node"].astype(str), "start": named["start"], "end": named["end"]})
    for name in ("start", "end"):
        table[name] = table[name].dt.floor("s")
    return table.sort_values(["node", "start"], ignore_index=True)


def test_a_log_comes_back_from_a_trace(tmp_path: Path) -> None:
    log = rf.datasets.load("white")
    log = log.where(rack=["frame01", "frame02"]).where(scope="node")
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
    mean = rf.calibrate(again, period="all", parts=("mttr",), at="long run").mttr.mean
    assert mean is not None
    assert mean.value == pytest.approx(20.0, rel=0.2)


def test_overlapping_outages_of_a_trace_are_one(tmp_path: Path) -> None:
    log = make_log(
        [
            {"node": "a", "start": 10, "end": 20},
            {"node": "a", "start": 15, "end": 17},
            {"node": "a", "start": 18, "end": 30},
            {"node": "b", "start": 40, "end": None},
            {"node": None, "start": 50, "end": 60},
        ],
        [{"node": "a"}, {"node": "b", "entered": 5}, {"node": "c"}],
    )
    again = rf.read(to_fta(log, tmp_path / "trace"))
    found = [
        (node, (end - start) / pd.Timedelta(hours=1)) for node, start, end in outages(again).itertuples(index=False)
    ]
    assert found == [("a", 20.0), ("b", 0.0)]
    assert again.n_nodes == 3
    assert (again.population.set_index("node").loc["b", "entered"] - again.window.start) == pd.Timedelta(hours=5)


def test_an_outage_of_a_whole_system_is_one_of_every_node_in_a_trace(tmp_path: Path) -> None:
    everywhere: dict[str, Any] = {"node": None, "scope": "system"}
    log = make_log(
        [
            {"node": "a", "start": 10, "end": 20},
            {**everywhere, "start": 15, "end": 25},
            {**everywhere, "start": 50, "end": None},
            {**everywhere, "system": "t", "start": 70, "end": 80},
            {"node": None, "scope": "group", "start": 60, "end": 61},
        ],
        [{"node": "a"}, {"node": "b", "entered": 5}, {"node": "new", "entered": 40}, {"node": "u", "system": "t"}],
    )
    folder = to_fta(log, tmp_path / "trace")
    table = outages(rf.read(folder))
    start = (table["start"] - log.window.start) / pd.Timedelta(hours=1)
    hours = (table["end"] - table["start"]) / pd.Timedelta(hours=1)
    assert list(zip(table["node"], start, hours, strict=True)) == [
        *[("a", 10.0, 15.0), ("a", 50.0, 0.0), ("b", 15.0, 10.0), ("b", 50.0, 0.0), ("new", 50.0, 0.0)],
        ("u", 70.0, 10.0),
    ]
    (other := tmp_path / "other").mkdir()
    assert folder.stat().st_mode == other.stat().st_mode  # as for any new folder
    assert (
        _left_out(log.events)
        == ", without causes and 1 record of groups without a node, for which the format has no place"
    )


def test_what_cannot_be_a_trace(tmp_path: Path) -> None:
    log = make_log([{"node": "a", "start": 1, "end": 2}])
    to_fta(log, tmp_path / "t")
    with pytest.raises(ArgumentError, match="is there already"):
        to_fta(log, tmp_path / "t")
    with pytest.raises(ArgumentError, match="cannot write"):
        to_fta(log, tmp_path / "no" / "t")
    with pytest.raises(DataError, match="names no node"):
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


def test_hostile_names_in_a_trace(tmp_path):
    """A very long name costs its own length, not that of every row; nothing steers a terminal."""
    names = ["x" * 50_000, "\x1b[2J\x1b[31mred", "\u202egnp.exe", "a\tb", "../../etc/passwd", "=1+1"]
    frame = pd.DataFrame({"node": names * 50, "start": pd.date_range("2024-01-01", periods=300, freq="h")})
    frame["end"] = frame["start"] + pd.Timedelta("10min")
    folder = to_fta(rf.read(frame), tmp_path / "trace")
    rows = 2 * len(frame)
    assert sum(file.stat().st_size for file in folder.iterdir()) < 50_000 * (rows / len(names) + 10) + rows * 1000
    text = "".join(file.read_text(encoding="utf-8") for file in folder.iterdir())
    assert not any(sign in text for sign in ("\x1b", "\u202e"))
    assert [file.name for file in tmp_path.iterdir()] == ["trace"]


def test_two_writers_of_traces_at_once(tmp_path):
    log = rf.datasets.load("white").between(since="2004-09-01")
    with ThreadPoolExecutor(4) as pool:
        written = list(pool.map(lambda i: to_fta(log, tmp_path / f"t{i}"), range(8)))
    assert len({(place / "event_trace.tab").read_bytes() for place in written}) == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"t{i}" for i in range(8)]
