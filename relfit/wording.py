"""How numbers are said in sentences."""

from __future__ import annotations

__all__ = ["p_words"]


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
