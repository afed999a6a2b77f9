"""relfit: from the failure logs of computing fleets to fitted lifetimes, reports, plans and what they rest on.

Importing this package is cheap: what it offers is loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from relfit.lazy import front

if TYPE_CHECKING:
    from relfit import backtesting as backtesting
    from relfit import batch as batch
    from relfit import calibration as calibration
    from relfit import datasets as datasets
    from relfit import families as families
    from relfit import fitting as fitting
    from relfit import fleet as fleet
    from relfit import independence as independence
    from relfit import io as io
    from relfit import jobs as jobs
    from relfit import nonparametric as nonparametric
    from relfit import planning as planning
    from relfit import plotting as plotting
    from relfit import prediction as prediction
    from relfit import recurrence as recurrence
    from relfit import regression as regression
    from relfit import screening as screening
    from relfit import simulation as simulation
    from relfit import system as system
    from relfit import training as training
    from relfit import workloads as workloads
    from relfit.backtesting import backtest
    from relfit.batch import simulate_batch
    from relfit.calibration import Parameters, calibrate, read_parameters
    from relfit.datasets import read, read_workload
    from relfit.errors import ArgumentError, DataError, ReadError, RelfitError
    from relfit.failurelog import FailureLog
    from relfit.fitting import fit
    from relfit.fleet import fleet_model, forecast, system_from_log
    from relfit.independence import dependence
    from relfit.io import write
    from relfit.lifedata import LifeData
    from relfit.nonparametric import kaplan_meier, log_rank, nelson_aalen
    from relfit.plotting import plot
    from relfit.regression import regress
    from relfit.reporting import report
    from relfit.screening import change_points, incidents, outlier_nodes, stable_period
    from relfit.simulation import campaigns
    from relfit.study import Study
    from relfit.system import System, system_from_fits
    from relfit.training import simulate_training

__version__ = "0.3.0"

_NAMES = {
    "backtesting": "backtest",
    "batch": "simulate_batch",
    "calibration": "Parameters calibrate read_parameters",
    "datasets": "read read_workload",
    "errors": "ArgumentError DataError ReadError RelfitError",
    "failurelog": "FailureLog",
    "fitting": "fit",
    "fleet": "fleet_model forecast system_from_log",
    "independence": "dependence",
    "io": "write",
    "lifedata": "LifeData",
    "nonparametric": "kaplan_meier log_rank nelson_aalen",
    "plotting": "plot",
    "regression": "regress",
    "reporting": "report",
    "screening": "change_points incidents outlier_nodes stable_period",
    "study": "Study",
    "system": "System system_from_fits",
    "training": "simulate_training",
}
_PACKAGES = (
    "batch",
    "campaigns",
    "datasets",
    "families",
    "fitting",
    "jobs",
    "planning",
    "plotting",
    "regression",
    "screening",
    "training",
    "workloads",
)
"""Those whose names are used as they stand; the others can be had as attributes, too."""
_OTHERS = (
    "backtesting",
    "calibration",
    "fleet",
    "independence",
    "io",
    "nonparametric",
    "prediction",
    "recurrence",
    "simulation",
    "system",
)
_MOVED = {
    "backtesting": "Backtest",
    "batch": "BatchRun resume_batch sweep_repairs",
    "failurelog": "Source Window",
    "fitting": "FamilyFit Fits StoredFits fit_stored",
    "fleet": "FleetModel Forecast SizeFits fit_by_size",
    "results": "Interval Result",
    "screening": "repair_kinds",
    "training": "TrainingParameters read_training",
    "workloads": "Workload write_workload",
}
_get = front(__name__, _NAMES)[0]

__all__ = [
    "ArgumentError",
    "DataError",
    "FailureLog",
    "LifeData",
    "Parameters",
    "ReadError",
    "RelfitError",
    "Study",
    "System",
    "backtest",
    "batch",
    "calibrate",
    "campaigns",
    "change_points",
    "datasets",
    "dependence",
    "families",
    "fit",
    "fitting",
    "fleet_model",
    "forecast",
    "incidents",
    "jobs",
    "kaplan_meier",
    "log_rank",
    "nelson_aalen",
    "outlier_nodes",
    "planning",
    "plot",
    "plotting",
    "read",
    "read_parameters",
    "read_workload",
    "regress",
    "regression",
    "report",
    "screening",
    "simulate_batch",
    "simulate_training",
    "stable_period",
    "system_from_fits",
    "system_from_log",
    "training",
    "workloads",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES or name in _OTHERS:
        return import_module("relfit.simulation.campaigns" if name == "campaigns" else f"relfit.{name}")
    for package, names in _MOVED.items():
        if name in names.split():
            raise AttributeError(f"relfit.{name} is relfit.{package}.{name}")
    value = _get(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
