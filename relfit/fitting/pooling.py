"""Empirical Bayes: the fewer failures a node has, the further its estimate is shrunk towards the fleet.

The free coordinates of the nodes (mostly logs of parameters) are taken as normal over the fleet. Mean and covariance
maximise the marginal likelihood, which integrates every node's own likelihood, not a normal approximation of it, over
that distribution: around its maximum by Gauss-Hermite quadrature, for all nodes at once. Nodes with a failure or two,
or none, take part like any other (Morris 1983; Carlin and Louis 2000). The derivative by the parameters follows from
the posterior moments (Fisher's identity). A weak prior, the root of the determinant of the covariance, keeps it from
becoming singular where few failures say little (Chung and others 2013). Cubature carries the uncertainty of the
distribution into each node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy

from relfit.base.arguments import random_stream
from relfit.base.arrays import FloatArray, Seed
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.numeric.levels import level_checked
from relfit.base.numeric.newton import maximise, whitening
from relfit.base.results import Interval, Result, json_ready
from relfit.base.text import count
from relfit.fitting import status
from relfit.fitting._maximum_likelihood import maximum_likelihood
from relfit.fitting.estimates import GroupCurves
from relfit.fitting.families import Family
from relfit.fitting.intervals import normal_limits, quantity_named
from relfit.fitting.likelihood import LogLikelihood
from relfit.log.lifedata import LifeData

_NODES = {1: 15, 2: 9, 3: 5}  # of the quadrature in each coordinate, by the number of coordinates; else 3
_LEAST, _MOST = np.log(1e-3), np.log(30.0)  # log standard deviations over the fleet
_AT_ONCE = 30_000  # lives at points of the quadrature, whose densities are held at a time
_FEW = 2.0  # failures a group below which estimates are markedly low
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


def _fit_fleet(
    family: type[Family], lives: LifeData, mode: FloatArray, mean: FloatArray, deviation: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, bool]:
    """Fit the distribution over a fleet by maximum marginal likelihood, of groups with a life and a likelihood above 0.
    The search starts from `mode`, free coordinates (groups, k), and `mean` and `deviation` (k,) of that distribution.
    Returned are its mean and covariance; mean and covariance of every node's posterior, its uncertainty included; the
    share of the fleet's mean in the mean of each posterior, (groups, k, k), the distribution over the fleet taken as
    known; and whether another Newton step would gain less than 0.01.
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


class PooledFit(GroupCurves, Result):
    """Parameters of every group after pooling, and how far each was shrunk towards the fleet.

    Attributes
    ----------
    family : type
    lives : LifeData
    own : ndarray, shape (groups, k)
        Each group's maximum-likelihood estimates; NaN where it has none.
    parameter_array : ndarray, shape (groups, k)
        Estimates after pooling: the mean of the posterior in free coordinates. NaN for groups without durations, or
        with a failure time of zero that has no density under the distribution.
    shrinkage : ndarray, shape (groups, k)
        Share of the fleet in each estimate, in free coordinates: 0 leaves the group's own estimate, 1 gives the fleet's
        mean.
    free, covariance : ndarray, shape (groups, k) and (groups, k, k)
        Posterior mean and covariance in free coordinates, with the uncertainty of the fleet's mean and covariance.
    fleet_mean, fleet_covariance : ndarray, shape (k,) and (k, k)
        Of the normal distribution over the fleet.
    level : float
    converged : bool
        Whether the search for the distribution over the fleet settled.
    """

    family: type[Family]
    lives: LifeData
    own: FloatArray
    parameter_array: FloatArray
    shrinkage: FloatArray
    free: FloatArray
    covariance: FloatArray
    fleet_mean: FloatArray
    fleet_covariance: FloatArray
    level: float
    converged: bool

    @property
    def groups(self) -> pd.Index:
        """Labels of the groups."""
        return self.lives.groups

    @property
    def parameters(self) -> dict[str, FloatArray]:
        """Pooled estimates by name."""
        return {name: self.parameter_array[:, i] for i, name in enumerate(self.family.parameter_names())}

    @property
    def distribution(self) -> Family:
        """The pooled distributions, as a batch."""
        return self.family.unchecked(*self.parameter_array.T)

    @property
    def fleet(self) -> Family:
        """The distribution at the fleet's mean: what is expected of a node without any failure."""
        return self.family(*self.family.from_free(self.fleet_mean))

    def draws(self, count: int, rng: Seed = 0) -> Family:
        """Draws from the normal approximation of each group's posterior.

        Parameters
        ----------
        count : int
            Draws of each group.
        rng : int or numpy.random.Generator

        Returns
        -------
        Family
            A batch of shape (count, groups).
        """
        generator = random_stream(rng)
        values, vectors = np.linalg.eigh(np.nan_to_num(self.covariance))
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        noise = generator.standard_normal((count, *self.free.shape))
        free = self.free[None] + np.einsum("gij,cgj->cgi", root, noise)
        return self.family.unchecked(*np.moveaxis(self.family.from_free(free), -1, 0))

    def interval(
        self,
        quantity: str,
        *,
        at: float | str | None = None,
        age: float | str | None = None,
        level: float | None = None,
    ) -> Interval:
        """Interval of a quantity in every group, from the normal approximation of its posterior.

        Parameters
        ----------
        quantity : str
            A parameter of the distribution, ``mean``, ``median``, ``quantile``, ``reliability`` or ``hazard``.
        at, age : float or duration, optional
            As in `FamilyFit.interval`.
        level : float, optional
            Between 0 and 1; that of the fit when left out.

        Raises
        ------
        ArgumentError
            For an unknown quantity, or a quantile or level outside 0..1.
        """
        level = level_checked(self.level if level is None else level)
        wanted = quantity_named(quantity, self.family, at, age)
        low, high = normal_limits(self.family, wanted, self.free, self.covariance, level)
        where = None if wanted.at is None else np.array([wanted.at])
        codes = np.where(np.isfinite(low) & np.isfinite(high), "ok", "not_defined").astype(object)
        estimate = wanted.value(self.distribution)
        return Interval(quantity, "posterior", level, where, estimate, low, high, codes, self.groups, self.family.name)

    def to_frame(self) -> pd.DataFrame:
        """One row per group: own and pooled estimate, interval and shrinkage of each parameter, pooled mean (hours)."""
        columns: dict[str, Any] = {"lives": self.lives.n_lives, "failures": self.lives.n_failures}
        for i, name in enumerate(self.family.parameter_names()):
            limits = self.interval(name)
            columns |= {
                f"{name}_own": self.own[:, i],
                name: limits.estimate,
                f"{name}_low": limits.low,
                f"{name}_high": limits.high,
                f"{name}_shrinkage": self.shrinkage[:, i],
            }
        mean = self.interval("mean")
        columns |= {"mean": mean.estimate, "mean_low": mean.low, "mean_high": mean.high}
        return pd.DataFrame(columns, index=self.groups)

    @property
    def headline(self) -> str:
        """What the groups are shrunk towards, and how far."""
        middle: FloatArray = np.nanmedian(self.shrinkage, axis=0)
        shares = ", ".join(f"{n} {s:.0%}" for n, s in zip(self.family.parameter_names(), middle, strict=True))
        few = self.lives.n_failures.sum() < _FEW * len(self.groups)
        low = "; so few failures a group make hazards too low: compare rf.fit(lives.pooled())" if few else ""
        groups = count(len(self.groups), "group")
        return f"{self.family.name}, {groups} around {self.fleet!r}; median shrinkage {shares}{low}"

    def to_dict(self) -> dict[str, Any]:
        """The fleet and the rows of `to_frame`, ready for JSON."""
        names = ("level", "converged", "fleet_mean", "fleet_covariance")
        about = {"family": self.family.name, **{name: getattr(self, name) for name in names}}
        return json_ready({**about, "groups": self.to_frame()})


def pool(family: type[Family], lives: LifeData, level: float = 0.95, workers: int | None = None) -> PooledFit:
    """Fit one distribution to all groups, each shrunk towards the fleet (empirical Bayes).

    Parameters
    ----------
    family : type
        Class of the distribution.
    lives : LifeData
        Hours.
    level : float
        Level of the intervals.
    workers : int, optional
        Threads; does not change the numbers.

    Raises
    ------
    ArgumentError
        When fewer than three groups can be fitted on their own, since the fleet's spread is then unknown, and for a
        level that is not between 0 and 1.

    Examples
    --------
    Five times to failure of each of twenty nodes of shape 0.8:

    >>> from relfit.fitting.families import Weibull
    >>> pooled = pool(Weibull, LifeData.from_array(Weibull(0.8, 1000.0).sample((20, 5), rng=1)))
    >>> pooled.fleet.shape.round(2).tolist(), pooled.shrinkage.mean(axis=0).round(1).tolist()
    (0.8, [0.7, 0.8])
    """
    level_checked(level)
    own = maximum_likelihood(family, lives, workers)
    fitted = np.flatnonzero(own.codes == status.OK)
    # a failure time of zero has no likelihood under most families
    used = np.flatnonzero((lives.n_lives > 0) & ((lives.n_zeros == 0) | family.density_at_zero))
    if fitted.size < 3:
        raise ArgumentError(
            f"{fitted.size} of {lives.n_groups} groups can be fitted on their own; pooling needs three",
            remedy=Remedy("fit them as one sample: rf.fit(lives.pooled())", "fit them as one sample: --per all"),
        )
    at_own = family.to_free(own.parameters[fitted])
    mean = np.median(at_own, axis=0)
    scatter = 1.4826 * np.median(np.abs(at_own - mean), axis=0)
    mode = np.tile(mean, (used.size, 1))
    place = np.searchsorted(used, fitted)
    mode[place] = mean + np.clip(at_own - mean, -3.0 * scatter, 3.0 * scatter)
    fleet_mean, fleet_covariance, free, posterior, share, converged = _fit_fleet(
        family, lives.take(used.tolist()), mode, mean, np.clip(scatter, 0.1, 3.0)
    )

    def spread(values: FloatArray) -> FloatArray:
        """Values of the used groups for all groups."""
        out = np.full((lives.n_groups, *values.shape[1:]), np.nan)
        out[used] = values
        return out

    shrinkage = spread(np.clip(np.diagonal(share, axis1=1, axis2=2), 0.0, 1.0))
    nodes = own.parameters, spread(family.from_free(free)), shrinkage, spread(free), spread(posterior)
    return PooledFit(family, lives, *nodes, fleet_mean, fleet_covariance, level, converged)
