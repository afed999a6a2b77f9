"""Campaigns: simulations over values of parameters, set by a file, computed anywhere, stored in a folder."""

from __future__ import annotations

from relfit.base.lazy import front

__getattr__, __dir__, __all__ = front(
    __name__,
    {
        "campaign": "Campaign Experiment Until read_campaign",
        "campaign_results": "CampaignResults load",
        "cell_comparisons": "Ownership best_cells break_even contour cost_of_ownership pareto_front sobol tornado",
        "sweeping": "sweep",
    },
)
