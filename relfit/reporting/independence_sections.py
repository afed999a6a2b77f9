"""The sections that ask whether failures stand for themselves: independence, incidents, bad nodes."""

from __future__ import annotations

import pandas as pd

from relfit import plotting
from relfit.reporting.components import Figure, Section, Table
from relfit.reporting.drawing import draw
from relfit.reporting.report_data import ReportData
from relfit.text import count

__all__ = ["incidents_section", "independence", "nodes_section"]

_SMALL = (5.4, 3.2)


def independence(m: ReportData) -> Section:
    """Whether nodes depend on each other, and failures on those before."""
    key, title = "independence", "Are failures independent?"
    found = m.analyses.dependence.result
    if found is None:
        return Section(key, title, empty=m.analyses.dependence.problem)
    figures: list[Figure] = []
    if found.correlation is not None and found.correlation.n_pairs:
        figures.append(draw("correlations", plotting.correlations, found.correlation, size=_SMALL, note=(
            "Few times to failure that two nodes share make high coefficients likely by chance alone: compare the bars "
            "with the line, not with zero."
        )))  # fmt: skip
    together = [part for part in (found.cofailure, found.place) if part is not None and part.expected > 0.0]
    if together:
        height = 3.6 if len(together[-1].table) > 1 else 2.4
        figures.append(draw("together", plotting.failing_together, together, size=(5.4, height), note=(
            "Counted are pairs of failures of two nodes. Random logs keep how often and how unevenly each node fails."
        )))  # fmt: skip
    if found.serial is not None and found.serial.depends is not None:
        figures.append(draw("durbinwatson", plotting.durbin_watson, found.serial, size=_SMALL))
        figures.append(draw("autocorrelation", plotting.autocorrelation, found.serial, size=_SMALL))
    if found.pooled is not None and found.pooled.depends is not None:
        figures.append(draw("pooled", plotting.durbin_watson_pooled, found.pooled, size=_SMALL))
    if found.dispersion is not None and found.dispersion.depends is not None:
        figures.append(draw("dispersion", plotting.dispersion, found.dispersion, size=_SMALL))
    frame = found.to_frame()
    words = {True: "no", False: "yes"}
    questions = pd.DataFrame(
        {
            "question": frame["question"],
            "independent": [words.get(value, "no answer") for value in frame["depends"]],
            "finding": frame["finding"],
        }
    )
    tables = [
        Table("independence", "Each question and its answer", questions, {
            "question": "question", "independent": "independent?",
        })
    ]  # fmt: skip
    if found.correlation is not None and found.correlation.n_pairs:
        classes = found.correlation.classes
        tables.append(
            Table(
                "correlation-classes",
                "Pairs of nodes by correlation of their times to failure",
                classes,
                {"class": "class", "low": "|r| from", "high": "to", "pairs": "pairs", "observed_share": "observed",
                 "expected_share": "if independent"},
                percent=frozenset({"observed_share", "expected_share"}),
            )
        )  # fmt: skip
    terms = tuple((f"{q[:1].upper()}{q[1:]}", str(f)) for q, f in zip(frame["question"], frame["finding"], strict=True))
    return Section(key, title, (), tuple(figures), tuple(tables), terms, verdict=found.headline)


def incidents_section(m: ReportData) -> Section:
    """What the records amount to when those of one incident are joined."""
    key, title = "incidents", "Incidents"
    found = m.analyses.incidents.result
    if found is None:
        return Section(key, title, empty=m.analyses.incidents.problem)
    if not len(found):
        return Section(key, title, empty="The log has no events to join to incidents.")
    figures: list[Figure] = []
    if len(found.window.table):
        figures.append(draw("window", plotting.incident_window, found, size=_SMALL, note=(
            "Records of different nodes are joined as long as a gap of their length is more likely to lie within an "
            "incident than between two, and chance joins less than 1 % of the incidents."
        )))  # fmt: skip
    figures.append(draw("sizes", plotting.incident_sizes, found, size=_SMALL))
    level = f"{100 * m.level:g} %"
    rates = Table(
        "incident-rates",
        "Mean time between incidents by scope",
        found.rates(),
        {"scope": "scope", "incidents": "incidents", "records": "records", "unit": "of one", "mtbf": "MTBF (h)",
         "mtbf_low": "low", "mtbf_high": "high"},
        note=f"For one node, one rack or one system. Low and high: {level} Poisson interval.",
    )  # fmt: skip
    shown = found.table.sort_values("nodes", ascending=False, kind="stable", ignore_index=True)
    names = {"system": "system", "start": "start", "nodes": "nodes", "records": "records", "duration": "duration (h)",
             "cause": "cause", "scope": "scope"}  # fmt: skip
    if not m.several_systems:
        names.pop("system")
    zone = m.log.source.timezone
    times = {name: shown[name].dt.tz_convert(zone).dt.strftime("%Y-%m-%d %H:%M") for name in ("start", "end")}
    largest = Table("incidents", "Incidents, those that hit most nodes first", shown.assign(**times), names, shown=8)
    return Section(key, title, found.findings[1:], tuple(figures), (rates, largest), verdict=found.headline)


def nodes_section(m: ReportData) -> Section:
    """Failures by node: which nodes are bad."""
    key, title = "nodes", "Failures by node: which are bad"
    most = int(m.nodes.table["events"].max()) if len(m.nodes.table) else 0
    if most < 2:
        empty = (
            "No record names a node that failed."
            if not most
            else "No node failed more than once: there is no outlier node."
        )
        return Section(key, title, empty=empty)
    found = m.analyses.outlier_nodes.result
    if found is None:
        return Section(key, title, empty=m.analyses.outlier_nodes.problem)
    figure = draw("nodes", plotting.outlier_nodes, found, note=(
        "If all nodes of a system were equal, with the times between failures that nodes have, their numbers of "
        "failures would follow the orange line."
    ))  # fmt: skip
    own = {"system": "system"} if m.several_systems else {}
    nodes = Table(
        "failures-by-node",
        "Nodes that stand out most",
        found.nodes,
        {**own, "node": "node", "events": "failures", "expected": "expected if equal", "ratio": "ratio",
         "excess": "excess", "posterior": "probability", "outlier": "outlier node"},
        note=(
            "Excess: failures above those of a node of mean rate. Probability: that the node is of the bad class or, "
            "where rates differ by degrees, that its rate is three times the mean or more. Of the outlier nodes at "
            f"most {100 * found.alpha:g} % are expected to be named falsely."
        ),
    )  # fmt: skip
    tables = [nodes]
    fitted = found.classes[found.classes["status"] == "ok"]
    if len(fitted):
        percent = frozenset({"fraction", "fraction_low", "fraction_high"})
        names = {"fraction": "bad nodes", "fraction_low": "low", "fraction_high": "high", "ratio": "ratio of rates",
                 "ratio_low": "low ", "ratio_high": "high ", "p": "p"}  # fmt: skip
        if "description" in fitted:
            names |= {"spread": "spread of rates", "description": "describes best"}
            said = {"two_classes": "two classes", "spread": "a spread of rates", "equal": "one rate"}
            fitted = fitted.assign(description=fitted["description"].map(lambda x: said.get(x, str(x))))
        tables.append(
            Table(
                "classes-of-nodes",
                "How the rates of nodes differ",
                fitted,
                {**own, **names},
                percent=percent,
                note="Ratio: how many times as often a node of the bad class fails. p: chance that equal nodes differ "
                "so much. Spread: coefficient of variation, if rates differ by degrees.",
            )
        )
    words: tuple[str, ...] = ()
    if found.without_node:
        words = (f"{count(found.without_node, 'record names', 'records name')} no node and count for none.",)
    return Section(key, title, words, (figure,), tuple(tables), verdict=found.headline)
