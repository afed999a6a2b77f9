"""What a report says: one period, one model, verdicts that survive few failures and unequal nodes, whole lives."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.analyses.recurrence import availability
from relfit.fleet import chosen_period
from relfit.reporting.checked_fits import CheckedFits
from relfit.reporting.components import Section, Table
from relfit.reporting.detail_sections import methods, repairs
from relfit.reporting.fleet_sections import steady
from relfit.reporting.report_data import ReportData
from tests.factories import make_log
from tests.reporting.logs import FAST, log_of
from tests.reporting.test_report import Page, page_of
from tests.site_logs import site_log

FAMILIES = ("exponential", "weibull", "gamma", "lognormal")


@pytest.fixture(scope="module")
def white(white_report: Path) -> Page:
    return Page(white_report.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def sample() -> rf.FailureLog:
    return rf.datasets.load("white")


def section(page: Page, key: str) -> str:
    start = page.source.index(f'<section id="{key}"')
    return Page(page.source[start : page.source.index("</section>", start)]).text


def verdict(page: Page, key: str) -> str:
    start = page.source.index('<p class="verdict">', page.source.index(f'<section id="{key}"'))
    return Page(page.source[start : page.source.index("</p>", start)]).text.strip()


def table(page: Page, name: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(page.table(name).lstrip("\ufeff")))


def steady_log(seed: int, nodes: int, failures: int, mean_repair: float = 2.0) -> rf.FailureLog:
    """Equal, independent nodes whose failures come at one rate."""
    rng = np.random.default_rng(seed)
    starts = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.sort(rng.uniform(0, 365, failures)), unit="D")
    ends = starts + pd.to_timedelta(rng.exponential(mean_repair, failures), unit="h")
    rows: list[Any] = [(f"n{rng.integers(nodes)}", a, b, "disk") for a, b in zip(starts, ends, strict=True)]
    return log_of(rows, nodes=[f"n{i}" for i in range(nodes)])


# ------------------------------------------------------------ one period, one model


@pytest.mark.slow
def test_the_first_line_is_the_period_and_all_numbers_are_of_now(white: Page, sample: rf.FailureLog) -> None:
    period = chosen_period(sample)
    assert f'<p class="subtitle">{period.headline}</p>' in white.source
    found = rf.calibrate(sample)
    mtbf, days = found.mtbf, 24.0
    first = section(white, "summary")
    assert f"Time between incidents, now {mtbf.any.value:.3g} hours" in first
    assert f"{mtbf.any.low:.3g} to {mtbf.any.high:.3g} hours" in first
    assert f"every {mtbf.node.value / days:.3g} days" in first
    assert f"back in {found.mttr.node.value:.3g} hours" in first
    # counted by hand: incidents of the period, which goes to the end of the log, and of the last 90 days
    begun = rf.incidents(period.log).table["start"]
    weeks = period.log.window.hours / 168.0
    assert f"{len(begun) / weeks:.3g} since October 2002" in first
    said = re.search(r"the machine has ([\d.]+) incidents a week \(next 90 days' mean: ([\d.]+)-([\d.]+)\)", first)
    assert said is not None
    week, low, high = map(float, said.groups())
    lately = int((begun > sample.window.end - pd.Timedelta("90D")).sum()) / (90 / 7)
    assert low < lately < high
    pairs = [(week, mtbf.any.value), (low, mtbf.any.high), (high, mtbf.any.low)]
    for per_week, hours in pairs:  # numbers of the page divided
        assert per_week == pytest.approx(168.0 / hours, rel=0.01)


@pytest.mark.slow
def test_outages_of_the_whole_system_are_in_every_number(white: Page, sample: rf.FailureLog) -> None:
    lately = sample.between(sample.window.end - pd.Timedelta("90D"), None)
    up = availability(lately)
    first = section(white, "summary")
    assert f"Availability of a node, last 90 days {100 * (1.0 - up.down_hours[0] / up.node_hours[0]):.1f} %" in first
    share = 100 * up.system_down_hours[0] / up.down_hours[0]
    begun = rf.incidents(sample).table
    whole = begun[(begun["scope"] == "system") & (begun["start"] >= lately.window.start)]
    assert f"{len(whole)} in the last 90 days, {share:.0f} % of the node-hours lost" in first
    model = rf.fleet_model(sample)
    job = model.interval("reliability", "24h", size=64, placement="packed")
    assert f"64 nodes for 24 h, uninterrupted {100 * job.estimate:.0f} %" in first
    # of the jobs that the log itself can be asked about, as many went through
    assert 0.25 < float(job.estimate) < 0.38
    lost = table(white, "interruptions-by-scope").set_index("scope")["lost_share"]
    up = availability(chosen_period(sample).log)
    assert lost["system"] == pytest.approx(up.system_down_hours[0] / up.down_hours[0], abs=0.01)


@pytest.mark.slow
@pytest.mark.long
def test_the_report_agrees_with_the_commands(white: Page, sample: rf.FailureLog) -> None:
    job = rf.fleet_model(sample).interval("reliability", "24h", size=64, placement="packed")
    low, value, high = (f"{100 * float(x):.0f}" for x in (job.low, job.estimate, job.high))
    assert verdict(white, "jobs") == (
        f"{value} % ({low} to {high} %) of jobs on 64 nodes run for 24 hours without interruption."
    )
    tested = rf.backtest(sample, parts=("forecasts", "jobs"), sizes=64, fast=True)
    assert f"Trust: {tested.trust}. {tested.trust_reason}" in section(white, "summary")
    assert rf.backtest(sample, parts="forecasts").trust_reason == tested.trust_reason
    assert " ".join(tested.sentences("jobs")[0].split()) in section(white, "jobs")
    past = tested.headline.partition(" forecasts of ")[2]
    assert f"Past forecasts of {past}" in section(white, "summary")  # once on the page
    shown = table(white, "backtest-jobs")
    jobs = tested.table.query("part == 'jobs'")["predicted"].to_numpy()
    assert shown["predicted"].to_numpy() == pytest.approx(jobs, abs=1e-5)
    assert shown["error"].to_numpy() == pytest.approx(100.0 * (shown["predicted"] - shown["seen"]).to_numpy(), abs=1e-3)
    assert verdict(white, "forecast") == rf.forecast(sample).headline


def test_tiles_and_advice_against_a_plain_count_of_the_rows(white: Page) -> None:
    """The last 90 days of the file, read and counted by pandas alone."""
    rows = pd.read_csv(rf.datasets.path("white"), parse_dates=["start", "end"])
    end = pd.Timestamp("2004-10-01")
    begin, first = end - pd.Timedelta("90D"), section(white, "summary")
    rows["end"] = rows["end"].fillna(end).clip(upper=end)
    lately = rows[rows["end"] > begin]
    hours = (lately["end"] - lately["start"].clip(lower=begin)) / pd.Timedelta("1h")
    of_system = lately["scope"] == "system"
    starts = sorted(lately.loc[of_system & (lately["start"] >= begin), "start"])
    assert f"whole-system outages first: {len(set(starts))} in the last 90 days" in first
    down = {True: hours[of_system].sum() * 512, False: hours[~of_system].sum()}
    said = re.search(r"down: whole system ([\d.]+) %, [a-z ,]+ ([\d.]+) %", first)
    assert said is not None
    assert float(said[1]) == pytest.approx(100 * down[True] / (512 * 2160), abs=0.11)
    assert float(said[2]) == pytest.approx(100 * down[False] / (512 * 2160), abs=0.02)
    for node, times in re.findall(r"Look at repairs of (\w+): (\w+) early repeats in 90 days", first):
        assert (lately.loc[lately["start"] >= begin, "node"] == node).sum() >= int(times)


def test_a_share_of_jobs_is_no_less_than_nothing(white: Page) -> None:
    shares = table(white, "jobs")[["r6", "r24", "r72", "low", "high"]].to_numpy()
    assert ((shares >= 0.0) & (shares <= 1.0)).all()
    assert (shares[:, 2] <= shares[:, 1]).all()


@pytest.mark.usefixtures("words_only")
def test_a_jobs_share_is_said_once_and_with_one_number(white: Page) -> None:
    """Of all nodes, too: a second answer from another model stood beside the table."""
    text = section(white, "jobs")
    assert "on average" not in text
    assert not re.search(r"\d e-|e-0\d %", text)


@pytest.mark.usefixtures("words_only")
def test_a_job_has_the_same_limits_on_the_first_screen_and_in_its_table(white: Page) -> None:
    said = re.search(r"64 nodes for 24 h, uninterrupted [\d.]+ % ([\d.]+) to ([\d.]+) %", section(white, "summary"))
    assert said is not None
    shown = re.search(r"\b64 [\d.]+ % [\d.]+ % ([\d.]+) to ([\d.]+) %", section(white, "jobs"))
    assert shown is not None
    assert shown.groups() == said.groups()


def test_what_racks_and_groups_cost_is_not_put_down_to_nodes(white: Page) -> None:
    said = re.search(r"nodes, racks and groups ([\d.]+) %", section(white, "summary"))
    assert said is not None
    assert 0.05 < float(said[1]) < 0.3


@pytest.mark.slow
@pytest.mark.usefixtures("words_only")
@pytest.mark.long
def test_another_period_is_used_where_it_is_asked_for(tmp_path: Path, sample: rf.FailureLog) -> None:
    part = sample.where(rack="frame01")
    page = page_of(part, tmp_path, period=("2003-04-01", "2004-04-01"), **FAST)
    assert "Period used: 2003-04-01 to 2004-04-01, as asked." in page.text
    assert len(table(page, "incidents")) == len(rf.incidents(part.between("2003-04-01", "2004-04-01")))


# ------------------------------------------------------------------------ verdicts


@pytest.mark.slow
@pytest.mark.long
def test_what_came_after_the_period_and_no_change_within_its_limits(
    site_report: Callable[[str], tuple[rf.FailureLog, Path]],
) -> None:
    """LANL 2, against its records since December 2004; before 1999 the rate was within the limits of the period's."""
    log, path = site_report("2")
    page = Page(path.read_text(encoding="utf-8"))
    text = page.text
    late = log.events[log.events["start"] >= pd.Timestamp("2004-12-01", tz="UTC")]
    weeks = (log.window.end - pd.Timestamp("2004-12-01", tz="UTC")) / pd.Timedelta("7D")
    said = re.search(
        r"the machine has ([\d.]+) incidents a week \(next 90 days' mean: ([\d.]+)-([\d.]+)\), each of one node "
        r"or more; [\d.]+ from March 1999",
        text,
    )
    assert said is not None
    assert float(said[2]) < len(late) / weeks < float(said[3])
    assert float(said[1]) == pytest.approx(len(late) / weeks, rel=0.5)
    joined = re.search(r"An incident every [^:]+: ([\d,]+) incidents in", text)
    assert joined is not None
    periods = table(page, "periods")
    since = periods.loc[periods["use"].idxmax() :, "failures"].sum()
    begun = rf.screening.change_points(log).stable_period.start
    alone = len(rf.screening.incidents(log.between(begun, None)).table)
    nested = alone - int(joined[1].replace(",", ""))
    assert nested > 0
    assert (
        f"Other sections count {joined[1]} incidents since 1999-03-30, not {since:,}: records of this period alone "
        f"join to {alone:,}; {nested} began while their node was down." in text
    )


@pytest.mark.slow
@pytest.mark.usefixtures("words_only")
@pytest.mark.parametrize("factor", [2.2, pytest.param(0.3, marks=pytest.mark.verify)])
def test_a_rise_after_the_steady_period_is_said_first(tmp_path: Path, factor: float) -> None:
    rng = np.random.default_rng(3)
    rates = np.full((40, 600), 0.03)
    rates[:, 555:] *= factor
    node, day = np.nonzero(rng.random(rates.shape) < rates)
    start = pd.Timestamp("2020-01-01") + pd.to_timedelta(day + rng.uniform(0.0, 0.9, day.size), unit="D")
    rows: list[Any] = [(f"n{i}", at, at + pd.Timedelta("1h"), "disk") for i, at in zip(node, start, strict=True)]
    log = log_of(rows, nodes=[f"n{i}" for i in range(40)], until="2021-08-23")  # 600 days
    page = page_of(log, tmp_path, **FAST)
    period = re.search(r"Period used: 2020-01-\d+ to (\S+), at a steady rate until (\S+)\.", page.text)
    assert period is not None
    assert 35 < (pd.Timestamp(period[1]) - pd.Timestamp(period[2])) / pd.Timedelta("1D") < 55
    advice = re.search(r"Find out what changed about (\S+): incidents come ([\d.]+) times as often", page.text)
    assert (advice is not None) == (factor > 1.0)
    if advice is not None:
        assert advice[1] == period[2]
        assert float(advice[2]) == pytest.approx(factor, rel=0.2)


@pytest.mark.slow
@pytest.mark.usefixtures("words_only")
def test_a_smooth_rise_has_no_date_at_which_something_changed(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    node, day = np.nonzero(rng.random((40, 600)) < 0.02 * np.exp(np.linspace(0.0, 1.8, 600)))
    start = pd.Timestamp("2020-01-01") + pd.to_timedelta(day + rng.uniform(0.0, 0.9, day.size), unit="D")
    rows: list[Any] = [(f"n{i}", at, at + pd.Timedelta("1h"), "disk") for i, at in zip(node, start, strict=True)]
    page = page_of(log_of(rows, nodes=[f"n{i}" for i in range(40)], until="2021-08-23"), tmp_path, **FAST)
    advice = re.search(r"come more and more often: since (\S+) ([\d.]+) times as often as until (\S+)\.", page.text)
    assert advice is not None
    counted = [np.sum(start >= advice[1]) / np.sum(pd.date_range("2020-01-01", "2021-08-22") >= advice[1])]
    counted += [np.sum(start < advice[3]) / np.sum(pd.date_range("2020-01-01", "2021-08-22") < advice[3])]
    assert float(advice[2]) == pytest.approx(counted[0] / counted[1], rel=0.03)
    assert "Find out what changed" not in page.text


@pytest.mark.usefixtures("words_only")
def test_a_log_that_names_no_system_is_no_system_called_system(tmp_path: Path) -> None:
    (tmp_path / "few.csv").write_text(
        "node,start,end\na,2024-01-03 10:00,2024-01-03 12:00\nb,2024-02-03 10:00,2024-02-03 11:00\n"
    )
    page = page_of(rf.read(tmp_path / "few.csv"), tmp_path, **FAST)
    assert "System system" not in page.text
    assert "Failure log: 2 nodes" in page.text


@pytest.mark.usefixtures("words_only")
@pytest.mark.slow
def test_six_failures_claim_nothing(tmp_path: Path) -> None:
    page = page_of(steady_log(1, 8, 6), tmp_path, **FAST)
    text = page.text
    assert re.search(r"6 incidents of the machine in [\d.]+ days, one every [\d.]+ days: too few for most", text)
    for claim in ("the risk grows", "fail together", "independence holds", "trend in 0 %", "one mean", "0 times"):
        assert claim not in text
    assert "dependence between failures (too few failures)" in text
    assert "outlier nodes (" in text
    assert "questions were asked" not in section(page, "summary")  # none has an answer


@pytest.mark.slow
@pytest.mark.usefixtures("words_only")
def test_shape_is_said_from_the_pooled_fit_and_not_where_it_holds_one(tmp_path: Path) -> None:
    """Three failures a node: the median of the nodes' own Weibull shapes is above one by bias alone."""
    log = steady_log(2, 100, 300)
    own = rf.fit(log.ttf(), "weibull")["weibull"]
    assert np.median(own.parameters["shape"][own.ok]) > 1.1
    page = page_of(log, tmp_path, **FAST)
    assert "There is no evidence that the failure rate of a node changes with the time since" in page.text
    assert "grows" not in page.text
    assert "rises" not in page.text


def test_no_family_is_called_best_where_none_fits() -> None:
    rng = np.random.default_rng(3)
    two_kinds = np.concatenate([rng.normal(10.0, 0.5, 400), rng.normal(300.0, 10.0, 400)])
    none = CheckedFits.of(rf.LifeData.from_array(two_kinds), FAMILIES, 0.95)
    assert re.fullmatch(
        r"No distribution fits \(Anderson-Darling, largest p < 0.001\); the \w+ is closest by AICc\.", none.headline
    )
    assert none.shown_p() == ["< 0.001"] * 4
    right = CheckedFits.of(rf.LifeData.from_array(rng.weibull(2.0, 500) * 100), FAMILIES, 0.95)
    assert right.headline.startswith("The Weibull fits best by AICc; the Weibull is not rejected")
    censored = np.minimum(rng.weibull(2.0, 3000) * 100, 90.0)
    fits = CheckedFits.of(rf.LifeData.from_array(censored, observed=censored < 90.0), FAMILIES, 0.95)
    assert fits.p["weibull"] > 0.01
    assert fits.p["exponential"] == pytest.approx(1 / 2000)
    assert dict(zip(FAMILIES, fits.shown_p(), strict=True))["exponential"] == "< 0.005"


@pytest.mark.parametrize(
    ("hours", "observed", "families", "reason"),
    [
        ([24.0] * 30, True, ("weibull", "gamma"), "No distribution could be fitted. Weibull, gamma: one failure time"),
        ([24.0, 30.0, 48.0], False, FAMILIES, "No failure in 102 h: an exponential has a mean above 27.7 h"),
        ([24.0, 30.0, 0.0] * 10, True, ("weibull",), "No distribution could be fitted. Weibull: a failure time of zer"),
        ([24.0], True, ("exponential",), "The exponential has the mean 24 h"),
        ([24.0], True, ("weibull",), "No distribution could be fitted: there are too few failures."),
        ([24.0], True, FAMILIES, "1 failure is too few to compare distributions; the exponential has the mean 24 h"),
    ],
)
def test_why_no_distribution_can_be_compared(hours: list[float], observed: bool, families: Any, reason: str) -> None:
    """All of these were "too few failures", those of thirty equal times too."""
    lives = rf.LifeData.from_array(hours, observed=[observed] * len(hours))
    assert CheckedFits.of(lives, families, 0.95).headline.startswith(reason)


def test_as_many_lives_are_tested_as_by_fit_and_what_is_drawn_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 3,358 lives of three kinds 1,000 were tested: "not rejected", where `relfit fit` rejects."""
    rng = np.random.default_rng(5)
    life = np.concatenate([6.0 * rng.weibull(2.5, 900), 25.0 * rng.weibull(1.0, 900), 60.0 * rng.weibull(0.7, 900)])
    lives = rf.LifeData.from_array(np.minimum(life, 5.0), observed=life < 5.0)
    checked = CheckedFits.of(lives, ("exponential", "weibull"), 0.95)
    fits = rf.fit(lives, ("exponential", "weibull"))
    for name, p in checked.p.items():
        assert p == fits[name].tests.p[0, fits[name].tests.tests.index("ad")]
    monkeypatch.setattr("relfit.reporting.checked_fits._TESTED", 300)
    right = np.minimum(100.0 * rng.weibull(2.0, 1500), 90.0)
    drawn = CheckedFits.of(rf.LifeData.from_array(right, observed=right < 90.0), ("exponential", "weibull"), 0.95)
    said = "the Weibull is not rejected (Anderson-Darling, 300 of 1,500 times, of which all may show more, p = "
    assert said in drawn.headline


def test_lives_that_enter_late_are_tested_as_such() -> None:
    rng = np.random.default_rng(4)
    life, entry = 100.0 * rng.weibull(2.0, 1000), rng.uniform(0.0, 150.0, 1000)
    seen = life > entry
    late = rf.LifeData.from_array(life[seen], entry=entry[seen])
    fits = CheckedFits.of(late, ("exponential", "weibull"), 0.95)
    assert fits.p["weibull"] > 0.01
    assert fits.p["exponential"] <= 1 / 200


def test_all_columns_of_a_fit_are_of_the_same_times() -> None:
    """The time to the first failure, in progress at an unknown age, is fitted and tested, as `relfit fit` does."""
    rng = np.random.default_rng(6)
    days = np.cumsum(rng.exponential(6.0, 60))
    events = [{"node": "a", "start": 24.0 * day} for day in days]
    log = make_log(events, [{"node": "a", "entered_known": False}], window=(0.0, 24.0 * days[-1] + 50.0))
    lives = log.ttf("system")
    assert lives.n_stationary.tolist() == [1]
    checked, fits = CheckedFits.of(lives, FAMILIES, 0.95), rf.fit(lives, FAMILIES)
    for name in FAMILIES:
        assert checked.p[name] == fits[name].tests.p[0, fits[name].tests.tests.index("ad")]
        assert float(checked.fits[name].aicc[0]) == float(fits[name].aicc[0])
    assert checked.p["exponential"] != CheckedFits.of(lives.from_age_known(), FAMILIES, 0.95).p["exponential"]


def test_nodes_to_check_are_those_that_fail_more_often_now(white: Page, sample: rf.FailureLog) -> None:
    nodes = rf.fleet_model(sample).nodes_now()
    worst = nodes[nodes["outlier"]]
    first = section(white, "summary")
    assert f"Check {len(worst)} nodes: {worst['node'].iloc[0]}" in first
    # the one named first has failed at least three times as often as the mean node in the last year
    year = sample.events[sample.events["start"] > sample.window.end - pd.Timedelta("365D")]
    own = (year["node"] == worst["node"].iloc[0]).sum()
    assert own > 2.0 * len(year[year["node"].notna()]) / sample.n_nodes


@pytest.mark.usefixtures("words_only")
@pytest.mark.slow
def test_a_change_no_clearer_than_the_questions_asked_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    days = np.concatenate([rng.uniform(0, 120, 130), rng.uniform(120, 365, 100)])
    starts = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.sort(days), unit="D")
    log = log_of([(f"n{rng.integers(20)}", at, at + pd.Timedelta("2h"), "disk") for at in starts])
    page = page_of(log, tmp_path, **FAST)
    assert verdict(page, "steady").startswith("No: from 2020-")
    monkeypatch.setattr(ReportData, "firm", lambda self, question: False)
    page = page_of(log, tmp_path, **FAST)
    assert "no clearer than" in verdict(page, "steady")


@pytest.mark.slow
def test_questions_share_five_percent(sample: rf.FailureLog) -> None:
    data = ReportData(rf.Study(sample.where(rack=["frame01", "frame02"])), FAMILIES)
    p = data._p_values
    assert {"steady", "alike", "ageing", "cofailure", "place"} <= set(p)
    assert data.asked == len(p) >= 9
    # Holm by hand
    rejected = set()
    for i, (name, value) in enumerate(sorted(p.items(), key=lambda pair: pair[1])):
        if value > 0.05 / (len(p) - i):
            break
        rejected.add(name)
    assert {name for name in p if data.firm(name)} == rejected
    assert data.dependence.result is not None
    assert data.dependence.result.place.depends is ("place" in rejected)


@pytest.mark.verify
def test_false_sentences_about_independent_steady_equal_fleets() -> None:
    """At most 5 % of logs have any of them; 300 logs, so 8.5 % is three standard errors away."""
    wrong = 0
    for seed in range(300):
        data = ReportData(rf.Study(steady_log(1000 + seed, 64, 400)), FAMILIES)
        found = data.dependence.result
        assert found is not None
        parts = [found.depends(part) for part in found.answers]
        wrong += bool(data.firm("steady") or data.firm("alike") or data.firm("ageing") or True in parts)
    assert wrong <= 0.085 * 300


@pytest.mark.usefixtures("words_only")
@pytest.mark.slow
def test_one_node_and_names_of_the_log(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    starts = pd.Timestamp("2020-01-02") + pd.to_timedelta(np.cumsum(rng.exponential(5, 60)), unit="D")
    rows: list[Any] = [("White-N1", at, at + pd.Timedelta("3h"), "DIMM") for at in starts[starts < "2020-12-30"]]
    page = page_of(log_of(rows, system="Frost"), tmp_path, **FAST)
    assert "System Frost: 1 node" in page.text
    assert re.search(r"the node has [\d.]+ incidents a week", page.text)
    assert "outlier nodes (" in page.text
    assert "attributed to DIMM" in page.text
    assert "of jobs on 1 node run for 24 hours" in page.text
    assert "consecutive" not in section(page, "jobs")
    assert "system system" not in page.text.lower()


# ------------------------------------------------------------- lives without repair


@pytest.fixture(scope="module")
def lives() -> rf.FailureLog:
    rng = np.random.default_rng(2)
    nodes = [f"g{i}" for i in range(800)]
    base = log_of([], nodes=nodes)
    whole = rng.weibull(3.0, 800) * 4.0 * 8766
    seen = rng.uniform(2.0, 6.0, 800) * 8766
    lifetimes = pd.DataFrame(
        {
            "system": "s",
            "node": nodes,
            "duration": np.minimum(whole, seen),
            "observed": whole <= seen,
            "line": range(800),
            "shelf": [f"s{i % 3}" for i in range(800)],
        }
    )
    population = base.population.assign(shelf=lifetimes["shelf"])
    return rf.FailureLog(base.events.assign(shelf=None), population, base.window, lifetimes=lifetimes)


@pytest.mark.slow
@pytest.mark.long
def test_lives_without_repair_have_ages_and_no_repairs(lives: rf.FailureLog, tmp_path: Path) -> None:
    page = page_of(lives, tmp_path)
    assert lives.lifetimes is not None
    ended, years = int(lives.lifetimes["observed"].sum()), lives.lifetimes["duration"].sum() / 8766
    assert f"{ended} of 800 units ended in {years:,.0f} unit-years of service" in page.text
    # Kaplan-Meier by hand
    times = np.sort(lives.lifetimes.loc[lives.lifetimes["observed"], "duration"].to_numpy())
    for age in (1, 3, 5):
        risk = (lives.lifetimes["duration"].to_numpy()[None, :] >= times[:, None]).sum(axis=1)
        alive = np.prod((1.0 - 1.0 / risk)[times <= age * 8766])
        assert f"In service after {age} year{'s' if age > 1 else ''} {100 * alive:.1f} %" in page.text
    assert "The risk of a unit is higher in its" in page.text
    assert "repairs, availability, jobs, periods, dependence (nothing here is repaired)" in page.text
    for absent in ("node", "time since the last failure", "MTBF", "interrupts"):
        assert absent not in page.text
    assert table(page, "risk-by-age")["ended"].sum() <= ended


@pytest.mark.usefixtures("words_only")
@pytest.mark.slow
def test_lives_of_the_titan_are_gpus(tmp_path: Path) -> None:
    log = site_log("titan")
    page = page_of(log, tmp_path, **FAST)
    assert log.lifetimes is not None
    assert f"System titan: {log.n_nodes:,} GPUs" in page.text
    lives, ended = log.lifetimes["duration"].to_numpy(), log.lifetimes["observed"].to_numpy(bool)
    order = np.argsort(lives, kind="stable")
    at_risk = lives.size - np.searchsorted(lives[order], lives[order], side="left")
    alive = np.prod(1.0 - (ended[order] & (lives[order] <= 3 * 8766)) / at_risk)  # Kaplan-Meier, ties one by one
    said = re.search(r"In service after 3 years ([\d.]+) %", page.text)
    assert said is not None
    assert float(said[1]) == pytest.approx(100 * alive, abs=0.1)
    assert re.search(r"In service after 1 year 99\.86 % 95 % interval 99\.8\d to 99\.\d\d %", page.text)
    assert "No distribution fits" in verdict(page, "families")
    assert "lifetimes are not cut in time" in page.text


def test_all_of_a_page_is_in_one_zone() -> None:
    stamps = pd.date_range("2020-01-03 03:00", periods=60, freq="140h")
    rows = [(f"n{i % 7}", stamp, stamp + pd.Timedelta(hours=2), "disk") for i, stamp in enumerate(stamps)]
    log = log_of(rows, zone="America/Denver")
    data = ReportData(rf.Study(log, "all"), FAMILIES)
    found, points = data.availability_over_time.result, data.change_points.result
    assert found is not None
    assert points is not None
    assert {str(found.edges.tz), str(points.periods[-1].start.tz), str(log.window.start.tz)} == {"America/Denver"}


def test_a_share_of_nearly_all_has_no_dozen_digits() -> None:
    frame = pd.DataFrame({"p": [0.99999999934, 0.9999, 1.0, 0.000001]})
    table = Table("x", "X", frame, {"p": "p"}, percent=frozenset({"p"}))
    assert [row[0] for row in table.rows] == ["> 99.999 %", "99.990 %", "100 %", "< 0.01 %"]


@pytest.mark.usefixtures("words_only")
@pytest.mark.slow
def test_six_rows_get_few_sentences_and_cautions_that_are_cautions(tmp_path: Path) -> None:
    at = pd.to_datetime(["2024-03-01", "2024-03-05", "2024-03-09", "2024-03-15", "2024-03-22", "2024-03-29"])
    rows = pd.DataFrame({"node": list("abcabc"), "start": at, "end": at + pd.Timedelta("4h")})
    rows["cause"] = ["hardware"] * 3 + ["software"] * 2 + ["network"]
    rows.to_csv(tmp_path / "six.csv", index=False)
    page = page_of(rf.read(tmp_path / "six.csv"), tmp_path, **FAST)
    assert "An incident every" in page.text
    for claim in (
        "Most are attributed",
        "named most often",
        "was lowest from",
        "one in ten takes",
        "do equally well",
        "questions were asked of the log",
    ):
        assert claim not in page.text
    assert "rows were read" not in section(page, "summary")
    for term in ("Outlier nodes", "Test on the past", "1e-09", "unknown (", "times a week"):
        assert term not in page.text
    assert "Times to repair by cause, as observed (hours)" in section(page, "repairs")


@pytest.mark.slow
@pytest.mark.usefixtures("words_only")
def test_half_of_the_incidents_is_not_most_of_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    at = pd.Timestamp("2023-01-01") + pd.to_timedelta(40.0 * np.arange(200), unit="h")
    hours = np.round(rng.lognormal(0.0, 1.0, 200), 1) + 0.1
    cause = np.where(np.arange(200) % 2, "fan", np.where(np.arange(200) % 4, "disk", "cable"))
    rows = pd.DataFrame({"node": rng.choice(list("abcdefgh"), 200), "start": at, "cause": cause})
    rows["end"] = at + pd.to_timedelta(hours, unit="h")
    rows.to_csv(tmp_path / "log.csv", index=False)
    page = page_of(rf.read(tmp_path / "log.csv"), tmp_path, **FAST)
    assert "The cause named most often is fan (50 %)." in page.text
    assert "Most are attributed" not in page.text
    table = section(page, "repairs")
    mean, median = hours[cause == "fan"].mean(), np.sort(hours[cause == "fan"])[49]
    assert re.search(rf"fan\s+100\s+{mean:.3g}\s+[\d.]+ to [\d.]+\s+{median:.3g}", table)


@pytest.mark.slow
@pytest.mark.usefixtures("words_only")
@pytest.mark.long
def test_one_rejected_row_in_a_thousand_is_no_caution(tmp_path: Path) -> None:
    gaps = np.random.default_rng(1).exponential(9.0, 400).round(1)
    at = pd.Timestamp("2023-01-01") + pd.to_timedelta(np.cumsum(gaps), unit="h")
    rows = pd.DataFrame({"node": [f"n{i % 7}" for i in range(400)], "start": at, "end": at + pd.Timedelta("2h")})
    for rejected, caution in ((2, False), (20, True)):
        rows.astype(str).assign(end=["soon"] * rejected + [f"{end}" for end in rows["end"][rejected:]]).to_csv(
            tmp_path / "log.csv", index=False
        )
        page = page_of(rf.read(tmp_path / "log.csv"), tmp_path, **FAST)
        assert ("rows were rejected" in section(page, "summary")) is caution
        assert f"{rejected} of 400 rows were rejected" in section(page, "data")


@pytest.mark.slow
@pytest.mark.usefixtures("words_only")
def test_what_begins_while_its_node_is_down_is_counted_once_and_said(tmp_path: Path) -> None:
    at = pd.Timestamp("2023-01-01") + pd.to_timedelta(30.0 * np.arange(100), unit="h")
    rows = pd.DataFrame({"node": [f"n{i % 10}" for i in range(100)], "start": at, "end": at + pd.Timedelta("2h")})
    inside = rows.iloc[[20, 40, 60]].assign(start=lambda x: x["start"] + pd.Timedelta("30min"))
    pd.concat([rows, inside]).sort_values("start").to_csv(tmp_path / "log.csv", index=False)
    text = page_of(rf.read(tmp_path / "log.csv"), tmp_path, **FAST).text
    assert ": 100 incidents in" in text
    assert "3 began while their node was already down" in text


@pytest.mark.slow
def test_every_period_is_used_where_all_of_the_log_is() -> None:
    rng = np.random.default_rng(2)
    days = np.sort(np.concatenate([rng.uniform(0, 180, 100), rng.uniform(180, 360, 400)]))
    starts = pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D")
    rows: list[Any] = [(f"n{rng.integers(40)}", a, a + pd.Timedelta("1h"), "disk") for a in starts]
    log = log_of(rows, nodes=[f"n{i}" for i in range(40)])
    used = {}
    for period in ("stable", "all"):
        data = ReportData(rf.Study(log, period), FAMILIES)
        part = steady(data)
        assert not isinstance(part, str)
        used[period] = part.tables[0].frame["use"].tolist()
        said = dict(methods(data, {"steady"}).terms)["Period"]
        assert ("a sixth of the node-hours" in said) == (period == "stable")
        assert ("Here all of the log is used." in said) == (period == "all")
    assert used == {"stable": [False, True], "all": [True, True]}


def test_repairs_that_take_longer_of_late_are_expected_to() -> None:
    """Outages of 20 nodes last 2 hours, and 12 in the last 2600 of 9600 hours."""
    rng = np.random.default_rng(2)
    at = [np.cumsum(rng.exponential(1500.0, 40)).round() for _ in range(20)]
    rows = [(f"n{i:02d}", t, 12.0 if t > 7000.0 else 2.0) for i in range(20) for t in at[i][at[i] < 9588.0]]
    events = [{"node": node, "start": start, "end": start + hours} for node, start, hours in rows]
    log = make_log(events, [{"node": f"n{i:02d}"} for i in range(20)], window=(0, 9600))
    section = repairs(ReportData(rf.Study(log, "all"), ("exponential",)))
    assert isinstance(section, Section)
    mean = np.mean([hours for *_, hours in rows])
    assert section.verdict.startswith(f"An outage of a node lasts {mean:.2f} hours on average")
    said = re.match(r"Now, with recent .* one is expected to last ([\d.]+) hours", section.sentences[0])
    assert said is not None
    assert float(said[1]) == pytest.approx(12.0, rel=0.1)
