"""Many nodes that fail at once are an alarm: it reaches the nightly mail, the page of the day and the metrics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.cli.app import main
from relfit.fleet.surveillance import wide_incidents
from relfit.live import fleet_alarms
from relfit.live.live_records import Alarm
from relfit.live.watch_results import Round
from tests.factories import at, make_log

HOURS = 400 * 24.0
RACK = [*(f"n{i:03d}" for i in range(30, 40)), "n001", "n052"]
"""The ten nodes of rack r3, and two others."""


def rows(hit: float | None, hours: float = HOURS, seed: int = 2) -> list[dict[str, object]]:
    """A failure a day among a hundred nodes; from `hit` on twelve nodes, one a minute, by power."""
    rng = np.random.default_rng(seed)
    out = [
        {"node": f"n{rng.integers(100):03d}", "start": t, "end": t + 2.0, "cause": "disk"}
        for t in np.sort(rng.uniform(0.0, hours - 2.0, round(hours / 24.0)))
    ]
    if hit is not None:
        out += [{"node": n, "start": hit + i / 60, "end": hit + 3.0, "cause": "power"} for i, n in enumerate(RACK)]
    return sorted(out, key=lambda row: row["start"])  # type: ignore[arg-type, return-value]


def log_of(hit: float | None, hours: float = HOURS) -> rf.FailureLog:
    return make_log(rows(hit), [{"node": f"n{i:03d}", "rack": f"r{i // 10}"} for i in range(100)], window=(0.0, hours))


def test_a_burst_is_an_alarm_with_what_its_nodes_share_for_two_days() -> None:
    def standing(hours: float) -> list[str]:
        return [each.text for each in fleet_alarms(log_of(HOURS - 5.0, hours)) if each.kind == "burst"]

    text = "12 of 100 nodes of system s failed within 11 minutes, from 2002-02-04 19:00: 10 in rack r3, 12 by power."
    assert standing(HOURS) == standing(HOURS + 40.0) == [text]
    assert standing(HOURS + 50.0) == []


def test_a_busy_week_is_no_burst() -> None:
    """Forty times as many failures as before for a week: ten soon after each other are no wonder then."""
    rng = np.random.default_rng(4)
    busy = [{"node": f"n{rng.integers(100):03d}", "start": HOURS - t, "end": HOURS} for t in rng.uniform(1, 167, 280)]
    every = sorted([*rows(None), *busy], key=lambda row: row["start"])  # type: ignore[arg-type, return-value]
    log = make_log(every, [{"node": f"n{i:03d}"} for i in range(100)], window=(0.0, HOURS))
    assert not [each for each in wide_incidents(log) if log.window.end - each.start < pd.Timedelta("4d")]


@pytest.mark.parametrize(("minutes", "told"), [(50, 0), (1, 1)])
def test_a_quarter_of_a_small_system_is_a_burst_if_chance_does_not_explain_it(minutes: int, told: int) -> None:
    """Sixteen nodes, a failure every 8.8 hours: four within 2.5 hours come 0.7 times a year, in 3 minutes never."""
    some = [{"node": f"n{i % 16}", "start": 8.766 * i + 1.0, "end": 8.766 * i + 2.0} for i in range(600)]
    four = [{"node": f"n{i}", "start": 5262.0 + i * minutes / 60, "end": 5266.0} for i in range(2, 6)]
    log = make_log([*some, *four], [{"node": f"n{i}"} for i in range(16)], window=(0.0, 5300.0))
    assert len(list(wide_incidents(log))) == told


def test_a_first_round_marks_as_many_alarms_as_it_counts() -> None:
    """It said "2 alarms, 2 of them new", and NEW before one."""
    old, late = (Alarm("rate", f"rack r{day}", at(day * 24.0), at(day * 24.0 + 1.0), "", "") for day in (1, 99))
    sources = pd.DataFrame({"source": ["a"], "new": [7], "failure": [""], "notes": [()]})
    keys = (old.key, late.key)
    result = Round("", at(2400.0), 7, 7, 0, sources, True, (old, late), keys, (), pd.DataFrame(), (), (), (), ())
    assert result.headline.endswith("2 alarms, 2 of them new")
    assert result.findings[1:] == ("NEW rate, since 2001-01-02:", "NEW rate:")
    later = Round("", at(2400.0), 9, 1, 0, sources, True, (old, late), (late.key,), (), pd.DataFrame(), (), (), (), ())
    assert later.findings[1:] == ("NEW rate:", "rate:")  # the mail begins with what is new


def test_a_burst_reaches_the_mail_the_page_and_the_metrics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    begin = pd.Timestamp("2024-01-01")

    def write(hit: float | None, hours: float) -> None:
        table = pd.DataFrame([row for row in rows(hit) if row["start"] < hours])  # type: ignore[operator]
        for name in ("start", "end"):
            table[name] = [f"{begin + pd.Timedelta(hours=value):%Y-%m-%d %H:%M:%S}" for value in table[name]]
        table.to_csv("log.csv", index=False)

    pd.DataFrame({"node": [f"n{i:03d}" for i in range(100)], "rack": [f"r{i // 10}" for i in range(100)]}).to_csv(
        "nodes.csv", index=False
    )
    Path("watch.toml").write_text(
        'store = "f.duckdb"\n[[sources]]\nkind = "file"\npath = "log.csv"\npopulation = "nodes.csv"\n'
        '[outputs]\npage = "today.html"\nmetrics = "relfit.prom"\n'
    )
    night = [f"{begin + pd.Timedelta(hours=hours):%Y-%m-%d %H:%M}" for hours in (HOURS - 24.0, HOURS)]
    write(None, HOURS - 24.0)
    main(["watch", "run", "watch.toml", "--now", night[0]])
    capsys.readouterr()
    write(HOURS - 5.0, HOURS)
    assert main(["watch", "run", "watch.toml", "--now", night[1], "--quiet"]) == 3
    told = " ".join(capsys.readouterr().out.split())
    assert "NEW burst: 12 of 100 nodes of the system failed within 11 minutes, from 2025-02-03 19:00: " in told
    assert "10 in rack r3, 12 by power." in told
    assert "12 of 100 nodes of the system failed within 11 minutes" in Path("today.html").read_text()
    assert 'relfit_alarms{kind="burst"} 1.0' in Path("relfit.prom").read_text()
    main(["watch", "run", "watch.toml", "--now", night[1], "--quiet"])
    assert capsys.readouterr().out == ""
