"""Designs of training clusters: the smallest working pool that suffices, and the cheapest sufficient design."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.errors import ArgumentError
from relfit.base.results import Result
from relfit.base.text import percent
from relfit.simulation.training.parameters import TrainingParameters, training_parameters
from relfit.simulation.training.training_simulation import TrainingSimulation, simulate_training

_MOST_DESIGNS = 100_000


class TrainingDesigns(Result):
    """The simulated designs, and the one that is the answer.

    Attributes
    ----------
    designs : pandas.DataFrame
        One row per simulated design: the keys that differ, ``cost`` where there is one, the mean ``hours`` and ``etr``
        with the confidence interval ``etr_low`` to ``etr_high``, and whether it ``suffices``.
    parameters : TrainingParameters or None
        Those of the answer; None where no design suffices.
    question : str
        What was searched for, in words.
    keys : tuple of str
        Keys that differ between the designs.
    """

    designs: pd.DataFrame
    parameters: TrainingParameters | None
    question: str
    keys: tuple[str, ...]

    _frame = "designs"

    @property
    def headline(self) -> str:
        """The answer."""
        if self.parameters is None:
            return f"{self.question}: none of {len(self.designs)} designs"
        values = ", ".join(f"{key.replace('_', ' ')} {getattr(self.parameters, key):g}" for key in self.keys)
        row = self.designs[self.designs["suffices"]].iloc[0]  # the smallest, or the cheapest, that suffices
        return f"{self.question}: {values} ({row['hours']:,.0f} h, effective training ratio {percent(row['etr'])})"


def _row(run: TrainingSimulation) -> dict[str, float]:
    etr = run.outputs.loc["etr"]
    hours = float(run.whole["total_training_time"].mean()) / 60.0
    mean, low, high = (float(value) for value in etr[["mean", "low", "high"]].to_numpy(dtype=np.float64))
    return {"hours": hours, "etr": mean, "etr_low": low, "etr_high": high}


def smallest_pool(
    params: TrainingParameters | Mapping[str, object] | None = None,
    *,
    tolerance: float = 0.005,
    most: int | None = None,
    n_replications: int = 30,
    rng: int = 0,
    workers: int | None = None,
) -> TrainingDesigns:
    """The smallest working pool with which training takes at most a little longer than with the largest.

    The size is found by bisection. All sizes share their random numbers, so that small differences show. A size
    suffices only if training finishes in every run; if it does not with the largest pool, none suffices.

    Parameters
    ----------
    params : TrainingParameters or mapping, optional
        As for `simulate_training`.
    tolerance : float
        By which share of the time with the largest pool training may take longer; 0.005 is 0.5 %.
    most : int, optional
        The largest working pool, in servers; by default a quarter more than the jobs and their standbys need.
    n_replications, rng, workers
        As for `simulate_training`.

    Returns
    -------
    TrainingDesigns

    Raises
    ------
    ArgumentError
        For a tolerance outside 0..1, or a largest pool below what the jobs and their standbys need.

    Examples
    --------
    >>> small = {"job_size": 60, "warm_standbys": 2, "job_length": "20 days", "spare_pool_size": 30}
    >>> answer = smallest_pool(small, n_replications=8, most=90)
    >>> 62 <= answer.parameters.working_pool_size <= 90
    True
    """
    base = params if isinstance(params, TrainingParameters) else training_parameters(params)
    if not 0.0 < tolerance < 1.0:
        raise ArgumentError(f"tolerance is {tolerance:g}", remedy="give a share, as 0.005")
    needed = sum(job.job_size + job.warm_standbys for job in base.all_jobs)
    largest = int(1.25 * needed) + 1 if most is None else most
    if largest < needed:
        raise ArgumentError(f"most is {largest}; the job needs {needed}", remedy=f"give {needed} or more")
    rows: dict[int, dict[str, Any]] = {}
    taken: dict[int, float] = {}  # hours; inf where a run did not finish

    def hours(size: int) -> float:
        case = base.but(working_pool_size=size)
        run = simulate_training(case, n_replications=n_replications, rng=rng, workers=workers)
        rows[size] = {"working_pool_size": size, **_row(run)}
        taken[size] = float(rows[size]["hours"]) if not run.whole["depleted"].any() else np.inf
        return taken[size]

    limit = hours(largest) * (1.0 + tolerance)
    low, high = needed - 1, largest
    while high - low > 1 and limit < np.inf:
        middle = (low + high) // 2
        low, high = (low, middle) if hours(middle) <= limit else (middle, high)
    table = pd.DataFrame([rows[size] for size in sorted(rows)])
    table["suffices"] = [taken[size] <= limit < np.inf for size in sorted(rows)]
    best = base.but(working_pool_size=high) if limit < np.inf else None
    question = f"smallest working pool within {percent(tolerance)} of the time with {largest:,} servers"
    return TrainingDesigns(table, best, question, ("working_pool_size",))


def cheapest_design(
    params: TrainingParameters | Mapping[str, object] | None,
    choices: Mapping[str, Sequence[object]],
    cost: Mapping[str, float] | Callable[[TrainingParameters], float],
    *,
    etr: float,
    n_replications: int = 30,
    rng: int = 0,
    workers: int | None = None,
) -> TrainingDesigns:
    """The cheapest design whose effective training ratio reaches a target.

    Designs are simulated from the cheapest on, until the lower end of the confidence interval of the mean ratio is
    `etr` or more. A campaign over the same values simulates all of them (`relfit.campaigns.cost_of_ownership`).

    Parameters
    ----------
    params : TrainingParameters or mapping, optional
        What all designs share.
    choices : mapping from str to sequence
        Values by key of `TrainingParameters`; every valid combination is a design.
    cost : mapping from str to float, or callable
        Price of one unit of each key, or a function of the parameters.
    etr : float
        The target, between 0 and 1.
    n_replications, rng, workers
        As for `simulate_training`.

    Returns
    -------
    TrainingDesigns

    Raises
    ------
    ArgumentError
        For a target outside 0..1, or when no combination is valid or there are more than 100,000.

    Examples
    --------
    >>> small = {"job_size": 60, "job_length": "20 days", "warm_standbys": 2}
    >>> choices = {"working_pool_size": [62, 66, 70], "spare_pool_size": [0, 10]}
    >>> prices = {"working_pool_size": 1.0, "spare_pool_size": 0.3}
    >>> cheapest_design(small, choices, prices, etr=0.9, n_replications=8).parameters.spare_pool_size
    10
    """
    base = params if isinstance(params, TrainingParameters) else training_parameters(params)
    if not 0.0 < etr < 1.0:
        raise ArgumentError(f"etr is {etr:g}", remedy="give a share, as 0.6")
    if np.prod([len(values) for values in choices.values()], dtype=float) > _MOST_DESIGNS:
        raise ArgumentError(f"there are more than {_MOST_DESIGNS:,} designs", remedy="give fewer values")

    def price(case: TrainingParameters) -> float:
        if callable(cost):
            return float(cost(case))
        return float(sum(each * getattr(case, key) for key, each in cost.items()))

    designs: list[tuple[float, dict[str, Any], TrainingParameters]] = []
    problem: ArgumentError | None = None
    for values in itertools.product(*choices.values()):
        keys = dict(zip(choices, values, strict=True))
        try:
            case = base.but(**keys)
        except ArgumentError as error:
            problem = error
            continue
        designs.append((price(case), keys, case))
    if not designs:
        raise problem or ArgumentError("there is no design", remedy="give choices")
    rows: list[dict[str, object]] = []
    best = None
    for spent, keys, case in sorted(designs, key=lambda design: design[0]):
        run = simulate_training(case, n_replications=n_replications, rng=rng, workers=workers)
        row = _row(run)
        enough = bool(row["etr_low"] >= etr) and not run.whole["depleted"].any()
        rows.append({**keys, "cost": spent, **row, "suffices": enough})
        if enough:
            best = case
            break
    question = f"cheapest design with the lower end of the effective training ratio at {percent(etr)} or more"
    return TrainingDesigns(pd.DataFrame(rows), best, question, tuple(choices))
