"""Repairs with a history: stages in turn, by the number of earlier repairs, and nodes beyond repair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

from relfit.base.arguments import durations
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.fleet.calibration.parameter_values import rejection
from relfit.simulation.engine.checked_settings import Settings, Time, check_duration

REPLACED, BEYOND_REPAIR = -1, -2  # outcomes of a repair; the others are the number of the stage that succeeded, from 1
HISTORIES = 64  # distinct numbers of earlier repairs, from 0, that settings may tell apart


def listed(value: object) -> Any:
    """A sequence as a tuple; one value as a tuple of it."""
    return tuple(value) if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str) else (value,)


def _times(values: tuple[object, ...]) -> tuple[float, ...]:
    return tuple(float(durations("time", check_duration(value))) for value in values)


Probabilities = Annotated[
    tuple[Annotated[float, Field(ge=0.0, le=1.0)], ...],
    BeforeValidator(listed),
    Field(min_length=1, max_length=HISTORIES),
]
"""Probabilities by the number of earlier repairs of a node; the last one holds for all further repairs."""
Times = Annotated[
    tuple[Any, ...], BeforeValidator(listed), AfterValidator(_times), Field(min_length=1, max_length=HISTORIES)
]


def by_repairs(values: Sequence[float], earlier: IntArray) -> FloatArray:
    """The value of each node by its number of earlier repairs; the last one holds for all further repairs."""
    table = np.asarray(values, dtype=np.float64)
    return np.asarray(table[np.minimum(earlier, table.size - 1)])


def _read(value: object) -> Any:
    """A duration, or repairs in stages where it is a table."""
    if isinstance(value, Mapping):
        try:
            return StagedRepairs(**value)
        except ArgumentError as error:
            raise rejection(error.what, remedy=error.remedy) from None
    return value if isinstance(value, StagedRepairs) else check_duration(value)


Repair = Annotated[Any, BeforeValidator(_read)]  # a duration, or a table of `StagedRepairs`


class DrawnRepairs(NamedTuple):
    """Drawn repairs, one per node."""

    hours: FloatArray  # until the node, or its replacement, is up; infinite where it never is
    outcome: IntArray  # number of the stage that succeeded, from 1; `REPLACED`; `BEYOND_REPAIR`


class RepairStage(Settings):
    """One kind of repair, such as an automatic or a manual one.

    Parameters
    ----------
    time : duration or sequence of durations
        Mean of exponential times; several are by the number of earlier repairs of the node, the last for all further
        ones.
    success : float or sequence of float
        Probability that the node works afterwards; several as for `time`.
    name : str
    fixed : bool
        The stage takes exactly `time`.
    """

    time: Times
    success: Probabilities = (1.0,)
    name: str = "repair"
    fixed: bool = False


class StagedRepairs(Settings):
    """Repairs in stages, which may depend on the earlier repairs of the node.

    A failed node goes through the stages until one succeeds. A node that the last one does not repair is beyond repair:
    it is replaced by a new node after a delivery, or is gone for good. A replacement has no earlier repairs.

    Parameters
    ----------
    stages : sequence of RepairStage
    replacement : duration, optional
        Time from the end of the last stage until a new node is up; by default nodes are not replaced.

    Examples
    --------
    >>> auto = RepairStage(name="automatic", time="2h", success=[0.8, 0.5])
    >>> manual = RepairStage(name="manual", time="2 days", success=0.9)
    >>> repairs = StagedRepairs(stages=[auto, manual], replacement="7 days")
    >>> round(repairs.mean_hours(0), 2), round(repairs.mean_hours(3), 2)
    (14.96, 34.4)
    >>> drawn = repairs.draw(np.zeros(1000, dtype=np.int64), np.random.default_rng(1))
    >>> bool(770 < (drawn.outcome == 1).sum() < 830), bool(5 < (drawn.outcome == REPLACED).sum() < 40)
    (True, True)
    """

    stages: tuple[RepairStage, ...] = Field(min_length=1)
    replacement: Time | None = None

    def draw(self, earlier: IntArray, rng: np.random.Generator) -> DrawnRepairs:
        """Draw one repair of each node, by its number of earlier repairs."""
        hours, outcome = np.zeros(earlier.size), np.full(earlier.size, BEYOND_REPAIR)
        broken = np.arange(earlier.size)
        for number, stage in enumerate(self.stages, start=1):
            times = by_repairs(stage.time, earlier[broken])
            hours[broken] += times if stage.fixed else times * rng.standard_exponential(broken.size)
            success = rng.random(broken.size) < by_repairs(stage.success, earlier[broken])
            outcome[broken[success]] = number
            broken = broken[~success]
        hours[broken] += self.replacement_hours
        if self.replacement is not None:
            outcome[broken] = REPLACED
        return DrawnRepairs(hours, outcome)

    def mean_hours(self, earlier: int = 0) -> float:
        """Mean hours of a repair of a node with `earlier` repairs, including the delivery where nodes are replaced."""
        count, left, mean = np.array([earlier]), 1.0, 0.0
        for stage in self.stages:
            mean += left * float(by_repairs(stage.time, count)[0])
            left *= 1.0 - float(by_repairs(stage.success, count)[0])
        return mean + (0.0 if self.replacement is None else left * self.replacement_hours)

    def beyond_repair(self, earlier: int = 0) -> float:
        """Probability that a node with `earlier` repairs is beyond repair."""
        failing = [1.0 - by_repairs(stage.success, np.array([earlier]))[0] for stage in self.stages]
        return float(np.prod(failing).round(15))

    def tables(self) -> tuple[FloatArray, FloatArray, BoolArray, float]:
        """For compiled code: mean hours and successes, shape (stages, histories), fixed stages, hours of delivery."""
        histories = np.arange(self.histories)
        times, success = (
            np.array([by_repairs(getattr(stage, name), histories) for stage in self.stages])
            for name in ("time", "success")
        )
        fixed = np.array([stage.fixed for stage in self.stages])
        return times, success, fixed, self.replacement_hours

    @property
    def replacement_hours(self) -> float:
        """Delivery time; infinite where nodes are not replaced."""
        return np.inf if self.replacement is None else float(durations("replacement", self.replacement))

    @property
    def histories(self) -> int:
        """Distinct numbers of earlier repairs that the stages tell apart."""
        return max(len(values) for stage in self.stages for values in (stage.time, stage.success))

    def long_run_mean(self) -> float:
        """Mean hours of a repair in the long run, over a node and its replacements, or over nodes that stay."""
        weights, weight = np.zeros(self.histories), 1.0
        for earlier in range(self.histories):
            weights[earlier], weight = weight, weight * (1.0 - self.beyond_repair(earlier))
        last = self.beyond_repair(self.histories - 1)
        if last > 0.0:
            weights[-1] /= last
        elif weight > 0.0:
            weights = (np.arange(self.histories) == self.histories - 1) * 1.0
        means = [self.mean_hours(earlier) for earlier in range(self.histories)]
        return float(weights @ means / weights.sum())
