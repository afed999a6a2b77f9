"""Cells against each other: the best and those not distinguishable from it, Pareto fronts, pairs that cost the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import isotonic_regression

from relfit.base.arguments import share
from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.base.results import Interval
from relfit.base.units import hours
from relfit.simulation.campaigns.campaign_results import CampaignResults
from relfit.simulation.engine.replications import row_means

__all__ = ["best_cells", "break_even", "contour", "not_worse", "numbers", "pareto_front"]

_DRAWS = 1000


def best_cells(result: CampaignResults, output: str | None = None, *, best: str | None = None) -> pd.DataFrame:
    """The best cell first, and those that cannot be distinguished from it.

    Cells share their random numbers, so that the differences of the same replications are compared: by Student's
    intervals at the level of the campaign for all comparisons together (Bonferroni).

    Parameters
    ----------
    result : CampaignResults
    output : str, optional
    best : {"least", "most"}, optional
        As the campaign says when left out.

    Returns
    -------
    pandas.DataFrame
        One row per such cell: the parameters, ``mean``, and the ``difference`` to the best with ``low`` and ``high``.
    """
    samples = result.samples(output)
    side = -1.0 if (best or result.campaign.get("best", "least")) == "most" else 1.0
    return not_worse(result, samples, side)


def not_worse(result: CampaignResults, samples: pd.DataFrame, side: float) -> pd.DataFrame:
    """The cell with the least mean times `side` and those not distinguishable from it, as `best_cells` has them."""
    values = samples.to_numpy()
    mean = row_means(values, result.level)[1]
    first = int(np.nanargmin(side * mean))
    each = 1.0 - (1.0 - result.level) / max(len(values) - 1, 1)
    _, difference, _, half = row_means(values - values[first], each)
    close = ~(side * difference > half) & np.isfinite(difference)
    close[first] = True
    table = pd.DataFrame(
        {"mean": mean, "difference": difference, "low": difference - half, "high": difference + half},
        index=samples.index,
    )[close]
    table = table.iloc[np.argsort(side * table["mean"].to_numpy(), kind="stable")]
    cells = result.cells[~result.cells.index.duplicated()]
    return cells.loc[table.index, result.parameters].join(table).reset_index(drop=True)


def pareto_front(result: CampaignResults, outputs: Mapping[str, str]) -> pd.DataFrame:
    """Cells to which no other is better in one output and at least as good in all.

    Parameters
    ----------
    result : CampaignResults
    outputs : mapping from str to {"least", "most"}
        Which side of each output, or of each parameter, is good.

    Returns
    -------
    pandas.DataFrame
        One row per cell of the front: the parameters and the means, in the order of the first of them.
    """
    sides = {name: {"least": 1.0, "most": -1.0}.get(side) for name, side in outputs.items()}
    if not sides or None in sides.values():
        raise ArgumentError("outputs name no good side", remedy='give {"total_training_time": "least"} or the like')
    cells = result.cells[~result.cells.index.duplicated()]
    table = pd.DataFrame(index=cells.index)
    for name in sides:
        own = cells[name] if name in result.parameters else result.samples(name).mean(axis=1).reindex(cells.index)
        table[name] = own.astype(np.float64)
    table = table.dropna()
    value = table.to_numpy() * np.array(list(sides.values()), dtype=np.float64)
    order = np.lexsort(value.T[::-1])
    front: list[int] = []
    for i in order:  # whatever is better than this one came before
        held = value[front]
        if not (np.all(held <= value[i], axis=1) & np.any(held < value[i], axis=1)).any():
            front.append(int(i))
    chosen = table.iloc[front]
    beside = [name for name in result.parameters if name not in sides]
    return cells.loc[chosen.index, beside].join(chosen).reset_index(drop=True)


def contour(
    result: CampaignResults, row: str, column: str, value: float, output: str | None = None, **where: Any
) -> pd.DataFrame:
    """Pairs of two parameters at which an output has one value, as pairs at which users wait equally long.

    Each curve over `column` is made monotone, and read between its points by straight lines.

    Parameters
    ----------
    result : CampaignResults
    row, column : str
        Parameters; those of `column` are numbers or durations.
    value : float
    output : str, optional
    **where
        Values of other parameters, and ``experiment``.

    Returns
    -------
    pandas.DataFrame
        One row per value of `row`: it, and `column` (in hours where its values are durations), NaN where the curve does
        not come to `value`.
    """
    table = result.heat_map(row, column, output, **where)
    x = numbers(table.columns)
    at = [_crossing(x, _monotone(curve), value) for curve in table.to_numpy()]
    return pd.DataFrame({row: table.index, column: np.where(np.isfinite(at), at, np.nan)})


def break_even(
    result: CampaignResults, parameter: str, at: Mapping[str, object], instead: Mapping[str, object],
    output: str | None = None, *, rng: int = 0,
) -> Interval:  # fmt: skip
    """The value of a parameter, other parameters set to `instead`, that gives the output of the cell `at`.

    Parameters
    ----------
    result : CampaignResults
    parameter : str
    at : mapping
        Values of all parameters of one cell.
    instead : mapping
        Values of the other parameters.
    output : str, optional
    rng : int
        Replications are drawn again for the limits.

    Returns
    -------
    Interval
        Infinite where the output does not come to that value (below the first value of the parameter: minus infinite).

    Examples
    --------
    Which repair time at the old failure rate costs as much waiting as twice the rate and repairs of an hour:
    ``break_even(result, "failures.0.repair", {"failures.0.mtbf": "40h", "failures.0.repair": "1h"},
    {"failures.0.mtbf": "80h"})``.
    """
    share("level", result.level, zero=False, one=False)
    goal, cells = result.where(**dict(at)), result.where(**dict(instead))
    cells = cells[~cells.index.duplicated()]
    samples = result.samples(output)
    x = numbers(cells[parameter])
    order = np.argsort(x, kind="stable")
    x, values = x[order], samples.loc[cells.index].to_numpy()[order]
    both = np.vstack([values, samples.loc[goal.index[:1]].to_numpy()])
    both = both[:, np.isfinite(both).all(axis=0)]
    n = both.shape[1]
    if not n:
        raise ArgumentError("no replication is there in all these cells", remedy="compute them first")
    draws = np.random.default_rng(rng).multinomial(n, np.full(n, 1.0 / n), _DRAWS) / n
    means = np.vstack([both.mean(axis=1), draws @ both.T])
    found = np.array([_crossing(x, _monotone(row[:-1]), row[-1]) for row in means])
    low, high = np.quantile(found[1:], [0.5 - result.level / 2.0, 0.5 + result.level / 2.0], method="nearest")
    status = np.array("ok" if np.isfinite(found[0]) else "outside of the campaign", dtype=object)
    return Interval(
        parameter, "replications drawn again", result.level, None, np.array(found[0]), np.array(low), np.array(high),
        status, pd.Index([parameter]),
    )  # fmt: skip


def numbers(values: Any) -> FloatArray:
    """Numbers, or hours of durations."""
    return np.array([hours(v) if isinstance(v, str) else float(v) for v in values], dtype=np.float64)


def _monotone(curve: FloatArray) -> FloatArray:
    """The nearest curve that only rises, or only falls, whichever the ends say."""
    rising = bool(curve[-1] >= curve[0])
    return np.asarray(isotonic_regression(curve, increasing=rising).x, dtype=np.float64)


def _crossing(x: FloatArray, curve: FloatArray, value: float) -> float:
    """Where a monotone curve has a value; minus or plus infinite where it lies before the first or after the last."""
    if curve[-1] < curve[0]:
        curve, value = -curve, -value
    if value < curve[0] or value > curve[-1]:
        return -np.inf if value < curve[0] else np.inf
    k = min(int(np.searchsorted(curve, value, side="right")), curve.size - 1)
    step = curve[k] - curve[k - 1]
    part = (value - curve[k - 1]) / step if step > 0.0 else 1.0
    return float(x[k - 1] + part * (x[k] - x[k - 1]))
