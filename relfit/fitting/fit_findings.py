"""The fits of a log in one sentence: the closest distribution, whether it fits, and the mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from relfit.base.text import count, number, p_value, percent
from relfit.fitting.family_fit import UNSEEN, FamilyFit
from relfit.fitting.fits import Fits, comparable
from relfit.fitting.status import MEANING
from relfit.log.lifedata import LifeData

_ALPHA = 0.05  # of the Anderson-Darling tests, whose p-values account for the fit
_AS_GOOD = 2.0  # difference of AICc (Burnham and Anderson 2002)
_FEW = 20  # failures below which a test seldom rejects a wrong distribution
_BEYOND = 10.0  # times the longest time: there a mean is that of the distribution's tail, not of the data
_NAMED = 3  # groups up to which each is named
_FAR = 0.001  # a family rejected more often than this explains does not fit all groups
_TOO_FEW = {"too_few", "few", "all_censored"}  # statuses
_UNTESTED = {
    "not computed": " (its test needs random replicates, made for so many durations only on request)",
    "right-truncated": " (for durations truncated on the right there is no test)",
    "interval-censored": " (for durations in intervals there is no test)",
}


def finding(fits: Fits, tested: Fits | None = None) -> str:
    """The result in a sentence: for one group its closest distribution; for many how often the closest is rejected.

    Parameters
    ----------
    fits : Fits
    tested : Fits, optional
        The fits of the groups that are tested, if not all.

    Examples
    --------
    >>> import textwrap, relfit as rf
    >>> fits = rf.fit(rf.families.Weibull(0.6, 100.0).sample((1, 300), rng=3), ["exponential", "weibull"])
    >>> print(textwrap.fill(finding(fits), 100))
    The weibull is the closest of 2 distributions by AICc and fits (Anderson-Darling p = 0.71): mean 185
    h (95 % Wald interval 155-222).
    """
    ok = [name for name in fits.families if fits[name].ok.any()]
    if not ok:
        return _without_fit(fits)
    return _of_one(fits) if len(fits) == 1 else _of_many(fits, fits if tested is None else tested)


def _of_one(fits: Fits) -> str:
    ok = [name for name in fits.families if fits[name].ok[0]]
    best = fits.best().iloc[0]
    failures = int(fits.lives.n_failures[0])
    if best is None or len(ok) < 2:
        name = best if best is not None else ok[0]
        if len(fits.families) == 1:
            return f"The {name} has the {_mean(fits[name])}."
        if len(ok) < 2 and failures > max(result.parameter_array.shape[1] for result in fits.results.values()) + 1:
            return f"Only the {name} could be fitted: {_mean(fits[name])}. {_reasons(fits)}"
        few = f"{count(failures, 'failure')} {'is' if failures == 1 else 'are'} too few to compare distributions"
        return f"{few}; the {name} has the {_mean(fits[name])}."
    others = [name for name in ok if name != best and float(fits[name].aicc[0]) - float(fits[best].aicc[0]) <= _AS_GOOD]
    as_good = f" (the {' and the '.join(others)} {'is' if len(others) == 1 else 'are'} as good)" if others else ""
    p, least = _p(fits[best])
    of = f"the closest of {len(ok)} distributions by AICc"
    if not np.isfinite(p):
        why = _UNTESTED.get(str(_source(fits[best])[0]), "")
        return f"The {best} is {of}{as_good}, untested{why}: {_mean(fits[best])}."
    tested = f"Anderson-Darling {p_value(p, least)}"
    if p < _ALPHA:
        rejected = f"the {best} is {of}{as_good} and is rejected ({tested})"
        rounded = _rounded(fits.lives)
        chances = {name: float(np.nan_to_num(_p(fits[name])[0])) for name in ok}
        near = max(chances, key=lambda name: chances[name])
        if chances[near] >= _ALPHA:
            return f"T{rejected[1:]}; the {near} is not ({p_value(chances[near])}){rounded}."
        distances = {name: fits[name].tests.statistic[0, fits[name].tests.tests.index("ad")] for name in ok}
        near = min(ok, key=lambda name: float(np.nan_to_num(distances[name], nan=np.inf)))
        other = f"; by Anderson-Darling the {near} is the closest" if near != best else ""
        return f"No distribution fits: {rejected}{other}{rounded}."
    return f"The {best} is {of}{as_good} and fits ({tested}): {_mean(fits[best])}."


def _rounded(lives: LifeData) -> str:
    """That many failure times tie, all multiples of one unit, and what to do; empty where they do not."""
    times = lives.durations[lives.observed]
    values = np.unique(times[times > 0.0])
    if values.size < 2 or 2 * values.size > times.size:
        return ""
    unit = float(np.diff(values).min())
    if not np.allclose(values / unit, np.rint(values / unit), rtol=0.0, atol=1e-6):
        return ""
    remedy = "fit them as intervals (rf.LifeData.from_intervals) and compare by AICc"
    return f"; the times are multiples of {number(unit)} h with many ties, for which alone a test may reject: {remedy}"


def _without_fit(fits: Fits) -> str:
    """Hours without a failure still bound the mean of an exponential distribution."""
    exponential, lives = fits.results.get("exponential"), fits.lives
    hours, plain = float(lives.total_time.sum()), lives.upper is None and lives.exit is None
    if len(fits) > 1 or exponential is None or exponential.status[0] != "all_censored" or not (plain and hours > 0.0):
        few = {status for result in fits.results.values() for status in result.status} <= _TOO_FEW
        return f"No distribution could be fitted{': there are too few failures.' if few else f'. {_reasons(fits)}'}"
    low = float(exponential.interval("mean", kind="exact").low[0])
    claim = f"an exponential has a mean above {number(low)} h ({percent(fits.level)} interval)"
    return f"No failure in {number(hours)} h: {claim}."


def _reasons(fits: Fits) -> str:
    """Why distributions could not be fitted, by the status of their groups."""
    names: dict[str, list[str]] = {}
    for name, fit in fits.results.items():
        for status in dict.fromkeys(fit.status):
            names.setdefault(str(status), []).append(name)
    why = [f"{', '.join(names[status])}: {MEANING[status]}" for status in names if status != "ok"]
    return f"{'; '.join(why)}.".capitalize()


def _mean(fit: FamilyFit) -> str:
    """The mean and its limits; no number where it is that of a tail which no time reached."""
    longest = max(fit.lives.durations.max(), fit.lives.ends[np.isfinite(fit.lives.ends)].max(initial=0.0))
    if fit.name != "exponential" and fit.mean[0] > _BEYOND * longest:  # of the exponential it is hours per failure
        return f"mean beyond {number(_BEYOND * longest)} h, {_BEYOND:g} times the longest time seen"
    low, high, kind = (part[0] for part in fit.mean_limits())
    about = f"{percent(fit.level)} {kind} interval"
    limits = f" ({about} {number(low)}-{number(high)})" if np.isfinite([low, high]).all() else ""
    limits = f" ({about} above {number(low)})" if np.isposinf(high) else limits
    share = float(fit.unseen[0])
    seen = (
        f"no age below {number(float(fit.lives.first_entry[0]))} h was seen, where it places {percent(share)} of lives"
    )
    return f"mean {number(float(fit.mean[0]))} h{limits}{f'; {seen}' if share >= UNSEEN else ''}"


def _source(fit: FamilyFit) -> Any:
    """Where the p-value of Anderson-Darling comes from in every group."""
    return fit.tests.source[:, fit.tests.tests.index("ad")]


def _p(fit: FamilyFit) -> tuple[float, float]:
    """Anderson-Darling p-value, and the smallest that can be distinguished from zero."""
    tests = fit.tests
    place = tests.tests.index("ad")
    drawn = int(tests.n_resamples[0])
    return float(tests.p[0, place]), 1.0 / (drawn + 1.0) if tests.source[0, place] == "bootstrap" and drawn else 0.001


def _rejections(fits: Fits) -> dict[str, tuple[int, int]]:
    """Of each distribution, how many of the groups with enough failures are tested by Anderson-Darling and rejected."""
    compared, out = comparable(fits.results), {}
    for name, fit in fits.results.items():
        p = fit.tests.p[compared, fit.tests.tests.index("ad")]
        out[name] = (int(np.isfinite(p).sum()), int((np.nan_to_num(p, nan=1.0) < _ALPHA).sum()))
    return out


def _counted(tested: int, rejected: int) -> str:
    return f"{rejected:,} of {tested:,} ({_ALPHA * tested:.0f} by chance)"


def _of_many(fits: Fits, sample: Fits) -> str:
    compared = comparable(fits.results)
    best = fits.best().dropna()
    if not compared.any() or not len(best):
        return (
            f"Distributions can be compared in none of {len(fits):,} groups: too few failures, or fewer than two fits."
        )
    first = best.value_counts()
    name = str(first.index[0])
    tests = _rejections(sample)
    tested, rejected = tests.pop(name)
    each = len(fits) <= _NAMED and len(first) > 1
    text = f"Of {len(fits):,} groups {int(compared.sum()):,} have enough failures to compare distributions: " + (
        _closest(best) if each else f"the {name} is the closest in {percent(first.iloc[0] / len(best))} of them"
    )
    if tested:
        text += f" (tested: {len(sample)} of the groups)" if len(sample) < len(fits) else ""
        said = f"Anderson-Darling rejects {f'the {name}' if each else 'it'} in {_counted(tested, rejected)}"
        chance = special.bdtrc(rejected - 1, tested, _ALPHA)
        failures = int(np.median(fits.lives.n_failures[compared]))
        if chance >= _FAR:
            few = f", but {count(failures, 'failure')} a group (median) tell little: all groups together tell more"
            return f"{text}; {said}{few if failures < _FEW and chance >= _ALPHA else ''}."
        text += f", but {said}{': few failures favour few parameters' if failures < _FEW else ''}"
        others = {other: (of, of_these) for other, (of, of_these) in tests.items() if of}
        if others:
            least = min(others, key=lambda other: others[other][1] / others[other][0])
            text += f". The {least} is rejected in {_counted(*others[least])}"
    else:
        whys = [why for source, why in _UNTESTED.items() if (_source(sample[name]) == source).any()]
        text += f"; {f'the {name}' if each else 'it'} is untested" + whys[0] if whys else ""
    return text + "."


def _closest(best: pd.Series) -> str:
    """The closest distribution of each of a few groups."""
    groups: dict[str, list[str]] = {}
    for label, family in best.items():
        name = "/".join(map(str, label)) if isinstance(label, tuple) else str(label)
        groups.setdefault(str(family), []).append(name)
    return ", ".join(f"the {family} is the closest in {' and '.join(names)}" for family, names in groups.items())
