"""Jobs that failures hardly ever let end: an error before the run, in place of a run without end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relfit.arguments import durations
from relfit.arrays import FloatArray
from relfit.batch.engine_state import SUBMITTED_LATER, Table
from relfit.batch.failure_parts import whole_of
from relfit.batch.failure_source import Failures, NodeFailures, SystemFailures
from relfit.batch.seconds import HOUR, in_seconds
from relfit.errors import DataError
from relfit.families import Exponential
from relfit.families.distribution import Distribution
from relfit.text import count

__all__ = ["REMEDY", "check_ends"]

MOST_ATTEMPTS = 1e6
"""Expected attempts of one job, or of its work up to its first checkpoint, that a run is begun with."""
REMEDY = "let jobs save (checkpoint), take such jobs out, or end the simulation somewhere (until)"


def check_ends(jobs: Table, sources: Sequence[Failures], n_nodes: int, job_id: Sequence[object]) -> None:
    """Reject jobs that would be begun over and over again.

    ``exp(rate time)`` attempts are expected until a time passes without a failure, with the rate of the nodes that fail
    least. Counted are failures whose rate depends on no age: further ones add attempts.

    Raises
    ------
    DataError
        Where more than `MOST_ATTEMPTS` are expected of a job.
    """
    rates = np.sort(_steady_rates(sources, n_nodes))
    tried = np.flatnonzero(jobs["status"] == SUBMITTED_LATER)
    if not tried.size or not rates.any():
        return
    own = jobs[tried]
    stretch = np.minimum(np.minimum(own["work"], own["every"] + own["save"]), own["walltime"])
    exponent = np.cumsum(rates)[own["nodes"] - 1] * stretch
    endless = int(np.count_nonzero(exponent > np.log(MOST_ATTEMPTS)))
    if not endless:
        return
    worst = int(np.argmax(exponent))
    length, gap = stretch[worst] / HOUR, stretch[worst] / exponent[worst] / HOUR
    what = (
        f"{count(endless, 'job')} would hardly ever end: job {job_id[int(tried[worst])]} has "
        f"{count(int(own['nodes'][worst]), 'node')} for {length:,.3g} h without a checkpoint, a failure every "
        f"{gap:,.3g} h, and so about 10^{exponent[worst] / np.log(10.0):,.0f} attempts"
    )
    raise DataError(what, remedy=REMEDY)


def _steady_rates(sources: Sequence[Failures], n_nodes: int) -> FloatArray:
    """Failures per second of each node, of the sources without memory."""
    rates = np.zeros(n_nodes)
    for source in sources:
        machine, n_machine, own = whole_of(source, n_nodes)
        if isinstance(machine, SystemFailures):
            rates += 1.0 / (n_machine * in_seconds("mtbf", machine.mtbf))
        elif isinstance(machine, NodeFailures):
            life = machine.life
            if isinstance(life, Distribution) and not isinstance(life, Exponential):
                continue
            mean = life.mean() if isinstance(life, Distribution) else durations("life", life)
            rates += 1.0 / (HOUR * np.broadcast_to(np.asarray(mean), (n_machine,))[own])
    return rates
