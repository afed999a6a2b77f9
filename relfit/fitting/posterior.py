"""Draws of the parameters of fits from their posterior distribution, by importance sampling.

The prior is flat in free coordinates; for location-scale families with complete data this is the frequentist
distribution.
"""

from __future__ import annotations

import numpy as np

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.fitting.estimates import FamilyEstimates
from relfit.fitting.likelihood import LogLikelihood

_FREEDOM, _WIDER = 4.0, 1.2  # degrees of freedom of the proposals, and how much wider they are than the likelihood
_ROUNDS = 3  # of proposals
_VALUES = 2_000_000  # draws times lives at a time
_FEWEST = 0.05  # effective share of the draws below which a group is not usable


def drawn_parameters(
    fit: FamilyEstimates, rows: IntArray, n_draws: int, rng: np.random.Generator
) -> tuple[FloatArray, BoolArray]:
    """Draws of the parameters of some groups, shape (draws, groups, k), and which groups have enough of them."""
    fitted, free, covariance = fit.free
    place = np.searchsorted(fitted, rows)
    centre, covariance = free[place], covariance[place]
    group, k = np.arange(rows.size), centre.shape[1]
    likelihood = LogLikelihood(fit.family, fit.lives.take(rows))
    at_once = max(_VALUES // max(likelihood.lives.durations.size, 1), 1)
    usable = np.asarray(np.isfinite(covariance).all(axis=(1, 2)))
    for _ in range(_ROUNDS):  # each proposes from the mean and covariance of the round before
        usable[usable] = np.linalg.eigvalsh(covariance[usable])[:, 0] > 0.0
        root = np.zeros_like(covariance)
        root[usable] = _WIDER * np.linalg.cholesky(covariance[usable])
        moves = rng.standard_normal((n_draws, rows.size, k))
        moves /= np.sqrt(rng.chisquare(_FREEDOM, (n_draws, rows.size, 1)) / _FREEDOM)
        proposed = centre + np.einsum("gij,mgj->mgi", root, moves)
        log = np.concatenate([likelihood(proposed[i : i + at_once]) for i in range(0, n_draws, at_once)])
        log += 0.5 * (_FREEDOM + k) * np.log1p((moves**2).sum(axis=-1) / _FREEDOM)
        log[:, ~usable | ~np.isfinite(log.max(axis=0))] = 0.0
        weight = np.exp(log - log.max(axis=0))
        weight /= weight.sum(axis=0)
        centre = np.einsum("mg,mgi->gi", weight, proposed)
        away = proposed - centre
        covariance = np.einsum("mg,mgi,mgj->gij", weight, away, away)
    usable &= 1.0 / (weight**2).sum(axis=0) >= _FEWEST * n_draws
    steps = (np.arange(n_draws)[:, None] + rng.random(rows.size)) / n_draws  # systematic resampling
    above = np.cumsum(weight, axis=0)
    order = np.stack([np.searchsorted(above[:, g], steps[:, g]) for g in group], axis=1)
    return fit.family.from_free(proposed[np.minimum(order, n_draws - 1), group]), usable
