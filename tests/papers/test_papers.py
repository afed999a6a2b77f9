"""The papers' tables: cells derived anew from the formulas, and how they are shown."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import papers as reproduction
from relfit.cli.main import main
from relfit.errors import ArgumentError
from relfit.planning import block_mtbf
from relfit.planning.migration.break_even import SCENARIOS


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
    """CETT and spares of every row, from the Markov chain and the binomial law of scipy."""
    period, save, detection, restart = 250 / 3600, 0.05 / 3600, 60 / 3600, 360 / 3600
    found = reproduction.sparing_table_1().exact
    for row in found.itertuples():
        trays, spares = row.block // 2, (row.block - row.working) // 2
        blocks, unit = 256 * 36 // trays, 2304 // row.working
        mean = 1 / (1 / 10_000 + 1 / mean_by_markov_chain(trays, spares, 20_000, 24))
        r = np.arange(blocks)
        blocked = 1 - (1 - stats.binom.sf(r, blocks, 24 / (24 + mean))) ** 4
        rate = (blocks - r) * 4 * (1 / 10_000 + (trays - spares) / 20_000)
        kept = period / (np.expm1(rate * period) * (1 / rate + detection + restart) + save)
        cett = (1 - r / blocks) * (1 - spares / trays) * (1 - blocked) * kept
        free, placed = int(cett.argmax()), int(np.where((blocks - r) % unit == 0, cett, 0).argmax())
        assert row.cett == pytest.approx(100 * cett[placed], rel=1e-9)
        if row.block != 72 or row.working != 72:  # there the paper counts the best number up to the placed one
            assert free <= placed
    rng = np.random.default_rng(1)
    for _ in range(50):
        trays = int(rng.integers(1, 73))
        spares = int(rng.integers(0, min(trays, 6)))
        mtbf, mttr, rack = 10 ** rng.uniform(1, 6), 10 ** rng.uniform(-1, 3), 10 ** rng.uniform(2, 6)
        want = 1 / (1 / rack + 1 / mean_by_markov_chain(trays, spares, mtbf, mttr))
        assert float(block_mtbf(trays, spares, mtbf, rack, mttr)) == pytest.approx(want, rel=1e-9)


def test_sequential_cells_of_migration_by_hand() -> None:
    """Tables 1 to 6: spares from scipy's binomial law, and the improvement with the spares taken off twice."""
    days = {"1 day": 1, "1 week": 7, "1 month": 210, "1 year": 2520}
    for number, scenario in enumerate(SCENARIOS.values(), start=1):
        save, restore, downtime, move = (
            float(x) for x in (scenario.save, scenario.restore, scenario.downtime, scenario.migration)
        )
        cells = reproduction.migration_table(number)
        for row in cells[(cells["jobs"] == "sequential") & (cells["risk"] == 1e-4)].itertuples():
            mean = 24.0 * days[row.mtbf]
            spares = int(stats.binom.isf(1e-4, row.nodes, (move + downtime) / (mean + move + downtime)))
            assert row.spares_printed == spares
            gain = (mean + save + downtime + restore) / (mean + move) * (1 - spares / row.nodes) ** 2 - 1
            assert 100 * gain == pytest.approx(row.printed, abs=0.005 + 1e-9)
            assert row.ours == pytest.approx(100 * gain, abs=1e-9)


def test_all_papers() -> None:
    sparing, migration, allocation = (reproduction.reproduce(name) for name in reproduction.PAPERS)
    assert sparing.sentence == "All 60 printed cells come out to the last digit."
    assert int(migration.agreement["cells"].sum()) == 442
    assert int(migration.agreement["agree"].sum()) == 397
    exact = migration.agreement[migration.agreement["part"] != "parallel"]
    assert (exact["agree"] == exact["cells"]).all()
    assert int(allocation.agreement["agree"].sum()) == 40
    assert allocation.agreement["largest"].max() < 3e-7
    json.dumps(allocation.to_dict(), allow_nan=False)
    assert "<table" in allocation._repr_html_()
    with pytest.raises(ArgumentError, match="there is no paper 'airesim'"):
        reproduction.reproduce("airesim")


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "migration", "--table", "7", "--out", str(tmp_path / "t.csv")]) == 0
    assert "90.8" in capsys.readouterr().out
    assert len(pd.read_csv(tmp_path / "t.csv")) == 10
    assert main(["reproduce", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "All 60 printed cells" in said
    assert "Slips and gaps" in said
    assert {
        "sparing-table-1.csv",
        "sparing-figure-2.csv",
        "migration-table-6.csv",
        "allocation-figure-6.7b.csv",
    } <= {path.name for path in tmp_path.iterdir()}
    assert main(["reproduce", "sparing", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["sparing"]["tables"]["table 1"]) == 48


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("x",), "there is no paper 'x'; it is one of sparing, migration, allocation"),
        (("sparing", "--table", "9"), "there is no table 9 of sparing; it has 1"),
        (("--table", "1"), "--table needs one paper"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", *arguments]) == 2
    assert said in capsys.readouterr().err
