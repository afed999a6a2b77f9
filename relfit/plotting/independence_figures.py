"""Do failures depend on each other: pair correlations, series along time, counts over time scales.

Orange is what independent failures would give, blue what was observed, vermilion what chance does not explain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from relfit.analyses.independence import Correlations, Dispersion, PooledTests, SerialTests
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.text import percent
from relfit.plotting import style
from relfit.plotting._registry import plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SINGLE_POINTS = 3000  # series drawn as single points


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
    ax.set_xlim(-1, 1)
    ax.set_ylim(0, top * 1.42)
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
    names = [
        f"{name}\n{low:g} to {high:g}"
        for name, low, high in zip(table["class"], table["low"], table["high"], strict=True)
    ]
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
    _chance_band(ax, np.geomspace(lowest, highest, 120), alpha)
    ax.axhline(2.0, color=style.ORANGE, linewidth=1.4)
    hit = p <= alpha
    if size.size > _SINGLE_POINTS:
        drawn = ax.hexbin(size, d, gridsize=45, xscale="log", mincnt=1, cmap="Blues", bins="log", zorder=2)
        drawn.set_rasterized(True)
        ax.plot([], [], "h", color=style.BLUE, label="nodes (darker: more)")
    else:
        # counts are integers: jitter them a little, reproducibly
        spread = size * np.exp(np.random.default_rng(0).uniform(-0.035, 0.035, size.size))
        _tested(ax, spread, d, hit, "a node", f"p of {alpha:g} or less")
    ax.set_xlim(lowest, highest)
    ax.set_ylim(min(0.0, float(d.min())), max(4.6, float(d.max()) * 1.1))
    ax.set_yticks(range(5))
    style.decades(ax.xaxis, lowest, highest)
    row = result.rejected(alpha).T.to_dict()["durbin_watson"]
    tested, rejected = int(row["tested"]), int(row["rejected"])
    if tested:
        message = (
            f"Durbin-Watson rejects {rejected:,} of {tested:,} nodes at {percent(alpha)}; chance would reject "
            f"{row['expected']:.0f}"
        )
    else:
        message = "No node has enough times to failure for a test along time"
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
    _band(ax, k, 2.0 - half, 2.0 + half, f"{percent(1 - alpha)} of independent series")
    ax.axhline(2.0, color=style.ORANGE, linewidth=1.4)
    hit = p <= alpha
    ax.plot(k, d, color=style.GREY, linewidth=0.8)
    above, below = (f"p above {alpha:g}" if (~hit).any() else None, f"p of {alpha:g} or less" if hit.any() else None)
    _tested(ax, k, d, hit, above, below, face="white")
    low, high = float(d.min()), max(2.0, float(d.max()))
    first = np.median(half) if half.size < 10 else np.quantile(half, 0.9)
    low, high = min(low, 2.0 - float(first)), max(high, 2.0 + float(first))
    ax.set_ylim(low - 0.06 * (high - low), high + 0.3 * (high - low))
    ax.set_xlim(0.5 - 0.01 * k[-1], k[-1] * 1.01 + 0.5)
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


def _band(ax: Axes, x: FloatArray, low: FloatArray, high: FloatArray, label: str) -> None:
    """Shade the range that chance gives."""
    style.band(ax, x, low, high, style.ORANGE, label, alpha=0.3)


def _chance_band(ax: Axes, size: np.ndarray, alpha: float) -> None:
    """The range of Durbin-Watson of independent series by their number of values (normal approximation)."""
    n = np.maximum(size, 3.0)
    half = -special.ndtri(alpha / 2.0) * 2.0 * np.sqrt((n - 2.0) / ((n - 1.0) * (n + 1.0)))
    _band(ax, size, np.maximum(2.0 - half, 0.0), np.minimum(2.0 + half, 4.0), f"{percent(1 - alpha)} by chance")


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
    ax.set_ylim(-reach, reach * 1.5)
    ax.set_xlim(0.4, lags[-1] + 0.6)
    ax.set_xticks(lags)
    first = f"{mean[0]:+.2f} at lag 1 where chance gives {round(float(centre[0]), 2) + 0.0:+.2f}"
    # Bonferroni over the lags, at alpha
    clear = bool((np.abs(mean - centre) > -special.ndtri(alpha / (2.0 * lags.size)) * spread).any())
    are = "are autocorrelated" if clear else "show no autocorrelation beyond chance"
    message = f"The nodes' times to failure {are}: {first}"
    if clear:
        message += f"; {int(out.sum())} of {lags.size} lags are beyond the range"
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
    _band(ax, scale, np.maximum(low, 1e-3), high, f"{percent(result.level)} of {by_chance}")
    if result.expected is None:
        ax.axhline(1.0, color=style.ORANGE, linewidth=1.4)
    else:
        ax.plot(scale, result.expected[enough], color=style.ORANGE, linewidth=1.4)
    out = (index < low) | (index > high)
    shown = np.maximum(index, 1e-3)
    ax.plot(scale, shown, color=style.GREY, linewidth=1.0)
    if (~out).any():
        ax.plot(scale[~out], shown[~out], "o", color=style.BLUE, ms=5.5, label="within chance")
    if out.any():
        ax.plot(scale[out], shown[out], "o", color=style.VERMILION, ms=5.5, label="beyond chance")
    bottom = min(float(np.maximum(low, 0.05).min()), float(shown.min()), 0.7)
    top = max(float(high.max()), float(shown.max()), 1.4)
    style.decades(ax.yaxis, bottom / 1.15, top * 1.2)
    ax.set_ylim(bottom / 1.15, top * (top / bottom) ** 0.3)
    ax.set_xlim(scale[0] / 1.4, scale[-1] * 1.4)
    ticks = [(1.0, "hour"), (24.0, "day"), (168.0, "week"), (730.5, "month"), (8766.0, "year")]
    from matplotlib.ticker import NullLocator

    inside = [(at, name) for at, name in ticks if scale[0] / 1.4 <= at <= scale[-1] * 1.4]
    if len(inside) >= 2:
        ax.set_xticks([at for at, _ in inside], [name for _, name in inside])
        ax.xaxis.set_minor_locator(NullLocator())
        label = "length of the time bins"
    else:
        style.decades(ax.xaxis, float(scale[0]) / 1.4, float(scale[-1]) * 1.4)
        label = "length of the time bins (hours)"
    return style.finish(ax, style.headline(result), label, "variance / mean of counts", True, loc="upper left")
