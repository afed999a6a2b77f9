"""A fleet that is watched: sources are fetched into a store, what changed raises alarms, and a page says what to do.

Data goes one way: a source (`relfit.live.sources`) gives records and where it got to (`Fetched`); the store keeps each
record once; a round asks a `relfit.Study` of what is stored, and `relfit.fleet.surveillance` what changed; alarms and
the page of the day say it, and outputs hand it to Prometheus, Alertmanager, Grafana and Slurm. Nothing outside this
package imports it but its command. It needs ``pip install "relfit[live]"``. A newcomer may add a source: its module in
``sources``.
"""

from relfit.fleet.surveillance import scored
from relfit.live._day_page import day_page
from relfit.live._fleet_alarms import alarm_history, fleet_alarms
from relfit.live._forecast_record import forecast_record
from relfit.live.live_records import Alarm

__all__ = ["Alarm", "alarm_history", "day_page", "fleet_alarms", "forecast_record", "scored"]
