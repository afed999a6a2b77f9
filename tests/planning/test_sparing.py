"""The planner: Table 1, shares that add up, optimisers against exhaustive search, maps, uncertainty."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import relfit as rf
from papers import sparing as paper
from relfit.base.errors import ArgumentError, ReadError
from relfit.planning.sparing import (
    Cluster,
    DeviceFailures,
    Performance,
    PowerHeadroom,
    Recovery,
    Strategies,
    TensorParallel,
    check_assumptions,
    device_failures,
    evaluate_sparing,
    optimise_sparing,
    plan_sparing,
    sparing_map,
)
from relfit.planning.sparing.plan_file import ClusterTable, read_plan_file


def test_table_1_without_roundings() -> None:
    found = evaluate_sparing(paper.CLUSTER, paper.STRATEGIES, paper.FAILURES, paper.RECOVERY, paper.PERFORMANCE)
    assert (100 * found.cett).tolist() == pytest.approx([68.760, 68.542, 67.950, 67.748, 66.372, 65.986], abs=1e-3)
    assert found.spare_blocks.tolist() == [32, 4, 64, 8, 128, 16]
    json.dumps(found.to_dict(), allow_nan=False)


def random_case(rng: np.random.Generator) -> tuple[Cluster, DeviceFailures, Recovery]:
    trays = int(rng.choice([1, 2, 3, 4, 6]))
    cluster = Cluster(
        int(rng.integers(1, 4)),
        int(rng.integers(2, 12)),
        trays,
        int(rng.choice([1, 2, 4])),
        shared_racks=bool(rng.random() < 0.5),
    )
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
    """The highest CETT over every block size, spare tray, spare block and period; all formulas written out."""
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
            together = cluster.trays // size if cluster.shared_racks else 1
            r = mttr / (mttr + rack) if together > 1 else 0.0
            law = law_of_racks(total // together, together, (q - r) / (1 - r), r)
            for spare in range(total):
                if (total - spare) % unit:
                    continue
                rate = (total - spare) * cluster.zones * (1 / (rack * together) + (size - idle) / tray)
                down = np.expm1(min(rate * wait, 460)) / rate if recovery.disturbed else wait

                def efficiency(period: float, rate: float = rate, down: float = down) -> float:
                    return period / (np.expm1(min(rate * period, 600)) * (1 / rate + down) + recovery.save)

                if recovery.checkpoint_every is None:
                    grid = np.geomspace(max(recovery.save * 1e-2, 1e-7), 1e5, 60)
                    start = grid[int(np.argmax([efficiency(p) for p in grid]))]
                    top = optimize.minimize_scalar(
                        lambda x: -efficiency(float(np.exp(x))),
                        bounds=(np.log(start) - 1, np.log(start) + 1),
                        method="bounded",
                        options={"xatol": 1e-7},
                    )
                    running = -float(top.fun)
                else:
                    running = efficiency(recovery.checkpoint_every)
                open_ = float(law[: spare + 1].sum()) ** cluster.zones
                best = max(best, (1 - spare / total) * (1 - idle / size) * open_ * running * filled)
    return best


def law_of_racks(racks: int, blocks: int, own: float, down: float) -> np.ndarray:
    """Probability of each number of blocks down: one rack after another, each with all its blocks or some of them."""
    one = (1 - down) * stats.binom.pmf(np.arange(blocks + 1), blocks, own)
    one[-1] += down
    law = np.ones(1)
    for _ in range(racks):
        law = np.convolve(law, one)
    return law


@pytest.mark.slow
def test_optimiser_agrees_with_exhaustive_search() -> None:
    rng = np.random.default_rng(11)
    checked = 0
    for _ in range(300):
        cluster, failures, recovery = random_case(rng)
        if recovery.checkpoint_every is None and checked % 8:  # the search over periods is slow: every eighth
            recovery = replace(recovery, checkpoint_every=recovery.save * 30)
        expected = brute_force(cluster, failures, recovery)
        if expected == 0.0:
            continue
        checked += 1
        best = optimise_sparing(cluster, failures, recovery)
        assert float(best.of_best(best.cett)) == pytest.approx(expected, rel=1e-6)
    assert checked > 180


@pytest.mark.slow
def test_search_at_reduced_size_tries_every_number() -> None:
    rng = np.random.default_rng(4)
    checked = 0
    for _ in range(30):
        cluster, failures, recovery = random_case(rng)
        recovery = replace(recovery, checkpoint_every=recovery.save * 30, loss_limit=3, exchange=0.05)
        cluster = replace(cluster, group=None)
        found = optimise_sparing(cluster, failures, recovery)
        for i in range(len(found.strategies)):
            one, blocks = found.strategies.take(slice(i, i + 1)), int(found.blocks[i])
            every = evaluate_sparing(
                cluster, one.take(np.zeros(blocks, dtype=int)).with_spare_blocks(range(blocks)), failures, recovery
            )
            assert float(found.cett[i]) == pytest.approx(every.cett.max(), rel=1e-12)
            checked += 1
    assert checked > 60


def test_shares_add_to_one_everywhere() -> None:
    tray = np.geomspace(10, 1e6, 7)
    grid = DeviceFailures(tray, 0.5 * tray, np.geomspace(0.01, 500, 6)[:, None])
    for reduced in ({}, {"loss_limit": 6, "unit": 2, "exchange": 0.05}):
        for period in (0.07, None):
            recovery = Recovery(period, "30s", "60s", "6min", **reduced)
            found = evaluate_sparing(
                Cluster(2, 16, 6, 2, group=12, partial_groups=True), Strategies.every(Cluster(trays=6)), grid, recovery
            )
            total = sum(found.shares.values())
            assert np.asarray(total) == pytest.approx(np.ones(found.cett.shape), abs=1e-9)
            assert all(np.all(values > -1e-12) for values in found.shares.values())


@pytest.mark.slow
def test_results_do_not_depend_on_workers() -> None:
    tray = np.geomspace(500, 1e5, 30)
    grid = DeviceFailures(tray, 0.5 * tray, np.geomspace(1, 100, 20)[:, None])
    one = optimise_sparing(paper.CLUSTER, grid, paper.RECOVERY, workers=1)
    three = optimise_sparing(paper.CLUSTER, grid, paper.RECOVERY, workers=3)
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


@pytest.mark.slow
def test_figures_2_to_5_in_words() -> None:
    """What the paper says about its maps, on a range of its own (the paper prints no axes here)."""
    cluster, gains, recovery = replace(paper.CLUSTER, group=None), paper.PERFORMANCE, paper.RECOVERY
    mtbf, mttr = np.geomspace(5000, 200_000, 30), np.geomspace(4, 168, 30)
    names = paper.STRATEGIES.labels(2)

    def won(where: Cluster, performance: Performance) -> pd.Series:
        table = sparing_map(where, paper.STRATEGIES, mtbf, mttr, recovery, performance).shares()
        assert table["share"].is_monotonic_decreasing
        return table.set_index("strategy")["share"].reindex(names)

    plain = won(cluster, Performance())
    model = won(cluster, Performance(model=gains.model))
    power = won(cluster, gains)
    placed = won(paper.CLUSTER, gains)
    assert plain["36/36"] + plain["18/18"] > 0.5
    assert plain["36/32"] + plain["18/16"] < 0.02
    assert model["72/72"] + model["72/64"] > 0.98
    assert power["72/64"] > model["72/64"] + 0.1
    assert placed["72/64"] > 0.94


@pytest.mark.parametrize("least", [1.0, 0.0])
def test_boundaries_lie_where_two_strategies_are_equal(least: float) -> None:
    cluster, recovery = replace(paper.CLUSTER, group=None), paper.RECOVERY
    mttr = np.append(least, np.geomspace(2, 100, 11))
    found = sparing_map(cluster, paper.STRATEGIES, np.geomspace(1e3, 1e5, 12), mttr, recovery)
    assert len(found.boundaries) > 10
    assert found.boundaries["mttr"].min() < 2.0
    labels = found.evaluation.labels
    for row in found.boundaries.itertuples():
        pair = paper.STRATEGIES.take(np.array([labels.index(row.below), labels.index(row.above)]))
        side = evaluate_sparing(cluster, pair, DeviceFailures(row.mtbf, row.mtbf / 2, row.mttr), recovery).goodput
        assert side[0] == pytest.approx(side[1], rel=2e-3)
    json.dumps(found.to_dict(), allow_nan=False)
    assert found.to_frame().shape[0] == 144
    # one boundary for each pair of neighbours with different winners
    along = found.boundaries["along"].value_counts()
    assert along["mtbf"] == np.count_nonzero(np.diff(found.winner, axis=1))
    assert along["mttr"] == np.count_nonzero(np.diff(found.winner, axis=0))


@pytest.mark.parametrize("rack", [{"mtbf_rack": 4000}, {"rack_ratio": 0.5}, {"rack_ratio": None}])
def test_a_map_is_the_evaluation_at_its_points(rack: dict[str, float | None]) -> None:
    cluster, mtbf, mttr = replace(paper.CLUSTER, group=None), np.array([2e3, 3e4]), np.array([4.0, 48.0])
    found = sparing_map(cluster, paper.STRATEGIES, mtbf, mttr, paper.RECOVERY, **rack)
    for (row, column), winner in np.ndenumerate(found.winner):
        of_rack = {"mtbf_rack": 4000.0}.get(*rack, mtbf[column] / 2 if rack.get("rack_ratio") else np.inf)
        failures = DeviceFailures(mtbf[column], of_rack, mttr[row])
        one = evaluate_sparing(cluster, paper.STRATEGIES, failures, paper.RECOVERY)
        assert found.evaluation.goodput[:, row, column] == pytest.approx(one.goodput)
        assert winner == one.goodput.argmax()
        *_, second, first = sorted(one.goodput)
        assert found.margin[row, column] == pytest.approx((first - second) / second)


def test_a_strategy_that_is_alone_has_no_second() -> None:
    found = sparing_map(Cluster(racks=8), Strategies(1), [1000.0, 2000.0], [4.0], Recovery())
    assert found.margin.tolist() == [[np.inf, np.inf]]


# ------------------------------------------------------------------ uncertainty


def draws(n: int = 400) -> DeviceFailures:
    rng = np.random.default_rng(1)
    return DeviceFailures(
        20_000 * np.exp(0.2 * rng.normal(size=n)),
        10_000 * np.exp(0.3 * rng.normal(size=n)),
        24 * np.exp(0.15 * rng.normal(size=n)),
    )


def test_uncertain_plan() -> None:
    cluster, some = replace(paper.CLUSTER, group=None), Strategies([36, 36], [0, 4])
    found = plan_sparing(cluster, (paper.FAILURES, draws()), paper.RECOVERY, strategies=some)
    table = found.intervals.set_index("quantity")
    assert np.all(table["low"] <= table["estimate"])
    assert np.all(table["estimate"] <= table["high"])
    assert table.loc["spare_blocks", "low"] < table.loc["spare_blocks", "high"]
    assert found.robust.goodput.mean() >= found.fixed.goodput.mean()
    assert found.wins.columns.tolist() == ["strategy", "share"]
    assert found.wins["share"].sum() == pytest.approx(1.0)
    every = found.over_draws.to_frame()["checkpoint_every_seconds"]
    assert every.to_numpy() == pytest.approx(3600.0 * found.over_draws.checkpoint_every.ravel())
    careful = plan_sparing(cluster, (paper.FAILURES, draws()), paper.RECOVERY, strategies=some, robust=0.05)
    assert np.quantile(careful.robust.goodput, 0.05) > np.quantile(found.robust.goodput, 0.05)
    assert careful.robust.goodput.mean() < found.robust.goodput.mean()
    assert "22 spare blocks per zone (1" in found.headline
    assert "of GPU hours advance the job (CETT)." in found.headline
    json.dumps(found.to_dict(), allow_nan=False)


def test_robust_plan_looks_beyond_the_plan_for_the_estimates() -> None:
    """Without spare trays is best for the estimates; over the draws, most of which are far worse, a spare tray is."""
    cluster, some = Cluster(2, 64, 4, 8), Strategies([4, 4], [0, 1])
    recovery = Recovery("10min", "1min", "1min", "5min")
    estimate = DeviceFailures(40_000, 20_000, 24)
    cases = DeviceFailures(np.concatenate([np.full(30, 40_000.0), np.full(70, 150.0)]), 20_000.0, 24.0)
    found = plan_sparing(cluster, (estimate, cases), recovery, strategies=some)
    assert found.best.labels[found.chosen] == "32/32"
    assert found.robust.labels == ["32/24"]
    every = evaluate_sparing(cluster, Strategies(4, 1, range(64)), cases, recovery).goodput.mean(axis=1)
    assert found.robust.goodput.mean() == pytest.approx(every.max(), rel=1e-12)
    assert found.robust.goodput.mean() > 1.02 * found.fixed.goodput.mean()


def test_robust_plan_is_the_best_of_all_numbers_of_spares() -> None:
    cluster, recovery = Cluster(2, 64, 4, 8), Recovery("10min", "1min", "1min", "5min")
    n = 200
    rng = np.random.default_rng(8)
    cases = DeviceFailures(3000 * np.exp(0.4 * rng.normal(size=n)), 20_000.0, 24.0)
    found = plan_sparing(cluster, (DeviceFailures(3000, 20_000, 24), cases), recovery, strategies=Strategies(4, 0))
    every = evaluate_sparing(cluster, Strategies(4, 0, range(64)), cases, recovery)
    assert found.robust.goodput.mean() == pytest.approx(every.goodput.mean(axis=1).max(), rel=1e-12)


def test_parameters_in_plan_out() -> None:
    from relfit.fleet.calibration import Parameters

    known = Parameters(mtbf={"tray": {"value": 2000, "low": 1500, "high": 2700, "level": 0.9}}, mttr="24h")
    found = plan_sparing(Cluster(racks=64, trays=4, gpus=8), known, Recovery(save="1min", restart="5min"), rng=1)
    again = plan_sparing(Cluster(racks=64, trays=4, gpus=8), known, Recovery(save="1min", restart="5min"), rng=1)
    assert found.intervals.equals(again.intervals)
    assert any("racks" in note for note in found.assumptions)
    assert any("mttr" in note for note in found.assumptions)
    with pytest.raises(ArgumentError, match="mttr"):
        plan_sparing(Cluster(racks=4), Parameters(mtbf="2000h"))
    by_hand = device_failures(Parameters(mtbf="2000h"), 5, mttr="2 days", mtbf_rack=9000)
    assert [a.tolist() for a in (by_hand.mtbf_tray, by_hand.mtbf_rack, by_hand.mttr)] == [
        [2000.0] * 5,
        [9000.0] * 5,
        [48.0] * 5,
    ]


def test_what_a_plan_file_leaves_out_has_no_effect(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text("[cluster]\nracks = 16\ntrays = 4\ngpus = 8\n")
    file = read_plan_file(tmp_path / "plan.toml")
    assert file.parameters is None
    assert file.cluster is not None
    assert file.cluster.cluster() == Cluster(racks=16, trays=4, gpus=8)
    assert file.cluster.recovery() == Recovery()
    assert Cluster().total_gpus == 1
    found = evaluate_sparing(
        file.cluster.cluster(),
        file.cluster.strategies(),
        DeviceFailures(np.inf, np.inf, 0.0),
        file.cluster.recovery(),
        file.cluster.performance(),
    )
    # nothing fails and saves take no time: the best choice is every GPU, all the time
    assert found.goodput.max() == pytest.approx(16 * 4 * 8, rel=1e-12)
    every, kept = (ClusterTable(racks=16, trays=4, spare_blocks=n).strategies() for n in (None, 3))
    assert len(kept) == len(every) > 1
    assert kept.spare_blocks is not None
    assert kept.spare_blocks.tolist() == [3] * len(every)


# ------------------------------------------------------------------ assumptions


@pytest.mark.slow
def test_assumptions_of_a_log() -> None:
    log = rf.datasets.load("white").between("2002-01-01", "2002-04-01")
    found = check_assumptions(rf.calibrate(log, period="all", at="long run"))
    table = found.to_frame().set_index("assumption")
    assert table.loc["independent nodes", "holds"] == "no"
    assert len(table) == 6
    assert all(item.consequence for item in found.failing)
    json.dumps(found.to_dict(), allow_nan=False)


def test_assumptions_of_parameters() -> None:
    from relfit.fleet.calibration import Parameters

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


@pytest.mark.parametrize(("concern", "holds"), [(False, "yes"), (True, "no"), (None, "unknown")])
def test_an_assumption_fails_only_where_the_calibration_says_so(concern: bool | None, holds: str) -> None:
    """A Weibull shape of 1.007 (0.948-1.069), of which the log says "no evidence", was "weibull fits best": failed."""
    from relfit.fleet.calibration import Parameters

    families = {
        "failure": {"family": "weibull", "parameters": {"shape": 1.007, "scale": 1683.0}},
        "repair": {"family": "weibull", "parameters": {"shape": 0.97, "scale": 5.0}},
    }
    checks = [
        {"name": f"{name}s.exponential", "concern": concern, "finding": f"what the log says of {name}s"}
        for name in families
        if concern is not None
    ]
    known = Parameters(mtbf="1678h", checks=checks, provenance={"files": ["log.parquet"]}, **families)
    table = check_assumptions(known).to_frame().set_index("assumption")
    for name, assumption in (("failure", "exponential times to failure"), ("repair", "exponential repairs")):
        assert table.loc[assumption, "holds"] == holds
        if concern is not None:
            assert table.loc[assumption, "finding"] == f"what the log says of {name}s"


@pytest.mark.parametrize(("period", "said"), [("steady", "good and bad weeks"), ("all", "a period of constant rate")])
def test_what_follows_from_an_unsteady_rate_fits_the_period(period: str, said: str) -> None:
    """Parameters of the stable period were told to be calibrated on a stable period."""
    from relfit.fleet.calibration import Parameters

    checks = [
        {"name": "dependence.pooled", "concern": True, "finding": "the series is autocorrelated"},
        {"name": "dispersion.any", "concern": True, "finding": "counts scatter 4 times as much as Poisson"},
    ]
    found = check_assumptions(Parameters(mtbf="1678h", checks=checks, period={"name": period}))
    (failing,) = found.failing
    assert failing.name == "steady rate"
    assert failing.finding == "counts scatter 4 times as much as Poisson"
    assert said in failing.consequence


# -------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("block = 5", "cluster.block: block GPUs must be whole trays of 8 GPUs"),
        ("rakcs = 16", r"plan\.toml: cluster\.rakcs: this key is unknown; did you mean racks\?"),
        ('save = "2h"', "cluster.save: save of 7200 s takes longer than the 3600 s between checkpoints"),
    ],
)
def test_a_plan_file_says_which_key_cannot_be(line: str, said: str, tmp_path: Path) -> None:
    text = f'[cluster]\nracks = 16\ntrays = 4\ngpus = 8\ncheckpoint_every = "1h"\n{line}\n'
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(ReadError, match=said):
        read_plan_file(tmp_path / "plan.toml")


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
        (lambda: sparing_map(Cluster(racks=4), Strategies(1), [2, 1], [1], Recovery()), "mtbf does not rise"),
    ],
)
def test_bad_input_is_one_clear_line(make: object, said: str) -> None:
    with pytest.raises(ArgumentError, match=said) as caught:
        make()  # type: ignore[operator]
    assert "\n" not in str(caught.value)


def test_names_of_the_room() -> None:
    import relfit.planning as planning

    assert planning.block_mtbf(4, 0, 100, np.inf, 1) == pytest.approx(25.0)
    for name in ("Cluster", "evaluate_sparing", "plan_sparing", "sparing_map"):
        assert callable(getattr(planning, name))


def test_frames() -> None:
    found = evaluate_sparing(paper.CLUSTER, paper.STRATEGIES, paper.FAILURES, paper.RECOVERY, paper.PERFORMANCE)
    frame = found.to_frame()
    assert frame["working_gpus"].tolist() == [72, 64, 36, 32, 18, 16]
    assert frame["cett_percent"].to_numpy() == pytest.approx(100.0 * found.cett)
    assert frame["job_mtbf_hours"].to_numpy() == pytest.approx(1.0 / found.failure_rate)
    assert found.ranking()["working_gpus"].iloc[0] == 64
    assert "72/64" in repr(found)
    assert "<td>64512</td>" in found._repr_html_()
    best = optimise_sparing(paper.CLUSTER, paper.FAILURES, paper.RECOVERY)
    assert "46 strategies do not fit the placement groups" in best.headline
