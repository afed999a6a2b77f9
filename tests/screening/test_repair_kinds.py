"""Quick and slow repairs: recovery, coverage, agreement with the hyperexponential of `relfit.fitting`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import relfit as rf
from relfit.analyses.screening import repair_kinds
from relfit.analyses.screening._repair_kinds import ONE_CLASS, _crossing, _Mixture
from relfit.base.errors import ArgumentError
from relfit.fitting import fit
from relfit.fitting.condensing import condensed
from relfit.fitting.families import Exponential, Family, Gamma, Lognormal, Weibull
from relfit.log.lifedata import LifeData
from tests.factories import make_log


def sample(kind: str, groups: int, size: int) -> tuple[LifeData, np.ndarray]:
    rng = np.random.default_rng(11)
    quick = rng.random((groups, size)) < 0.7
    if kind == "lognormal2":
        life = np.where(quick, rng.lognormal(-1.0, 0.6, quick.shape), rng.lognormal(2.5, 0.8, quick.shape))
    else:
        life = np.where(quick, rng.exponential(0.5, quick.shape), rng.exponential(20.0, quick.shape))
    limit = rng.exponential(100.0, quick.shape)
    offsets = np.arange(groups + 1) * size
    index = pd.RangeIndex(groups, name="group")
    return LifeData(np.minimum(life, limit).ravel(), (life <= limit).ravel(), offsets, index), quick


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "quick", "slow"), [("lognormal2", np.exp(-0.82), np.exp(2.82)), ("hyperexponential2", 0.5, 20.0)]
)
def test_planted_classes_are_recovered(model: str, quick: float, slow: float) -> None:
    lives, _ = sample(model, 100, 300)
    table = repair_kinds(lives, models=(model,)).table
    assert (table["status"] == "ok").all()
    true = {"share_quick": 0.7, "mean_quick": quick, "mean_slow": slow, "mean": 0.7 * quick + 0.3 * slow}
    for name, value in true.items():
        covers = (table[f"{name}_low"] <= value) & (value <= table[f"{name}_high"])
        assert 0.87 <= covers.mean() <= 1.0
        assert table[name].mean() == pytest.approx(value, rel=0.05)


@pytest.mark.parametrize("model", ["lognormal2", "hyperexponential2"])
def test_shares_and_means_of_the_kinds_add_to_the_mean_of_all_repairs(model: str) -> None:
    """Gamma and Weibull times, which neither model describes; the mean is numpy's."""
    rng = np.random.default_rng(3)
    hours = np.where(rng.random(1500) < 0.7, rng.gamma(2.0, 1.0, 1500), 15.0 * rng.weibull(0.8, 1500))
    row = repair_kinds(LifeData.from_array(hours), models=(model,)).table.iloc[0]
    share, quick, slow = (float(row[name]) for name in ("share_quick", "mean_quick", "mean_slow"))
    assert share * quick + (1.0 - share) * slow == pytest.approx(hours.mean(), rel=1e-6)
    assert row["mean"] == pytest.approx(hours.mean(), rel=1e-6)
    assert row["mean_low"] < hours.mean() < row["mean_high"]


def test_the_means_are_those_of_the_repairs_by_their_probability_to_be_quick() -> None:
    """The probabilities from scipy's densities, with the classes of the table."""
    rng = np.random.default_rng(4)
    hours = np.where(rng.random(900) < 0.7, rng.gamma(2.0, 1.0, 900), 20.0 * rng.weibull(0.8, 900))
    row = repair_kinds(LifeData.from_array(hours), models=("lognormal2",)).table.iloc[0]
    densities = [
        stats.lognorm.pdf(hours, row[f"sigma_{kind}"], scale=row[f"median_{kind}"]) for kind in ("quick", "slow")
    ]
    quick = (
        row["share_quick"]
        * densities[0]
        / (row["share_quick"] * densities[0] + (1 - row["share_quick"]) * densities[1])
    )
    assert row["mean_quick"] == pytest.approx(np.average(hours, weights=quick), rel=1e-6)
    assert row["mean_slow"] == pytest.approx(np.average(hours, weights=1.0 - quick), rel=1e-6)


def test_the_hyperexponential_is_that_of_fitting() -> None:
    lives, _ = sample("hyperexponential2", 20, 200)
    table = repair_kinds(lives, models=("hyperexponential2",)).table
    theirs = fit(lives, "hyperexponential2", n_resamples=0)["hyperexponential2"]
    assert table["loglik"].to_numpy() == pytest.approx(theirs.loglik, abs=1e-7)
    assert (1.0 / table["mean_quick"]).to_numpy() == pytest.approx(theirs.parameters["rate_1"], rel=1e-4)


def test_at_the_split_both_classes_are_equally_likely() -> None:
    rng = np.random.default_rng(5)
    life = np.where(rng.random(4000) < 0.6, rng.lognormal(0.0, 0.5, 4000), rng.lognormal(3.0, 0.5, 4000))
    row = repair_kinds(LifeData.from_array(life), models=("lognormal2",)).table.iloc[0]

    def weighed(place: float) -> tuple[float, float]:
        return 0.6 * stats.lognorm.pdf(place, 0.5), 0.4 * stats.lognorm.pdf(place, 0.5, scale=np.exp(3.0))

    before, after = weighed(row["split_low"]), weighed(row["split_high"])
    assert before[0] > before[1]
    assert after[0] < after[1]


def test_the_split_of_classes_of_one_spread_is_a_straight_line_and_equal_ones_have_none() -> None:
    """Log odds 0.5 - z**2 / 2 + (z - 1)**2 / 2 = 1 - z, and 0.5 everywhere."""
    split = _crossing(np.array([[0.5, 0.0, 0.0, 1.0, 0.0], [0.5, 0.0, 0.0, 0.0, 0.0]]))
    assert split.tolist() == pytest.approx([1.0, np.nan], nan_ok=True)


@pytest.mark.slow
def test_one_kind_of_repair_is_one_class() -> None:
    rng = np.random.default_rng(6)
    groups = LifeData.from_groups({i: rng.lognormal(1.0, 1.0, 200) for i in range(30)})
    status = repair_kinds(groups, models=("lognormal2",)).table["status"]
    assert status.isin(["one_class", "hollow", "not_found"]).mean() >= 0.9


@pytest.mark.parametrize(
    "law", [Exponential(0.5), Lognormal(0.5, 1.0), Weibull(0.7, 3.0), Gamma(0.6, 2.0)], ids=lambda law: law.name
)
@pytest.mark.slow
def test_any_single_law_is_one_class(law: Family) -> None:
    life = law.sample((12, 300), rng=7)
    table = repair_kinds(LifeData.from_groups(dict(enumerate(life)))).table
    assert (table["status"] == "ok").sum() <= 1
    best = table.drop_duplicates(table.columns[0])
    assert set(best["one"]) <= set(ONE_CLASS)
    single = fit(LifeData.from_groups(dict(enumerate(life))), law.name, n_resamples=0)[law.name]
    assert (best["aic_one"].to_numpy() <= single.aic + 2.0 * np.log(300)).all()


@pytest.mark.parametrize("law", ["loglogistic", "inverse_gaussian"])
@pytest.mark.slow
def test_one_law_of_any_family_that_relfit_has_is_one_class(law: str) -> None:
    rng = np.random.default_rng(17)
    odds = rng.random((30, 300))
    life = 2.0 * (odds / (1.0 - odds)) ** (1.0 / 1.5) if law == "loglogistic" else rng.wald(3.0, 1.0, odds.shape)
    table = repair_kinds(LifeData.from_groups(dict(enumerate(life)))).best()
    assert (table["status"] == "ok").sum() <= 2


@pytest.mark.slow
def test_by_cause_of_a_log() -> None:
    found = repair_kinds(rf.datasets.load("white"))
    assert set(found.table["cause"]) == {"facilities", "hardware", "human error", "network", "software"}
    assert len(found.best()) == 5
    assert (found.best()["status"] == "one_class").sum() >= 4  # they were drawn from one lognormal a cause


def test_edges() -> None:
    log = make_log(
        [{"start": 3 * i, "end": 3 * i + 1, "cause": "a"} for i in range(20)]
        + [{"start": 70, "end": 71, "cause": "b"}, {"start": 80, "end": 80, "cause": "b"}]
    )
    found = repair_kinds(log)
    assert found.zero == 1
    assert found.table.loc[found.table["cause"] == "b", "status"].tolist() == ["too_few", "too_few"]
    constant = found.table[found.table["cause"] == "a"]
    assert constant["status"].isin(["one_class", "hollow", "not_found"]).all()
    assert found.headline.startswith("Repairs of no cause fall into quick and slow ones")
    assert found.to_dict()["zero"] == 1
    with pytest.raises(ArgumentError):
        repair_kinds(log, models=("normal",))
    with pytest.raises(ArgumentError):
        repair_kinds(log, models=())
    with pytest.raises(ArgumentError):
        repair_kinds(log, level=2.0)


def test_repairs_of_a_log_without_causes_are_those_of_a_system(tmp_path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(
        "node,start,end\n" + "".join(f"n{i % 3},2024-01-{i:02d},2024-01-{i:02d} 0{i % 7}:30\n" for i in range(1, 29))
    )
    found = repair_kinds(rf.read(path)).table
    assert found["repairs"].tolist() == [28] * len(found) != []


def test_one_group_is_not_counted() -> None:
    both = np.concatenate([Lognormal(-1.0, 0.5).sample(600, rng=1), Lognormal(3.0, 0.7).sample(200, rng=2)])
    assert repair_kinds(rf.LifeData.from_array(both)).headline.startswith("Repairs are of two kinds: 75 % are quick")
    one = Lognormal(1.0, 0.7).sample(300, rng=3)
    assert repair_kinds(rf.LifeData.from_array(one)).headline.startswith("Repairs do not fall into quick and slow ones")


@pytest.mark.slow
@pytest.mark.parametrize("model", ["lognormal2", "hyperexponential2"])
def test_very_many_repairs_in_classes_are_told_apart_as_one_by_one(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lives, _ = sample(model, 2, 15_000)
    found = repair_kinds(lives, models=(model,)).table
    assert condensed(lives).durations.size < 5_000
    monkeypatch.setattr("relfit.fitting.condensing._ROWS", 30_000)
    exact = repair_kinds(lives, models=(model,)).table
    assert condensed(lives).durations.size == 30_000
    assert found["status"].tolist() == exact["status"].tolist() == ["ok", "ok"]
    for name in ("share_quick", "mean_quick", "mean_slow", "mean", "split"):
        width = exact[f"{name}_high"] - exact[f"{name}_low"]
        for end in ("", "_low", "_high"):
            assert (np.abs(found[f"{name}{end}"] - exact[f"{name}{end}"]) < 2e-3 * width).all()


def test_few_repairs_are_not_said_to_be_of_one_kind() -> None:
    found = repair_kinds(LifeData.from_array([1.0, 2.0, 30.0, 0.5, 4.0]))
    assert set(found.table["status"]) == {"too_few"}
    assert found.headline == "Too few repairs to distinguish quick from slow ones."


def test_two_kinds_that_no_time_tells_apart_are_said_to_be_two() -> None:
    """The trend said "one mean describes each", the page "88 % quick", the parameters "two kinds fit better"."""
    rng = np.random.default_rng(4)
    hours = np.where(rng.random(3000) < 0.88, rng.lognormal(2.0, 1.2, 3000), rng.lognormal(3.5, 0.1, 3000))
    found = repair_kinds(rf.LifeData.from_array(hours))
    assert found.best()["status"].tolist() == ["no_split"]
    assert found.headline == (
        "Two kinds of repairs fit better than one, but no threshold separates them: use the mean of all."
    )
    assert "quick" not in " ".join(text.get_text() for text in rf.plotting.repair_times(found).get_legend().get_texts())


@pytest.mark.parametrize("by_cause", [True, False])
def test_causes_that_explain_the_two_kinds_are_told(by_cause: bool, tmp_path: Path) -> None:
    """Software takes 20 minutes and hardware a day; or a third of the repairs of each cause take a day."""
    rng = np.random.default_rng(4)
    software = rng.random(600) < 0.7
    slow = ~software if by_cause else rng.random(600) < 0.3
    hours = np.where(slow, rng.lognormal(3.0, 0.5, 600), rng.lognormal(-1.0, 0.4, 600))
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(
        np.round(60.0 * np.sort(rng.uniform(0, 8000, 600))), unit="min"
    )
    table = pd.DataFrame({"node": [f"n{i % 200:03d}" for i in range(600)], "start": start})
    table["end"] = start + pd.to_timedelta(np.ceil(60.0 * hours), unit="min")
    log = rf.read(table.assign(cause=np.where(software, "software", "hardware")))
    kinds, parts = repair_kinds(log, "system"), repair_kinds(log, "cause")
    assert kinds.headline.startswith("Repairs are of two kinds: ")
    means = (table["end"] - table["start"]).groupby(software).mean() / pd.Timedelta("1h")
    told = (
        "The causes explain them: repairs of each are of one kind "
        f"(software {60.0 * means[True]:.3g} minutes, hardware {means[False]:.3g} hours on average)."
    )
    assert kinds.explained_by(parts) == (told if by_cause else "")
    page = rf.report(log, tmp_path / "report.html", families=["exponential"]).read_text(encoding="utf-8")
    assert (f"more likely a slow one. {told}" in page) == by_cause


def test_a_repair_cut_off_counts_as_long_as_one_of_its_class_lasts_beyond() -> None:
    """Two equal classes with the same law: the mean life above the limit, by scipy's integral."""
    lives = LifeData.from_array(np.array([1.0, 3.0]), np.array([True, False]))
    free = np.array([[0.0, 0.3, np.log(0.7), 0.3, np.log(0.7)]])
    law = stats.lognorm(0.7, scale=np.exp(0.3))
    beyond = law.expect(lambda time: time, lb=3.0, conditional=True)
    assert _Mixture(lives, "lognormal2").observed_means(free)[0] == pytest.approx(np.log([(1.0 + beyond) / 2.0] * 3))
