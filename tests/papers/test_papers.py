"""The papers' tables: cells derived again from the formulas in a few lines, and the script that prints them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from papers import allocation, migration, run, sparing
from papers.migration import SCENARIOS
from papers.printed import half_unit, printed_table


def mean_by_markov_chain(trays: int, spares: int, mtbf: float, mttr: float) -> float:
    """Mean time from no failed tray to one more than there are spares, where one repair restores all."""
    rates = np.zeros((spares + 1, spares + 1))
    for failed in range(spares + 1):
        fail, repair = (trays - failed) / mtbf, 1.0 / mttr if failed else 0.0
        rates[failed, failed] += fail + repair
        if failed < spares:
            rates[failed, failed + 1] -= fail
        if failed:
            rates[failed, 0] -= repair
    return float(np.linalg.solve(rates, np.ones(spares + 1))[0])


def test_table_1_of_sparing_by_hand() -> None:
    """CETT and spares of every row, from the Markov chain and the binomial distribution of scipy."""
    period, save, detection, restart = 250 / 3600, 0.05 / 3600, 60 / 3600, 360 / 3600
    exact = sparing.table_1()[1]
    for row, ours in zip(printed_table("sparing-table-1").astype(float).itertuples(), exact.itertuples(), strict=True):
        trays, spares = int(row.block) // 2, int(row.block - row.working) // 2
        blocks, unit = 256 * 36 // trays, 2304 // int(row.working)
        mean = 1 / (1 / 10_000 + 1 / mean_by_markov_chain(trays, spares, 20_000, 24))
        r = np.arange(blocks)
        blocked = 1 - (1 - stats.binom.sf(r, blocks, 24 / (24 + mean))) ** 4
        rate = (blocks - r) * 4 * (1 / 10_000 + (trays - spares) / 20_000)
        kept = period / (np.expm1(rate * period) * (1 / rate + detection + restart) + save)
        cett = (1 - r / blocks) * (1 - spares / trays) * (1 - blocked) * kept
        placed = int(np.where((blocks - r) % unit == 0, cett, 0).argmax())
        assert ours.cett == pytest.approx(100 * cett[placed], rel=1e-9)
        assert round(100 * cett[placed], 1) == pytest.approx(row.cett, abs=0.1)


def test_sequential_cells_of_migration_by_hand() -> None:
    """Tables 1 to 6: spares from scipy's binomial distribution, and the improvement with the spares taken off twice."""
    cells = migration.cells().set_index(["table", "cell"])
    days = {"day": 1, "week": 7, "month": 210, "year": 2520}
    for row in printed_table("migration-tables-1-6").itertuples():
        scenario = list(SCENARIOS.values())[int(row.table) - 1]
        save, restore, restart, move = (
            float(x) for x in (scenario.save, scenario.restore, scenario.restart, scenario.migration)
        )
        mean, nodes = 24.0 * days[row.mtbf], 2 ** int(row.log2_nodes)
        spares = int(stats.binom.isf(1e-4, nodes, (move + restart) / (mean + move + restart)))
        where = f"1 {row.mtbf}, 2^{row.log2_nodes} nodes"
        found = cells.loc[(row.table, f"{where}, spares, risk 1e-4")]
        assert int(found["printed"]) == int(found["ours"]) == spares
        gain = (mean + save + restart + restore) / (mean + move) * (1 - spares / nodes) ** 2 - 1
        found = cells.loc[(row.table, f"{where}, sequential, risk 1e-4")]
        assert 100 * gain == pytest.approx(float(found["printed"]), abs=0.005 + 1e-9)
        assert found["ours"] == pytest.approx(100 * gain, abs=1e-9)


@pytest.mark.parametrize(("module", "count", "agree"), [(sparing, 48, 48), (migration, 442, 397), (allocation, 67, 57)])
def test_cells_of_each_paper(module: object, count: int, agree: int) -> None:
    cells = module.cells()  # type: ignore[attr-defined]
    assert (len(cells), int(cells["agrees"].sum())) == (count, agree)
    assert cells.loc[cells["required"], "agrees"].all()


def test_cells_by_hand() -> None:
    """Some cells, copied from the papers."""
    found = {
        "sparing": sparing.cells().set_index("cell").loc[["72/64 cett", "18/16 goodput", "36/36 inter"], "printed"],
        "migration": migration.cells().query("table == '7'").set_index("cell").loc[["1 year, 2^14 nodes"], "printed"],
        "allocation": allocation.cells().set_index("cell").loc[["14 nodes, expected", "7 nodes, M"], "printed"],
    }
    assert {name: cells.tolist() for name, cells in found.items()} == {
        "sparing": ["68.5", "50307", "4.7"],
        "migration": ["76.3"],
        "allocation": ["392.9122", "2190"],
    }
    ours = allocation.cells().set_index("cell")["ours"]
    assert ours["14 nodes, expected"] == pytest.approx(392.9122, abs=1e-3)
    assert [half_unit(text) for text in ("665.333", "14")] == [0.0005, 0.5]


def test_cells_of_parallel_jobs_are_near() -> None:
    cells = migration.cells().query("not required")
    printed = cells["printed"].astype(float)
    assert len(cells) == 144
    assert ((cells["ours"] - printed).abs() / (100 + printed)).max() < 2e-4


def test_what_moves_the_parallel_cells() -> None:
    """An empirical description, on the page about migration."""
    from relfit.planning.migration.prediction import job_mix

    for row in printed_table("migration-tables-1-6").to_dict("records"):
        scenario, nodes = list(SCENARIOS.values())[int(row["table"]) - 1], 2 ** int(row["log2_nodes"])
        mix, mu = job_mix(nodes), 24.0 * migration.PRINTED_DAYS[row["mtbf"]]
        u = mu / (mu + mix.sizes * float(scenario.migration))
        other = float(2 * scenario.save + scenario.restart)
        saved = (mix.jobs * mix.sizes * mu / (mu + mix.sizes * other)).sum()
        for risk in ("1e-4", "1e-6"):
            left = (mix.jobs * (mix.sizes * u - 0.46 * u * (1 - u) ** 2)).sum() * (
                1 - int(row[f"spares_{risk}"]) / nodes
            )
            assert 100 * (left / saved - 1) == pytest.approx(float(row[f"parallel_{risk}"]), abs=0.00505)


def test_the_spare_too_many_comes_from_lost_digits() -> None:
    n, away = 2**20, 3.5 / 1443.5
    # factorials summed logarithm by logarithm, as a program of the time would
    factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    k = np.arange(4000)
    log_p = factorial[n] - factorial[k] - factorial[n - k] + (n - k) * np.log1p(-away) + k * np.log(away)
    assert int(np.argmax(np.cumsum(np.exp(log_p)) >= 1 - 1e-6)) == 2786
    assert stats.binom.sf(2785, n, away) < 1e-6 < stats.binom.sf(2784, n, away) * 1.02


def test_corrected_value_of_a_cell() -> None:
    """A year of 365 days, spares once, N = 2**17, today, sequential."""
    n, mu = 2**17, 365 * 1440.0
    spares = next(m for m in range(100) if stats.binom.sf(m, n, 3.5 / (mu + 3.5)) <= 1e-4)
    expected = (mu + 52.5) / (mu + 1.0) * (n - spares) / n - 1
    cells = migration.cells().query("table == '1'").set_index("cell")["right"]
    assert cells["1 year, 2^17 nodes, sequential, risk 1e-4"] == pytest.approx(100 * expected)
    assert cells["1 year, 2^17 nodes, spares, risk 1e-4"] == spares


@pytest.mark.slow
def test_every_cell_that_differs_says_why() -> None:
    for module in (sparing, migration, allocation):
        cells = module.cells()
        assert (cells.loc[~cells["agrees"], "why"] != "").all()
    off = migration.cells().query("not agrees")
    assert (off["ours"] > off["printed"].astype(float)).all()
    assert (off["ours"] - off["printed"].astype(float)).max() < 0.1051


def test_chapter_4_by_hand() -> None:
    """Three equal Weibull nodes of age t: R = exp(3 (t/a)^b - 3 ((t + x)/a)^b); the mean by summing it up."""
    a, b = 1542.0, 0.8606
    cells = allocation.cells().query("table == '4'").set_index("cell")["ours"]
    for figure, t, x in (("4.4", 0, 100), ("4.5", 300, 500), ("4.6", 200, 350), ("4.7", 50, 150)):
        after = np.arange(0.5, 40_000.0)
        survival = np.exp(3 * (t / a) ** b - 3 * ((t + after) / a) ** b)
        reliability = np.exp(3 * (t / a) ** b - 3 * ((t + x) / a) ** b)
        hazard = 3 * b / a * ((t + x) / a) ** (b - 1)
        expected = [reliability, 1 - reliability, hazard, survival.sum()]
        names = [f"Figure {figure}, {name}" for name in ("reliability", "cdf", "hazard", "mttf")]
        assert cells[names].tolist() == pytest.approx(expected, rel=2e-5)


def test_the_labels_of_table_3_5_are_swapped() -> None:
    """The shape and the scale of chapter 4 lie between what is printed as least and greatest of the other."""
    table = printed_table("allocation-table-3.5").set_index("statistic").astype(float)
    assert table.loc["minimum", "scale"] < 0.8606 < table.loc["maximum", "scale"]
    assert table.loc["minimum", "shape"] < 1542 < table.loc["maximum", "shape"]


def test_script(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run.main(["sparing"]) == 0
    said = capsys.readouterr().out
    assert "48 cells\n   48  agree to the last digit\n    0  unexplained\n" in said
    assert run.main(["airesim"]) == 2
    assert "there is no paper 'airesim'; it is one of sparing, migration, allocation" in capsys.readouterr().err
    wrong = sparing.cells()
    wrong.loc[3, "agrees"] = False
    monkeypatch.setattr(sparing, "cells", lambda: wrong)
    assert run.main(["sparing"]) == 1
    assert "differs (unexplained)\n" in capsys.readouterr().out
