"""Limits of systems: closed forms, the delta method by differences as an independent check, coverage by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.fitting.families import Exponential, Weibull
from relfit.system import Component, System, system_from_fits
from relfit.system.uncertainty import ParameterSource, limits, sources_of

ASKED = [
    ("reliability", [0.0, 24.0, 200.0]),
    ("cdf", [24.0, 200.0]),
    ("cumulative_hazard", [24.0, 200.0]),
    ("hazard", [24.0, 200.0]),
    ("pdf", [24.0, 200.0]),
    ("quantile", [0.1, 0.5]),
    ("mttf", None),
    ("mean_residual_life", [0.0, 100.0]),
    ("truncated_mean", [24.0, 100.0, np.inf]),
    ("mean_given_failure", [24.0, 100.0]),
]


@pytest.fixture(scope="module")
def fits() -> rf.fitting.Fits:
    times = Weibull(0.8, 1000.0).sample((4, 60), rng=1)
    return rf.fit(rf.LifeData.from_array(np.minimum(times, 2000.0), times <= 2000.0))


@pytest.fixture(scope="module")
def system(fits: rf.fitting.Fits) -> System:
    """Nodes that share fits, of two families and different ages."""
    return system_from_fits(fits, nodes=[0, 1, 1, 2, 3, 0, 2, 1], ages=[0, 10, 200, 300, 50, 900, 20, 700])


def sources(system: System) -> list[ParameterSource]:
    return sources_of(system.components, system.names, system.sources, system.origin)


def standard_errors(system: System, quantity: str, argument: list[float] | None) -> np.ndarray:
    """Of the log of a quantity, by the delta method: every free coordinate of every fit moved by itself."""
    parts = sources(system)

    def value(free: list[np.ndarray]) -> np.ndarray:
        components = [
            Component(part.family.unchecked(*part.family.from_free(f)[part.of_node].T), part.positions)
            for part, f in zip(parts, free, strict=True)
        ]
        moved = System.of_components(
            tuple(components), system.ages, names=system.names, sources=None, origin=None, common=system.common
        )
        return np.log(np.atleast_1d(getattr(moved, quantity)(*(() if argument is None else (argument,)))))

    variance = np.zeros(np.size(value([part.free for part in parts])))
    for number, part in enumerate(parts):
        for group in range(part.free.shape[0]):
            slopes = []
            for i in range(part.free.shape[1]):
                ends = []
                for sign in (1.0, -1.0):
                    free = [p.free.copy() for p in parts]
                    free[number][group, i] += sign * 1e-4
                    ends.append(value(free))
                slopes.append((ends[0] - ends[1]) / 2e-4)
            variance += (np.einsum("im,ij->jm", np.stack(slopes), part.root[group]) ** 2).sum(axis=0)
    return np.sqrt(variance)


@pytest.mark.parametrize(
    ("quantity", "argument"),
    [("cumulative_hazard", [24.0, 200.0]), ("hazard", [24.0]), ("quantile", [0.1]), ("mttf", None), ("pdf", [5.0])],
)
def test_limits_are_those_of_the_delta_method_where_fits_are_good(system, quantity, argument) -> None:
    error = standard_errors(system, quantity, argument)
    found = system.interval(quantity, argument, n_draws=1999)
    np.testing.assert_allclose(np.log(found.high / found.low), 2.0 * 1.959964 * error, rtol=0.12)
    centre = 0.5 * (np.log(found.high) + np.log(found.low)) - np.log(found.estimate)
    assert (np.abs(centre) < 0.5 * error).all()


def test_percentiles_are_reflected_at_the_estimate() -> None:
    drawn = np.exp(np.random.default_rng(1).gamma(2.0, 1.0, 4000))  # skewed on the log scale
    estimate = np.exp(np.array(1.0))
    low, high = np.quantile(drawn, [0.05, 0.95])
    plain, turned = limits(estimate, drawn, 0.9, reflect=False), limits(estimate, drawn, 0.9, reflect=True)
    assert plain == pytest.approx((low, high), rel=1e-3)
    assert turned == pytest.approx((min(estimate**2 / high, estimate), max(estimate**2 / low, estimate)), rel=1e-3)
    assert turned[0] < 0.5 * plain[0]
    # with an upper end, on the scale of the log odds
    share = drawn / (1.0 + drawn)
    low, high = np.log(np.quantile(drawn, [0.05, 0.95]))
    expected = [1.0 / (1.0 + np.exp(-(2.0 * 1.0 - end))) for end in (high, low)]
    half = limits(10.0 * np.array(np.e / (1.0 + np.e)), 10.0 * share, 0.9, reflect=True, most=10.0)
    assert half == pytest.approx([10.0 * e for e in expected], rel=1e-3)


def test_own_fits_are_reflected_and_pooled_ones_are_not(fits, system) -> None:
    drawn = system.drawn_values("hazard", 24.0, 499, rng=3)
    low, high = np.quantile(np.log(drawn), [0.025, 0.975])
    found = system.interval("hazard", 24.0, n_draws=499, rng=3)
    centre = 2.0 * np.log(found.estimate)
    assert (np.log(found.low), np.log(found.high)) == pytest.approx((centre - high, centre - low))
    pooled = system_from_fits(fits.pool("weibull"), ages=100.0)
    drawn = pooled.drawn_values("hazard", 24.0, 499, rng=3)
    found = pooled.interval("hazard", 24.0, n_draws=499, rng=3)
    assert (found.low, found.high) == pytest.approx(tuple(np.exp(np.quantile(np.log(drawn), [0.025, 0.975]))))


def test_one_exponential_fit_has_a_closed_form() -> None:
    """Of n nodes that share one rate, the log of the hazard has the standard error of the log of the rate."""
    times = rf.LifeData.from_array(Exponential(0.01).sample(25, rng=4))
    system = system_from_fits(rf.fit(times, "exponential"), nodes=7, ages=50.0)
    rate = 25.0 / float(times.durations.sum())
    factor = math.exp(1.6448536269514722 / math.sqrt(25.0))
    found = system.interval("hazard", "24h", 0.9, n_draws=20_000)
    assert (found.low, found.high) == pytest.approx((7 * rate / factor, 7 * rate * factor), rel=0.02)
    mean = system.interval("mttf", level=0.9, n_draws=4000)
    assert (mean.low, mean.high) == pytest.approx((1 / (7 * rate) / factor, factor / (7 * rate)), rel=0.03)


def test_sharing_matters() -> None:
    """Nodes that share a fit are wrong together: their error does not average out."""
    times = Weibull(0.8, 1000.0).sample((16, 40), rng=2)
    one = rf.fit(rf.LifeData.from_array(times[:1]), "weibull")
    many = rf.fit(rf.LifeData.from_array(np.repeat(times[:1], 16, axis=0)), "weibull")
    shared = system_from_fits(one, nodes=16).interval("hazard", 24.0, n_draws=4000)
    separate = system_from_fits(many).interval("hazard", 24.0, n_draws=4000)
    assert shared.estimate == pytest.approx(separate.estimate)
    ratio = math.log(shared.high / shared.low) / math.log(separate.high / separate.low)
    assert ratio == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize(("quantity", "argument"), ASKED)
@pytest.mark.parametrize("tolerance", [0, 1])
def test_many_draws_at_once_are_one_after_the_other(system, quantity, argument, tolerance) -> None:
    arguments = () if argument is None else (argument,)
    some = system.tolerating(tolerance)
    together = some.drawn_values(quantity, None if argument is None else np.array(argument), 7, rng=5)
    singly = [getattr(one, quantity)(*arguments) for one in some.drawn(7, rng=5)]
    np.testing.assert_allclose(together, np.stack(singly), rtol=1e-7)
    found = some.interval(quantity, argument, n_draws=49)
    assert found.estimate == pytest.approx(getattr(some, quantity)(*arguments), rel=1e-12)
    assert (found.low <= found.high).all()
    assert (found.status == "ok").all()


@pytest.mark.parametrize("quantity", ["reliability", "hazard", "mttf", "cdf", "cumulative_hazard"])
@pytest.mark.slow
def test_by_size_is_what_each_part_has(system: System, quantity: str) -> None:
    order = np.array([3, 1, 0, 2, 7, 6, 5, 4])
    argument = None if quantity == "mttf" else [24.0, 150.0]
    draws = 399 if quantity == "mttf" else 1999
    found = system.by_size(24.0 if argument is None else argument, order).interval(quantity, n_draws=draws)
    assert found.estimate.shape == (8,) if argument is None else (8, 2)
    assert len(found.to_frame()) == found.estimate.size
    for k in (1, 3, 8):
        part = system.take(order[:k]).interval(quantity, argument, n_draws=draws, rng=1)
        assert found.estimate[k - 1] == pytest.approx(part.estimate, rel=1e-8)
        width = np.max(part.high - part.low)
        for name in ("low", "high"):
            np.testing.assert_allclose(getattr(found, name)[k - 1], getattr(part, name), atol=0.2 * width)


def test_spares_common_causes_and_racks(fits: rf.fitting.Fits) -> None:
    weibull = fits["weibull"]
    plain, spare = (system_from_fits(weibull, ages=100.0, tolerance=s) for s in (0, 1))
    found = spare.interval("reliability", "24h")
    assert found.low < spare.reliability("24h") < found.high
    assert plain.interval("reliability", "24h").low < found.low
    power = system_from_fits(
        weibull, ages=100.0, common=Exponential(0.001), racks=["a", "a", "b", "b"], rack_lives=Exponential(0.002)
    )
    # what is known for certain adds to the hazard of every draw
    extra = (0.001 + 2 * 0.002) * 24.0
    drawn = power.drawn_values("cumulative_hazard", 24.0, 99) - plain.drawn_values("cumulative_hazard", 24.0, 99)
    assert drawn == pytest.approx(np.full(99, extra))


@pytest.mark.slow
def test_pooled_nodes_share_the_uncertainty_of_the_fleet() -> None:
    """The error of a large pooled fleet does not vanish as the nodes' own errors average out."""
    rng = np.random.default_rng(5)
    fleet = Weibull(0.8, 1000.0 * np.exp(0.4 * rng.standard_normal(60)))
    pooled = rf.fit(rf.LifeData.from_array(fleet.sample(4, rng).T), "weibull").pool()
    system = system_from_fits(pooled)
    (source,) = sources(system)
    assert source.pooled
    assert source.shared is not None
    # own and shared uncertainty make up the posterior covariance
    both = source.root @ source.root.swapaxes(1, 2) + source.shared @ source.shared.swapaxes(1, 2)
    np.testing.assert_allclose(both, pooled.covariance, rtol=1e-6, atol=1e-9)
    alone = ParameterSource(source.family, source.positions, source.of_node, source.free, source.root, None, True)
    widths = []
    for one in (source, alone):
        drawn = one.draw(1999, np.random.default_rng(1))
        hazards = [System(Weibull(*values.T)).hazard(24.0) for values in drawn]
        widths.append(np.std(np.log(hazards)))
    assert widths[0] > 1.2 * widths[1]
    found = system.interval("hazard", 24.0)
    assert math.log(found.high / found.low) == pytest.approx(2 * 1.96 * widths[0], rel=0.15)


@pytest.mark.verify
def test_coverage() -> None:
    """Fleets of three nodes with fits of their own: 95 % limits hold the truth as often as they say."""
    fleets, ages = 120, np.array([0.0, 300.0, 1500.0])
    truth = Weibull(0.8, 1000.0)
    times = truth.sample((3 * fleets, 60), rng=8)
    fit = rf.fit(rf.LifeData.from_array(np.minimum(times, 1500.0), times <= 1500.0), "weibull")["weibull"]
    right = System(Weibull(np.full(3, 0.8), 1000.0), ages)
    held = []
    for i in range(fleets):
        system = system_from_fits(fit, nodes=[3 * i, 3 * i + 1, 3 * i + 2], ages=ages)
        row = []
        for quantity, argument in (("reliability", 24.0), ("hazard", 24.0), ("quantile", 0.1), ("mttf", None)):
            found = system.interval(quantity, argument, n_draws=199)
            value = getattr(right, quantity)(*(() if argument is None else (argument,)))
            row.append(found.low <= value <= found.high)
        held.append(row)
    share = np.mean(held, axis=0)
    # with three fits of 60 lives a few percent less; three standard errors of 120 fleets are 8 %
    assert (share > 0.82).all()
    assert 0.87 < share.mean() < 0.99


def test_many_nodes(fits: rf.fitting.Fits) -> None:
    rng = np.random.default_rng(1)
    ages = rng.uniform(0.0, 3000.0, 20_000)
    system = system_from_fits(fits["weibull"], nodes=rng.integers(0, 4, ages.size).tolist(), ages=ages)
    found = system.interval("hazard", 24.0, n_draws=99)
    assert 0.0 < found.low < found.estimate < found.high


def test_results_are_complete(system: System) -> None:
    found = system.interval("reliability", [[1.0, 24.0], [48.0, 72.0]], 0.9, n_draws=99)
    again = system.interval("reliability", [[1.0, 24.0], [48.0, 72.0]], 0.9, n_draws=99)
    assert np.array_equal(found.low, again.low)
    assert found.estimate.shape == found.low.shape == (2, 2)
    assert found.to_frame().columns.tolist() == ["estimate", "low", "high", "status"]
    assert found.to_frame().index.tolist() == [1.0, 24.0, 48.0, 72.0]
    assert found.to_dict()["values"][1]["at_hours"] == 24.0
    assert "90 % interval by draws" in repr(found)
    assert isinstance(system.reliability(24.0), np.ndarray | np.floating)


def test_bad_input(system: System) -> None:
    given = System(Weibull(0.8, [1000.0] * 2))
    with pytest.raises(ArgumentError, match="given parameters, which have no uncertainty"):
        given.interval("reliability", "24h")
    with pytest.raises(ArgumentError, match="level is 95"):
        system.interval("reliability", "24h", 95)
    with pytest.raises(ArgumentError, match="no quantity"):
        system.interval("speed")
    with pytest.raises(ArgumentError, match="needs a horizon"):
        system.interval("reliability")
    with pytest.raises(ArgumentError, match="takes no argument"):
        system.interval("mttf", 3.0)
    with pytest.raises(ArgumentError, match="between 0 and 1"):
        system.interval("quantile", 1.0)
    with pytest.raises(ArgumentError, match="too few"):
        system.interval("mttf", n_draws=3)
    with pytest.raises(ArgumentError, match="not to be had by size"):
        system.by_size().interval("quantile")
    times = rf.LifeData.from_array(Weibull(0.8, 1000.0).sample(80, rng=1))
    with pytest.raises(ArgumentError, match="has no covariance"):
        system_from_fits(rf.fit(times, "weibull", method="moments"), nodes=3).interval("mttf")
