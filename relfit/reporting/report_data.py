"""What a report computes once and all of its sections use: lives, fits, mean times and tallies of a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from relfit.errors import ArgumentError
from relfit.failurelog import FailureLog
from relfit.fitting import Fits, fit, mean_time
from relfit.lifedata import LifeData
from relfit.plotting.node_figures import group_name
from relfit.reporting.analyses import Analyses
from relfit.screening.tallies import (
    CauseTally,
    ClockTally,
    NodeTally,
    TimeTally,
    by_cause,
    by_node,
    on_the_clock,
    over_time,
)

__all__ = ["ReportData", "collect"]

LARGEST_SYSTEMS = 3
CHOSEN_GROUPS = 4


@dataclass(frozen=True, eq=False)
class ReportData:
    """Everything that the sections show; `collect` makes it."""

    log: FailureLog
    per: str
    level: float
    censor: bool
    lives: LifeData  # times to failure of each group (`per`)
    system_lives: LifeData
    repairs: LifeData
    system_repairs: LifeData
    fits: Fits
    system_fits: Fits
    repair_fits: Fits
    chosen: tuple[Any, ...]
    time: TimeTally
    causes: CauseTally
    nodes: NodeTally
    clock: ClockTally

    @cached_property
    def analyses(self) -> Analyses:
        """Whether failures are independent, steady, alike; asked when a section needs it."""
        return Analyses(self.log, self.largest_systems, self.level)

    @property
    def whole_lives(self) -> bool:
        """Whether the source gives lives rather than outages."""
        return self.log.lifetimes is not None

    @property
    def several_systems(self) -> bool:
        """Whether the log holds more than one system."""
        return len(self.system_lives.groups) > 1

    @property
    def failures(self) -> int:
        """Failures, or records of outages, in the log."""
        if self.log.lifetimes is not None:
            return int(self.log.lifetimes["observed"].sum())
        return len(self.log)

    @cached_property
    def group_means(self) -> pd.DataFrame:
        """Mean time to failure of each group."""
        return mean_time(self.lives, self.level)

    @cached_property
    def repair_means(self) -> pd.DataFrame:
        """Mean time to repair of each group."""
        return mean_time(self.repairs, self.level)

    @cached_property
    def system_means(self) -> pd.DataFrame:
        """Mean time between failures of each system."""
        return mean_time(self.system_lives, self.level)

    @cached_property
    def system_repair_means(self) -> pd.DataFrame:
        """Mean time to repair in each system."""
        return mean_time(self.system_repairs, self.level)

    @cached_property
    def overall_mean(self) -> pd.Series:
        """Mean time to failure of all groups together."""
        return mean_time(self.lives.pooled(), self.level).iloc[0]

    @cached_property
    def overall_repair_mean(self) -> pd.Series:
        """Mean time to repair of all systems together."""
        return mean_time(self.system_repairs.pooled(), self.level).iloc[0]

    @cached_property
    def largest_systems(self) -> tuple[Any, ...]:
        """Labels of the systems with the most failures, at most three, those without any left out."""
        failures = self.system_lives.n_failures
        order = np.argsort(-failures, kind="stable")[:LARGEST_SYSTEMS]
        return tuple(self.system_lives.groups[i] for i in order if failures[i] > 0)


def collect(
    log: FailureLog, families: Sequence[str] | None, per: str, level: float, nodes: Sequence[Any] | None, censor: bool
) -> ReportData:
    """Derive lives, fit them and count events.

    Raises
    ------
    ArgumentError
        For an unknown column in `per`, family, level, or node.
    """
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level {level} is not between 0 and 1", remedy="95 % is 0.95")
    options: dict[str, Any] = {"level": level}
    if families is not None:
        options["families"] = tuple(families)
    lives = log.ttf(per, censor=censor)
    system_lives = lives if per == "system" else log.ttf("system", censor=censor)
    repairs = log.ttr(per, censor=censor)
    system_repairs = repairs if per == "system" else log.ttr("system", censor=censor)
    fits = fit(lives, **options)
    return ReportData(
        log=log,
        per=per,
        level=level,
        censor=censor,
        lives=lives,
        system_lives=system_lives,
        repairs=repairs,
        system_repairs=system_repairs,
        fits=fits,
        system_fits=fits if per == "system" else fit(system_lives, **options),
        repair_fits=fit(system_repairs, **options),
        chosen=_chosen(lives, nodes),
        time=over_time(log),
        causes=by_cause(log),
        nodes=by_node(log),
        clock=on_the_clock(log),
    )


def _chosen(lives: LifeData, wanted: Sequence[Any] | None) -> tuple[Any, ...]:
    """Labels of the groups to show one by one: those asked for, or those with the most failures."""
    if wanted is None:
        failures = lives.n_failures
        order = np.argsort(-failures, kind="stable")[:CHOSEN_GROUPS]
        return tuple(lives.groups[i] for i in order if failures[i] > 1)
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    known: dict[str, Any] = {}
    for label in lives.groups:
        if isinstance(label, tuple):
            known.setdefault(str(label[-1]), label)
        known[group_name(label)] = label
        known[group_name(label).replace(" / ", "/")] = label
    labels = []
    for name in names:
        text = group_name(name)
        if text not in known:
            near = get_close_matches(text, list(known), n=1)
            raise ArgumentError(
                f"no node or group {text!r} in this log",
                remedy=f"did you mean {near[0]!r}?" if near else "see the population for the names",
            )
        labels.append(known[text])
    return tuple(dict.fromkeys(labels))
