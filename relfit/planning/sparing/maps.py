"""Decision maps: the best strategy over MTBF and MTTR, with the boundaries between strategies."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arguments import durations, positive
from relfit.base.arrays import Durations, FloatArray
from relfit.base.errors import ArgumentError
from relfit.base.results import Result, json_ready
from relfit.base.text import percent
from relfit.planning.sparing.cluster import Cluster, DeviceFailures, Performance, Strategies
from relfit.planning.sparing.evaluation import SparingEvaluation, evaluate_sparing
from relfit.planning.sparing.recovery import Recovery

_BISECTIONS = 20
_MEANS = ("mtbf_tray", "mtbf_rack", "mttr")


class SparingMap(Result):
    """The best strategy at every point of a grid of MTBF and MTTR; made by `sparing_map`.

    Attributes
    ----------
    evaluation : SparingEvaluation
        Of all strategies; arrays of shape (strategies, n MTTR, m MTBF).
    mtbf : ndarray, shape (m,)
        MTBF of a tray, hours.
    mttr : ndarray, shape (n,)
        MTTR, hours.
    boundaries : pandas.DataFrame
        Where the best strategy changes along a row or a column of the grid, by bisection: ``mtbf``, ``mttr`` (hours),
        ``below`` and ``above`` (the best strategies on either side), ``along`` (``"mtbf"`` or ``"mttr"``). Between two
        neighbouring points at most one change is searched.
    """

    evaluation: SparingEvaluation
    mtbf: FloatArray
    mttr: FloatArray
    boundaries: pd.DataFrame

    @property
    def winner(self) -> npt.NDArray[np.int64]:
        """Index of the best strategy, shape (n, m)."""
        return self.evaluation.best

    @property
    def margin(self) -> FloatArray:
        """Goodput of the best strategy over that of the second best, minus one, shape (n, m); infinite without one."""
        goodput = np.sort(self.evaluation.goodput, axis=0)
        if goodput.shape[0] < 2:
            return np.full(goodput.shape[1:], np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(goodput[-2] > 0.0, goodput[-1] / goodput[-2] - 1.0, np.inf)

    def shares(self) -> pd.DataFrame:
        """Share of the points at which each strategy is best: ``strategy``, ``share``, largest first."""
        labels = self.evaluation.labels
        won = np.bincount(self.winner.ravel(), minlength=len(labels)) / self.winner.size
        table = pd.DataFrame({"strategy": labels, "share": won})
        return table.sort_values("share", ascending=False, kind="stable").reset_index(drop=True)

    @property
    def headline(self) -> str:
        """The share of the points at which each strategy is best."""
        table = self.shares()
        won = zip(table["strategy"].tolist(), table["share"].tolist(), strict=True)
        parts = [f"{strategy} at {percent(share, 0)}" for strategy, share in won if share > 0.0]
        return f"Of the points of the map, {', '.join(parts)} are best (GPUs/working GPUs per block)."

    def to_frame(self) -> pd.DataFrame:
        """One row per point: ``mttr``, ``mtbf`` (hours), best ``strategy`` and its numbers, ``margin``."""
        evaluation = self.evaluation
        rows, columns = np.meshgrid(self.mttr, self.mtbf, indexing="ij")
        names = ("goodput", "cett", "spare_blocks")
        of_best = {name: evaluation.of_best(getattr(evaluation, name)).ravel() for name in names}
        labels = np.array(evaluation.labels, dtype=object)[self.winner.ravel()]
        table = pd.DataFrame({"mttr": rows.ravel(), "mtbf": columns.ravel(), "strategy": labels, **of_best})
        return table.assign(margin=self.margin.ravel())

    def to_dict(self) -> dict[str, Any]:
        """The best strategies and their boundaries, ready for JSON."""
        names = ("mtbf", "mttr", "winner", "boundaries")
        named = {name: getattr(self, name) for name in names}
        labels = self.evaluation.labels
        return json_ready({"findings": self.findings, "strategies": labels, "shares": self.shares(), **named})


def sparing_map(
    cluster: Cluster,
    strategies: Strategies,
    mtbf: Durations,
    mttr: Durations,
    recovery: Recovery | None = None,
    performance: Performance | None = None,
    *,
    rack_ratio: float | None = 0.5,
    mtbf_rack: Durations | None = None,
    workers: int | None = None,
) -> SparingMap:
    """The best of several strategies at every MTBF and MTTR, each with its best spare blocks.

    Parameters
    ----------
    cluster : Cluster
        Without a group there is no placement rule.
    strategies : Strategies
        Without spare blocks, so that each point has its best number.
    mtbf, mttr : array_like of durations
        MTBF of a tray, shape (m,), and MTTR, shape (n,); hours or text, rising.
    recovery, performance
        As for `evaluate_sparing`.
    rack_ratio : float or None
        MTBF of a rack as a multiple of that of a tray, at every point; None for racks that never fail.
    mtbf_rack : duration, optional
        MTBF of a rack, the same for the complete map, instead of `rack_ratio`. The paper's figures do not say which
        convention they use.
    workers : int, optional
        Number of threads; the result does not depend on it.

    Raises
    ------
    ArgumentError
        For axes that do not rise, and as for `evaluate_sparing`.

    Notes
    -----
    Source: sparing paper, Figures 2 to 5.

    Examples
    --------
    >>> import numpy as np
    >>> cluster = Cluster(zones=4, racks=256, trays=36, gpus=2)
    >>> recovery = Recovery("250s", "50ms", "60s", "6min")
    >>> result = sparing_map(cluster, Strategies([36, 36], [0, 4]), np.geomspace(2e3, 1e5, 8), [4, 24, 96], recovery)
    >>> result.winner.shape, len(result.boundaries) > 0
    ((3, 8), True)
    """
    across, along = (np.atleast_1d(durations(name, value)) for name, value in (("mtbf", mtbf), ("mttr", mttr)))
    rack = np.inf if mtbf_rack is None else mtbf_rack
    if mtbf_rack is None and rack_ratio is not None:
        rack = across * float(positive("rack_ratio", rack_ratio))
    grid = DeviceFailures(across[None, :], rack, along[:, None])
    for name, axis in (("mtbf", across), ("mttr", along)):
        if np.any(np.diff(axis) <= 0.0):
            raise ArgumentError(f"{name} does not rise", remedy="sort it and drop repeated values")
    evaluation = evaluate_sparing(cluster, strategies, grid, recovery, performance, workers=workers)
    parts = [_boundaries(evaluation, "mtbf", (0, 1)), _boundaries(evaluation, "mttr", (1, 0))]
    return SparingMap(evaluation, across, along, pd.concat(parts, ignore_index=True))


def _boundaries(evaluation: SparingEvaluation, along: str, step: tuple[int, int]) -> pd.DataFrame:
    """Where the best strategy changes between neighbours of the grid, by bisection on the log scale."""
    best, down, right = evaluation.best, *step
    ahead, behind = best[down:, right:], best[: best.shape[0] - down, : best.shape[1] - right]
    rows, columns = np.nonzero(ahead != behind)
    below, above = behind[rows, columns], ahead[rows, columns]
    low, high = (
        [getattr(evaluation.failures, name)[rows + i, columns + j] for name in _MEANS]
        for i, j in ((0, 0), (down, right))
    )
    near, far = np.zeros(rows.size), np.ones(rows.size)  # position between the two neighbours
    for _ in range(_BISECTIONS if rows.size else 0):
        middle = 0.5 * (near + far)
        at = _between(low, high, middle)
        better = _goodput_at(evaluation, below, at) >= _goodput_at(evaluation, above, at)
        near, far = np.where(better, middle, near), np.where(better, far, middle)
    tray, _, repair = _between(low, high, 0.5 * (near + far))
    labels = np.array(evaluation.labels, dtype=object)
    return pd.DataFrame({"mtbf": tray, "mttr": repair, "below": labels[below], "above": labels[above], "along": along})


def _between(low: list[FloatArray], high: list[FloatArray], share: FloatArray) -> list[FloatArray]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return [
            np.where(a == b, a, np.where(a > 0.0, a * (b / a) ** share, share * b))
            for a, b in zip(low, high, strict=True)
        ]


def _goodput_at(best: SparingEvaluation, strategy: npt.NDArray[np.int64], at: list[FloatArray]) -> FloatArray:
    """Goodput of one strategy at each point."""
    goodput = np.zeros(strategy.size)
    for i in np.unique(strategy):
        points = np.flatnonzero(strategy == i)
        one, where = best.strategies.take(slice(i, i + 1)), DeviceFailures(*(a[points] for a in at))
        goodput[points] = evaluate_sparing(best.cluster, one, where, best.recovery, best.performance).goodput[0]
    return goodput
