"""How good predictions have been on a log's own past: forecasts, jobs, nodes and decisions against named counts."""

from relfit.backtesting._backtest import PARTS, backtest
from relfit.backtesting.backtest_results import Backtest

__all__ = ["PARTS", "Backtest", "backtest"]
