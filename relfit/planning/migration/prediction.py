"""Migration on predictions that miss failures, raise false alarms, or come too late, with checkpoints for the rest.

A predictor catches a share of the failures (recall); a share of its alarms are true (precision). On an alarm the job
migrates to a spare; a failure that was not predicted, or less ahead than a migration takes, throws it back to its
last save. To first order the best period is ``sqrt(2 C mu/(1 - r))``: Aupy, Robert, Vivien and Zaidouni (2014),
Journal of Parallel and Distributed Computing 74, 2048-2064. Here the expected time is exact for exponential failures
and alarms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from relfit.arguments import FloatArray, cases, durations, share, whole
from relfit.errors import ArgumentError
from relfit.numeric.batches import over_groups
from relfit.planning.checkpointing.exponential_failures import best_waste, mu_times_root
from relfit.planning.migration.prediction_kernels import predicted_runs, share_of_time

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Benefit",
    "Predictor",
    "benefit_of_prediction",
    "best_predicted_interval",
    "break_even_recall",
    "predicted_waste",
    "simulate_prediction",
]


@dataclass(frozen=True, eq=False)
class Predictor:
    """How good predictions are.

    Parameters
    ----------
    recall : array_like of float
        Share of the failures that are predicted.
    precision : array_like of float
        Share of the alarms that are true, above zero.
    lead : duration, or Distribution
        How long before the failure the alarm comes: one time, or a distribution of times. Alarms that come later than a
        migration takes are of no use. As long as needed when left out.

    Raises
    ------
    ArgumentError
        For values that cannot be.

    Examples
    --------
    >>> Predictor(0.8, 0.5).alarms_for_failure.round(9).tolist()
    1.6
    """

    recall: Any
    precision: Any = 1.0
    lead: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "recall", share("recall", self.recall))
        object.__setattr__(self, "precision", share("precision", self.precision, zero=False))
        if self.lead is not None and not hasattr(self.lead, "log_sf"):
            object.__setattr__(self, "lead", durations("lead", self.lead, infinite=True))

    @property
    def alarms_for_failure(self) -> FloatArray:
        """Alarms, true and false, for every failure."""
        return np.asarray(self.recall / self.precision)

    def in_time(self, migration: Any) -> FloatArray:
        """Share of the predictions that come early enough to migrate."""
        needed = durations("migration", migration)
        if self.lead is None:
            return np.ones(needed.shape)
        if hasattr(self.lead, "log_sf"):
            return np.asarray(self.lead.sf(needed))
        return np.asarray(self.lead >= needed, dtype=np.float64)

    def rates(self, mtbf: FloatArray, migration: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Failures that strike, failures avoided, and false alarms, each per hour."""
        used = self.recall * self.in_time(migration)
        false = self.recall * (1.0 - self.precision) / self.precision
        return (1.0 - used) / mtbf, used / mtbf, false / mtbf

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        lead = self.lead
        if lead is not None:
            lead = lead.to_dict() if hasattr(lead, "to_dict") else np.asarray(lead).tolist()
        return {"recall": self.recall.tolist(), "precision": self.precision.tolist(), "lead_hours": lead}


def predicted_waste(
    mtbf: Any,
    interval: Any,
    save: Any,
    restore: Any,
    downtime: Any,
    migration: Any,
    predictor: Predictor,
) -> FloatArray:
    """Long-run waste when a job migrates on every alarm and saves at a fixed interval; arrays are cases.

    Failures that strike can do so in work, saves, restores and migrations; alarms during a migration change nothing.
    Seen on a clock that stands still while the job migrates, what ends an interval comes at a rate of
    ``k = u + a (1 - exp(-u M))``, u the rate of failures that strike and a that of alarms heeded; an hour on that clock
    takes ``1 + a (1 - exp(-u M))/u``. With both in the exact formula for checkpoints nothing is approximated.

    Parameters
    ----------
    mtbf, interval, save, restore, downtime, migration : array_like of durations
        Of the job: mean time between all its failures, predicted or not. An infinite interval never saves.
    predictor : Predictor

    Examples
    --------
    >>> one = predicted_waste(24, 2, "5min", "5min", "5min", "1min", Predictor(0.8, 0.5))
    >>> none = predicted_waste(24, 2, "5min", "5min", "5min", "1min", Predictor(0.0))
    >>> round(float(one), 4), round(float(none), 4)
    (0.0507, 0.0874)
    """
    w, mu, c, r, d, m, _, _ = _cases(mtbf, save, restore, downtime, migration, predictor, interval)
    kill, pace = _clock(mu, m, predictor)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        cost = (pace / kill + d) * np.exp(kill * r)
        time = cost * np.expm1(kill * (w + c)) / w
        time = np.where(kill > 0.0, time, pace * (1.0 + c / w))
        time = np.where(np.isinf(w), np.where(kill > 0.0, np.inf, pace), time)
        time = np.where((w == 0.0) & (c == 0.0), np.where(kill > 0.0, cost * kill, pace), time)
        return np.asarray(1.0 - 1.0 / np.where(np.isnan(time), np.inf, time))


def best_predicted_interval(
    mtbf: Any, save: Any, restore: Any, downtime: Any, migration: Any, predictor: Predictor
) -> FloatArray:
    """Interval with the least `predicted_waste`, hours; infinite where every failure is avoided.

    Examples
    --------
    >>> best_predicted_interval(24, "5min", 0, 0, "1min", Predictor([0.0, 0.75, 1.0])).round(3).tolist()
    [1.945, 3.944, inf]
    """
    mu, c, _, _, m, _, _ = _cases(mtbf, save, restore, downtime, migration, predictor)
    kill, _ = _clock(mu, m, predictor)
    with np.errstate(divide="ignore"):
        gap = 1.0 / kill
    return mu_times_root(gap, c, gap, True)


def break_even_recall(
    mtbf: Any,
    save: Any,
    restore: Any,
    downtime: Any,
    migration: Any,
    precision: Any = 1.0,
    lead: Any = None,
    working_share: Any = 1.0,
) -> FloatArray:
    """Least recall from which migration on alarms, with checkpoints, beats checkpoints alone.

    Parameters
    ----------
    mtbf, save, restore, downtime, migration : array_like of durations
        Of the job.
    precision, lead
        As in `Predictor`.
    working_share : array_like of float
        Share of the nodes that are no spares; checkpoints alone use all of them.

    Returns
    -------
    ndarray
        0 where any recall pays, NaN where none does.

    Examples
    --------
    >>> found = break_even_recall([24, 240], "5min", "5min", "5min", "1min", 0.5, working_share=0.98)
    >>> found.round(3).tolist()
    [0.379, 0.934]
    """
    worker = share("working_share", working_share, zero=False)
    predictor = Predictor(1.0, precision, lead)
    given = _cases(mtbf, save, restore, downtime, migration, predictor)
    mu, c, r, d, m, _, p, worker = cases(
        **dict(zip(("mtbf", "save", "restore", "downtime", "migration", "recall", "precision"), given, strict=True)),
        working_share=worker,
    )
    alone = 1.0 - best_waste(mu, c, r, d)

    def gain(recall: FloatArray) -> FloatArray:
        some = Predictor(recall, p, lead)
        best = best_predicted_interval(mu, c, r, d, m, some)
        return np.asarray(worker * (1.0 - predicted_waste(mu, best, c, r, d, m, some)) - alone)

    grid = np.linspace(0.0, 1.0, 101)
    found = np.full(mu.shape, np.nan)
    low, high = np.zeros(mu.shape), np.ones(mu.shape)
    pays = np.stack([gain(np.full(mu.shape, x)) for x in grid]) > 1e-15
    first = pays.argmax(axis=0)
    any_pays = pays.any(axis=0)
    low, high = grid[np.maximum(first - 1, 0)], grid[first]
    for _ in range(40):
        middle = 0.5 * (low + high)
        good = gain(middle) > 0.0
        low, high = np.where(good, low, middle), np.where(good, middle, high)
    # a gain from the first step on, and no spares to pay for: any recall pays
    found = np.where(any_pays, np.where(high < 1e-9, 0.0, high), found)
    return np.asarray(found)


@dataclass(frozen=True, eq=False)
class Benefit:
    """Checkpoints alone against migration on alarms with checkpoints; arrays are cases.

    Attributes
    ----------
    checkpoint_interval, checkpoint_waste : ndarray
        Best interval (hours) and waste without predictions.
    combined_interval, combined_waste : ndarray
        The same with migration on alarms; the nodes kept as spares are not in it.
    working_share : ndarray
        Share of the nodes that are no spares.
    break_even_recall : ndarray
        As `break_even_recall` gives it.
    """

    checkpoint_interval: FloatArray
    checkpoint_waste: FloatArray
    combined_interval: FloatArray
    combined_waste: FloatArray
    working_share: FloatArray
    break_even_recall: FloatArray

    @property
    def gain(self) -> FloatArray:
        """Yield of a node with migration, less its yield with checkpoints alone; spares taken off."""
        return np.asarray(self.working_share * (1.0 - self.combined_waste) - (1.0 - self.checkpoint_waste))

    @property
    def sentence(self) -> str:
        """Whether migration pays (in the first case), in a sentence."""
        gain, need = float(np.ravel(self.gain)[0]), float(np.ravel(self.break_even_recall)[0])
        way = "gains" if gain > 0.0 else "loses"
        point = "no recall makes it pay" if np.isnan(need) else f"it pays from a recall of {need:.3g} on"
        return f"Migration on alarms {way} {100 * abs(gain):.3g} points of yield; {point}."

    def to_frame(self) -> pd.DataFrame:
        """A row a case."""
        import pandas as pd

        names = ("checkpoint_interval", "checkpoint_waste", "combined_interval", "combined_waste", "working_share",
                 "gain", "break_even_recall")  # fmt: skip
        return pd.DataFrame({name: np.ravel(getattr(self, name)) for name in names})

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        frame = self.to_frame()
        finite = {name: [x if np.isfinite(x) else None for x in frame[name].tolist()] for name in frame.columns}
        return {**finite, "sentence": self.sentence}

    def __repr__(self) -> str:
        return f"Benefit: {self.sentence}"


def benefit_of_prediction(
    mtbf: Any,
    save: Any,
    restore: Any,
    downtime: Any,
    migration: Any,
    predictor: Predictor,
    working_share: Any = 1.0,
) -> Benefit:
    """Compare checkpoints alone with migration on alarms; arrays are cases.

    Examples
    --------
    >>> found = benefit_of_prediction(24, "5min", "5min", "5min", "1min", Predictor(0.8, 0.5), 0.99)
    >>> found.sentence
    'Migration on alarms gains 3.85 points of yield; it pays from a recall of 0.198 on.'
    """
    from relfit.planning.checkpointing.exponential_failures import best_interval

    mu, c, r, d, m, _, _ = _cases(mtbf, save, restore, downtime, migration, predictor)
    combined = best_predicted_interval(mu, c, r, d, m, predictor)
    worker = np.broadcast_to(share("working_share", working_share, zero=False), mu.shape)
    return Benefit(
        best_interval(mu, c),
        best_waste(mu, c, r, d),
        combined,
        predicted_waste(mu, combined, c, r, d, m, predictor),
        worker,
        break_even_recall(mu, c, r, d, m, predictor.precision, predictor.lead, worker),
    )


def simulate_prediction(
    mtbf: Any,
    interval: Any,
    save: Any,
    restore: Any,
    downtime: Any,
    migration: Any,
    predictor: Predictor,
    *,
    runs: int = 200,
    failures: int = 500,
    family: Any = None,
    level: float = 0.95,
    rng: int | np.random.Generator | None = None,
    workers: int | None = None,
) -> tuple[float, float, float]:
    """Waste of jobs followed event by event, with limits.

    Parameters
    ----------
    family : Distribution, optional
        Of the times between the failures of the job, instead of exponential ones with mean `mtbf`; `mtbf` then sets
        the rate of false alarms only.

    Returns
    -------
    waste, low, high : float

    Examples
    --------
    >>> waste, low, high = simulate_prediction(24, 2, "5min", "5min", "5min", "1min", Predictor(0.8, 0.5), rng=1)
    >>> low < 0.0507 < high
    True
    """
    given = [durations("mtbf", mtbf, zero=False), durations("interval", interval, zero=False)]
    given += [durations("save", save), durations("restore", restore), durations("downtime", downtime)]
    given += [durations("migration", migration), predictor.recall, predictor.precision]
    if any(np.ndim(x) for x in given):
        raise ArgumentError("one case at a time: all arguments must be single values")
    mu, w, c, r, d, m, recall, precision = (float(x) for x in given)
    count, most = int(whole("runs", runs, 2)), int(whole("failures", failures, 2))
    generator = np.random.default_rng(rng)
    times = (
        generator.exponential(mu, (count, most)) if family is None
        else np.asarray(family.sample((count, most), generator)).reshape(count, most)
    )  # fmt: skip
    false = recall * (1.0 - precision) / precision / mu
    span = float(times.sum(axis=1).max())
    alarms = max(2, int(span * false * 1.2 + 10.0 * np.sqrt(span * false) + 10.0)) if false > 0.0 else 2
    gaps = generator.exponential(1.0 / false, (count, alarms)) if false > 0.0 else np.full((count, 2), np.inf)
    draws = generator.random((count, most, 2))
    kept, time = np.empty(count), np.empty(count)
    counts = np.zeros((count, 3), dtype=np.int64)
    costs, usable = np.array([c, r, d, m]), float(predictor.in_time(m))

    def follow(first: int, last: int) -> None:
        predicted_runs(times, draws, gaps, recall, usable, w, costs, kept, time, counts, first, last)

    over_groups(np.arange(count + 1) * most, follow, workers)
    return share_of_time(kept, time, level)


# ---------------------------------------------------------------------- details


def _cases(
    mtbf: Any, save: Any, restore: Any, downtime: Any, migration: Any, predictor: Predictor, interval: Any = None
) -> tuple[FloatArray, ...]:
    given: dict[str, FloatArray] = {}
    if interval is not None:
        given["interval"] = durations("interval", interval, infinite=True)
    given |= {
        "mtbf": durations("mtbf", mtbf, zero=False),
        "save": durations("save", save),
        "restore": durations("restore", restore),
        "downtime": durations("downtime", downtime),
        "migration": durations("migration", migration),
        "recall": predictor.recall,
        "precision": predictor.precision,
    }
    return cases(**given)


def _clock(mu: FloatArray, m: FloatArray, predictor: Predictor) -> tuple[FloatArray, FloatArray]:
    """Rate of what ends an interval on the clock that stops for migrations, and hours for an hour on it."""
    strike, avoided, false = predictor.rates(mu, m)
    heeded = avoided + false
    struck = -np.expm1(-strike * m)
    with np.errstate(divide="ignore", invalid="ignore"):
        moving = np.where(strike > 0.0, struck / strike, m)
    return np.asarray(strike + heeded * struck), np.asarray(1.0 + heeded * moving)
