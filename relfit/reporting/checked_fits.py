"""Distributions fitted to one group of times, compared by AICc and tested by Anderson-Darling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from relfit.base.text import p_value
from relfit.fitting import Fits, finding, fit
from relfit.log.lifedata import LifeData

_SIZE = 0.05
_NEAR = 2.0  # difference in AICc
_FEW_CENSORED = 0.01  # share of censored times that a test of fit may leave out
_FEW_TIMES = 1000  # up to which even such a share has a bootstrap
_TESTED = 5000  # most times in a test of censored data: some five seconds of bootstrap
_RESAMPLES = 199


def _as_fitted(fits: Fits) -> tuple[dict[str, float], float]:
    """P-values of all times that were fitted, and the smallest that all of these tests can show."""
    p, least = {}, 0.001
    for name in fits.families:
        tested = fits[name].goodness(("ad",), n_resamples="auto")
        if tested.source[0, 0] == "not computed":
            tested = fits[name].goodness(("ad",), n_resamples=_RESAMPLES)
        p[name] = float(tested.p[0, 0])
        if tested.source[0, 0] == "bootstrap":
            least = max(least, 1.0 / (int(tested.n_resamples[0]) + 1.0))
    return p, least


def _written(family: str) -> str:
    """The name of a distribution in a sentence."""
    return family.replace("weibull", "Weibull").replace("gompertz", "Gompertz").replace("_", " ")


@dataclass(frozen=True, eq=False)
class CheckedFits:
    """Fits of one group with Anderson-Darling p-values (NaN without a test), of which the test can show `least`.

    `drawn` says how many of the times were tested, where that is not all.
    """

    fits: Fits
    p: dict[str, float]
    least: float
    drawn: str = ""

    @classmethod
    def of(cls, lives: LifeData, families: tuple[str, ...], level: float) -> CheckedFits:
        """Fit and test as fitted, with the p-values that `relfit fit` shows, where times are few or censored.

        Of more than a thousand with at most 1 % censored, the others have p-values from tables. Of more than 5,000
        others, those in progress at an unknown age are not tested, and 5,000 are drawn at random, for a bootstrap as
        censored and left-truncated.
        """
        fits, number = fit(lives, families=families, level=level, n_resamples=0), int(lives.n_lives.sum())
        lives = lives.from_age_known()
        observed, resamples, least, drawn = lives.observed, 0, 0.001, ""
        if number > _FEW_TIMES and lives.plain and (~observed).mean() <= _FEW_CENSORED:
            use = observed
        elif number <= _TESTED:
            return cls(fits, *_as_fitted(fits))
        else:
            use, resamples, least = np.zeros(observed.size, dtype=bool), _RESAMPLES, 1.0 / (_RESAMPLES + 1.0)
            use[np.random.default_rng(0).permutation(observed.size)[:_TESTED]] = True
            drawn = f", {use.sum():,} of {number:,} times, of which all may show more"
        more = {name: values[use] for name, values in lives.further().items()}
        offsets = np.array([0, use.sum()])
        part = LifeData(lives.durations[use], observed[use], offsets, lives.groups, lives.measure, **more)
        tested = fit(part, families=families, level=level, n_resamples=resamples)
        p = {name: float(tested[name].goodness(("ad",), n_resamples=resamples).p[0, 0]) for name in fits.families}
        return cls(fits, p, least, drawn)

    @property
    def headline(self) -> str:
        """The distribution that is closest by AICc, and whether it is rejected; why not, where none can be compared."""
        scores = {name: float(self.fits[name].aicc[0]) for name in self.fits.families}
        order = sorted((name for name in scores if np.isfinite(scores[name])), key=lambda name: scores[name])
        if not order:
            return finding(self.fits)
        if all(self.p[name] < _SIZE for name in order):
            worst, closest = self._shown(max(self.p[name] for name in order)), _written(order[0])
            return f"No distribution fits (Anderson-Darling, largest {worst}); the {closest} is closest by AICc."
        near = [name for name in order if scores[name] - scores[order[0]] < _NEAR]
        *others, last = map(_written, near)
        text = f"The {', '.join(others)} and {last} fit equally well" if others else f"The {last} fits best"
        text += " by AICc"
        p = self.p[order[0]]
        if not np.isfinite(p):
            return f"{text}."
        verb, drawn = ("is rejected", "") if p < _SIZE else ("is not rejected", self.drawn)
        return f"{text}; the {_written(order[0])} {verb} (Anderson-Darling{drawn}, {self._shown(p)})."

    def to_frame(self) -> pd.DataFrame:
        """One row per distribution; times in hours."""
        rows = []
        for name, one in self.fits.results.items():
            numbers = (float(values[0]) for values in (one.mean, one.mean_low, one.mean_high, one.aicc))
            rows.append((name, str(one.status[0]), int(one.lives.n_failures[0]), *numbers, self.p[name]))
        return pd.DataFrame(rows, columns=["family", "status", "times", "mean", "low", "high", "aicc", "p"])

    def shown_p(self) -> list[str]:
        """The p-values as a table shows them."""
        return [self._shown(p).removeprefix("p = ").removeprefix("p ") for p in self.p.values()]

    def _shown(self, p: float) -> str:
        return "not tested" if np.isnan(p) else f"p < {self.least:.2g}" if p <= self.least else p_value(p, self.least)
