"""Scores of past forecasts, compared with those of counts of the last windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from relfit.analyses.screening import incidents
from relfit.backtesting.origins import DAY, NodeNumbers, SystemPast
from relfit.backtesting.prediction_scores import WINDOWS, continuous_ranked, counted, interval_score
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import DataError, RelfitError
from relfit.fleet import forecast
from relfit.fleet.prediction import Prediction, cumulative, distribution_of_counts, levels_of, mix
from relfit.fleet.spare_parts import needs_part
from relfit.fleet.system_ahead import SystemAhead

_DRAWS = 1000  # random futures of several systems together, and of the parts of one
_WHOLE = "whole system"
_About = tuple[str, str, int, float]  # kind of prediction, name, origin, hours ahead
_Said = tuple[float, ...]  # a prediction and its limits


def totals_of(past: SystemPast, origin: int, horizons: list[float]) -> list[Prediction] | None:
    """The forecast of all failures by `relfit.forecast`; None without a node, or before the first failure."""
    day, ahead = past.day(origin), past.present(origin)
    value, units = past.records[:day], past.units[:day]
    if not (ahead > 0.0 and value.any()):
        return None
    levels = levels_of(value, units, past.steps.days)

    @cache
    def over(hours: float) -> Prediction:
        return mix(levels, value, units, hours / past.steps.width, ahead)

    return [cumulative(over, hours) for hours in horizons]


@dataclass
class ForecastScores:
    """Rows of forecasts, one per system or part of it, origin and horizon (hours).

    `by` and `group` are the columns of causes and racks; without `by` there are no causes, racks and stock. `ranked`
    says whether the continuous ranked probability score is computed, which takes most of the time of totals.
    """

    horizons: list[float]
    level: float
    service: float
    by: str | None
    group: str | None
    seed: int
    ranked: bool

    def __post_init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.problems: Counter[str] = Counter()
        self.group_name = "rack"
        self._mixtures: dict[tuple[int, float], list[tuple[SystemPast, Prediction]]] = {}
        self._tails = 0.5 - self.level / 2.0, 0.5 + self.level / 2.0

    def totals(self, past: SystemPast, of: str, say: Callable[[float], None]) -> None:
        """Add the rows of all failures of a system, from each origin."""
        for i, origin in enumerate(past.origins):
            mixtures = totals_of(past, int(origin), self.horizons)
            for hours, mixture in zip(self.horizons, mixtures or (), strict=False):
                if not past.lasts(int(origin), hours):
                    continue
                said = (mixture.expected, *(mixture.quantile(p) for p in self._tails))
                seen = past.seen(int(origin), hours)
                row = self._row(past, (of, past.name, int(origin), hours), said, seen, past.at, past.nodes)
                if self.ranked:
                    row["crps"] = continuous_ranked(mixture, seen)
                self.rows.append(row)
                self._mixtures.setdefault((int(origin), hours), []).append((past, mixture))
            say((i + 1) / past.origins.size)

    def together(self) -> None:
        """Add the rows of all systems together, from the origins that several share."""
        rng = np.random.default_rng(self.seed)
        for (origin, hours), pairs in sorted(self._mixtures.items(), key=lambda item: item[0]):
            if len(pairs) < 2:
                continue
            drawn = np.sort(np.sum([mixture.draw(_DRAWS, rng) for _, mixture in pairs], axis=0))
            low, high = np.quantile(drawn, self._tails, method="inverted_cdf")
            at = np.sort(np.concatenate([past.at for past, _ in pairs]))
            seen = int(sum(past.seen(origin, hours) for past, _ in pairs))
            expected = sum(mixture.expected for _, mixture in pairs)
            nodes = NodeNumbers.together([past.nodes for past, _ in pairs])
            row = self._row(pairs[0][0], ("all", "all", origin, hours), (expected, low, high), seen, at, nodes)
            if self.ranked:
                order = 2.0 * np.arange(drawn.size) - drawn.size + 1.0  # half the mean difference of two draws
                row["crps"] = float(np.abs(drawn - seen).mean() - (order @ drawn) / drawn.size**2)
            self.rows.append({**row, "system": "all"})

    def _row(
        self, past: SystemPast, about: _About, said: _Said, seen: int, at: IntArray, nodes: NodeNumbers | None
    ) -> dict[str, Any]:
        """The row of a prediction with its score, and the counts with theirs."""
        of, name, origin, hours = about
        row = past.row("forecasts", of, origin, hours, name=name, seen=float(seen))
        row |= dict(zip(("predicted", "low", "high"), said, strict=True))
        row["score"] = interval_score(said[1], said[2], seen, self.level)
        begin, horizon = int(past.steps.edges[0]), int(hours / 24.0 * DAY)
        for i, windows in enumerate(WINDOWS, 1):
            mean, variance = counted(at, begin, origin, horizon, windows, nodes)
            rival = distribution_of_counts(mean, variance)
            low, high = (rival.quantile(p) for p in self._tails)
            score = interval_score(low, high, seen, self.level)
            row |= {f"count_{i}": mean, f"score_{i}": score, f"width_{i}": high - low}
            if self.ranked and of in ("all", "system"):
                row[f"crps_{i}"] = continuous_ranked(rival, seen)
        return row

    def parts(self, past: SystemPast, origins: IntArray, say: Callable[[float], None]) -> None:
        """Add the rows of failures by cause and rack, and of stock, from some origins."""
        if self.by is None:
            return
        truth = self._truth(past)
        options: dict[str, Any] = {"by": self.by, "group": self.group, "level": self.level, "service": self.service}
        for i, origin in enumerate(origins.tolist()):
            try:
                ahead = forecast(past.cut(origin), self.horizons, n_draws=_DRAWS, rng=self.seed, **options)
            except RelfitError as error:
                self.problems[f"{past.name}: {error}"] += 1
            else:
                for hours in self.horizons:
                    if past.lasts(origin, hours):
                        self._parts_of(past, ahead.table[ahead.table["horizon"] == hours], origin, hours, truth)
            say((i + 1) / origins.size)

    def _parts_of(
        self, past: SystemPast, table: pd.DataFrame, origin: int, hours: float, truth: dict[str, dict[str, IntArray]]
    ) -> None:
        for kind, records in truth.items():
            rows = table[table["of"] == kind].set_index("name")
            new = [] if kind != self.by else [name for name in records if name not in rows.index]
            for name in [*rows.index, *new]:
                at = records.get(str(name), np.zeros(0, np.int64))
                seen = past.seen(origin, hours, at)
                if name in new and not seen:  # its first failure came later
                    continue
                one = None if name in new else rows.loc[name]
                columns = ("failures", "failures_low", "failures_high")
                said = (0.0, 0.0, 0.0) if one is None else tuple(float(one[column]) for column in columns)
                of = "cause" if kind == self.by else "rack"
                nodes = past.nodes if of == "cause" else past.nodes_of(kind, str(name))
                self.rows.append(self._row(past, (of, str(name), origin, hours), said, seen, at, nodes))
                stock: Any = one["stock"] if one is not None else 0 if needs_part(str(name)) else None
                if of == "cause" and pd.notna(stock):
                    row = past.row("decisions", "stock", origin, hours, name=str(name), predicted=float(stock))
                    self.rows.append(row | {"seen": float(seen), "score": float(seen > stock)})

    def _truth(self, past: SystemPast) -> dict[str, dict[str, IntArray]]:
        """Instants of the records of each cause and rack in the complete log."""
        assert self.by is not None
        joined = incidents(past.log, group=self.group)
        try:
            ahead = SystemAhead(past.log, joined, self.by, past.steps.width)
        except DataError as error:
            self.problems[f"{past.name}: {error}"] += 1
            return {}
        truth = {self.by: self._instants(ahead.at, *ahead.causes)}
        if joined.group is not None and ahead.racks[0]:
            names, code, _ = ahead.racks
            inside = np.where(code < 0, len(names), code)
            self.group_name = joined.group
            truth[joined.group] = self._instants(ahead.at, [*names, _WHOLE], inside)
        return truth

    @staticmethod
    def _instants(at: IntArray, names: list[str], code: IntArray | FloatArray) -> dict[str, IntArray]:
        return {name: np.sort(at[code == i]) for i, name in enumerate(names)}
