from __future__ import annotations

import numpy as np
import pytest

from papers.allocation import best_size_of_table_6_1, system_of_table_6_1
from papers.printed import printed_table
from relfit.errors import ArgumentError
from relfit.families import Exponential, Lognormal, Weibull
from relfit.jobs import Amdahl, Checkpoint, Gustafson, best_size, completion_time, ra_opt
from relfit.system import System


def fleet(n: int, seed: int, **options) -> System:
    rng = np.random.default_rng(seed)
    return System(Weibull(rng.uniform(0.5, 2.0, n), rng.uniform(200.0, 2000.0, n)), rng.uniform(0, 300, n), **options)


def test_table_6_1() -> None:
    printed, job = printed_table("allocation-table-6.1").astype(float), Amdahl(0.895)
    paper = best_size(system_of_table_6_1(), 1000.0, job, order="given", convention="paper")
    assert round(float(paper.expected[13]), 1) == 392.9
    error = np.abs(paper.expected / printed["expected"] - 1.0)
    assert error.max() < 0.0025  # M is printed to three figures
    assert error.drop(18).max() < 0.0015
    exact = best_size(system_of_table_6_1(), 1000.0, job, order="given")
    mean = printed["mttf"].to_numpy()
    assert np.allclose(exact.expected, mean * np.expm1(exact.lengths / mean), rtol=1e-9)
    assert best_size_of_table_6_1().best == 14
    assert best_size_of_table_6_1("exact").best == 11


@pytest.mark.parametrize("convention", ["exact", "paper"])
def test_each_size_is_its_own_completion_time(convention: str) -> None:
    system = fleet(9, 1, common=Weibull(0.7, 5000.0), racks=list("aabbbccca"), rack_lives=Weibull(1.4, 4000.0))
    found = best_size(system, "500h", Amdahl(0.9), restart="1h", convention=convention)
    for k in (1, 4, 9):
        one = completion_time(system.take(found.order[:k]), "500h", Amdahl(0.9), restart="1h", convention=convention)
        assert found.expected[k - 1] == pytest.approx(one.expected, rel=1e-6)
        assert found.success[k - 1] == pytest.approx(one.success, rel=1e-8)
    assert found.best_expected == found.expected.min()


def test_as_new_and_checkpoints() -> None:
    system = fleet(6, 2)
    plan = Checkpoint(3.0, 0.1, 0.2)
    for settings in ({"after_failure": "as_new"}, {"checkpoint": plan}, {"checkpoint": plan, "convention": "paper"}):
        found = best_size(system, "200h", Amdahl(0.9), restart="1h", **settings)
        one = completion_time(system.take(found.order[:3]), "200h", Amdahl(0.9), restart="1h", **settings)
        assert found.expected[found.sizes == 3] == pytest.approx(one.expected, rel=1e-6)


@pytest.mark.parametrize("law", [Amdahl(0.99), Gustafson(0.9)])
def test_many_sizes_agree_with_one_at_a_time(law) -> None:
    rng = np.random.default_rng(0)
    n = 150
    scale, ages = rng.uniform(300, 3000, n) * n, rng.uniform(0, 800, n) * rng.integers(0, 2, n)
    for family in (Weibull(rng.uniform(0.1, 4.0, n), scale), Lognormal(np.log(scale), rng.uniform(0.5, 2.0, n))):
        best = best_size(System(family, ages), 3000.0, law, order="given")
        for k in (1, 2, 30, 149):
            one = best.completion(k)
            assert best.log_expected[k - 1] == pytest.approx(one.log_expected, abs=1e-7)
            assert best.success[k - 1] == pytest.approx(one.success, rel=1e-7)


def test_equal_nodes_and_many() -> None:
    system = System(Weibull(0.8, np.full(3000, 1e5)))
    found = best_size(system, 500_000.0, Amdahl(0.9999), restart=0.5)
    k = found.sizes
    a = best_size(System(Weibull(0.8, 1e5 * 700 ** -(1 / 0.8))), 1.0).system
    one = completion_time(a, float(found.lengths[699]), restart=0.5)  # 700 of them are one of a shorter scale
    assert found.expected[699] == pytest.approx(one.expected, rel=1e-9)
    assert k[found.place] == found.best
    assert 1 < found.best < 3000


def test_rules_and_ties() -> None:
    times = {1: 1.0, 2: 0.9, 3: 3.0}  # two nodes slow the job down
    system = System(Exponential([1e-6] * 3))
    assert best_size(system, 10.0, times).best == 3
    assert ra_opt(system, 10.0, times).best == 1
    same = best_size(System(Weibull(0.8, [500.0] * 5)), 10.0, Amdahl(0.5), order="reliability")
    assert same.order.tolist() == [0, 1, 2, 3, 4]


def test_nodes_are_added_while_the_time_does_not_grow() -> None:
    from relfit.jobs._best_size import _Settings

    first, least = (_Settings(None, rule, "exact", "same") for rule in ("first", "least"))
    curve = np.log([5.0, 3.0, 3.0, 2.0, 4.0, 1.0])
    assert first.choose(curve) == 3
    assert least.choose(curve) == 5
    assert least.choose(np.log([3.0, 2.0, 2.0])) == 1
    assert first.choose(np.array([5.0, np.nan, 4.0, np.nan, 6.0])) == 2


def brute_force(b, a, t, law, work, restart) -> tuple[float, tuple[int, ...]]:
    """Every set, by Gauss-Legendre on dyadic panels: no code of the package but the speed-up."""
    n = b.size
    x0, w0 = np.polynomial.legendre.leggauss(12)
    ends = np.concatenate([[0.0], 0.5 ** np.arange(14, -1, -1)])
    u = (ends[:-1, None] + np.diff(ends)[:, None] * 0.5 * (1 + x0)).ravel()
    w = (np.diff(ends)[:, None] * 0.5 * w0).ravel()
    best: tuple[float, tuple[int, ...]] = (np.inf, ())
    bits = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    for k in range(1, n + 1):
        length = float(law.time(work, [k])[0])
        sets = bits[bits.sum(axis=1) == k].astype(float)
        at = lambda x: ((t[:, None] + x) / a[:, None]) ** b[:, None] - (t[:, None] / a[:, None]) ** b[:, None]  # noqa: E731
        end = at(np.array([length]))
        with np.errstate(over="ignore", invalid="ignore"):  # sets that as good as never finish
            value = np.exp(sets @ (end - at(length * u))) @ (w * length) + restart * np.expm1(sets @ end[:, 0])
        value = np.where(np.isfinite(value), value, np.inf)
        place = int(np.argmin(value))
        if value[place] < best[0] * (1 - 1e-12):
            best = (float(value[place]), tuple(np.flatnonzero(sets[place]).tolist()))
    return best


def test_the_most_reliable_nodes_are_best_of_all_sets_where_hazards_are_ordered_alike() -> None:
    rng = np.random.default_rng(3)
    for case in range(60):
        b = np.full(9, (1.0, rng.uniform(0.5, 2.0))[case % 2])
        a = rng.uniform(100.0, 1000.0, 9)
        law, work, restart = Amdahl(rng.uniform(0.6, 1.0)), 10 ** rng.uniform(1, 3), float(rng.choice([0.0, 1.0, 20.0]))
        expected, chosen = brute_force(b, a, np.zeros(9), law, work, restart)
        best = best_size(System(Weibull(b, a)), work, law, restart=restart)
        assert best.best_expected == pytest.approx(expected, rel=1e-7)
        assert tuple(sorted(best.positions.tolist())) == chosen


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"k_max": 13}, "k_max is 13, but there are only 6 nodes"),
        ({"k_max": 0}, "k_max is 0"),
        ({"order": "size"}, "'reliability', 'given' or positions"),
        ({"order": [0, 0]}, "names node 0 twice"),
        ({"order": [0, 6]}, "order names node 6"),
        ({"rule": "last"}, "'least' or 'first'"),
        ({"horizon": -1.0}, "horizon is -1 hours"),
        ({"after_failure": "ageing"}, "'same' or 'as_new'"),
        ({"level": 0.9}, "given parameters"),
    ],
)
def test_bad_input(settings, text) -> None:
    with pytest.raises(ArgumentError, match=text):
        best_size(fleet(6, 2), 100.0, Amdahl(0.9), **settings)


def test_systems_that_tolerate_failures_are_rejected() -> None:
    with pytest.raises(ArgumentError, match="tolerates 1"):
        best_size(fleet(6, 2, tolerance=1), 100.0)
