"""Predictions of a log's own past, compared with the outcome and with simple counts: forecasts, jobs, nodes, decisions.

``origins`` chooses the dates from which is predicted; the modules of scores compare each kind of prediction with the
outcome and the counts; ``backtest_results`` is the result. The predictions are those of ``fleet`` and ``planning``;
`study.py` and the report use the result. A newcomer may add a score: a module of its own, and its line in the result.
"""

from relfit.backtesting._backtest import PARTS, backtest
from relfit.backtesting.backtest_results import Backtest

__all__ = ["PARTS", "Backtest", "backtest"]
