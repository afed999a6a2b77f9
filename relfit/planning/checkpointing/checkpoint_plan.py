"""`plan_checkpoints`: the best checkpoint interval, its cost, and the uncertainty of both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from relfit.base.arguments import durations, share, whole
from relfit.base.arrays import Durations, Seed
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.numeric.levels import level_checked
from relfit.base.text import count, duration, interval_ends, percent
from relfit.fitting.families.rescaled import with_mean
from relfit.fleet.calibration import FailuresByScope, Parameters, draw_parameters
from relfit.planning.checkpointing.renewal_failures import (
    LEAST_PROGRESS,
    ExponentialWaste,
    RenewalWaste,
    robust_interval,
)
from relfit.planning.checkpointing.two_level import GlobalSaves, TwoLevels, TwoLevelWaste
from relfit.planning.job_rate import NEVER, rate_of_job, repairs_in_words, until_all_are_up, wait_for_repair
from relfit.planning.plan import NOISE, Plan, beyond_fleet, limits
from relfit.system.jobs import Checkpoint, TimeToFailure, between_failures, expected_time, time_to_failure
from relfit.system.jobs import checkpoint as exact

if TYPE_CHECKING:
    from relfit.fitting.families.distribution import Distribution

_ROBUST_DRAWS = 1000
_FEW_DRAWS = 300  # each is a search over two numbers
_AGEING = "A node that failed is new, all others go on ageing: they are of all ages, as after many failures."
_SAME_AGES = "Every restart meets nodes of the ages given."
_REPAIRING = "Nothing fails while the job restarts, and all its nodes are up when it starts."


@dataclass(frozen=True)
class AgeingNodes:
    """Nodes whose times to failure follow a distribution, and their ages when the job restarts.

    Attributes
    ----------
    of : Parameters, Distribution or System
        The distribution of the times to failure; for parameters the fitted one, with the mean ``mtbf.node``.
    ages : array_like of durations, optional
        Ages of the nodes at every restart, hours or text; by default nodes of all ages, as after many failures.
    """

    of: Any
    ages: Any = None


class CheckpointPlan(Plan, kw_only=True):
    """The best checkpoint interval of a job; made by `plan_checkpoints`.

    `mtbf` is that of the job; it and further attributes are those of `relfit.planning.plan.Plan`.

    Attributes
    ----------
    checkpoint_every, waste : float
        Best hours of work between two checkpoints, and the share of time lost; with two levels those of both.
    every_limits, waste_limits : tuple of float
        Their intervals over the draws of the parameters; NaN if the uncertainty is unknown.
    robust_every, robust_waste : float
        The best interval over all draws, hours of work, and the mean (or quantile) of its waste.
    robust_by : str
        ``"mean"`` or the quantile.
    rules : pandas.DataFrame
        One row per rule: ``rule``, ``checkpoint_every`` (hours), its exact ``waste``, and ``excess`` in percentage
        points above the best.
    checkpoint : Checkpoint
        The costs, and the interval requested, if any.
    restart : float
        Hours from a failure to the restore, including the wait for a repair.
    waits : str
        A sentence on the wait for repairs.
    system_wait : float
        Hours per failure of waiting for the whole system, in which spares do not help.
    spared_waste : float
        Least waste if spares take over at once; NaN if the job does not wait for repairs.
    own_waste : float
        Waste of the interval requested; NaN without one.
    own_limits : tuple of float
        Interval of `own_waste` over the draws.
    own_spared_waste : float
        `own_waste` if spares take over at once; NaN if the job does not wait for repairs.
    curve : pandas.DataFrame
        ``checkpoint_every`` (hours), ``waste``, and its limits ``low`` and ``high`` over the draws (NaN without).
    two_levels : TwoLevels or None
        The plan with two levels, if requested.
    two_level_limits : dict or None
        Intervals of its fields over the draws.
    expected_hours : float or None
        Expected time of a job of the requested work at the best interval.
    least_mtbf : float
        Hours; below this mean time the first-order waste is 1 at any interval.
    status : str
        ``"ok"``, or ``"no_progress"``: at any interval less than a billionth of the time is useful work.
    """

    checkpoint_every: float
    waste: float
    every_limits: tuple[float, float]
    waste_limits: tuple[float, float]
    robust_every: float
    robust_waste: float
    robust_by: str
    rules: pd.DataFrame
    checkpoint: Checkpoint
    restart: float
    waits: str
    system_wait: float
    spared_waste: float
    own_waste: float
    own_limits: tuple[float, float]
    own_spared_waste: float
    curve: pd.DataFrame
    two_levels: TwoLevels | None
    two_level_limits: dict[str, tuple[float, float]] | None
    expected_hours: float | None
    least_mtbf: float
    status: str

    _frame: ClassVar[str] = "rules"

    @property
    def headline(self) -> str:
        """The best interval and its waste, with their intervals."""
        if self.status != "ok":
            reason = f"failures come every {duration(self.mtbf)} on average, and a checkpoint takes "
            reason += f"{duration(self.checkpoint.save)}, a restore {duration(self.checkpoint.restore)}"
            never = "hardly ever are all nodes of the job up"
            return f"No interval makes progress: {never if self.spared_waste < 1.0 else reason}."
        if self.checkpoint_every <= 0.0:
            return f"Write checkpoints all the time, one after another: {percent(self.waste, 1)} of the time is lost."
        hours = self.checkpoint_every
        every = _limited(duration(hours), [duration(end, hours) for end in self.every_limits])
        lost = _limited(percent(self.waste, 1), [percent(end, 1) for end in self.waste_limits])
        return f"{self._levels.format(every)}: {lost} of the time is lost."

    @property
    def _levels(self) -> str:
        """When to write which checkpoints, with a place for the interval."""
        if self.two_levels is None:
            return "Checkpoint every {} of work"
        if (number := int(self.two_levels.saves_per_global)) == 1:
            return "Write a global checkpoint every {} of work, no local ones"
        ends = (
            ["unknown"]
            if self.two_level_limits is None
            else [f"{end:.0f}" for end in self.two_level_limits["saves_per_global"]]
        )
        return f"Checkpoint every {{}} of work, globally every {_limited(str(number), ends)} checkpoints"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Findings after the headline."""
        return (" ".join([self.waits, *self._spared]), *self._robust, *self._further)

    @property
    def advice(self) -> tuple[str, ...]:
        """The waste with spares, and results for further requests."""
        return (*self._spared, *(() if self.robust_by == "mean" else self._robust), *self._further)

    @property
    def _spared(self) -> tuple[str, ...]:
        if not np.isfinite(self.spared_waste):
            return ()
        lost = "it" if self.status == "ok" else "the waste"
        beyond = "; while the whole system is down, they do not help" if self.system_wait > 0.0 else ""
        return (f"With spares that take over at once {lost} would be {percent(self.spared_waste, 1)}{beyond}.",)

    @property
    def _robust(self) -> tuple[str, ...]:
        if self.status != "ok" or not self.n_draws:
            return ()
        over = "on average" if self.robust_by == "mean" else f"at the {percent(float(self.robust_by))} quantile"
        least = f"{duration(self.robust_every)} loses least {over}: {percent(self.robust_waste, 1)}."
        return (f"Over the draws of the parameters, {least}",)

    @property
    def _further(self) -> tuple[str, ...]:
        remarks: list[str] = []
        if self.checkpoint.every is not None:
            spared = self.own_spared_waste
            lost = _limited(percent(self.own_waste, 1), [percent(end, 1) for end in self.own_limits])
            less = f", {percent(spared, 1)} with such spares" if np.isfinite(spared) else ""
            remarks.append(f"After every {duration(self.checkpoint.every)} of work, {lost} of the time is lost{less}.")
        if self.mtbf <= self.least_mtbf and self.status == "ok":
            remarks.append(
                f"The first-order formulas see no progress here: they need failures more than "
                f"{duration(self.least_mtbf)} apart; the job's come every {duration(self.mtbf)}."
            )
        if self.two_levels is not None:
            remarks.append(f"With global checkpoints alone it is {percent(float(self.two_levels.global_only), 1)}.")
        if self.expected_hours is not None:
            finite = np.isfinite(self.expected_hours)
            remarks.append(
                f"The job takes {duration(self.expected_hours)} on average." if finite else "The job is never done."
            )
        return tuple(remarks)


def plan_checkpoints(
    source: object,
    checkpoint: Checkpoint,
    restart: Durations = 0.0,
    *,
    nodes: int | None = None,
    repair: Durations | None = None,
    global_saves: GlobalSaves | None = None,
    work: Durations | None = None,
    events: float | None = None,
    robust: str | float = "mean",
    n_draws: int = 1000,
    level: float = 0.95,
    rng: Seed = 0,
) -> CheckpointPlan:
    """Plan the checkpoints of a job.

    With a mean time or rates, failures are exponential. With a distribution the plan comes from the renewal equation: a
    failed node is new, and the others continue to age through restarts, so they are of all ages. `AgeingNodes` with
    ages, a system (with its ages) and a batch of distributions (new nodes) have the same ages at every restart.

    Parameters
    ----------
    source : duration, Parameters, Distribution, System or AgeingNodes
        Mean time between failures of one node, calibrated parameters (their rates), or the distribution of the times to
        failure of the nodes.
    checkpoint : Checkpoint
        Costs of a checkpoint; with ``every``, the plan includes the waste of this interval.
    restart : duration
        Time from a failure, or from the end of the repair that the job waits for, to the restore.
    nodes : int, optional
        Nodes of the job; by default those of the parameters' fleet, else 1.
    repair : duration, optional
        Mean time to repair that a job without spares waits for after each failure, also of the whole system; 0 if it
        waits for nothing. By default that of the parameters, by scope, else 0.
    global_saves : GlobalSaves, optional
        Plan two levels; `checkpoint` then has the costs of the local one. For exponential failures only.
    work : duration, optional
        Work of the job without failures, for its expected time.
    events : float, optional
        Number of failures behind the mean time, for its uncertainty.
    robust : "mean" or float
        Choose the robust interval by the mean waste over the draws, or by this quantile of it.
    n_draws : int
        Draws of the parameters; of a distribution at most 300.
    level : float
        Level of the intervals.
    rng : int or numpy.random.Generator

    Raises
    ------
    DataError
        If the mean time between failures is infinite.
    ArgumentError
        For incompatible options, or a quantile or level outside 0..1.

    Examples
    --------
    >>> plan = plan_checkpoints("20000h", Checkpoint(save="5min", restore="10min"), nodes=1000, events=40)
    >>> print(plan.headline)
    Checkpoint every 1.77 hours (1.52 to 2.09 hours) of work: 9.6 % (8.1 to 11.2 %) of the time is lost.
    """
    if not isinstance(checkpoint, Checkpoint):
        raise ArgumentError(
            f"checkpoint is {checkpoint!r}",
            remedy=Remedy("give Checkpoint(save=..., restore=...)", "give --save and --restore"),
        )
    pause = float(durations("restart", restart))
    level_checked(level)
    if robust != "mean":
        share("robust", robust, zero=False, one=False)
    model, system_wait, (basis, waits, premise) = _model(source, checkpoint, pause, nodes, repair, events, n_draws, rng)
    spared = own = own_spared = float("nan")
    life = model.life if isinstance(model, RenewalWaste) else None
    if global_saves is not None:
        model = _two_levels(model, global_saves)
    drawn = 0 if model.drawn is None else len(model.drawn)
    best, lost = model.best()
    without_wait = replace(model, restart=pause + system_wait)
    pause, waiting = model.restart, model.restart > pause
    if waiting:
        spared = without_wait.best()[1]
    bests = wastes = None
    robust_every, robust_waste = best, lost
    if drawn:
        bests, wastes = model.best_of_draws()
        robust_every, robust_waste = robust_interval(model, best, robust, _ROBUST_DRAWS)
    own_limits = limits(None, level)
    if checkpoint.every is not None:
        every = np.asarray(checkpoint.every)
        own, own_spared = float(model.at(every)), float(without_wait.at(every)) if waiting else own_spared
        own_limits = limits(model.drawn_at(every, drawn) if drawn else None, level)
    costs = checkpoint.save, checkpoint.restore, pause
    two = two_limits = None
    if isinstance(model, TwoLevelWaste):
        two, names = model.plan, ("checkpoint_every", "saves_per_global", "waste")
        if drawn:
            two_limits = {name: limits(getattr(model.plans_of_draws, name), level) for name in names}
    return CheckpointPlan(
        mtbf=model.mtbf,
        source=basis,
        level=level,
        n_draws=drawn,
        assumptions=_assumptions(life, source, drawn),
        extrapolated=beyond_fleet(getattr(source, "of", source), nodes),
        premise=premise if checkpoint.restore else f"{premise.rstrip(':')}, and a restore that takes no time:",
        checkpoint_every=best,
        waste=lost,
        every_limits=limits(bests, level),
        waste_limits=limits(wastes, level),
        robust_every=robust_every,
        robust_waste=robust_waste,
        robust_by=str(robust),
        rules=_rules(model, best, lost),
        checkpoint=checkpoint,
        restart=pause,
        waits=waits,
        system_wait=system_wait,
        spared_waste=spared,
        own_waste=own,
        own_limits=own_limits,
        own_spared_waste=own_spared,
        curve=_curve(model, best if 0.0 < best < np.inf else 0.01 * model.mtbf, drawn, level),
        two_levels=two,
        two_level_limits=two_limits,
        expected_hours=None if work is None else _expected_hours(model, work, best, life),
        least_mtbf=float(exact.least_mtbf(*costs)),
        status="ok" if lost < 1.0 - LEAST_PROGRESS and pause < NEVER else "no_progress",
    )


def _limited(value: str, limits: list[str]) -> str:
    return value if "unknown" in limits else f"{value} ({interval_ends(*limits)})"


def _assumptions(life: TimeToFailure | None, source: object, drawn: int) -> tuple[str, ...]:
    nodes = source.of if isinstance(source, AgeingNodes) else source
    of_ages = any(getattr(each, "ages", None) is not None for each in (source, nodes))
    same = of_ages or bool(getattr(nodes, "batch_shape", None))
    about = () if life is None else (_SAME_AGES if same else _AGEING,)
    return (*about, _REPAIRING, *((NOISE,) if drawn else ()))


def _model(
    source: Any,
    plan: Checkpoint,
    restart: float,
    nodes: int | None,
    repair: Durations | None,
    events: float | None,
    n_draws: int,
    rng: Seed,
) -> tuple[ExponentialWaste | RenewalWaste, float, tuple[str, str, str]]:
    """Waste by interval, the wait for the system, and as texts the source, the wait for repairs and the premise."""
    size, ages = 1 if nodes is None else int(whole("nodes", nodes)), None
    ageing = isinstance(source, AgeingNodes)
    if ageing:
        source, ages = source.of, source.ages

    def life_of(family: Distribution) -> TimeToFailure:
        return between_failures(family, size) if ages is None else time_to_failure(family, ages, size)

    if ageing and isinstance(source, Parameters):
        if source.failure is None:
            raise ArgumentError("the parameters hold no fitted family", remedy="calibrate with families")
        fitted, values = source.failure, source.values()
        if nodes is None and source.fleet.nodes:
            size = source.fleet.nodes
        name = next((name for name in ("mttr.node", "mttr.mean") if name in values), "")
        node = FailuresByScope.of_parameters(source).node
        life, drawn = life_of(with_mean("failure", fitted.distribution(), node.mtbf)), []
        if fitted.covariance is not None:
            draws = draw_parameters(source, min(int(whole("n_draws", n_draws, 2)), _FEW_DRAWS), rng)
            several, means = draws.family("failure"), FailuresByScope.of_parameters(source, draws).node.mtbf
            means = [None] * draws.count if means is None else means
            drawn = [life_of(with_mean("failure", several[i], mean)) for i, mean in enumerate(means)]
        basis = times = f"{fitted.family} times to failure of the parameters"
        of_repair = repair, values.get(name), name
    elif hasattr(source, "log_sf") or hasattr(source, "log_reliability"):
        if events is not None:
            raise ArgumentError("events goes with a mean time", remedy="leave it out")
        life, drawn = time_to_failure(source, 0.0 if ages is None else ages, size), []
        if ages is None and hasattr(source, "log_sf") and not source.batch_shape:
            life = between_failures(source, size)
        basis, of_repair = type(source).__name__, (repair, None, "")
        times = f"{basis} times to failure"
    else:
        rate = rate_of_job(source, nodes, repair=repair, events=events, n_draws=n_draws, rng=rng)
        drawn_rates = (None, None) if rate.drawn is None else (rate.drawn.mtbf, restart + rate.drawn.wait)
        mtbf, wait = float(rate.mtbf), float(rate.wait)
        of_rates = ExponentialWaste(mtbf, drawn_rates[0], plan, restart + wait, drawn_rates[1])
        return of_rates, min(float(rate.system_down) * mtbf, wait), (rate.source, rate.waits, rate.premise)
    wait = float(until_all_are_up(life.mean(), wait_for_repair(*of_repair)[0]))
    waits = wait_for_repair(*of_repair, wait=wait)[1]
    premise = f"For {count(size, 'node')} with {times}, {repairs_in_words(wait)}:"
    return RenewalWaste(life, drawn, plan, restart + wait), 0.0, (basis, waits, premise)


def _rules(model: ExponentialWaste | RenewalWaste, best: float, lost: float) -> pd.DataFrame:
    save, restore = model.checkpoint.save, model.checkpoint.restore
    rules = {
        "exact" if isinstance(model, ExponentialWaste) else "renewal equation": best,
        "Young 1974": float(exact.young_interval(model.mtbf, save)),
        "Daly, first order": float(exact.daly_interval(model.mtbf, save, restore, "first")),
        "Daly, higher order": float(exact.daly_interval(model.mtbf, save, restore)),
    }
    waste = np.array([lost, *(float(model.at(np.asarray(every))) for every in list(rules.values())[1:])])
    table = pd.DataFrame({"rule": list(rules), "checkpoint_every": list(rules.values()), "waste": waste})
    return table.assign(excess=(100.0 * (waste - lost)).round(6) + 0.0)


def _two_levels(model: ExponentialWaste | RenewalWaste, wider: GlobalSaves) -> TwoLevelWaste:
    drawn = restarts = None
    if model.checkpoint.slowed < 1.0 or len(model.checkpoint.exposed) < 2:
        what = (
            "two levels are planned for checkpoints that stop the work, with failures during checkpoints and restores"
        )
        raise ArgumentError(what, remedy=Remedy("leave slowed and exposed out", "leave --slowed and --unexposed out"))
    if isinstance(model, ExponentialWaste):
        drawn, restarts = (None if of is None else of[:_FEW_DRAWS] for of in (model.drawn, model.drawn_restart))
    elif np.isnan(model.life.constant):
        raise ArgumentError("two levels are planned for exponential failures", remedy="give a mean time")
    return TwoLevelWaste(model.mtbf, drawn, model.checkpoint, model.restart, restarts, wider)


def _curve(model: ExponentialWaste | RenewalWaste, middle: float, drawn: int, level: float) -> pd.DataFrame:
    grid = middle * np.logspace(-1.3, 1.3, 121)
    if not drawn:
        low = high = np.full(grid.shape, np.nan)
    else:
        low, high = np.quantile(model.drawn_at(grid, drawn), [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=0)
    return pd.DataFrame({"checkpoint_every": grid, "waste": model.at(grid), "low": low, "high": high})


def _expected_hours(
    model: ExponentialWaste | RenewalWaste, work: Durations, every: float, life: TimeToFailure | None
) -> float:
    """Expected hours of a job that also writes a checkpoint at its end."""
    if every <= 0.0:
        return float(durations("work", work))
    if isinstance(model, TwoLevelWaste):
        return float(durations("work", work) / np.maximum(1.0 - model.at(np.asarray(every)), 0.0))
    best = replace(model.checkpoint, every=every)
    return expected_time(model.mtbf if life is None else life, work, best, model.restart, last_save=True)
