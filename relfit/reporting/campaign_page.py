"""A campaign as one HTML page that needs nothing else: findings, figures, tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

import relfit as rf
from relfit.plotting import campaign_figures as draw
from relfit.reporting.components import Figure, Table
from relfit.reporting.drawing import drawn
from relfit.reporting.rendering import filled, write_whole
from relfit.simulation.campaigns import CampaignResults, best_cells, cost_of_ownership, sobol, tornado

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["write_campaign_page"]

_MOST = 40  # experiments with a figure each
_ROWS = 200
_BEST = 10


def write_campaign_page(result: CampaignResults, path: str | Path) -> Path:
    """Write what a campaign says as one HTML page: findings, curves, maps, what matters most, the best cell, costs.

    Raises
    ------
    ArgumentError
        When it cannot be written.
    """
    campaign, config = result.campaign, result.campaign.get("config")
    run = f"{campaign['run']}, seed {campaign.get('seed', 0)}"
    text = filled(
        "campaign.html.j2",
        title=f"Campaign of {Path(config).name if isinstance(config, str) else campaign['run']}",
        subtitle=run,
        findings=result.findings,
        sections=list(_sections(result)),
        footer=f"relfit {rf.__version__}",
    )
    return write_whole(Path(path), text)


def _sections(result: CampaignResults) -> Iterator[dict[str, Any]]:
    if result.runs.empty:
        return
    picture = _Pictures()
    if result.campaign.get("prices"):
        costs = cost_of_ownership(result)
        shown = [picture.of("Costs of the cheapest cells", draw.costs_of_ownership, costs)]
        yield _section("Cost of ownership", costs.headline, shown, {"Costs": costs.costs})
    best = best_cells(result)
    others = f", and {len(best) - 1:,} that cannot be distinguished from it" if len(best) > 1 else ""
    yield _section("Best", f"The best cell{others}.", [], {"Best cells": best}, _BEST)
    ranges = tornado(result)
    if len(ranges) > 1:
        shown = [picture.of("What moves it most", draw.campaign_tornado, result)]
        if result.experiments[:2] == ["A", "B"] and not result.missing:
            shown.append(picture.of("Sobol indices", draw.sobol_indices, result))
            yield _section("What matters", "", shown, {"Sobol indices": sobol(result).reset_index()})
        else:
            yield _section("What matters", "", shown, {"Ranges": ranges.reset_index()})
    for label in [] if result.experiments[:2] == ["A", "B"] else result.experiments[:_MOST]:
        cells, names = result.where(experiment=label), result.varied(label)
        shown = [
            picture.of(title, draw.response_curve, result, experiment=label, relative=relative)
            for title, relative in (("Curve", False), ("Over its first value", True))
        ]
        if len(names) > 1 and min(cells[name].nunique() for name in names[:2]) > 1:
            shown.append(picture.of("Map", draw.campaign_map, result, column=names[0], row=names[1], experiment=label))
        table = result.of(experiment=label).drop(columns="experiment")
        yield _section(label or "All cells", "", shown, {"Cells": table})


class _Pictures:
    """Draws figures, each with a name of its own in the page."""

    def __init__(self) -> None:
        self.count = 0

    def of(self, title: str, function: Callable[..., Axes], *arguments: object, **options: object) -> tuple[str, str]:
        """Title and SVG."""
        self.count += 1
        return title, drawn(Figure(f"figure-{self.count}", title, function, arguments, options)).svg


def _section(
    title: str, text: str, pictures: list[tuple[str, str]], frames: dict[str, pd.DataFrame], rows: int = _ROWS
) -> dict[str, Any]:
    tables = [Table(f"table-{name}", name, frame.rename(columns=str), shown=rows) for name, frame in frames.items()]
    return {"title": title, "text": text, "pictures": pictures, "tables": tables}
