"""The command ``relfit fit``: what to fit to which times, read at once or part by part, and what to say of the fits."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.base.text import count, p_value
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.progress import ProgressSteps

if TYPE_CHECKING:
    import pandas as pd

_ROWS = 20  # of a table, shown
_MOST_TESTED = 128  # groups whose p-values are drawn where nobody asks for more
_MORE = ["--details compares the distributions and lists the groups; --out fits.csv writes every fit."]
_TOTAL = "total"  # of failures ahead
_NOTHING_FITTED = "no group could be fitted; --per system pools the times of all its nodes"
_FIGURES = ("mean", "mean_low", "mean_high", "aicc", "ks_p")
_MOST_GROUPS = 24  # in a table of what was observed
_MANY_ZEROS = 0.05  # share of times of zero that is said
_SEPARATES = 0.01  # p-value of a log-rank test, over all attributes of units (Bonferroni)
_MOST_VALUES = 20  # of an attribute that is tested
_FEWEST_FAILURES = 5  # a value, on average
_SPREAD = (0.05, 0.25, 0.5, 0.75, 0.95)
_MOST_RESAMPLES = 100_000
_RANDOM_LOGS = 499  # of equal nodes
_DIFFER = 0.01  # p-value below which a fit of all nodes together says that their rates differ


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """What to fit, to which times, and what to show of the fits."""

    per: str = opt.option("COLUMN", "Group by node, system or any column; all for one sample of all nodes.", "node")
    measure: str = opt.option("ttf|ttr", "Times to failure or times to repair.", "ttf")
    no_censor: bool = opt.flag("--no-censor", "Omit censored times, as many papers do; biases the mean downwards.")
    families: opt.Families = opt.FAMILIES
    method: str = opt.option("NAME", "ml, moments, rank_y or rank_x.", "ml")
    bias_correction: bool = opt.flag("--bias-correction", "Correct the Weibull shape for its bias in small samples.")
    resamples: str = opt.option(
        "N|auto", "Resamples for p-values without a table; 0 for none, auto for 199 where quick.", "auto"
    )
    interval: list[str] | None = opt.option(
        "QUANTITY[@AT]",
        "Show intervals: mean, median, quantile@0.1, reliability@24h, hazard@24h or a parameter. Repeatable.",
    )
    ahead: list[str] | None = opt.option(
        "TIME", "Predict how many of the units still running will fail within this time. Repeatable."
    )
    kind: str = opt.option("NAME", "Kind of the intervals: profile, wald, bootstrap, resample or exact.", "profile")
    level: opt.Level = 0.95
    seed: opt.Seed = 0
    stream: bool = opt.flag("--stream", "Read a folder from relfit convert part by part, for logs larger than memory.")

    @property
    def how(self) -> dict[str, Any]:
        """Arguments of the functions that fit."""
        return {"method": self.method, "bias_correction": self.bias_correction, "level": self.level}

    @property
    def n_resamples(self) -> int | str:
        """What ``--resamples`` asks for, checked."""
        text = self.resamples.strip().lower()
        if text == "auto":
            return text
        if not text.isdigit() or 0 < int(text) < 19:
            remedy = "give auto, 0, or at least 19"
            raise ArgumentError(f"--resamples {self.resamples!r} is not possible", remedy=remedy)
        if len(text) > 6 or int(text) > _MOST_RESAMPLES:
            raise ArgumentError(f"--resamples {text[:20]} are too many", remedy=f"give at most {_MOST_RESAMPLES}")
        return int(text)

    @property
    def intervals(self) -> dict[str, tuple[str, float | str | None]]:
        """Quantities of ``--interval`` and where they are wanted, by the text that asks for them."""
        wanted: dict[str, tuple[str, float | str | None]] = {}
        for text in self.interval or ():
            name, sign, place = text.partition("@")
            at: float | str | None = place.strip() if sign else None
            if name.strip() == "quantile" and at is not None:
                try:
                    at = float(at)
                except ValueError:
                    remedy = "write quantile@0.1"
                    raise ArgumentError(f"--interval {text!r}: {place!r} is not a probability", remedy=remedy) from None
            wanted[text] = (name.strip(), at)
        return wanted


def fit(
    reading: opt.PeriodReading,
    fitting: Fitting,
    json: opt.Json = False,
    out: opt.Out = None,
    details: opt.Details = False,
) -> None:
    """Fit distributions to times to failure.

    --out writes one row per group and distribution with all results of the fit.
    """
    output.check_destination(out)
    families = checked.family_names(fitting.families)
    checked.choice("--measure", fitting.measure, ("ttf", "ttr"))
    checked.without_effect({"--kind": fitting.kind != "profile"}, "--interval", fitting.interval is not None)
    of_failures = {"--first": reading.first != "known", "--ahead": fitting.ahead is not None}
    checked.without_effect(of_failures, "--measure ttf", fitting.measure == "ttf")
    checked.without_effect({"--bias-correction": fitting.bias_correction}, "--families weibull", "weibull" in families)
    n_resamples, wanted, level = fitting.n_resamples, fitting.intervals, fitting.level
    horizons = [checked.duration("--ahead", text, positive=True) for text in fitting.ahead or ()]
    if fitting.stream:
        _fit_in_parts(reading, fitting, families, json, out)
        return
    from relfit.io.life_flags import UNFLAGGED
    from relfit.io.unit_lives import FROM_BIRTH
    from relfit.log.units_in_service import hint_of_lives, running_units, yearly_failures

    with ProgressSteps("reading", "deriving times", "fitting", "testing", "writing") as steps:
        everything = reading.read()
        chosen = reading.study(everything).period
        log = chosen.log
        steps.next()
        if fitting.measure == "ttf" and fitting.per in ("node", "all") and log.question is not None:
            everything.ask()  # with the numbers that info gives
            log.ask()
        per, censor = fitting.per, not fitting.no_censor
        if horizons and log.lifetimes is None and per not in ("node", "all"):
            what = f"--per {per} takes all of one {per} as one machine, so none of its units is told to run"
            by = f" --by {per}" if per in log.attributes else ""
            remedy = f"use --per all with --where for one {per}, or relfit forecast{by}, which counts failures ahead"
            raise ArgumentError(what, remedy=remedy)
        of_repairs = fitting.measure == "ttr"
        how_derived: dict[str, Any] = {"first": reading.first, "zeros": "resolution"}
        times = log.ttr(per, censor=censor) if of_repairs else log.ttf(per, censor=censor, **how_derived)
        one_each = per == "node" and log.lifetimes is not None and times.sizes.max(initial=0) < 2
        if one_each:  # units that are not repaired have one life each
            times = times.pooled()
        steps.next()
        fits = rf.fit(times, families=families, n_resamples=n_resamples, rng=fitting.seed, **fitting.how)
        how: dict[str, Any] = {"kind": fitting.kind, "rng": fitting.seed}
        intervals = {text: fits.interval(name, at=at, **how) for text, (name, at) in wanted.items()}
        ahead, who = None, ""
        if horizons:
            units, who = running_units(log, times, "all" if one_each else per, reading.first)
            ahead = _failures_ahead(fits, units, horizons, level, fitting.seed)
        steps.next()
        all_tested = json or out is not None or n_resamples != "auto" or len(fits) <= _MOST_TESTED
        tested = fits if all_tested else fits.take([i * len(fits) // _MOST_TESTED for i in range(_MOST_TESTED)])
        rejected = tested.rejected("ks").reset_index()
        mixed = _mixed(log, fits, reading.first, fitting) if fitting.per == "all" and not of_repairs else []
        steps.next()
        main = "weibull" if "weibull" in families else families[0]
        observed = rf.nonparametric.observed_times(times, level)
        if out is not None:
            output.write_table(_with_observed(fits, observed), out)
    if json:
        about = {key: value for key, value in log.info().items() if key not in ("systems", "causes")}
        described = {"family": main, "rows": fits.describe(main).reset_index(names="over")}
        more = {"describe": described, "rejected": rejected, "intervals": intervals, "ahead": ahead}
        document = {"log": about, "period": chosen.to_dict(), **fits.to_dict(), "observed": observed.to_frame()}
        output.print_json({**document, **more})
        return
    left_out = ", ".join(f"{name} {number}" for name, number in times.to_dict()["left_out"].items() if number)
    statuses = [f"{family}: {_counted(fits[family].status)}" for family in families]
    joined = not of_repairs and log.lifetimes is None and per != "node" and per in log.population
    one_machine = f", each {per} as one machine" if joined else ""
    several, nothing = len(fits) > 1, not any(fits[family].ok.any() for family in families)
    by_group = (
        _by_group(fits, all_tested, f"Fits by group (hours, {100 * level:g} % ") if details or not several else []
    )
    lines = [chosen.headline, *_observed_together(times, level, one_machine), rf.fitting.finding(fits, tested), *mixed]
    lines += _zero_times(times)
    lines += [f"{note[:1].upper()}{note[1:]}." for note in (UNFLAGGED, FROM_BIRTH) if note in log.source.notes]
    lines += [hint_of_lives(log, per)] if fitting.measure == "ttf" and hint_of_lives(log, per) else []
    if log.lifetimes is not None and (one_each or per == "all"):
        lines[2:2] = [] if log.undated else [f"{yearly_failures(times, level)}."]
        lines += _separating(log)
    lines += [_NOTHING_FITTED] if nothing and several else []
    if details:
        lines += [repr(log), repr(times), *([f"left out: {left_out}"] if left_out else []), *times.notes, *statuses, ""]
        lines += _observed_by_group(observed)
        lines += _comparison(fits, rejected, len(tested)) + _spread(fits, main, observed) + by_group
    else:
        lines += _MORE if several else ["", *by_group]
    output.print_lines(lines)
    for text, limits in intervals.items():
        lines = ["", f"{text}: {100 * level:g} % {fitting.kind} intervals", *output.table(limits.head(_ROWS))]
        output.print_lines([*lines, *_more_rows(len(limits), "--json has all of them")])
    if ahead is not None:
        title = (
            f"Failures ahead among units that run: {100 * level:g} % intervals of the mean and of the number; "
            f"the stock lasts with probability {100 * level:g} %"
        )
        shown = ahead.drop(columns="status") if (ahead["status"] == "ok").all() else ahead
        is_total = shown.iloc[:, 0] == _TOTAL
        rows = output.table(shown[is_total | (shown.index < _ROWS)]) if len(ahead) else ["no unit runs"]
        rows += _more_rows(int((~is_total).sum()), "--json has all of them")
        output.print_lines(["", title, *rows, *([f"{who[:1].upper()}{who[1:]}."] if who else [])])
    output.print_lines(output.told(out))


def _fit_in_parts(
    reading: opt.PeriodReading, fitting: Fitting, families: list[str], json: bool, out: Path | None
) -> None:
    """Fit part by part, and say what was written."""
    unfit = checked.named(reading, [*opt.OF_A_FILE, "strict", "where"])
    checked.none_of(unfit, "--stream", "give it to relfit convert, before")
    if not Path(reading.log).exists() and reading.is_named:
        remedy = f"relfit convert {reading.log} --out FILE.parquet writes it as one"
        raise ArgumentError(f"--stream takes a log in files, not a data set by its name, {reading.log}", remedy=remedy)
    parquet = out is not None and out.suffix.lower() == ".parquet"
    checked.without_effect({"--stream": True}, "--out FILE.parquet", parquet)
    checked.without_effect({"--stream": True}, "--per node", fitting.per == "node")
    for name, value in (("interval", fitting.interval), ("ahead", fitting.ahead)):
        checked.without_effect({"--stream": True}, f"no --{name}", value is None)
    if fitting.resamples.strip().lower() not in ("auto", "0"):
        raise ArgumentError("--resamples does not go with --stream", remedy="leave it out: none are drawn")
    span = reading.span()
    if span == "stable":
        remedy = "add --period all, or --since and --until, or FROM/TO"
        raise ArgumentError("--stream looks for no stable period", remedy=remedy)
    since, until = (reading.since, reading.until) if isinstance(span, str) else span
    if reading.cut and span != "all":
        raise ArgumentError("--stream takes one period", remedy="leave out --period, or --since and --until")
    assert out is not None
    with ProgressSteps("setting nodes apart", "fitting") as steps:
        part: dict[str, Any] = {"since": since, "until": until, "first": reading.first}
        more = {"censor": not fitting.no_censor, "measure": fitting.measure, "progress": steps.say, **fitting.how}
        result = rf.fitting.fit_stored(reading.log, out, families, **part, **more)
    if json:
        output.print_json(result.to_dict())
        return
    left_out = ", ".join(f"{name} {number}" for name, number in result.left_out.items())
    lines = [result.headline, *([f"left out: {left_out}"] if left_out else []), *result.notes]
    table = output.table(result.status.reset_index())
    output.print_lines([*lines, "", "Nodes by status of their fit", *table])


def _observed_together(times: rf.LifeData, level: float, one_machine: str) -> list[str]:
    """The mean and median of all times, whatever group they are of; where they share hours, what has them."""
    if times.shared and times.n_groups > 1:
        together = "--per all (lifetimes) or --per system (events) has their times to failure together"
        return [f"The {times.n_groups:,} groups share the same hours; {together}."]
    observed = rf.nonparametric.observed_times(times.pooled(), level)
    together = one_machine + (f", all {times.n_groups:,} groups together" if times.n_groups > 1 else "")
    return [observed.headline.replace("Observed", f"Observed{together}", 1)]


def _zero_times(times: rf.LifeData) -> list[str]:
    """Which times are zero, where these are kept or many."""
    left_out = times.to_dict()["left_out"]
    dropped, kept = left_out.get("zero_gaps", 0) + left_out.get("zero_repairs", 0), int(times.n_zeros.sum())
    ended = int(times.n_failures.sum()) + dropped
    what = "times to repair" if times.measure == "ttr" else "times to failure"
    lines = []
    if kept:
        lines.append(
            f"{kept:,} of {ended:,} {what} are zero: failures within one step of the clock. The mean and the "
            "exponential count them; the shape of other distributions cannot be told."
        )
    if dropped > _MANY_ZEROS * ended:
        lines.append(f"{dropped:,} of {ended:,} {what} are zero and left out: means and fits are those of the others.")
    return lines


def _separating(log: rf.FailureLog) -> list[str]:
    """The attributes whose values clearly differ in lifetimes, which one fit of all units does not describe."""
    p: dict[str, float] = {}
    assert log.lifetimes is not None
    for name in (name for name in log.attributes if name in log.lifetimes):
        times = log.ttf(name)
        enough = times.n_failures.sum() >= _FEWEST_FAILURES * times.n_groups
        outcome = ((times.n_failures == 0) | (times.n_censored == 0)).all()  # a status, known after the life only
        if enough and not outcome and 1 < times.n_groups <= _MOST_VALUES:
            p[name] = rf.log_rank(times).p
    clear = sorted((name for name in p if p[name] < _SEPARATES / len(p)), key=lambda name: p[name])
    if not clear:
        return []
    differ = f"Lifetimes differ by {' and '.join(clear)} (log-rank test, {p_value(p[clear[-1]])})"
    return [f"{differ}: one fit of all units misleads; --per {clear[0]} fits each {clear[0]}."]


def _observed_by_group(observed: rf.nonparametric.ObservedTimes) -> list[str]:
    """The mean and median of each group, where there are not too many to read."""
    table = observed.to_frame()
    if not 1 < len(table) <= _MOST_GROUPS:
        return []
    if (table["times"] > table["ended"]).any():  # no mean of all, then
        per = "hours_per_repair" if observed.measure == "ttr" else "hours_per_failure"
        table.columns = [name.replace("mean", per, 1) for name in table.columns]
    place = table.columns.get_loc("times")
    keys = [name for name in table.columns[:place] if len(table[name].unique()) > 1]
    title = f"Observed by group (hours, {100 * observed.level:g} % intervals without a distribution)"
    return [title, *output.table(table[[*keys, *table.columns[place:]]]), ""]


def _mixed(log: rf.FailureLog, fits: rf.fitting.Fits, first: str, fitting: Fitting) -> list[str]:
    """That the rates of nodes differ, where their fit together has a Weibull shape below 1: a mixture has one, too."""
    import numpy as np

    from relfit.analyses.screening.equal_nodes import equal_nodes_p

    weibull = fits.results.get("weibull")
    if log.lifetimes is not None or weibull is None or not weibull.ok[0] or weibull.interval("shape").high[0] >= 1.0:
        return []
    if equal_nodes_p(log.ttf(first=first), _RANDOM_LOGS, np.random.default_rng(fitting.seed)) >= _DIFFER:
        return []
    mixture = "The rates of nodes differ, and a mixture of rates has a Weibull shape below 1 without any ageing"
    return [f"{mixture}: at age 0 it can be too pessimistic. relfit system LOG allows for each node's rate."]


def _with_observed(fits: rf.fitting.Fits, observed: rf.nonparametric.ObservedTimes) -> pd.DataFrame:
    """Everything about the fits, with the limits of the mean that are printed, and what was observed of each group."""
    import numpy as np

    table = fits.to_frame()
    table["mean_low"], table["mean_high"], table["mean_interval"] = _mean_limits(fits)
    for name in ("mean", "mean_low", "mean_high", "median", "median_low", "median_high"):
        table[f"observed_{name}"] = np.repeat(getattr(observed, name), len(fits.families))
    return table


def _failures_ahead(
    fits: rf.fitting.Fits, units: rf.LifeData, horizons: list[float], level: float, seed: int
) -> pd.DataFrame:
    """How many of the units that run fail within times from now, by group and distribution."""
    import pandas as pd

    tables: list[pd.DataFrame] = []
    totals: list[pd.DataFrame] = []
    for name in fits.families:
        result = fits[name].failures_ahead(horizons, units, level=level, rng=seed)
        table, total = result.to_frame(), result.together
        place = list(table.columns).index("running")
        keys = dict.fromkeys(table.columns[:place], "") | {table.columns[0]: _TOTAL}
        for part, into in ((table, tables), (total.assign(**keys)[table.columns], totals)):
            part.insert(place, "distribution", name)
            into.append(part)
    every = pd.concat([pd.concat(tables).sort_index(kind="stable"), *(part for part in totals if len(part))])
    return every[every["running"] > 0].reset_index(drop=True)


def _spread(fits: rf.fitting.Fits, family: str, observed: rf.nonparametric.ObservedTimes) -> list[str]:
    """How what was observed, and the parameters, differ between groups."""
    import numpy as np
    import pandas as pd

    if len(fits) == 1:
        return []
    fit = fits[family]
    columns = {f"{family} {name}": values[fit.ok] for name, values in fit.parameters.items()}
    columns |= {f"{family} mean": fit.mean[fit.ok], "observed mean": observed.mean}
    rows: dict[str, list[float]] = {}
    for name, values in columns.items():
        finite = values[np.isfinite(values)]
        rows[name] = [float(np.quantile(finite, p)) if finite.size else np.nan for p in _SPREAD] + [finite.size]
    table = pd.DataFrame(rows, index=[*(f"{100 * p:g} %" for p in _SPREAD), "groups"]).T.reset_index(names="")
    return ["Spread over the groups: quantiles (times in hours)", *output.table(table), ""]


def _comparison(fits: rf.fitting.Fits, rejected: pd.DataFrame, tested: int) -> list[str]:
    """How families compare over several groups."""
    if len(fits) == 1:
        return []
    of = "" if tested == len(fits) else f" (of {tested} tested)"
    compared = fits.compare()
    if compared["as_good_by_p_percent"].isna().all():  # lives that entered late have no textbook p-value
        compared = compared.drop(columns=["best_by_p", "as_good_by_p", "as_good_by_p_percent"])
    title = f"Groups{of} in which K-S rejects the distribution at 5 %, one by one and with the false-discovery rate "
    best = ["Which distribution fits best (number of groups)", *output.table(compared.reset_index())]
    return [*best, "", f"{title}controlled", *output.table(rejected), ""]


def _mean_limits(fits: rf.fitting.Fits) -> list[Any]:
    """Bounds of the means that hold for few failures too, and their kinds, one entry per group and distribution."""
    import numpy as np

    limits = [fits[name].mean_limits() for name in fits.families]
    return [np.stack(values, axis=1).ravel() for values in zip(*limits, strict=True)]


def _by_group(fits: rf.fitting.Fits, all_tested: bool, title: str) -> list[str]:
    """The fits of the first groups, with p-values of these alone where not all are tested."""
    groups = fits.groups.to_frame(index=False)
    first = range(min(-(-_ROWS // len(fits.families)), len(fits)))
    part = fits if all_tested else fits.take(first)
    table = part.summary().reset_index()
    low, high, kinds = (values[:_ROWS] for values in _mean_limits(fits.take(first)))
    shown = table.head(_ROWS).assign(mean_low=low, mean_high=high)
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
    more = _more_rows(len(fits) * len(fits.families), "--out fits.csv writes all of them, with p-values")
    return [f"{title}{_kind(kinds)})", *lines, *more]


def _kind(kinds: Collection[str]) -> str:
    """The kinds of the intervals in a table of fits; --interval has others."""
    if "Wald" not in kinds and "profile" not in kinds:
        return "exact intervals"
    mixed = "Wald intervals, profile with few failures or late entry" if "profile" in kinds else "Wald intervals"
    said = mixed if "Wald" in kinds else "profile intervals"
    return f"{said}, exact of the exponential" if "exact" in kinds else said


def _more_rows(rows: int, where: str) -> list[str]:
    return [f"... {count(rows - _ROWS, 'more row')}; {where}"] if rows > _ROWS else []


def _counted(statuses: object) -> str:
    import pandas as pd

    counts = pd.Series(statuses, dtype=object).value_counts()
    return ", ".join(f"{status} {n}" for status, n in counts.items())
