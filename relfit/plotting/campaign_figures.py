"""Figures of campaigns: curves, maps, Pareto fronts, tornado charts, Sobol indices, costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from relfit.base.arrays import FloatArray
from relfit.base.text import count, number
from relfit.plotting import style
from relfit.plotting._registry import Axes, plot
from relfit.simulation.campaigns import CampaignResults, Ownership, pareto_front, sobol, tornado
from relfit.simulation.campaigns.campaign_results import numbers
from relfit.simulation.campaigns.cell_comparisons import cell_values

_MARKERS = "osD^vP"
_CURVES, _WIDE = 8, 32  # most curves; longest label in a legend of two columns


def _words(name: str) -> str:
    return style.plain(name.replace("_", " "), 40)


def _axis_label(result: CampaignResults, name: str) -> str:
    """A parameter or an output in words, with its unit."""
    unit = result.unit(name)
    return f"{_words(name)} ({unit})" if unit else _words(name)


@plot.register(CampaignResults)
def response_curve(
    result: CampaignResults,
    ax: Axes | None = None,
    *,
    parameter: str | None = None,
    output: str | None = None,
    experiment: str | None = None,
    relative: bool = False,
) -> Axes:
    """An output over the values of a parameter, with intervals; one line per set of the other parameters.

    Parameters
    ----------
    parameter, output, experiment : str, optional
        By default the first parameter of the experiment, the campaign's output and the first experiment.
    relative : bool
        Each line divided by its own first value.
    """
    ax = style.axes(ax)
    if result.runs.empty:
        return style.empty(ax, "nothing is computed yet")
    label = result.experiments[0] if experiment is None else experiment
    name = parameter or result.varied(label)[0]
    table = result.curve(name, output, relative=relative, experiment=label)
    others = [each for each in table if each not in (name, "mean", "low", "high")]
    groups = list(table.groupby(others, sort=False, dropna=False)) if others else [((), table)]
    chosen = np.linspace(0, len(groups) - 1, min(len(groups), _CURVES)).round().astype(int)
    lines = [groups[i] for i in chosen]
    for i, (values, rows) in enumerate(lines):
        x, ticks = _axis(rows[name])
        mean = rows["mean"].to_numpy(dtype=float)
        error = np.abs(rows[["low", "high"]].to_numpy(dtype=float).T - mean)
        told = ", ".join(_words(result.setting(n, v)) for n, v in zip(others, np.atleast_1d(values), strict=True))
        mark, colour = _MARKERS[i % 6], style.PALETTE[i % len(style.PALETTE)]
        ax.errorbar(x, mean, np.nan_to_num(error), marker=mark, color=colour, capsize=3.0, label=told or None)
        if ticks is not None:
            ax.set_xticks(x, ticks)
    _spread(ax, table[name])
    shown = _words(output or result.output)
    y_label = "ratio to the first value" if relative else _axis_label(result, output or result.output)
    limits = f"{100 * result.level:g} % intervals"
    message = f"{shown} over {_words(name)}" + (", over the first value" if relative else "") + f" ({limits})"
    message += f": {len(lines)} of {len(groups)} lines" if len(lines) < len(groups) else ""
    style.thousands(ax.yaxis)
    style.finish(ax, message, _axis_label(result, name), y_label)
    if others:
        style.legend_below(ax, 2 if max(map(len, ax.get_legend_handles_labels()[1])) <= _WIDE else 1)
    return ax


def _axis(values: Sequence[float | str]) -> tuple[FloatArray, list[str] | None]:
    """Positions of values on an axis: numbers and durations by size, others in order with their texts."""
    try:
        return numbers(values), None
    except (TypeError, ValueError):
        return np.arange(len(values), dtype=np.float64), [style.plain(value, 16) for value in values]


def _spread(ax: Axes, values: Iterable[float | str]) -> None:
    x, ticks = _axis(list(dict.fromkeys(values)))
    if ticks is None and (x > 0).all() and x.max() > 100.0 * x.min():
        ax.set_xscale("log")


def campaign_map(
    result: CampaignResults,
    ax: Axes | None = None,
    *,
    row: str | None = None,
    column: str | None = None,
    output: str | None = None,
    **where: object,
) -> Axes:
    """An output over two parameters; lines join pairs with equal values.

    Parameters
    ----------
    row, column : str, optional
        By default the second and the first parameter.
    output : str, optional
        By default that of the campaign.
    **where
        Values of other parameters, and ``experiment``.
    """
    ax = style.axes(ax)
    names = [name for name in result.parameters if name in result.where(**where).dropna(axis=1, how="all")]
    if len(names) < 2 or result.runs.empty:
        return style.empty(ax, "a map needs two parameters and some runs")
    column = column or next(name for name in names if name != row)
    row = row or next(name for name in names if name != column)
    coloured: Any
    if result.drawn:
        coloured, about = _points(result, ax, row, column, output, **where), " at the points drawn"
    else:
        table, about = result.heat_map(row, column, output, **where), ": equal along the lines"
        values = table.to_numpy(dtype=float)
        if not np.isfinite(values).any():
            return style.empty(ax, "nothing is computed yet")
        y, x = np.arange(values.shape[0]), np.arange(values.shape[1])
        coloured = ax.pcolormesh(x, y, values, cmap="cividis", shading="nearest")
        ax.grid(visible=False)
        if min(values.shape) > 1 and np.ptp(values[np.isfinite(values)]) > 0.0:
            ax.clabel(ax.contour(x, y, values, levels=6, colors="white", linewidths=0.9), fontsize=7)
        ax.set_xticks(x, [_short(value) for value in table.columns], rotation=45 if x.size > 8 else 0)
        ax.set_yticks(y, [_short(value) for value in table.index])
    name = output or result.output
    style.thousands(ax.figure.colorbar(coloured, ax=ax, label=_axis_label(result, name)).ax.yaxis)
    return style.finish(ax, f"{_words(name)}{about}", _axis_label(result, column), _axis_label(result, row))


def _points(result: CampaignResults, ax: Axes, row: str, column: str, output: str | None, **where: object) -> Any:
    """The cells of a drawn design, coloured by an output."""
    cells = result.where(**where)
    cells = cells[~cells.index.duplicated()]
    mean = result.samples(output).mean(axis=1).reindex(cells.index).to_numpy(dtype=float)
    places = []
    for axis, name in ((ax.xaxis, column), (ax.yaxis, row)):
        unique = list(dict.fromkeys(cells[name]))
        at, ticks = _axis(unique)
        places.append(cells[name].map(dict(zip(unique, at, strict=True))).to_numpy(dtype=float))
        if ticks is not None:
            axis.set_ticks(np.arange(len(ticks)), ticks)
    return ax.scatter(places[0], places[1], c=mean, cmap="cividis", s=24.0)


def campaign_pareto(result: CampaignResults, ax: Axes | None = None, *, outputs: dict[str, str] | None = None) -> Axes:
    """Two outputs of every cell against each other, and the cells that no other dominates.

    Parameters
    ----------
    outputs : dict, optional
        As for `relfit.campaigns.pareto_front`; the first two are drawn.
    """
    ax = style.axes(ax)
    sides = dict(list((outputs or result.campaign.get("pareto", {})).items())[:2])
    if len(sides) < 2 or result.runs.empty:
        return style.empty(ax, "a Pareto front needs two outputs and some runs")
    x, y = sides
    cells, front = cell_values(result, [x, y]), pareto_front(result, sides).sort_values([x, y])
    ax.plot(cells[x], cells[y], "o", color=style.GREY, alpha=0.6, label="cells")
    ax.plot(front[x], front[y], "o-", color=style.ORANGE, label="not dominated")
    message = f"{len(front):,} of {count(len(cells), 'cell')} on the Pareto front"
    for axis in (ax.xaxis, ax.yaxis):
        style.thousands(axis)
    x_name, y_name = (f"{_axis_label(result, name)}, {side} is good" for name, side in sides.items())
    return style.finish(ax, message, x_name, y_name, below=2)


def campaign_tornado(result: CampaignResults, ax: Axes | None = None, *, output: str | None = None) -> Axes:
    """How far each parameter moves an output (by default that of the campaign), the widest range first."""
    ranges = tornado(result, output)
    ax = style.axes(ax, (7.6, 1.6 + 0.34 * len(ranges)))
    if ranges.empty:
        return style.empty(ax, "nothing is computed yet")
    ax.grid(visible=False, axis="y")
    low, high = (ranges[name].to_numpy(dtype=float) for name in ("low", "high"))
    ax.barh(np.arange(len(ranges)), high - low, left=low, height=0.66, color=style.BLUE)
    for i, (a, b) in enumerate(zip(ranges["low_at"], ranges["high_at"], strict=True)):
        ax.annotate(f" {_short(a)} to {_short(b)}", (high[i], i), va="center", fontsize=8)
    ax.margins(x=0.2)
    _rows(ax, [_words(str(name)) for name in ranges.index])
    message = f"{_words(str(ranges.index[0]))} moves {_words(output or result.output)} most"
    return style.finish(ax, message, _axis_label(result, output or result.output), "")


def _rows(ax: Axes, names: list[str]) -> None:
    """Names of the bars, the first on top, and a few numbers under them."""
    ax.set_yticks(np.arange(len(names)), names)
    ax.invert_yaxis()
    ax.locator_params(axis="x", nbins=5)
    style.thousands(ax.xaxis)


def _short(value: object) -> str:
    return number(float(value), 4) if isinstance(value, (int, float, np.number)) else style.plain(value, 16)


def sobol_indices(result: CampaignResults, ax: Axes | None = None, *, output: str | None = None) -> Axes:
    """First- and total-order Sobol indices of an output (by default that of the campaign), with intervals."""
    table = sobol(result, output)
    ax = style.axes(ax)
    at = np.arange(len(table))
    for shift, name, colour in ((-0.2, "first", style.BLUE), (0.2, "total", style.ORANGE)):
        value, low, high = table[[name, f"{name}_low", f"{name}_high"]].to_numpy(dtype=float).T
        error = np.maximum([value - low, high - value], 0.0)
        label = {"first": "by itself", "total": "with interactions"}[name]
        ax.bar(at + shift, value, 0.38, yerr=error, color=colour, capsize=3.0, label=label)
    ax.set_xticks(at, [_words(str(name)) for name in table.index])
    first, of = _words(str(table["total"].idxmax())), _words(output or result.output)
    return style.finish(ax, f"{first} explains most of the variance of {of}", "", "share of the variance", below=2)


@plot.register(Ownership)
def costs_of_ownership(result: Ownership, ax: Axes | None = None) -> Axes:
    """Costs of the twelve cheapest cells, split by price."""
    table = result.costs.head(12)
    ax = style.axes(ax, (7.6, 1.6 + 0.34 * len(table)))
    ax.grid(visible=False, axis="y")
    left, at = np.zeros(len(table)), np.arange(len(table))
    for i, name in enumerate(name for name in table if str(name).startswith("cost of ")):
        part = table[name].to_numpy(dtype=float)
        colour = style.PALETTE[i % len(style.PALETTE)]
        ax.barh(at, part, left=left, height=0.66, color=colour, label=_words(str(name)[8:]))
        left += part
    names = [name for name in result.alike if name not in ("mean", "difference", "low", "high")]
    _rows(ax, [", ".join(_short(value) for value in row) for row in table[names].itertuples(index=False)])
    return style.finish(ax, style.headline(result), f"cost (rows: {', '.join(map(_words, names))})", "", below=3)
