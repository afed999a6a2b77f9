"""`Backtest`: predictions of a log's past with their outcome, and how far to trust predictions of the future."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy import special

from relfit.backtesting import backtest_texts as words
from relfit.backtesting.comparisons import summary_of
from relfit.base.results import Result, json_ready
from relfit.base.text import count, duration, number, percent

COLUMNS = (
    *("part", "of", "system", "name", "horizon", "size", "length", "origin", "predicted", "low", "high", "seen"),
    *("score", "count_1", "score_1", "count_2", "score_2", "crps", "crps_1", "crps_2", "every", "number"),
    *("width_1", "width_2"),
)
MATTERS = {"forecasts": 0.10, "jobs": 0.05, "decisions": 0.02}
"""Bias that matters: relative for failures, a difference of shares for jobs and for lost time."""
MARK_LEVEL = 0.9
"""Level of the intervals that a mark of trust is given by, so that a log has one mark."""
REFUTED = 2.5
"""Multiple of this bias from which predictions are refuted."""
_HELD = 0.6  # share of intervals that contain the outcome, below which they are refuted
_FEW = 8  # windows
_FAR_BELOW = (0.1, 0.2)  # the nominal level, for a mark of good, and of fair
_CLOSE = 0.01  # mean error of jobs, or difference of errors, that does not matter
_NOTES = 3  # on a page, at most
_GRADES = ("good", "fair", "poor")
_ENDS = ("", "_low", "_high")
_MAIN = {"forecasts": ("system", "all"), "jobs": ("job",), "nodes": ("ranking",), "decisions": ("checkpoints",)}
_REFUTABLE = {
    "forecasts": "these forecasts of failures",
    "jobs": "the predicted shares of uninterrupted jobs",
    "decisions": "the predicted loss of jobs with checkpoints",
    "drain": "the predicted share of failures on drained nodes",
}


class Backtest(Result):
    """Predictions of a log's own past with their outcome; made by `relfit.backtest`.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per prediction: ``part``; ``of`` (forecasts: ``all``, ``system``, ``cause``, ``rack``; jobs: ``job``;
        nodes: ``ranking``, ``first``; decisions: ``checkpoints``, ``drain``, ``stock``); ``system``, ``name``,
        ``horizon`` (hours), ``size`` (nodes), ``length`` (hours), ``origin``; ``predicted`` with ``low`` and ``high``;
        the outcome ``seen``. ``score`` is the interval score (forecasts), the absolute error (jobs), the area under the
        curve (``ranking``), the share of failures on the first 5 % of nodes (``first``, ``drain``), the share of time
        lost with the advised interval ``every`` in hours (``checkpoints``), or 1 if the stock ran out. ``count_1``,
        ``score_1``, ``count_2`` and ``score_2`` are those of counts: the last 6 and 3 windows; jobs of the last 180
        days; failures of nodes in the last 365 and 90 days; Young's interval and the best in hindsight. ``crps`` is the
        continuous ranked probability score of forecasts, ``crps_1`` and ``crps_2`` those of the counts; ``width_1``
        and ``width_2`` the widths of the counts' intervals; ``number`` the failures that draining would have avoided.
    level : float
        Level of the predictions' intervals and of the limits of `summary`.
    service : float
        Planned probability that stock lasts.
    every : float
        Days between two origins.
    start, end : pandas.Timestamp
        Window of the log.
    notes : tuple of str
        What could not be tested, and why.
    seed : int
        Seed of the resampled blocks.
    group : str
        Attribute of the nodes whose values the rows of ``rack`` are.
    fast : bool
        Whether jobs were predicted from daily shares of the past, without a model of the fleet.
    """

    table: pd.DataFrame
    level: float
    service: float
    every: float
    start: pd.Timestamp
    end: pd.Timestamp
    notes: tuple[str, ...]
    seed: int
    group: str = "rack"
    fast: bool = False

    _not_in_json: ClassVar[tuple[str, ...]] = ("table",)

    @property
    def parts(self) -> tuple[str, ...]:
        """Parts that were tested."""
        return tuple(self.table["part"].unique())

    @cached_property
    def summary(self) -> pd.DataFrame:
        """One row per part, kind of prediction, horizon, size and length.

        ``windows`` (origins) and the number of non-overlapping ``blocks``; mean ``score``, and ``score_1`` and
        ``score_2`` of the counts; ``against_1``, ``against_2``: ratio of the scores (geometric mean over systems), for
        rankings and drained nodes their difference; ``crps_1``, ``crps_2``: ratio of the continuous ranked probability
        scores; ``held``: share of the intervals that contained the outcome; ``bias``: for forecasts predicted over
        observed failures minus one, else predicted minus observed; mean ``predicted`` and ``seen``. ``against``,
        ``held`` and ``bias`` have limits.
        """
        columns = [
            *("part", "of", "horizon", "size", "length", "windows", "blocks", "score", "score_1", "score_2"),
            *(f"against_{i}{end}" for i in (1, 2) for end in _ENDS),
            *("crps_1", "crps_2"),
            *(f"{name}{end}" for name in ("held", "bias") for end in _ENDS),
            *("predicted", "seen"),
        ]
        return summary_of(self.table, self.every, self.level, self.seed).reindex(columns=columns)

    @cached_property
    def by_system(self) -> pd.DataFrame:
        """`summary` for each system."""
        return summary_of(self.table, self.every, self.level, self.seed, ("system",))

    def to_frame(self) -> pd.DataFrame:
        """The same as `table`."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """All fields, the summary, trust, and refuted predictions, ready for JSON."""
        more = {
            "trust": self.trust,
            "trust_reason": self.trust_reason,
            "summary": self.summary,
            "refuted": {part: self.refuted(part) for part in _REFUTABLE if self.refuted(part)},
            "reliability": self.reliability() if "jobs" in self.parts else None,
        }
        return {**super().to_dict(), **json_ready(more)}

    def of(self, part: str, kind: str | None = None) -> pd.DataFrame:
        """The rows of `summary` of a part, for one kind of prediction; by default its main one."""
        rows = self.summary[self.summary["part"] == part]
        if kind is None:
            kind = next((name for name in _MAIN[part] if (rows["of"] == name).any()), "")
        return rows[rows["of"] == kind].reset_index(drop=True)

    def reliability(self, bins: int = 8) -> pd.DataFrame:
        """Jobs in bins of about equal size: mean ``predicted``, mean ``seen`` with its interval, and ``number``."""
        jobs = self.table[self.table["part"] == "jobs"].sort_values("predicted", kind="stable")
        size = max(min(bins, len(jobs) // 6), 1)
        place = np.arange(len(jobs)) * size // max(len(jobs), 1)
        blocks = self.of("jobs")["blocks"].min() / max(size, 1) * max(self.of("jobs").shape[0], 1)
        table = jobs.groupby(place)["seen"].agg(["mean", "std", "size"])
        error = table["std"].fillna(0.0) / np.sqrt(table["size"].clip(upper=blocks).clip(lower=2.0))
        seen, width = table["mean"], special.ndtri(0.5 + self.level / 2.0) * error
        limits = {"low": (seen - width).clip(lower=0.0), "high": (seen + width).clip(upper=1.0)}
        predicted = jobs["predicted"].groupby(place).mean()
        columns = {"predicted": predicted, "seen": seen, **limits, "number": table["size"]}
        return pd.DataFrame(columns).reset_index(drop=True)

    def brier(self) -> tuple[float, float]:
        """Brier scores of single jobs: of the predictions, and of the count of the last 180 days."""
        jobs = self.table[self.table["part"] == "jobs"]
        seen, each = jobs["seen"], (jobs["predicted"], jobs["count_1"])
        said, before = (float((seen * (1.0 - p) ** 2 + (1.0 - seen) * p**2).mean()) for p in each)
        return said, before

    @property
    def months(self) -> int:
        """Months from the first origin to the end of the log."""
        return max(round((self.end - self.table["origin"].min()) / pd.Timedelta("30.44D")), 1)

    @property
    def headline(self) -> str:
        """Scores of the forecasts relative to counting, and the share of their intervals that held."""
        if "forecasts" not in self.parts:
            return self.sentences(self.parts[0])[0]
        row = self.of("forecasts").iloc[0]
        few = f" Only {count(int(row['windows']), 'window')}: too few to rely on." if row["windows"] < _FEW else ""
        return (
            f"Over {count(self.months, 'month')} forecasts of {words.whole_days(row['horizon'])} were "
            f"{words.against_counting(row)}. {self._intervals_held(row)}{few}"
        )

    def _intervals_held(self, row: Mapping[Hashable, float] | pd.Series) -> str:
        chance = row["held"] < self.level - _FAR_BELOW[0] and not self._too_narrow(row)
        return (
            f"Their {percent(self.level)} intervals covered {percent(row['held'])} of outcomes"
            f"{', which may be chance' if chance else ''}."
        )

    def _too_narrow(self, row: Mapping[Hashable, float] | pd.Series) -> bool:
        """Whether fewer intervals held than chance explains, among as many windows as do not overlap."""
        return bool(row["held_high"] < self.level)

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, sentences on each part, what is refuted, trust, and notes."""
        sentences = [text for part in self.parts for text in self.sentences(part)]
        first = [] if sentences[:1] == [self.headline] else [self.headline]
        notes = [f"{note.rstrip('.')}." for note in self.notes]
        if len(notes) > _NOTES:
            notes = [*notes[: _NOTES - 1], f"{len(notes) - _NOTES + 1} more notes say what could not be tested."]
        mark = f"Trust: {self.trust}. {self.trust_reason}" if self.trust else self.trust_reason
        return (*first, *sentences, *self.refutations, mark, *notes)

    def sentences(self, part: str) -> list[str]:
        """Sentences on one part, without the headline."""
        of = {"forecasts": self._forecasts, "jobs": self._jobs, "nodes": self._nodes, "decisions": self._decisions}
        return of[part]()

    def _forecasts(self) -> list[str]:
        rows = self.of("forecasts")
        out = [
            f"{words.whole_days(row['horizon'])}: {words.against_counting(row)}; intervals covered "
            f"{percent(row['held'])}, bias {words.signed_bias(row['bias'], row['bias_low'], row['bias_high'])}."
            for row in rows.iloc[1:].to_dict("records")
        ]
        parts = [(name, self.of("forecasts", kind)) for kind, name in (("cause", "cause"), ("rack", self.group))]
        texts = [
            f"by {kind}: {words.against_counting(part.iloc[0])}; intervals covered {percent(part['held'].iloc[0])}"
            for kind, part in parts
            if len(part)
        ]
        return [*out, *(f"{words.whole_days(rows['horizon'].iloc[0])} {text}." for text in texts)]

    def _jobs(self) -> list[str]:
        out = []
        for length, rows in self.of("jobs").groupby("length"):
            far = rows.iloc[int(rows["bias"].abs().to_numpy().argmax())]
            if (rows["bias_low"] > -MATTERS["jobs"]).all() and (rows["bias_high"] < MATTERS["jobs"]).all():
                sure = not far["bias_low"] <= 0.0 <= far["bias_high"]
                verdict = "below the 5 points that matter" if sure else "no bias is evident"
                if (rows["held_high"] < self.level).any():
                    verdict += ", but the intervals are too narrow"
                elif (rows["held"] < self.level - _FAR_BELOW[0]).any():
                    verdict += ", but few intervals covered the outcome, which may be chance"
                elif not sure:
                    verdict = f"{'daily shares' if self.fast else 'predictions'} agree with the log"
            elif far["bias_low"] < 0.0 < far["bias_high"]:
                verdict = "may be chance"
            else:
                verdict = "too optimistic" if far["bias"] > 0.0 else "too pessimistic"
            of = f" for {count(int(far['size']), 'node')}" if len(rows) > 1 else ""
            out.append(
                f"Jobs of {words.job_sizes(rows)} for {duration(float(length))}, "  # type: ignore[arg-type]
                f"{count(int(rows['windows'].max()), 'origin')}: mean error {words.each_in_percent(rows['score'])} "
                f"points (counting {words.each_in_percent(rows['score_1'])}), {words.shares_in_percent(rows['held'])} "
                f"of {percent(self.level)} intervals covered the outcome. Bias{of} {100 * far['bias']:+.1f} points "
                f"({100 * far['bias_low']:+.1f} to {100 * far['bias_high']:+.1f}): {verdict}."
            )
        return out or ["Jobs: too few could be placed."]

    def _nodes(self) -> list[str]:
        ranking, first = self.of("nodes"), self.of("nodes", "first")
        if not len(ranking) or not len(first):
            return ["Nodes: too few failures for a ranking."]
        row, share = ranking.iloc[0], first.iloc[0]
        return [
            f"Nodes: the 5 % ranked first had {percent(share['score'])} of the failures of the next 30 days (counting "
            f"{percent(max(share['score_1'], share['score_2']))}); area under the curve {row['score']:.3f} (counting "
            f"{max(row['score_1'], row['score_2']):.3f})."
        ]

    def _decisions(self) -> list[str]:
        saves, drain, stock = (self.of("decisions", kind) for kind in ("checkpoints", "drain", "stock"))
        out = []
        if len(saves):
            names = ("score", "score_2", "score_1", "predicted")
            advised, best_of_all, by_young, predicted = (words.each_in_percent(saves[name]) for name in names)
            out.append(
                f"Checkpoints of jobs of {words.job_sizes(saves)}: the advised interval lost {advised} % of the time, "
                f"the best in hindsight {best_of_all} %, Young's {by_young} %; {predicted} % was predicted, and "
                f"{words.shares_in_percent(saves['held'])} of the intervals covered the outcome."
            )
            plans = self.table[self.table["of"] == "checkpoints"]
            young, best = (plans["score"].sum() / max(plans[name].sum(), 1e-12) for name in ("score_1", "score_2"))
            out.append(
                f"Summed over {count(len(plans), 'quarter')} of such jobs, the advised interval lost {young:.2f} times "
                f"the time of Young's, {best:.2f} times that of the best in hindsight."
            )
        if len(drain):
            avoided = self.table[self.table["of"] == "drain"]["number"].mean()
            out.append(
                f"Draining the 5 % of nodes ranked first would have avoided {percent(drain['score'].iloc[0])} of the "
                f"failures of the next 90 days, {number(avoided)} of them on average; "
                f"{percent(drain['predicted'].iloc[0])} was predicted."
            )
        if len(stock):
            each = []
            for row in stock.to_dict("records"):
                cases = self.table[(self.table["of"] == "stock") & (self.table["horizon"] == row["horizon"])]
                times = f"{int(cases['score'].sum()):,} of {count(len(cases), 'case')} ({percent(row['score'])})"
                each.append(f"for {words.whole_days(row['horizon'])} in {times}")
            planned = percent(1.0 - self.service)
            out.append(f"The stock of a cause ran out {', '.join(each)}; {planned} was planned.")
        return out or ["Decisions: nothing could be tested."]

    @cached_property
    def _marks(self) -> list[tuple[int, str]]:
        """The grade of each main forecast, or of jobs where these alone were tested, and its reason."""
        marks = []
        for part in [name for name in ("forecasts", "jobs") if name in self.parts][:1]:
            for row in self.of(part).to_dict("records"):
                name, held = words.better_count(row), row["held"]
                ratio, surely = row[name], row[f"{name}_low"] > 1.0
                least = np.nanmin([row["score_1"], row["score_2"]])
                close = row["score"] - least if part == "jobs" else np.inf  # in shares
                good = row["score"] < _CLOSE and part == "jobs"
                wide = row["held_low"] > self.level + 0.07
                good |= held >= self.level - _FAR_BELOW[0] and not wide and (ratio <= 1.0 or close < _CLOSE)
                narrow = held < self.level - _FAR_BELOW[1] and self._too_narrow(row)
                fair = not narrow and (ratio <= 1.15 or not surely or close < 2.0 * _CLOSE)
                grade = 0 if good and row["windows"] >= _FEW else 1 if fair else 2
                what = (
                    f"forecasts of {words.whole_days(row['horizon'])}"
                    if part == "forecasts"
                    else f"predictions of jobs of {count(int(row['size']), 'node')}"
                )
                few = f" Only {count(int(row['windows']), 'window')}." if row["windows"] < _FEW else ""
                scored, held_so = f"Past {what} were {words.against_counting(row)}.", self._intervals_held(row)
                texts = [scored, held_so]
                if grade:  # only what lowers it
                    missed = narrow if grade == 2 else wide or held < self.level - _FAR_BELOW[0]
                    worse = ratio > 1.15 and surely if grade == 2 else ratio > 1.0
                    chance = ", which may be chance" if not (wide or self._too_narrow(row)) else ""
                    said = (
                        f"The {percent(self.level)} intervals of past {what} covered too {'many' if wide else 'few'} "
                    )
                    said += f"outcomes: {percent(held)}{chance}."
                    texts = [*([said] if missed else []), *([scored] if worse and close >= _CLOSE else [])]
                marks.append((grade, " ".join(texts or [scored, held_so]) + few))
        return marks

    @property
    def trust(self) -> str:
        """``good``, ``fair`` or ``poor``: the worst grade of forecasts; of jobs if these alone were tested.

        Empty if neither was tested. The mark is that of 90 % intervals: empty at another `level`, too, so that a log
        has one mark. Good: the share of intervals that held is at most 10 points below the nominal level and not
        significantly more than 7 above it, and the score is no worse than that of the better count (for jobs, the error
        by less than a point); or the mean error of jobs is below a point. Fair: at most 20 points below, or not
        significantly below, and a score up to 1.15 times that of the count, or not significantly above it (for jobs, 2
        points worse). With fewer than eight windows at best fair.
        """
        if abs(self.level - MARK_LEVEL) > 1e-9 or not self._marks:
            return ""
        return _GRADES[max(grade for grade, _ in self._marks)]

    @property
    def trust_reason(self) -> str:
        """The prediction that decides the grade; why there is none."""
        if not self._marks:
            return "No mark of trust: neither forecasts nor jobs were tested."
        if not self.trust:
            return f"No mark of trust at {percent(self.level)}: it is given by {percent(MARK_LEVEL)} intervals."
        return max(self._marks, key=lambda mark: mark[0])[1]

    def refuted(self, part: str) -> str:
        """Why predictions of a part, or of ``drain``, are refuted; empty if they are not.

        Refuted: less than 60 % of the intervals held, with an upper limit below the nominal level (for jobs only with a
        mean error of two points or more); or both limits of the bias exceed 2.5 times what matters (10 % of failures, 5
        points of jobs, 2 points of lost time). The share of failures on drained nodes: a lower limit of its bias above
        2 points.
        """
        return self._refuted(part)[0]

    def _refuted(self, part: str) -> tuple[str, str]:
        """Why predictions of a part are refuted, and the means predicted and seen; both empty if they are not."""
        if part == "drain":
            return self._drained_less()
        rows = self.of(part) if part in MATTERS and part in self.parts else self.summary.iloc[:0]
        for row in rows.to_dict("records"):
            counts = part == "forecasts"
            of = "" if counts else f" for {count(int(row['size']), 'node')}"
            means = "" if counts else f"; {percent(row['predicted'])} was predicted, {percent(row['seen'])} seen"
            far = part != "jobs" or row["score"] >= 2.0 * _CLOSE
            if far and row["held"] < _HELD and row["held_high"] < self.level:
                return f"{percent(row['held'])} of {percent(self.level)} intervals covered the outcome{of}", means
            least = REFUTED * MATTERS[part]
            if row["bias_low"] > least or row["bias_high"] < -least:
                ends = row["bias"], row["bias_low"], row["bias_high"]
                return f"bias {words.signed_bias(*ends, '%' if counts else 'points')}{of}", means
        return "", ""

    def _drained_less(self) -> tuple[str, str]:
        """The same of the share of failures that draining the first nodes would have avoided."""
        for row in self.of("decisions", "drain").to_dict("records"):
            if row["bias_low"] > MATTERS["decisions"]:
                means = f"; {percent(row['predicted'])} was predicted, {percent(row['seen'])} seen"
                return f"bias {words.signed_bias(row['bias'], row['bias_low'], row['bias_high'], 'points')}", means
        return "", ""

    @property
    def refutations(self) -> tuple[str, ...]:
        """One sentence on each part whose predictions are refuted."""
        reasons = [(what, *self._refuted(part)) for part, what in _REFUTABLE.items()]
        return tuple(f"The log's own past refutes {what}: {why}{means}." for what, why, means in reasons if why)
