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
from relfit.base.errors import ArgumentError, DataError
from relfit.fleet._forecast import _days
from relfit.fleet.prediction import RelativeRates, cumulative, distribution_of_counts
from relfit.fleet.system_ahead import Coming, SystemAhead, split
from tests.factories import at, make_log


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


def failing(rates: np.ndarray, seed: int, repair: np.ndarray | float = 2.0, causes=("disk", "memory")) -> rf.FailureLog:
    """Nodes in racks of ten that fail at `rates` a day, shape (nodes, days), drawn with plain NumPy."""
    rng = np.random.default_rng(seed)
    nodes, days = rates.shape
    lasts = np.broadcast_to(repair, days)
    node, day = np.nonzero(counts := rng.poisson(rates))
    number = counts[node, day]
    node, day = np.repeat(node, number), np.repeat(day, number)
    start = np.minimum(24.0 * (day + rng.random(day.size)), 24.0 * days - 1.0)
    rows = [
        {
            "node": f"n{i:02d}",
            "rack": f"r{i // 10}",
            "start": when,
            "end": min(when + lasts[d], 24.0 * days),
            "cause": cause,
        }
        for i, d, when, cause in zip(node, day, start, rng.choice(causes, day.size), strict=True)
    ]
    people = [{"node": f"n{i:02d}", "rack": f"r{i // 10}", "entered_known": False} for i in range(nodes)]
    return make_log(sorted(rows, key=lambda row: row["start"]), people, window=(0.0, 24.0 * days))


@pytest.fixture(scope="module")
def log() -> rf.FailureLog:
    return steady(1.0 / 300.0, 8760.0, 1)


@pytest.fixture(scope="module")
def ahead(log) -> rf.fleet.Forecast:
    return rf.forecast(log, ["30d", "90d"], level=0.9)


# ------------------------------------------------------------- steady fleets


def test_the_expected_number_of_a_steady_fleet_is_its_mean_rate(log, ahead):
    for days, row in zip((30.0, 90.0), ahead.total.to_dict("records"), strict=True):
        assert row["failures"] == pytest.approx(len(log) * days / 365.0, rel=0.05)
        assert row["incidents"] <= row["failures"]
        assert row["repair_hours"] == pytest.approx(2.0 * row["failures"], rel=0.05)
    assert ahead.basis["a_week"].iloc[0] == pytest.approx(ahead.basis["a_week_before"].iloc[0], rel=0.05)


def test_repairs_of_no_length_count_as_zero_hours():
    rows = [{"node": f"n{i % 20}", "start": 10.0 * i, "end": 10.0 * i + 2.0 * (i % 2)} for i in range(400)]
    ahead = rf.forecast(make_log(rows, window=(0.0, 4000.0)), ["400h"])
    assert ahead.total["failures"][0] == pytest.approx(40.0, rel=0.1)
    assert ahead.total["repair_hours"][0] == pytest.approx(40.0, rel=0.1)  # 20 of two hours
    assert ahead.total["repair_hours_low"][0] < 40.0 < ahead.total["repair_hours_high"][0]


def test_intervals_of_a_steady_fleet_are_next_to_those_of_poisson(ahead):
    row = ahead.total.iloc[0]
    low, high = stats.poisson.interval(0.9, row["failures"])
    width = row["failures_high"] - row["failures_low"]
    assert high - low <= width <= 1.7 * (high - low)


@pytest.mark.slow
def test_nine_of_ten_intervals_of_a_steady_fleet_hold():
    held = []
    for seed in range(12):
        rng = np.random.default_rng(1000 + seed)
        row = rf.forecast(failing(np.full((20, 400), 0.05), seed), "30d", level=0.9, n_draws=1000).total.iloc[0]
        held.append(row["failures_low"] <= rng.poisson(30.0) <= row["failures_high"])
    assert sum(held) >= 9  # 8 or fewer of 12 once in 40, were it nine of ten


def test_the_long_run_is_the_mean_of_the_period():
    rates = np.full((20, 400), 0.05)
    rates[:, 310:] *= 3.0
    log = failing(rates, 1)
    row = rf.forecast(log, "30d", at="long run", period="all").total.iloc[0]
    assert row["failures"] == pytest.approx(len(log) * 30.0 / 400.0, rel=0.02)
    assert rf.forecast(log, "30d").total["failures"].iloc[0] > 1.7 * row["failures"]


def test_the_long_run_is_forecast_from_the_end_of_the_log_for_the_nodes_that_are_there():
    whole = failing(np.full((20, 400), 0.05), 1)
    until, left = at(24.0 * 300.0), at(24.0 * 350.0)
    events, gone = whole.events, whole.population["node"] < "n05"  # half of rack r0
    late = (events["node"] < "n05") & (events["start"] > left - pd.Timedelta(hours=3))
    people = whole.population.assign(left=whole.population["left"].where(~gone, left))
    log = replace(whole, events=events[~late].reset_index(drop=True), population=people)
    ahead = rf.forecast(log, "30d", at="long run", period=(log.window.start, until))
    before = int((log.events["start"] < until).sum())
    assert ahead.start == log.window.end
    assert ahead.total["failures"][0] == pytest.approx(before / 300.0 * 30.0 * 15.0 / 20.0, rel=0.02)
    racks = ahead.by_group.set_index("name")["failures"]
    assert racks["r1"] / racks["r0"] == pytest.approx(2.0, rel=0.35)
    assert (ahead.basis["gone"][0], ahead.basis["until"][0]) == (5, until)
    assert ahead.findings[2].startswith(f"As of {log.window.end:%Y-%m-%d}: ")
    assert f" a week {log.window.start:%Y-%m-%d} to {until:%Y-%m-%d}; per node-year " in ahead.findings[2]
    assert ahead.findings[2].endswith("15 of 20 nodes in service.")


# ------------------------------------------------------- fleets that changed


@pytest.mark.parametrize("times", [2.0, 0.5])
def test_a_rate_that_changed_is_followed(times):
    rates = np.full((20, 700), 0.1)
    rates[:, 610:] *= times
    log = failing(rates, 2)
    row = rf.forecast(log, "30d", level=0.9).total.iloc[0]
    assert row["failures"] == pytest.approx(times * 60.0, rel=0.2)
    assert row["failures_low"] < times * 60.0 < row["failures_high"]
    before = len(log) * 30.0 / 700.0  # the mean of all the log, which is not what comes
    assert abs(row["failures"] - times * 60.0) < 0.4 * abs(row["failures"] - before)


def test_how_many_a_week_and_how_many_before_are_told():
    rates = np.full((20, 700), 0.1)
    rates[:, 610:] *= 2.0
    log = failing(rates, 3)
    basis = rf.forecast(log, "30d").basis.iloc[0]
    assert basis["a_week_before"] == pytest.approx(len(log) / 100.0, rel=0.05)
    assert basis["a_week"] == pytest.approx(28.0, rel=0.2)
    assert (basis["since"], basis["until"]) == (log.window.start, log.window.end)


def test_a_rack_with_most_of_the_recent_failures_gets_most_of_the_forecast():
    rates = np.full((40, 700), 0.05)
    rates[:10, 610:] = 0.6  # 6 a day of this rack, 1.5 of the three others
    ahead = rf.forecast(failing(rates, 4), "30d")
    racks = ahead.by_group.set_index("name")["failures"]
    assert racks.idxmax() == "r0"
    assert racks["r0"] / racks.sum() == pytest.approx(6.0 / 7.5, abs=0.1)
    row = ahead.by_group.set_index("name").loc["r0"]
    assert row["failures_low"] < 180.0 < row["failures_high"]


def test_a_cause_that_came_lately_is_followed():
    rng = np.random.default_rng(5)
    log = failing(np.full((40, 700), 0.05), 5)
    late = ((log.events["start"] > log.window.end - pd.Timedelta("90D")) & (rng.random(len(log)) < 0.8)).to_numpy()
    events = log.events.assign(cause=np.where(late, "fan", log.events["cause"].astype(object)))
    causes = rf.forecast(replace(log, events=events), "30d").by_cause.set_index("name")["failures"]
    assert causes["fan"] / causes.sum() == pytest.approx(0.8, abs=0.12)
    assert late.sum() / len(log) < 0.15  # of all the log it has few


def test_repairs_that_became_longer():
    log = failing(np.full((20, 700), 0.1), 6, np.where(np.arange(700) >= 610, 12.0, 3.0))
    row = rf.forecast(log, "30d", level=0.9).total.iloc[0]
    assert row["repair_hours_low"] < 60.0 * 12.0 < row["repair_hours_high"]
    assert row["repair_hours"] > 1.8 * 60.0 * (3.0 * 610.0 + 12.0 * 90.0) / 700.0
    assert row["failures"] == pytest.approx(60.0, rel=0.15)


def test_hours_of_repair_are_failures_times_the_mean_repair():
    """A reader divides them: nearly one mean repair for all horizons, that of repairs that stay as they are."""
    rng = np.random.default_rng(11)
    rates = np.where(np.arange(700) < 500, 0.3, 0.06) * np.ones((20, 700))
    log = failing(rates, 11)
    lasted = rng.lognormal(0.5, 1.2, len(log))
    end = (log.events["start"] + pd.to_timedelta(lasted, unit="h")).clip(upper=log.window.end)
    total = rf.forecast(replace(log, events=log.events.assign(end=end)), ("30d", "90d")).total
    mean = (total["repair_hours"] / total["failures"]).to_numpy()
    assert mean[0] == pytest.approx(mean[1], rel=0.03)
    assert mean[0] == pytest.approx(lasted.mean(), rel=0.1)


def test_hours_of_repairs_that_changed_go_with_failures():
    """4.8 hours for 50 failures were the lower ends, and 30 days had other hours where 90 days were asked for, too."""
    rng = np.random.default_rng(4)
    log = failing(np.full((20, 700), 0.1), 4)
    slower = np.where(log.events["start"] > log.window.end - pd.Timedelta("45D"), 2.5, 1.0)
    end = log.events["start"] + pd.to_timedelta(3.0 * rng.lognormal(0.0, 1.0, len(log)) * slower, unit="h")
    log = replace(log, events=log.events.assign(end=end.clip(upper=log.window.end)))
    both, month = rf.forecast(log, ("30d", "90d")).total, rf.forecast(log, "30d").total
    pd.testing.assert_series_equal(both.iloc[0], month.iloc[0])
    truth = 3.0 * 2.5 * np.exp(0.5)
    row = both.iloc[0]
    assert row["repair_hours"] / row["failures"] == pytest.approx(truth, rel=0.3)
    assert row["repair_hours_low"] < truth * 60.0 < row["repair_hours_high"]
    assert row["repair_hours_low"] > 2.0 * row["failures_low"]


def test_hours_of_repairs_that_go_on_at_the_end_count_too():
    """A report had 74,673 hours for 27,990 failures, 2.67 each, and 5.79 hours as what one is expected to last."""
    log = failing(np.full((20, 400), 0.05), 9)
    events, end = log.events, log.window.end
    goes_on = (~events["node"].duplicated(keep="last")) & (events["start"] > end - pd.Timedelta("20D"))
    log = replace(log, events=events.assign(end=events["end"].where(~goes_on, end), end_cut=goes_on))
    hours = ((log.events["end"] - events["start"]) / pd.Timedelta("1h")).to_numpy()
    mean = hours.sum() / (~goes_on).sum()
    assert mean > 1.5 * hours[~goes_on].mean()
    each = rf.forecast(log, at="long run", period="all").total.eval("repair_hours / failures")
    np.testing.assert_allclose(each, mean, rtol=0.01)
    each = rf.forecast(log).total.eval("repair_hours / failures")
    found = rf.calibrate(log, period="all", parts="mttr").mttr.outage.value
    assert each.iloc[-1] == pytest.approx(found, rel=0.01)  # both of ninety days


def test_bursty_weeks_widen_the_interval():
    rng = np.random.default_rng(5)
    rates = np.repeat(rng.choice([0.05, 0.55], 100), 7) * np.ones((20, 700)) / 3.0
    log = failing(rates, 7)
    row = rf.forecast(log, "30d", level=0.9).total.iloc[0]
    low, high = stats.poisson.interval(0.9, row["failures"])
    assert row["failures_high"] - row["failures_low"] > 2.0 * (high - low)


# ------------------------------------------------------------------- parts


def test_racks_and_causes_add_up(ahead):
    for table in (ahead.by_group, ahead.by_cause):
        for name in ("incidents", "failures", "repair_hours"):
            total = table.groupby("horizon")[name].sum().to_numpy()
            np.testing.assert_allclose(total, ahead.total[name], rtol=1e-9)
    assert set(ahead.by_cause["name"]) == {"disk", "memory"}
    assert set(ahead.by_group["name"]) == {"r0", "r1", "r2", "r3", "whole system"}


def test_stock_lasts_with_the_probability_asked_for(log):
    stock = rf.forecast(log, "30d", service=0.99).by_cause["stock"]
    expected = len(log) * 30.0 / 365.0 / 2.0
    assert (stock >= stats.poisson.ppf(0.99, 0.9 * expected)).all()
    assert (stock <= stats.poisson.ppf(0.99, 2.0 * expected)).all()


def test_one_quantity_has_one_interval_whatever_the_draws_and_the_other_horizons(log):
    """46-243, 48-231 and 46-241 failures were printed by the report, and by two forecasts, of one log."""
    columns = ["failures", "failures_low", "failures_high", "stock"]
    quarter = rf.forecast(log, "90d")
    for other in (rf.forecast(log, ("30d", "90d")), rf.forecast(log, "90d", rng=5, n_draws=100)):
        table = other.table[other.table["horizon"] == 2160.0].reset_index(drop=True)
        for of in ("all", "system", "cause"):
            one, two = (each[each["of"] == of][columns].reset_index(drop=True) for each in (table, quarter.table))
            pd.testing.assert_frame_equal(one, two)
        rows = ["repair_hours", "repair_hours_low", "repair_hours_high", "incidents_low", "incidents_high"]
        np.testing.assert_allclose(other.total[rows].iloc[-1], quarter.total[rows].iloc[-1])
    assert rf.forecast(log, ("30d", "90d")).table.iloc[-1].equals(quarter.table.iloc[-1])  # racks: of the same draws
    alone = rf.forecast(log.where(cause="disk"), "90d")
    pd.testing.assert_frame_equal(alone.total.drop(columns="stock"), alone.by_cause.drop(columns=["name", "stock"]))


def test_stock_is_of_parts_of_one_kind(ahead):
    """The rows of all and of the system had different stocks for the same failures."""
    parted = ahead.table["stock"].notna()
    assert (ahead.table["of"][parted] == "cause").all()
    assert parted.sum() == 4  # two causes, two horizons


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
    ahead = rf.forecast(part, "30d")
    assert ahead.total["failures"].iloc[0] == pytest.approx(20 * 720.0 / 202.0, rel=0.12)
    assert set(ahead.by_group["name"]) == {"r2", "r3", "whole system"}
    assert ahead.basis["gone"].tolist() == [20]
    assert "20 nodes not under observation" in " ".join(ahead.findings)


def test_the_same_seed_gives_the_same_numbers(log, ahead):
    again = rf.forecast(log, ["30d", "90d"], level=0.9)
    assert again.table.equals(ahead.table)


def test_systems_are_forecast_each_by_itself(log):
    other = steady(1.0 / 900.0, 8760.0, 6)
    both = replace(
        log,
        events=pd.concat([log.events, other.events.assign(system="t")], ignore_index=True),
        population=pd.concat([log.population, other.population.assign(system="t")], ignore_index=True),
    )
    ahead = rf.forecast(both, "30d")
    single = [rf.forecast(one, "30d").total["failures"].iloc[0] for one in (log, other)]
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


def test_systems_that_ended_are_left_out(log):
    over = steady(1.0 / 300.0, 4000.0, 6)
    both = replace(
        log,
        events=pd.concat([log.events, over.events.assign(system="t")], ignore_index=True),
        population=pd.concat([log.population, over.population.assign(system="t")], ignore_index=True),
    )
    ahead = rf.forecast(both, "30d")
    assert ahead.by_system["name"].tolist() == ["s"]
    assert [text.partition(" ")[0] for text in ahead.left_out] == ["t"]
    assert "Left out: t" in " ".join(ahead.findings)


def test_records_that_name_no_node_are_counted():
    log = make_log(
        [{"node": None, "start": h, "end": h + 1.0} for h in np.arange(50.0, 2000.0, 100.0)], [], window=(0.0, 2000.0)
    )
    row = rf.forecast(log, "1000h").total.iloc[0]
    assert row["failures"] == pytest.approx(10.0, rel=0.05)
    assert row["failures_low"] < 10 < row["failures_high"] < 40


def test_what_cannot_be_forecast():
    log = steady(1.0 / 100.0, 1000.0, 7)
    with pytest.raises(ArgumentError, match="above zero"):
        rf.forecast(log, "0h")
    with pytest.raises(ArgumentError, match="too far"):
        rf.forecast(log, "5000d")
    with pytest.raises(ArgumentError, match="no column 'colour'"):
        rf.forecast(log, by="colour")
    with pytest.raises(DataError, match="no failure"):
        rf.forecast(make_log([], [{"node": "a"}], window=(0.0, 1000.0)))
    with pytest.raises(ArgumentError, match="at='later'"):
        rf.forecast(log, at="later")
    gone = make_log([{"node": "a", "start": 5}], [{"node": "a", "left": 50.0}], window=(0.0, 1000.0))
    with pytest.raises(DataError, match="no node was under observation"):
        rf.forecast(gone)
    lives = make_log(lifetimes=[{"node": "a", "duration": 5.0, "observed": True}], nodes=[{"node": "a"}])
    with pytest.raises(ArgumentError, match="no failures one after another"):
        rf.forecast(lives)


@pytest.mark.verify
def test_nine_of_ten_intervals_hold_on_steady_fleets():
    rows = pd.DataFrame([row for seed in range(60) for row in simulated(1.0, seed, 1000)])
    held = rows.groupby(["days", "what"])["held"].mean()
    assert (held > 0.8).all(), held


@pytest.mark.slow
def test_what_hits_many_nodes_at_once_takes_nothing_from_the_other_causes():
    """98 of 113 failures a quarter were forecast, since five failures of the cooling were in the log."""
    rng = np.random.default_rng(0)
    usual = failing(np.full((40, 600), 0.02), 1, causes=("disk", "memory", "network")).events
    first = usual["start"].min().floor("D")
    rows = [
        {"node": row["node"], "rack": row["rack"], "start": at, "end": at + 2.0, "cause": row["cause"]}
        for row in usual.to_dict("records")
        if (at := (row["start"] - first) / pd.Timedelta("1h")) < 24 * 600 - 3
    ]
    for day in (100, 150, 230, 300, 370):
        for i in rng.choice(40, 35, replace=False):
            at = 24.0 * day + rng.uniform(0.0, 0.1)
            rows.append({"node": f"n{i:02d}", "rack": f"r{i // 10}", "start": at, "end": at + 4.0, "cause": "cooling"})
    people = [{"node": f"n{i:02d}", "rack": f"r{i // 10}", "entered_known": False} for i in range(40)]
    log = make_log(sorted(rows, key=lambda row: row["start"]), people, window=(0.0, 24.0 * 600))
    causes = rf.forecast(log, "90d").by_cause.set_index("name")
    apart = rf.forecast(log.where(cause=["disk", "memory", "network"]), "90d")
    assert causes.drop("cooling")["failures"].sum() == pytest.approx(apart.total["failures"].iloc[0], rel=0.03)
    assert causes.loc["cooling", "failures_high"] > 35  # another failure of the cooling may come
    assert causes.loc["cooling", "incidents"] < 5 * 90 / 600  # five incidents of 175 records
    assert causes.loc["cooling", "incidents"] < 0.05 * causes.loc["cooling", "failures"]
    never_fewer_failures_than_incidents(rf.forecast(log))


def never_fewer_failures_than_incidents(ahead: rf.fleet.Forecast) -> None:
    for end in ("", "_low", "_high"):
        assert (ahead.table[f"failures{end}"] >= ahead.table[f"incidents{end}"] - 1e-9).all()


def test_where_each_incident_has_one_record_both_have_one_interval():
    """Of 964 records in 964 incidents 64.7 incidents (40-97) and 64.7 failures (40-98) were expected."""
    rng = np.random.default_rng(3)
    times = np.cumsum(5.0 + rng.exponential(20.0, 500))
    rows = [
        {"node": f"n{i % 40:02d}", "rack": f"r{i % 40 // 10}", "start": t, "end": t + 1.0, "cause": cause}
        for i, (t, cause) in enumerate(zip(times, rng.choice(["disk", "memory", "network"], 500), strict=True))
    ]
    people = [{"node": f"n{i:02d}", "rack": f"r{i // 10}", "entered_known": False} for i in range(40)]
    log = make_log(rows, people, window=(0.0, float(times[-1]) + 20.0))
    assert len(rf.screening.incidents(log).table) == len(rows)
    ahead = rf.forecast(log)
    never_fewer_failures_than_incidents(ahead)
    for end in ("", "_low", "_high"):
        np.testing.assert_array_equal(ahead.table[f"incidents{end}"], ahead.table[f"failures{end}"])
    ends = ["incidents_low", "incidents_high"]
    draws = [rf.forecast(log, rng=seed, n_draws=100).by_cause[ends] for seed in (1, 2)]
    pd.testing.assert_frame_equal(*draws)


def test_the_mean_repair_of_a_cause_counts_half_where_it_failed_once():
    """One more repair of the mean length, 4 h: of memory (1 + 4) / 2, of network (31 + 4) / 2, of disk (21 + 4) / 8."""
    hours = [3.0, 1.0, 3.0, 3.0, 3.0, 3.0, 31.0, 3.0, 3.0]
    causes = ["disk", "memory", "disk", "disk", "disk", "disk", "network", "disk", "disk"]
    rows = [
        {"node": f"n{i}", "start": 100.0 * i + 50.0, "end": 100.0 * i + 50.0 + lasts, "cause": cause}
        for i, (lasts, cause) in enumerate(zip(hours, causes, strict=True))
    ]
    mean = np.mean(hours)
    ahead = rf.forecast(make_log(rows, window=(0.0, 1000.0)), "10d", n_draws=100).by_cause.set_index("name")
    each = ahead["repair_hours"] / ahead["failures"]
    truth = {"disk": (21.0 + mean) / 8.0, "memory": (1.0 + mean) / 2.0, "network": (31.0 + mean) / 2.0}
    for name, value in truth.items():
        assert each[name] / each["disk"] == pytest.approx(value / truth["disk"])


def test_parts_of_a_steady_fleet_have_no_more_scatter_than_poisson():
    rates = RelativeRates(np.ones(2), np.full(2, 1e9), 1.0)
    parts = split(Coming(100.0, np.full(20_000, 100.0)), np.array([0.3, 0.7]), rates, np.random.default_rng(1))
    for part, mean in zip(parts, (30.0, 70.0), strict=True):
        assert part.expected == pytest.approx(mean)
        assert part.drawn.mean() == pytest.approx(mean, rel=0.01)
        assert part.drawn.var() == pytest.approx(mean, rel=0.05)


def test_a_longer_time_has_at_least_the_failures_of_a_shorter_one() -> None:
    """Within a storm the lower limit of a month was below that of a week."""
    rates = np.full((20, 900), 0.02)
    for begin in range(100, 900, 150):
        rates[:, begin : begin + 30] = 0.3
    log = failing(rates[:, :880], seed=0)
    every = rf.forecast(log, ["7d", "30d", "90d", "365d"], n_draws=500).total
    for column in ("failures", "incidents", "repair_hours"):
        for end in ("", "_low", "_high"):
            values = every[column + end].to_numpy(float)
            assert (np.diff(values) >= 0.0).all(), (column + end, values)
    alone = rf.forecast(log, "30d", n_draws=500).total
    same = ["failures", "failures_low", "failures_high", "incidents_low", "incidents_high"]
    assert alone[same].iloc[0].tolist() == every[same].iloc[1].tolist()


def test_random_futures_follow_the_quantiles_over_shorter_times() -> None:
    """A negative binomial of 12 whose lower half is that of 20: order statistics of two samples of scipy."""
    own, shorter = (stats.nbinom(mean**2 / (60.0 - mean), mean / 60.0) for mean in (12.0, 20.0))
    month = cumulative(lambda hours: distribution_of_counts(20.0 if hours < 200.0 else 12.0, 60.0), 720.0)
    seen = month.draw(40_000, np.random.default_rng(3))
    for p in (0.05, 0.5, 0.95):
        assert month.quantile(p) == max(own.ppf(p), shorter.ppf(p))
        assert np.quantile(seen, p, method="inverted_cdf") == pytest.approx(month.quantile(p), abs=1.0)
    np.testing.assert_allclose(month.cdf(np.arange(40.0)), shorter.cdf(np.arange(40.0)), rtol=1e-9)


@pytest.mark.parametrize(
    ("hours", "words"),
    [(48.0, "48 hours"), (72.0, "3 days"), (90.0, "3.75 days"), (24_000.0, "1,000 days")],
)
def test_horizons_of_whole_days_are_in_days(hours: float, words: str) -> None:
    assert _days(hours) == words


def test_what_hits_a_rack_at_once_scatters_as_its_incidents_do() -> None:
    """Of incidents of sixteen records each 238 (48-562) were told in a quarter: fifteen scatter by 62 records."""
    widths, inside, true = [], [], 15.0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        times = np.sort(rng.uniform(0.0, 810 * 24.0, rng.poisson(9 * true)))
        past = times[times < 720 * 24.0]
        events = [
            {"node": f"n{i}", "rack": f"r{i // 16}", "start": t, "end": t + 2.0, "cause": "power"}
            for t, first in zip(past, 16 * rng.integers(20, size=past.size), strict=True)
            for i in range(first, first + 16)
        ]
        people = [{"node": f"n{i}", "rack": f"r{i // 16}", "entered_known": False} for i in range(320)]
        log = make_log(events, people, window=(0.0, 720 * 24.0))
        ahead = SystemAhead(log, rf.screening.incidents(log), "cause", 24.0)
        (power,) = ahead.of_causes(90 * 24.0, 100, 16.0 * true, rng)
        low, high = power.quantile(0.025), power.quantile(0.975)
        widths.append((high - low) / (2.0 * 1.96 * 16.0 * np.sqrt(true)))  # relative to Poisson incidents
        inside.append(low <= 16 * (times.size - past.size) <= high)
    assert sum(inside) >= 7
    assert 1.0 < np.mean(widths) < 1.35
