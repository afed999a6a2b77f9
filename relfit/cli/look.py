"""The commands that look at a log: info, fit, report, data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.base.text import p_value
from relfit.cli import log_summary, output
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli.fitting_options import Fitting
from relfit.cli.progress import ProgressSteps

if TYPE_CHECKING:
    from pandas import DataFrame

_ROWS = 20  # of a table, shown
_MOST_TESTED = 128  # groups whose p-values are drawn where nobody asks for more
_ALL = "--details shows rules, notes, systems and columns; --out FILE writes the rejected rows."
_MORE = ["--details compares the distributions and lists the groups; --out fits.csv writes every fit."]
_NOTHING_FITTED = "no group could be fitted; --per system pools the times of all its nodes"
_FIGURES = ("mean", "mean_low", "mean_high", "aicc", "ks_p")

Json = Annotated[bool, opt.flag("--json", "Print one JSON document and nothing else.")]


def info(reading: opt.Reading, json: Json = False, out: opt.Out = None, details: opt.Details = False) -> None:
    """What a log holds: rows, window, nodes.

    --out writes the rejected rows, each with its file, line and reason; to a .json file, the summary of the log.
    """
    output.check_destination(out)
    with ProgressSteps("reading", "counting") as steps:
        log = reading.read(tell=False)
        steps.next()
        document = {**log.info(), "rejected": log.rejected}
    if out is not None and out.suffix.lower() == ".json":
        output.write_document(document, out)
    elif out is not None:
        output.write_table(log.rejected, out)
    if json:
        output.print_json(document)
        return
    output.print_lines(log_summary.complete(log, document) if details else [*log_summary.brief(log, document), _ALL])
    if out is not None:
        output.print_lines([f"written to {out}"])


def fit(
    reading: opt.PeriodReading, fitting: Fitting, json: Json = False, out: opt.Out = None, details: opt.Details = False
) -> None:
    """Fit distributions to times to failure.

    --out writes one row per group and distribution with all results of the fit.
    """
    output.check_destination(out)
    families = checked.family_names(fitting.families)
    level = checked.probability("--level", fitting.level)
    checked.choice("--measure", fitting.measure, ("ttf", "ttr"))
    checked.without_effect({"--kind": fitting.kind != "profile"}, "--interval", fitting.interval is not None)
    of_failures = {"--first": reading.first != "known", "--ahead": fitting.ahead is not None}
    checked.without_effect(of_failures, "--measure ttf", fitting.measure == "ttf")
    checked.without_effect({"--bias-correction": fitting.bias_correction}, "--families weibull", "weibull" in families)
    n_resamples, wanted, horizons = fitting.n_resamples, fitting.intervals, fitting.horizons
    if fitting.stream:
        from relfit.cli.stored_logs import fit_in_parts

        fit_in_parts(reading, fitting, families, json, out)
        return
    from relfit.cli import observations
    from relfit.io.life_flags import UNFLAGGED
    from relfit.io.unit_lives import FROM_BIRTH
    from relfit.log.units_in_service import hint_of_lives, running_units

    with ProgressSteps("reading", "deriving times", "fitting", "testing", "writing") as steps:
        everything = reading.read()
        chosen = reading.study(everything).period
        log = chosen.log
        steps.next()
        if fitting.measure == "ttf" and fitting.per in ("node", "all") and log.question is not None:
            everything.ask()  # with the numbers that info gives
            log.ask()
        per = fitting.per
        if fitting.measure == "ttr":
            times = log.ttr(per, censor=not fitting.no_censor)
        else:
            times = log.ttf(per, censor=not fitting.no_censor, first=reading.first)
        one_each = per == "node" and log.lifetimes is not None and times.sizes.max(initial=0) < 2
        if one_each:  # units that are not repaired have one life each
            times = times.pooled()
        steps.next()
        fits = rf.fit(
            times,
            families=families,
            level=level,
            method=fitting.method,
            bias_correction=fitting.bias_correction,
            n_resamples=n_resamples,
            rng=fitting.seed,
        )
        intervals = {
            text: fits.interval(name, at=at, kind=fitting.kind, rng=fitting.seed) for text, (name, at) in wanted.items()
        }
        ahead, who = None, ""
        if horizons:
            units, who = running_units(log, times, "all" if one_each else per, reading.first)
            ahead = observations.failures_ahead(fits, units, horizons, level, fitting.seed)
        steps.next()
        all_tested = json or out is not None or n_resamples != "auto" or len(fits) <= _MOST_TESTED
        tested = fits if all_tested else fits.take([i * len(fits) // _MOST_TESTED for i in range(_MOST_TESTED)])
        rejected = tested.rejected("ks").reset_index()
        steps.next()
        main = "weibull" if "weibull" in families else families[0]
        observed = rf.nonparametric.observed_times(times, level)
        if out is not None:
            output.write_table(observations.with_observed(fits, observed), out)
    if json:
        about = {key: value for key, value in log.info().items() if key not in ("systems", "causes")}
        described = {"family": main, "rows": fits.describe(main).reset_index(names="over")}
        output.print_json(
            {
                "log": about,
                "period": chosen.to_dict(),
                **fits.to_dict(),
                "observed": observed.to_frame(),
                "describe": described,
                "rejected": rejected,
                "intervals": intervals,
                "ahead": ahead,
            }
        )
        return
    left_out = ", ".join(f"{name} {number}" for name, number in times.to_dict()["left_out"].items() if number)
    statuses = [f"{family}: {_counted(fits[family].status)}" for family in families]
    several, nothing = len(fits) > 1, not any(fits[family].ok.any() for family in families)
    by_group = [f"Fits by group (hours, {100 * level:g} % {_kind(families)})", *_by_group(fits, all_tested)]
    lines = [chosen.headline, *observations.observed_together(times, level), rf.fitting.finding(fits, tested)]
    lines += [f"{note[:1].upper()}{note[1:]}." for note in (UNFLAGGED, FROM_BIRTH) if note in log.source.notes]
    lines += [hint_of_lives(log, per)] if fitting.measure == "ttf" and hint_of_lives(log, per) else []
    lines += [_NOTHING_FITTED] if nothing and several else []
    if details:
        lines += [repr(log), repr(times), *([f"left out: {left_out}"] if left_out else []), *times.notes, *statuses, ""]
        lines += observations.observed_by_group(observed)
        lines += _comparison(fits, rejected, len(tested)) + observations.spread(fits, main, observed) + by_group
    else:
        lines += _MORE if several else ["", *by_group]
    output.print_lines(lines)
    for text, limits in intervals.items():
        lines = ["", f"{text}: {100 * level:g} % {fitting.kind} intervals", *output.table(limits.head(_ROWS))]
        output.print_lines([*lines, *_more_rows(len(limits), "--json has all of them")])
    if ahead is not None:
        title = f"Failures ahead among units that run: {100 * level:g} % intervals of the mean and of the number"
        shown = ahead.drop(columns="status") if (ahead["status"] == "ok").all() else ahead
        rows = output.table(shown.head(_ROWS)) if len(ahead) else ["no unit runs"]
        rows += _more_rows(len(ahead), "--json has all of them")
        output.print_lines(["", title, *rows, *([f"{who[:1].upper()}{who[1:]}."] if who else [])])
    if out is not None:
        output.print_lines([f"written to {out}"])


def _more_rows(rows: int, where: str) -> list[str]:
    return [f"... {rows - _ROWS:,} more rows; {where}"] if rows > _ROWS else []


def _kind(families: list[str]) -> str:
    """The method of the intervals in a table of fits, which is quick; --interval has others."""
    if families == ["exponential"]:
        return "exact intervals"
    return "Wald intervals" + (", exact of the exponential" if "exponential" in families else "")


def _comparison(fits: rf.fitting.Fits, rejected: DataFrame, tested: int) -> list[str]:
    """How families compare over several groups."""
    if len(fits) == 1:
        return []
    of = "" if tested == len(fits) else f" (of {tested} tested)"
    compared = fits.compare()
    if compared["as_good_by_p_percent"].isna().all():  # lives that entered late have no textbook p-value
        compared = compared.drop(columns=["best_by_p", "as_good_by_p", "as_good_by_p_percent"])
    return [
        "Which distribution fits best (number of groups)",
        *output.table(compared.reset_index()),
        "",
        f"Groups{of} in which K-S rejects the distribution at 5 %, one by one and with the false-discovery rate "
        "controlled",
        *output.table(rejected),
        "",
    ]


def _by_group(fits: rf.fitting.Fits, all_tested: bool) -> list[str]:
    """The fits of the first groups, with p-values of these alone where not all are tested."""
    groups = fits.groups.to_frame(index=False)
    part = fits if all_tested else fits.take(range(min(-(-_ROWS // len(fits.families)), len(fits))))
    table = part.summary().reset_index()
    shown = table.head(_ROWS)
    keys = list(table.columns[: table.columns.get_loc("status")])
    several = [True] if groups.shape[1] == 1 else [len(set(column.dropna())) > 1 for _, column in groups.items()]
    keys = [key for key, differs in zip(keys, [*several, True], strict=True) if differs]
    own = dict.fromkeys(name for result in fits.results.values() for name in result.parameters)
    rows = shown[list(own)].to_dict("records")
    words = [", ".join(f"{name} {value:.3g}" for name, value in row.items() if value == value) for row in rows]
    p = ["-" if value != value else p_value(value)[1:].replace(" ", "").removeprefix("=") for value in shown["ks_p"]]
    shown = shown.assign(parameters=words, ks_p=p, aicc=shown["aicc"].replace(float("inf"), float("nan")))
    status = [] if (shown["status"] == "ok").all() else ["status"]
    lines = output.table(shown[[*keys, *status, "failures", "parameters", *_FIGURES]])
    return [*lines, *_more_rows(len(fits) * len(fits.families), "--out fits.csv writes all of them, with p-values")]


def _counted(statuses: object) -> str:
    import pandas as pd

    counts = pd.Series(statuses, dtype=object).value_counts()
    return ", ".join(f"{status} {n}" for status, n in counts.items())


def report(
    reading: opt.PeriodReading,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE.html", help="The report: one self-contained HTML file.")
    ] = Path("report.html"),
    families: opt.Families = opt.FAMILIES,
    level: opt.Level = 0.95,
    title: Annotated[str | None, opt.option("TEXT", "Title of the report.")] = None,
    json: Json = False,
) -> None:
    """Write a report as one HTML file.

    Its first sentence is printed, then the name of the file on the last line.
    """
    output.check_destination(out, endings=(".html", ".htm"))
    checked.probability("--level", level)
    with ProgressSteps("reading", "writing the report") as steps:
        names = checked.family_names(families)
        log = reading.read()
        from relfit.base.numeric.compiled import kept
        from relfit.fitting.conditional_terms import value_of_group
        from relfit.reporting import report_with_answer

        if sys.stderr.isatty() and not kept(value_of_group):
            print("relfit: compiling functions, once per installation: about ten seconds", file=sys.stderr)
        steps.next()
        study = reading.study(log, level=level)
        answer, path = report_with_answer(study, out, families=names, title=title, progress=steps.say)
    if json:
        output.print_json({"answer": answer, "report": str(path), "log": log.info()})
    else:
        output.print_lines([answer, str(path)])


def convert(
    reading: opt.Reading,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="PLACE", help="A .parquet file, or with --by a folder.")],
    by: Annotated[str | None, opt.option("year|month|system", "Write one file for each, in a folder.")] = None,
    json: Json = False,
) -> None:
    """Write any log as Parquet."""
    if by is None:
        if out.suffix.lower() != ".parquet":
            raise ArgumentError(
                f"--out {out} does not end in .parquet: convert writes relfit's own Parquet, which holds the whole log",
                remedy="name a .parquet file; relfit incidents LOG --out FILE.csv writes a table of its incidents, and "
                "rf.write(log, 'FILE.csv') in Python its events",
            )
        output.check_destination(out, endings=(".parquet",))
    else:
        checked.choice("--by", by, ("year", "month", "system"))
    with ProgressSteps("reading", "writing") as steps:
        log = reading.read(tell=False)
        steps.next()
        place = rf.io.write(log, out, by=by)
    if json:
        output.print_json({"written": str(place), "log": log.info()})
    else:
        output.print_lines([repr(log), f"written to {place}"])


def data(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A bundled sample.")] = None,
    json: Json = False,
    out: opt.Out = None,
) -> None:
    """List or write the bundled samples."""
    output.check_destination(out)
    listing = rf.datasets.listing()
    names = [str(known) for known in listing["name"]]
    if name is not None and name not in names:
        raise ArgumentError(f"no bundled sample {name!r}", remedy=f"use {', '.join(names)}")
    if name is None and out is not None and len(names) > 1:
        raise ArgumentError("--out needs the name of a sample", remedy=f"use one of {', '.join(names)}")
    if out is not None:
        log = rf.datasets.load(name or names[0])
        if out.suffix.lower() in (".parquet", ".csv"):
            rf.write(log, out)
        else:  # the events
            output.write_table(log.events.drop(columns=["start_cut", "end_cut", "line"]), out)
    shown = listing if name is None else listing[listing["name"].astype(str) == name]
    if json:
        output.print_json({"samples": shown.reset_index(drop=True)})
        return
    output.print_lines(output.table(shown))
    if out is not None:
        output.print_lines([f"written to {out}"])
