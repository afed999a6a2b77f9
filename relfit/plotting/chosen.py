"""What a figure of fits is of: one family and one group, its name, its unit, its observed points and its bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError
from relfit.families import Family
from relfit.fitting import Fits
from relfit.fitting.family_fit import FamilyFit
from relfit.lifedata import LifeData
from relfit.plotting import style
from relfit.plotting.nodes import group_name

__all__ = [
    "Chosen",
    "Points",
    "band",
    "band_label",
    "choose",
    "choose_several",
    "family_words",
    "kind_checked",
    "level_checked",
    "observed_points",
    "thinned",
    "unit",
]

FloatArray = npt.NDArray[np.float64]
_HOURS = ("scale", "threshold", "mean", "median")
_PER_HOUR = ("rate", "growth", "hazard")
_LOG_HOURS = ("meanlog", "mu")


@dataclass(frozen=True)
class Chosen:
    """One family fitted to one group.

    Attributes
    ----------
    fit : FamilyFit
        Of this group alone.
    name : str
        The group, in words that matplotlib takes literally.
    measure : str
        What a life is: ``time to failure``, ``time to repair`` or ``life``.
    ended : str
        What happens at its end: ``failed`` or ``repaired``.
    """

    fit: FamilyFit
    name: str
    measure: str
    ended: str

    @property
    def family(self) -> str:
        """Name of the family."""
        return self.fit.name

    @property
    def called(self) -> str:
        """The family as text has it."""
        return family_words(self.family)

    @property
    def lives(self) -> LifeData:
        """Lives of the group."""
        return self.fit.lives

    @property
    def ok(self) -> bool:
        """Whether there is a fit."""
        return bool(self.fit.ok[0])

    @property
    def distribution(self) -> Family:
        """The fitted distribution."""
        return self.fit.distribution[0]

    @property
    def title(self) -> str:
        """Group and measure."""
        return f"{self.name}, {self.measure}" if self.name else self.measure

    @property
    def event(self) -> str:
        """What ends a life."""
        return "repair" if self.ended == "repaired" else "failure"

    @property
    def why(self) -> str:
        """Why there is no fit, in words."""
        from relfit.fitting.status import MEANING

        word = str(self.fit.status[0])
        return f"no {self.called} fit ({MEANING.get(word, word)})"


def choose(fits: Fits | FamilyFit, group: Any = None, family: str | None = None) -> Chosen | None:
    """The fit of one family to one group, or None when there are no groups.

    Parameters
    ----------
    fits : Fits or FamilyFit
    group : label, optional
        The first group when left out.
    family : str, optional
        For `Fits`, the best of that group by AICc when left out.

    Raises
    ------
    ArgumentError
        For a group or family that is not there, or something that is not a fit.
    """
    several = choose_several(fits, group, None if family is None else [family])
    if several is None:
        return None
    if family is None and len(several) > 1:
        scores = [float(one.fit.aicc[0]) if one.ok else np.inf for one in several]
        usable = [one for one in several if one.ok]
        if np.isfinite(scores).any():
            return several[int(np.nanargmin(scores))]
        return usable[0] if usable else several[0]
    return several[0]


def choose_several(
    fits: Fits | FamilyFit, group: Any = None, families: str | Sequence[str] | None = None
) -> list[Chosen] | None:
    """Fits of some families (all when left out) to one group; see `choose`."""
    from relfit.fitting import Fits
    from relfit.fitting.family_fit import FamilyFit

    names = [families] if isinstance(families, str) else families
    if isinstance(fits, FamilyFit):
        if names is not None and list(names) != [fits.name]:
            raise ArgumentError(
                f"these are fits of the {fits.name} family, not of {', '.join(map(str, names))}",
                remedy="give the result of rf.fit, which has all fitted families",
            )
        chosen = [fits]
    elif isinstance(fits, Fits):
        if names is not None and not list(names):
            raise ArgumentError("no family to draw", remedy=f"use some of {', '.join(fits.families)}")
        chosen = [fits[name] for name in (fits.families if names is None else names)]
    else:
        raise ArgumentError(
            f"a {type(fits).__name__} is not a fit", remedy="give the result of rf.fit, or one family of it"
        )
    lives = fits.lives
    if lives.n_groups == 0:
        return None
    position = 0 if group is None else lives.position(group)
    measure = {"ttf": "time to failure", "ttr": "time to repair"}.get(lives.measure, "life")
    ended = "repaired" if lives.measure == "ttr" else "failed"
    name = _words(lives, position)
    return [Chosen(fit.take([position]), name, measure, ended) for fit in chosen]


def family_words(name: str) -> str:
    """Name of a family as text has it.

    Examples
    --------
    >>> family_words("generalised_gamma")
    'generalised gamma'
    """
    return name.replace("_", " ")


def level_checked(level: float) -> float:
    """The level of a band or region as a number between 0 and 1.

    Raises
    ------
    ArgumentError
        When it is anything else.
    """
    if not (isinstance(level, (int, float, np.number)) and 0.0 < level < 1.0):
        raise ArgumentError(f"level {level} is not between 0 and 1", remedy="95 % is 0.95")
    return float(level)


def kind_checked(kind: str | None) -> str | None:
    """The kind of interval that a band consists of; None for no band.

    Raises
    ------
    ArgumentError
        When there is no such kind.
    """
    from relfit.fitting import INTERVAL_KINDS

    if kind is not None and kind not in INTERVAL_KINDS:
        raise ArgumentError(
            f"no interval of kind {kind!r}", remedy=f"use one of {', '.join(INTERVAL_KINDS)}, or None for no band"
        )
    return kind


def unit(name: str, family: str = "") -> str:
    """A quantity or parameter with its unit, as an axis shows it.

    Examples
    --------
    >>> unit("scale"), unit("rate"), unit("shape")
    ('scale (hours)', 'rate (per hour)', 'shape (no unit)')
    """
    if name in _LOG_HOURS:
        return f"{name} (log hours)"
    if name.startswith(_HOURS) or (name, family) == ("shape", "inverse_gaussian"):
        return f"{name} (hours)"
    return f"{name} ({'per hour' if name.startswith(_PER_HOUR) else 'no unit'})"


# ----------------------------------------------------------------------- points


@dataclass(frozen=True)
class Points:
    """Where the observed ends of lives stand on probability paper.

    Attributes
    ----------
    first, last : ndarray of float, shape (points,)
        Hours between which a point's lives ended; equal where the time is known.
    share : ndarray of float, shape (points,)
        Estimated share that has ended by then.
    low, high : ndarray of float, shape (points,)
        Limits for that share under any continuous distribution; NaN where none are known.
    hidden : int
        Observed ends without a point: they came after the Kaplan-Meier estimate had fallen to zero.
    how : str
        Name of the estimate.
    """

    first: FloatArray
    last: FloatArray
    share: FloatArray
    low: FloatArray
    high: FloatArray
    hidden: int
    how: str

    @property
    def exact(self) -> bool:
        """Whether all times are known."""
        return bool((self.first == self.last).all())

    def take(self, kept: npt.NDArray[Any]) -> Points:
        """Some of the points."""
        arrays = (self.first, self.last, self.share, self.low, self.high)
        first, last, share, low, high = (values[kept] for values in arrays)
        return Points(first, last, share, low, high, self.hidden, self.how)


def observed_points(chosen: Chosen, level: float) -> Points:
    """Plotting positions of one group's lives, by the estimate that answers to their kind.

    Median ranks adjusted for censoring; the steps of Kaplan-Meier for delayed entry; Turnbull's masses for lives in
    intervals and right truncation. Where no life was under observation from age 0 on, or none was left out only beyond
    some age, the data give shares of what could be seen; the fit says what share that is.
    """
    from relfit.nonparametric import plotting_positions, turnbull

    lives = chosen.lives
    if lives.upper is not None or lives.exit is not None:
        masses = turnbull(lives)
        share = np.cumsum(masses.mass) - 0.5 * masses.mass
        kept = (masses.mass > 1e-12) & np.isfinite(masses.right)
        none = np.full(int(kept.sum()), np.nan)
        points = Points(masses.left[kept], masses.right[kept], share[kept], none, none, 0, "Turnbull")
    else:
        method = "median" if lives.entry is None else "kaplan-meier"
        found = plotting_positions(lives, method, level)
        hidden = int(lives.n_failures[0]) - found.times.size
        how = "median ranks" if lives.entry is None else "Kaplan-Meier"
        points = Points(found.times, found.times, found.position, found.low, found.high, hidden, how)
    entry = 0.0 if lives.entry is None or not lives.entry.size else float(lives.entry.min())
    leave = np.inf if lives.exit is None or not lives.exit.size else float(lives.exit.max())
    if chosen.ok and (entry > 0.0 or leave < np.inf):
        bottom = float(chosen.distribution.cdf(entry)) if entry > 0.0 else 0.0
        top = float(chosen.distribution.cdf(leave)) if leave < np.inf else 1.0
        share, low, high = (bottom + (top - bottom) * v for v in (points.share, points.low, points.high))
        points = Points(points.first, points.last, share, low, high, points.hidden, points.how)
    return points


def thinned(values: FloatArray, most: int) -> npt.NDArray[np.int64]:
    """Positions of at most about `most` of these rising values: evenly along their logarithm and along their ranks."""
    if values.size <= most:
        return np.arange(values.size)
    by_rank = np.linspace(0, values.size - 1, most // 2).astype(np.int64)
    first = float(values[values > 0][0]) if (values > 0).any() else 1.0
    by_value = np.searchsorted(values, np.geomspace(first, max(float(values[-1]), first), most // 2))
    return np.unique(np.concatenate([by_rank, by_value.clip(0, values.size - 1)]))


def band(
    chosen: Chosen, quantity: str, at: FloatArray, level: float, kind: str | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Estimate, lower and upper limit of a quantity at each of `at`; NaN limits where the kind has none.

    Wald and profile limits exist for maximum likelihood only; fits by another method get none of these.
    """
    fit = chosen.fit
    nothing = np.full(at.size, np.nan)
    if kind is None or (kind in ("wald", "profile") and fit.method != "maximum likelihood"):
        evaluate = chosen.distribution.quantile if quantity == "quantile" else chosen.distribution.hazard
        with np.errstate(all="ignore"):
            return np.asarray(evaluate(at), dtype=np.float64), nothing, nothing
    found = [fit.interval(quantity, at=float(x), kind=kind, level=level) for x in at]
    estimate, low, high = (np.array([getattr(f, n)[0] for f in found]) for n in ("estimate", "low", "high"))
    return estimate, low, high


def band_label(level: float, kind: str | None) -> str:
    """What the legend calls a band."""
    words = {"wald": "Wald", "resample": "resampled"}
    return f"{100 * level:.4g} % band ({words.get(str(kind), str(kind))}, pointwise)"


def _words(lives: LifeData, position: int) -> str:
    """The group's name; a number alone says what it numbers, and a single group without a name says nothing."""
    label, key = lives.groups[position], str(lives.groups.name or "")
    if isinstance(label, tuple):
        return style.plain(group_name(label))
    if key in ("system", "node"):
        return style.plain(f"{key} {label}")
    if key == "group" and label == "all":  # as `LifeData.pooled` calls them
        return "all lives"
    if key == "group" and isinstance(label, (int, np.integer)):
        return f"group {label}" if lives.n_groups > 1 else ""
    return style.plain(group_name(label))
