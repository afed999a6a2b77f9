"""What a sparing plan costs: devices, energy and repairs, per hour of useful work; and the cheapest that does enough.

Prices are in any one currency. A node is a tray.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.arguments import durations, positive, whole
from relfit.errors import ArgumentError
from relfit.planning.sparing.cluster import Cluster, DeviceFailures, Strategies
from relfit.planning.sparing.evaluation import SparingEvaluation
from relfit.planning.sparing.performance import Performance
from relfit.planning.sparing.planner import evaluate_sparing
from relfit.planning.sparing.recovery import Recovery

__all__ = ["CheapestSparing", "Prices", "RepairService", "cheapest_sparing", "sparing_costs"]

FloatArray = npt.NDArray[np.float64]

_ROWS = 40_000  # strategies evaluated at once


@dataclass(frozen=True)
class RepairService:
    """A kind of repair service.

    Attributes
    ----------
    name : str
        As ``"day shift"`` or ``"round the clock"``.
    visit : float
        Price of one repair visit.
    mttr : duration, optional
        Mean time to repair under this service, hours; the one of the failures when left out.
    standing : float
        Price an hour of having the service at all.

    Examples
    --------
    >>> RepairService("round the clock", visit=300, mttr="8h", standing=120).mttr
    8.0
    """

    name: str
    visit: float = 0.0
    mttr: Any = None
    standing: float = 0.0

    def __post_init__(self) -> None:
        for key in ("visit", "standing"):
            object.__setattr__(self, key, float(positive(key, getattr(self, key), zero=True)))
        if self.mttr is not None:
            object.__setattr__(self, "mttr", float(durations("mttr", self.mttr)))


@dataclass(frozen=True)
class Prices:
    """Prices of what a cluster is made of and lives on.

    Attributes
    ----------
    node : float
        Price of a node at work.
    spare : float, optional
        Price of a spare node; as `node` when left out.
    life : duration
        Hours over which a node is paid off.
    energy : float
        Price of a kWh.
    power, idle_power : float
        kW of a node at work, and of an idle spare one.
    service : RepairService
        Of repairs.
    value : float, optional
        Worth of an hour of useful work of one node at baseline speed.

    Examples
    --------
    >>> Prices(node=30_000, energy=0.1, power=1.2, idle_power=0.3).life
    43800.0
    """

    node: float = 0.0
    spare: float | None = None
    life: Any = 43_800.0
    energy: float = 0.0
    power: float = 0.0
    idle_power: float = 0.0
    service: RepairService = RepairService("repairs")
    value: float | None = None

    def __post_init__(self) -> None:
        for key in ("node", "spare", "energy", "power", "idle_power", "value"):
            if getattr(self, key) is not None:
                object.__setattr__(self, key, float(positive(key, getattr(self, key), zero=True)))
        object.__setattr__(self, "life", float(durations("life", self.life, zero=False)))


def sparing_costs(evaluation: SparingEvaluation, prices: Prices) -> pd.DataFrame:
    """Costs of each strategy beside its goodput.

    Parameters
    ----------
    evaluation : SparingEvaluation
    prices : Prices

    Returns
    -------
    pandas.DataFrame
        A row a strategy and case: ``strategy``, ``spare_blocks``, ``cett``, ``goodput`` (GPUs), ``useful_nodes``
        (goodput in nodes), costs an hour (``devices``, ``energy``, ``repairs``, ``cost``), ``cost_per_useful_hour`` (of
        one node; infinite without useful work), and with a value of useful work ``value`` and ``net`` an hour.

    Notes
    -----
    A device that is in repair does not fail; every failure of a tray or a rack is one visit.

    Examples
    --------
    >>> cluster = Cluster(racks=16, trays=4, gpus=8)
    >>> found = evaluate_sparing(cluster, Strategies([4, 4], [0, 1]), DeviceFailures(900, 4000, 24))
    >>> prices = Prices(node=30_000, energy=0.1, power=1.2, service=RepairService("day", visit=200))
    >>> table = sparing_costs(found, prices)
    >>> bool((table["cost_per_useful_hour"] > 0).all())
    True
    """
    c, s, f = evaluation.cluster, evaluation.strategies, evaluation.failures
    shape = evaluation.cett.shape
    lead = (-1,) + (1,) * (len(shape) - 1)
    size, idle = s.block_trays.reshape(lead), s.spare_trays.reshape(lead)
    at_work = (evaluation.blocks.reshape(lead) - evaluation.spare_blocks) * (size - idle) * c.zones
    spare = c.total_trays - at_work
    per_spare = prices.node if prices.spare is None else prices.spare
    devices = (at_work * prices.node + spare * per_spare) / prices.life
    energy = (at_work * prices.power + spare * prices.idle_power) * prices.energy
    visits = c.total_trays / (f.mtbf_tray + f.mttr) + c.zones * c.racks / (f.mtbf_rack + f.mttr)
    repairs = np.broadcast_to(visits * prices.service.visit + prices.service.standing, shape)
    useful = evaluation.goodput / c.gpus
    cost = devices + energy + repairs

    def flat(values: npt.ArrayLike) -> Any:
        return np.broadcast_to(np.asarray(values), shape).ravel()

    labels = np.array(evaluation.labels, dtype=object).reshape(lead)
    table: dict[str, Any] = {"strategy": flat(labels)}
    if f.shape:
        table |= {name: flat(getattr(f, name)) for name in ("mtbf_tray", "mtbf_rack", "mttr")}
    table |= {
        "spare_blocks": flat(evaluation.spare_blocks),
        "cett": flat(evaluation.cett),
        "goodput": flat(evaluation.goodput),
        "useful_nodes": flat(useful),
        "devices": flat(devices),
        "energy": flat(energy),
        "repairs": flat(repairs),
        "cost": flat(cost),
        "cost_per_useful_hour": flat(np.divide(cost, useful, out=np.full(shape, np.inf), where=useful > 0.0)),
    }
    if prices.value is not None:
        table |= {"value": flat(useful * prices.value), "net": flat(useful * prices.value - cost)}
    return pd.DataFrame(table)


@dataclass(frozen=True, eq=False)
class CheapestSparing:
    """The cheapest plan that does enough.

    Attributes
    ----------
    table : pandas.DataFrame
        The cheapest plan of every size of the cluster and repair service that does enough, cheapest first: ``racks``
        (a zone), ``service``, and the columns of `sparing_costs`.
    required : float
        Goodput that is asked for, GPUs.
    most : float
        The highest goodput that any choice reaches.
    """

    table: pd.DataFrame
    required: float
    most: float

    @property
    def sentence(self) -> str:
        """The plan in words."""
        if not len(self.table):
            return f"No choice reaches {self.required:,.0f} GPUs; the best one reaches {self.most:,.0f}."
        row = self.table.iloc[0]
        return (
            f"The cheapest way to {self.required:,.0f} useful GPUs is {row['racks']} racks a zone in blocks of "
            f"{row['strategy']} GPUs with {row['spare_blocks']} spare blocks a zone and {row['service']}: "
            f"{row['cost']:,.2f} an hour, {row['cost_per_useful_hour']:.4g} a useful node hour, for "
            f"{row['goodput']:,.0f} GPUs."
        )

    def to_frame(self) -> pd.DataFrame:
        """A row a size of the cluster and service."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        frame = self.table.replace([np.inf, -np.inf], np.nan).astype(object)
        rows = frame.where(frame.notna(), None).to_dict("records")
        return {"required": self.required, "most": self.most, "rows": rows, "sentence": self.sentence}

    def __repr__(self) -> str:
        return f"CheapestSparing: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        table = self.table.head(20).to_html(escape=True, index=False, float_format="{:.4g}".format)
        return f"<p>{escape(self.sentence)}</p>{table}"


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
    services: Sequence[RepairService] | None = None,
) -> CheapestSparing:
    """The cheapest cluster, strategy and repair service that reach a required goodput.

    Every number of spare blocks that the placement rule allows is looked at, not only the best: where idle nodes are
    cheap to own or to run, more spares can cost less.

    Parameters
    ----------
    cluster : Cluster
    failures : DeviceFailures
        One case; a service with an MTTR of its own replaces it.
    required : float
        Goodput, GPUs of baseline speed.
    prices : Prices
    recovery, performance, strategies
        As for `optimise_sparing`.
    racks : sequence of int, optional
        Racks a zone to choose from; those of `cluster` when left out.
    services : sequence of RepairService, optional
        To choose from; that of `prices` when left out.

    Returns
    -------
    CheapestSparing
        Empty where nothing reaches the goodput.

    Examples
    --------
    >>> cluster = Cluster(racks=16, trays=4, gpus=8)
    >>> day, night = RepairService("day shift", 200), RepairService("round the clock", 400, mttr="6h", standing=50)
    >>> found = cheapest_sparing(cluster, DeviceFailures(900, 4000, 24), 400, Prices(node=30_000, life="4380 days"),
    ...                          racks=range(14, 22), services=[day, night])
    >>> bool(found.table["goodput"].min() >= 400)
    True
    """
    if failures.shape:
        raise ArgumentError("failures has many cases", remedy="give one case")
    wanted = float(positive("required", required))
    tables, most = [], 0.0
    for count in racks if racks is not None else [cluster.racks]:
        sized = replace(cluster, racks=int(whole("racks", count)))
        for service in services if services is not None else [prices.service]:
            served = DeviceFailures(
                failures.mtbf_tray, failures.mtbf_rack, failures.mttr if service.mttr is None else service.mttr
            )
            priced = replace(prices, service=service)
            for part in _placed(sized, strategies or Strategies.every(sized)):
                table = sparing_costs(evaluate_sparing(sized, part, served, recovery, performance), priced)
                most = max(most, float(table["goodput"].max()))
                table = table[table["goodput"] >= wanted]
                if len(table):
                    best = table.loc[[table["cost"].idxmin()]]
                    best.insert(0, "racks", sized.racks)
                    best.insert(1, "service", service.name)
                    tables.append(best)
    if not tables:
        return CheapestSparing(pd.DataFrame(columns=["racks", "service"]), wanted, most)
    found = pd.concat(tables, ignore_index=True).sort_values("cost", kind="stable")
    found = found.groupby(["racks", "service"], sort=False).head(1).reset_index(drop=True)
    return CheapestSparing(found, wanted, most)


def _placed(cluster: Cluster, strategies: Strategies) -> list[Strategies]:
    """Every strategy with every number of spare blocks that can be placed, in parts."""
    from relfit.planning.sparing.planner import placement_groups

    blocks = strategies.check(cluster)
    unit, _, misfit = placement_groups(cluster, strategies, blocks)
    index, spare = [], []
    for i in range(len(strategies)):
        if not misfit[i]:
            numbers = np.arange(int(blocks[i]) % int(unit[i]), int(blocks[i]), int(unit[i]))
            index.append(np.full(numbers.size, i))
            spare.append(numbers)
    if not index:
        raise ArgumentError(f"no strategy can be placed: {misfit[0]}", remedy="set partial_groups, or another group")
    rows, numbers = np.concatenate(index), np.concatenate(spare)
    cuts = range(0, rows.size, _ROWS)
    return [strategies.take(rows[a : a + _ROWS]).with_spare_blocks(numbers[a : a + _ROWS]) for a in cuts]
