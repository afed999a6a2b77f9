"""Numbers that stand on one page divide: what is said twice, or follows from two others, is the same number."""

from __future__ import annotations

import math
import os
import re
from html import unescape
from pathlib import Path

import pytest

import relfit as rf

NUMBER = r"([\d,]+(?:\.\d+)?)"
HOURS = {"second": 1 / 3600, "minute": 1 / 60, "hour": 1.0, "day": 24.0, "year": 8766.0}


def words_of(path: Path) -> str:
    """The page as it is read, without scripts, styles and drawings."""
    text = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", text)).replace("\N{NO-BREAK SPACE}", " "))


def numbers(pattern: str, page: str) -> list[float] | None:
    """The numbers of a sentence; `N` stands for one, `H` for a duration in any unit."""
    stands = {"N": NUMBER, "H": NUMBER + " (second|minute|hour|day|year)s?"}
    full = re.sub(r"\b[NH]\b", lambda letter: stands[letter.group()], pattern)
    said = re.search(full, page)
    if said is None:
        return None
    values: list[float] = []
    for group in said.groups():
        if group in HOURS:
            values[-1] *= HOURS[group]
        else:
            values.append(float(group.replace(",", "")))
    return values


def rounded(value: float) -> float:
    """Half of the last of three digits, relative; two numbers may differ by one of each."""
    return 0.011 if value < 1e3 else 0.006


def check(page: str) -> list[str]:
    """The pairs that were found, each of which has been divided."""
    done = []

    def agree(name: str, first: float, second: float) -> None:
        assert first == pytest.approx(second, rel=rounded(first)), (name, first, second)
        done.append(name)

    week = numbers(r"the (?:machine|node) has N incidents a week \(N-N\)", page)
    between = numbers(r"Time between incidents, now H", page)
    if week and between:
        agree("incidents a week, hours between", 168.0 / week[0], between[0])
    every = numbers(r"An incident every H: N incidents in H", page)
    if every:
        agree("incidents in a time, hours between", every[2] / every[1], every[0])
    since = numbers(r"; N since ", page)
    if since and every:
        agree("a week in the period, hours between", 168.0 / since[0], every[0])
    scopes = re.search(rf"{NUMBER} incidents in [\d,.]+ \w+, ((?:[\d,]+ of \w+(?:, |\.))+)", page)
    if scopes:
        parts = sum(float(n.replace(",", "")) for n in re.findall(r"([\d,]+) of ", scopes[2]))
        agree("incidents by scope", parts, float(scopes[1].replace(",", "")))
    tile = numbers(r"N nodes for 24 h, uninterrupted N %", page)
    panel = numbers(r"N % of such jobs meet no failure", page)
    if tile and panel:
        agree("job on the first screen and in the panel", tile[1], panel[0])
    evenly = numbers(r"meet no failure \(N % if failures came evenly\)", page)
    one = numbers(r"One comes every H on average", page)
    if panel and one:
        share = 100.0 * math.exp(-24.0 / one[0])
        implied, near = (evenly[0], 0.6) if evenly else (panel[0], 2.6)
        assert implied == pytest.approx(share, abs=near)
        done.append("job in the panel, hours between its failures")
    advice = numbers(r"(?:job|node) every H if a checkpoint takes 5 minutes: N % of its time is lost", page)
    plan = numbers(r"Checkpoint every H: N % of the time is lost", page)
    if advice and plan:
        agree("advice and panel: hours", advice[0], plan[0])
        agree("advice and panel: loss", advice[1], plan[1])
    lost = r"Availability of a node, last 90 days N %.*?whole system .N points, [a-z ,]+? .N points"
    up = numbers(lost, page)
    if up:
        agree("availability and what is lost", up[0] + sum(up[1:]), 100.0)
    lately = numbers(r"In the last 90 days nodes were up N % of the time", page)
    if up and lately:
        agree("availability on the first screen and in its section", lately[0], up[0])
    repairs = re.search(
        r"Times to repair by cause, as observed \(hours\) .*? median (.*?) (?:For the statistician|Times between)", page
    )
    mean = numbers(r"An outage of a node lasts H on average", page)
    if mean and repairs and "rows; the CSV" not in repairs[1]:
        found = re.findall(rf"[a-z] {NUMBER} {NUMBER} (?:{NUMBER} to {NUMBER}|\u2013) {NUMBER}", repairs[1])
        rows = [[float(value.replace(",", "")) for value in row[:2]] for row in found]
        total = sum(number for number, _ in rows)
        agree("mean of all repairs and by cause", sum(number * hours for number, hours in rows) / total, mean[0])
    said = numbers(r"N % \(N to N %\) of jobs on \d+ nodes? run for 24 hours", page)
    if tile and said:
        agree("job on the first screen and in its section", tile[1], said[0])
    month = numbers(r"Expect N failures \(N-N\) in 30 days, N failures \(N-N\) in 90 days", page)
    if month:
        assert 2.0 < month[3] / month[0] < 4.5
        done.append("30 and 90 days")
    failures = numbers(r"all failures N \(N-N\) N \(N-N\)", page)
    repairs_ahead = numbers(r"hours of repair N \(N-N\) N \(N-N\)", page)
    if failures and repairs_ahead:
        agree("mean repair ahead", repairs_ahead[0] / failures[0], repairs_ahead[3] / failures[3])
        now = numbers(r"one is expected to last H", page) or mean
        assert now is not None
        assert repairs_ahead[3] / failures[3] == pytest.approx(now[0], rel=0.09)  # of records, and of outages of nodes
        done.append("mean repair ahead and now")
    each = numbers(r"Failures are counted by record: N per incident", page)
    if each and week and failures:
        agree("records for each incident", failures[3] / (week[0] * 90.0 / 7.0), each[0])
    back = numbers(r"back in H", page)
    spared = numbers(r"N % of its time is lost, N % with spares", page)
    if back and spared and one:
        # what is kept with and without spares differs by the wait for a repair
        wait = one[0] * ((100.0 - spared[1]) / (100.0 - spared[0]) - 1.0)
        assert 0.6 < wait / back[0] < 1.6, (wait, back[0])
        done.append("wait for a repair, with and without spares")
    change = numbers(r"; N since [A-Z][a-z]+ \d{4}, N before", page)
    steps = numbers(r"before that the rate was N times that", page)
    if change and steps:
        assert change[1] / change[0] == pytest.approx(steps[0], rel=0.04)  # two digits; joined period by period
        done.append("change of the rate")
    rows = numbers(r"N rows were rejected", page)
    if rows:
        done.append("rejected rows")
    return done


def test_the_sample(white_report: Path) -> None:
    assert len(check(words_of(white_report))) >= 9


@pytest.mark.slow
@pytest.mark.skipif("RELFIT_SHARED" not in os.environ, reason="the logs are not bundled")
@pytest.mark.parametrize("which", ["2", "16", "20", "grid5000"])
def test_logs_of_sites(which: str, tmp_path: Path) -> None:
    data = Path(os.environ["RELFIT_SHARED"], "data")
    if which == "grid5000":
        log = rf.read(data / "grid5000-fta")
    else:
        log = rf.read(data / "lanl-failures-1996-2005.csv.xz").where(system=which)
    assert len(check(words_of(rf.report(log, tmp_path / "report.html")))) >= 3


def test_a_pair_that_contradicts_is_seen() -> None:
    page = "the machine has 39 incidents a week (34.8-43.5). Time between incidents, now 5.2 hours"
    with pytest.raises(AssertionError):
        check(page)
