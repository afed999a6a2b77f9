"""Words and numbers of the sentences on a back-test: gains against counting, biases, sizes and shares."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np
import pandas as pd

from relfit.backtesting.comparisons import RATIOS
from relfit.base.text import count, percent

_FEW_BLOCKS = 5.0  # of windows, with fewer of which no gain is known


def better_count(row: Mapping[Hashable, float] | pd.Series) -> str:
    """The column that compares with the better of the two counts."""
    second = row["score_2"]
    return "against_1" if not np.isfinite(second) or row["score_1"] <= second else "against_2"


def against_counting(row: Mapping[Hashable, float] | pd.Series) -> str:
    """In words, how much better or worse than the better count."""
    name = better_count(row)
    assert str(row["of"]) in RATIOS
    if row["blocks"] < _FEW_BLOCKS:
        return "as far as is yet known neither better nor worse than counting the last months"
    gain, low, high = (100.0 * (1.0 - row[key]) for key in (name, f"{name}_high", f"{name}_low"))
    than = f"{abs(gain):.0f} % {'better' if gain > 0.0 else 'worse'} than counting the last months"
    if low > 0.0 or high < 0.0:
        return f"{than} ({min(abs(low), abs(high)):.0f}-{max(abs(low), abs(high)):.0f} %)"
    than = "as good as counting the last months" if abs(gain) < 0.5 else f"{than}, which may be chance"
    return f"{than} ({abs(low):.0f} % worse to {abs(high):.0f} % better)"


def signed_bias(value: float, low: float, high: float, unit: str = "%") -> str:
    """A bias with its limits, all with their sign."""
    ends = (round(100.0 * each) for each in (low, high))
    return f"{round(100.0 * value):+.0f} {unit} ({'{:+.0f} to {:+.0f}'.format(*ends)})"


def job_sizes(rows: pd.DataFrame) -> str:
    """Sizes of jobs, as ``1, 16, 64 nodes``."""
    sizes = [f"{int(size):,}" for size in rows["size"]]
    return f"{', '.join(sizes)} {'node' if sizes == ['1'] else 'nodes'}"


def each_in_percent(shares: pd.Series) -> str:
    """Shares of each row in percent, without its sign."""
    return ", ".join(f"{100.0 * share:.1f}" for share in shares)


def shares_in_percent(held: pd.Series) -> str:
    """Shares of each row in percent; one if all are equal."""
    texts = [percent(share) for share in held]
    if len(set(texts)) == 1:
        return texts[0]
    return f"{', '.join(text.removesuffix(' %') for text in texts)} %"


def whole_days(hours: float) -> str:
    """Hours as days."""
    return count(round(hours / 24.0), "day")
