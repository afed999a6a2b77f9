"""`draw_parameters`: draws of calibrated parameters, for the uncertainty of plans.

A rate from a count is gamma with half an event more than counted (Jeffreys), a mean of exponential repairs inverse
gamma with their number: these cover with few events. Distributions are normal in their free coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.base.arguments import random_stream, whole
from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.levels import level_checked
from relfit.base.results import Result, json_ready
from relfit.fitting.families import Family, family_named
from relfit.fleet.calibration.parameter_values import LEVEL, Duration, Quantity
from relfit.fleet.calibration.schema import FittedFamily, Mttr, Parameters

_PARTS = ("share_quick", "quick", "slow")
# a fixed order, so that the draws of one do not depend on which others are known
_NAMES = (
    *(f"mtbf.{name}" for name in ("node", "rack", "group", "system", "any", "outage")),
    *(f"mttr.{name}" for name in ("mean", "quick", "slow", "share_quick", "split")),
    *(f"bad_nodes.{name}" for name in ("fraction", "factor", "good_mtbf")),
)
_LATER = ("mttr.rack_node", "mttr.group_node", "fleet.down_scatter")


class Draws(Result, Mapping[str, FloatArray]):
    """Parameters drawn together, a mapping from names to arrays; entry i of every array belongs to draw i.

    Attributes
    ----------
    arrays : dict of str to ndarray of float, shape (n_draws,)
        By dotted name, such as ``mtbf.node`` (hours), ``mttr.share_quick``, ``failure.shape``.
    kinds : dict of str to str
        Name of the distribution of ``failure`` and ``repair``.
    fixed : tuple of str
        Parameters of unknown uncertainty, the same in every draw.
    """

    arrays: dict[str, FloatArray]
    kinds: dict[str, str]
    fixed: tuple[str, ...]

    @property
    def count(self) -> int:
        """Number of draws."""
        return next(iter(self.arrays.values())).size if self.arrays else 0

    def __getitem__(self, name: str) -> FloatArray:
        """The draws of one parameter; an `ArgumentError` for an unknown name."""
        if name not in self.arrays:
            listed = ", ".join(self.arrays) or "nothing"
            raise ArgumentError(f"nothing was drawn for {name!r}", remedy=f"drawn are {listed}")
        return self.arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self.arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def interval(self, name: str, level: float = LEVEL) -> tuple[float, float]:
        """The central interval that contains a share `level` of the draws.

        Parameters
        ----------
        name : str
            Dotted name of a parameter.
        level : float
            Between 0 and 1.

        Returns
        -------
        tuple of float
            Lower and upper limit.

        Raises
        ------
        ArgumentError
            For an unknown name, or a level outside 0..1.
        """
        half = 0.5 * level_checked(level)
        low, high = np.quantile(self[name], [0.5 - half, 0.5 + half])
        return float(low), float(high)

    def family(self, name: str = "failure") -> Family:
        """The draws of a distribution, as a batch of shape (n_draws,).

        Parameters
        ----------
        name : {"failure", "repair"}

        Raises
        ------
        ArgumentError
            If the parameters have no such distribution.
        """
        if name not in self.kinds:
            raise ArgumentError(f"these parameters have no family for {name}", remedy="calibrate with families")
        kind = family_named(self.kinds[name])
        return kind(**{key: self.arrays[f"{name}.{key}"] for key in kind.parameter_names()})

    def to_frame(self) -> pd.DataFrame:
        """One row per draw, one column per parameter."""
        return pd.DataFrame(self.arrays)

    def to_dict(self) -> dict[str, Any]:
        """Median and 95 % interval of every parameter, ready for JSON."""
        rows = {name: (float(np.median(v)), *self.interval(name)) for name, v in self.arrays.items()}
        named = {name: dict(zip(("median", "low", "high"), row, strict=True)) for name, row in rows.items()}
        return json_ready({"n_draws": self.count, "level": LEVEL, "parameters": named, "fixed": self.fixed})

    @property
    def headline(self) -> str:
        """How many draws there are, and which parameters keep one value."""
        if not self.fixed:
            return f"{self.count:,} draws of {len(self.arrays)} parameters."
        return f"The uncertainty of {', '.join(self.fixed)} is not known, so results look more precise than they are."


def draw_parameters(parameters: Parameters, n_draws: int = 1000, rng: int | np.random.Generator | None = 0) -> Draws:
    """Draw all parameters from their uncertainty.

    Each parameter has its own random stream, so its draws do not depend on which others are known; only the mean and
    the kinds of repairs are drawn together.

    Parameters
    ----------
    parameters : Parameters
    n_draws : int
        Number of draws, 1 or more.
    rng : int or numpy.random.Generator
        The same seed gives the same draws.

    Raises
    ------
    ArgumentError
        For a number of draws below 1.

    Examples
    --------
    >>> params = Parameters(mtbf={"value": 20000, "low": 15000, "high": 27000, "level": 0.9})
    >>> draws = draw_parameters(params, 10_000, rng=1)
    >>> [round(limit, -3) for limit in draws.interval("mtbf.node", 0.9)]
    [15000.0, 27000.0]
    """
    count = int(whole("n_draws", n_draws))
    quantities = dict(parameters.quantities())
    names = _NAMES + tuple(name for name in quantities if name not in _NAMES + _LATER)
    names += ("failure", "repair", "parts", *_LATER)
    streams = dict(zip(names, random_stream(rng).spawn(len(names)), strict=True))
    together = _together(parameters.mttr, count, streams["parts"])
    arrays: dict[str, FloatArray] = {}
    for name, quantity in quantities.items():
        if quantity.uncertain:
            at = together[name] if name in together else streams[name].uniform(size=count)
            arrays[name] = quantity_quantile(quantity, at)
        elif quantity.value is not None:
            arrays[name] = np.full(count, quantity.value)
    names_of_parts = [f"mttr.{name}" for name in _PARTS]
    if "mttr.mean" not in arrays and all(name in arrays for name in names_of_parts):
        part, quick, slow = (arrays[name] for name in names_of_parts)
        arrays["mttr.mean"] = part * quick + (1.0 - part) * slow
    for name, fitted in parameters.families():
        arrays |= {f"{name}.{key}": values for key, values in _family(fitted, count, streams[name]).items()}
    kinds = {name: fitted.family for name, fitted in parameters.families()}
    return Draws(arrays, kinds, parameters.unknown_uncertainty)


def quantity_quantile(quantity: Quantity, probability: npt.ArrayLike) -> FloatArray:
    """Quantiles of the distribution of a quantity's draws; the quantity has an uncertainty."""
    p = np.clip(np.asarray(probability, dtype=np.float64), 1e-12, 1.0 - 1e-12)
    kind = quantity.drawn_by
    if isinstance(quantity, Duration) and kind in ("poisson", "exponential"):
        spread = quantity.dispersion or 1.0
        shape = ((quantity.events or 0) + (0.5 if kind == "poisson" else 0.0)) / spread
        with np.errstate(divide="ignore", over="ignore"):
            rate = special.gammaincinv(shape, 1.0 - p) * spread / (quantity.exposure or np.nan)
            return np.asarray(1.0 / np.maximum(rate, 1e-300))
    # half-normal distributions on the log or logit scale, one for each side of the interval
    shares = kind == "logit-normal"
    ends = np.array([quantity.low, quantity.value, quantity.high], dtype=np.float64)
    low, middle, high = special.logit(np.clip(ends, 1e-12, 1.0 - 1e-12)) if shares else np.log(ends)
    z, far = special.ndtri(p), special.ndtri(0.5 + 0.5 * (quantity.level or LEVEL))
    at = middle + np.where(z < 0.0, middle - low, high - middle) * z / far
    return np.asarray(special.expit(at) if shares else np.exp(at))


def _together(mttr: Mttr, count: int, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Probabilities at which the parts of the repairs and their mean are drawn, so that they agree: a Gaussian copula
    with the correlation of the parts' estimates, and the mean at the probability that they imply, to first order.
    """
    parts = [getattr(mttr, name) for name in _PARTS]
    if mttr.correlation is None or not all(part is not None and part.uncertain for part in parts):
        return {}
    values, vectors = np.linalg.eigh(np.asarray(mttr.correlation))
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    z = rng.standard_normal((count, 3)) @ factor.T
    normal = {f"mttr.{name}": np.asarray(special.ndtr(z[:, i])) for i, name in enumerate(_PARTS)}
    share, quick, slow = (part.value for part in parts)
    slope = np.array([share * (1.0 - share) * (quick - slow), share * quick, (1.0 - share) * slow])
    wide = special.logit(parts[0].high) - special.logit(parts[0].low)  # infinite from a low limit of zero
    spread = np.array([wide, *(np.log(part.high / part.low) for part in parts[1:])])
    direction = slope * np.where(np.isfinite(spread), spread, 0.0)
    norm = float(np.linalg.norm(factor.T @ direction))
    if norm > 0.0:
        normal["mttr.mean"] = np.asarray(special.ndtr(z @ direction / norm))
    return normal


def _family(fitted: FittedFamily, count: int, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Draws of the parameters of a distribution, normal in its free coordinates."""
    kind = type(fitted.distribution())
    names = kind.parameter_names()
    centre = np.array([fitted.parameters[name] for name in names])
    if fitted.covariance is None:
        return {name: np.full(count, value) for name, value in zip(names, centre, strict=True)}
    free = kind.to_free(centre)
    slope = free_slope(kind, centre)
    covariance = slope @ np.asarray(fitted.covariance) @ slope.T
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = kind.from_free(free + rng.standard_normal((count, len(names))) @ factor.T)
    return {name: drawn[:, i] for i, name in enumerate(names)}


def free_slope(kind: type[Family], centre: FloatArray) -> FloatArray:
    """Derivatives of the free coordinates with respect to the parameters, by central differences."""
    columns = []
    for i, value in enumerate(centre):
        step = np.zeros(centre.size)
        step[i] = 1e-6 * (min(abs(value), abs(1.0 - value)) if kind.domains[i] == "fraction" else abs(value) or 1.0)
        columns.append((kind.to_free(centre + step) - kind.to_free(centre - step)) / (2.0 * step[i]))
    return np.stack(columns, axis=1)
