"""From a plotting function to SVG that may stand in a page: text stays text, ids are its own, nothing is executed."""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from typing import Any

from relfit.plotting import style
from relfit.reporting.components import Figure

__all__ = ["draw", "draw_grid"]

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_DRAWN_ATTRIBUTES = ("clip-path", "style", "fill", "mask", "filter")
SIZE = (5.4, 3.5)


def draw(
    key: str,
    function: Callable[..., Any],
    *arguments: Any,
    size: tuple[float, float] = SIZE,
    note: str = "",
    **options: Any,
) -> Figure:
    """Draw one figure; its title moves from the picture to the page."""
    from matplotlib.figure import Figure as Canvas

    with style.look():
        canvas = Canvas(figsize=size, layout="constrained")
        ax = canvas.add_subplot()
        function(*arguments, ax=ax, **options)
        title = _taken_title(ax)
        return Figure(title, _svg(canvas, key, title), note)


def draw_grid(
    key: str,
    title: str,
    panels: Sequence[tuple[str, Callable[..., Any]]],
    *,
    size: tuple[float, float] = (5.4, 5.0),
    columns: int = 2,
    note: str = "",
    legend: bool = False,
) -> Figure:
    """Draw several small panels, each with a short title of its own, as one figure; one legend below if asked for."""
    from matplotlib.figure import Figure as Canvas

    with style.look():
        canvas = Canvas(figsize=size, layout="constrained")
        rows = -(-len(panels) // columns)
        drawn = []
        for place, (name, function) in enumerate(panels):
            ax = canvas.add_subplot(rows, columns, place + 1)
            function(ax=ax)
            ax.set_title(style.plain(name, 34), loc="left", fontsize=9.5, fontweight="bold", color=style.INK)
            ax.tick_params(labelsize=8)
            if place % columns:
                ax.set_ylabel("")
            if place + columns < len(panels):
                ax.set_xlabel("")
            handles, labels = ax.get_legend_handles_labels()
            drawn.append((handles, labels))
            shown: Any = ax.get_legend()
            if shown is not None:
                shown.remove()
        if legend and drawn:
            handles, labels = max(drawn, key=lambda pair: len(pair[1]))
            canvas.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8.5)
        return Figure(title, _svg(canvas, key, title), note)


def _taken_title(ax: Any) -> str:
    title = str(ax.get_title(loc="left")).replace("\n", " ").replace(r"\$", "$")
    ax.set_title("", loc="left")
    return title


def _svg(canvas: Any, key: str, title: str) -> str:
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    raw = io.StringIO()
    with warnings.catch_warnings():
        # a glyph that the measuring font lacks is still there in the browser's fonts
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        engine: Any = canvas.get_layout_engine()
        engine.execute(canvas)
        canvas.set_layout_engine("none")  # laid out once is enough: drawing would do it again
        canvas.dpi = 110  # of pictures within; `savefig` would draw everything twice
        svg: Any = FigureCanvasSVG(canvas)
        svg.print_svg(raw, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    root = ElementTree.fromstring(raw.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    for element in root.iter():
        if "id" in element.attrib:
            element.set("id", f"{key}-{element.get('id')}")
        link = element.get(f"{{{_XLINK}}}href")
        if link is not None and link.startswith("#"):
            del element.attrib[f"{{{_XLINK}}}href"]
            element.set("href", f"#{key}-{link[1:]}")
        for name in _DRAWN_ATTRIBUTES:
            if name in element.attrib:
                element.set(name, _REFERENCE.sub(rf"url(#{key}-\1)", element.get(name, "")))
    for name in ("width", "height"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", title)
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    return ElementTree.tostring(root, encoding="unicode")
