"""Alarms: what was planted is found and dated, steady fleets stay within the rate, and only records decide."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.fleet.surveillance import rate_scans, wide_incidents
from relfit.live._fleet_alarms import SHARES, alarm_history, fleet_alarms
from relfit.live.live_records import Alarm
from relfit.live.slurm_actions import drains_of
from relfit.log.failurelog import FailureLog
from tests.factories import at, make_log

DAY = 24.0
CAUSES = ("disk", "memory", "network")


def fleet(
    seed: int,
    *,
    nodes: int = 100,
    days: int = 600,
    mean: float = 3.0,
    rate: Any = 1.0,
    weights: Any = None,
    repair: Any = 4.0,
    extra: list[dict[str, Any]] | None = None,
    people: list[dict[str, Any]] | None = None,
    system: str = "s",
) -> FailureLog:
    """`mean` failures of each node a year, times a rate by day; nodes in racks of ten; repairs of `repair` hours."""
    rng = np.random.default_rng(seed)
    number = rng.poisson(nodes * mean / 365.0 * np.broadcast_to(rate, days))
    day = np.repeat(np.arange(days), number)
    who = rng.choice(nodes, day.size, p=weights)
    hours = np.broadcast_to(repair, days)[day] * rng.lognormal(0.0, 0.8, day.size)
    start = np.sort(day * DAY + rng.uniform(0.0, DAY, day.size))
    rows = [
        {"system": system, "node": f"n{n:03d}", "start": s, "end": min(s + h, days * DAY), "cause": c}
        for n, s, h, c in zip(who, start, hours, rng.choice(CAUSES, day.size), strict=True)
    ]
    listed = people or [{"node": f"n{i:03d}", "rack": f"r{i // 10}"} for i in range(nodes)]
    known = [{"system": system, "entered_known": False, **each} for each in listed]
    return make_log(rows + (extra or []), known, window=(0.0, days * DAY))


def of(alarms: list[Alarm], kind: str, subject: str) -> Alarm:
    """The alarm of a subject, which there must be."""
    mine = [alarm for alarm in alarms if (alarm.kind, alarm.subject) == (kind, subject)]
    assert len(mine) == 1, [alarm.key for alarm in alarms]
    return mine[0]


def test_a_doubling_is_found_and_dated() -> None:
    log = fleet(1, rate=np.where(np.arange(600) < 560, 1.0, 2.0))
    alarm = of(fleet_alarms(log), "rate", "system s")
    assert abs((alarm.since - at(560 * DAY)).days) <= 14
    assert at(560 * DAY) < alarm.raised <= at(600 * DAY)
    assert 1.5 < alarm.evidence["ratio"] < 3.0
    before = fleet_alarms(log, now=at(559 * DAY))
    assert not [each for each in before if each.subject == "system s"]


def test_a_rate_that_fell_is_found() -> None:
    log = fleet(2, mean=6.0, rate=np.where(np.arange(600) < 560, 1.0, 0.2))
    assert of(fleet_alarms(log), "rate", "system s down").evidence["ratio"] < 0.5


def test_a_node_at_ten_times_the_rate_is_found() -> None:
    rng = np.random.default_rng(3)
    bad = np.sort(rng.uniform(400 * DAY, 600 * DAY, 17))
    extra = [{"node": "n042", "start": t, "end": t + 2.0, "cause": CAUSES[i % 3]} for i, t in enumerate(bad)]
    alarms = fleet_alarms(fleet(3, extra=extra))
    alarm = of(alarms, "node", "node n042")
    assert alarm.raised < at(560 * DAY)
    assert alarm.evidence["ratio"] > 4.0
    assert not [each for each in alarms if each.kind == "node" and each is not alarm]


def test_a_node_that_failed_more_seldom_since_is_said_to_have() -> None:
    """Its alarm stands for months: the words of the day it was raised are not those of today."""
    bad = np.sort(np.random.default_rng(3).uniform(500 * DAY, 540 * DAY, 9))
    extra = [{"node": "n042", "start": t, "end": t + 2.0, "cause": CAUSES[i % 3]} for i, t in enumerate(bad)]
    extra += [{"node": "n007", "start": t * DAY, "end": t * DAY + 1, "cause": "fan"} for t in (530.0, 533.0, 538.0)]
    others = ~np.isin(np.arange(100), (7, 42)) / 98.0
    log = fleet(3, extra=extra, weights=others)
    then = of(fleet_alarms(log, now=at(bad[-1] + 1.0)), "node", "node n042")
    assert "since then" not in then.text
    assert then.advice.startswith("Take it out of service")
    now = of(fleet_alarms(log), "node", "node n042")
    assert now.key == then.key
    assert now.text.endswith("; since then it had none.")
    assert "out of service" not in now.advice
    again = of(fleet_alarms(log), "repeat", "node n007, fan")
    assert again.text.endswith("; since then it had none.")
    assert "Don't put it back" not in again.advice


def test_a_bad_node_of_a_new_fleet_is_found_in_its_first_weeks() -> None:
    bad = [DAY * day for day in (2, 5, 9, 13, 18, 22)]
    extra = [{"node": "n042", "start": t, "end": t + 2.0, "cause": CAUSES[i % 3]} for i, t in enumerate(bad)]
    alarms = fleet_alarms(fleet(3, days=30, extra=extra))
    assert of(alarms, "node", "node n042").raised <= at(22 * DAY)
    assert [each.kind for each in alarms] == ["node"]


def test_a_rack_is_blamed_and_the_others_are_not() -> None:
    rng = np.random.default_rng(4)
    when = np.sort(rng.uniform(570 * DAY, 600 * DAY, 20))
    extra = [{"node": f"n{30 + i % 10:03d}", "start": t, "end": t + 2.0, "cause": "disk"} for i, t in enumerate(when)]
    alarms = fleet_alarms(fleet(4, extra=extra))
    assert of(alarms, "rate", "rack r3").evidence["ratio"] > 3.0
    assert [each.subject for each in alarms if each.subject.startswith("rack")] == ["rack r3"]


def test_a_cause_that_rose_is_not_looked_for_in_a_place() -> None:
    when = np.sort(np.random.default_rng(4).uniform(590 * DAY, 600 * DAY, 20))
    extra = [{"node": f"n{i:03d}", "start": t, "end": t + 2.0, "cause": "fan"} for i, t in enumerate(when)]
    alarm = of(fleet_alarms(fleet(4, extra=extra)), "rate", "cause fan")
    assert alarm.advice.endswith(": look at what these failures have in common.")


def test_the_numbers_of_a_sentence_are_of_its_window_and_its_node_is_named() -> None:
    """A rate that doubled months ago, then ten failures of one node within a day: an alarm of its own."""
    extra = [{"node": "n017", "start": 599 * DAY + t, "end": 599 * DAY + t + 0.5} for t in 2.0 + 2.2 * np.arange(10)]
    extra = [{**row, "cause": "fan", "system": "system"} for row in extra]
    log = fleet(1, rate=np.where(np.arange(600) < 450, 1.0, 2.0), extra=extra, system="system")
    alarms = fleet_alarms(log)
    rate, cause = of(alarms, "rate", "the system"), of(alarms, "rate", "cause fan")
    assert rate.since == at(599 * DAY)
    assert rate.text.endswith("; most of the excess is fan; 10 are of node n017.")
    assert rate.advice == "The change began about 2002-08-23: look at node n017 first."
    earlier = of(fleet_alarms(log, now=at(560 * DAY)), "rate", "the system")
    assert f"The failure rate of the system rose about {earlier.since:%Y-%m-%d}; the strongest window " in earlier.text
    assert earlier.advice == f"The change began about {earlier.since:%Y-%m-%d}: look at what was changed then."
    assert cause.text.startswith("The failure rate of cause fan rose: 10 incidents in the ")
    assert cause.advice.endswith(": look at node n017 first.")
    for alarm in (rate, cause):  # counted by hand
        seen, days, last = re.findall(r"(\d+) incidents in the (\d+) days? to (\S+),", alarm.text)[0]
        end = pd.Timestamp(last, tz="UTC") + pd.Timedelta(days=1)
        starts = log.events["start"][(log.events["cause"] == "fan") | (alarm is rate)]
        assert starts.between(end - pd.Timedelta(days=int(days)), end, inclusive="left").sum() == int(seen)
    last_day = f"{at(600 * DAY - 1):%Y-%m-%d}"
    assert f"8 failures of any cause in the 15.4 hours to {last_day}" in of(alarms, "node", "node n017").text
    assert f"5 failures attributed to fan in the 8.8 hours to {last_day}" in of(alarms, "repeat", "node n017, fan").text


@pytest.mark.parametrize("burst", [True, False])
def test_what_others_had_is_their_mean_in_the_same_time(burst: bool) -> None:
    """A burst in which no other node failed by that cause, and half a year of one node; counted by hand."""
    when = 595 * DAY + 3.0 * np.arange(5) if burst else 420 * DAY + 4 * DAY * np.arange(45)
    causes = ["fan"] * 5 if burst else [CAUSES[i % 3] for i in range(45)]
    extra = [{"node": "n017", "start": t, "end": t + 0.5, "cause": c} for t, c in zip(when, causes, strict=True)]
    log = fleet(1, mean=6.0, extra=extra)
    subject = ("repeat", "node n017, fan") if burst else ("node", "node n017")
    alarm = of(fleet_alarms(log), *subject)
    starts, names = log.events["start"], log.events["node"]
    last = starts[names == "n017"].sort_values().tail(int(alarm.evidence["failures"]))
    others = starts.between(last.iloc[0], last.iloc[-1]) & (names != "n017")
    if burst:
        others &= log.events["cause"] == "fan"
    assert alarm.evidence["others"] == pytest.approx(others.sum() / 99, abs=1e-9)
    assert f", others had {0 if burst else f'{others.sum() / 99:.3g}'} on average." in alarm.text


@pytest.mark.parametrize(
    ("hit", "minutes", "told"),
    [(100, 4.0, True), (24, 4.0, True), (9, 4.0, False), (60, 180.0, True), (24, 4 * 1440.0, False)],
)
def test_an_outage_of_many_nodes_is_told_as_one(hit: int, minutes: float, told: bool) -> None:
    """Nodes fail one after the other four days before the end, among others of their own, 1.6 a day."""
    extra = [{"node": f"n{i:03d}", "start": 596 * DAY + i * minutes / 60 / (hit - 1)} for i in range(hit)]
    told_of = [each for each in wide_incidents(fleet(1, mean=6.0, extra=extra)) if each.nodes >= hit]
    assert len(told_of) == told
    for each in told_of:
        assert (each.system, each.of) == ("s", 100)
        assert each.nodes - hit <= 2
        assert abs(each.start - at(596 * DAY)) <= pd.Timedelta("3h")
        assert each.hours == pytest.approx(minutes / 60, abs=3.0)
    assert not list(wide_incidents(fleet(1, mean=6.0, days=606, extra=extra)))  # more than a week ago


def test_failures_one_by_one_are_none_of_many_at_once() -> None:
    for seed in range(20):
        assert not list(wide_incidents(fleet(seed, mean=12.0)))


def test_when_all_of_a_system_is_up_no_rack_is_blamed() -> None:
    alarms = fleet_alarms(fleet(5, mean=6.0, rate=np.where(np.arange(600) < 580, 1.0, 4.0)))
    assert [each.subject for each in alarms if each.kind == "rate"].count("system s") == 1
    assert not [each for each in alarms if each.subject.startswith("rack")]


def test_before_there_was_a_second_batch_none_is_blamed() -> None:
    """All 100 nodes fail six times as often for ten days; another hundred is installed 250 days later."""
    old = [{"node": f"n{i:03d}", "entered_known": True} for i in range(100)]
    new = [{"node": f"x{i:03d}", "entered": 660 * DAY, "entered_known": True} for i in range(100)]
    rate = np.where(np.abs(np.arange(800) - 405) <= 5, 6.0, 1.0)
    past = alarm_history(fleet(7, days=800, mean=4.0, rate=rate, people=old + new))
    before = {each.alarm.subject for each in past if each.alarm.kind == "rate" and each.alarm.raised < at(660 * DAY)}
    assert before == {"system s"}


@pytest.mark.parametrize("attribute", ["model", None])
def test_a_bad_batch_is_found_with_an_attribute_or_without(attribute: str | None) -> None:
    old = [{"node": f"n{i:03d}", "rack": f"r{i // 10}"} for i in range(100)]
    new = [{"node": f"x{i:03d}", "rack": "r9", "entered": 500 * DAY, "entered_known": True} for i in range(30)]
    if attribute:
        old = [{**each, attribute: "A" if i % 2 else "B"} for i, each in enumerate(old)]
        new = [{**each, attribute: "C"} for each in new]
    else:  # another, good one
        old[:40] = [{**each, "entered_known": True} for each in old[:40]]
    rng = np.random.default_rng(6)
    when = np.sort(rng.uniform(500 * DAY, 560 * DAY, 60))
    extra = [{"node": f"x{rng.integers(30):03d}", "start": t, "end": t + 3.0, "cause": "disk"} for t in when]
    alarms = fleet_alarms(fleet(6, days=560, extra=extra, people=old + new))
    month = at(500 * DAY).strftime("%Y-%m")
    alarm = of(alarms, "rate", f"{attribute} C" if attribute else f"batch {month}")
    assert alarm.raised < at((545 if attribute else 560) * DAY)


@pytest.mark.slow
def test_a_repair_that_did_not_help_is_found() -> None:
    extra = [{"node": "n007", "start": 500 * DAY + t, "end": 500 * DAY + t + 5.0, "cause": "disk"} for t in (0, 20, 55)]
    alarm = of(fleet_alarms(fleet(7, days=520, extra=extra)), "repeat", "node n007, disk")
    assert alarm.since == at(500 * DAY)
    assert alarm.evidence["failures"] == 3
    # two of them say little in a hundred nodes, and other causes are another matter
    two = fleet_alarms(fleet(7, days=520, extra=extra[:2]))
    others = [{**each, "cause": cause} for each, cause in zip(extra, CAUSES, strict=True)]
    for alarms in (two, fleet_alarms(fleet(7, days=520, extra=others))):
        assert not [each for each in alarms if each.kind == "repeat"]


def test_a_name_with_a_comma_drains_no_other_node() -> None:
    name = "n007, n008"
    hours = 450 * DAY + 30.0 * np.arange(8)
    extra = [{"node": name, "start": t, "end": t + 5.0, "cause": "disk"} for t in hours]
    people = [{"node": name}, *({"node": f"n{i:03d}"} for i in range(100))]
    alarms = fleet_alarms(fleet(7, days=470, extra=extra, people=people))
    assert {alarm.kind for alarm in alarms} >= {"node", "repeat"}
    drains = drains_of(alarms)
    assert (drains.table["node"].tolist(), drains.skipped) == ([], ("n007,n008",))


def test_repairs_that_take_longer_are_found() -> None:
    log = fleet(8, mean=5.0, repair=np.where(np.arange(600) < 560, 4.0, 12.0))
    alarm = of(fleet_alarms(log), "repair time", "system s")
    assert abs((alarm.since - at(560 * DAY)).days) <= 21
    assert alarm.evidence["ratio"] == pytest.approx(3.0, rel=0.35)


def _rate_of_alarms(years: float = 4.0) -> float:
    """Alarms a year in steady fleets, some with good and bad weeks, some with unequal nodes."""
    number, fleets = 0, 8
    for seed in range(fleets):
        rng = np.random.default_rng([seed, 20])
        days = int(365 * years)
        weeks = np.repeat(rng.gamma(5.0, 0.2, days // 7 + 1), 7)[:days] if seed % 2 else 1.0
        each = rng.gamma(2.0, 0.5, 60) if seed % 4 > 1 else np.ones(60)
        number += len(alarm_history(fleet(seed, nodes=60, days=days, rate=weeks, weights=each / each.sum())))
    return number / (fleets * years)


@pytest.mark.slow
def test_steady_fleets_keep_to_the_rate() -> None:
    assert sum(SHARES.values()) == pytest.approx(1.0)
    assert 0.5 < _rate_of_alarms() <= 4.0


@pytest.mark.slow
def test_a_wrong_threshold_breaks_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_scans, "LOOKS", 10.0)
    assert _rate_of_alarms() > 4.0


@pytest.mark.slow
def test_only_the_records_until_now_decide() -> None:
    log = fleet(9, rate=np.where(np.arange(600) < 500, 1.0, 3.0), weights=np.append(0.1, np.full(99, 0.9 / 99)))
    past = alarm_history(log)
    for day in (420, 505, 520, 555, 600):
        now = at(day * DAY)
        open_then = {
            (each.alarm.key, each.alarm.raised)
            for each in past
            if each.alarm.raised <= now and (each.ended is None or each.ended > now)
        }
        assert {(each.key, each.raised) for each in fleet_alarms(log, now=now)} == open_then
    assert [each.key for each in fleet_alarms(log)] == [each.key for each in fleet_alarms(log)]


@pytest.mark.slow
def test_an_alarm_has_one_key_while_it_lasts() -> None:
    log = fleet(1, rate=np.where(np.arange(600) < 500, 1.0, 2.5))
    raised = {of(fleet_alarms(log, now=at(day * DAY)), "rate", "system s").raised for day in range(520, 560, 5)}
    assert len(raised) == 1


def test_too_few_records_say_nothing() -> None:
    assert fleet_alarms(make_log([], [{"node": "n"}], window=(0.0, 100.0))) == []
    assert fleet_alarms(fleet(1, days=50)) == []
    assert fleet_alarms(make_log([{"start": 1.0}], window=(0.0, 1.0))) == []


def test_a_log_of_one_instant_gives_no_alarm() -> None:
    """The first snapshot of states: no day of it is over."""
    log = make_log([{"start": 0.0, "end": 0.0}], window=(0.0, 0.0))
    assert log.window.hours == 0.0
    assert fleet_alarms(log) == []
    none = rate_scans.scan_rates(np.zeros((2, 0)), np.zeros((2, 0)))
    assert list(none.episodes(0.5)) == []


def test_months_before_the_first_record_say_nothing() -> None:
    log = fleet(13, rate=np.where(np.arange(600) < 80, 0.0, 1.0))
    early = [each.alarm for each in alarm_history(log) if each.alarm.raised < at(300 * DAY)]
    assert not [alarm.key for alarm in early if alarm.kind == "rate"]


def test_nodes_of_two_systems_are_told_apart() -> None:
    people = [{"system": s, "node": f"n{i}"} for s in ("a", "b") for i in range(40)]
    rng = np.random.default_rng(10)
    rows = [
        {"system": "ab"[k % 2], "node": f"n{rng.integers(40)}", "start": t, "end": t + 1.0, "cause": "disk"}
        for k, t in enumerate(np.sort(rng.uniform(0.0, 400 * DAY, 300)))
    ]
    rows += [
        {"system": "b", "node": "n3", "start": t, "end": t + 1.0, "cause": "x"} for t in 9000.0 + 40 * np.arange(9)
    ]
    alarms = fleet_alarms(make_log(rows, people, window=(0.0, 400 * DAY)))
    assert of(alarms, "node", "node n3 of b")
    assert of(alarms, "repeat", "node n3 of b, x")


def test_only_nodes_that_failed_are_known() -> None:
    log = make_log([{"node": f"n{i}", "start": 24.0 * i} for i in range(300)], window=(0.0, 7200.0))
    unknown = FailureLog(log.events, log.population.assign(declared=False), log.window)
    assert not [each for each in fleet_alarms(unknown) if each.kind in ("node", "repeat")]


def test_a_stock_of_a_misspelt_cause_is_told() -> None:
    alarm = of(fleet_alarms(fleet(11, mean=6.0), stock={"dsk": 4, "cable": 0}), "stock", "cause dsk")
    assert "No failure has the cause 'dsk' of the stock of 4; did you mean 'disk'?" in alarm.text


@pytest.mark.slow
def test_stock_that_runs_short() -> None:
    log = fleet(11, mean=6.0)  # 16 disks a month
    alarm = of(fleet_alarms(log, stock={"disk": 4, "memory": 60, "cable": 0}), "stock", "cause disk")
    assert alarm.evidence["expected"] == pytest.approx(16.4, rel=0.4)
    assert alarm.evidence["chance"] > 0.9
    assert not fleet_alarms(log, stock={"disk": {"parts": 4, "lead_time": "1d"}})
    for wrong in ({"disk": -1}, {"disk": {"part": 1}}, {"disk": "many"}):
        with pytest.raises(ArgumentError):
            fleet_alarms(log, stock=wrong)


def test_a_missed_forecast() -> None:
    log, week = fleet(12), pd.Timedelta(days=7)
    made = [log.window.end - k * week for k in range(1, 30)]
    row = {"system": "s", "horizon_hours": 168.0, "mean": 6.0, "lower": 2.0, "upper": 12.0, "level": 0.95}
    scored = pd.DataFrame([{**row, "made": day, "happened": 40.0 if day == made[0] else 6.0} for day in made])
    alarm = of(fleet_alarms(log, forecasts=scored), "forecast", "system s")
    assert (alarm.since, alarm.raised) == (made[0], made[0] + week)
    usual = scored.assign(happened=[13.0, 1.0, *[6.0] * 27])  # one in twenty
    assert not [each for each in fleet_alarms(log, forecasts=usual) if each.kind == "forecast"]
    assert not [each for each in fleet_alarms(log, forecasts=scored.assign(happened=np.nan)) if each.kind == "forecast"]


def test_what_cannot_be() -> None:
    with pytest.raises(ArgumentError, match="per_year"):
        fleet_alarms(fleet(1, days=100), per_year=0.0)
    lives = make_log(lifetimes=[{"node": "n", "duration": 5.0, "observed": True}])
    with pytest.raises(ArgumentError, match="lifetimes"):
        fleet_alarms(lives)


def test_a_bundled_log_from_a_date_on() -> None:
    log = rf.datasets.load("white")
    alarms = fleet_alarms(log, since="2003-01-01", now="2004-06-01")
    assert all(alarm.raised >= pd.Timestamp("2003-02-20", tz="UTC") for alarm in alarms)


def test_a_burst_is_over_and_what_comes_after_it_is_news() -> None:
    """A failure every sixth day, five on one day, nothing for 25 days, one every other day; ten more on one day."""
    days = [*range(0, 400, 6), *([400] * 5), *range(426, 500, 2), *([500] * 10)]
    hours = [DAY * day + 2.0 * days[:i].count(day) for i, day in enumerate(days)]
    rows = [{"node": f"n{7 * i % 24:02d}", "start": hour, "end": hour + 1.0} for i, hour in enumerate(hours)]
    log = make_log(rows, [{"node": f"n{i:02d}"} for i in range(24)], window=(0.0, 501 * DAY))
    past = [each for each in alarm_history(log) if each.alarm.key.startswith("rate: ") and each.alarm.since >= at(0)]
    burst, doubled, more = (each for each in past if "system" in each.alarm.subject)
    assert (burst.alarm.since, burst.alarm.raised) == (at(400 * DAY), at(401 * DAY))
    assert burst.ended is not None
    assert burst.ended <= at(415 * DAY)
    assert at(420 * DAY) <= doubled.alarm.since <= at(440 * DAY)
    assert doubled.ended == more.alarm.raised == at(501 * DAY)
    assert more.ended is None


def test_a_part_of_a_change_that_stays_keeps_its_alarm() -> None:
    """Twenty failures within two days, then six times the usual rate: the burst alone does not end the alarm."""
    rng = np.random.default_rng(12)
    start, usual = 500.0, 0.1  # days, failures a day
    times = [
        rng.uniform(0.0, start, rng.poisson(usual * start)),
        start + rng.uniform(0.0, 2.0, 20),
        start + 2.0 + np.sort(rng.uniform(0.0, 60.0, rng.poisson(6.0 * usual * 60.0))),
    ]
    counts = np.bincount(np.concatenate(times).astype(np.int64), minlength=562)[None].astype(float)
    (burst,) = rate_scans.scan_rates(counts, np.ones_like(counts)).episodes(1e-6)
    assert burst.begin >= 490
    assert burst.lasts
    quiet = counts.copy()
    quiet[0, 502:] = np.bincount(rng.integers(0, 60, rng.poisson(usual * 60.0)), minlength=60)
    (alone,) = rate_scans.scan_rates(quiet, np.ones_like(quiet)).episodes(1e-6)
    assert not alone.lasts
