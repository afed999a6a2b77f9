"""Likelihood of one group: joint regions of two parameters, and the profile of any one quantity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError
from relfit.fitting import Fits
from relfit.fitting.family_fit import FamilyFit
from relfit.fitting.likelihood import LogLikelihood
from relfit.fitting.quantities import Quantity
from relfit.plotting import style
from relfit.plotting.chosen import Chosen, choose, level_checked, unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["likelihood_contour", "profile_likelihood"]

FloatArray = npt.NDArray[np.float64]
BORDER_POINTS = 361
_VALUES_AT_ONCE = 4_000_000
PROFILE_POINTS = 24  # on either side of the estimate, up to 5,000 lives


def likelihood_contour(
    fits: Fits | FamilyFit,
    group: Any = None,
    ax: Axes | None = None,
    *,
    family: str | None = None,
    levels: Sequence[float] | float = (0.5, 0.9, 0.95),
) -> Axes:
    """Joint likelihood regions of both parameters of one group, with the estimate.

    The borders are those of `FamilyFit.contour`: the log-likelihood is within half the chi-square quantile with two
    degrees of freedom of its maximum. Axes are logarithmic for parameters above zero. A border without an end on some
    side, as a single failure may leave it, is open there.

    Parameters
    ----------
    fits : Fits or FamilyFit
    group : label, optional
        Of the group; the first when left out.
    ax : matplotlib Axes, optional
    family : str, optional
        Of `Fits`, the best of the group by AICc when left out.
    levels : float or sequence of float
        Of the regions, each between 0 and 1.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ArgumentError
        For a family without exactly two parameters, fits by another method than maximum likelihood, or an unknown
        group, family or level.

    Examples
    --------
    >>> import relfit as rf
    >>> from matplotlib.figure import Figure
    >>> fits = rf.fit(rf.families.Weibull(0.8, 1000.0).sample((1, 40), rng=1), "weibull")
    >>> likelihood_contour(fits, ax=Figure().add_subplot()).get_ylabel()
    'scale (hours)'
    """
    wanted = sorted({level_checked(level) for level in np.atleast_1d(levels).tolist()}, reverse=True)
    if not wanted:
        raise ArgumentError("no level to draw", remedy="give some, as in levels=(0.5, 0.95)")
    chosen = choose(fits, group, family)
    if chosen is not None:
        k = len(chosen.fit.family.parameter_names())
        if k != 2:
            raise ArgumentError(
                f"a contour needs two parameters, {chosen.family} has {k}",
                remedy="use profile_likelihood for one parameter at a time",
            )
        _need_likelihood(chosen)
    ax = style.axes(ax, (5.6, 4.4))
    if chosen is None:
        return style.empty(ax, "No group of lives to show")
    if not chosen.ok:
        return style.empty(ax, f"{chosen.title}: {chosen.why}")
    names = chosen.fit.family.parameter_names()
    logarithmic = [domain == "positive" for domain in chosen.fit.family.domains]
    mark = style.family_mark(chosen.family)
    centre = chosen.fit.parameter_array[0]
    borders = [np.stack(list(chosen.fit.contour(level=level).values())) for level in wanted]
    for i, (level, border) in enumerate(zip(wanted, borders, strict=True)):
        closed = bool(np.isfinite(border).all())
        smooth = _smooth(border, logarithmic) if closed else border
        label = f"{100 * level:.4g} % region" + ("" if closed else ", open")
        if closed:
            ax.fill(*smooth, color=mark.colour, alpha=0.10 + 0.08 * i, linewidth=0)
        ax.plot(*smooth, color=mark.colour, linewidth=1.0 + 0.4 * i, linestyle=_LINES[i % len(_LINES)], label=label)
    ax.plot(*centre, "+", color=style.INK, markersize=10, markeredgewidth=1.6, label="estimate")
    # a border may run off to where nothing is to be seen: show no more than some decades
    outer = np.concatenate([centre[:, None], *borders], axis=1)
    for axis, values, own, log in zip((ax.xaxis, ax.yaxis), outer, centre, logarithmic, strict=True):
        _scale(ax, axis, values[np.isfinite(values)], float(own), log)
    _headroom(ax, 0.24)
    message = " and ".join(f"{n} {style.figures(float(v))}" for n, v in zip(names, centre, strict=True))
    return style.finish(
        ax,
        f"{chosen.title}: {chosen.called} with {message}{_claim(chosen, borders[0], wanted[0])}",
        unit(names[0], chosen.family),
        unit(names[1], chosen.family),
        True,
        loc="upper left",
        ncols=2,
        columnspacing=1.2,
    )


def profile_likelihood(
    fits: Fits | FamilyFit,
    parameter: str | None = None,
    group: Any = None,
    ax: Axes | None = None,
    *,
    family: str | None = None,
    level: float | None = None,
    at: float | str | None = None,
) -> Axes:
    """Profile of the likelihood over one parameter, or another quantity, of one group.

    The deviance is twice what the log-likelihood loses at its best for each value of the parameter. Where it crosses
    the chi-square quantile are the profile limits of `FamilyFit.interval`. For families of one or two parameters the
    curve consists of such limits at many levels; for others, of maxima of the likelihood minus a multiple of the
    squared distance to a value, which are points of the profile too. It ends where no maximum is found, or only one
    that lies higher than the estimate, as mixtures have them where a phase shrinks to a single life. The dashed curve
    is the parabola behind the Wald limits: the farther apart both are, the less these can be relied on.

    Parameters
    ----------
    fits : Fits or FamilyFit
    parameter : str, optional
        A parameter of the family (the first when left out), or a quantity of `FamilyFit.interval` such as ``mean``.
    group : label, optional
        Of the group; the first when left out.
    ax : matplotlib Axes, optional
    family : str, optional
        Of `Fits`, the best of the group by AICc when left out.
    level : float, optional
        Of the interval; that of the fit when left out.
    at : float or duration, optional
        Of a quantile, reliability or hazard: see `FamilyFit.interval`.

    Returns
    -------
    matplotlib.axes.Axes
        The deviance has no unit; the other axis is logarithmic for what is above zero.

    Raises
    ------
    ArgumentError
        For fits by another method than maximum likelihood, or an unknown group, family, parameter or level.

    Examples
    --------
    >>> import relfit as rf
    >>> from matplotlib.figure import Figure
    >>> fits = rf.fit(rf.families.Weibull(0.8, 1000.0).sample((1, 40), rng=1), "weibull")
    >>> profile_likelihood(fits, "scale", ax=Figure().add_subplot()).get_xlabel()
    'scale (hours)'
    """
    from scipy import stats

    from relfit.fitting.quantities import quantity_named

    chosen = choose(fits, group, family)
    if chosen is None:
        return style.empty(style.axes(ax), "No group of lives to show")
    _need_likelihood(chosen)
    level = level_checked(chosen.fit.level if level is None else level)
    name = chosen.fit.family.parameter_names()[0] if parameter is None else parameter
    asked = quantity_named(name, chosen.fit.family, at)
    ax = style.axes(ax)
    if not chosen.ok:
        return style.empty(ax, f"{chosen.title}: {chosen.why}")
    goal = float(stats.chi2.ppf(level, 1))
    # the more lives, the closer to a parabola and the dearer a point
    most = PROFILE_POINTS if len(chosen.fit.family.parameter_names()) <= 2 else PROFILE_POINTS // 2
    count = int(np.clip(PROFILE_POINTS * 5000 / max(chosen.lives.durations.size, 1), 8, most))
    roots = np.linspace(0.0, np.sqrt(1.7 * goal), count + 1)[1:]
    own = chosen.fit.interval(name, at=at, level=level)
    estimate = float(own.estimate[0])
    mark = style.family_mark(chosen.family)
    words = f"{100 * level:.4g} % limits"
    shown = []
    for kind, colour, line, width, label in (
        ("wald", style.GREY, (0, (4, 2)), 1.3, "Wald's approximation"),
        ("profile", mark.colour, "-", 2.0, f"profile of the {chosen.called}"),
    ):
        if kind == "profile" and len(chosen.fit.family.parameter_names()) > 2:
            values, deviance = _held(chosen, asked, roots)
        else:
            values, deviance = _curve(chosen, name, at, kind, roots, estimate)
        ax.plot(values, deviance, color=colour, linestyle=line, linewidth=width, label=label)
        shown.append(values)
    low, high = float(own.low[0]), float(own.high[0])
    log = asked.range == (0.0, np.inf)
    known = [v for v in (low, high) if np.isfinite(v) and v not in asked.range]
    ax.axhline(goal, color=style.ORANGE, linewidth=1.4, label=words)
    ax.plot(known, [goal] * len(known), "o", color=style.ORANGE, markersize=5)
    ax.plot(
        [estimate], [0.0], "+", color=style.INK, markersize=10, markeredgewidth=1.6, label="estimate", clip_on=False
    )
    ax.set_ylim(0.0, 1.75 * goal * 1.45)  # room for the legend
    _scale(ax, ax.xaxis, shown[1][np.isfinite(shown[1])], estimate, log)
    limits = _limits(own.status[0], low, high)
    limits = f"{limits} ({words})" if limits[0].isdigit() or limits[0] == "-" else f"{limits} at {100 * level:.4g} %"
    where = "" if own.at is None else f" at {own.at:g}{'' if name == 'quantile' else ' h'}"
    return style.finish(
        ax,
        f"{chosen.title}: {name}{where} {style.figures(estimate)}, {limits}",
        unit(name, chosen.family).replace(name, name + where, 1) if name != "quantile" else f"quantile{where} (hours)",
        "deviance (no unit)",
        True,
        loc="upper left",
        ncols=2,
        columnspacing=1.2,
    )


# ---------------------------------------------------------------------- details

_LINES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.2, 1.6)))


def _need_likelihood(chosen: Chosen) -> None:
    if chosen.fit.method != "maximum likelihood":
        raise ArgumentError(
            f"these fits come from {chosen.fit.method}, and need not be near the maximum of the likelihood",
            remedy="fit with method='ml'",
        )


def _smooth(border: FloatArray, logarithmic: list[bool]) -> FloatArray:
    """More points on a closed border, by a periodic spline in the coordinates of the axes."""
    from scipy.interpolate import CubicSpline

    scaled = np.stack([np.log(v) if log else v for v, log in zip(border, logarithmic, strict=True)])
    scaled[:, -1] = scaled[:, 0]
    spread = scaled.max(axis=1, keepdims=True) - scaled.min(axis=1, keepdims=True)
    steps = np.hypot(*(np.diff(scaled, axis=1) / np.where(spread > 0.0, spread, 1.0)))
    place = np.concatenate([[0.0], np.cumsum(np.sqrt(np.maximum(steps, 1e-9)))])  # centripetal: no loops at corners
    fine = CubicSpline(place, scaled, axis=1, bc_type="periodic")(np.linspace(0.0, place[-1], BORDER_POINTS))
    with np.errstate(over="ignore"):
        return np.stack([np.exp(v) if log else v for v, log in zip(fine, logarithmic, strict=True)])


def _curve(
    chosen: Chosen, name: str, at: float | str | None, kind: str, roots: FloatArray, estimate: float
) -> tuple[FloatArray, FloatArray]:
    """Values in rising order and their deviances, from the limits at as many levels; NaN where there is no limit."""
    from scipy import stats

    sides: list[list[float]] = [[], []]
    for root in roots:
        found = chosen.fit.interval(name, at=at, kind=kind, level=float(stats.chi2.cdf(root**2, 1)))
        for side, limit, open_ in zip(sides, (found.low[0], found.high[0]), ("open_low", "open_high"), strict=True):
            side.append(float("nan") if str(found.status[0]) in (open_, "open") else float(limit))
    values = np.concatenate([sides[0][::-1], [estimate], sides[1]])
    deviance = np.concatenate([roots[::-1] ** 2, [0.0], roots**2])
    values[~np.isfinite(values)] = np.nan
    return values, deviance


class _Pulled:
    """Log-likelihood of one group, pulled towards values of a quantity: one column for each value."""

    def __init__(self, base: LogLikelihood, asked: Quantity, goals: FloatArray, weight: float) -> None:
        self.base, self.asked, self.goals, self.weight = base, asked, goals, weight

    @property
    def n_groups(self) -> int:
        return self.goals.size

    def take(self, positions: npt.NDArray[np.int64]) -> _Pulled:
        return _Pulled(self.base, self.asked, self.goals[positions], self.weight)

    def quantity(self, free: FloatArray) -> FloatArray:
        """The quantity on its unbounded scale."""
        with np.errstate(all="ignore"):
            parameters = self.base.family.from_free(free)
            distribution = self.base.family.unchecked(*np.moveaxis(parameters, -1, 0))
            return np.asarray(self.asked.transformed(distribution), dtype=np.float64)

    def likelihood(self, free: FloatArray) -> FloatArray:
        """Without the pull, shape (trials, columns)."""
        rows = free.reshape(-1, 1, free.shape[-1])
        at_once = max(1, _VALUES_AT_ONCE // max(self.base.lives.durations.size, 1))
        parts = [self.base(rows[first : first + at_once])[:, 0] for first in range(0, rows.shape[0], at_once)]
        return np.concatenate(parts).reshape(free.shape[:-1])

    def __call__(self, free: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            value = self.likelihood(free) - 0.5 * self.weight * (self.quantity(free) - self.goals) ** 2
        return np.where(np.isfinite(value), value, -np.inf)


def _held(chosen: Chosen, asked: Quantity, roots: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points of the profile where parameters are many: the likelihood pulled towards values around the estimate.

    The pull depends on the quantity alone, so that each maximum is the best for the value at which it lies.
    """
    from relfit.fitting.estimates import jacobian
    from relfit.fitting.likelihood import LogLikelihood
    from relfit.numeric.newton import maximise

    fit = chosen.fit
    centre = fit.family.to_free(fit.parameter_array)[0]
    inverse = np.linalg.pinv(jacobian(fit.family, centre[None])[0])
    covariance = inverse @ fit.covariance[0] @ inverse.T
    base = LogLikelihood(fit.family, fit.lives)
    look = _Pulled(base, asked, np.zeros(1), 1.0)
    moves = 1e-4 * np.diag(np.sqrt(np.maximum(np.diag(covariance), 1e-12)))
    rise = look.quantity(centre + moves) - look.quantity(centre - moves)
    slope = rise / (2.0 * np.diag(moves))
    variance = float(slope @ covariance @ slope)
    own = float(look.quantity(centre))
    away = 1.6 * np.concatenate([-roots[::-1], roots]) * np.sqrt(variance)  # farther than Wald's limits reach
    pulled = _Pulled(base, asked, own + away, 30.0 / variance)
    start = centre + away[:, None] * (covariance @ slope / variance)
    best = maximise(pulled, start, tolerance=1e-6)
    free, found = best.free, best.found
    if found.any() and not found.all():  # from a neighbour where the search failed
        known = np.flatnonzero(found)
        lost = np.flatnonzero(~found)
        near = known[np.abs(known[:, None] - lost).argmin(axis=0)]
        again = maximise(pulled.take(lost), free[near], tolerance=1e-6)
        free[lost[again.found]] = again.free[again.found]
        found[lost[again.found]] = True
    values = asked.back(pulled.quantity(free))
    deviance = 2.0 * (float(look.likelihood(centre[None, None])[0, 0]) - pulled.likelihood(free[None])[0])
    values = np.where(found & (deviance > -1e-3) & (deviance < 1.05 * roots[-1] ** 2), values, np.nan)
    half = roots.size
    values = np.concatenate([values[:half], asked.back(np.array([own])), values[half:]])
    return values, np.concatenate([deviance[:half], [0.0], deviance[half:]])


def _limits(status: Any, low: float, high: float) -> str:
    word = str(status)
    if word == "open":
        return "no limits"
    if word == "open_low":
        return f"up to {style.figures(high)}"
    if word == "open_high":
        return f"{style.figures(low)} or more"
    if not (np.isfinite(low) and np.isfinite(high)):
        return "no limits found"
    return f"{style.figures(low)} to {style.figures(high)}"


def _scale(ax: Axes, axis: Any, values: FloatArray, own: float, log: bool) -> None:
    """Limits around the values; on a logarithmic axis not more than five decades from the estimate."""
    place = ax.set_xlim if axis is ax.xaxis else ax.set_ylim
    if log:
        (ax.set_xscale if axis is ax.xaxis else ax.set_yscale)("log")
        near = values[(values > own / 1e5) & (values < own * 1e5)]
        low, high = float(min(near.min(initial=own), own)), float(max(near.max(initial=own), own))
        room = max((high / low) ** 0.06, 1.001)
        style.decades(axis, low / room, high * room)
        place(low / room, high * room)
        return
    from matplotlib.ticker import MaxNLocator

    low, high = float(min(values.min(initial=own), own)), float(max(values.max(initial=own), own))
    room = 0.06 * (high - low) or 0.05 * abs(own) or 0.5
    axis.set_major_locator(MaxNLocator(6))
    axis.set_major_formatter("{x:,.10g}")
    place(low - room, high + room)


def _headroom(ax: Axes, share: float) -> None:
    """Room for the legend: make this share of the axes, at their top, empty."""
    low, high = ax.get_ylim()
    more = share / (1.0 - share)
    ax.set_ylim(low, high * (high / low) ** more if ax.get_yscale() == "log" else high + more * (high - low))


def _claim(chosen: Chosen, outer: FloatArray, level: float) -> str:
    """What the widest region says about ageing, where the shape decides that."""
    if chosen.family not in ("weibull", "gamma") or not np.isfinite(outer).all():
        return ""
    shape = outer[0]
    if shape.max() < 1.0:
        return f"; the shape is below 1 all over the {100 * level:.4g} % region"
    if shape.min() > 1.0:
        return f"; the shape is above 1 all over the {100 * level:.4g} % region"
    return f"; the {100 * level:.4g} % region includes a constant hazard (shape 1)"
