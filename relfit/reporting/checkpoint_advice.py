"""The checkpoints that the report advises, and whether the last 90 days of the log refute the loss that it predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from relfit.backtesting.backtest_results import MARK_LEVEL, MATTERS, REFUTED
from relfit.backtesting.interval_scores import lost_lately
from relfit.base.errors import DataError
from relfit.base.text import duration, percent
from relfit.fleet.calibration import Parameters
from relfit.fleet.job_placement import NodeOutages
from relfit.log.failurelog import FailureLog
from relfit.planning import plan_checkpoints
from relfit.system.jobs import Checkpoint

if TYPE_CHECKING:
    from relfit.planning.checkpointing.checkpoint_plan import CheckpointPlan

_SAVE = "5min"


@dataclass(frozen=True)
class AdvisedCheckpoints:
    """A plan for one size of job, and the share of time that such jobs lost in the last 90 days, with its limits."""

    size: int
    plan: CheckpointPlan
    lost: tuple[float, float, float]

    @property
    def advice(self) -> str:
        """The interval, what failures cost with it, and what spares would change."""
        size = "a job on one node" if self.size == 1 else f"a {self.size}-node job"
        spared = getattr(self.plan, "spared_waste", None)
        spare = f", {percent(spared)} where spares take over at once" if spared is not None and self.plan.waits else ""
        lately = f" ({percent(self.lost[1])} in the last 90 days)" if self.refuted else ""
        return (
            f"Checkpoint {size} every {duration(self.plan.checkpoint_every)} if checkpoint and restore take 5 minutes "
            f"each: failures cost {percent(self.plan.waste)} of its time{lately}{spare}."
        )

    @property
    def refuted(self) -> str:
        """Why the predicted loss is refuted: it is clearly more, or less, than what such jobs lost; else empty."""
        low, mean, high = self.lost
        least, most = self.plan.waste_limits
        far = abs(self.plan.waste - mean) > REFUTED * MATTERS["decisions"]
        if not far or not (least > high or most < low):
            return ""
        return f"{percent(self.plan.waste)} predicted, {percent(mean)} in the last 90 days"


def advised_checkpoints(params: Parameters, log: FailureLog, size: int) -> AdvisedCheckpoints:
    """The plan for jobs of `size` nodes whose saves and restores take five minutes, followed through the log."""
    costs = Checkpoint(save=_SAVE, restore=_SAVE)
    plan = plan_checkpoints(params, costs, nodes=size)
    nodes = NodeOutages.of(log)
    if not nodes:
        raise DataError("no node is known")
    lost = lost_lately(nodes[0], log.window.hours, size, plan.checkpoint_every, costs, MARK_LEVEL)
    return AdvisedCheckpoints(size, plan, lost)
