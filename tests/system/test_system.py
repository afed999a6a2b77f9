"""Systems of nodes: published numbers, every family against mpmath, simulation, real logs, bad input."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import relfit as rf
from relfit import ArgumentError, DataError, System
from relfit.fitting.families import FAMILIES, CompetingRisks, Exponential, Gamma, Lognormal, Weibull
from relfit.system import sampling
from tests.factories import make_log
from tests.families.cases import PARAMETERS
from tests.site_logs import site_log
from tests.system.exact import excess

MIXED = [Weibull(0.7, 900.0), Gamma(0.4, 300.0), Lognormal(6.0, 1.3), Exponential(0.002), Weibull(3.0, 500.0)]
# but for a generalised gamma so near to the lognormal that mpmath's series do not converge
CASES = [(name, row) for name, rows in PARAMETERS.items() for row in rows if row != (9.0, 0.2, 1e-7)]


def scipy_sf(node, time):
    name, p = node.name, [float(v) for v in node.parameters().values()]
    if name == "weibull":
        return stats.weibull_min.sf(time, p[0], scale=p[1])
    if name == "gamma":
        return stats.gamma.sf(time, p[0], scale=p[1])
    if name == "lognormal":
        return stats.lognorm.sf(time, p[1], scale=np.exp(p[0]))
    return stats.expon.sf(time, scale=1.0 / p[0])


@pytest.mark.parametrize(
    ("x", "age", "reliability", "failure", "hazard", "mttf"),
    [
        (100, 0, 0.7521, 0.2479, 0.0025, 464.4902),
        (500, 300, 0.3782, 0.6218, 0.0018, 536.8430),
        (350, 200, 0.4877, 0.5123, 0.0019, 522.4005),
        (150, 50, 0.6974, 0.3026, 0.0022, 489.5752),
    ],
)
def test_the_papers_table_to_the_last_digit(x, age, reliability, failure, hazard, mttf):
    system = System(Weibull(0.8606, 1542.0), ages=[float(age)] * 3)
    assert round(float(system.reliability(x)), 4) == reliability
    assert round(float(system.cdf(x)), 4) == failure
    assert round(float(system.hazard(x)), 4) == hazard
    assert round(float(system.mttf()), 4) == mttf
    assert system.pdf(x) == pytest.approx(float(system.hazard(x) * system.reliability(x)), rel=1e-14)


def test_the_papers_expected_frequencies():
    # figure 4.3: two nodes of age 600, bins and expected counts of 100 times to failure
    system = System(Weibull(0.8, 1000.0), ages=[600.0, 600.0])
    expected = 100.0 * np.diff(system.cdf([0.0, 200.0, 400.0, 600.0, 800.0, 1000.0, 8000.0]))
    assert expected.round(1).tolist() == [29.1, 19.8, 13.8, 9.8, 7.0, 20.5]
    observed, expected = np.array([30, 21, 16, 8, 5, 20]), expected.round(1)  # as printed
    assert round(((observed - expected) ** 2 / expected).sum(), 2) == 1.37  # 1.3654, printed as 1.365


def family_with_middle(name, parameters):
    """The family, and a time by which about half of what can fail has failed."""
    family = rf.families.FAMILIES[name](*parameters)
    middle = float(family.median())
    return family, parameters[2] if name == "zero_inflated" or not np.isfinite(middle) else middle


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_conditional_hazards_keep_their_digits_at_any_age(name, parameters):
    family, middle = family_with_middle(name, parameters)
    for age in (0.0, 0.3 * middle, 30.0 * middle, 1e3 * middle):
        if not family.cumulative_hazard(age) < 1e7:
            continue  # no node gets there
        for x in (1e-9 * middle, 0.7 * (age or middle), 20.0 * middle):
            with mp.workdps(150):
                exact = excess(name, parameters, age, x)
            if not (mp.isfinite(exact) and 1e-90 < exact < 1e280):
                continue
            found = family.conditional_cumulative_hazard(x, age)
            assert float(found) == pytest.approx(float(exact), rel=1e-8)
            back = family.inverse_conditional_cumulative_hazard(found, age)
            assert float(family.conditional_cumulative_hazard(back, age)) == pytest.approx(float(found), rel=1e-8)


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_failure_rates_are_slopes_of_conditional_hazards(name, parameters):
    family, middle = family_with_middle(name, parameters)
    for age in (0.2 * middle, 3.0 * middle, 1e3 * middle):
        if not family.cumulative_hazard(age) < 1e7:
            continue
        x, step = 0.4 * age, 1e-5 * age
        slope = float(family.conditional_cumulative_hazard(2.0 * step, age + x - step)) / (2.0 * step)
        with np.errstate(over="ignore"):
            rate = float(family.hazard(age + x))
        if 1e-200 < rate < 1e200:
            assert rate == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize("shape", [0.05, 0.3, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("age", [0.0, 1e-6, 1.0, 1e6])
def test_one_weibull_node_at_any_shape_and_age(shape, age):
    with mp.workdps(40):
        b, t = mp.mpf(shape), mp.mpf(age)
        q = t**b
        # the mean residual life of a Weibull of scale 1 is an incomplete gamma function
        if q < 1e4:
            exact = mp.exp(q) * mp.gammainc(1 + 1 / b, q) - t
        else:
            exact = mp.quad(lambda u: mp.exp(q + u) ** 0 * mp.exp(-u) * ((q + u) ** (1 / b) - t), [0, 1, 8, 64, 200])
    system = System(Weibull(shape, 1.0), ages=age, longest_age=None)
    mean = float(system.mttf())
    assert mean == pytest.approx(float(exact), rel=1e-9)
    assert 0.0 < float(system.reliability(mean)) < 1.0
    assert float(system.reliability(system.quantile(0.3))) == pytest.approx(0.7, rel=1e-13)
    assert np.isfinite(system.sample(1000, rng=1)).all()
    assert float(system.truncated_mean(mean)) < mean


@pytest.mark.slow
def test_mixed_families_against_scipy_and_mpmath():
    ages = np.array([100.0, 0.0, 700.0, 20.0, 400.0])
    system = System(MIXED, ages=ages)
    x = np.array([0.0, 1e-3, 5.0, 80.0, 300.0])
    expected = np.prod([scipy_sf(n, a + x) / scipy_sf(n, a) for n, a in zip(MIXED, ages, strict=True)], axis=0)
    np.testing.assert_allclose(system.reliability(x), expected, rtol=1e-9)
    step = 1e-3
    slope = -np.diff(system.log_reliability([80.0 - step, 80.0 + step]))[0] / (2 * step)
    assert float(system.hazard(80.0)) == pytest.approx(slope, rel=1e-7)

    def alive(t):
        return mp.exp(
            -sum(
                excess(n.name, [float(v) for v in n.parameters().values()], a, t)
                for n, a in zip(MIXED, ages, strict=True)
            )
        )

    with mp.workdps(20):
        exact = mp.quad(alive, [0, 1e-3, 1, 10, 60, 200, 600, 2000, 8000])
        part = mp.quad(alive, [0, 1e-3, 1, 10, 50])
    assert float(system.mttf()) == pytest.approx(float(exact), rel=1e-9)
    assert float(system.truncated_mean(50.0)) == pytest.approx(float(part), rel=1e-9)
    drawn = system.sample(40_000, rng=3)
    assert stats.kstest(drawn, system.cdf).pvalue > 1e-3
    assert abs(drawn.mean() - system.mttf()) < 4.0 * drawn.std() / 200.0


def test_shapes_follow_the_horizons_and_durations_are_read():
    system = System(MIXED)
    assert system.reliability(24.0).shape == ()
    assert system.reliability([[1.0, 2.0]]).shape == (1, 2)
    assert system.reliability("1 day") == system.reliability(pd.Timedelta("24h")) == system.reliability(24)
    np.testing.assert_array_equal(system.quantile([[0.0], [0.5], [1.0]]).shape, (3, 1))
    assert system.quantile(0.0) == 0.0
    assert np.isinf(system.quantile(1.0))
    assert System(MIXED, ages="3 days").ages.tolist() == [72.0] * 5
    assert System(MIXED, ages=[1, 2, 3, 4, 5], unit="days").ages.tolist() == [24.0, 48.0, 72.0, 96.0, 120.0]


def test_the_life_left_to_a_job_that_has_run():
    system = System(MIXED, ages=[1.0, 2.0, 3.0, 4.0, 5.0])
    left = system.mean_residual_life([0.0, 40.0])
    assert float(left[0]) == pytest.approx(float(system.mttf()), rel=1e-13)
    by_hand = (system.mttf() - system.truncated_mean(40.0)) / system.reliability(40.0)
    assert float(left[1]) == pytest.approx(float(by_hand), rel=1e-9)
    lost = system.mean_given_failure(40.0)
    drawn = system.sample(40_000, rng=5)
    drawn = drawn[drawn < 40.0]
    assert abs(drawn.mean() - lost) < 4.0 * drawn.std() / np.sqrt(drawn.size)


def test_a_hundred_thousand_nodes_neither_underflow_nor_lose_digits():
    rng = np.random.default_rng(1)
    shape, scale = rng.uniform(0.4, 2.0, 100_000), rng.lognormal(8.0, 1.0, 100_000)
    ages = rng.uniform(0.0, 3000.0, 100_000)
    system = System(Weibull(shape, scale), ages=ages)
    b, a, t = (np.asarray(v, dtype=np.longdouble) for v in (shape, scale, ages))
    exact = (((t + 24.0) / a) ** b - (t / a) ** b).sum()
    assert float(system.cumulative_hazard(24.0)) == pytest.approx(float(exact), rel=1e-13)
    assert system.reliability(24.0) == 0.0
    assert system.log_reliability(24.0) < -1000.0
    assert 0.0 < float(system.mttf()) < 1.0


def test_infinite_means_are_said():
    cured = rf.families.LimitedFailure(0.3, 0.8, 100.0)
    assert np.isinf(System(cured, ages=[0.0, 5.0]).mttf())
    heavy = rf.families.Loglogistic(0.6, 100.0)
    assert np.isinf(System(heavy).mttf())
    # two such nodes: the sum of the powers is 1.2
    with mp.workdps(20):
        exact = mp.quad(lambda u: mp.exp(u) / (1 + mp.exp(u * mp.mpf("0.6"))) ** 2, mp.linspace(-60, 400, 100))
    assert float(System(heavy, ages=[0.0, 0.0]).mttf()) == pytest.approx(100.0 * float(exact), rel=1e-10)
    with_others = System([cured, Exponential(0.01)])
    exact = 0.7 * 100.0 + 0.3 * float(
        mp.quad(lambda x: mp.exp(-mp.mpf("0.01") * x - (x / 100) ** mp.mpf("0.8")), [0, 1e-3, 1, 50, 500, 5000])
    )
    assert float(with_others.mttf()) == pytest.approx(exact, rel=1e-9)
    assert np.isinf(System(cured).quantile(0.5))
    assert np.isinf(System(cured).sample(100, rng=1)).any()


def test_competing_causes_of_a_node():
    life = CompetingRisks({"disk": Weibull(2.0, 900.0), "power": Exponential(0.001)})
    system = System([life, Exponential(0.002)], ages=[100.0, 0.0])
    by_hand = ((100.0 + 50.0) / 900.0) ** 2 - (100.0 / 900.0) ** 2 + 0.05 + 0.1
    assert float(system.cumulative_hazard(50.0)) == pytest.approx(by_hand, rel=1e-13)
    assert stats.kstest(system.sample(5000, rng=2), system.cdf).pvalue > 1e-3


def test_parts_of_a_system():
    system = System(MIXED, ages=[1.0, 2.0, 3.0, 4.0, 5.0], names=list("abcde"))
    part = system.take([4, 0])
    assert part.names.tolist() == ["e", "a"]
    assert part.ages.tolist() == [5.0, 1.0]
    both = System([MIXED[4], MIXED[0]], ages=[5.0, 1.0])
    assert part.reliability(30.0) == pytest.approx(float(both.reliability(30.0)), rel=1e-15)
    x = np.array([1.0, 40.0])
    by_node = system.node_cumulative_hazards(x)
    np.testing.assert_allclose(by_node.sum(axis=0), system.cumulative_hazard(x), rtol=1e-14)
    found = system.by_size(x, order=[3, 1, 0])
    np.testing.assert_allclose(-np.log(found.reliability), np.cumsum(by_node[[3, 1, 0]], axis=0), rtol=1e-9)
    mask = np.zeros(5, dtype=bool)
    mask[[0, 4]] = True
    assert system.take(mask).names.tolist() == ["a", "e"]
    assert system.take(mask).mttf() == pytest.approx(float(part.mttf()), rel=1e-9)


def test_systems_of_fits():
    lives = rf.LifeData.from_groups(
        {
            "n1": Weibull(0.8, 1000.0).sample(40, rng=1),
            "n2": Weibull(2.0, 500.0).sample(40, rng=2),
            "n3": Lognormal(6.0, 1.0).sample(40, rng=3),
            "n4": np.array([700.0]),
        },
        {"n1": np.ones(40, bool), "n2": np.ones(40, bool), "n3": np.ones(40, bool), "n4": np.zeros(1, bool)},
    )
    fits = rf.fit(lives, families=["weibull", "lognormal"])
    with pytest.raises(DataError, match=r"'n4' \(all_censored\)"):
        rf.system_from_fits(fits)
    dropped = rf.system_from_fits(fits, missing="drop", ages=[1.0, 2.0, 3.0, 4.0])
    assert dropped.names.tolist() == ["n1", "n2", "n3"]
    assert dropped.ages.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ArgumentError, match="2 nodes, but 3 ages"):
        rf.system_from_fits(fits, nodes=["n1", "n2"], ages=[1.0, 2.0, 3.0])
    with pytest.raises(ArgumentError, match="3 nodes, but 5 ages"):
        rf.system_from_fits(fits, missing="drop", ages=[1.0, 2.0, 3.0, 4.0, 5.0])
    pooled = rf.system_from_fits(fits, missing="pool", family="weibull")
    assert pooled.n_nodes == 4
    assert pooled.sources.tolist() == [0, 1, 2, -1]
    assert np.isfinite(pooled.mttf())
    assert rf.system_from_fits(fits["weibull"].take([0, 1]), nodes=["n2"]).reliability(24.0) == pytest.approx(
        float(fits["weibull"].distribution[1].sf(24.0))
    )
    best = fits.best()
    chosen = rf.system_from_fits(fits, nodes=["n3", "n1"], ages="5 days")
    kinds = {int(c.positions[i]): c.family.name for c in chosen.components for i in range(len(c))}
    assert [kinds[0], kinds[1]] == [best["n3"], best["n1"]]
    assert chosen.sources.tolist() == [2, 0]
    many = rf.system_from_fits(rf.fit(lives.take([0]), families="weibull"), nodes=50)
    assert many.n_nodes == 50
    assert set(many.sources.tolist()) == {0}
    whole = rf.system_from_fits(fits.pool("weibull"))
    assert whole.n_nodes == 4
    assert whole.origin.family.name == "weibull"
    with pytest.raises(ArgumentError, match="no node 'nn'"):
        rf.system_from_fits(fits, nodes=["nn"])


@pytest.mark.verify
def test_every_node_of_a_real_system():
    log = site_log("lanl").where(system="20")
    system = rf.system_from_log(log, period="all", families=["exponential", "weibull"])
    assert system.n_nodes == len(set(system.names)) > 250
    found = system.by_size("24h")
    assert np.isfinite(found.mttf).all()
    assert (np.diff(found.mttf) < 0.0).all()
    np.testing.assert_allclose(found.mttf[-1], system.mttf(), rtol=1e-9)
    np.testing.assert_allclose(found.reliability[-1], system.reliability(24.0), rtol=1e-9)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: System([]), "no nodes"),
        (lambda: System(Weibull(np.empty(0), np.empty(0))), "no nodes"),
        (lambda: System(Weibull(0.8, [1.0, 2.0]), ages=[1.0, -0.5]), "node 1 has the age -0.5"),
        (lambda: System(Weibull(0.8, [1.0, 2.0]), ages=[np.nan, 2.0]), "node 0 has the age nan"),
        (lambda: System(Weibull(0.8, [1.0, 2.0]), ages=[1.0, 1e9], names=["a", "b"]), "node 'b' has an age of"),
        (lambda: System(Weibull.unchecked([0.8, -1.0], 5.0)), "node 1 has the shape -1"),
        (lambda: System(Weibull.unchecked([0.8, 1.0], [5.0, 0.0]), names=["a", "b"]), "node 'b' has the scale 0"),
        (lambda: System(Weibull([0.8, np.nan], 5.0)), "node 1 has no shape"),
        (lambda: System([Weibull(0.8, 5.0), 3.0]), "node 1 is not a distribution"),
        (lambda: System([Weibull(0.8, [5.0, 6.0])]), "node 0 is a batch"),
        (lambda: System(Weibull(0.8, [[5.0, 6.0]])), "one dimension"),
        (lambda: System(Weibull(0.8, [1.0, 2.0]), ages=[1.0, 2.0, 3.0]), "2 nodes but 3 ages"),
        (lambda: System(Weibull(0.8, [1.0, 2.0]), tolerance=2), "cannot lose 2"),
        (lambda: System(Weibull(0.8, [1.0, 2.0])).take([2]), "no node 2"),
        (lambda: System(Weibull(0.8, [1.0, 2.0])).take([0, -1]), "no node -1"),
        (lambda: System(Weibull(0.8, [1.0, 2.0]), [1.0, 2.0, 3.0], names=["a", "b"]), "2 names but 3 ages"),
        (lambda: System(Weibull(0.8, [1.0, 2.0])).take([0, 0]), "node 0 is given twice"),
        (lambda: System(Weibull(0.8, [1.0, 2.0])).by_size(order=[0, 1, 5]), "no node 5"),
        (lambda: System(Weibull(0.8, [1.0, 2.0])).reliability(-1.0), "horizon of -1"),
        (lambda: System(Weibull(0.8, [1.0, 2.0])).quantile(1.5), "between 0 and 1"),
        (lambda: System(Weibull(0.8, [1.0, 2.0]), racks=["r"], rack_lives=Exponential(1.0)), "2 nodes but 1 racks"),
        (lambda: System(Weibull(0.8, [1.0, 2.0]), ages="soon"), "not a duration"),
    ],
)
def test_bad_input_names_the_node(build, message):
    with pytest.raises((ArgumentError, DataError), match=message):
        build()


def test_results_leave_as_tables_and_json():
    import json

    system = System(MIXED, ages=3.0, tolerance=1, common=Exponential(1e-4))
    assert len(system.to_frame()) == 5
    assert json.dumps(system.to_dict())
    assert "tolerates 1" in repr(system)
    assert "<p>" in system._repr_html_()
    found = system.by_size([24.0, 48.0])
    assert list(found.to_frame().columns) == [
        "nodes",
        "added",
        "mttf",
        "reliability_24h",
        "reliability_48h",
        "hazard_24h",
        "hazard_48h",
    ]
    assert json.dumps(found.to_dict())
    assert found.mttf[0] == pytest.approx(1e4)  # one node of which one may fail: the common cause ends the job


def test_infinite_horizons():
    nodes = [FAMILIES[name](*rows[0]) for name, rows in PARAMETERS.items() if name != "limited_failure"]
    system = System(nodes, ages=30.0)
    for some in (system, system.tolerating(2)):
        assert some.reliability([0.0, np.inf]).tolist() == [1.0, 0.0]
        assert some.pdf(np.inf) == 0.0
        assert some.quantile([0.0, 1.0]).tolist() == [0.0, np.inf]
        for quantity in (some.hazard, some.mean_residual_life, some.by_size):
            with pytest.raises(ArgumentError, match="infinite time"):
                quantity(np.inf)
    cured = System(FAMILIES["limited_failure"](0.3, 0.8, 50.0))
    assert cured.reliability(np.inf) == pytest.approx(0.7)
    assert np.isinf(cured.mttf())


def test_any_order_of_nodes_and_the_last_of_them():
    nodes = [FAMILIES[name](*rows[0]) for name, rows in PARAMETERS.items()]
    ages = np.linspace(0.0, 300.0, len(nodes))
    order = np.random.default_rng(5).permutation(len(nodes))
    system, other = System(nodes, ages), System([nodes[i] for i in order], ages[order])
    x = np.array([0.01, 5.0, 400.0])
    for tolerance in (0, 3):
        one, two = system.tolerating(tolerance), other.tolerating(tolerance)
        np.testing.assert_allclose(one.reliability(x), two.reliability(x), rtol=1e-9)
        np.testing.assert_allclose(one.hazard(x), two.hazard(x), rtol=1e-10)
    # a job that needs but one node ends with the last of them
    last = system.tolerating(len(nodes) - 1).cdf(x)
    np.testing.assert_allclose(last, np.prod([system.take([i]).cdf(x) for i in range(len(nodes))], axis=0), rtol=1e-9)


def test_notes_of_ages_far_above_the_lives():
    fits = rf.fit(rf.LifeData.from_array([30.0, 70.0, 200.0, 400.0]), "weibull")
    assert rf.system_from_fits(fits, nodes=2, ages=700.0).notes == ()
    assert "node 1 has an age of 9,000 h" in rf.system_from_fits(fits, nodes=2, ages=[90.0, 9000.0]).notes[0]
    assert System(Weibull(0.8, 10.0), ages=1e5).notes == ()


def test_nodes_in_repair_are_not_offered_and_do_not_grow_more_reliable() -> None:
    log = make_log(
        [
            {"node": "up", "start": 10, "end": 12},
            {"node": "down", "start": 20, "end": 130},
            {"node": "open", "start": 30, "end": 100, "end_cut": True},
            {"node": "late", "start": 5, "end": None},
            {"node": "late", "start": 40, "end": 41},
            *({"node": f"n{i}", "start": 50 + 2 * i, "end": 51 + 2 * i} for i in range(9)),
        ],
        window=(0, 100),
    )
    offered = rf.system_from_log(log, period="all", families="exponential")
    ages = dict(zip(offered.names, offered.ages, strict=True))
    assert (ages["up"], ages["late"]) == (88.0, 59.0)  # hours of operation since their repairs ended
    assert set(offered.names) == {"up", "late", *(f"n{i}" for i in range(9))}
    with pytest.raises(DataError, match="'down' was in repair then"):
        rf.system_from_log(log, period="all", nodes=["up", "down"], families="exponential")


def test_labels_of_three_levels_are_named_by_the_last_one_where_it_suffices():
    times = {("x", "rack 1", "n1"): [1.0, 2.0], ("x", "rack 1", "n2"): [3.0, 5.0], ("x", "rack 2", "n3"): [2.0, 9.0]}
    fits = rf.fit(rf.LifeData.from_groups(times), "exponential")
    assert rf.system_from_fits(fits["exponential"]).names.tolist() == ["n1", "n2", "n3"]


def test_ages_as_durations_of_numpy_and_pandas():
    days = np.array([1, 2, 3], dtype="timedelta64[D]")
    for ages in (days, pd.Series(days), pd.to_timedelta(days)):
        system = System(Weibull(0.8, 100.0), ages=ages)
        assert system.ages.tolist() == [24.0, 48.0, 72.0]
        assert system.to_frame()[["shape", "scale"]].to_numpy().tolist() == [[0.8, 100.0]] * 3


def test_draws_in_parts_are_the_same(monkeypatch):
    system = System(Weibull(0.8, 100.0), ages=[0.0, 30.0, 400.0])
    together = system.sample(50, rng=1)
    monkeypatch.setattr(sampling, "CELLS", 3)
    assert np.asarray(system.sample(50, rng=1)).shape == np.asarray(together).shape
    assert np.mean(system.sample(4000, rng=2)) == pytest.approx(system.mttf(), rel=0.08)
