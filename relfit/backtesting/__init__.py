"""How good predictions have been on a log's own past: forecasts, jobs, nodes and decisions against named counts.

``origins`` chooses the moments from which is predicted, the modules of scores hold each kind of prediction to what came
and to the counts, ``backtest_results`` is what is shown. Data comes from `Study`'s predictions in ``fleet`` and
``planning``; `study.py` and the report ask it. A newcomer may add a score: a module of its own, and its line in the
result.
"""

from relfit.backtesting._backtest import PARTS, backtest
from relfit.backtesting.backtest_results import Backtest

__all__ = ["PARTS", "Backtest", "backtest"]
