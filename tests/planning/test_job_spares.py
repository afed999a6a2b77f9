"""Hot spares of a job, against the binomial and a plain simulation of nodes and racks."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy import stats

import relfit as rf
from relfit.base.text import percent
from relfit.cli.app import main
from relfit.fleet.calibration import Parameters, write_parameters
from relfit.planning import plan_spares
from relfit.planning.sparing.job_spares import _Shares


def test_without_racks_it_is_the_binomial() -> None:
    down = 24.0 / 5024.0

    def waits(spares: int) -> float:
        n = 128 + spares
        return 1.0 - sum(comb(n, k) * down**k * (1.0 - down) ** (n - k) for k in range(spares + 1))

    least = next(spares for spares in range(20) if waits(spares) <= 0.01)
    plan = plan_spares("5000h", 128, repair="24h")
    assert plan.spares == least == 3
    assert plan.waiting == pytest.approx(waits(3), rel=1e-9)
    assert plan.table.set_index("spares").loc[2, "waiting"] == pytest.approx(waits(2), rel=1e-9)
    assert plan_spares("5000h", 128, 1e-6, repair="24h").spares == next(s for s in range(20) if waits(s) <= 1e-6)


@pytest.mark.parametrize(
    ("mtbf", "job", "spares"),
    [("24h", 200, 484), ("40h", 200, 296), ("46h", 200, 259), ("10h", 20, 159), ("1h", 1, 223)],
)
def test_nodes_that_are_mostly_down_need_more_spares_than_the_job_has_nodes(mtbf: str, job: int, spares: int) -> None:
    """Beyond 64 more than the nodes of the job it was said that no number is enough."""
    plan = plan_spares(mtbf, job, repair="48h")
    assert plan.spares == spares
    down = 48.0 / (48.0 + float(mtbf.rstrip("h")))
    assert stats.binom.sf(spares, job + spares, down) <= 0.01 < stats.binom.sf(spares - 1, job + spares - 1, down)


def _states(rng: np.random.Generator, up: float, down: float, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether something is down at these times, and in which outage."""
    number = int(1.3 * times.max() / (up + down)) + 50
    changes = np.cumsum(np.stack([rng.exponential(up, number), rng.exponential(down, number)], axis=1).ravel())
    place = np.searchsorted(changes, times)
    return place % 2 == 1, place // 2


def test_racks_and_nodes_against_a_plain_simulation() -> None:
    rng, racks, size, hit = np.random.default_rng(7), 5, 4, 2
    times = np.sort(rng.uniform(0.0, 400_000.0, 100_000))
    down = []
    for _ in range(racks):
        of_rack, outage = _states(rng, 400.0, 12.0, times)
        order = np.argsort(rng.random((outage.max() + 1, size)), axis=1)  # which nodes each outage of the rack hits
        for node in range(size):
            alone, _ = _states(rng, 300.0, 10.0, times)
            down.append(alone | (of_rack & (order[outage, node] < hit)))
    number = np.sum(down, axis=0)
    fleet = {"nodes": racks * size, "racks": racks, "rack_share": hit / size}
    params = Parameters(mtbf={"node": "300h", "rack": "400h"}, mttr={"mean": 11, "node": 10, "rack": 12}, fleet=fleet)
    for spares in (1, 2, 3, 4):
        table = plan_spares(params, racks * size - spares, 0.3).table.set_index("spares")
        if spares in table.index:
            assert table.loc[spares, "waiting"] == pytest.approx((number > spares).mean(), abs=0.006)


@pytest.mark.parametrize("apart", [1.0, 0.5, 0.0])
def test_nodes_of_a_rack_that_are_back_one_by_one(apart: float) -> None:
    """All of a rack counted as down until its last node was back: twice the spares."""
    rng, cases, rack = np.random.default_rng(3), 40_000, np.arange(96) // 16
    since = rng.exponential(2000.0, (cases, 6))[:, rack]  # hours since each rack failed
    own, common = rng.exponential(12.0, (cases, 96)), rng.exponential(12.0, (cases, 6))[:, rack]
    one_by_one = (rng.random((cases, 6)) < apart)[:, rack]
    down = (rng.random((cases, 96)) < 24 / 5024) | (since < np.where(one_by_one, own, common))
    last = 12.0 * (apart * (1.0 / np.arange(1, 17)).sum() + 1.0 - apart)
    params = Parameters(
        mtbf={"node": "5000h", "rack": "2000h"},
        mttr={"mean": 24, "node": 24, "rack": last, "rack_node": 12},
        fleet={"nodes": 160, "racks": 10},
    )
    for spares in (0, 2, 4, 10):
        waits = float(_Shares.of(params, None).waiting(96 - spares, spares)[0])
        assert waits == pytest.approx((down.sum(axis=1) > spares).mean(), rel=0.1)


def test_without_the_time_of_the_last_node_each_is_back_by_itself() -> None:
    """As in the batch simulator; the mean of all repairs was taken."""
    fleet, mtbf = {"nodes": 160, "racks": 10}, {"node": "5000h", "rack": "1000h"}
    last = 12.0 * (1.0 / np.arange(1, 17)).sum()
    plans = [
        plan_spares(Parameters(mtbf=mtbf, mttr={"mean": 24, "rack_node": 12, **more}, fleet=fleet), 80)
        for more in ({}, {"rack": last}, {"rack": 3 * last})
    ]
    assert [plan.spares for plan in plans] == [15, 15, 15]
    assert plans[0].waiting == pytest.approx(plans[1].waiting) == pytest.approx(plans[2].waiting)


def test_intervals_over_draws_and_the_system(capsys: pytest.CaptureFixture[str], tmp_path) -> None:
    mtbf = {"node": {"value": 2000, "low": 1400, "high": 2900, "level": 0.95}, "system": "990h"}
    params = Parameters(mtbf=mtbf, mttr="10h")
    plan = plan_spares(params, 64, rng=1)
    assert plan.spares_low <= plan.spares <= plan.spares_high
    row = plan.table.set_index("spares").loc[plan.spares]
    assert row["waiting_low"] < plan.waiting < row["waiting_high"]
    assert plan.remarks == ("The whole system is down 1 % of the time besides; spares in it do not help.",)
    write_parameters(params, tmp_path / "p.toml")
    assert main(["plan", "spares", str(tmp_path / "p.toml"), "--job", "64", "--seed", "1"]) in (None, 0)
    assert plan.headline in " ".join(capsys.readouterr().out.split())


def test_failures_that_the_plan_does_not_count_are_said() -> None:
    mtbf = {"node": "2000h", "group": "15d", "rack": "500d"}
    for fleet, left in (
        ({"nodes": 384, "group_share": 1 / 24, "racks": 24}, "failures of groups of nodes, one every 15 days, of 16"),
        ({"nodes": 384}, "failures of each rack, one every 500 days (mtbf.rack); failures of groups of nodes"),
    ):
        plan = plan_spares(Parameters(mtbf=mtbf, mttr="10h", fleet=fleet), 64)
        assert [text for text in plan.findings if text.startswith(f"Left out: {left}")]
        assert not any("Racks are not known" in text for text in plan.assumptions)
    assert plan_spares("5000h", 128, repair="24h").left_out == ""


def test_what_is_missing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(rf.ArgumentError, match="time to repair is not known"):
        plan_spares("5000h", 128)
    with pytest.raises(rf.ArgumentError, match="no number of spares up to 16,384 keeps the wait"):
        plan_spares("1h", 2, 0.001, repair="1e6h")
    with pytest.raises(rf.ArgumentError, match=r"'p.toml' is a file; give relfit\.read_parameters\('p.toml'\)"):
        plan_spares("p.toml", 2, repair="5h")
    assert main(["plan", "spares", "--mtbf", "5000h", "--mttr", "24h", "--job", "9", "--blocking", "0"]) == 2
    assert "--blocking 0 is not strictly between 0 and 1" in capsys.readouterr().err
    assert main(["plan", "spares", "--mtbf", "5000h", "--mttr", "24h"]) == 2
    assert "--job is missing" in capsys.readouterr().err


def test_where_a_few_more_spares_change_little_is_said() -> None:
    """8 spares for 512 nodes: 7 to 15 all waited about 0.97 %, as one rack of 16 makes so much; 16 help."""
    fleet = {"nodes": 1008, "racks": 63}
    params = Parameters(
        mtbf={"node": "6156h", "rack": "10336h"}, mttr={"mean": 20, "node": 20, "rack": 3.1}, fleet=fleet
    )
    plan = plan_spares(params, 512)
    rows = plan.table.set_index("spares")["waiting"]
    below = rows[rows < 0.9 * plan.waiting]
    assert plan.helps == below.index[0] == rows.index[-1] == 16
    assert rows[plan.helps - 1] > 0.9 * plan.waiting
    said = (
        f"Racks that go down at once make {percent(rows[15])}: more spares help only from 16 on ({percent(rows[16])})."
    )
    assert said in plan.findings
    alone = plan_spares("6156h", 512, repair="20h")
    assert (alone.helps, len(alone.table)) == (0, 7)
    assert not any("more spares help" in text for text in alone.findings)


def test_a_wait_just_above_the_limit_is_not_shown_as_the_limit() -> None:
    plan = plan_spares("5000h", 128, 0.0248, repair="24h")  # 2 spares: 2.5 %
    assert (plan.spares, percent(plan.table.set_index("spares").loc[2, "waiting"])) == (3, "2.5 %")
    assert plan.headline.endswith("with one fewer 2.5 %, just above the limit.")


def test_the_repair_of_nodes_is_enough() -> None:
    """Without mttr.mean, which nothing needed, the file had no plan."""
    known = Parameters(
        mtbf={"node": "5000h", "system": "300h"}, mttr={"node": "24h", "system": "10h"}, fleet={"nodes": 512}
    )
    plan = plan_spares(known, 128)
    assert plan.waiting == pytest.approx(float(stats.binom.sf(3, 131, 24 / 5024)), rel=1e-9)
    assert plan.system_down == pytest.approx(10 / 310)
    with pytest.raises(rf.ArgumentError, match=r"no mttr\.node"):
        plan_spares(Parameters(mtbf={"node": "5000h", "system": "300h"}, mttr={"system": "10h"}), 128)
