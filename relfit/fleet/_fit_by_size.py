"""`fit_by_size`: distributions fitted to the times to failure of k nodes together, in order or at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from relfit.base.arguments import random_stream, whole
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.ragged import offsets_of
from relfit.base.results import Result
from relfit.base.text import count
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.fitting import Fits, fit
from relfit.fitting.families import CORE
from relfit.fitting.goodness_of_fit import resamples_checked
from relfit.log.failurelog import FailureLog
from relfit.log.lifedata import LifeData
from relfit.log.outages import Outages, outages_of
from relfit.log.tables import check_log

_SIZES = (2, 4, 8, 16, 32, 64, 128, 256, 350)
_ORDERS = ("given", "random")
_P_VALUES = ("ks_p_textbook", "ks_p", "ad_p")


class SizeFits(Result):
    """Fits of the times to failure of k nodes, by k and order.

    Attributes
    ----------
    fits : Fits
        One group per order and k.
    zeros : ndarray of int, shape (groups,)
        Failures at the same instant as the one before, left out of the fits as times of zero.
    """

    fits: Fits
    zeros: IntArray

    _not_in_json = ("fits",)

    @property
    def headline(self) -> str:
        """The distribution that fits best at most sizes, and at how many sizes it is rejected."""
        table = self.to_frame()
        best = table["best"].dropna()
        if not len(best):
            return "There are too few failures to compare families at any number of nodes."
        name = str(best.value_counts().index[0])
        ours = table[table["family"] == name].drop_duplicates(["order", "nodes"])
        rejected = ours[ours["ad_p"] < 0.05]
        sizes = int((best == name).sum() / len(self.fits.families))
        text = f"The {name} is the closest family at {sizes} of {count(len(self.fits), 'size')}"
        if len(rejected):
            first = count(int(rejected["nodes"].min()), "node")
            text += f", and is rejected at {len(rejected)}, the smallest {first}"
        return text + "."

    def to_frame(self) -> pd.DataFrame:
        """One row per order, number of nodes and distribution.

        Columns: ``order``, ``nodes``, ``failures``, ``zeros``, ``family``, ``status``, ``mean`` (hours), ``ks``,
        ``ks_p_textbook`` (ignores that parameters were fitted: too large), ``ks_p`` (of ``ks``) and ``ad_p`` (which
        account for the fit), ``aicc`` and ``best`` (the distribution with the lowest AICc).
        """
        about, numbers = ["order", "nodes", "failures", "family", "status"], ["mean", "ks", *_P_VALUES, "aicc"]
        table = self.fits.to_frame()[[*about, *numbers]].copy()
        table.insert(3, "zeros", np.repeat(self.zeros, len(self.fits.families)))
        best = self.fits.best().to_numpy()
        return table.assign(best=np.repeat(best, len(self.fits.families)))

    def p_values(self, test: str = "ks_p_textbook") -> pd.DataFrame:
        """One row per order and number of nodes, one column per distribution.

        Parameters
        ----------
        test : {"ks_p_textbook", "ks_p", "ad_p"}
            As in `to_frame`.

        Raises
        ------
        ArgumentError
            For another test.
        """
        if test not in _P_VALUES:
            raise ArgumentError(f"no p-value {test!r}", remedy="use ks_p_textbook, ks_p or ad_p")
        values = self.to_frame()[test].to_numpy().reshape(len(self.fits), -1)
        return pd.DataFrame(values, self.fits.groups, list(self.fits.families))


def fit_by_size(
    log: FailureLog,
    sizes: Sequence[int] | None = None,
    orders: Sequence[str] = _ORDERS,
    families: Sequence[str] | str = CORE,
    *,
    censor: bool = True,
    n_resamples: int | str = "auto",
    rng: int | np.random.Generator | None = 0,
) -> SizeFits:
    """Fit distributions to the times to failure of k nodes together: the first failure of any node ends a job on them.

    The failure instants of the first k nodes are pooled, sorted and differenced. Simultaneous failures are counted
    (``zeros``) and left out. The time before the first failure has an unknown age unless all k nodes were new; the
    time after the last failure is right-censored.

    Parameters
    ----------
    log : FailureLog
        Of one system.
    sizes : sequence of int, optional
        Numbers of nodes; by default 2, 4, ... 256 and 350, as far as the system has them.
    orders : sequence of {"given", "random"}
        Nodes in the order of the log, or in one random order.
    families : str or sequence of str
        Distributions, as for `relfit.fit`.
    censor : bool
        ``False`` leaves out the times before the first and after the last failure, as the reference does.
    n_resamples : int or "auto"
        As for `relfit.fit`.
    rng : int or numpy.random.Generator
        For the random order and the bootstrap.

    Raises
    ------
    ArgumentError
        For a log of several systems or without dates, a size above the number of nodes, or an unknown order.

    References
    ----------
    Reliability-aware allocation, section 3.4, Table 3.3 and Figure 4.1.

    Examples
    --------
    >>> import relfit as rf
    >>> fits = fit_by_size(rf.datasets.load("white").between("2003-04-01", "2004-10-01"), [2, 64])
    >>> fits.to_frame()[["order", "nodes", "failures"]].drop_duplicates().values.tolist()
    [['given', 2, 10], ['given', 64, 363], ['random', 2, 10], ['random', 64, 316]]
    """
    check_log(log)
    if log.lifetimes is not None and not len(log.events):
        raise ArgumentError("this log holds lifetimes without dates, and no instants of failure to pool")
    if len(log.systems) != 1:
        raise ArgumentError(f"the log has {len(log.systems)} systems", remedy="select one system")
    outages = outages_of(log)
    total = outages.n_groups
    resamples_checked(n_resamples)
    wanted = [size for size in _SIZES if size <= total] if sizes is None else whole("sizes", list(sizes)).tolist()
    if not wanted or max(wanted) > total:
        raise ArgumentError(f"sizes {wanted} of {total} nodes", remedy=f"give 1 to {total}")
    unknown = [order for order in orders if order not in _ORDERS]
    if unknown or not len(orders):
        raise ArgumentError(f"no order {unknown[0]!r}" if unknown else "no order", remedy="use given or random")
    generator = random_stream(rng)
    rank = {"given": np.arange(total), "random": generator.permutation(total)}
    labels = pd.MultiIndex.from_tuples([(order, size) for order in orders for size in wanted], names=["order", "nodes"])
    parts = [_pooled(outages, rank[order] < size, censor) for order, size in labels]
    offsets, zeros = offsets_of([part[0].size for part in parts]), [part[3] for part in parts]
    hours, observed, stationary = (np.concatenate([part[i] for part in parts]) for i in range(3))
    lives = LifeData(hours, observed, offsets, labels, "ttf", stationary=stationary)
    fits = fit(lives, families, n_resamples=n_resamples, rng=generator)
    return SizeFits(fits, np.array(zeros, dtype=np.int64))


def _pooled(outages: Outages, chosen: BoolArray, censor: bool) -> tuple[FloatArray, BoolArray, BoolArray, int]:
    """Hours between the pooled failures of some nodes, which were seen to end, which began unseen; times of zero."""
    mine = chosen[outages.code] & outages.failures
    instants = np.sort(outages.start[mine])
    gaps = np.diff(instants)
    entered, left = int(outages.entered[chosen].min()), int(outages.left[chosen].max())
    from_new = bool(outages.entered_known[chosen].all())
    length = gaps[gaps > 0]
    observed, under_way = np.ones(length.size, np.bool_), np.zeros(length.size, np.bool_)
    if censor and instants.size:
        ends = np.array([instants[0] - entered, left - instants[-1]])
        length = np.concatenate([ends[:1], length, ends[1:]])
        observed = np.concatenate([[True], observed, [False]])
        under_way = np.concatenate([[not from_new], under_way, [False]])
        positive = length > 0
        length, observed, under_way = length[positive], observed[positive], under_way[positive]
    return length / NANOSECONDS_PER_HOUR, observed, under_way, int((gaps == 0).sum())
