"""What the numbers of a report mean, what they assume, and where the methods come from."""

from __future__ import annotations

from relfit.reporting.components import Section
from relfit.reporting.report_data import ReportData
from relfit.text import count

__all__ = ["methods"]

_TERMS = {
    "Period": (
        "Incidents in bins of a day are taken as a Poisson process whose rate is constant within a period. The "
        "segmentation is exact (optimal partitioning: Jackson et al. 2005), with a penalty that finds a change in "
        "1 % of logs that have none. The most recent period with a sixth of the node-hours or more is used, unless its "
        "start is known to no better than half of its length."
    ),
    "Interruptions": (
        "Records that belong together are one incident of a node, a rack, several nodes elsewhere, or the whole "
        "system. A window ends where short gaps stop being more frequent than chance gives. An outage of the whole "
        "system is one of every node. Hours between incidents are hours of operation over incidents, with limits that "
        "are wider where counts scatter more than Poisson."
    ),
    "Availability": (
        "One minus the nodes' hours down over their hours observed, outages of the whole system included. Limits come "
        "from the spread over time and nodes."
    ),
    "Jobs": (
        "A job of that many nodes starts at a random instant on nodes that are up; whatever takes down one of them "
        "interrupts it. Nodes differ in rate (gamma frailty) and may age (Weibull); racks and the whole system "
        "add their own incidents. They are held to how many jobs of each day went through lately."
    ),
    "Test on the past": (
        "From every month of the past the time after it is predicted from what was known then, and counted (rolling "
        "origin). The rivals are counts of the last windows, and of the jobs of the last 180 days. Limits come from "
        "resampled blocks of time. Here jobs are predicted from the shares of each day alone; relfit backtest makes a "
        "model of the fleet each time."
    ),
    "Outlier nodes": (
        "Weibull renewals of equal nodes, of nodes whose rates differ by degrees, and of two classes of nodes are "
        "compared by BIC, against random logs of equal nodes. An outlier says that a node differs, not why: load and "
        "incidents of a whole rack do it too."
    ),
    "Independence": (
        "Correlations are Spearman's, of the times to failure that two nodes share. Failures together are counted "
        "within an hour, against random logs that keep each node's own order and the rate over the calendar."
    ),
    "Distributions": (
        "The steps are the Kaplan-Meier estimate (1958); curves are maximum likelihood with censoring. The p-values "
        "of Anderson-Darling account for the fitted parameters. AICc is Akaike's criterion for small samples (Hurvich "
        "and Tsai 1989); differences below 2 mean nothing."
    ),
}  # fmt: skip


_LIVES = {
    "Share in service": (
        "The Kaplan-Meier estimate (1958) with pointwise limits: units that were still in service when last seen count "
        "for as long as they were seen."
    ),
    "Ended per year": "Counts over years of service, with exact Poisson limits (Garwood 1936).",
    "Distributions": _TERMS["Distributions"],
}


def methods(m: ReportData) -> Section:
    """What was asked, and how answers were found."""
    if m.log.lifetimes is not None:
        verdict = "Units are taken as independent of each other, and those seen longer as like the others."
        return Section("methods", "Methods", verdict, terms=tuple(_LIVES.items()), fold="Each method")
    verdict = (
        f"{count(m.asked, 'question')} with a p-value {'was' if m.asked == 1 else 'were'} asked. Of an independent, "
        "steady, equal fleet all answers together are wrong in at most 5 % of the logs (Holm 1979)."
        if m.asked
        else "No question of this log has a p-value: it has too few failures."
    )
    return Section("methods", "Methods", verdict, terms=tuple(_TERMS.items()), fold="Each method")
