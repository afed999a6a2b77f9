"""Families as frozen distributions of scipy.stats, for those that scipy has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relfit.errors import ArgumentError
from relfit.writing import complete

if TYPE_CHECKING:
    from scipy.stats.distributions import rv_frozen

    from relfit.calibration.schema import Parameters

__all__ = ["SCIPY_FAMILIES", "frozen", "write_scipy"]


def _exponential(stats: Any, rate: float) -> Any:
    return stats.expon(scale=1.0 / rate)


def _weibull(stats: Any, shape: float, scale: float) -> Any:
    return stats.weibull_min(shape, scale=scale)


def _weibull3(stats: Any, shape: float, scale: float, threshold: float) -> Any:
    return stats.weibull_min(shape, loc=threshold, scale=scale)


def _gamma(stats: Any, shape: float, scale: float) -> Any:
    return stats.gamma(shape, scale=scale)


def _lognormal(stats: Any, meanlog: float, sdlog: float) -> Any:
    return stats.lognorm(sdlog, scale=math.exp(meanlog))


def _loglogistic(stats: Any, shape: float, scale: float) -> Any:
    return stats.fisk(shape, scale=scale)


def _inverse_gaussian(stats: Any, mean_life: float, shape: float) -> Any:
    return stats.invgauss(mean_life / shape, scale=shape)


def _birnbaum_saunders(stats: Any, shape: float, scale: float) -> Any:
    return stats.fatiguelife(shape, scale=scale)


def _gompertz(stats: Any, rate: float, growth: float) -> Any:
    return stats.gompertz(rate / growth, scale=1.0 / growth)


def _generalised_gamma(stats: Any, mu: float, sigma: float, q: float) -> Any:
    if q == 0.0:
        return stats.lognorm(sigma, scale=math.exp(mu))
    return stats.gengamma(1.0 / q**2, q / sigma, scale=math.exp(mu + 2.0 * sigma / q * math.log(abs(q))))


SCIPY_FAMILIES: dict[str, Callable[..., Any]] = {
    "exponential": _exponential,
    "weibull": _weibull,
    "gamma": _gamma,
    "lognormal": _lognormal,
    "loglogistic": _loglogistic,
    "generalised_gamma": _generalised_gamma,
    "inverse_gaussian": _inverse_gaussian,
    "birnbaum_saunders": _birnbaum_saunders,
    "gompertz": _gompertz,
    "weibull3": _weibull3,
}


def frozen(family: str, parameters: Mapping[str, float]) -> rv_frozen:
    """The frozen distribution of scipy for a family of relfit; times are hours.

    Raises
    ------
    ArgumentError
        For a family that scipy does not have.

    Examples
    --------
    >>> frozen("weibull", {"shape": 0.8, "scale": 1000.0}).sf(100.0).round(4).item()
    0.8534
    """
    import scipy.stats

    from relfit.families import family_named

    name = family_named(family).name
    if name not in SCIPY_FAMILIES:
        raise ArgumentError(f"scipy has no {name} distribution", remedy=f"it has {', '.join(SCIPY_FAMILIES)}")
    return SCIPY_FAMILIES[name](scipy.stats, **parameters)


def write_scipy(parameters: Parameters, path: str | Path) -> Path:
    """Write a Python module that needs scipy only: frozen distributions of what the parameters know, in hours.

    ``failure`` and ``repair`` are the fitted families where scipy has them, else exponentials with the calibrated means
    of single nodes and of all repairs.

    Parameters
    ----------
    parameters : Parameters
    path : str or Path
        Of the module; complete or absent.

    Raises
    ------
    ArgumentError
        When neither is known.

    Examples
    --------
    >>> from relfit.calibration import Parameters
    >>> made = write_scipy(Parameters(mtbf="20000h", mttr="24h"), "laws.py")
    >>> print(made.read_text().splitlines()[-1])
    repair = stats.expon(scale=24.0)
    """
    known = parameters.values()
    lines = [
        '"""Distributions of times to failure and to repair, in hours, from relfit."""',
        "",
        "from scipy import stats",
    ]
    laws = []
    for name, fitted, mean in (
        ("failure", parameters.failure, known.get("mtbf.node", known.get("mtbf.outage"))),
        ("repair", parameters.repair, known.get("mttr.mean")),
    ):
        if fitted is not None and fitted.family in SCIPY_FAMILIES:
            found: Any = frozen(fitted.family, fitted.parameters)
            given = [repr(float(value)) for value in found.args]
            given += [f"{key}={float(value)!r}" for key, value in found.kwds.items()]
            laws.append(f"{name} = stats.{found.dist.name}({', '.join(given)})")
        elif mean is not None:
            laws.append(f"{name} = stats.expon(scale={mean!r})")
    if not laws:
        raise ArgumentError("no time to failure or to repair is known", remedy="calibrate a log, or give mtbf")
    target = Path(path)
    with complete(target) as part:
        part.write_text("\n".join([*lines, "", *laws]) + "\n", encoding="utf-8", newline="\n")
    return target
