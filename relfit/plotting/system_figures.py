"""What a system of nodes is said to do, with its uncertainty, and how that compares with what happened."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError
from relfit.plotting import style
from relfit.plotting._registry import plot
from relfit.results import Interval
from relfit.system import System
from relfit.text import p_value
from relfit.validation._calibration_curve import CalibrationCurve
from relfit.validation.replay_results import Replay
from relfit.validation.system_chi_square import SystemChiSquare

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["calibration", "chi_square_bins", "interval_band", "reliability_curve"]

FloatArray = npt.NDArray[np.float64]

_NAMES = {
    "reliability": "reliability",
    "cdf": "probability of failure",
    "cumulative_hazard": "cumulative hazard",
    "hazard": "failure rate (per hour)",
    "pdf": "density (per hour)",
    "quantile": "time to failure (hours)",
    "mttf": "mean time to failure (hours)",
    "mean_residual_life": "mean time left (hours)",
    "truncated_mean": "mean time to failure or horizon (hours)",
}
_POINTS = 80
_DRAWS = 399


def reliability_curve(
    system: System,
    until: Any = None,
    ax: Axes | None = None,
    *,
    level: float | None = 0.95,
    label: str | None = None,
    colour: str = style.BLUE,
) -> Axes:
    """Reliability of a system over the length of a job, with its limits where the system was made from fits.

    Parameters
    ----------
    system : System
    until : float or duration, optional
        Longest job; where reliability falls to 2 % when left out.
    ax : matplotlib Axes, optional
    level : float or None
        Of the band; None draws none.
    label : str, optional
        For the legend.
    colour : str

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import relfit as rf
    >>> from matplotlib.figure import Figure
    >>> system = rf.System(rf.families.Weibull(0.8606, [1542.0] * 3), ages=200.0)
    >>> reliability_curve(system, "30 days", ax=Figure().add_subplot()).get_xlabel()
    'length of the job (hours)'
    """
    from relfit.units import hours

    last = float(system.quantile(0.98)) if until is None else hours(until)
    if not (last > 0.0 and np.isfinite(last)):
        raise ArgumentError(f"a curve until {last:g} hours", remedy="give until=, in hours or as '72h'")
    x = np.linspace(0.0, last, _POINTS)
    ax = style.axes(ax)
    value = system.reliability(x)
    ax.plot(x, value, color=colour, linewidth=1.8, label=style.plain(label or f"{system.n_nodes} nodes"))
    message = f"a job of {style.figures(last)} h on {system.n_nodes:,} nodes survives with {style.percent(value[-1])}"
    if level is not None and system.origin is not None:
        found = system.interval("reliability", x, level, n_draws=_DRAWS)
        ax.fill_between(
            x, found.low, found.high, color=colour, alpha=0.18, linewidth=0,
            label=f"{100 * level:g} % limits",
        )  # fmt: skip
        message += f" ({100 * level:g} % limits {style.percent(found.low[-1])} to {style.percent(found.high[-1])})"
    ax.set_ylim(0.0, 1.02)
    ax.set_xlim(0.0, last)
    return style.finish(ax, message, "length of the job (hours)", "reliability", True)


@plot.register(Interval)
def interval_band(result: Interval, ax: Axes | None = None, *, colour: str = style.BLUE) -> Axes:
    """A quantity of a system with its limits: over its argument, or over the number of nodes.

    Parameters
    ----------
    result : Interval
        By size with one argument at most, or over an argument of one dimension.
    ax : matplotlib Axes, optional
    colour : str

    Examples
    --------
    >>> import relfit as rf
    >>> from matplotlib.figure import Figure
    >>> fits = rf.fit(rf.LifeData.from_array(rf.families.Weibull(0.8, 1000.0).sample(60, rng=1)), "weibull")
    >>> found = rf.system_from_fits(fits, nodes=4).interval("hazard", [1.0, 24.0, 72.0])
    >>> interval_band(found, ax=Figure().add_subplot()).get_ylabel()
    'failure rate (per hour)'
    """
    if "nodes" in result.labels.names and result.labels.nlevels > 1:
        raise ArgumentError("by size, a plot shows one horizon", remedy="ask for one")
    ax = style.axes(ax)
    if result.labels.name == "nodes":
        x, where = result.labels.to_numpy(dtype=np.float64), "nodes"
    elif result.at is not None and result.at.size > 1:
        x = result.at.ravel()
        where = "probability of failure" if result.quantity == "quantile" else "time from now (hours)"
    else:
        x, where = np.zeros(1), ""
    order = np.argsort(x, kind="stable")
    x = x[order]
    value, low, high = (np.ravel(v)[order] for v in (result.estimate, result.low, result.high))
    shown = np.isfinite(value)
    name = _NAMES.get(result.quantity, result.quantity)
    limits = f"{100 * result.level:g} % limits"
    if x.size == 1:
        ax.errorbar([0.0], value, yerr=[value - low, high - value], fmt="o", color=colour, capsize=4, label=limits)
        ax.set_xticks([])
    else:
        ax.plot(x[shown], value[shown], color=colour, linewidth=1.8)
        ax.fill_between(x[shown], low[shown], high[shown], color=colour, alpha=0.18, linewidth=0, label=limits)
    if result.quantity in ("reliability", "cdf"):
        ax.set_ylim(0.0, 1.02)
    last = np.flatnonzero(shown)[-1] if shown.any() else 0
    at = "" if x.size == 1 else f" at {style.figures(float(x[last]))}{' nodes' if where == 'nodes' else ''}"
    message = (
        f"{name.split(' (')[0]}{at}: {style.figures(float(value[last]))}, "
        f"limits {style.figures(float(low[last]))} to {style.figures(float(high[last]))}"
    )
    if where == "nodes" and result.at is not None:
        name += f" after {style.figures(float(result.at.ravel()[0]))} h"
    return style.finish(ax, message, where, name, True)


@plot.register(Replay)
@plot.register(CalibrationCurve)
def calibration(
    result: Replay | CalibrationCurve,
    ax: Axes | None = None,
    *,
    families: str | list[str] | None = None,
    bins: int | None = None,
) -> Axes:
    """Share of jobs that survived by the probability that was predicted for them; on the diagonal they agree.

    Parameters
    ----------
    result : Replay or CalibrationCurve
    ax : matplotlib Axes, optional
    families : str or list of str, optional
        Of a replay; all when left out.
    bins : int, optional
        Of a replay, with about equal numbers of jobs; see `Replay.calibration`.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from relfit.validation import calibration_curve
    >>> p = np.linspace(0.05, 0.95, 500)
    >>> found = calibration_curve(p, np.random.default_rng(1).random(500) < p, bins=5)
    >>> calibration(found, ax=Figure().add_subplot()).get_xlabel()
    'predicted reliability'
    """
    ax = style.axes(ax, (5.4, 5.2))
    if isinstance(result, Replay):
        names = list(result.families) if families is None else [families] if isinstance(families, str) else families
        curves = [result.calibration(name, bins) for name in names]
    else:
        curves = [result]
    left = _rounded_down(min(float(c.predicted.min()) for c in curves))
    bottom = min(_rounded_down(min(float(c.low.min()) for c in curves)), left)
    start = left if 1.0 - bottom > 2.0 * (1.0 - left) else bottom  # a square, unless predictions are all alike
    ax.plot([bottom, 1.0], [bottom, 1.0], color=style.GREY, linewidth=1.0, zorder=1)
    for number, curve in enumerate(curves):
        mark = style.family_mark(curve.name)
        shift = 0.004 * (1.0 - start) * (number - 0.5 * (len(curves) - 1))  # so that limits do not hide each other
        reach = np.maximum(np.stack([curve.observed - curve.low, curve.high - curve.observed]), 0.0)
        ax.errorbar(
            curve.predicted + shift, curve.observed, yerr=reach, fmt=mark.marker, color=mark.colour, markersize=5,
            linewidth=1.2, capsize=2.5, label=f"{style.plain(curve.name)}, Brier score {curve.brier:.4f}",
        )  # fmt: skip
        ax.plot(curve.predicted + shift, curve.observed, color=mark.colour, linewidth=0.8, alpha=0.5)
    ax.set_xlim(start, 1.0 + 0.02 * (1.0 - start))
    ax.set_ylim(bottom, 1.0 + 0.02 * (1.0 - bottom))
    if start == bottom:
        ax.set_aspect("equal", adjustable="box")
    first = curves[0]
    off = first.observed - first.predicted
    worst = int(np.argmax(np.abs(off)))
    inside = f"{int(first.inside.sum())} of {first.count.size} bins"
    message = f"{first.name}: {inside} agree within {100 * first.level:g} % limits"
    if not first.inside.all():
        message += f"; farthest off at {style.percent(first.predicted[worst])}: {100 * off[worst]:+.0f} points"
    return style.finish(
        ax,
        message,
        "predicted reliability",
        "share that survived",
        True,
        loc="upper left" if start == bottom else "lower right",
    )


def _rounded_down(share: float) -> float:
    """A twentieth, or a hundredth where little is left, below a share."""
    step = 20.0 if share < 0.9 else 100.0
    return float(np.floor(max(share - 0.2 * (1.0 - share), 0.0) * step) / step)


@plot.register(SystemChiSquare)
def chi_square_bins(result: SystemChiSquare, ax: Axes | None = None) -> Axes:
    """Observed and expected numbers of failures by time to failure (reliability-aware allocation, Figure 4.3).

    Parameters
    ----------
    result : SystemChiSquare
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import relfit as rf
    >>> from matplotlib.figure import Figure
    >>> from relfit.validation import chi_square
    >>> system = rf.System(rf.families.Weibull(0.8, [1000.0] * 2), ages=600.0)
    >>> found = chi_square(system.sample(100, rng=1), system)
    >>> chi_square_bins(found, ax=Figure().add_subplot()).get_ylabel()
    'failures'
    """
    ax = style.axes(ax, (7.2, 4.0))
    place = np.arange(result.observed.size, dtype=np.float64)
    ax.bar(place - 0.2, result.observed, 0.38, color=style.BLUE, label="observed")
    ax.bar(place + 0.2, result.expected, 0.38, color=style.GREY, label="expected")
    top = float(max(result.observed.max(), result.expected.max()))
    for x, value, high in zip(
        place, result.contributions, np.maximum(result.observed, result.expected), strict=True
    ):  # fmt: skip
        ax.text(x, high + 0.015 * top, f"{value:.2f}", ha="center", va="bottom", fontsize=8, color=style.INK)
    ends = [style.figures(float(edge)) for edge in result.edges[:-1]]
    labels = [f"{a} to {b}" for a, b in pairwise(ends)] + [f"over {ends[-1]}"]
    ax.set_xticks(place, labels)
    if len(labels) > 7:
        ax.tick_params(axis="x", rotation=30)
    ax.grid(visible=False, axis="x")
    ax.set_ylim(0.0, 1.16 * top)
    message = (
        f"{'disagrees' if result.rejected else 'agrees'}: chi-square {result.statistic:.3f} (shares above the bars), "
        f"critical {result.critical:.3f} at {result.degrees} degrees of freedom, {p_value(result.p)}"
    )
    return style.finish(ax, message, "time to failure (hours)", "failures", True)
