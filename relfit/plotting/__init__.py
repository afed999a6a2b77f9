"""Figures: one function each, a result and an Axes in, the Axes out. matplotlib is loaded when one is drawn.

Every function takes ``ax=None`` (a new pyplot figure) and titles the axes with what the data show.
"""

from __future__ import annotations

from relfit.plotting.clock import hour_of_day, weekday
from relfit.plotting.events import causes, event_rate, events_over_time
from relfit.plotting.fleet import fleet_scatter
from relfit.plotting.hazard import hazard_plot
from relfit.plotting.lifetimes import distributions, probability
from relfit.plotting.likelihood import likelihood_contour, profile_likelihood
from relfit.plotting.nodes import failures_by_node, means_by_group
from relfit.plotting.paper import pp_plot, probability_plot, qq_plot
from relfit.plotting.style import family_mark, look

__all__ = [
    "causes",
    "distributions",
    "event_rate",
    "events_over_time",
    "failures_by_node",
    "family_mark",
    "fleet_scatter",
    "hazard_plot",
    "hour_of_day",
    "likelihood_contour",
    "look",
    "means_by_group",
    "pp_plot",
    "probability",
    "probability_plot",
    "profile_likelihood",
    "qq_plot",
    "weekday",
]
