"""Rows of a forecast: the quantities of a future, and the causes that a table leaves out, together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from relfit.fleet.system_ahead import Coming, Future

QUANTITIES = ("incidents", "failures", "repair_hours")


def summed(futures: Sequence[Future]) -> Future:
    """Several futures together: their expected values and their simulated futures are added."""
    if len(futures) == 1:
        return futures[0]
    first, second, third = (
        Coming(sum(each.expected for each in kind), np.sum([each.drawn for each in kind], axis=0))
        for kind in zip(*futures, strict=True)
    )
    return first, second, third


def quantities(future: Future, tail: tuple[float, float]) -> dict[str, float]:
    """Incidents, failures and hours of repair, each expected and with its two ends."""
    row: dict[str, float] = {}
    records = [future[1].quantile(p) for p in tail]
    for quantity, coming in zip(QUANTITIES, future, strict=True):
        ends = records if coming is future[1] else [coming.quantile(p) for p in tail]
        if quantity == "incidents":
            ends = [min(pair) for pair in zip(ends, records, strict=True)]
        row |= {quantity: coming.expected, f"{quantity}_low": ends[0], f"{quantity}_high": ends[1]}
    return row


def other_causes(futures: Mapping[float, Mapping[str, Sequence[Future]]], tail: tuple[float, float]) -> pd.DataFrame:
    """By horizon, all causes together but the most frequent ones, whose number is ``beside``.

    Parameters
    ----------
    futures : mapping of float to mapping of str to sequence of Future
        By horizon and cause the futures of each system.
    tail : tuple of float
        Probabilities of the ends of the intervals.

    Returns
    -------
    pandas.DataFrame
        ``horizon``, ``beside`` and the columns of `quantities`; no row where a single cause is left, which has its own.
    """
    last = futures[max(futures)]
    ranked = sorted(sorted(last), key=lambda name: -sum(future[1].expected for future in last[name]))
    rows = []
    for hours, of_causes in futures.items():
        rest = summed(of_causes[ranked[-1]])
        for beside in range(len(ranked) - 2, 0, -1):
            rest = summed([rest, *of_causes[ranked[beside]]])
            rows.append({"horizon": hours, "beside": beside, **quantities(rest, tail)})
    return pd.DataFrame(
        rows, columns=["horizon", "beside", *(f"{q}{end}" for q in QUANTITIES for end in ("", "_low", "_high"))]
    )
