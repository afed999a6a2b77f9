"""Random numbers for compiled loops: one stream per purpose, so that a change of one leaves the others as they are.

SplitMix64 (Steele, Lea and Flood 2014): the state of a stream is one word; a model has those of all its purposes in one
array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from relfit.simulation.engine.records import entry

Streams = npt.NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_UNIT = 2.0**-53


def new_streams(n: int, seed: np.random.SeedSequence | Sequence[int]) -> Streams:
    """States of n streams, from a seed sequence, or from numbers such as the seed and the replication.

    Examples
    --------
    >>> streams = new_streams(2, [7, 0])
    >>> before = streams.copy()
    >>> 0.0 <= uniform(streams, 1) < 1.0, (streams == before).tolist()
    (True, [True, False])
    """
    sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(list(seed))
    return sequence.generate_state(n, np.uint64).astype(np.uint64)


@entry
def uniform(streams: Streams, purpose: int) -> float:
    """A uniform number in [0, 1)."""
    streams[purpose] += _STEP
    word = streams[purpose]
    word = (word ^ (word >> np.uint64(30))) * _MIX_1
    word = (word ^ (word >> np.uint64(27))) * _MIX_2
    word = word ^ (word >> np.uint64(31))
    return float(word >> np.uint64(11)) * _UNIT


@entry
def exponential(streams: Streams, purpose: int) -> float:
    """An exponential number of mean one."""
    return -math.log(1.0 - uniform(streams, purpose))


@entry
def below(streams: Streams, purpose: int, n: int) -> int:
    """A uniform integer from 0 to n - 1."""
    return int(uniform(streams, purpose) * n)
