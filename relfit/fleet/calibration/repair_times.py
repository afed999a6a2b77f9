"""Mean time to repair, of all repairs and of quick and slow ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.analyses.screening import repair_kinds
from relfit.base.arrays import FloatArray
from relfit.base.numeric.ordering import renumbered
from relfit.base.numeric.poisson import exponential_mean_interval
from relfit.fitting import Fits, fit
from relfit.fitting.condensing import condensed
from relfit.fleet.calibration.parameter_values import Duration, Share
from relfit.fleet.calibration.schema import Check, value_of
from relfit.log.lifedata import LifeData
from relfit.log.outages import timed_repairs

_FAMILIES = ("exponential", "weibull", "gamma", "lognormal")
_MANY = 100_000  # repairs above which the profile likelihood is binned (`relfit.fitting.condensing`)
_LEAST_FITTED = 10  # repairs below which only the exponential is used
_BETTER = 2.0  # AICc by which another distribution must be better for repairs not to be exponential
_NEAR = 6.0  # AICc within which a distribution describes the repairs about as well as the best
_REJECTED = 0.05  # p-value of the Anderson-Darling test below which no distribution is used for the mean


def repairs_of_incidents(outages: LifeData, incident: npt.NDArray[np.int64], step: int = 0) -> LifeData:
    """One repair per incident: its nodes' mean outage, censored if one is; of zero length only by a coarse clock."""
    used = (incident >= 0) & timed_repairs(outages.durations, step)
    place, _ = renumbered(incident[used])
    number = np.bincount(place)
    mean = np.bincount(place, outages.durations[used]) / np.maximum(number, 1)
    ended = np.bincount(place, outages.observed[used]) == number
    return LifeData.from_array(mean, ended, measure="ttr")


def mean_of_repairs(times: LifeData, level: float) -> tuple[Duration | None, Check | None]:
    """Mean of all repairs, hours over repairs, with an interval that suits their distribution.

    It spans the profile likelihoods (with Student's t) of all core distributions with an AICc within 6 of the best; if
    the exponential is as good and the lognormal is not, or for fewer than ten repairs, it is exact. If the
    Anderson-Darling test rejects the best, or a coarse clock gives zeros, it is Hall's for skewed samples (1992).
    """
    n = int(times.n_failures.sum())
    total = float(times.total_time.sum())
    if n == 0 or not total > 0.0:
        return None, None
    if n < _LEAST_FITTED:
        return _exponential(n, total, level), None
    if not times.durations.all():
        return _without_family(times, level), None
    fits = fit(times, list(_FAMILIES), n_resamples=0)
    aicc = {name: float(fits[name].aicc[0]) for name in fits.families}
    aicc = {name: value for name, value in sorted(aicc.items(), key=lambda one: one[1]) if np.isfinite(value)}
    if not aicc:
        return _exponential(n, total, level), None
    best, check = next(iter(aicc)), None
    near = [name for name in aicc if aicc[name] <= aicc[best] + _NEAR]
    if "lognormal" not in near and aicc.get("exponential", np.inf) <= aicc[best] + _BETTER:
        return _exponential(n, total, level), None
    if aicc[best] < aicc.get("exponential", np.inf) - _BETTER:
        seen = times.durations[times.observed]
        spread = float(np.var(seen, ddof=1) / np.mean(seen) ** 2)
        check = Check(
            name="repairs.exponential",
            concern=True,
            finding=f"Repair times are not exponential (AICc of {best} is lower by "
            f"{aicc['exponential'] - aicc[best]:.3g}; their squared coefficient of variation is {spread:.3g}, not 1).",
        )
    return _of_families(times, fits, near, level) or _without_family(times, level), check


def _exponential(n: int, total: float, level: float) -> Duration:
    low, high = (float(end) for end in exponential_mean_interval(total, n, False, level))
    about = {"level": level, "events": n, "exposure": total, "distribution": "exponential"}
    return Duration(value=total / n, low=low, high=high, **about, method="exact, repairs taken as exponential")


def _of_families(times: LifeData, fits: Fits, near: list[str], level: float) -> Duration | None:
    """The observed mean with the limits of all distributions near the best; None if the repairs reject the best."""
    seen = LifeData.from_array(times.durations[times.observed])
    n = seen.durations.size
    p = fit(seen, near[0], n_resamples=0)[near[0]].goodness(("ad",), n_resamples=0).p[0, 0]
    if not p >= _REJECTED:
        return None
    wider = 2.0 * float(special.ndtr(special.stdtrit(n - 1, 0.5 + 0.5 * level))) - 1.0
    if times.durations.size > _MANY:
        fits = fit(condensed(times), near, n_resamples=0)
    intervals = pd.concat([fits[name].interval("mean", level=wider).to_frame() for name in near])
    value = float(times.total_time.sum()) / n
    good = intervals[(intervals["status"] == "ok") & (intervals["low"] > 0.0) & np.isfinite(intervals["high"])]
    if not len(good):
        return None
    how = f"profile likelihood of {', '.join(sorted(near))}"
    return _lognormal(value, float(good["low"].min()), float(good["high"].max()), level, n, how)


def _without_family(times: LifeData, level: float) -> Duration:
    seen = times.durations[times.observed]
    value = float(times.total_time.sum()) / seen.size
    centre = value / float(seen.mean())  # hours of censored repairs count in the mean too
    low, high = (centre * end for end in _hall(seen, level))
    return _lognormal(value, low, high, level, seen.size, "Hall's interval for skewed samples")


def _lognormal(value: float, low: float, high: float, level: float, events: int, how: str) -> Duration:
    """The observed mean, within its interval."""
    about = {"level": level, "events": events, "distribution": "lognormal", "method": f"mean of repairs, {how}"}
    return Duration(value=value, low=min(low, value), high=max(high, value), **about)


def _hall(values: FloatArray, level: float) -> tuple[float, float]:
    """Limits of a mean by Hall's cubic transformation of Student's t."""
    n, mean, spread = values.size, float(values.mean()), float(values.std(ddof=1))
    if not spread > 0.0:
        return mean, mean
    skew = float(np.clip(((values - mean) ** 3).mean() / spread**3, 1e-6, None))
    t = special.stdtrit(n - 1, [0.5 + level / 2.0, 0.5 - level / 2.0]) / np.sqrt(n)
    turned = 3.0 / skew * (np.cbrt(np.maximum(1.0 + skew * (t - skew / (6.0 * n)), 1e-9)) - 1.0)
    low, high = mean - spread * turned
    return max(float(low), 0.05 * mean), float(high)


def _correlation(times: LifeData, share: float, quick: float, slow: float) -> list[list[float]] | None:
    """Correlation of logit share, log quick and log slow mean, from the scores of repairs of two exponential kinds."""
    time, ended = times.durations, times.observed
    logs = [np.log(w) - ended * np.log(mean) - time / mean for w, mean in ((share, quick), (1.0 - share, slow))]
    weight = special.expit(logs[0] - logs[1])
    scores = np.stack([weight - share, weight * (time / quick - ended), (1.0 - weight) * (time / slow - ended)])
    information = scores @ scores.T
    if np.linalg.matrix_rank(information) < 3:
        return None
    covariance = np.linalg.inv(information)
    error = np.sqrt(np.diag(covariance))
    correlation = np.clip(covariance / error / error[:, None], -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    return [[float(value) for value in row] for row in 0.5 * (correlation + correlation.T)]


def kinds_of_repairs(
    times: LifeData, level: float, mean: Duration | None = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Quick and slow repairs, of mean `mean`, if two kinds explain the times better than one; else the reasons."""
    names = ("quick", "slow", "share_quick")
    row = repair_kinds(times, level=level).best().iloc[0]
    why = {
        "too_few": "fewer than ten repairs are known",
        "one_class": "one kind of repairs explains the times as well as two",
        "hollow": "one of two kinds would rest on fewer than three repairs",
        "not_found": "the fit of two kinds of repairs found no maximum",
        "no_split": "two kinds of repairs fit better than one, but no threshold separates them",
    }.get(str(row["status"]))
    if why is not None:
        return {}, {f"mttr.{name}": why for name in names}
    number = int(row["repairs"])
    about = {"level": level, "events": number, "method": f"{row['model']} by maximum likelihood, Wald"}

    share, quick, slow = (float(row[name]) for name in ("share_quick", "mean_quick", "mean_slow"))
    overall = value_of(mean)
    factor = 1.0 if overall is None else overall / (share * quick + (1.0 - share) * slow)

    def ends(name: str, factor: float = 1.0) -> dict[str, float]:
        low, value, high = (factor * float(row[f"{name}{end}"]) for end in ("_low", "", "_high"))
        return {"value": value} | ({"low": low, "high": high} if low > 0.0 and high < np.inf else {})

    parts: dict[str, Any] = {
        "quick": Duration(**ends("mean_quick", factor), **about),
        "slow": Duration(**ends("mean_slow", factor), **about),
        "share_quick": Share(**ends("share_quick"), **about),
    }
    if np.isfinite(row["split"]):
        parts["split"] = Duration(**ends("split"), **about)
    parts["correlation"] = _correlation(times, share, quick, slow)
    return parts, {}
