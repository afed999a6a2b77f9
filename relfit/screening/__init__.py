"""What a log holds before anything is fitted: incidents, bursts, change points, outlier nodes, repairs, counts."""

from relfit.screening._bursts import bursts
from relfit.screening._change_points import change_points, stable_period
from relfit.screening._incidents import incidents
from relfit.screening._outlier_nodes import OutlierNodes, outlier_nodes
from relfit.screening._repair_kinds import RepairKinds, repair_kinds
from relfit.screening._repeat_failures import RepeatFailures, repeat_failures
from relfit.screening.bursts_results import Bursts
from relfit.screening.incident_results import Incidents
from relfit.screening.incident_window import IncidentWindow
from relfit.screening.periods import ChangePoints, Period

__all__ = [
    "Bursts",
    "ChangePoints",
    "IncidentWindow",
    "Incidents",
    "OutlierNodes",
    "Period",
    "RepairKinds",
    "RepeatFailures",
    "bursts",
    "change_points",
    "incidents",
    "outlier_nodes",
    "repair_kinds",
    "repeat_failures",
    "stable_period",
]
