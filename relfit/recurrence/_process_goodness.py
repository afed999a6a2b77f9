"""Cramer-von Mises test of a power-law process, with p-values that hold.

Given the number of events, the logs of end over age are exponential, so the p-value is that of an exponential with
estimated mean and does not depend on the parameters (Crow 1974; MIL-HDBK-189 has the critical values).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.goodness import tabulated_p
from relfit.numeric.grouped import per_group
from relfit.recurrence.histories import FloatArray, IntArray
from relfit.recurrence.processes import ProcessFit
from relfit.results import Result, key_columns
from relfit.text import p_value

__all__ = ["GOODNESS_STATUS", "ProcessGoodness", "process_goodness"]

GOODNESS_STATUS = {
    "ok": "the test was made",
    "no_fit": "the process has no fit in this group",
    "too_few": "fewer than three events that are not the end of their observation",
    "late": "a history begins after age zero, where the distribution of the statistic is not known",
}


@dataclass(frozen=True, eq=False, repr=False)
class ProcessGoodness(Result):
    """Cramer-von Mises test of every group.

    Attributes
    ----------
    groups : pandas.Index, shape (groups,)
    statistic, p : ndarray of float, shape (groups,)
        NaN unless the status is ``ok``.
    crow : ndarray of float, shape (groups,)
        Crow's statistic with the unbiased shape, for his tables of critical values.
    events : ndarray of int, shape (groups,)
        Events that count, without the last of a failure-truncated history.
    status : ndarray of object, shape (groups,)
        See `GOODNESS_STATUS`.
    """

    groups: pd.Index
    statistic: FloatArray
    p: FloatArray
    crow: FloatArray
    events: IntArray
    status: npt.NDArray[np.object_]

    @property
    def headline(self) -> str:
        """What the tests say."""
        made = self.status == "ok"
        if not made.size:
            return "There is no group whose fit could be tested."
        if not made.any():
            return f"The fit of the power law cannot be tested ({GOODNESS_STATUS[str(self.status[0])]})."
        if made.sum() == 1:
            p = float(self.p[made][0])
            how = "does not describe" if p < 0.05 else "may describe"
            return f"A power-law process {how} the events (Cramer-von Mises {p_value(p)})."
        return (
            f"The power-law process is rejected at 5 % in {int((self.p[made] < 0.05).sum())} of {int(made.sum())} "
            f"groups; chance alone gives {0.05 * made.sum():.3g}."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per group."""
        names = ("events", "statistic", "crow", "p", "status")
        return key_columns(self.groups).assign(**{name: getattr(self, name) for name in names})


def process_goodness(fit: ProcessFit) -> ProcessGoodness:
    """Test the fit of a power-law process in every group.

    Parameters
    ----------
    fit : ProcessFit
        Of ``power_law``.

    Raises
    ------
    ArgumentError
        For another model.

    Examples
    --------
    >>> from relfit.recurrence import EventHistories, fit_process
    >>> fit = fit_process(EventHistories.from_groups([[1, 4, 12, 33, 40, 81]], end=100.0))
    >>> process_goodness(fit).status.tolist()
    ['ok']
    """
    if fit.model != "power_law":
        raise ArgumentError(f"there is no Cramer-von Mises test of {fit.model} here", remedy="use power_law")
    copies, size = fit.arranged, len(fit.groups)
    histories = copies.histories
    kept = np.ones(histories.times.size, dtype=np.bool_)
    cut = (histories.sizes > 0) & (histories.last_event() == histories.end)
    kept[histories.offsets[1:][cut] - 1] = False
    code = copies.event_codes[kept]
    count = np.bincount(code, minlength=size).astype(np.int64)
    with np.errstate(all="ignore"):
        log = np.log(histories.end[histories.codes()[kept]] / histories.times[kept])
        rate = count / per_group(log, code, size)
        statistic = _squared(np.exp(-rate[code] * log), code, size)
        crow = _squared(np.exp(-(rate * (count - 1.0) / count)[code] * log), code, size)
    status = np.where(fit.ok, "ok", "no_fit").astype(object)
    status[fit.ok & (per_group(histories.begin > 0.0, copies.codes, size) > 0)] = "late"
    status[fit.ok & (count < 3)] = "too_few"
    for values in (statistic, crow):
        values[status != "ok"] = np.nan
    p = tabulated_p("exponential", "cvm", statistic, count)
    return ProcessGoodness(fit.groups, statistic, p, crow, count, status)


def _squared(uniform: FloatArray, codes: IntArray, size: int) -> FloatArray:
    """Cramer-von Mises distance of the values of each group from the uniform distribution."""
    order = np.lexsort((uniform, codes))
    count = np.bincount(codes, minlength=size)
    first = np.concatenate([[0], np.cumsum(count)])[:-1]
    place = np.arange(uniform.size) - np.repeat(first, count)
    away = (uniform[order] - (place + 0.5) / np.repeat(count, count)) ** 2
    with np.errstate(divide="ignore"):
        return np.where(count > 0, per_group(away, codes[order], size) + 1.0 / (12.0 * count), np.nan)
