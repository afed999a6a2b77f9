"""Do failures depend on each other: nodes together, pair correlations, series along time, counts, the clock.

Orange is what independent failures would give, blue what was observed, vermilion what chance does not explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from relfit.analyses.independence import Cofailures, Correlations, Cycles, Dispersion, PooledTests, SerialTests
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.poisson import poisson_ppf
from relfit.base.text import count, duration, number, out_of, p_value, percent
from relfit.plotting import style
from relfit.plotting._registry import Axes, plot
from relfit.plotting.event_figures import even_bars

_SINGLE_POINTS = 3000  # series drawn as single points
_NAMED_PLACES = 4


@plot.register(Correlations)
def correlations(result: Correlations, ax: Axes | None = None) -> Axes:
    """Histogram of the correlations of all pairs of nodes, beside that of independent nodes."""
    ax = style.axes(ax)
    if not result.n_pairs:
        return style.empty(ax, style.headline(result))
    table = result.histogram()
    edges = np.append(table["low"].to_numpy(), 1.0)
    seen = 100.0 * table["pairs"].to_numpy(float) / result.n_pairs
    chance = 100.0 * table["expected"].to_numpy(float) / result.n_pairs
    ax.stairs(seen, edges, fill=True, color=style.SKY, label="observed")
    ax.stairs(chance, edges, baseline=None, color=style.ORANGE, linewidth=1.8, label="independent nodes")
    top = max(float(seen.max()), float(chance.max()))
    for edge in (*result.edges[1:], *(-e for e in result.edges[1:])):
        ax.axvline(edge, 0.0, 0.8, color=style.GREY, linewidth=0.9, linestyle=":")
    for at, name in ((0.0, "none, weak"), (0.6, "high"), (0.9, "strong")):
        if top:
            ax.text(at, top * 1.03, name, ha="center", va="bottom", fontsize=8.0, color=style.GREY)
    ax.set(xlim=(-1, 1), ylim=(0, top * 1.42))
    name = {"spearman": "Spearman's", "pearson": "Pearson's", "kendall": "Kendall's"}[result.method]
    x = f"{name} correlation of two nodes' times to failure"
    return style.finish(ax, style.headline(result), x, "pairs (%)", True, ncols=2, loc="upper center")


def correlation_classes(result: Correlations, ax: Axes | None = None) -> Axes:
    """Pairs of nodes by class of correlation, beside those expected of independent nodes."""
    ax = style.axes(ax)
    if not result.n_pairs:
        return style.empty(ax, style.headline(result))
    table = result.classes
    place = np.arange(len(table))
    classes = table[["class", "low", "high"]].itertuples(index=False)
    names = [f"{name}\n{low:g} to {high:g}" for name, low, high in classes]
    for side, column, colour, words in (
        (-0.2, "observed_share", style.BLUE, "observed"),
        (0.2, "expected_share", style.ORANGE, "independent nodes"),
    ):
        height = 100.0 * table[column].to_numpy(float)
        drawn = ax.bar(place + side, height, 0.38, color=colour, label=words)
        ax.bar_label(drawn, [percent(value / 100) for value in height], fontsize=8.5)
    ax.set_xticks(place, names)
    ax.grid(visible=False, axis="x")
    ax.set_ylim(0, 100.0 * float(table[["observed_share", "expected_share"]].to_numpy().max()) * 1.3)
    return style.finish(ax, style.headline(result), "class of |r|", "pairs (%)", True, loc="upper left", ncols=2)


@plot.register(SerialTests)
def durbin_watson(result: SerialTests, ax: Axes | None = None, *, alpha: float = 0.05) -> Axes:
    """Durbin-Watson of each node's times to failure, by their number, with the range by chance.

    Parameters
    ----------
    alpha : float
        Size of the test; series that it does not reject are drawn hollow.
    """
    ax = style.axes(ax)
    finite = np.isfinite(result.durbin_watson)
    if not finite.any():
        return style.empty(ax, style.headline(result))
    size, d, p = result.sizes[finite], result.durbin_watson[finite], result.durbin_watson_p[finite]
    ax.set_xscale("log")
    lowest, highest = float(size.min()) / 1.15, float(size.max()) * 1.15
    # of independent series by their number of values (normal approximation)
    sizes = np.geomspace(lowest, highest, 120)
    n = np.maximum(sizes, 3.0)
    half = -special.ndtri(alpha / 2.0) * 2.0 * np.sqrt((n - 2.0) / ((n - 1.0) * (n + 1.0)))
    band = np.maximum(2.0 - half, 0.0), np.minimum(2.0 + half, 4.0)
    style.band(ax, sizes, *band, style.ORANGE, f"{percent(1 - alpha)} by chance", alpha=0.3)
    ax.axhline(2.0, color=style.ORANGE, linewidth=1.4)
    hit = p <= alpha
    if size.size > _SINGLE_POINTS:
        ax.hexbin(size, d, gridsize=45, xscale="log", mincnt=1, cmap="Blues", bins="log", zorder=2).set_rasterized(True)
        ax.plot([], [], "h", color=style.BLUE, label="nodes (darker: more)")
    else:
        # counts are integers: jitter them a little, reproducibly
        spread = size * np.exp(np.random.default_rng(0).uniform(-0.035, 0.035, size.size))
        _tested(ax, spread, d, hit, "a node", f"p of {alpha:g} or less")
    ax.set(xlim=(lowest, highest), ylim=(min(0.0, float(d.min())), max(4.6, float(d.max()) * 1.1)))
    ax.set_yticks(range(5))
    style.decades(ax.xaxis, lowest, highest)
    row = result.rejected(alpha).T.to_dict()["durbin_watson"]
    tested, rejected = int(row["tested"]), int(row["rejected"])
    message = "No node has enough times to failure for a test along time"
    if tested:
        chance = f"chance would reject {row['expected']:.0f}"
        message = f"Durbin-Watson rejects {rejected:,} of {count(tested, 'node')} at {percent(alpha)}; {chance}"
    x, y = "times to failure of the node", "Durbin-Watson (2: none)"
    return style.finish(ax, message, x, y, True, ncols=3, loc="upper center", columnspacing=1.0, handlelength=1.4)


@plot.register(PooledTests)
def durbin_watson_pooled(result: PooledTests, ax: Axes | None = None, *, alpha: float = 0.05) -> Axes:
    """Durbin-Watson of the pooled failures of the first k nodes, with the range by chance.

    Parameters
    ----------
    alpha : float
        The range holds 1 - `alpha` of independent series.
    """
    ax = style.axes(ax)
    finite = np.isfinite(result.durbin_watson)
    if not finite.any():
        return style.empty(ax, style.headline(result))
    k, size, d, p = (getattr(result, name)[finite] for name in ("nodes", "sizes", "durbin_watson", "p"))
    half = -special.ndtri(alpha / 2.0) * 2.0 / np.sqrt(size)
    style.band(ax, k, 2.0 - half, 2.0 + half, style.ORANGE, f"{percent(1 - alpha)} of independent series", alpha=0.3)
    ax.axhline(2.0, color=style.ORANGE, linewidth=1.4)
    hit = p <= alpha
    ax.plot(k, d, color=style.GREY, linewidth=0.8)
    above, below = (f"p above {alpha:g}" if (~hit).any() else None, f"p of {alpha:g} or less" if hit.any() else None)
    _tested(ax, k, d, hit, above, below, face="white")
    low, high = float(d.min()), max(2.0, float(d.max()))
    first = np.median(half) if half.size < 10 else np.quantile(half, 0.9)
    low, high = min(low, 2.0 - float(first)), max(high, 2.0 + float(first))
    ax.set(ylim=(low - 0.06 * (high - low), high + 0.3 * (high - low)), xlim=(0.5 - 0.01 * k[-1], k[-1] * 1.01 + 0.5))
    x, y = "nodes pooled, in their order", "Durbin-Watson (2: none)"
    return style.finish(ax, style.headline(result), x, y, True, ncols=2, loc="upper center")


def _tested(
    ax: Axes,
    x: FloatArray | IntArray,
    y: FloatArray,
    hit: BoolArray,
    others: str | None,
    rejected: str | None,
    face: str = "none",
) -> None:
    """A point per test, hollow where it does not reject."""
    raster = bool(x.size > 300)
    hollow: dict[str, Any] = {"ms": 3.2, "mfc": face, "mec": style.BLUE, "mew": 0.8, "alpha": 0.7}
    ax.plot(x[~hit], y[~hit], "o", **hollow, rasterized=raster, label=others)
    filled: dict[str, Any] = {"ms": 4.0, "color": style.VERMILION, "mec": "white", "mew": 0.4}
    ax.plot(x[hit], y[hit], "o", **filled, rasterized=raster, label=rejected)


def autocorrelation(result: SerialTests, ax: Axes | None = None, *, alpha: float = 0.05) -> Axes:
    """Mean autocorrelation of the nodes' times to failure, weighted by their number, with the range by chance.

    Parameters
    ----------
    alpha : float
        The range of each lag holds 1 - `alpha` of independent series.
    """
    ax = style.axes(ax)
    rows = np.flatnonzero(np.isfinite(result.durbin_watson))
    if not rows.size:
        return style.empty(ax, "No times to failure that vary, so there is no autocorrelation")
    r, size = result.autocorrelation[rows], result.sizes[rows].astype(np.float64)
    lags = np.arange(1, r.shape[1] + 1)
    there = np.isfinite(r) & (size[:, None] > lags)
    weight = np.where(there, size[:, None], 0.0)
    total = weight.sum(axis=0)
    shown = total > 0.0
    lags, weight, total = lags[shown], weight[:, shown], total[shown]
    mean = (np.where(there, r, 0.0)[:, shown] * weight).sum(axis=0) / total
    n = size[:, None]
    # exact mean over all orders of a series, and the variance for normal values (Dufour and Roy 1985)
    centre = -(weight * (n - lags) / (n * (n - 1.0))).sum(axis=0) / total
    numerator = n**4 - (lags + 3.0) * n**3 + 3.0 * lags * n**2 + 2.0 * lags * (lags + 1.0) * n - 4.0 * lags**2
    numerator -= 2.0 * n * (n - 1.0) * np.maximum(2.0 * lags - n, 0.0)  # no value is in two products
    variance = np.maximum(numerator, 0.0) / ((n + 1.0) * n**2 * (n - 1.0) ** 2)
    spread = np.sqrt((weight**2 * variance).sum(axis=0)) / total
    half = -special.ndtri(alpha / 2.0) * spread
    edges = np.append(lags - 0.5, lags[-1] + 0.5)
    chance = f"{percent(1 - alpha)} by chance"
    style.steps(ax, edges, centre, centre - half, centre + half, colour=style.ORANGE, linewidth=1.4, limits=chance)
    out = np.abs(mean - centre) > half
    ax.axhline(0.0, color=style.GREY, linewidth=0.8)
    for mask, colour, words in ((~out, style.BLUE, "within it"), (out, style.VERMILION, "beyond it")):
        if mask.any():
            ax.vlines(lags[mask], 0.0, mean[mask], color=colour, linewidth=2.0)
            ax.plot(lags[mask], mean[mask], "o", color=colour, ms=5, label=words)
    reach = max(float(np.abs(mean).max()), float((np.abs(centre) + half).max())) * 1.15
    ax.set(ylim=(-reach, reach * 1.5), xlim=(0.4, lags[-1] + 0.6))
    ax.set_xticks(lags)
    first = f"{mean[0]:+.2f} at lag 1 where chance gives {round(float(centre[0]), 2) + 0.0:+.2f}"
    # Bonferroni over the lags, at alpha
    clear = bool((np.abs(mean - centre) > -special.ndtri(alpha / (2.0 * lags.size)) * spread).any())
    are = "are autocorrelated" if clear else "show no autocorrelation beyond chance"
    message = f"The nodes' times to failure {are}: {first}"
    if clear:
        message += f"; {out_of(int(out.sum()), lags.size, 'lag')} beyond the range"
    x, y = "lag (failures)", "mean autocorrelation"
    return style.finish(ax, message, x, y, True, ncols=3, loc="upper center", columnspacing=1.0)


@plot.register(Dispersion)
def dispersion(result: Dispersion, ax: Axes | None = None) -> Axes:
    """Index of dispersion of failure counts by length of time, with the range of a Poisson process."""
    ax = style.axes(ax)
    enough = ~result.too_few
    if not enough.any():
        return style.empty(ax, style.headline(result))
    scale, index, low, high = (getattr(result, name)[enough] for name in ("scales", "index", "low", "high"))
    ax.set_xscale("log")
    by_chance = "Poisson processes" if result.expected is None else "random logs"
    limits = f"{percent(result.level)} of {by_chance}"
    style.band(ax, scale, np.maximum(low, 1e-3), high, style.ORANGE, limits, alpha=0.3)
    if result.expected is None:
        ax.axhline(1.0, color=style.ORANGE, linewidth=1.4)
    else:
        ax.plot(scale, result.expected[enough], color=style.ORANGE, linewidth=1.4)
    out = (index < low) | (index > high)
    shown = np.maximum(index, 1e-3)
    ax.plot(scale, shown, color=style.GREY, linewidth=1.0)
    for mask, colour, words in ((~out, style.BLUE, "within chance"), (out, style.VERMILION, "beyond chance")):
        if mask.any():
            ax.plot(scale[mask], shown[mask], "o", color=colour, ms=5.5, label=words)
    bottom = min(float(np.maximum(low, 0.05).min()), float(shown.min()), 0.7)
    top = max(float(high.max()), float(shown.max()), 1.4)
    style.decades(ax.yaxis, bottom / 1.15, top * 1.2)
    ax.set(ylim=(bottom / 1.15, top * (top / bottom) ** 0.3), xlim=(scale[0] / 1.4, scale[-1] * 1.4))
    from matplotlib.ticker import NullLocator

    ticks = [(1.0, "hour"), (24.0, "day"), (168.0, "week"), (730.5, "month"), (8766.0, "year")]
    inside = [(at, name) for at, name in ticks if scale[0] / 1.4 <= at <= scale[-1] * 1.4]
    if len(inside) >= 2:
        ax.set_xticks([at for at, _ in inside], [name for _, name in inside])
        ax.xaxis.set_minor_locator(NullLocator())
        label = "length of the time bins"
    else:
        style.decades(ax.xaxis, float(scale[0]) / 1.4, float(scale[-1]) * 1.4)
        label = "length of the time bins (hours)"
    return style.finish(ax, style.headline(result), label, "variance / mean of counts", True, loc="upper left")


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
        for label, row in worst.iterrows():
            name = f"{style.plain(last.per, 10)} {style.plain(label, 12)}"
            shuffled_mean = float(row.get("expected_shuffled", np.nan))
            rows.append((name, int(row["together"]), float(row["expected"]), shuffled_mean))
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
        message = f"A {word} cycle ({p_value(float(result.p_adjusted[i]))}): the rate swings by ±{swing}"
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
