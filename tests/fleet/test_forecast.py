"""Forecasts against counts by hand, closed forms of Poisson counts, and held-out parts of fleets of known truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import stats

import relfit as rf
from benchmarks.verify_forecast import simulated
from relfit.errors import ArgumentError, DataError
from tests.factories import make_log


def steady(rate: float, hours: float, seed: int, nodes: int = 40, **more) -> rf.FailureLog:
    """Nodes of one constant rate in racks of ten, half of the failures of each cause, repairs of two hours."""
    rng = np.random.default_rng(seed)
    people = [{"node": f"n{i:02d}", "rack": f"r{i // 10}", "entered_known": False, **more} for i in range(nodes)]
    rows = []
    for person in people:
        times = np.cumsum(rng.exponential(1.0 / rate, int(3 * rate * hours) + 20))
        rows += [
            {**person, "start": t, "end": min(t + 2.0, hours), "cause": rng.choice(["disk", "memory"])}
            for t in times[times < hours - 3.0]
        ]
    keep = ("node", "rack", "start", "end", "cause")
    return make_log([{k: row[k] for k in keep} for row in rows], people, window=(0.0, hours))


@pytest.fixture(scope="module")
def log() -> rf.FailureLog:
    return steady(1.0 / 300.0, 8760.0, 1)


@pytest.fixture(scope="module")
def ahead(log) -> rf.Forecast:
    return rf.forecast(log, ["30d", "90d"], period="all", level=0.9)


def test_the_expected_number_is_that_of_the_model_of_the_fleet(log, ahead):
    model = rf.fleet_model(log, "all")
    for hours, expected in zip(ahead.horizons, ahead.total["incidents"], strict=True):
        assert expected == pytest.approx(float(model.interval("incidents", hours).estimate), rel=1e-9)
    # by hand: records over the year, one per incident but for the few that chance joined
    assert ahead.total["failures"].iloc[0] == pytest.approx(len(log) * 30.0 / 365.0, rel=0.01)
    assert ahead.total["repair_hours"].iloc[0] == pytest.approx(2.0 * ahead.total["failures"].iloc[0], rel=0.01)


def test_intervals_hold_counts_not_means(log, ahead):
    row = ahead.total.iloc[0]
    low, high = stats.poisson.interval(0.9, row["failures"])
    width = row["failures_high"] - row["failures_low"]
    assert high - low <= width <= 2.0 * (high - low)
    known = rf.fleet_model(log, "all").interval("incidents", "30d", level=0.9)
    assert width > 2.0 * (known.high - known.low)


def test_racks_and_causes_add_up(ahead):
    for table in (ahead.by_group, ahead.by_cause):
        for name in ("incidents", "failures", "repair_hours"):
            total = table.groupby("horizon")[name].sum().to_numpy()
            np.testing.assert_allclose(total, ahead.total[name], rtol=0.02)  # means of records differ by cause and rack
    assert set(ahead.by_cause["name"]) == {"disk", "memory"}
    assert set(ahead.by_group["name"]) >= {"r0", "r1", "r2", "r3"}


def test_stock_lasts_with_the_probability_asked_for(log):
    stock = rf.forecast(log, "30d", period="all", service=0.99).by_cause["stock"]
    expected = len(log) * 30.0 / 365.0 / 2.0
    assert (stock >= stats.poisson.ppf(0.99, 0.9 * expected)).all()
    assert (stock <= stats.poisson.ppf(0.99, 2.0 * expected)).all()


def test_nodes_that_left_are_not_forecast():
    log = steady(1.0 / 200.0, 4380.0, 2)
    population = log.population.copy()
    left = population["node"].astype(str) < "n20"
    half = log.window.start + (log.window.end - log.window.start) / 2
    population.loc[left, "left"] = half
    events = log.events[
        ~(log.events["node"].astype(str).isin(population["node"][left]) & (log.events["start"] >= half))
    ]
    part = replace(log, events=events.reset_index(drop=True), population=population)
    ahead = rf.forecast(part, "30d", period="all")
    assert ahead.total["failures"].iloc[0] == pytest.approx(20 * 720.0 / 202.0, rel=0.12)
    assert ahead.basis["gone"].tolist() == [20]
    assert "20 nodes not under observation" in " ".join(ahead.findings)


def test_a_stable_period_that_ended_is_scaled_to_the_rate_since():
    early = steady(1.0 / 100.0, 8000.0, 3)
    rng = np.random.default_rng(4)
    cut = early.events["start"] > early.window.start + (early.window.end - early.window.start) * 0.9
    kept = ~cut.to_numpy() | (rng.random(len(early)) < 0.3)  # three of ten records of the last tenth
    log = replace(early, events=early.events[kept].reset_index(drop=True))
    ahead = rf.forecast(log, "30d")
    assert 0.2 < ahead.basis["factor"].iloc[0] < 0.45
    assert ahead.total["failures"].iloc[0] == pytest.approx(0.3 * 40 * 720.0 / 102.0, rel=0.25)
    assert "times 0." in ahead.notes[0]


def test_bursty_months_widen_the_interval():
    rng = np.random.default_rng(5)
    rows = []
    for month in range(12):
        times = rng.uniform(720.0 * month, 720.0 * (month + 1) - 5.0, rng.choice([10, 110]))
        rows += [{"node": f"n{rng.integers(40)}", "start": at, "end": at + 1.0} for at in times]
    log = make_log(rows, [{"node": f"n{i}", "entered_known": False} for i in range(40)], window=(0.0, 8640.0))
    row = rf.forecast(log, "30d", period="all", level=0.9).total.iloc[0]
    assert row["failures_low"] < 20
    assert row["failures_high"] > 100


def test_the_same_seed_gives_the_same_numbers(log, ahead):
    again = rf.forecast(log, ["30d", "90d"], period="all", level=0.9)
    assert again.table.equals(ahead.table)


def test_systems_are_forecast_each_by_itself(log):
    other = steady(1.0 / 900.0, 8760.0, 6)
    both = replace(
        log,
        events=pd.concat([log.events, other.events.assign(system="t")], ignore_index=True),
        population=pd.concat([log.population, other.population.assign(system="t")], ignore_index=True),
    )
    ahead = rf.forecast(both, "30d", period="all")
    single = [rf.forecast(one, "30d", period="all").total["failures"].iloc[0] for one in (log, other)]
    assert ahead.by_system["name"].tolist() == ["s", "t"]
    np.testing.assert_allclose(ahead.by_system["failures"], single, rtol=1e-9)
    assert ahead.total["failures"].iloc[0] == pytest.approx(sum(single))


def test_text_and_figure(ahead):
    assert ahead.headline.startswith("Expect ")
    compact = ahead.compact()
    assert list(compact.columns) == ["next 30 days", "next 90 days", "stock"]
    assert compact.index.tolist()[0] == "all failures"
    ax = rf.plot(ahead, Figure().add_subplot())
    assert ax.get_ylabel() == "failures per 30 days"
    assert ahead.history["failures"].sum() > 0.9 * 360.0 / 365.0 * 40 * 8760.0 / 302.0
    assert ahead.to_dict()["table"][0]["of"] == "all"


def test_records_that_name_no_node_are_counted():
    log = make_log(
        [{"node": None, "start": h, "end": h + 1.0} for h in np.arange(50.0, 2000.0, 100.0)], [], window=(0.0, 2000.0)
    )
    row = rf.forecast(log, "1000h", period="all").total.iloc[0]
    assert row["failures"] == pytest.approx(10.0)
    assert row["failures_low"] < 10 < row["failures_high"] < 40


def test_what_cannot_be_forecast():
    log = steady(1.0 / 100.0, 1000.0, 7)
    with pytest.raises(ArgumentError, match="above zero"):
        rf.forecast(log, "0h")
    with pytest.raises(ArgumentError, match="too far"):
        rf.forecast(log, "5000d", period="all")
    with pytest.raises(ArgumentError, match="no column 'colour'"):
        rf.forecast(log, by="colour")
    with pytest.raises(DataError, match="no failure"):
        rf.forecast(make_log([], [{"node": "a"}], window=(0.0, 1000.0)), period="all")
    lives = make_log(lifetimes=[{"node": "a", "duration": 5.0, "observed": True}], nodes=[{"node": "a"}])
    with pytest.raises(ArgumentError, match="without dates"):
        rf.forecast(lives)


@pytest.mark.verify
def test_nine_of_ten_intervals_hold_on_steady_fleets():
    rows = pd.DataFrame([row for seed in range(60) for row in simulated(1.0, seed, 1000)])
    held = rows.groupby(["days", "what"])["held"].mean()
    assert (held > 0.8).all(), held
