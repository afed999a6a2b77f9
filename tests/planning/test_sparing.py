"""The planner: Table 1, shares that add up, optimisers against exhaustive search, maps, uncertainty, prices."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import relfit as rf
from papers.sparing import (
    paper_cluster,
    paper_failures,
    paper_performance,
    paper_recovery,
    paper_strategies,
    table_1,
)
from relfit.errors import ArgumentError
from relfit.planning.sparing.assumptions import check_assumptions
from relfit.planning.sparing.cluster import Cluster, DeviceFailures, Strategies
from relfit.planning.sparing.maps import sparing_map, sparing_sensitivity
from relfit.planning.sparing.performance import Performance, PowerHeadroom, TensorParallel
from relfit.planning.sparing.planner import evaluate_sparing, optimise_sparing
from relfit.planning.sparing.prices import Prices, RepairService, cheapest_sparing, sparing_costs
from relfit.planning.sparing.recovery import Recovery, SemiSynchronous, Situation, synchronous
from relfit.planning.sparing.robust import plan_sparing


def test_every_cell_of_table_1_comes_out() -> None:
    table = table_1()
    assert table.agrees, table.to_frame().to_string()
    assert table.exact["cett"].tolist() == pytest.approx([68.760, 68.542, 67.950, 67.748, 66.372, 65.986], abs=1e-3)
    json.dumps(table.to_dict())


def random_case(rng: np.random.Generator) -> tuple[Cluster, DeviceFailures, Recovery]:
    trays = int(rng.choice([1, 2, 3, 4, 6]))
    cluster = Cluster(int(rng.integers(1, 4)), int(rng.integers(2, 12)), trays, int(rng.choice([1, 2, 4])))
    if rng.random() < 0.5:
        cluster = replace(
            cluster, group=int(rng.integers(1, 9)) * cluster.gpus, partial_groups=bool(rng.random() < 0.5)
        )
    mtbf = 10 ** rng.uniform(1.5, 4)
    failures = DeviceFailures(mtbf, mtbf * 10 ** rng.uniform(-0.5, 1), 10 ** rng.uniform(-1, 2))
    save = 10 ** rng.uniform(-4, -1)
    period = None if rng.random() < 0.5 else save * 10 ** rng.uniform(0.1, 3)
    disturbed = bool(rng.random() < 0.3)
    waits = 10 ** rng.uniform(-3, -1), 10 ** rng.uniform(-3, 0)
    return cluster, failures, Recovery(period, save, *waits, disturbed=disturbed)


def brute_force(cluster: Cluster, failures: DeviceFailures, recovery: Recovery) -> float:
    """The highest CETT over every block size, spare tray, spare block and period; the paper's formulas written out."""
    best = 0.0
    tray, rack, mttr = float(failures.mtbf_tray), float(failures.mtbf_rack), float(failures.mttr)
    wait = recovery.detection + recovery.restart
    for size in range(1, cluster.trays + 1):
        if cluster.trays % size:
            continue
        total = cluster.racks * cluster.trays // size
        for idle in range(size):
            working_gpus = (size - idle) * cluster.gpus
            unit, filled = 1, 1.0
            if cluster.group:
                unit = -(-cluster.group // working_gpus)
                filled = cluster.group / (unit * working_gpus)
                if filled < 1.0 and not cluster.partial_groups:
                    continue
            time, ahead = 0.0, 0.0  # T_n = T_(n-1) (1 + mu/lambda_n) + 1/lambda_n
            for n in range(idle + 1):
                life = tray / (size - n)
                time = ahead * (1 + life / mttr) + life
                ahead = time
            q = mttr / (mttr + 1 / (1 / rack + 1 / time))
            for spare in range(total):
                if (total - spare) % unit:
                    continue
                rate = (total - spare) * cluster.zones * (1 / rack + (size - idle) / tray)
                down = np.expm1(min(rate * wait, 460)) / rate if recovery.disturbed else wait

                def efficiency(period: float, rate: float = rate, down: float = down) -> float:
                    return period / (np.expm1(min(rate * period, 600)) * (1 / rate + down) + recovery.save)

                if recovery.period is None:
                    grid = np.geomspace(max(recovery.save * 1e-2, 1e-7), 1e5, 60)
                    start = grid[int(np.argmax([efficiency(p) for p in grid]))]
                    top = optimize.minimize_scalar(
                        lambda x: -efficiency(float(np.exp(x))), bounds=(np.log(start) - 1, np.log(start) + 1),
                        method="bounded", options={"xatol": 1e-7},
                    )  # fmt: skip
                    running = -float(top.fun)
                else:
                    running = efficiency(recovery.period)
                open_ = stats_cdf(spare, total, q) ** cluster.zones
                best = max(best, (1 - spare / total) * (1 - idle / size) * open_ * running * filled)
    return best


def stats_cdf(spare: int, total: int, q: float) -> float:
    from scipy import special

    return 1.0 if spare >= total else float(special.bdtr(spare, total, q))


def test_optimiser_agrees_with_exhaustive_search() -> None:
    rng = np.random.default_rng(11)
    checked = 0
    for _ in range(1000):
        cluster, failures, recovery = random_case(rng)
        if recovery.period is None and checked % 8:  # the search over periods is slow: every eighth
            recovery = replace(recovery, period=recovery.save * 30)
        expected = brute_force(cluster, failures, recovery)
        if expected == 0.0:
            continue
        checked += 1
        assert float(optimise_sparing(cluster, failures, recovery).cett) == pytest.approx(expected, rel=1e-6)
    assert checked > 600


def test_general_search_finds_what_the_compiled_one_finds() -> None:
    def own(s: Situation) -> dict[str, np.ndarray]:
        return synchronous(s)

    rng = np.random.default_rng(4)
    for _ in range(40):
        cluster, failures, recovery = random_case(rng)
        recovery = replace(recovery, period=recovery.save * 30)
        try:
            ours = optimise_sparing(cluster, failures, recovery)
        except ArgumentError:
            continue
        general = optimise_sparing(cluster, failures, replace(recovery, scheme=own))
        zero = optimise_sparing(cluster, failures, replace(recovery, scheme=SemiSynchronous(0)))
        assert general.cett == pytest.approx(float(ours.cett), rel=1e-12)
        assert zero.cett == pytest.approx(float(ours.cett), rel=1e-9)


def test_shares_add_to_one_everywhere() -> None:
    grid = DeviceFailures.grid(np.geomspace(10, 1e6, 7), np.geomspace(0.01, 500, 6), rack_ratio=0.5)
    for scheme in (synchronous, SemiSynchronous(6, unit=2, exchange=0.05)):
        for period in (0.07, None):
            recovery = Recovery(period, "30s", "60s", "6min", scheme)
            found = evaluate_sparing(
                Cluster(2, 16, 6, 2, group=12, partial_groups=True), Strategies.every(Cluster(trays=6)), grid, recovery
            )
            total = sum(found.shares.values())
            assert np.asarray(total) == pytest.approx(np.ones(found.cett.shape), abs=1e-9)
            assert all(np.all(values > -1e-12) for values in found.shares.values())


def test_results_do_not_depend_on_workers() -> None:
    grid = DeviceFailures.grid(np.geomspace(500, 1e5, 30), np.geomspace(1, 100, 20), rack_ratio=0.5)
    one = optimise_sparing(paper_cluster(), grid, paper_recovery(), workers=1)
    three = optimise_sparing(paper_cluster(), grid, paper_recovery(), workers=3)
    assert np.array_equal(one.spare_blocks, three.spare_blocks)
    assert np.array_equal(one.goodput, three.goodput)


def test_nothing_fails_and_everything_fails() -> None:
    quiet = evaluate_sparing(
        Cluster(racks=4, trays=2), Strategies(2, 0), DeviceFailures(np.inf, np.inf, 24), Recovery()
    )
    assert quiet.spare_blocks.tolist() == [0]
    assert quiet.cett.tolist() == [1.0]
    hopeless = evaluate_sparing(
        Cluster(4, 64, 36), Strategies(36, 0), DeviceFailures(0.01, np.inf, 1e6), Recovery(1.0, 0.1)
    )
    assert 0.0 <= hopeless.cett[0] < 1e-6


def test_figures_2_to_5_in_words() -> None:
    """What the paper says about its maps, on a range of its own (the paper prints no axes here)."""
    cluster, gains, recovery = replace(paper_cluster(), group=None), paper_performance(), paper_recovery()
    mtbf, mttr = np.geomspace(5000, 200_000, 30), np.geomspace(4, 168, 30)
    names = paper_strategies().labels(2)

    def won(where: Cluster, performance: Performance) -> pd.Series:
        table = sparing_map(where, paper_strategies(), mtbf, mttr, recovery, performance).shares()
        return table.set_index("strategy")["share"].reindex(names)

    plain = won(cluster, Performance())
    model = won(cluster, Performance(model=gains.model))
    power = won(cluster, gains)
    placed = won(paper_cluster(), gains)
    assert plain["36/36"] + plain["18/18"] > 0.5
    assert plain["36/32"] + plain["18/16"] < 0.02
    assert model["72/72"] + model["72/64"] > 0.98
    assert power["72/64"] > model["72/64"] + 0.1
    assert placed["72/64"] > 0.94


def test_boundaries_lie_where_two_strategies_are_equal() -> None:
    cluster, recovery = replace(paper_cluster(), group=None), paper_recovery()
    found = sparing_map(cluster, paper_strategies(), np.geomspace(1e3, 1e5, 12), np.geomspace(1, 100, 12), recovery)
    assert len(found.boundaries) > 10
    labels = found.evaluation.labels
    for row in found.boundaries.itertuples():
        pair = paper_strategies().take(np.array([labels.index(row.below), labels.index(row.above)]))
        side = evaluate_sparing(cluster, pair, DeviceFailures(row.mtbf, row.mtbf / 2, row.mttr), recovery).goodput
        assert side[0] == pytest.approx(side[1], rel=2e-3)
    json.dumps(found.to_dict())
    assert found.to_frame().shape[0] == 144


def test_sensitivity_is_the_evaluation_at_other_means() -> None:
    found = sparing_sensitivity(
        paper_cluster(), paper_strategies(), paper_failures(), paper_recovery(), factors=[0.5, 2]
    )
    direct = evaluate_sparing(paper_cluster(), paper_strategies(), DeviceFailures(1e4, 5e3, 24), paper_recovery())
    assert found.goodput["mtbf"][:, 0] == pytest.approx(direct.goodput)
    assert "MTBF" in found.sentence


# ------------------------------------------------------------------ uncertainty


def draws(n: int = 400) -> DeviceFailures:
    rng = np.random.default_rng(1)
    return DeviceFailures(20_000 * np.exp(0.2 * rng.normal(size=n)), 10_000 * np.exp(0.3 * rng.normal(size=n)),
                          24 * np.exp(0.15 * rng.normal(size=n)))  # fmt: skip


def test_uncertain_plan() -> None:
    cluster = replace(paper_cluster(), group=None)
    found = plan_sparing(
        cluster, (paper_failures(), draws()), paper_recovery(), strategies=Strategies([36, 36], [0, 4])
    )
    table = found.intervals
    assert np.all(table["low"] <= table["estimate"])
    assert np.all(table["estimate"] <= table["high"])
    assert table.loc["spare_blocks", "low"] < table.loc["spare_blocks", "high"]
    assert found.robust.goodput.mean() >= found.fixed.goodput.mean()
    careful = plan_sparing(
        cluster, (paper_failures(), draws()), paper_recovery(), strategies=Strategies([36, 36], [0, 4]), robust=0.05
    )
    assert np.quantile(careful.robust.goodput, 0.05) >= np.quantile(found.robust.goodput, 0.05)
    assert "given these data" in found.sentence
    json.dumps(found.to_dict())


def test_robust_plan_is_the_best_of_all_numbers_of_spares() -> None:
    cluster, recovery = Cluster(2, 64, 4, 8), Recovery("10min", "1min", "1min", "5min")
    n = 200
    rng = np.random.default_rng(8)
    cases = DeviceFailures(3000 * np.exp(0.4 * rng.normal(size=n)), 20_000.0, 24.0)
    found = plan_sparing(cluster, (DeviceFailures(3000, 20_000, 24), cases), recovery, strategies=Strategies(4, 0))
    every = evaluate_sparing(cluster, Strategies(4, 0, range(64)), cases, recovery)
    assert found.robust.goodput.mean() == pytest.approx(every.goodput.mean(axis=1).max(), rel=1e-12)


def test_parameters_in_plan_out() -> None:
    from relfit.calibration import Parameters

    known = Parameters(mtbf={"tray": {"value": 2000, "low": 1500, "high": 2700, "level": 0.9}}, mttr="24h")
    found = plan_sparing(Cluster(racks=64, trays=4, gpus=8), known, Recovery(save="1min", restart="5min"), rng=1)
    again = plan_sparing(Cluster(racks=64, trays=4, gpus=8), known, Recovery(save="1min", restart="5min"), rng=1)
    assert found.intervals.equals(again.intervals)
    assert any("racks" in note for note in found.notes)
    assert any("mttr" in note for note in found.notes)
    with pytest.raises(ArgumentError, match="mttr"):
        plan_sparing(Cluster(racks=4), Parameters(mtbf="2000h"))


# ----------------------------------------------------------------------- prices


def test_costs_written_out() -> None:
    cluster = Cluster(1, 10, 4, 8)
    found = evaluate_sparing(cluster, Strategies(4, 1, 2), DeviceFailures(976, 4976, 24), Recovery())
    prices = Prices(node=43_800, spare=21_900, life=43_800, energy=0.1, power=2, idle_power=1,
                    service=RepairService("day", 100, standing=7), value=50)  # fmt: skip
    row = sparing_costs(found, prices).iloc[0]
    working = 8 * 3
    assert row["devices"] == pytest.approx(working * 1.0 + (40 - working) * 0.5)
    assert row["energy"] == pytest.approx(0.1 * (working * 2 + (40 - working)))
    assert row["repairs"] == pytest.approx(100 * (40 / 1000 + 10 / 5000) + 7)
    assert row["net"] == pytest.approx(50 * row["useful_nodes"] - row["cost"])
    assert row["useful_nodes"] == pytest.approx(40 * float(found.cett[0]))


def test_cheapest_plan_by_enumeration() -> None:
    cluster, failures = Cluster(2, 6, 4, 2), DeviceFailures(700, 5000, 30)
    recovery = Recovery("20min", "1min", "1min", "5min")
    prices = Prices(node=1000, spare=400, life=40_000, energy=0.2, power=1, idle_power=0.2)
    services = [RepairService("day", 5), RepairService("night", 9, mttr=6, standing=0.2)]
    found = cheapest_sparing(cluster, failures, 50, prices, recovery, racks=range(5, 10), services=services)
    best = np.inf
    for racks in range(5, 10):
        for service in services:
            for strategy in range(len(Strategies.every(cluster))):
                one = Strategies.every(cluster).take(slice(strategy, strategy + 1))
                sized = replace(cluster, racks=racks)
                served = DeviceFailures(700, 5000, service.mttr or 30)
                for spare in range(sized.blocks(int(one.block_trays[0]))):
                    result = evaluate_sparing(sized, one.with_spare_blocks([spare]), served, recovery)
                    row = sparing_costs(result, replace(prices, service=service)).iloc[0]
                    if row["goodput"] >= 50:
                        best = min(best, row["cost"])
    assert found.table["cost"].iloc[0] == pytest.approx(best, rel=1e-12)
    none = cheapest_sparing(cluster, failures, 1e9, prices, recovery)
    assert "No choice reaches" in none.sentence


# ------------------------------------------------------------------ assumptions


def test_assumptions_of_a_log() -> None:
    found = check_assumptions(rf.datasets.load("white").between("2002-01-01", "2002-04-01"))
    table = found.to_frame().set_index("assumption")
    assert table.loc["independent nodes", "holds"] == "no"
    assert len(table) == 6
    assert all(item.consequence for item in found.failing)
    json.dumps(found.to_dict())


def test_assumptions_of_parameters() -> None:
    from relfit.calibration import Parameters

    known = Parameters(
        mtbf="2000h",
        mttr={"quick": "1h", "slow": "48h", "share_quick": 0.7},
        failure={"family": "weibull", "parameters": {"shape": 0.7, "scale": 1500.0}},
        checks=[{"name": "dependence.serial", "concern": True, "finding": "gaps depend on those before"}],
    )
    table = check_assumptions(known).to_frame().set_index("assumption")["holds"]
    assert table["exponential times to failure"] == "no"
    assert table["one kind of repair"] == "no"
    assert table["independent along time"] == "no"
    assert table["independent nodes"] == "unknown"


# -------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Cluster(trays=36).blocks(5), "block_trays = 5 does not divide a rack of 36 trays"),
        (lambda: DeviceFailures(0, 1, 1), "mtbf_tray is 0"),
        (lambda: DeviceFailures(10, -1, 1), "mtbf_rack"),
        (lambda: DeviceFailures([1, 2], 3, [1, 2, 3]), "shapes"),
        (lambda: Strategies(4, 4), "spare_trays = 4 leaves no working tray in a block of 4"),
        (lambda: Strategies([], []), "at least one"),
        (lambda: Cluster(zones=0), "zones"),
        (lambda: Strategies.of_gpus(Cluster(trays=36, gpus=2), 71), "whole trays"),
        (
            lambda: evaluate_sparing(Cluster(racks=8), Strategies(1, 0, 9), DeviceFailures(10, 10, 1)),
            "spare_blocks = 9 leaves no working block of the 8",
        ),
        (
            lambda: evaluate_sparing(Cluster(racks=8, group=3), Strategies(1, 0, 4), DeviceFailures(10, 10, 1)),
            "spare_blocks = 4 leaves 4 working blocks, not a multiple of the 3",
        ),
        (
            lambda: evaluate_sparing(Cluster(racks=8, trays=2, group=3), Strategies(2), DeviceFailures(10, 10, 1)),
            "do not divide a group of 3 GPUs",
        ),
        (
            lambda: optimise_sparing(Cluster(racks=2, group=100), DeviceFailures(10, 10, 1)),
            "no room for a group of 100 GPUs",
        ),
        (lambda: PowerHeadroom(exposed=2), "exposed"),
        (lambda: TensorParallel(alpha=-1), "alpha"),
        (lambda: Prices(node=-1), "node"),
        (lambda: sparing_map(Cluster(racks=4), Strategies(1), [2, 1], [1], Recovery()), "mtbf does not rise"),
    ],
)
def test_bad_input_is_one_clear_line(make: object, said: str) -> None:
    with pytest.raises(ArgumentError, match=said) as caught:
        make()  # type: ignore[operator]
    assert "\n" not in str(caught.value)


def test_binomial_cdf_of_the_helper() -> None:
    assert stats_cdf(2, 9, 0.3) == pytest.approx(stats.binom.cdf(2, 9, 0.3))


def test_names_of_the_room() -> None:
    import relfit.planning as planning

    assert planning.block_mtbf(4, 0, 100, np.inf, 1) == pytest.approx(25.0)
    for name in ("Cluster", "evaluate_sparing", "plan_sparing", "sparing_costs", "cheapest_sparing", "sparing_map"):
        assert callable(getattr(planning, name))


def test_reprs_frames_and_html() -> None:
    found = evaluate_sparing(
        paper_cluster(), paper_strategies(), paper_failures(), paper_recovery(), paper_performance()
    )
    assert found.to_frame().shape[0] == 6
    assert "72/64" in repr(found)
    assert "<table" in found._repr_html_()
    plan = optimise_sparing(paper_cluster(), paper_failures(), paper_recovery())
    assert "do not fit the placement groups" in plan.sentence
    json.dumps(plan.to_dict())


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (3, "the recovery scheme returned int; return a dict of"),
        ({"saves": [0.1, 0.2, 0.3]}, r"returned saves of shape \(3,\) for cases of shape"),
        ({"saves": -1.0}, "losses below zero or NaN"),
        ({"useful": 0.5}, "the recovery scheme returned useful; use"),
    ],
)
def test_what_a_scheme_may_not_return(returned: object, said: str) -> None:
    own = Recovery(save="1s", scheme=lambda situation: returned)
    with pytest.raises(ArgumentError, match=said):
        evaluate_sparing(replace(paper_cluster(), group=None), Strategies(36, 0), paper_failures(), own)
