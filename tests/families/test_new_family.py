"""A family of one's own is its module and one line in the registry: its tail and its life at an age follow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from relfit import System, families
from relfit.fitting.families.base import FloatArray, ShapeScale, log_moments


class Lomax(ShapeScale):
    """``S(t) = (1 + t / scale)**-shape``: a Pareto tail."""

    name = "lomax"
    density_at_zero = True

    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        return -self.shape * np.log1p(np.maximum(np.asarray(time, dtype=np.float64), 0.0) / self.scale)

    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        t = np.asarray(time, dtype=np.float64)
        return np.log(self.shape / (self.scale + t)) + self.log_sf(t)

    @classmethod
    def start(cls, meanlog: npt.ArrayLike, sdlog: npt.ArrayLike) -> FloatArray:
        middle, spread = log_moments(meanlog, sdlog)
        return np.stack([1.0 / spread, np.exp(middle) / spread], axis=-1)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(families.FAMILIES, "lomax", Lomax)


def test_its_heavy_tail_makes_the_mean_infinite() -> None:
    assert families.family_named("Lomax") is Lomax
    assert Lomax([0.8, 3.0], 100.0).tail_index() == pytest.approx([0.8, 3.0])
    for age in (0.0, 500.0):
        alone = System(Lomax(0.8, 100.0), ages=age)
        assert np.isinf(alone.mttf())
        assert np.isinf(alone.mean_residual_life(5.0))
        assert alone.reliability(50.0) == pytest.approx(((150.0 + age) / (100.0 + age)) ** -0.8)
    assert np.isinf(Lomax(0.8, 100.0).mean())
    # the sizes of equal nodes: 0.8 is too heavy, 1.6 is not, and one of two to spare is as bad as one alone
    found = System(Lomax(0.8, [100.0] * 3)).by_size()
    assert np.isinf(found.mttf[0])
    assert found.mttf[1:] == pytest.approx([100.0 / 0.6, 100.0 / 1.4], rel=1e-6)
    assert np.isinf(System(Lomax(0.8, [100.0] * 2), tolerance=1).mttf())


def test_its_life_at_an_age_follows() -> None:
    family, age = Lomax([0.8, 2.5], 100.0), np.array([30.0, 7000.0])
    left = Lomax(family.shape, family.scale + age)  # the life left of a Lomax life is Lomax
    time = np.array([1e-7, 3.0, 900.0])[:, None]
    np.testing.assert_allclose(family.conditional_cumulative_hazard(time, age), -left.log_sf(time), rtol=1e-8)
    hazard = np.array([1e-9, 0.2, 4.0])[:, None]
    np.testing.assert_allclose(
        family.inverse_conditional_cumulative_hazard(hazard, age), left.inverse_cumulative_hazard(hazard), rtol=1e-8
    )
    np.testing.assert_allclose(family.mean_residual_life(age), [np.inf, 7100.0 / 1.5], rtol=1e-6)
    np.testing.assert_allclose(family.quantile(0.5), 100.0 * (2.0 ** (1.0 / family.shape) - 1.0), rtol=1e-9)
