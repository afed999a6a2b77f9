"""Repairable systems: event histories, mean cumulative functions, tests of trend, point processes, availability."""

from relfit.recurrence.availability import Availability, AvailabilityOverTime, availability, availability_over_time
from relfit.recurrence.comparison import ProcessComparison, compare_processes
from relfit.recurrence.group_comparison import GroupComparison, compare_groups
from relfit.recurrence.histories import EventHistories, grouping, histories_of_log
from relfit.recurrence.mean_cumulative import (
    CumulativeDifference,
    MeanCumulative,
    mean_cumulative,
)
from relfit.recurrence.process_goodness import ProcessGoodness, process_goodness
from relfit.recurrence.processes import MODELS, PROCESS_STATUS, ProcessFit, fit_process
from relfit.recurrence.trend import TESTS, TREND_STATUS, TrendTests, trend_tests

__all__ = [
    "MODELS",
    "PROCESS_STATUS",
    "TESTS",
    "TREND_STATUS",
    "Availability",
    "AvailabilityOverTime",
    "CumulativeDifference",
    "EventHistories",
    "GroupComparison",
    "MeanCumulative",
    "ProcessComparison",
    "ProcessFit",
    "ProcessGoodness",
    "TrendTests",
    "availability",
    "availability_over_time",
    "compare_groups",
    "compare_processes",
    "fit_process",
    "grouping",
    "histories_of_log",
    "mean_cumulative",
    "process_goodness",
    "trend_tests",
]
