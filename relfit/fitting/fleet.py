"""The normal distribution of a fleet's free coordinates: its marginal likelihood, maximum and uncertainty.

A node's own likelihood times that distribution is integrated around its maximum by Gauss-Hermite quadrature, for all
nodes at once; the derivative by its parameters follows from the posterior moments (Fisher's identity). A weak prior,
the root of the determinant of the covariance, keeps it from becoming singular where few failures say little (Chung and
others 2013). Cubature carries the uncertainty of the distribution into each node.
"""

from __future__ import annotations

import numpy as np
import scipy

from relfit.base.arrays import FloatArray
from relfit.base.numeric.newton import maximise, whitening
from relfit.fitting.families import Family
from relfit.fitting.likelihood import LogLikelihood
from relfit.log.lifedata import LifeData

_NODES = {1: 15, 2: 9, 3: 5}  # of the quadrature in each coordinate, by the number of coordinates; else 3
_LEAST, _MOST = np.log(1e-3), np.log(30.0)  # log standard deviations over the fleet
_AT_ONCE = 30_000  # lives at points of the quadrature, whose densities are held at a time
_FAR = 1.5  # how far a log standard deviation is moved to allow for its uncertainty


class _Marginal:
    """Marginal log-likelihood of a normal distribution given as its mean and the rows of a Cholesky factor."""

    def __init__(self, family: type[Family], lives: LifeData, mode: FloatArray) -> None:
        self.family, self.lives, self.mode = family, lives, mode
        self.k = mode.shape[1]
        points, weights = np.polynomial.hermite_e.hermegauss(_NODES.get(self.k, 3))
        grid = np.stack(np.meshgrid(*[points] * self.k, indexing="ij"), axis=-1).reshape(-1, self.k)
        heavy = np.stack(np.meshgrid(*[weights] * self.k, indexing="ij"), axis=-1).reshape(-1, self.k)
        self.grid = grid
        self.at_once = max(_AT_ONCE // max(lives.durations.size, 1), 1)
        self.log_weight = np.log(heavy).sum(axis=1) + 0.5 * (grid**2).sum(axis=1)

    def normal(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean, and the factor L of the covariance L L': each row in units of its diagonal, that in logs."""
        k = self.k
        scale = np.exp(np.clip(theta[k : 2 * k], _LEAST, _MOST))
        factor = np.eye(k)
        factor[np.tril_indices(k, -1)] = theta[2 * k :]
        return theta[:k], factor * scale[:, None]

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Log marginal likelihood, mean and covariance of every node's posterior."""
        mean, factor = self.normal(theta)
        precision = np.linalg.inv(factor @ factor.T)
        likelihood = LogLikelihood(self.family, self.lives, mean, np.asarray(precision, dtype=np.float64))
        best = maximise(likelihood, self.mode, tolerance=1e-8)
        if not best.converged.all():  # some nodes were led astray by a distribution far from the last one
            again = maximise(likelihood, np.where(best.converged[:, None], best.free, mean), tolerance=1e-8)
            best = again if again.converged.sum() >= best.converged.sum() else best
        mode = np.where(best.converged[:, None], best.free, mean)
        information = np.where(best.converged[:, None, None], best.information, precision)
        self.mode = mode
        away = np.einsum("gij,rj->rgi", whitening(information), self.grid)
        parts = range(0, len(away), self.at_once)
        value = np.concatenate([likelihood(mode + away[i : i + self.at_once]) for i in parts])
        value += self.log_weight[:, None]
        top = value.max(axis=0)
        share = np.exp(value - top)
        total = share.sum(axis=0)
        share /= total
        middle = np.einsum("rg,rgi->gi", share, away)
        apart = away - middle
        spread = np.einsum("rg,rgi,rgj->gij", share, apart, apart)
        half = 0.5 * np.linalg.slogdet(information)[1] + np.log(np.diag(factor)).sum()
        return np.asarray(top + np.log(total) - half), mode + middle, np.asarray(spread)

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Minus the penalised value, and its gradient."""
        k = self.k
        value, free, posterior = self.moments(theta)
        mean, factor = self.normal(theta)
        precision = np.linalg.inv(factor @ factor.T)
        away = free - mean
        scatter = posterior.sum(axis=0) + away.T @ away
        slope = precision @ (scatter - away.shape[0] * factor @ factor.T) @ precision @ factor
        scale = np.diag(factor)
        inside = (theta[k : 2 * k] > _LEAST) & (theta[k : 2 * k] < _MOST)
        along = np.where(inside, (slope * factor).sum(axis=1) + 1.0, 0.0)
        rows, columns = np.tril_indices(k, -1)
        gradient = np.concatenate([precision @ away.sum(axis=0), along, slope[rows, columns] * scale[rows]])
        return -float(value.sum() + np.log(scale).sum()), -gradient


def fit_fleet(
    family: type[Family], lives: LifeData, mode: FloatArray, mean: FloatArray, deviation: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, bool]:
    """Fit the distribution over a fleet by maximum marginal likelihood.

    Each group needs a life, and a likelihood above zero. The search starts from `mode`, free coordinates (groups, k),
    and from `mean` and `deviation` (k,) of the distribution over the fleet. Returned are mean and covariance of this
    distribution; mean and covariance of every node's posterior, its uncertainty included; the share of the fleet's mean
    in the mean of each posterior, shape (groups, k, k), the distribution over the fleet taken as known; and whether
    another Newton step would gain less than 0.01.
    """
    k = mode.shape[1]
    marginal = _Marginal(family, lives, mode)
    start = np.concatenate([mean, np.log(deviation), np.zeros(k * (k - 1) // 2)])
    maximum = scipy.optimize.minimize(marginal, start, jac=True, method="BFGS", options={"gtol": 1e-4, "maxiter": 200})
    theta = np.asarray(maximum.x, dtype=np.float64)
    root, gain = _uncertainty(marginal, theta)
    mean, factor = marginal.normal(theta)
    covariance = factor @ factor.T
    _, _, alone = marginal.moments(theta)
    share = np.einsum("gij,jk->gik", alone, np.linalg.inv(covariance))
    # cubature of third degree over its parameters
    sides = np.sqrt(theta.size) * np.concatenate([root.T, -root.T])
    sides[:, k : 2 * k] = np.clip(sides[:, k : 2 * k], -_FAR, _FAR)
    draws = [marginal.moments(theta + side)[1:] for side in sides]
    free = np.mean([middle for middle, _ in draws], axis=0)
    posterior = np.mean([spread for _, spread in draws], axis=0)
    apart = np.stack([middle for middle, _ in draws]) - free
    posterior = posterior + np.einsum("rgi,rgj->gij", apart, apart) / len(draws)
    return mean, covariance, free, posterior, share, bool(gain < 1e-2)


def _uncertainty(marginal: _Marginal, theta: FloatArray) -> tuple[FloatArray, float]:
    """Root of the covariance of the parameters, and what a further Newton step would gain."""
    size = theta.size
    hessian = np.empty((size, size))
    step = 1e-3
    for i in range(size):
        move = step * np.eye(size)[i]
        hessian[i] = (marginal(theta + move)[1] - marginal(theta - move)[1]) / (2.0 * step)
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    gradient = vectors.T @ marginal(theta)[1]
    values = np.maximum(values, 0.25)  # a standard deviation of two at most, in logs
    return np.asarray(vectors / np.sqrt(values)), float(0.5 * np.sum(gradient**2 / values))
