"""`plan_checkpoints`: how often to save, what it costs, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from relfit.arguments import FloatArray, durations, share, whole
from relfit.errors import ArgumentError
from relfit.jobs._time_to_failure import TimeToFailure, time_to_failure
from relfit.planning.checkpointing import exponential_failures as exact
from relfit.planning.checkpointing.exponential_failures import Costs, check_period
from relfit.planning.checkpointing.renewal_failures import LEAST_PROGRESS, job_time
from relfit.planning.checkpointing.schedules import Schedule, best_schedule
from relfit.planning.checkpointing.two_level import TwoLevels, best_two_levels
from relfit.planning.checkpointing.waste_models import ExponentialWaste, WasteOfLives, robust_interval
from relfit.planning.job_rate import is_parameters, rate_of_job
from relfit.planning.words import hours_in_words, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["CheckpointPlan", "WasteCurve", "plan_checkpoints"]

WasteAt = Callable[[FloatArray], FloatArray]
_ROBUST_DRAWS = 1000
_FEW_DRAWS = 300  # each is a search over two numbers


@dataclass(frozen=True, eq=False)
class WasteCurve:
    """Waste over the interval.

    Attributes
    ----------
    interval, waste : ndarray
        Hours, and the share of time wasted.
    low, high : ndarray or None
        Limits by the draws.
    """

    interval: FloatArray
    waste: FloatArray
    low: FloatArray | None
    high: FloatArray | None


@dataclass(frozen=True, eq=False)
class CheckpointPlan:
    """How often to save.

    Attributes
    ----------
    mtbf : float
        Mean hours between failures of the job.
    interval, period, waste : float
        Best hours of work between two saves, with the save, and the share of time that is not kept work.
    interval_low, interval_high, waste_low, waste_high : float
        Limits by the draws of the parameters; NaN where nothing is known of their uncertainty.
    robust_interval, robust_waste : float
        The interval that is best over all draws, and the mean (or quantile) of the waste there.
    robust_by : str
        ``"mean"`` or the quantile.
    rules : pandas.DataFrame
        A row a rule: ``rule``, ``interval`` (hours), ``waste`` there (exact), and ``excess``, points above the best.
    given : dict or None
        The interval asked for, its waste and limits.
    curve : WasteCurve
    two_levels, schedule : TwoLevels, Schedule, or None
    two_level_limits : dict or None
        Limits by the draws of ``interval``, ``every`` and ``waste`` of the plan with two levels.
    hours_of_job : float or None
        Expected hours for the work asked for, at the best interval.
    least_mtbf : float
        Below it the first-order waste is 1 at any interval.
    status : str
        ``"ok"``, or ``"no_progress"``: at any interval less than a billionth of the time is kept work.
    level : float
        Of the limits.
    costs : dict
        Hours of save, restore and downtime.
    words : str
        Where the failure rate comes from.
    draws : int
    """

    mtbf: float
    interval: float
    period: float
    waste: float
    interval_low: float
    interval_high: float
    waste_low: float
    waste_high: float
    robust_interval: float
    robust_waste: float
    robust_by: str
    rules: pd.DataFrame
    given: dict[str, float] | None
    curve: WasteCurve
    two_levels: TwoLevels | None
    two_level_limits: dict[str, tuple[float, float]] | None
    schedule: Schedule | None
    hours_of_job: float | None
    least_mtbf: float
    status: str
    level: float
    costs: dict[str, float]
    words: str
    draws: int

    @property
    def sentence(self) -> str:
        """What to do, and how sure it is, in a sentence."""
        if self.status != "ok":
            return (
                f"No interval makes progress: failures come every {hours_in_words(self.mtbf)} on average, "
                f"and a save takes {hours_in_words(self.costs['save'])}, a restore "
                f"{hours_in_words(self.costs['restore'])}."
            )
        text = f"Save after every {hours_in_words(self.interval)} of work"
        if self.interval <= 0.0:
            return f"Save all the time, one save after another: {percent(self.waste)} of the time is lost."
        if np.isfinite(self.interval_low):
            text += f" (limits {hours_in_words(self.interval_low)} and {hours_in_words(self.interval_high)})"
        text += f": {percent(self.waste)} of the time is lost"
        if np.isfinite(self.waste_low):
            text += f" ({percent(self.waste_low)} to {percent(self.waste_high)})"
        return text + "."

    @property
    def sentences(self) -> tuple[str, ...]:
        """All findings."""
        found = [self.sentence]
        if self.status == "ok" and np.isfinite(self.interval_low):
            over = "on average" if self.robust_by == "mean" else f"at the {100 * float(self.robust_by):g} % quantile"
            found.append(
                f"Over all that the rate can be, {hours_in_words(self.robust_interval)} loses least {over}: "
                f"{percent(self.robust_waste)}."
            )
        if self.given is not None:
            found.append(
                f"After every {hours_in_words(self.given['interval'])} of work, as asked, "
                f"{percent(self.given['waste'])} of the time is lost."
            )
        if self.mtbf <= self.least_mtbf and self.status == "ok":
            found.append(
                f"The first-order formulas see no progress here: they need failures {hours_in_words(self.least_mtbf)} "
                "or more apart."
            )
        found += [part.sentence for part in (self.two_levels, self.schedule) if part is not None]
        if self.two_level_limits is not None:
            (low, high), (few, many), (least, most) = (self.two_level_limits[x] for x in ("interval", "every", "waste"))
            found.append(
                f"Limits with two levels: {hours_in_words(low)} and {hours_in_words(high)} of work, "
                f"{few:.0f} to {many:.0f} saves to a global one, waste {percent(least)} to {percent(most)}."
            )
        if self.hours_of_job is not None:
            took = hours_in_words(self.hours_of_job) if np.isfinite(self.hours_of_job) else "for ever"
            found.append(f"The job takes {took} on average.")
        return tuple(found)

    def to_frame(self) -> pd.DataFrame:
        """A row a rule."""
        return self.rules

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        numbers = {
            "mtbf_hours": self.mtbf,
            "interval_hours": self.interval,
            "interval_low": self.interval_low,
            "interval_high": self.interval_high,
            "period_hours": self.period,
            "waste": self.waste,
            "waste_low": self.waste_low,
            "waste_high": self.waste_high,
            "robust_interval_hours": self.robust_interval,
            "robust_waste": self.robust_waste,
            "least_mtbf_hours": self.least_mtbf,
        }
        return {
            **{name: _plain(value) for name, value in numbers.items()},
            "robust_by": self.robust_by,
            "status": self.status,
            "level": self.level,
            "draws": self.draws,
            "costs_hours": self.costs,
            "rules": [{k: _plain(v) for k, v in row.items()} for row in self.rules.to_dict("records")],
            "given": None if self.given is None else {k: _plain(v) for k, v in self.given.items()},
            "two_levels": None if self.two_levels is None else self.two_levels.to_dict(),
            "two_level_limits": None if self.two_level_limits is None else dict(self.two_level_limits),
            "schedule": None if self.schedule is None else self.schedule.to_dict(),
            "hours_of_job": _plain(self.hours_of_job),
            "source": self.words,
            "sentences": list(self.sentences),
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Waste over the interval (`relfit.plotting.checkpointing.waste_over_interval`)."""
        from relfit.plotting.checkpointing import waste_over_interval

        return waste_over_interval(self, ax)

    def __repr__(self) -> str:
        return f"CheckpointPlan: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        lines = "".join(f"<p>{escape(text)}</p>" for text in self.sentences)
        return lines + self.rules.to_html(escape=True, index=False, float_format="{:.4g}".format)


def plan_checkpoints(
    source: Any,
    save: Any,
    restore: Any = 0.0,
    downtime: Any = 0.0,
    *,
    nodes: Any = None,
    ages: Any = 0.0,
    interval: Any = None,
    period: Any = None,
    exposed: tuple[str, ...] = ("save", "restore"),
    slowed: float = 1.0,
    global_save: Any = None,
    global_restore: Any = None,
    share_global: float | None = None,
    schedule: bool = False,
    by_family: bool = False,
    work: Any = None,
    events: Any = None,
    robust: str | float = "mean",
    draws: int = 2000,
    level: float = 0.9,
    rng: int | np.random.Generator | None = 0,
) -> CheckpointPlan:
    """Plan the checkpoints of a job.

    Parameters
    ----------
    source : duration, Parameters, Distribution or System
        A mean time between failures of one node, calibrated parameters (their rates, exponential), or the
        distribution of the lives of the nodes: then by the renewal equation, every restart beginning with the same
        `ages`.
    save, restore, downtime : duration
        Hours; the downtime is without failures.
    nodes : int, optional
        Of the job; see `rate_of_job`.
    ages : array_like of durations
        Of the nodes, for a distribution.
    interval, period : duration, optional
        Say what an interval of work, or a period with its save, loses.
    exposed, slowed
        As in `relfit.planning.checkpointing.renewal_failures.renewal_waste`: where failures can strike; asynchronous saves.
    global_save, global_restore, share_global : optional
        Plan two levels: `save` and `restore` are those of the local one. See `relfit.planning.checkpointing.two_level`.
    schedule : bool
        Also find the intervals that follow the hazard (a distribution only).
    by_family : bool
        Plan with the family fitted to the lives of the nodes (``failure`` in the parameters) and their `ages`, not
        the parameters' rates.
    work : duration, optional
        Hours of work of the job, for its expected time.
    events : float, optional
        Failures behind a mean time given by hand.
    robust : "mean" or float
        Choose the robust interval by the mean waste over the draws, or by a quantile of it.
    draws, level, rng
        Number of draws, level of the limits, seed.

    Raises
    ------
    ArgumentError
        For values that cannot be; a save longer than its period.
    DataError
        When the mean time between failures is infinite.

    Examples
    --------
    >>> plan = plan_checkpoints("20000h", "5min", "10min", nodes=1000, events=40)
    >>> print(plan.sentence)
    Save after every 1.77 hours of work (limits 1.55 hours and 2.03 hours): 9.61 % of the time is lost (8.36 % to 11 %).
    """
    cost = Costs.of(save, restore, downtime, exposed)
    if cost.save.ndim or cost.restore.ndim or cost.downtime.ndim:
        raise ArgumentError("one case at a time: save, restore and downtime must be single durations")
    c, r, d = float(cost.save), float(cost.restore), float(cost.downtime)
    speed = float(share("slowed", slowed))
    if speed < 1.0 and "save" not in exposed:
        raise ArgumentError("an asynchronous save in which nothing can fail is not known", remedy="expose 'save'")
    share("level", level, zero=False, one=False)
    if robust != "mean":
        share("robust", robust, zero=False, one=False)
    asked = _asked(interval, period, c)
    if c == 0.0:
        speed = 1.0  # nothing is slowed by a save that takes no time
    model, words = _model(source, cost, speed, nodes, ages, by_family, events, draws, rng)
    stretch = model.stretch if isinstance(model, WasteOfLives) else None
    mtbf = model.mtbf if isinstance(model, ExponentialWaste) else model.stretch.mean()
    if schedule and stretch is None:
        raise ArgumentError("exponential failures call for a fixed interval", remedy="give a distribution instead")
    count = 0 if model.drawn is None else len(model.drawn)
    best, lost = model.best()
    limits = [np.nan] * 4
    wise, wise_waste = best, lost
    half = 0.5 * level
    ends = [0.5 - half, 0.5 + half]
    if count:
        bests, wastes = model.best_of_draws()
        limits = [*np.quantile(bests, ends), *np.quantile(wastes, ends)]
        wise, wise_waste = robust_interval(model, best, robust, _ROBUST_DRAWS)
    rules = _rules(mtbf, c, r, best, lost, model.at, stretch is None)
    given = None
    if asked is not None:
        place = np.asarray(asked)
        given = {"interval": asked, "waste": float(model.at(place))}
        if count:
            low, high = np.quantile(model.drawn_at(place, count), ends)
            given |= {"low": float(low), "high": float(high)}
    two = _two_levels(mtbf, c, r, d, global_save, global_restore, share_global, stretch)
    two_limits = None
    if two is not None and isinstance(model, ExponentialWaste) and model.drawn is not None:
        few = model.drawn[:_FEW_DRAWS]
        sure = _two_levels(few, c, r, d, global_save, global_restore, share_global, None)
        assert sure is not None
        two_limits = {
            name: (float(low), float(high))
            for name in ("interval", "every", "waste")
            for low, high in [np.quantile(getattr(sure, name), ends)]
        }
    plan = best_schedule(stretch, c, r, d, exposed=exposed) if schedule and stretch is not None else None
    took = None
    if work is not None:
        if speed < 1.0:
            raise ArgumentError("the time of a job is known for blocking saves only", remedy="leave work or slowed out")
        total = durations("work", work)
        took = (
            job_time(stretch, total, best, c, r, d, after=ages, exposed=exposed) if stretch is not None
            else float(exact.expected_time(total, mtbf, best, c, r, d, exposed=exposed))
        ) if best > 0.0 else float(total)  # fmt: skip
    return CheckpointPlan(
        mtbf=mtbf,
        interval=best,
        period=best + c,
        waste=lost,
        interval_low=float(limits[0]),
        interval_high=float(limits[1]),
        waste_low=float(limits[2]),
        waste_high=float(limits[3]),
        robust_interval=wise,
        robust_waste=wise_waste,
        robust_by=str(robust),
        rules=rules,
        given=given,
        curve=_curve(model, best if 0.0 < best < np.inf else 0.01 * mtbf, count, ends),
        two_levels=two,
        two_level_limits=two_limits,
        schedule=plan,
        hours_of_job=took,
        least_mtbf=float(exact.least_mtbf(c, r, d)),
        status="ok" if lost < 1.0 - LEAST_PROGRESS else "no_progress",
        level=level,
        costs={"save": c, "restore": r, "downtime": d},
        words=words,
        draws=count,
    )


# ---------------------------------------------------------------------- details


def _asked(interval: Any, period: Any, c: float) -> float | None:
    if interval is not None and period is not None:
        raise ArgumentError("interval and period are both given", remedy="give one of them")
    if period is not None:
        whole = durations("period", period, zero=False)
        check_period(whole, np.asarray(c))
        return float(whole) - c
    return None if interval is None else float(durations("interval", interval, zero=False))


def _model(
    source: Any, cost: Costs, slowed: float, nodes: Any, ages: Any, by_family: bool, events: Any, draws: int,
    rng: int | np.random.Generator | None,
) -> tuple[ExponentialWaste | WasteOfLives, str]:  # fmt: skip
    size = 1 if nodes is None else int(whole("nodes", nodes))
    if by_family:
        if not is_parameters(source) or source.failure is None:
            raise ArgumentError("by_family takes parameters with a fitted family", remedy="calibrate with families")
        fitted = source.failure
        drawn = []
        if fitted.covariance is not None:
            several = source.draws(min(int(whole("draws", draws, 2)), _FEW_DRAWS), rng).family("failure")
            drawn = [time_to_failure(several[i], ages, size) for i in range(several.batch_shape[0])]
        words = f"the {fitted.family} lives of the parameters, every restart with the same ages"
        return WasteOfLives(time_to_failure(fitted.distribution(), ages, size), drawn, cost, slowed), words
    if hasattr(source, "log_sf") or hasattr(source, "log_reliability"):
        if events is not None:
            raise ArgumentError("events goes with a mean time given by hand")
        words = f"{type(source).__name__}, every restart with the same ages"
        return WasteOfLives(time_to_failure(source, ages, size), (), cost, slowed), words
    rate = rate_of_job(source, nodes, events=events, draws=draws, rng=rng)
    return ExponentialWaste(rate.mtbf, rate.draws, cost, slowed), rate.words


def _rules(
    mtbf: float, c: float, r: float, best: float, lost: float, waste: WasteAt, exponential: bool
) -> pd.DataFrame:
    import pandas as pd

    names = ["exact" if exponential else "renewal equation", "Young 1974", "Daly, first order", "Daly, higher order"]
    values = [best, float(exact.young_interval(mtbf, c)), float(exact.daly_interval(mtbf, c, r, "first")),
              float(exact.daly_interval(mtbf, c, r))]  # fmt: skip
    wastes = [lost, *(float(waste(np.asarray(value))) for value in values[1:])]
    return pd.DataFrame(
        {"rule": names, "interval": values, "waste": wastes, "excess": [100.0 * (x - lost) for x in wastes]}
    )


def _two_levels(
    mtbf: Any,
    c: float,
    r: float,
    d: float,
    global_save: Any,
    global_restore: Any,
    phi: Any,
    stretch: TimeToFailure | None,
) -> TwoLevels | None:
    if global_save is None:
        if global_restore is not None or phi is not None:
            raise ArgumentError("two levels need global_save", remedy="give it")
        return None
    if phi is None:
        raise ArgumentError(
            "two levels need share_global", remedy="give the share of failures that need the global save"
        )
    if stretch is not None and np.isnan(stretch.constant):
        raise ArgumentError(
            "two levels are planned for exponential failures", remedy="try two_level_waste_of for other families"
        )
    far = r if global_restore is None else global_restore
    return best_two_levels(mtbf, c, global_save, r, far, phi, d)


def _curve(model: ExponentialWaste | WasteOfLives, middle: float, count: int, ends: list[float]) -> WasteCurve:
    grid = middle * np.logspace(-1.3, 1.3, 121)
    waste = model.at(grid)
    if not count:
        return WasteCurve(grid, waste, None, None)
    low, high = np.quantile(model.drawn_at(grid, count), ends, axis=0)
    return WasteCurve(grid, waste, low, high)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value
