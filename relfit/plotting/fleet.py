"""The parameters of every group of a fleet at once: one against the other, each with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError
from relfit.fitting import PooledFit
from relfit.fitting.family_fit import FamilyFit
from relfit.fitting.quantities import Quantity
from relfit.plotting import style
from relfit.plotting.chosen import family_words, level_checked, unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["fleet_scatter"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_RIM = 48  # points of an ellipse
# viridis without its pale end: from few failures to many
_SHADES = ("#B5DE2B", "#35B779", "#26828E", "#3E4A89", "#440154")
_AGEING = ("weibull", "gamma")  # families whose hazard is constant at shape 1
_BREAKS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)


def fleet_scatter(
    fit: FamilyFit | PooledFit,
    x: str | None = None,
    y: str | None = None,
    ax: Axes | None = None,
    *,
    level: float = 0.95,
    max_ellipses: int = 60,
) -> Axes:
    """One parameter of every group against another, with the uncertainty of both.

    A point is a group, coloured by its number of failures. An ellipse is the joint Wald region of both parameters, on
    logarithmic scales where they are above zero. With more groups than `max_ellipses` only so many have one: evenly
    spread from the group with the fewest failures to that with the most. Axes cover nearly all estimates; what lies
    beyond them, groups that could not be fitted, and ellipses left out are counted below the axes.

    Parameters
    ----------
    fit : FamilyFit or PooledFit
        Of any number of groups. A pooled fit has an ellipse of its posterior for every group.
    x, y : str, optional
        Parameters of the family, or ``mean`` or ``median``; its first and second parameter when left out.
    ax : matplotlib Axes, optional
    level : float
        Of the ellipses, for both quantities together.
    max_ellipses : int
        Zero for none.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ArgumentError
        For an unknown quantity or level, the same one twice, a family of one parameter without two quantities to show,
        or a negative `max_ellipses`.

    Examples
    --------
    >>> import relfit as rf
    >>> from matplotlib.figure import Figure
    >>> fits = rf.fit(rf.families.Weibull(0.8, 1000.0).sample((20, 30), rng=1), "weibull")
    >>> ax = fleet_scatter(fits["weibull"], ax=Figure().add_subplot())
    >>> ax.get_ylabel()
    'scale (hours)'
    """
    level = level_checked(level)
    if max_ellipses < 0:
        raise ArgumentError(f"max_ellipses is {max_ellipses}", remedy="give 0 for no ellipses")
    asked = _asked(fit, x, y)
    ax = style.axes(ax, (6.4, 4.8))
    ok = np.asarray(np.isfinite(fit.parameter_array).all(axis=1))
    if not ok.any():
        return style.empty(
            ax,
            f"None of {ok.size:,} groups has a {family_words(fit.family.name)} fit"
            if ok.size
            else "No group of lives to show",
        )
    cloud = _cloud(fit, ok, asked)
    if not cloud.known.any():
        return style.empty(ax, f"{asked[0].name} or {asked[1].name} is not finite in any group")
    failures = fit.lives.n_failures[ok]
    limits = np.stack([_range(cloud, i) for i in range(2)])
    with np.errstate(invalid="ignore"):
        inside = cloud.known & ((cloud.centre >= limits[:, 0]) & (cloud.centre <= limits[:, 1])).all(axis=1)
    for i, axis in enumerate((ax.xaxis, ax.yaxis)):
        _scale(ax, axis, limits[i], asked[i])
    chosen = _spread(np.flatnonzero(inside & cloud.measured), failures, max_ellipses)
    shade, names, colours = _shades(failures)
    _draw_ellipses(ax, cloud, chosen, [colours[i] for i in shade[chosen]], level, asked)
    many = int(inside.sum())
    size = float(np.clip(4000.0 / max(many, 1), 5.0, 30.0))
    for number, name in enumerate(names):  # the best known groups lie on top
        rows = inside & (shade == number)
        if rows.any():
            ax.scatter(
                cloud.values[rows, 0], cloud.values[rows, 1], s=size, color=colours[number], linewidth=0,
                alpha=0.9 if many <= 300 else 0.65,
                zorder=3.0 + 0.01 * number, rasterized=many > 1000, label=name,
            )  # fmt: skip
    one = [quantity.name == "shape" and fit.family.name in _AGEING for quantity in asked]
    if any(one):
        (ax.axvline if one[0] else ax.axhline)(
            1.0, color=style.GREY, linewidth=1.2, linestyle=(0, (4, 2)), label="constant hazard"
        )
    whole: Any = ax.get_figure(root=True)
    width = ax.get_position().width * whole.get_size_inches()[0]
    caption = _caption(fit, ok, cloud, inside, chosen.size, level, width)
    style.finish(
        ax,
        _message(fit, cloud, asked, level, one),
        unit(asked[0].name, fit.family.name) + f"\n{caption}",
        unit(asked[1].name, fit.family.name),
        True,
        loc="upper left",
        ncols=3,
        columnspacing=1.2,
        handlelength=1.2,
        markerscale=float(np.sqrt(max(24.0 / size, 1.0))),
    )
    return ax


# ---------------------------------------------------------------------- details


@dataclass(frozen=True)
class _Cloud:
    """Both quantities of the fitted groups, shape (groups, 2), and what is known of their errors.

    ``centre`` has the quantities on their unbounded scales (logarithms mostly), ``covariance`` is for these.
    """

    values: FloatArray
    centre: FloatArray
    covariance: FloatArray
    known: npt.NDArray[np.bool_]
    measured: npt.NDArray[np.bool_]


def _asked(fit: FamilyFit | PooledFit, x: str | None, y: str | None) -> tuple[Quantity, Quantity]:
    from relfit.fitting import PooledFit
    from relfit.fitting.family_fit import FamilyFit
    from relfit.fitting.quantities import quantity_named

    if not isinstance(fit, (FamilyFit, PooledFit)):
        raise ArgumentError(
            f"a {type(fit).__name__} is not the fit of one family", remedy="give one, as in rf.fit(lives)['weibull']"
        )
    names = fit.family.parameter_names()
    if len(names) < 2 and (x is None or y is None):
        raise ArgumentError(
            f"the {family_words(fit.family.name)} has only {names[0]}, and a scatter needs two",
            remedy="use means_by_group, or give both x and y, such as x='rate', y='median'",
        )
    first, second = (names[i] if given is None else given for i, given in enumerate((x, y)))
    if first == second:
        raise ArgumentError(f"{first} against itself says nothing", remedy=f"choose two of {', '.join(names)}")
    for name in (first, second):
        if name in ("quantile", "reliability", "hazard"):
            raise ArgumentError(f"{name} is not for a scatter", remedy=f"use {', '.join(names)}, mean or median")
    return quantity_named(first, fit.family, None), quantity_named(second, fit.family, None)


def _cloud(fit: FamilyFit | PooledFit, ok: npt.NDArray[np.bool_], asked: tuple[Quantity, Quantity]) -> _Cloud:
    from relfit.fitting import PooledFit
    from relfit.fitting.estimates import jacobian

    family = fit.family
    free = family.to_free(fit.parameter_array[ok])
    if isinstance(fit, PooledFit):
        covariance = fit.covariance[ok]
    else:
        inverse = np.linalg.pinv(np.nan_to_num(jacobian(family, free)))
        covariance = np.einsum("gij,gjk,glk->gil", inverse, fit.covariance[ok], inverse)

    def transformed(at: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            distribution = family.unchecked(*np.moveaxis(family.from_free(at), -1, 0))
            return np.stack([np.asarray(q.transformed(distribution), np.float64) for q in asked], axis=-1)

    centre = transformed(free)
    with np.errstate(all="ignore"):
        errors = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        steps = np.clip(1e-3 * np.nan_to_num(errors, nan=1.0), 1e-8, 1e-3)
        rises = [
            transformed(free + steps * along) - transformed(free - steps * along) for along in np.eye(free.shape[1])
        ]
        slopes = np.stack(rises, axis=-1) / (2.0 * steps[:, None, :])
        spread = np.einsum("gqi,gij,gpj->gqp", slopes, covariance, slopes)
        values = np.stack([quantity.back(centre[:, i]) for i, quantity in enumerate(asked)], axis=-1)
    known = np.asarray(np.isfinite(values).all(axis=1) & np.isfinite(centre).all(axis=1))
    measured = known & np.isfinite(spread).all(axis=(1, 2)) & (np.diagonal(spread, axis1=1, axis2=2) > 0.0).all(axis=1)
    return _Cloud(values, centre, spread, known, measured)


def _range(cloud: _Cloud, i: int) -> FloatArray:
    """Both ends of an axis, on the unbounded scale: all estimates but those far from the middle half."""
    centre = cloud.centre[cloud.known, i]
    quarter, three = np.quantile(centre, [0.25, 0.75])
    reach = 3.0 * (three - quarter) if centre.size > 20 else np.inf
    low, high = max(centre.min(), quarter - reach), min(centre.max(), three + reach)
    errors = np.sqrt(cloud.covariance[cloud.measured, i, i])
    room = max(0.04 * (high - low), min(1.5 * float(np.median(errors)), 2.0) if errors.size else 0.0) or 0.1
    return np.array([low - room, high + room])


def _scale(ax: Axes, axis: Any, limits: FloatArray, quantity: Quantity) -> None:
    from matplotlib.ticker import MaxNLocator

    low, high = (float(v) for v in quantity.back(limits))
    horizontal = axis is ax.xaxis
    if quantity.range == (0.0, np.inf):
        (ax.set_xscale if horizontal else ax.set_yscale)("log")
        style.decades(axis, low, high)
        high = high if horizontal else high * (high / low) ** 0.24  # room for the legend
    else:
        axis.set_major_locator(MaxNLocator(6))
        axis.set_major_formatter("{x:,.10g}")
        high = high if horizontal else high + 0.24 * (high - low)
    (ax.set_xlim if horizontal else ax.set_ylim)(low, high)


def _spread(rows: IntArray, failures: IntArray, most: int) -> IntArray:
    """At most `most` of these rows, evenly from the fewest failures to the most."""
    if rows.size <= most:
        return rows
    order = rows[np.argsort(failures[rows], kind="stable")]
    return np.asarray(order[np.linspace(0, rows.size - 1, most).astype(np.int64)] if most else order[:0])


def _shades(failures: IntArray) -> tuple[IntArray, list[str], list[str]]:
    """Class of each group by its failures, and a name and a colour for each class."""
    least, most = int(failures.min()), int(failures.max())
    breaks = [b for b in _BREAKS if least < b <= most]
    if len(breaks) >= len(_SHADES):
        wanted = np.quantile(failures, np.arange(1, len(_SHADES)) / len(_SHADES))
        near = np.abs(np.log(np.asarray(breaks)[:, None] / np.maximum(wanted, 0.5))).argmin(axis=0)
        breaks = [breaks[i] for i in np.unique(near)]
    starts, ends = [least, *breaks], [*(b - 1 for b in breaks), most]
    names = [f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in zip(starts, ends, strict=True)]
    names = [f"{name} failure{'' if name == '1' else 's'}" for name in names]
    places = np.linspace(len(_SHADES) - 1, 0, len(names)).round().astype(int)[::-1] if len(names) > 1 else [2]
    return np.searchsorted(breaks, failures, side="right"), names, [_SHADES[i] for i in places]


def _draw_ellipses(
    ax: Axes, cloud: _Cloud, rows: IntArray, colours: list[str], level: float, asked: tuple[Quantity, Quantity]
) -> None:
    from matplotlib.collections import LineCollection
    from scipy import stats

    if not rows.size:
        return
    angle = np.linspace(0.0, 2.0 * np.pi, _RIM)
    circle = np.sqrt(float(stats.chi2.ppf(level, 2))) * np.stack([np.cos(angle), np.sin(angle)])
    values, vectors = np.linalg.eigh(cloud.covariance[rows])
    root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    rim = cloud.centre[rows][:, :, None] + root @ circle
    with np.errstate(all="ignore"):
        rim = np.stack([quantity.back(rim[:, i]) for i, quantity in enumerate(asked)], axis=-1)
    faint = float(np.clip(15.0 / rows.size, 0.16, 0.6))
    ax.add_collection(
        LineCollection(list(rim), colors=colours, linewidths=0.8, alpha=faint, rasterized=rows.size > 100),
        autolim=False,
    )


def _caption(
    fit: FamilyFit | PooledFit,
    ok: npt.NDArray[np.bool_],
    cloud: _Cloud,
    inside: npt.NDArray[np.bool_],
    ellipses: int,
    level: float,
    width: float,
) -> str:
    """What the picture leaves out, in words."""
    import textwrap

    parts = []
    unfitted = int((~ok).sum())
    if unfitted:
        words, counts = np.unique(
            np.asarray(getattr(fit, "status", np.full(ok.size, "no life")))[~ok].astype(str), return_counts=True
        )
        named = ", ".join(f"{count:,} {word.replace('_', ' ')}" for word, count in zip(words, counts, strict=True))
        parts.append(f"{unfitted:,} of {ok.size:,} not fitted ({named})")
    beyond = int((cloud.known & ~inside).sum())
    endless = int((~cloud.known).sum())
    parts += [f"{beyond:,} beyond the axes"] if beyond else []
    parts += [f"{endless:,} without a finite value"] if endless else []
    if ellipses:
        some = "" if ellipses == int(inside.sum()) else f" for {ellipses:,}"
        parts.append(f"{100 * level:.4g} % ellipses{some}")
    return "\n".join(textwrap.wrap("; ".join(parts), max(int(width * 13), 30)))


def _message(
    fit: FamilyFit | PooledFit, cloud: _Cloud, asked: tuple[Quantity, Quantity], level: float, one: list[bool]
) -> str:
    from scipy import stats

    name = family_words(fit.family.name)
    what = "nodes" if "node" in fit.groups.names else "groups"
    known = int(cloud.known.sum())
    if any(one):
        i = one.index(True)
        centre = cloud.centre[cloud.known, i]
        below = int((centre < 0.0).sum())
        measured = cloud.measured
        reach = float(stats.norm.ppf(0.5 + level / 2)) * np.sqrt(cloud.covariance[measured, i, i])
        sure = int((cloud.centre[measured, i] + reach < 0.0).sum())
        return (
            f"{name}: the shape is below 1 in {below:,} of {known:,} {what}, in {sure:,} with its whole "
            f"{100 * level:.4g} % interval"
        )
    first, second = (
        f"{quantity.name} {style.figures(float(low))} to {style.figures(float(high))}"
        for quantity, (low, high) in zip(
            asked, np.quantile(cloud.values[cloud.known], [0.05, 0.95], axis=0).T, strict=True
        )
    )
    return f"{name}: {first} and {second} in the middle 90 % of {known:,} {what}"
