"""How sure a sparing plan is: parameters drawn from their calibrated distribution, and a plan robust to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.arguments import share
from relfit.errors import ArgumentError
from relfit.planning.sparing.cluster import Cluster, DeviceFailures, Strategies
from relfit.planning.sparing.evaluation import SparingEvaluation
from relfit.planning.sparing.performance import Performance
from relfit.planning.sparing.planner import SparingPlan, optimise_sparing
from relfit.planning.sparing.recovery import Recovery

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from relfit.calibration.schema import Parameters

__all__ = ["RobustSparing", "device_failures", "plan_sparing"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_MOST_STRATEGIES = 8  # candidates of a robust plan
_MOST_SPARES = 60  # numbers of spare blocks tried for each of them


def device_failures(
    parameters: Parameters, count: int | None = None, rng: int | np.random.Generator | None = None
) -> DeviceFailures:
    """What the sparing planner needs from calibrated parameters: the estimates, or draws of them.

    Parameters
    ----------
    parameters : Parameters
        With ``mtbf.node`` (trays) and ``mttr.mean``; racks never fail where ``mtbf.rack`` is not given.
    count : int, optional
        Draws; the estimates themselves when left out.
    rng : int or numpy.random.Generator, optional

    Raises
    ------
    ArgumentError
        When a parameter is missing.

    Examples
    --------
    >>> from relfit.calibration import Parameters
    >>> float(device_failures(Parameters(mtbf={"tray": "20000h", "rack": "10000h"}, mttr="24h")).mtbf_rack)
    10000.0
    """
    tray, repair = parameters.require("mtbf.node", "mttr.mean")
    rack = parameters.values().get("mtbf.rack", np.inf)
    if count is None:
        return DeviceFailures(tray, rack, repair)
    drawn = parameters.draws(count, rng)
    racks = drawn["mtbf.rack"] if "mtbf.rack" in drawn else np.full(count, rack)
    return DeviceFailures(drawn["mtbf.node"], racks, drawn["mttr.mean"])


@dataclass(frozen=True, eq=False)
class RobustSparing:
    """A plan, how sure it is, and the plan that is best over all draws.

    Attributes
    ----------
    plan : SparingPlan
        For the estimates.
    chosen : int
        Its best strategy.
    over_draws : SparingEvaluation
        The best strategy with its best spare blocks and period for every draw; shape (1, draws).
    wins : pandas.DataFrame
        In which share of the draws each strategy is best: ``strategy``, ``share``.
    robust : SparingEvaluation
        The robust plan, fixed spares and period, over all draws; shape (1, draws).
    criterion : str
        What it maximises, in words.
    fixed : SparingEvaluation
        The plan for the estimates, kept over all draws; shape (1, draws).
    level : float
        Level of the intervals.
    notes : tuple of str
    """

    plan: SparingPlan
    chosen: int
    over_draws: SparingEvaluation
    wins: pd.DataFrame
    robust: SparingEvaluation
    criterion: str
    fixed: SparingEvaluation
    level: float
    notes: tuple[str, ...] = ()

    @property
    def intervals(self) -> pd.DataFrame:
        """``estimate``, ``low`` and ``high`` of spare blocks, CETT, goodput and the period (seconds).

        Equal tails of the draws; those of the whole number of spare blocks are widened to whole numbers.
        """
        i, draws = self.chosen, self.over_draws
        one = self.plan.evaluation
        rows = {
            "spare_blocks": (float(one.spare_blocks[i]), draws.spare_blocks[0].astype(np.float64)),
            "cett": (float(one.cett[i]), draws.cett[0]),
            "goodput": (float(one.goodput[i]), draws.goodput[0]),
            "period_seconds": (3600.0 * float(one.period[i]), 3600.0 * draws.period[0]),
        }
        tail = 0.5 * (1.0 - self.level)
        table = {}
        for name, (estimate, values) in rows.items():
            low = np.quantile(values, tail, method="lower")
            table[name] = (estimate, float(low), float(np.quantile(values, 1.0 - tail, method="higher")))
        return pd.DataFrame.from_dict(table, orient="index", columns=["estimate", "low", "high"])

    @property
    def sentence(self) -> str:
        """The plan and its doubt in words."""
        found = self.intervals
        spare, cett = found.loc["spare_blocks"], 100.0 * found.loc["cett"]
        same = float(self.wins["share"].iloc[0])
        label = self.plan.evaluation.labels[self.chosen]
        kept = int(self.robust.spare_blocks[0].flat[0])
        return (
            f"Blocks of {label} GPUs (all/working): {spare['estimate']:.0f} spare blocks a zone; {spare['low']:.0f} to "
            f"{spare['high']:.0f} given these data ({100 * self.level:.0f} %). CETT {cett['estimate']:.1f} % "
            f"({cett['low']:.1f} to {cett['high']:.1f}). {self.wins['strategy'].iloc[0]} is best in {100 * same:.0f} % "
            f"of the draws; {self.criterion} is highest with blocks of {self.robust.labels[0]} and {kept} spares."
        )

    def to_frame(self) -> pd.DataFrame:
        """The intervals, a row a quantity."""
        return self.intervals.rename_axis("quantity").reset_index()

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        robust = {
            "strategy": self.robust.labels[0],
            "spare_blocks": int(self.robust.spare_blocks[0].flat[0]),
            "period_seconds": 3600.0 * float(self.robust.period[0].flat[0]),
            "criterion": self.criterion,
            "expected_goodput": float(self.robust.goodput.mean()),
            "expected_goodput_of_plan": float(self.fixed.goodput.mean()),
        }
        frame = self.to_frame().replace([np.inf, -np.inf], np.nan).astype(object)
        return {
            "level": self.level,
            "intervals": frame.where(frame.notna(), None).to_dict("records"),
            "wins": self.wins.to_dict("records"),
            "robust": robust,
            "notes": list(self.notes),
            "sentence": self.sentence,
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """CETT over the draws by number of spare blocks."""
        from relfit.plotting.sparing import uncertain_spares

        return uncertain_spares(self, ax)

    def __repr__(self) -> str:
        return f"RobustSparing: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        table = self.to_frame().to_html(escape=True, index=False, float_format="{:.4g}".format)
        return f"<p>{escape(self.sentence)}</p>{table}"


def plan_sparing(
    cluster: Cluster,
    parameters: Parameters | tuple[DeviceFailures, DeviceFailures],
    recovery: Recovery | None = None,
    performance: Performance | None = None,
    *,
    strategies: Strategies | None = None,
    count: int = 1000,
    level: float = 0.9,
    robust: float | None = None,
    rng: int | np.random.Generator | None = None,
    workers: int | None = None,
) -> RobustSparing:
    """The best sparing plan, with intervals that carry the uncertainty of the parameters.

    Parameters
    ----------
    cluster : Cluster
    parameters : Parameters, or (DeviceFailures, DeviceFailures)
        Calibrated parameters; or the estimates (one case) and draws of them (shape (count,)).
    recovery, performance, strategies
        As for `optimise_sparing`.
    count : int
        Draws.
    level : float
        Level of the intervals.
    robust : float, optional
        The robust plan maximises this quantile of goodput over the draws (0.1: what is reached in nine of ten cases);
        its mean when left out.
    rng : int or numpy.random.Generator, optional
    workers : int, optional

    Returns
    -------
    RobustSparing

    Raises
    ------
    ArgumentError
        For missing parameters, levels outside 0..1, or as `optimise_sparing`.

    Notes
    -----
    Spares and periods of a draw are the best ones for that draw, so their interval says how far the best plan itself is
    uncertain. The robust plan keeps its spares and its period whatever the draw.

    Examples
    --------
    >>> from relfit.calibration import Parameters
    >>> known = Parameters(mtbf={"value": 2000, "low": 1500, "high": 2700, "level": 0.9}, mttr="24h")
    >>> found = plan_sparing(Cluster(racks=64, trays=4, gpus=8), known, Recovery(save="1min", restart="5min"), rng=1)
    >>> low, high = found.intervals.loc["spare_blocks", ["low", "high"]]
    >>> bool(low < found.intervals.loc["spare_blocks", "estimate"] < high)
    True
    """
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level is {level:g}", remedy="give a number between 0 and 1")
    if robust is not None:
        share("robust", robust, zero=False, one=False)
    notes: tuple[str, ...] = ()
    if isinstance(parameters, tuple):
        estimate, draws = parameters
    else:
        estimate, draws = device_failures(parameters), device_failures(parameters, count, rng)
        if parameters.unknown_uncertainty:
            notes = (f"The uncertainty of {', '.join(parameters.unknown_uncertainty)} is not known and left out.",)
        if "mtbf.rack" not in parameters.values():
            notes += ("No MTBF of racks is given: only trays fail.",)
    if estimate.shape or len(draws.shape) != 1:
        raise ArgumentError("give the estimates of one case, and draws of shape (count,)")
    recovery = recovery or Recovery()
    plan = optimise_sparing(cluster, estimate, recovery, performance, strategies=strategies, workers=workers)
    every = optimise_sparing(cluster, draws, recovery, performance, strategies=strategies, workers=workers)
    chosen = int(plan.best)
    wins = np.bincount(every.best, minlength=len(every.evaluation.strategies)) / draws.shape[0]
    order = np.argsort(-wins, kind="stable")
    table = pd.DataFrame({"strategy": every.evaluation.labels, "share": wins}).iloc[order]
    table = table[table["share"] > 0.0].reset_index(drop=True)
    candidates = list(dict.fromkeys([chosen, *(int(i) for i in order[:_MOST_STRATEGIES] if wins[i] > 0.0)]))
    kept = _keep(cluster, every.evaluation, chosen, plan.evaluation.spare_blocks[chosen : chosen + 1],
                 float(plan.evaluation.period[chosen]), draws, recovery, performance)  # fmt: skip
    best = _robust(cluster, every.evaluation, candidates, draws, recovery, performance, robust, kept)
    words = "the expected goodput" if robust is None else f"the {100 * robust:g} % quantile of goodput"
    return RobustSparing(plan, chosen, every.evaluation.only(chosen), table, best, words, kept, float(level), notes)


def _keep(
    cluster: Cluster, over: SparingEvaluation, i: int, spare: IntArray, period: float, draws: DeviceFailures,
    recovery: Recovery, performance: Performance | None,
) -> SparingEvaluation:  # fmt: skip
    """Strategy `i` with these numbers of spares and this period, kept over all draws."""
    from relfit.planning.sparing.planner import evaluate_sparing

    one = over.strategies.take(np.full(spare.size, i)).with_spare_blocks(spare)
    held = recovery if not 0.0 < period < np.inf else replace(recovery, period=max(period, recovery.save))
    return evaluate_sparing(cluster, one, draws, held, performance)


def _robust(
    cluster: Cluster,
    over: SparingEvaluation,
    candidates: list[int],
    draws: DeviceFailures,
    recovery: Recovery,
    performance: Performance | None,
    quantile: float | None,
    start: SparingEvaluation,
) -> SparingEvaluation:
    """The best of all candidates by mean or quantile of goodput over the draws."""

    def score(found: SparingEvaluation) -> FloatArray:
        goodput = found.goodput
        return np.asarray(goodput.mean(axis=1) if quantile is None else np.quantile(goodput, quantile, axis=1))

    best, best_score = start, float(score(start)[0])
    for i in candidates:
        spare = over.spare_blocks[i]
        unit = int(over.group_blocks[i])
        tried = np.arange(spare.min(), spare.max() + 1, unit)
        if tried.size > _MOST_SPARES:  # quantiles of the best numbers, which are placed already
            tried = np.unique(np.quantile(spare, np.linspace(0.0, 1.0, _MOST_SPARES), method="nearest"))
        period = float(np.median(over.period[i]))
        found = _keep(cluster, over, i, tried.astype(np.int64), period, draws, recovery, performance)
        scores = score(found)
        if scores.max() > best_score:
            best, best_score = found.only(int(scores.argmax())), float(scores.max())
    return best
