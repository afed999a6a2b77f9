"""The section on methods: meaning, assumptions and sources of the numbers of a report."""

from __future__ import annotations

from collections.abc import Collection

from relfit.base.text import count
from relfit.reporting.components import Section
from relfit.reporting.report_data import ReportData

_TERMS = {  # and the sections that each explains
    ("Period", "steady"): (
        "Daily counts are Poisson with a rate that is constant within a period. The segmentation is exact (Jackson "
        "et al. 2005); it finds a change in 1 % of logs without one."
    ),
    ("Incidents", "interruptions"): (
        "Records that belong together are one incident. Hours between incidents are hours of operation over incidents; "
        "confidence intervals are wider where counts vary more than Poisson counts do, and narrower where they "
        "clearly vary less."
    ),
    ("Availability", "availability"): (
        "One minus node-hours down over node-hours observed, outages of the whole system included."
    ),
    ("Jobs", "jobs"): (
        "A job starts at a random instant on nodes that are up. Nodes differ in rate (gamma frailty) and may age "
        "(Weibull); racks and the whole system add incidents. Recent shares of uninterrupted jobs correct the result."
    ),
    ("Test on the past", "forecast jobs"): (
        "Each month of the past is predicted from what was known before it (rolling origin), by relfit and by counts "
        "of earlier windows."
    ),
    ("Outlier nodes", "nodes"): (
        "Weibull renewals of equal nodes, of a continuum of rates and of two classes are compared by BIC, and against "
        "random logs of equal nodes. An outlier need not be bad hardware: loads and racks differ, too."
    ),
    ("Independence", "independence"): (
        "Correlations are Spearman's. Failures together are counted within an hour, against random logs that keep "
        "each node's order."
    ),
    ("Distributions", "repairs times"): (
        "Steps: Kaplan-Meier (1958). Curves: maximum likelihood with censoring. p-values of Anderson-Darling allow for "
        "fitted parameters. AICc: Hurvich and Tsai (1989); differences below 2 mean nothing."
    ),
}


_TESTED = frozenset({"steady", "nodes", "independence"})  # sections whose verdicts rest on p-values

_LIVES = {
    "Share in service": (
        "The Kaplan-Meier estimate (1958) with pointwise confidence intervals: units count at the ages at which they "
        "were observed, up to when last seen."
    ),
    "Ended per year": "Counts over years of service, with exact Poisson confidence intervals (Garwood 1936).",
    "Distributions": _TERMS["Distributions", "repairs times"],
}


def _used(m: ReportData) -> str:
    """Which part of the log the report is about, by which rule."""
    if m.chosen.name == "given":
        return "The part used was chosen by hand."
    if m.chosen.problem is not None or m.chosen.name == "all":
        return "Here all of the log is used."
    return "The last period with a sixth of the node-hours or more is used."


def methods(m: ReportData, keys: Collection[str]) -> Section:
    """The section on methods, with the terms of the page's sections (`keys`)."""
    if m.log.lifetimes is not None:
        verdict = "Units are assumed independent, and those observed longer to be like the others."
        return Section("methods", "Methods", verdict, terms=tuple(_LIVES.items()), fold="Each method")
    verdict = (
        f"{count(m.asked, 'test')} with p-values; family-wise error 5 % (Holm 1979)."
        if m.asked and not _TESTED.isdisjoint(keys)
        else "Too few failures for tests of change, of nodes and of dependence."
    )
    explained = {key: f"{text} {_used(m)}" if key[0] == "Period" else text for key, text in _TERMS.items()}
    terms = tuple((term, text) for (term, of), text in explained.items() if not set(of.split()).isdisjoint(keys))
    return Section("methods", "Methods", verdict, terms=terms, fold="Each method")
