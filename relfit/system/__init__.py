"""Systems of many nodes: reliability, failure rate and mean time to failure of a job on k nodes of given ages."""

from relfit.system.components import Component
from relfit.system.system import System

__all__ = ["Component", "System"]
