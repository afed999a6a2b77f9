"""The report of lifetimes without repair, as of GPUs or disks: survival, and risk by age."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from relfit import plotting
from relfit.base.arrays import FloatArray
from relfit.base.numeric.poisson import poisson_interval
from relfit.base.text import count, duration, interval_ends, number, percent
from relfit.base.units import HOURS_PER_YEAR
from relfit.fitting.nonparametric import kaplan_meier
from relfit.io.unit_lives import FROM_BIRTH
from relfit.log.failurelog import FailureLog
from relfit.log.lifedata import LifeData
from relfit.reporting.checked_fits import CheckedFits
from relfit.reporting.components import Card, Figure, FirstScreen, Point, Section, Table, heads, interval_head
from relfit.reporting.detail_sections import fit_table
from relfit.reporting.first_screen import many_rejected
from relfit.reporting.report_data import ReportData

_NOUNS = {"titan": "GPU"}
_YEARS = (1.0, 3.0, 5.0)
_FEWEST_AT_RISK = 10
_LARGEST_GROUPS = 12


def noun(log: FailureLog) -> str:
    """The noun of a lifetime's unit: a GPU where the source says so, else a unit."""
    return _NOUNS.get(log.source.format, "unit")


def lifetime_summary(m: ReportData) -> FirstScreen:
    """The first screen of lifetimes: shares in service at some ages."""
    what, lives = noun(m.log), m.part.ttf("node").pooled()
    ended, years = int(lives.n_failures.sum()), float(lives.total_time.sum()) / HOURS_PER_YEAR
    total = lives.durations.size
    if not ended:
        least = -np.log1p(-m.level) / years if years else np.inf
        text = (
            f"None of {count(total, what)} ended in {number(years)} {what}-years; with {100 * m.level:g} % confidence "
            f"fewer than {percent(least)} end in a year."
        )
        return FirstScreen(text, (), (), (), tuple(_limits(m, lives, "")))
    curve = kaplan_meier(lives, level=m.level)
    ages = _ages(lives)
    text = f"{ended:,} of {count(total, what)} ended in {number(years)} {what}-years of service."
    yearly = _by_age(lives)
    early, late = _first_and_last(yearly)
    if len(yearly) > 1:
        first, last = yearly.iloc[0], yearly.iloc[-1]
        text += (
            f" {percent(first['share'])} end in their {early} year; of those that reach their "
            f"{late}, {percent(last['share'])} end in it."
        )
    cards = []
    for age in ages:
        alive = curve.interval([age]).to_frame().iloc[0]
        digits = 2 if alive["estimate"] > 0.99 else 1  # close to 1 the second digit matters
        share, least, most = (percent(alive[name], digits) for name in ("estimate", "low", "high"))
        within = f"{100 * m.level:g} % interval {interval_ends(least, most)}"
        cards.append(Card(f"In service after {_age(age)}", share, within))
    low, high = (float(limit[0]) / years for limit in poisson_interval(np.array([ended]), m.level))
    within = f"{100 * m.level:g} % interval {interval_ends(percent(low, 2), percent(high, 2))}"
    detail = f"{within} · {ended:,} in {number(years)} {what}-years"
    cards.append(Card("Ended per year of service", percent(ended / years, 2), detail))
    title = f"{what}s still in service, by age in years (Kaplan-Meier)"
    picture = Figure("survival", title, partial(plotting.step_curves, curve), wide=True)
    advice = []
    if len(yearly) > 1 and yearly["low"].iloc[-1] > yearly["high"].iloc[0]:
        times = yearly["share"].iloc[-1] / max(yearly["share"].iloc[0], 1e-9)
        last_year = f"a {what} in its {late} year ends {number(times, 2)} times as often as in its {early}"
        advice.append(Point(f"Plan spares by age: {last_year}.", "age", "by age"))
    groups = _places(m)
    if groups is not None and len(groups) > 1 and groups["low"].iloc[0] > groups["high"].iloc[-1]:
        name, worst, best = groups.columns[0], groups.iloc[0], groups.iloc[-1]
        rates = f"{percent(worst['rate'])} end per year, in {name} {best[name]} {percent(best['rate'])}"
        advice.append(Point(f"Look at {name} {worst[name]}: {rates}.", "places", "all"))
    return FirstScreen(text, tuple(cards[:4]), (picture,), tuple(advice), tuple(_limits(m, lives, what)))


def _limits(m: ReportData, lives: LifeData, what: str) -> list[Point]:
    points = []
    if what:
        longest, youngest = float(lives.durations.max()), float(_entries(lives).min())
        points.append(Point(f"Nothing is known beyond {duration(longest)}, the longest time seen."))
        if youngest:
            text = f"No {what} was observed before the age of {_age(youngest)}: shares are of those that reach it."
            points.append(Point(text))
        points += [Point(f"{FROM_BIRTH[:1].upper()}{FROM_BIRTH[1:]}.")] if FROM_BIRTH in m.log.source.notes else []
    text = "Not every lifetime that ended is a failure: the log's own rule says which count."
    return [*points, *many_rejected(m), Point(text, "data", "source")]


def sections(m: ReportData) -> list[Section | str]:
    """Sections on risk by age, distributions and places, and what does not apply."""
    what, lives = noun(m.log), m.part.ttf("node").pooled()
    parts: list[Section | str] = []
    if lives.n_failures.sum():
        yearly = _by_age(lives)
        if len(yearly) > 1:
            rises = yearly["low"].iloc[-1] > yearly["high"].iloc[0]
            falls = yearly["high"].iloc[-1] < yearly["low"].iloc[0]
            first, last = _first_and_last(yearly)
            verdict = (
                f"The risk of a {what} is {'higher' if rises else 'lower'} in its {last} year than in its {first}."
                if rises or falls
                else f"No change of the risk of a {what} is found between its {first} and its {last} year."
            )
            columns = "year: year of age; began: began it; ended; share: share that ends; limits: "
            table = Table(
                "risk-by-age",
                "Ended by year of age",
                yearly,
                heads(columns + interval_head(0.95)),
                percent=frozenset({"share", "limits"}),
                note="Units observed for part of a year count for that part.",
            )
            parts.append(Section("age", "Does the risk change with age?", verdict, tables=(table,)))
        places = _places(m)
        if places is not None:
            name = str(places.columns[0])
            differ = places["low"].iloc[0] > places["high"].iloc[-1]
            verdict = (
                f"They differ: per year {percent(places['rate'].iloc[0])} end in {name} {places[name].iloc[0]}, "
                f"{percent(places['rate'].iloc[-1])} in {name} {places[name].iloc[-1]}."
                if differ
                else f"No {name} differs clearly from the others."
            )
            table = Table(
                "places",
                f"Ended per year of service, by {name}",
                places,
                {name: name, **heads(f"lives: {what}s; ended; rate: per year; limits: {interval_head(0.95)}")},
                percent=frozenset({"rate", "limits"}),
            )
            parts.append(Section("places", f"Do {what}s differ by {name}?", verdict, tables=(table,)))
        tested = CheckedFits.of(lives, m.families, m.level)
        figure = Figure("times", "Share of lifetimes ended by age", partial(plotting.distributions, tested.fits))
        table = fit_table("fits", "Distributions fitted to the lifetimes", tested)
        title = "Which distribution describes the lifetimes"
        parts.append(Section("families", title, tested.headline, (), (figure,), (table,)))
    parts.append("repairs, availability, jobs, periods, dependence (nothing here is repaired)")
    return parts


def _entries(lives: LifeData) -> FloatArray:
    """The ages from which lives were observed, hours."""
    return np.zeros(lives.durations.size) if lives.entry is None else lives.entry


def _at_risk(lives: LifeData, age: float) -> int:
    """How many were observed at an age and lived on."""
    return int(((lives.durations > age) & (_entries(lives) <= age)).sum())


def _ages(lives: LifeData) -> list[float]:
    """Ages of the cards: 1, 3 and 5 years where enough are observed then, else parts of the longest."""
    ages = [HOURS_PER_YEAR * year for year in _YEARS if _at_risk(lives, HOURS_PER_YEAR * year) >= _FEWEST_AT_RISK]
    return ages or [float(f"{share * lives.durations.max():.1g}") for share in (0.1, 0.3, 0.9)]


def _by_age(lives: LifeData) -> pd.DataFrame:
    """Share that ends within each year of age that enough begin (Kaplan-Meier), with Poisson limits of its ends."""
    rows: list[list[float]] = []
    steps = kaplan_meier(lives)
    for year in range(100):
        start, end = HOURS_PER_YEAR * year, HOURS_PER_YEAR * (year + 1)
        began = _at_risk(lives, start)
        until, since = (np.clip(ages - start, 0.0, end - start) for ages in (lives.durations, _entries(lives)))
        time = float((until - since).sum()) / HOURS_PER_YEAR
        if began < _FEWEST_AT_RISK or time < 0.25 * began:
            if rows:
                break
            continue
        within = (steps.times > start) & (steps.times <= end) & (steps.events > 0)
        events, at_risk = steps.events[within], steps.at_risk[within]
        ended, hazard = int(events.sum()), float((events / at_risk).sum())
        # the number of ends with equally many at risk that says as much about the hazard
        informing = hazard**2 / float((events / at_risk**2).sum()) if ended else 0.0
        per_end = hazard / informing if ended else 1.0 / time
        limits = (float(-np.expm1(-limit[0] * per_end)) for limit in poisson_interval([informing], 0.95))
        rows.append([year + 1, began, ended, 1.0 - float(np.prod(1.0 - events / at_risk)), *limits])
    return pd.DataFrame(rows, columns=["year", "began", "ended", "share", "low", "high"])


def _first_and_last(yearly: pd.DataFrame) -> tuple[str, str]:
    """The first and the last year of age of a table, in words."""
    first, last = (yearly["year"].iloc[at] if len(yearly) else 1 for at in (0, -1))
    return _ordinal(int(first)), _ordinal(int(last))


def _places(m: ReportData) -> pd.DataFrame | None:
    """Ended per year of service by the attribute whose groups differ most; None where there is none to compare."""
    lives = m.part.lifetimes
    best: tuple[float, pd.DataFrame] | None = None
    for name in m.part.attributes:
        if lives is None or name not in lives or not 2 <= lives[name].nunique() <= _LARGEST_GROUPS:
            continue
        grouped = lives.groupby(lives[name].astype(str), observed=True)
        hours = lives["duration"] - lives.get("entry", 0.0)
        at_risk = hours.groupby(lives[name].astype(str), observed=True).sum()
        ended, years = grouped["observed"].sum().astype(int), at_risk / HOURS_PER_YEAR
        if ended.sum() < _FEWEST_AT_RISK or years.min() <= 0.0:
            continue
        low, high = poisson_interval(ended.to_numpy(), 0.95)
        table = pd.DataFrame(
            {"lives": grouped.size(), "ended": ended, "rate": ended / years, "low": low / years, "high": high / years}
        )
        expected = ended.sum() * years / years.sum()
        differs = float(((ended - expected) ** 2 / expected).sum()) / (len(table) - 1)
        if best is None or differs > best[0]:
            best = differs, table.rename_axis(name).sort_values("rate", ascending=False).reset_index()
    return None if best is None else best[1]


def _age(hours: float) -> str:
    years = hours / HOURS_PER_YEAR
    return count(round(years), "year") if abs(years - round(years)) < 1e-6 else duration(hours)


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth"}.get(number, f"{number}th")
