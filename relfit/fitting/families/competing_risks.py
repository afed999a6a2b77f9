"""Competing risks: several causes, each with its own life; the first to come ends the node's life."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.fitting.families.base import Family
from relfit.fitting.families.distribution import ByHazard, Distribution, log_sum

_SPENT = 45.0  # cumulative hazard beyond which survival is negligible


class CompetingRisks(ByHazard):
    """The shortest of independent lives, one per cause: ``S(t) = S_1(t) S_2(t) ...`` (a series system).

    Source: Lawless, Statistical Models and Methods for Lifetime Data, chapter 9.

    Parameters
    ----------
    causes : mapping of str to Distribution, or sequence of Distribution
        The life that each cause alone would give; without names the causes are called ``cause_1``, ``cause_2``, ...
        Batches broadcast.

    Raises
    ------
    ArgumentError
        Without a cause, where a cause is not a distribution or has lives of zero, or where batches do not fit together.

    Examples
    --------
    >>> from relfit.fitting.families import Exponential, Weibull
    >>> both = CompetingRisks({"power": Exponential(0.001), "disk": Weibull(2.0, 2000.0)})
    >>> both.sf(1000.0).round(4).tolist()
    0.2865
    >>> both.cumulative_incidence("power", 1000.0).round(4).tolist()
    0.5946
    """

    name = "competing_risks"

    def __init__(self, causes: Mapping[str, Distribution] | Sequence[Distribution]) -> None:
        if not isinstance(causes, Mapping):
            causes = {f"cause_{i}": cause for i, cause in enumerate(causes, start=1)}
        if not causes:
            raise ArgumentError("no cause to compete", remedy="give a family for each cause")
        for name, cause in causes.items():
            if not isinstance(cause, Distribution):
                raise ArgumentError(
                    f"cause {name!r} is not a distribution but {type(cause).__name__}",
                    remedy="give a value such as Weibull(0.8, 1000.0)",
                )
            if np.any(cause.log_sf(0.0) < 0.0):
                raise ArgumentError(
                    f"cause {name!r} has durations of zero", remedy="leave the zeros out, or count them separately"
                )
        self._causes = dict(causes)
        try:
            self._batch_shape = np.broadcast_shapes(*(cause.batch_shape for cause in self._causes.values()))
        except ValueError:
            shapes = ", ".join(f"{name} {cause.batch_shape}" for name, cause in self._causes.items())
            raise ArgumentError(f"the causes' batches do not fit together: {shapes}") from None

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self._batch_shape

    @property
    def causes(self) -> dict[str, Distribution]:
        """The life of each cause alone, by name."""
        return dict(self._causes)

    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        return np.asarray(sum(cause.log_sf(time) for cause in self._causes.values()), dtype=np.float64)

    def log_cdf(self, time: npt.ArrayLike) -> FloatArray:
        total = log_sum([cause.log_cdf(time) for cause in self._causes.values()])
        # where failure is this rare, two causes at once are beyond the last digit
        return np.where(total < -40.0, total, super().log_cdf(time))

    def conditional_cumulative_hazard(self, time: npt.ArrayLike, age: npt.ArrayLike) -> FloatArray:
        """``H(age + time) - H(age)``: the sum over the causes."""
        parts = [cause.conditional_cumulative_hazard(time, age) for cause in self._causes.values()]
        return np.asarray(sum(parts), dtype=np.float64)

    def log_hazard(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the failure rate at `time`: the rates of the causes add up."""
        return log_sum([cause.log_hazard(time) for cause in self._causes.values()])

    def cumulative_incidence(self, cause: str | int, time: npt.ArrayLike) -> FloatArray:
        """Probability of failing within `time` from this cause, with the others present.

        Parameters
        ----------
        cause : str or int
            Name, or position from 0.
        time : array_like of float
            Hours; infinite for the share of the cause in all failures.

        Raises
        ------
        ArgumentError
            For a cause that is not there.

        Notes
        -----
        The integral of the cause's share in the failure rate over the probability of failing, by the tanh-sinh rule.
        """
        chosen = self._cause(cause)
        end = np.minimum(-self.log_sf(time), _SPENT)
        # x = end / (1 + exp(-pi sinh u)): dense at both ends, where shares may change as powers of time
        u = np.linspace(-4.2, 3.2, 260).reshape((-1,) + (1,) * end.ndim)
        with np.errstate(all="ignore"):
            growth = np.exp(-np.pi * np.sinh(u))
            part = 1.0 / (1.0 + growth)
            weight = (u.ravel()[1] - u.ravel()[0]) * np.pi * np.cosh(u) * part * (growth / (1.0 + growth))
            spent = end * part
            moment = self.inverse_cumulative_hazard(spent)
            share = np.exp(chosen.log_hazard(moment) - self.log_hazard(moment))
            terms = np.where(np.isnan(share) & ~np.isnan(end), 0.0, share) * np.exp(-spent) * weight
            return np.asarray(end * terms.sum(axis=0), dtype=np.float64)

    def _cause(self, cause: str | int) -> Distribution:
        names = list(self._causes)
        if isinstance(cause, (int, np.integer)) and 0 <= cause < len(names):
            return self._causes[names[int(cause)]]
        if isinstance(cause, str) and cause in self._causes:
            return self._causes[cause]
        raise ArgumentError(f"there is no cause {cause!r}", remedy=f"the causes are {', '.join(names)}")

    def __getitem__(self, position: object) -> CompetingRisks:
        return CompetingRisks(
            {name: _picked(cause, self.batch_shape, position) for name, cause in self._causes.items()}
        )

    def to_dict(self) -> dict[str, Any]:
        """The causes by name, ready for JSON."""
        return {"family": self.name, "causes": {name: cause.to_dict() for name, cause in self._causes.items()}}

    def __repr__(self) -> str:
        return f"CompetingRisks({', '.join(f'{name}={cause!r}' for name, cause in self._causes.items())})"


def _picked(cause: Distribution, shape: tuple[int, ...], position: Any) -> Distribution:
    if isinstance(cause, CompetingRisks):
        return CompetingRisks({name: _picked(inner, shape, position) for name, inner in cause.causes.items()})
    if isinstance(cause, Family):
        return cause.unchecked(*(np.broadcast_to(value, shape)[position] for value in cause.parameters().values()))
    raise ArgumentError(f"{type(cause).__name__} cannot be indexed")
