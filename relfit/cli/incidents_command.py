"""The command that counts failures once: incidents."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import relfit as rf
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.output import Answered, Answers
from relfit.cli.progress import ProgressSteps

_LARGEST = 12  # incidents shown


def incidents(
    reading: opt.PartReading,
    to: opt.Output,
    window: Annotated[
        str | None, opt.option("TIME", "Join records closer than this, as 30min; estimated by default.")
    ] = None,
    place: Annotated[
        str, opt.option("COLUMN", "Join records of one system, node, rack or any other column.")
    ] = "system",
    level: opt.Level = 0.95,
    details: opt.Details = False,
) -> None:
    """Join related records to incidents.

    --out writes one row per incident; into a folder, rates, causes and times between records too.
    """
    output.check_output(to)
    checked.probability("--level", level)
    with ProgressSteps("reading", "joining", "writing") as steps:
        used = reading.study(reading.read()).period
        steps.next()
        result = rf.incidents(used.log, window, place, level=level)
        steps.next()
        window_of, rates, causes = result.window, result.rates(), result.causes().reset_index()
        by_system = result.rates("system")
        if used.log.question is not None:  # how many nodes and racks there are is not known
            rates, by_system = output.of_systems(rates), output.of_systems(by_system)
        answers = Answers()
        answers.all = [
            Answered(
                "window",
                "How far apart records of one incident are",
                " ".join(result.findings[1:]),
                tables={"times_between": window_of.table},
                document=window_of.to_dict,
                figures=[
                    ("incident_window", partial(rf.plotting.incident_window, window_of)),
                    ("incidents_by_window", partial(rf.plotting.incidents_by_window, result)),
                ],
            ),
            Answered(
                "incidents",
                "What the records amount to",
                result.headline,
                document=result.to_dict,
                tables={"incidents": result.table, "rates": rates, "rates_by_system": by_system, "causes": causes},
                shown={"rates by scope (incidents per hour of a unit)": rates, "causes": causes},
                figures=[("incident_sizes", partial(rf.plotting.incident_sizes, result))],
            ),
        ]
        largest = result.table.sort_values("nodes", ascending=False, kind="stable").head(_LARGEST)
        if len(largest):
            names = ["system", "start", "records", "nodes", "duration", "cause", "scope"]
            begun = largest["start"].dt.tz_convert(used.log.source.timezone)
            short = largest[names].assign(start=begun.dt.strftime("%Y-%m-%d %H:%M"))
            answers.all[-1].shown["largest incidents"] = short
        answers.show(used, to, "incidents", result.headline, details=details)
