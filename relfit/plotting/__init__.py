"""Figures: one function each, a result and an Axes in, the Axes out. matplotlib is loaded when one is drawn.

Every function takes the result first, then ``ax=None``, a matplotlib Axes (a new pyplot figure where it is left out),
returns the Axes, and titles them with what the data show; only what else a figure takes is in its own docstring. Where
there is nothing to draw, the figure says why.
"""

from __future__ import annotations

from relfit.plotting._registry import plot
from relfit.plotting.batch_figures import batch_states, gantt
from relfit.plotting.change_point_figures import change_points
from relfit.plotting.checkpoint_figures import waste_over_interval
from relfit.plotting.event_figures import causes, event_rate, events_over_time
from relfit.plotting.fit_figures import distributions, probability_plot
from relfit.plotting.forecast_figures import forecast
from relfit.plotting.incident_figures import incident_sizes, incident_window, incidents_by_window
from relfit.plotting.independence_figures import (
    autocorrelation,
    clock_cycle,
    correlation_classes,
    correlations,
    dispersion,
    durbin_watson,
    durbin_watson_pooled,
    failing_together,
)
from relfit.plotting.job_figures import completion_by_size, completion_curve
from relfit.plotting.migration_figures import yield_by_size, yield_of_replicas
from relfit.plotting.node_figures import failures_by_node, means_by_group
from relfit.plotting.outlier_figures import outlier_nodes
from relfit.plotting.recurrence_figures import availability_over_time, processes, step_curves, trends
from relfit.plotting.repair_figures import repair_classes, repair_times
from relfit.plotting.repair_sweep_figures import repair_sweep, repair_sweep_map
from relfit.plotting.sparing_figures import decision_map, gpu_hours, simulated_hours, uncertain_spares
from relfit.plotting.style import family_mark, look
from relfit.plotting.system_figures import by_size, calibration, chi_square_bins, interval_band, reliability_curve
from relfit.plotting.training_figures import (
    server_states,
    training_designs,
    training_sweep,
    training_time,
    training_tornado,
    two_way_map,
)
from relfit.plotting.workload_figures import job_shares

__all__ = [
    "autocorrelation",
    "availability_over_time",
    "batch_states",
    "by_size",
    "calibration",
    "causes",
    "change_points",
    "chi_square_bins",
    "clock_cycle",
    "completion_by_size",
    "completion_curve",
    "correlation_classes",
    "correlations",
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
    "forecast",
    "gantt",
    "gpu_hours",
    "incident_sizes",
    "incident_window",
    "incidents_by_window",
    "interval_band",
    "job_shares",
    "look",
    "means_by_group",
    "outlier_nodes",
    "plot",
    "probability_plot",
    "processes",
    "reliability_curve",
    "repair_classes",
    "repair_sweep",
    "repair_sweep_map",
    "repair_times",
    "server_states",
    "simulated_hours",
    "step_curves",
    "training_designs",
    "training_sweep",
    "training_time",
    "training_tornado",
    "trends",
    "two_way_map",
    "uncertain_spares",
    "waste_over_interval",
    "yield_by_size",
    "yield_of_replicas",
]
