"""Thresholds of the tests of independence: sizes of tests, and effects too small to be called dependence, and why.

A log of millions of failures makes any departure significant. A verdict therefore needs two things: a p-value, and an
effect that would mislead someone who plans with the fit. The common measure is what the effect does to a standard
error: one that is 5 % too small makes a 95 % interval cover 94 %, which makes no difference in practice.
"""

from __future__ import annotations

from copy import copy
from typing import TypeVar

from relfit.base.text import p_value

# Size of a test where failures are independent; `dependence` shares it among all its tests.
ALPHA = 0.05
# (k - 1) r of k nodes with a mean coefficient r, by which counts of all vary more than those of independent nodes:
# standard errors are 5 % too small.
LEAST_IN_COMMON = 0.1
# Limits of |r| between none, weak, high and strong correlation; exactly 0.4 and 0.8 are high. The source has "about
# 0" for the first limit; below 0.05 is taken as none.
CORRELATION_CLASSES = (0.05, 0.4, 0.8)
# At lag 1: the variance of a mean grows by (1 + r) / (1 - r), so its standard error is 5 % too small.
LEAST_AUTOCORRELATION = 0.05
# Failures below which a test that finds nothing is no evidence. Even a rate that doubles half way is then missed more
# often than found: Laplace's statistic is ``sqrt(12 n) / 12``.
LEAST_FAILURES = 40
# Pairs of failures within the window, by those of independent processes. Pairs go with the square of a rate: 5 % more
# are what an error of 2.5 % in the rate makes, or nodes that share a rate that varies by 22 % (the ratio is one plus
# the squared coefficient of variation).
LEAST_TOGETHER = 1.05
# Coefficient of variation of the rate over time: for two thirds of the time a constant rate is within 10 % of it. The
# rate of a log with 400 failures is known no better.
LEAST_RATE_VARIATION = 0.1
# Index of dispersion below which failures come too evenly: standard errors of counts are 5 % too large (root of 0.9).
MOST_EVEN = 0.9
# Share of nodes that Durbin-Watson rejects at 5 % if each has 90 times to failure with `LEAST_AUTOCORRELATION`. The
# statistic is then shifted by 0.05 times the root of 90, 0.47 standard errors, and falls beyond 1.96 in 7.5 % of the
# nodes.
LEAST_REJECTED = 0.075
# Share of nodes that are rejected after adjustment for multiple tests: fewer do not change what a fleet does.
LEAST_SHARE = 0.01
_SMALL = 0.2  # p-value up to which a sentence that finds nothing says what it is compared with


T = TypeVar("T")


def held_to(alpha: float, part: T) -> T:
    """A copy of a result, tested at size `alpha`, with what it has computed already."""
    again = copy(part)
    vars(again)["alpha"] = alpha
    return again


def compared(p: float, alpha: float) -> str:
    """A p-value as text; one that looks small and is not significant, with the size of the test."""
    return f"{p_value(p)}, above {alpha:.3g}" if alpha < p <= _SMALL else p_value(p)


def verdict(significant: bool, failures: int) -> bool | None:
    """A finding, or its absence where there were failures enough to find something."""
    return True if significant else None if failures < LEAST_FAILURES else False
