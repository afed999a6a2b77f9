"""How long calls take."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["spent"]


def spent(work: Callable[[], object], times: int = 1, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Seconds by `clock` of each of so many calls, in rising order."""
    found = []
    for _ in range(times):
        start = clock()
        work()
        found.append(clock() - start)
    return sorted(found)
