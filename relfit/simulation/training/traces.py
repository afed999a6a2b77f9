"""The event trace of a training cluster: transitions of servers and jobs, states over time, the log of a site."""

from __future__ import annotations

import numpy as np
import pandas as pd

from relfit.base.errors import ArgumentError
from relfit.base.units import instant
from relfit.log.failurelog import FailureLog
from relfit.simulation.simulated_logs import log_of_outages
from relfit.simulation.training.cluster_state import STATES
from relfit.simulation.training.training_simulation import TrainingSimulation


def _trace_of(result: TrainingSimulation, replication: int | None = None) -> pd.DataFrame:
    """The trace of all replications, or that of the servers in one of them."""
    if result.trace is None:
        raise ArgumentError("the simulation kept no trace", remedy="simulate with trace=True")
    if replication is None:
        return result.trace
    trace = result.trace[(result.trace["replication"] == replication) & (result.trace["server"] >= 0)]
    if trace.empty:
        raise ArgumentError(f"there is no replication {replication}", remedy="they are counted from 0")
    return trace


def transitions(result: TrainingSimulation) -> pd.DataFrame:
    """How often servers went from one state to another, and jobs from one phase to another, per run.

    These are the arrows of Figure 1 of the AIReSim paper.

    Parameters
    ----------
    result : TrainingSimulation
        Simulated with ``trace=True``.

    Returns
    -------
    pandas.DataFrame
        ``of`` (server or job), ``before``, ``after`` and ``per_run``, the most frequent first.

    Raises
    ------
    ArgumentError
        When the simulation kept no trace.
    """
    trace = _trace_of(result)
    trace = trace[trace["before"] != "new"]
    of = np.where(trace["server"] < 0, "job", "server")
    counts = trace.groupby([of, trace["before"], trace["after"]], observed=True).size() / trace["replication"].nunique()
    table = counts.rename_axis(["of", "before", "after"]).rename("per_run").reset_index()
    return table.sort_values(["of", "per_run"], ascending=[True, False], ignore_index=True)


def states_over_time(result: TrainingSimulation, replication: int = 0) -> pd.DataFrame:
    """Servers in each state after every change in one replication; the index is the minute.

    Parameters
    ----------
    result : TrainingSimulation
        Simulated with ``trace=True``.
    replication : int
        Its number, from 0.

    Raises
    ------
    ArgumentError
        When the simulation kept no trace, or has no such replication.
    """
    trace = _trace_of(result, replication)
    table = pd.DataFrame(index=trace["minute"])
    before, after = (np.asarray(trace[name].cat.codes) for name in ("before", "after"))
    for code, state in enumerate(STATES, start=1):
        change = np.equal(after, code).astype(np.int64) - np.equal(before, code).astype(np.int64)
        if np.any(change):
            table[state] = change.cumsum()
    return table.groupby(level=0).last()


def failure_log(result: TrainingSimulation, replication: int = 0, start: object = "2026-01-01") -> FailureLog:
    """The failure log that a site would have of one replication: an outage from each failure to the repair's end.

    Its nodes are the servers of the working pool, observed from the start of the job to its end. A server ages only
    while it runs the job, so standby and waiting times make the log's mean time between failures longer.

    Parameters
    ----------
    result : TrainingSimulation
        Simulated with ``trace=True``.
    replication : int
        Its number, from 0.
    start : date or time
        When the job began; UTC where it has no zone.

    Returns
    -------
    FailureLog

    Raises
    ------
    ArgumentError
        When the simulation kept no trace, or has no such replication.
    """
    trace = _trace_of(result, replication)
    servers = result.parameters.working_pool_size
    out = [name for name in STATES if name not in ("idle", "active", "standby", "spare")]
    before, after = (trace[name].isin(out).to_numpy() for name in ("before", "after"))
    length = float(trace["minute"].max()) / 60.0
    inside = (trace["server"] < servers).to_numpy()
    begins, ends = trace[inside & after & ~before], trace[inside & before & ~after]
    table = pd.concat([begins.assign(down=1), ends.assign(down=0)]).sort_values(["server", "minute"], kind="stable")
    who, hours, down = table["server"].to_numpy(), table["minute"].to_numpy() / 60.0, table["down"].to_numpy() == 1
    same = np.concatenate([who[1:] == who[:-1], [False]])
    end = np.where(same, np.concatenate([hours[1:], [np.inf]]), np.inf)[down]
    alone = np.zeros(int(down.sum()), dtype=np.int64)  # the scope of each outage is a node
    outages = who[down].astype(np.int64), hours[down], np.where(np.isinf(end), 2.0 * length + 1.0, end), alone
    return log_of_outages("training", outages, None, servers, length, instant(start))
