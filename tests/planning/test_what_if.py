"""What if: between the sizes that are worked out, answers are those of the model and of the planner."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import optimize

import relfit as rf
from relfit.base.arrays import FloatArray
from relfit.planning import plan_checkpoints, plan_spares
from relfit.planning.job_questions import WhatIf, what_if
from relfit.system.jobs import Checkpoint


@pytest.fixture(scope="module")
def study() -> rf.Study:
    return rf.Study(rf.datasets.load("white"))


@pytest.fixture(scope="module")
def grid(study: rf.Study) -> WhatIf:
    return study.what_if()


@pytest.mark.parametrize("nodes", [1, 3, 10, 30, 90, 300, 512])
def test_between_sizes_the_error_is_below_one_percent(study: rf.Study, grid: WhatIf, nodes: int) -> None:
    parameters = study.calibrate(parts=("mtbf", "mttr"))
    survived = study.model.interval("reliability", ["6h", "24h"], size=nodes, placement="packed", n_draws=19).estimate
    for hours, expected in zip(("6h", "24h"), survived, strict=True):
        assert grid.at(nodes, hours)["survives"] == pytest.approx(float(expected), abs=0.01)
    for save in ("1min", "30min"):
        plan, answer = (
            plan_checkpoints(parameters, Checkpoint(save=save, restore=save), nodes=nodes),
            grid.at(nodes, save=save),
        )
        assert answer["checkpoint_every"] == pytest.approx(plan.checkpoint_every, rel=0.01)
        assert answer["waste"] == pytest.approx(plan.waste, rel=0.01)
        assert answer["mtbf"] == pytest.approx(plan.mtbf, rel=0.01)


def test_spares_repairs_and_nodes_that_are_gone_by_hand(study: rf.Study, grid: WhatIf) -> None:
    i = int(np.flatnonzero(grid.nodes == 64)[0])
    mtbf, wait, save = grid.mtbf[0, i], grid.wait[0, 0, 0, i], 5.0 / 60.0

    def waste(mtbf: float, wait: float) -> float:
        def lost(every: float) -> float:
            return 1.0 - every / ((mtbf + wait) * np.exp(save / mtbf) * np.expm1((every + save) / mtbf))

        return float(optimize.minimize_scalar(lost, bounds=(1e-3, mtbf), method="bounded", options={"xatol": 1e-9}).fun)

    assert grid.at(64)["waste"] == pytest.approx(waste(mtbf, wait), rel=1e-6)
    parameters = study.calibrate(parts=("mtbf", "mttr"))
    values = parameters.values()
    system = mtbf / values["mtbf.system"] * values["mttr.system"]  # in which spares do not help
    waiting = plan_spares(parameters, 64, 0.1, n_draws=2).table.set_index("spares")["waiting"]
    for spares in (1, 3):
        ratio = (waiting[spares] / (1.0 - waiting[spares])) / (waiting[0] / (1.0 - waiting[0]))
        with_them = waste(mtbf, system + (wait - system) * ratio)
        assert grid.at(64, spares=spares)["waste"] == pytest.approx(with_them, rel=1e-6)
    assert grid.at(64, spares=50)["waste"] == pytest.approx(waste(mtbf, system), rel=1e-6)
    assert waste(mtbf, system) > waste(mtbf, 0.0) + 0.04
    assert grid.at(64, half_repair=True)["waste"] == pytest.approx(waste(mtbf, grid.wait[0, 1, 0, i]), rel=1e-6)
    assert 0.45 * wait < grid.wait[0, 1, 0, i] < 0.5 * wait  # half of it, in which fewer others fail
    fewer = 1.0 - grid.excess * grid.own[i]
    assert grid.mtbf[1, i] == pytest.approx(mtbf / fewer, rel=1e-9)
    gone = grid.at(64, without_worst=True)["survives"]
    assert gone == pytest.approx(grid.at(64)["survives"] ** fewer, rel=1e-9)


def up_and_down(nodes: int, hours: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Starts and ends of outages: a node fails every 2,148 hours; log-normal repairs of 10.6 hours on average."""
    size = (nodes, int(1.2 * hours / 2148.0) + 60)
    down = 10.6 * rng.lognormal(-0.72, 1.2, size)
    ends = (rng.exponential(2148.0, size) + down).cumsum(axis=1)
    return ends - down, ends


@pytest.mark.parametrize("size", [16, 64, 90])
def test_a_job_with_spares_waits_until_the_first_of_those_down_is_back(size: int) -> None:
    """Waste against nodes that fail and are repaired one by one; the useful time while all run is a closed form."""
    starts, ends = up_and_down(96, 8760.0, np.random.default_rng(4))
    rows = [
        (f"n{node:03}", start, end) for node in range(96) for start, end in zip(starts[node], ends[node], strict=True)
    ]
    frame = pd.DataFrame(rows, columns=["node", "start", "end"]).query("end < 8760")
    frame[["start", "end"]] = pd.Timestamp("2024-01-01") + frame[["start", "end"]].apply(pd.to_timedelta, unit="h")
    log = rf.read(frame, n_nodes=96, window_start="2024-01-01", window_end="2024-12-31")
    answers = what_if(rf.Study(log).model, rf.Parameters(mtbf={"node": "2148h"}, mttr={"mean": "10.6h"}))
    mtbf, save, horizon = 2148.0 / size, 5.0 / 60.0, 4e5
    every = optimize.brentq(lambda x: np.exp(-(x + save) / mtbf) + x / mtbf - 1.0, 1e-3, mtbf)
    useful = every / (mtbf * np.exp(save / mtbf) * np.expm1((every + save) / mtbf))
    for spares in range(5):
        starts, ends = up_and_down(size + spares, horizon, np.random.default_rng(spares))
        at = np.concatenate([starts.ravel(), ends.ravel()])
        order = np.argsort(at)
        down = np.cumsum(np.repeat([1, -1], starts.size)[order])
        at = np.minimum(at[order], horizon)
        waiting = np.diff(at)[down[:-1] > spares].sum() / horizon
        assert answers.at(size, spares=spares)["waste"] == pytest.approx(1.0 - (1.0 - waiting) * useful, abs=0.01)


def test_where_failures_cluster_both_shares_are_said(grid: WhatIf) -> None:
    """One failure in 148 hours: 1 - exp(-24 / 148) of the jobs would meet one, if they came evenly."""
    ones = np.ones(2)
    values = {"hazard": np.full((2, 2), -np.log(0.89)), "mtbf": np.full((2, 2), 148.0), "wait": np.zeros((2, 2, 1, 2))}
    of = WhatIf(
        np.array([1.0, 64.0]),
        np.array([24.0, 48.0]),
        values["hazard"],
        ones,
        values["mtbf"],
        np.array([0]),
        values["wait"],
        0,
        0.0,
    )
    assert of.sentence(16).startswith(
        "89 % of such jobs meet no failure (85 % if failures came evenly). One comes every 6.17 days on average."
    )
    assert "evenly" not in grid.sentence(64)  # 32 % of both


def test_what_is_not_known_is_said(study: rf.Study) -> None:
    with pytest.raises(rf.ArgumentError):
        study.what_if().at(0)
    with pytest.raises(rf.ArgumentError):
        study.what_if().at(4, save="soon")


@pytest.mark.parametrize(("nodes", "hours", "said"), [(100_000, "24h", "nodes = 1"), (16, "240h", "hours = 240 hours")])
def test_a_job_outside_of_the_grid_has_no_answer_of_the_edge(grid: WhatIf, nodes: int, hours: str, said: str) -> None:
    with pytest.raises(rf.ArgumentError, match=said):
        grid.at(nodes, hours)
