"""Comparisons of cells: the best and those like it, Pareto fronts, equal outputs, costs, sensitivity to parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy.stats import bootstrap

from relfit.base.arguments import random_stream
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.crossings import crossing, monotone, redrawn
from relfit.base.numeric.levels import level_checked
from relfit.base.results import Interval, Result
from relfit.base.text import count, rounded_interval
from relfit.simulation.campaigns.campaign_results import CampaignResults, numbers, shown
from relfit.simulation.engine.replications import alike, row_statistics

Price: TypeAlias = float | Mapping[str, float]  # price of one unit of a parameter or an output, or prices by value


def best_cells(
    result: CampaignResults, output: str | None = None, *, best: str | None = None, within: float | None = None
) -> pd.DataFrame:
    """The best cell first, and those that cannot be distinguished from it, or have a mean `within` a share of its own.

    Cells share their random numbers, so that the differences of the same replications are compared: by Student's
    intervals at the level of the campaign for all comparisons together (Bonferroni).

    Parameters
    ----------
    result : CampaignResults
    output : str, optional
        By default that of the campaign.
    best : {"least", "most"}, optional
        By default as the campaign says.
    within : float, optional
        As 0.02: cells whose mean is at most 2 % worse.

    Returns
    -------
    pandas.DataFrame
        One row per such cell: the parameters, ``mean``, and the ``difference`` to the best with ``low`` and ``high``.
    """
    side = -1.0 if (best or result.campaign.get("best", "least")) == "most" else 1.0
    return _not_worse(result, result.samples(output), side, within)


def _not_worse(result: CampaignResults, samples: pd.DataFrame, side: float, within: float | None) -> pd.DataFrame:
    """The cell with the least mean times `side` and those like it, as for `best_cells`."""
    table = alike(samples, result.level, side, within)
    cells = result.cells[~result.cells.index.duplicated()]
    return cells.loc[table.index, result.parameters].join(table).reset_index(drop=True)


def pareto_front(result: CampaignResults, outputs: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Cells to which no other is better in one output and at least as good in all.

    Parameters
    ----------
    result : CampaignResults
    outputs : mapping from str to {"least", "most"}, optional
        Which side of each output, of each parameter, or of ``cost`` (by the campaign's prices) is good; by default
        ``pareto`` of the campaign.

    Returns
    -------
    pandas.DataFrame
        One row per cell of the front: the parameters and the means, in the order of the first of them.
    """
    chosen_sides = result.campaign.get("pareto", {}) if outputs is None else outputs
    sides = {name: {"least": 1.0, "most": -1.0}.get(side) for name, side in chosen_sides.items()}
    if not sides or None in sides.values():
        raise ArgumentError("outputs name no good side", remedy='give {"total_training_time": "least"} or the like')
    cells = result.cells[~result.cells.index.duplicated()]
    table = cell_values(result, list(sides)).dropna()
    value = table.to_numpy() * np.array(list(sides.values()), dtype=np.float64)
    order = np.lexsort(value.T[::-1])
    front: list[int] = []
    for i in order:  # in this order, better ones come first
        held = value[front]
        if not (np.all(held <= value[i], axis=1) & np.any(held < value[i], axis=1)).any():
            front.append(int(i))
    chosen = table.iloc[front]
    beside = [name for name in result.parameters if name not in sides]
    return cells.loc[chosen.index, beside].join(chosen).reset_index(drop=True)


def cell_values(result: CampaignResults, names: Sequence[str]) -> pd.DataFrame:
    """Means of outputs, values of parameters (durations in hours), and ``cost``: one row per distinct cell."""
    cells, columns = result.cells[~result.cells.index.duplicated()], {}
    for name in names:
        if name in result.parameters:
            own = cells[name].map(lambda value: numbers([value])[0], na_action="ignore")
        elif name == "cost" and name not in result.outputs:
            own = _costs(result, dict(result.campaign.get("prices", {})))[0].mean(axis=1)
        else:
            own = result.samples(name).mean(axis=1)
        columns[name] = own.reindex(cells.index).astype(np.float64)
    return pd.DataFrame(columns, index=cells.index)


def contour(
    result: CampaignResults, row: str, column: str, value: float, output: str | None = None, **where: object
) -> pd.DataFrame:
    """Pairs of two parameters at which an output has one value, as pairs at which users wait equally long.

    Each curve over `column` is made monotone and interpolated linearly.

    Parameters
    ----------
    result : CampaignResults
    row, column : str
        Parameters; the values of `column` are numbers or durations.
    value : float
        Value of the output.
    output : str, optional
    **where
        Values of other parameters, and ``experiment``.

    Returns
    -------
    pandas.DataFrame
        One row per value of `row`: it, and `column` (durations in hours); NaN where the curve does not reach `value`.
    """
    table = result.heat_map(row, column, output, **where)
    x = numbers(table.columns)
    at = [crossing(x, monotone(curve), value) for curve in table.to_numpy()]
    return pd.DataFrame({row: table.index, column: np.where(np.isfinite(at), at, np.nan)})


def break_even(
    result: CampaignResults,
    parameter: str,
    at: Mapping[str, object],
    instead: Mapping[str, object],
    output: str | None = None,
    *,
    rng: int = 0,
) -> Interval:
    """The value of a parameter that gives the output of the cell `at` when the other parameters are those of `instead`.

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
        Seed of the bootstrap over replications, for the confidence interval.

    Returns
    -------
    Interval
        Durations in hours; infinite where the curve does not reach that output (minus infinite below its first value).

    Examples
    --------
    The repair time at the old failure rate that costs as much waiting as twice the rate with repairs of an hour:
    ``break_even(result, "failures.0.repair", {"failures.0.mtbf": "40h", "failures.0.repair": "1h"},
    {"failures.0.mtbf": "80h"})``.
    """
    level_checked(result.level)
    goal, cells = result.where(**dict(at)), result.where(**dict(instead))
    cells = cells[~cells.index.duplicated()]
    samples = result.samples(output)
    x = numbers(cells[parameter])
    order = np.argsort(x, kind="stable")
    x, values = x[order], samples.loc[cells.index].to_numpy()[order]
    both = np.vstack([values, samples.loc[goal.index[:1]].to_numpy()])
    both = both[:, np.isfinite(both).all(axis=0)]
    if not both.shape[1]:
        raise ArgumentError("no replication is there in all these cells", remedy="compute them first")
    drawn = redrawn(both.T, lambda m: crossing(x, monotone(m[:-1]), m[-1]), result.level, rng)
    value, low, high = map(np.array, drawn)
    status = np.array("ok" if np.isfinite(value) else "outside of the campaign", dtype=object)
    labels = pd.Index([parameter])
    return Interval(parameter, "replications drawn again", result.level, None, value, low, high, status, labels)


class Ownership(Result):
    """Costs of the cells of a campaign.

    Attributes
    ----------
    costs : pandas.DataFrame
        One row per cell, the cheapest first: the parameters, the part of each price, and ``cost`` with ``low`` and
        ``high``.
    alike : pandas.DataFrame
        The cheapest cell, and those whose cost cannot be distinguished from it.
    """

    costs: pd.DataFrame
    alike: pd.DataFrame

    _frame = "costs"

    @property
    def headline(self) -> str:
        """The cheapest cell."""
        best: Any = self.costs.iloc[0]
        parts = {str(name).replace("_", " "): self.costs[name].iloc[0] for name in self.alike.columns[:-4]}
        where = ", ".join(f"{name} {shown(value)}" for name, value in parts.items() if pd.notna(value))
        alike = len(self.alike) - 1
        more = count(alike, "more cell is", "more cells are")
        text = f"cheapest: {where}, {rounded_interval(best['cost'], best['low'], best['high'])}"
        return f"{text}; {more} not distinguishable from it" if alike else text


def cost_of_ownership(result: CampaignResults, prices: Mapping[str, Price] | None = None) -> Ownership:
    """The cost of each cell, and the cheapest.

    Parameters
    ----------
    result : CampaignResults
    prices : mapping, optional
        By parameter or output, the price of one unit (of a node in ``working_pool_size``, of a minute of
        ``total_training_time``), or by value: ``{"manual_repair_time": {"2 days": 90_000, "8h": 250_000}}`` are repair
        contracts. By default those of the campaign.

    Raises
    ------
    ArgumentError
        For a price of an unknown parameter or output, or a value without a price.

    Examples
    --------
    >>> from relfit.simulation.campaigns import Campaign, sweep
    >>> campaign = Campaign(run="builtins:pow", parameters={"base": [2, 3]}, config={"exp": 2}, replications=1)
    >>> cost_of_ownership(sweep(campaign, "powers", executor="serial"), {"value": 10.0}).costs["cost"].tolist()
    [40.0, 90.0]
    """
    total, parts = _costs(result, dict(result.campaign.get("prices", {}) if prices is None else prices))
    cells = result.cells[~result.cells.index.duplicated()]
    about = row_statistics(total, result.level)[["mean", "low", "high"]].rename(columns={"mean": "cost"})
    table = cells[result.parameters].join(pd.DataFrame(parts).add_prefix("cost of ")).join(about)
    table = table.sort_values("cost", kind="stable").reset_index(drop=True)
    return Ownership(table, _not_worse(result, total, 1.0, None))


def _costs(result: CampaignResults, prices: Mapping[str, Price]) -> tuple[pd.DataFrame, dict[str, pd.Series]]:
    """Costs, one row per distinct cell and one column per replication, and the mean part of each price."""
    if not prices:
        raise ArgumentError("there are no prices", remedy='give {"working_pool_size": 30_000} or the like')
    cells = result.cells[~result.cells.index.duplicated()]
    some = result.samples(next((name for name in prices if name in result.outputs), None))
    total, parts = 0.0 * some, dict[str, pd.Series]()
    for name, price in prices.items():
        if name in result.parameters:
            values = cells[name].where(cells[name].notna(), result.campaign.get("configured", {}).get(name))
            part: Any = values.map(lambda value, price=price, name=name: _priced(name, value, price))
            total, parts[name] = total.add(part.astype(np.float64), axis=0), part
        elif isinstance(price, (int, float)):
            costs = price * result.samples(name)
            total, parts[name] = total + costs, costs.mean(axis=1)
        else:
            raise ArgumentError(f"the price of {name} has no number", remedy="give one per unit")
    return total, parts


def _priced(name: str, value: float | str | None, price: Price) -> float:
    if not isinstance(price, Mapping):
        if isinstance(value, str) or not pd.notna(value):
            raise ArgumentError(f"{name} = {value!r} is not a number", remedy="give a price by value")
        return float(price) * float(value)
    for key, amount in price.items():
        same = str(key) == str(value)
        with suppress(TypeError, ValueError):
            same = same or (value is not None and float(key) == float(value))
        if same:
            return float(amount)
    what = f"there is no price for {name} = {value!r}"
    raise ArgumentError(what, remedy=f"prices are given for {', '.join(map(str, price))}")


def tornado(result: CampaignResults, output: str | None = None) -> pd.DataFrame:
    """How far each parameter moves an output (by default that of the campaign), the widest range first.

    Experiments each by themselves, at the middle value of a second parameter; for a grid or a drawn design, means over
    the other parameters.

    Returns
    -------
    pandas.DataFrame
        Index ``experiment`` (label or parameter); ``low``, ``high``, ``range``, ``low_at``, ``high_at``.
    """
    mean, curves = result.samples(output).mean(axis=1), {}
    single = [] if result.drawn else [label for label in result.experiments if label]
    for label in single:
        cells, (first, *second) = result.where(experiment=label), result.varied(label)
        for name in second:
            values = list(dict.fromkeys(cells[name]))
            cells = cells[cells[name] == values[len(values) // 2]]
        curves[label] = mean.reindex(cells.index).groupby(cells[first].to_list(), sort=False).mean()
    cells = result.cells[~result.cells.index.duplicated()]
    for name in [] if single else result.parameters:
        if result.drawn:
            curves[name] = result.curve(name, output).set_index(name)["mean"]
        else:
            curves[name] = mean.reindex(cells.index).groupby(cells[name].to_list(), sort=False).mean()
    rows = {
        label: (curve.min(), curve.max(), curve.max() - curve.min(), curve.idxmin(), curve.idxmax())
        for label, curve in curves.items()
        if curve.notna().any()
    }
    names = ["low", "high", "range", "low_at", "high_at"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=names).rename_axis("experiment")
    return table.sort_values("range", ascending=False, kind="stable")


def sobol(result: CampaignResults, output: str | None = None, *, rng: int = 0) -> pd.DataFrame:
    """First- and total-order Sobol indices: the share of an output's variance that each parameter explains.

    Parameters
    ----------
    result : CampaignResults
        Of a design "sobol", complete.
    output : str, optional
    rng : int
        Seed of the bootstrap over points, for the confidence intervals.

    Returns
    -------
    pandas.DataFrame
        Index ``parameter``; ``first``, ``first_low``, ``first_high``: of the parameter by itself; ``total``, ...: with
        its interactions. They are shares: estimates and ends of intervals below 0 or above 1, which few points give,
        are set to 0 or 1.

    Raises
    ------
    ArgumentError
        For another design, or when cells are missing.

    References
    ----------
    Saltelli et al., Variance based sensitivity analysis of model output (2010).
    """
    parts = result.experiments
    names = [label.removeprefix("AB ") for label in parts if label.startswith("AB ")]
    if not names or parts[:2] != ["A", "B"]:
        raise ArgumentError("Sobol indices need their own design", remedy='write design = "sobol" and points = 64')
    mean = result.samples(output).mean(axis=1)
    values = {label: mean.reindex(result.where(experiment=label).index).to_numpy() for label in parts}
    if not all(np.isfinite(each).all() for each in values.values()):
        raise ArgumentError("cells of the design are missing", remedy="run the campaign to its end first")
    mixed = np.stack([values[f"AB {name}"] for name in names])

    def of(points: IntArray) -> FloatArray:
        """First- and total-order indices, shape (2, parameters)."""
        a, b, ab = values["A"][points], values["B"][points], mixed[:, points]
        first = np.mean((b - np.mean([a, b])) * (ab - a), axis=1)
        return np.stack([first, 0.5 * np.mean((a - ab) ** 2, axis=1)]) / np.var([a, b])

    every = np.arange(values["A"].size)
    generator = random_stream(rng)
    limits = bootstrap([every], of, confidence_level=result.level, n_resamples=500, rng=generator).confidence_interval
    columns = {"": of(every), "_low": np.asarray(limits.low), "_high": np.asarray(limits.high)}
    table = {
        order + key: np.clip(both[row], 0.0, 1.0)
        for row, order in enumerate(("first", "total"))
        for key, both in columns.items()
    }
    return pd.DataFrame(table, index=pd.Index(names, name="parameter"))
