"""Whether failures depend on each other, between nodes and along time; `dependence` runs all the tests on one log."""

from relfit.analyses.independence._cycles import Cycles, cycles
from relfit.analyses.independence._dispersion import Dispersion, dispersion
from relfit.analyses.independence.cofailure import Cofailures, cofailures
from relfit.analyses.independence.correlation import Correlations, correlations
from relfit.analyses.independence.pooled import PooledTests, pooled_tests
from relfit.analyses.independence.serial import SerialTests, serial_tests
from relfit.analyses.independence.series import NodeSeries, failures_of
from relfit.analyses.independence.summary import Dependence, dependence

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
