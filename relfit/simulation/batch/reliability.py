"""The reliability of each node as the allocation assumes it, estimated from the failures so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.fitting import fit
from relfit.log.lifedata import LifeData
from relfit.simulation.batch.engine_state import LOG_DOWN, Line
from relfit.simulation.engine.checked_settings import HOUR, in_seconds
from relfit.simulation.engine.records import Records


@dataclass(frozen=True, kw_only=True)
class EstimatedReliability:
    """Parameters of each node by maximum likelihood from its failures so far, estimated at regular intervals.

    Parameters
    ----------
    family : {"weibull", "exponential"}
        A node with too few failures for a Weibull fit gets an exponential one; a node without a failure never fails.
    every : duration
        Time between two estimates.
    history : ReplayedFailures, optional
        Failures before the simulation, at times below that of the first submission.
    since : float, optional
        Second at which `history` begins; by default the start of the simulation.

    References
    ----------
    The dissertation on reliability-aware allocation, chapter 5, which estimates every 1,000 minutes.
    """

    family: str = "weibull"
    every: Any = "1000min"
    history: Any = None
    since: float | None = None

    def __post_init__(self) -> None:
        if self.family not in ("weibull", "exponential"):
            raise ArgumentError(f"family {self.family!r} is not known", remedy="use weibull or exponential")

    @property
    def period(self) -> float:
        """Seconds between two estimates."""
        return in_seconds("every", self.every, zero=False)

    def parameters(self, n_nodes: int, log: Records[Line], start: float, now: float) -> tuple[FloatArray, FloatArray]:
        """Shape and scale (seconds) of each node at second `now`, by the log of the engine since `start`."""
        down = log[log["kind"] == LOG_DOWN]
        time, node, until = down["time"], down["node"], down["until"]
        begun = start if self.since is None else self.since
        if self.history is not None:
            before = self.history.time < start
            time = np.concatenate([self.history.time[before], time])
            node = np.concatenate([self.history.node[before], node])
            until = np.concatenate([(self.history.time + self.history.repair)[before], until])
        order = np.lexsort((time, node))
        time, node, until = time[order], node[order], until[order]
        first = np.concatenate([[True], node[1:] != node[:-1]]) if node.size else np.zeros(0, dtype=bool)
        entered = np.where(first, begun, np.concatenate([[begun], until[:-1]])[: node.size])
        lived = np.maximum(time - entered, 0.0) / HOUR
        last = pd.Series(until).groupby(node).last().reindex(range(n_nodes)).fillna(begun).to_numpy()
        open_time = np.maximum(now - last, 0.0) / HOUR
        groups = np.concatenate([node, np.arange(n_nodes)])
        order = np.argsort(groups, kind="stable")
        lives = LifeData(
            np.concatenate([lived, open_time])[order],
            np.concatenate([np.ones(node.size, dtype=bool), np.zeros(n_nodes, dtype=bool)])[order],
            np.searchsorted(groups[order], np.arange(n_nodes + 1)),
            pd.RangeIndex(n_nodes),
        )
        failures = np.bincount(node, minlength=n_nodes)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(failures > 0, HOUR * lives.total_time / failures, np.inf)
        shape = np.ones(n_nodes)
        if self.family == "weibull" and (failures > 1).any():
            fits = fit(lives, "weibull")["weibull"]
            good = fits.status == "ok"
            shape[good] = fits.parameters["shape"][good]
            scale[good] = HOUR * fits.parameters["scale"][good]
        return shape, scale
