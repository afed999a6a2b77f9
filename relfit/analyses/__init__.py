"""Analyses of a log over a period, each a function that returns a result.

``screening``: incidents, change points, outlier nodes, repairs of several kinds. ``independence``: whether
failures depend on each other, between nodes and along time. ``recurrence``: trends, mean cumulative functions, point
processes, availability. ``regression``: which attributes of nodes go with failures and repairs, by lifelines and
statsmodels. Data comes from ``log`` and ``fitting`` and goes to ``fleet``; none of the four imports a later one.
A newcomer adds a test or a scan as a module of its own, with a line in the package's ``__init__``.
"""
