"""The cluster of the sparing planner, the failures of its devices, its speed, and sparing strategies.

Sources: "Sparing strategies to minimize reliability impact on large training jobs", section 2.2, and for speed
equations 8 to 10, which are first approximations without measurements.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from relfit.base.arguments import durations, positive, share, whole
from relfit.base.arrays import Durations, FloatArray, IntArray
from relfit.base.errors import ArgumentError


@dataclass(frozen=True)
class Cluster:
    """A cluster of equal sparing zones, each with equal racks of trays of GPUs; all numbers are 1 by default.

    Attributes
    ----------
    zones : int
        Sparing zones (the paper's B): a spare replaces only devices of its own zone.
    racks : int
        Racks per zone.
    trays : int
        Trays per rack.
    gpus : int
        GPUs per tray.
    group : int, optional
        GPUs that must be placed in one zone. The working blocks of a zone are then a multiple of the blocks of one
        group (equation 6). By default there is no such rule.
    partial_groups : bool
        If blocks do not divide the group: omit the strategy (False, the default), or use the last block of a group
        partly and count the rest as stranded (True).
    shared_racks : bool
        Whether a rack with several blocks takes them down together (True, the default), or each block has its own rack
        that fails independently (False): the paper's convention, which gives far too few spares.

    Examples
    --------
    >>> cluster = Cluster(zones=4, racks=256, trays=36, gpus=2, group=2304)
    >>> cluster.total_gpus, cluster.blocks(18)
    (73728, 512)
    """

    zones: int = 1
    racks: int = 1
    trays: int = 1
    gpus: int = 1
    group: int | None = None
    partial_groups: bool = False
    shared_racks: bool = True

    def __post_init__(self) -> None:
        for name in ("zones", "racks", "trays", "gpus"):
            object.__setattr__(self, name, int(whole(name, getattr(self, name), 1)))
        if self.group is not None:
            object.__setattr__(self, "group", int(whole("group", self.group, 1)))

    @property
    def total_trays(self) -> int:
        """Trays of the cluster."""
        return self.zones * self.racks * self.trays

    @property
    def total_gpus(self) -> int:
        """GPUs of the cluster."""
        return self.total_trays * self.gpus

    def blocks(self, block_trays: int) -> int:
        """Blocks per zone, if a block has `block_trays` trays; an `ArgumentError` if they do not divide a rack."""
        size = int(whole("block_trays", block_trays, 1))
        if self.trays % size:
            what = f"block_trays = {size} does not divide a rack of {self.trays} trays"
            raise ArgumentError(what, remedy=f"use one of {', '.join(map(str, self.block_sizes()))}")
        return self.racks * self.trays // size

    def block_sizes(self) -> list[int]:
        """Numbers of trays that a block can have: the divisors of a rack."""
        return [size for size in range(1, self.trays + 1) if self.trays % size == 0]


@dataclass(frozen=True, eq=False)
class DeviceFailures:
    """Mean times between failures and to repair, in hours; any durations of shapes that broadcast are accepted.

    Attributes
    ----------
    mtbf_tray : ndarray
        Mean time between failures of one tray that affect only this tray.
    mtbf_rack : ndarray
        Mean time between failures of one rack that affect all its trays; infinite (the default) for none.
    mttr : ndarray
        Mean time to repair, over all repairs; 0 by default.

    Examples
    --------
    >>> failures = DeviceFailures(mtbf_tray="20000h", mtbf_rack=10_000, mttr="1 day")
    >>> float(failures.mttr)
    24.0

    All combinations of MTBF and MTTR:

    >>> DeviceFailures([[1000, 2000, 4000]], mttr=[[6], [24]]).shape
    (2, 3)
    >>> DeviceFailures(0, 10_000, 24)
    Traceback (most recent call last):
    relfit.base.errors.ArgumentError: mtbf_tray is 0 hours; it must be above zero
    """

    mtbf_tray: FloatArray
    mtbf_rack: FloatArray
    mttr: FloatArray

    def __init__(self, mtbf_tray: Durations, mtbf_rack: Durations = np.inf, mttr: Durations = 0.0) -> None:
        values = {
            "mtbf_tray": durations("mtbf_tray", mtbf_tray, zero=False, infinite=True),
            "mtbf_rack": durations("mtbf_rack", mtbf_rack, zero=False, infinite=True),
            "mttr": durations("mttr", mttr),
        }
        try:
            arrays = np.broadcast_arrays(*values.values())
        except ValueError as error:
            what = "mtbf_tray, mtbf_rack and mttr have shapes that do not go together"
            raise ArgumentError(what, remedy="use a grid") from error
        for name, array in zip(values, arrays, strict=True):
            object.__setattr__(self, name, array)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the arrays; empty for one case."""
        return self.mtbf_tray.shape

    def take(self, index: IntArray | slice | int) -> DeviceFailures:
        """Some of the cases, by positions, a slice or one position."""
        return DeviceFailures(self.mtbf_tray[index], self.mtbf_rack[index], self.mttr[index])


@dataclass(frozen=True, eq=False)
class Strategies:
    """Sparing strategies: a block size, spare trays in every block, and spare blocks in every zone.

    Attributes
    ----------
    block_trays : ndarray of int, shape (s,)
        Trays per block (K).
    spare_trays : ndarray of int, shape (s,)
        Spare trays per block (J); 0 by default.
    spare_blocks : ndarray of int, shape (s,), or None
        Spare blocks per zone (R); None, the default, chooses the best number.

    Examples
    --------
    >>> Strategies([36, 36, 18], [0, 4, 2]).labels(gpus=2)
    ['72/72', '72/64', '36/32']
    """

    block_trays: IntArray
    spare_trays: IntArray
    spare_blocks: IntArray | None

    def __init__(
        self, block_trays: npt.ArrayLike, spare_trays: npt.ArrayLike = 0, spare_blocks: npt.ArrayLike | None = None
    ) -> None:
        numbers = [whole("block_trays", block_trays, 1), whole("spare_trays", spare_trays, 0)]
        if spare_blocks is not None:
            numbers.append(whole("spare_blocks", spare_blocks, 0))
        try:
            arrays = [np.atleast_1d(array) for array in np.broadcast_arrays(*numbers)]
        except ValueError as error:
            raise ArgumentError("block_trays, spare_trays and spare_blocks have different lengths") from error
        if arrays[0].ndim != 1 or not arrays[0].size:
            raise ArgumentError("strategies must be a list of at least one")
        for trays, spares in zip(arrays[0].tolist(), arrays[1].tolist(), strict=True):
            if spares >= trays:
                raise ArgumentError(f"spare_trays = {spares} leaves no working tray in a block of {trays}")
        object.__setattr__(self, "block_trays", arrays[0])
        object.__setattr__(self, "spare_trays", arrays[1])
        object.__setattr__(self, "spare_blocks", arrays[2] if spare_blocks is not None else None)

    def __len__(self) -> int:
        return int(self.block_trays.size)

    @classmethod
    def of_gpus(
        cls,
        cluster: Cluster,
        block: npt.ArrayLike,
        working: npt.ArrayLike | None = None,
        spare_blocks: npt.ArrayLike | None = None,
    ) -> Strategies:
        """Strategies by GPUs and working GPUs per block, as in the paper.

        Parameters
        ----------
        cluster : Cluster
        block, working : array_like of int
            GPUs per block; working ones, all by default.
        spare_blocks : array_like of int, optional
            Spare blocks per zone; the best number by default.

        Raises
        ------
        ArgumentError
            If they are not complete trays, or more GPUs work than the block has.

        Examples
        --------
        >>> Strategies.of_gpus(Cluster(trays=36, gpus=2), [72, 36], [64, 36]).spare_trays.tolist()
        [4, 0]
        """
        size = whole("block", block, 1)
        used = size if working is None else whole("working", working, 1)
        for name, values in (("block", size), ("working", used)):
            if (values % cluster.gpus).any():
                raise ArgumentError(f"{name} GPUs must be whole trays of {cluster.gpus} GPUs")
        if np.any(used > size):
            raise ArgumentError("working GPUs are more than the block has")
        return cls(size // cluster.gpus, (size - used) // cluster.gpus, spare_blocks)

    @classmethod
    def every(cls, cluster: Cluster, most_spare_trays: int | None = None) -> Strategies:
        """Every block size that divides a rack with every number of spare trays.

        Parameters
        ----------
        cluster : Cluster
        most_spare_trays : int, optional
            Largest number of spare trays per block; all but one by default.

        Examples
        --------
        >>> len(Strategies.every(Cluster(trays=36, gpus=2)))
        91
        """
        pairs = [
            (size, spare)
            for size in cluster.block_sizes()
            for spare in range(size if most_spare_trays is None else min(size, most_spare_trays + 1))
        ]
        return cls(*np.array(pairs).T)

    def labels(self, gpus: int = 1) -> list[str]:
        """GPUs and working GPUs per block, as in ``"72/64"``."""
        working = self.block_trays - self.spare_trays
        return [f"{k * gpus}/{w * gpus}" for k, w in zip(self.block_trays.tolist(), working.tolist(), strict=True)]

    def with_spare_blocks(self, spare_blocks: npt.ArrayLike) -> Strategies:
        """The same block sizes and spare trays with these numbers of spare blocks."""
        return Strategies(self.block_trays, self.spare_trays, spare_blocks)

    def take(self, index: IntArray | slice | int) -> Strategies:
        """Some of the strategies, by positions, a slice or one position."""
        spare = None if self.spare_blocks is None else self.spare_blocks[index]
        return Strategies(self.block_trays[index], self.spare_trays[index], spare)

    def check(self, cluster: Cluster) -> IntArray:
        """Blocks per zone for every strategy; an `ArgumentError` if they do not divide a rack or none can work."""
        sizes = {size: cluster.blocks(size) for size in np.unique(self.block_trays).tolist()}
        blocks = np.array([sizes[size] for size in self.block_trays.tolist()], dtype=np.int64)
        if self.spare_blocks is not None:
            for spare, count in zip(self.spare_blocks.tolist(), blocks.tolist(), strict=True):
                if spare >= count:
                    raise ArgumentError(f"spare_blocks = {spare} leaves no working block of the {count} in a zone")
        return blocks


@dataclass(frozen=True)
class PowerHeadroom:
    """The speed-up of working trays from the power of idle spare trays: 1 + (1 - ECC)(sqrt(P_S / P_R) - 1).

    Attributes
    ----------
    exposed : float
        ECC, the share of time with exposed communication.
    idle : float
        Power of an idle tray relative to one at its limit, which gives P_S / P_R = (K - J idle) / (K - J); 0 by
        default.
    ratio : float, optional
        Measured P_S / P_R for every block with spare trays, instead of `idle`.

    Notes
    -----
    Source: sparing paper, equation 8. With 4 idle trays of 36 at 28 % of the limit the others have 9 % more, and at an
    exposure of 0.228 gain 3.4 %, the values of its section 4.1 (which prints neither share).

    Examples
    --------
    >>> PowerHeadroom(exposed=0.228, idle=0.28)(72, 64).round(3).tolist()
    1.034
    """

    exposed: float
    idle: float = 0.0
    ratio: float | None = None

    def __post_init__(self) -> None:
        share("exposed", self.exposed)
        share("idle", self.idle)
        if self.ratio is not None:
            positive("ratio", self.ratio)

    def __call__(self, block: npt.ArrayLike, working: npt.ArrayLike) -> FloatArray:
        """Speed of blocks of `block` GPUs, `working` of which work, relative to blocks without spare trays."""
        size, used = np.asarray(block, dtype=np.float64), np.asarray(working, dtype=np.float64)
        power = (size - (size - used) * self.idle) / used
        if self.ratio is not None:
            power = np.where(used < size, self.ratio, 1.0)
        return np.asarray(1.0 + (1.0 - self.exposed) * (np.sqrt(power) - 1.0))


@dataclass(frozen=True)
class TensorParallel:
    """The speed-up of a model from tensor parallelism over the working GPUs of a block, relative to `baseline` GPUs.

    Attributes
    ----------
    alpha : float
        Exposed communication in the limit of unbounded parallelism.
    baseline : int
        GPUs at which the factor is one.

    Notes
    -----
    Source: sparing paper, equations 9 and 10; its table takes alpha = 0.204 (not printed) and a baseline of 16.

    Examples
    --------
    >>> TensorParallel(0.204, 16)([72, 64, 36, 32, 18, 16]).round(2).tolist()
    [1.18, 1.17, 1.12, 1.11, 1.02, 1.0]
    """

    alpha: float
    baseline: int = 16

    def __post_init__(self) -> None:
        positive("alpha", self.alpha, zero=True)
        whole("baseline", self.baseline)

    def __call__(self, working: npt.ArrayLike) -> FloatArray:
        """Speed of blocks with `working` GPUs at work, relative to `baseline`."""
        used = np.asarray(working, dtype=np.float64)
        time = 1.0 / used + self.alpha * (used - 1.0) / used
        start = 1.0 / self.baseline + self.alpha * (self.baseline - 1.0) / self.baseline
        return np.asarray(start / time)


@dataclass(frozen=True)
class Performance:
    """Speed of a working GPU relative to a baseline.

    Attributes
    ----------
    hardware : PowerHeadroom, optional
        Factor of the hardware; 1 by default.
    model : TensorParallel, optional
        Factor of the model; 1 by default.

    Examples
    --------
    >>> Performance(model=TensorParallel(0.204)).scales(72, 64)[1].round(2).tolist()
    1.17
    """

    hardware: PowerHeadroom | None = None
    model: TensorParallel | None = None

    def scales(self, block: npt.ArrayLike, working: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Factors of the hardware and of the model, for blocks of `block` GPUs, `working` of which work."""
        size, used = np.broadcast_arrays(np.asarray(block, dtype=np.float64), np.asarray(working, dtype=np.float64))
        hardware = np.ones(used.shape) if self.hardware is None else self.hardware(size, used)
        return hardware, np.ones(used.shape) if self.model is None else self.model(used)
