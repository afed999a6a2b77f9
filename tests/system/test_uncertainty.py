"""Intervals of systems: derivatives against differences, limits against refits, coverage by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

import relfit as rf
from relfit.errors import ArgumentError
from relfit.families import FAMILIES, Exponential, Weibull
from relfit.system import System, interval_of
from relfit.system.gradients import further_hazard, rate
from relfit.system.sources import sources_of

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
]


@pytest.fixture(scope="module")
def fits() -> rf.fitting.Fits:
    lives = Weibull(0.8, 1000.0).sample((4, 60), rng=1)
    return rf.fit(rf.LifeData.from_array(np.minimum(lives, 2000.0), lives <= 2000.0))


@pytest.fixture(scope="module")
def system(fits: rf.fitting.Fits) -> System:
    """Nodes that share fits, of two families and different ages."""
    return System.from_fits(fits, nodes=[0, 1, 1, 2, 3, 0, 2, 1], ages=[0, 10, 200, 300, 50, 900, 20, 700])


def at_parameters(system: System, free: list[np.ndarray]) -> System:
    """The same system with other parameters, source by source."""
    from relfit.system.components import Component

    parts = []
    for source, values in zip(sources_of(system), free, strict=True):
        parameters = source.family.from_free(values)[source.of_node]
        parts.append(Component(source.family.unchecked(*parameters.T), source.positions))
    return System._of(tuple(parts), system.ages, **system._options())


@pytest.mark.parametrize("name", ["weibull", "exponential", "gamma", "lognormal", "gompertz", "weibull_mixture"])
def test_derivatives_of_nodes(name: str) -> None:
    kind = FAMILIES[name]
    parameters = kind.start(np.full(3, 6.0), np.full(3, 1.1))
    free = kind.to_free(parameters)
    age, time = np.array([0.0, 30.0, 5000.0]), np.array([0.5, 40.0, 3000.0])
    for function in (further_hazard, rate):
        value, slope = function(kind, free, age, time)
        again, nothing = function(kind, free, age, time, gradient=False)
        assert np.array_equal(value, again)
        assert nothing.shape[-1] == 0
        for i in range(free.shape[1]):
            move = np.zeros(free.shape[1])
            move[i] = 1e-5
            by_hand = (function(kind, free + move, age, time)[0] - function(kind, free - move, age, time)[0]) / 2e-5
            assert slope[..., i] == pytest.approx(by_hand, rel=2e-5, abs=1e-12 + 2e-6 * np.abs(value).max())


@pytest.mark.parametrize(("quantity", "argument"), ASKED)
def test_delta_method_against_differences(system: System, quantity: str, argument: list[float] | None) -> None:
    """Standard errors on the reported scale from derivatives of the whole system by every single parameter."""
    arguments = () if argument is None else (argument,)
    sources = sources_of(system)
    centre = [s.free for s in sources]

    def value(free: list[np.ndarray]) -> np.ndarray:
        return np.atleast_1d(getattr(at_parameters(system, free), quantity)(*arguments))

    here = value(centre)
    variance = np.zeros(here.shape)
    for number, source in enumerate(sources):
        covariance, shared = source.covariance()
        assert shared is None
        for s in range(source.n_sources):
            slopes = []
            for i in range(source.free.shape[1]):
                ends = []
                for sign in (1.0, -1.0):
                    moved = [f.copy() for f in centre]
                    moved[number][s, i] += sign * 1e-4
                    ends.append(value(moved))
                slopes.append((ends[0] - ends[1]) / 2e-4)
            g = np.stack(slopes)
            variance += np.einsum("im,ij,jm->m", g, covariance[s], g)
    error = np.sqrt(variance)
    found = interval_of(system, quantity, argument)
    low, high, estimate = (np.atleast_1d(v) for v in (found.low, found.high, found.estimate))
    assert estimate == pytest.approx(here)
    z = 1.959963984540054
    with np.errstate(divide="ignore", invalid="ignore"):
        if quantity in ("reliability", "cdf"):
            spent = -np.log(here) if quantity == "reliability" else -np.log1p(-here)
            slope = here if quantity == "reliability" else 1.0 - here
            factor = np.exp(z * error / slope / spent)
            limits = np.exp(-spent * factor), np.exp(-spent / factor)
            wanted = limits if quantity == "reliability" else (1.0 - limits[1], 1.0 - limits[0])
        elif quantity == "truncated_mean":
            ends = np.array(argument)
            odds = np.where(np.isinf(ends), here, here / (ends - here))
            factor = np.exp(z * error * np.where(np.isinf(ends), 1.0 / here, 1.0 / here + 1.0 / (ends - here)))
            wanted = tuple(np.where(np.isinf(ends), o, ends * o / (1.0 + o)) for o in (odds / factor, odds * factor))
        else:
            wanted = here / np.exp(z * error / here), here * np.exp(z * error / here)
    start = here == 1.0 if quantity == "reliability" else np.zeros(here.shape, bool)
    assert low == pytest.approx(np.where(start, 1.0, wanted[0]), rel=1e-5)
    assert high == pytest.approx(np.where(start, 1.0, wanted[1]), rel=1e-5)
    assert (found.status == "ok").all()


def test_one_exponential_fit_has_a_closed_form() -> None:
    """Of n nodes that share one rate, the log of the hazard has the standard error of the log of the rate."""
    lives = rf.LifeData.from_array(Exponential(0.01).sample(25, rng=4))
    system = System.from_fits(rf.fit(lives, "exponential"), nodes=7, ages=50.0)
    found = system.hazard("24h", interval=0.9)
    rate_of_one = 25.0 / float(lives.durations.sum())
    factor = math.exp(1.6448536269514722 / math.sqrt(25.0))
    assert (found.low, found.high) == pytest.approx((7 * rate_of_one / factor, 7 * rate_of_one * factor))
    mean = system.mttf(interval=0.9)
    assert (mean.low, mean.high) == pytest.approx((1 / (7 * rate_of_one) / factor, factor / (7 * rate_of_one)))


def test_sharing_matters() -> None:
    """Nodes that share a fit are wrong together: their error does not average out."""
    lives = Weibull(0.8, 1000.0).sample((16, 40), rng=2)
    one = rf.fit(rf.LifeData.from_array(lives[:1]), "weibull")
    many = rf.fit(rf.LifeData.from_array(np.repeat(lives[:1], 16, axis=0)), "weibull")
    shared = System.from_fits(one, nodes=16).hazard(24.0, interval=0.95)
    separate = System.from_fits(many).hazard(24.0, interval=0.95)
    assert shared.estimate == pytest.approx(separate.estimate)
    ratio = math.log(shared.high / shared.low) / math.log(separate.high / separate.low)
    assert ratio == pytest.approx(4.0)


@pytest.mark.parametrize("quantity", ["reliability", "hazard", "mttf", "cdf", "cumulative_hazard"])
def test_by_size_is_what_each_part_has(system: System, quantity: str) -> None:
    order = np.array([3, 1, 0, 2, 7, 6, 5, 4])
    argument = None if quantity == "mttf" else [24.0, 150.0]
    found = interval_of(system, quantity, argument, by_size=True, order=order)
    assert found.sizes is not None
    assert found.sizes.tolist() == list(range(1, 9))
    for k in (1, 3, 8):
        part = interval_of(system.take(order[:k]), quantity, argument)
        for name in ("estimate", "low", "high"):
            assert getattr(found, name)[k - 1] == pytest.approx(getattr(part, name), rel=1e-6)


@pytest.mark.parametrize(("quantity", "argument"), ASKED)
@pytest.mark.parametrize("kind", ["draws", "bootstrap"])
def test_draws_agree_with_the_delta_method(system: System, quantity: str, argument: object, kind: str) -> None:
    """With 60 lives a fit, the two must be alike, on a scale where neither is skewed."""
    exact = interval_of(system, quantity, argument)
    drawn = interval_of(system, quantity, argument, kind=kind, draws=499, rng=3)
    again = interval_of(system, quantity, argument, kind=kind, draws=499, rng=3)
    assert np.array_equal(drawn.low, again.low)
    assert (drawn.low <= drawn.high).all()
    width = np.asarray(exact.high - exact.low)
    assert np.abs(drawn.low - exact.low) == pytest.approx(0.0, abs=0.25 * width.max())
    assert np.abs(drawn.high - exact.high) == pytest.approx(0.0, abs=0.25 * width.max())


def test_averaging_over_families_is_wider(fits: rf.fitting.Fits) -> None:
    system = System.from_fits(fits, ages=0.0)
    one = interval_of(system, "reliability", 1.0, kind="draws", rng=1)
    several = interval_of(system, "reliability", 1.0, model_average=True, rng=1)
    assert several.kind == "draws"
    assert several.high - several.low > 1.2 * (one.high - one.low)


def test_spares_and_common_causes(fits: rf.fitting.Fits) -> None:
    plain = System.from_fits(fits["weibull"], ages=100.0)
    spare = System.from_fits(fits["weibull"], ages=100.0, tolerance=1)
    power = System.from_fits(fits["weibull"], ages=100.0, common=Exponential(0.001))
    found = spare.reliability("24h", interval=0.95)
    assert found.kind == "draws"
    assert found.low < spare.reliability("24h") < found.high
    assert found.high - found.low < np.ptp([plain.reliability("24h", interval=0.95).low, 1.0])
    exact, drawn = (interval_of(power, "mttf", kind=kind, draws=199) for kind in ("delta", "draws"))
    assert exact.low == pytest.approx(drawn.low, rel=0.08)
    with pytest.raises(ArgumentError, match="tolerate failures"):
        interval_of(spare, "mttf", kind="delta")


def test_pooled_nodes_share_the_doubt_about_the_fleet() -> None:
    """The error of a large pooled fleet does not vanish as its own doubts average out."""
    rng = np.random.default_rng(5)
    fleet = Weibull(0.8, 1000.0 * np.exp(0.4 * rng.standard_normal(60)))
    pooled = rf.fit(rf.LifeData.from_array(fleet.sample(4, rng).T), "weibull").pool()
    system = System.from_fits(pooled)
    own, shared = sources_of(system)[0].covariance()
    assert shared is not None
    found = system.hazard(24.0, interval=0.95)
    drawn = interval_of(system, "hazard", 24.0, kind="draws", draws=1999, rng=1)
    assert math.log(drawn.high / drawn.low) == pytest.approx(math.log(found.high / found.low), rel=0.1)
    _, slope = rate(Weibull, pooled.free, np.zeros(60), np.array([24.0]))
    alone = np.einsum("nk,nkl,nl->", slope[:, 0], own, slope[:, 0])
    both = alone + float(((np.einsum("nk,nk,kj->j", slope[:, 0], shared.weight, shared.root)) ** 2).sum())
    assert math.log(found.high / found.estimate) == pytest.approx(1.95996 * math.sqrt(both) / found.estimate, rel=1e-4)
    assert both > 1.5 * alone


def test_coverage() -> None:
    """Fleets of three nodes with fits of their own: 95 % limits hold the truth as often as they say."""
    fleets, ages = 120, np.array([0.0, 300.0, 1500.0])
    truth = Weibull(0.8, 1000.0)
    lives = truth.sample((3 * fleets, 60), rng=8)
    fit = rf.fit(rf.LifeData.from_array(np.minimum(lives, 1500.0), lives <= 1500.0), "weibull")["weibull"]
    right = System(Weibull(np.full(3, 0.8), 1000.0), ages)
    held = []
    for i in range(fleets):
        system = System.from_fits(fit, nodes=[3 * i, 3 * i + 1, 3 * i + 2], ages=ages)
        row = []
        for quantity, argument in (("reliability", 24.0), ("hazard", 24.0), ("quantile", 0.1), ("mttf", None)):
            found = interval_of(system, quantity, argument)
            value = getattr(right, quantity)(*(() if argument is None else (argument,)))
            row.append(found.low <= value <= found.high)
        held.append(row)
    share = np.mean(held, axis=0)
    # three standard errors of 120 fleets are 6 %
    assert (share > 0.89).all()


def test_many_nodes(fits: rf.fitting.Fits) -> None:
    rng = np.random.default_rng(1)
    ages = rng.uniform(0.0, 3000.0, 100_000)
    system = System.from_fits(fits["weibull"], nodes=rng.integers(0, 4, ages.size).tolist(), ages=ages)
    found = system.hazard(24.0, interval=0.95)
    assert 0.0 < found.low < found.estimate < found.high
    few = system.quantile(0.5, interval=0.95)
    assert 0.0 < few.low < few.estimate < few.high


def test_results_are_complete(system: System) -> None:
    found = system.reliability([[1.0, 24.0], [48.0, 72.0]], interval=0.9)
    assert found.estimate.shape == found.low.shape == (2, 2)
    assert found.to_frame().columns.tolist() == ["at_hours", "estimate", "low", "high", "status"]
    assert found.to_dict()["values"][1]["at_hours"] == 24.0
    assert "90 % delta" in repr(found)
    assert "<table" in found._repr_html_()
    assert repr(system.mttf(interval=0.95)).startswith("SystemInterval: mttf, 95 % delta: ")


def test_bad_input(system: System) -> None:
    given = System(Weibull(0.8, [1000.0] * 2))
    with pytest.raises(ArgumentError, match="given parameters, which have no uncertainty"):
        given.reliability("24h", interval=0.95)
    with pytest.raises(ArgumentError, match="level 95"):
        system.reliability("24h", interval=95)
    with pytest.raises(ArgumentError, match="no quantity"):
        interval_of(system, "speed")
    with pytest.raises(ArgumentError, match="no interval of kind"):
        interval_of(system, "mttf", kind="wald")
    with pytest.raises(ArgumentError, match="needs a horizon"):
        interval_of(system, "reliability")
    with pytest.raises(ArgumentError, match="takes no argument"):
        interval_of(system, "mttf", 3.0)
    with pytest.raises(ArgumentError, match="between 0 and 1"):
        interval_of(system, "quantile", 1.0)
    with pytest.raises(ArgumentError, match="too few"):
        interval_of(system, "mttf", kind="draws", draws=3)
    with pytest.raises(ArgumentError, match="needs draws"):
        interval_of(system, "mttf", kind="delta", model_average=True)
    with pytest.raises(ArgumentError, match="not to be had by size"):
        interval_of(system, "quantile", 0.5, by_size=True)
    with pytest.raises(ArgumentError, match="by size only"):
        interval_of(system, "mttf", order=[0, 1])


def test_fits_without_covariance_need_a_bootstrap() -> None:
    lives = rf.LifeData.from_array(Weibull(0.8, 1000.0).sample(80, rng=1))
    system = System.from_fits(rf.fit(lives, "weibull", method="moments"), nodes=3)
    with pytest.raises(ArgumentError, match="has no covariance"):
        system.mttf(interval=0.95)
    found = interval_of(system, "mttf", kind="bootstrap", draws=199)
    assert found.low < found.estimate < found.high
