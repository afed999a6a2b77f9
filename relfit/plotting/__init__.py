"""Figures: one function each, a result and an Axes in, the Axes out. matplotlib is loaded when one is drawn.

Every function takes the result first, draws on ``ax`` (a matplotlib Axes; a new pyplot figure by default) and returns
that Axes, titled with what the data show. A figure's docstring names only its further options. Where there is nothing
to draw, the figure says why. `plot` finds the main figure of a result by its type. A newcomer adds a figure: its
module, and its name here.
"""

from __future__ import annotations

from relfit.base.lazy import front

__getattr__, __dir__, __all__ = front(
    __name__,
    {
        "_registry": "plot",
        "backtest_figures": "backtest",
        "batch_figures": "batch_states gantt",
        "burst_figures": "bursts",
        "campaign_figures": "campaign_map campaign_pareto campaign_tornado costs_of_ownership response_curve "
        "sobol_indices",
        "change_point_figures": "change_points",
        "checkpoint_figures": "waste_over_interval",
        "cofailure_figures": "clock_cycle failing_together",
        "event_figures": "causes events_over_time",
        "fit_figures": "distributions probability_plot",
        "forecast_figures": "forecast",
        "group_figures": "means_by_group",
        "incident_figures": "incident_sizes incident_window incidents_by_window",
        "independence_figures": "autocorrelation correlation_classes correlations dispersion durbin_watson "
        "durbin_watson_pooled",
        "job_figures": "completion_by_size completion_curve",
        "migration_figures": "yield_by_size yield_of_replicas",
        "outlier_figures": "outlier_nodes",
        "overview_figures": "availability dependence effects fleet parameters period",
        "recurrence_figures": "availability_over_time processes step_curves trends",
        "repair_figures": "repair_classes repair_times",
        "repair_sweep_figures": "repair_sweep repair_sweep_map",
        "sparing_figures": "decision_map gpu_hours hot_spares simulated_hours uncertain_spares",
        "style": "family_mark look",
        "system_figures": "by_size chi_square_bins reliability_curve",
        "training_figures": "server_states training_designs training_time",
        "workload_figures": "job_shares",
    },
)
