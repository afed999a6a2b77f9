"""Whether failures depend on each other: between nodes, along time. `dependence` asks all questions of one log."""

from relfit.independence._cycles import Cycles, cycles
from relfit.independence._dispersion import Dispersion, dispersion
from relfit.independence.cofailure import Cofailures, cofailures
from relfit.independence.correlation import Correlations, correlations
from relfit.independence.pooled import PooledTests, pooled_tests
from relfit.independence.serial import SerialTests, serial_tests
from relfit.independence.series import NodeSeries, failures_of
from relfit.independence.summary import Dependence, dependence

__all__ = [
    "Cofailures",
    "Correlations",
    "Cycles",
    "Dependence",
    "Dispersion",
    "NodeSeries",
    "PooledTests",
    "SerialTests",
    "cofailures",
    "correlations",
    "cycles",
    "dependence",
    "dispersion",
    "failures_of",
    "pooled_tests",
    "serial_tests",
]
