"""`Bursts`: how many further incidents one brings, of a node, of a rack and of the whole system."""

from __future__ import annotations

import pandas as pd

from relfit.base.results import Result
from relfit.base.text import duration, interval

BURST, WEEKS = "after one another", "good and bad weeks"


class Bursts(Result):
    """Whether incidents come after one another.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per scope: ``scope`` ("node": the same node again; the rack: another node of the same rack; "whole":
        incidents elsewhere in the system), ``incidents``, ``branching`` (further incidents that one brings on average)
        with its interval ``low``, ``high``, ``mean_delay`` (hours), ``following`` (share of incidents that others
        brought), ``p``, ``p_weeks`` (of good and bad weeks; for "whole" only), ``kind``: ``"steady"``,
        ``"after one another"``, ``"good and bad weeks"``, or ``"no answer"`` of fewer than ten incidents, one place, or
        a clock too coarse for all delays.
    by_delay : pandas.DataFrame
        Incidents that came after another, by scope and delay: ``counted``, and ``expected`` without bursts.
    level, alpha : float
        Of the confidence intervals; size of each test.
    """

    table: pd.DataFrame
    by_delay: pd.DataFrame
    level: float
    alpha: float

    _frame = "table"

    @property
    def depends(self) -> bool | None:
        """Whether incidents of any scope come after one another; None where no scope has an answer."""
        kinds = self.table.loc[self.table["kind"] != "no answer", "kind"]
        return bool((kinds == BURST).any()) if len(kinds) else None

    @property
    def headline(self) -> str:
        """Which scopes have bursts, how large, and which have none."""
        rows = self.table[self.table["kind"] != "no answer"]
        if not len(rows):
            return "Too few incidents to tell whether they come after one another."
        names = {"node": "of the same node", "whole": "elsewhere in the system"}
        parts = []
        for scope, branching, low, high, delay in zip(
            *(rows.loc[rows["kind"] == BURST, name] for name in ("scope", "branching", "low", "high", "mean_delay")),
            strict=True,
        ):
            value = interval(*(f"{x:.2f}" for x in (branching, low, high)))
            who = names.get(scope, f"of other nodes of the {scope}")
            parts.append(f"{value} {who}, {duration(delay)} later on average")
        text = [f"An incident brings further ones: {'; '.join(parts)}"] if parts else []
        if (rows["kind"] == WEEKS).any():
            text.append("The whole system has good and bad weeks, beyond which its incidents bring no further ones")
        plain = {"node": "single nodes", "whole": "the whole system"}
        calm = [plain.get(scope, f"{scope}s") for scope in rows.loc[rows["kind"] == "steady", "scope"]]
        if calm:
            listed = " and ".join([", ".join(calm[:-1]), calm[-1]] if calm[:-1] else calm)
            text.append(f"Those of {listed} bring none" if parts else f"Incidents of {listed} bring no further ones")
        return ". ".join(text) + "."
