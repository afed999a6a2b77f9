"""Whether a time to failure depends on those before it: Durbin-Watson, Ljung-Box and runs tests of every node at once.

As in Reliability-aware allocation, section 3.6, Figure 3.4. The p-value by shuffling is Besag and Clifford's (1991):
shuffles are drawn until 50 of them reach the observed statistic, or the most allowed; it is exact for exchangeable
values, whatever their distribution.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.analyses.independence.serial_p_values import durbin_watson_p, runs_above_median
from relfit.analyses.independence.series import complete_series
from relfit.analyses.independence.thresholds import ALPHA, LEAST_REJECTED, LEAST_SHARE, verdict
from relfit.base.arguments import one_whole, random_stream
from relfit.base.arrays import FloatArray, IntArray, Seed
from relfit.base.errors import ArgumentError
from relfit.base.numeric.batches import over_groups
from relfit.base.numeric.compiled import njit
from relfit.base.numeric.false_discovery import adjusted_p
from relfit.base.results import Result, json_ready, key_columns
from relfit.base.text import count, p_value, percent
from relfit.log.lifedata import LifeData

_LONG = 200  # values beyond which no shuffling is needed
_ENOUGH = 50
_SLACK = 1e-10
_TESTS = ("durbin_watson", "ljung_box", "runs")


class SerialTests(Result):
    """Tests along time of every series; NaN where `status` is not ``ok``.

    Attributes
    ----------
    groups : pandas.Index
    sizes : ndarray of int, shape (groups,)
        Values in each series.
    status : ndarray of object, shape (groups,)
        ``ok``, ``too_few`` (under three values), ``constant``.
    autocorrelation : ndarray of float, shape (groups, lags)
        At lags 1, 2, ...; NaN past the length of a series.
    durbin_watson, durbin_watson_p : ndarray of float, shape (groups,)
        2 without autocorrelation, below 2 where neighbours are alike; two-sided.
    lags : ndarray of int, shape (groups,)
        Autocorrelations in the Ljung-Box statistic: a fifth of the values, between 1 and 10.
    ljung_box, ljung_box_p, ljung_box_p_chi_square : ndarray of float, shape (groups,)
        The p-value by shuffling, and by the chi-square distribution.
    runs, runs_z, runs_p : ndarray of float, shape (groups,)
        Runs above and below the median, standardised, and the two-sided p-value.
    n_resamples : int
        Most shuffles of a series; none is drawn beyond 200 values.
    at_once : float
        Nodes that fail in the incident that a failure is part of, on average: this many tests count as one.
    alpha : float
        Size of the test behind `depends`; `dependence` divides its own among its tests.
    """

    groups: pd.Index
    sizes: IntArray
    status: npt.NDArray[np.object_]
    autocorrelation: FloatArray
    durbin_watson: FloatArray
    durbin_watson_p: FloatArray
    lags: IntArray
    ljung_box: FloatArray
    ljung_box_p: FloatArray
    ljung_box_p_chi_square: FloatArray
    runs: FloatArray
    runs_z: FloatArray
    runs_p: FloatArray
    n_resamples: int
    at_once: float = 1.0
    alpha: float = ALPHA

    def rejected(self, alpha: float = ALPHA) -> pd.DataFrame:
        """How many series each test rejects: ``tested``, ``rejected``, ``expected`` and ``rejected_adjusted`` by test.

        ``tested`` are the series long enough for any order of their values to be rejected (five values at 5 %);
        ``expected`` is alpha times tested; the last keeps the false-discovery rate below `alpha` (Benjamini and
        Hochberg). An `ArgumentError` for an `alpha` outside 0..1.
        """
        if not 0.0 < alpha < 1.0:
            raise ArgumentError(f"alpha {alpha} must lie between 0 and 1")
        rows = {}
        able = special.gammaln(self.sizes + 1.0) >= np.log(2.0 / alpha)
        for test in _TESTS:
            p = np.where(able, getattr(self, f"{test}_p"), np.nan)
            tested = int(np.isfinite(p).sum())
            rows[test] = {
                "tested": tested,
                "rejected": int((p <= alpha).sum()),
                "expected": alpha * tested,
                "rejected_adjusted": int((adjusted_p(p) <= alpha).sum()),
            }
        return pd.DataFrame.from_dict(rows, orient="index")

    @property
    def _counts(self) -> tuple[int, int, int]:
        """Nodes that Durbin-Watson tests, rejects at 5 %, and rejects after adjustment for multiple tests."""
        row = self.rejected().to_dict("index")["durbin_watson"]
        return int(row["tested"]), int(row["rejected"]), int(row["rejected_adjusted"])

    @property
    def _chance(self) -> float:
        """Probability of at least this many rejections; tests of nodes that fail together count as fewer."""
        tested, rejected, _ = self._counts
        few = rejected / self.at_once
        return 1.0 if few <= 0.0 else float(special.betainc(few, tested / self.at_once - few + 1.0, ALPHA))

    @property
    def p_overall(self) -> float:
        """P-value of all nodes: twice the smaller of the least adjusted p-value and that of so many rejections."""
        if not self._counts[0]:
            return np.nan
        able = special.gammaln(self.sizes + 1.0) >= np.log(2.0 / ALPHA)
        least = float(np.nanmin(adjusted_p(np.where(able, self.durbin_watson_p, np.nan))))
        return min(1.0, 2.0 * min(least, self._chance))

    @property
    def depends(self) -> bool | None:
        """Whether times to failure depend on those before; None with too few failures.

        Durbin-Watson then rejects more than 1 % of the nodes after adjustment, or 7.5 % at 5 %, and `p_overall` is at
        most `alpha`. See `relfit.analyses.independence.thresholds` for these shares.
        """
        tested, rejected, adjusted = self._counts
        if not tested:
            return None
        many = adjusted > LEAST_SHARE * tested or rejected >= LEAST_REJECTED * tested
        return verdict(many and self.p_overall <= self.alpha, int(self.sizes.sum()))

    @property
    def alike(self) -> bool:
        """Whether neighbours among the times of nodes that are rejected are alike: a fit's intervals are too narrow.

        Where a long time follows a short one they are too wide.
        """
        hit = np.nan_to_num(self.durbin_watson_p, nan=1.0) <= ALPHA
        return bool(np.sum(np.sign(2.0 - self.durbin_watson[hit])) >= 0.0)

    @property
    def headline(self) -> str:
        """Whether times to failure may be fitted as independent."""
        tested, rejected, adjusted = self._counts
        if not tested:
            least = "five times to failure" if (self.status == "ok").any() else "three times to failure that vary"
            return f"No node has {least}: nothing can be said about dependence along time."
        after = f"{adjusted or 'none'} of them after adjustment for multiple tests"
        text = (
            f"Durbin-Watson finds autocorrelation at {percent(ALPHA)} in {rejected:,} of {count(tested, 'node')} "
            f"({percent(rejected / tested)}; chance gives {percent(ALPHA)})" + (f", {after}" if rejected else "")
        )
        if self.depends is None:
            return text + ": too few times to failure to tell more."
        if not self.depends:
            return text + ": fits may take the times to failure of a node as independent."
        kind, errors = ("positively", "small") if self.alike else ("negatively", "large")
        if adjusted > LEAST_SHARE * tested:
            return text + f": times to failure are {kind} autocorrelated, and standard errors of fits are too {errors}."
        return text + (
            f". No one node stands out, but so many together are more than chance ({p_value(self._chance)}): "
            f"times to failure are somewhat {kind} autocorrelated, and standard errors of fits somewhat too {errors}."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per node."""
        numbers = {"n": self.sizes, "status": self.status, "autocorrelation": self.autocorrelation[:, 0]}
        names = ("durbin_watson", "durbin_watson_p", "lags", "ljung_box", "ljung_box_p", "ljung_box_p_chi_square")
        numbers |= {name: getattr(self, name) for name in (*names, "runs", "runs_z", "runs_p")}
        return pd.concat([key_columns(self.groups).reset_index(drop=True), pd.DataFrame(numbers)], axis=1)

    def to_dict(self) -> dict[str, Any]:
        """Totals, ready for JSON."""
        numbers = {
            "findings": self.findings,
            "nodes": len(self.groups),
            "status": pd.Series(self.status).value_counts().to_dict(),
            "tests": self.rejected().rename_axis("test"),
            "n_resamples": self.n_resamples,
        }
        return dict(json_ready(numbers))


def serial_tests(series: LifeData, *, n_resamples: int = 9999, screen: float = 1.0, rng: Seed = 0) -> SerialTests:
    """Durbin-Watson, Ljung-Box and runs tests of the times to failure (TTFs) of every node.

    Parameters
    ----------
    series : LifeData
        Times to failure in the order of time, such as ``log.ttf(zeros="keep")``; censored ones are left out.
    n_resamples : int
        Most shuffles of a series behind its p-values. Beyond 200 values, or with 0 for all, Durbin-Watson's p-value is
        by the beta distribution with the exact variance over all orders, Ljung-Box's by the chi-square distribution.
    screen : float
        Shuffle only series with a p-value of at most this by the distributions, which are less exact the smaller the
        p-value; for large fleets, 0.02 saves most of the time.
    rng : int or numpy.random.Generator
        For the shuffles. The same seed gives the same numbers whatever the number of threads.

    Returns
    -------
    SerialTests
        The runs test takes values of the median or more as above it, and has an exact mid-p-value up to 200 values,
        the normal distribution beyond. Runs are whole numbers: at 5 % it rejects between 2 and 9 % of short
        independent series.

    Raises
    ------
    ArgumentError
        For a negative number of shuffles or a screen outside 0..1.
    DataError
        For times in intervals, truncated or weighted.

    Examples
    --------
    >>> x = np.random.default_rng(1).exponential(100.0, (3, 40))
    >>> x[1] = np.sort(x[1])
    >>> x[2] = 5.0
    >>> result = serial_tests(LifeData.from_array(x))
    >>> result.durbin_watson.round(2).tolist(), result.status.tolist()
    ([2.38, 0.26, nan], ['ok', 'ok', 'constant'])
    >>> result.rejected()["rejected"].tolist()
    [1, 1, 1]
    """
    n_resamples = one_whole("n_resamples", n_resamples, 0)
    if not 0.0 <= screen <= 1.0:
        raise ArgumentError(f"screen {screen} must lie between 0 and 1")
    complete = complete_series(series)
    sizes, code = complete.sizes.astype(np.int64), complete.group_codes()
    deviation, varies = _deviations(complete)
    status = np.where(sizes < 3, "too_few", np.where(varies, "ok", "constant")).astype(object)
    good = status == "ok"
    lags = np.clip(sizes // 5, 1, 10)
    correlation = np.full((sizes.size, int(lags.max(initial=1))), np.nan)
    for lag in range(1, correlation.shape[1] + 1):
        product = np.where(code[lag:] == code[:-lag], deviation[lag:] * deviation[:-lag], 0.0)
        there = good & (sizes > lag)
        correlation[there, lag - 1] = np.bincount(code[lag:], product, sizes.size)[there]
    first, last = complete.offsets[:-1][good], complete.offsets[1:][good] - 1
    statistic, box = np.full(sizes.size, np.nan), np.full(sizes.size, np.nan)
    statistic[good] = 2.0 - 2.0 * correlation[good, 0] - deviation[first] ** 2 - deviation[last] ** 2
    every = np.arange(1, correlation.shape[1] + 1)
    used = np.where(every <= lags[:, None], correlation**2 / np.maximum(sizes[:, None] - every, 1), 0.0)
    box[good] = (sizes * (sizes + 2.0) * used.sum(axis=1))[good]
    chi_square = special.chdtrc(lags.astype(np.float64), box)
    fourth = np.bincount(code, deviation**4, sizes.size)
    p = np.stack([np.full(sizes.size, np.nan), chi_square], axis=1)
    p[good, 0] = durbin_watson_p(statistic[good], sizes[good], fourth[good])
    if n_resamples:
        seeds = random_stream(rng).integers(1, 2**62, sizes.size)
        shuffled = good & (sizes <= _LONG) & ((p <= screen).any(axis=1) | (screen == 1.0))
        over_groups(
            complete.offsets,
            lambda a, b: _shuffle(deviation, complete.offsets, lags, seeds, n_resamples, shuffled, p, a, b),
        )
    of_lags = correlation, statistic, p[:, 0], lags, box, p[:, 1], chi_square
    runs = runs_above_median(complete, good)
    return SerialTests(complete.groups, sizes, status, *of_lags, *runs, n_resamples)


def _deviations(series: LifeData) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Deviations from the mean of each series over the root of the sum of their squares; which series vary."""
    code, sizes = series.group_codes(), np.maximum(series.sizes, 1)
    by_group = pd.Series(series.durations).groupby(code)
    top = by_group.transform("max").to_numpy()
    scaled = series.durations / np.maximum(top, 1e-300)  # large values must not overflow
    deviation = scaled - (np.bincount(code, scaled, sizes.size) / sizes)[code]
    varies = np.zeros(sizes.size, dtype=np.bool_)
    varies[code[series.durations < top]] = True
    norm = np.sqrt(np.bincount(code, deviation**2, sizes.size))
    return deviation / np.where(varies, norm, 1.0)[code], varies


@njit(cache=True, nogil=True)
def _statistics(e: np.ndarray, lags: int) -> tuple[float, float]:
    """How far Durbin-Watson's statistic is from 2, and Ljung-Box's, but for what all orders of a series share."""
    distance, box = 0.0, 0.0
    for lag in range(1, lags + 1):
        product = 0.0
        for i in range(e.size - lag):
            product += e[i] * e[i + lag]
        if lag == 1:
            distance = abs(product + 0.5 * (e[0] * e[0] + e[e.size - 1] * e[e.size - 1]))
        box += product * product / (e.size - lag)
    return distance, box


@njit(cache=True, nogil=True)
def _shuffle(
    deviation: np.ndarray,
    offsets: np.ndarray,
    lags: np.ndarray,
    seeds: np.ndarray,
    most: int,
    shuffled: np.ndarray,
    p: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Columns of `p`: Durbin-Watson (two-sided) and Ljung-Box, by shuffling these groups, each with its own seed."""
    for group in range(first, last):
        if not shuffled[group]:
            continue
        e = deviation[offsets[group] : offsets[group + 1]].copy()
        state = np.uint64(seeds[group]) | np.uint64(1)
        distance, box = _statistics(e, lags[group])
        least = distance - _SLACK, box * (1.0 - _SLACK)
        reached, drawn = np.zeros(2, np.int64), np.zeros(2, np.int64)
        for draw in range(1, most + 1):
            for i in range(e.size - 1, 0, -1):
                state ^= state >> np.uint64(12)
                state ^= state << np.uint64(25)
                state ^= state >> np.uint64(27)
                bits = (state * np.uint64(2685821657736338717)) >> np.uint64(11)
                j = int(float(bits) / 9007199254740992.0 * (i + 1))
                e[i], e[j] = e[j], e[i]
            now = _statistics(e, lags[group])
            for k in range(2):
                if reached[k] < _ENOUGH:
                    reached[k] += now[k] >= least[k]
                    drawn[k] = draw
            if reached.min() == _ENOUGH:
                break
        for k in range(2):
            p[group, k] = _ENOUGH / drawn[k] if reached[k] == _ENOUGH else (reached[k] + 1.0) / (most + 1.0)
