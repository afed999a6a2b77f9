"""Figures as SVG for a page: text stays text, ids are unique, nothing is executed."""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ElementTree
from typing import TYPE_CHECKING, Any

from relfit.plotting import style
from relfit.reporting.components import Figure, Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_DRAWN_ATTRIBUTES = ("clip-path", "style", "fill", "mask", "filter")
SIZE, WIDE = (5.0, 3.2), (11.3, 1.5)
_TEXTS = ("font.size", "axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize")
_PAGE_LOOK: Any = {**dict.fromkeys(_TEXTS, 11.5), "axes.labelcolor": style.INK, "text.color": style.INK}
"""On a phone of 390 pixels a figure is about as wide as it is drawn: text of 11 pixels."""
_NAMED = ("grey", "blue", "green", "vermilion", "purple", "orange", "sky")
_INKS = {getattr(style, name.upper()).lower(): f"var(--{name})" for name in _NAMED}
_INKS |= {style.PALE.lower(): "var(--grid)", "#ffffff": "var(--card)"}
_INKS |= {style.INK.lower(): "currentColor", "#000000": "currentColor"}
"""Colours that follow the theme of the page."""
_COLOUR = re.compile("|".join(_INKS), re.IGNORECASE)


def drawn(figure: Figure) -> Picture:
    """Draw a figure."""
    if figure.wide:
        return Picture(_svg_of(figure, figure.key, WIDE), _svg_of(figure, f"{figure.key}-narrow", SIZE))
    return Picture(_svg_of(figure, figure.key, SIZE))


def _svg_of(figure: Figure, key: str, size: tuple[float, float]) -> str:
    from matplotlib.figure import Figure as Canvas

    with style.look(_PAGE_LOOK):
        canvas = Canvas(figsize=size, layout="constrained")
        ax = canvas.add_subplot()
        figure.draw(ax=ax)
        ax.set_title("", loc="left")
        if size == WIDE:
            ax.set_xlabel("")  # it is in the title
            ax.set_ylabel(ax.get_ylabel().replace(" per ", "\nper "))
            legend = ax.get_legend()
            if legend is not None:  # beside the axes, which are too low for it
                handles, labels = ax.get_legend_handles_labels()
                ax.legend(handles, labels, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        return _svg(canvas, key, figure.title)


def _svg(canvas: Canvas, key: str, title: str) -> str:
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    raw = io.StringIO()
    with warnings.catch_warnings():
        # the browser's fonts have glyphs that the measuring font lacks
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        engine: Any = canvas.get_layout_engine()
        engine.execute(canvas)
        canvas.set_layout_engine("none")  # drawing would lay it out again
        canvas.dpi = 110  # of embedded images; `savefig` would draw everything twice
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
        for name in ("style", "fill", "stroke"):
            if name in element.attrib:
                inked = _COLOUR.sub(lambda colour: _INKS[colour.group().lower()], element.get(name, ""))
                element.set(name, inked)
    for name in ("width", "height"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-label", title)
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    return ElementTree.tostring(root, encoding="unicode")
