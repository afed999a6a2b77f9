"""What a log holds before anything is fitted: incidents, bursts, change points, outlier nodes, repairs, counts."""

from relfit.analyses.screening._bursts import Bursts, bursts
from relfit.analyses.screening._change_points import change_points, stable_period
from relfit.analyses.screening._incidents import incidents
from relfit.analyses.screening._outlier_nodes import OutlierNodes, outlier_nodes
from relfit.analyses.screening._repair_clock import RepairClock, repair_clock
from relfit.analyses.screening._repair_kinds import RepairKinds, repair_kinds
from relfit.analyses.screening._repeat_failures import RepeatFailures, repeat_failures
from relfit.analyses.screening.incident_results import Incidents
from relfit.analyses.screening.incident_window import IncidentWindow
from relfit.analyses.screening.periods import ChangePoints, Period

__all__ = [
    "Bursts",
    "ChangePoints",
    "IncidentWindow",
    "Incidents",
    "OutlierNodes",
    "Period",
    "RepairClock",
    "RepairKinds",
    "RepeatFailures",
    "bursts",
    "change_points",
    "incidents",
    "outlier_nodes",
    "repair_clock",
    "repair_kinds",
    "repeat_failures",
    "stable_period",
]
