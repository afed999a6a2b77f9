"""The published tables of the papers as data, and the scripts that compute ours beside them; not part of relfit.

``python papers/run.py [PAPER]`` prints every cell. Each module has `cells`, a table with one row per printed cell:
``table``, ``cell`` (row and column), ``printed`` (as text), ``ours`` (by the paper's conventions), ``right`` (without
its slips), ``agrees`` (ours rounds to what is printed) and ``required`` (whether it must).
"""
