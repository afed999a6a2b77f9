"""Systems of many nodes: reliability, failure rate and mean time to failure of a job on k nodes of given ages."""

from relfit.system.building import ages_of_log
from relfit.system.by_size import SystemsBySize
from relfit.system.common_cause import CommonCause, Racks
from relfit.system.components import Component
from relfit.system.sequences import Sequences
from relfit.system.sets import SystemSets
from relfit.system.system import System
from relfit.system.uncertainty import SystemInterval, interval_of

__all__ = [
    "CommonCause",
    "Component",
    "Racks",
    "Sequences",
    "System",
    "SystemInterval",
    "SystemSets",
    "SystemsBySize",
    "ages_of_log",
    "interval_of",
]
