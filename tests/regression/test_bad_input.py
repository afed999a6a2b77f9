"""Every mistake ends in one clear error; every doubt is told in the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.analyses.regression.models import regression
from tests.regression.test_of_log import simulated

MODELS = ("cox", "weibull", "lognormal")


def frame(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "hours": 100.0 * rng.weibull(1.2, n),
            "observed": np.arange(n) % 7 > 1,
            "x": rng.normal(size=n),
            "rack": np.array(list("abc"))[np.arange(n) % 3],
            "hot": rng.integers(0, 2, n),
            "node": np.arange(n) // 3,
        }
    )


def rejected(text: str, table: Any, formula: str, *arguments: Any, **options: Any) -> None:
    with pytest.raises(rf.RelfitError, match=text):
        regression(table, formula, *arguments, **options)


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("ttf ~ rock", "did you mean 'rack'"),
        ("ttf ~ positoin", "did you mean 'position'.*the columns are"),
        ("live ~ rack", "'live' on the left side is not known"),
        ("ttf ~ rack +", "cannot read the formula"),
        ("ttf ~ rack ~ x", "is not a formula"),
        ("ttf ~", "is not a formula"),
        ("ttf ~ 1", "names no covariate"),
        ("ttf ~ frobnicate(position)", "cannot compute the formula"),
        ("ttf ~ position + np.square(position) - position + nothing:position", "no column 'nothing'"),
        ("ttf ~ entered", "no column 'entered'"),
        ("ttf ~ node", "no column 'node'"),
    ],
)
def test_formulas(formula: str, text: str) -> None:
    with pytest.raises(rf.ArgumentError, match=text):
        rf.regress(simulated(), formula)


def test_arguments_of_a_log() -> None:
    log = simulated()
    for options, text in [
        ({"model": "weibul"}, "did you mean 'weibull'"),
        ({"level": 1.0}, "between 0 and 1"),
        ({"cluster": "rak"}, "did you mean 'rack'"),
        ({"reference": {"rack": "z"}}, "no level 'z'"),
        ({"reference": {"rock": "a"}}, "not in the formula"),
        ({"cluster": "system"}, "all durations have one value of system"),
    ]:
        with pytest.raises(rf.ArgumentError, match=text):
            rf.regress(log, "ttf ~ rack", **options)
    with pytest.raises(rf.ArgumentError, match="is not a formula"):
        rf.regress(log, "rack")


@pytest.mark.parametrize("model", MODELS)
def test_what_cannot_be_estimated(model: str) -> None:
    table = frame()
    rejected("'x' is the same everywhere", table.assign(x=2.0), "hours ~ x", model)
    rejected("'rack' is the same everywhere", table.assign(rack="a"), "hours ~ rack", model)
    rejected("'y' follows from 'x'", table.assign(y=table["x"] * 3 + 1e6), "hours ~ x + y", model)
    rejected("none of the 60 durations", table.assign(observed=False), "hours ~ x", model)
    seen = table["observed"] & (table["rack"] != "b")
    rejected("no failure among the 20 durations with rack 'b'", table.assign(observed=seen), "hours ~ rack", model)
    seen = table["observed"] & ~((table["rack"] == "c") & (table["hot"] == 1))
    rejected(r"with rack\[T.c\]:C\(hot\)\[T.1\]", table.assign(observed=seen), "hours ~ rack * C(hot)", model)
    rejected("2 failures are too few", table.assign(observed=np.arange(60) < 2), "hours ~ x + hot", model)
    rejected("not finite", table.assign(x=0.0 + (table["x"] > 0)), "hours ~ np.log(x)", model)
    rejected("dates", table.assign(x=pd.Timestamp("2020-01-01")), "hours ~ x", model)
    rejected("no duration is left", table.assign(x=np.nan), "hours ~ x", model)


def test_data_that_cannot_be() -> None:
    table = frame()
    rejected("row 3", table.assign(hours=table["hours"].where(table.index != 3, -1.0)), "hours ~ x")
    rejected("row 4", table.assign(hours=table["hours"].where(table.index != 4)), "hours ~ x")
    rejected("no column 'houres'; did you mean 'hours'", table, "houres ~ x")
    rejected("is not a formula", table, "x")


def test_zeros() -> None:
    table = frame()
    table.loc[[1, 2], ["hours", "observed"]] = [0.0, True]
    rejected("2 durations of zero", table, "hours ~ x", "weibull")
    assert regression(table, "hours ~ x").converged
    table.loc[1, "observed"] = False
    assert regression(table, "hours ~ x").dropped["censored at age zero"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.filterwarnings("error")
def test_separation_by_a_number_is_told(model: str) -> None:
    n = 80
    rng = np.random.default_rng(3)
    x = rng.normal(size=n)
    table = pd.DataFrame({"hours": np.exp(5.0 - 40.0 * x), "observed": True, "x": x})
    told: tuple[str, ...]
    try:
        found = regression(table, "hours ~ x", model)
        told = found.notes
    except rf.ArgumentError as error:
        told = (str(error),)
    assert any(word in note for note in told for word in ("next to nothing", "lifelines", "not converged"))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.slow
def test_doubts_are_told(model: str) -> None:
    table = frame()
    few = regression(table, "hours ~ x + rack + hot + x:hot", model)
    assert any("fewer than ten for each" in note for note in few.notes)
    assert any("independent" in note for note in few.notes)
    clustered = regression(table.assign(node=table.index // 20), "hours ~ x", model, cluster=["node"])
    assert any("clusters are few" in note for note in clustered.notes)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e6])
@pytest.mark.slow
def test_the_unit_of_time_does_not_matter(model: str, unit: float) -> None:
    table = frame(300)
    base = regression(table, "hours ~ x + rack", model)
    found = regression(table.assign(hours=table["hours"] * unit), "hours ~ x + rack", model)
    assert found.converged
    apart = (found.table["coefficient"] - base.table["coefficient"]) / base.table["standard_error"]
    assert np.abs(apart).max() < 0.01


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.slow
def test_covariates_of_any_size(model: str) -> None:
    table = frame(300)
    far = table.assign(x=table["x"] * 1e3 + 1e9)
    base = regression(table, "hours ~ x", model)
    centred = regression(far, "hours ~ center(x)", model)
    assert centred.table["p"].iloc[0] == pytest.approx(base.table["p"].iloc[0], rel=1e-3)
    try:
        found = regression(far, "hours ~ x", model)
    except rf.ArgumentError as error:
        told = str(error)
    else:
        told = "center" if found.converged else found.notes[0]
        if found.converged:
            assert found.table["p"].iloc[0] == pytest.approx(base.table["p"].iloc[0], rel=0.05)
        else:
            assert found.table.drop(columns="reference").isna().all(axis=None)
    assert "center" in told


@pytest.mark.slow
@pytest.mark.long
def test_random_small_tables_give_numbers_or_one_clear_error() -> None:
    rng = np.random.default_rng(7)
    done = {True: 0, False: 0, None: 0}
    for _ in range(60):
        n = int(rng.integers(2, 40))
        hours = 10.0 ** rng.uniform(-6, 8) * rng.weibull(10 ** rng.uniform(-1, 1), n)
        table = pd.DataFrame(
            {
                "hours": np.round(hours, 2) if rng.random() < 0.2 else hours,
                "observed": rng.random(n) < rng.random(),
                "x": rng.normal(size=n) * 10.0 ** rng.uniform(-6, 6)
                + 10.0 ** rng.uniform(-3, 8) * (rng.random() < 0.3),
                "g": np.array(list("abcd"))[rng.integers(0, rng.integers(1, 5), n)],
                "k": rng.integers(0, 3, n),
                "node": rng.integers(0, rng.integers(1, 20), n),
            }
        )
        formula = ["x", "g", "x + g", "C(k) * g", "x:g", "np.log(k + 1)"][rng.integers(6)]
        cluster = ["node"] if rng.random() < 0.5 else []
        try:
            found = regression(table, f"hours ~ {formula}", MODELS[rng.integers(3)], cluster=cluster)
        except rf.RelfitError:
            done[None] += 1
            continue
        done[found.converged] += 1
        assert repr(found).startswith("Regression: hours ~")
        numbers = found.table[["coefficient", "standard_error"]].to_numpy(float)
        if found.converged:
            assert np.isfinite(numbers).all()
            assert (numbers[:, 1] > 0.0).all()
            assert found.likelihood_ratio.statistic >= 0.0
        else:
            assert np.isnan(numbers).all()
            assert found.notes[0].startswith("not converged")
    assert done[True] > 12


def test_names_of_any_kind() -> None:
    table = frame().rename(columns={"x": "inlet temperature", "hot": "_duration"})
    found = regression(table, "hours ~ `inlet temperature` + rack", "weibull")
    assert "inlet temperature" in found.table.index[-1] or "inlet temperature" in found.table.index[0]


def test_names_are_offered_as_what_they_are() -> None:
    log = simulated()
    with pytest.raises(rf.ArgumentError, match=r"no level 'Z' to refer to; the levels are "):
        rf.regression.regress(log, "ttf ~ rack", reference={"rack": "Z"})
    with pytest.raises(rf.ArgumentError, match="unknown model 'exponential'; the models are cox, "):
        rf.regression.regress(log, "ttf ~ rack", model="exponential")
