"""The commands that ask whether failures depend on each other, and that join those that belong together: incidents."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import relfit as rf
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.output import Answered, Answers
from relfit.cli.progress import ProgressSteps

_LARGEST = 12  # incidents shown


def dependence(
    reading: opt.PartReading,
    to: output.Output,
    window: str = opt.option("TIME", "Failures of two nodes within this time count as together.", "1h"),
    place: opt.Group = None,
    correlation: str = opt.option("NAME", "Correlation between nodes: spearman, pearson or kendall.", "spearman"),
    alpha: opt.Alpha = 0.05,
    seed: opt.Seed = 0,
    details: opt.Details = False,
) -> None:
    """Test whether failures depend on each other.

    --out writes one row per question with its finding; into a folder, the tables behind them too.
    """
    checked.duration("--window", window)
    checked.choice("--correlation", correlation, ("spearman", "pearson", "kendall"))
    with ProgressSteps("reading", "testing", "writing") as steps:
        full_log = reading.read()
        checked.column("--place", place, ("system", *full_log.attributes))
        study = reading.study(full_log, at="long run", rng=seed)
        log = study.used.log
        steps.next()
        result = rf.dependence(log, window=window, place=place, method=correlation, alpha=alpha, rng=seed)
        steps.next()
        answers, questions = Answers(), result.to_frame()
        for key, question, headline in zip(*(questions[name] for name in ("part", "question", "finding")), strict=True):
            part = getattr(result, key)
            title = f"{question[:1].upper()}{question[1:]}"
            answer = Answered(key, title, headline, problem="" if part is not None else headline)
            if part is not None:
                answer.document = part.to_dict
                _DETAILS[key](answer, part, alpha)
                if part.depends is None:  # nothing to look at
                    answer.shown, answer.figures = {}, []
            answers.all.append(answer)
        with answers.asking("bursts", "Along time: bursts") as answer:
            part = rf.screening.bursts(log, alpha=alpha, rng=seed)
            answer.text, answer.document = part.headline, part.to_dict
            answer.tables = {"bursts": part.table, "bursts_by_delay": part.by_delay}
            status = "no answer" if part.depends is None else "ok"
            questions.loc[len(questions)] = ["bursts", "along time: bursts", status, part.depends, part.headline]
            if part.depends is not None:
                names = ["scope", "kind", "incidents", "branching", "low", "high", "mean_delay", "following", "p"]
                answer.shown = {"further incidents that follow one (delay in hours)": part.table[names]}
                answer.figures = [("bursts", partial(rf.plotting.bursts, part))]
        notes = " ".join(f"{note[:1].upper()}{note[1:]}." for note in result.notes)
        answers.all.append(Answered("questions", "Notes", notes, tables={"questions": questions}))
        answers.show(study.used, to, "questions", result.headline, details=details)


def _correlation(answer: Answered, part: rf.independence.Correlations, alpha: float) -> None:
    answer.tables = {"correlation_classes": part.classes, "correlated_pairs": part.pairs(1000)}
    answer.shown = {"classes of |r|": part.classes}
    significant = part.p_adjusted <= alpha
    if significant.any():
        answer.shown["most significant pairs"] = part.pairs(min(int(significant.sum()), 10))
    answer.figures = [
        ("correlations", partial(rf.plotting.correlations, part)),
        ("correlation_classes", partial(rf.plotting.correlation_classes, part)),
    ]


def _together(answer: Answered, part: rf.independence.Cofailures, alpha: float) -> None:
    frame = part.table.reset_index(drop=part.table.index.names == [None])
    answer.tables = {f"together_by_{part.per}": frame}
    if part.pairs is not None:
        answer.tables[f"pairs_together_by_{part.per}"] = part.pairs.head(1000)
    worst = frame.sort_values("p", kind="stable").drop(columns="status", errors="ignore")
    answer.shown = {f"by {part.per}, most significant first": worst}
    answer.figures = [(f"together_by_{part.per}", partial(rf.plotting.failing_together, part))]


def _serial(answer: Answered, part: rf.independence.SerialTests, alpha: float) -> None:
    answer.tables = {"serial_tests": part.to_frame()}
    rejected = part.rejected(alpha).rename_axis("test").reset_index()
    answer.shown = {f"nodes that a test rejects at {alpha:g}": rejected}
    answer.figures = [
        ("durbin_watson", partial(rf.plotting.durbin_watson, part, alpha=alpha)),
        ("autocorrelation", partial(rf.plotting.autocorrelation, part, alpha=alpha)),
    ]


def _pooled(answer: Answered, part: rf.independence.PooledTests, alpha: float) -> None:
    frame = part.to_frame()
    answer.tables = {"pooled_tests": frame}
    step = max(-(-len(frame) // 8), 1)
    rows = sorted({*range(0, len(frame), step), len(frame) - 1})
    answer.shown = {"first k nodes (p: as if times were shuffled)": frame.iloc[rows]}
    answer.figures = [("durbin_watson_pooled", partial(rf.plotting.durbin_watson_pooled, part, alpha=alpha))]


def _dispersion(answer: Answered, part: rf.independence.Dispersion, alpha: float) -> None:
    answer.tables = {"dispersion": part.to_frame()}
    answer.shown = {"counts in bins of time": part.to_frame()}
    answer.figures = [("dispersion", partial(rf.plotting.dispersion, part))]


def _cycles(answer: Answered, part: rf.independence.Cycles, alpha: float) -> None:
    answer.tables = {"cycles": part.to_frame()}
    answer.shown = {"cycles": part.to_frame().assign(peak_hour=part.peak_times).rename(columns={"peak_hour": "peak"})}
    answer.figures = [(f"cycle_{name}", partial(rf.plotting.clock_cycle, part, cycle=name)) for name in part.names]


_DETAILS: dict[str, Callable[[Answered, Any, float], None]] = {
    "correlation": _correlation,
    "cofailure": _together,
    "place": _together,
    "serial": _serial,
    "pooled": _pooled,
    "dispersion": _dispersion,
    "cycles": _cycles,
}


def incidents(
    reading: opt.PartReading,
    to: output.Output,
    window: opt.Window = None,
    place: str = opt.option("COLUMN", "Join records of one system, node, rack or any other column.", "system"),
    level: opt.Level = 0.95,
    details: opt.Details = False,
) -> None:
    """Join related records into incidents.

    --out writes one row per incident; into a folder, rates, causes and times between records too.
    """
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
        with answers.asking("window", "How far apart records of one incident are") as answer:
            answer.text, answer.document = " ".join(result.findings[1:]), window_of.to_dict
            answer.tables = {"times_between": window_of.table}
            answer.figures = [
                ("incident_window", partial(rf.plotting.incident_window, window_of)),
                ("incidents_by_window", partial(rf.plotting.incidents_by_window, result)),
            ]
        with answers.asking("incidents", "What the records amount to") as answer:
            answer.text, answer.document = result.headline, result.to_dict
            rest = {"rates": rates, "rates_by_system": by_system, "causes": causes}
            answer.tables = {"incidents": result.table, **rest}
            answer.shown = {"rates by scope (incidents per hour of a unit)": rates, "causes": causes}
            answer.figures = [("incident_sizes", partial(rf.plotting.incident_sizes, result))]
        largest = result.table.sort_values("nodes", ascending=False, kind="stable").head(_LARGEST)
        if len(largest):
            names = ["system", "start", "records", "nodes", "duration", "cause", "scope"]
            begun = largest["start"].dt.tz_convert(used.log.source.timezone)
            short = largest[names].assign(start=begun.dt.strftime("%Y-%m-%d %H:%M"))
            answer.shown["largest incidents"] = short
        answers.show(used, to, "incidents", result.headline, details=details)
