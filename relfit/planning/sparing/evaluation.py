"""`SparingEvaluation`: where the GPU hours of a cluster go under each strategy, and what is left for the job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.planning.sparing.cluster import Cluster, DeviceFailures, Strategies
from relfit.planning.sparing.performance import Performance
from relfit.planning.sparing.recovery import Recovery

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SHARES", "SparingEvaluation"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

SHARES = (
    "useful",
    "spare_trays",
    "spare_blocks",
    "stranded",
    "blocked",
    "reduced",
    "saves",
    "rework",
    "detection",
    "restart",
    "other",
)


@dataclass(frozen=True, eq=False)
class SparingEvaluation:
    """Where GPU hours go; arrays of shape (strategies, *cases of `failures`).

    Attributes
    ----------
    cluster, strategies, failures, recovery, performance
        What was asked.
    blocks, group_blocks : ndarray of int, shape (strategies,)
        Blocks a zone, and blocks that must be placed together (1 without such a rule).
    spare_blocks : ndarray of int
        Spare blocks a zone: those given, or the best under the placement rule.
    free_spare_blocks : ndarray of int
        The best number without the placement rule; what `spare_blocks` has beyond it is stranded.
    shares : dict from str to ndarray
        Shares of all GPU hours, by what they are spent on (`SHARES`); they add to one. ``useful`` is CETT.
    period : ndarray
        Work between checkpoints, hours.
    block_mtbf : ndarray
        Hours.
    share_down : ndarray
        Share of time that a block is in repair.
    job_blocked : ndarray
        Share of time in which the job cannot run for want of blocks.
    failure_rate : ndarray
        Failures an hour that hit the job.
    hardware, model : ndarray, shape (strategies,)
        Speed of working GPUs relative to the baseline.
    """

    cluster: Cluster
    strategies: Strategies
    failures: DeviceFailures
    recovery: Recovery
    performance: Performance
    blocks: IntArray
    group_blocks: IntArray
    spare_blocks: IntArray
    free_spare_blocks: IntArray
    shares: dict[str, FloatArray]
    period: FloatArray
    block_mtbf: FloatArray
    share_down: FloatArray
    job_blocked: FloatArray
    failure_rate: FloatArray
    hardware: FloatArray
    model: FloatArray

    @property
    def cett(self) -> FloatArray:
        """Cluster effective training time: the share of all GPU hours that moves the job on."""
        return self.shares["useful"]

    @property
    def speed(self) -> FloatArray:
        """Both speed factors together, shape (strategies, 1, ...)."""
        factor = self.hardware * self.model
        return factor.reshape(factor.shape + (1,) * (self.cett.ndim - 1))

    @property
    def goodput(self) -> FloatArray:
        """Useful work in GPUs of baseline speed (equation 1)."""
        return self.cluster.total_gpus * self.cett * self.speed

    @property
    def best(self) -> IntArray:
        """The strategy of highest goodput in each case, the first of equals."""
        return np.asarray(np.argmax(self.goodput, axis=0))

    @property
    def labels(self) -> list[str]:
        """GPUs a block and working GPUs a block of each strategy."""
        return self.strategies.labels(self.cluster.gpus)

    @property
    def job_gpus(self) -> IntArray:
        """Working GPUs of the job."""
        shape = (-1,) + (1,) * (self.cett.ndim - 1)
        working = ((self.strategies.block_trays - self.strategies.spare_trays) * self.cluster.gpus).reshape(shape)
        return np.asarray((self.blocks.reshape(shape) - self.spare_blocks) * working * self.cluster.zones)

    def only(self, strategy: int) -> SparingEvaluation:
        """One strategy by itself."""
        i = slice(strategy, strategy + 1)
        names: tuple[str, ...] = ("blocks", "group_blocks", "spare_blocks", "free_spare_blocks", "period")
        names += ("block_mtbf", "share_down", "job_blocked", "failure_rate", "hardware", "model")
        return SparingEvaluation(
            self.cluster,
            self.strategies.take(i),
            self.failures,
            self.recovery,
            self.performance,
            shares={name: value[i] for name, value in self.shares.items()},
            **{name: getattr(self, name)[i] for name in names},
        )

    def to_frame(self) -> pd.DataFrame:
        """A row a strategy and case: what it is, spares, shares in percent, period in seconds, goodput in GPUs."""
        shape = self.cett.shape
        lead = (-1,) + (1,) * (len(shape) - 1)

        def whole(values: npt.ArrayLike) -> Any:
            return np.broadcast_to(np.asarray(values), shape).ravel()

        gpus = self.cluster.gpus
        table: dict[str, Any] = {
            "block_gpus": whole((self.strategies.block_trays * gpus).reshape(lead)),
            "working_gpus": whole(((self.strategies.block_trays - self.strategies.spare_trays) * gpus).reshape(lead)),
        }
        if self.failures.shape:
            table |= {name: whole(getattr(self.failures, name)) for name in ("mtbf_tray", "mtbf_rack", "mttr")}
        table |= {
            "blocks": whole(self.blocks.reshape(lead)),
            "spare_blocks": whole(self.spare_blocks),
            "job_gpus": whole(self.job_gpus),
            "cett_percent": 100.0 * whole(self.cett),
        }
        table |= {f"{name}_percent": 100.0 * whole(self.shares[name]) for name in SHARES[1:]}
        table |= {
            "period_seconds": 3600.0 * whole(self.period),
            "block_mtbf_hours": whole(self.block_mtbf),
            "job_mtbf_hours": whole(np.divide(1.0, self.failure_rate, out=np.full(shape, np.inf),
                                              where=self.failure_rate > 0.0)),
            "hardware": whole(self.hardware.reshape(lead)),
            "model": whole(self.model.reshape(lead)),
            "goodput_gpus": whole(self.goodput),
        }  # fmt: skip
        return pd.DataFrame(table)

    @property
    def sentence(self) -> str:
        """Which strategy is best and what it yields; for several cases, which wins how often."""
        labels = self.labels
        if self.failures.shape:
            won = np.bincount(self.best.ravel(), minlength=len(labels))
            order = np.argsort(-won, kind="stable")[:3]
            parts = [f"{labels[i]} in {100 * won[i] / won.sum():.0f} %" for i in order if won[i]]
            return f"Of {won.sum()} cases, blocks of {', '.join(parts)} are best (GPUs a block/working GPUs)."
        i = int(self.best)
        loss = {name: float(self.shares[name][i]) for name in SHARES[1:]}
        most = max(loss, key=loss.__getitem__)
        return (
            f"Blocks of {labels[i]} GPUs (all/working) with {int(self.spare_blocks[i])} spare blocks of "
            f"{int(self.blocks[i])} a zone do {float(self.goodput[i]):,.0f} GPUs' worth of work: "
            f"{100 * float(self.cett[i]):.1f} % of GPU hours move the job on; most of the rest goes to "
            f"{most.replace('_', ' ')} ({100 * loss[most]:.1f} %)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        frame = self.to_frame().astype(object)
        rows = frame.where(frame.notna() & ~frame.isin([np.inf, -np.inf]), None).to_dict("records")
        return {
            "cluster": self.cluster.to_dict(),
            "failures": self.failures.to_dict(),
            "recovery": self.recovery.to_dict(),
            "performance": self.performance.to_dict(),
            "rows": rows,
            "sentence": self.sentence,
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Where GPU hours go under each strategy (`relfit.plotting.sparing.hours`)."""
        from relfit.plotting.sparing import gpu_hours

        return gpu_hours(self, ax)

    def __repr__(self) -> str:
        return f"SparingEvaluation: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        table = self.to_frame().head(100).to_html(escape=True, index=False, float_format="{:.4g}".format)
        return f"<p>{escape(self.sentence)}</p>{table}"
