"""Correlation of the TTFs of all pairs: agreement with SciPy, the null distributions, size, planted effects."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from relfit.analyses.independence import correlations
from relfit.analyses.independence.pair_products import prepare
from relfit.analyses.independence.rank_nulls import null_of
from relfit.base.errors import ArgumentError, DataError
from relfit.log.lifedata import LifeData

SCIPY = {"spearman": stats.spearmanr, "pearson": stats.pearsonr, "kendall": stats.kendalltau}


def some_series(sizes, rng, ties=False):
    parts = [rng.weibull(0.8, n) * 100 for n in sizes]
    return LifeData.from_groups([np.ceil(p / 40) for p in parts] if ties else parts)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("method", list(SCIPY))
def test_coefficients_are_scipys(method, ties):
    rng = np.random.default_rng(3)
    lives = some_series(rng.integers(0, 30, 25), rng, ties)
    found = correlations(lives, method)
    assert found.node.size == (lives.sizes >= 3).sum()
    for place, (a, b) in enumerate(zip(*np.tril_indices(found.node.size, -1), strict=True)):
        i, j = found.node[a], found.node[b]
        common = min(lives.sizes[i], lives.sizes[j])
        x, y = (lives.durations[lives.offsets[k] :][:common] for k in (i, j))
        if np.ptp(x) == 0 or np.ptp(y) == 0:
            assert np.isnan(found.r[place])
            continue
        assert found.r[place] == pytest.approx(SCIPY[method](x, y).statistic, abs=1e-12)


@pytest.mark.parametrize(("last", "tied"), [(9.0, True), (9.5, False)])
def test_equal_times_above_the_least_are_told_too(last, tied):
    found = correlations(LifeData.from_groups([[1.0, 5.0, 9.0, last], [2.0, 3.0, 1.0, 4.0]]))
    assert any("equal TTFs" in note for note in found.notes) is tied


def test_p_values_are_scipys_where_it_is_exact_or_uses_t():
    rng = np.random.default_rng(4)
    lives = some_series([40, 35, 30, 25], rng)
    for method in ("spearman", "pearson", "kendall"):
        found = correlations(lives, method)
        assert found.node.tolist() == [0, 1, 2, 3]
        for number, (a, b) in enumerate([(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]):
            n = lives.sizes[a]
            x, y = (lives.durations[lives.offsets[k] :][:n] for k in (a, b))
            options = {"method": "exact"} if method == "kendall" else {}
            assert found.p[number] == pytest.approx(SCIPY[method](x, y, **options).pvalue, rel=1e-8)


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7])
@pytest.mark.parametrize("method", ["spearman", "kendall"])
def test_the_null_distribution_counts_all_permutations(method, n):
    orders = np.array(list(itertools.permutations(range(n))))
    if method == "spearman":
        seen = 1.0 - 6.0 * ((orders - np.arange(n)) ** 2).sum(axis=1) / (n * (n * n - 1.0))
    else:
        seen = np.mean([np.sign(orders[:, j] - orders[:, i]) for i, j in itertools.combinations(range(n), 2)], axis=0)
    null = null_of(method, n)
    assert null.mass.sum() == pytest.approx(1.0, abs=1e-12)
    values, counts = np.unique(np.round(seen, 9), return_counts=True)
    np.testing.assert_allclose(null.support[null.mass > 0], values, atol=1e-8)
    np.testing.assert_allclose(null.mass[null.mass > 0], counts / seen.size, atol=1e-12)
    for r in values:
        assert null.two_sided(np.array([r]))[0] == pytest.approx((np.abs(seen) >= abs(r) - 1e-9).mean())
        assert null.below(r) == pytest.approx((seen < r - 1e-9).mean())


def test_exact_and_approximate_nulls_meet():
    for method, last in (("spearman", 12), ("kendall", 60)):
        r = np.linspace(0.05, 0.6, 12)
        exact, near = null_of(method, last).two_sided(r), null_of(method, last + 1).two_sided(r)
        np.testing.assert_allclose(exact, near, atol=0.03)


@pytest.mark.parametrize(("method", "n"), [("spearman", 20), ("pearson", 20), ("kendall", 20), ("spearman", 10)])
def test_size_on_independent_nodes(method, n):
    lives = LifeData.from_array(np.random.default_rng(n).exponential(100.0, (200, n)))
    p = correlations(lives, method).p
    assert p.size == 19_900
    assert 0.04 < (p <= 0.05).mean() < 0.06


@pytest.mark.parametrize("method", list(SCIPY))
def test_classes_and_histogram_of_independent_nodes_are_as_expected(method):
    rng = np.random.default_rng(7)
    lives = LifeData.from_groups([rng.normal(1000, 100, n) for n in rng.integers(3, 15, 250)])
    found = correlations(lives, method)
    table = found.classes
    assert table["pairs"].sum() == found.n_pairs == 250 * 249 / 2
    assert table["expected_share"].sum() == pytest.approx(1.0)
    np.testing.assert_allclose(table["observed_share"], table["expected_share"], atol=0.02)
    histogram = found.histogram()
    assert histogram["pairs"].sum() == found.n_pairs
    assert len(histogram) == 40
    assert histogram["expected"].sum() == pytest.approx(found.n_pairs)
    np.testing.assert_allclose(histogram["pairs"], histogram["expected"], rtol=0.35, atol=150)
    # with a handful of TTFs a pair, high |r| is what chance gives
    assert table["expected_share"].iloc[2:].sum() > 0.2
    assert found.n_significant() <= 3
    assert "independent nodes" in found.headline


def test_values_on_the_edges_of_the_classes_are_high():
    # four values: r = 0.8 or 0.4 exactly
    lives = LifeData.from_groups([[1, 2, 3, 4], [1, 2, 4, 3], [1, 3, 4, 2]])
    found = correlations(lives)
    assert sorted(found.r.round(9)) == [0.4, 0.8, 0.8]
    assert found.classes["pairs"].tolist() == [0, 0, 3, 0]
    # of the 24 orders: |r| = 1 in 2, 0.8 in 6, 0.6 in 2, 0.4 in 8, 0.2 in 4, 0 in 2
    assert found.classes["expected_share"].round(4).tolist() == [0.0833, 0.1667, 0.6667, 0.0833]


@pytest.mark.verify
def test_all_nodes_together_keep_their_size_and_find_a_shared_shock():
    rng = np.random.default_rng(1)
    rejected = np.zeros(2)
    for _ in range(500):
        found = correlations(LifeData.from_array(rng.weibull(0.8, (8, 12))), n_resamples=39, rng=rng)
        rejected += [found.mean_r_p <= 0.05, found.n_significant() > 0]
    assert ((rejected >= 12) & (rejected <= 40)).all()  # 25 expected; benchmarks/verify_time.py draws 2 000
    shock = rng.lognormal(0, 1, 30)
    found = correlations(LifeData.from_array(rng.lognormal(0, 1, (40, 30)) * shock), n_resamples=99, rng=2)
    assert found.mean_r_p < 0.01
    assert found.n_significant() > 200
    assert found.depends
    assert "Over all pairs the nodes depend on each other" in found.headline
    assert (
        "p < 0.1 against rotated" in replace(found, n_resamples=9).headline
    )  # the least of nine and the series as it is


def test_one_correlated_pair_is_found_among_many():
    rng = np.random.default_rng(5)
    x = rng.exponential(100, (300, 25))
    x[17] = x[201] * rng.uniform(0.9, 1.1, 25)
    found = correlations(LifeData.from_array(x))
    assert found.n_significant() == 1
    top = found.pairs(3)
    assert set(top.iloc[0][["group_1", "group_2"]]) == {17, 201}
    assert len(top) == 3
    assert len(found.pairs(None)) == found.n_pairs


def test_few_constant_and_no_values():
    lives = LifeData.from_groups({"none": [], "two": [1, 2], "flat": [5, 5, 5, 5], "a": [1, 2, 3], "b": [3, 1, 2, 9]})
    found = correlations(lives, n_resamples=5, rng=0)
    assert found.status.tolist() == ["too_few", "too_few", "constant", "ok", "ok"]
    assert (found.n_pairs, found.r.size) == (1, 3)
    assert found.to_dict()["status"] == {"too_few": 2, "constant": 1, "ok": 2}
    for empty in (lives.take([0, 1]), lives.take([3]), lives.take([])):
        none = correlations(empty, n_resamples=5)
        assert none.n_pairs == 0
        assert none.depends is None
        assert "cannot be judged" in none.headline
        assert none.classes["pairs"].sum() == none.histogram()["pairs"].sum() == 0
        assert none.to_dict()["pairs"] == 0
        assert len(none.pairs()) == 0


def test_at_most_so_many_values_and_censored_ones_left_out():
    rng = np.random.default_rng(8)
    x = rng.exponential(1, (5, 30))
    short = correlations(LifeData.from_array(x[:, :10])).r
    np.testing.assert_allclose(correlations(LifeData.from_array(x), most=10).r, short)
    seen = np.arange(30) < 10
    np.testing.assert_allclose(correlations(LifeData.from_array(x, np.broadcast_to(seen, x.shape))).r, short)


def test_arguments():
    lives = LifeData.from_array(np.ones((2, 4)))
    with pytest.raises(ArgumentError, match="use spearman"):
        correlations(lives, "spearmint")
    with pytest.raises(ArgumentError, match="too few"):
        correlations(lives, most=2)
    with pytest.raises(ArgumentError, match="whole number of 0"):
        correlations(lives, n_resamples=-1)
    with pytest.raises(DataError, match="exactly known"):
        correlations(LifeData.from_array(np.ones((2, 4)), weights=2))


@pytest.mark.slow
def test_four_thousand_nodes():
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 40, 4000)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    lives = LifeData(rng.weibull(0.7, offsets[-1]), np.ones(offsets[-1], bool), offsets, pd.RangeIndex(4000))
    found = correlations(lives)
    assert found.n_pairs > 6_000_000
    assert 0.04 < (found.p <= 0.05).mean() < 0.06
    np.testing.assert_allclose(found.classes["observed_share"], found.classes["expected_share"], atol=0.003)


@pytest.mark.parametrize("length", [61, 200])
def test_long_kendall_by_its_formula(length: int) -> None:
    deviation = np.sqrt(2.0 * (2 * length + 5) / (9.0 * length * (length - 1)))  # Kendall (1938)
    at = np.array([0.5, 1.0, 2.0]) * deviation
    assert null_of("kendall", length).two_sided(at) == pytest.approx(2.0 * stats.norm.sf(at / deviation), rel=1e-3)


def test_a_sentence_names_no_share_of_few_pairs_and_no_effect_that_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    x = rng.exponential(100.0, 40)
    pair = correlations(LifeData.from_groups({"a": x, "b": 0.5 * x + rng.exponential(50.0, 40)}), n_resamples=99)
    assert pair.depends  # the share had been "100 % of 1 pair"
    assert pair.headline.startswith(f"The one pair of nodes has r {pair.r[0]:+.2f} (p ")
    three = correlations(LifeData.from_array(rng.exponential(1.0, (3, 30))), n_resamples=99)
    assert three.headline.startswith("The clearest of 3 pairs of nodes has r ")
    assert "after adjustment for multiple tests" in three.headline
    for found in (pair, three):
        assert "%" not in found.headline
    many = correlations(LifeData.from_array(rng.exponential(1.0, (12, 30))))
    slight = replace(many, mean_r=-0.001, mean_r_p=0.005, n_resamples=199)
    assert slight.depends is False
    assert "the correlation is negligible (mean r -0.001)" in slight.headline
    assert "shock" not in slight.headline
    much = replace(many, mean_r=0.3, mean_r_p=0.01, n_resamples=9)  # nine turned series and the one as it is: 1 of 10
    assert "(mean r +0.300, p < 0.1 against rotated series of TTFs), as under a common shock" in much.headline


def test_pairs_as_a_whole_and_the_clearest_one_are_two_questions():
    rng = np.random.default_rng(4)
    shared = rng.exponential(100.0, 30)
    found = correlations(LifeData.from_array(rng.exponential(100.0, (8, 30)) + 0.6 * shared), n_resamples=999)
    clearest = found.p_adjusted.min()
    assert found.mean_r_p < clearest
    assert found.p_overall == pytest.approx(2.0 * found.mean_r_p)
    alone = correlations(LifeData.from_array(rng.exponential(100.0, (8, 30))), n_resamples=999)
    assert alone.n_significant() == 0
    # what chance gives to the scatter of r is not taken off it
    np.testing.assert_allclose(alone.p, null_of("spearman", 30).two_sided(alone.r), rtol=1e-12)
    assert alone.p_overall == pytest.approx(min(1.0, 2.0 * alone.mean_r_p, 2.0 * alone.p_adjusted.min()))


def test_a_series_is_turned_to_each_start_alike_and_keeps_its_order() -> None:
    """Nine thousand series 1, 2, 3: each begins a third of the turned ones, within five standard deviations."""
    series = prepare(LifeData.from_array(np.tile([1.0, 2.0, 3.0], (9000, 1))), None)
    turned = np.asarray(series.turned(np.random.default_rng(1)).values)
    assert set(map(tuple, turned)) == {(1.0, 2.0, 3.0), (2.0, 3.0, 1.0), (3.0, 1.0, 2.0)}
    number = np.bincount(turned[:, 0].astype(int))[1:]
    assert np.abs(number - 3000).max() < 5.0 * np.sqrt(9000 * 2.0 / 9.0)
