"""Which strategy wins where: decision maps over MTBF and MTTR, with their boundaries, and one-way sensitivities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.planning.sparing.cluster import Cluster, DeviceFailures, Strategies
from relfit.planning.sparing.evaluation import SparingEvaluation
from relfit.planning.sparing.performance import Performance
from relfit.planning.sparing.planner import evaluate_sparing
from relfit.planning.sparing.recovery import Recovery

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SparingMap", "SparingSensitivity", "sparing_map", "sparing_sensitivity"]

FloatArray = npt.NDArray[np.float64]

_BISECTIONS = 40


@dataclass(frozen=True, eq=False)
class SparingMap:
    """The best strategy at every point of a grid of MTBF and MTTR.

    Attributes
    ----------
    evaluation : SparingEvaluation
        Of all strategies; arrays of shape (strategies, n MTTR, m MTBF).
    mtbf : ndarray, shape (m,)
        Of a tray, hours.
    mttr : ndarray, shape (n,)
        Hours.
    boundaries : pandas.DataFrame
        Where the best strategy changes along a row or a column of the grid, found by bisection of the closed form:
        ``mtbf``, ``mttr`` (hours), ``below`` and ``above`` (the best strategies on either side), ``along`` (``"mtbf"``
        or ``"mttr"``). Within a cell of the grid one change is looked for.
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
        """By how much the best is better than the second best, relative; shape (n, m)."""
        goodput = np.sort(self.evaluation.goodput, axis=0)
        if goodput.shape[0] < 2:
            return np.full(goodput.shape[1:], np.inf)
        return np.asarray(np.divide(goodput[-1], goodput[-2], out=np.full(goodput.shape[1:], np.inf),
                                    where=goodput[-2] > 0.0) - 1.0)  # fmt: skip

    def shares(self) -> pd.DataFrame:
        """The share of the grid's points at which each strategy is best."""
        labels = self.evaluation.labels
        won = np.bincount(self.winner.ravel(), minlength=len(labels)) / self.winner.size
        table = pd.DataFrame({"strategy": labels, "share": won})
        return table.sort_values("share", ascending=False, kind="stable").reset_index(drop=True)

    @property
    def sentence(self) -> str:
        """Who wins where, in words."""
        table = self.shares()
        won = zip(table["strategy"].tolist(), table["share"].tolist(), strict=True)
        parts = [f"{strategy} at {100 * share:.0f} %" for strategy, share in won if share > 0.0]
        return f"Of the points of the map, {', '.join(parts)} are best (GPUs a block/working GPUs)."

    def to_frame(self) -> pd.DataFrame:
        """A row a point: ``mttr``, ``mtbf``, ``strategy``, ``goodput``, ``cett``, ``spare_blocks``, ``margin``."""
        best = self.winner[None]
        found = self.evaluation
        labels = np.array(found.labels, dtype=object)
        rows, columns = np.meshgrid(self.mttr, self.mtbf, indexing="ij")
        return pd.DataFrame(
            {
                "mttr": rows.ravel(),
                "mtbf": columns.ravel(),
                "strategy": labels[self.winner.ravel()],
                "goodput": np.take_along_axis(found.goodput, best, 0)[0].ravel(),
                "cett": np.take_along_axis(found.cett, best, 0)[0].ravel(),
                "spare_blocks": np.take_along_axis(found.spare_blocks, best, 0)[0].ravel(),
                "margin": self.margin.ravel(),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "strategies": self.evaluation.labels,
            "mtbf": self.mtbf.tolist(),
            "mttr": self.mttr.tolist(),
            "winner": self.winner.tolist(),
            "boundaries": self.boundaries.to_dict("records"),
            "shares": self.shares().to_dict("records"),
            "sentence": self.sentence,
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """The map with its boundaries."""
        from relfit.plotting.sparing import decision_map

        return decision_map(self, ax)

    def __repr__(self) -> str:
        return f"SparingMap: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(self.sentence)}</p>{self.shares().to_html(index=False, float_format='{:.3f}'.format)}"


def sparing_map(
    cluster: Cluster,
    strategies: Strategies,
    mtbf: Any,
    mttr: Any,
    recovery: Recovery | None = None,
    performance: Performance | None = None,
    *,
    rack_ratio: float | None = 0.5,
    mtbf_rack: Any = None,
    workers: int | None = None,
) -> SparingMap:
    """The best of several strategies at every MTBF and MTTR, each with its best spare blocks.

    Parameters
    ----------
    cluster : Cluster
        Without a group for no placement rule.
    strategies : Strategies
        Without spare blocks, so that the best number is taken at every point.
    mtbf, mttr : array_like
        Of a tray, shape (m,), and of repairs, shape (n,); hours, rising.
    recovery, performance
        As for `evaluate_sparing`.
    rack_ratio : float or None
        MTBF of a rack as a multiple of that of a tray, at every point.
    mtbf_rack : optional
        Hours, instead of `rack_ratio`: the same for the whole map. The paper's figures do not say which they take.
    workers : int, optional

    Returns
    -------
    SparingMap

    Raises
    ------
    ArgumentError
        For axes that do not rise, or as `evaluate_sparing`.

    Notes
    -----
    Source: sparing paper, Figures 2 to 5.

    Examples
    --------
    >>> import numpy as np
    >>> cluster = Cluster(zones=4, racks=256, trays=36, gpus=2)
    >>> recovery = Recovery("250s", "50ms", "60s", "6min")
    >>> found = sparing_map(cluster, Strategies([36, 36], [0, 4]), np.geomspace(2e3, 1e5, 8), [4, 24, 96], recovery)
    >>> found.winner.shape, len(found.boundaries) > 0
    ((3, 8), True)
    """
    grid = DeviceFailures.grid(
        mtbf, mttr, rack_ratio=None if mtbf_rack is not None else rack_ratio, mtbf_rack=mtbf_rack
    )
    across, along = grid.mtbf_tray[0], grid.mttr[:, 0]
    for name, axis in (("mtbf", across), ("mttr", along)):
        if np.any(np.diff(axis) <= 0.0):
            raise ArgumentError(f"{name} does not rise", remedy="sort it and drop repeated values")
    found = evaluate_sparing(cluster, strategies, grid, recovery, performance, workers=workers)
    parts = [_boundaries(found, along_mtbf=True), _boundaries(found, along_mtbf=False)]
    return SparingMap(found, across, along, pd.concat(parts, ignore_index=True))


def _boundaries(found: SparingEvaluation, *, along_mtbf: bool) -> pd.DataFrame:
    """Where the winner changes between neighbours of the grid, refined by bisection in the logarithm."""
    best = found.best
    ahead = best[:, 1:] if along_mtbf else best[1:]
    behind = best[:, :-1] if along_mtbf else best[:-1]
    rows, columns = np.nonzero(ahead != behind)
    labels = np.array(found.labels, dtype=object)
    step = (0, 1) if along_mtbf else (1, 0)
    f = found.failures
    low = [getattr(f, name)[rows, columns] for name in ("mtbf_tray", "mtbf_rack", "mttr")]
    high = [getattr(f, name)[rows + step[0], columns + step[1]] for name in ("mtbf_tray", "mtbf_rack", "mttr")]
    below, above = behind[rows, columns], ahead[rows, columns]
    near, far = np.zeros(rows.size), np.ones(rows.size)  # position between the two neighbours
    if rows.size:
        for _ in range(_BISECTIONS // 2):
            middle = 0.5 * (near + far)
            better = _difference(found, below, above, _between(low, high, middle)) >= 0.0
            near, far = np.where(better, middle, near), np.where(better, far, middle)
    tray, _, repair = _between(low, high, 0.5 * (near + far))
    return pd.DataFrame(
        {"mtbf": tray, "mttr": repair, "below": labels[below], "above": labels[above],
         "along": "mtbf" if along_mtbf else "mttr"}
    )  # fmt: skip


def _between(low: list[FloatArray], high: list[FloatArray], share: FloatArray) -> list[FloatArray]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return [
            np.where(np.isinf(a) | (a <= 0.0), a + share * np.where(np.isinf(a), 0.0, b - a), a * (b / a) ** share)
            for a, b in zip(low, high, strict=True)
        ]


def _difference(
    found: SparingEvaluation, first: npt.NDArray[np.int64], second: npt.NDArray[np.int64], at: list[FloatArray]
) -> FloatArray:
    """Goodput of the strategy `first` less that of `second`, point by point."""
    goodput = np.zeros((2, first.size))
    for i in np.unique(np.concatenate([first, second])):
        for side, index in enumerate((first, second)):
            points = np.flatnonzero(index == i)
            if points.size:
                one = evaluate_sparing(
                    found.cluster, found.strategies.take(slice(i, i + 1)), DeviceFailures(*(a[points] for a in at)),
                    found.recovery, found.performance,
                )  # fmt: skip
                goodput[side, points] = one.goodput[0]
    return goodput[0] - goodput[1]


@dataclass(frozen=True, eq=False)
class SparingSensitivity:
    """How each strategy fares as MTBF and MTTR are multiplied.

    Attributes
    ----------
    factors : ndarray, shape (m,)
    goodput, cett, spare_blocks : dict from {"mtbf", "mttr"} to ndarray, shape (strategies, m)
        With the best spare blocks for each factor.
    labels : list of str
    """

    factors: FloatArray
    goodput: dict[str, FloatArray]
    cett: dict[str, FloatArray]
    spare_blocks: dict[str, npt.NDArray[np.int64]]
    labels: list[str]

    @property
    def sentence(self) -> str:
        """Which of the two matters more to the best strategy."""
        spans = {name: float(np.ptp(values.max(axis=0)) / values.max()) for name, values in self.goodput.items()}
        most = max(spans, key=spans.__getitem__)
        return (
            f"Between {self.factors.min():g} and {self.factors.max():g} times its value, the MTBF changes the best "
            f"goodput by {100 * spans['mtbf']:.1f} %, the MTTR by {100 * spans['mttr']:.1f} %: "
            f"{most.upper()} matters more."
        )

    def to_frame(self) -> pd.DataFrame:
        """A row a quantity, factor and strategy."""
        parts = [
            pd.DataFrame(
                {
                    "changed": name,
                    "factor": np.tile(self.factors, len(self.labels)),
                    "strategy": np.repeat(np.array(self.labels, dtype=object), self.factors.size),
                    "goodput": self.goodput[name].ravel(),
                    "cett": self.cett[name].ravel(),
                    "spare_blocks": self.spare_blocks[name].ravel(),
                }
            )
            for name in ("mtbf", "mttr")
        ]
        return pd.concat(parts, ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"rows": self.to_frame().to_dict("records"), "sentence": self.sentence}

    def plot(self, ax: Axes | None = None, *, by: str = "mtbf") -> Axes:
        """Goodput of the strategies by the factor on the MTBF, or with ``by="mttr"`` on the MTTR."""
        from relfit.plotting.sparing import sensitivity

        return sensitivity(self, ax, by=by)

    def __repr__(self) -> str:
        return f"SparingSensitivity: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(self.sentence)}</p>{self.to_frame().head(40).to_html(index=False)}"


def sparing_sensitivity(
    cluster: Cluster,
    strategies: Strategies,
    failures: DeviceFailures,
    recovery: Recovery | None = None,
    performance: Performance | None = None,
    *,
    factors: Any = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0),
) -> SparingSensitivity:
    """Goodput, CETT and spares of strategies as MTBF (of trays and racks) and MTTR change, one at a time.

    Parameters
    ----------
    cluster, strategies, failures, recovery, performance
        As for `evaluate_sparing`; `failures` of one case.
    factors : array_like
        By which they are multiplied.

    Returns
    -------
    SparingSensitivity

    Examples
    --------
    >>> failures = DeviceFailures(900, 4000, 24)
    >>> found = sparing_sensitivity(Cluster(racks=16, trays=4), Strategies([4, 4], [0, 1]), failures)
    >>> found.goodput["mttr"].shape
    (2, 7)
    """
    if failures.shape:
        raise ArgumentError("failures has many cases", remedy="give one case, and factors")
    from relfit.arguments import positive

    scale = np.atleast_1d(positive("factors", factors))
    found = {
        "mtbf": evaluate_sparing(cluster, strategies, failures.scaled(mtbf=scale), recovery, performance),
        "mttr": evaluate_sparing(cluster, strategies, failures.scaled(mttr=scale), recovery, performance),
    }
    return SparingSensitivity(
        scale,
        {name: each.goodput for name, each in found.items()},
        {name: each.cett for name, each in found.items()},
        {name: each.spare_blocks for name, each in found.items()},
        strategies.labels(cluster.gpus),
    )
