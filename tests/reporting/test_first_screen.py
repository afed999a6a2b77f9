"""What the first screen of a report says of racks and of the whole system."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.reporting.detail_sections import methods
from relfit.reporting.first_screen import _advice, _alike, _earlier, fleet_summary
from relfit.reporting.report_data import ReportData
from tests.backtesting.test_growing_fleet import fleet
from tests.factories import make_log
from tests.reporting.logs import log_of

FAMILIES = ("exponential", "weibull")


@pytest.mark.parametrize("rack_failures", [0, 12])
@pytest.mark.slow
@pytest.mark.long
def test_failures_of_the_whole_system_are_no_failures_of_racks(rack_failures: int) -> None:
    rng, day = np.random.default_rng(3), pd.Timedelta("1d")
    starts = [(i, t) for i in range(60) for t in rng.uniform(0, 360, 15)]
    for size, number in ((60, 6), (10, rack_failures)):
        for t in rng.uniform(0, 360, number):
            first = 10 * int(rng.integers(6)) if size == 10 else 0
            starts += [(i, t + rng.uniform(0, 0.001)) for i in range(first, first + size)]
    rows: list[Any] = []
    for i, t in sorted(starts, key=lambda start: start[1]):
        begun = pd.Timestamp("2020-01-02") + t * day
        rows.append((f"n{i:02d}", begun, begun + 0.01 * day, "disk"))
    log = log_of(rows, nodes=[f"n{i:02d}" for i in range(60)])
    log = rf.FailureLog(
        log.events,
        log.population.assign(rack=[f"r{i // 10}" for i in range(60)]),
        log.window,
        source=log.source,
    )
    said = " ".join(point.text for point in fleet_summary(ReportData(rf.Study(log, "all"), FAMILIES)).limits)
    assert "The whole system failed 6 times (disk), 60 of its 60 nodes each time." in said
    assert ("nodes of one rack fail together" in said) == bool(rack_failures)
    assert said.count("Do not multiply single-node reliabilities.") == 1


def maintained_log(weekly: bool) -> rf.FailureLog:
    """32 nodes that fail twice a month; an outage takes two days on average, or lasts to the end of the week."""
    rng, begin = np.random.default_rng(8), pd.Timestamp("2020-01-02")
    rows: list[Any] = []
    for i in range(32):
        free = 0.0
        for t in np.sort(rng.uniform(0, 357, 24)):
            if t >= free:
                free = 7.0 * (t // 7.0 + 1.0) if weekly else t + rng.exponential(2.0)
                rows.append((f"n{i:02d}", begin + pd.Timedelta(days=t), begin + pd.Timedelta(days=free), "disk"))
    return log_of(sorted(rows, key=lambda row: row[1]), nodes=[f"n{i:02d}" for i in range(32)])


@pytest.mark.slow
@pytest.mark.long
def test_a_loss_that_the_last_months_refute_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outages that end together overlap: jobs that wait for them lose less than a plan that has them apart."""
    screen = fleet_summary(ReportData(rf.Study(maintained_log(weekly=True), "all"), FAMILIES))
    assert not any("predicted loss" in point.text for point in screen.limits)
    monkeypatch.setattr("relfit.fleet.calibration.rates.down_scatter", lambda model, level: None)
    screen = fleet_summary(ReportData(rf.Study(maintained_log(weekly=True), "all"), FAMILIES))
    (advice,) = (point.text for point in screen.advice if point.text.startswith("Checkpoint"))
    (limit,) = (point.text for point in screen.limits if "the predicted loss of 16-node jobs" in point.text)
    assert "% in the last 90 days)" in advice
    assert limit.startswith("The log's own past refutes the predicted loss")
    assert limit.endswith("% in the last 90 days.")
    screen = fleet_summary(ReportData(rf.Study(maintained_log(weekly=False), "all"), FAMILIES))
    assert not any("predicted loss" in point.text for point in screen.limits)
    assert not any("in the last 90 days)" in point.text for point in screen.advice)


@pytest.mark.parametrize("grown", [True, False])
@pytest.mark.slow
@pytest.mark.long
def test_a_grown_fleet_has_its_incidents_per_node_year(grown: bool) -> None:
    screen = fleet_summary(ReportData(rf.Study(fleet(grown=grown), "all"), FAMILIES))
    assert ("200 of 200 nodes in service" in screen.sentence) == grown
    assert ("by 150 nodes, now 200" in screen.cards[0].detail) == grown


@pytest.mark.parametrize(("stable", "said"), [(1, ", 47.9 before"), (2, ", 47.9 in the 32 days before"), (0, "")])
def test_the_former_rate_has_its_length_where_the_log_is_longer(stable: int, said: str) -> None:
    """LANL 18: 47.9 incidents a week were 219 in 32 days, of a log with eight months before."""
    periods = [SimpleNamespace(failures=219, hours=32 * 24.0)] * 3
    m: Any = SimpleNamespace(
        change_points=SimpleNamespace(result=SimpleNamespace(status="ok", stable=stable, periods=periods)),
        chosen=SimpleNamespace(name="stable"),
        firm=lambda name: name == "steady",
    )
    assert _earlier(m) == said


def test_nodes_of_one_rack_are_named_with_it() -> None:
    """Six nodes of the third of eight racks fail weekly in the last four months, the others once in two years."""
    starts = [(i, 300.0 * i + 50.0) for i in range(48)]
    starts += [(12 + i, 14_000.0 + 168.0 * week + 20.0 * i) for week in range(20) for i in range(6)]
    rows = [{"node": f"n{i:02d}", "start": t, "end": t + 1.0} for i, t in sorted(starts, key=lambda one: one[1])]
    nodes = [{"node": f"n{i:02d}", "rack": f"r{i // 6}", "model": "m"} for i in range(48)]
    log = make_log(rows, nodes, window=(0.0, 17_520.0))
    advice = [point.text for point in _advice(ReportData(rf.Study(log), FAMILIES))]
    assert any(text.startswith("Check 6 nodes of rack r2: n") for text in advice)


def test_a_refuted_forecast_is_on_the_screen_once_as_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was struck through in one tile, and in the first sentence and another tile as if nothing were."""
    at = pd.date_range("2020-01-01 06:00", periods=732, freq="12h")
    rows: list[Any] = [(f"n{i % 40:02d}", t, t + pd.Timedelta("1h"), "disk") for i, t in enumerate(at)]
    log = log_of(rows)
    m = ReportData(rf.Study(log, "all"), FAMILIES)
    assert "has 14" in fleet_summary(m).sentence
    assert not any("last record" in point.text for point in fleet_summary(m).limits)
    monkeypatch.setattr(rf.backtesting.Backtest, "refuted", lambda tested, part: "why" if part == "forecasts" else "")
    screen = fleet_summary(m)
    assert screen.sentence.startswith("As of 2021-01-01, the machine had 14 incidents a week in the last 90 days, each")
    assert [card.name for card in screen.cards if card.refuted] == [
        "Time between incidents, now",
        "A node fails on its own, now",
    ]
    seen = replace(log, window=replace(log.window, end_known=False))
    limits = [point.text for point in fleet_summary(ReportData(rf.Study(seen, "all"), FAMILIES)).limits]
    assert any(text.startswith("Observation is taken to end with the last record") for text in limits)


def test_of_several_systems_that_with_most_failures_lately_is_named(tmp_path: Path) -> None:
    """A system of three years had "60 % of them", one of 60 days most of those that come now."""
    rows = [f"a{i % 20},old,{t:%Y-%m-%d %H:%M}" for i, t in enumerate(pd.date_range("2020-01-01", periods=730))]
    later = pd.date_range("2021-11-01 12:00", "2021-12-30", freq="8h")
    rows += [f"b{i % 20},new,{t:%Y-%m-%d %H:%M}" for i, t in enumerate(later)]
    (tmp_path / "log.csv").write_text("\n".join(["node,system,start", *rows]) + "\n", encoding="utf-8")
    log = rf.read(tmp_path / "log.csv", window_start="2020-01-01", window_end="2022-01-01")
    share = 100.0 * len(later) / (len(later) + 90 - 1)  # the 730 days end on 30 December
    said = fleet_summary(ReportData(rf.Study(log, "all"), FAMILIES)).sentence
    assert said.endswith(f"; of those of the last 90 days, system new had {share:.0f} %.")


@pytest.mark.parametrize(
    ("later", "name"), [(2, "Availability of a node"), (10, "Availability of a node, last 90 days")]
)
def test_two_outages_of_three_months_are_no_availability(later: int, name: str) -> None:
    """ "99.9982 % (99.9914 to 99.9996)" of two minutes down, with digits that the next outage changes."""
    end = pd.Timestamp("2021-01-01", tz="UTC")
    starts = [pd.Timestamp("2020-01-05", tz="UTC") + pd.Timedelta(days=10 * i) for i in range(20)]
    rows = [(f"n{i}", at, at + pd.Timedelta(hours=12), "disk") for i, at in enumerate(starts)]
    starts = [end - pd.Timedelta(days=80 - 5 * i) for i in range(later)]
    rows += [(f"n{i}", at, at + pd.Timedelta(hours=1), "disk") for i, at in enumerate(starts)]
    log = log_of(rows, nodes=[f"n{i}" for i in range(24)])
    screen = fleet_summary(ReportData(rf.Study(log, "all"), FAMILIES))
    (tile,) = [card for card in screen.cards if card.name.startswith("Availability")]
    share = (20 * 12.0 + later) / (24 * 366 * 24.0) if later == 2 else later / (24 * 90 * 24.0)
    assert tile.name == name
    assert float(tile.value.split()[0]) == pytest.approx(100.0 * (1.0 - share), abs=0.005)


@pytest.mark.parametrize(("since", "until", "said"), [("2020-07-01", None, True), (None, "2020-07-01", False)])
def test_the_history_that_a_report_of_a_quarter_leaves_out_is_said(
    since: str | None, until: str | None, said: bool
) -> None:
    """Two nodes to check in one quarter, "no node" in the next: each forgets what the others show."""
    starts = [pd.Timestamp("2020-01-05", tz="UTC") + pd.Timedelta(days=3 * i) for i in range(110)]
    whole = log_of([(f"n{i % 24}", at, at + pd.Timedelta(hours=12), "disk") for i, at in enumerate(starts)])
    text = "Failures before 2020-07-01 are left out: nodes that often failed then may be missing."
    asked = (since or "2020-01-01", until or "2021-01-01")
    for study in (rf.Study(whole.between(since, until), "all"), rf.Study(whole, asked)):
        limits = [point.text for point in fleet_summary(ReportData(study, FAMILIES)).limits]
        assert (text in limits) == said
    assert text not in [point.text for point in fleet_summary(ReportData(rf.Study(whole, "all"), FAMILIES)).limits]


def test_a_system_whose_nodes_are_gone_is_not_the_one_that_fails_most_often(tmp_path: Path) -> None:
    """Of the page's two tiles one named a system that had left a year ago; another fell to a third of its rate."""
    rng, begun = np.random.default_rng(6), pd.Timestamp("2022-01-01")
    rows, nodes = [], []
    fleets = [
        ("old", 4, [(0, 300, 0.05)]),
        ("new", 4, [(0, 730, 0.02)]),
        ("mid", 12, [(0, 365, 0.012), (365, 730, 0.003)]),
    ]
    for system, size, spans in fleets:
        for i in range(size):
            last = f"{begun + pd.Timedelta(days=300):%Y-%m-%d}" if system == "old" else ""
            nodes.append(f"{system}{i},{system},{last}")
            for first, last_day, per_day in spans:
                days = np.sort(rng.uniform(first, last_day - 1, rng.poisson(per_day * (last_day - first))))
                starts = begun + pd.to_timedelta(days, unit="D")
                rows += [
                    f"{start:%Y-%m-%d %H:%M},{start + pd.Timedelta('3h'):%Y-%m-%d %H:%M},{system}{i},{system}"
                    for start in starts
                ]
    (tmp_path / "log.csv").write_text("\n".join(["start,end,node,system", *sorted(rows)]) + "\n", encoding="utf-8")
    (tmp_path / "nodes.csv").write_text("\n".join(["node,system,left", *nodes]) + "\n", encoding="utf-8")
    window = {"window_start": "2022-01-01", "window_end": "2024-01-01"}
    log = rf.read(tmp_path / "log.csv", population=tmp_path / "nodes.csv", **window)
    data = ReportData(rf.Study(log, "all"), FAMILIES)
    screen = fleet_summary(data)
    tiles = {card.name: card for card in screen.cards}
    most, least = tiles["A node fails most often, now"], tiles["A node fails least often, now"]
    assert most.detail.startswith("system new; ")
    assert least.detail.startswith("system mid; ")
    assert 200.0 < float(least.value.split()[1]) < 600.0  # 333 days lately; 133 over the two years
    assert {small.name: small.detail for small in screen.systems}["System old"].startswith("no longer observed · ")
    begin = next(point.text for point in screen.advice if point.text.startswith("Begin with"))
    size = {"new": "25 %", "mid": "75 %"}[begin.split()[3].rstrip(":")]
    assert begin.endswith(f" in the last 90 days, with {size} of the nodes.")
    assert methods(data, ["nodes"]).verdict == "Several systems: no tests of change, of nodes and of dependence."


@pytest.mark.parametrize(("low", "high", "digits"), [(0.23, 0.41, 0), (0.99, 0.9906, 1), (0.999, 0.9992, 2)])
def test_a_share_and_its_limits_have_as_many_decimals(low: float, high: float, digits: int) -> None:
    """ "99 to 99.06 %"."""
    assert _alike(low, high) == digits
