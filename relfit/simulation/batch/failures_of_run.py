"""The sources of failures of a run: checked, and those of a log by the calendar of its jobs."""

from __future__ import annotations

from relfit.base.errors import ArgumentError
from relfit.fleet.calibration import Parameters
from relfit.io.workloads import Workload
from relfit.log.failurelog import FailureLog
from relfit.simulation.batch.failure_source import Failures, ReplayedFailures
from relfit.simulation.engine.repair_stages import listed

_REMEDIES = {
    FailureLog: "replay it, as ReplayedFailures.from_log(log), or draw alike: "
    "CalibratedFailures(parameters=rf.calibrate(log))",
    Parameters: "draw failures by them: CalibratedFailures(parameters=...)",
    object: 'give a source, as SystemFailures(mtbf="24h", repair="4h"), or several',
}


def sources_of(failures: object, workload: Workload) -> tuple[Failures, ...]:
    """The sources of failures of a workload; an `ArgumentError` for what is none."""
    for source in (sources := listed(failures)):
        if not isinstance(source, Failures):
            remedy = next(text for kind, text in _REMEDIES.items() if isinstance(source, kind))
            raise ArgumentError(f"failures: {str(source)[:100]!r} is no source of failures", remedy=remedy)
    return tuple(each.on_clock_of(workload) if isinstance(each, ReplayedFailures) else each for each in sources)
