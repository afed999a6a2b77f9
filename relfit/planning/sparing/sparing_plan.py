"""`plan_sparing`: the best spares with their uncertainty, and the plan that is best over all draws."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arguments import share, whole
from relfit.base.arrays import Durations, FloatArray, Seed
from relfit.base.errors import ArgumentError
from relfit.base.numeric.levels import level_checked
from relfit.base.results import json_ready
from relfit.base.text import count, percent
from relfit.base.units import hours
from relfit.fleet.calibration import Parameters, draw_parameters
from relfit.planning.plan import Plan
from relfit.planning.sparing.cluster import Cluster, DeviceFailures, Performance, Strategies
from relfit.planning.sparing.evaluation import SparingEvaluation, evaluate_sparing, optimise_sparing
from relfit.planning.sparing.recovery import Recovery

_MOST_STRATEGIES = 8  # candidates of a robust plan
_MOST_SPARES = 60  # numbers of spare blocks tried for each of them


def device_failures(
    parameters: Parameters,
    n_draws: int | None = None,
    rng: Seed = 0,
    *,
    mtbf_tray: Durations | None = None,
    mtbf_rack: Durations | None = None,
    mttr: Durations | None = None,
) -> DeviceFailures:
    """`DeviceFailures` from calibrated parameters: the estimates, or draws of them.

    Parameters
    ----------
    parameters : Parameters
        With ``mtbf.node`` (trays) and ``mttr.mean``; without ``mtbf.rack`` racks never fail.
    n_draws : int, optional
        Number of draws; the estimates by default.
    rng : int or numpy.random.Generator
    mtbf_tray, mtbf_rack, mttr : duration, optional
        Values that replace those of the parameters.

    Raises
    ------
    ArgumentError
        If a parameter is missing.

    Examples
    --------
    >>> float(device_failures(Parameters(mtbf={"tray": "20000h", "rack": "10000h"}, mttr="24h")).mtbf_rack)
    10000.0
    """
    names = {"mtbf_tray": "mtbf.node", "mtbf_rack": "mtbf.rack", "mttr": "mttr.mean"}
    by_hand = {"mtbf_tray": mtbf_tray, "mtbf_rack": mtbf_rack, "mttr": mttr}
    parameters.require(*(names[key] for key in ("mtbf_tray", "mttr") if by_hand[key] is None))
    values: Any = parameters.values() if n_draws is None else draw_parameters(parameters, n_draws, rng)
    means = {}
    for key, value in by_hand.items():
        mean: Any = values[names[key]] if value is None and names[key] in values else np.inf if value is None else value
        means[key] = mean if n_draws is None or np.ndim(mean) else np.full(n_draws, hours(mean))
    return DeviceFailures(**means)


class SparingPlan(Plan):
    """The best sparing plan with its uncertainty, and the robust plan; made by `plan_sparing`.

    `mtbf` is that of a tray; it and further attributes are those of `relfit.planning.plan.Plan`.

    Attributes
    ----------
    best : SparingEvaluation
        All strategies, for the estimates.
    chosen : int
        Index of its best strategy.
    over_draws : SparingEvaluation
        This strategy with its best spare blocks and checkpoint interval for every draw; shape (1, draws).
    wins : pandas.DataFrame
        Share of the draws in which each strategy is best: ``strategy``, ``share``.
    robust : SparingEvaluation
        The robust plan, with the same spares and checkpoint interval for all draws; shape (1, draws).
    criterion : str
        What the robust plan maximises.
    fixed : SparingEvaluation
        The plan for the estimates, evaluated for all draws; shape (1, draws).
    """

    best: SparingEvaluation
    chosen: int
    over_draws: SparingEvaluation
    wins: pd.DataFrame
    robust: SparingEvaluation
    criterion: str
    fixed: SparingEvaluation

    _frame: ClassVar[str] = "intervals"

    @property
    def intervals(self) -> pd.DataFrame:
        """``quantity``, ``estimate``, ``low``, ``high`` of spare blocks, CETT, goodput, seconds between checkpoints.

        Central intervals of the draws, with limits that are draws.
        """
        one, draws, tail = self.best, self.over_draws, 0.5 * (1.0 - self.level)
        rows = []
        for name, unit in (("spare_blocks", 1.0), ("cett", 1.0), ("goodput", 1.0), ("checkpoint_every", 3600.0)):
            values = unit * getattr(draws, name)[0].astype(np.float64)
            ends = np.quantile(values, tail, method="lower"), np.quantile(values, 1.0 - tail, method="higher")
            label = name if unit == 1.0 else f"{name}_seconds"
            rows.append((label, unit * float(getattr(one, name)[self.chosen]), *map(float, ends)))
        return pd.DataFrame(rows, columns=["quantity", "estimate", "low", "high"])

    @property
    def headline(self) -> str:
        """The plan and its uncertainty."""
        rows: Any = self.intervals.set_index("quantity").to_dict("index")
        spare, cett = rows["spare_blocks"], rows["cett"]
        best, spares = self.wins.iloc[0], int(self.robust.spare_blocks.flat[0])
        blocks = count(round(spare["estimate"]), "spare block")
        limits_of_cett = f"{100 * cett['low']:.1f}-{100 * cett['high']:.1f}"
        return (
            f"Blocks of {self.best.labels[self.chosen]} GPUs (all/working): {blocks} per zone "
            f"({spare['low']:.0f}-{spare['high']:.0f}, {percent(self.level)} interval). "
            f"{percent(cett['estimate'], 1)} ({limits_of_cett}) of GPU hours advance the job (CETT). "
            f"{best['strategy']} is best in {percent(float(best['share']))} of the draws; {self.criterion} is highest "
            f"with blocks of {self.robust.labels[0]} and {count(spares, 'spare')}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The intervals, the best strategies by share of the draws, and the robust plan, ready for JSON."""
        robust = {
            "strategy": self.robust.labels[0],
            "spare_blocks": self.robust.spare_blocks.flat[0],
            "checkpoint_every_seconds": 3600.0 * self.robust.checkpoint_every.flat[0],
            "criterion": self.criterion,
            "expected_goodput": self.robust.goodput.mean(),
            "expected_goodput_of_plan": self.fixed.goodput.mean(),
        }
        names = ("level", "n_draws", "intervals", "wins", "assumptions")
        named = {name: getattr(self, name) for name in names}
        return json_ready({"findings": self.findings, **named, "robust": robust})


def plan_sparing(
    cluster: Cluster,
    parameters: Parameters | tuple[DeviceFailures, DeviceFailures],
    recovery: Recovery | None = None,
    performance: Performance | None = None,
    *,
    strategies: Strategies | None = None,
    n_draws: int = 1000,
    level: float = 0.95,
    robust: float | None = None,
    rng: Seed = 0,
    workers: int | None = None,
) -> SparingPlan:
    """The best sparing plan, with intervals that include the uncertainty of the parameters.

    Parameters
    ----------
    cluster : Cluster
    parameters : Parameters, or (DeviceFailures, DeviceFailures)
        Calibrated parameters; or the estimates (one case) and draws of them (shape (n_draws,)).
    recovery, performance, strategies
        As for `optimise_sparing`.
    n_draws : int
        Number of draws of calibrated parameters.
    level : float
        Level of the intervals.
    robust : float, optional
        The robust plan maximises this quantile of goodput over the draws (0.1: reached in nine of ten); the mean by
        default.
    rng : int or numpy.random.Generator
    workers : int, optional
        Number of threads; the result does not depend on it.

    Raises
    ------
    ArgumentError
        For missing parameters, a level or quantile outside 0..1, and as for `optimise_sparing`.

    Notes
    -----
    Spares and checkpoint interval are optimised for each draw, so their intervals show the uncertainty of the best
    plan. The robust plan is the same for all draws.

    Examples
    --------
    >>> params = Parameters(mtbf={"value": 2000, "low": 1500, "high": 2700, "level": 0.9}, mttr="24h")
    >>> plan = plan_sparing(Cluster(racks=64, trays=4, gpus=8), params, Recovery(save="1min", restart="5min"), rng=1)
    >>> spares = plan.intervals.set_index("quantity").loc["spare_blocks"]
    >>> bool(spares["low"] < spares["estimate"] < spares["high"])
    True
    """
    level_checked(level)
    if robust is not None:
        share("robust", robust, zero=False, one=False)
    notes: tuple[str, ...] = ()
    source = "mean times with draws of them"
    if isinstance(parameters, tuple):
        estimate, draws = parameters
    else:
        count = int(whole("n_draws", n_draws))
        estimate, draws = device_failures(parameters), device_failures(parameters, count, rng)
        source = parameters.title
        if parameters.unknown_uncertainty:
            notes = (f"The uncertainty of {', '.join(parameters.unknown_uncertainty)} is not known and left out.",)
        if "mtbf.rack" not in parameters.values():
            notes += ("No MTBF of racks is known: only trays fail.",)
    if estimate.shape or len(draws.shape) != 1:
        raise ArgumentError("give the estimates of one case, and draws of shape (n_draws,)")
    recovery = recovery or Recovery()
    how: dict[str, Any] = {"strategies": strategies, "workers": workers}
    best = optimise_sparing(cluster, estimate, recovery, performance, **how)
    every = optimise_sparing(cluster, draws, recovery, performance, **how)
    chosen = int(best.best)
    wins = np.bincount(every.best, minlength=len(every.strategies)) / draws.shape[0]
    order = np.argsort(-wins, kind="stable")
    table = pd.DataFrame({"strategy": every.labels, "share": wins}).iloc[order]
    candidates = list(dict.fromkeys([chosen, *(int(i) for i in order[:_MOST_STRATEGIES] if wins[i] > 0.0)]))
    fixed = _keep(every, chosen, best.spare_blocks[chosen : chosen + 1], float(best.checkpoint_every[chosen]))
    return SparingPlan(
        best=best,
        chosen=chosen,
        over_draws=every.only(chosen),
        wins=table[table["share"] > 0.0].reset_index(drop=True),
        robust=_robust(every, candidates, robust, fixed),
        criterion="the expected goodput" if robust is None else f"the {percent(robust)} quantile of goodput",
        fixed=fixed,
        mtbf=float(estimate.mtbf_tray),
        source=source,
        level=float(level),
        n_draws=draws.shape[0],
        assumptions=notes,
    )


def _keep(over: SparingEvaluation, i: int, spare: npt.NDArray[np.int64], every: float) -> SparingEvaluation:
    """Strategy `i` with these numbers of spares and this checkpoint interval, for all draws."""
    one = over.strategies.take(np.full(spare.size, i)).with_spare_blocks(spare)
    held = over.recovery
    if 0.0 < every < np.inf:
        held = replace(held, checkpoint_every=max(every, held.save))
    return evaluate_sparing(over.cluster, one, over.failures, held, over.performance)


def _robust(
    over: SparingEvaluation, candidates: list[int], quantile: float | None, start: SparingEvaluation
) -> SparingEvaluation:
    """The best of the candidates by mean or quantile of goodput over the draws."""

    def score(evaluation: SparingEvaluation) -> FloatArray:
        goodput = evaluation.goodput
        return np.asarray(goodput.mean(axis=1) if quantile is None else np.quantile(goodput, quantile, axis=1))

    best, best_score = start, float(score(start)[0])
    for i in candidates:
        spare = over.spare_blocks[i]
        tried = np.arange(spare.min(), spare.max() + 1, int(over.group_blocks[i]))
        if tried.size > _MOST_SPARES:  # quantiles of the best numbers, which are placed already
            tried = np.unique(np.quantile(spare, np.linspace(0.0, 1.0, _MOST_SPARES), method="nearest"))
        tried_out = _keep(over, i, tried.astype(np.int64), float(np.median(over.checkpoint_every[i])))
        scores = score(tried_out)
        if scores.max() > best_score:
            best, best_score = tried_out.only(int(scores.argmax())), float(scores.max())
    return best
