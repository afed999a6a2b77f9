"""`Bursts`: how many further incidents one brings, of a node, of a rack and of the whole system."""

from __future__ import annotations

import pandas as pd

from relfit.results import Result
from relfit.text import duration, interval

__all__ = ["Bursts"]

BURST, WEEKS = "after one another", "good and bad weeks"


class Bursts(Result):
    """Whether incidents come after one another.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per scope: ``scope`` ("node": the same node again; the rack: another node of the same rack; "whole":
        incidents elsewhere in the system), ``incidents``, ``branching`` (further incidents that one brings on average)
        with limits ``low`` and ``high``, ``mean_delay`` (hours), ``following`` (share of incidents that others
        brought), ``p``, ``p_weeks`` (of good and bad weeks; of the whole only), ``kind``: ``"steady"``,
        ``"after one another"``, ``"good and bad weeks"``, or ``"no answer"`` of fewer than ten incidents, one place, or
        a clock too coarse for all delays.
    by_delay : pandas.DataFrame
        Incidents that came after another, by scope and delay: ``counted``, and ``expected`` without bursts.
    level, alpha : float
        Of the limits; size of each test.
    """

    table: pd.DataFrame
    by_delay: pd.DataFrame
    level: float
    alpha: float

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
        names = {"node": "the same node", "whole": "the rest of the system"}
        said = []
        for row in rows[rows["kind"] == BURST].itertuples():
            value = interval(*(f"{x:.2f}" for x in (row.branching, row.low, row.high)))
            place = names.get(row.scope, f"another node of the {row.scope}")
            said.append(f"{place} fails again" if row.scope == "node" else f"{place} fails")
            said[-1] += f" {value} times beyond its rate, {duration(row.mean_delay)} later on average"
        plain = {"node": "single nodes", "whole": "the whole system"}
        none = [plain.get(scope, f"{scope}s") for scope in rows.loc[rows["kind"] == "steady", "scope"]]
        text = f"After an incident {', '.join(said)}" if said else ""
        if (rows["kind"] == WEEKS).any():
            text += ("; t" if text else "T") + "he whole system has good and bad weeks, no bursts beyond them"
        if none:
            listed = " and ".join([", ".join(none[:-1]), none[-1]] if none[:-1] else none)
            verb = "shows" if none in (["the whole system"],) else "show"
            text += ("; " + listed if text else listed[:1].upper() + listed[1:]) + f" {verb} no bursts"
        return text + "."

    def to_frame(self) -> pd.DataFrame:
        """`table`."""
        return self.table
