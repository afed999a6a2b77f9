"""The commands that ask whether failures are independent, steady and counted once: dependence, trend, incidents."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from relfit.cli import output
from relfit.cli.answers import Output, Part, Parts
from relfit.cli.options import Reading, check_alpha, check_level
from relfit.cli.progress import Steps
from relfit.errors import ArgumentError, DataError
from relfit.screening.tallies import HOURS_PER_YEAR
from relfit.units import hours

if TYPE_CHECKING:
    import pandas as pd

    from relfit.failurelog import FailureLog

__all__ = ["dependence", "incidents", "trend"]

_ERAS = 12  # periods shown
_LARGEST = 12  # incidents shown


def _flat(table: pd.DataFrame) -> pd.DataFrame:
    """A table with its keys as columns."""
    return table.reset_index(drop=table.index.names == [None])


# ------------------------------------------------------------------- dependence


def dependence(
    reading: Reading,
    how: Output,
    *,
    window: str = "1h",
    place: str | None = None,
    correlation: str = "spearman",
    alpha: float = 0.05,
    seed: int = 0,
) -> None:
    """Show whether nodes depend on each other, and failures on those before."""
    how.check()
    check_alpha(alpha)
    hours(window)
    if correlation not in _METHODS:
        raise ArgumentError(f"--correlation {correlation!r} is not known", remedy=f"use {', '.join(_METHODS)}")
    with Steps("reading", "asking", "writing") as steps:
        log = reading.select(reading.read())
        _check_column("--place", place, log, ("system",))
        steps.next()
        from relfit.independence import dependence as ask

        found = ask(log, window=window, place=place, method=correlation, rng=seed)
        steps.next()
        parts = Parts()
        whole = Part("dependence", "Notes", tables={"questions": found.to_frame()}, document=found.to_dict())
        for key, sentence in found.answers.items():
            result = getattr(found, key)
            part = Part(key, _QUESTIONS[key], sentence, problem="" if result is not None else sentence)
            if result is not None:
                _DETAILS[key](part, result, alpha)
                if result.depends is None:  # nothing to look at
                    part.shown, part.figures = {}, []
            parts.all.append(part)
        # all parts are within the document of the whole
        _show_dependence(log, how, parts, whole, found)


_METHODS = ("spearman", "pearson", "kendall")


def _check_column(option: str, name: str | None, log: FailureLog, known: tuple[str, ...]) -> None:
    if name is not None and name not in (*known, *log.attributes):
        raise ArgumentError(f"{option} {name!r} is no column", remedy=f"use {', '.join((*known, *log.attributes))}")


_QUESTIONS = {
    "correlation": "Between nodes: times to failure",
    "cofailure": "Between nodes: failing together",
    "place": "Between nodes of one place: failing together",
    "serial": "Along time: each node",
    "pooled": "Along time: all nodes pooled",
    "dispersion": "Along time: counts",
    "cycles": "Along time: the clock",
}


def _show_dependence(log: FailureLog, how: Output, parts: Parts, whole: Part, found: Any) -> None:
    if how.as_json:
        document = whole.document
        for part in parts.all:
            part.document = document.get(part.key)
        whole.document = {name: document[name] for name in ("findings", "problems", "notes")}
    else:
        whole.sentence = " ".join(f"{note[:1].upper()}{note[1:]}." for note in found.notes)
    parts.all.append(whole)
    parts.show(log, how, "questions", found.headline)


def _correlation(part: Part, found: Any, alpha: float) -> None:
    from relfit import plotting

    part.tables = {"correlation_classes": found.classes, "correlated_pairs": found.pairs(1000)}
    part.shown = {"classes of |r| (Table 3.4)": found.classes}
    significant = found.p_adjusted <= alpha
    if significant.any():
        part.shown["most significant pairs"] = found.pairs(min(int(significant.sum()), 10))
    part.figures = [
        ("correlations", partial(plotting.correlations, found)),
        ("correlation_classes", partial(plotting.correlation_classes, found)),
    ]


def _together(part: Part, found: Any, alpha: float) -> None:
    from relfit import plotting

    table = _flat(found.table)
    part.tables = {f"together_by_{found.per}": table}
    if found.pairs is not None:
        part.tables[f"pairs_together_by_{found.per}"] = found.pairs.head(1000)
    worst = table.sort_values("p", kind="stable")
    columns = [c for c in worst.columns if c not in ("status",)]
    part.shown = {f"by {found.per}, most significant first": worst[columns]}
    part.figures = [(f"together_by_{found.per}", partial(plotting.failing_together, found))]


def _serial(part: Part, found: Any, alpha: float) -> None:
    from relfit import plotting

    part.tables = {"serial_tests": found.to_frame()}
    rejected = found.rejected(alpha)
    part.shown = {f"nodes that a test rejects at {alpha:g}": rejected.rename_axis("test").reset_index()}
    part.figures = [
        ("durbin_watson", partial(plotting.durbin_watson, found, alpha=alpha)),
        ("autocorrelation", partial(plotting.autocorrelation, found, alpha=alpha)),
    ]


def _pooled(part: Part, found: Any, alpha: float) -> None:
    from relfit import plotting

    table = found.to_frame()
    part.tables = {"pooled_tests": table}
    step = max(-(-len(table) // 8), 1)
    part.shown = {"first k nodes": table.iloc[sorted({*range(0, len(table), step), len(table) - 1})]}
    part.figures = [("durbin_watson_pooled", partial(plotting.durbin_watson_pooled, found, alpha=alpha))]


def _dispersion(part: Part, found: Any, alpha: float) -> None:
    from relfit import plotting

    part.tables = {"dispersion": found.to_frame()}
    part.shown = {"counts in bins of time": found.to_frame()}
    part.figures = [("dispersion", partial(plotting.dispersion, found))]


def _cycles(part: Part, found: Any, alpha: float) -> None:
    from relfit import plotting

    part.tables = {"cycles": found.to_frame()}
    part.shown = {"cycles": found.to_frame()}
    part.figures = [(f"cycle_{name}", partial(plotting.clock_cycle, found, cycle=name)) for name in found.names]


_DETAILS: dict[str, Callable[[Part, Any, float], None]] = {
    "correlation": _correlation,
    "cofailure": _together,
    "place": _together,
    "serial": _serial,
    "pooled": _pooled,
    "dispersion": _dispersion,
    "cycles": _cycles,
}


# ------------------------------------------------------------------------ trend


def trend(
    reading: Reading,
    how: Output,
    *,
    per: str = "node",
    by: str | None = None,
    alpha: float = 0.05,
    level: float = 0.95,
    seed: int = 0,
) -> None:
    """Show periods, tests of trend, point processes, outlier nodes, kinds of repairs and availability."""
    how.check()
    check_alpha(alpha)
    check_level(level)
    with Steps("reading", "finding periods", "testing", "looking at nodes", "looking at repairs", "writing") as steps:
        log = reading.select(reading.read())
        _check_column("--per", per, log, ("node", "system", "cause", "scope"))
        if by is not None:
            _check_by(log, per, by)
        parts = Parts()
        steps.next()
        _periods(parts, log, alpha, level, seed)
        steps.next()
        _histories(parts, log, per, by, alpha, level)
        steps.next()
        _outlier_nodes(parts, log, alpha, level, seed)
        steps.next()
        _repairs(parts, log, level)
        _availability(parts, log, level)
        steps.next()
        parts.show(log, how, "trend_tests")


def _periods(parts: Parts, log: FailureLog, alpha: float, level: float, seed: int) -> None:
    from relfit import plotting
    from relfit.screening import change_points

    with parts.asking(
        "change_points", "Is the failure rate steady: periods, and the one that a fit should use"
    ) as part:
        found = change_points(log, size=alpha, level=level, rng=seed)
        part.sentence = found.sentence
        if len(log.systems) > 1:
            part.sentence += f" The {len(log.systems)} systems were taken as one: --where system=NAME takes one."
        table = found.to_frame()
        part.tables = {"periods": table}
        short = table.drop(columns=["start_low", "start_high", "per"])
        short[["rate", "low", "high"]] *= HOURS_PER_YEAR
        for name in ("start", "end"):
            short[name] = short[name].dt.strftime("%Y-%m-%d")
        short["use"] = ["use this" if i == found.stable else "" for i in range(len(short))]
        per = found.stable_period.per
        earlier = min(max(len(short) - _ERAS, 0), found.stable)
        title = f"periods (rates a {per})" + (f", without the first {earlier}" if earlier else "")
        part.shown = {title: short.iloc[earlier:]}
        part.document = found.to_dict()
        part.figures = [("change_points", partial(plotting.change_points, found))]


def _histories(parts: Parts, log: FailureLog, per: str, by: str | None, alpha: float, level: float) -> None:
    from relfit import plotting
    from relfit.recurrence import compare_groups, compare_processes, histories_of_log, mean_cumulative, trend_tests

    histories: Any = None
    with parts.asking("trend", "Does the rate rise or fall: tests of trend") as part:
        histories = histories_of_log(log, per)
        pooled = trend_tests(histories, "all")
        each = trend_tests(histories) if histories.n_histories > 1 else pooled
        part.sentence = pooled.sentence + (f" {each.sentence}" if each is not pooled else "")
        part.tables = {"trend_tests": each.to_frame(), "trend_test_of_all": pooled.to_frame()}
        part.shown = {"all together": _trend_rows(pooled)}
        if each is not pooled:
            part.shown[f"by {per}, share with p of {alpha:g} or less"] = _trend_shares(each, alpha)
        part.document = {**each.to_dict(), "all": pooled.to_dict()}
        part.figures = [("trend_tests", partial(plotting.trends, pooled, alpha=alpha))]
        if each is not pooled:
            part.figures.append((f"trend_tests_by_{_slug(per)}", partial(plotting.trends, each, alpha=alpha)))
    problem = parts.all[-1].problem
    with parts.asking("processes", "Which process describes the failures") as part:
        _need(histories, problem)
        together, single = compare_processes(histories, "all", level=level), compare_processes(histories, level=level)
        part.sentence = together.sentence + (f" {single.sentence}" if histories.n_histories > 1 else "")
        part.tables = {"processes": single.to_frame(), "processes_of_all": together.to_frame()}
        frame = together.to_frame()
        part.shown = {"all together": frame[[c for c in frame.columns if c not in ("group",)]]}
        part.document = {
            **single.to_dict(),
            "all": together.to_dict(),
            "fits": {model: output.records(fit.to_frame()) for model, fit in together.fits.items()},
        }
        part.figures = [("processes", partial(plotting.processes, together))]
    with parts.asking("mean_cumulative", "How many failures by age: the mean cumulative function") as part:
        _need(histories, problem)
        labels = "all" if by is None else _labels(log, histories, by)
        curve = mean_cumulative(histories, labels, level=level)
        part.sentence = curve.sentence
        part.tables = {"mean_cumulative": curve.to_frame()}
        part.document = curve.to_dict()
        part.figures = [("mean_cumulative", partial(plotting.mean_cumulative, curve))]
        if by is not None:
            compared = compare_groups(histories, labels)
            part.sentence = f"{compared.sentence} {curve.sentence}"
            part.tables["groups"] = _flat(compared.to_frame().rename_axis(by))
            part.shown = {f"by {by}": part.tables["groups"]}
            part.document["comparison"] = compared.to_dict()
            first, second = _two_largest(curve)
            if first is not None:
                gap = curve.difference(first, second)
                part.sentence += f" {gap.sentence}"
                part.document["difference"] = gap.to_dict()
                part.figures.append(("difference", partial(plotting.cumulative_difference, gap)))


def _need(histories: Any, problem: str) -> None:
    if histories is None:
        raise DataError(problem)


def _trend_rows(found: Any) -> pd.DataFrame:
    import pandas as pd

    rows = [
        (test, found.statistic[0, i], found.p[0, i], found.direction[0, i], found.status[0, i])
        for i, test in enumerate(found.tests)
    ]
    return pd.DataFrame(rows, columns=["test", "statistic", "p", "direction", "status"])


def _trend_shares(found: Any, alpha: float) -> pd.DataFrame:
    import pandas as pd

    shares, adjusted = found.share(alpha), found.share(alpha, adjusted=True)
    tested = (found.status == "ok").sum(axis=0)
    return pd.DataFrame(
        {"test": found.tests, "tested": tested, "share": shares.to_numpy(), "by_chance": alpha,
         "share_adjusted": adjusted.to_numpy()}
    )  # fmt: skip


def _check_by(log: FailureLog, per: str, by: str) -> None:
    """Reject a column that does not tell nodes apart."""
    if by == "system" and per in ("node", "system"):
        return
    if per != "node":
        raise ArgumentError(f"--by {by} compares nodes", remedy="leave out --per")
    known = [name for name in log.attributes if name in log.population.columns]
    if by not in known:
        raise ArgumentError(f"--by {by!r} is no column of the nodes", remedy=f"use {', '.join(('system', *known))}")


def _labels(log: FailureLog, histories: Any, by: str) -> Any:
    """The value of a column of the population for every history."""
    import pandas as pd

    if by == "system":
        return [str(label[0]) if isinstance(label, tuple) else str(label) for label in histories.groups]
    people = log.population
    nodes = pd.MultiIndex.from_arrays([people["system"].astype(object), people["node"].astype(object)])
    column = pd.Series(people[by].astype(object).to_numpy(), index=nodes)
    values = column[~column.index.duplicated()].reindex(histories.groups)
    return values.astype(object).where(values.notna(), "not stated").astype(str).tolist()


def _two_largest(curve: Any) -> tuple[Any, Any]:
    events = [int(curve.events[curve.offsets[i] : curve.offsets[i + 1]].sum()) for i in range(curve.n_groups)]
    order = sorted(range(len(events)), key=lambda i: -events[i])[:2]
    if len(order) < 2 or not events[order[1]]:
        return None, None
    return curve.groups[order[0]], curve.groups[order[1]]


_CLASSES = (
    "system", "nodes", "events", "fraction", "fraction_low", "fraction_high", "ratio", "ratio_low", "ratio_high", "p",
    "spread", "description", "status",
)  # fmt: skip


def _outlier_nodes(parts: Parts, log: FailureLog, alpha: float, level: float, seed: int) -> None:
    from relfit import plotting
    from relfit.screening._outlier_nodes import outlier_nodes

    with parts.asking("outlier_nodes", "Are there bad nodes") as part:
        found = outlier_nodes(log, alpha=alpha, level=level, rng=seed)
        part.sentence = found.sentence
        part.tables = {"outlier_nodes": found.nodes, "classes_of_nodes": found.classes}
        if found.nodes["events"].sum():
            part.shown = {"how rates of nodes differ": found.classes[[c for c in _CLASSES if c in found.classes]]}
            if len(found.found):
                part.shown["nodes that fail too often"] = found.found.drop(columns="outlier node")
        part.document = found.to_dict()
        part.figures = [("outlier_nodes", partial(plotting.outlier_nodes, found))]


def _repairs(parts: Parts, log: FailureLog, level: float) -> None:
    from relfit import plotting
    from relfit.screening._repair_kinds import repair_kinds

    with parts.asking("repairs", "Are repairs of two kinds: quick and slow") as part:
        found = repair_kinds(log, level=level)
        if not found.table["repairs"].sum():
            raise DataError("no repair was observed to its end")
        part.sentence = found.sentence
        part.tables = {"repairs": found.table}
        best = found.best()
        best.loc[best["status"] == "no_split", ["share_quick", "mean_quick", "mean_slow"]] = float("nan")
        names = ["share_quick", "mean_quick", "mean_slow", "mean", "split"]
        keys = list(best.columns[: best.columns.tolist().index("repairs") + 1])
        part.shown = {"best model of each cause (hours)": best[[*keys, *names, "status"]]}
        part.document = found.to_dict()
        part.figures = [
            ("repairs", partial(plotting.repair_classes, found)),
            ("repair_times", partial(plotting.repair_times, found)),
        ]


def _availability(parts: Parts, log: FailureLog, level: float) -> None:
    from relfit import plotting
    from relfit.recurrence import availability, availability_over_time

    with parts.asking("availability", "How much of the time are nodes up") as part:
        whole = availability(log, level=level)
        if (whole.status == "no_ends").all() or not whole.node_hours.sum():
            raise DataError("no outage has a known end, or nothing was watched")
        over = availability_over_time(log, level=level)
        part.sentence = f"{whole.sentence} {over.sentence}"
        part.tables = {"availability": whole.to_frame(), "availability_over_time": over.to_frame()}
        frame = whole.to_frame()
        names = ["nodes", "failures", "mtbf", "mttr", "operational", "operational_low", "operational_high", "status"]
        part.shown = {"availability": frame[[frame.columns[0], *names]]}
        part.document = {**whole.to_dict(), "over_time": over.to_dict()}
        part.figures = [("availability", partial(plotting.availability_over_time, over))]


def _slug(text: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in text)


# -------------------------------------------------------------------- incidents


def incidents(
    reading: Reading, how: Output, *, window: str | None = None, place: str = "system", level: float = 0.95
) -> None:
    """Show the incidents that records belong to."""
    from relfit import plotting

    how.check()
    check_level(level)
    with Steps("reading", "joining", "writing") as steps:
        log = reading.select(reading.read())
        steps.next()
        from relfit.screening import incidents as join

        found = join(log, window, place, level=level)
        steps.next()
        parts = Parts()
        choice = found.choice
        about = Part("window", "How far apart records of one incident are", choice.sentence)
        about.tables = {"gaps": choice.table}
        about.document = choice.to_dict()
        about.figures = [
            ("incident_window", partial(plotting.incident_window, choice)),
            ("incidents_by_window", partial(plotting.incidents_by_window, found)),
        ]
        whole = Part("incidents", "What the records amount to", found.sentence, document=found.to_dict())
        rates, causes = found.rates(), _flat(found.causes())
        whole.tables = {"incidents": found.table, "rates": rates, "rates_by_system": found.rates("system")}
        whole.tables["causes"] = causes
        whole.shown = {"rates by scope (hours)": rates, "causes": causes}
        largest = found.table.sort_values("nodes", ascending=False, kind="stable").head(_LARGEST)
        if len(largest):
            names = ["system", "start", "records", "nodes", "duration", "cause", "scope"]
            short = largest[names].assign(start=largest["start"].dt.strftime("%Y-%m-%d %H:%M"))
            whole.shown["largest incidents"] = short
        whole.figures = [("incident_sizes", partial(plotting.incident_sizes, found))]
        parts.all = [about, whole]
        parts.show(log, how, "incidents")
