"""Changes in a watched fleet, at a stated tail probability: rates, nodes, repairs.

A `WatchedFleet` is a log until now. `rate_scans` compares windows of counts with the year before them,
`recurrence_scans` the last failures of a place with those of all others; `rates_of_fleet`, `repair_scans` and
`node_scans` divide the false alarms allowed in a year among such tests. `relfit.live` reports them.
"""

from relfit.fleet.surveillance.count_scores import (
    expected_soon,
    failures_ahead,
    forecasts_so_far,
    missed_counts,
    scored,
    tails_of_counts,
)
from relfit.fleet.surveillance.failures_at_once import WideIncident, wide_incidents
from relfit.fleet.surveillance.node_scans import NodeEpisode, failed_repairs, nodes_standing_out
from relfit.fleet.surveillance.rate_episodes import RateEpisode
from relfit.fleet.surveillance.rate_scans import RateScan, scan_rates, scan_scores
from relfit.fleet.surveillance.rates_of_fleet import RateChange, rate_changes
from relfit.fleet.surveillance.recurrence_scans import Recurrence, scan_recurrence
from relfit.fleet.surveillance.repair_scans import RepairEpisode, slower_repairs
from relfit.fleet.surveillance.silence import longest_pause
from relfit.fleet.surveillance.standing_alarms import nodes_of_late, rates_of_late
from relfit.fleet.surveillance.watched_fleet import Streams, WatchedFleet

__all__ = [
    "NodeEpisode",
    "RateChange",
    "RateEpisode",
    "RateScan",
    "Recurrence",
    "RepairEpisode",
    "Streams",
    "WatchedFleet",
    "WideIncident",
    "expected_soon",
    "failed_repairs",
    "failures_ahead",
    "forecasts_so_far",
    "longest_pause",
    "missed_counts",
    "nodes_of_late",
    "nodes_standing_out",
    "rate_changes",
    "rates_of_late",
    "scan_rates",
    "scan_recurrence",
    "scan_scores",
    "scored",
    "slower_repairs",
    "tails_of_counts",
    "wide_incidents",
]
