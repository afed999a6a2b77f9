"""Monte-Carlo of a cluster with spares: the closed form of the sparing planner checked, and its assumptions dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from relfit.arguments import durations, positive, share, whole
from relfit.errors import ArgumentError
from relfit.families.distribution import Distribution
from relfit.families.exponential import Exponential
from relfit.planning.sparing.cluster import Cluster, DeviceFailures, Strategies
from relfit.planning.sparing.planner import SHARES, SparingEvaluation, evaluate_sparing
from relfit.planning.sparing.recovery import Recovery, SemiSynchronous, synchronous
from relfit.simulation.sparing_tables import LOW, STEP, life_table, remaining_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from relfit.calibration.schema import Parameters

__all__ = ["DeviceLives", "Rescaled", "SparingSimulation", "simulate_sparing"]

FloatArray = npt.NDArray[np.float64]
Repairs = Distribution | Sequence[tuple[float, Distribution]]

_HOURS_A_YEAR = 8760.0
_ROUND = 8  # replications added at a time until the precision is reached
_WARM_REPAIRS = 12.0
_WEIGHT = 1_000_000  # of a replication, for the threads
_MOST_EVENTS = 1e9
_NO_LIMIT = 1e15  # hours of a period that never ends


@dataclass(frozen=True)
class Rescaled(Distribution):
    """A distribution with all times multiplied by a factor.

    Attributes
    ----------
    of : Distribution
    factor : float

    Examples
    --------
    >>> from relfit.families import Lognormal
    >>> round(float(Rescaled(Lognormal(1.0, 0.5), 3.0).median()), 4)
    8.1548
    """

    of: Distribution
    factor: float

    @classmethod
    def to_mean(cls, name: str, of: Distribution, mean: float) -> Rescaled:
        """The distribution with another mean; rejected where it has none."""
        given = float(of.mean())
        if not 0.0 < given < np.inf:
            raise ArgumentError(f"{name}: {type(of).__name__} has no finite mean", remedy="simulate exponential times")
        return cls(of, mean / given)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch."""
        return self.of.batch_shape

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"family": "rescaled", "of": self.of.to_dict(), "factor": self.factor}

    def log_sf(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the probability to live longer than `time`."""
        return self.of.log_sf(np.asarray(time, dtype=np.float64) / self.factor)

    def log_pdf(self, time: npt.ArrayLike) -> FloatArray:
        """Log of the density at `time`, per hour."""
        return self.of.log_pdf(np.asarray(time, dtype=np.float64) / self.factor) - np.log(self.factor)

    def inverse_cumulative_hazard(self, hazard: npt.ArrayLike) -> FloatArray:
        """Time at which the cumulative hazard reaches `hazard`."""
        return self.factor * self.of.inverse_cumulative_hazard(hazard)

    def mean(self) -> FloatArray:
        """Mean life in hours."""
        return np.asarray(self.factor * self.of.mean())


@dataclass(frozen=True)
class DeviceLives:
    """Distributions of the lives and repairs of devices.

    Attributes
    ----------
    tray : Distribution
        Time to failure of a tray.
    repair : Distribution, or sequence of (share, Distribution)
        Time to repair a tray; several kinds with the share of each, as quick automatic and slow manual repairs.
    rack : Distribution, optional
        Time to failure of a rack as a whole.
    rack_repair : as `repair`, optional
        As for trays when left out.

    Examples
    --------
    >>> from relfit.families import Weibull
    >>> lives = DeviceLives(Weibull(0.8, 18_000.0), [(0.7, Exponential(1.0)), (0.3, Exponential(1 / 77))])
    >>> round(float(lives.means().mttr), 1)
    23.8
    """

    tray: Distribution
    repair: Repairs
    rack: Distribution | None = None
    rack_repair: Repairs | None = None

    def __post_init__(self) -> None:
        given = [("tray", self.tray), *([("rack", self.rack)] if self.rack is not None else [])]
        for name, family in [*given, *((w, f) for w in ("repair", "rack_repair") for _, f in self.kinds(w))]:
            if not isinstance(family, Distribution):
                raise ArgumentError(f"{name} is {family!r}", remedy="give a distribution of relfit.families")
            if family.batch_shape:
                raise ArgumentError(f"{name} is a batch of distributions", remedy="give one")

    @classmethod
    def exponential(cls, failures: DeviceFailures) -> DeviceLives:
        """Exponential lives and repairs, as the closed form has them; of one case."""
        if failures.shape:
            raise ArgumentError("failures has many cases", remedy="simulate one of them: failures.take(i)")
        rack = None if np.isinf(failures.mtbf_rack) else Exponential(1.0 / failures.mtbf_rack)
        for name in ("mtbf_tray", "mttr"):
            if not 0.0 < getattr(failures, name) < np.inf:
                raise ArgumentError(f"{name} must be above zero and finite to be simulated")
        return cls(Exponential(1.0 / failures.mtbf_tray), Exponential(1.0 / failures.mttr), rack)

    @classmethod
    def of_parameters(cls, parameters: Parameters) -> DeviceLives:
        """The families that were calibrated, rescaled to the calibrated means; exponential where there is none.

        Lives of trays follow the family of ``failure`` with the mean ``mtbf.node`` (it was fitted to all outages of a
        node, those of its rack among them); repairs are quick and slow exponential ones where both are known, else
        follow the family of ``repair``; racks fail exponentially.

        Raises
        ------
        ArgumentError
            When ``mtbf.node`` or ``mttr.mean`` is missing.

        Examples
        --------
        >>> from relfit.calibration import Parameters
        >>> family = {"family": "weibull", "parameters": {"shape": 0.7, "scale": 1000.0}}
        >>> lives = DeviceLives.of_parameters(Parameters(mtbf="2000h", mttr="24h", failure=family))
        >>> round(float(lives.tray.mean()), 6)
        2000.0
        """
        from relfit.planning.sparing.robust import device_failures

        plain = cls.exponential(device_failures(parameters))
        tray, repair = plain.tray, plain.repair
        mean = float(plain.tray.mean())
        if parameters.failure is not None:
            tray = Rescaled.to_mean("failure", parameters.failure.distribution(), mean)
        quick, slow, part = parameters.mttr.quick, parameters.mttr.slow, parameters.mttr.share_quick
        values = [None if q is None else q.value for q in (quick, slow, part)]
        if values[0] and values[1] and values[2] is not None:
            composite = values[2] * values[0] + (1.0 - values[2]) * values[1]
            factor = plain.mean_repair() / composite
            kinds = [(values[2], values[0]), (1.0 - values[2], values[1])]
            repair = [(each, Exponential(np.asarray(1.0 / (factor * hours)))) for each, hours in kinds]
        elif parameters.repair is not None:
            repair = Rescaled.to_mean("repair", parameters.repair.distribution(), plain.mean_repair())
        return cls(tray, repair, plain.rack)

    def kinds(self, which: str) -> list[tuple[float, Distribution]]:
        """Kinds of repair with their shares; `which` is ``"repair"`` or ``"rack_repair"``."""
        given = self.rack_repair if which == "rack_repair" and self.rack_repair is not None else self.repair
        if isinstance(given, Distribution):
            return [(1.0, given)]
        found = [(float(share(which, part)), family) for part, family in given]
        if not found or abs(sum(part for part, _ in found) - 1.0) > 1e-9:
            raise ArgumentError(f"{which}: the shares of the kinds of repair do not add to 1")
        return found

    def mean_repair(self, which: str = "repair") -> float:
        """Mean over all kinds, hours."""
        return float(sum(part * float(family.mean()) for part, family in self.kinds(which)))

    def means(self) -> DeviceFailures:
        """The means alone, as the closed form takes them (the MTTR is that of the trays)."""
        rack = np.inf if self.rack is None else float(self.rack.mean())
        return DeviceFailures(float(self.tray.mean()), rack, self.mean_repair())


@dataclass(frozen=True, eq=False)
class SparingSimulation:
    """What the simulated clusters did, beside the closed form.

    Attributes
    ----------
    replications : pandas.DataFrame
        A row a replication: shares of GPU hours (as `SparingEvaluation.shares`), ``hits`` (failures an hour that hit
        blocks of the job), ``stops`` (full stops an hour), ``blockings`` (an hour), ``events`` (simulated).
    closed_form : SparingEvaluation
        For the same means, under the paper's assumptions.
    down : ndarray, shape (blocks + 1,)
        Share of time in which so many blocks of a zone were down.
    years : float
        Simulated years of one replication, without the warm-up.
    level : float
        Level of the intervals.
    assumptions : dict from str to bool
        Which of the closed form's assumptions were kept.
    """

    replications: pd.DataFrame
    closed_form: SparingEvaluation
    down: FloatArray
    years: float
    level: float
    assumptions: dict[str, bool]

    @cached_property
    def shares(self) -> pd.DataFrame:
        """Shares of GPU hours: ``simulated`` with ``low`` and ``high``, ``closed_form``, and its relative ``error``."""
        names = list(SHARES)
        mean, half = self._mean_and_half(names)
        closed = np.array([float(self.closed_form.shares[name][0]) for name in names])
        error = np.divide(closed - mean, mean, out=np.full(mean.shape, np.nan), where=mean > 0.0)
        return pd.DataFrame(
            {"simulated": mean, "low": mean - half, "high": mean + half, "closed_form": closed, "error": error},
            index=pd.Index(names, name="share"),
        )

    def _mean_and_half(self, names: list[str]) -> tuple[FloatArray, FloatArray]:
        values = self.replications[names].to_numpy(dtype=np.float64)
        n = values.shape[0]
        spread = values.std(axis=0, ddof=1) / np.sqrt(n)
        return values.mean(axis=0), np.asarray(stats.t.ppf(0.5 + 0.5 * self.level, n - 1) * spread)

    @property
    def cett(self) -> float:
        """Mean over the replications."""
        return float(self.replications["useful"].mean())

    @property
    def cett_interval(self) -> tuple[float, float]:
        """Student's interval from the replications."""
        mean, half = self._mean_and_half(["useful"])
        return float(mean[0] - half[0]), float(mean[0] + half[0])

    @property
    def error(self) -> float:
        """How far the closed form's CETT is above the simulated one, relative."""
        mean = self.cett
        return float(self.closed_form.cett[0]) / mean - 1.0 if mean > 0.0 else float("inf")

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        low, high = self.cett_interval
        dropped = [name.replace("_", " ") for name, kept in self.assumptions.items() if not kept]
        about = "under its assumptions" if not dropped else f"without {', '.join(dropped)}"
        return (
            f"CETT is {100 * self.cett:.2f} % ({100 * low:.2f} to {100 * high:.2f}) over {len(self.replications)} "
            f"times {self.years:g} years; the closed form says {100 * float(self.closed_form.cett[0]):.2f} %, "
            f"{100 * self.error:+.2f} % off {about}."
        )

    def to_frame(self) -> pd.DataFrame:
        """A row a share of GPU hours."""
        return self.shares.reset_index()

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        rows = self.to_frame().astype(object)
        low, high = self.cett_interval
        return {
            "cett": self.cett,
            "cett_low": low,
            "cett_high": high,
            "level": self.level,
            "error": self.error,
            "replications": len(self.replications),
            "years": self.years,
            "assumptions": dict(self.assumptions),
            "shares": rows.where(rows.notna(), None).to_dict("records"),
            "sentence": self.sentence,
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Simulated shares beside those of the closed form."""
        from relfit.plotting.sparing import simulated_hours

        return simulated_hours(self, ax)

    def __repr__(self) -> str:
        return f"SparingSimulation: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        table = self.to_frame().to_html(escape=True, index=False, float_format="{:.4g}".format)
        return f"<p>{escape(self.sentence)}</p>{table}"


def simulate_sparing(
    cluster: Cluster,
    strategy: Strategies,
    devices: DeviceFailures | DeviceLives,
    recovery: Recovery | None = None,
    *,
    whole_block_repairs: bool = True,
    separate_racks: bool = True,
    undisturbed_recovery: bool | None = None,
    years: float = 10.0,
    replications: int = 8,
    precision: float | None = None,
    most_replications: int = 512,
    warm_up: Any = None,
    level: float = 0.95,
    rng: int | np.random.Generator | None = None,
    workers: int | None = None,
) -> SparingSimulation:
    """Simulate a cluster under one strategy, event by event.

    Every tray, rack and block has its own life; the job takes up working blocks, swaps failed ones for spares of their
    zone, goes back to its last checkpoint, and waits when a zone runs out.

    Parameters
    ----------
    cluster : Cluster
    strategy : Strategies
        One; without spare blocks the best number by the closed form is taken.
    devices : DeviceFailures or DeviceLives
        Means of exponential lives, or distributions of any family.
    recovery : Recovery, optional
        With the scheme `synchronous` or `SemiSynchronous`; a period of None is the best by the closed form.
    whole_block_repairs : bool
        True (the closed form): one repair restores all trays of a block. False: every tray is repaired by itself.
    separate_racks : bool
        True (the closed form): every block fails by itself at the rate of a rack. False: racks take all their blocks
        down together. Needs to be True when `whole_block_repairs` is.
    undisturbed_recovery : bool
        True: failures during detection and restart cost nothing. False: they start it again. As `recovery` says when
        left out, which is what the closed form takes too.
    years : float
        Simulated time of one replication, of 8760 hours each.
    replications : int
        At least two.
    precision : float, optional
        Go on, eight replications at a time, until the half-width of the interval is this share of CETT.
    most_replications : int
        Where `precision` gives up.
    warm_up : duration, optional
        Time that is not counted; twelve mean repairs when left out. Lives begin at random ages (in equilibrium).
    level : float
    rng : int or numpy.random.Generator, optional
        Replications have streams of their own: the result does not depend on the number of workers.
    workers : int, optional
        Threads.

    Returns
    -------
    SparingSimulation

    Raises
    ------
    ArgumentError
        For more than one strategy, a recovery scheme of the user's own, or settings that cannot be.

    Notes
    -----
    Trays without power (their rack is down; their block, when it is repaired as a whole) do not age. Idle spares fail
    like working devices. Spare trays take over at once; which of the running trays of a block are at work is random.

    Examples
    --------
    >>> cluster = Cluster(zones=2, racks=16, trays=8, gpus=8)
    >>> recovery = Recovery(save="1min", detection="1min", restart="5min")
    >>> found = simulate_sparing(cluster, Strategies(8, 1, 2), DeviceFailures(3000, 9000, 24), recovery, years=2, rng=1)
    >>> abs(found.error) < 0.02
    True
    """
    recovery = recovery or Recovery()
    lives = devices if isinstance(devices, DeviceLives) else DeviceLives.exponential(devices)
    if len(strategy) != 1:
        raise ArgumentError(f"{len(strategy)} strategies were given", remedy="simulate one: strategies.take([0])")
    if whole_block_repairs and not separate_racks:
        raise ArgumentError(
            "whole_block_repairs go with separate_racks", remedy="set whole_block_repairs=False to share racks"
        )
    undisturbed = not recovery.disturbed if undisturbed_recovery is None else bool(undisturbed_recovery)
    replications = int(whole("replications", replications, 2))
    years_ = float(positive("years", years))
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level is {level:g}", remedy="give a number between 0 and 1")
    closed = evaluate_sparing(cluster, strategy, lives.means(), recovery)
    run = _Run.of(cluster, closed, lives, recovery, whole_block_repairs, separate_racks, undisturbed)
    warm = _WARM_REPAIRS * run.mean_repair if warm_up is None else float(durations("warm_up", warm_up))
    expected = _events(cluster, closed, warm + years_ * _HOURS_A_YEAR)
    if expected > _MOST_EVENTS:
        raise ArgumentError(f"a replication would hold about {expected:.1g} events", remedy="simulate fewer years")
    generator = np.random.default_rng(rng)
    rows, down = run.replicate(generator.spawn(replications), warm, years_ * _HOURS_A_YEAR, workers)
    wanted = None if precision is None else float(positive("precision", precision))
    while wanted is not None and len(rows) < most_replications:
        useful = rows[:, 0]
        half = stats.t.ppf(0.5 + 0.5 * level, len(rows) - 1) * useful.std(ddof=1) / np.sqrt(len(rows))
        if half <= wanted * useful.mean():
            break
        more, counted = run.replicate(generator.spawn(_ROUND), warm, years_ * _HOURS_A_YEAR, workers)
        rows, down = np.concatenate([rows, more]), np.concatenate([down, counted])
    exponential = all(
        isinstance(family, Exponential)
        for family in [lives.tray, *([lives.rack] if lives.rack else []), *(f for _, f in lives.kinds("repair"))]
    )
    kept = {
        "exponential_times": exponential and len(lives.kinds("repair")) == 1 and lives.rack_repair is None,
        "whole_block_repairs": whole_block_repairs,
        "separate_racks": separate_racks,
        "undisturbed_recovery": undisturbed is not recovery.disturbed,
    }
    return SparingSimulation(_table(rows, closed), closed, down.mean(axis=0), years_, float(level), kept)


def _events(cluster: Cluster, closed: SparingEvaluation, hours: float) -> float:
    """Failures and repairs that `hours` will bring, about."""
    f = closed.failures
    racks = cluster.zones * int(closed.blocks[0]) / float(f.mtbf_rack)
    return 2.0 * hours * (cluster.total_trays / float(f.mtbf_tray + f.mttr) + racks)


def _table(rows: FloatArray, closed: SparingEvaluation) -> pd.DataFrame:
    """The kernel's accounts as shares of all GPU hours."""
    from relfit.simulation.sparing_event_kernels import ACCOUNTS

    outside = {name: float(closed.shares[name][0]) for name in ("spare_trays", "spare_blocks", "stranded")}
    job = 1.0 - sum(outside.values())
    columns: dict[str, Any] = {}
    accounts = dict(zip(ACCOUNTS, rows.T, strict=True))
    for name in SHARES:
        columns[name] = np.full(len(rows), outside[name]) if name in outside else job * accounts.get(name, 0.0)
    columns["other"] = np.zeros(len(rows))
    for name in ("hits", "stops", "blockings"):
        columns[name] = accounts[name]
    columns["events"] = accounts["events"].astype(np.int64)
    return pd.DataFrame(columns)


@dataclass(frozen=True, eq=False)
class _Run:
    """Everything a replication needs but its random stream."""

    numbers: tuple[Any, ...]
    mean_repair: float
    blocks: int

    @classmethod
    def of(
        cls,
        cluster: Cluster,
        closed: SparingEvaluation,
        lives: DeviceLives,
        recovery: Recovery,
        whole_block: bool,
        own_racks: bool,
        undisturbed: bool,
    ) -> _Run:
        scheme = recovery.scheme
        if isinstance(scheme, SemiSynchronous):
            limit, unit, exchange = scheme.limit, scheme.unit, scheme.exchange
        elif scheme is synchronous:
            limit, unit, exchange = 0, 1, 0.0
        else:
            raise ArgumentError(
                "only synchronous and SemiSynchronous recovery can be simulated", remedy="evaluate the own scheme"
            )
        tables = [life_table("tray", lives.tray)]
        tables.append(remaining_table(tables[0]))
        if lives.rack is not None:
            tables.append(life_table("rack", lives.rack))
            tables.append(remaining_table(tables[2]))
        numbers = []
        for which in ("repair", "rack_repair"):
            kinds = lives.kinds(which)
            numbers.append(np.arange(len(tables), len(tables) + len(kinds)))
            numbers.append(np.cumsum([part for part, _ in kinds]))
            tables += [life_table(which, family) for _, family in kinds]
        blocks, size = int(closed.blocks[0]), int(closed.strategies.block_trays[0])
        rack = 2 if lives.rack is not None else -1
        settings = (
            cluster.zones, blocks, size, cluster.trays, int(closed.strategies.spare_trays[0]),
            int(closed.spare_blocks[0]), np.array(tables), LOW, STEP, 0, rack, 1, rack + 1, *numbers,
            whole_block, own_racks, not undisturbed, min(float(closed.period[0]), _NO_LIMIT), recovery.save,
            recovery.detection, recovery.restart, limit, unit, exchange,
        )  # fmt: skip
        longest = max(float(family.mean()) for which in ("repair", "rack_repair") for _, family in lives.kinds(which))
        return cls(settings, longest, blocks)

    def replicate(
        self, generators: list[np.random.Generator], warm: float, hours: float, workers: int | None
    ) -> tuple[FloatArray, FloatArray]:
        """Accounts and hours by blocks down, a row a replication."""
        from relfit.numeric.batches import over_groups
        from relfit.simulation.sparing_event_kernels import ACCOUNTS, simulate

        rows = np.zeros((len(generators), len(ACCOUNTS)))
        down = np.zeros((len(generators), self.blocks + 1))

        run: Any = simulate

        def work(first: int, last: int) -> None:
            for i in range(first, last):
                run(generators[i], *self.numbers, warm, warm + hours, rows[i], down[i])

        over_groups(_WEIGHT * np.arange(len(generators) + 1), work, workers)
        return rows, down
