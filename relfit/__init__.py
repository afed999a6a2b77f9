"""relfit: from the failure logs of computing fleets to fitted lifetimes, reports, plans and what they rest on.

Importing this package is cheap: what it offers is loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from relfit.lazy import front

if TYPE_CHECKING:
    from relfit import (
        backtesting,
        batch,
        calibration,
        datasets,
        families,
        fitting,
        independence,
        io,
        jobs,
        nonparametric,
        planning,
        plotting,
        recurrence,
        regression,
        screening,
        simulation,
        system,
        training,
        workloads,
    )
    from relfit.backtesting import Backtest, backtest
    from relfit.batch import BatchRun, resume_batch, simulate_batch, sweep_repairs
    from relfit.calibration import Parameters, calibrate, read_parameters
    from relfit.errors import ArgumentError, DataError, ReadError, RelfitError
    from relfit.failurelog import FailureLog, Source, Window
    from relfit.fitting import FamilyFit, Fits, StoredFits, fit, fit_stored
    from relfit.fleet import FleetModel, Forecast, SizeFits, fit_by_size, fleet_model, forecast, system_from_log
    from relfit.independence import dependence
    from relfit.io import read, write
    from relfit.lifedata import LifeData
    from relfit.plotting import plot
    from relfit.regression import regress
    from relfit.reporting import report
    from relfit.results import Interval, Result
    from relfit.screening import change_points, incidents, outlier_nodes, repair_kinds, stable_period
    from relfit.simulation import campaigns
    from relfit.study import Study
    from relfit.system import System, system_from_fits
    from relfit.training import TrainingParameters, read_training, simulate_training
    from relfit.workloads import Workload, read_workload, write_workload

__version__ = "0.3.0"

_NAMES = {
    "backtesting": "Backtest backtest",
    "batch": "BatchRun resume_batch simulate_batch sweep_repairs",
    "calibration": "Parameters calibrate read_parameters",
    "errors": "ArgumentError DataError ReadError RelfitError",
    "failurelog": "FailureLog Source Window",
    "fitting": "FamilyFit Fits StoredFits fit fit_stored",
    "fleet": "FleetModel Forecast SizeFits fit_by_size fleet_model forecast system_from_log",
    "independence": "dependence",
    "io": "read write",
    "lifedata": "LifeData",
    "plotting": "plot",
    "regression": "regress",
    "reporting": "report",
    "results": "Interval Result",
    "screening": "change_points incidents outlier_nodes repair_kinds stable_period",
    "system": "System system_from_fits",
    "training": "TrainingParameters read_training simulate_training",
    "study": "Study",
    "workloads": "Workload read_workload write_workload",
}
_get, _, _named = front(__name__, _NAMES)

__all__ = [
    "ArgumentError",
    "Backtest",
    "BatchRun",
    "DataError",
    "FailureLog",
    "FamilyFit",
    "Fits",
    "FleetModel",
    "Forecast",
    "Interval",
    "LifeData",
    "Parameters",
    "ReadError",
    "RelfitError",
    "Result",
    "SizeFits",
    "Source",
    "StoredFits",
    "Study",
    "System",
    "TrainingParameters",
    "Window",
    "Workload",
    "backtest",
    "backtesting",
    "batch",
    "calibrate",
    "calibration",
    "campaigns",
    "change_points",
    "datasets",
    "dependence",
    "families",
    "fit",
    "fit_by_size",
    "fit_stored",
    "fitting",
    "fleet",
    "fleet_model",
    "forecast",
    "incidents",
    "independence",
    "io",
    "jobs",
    "nonparametric",
    "outlier_nodes",
    "planning",
    "plot",
    "plotting",
    "read",
    "read_parameters",
    "read_training",
    "read_workload",
    "recurrence",
    "regress",
    "regression",
    "repair_kinds",
    "report",
    "resume_batch",
    "screening",
    "simulate_batch",
    "simulate_training",
    "simulation",
    "stable_period",
    "sweep_repairs",
    "system",
    "system_from_fits",
    "system_from_log",
    "training",
    "workloads",
    "write",
    "write_workload",
]


def __getattr__(name: str) -> Any:
    module = "simulation.campaigns" if name == "campaigns" else name
    value = import_module(f"relfit.{module}") if name in __all__ and name not in _named else _get(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
