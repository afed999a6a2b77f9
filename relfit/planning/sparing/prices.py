"""What a sparing plan costs: devices, energy and repairs, per hour of useful work; and the cheapest that does enough.

Prices are in any one currency. A node is a tray.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field, ValidationError, field_validator

from relfit.arguments import durations, positive, whole
from relfit.calibration.parameter_values import Model, rejection
from relfit.calibration.validation_errors import ParameterError
from relfit.errors import ArgumentError
from relfit.planning.sparing.cluster import Cluster, DeviceFailures, Performance, Strategies
from relfit.planning.sparing.evaluation import SparingEvaluation, evaluate_sparing, placement_groups
from relfit.planning.sparing.recovery import Recovery
from relfit.results import Result

__all__ = ["CheapestSparing", "Prices", "cheapest_sparing", "sparing_costs"]

_ROWS = 40_000  # strategies evaluated at once


Price = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]


class Prices(Model):
    """Prices of what a cluster is made of and lives on; the table ``[prices]`` of a parameter file.

    Raises
    ------
    ParameterError
        For prices below zero, unknown names, or a life that is no duration; an `ArgumentError`.

    Examples
    --------
    >>> Prices(node=30_000, energy=0.1, power=1.2, idle_power=0.3, life="5 days").life
    120.0
    """

    node: Price = Field(0.0, description="price of a node at work")
    spare: Price | None = Field(None, description="price of a spare node; as node when left out")
    life: float = Field(43_800.0, description="time over which a node is paid off, hours or a duration")
    energy: Price = Field(0.0, description="price of a kWh")
    power: Price = Field(0.0, description="kW of a node at work")
    idle_power: Price = Field(0.0, description="kW of an idle spare node")
    visit: Price = Field(0.0, description="price of a repair visit")
    standing: Price = Field(0.0, description="price per hour of having repairs done at all")
    value: Price | None = Field(None, description="worth of a useful hour of a node at baseline speed")
    racks: list[Annotated[int, Field(ge=1)]] | None = Field(
        None, description="racks per zone to choose from for a required goodput"
    )

    @field_validator("life", mode="before")
    @classmethod
    def _time(cls, value: Any) -> float:
        try:
            return float(durations("life", value, zero=False))
        except ArgumentError as error:
            raise rejection(error.what, remedy=error.remedy) from None

    def __init__(self, /, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise ParameterError(error, Prices) from None


def sparing_costs(evaluation: SparingEvaluation, prices: Prices) -> pd.DataFrame:
    """Costs of each strategy beside its goodput.

    Parameters
    ----------
    evaluation : SparingEvaluation
    prices : Prices

    Returns
    -------
    pandas.DataFrame
        One row per strategy and case: ``strategy``, ``spare_blocks``, ``cett``, ``goodput`` (GPUs), ``useful_nodes``
        (goodput in nodes), costs per hour (``devices``, ``energy``, ``repairs``, ``cost``), ``cost_per_useful_hour``
        (of one node; infinite without useful work), and with a value of useful work ``value`` and ``net`` per hour.

    Notes
    -----
    A device that is in repair does not fail; every failure of a tray or a rack is one visit.

    Examples
    --------
    >>> cluster = Cluster(racks=16, trays=4, gpus=8)
    >>> evaluation = evaluate_sparing(cluster, Strategies([4, 4], [0, 1]), DeviceFailures(900, 4000, 24))
    >>> prices = Prices(node=30_000, energy=0.1, power=1.2, visit=200)
    >>> bool((sparing_costs(evaluation, prices)["cost_per_useful_hour"] > 0).all())
    True
    """
    c, s, f = evaluation.cluster, evaluation.strategies, evaluation.failures
    shape = evaluation.cett.shape
    lead = (-1,) + (1,) * (len(shape) - 1)
    at_work = evaluation.job_gpus / c.gpus
    spare = c.total_trays - at_work
    per_spare = prices.node if prices.spare is None else prices.spare
    devices = (at_work * prices.node + spare * per_spare) / prices.life
    energy = (at_work * prices.power + spare * prices.idle_power) * prices.energy
    visits = c.total_trays / (f.mtbf_tray + f.mttr) + c.zones * c.racks / (f.mtbf_rack + f.mttr)
    repairs = visits * prices.visit + prices.standing
    useful, cost = evaluation.goodput / c.gpus, devices + energy + repairs
    table: dict[str, Any] = {"strategy": np.array(s.labels(c.gpus), dtype=object).reshape(lead)}
    if f.shape:
        table |= {name: getattr(f, name) for name in ("mtbf_tray", "mtbf_rack", "mttr")}
    table |= {name: getattr(evaluation, name) for name in ("spare_blocks", "cett", "goodput")}
    table |= {"useful_nodes": useful, "devices": devices, "energy": energy, "repairs": repairs, "cost": cost}
    table["cost_per_useful_hour"] = np.divide(cost, useful, out=np.full(shape, np.inf), where=useful > 0.0)
    if prices.value is not None:
        table |= {"value": useful * prices.value, "net": useful * prices.value - cost}
    return pd.DataFrame({name: np.broadcast_to(values, shape).ravel() for name, values in table.items()})


@dataclass(frozen=True, eq=False, repr=False)
class CheapestSparing(Result):
    """The cheapest plan that does enough.

    Attributes
    ----------
    table : pandas.DataFrame
        The cheapest plan of every size of the cluster that does enough, cheapest first: ``racks`` (per zone), and the
        columns of `sparing_costs`. Empty where nothing does.
    required : float
        Goodput required, GPUs.
    most : float
        The highest goodput that any choice reaches.
    """

    table: pd.DataFrame
    required: float
    most: float

    @property
    def headline(self) -> str:
        """The plan, or that there is none."""
        if not len(self.table):
            return f"No choice reaches {self.required:,.0f} GPUs; the best one reaches {self.most:,.0f}."
        row = self.table.iloc[0]
        return (
            f"The cheapest way to {self.required:,.0f} useful GPUs is {row['racks']} racks per zone in blocks of "
            f"{row['strategy']} GPUs with {row['spare_blocks']} spare blocks per zone: "
            f"{row['cost']:,.2f} per hour, {row['cost_per_useful_hour']:.4g} per useful node hour, for "
            f"{row['goodput']:,.0f} GPUs."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per size of the cluster."""
        return self.table


def cheapest_sparing(
    cluster: Cluster,
    failures: DeviceFailures,
    required: float,
    prices: Prices,
    recovery: Recovery | None = None,
    performance: Performance | None = None,
    *,
    strategies: Strategies | None = None,
    racks: Sequence[int] | None = None,
) -> CheapestSparing:
    """The cheapest cluster and strategy that reach a required goodput.

    Every number of spare blocks that the placement rule allows is looked at, not only the best: where idle nodes are
    cheap to own or to run, more spares can cost less.

    Parameters
    ----------
    cluster : Cluster
    failures : DeviceFailures
        One case.
    required : float
        Goodput, GPUs of baseline speed.
    prices : Prices
    recovery, performance, strategies
        As for `optimise_sparing`.
    racks : sequence of int, optional
        Racks per zone to choose from; else those of `prices`, else those of `cluster`.

    Examples
    --------
    >>> cluster = Cluster(racks=16, trays=4, gpus=8)
    >>> prices = Prices(node=30_000, life="4380 days")
    >>> cheap = cheapest_sparing(cluster, DeviceFailures(900, 4000, 24), 400, prices, racks=range(14, 22))
    >>> bool(cheap.table["goodput"].min() >= 400)
    True
    """
    if failures.shape:
        raise ArgumentError("failures has many cases", remedy="give one case")
    wanted = float(positive("required", required))
    tables, most = [], 0.0
    for count in racks or prices.racks or [cluster.racks]:
        sized = replace(cluster, racks=int(whole("racks", count)))
        for part in _placed(sized, strategies or Strategies.every(sized)):
            table = sparing_costs(evaluate_sparing(sized, part, failures, recovery, performance), prices)
            most = max(most, float(table["goodput"].max()))
            table = table[table["goodput"] >= wanted]
            if len(table):
                best = table.loc[[table["cost"].idxmin()]]
                best.insert(0, "racks", sized.racks)
                tables.append(best)
    if not tables:
        return CheapestSparing(pd.DataFrame(columns=["racks"]), wanted, most)
    found = pd.concat(tables, ignore_index=True).sort_values("cost", kind="stable")
    found = found.groupby("racks", sort=False).head(1).reset_index(drop=True)
    return CheapestSparing(found, wanted, most)


def _placed(cluster: Cluster, strategies: Strategies) -> Iterator[Strategies]:
    """Every strategy with every number of spare blocks that can be placed, in parts."""
    blocks = strategies.check(cluster)
    unit, _, misfits = placement_groups(cluster, strategies, blocks)
    if all(misfits):
        raise ArgumentError(f"no strategy can be placed: {misfits[0]}", remedy="set partial_groups, or another group")
    numbers = [
        np.arange(0) if misfit else np.arange(total % step, total, step)
        for total, step, misfit in zip(blocks.tolist(), unit.tolist(), misfits, strict=True)
    ]
    rows, spare = np.repeat(np.arange(len(strategies)), [n.size for n in numbers]), np.concatenate(numbers)
    for a in range(0, rows.size, _ROWS):
        yield strategies.take(rows[a : a + _ROWS]).with_spare_blocks(spare[a : a + _ROWS])
