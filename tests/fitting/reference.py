"""Log-likelihoods from SciPy and estimates from other packages, to hold relfit's against."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from relfit.log.lifedata import LifeData

DISTRIBUTIONS = {
    "exponential": lambda p: stats.expon(scale=1.0 / p[0]),
    "weibull": lambda p: stats.weibull_min(p[0], scale=p[1]),
    "gamma": lambda p: stats.gamma(p[0], scale=p[1]),
    "lognormal": lambda p: stats.lognorm(p[1], scale=np.exp(p[0])),
}


def log_likelihood(family: str, parameters: np.ndarray, durations: np.ndarray, observed: np.ndarray) -> float:
    """Of one sample, by SciPy's densities."""
    frozen = DISTRIBUTIONS[family](parameters)
    return float(frozen.logpdf(durations[observed]).sum() + frozen.logsf(durations[~observed]).sum())


def group_log_likelihoods(family: str, parameters: np.ndarray, lives: LifeData) -> np.ndarray:
    """Of every group, by SciPy's densities; `parameters` has a row a group."""
    rows = parameters[lives.group_codes()].T
    with np.errstate(divide="ignore", invalid="ignore"):
        frozen = DISTRIBUTIONS[family](rows)
        values = np.where(lives.observed, frozen.logpdf(lives.durations), frozen.logsf(lives.durations))
    return np.bincount(lives.group_codes(), values, minlength=lives.n_groups)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence of packages that print while they fit."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), Path(os.devnull).open("w") as sink:
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            with contextlib.redirect_stderr(sink), np.errstate(all="ignore"):
                yield
        finally:
            logging.disable(logging.NOTSET)


def peers(family: str, durations: np.ndarray, observed: np.ndarray) -> dict[str, np.ndarray]:
    """Estimates of scipy, lifelines, SurPyval and `reliability`, in relfit's parameters; those that fail are left out.

    A failure of a peer (an exception of whatever kind) is no finding about relfit, so it is only passed over.
    """
    found: dict[str, np.ndarray] = {}
    for name, call in (
        ("scipy", _scipy),
        ("lifelines", _lifelines),
        ("surpyval", _surpyval),
        ("reliability", _reliability),
    ):
        with quiet(), contextlib.suppress(Exception):
            result = call(family, durations, observed)
            if result is not None and np.isfinite(result).all():
                found[name] = np.asarray(result, dtype=float)
    return found


def _scipy(family: str, t: np.ndarray, d: np.ndarray) -> list[float]:
    data = stats.CensoredData(uncensored=t[d], right=t[~d])
    if family == "exponential":
        return [1.0 / stats.expon.fit(data, floc=0)[1]]
    if family == "lognormal":
        s, _, scale = stats.lognorm.fit(data, floc=0)
        return [np.log(scale), s]
    shape, _, scale = {"weibull": stats.weibull_min, "gamma": stats.gamma}[family].fit(data, floc=0)
    return [shape, scale]


def _lifelines(family: str, t: np.ndarray, d: np.ndarray) -> list[float] | None:
    import lifelines

    if family == "exponential":
        return [1.0 / lifelines.ExponentialFitter().fit(t, d).lambda_]
    if family == "weibull":
        fit = lifelines.WeibullFitter().fit(t, d)
        return [fit.rho_, fit.lambda_]
    if family == "lognormal":
        fit = lifelines.LogNormalFitter().fit(t, d)
        return [fit.mu_, fit.sigma_]
    return None


def _surpyval(family: str, t: np.ndarray, d: np.ndarray) -> list[float]:
    surpyval = pytest.importorskip("surpyval")

    model = {
        "exponential": surpyval.Exponential,
        "weibull": surpyval.Weibull,
        "gamma": surpyval.Gamma,
        "lognormal": surpyval.LogNormal,
    }[family].fit(t, c=(~d).astype(int))
    p = model.params
    if family == "weibull":
        return [p[1], p[0]]
    if family == "gamma":
        return [p[0], 1.0 / p[1]]
    return list(p)


def _reliability(family: str, t: np.ndarray, d: np.ndarray) -> list[float]:
    pytest.importorskip("reliability")
    from reliability import Fitters

    arguments = {
        "failures": t[d],
        "right_censored": t[~d] if (~d).any() else None,
        "show_probability_plot": False,
        "print_results": False,
    }
    if family == "exponential":
        return [Fitters.Fit_Exponential_1P(**arguments).Lambda]
    if family == "weibull":
        fit = Fitters.Fit_Weibull_2P(**arguments)
        return [fit.beta, fit.alpha]
    if family == "gamma":
        fit = Fitters.Fit_Gamma_2P(**arguments)
        return [fit.beta, fit.alpha]
    fit = Fitters.Fit_Lognormal_2P(**arguments)
    return [fit.mu, fit.sigma]


def lives(failures: list[float], censored: list[float] | None = None) -> LifeData:
    """One group of failures and censored lives."""
    rest = censored or []
    return LifeData(
        np.array([*failures, *rest], dtype=float),
        np.array([True] * len(failures) + [False] * len(rest)),
        np.array([0, len(failures) + len(rest)]),
        pd.Index(["one"], name="group"),
    )
