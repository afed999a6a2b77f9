"""Whether failures depend on each other: between nodes, along time. `dependence` asks all questions of one log."""

from relfit.dependence.cofailure import Cofailures, cofailures
from relfit.dependence.correlation import Correlations, correlations
from relfit.dependence.cycles import Cycles, cycles
from relfit.dependence.dispersion import Dispersion, dispersion
from relfit.dependence.durbin_watson import durbin_watson_p
from relfit.dependence.pooled import PooledTests, pooled_tests
from relfit.dependence.serial import SerialTests, serial_tests
from relfit.dependence.series import Failures, failures_of, gaps_of
from relfit.dependence.summary import Dependence, dependence

__all__ = [
    "Cofailures",
    "Correlations",
    "Cycles",
    "Dependence",
    "Dispersion",
    "Failures",
    "PooledTests",
    "SerialTests",
    "cofailures",
    "correlations",
    "cycles",
    "dependence",
    "dispersion",
    "durbin_watson_p",
    "failures_of",
    "gaps_of",
    "pooled_tests",
    "serial_tests",
]
