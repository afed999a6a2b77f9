"""The commands that ask what failures go with: changes over time, unequal nodes, repairs; attributes of nodes."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import relfit as rf
from relfit.base.errors import DataError, RelfitError
from relfit.base.text import count, first_names
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.output import Answers
from relfit.cli.progress import ProgressSteps

if TYPE_CHECKING:
    import pandas as pd

_PERIODS = 12  # shown
_NODES = 5  # shown
_HOURS_PER_YEAR = 8766.0
_FEW = 6  # findings, unless details are asked for
_COEFFICIENTS = 10  # of a formula, in the short answer
_OF_LIVES = (
    "No answer: lives of units have ages, and no rate over time. Use relfit fit LOG --per COLUMN to compare them, "
    "relfit regress LOG for their attributes."
)
_EFFECTS = ["measure", "attribute", "system", "term", "reference", "ratio", "low", "high", "p_adjusted"]


def trend(
    reading: opt.PartReading,
    to: output.Output,
    per: str = opt.option("COLUMN", "Test each node, system or value of a column.", "node"),
    alpha: opt.Alpha = 0.05,
    level: opt.Level = 0.95,
    seed: opt.Seed = 0,
    details: opt.Details = False,
) -> None:
    """Rate changes, and nodes that differ.

    Periods of constant rate over the whole log; over the period used: trend tests, point processes, outlier nodes,
    kinds of repair, availability.
    --out writes one row per group with its trend tests; into a folder, the other tables too.
    """
    from relfit.log.hints_of_rows import growth_hint  # slow to import

    names = "reading", "finding periods", "testing", "looking at nodes", "looking at repairs", "writing"
    with ProgressSteps(*names) as steps:
        full_log = reading.read()
        checked.column("--per", per, ("node", "system", "cause", "scope", *full_log.attributes))
        steps.next()
        study = reading.study(full_log, at="long run", level=level, rng=seed)
        log, answers = study.used.log, Answers()
        joined = study.incidents if len(log.events) else None
        _change_points(answers, study)
        if growth := growth_hint(full_log):
            with answers.asking("new_nodes", "Were there as many nodes before") as answer:
                answer.text = f"{growth}."
        with answers.asking("rate_of_late", "Does the rate of the last weeks raise an alarm") as answer:
            answer.text = " ".join(study.rates_of_late)
        steps.next()
        within = "" if log.window == full_log.window else "Within the period used, "
        _histories(answers, log, joined, within, per, alpha, level)
        steps.next()
        if log.question is None:
            _outlier_nodes(answers, study)
            _nodes_now(answers, reading.study(full_log, level=level))
        steps.next()
        _repair_kinds(answers, study)
        _repair_clock(answers, study)
        if log.question is None:
            _availability(answers, study)
        steps.next()
        headline = "" if joined is None or not (details or to.json) else _counted(joined)
        if full_log.lifetimes is not None:
            headline = _OF_LIVES
        answers.show(study.used, to, "trend_tests", headline, details=details)


def _counted(joined: rf.screening.Incidents) -> str:
    """What is counted, said once."""
    began = count(joined.records, "record that began", "records that began")
    return (
        f"Counts are of incidents ({len(joined):,}, of {began} in the period); of one node, of its failures. The "
        "table of periods has incidents as joined in all of the log."
    )


def _change_points(answers: Answers, study: rf.Study) -> None:
    with answers.asking("periods", "Did the failure rate change: all of the log") as answer:
        result = study.change_points
        answer.text = result.headline
        if len(study.log.systems) > 1:
            one = f"{len(study.log.systems)} systems taken as one (--where system=NAME takes one)"
            answer.text = f"{one}: {answer.text[:1].lower()}{answer.text[1:]}"
        frame = result.to_frame()
        answer.tables, answer.document = {"periods": frame}, result.to_dict
        used = study.used.log.window
        frame["used"] = (frame["start"] < used.end) & (frame["end"] > used.start)
        short = frame.drop(columns=["start_low", "start_high", "per", "exposure"])
        short = short.rename(columns={"failures": result.of})
        short[["rate", "low", "high"]] *= _HOURS_PER_YEAR
        for name in ("start", "end"):
            short[name] = short[name].dt.strftime("%Y-%m-%d")
        short["used"] = short["used"].map({True: "yes", False: ""})
        earlier = min(max(len(short) - _PERIODS, 0), result.stable)
        heading = f"periods (rates per {result.stable_period.per})"
        answer.shown = {heading + (f", without the first {earlier}" if earlier else ""): short.iloc[earlier:]}
        answer.figures = [("change_points", partial(rf.plot, result))]


def _histories(
    answers: Answers,
    log: rf.FailureLog,
    joined: rf.screening.Incidents | None,
    within: str,
    per: str,
    alpha: float,
    level: float,
) -> None:
    """Tests of trend and point processes; those of all incidents alone where nothing is said of one node."""
    from relfit.analyses.recurrence import (
        compare_processes,
        histories_of_incidents,
        histories_of_log,
        mean_cumulative,
        trend_tests,
    )

    histories: Any = None
    curve: Any = None
    with answers.asking("trend", "Does the rate rise or fall: trend tests") as answer:
        histories = histories_of_log(log, per, joined)
        pooled = trend_tests(histories if joined is None else histories_of_incidents(log, joined), "all", alpha=alpha)
        each = trend_tests(histories, alpha=alpha) if histories.n_histories > 1 and log.question is None else pooled
        verdict = pooled.headline.replace(" over the", f"{_growth(log, joined, pooled)} over the", 1)
        verdict = f"{within}{verdict[:1].lower()}{verdict[1:]}" if within else verdict
        answer.text = verdict + (f" {each.headline}" if each is not pooled else "")
        answer.tables = {"trend_tests": each.to_frame(), "trend_test_of_all": pooled.to_frame()}
        answer.shown = {"incidents, all together": _trend_table(pooled, alpha)}
        answer.document = lambda: {**each.to_dict(), "all": pooled.to_dict()}
        answer.figures = [("trend_tests", partial(rf.plotting.trends, pooled, alpha=alpha))]
        if each is not pooled:
            answer.shown[f"by {per}, share with p of {alpha:g} or less"] = _trend_table(each, alpha)
            name = "".join(c if c.isalnum() else "_" for c in f"trend_tests_by_{per}")
            answer.figures.append((name, partial(rf.plotting.trends, each, alpha=alpha)))
    if log.question is not None:
        return
    problem = answers.all[-1].problem
    with answers.asking("processes", "Which process describes the failures") as answer:
        _need(histories, problem)
        together, single = compare_processes(histories, "all", level=level), compare_processes(histories, level=level)
        answer.text = together.headline + (f" {single.headline}" if histories.n_histories > 1 else "")
        weight = float(together.fits["hpp"].at_once[0])
        if weight > 1.05:
            joint = f"the incident of a failure has {weight:.3g} of them on average"
            answer.text += f" Failures of one incident count as one; {joint}."
        answer.tables = {"processes": single.to_frame(), "processes_of_all": together.to_frame()}
        answer.shown = {"all together": together.to_frame().drop(columns=["group", "loglik"], errors="ignore")}
        fits = {model: fit.to_frame() for model, fit in together.fits.items()}
        answer.document = lambda: {**single.to_dict(), "all": together.to_dict(), "fits": fits}
        answer.figures = [("processes", lambda **place: rf.plot(together, observed=curve, **place))]
    with answers.asking("mean_cumulative", "How many failures by age: the mean cumulative function") as answer:
        _need(histories, problem)
        curve = mean_cumulative(histories, "all", level=level)
        answer.text, answer.document = curve.headline, curve.to_dict
        answer.tables = {"mean_cumulative": curve.to_frame()}
        answer.figures = [("mean_cumulative", partial(rf.plotting.step_curves, curve))]


def _growth(log: rf.FailureLog, joined: rf.screening.Incidents | None, pooled: rf.recurrence.TrendTests) -> str:
    """How much the rate of incidents changes in a year, or a month of a short log, where the trend is significant."""
    import numpy as np

    from relfit.analyses.recurrence import fit_process, histories_of_incidents

    if joined is None or not pooled.lasting:
        return ""
    fit = fit_process(histories_of_incidents(log, joined), "log_linear", "all")
    if fit.status[0] != "ok":
        return ""
    hours, every = (_HOURS_PER_YEAR, "a year") if log.window.hours >= _HOURS_PER_YEAR else (720.0, "in 30 days")
    change = 100.0 * np.expm1(hours * np.array([fit.estimates[0, 1], fit.low[0, 1], fit.high[0, 1]]))
    low, high = sorted(np.abs(change[1:]))
    return f" by {abs(change[0]):.0f} % {every} ({low:.0f}-{high:.0f} %)"


def _need(histories: object, problem: str) -> None:
    if histories is None:
        raise DataError(problem)


def _trend_table(result: rf.recurrence.TrendTests, alpha: float) -> pd.DataFrame:
    """The tests of a single group, or the shares of several that they reject."""
    import pandas as pd

    if len(result.groups) == 1:
        columns = {name: getattr(result, name)[0] for name in ("statistic", "p", "direction", "status")}
        return pd.DataFrame({"test": result.tests, **columns})
    shares, adjusted = (result.share(alpha, adjusted=each).to_numpy() for each in (False, True))
    shown = pd.DataFrame({"test": result.tests, "tested": (result.status == "ok").sum(axis=0), "share": shares})
    return shown.assign(by_chance=alpha, share_adjusted=adjusted)


def _outlier_nodes(answers: Answers, study: rf.Study) -> None:
    with answers.asking("outlier_nodes", "Are there nodes with excess failures") as answer:
        result = study.outlier_nodes
        ageing = result.models
        with suppress(RelfitError):  # of the hours that nodes were up, as the report and the parameters have it
            ageing = study.model.renewals["node"]
        answer.text, answer.document = f"{result.headline} {ageing.headline}", result.to_dict
        answer.tables = {"outlier_nodes": result.nodes, "classes_of_nodes": result.classes}
        if result.nodes["events"].sum():
            classes = result.classes.drop(columns=["shape", "scatter", "rate", "rate_low", "rate_high"])
            answer.shown = {"how rates of nodes differ": classes}
            if len(result.outliers):
                answer.shown["nodes with excess failures"] = result.outliers
        answer.figures = [("outlier_nodes", partial(rf.plot, result))]


def _nodes_now(answers: Answers, study: rf.Study) -> None:
    with answers.asking("nodes_now", "Which nodes fail more often now, and again after repairs") as answer:
        from relfit.fleet.nodes_to_check import standing_out_lately

        now, again = study.model.nodes_now(), study.repeat_failures
        named = now[now["outlier"]]
        which = f"{count(len(named), 'node')} of {len(now):,}" if len(named) else "no node"
        fail = ("is known to fail", "fails")[len(named)] if len(named) <= 1 else "fail"
        false = " (at most 5 % of such nodes are expected to be false)" if len(named) else ""
        names = output.node_names(named.head(_NODES), study.log.systems)
        first, lately = f": {first_names(names, _NODES, len(named))}" if names else "", standing_out_lately(now)
        answer.text = (
            f"As of {study.log.window.end:%Y-%m-%d}, {which} {fail} at least twice as often as the mean"
            f"{false}{first}{lately and f'; {lately}'}. " + " ".join(again.findings)
        )
        answer.tables = {"nodes_now": now, "repeat_failures": again.repeats, "nodes_with_repeats": again.nodes}
        shown = now.sort_values(["check", "factor"], ascending=False, kind="stable").head(_NODES)
        answer.shown = {"nodes now (factor: times the mean rate, next 90 days)": shown}
        if len(again.nodes):
            short = again.nodes.head(_NODES).drop(columns="going_on")
            dates = {name: short[name].dt.strftime("%Y-%m-%d") for name in ("first", "last")}
            answer.shown["repeat failures"] = short.assign(**dates)
        answer.document = again.to_dict


def _repair_kinds(answers: Answers, study: rf.Study) -> None:
    with answers.asking("repair_kinds", "Are repairs of two kinds: quick and slow") as answer:
        result = study.repair_kinds
        if not result.table["repairs"].sum():
            raise DataError("no repair was observed to its end")
        answer.text, answer.document = result.headline, result.to_dict
        observed = rf.nonparametric.observed_times(result.lives, study.level).to_frame()
        answer.tables = {"repair_kinds": result.table, "repairs_observed": observed}
        best = result.best()
        two = best[["share_quick", "mean_quick", "mean_slow", "split"]].where(best["status"] == "ok")
        shown = observed[[*result.keys, "ended", *observed.columns[observed.columns.get_loc("mean") :]]]
        shown = shown.rename(columns={"ended": "repairs"})
        answer.shown = {"repairs as observed (hours), and the two kinds where there are two": shown.join(two)}
        answer.figures = [
            ("repair_kinds", partial(rf.plotting.repair_classes, result)),
            ("repair_times", partial(rf.plotting.repair_times, result)),
        ]


def _repair_clock(answers: Answers, study: rf.Study) -> None:
    with answers.asking("repair_clock", "Do repairs depend on the weekday or the time of day") as answer:
        result = rf.screening.repair_clock(study.used.log)
        answer.text, answer.document = result.headline, result.to_dict
        answer.tables = {"repairs_by_clock": result.table}
        answer.shown = {"hours to repair, by the time of the failure": result.table}


def _availability(answers: Answers, study: rf.Study) -> None:
    from relfit.analyses.screening.periods import FEWEST

    with answers.asking("availability", "How much of the time are nodes up") as answer:
        system = study.availability
        if (system.status == "no_ends").all() or not system.node_hours.sum():
            raise DataError("no outage has a known end, or nothing was observed")
        over = study.availability_over_time
        few = int(system.failures.sum()) < FEWEST  # too few to tell times of the year apart
        answer.text = system.headline if few else f"{system.headline} {over.headline}"
        frame = system.to_frame()
        answer.tables = {"availability": frame, "availability_over_time": over.to_frame()}
        names = ["nodes", "failures", "mtbf_outage", "mttr_outage", "operational", "low", "high", "status"]
        answer.shown = {"availability": frame[[frame.columns[0], *names]]}
        answer.document = lambda: {**system.to_dict(), "over_time": over.to_dict()}
        answer.figures = [("availability", partial(rf.plot, over))]


def regress(
    reading: opt.PartReading,
    to: output.Output,
    formula: str | None = opt.option("FORMULA", "One model, such as 'failures ~ rack', 'ttf ~ cage', 'ttr ~ cause'."),
    model: str | None = opt.option("NAME", "Model of times: cox (the default), weibull or lognormal."),
    cluster: str = opt.option("COLUMN", "Standard errors allow for dependence within this column, or none.", "node"),
    reference: list[str] | None = opt.option("COLUMN=LEVEL", "Reference level of a column. Repeatable."),
    strata: str | None = opt.option("COLUMN", "Cox: a baseline hazard for each value of this column."),
    rates: bool = opt.flag("--rates", "Write the rate of each node to --out."),
    level: opt.Level = 0.95,
    alpha: opt.Alpha = 0.05,
    details: opt.Details = False,
) -> None:
    """Attributes associated with failures.

    Every attribute by itself: failures of nodes (negative binomial), times to failure (Cox and Weibull accelerated
    failure time), times to repair. With --formula one model. --out writes one row per effect.
    """
    of_formula = {"--model": model, "--reference": reference, "--strata": strata, "--rates": rates}
    checked.without_effect(of_formula, "--formula", formula is not None)
    with ProgressSteps("reading", "fitting", "writing") as steps:
        period = reading.study(reading.read()).used
        steps.next()
        if formula is None:
            effects = rf.regression.attribute_effects(period.log, level=level, alpha=alpha)
            tables, findings, document = {"regress": effects.table}, effects.findings, effects.to_dict()
            brief = list[str]()
            of_systems = effects.answered["system"].any()
            columns = [name for name in _EFFECTS if name != "system" or of_systems]
            shown, missing = effects.answered[columns], (*effects.notes, *effects.unanswered)
        else:
            levels = {name: values[0] for name, values in checked.pairs("--reference", reference).items()}
            within = None if cluster == "none" else cluster
            how: dict[str, Any] = {"level": level, "cluster": within, "reference": levels, "strata": strata}
            fit = rf.regress(period.log, formula, model, **how)
            coefficients = fit.table.reset_index()
            shown, missing = coefficients.drop(columns=["coefficient", "standard_error", "low", "high"]), ()
            brief = ["", *output.few_rows("effects", shown.drop(columns="p_adjusted"), _COEFFICIENTS), ""]
            tables, findings, document = {"regress": coefficients}, fit.findings, fit.to_dict()
            if rates:
                tables = {"regress": fit.node_rates(), "coefficients": coefficients}
            if fit.proportional is not None:
                tables["proportional"] = fit.proportional.reset_index()
        steps.next()
        written = output.write_results(to, tables, "regress", [])
    if to.json:
        output.print_json({"period": period.to_dict(), **document})
        return
    if details:
        output.print_lines([period.headline, *findings, "", *output.few_rows("effects", shown), *missing, *written])
        return
    more = [f"{len(findings) - _FEW:,} further: see --details."] if len(findings) > _FEW else []
    output.print_lines([period.headline, *findings[:_FEW], *more, *missing, *brief, output.TABLES, *written])
