"""The use of the GPU hours of a cluster under each sparing strategy, and the best strategy.

Source: "Sparing strategies to minimize reliability impact on large training jobs", sections 2 and 3, with the
corrections of its misprints: beta = 1 - (1 - P)^B, and a checkpoint efficiency that keeps MTBF_F and W.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import FloatArray, IntArray, Value
from relfit.base.errors import ArgumentError
from relfit.base.results import Result, json_ready
from relfit.base.text import count, percent
from relfit.planning.sparing.blocks import SharedRacks, block_mtbf, unavailability
from relfit.planning.sparing.cluster import Cluster, DeviceFailures, Performance, Strategies
from relfit.planning.sparing.recovery import LOSSES, Recovery, losses
from relfit.planning.sparing.spare_search import best_spare_blocks, check_work

SHARES = ("useful", "spare_trays", "spare_blocks", "stranded", *LOSSES)


class SparingEvaluation(Result):
    """The use of GPU hours; arrays of shape ``(strategies, *cases of failures)``.

    Attributes
    ----------
    cluster, strategies, failures, recovery, performance
        The arguments of `evaluate_sparing`.
    blocks, group_blocks : ndarray of int, shape (strategies,)
        Blocks per zone, and blocks that must be placed together (1 without such a rule).
    spare_blocks : ndarray of int
        Spare blocks per zone: those of the strategies, or the best number under the placement rule. Those beyond the
        best number without the rule are stranded.
    shares : dict of str to ndarray
        Shares of all GPU hours by use: ``useful`` (CETT), ``spare_trays``, ``spare_blocks``, ``stranded``,
        ``blocked``, ``reduced``, ``saves``, ``rework``, ``detection``, ``restart``; they add up to one.
    checkpoint_every : ndarray
        Work between checkpoints, hours.
    block_mtbf : ndarray
        MTBF of a block, hours.
    share_down : ndarray
        Share of time that a block is in repair.
    job_blocked : ndarray
        Share of time in which the job cannot run because blocks are missing.
    failure_rate : ndarray
        Failures per hour that hit the job.
    hardware, model : ndarray, shape (strategies,)
        Speed of working GPUs relative to the baseline.
    left_out : tuple of str
        Strategies that cannot be placed: their blocks do not divide the group, or a zone is too small for one group.
    """

    cluster: Cluster
    strategies: Strategies
    failures: DeviceFailures
    recovery: Recovery
    performance: Performance
    blocks: IntArray
    group_blocks: IntArray
    spare_blocks: IntArray
    shares: dict[str, FloatArray]
    checkpoint_every: FloatArray
    block_mtbf: FloatArray
    share_down: FloatArray
    job_blocked: FloatArray
    failure_rate: FloatArray
    hardware: FloatArray
    model: FloatArray
    left_out: tuple[str, ...] = ()

    @property
    def cett(self) -> FloatArray:
        """Cluster effective training time: the share of all GPU hours that is useful work."""
        return self.shares["useful"]

    @property
    def goodput(self) -> FloatArray:
        """Useful work in GPUs of baseline speed (equation 1)."""
        return self.cluster.total_gpus * self.cett * self._columns(self.hardware * self.model)

    @property
    def best(self) -> IntArray:
        """Index of the strategy with the highest goodput in each case, the first of equals."""
        return np.asarray(np.argmax(self.goodput, axis=0))

    def of_best(self, values: npt.NDArray[Value]) -> npt.NDArray[Value]:
        """The values of the best strategy of each case, from an array over strategies and cases."""
        return np.asarray(np.take_along_axis(values, self.best[None], axis=0)[0])

    @property
    def labels(self) -> list[str]:
        """GPUs and working GPUs per block of each strategy."""
        return self.strategies.labels(self.cluster.gpus)

    @property
    def job_gpus(self) -> IntArray:
        """Working GPUs of the job."""
        working = (self.strategies.block_trays - self.strategies.spare_trays) * self.cluster.gpus
        spare = self._columns(self.blocks) - self.spare_blocks
        return np.asarray(spare * self._columns(working) * self.cluster.zones)

    def _columns(self, values: npt.NDArray[Value]) -> npt.NDArray[Value]:
        """One value per strategy, in a shape that broadcasts with all cases."""
        return values.reshape((-1,) + (1,) * (self.cett.ndim - 1))

    def only(self, strategy: int) -> SparingEvaluation:
        """The evaluation of one strategy, by its index."""
        i = slice(strategy, strategy + 1)
        arrays: dict[str, Any] = {name: value[i] for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        shares = {name: value[i] for name, value in self.shares.items()}
        return replace(self, strategies=self.strategies.take(i), shares=shares, **arrays)

    def to_frame(self) -> pd.DataFrame:
        """One row per strategy and case: blocks, spares, shares in percent, checkpoint interval, MTBF, goodput."""
        gpus, trays = self.cluster.gpus, self.strategies.block_trays
        with np.errstate(divide="ignore"):
            job_mtbf = 1.0 / self.failure_rate
        table: dict[str, Any] = {
            "block_gpus": self._columns(trays * gpus),
            "working_gpus": self._columns((trays - self.strategies.spare_trays) * gpus),
        }
        if self.failures.shape:
            table |= {name: getattr(self.failures, name) for name in ("mtbf_tray", "mtbf_rack", "mttr")}
        table |= {
            "blocks": self._columns(self.blocks),
            "spare_blocks": self.spare_blocks,
            "job_gpus": self.job_gpus,
            "cett_percent": 100.0 * self.cett,
            **{f"{name}_percent": 100.0 * self.shares[name] for name in SHARES[1:]},
            "checkpoint_every_seconds": 3600.0 * self.checkpoint_every,
            "block_mtbf_hours": self.block_mtbf,
            "job_mtbf_hours": job_mtbf,
            "hardware": self._columns(self.hardware),
            "model": self._columns(self.model),
            "goodput_gpus": self.goodput,
        }
        return pd.DataFrame({name: np.broadcast_to(values, self.cett.shape).ravel() for name, values in table.items()})

    def ranking(self) -> pd.DataFrame:
        """For one case `to_frame` with the best strategy first; for several the row of the best strategy of each."""
        table = self.to_frame()
        if not self.failures.shape:
            return table.sort_values("goodput_gpus", ascending=False, kind="stable").reset_index(drop=True)
        return table.iloc[self.best.ravel() * self.best.size + np.arange(self.best.size)].reset_index(drop=True)

    @property
    def headline(self) -> str:
        """The best strategy and its goodput; for several cases, how often which strategy is best."""
        labels = self.labels
        if self.failures.shape:
            won = np.bincount(self.best.ravel(), minlength=len(labels)) / self.best.size
            order = np.argsort(-won, kind="stable")[:3]
            parts = [f"{labels[i]} in {percent(won[i], 0)}" for i in order if won[i]]
            text = f"Of {self.best.size:,} cases, blocks of {', '.join(parts)} are best (GPUs/working GPUs per block)."
            return text + self._misfits
        i = int(self.best)
        loss = {name: float(self.shares[name][i]) for name in SHARES[1:]}
        most = max(loss, key=loss.__getitem__)
        return (
            f"Blocks of {labels[i]} GPUs (all/working) with {count(int(self.spare_blocks[i]), 'spare block')} of "
            f"{int(self.blocks[i])} per zone do {float(self.goodput[i]):,.0f} GPUs' worth of work: "
            f"{percent(float(self.cett[i]), 1)} of GPU hours advance the job; most of the rest goes to "
            f"{most.replace('_', ' ')} ({percent(loss[most], 1)}).{self._misfits}"
        )

    @property
    def _misfits(self) -> str:
        if not self.left_out:
            return ""
        shown = ", ".join(self.left_out[:4]) + (", ..." if len(self.left_out) > 4 else "")
        number = count(len(self.left_out), "strategy does", "strategies do")
        return f" {number} not fit the placement groups ({shown})."

    def to_dict(self) -> dict[str, Any]:
        """The arguments, and the rows of `ranking`, ready for JSON."""
        names = ("cluster", "failures", "recovery", "performance", "left_out")
        named = {name: getattr(self, name) for name in names}
        return json_ready({"findings": self.findings, **named, "strategies": self.ranking()})


def evaluate_sparing(
    cluster: Cluster,
    strategies: Strategies,
    failures: DeviceFailures,
    recovery: Recovery | None = None,
    performance: Performance | None = None,
    *,
    workers: int | None = None,
) -> SparingEvaluation:
    """Evaluate sparing strategies: the use of the GPU hours of a cluster.

    Parameters
    ----------
    cluster : Cluster
    strategies : Strategies
        Shape (s,). Without spare blocks, each case has its best number under the placement rule.
    failures : DeviceFailures
        Any shape g.
    recovery : Recovery, optional
        By default checkpoints and recovery take no time.
    performance : Performance, optional
        Speed of blocks; equal by default.
    workers : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    SparingEvaluation
        Arrays of shape ``(s, *g)``.

    Raises
    ------
    ArgumentError
        For blocks that do not divide a rack or a group, or spare blocks that leave no working block or break the
        placement rule.

    Notes
    -----
    Source: sparing paper, equations 1 to 8 as corrected. As in its Table 1, spare and stranded blocks count by their
    working GPUs; spare trays count over the complete cluster.

    Examples
    --------
    >>> cluster = Cluster(zones=4, racks=256, trays=36, gpus=2, group=2304)
    >>> failures = DeviceFailures(mtbf_tray=20_000, mtbf_rack=10_000, mttr=24)
    >>> recovery = Recovery(checkpoint_every="250s", save="50ms", detection="60s", restart="6min")
    >>> result = evaluate_sparing(cluster, Strategies([36, 36], [0, 4]), failures, recovery)
    >>> result.spare_blocks.tolist(), (100 * result.cett).round(1).tolist()
    ([32, 4], [68.8, 68.5])
    """
    recovery, performance = recovery or Recovery(), performance or Performance()
    blocks = strategies.check(cluster)
    unit, filled, misfits = placement_groups(cluster, strategies, blocks)
    for misfit in filter(None, misfits):
        raise ArgumentError(misfit)
    cases = int(np.prod(failures.shape, dtype=np.int64))
    check_work(blocks, strategies.spare_trays, cases, recovery.loss_limit, cluster.zones)
    lead = (-1,) + (1,) * len(failures.shape)
    size, idle = strategies.block_trays.reshape(lead), strategies.spare_trays.reshape(lead)
    mtbf = block_mtbf(size, idle, failures.mtbf_tray, failures.mtbf_rack, failures.mttr)
    down = unavailability(mtbf, failures.mttr)
    in_rack = cluster.trays / size if cluster.shared_racks else np.ones(size.shape)  # blocks that it takes down at once
    rate = 1.0 / (failures.mtbf_rack * in_rack) + (size - idle) / failures.mtbf_tray
    rack_down = np.where(in_rack > 1.0, unavailability(failures.mtbf_rack, failures.mttr), 0.0)
    total, rate, unit_of_case, in_rack, rack_down = np.broadcast_arrays(
        blocks.reshape(lead).astype(np.float64), rate, unit.reshape(lead), in_rack, rack_down, mtbf
    )[:5]
    racks = SharedRacks(in_rack, rack_down, np.broadcast_to(1.0 / failures.mtbf_rack, mtbf.shape))
    free, placed = best_spare_blocks(recovery, cluster.zones, total, down, rate, racks, unit_of_case, workers)
    if strategies.spare_blocks is not None:
        for r, all_of, u in zip(strategies.spare_blocks.tolist(), blocks.tolist(), unit.tolist(), strict=True):
            if (all_of - r) % u:
                of = f"a group of {cluster.group} GPUs"
                what = f"spare_blocks = {r} leaves {all_of - r} working blocks, not a multiple of the {u} of {of}"
                raise ArgumentError(what, remedy=f"use {all_of - (all_of - r) // u * u}")
        placed = np.broadcast_to(strategies.spare_blocks.reshape(lead), mtbf.shape)
    every, lost = losses(recovery, total, placed, cluster.zones, down, rate, racks)
    gpus, idle_share = cluster.gpus * strategies.block_trays, idle / size
    hardware, model = performance.scales(gpus, gpus - cluster.gpus * strategies.spare_trays)
    needed, at_work = np.minimum(free, placed) / total, 1.0 - idle_share
    job, filled_share = (1.0 - placed / total) * at_work, filled.reshape(lead)
    useful = np.clip(1.0 - sum(lost.values()), 0.0, 1.0)
    shares = {
        "useful": np.asarray(job * filled_share * useful),
        "spare_trays": np.broadcast_to(idle_share, job.shape),
        "spare_blocks": needed * at_work,
        "stranded": (placed / total - needed) * at_work + job * (1.0 - filled_share),
        **{name: np.asarray(job * filled_share * lost[name]) for name in LOSSES},
    }
    return SparingEvaluation(
        cluster=cluster,
        strategies=strategies,
        failures=failures,
        recovery=recovery,
        performance=performance,
        blocks=blocks,
        group_blocks=unit,
        spare_blocks=placed.astype(np.int64),
        shares=shares,
        checkpoint_every=np.broadcast_to(every, mtbf.shape),
        block_mtbf=mtbf,
        share_down=down,
        job_blocked=np.broadcast_to(lost["blocked"], mtbf.shape),
        failure_rate=(total - placed) * cluster.zones * rate,
        hardware=hardware,
        model=model,
    )


def optimise_sparing(
    cluster: Cluster,
    failures: DeviceFailures,
    recovery: Recovery | None = None,
    performance: Performance | None = None,
    *,
    strategies: Strategies | None = None,
    workers: int | None = None,
) -> SparingEvaluation:
    """The block size, spare trays, spare blocks and checkpoint interval with the highest goodput, for every case.

    Parameters
    ----------
    cluster : Cluster
    failures : DeviceFailures
        Any shape.
    recovery, performance
        As for `evaluate_sparing`; with a `checkpoint_every` of None each case has its best interval.
    strategies : Strategies, optional
        Candidates; by default every block size that divides a rack with every number of spare trays.
    workers : int, optional
        Number of threads; the result does not depend on it.

    Returns
    -------
    SparingEvaluation
        Of every strategy that can be placed, each with its best spare blocks and checkpoint interval.

    Raises
    ------
    ArgumentError
        As for `evaluate_sparing`, and if no strategy fits the placement groups.

    Examples
    --------
    >>> cluster = Cluster(zones=4, racks=256, trays=36, gpus=2, group=2304)
    >>> recovery = Recovery(save="50ms", detection="60s", restart="6min")
    >>> best = optimise_sparing(cluster, DeviceFailures(20_000, 10_000, 24), recovery)
    >>> best.ranking().loc[0, ["block_gpus", "working_gpus", "spare_blocks"]].astype(int).tolist()
    [6, 6, 384]
    """
    every = strategies or Strategies.every(cluster)
    _, _, misfits = placement_groups(cluster, every, every.check(cluster))
    fits = np.array([not misfit for misfit in misfits])
    if not fits.any():
        raise ArgumentError(f"no strategy can be placed: {misfits[0]}", remedy="set partial_groups, or another group")
    labels = every.labels(cluster.gpus)
    left_out = tuple(dict.fromkeys(label for label, good in zip(labels, fits.tolist(), strict=True) if not good))
    placed = evaluate_sparing(cluster, every.take(fits), failures, recovery, performance, workers=workers)
    return replace(placed, left_out=left_out)


def placement_groups(
    cluster: Cluster, strategies: Strategies, blocks: IntArray
) -> tuple[IntArray, FloatArray, list[str]]:
    """Blocks per placement group, the share of their GPUs in use, and why a strategy does not fit (or "")."""
    working = (strategies.block_trays - strategies.spare_trays) * cluster.gpus
    if cluster.group is None:
        return np.ones_like(working), np.ones(working.size), [""] * working.size
    unit = -(-cluster.group // working)
    filled = cluster.group / (unit * working)
    why = []
    for w, u, f, total in zip(working.tolist(), unit.tolist(), filled.tolist(), blocks.tolist(), strict=True):
        if f < 1.0 and not cluster.partial_groups:
            why.append(f"blocks of {w} working GPUs do not divide a group of {cluster.group} GPUs")
        elif u > total:
            why.append(f"a zone of {total} blocks of {w} working GPUs has no room for a group of {cluster.group} GPUs")
        else:
            why.append("")
    return unit, filled, why
