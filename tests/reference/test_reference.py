"""Every number that relfit gave before on real logs, the sample and the papers' cells, still comes out.

The slow topics are marked ``slow``, and ``make verify`` runs the longest; ``python -m tests.reference.collect --check``
compares all.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from tests.reference.collect import SLOW, TOPICS, NoDataError, collect, differences, expected_values, load_topics

EXCEPTIONS = {
    "fits_*.mean_ks": "ks is the statistic that is tested: weighted by the share not yet censored",
    "fits_*.ks": "so is that of nodes",
    "fits_other_kinds.entered_late_nodes.*.ks_p_textbook": "groups with lives that entered late have none",
    "fits_nodes.*.ks_p_textbook": "beyond 140 durations by scipy's kstwo, exact far out; before by an expansion",
    "exports.lanl_20.fta.again": "outages of a node that touch without overlapping stay apart, as in the log itself",
    "sparing.shared_racks.cett": "blocks of one rack go down together, in the spares needed too",
    "calibration.*.mttr.*": "there are times to repair by scope and by outage of a node",
    "calibration.white.mtbf.outage.*": "an outage of the whole system is one of each of its nodes",
    "calibration.white.censoring.*": "an outage without an end goes on until its node was last watched",
    "calibration.white.repair.*": "so it does in the family of times to repair",
    "intervals.four_lives.region.*": "the border is followed by other, closer points",
    "*.grid5000.*": "a node of a Failure Trace Archive trace is watched from its first row to its last",
    "*.white_steady.*": "a cut does not make running nodes new: their first times are in progress at an unknown age",
    "*.hardware*": "an outage of the sample without an end goes on until its node was last watched",
    "times_to_repair.*": "so do other outages without an end",
    "reading.*": "and so it is read; the scope of a record that says none is missing",
    "*.lanl.system.*": "records without a node or a scope are taken as whole-system ones, with a note",
    "fits_nodes.*": "one failure among fewer than ten lives is few, and no estimate of two parameters",
    "fits_other_kinds.*": "here too",
    "fits_partitioned.*": "here too",
    "intervals.*": "here too, and in bootstrap replicates",
    "goodness_of_fit.*": "here too",
    "pooling.*": "here too",
    "choice_of_family.*": "groups with too few failures to compare are no win of any family",
    "replication.best_restart_interval": "found on a closer grid",
    "incidents.*": "windows from times between different nodes, level by level, aware of the clock's step",
    "change_points.*": "counts of renewals scatter by the times between them; incidents are those above",
    "stable_periods.*": "here too",
    "stable_periods_default.*": "here too",
    "outlier_nodes.*": "nodes are judged by how nodes differ, not against equal ones, by failures of their own",
    "tallies.*": "which counts, and tests no longer",
    "kinds_of_repair.*": "loglogistic and inverse Gaussian repairs are among the single families",
    "calibration.*": "rates and the distribution of a node are those of the model of the fleet, limits by the calendar",
    "dependence.*": "causes are told apart, and nothing is seen below a step of the clock",
    "dependence_random.*": "all questions share five percent",
    "recurrence.*": "limits of few copies by Student's t; trend sentences by the counts",
    "availability.*": "outages of whole systems count for every node",
    "system.*": "a system of a log knows racks and whole-system failures, and offers no node in repair",
    "system_spares.*": "here too",
    "system_intervals.*": "here too",
    "system_from_log.*": "here too",
    "jobs.*": "here too",
    "validation.white_chi_square.*": "here too",
    "regression.white.weibull.repair_cause.*": "an outage without an end is censored",
    "competing_causes.*": "times of unknown age are left out",
    "rejections.*": "times of unknown age have p-values by bootstrap",
    "nonparametric.*": "times of unknown age are left out",
}
"""Patterns of keys whose values are those after a change, and what changed."""

load_topics()
EXPECTED = expected_values()


LONG = (
    "fits_titan",
    "system_from_log",
    "system_spares",
    "fits_system",
    "pooling",
    "stable_periods_default",
    "rejections",
    "goodness_of_fit",
    "choice_of_family",
    "regression",
    "regression_titan",
    "fits_nodes",
    "intervals",
)  # what they compute is computed by other topics too, of smaller logs, or held to peers in tests of their rooms


def _marks(name: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.slow] * (name in SLOW) + [pytest.mark.verify] * (name in LONG)


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=_marks(name)) for name in TOPICS])
def test_every_value_is_what_it_was(name: str) -> None:
    try:
        values = collect(name)
    except NoDataError as error:
        pytest.skip(str(error))
    lines = differences(name, EXPECTED[name], values)
    assert not lines, "\n".join([f"{len(lines)} of {len(EXPECTED[name])} values differ:", *lines])


def test_each_topic_has_values_and_each_exception_a_key() -> None:
    assert set(EXPECTED) == set(TOPICS)
    keys = [f"{name}.{key}" for name, values in EXPECTED.items() for key in values]
    assert [pattern for pattern in EXCEPTIONS if not any(fnmatchcase(key, pattern) for key in keys)] == []


def test_a_difference_is_seen() -> None:
    name = "reading"
    expected = {"a": 1.0, "b": [1.0, 2.0], "c~": 1.0, "d": "x", "e": 3}
    assert differences(name, expected, {"a": 1.0 + 1e-8, "b": [1.0, 2.0], "c~": 1.01, "d": "x", "e": 3}) == []
    found = differences(name, expected, {"a": 1.0 + 1e-5, "b": [1.0], "c~": 1.5, "d": "y", "f": 3})
    assert [line.split(":")[0].removeprefix("reading.") for line in found] == ["e", "f", "a", "b", "c~", "d"]
