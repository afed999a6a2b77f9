"""`checkpoint_table`: best checkpoint intervals of jobs of several sizes, as a table for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.arguments import whole
from relfit.base.arrays import Durations
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.results import Result
from relfit.base.text import count, duration
from relfit.planning.checkpointing.checkpoint_plan import CheckpointPlan, plan_checkpoints
from relfit.system.jobs import Checkpoint


class CheckpointTable(Result):
    """Best checkpoint intervals by size of job; made by `checkpoint_table`.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per size: ``nodes``, ``mtbf_seconds`` (between failures of the job), ``checkpoint_every_seconds`` (of
        work) and ``lost`` (share of time), both with ``_low`` and ``_high`` (NaN if the uncertainty is unknown),
        ``status``.
    plans : tuple of CheckpointPlan
        One per size.
    """

    table: pd.DataFrame
    plans: tuple[CheckpointPlan, ...]

    _not_in_json = ("plans",)
    _frame = "table"

    @property
    def headline(self) -> str:
        """The intervals of the smallest and the largest job."""
        rows = [self.table.iloc[i] for i in ((0, -1) if len(self.table) > 1 else (0,))]
        good = [
            f"on {count(int(row['nodes']), 'node')} every {duration(row['checkpoint_every_seconds'] / 3600.0)}"
            for row in rows
            if row["status"] == "ok"
        ]
        texts = [f"checkpoint {', '.join(good)} of work"] if good else []
        texts += [
            f"on {count(int(row['nodes']), 'node')} no interval makes progress" for row in rows if row["status"] != "ok"
        ]
        text = "; ".join(texts)
        return f"{text[:1].upper()}{text[1:]}."

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, and premise and wait for repairs of the largest job."""
        last = self.plans[-1]
        return (self.headline, last.premise.rstrip(":") + ".", last.waits)


def checkpoint_table(
    source: object, checkpoint: Checkpoint, sizes: Sequence[int], restart: Durations = 0.0, **options: Any
) -> CheckpointTable:
    """Plan the checkpoints of jobs of several sizes.

    Parameters
    ----------
    source, checkpoint, restart
        As for `plan_checkpoints`.
    sizes : sequence of int
        Nodes of each job.
    **options
        As for `plan_checkpoints`, except ``nodes``.

    Raises
    ------
    ArgumentError
        Without sizes, for a repeated size or one below 1, and as for `plan_checkpoints`.

    Examples
    --------
    >>> plans = checkpoint_table("20000h", Checkpoint(save="5min", restore="10min"), [1, 64, 1000])
    >>> plans.table[["nodes", "checkpoint_every_seconds"]].round().astype(int).values.tolist()
    [[1, 207646], [64, 25781], [1000, 6374]]
    """
    if not len(sizes):
        remedy = Remedy("give sizes=[1, 16, 64] or the like", "give --sizes 1,16,64 or the like")
        raise ArgumentError("no size is given", remedy=remedy)
    wanted = np.atleast_1d(whole("sizes", list(sizes)))
    if np.unique(wanted).size < wanted.size:
        raise ArgumentError("a size is given twice", remedy="give each once")
    plans = tuple(plan_checkpoints(source, checkpoint, restart, nodes=int(size), **options) for size in wanted)
    rows = []
    for size, plan in zip(wanted.tolist(), plans, strict=True):
        every = [3600.0 * value for value in (plan.checkpoint_every, *plan.every_limits)]
        rows.append([size, 3600.0 * plan.mtbf, *every, plan.waste, *plan.waste_limits, plan.status])
    ends = ("", "_low", "_high")
    limited = [f"{name}{end}" for name in ("checkpoint_every_seconds", "lost") for end in ends]
    return CheckpointTable(pd.DataFrame(rows, columns=["nodes", "mtbf_seconds", *limited, "status"]), plans)
