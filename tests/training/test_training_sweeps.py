"""Answers for designers, figures, and the loop from a simulated log back to its parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relfit as rf
from relfit import plotting
from relfit.base.errors import ArgumentError
from relfit.simulation.training import cheapest_design, failure_log, smallest_pool, training_parameters

SMALL: dict[str, Any] = {
    "job_size": 40,
    "warm_standbys": 2,
    "working_pool_size": 44,
    "spare_pool_size": 10,
    "job_length": "30 days",
    "random_failure_rate": 0.05 / 1440,
}


def test_common_random_numbers_make_differences_precise() -> None:
    runs = {
        rng: [
            rf.simulate_training({**SMALL, "recovery_time": time}, n_replications=30, rng=rng).whole
            for time in (20, 21)
        ]
        for rng in (1, 2)
    }
    time = "total_training_time"
    paired = (runs[1][1][time] - runs[1][0][time]).std()
    apart = (runs[1][1][time] - runs[2][0][time]).std()
    assert paired < 0.5 * apart


@pytest.mark.verify
def test_the_papers_second_figure(tmp_path: Path) -> None:
    """32 extra servers suffice: with them, waiting no longer matters (hours as in the notes on the paper's figure)."""
    grid = {"preemption_wait_time": [10, 20, 30], "working_pool_size": [4128, 4160, 4192]}
    campaign = rf.campaigns.Campaign(run="training", parameters=grid, replications=40, seed=1)
    result = rf.campaigns.sweep(campaign, tmp_path / "store")
    hours = result.heat_map("working_pool_size", "preemption_wait_time") / 60.0
    assert hours.loc[4128].tolist() == pytest.approx([10_089, 10_330, 10_654], rel=0.006)
    assert np.ptp(hours.loc[4160]) < 30
    assert np.ptp(hours.loc[4192]) < 5


def test_the_smallest_pool_and_the_cheapest_design() -> None:
    answer = smallest_pool(SMALL, n_replications=6, most=60, tolerance=0.02)
    table = answer.designs
    best = answer.parameters
    assert best is not None
    limit = table["hours"].iloc[-1] * 1.02
    assert table.set_index("working_pool_size").loc[best.working_pool_size, "hours"] <= limit
    assert not table[table["working_pool_size"] == best.working_pool_size - 1]["suffices"].any()
    assert plotting.plot(answer).get_ylabel().startswith("effective training ratio")
    prices = {"working_pool_size": 1.0, "spare_pool_size": 0.2}
    choices = {"working_pool_size": [30, 42, 46, 50], "spare_pool_size": [0, 8]}
    cheap = cheapest_design({**SMALL, "spare_pool_size": 8}, choices, prices, etr=0.8, n_replications=6)
    assert cheap.parameters is not None
    assert cheap.designs["cost"].is_monotonic_increasing
    assert cheap.designs["suffices"].tolist().index(True) == len(cheap.designs) - 1
    never = cheapest_design(SMALL, {"working_pool_size": [44]}, lambda params: 1.0, etr=0.999, n_replications=3)
    assert never.parameters is None
    assert "none of 1 designs" in never.headline


def test_the_smallest_pool_is_that_of_trying_them_one_by_one() -> None:
    hours = {
        size: rf.simulate_training({**SMALL, "working_pool_size": size}, n_replications=4, rng=0)
        .whole["total_training_time"]
        .mean()
        for size in range(42, 51)
    }
    least = min(size for size in hours if hours[size] <= 1.01 * hours[50])
    answer = smallest_pool(SMALL, n_replications=4, most=50, tolerance=0.01)
    assert answer.parameters is not None
    assert answer.parameters.working_pool_size == least
    assert 42 < least < 50
    assert least - 1 in answer.designs["working_pool_size"].tolist()


def test_no_pool_suffices_where_training_does_not_finish() -> None:
    lossy = {**SMALL, "spare_pool_size": 0, "retirement": {"policy": "threshold", "max_failures": 1}}
    answer = smallest_pool(lossy, n_replications=3, most=50)
    assert answer.parameters is None
    assert not answer.designs["suffices"].any()
    assert "none of 1 designs" in answer.headline
    assert plotting.plot(answer).get_ylabel().startswith("effective training ratio")


@pytest.mark.verify
def test_a_simulated_log_gives_its_parameters_back() -> None:
    # equal servers that all run nearly all the time: the log's node MTBF and MTTR are those of the simulation
    truth: dict[str, Any] = {
        "job_size": 120,
        "warm_standbys": 0,
        "working_pool_size": 120,
        "spare_pool_size": 0,
        "minimum_size": 60,
        "job_length": "300 days",
        "random_failure_rate": 1 / (40 * 1440),
        "systematic_failure_fraction": 0.0,
        "recovery_time": 0.5,
        "host_selection_time": 0.0,
        "auto_repair_time": 60,
        "prob_auto_to_manual": 0.0,
    }
    run = rf.simulate_training(truth, n_replications=1, rng=5, trace=True)
    log = failure_log(run)
    assert len(log.events) == int(run.outputs.loc["auto_repairs", "mean"])
    params = rf.calibrate(log, families=["exponential", "weibull"], rng=0, at="long run")
    assert params.mtbf.node.low < 40 * 24 < params.mtbf.node.high
    assert params.mttr.mean.value == pytest.approx(1.0, rel=0.15)
    again = rf.simulate_training(
        training_parameters({**truth, "random_failure_rate": 1 / (60 * params.mtbf.node.value)}),
        n_replications=20,
        rng=6,
    )
    row = again.outputs.loc["total_failures"]
    assert row["p5"] * 0.85 < run.outputs.loc["total_failures", "mean"] < row["p95"] * 1.15


def test_figures_of_a_run() -> None:
    run = rf.simulate_training(SMALL, n_replications=2, rng=1, trace=True)
    assert rf.plot(run).get_xlabel() == "time (hours)"
    assert plotting.server_states(run).get_ylabel() == "servers"
    with pytest.raises(ArgumentError, match="trace=True"):
        plotting.server_states(rf.simulate_training(SMALL, n_replications=1))


def test_the_log_of_a_run_has_the_repairs_of_its_own_servers() -> None:
    """Counted from the trace; those of the spare pool are not in the log."""
    given = {"working_pool_size": 10, "spare_pool_size": 4, "job_size": 8, "warm_standbys": 2}
    failing = {"random_failure_rate": 1 / 14400, "systematic_failure_fraction": 0.0, "auto_repair_time": 600}
    run = rf.simulate_training({**SMALL, **given, **failing}, n_replications=1, rng=5, trace=True)
    assert run.trace is not None
    moves = run.trace[run.trace["server"] >= 0]
    failed = moves[(moves["after"] == "auto_repair") & moves["before"].isin(["active", "standby"])]
    own = failed.loc[failed["server"] < 10, "server"].value_counts().rename(index="n{}".format)
    assert 10 < own.sum() < len(failed)
    assert failure_log(run).events["node"].value_counts().to_dict() == own.to_dict()
