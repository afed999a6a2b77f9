"""`Replay`: jobs that were predicted and what became of them, and whether the model fails."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.arrays import BoolArray, FloatArray, IntArray
from relfit.fleet import ChosenPeriod
from relfit.results import Result, json_ready
from relfit.text import count, duration, p_value, percent
from relfit.validation._block_means import Differences, effective_sizes, mean_differences, wilson
from relfit.validation._calibration_curve import CalibrationCurve, calibration_curve

__all__ = ["Replay"]

_JOBS_PER_BIN = 60
_RESAMPLES = 999


class Replay(Result):
    """Jobs replayed over the held-out part of a log; `relfit.replay` makes it.

    Jobs overlap in time and in nodes, and an outage may meet many of them, so they are not independent: all limits
    come from blocks of time (`block`). Arrays of jobs have the shape (jobs, placements, sizes, lengths).

    Attributes
    ----------
    model : str
        What predicted.
    period : ChosenPeriod or None
        What a model of the fleet is of.
    split : pandas.Timestamp
        The model was made before, jobs were replayed after.
    window : tuple of pandas.Timestamp
        First instant that went into the model and last that was replayed.
    placements : tuple of str
    sizes, lengths : ndarray
        Nodes and hours of the jobs, rising.
    start : ndarray of float, shape (jobs,)
        Hours from the split to each instant.
    system : ndarray of str, shape (jobs,)
    survived : ndarray of bool
        Whether no outage of any scope met a node of the job.
    predicted : ndarray of float
        Reliability; NaN for jobs that found too few nodes that were up, or none that the model knows: they count
        nowhere.
    prediction_error : ndarray, shape (placements, sizes, lengths)
        Standard error of the predictions by the model itself; zero where it knows none.
    independent : ndarray, shape (sizes, lengths)
        Jobs that share neither nodes nor time, at most: no more is ever known than these would tell.
    block : ndarray of int, shape (jobs,)
    level : float
    seed : int
        Of the resampled blocks.
    """

    model: str
    period: ChosenPeriod | None
    split: pd.Timestamp
    window: tuple[pd.Timestamp, pd.Timestamp]
    placements: tuple[str, ...]
    sizes: IntArray
    lengths: FloatArray
    start: FloatArray
    system: npt.NDArray[Any]
    survived: BoolArray
    predicted: FloatArray
    prediction_error: FloatArray
    independent: FloatArray
    block: IntArray
    level: float
    seed: int

    _not_in_json: ClassVar[tuple[str, ...]] = (
        "period", "start", "system", "survived", "predicted", "prediction_error", "independent", "block",
    )  # fmt: skip

    @property
    def n_jobs(self) -> int:
        """Jobs of all placements, sizes and lengths that could be placed."""
        return int(self._placed.sum())

    @property
    def n_blocks(self) -> int:
        """Blocks of time in which jobs started."""
        return int(np.unique(self.block).size)

    @property
    def fails(self) -> bool:
        """Whether the model says something else than the log, beyond chance and the model's own uncertainty."""
        return self.p <= 1.0 - self.level

    @property
    def p(self) -> float:
        """P-value of the hypothesis that all predictions are right, all kinds of jobs together."""
        return self._differences.p

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per size, length and placement.

        ``jobs``, mean prediction, observed share with its limits, ``error`` (predicted minus observed) with limits that
        hold for all rows together, and whether the model ``fails`` there.
        """
        placed, lived = self._by_block(self._placed), self._by_block(self.survived & self._placed)
        size, degrees = effective_sizes(lived, placed)
        jobs = placed.sum(axis=0)
        found = self._differences
        with np.errstate(invalid="ignore"):
            observed = lived.sum(axis=0) / jobs
            low, high = wilson(observed, size, self.level, degrees)
        reach = found.critical * found.error
        grid = np.meshgrid(np.arange(len(self.placements)), self.sizes, self.lengths, indexing="ij")
        table = pd.DataFrame(
            {
                "size": grid[1].ravel(),
                "length_hours": grid[2].ravel(),
                "placement": np.array(self.placements, dtype=object)[grid[0].ravel()],
                "jobs": jobs.astype(np.int64),
                "predicted": observed - found.mean,
                "observed": observed,
                "low": low,
                "high": high,
                "error": -found.mean,
                "error_low": -found.mean - reach,
                "error_high": -found.mean + reach,
                "fails": (np.abs(found.mean) > reach) & (jobs > 0),
            }
        )
        order = {name: i for i, name in enumerate(self.placements)}
        return table.sort_values(
            ["size", "length_hours", "placement"], key=lambda c: c.map(order) if c.name == "placement" else c
        ).reset_index(drop=True)

    @property
    def worst(self) -> pd.Series:
        """The row of `cells` with the largest error: of those where the model fails, if there are any."""
        cells = self.cells[self.cells["jobs"] > 0]
        failing = cells[cells["fails"]]
        chosen = failing if len(failing) else cells
        return chosen.iloc[int(np.argmax(chosen["error"].abs()))]

    def calibration(self) -> CalibrationCurve:
        """Predicted against observed survival in bins of the prediction, one for sixty jobs, from two to ten."""
        mask, bins = self._placed, int(np.clip(self.n_jobs // _JOBS_PER_BIN, 2, 10))
        blocks = np.broadcast_to(self.block[:, None, None, None], mask.shape)
        return calibration_curve(
            self.predicted[mask], self.survived[mask], blocks=blocks[mask], bins=bins, level=self.level, name=self.model
        )

    @property
    def headline(self) -> str:
        """Whether the model fails, by how much, and for which jobs."""
        row = self.worst
        kind = (
            f"{row['placement']} jobs of {count(int(row['size']), 'node')} for {duration(float(row['length_hours']))}"
        )
        says = (
            f"{percent(float(row['predicted']), 1)} of {kind} survive, and {percent(float(row['observed']), 1)} did "
            f"(error {100 * row['error']:+.1f} points, {percent(self.level)} limits {100 * row['error_low']:+.1f} to "
            f"{100 * row['error_high']:+.1f})"
        )
        if self.fails:
            bad, kinds = int(self.cells["fails"].sum()), int((self.cells["jobs"] > 0).sum())
            return f"The model fails in {bad} of {count(kinds, 'kind')} of job: it predicts that {says}."
        return f"The model agrees with the log after {self.split:%Y-%m-%d}; its largest error: it predicts that {says}."

    @property
    def premise(self) -> str:
        """What the model is of, and what was held out."""
        held = f"Held out: {self.split:%Y-%m-%d} to {self.window[1]:%Y-%m-%d}."
        if self.period is None:
            return held
        return f"{self.period.headline.replace('all of the log', 'all of the log before the split')} {held}"

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, and what it rests on."""
        least = 1.0 / (_RESAMPLES + 1.0)
        return (
            self.headline,
            *([self._by_half()] if self.fails else []),
            f"{self.n_jobs:,} jobs after {self.split:%Y-%m-%d} on nodes that were up; what took down a node of a job "
            f"interrupted it. All kinds of job together: {p_value(self.p, least)}, by {self.n_blocks} blocks of time.",
        )

    def _by_half(self) -> str:
        """The largest error early and late: one that was there from the start is the model's, one that grows is not."""
        row = self.worst
        at = (
            self.placements.index(str(row["placement"])),
            int(np.searchsorted(self.sizes, row["size"])),
            int(np.searchsorted(self.lengths, row["length_hours"])),
        )
        predicted, lived = self.predicted[:, *at], self.survived[:, *at]
        late = self.block > (self.n_blocks - 1) / 2
        shares = []
        for half in (~late, late):
            part = half & ~np.isnan(predicted)
            shares.append(f"{100 * float((predicted[part] - lived[part]).mean()):+.1f}" if part.any() else "no jobs")
        return (
            f"Its error there was {shares[0]} points in the first half of that time and {shares[1]} in the second; "
            "where they differ much, the fleet changed."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per job: ``start`` (UTC), system, placement, size, length, ``survived`` and ``predicted``."""
        place = np.argwhere(self._placed)
        job, how, size, length = place.T
        return pd.DataFrame(
            {
                "start": self.split + pd.to_timedelta(self.start[job], unit="h"),
                "system": self.system[job],
                "placement": np.array(self.placements, dtype=object)[how],
                "size": self.sizes[size],
                "length_hours": self.lengths[length],
                "survived": self.survived[self._placed],
                "predicted": self.predicted[self._placed],
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """As of every result, with the cells and the calibration, without the single jobs."""
        tables = {
            "period": None if self.period is None else self.period.to_dict(),
            "premise": self.premise,
            "fails": self.fails,
            "p": self.p,
            "jobs": self.n_jobs,
            "not_placed": int((~self._placed).sum()),
            "blocks": self.n_blocks,
            "cells": self.cells,
            "calibration": self.calibration(),
        }
        return {**super().to_dict(), **json_ready(tables)}

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(self.headline)}</p>{self.cells.to_html(index=False, float_format='{:.4g}'.format)}"

    @cached_property
    def _placed(self) -> BoolArray:
        return ~np.isnan(self.predicted)

    @cached_property
    def _differences(self) -> Differences:
        """Observed minus predicted by cell, over blocks."""
        placed = self._by_block(self._placed)
        off = np.where(self._placed, self.survived - self.predicted, 0.0)
        total = placed.sum(axis=0)
        expected = self._by_block(np.nan_to_num(self.predicted)).sum(axis=0) / np.maximum(total, 1.0)
        known = np.broadcast_to(self.independent, self.prediction_error.shape).ravel()
        least = np.sqrt(expected * (1.0 - expected) / np.maximum(np.minimum(known, total), 1.0))
        return mean_differences(
            self._by_block(off), placed, self.prediction_error.ravel(), least, self.level, _RESAMPLES, self.seed
        )

    def _by_block(self, values: npt.NDArray[Any]) -> FloatArray:
        """Sums of values by block and cell, shape (blocks, cells); blocks without jobs are left out."""
        number = int(self.block.max()) + 1
        out = np.zeros((number, int(np.prod(values.shape[1:]))))
        np.add.at(out, self.block, values.reshape(values.shape[0], -1))
        return out[np.bincount(self.block, minlength=number) > 0]
