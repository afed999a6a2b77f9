"""The sparing planner: evaluate strategies, and choose spare blocks, spare trays, block size and checkpoint period.

Source: "Sparing strategies to minimize reliability impact on large training jobs", sections 2 and 3, with the
corrections of its misprints: beta = 1 - (1 - P)^B, and a checkpoint efficiency that keeps MTBF_F and W.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.planning.sparing.block import block_mtbf
from relfit.planning.sparing.blocking import unavailability
from relfit.planning.sparing.cluster import Cluster, DeviceFailures, Strategies
from relfit.planning.sparing.evaluation import SHARES, SparingEvaluation
from relfit.planning.sparing.performance import Performance
from relfit.planning.sparing.recovery import LOSSES, Recovery, SemiSynchronous, Situation, synchronous

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SHARES", "SparingEvaluation", "SparingPlan", "evaluate_sparing", "optimise_sparing"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_CHUNK = 1_000_000  # cases of an exhaustive search held at once
_PIECES = 32  # into which cases are cut for the threads


@dataclass(frozen=True, eq=False)
class SparingPlan:
    """The best of many strategies in every case.

    Attributes
    ----------
    evaluation : SparingEvaluation
        Of every strategy that can be placed, each with its best spare blocks and period.
    left_out : tuple of str
        Strategies whose blocks do not divide the group, or that cannot place one group.
    """

    evaluation: SparingEvaluation
    left_out: tuple[str, ...]

    @property
    def best(self) -> IntArray:
        """Index of the best strategy in each case."""
        return self.evaluation.best

    def of_best(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """From an array over strategies and cases, what belongs to the best strategy of each case."""
        return np.asarray(np.take_along_axis(values, self.best[None], axis=0)[0])

    @property
    def goodput(self) -> FloatArray:
        """Of the best strategy in each case, GPUs."""
        return self.of_best(self.evaluation.goodput)

    @property
    def cett(self) -> FloatArray:
        """Of the best strategy in each case."""
        return self.of_best(self.evaluation.cett)

    @property
    def spare_blocks(self) -> IntArray:
        """Of the best strategy in each case, a zone."""
        return np.asarray(self.of_best(self.evaluation.spare_blocks), dtype=np.int64)

    @property
    def sentence(self) -> str:
        """The best plan in words."""
        said = self.evaluation.sentence
        if self.left_out:
            shown = ", ".join(self.left_out[:4]) + (", ..." if len(self.left_out) > 4 else "")
            said += f" {len(self.left_out)} strategies do not fit the placement groups ({shown})."
        return said

    def to_frame(self) -> pd.DataFrame:
        """One case: strategies, best first. Several: the best strategy of each case."""
        table = self.evaluation.to_frame()
        if not self.evaluation.failures.shape:
            return table.sort_values("goodput_gpus", ascending=False, kind="stable").reset_index(drop=True)
        cases = self.best.size
        return table.iloc[self.best.ravel() * cases + np.arange(cases)].reset_index(drop=True)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        found = self.evaluation.to_dict()
        frame = self.to_frame().astype(object)
        found["rows"] = frame.where(frame.notna() & ~frame.isin([np.inf, -np.inf]), None).to_dict("records")
        return {**found, "left_out": list(self.left_out), "sentence": self.sentence}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Where GPU hours go under the ten best strategies (one case)."""
        from relfit.plotting.sparing import gpu_hours

        return gpu_hours(self.evaluation, ax)

    def __repr__(self) -> str:
        return f"SparingPlan: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        table = self.to_frame().head(20).to_html(escape=True, index=False, float_format="{:.4g}".format)
        return f"<p>{escape(self.sentence)}</p>{table}"


def evaluate_sparing(
    cluster: Cluster,
    strategies: Strategies,
    failures: DeviceFailures,
    recovery: Recovery | None = None,
    performance: Performance | None = None,
    *,
    workers: int | None = None,
) -> SparingEvaluation:
    """Where the GPU hours of a cluster go under given strategies.

    Parameters
    ----------
    cluster : Cluster
    strategies : Strategies
        Shape (s,). Without spare blocks, the best number under the placement rule is taken for each case.
    failures : DeviceFailures
        Any shape g.
    recovery : Recovery, optional
        Without it a failure costs nothing but the swap of blocks.
    performance : Performance, optional
        Speed of blocks; equal for all when left out.
    workers : int, optional
        Threads; the result does not depend on it.

    Returns
    -------
    SparingEvaluation
        Arrays of shape (s, *g).

    Raises
    ------
    ArgumentError
        For blocks that do not divide a rack or a group, spare blocks that leave none to work or break the placement
        rule, or saves longer than their period.

    Notes
    -----
    Source: sparing paper, equations 1 to 8 as corrected. Spare blocks and stranded blocks are counted by their working
    GPUs and spare trays over the whole cluster, as in its Table 1.

    Examples
    --------
    >>> cluster = Cluster(zones=4, racks=256, trays=36, gpus=2, group=2304)
    >>> failures = DeviceFailures(mtbf_tray=20_000, mtbf_rack=10_000, mttr=24)
    >>> recovery = Recovery(period="250s", save="50ms", detection="60s", restart="6min")
    >>> found = evaluate_sparing(cluster, Strategies([36, 36], [0, 4]), failures, recovery)
    >>> found.spare_blocks.tolist(), (100 * found.cett).round(1).tolist()
    ([32, 4], [68.8, 68.5])
    """
    recovery, performance = recovery or Recovery(), performance or Performance()
    blocks = strategies.check(cluster)
    unit, filled, misfit = placement_groups(cluster, strategies, blocks)
    for i in range(len(strategies)):
        if misfit[i]:
            raise ArgumentError(misfit[i])
    grid = (1,) * len(failures.shape)
    lead = (-1, *grid)
    total, size, spare_trays = (
        a.reshape(lead).astype(np.float64) for a in (blocks, strategies.block_trays, strategies.spare_trays)
    )
    mtbf = block_mtbf(size, spare_trays, failures.mtbf_tray, failures.mtbf_rack, failures.mttr)
    down = unavailability(mtbf, np.broadcast_to(failures.mttr, mtbf.shape))
    in_rack = cluster.trays / size if cluster.shared_racks else 1.0  # blocks that one failure of a rack hits together
    rate = 1.0 / (failures.mtbf_rack * in_rack) + (size - spare_trays) / failures.mtbf_tray
    rate = np.broadcast_to(rate, mtbf.shape)
    per_case = _Cases(np.broadcast_to(total, mtbf.shape), down, rate, np.broadcast_to(failures.mttr, mtbf.shape))
    groups = np.broadcast_to(unit.reshape(lead), mtbf.shape)
    free, placed = _best_spares(cluster, per_case, groups, recovery, workers)
    if strategies.spare_blocks is not None:
        _check_placed(cluster, strategies.spare_blocks, blocks, unit)
        placed = np.broadcast_to(strategies.spare_blocks.reshape(lead), mtbf.shape)
    situation = per_case.situation(cluster, placed, recovery)
    losses = recovery.losses(situation)
    shares = _shares(placed, free, per_case.blocks, spare_trays / size, filled.reshape(lead), losses)
    gpus = cluster.gpus
    working = (strategies.block_trays - strategies.spare_trays) * gpus
    hardware, model = performance.scales(strategies.block_trays * gpus, working)
    zero = np.zeros(mtbf.shape)
    return SparingEvaluation(
        cluster, strategies, failures, recovery, performance, blocks, unit, placed.astype(np.int64), free, shares,
        situation.period, mtbf, down, np.broadcast_to(losses.get("blocked", zero), mtbf.shape), situation.failure_rate,
        np.atleast_1d(hardware), np.atleast_1d(model),
    )  # fmt: skip


def optimise_sparing(
    cluster: Cluster,
    failures: DeviceFailures,
    recovery: Recovery | None = None,
    performance: Performance | None = None,
    *,
    strategies: Strategies | None = None,
    workers: int | None = None,
) -> SparingPlan:
    """The block size, spare trays, spare blocks and checkpoint period of highest goodput, in every case at once.

    Parameters
    ----------
    cluster : Cluster
    failures : DeviceFailures
        Any shape.
    recovery, performance
        As for `evaluate_sparing`; a period of None is chosen too (in closed form for the built-in schemes).
    strategies : Strategies, optional
        What to choose from; every block size that divides a rack with every number of spare trays when left out.
    workers : int, optional
        Threads.

    Returns
    -------
    SparingPlan

    Raises
    ------
    ArgumentError
        As `evaluate_sparing`; also when no strategy fits the placement groups.

    Examples
    --------
    >>> cluster = Cluster(zones=4, racks=256, trays=36, gpus=2, group=2304)
    >>> recovery = Recovery(save="50ms", detection="60s", restart="6min")
    >>> plan = optimise_sparing(cluster, DeviceFailures(20_000, 10_000, 24), recovery)
    >>> plan.to_frame().loc[0, ["block_gpus", "working_gpus", "spare_blocks"]].astype(int).tolist()
    [72, 72, 32]
    """
    every = strategies or Strategies.every(cluster)
    blocks = every.check(cluster)
    _, _, misfit = placement_groups(cluster, every, blocks)
    fits = np.array([not text for text in misfit])
    if not fits.any():
        raise ArgumentError(f"no strategy can be placed: {misfit[0]}", remedy="set partial_groups, or another group")
    labels = every.labels(cluster.gpus)
    left_out = tuple(dict.fromkeys(label for label, good in zip(labels, fits.tolist(), strict=True) if not good))
    found = evaluate_sparing(cluster, every.take(fits), failures, recovery, performance, workers=workers)
    return SparingPlan(found, left_out)


@dataclass(frozen=True, eq=False)
class _Cases:
    """What the choice of spare blocks depends on, one value a strategy and case."""

    blocks: FloatArray
    share_down: FloatArray
    rate: FloatArray
    mttr: FloatArray

    def situation(self, cluster: Cluster, spare: npt.ArrayLike, recovery: Recovery, index: Any = ...) -> Situation:
        """The situation with these spare blocks, and the period that is given or best."""
        without = Situation(
            self.blocks[index], np.asarray(spare, dtype=np.float64), cluster.zones, self.share_down[index],
            self.mttr[index], self.rate[index], recovery.save, recovery.detection, recovery.restart, np.zeros(()),
            recovery.disturbed,
        )  # fmt: skip
        return replace(without, period=recovery.periods(without))


def placement_groups(
    cluster: Cluster, strategies: Strategies, blocks: IntArray
) -> tuple[IntArray, FloatArray, list[str]]:
    """Blocks of one placement group, the share of them that is filled, and why a strategy does not fit (or "")."""
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


def _check_placed(cluster: Cluster, spare: IntArray, blocks: IntArray, unit: IntArray) -> None:
    for r, total, u in zip(spare.tolist(), blocks.tolist(), unit.tolist(), strict=True):
        if (total - r) % u:
            raise ArgumentError(
                f"spare_blocks = {r} leaves {total - r} working blocks, not a multiple of the {u} of a group "
                f"of {cluster.group} GPUs",
                remedy=f"use {total - (total - r) // u * u}",
            )


def _best_spares(
    cluster: Cluster, cases: _Cases, unit: IntArray, recovery: Recovery, workers: int | None
) -> tuple[IntArray, IntArray]:
    """Best spare blocks without and with the placement rule."""
    shape = cases.blocks.shape
    if recovery.scheme is synchronous:
        return _compiled(cluster, cases, unit, recovery, workers)
    free, placed = np.empty(cases.blocks.size, np.int64), np.empty(cases.blocks.size, np.int64)
    flat = _Cases(*(np.ascontiguousarray(a).ravel() for a in (cases.blocks, cases.share_down, cases.rate, cases.mttr)))
    units = np.ascontiguousarray(unit).ravel()
    states = recovery.scheme.limit + 1 if isinstance(recovery.scheme, SemiSynchronous) else 1
    for total in np.unique(flat.blocks):
        members = np.flatnonzero(flat.blocks == total)
        step = max(1, int(_CHUNK // (total * states)))
        spare = np.arange(int(total))[:, None]
        for piece in (members[i : i + step] for i in range(0, members.size, step)):
            lost = recovery.losses(flat.situation(cluster, spare, recovery, piece))
            useful = np.broadcast_to(1.0 - sum(lost.values(), start=np.zeros(())), (spare.size, piece.size))
            value = (total - spare) * useful
            free[piece] = value.argmax(axis=0)
            placed[piece] = np.where((int(total) - spare) % units[piece] == 0, value, -1.0).argmax(axis=0)
    return free.reshape(shape), placed.reshape(shape)


def _compiled(
    cluster: Cluster, cases: _Cases, unit: IntArray, recovery: Recovery, workers: int | None
) -> tuple[IntArray, IntArray]:
    from relfit.numeric.batches import over_groups
    from relfit.planning.sparing.spare_kernels import best_spare_blocks

    shape = cases.blocks.shape
    flat = [np.ascontiguousarray(a).ravel() for a in (cases.blocks.astype(np.int64), cases.share_down, cases.rate)]
    groups = np.ascontiguousarray(unit, dtype=np.int64).ravel()
    free, placed = np.empty(groups.size, np.int64), np.empty(groups.size, np.int64)
    period = np.nan if recovery.period is None else recovery.period
    down = recovery.detection + recovery.restart

    def work(first: int, last: int) -> None:
        best_spare_blocks(
            flat[0],
            flat[1],
            cluster.zones,
            flat[2],
            recovery.save,
            down,
            recovery.disturbed,
            period,
            groups,
            free,
            placed,
            first,
            last,
        )

    # one "group" of the batch a case, weighted by the blocks that the search may have to look at
    over_groups(np.concatenate([[0], np.cumsum(flat[0])]), work, workers)
    return free.reshape(shape), placed.reshape(shape)


def _shares(
    spare: IntArray,
    free: IntArray,
    blocks: FloatArray,
    idle_trays: FloatArray,
    filled: FloatArray,
    losses: dict[str, FloatArray],
) -> dict[str, FloatArray]:
    """Shares of all GPU hours; they add to one."""
    working = 1.0 - idle_trays
    needed = np.minimum(free, spare) / blocks
    job = (1.0 - spare / blocks) * working
    shape = job.shape
    found = {
        "spare_trays": np.broadcast_to(idle_trays, shape),
        "spare_blocks": needed * working,
        "stranded": (spare / blocks - needed) * working + job * (1.0 - filled),
    }
    job = job * filled
    found |= {name: job * np.broadcast_to(losses.get(name, np.zeros(())), shape) for name in LOSSES}
    lost = sum((losses[name] for name in losses), start=np.zeros(()))
    found["useful"] = job * np.broadcast_to(np.clip(1.0 - lost, 0.0, 1.0), shape)
    return {name: np.asarray(found[name]) for name in SHARES}
