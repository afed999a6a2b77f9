"""Draws against the laws they should follow, and intervals against the truth of simulated counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from relfit.base.errors import ArgumentError
from relfit.fitting.families import FAMILIES
from relfit.fleet.calibration import (
    Duration,
    FittedFamily,
    Parameters,
    Ratio,
    Share,
    draw_parameters,
    parameters_of_text,
    text_of_parameters,
)
from relfit.fleet.calibration.draws import free_slope, quantity_quantile
from relfit.fleet.calibration.parameter_values import Quantity
from relfit.fleet.calibration.rates import duration_of_counts

P = np.array([0.01, 0.05, 0.3, 0.5, 0.9, 0.99])


def test_counts_have_the_gamma_distribution_of_jeffreys() -> None:
    found = quantity_quantile(Duration(events=7, exposure=1000.0), P)
    assert found == pytest.approx(1.0 / stats.gamma(7.5, scale=1.0 / 1000.0).ppf(1.0 - P))


def test_a_share_whose_limit_is_all_is_drawn_below_all() -> None:
    middle, most = quantity_quantile(Share(value=0.9, low=0.5, high=1.0), [0.5, 0.99])
    assert middle == pytest.approx(0.9)
    assert 0.9 < most < 1.0


def test_an_exponential_distribution_needs_an_event() -> None:
    with pytest.raises(ValueError, match="needs at least one event"):
        Duration(low=30.0, events=0, exposure=100.0, distribution="exponential")
    assert Duration(low=30.0, events=0, exposure=100.0, distribution="poisson").drawn_by == "poisson"
    assert Duration(value=100.0, events=1, exposure=100.0, distribution="exponential").drawn_by == "exponential"


def test_completed_exponential_repairs_have_an_exact_distribution() -> None:
    found = quantity_quantile(Duration(value=5.0, events=20, exposure=100.0, distribution="exponential"), P)
    assert found == pytest.approx(100.0 / stats.gamma(20).ppf(1.0 - P))


def test_clustering_widens_by_its_root() -> None:
    plain = quantity_quantile(Duration(events=400, exposure=4e5), P)
    wide = quantity_quantile(Duration(events=400, exposure=4e5, dispersion=4.0), P)
    spread = np.log(wide[-1] / wide[0]) / np.log(plain[-1] / plain[0])
    assert spread == pytest.approx(2.0, rel=0.02)


@pytest.mark.parametrize(
    "quantity",
    [
        Duration(value=10.0, low=7.0, high=30.0, level=0.9),
        Ratio(value=3.0, low=2.0, high=9.0, level=0.5),
        Share(value=0.2, low=0.15, high=0.4, level=0.8),
    ],
)
def test_an_interval_is_met_at_its_level(quantity: Quantity) -> None:
    assert quantity.level is not None
    ends = [0.5 - quantity.level / 2.0, 0.5, 0.5 + quantity.level / 2.0]
    assert quantity_quantile(quantity, ends) == pytest.approx([quantity.low, quantity.value, quantity.high])


def test_shares_at_the_ends_of_their_range_can_be_drawn() -> None:
    known = Parameters(mttr={"share_quick": {"value": 0.0, "low": 0.0, "high": 1.0}})
    drawn = draw_parameters(known, 500, 1)["mttr.share_quick"]
    assert np.isfinite(drawn).all()
    assert ((drawn >= 0.0) & (drawn <= 1.0)).all()


def test_draws_repeat_and_do_not_depend_on_what_else_is_known() -> None:
    few = Parameters(mtbf={"rack": {"events": 3, "exposure": 100.0}})
    more = Parameters(
        mtbf={"node": {"events": 30, "exposure": 100.0}, "rack": {"events": 3, "exposure": 100.0}},
        mttr={"value": 1, "low": 0.5, "high": 2},
    )
    first, second = draw_parameters(few, 50, 7), draw_parameters(more, 50, 7)
    assert np.array_equal(first["mtbf.rack"], second["mtbf.rack"])
    assert np.array_equal(second["mttr.mean"], draw_parameters(more, 50, 7)["mttr.mean"])
    assert abs(np.corrcoef(second["mtbf.node"], second["mtbf.rack"])[0, 1]) < 0.5
    assert second.count == 50
    assert list(second) == ["mtbf.node", "mtbf.rack", "mttr.mean"]


def test_nothing_failed_is_drawn_all_the_same() -> None:
    known = Parameters(mtbf={"rack": {"events": 0, "exposure": 1000.0}})
    low, _ = draw_parameters(known, 4000, 1).interval("mtbf.rack", 0.9)
    assert low == pytest.approx(1000.0 / stats.gamma(0.5).ppf(0.95), rel=0.1)


def test_families_are_normal_in_their_free_coordinates() -> None:
    fitted = {
        "family": "weibull",
        "parameters": {"shape": 0.7, "scale": 1000.0},
        "covariance": [[0.0049, 3.5], [3.5, 10_000.0]],
    }
    drawn = draw_parameters(Parameters(failure=fitted), 20_000, 3)
    logs = np.log([drawn["failure.shape"], drawn["failure.scale"]])
    assert np.cov(logs) == pytest.approx(np.array([[0.01, 0.005], [0.005, 0.01]]), rel=0.05)
    assert logs.mean(axis=1) == pytest.approx(np.log([0.7, 1000.0]), abs=0.003)
    assert drawn.family("failure").batch_shape == (20_000,)
    with pytest.raises(ArgumentError, match="no family for repair"):
        drawn.family("repair")


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_every_family_can_be_drawn(name: str) -> None:
    kind = FAMILIES[name]
    centre = kind.from_free(kind.to_free(kind.start(3.0, 1.5)))
    names = kind.parameter_names()
    slope = np.linalg.inv(free_slope(kind, centre))
    covariance = slope @ (0.01 * np.eye(len(names))) @ slope.T
    fitted = FittedFamily(
        family=name, parameters=dict(zip(names, centre.tolist(), strict=True)), covariance=covariance.tolist()
    )
    drawn = draw_parameters(Parameters(failure=fitted), 3000, 1)
    free = kind.to_free(np.stack([drawn[f"failure.{n}"] for n in names], axis=-1))
    assert np.isfinite(free).all()
    if name not in ("hyperexponential2", "hyperexponential3", "weibull_mixture"):  # these put their parts in order
        assert free.std(axis=0) == pytest.approx(np.full(len(names), 0.1), rel=0.08)


def test_intervals_of_counts_cover() -> None:
    rng = np.random.default_rng(5)
    for mean in (8.0, 30.0, 200.0):
        counts = rng.poisson(mean, 1000)
        hit = 0
        for count in counts:
            quantity = Duration(events=int(count), exposure=mean)
            low, high = quantity_quantile(quantity, [0.05, 0.95])
            hit += bool(low <= 1.0 <= high)
        assert 870 <= hit <= 930


def test_stated_limits_are_garwoods() -> None:
    found = duration_of_counts(12, 600.0, 0.9)
    assert (found.value, found.events) == (50.0, 12)
    assert 1.0 / found.high == pytest.approx(stats.chi2(24).ppf(0.05) / 2.0 / 600.0)
    assert 1.0 / found.low == pytest.approx(stats.chi2(26).ppf(0.95) / 2.0 / 600.0)
    never = duration_of_counts(0, 600.0, 0.9)
    assert never.value is None
    assert np.exp(-600.0 / never.low) == pytest.approx(0.1)  # the chance of no event at that rate


def test_what_cannot_be_drawn() -> None:
    known = Parameters(mtbf=3)
    for count in (0, -1, 2.5):
        with pytest.raises(ArgumentError, match="n_draws is"):
            draw_parameters(known, count)
    drawn = draw_parameters(known, 3)
    with pytest.raises(ArgumentError, match=r"nothing was drawn for 'mtbf\.rack'; drawn are mtbf\.node"):
        drawn["mtbf.rack"]
    with pytest.raises(ArgumentError, match="level is 90"):
        drawn.interval("mtbf.node", 90)
    assert drawn.to_dict()["fixed"] == ["mtbf.node"]
    assert drawn.to_frame().shape == (3, 1)


def test_parts_of_repairs_are_drawn_together_with_their_mean() -> None:
    correlation = [[1.0, 0.4, 0.5], [0.4, 1.0, 0.3], [0.5, 0.3, 1.0]]
    known = Parameters(
        mttr={
            "mean": {"value": 12.0, "low": 9.0, "high": 16.0},
            "quick": {"value": 2.0, "low": 1.6, "high": 2.5},
            "slow": {"value": 52.0, "low": 40.0, "high": 67.0},
            "share_quick": {"value": 0.8, "low": 0.74, "high": 0.85},
            "correlation": correlation,
        }
    )
    drawn = draw_parameters(known, 20_000, 2)
    share, quick, slow, mean = (drawn[f"mttr.{name}"] for name in ("share_quick", "quick", "slow", "mean"))
    free = np.stack([np.log(share / (1.0 - share)), np.log(quick), np.log(slow)])
    assert stats.spearmanr(free.T).statistic == pytest.approx(np.array(correlation), abs=0.04)
    assert stats.spearmanr(share * quick + (1.0 - share) * slow, mean).statistic > 0.99
    for name, values in (("mean", mean), ("slow", slow)):
        quantity = getattr(known.mttr, name)
        assert np.quantile(values, [0.025, 0.5, 0.975]) == pytest.approx(
            [quantity.low, quantity.value, quantity.high], rel=0.02
        )
    assert parameters_of_text(text_of_parameters(known)) == known
    for part in ({}, {"quick": 2.0, "slow": 52.0, "share_quick": 0.8}):  # nothing to draw together
        alone = draw_parameters(Parameters(mttr={"mean": 12.0, **part, "correlation": correlation}), 5)
        assert alone["mttr.mean"].tolist() == [12.0] * 5
    for bad in ([[1.0]], [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [[2.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]):
        with pytest.raises(ArgumentError, match=r"mttr\.correlation"):
            Parameters(mttr={"mean": 3, "correlation": bad})


def test_a_parameter_that_is_known_exactly_has_variance_zero() -> None:
    fitted = {
        "family": "weibull",
        "parameters": {"shape": 0.7, "scale": 1000.0},
        "covariance": [[0.0, 0.0], [0.0, 10_000.0]],
    }
    drawn = draw_parameters(Parameters(failure=fitted), 4_000, 3)
    assert np.ptp(drawn["failure.shape"]) < 1e-9
    assert np.std(np.log(drawn["failure.scale"])) == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("rows", [[[1.0, 0.0]], [[1.0], [0.0]], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
def test_a_covariance_is_square(rows: list[list[float]]) -> None:
    fitted = {"family": "weibull", "parameters": {"shape": 0.7, "scale": 1000.0}, "covariance": rows}
    with pytest.raises(ArgumentError, match="is not 2 by 2"):
        Parameters(failure=fitted)
