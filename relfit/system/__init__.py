"""Systems of many nodes: reliability, failure rate and mean time to failure of a job on k nodes of known ages.

Fits and ages (``builders``), or distributions, make a `System`. Its quantities come from one engine for the first k
nodes (``first_k``), random times from ``sampling``, intervals from draws of the parameters (``uncertainty``). ``jobs``
adds completion times with restarts and checkpoints, and best sizes. A newcomer may add a quantity: a method of `System`
that uses ``first_k``.
"""

from relfit.system._model import System, SystemsBySize
from relfit.system.builders import system_from_fits
from relfit.system.checked_nodes import CommonCause, Component, Racks
from relfit.system.sampling import Sequences
from relfit.system.system_chi_square import SystemChiSquare, chi_square

__all__ = [
    "CommonCause",
    "Component",
    "Racks",
    "Sequences",
    "System",
    "SystemChiSquare",
    "SystemsBySize",
    "chi_square",
    "system_from_fits",
]
