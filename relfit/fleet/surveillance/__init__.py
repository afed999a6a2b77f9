"""What changed in a watched fleet, at a stated tail probability: rates, nodes, repairs.

A `WatchedFleet` is a log until now, as streams of incidents by day and by node. `rate_scans` holds windows of counts
against the year before them, `recurrence_scans` the last failures of a place against those of all others, and both are
of arrays alone; `rates_of_fleet`, `repair_scans` and `node_scans` apply them, and share out the false findings that are
allowed in a year. What is to be said of it, and to whom, is `relfit.live`'s.
"""

from relfit.fleet.surveillance.count_scores import scored, tails_of_counts
from relfit.fleet.surveillance.node_scans import NodeEpisode, failed_repairs, nodes_standing_out
from relfit.fleet.surveillance.rate_scans import RateEpisode, RateScan, scan_rates, scan_scores
from relfit.fleet.surveillance.rates_of_fleet import RateChange, rate_changes
from relfit.fleet.surveillance.recurrence_scans import Recurrence, scan_recurrence
from relfit.fleet.surveillance.repair_scans import RepairEpisode, slower_repairs
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
    "failed_repairs",
    "nodes_standing_out",
    "rate_changes",
    "scan_rates",
    "scan_recurrence",
    "scan_scores",
    "scored",
    "slower_repairs",
    "tails_of_counts",
]
