"""The command ``relfit survival``: Kaplan-Meier curves of the times of a log, and whether those of groups differ."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import relfit as rf
from relfit.base.errors import ArgumentError, DataError
from relfit.base.text import count, duration, duration_interval
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.progress import ProgressSteps

if TYPE_CHECKING:
    import pandas as pd

_AFTER = (1.0, 24.0, 168.0, 720.0, 8766.0, 26298.0, 43830.0)  # hours at which survival may be shown
_MOST_TIMES = 4  # of these
_NO_GROUP = ("duration", "observed", "entry")
_ONE_BY_ONE = "The test takes the times of one node as independent: where nodes differ, it rejects too often."


def survival(
    reading: opt.PartReading,
    to: output.Output,
    by: str | None = opt.option("COLUMN", "Compare the groups of this column, such as rack, with a log-rank test."),
    measure: str = opt.option("ttf|ttr", "Times to failure or times to repair.", "ttf"),
    after: list[str] | None = opt.option("TIME", "Show the survival after this time. Repeatable."),
    level: opt.Level = 0.95,
) -> None:
    """Kaplan-Meier curves, log-rank test.

    --out writes one row per step of each curve; into a folder, medians, survival and the test too.
    """
    checked.choice("--measure", measure, ("ttf", "ttr"))
    wanted = [checked.duration("--after", text, positive=True) for text in after or ()]
    with ProgressSteps("reading", "estimating", "writing") as steps:
        full_log = reading.read()
        used = reading.study(full_log).period
        steps.next()
        table, left_out = _times(full_log, used.log, measure, by)
        group = by or "group"
        table = table if by is not None else table.assign(group="all")
        how: dict[str, Any] = {"duration": "duration", "observed": "observed", "by": group}
        how |= {"entry": "entry"} if "entry" in table else {}
        curves = rf.kaplan_meier(table, level=level, **how)
        test = None if by is None else rf.log_rank(table, **how)
        medians, shares = _medians(curves, group), _shares(curves, group, wanted)
        one = {"ttf": "time to failure", "ttr": "time to repair"}[measure]
        findings = [_median(medians.iloc[0], one) if test is None else test.headline]
        if test is not None and table.duplicated(["system", "node"]).any():
            findings.append(_ONE_BY_ONE)
        if left_out:
            findings.append(f"Left out: {'; '.join(f'{name}: {number:,}' for name, number in left_out.items())}.")
        steps.next()
        tables = {
            "curves": curves.to_frame().rename_axis(group).reset_index(),
            "medians": medians,
            "survival": shares,
        }
        tables |= {} if test is None else {"log_rank": test.table}
        written = output.write_results(to, tables, "curves", [("survival", partial(rf.plot, curves))])
    if to.json:
        document = {"findings": findings, "period": used.to_dict(), "level": level, "left_out": left_out}
        document |= {"medians": medians, "survival": shares, "log_rank": None if test is None else test.to_dict()}
        output.print_json(document)
        return
    of_groups = [] if by is None else ["", *output.few_rows("medians (hours)", medians)]
    after_times = shares.assign(after=[duration(hours) for hours in shares["after"]])
    after_times = after_times if by is not None else after_times.drop(columns="group")
    title = f"survival ({100 * level:g} % intervals)"
    output.print_lines([used.headline, *findings, *of_groups, "", *output.few_rows(title, after_times), *written])


def _times(
    full_log: rf.FailureLog, log: rf.FailureLog, measure: str, by: str | None
) -> tuple[pd.DataFrame, dict[str, int]]:
    """One row per time with the value of a column as text, and how many are left out, by reason."""
    from relfit.analyses.regression.covariates import regression_table

    if measure == "ttf" and log.question is not None:
        full_log.ask()  # with the numbers that info gives
        log.ask()
    table, left_out = regression_table(log, measure)
    checked.column("--by", by, [name for name in table.columns if name not in _NO_GROUP])
    if by is not None:
        missing = int(table[by].isna().sum())
        left_out = {**left_out, **({f"no {by}": missing} if missing else {})}
        table = table[table[by].notna()].reset_index(drop=True)
        table[by] = table[by].astype(str)
    if not table["observed"].any():
        raise DataError("no time was observed to its end", remedy="take more of the log: --period all")
    if by is not None and (table[by] == table[by].iloc[0]).all():
        raise ArgumentError(f"--by {by} has one value, {table[by].iloc[0]}", remedy="leave it out, or take another")
    return table, left_out


def _medians(curves: rf.nonparametric.StepCurves, group: str) -> pd.DataFrame:
    """Times, those that ended, and their median in hours, one row per group."""
    import numpy as np

    ended = np.bincount(curves.codes(), curves.events, minlength=curves.n_groups).astype(int)
    table = curves.median().set_axis(["median", "median_low", "median_high"], axis=1).rename_axis(group)
    table.insert(0, "times", curves.sizes)
    table.insert(1, "ended", ended)
    return table.reset_index()


def _shares(curves: rf.nonparametric.StepCurves, group: str, after: list[float]) -> pd.DataFrame:
    """Survival of each group after some hours; missing where none of the group was observed for so long."""
    import numpy as np
    import pandas as pd

    last = float(np.nanmax(curves.seen_until()))
    hours = after or [time for time in _AFTER if time <= last][-_MOST_TIMES:] or [last]
    found = curves.interval(hours)
    seen = (found.status != "beyond_data").reshape(found.estimate.shape)
    ends = {"survival": found.estimate, "survival_low": found.low, "survival_high": found.high}
    return pd.DataFrame(
        {group: np.repeat(curves.groups.to_numpy(), len(hours)), "after": np.tile(hours, curves.n_groups)}
        | {name: np.where(seen, values, np.nan).ravel() for name, values in ends.items()}
    )


def _median(row: pd.Series, one: str) -> str:
    """The median of all times in a sentence."""
    of = f"{count(int(row['times']), 'time')}, {int(row['times'] - row['ended']):,} censored"
    if row["median"] == float("inf"):
        above = f": it is above {duration(row['median_low'])}" if row["median_low"] < float("inf") else ""
        return f"The median {one} is not reached{above}; {of}."
    return f"The median {one} is {duration_interval(row['median'], row['median_low'], row['median_high'])}; {of}."
