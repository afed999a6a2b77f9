"""Files of training clusters: TOML, the published program's YAML and JSON, calibrated parameters, bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError, ReadError
from relfit.base.text import number
from relfit.cli.app import main
from relfit.fleet.calibration import Mttr, Parameters, write_parameters
from relfit.fleet.calibration.schema import Fleet
from relfit.simulation.training import TrainingParameters, training_parameters
from relfit.simulation.training.parameters import RepeatedRepairs, Retirement
from relfit.simulation.training.training_simulation import assumed

# keys of the published program, as its own configuration file has them
PROGRAM = """
# cluster
job_size: 48
warm_standbys: 4
working_pool_size: 60
spare_pool_size: 8
job_length: 28800   # 20 days
random_failure_rate: 6.944444e-05
systematic_failure_rate_multiplier: 5.0
systematic_failure_fraction: 0.15
failure_distribution: exponential
weibull_shape: 1.0
lognormal_sigma: 1.0
enable_topology: false
rack_size: 8
diagnosis_probability: 1.0
diagnosis_uncertainty: 0.0
recovery_time: 20.0
host_selection_time: 3.0
preemption_wait_time: 20.0
auto_repair_time: 120.0
manual_repair_time: 2880.0
prob_auto_to_manual: 0.80
auto_repair_fail_prob: 0.40
manual_repair_fail_prob: 0.20
bad_server_regeneration: false
bad_server_regen_interval: 43200
seed: 42
adaptive_replications: true
confidence_level: 0.95
relative_accuracy: 0.05
num_replications: 10
max_replications: 50
"""


def written(tmp_path: Path, text: str, ending: str = ".toml") -> Path:
    path = tmp_path / f"cluster{ending}"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_published_programs_file_is_read_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, PROGRAM, ".yaml")
    params = rf.training.read_training(path)
    assert (params.job_size, params.seed, params.random_failure_rate) == (48, 42, 6.944444e-05)
    command = ["simulate", "training", str(path), "--program-semantics", "--runs", "12", "--seed", "3", "--json"]
    assert main(command) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["replications"] == 12
    assert document["seconds"] > 0.0
    assert "unit" not in document
    assert [document["units"][name] for name in ("total_training_time", "total_training_time_hrs")] == ["min", "h"]
    outputs = document["outputs"]
    assert set(outputs) >= {
        "total_training_time",
        "total_failures",
        "random_failures",
        "systematic_failures",
        "auto_repairs",
        "manual_repairs",
        "preemption_count",
        "host_selection_count",
        "total_recovery_time",
        "total_host_selection_time",
        "total_wait_time",
        "job_stall_count",
        "servers_retired",
        "etr",
        "avg_run",
    }
    assert set(outputs["etr"]) >= {"mean", "sd", "low", "high", "p5", "p50", "p95"}
    assert outputs["total_recovery_time"]["mean"] == pytest.approx(20.0 * outputs["total_failures"]["mean"])
    same = written(tmp_path, json.dumps({"job_size": 48, "seed": 42}), ".json")
    assert rf.training.read_training(same).seed == 42


def test_toml_with_tables(tmp_path: Path) -> None:
    text = """
    job_length = "20 days"
    [retirement]
    policy = "score"
    failure_penalty = 60
    [failure]
    family = "weibull"
    parameters = { shape = 0.7, scale = 2000.0 }
    [[jobs]]
    name = "first"
    job_size = 20
    job_length = 1000
    """
    params = rf.training.read_training(written(tmp_path, text))
    assert params.job_length == 28_800.0
    assert params.retirement.failure_penalty == 60.0
    assert params.all_jobs[0].name == "first"
    assert params.failure is not None


def test_calibrated_parameters(tmp_path: Path) -> None:
    known = Parameters(
        mtbf={"node": "2400h", "system": "1000h"},
        mttr={"quick": 2, "slow": 50, "share_quick": 0.2},
        bad_nodes={"fraction": 0.1, "factor": 4},
    )
    write_parameters(known, tmp_path / "params.toml")
    params = rf.training.read_training(written(tmp_path, 'calibrated = "params.toml"\njob_size = 64'))
    assert 1 / params.random_failure_rate == pytest.approx(2400 * 60 * 1.3)
    assert (params.auto_repair_time, params.manual_repair_time, params.prob_auto_to_manual) == (120, 2880, 0.8)
    assert params.cluster_failure_rate == pytest.approx(1 / 60_000)
    assert params.systematic_failure_rate_multiplier == 3.0
    assert (params.job_size, params.ages) == (64, "new")  # two classes of exponential lives have no age
    family = {"family": "weibull", "parameters": {"shape": 0.7, "scale": 2000}}
    write_parameters(Parameters(mtbf="2400h", failure=family), tmp_path / "params.toml")
    assert rf.training.read_training(written(tmp_path, 'calibrated = "params.toml"')).ages == "steady"
    assert rf.training.read_training(written(tmp_path, 'calibrated = "params.toml"\nages = "new"')).ages == "new"


FITTED = {"family": "lognormal", "parameters": {"meanlog": 1.0, "sdlog": 0.5}}  # 3.1 hours on average
KNOWN = Parameters(
    mtbf="600h",
    mttr={"mean": "7h", "node": "8h"},
    failure={"family": "weibull", "parameters": {"shape": 0.7, "scale": 900.0}},
    repair=FITTED,
)
SMALL = {"job_size": 30, "working_pool_size": 60, "spare_pool_size": 0, "job_length": "400 days", "recovery_time": 0}


def repair_hours(params: TrainingParameters) -> np.ndarray:
    """How long each automatic repair took."""
    trace = rf.simulate_training(params, n_replications=1, rng=1, trace=True).trace
    assert trace is not None
    own = trace[trace["server"] >= 0].sort_values(["server", "minute"], kind="stable")
    ends = own.groupby("server")["minute"].shift(-1)
    hours = (ends - own["minute"])[own["after"] == "auto_repair"] / 60.0
    return hours.dropna().to_numpy()


@pytest.mark.parametrize(
    ("keys", "mean", "spread"),
    [
        ({}, 8.0, 0.5),  # the calibrated mean of a node, not that of the fit
        ({"auto_repair_time": "4h"}, 4.0, 0.5),
        ({"auto_repair": {"family": "lognormal", "parameters": {"meanlog": 2.0, "sdlog": 0.2}}}, 7.54, 0.2),
        ({"auto_repair": FITTED, "auto_repair_time": "2h"}, 2.0, 0.5),
        ({"repeated_repairs": {"auto_repair_time": ["5h"]}}, 5.0, 1.28),  # exponential: pi over the root of 6
    ],
)
def test_keys_of_repairs_take_precedence_over_calibrated_ones(keys: dict[str, Any], mean: float, spread: float) -> None:
    first = training_parameters({**SMALL, **keys}, calibrated=KNOWN)
    for params in (first, training_parameters(SMALL, calibrated=KNOWN).but(**keys)):
        hours = repair_hours(params)
        assert hours.mean() == pytest.approx(mean, rel=0.06)
        assert np.log(hours).std() == pytest.approx(spread, rel=0.08)


KINDS = KNOWN.model_copy(update={"mttr": Mttr(mean="7h", node="8h", quick="3h", slow="24h", share_quick=0.75)})


def times_in_repair(params: TrainingParameters) -> np.ndarray:
    """Hours from a failure until the server is back, automatic and manual repair together."""
    trace = rf.simulate_training(params, n_replications=1, rng=1, trace=True).trace
    assert trace is not None
    own = trace[trace["server"] >= 0].sort_values(["server", "minute"], kind="stable")
    repairing = own["after"].isin(["auto_repair", "manual_repair"]).to_numpy()
    ends = own.groupby("server")["minute"].shift(-1)
    hours = ((ends - own["minute"]) / 60.0).to_numpy()
    number = np.cumsum((own["after"] == "auto_repair").to_numpy())[repairing]
    total = np.bincount(number, hours[repairing])[1:]
    return total[np.isfinite(total)]


@pytest.mark.parametrize("known", [KNOWN, KINDS, KINDS.model_copy(update={"repair": None})])
def test_repairs_take_the_calibrated_mean_of_a_node_whatever_their_kinds(known: Parameters) -> None:
    """The kinds add to 0.75 x 3 + 0.25 x 24 = 8.25 h, the mean of a node is 8 h."""
    params = training_parameters({**SMALL, "job_length": "2000 days"}, calibrated=known)
    mean = (params.auto_repair_time + params.prob_auto_to_manual * params.manual_repair_time) / 60.0
    assert mean == pytest.approx(8.0, rel=1e-12)
    hours = times_in_repair(params)
    assert hours.mean() == pytest.approx(8.0, abs=3.0 * hours.std() / np.sqrt(hours.size))


@pytest.mark.parametrize(
    ("keys", "mean", "manual"),
    [
        ({"auto_repair_time": "4h"}, 4.0, 0.0),  # all repairs
        ({"auto_repair": FITTED}, 3.08, 0.0),
        ({"repeated_repairs": {"auto_repair_time": ["5h"]}}, 5.0, 0.0),
        ({"auto_repair_time": "4h", "manual_repair_time": "10h"}, 6.5, 0.25),  # each is its kind
        ({"auto_repair_time": "4h", "prob_auto_to_manual": 0.5}, 4.0 + 0.5 * 21.0 * 8.0 / 8.25, 0.5),
        ({"manual_repair_time": "10h"}, 3.0 * 8.0 / 8.25 + 2.5, 0.25),
    ],
)
def test_a_mean_of_automatic_repairs_alone_is_that_of_all_repairs(
    keys: dict[str, Any], mean: float, manual: float
) -> None:
    for params in (
        training_parameters({**SMALL, **keys}, calibrated=KINDS),
        training_parameters(SMALL, calibrated=KINDS).but(**keys),
    ):
        assert params.prob_auto_to_manual == manual
        hours = times_in_repair(params)
        assert hours.mean() == pytest.approx(mean, abs=3.0 * hours.std() / np.sqrt(hours.size))


def test_no_repair_fails_where_no_server_is_bad() -> None:
    """A failed repair leaves a bad server bad; the defaults of AIReSim, 40 % and 20 %, are for bad servers."""
    for known in (KNOWN, KINDS):
        params = training_parameters(SMALL, calibrated=known)
        result = rf.simulate_training(params, n_replications=2, rng=1)
        assert result.outputs.loc["failed_repairs", "mean"] == 0.0
        assert result.outputs.loc["successful_repairs", "mean"] > 100.0
        assert "fail_prob" not in result.findings[-1]
    bad = training_parameters({**SMALL, "systematic_failure_fraction": 0.2}, calibrated=KINDS)
    result = rf.simulate_training(bad, n_replications=2, rng=1)
    assert result.outputs.loc["failed_repairs", "mean"] > 0.0
    assert "40 % of automatic repairs leave a bad server bad (auto_repair_fail_prob)" in result.findings[-1]


def test_a_path_is_simulated_as_its_file(tmp_path: Path) -> None:
    keys = {"job_size": 8, "working_pool_size": 12, "spare_pool_size": 0, "job_length": 10_000}
    path = written(tmp_path, "".join(f"{name} = {value}\n" for name, value in keys.items()))
    runs = [rf.simulate_training(each, n_replications=3, rng=1).replications for each in (keys, path, str(path))]
    assert runs[0].equals(runs[1])
    assert runs[0].equals(runs[2])
    with pytest.raises(ReadError, match="missing"):
        rf.simulate_training(tmp_path / "missing.toml")
    for attempt in (rf.simulate_training, training_parameters):
        with pytest.raises(ArgumentError, match=r"are a mapping, not a int.*read_training"):
            attempt(64)


def test_standbys_that_there_cannot_be_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys: dict[str, Any] = {"job_size": 8, "spare_pool_size": 0, "job_length": 1000, "warm_standbys": 5}
    said = "Of 5 warm standbys there can only be 1: the pools have 9 servers, of which the job needs 8."
    assert said in rf.simulate_training({**keys, "working_pool_size": 9}, n_replications=1).findings
    enough = rf.simulate_training({**keys, "working_pool_size": 13}, n_replications=1)
    assert not any("standbys there can" in text for text in enough.findings)
    path = written(tmp_path, "".join(f"{name} = {value}\n" for name, value in {**keys, "working_pool_size": 9}.items()))
    assert main(["simulate", "training", str(path), "--runs", "2"]) == 0
    brief = " ".join(capsys.readouterr().out.split())
    assert said in brief
    assert "stall time" not in brief
    assert main(["simulate", "training", str(path), "--runs", "2", "--details"]) == 0
    shown = capsys.readouterr().out
    assert "total stall time (min)" in shown
    assert all(name in shown for name in ("server failures", "repairs that cure", "repairs without cure"))
    assert "A repair without cure leaves a bad server bad" in " ".join(shown.split())


def test_a_rate_without_a_unit_that_fails_servers_all_day_is_said() -> None:
    """0.01, meant per day as the default, is per minute: a failure every 100 minutes and server."""
    keys: dict[str, Any] = {"job_size": 2, "working_pool_size": 4, "spare_pool_size": 0, "job_length": 1000}
    said = "A server fails every 1.67 hours: random_failure_rate is 0.01 per minute"
    for rate, told in ((0.01, True), ("0.01 per day", False), (1.1 / 1440, True), (0.9 / 1440, False)):
        run = rf.simulate_training({**keys, "random_failure_rate": rate}, n_replications=1)
        assert any("random_failure_rate is " in text for text in run.findings) == told
        assert any(text.startswith(said) for text in run.findings) == (rate == 0.01)
    assert not any("random_failure_rate is " in text for text in rf.simulate_training(keys, n_replications=1).findings)


def test_racks_are_as_large_as_the_calibrated_ones() -> None:
    """A rack of 16 fails as a whole: by the default of 8 the job lost half as many servers."""
    known = Parameters(
        mtbf={"node": "1e7h", "rack": "2000h", "group": "15d"},
        mttr="5h",
        fleet={"nodes": 384, "racks": 24, "group_share": 1 / 24},
    )
    keys = {"job_size": 48, "working_pool_size": 96, "spare_pool_size": 0, "job_length": "100 days", "warm_standbys": 0}
    hit = known.model_copy(update={"fleet": known.fleet.model_copy(update={"rack_share": 0.15})})  # 2.4 of 16
    run = rf.simulate_training(training_parameters(keys, calibrated=hit), n_replications=9, rng=2, trace=True)
    assert run.trace is not None
    struck = run.trace[run.trace["after"] == "rack_down"].groupby(["replication", "minute"]).size()
    assert set(struck) == {2, 3}
    of_job = run.outputs.loc["rack_failures", "mean"]
    assert f"server failures (0 systematic), {number(of_job)} rack failures, " in " ".join(run.findings)
    assert struck.mean() == pytest.approx(2.4, abs=0.1)
    for own, size in (({}, 16), ({"rack_size": 4}, 4)):
        params = training_parameters({**keys, **own}, calibrated=known)
        run = rf.simulate_training(params, n_replications=3, rng=2, trace=True)
        assert run.trace is not None
        struck = run.trace[run.trace["after"] == "rack_down"].groupby(["replication", "minute"]).size()
        assert struck.size > 5
        assert struck.median() == size
        assert "Left out: failures of groups of nodes, one every 15 days, of 16 nodes on average (mtbf.group)." in (
            run.findings
        )
    without = training_parameters(keys, calibrated=known.model_copy(update={"fleet": Fleet(nodes=384)}))
    assert "racks have 8 servers (rack_size)" in assumed(without)
    assert "racks have" not in assumed(training_parameters(keys, calibrated=known))


def test_the_failure_rate_is_assumed_where_no_lives_are_stated() -> None:
    known = Parameters(mtbf="1000h", failure={"family": "exponential", "parameters": {"rate": 1e-3}})
    assert "(random_failure_rate)" in assumed(training_parameters({}))
    assert "(random_failure_rate)" not in assumed(training_parameters({}, calibrated=known))


def test_keys_of_failures_take_precedence_over_calibrated_ones() -> None:
    """Servers run for 30 times 400 days; the rest is their mean time between failures."""
    weibull = {"failure": {"family": "weibull", "parameters": {"shape": 1.0, "scale": 150.0}}}
    for keys, hours in (({}, 600.0), (weibull, 150.0), ({"random_failure_rate": "1 per 300 h"}, 300.0)):
        params = training_parameters(SMALL, calibrated=KNOWN).but(**keys)
        failures = rf.simulate_training(params, n_replications=4, rng=2).outputs.loc["total_failures", "mean"]
        assert 30 * 400 * 24 / failures == pytest.approx(hours, rel=0.08)
    drawn = training_parameters({"failure_distribution": "weibull", "weibull_shape": 2.0}, calibrated=KNOWN)
    assert (drawn.failure, drawn.weibull_shape) == (None, 2.0)
    assert 1 / drawn.random_failure_rate == pytest.approx(600 * 60)


@pytest.mark.parametrize(
    ("keys", "missing"),
    [
        ({"manual_repair_time": "4h"}, "prob_auto_to_manual"),
        ({"repeated_repairs": {"manual_repair_time": ["4h"]}}, "prob_auto_to_manual"),
        ({"auto_repair_fail_prob": 0.2}, "systematic_failure_fraction"),
        ({"weibull_shape": 0.7}, "failure_distribution"),
    ],
)
def test_keys_without_an_effect_beside_calibrated_ones_are_refused(keys: dict[str, Any], missing: str) -> None:
    for attempt in (
        lambda: training_parameters(keys, calibrated=KNOWN),
        lambda: training_parameters(calibrated=KNOWN).but(**keys),
    ):
        with pytest.raises(ArgumentError, match=f"has no effect.*give {missing} too"):
            attempt()
    values = {"prob_auto_to_manual": 0.5, "systematic_failure_fraction": 0.1, "failure_distribution": "weibull"}
    assert training_parameters({**keys, **values}, calibrated=KNOWN).prob_auto_to_manual == 0.5


def test_a_mapping_names_calibrated_parameters(tmp_path: Path) -> None:
    write_parameters(KNOWN, tmp_path / "params.toml")
    params = training_parameters({**SMALL, "calibrated": str(tmp_path / "params.toml")})
    assert params == training_parameters(SMALL, calibrated=KNOWN)
    assert rf.simulate_training({**SMALL, "calibrated": KNOWN}, n_replications=1).parameters == params
    with pytest.raises(ArgumentError, match="calibrated: this key is unknown; write training_parameters"):
        TrainingParameters(calibrated="params.toml")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"recovery_tme": 10}, "recovery_tme: this key is unknown; did you mean recovery_time?"),
        ({"retirement": {"max_failure": 3}}, "retirement.max_failure: .*did you mean max_failures"),
        ({"auto_repair_fail_prob": 1.4}, "auto_repair_fail_prob: this cannot be 1.4; it must be 1 or less"),
        ({"random_failure_rate": -1e-5}, "random_failure_rate: this cannot be -1e-05"),
        ({"job_length": 0}, "job_length: this cannot be 0"),
        ({"job_size": 5000}, "job_size: the job needs 5000 servers, both pools have 4360"),
        ({"job_size": 2.5}, "job_size: .* whole number"),
        ({"minimum_size": 5000}, "minimum_size"),
        ({"recovery_time": float("nan")}, "recovery_time: this cannot be nan"),
        ({"recovery_time": "3 sheep"}, "recovery_time: .*sheep"),
        ({"manual_hours": (18, 8)}, "manual_hours: manual repairs would never go on"),
        ({"return_borrowed": "later"}, "return_borrowed: this cannot be 'later'"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        training_parameters(values)


def test_the_program_needs_room_for_its_standbys() -> None:
    with pytest.raises(ArgumentError, match=r"working_pool_size: 4100 is below job_size \+ warm_standbys \(4112\)"):
        TrainingParameters(working_pool_size=4100).as_program()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.yaml", "job_size: [", "not YAML: while parsing"),
        ("a.yaml", "- 1\n- 2", "table of names and values"),
        ("a.toml", "job_size = ", "line 1: this is not TOML"),
        ("a.toml", "job_sze = 3", "did you mean job_size"),
        ("a.txt", "job_size = 3", "does not end in"),
        ("a.toml", "calibrated = 3", "name a parameter file"),
    ],
)
def test_files_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ReadError, match=message):
        rf.training.read_training(tmp_path / name)
    assert main(["simulate", "training", str(tmp_path / name)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_file_of_calibrated_parameters_is_no_training_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_parameters(KNOWN, tmp_path / "p.toml")
    assert main(["simulate", "training", str(tmp_path / "p.toml")]) == 2
    told = capsys.readouterr().err
    assert "this is a file of calibrated parameters" in told
    assert 'with the line calibrated = "p.toml"' in told


def test_short_times_have_enough_digits() -> None:
    short = {"job_size": 4, "working_pool_size": 8, "job_length": 30, "random_failure_rate": 0, "warm_standbys": 0}
    runs = rf.simulate_training(short, n_replications=2)
    assert runs.headline.startswith("training takes 0.55 h (0.55-0.55): effective")


def test_the_command_shows_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, PROGRAM, ".yaml")
    trace, table = tmp_path / "trace.parquet", tmp_path / "runs.csv"
    command = ["simulate", "training", str(path), "--runs", "2", "--trace", str(trace), "--out", str(table)]
    assert main([*command, "--plot", str(tmp_path / "figures.png")]) == 0
    assert (tmp_path / "figures.png").stat().st_size > 1000
    text = capsys.readouterr().out
    assert text.startswith("training takes")
    assert "effective training ratio" in text
    assert "not of the parameters themselves" in " ".join(text.split())
    assert trace.stat().st_size > 1000
    assert "total_training_time" in table.read_text(encoding="utf-8")
    assert main(["simulate", "training", str(path), "--accuracy", "2"]) == 2


@pytest.mark.parametrize(
    "text", ["0.0125 per day", "0.0125/day", "1 per 80 days", "once in 80 days", "87.5 per 7000 d"]
)
def test_a_rate_is_text_with_a_unit(tmp_path: Path, text: str) -> None:
    lines = [f'{name} = "{text}"' for name in ("random_failure_rate", "rack_failure_rate", "corruption_rate")]
    params = rf.training.read_training(written(tmp_path, "\n".join(lines)))
    assert params.random_failure_rate == pytest.approx(1 / (80 * 1440))
    assert params.rack_failure_rate == params.corruption_rate == params.random_failure_rate


def test_another_rate_names_the_forms() -> None:
    for text in ("often", "1 per moon", "1 per 0 days", "80 days"):
        with pytest.raises(ArgumentError, match=r"is not a rate; write '0\.0125 per day', '0\.0125/day' or '1 per 80"):
            TrainingParameters(random_failure_rate=text)
    with pytest.raises(ArgumentError, match="systematic_failure_rate_multiplier"):
        TrainingParameters(systematic_failure_rate_multiplier="5 per day")


def test_unknown_keys_lead_to_the_right_one() -> None:
    with pytest.raises(ArgumentError) as error:
        TrainingParameters(mtbf="80 days")
    assert str(error.value) == 'mtbf: this key is unknown; write random_failure_rate, as "1 per 80 days"'
    with pytest.raises(ArgumentError) as error:
        TrainingParameters(foozle=1)
    assert str(error.value) == "foozle: this key is unknown; the keys are in docs/training.md"


def test_what_was_not_set_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'job_size = 8\nworking_pool_size = 9\njob_length = "2 days"\nrandom_failure_rate = "1 per 80 days"\n'
    text += 'recovery_time = 20\nauto_repair_time = "2 days"\n'
    assert main(["simulate", "training", str(written(tmp_path, text)), "--runs", "2"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "Not set, so as in AIReSim: 15 % of servers fail 6 times as often (systematic_failure_fraction), "
        "40 % of automatic repairs leave a bad server bad (auto_repair_fail_prob), "
        "80 % of automatic repairs lead to a manual one (prob_auto_to_manual), "
        "manual repairs take 48 hours (manual_repair_time), "
        "20 % of manual ones leave a bad server bad (manual_repair_fail_prob)."
    ) in shown
    assert "No work is lost at a failure: checkpoint_every is 0." in shown
    assert "random_failure_rate" not in shown
    text += "systematic_failure_fraction = 0\nprob_auto_to_manual = 0\ncheckpoint_every = 30\n"
    assert main(["simulate", "training", str(written(tmp_path, text)), "--runs", "2"]) == 0
    shown = capsys.readouterr().out
    assert "Not set" not in shown
    assert "No work is lost" not in shown


def test_the_page_has_the_defaults() -> None:
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    lines = page.split("| keys | meaning |")[1].split("\n\n")[0].splitlines()[2:]
    rows = [line.strip("| ").split(" | ") for line in lines]
    n = 0
    for keys, _, shown in rows:
        table, _, names = keys.rpartition("`: ")
        model = {"": TrainingParameters, "`[retirement]": Retirement, "`[repeated_repairs]": RepeatedRepairs}[table]
        fields = [
            name for name in re.findall(r"`([^`]+)`", f"`{names}" if table else names) if not name.startswith("[")
        ]
        values = shown.split("; ") if "; " in shown else [shown] * len(fields)
        for name, text in zip(fields, values, strict=True):
            default = model.model_fields[name].default
            value: Any = {"none": None, "yes": True, "no": False}.get(text, text)
            if isinstance(default, tuple):
                value = json.loads(text)
            assert getattr(model(**{name: value}), name) == default, name
            n += 1
    assert n > 50


def test_a_name_that_ends_in_a_slash_is_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = 'job_size = 8\nworking_pool_size = 9\njob_length = "2 days"\n'
    command = ["simulate", "training", str(written(tmp_path, text)), "--runs", "2", "--out"]
    assert main([*command, f"{tmp_path}/tables/"]) == 0
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == ["outputs.csv", "runs.csv"]
    assert main([*command, str(tmp_path / "other")]) == 2
    assert "or name a folder that exists or ends in /" in capsys.readouterr().err
    assert main([*command, f"{tmp_path}/not/there/"]) == 2
    assert not (tmp_path / "other").exists()
