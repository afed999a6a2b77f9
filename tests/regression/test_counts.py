"""Counts of nodes: the negative binomial against its likelihood written out, known effects, rates of nodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import relfit as rf
from relfit.analyses.regression.count_model import fit_counts
from relfit.analyses.regression.covariates import node_table
from relfit.analyses.regression.models import regression
from tests.factories import make_log
from tests.regression.test_of_log import simulated

YEAR = 8766.0


def counts(n: int = 400, effect: float = 0.7, spread: float = 0.5, seed: int = 0) -> pd.DataFrame:
    """Failures of nodes observed for a year or two; those in rack b fail ``exp(effect)`` times as often."""
    rng = np.random.default_rng(seed)
    rack = np.array(["a", "b"])[np.arange(n) % 2]
    hours = YEAR * rng.uniform(1.0, 2.0, n)
    mean = 3.0 * np.exp(effect * (rack == "b")) * hours / YEAR
    frailty = rng.gamma(1.0 / spread, spread, n) if spread else np.ones(n)
    return pd.DataFrame({"node": np.arange(n), "failures": rng.poisson(mean * frailty), "hours": hours, "rack": rack})


def loglik(theta: np.ndarray, frame: pd.DataFrame) -> float:
    mean = np.exp(theta[0] * (frame["rack"] == "b") + theta[1]) * frame["hours"] / YEAR
    size = np.exp(-theta[2])
    return float(stats.nbinom.logpmf(frame["failures"], size, size / (size + mean)).sum())


def test_the_coefficient_is_that_of_the_likelihood_written_out() -> None:
    frame = counts()
    fit = regression(frame, "failures ~ rack")
    best = optimize.minimize(lambda t: -loglik(t, frame), [0.0, 0.0, 0.0], method="BFGS", options={"gtol": 1e-6})
    null = optimize.minimize(lambda t: -loglik(np.array([0.0, *t]), frame), [0.0, 0.0], method="BFGS")
    row = fit.table.loc["rack[T.b]"]
    assert row["coefficient"] == pytest.approx(best.x[0], rel=1e-4)
    assert row["standard_error"] == pytest.approx(np.sqrt(best.hess_inv[0, 0]), rel=0.05)
    assert fit.dispersion == pytest.approx(np.exp(best.x[2]), rel=1e-3)
    assert fit.loglik == pytest.approx(-best.fun, rel=1e-8)
    assert fit.likelihood_ratio.statistic == pytest.approx(2.0 * (null.fun - best.fun), rel=1e-5)
    assert row["rate_ratio_low"] < np.exp(0.7) < row["rate_ratio_high"]
    assert fit.n_clusters is None
    assert fit.n_failures == frame["failures"].sum()


def test_intervals_of_few_nodes_are_by_students_distribution() -> None:
    """Of six nodes, three in each rack, the normal one covered 82 % where their rates vary by 0.3."""
    rng = np.random.default_rng(2)
    covered = []
    for _ in range(60):
        failures = rng.poisson(20.0 * rng.gamma(1.0 / 0.3, 0.3, 6))
        frame = pd.DataFrame({"node": range(6), "failures": failures, "hours": YEAR, "rack": list("ababab")})
        fit = regression(frame, "failures ~ rack")
        row = fit.table.loc["rack[T.b]"]
        far = stats.t.ppf(0.975, 4) * row["standard_error"]
        assert (row["low"], row["high"]) == pytest.approx((row["coefficient"] - far, row["coefficient"] + far))
        assert fit.wald.p == pytest.approx(2.0 * stats.t.sf(abs(row["coefficient"] / row["standard_error"]), 4))
        assert row["p"] == pytest.approx(fit.wald.p)
        covered.append(row["low"] < 0.0 < row["high"])
    assert np.mean(covered) >= 0.86  # 0.92 with a standard error of 0.035
    one_each = pd.DataFrame({"node": range(2), "failures": [4, 9], "hours": YEAR, "rack": list("ab")})
    assert np.isnan(regression(one_each, "failures ~ rack").table["low"]).all()


def test_equal_nodes_are_a_poisson_model() -> None:
    frame = counts(spread=0.0, seed=3)
    frame["failures"] = np.round(3.0 * np.where(frame["rack"] == "b", 2.0, 1.0) * frame["hours"] / YEAR).astype(int)
    fit = regression(frame, "failures ~ rack")
    assert fit.dispersion == 0.0
    assert any("Poisson" in note for note in fit.notes)
    rate = frame.groupby("rack")["failures"].sum() / frame.groupby("rack")["hours"].sum()
    assert fit.table["rate_ratio"].iloc[0] == pytest.approx(rate["b"] / rate["a"], rel=1e-6)
    rates = fit.node_rates()
    assert np.allclose(rates["rate"], YEAR * rate[frame["rack"]].to_numpy())


def test_rates_of_nodes_are_gamma_means() -> None:
    frame = counts()
    fit = regression(frame, "failures ~ rack")
    rates = fit.node_rates()
    shape = 1.0 / fit.dispersion
    years = frame["hours"] / YEAR
    expected = rates["rate_by_covariates"] * years
    assert np.allclose(rates["rate"] * years, expected * (shape + frame["failures"]) / (shape + expected))
    system = rf.System(rf.families.Exponential(rates["rate"] / YEAR))
    assert system.hazard(10.0) == pytest.approx(rates["rate"].sum() / YEAR)


def test_of_a_log_with_nodes_by_hand() -> None:
    log = simulated()
    fit = rf.regress(log, "failures ~ rack")
    by_hand = log.events.groupby("node").size().reindex(log.population["node"].astype(str), fill_value=0)
    assert fit.nodes is not None
    assert fit.nodes["failures"].sum() == by_hand.sum()
    assert fit.nodes.set_index("node")["failures"].reindex(by_hand.index).tolist() == by_hand.tolist()
    assert np.allclose(fit.nodes["hours"], 5000.0)
    assert fit.table.loc["rack[T.b]", "low"] < -0.8 < fit.table.loc["rack[T.b]", "high"]
    assert "of 60 nodes" in fit.headline


def test_clusters_of_nodes() -> None:
    frame = counts().assign(cabinet=np.arange(400) // 20)
    fit = regression(frame, "failures ~ rack", cluster=["cabinet"])
    assert fit.n_clusters == 20
    twice = regression(pd.concat([frame, frame]), "failures ~ rack", cluster=["cabinet"])
    assert twice.table["standard_error"].iloc[0] == pytest.approx(fit.table["standard_error"].iloc[0], rel=0.05)


def test_what_does_not_go() -> None:
    for formula, model, text in [
        ("failures ~ rack", "cox", "not one of counts"),
        ("ttf ~ rack", "negative binomial", "not one of times"),
        ("failures ~ cause", None, "no column 'cause'"),
    ]:
        with pytest.raises(rf.ArgumentError, match=text):
            rf.regress(simulated(), formula, model)
    with pytest.raises(rf.ArgumentError, match="no rates of nodes"):
        rf.regress(simulated(), "ttf ~ rack").node_rates()
    lives = make_log([], [{"node": "g0"}], lifetimes=[{"node": "g0", "duration": 5.0, "observed": True}])
    with pytest.raises(rf.DataError, match="one lifetime per unit"):
        rf.regress(lives, "failures ~ cage")


def test_hazards_that_cross_are_told() -> None:
    rng = np.random.default_rng(1)
    group = np.array(["a", "b"])[np.arange(600) % 2]
    times = np.where(group == "a", 100.0 * rng.weibull(3.0, 600), 100.0 * rng.weibull(0.6, 600))
    table = pd.DataFrame({"hours": times, "observed": True, "group": group})
    fit = regression(table, "hours ~ group")
    assert fit.proportional is not None
    assert fit.proportional.loc["group[T.b]", "p"] < 1e-6
    assert any("not proportional" in sentence for sentence in fit.findings)
    equal = regression(table.assign(hours=100.0 * rng.weibull(1.5, 600)), "hours ~ group")
    assert equal.proportional is not None
    assert equal.proportional["p"].iloc[0] > 0.001
    assert regression(table, "hours ~ group", "weibull").proportional is None


@pytest.mark.slow
def test_a_level_of_one_node_is_told() -> None:
    log = simulated()
    population = log.population.assign(rack=lambda frame: frame["rack"].astype(str))
    population.loc[population["node"] == "n0", "rack"] = "c"
    from dataclasses import replace

    fit = rf.regress(replace(log, population=population), "ttf ~ rack")
    assert any("rack[T.c]: fewer than 5 clusters" in note for note in fit.notes)
    row = rf.regression.attribute_effects(replace(log, population=population)).table.set_index(["measure", "attribute"])
    assert row.loc[("ttf", "rack"), "term"] in ("a", "b")


@pytest.mark.slow
def test_effects_of_attributes() -> None:
    effects = rf.regression.attribute_effects(simulated())
    table = effects.table.set_index(["measure", "attribute"])
    assert set(effects.table["measure"]) == {"failures", "ttf", "ttf (AFT)", "ttr"}
    assert (table.loc[[("failures", "rack"), ("ttf", "rack"), ("ttf (AFT)", "rack")], "p_adjusted"] < 1e-4).all()
    assert (table.loc[[("failures", "position"), ("ttr", "rack")], "p_adjusted"] > 0.01).all()
    assert effects.headline.startswith("Failures of nodes are associated with rack")
    low, high = table.loc[("failures", "rack"), ["low", "high"]]
    truth = np.exp(0.8) if table.loc[("failures", "rack"), "reference"] == "b" else np.exp(-0.8)
    assert low < truth < high


@pytest.mark.slow
def test_an_attribute_that_names_nodes_is_not_compared() -> None:
    log = simulated()
    from dataclasses import replace

    population = log.population.assign(serial=log.population["node"].astype(str) + "x")
    effects = rf.regression.attribute_effects(replace(log, population=population)).table
    assert effects.loc[effects["attribute"] == "serial", "status"].str.contains("too many to compare").all()
    assert effects.loc[effects["attribute"] == "serial", "p"].isna().all()


def test_a_measure_that_is_not_there_is_rejected() -> None:
    with pytest.raises(rf.ArgumentError, match=r"no measure 'mtbf'.*failures"):
        rf.regression.attribute_effects(rf.datasets.load("white"), measures=("mtbf",))


def test_the_search_stays_where_counts_have_a_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond no spread statsmodels sums series of any length: counts of equal nodes took for ever."""
    from statsmodels.discrete.discrete_model import NegativeBinomial

    hessian = NegativeBinomial._hessian_nb2

    def watched(self: NegativeBinomial, params: np.ndarray) -> np.ndarray:
        assert self._transparams or params[-1] > 0.0  # the first search takes logarithms
        return hessian(self, params)

    monkeypatch.setattr(NegativeBinomial, "_hessian_nb2", watched)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        level, hours = rng.integers(0, 4, 12), rng.uniform(0.6, 3.0, 12) * YEAR
        failures = rng.poisson(2.0 * hours / YEAR).astype(float)
        matrix = pd.DataFrame({f"level {i}": (level == i).astype(float) for i in (1, 2, 3)})
        fit = fit_counts(matrix, failures, hours, np.arange(12))
        rates = [failures[level == i].sum() / hours[level == i].sum() * YEAR for i in range(4)]
        if fit.dispersion == 0.0 and min(rates) > 0.0:  # a Poisson model has the observed rates
            logs = np.log(rates)
            np.testing.assert_allclose(fit.coefficients, [*(logs[1:] - logs[0]), logs[0]], atol=1e-6)


def four_racks(often: dict[str, float], cooling: int = 0) -> rf.FailureLog:
    """64 nodes in four racks, 20 failures a year each or a multiple of it; `cooling` hits 60 nodes within a minute."""
    rng = np.random.default_rng(11)
    names = [f"g{i:03d}" for i in range(64)]
    nodes = [{"node": name, "rack": f"r{i % 4}"} for i, name in enumerate(names)]
    events = [
        {"node": node["node"], "start": float(t)}
        for node in nodes
        for t in rng.uniform(0, YEAR, rng.poisson(20 * often.get(node["node"], often.get(node["rack"], 1.0))))
    ]
    for t in rng.uniform(0, YEAR - 1, cooling):
        events += [{"node": name, "start": t + 0.01 * rng.random(), "cause": "cooling"} for name in names[:60]]
    return make_log(sorted(events, key=lambda event: event["start"]), nodes, window=(0, YEAR))


def test_what_one_outlier_node_does_is_not_put_down_to_its_rack() -> None:
    log = four_racks({"g017": 9.0})
    assert rf.regress(log, "failures ~ rack").likelihood_ratio.p < 0.05  # with the node
    effects = rf.regression.attribute_effects(log, measures=("failures",))
    assert effects.headline == (
        "No attribute of the nodes is associated with more failures (1 tested, without the period's outlier node g017)."
    )
    fit = effects.regressions[("failures", "rack")]
    assert fit.n_rows == 63
    rate = log.events[log.events["node"] != "g017"]["node"].str[1:].astype(int).mod(4).value_counts()
    row = effects.table.iloc[0]
    size = pd.Series({rack: 16 - (rack == "r1") for rack in ("r0", "r1", "r2", "r3")})
    counted = rate.rename("r{}".format)
    ratios = (counted / size) / ((counted.sum() - counted) / (size.sum() - size))
    assert row["reference"] == "all other values"
    assert row["ratio"] == pytest.approx(ratios[row["term"]], rel=0.01)
    assert row["term"] == (np.log(ratios).abs()).idxmax()


def test_a_rack_of_many_outliers_is_a_rack() -> None:
    effects = rf.regression.attribute_effects(four_racks({"r1": 6.0}), measures=("failures",))
    assert effects.headline.startswith("Failures of nodes are associated with rack (1 tested, false-discovery rate 5 %")
    row = effects.table.iloc[0]
    assert row["term"] == "r1"
    assert effects.findings[1].startswith("rack (p < 0.001): failures of a node x ")
    assert effects.findings[1].endswith(" for r1 against all other values, the farthest of 4 compared.")


def test_incidents_of_the_whole_system_count_for_no_node() -> None:
    log = four_racks({}, cooling=8)
    own = log.events[log.events["cause"] != "cooling"].groupby("node").size()
    counted = node_table(log).set_index("node")["failures"]
    assert (counted - own).abs().max() <= 1  # of a failure that chance puts into the incident, or into an outage
    assert abs(int(counted.sum() - own.sum())) <= 2


@pytest.mark.slow
def test_a_p_value_does_not_depend_on_what_else_is_asked() -> None:
    log = four_racks({"r1": 1.3})
    alone = rf.regression.attribute_effects(log, measures=("failures",))
    among = rf.regression.attribute_effects(log)
    assert alone.table["p_adjusted"].iloc[0] == among.table["p_adjusted"].iloc[0]
    assert alone.headline == among.headline
    assert [text for text in among.findings if "failures of a node" in text] == list(alone.findings[1:])


def two_systems(attribute: dict[str, tuple[str, ...]]) -> rf.FailureLog:
    """Systems a and b of 24 nodes, b failing four times as often; the nodes of a level named "bad" twice as often."""
    rng, events, nodes = np.random.default_rng(5), [], []
    for system, levels in attribute.items():
        for i in range(24):
            level = levels[i % len(levels)]
            nodes.append({"system": system, "node": f"{system}{i:02d}", "place": level})
            rate = (10.0 if system == "a" else 40.0) * (2.0 if level.endswith("bad") else 1.0)
            times = rng.uniform(0, YEAR, rng.poisson(rate))
            events += [{"system": system, "node": f"{system}{i:02d}", "start": float(t)} for t in times]
    return make_log(sorted(events, key=lambda event: event["start"]), nodes, window=(0, YEAR))


def test_racks_of_two_systems_are_compared_within_each() -> None:
    log = two_systems({"a": ("a-r0", "a-r1", "a-bad"), "b": ("b-r0", "b-r1", "b-r2")})
    effects = rf.regression.attribute_effects(log, measures=("failures",))
    assert effects.table["system"].tolist() == ["a", "b"]
    first, second = (row for _, row in effects.table.iterrows())
    counted = log.events.merge(log.population[["node", "place"]], on="node")["place"].value_counts()
    assert (first["term"], first["reference"]) == ("a-bad", "all other values")
    ratio = counted["a-bad"] / (counted["a-r0"] + counted["a-r1"]) * 2.0  # a third of the nodes, and two thirds
    assert first["ratio"] == pytest.approx(ratio, rel=0.02)
    assert second["term"] in {"b-r0", "b-r1", "b-r2"}
    assert second["p_adjusted"] > 0.05
    (sentence,) = effects.findings[1:]
    assert sentence.startswith("place of system a (p < 0.001): failures of a node x ")
    assert set(effects.regressions) == {("failures", "place", "a"), ("failures", "place", "b")}


@pytest.mark.parametrize("levels", [{"a": ("new",), "b": ("old",)}, {"a": ("new", "old"), "b": ("old",)}])
def test_levels_that_systems_share_or_are_compare_systems(levels: dict[str, tuple[str, ...]]) -> None:
    effects = rf.regression.attribute_effects(two_systems(levels), measures=("failures",))
    assert effects.table["system"].tolist() == [""]
    assert effects.headline.startswith("Failures of nodes are associated with place (1 tested")


def leaves(switch: int) -> rf.FailureLog:
    """24 leaves of 16 nodes, those from leaf 16 on of model b, failing twice as often; `switch` outages of a leaf."""
    rng = np.random.default_rng(3)
    nodes = [
        {"node": f"g{i:03d}", "model": "ab"[i >= 256], "leaf": f"l{i // 16:02d}"} for i in rng.permutation(384).tolist()
    ]
    events = [
        {"node": node["node"], "start": float(t), "cause": "gpu"}
        for node in nodes
        for t in rng.uniform(0, YEAR, rng.poisson(2.0 * (1.0 + (node["model"] == "b"))))
    ]
    for t in np.linspace(1000.0, 1100.0, switch):
        hit = [node["node"] for node in nodes if node["leaf"] == "l05"]
        events += [{"node": name, "start": t + 0.01 * rng.random(), "cause": "switch"} for name in hit]
    return make_log(sorted(events, key=lambda event: event["start"]), nodes, window=(0, YEAR))


def test_outages_of_a_switch_are_no_failures_of_its_nodes() -> None:
    log = leaves(switch=4)
    own = log.events[log.events["cause"] != "switch"].groupby("node").size()
    counted = node_table(log).set_index("node")["failures"]
    assert (counted - own.reindex(counted.index, fill_value=0)).abs().max() <= 1  # that chance puts into an outage
    shared = rf.regress(log, "failures ~ leaf").dropped["record of an incident of several nodes"]
    assert 64 <= shared <= 66  # of failures of one node that chance puts together
    effects = rf.regression.attribute_effects(log, measures=("failures",))
    assert "without incidents of several nodes" in effects.headline
    assert effects.shared_records == shared
    assert effects.table.set_index("attribute").loc["leaf", "term"] != "l05"


def test_the_farthest_of_many_levels_is_told_only_with_the_interval_of_all() -> None:
    log = leaves(switch=0)
    row = rf.regression.attribute_effects(log, measures=("failures",)).table.set_index("attribute").loc["leaf"]
    count = log.events.groupby("node").size().reindex(log.population["node"], fill_value=0).to_numpy()
    inside = (log.population["leaf"] == row["term"]).to_numpy()
    assert row["levels"] == 24
    assert row["ratio"] == pytest.approx(count[inside].mean() / count[~inside].mean(), rel=0.01)
    fit = regression(
        pd.DataFrame({"failures": count, "hours": YEAR, "inside": inside.astype(float)}), "failures ~ inside"
    )
    error = fit.table["standard_error"].iloc[0]
    assert np.log(row["high"] / row["ratio"]) == pytest.approx(stats.norm.isf(0.025 / 24) * error, rel=0.02)


@pytest.mark.slow
def test_two_values_are_compared_in_one_direction_by_every_measure() -> None:
    effects = rf.regression.attribute_effects(leaves(switch=2)).table
    models = effects[effects["attribute"] == "model"]
    assert {"failures", "ttf", "ttf (AFT)"} <= set(models["measure"])
    assert set(zip(models["term"], models["reference"], strict=True)) == {("b", "a")}


def test_times_to_failure_are_without_incidents_of_several_nodes_too() -> None:
    log = leaves(switch=4)
    left_out = "record of an incident of several nodes"
    counts, times = (rf.regress(log, f"{left} ~ leaf") for left in ("failures", "ttf"))
    assert times.dropped[left_out] == counts.dropped[left_out]
    assert f"{times.dropped[left_out]} left out: {left_out}" in times.findings
    joined = rf.incidents(log)
    alone = log.events[joined.table["scope"].to_numpy()[joined.incident] == "node"].reset_index(drop=True)
    own = rf.regress(replace(log, events=alone), "ttf ~ leaf")
    assert times.table["coefficient"].tolist() == pytest.approx(own.table["coefficient"].tolist())


def test_the_number_of_levels_compared_is_whole() -> None:
    effects = rf.regression.attribute_effects(leaves(switch=0), measures=("failures",))
    assert "compared" in " ".join(effects.findings)
    assert ".0 compared" not in " ".join(effects.findings)


def test_outlier_nodes_of_a_log_are_used_again() -> None:
    log = rf.datasets.load("white")
    nodes = rf.screening.outlier_nodes(log, n_resamples=0)
    own = rf.regression.attribute_effects(log, measures=("failures",), outliers=nodes).table
    assert own.loc[0, "left_out"].split(", ") == sorted(nodes.outliers["node"])
    nodes = replace(nodes, nodes=nodes.nodes.assign(outlier=False))
    assert rf.regression.attribute_effects(log, measures=("failures",), outliers=nodes).table.loc[0, "left_out"] == ""
