"""How numbers are said, in sentences and in JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["json_ready", "number", "p_words", "percent"]


def p_words(p: float) -> str:
    """A p-value as a sentence has it: two digits, and never zero, which no test can prove.

    Parameters
    ----------
    p : float
        Between 0 and 1.

    Examples
    --------
    >>> p_words(0.0341), p_words(0.00099), p_words(0.0), p_words(1.0)
    ('p = 0.034', 'p < 0.001', 'p < 0.001', 'p = 1')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def percent(share: float, digits: int = 0) -> str:
    """A share in percent.

    Examples
    --------
    >>> percent(0.583), percent(0.9995, 2)
    ('58 %', '99.95 %')
    """
    return f"{100.0 * share:.{digits}f} %"


def number(value: float) -> str:
    """Three digits, and whole numbers rather than powers of ten above a hundred.

    Examples
    --------
    >>> number(4.8149), number(1389.2), number(0.00012)
    ('4.81', '1389', '0.00012')
    """
    return f"{value:.0f}" if 100.0 <= abs(value) < 1e9 else f"{value:.3g}"


def json_ready(value: Any) -> Any:
    """Dictionaries, sequences and numbers as JSON has them: what is not a finite number is None.

    Examples
    --------
    >>> json_ready({"a": np.float64("nan"), "b": (np.int64(2), float("inf")), 3: np.array([0.5])})
    {'a': None, 'b': [2, None], '3': [0.5]}
    """
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return json_ready(value.tolist())
    if isinstance(value, (list, tuple)):
        return [json_ready(item) for item in value]
    if isinstance(value, np.generic):
        return json_ready(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
