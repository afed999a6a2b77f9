"""Repairable systems: event histories, mean cumulative functions, tests of trend, point processes, availability."""

from relfit.analyses.recurrence._availability import availability, availability_over_time
from relfit.analyses.recurrence._mean_cumulative import MeanCumulative, mean_cumulative
from relfit.analyses.recurrence.availability_results import Availability, AvailabilityOverTime
from relfit.analyses.recurrence.histories import EventHistories, grouping, histories_of_incidents, histories_of_log
from relfit.analyses.recurrence.process_comparison import ProcessComparison, compare_processes
from relfit.analyses.recurrence.processes import MODELS, PROCESS_STATUS, ProcessFit, fit_process
from relfit.analyses.recurrence.trend import TESTS, TREND_STATUS, TrendTests, trend_tests

__all__ = [
    "MODELS",
    "PROCESS_STATUS",
    "TESTS",
    "TREND_STATUS",
    "Availability",
    "AvailabilityOverTime",
    "EventHistories",
    "MeanCumulative",
    "ProcessComparison",
    "ProcessFit",
    "TrendTests",
    "availability",
    "availability_over_time",
    "compare_processes",
    "fit_process",
    "grouping",
    "histories_of_incidents",
    "histories_of_log",
    "mean_cumulative",
    "trend_tests",
]
