"""Do nodes fail together, and at certain hours? Orange: independent failures; blue: what was observed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from relfit.analyses.independence import Cofailures, Cycles
from relfit.base.errors import ArgumentError
from relfit.base.numeric.poisson import poisson_ppf
from relfit.base.text import duration, number, p_value, percent
from relfit.plotting import style
from relfit.plotting._registry import plot
from relfit.plotting.event_figures import even_bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED_PLACES = 4


@plot.register(Cofailures)
def failing_together(result: Cofailures | Sequence[Cofailures], ax: Axes | None = None) -> Axes:
    """Failures of two nodes together as a multiple of chance, by scope, and the worst places.

    Parameters
    ----------
    result : Cofailures, or a sequence of them
        Such as those per system and per rack.
    """
    ax = style.axes(ax)
    scopes = [part for part in (result if isinstance(result, Sequence) else [result]) if part.expected > 0.0]
    if not scopes:
        return style.empty(ax, "No two nodes of one place failed, so failing together cannot be judged")
    rows: list[tuple[str, int, float, float]] = [
        (f"all of one {style.plain(part.per, 18)}", part.together, part.expected, part.expected_shuffled)
        for part in scopes
    ]
    last = scopes[-1]
    table = last.table[last.table["expected"] > 0.0]
    if len(table) > 1:
        worst = table.sort_values(["p", "ratio"], ascending=[True, False], kind="stable").head(_NAMED_PLACES)
        worst = worst[worst["together"] > 0]
        rows += [
            (
                f"{style.plain(last.per, 10)} {style.plain(label, 12)}",
                int(row["together"]),
                float(row["expected"]),
                float(row.get("expected_shuffled", np.nan)),
            )
            for label, row in worst.iterrows()
        ]
    place = np.arange(len(rows))[::-1].astype(float)
    together, expected, shuffled = (np.array([row[i] for row in rows], dtype=float) for i in (1, 2, 3))
    low, high = poisson_ppf(0.025, expected) / expected, poisson_ppf(0.975, expected) / expected
    ratio = together / expected
    ends = np.concatenate([ratio[ratio > 0.0] / 1.5, low[low > 0.0] / 1.2, [0.5]])
    floor = max(float(ends.min()), 0.05)
    ax.set_xscale("log")
    low = np.maximum(low, floor)
    ax.barh(place, high - low, 0.62, left=low, color=style.ORANGE, alpha=0.35, linewidth=0, label="95 % by chance")
    ax.axvline(1.0, color=style.ORANGE, linewidth=1.4)
    if np.isfinite(shuffled).any():
        ax.plot(shuffled / expected, place, "|", color=style.INK, ms=12, mew=1.6, label="mean of random logs")
    ax.hlines(place, 1.0, np.maximum(ratio, floor), color=style.BLUE, linewidth=1.4)
    ax.plot(np.maximum(ratio, floor), place, "o", color=style.BLUE, ms=6, label="observed")
    top = max(float(ratio.max()), float(high.max()), 2.0)
    said = [f" {_short(float(count))} for {_short(chance)}" for _, count, chance, _ in rows]
    for y, text, at in zip(place, said, np.maximum(ratio, high), strict=True):
        ax.annotate(text, (at, y), (4, 0), textcoords="offset points", va="center", color=style.INK)
    ax.set_xlim(floor / 1.1, top * (top / floor) ** (0.9 * max(1.0, max(map(len, said)) / 16.0)))
    style.decades(ax.xaxis, floor / 1.1, top * 1.3)
    ax.set_yticks(place, [row[0] for row in rows])
    ax.grid(visible=False, axis="y")
    ax.set_ylim(-0.7, len(rows) - 0.3)
    first = max(range(len(scopes)), key=lambda i: ratio[i])
    verb = "fail together" if ratio[first] >= 1.05 else "do not fail together"
    message = f"Nodes of one {style.plain(scopes[first].per)} {verb}: {number(float(ratio[first]))} times as often"
    message += f" as independent ones within {duration(scopes[first].window)}"
    return style.finish(ax, message, "pairs of failures, times those by chance", "", below=2)


def _short(value: float) -> str:
    """A number of pairs; of millions only these."""
    if value >= 1e6:
        return f"{number(value / 1e6)} M"
    return f"{value:,.0f}" if value == round(value) else number(value)


@plot.register(Cycles)
def clock_cycle(result: Cycles, ax: Axes | None = None, *, cycle: str = "day") -> Axes:
    """Failures by hour of the day or day of the week; the title has a test that is robust to bursts.

    Parameters
    ----------
    cycle : {"day", "week"}

    Raises
    ------
    ArgumentError
        For another cycle.
    """
    from relfit.analyses.independence._cycles import WEEKDAYS

    if cycle not in result.names:
        raise ArgumentError(f"no cycle {cycle!r}", remedy=f"use {' or '.join(result.names)}")
    ax = style.axes(ax, (6.4, 3.4))
    i = result.names.index(cycle)
    counts = result.counts[i]
    if not counts.sum():
        return style.empty(ax, f"No failure within whole {cycle}s, so there is no {cycle}ly cycle to show")
    place = np.arange(counts.size) + 0.5
    even_bars(ax, place, counts, np.full(counts.size, counts.sum() / counts.size))
    word = {"day": "daily", "week": "weekly"}[cycle]
    if result.status[i] != "ok":
        message = f"Too few {cycle}s had a failure to judge a {word} cycle"
    elif result.significant[i]:
        swing = percent(2 * result.strength[i])
        message = f"A {word} cycle ({p_value(float(result.p_adjusted[i]))}): the rate swings by {swing}"
    else:
        message = f"No {word} cycle shows ({p_value(float(result.p_adjusted[i]))})"
    if cycle == "day":
        ax.set_xlim(0, 24)
        ax.set_xticks(range(0, 25, 6), [f"{hour:02d}:00" for hour in range(0, 25, 6)])
        label = f"hour of the day ({result.timezone})"
    else:
        ax.set_xlim(0, 7)
        ax.set_xticks(place, [day[:3] for day in WEEKDAYS])
        ax.grid(visible=False, axis="x")
        label = f"day of the week ({result.timezone})"
    return style.finish(ax, message, label, "instants with a failure", True, loc="upper right", ncols=2)
