"""`simulate_sparing`: Monte Carlo of a cluster with spares, to check the planner's closed form and its assumptions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from relfit.base.arguments import durations, positive, random_stream, whole
from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.levels import level_checked
from relfit.base.results import Result, json_ready
from relfit.base.text import percent
from relfit.planning.sparing import Cluster, DeviceFailures, Recovery, SparingEvaluation, Strategies, evaluate_sparing
from relfit.planning.sparing.evaluation import SHARES
from relfit.simulation.engine.random_streams import remaining_table, time_table
from relfit.simulation.engine.repair_stages import StagedRepairs
from relfit.simulation.engine.replications import half_interval, replicate
from relfit.simulation.sparing.device_times import KINDS, DeviceTimes
from relfit.simulation.sparing.sparing_events import simulate
from relfit.simulation.sparing.sparing_state import ACCOUNTS, DeviceRepairs, Setup

HOURS_PER_YEAR = 8760.0
_WARM_REPAIRS = 12.0
_MOST_EVENTS = 1e9
_NO_LIMIT = 1e15  # hours of a period that never ends
_NO_STAGES = np.zeros((0, 1)), np.zeros((0, 1)), np.zeros(0, np.bool_), np.inf  # as `StagedRepairs.tables`


@dataclass(frozen=True, kw_only=True)
class SparingAssumptions:
    """Assumptions of the closed form that a simulation keeps or drops.

    Attributes
    ----------
    whole_block_repairs : bool
        True (the closed form): one repair restores all trays of a block. False: every tray is repaired by itself.
    separate_racks : bool, optional
        True: every block fails by itself at the rate of a rack. False: racks take all their blocks down together; not
        with `whole_block_repairs`. By default True with `whole_block_repairs`, else as the cluster says.
    undisturbed_recovery : bool, optional
        True: failures during detection and restart cost nothing. False: they start it again. By default as the recovery
        says, which the closed form follows, too.

    Raises
    ------
    ArgumentError
        For repairs of whole blocks with shared racks.
    """

    whole_block_repairs: bool = True
    separate_racks: bool | None = None
    undisturbed_recovery: bool | None = None

    def __post_init__(self) -> None:
        if self.whole_block_repairs and self.separate_racks is False:
            what = "whole_block_repairs go with separate_racks"
            raise ArgumentError(what, remedy="set whole_block_repairs=False to share racks")


class SparingSimulation(Result):
    """The simulated clusters, beside the closed form.

    Attributes
    ----------
    replications : pandas.DataFrame
        One row per replication: shares of GPU hours (as `SparingEvaluation.shares`), ``hits`` (failures per hour that
        hit blocks of the job), ``stops`` (full stops per hour), ``blockings`` (per hour), ``events`` (simulated).
    closed_form : SparingEvaluation
        For the same means, under the paper's assumptions.
    down : ndarray, shape (blocks + 1,)
        Share of time in which 0, 1, ... blocks of a zone were down.
    years : float
        Simulated years of one replication, without the warm-up.
    level : float
        Level of the confidence intervals.
    assumptions : dict from str to bool
        Which of the closed form's assumptions held.
    """

    replications: pd.DataFrame
    closed_form: SparingEvaluation
    down: FloatArray
    years: float
    level: float
    assumptions: dict[str, bool]

    @cached_property
    def shares(self) -> pd.DataFrame:
        """Shares of GPU hours: ``simulated`` with ``low`` and ``high``, ``closed_form``, its relative ``error``."""
        values = self.replications[list(SHARES)].to_numpy(dtype=np.float64)
        mean, half = values.mean(axis=0), half_interval(values, self.level)
        closed = np.array([float(self.closed_form.shares[name][0]) for name in SHARES])
        error = np.divide(closed - mean, mean, out=np.full(mean.shape, np.nan), where=mean > 0.0)
        return pd.DataFrame(
            {"simulated": mean, "low": mean - half, "high": mean + half, "closed_form": closed, "error": error},
            index=pd.Index(SHARES, name="share"),
        )

    @property
    def cett(self) -> float:
        """Mean CETT (cluster effective training time) over the replications."""
        return float(self.shares["simulated"]["useful"])

    @property
    def cett_interval(self) -> tuple[float, float]:
        """Student's interval of the mean CETT."""
        return float(self.shares["low"]["useful"]), float(self.shares["high"]["useful"])

    @property
    def error(self) -> float:
        """Relative error of the closed form's CETT; above zero where it is higher than the simulated one."""
        return float(self.shares["error"]["useful"])

    @property
    def headline(self) -> str:
        """The simulated CETT and the error of the closed form."""
        low, high = self.cett_interval
        dropped = [name.replace("_", " ") for name, holds in self.assumptions.items() if not holds]
        about = "under its assumptions" if not dropped else f"without {', '.join(dropped)}"
        return (
            f"CETT is {percent(self.cett, 2)} ({100 * low:.2f}-{100 * high:.2f}) over {len(self.replications)} "
            f"times {self.years:g} years; the closed form gives {percent(float(self.closed_form.cett[0]), 2)}, "
            f"{percent(self.error, 2, '+')} off {about}."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per share of GPU hours."""
        return self.shares.reset_index()

    def to_dict(self) -> dict[str, Any]:
        """CETT and the shares beside the closed form."""
        named = {name: getattr(self, name) for name in ("cett", "cett_interval", "level", "error", "years")}
        more = {"replications": len(self.replications), "assumptions": self.assumptions, "shares": self.to_frame()}
        return json_ready({"findings": self.findings, **named, **more})


class PreparedSparing(NamedTuple):
    """Checked settings of a simulation, with their closed form and the hours of the warm-up."""

    setup: Setup
    closed_form: SparingEvaluation
    warm_up: float
    assumed: dict[str, bool]


def prepared(
    cluster: Cluster,
    strategy: Strategies,
    devices: DeviceFailures | DeviceTimes,
    recovery: Recovery | None,
    assumptions: SparingAssumptions | None,
    warm_up: object,
    hours: float,
) -> PreparedSparing:
    """Check the settings of a simulation of so many hours; an `ArgumentError` for more than one strategy, invalid
    settings, or more than 1e9 events of a replication.
    """
    recovery = recovery or Recovery()
    times = devices if isinstance(devices, DeviceTimes) else DeviceTimes.exponential(devices)
    if len(strategy) != 1:
        raise ArgumentError(f"{len(strategy)} strategies were given", remedy="simulate one: strategies.take([0])")
    wanted = assumptions or SparingAssumptions()
    whole_block, own_racks, undisturbed = wanted.whole_block_repairs, wanted.separate_racks, wanted.undisturbed_recovery
    own_racks = (whole_block or not cluster.shared_racks) if own_racks is None else own_racks
    undisturbed = not recovery.disturbed if undisturbed is None else bool(undisturbed)
    if whole_block and times.has_history:
        what = "repairs with a history are those of single trays"
        raise ArgumentError(what, remedy="give SparingAssumptions(whole_block_repairs=False)")
    closed = evaluate_sparing(cluster, strategy, times.means(), recovery)
    longest = max(float(family.mean()) for which in KINDS for _, family in times.kinds(which))
    warm = _WARM_REPAIRS * longest if warm_up is None else float(durations("warm_up", warm_up))
    assumed = {
        "exponential_times": times.all_exponential,
        "whole_block_repairs": whole_block,
        "separate_racks": own_racks,
        "undisturbed_recovery": undisturbed is not recovery.disturbed,
    }
    tables = [time_table("tray", times.tray)]
    tables.append(remaining_table(tables[0]))
    if times.rack is not None:
        tables.append(time_table("rack", times.rack))
        tables.append(remaining_table(tables[2]))
    repairs = []
    for which in KINDS:
        families, staged = times.kinds(which), times.repairs_of(which)
        kinds, shares = np.arange(len(tables), len(tables) + len(families)), np.cumsum([part for part, _ in families])
        stages = staged.tables() if isinstance(staged, StagedRepairs) else _NO_STAGES
        repairs.append(DeviceRepairs(kinds, shares, *stages))
        tables += [time_table(which, family) for _, family in families]
    strategy, blocks, means = closed.strategies, int(closed.blocks[0]), closed.failures
    rate = cluster.total_trays / (means.mtbf_tray + means.mttr) + cluster.zones * blocks / means.mtbf_rack
    if (expected := 2.0 * (warm + hours) * float(rate)) > _MOST_EVENTS:
        raise ArgumentError(f"a replication would hold about {expected:.1g} events", remedy="simulate fewer years")
    size = int(strategy.block_trays[0])
    per_rack = 1 if own_racks else cluster.trays // size
    setup = Setup(
        zones=cluster.zones,
        blocks=blocks,
        size=size,
        spare_trays=int(strategy.spare_trays[0]),
        spare_blocks=int(closed.spare_blocks[0]),
        tables=np.array(tables),
        racks=cluster.zones * blocks // per_rack if times.rack is not None else 0,
        per_rack=per_rack,
        whole_block=whole_block,
        repeat=not undisturbed,
        period=min(float(closed.checkpoint_every[0]), _NO_LIMIT),
        limit=recovery.loss_limit,
        **{name: getattr(recovery, name) for name in ("save", "detection", "restart", "unit", "exchange")},
        tray_repair=repairs[0],
        rack_repair=repairs[1],
    )
    return PreparedSparing(setup, closed, warm, assumed)


def simulate_sparing(
    cluster: Cluster,
    strategy: Strategies,
    devices: DeviceFailures | DeviceTimes,
    recovery: Recovery | None = None,
    assumptions: SparingAssumptions | None = None,
    *,
    years: float = 10.0,
    n_resamples: int = 8,
    warm_up: object = None,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
    workers: int | None = None,
) -> SparingSimulation:
    """Simulate a cluster under one strategy, event by event.

    Every tray, rack and block has its own times. The job holds the working blocks, swaps failed ones for spares of
    their zone, goes back to its last checkpoint, and waits when a zone has no spare left.

    Parameters
    ----------
    cluster : Cluster
    strategy : Strategies
        A single one; without a number of spare blocks it has the best one by the closed form.
    devices : DeviceFailures or DeviceTimes
        Means of exponential times, or any distributions.
    recovery : Recovery, optional
        A `checkpoint_every` of None is the best interval by the closed form.
    assumptions : SparingAssumptions, optional
        By default those of the closed form.
    years : float
        Simulated time of one replication, in years of 8,760 hours.
    n_resamples : int
        Replications, at least two.
    warm_up : duration, optional
        Time before the accounts begin; by default twelve mean repairs. Devices start at random ages (in equilibrium).
    level : float
        Level of the confidence intervals.
    rng : int or numpy.random.Generator
        Replications have streams of their own: the result does not depend on the number of workers.
    workers : int, optional
        Threads; one per processor by default.

    Returns
    -------
    SparingSimulation

    Raises
    ------
    ArgumentError
        For more than one strategy, or invalid settings.

    Notes
    -----
    Trays without power (their rack is down, or their block with whole-block repairs) do not age. Idle spares fail like
    working devices. Spare trays take over at once; which of the running trays of a block are at work is random.

    Examples
    --------
    >>> cluster = Cluster(zones=2, racks=16, trays=8, gpus=8)
    >>> recovery = Recovery(save="1min", detection="1min", restart="5min")
    >>> run = simulate_sparing(cluster, Strategies(8, 1, 2), DeviceFailures(3000, 9000, 24), recovery, years=2, rng=1)
    >>> abs(run.error) < 0.02
    True
    """
    n, end = int(whole("n_resamples", n_resamples, 2)), float(positive("years", years)) * HOURS_PER_YEAR
    level_checked(level)
    plan = prepared(cluster, strategy, devices, recovery, assumptions, warm_up, end)
    settings, closed, warm = plan.setup, plan.closed_form, plan.warm_up
    generators = random_stream(rng).spawn(n)
    down = np.zeros((n, settings.blocks + 1))

    def one(i: int) -> list[float]:
        return simulate(generators[i], settings, warm, warm + end, down[i])

    rows = np.array(replicate(one, range(n), workers))
    return SparingSimulation(_table(rows, closed), closed, down.mean(axis=0), float(years), float(level), plan.assumed)


def _table(rows: FloatArray, closed: SparingEvaluation) -> pd.DataFrame:
    """The accounts of the simulation as shares of all GPU hours."""
    outside = {name: float(closed.shares[name][0]) for name in ("spare_trays", "spare_blocks", "stranded")}
    job, accounts = 1.0 - sum(outside.values()), dict(zip(ACCOUNTS, rows.T, strict=True))
    shares = {name: np.full(len(rows), outside[name]) if name in outside else job * accounts[name] for name in SHARES}
    counts = {name: accounts[name] for name in ("hits", "stops", "blockings")}
    return pd.DataFrame({**shares, **counts, "events": accounts["events"].astype(np.int64)})
