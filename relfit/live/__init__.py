"""Watching a fleet: sources are fetched into a store, changes raise alarms, and a page says what to do.

Data goes one way: a source (`relfit.live.sources`) gives records and its cursor (`Fetched`); the store holds each
record once; a round analyses the stored records with a `relfit.Study` and `relfit.fleet.surveillance`; alarms and the
page of the day show the results, and outputs pass them to Prometheus, Alertmanager, Grafana and Slurm. Only its command
imports this package. It needs ``pip install "relfit[live]"``. A newcomer adds a source: its module in ``sources``.
"""

from relfit.fleet.surveillance import scored
from relfit.live._day_page import day_page, forecast_record
from relfit.live._fleet_alarms import alarm_history, fleet_alarms
from relfit.live.live_records import Alarm

__all__ = ["Alarm", "alarm_history", "day_page", "fleet_alarms", "forecast_record", "scored"]
