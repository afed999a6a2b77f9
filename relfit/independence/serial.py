"""Does a time to failure depend on those before it: Durbin-Watson, Ljung-Box and runs tests of every node at once.

Reliability-aware allocation, section 3.6, Figure 3.4; Figure 3.5 is in `relfit.independence.pooled`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special, stats

from relfit.errors import ArgumentError
from relfit.independence.durbin_watson import durbin_watson_p, permutation_variance
from relfit.independence.runs import runs_above_median
from relfit.independence.serial_kernels import autocorrelation_kernel, shuffling_kernel
from relfit.independence.series import CONSTANT, MEANING, OK, TOO_FEW, complete_series, words
from relfit.independence.verdicts import ALPHA, LEAST_REJECTED, LEAST_SHARE
from relfit.lifedata import LifeData, key_columns
from relfit.numeric.batches import over_groups
from relfit.numeric.false_discovery import adjusted_p
from relfit.text import p_value, percent

__all__ = ["SerialTests", "serial_tests"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

LONG = 200  # values beyond which no shuffling is needed
_TESTS = {"durbin_watson": "durbin_watson_p", "ljung_box": "ljung_box_p", "runs": "runs_p"}
_ENOUGH = 50


@dataclass(frozen=True, eq=False)
class SerialTests:
    """Tests along time of every series; NaN where `status` is not ``ok``.

    Attributes
    ----------
    groups : pandas.Index
    sizes : ndarray of int, shape (groups,)
        Values in each series.
    status : ndarray of int8, shape (groups,)
        ``words`` of it: ``ok``, ``too_few`` (under three values), ``constant``.
    autocorrelation : ndarray of float, shape (groups, lags)
        At lags 1, 2, ...; NaN past the length of a series.
    durbin_watson : ndarray of float, shape (groups,)
        2 without autocorrelation, below 2 where neighbours are alike.
    durbin_watson_p, durbin_watson_p_normal : ndarray of float, shape (groups,)
        Two-sided: by shuffling, and for normal values (see `durbin_watson_p`).
    ljung_box, ljung_box_p, ljung_box_p_chi_square : ndarray of float, shape (groups,)
        The statistic over the first `lags` autocorrelations; by shuffling, and by the chi-square law.
    lags : ndarray of int, shape (groups,)
        Lags in the Ljung-Box statistic.
    runs, runs_z, runs_p : ndarray of float, shape (groups,)
        Runs above and below the median, standardised, and the two-sided p-value.
    shuffles : int
        Most shuffles of a series; none is drawn beyond 200 values.
    """

    groups: pd.Index
    sizes: IntArray
    status: npt.NDArray[np.int8]
    autocorrelation: FloatArray
    durbin_watson: FloatArray
    durbin_watson_p: FloatArray
    durbin_watson_p_normal: FloatArray
    ljung_box: FloatArray
    ljung_box_p: FloatArray
    ljung_box_p_chi_square: FloatArray
    lags: IntArray
    runs: FloatArray
    runs_z: FloatArray
    runs_p: FloatArray
    shuffles: int

    @property
    def n_tested(self) -> int:
        """Series that could be tested."""
        return int((self.status == OK).sum())

    def rejected(self, alpha: float = 0.05, method: str = "bh") -> pd.DataFrame:
        """How many series each test rejects: ``tested``, ``rejected``, ``expected`` and ``rejected_adjusted`` by test.

        ``tested`` are the series long enough for any order of their values to be rejected (five values at 5 %);
        ``expected`` is alpha times tested; the last keeps the false-discovery rate below `alpha` (see `adjusted_p`).
        """
        if not 0.0 < alpha < 1.0:
            raise ArgumentError(f"alpha {alpha} must lie between 0 and 1")
        rows = {}
        able = special.gammaln(self.sizes + 1.0) >= np.log(2.0 / alpha)
        for test, name in _TESTS.items():
            p = np.where(able, getattr(self, name), np.nan)
            rows[test] = {
                "tested": int(np.isfinite(p).sum()),
                "rejected": int((p <= alpha).sum()),
                "expected": alpha * np.isfinite(p).sum(),
                "rejected_adjusted": int((adjusted_p(p, method) <= alpha).sum()),
            }
        return pd.DataFrame.from_dict(rows, orient="index")

    @property
    def depends(self) -> bool | None:
        """Whether Durbin-Watson finds 1 % of the nodes after adjustment, or 7.5 % at 5 % and that is not chance.

        None where no node is long enough. See `relfit.independence.verdicts` for why these shares.
        """
        tested, rejected, sure = self._durbin_watson
        if not tested:
            return None
        many = rejected >= LEAST_REJECTED * tested and _chance(rejected, tested) < 0.01
        return sure > LEAST_SHARE * tested or many

    @property
    def _durbin_watson(self) -> tuple[int, int, int]:
        """Nodes tested, rejected at 5 %, and rejected after adjustment for their number."""
        table = self.rejected()
        tested, rejected, sure = (table[name].to_dict() for name in ("tested", "rejected", "rejected_adjusted"))
        return int(tested["durbin_watson"]), int(rejected["durbin_watson"]), int(sure["durbin_watson"])

    @property
    def sentence(self) -> str:
        """What the tests say about fitting the gaps as independent lives."""
        if not self.n_tested:
            return "No node has three times to failure that vary: nothing can be said about dependence along time."
        tested, rejected, sure = self._durbin_watson
        if not tested:
            return "No node has five times to failure: nothing can be said about dependence along time."
        text = (
            f"Durbin-Watson finds autocorrelation at 5 % in {rejected} of {tested} nodes ({percent(rejected / tested)}"
            f"; chance gives 5 %), {sure or 'none'} of them after adjustment for their number"
        )
        if not self.depends:
            return text + ": fits may take the times to failure of a node as independent."
        if sure > LEAST_SHARE * tested:
            return text + ": times to failure of a node are not independent, and standard errors of fits are too small."
        return text + (
            f". No one node stands out, but so many together are more than chance ({p_value(_chance(rejected, tested))}"
            "): times to failure depend on those before to some degree, and standard errors of fits are somewhat too "
            "small."
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw Durbin-Watson of every node; see `relfit.plotting.durbin_watson`."""
        from relfit import plotting

        return plotting.durbin_watson(self, ax)

    def to_frame(self) -> pd.DataFrame:
        """A row a node."""
        frame = key_columns(self.groups)
        frame["n"] = self.sizes
        frame["status"] = words(self.status)
        frame["autocorrelation"] = self.autocorrelation[:, 0]
        for name in ("durbin_watson", "durbin_watson_p", "durbin_watson_p_normal", "lags", "ljung_box", "ljung_box_p"):
            frame[name] = getattr(self, name)
        for name in ("ljung_box_p_chi_square", "runs", "runs_z", "runs_p"):
            frame[name] = getattr(self, name)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Totals, ready for JSON."""
        return {
            "nodes": len(self.groups),
            "status": {str(k): int(v) for k, v in pd.Series(words(self.status)).value_counts().items()},
            "meaning": MEANING,
            "tests": {str(k): v for k, v in self.rejected().to_dict("index").items()},
            "shuffles": self.shuffles,
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return f"SerialTests: {self.n_tested} of {len(self.groups)} series tested. {self.sentence}"

    def _repr_html_(self) -> str:
        return f"<p>{self.sentence}</p>{self.rejected().to_html()}"


def _chance(rejected: int, tested: int) -> float:
    """Probability of so many rejections among so many independent tests."""
    return float(stats.binom.sf(rejected - 1, tested, ALPHA))


def serial_tests(
    series: LifeData,
    lags: int | None = None,
    *,
    shuffles: int = 9999,
    screen: float = 1.0,
    rng: int | np.random.Generator | None = None,
    workers: int | None = None,
) -> SerialTests:
    """Durbin-Watson, Ljung-Box and runs tests of the TTFs of every node.

    Parameters
    ----------
    series : LifeData
        Times to failure in the order of time, such as `gaps_of` gives; censored lives are left out.
    lags : int, optional
        Lags of the Ljung-Box statistic, at most one less than a series has values; a fifth of the values, between 1
        and 10, when left out.
    shuffles : int
        Most shuffles of a series behind its p-values; drawing stops when 50 have reached the observed statistic (Besag
        and Clifford 1991). They are exact whatever the distribution of the TTFs. Beyond 200 values Durbin-Watson's
        p-value is the beta law with the exact variance over all orders, Ljung-Box's the chi-square law. 0: so for all.
    screen : float
        Shuffle only series with a p-value of at most this by the laws, which are less exact the smaller the p-value;
        for large fleets, 0.02 saves most of the time.
    rng : int or numpy.random.Generator, optional
        For the shuffles.
    workers : int, optional
        Threads.

    Returns
    -------
    SerialTests
        The runs test takes values of the median or more as above it, and has an exact mid-p-value up to 200 values, the
        normal law beyond. Runs are whole numbers: at 5 % it rejects between 2 and 9 % of short independent series.

    Raises
    ------
    ArgumentError
        For lags below 1, shuffles below 0 or a screen outside 0..1.
    DataError
        For lives in intervals, truncated or weighted.

    Examples
    --------
    >>> x = np.random.default_rng(1).exponential(100.0, (3, 40))
    >>> x[1] = np.sort(x[1])
    >>> x[2] = 5.0
    >>> found = serial_tests(LifeData.from_array(x), rng=0)
    >>> found.durbin_watson.round(2).tolist(), words(found.status).tolist()
    ([2.38, 0.26, nan], ['ok', 'ok', 'constant'])
    >>> found.rejected()["rejected"].tolist()
    [1, 1, 1]
    """
    if lags is not None and lags < 1:
        raise ArgumentError(f"lags={lags} must be at least 1")
    if shuffles < 0:
        raise ArgumentError(f"shuffles={shuffles} must be zero or more")
    if not 0.0 <= screen <= 1.0:
        raise ArgumentError(f"screen {screen} must lie between 0 and 1")
    lives = complete_series(series)
    sizes = lives.sizes.astype(np.int64)
    used = np.clip(sizes // 5, 1, 10) if lags is None else np.clip(sizes - 1, 1, lags)
    width = max(int(used.max(initial=1)), 1)
    correlation, ends = np.empty((sizes.size, width)), np.empty(sizes.size)
    over_groups(
        lives.offsets,
        lambda a, b: autocorrelation_kernel(lives.durations, lives.offsets, correlation, ends, a, b),
        workers,
    )
    status = np.full(sizes.size, OK, dtype=np.int8)
    status[np.isnan(ends)] = CONSTANT
    status[sizes < 3] = TOO_FEW
    good = status == OK
    correlation[~good] = np.nan
    statistic = np.where(good, 2.0 - 2.0 * correlation[:, 0] - ends, np.nan)
    lag = np.arange(1, width + 1)
    within = good[:, None] & (lag <= used[:, None])
    left = np.maximum(sizes[:, None] - lag, 1)
    box = sizes * (sizes + 2.0) * np.where(within, correlation**2 / left, 0.0).sum(axis=1)
    box[~good] = np.nan
    by_law = special.chdtrc(used.astype(np.float64), box)
    p = np.full((sizes.size, 2), np.nan)
    long = good & (sizes > 3)
    p[long, 0] = durbin_watson_p(statistic[long], sizes[long], permutation_variance(sizes[long], _fourth(lives)[long]))
    p[good & ~long, 0] = durbin_watson_p(statistic[good & ~long], sizes[good & ~long])
    p[:, 1] = by_law
    if shuffles:
        seeds = np.random.default_rng(rng).integers(1, 2**62, sizes.size)
        chosen = good & (sizes <= LONG) & ((p <= screen).any(axis=1) | (screen == 1.0))
        over_groups(
            lives.offsets,
            lambda a, b: shuffling_kernel(
                lives.durations, lives.offsets, used, seeds, _ENOUGH, shuffles, chosen, p, a, b
            ),
            workers,
        )
    runs, z, runs_p = runs_above_median(lives, good)
    normal = durbin_watson_p(statistic, np.maximum(sizes, 3))
    return SerialTests(
        lives.groups, sizes, status, correlation, statistic, p[:, 0], normal, box, p[:, 1], by_law, used, runs, z,
        runs_p, shuffles,
    )  # fmt: skip


def _fourth(lives: LifeData) -> FloatArray:
    """Sum of the fourth powers of the deviations over the square of the sum of squares, NaN where nothing varies."""
    sizes = np.maximum(lives.sizes, 1)
    code = lives.group_codes()
    largest = np.zeros(sizes.size)
    np.maximum.at(largest, code, lives.durations)
    scaled = lives.durations / np.maximum(largest, 1e-300)[code]
    mean = np.bincount(code, weights=scaled, minlength=sizes.size) / sizes
    square = (scaled - mean[code]) ** 2
    second = np.bincount(code, weights=square, minlength=sizes.size)
    fourth = np.bincount(code, weights=square * square, minlength=sizes.size)
    return np.asarray(fourth / np.where(second > 0.0, second, np.nan) ** 2, dtype=np.float64)
