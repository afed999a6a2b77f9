"""Figures: one function each, a result and an Axes in, the Axes out. matplotlib is loaded when one is drawn.

Every function takes ``ax=None`` (a new pyplot figure) and titles the axes with what the data show.
"""

from __future__ import annotations

from relfit.plotting._registry import plot
from relfit.plotting.checkpointing import schedule_intervals, waste_over_interval
from relfit.plotting.clock import hour_of_day, weekday
from relfit.plotting.dependence import (
    autocorrelation,
    clock_cycle,
    correlation_classes,
    correlations,
    dispersion,
    durbin_watson,
    durbin_watson_pooled,
    failing_together,
)
from relfit.plotting.events import causes, event_rate, events_over_time
from relfit.plotting.incidents import incident_sizes, incident_window, incidents_by_window
from relfit.plotting.lifetimes import distributions, probability_plot
from relfit.plotting.migration import strategy_map, yield_by_size, yield_of_replicas
from relfit.plotting.nodes import failures_by_node, means_by_group
from relfit.plotting.nodes_of_job import (
    best_size_by_work,
    completion_by_shape,
    completion_by_size,
    completion_curve,
    speedup_curves,
)
from relfit.plotting.outlier_nodes import outlier_nodes
from relfit.plotting.periods import change_points
from relfit.plotting.recurrence import availability_over_time, cumulative_difference, mean_cumulative, processes, trends
from relfit.plotting.repairs import repair_classes, repair_times
from relfit.plotting.sparing import decision_map, gpu_hours, sensitivity, simulated_hours, uncertain_spares
from relfit.plotting.style import family_mark, look
from relfit.plotting.system import calibration, chi_square_bins, interval_band, reliability_curve, uniform_plot
from relfit.plotting.system_sizes import by_size

__all__ = [
    "autocorrelation",
    "availability_over_time",
    "best_size_by_work",
    "by_size",
    "calibration",
    "causes",
    "change_points",
    "chi_square_bins",
    "clock_cycle",
    "completion_by_shape",
    "completion_by_size",
    "completion_curve",
    "correlation_classes",
    "correlations",
    "cumulative_difference",
    "decision_map",
    "dispersion",
    "distributions",
    "durbin_watson",
    "durbin_watson_pooled",
    "event_rate",
    "events_over_time",
    "failing_together",
    "failures_by_node",
    "family_mark",
    "gpu_hours",
    "hour_of_day",
    "incident_sizes",
    "incident_window",
    "incidents_by_window",
    "interval_band",
    "likelihood_contour",
    "look",
    "mean_cumulative",
    "means_by_group",
    "outlier_nodes",
    "plot",
    "probability_plot",
    "processes",
    "reliability_curve",
    "repair_classes",
    "repair_times",
    "schedule_intervals",
    "sensitivity",
    "simulated_hours",
    "speedup_curves",
    "strategy_map",
    "trends",
    "uncertain_spares",
    "uniform_plot",
    "waste_over_interval",
    "weekday",
    "yield_by_size",
    "yield_of_replicas",
]
