"""Figures of systems show the numbers of the results that they are drawn from."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.fitting.families import Weibull
from relfit.plotting import forecast_figures as plots
from relfit.system import System, chi_square, system_from_fits


@pytest.fixture
def ax() -> Axes:
    return Figure(figsize=(6.4, 4.0), layout="constrained").add_subplot()


@pytest.fixture(scope="module")
def fitted() -> System:
    fits = rf.fit(rf.LifeData.from_array(Weibull(0.8606, 1542.0).sample(60, rng=1)), "weibull")
    return system_from_fits(fits, nodes=20, ages=np.linspace(0.0, 900.0, 20))


def corners(ax: Axes) -> np.ndarray:
    """Ends of the band, as low and high by x."""
    path = ax.collections[0].get_paths()[0].vertices
    return np.array(
        [[x, path[path[:, 0] == x, 1].min(), path[path[:, 0] == x, 1].max()] for x in np.unique(path[:, 0])]
    )


def test_reliability_with_its_band(fitted: System, ax: Axes) -> None:
    plots.reliability_curve(fitted, "30 days", ax=ax)
    x, y = ax.lines[0].get_data()
    assert (x[0], x[-1]) == (0.0, 720.0)
    assert y == pytest.approx(fitted.reliability(x))
    band = corners(ax)
    last = fitted.interval("reliability", 720.0, n_draws=399)
    assert band[-1] == pytest.approx([720.0, last.low, last.high])
    assert "20 nodes" in ax.get_title(loc="left")
    with pytest.raises(ArgumentError, match="a curve until"):
        plots.reliability_curve(fitted, -1.0, ax=ax)


def test_given_parameters_have_no_band(ax: Axes) -> None:
    plots.reliability_curve(System(Weibull(0.8606, [1542.0] * 3), 200.0), 350.0, ax=ax)
    assert not ax.collections
    assert ax.lines[0].get_ydata()[-1] == pytest.approx(0.4877, abs=5e-5)


@pytest.mark.parametrize("quantity", ["reliability", "hazard", "mttf"])
@pytest.mark.slow
def test_by_size_figures_4_8_and_4_9(fitted: System, quantity: str, ax: Axes) -> None:
    found = fitted.by_size("24h")
    plots.by_size(found, quantity, ax=ax)
    k, y = ax.lines[0].get_data()
    assert k.tolist() == list(range(1, 21))
    assert y == pytest.approx(getattr(found, quantity))
    limits = fitted.by_size("24h").interval(quantity)
    assert corners(ax)[:, 1] == pytest.approx(limits.low)
    assert corners(ax)[:, 2] == pytest.approx(limits.high)


def test_by_size_of_unknown_quantities(fitted: System, ax: Axes) -> None:
    with pytest.raises(ArgumentError, match="no quantity"):
        plots.by_size(fitted.by_size("24h"), "speed", ax=ax)


def test_figure_4_3(ax: Axes) -> None:
    system = System(Weibull(0.8, [1000.0] * 2), ages=600.0)
    times = np.repeat([100.0, 300.0, 500.0, 700.0, 900.0, 2000.0], [30, 21, 16, 8, 5, 20])
    plots.chi_square_bins(chi_square(times, system, [0, 200, 400, 600, 800, 1000, 8000], estimated=2), ax=ax)
    heights = [bar.get_height() for bar in ax.patches]
    assert heights[:6] == [30, 21, 16, 8, 5, 20]
    assert np.round(heights[6:], 1).tolist() == [29.1, 19.8, 13.8, 9.8, 7.0, 20.5]
    assert [label.get_text() for label in ax.get_xticklabels()][::5] == ["0 to 200", "over 1,000"]
