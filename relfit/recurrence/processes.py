"""Fits of point processes to one repairable system or many copies: Poisson of constant, power-law or log-linear
intensity, renewal, and virtual age; a batch of groups at once.

Crow 1974 and 1990, MIL-HDBK-189C (power law); Cox and Lewis 1966 (log-linear); Kijima 1989 (virtual age).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.errors import ArgumentError
from relfit.lifedata import key_columns
from relfit.nonparametric.steps import normal_quantile
from relfit.numeric.newton import Maximum, maximise
from relfit.recurrence.histories import BoolArray, EventHistories, FloatArray, IntArray, grouping, label_text, sums
from relfit.recurrence.likelihoods import Copies, LogLinear, PowerLaw, Renewal, differs
from relfit.recurrence.virtual_age import fit_virtual_age
from relfit.text import percent

__all__ = ["MODELS", "PROCESS_STATUS", "ProcessFit", "fit_process"]

MODELS = {
    "hpp": ("rate",),
    "power_law": ("shape", "scale"),
    "log_linear": ("rate", "growth"),
    "renewal": ("shape", "scale"),
    "kijima_1": ("shape", "scale", "restoration"),
    "kijima_2": ("shape", "scale", "restoration"),
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


@dataclass(frozen=True, eq=False)
class ProcessFit:
    """A process fitted to every group of copies; arrays have one row a group.

    Attributes
    ----------
    model : str
        One of `MODELS`.
    groups : pandas.Index, shape (groups,)
    parameters : tuple of str
        ``rate`` (events an hour; at age zero for ``log_linear``); ``shape`` and ``scale`` (hours): a system has
        ``(t / scale)**shape`` events up to age t under ``power_law``, and Weibull gaps under ``renewal``; ``growth``
        of the log of the rate an hour; ``restoration``: the share of the age that a repair takes away (1: as good as
        new, 0: as bad as old).
    estimates, standard_errors, low, high : ndarray of float, shape (groups, parameters)
        NaN unless the status is ``ok``; limits at `level`. The standard error of a restoration at its edge is NaN.
    loglik : ndarray of float, shape (groups,)
    status : ndarray of object, shape (groups,)
        See `PROCESS_STATUS`.
    copies, events : ndarray of int, shape (groups,)
    hours : ndarray of float, shape (groups,)
        Observation of all copies together.
    level : float
    notes : tuple of str
    arranged : Copies
        The histories, sorted by group.
    free, covariance : ndarray of float
        Coordinates in which the likelihood was maximised, and their covariance.
    """

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
    arranged: Copies
    free: FloatArray
    covariance: FloatArray

    @property
    def ok(self) -> BoolArray:
        """Which groups have a fit, shape (groups,)."""
        return np.asarray(self.status == "ok", dtype=np.bool_)

    @property
    def aic(self) -> FloatArray:
        """Akaike's criterion, shape (groups,); NaN without a fit."""
        return 2.0 * len(self.parameters) - 2.0 * self.loglik

    def values(self, parameter: str) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Estimate and limits of one parameter, each of shape (groups,).

        Raises
        ------
        ArgumentError
            For a parameter that the model does not have.
        """
        if parameter not in self.parameters:
            raise ArgumentError(f"{self.model} has no {parameter!r}", remedy=f"it has {', '.join(self.parameters)}")
        i = self.parameters.index(parameter)
        return self.estimates[:, i], self.low[:, i], self.high[:, i]

    def intensity(self, times: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Events an hour of a system at age `times`, with limits; ``1 / intensity`` is the instantaneous MTBF.

        Parameters
        ----------
        times : array_like of float
            Hours, for all groups (m) or one row a group.

        Returns
        -------
        value, low, high : ndarray of float, shape (groups, m)

        Raises
        ------
        ArgumentError
            For a model whose intensity depends on when the last event was.
        """
        return self._curve(times, mean=False)

    def expected(self, times: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Events of a system up to age `times`, as `intensity`."""
        return self._curve(times, mean=True)

    def _curve(self, times: npt.ArrayLike, mean: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        if self.model not in ("hpp", "power_law", "log_linear"):
            raise ArgumentError(
                f"the intensity of {self.model} depends on when the last event was",
                remedy="use hpp, power_law or log_linear",
            )
        at = np.atleast_1d(np.asarray(times, dtype=np.float64))
        if np.isnan(at).any() or (at < 0.0).any():
            raise ArgumentError("times must be zero or more hours, none missing")
        at = np.broadcast_to(at, (len(self.groups), at.shape[-1]))
        if self.model == "hpp":
            factor = at if mean else np.ones_like(at)
            return self.estimates * factor, self.low * factor, self.high * factor
        kind = PowerLaw if self.model == "power_law" else LogLinear
        unit = self.arranged.latest[:, None]
        s = at / unit

        def log_value(free: FloatArray) -> FloatArray:
            if mean:
                return free[..., None, 0] + np.log(kind.integral(free[..., None, 1], np.zeros_like(s), s))
            return kind.log_intensity(free[..., None, :], s) - np.log(unit)

        step = 1e-5
        with np.errstate(all="ignore"):
            centre = log_value(self.free)
            slope = np.stack(
                [(log_value(self.free + step * e) - log_value(self.free - step * e)) / (2 * step) for e in np.eye(2)],
                axis=-1,
            )
            variance = np.einsum("gmi,gij,gmj->gm", slope, self.covariance, slope)
            error = normal_quantile(self.level) * np.sqrt(variance)
            value, low, high = np.exp(centre), np.exp(centre - error), np.exp(centre + error)
        # certain at the edges: no event by age zero; an intensity of zero or infinity there
        fixed = self.ok[:, None] & ~np.isfinite(centre)
        return value, np.where(fixed, value, low), np.where(fixed, value, high)

    def goodness(self, replications: int = 499, rng: int | np.random.Generator | None = 0) -> Any:
        """Cramer-von Mises test of fit; see `relfit.recurrence.process_goodness.process_goodness`."""
        from relfit.recurrence.process_goodness import process_goodness

        return process_goodness(self, replications, rng)

    @cached_property
    def sentence(self) -> str:
        """What the fit of the group with most events says, in one sentence."""
        if not self.ok.any():
            return f"No {self.model} fit ({PROCESS_STATUS[str(self.status[0])] if self.status.size else 'no group'})."
        place = int(np.argmax(np.where(self.ok, self.events, -1)))
        low, high = self.low[place], self.high[place]
        value = self.estimates[place]
        name = "" if len(self.groups) == 1 else f" of {label_text(self.groups[place])}"
        limits = f"{percent(self.level)} limits"
        if self.model == "hpp":
            return f"The rate{name} is {value[0]:.3g} an hour ({limits} {low[0]:.3g} to {high[0]:.3g})."
        if self.model in ("power_law", "log_linear"):
            i, neutral = (0, 1.0) if self.model == "power_law" else (1, 0.0)
            way = "rises" if low[i] > neutral else "falls" if high[i] < neutral else "neither rises nor falls for sure"
            return (
                f"The rate of failures{name} {way}: {self.parameters[i]} {value[i]:.3g} ({limits} {low[i]:.3g} to "
                f"{high[i]:.3g}; {neutral:.0f} is constant)."
            )
        if self.model == "renewal":
            way = "wear out" if low[0] > 1.0 else "fail less as they go on" if high[0] < 1.0 else "show no ageing"
            return (
                f"Between failures, systems{name} {way}: shape {value[0]:.3g} ({limits} {low[0]:.3g} to {high[0]:.3g})."
            )
        wide = high[2] - low[2] > 0.8
        return (
            f"A repair{name} takes away {percent(value[2], 1)} of the age "
            f"({limits} {percent(low[2], 1)} to {percent(high[2], 1)})"
            f"{': the data hardly tell' if wide else ''}."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row a group: its keys, counts, status, parameters with errors and limits, log-likelihood and AIC."""
        frame = key_columns(self.groups)
        frame["model"] = self.model
        frame["copies"], frame["events"], frame["hours"] = self.copies, self.events, self.hours
        frame["status"] = self.status
        for i, name in enumerate(self.parameters):
            frame[name] = self.estimates[:, i]
            frame[f"{name}_se"] = self.standard_errors[:, i]
            frame[f"{name}_low"], frame[f"{name}_high"] = self.low[:, i], self.high[:, i]
        frame["loglik"], frame["aic"] = self.loglik, self.aic
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Counts of outcomes, ready for JSON."""
        return {
            "model": self.model,
            "groups": len(self.groups),
            "status": {str(k): int(v) for k, v in pd.Series(self.status).value_counts().items()},
            "parameters": list(self.parameters),
            "level": self.level,
            "notes": list(self.notes),
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return f"ProcessFit: {self.model} of {len(self.groups)} groups, {int(self.ok.sum())} fitted"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.sentence)}</p>{self.to_frame().to_html(max_rows=10, index=False)}"


def fit_process(
    histories: EventHistories, model: str = "power_law", by: Any = "each", *, level: float = 0.95
) -> ProcessFit:
    """Fit a process to every group of copies by maximum likelihood.

    Parameters
    ----------
    histories : EventHistories
    model : str
        ``hpp`` (constant rate), ``power_law`` (Crow-AMSAA), ``log_linear`` (Cox-Lewis), ``renewal`` (Weibull gaps),
        ``kijima_1`` or ``kijima_2`` (Weibull with virtual age).
    by : "each", "all", a key of the histories, or array_like of labels
        Which systems are copies of one another and share parameters.
    level : float
        Of the intervals: exact for the rate of ``hpp``, and for the shape of ``power_law`` where all copies are watched
        alike from age zero (or one is until its last event); profile likelihood for ``restoration`` (normal on the
        logit of the share that is left where its standard error is below 0.05); else normal, on
        the log scale for what must be positive.

    Returns
    -------
    ProcessFit

    Raises
    ------
    ArgumentError
        For an unknown model or grouping, or a level outside 0..1.

    Notes
    -----
    Ages of left-open histories count from the beginning of observation. ``renewal`` takes their first gap as that of a
    process that has run for long; the virtual age models take them as new, and say so in ``notes``.

    Examples
    --------
    Crow's three systems over 200 h, MIL-HDBK-189:

    >>> from relfit.recurrence import EventHistories
    >>> times = [
    ...     [4.3, 4.4, 10.2, 23.5, 23.8, 26.4, 74, 77.1, 92.1, 197.2],
    ...     [0.1, 5.6, 18.6, 19.5, 24.2, 26.7, 45.1, 45.8, 75.7, 79.7, 98.6, 120.1, 161.8, 180.6, 190.8],
    ...     [8.4, 32.5, 44.7, 48.4, 50.6, 73.6, 98.7, 112.2, 129.8, 136, 195.8],
    ... ]
    >>> found = fit_process(EventHistories.from_groups(times, end=200.0), by="all")
    >>> shape, scale = found.estimates[0]
    >>> round(float(shape), 3), round(float(scale**-shape), 3)
    (0.615, 0.461)
    """
    if model not in MODELS:
        raise ArgumentError(f"unknown process {model!r}", remedy=f"use one of {', '.join(MODELS)}")
    z = normal_quantile(level)
    codes, groups = grouping(histories, by)
    copies = Copies.of(histories, codes, len(groups))
    hours = sums(codes, histories.length, len(groups))
    status = _existence(copies, model)
    ok = status == "ok"
    fit = {"hpp": _constant, "power_law": _poisson, "log_linear": _poisson, "renewal": _renewal}.get(model)
    part = copies if ok.all() else copies.take(np.flatnonzero(ok))
    raw = fit_virtual_age(part, model, level) if fit is None else fit(part, model, level, z)
    names = MODELS[model]
    k = raw["free"].shape[1]
    full: dict[str, FloatArray] = {}
    for name, width in {"estimates": len(names), "errors": len(names), "low": len(names), "high": len(names)}.items():
        full[name] = np.full((len(groups), width), np.nan)
    full |= {
        "loglik": np.full(len(groups), np.nan),
        "free": np.full((len(groups), k), np.nan),
        "covariance": np.full((len(groups), k, k), np.nan),
    }
    found = raw["found"]
    rows = np.flatnonzero(ok)
    status[rows[~found]] = np.where(raw["edge"][~found], "no_maximum", "not_converged")
    for name, values in full.items():
        values[rows[found]] = raw[name][found]
    notes = list(histories.notes)
    if model.startswith("kijima") and histories.left_open.any():
        notes.append(f"{int(histories.left_open.sum())} left-open histories are taken as new at their beginning")
    return ProcessFit(
        model, groups, names, full["estimates"], full["errors"], full["low"], full["high"], full["loglik"], status,
        np.diff(copies.offsets), copies.events, hours, level, tuple(notes), copies, full["free"], full["covariance"],
    )  # fmt: skip


def _existence(copies: Copies, model: str) -> npt.NDArray[np.object_]:
    """Whether the data can have a fit, as far as counts tell."""
    status = np.full(copies.n_groups, "ok", dtype=object)
    events = copies.events
    if model != "hpp":
        histories = copies.histories
        zero = histories.times == 0.0 if model == "power_law" else np.zeros(histories.times.size, dtype=np.bool_)
        if model == "renewal" or model.startswith("kijima"):
            zero = histories.gaps() == 0.0
        status[~differs(copies)] = "one_instant"
        status[copies.per_group(zero.astype(np.float64)) > 0] = "zeros"
        status[events < len(MODELS[model])] = "too_few"
    status[events == 0] = "no_events"
    return status


def _constant(copies: Copies, model: str, level: float, z: float) -> dict[str, Any]:
    from relfit.numeric.poisson import poisson_interval

    n = copies.events.astype(np.float64)
    hours = sums(copies.codes, copies.histories.length, copies.n_groups)
    found = hours > 0.0
    with np.errstate(all="ignore"):
        rate = n / hours
        low, high = poisson_interval(copies.events, level)
        return {
            "estimates": rate[:, None],
            "errors": (np.sqrt(n) / hours)[:, None],
            "low": (low / hours)[:, None],
            "high": (high / hours)[:, None],
            "loglik": n * (np.log(rate) - 1.0),
            "free": np.log(rate)[:, None],
            "covariance": (1.0 / n)[:, None, None],
            "found": found,
            "edge": ~found,
        }


def inverse_information(best: Maximum) -> FloatArray:
    """Covariance of the free coordinates, NaN where the search found no maximum."""
    k = best.free.shape[1]
    usable = best.found & np.isfinite(best.information).all(axis=(1, 2))
    information = np.where(usable[:, None, None], best.information, np.eye(k))
    return np.where(usable[:, None, None], np.linalg.inv(information), np.nan)


def _poisson(copies: Copies, model: str, level: float, z: float) -> dict[str, Any]:
    kind = PowerLaw if model == "power_law" else LogLinear
    objective = kind.of(copies)
    best = maximise(objective, objective.first_guess())
    covariance = inverse_information(best)
    unit = copies.latest
    with np.errstate(all="ignore"):
        mean, second = np.exp(best.free[:, 0]), best.free[:, 1]
        if model == "power_law":
            shape = np.exp(second)
            estimates = np.stack([shape, unit * mean ** (-1.0 / shape)], axis=1)
            # log scale = log unit - log mean / shape
            jacobian = np.zeros((mean.size, 2, 2))
            jacobian[:, 0, 1] = 1.0
            jacobian[:, 1, 0], jacobian[:, 1, 1] = -1.0 / shape, best.free[:, 0] / shape
        else:
            estimates = np.stack([mean * np.exp(-0.5 * second) / unit, second / unit], axis=1)
            jacobian = np.zeros((mean.size, 2, 2))
            jacobian[:, 0, 0], jacobian[:, 0, 1] = 1.0, -0.5
            jacobian[:, 1, 1] = 1.0 / unit
        error = np.sqrt(np.einsum("gij,gjk,gik->gi", jacobian, covariance, jacobian))
        low, high = estimates * np.exp(-z * error), estimates * np.exp(z * error)
        errors = estimates * error
        if model == "log_linear":
            low[:, 1], high[:, 1] = estimates[:, 1] - z * error[:, 1], estimates[:, 1] + z * error[:, 1]
            errors[:, 1] = error[:, 1]
        else:
            alike, freedom = _alike(copies)
            ratio = estimates[:, 0] / (2.0 * copies.events)
            tail = 0.5 - 0.5 * level
            low[alike, 0] = (ratio * special.chdtri(freedom, 1.0 - tail))[alike]
            high[alike, 0] = (ratio * special.chdtri(freedom, tail))[alike]
    return {
        "estimates": estimates, "errors": errors, "low": low, "high": high, "loglik": best.value, "free": best.free,
        "covariance": covariance, "found": best.found, "edge": best.edge,
    }  # fmt: skip


def _alike(copies: Copies) -> tuple[BoolArray, FloatArray]:
    """Groups whose shape has an exact chi-square distribution, and its degrees of freedom."""
    histories, unit = copies.histories, copies.latest[copies.codes]
    alike = np.bincount(copies.codes, (histories.begin == 0.0) & (histories.end == unit), minlength=copies.n_groups)
    size = np.diff(copies.offsets)
    last = np.bincount(
        copies.codes, (histories.sizes > 0) & (histories.last_event() == histories.end), minlength=copies.n_groups
    )
    exact = (alike == size) & ((last == 0) | (size == 1))
    return exact, 2.0 * np.maximum(copies.events - (last > 0), 1)


def _renewal(copies: Copies, model: str, level: float, z: float) -> dict[str, Any]:
    objective = Renewal(copies)
    best = maximise(objective, objective.first_guess())
    covariance = inverse_information(best)
    with np.errstate(all="ignore"):
        estimates = np.exp(best.free)
        error = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        return {
            "estimates": estimates,
            "errors": estimates * error,
            "low": estimates * np.exp(-z * error),
            "high": estimates * np.exp(z * error),
            "loglik": best.value,
            "free": best.free,
            "covariance": covariance,
            "found": best.found,
            "edge": best.edge,
        }
