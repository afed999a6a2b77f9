"""Campaigns: one file says what to simulate over which parameters; any machines compute it; a folder has the answers."""

from __future__ import annotations

from relfit.lazy import front

__getattr__, __dir__, __all__ = front(
    __name__,
    {
        "campaign": "Campaign Experiment Until read_campaign",
        "campaign_results": "CampaignResults load",
        "ownership": "Ownership cost_of_ownership",
        "sweeping": "sweep",
    },
)
