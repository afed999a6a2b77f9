"""From a log to a model of its fleet: incidents by scope, unequal nodes, repairs, and jobs on part of the fleet.

``prediction`` predicts series of counts from their past; ``surveillance`` finds rates and nodes that changed;
``calibration`` makes a checked file of parameters from a log. A log and a period go in; a `FleetModel`, a `Forecast`
or `Parameters` come out, for ``planning`` and ``simulation``. Results are for now unless the long run is requested
(``rates_now``). A newcomer may add a predictor: a function of counts and times in ``prediction``.
"""

from relfit.fleet._chosen_period import ChosenPeriod, chosen_period
from relfit.fleet._fit_by_size import SizeFits, fit_by_size
from relfit.fleet._fleet_model import fleet_model
from relfit.fleet._forecast import Forecast, forecast
from relfit.fleet._placements import hit_probability, hits_by_size, placements
from relfit.fleet._slurm import SlurmNodes, slurm_nodes
from relfit.fleet._system_from_log import system_from_log
from relfit.fleet.fleet_answers import FleetModel

__all__ = [
    "ChosenPeriod",
    "FleetModel",
    "Forecast",
    "SizeFits",
    "SlurmNodes",
    "chosen_period",
    "fit_by_size",
    "fleet_model",
    "forecast",
    "hit_probability",
    "hits_by_size",
    "placements",
    "slurm_nodes",
    "system_from_log",
]
