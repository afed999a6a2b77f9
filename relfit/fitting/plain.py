"""Maximum likelihood of the core families where all lives are observed or right-censored: the compiled kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from relfit.families import Family, family_named
from relfit.fitting import kernels, status
from relfit.lifedata import LifeData
from relfit.numeric.batches import SortedLives, over_groups

__all__ = ["Estimates", "Estimator", "fit_plain"]

FloatArray = npt.NDArray[np.float64]

_KERNELS: dict[str, Callable[..., None]] = {
    "exponential": kernels.fit_exponential,
    "weibull": kernels.fit_weibull,
    "gamma": kernels.fit_gamma,
    "lognormal": kernels.fit_lognormal,
}


@dataclass(frozen=True)
class Estimates:
    """Estimates of one family for every group of a batch; NaN where ``codes`` is not `status.OK`.

    ``codes`` and ``loglik`` have shape (groups,), ``parameters`` (groups, k), ``covariance`` (groups, k, k).
    """

    codes: npt.NDArray[np.int8]
    parameters: FloatArray
    covariance: FloatArray
    loglik: FloatArray

    @classmethod
    def empty(cls, groups: int, count: int) -> Estimates:
        """Nothing fitted yet."""
        return cls(
            np.full(groups, status.NOT_CONVERGED, dtype=np.int8),
            np.full((groups, count), np.nan),
            np.full((groups, count, count), np.nan),
            np.full(groups, np.nan),
        )

    def set_apart_overflow(self) -> Estimates:
        """An estimate beyond the range of floats is not one: such a group counts as not converged."""
        fitted = self.codes == status.OK
        finite = np.isfinite(self.parameters).all(axis=1) & np.isfinite(self.covariance).all(axis=(1, 2))
        self.codes[fitted & ~(finite & np.isfinite(self.loglik))] = status.NOT_CONVERGED
        self.parameters[self.codes != status.OK] = np.nan
        self.covariance[self.codes != status.OK] = np.nan
        self.loglik[self.codes != status.OK] = np.nan
        return self


Estimator = Callable[[type[Family], LifeData, int | None], Estimates]  # a family, lives, workers


def fit_plain(
    family: str, ordered: SortedLives, weibull: FloatArray | None = None, workers: int | None = None
) -> Estimates:
    """Fit one core family to every group.

    Parameters
    ----------
    family : str
        One of the four core families.
    ordered : SortedLives
    weibull : ndarray, shape (groups, 2), optional
        Weibull shapes and scales of the same lives, from which the search for the gamma starts.
    workers : int, optional
        Threads; does not change the numbers.
    """
    groups = ordered.n_groups
    found = Estimates.empty(groups, len(family_named(family).parameter_names()))
    kernel = _KERNELS[family]
    more: tuple[FloatArray, ...] = ()
    if family == "gamma":
        more = (np.full((groups, 2), np.nan) if weibull is None else weibull,)

    def work(first: int, last: int) -> None:
        kernel(
            ordered.durations, ordered.log, ordered.observed, ordered.offsets, first, last,
            found.codes, found.parameters, found.covariance, found.loglik, *more,
        )  # fmt: skip

    over_groups(ordered.offsets, work, workers)
    return found.set_apart_overflow()
