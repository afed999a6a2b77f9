"""Which process describes the failures: Poisson of constant or changing rate, renewal; by likelihood."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.analyses.recurrence.histories import EventHistories
from relfit.analyses.recurrence.processes import MODELS, ProcessFit, fit_process
from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.base.results import Result, key_columns
from relfit.base.text import count

_FEW = 20  # failures below which a process that is not the best is seldom ruled out
_WORDS = {
    "hpp": "a constant rate",
    "power_law": "a rate that changes with age by a power law",
    "log_linear": "a rate that changes exponentially with age",
    "renewal": "a renewal process with Weibull times between failures",
}


class ProcessComparison(Result):
    """Several processes fitted to the same groups; arrays of shape (groups, models).

    Attributes
    ----------
    groups : pandas.Index, shape (groups,)
    models : tuple of str
    fits : dict of str to ProcessFit
    aic, delta, weight : ndarray of float
        Akaike's criterion, its difference from the lowest of the group, and the weight ``exp(-delta / 2)`` scaled to a
        sum of one; NaN where a model has no fit.
    best : ndarray of object, shape (groups,)
        Model of the lowest criterion, ``None`` where none has a fit.
    """

    _not_in_json = ("fits",)

    groups: pd.Index
    models: tuple[str, ...]
    fits: dict[str, ProcessFit]
    aic: FloatArray
    delta: FloatArray
    weight: FloatArray
    best: npt.NDArray[np.object_]

    @property
    def headline(self) -> str:
        """What the comparison means for a fit."""
        models = [str(model) for model in self.best if model is not None]
        if not models:
            return "No process could be fitted."
        if len(self.groups) == 1:
            best = models[0]
            others = [m for m, delta in zip(self.models, self.delta[0], strict=True) if m != best and delta < 2.0]
            as_well = [_WORDS[m] for m in others]
            fine = f"; {' and '.join(as_well)} {'do' if len(others) > 1 else 'does'} about as well" if others else ""
            advice = {
                "hpp": "an exponential fit is enough",
                "renewal": "one distribution of times between failures comes closest",
            }.get(best, "one distribution of times between failures does not describe all of the observation")
            if others and best not in ("hpp", "renewal") and {"hpp", "renewal"} & set(others):
                advice = "one distribution of times between failures may still do"
            events = int(self.fits[best].events[0])
            if events < _FEW:
                advice = f"{count(events, 'failure is', 'failures are')} too few to rule out any other"
            return f"{_WORDS[best][0].upper()}{_WORDS[best][1:]} describes the failures best{fine}: {advice}."
        counts = pd.Series(models).value_counts()
        listed = ", ".join(f"{_WORDS[str(m)]} in {int(c)}" for m, c in counts.items())
        return f"Lowest AIC among {len(models)} groups: {listed}."

    def to_frame(self) -> pd.DataFrame:
        """One row per group and model."""
        tables = []
        for i, (model, fitted) in enumerate(self.fits.items()):
            frame = key_columns(self.groups).assign(model=model, status=fitted.status, parameters=len(MODELS[model]))
            compared = {"aic": self.aic[:, i], "delta": self.delta[:, i], "weight": self.weight[:, i]}
            tables.append(frame.assign(loglik=fitted.loglik, **compared, best=self.best == model))
        return pd.concat(tables).sort_index(kind="stable").reset_index(drop=True)


def compare_processes(
    histories: EventHistories,
    by: str | npt.ArrayLike = "each",
    models: tuple[str, ...] = ("hpp", "power_law", "log_linear", "renewal"),
    *,
    level: float = 0.95,
) -> ProcessComparison:
    """Fit several processes to every group and compare them by Akaike's criterion.

    Where histories share incidents, such as nodes of racks that fail together, the log-likelihood is divided by the
    number of events in the mean event's incident (QAIC of Lebreton and others 1992): copies of one event add nothing.

    Parameters
    ----------
    histories : EventHistories
    by : "each", "all", a key of the histories, or array_like of labels
        Which systems are copies of one another.
    models : tuple of str
        Of `relfit.analyses.recurrence.MODELS`.
    level : float
        Level of the fits' intervals.

    Raises
    ------
    ArgumentError
        For an unknown model, or one that is named twice.

    Examples
    --------
    >>> from relfit.analyses.recurrence import EventHistories
    >>> result = compare_processes(EventHistories.from_groups([[1, 2, 4, 5, 8, 16, 31, 90, 350]], end=1000.0))
    >>> result.best.tolist()
    ['power_law']
    """
    if not models or len(set(models)) < len(models):
        raise ArgumentError("give the processes to compare, each once", remedy=f"of {', '.join(MODELS)}")
    fits = {model: fit_process(histories, model, by, level=level) for model in models}
    groups = fits[models[0]].groups
    aic = np.stack([fits[model].aic for model in models], axis=1)
    fitted = np.isfinite(aic)
    lowest = np.where(fitted, aic, np.inf).min(axis=1, keepdims=True)
    delta = np.where(fitted, aic - np.where(np.isfinite(lowest), lowest, 0.0), np.nan)
    weight = np.where(fitted, np.exp(-0.5 * np.nan_to_num(delta)), 0.0)
    weight = np.where(fitted, weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300), np.nan)
    best = np.full(len(groups), None, dtype=object)
    some = fitted.any(axis=1)
    best[some] = np.array(models, dtype=object)[np.where(fitted, aic, np.inf)[some].argmin(axis=1)]
    return ProcessComparison(groups, tuple(models), fits, aic, delta, weight, best)
