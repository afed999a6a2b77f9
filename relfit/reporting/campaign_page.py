"""A campaign as one self-contained HTML page: findings, figures, tables, common settings; times in hours."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.base.text import count, duration, number
from relfit.plotting import campaign_figures as draw
from relfit.reporting.components import Figure, Table
from relfit.reporting.drawing import drawn
from relfit.reporting.rendering import filled, write_whole
from relfit.simulation.campaigns import (
    CampaignResults,
    best_cells,
    contour,
    cost_of_ownership,
    pareto_front,
    sobol,
    tornado,
)
from relfit.simulation.training import TrainingParameters

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 40  # experiments with a figure each
_PARAMETERS = 4  # parameters of a grid or a sampled design, with a curve each and a map per pair
_LEVELS = 5  # contour levels
_ROWS = 200
_BEST = 10
_SETTINGS = 40
_LONGEST = 80  # letters of a setting


def write_campaign_page(result: CampaignResults, path: str | Path, within: float | None = None) -> Path:
    """Write the results of a campaign as one HTML page: findings, costs, best cells (`within`), Pareto front, maps."""
    result = in_hours(result)
    settings = base_settings(result)
    common = [_section(result, "What all cells have in common", "", [], {"Settings": settings}, _SETTINGS)]
    campaign, config = result.campaign, result.campaign.get("config")
    run = f"{campaign['run']}, seed {campaign.get('seed', 0)}"
    text = filled(
        "campaign.html.j2",
        title=f"Campaign of {Path(config).name if isinstance(config, str) else campaign['run']}",
        subtitle=run,
        findings=result.findings,
        sections=[*_sections(result, within), *(common if len(settings) else [])],
        footer=f"relfit {rf.__version__}",
    )
    return write_whole(Path(path), text)


def _sections(result: CampaignResults, within: float | None) -> Iterator[dict[str, Any]]:
    if result.runs.empty or not np.isfinite(result.of()["mean"].to_numpy(dtype=np.float64)).any():
        return
    picture = partial(_drawn, itertools.count(1))
    if result.campaign.get("prices"):
        costs = cost_of_ownership(result)
        shown = [picture("Costs of the cheapest cells", draw.costs_of_ownership, costs)]
        yield _section(result, "Cost of ownership", costs.headline, shown, {"Costs": costs.costs})
    best = best_cells(result, within=within)
    like = "that cannot be distinguished from it" if within is None else f"at most {100 * within:g} % worse"
    others = f", and {len(best) - 1:,} {like}" if len(best) > 1 else ""
    text = f"The best cell{' ' if so_far(result) else ''}{so_far(result)}{others}."
    yield _section(result, "Best", text, [], {"Best cells": best}, _BEST)
    if len(result.outputs) > 1:
        yield _pareto(result, picture)
    ranges = tornado(result)
    if len(ranges) > 1:
        shown = [picture("What moves it most", draw.campaign_tornado, result)]
        if result.experiments[:2] == ["A", "B"] and not result.missing:
            shown.append(picture("Sobol indices", draw.sobol_indices, result))
            yield _section(result, "What matters", "", shown, {"Sobol indices": sobol(result).reset_index()})
        else:
            yield _section(result, "What matters", "", shown, {"Ranges": ranges.reset_index()})
    for label in ["A"] if result.experiments[:2] == ["A", "B"] else result.experiments[:_MOST]:
        yield _experiment(result, label, picture)
    if len(result.experiments) > _MOST and not result.drawn:
        left = ", ".join(result.experiments[_MOST:])
        text = f"Without figures here, and in the tables of relfit sweep: {left}."
        yield _section(result, "Further experiments", text, [], {})


def _pareto(result: CampaignResults, picture: Callable[..., tuple[str, str]]) -> dict[str, Any]:
    """The section of the Pareto front."""
    sides = result.campaign.get("pareto", {})
    if len(sides) < 2:
        names = f"{result.output} and {next(name for name in result.outputs if name != result.output)}"
        ask = f'Which sides are good? Write pareto = {{ ... = "least", ... = "most" }} in the campaign, as of {names}.'
        return _section(result, "Pareto front", ask, [], {})
    try:
        front = pareto_front(result)
        shown = [picture("Pareto front", draw.campaign_pareto, result)]
    except ArgumentError as error:
        return _section(result, "Pareto front", f"{error}.", [], {})
    good = " and ".join(f"{side} {name.replace('_', ' ')}" for name, side in sides.items())
    text = f"Cells to which no other is better in one and at least as good in all: {good}."
    return _section(result, "Pareto front", text, shown, {"Pareto front": front})


def _experiment(result: CampaignResults, label: str, picture: Callable[..., tuple[str, str]]) -> dict[str, Any]:
    """Curves, maps and cells of one experiment, or of a grid or a drawn design over each of its parameters."""
    cells, names = result.where(experiment=label), result.varied(label)
    several = names[:_PARAMETERS] if label in ("", "A") else names[:1]
    shown = [
        picture(title, draw.response_curve, result, parameter=name, experiment=label, relative=relative)
        for name in several
        for title, relative in (("Curve", False), ("Over its first value", True))[: 1 if result.drawn else 2]
    ]
    varied = [name for name in names[:_PARAMETERS] if len(set(cells[name])) > 1]
    pairs = list(itertools.combinations(varied, 2))
    for column, row in pairs:
        shown.append(picture("Map", draw.campaign_map, result, column=column, row=row, experiment=label))
    tables = {"Cells": result.of(experiment=label).drop(columns="experiment")}
    if len(pairs) == 1 and not result.drawn:
        tables |= _equal(result, *pairs[0], label)
    return _section(result, label or "All cells", "", shown, tables)


def _equal(result: CampaignResults, column: str, row: str, label: str) -> dict[str, pd.DataFrame]:
    """Pairs of two parameters at which the output is equal, for some of its values; none where `column` is text."""
    mean = result.heat_map(row, column, experiment=label).to_numpy()
    if not np.isfinite(mean).any() or np.nanmin(mean) == np.nanmax(mean):
        return {}
    levels = [float(f"{level:.4g}") for level in np.linspace(np.nanmin(mean), np.nanmax(mean), _LEVELS + 2)[1:-1]]
    try:
        lines = [contour(result, row, column, level, experiment=label).set_index(row)[column] for level in levels]
    except (TypeError, ValueError, ArgumentError):
        return {}
    name, unit = result.output.replace("_", " "), result.unit(column)
    heads = [f"{name} {level:,.10g} {result.unit(result.output)}".rstrip() for level in levels]
    table = pd.concat(lines, axis=1, keys=heads).reset_index()
    return {f"{column.replace('_', ' ')}{unit and f' ({unit})'} of equal {name}": table}


def _drawn(
    numbers: Iterator[int], title: str, function: Callable[..., Axes], *arguments: object, **options: object
) -> tuple[str, str]:
    """Title and SVG of a figure, which the next of the numbers names in the page."""
    return title, drawn(Figure(f"figure-{next(numbers)}", title, partial(function, *arguments, **options))).svg


def _section(
    result: CampaignResults,
    title: str,
    text: str,
    pictures: list[tuple[str, str]],
    frames: dict[str, pd.DataFrame],
    rows: int = _ROWS,
) -> dict[str, Any]:
    tables = [
        Table(f"table-{name}", name, frame.rename(columns=str), _heads(result, frame), shown=rows)
        for name, frame in frames.items()
    ]
    return {"title": title, "text": text, "pictures": pictures, "tables": tables}


def _heads(result: CampaignResults, frame: pd.DataFrame) -> dict[str, str]:
    """Heads of a table's columns, with units of numbers; text has its own."""
    statistics = ("mean", "sd", "low", "high", "difference", "range", "min", "max")
    heads = {}
    for name in map(str, frame):
        about = result.output if "cost" not in frame and (name in statistics or name[1:].isdigit()) else name
        unit = "" if frame[name].dtype == object else result.unit(about)
        heads[name] = f"{name} ({unit})" if unit else name
    return heads


def base_settings(result: CampaignResults) -> pd.DataFrame:
    """One row per key of the configuration that no parameter changes; of training jobs with its ``meaning``."""
    base: Any = result.campaign.get("base") or {}
    if isinstance(base.get("config"), Mapping):
        base = base["config"]  # beside checksums of files
    parameters = base.get("parameters")
    if isinstance(parameters, Mapping) and "params" in base:  # the content of the file that params names
        base = {key: value for key, value in base.items() if key != "parameters"}
    rows = [
        (key, _text(value, result.unit(key)))
        for key, value in _leaves(base)
        if not any(key == name or name.startswith(f"{key}.") for name in result.parameters) and value is not None
    ]
    table = pd.DataFrame(rows, columns=["key", "value"])
    if result.campaign["run"] != "training":
        return table
    meanings = {key: field.description or "" for key, field in TrainingParameters.model_fields.items()}
    return table.assign(meaning=table["key"].map(meanings).fillna(""))


def in_hours(result: CampaignResults) -> CampaignResults:
    """Results of training jobs and batch systems in hours, with prices per hour; those of other runs as they are."""
    campaign = result.campaign
    unit, per = {"training": ("min", 60.0), "batch": ("s", 3600.0)}.get(str(campaign.get("run")), ("", 1.0))
    names = [name for name in result.outputs if name not in result.parameters and result.unit(name) == unit]
    if not unit or not names:
        return result
    prices: dict[str, Any] = dict(campaign.get("prices", {}))
    prices |= {name: per * prices[name] for name in names if name in prices}
    units = {**campaign.get("units", {}), **dict.fromkeys(names, "h")}
    runs = result.runs.assign(**{name: result.runs[name] / per for name in names})
    return replace(result, campaign={**campaign, "units": units, "prices": prices}, runs=runs)


def so_far(result: CampaignResults) -> str:
    """Of how many cells there are results, where runs are missing; "" where the campaign is complete."""
    cells = int(result.runs["cell"].nunique())
    return f"of the {count(cells, 'cell')} with results" if result.missing else ""


def _leaves(table: Mapping[str, object], above: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys with their values; a distribution is one value."""
    for key, value in table.items():
        if isinstance(value, Mapping) and not {"family", "parameters"} <= set(value):
            yield from _leaves(value, f"{above}{key}.")
        elif isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
            for i, each in enumerate(value):
                yield from _leaves(each, f"{above}{key}.{i}.")
        else:
            yield f"{above}{key}", value


def _text(value: Any, unit: str) -> str:
    if isinstance(value, Mapping):
        about = ", ".join(f"{name} {number(each)}" for name, each in value["parameters"].items())
        return f"{value['family']} ({about}; times in hours)"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return duration(value / 60.0) if unit == "min" else f"{number(value)} {unit}".rstrip()
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
