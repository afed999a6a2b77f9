"""Fits of point processes to one repairable system or many copies, for a batch of groups at once.

Poisson processes of constant, power-law (Crow 1974 and 1990, MIL-HDBK-189C) or log-linear intensity (Cox and Lewis
1966), and renewal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.analyses.recurrence.histories import EventHistories, differs, grouping, label_text
from relfit.analyses.recurrence.likelihoods import GroupedHistories, Poisson, Renewal
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.levels import level_checked, normal_quantile
from relfit.base.numeric.newton import Maximum, maximise
from relfit.base.numeric.poisson import poisson_interval
from relfit.base.numeric.ragged import per_group
from relfit.base.results import Interval, Result, key_columns
from relfit.base.text import percent
from relfit.base.units import hours

MODELS = {
    "hpp": ("rate",),
    "power_law": ("shape", "scale"),
    "log_linear": ("rate", "growth"),
    "renewal": ("shape", "scale"),
}
PROCESS_STATUS = {
    "ok": "the likelihood has a maximum and it was found",
    "no_events": "nothing failed",
    "too_few": "fewer events than parameters",
    "one_instant": "all events fall at one age",
    "zeros": "an event at age zero, or a gap of zero, has no density under the model",
    "no_maximum": "the likelihood still rises, or stays level, at the edge of what the parameters can be",
    "not_converged": "the search ended before the gradient vanished; no parameters are given",
}


class ProcessFit(Result):
    """A process fitted to every group of copies; arrays have one row per group.

    Attributes
    ----------
    model : str
        One of `MODELS`.
    groups : pandas.Index, shape (groups,)
    parameters : tuple of str
        ``rate`` (events per hour; at age zero for ``log_linear``); ``shape`` and ``scale`` (hours): a system has
        ``(t / scale)**shape`` events up to age t under ``power_law``, and Weibull gaps under ``renewal``; ``growth``
        of the log of the rate per hour.
    estimates, standard_errors, low, high : ndarray of float, shape (groups, parameters)
        NaN unless the status is ``ok``; intervals at `level`. Hours without an event bound the rate of ``hpp``.
    loglik : ndarray of float, shape (groups,)
    status : ndarray of object, shape (groups,)
        See `PROCESS_STATUS`.
    copies, events : ndarray of int, shape (groups,)
    hours : ndarray of float, shape (groups,)
        Observation of all copies together.
    level : float
    notes : tuple of str
    at_once : ndarray of float, shape (groups,)
        Events of the incident that an event is part of, on average: this many weigh as one in intervals and AIC.
    running : ndarray of float, shape (groups,)
        Share of the copies that had run for an unknown time when observation began.
    covariance : ndarray of float, shape (groups, parameters, parameters)
        Of the logs of the parameters (of ``growth`` itself).
    """

    _not_in_json = ("running", "covariance")

    model: str
    groups: pd.Index
    parameters: tuple[str, ...]
    estimates: FloatArray
    standard_errors: FloatArray
    low: FloatArray
    high: FloatArray
    loglik: FloatArray
    status: npt.NDArray[np.object_]
    copies: IntArray
    events: IntArray
    hours: FloatArray
    level: float
    notes: tuple[str, ...]
    at_once: FloatArray
    running: FloatArray
    covariance: FloatArray

    @property
    def ok(self) -> BoolArray:
        """Which groups have a fit, shape (groups,)."""
        return np.asarray(self.status == "ok", dtype=np.bool_)

    @property
    def aic(self) -> FloatArray:
        """Akaike's criterion, shape (groups,), where events of one incident weigh as one; NaN without a fit."""
        return 2.0 * len(self.parameters) - 2.0 * self.loglik / self.at_once

    def interval(self, quantity: str, at: float | str | None = None) -> Interval:
        """Estimate and interval of a parameter, or of the mean number of events by an age, arrays of shape (groups,).

        Parameters
        ----------
        quantity : str
            A parameter, or ``expected``: events of a system up to age `at`. Its interval is normal on the log scale,
            exact for ``hpp``.
        at : float or duration, optional
            Age, hours or text such as "90d".

        Raises
        ------
        ArgumentError
            For a quantity that the model does not have, and an age that is missing, superfluous or not above zero.

        Examples
        --------
        >>> from relfit.analyses.recurrence import EventHistories
        >>> fit = fit_process(EventHistories.from_groups([[5.0, 40.0, 43.0, 175.0, 389.0]], end=500.0))
        >>> fit.interval("expected", at=500.0).headline
        'expected at 500 h of power_law: 5 (2.08114-12.0127), 95 % interval by likelihood'
        """
        if quantity != "expected":
            if quantity not in self.parameters:
                offer = ", ".join((*self.parameters, "expected"))
                raise ArgumentError(f"{self.model} has no {quantity!r}", remedy=f"it has {offer}")
            if at is not None:
                raise ArgumentError(f"{quantity} needs no age", remedy="leave out at")
            i = self.parameters.index(quantity)
            limits = self.estimates[:, i], self.low[:, i], self.high[:, i]
            return Interval(quantity, "likelihood", self.level, None, *limits, self.status, self.groups, self.model)
        if at is None:
            raise ArgumentError("expected needs an age", remedy='give one, such as at="90d"')
        age = hours(at) if isinstance(at, str) else float(at)
        if not 0.0 < age < np.inf:
            raise ArgumentError(f"{at} is not an age", remedy="give one above zero")
        value = self.expected(age)[:, 0]
        if self.model == "hpp":
            low, high = self.low[:, 0] * age, self.high[:, 0] * age
        else:
            slope = self._slopes(age)
            error = np.sqrt(np.einsum("gi,gij,gj->g", slope, self.covariance, slope))
            far = np.exp(normal_quantile(self.level) * error)
            low, high = value / far, value * far
        about = quantity, "likelihood", self.level, np.array(age)
        return Interval(*about, value, low, high, self.status, self.groups, self.model)

    def _slopes(self, age: float) -> FloatArray:
        """Derivatives of the log of the mean number of events with respect to what `covariance` is of."""
        first, second = self.estimates.T
        if self.model == "power_law":
            return np.stack([first * np.log(age / second), -first], axis=1)
        rise = second * age
        flat = np.abs(rise) < 1e-8
        part = np.where(flat, 0.5, (1.0 / special.exprel(-rise) - 1.0) / np.where(flat, 1.0, rise))
        return np.stack([np.ones(first.size), age * part], axis=1)

    def expected(self, times: npt.ArrayLike) -> FloatArray:
        """Mean number of events of a system up to age `times` (hours, shape (m,)), shape (groups, m).

        Raises
        ------
        ArgumentError
            For renewal, which has no closed form, and for times that are negative or missing.
        """
        if self.model == "renewal":
            what = "the mean number of renewals has no closed form"
            raise ArgumentError(what, remedy="use hpp, power_law or log_linear")
        at = np.atleast_1d(np.asarray(times, dtype=np.float64))
        if not (at >= 0.0).all():
            raise ArgumentError("times must be zero or more hours, none missing")
        first, second = self.estimates[:, :1], self.estimates[:, -1:]
        if self.model == "power_law":
            return np.asarray((at / second) ** first)
        return np.asarray(first * at * (special.exprel(second * at) if self.model == "log_linear" else 1.0))

    @property
    def headline(self) -> str:
        """The result for the group with most events."""
        if not self.ok.any():
            if self.model == "hpp" and len(self.groups) == 1 and self.high[0, 0] < np.inf:
                limit = f"the rate is below {self.high[0, 0]:.3g} per hour ({percent(self.level)} interval)"
                return f"No event in {self.hours[0]:,.6g} hours: {limit}."
            return f"No {self.model} fit ({PROCESS_STATUS[str(self.status[0])] if self.status.size else 'no group'})."
        place = int(np.argmax(np.where(self.ok, self.events, -1)))
        name = "" if len(self.groups) == 1 else f" of {label_text(self.groups[place])}"
        i, neutral, law = {"log_linear": (1, 0.0, "log-linear law")}.get(self.model, (0, 1.0, "power law"))
        value, low, high = (float(v[place, i]) for v in (self.estimates, self.low, self.high))
        limits = f"{value:.3g} ({percent(self.level)} interval {low:.3g} to {high:.3g}"
        if self.model == "hpp":
            return f"The rate{name} is {limits}) per hour."
        if self.model == "renewal":
            way = "wear out" if low > 1.0 else "fail less as they go on" if high < 1.0 else "show no ageing"
            return f"Between failures, systems{name} {way}: shape {limits})."
        way = "rises" if low > neutral else "falls" if high < neutral else "shows no clear trend"
        what = f"Under a {law}, the rate of failures{name} {way}"
        return f"{what}: {self.parameters[i]} {limits}; {neutral:.0f} is constant)."

    def to_frame(self) -> pd.DataFrame:
        """One row per group: its keys, counts, hours, status, parameters (of hours), log-likelihood and AIC."""
        columns = {name: getattr(self, name) for name in ("copies", "events", "hours", "status")}
        ends = {"": self.estimates, "_se": self.standard_errors, "_low": self.low, "_high": self.high}
        for i, name in enumerate(self.parameters):
            columns |= {f"{name}{end}": values[:, i] for end, values in ends.items()}
        return key_columns(self.groups).assign(model=self.model, **columns, loglik=self.loglik, aic=self.aic)


def fit_process(
    histories: EventHistories, model: str = "power_law", by: str | npt.ArrayLike = "each", *, level: float = 0.95
) -> ProcessFit:
    """Fit a process to every group of copies by maximum likelihood.

    Parameters
    ----------
    histories : EventHistories
    model : str
        ``hpp`` (constant rate), ``power_law`` (Crow-AMSAA), ``log_linear`` (Cox-Lewis) or ``renewal`` (Weibull gaps).
    by : "each", "all", a key of the histories, or array_like of labels
        Which systems are copies of one another and share parameters.
    level : float
        Level of the intervals: exact for the rate of ``hpp``, and for the shape of ``power_law`` where all copies are
        watched alike from age zero (or one is until its last event); else normal (asymptotic: too short with few
        events), on the log scale for what must be positive.

    Raises
    ------
    ArgumentError
        For an unknown model or grouping, or a level outside 0..1.

    Notes
    -----
    Where histories share incidents, standard errors are larger by the root of `at_once`, and intervals wider (as of a
    quasi-likelihood). Ages of left-open histories count from the beginning of observation. ``renewal`` takes their
    first gap as that of a process that has run for long.

    Examples
    --------
    Crow's three systems over 200 h, MIL-HDBK-189:

    >>> from relfit.analyses.recurrence import EventHistories
    >>> times = [
    ...     [4.3, 4.4, 10.2, 23.5, 23.8, 26.4, 74, 77.1, 92.1, 197.2],
    ...     [0.1, 5.6, 18.6, 19.5, 24.2, 26.7, 45.1, 45.8, 75.7, 79.7, 98.6, 120.1, 161.8, 180.6, 190.8],
    ...     [8.4, 32.5, 44.7, 48.4, 50.6, 73.6, 98.7, 112.2, 129.8, 136, 195.8],
    ... ]
    >>> result = fit_process(EventHistories.from_groups(times, end=200.0), by="all")
    >>> shape, scale = result.estimates[0]
    >>> round(float(shape), 3), round(float(scale**-shape), 3)
    (0.615, 0.461)
    """
    if model not in MODELS:
        raise ArgumentError(f"unknown process {model!r}", remedy=f"use one of {', '.join(MODELS)}")
    level_checked(level)
    codes, groups = grouping(histories, by)
    copies = GroupedHistories.of(histories, codes, len(groups))
    status = _existence(copies, model)
    rows = np.flatnonzero(status == "ok")
    fit = {"hpp": _constant, "renewal": _renewal}.get(model, _poisson)
    part = fit(copies if rows.size == len(groups) else copies.take(rows), model, level)
    status[rows[~part.converged]] = np.where(part.edge[~part.converged], "no_maximum", "not_converged")

    def spread(values: FloatArray) -> FloatArray:
        """The values of fitted groups, NaN for the others."""
        out = np.full((len(groups), *values.shape[1:]), np.nan)
        out[rows[part.converged]] = values[part.converged]
        return out

    shared, watched = histories.at_once(codes, len(groups)), per_group(histories.length, codes, len(groups))
    vague = (histories.left_open & (histories.opening == 0)).astype(np.float64)
    with np.errstate(invalid="ignore"):  # NaN of a group without a history
        running = per_group(vague, codes, len(groups)) / np.diff(copies.offsets)
    estimates, root = spread(part.estimates), np.sqrt(shared)[:, None]
    low, high = (_wider(estimates, spread(limit), root, model) for limit in (part.low, part.high))
    quiet = (status == "no_events") & (watched > 0.0) & (model == "hpp")  # hours without an event still bound the rate
    low[quiet], high[quiet] = 0.0, poisson_interval(0, level)[1] / watched[quiet, None]
    fitted = estimates, root * spread(part.errors), low, high, spread(part.loglik), status
    counts = np.diff(copies.offsets), copies.events, watched, level
    further = shared, running, shared[:, None, None] * spread(part.covariance)
    return ProcessFit(model, groups, MODELS[model], *fitted, *counts, histories.notes, *further)


def _wider(estimates: FloatArray, limit: FloatArray, root: FloatArray, model: str) -> FloatArray:
    """A limit `root` times as far from the estimate: on the log scale for what must be positive."""
    with np.errstate(all="ignore"):
        out = np.where(root > 1.0, estimates * (limit / estimates) ** root, limit)
        if model == "log_linear":
            out[:, 1] = (estimates + root * (limit - estimates))[:, 1]
    return out


def _existence(copies: GroupedHistories, model: str) -> npt.NDArray[np.object_]:
    """Whether the data can have a fit, as far as counts tell."""
    status = np.full(copies.n_groups, "ok", dtype=object)
    events, histories = copies.events, copies.histories
    if model != "hpp":
        status[~differs(histories.times, copies.event_codes, copies.n_groups)] = "one_instant"
        zeros = {"power_law": histories.times, "renewal": histories.gaps()}.get(model)
        if zeros is not None:
            status[copies.per_group((zeros == 0.0).astype(np.float64)) > 0] = "zeros"
        status[events < len(MODELS[model])] = "too_few"
    status[events == 0] = "no_events"
    return status


@dataclass(frozen=True)
class _FittedProcess:
    """Outcome of a fit for groups that can have one; fields as in `ProcessFit`, the last two as in `Maximum`."""

    estimates: FloatArray
    covariance: FloatArray
    errors: FloatArray
    low: FloatArray
    high: FloatArray
    loglik: FloatArray
    converged: BoolArray
    edge: BoolArray

    @classmethod
    def positive(cls, best: Maximum, estimates: FloatArray, covariance: FloatArray, level: float) -> _FittedProcess:
        """Parameters above zero, with intervals that are normal on the log scale, where `covariance` is theirs."""
        error = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        far = np.exp(normal_quantile(level) * error)
        limits = estimates / far, estimates * far
        return cls(estimates, covariance, estimates * error, *limits, best.value, best.converged, best.edge)


def _constant(copies: GroupedHistories, model: str, level: float) -> _FittedProcess:
    n = copies.events.astype(np.float64)
    hours = per_group(copies.histories.length, copies.group_codes(), copies.n_groups)
    low, high = poisson_interval(copies.events, level)
    watched = hours > 0.0
    with np.errstate(all="ignore"):
        rate = n / hours
        columns = [values[:, None] for values in (rate, np.sqrt(n) / hours, low / hours, high / hours)]
        estimates, errors, lows, highs = columns
        logs = (1.0 / n)[:, None, None]
        return _FittedProcess(estimates, logs, errors, lows, highs, n * (np.log(rate) - 1.0), watched, ~watched)


def _inverse_information(best: Maximum) -> FloatArray:
    """Covariance of the free coordinates, NaN where the search found no maximum."""
    usable = (best.converged & np.isfinite(best.information).all(axis=(1, 2)))[:, None, None]
    return np.where(usable, np.linalg.inv(np.where(usable, best.information, np.eye(best.free.shape[1]))), np.nan)


def _poisson(copies: GroupedHistories, model: str, level: float) -> _FittedProcess:
    objective = Poisson(copies, model)
    best = maximise(objective, objective.first_guess())
    covariance = _inverse_information(best)
    unit, second = copies.latest, best.free[:, 1]
    jacobian = np.zeros((unit.size, 2, 2))  # of the logs of the parameters (of the growth itself)
    with np.errstate(all="ignore"):
        mean = np.exp(best.free[:, 0])
        if model == "power_law":
            shape = np.exp(second)
            estimates = np.stack([shape, unit * mean ** (-1.0 / shape)], axis=1)
            # log scale = log unit - log mean / shape
            jacobian[:, 0, 1] = 1.0
            jacobian[:, 1, 0], jacobian[:, 1, 1] = -1.0 / shape, best.free[:, 0] / shape
        else:
            estimates = np.stack([mean * np.exp(-0.5 * second) / unit, second / unit], axis=1)
            jacobian[:, 0] = 1.0, -0.5
            jacobian[:, 1, 1] = 1.0 / unit
        of_logs = jacobian @ covariance @ np.swapaxes(jacobian, 1, 2)
        fitted = _FittedProcess.positive(best, estimates, of_logs, level)
    if model == "log_linear":
        fitted.errors[:, 1] = np.sqrt(of_logs[:, 1, 1])
        far = normal_quantile(level) * fitted.errors[:, 1]
        fitted.low[:, 1], fitted.high[:, 1] = estimates[:, 1] - far, estimates[:, 1] + far
    else:
        alike, freedom = _alike(copies)
        ratio, tail = estimates[:, 0] / (2.0 * copies.events), 0.5 - 0.5 * level
        fitted.low[alike, 0] = (ratio * special.chdtri(freedom, 1.0 - tail))[alike]
        fitted.high[alike, 0] = (ratio * special.chdtri(freedom, tail))[alike]
    return fitted


def _alike(copies: GroupedHistories) -> tuple[BoolArray, FloatArray]:
    """Groups whose shape has an exact chi-square distribution, and its degrees of freedom."""
    histories, size = copies.histories, np.diff(copies.offsets)
    complete = (histories.begin == 0.0) & (histories.end == copies.latest[copies.group_codes()])
    cut = (histories.sizes > 0) & (histories.last_event() == histories.end)
    whole_count, last = (per_group(values, copies.group_codes(), copies.n_groups) for values in (complete, cut))
    exact = (whole_count == size) & ((last == 0) | (size == 1))
    return exact, 2.0 * np.maximum(copies.events - (last > 0), 1)


def _renewal(copies: GroupedHistories, model: str, level: float) -> _FittedProcess:
    objective = Renewal(copies)
    best = maximise(objective, objective.first_guess())
    covariance = _inverse_information(best)
    with np.errstate(all="ignore"):
        return _FittedProcess.positive(best, np.exp(best.free), covariance, level)
