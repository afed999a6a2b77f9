"""relfit: from the failure logs of computing fleets to fitted distributions, reports, plans and their evidence.

Importing this package is fast: its names are loaded on first use.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from relfit.base.former_packages import HOMES, FormerPackages
from relfit.base.lazy import front

if TYPE_CHECKING:
    from relfit import backtesting as backtesting
    from relfit import fitting as fitting
    from relfit import fleet as fleet
    from relfit import io as io
    from relfit import planning as planning
    from relfit import plotting as plotting
    from relfit import simulation as simulation
    from relfit import system as system
    from relfit.analyses import independence as independence
    from relfit.analyses import recurrence as recurrence
    from relfit.analyses import regression as regression
    from relfit.analyses import screening as screening
    from relfit.analyses.independence import dependence
    from relfit.analyses.regression import regress
    from relfit.analyses.screening import change_points, incidents, outlier_nodes, stable_period
    from relfit.backtesting import backtest
    from relfit.base.errors import ArgumentError, DataError, ReadError, RelfitError
    from relfit.fitting import families as families
    from relfit.fitting import fit
    from relfit.fitting import nonparametric as nonparametric
    from relfit.fitting.nonparametric import kaplan_meier, log_rank, nelson_aalen
    from relfit.fleet import calibration as calibration
    from relfit.fleet import fleet_model, forecast, system_from_log
    from relfit.fleet import prediction as prediction
    from relfit.fleet.calibration import Parameters, calibrate, read_parameters
    from relfit.io import datasets as datasets
    from relfit.io import workloads as workloads
    from relfit.io import write
    from relfit.io.datasets import read, read_workload
    from relfit.log.failurelog import FailureLog
    from relfit.log.lifedata import LifeData
    from relfit.plotting import plot
    from relfit.reporting import report
    from relfit.simulation import batch as batch
    from relfit.simulation import campaigns
    from relfit.simulation import training as training
    from relfit.simulation.batch import simulate_batch
    from relfit.simulation.training import simulate_training
    from relfit.study import Study
    from relfit.system import System, system_from_fits
    from relfit.system import jobs as jobs

__version__ = "0.4.0"

sys.meta_path.insert(0, FormerPackages())

_NAMES = {
    "backtesting": "backtest",
    "simulation.batch": "simulate_batch",
    "fleet.calibration": "Parameters calibrate read_parameters",
    "io.datasets": "read read_workload",
    "base.errors": "ArgumentError DataError ReadError RelfitError",
    "log.failurelog": "FailureLog",
    "fitting": "fit",
    "fleet": "fleet_model forecast system_from_log",
    "analyses.independence": "dependence",
    "io": "write",
    "log.lifedata": "LifeData",
    "fitting.nonparametric": "kaplan_meier log_rank nelson_aalen",
    "plotting": "plot",
    "analyses.regression": "regress",
    "reporting": "report",
    "analyses.screening": "change_points incidents outlier_nodes stable_period",
    "study": "Study",
    "system": "System system_from_fits",
    "simulation.training": "simulate_training",
}
_PACKAGES = (
    "backtesting",
    "fitting",
    "fleet",
    "io",
    "planning",
    "plotting",
    "simulation",
    "system",
)
_INNER = {
    "analyses": "independence recurrence regression screening",
    "fitting": "families nonparametric",
    "fleet": "calibration prediction",
    "io": "datasets workloads",
    "simulation": "batch campaigns training",
    "system": "jobs",
}
"""Packages inside others that are attributes here too: ``rf.batch`` is ``relfit.simulation.batch``."""
_MOVED = {
    "backtesting": "Backtest",
    "simulation.batch": "BatchRun resume_batch sweep_repairs",
    "log.failurelog": "Source Window",
    "fitting": "FamilyFit Fits StoredFits fit_stored",
    "fleet": "FleetModel Forecast SizeFits fit_by_size",
    "base.results": "Interval Result",
    "analyses.screening": "repair_kinds",
    "simulation.training": "TrainingParameters read_training",
    "io.workloads": "Workload write_workload",
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


def _what_if(study: object) -> object:
    """`Study.what_if` of a study, or of a log."""
    make = _get("Study")
    return (study if isinstance(study, make) else make(study)).what_if()


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"relfit.{name}")
    for package, names in _INNER.items():
        if name in names.split():
            return import_module(f"relfit.{package}.{name}")
    for package, names in _MOVED.items():
        if name in names.split():
            raise AttributeError(f"relfit.{name} is relfit.{package}.{name}")
    if name in HOMES:
        return import_module(f"relfit.{name}")
    value = _what_if if name == "what_if" else _get(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
