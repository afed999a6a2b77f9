"""Break-even pairs and slices of waits that are known in closed form; sweeps against single simulations."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import relfit as rf
from relfit import plotting
from relfit.simulation.batch import RepairSweep, SystemFailures, simulate_batch, sweep_repairs

RATES = np.array([1.0, 2.0, 4.0])
REPAIRS = np.array([0.0, 100.0, 200.0, 400.0])
LOST = 150.0


def linear(noise: float = 0.0, runs: int = 1) -> RepairSweep:
    """Waits that rise with the node-hours lost per failure, 150 and the repair, times the failure rate."""
    exact = 5.0 + 0.01 * RATES[:, None] * (LOST + REPAIRS)
    scatter = np.random.default_rng(2).normal(0.0, noise, (runs, 1, 1)) if noise else np.zeros((runs, 1, 1))
    return RepairSweep(300.0, RATES, REPAIRS, exact + scatter)


def test_break_even_is_where_as_much_is_lost() -> None:
    sweep = linear()
    # 1 * (150 + r) = 2 * (150 + 0)
    assert float(sweep.break_even(2.0, 1.0, 0.0).estimate) == pytest.approx(LOST)
    assert float(sweep.break_even(4.0, 2.0, "10h").estimate) == pytest.approx(2 * (LOST + 10.0) - LOST)
    assert float(sweep.break_even(4.0, 1.0, 0.0).estimate) == np.inf  # 450 hours: beyond the sweep
    assert float(sweep.break_even(1.0, 4.0, 0.0).estimate) == 0.0
    assert sweep.break_even(4.0, 1.0, 0.0).status == "outside of the sweep"


@pytest.mark.slow
def test_limits_of_a_break_even() -> None:
    even = linear(noise=0.5, runs=20).break_even(2.0, 1.0, 0.0)  # what all cells share does not matter
    assert even.low == pytest.approx(LOST)
    assert even.high == pytest.approx(LOST)
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(40):
        exact = linear().waits
        sweep = RepairSweep(300.0, RATES, REPAIRS, exact + rng.normal(0.0, 0.3, (30, 3, 4)))
        even = sweep.break_even(2.0, 1.0, 0.0)
        assert even.low <= even.estimate <= even.high
        inside += bool(even.low <= LOST <= even.high)
    assert 33 <= inside <= 40


def test_slices() -> None:
    sweep = linear()
    allowed = sweep.repair_allowed(10.0)  # 1: 500 - 150, 2: 250 - 150, 4: 125 - 150
    assert allowed["repair"].tolist() == pytest.approx([350.0, 100.0, 0.0])
    assert allowed["mtbf"].tolist() == [300.0, 150.0, 75.0]
    assert sweep.repair_allowed(100.0)["repair"].tolist() == [np.inf] * 3
    needed = sweep.mtbf_needed(10.0)["mtbf"].to_numpy()
    # waits of 8 and 11 at rates 2 and 4, and a straight line in the logarithm of the rate between them
    assert needed[0] == pytest.approx(300.0 / 2 ** (1 + 2 / 3))
    assert needed[3] == np.inf  # 10.5 at rate 1
    assert np.isinf(sweep.mtbf_needed(6.0)["mtbf"]).all()
    assert (sweep.mtbf_needed(50.0)["mtbf"] == 0.0).all()


def test_relative_and_frame() -> None:
    sweep = linear()
    assert sweep.relative[:, 0] == pytest.approx(1.0)
    frame = sweep.to_frame()
    assert len(frame) == 12
    row = frame[(frame["rate"] == 2.0) & (frame["repair"] == 400.0)].iloc[0]
    assert row["wait"] == pytest.approx(5.0 + 0.02 * 550.0)
    assert row["mtbf"] == 150.0
    assert row["relative"] == pytest.approx(16.0 / 8.0)
    assert "2 times the failures, repaired in 0 seconds, cost as much as repairs of 6.25 days" in sweep.headline
    with pytest.raises(rf.ArgumentError, match="rate 3 is not in the sweep"):
        sweep.break_even(3, 1.0, 0.0)
    with pytest.raises(rf.ArgumentError, match="not in the sweep"):
        sweep.break_even(2.0, 1.0, "30D")


def test_the_frame_has_intervals_of_the_waits() -> None:
    waits = np.array([2.0, 3.0, 4.0])[:, None, None] * np.ones((3, 1, 2))  # mean 3, standard deviation 1
    for level, quantile in ((0.9, 2.919986), (0.95, 4.302653), (0.99, 9.924843)):  # Student, 2 degrees
        row = RepairSweep(300.0, RATES[:1], REPAIRS[:2], waits, level).to_frame().iloc[1]
        assert row["high"] == pytest.approx(3.0 + quantile / np.sqrt(3.0), rel=1e-6)
        assert row["low"] == pytest.approx(max(0.0, 3.0 - quantile / np.sqrt(3.0)), rel=1e-6)  # no wait is negative
        assert row["standard_error"] == pytest.approx(1.0 / np.sqrt(3.0))
    assert linear().to_frame()[["low", "high"]].isna().all(axis=None)  # of one run


def test_figures() -> None:
    sweep = RepairSweep(300.0, RATES, REPAIRS + 1.0, linear().waits)
    ax = rf.plot(sweep, Figure().add_subplot())
    assert [line.get_label() for line in ax.get_lines()] == ["1X", "2X", "4X"]
    assert np.asarray(ax.get_lines()[1].get_ydata()) == pytest.approx(sweep.mean[1])
    relative = plotting.repair_sweep(sweep, Figure().add_subplot(), relative=True)
    assert np.asarray(relative.get_lines()[2].get_ydata())[0] == pytest.approx(1.0)
    drawn = plotting.repair_sweep_map(sweep, Figure().add_subplot())
    assert [text.get_text() for text in drawn.get_yticklabels()] == ["1X", "2X", "4X"]


@pytest.fixture(scope="module")
def jobs() -> rf.workloads.Workload:
    return rf.workloads.TwoStage(32, load=0.9, widest=8).sample(300, rng=5)


def test_cells_are_single_simulations(jobs: rf.workloads.Workload) -> None:
    sweep = sweep_repairs(jobs, "50h", rates=[1.0, 4.0], repairs=["1min", "2D"], n_runs=3, rng=7)
    for run, seed in enumerate(np.random.SeedSequence(7).generate_state(3)):
        for i, rate in enumerate((1.0, 4.0)):
            for j, repair in enumerate(("1min", "2D")):
                failures = SystemFailures(mtbf=50.0 / rate, repair=repair)
                alone = simulate_batch(jobs, failures=failures, rng=int(seed))
                assert sweep.waits[run, i, j] == alone.jobs["waited"].mean() / 3600.0
    one = sweep_repairs(jobs, "50h", rates=[1.0, 4.0], repairs=["1min", "2D"], n_runs=3, rng=7, workers=1)
    assert np.array_equal(one.waits, sweep.waits)


def test_cells_share_their_failures(jobs: rf.workloads.Workload) -> None:
    """Twice the rate: the same nodes, at half the times; twice the repair: the same failures."""
    outages = [
        simulate_batch(jobs, failures=SystemFailures(mtbf=mtbf, repair=repair), rng=5, keep="attempts").outages
        for mtbf, repair in ((8.0, "1s"), (4.0, "1s"), (8.0, "2s"))
    ]
    first = min(len(table) for table in outages)
    assert first > 5
    base, sooner, longer = (table.iloc[:first] for table in outages)
    begun = float(jobs.submit[0])
    assert sooner["node"].tolist() == base["node"].tolist() == longer["node"].tolist()
    assert (sooner["time"] - begun).to_numpy() == pytest.approx((base["time"] - begun).to_numpy() / 2.0)
    assert (longer["back"] - longer["time"]).to_numpy() == pytest.approx(2 * (base["back"] - base["time"]).to_numpy())


def test_bands_of_ratios_are_those_of_ratios() -> None:
    """A ratio to itself is 1, whatever runs scatter; one that is the same in every run has no band."""
    scatter = np.random.default_rng(3).uniform(0.5, 2.0, (12, 3, 1))
    ratios = np.broadcast_to([1.0, 1.2, 1.5, 2.0], (12, 3, 4)).copy()
    ratios[:, 2, 3] += np.resize([0.1, -0.1], 12)
    sweep = RepairSweep(300.0, RATES, REPAIRS, scatter * ratios)
    ax = plotting.repair_sweep(sweep, Figure().add_subplot(), relative=True)
    drawn = [band.get_paths()[0].vertices for band in ax.collections]
    height = [[np.ptp(band[band[:, 0] == repair, 1]) for repair in REPAIRS] for band in drawn]
    assert np.allclose(height[0], 0.0)
    assert np.allclose(height[2][:3], 0.0)
    assert 0.1 < height[2][3] < 0.4  # 4 * 0.1 / sqrt(12), more where runs weigh more


def test_lines_of_the_map_are_named_on_its_scale() -> None:
    ax = plotting.repair_sweep_map(linear(), Figure().add_subplot())
    bar = ax.figure.axes[1]
    named = [text.get_text() for text in bar.get_yticklabels()]
    assert len(named) == 6
    assert all("hours" in text for text in named)
    assert not ax.texts  # none of them lies on another, or on the lines


def test_bad_arguments(jobs: rf.workloads.Workload) -> None:
    for wrong in ({"rates": [2.0, 1.0]}, {"repairs": ["1h", "1h"]}, {"n_runs": 0}, {"rates": []}):
        with pytest.raises(rf.ArgumentError):
            sweep_repairs(jobs, "50h", **wrong)


def test_what_is_wrong_in_a_cell_is_told_as_by_a_single_simulation(jobs: rf.workloads.Workload) -> None:
    with pytest.raises(rf.ArgumentError, match="lifo"):
        sweep_repairs(jobs, "50h", rates=[1.0], repairs=["1min", "2D"], n_runs=2, scheduler="lifo")
