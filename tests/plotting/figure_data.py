"""What figures draw, in numbers and words: python -m tests.plotting.figure_data records it anew.

All figures of the gallery, and `figure_variants` of them.

Of each artist: its kind, label, colours, dashes, widths and sizes, number of points, first and last point, and two
sums; of each axis its ticks. An image differs from machine to machine by a font; these numbers do not.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.colors import to_hex, to_rgba
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from relfit import plotting

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(__file__).with_suffix(".json")
LONG = {"backtest"}
"""Figures of which the numbers take seconds; make verify compares their images."""


@cache
def gallery() -> ModuleType:
    """tools/gallery.py, once: its studies and simulations serve several figures."""
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "tools" / "gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def figures() -> dict[str, Callable[[Any], Any]]:
    """How each figure is drawn, by its name."""
    from tests.plotting.figure_variants import VARIANTS

    return {name: draw for name, draw in {**gallery().FIGURES, **VARIANTS}.items() if name not in LONG}


def figure_data(name: str) -> list[Any]:
    """Words and numbers of a figure of its own size, in the order of its axes and artists."""
    plt.close("all")
    with plotting.look():
        figures()[name](None)
        sheet = plt.gcf()
        size = ["size", *map(float, sheet.get_size_inches())]
        data = [size, *(entry for ax in sheet.axes for entry in _axes(ax))]
    plt.close("all")
    return data


def _axes(ax: Axes) -> list[Any]:
    words = [ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale(), ax.get_yscale()]
    entries: list[Any] = [words, ["limits", *_numbers(np.array([ax.get_xlim(), ax.get_ylim()]))]]
    legend = ax.get_legend()
    if legend is not None:
        entries.append(["legend", *(text.get_text() for text in legend.get_texts()), float(legend._ncols)])
    hidden = {ax.patch, *ax.spines.values(), ax.title, ax._left_title, ax._right_title}  # type: ignore[attr-defined]
    for axis in (ax.xaxis, ax.yaxis):
        places = axis.get_majorticklocs()
        label = axis.get_major_ticks(1)[0].label1
        turned = [float(label.get_rotation()), float(label.get_fontsize())]
        entries.append(["ticks", *axis.get_major_formatter().format_ticks(places), *turned, *_numbers(places)])
    entries += [_artist(child) for child in ax.get_children() if child not in hidden]
    return [entry for entry in entries if entry]


def _artist(artist: Artist) -> list[Any]:
    label = str(artist.get_label())
    head = [type(artist).__name__, "" if label.startswith("_") else label]
    if isinstance(artist, Line2D):
        dashes = artist._unscaled_dash_pattern  # type: ignore[attr-defined]
        colours = [_hex(artist.get_color(), artist.get_alpha()), _hex(artist.get_markerfacecolor(), artist.get_alpha())]
        look = [*colours, str(artist.get_marker()), f"dashes {dashes}"]
        sizes = [artist.get_linewidth(), artist.get_markersize(), artist.get_markeredgewidth()]
        return [*head, *look, *map(float, sizes), *_numbers(artist.get_xydata())]
    if isinstance(artist, Patch):
        corners = artist.get_path().transformed(artist.get_patch_transform()).vertices
        colours = [_hex(artist.get_facecolor()), _hex(artist.get_edgecolor())]
        return [*head, *colours, float(artist.get_linewidth()), *_numbers(corners)]
    if isinstance(artist, Collection):
        colours = [_hex(each) for each in (*artist.get_facecolor()[:8], *artist.get_edgecolor()[:8])]
        points = [path.vertices for path in artist.get_paths()] + [np.asarray(artist.get_offsets())]
        values = artist.get_array()
        points += [] if values is None else [np.asarray(values)]
        widths = _numbers(artist.get_linewidth())
        return [*head, *dict.fromkeys(colours), *widths, *_numbers(np.concatenate([each.ravel() for each in points]))]
    if isinstance(artist, AxesImage):
        return [*head, *_numbers(np.asarray(artist.get_array()))]
    if isinstance(artist, Text):
        look = [_hex(artist.get_color()), artist.get_horizontalalignment(), artist.get_verticalalignment()]
        place = [float(artist.get_fontsize()), *_numbers(np.array(artist.get_position(), dtype=object))]
        return [*head, artist.get_text(), *look, *place]
    return []


def _hex(colour: Any, alpha: float | None = None) -> str:
    """A colour with its opacity: the eighth digit of ``#rrggbbaa``."""
    return to_hex(to_rgba(colour, alpha), keep_alpha=True)


def _numbers(values: Any) -> list[float]:
    """Number of values, the first, the last, their sum, and their sum weighted by position."""
    try:
        flat = np.asarray(values, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        return []
    flat = flat[np.isfinite(flat)]
    if not flat.size:
        return [0.0]
    weighted = float(flat @ np.arange(1, flat.size + 1)) / flat.size
    return [float(f"{value:.6g}") for value in (flat.size, flat[0], flat[-1], flat.sum(), weighted)]


def main() -> None:
    """Record the data of all figures."""
    names = sorted(figures())
    lines = [f'"{name}": {json.dumps(figure_data(name), ensure_ascii=False)}' for name in names]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(names)} figures, {RECORDED.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
