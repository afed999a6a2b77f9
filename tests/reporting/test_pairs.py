"""Numbers that stand on one page divide: what is said twice, or follows from two others, is the same number."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pandas as pd
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

    week = numbers(r"the (?:machine|node) has N incidents a week \(N-N on average over 90 days\)", page)
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
    advice = numbers(
        r"(?:job|node) every H if checkpoint and restore take 5 minutes each: failures cost N % of its time", page
    )
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
        assert repairs_ahead[0] / failures[0] == pytest.approx(repairs_ahead[3] / failures[3], rel=0.1)  # each its own
        done.append("mean repair ahead")
        now = numbers(r"one is expected to last H", page) or mean
        assert now is not None
        assert repairs_ahead[3] / failures[3] == pytest.approx(now[0], rel=0.09)  # of records, and of outages of nodes
        done.append("mean repair ahead and now")
    each = numbers(r"Records: N per incident in 90 days", page)
    if each and week and failures:
        agree("records for each incident", failures[3] / (week[0] * 90.0 / 7.0), each[0])
    back = numbers(r"back in H", page)
    spared = numbers(r"failures cost N % of its time, N % where spares", page)
    if back and spared and one:
        # what is kept with and without spares differs by the wait for a repair
        wait = one[0] * ((100.0 - spared[1]) / (100.0 - spared[0]) - 1.0)
        assert 0.6 < wait / back[0] < 1.6, (wait, back[0])
        done.append("wait for a repair, with and without spares")
    change = numbers(r"; N since [A-Z][a-z]+ \d{4}, N (?:in the [\d.]+ [a-z]+ )?before", page)
    steps = numbers(r"before that the rate was N times that", page)
    if change and steps:
        assert change[1] / change[0] == pytest.approx(steps[0], rel=0.04)  # two digits; joined period by period
        done.append("change of the rate")
    rows = numbers(r"N rows were rejected", page)
    if rows:
        done.append("rejected rows")
    return done + incidents(page) + medians(page) + ended(page)


def incidents(page: str) -> list[str]:
    """How many, in which time, of what: one of these follows from the others."""
    done, spans = [], {"days": 24.0, "years": 8766.0}
    said = re.search(
        rf"An incident every {NUMBER} (\w+?)s?: {NUMBER} incidents in {NUMBER} (\w+)((?:, {NUMBER} of \w+)+)", page
    )
    if said:
        every, unit, total, span, of, scopes = said.groups()[:6]
        number = float(total.replace(",", ""))
        assert float(span) * spans[of] / number == pytest.approx(float(every) * HOURS[unit], rel=0.02)
        assert sum(float(part.replace(",", "")) for part in re.findall(rf"{NUMBER} of", scopes)) == number
        done += ["time, incidents and the time between them", "incidents by scope"]
    few = numbers(r"N incidents of the (?:machine|node) in N days, one every H", page)
    if few:
        assert few[1] * 24.0 / few[0] == pytest.approx(few[2], rel=0.02)
        done.append("few incidents and the time between them")
    return done


def medians(page: str) -> list[str]:
    """The median of a sentence is that of the table below it, where that has one row."""
    said = numbers(r"half are over in H", page)
    row = rf"{NUMBER} {NUMBER} {NUMBER} to {NUMBER} {NUMBER} \D"
    table = re.search(rf"Times to repair by system, as observed \(hours\) .*? median \S+ {row}", page)
    if said is None or table is None:
        return []
    assert said[0] == pytest.approx(float(table[5].replace(",", "")), rel=0.01)
    return ["median repair"]


def ended(page: str) -> list[str]:
    """Lifetimes: how many ended in which time of service, and the shares that are left."""
    total = numbers(r"N of N GPUs ended in N GPU-years", page)
    rate = numbers(r"Ended per year of service N %", page)
    left, gone = numbers(r"In service after 1 year N %", page), numbers(r"N % end in their first year", page)
    if total is None or rate is None or left is None or gone is None:
        return []
    assert 100.0 * total[0] / total[2] == pytest.approx(rate[0], rel=0.01)
    assert 100.0 - left[0] == pytest.approx(gone[0], abs=0.006)
    return ["ended per year of service", "first year"]


def test_the_sample(white_report: Path) -> None:
    assert len(check(words_of(white_report))) >= 9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "least"),
    [
        ("2", 5),
        ("20", 5),
        *(
            pytest.param(*one, marks=pytest.mark.verify)
            for one in (("grid5000", 5), ("16", 5), ("lanl", 2), ("titan", 2))
        ),
    ],
    ids=str,
)
@pytest.mark.long
def test_logs_of_sites(which: str, least: int, site_report: Callable[[str], tuple[rf.FailureLog, Path]]) -> None:
    assert len(check(words_of(site_report(which)[1]))) >= least


@pytest.mark.parametrize("nodes", ["abacba", "aaaaaa"])
@pytest.mark.slow
def test_six_rows(nodes: str, tmp_path: Path) -> None:
    """Repairs of 1, 1.5, 2, 4.5, 5 and 24 hours: half are over in 2 hours."""
    starts = [f"2024-0{month}-{day:02d} 10:00" for month, day in ((1, 3), (1, 20), (2, 11), (3, 5), (4, 2), (4, 28))]
    hours = [2.0, 4.5, 5.0, 1.0, 24.0, 1.5]
    rows = [
        f"{node},{start},{pd.Timestamp(start) + pd.Timedelta(hours=lasted)}"
        for node, start, lasted in zip(nodes, starts, hours, strict=True)
    ]
    Path(tmp_path, "log.csv").write_text("\n".join(["node,start,end", *rows]))
    page = words_of(rf.report(rf.read(tmp_path / "log.csv"), tmp_path / "report.html"))
    assert {"median repair", "few incidents and the time between them"} <= set(check(page))
    assert "half are over in 2 hours" in page


def test_a_pair_that_contradicts_is_seen() -> None:
    page = (
        "the machine has 39 incidents a week (34.8-43.5 on average over 90 days). Time between incidents, now 5.2 hours"
    )
    with pytest.raises(AssertionError):
        check(page)


def test_other_pairs_that_contradict_are_seen() -> None:
    table = "Times to repair by system, as observed (hours) repairs mean 95 % interval median s 6 6.33 1.67 to 24"
    for page in (
        "An incident every 19.3 days: 6 incidents in 116 days, 5 of nodes. x",
        "An incident every 23 days: 6 incidents in 116 days, 6 of nodes. x",
        f"half are over in 3.25 hours {table} 2 Data",
        "509 of 900 GPUs ended in 10,000 GPU-years. 0.14 % end in their first year In service after 1 year 99.86 % "
        "Ended per year of service 5.9 %",
    ):
        with pytest.raises(AssertionError):
            check(page)
