"""The commands that say what to expect, and how good predictions would have been in the past: forecast, backtest."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.base.text import number, percent
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.progress import ProgressSteps

if TYPE_CHECKING:
    import pandas as pd

_HORIZONS = ("30d", "90d")
_CAUSE, _WHOLE = "cause", "whole system"
_CAUSES = 8
_VALUES = 20  # where a column is asked for
_RACKS = 8
_NAMES = {"incidents": "incidents", "failures": "failures", "repair_hours": "repair (h)"}
_PARTS = ("forecasts", "jobs", "nodes", "decisions", "all")
_REST = "--parts all tests jobs, nodes and checkpoints, too, which takes longer."


def forecast(
    reading: opt.PastReading,
    to: output.Output,
    at: opt.At = "now",
    horizon: list[str] | None = opt.option("TIME", "How far ahead: 30d and 90d. Repeatable."),
    by: str | None = opt.option("COLUMN", "One row per value of this column; cause in tables of --details."),
    group: opt.Group = None,
    service: opt.Service = 0.95,
    level: opt.Level = 0.95,
    details: opt.Details = False,
    draws: int = opt.option("N", "Number of random futures.", 4000, min=100, max=100_000),
    seed: opt.Seed = 0,
) -> None:
    """Failures, repairs and parts to expect.

    Intervals cover the future count, not its mean. --out writes one row per horizon and system, rack and
    cause.
    """
    if at == "now" and reading.period == "stable":
        raise ArgumentError("--period stable is for rates of the long run", remedy="add --at long-run")
    horizons = [checked.duration("--horizon", text, positive=True) for text in horizon or _HORIZONS]
    with ProgressSteps("reading", "forecasting", "writing") as steps:
        log = reading.read()
        steps.next()
        otherwise = "all" if at == "now" else "stable"
        study = reading.study(log, otherwise, at=opt.at_of(at), group=group, level=level, rng=seed)
        ahead = study.forecast(horizons, period=study.asked_period, by=by or _CAUSE, service=service, n_draws=draws)
        steps.next()
        pictures = [("forecast", partial(rf.plot, ahead))]
        written = output.write_results(to, {"forecast": ahead.table}, "forecast", pictures)
    if to.json:
        output.print_json({"period": study.period.to_dict(), **ahead.to_dict()})
        return
    lines = [_basis(study), *ahead.findings, *(opt.end_as_seen(log) if at == "now" else [])]
    if by is not None and not details:
        lines = [text for text in lines if text != ahead.stock_headline]
        lines += ["", *_by_value(ahead), ""]
    for title, table, most in (
        ("All together", ahead.total, len(horizons)),
        (f"By {ahead.by}", ahead.by_cause, _CAUSES if by is None else _VALUES),
        ("By system", ahead.by_system if len(ahead.basis) > 1 else None, _RACKS),
        (f"By {ahead.group}", None if ahead.group is None else ahead.by_group, _RACKS),
    ):
        by_group = group is not None and title == f"By {group}"
        if (details or by_group) and table is not None and len(table):
            others = ahead.others_beside(most) if title == f"By {ahead.by}" else None
            lines += ["", f"{title} (expected, {100 * level:g} % prediction interval)", *_rows(table, most, others)]
            if title == f"By {ahead.group}" and _WHOLE in table["name"].to_numpy():
                lines.append(f"{_WHOLE}: incidents of half the nodes or more, of none named, or of one that has left")
    if not details:
        lines += [*([""] if group else []), output.TABLES]
    output.print_lines([*lines, *written])


def _basis(study: rf.Study) -> str:
    """Which part of the log the rates are from."""
    if study.at != "now" or isinstance(study.asked_period, tuple):
        return study.period.headline
    window = f"{study.log.window.start:%Y-%m-%d} to {study.log.window.end:%Y-%m-%d}"
    return f"Current rates, from all of the log ({window}): where they changed, recent weeks weigh most."


def _by_value(ahead: rf.fleet.Forecast) -> list[str]:
    """One row per value of the column: failures over each horizon, and the stock."""
    import pandas as pd

    longest = ahead.by_cause[ahead.by_cause["horizon"] == max(ahead.horizons)]
    names = longest.sort_values("failures", ascending=False, kind="stable")["name"].tolist()
    others = ahead.others_beside(_VALUES)
    more = len(names) - _VALUES if len(others) else 0  # one more has its own row
    names = names[:_VALUES] if more else names
    shown = pd.DataFrame({ahead.by: names})
    for hours in ahead.horizons:
        rows = ahead.by_cause[ahead.by_cause["horizon"] == hours].set_index("name").loc[names]
        shown[f"failures in {hours / 24.0:g} d"] = [_interval(row, "failures") for _, row in rows.iterrows()]
        shown[f"stock for {hours / 24.0:g} d"] = rows["stock"].to_numpy()
    if len(others):
        days = [f"failures in {hours / 24.0:g} d" for hours in others["horizon"]]
        columns = dict(zip(days, (_interval(row, "failures") for _, row in others.iterrows()), strict=True))
        shown.loc[len(shown)] = {ahead.by: others["name"].iloc[0], **columns}
    left_out = [f"... {more} more; --out FILE writes all of them"] if more else []
    stock = f"Stock: parts that last with probability {percent(ahead.service)}, one per failure"
    none = "; none of a cause without a part" if longest["stock"].isna().any() else ""
    return [*output.table(shown), *left_out, f"{stock}{none}."]


def _interval(row: pd.Series, column: str) -> str:
    """An expected value with its interval."""
    return f"{number(row[column])} ({number(row[f'{column}_low'])}-{number(row[f'{column}_high'])})"


def _rows(table: pd.DataFrame, most: int, others: pd.DataFrame | None = None) -> list[str]:
    """The rows with the most failures for each horizon, and those of the others together, as text."""
    import pandas as pd

    longest = table[table["horizon"] == table["horizon"].max()].sort_values("failures", ascending=False, kind="stable")
    named = "name" in table
    if named:
        most = len(longest) if others is not None and not len(others) else most  # one more has its own row
        names = longest["name"].head(most)
        table = table.set_index("name").loc[names.tolist()].reset_index()
        if others is not None and len(others):
            table = pd.concat([table, others.assign(stock=pd.array([pd.NA] * len(others), "Int64"))], ignore_index=True)
        table = table.sort_values("horizon", kind="stable")
    shown = pd.DataFrame({"days": table["horizon"] / 24.0})
    if named:
        shown.insert(0, "name", table["name"])
    for column, title in _NAMES.items():
        if column == "repair_hours" and not table[column].any():  # no repair was seen to end
            continue
        shown[title] = [_interval(row, column) for _, row in table.iterrows()]
    if table["stock"].notna().any():
        shown["stock"] = table["stock"]
    lines = output.table(shown)
    if named and len(longest) > most:
        lines.append(f"... {len(longest) - most} more; --out FILE writes all of them")
    return lines


def backtest(  # noqa: PLR0913 - one argument per option
    reading: opt.PastReading,
    to: output.Output,
    parts: list[str] | None = opt.option("NAME", "forecasts (default), jobs, nodes, decisions; or all. Repeatable."),
    horizon: list[str] | None = opt.option("TIME", "Of forecasts: 30d and 90d. Repeatable."),
    every: str | None = opt.option("TIME", "Time between two origins; 30 days or more by default."),
    size: list[int] | None = opt.option("K", "Nodes of a job: 1, 16 and 64. Repeatable.", min=1),
    length: list[str] | None = opt.option("TIME", "Of a job: 24h. Repeatable."),
    by: str = opt.option("COLUMN", "Column with the kind of a failure.", "cause"),
    group: opt.Group = None,
    save: str | None = opt.option("TIME", "Time to write a checkpoint; 6min by default."),
    restore: str | None = opt.option("TIME", "Time to restore it; 6min by default."),
    service: opt.Service = 0.95,
    level: opt.Level = 0.9,
    details: opt.Details = False,
    seed: opt.Seed = 0,
) -> None:
    """Test predictions on the log's own past.

    From many past dates, the time after each is predicted from what was known at that date. Predictions are compared
    with the outcome and with simple counts. --out writes one row per prediction.
    """
    costs = None
    if save is not None or restore is not None:
        times = checked.duration("--save", save or "6min"), checked.duration("--restore", restore or "6min")
        costs = rf.jobs.Checkpoint(save=times[0], restore=times[1])
    horizons = [_days("--horizon", text) for text in horizon or _HORIZONS]
    step = None if every is None else _days("--every", every)
    lengths = [checked.duration("--length", text, positive=True) for text in length or ()] or None
    for name in parts or ():
        checked.choice("--parts", name, _PARTS)
    with ProgressSteps("reading", "predicting the past", "writing") as steps:
        used = reading.study(reading.read(), "all").period
        steps.next()
        asked: dict[str, Any] = {"horizons": horizons, "every": step, "sizes": size or None, "lengths": lengths}
        asked |= {"by": by, "group": group, "checkpoint": costs, "service": service, "level": level}
        tested = rf.backtest(used.log, parts=parts, progress=steps.say, rng=seed, **asked)
        steps.next()
        drawn = [part for part in ("forecasts", "jobs") if part in tested.parts]
        pictures = [(part, partial(rf.plot, tested, part=part)) for part in drawn]
        written = output.write_results(to, {"backtest": tested.table, "summary": tested.summary}, "backtest", pictures)
    if to.json:
        output.print_json({"period": used.to_dict(), **tested.to_dict()})
        return
    brief = _brief(tested, parts is not None and len(tested.parts) == 1)
    findings = list(tested.findings) if details else [*brief, *([] if parts else [_REST]), output.MORE]
    lead = used.headline
    if used.name == "all":
        window = used.log.window
        lead = f"Tested on all of the log, {window.start:%Y-%m-%d} to {window.end:%Y-%m-%d}: forecasts of its own past."
    output.print_lines([lead, *findings, *written])


def _brief(tested: rf.backtesting.Backtest, single: bool) -> list[str]:
    """The first sentence on each part, or all on a single one; the mark of trust, with its reason if not good."""
    each = [tested.sentences(part) for part in tested.parts]
    firsts = each[0] if single else [output.first_sentence(texts[0]) for texts in each if texts]
    firsts = [text for text in firsts if text not in tested.headline]
    if not {"forecasts", "jobs"} & set(tested.parts):
        return [tested.headline, *firsts, *tested.refutations]
    if not tested.trust:
        return [tested.headline, *firsts, *tested.refutations, tested.trust_reason]
    trust, reason = f"Trust: {tested.trust}", output.first_sentence(tested.trust_reason)
    what, _, why = reason.removeprefix("Past ").partition(" were ")
    if tested.trust == "good":
        trust += "."
    elif why and why.rstrip(".") in tested.headline:  # said above
        trust += f", by the {what}."
    else:
        trust += f". {reason}"
    return [tested.headline, *firsts, *tested.refutations, trust]


def _days(option: str, text: str) -> float:
    """Hours of some whole days."""
    hours = checked.duration(option, text, positive=True)
    if hours % 24.0:
        raise ArgumentError(f"{option} {text!r} is not a number of whole days", remedy="write 30d or the like")
    return hours
