"""Equal times counted once, and very many times in narrow classes, for likelihoods that evaluate each time."""

from __future__ import annotations

import numpy as np
import pandas as pd

from relfit.base.numeric.ordering import changes, order_in_groups
from relfit.log.lifedata import LifeData

_ROWS = 20_000  # different times; more are taken in classes
_WIDTH = 0.01  # of a class, in logs


def condensed(lives: LifeData) -> LifeData:
    """Observed or right-censored times above zero, equal ones of a group counted once, with a weight.
    Beyond 20,000, by classes a hundredth wide at their geometric means: the variance of logs falls by less than 1e-5.
    """
    positive = lives.durations > 0.0
    code, time, observed = lives.group_codes()[positive], lives.durations[positive], lives.observed[positive]
    order = order_in_groups(code, time, observed)
    code, time, observed = code[order], time[order], observed[order]
    first = np.flatnonzero(changes(code, time, observed))
    weight = np.diff(first, append=code.size)
    code, time, observed = code[first], time[first], observed[first]
    if first.size > _ROWS:
        near = np.round(np.log(time) / _WIDTH)
        order = np.lexsort((observed, near, code))
        log, weight = np.log(time[order]), weight[order]
        first = np.flatnonzero(changes(code[order], near[order], observed[order]))
        total = np.add.reduceat(weight, first)
        time = np.exp(np.add.reduceat(weight * log, first) / total)
        code, observed, weight = code[order][first], observed[order][first], total
    offsets = np.searchsorted(code, np.arange(lives.n_groups + 1)).astype(np.int64)
    return LifeData(time, observed, offsets, pd.RangeIndex(lives.n_groups), weights=weight.astype(np.int64))
