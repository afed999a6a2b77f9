"""`Draws`: parameters drawn from their calibrated distribution, so that planners can say how sure their answers are.

A rate of failures counted over a fixed time has, after Jeffreys, a gamma law with half an event more than was counted;
the mean of completed exponential repairs an inverse gamma law with as many as there were. Intervals from these laws
cover as they say even where events are few. Families are normal in their free coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.calibration.quantities import LEVEL, Duration, Quantity
from relfit.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

    from relfit.calibration.schema import FittedFamily, Mttr, Parameters
    from relfit.families import Family

__all__ = ["Draws", "draw", "free_slope", "law_quantile"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Draws(Mapping[str, FloatArray]):
    """Parameters drawn together; entry i of every array belongs to draw i.

    Attributes
    ----------
    arrays : dict from str to ndarray of float, shape (count,)
        By dotted name, as ``mtbf.node`` (hours), ``mttr.share_quick``, ``failure.shape``.
    kinds : dict from str to str
        Name of the family of ``failure`` and ``repair``.
    fixed : tuple of str
        Names whose uncertainty is not known: every draw has the same value.
    """

    arrays: dict[str, FloatArray]
    kinds: dict[str, str]
    fixed: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many draws there are."""
        return next(iter(self.arrays.values())).size if self.arrays else 0

    def __getitem__(self, name: str) -> FloatArray:
        """The draws of one parameter.

        Raises
        ------
        ArgumentError
            For one that is not there.
        """
        try:
            return self.arrays[name]
        except KeyError:
            raise ArgumentError(
                f"nothing was drawn for {name!r}", remedy=f"there is {', '.join(self.arrays) or 'nothing'}"
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self.arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    def interval(self, name: str, level: float = LEVEL) -> tuple[float, float]:
        """Limits between which a share `level` of the draws lies, as many below as above.

        Raises
        ------
        ArgumentError
            For an unknown name, or a level outside 0..1.
        """
        if not 0.0 < level < 1.0:
            raise ArgumentError(f"level {level} is not between 0 and 1", remedy="95 % is 0.95")
        low, high = np.quantile(self[name], [0.5 - level / 2.0, 0.5 + level / 2.0])
        return float(low), float(high)

    def family(self, name: str = "failure") -> Family:
        """The families drawn for ``failure`` or ``repair``, as a batch.

        Raises
        ------
        ArgumentError
            When the parameters have none.
        """
        from relfit.families import family_named

        if name not in self.kinds:
            raise ArgumentError(f"these parameters have no family for {name}", remedy="calibrate with families")
        kind = family_named(self.kinds[name])
        return kind(**{key: self.arrays[f"{name}.{key}"] for key in kind.parameter_names()})

    def to_frame(self) -> pd.DataFrame:
        """A row a draw, a column a parameter."""
        import pandas as pd

        return pd.DataFrame(self.arrays)

    def to_dict(self, level: float = LEVEL) -> dict[str, Any]:
        """Median and limits of every parameter, ready for JSON."""
        rows = {}
        for name, values in self.arrays.items():
            low, high = self.interval(name, level)
            rows[name] = {"median": float(np.median(values)), "low": low, "high": high}
        return {"count": self.count, "level": level, "parameters": rows, "fixed": list(self.fixed)}

    @property
    def sentence(self) -> str:
        """What the intervals of a planner's results leave out."""
        if not self.fixed:
            return "Every parameter was drawn."
        return f"The uncertainty of {', '.join(self.fixed)} is not known, so results look surer than they are."

    def __repr__(self) -> str:
        return f"Draws: {self.count} of {len(self.arrays)} parameters. {self.sentence}"


def draw(parameters: Parameters, count: int, rng: int | np.random.Generator | None) -> Draws:
    """Draw every parameter `count` times; each has a stream of its own, so that none changes with another.

    Raises
    ------
    ArgumentError
        For a count below 1.
    """
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise ArgumentError(f"{count!r} draws cannot be", remedy="give a whole number from 1 on")
    quantities = dict(parameters.quantities())
    names = _NAMES + tuple(name for name in quantities if name not in _NAMES)
    generator = np.random.default_rng(rng)
    streams = dict(zip((*names, "failure", "repair", "parts"), generator.spawn(len(names) + 3), strict=True))
    together = _together(parameters.mttr, count, streams["parts"])
    arrays: dict[str, FloatArray] = {}
    for name, quantity in quantities.items():
        if quantity.uncertain:
            at = together[name] if name in together else streams[name].uniform(size=count)
            arrays[name] = law_quantile(quantity, at)
        elif quantity.value is not None:
            arrays[name] = np.full(count, quantity.value)
    _mean_of_parts(parameters.mttr, arrays)
    kinds: dict[str, str] = {}
    for name, fitted in parameters.families():
        kinds[name] = fitted.family
        for key, values in _family(fitted, count, streams[name]).items():
            arrays[f"{name}.{key}"] = values
    return Draws(arrays, kinds, parameters.unknown_uncertainty)


# a fixed order, so that what is drawn for one does not depend on what else is known
_NAMES = (
    "mtbf.node", "mtbf.rack", "mtbf.group", "mtbf.system", "mtbf.any", "mtbf.outage",
    "mttr.mean", "mttr.quick", "mttr.slow", "mttr.share_quick", "mttr.split",
    "bad_nodes.fraction", "bad_nodes.factor", "bad_nodes.good_mtbf",
)  # fmt: skip


def law_quantile(quantity: Quantity, probability: npt.ArrayLike) -> FloatArray:
    """Quantiles of the law from which a quantity is drawn.

    Parameters
    ----------
    quantity : Quantity
        With an uncertainty.
    probability : array_like of float
        Strictly between 0 and 1.

    Examples
    --------
    >>> never = Duration(events=0, exposure=10_000.0)
    >>> law_quantile(never, 0.05).round(-1).item()
    5210.0
    """
    p = np.clip(np.asarray(probability, dtype=np.float64), 1e-12, 1.0 - 1e-12)
    law = quantity.drawn_by
    if isinstance(quantity, Duration) and law in ("poisson", "exponential"):
        assert quantity.events is not None
        assert quantity.exposure is not None
        spread = quantity.dispersion or 1.0
        shape = (quantity.events + (0.5 if law == "poisson" else 0.0)) / spread
        with np.errstate(divide="ignore", over="ignore"):
            rate = special.gammaincinv(shape, 1.0 - p) * spread / quantity.exposure
            return np.asarray(1.0 / np.maximum(rate, 1e-300))
    assert quantity.value is not None
    assert quantity.low is not None
    assert quantity.high is not None
    # two halves of a normal law around the value on the log or logit scale, one for each side of the interval
    z = special.ndtri(p)
    far = special.ndtri(0.5 + 0.5 * (quantity.level or LEVEL))
    if law == "logit-normal":
        middle, low, high = (special.logit(np.clip(x, 1e-12, 1.0 - 1e-12)) for x in _three(quantity))
        return np.asarray(special.expit(middle + np.where(z < 0.0, middle - low, high - middle) * z / far))
    middle, low, high = (np.log(x) for x in _three(quantity))
    return np.asarray(np.exp(middle + np.where(z < 0.0, middle - low, high - middle) * z / far))


def _three(quantity: Quantity) -> tuple[float, float, float]:
    assert quantity.value is not None
    assert quantity.low is not None
    assert quantity.high is not None
    return quantity.value, quantity.low, quantity.high


_PARTS = ("share_quick", "quick", "slow")


def _together(mttr: Mttr, count: int, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Probabilities at which the parts of the repairs and their mean are drawn, so that they agree.

    The parts are correlated as their estimates are (a Gaussian copula). The mean follows them: it is drawn from its own
    law at the probability at which the mean that the parts imply lies, to first order, within its own.
    """
    parts = [getattr(mttr, name) for name in _PARTS]
    if mttr.correlation is None or not all(part is not None and part.uncertain for part in parts):
        return {}
    values, vectors = np.linalg.eigh(np.asarray(mttr.correlation))
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    z = rng.standard_normal((count, 3)) @ factor.T
    found = {f"mttr.{name}": np.asarray(special.ndtr(z[:, i])) for i, name in enumerate(_PARTS)}
    share, quick, slow = (part.value for part in parts)
    slope = np.array([share * (1.0 - share) * (quick - slow), share * quick, (1.0 - share) * slow])
    spread = np.array([special.logit(parts[0].high) - special.logit(parts[0].low) if parts[0].low > 0.0 else 0.0,
                       *(np.log(part.high / part.low) for part in parts[1:])])  # fmt: skip
    direction = slope * np.where(np.isfinite(spread), spread, 0.0)
    norm = float(np.linalg.norm(factor.T @ direction))
    if norm > 0.0:
        found["mttr.mean"] = np.asarray(special.ndtr(z @ direction / norm))
    return found


def _mean_of_parts(mttr: Mttr, arrays: dict[str, FloatArray]) -> None:
    """Where only the parts are known, the mean of all repairs follows from them in every draw."""
    names = ("mttr.quick", "mttr.slow", "mttr.share_quick")
    if "mttr.mean" not in arrays and all(name in arrays for name in names):
        share = arrays["mttr.share_quick"]
        arrays["mttr.mean"] = share * arrays["mttr.quick"] + (1.0 - share) * arrays["mttr.slow"]


def _family(fitted: FittedFamily, count: int, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Parameters of a family, normal in its free coordinates."""
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
    """Derivative of the free coordinates by the parameters, by central differences."""
    columns = []
    for i, value in enumerate(centre):
        step = np.zeros(centre.size)
        step[i] = 1e-6 * (min(abs(value), abs(1.0 - value)) if kind.domains[i] == "fraction" else abs(value) or 1.0)
        columns.append((kind.to_free(centre + step) - kind.to_free(centre - step)) / (2.0 * step[i]))
    return np.stack(columns, axis=1)
