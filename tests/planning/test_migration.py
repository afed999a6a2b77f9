"""Migration against brute force, and jobs followed event by event with imperfect predictions."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from papers.migration import SCENARIOS
from relfit.base.errors import ArgumentError
from relfit.fitting.families import Exponential
from relfit.fleet.calibration import Parameters
from relfit.planning import MigrationPlan, Predictor, Scenario, plan_checkpoints, plan_migration
from relfit.planning.migration.migration_plan import spares_for_alarms
from relfit.planning.migration.prediction import (
    best_predicted_interval,
    break_even_recall,
    compare_throughputs,
    job_mix,
    predicted_waste,
    spares_for_risk,
)
from relfit.system.jobs import Checkpoint
from relfit.system.jobs.checkpoint import best_interval, best_waste, waste
from tests.factories import migration_costs

# ------------------------------------------------------------ perfect prediction


def test_spares_against_direct_count() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        n, mu = int(rng.integers(1, 400)), np.exp(rng.uniform(-1, 6))
        m, d, risk = rng.uniform(0, 2), rng.uniform(0, 2), 10 ** rng.uniform(-8, -0.5)
        away = (m + d) / (mu + m + d)
        direct = next(k for k in range(n + 1) if stats.binom.sf(k, n, away) <= risk)
        assert spares_for_risk(n, mu, m, d, risk) == direct
    assert spares_for_risk(100, 10.0, 0.0, 0.0, 1e-4) == 0
    with pytest.raises(ArgumentError, match="risk"):
        spares_for_risk(100, 10.0, 0.1, 0.1, 0.0)


def test_mix_fills_the_machine() -> None:
    mix = job_mix(2**10)
    assert (mix.sizes * mix.jobs).sum() == pytest.approx(2**10)
    assert mix.jobs[0] / mix.jobs.sum() == pytest.approx(0.25)


def test_throughputs_of_sequential_jobs() -> None:
    mine = Scenario(0.4, 0.3, 0.2, 0.1)
    found = compare_throughputs(mine, 1000, 24.0, 1e-3, parallel=False)
    m = int(spares_for_risk(1000, 24.0, 0.1, 0.2, 1e-3))
    assert float(found.save_in_time) == pytest.approx(1000 * 24 / 24.9)
    assert float(found.migrate) == pytest.approx(24 / 24.1 * (1000 - m))
    assert float(found.periodic_exact) == pytest.approx(1000 * (1 - float(best_waste(24.0, 0.4, 0.3, 0.2))))
    assert float(found.nothing) == 0.0
    assert float(compare_throughputs(mine, 1000, 0.5, 1e-3, parallel=False).nothing) == 1.0
    again = compare_throughputs(mine, [1000, 10], [24.0, 2.4], 1e-3, parallel=False)
    assert again.migrate[0] == found.migrate
    json.dumps(again.to_dict(), allow_nan=False)


# ---------------------------------------------------------- imperfect prediction

COSTS = (0.2, 0.3, 0.1, 0.25)  # save, restore, restart, migration


def followed(
    mtbf: float,
    work: float,
    save: float,
    restore: float,
    restart: float,
    move: float,
    predictor: Predictor,
    rng: np.random.Generator,
    runs: int = 20,
    periods: int = 400,
) -> np.ndarray:
    """Waste of jobs that go from save to save; times to the next strike and alarm have no memory."""
    strikes, avoided, false = (float(x) for x in predictor.rates(np.asarray(mtbf), np.asarray(move)))
    alarms = avoided + false
    wastes = np.empty(runs)
    for run in range(runs):
        draws = iter(rng.standard_exponential(200 * periods))
        clock, kept, left, restoring = 0.0, 0, work + save, False
        while kept < periods:
            strike = next(draws) / strikes if strikes else np.inf
            alarm = next(draws) / alarms if alarms else np.inf
            moved = alarm < min(strike, left)
            if moved:
                clock, left = clock + alarm, left - alarm
                strike = next(draws) / strikes if strikes else np.inf
                if strike > move:
                    clock += move
                    continue
            elif left <= strike:
                clock += left
                kept += not restoring
                left, restoring = work + save, False
                continue
            clock, left, restoring = clock + strike + restart, restore, True
        wastes[run] = 1.0 - kept * work / clock
    return wastes


@pytest.mark.parametrize(
    "predictor",
    [
        Predictor(0.0),
        Predictor(0.8, 0.5),
        Predictor(0.6, 0.3, Exponential(2.0)),
        Predictor(1.0, 0.7),
        Predictor(0.9, 1.0, 0.1),
    ],
)
def test_waste_against_jobs_followed(predictor: Predictor) -> None:
    for mtbf, interval, seed in [(24.0, 2.0, 1), (2.0, 0.5, 2)]:
        wastes = followed(mtbf, interval, *COSTS, predictor, np.random.default_rng(seed))
        expected = float(predicted_waste(mtbf, interval, *COSTS, predictor))
        assert wastes.mean() == pytest.approx(expected, abs=4.5 * wastes.std(ddof=1) / np.sqrt(wastes.size) + 2e-4)


def test_without_predictions_it_is_checkpointing() -> None:
    none = Predictor(0.0)
    assert float(predicted_waste(24, 2, *COSTS, none)) == pytest.approx(float(waste(24, 2, 0.2, 0.3, 0.1)))
    late = Predictor(0.9, 1.0, "10min")  # a migration takes 15 minutes
    assert float(predicted_waste(24, 2, *COSTS, late)) == pytest.approx(float(waste(24, 2, 0.2, 0.3, 0.1)))
    assert float(best_predicted_interval(24, *COSTS, none)) == pytest.approx(float(best_interval(24, 0.2)))


def test_best_interval_against_a_grid_and_first_order() -> None:
    grid = np.geomspace(0.05, 400, 4000)
    for predictor in (Predictor(0.5, 0.5), Predictor(0.95, 0.2), Predictor(0.8, 0.9, Exponential(1.0))):
        best = best_predicted_interval(24, *COSTS, predictor)
        wastes = predicted_waste(24, grid, *COSTS, predictor)
        assert float(predicted_waste(24, best, *COSTS, predictor)) <= wastes.min() + 1e-12
        assert float(best) == pytest.approx(grid[wastes.argmin()], rel=0.01)
    # Aupy and others: sqrt(2 C mu / (1 - r))
    best = float(best_predicted_interval(1e6, 0.01, 0, 0, 0, Predictor(0.75)))
    assert best == pytest.approx(np.sqrt(2 * 0.01 * 1e6 / 0.25), rel=1e-3)
    assert best_predicted_interval(24, *COSTS, Predictor(1.0)) == np.inf
    assert predicted_waste(24, np.inf, *COSTS, Predictor(1.0)) == pytest.approx(0.25 / 24.25)


@pytest.mark.parametrize("precision", [1.0, 0.5])
def test_break_even_recall(precision: float) -> None:
    least = float(break_even_recall(240, *COSTS, precision=precision, working_share=0.985))
    assert 0.05 < least < 1.0
    alone = 1.0 - float(best_waste(240, 0.2, 0.3, 0.1))
    for recall, pays in [(least - 0.01, False), (least + 0.01, True)]:
        predictor = Predictor(recall, precision)
        best = best_predicted_interval(240, *COSTS, predictor)
        assert (0.985 * (1.0 - float(predicted_waste(240, best, *COSTS, predictor))) > alone) == pays
    free = break_even_recall(240, *COSTS)
    assert free == pytest.approx(0.0, abs=0.011)
    assert np.isnan(break_even_recall(240, *COSTS, precision=0.001, working_share=0.985))
    assert np.isnan(break_even_recall(240, *COSTS, working_share=0.5))


def test_what_a_predictor_cannot_be() -> None:
    for given, message in [
        ({"recall": 80}, "recall is 80"),
        ({"recall": -0.1}, "recall is -0.1"),
        ({"recall": 0.5, "precision": 0.0}, "precision is 0"),
        ({"recall": 0.5, "lead": "soon"}, "lead: 'soon' is not a duration"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            Predictor(**given)  # type: ignore[arg-type]


# ---------------------------------------------------------------------- the plan

FIVE = Checkpoint(save="5min", restore="5min")


def test_plan_of_a_machine() -> None:
    plan = plan_migration(8760, migration_costs(FIVE, "1min", "2.5min"), Predictor(0.7, 0.6), nodes=2**12, events=30)
    table = plan.by_size
    weight = table["nodes_share"]
    assert weight.sum() == pytest.approx(1.0)
    assert plan.checkpoint_yield == pytest.approx((weight * table["checkpoint_yield"]).sum())
    assert plan.migration_yield == pytest.approx((weight * table["migration_yield"]).sum())
    assert plan.gain_low < plan.gain < plan.gain_high
    assert plan.spares_low <= plan.spares <= plan.spares_high
    few = plan_migration(
        876, migration_costs(FIVE, "1min", "2.5min"), Predictor(0.7, 0.6), nodes=2**12, events=4, n_draws=50
    )
    assert few.spares_low < few.spares_high
    assert 0.0 <= plan.probability <= 1.0
    json.dumps(plan.to_dict(), allow_nan=False)
    single = plan_migration(8760, migration_costs(Checkpoint(None, 1, 1), 3.0, 0.1), nodes=100, mix=1.0)
    assert len(single.by_size) == 1
    assert any("own best spare" in text for text in single.findings)


def test_plan_says_from_which_recall_it_pays() -> None:
    def plan(migration: str, recall: float) -> MigrationPlan:
        return plan_migration(8760, migration_costs(FIVE, migration), Predictor(recall, 0.6), nodes=2**12, spares=200)

    pays, never = plan("10min", 0.7), plan("2h", 0.7)
    costs = migration_costs(FIVE, "10min")
    dear = plan_migration(8760, costs, Predictor(0.05, 0.6), nodes=256, spares=2)
    assert "do without migration" in dear.headline
    assert "it would pay from a recall of 0.32 on" in " ".join(dear.findings)  # not "it pays", beside the headline
    least = float(pays.by_size["break_even_recall"].iloc[-2])
    largest = "For the largest jobs beside the spares, of 2,048 nodes, it pays"  # 200 of the 4,096 nodes are spares
    assert f"{largest} from a recall of {least:.2g} on" in " ".join(pays.findings)
    table = pays.by_size
    gaining = table["nodes"][table["migration_yield"] > table["checkpoint_yield"]]
    assert 0 < len(gaining) < len(table)
    assert f"It pays for jobs of {gaining.min():,} nodes and more." in pays.findings
    gains = [plan("10min", recall).by_size.iloc[-2] for recall in (0.95 * least, 1.05 * least)]
    assert [bool(row["migration_yield"] > row["checkpoint_yield"]) for row in gains] == [False, True]
    assert np.isnan(never.by_size["break_even_recall"].iloc[-1])
    assert "it pays" not in " ".join(never.findings)


def test_without_a_spare_there_is_nowhere_to_migrate_to() -> None:
    """Migration "with 0 spares" was said to pay, most of all where one was too many for the risk."""
    cheap, good = migration_costs(FIVE, "1min"), Predictor(0.7, 0.6)
    for predictor in (None, good):
        none = plan_migration("2160h", cheap, predictor, nodes=200, spares=0, repair="1h")
        assert none.headline.endswith("; without a spare there is nowhere to migrate to.")
        assert "migration" not in " ".join(none.findings)
        assert none.by_size["break_even_recall"].isna().all()
        assert none.with_spares is None
    assert none.gain == 0.0
    assert none.by_size["migration_yield"].tolist() == none.by_size["checkpoint_yield"].tolist()
    assert none.by_size["migration_every"].to_numpy() == pytest.approx(none.by_size["checkpoint_every"].to_numpy())
    sure = plan_migration("1e9h", cheap, good, nodes=200, events=9)
    assert (sure.spares, sure.spares_low, int(sure.perfect.spares)) == (1, 1, 1)
    with pytest.raises(ArgumentError, match="a machine of 1 node has none to migrate to"):
        plan_migration("2160h", cheap, good, nodes=1)


def test_sentences_on_sizes_go_with_the_headline() -> None:
    """Without migration on the average it "paid", and best for jobs of 256 nodes, 178 of which were spares."""
    plan = plan_migration("24h", migration_costs(FIVE, "1min"), Predictor(0.7, 0.6), nodes=256, repair="48h")
    assert plan.headline.endswith("migration with 178 spares 0.059 %: do without migration.")
    assert "Only jobs of 2 nodes and more gain by it." in plan.findings
    assert any("For the largest jobs beside the spares, of 64 nodes, it pays from" in text for text in plan.findings)
    free = plan_migration("24h", Scenario(0, 0, migration=0), nodes=256)
    assert any(text.startswith("A migration is no faster than to save") for text in free.findings)
    each = plan_migration("2160h", migration_costs(FIVE, "1min"), Predictor(0.7, 0.6), nodes=256, mix=1.0)
    assert any("beside the spares, of 1 node, it pays" in text for text in each.findings)
    with pytest.raises(ArgumentError, match="migration: None is not a duration"):
        Scenario(0, 0)


def test_predictions_that_foresee_nothing_do_not_pay() -> None:
    """Without spares to pay for they gain nothing and cost nothing."""
    plan = plan_migration(1e5, migration_costs(FIVE, "1min", "2min"), Predictor(0.0, None), nodes=4, risk=0.5)
    assert np.isnan(plan.break_even["precision"].item())


def test_plan_takes_parameters() -> None:
    known = Parameters(mtbf={"node": {"value": 8760, "low": 6000, "high": 12000}}, fleet={"nodes": 512})
    plan = plan_migration(known, migration_costs(FIVE, "1min", "2min"), Predictor(0.5, 1.0))
    assert plan.nodes == 512
    assert plan.n_draws == 1000
    few = (1.0, migration_costs(Checkpoint(None, 1, 1), 1, 50.0), Predictor(1.0, 1.0))
    with pytest.raises(ArgumentError, match=r"of 4 nodes \d+ would be spares.*; allow more risk"):
        plan_migration(*few, nodes=4, risk=1e-9)
    with pytest.raises(ArgumentError, match="4 spares of 4 nodes leave nothing to work with; give fewer"):
        plan_migration(*few, nodes=4, spares=4)
    with pytest.raises(ArgumentError, match=r"recall is 1\.5"):
        plan_migration(known, migration_costs(FIVE, 1), Predictor(1.5, None))
    with pytest.raises(ArgumentError, match="mtbf is 0 hours"):
        predicted_waste(0.0, 2.0, *COSTS, Predictor(0.5))
    with pytest.raises(ArgumentError, match="mtbf is 0 hours"):
        compare_throughputs(SCENARIOS["today"], 1024, 0.0)


def test_failures_of_whole_systems_are_not_predicted() -> None:
    known = Parameters(mtbf={"node": 1e9, "system": "50h"}, fleet={"nodes": 64})
    plan = plan_migration(
        known, migration_costs(Checkpoint(None, "10min", "10min"), "1min"), Predictor(1.0, 1.0), spares=0
    )
    alone = 1 - float(best_waste(50.0, 1 / 6, 1 / 6))
    assert plan.migration_yield == pytest.approx(alone, rel=1e-4)
    assert plan.by_size["mtbf"].to_numpy() == pytest.approx(50.0, rel=1e-4)


def test_a_job_of_each_size_fails_as_in_a_plan_of_its_own() -> None:
    """Groups of two nodes of 512 hit a quarter of the jobs of 64, and were taken to hit a job of one as often."""
    known = Parameters(
        mtbf={"node": "15330h", "rack": "9000h", "group": "1505h", "system": "40000h"},
        mttr={"node": "2h", "rack": "5h", "group": "4h", "system": "9h"},
        fleet={"nodes": 512, "racks": 32, "rack_share": 0.3, "group_share": 0.00415},
    )
    plan = plan_migration(known, migration_costs(FIVE, "5min"), nodes=64)
    for row in plan.by_size.itertuples():
        alone = plan_checkpoints(known, FIVE, nodes=int(row.nodes))
        assert row.mtbf == pytest.approx(alone.mtbf, rel=1e-9)
        assert row.checkpoint_yield == pytest.approx(1.0 - alone.waste, abs=1e-6)
    one = 1 / 15330 + 0.3 / 9000 + 0.00415 / 1505 + 1 / 40000
    assert plan.by_size["mtbf"].iloc[0] == pytest.approx(1 / one, rel=1e-9)


@pytest.mark.parametrize(
    ("size", "hit"), [(1, 4 / 16), (2, 1 - 12 * 11 / (16 * 15)), (12, 1 - 1 / 1820), (13, 1.0), (48, 3.0)]
)
def test_four_of_sixteen_nodes_of_a_rack_miss_a_job_as_often_as_by_counting(size: int, hit: float) -> None:
    """C(12, 12) of the C(16, 12) = 1820 jobs of twelve nodes stand on the twelve that are spared, and none of 13."""
    known = Parameters(mtbf={"node": 1e12, "rack": "1000h"}, fleet={"nodes": 64, "racks": 4, "rack_share": 0.25})
    assert float(plan_checkpoints(known, FIVE, nodes=size).mtbf) == pytest.approx(1000.0 / hit, rel=1e-6)


def test_spares_count_before_it_is_said_from_which_recall_a_job_gains() -> None:
    plan = plan_migration(
        "15000h", migration_costs(FIVE, "5min"), nodes=64
    )  # one spare of 64 idles 1.6 % of the machine
    small = plan.by_size[plan.by_size["checkpoint_yield"] > 1 - 1 / 64]
    assert len(small) > 3
    assert small["break_even_recall"].isna().all()


@pytest.mark.slow
def test_without_a_stated_quality_the_plan_says_which_is_needed() -> None:
    one = {"costs": Scenario("2min", "2min", "1min", "4min"), "nodes": 256}
    plan = plan_migration("100 days", **one)
    assert plan.predictor is None
    assert np.isnan(plan.migration_yield)
    assert "migration pays on average from a recall of" in plan.headline
    assert "Give the recall and precision" in plan.headline
    table = plan.break_even.dropna()
    assert len(table) >= 3
    assert np.all(np.diff(table["recall"]) > 0)
    for precision, recall in table.itertuples(index=False):
        for step, pays in ((-0.02, False), (0.02, True)):
            there = plan_migration("100 days", **one, predictor=Predictor(recall + step, precision))
            assert (there.gain > 0) == pays
    missing = plan_migration("100 days", **one, predictor=Predictor(0.9, None)).break_even
    assert missing["recall"].tolist() == [0.9]
    least = float(missing["precision"].iloc[0])
    assert plan_migration("100 days", **one, predictor=Predictor(0.9, 1.1 * least)).gain > 0
    assert plan_migration("100 days", **one, predictor=Predictor(0.9, 0.9 * least)).gain <= 0
    json.dumps(plan.to_dict(), allow_nan=False)


def test_repairs_are_waited_for_and_take_spares() -> None:
    known = Parameters(mtbf={"node": "3000h", "system": "2000h"}, mttr={"node": "10h", "system": "4h"})
    how = {"nodes": 1024, "predictor": Predictor(0.8, 0.8)}
    waits, spared = (
        plan_migration(known, migration_costs(FIVE, "1min", "2min"), repair=repair, **how) for repair in (None, 0)
    )
    one = waits.by_size.set_index("nodes").loc[256]
    rates = np.array([256 / 3000, 1 / 2000])
    down = float(np.expm1((rates * [10.0, 4.0]).sum()) / rates.sum()) + 2 / 60
    assert one["checkpoint_yield"] == pytest.approx(1 - float(best_waste(1 / rates.sum(), 1 / 12, 1 / 12, down)))
    assert waits.checkpoint_yield < 0.7 * spared.checkpoint_yield
    assert waits.spares > spared.spares + 2
    assert waits.findings[1].startswith("No spares: after each failure the job waits")
    assert "On 1,024 nodes" in waits.headline


def test_a_node_whose_reboot_is_quick_is_its_own_best_spare() -> None:
    assert SCENARIOS["2015"].worth_comparing == np.bool_(False)


def test_the_headline_and_the_table_of_sizes_agree() -> None:
    """The headline is the average over the sizes, by their share of the nodes, and says so; the table has it too."""
    one = {"costs": Scenario("2min", "2min", "1min", "4min"), "nodes": 256}
    plan = plan_migration("100 days", **one)
    assert "with jobs of all sizes, checkpoints alone yield 93 % on average; migration pays on average" in plan.headline
    average = plan.shown.iloc[-1]
    assert average["nodes"] == "average"
    share = plan.by_size["nodes_share"].to_numpy()
    assert average["checkpoint_yield"] == pytest.approx((share * plan.by_size["checkpoint_yield"]).sum())
    overall, sizes = float(average["break_even_recall"]), plan.by_size["break_even_recall"]
    assert f"from a recall of {overall:.2g} with a precision of 1 " in plan.headline
    assert sizes.min() < overall  # what the largest jobs need lies below the average, not all above it
    largest = plan.by_size.index[-1]
    for step, pays in ((-0.02, False), (0.02, True)):  # with the spares that this recall needs
        row = plan_migration("100 days", **one, predictor=Predictor(float(sizes[largest]) + step, 1.0)).by_size.iloc[-1]
        assert bool(row["migration_yield"] > row["checkpoint_yield"]) == pays
    single = plan_migration("100 days", **one, mix=1.0)
    assert "average" not in single.headline
    assert len(single.shown) == 1


def test_false_alarms_need_spares_too() -> None:
    perfect = spares_for_alarms(2**14, 24.0, "1min", "2.5min", Predictor(1.0), 1e-4)
    assert perfect == spares_for_risk(2**14, 24.0, "1min", "2.5min", 1e-4) == 65
    # 0.8 true alarms a failure leave a node for 3.5 minutes, and as many false ones for 1
    away = (0.8 * 3.5 + 0.8 * 1.0) / 60.0 / 24.0
    direct = next(k for k in range(2**14) if stats.binom.sf(k, 2**14, away / (1.0 + away)) <= 1e-4)
    assert spares_for_alarms(2**14, 24.0, "1min", "2.5min", Predictor(0.8, 0.5), 1e-4) == direct


def test_both_answers_where_jobs_wait_for_unpredicted_failures() -> None:
    """With spares for all failures nothing waits: of checkpoints alone by hand, of migration as with no repair."""
    costs = Scenario("5min", "5min", "0h", "1min")
    plan = plan_migration("866h", costs, Predictor(0.5, 0.5), nodes=64, repair="17.6h", mix=1.0)
    assert plan.with_spares is not None
    spares = plan.with_spares["spares"]
    assert spares > plan.spares
    working = 1.0 - spares / 64.0
    assert plan.with_spares["checkpoints alone"] == pytest.approx(
        working * (1 - float(best_waste(866, 1 / 12, 1 / 12)))
    )
    at_once = plan_migration("866h", costs, Predictor(0.5, 0.5), nodes=64, repair=0, mix=1.0, spares=int(spares))
    assert plan.with_spares["migration"] == pytest.approx(at_once.migration_yield)
    assert plan.advice[0].startswith("This is with spares for predicted failures alone; after others, jobs wait.")
    assert at_once.with_spares is None


def test_spares_for_all_do_not_help_while_the_whole_system_is_down() -> None:
    """A system that fails every 50 h for 5 h is up 50 of 55 hours, whatever is predicted."""
    known = Parameters(
        mtbf={"node": "866h", "system": "50h"}, mttr={"node": "17.6h", "system": "5h"}, fleet={"nodes": 64}
    )
    plan = plan_migration(known, Scenario("5min", "5min", "0h", "1min"), Predictor(1.0, 1.0), nodes=64, mix=1.0)
    assert plan.with_spares is not None
    working = 50.0 / 55.0 * (1.0 - plan.with_spares["spares"] / 64.0)
    alone = working * (1 - float(best_waste(1 / (1 / 866 + 1 / 50), 1 / 12, 1 / 12)))
    assert plan.with_spares["checkpoints alone"] == pytest.approx(alone)
    # all failures but those of the system are migrations, of a minute every 866 h
    moved = working * (1 - float(best_waste(50.0, 1 / 12, 1 / 12)))
    assert plan.with_spares["migration"] == pytest.approx(moved, rel=1e-3)
