"""What each number of a report means, what it assumes, and where the method comes from."""

from __future__ import annotations

from relfit.reporting.components import Section
from relfit.reporting.report_data import ReportData

__all__ = ["methods"]


def methods(m: ReportData) -> Section:
    """The section of methods and assumptions, for what this report shows."""
    level = f"{100 * m.level:g} %"
    terms: list[tuple[str, str]] = []
    if m.whole_lives:
        terms.append(
            (
                "Life",
                "The source gives each unit's life whole: the time it was in service, and whether it ended in a "
                "failure. A unit that had not failed when last seen is a right-censored life: it counts as at least so "
                "long.",
            )
        )
    else:
        terms += [
            (
                "Time to failure",
                "The gap between consecutive failures. Gaps of a system pool the failures of all its nodes (the "
                'dissertation "Reliability-aware resource allocation", Figure 4.1). ' + _notes(m),
            ),
            (
                "Censoring",
                "The gap that was still going on when observation ended is right-censored: it counts as at least "
                "so long. A node that never failed is one such life. Leaving them out would make nodes look worse than "
                "they are."
                if m.censor
                else "Gaps still going on when observation ended were left out, which biases mean times low.",
            ),
        ]
    terms += [
        (
            "MTTF and MTBF",
            f"Hours under observation divided by failures. The {level} interval is the exact chi-square interval of a "
            "Poisson process (Epstein and Sobel 1953); it is too narrow where failures come in bursts and too "
            "wide where they are more regular than chance.",
        ),
        (
            "MTTR and availability",
            f"Mean of the repairs seen to their end, with a {level} Student interval on the logarithmic scale. It "
            "is rough below some ten repairs, since repair times have long tails. Availability is one minus the "
            "nodes' outage hours over their hours observed; outages recorded without a node are not in it.",
        ),
        (
            "Rate and chance bands",
            "Records over node-years, with exact Poisson intervals (Garwood 1936). Records of one incident on "
            "several nodes are not independent, so true bands are wider.",
        ),
        (
            "Change points",
            "Incidents in bins of a day are taken as a Poisson process whose rate is constant within a period. The "
            "segmentation is exact (optimal partitioning: Jackson et al. 2005), with a penalty that finds a change in "
            "5 % of logs that have none. The period to use is the most recent one with a sixth of the node-hours or "
            "more.",
        ),
        (
            "Trend and processes",
            "Laplace and MIL-HDBK-189 ask whether failures come as those of a Poisson process of constant rate, "
            "Lewis-Robinson and Mann whether they come as those of any renewal process (Ascher and Feingold 1984). The "
            "observed curve is the mean cumulative function with robust limits (Nelson 2003).",
        ),
        (
            "Incidents",
            "Bursts of one node are joined first, then different nodes of a rack, then of the system. Long gaps tell "
            "how many short ones chance would give; a window ends where short gaps stop being more than twice as "
            "frequent, or where chance would join more than 1 % of the incidents. Rates have exact Poisson intervals "
            "(Garwood 1936).",
        ),
        (
            "Independence",
            "Correlations are Spearman's, of the first times to failure that two nodes share. Failures together are "
            "counted within an hour and set against independent Poisson processes and random logs. The p-values along "
            "time come from shuffling, exact whatever the distribution. All verdicts together are at 5 % (Holm).",
        ),
        (
            "OutlierNodes",
            "Weibull renewals of equal nodes, of nodes whose rates differ by degrees (gamma frailty) and of two "
            "classes of nodes are compared by BIC; nodes differ only where their numbers of failures scatter more than "
            "those of random logs with the same times between failures. An outlier node says that a node differs, not "
            "why: load and incidents that hit a whole rack do it too.",
        ),
        (
            "Quick and slow repairs",
            "Two exponentials and two lognormals by maximum likelihood; the lower AIC is shown, and two kinds only "
            "where BIC prefers them to one.",
        ),
        (
            "Distribution functions",
            "The black steps are the Kaplan-Meier estimate (1958), which takes censoring into account. Fitted "
            "curves are maximum likelihood with censoring. Lives of one group are taken as independent and alike; "
            "trends and periods break that, so look at the rate over time first.",
        ),
        (
            "Probability plots",
            "Points stand at the middle of the Kaplan-Meier steps. On the right family's paper they scatter about "
            "the line; a bend means another family, a kink a mixture (Meeker and Escobar 1998, chapter 6).",
        ),
        (
            "Choice of the family",
            "By AICc, Akaike's criterion for small samples (Hurvich and Tsai 1989), n being the number of failures; "
            "differences below 2 mean nothing.",
        ),
        (
            "Tests of fit",
            "The p-values of Kolmogorov-Smirnov and Anderson-Darling account for the fitted parameters. Where every "
            "life ended they come from simulated tables, elsewhere from a parametric bootstrap that censors alike "
            "(p from: table, bootstrap; or not computed, where that would take long). A small one says that the family "
            "is wrong for this group. Among many groups some are small by chance: the table of rejections counts them "
            "with the false-discovery rate controlled (Benjamini and Hochberg 1995). The textbook p-value, which takes "
            "fitted parameters as known and accepts almost anything, is in the CSV for comparison with the "
            "literature.",
        ),
    ]
    return Section("methods", "Methods and assumptions", terms=tuple(terms))


def _notes(m: ReportData) -> str:
    notes = [note[:1].upper() + note[1:] + "." for note in m.lives.notes]
    return " ".join(notes)
