"""The look of every figure: colours for all kinds of colour vision, one mark per distribution, text taken literally."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.base.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis


# Okabe and Ito (2008), "Color Universal Design": distinguishable with all common kinds of colour vision
BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
SKY, PURPLE, OLIVE, INK = "#56B4E9", "#CC79A7", "#7A5C00", "#222222"
GREY, PALE = "#6B727C", "#E3E6EA"
ROW = 10.0  # points per row of text under an axis
PALETTE = (BLUE, ORANGE, GREEN, SKY, PURPLE, VERMILION)
CAUSE_COLOURS = (BLUE, ORANGE, SKY, GREEN, PURPLE, VERMILION, GREY)

LOOK: Any = {
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.labelsize": 10.0,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "legend.fontsize": 9.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "relfit",
    "path.simplify": True,
    "path.simplify_threshold": 0.5,
}


@dataclass(frozen=True)
class FamilyMark:
    """How a distribution is drawn in all figures."""

    colour: str
    line: Any
    marker: str


_FAMILIES = {
    "exponential": FamilyMark(BLUE, (0, (1.2, 1.6)), "s"),
    "weibull": FamilyMark(VERMILION, "-", "o"),
    "gamma": FamilyMark(GREEN, (0, (5, 2)), "^"),
    "lognormal": FamilyMark(PURPLE, (0, (6, 2, 1.2, 2)), "D"),
    "loglogistic": FamilyMark(ORANGE, "-", "v"),
    "generalised_gamma": FamilyMark(SKY, "-", "P"),
    "inverse_gaussian": FamilyMark(GREY, "-", "X"),
    "birnbaum_saunders": FamilyMark(ORANGE, (0, (3, 1)), "<"),
    "gompertz": FamilyMark(SKY, (0, (8, 2)), ">"),
    "weibull3": FamilyMark(VERMILION, (0, (3, 1)), "p"),
    "hyperexponential2": FamilyMark(BLUE, (0, (5, 2)), "h"),
    "hyperexponential3": FamilyMark(BLUE, (0, (8, 2, 1.2, 2)), "H"),
    "weibull_mixture": FamilyMark(INK, (0, (5, 2)), "*"),
    "limited_failure": FamilyMark(GREEN, (0, (1.2, 1.6)), "d"),
    "zero_inflated": FamilyMark(GREY, (0, (3, 1)), "^"),
}
_OTHERS = (FamilyMark(ORANGE, (0, (3, 1)), "v"), FamilyMark(SKY, (0, (8, 2)), "P"), FamilyMark(GREY, "-", "X"))


def family_mark(family: str) -> FamilyMark:
    """Colour, line and marker of a distribution by its name; those without one of their own share three.

    Examples
    --------
    >>> family_mark("weibull").colour
    '#D55E00'
    """
    return _FAMILIES.get(family, _OTHERS[sum(map(ord, family)) % len(_OTHERS)])


@contextmanager
def look(further: Mapping[str, object] | None = None) -> Iterator[None]:
    """Use relfit's sizes and fonts, and `further` settings of matplotlib, for figures drawn inside the ``with`` block.

    Parameters
    ----------
    further : mapping from str to object, optional
        Keys of ``matplotlib.rcParams``; they take precedence.
    """
    import matplotlib as mpl

    settings: dict[Any, Any] = {**LOOK, **(further or {})}
    with mpl.rc_context(settings):
        yield
        interactive = mpl.is_interactive()
    # importing pyplot inside turns a notebook interactive; keep it so
    mpl.interactive(interactive)


def group_position(groups: pd.Index, group: object) -> int:
    """Position of the group with this label, or with this last key of its label, such as a node; an error else."""
    labels = groups.tolist()
    hits = [i for i, label in enumerate(labels) if label == group]
    hits = hits or [i for i, label in enumerate(labels) if isinstance(label, tuple) and label[-1] == group]
    if len(hits) != 1:
        problem = f"{group!r} names {len(hits)} groups" if hits else f"no group {group!r}"
        remedy = f"the groups are {', '.join(map(str, labels[:6]))}"
        raise ArgumentError(f"{problem} among the {len(labels)}", remedy=remedy)
    return hits[0]


def group_name(label: object) -> str:
    """A group's label as a figure shows it: ``system / node``."""
    return " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def plain(text: object, longest: int = 28) -> str:
    """Text from a log as matplotlib should show it: no mathematics, no control characters, not too long."""
    shown = "".join(c if c.isprintable() else " " for c in str(text))
    if len(shown) > longest:
        shown = shown[: longest - 1] + "…"
    shown = shown.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown  # a legend leaves out labels that begin with an underscore


def decades(axis: XAxis | YAxis, low: float, high: float) -> None:
    """Make an axis logarithmic, with plain numbers at up to seven ticks, fewer where there is no room."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})

    first, last = math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1
    inside: list[float] = []
    figure: Any = axis.axes.get_figure(root=True)
    width = axis.axes.get_position().width * figure.get_size_inches()[0]
    most = 7 if width > 2.6 else 4
    if axis.axis_name == "x":  # as many as fit, by the longest number, in inches
        longest = max(len(_written(float(f"{end:.1g}"))) for end in (low, high))
        most = max(min(most, int(width / (0.08 * longest + 0.15))), 2)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        ticks = [digit * 10.0**power for power in range(first, last + 1) for digit in digits]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= most:
            break
    if len(inside) < 3:  # less than a decade: steps as on a linear axis
        finer = MaxNLocator(most, steps=[1, 2, 5, 10]).tick_values(low, high)
        inside = [float(tick) for tick in finer if low <= tick <= high]
    step = -(-len(inside) // most) or 1
    inside = inside[::step]
    if axis.axis_name == "x" and inside:  # evenly spaced ticks crowd on a log axis
        inch = width / (math.log(high) - math.log(low))
        written = inside[:1]
        for tick in inside[1:]:
            room = 0.05 * (len(_written(written[-1])) + len(_written(tick))) + 0.1
            if inch * (math.log(tick) - math.log(written[-1])) >= room:
                written.append(tick)
        inside = written
    axis.set_major_locator(FixedLocator(inside or [low]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _written(value)))
    axis.set_minor_locator(NullLocator())


def _written(value: float) -> str:
    """A tick's number without an exponent, from a hundred-millionth on."""
    return f"{value:,.10f}".rstrip("0").rstrip(".") if 1e-8 <= abs(value) < 1e-4 else f"{value:,.10g}"


def thousands(axis: XAxis | YAxis) -> None:
    """Write the numbers of an axis with commas."""
    axis.set_major_formatter(lambda value, _: _written(value))


def days(times: pd.DatetimeIndex) -> FloatArray:
    """Times as matplotlib's days, in their own time zone."""
    return np.asarray(times.tz_localize(None).as_unit("ns").astype("int64"), dtype=float) / 86.4e12


def dates(ax: Axes, edges: FloatArray, offset: bool = True) -> None:
    """Dates from the first to the last of the edges (matplotlib's days) on the horizontal axis."""
    import matplotlib.dates

    made: Any = matplotlib.dates  # its classes are untyped
    locator = made.AutoDateLocator(minticks=3, maxticks=7)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(made.ConciseDateFormatter(locator, show_offset=offset))
    ax.set_xlim(float(edges[0]), float(edges[-1]))


def band(
    ax: Axes,
    x: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    colour: str,
    label: str | None = None,
    alpha: float = 0.15,
    step: Literal["post"] | None = None,
) -> None:
    """Fill between two curves without an edge: an interval, or what chance gives."""
    ax.fill_between(x, low, high, color=colour, alpha=alpha, linewidth=0, label=label, step=step)


def steps(
    ax: Axes,
    edges: FloatArray,
    value: FloatArray,
    low: FloatArray,
    high: FloatArray,
    *,
    colour: str,
    shade: str | None = None,
    label: str | None = None,
    limits: str | None = None,
    alpha: float = 0.25,
    **line: Any,
) -> None:
    """A step function between `edges` with its interval, a band (`shade`, `limits`, `alpha`); NaN is not drawn."""
    if np.isfinite(low).any():
        low, high = np.append(low, low[-1]), np.append(high, high[-1])
        band(ax, edges, low, high, shade or colour, limits, alpha, step="post")
    ax.stairs(value, edges, baseline=None, color=colour, label=label, **{"linewidth": 1.8, **line})


def headline(result: Result, longest: int = 135) -> str:
    """A result's headline, cut at the end of a clause to fit a title, with names taken literally."""
    text = result.headline.rstrip(".")
    ends = [
        end.start()
        for end in re.finditer(r"[;:.] |(?<!\d) \(", text)  # do not part a number from its interval
        if text.count("(", 0, end.start()) == text.count(")", 0, end.start())
    ]
    if len(text) > longest and ends:
        text = text[: max((end for end in ends if end <= longest), default=ends[0])]
    return text.replace("$", r"\$")


def axes(ax: Axes | None, size: tuple[float, float] = (6.4, 4.0)) -> Axes:
    """The axes to draw in: `ax`, or those of a new pyplot figure of `size` inches; in relfit's style."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(GREY)
    ax.tick_params(color=GREY, labelcolor=INK, length=3)
    ax.grid(visible=True, color=PALE, linewidth=0.8)
    ax.set_axisbelow(True)
    return ax


def title(ax: Axes, message: str, room: float = 1.0) -> None:
    """Set the title, left-aligned and broken to the width of the axes, or to the share `room` of it."""
    figure: Any = ax.get_figure(root=True)
    inches = float(figure.get_size_inches()[0])
    width = ax.get_position().width * inches
    if len(figure.axes) == 1 and (labels := ax.yaxis.get_tightbbox()) is not None:  # which a layout makes room for
        width = min(width, inches - 0.1 - labels.width / figure.dpi)
    # do not part a number from its percent sign
    first = message[:1] if message.partition(" ")[2].startswith("~ ") else message[:1].upper()  # a formula stays
    text = (first + message[1:]).replace(" %", "\N{NO-BREAK SPACE}%")
    letters = 121.0 / float(ax.title.get_fontsize())  # bold, per inch
    lines = textwrap.wrap(text, max(int(room * width * letters), 24), break_on_hyphens=False)
    message = "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")
    ax.set_title(message, loc="left", fontweight="bold", color=INK)


def finish(ax: Axes, message: str, x: str, y: str, legend: bool = False, below: int = 0, **where: Any) -> Axes:
    """Set labels and the title, and draw the legend inside the axes (`legend`) or in columns under them (`below`)."""
    ax.set(xlabel=x, ylabel=y)
    title(ax, message)
    if legend:
        ax.legend(facecolor="white", edgecolor="none", framealpha=0.8, **{"loc": "best", "handlelength": 2.2, **where})
    if below:
        legend_below(ax, below)
    return ax


def legend_below(ax: Axes, columns: int, *, rows: int = 0) -> None:
    """A legend under the label of the horizontal axis, where it covers no line; `rows` of text stand between them."""
    from matplotlib.transforms import ScaledTranslation

    figure: Any = ax.get_figure(root=True)
    under = ax.transAxes + ScaledTranslation(0.0, -0.5 - rows * ROW / 72.0, figure.dpi_scale_trans)
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.42, 0.0),
        bbox_transform=under,
        ncols=columns,
        frameon=False,
        handlelength=2.2,
        borderaxespad=0.0,
        columnspacing=1.2,
    )


def empty(ax: Axes, message: str) -> Axes:
    """Axes that say why there is nothing to show."""
    ax.set(xticks=[], yticks=[])
    ax.grid(visible=False)
    for spine in ax.spines.values():
        spine.set_visible(False)
    text = "\n".join(textwrap.wrap(message, 40))
    ax.text(0.5, 0.5, text, ha="center", va="center", color=GREY, transform=ax.transAxes)
    title(ax, message)
    return ax
