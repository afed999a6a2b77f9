"""Back-tests: origins, no knowledge of the future, scores and jobs counted by hand, wrong predictions are seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import stats

import relfit as rf
from relfit.backtesting import backtest_results, backtest_texts, forecast_scores
from relfit.backtesting.interval_scores import _runs, lost_lately, run_of
from relfit.base.errors import ArgumentError, DataError
from relfit.fleet.job_placement import NodeOutages
from relfit.system.jobs import Checkpoint
from tests.factories import EPOCH, make_log

DAY = 24.0
DAYS, NODES = 600, 40


def fleet(
    seed: int, days: int = DAYS, rate: float = 1.0 / 40.0, system: str = "s", after: float = 1.0
) -> rf.FailureLog:
    """Nodes that fail at random, `rate` a day each, one of them ten times as often, and `after` the first 400 days."""
    rng = np.random.default_rng(seed)
    rows = []
    for node in range(NODES):
        often = rate * (10.0 if node == 3 else 1.0)
        at = np.sort(rng.uniform(0.0, 400.0 * DAY, rng.poisson(often * 400)))
        later = np.random.default_rng([seed, node, round(after)])  # so that the past is the same
        at = np.append(at, np.sort(later.uniform(400.0 * DAY, days * DAY, later.poisson(often * after * (days - 400)))))
        rows += [
            {"system": system, "node": f"n{node:02}", "start": t, "end": min(t + 2.0 + node / 20.0, days * DAY)}
            for t in at
        ]
    causes = np.random.default_rng(1).choice(["hardware", "software"], 100_000)
    rows = [{**row, "cause": causes[int(row["start"]) % 100_000]} for row in rows]
    nodes = [{"system": system, "node": f"n{node:02}", "rack": f"r{node // 10}"} for node in range(NODES)]
    if after != 1.0:  # some leave, and what was never seen before comes
        nodes[7]["left"] = nodes[8]["left"] = 450.0 * DAY
        rows = [row for row in rows if row["node"] not in ("n07", "n08") or row["start"] < 440.0 * DAY]
        rows = [{**row, "cause": "aliens"} if row["start"] > 500.0 * DAY else row for row in rows]
    return make_log(sorted(rows, key=lambda row: row["start"]), nodes, window=(0, days * DAY))


@pytest.fixture(scope="module")
def log() -> rf.FailureLog:
    return fleet(1)


@pytest.fixture(scope="module")
def tested(log: rf.FailureLog) -> rf.backtesting.Backtest:
    return rf.backtest(log, parts="all", sizes=(1, 4), every="60d")


def starts(log: rf.FailureLog) -> np.ndarray:
    return ((log.events["start"] - EPOCH) / pd.Timedelta(hours=1)).to_numpy(dtype=float)


def hours(origin: pd.Timestamp) -> float:
    return float((origin - EPOCH) / pd.Timedelta(hours=1))


# ------------------------------------------------------------------------ origins


def test_origins_go_from_a_third_of_the_log_to_the_last_that_can_be_seen(log: rf.FailureLog) -> None:
    table = rf.backtest(log, parts="forecasts", by=None).table
    origins = np.array([hours(one) for one in table["origin"].unique()]) / DAY
    assert origins.max() == DAYS - 30
    assert DAYS / 3 <= origins.min() < DAYS / 3 + 30
    assert set(np.diff(np.sort(origins))) == {30.0}
    far = table[table["horizon"] == 90 * DAY]
    assert max(hours(one) for one in far["origin"]) / DAY <= DAYS - 90


def test_a_short_log_is_told_what_to_do(log: rf.FailureLog) -> None:
    short = log.between(None, EPOCH + pd.Timedelta(days=120))
    with pytest.raises(DataError, match=r"origins in 120 days are too few.*take a log of 180 days or more, or every="):
        rf.backtest(short, parts="forecasts")
    with pytest.raises(DataError, match=r"^0 origins in 30 days are too few: .*, or shorter horizons"):
        rf.backtest(log.between(None, EPOCH + pd.Timedelta(days=30)), parts="forecasts")
    few = rf.backtest(short, parts="forecasts", every="10d", horizons="10d", by=None)
    assert 4 <= len(few.table) <= 8
    assert few.trust in ("fair", "poor")
    with pytest.raises(DataError, match="too few"):
        rf.backtest(make_log([{"start": 5.0 * DAY * i} for i in range(1, 20)], window=(0, 500 * DAY)))


# ------------------------------------------------------------------------ leakage


@pytest.mark.slow
@pytest.mark.long
def test_nothing_of_the_future_is_known(log: rf.FailureLog, tested: rf.backtesting.Backtest) -> None:
    other = rf.backtest(fleet(1, after=3.0), parts="all", sizes=(1, 4), every="60d")
    keys = ["part", "of", "name", "horizon", "size", "length", "origin"]
    said = ["predicted", "low", "high", "count_1", "every"]
    tables = []
    for result in (tested, other):
        table = result.table[
            (result.table["origin"] <= EPOCH + pd.Timedelta(days=400)) & (result.table["of"] != "first")
        ]
        table = table.assign(**{name: table[name].fillna(-1) for name in ("size", "length")})
        tables.append(table[table["name"] != "aliens"].set_index(keys)[[*said, "seen"]])
    first, second = tables[0].align(tables[1], join="inner", axis=0)
    assert set(first.index.get_level_values("of")) >= {"all", "cause", "rack", "job", "checkpoints", "stock"}
    saves = first.index.get_level_values("of") == "checkpoints"
    pd.testing.assert_frame_equal(first[~saves][said], second[~saves][said])
    # Young's interval is counted on the nodes that run to the end of the quarter
    pd.testing.assert_frame_equal(first[saves][said[:3]], second[saves][said[:3]])
    assert not np.allclose(first["seen"], second["seen"])


# ------------------------------------------------------------------------- scores


def test_time_lost_is_summed_over_all_quarters(tested: rf.backtesting.Backtest) -> None:
    rows = tested.table[tested.table["of"] == "checkpoints"]
    number, said, young, best = len(rows), 0.0, 0.0, 0.0
    for row in rows.to_dict("records"):
        said, young, best = said + row["score"], young + row["score_1"], best + row["score_2"]
    assert f"Summed over {number} quarters" in tested.sentences("decisions")[1]
    assert f"{said / young:.2f} times the time of Young's, {said / best:.2f} times" in tested.sentences("decisions")[1]
    stock = tested.table[(tested.table["of"] == "stock") & (tested.table["horizon"] == 30 * DAY)]
    later = tested.table[(tested.table["of"] == "stock") & (tested.table["horizon"] == 90 * DAY)]
    out, out_later = (int((each["seen"] > each["predicted"]).sum()) for each in (stock, later))
    text = tested.sentences("decisions")[-1]
    assert text.startswith(f"The stock of a cause ran out for 30 days in {out} of {len(stock)} cases (")
    assert f", for 90 days in {out_later} of {len(later)} cases (" in text  # horizons after the first were only in JSON
    assert text.endswith("5 % was planned.")


def test_forecasts_are_those_of_forecast(log: rf.FailureLog, tested: rf.backtesting.Backtest) -> None:
    rows = tested.table[(tested.table["of"] == "all") & (tested.table["horizon"] == 30 * DAY)]
    row = rows.iloc[2]
    ahead = rf.forecast(log.between(None, row["origin"]), "30d", level=0.9).total.iloc[0]
    assert row["predicted"] == pytest.approx(ahead["failures"], rel=1e-9)
    assert row["low"] == pytest.approx(ahead["failures_low"], abs=1.0)
    assert row["high"] == pytest.approx(ahead["failures_high"], abs=1.0)


def test_scores_by_hand(log: rf.FailureLog, tested: rf.backtesting.Backtest) -> None:
    at = starts(log)
    for row in tested.table[tested.table["of"] == "all"].to_dict("records"):
        now, wide = hours(row["origin"]), row["horizon"]
        seen = int(((at >= now) & (at < now + wide)).sum())
        assert row["seen"] == seen
        missed = max(row["low"] - seen, seen - row["high"], 0.0)
        assert row["score"] == pytest.approx(row["high"] - row["low"] + 20.0 * missed)
        for i, most in ((1, 6), (2, 3)):
            number = min(most, int(now // wide))
            counts = [((at >= now - (k + 1) * wide) & (at < now - k * wide)).sum() for k in range(number)]
            mean, variance = np.mean(counts), max(np.var(counts, ddof=1), 1.000001 * np.mean(counts))
            rival = stats.nbinom(mean**2 / (variance - mean), mean / variance)
            low, high = rival.ppf(0.05), rival.ppf(0.95)
            assert row[f"count_{i}"] == pytest.approx(mean)
            assert row[f"score_{i}"] == pytest.approx(
                high - low + 20.0 * max(low - seen, seen - high, 0.0), abs=1.0 + 20.0 * (row["seen"] > high)
            )
            k = np.arange(2000)
            crps = float(((rival.cdf(k) - (k >= seen)) ** 2).sum())
            assert row[f"crps_{i}"] == pytest.approx(crps, rel=0.03)


def test_parts_and_stock_by_hand(log: rf.FailureLog, tested: rf.backtesting.Backtest) -> None:
    at, cause = starts(log), log.events["cause"].to_numpy(object)
    rack = log.events["node"].astype(str).str[1:].astype(int).to_numpy() // 10
    for row in tested.table[tested.table["of"].isin(["cause", "rack", "stock"])].to_dict("records"):
        now = hours(row["origin"])
        mine = cause == row["name"] if row["of"] != "rack" else np.array([f"r{i}" for i in rack]) == row["name"]
        if row["name"] == "whole system":
            mine = np.zeros(at.size, bool)
        seen = int((mine & (at >= now) & (at < now + row["horizon"])).sum())
        assert row["seen"] == seen
        if row["of"] == "stock":
            assert row["name"] == "hardware"  # of software no part is taken
            assert row["score"] == float(seen > row["predicted"])


def test_jobs_by_hand(log: rf.FailureLog, tested: rf.backtesting.Backtest) -> None:
    """One node for 24 hours: every 20 minutes of the next quarter, and of the 180 days before."""
    begin, end = starts(log), ((log.events["end"] - EPOCH) / pd.Timedelta(hours=1)).to_numpy(dtype=float)
    node = log.events["node"].astype(str).str[1:].astype(int).to_numpy()

    def through(first: float, last: float) -> float:
        ran = up = 0
        t = np.arange(first, last, 1.0 / 3.0)
        for one in range(NODES):
            mine = node == one
            a, b = begin[mine], np.maximum.accumulate(end[mine])
            following = np.searchsorted(a, t, side="right")
            free = np.append(-np.inf, b)[following] <= t
            up += free.sum()
            ran += (free & (np.append(a, np.inf)[following] - t > DAY)).sum()
        return ran / up

    rows = tested.table[(tested.table["of"] == "job") & (tested.table["size"] == 1)]
    assert len(rows) == 6
    for row in rows.to_dict("records"):
        now = hours(row["origin"])
        assert row["seen"] == pytest.approx(through(now, now + 90 * DAY), abs=0.006)
        assert row["count_1"] == pytest.approx(through(max(now - 180 * DAY, 0.0), now - DAY), abs=0.006)


def test_ranking_by_hand(log: rf.FailureLog, tested: rf.backtesting.Backtest) -> None:
    at = starts(log)
    node = log.events["node"].astype(str).str[1:].astype(int).to_numpy()
    rows = tested.table[tested.table["of"].isin(["ranking", "first"])]
    assert len(rows) >= 8
    assert set(tested.table.loc[tested.table["of"] == "drain", "size"]) == {2.0}  # a twentieth of forty nodes
    for row in rows.to_dict("records"):
        now = hours(row["origin"])
        following = np.bincount(node[(at >= now) & (at < now + 30 * DAY)], minlength=NODES)
        before = np.bincount(node[(at >= now - 90 * DAY) & (at < now)], minlength=NODES)
        if row["of"] == "ranking":
            failed = following > 0
            pairs = np.sign(before[failed][:, None] - before[~failed][None, :])
            assert row["score_2"] == pytest.approx(0.5 + 0.5 * pairs.mean())
        else:  # two of forty; one fails ten times as often (an outage may hold two of the records)
            assert row["score"] >= following[3] / following.sum() - 0.05


def test_lost_time_against_a_job_followed_minute_by_minute() -> None:
    rng = np.random.default_rng(5)
    start = np.sort(rng.integers(0, 60 * 1000, 40)) / 60.0
    end = start + rng.integers(1, 400, 40) / 60.0
    save, restore, every = 0.1, 0.2, 5.0
    lost = run_of(start, end, 0.0, 1000.0).lost(np.array([every]), save, restore)[0]
    down = np.zeros(60_000, bool)
    for a, b in zip(start, end, strict=True):
        down[round(60 * a) : round(60 * b)] = True
    kept, work, wait, since = 0, 0, 0, 0
    for minute in down:
        if minute:
            work, since, wait = 0, 0, 12
        elif wait:
            wait -= 1
        elif work < 300:
            work += 1
        elif since < 5:
            since += 1
        else:
            kept, work, since = kept + 300, 0, 0
    kept += min(work, 300)
    assert lost == pytest.approx(1.0 - kept / 60_000, abs=2e-3)


def lost_by_hand(start: np.ndarray, end: np.ndarray, first: float, last: float, every: float) -> float:
    """Share of time that a job lost: it ran between the outages, and what it did not save is gone with each."""
    save = restore = 0.1
    useful, since, after = 0.0, first, False
    for a, b in sorted(zip(start, end, strict=True)):
        if a >= last or b <= first:
            continue
        if a > since:
            useful += every * np.floor((a - since - after * restore) / (every + save)) * (a - since > after * restore)
        since, after = max(since, b), True
    if last > since:
        ran = max(last - since - after * restore, 0.0)
        saved = np.floor(ran / (every + save))
        useful += every * saved + min(ran - saved * (every + save), every)
    return 1.0 - useful / (last - first)


def test_time_lost_to_intervals_is_that_of_jobs_followed_one_by_one(
    log: rf.FailureLog, tested: rf.backtesting.Backtest
) -> None:
    begin, end = starts(log), ((log.events["end"] - EPOCH) / pd.Timedelta(hours=1)).to_numpy(dtype=float)
    node = log.events["node"].astype(str).str[1:].astype(int).to_numpy()
    rows = tested.table[(tested.table["of"] == "checkpoints") & (tested.table["size"] == 1)].to_dict("records")
    assert rows
    for row in rows:
        now = hours(row["origin"])
        for column, every in (("score", "every"), ("score_1", "count_1"), ("score_2", "count_2")):
            lost = [
                lost_by_hand(begin[node == one], end[node == one], now, now + 90 * DAY, row[every])
                for one in range(NODES)
            ]
            assert row[column] == pytest.approx(np.mean(lost), abs=1e-6)


# -------------------------------------------------------------- what is said of it


@pytest.mark.slow
def test_a_steady_fleet_is_trusted(log: rf.FailureLog) -> None:
    held = []
    for seed in range(2, 6):
        result = rf.backtest(fleet(seed), parts="forecasts", by=None)
        held.append(result.of("forecasts").iloc[0]["held"])
        assert not result.refuted("forecasts")
        assert f"Over {result.months} months forecasts of 30 days were " in result.headline
    assert np.mean(held) > 0.8


def test_a_wrong_model_is_seen(log: rf.FailureLog, monkeypatch: pytest.MonkeyPatch) -> None:
    right = rf.backtest(log, parts="forecasts", by=None)
    mix = forecast_scores.mix

    def twice(*arguments: object) -> object:
        mixture = mix(*arguments)  # type: ignore[arg-type]
        return replace(mixture, mean=2.0 * mixture.mean, variance=4.0 * mixture.variance)

    monkeypatch.setattr(forecast_scores, "mix", twice)
    wrong = rf.backtest(replace(log), parts="forecasts", by=None)
    first, second = (result.of("forecasts").iloc[0] for result in (right, wrong))
    assert second["held"] < 0.3 < 0.8 <= first["held"]
    assert second["bias"] == pytest.approx(1.0, abs=0.25)
    assert "worse than counting" in wrong.headline
    assert wrong.trust == "poor"
    assert "intervals covered the outcome" in wrong.refuted("forecasts")


@pytest.mark.slow
def test_a_steady_fleet_is_rarely_called_worse_than_counting() -> None:
    """Of twelve months at one rate, counting scored as well in the mean, and yet every second log was "poor": the
    narrower intervals of counts had missed none of eight windows, which the limits took for certain.
    """
    marks, surely = [], 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        at = [np.sort(rng.uniform(0.0, 366 * DAY, rng.poisson(366 * DAY / 1500.0))) for _ in range(64)]
        rows = [{"node": f"n{i}", "start": t, "end": t + 1e-3} for i, times in enumerate(at) for t in times.tolist()]
        nodes = [{"node": f"n{i}"} for i in range(64)]
        log = make_log(sorted(rows, key=lambda row: row["start"]), nodes, window=(0, 366 * DAY))
        result = rf.backtest(log, by=None, fast=True)
        marks.append(result.trust)
        first = result.of("forecasts").iloc[0]
        name = backtest_texts.better_count(first)
        surely += first[f"{name}_low"] > 1.0 or first[f"{name}_high"] < 1.0
    assert surely <= 3  # two of twenty are to be expected of limits at 90 %
    assert marks.count("poor") <= 2


def test_limits_of_a_ratio_allow_for_the_number_of_blocks_and_for_misses_not_yet_seen() -> None:
    """Counting had intervals of 20, relfit of 25; none of 9 windows, or of 100, was missed."""
    for windows, clear in ((9, False), (20, False), (100, True)):
        result = marked(windows, 0)
        table = result.table.assign(score=25.0, score_1=20.0, score_2=21.0, width_1=20.0, width_2=21.0, high=85.0)
        line = replace(result, table=table).of("forecasts").iloc[0]
        error = 3.0 * np.log(1.25) / np.sqrt(windows)  # misses in a tenth: sqrt(0.9 / 0.1)
        far = stats.t.ppf(0.95, line["blocks"] - 1.0) * error
        assert line["against_1_low"] == pytest.approx(1.25 * np.exp(-far))
        assert line["against_1_high"] == pytest.approx(1.25 * np.exp(far))
        assert (line["against_1_low"] > 1.0) == clear


def marked(windows: int, missed: int, level: float = 0.9) -> rf.backtesting.Backtest:
    """Forecasts of 60 to 80 failures in 30 days, of which some months have 81; counting scores twice as much."""
    rows = [
        {
            **{"part": "forecasts", "of": "all", "system": "s", "name": "s", "horizon": 30 * DAY},
            **{"origin": EPOCH + pd.Timedelta(days=30 * i), "predicted": 70.0, "low": 60.0, "high": 80.0},
            **{"seen": 81.0 if i < missed else 70.0, "score": 40.0 if i < missed else 20.0},
            **{"score_1": 80.0, "score_2": 90.0, "crps": 1.0, "crps_1": 2.0, "crps_2": 2.0},
        }
        for i in range(windows)
    ]
    table = pd.DataFrame(rows).reindex(columns=list(backtest_results.COLUMNS))
    end = EPOCH + pd.Timedelta(days=30 * windows)
    return rf.backtesting.Backtest(table, level, 0.95, 30.0, EPOCH, end, (), 0)


@pytest.mark.parametrize(
    ("windows", "missed", "mark", "chance"),
    [
        (9, 0, "good", False),
        (9, 2, "fair", True),
        (9, 3, "fair", True),  # 6 or fewer of 9 at 90 % have p = 0.053
        (9, 6, "poor", False),
        (33, 8, "fair", False),  # 25 or fewer of 33 have p = 0.014
        (33, 6, "good", False),
        (60, 20, "poor", False),
        (60, 15, "fair", False),
    ],
)
def test_intervals_that_miss_by_chance_do_not_make_trust_poor(
    windows: int, missed: int, mark: str, chance: bool
) -> None:
    """6 of 9 intervals held, each missed by one failure: "poor" at 90 %, "fair" at 95 %."""
    result = marked(windows, missed)
    share = round(100 * (windows - missed) / windows)
    by_chance = ", which may be chance" if chance else ""
    said = f"Their 90 % intervals covered {share} % of outcomes{by_chance}."
    why = f"The 90 % intervals of past forecasts of 30 days covered too few outcomes: {share} %{by_chance}."
    assert result.trust == mark
    assert result.trust_reason.endswith(said) if mark == "good" else result.trust_reason == why
    assert said in result.headline
    tail = stats.binom.cdf(windows - missed, windows, 0.9)  # windows of 30 days, 30 days apart, share no hour
    assert (mark == "poor") == (tail < 0.05 and missed > 0.3 * windows)
    assert chance == (tail >= 0.05 and missed > 0.2 * windows)


@pytest.mark.parametrize(("scores", "mark"), [([20.0] * 19 + [140.0], "fair"), ([26.0, 25.0] * 10, "poor")])
def test_a_score_that_one_window_made_is_not_poor(scores: list[float], mark: str) -> None:
    """Both are 1.3 times counting: in one of twenty windows alone, or in each."""
    result = marked(20, 0)
    table = result.table.assign(score=scores, score_1=20.0, score_2=21.0)
    assert 1.25 < np.mean(scores) / 20.0 < 1.35
    assert replace(result, table=table).trust == mark


def test_the_reason_of_a_grade_is_what_lowers_it() -> None:
    """ "Trust: poor. Past forecasts were 20 % better than counting", or "covered 100 %": of which reason?"""
    narrow, good = marked(60, 20), marked(60, 4)
    assert "better" not in narrow.trust_reason
    assert good.trust_reason.startswith("Past forecasts of 30 days were 73 % better")  # 56 of 60 of 20, else 40; 80
    worse = replace(good, table=good.table.assign(score=200.0, low=0.0, high=900.0))
    assert worse.trust == "poor"
    assert worse.trust_reason.startswith("Past forecasts of 30 days were 150 % worse than counting")
    assert "covered" not in worse.trust_reason
    wide = marked(200, 0)
    assert wide.trust == "fair"
    assert wide.trust_reason.endswith("of past forecasts of 30 days covered too many outcomes: 100 %.")


def test_a_log_has_one_mark(log: rf.FailureLog, tested: rf.backtesting.Backtest) -> None:
    """The report tests jobs without models, of one size: its mark was not that of the command."""
    quick = rf.backtest(log, parts=("forecasts", "jobs"), sizes=4, every="60d", fast=True)
    assert (quick.trust, quick.trust_reason) == (tested.trust, tested.trust_reason)
    forecasts = [
        each.table[(each.table["part"] == "forecasts") & (each.table["of"] == "all")] for each in (quick, tested)
    ]
    assert forecasts[0].filter(like="crps").isna().all(axis=None)
    pd.testing.assert_frame_equal(*(part.drop(columns=["crps", "crps_1", "crps_2"]) for part in forecasts))
    jobs = quick.table["part"] == "jobs"
    off = replace(quick, table=quick.table.assign(score=quick.table["score"].where(~jobs, 0.5)))
    assert off.trust == quick.trust
    only = rf.backtest(log, parts="jobs", sizes=4, every="60d", fast=True)
    assert " past predictions of jobs of 4 nodes covered " in only.trust_reason
    other = marked(9, 0, level=0.95)
    assert other.trust == ""
    assert "No mark of trust at 95 %: it is given by 90 % intervals." in other.findings


@pytest.mark.parametrize(
    ("ratio", "low", "high", "text"),
    [
        (1.07, 0.91, 1.67, "7 % worse than counting the last months, which may be chance (67 % worse to 9 % better)"),
        (0.94, 0.83, 1.17, "6 % better than counting the last months, which may be chance (17 % worse to 17 % better)"),
        (1.004, 0.83, 1.17, "as good as counting the last months (17 % worse to 17 % better)"),
        (1.16, 1.01, 1.55, "16 % worse than counting the last months (1-55 %)"),
        (1.05, 0.995, 1.1, "5 % worse than counting the last months, which may be chance (10 % worse to 1 % better)"),
        (0.80, 0.70, 0.90, "20 % better than counting the last months (10-30 %)"),
    ],
)
def test_how_forecasts_compare_is_said_without_signs(ratio: float, low: float, high: float, text: str) -> None:
    """ "not clearly worse than counting (7 %, -9 to +67)": which direction is better was to be guessed."""
    row = {"of": "all", "score_1": 1.0, "score_2": 2.0, "against_1": ratio, "against_1_low": low, "blocks": 5.0}
    assert backtest_texts.against_counting({**row, "against_1_high": high}) == text
    text = "as far as is yet known neither better nor worse than counting the last months"
    assert backtest_texts.against_counting({**row, "against_1_high": high, "blocks": 4.9}) == text


def all_held(tested: rf.backtesting.Backtest) -> rf.backtesting.Backtest:
    """The same with intervals of jobs that contain every outcome."""
    jobs = tested.table["part"] == "jobs"
    low, high = tested.table["low"].mask(jobs, 0.0), tested.table["high"].mask(jobs, 1.0)
    return replace(tested, table=tested.table.assign(low=low, high=high))


def test_agrees_is_said_only_where_the_bias_is_small(tested: rf.backtesting.Backtest) -> None:
    tested = all_held(tested)
    (text,) = tested.sentences("jobs")
    assert "predictions agree with the log" in text
    (of_shares,) = replace(tested, fast=True).sentences("jobs")  # another predictor than the page's numbers are of
    assert "daily shares agree with the log" in of_shares
    jobs = tested.table["part"] == "jobs"
    off = tested.table.assign(predicted=np.where(jobs, tested.table["predicted"] - 0.2, tested.table["predicted"]))
    (text,) = replace(tested, table=off).sentences("jobs")
    assert "too pessimistic" in text
    assert "-19.9 points" in text or " -2" in text
    assert "agrees" not in text
    assert not tested.refuted("jobs")
    assert replace(tested, table=off).refuted("jobs")


@pytest.mark.parametrize(
    ("missed", "text"),
    [(6, ", but the intervals are too narrow."), (2, ", but few intervals covered the outcome, which may be chance.")],
)
def test_agrees_is_not_said_where_few_intervals_held(tested: rf.backtesting.Backtest, missed: int, text: str) -> None:
    table = all_held(tested).table
    jobs = table["part"] == "jobs"
    assert table["origin"][jobs].nunique() == 6
    out = jobs & table["origin"].isin(sorted(table["origin"][jobs].unique())[:missed])
    wrong = table.assign(low=table["low"].mask(out, table["seen"] + 0.01))
    (said,) = replace(tested, table=wrong).sentences("jobs")
    assert said.endswith(text)
    assert "agree" not in said


def test_drained_nodes_that_had_clearly_fewer_failures_than_predicted_are_refuted(
    tested: rf.backtesting.Backtest,
) -> None:
    """12 % was predicted, 6.4 % came, and nothing marked it."""
    drain = tested.table["of"] == "drain"
    assert drain.any()
    assert not tested.refuted("drain")
    off = replace(
        tested, table=tested.table.assign(predicted=tested.table["predicted"].where(~drain, 0.3 + tested.table["seen"]))
    )
    assert off.refuted("drain") == "bias +30 points (+30 to +30)"
    (text,) = off.refutations
    assert text.startswith(
        "The log's own past refutes the predicted share of failures on drained nodes: bias +30 points"
    )
    assert off.to_dict()["refuted"] == {"drain": off.refuted("drain")}


def test_a_refuted_loss_is_said_with_what_was_seen(tested: rf.backtesting.Backtest) -> None:
    assert not tested.refutations
    saves = (tested.table["of"] == "checkpoints").to_numpy()
    moved = {name: tested.table[name].where(~saves, tested.table[name] + 0.3) for name in ("predicted", "low", "high")}
    off = replace(tested, table=tested.table.assign(**moved))
    of_size = tested.table[saves & (tested.table["size"] == tested.table["size"][saves].min()).to_numpy()]
    (text,) = off.refutations
    assert text in off.findings
    assert text.startswith("The log's own past refutes the predicted loss of jobs with checkpoints: ")
    said, seen = 100.0 * (of_size["predicted"].mean() + 0.3), 100.0 * of_size["seen"].mean()
    assert text.endswith(f"; {said:.0f} % was predicted, {seen:.2g} % seen.")


def test_a_bias_with_an_interval_without_zero_is_called_small(tested: rf.backtesting.Backtest) -> None:
    jobs = tested.table["part"] == "jobs"
    seen = tested.table["seen"].where(~jobs, tested.table["predicted"] - 0.02)
    (text,) = replace(tested, table=all_held(tested).table.assign(seen=seen)).sentences("jobs")
    assert text.endswith("+2.0 points (+2.0 to +2.0): below the 5 points that matter.")


def test_without_forecasts_and_jobs_there_is_no_mark(tested: rf.backtesting.Backtest) -> None:
    only = replace(tested, table=tested.table[tested.table["part"] == "decisions"])
    assert only.trust == ""
    assert "No mark of trust: neither forecasts nor jobs were tested." in only.findings


def test_summary_by_hand(tested: rf.backtesting.Backtest) -> None:
    rows = tested.table[(tested.table["of"] == "all") & (tested.table["horizon"] == 30 * DAY)]
    line = tested.of("forecasts").iloc[0]
    assert line["against_1"] == pytest.approx(rows["score"].sum() / rows["score_1"].sum())
    assert line["against_1_low"] < line["against_1"] < line["against_1_high"]
    inside = (rows["seen"] >= rows["low"]) & (rows["seen"] <= rows["high"])
    assert line["held"] == pytest.approx(inside.mean())
    assert line["bias"] == pytest.approx(rows["predicted"].sum() / rows["seen"].sum() - 1.0)
    jobs = tested.table[tested.table["part"] == "jobs"]
    said, before = tested.brier()
    p, seen = jobs["predicted"], jobs["seen"]
    assert said == pytest.approx((seen * (1 - p) ** 2 + (1 - seen) * p**2).mean())
    assert 0.0 < before < 0.25
    assert tested.reliability()["number"].sum() == len(jobs)
    assert tested.to_dict()["trust"] == tested.trust


@pytest.mark.parametrize(("level", "z"), [(0.9, 1.6449), (0.5, 0.6745)])
def test_limits_of_jobs_in_bins_by_hand(tested: rf.backtesting.Backtest, level: float, z: float) -> None:
    bins = replace(tested, level=level).reliability()
    jobs = tested.table[tested.table["part"] == "jobs"].sort_values("predicted", kind="stable")
    lines = tested.of("jobs")
    independent = lines["blocks"].min() * len(lines) / len(bins)  # of the windows of a bin
    assert len(bins) > 1
    for number, line in bins.iterrows():
        mine = [i * len(bins) // len(jobs) == number for i in range(len(jobs))]
        seen = jobs["seen"].to_numpy()[mine]
        mean = seen.sum() / seen.size
        error = np.sqrt(((seen - mean) ** 2).sum() / (seen.size - 1) / max(min(independent, seen.size), 2.0))
        limits = (max(mean - z * error, 0.0), min(mean + z * error, 1.0))
        assert (line["low"], line["high"]) == pytest.approx(limits)
        assert line["low"] < line["seen"] == pytest.approx(mean)


@pytest.mark.slow
def test_several_systems(log: rf.FailureLog) -> None:
    second = fleet(9, rate=1.0 / 20.0, system="t")
    both = replace(
        log,
        events=pd.concat([log.events, second.events]).sort_values("start", ignore_index=True),
        population=pd.concat([log.population, second.population], ignore_index=True),
    )
    result = rf.backtest(both, parts="forecasts", by=None)
    frame = result.table[result.table["horizon"] == 30 * DAY]
    single = rf.backtest(log, parts="forecasts", by=None).table
    single = single[single["horizon"] == 30 * DAY]
    mine = frame[frame["system"] == "s"]
    assert mine["predicted"].to_numpy() == pytest.approx(single["predicted"].to_numpy())
    everything = frame[frame["of"] == "all"].set_index("origin")
    sums = frame[frame["of"] == "system"].groupby("origin")[["predicted", "seen"]].sum()
    assert everything["predicted"].to_numpy() == pytest.approx(sums["predicted"].to_numpy())
    assert everything["seen"].tolist() == sums["seen"].tolist()
    # hundreds of failures are all but normal: the score of such a forecast has a closed form
    spread = (everything["high"] - everything["low"]) / (2.0 * stats.norm.ppf(0.95))
    z = (everything["seen"] - everything["predicted"]) / spread
    score = spread * (z * (2.0 * stats.norm.cdf(z) - 1.0) + 2.0 * stats.norm.pdf(z) - np.pi**-0.5)
    assert everything["crps"].to_numpy() == pytest.approx(score.to_numpy(), rel=0.15)
    ratio = [
        part["score"].sum() / part["score_1"].sum() for _, part in frame[frame["of"] == "system"].groupby("system")
    ]
    assert result.of("forecasts").iloc[0]["against_1"] == pytest.approx(np.exp(np.log(ratio).mean()))
    assert set(result.by_system["system"]) == {"s", "t", "all"}
    each = rf.backtest(both, parts="jobs", sizes=4, fast=True)
    for one in (log, second):  # its jobs are those of the system by itself
        alone = rf.backtest(one, parts="jobs", sizes=4, fast=True).table
        mine = each.table[each.table["system"] == one.systems[0]]
        assert len(mine)
        for column in ("predicted", "seen"):
            assert mine[column].to_numpy() == pytest.approx(alone[column].to_numpy())


def test_a_log_without_nodes_is_tested_as_one_with_a_single_node() -> None:
    log = fleet(1, days=400)
    nobody = replace(log, events=log.events.assign(node=None), population=log.population.iloc[:0])
    alone = replace(log, events=log.events.assign(node="n00"), population=log.population.iloc[:1])
    first, second = (
        rf.backtest(one, parts="forecasts", by=None, horizons="30d", fast=True).table for one in (nobody, alone)
    )
    assert len(first) > 4
    pd.testing.assert_frame_equal(first, second)


def test_jobs_too_long_for_an_origin_leave_those_of_other_sizes() -> None:
    """At the first origin, after 160 of 400 days, no job of 160 days has ended."""
    table = rf.backtest(fleet(1, days=400), parts="jobs", sizes=(1, 4), lengths=("24h", "160d"), fast=True).table
    first = table[table["origin"] == table["origin"].min()]
    assert first[["size", "length"]].to_numpy().tolist() == [[1.0, 24.0], [4.0, 24.0]]
    assert len(table[table["length"] == 160 * DAY]) == 2 * (table["origin"].nunique() - 1)


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        ({}, {"forecasts"}),
        ({"sizes": 4}, {"forecasts", "jobs"}),
        ({"lengths": "12h"}, {"forecasts", "jobs"}),
        ({"sizes": 4, "parts": "forecasts"}, {"forecasts"}),
        ({"checkpoint": Checkpoint(save="6min", restore="6min")}, {"forecasts", "decisions"}),
        ({"parts": ("jobs", "all")}, {"forecasts", "jobs", "nodes", "decisions"}),
    ],
)
def test_parts_by_default(log: rf.FailureLog, more: dict[str, Any], parts: set[str]) -> None:
    """Forecasts alone: the others take a model of the fleet at every origin; an option of theirs asks for them."""
    assert set(rf.backtest(log, every="90d", **more).parts) == parts


def test_mistakes(log: rf.FailureLog) -> None:
    with pytest.raises(ArgumentError, match="'weather' is not known"):
        rf.backtest(log, parts="weather")
    with pytest.raises(ArgumentError, match="whole days"):
        rf.backtest(log, horizons="36h")
    with pytest.raises(ArgumentError, match="no column 'colour'"):
        rf.backtest(log, by="colour")
    with pytest.raises(ArgumentError, match="without dates"):
        rf.backtest(make_log(lifetimes=[{"node": "a", "duration": 3.0, "observed": True}]))
    with pytest.raises(ArgumentError, match="cannot be drawn"):
        rf.plot(rf.backtest(log, parts="forecasts", by=None), Figure().add_subplot(), part="jobs")


def test_progress_and_fast_jobs(log: rf.FailureLog) -> None:
    said: list[tuple[str, float]] = []
    result = rf.backtest(log, parts="jobs", sizes=4, fast=True, progress=lambda what, done: said.append((what, done)))
    assert set(result.table["part"]) == {"jobs"}
    line = result.of("jobs").iloc[0]
    assert abs(line["bias"]) < 0.04
    assert line["held"] > 0.7
    rf.backtest(replace(log), parts="forecasts", by=None, progress=lambda what, done: said.append((what, done)))
    assert said[-1] == ("forecasts", pytest.approx(0.5))


# ------------------------------------------------------------------------- figures


def test_figures_show_the_numbers_of_the_table(tested: rf.backtesting.Backtest) -> None:
    ax = rf.plot(tested, Figure().add_subplot())
    rows = tested.table[(tested.table["of"] == "all") & (tested.table["horizon"] == 30 * DAY)]
    drawn = np.concatenate([line.get_ydata() for line in ax.lines[1:]])
    assert sorted(drawn) == sorted(rows["seen"])
    ax = rf.plot(tested, Figure().add_subplot(), part="jobs")
    jobs = tested.table[tested.table["part"] == "jobs"]
    assert ax.lines[1].get_xdata().tolist() == jobs[jobs["size"] == 1]["predicted"].tolist()


def test_a_figure_of_one_system(tested: rf.backtesting.Backtest) -> None:
    ax = rf.plot(tested, system="s", ax=Figure().add_subplot())
    assert ax.lines
    with pytest.raises(ArgumentError, match="no system 't' in this backtest"):
        rf.plot(tested, system="t", ax=Figure().add_subplot())


def test_jobs_followed_have_two_thousand_nodes_together() -> None:
    log = make_log([{"node": "n1", "start": 5.0, "end": 6.0}], [{"node": f"n{i}"} for i in range(200)])
    (nodes,) = NodeOutages.of(log)
    runs = {size: len(_runs(nodes, size, 0.0, 50.0, np.arange(200))) for size in (1, 64, 150, 200)}
    assert runs == {1: 200, 64: 2048 // 64, 150: 2048 // 150, 200: 1}


def test_what_jobs_lost_lately_by_hand() -> None:
    """One node of two is down for 42 hours of every week; saves take 1 of every 3 hours, and what ran is lost."""
    starts = 168.0 * np.arange(20)
    outages = [{"node": "a", "start": at, "end": at + 42.0} for at in starts]
    log = make_log(outages, [{"node": "a"}, {"node": "b"}], window=(0, 20 * 168.0))
    (nodes,) = NodeOutages.of(log)
    low, lost, high = lost_lately(nodes, 20 * 168.0, 2, 2.0, Checkpoint(save=1.0, restore=0.0), 0.9)
    assert lost == pytest.approx(1.0 - 126.0 * (2.0 / 3.0) / 168.0)
    assert (low, high) == pytest.approx((lost, lost))
    assert np.isnan(lost_lately(nodes, 20 * 168.0, 3, 2.0, Checkpoint(save=1.0, restore=0.0), 0.9)).all()


def test_limits_of_what_jobs_lost_lately_by_hand() -> None:
    """Both nodes stand still for 42 hours of every other week; saves take 1 of every 3 hours, and what ran is lost."""
    starts = 168.0 * np.arange(0, 20, 2)
    outages = [{"node": "a", "start": at, "end": at + 42.0} for at in starts]
    log = make_log(outages, [{"node": "a"}, {"node": "b"}], window=(0, 20 * 168.0))
    (nodes,) = NodeOutages.of(log)
    limits = lost_lately(nodes, 20 * 168.0, 2, 2.0, Checkpoint(save=1.0, restore=0.0), 0.9)
    weeks = [1.0 - 126.0 * (2.0 / 3.0) / 168.0, 1.0 / 3.0] * 6
    mean, error = np.mean(weeks), np.std(weeks, ddof=1) / np.sqrt(12)
    assert limits == pytest.approx((mean - stats.t.ppf(0.95, 11) * error, mean, mean + stats.t.ppf(0.95, 11) * error))
