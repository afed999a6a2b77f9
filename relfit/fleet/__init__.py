"""The bridge from a log to a model: incidents by scope, unequal nodes, repairs, and jobs on part of the fleet."""

from relfit.fleet._chosen_period import ChosenPeriod, chosen_period
from relfit.fleet._fit_by_size import SizeFits, fit_by_size
from relfit.fleet._fleet_model import FleetModel, fleet_model
from relfit.fleet._forecast import Forecast, forecast
from relfit.fleet._placements import hit_probability, hits_by_size, placements
from relfit.fleet._slurm import SlurmNodes, slurm_nodes
from relfit.fleet._system_from_log import system_from_log

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
