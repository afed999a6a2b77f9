"""What a design costs: prices for nodes, repair contracts and hours of waiting in, the cheapest cell out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.errors import ArgumentError
from relfit.base.results import Result
from relfit.simulation.campaigns.campaign_results import CampaignResults
from relfit.simulation.campaigns.cell_comparisons import not_worse
from relfit.simulation.engine.replications import row_statistics

__all__ = ["Ownership", "cost_of_ownership"]


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
        names = [str(name) for name in self.alike if name not in ("mean", "difference", "low", "high")]
        where = ", ".join(f"{name.replace('_', ' ')} {best[name]}" for name in names if pd.notna(best[name]))
        more = len(self.alike) - 1
        text = f"cheapest: {where}, {best['cost']:,.6g} ({best['low']:,.6g}-{best['high']:,.6g})"
        return f"{text}; {more} more cells are not distinguishable from it" if more else text


def cost_of_ownership(result: CampaignResults, prices: Mapping[str, object] | None = None) -> Ownership:
    """The cost of each cell, and the cheapest.

    Parameters
    ----------
    result : CampaignResults
    prices : mapping, optional
        By parameter or output, the price of one unit (of a node in ``working_pool_size``, of an hour of ``mean_wait``),
        or by value: ``{"manual_repair_time": {"2 days": 90_000, "8h": 250_000}}`` are repair contracts. Those of the
        campaign when left out.

    Returns
    -------
    Ownership

    Raises
    ------
    ArgumentError
        For a price of nothing that is there, or a value without one.

    Examples
    --------
    >>> from relfit.simulation.campaigns import Campaign, sweep
    >>> campaign = Campaign(run="builtins:pow", parameters={"base": [2, 3]}, config={"exp": 2}, replications=1)
    >>> cost_of_ownership(sweep(campaign, "powers", executor="serial"), {"value": 10.0}).costs["cost"].tolist()
    [40.0, 90.0]
    """
    given = dict(result.campaign.get("prices", {}) if prices is None else prices)
    if not given:
        raise ArgumentError("there are no prices", remedy='give {"working_pool_size": 30_000} or the like')
    cells = result.cells[~result.cells.index.duplicated()]
    some = result.samples(next((name for name in given if name in result.outputs), None))
    total = pd.DataFrame(np.zeros_like(some.to_numpy()), some.index).where(np.isfinite(some.to_numpy()))
    parts = {}
    for name, price in given.items():
        if name in result.parameters:
            own = cells[name].map(lambda value, price=price, name=name: _priced(name, value, price))
            part = pd.DataFrame(np.repeat(own.to_numpy(dtype=np.float64)[:, None], some.shape[1], axis=1), cells.index)
        elif isinstance(price, (int, float)):
            part = price * result.samples(name)
        else:
            raise ArgumentError(f"the price of {name} has no number", remedy="give one per unit")
        total, parts[name] = total + part.to_numpy(), part.mean(axis=1)
    about = row_statistics(total, result.level)[["mean", "low", "high"]].rename(columns={"mean": "cost"})
    table = cells[result.parameters].join(pd.DataFrame(parts).add_prefix("cost of ")).join(about)
    table = table.sort_values("cost", kind="stable").reset_index(drop=True)
    return Ownership(table, not_worse(result, total, 1.0))


def _priced(name: str, value: Any, price: Any) -> float:
    if not isinstance(price, Mapping):
        if isinstance(value, str) or not pd.notna(value):
            raise ArgumentError(f"{name} = {value!r} is no number", remedy="give a price by value")
        return float(price) * float(value)
    for key, amount in price.items():
        if str(key) == str(value) or _same(key, value):
            return float(amount)
    raise ArgumentError(f"there is no price for {name} = {value!r}", remedy=f"there is {', '.join(map(str, price))}")


def _same(key: Any, value: Any) -> bool:
    try:
        return float(key) == float(value)
    except (TypeError, ValueError):
        return False
