"""`in_hours`: results of a campaign of training jobs as they are shown, with times in hours; stored are minutes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from relfit.simulation.campaigns import CampaignResults


def in_hours(result: CampaignResults) -> CampaignResults:
    """The results with outputs in hours in place of minutes, and prices per hour; those of other runs as they are."""
    campaign = result.campaign
    names = [name for name in result.outputs if name not in result.parameters and result.unit(name) == "min"]
    if campaign.get("run") != "training" or not names:
        return result
    prices: dict[str, Any] = dict(campaign.get("prices", {}))
    prices |= {name: 60.0 * prices[name] for name in names if name in prices}
    units = {**campaign.get("units", {}), **dict.fromkeys(names, "h")}
    runs = result.runs.assign(**{name: result.runs[name] / 60.0 for name in names})
    return replace(result, campaign={**campaign, "units": units, "prices": prices}, runs=runs)
