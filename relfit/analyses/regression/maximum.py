"""Results of the fitters of other packages in one form, and whether they ended at a maximum of the likelihood."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from relfit.base.arrays import FloatArray

NEAR = 1e-4  # half the squared distance to the maximum, in standard errors, below which a search has ended well


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Coefficients of the covariates, then other parameters; ``rise`` is twice their gain in log-likelihood.

    ``covariance`` takes rows as independent, ``robust`` is that of the standard errors. ``expected`` are the counts
    that a model of counts expects, ``dispersion`` the variance of the rates beyond the covariates.
    """

    fitter: object
    coefficients: FloatArray
    covariance: FloatArray
    robust: FloatArray
    loglik: float
    rise: float
    converged: bool
    remedy: str
    notes: tuple[str, ...] = ()
    proportional: pd.DataFrame | None = None
    dispersion: float = np.nan
    expected: FloatArray | None = None

    def checked(self) -> Estimate:
        """Without numbers where the search did not end at a maximum."""
        if self.converged and self.rise > -2.0 * NEAR:
            return replace(self, rise=max(self.rise, 0.0))
        none = np.full_like(self.covariance, np.nan)
        note = "not converged: the search did not end at a maximum of the likelihood, so no numbers are given"
        return replace(
            self,
            coefficients=none[0],
            covariance=none,
            robust=none,
            loglik=np.nan,
            rise=np.nan,
            dispersion=np.nan,
            converged=False,
            expected=None,
            notes=(f"{note}; {self.remedy}", *self.notes),
        )


def at_maximum(coefficients: FloatArray, covariance: FloatArray, gradient: FloatArray) -> bool:
    """Whether the gradient vanishes there (in standard errors) and the information is proper."""
    if not all(np.isfinite(values).all() for values in (coefficients, covariance, gradient)):
        return False
    scale = np.sqrt(np.diag(covariance).clip(min=0.0))
    if not (scale > 0.0).all() or np.linalg.eigvalsh(covariance / np.outer(scale, scale))[0] <= 0.0:
        return False
    return bool(gradient @ covariance @ gradient < 2.0 * NEAR)
