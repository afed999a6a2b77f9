"""The state of a simulated cluster with spares: its settings, devices, jobs and accounts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray, IntArray
from relfit.simulation.engine.event_heap import EventHeap
from relfit.simulation.engine.records import Records

NOBODY = -1  # owner of a block that no job holds
TRAY, FIRST_OF_TRAY, RACK, FIRST_OF_RACK = range(4)
"""Rows of `Setup.tables`: times to failure when new, and from a random instant; those of racks only if they fail."""


class Accounts:
    """Accounts of a job's time in hours, and counts."""

    useful: float
    reduced: float
    saves: float
    rework: float
    detection: float
    restart: float
    blocked: float
    hits: float
    stops: float
    blockings: float
    events: float


ACCOUNTS = tuple(Accounts.__annotations__)


class ClusterClock:
    """The time in hours, and whether the warm-up is over."""

    now: float
    warmed: int


class JobState:
    """A job that runs on the cluster."""

    mode: int
    blocks: float  # blocks that it holds
    period: float  # work between two checkpoints
    ready: float  # when a recovery is over
    begun: float
    elapsed: float  # since the last checkpoint
    pending: float  # work since the last checkpoint
    missing: int  # blocks that it misses for want of spares
    away: int  # further blocks of units being brought back
    returns: int  # of how many failures these are
    head: int  # the first of these in `Plant.back_at` and `Plant.back`
    hit: int  # working blocks that this event struck
    lacking: int  # those of them without a spare


class DeviceRepairs(NamedTuple):
    """Repairs of trays, or of racks: of several kinds, or in stages by the number of earlier ones."""

    kinds: IntArray  # rows of `Setup.tables`
    shares: FloatArray  # share of the repairs of each kind and of those before it
    times: FloatArray  # mean hours, shape (stages, histories); no stages where repairs have no history
    success: FloatArray
    fixed: npt.NDArray[np.bool_]
    replacement: float  # hours until a new device is there; infinite where none comes


class Setup(NamedTuple):
    """Settings of the simulation."""

    zones: int
    blocks: int
    size: int
    spare_trays: int
    spare_blocks: int
    tables: FloatArray  # by `TRAY`, `FIRST_OF_TRAY`, `RACK`, `FIRST_OF_RACK`, then by kind of repair
    racks: int  # racks that can fail
    per_rack: int
    """Blocks of a rack, which takes them all down; 1: every block has a rack of its own (blocks fail independently)."""
    tray_repair: DeviceRepairs
    rack_repair: DeviceRepairs
    whole_block: bool
    """One repair restores all trays of a block (the paper's chain); else every tray is repaired by itself."""
    repeat: bool  # a failure during recovery starts it again
    period: float
    save: float
    detection: float
    restart: float
    limit: int
    unit: int
    exchange: float


class Plant(NamedTuple):
    """Trays, racks and blocks, and the jobs on them."""

    events: EventHeap
    failed: npt.NDArray[np.bool_]  # which trays are failed
    n_failed: IntArray  # failed trays of each block
    up: npt.NDArray[np.bool_]
    rack_up: npt.NDArray[np.bool_]
    outage: FloatArray  # hours without power so far of each block, or of each rack
    reckoned: FloatArray  # the part of these hours that each tray's next failure already allows for
    tray_repairs: IntArray  # earlier repairs of each tray, where repairs have a history
    rack_repairs: IntArray
    owner: IntArray  # job that holds each block, or `NOBODY`
    idle: IntArray
    n_idle: IntArray
    where: IntArray
    short: IntArray  # blocks that each job misses in each zone
    n_down: IntArray
    since: FloatArray
    back_at: FloatArray  # when units of a failure are back; a ring
    back: IntArray  # their blocks
    clock: Records[ClusterClock]
    job: Records[JobState]
    account: Records[Accounts]
    down_hours: FloatArray
