"""The command that says how good predictions would have been on a log's own past."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.progress import ProgressSteps

if TYPE_CHECKING:
    from relfit.backtesting.backtest_results import Backtest

_PARTS = ("forecasts", "jobs", "nodes", "decisions")
_HORIZONS = ("30d", "90d")


def backtest(  # noqa: PLR0913 - one argument per option
    reading: opt.PastReading,
    to: opt.Output,
    parts: Annotated[
        list[str] | None, opt.option("NAME", f"{', '.join(_PARTS)}; all four when left out. Repeatable.")
    ] = None,
    horizon: Annotated[list[str] | None, opt.option("TIME", "Of forecasts: 30d and 90d. Repeatable.")] = None,
    every: Annotated[str | None, opt.option("TIME", "Time between two origins; 30 days or more by default.")] = None,
    size: Annotated[list[int] | None, opt.option("K", "Nodes of a job: 1, 16 and 64. Repeatable.", min=1)] = None,
    length: Annotated[list[str] | None, opt.option("TIME", "Of a job: 24h. Repeatable.")] = None,
    by: Annotated[str, opt.option("COLUMN", "Column with the kind of a failure.")] = "cause",
    group: Annotated[
        str | None, opt.option("COLUMN", "Column with the location of nodes; rack and the like by default.")
    ] = None,
    save: Annotated[str, opt.option("TIME", "Time to write a checkpoint.")] = "6min",
    restore: Annotated[str, opt.option("TIME", "Time to restore it.")] = "6min",
    service: Annotated[float, opt.option("P", "Probability that the stock of parts lasts.")] = 0.95,
    level: opt.Level = 0.9,
    details: opt.Details = False,
    seed: opt.Seed = 0,
) -> None:
    """Test predictions on the log's own past.

    At many past dates the time after is predicted from what was known then, and compared with the outcome and with
    simple counts. --out writes one row per prediction.
    """
    output.check_output(to)
    checked.probability("--level", level)
    checked.probability("--service", service)
    costs = rf.jobs.Checkpoint(save=checked.duration("--save", save), restore=checked.duration("--restore", restore))
    horizons = [_days("--horizon", text) for text in horizon or _HORIZONS]
    step = None if every is None else _days("--every", every)
    lengths = [checked.duration("--length", text, positive=True) for text in length or ("24h",)]
    for name in parts or ():
        checked.choice("--parts", name, _PARTS)
    with ProgressSteps("reading", "predicting the past", "writing") as steps:
        used = reading.study(reading.read(), "all").period
        steps.next()
        tested = rf.backtest(
            used.log,
            parts=parts or _PARTS,
            horizons=horizons,
            every=step,
            sizes=size or None,
            lengths=lengths,
            by=by,
            group=group,
            checkpoint=costs,
            service=service,
            level=level,
            progress=steps.say,
            rng=seed,
        )
        steps.next()
        pictures = [
            (part, partial(rf.plot, tested, part=part)) for part in ("forecasts", "jobs") if part in tested.parts
        ]
        written = output.write_results(to, {"backtest": tested.table, "summary": tested.summary}, "backtest", pictures)
    if to.json:
        output.print_json({"period": used.to_dict(), **tested.to_dict()})
        return
    findings = list(tested.findings) if details else [*_brief(tested), output.MORE]
    lead = used.headline
    if used.name == "all":
        window = used.log.window
        lead = f"Tested on all of the log, {window.start:%Y-%m-%d} to {window.end:%Y-%m-%d}: forecasts of its own past."
    output.print_lines([lead, *findings, *written])


def _brief(tested: Backtest) -> list[str]:
    """The first sentence on each part, or all on a single one; the mark of trust, with its reason if not good."""
    firsts = [output.first_sentence(tested.sentences(part)[0]) for part in tested.parts if tested.sentences(part)]
    if len(tested.parts) == 1:
        firsts = tested.sentences(tested.parts[0])
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
