"""Every number of nodes at once: against mpmath, one system at a time, and every kind of node."""

from __future__ import annotations

import itertools

import mpmath as mp
import numpy as np
import pytest

import relfit as rf
from relfit import ArgumentError, System
from relfit.fitting.families import FAMILIES, Exponential, Gamma, Lognormal, Weibull
from tests.families.cases import PARAMETERS


def exact_mean(shapes, scales, ages):
    """Mean time to failure of a few Weibull nodes, by mpmath's own quadrature on the log scale."""
    b, a, t = ([mp.mpf(float(v)) for v in values] for values in (shapes, scales, ages))

    def spent(x):
        return mp.fsum(((ti + x) / ai) ** bi - (ti / ai) ** bi for bi, ai, ti in zip(b, a, t, strict=True))

    def height(y):
        x = mp.exp(y)
        return x * mp.exp(-spent(x))

    def when(level):
        low, high = mp.mpf(-800), mp.mpf(800)
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if spent(mp.exp(middle)) < level else (low, middle)
        return low

    low = min(when(mp.mpf("1e-18")), when(1) - 45)
    edges = sorted({low, *(when(mp.mpf(10) ** e) for e in (-4, -2, -1, -0.5, 0, 0.4, 0.8, 1.2, 1.6, 1.95))})
    pieces = [e + (f - e) * mp.mpf(i) / 2 for e, f in itertools.pairwise(edges) for i in range(2)]
    return mp.exp(low) + mp.quad(height, [*pieces, edges[-1]])


@pytest.mark.parametrize(
    ("low", "high"), [(0.05, 0.06), (0.05, 20.0), (0.5, 1.5), pytest.param(19.0, 20.0, marks=pytest.mark.verify)]
)
@pytest.mark.slow
def test_means_against_mpmath(low, high):
    rng = np.random.default_rng(7)
    size = 12
    shape, scale = rng.uniform(low, high, size), rng.lognormal(6.0, 1.0, size)
    ages = np.where(rng.random(size) < 0.5, rng.lognormal(5.0, 3.0, size), 0.0)
    found = System(Weibull(shape, scale), ages=ages, longest_age=None).by_size()
    for k in (1, size):
        with mp.workdps(55 if high > 2.0 else 25):
            exact = exact_mean(shape[:k], scale[:k], ages[:k])
        assert abs(found.mttf[k - 1] / float(exact) - 1.0) < 1e-9


@pytest.mark.slow
def test_ages_of_a_million_scales():
    # H is nearly linear there, so the mean is nearly the inverse of the rate
    shape = np.array([0.05, 0.5, 1.0, 3.0, 20.0])
    system = System(Weibull(shape, 100.0), ages=1e8, longest_age=None)
    found = system.by_size()
    for k in range(1, 6):
        with mp.workdps(40):
            b, t = [mp.mpf(float(s)) for s in shape[:k]], mp.mpf(1e6)

            def spent(x, b=b, t=t):
                return mp.fsum(t**s * mp.expm1(s * mp.log1p(x / t)) for s in b)

            rate = mp.fsum(s * t ** (s - 1) for s in b)
            if k == 1:
                exact = mp.quad(lambda u, t=t, s=b[0]: mp.exp(-u) * t * mp.expm1(mp.log1p(u / t**s) / s), [0, 1, 9, 90])
            else:
                exact = mp.quad(lambda u, r=rate, f=spent: mp.exp(-f(u / r)) / r, [0, 1, 4, 16, 60, 200])
        assert found.mttf[k - 1] == pytest.approx(100.0 * float(exact), rel=1e-9)


@pytest.mark.slow
def test_a_hundred_thousand_sizes_at_once():
    rng = np.random.default_rng(2)
    size = 100_000
    shape, scale = rng.uniform(0.3, 2.0, size), rng.lognormal(8.0, 1.0, size)
    ages = rng.uniform(0.0, 3000.0, size)
    system = System(Weibull(shape, scale), ages=ages)
    found = system.by_size("6min")
    assert len(found) == size
    assert np.isfinite(found.mttf).all()
    assert (np.diff(found.mttf) < 0.0).all()
    for k in (1, 100, 31_623, size):
        part = system.take(np.arange(k))
        assert found.mttf[k - 1] == pytest.approx(float(part.mttf()), rel=1e-9)
        assert found.reliability[k - 1] == pytest.approx(float(part.reliability(0.1)), rel=1e-9)
        assert found.hazard[k - 1] == pytest.approx(float(part.hazard(0.1)), rel=1e-9)
    # a plain sum in extended precision over the first 3000 nodes, at the points of a plain rule
    b, a, t = (np.asarray(v[:3000], dtype=np.longdouble) for v in (shape, scale, ages))
    points, weights = np.polynomial.legendre.leggauss(30)
    top, total = float(system.take(np.arange(3000)).quantile(1.0 - 1e-16)), 0.0
    edges = top * np.array([0.0, 0.01, 0.1, 0.4, 1.0])
    for low, high in itertools.pairwise(edges):
        x = 0.5 * (low + high) + 0.5 * (high - low) * points
        spent = np.array([float(np.sum(((t + v) / a) ** b - (t / a) ** b)) for v in x])
        total += 0.5 * (high - low) * np.sum(weights * np.exp(-spent))
    assert found.mttf[2999] == pytest.approx(total, rel=1e-9)


def test_families_of_every_kind_in_any_order():
    nodes = [FAMILIES[name](*rows[0]) for name, rows in PARAMETERS.items()]
    ages = np.linspace(0.0, 300.0, len(nodes))
    system = System(nodes, ages=ages)
    order = np.random.default_rng(3).permutation(len(nodes))
    found = system.by_size([5.0, 50.0], order=order)
    assert found.reliability.shape == (len(nodes), 2)
    for k in (1, 4, 9, len(nodes)):
        part = system.take(order[:k])
        np.testing.assert_allclose(found.mttf[k - 1], part.mttf(), rtol=1e-9)
        np.testing.assert_allclose(found.reliability[k - 1], part.reliability([5.0, 50.0]), rtol=1e-9)
        np.testing.assert_allclose(found.hazard[k - 1], part.hazard([5.0, 50.0]), rtol=1e-9)


def test_sizes_whose_mean_is_infinite():
    nodes = [FAMILIES["limited_failure"](0.3, 0.8, 50.0), FAMILIES["loglogistic"](0.7, 90.0), Exponential(0.01)]
    found = System(nodes).by_size(order=[0, 1, 2])
    assert np.isinf(found.mttf[:2]).all()
    assert np.isfinite(found.mttf[2])
    assert found.mttf[2] == pytest.approx(float(System(nodes).mttf()), rel=1e-9)


def test_means_of_heavy_tails_with_a_spare():
    """The tail indices of all nodes but the one that may fail add up: two of 0.7, not one, have a finite mean."""
    found = System(FAMILIES["loglogistic"]([0.7, 0.7, 0.7], 90.0), tolerance=1).by_size(order=[0, 1, 2])
    assert np.isfinite(found.mttf[1:]).tolist() == [False, True]
    lighter = System(FAMILIES["loglogistic"]([0.4, 0.4, 0.4, 0.4], 90.0), tolerance=1).by_size(order=[0, 1, 2, 3])
    assert np.isfinite(lighter.mttf[1:]).tolist() == [False, False, True]


def test_a_common_cause_makes_every_mean_finite():
    nodes = [FAMILIES["loglogistic"](0.7, 90.0), FAMILIES["loglogistic"](0.2, 90.0)]
    alone, exposed = System(nodes).by_size(order=[0, 1]), System(nodes, common=Exponential(0.01)).by_size(order=[0, 1])
    assert np.isinf(alone.mttf).all()
    assert np.isfinite(exposed.mttf).all()
    assert exposed.mttf[0] < 100.0


def test_tolerance_racks_and_common_causes():
    rng = np.random.default_rng(4)
    lives = Weibull(rng.uniform(0.5, 2.0, 24), rng.uniform(200.0, 2000.0, 24))
    racks = np.repeat(["a", "b", "c", "d"], 6)
    for tolerance, events in ((0, "job"), (3, "job"), (3, "nodes")):
        system = System(
            lives,
            ages=rng.uniform(0.0, 500.0, 24),
            tolerance=tolerance,
            common=[Exponential(1e-3)],
            racks=racks,
            rack_lives=Weibull(0.8, 4000.0),
            rack_ages=100.0,
            rack_events=events,
        )
        order = rng.permutation(24)
        found = system.by_size([1.0, 90.0], order=order)
        for k in (4, 11, 24):
            part = system.take(order[:k])
            np.testing.assert_allclose(found.mttf[k - 1], part.mttf(), rtol=1e-9)
            np.testing.assert_allclose(found.reliability[k - 1], part.reliability([1.0, 90.0]), rtol=1e-9)
            np.testing.assert_allclose(found.hazard[k - 1], part.hazard([1.0, 90.0]), rtol=1e-8)


def test_more_nodes_than_there_are():
    system = System(Weibull(0.8, [10.0, 20.0]), names=["a", "b"])
    with pytest.raises(ArgumentError, match="no node 2"):
        system.by_size(order=range(3))
    with pytest.raises(ArgumentError, match="'b' is given twice"):
        system.by_size(order=[1, 0, 1])
    assert rf.system.SystemsBySize is type(system.by_size())


@pytest.mark.parametrize(
    ("family", "survival"),
    [
        (
            Lognormal([7.0, 6.5, 8.0], [0.8, 2.0, 0.1]),
            lambda p, t: mp.erfc((mp.log(t) - p[0]) / p[1] / mp.sqrt(2)) / 2,
        ),
        (Gamma([0.4, 0.06, 12.0], [800.0, 3000.0, 300.0]), lambda p, t: mp.gammainc(p[0], t / p[1], regularized=True)),
    ],
)
@pytest.mark.verify
def test_a_hundred_thousand_nodes_without_closed_form(family, survival):
    # three distinct nodes many times over, so that mpmath can follow
    size = 100_000
    which = np.arange(size) % 3
    ages = np.array([0.0, 100.0, 2500.0])
    found = System(family[which], ages=ages[which]).by_size("6min")
    parameters = [[mp.mpf(float(v[i])) for v in family.parameters().values()] for i in range(3)]
    points, weights = np.polynomial.legendre.leggauss(14)
    counts = np.bincount(which)
    with mp.workdps(30):
        before = [mp.log(survival(p, mp.mpf(t))) if t else mp.mpf(0) for p, t in zip(parameters, ages, strict=True)]

        def spent(x, counts=counts, before=before):
            each = [b - mp.log(survival(p, t + x)) for p, t, b in zip(parameters, ages, before, strict=True)]
            return mp.fsum(int(n) * h for n, h in zip(counts, each, strict=True) if n)

        middle = float(np.log(found.mttf[-1]))
        low, steps = middle - 33.0, [middle - 33.0, *np.arange(middle - 25.0, middle - 4.0, 4.0)]
        steps += list(np.arange(middle - 3.5, middle + 7.0, 0.75))
        total = mp.exp(low) * (1 - spent(mp.exp(low)) / 2)
        for (a, b), (z, w) in itertools.product(itertools.pairwise(steps), zip(points, weights, strict=True)):
            x = mp.exp((a + b) / 2 + (b - a) / 2 * z)
            hazard = spent(x)
            total += (b - a) / 2 * w * x * mp.exp(-hazard)
            if hazard > 45:
                break
        alive = mp.exp(-spent(mp.mpf("0.1")))
    assert found.mttf[-1] == pytest.approx(float(total), rel=1e-9)
    assert found.reliability[-1] == pytest.approx(float(alive), rel=1e-9)


def test_quantities_of_the_first_nodes_in_closed_form() -> None:
    rates, x = np.array([0.1, 0.02, 0.3]), np.array([0.0, 1.0, 40.0])
    sums = np.cumsum(rates)[:, None]
    nodes = System(Exponential(rates))
    assert nodes.quantity_by_size("cdf", x) == pytest.approx(1.0 - np.exp(-sums * x))
    assert nodes.quantity_by_size("cumulative_hazard", x) == pytest.approx(sums * x)
    assert nodes.quantity_by_size("hazard", x) == pytest.approx(np.broadcast_to(sums, (3, 3)))
    assert nodes.quantity_by_size("mttf") == pytest.approx(1.0 / sums[:, 0])
