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
        "campaign_figures": "campaign_map campaign_pareto campaign_tornado costs_of_ownership response_curve "
        "sobol_indices",
        "cluster_figures": "batch_states gantt job_shares repair_sweep repair_sweep_map server_states training_designs "
        "training_time",
        "dependence_figures": "autocorrelation clock_cycle correlation_classes correlations dispersion durbin_watson "
        "durbin_watson_pooled failing_together",
        "event_figures": "bursts causes change_points events_over_time incident_sizes incident_window "
        "incidents_by_window",
        "fit_figures": "distributions probability_plot",
        "forecast_figures": "backtest by_size chi_square_bins completion_by_size completion_curve forecast "
        "reliability_curve",
        "mixture_figures": "outlier_nodes repair_classes repair_times",
        "overview_figures": "availability dependence effects fleet means_by_group parameters period",
        "plan_figures": "decision_map gpu_hours hot_spares simulated_hours uncertain_spares waste_over_interval "
        "yield_by_size yield_of_replicas",
        "recurrence_figures": "availability_over_time processes step_curves trends",
        "style": "family_mark look",
    },
)
